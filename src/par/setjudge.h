/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether what is left of a redundancy set suffices, where no member need run: the
 * ranks that hold files of a set tell one rank, which judges it.
 *
 *     struct scr_parcels send = { 0 }, recv = { 0 };
 *     rc = scr_setjudge_tell(world, &known, &told, &send, err); // what there is here
 *     rc = scr_parcels_exchange_all(world, rc, &send, &recv, err);
 *     rc = scr_setjudge_hear(&recv, &sets, err);                // what there is at all
 *     for (SCR_EACH(struct scr_judged, set, &sets)) … */
#ifndef SCR_PAR_SETJUDGE_H
#define SCR_PAR_SETJUDGE_H

#include "base/table.h"
#include "par/comm.h"
#include "red/setdesc.h"

/* What there is here of a member of a set. */
struct scr_setjudge_told {
    int64_t created; /* tells sets of several datasets apart; 0: there is one */
    int rank;        /* that wrote the files */
    int have;        /* SCR_HAVE_* */
};
/* Tells the judge of the set; nothing if it is not known. SCR_OK or SCR_E_NOMEM. */
int scr_setjudge_tell(const struct scr_comm *world, const struct scr_setdesc *known,
                      const struct scr_setjudge_told *told, struct scr_parcels *send,
                      struct scr_err *err);

struct scr_judged_member {
    int rank;         /* that wrote the files */
    int have;         /* SCR_HAVE_*, of all holders */
    int data, parity; /* the lowest rank that holds these, after a run that died while
                         files moved there may be two; -1: none does */
};

/* A set before its judge, as the first who told of it described it. */
struct scr_judged {
    struct scr_item item;
    int64_t created;
    enum scr_scheme scheme;
    int failures; /* that it survives; -1: this or the scheme is not known */
    int ranks;    /* that wrote the dataset */
    int n;
    struct scr_judged_member *member; /* n of them */
};

/* The sets that this rank judges, in sets, which is initialised here; fini in any case.
 * After SCR_E_NOMEM it has some of them. */
int scr_setjudge_hear(const struct scr_parcels *recv, struct scr_table *sets,
                      struct scr_err *err);
/* How many of its members are without data. */
int scr_setjudge_lost(const struct scr_judged *set);
/* *ok: the set can be rebuilt. SCR_E_CORRUPT: its description names no scheme. */
int scr_setjudge_suffices(const struct scr_judged *set, int *ok, struct scr_err *err);

#endif
