/* SPDX-License-Identifier: BSD-3-Clause */
/* At a start the cache is restored, and flushes that were cut short continue. */
#ifndef SCR_CORE_REVIVE_H
#define SCR_CORE_REVIVE_H

#include "core/ctx.h"

/* At a start: learns the ids in use, rebuilds what is in cache, flushes what is
 * overdue. rc: of this rank until now. */
int scr_cache_revive_all(struct scr_ctx *ctx, int rc, struct scr_err *err);

#endif
