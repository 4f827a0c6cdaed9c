/* SPDX-License-Identifier: BSD-3-Clause */
/* The mark of a flush under way: flushing.lock in the directory of the dataset, held by
 * one process of the job from before the first temporary file is made until each has
 * been renamed or removed. A flush that was killed leaves the file without a lock: then
 * temporary files may be left next to the files that the dataset's list names.
 * Local. */
#ifndef SCR_STORE_FLUSHING_H
#define SCR_STORE_FLUSHING_H

#include "base/lock.h"
#include "store/prefix.h"

struct scr_flushing {
    int id; /* 0: of none */
    struct scr_lock lock;
};

/* Marks dataset id, whose directory exists. SCR_E_LOCKED: another process flushes it.
 */
int scr_flushing_begin(const struct scr_env *env, const struct scr_prefix *p, int id,
                       struct scr_flushing *mark, struct scr_err *err);
/* Removes the mark; nothing if there is none. */
void scr_flushing_end(const struct scr_env *env, const struct scr_prefix *p,
                      struct scr_flushing *mark);
/* Leaves the mark as a killed process does. */
void scr_flushing_leave(const struct scr_env *env, struct scr_flushing *mark);

/* 1 if a process holds the mark of dataset id, or that is not known. */
int scr_flushing_is_held(const struct scr_env *env, const struct scr_prefix *p, int id);
/* 1 if one of these datasets has a mark, held or not, or that is not known. */
int scr_flushing_any(const struct scr_env *env, const struct scr_prefix *p,
                     const int *ids, size_t n);
/* Takes the marks that killed flushes left (of scr_prefix_unfinished_ids), malloc'd: no
 * flush of one begins until its mark is ended or left. */
int scr_flushing_take_dead(const struct scr_env *env, const struct scr_prefix *p,
                           struct scr_flushing **marks, size_t *n, struct scr_err *err);

#endif
