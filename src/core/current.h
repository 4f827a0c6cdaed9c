/* SPDX-License-Identifier: BSD-3-Clause */
/* SCR_CURRENT applies once an allocation. */
#ifndef SCR_CORE_CURRENT_H
#define SCR_CORE_CURRENT_H

#include "core/ctx.h"

/* 1 if this run is to go to it; a line says if an earlier run did. */
int scr_wanted_is_due_all(struct scr_ctx *ctx);
/* This run has gone to it, and is about to complete a checkpoint. */
void scr_wanted_note_all(struct scr_ctx *ctx);
/* That checkpoint is complete, or it is not: then SCR_CURRENT applies still. */
void scr_wanted_settle_all(struct scr_ctx *ctx, int complete);
/* The run ends well. */
void scr_wanted_forget_all(struct scr_ctx *ctx);

#endif
