/* SPDX-License-Identifier: BSD-3-Clause */
/* The description of a redundancy set: its members, and the losses it survives. The
 * header of a redundancy file has it, and the REDDESC of a filemap, with other keys:
 *
 *   TYPE=XOR|PARTNER|RS|SINGLE FAILURES=<k> RANKS=<world size> MEMBER=<i>
 *   GROUP/{RANKS=<n>, RANK/<i>/<world rank>} */
#ifndef SCR_RED_SETDESC_H
#define SCR_RED_SETDESC_H

#include "base/hash.h"
#include "cfg/desc.h"
#include "ec/ec.h"
#include <stdint.h>

struct scr_setdesc {
    enum scr_scheme scheme;
    int failures;          /* that it survives; -1: this or the scheme is not known */
    int ranks;             /* of the run */
    int member;            /* whose description this is */
    int id;                /* the lowest rank in it, by which it is called */
    int n;                 /* members, 1 to SCR_EC_MAX; 0: the set is not known */
    int world[SCR_EC_MAX]; /* their ranks, n of them */
};
/* Reads h, which may be damaged or NULL. -1: no description, or an impossible one. The
 * set is known only if each member is named, and has a rank of the run for itself. */
void scr_setdesc_get(const scr_hash *h, struct scr_setdesc *d);

/* Bytes of it that are in use, to be sent; they end with the ranks. */
size_t scr_setdesc_size(const struct scr_setdesc *d);
/* From such bytes, wherever they lie; how many they were. */
size_t scr_setdesc_take(struct scr_setdesc *d, const void *bytes);

/* A number of the member me: of a set that all its members describe alike (with the
 * same chunk) these add up to nothing, of others they do at odds of one in 2^64. */
uint64_t scr_setdesc_share(const struct scr_setdesc *d, int me, uint64_t chunk);

#endif
