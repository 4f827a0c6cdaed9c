/* SPDX-License-Identifier: BSD-3-Clause */
/* What a redundancy set survives, by the rules of the schemes and not by the planner:
 * what tests expect. */
#ifndef SCR_TEST_HELPER_TOLERANCE_H
#define SCR_TEST_HELPER_TOLERANCE_H

#include "red/geom.h"

/* 1 if a set of n members under (scheme, k), as reduced, can be made whole when member
 * i still has have[i] (SCR_HAVE_*).
 *
 * Row r is a codeword with parities on k members, and no more than k of its symbols may
 * be lost: XOR and RS keep the parities on members r … r+k-1 and data on all others,
 * PARTNER the data on member r and copies on r+1 … r+k. SINGLE is PARTNER without
 * copies. */
static inline int test_tolerates(enum scr_scheme scheme, int k, int n, const int *have)
{
    int striped = scheme == SCR_SCHEME_XOR || scheme == SCR_SCHEME_RS;
    for (int row = 0; row < n; row++) {
        int lost = 0;
        for (int i = 0; i < n; i++) {
            int right = (i - row + n) % n; /* steps from the row's first member */
            int is_parity = striped ? right < k : right >= 1 && right <= k;
            int is_data = striped ? !is_parity : right == 0;
            lost += (is_parity && !(have[i] & SCR_HAVE_PARITY)) ||
                    (is_data && !(have[i] & SCR_HAVE_DATA));
        }
        if (lost > k)
            return 0;
    }
    return 1;
}

#endif
