/* SPDX-License-Identifier: BSD-3-Clause */
/* A dataset in cache is made whole. */
#ifndef SCR_CORE_MEND_H
#define SCR_CORE_MEND_H

#include "core/ctx.h"
#include "core/rivalry.h"

/* Moves, verifies and rebuilds what is left of a dataset in cache of this number of
 * ranks. */
int scr_cache_mend_all(struct scr_ctx *ctx, int id, struct scr_err *err);
/* The same, but not agreed: the view of the dataset may be missing on some rank. known:
 * what scr_rivals_look_all has found, if nothing has failed since; NULL: it looks.
 * *failed: the same on all ranks, 1 after an error, also of an attempt before one that
 * succeeded. */
int scr_cache_restore_all(struct scr_ctx *ctx, int id, const struct scr_known *known,
                          int *failed, struct scr_err *err);

#endif
