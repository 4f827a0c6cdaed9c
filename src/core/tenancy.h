/* SPDX-License-Identifier: BSD-3-Clause */
/* One run a prefix directory and a control directory. */
#ifndef SCR_CORE_TENANCY_H
#define SCR_CORE_TENANCY_H

#include "core/ctx.h"

/* Takes the job's lock of the prefix directory, which is open. SCR_E_TAKEN: another run
 * has it, and continues. Local, of rank 0. */
int scr_tenancy_take_prefix(struct scr_ctx *ctx, struct scr_err *err);
/* Takes the existing directory of this node in that store. SCR_E_TAKEN: another
 * run has it, and continues. *gone = 1: it was removed in that moment. Local. */
int scr_tenancy_take(struct scr_ctx *ctx, int store, int *gone, struct scr_err *err);
void scr_tenancy_leave(struct scr_ctx *ctx);
/* In a child made by fork: the locks are the parent's alone. */
void scr_tenancy_forget(struct scr_ctx *ctx);

#endif
