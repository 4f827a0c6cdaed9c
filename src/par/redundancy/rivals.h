/* SPDX-License-Identifier: BSD-3-Clause */
/* A start, when parts of several datasets of one number are in cache: which of them is
 * to be restored. */
#ifndef SCR_PAR_RIVALS_H
#define SCR_PAR_RIVALS_H

#include "fmt/filemap.h"
#include "par/comm/comm.h"

/* Looks at what map has of dataset id, aside too, by sizes and headers, and changes
 * nothing. Out: *created: when the one to restore was made (scr_rival_choose, for as
 * many ranks as world has). Files that cannot be read because of a transient error
 * count as good: a run that lacks something does not fall back to an older dataset. In:
 * those made before *created are chosen from. SCR_E_LOST: none can be restored;
 * SCR_E_RANKS: one of a different number of ranks stands against it. Collective;
 * agreed. */
int scr_rivals_choose_all(const struct scr_env *env, const struct scr_comm *world,
                          const scr_filemap *map, int id, int64_t *created,
                          struct scr_err *err);

#endif
