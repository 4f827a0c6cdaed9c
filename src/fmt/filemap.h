/* SPDX-License-Identifier: BSD-3-Clause */
/* Filemap: which rank wrote which files in which dataset (developer's manual section 4,
 * with datasets for checkpoints):
 *
 *   DSET/<id>/RANK/<r>                                   index
 *   RANK/<r>/DSET/<id>/{DSETDESC/{…}, REDDESC/{…}, FILES=<expected>,
 * FILE/<path>/META/{…}, <TAG>=<value>}
 *
 *   ASIDE/<CREATED>/{DSET, RANK}         the same of parts of datasets that were made
 *                                        then, while another dataset has their number
 *
 * Every call keeps index and entries in step; an entry stays when its last file is
 * removed. Calls see what is aside only where they say so. Setters make the entry they
 * need. Lists are malloc'd and ascending; list calls return SCR_OK or SCR_E_NOMEM. */
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
void scr_filemap_remove_dataset(scr_filemap *map, int dset); /* aside, too */
void scr_filemap_remove_rank(scr_filemap *map, int rank);
void scr_filemap_remove_rank_by_dataset(scr_filemap *map, int dset, int rank);
/* All of a rank, aside too, as a map of its own, removed from this one; empty if the
 * rank is not there. NULL: out of memory; what was copied stays. */
scr_filemap *scr_filemap_extract_rank(scr_filemap *map, int rank);

/* When the dataset of an entry was made; 0: it does not say, or the dataset was only
 * begun there and no rank needs what there is. */
int64_t scr_filemap_created(const scr_filemap *map, int dset, int rank);
/* The oldest and the newest of these of all entries of a dataset; INT64_MAX and 0: none
 * says. */
void scr_filemap_made(const scr_filemap *map, int dset, int64_t *oldest,
                      int64_t *newest);
/* The map of what is aside and was made then; NULL: nothing is. */
scr_filemap *scr_filemap_aside(const scr_filemap *map, int64_t created);
/* 1 if something of the dataset is aside. */
int scr_filemap_has_aside(const scr_filemap *map, int dset);
/* Adds an entry to to, or what from has more of it; set_aside: to those of created.
 * SCR_OK or SCR_E_NOMEM. */
int scr_filemap_copy_entry(scr_filemap *to, const scr_filemap *from, int dset,
                           int rank);
int scr_filemap_set_aside(scr_filemap *to, int64_t created, const scr_filemap *from,
                          int dset, int rank);
/* Drops an entry that is aside. */
void scr_filemap_drop_aside(scr_filemap *map, int64_t created, int dset, int rank);
/* The entries of one dataset that was made then, aside or not, with those that do not
 * say: a map of its own; NULL: out of memory. */
scr_filemap *scr_filemap_only(const scr_filemap *map, int dset, int64_t created);
/* The times of creation of what is aside, malloc'd. */
int scr_filemap_list_aside(const scr_filemap *map, int *n, int64_t **created);

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

/* Datasets and ranks with something aside are among these. */
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
