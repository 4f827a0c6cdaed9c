/* SPDX-License-Identifier: BSD-3-Clause */
/* Where files are on node-local storage.
 *
 *   <base>[/vnode.<node>]/<user>/scr.<jobid>/prefix.<n>/   a store's or the control
 *                                                   directory for one prefix directory
 *   <cache>/scr.dataset.<id>/rank.<r>/<base name>          application files
 *   <cache>/scr.dataset.<id>/.scr/<m>_of_<n>_in_<g>.<scheme>      redundancy files
 *
 * Directories are private (0700) and refused if foreign or symlinked below base. */
#ifndef SCR_STORE_CACHE_H
#define SCR_STORE_CACHE_H

#include "base/env.h"

/* Identity of the job on this node, and of its prefix directory; borrowed strings. */
struct scr_place {
    const char *user;
    const char *jobid;
    const char *vnode;  /* virtual node name, NULL on real nodes */
    const char *prefix; /* scr_identity.name; NULL: the job's directory above */
};

/* Full path of the directory under base (vnode level only if is_node_local);
 * malloc'd. */
char *scr_place_dir(const struct scr_place *pl, const char *base, int is_node_local);
/* Creates it. */
int scr_place_make(const struct scr_env *env, const struct scr_place *pl,
                   const char *base, int is_node_local, struct scr_err *err);

/* SCR 1.1 to 3.x has its datasets and lists of them in the job's directory itself,
 * above those of prefix directories. Nothing here reads or deletes them: this warns
 * where such a list below base has a dataset that did not bypass the cache. */
void scr_place_tell_scr3(const struct scr_env *env, const struct scr_place *pl,
                         const char *base);

/* malloc'd; the dataset directory is scr_dset_path(cache, id) (store/dset_names.h). */
char *scr_cache_rank_dir(const char *cache, int id, int rank);
char *scr_cache_red_path(const char *cache, int id, const char *redname);
/* Length of the dataset directory in the path of a cached file, its '/' included; 0:
 * path is in none. */
size_t scr_cache_dset_len(const char *path, int id);
/* The dataset directory itself, malloc'd; NULL: it is in none, or out of memory. */
char *scr_cache_dset_of(const char *path, int id);
/* Removes directories that the file at path has left, up to the dataset's, and if all
 * is gone that too. */
void scr_cache_prune(const struct scr_env *env, const char *path, int id);
/* Creates scr.dataset.<id>, its rank.<rank> and .scr. Safe when several ranks do it at
 * once. */
int scr_cache_make(const struct scr_env *env, const char *cache, int id, int rank,
                   struct scr_err *err);
/* Removes rank.<rank> of a dataset; then the dataset directory if nothing else is in
 * it. */
int scr_cache_remove_rank(const struct scr_env *env, const char *cache, int id,
                          int rank, struct scr_err *err);
/* Removes the whole scr.dataset.<id>. */
int scr_cache_remove(const struct scr_env *env, const char *cache, int id,
                     struct scr_err *err);

#endif
