/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps of a deletion from the prefix directory (invariant P3), whether one process
 * does all of it or the ranks of a job share the files. In order: scr_deletion_begin,
 * the list of files is read, the summary is removed, scr_deletion_files,
 * scr_deletion_records, scr_deletion_forget. A deletion that died is repeated from the
 * start. Local. */
#ifndef SCR_STORE_DELETION_H
#define SCR_STORE_DELETION_H

#include "base/lock.h"
#include "store/prefix.h"

/* Gives up the plan (store/arrival.h), and notes in the index that the dataset is not
 * complete, and being deleted. A dataset that is not listed is success. Where the file
 * system has no room for a new index, the summary goes before: without one a restart
 * passes the dataset over. */
int scr_deletion_begin(const struct scr_env *env, const struct scr_prefix *p, int id,
                       struct scr_err *err);

/* The same, but that there is no room even then is no error: the files make some. */
int scr_deletion_begin_full(const struct scr_env *env, const struct scr_prefix *p,
                            int id, struct scr_err *err);

/* 1 if the index calls the dataset complete though its deletion has begun, on a full
 * file system: it has no summary. Some of its files may be gone. */
int scr_deletion_is_half(const struct scr_env *env, const struct scr_prefix *p,
                         const struct scr_index_entry *e);

/* For those who only look: nothing is locked or written. Marks in an index that was
 * just read, before scr_arrivals_look, the datasets that it calls complete though their
 * deletion has begun, on a full file system: those without a summary. Each causes a
 * warning. Looks into the directory of each complete dataset. */
void scr_deletions_look(const struct scr_env *env, const struct scr_prefix *p,
                        struct scr_index *index);

/* A dataset whose files stay. */
struct scr_owner {
    int id;
    uint64_t mark; /* of its entry in the index. The list of files, read after the
                      owners were listed, is the same as long as the mark is: a process
                      that writes a list again enters the dataset before and after it,
                      with the time. 0: the list may change. */
};
/* The owners except id: datasets that the index calls complete, and those on their way
 * to the prefix, by whichever job. By descending id, malloc'd. */
int scr_deletion_owners(const struct scr_env *env, const struct scr_prefix *p, int id,
                        struct scr_owner **owner, size_t *n, struct scr_err *err);
/* Held from before the owners are listed until the files are deleted, by any number of
 * deletions at once (invariant P3). A file system that is too full for the file of the
 * lock gives none, and SCR_OK: a deletion makes room there. */
int scr_deletion_hold(const struct scr_env *env, const struct scr_prefix *p,
                      struct scr_lock *lock, struct scr_err *err);
/* Waits until the deletions that hold it now are over; for a dataset that deletions
 * find among the owners from now on, and before one of its files replaces another.
 * SCR_E_LOCKED: one takes longer than minutes. */
int scr_deletion_wait(const struct scr_env *env, const struct scr_prefix *p,
                      struct scr_err *err);
/* Removes the files at these paths (store/paths.h), and directories that get empty.
 * *removed (may be NULL): how many of the files existed and were removed. Files that a
 * link leads to out of the prefix stay, with a warning for each directory (invariant
 * P20). The first error, after all were tried. */
int scr_deletion_files(const struct scr_env *env, const struct scr_prefix *p,
                       const struct scr_log *log, const struct scr_table *paths,
                       uint64_t *removed, struct scr_err *err);
/* Removes the directory of dataset id, the root of its list first. */
int scr_deletion_records(const struct scr_env *env, const struct scr_prefix *p, int id,
                         struct scr_err *err);
/* One that is being copied would be entered again when all of it has arrived, and one
 * that replaces files of older ones by the next start: neither is from here on. */
int scr_deletion_stop(const struct scr_env *env, const struct scr_prefix *p, int id,
                      struct scr_err *err);
/* The same of all datasets after id. */
int scr_deletion_stop_after(const struct scr_env *env, const struct scr_prefix *p,
                            int id, struct scr_err *err);
/* Takes it out of the index; the edit is for who has an index already. arg: int *id. */
int scr_deletion_forget(const struct scr_env *env, const struct scr_prefix *p, int id,
                        struct scr_err *err);
int scr_edit_forget(struct scr_index *index, void *arg, int *changed,
                    struct scr_err *err);
/* The same of all after it. */
int scr_edit_drop_after(struct scr_index *index, void *arg, int *changed,
                        struct scr_err *err);

#endif
