/* SPDX-License-Identifier: BSD-3-Clause */
/* The prefix directory: <prefix>/.scr and its state files, each updated as a
 * transaction (lock, read, edit, replace, fsync). Local calls; in a job rank 0 makes
 * them. */
#ifndef SCR_STORE_PREFIX_H
#define SCR_STORE_PREFIX_H

#include "base/env.h"
#include "base/hash.h"
#include "base/hashfile.h"
#include "base/ids.h"
#include "base/lock.h"
#include "fmt/index.h"
#include "fmt/state.h"
#include <time.h>

struct scr_prefix {
    char *path;                    /* absolute, normalised */
    char *scr;                     /* <path>/.scr */
    struct scr_index_cache *index; /* as this process read or wrote it last */
};

/* In .scr: held by a scavenge of the prefix directory. */
#define SCR_SCAVENGE_LOCK "scavenge.lock"
/* By the runs there, each with the key of its job's id. */
#define SCR_RUNS_LOCK "runs.lock"
/* By scr_srun and its relatives, from before the first run until after the last. */
#define SCR_RUN_RECORD "run.scr"
#define SCR_RUN_LOCK   SCR_RUN_RECORD ".lock"

/* Checks that path is a directory; with create, makes <path>/.scr durable and checks
 * that it can be written (a missing or unwritable prefix is one clear line). */
int scr_prefix_open(const struct scr_env *env, const char *path, int create,
                    struct scr_prefix *p, struct scr_err *err);
void scr_prefix_fini(struct scr_prefix *p);

/* SCR_OK if dir, below the prefix (its absolute path) by its name, is in it when
 * symbolic links are followed; of one that is not there, the place where it would be
 * made counts. Else SCR_E_OUTSIDE, with where it leads (invariant P20). The prefix
 * itself may be a link, or behind one. */
int scr_path_check_inside(const char *prefix, const char *dir, struct scr_err *err);

/* Makes dir, which that found inside, with those above it. A deletion may have removed
 * the directory that a link leads to: it is made again, and synced. */
int scr_prefix_make_dir(const struct scr_env *env, const struct scr_prefix *p,
                        const char *dir, struct scr_err *err);

/* Directories of SCR next to files of the application have this name and an id
 * (store/replacing.h). */
#define SCR_PART_DIR ".scr-part."

/* 1 if a path below the prefix is a directory of SCR's own, or in one: no file of a
 * dataset can be there. */
int scr_prefix_is_own(const char *below);

/* malloc'd paths. */
char *scr_prefix_file(const struct scr_prefix *p,
                      const char *name); /* <prefix>/.scr/<name> */
char *scr_prefix_dset_dir(const struct scr_prefix *p,
                          int id); /* …/.scr/scr.dataset.<id> */
char *scr_prefix_dset_file(const struct scr_prefix *p, int id,
                           const char *name); /* …/.scr/scr.dataset.<id>/<name> */

/* scr_lock_acquire of <prefix>/.scr/<name>. */
int scr_prefix_lock(const struct scr_env *env, const struct scr_prefix *p,
                    const char *name, int timeout_ms, struct scr_lock *lock,
                    struct scr_err *err);
/* 1 if a process holds that lock, whatever its key, 0 if none does or it is shared,
 * -1: not known. */
int scr_prefix_lock_is_held(const struct scr_env *env, const struct scr_prefix *p,
                            const char *name);

/* Reads index.scr into index, which needs not be initialized, is not to be edited, and
 * is empty after an error; scr_index_fini frees it in any case. Where the file is still
 * the one that this process read or wrote last, by its size and CRC, it is not read
 * again. Absent: empty index, unless a scr.dataset.<id> directory has a summary; then
 * it is rebuilt. A zero-length, corrupt or unreadable-as-index file is kept aside as
 * index.scr.damaged.<n>, the index is rebuilt from the summaries of the
 * scr.dataset.<id> directories, written, with a warning. A newer version is an
 * error and left alone. Where there is none, a version 1 index.scr in the prefix
 * directory itself is read. */
int scr_prefix_index_read(const struct scr_env *env, const struct scr_prefix *p,
                          struct scr_index *index, struct scr_err *err);
/* The same for those who only look: what a repair would write is made in memory, with a
 * warning that names the command that writes it. */
int scr_prefix_index_look(const struct scr_env *env, const struct scr_prefix *p,
                          struct scr_index *index, struct scr_err *err);
/* scr_prefix_index_read, and the ids of its datasets, newest first, malloc'd. */
int scr_prefix_index_ids(const struct scr_env *env, const struct scr_prefix *p,
                         struct scr_index *index, int **ids, size_t *n,
                         struct scr_err *err);
/* As scr_prefix_index_read, but a damaged one is SCR_E_CORRUPT. */
int scr_prefix_index_peek(const struct scr_env *env, const struct scr_prefix *p,
                          struct scr_index *index, struct scr_err *err);
/* Same repair, then edit under the lock, and the index is written if edit returned
 * SCR_OK and set *changed to 1. */
typedef int (*scr_index_edit)(struct scr_index *index, void *arg, int *changed,
                              struct scr_err *err);
int scr_prefix_index_update(const struct scr_env *env, const struct scr_prefix *p,
                            scr_index_edit edit, void *arg, struct scr_err *err);

/* The entry of the index for the number of a dataset. */
enum scr_entered {
    SCR_ENTERED_NOT,
    SCR_ENTERED_OTHER, /* another dataset */
    SCR_ENTERED_COMPLETE,
    SCR_ENTERED_INCOMPLETE
};
/* SCR_E_TAKEN if the index has another dataset under the number of d, with the commands
 * that free the number: a second job uses the prefix, and neither may lose its datasets
 * there (invariant P14). */
