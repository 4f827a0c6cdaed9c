/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets that bypass the cache. */
#ifndef SCR_CORE_BYPASS_H
#define SCR_CORE_BYPASS_H

#include "core/ctx.h"

/* Enters the open dataset in the index, incomplete. */
int scr_bypass_start_all(struct scr_ctx *ctx, const scr_hash *dset,
                         struct scr_err *err);
/* Where dest is written, malloc'd; directories are made. That is its path under the
 * prefix, or, *waits, a path next to it if an older dataset has a file there. All ranks
 * are given the same, unless the older dataset or its file is removed meanwhile, or
 * something other than SCR had removed the file: scr_bypass_complete_all and
 * scr_check_open_all find that. Local. */
int scr_bypass_place(struct scr_ctx *ctx, const char *dest, char **path, int *waits,
                     struct scr_err *err);
void scr_bypass_fini(struct scr_output *out);
/* Syncs and records what was written, puts it in place of what older datasets have
 * there, and makes the entry complete. On failure the entry stays incomplete. */
int scr_bypass_complete_all(struct scr_ctx *ctx, int valid, struct scr_err *err);
/* Abandons the open dataset, listed as incomplete: files next to those they should
 * replace are removed, unless only their renames are left to be done. */
void scr_bypass_abandon_all(struct scr_ctx *ctx);

#endif
