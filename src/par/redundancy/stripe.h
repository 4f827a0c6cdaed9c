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

#include "par/redundancy/sets.h"
#include "red/geom.h"
#include "red/member.h"

struct scr_stripe_stats {
    uint64_t sent, received; /* bytes of chunk data through MPI, this rank */
};

/* A run of the plans. */
struct scr_stripe {
    const struct scr_set *set;
    const struct scr_geom *g;
    const int *have; /* of each member; equal on all of them */
    struct scr_member
        *m;         /* this one, opened for what the plans need of it; NULL if that
                             failed here: the rank still takes part */
    size_t buf_max; /* bounds each message */
    /* out: */
    int started; /* the same everywhere: 0: a rank could not take part, the code is
                    agreed; 1: each has the code of what it did, to be agreed on */
    struct scr_stripe_stats stats;
};

/* Collective over the set. rc: what this rank found before. */
int scr_stripe_run_all(struct scr_stripe *s, int rc, struct scr_err *err);

#endif
