/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares two results byte by byte. */
#include <stdlib.h>

#include "base/io.h"
#include "base/str.h"
#include "drill/drill.h"

enum { COMPARE_BUF = 1 << 16 };

static int compare_open(const struct scr_sys *sys, int a, int b, struct drill_diff *out,
                        struct scr_err *err)
{
    static const size_t half = COMPARE_BUF;
    char *buf = scr_calloc(2, half);
    size_t na = half, nb = half;
    int rc = buf ? SCR_OK : scr_no_memory(err);
    *out = (struct drill_diff){ 0, 1 };
    while (rc == SCR_OK && out->same && na == half) {
        rc = scr_read_upto(SCR_FD(sys, a, "the first result"), buf, half, &na, err);
        if (rc == SCR_OK)
            rc = scr_read_upto(SCR_FD(sys, b, "the second result"), buf + half, half,
                               &nb, err);
        if (rc != SCR_OK)
            break;
        size_t n = na < nb ? na : nb, i = 0;
        while (i < n && buf[i] == buf[half + i])
            i++;
        out->bytes += i;
        out->same = i == na && na == nb;
    }
    free(buf);
    return rc;
}

int scr_drill_compare(const struct scr_sys *sys, const char *a, const char *b,
                      struct drill_diff *out, struct scr_err *err)
{
    int fda = -1, fdb = -1;
    int rc;
    TRY_OUT(scr_open(sys, a, O_RDONLY, 0, &fda, err));
    TRY_OUT(scr_open(sys, b, O_RDONLY, 0, &fdb, err));
    TRY_OUT(compare_open(sys, fda, fdb, out, err));
out:
    (void)scr_close(sys, &fda, a, NULL); /* only read */
    (void)scr_close(sys, &fdb, b, NULL);
    return rc;
}
