/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of datasets in cache: protected, deleted, swept. */
#ifndef SCR_CORE_CACHECTL_H
#define SCR_CORE_CACHECTL_H

#include "core/ctx.h"

/* Applies red to a dataset, whose files this rank's map lists, and writes the map. Of d
 * id, dset_dir and dset are set. rc: of this rank until now; the code is its own, to be
 * agreed on. */
int scr_protect_dataset_all(struct scr_ctx *ctx, const struct scr_reddesc *red,
                            struct scr_protection *d, int rc, struct scr_err *err);
/* Makes this rank's directories of dataset id; *dset_dir is malloc'd. Local. */
int scr_cache_open(struct scr_ctx *ctx, int id, const char *store, int node_local,
                   char **dset_dir, struct scr_err *err);
/* Reloads the filemap from disk after a failed allocation left it incomplete, except
 * for dataset `gone` (0: all of it). Local.
 */
int scr_cache_mend_map(struct scr_ctx *ctx, int gone, struct scr_err *err);
/* Removes what of them is empty. */
void scr_cache_prune_all(struct scr_ctx *ctx, int id);
/* Deletes a dataset from cache on all ranks: files, map entries, flush-file entry. If
 * that fails it is LOST, or, short of memory, has no state if it had none before. */
int scr_cache_delete_all(struct scr_ctx *ctx, int id, struct scr_err *err);
/* The same of a dataset that was complete, for the event log: why it goes. */
int scr_cache_drop_all(struct scr_ctx *ctx, int id, const char *why,
                       struct scr_err *err);
/* Whether this rank can delete its part of it: all ranks must agree, so that none
 * begins if another cannot. 1 also if the check itself fails because of missing room.
 * Local. */
int scr_cache_may_delete(const struct scr_ctx *ctx, int id, struct scr_err *err);
/* From now on redundancy files of datasets that leave are kept for dataset id of that
 * store; those kept for another one go. id 0: none are kept. Local; the same call on
 * all ranks. */
void scr_cache_spare_for(struct scr_ctx *ctx, int id, int store);
/* Removes datasets with larger ids from all caches: begun without a record, as
 * an eviction that died leaves them. */
void scr_cache_sweep_above(struct scr_ctx *ctx, int id);
/* 1 if a newer version's filemaps are kept here: it is not known what they name. One
 * rank a node looks. */
int scr_cache_has_newer(const struct scr_ctx *ctx);
/* Largest id in this node's caches, 0: there is none. */
int scr_cache_max_id(const struct scr_ctx *ctx);
/* Deletes these datasets, all that any rank knows, and what is kept of newer versions.
 */
int scr_cache_purge_all(struct scr_ctx *ctx, const struct scr_ids *ids,
                        struct scr_err *err);

#endif
