/* SPDX-License-Identifier: BSD-3-Clause */
/* Filemap: which rank wrote which files in which dataset (developer's manual section 4,
 * with datasets for checkpoints):
 *
 *   DSET/<id>/RANK/<r>                                   index
 *   RANK/<r>/DSET/<id>/{DSETDESC/{…}, REDDESC/{…}, FILES=<expected>,
 * FILE/<path>/META/{…}, <TAG>=<value>}
 *
 * Every call keeps index and entries in step; an entry stays when its last file is
 * removed. Setters make the entry they need. Lists are malloc'd and ascending; list
 * calls return SCR_OK or SCR_E_NOMEM. */
#ifndef SCR_FMT_FILEMAP_H
#define SCR_FMT_FILEMAP_H

#include "base/env.h"
#include "base/hash.h"
#include "fmt/meta.h"

typedef struct scr_hash scr_filemap;

scr_filemap *scr_filemap_new(void);
void scr_filemap_delete(scr_filemap *map);
int scr_filemap_merge(scr_filemap *dst,
                      const scr_filemap *src); /* SCR_OK or SCR_E_NOMEM */
void scr_filemap_clear(scr_filemap *map);

void scr_filemap_add_file(scr_filemap *map, int dset, int rank, const char *file);
void scr_filemap_remove_file(scr_filemap *map, int dset, int rank, const char *file);
void scr_filemap_add_rank(scr_filemap *map, int dset,
                          int rank); /* an entry without files */
void scr_filemap_remove_dataset(scr_filemap *map, int dset);
void scr_filemap_remove_rank(scr_filemap *map, int rank);
void scr_filemap_remove_rank_by_dataset(scr_filemap *map, int dset, int rank);
/* All of a rank as a map of its own, removed from this one; empty if the rank is not
 * there. NULL: out of memory, map unchanged. */
scr_filemap *scr_filemap_extract_rank(scr_filemap *map, int rank);

int scr_filemap_num_datasets(const scr_filemap *map);
int scr_filemap_latest_dataset(const scr_filemap *map); /* -1: none */
int scr_filemap_oldest_dataset(const scr_filemap *map);
int scr_filemap_num_ranks(const scr_filemap *map);
int scr_filemap_num_ranks_by_dataset(const scr_filemap *map, int dset);
int scr_filemap_have_rank(const scr_filemap *map, int rank);
int scr_filemap_have_rank_by_dataset(const scr_filemap *map, int dset, int rank);
int scr_filemap_num_files(const scr_filemap *map, int dset, int rank);
void scr_filemap_set_expected_files(scr_filemap *map, int dset, int rank, int n);
int scr_filemap_num_expected_files(const scr_filemap *map, int dset,
                                   int rank); /* -1: not set */
void scr_filemap_unset_expected_files(scr_filemap *map, int dset, int rank);

int scr_filemap_list_datasets(const scr_filemap *map, int *n, int **dsets);
int scr_filemap_list_ranks(const scr_filemap *map, int *n, int **ranks);
int scr_filemap_list_ranks_by_dataset(const scr_filemap *map, int dset, int *n,
                                      int **ranks);
/* Borrowed names in insertion order; free only the array. */
int scr_filemap_list_files(const scr_filemap *map, int dset, int rank, int *n,
                           const char ***files);

scr_hash_elem *scr_filemap_first_dataset(const scr_filemap *map);
scr_hash_elem *scr_filemap_first_rank_by_dataset(const scr_filemap *map, int dset);
scr_hash_elem *scr_filemap_first_file(const scr_filemap *map, int dset, int rank);

/* Dataset and redundancy descriptors, copied in; get borrows (NULL: none). */
void scr_filemap_set_dataset(scr_filemap *map, int dset, int rank,
                             const scr_hash *desc);
scr_hash *scr_filemap_get_dataset(const scr_filemap *map, int dset, int rank);
void scr_filemap_unset_dataset(scr_filemap *map, int dset, int rank);
void scr_filemap_set_desc(scr_filemap *map, int dset, int rank, const scr_hash *desc);
scr_hash *scr_filemap_get_desc(const scr_filemap *map, int dset, int rank);
void scr_filemap_unset_desc(scr_filemap *map, int dset, int rank);
void scr_filemap_set_meta(scr_filemap *map, int dset, int rank, const char *file,
                          const scr_meta *meta);
scr_meta *scr_filemap_get_meta(const scr_filemap *map, int dset, int rank,
                               const char *file);
void scr_filemap_set_tag(scr_filemap *map, int dset, int rank, const char *tag,
                         const char *value);
const char *scr_filemap_get_tag(const scr_filemap *map, int dset, int rank,
                                const char *tag);
void scr_filemap_unset_tag(scr_filemap *map, int dset, int rank, const char *tag);

/* SCR_E_CORRUPT unless index and entries agree, all numbers are numbers, and no file
 * name is empty or has a ".." component (relative names are allowed). */
int scr_filemap_check(const scr_filemap *map, struct scr_err *err);

/* Files of their own, node-local (not synced). Read merges what passes the check, or
 * nothing. */
int scr_filemap_write(const struct scr_sys *sys, const char *path,
                      const scr_filemap *map, struct scr_err *err);
int scr_filemap_read(const struct scr_sys *sys, const char *path, scr_filemap *map,
                     struct scr_err *err);

#endif
