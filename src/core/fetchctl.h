/* SPDX-License-Identifier: BSD-3-Clause */
/* Fetching from the prefix directory, and which checkpoint there comes first. */
#ifndef SCR_CORE_FETCHCTL_H
#define SCR_CORE_FETCHCTL_H

#include "core/ctx.h"

/* Dataset id into the cache, protected there; or, if it is one to be read in place
 * (bypass.c), as the checkpoint to restart from. */
int scr_fetch_dataset_all(struct scr_ctx *ctx, int id, struct scr_err *err);
/* The same; one that a different number of ranks wrote is opened in place instead:
 * ctx->restart is loaded then. */
int scr_fetch_or_open_all(struct scr_ctx *ctx, int id, struct scr_err *err);

#endif
