/* SPDX-License-Identifier: BSD-3-Clause */
/* The row plans run in one process. */
#include "red/serial.h"

#include <stdlib.h>

enum {
    SLICE = 256 * 1024
}; /* bytes of a symbol in work at a time: fits the L2 cache */

struct buffers {
    uint8_t *sym[SCR_EC_MAX]; /* sources, then destinations */
    int n;
    size_t slice;
};

static int alloc_buffers(const struct scr_geom *g, struct buffers *b,
                         struct scr_err *err)
{
    uint64_t len = scr_geom_max_rowlen(g);
    int n = scr_geom_nd(g) + g->k;
    b->slice = len < SLICE ? (size_t)len : SLICE;
    for (b->n = 0; b->n < n; b->n++) {
        b->sym[b->n] = scr_ec_alloc(b->slice);
        TRY(b->sym[b->n] ? SCR_OK : scr_no_memory(err));
    }
    return SCR_OK;
}

static int run_slice(const struct scr_plan *plan, uint64_t at, size_t n,
                     const struct buffers *b, struct scr_member *const *members,
                     struct scr_err *err)
{
    uint8_t *const *to = b->sym + plan->nsrc;
    for (int j = 0; j < plan->nsrc; j++)
        TRY(scr_member_read(members[plan->src[j].member], &plan->src[j], at, b->sym[j],
                            n, err));
    scr_plan_apply(plan, n, b->sym, to);
    for (int i = 0; i < plan->ndst; i++)
        TRY(scr_member_write(members[plan->dst[i].member], &plan->dst[i], at, to[i], n,
                             err));
    return SCR_OK;
}

static int run_row(const struct scr_geom *g, const int *have, int row,
                   const struct buffers *b, struct scr_member *const *members,
                   struct scr_err *err)
{
    struct scr_plan plan;
    int rc = SCR_OK;
    TRY(scr_plan_row(g, have, row, &plan, err));
    for (uint64_t at = 0; rc == SCR_OK && plan.ndst > 0 && at < plan.len;
         at += b->slice) {
        size_t n = plan.len - at < b->slice ? (size_t)(plan.len - at) : b->slice;
        rc = run_slice(&plan, at, n, b, members, err);
    }
    scr_plan_fini(&plan);
    return rc;
}

int scr_rows_run(const struct scr_geom *g, const int *have,
                 struct scr_member *const *members, struct scr_err *err)
{
    struct buffers b;
    int rc;
    TRY_OUT(alloc_buffers(g, &b, err));
    for (int row = 0; row < g->n; row++)
        TRY_OUT(run_row(g, have, row, &b, members, err));
out:
    for (int i = 0; i < b.n; i++)
        free(b.sym[i]);
    return rc;
}
