/* SPDX-License-Identifier: BSD-3-Clause */
/* Leftovers of killed flushes. */
#ifndef SCR_CORE_LEFTOVERS_H
#define SCR_CORE_LEFTOVERS_H

#include "core/ctx.h"

/* At a start: removes the temporary files of flushes that were killed, of this job or
 * another, and files of datasets that bypassed the cache next to those they should
 * replace. A dataset that only lacked the renames becomes complete. A failure is a
 * warning, and retried at the next start. */
void scr_leftovers_sweep_all(struct scr_ctx *ctx);

#endif
