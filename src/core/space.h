/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes: what a dataset takes in a store, and what the next one will. */
#ifndef SCR_CORE_SPACE_H
#define SCR_CORE_SPACE_H

#include "base/err.h"
#include "cfg/desc.h"

struct scr_ctx;

/* How large checkpoints are, by those written before. */
struct scr_sizes {
    uint64_t ckpt; /* of this rank's files of the checkpoint noted last, 0: none */
    struct {
        int id, line;     /* checkpoint, and index of its descriptor; 0: of none */
        uint64_t longest; /* bytes of the member of this rank's set that has most */
    } span;               /* of the last that was protected */
    int tries;            /* attempts at a checkpoint that failed since */
    uint64_t tried; /* bytes this rank had written when the last attempt at a checkpoint
                       failed, 0: it did not */
};

/* Bytes of dataset id in the cache of red's store that this rank writes to. */
uint64_t scr_space_of_all(const struct scr_ctx *ctx, const struct scr_reddesc *red,
                          int id);
/* Bytes there is room for in that cache, as scr_room_at says. Local. */
uint64_t scr_space_left(const struct scr_ctx *ctx, const struct scr_reddesc *red);
/* Whether the store of red has room, on every node, for the next checkpoint in addition
 * to all files there: as much as this run's newest checkpoint in cache would take with
 * red. 1, or 0 with what is short where in *why, the same on all ranks. Without such a
 * checkpoint it is 1. */
int scr_space_for_next_all(const struct scr_ctx *ctx, const struct scr_reddesc *red,
                           struct scr_err *why);
/* The same in two steps. The first may be combined with other sums: this rank's part,
 * where it is known without communication (else 0); then the bytes that this rank's
 * node needs, or, of a store the nodes share, all of them: sum is that of all ranks'
 * parts. 0: no such checkpoint. */
uint64_t scr_space_part(const struct scr_ctx *ctx, const struct scr_reddesc *red);
uint64_t scr_space_need_all(const struct scr_ctx *ctx, const struct scr_reddesc *red,
                            uint64_t sum);
/* Remembers how large the newest checkpoint in cache is, which may be about to leave.
 * Local. */
void scr_space_note(struct scr_ctx *ctx);
/* Bytes that the devices of this node need for the next checkpoint, from the last one
 * recorded, or one that failed since; in a run without one a little more than guess on
 * each node, which the lowest rank there passes, others 0. */
uint64_t scr_space_of_next_all(const struct scr_ctx *ctx, const struct scr_reddesc *red,
                               uint64_t guess);
/* Bytes that they lack of dataset id, of total bytes. */
uint64_t scr_space_lacking_all(const struct scr_ctx *ctx, const struct scr_reddesc *red,
                               int id, uint64_t total);

#endif
