/* SPDX-License-Identifier: BSD-3-Clause */
/* Edits of the index that all ranks agree on, and checks of what a call was given. */
#ifndef SCR_CORE_EDITS_H
#define SCR_CORE_EDITS_H

#include "core/ctx.h"

/* Dataset id in the prefix directory; borrows from ctx. */
struct scr_prefix_dset scr_prefix_dset_of(const struct scr_ctx *ctx, int id);
/* Rank 0's edit of the index, agreed. */
int scr_edit_index_all(struct scr_ctx *ctx, scr_index_edit edit, void *arg,
                       struct scr_err *err);
/* Checks a text argument: given (unless optional), and shorter than SCR_MAX_FILENAME.
 * Local. */
int scr_check_name(const char *call, const char *text, int optional,
                   struct scr_err *err);
/* SCR_E_MISMATCH unless a vote (par/comm/comm.h) found an argument the same on all
 * ranks. what: "name differs". Local. */
int scr_check_same(const char *call, const char *what, int64_t least,
                   int64_t least_negated, struct scr_err *err);
/* Both of one that must be given. */
int scr_check_name_all(const struct scr_ctx *ctx, const char *call, const char *text,
                       struct scr_err *err);

#endif
