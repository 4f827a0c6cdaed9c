/* SPDX-License-Identifier: BSD-3-Clause */
/* What SCR_Current, SCR_Delete and SCR_Drop do. */
#ifndef SCR_CORE_MANAGE_H
#define SCR_CORE_MANAGE_H

#include "core/ctx.h"

/* Makes the named checkpoint the one to restart from: loads it, notes it in the index,
 * drops newer datasets from cache (outputs are flushed first), counts on from it. who:
 * the caller, for messages. A dataset that cannot be loaded costs nothing; *tried is
 * then its id and no checkpoint is loaded. *tried = 0: nothing was begun. */
int scr_go_to_all(struct scr_ctx *ctx, const char *who, const char *name, int *tried,
                  struct scr_err *err);
/* The three calls of scr.h. A name that no dataset has is reported and changes nothing.
 */
int scr_current_all(struct scr_ctx *ctx, const char *name, struct scr_err *err);
int scr_delete_all(struct scr_ctx *ctx, const char *name, struct scr_err *err);
int scr_drop_all(struct scr_ctx *ctx, const char *name, struct scr_err *err);

#endif
