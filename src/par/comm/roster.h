/* SPDX-License-Identifier: BSD-3-Clause */
/* Short names from some ranks to rank 0, without a collective call. */
#ifndef SCR_PAR_ROSTER_H
#define SCR_PAR_ROSTER_H

#include "base/hostlist.h"
#include "par/comm/comm.h"

/* Bytes of a name that are sent, NUL included; the rest is cut off. */
enum { SCR_ROSTER_NAME_MAX = 256 };

/* mine: a name of this rank, NULL: it has none. n: how many ranks have one, which rank
 * 0 knows and the others need not. On rank 0 names gets them, sorted, each once. The
 * code is each rank's own, and of no others' concern. */
int scr_roster_gather(const struct scr_comm *c, const char *mine, int n,
                      struct scr_hostlist *names);

#endif
