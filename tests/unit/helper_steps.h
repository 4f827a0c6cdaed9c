/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost of finding the items of a table, or the keys of a hash. */
#ifndef SCR_TEST_HELPER_STEPS_H
#define SCR_TEST_HELPER_STEPS_H

#include "base/table.h"

/* Items looked at when each is found once; *longest (may be NULL): for one. */
static inline size_t test_steps(const struct scr_items *s, size_t *longest)
{
    size_t steps = 0, most = 0, found = 0;
    for (size_t b = 0; s->index != NULL && b <= s->index->mask; b++) {
        size_t length = 0;
        for (const struct scr_item *e = s->index->first[b]; e != NULL; e = e->chain)
            steps += ++length;
        most = length > most ? length : most;
        found += length;
    }
    if (longest != NULL)
        *longest = most;
    if (s->index == NULL)
        return s->n * (s->n + 1) / 2;
    return found == s->n ? steps : SIZE_MAX; /* each in one chain, and no other is */
}

#endif
