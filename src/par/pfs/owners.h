/* SPDX-License-Identifier: BSD-3-Clause */
/* Which destinations several ranks have, and whose they are: a file belongs to the
 * lowest rank that has it.
 *
 * Most programs put the rank's number into the names of its files. If for all ranks it
 * is the same number of the path (the last one, say), two ranks cannot have the same
 * path, and one reduction of a few hundred bytes proves it. The same holds if one rank
 * in addition has files that name no rank. Only otherwise paths are exchanged: those
 * that name no rank or another one, each with the one rank that is responsible for it.
 */
#ifndef SCR_PAR_OWNERS_H
#define SCR_PAR_OWNERS_H

#include "base/table.h"
#include "par/comm/comm.h"

/* Most totals that ride along. */
enum { SCR_OWNERS_TOTALS = 4 };

/* A path that several ranks have. */
struct scr_shared {
    struct scr_item item; /* name: the path below the prefix */
    int owner;
    const char *ranks; /* "0-3,7", in the arena of the table */
};

/* Whose files are asked about, and the answer. */
struct scr_owners {
    const struct scr_table *dests; /* names: the paths below the prefix of this rank */
    uint64_t *totals; /* ntotals of them (<= SCR_OWNERS_TOTALS) become sums over all
                         ranks, in the same reduction */
    size_t ntotals;
    struct scr_table *shared; /* of struct scr_shared, empty; gets those of dests that
                                 other ranks have too, the same on all ranks that have
                                 it */
    int any;                  /* out: some rank got some */
};
/* rc, an earlier result of this rank, is in the reduction, too: if any rank's is an
 * error, all leave with that of the lowest, its text in err, and nothing is found.
 * Agreed. */
int scr_owners_find_all(const struct scr_comm *world, struct scr_owners *q, int rc,
                        struct scr_err *err);

#endif
