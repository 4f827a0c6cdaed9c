/* SPDX-License-Identifier: BSD-3-Clause */
/* A checkpoint that a different number of ranks wrote. */
#ifndef SCR_CORE_FOREIGN_H
#define SCR_CORE_FOREIGN_H

#include "core/ctx.h"

/* How many ranks wrote dataset id, which is in cache. */
int scr_regroup_ranks_all(const struct scr_ctx *ctx, int id);
/* Loads dataset id from the prefix, to be read in place; nothing is changed there. */
int scr_regroup_open_all(struct scr_ctx *ctx, int id, struct scr_err *err);
/* 1 if this run has gone back to an older one, and left this for those who wrote it. */
int scr_regroup_is_left_behind(const struct scr_ctx *ctx, int id);
/* Loads one that is in cache: it is opened on the prefix, where it is copied first if
 * it is not there, by these ranks for those that wrote it. The cache stays as it is. */
int scr_regroup_cached_all(struct scr_ctx *ctx, int id, struct scr_err *err);
/* Looks for a file of that checkpoint for this rank by its path below the prefix. What
 * is found, and has the CRC recorded, is entered in by_dest; finding none is success.
 * Local. */
int scr_regroup_find(struct scr_ctx *ctx, const char *dest, struct scr_err *err);
/* The same by the base name, in by_name: "" if several files have it. */
int scr_regroup_find_base(struct scr_ctx *ctx, const char *base, struct scr_err *err);
/* Verifies all files of dataset id on the prefix, by any number of ranks, against what
 * is recorded of them; SCR_E_CORRUPT or _MISSING: it is damaged. */
int scr_restart_verify_all(struct scr_ctx *ctx, int id, struct scr_err *err);
int scr_restart_ranks(struct scr_ctx *ctx, int *ranks, struct scr_err *err);
int scr_restart_files_all(struct scr_ctx *ctx, int *n, struct scr_err *err);
int scr_restart_file(const struct scr_ctx *ctx, int i, char *file, int *rank,
                     struct scr_err *err);

#endif
