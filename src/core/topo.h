/* SPDX-License-Identifier: BSD-3-Clause */
/* Where this rank is: its node, its directories, its sets. */
#ifndef SCR_CORE_TOPO_H
#define SCR_CORE_TOPO_H

#include "core/ctx.h"

int scr_topo_init_all(struct scr_ctx *ctx, struct scr_err *err);
void scr_topo_fini(struct scr_ctx *ctx);

#endif
