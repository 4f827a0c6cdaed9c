/* SPDX-License-Identifier: BSD-3-Clause */
/* Flushes that are waited for. */
#ifndef SCR_CORE_FLUSHCTL_H
#define SCR_CORE_FLUSHCTL_H

#include "core/ctx.h"

/* The datasets left unsaved if the run ends without scr_finalize_all, as the end of a
 * sentence; malloc'd, NULL: no memory. Local, for rank 0. */
char *scr_ctx_unsaved(const struct scr_ctx *ctx);
/* Deletes a dataset to make room: output that has not reached the prefix, and was not
 * deleted there, is flushed first, and stays if that fails (invariant P7). why: for the
 * event log. */
int scr_cache_let_go_all(struct scr_ctx *ctx, int id, const char *why,
                         struct scr_err *err);
/* Also one of a different number of ranks, which stays unchanged in cache. */
int scr_flush_once_all(struct scr_ctx *ctx, int id, struct scr_err *err);
/* A file that is damaged or gone in cache is rebuilt, and the flush tried once more. */
int scr_flush_dataset_all(struct scr_ctx *ctx, int id, struct scr_err *err);
/* Flushes it unless it is on the prefix: for a restart that reads it there. */
int scr_flush_if_needed_all(struct scr_ctx *ctx, int id, struct scr_err *err);
/* Flushes it unless it is on the prefix or was deleted there: for all other reasons. */
int scr_flush_if_owed_all(struct scr_ctx *ctx, int id, struct scr_err *err);
/* Flushes output that a different number of ranks left in cache; what fails is reported
 * and stays. */
void scr_flush_left_all(struct scr_ctx *ctx);
/* Outputs not yet flushed, then (if newest) the newest checkpoint in cache; the first
 * error, except for datasets of a different number of ranks. */
int scr_flush_pending_all(struct scr_ctx *ctx, int newest, struct scr_err *err);

#endif
