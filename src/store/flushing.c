/* SPDX-License-Identifier: BSD-3-Clause */
/* The mark of a flush under way. */
#include "store/flushing.h"

#include <stdlib.h>

#include "base/io.h"
#include "base/str.h"

enum {
    WAIT_MS = 30000, /* leftovers are removed in less, a dying process is gone */
    TRIES = 10
};

static char *mark_path(const struct scr_prefix *p, int id)
{
    return scr_prefix_dset_file(p, id, "flushing.lock");
}

/* Who held the lock before may have removed the file: then the lock is on a file that
 * no other process sees. */
static int acquire(const struct scr_env *env, const char *path, int wait_ms,
                   struct scr_lock *lock, struct scr_err *err)
{
    int rc = SCR_E_NOENT;
    for (int i = 0; i < TRIES && rc == SCR_E_NOENT; i++) {
        rc = scr_lock_acquire(env->sys, path, wait_ms, lock, err);
        if (rc != SCR_OK)
            return rc;
        rc = scr_lock_check(env->sys, lock, path, err);
        if (rc != SCR_OK)
            scr_lock_release(env->sys, lock);
    }
    return rc;
}

int scr_flushing_begin(const struct scr_env *env, const struct scr_prefix *p, int id,
                       struct scr_flushing *mark, struct scr_err *err)
{
    char *path = mark_path(p, id);
    int rc = path ? acquire(env, path, WAIT_MS, &mark->lock, err) : scr_no_memory(err);
    mark->id = rc == SCR_OK ? id : 0;
    free(path);
    return rc;
}

void scr_flushing_leave(const struct scr_env *env, struct scr_flushing *mark)
{
    if (mark->id > 0)
        scr_lock_release(env->sys, &mark->lock);
    mark->id = 0;
}

void scr_flushing_end(const struct scr_env *env, const struct scr_prefix *p,
                      struct scr_flushing *mark)
{
    char *path = mark->id > 0 ? mark_path(p, mark->id) : NULL;
    if (path != NULL)
        (void)scr_file_remove(env->sys, path, NULL);
    free(path);
    scr_flushing_leave(env, mark);
}

int scr_flushing_is_held(const struct scr_env *env, const struct scr_prefix *p, int id)
{
    struct scr_lock_holder who = { 0 };
    char *path = mark_path(p, id);
    int rc = path ? scr_lock_look(env->sys, path, &who, NULL) : SCR_E_NOMEM;
    free(path);
    return rc != SCR_OK || who.held;
}

/* 1 if there is a mark that no process holds. An unknown one stays. */
static int take(const struct scr_env *env, const struct scr_prefix *p, int id,
                struct scr_flushing *mark)
{
    struct stat st;
    char *path = mark_path(p, id);
    *mark = (struct scr_flushing){ .id = id };
    int taken = path != NULL && scr_file_stat(env->sys, path, &st, NULL) == SCR_OK &&
                acquire(env, path, 0, &mark->lock, NULL) == SCR_OK;
    free(path);
    return taken;
}

int scr_flushing_any(const struct scr_env *env, const struct scr_prefix *p,
                     const int *ids, size_t n)
{
    int any = 0;
    for (size_t i = 0; i < n && !any; i++) {
        char *path = mark_path(p, ids[i]);
        any = path == NULL || scr_file_is_there(env->sys, path);
        free(path);
    }
    return any;
}

int scr_flushing_take_dead(const struct scr_env *env, const struct scr_prefix *p,
                           struct scr_flushing **marks, size_t *n, struct scr_err *err)
{
    int *ids = NULL;
    size_t all = 0;
    *n = 0;
    *marks = NULL;
    int rc = scr_prefix_unfinished_ids(env, p, NULL, &ids, &all, err);
    if (rc == SCR_OK && (*marks = scr_calloc(all, sizeof **marks)) == NULL)
        rc = scr_no_memory(err);
    for (size_t i = 0; i < all && rc == SCR_OK; i++)
        *n += (size_t)take(env, p, ids[i], &(*marks)[*n]);
    free(ids);
    return rc;
}
