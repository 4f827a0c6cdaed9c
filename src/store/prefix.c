/* SPDX-License-Identifier: BSD-3-Clause */
/* The prefix directory and the transactions on its state files. */
#include "store/prefix.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cwd.h"
#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "store/dset_names.h"
#include "store/prefix_dset.h"
#include "store/txn.h"

enum { DIR_MODE = 0777 }; /* cut by the umask: the prefix is the user's to share */

/* --- the directory --- */

/* A file that comes and goes: an unwritable prefix is found before the first
 * checkpoint. */
static int try_write(const struct scr_env *env, const struct scr_prefix *p,
                     struct scr_err *err)
{
    int fd = -1;
    char *probe = scr_asprintf("%s/.probe.%ld", p->scr, (long)getpid());
    TRY(probe ? SCR_OK : scr_no_memory(err));
    int rc;
    TRY_OUT(scr_open(env->sys, probe, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600, &fd, err));
    TRY_OUT(scr_close(env->sys, &fd, probe, err));
    TRY_OUT(scr_file_remove(env->sys, probe, err));
out:
    free(probe);
    return rc;
}

/* .scr is synced even if it exists: the process that made it may have died before. */
static int make_own_dir(const struct scr_env *env, const struct scr_prefix *p,
                        struct scr_err *err)
{
    TRY(scr_dir_make(env->sys, p->scr, DIR_MODE, err));
    TRY(scr_dir_sync(env->sys, p->path, err));
    return try_write(env, p, err);
}

/* Checks and makes what scr_prefix_open promises. */
static int prefix_check(const struct scr_env *env, const struct scr_prefix *p,
                        int create, struct scr_err *err)
{
    int rc = scr_dir_make_private(env->sys, p->path, "", 0, err);
    if (rc != SCR_OK) {
        scr_err_prefix(err, "prefix");
        return rc;
    }
    if (!create)
        return SCR_OK;
    if ((rc = make_own_dir(env, p, err)) != SCR_OK)
        scr_err_prefix(err, "prefix is not writable");
    return rc;
}

int scr_prefix_open(const struct scr_env *env, const char *path, int create,
                    struct scr_prefix *p, struct scr_err *err)
{
    *p = (struct scr_prefix){ 0 };
    if (path == NULL || *path == '\0')
        return scr_fail(err, SCR_E_ARG, 0, "prefix directory: empty path");
    char *cwd = NULL;
    int rc = *path == '/' ? SCR_OK : scr_cwd(&cwd, err);
    if (rc != SCR_OK)
        return rc;
    p->path = scr_path_join(cwd ? cwd : "/", path);
    p->scr = p->path ? scr_path_join(p->path, ".scr") : NULL;
    p->index = scr_index_cache_new();
    free(cwd);
    if (p->scr == NULL || p->index == NULL)
        rc = scr_no_memory(err);
    else
        rc = prefix_check(env, p, create, err);
    if (rc != SCR_OK)
        scr_prefix_fini(p);
    return rc;
}

void scr_prefix_fini(struct scr_prefix *p)
{
    free(p->path);
    free(p->scr);
    scr_index_cache_free(p->index);
    *p = (struct scr_prefix){ 0 };
}

/* --- links that lead out of it --- */

static int is_inside(const char *prefix, const char *real, int *inside,
                     struct scr_err *err)
{
    char *root = NULL;
    int outside = 0;
    TRY(scr_realpath(prefix, &root, err));
    char *below = scr_path_below(root, real, &outside);
    *inside = below != NULL;
    free(below);
    free(root);
    return *inside || outside ? SCR_OK : scr_no_memory(err);
}

int scr_path_check_inside(const char *prefix, const char *dir, struct scr_err *err)
{
    char *real = NULL;
    int inside = 0, rc;
    TRY_OUT(scr_realpath_to_be(dir, &real, err));
    TRY_OUT(is_inside(prefix, real, &inside, err));
    if (!inside)
        TRY_OUT(scr_fail(err, SCR_E_OUTSIDE, 0,
                         "%s leads to %s, which is outside the prefix directory %s",
                         dir, real, prefix));
out:
    free(real);
    return rc;
}

/* Up to the prefix: each of them may be new. */
static int sync_above(const struct scr_env *env, const char *root, const char *real,
                      struct scr_err *err)
{
    char *at = scr_strdup(real);
    int rc = at != NULL ? SCR_OK : scr_no_memory(err);
    while (rc == SCR_OK && strlen(at) > strlen(root)) {
        char *above = scr_path_dir(at);
        free(at);
        at = above;
        rc = at != NULL ? scr_dir_sync(env->sys, at, err) : scr_no_memory(err);
    }
    free(at);
    return rc;
}

int scr_prefix_make_dir(const struct scr_env *env, const struct scr_prefix *p,
                        const char *dir, struct scr_err *err)
{
    char *real = NULL, *root = NULL;
    int rc;
    if (scr_dir_make(env->sys, dir, DIR_MODE, NULL) == SCR_OK)
        return SCR_OK;
    TRY_OUT(scr_realpath(p->path, &root, err));
    TRY_OUT(scr_realpath_to_be(dir, &real, err));
    TRY_OUT(scr_dir_make(env->sys, real, DIR_MODE, err));
    TRY_OUT(sync_above(env, root, real, err));
out:
    free(real);
    free(root);
    return rc;
}

int scr_prefix_is_own(const char *below)
{
    static const char part[] = SCR_PART_DIR;
    if (strcmp(below, ".scr") == 0 || strncmp(below, ".scr/", 5) == 0)
        return 1;
    for (const char *at = below; (at = strstr(at, part)) != NULL; at++)
        if (at == below || at[-1] == '/')
            return 1;
    return 0;
}

