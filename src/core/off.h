/* SPDX-License-Identifier: BSD-3-Clause */
/* Without SCR: SCR_ENABLE=0, or SCR_Init failed. Calls keep their order and do nothing
 * but what the application's own files need. world: the ranks that call. */
#ifndef SCR_CORE_OFF_H
#define SCR_CORE_OFF_H

#include "core/ctx.h"

/* 1 on all ranks if SCR_REQUIRED is set, also where other settings are bad. */
int scr_off_is_refused_all(const struct scr_ctx *ctx, const struct scr_comm *world);
int scr_off_need_checkpoint_all(struct scr_ctx *ctx, const struct scr_comm *world,
                                int *flag, struct scr_err *err);
void scr_off_start_output(struct scr_ctx *ctx);
/* SCR_OK if every rank passed 1 and could route its files. */
int scr_off_complete_output_all(struct scr_ctx *ctx, const struct scr_comm *world,
                                int valid, struct scr_err *err);

#endif
