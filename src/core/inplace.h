/* SPDX-License-Identifier: BSD-3-Clause */
/* A checkpoint that a restart reads in the prefix directory. */
#ifndef SCR_CORE_INPLACE_H
#define SCR_CORE_INPLACE_H

#include "core/ctx.h"

/* Whether a restart reads dataset id in the prefix directory: because it is configured
 * so, because it was written there, because it has files of several ranks, which a
 * store of nodes cannot hold, or because what is in cache of it is KEPT as it is. */
int scr_is_read_in_place_all(struct scr_ctx *ctx, int id);
/* Verifies it and makes it the checkpoint to restart from; *name is malloc'd. */
int scr_in_place_open_all(struct scr_ctx *ctx, int id, char **name,
                          struct scr_err *err);

#endif
