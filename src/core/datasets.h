/* SPDX-License-Identifier: BSD-3-Clause */
/* SCR_Datasets: what there is to restart from, in cache and in the prefix directory. */
#ifndef SCR_CORE_DATASETS_H
#define SCR_CORE_DATASETS_H

#include "base/err.h"
#include "base/str.h"

struct scr_ctx;

/* As SCR_Dataset gives it. */
struct scr_dataset_row {
    int id;
    int flags;     /* SCR_IS_… */
    double bytes;  /* of all ranks; 0: not known */
    double when;   /* it was begun, seconds since 1970; 0: not known */
    uint64_t name; /* where it begins among the names */
};

/* The list of the last SCR_Datasets, on every rank. */
struct scr_datasets {
    struct scr_str bytes; /* n rows, then their names, each with its NUL */
    int n;
    int is_known; /* there was a call */
};

/* Rank 0 reads the index and sends the list to all. */
int scr_datasets_all(struct scr_ctx *ctx, int *n, struct scr_err *err);
/* The i-th. name: of ctx->room bytes, or NULL. Local. */
int scr_dataset_of(const struct scr_ctx *ctx, int i, char *name,
                   struct scr_dataset_row *row, struct scr_err *err);

#endif