int scr_prefix_check_owner(const struct scr_prefix *p, const struct scr_index *index,
                           const struct scr_dataset *d, struct scr_err *err);
/* The entry for the number of dset, a dataset hash. */
int scr_prefix_look_up(const struct scr_env *env, const struct scr_prefix *p,
                       const scr_hash *dset, enum scr_entered *is, struct scr_err *err);

/* A dataset that is entered in the index. */
struct scr_entering {
    const scr_hash *dset;
    int complete;
    time_t when;
    int goes_on; /* a complete checkpoint becomes the current one if that is older
                    (invariant P6) */
    int mended;  /* its files were repaired: FAILED stays */
};
/* SCR_E_CANCELLED: it should become complete, and is being deleted (invariant P3). */
int scr_prefix_index_put(const struct scr_env *env, const struct scr_prefix *p,
                         const struct scr_entering *e, struct scr_err *err);
/* The same with goes_on. */
int scr_prefix_index_enter(const struct scr_env *env, const struct scr_prefix *p,
                           const scr_hash *dset, int complete, time_t when,
                           struct scr_err *err);

/* Other state files by name ("halt.scr", "flush.scr", "nodes.scr" …). Absent reads as
 * empty; a corrupt one is SCR_E_CORRUPT with the path (those that can be given again
 * are kept aside as .damaged.<n> on update, with a warning). */
int scr_prefix_state_read(const struct scr_env *env, const struct scr_prefix *p,
                          const char *name, scr_hash *h, struct scr_err *err);
int scr_prefix_state_update(const struct scr_env *env, const struct scr_prefix *p,
                            const char *name, scr_hash_edit edit, void *arg,
                            struct scr_err *err);

/* Removes a state file under its lock; an absent one is success. */
int scr_prefix_state_remove(const struct scr_env *env, const struct scr_prefix *p,
                            const char *name, struct scr_err *err);

/* Adds the ids of scr.dataset.<id> directories that have no entry in index, which was
 * read just before. As long as only this process changes the index, directories are
 * listed once: a process enters a dataset before it makes the directory, and gives up
 * its plan (store/arrival.h) before it removes the entry. */
int scr_prefix_strays(const struct scr_env *env, const struct scr_prefix *p,
                      const struct scr_index *index, struct scr_ids *strays,
                      struct scr_err *err);

/* Ids of datasets, ascending, malloc'd: those of incomplete datasets, those with a
 * directory and no entry, and the newest complete ones. Every dataset that is being
 * copied, or was left half done, is one of these: a process may die between completing
 * a dataset and removing its plan or mark, and the next check removes them. So an index
 * of many datasets costs no look into the directory of each. index: as it was read just
 * before; NULL: it is read here, and where that fails all that have a directory are. */
int scr_prefix_unfinished_ids(const struct scr_env *env, const struct scr_prefix *p,
                              const struct scr_index *index, int **ids, size_t *n,
                              struct scr_err *err);

/* Largest <id> of scr.dataset.<id> directories, 0 if none: ids are never reused even
 * when the index lost them. */
int scr_prefix_max_dset_dir(const struct scr_env *env, const struct scr_prefix *p,
                            int *max, struct scr_err *err);

/* summary.scr of a dataset directory, and its rank2file with all parts (serial;
 * par/pfs/fetch.h reads parts in parallel) in files, which is empty before. Version 5
 * summaries give both; those that only a version 1 index names are found through it,
 * and their paths are made relative to the prefix. SCR_E_NOENT with files->ranks == 0:
 * there is no list; else one of its parts is not there. */
int scr_prefix_summary_read(const struct scr_env *env, const struct scr_prefix *p,
                            int id, int *complete, scr_hash *dset, struct scr_err *err);
int scr_prefix_rank2file_read(const struct scr_env *env, const struct scr_prefix *p,
                              int id, struct scr_rank2file *files, struct scr_err *err);
/* A record in the dataset's directory that something has begun with it: it keeps the
 * dataset hash, with VERSION, for who has to finish that. Read, the hash is merged into
 * dset; absent: SCR_E_NOENT, and nothing to remove while the directory exists. */
int scr_prefix_record_write(const struct scr_env *env, const struct scr_prefix *p,
                            int id, const char *name, const scr_hash *dset,
                            struct scr_err *err);
int scr_prefix_record_read(const struct scr_env *env, const struct scr_prefix *p,
                           int id, const char *name, scr_hash *dset,
                           struct scr_err *err);
int scr_prefix_record_remove(const struct scr_env *env, const struct scr_prefix *p,
                             int id, const char *name, struct scr_err *err);
/* When summary.scr was written, which is when the dataset was flushed; 0: not known. */
time_t scr_prefix_summary_time(const struct scr_env *env, const struct scr_prefix *p,
                               int id);
/* 1 if there is a summary.scr, or it is not known. */
int scr_prefix_has_summary(const struct scr_env *env, const struct scr_prefix *p,
                           int id);
/* Removes summary.scr: without it a dataset is not taken for complete, also when the
 * index is rebuilt. An absent one, or no directory, is success. */
int scr_prefix_summary_remove(const struct scr_env *env, const struct scr_prefix *p,
                              int id, struct scr_err *err);
int scr_prefix_summary_write(const struct scr_env *env, const struct scr_prefix *p,
                             int id, const scr_hash *dset, int complete,
                             struct scr_err *err);

#endif
