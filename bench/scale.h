/* SPDX-License-Identifier: BSD-3-Clause */
/* The pieces that bench/scale.c measures: parts of the library that run on one process,
 * with made up input for any number of ranks. */
#ifndef SCR_BENCH_SCALE_H
#define SCR_BENCH_SCALE_H

#include "store/prefix.h"

/* What a piece gets. Each runs in its own process, which frees nothing. */
struct scale {
    int ranks;
    const char *dir; /* empty, for its files */
    struct scr_env env;
    struct scr_prefix prefix; /* in dir */
};

struct scale_piece {
    const char *name;
    /* 1: the work of one process for all ranks; 0: steps that each rank does */
    int is_for_all;
    int most; /* ranks it is run with at most; 0: no limit */
    /* Makes the input; not measured. NULL: it needs none. */
    void (*prepare)(struct scale *s);
    /* Runs the piece; how many steps, or ranks, it did that for. */
    size_t (*run)(struct scale *s);
};

extern const struct scale_piece scale_pieces[];
extern const size_t scale_npieces;

/* Ends the process unless ok. */
void scale_need(int ok, const char *what);
void scale_done(int rc, const struct scr_err *err);

#endif
