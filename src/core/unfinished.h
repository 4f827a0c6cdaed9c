/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkpoints on the prefix that only lack their record. */
#ifndef SCR_CORE_UNFINISHED_H
#define SCR_CORE_UNFINISHED_H

#include "core/ctx.h"

/* The newest checkpoint on the prefix below ctx->choice.below that is not complete, but
 * has all files as its list records them, becomes complete (unfinished.c, invariant
 * P25); *id = 0: none, also where the newest could not be checked or recorded, which is
 * reported. */
int scr_unfinished_enter_all(struct scr_ctx *ctx, int *id, struct scr_err *err);

#endif
