/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine: runs the row plans of red/geom.h over MPI. Encode and rebuild are the
 * same call with different have[].
 *
 * For every slice of every row the plan's sources send to the coder, which computes all
 * missing symbols in one pass, writes its own and sends the others to their holders. In
 * encoding, each member codes one row and sends B(n-1)/(n-k) bytes in all. A few slices
 * of every row are in flight, so that reading, transfer, arithmetic and writing
 * overlap. All buffers of a rank together take at most 16 MiB.
 *
 * Bytes that are here and not needed are read too, while there is nothing else to do,
 * so that scr_member_finish has every CRC.
 *
 * A rank whose file input or output fails continues communicating, so no rank hangs,
 * and reports at the end. */
#ifndef SCR_PAR_STRIPE_H
#define SCR_PAR_STRIPE_H

#include "par/sets.h"
#include "red/geom.h"
#include "red/member.h"

struct scr_stripe_stats {
    uint64_t sent, received; /* bytes of chunk data through MPI, this rank */
};

/* Collective over set. have[0…n) equal on all members. m: this member, opened for what
 * the plans need of it; NULL if opening failed locally (rc_in says why) — the rank
 * still takes part. buf_max bounds each message. *started, the same everywhere: 0: a
 * rank could not take part, the code is agreed; 1: each has the code of what it did, to
 * be agreed on. */
int scr_stripe_run_all(const struct scr_set *set, const struct scr_geom *g,
                       const int *have, struct scr_member *m, int rc_in, size_t buf_max,
                       int *started, struct scr_stripe_stats *stats,
                       struct scr_err *err);

#endif
