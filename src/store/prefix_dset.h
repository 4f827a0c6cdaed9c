/* SPDX-License-Identifier: BSD-3-Clause */
/* For the index and its repair, which holds its lock. Inside store only. */
#ifndef SCR_STORE_PREFIX_DSET_H
#define SCR_STORE_PREFIX_DSET_H

#include "store/prefix.h"

/* scr_prefix_summary_read without a look into the index for datasets of version 1. */
int scr_prefix_summary_here(const struct scr_env *env, const struct scr_prefix *p,
                            int id, int *complete, scr_hash *dset, struct scr_err *err);

/* Of struct scr_prefix; NULL: out of memory. */
struct scr_index_cache *scr_index_cache_new(void);
void scr_index_cache_free(struct scr_index_cache *c);

#endif
