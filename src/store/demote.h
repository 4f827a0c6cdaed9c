/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets that are about to lose a file: they are complete until then, and not from
 * then on (invariant P16). Local. Of many processes each may ask before its first file
 * gets its name: the first does it for all. */
#ifndef SCR_STORE_DEMOTE_H
#define SCR_STORE_DEMOTE_H

#include "base/ids.h"
#include "store/prefix.h"

/* For each of ids that the index lists as complete the mark is removed first, with
 * CURRENT, then the summary. Where all of that has gone only the index is read. */
int scr_demote(const struct scr_env *env, const struct scr_prefix *p,
               const struct scr_ids *ids, struct scr_err *err);

/* The same in an index, for who only looks. *changed: 1 if one was complete. */
void scr_demote_in(struct scr_index *index, const struct scr_ids *ids, int *changed);

#endif
