/* SPDX-License-Identifier: BSD-3-Clause */
/* Other prefix directories (invariant C15): what they have in the store of red leaves,
 * oldest first, until every node has the room. Where they have none it costs a
 * reduction. */
#ifndef SCR_CORE_NEIGHBOURS_H
#define SCR_CORE_NEIGHBOURS_H

#include "core/ctx.h"

/* 1 if this rank, which looks for its node, sees any. Local. */
int scr_neighbours_are_any(const struct scr_ctx *ctx, const struct scr_reddesc *red);
/* For the next dataset. */
void scr_neighbours_give_way_all(const struct scr_ctx *ctx,
                                 const struct scr_reddesc *red);
/* For dataset id, of total bytes on any rank, which found no room: 1 if something has
 * left. all: all that may leaves. */
int scr_neighbours_leave_all(const struct scr_ctx *ctx, const struct scr_reddesc *red,
                             int id, uint64_t total, int all);

#endif
