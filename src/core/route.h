/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a file is written or read. */
#ifndef SCR_CORE_ROUTE_H
#define SCR_CORE_ROUTE_H

#include "core/ctx.h"

int scr_route(struct scr_ctx *ctx, const char *name, char *file, struct scr_err *err);
/* Before SCR_Init and after SCR_Finalize: the name itself, in room bytes. */
int scr_route_outside(const char *name, char *file, size_t room, struct scr_err *err);

#endif
