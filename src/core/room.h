/* SPDX-License-Identifier: BSD-3-Clause */
/* Room in cache: what leaves for the next checkpoint. */
#ifndef SCR_CORE_ROOM_H
#define SCR_CORE_ROOM_H

#include "core/ctx.h"

/* Known before room is made for one more dataset. The same on all ranks. */
struct scr_room {
    int neighbours; /* other prefix directories have datasets in its store */
    int narrow;     /* no room on some node in addition to all datasets there */
};
/* The part of it that this rank sees. need: scr_space_need_all. Local. */
void scr_room_look(const struct scr_ctx *ctx, const struct scr_reddesc *red,
                   uint64_t need, struct scr_room *room);
/* 1 if it matters how much room there is: SCR_CACHE_SIZE is automatic. */
int scr_room_is_measured(const struct scr_ctx *ctx, const struct scr_reddesc *red);
/* Makes room for one more checkpoint of red in its store, the last thing before it is
 * written (invariant C10). Those leave first that a newer one covers, which survives as
 * many losses. One of a different number of ranks counts, and leaves first, once a
 * newer one is whole (invariant P5). Output that cannot be flushed stays, with a
 * warning, and does not count (invariant P7); SCR_E_FULL: no room for both. */
int scr_cache_evict_all(struct scr_ctx *ctx, const struct scr_reddesc *red,
                        const struct scr_room *room, struct scr_err *err);
/* The same for a checkpoint that was being fetched and found no room. */
int scr_cache_evict_for_fetch_all(struct scr_ctx *ctx, const struct scr_reddesc *red,
                                  struct scr_err *err);
/* When one of red is complete and protected: where SCR_CACHE_SIZE is automatic, what it
 * covers leaves. A failure is reported, and retried before the next is written.
 * may_go: a dataset that, as agreed, all ranks can delete. */
void scr_cache_settle_all(struct scr_ctx *ctx, const struct scr_reddesc *red,
                          int may_go);
/* The first that is going to leave then; 0: none. */
int scr_cache_covered_all(struct scr_ctx *ctx, const struct scr_reddesc *red);

#endif