char *scr_prefix_file(const struct scr_prefix *p, const char *name)
{
    return scr_path_join(p->scr, name);
}

int scr_prefix_lock(const struct scr_env *env, const struct scr_prefix *p,
                    const char *name, int timeout_ms, struct scr_lock *lock,
                    struct scr_err *err)
{
    char *path = scr_prefix_file(p, name);
    int rc = path ? scr_lock_acquire(env->sys, path, timeout_ms, lock, err)
                  : scr_no_memory(err);
    free(path);
    return rc;
}

int scr_prefix_lock_is_held(const struct scr_env *env, const struct scr_prefix *p,
                            const char *name)
{
    struct scr_lock_holder who = { 0 };
    char *path = scr_prefix_file(p, name);
    int rc = path ? scr_lock_look(env->sys, path, &who, NULL) : SCR_E_NOMEM;
    free(path);
    return rc == SCR_OK ? who.held : -1;
}

char *scr_prefix_dset_dir(const struct scr_prefix *p, int id)
{
    return scr_dset_path(p->scr, id);
}

char *scr_prefix_dset_file(const struct scr_prefix *p, int id, const char *name)
{
    char *dir = scr_prefix_dset_dir(p, id);
    char *path = dir ? scr_path_join(dir, name) : NULL;
    free(dir);
    return path;
}

int scr_prefix_max_dset_dir(const struct scr_env *env, const struct scr_prefix *p,
                            int *max, struct scr_err *err)
{
    int *ids;
    size_t n;
    int rc = scr_dset_ids(env, p->scr, &ids, &n, err);
    *max = rc == SCR_OK && n > 0 ? ids[n - 1] : 0;
    free(ids);
    return rc;
}

/* Of the complete datasets those from here on are looked at, too. */
static int recent_from(const struct scr_index *index)
{
    enum { RECENT = 16 }; /* a job completes one at a time; several have one prefix */
    int from = INT_MAX;
    for (size_t i = index->n, left = RECENT; i-- > 0 && left > 0;)
        if (index->of[i].complete) {
            from = index->of[i].id;
            left--;
        }
    return from;
}

int scr_prefix_unfinished_ids(const struct scr_env *env, const struct scr_prefix *p,
                              const struct scr_index *index, int **ids, size_t *n,
                              struct scr_err *err)
{
    const struct scr_env quiet = { .sys = env->sys };
    struct scr_index here = SCR_INDEX_INIT;
    struct scr_ids found = { 0 };
    int rc;
    if (index == NULL && scr_prefix_index_peek(&quiet, p, &here, NULL) != SCR_OK)
        (void)scr_prefix_index_look(&quiet, p, &here, NULL);
    index = index != NULL ? index : &here;
    int from = recent_from(index);
    TRY_OUT(scr_prefix_strays(env, p, index, &found, err));
    for (size_t i = 0; i < index->n; i++)
        if (index->of[i].id >= from || !index->of[i].complete)
            TRY_OUT(scr_ids_add(&found, index->of[i].id, err));
out:
    scr_index_fini(&here);
    if (rc != SCR_OK)
        scr_ids_fini(&found);
    *ids = found.id;
    *n = found.n;
    return rc;
}

/* --- the other state files --- */

int scr_prefix_state_read(const struct scr_env *env, const struct scr_prefix *p,
                          const char *name, scr_hash *h, struct scr_err *err)
{
    struct scr_txn s;
    int rc = scr_txn_init(&s, env, p, name, err);
    if (rc == SCR_OK && (rc = scr_txn_load(&s, err)) == SCR_OK &&
        scr_hash_merge(h, s.h) != SCR_OK)
        rc = scr_no_memory(err);
    scr_txn_fini(&s);
    return rc;
}

/* A damaged file, or one that says what cannot be, is kept aside, and another is begun.
 */
static int edit_state(struct scr_txn *s, scr_hash_edit edit, void *arg,
                      struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc;
    TRY_OUT(scr_txn_load(s, &why));
    TRY_OUT(scr_txn_edit(s, edit, arg, &why));
out:
    if (rc != SCR_E_CORRUPT || s->bytes == NULL || !scr_txn_may_start_anew(s->name)) {
        if (rc != SCR_OK && err != NULL)
            *err = why;
        return rc;
    }
    TRY(scr_txn_keep_aside(s, why.text, err));
    scr_hash_unset_all(s->h);
    TRY(scr_txn_edit(s, edit, arg, err));
    /* Also when the edit changed nothing: what was kept aside once is not found again.
     */
    return scr_txn_write(s, err);
}

int scr_prefix_state_update(const struct scr_env *env, const struct scr_prefix *p,
                            const char *name, scr_hash_edit edit, void *arg,
                            struct scr_err *err)
{
    struct scr_txn s;
    int rc;
    TRY_OUT(scr_txn_init(&s, env, p, name, err));
    TRY_OUT(scr_txn_lock(&s, err));
    TRY_OUT(edit_state(&s, edit, arg, err));
out:
    scr_txn_fini(&s);
    return rc;
}

int scr_prefix_state_remove(const struct scr_env *env, const struct scr_prefix *p,
                            const char *name, struct scr_err *err)
{
    struct scr_txn s;
    int rc = scr_txn_init(&s, env, p, name, err);
    if (rc == SCR_OK && scr_file_is_there(env->sys, s.path) &&
        (rc = scr_txn_lock(&s, err)) == SCR_OK &&
        (rc = scr_file_remove(env->sys, s.path, err)) == SCR_OK)
        rc = scr_dir_sync(env->sys, p->scr, err);
    scr_txn_fini(&s);
    return rc;
}
