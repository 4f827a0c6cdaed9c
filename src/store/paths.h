/* SPDX-License-Identifier: BSD-3-Clause */
/* The paths of datasets in the prefix directory. Programs may write every checkpoint to
 * the same paths: the file there is then the newest one's, though older ones list it,
 * too. Local; nothing is written. A set of paths is a table of struct scr_item, named
 * by the path below the prefix; what is added to one has no links (store/realdir.h). */
#ifndef SCR_STORE_PATHS_H
#define SCR_STORE_PATHS_H

#include "base/ids.h"
#include "store/prefix.h"

/* Adds those of the files of a list. 1, or 0: out of memory. */
int scr_paths_add_listed(const struct scr_env *env, const struct scr_prefix *p,
                         const struct scr_rank2file *files, struct scr_table *paths);
/* Adds those of the files that the rank2file of dataset id lists, as they are stored:
 * of compressed ones <path>.zst. Without a list there are none. */
int scr_paths_add(const struct scr_env *env, const struct scr_prefix *p, int id,
                  struct scr_table *paths, struct scr_err *err);
/* Adds those of the compressed files of dataset id that landed in a flush that did not
 * complete it (store/arrival.h): its list does not say yet that they are. */
int scr_paths_add_landed(const struct scr_env *env, const struct scr_prefix *p, int id,
                         struct scr_table *paths, struct scr_err *err);
/* Ids of the complete datasets but id, newest first, malloc'd. */
int scr_paths_complete(const struct scr_env *env, const struct scr_prefix *p, int id,
                       int **ids, size_t *n, struct scr_err *err);
/* Also of those that are not complete and still have a summary, as a crash after the
 * index was edited leaves them: an index that is rebuilt would call them complete. Who
 * replaces a file that one of them lists removes the summary. index: as it was read
 * just before. SCR_OK or SCR_E_NOMEM. */
int scr_paths_claimed(const struct scr_env *env, const struct scr_prefix *p,
                      const struct scr_index *index, int id, int **ids, size_t *n);
/* 1 if the index calls dataset id complete, or cannot be read. */
int scr_paths_is_complete(const struct scr_env *env, const struct scr_prefix *p,
                          int id);
/* A dataset, and its paths. */
struct scr_paths_of {
    int id;
    const struct scr_table *paths;
    const struct scr_index *index; /* as it was read just before; NULL: it is read */
};
/* Adds to shared those of scr_paths_claimed that list one of the paths. One whose list
 * is gone or damaged lists none: it cannot be restored. *newer: a complete one whose
 * list only a newer version can read, so that it may list any; 0: none. */
int scr_paths_shared(const struct scr_env *env, const struct scr_prefix *p,
                     const struct scr_paths_of *of, struct scr_ids *shared, int *newer,
                     struct scr_err *err);
/* Gives up the plans of the others that are pending (store/arrival.h) and list one of
 * the paths, or whose list cannot be used, so that it may name any: a process that
 * copies one would put its files in their places, and complete it. *n: how many there
 * were. */
int scr_paths_give_up(const struct scr_env *env, const struct scr_prefix *p, int id,
                      const struct scr_table *paths, size_t *n, struct scr_err *err);
/* Syncs the directories of these files, up to the prefix. */
int scr_paths_sync(const struct scr_env *env, const struct scr_prefix *p,
                   const struct scr_rank2file *files, struct scr_err *err);
/* SCR_E_LOST: *by (else 0) is a complete dataset that lists one of the paths of d and
 * is newer, by its number, or, of another job, as it was made later. Of d the ID is
 * used, CREATED and JOBID if they are known. */
int scr_paths_written_over(const struct scr_env *env, const struct scr_prefix *p,
                           const struct scr_dataset *d, const struct scr_table *paths,
                           int *by, struct scr_err *err);

#endif
