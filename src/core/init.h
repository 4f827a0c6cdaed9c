/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of a context: made, configured, opened, closed. */
#ifndef SCR_CORE_INIT_H
#define SCR_CORE_INIT_H

#include "core/ctx.h"

struct scr_ctx *scr_ctx_new(void);
/* Frees everything; collective if Init had made communicators. */
void scr_ctx_free(struct scr_ctx *ctx);
/* The same except for ctx itself, which is good for nothing but to be freed, and to be
 * asked for its state, and for world.rank. */
void scr_ctx_clear(struct scr_ctx *ctx);
/* Over the ranks of comm, which is duplicated: those of SCR_Init_comm.
 * SCR_E_DISABLED: SCR_ENABLE=0. After that, as after an error, scr_ctx_turn_off. */
int scr_init_all(struct scr_ctx *ctx, MPI_Comm comm, struct scr_err *err);
int scr_finalize_all(struct scr_ctx *ctx, struct scr_err *err);
/* SCR_Config: *reply is malloc'd or NULL. comm: the calling ranks, before scr_init_all;
 * ignored after. */
int scr_config_all(struct scr_ctx *ctx, MPI_Comm comm, const char *text, char **reply,
                   struct scr_err *err);
/* Frees everything but the configuration and world. Takes no memory. */
void scr_ctx_turn_off(struct scr_ctx *ctx);

#endif
