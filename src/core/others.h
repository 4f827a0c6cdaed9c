/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of other ranks in a restart. */
#ifndef SCR_CORE_OTHERS_H
#define SCR_CORE_OTHERS_H

#include "core/ctx.h"

/* As scr_regroup_find and scr_regroup_find_base, of a checkpoint of any number of
 * ranks: a file that this rank did not write, if it can be read here. Local. */
int scr_others_find(struct scr_ctx *ctx, const char *dest, struct scr_err *err);
int scr_others_find_base(struct scr_ctx *ctx, const char *base, struct scr_err *err);

#endif
