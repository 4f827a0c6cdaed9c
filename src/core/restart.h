/* SPDX-License-Identifier: BSD-3-Clause */
/* The start of a restart, and the calls of a restart phase. */
#ifndef SCR_CORE_RESTART_H
#define SCR_CORE_RESTART_H

#include "core/ctx.h"

/* At the end of a start: goes to SCR_CURRENT if it is given, flushes the checkpoint in
 * cache if SCR_FLUSH_ON_RESTART is set, and loads the one to restart from. */
int scr_restart_init_all(struct scr_ctx *ctx, struct scr_err *err);
int scr_have_restart_all(struct scr_ctx *ctx, int *flag, char *name,
                         struct scr_err *err);
int scr_start_restart_all(struct scr_ctx *ctx, char *name, struct scr_err *err);
int scr_complete_restart_all(struct scr_ctx *ctx, int valid, struct scr_err *err);
/* Completes a restart that the program has left open, with a warning: the data it read
 * count as good, because it continues. call: the call it made. */
void scr_restart_close_all(struct scr_ctx *ctx, const char *call);

#endif
