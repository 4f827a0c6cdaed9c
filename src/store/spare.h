/* SPDX-License-Identifier: BSD-3-Clause */
/* The redundancy file of an evicted dataset, kept for the dataset that takes its place:
 * its pages exist, and overwriting them costs less than new ones.
 *
 * The spare is in the directory of the dataset it is for, as .scr/spare.<rank>. Its
 * header is blanked before it moves, so that under no name it can be taken for a
 * redundancy file that is whole. It is recorded nowhere: it goes with the directory. */
#ifndef SCR_STORE_SPARE_H
#define SCR_STORE_SPARE_H

#include "base/env.h"

/* Makes the file at path the spare of rank in dataset id of cache, whose directories
 * are made. On error the file may still be at path, and is good for nothing but to be
 * removed. */
int scr_spare_keep(const struct scr_env *env, const char *path, const char *cache,
                   int id, int rank, struct scr_err *err);
/* Moves the spare in dset_dir to path, replacing any file there. SCR_E_NOENT: there is
 * none. */
int scr_spare_take(const struct scr_env *env, const char *dset_dir, int rank,
                   const char *path, struct scr_err *err);
/* 1: dset_dir holds nothing but spares and empty directories, as a run leaves it that
 * ends before it begins the dataset; 0 also if it cannot be read. */
int scr_spare_is_all(const struct scr_env *env, const char *dset_dir);

#endif
