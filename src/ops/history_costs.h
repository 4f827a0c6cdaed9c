/* SPDX-License-Identifier: BSD-3-Clause */
/* What was moved between the levels of storage, and what each kind of step cost: parts
 * of a history (ops/history.h). */
#ifndef SCR_OPS_HISTORY_COSTS_H
#define SCR_OPS_HISTORY_COSTS_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that were moved. */
enum scr_hist_level {
    SCR_MOVE_CACHE,  /* a dataset was written by the program: write - encode */
    SCR_MOVE_ENCODE, /* redundancy was added */
    SCR_MOVE_FLUSH,  /* of either kind, or the program wrote past the cache */
    SCR_MOVE_FETCH,
    SCR_MOVE_LEVELS
};
struct scr_hist_move {
    double at, secs; /* when it ended; more than 0 */
    int64_t bytes, dset;
};
struct scr_hist_moves {
    struct scr_hist_move *v;
    size_t n, room;
    double secs, bytes; /* sums */
    double median;      /* bytes a second */
};

enum scr_hist_cost {
    SCR_COST_CHECKPOINT,
    SCR_COST_OUTPUT,
    SCR_COST_ENCODE,
    SCR_COST_FLUSH, /* the program waited */
    SCR_COST_ASYNC, /* it did not */
    SCR_COST_FETCH,
    SCR_COST_REBUILD,
    SCR_COST_INIT,    /* SCR_Init */
    SCR_COST_RESTART, /* SCR_Start_restart to SCR_Complete_restart */
    SCR_COSTS
};
enum { SCR_COST_BINS = 20 };
/* Values in ascending order once finished. bin[i] counts those from
 * min + i (max - min) / SCR_COST_BINS on. */
struct scr_hist_costs {
    double *v;
    size_t n, room;
    double mean;
    int64_t bin[SCR_COST_BINS];
};
/* The smallest value that a share of q, 0 to 1, does not exceed; 0 of none. */
double scr_hist_quantile(const struct scr_hist_costs *c, double q);

#endif
