/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks and destinations of an open dataset before it is completed. */
#ifndef SCR_CORE_LAYOUT_H
#define SCR_CORE_LAYOUT_H

#include "core/ctx.h"

/* The open dataset lacks a file for this reason. 1: it is the first that is noted. */
int scr_output_lacks(struct scr_ctx *ctx, const struct scr_err *why);
/* From now on an open by MPI that is refused is held against this dataset, 0: against
 * none. An open that began before is held against none then. */
void scr_output_heed_opens(struct scr_ctx *ctx, int id);
/* Whether the open dataset may be completed: what the application and Route_file said.
 */
int scr_output_check(const struct scr_ctx *ctx, int valid, struct scr_err *err);
/* files: of all ranks. A checkpoint needs one. */
int scr_output_check_files(const struct scr_ctx *ctx, uint64_t files,
                           struct scr_err *err);
/* SCR_PRESERVE_DIRECTORIES=0: gives the files of the open dataset other destinations.
 * (layout.c) */
int scr_layout_all(struct scr_ctx *ctx, struct scr_err *err);

#endif
