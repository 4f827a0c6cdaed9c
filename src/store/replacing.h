/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of a dataset that bypasses the cache, at paths where an older dataset has its
 * own. The program writes each of them next to the file that it replaces, in
 *
 *   <directory of the file>/.scr-part.<id>/<base name>
 *
 * The base name stays as programs look at it, and a rename out of a sub-directory does
 * not leave the file system. When every rank's files are written and synced and
 * rank2file lists them,
 *
 *   <prefix>/.scr/scr.dataset.<id>/replacing.scr        VERSION=1, DSET
 *
 * is written. Then the older datasets lose their mark of completeness, the files are
 * renamed, the dataset is recorded as complete, and replacing.scr is removed. A process
 * that finds replacing.scr, and no process that holds the mark of the dataset
 * (store/flushing.h), continues with that (invariant P8). Local. */
#ifndef SCR_STORE_REPLACING_H
#define SCR_STORE_REPLACING_H

#include "store/prefix.h"

/* Paths of the sub-directory of dir, and of the file in it that is to replace dest,
 * which is below the prefix; malloc'd. */
char *scr_replacing_dir(const char *dir, int id);
char *scr_replacing_path(const struct scr_prefix *p, int id, const char *dest);

/* Writes replacing.scr. dset: as summary and index are to have it. */
int scr_replacing_begin(const struct scr_env *env, const struct scr_prefix *p, int id,
                        const scr_hash *dset, struct scr_err *err);
/* 1 if replacing.scr exists, or that is not known. */
int scr_replacing_is_begun(const struct scr_env *env, const struct scr_prefix *p,
                           int id);
/* Removes replacing.scr; an absent one is success. */
int scr_replacing_end(const struct scr_env *env, const struct scr_prefix *p, int id,
                      struct scr_err *err);
/* Completes a dataset that has replacing.scr. A file that is not next to its place
 * counts as renamed if it has the size recorded. SCR_E_MISSING, nothing is changed: a
 * file is neither here nor there. SCR_E_LOST, nothing is changed: a dataset with a
 * larger id lists one of the paths. SCR_E_CANCELLED: the dataset is being deleted.
 * *files: how many it has. */
int scr_replacing_finish(const struct scr_env *env, const struct scr_prefix *p, int id,
                         uint64_t *files, struct scr_err *err);

/* For those who only look: nothing is locked or written. Enters into the index what it
 * says when the next start has completed what it can. */
int scr_replacings_look(const struct scr_env *env, const struct scr_prefix *p,
                        struct scr_index *index, struct scr_err *err);
/* Puts the summary of such a dataset into dset, an empty hash, and its files
 * with the paths where they are now, into list, an empty one. */
int scr_replacing_read(const struct scr_env *env, const struct scr_prefix *p, int id,
                       scr_hash *dset, struct scr_rank2file *list, struct scr_err *err);

#endif
