/* SPDX-License-Identifier: BSD-3-Clause */
/* The flush file says what was complete in the prefix directory. The index decides, but
 * when a dataset is dropped from that, only the flush file has a record of it: without
 * a mark the next run copies the dataset from cache again. A run that died between its
 * entry in the index and its mark left none, and a command that completes a dataset of
 * such a run makes the entry alone. Local. */
#ifndef SCR_STORE_SAVED_H
#define SCR_STORE_SAVED_H

#include "store/prefix.h"

/* Marks those of the n datasets that the index, read for this, calls complete.
 * in_cache: a cache may have them, so that one without an entry in the flush file gets
 * one. */
int scr_saved_note(const struct scr_env *env, const struct scr_prefix *p,
                   const int *ids, size_t n, int in_cache, struct scr_err *err);

#endif
