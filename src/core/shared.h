/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that several ranks routed. */
#ifndef SCR_CORE_SHARED_H
#define SCR_CORE_SHARED_H

#include "core/ctx.h"

/* 1 unless a routed destination belongs to another rank (after scr_settle_owners_all).
 */
int scr_output_is_mine(const struct scr_ctx *ctx, const char *dest);
/* Sums totals over all ranks, and finds the files that several ranks routed: each
 * belongs to the lowest of them, if the store can hold it. SCR_E_EXIST with names of
 * file and ranks if not. rc: what this rank found before; if any rank found an error,
 * all leave with that, unless such a file is its cause, and nothing else is done.
 * (shared.c) */
int scr_settle_owners_all(struct scr_ctx *ctx, uint64_t *totals, size_t ntotals, int rc,
                          struct scr_err *err);
/* Before the ranks of comm open path together by MPI, with ctx->sees_opens: SCR_E_EXIST
 * on all of them if, in an output phase, each has another path for it, and one of these
 * lies where SCR_Route_file gives each rank its own; the open dataset is not completed
 * then. Where they cannot be asked it is SCR_OK. Also while another thread is in a call
 * of SCR. */
int scr_check_open_all(struct scr_ctx *ctx, MPI_Comm comm, const char *path,
                       struct scr_err *err);
/* SCR_E_MISMATCH: ranks were given two paths for the file. */
int scr_bypass_refuse_paths(const char *name, struct scr_err *err);
/* Enters files that belong to one rank on all ranks: shared is of struct scr_readable,
 * those of this rank by destination. rc: what this rank found before; if any rank found
 * an error all leave with that. (shared.c) */
int scr_spread_shared_all(struct scr_ctx *ctx, const struct scr_table *shared, int rc,
                          struct scr_err *err);

#endif
