/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether what is left of a redundancy set suffices, where no member need run: the
 * ranks that hold files of a set tell one rank, which judges it. */
#ifndef SCR_PAR_SETJUDGE_H
#define SCR_PAR_SETJUDGE_H

#include "base/hash.h"
#include "par/comm.h"

/* Adds to send, {<judge>: {<set>: {DESC, RANK/<r>/HAVE}}}, that have (SCR_HAVE_*) is
 * here of the set's member r. known: the description of the set
 * (scr_restore_describe); the set is called by its lowest rank, after prefix. Nothing
 * is told of a set whose description is not whole. SCR_OK or SCR_E_NOMEM. */
struct scr_setjudge_told {
    const char *prefix;
    int r, have;
};
int scr_setjudge_tell(const struct scr_comm *world, const scr_hash *known,
                      const struct scr_setjudge_told *told, scr_hash *send,
                      struct scr_err *err);

/* *ok: a set of n members of this description can be rebuilt from have[].
 * SCR_E_CORRUPT: it names no scheme. */
int scr_setjudge_suffices(const scr_hash *desc, int n, const int *have, int *ok,
                          struct scr_err *err);

#endif
