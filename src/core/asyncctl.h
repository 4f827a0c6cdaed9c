/* SPDX-License-Identifier: BSD-3-Clause */
/* Flushes the application does not wait for: start, end, once more. They never fail a
 * call: a failure is reported, the dataset stays in cache and is tried again. */
#ifndef SCR_CORE_ASYNCCTL_H
#define SCR_CORE_ASYNCCTL_H

#include "core/ctx.h"

/* Begins to flush dataset id, unless that is under way; waits for another one under way
 * that has its name or files at the same paths. */
void scr_async_start_all(struct scr_ctx *ctx, int id);
/* Looks what has ended: notes it, and what is only output leaves the cache. One
 * reduction if any is under way, else nothing; called by most SCR calls. */
void scr_async_poll_all(struct scr_ctx *ctx);
/* Until id (0: all) is not under way any more; the code of its flush. */
int scr_async_wait_all(struct scr_ctx *ctx, int id, struct scr_err *err);
/* The open dataset was written to the prefix: what failed and would write over it is
 * not tried again. */
void scr_async_replaced_all(struct scr_ctx *ctx);
/* Starts those again that failed, except for those a newer one on the prefix replaces.
 */
void scr_async_retry_all(struct scr_ctx *ctx);

#endif
