/* SPDX-License-Identifier: BSD-3-Clause */
/* What a flush compressed, entered into a list of files that was written before. Local.
 */
#ifndef SCR_STORE_PACKED_H
#define SCR_STORE_PACKED_H

#include "store/prefix.h"

/* packed: the compressed files; only their packed form counts. The parts of
 * rank2file that list them are replaced, each synced; what is entered already is
 * entered once more. SCR_E_CORRUPT if one is not listed. Nothing if there is none. In a
 * list that is in a summary (SCR_E_MISSING), or in a tree of more levels
 * (SCR_E_CORRUPT), nothing is entered. */
int scr_packed_enter(const struct scr_env *env, const struct scr_prefix *p, int id,
                     const struct scr_rank2file *packed, struct scr_err *err);

#endif
