/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether the rest of a redundancy set suffices, where no member need run: the ranks
 * that hold files of a set send their lists to one rank, which decides.
 *
 *     struct scr_parcels send = { 0 }, recv = { 0 };
 *     rc = scr_setjudge_tell(world, &known, &told, &send, err); // the files here
 *     rc = scr_parcels_exchange_all(world, rc, &send, &recv, err);
 *     rc = scr_setjudge_hear(&recv, &sets, err);                // what there is at all
 *     for (SCR_EACH(struct scr_judged, set, &sets)) … */
#ifndef SCR_PAR_SETJUDGE_H
#define SCR_PAR_SETJUDGE_H

#include "base/table.h"
#include "par/comm/comm.h"
#include "red/setdesc.h"

/* The files here of a member of a set. */
struct scr_setjudge_told {
    int64_t created; /* distinguishes sets of several datasets; 0: there is one */
    int rank;        /* that wrote the files */
    int have;        /* SCR_HAVE_* */
};
/* Sends it to the rank that decides on the set; nothing if it is not known. SCR_OK or
 * SCR_E_NOMEM. */
int scr_setjudge_tell(const struct scr_comm *world, const struct scr_setdesc *known,
                      const struct scr_setjudge_told *told, struct scr_parcels *send,
                      struct scr_err *err);

struct scr_judged_member {
    int rank;         /* that wrote the files */
    int have;         /* SCR_HAVE_*, of all holders */
    int data, parity; /* the lowest rank that holds these, after a run that died while
                         files moved there may be two; -1: none does */
};

/* A set at the rank that decides, as the first sender described it. */
struct scr_judged {
    struct scr_item item;
    int64_t created;
    enum scr_scheme scheme;
    int failures; /* that it survives; -1: this or the scheme is not known */
    int ranks;    /* that wrote the dataset */
    int n;
    struct scr_judged_member *member; /* n of them */
};

/* The sets that this rank decides on, in sets, which is initialised here; fini in any
 * case. After SCR_E_NOMEM it has some of them. */
int scr_setjudge_hear(const struct scr_parcels *recv, struct scr_table *sets,
                      struct scr_err *err);
/* How many of its members are without data. */
int scr_setjudge_lost(const struct scr_judged *set);
/* *ok: the set can be rebuilt. SCR_E_CORRUPT: its description names no scheme. */
int scr_setjudge_suffices(const struct scr_judged *set, int *ok, struct scr_err *err);

#endif
