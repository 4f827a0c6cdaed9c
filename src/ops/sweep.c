/* SPDX-License-Identifier: BSD-3-Clause */
/* Removes leftovers of killed flushes from the prefix. */
#include "ops/sweep.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "base/units.h"
#include "store/arrival.h"
#include "store/paths.h"
#include "store/replacing.h"
#include "xfer/parts.h"

/* --- the marks --- */

static int place_rest(const struct scr_env *env, const struct scr_prefix *p, int id,
                      struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    uint64_t files = 0;
    if (!scr_replacing_is_begun(env, p, id))
        return SCR_OK;
    int rc = scr_replacing_finish(env, p, id, &files, &why);
    if (rc == SCR_OK) {
        scr_log(env->log, SCR_LOG_NOTE,
                "dataset %d on the prefix was written, but not all of its files had "
                "their names: it is complete now, %llu file%s",
                id, (unsigned long long)files, scr_plural((int64_t)files));
        return SCR_OK;
    }
    if (scr_err_may_pass(rc))
        return scr_fail(err, rc, 0, "dataset %d: %s", id, why.text);
    scr_log(env->log, SCR_LOG_WARN, "dataset %d cannot be completed: %s", id, why.text);
    return scr_replacing_end(env, p, id, err);
}

static void sort_mark(struct scr_dead *d, const struct scr_index *index, int id)
{
    struct scr_index_entry e;
    int known = scr_index_get(index, id, &e, NULL) == SCR_OK;
    if (!known || !e.dset.is_bypass)
        d->flushed[d->nflushed++] = id;
    if (!known || e.dset.is_bypass)
        d->bypassed[d->nbypassed++] = id;
}

int scr_dead_take(const struct scr_env *env, const struct scr_prefix *p,
                  struct scr_dead *d, struct scr_err *err)
{
    int rc = scr_flushing_take_dead(env, p, &d->mark, &d->n, err);
    if (rc != SCR_OK || d->n == 0)
        return rc;
    struct scr_index index = SCR_INDEX_INIT;
    d->flushed = scr_calloc(d->n, sizeof *d->flushed);
    d->bypassed = scr_calloc(d->n, sizeof *d->bypassed);
    rc = d->flushed && d->bypassed
             ? scr_prefix_index_ids(env, p, &index, &d->all, &d->nall, err)
             : scr_no_memory(err);
    for (size_t i = 0; i < d->n && rc == SCR_OK; i++)
        sort_mark(d, &index, d->mark[i].id);
    for (size_t i = 0; i < d->nbypassed && rc == SCR_OK; i++)
        rc = place_rest(env, p, d->bypassed[i], err);
    scr_index_fini(&index);
    return rc;
}

void scr_dead_release(const struct scr_env *env, const struct scr_prefix *p,
                      struct scr_dead *d, int rc)
{
    for (size_t i = 0; i < d->n && d->mark != NULL; i++)
        if (rc == SCR_OK)
            scr_flushing_end(env, p, &d->mark[i]);
        else
            scr_flushing_leave(env, &d->mark[i]);
    free(d->mark);
    free(d->flushed);
    free(d->bypassed);
    free(d->all);
    *d = (struct scr_dead){ 0 };
}

/* --- what they lead to --- */

static int remove_beside(struct scr_sweep *s, const char *dir, int id,
                         struct scr_err *err)
{
    char *part = scr_replacing_dir(dir, id);
    int rc = SCR_OK;
    if (part == NULL)
        rc = scr_no_memory(err);
    else if (scr_file_is_there(s->env->sys, part)) {
        rc = scr_dir_remove(s->env->sys, part, err);
        s->removed += rc == SCR_OK;
    }
    free(part);
    return rc;
}

/* A directory below the prefix, with the names of files in it. */
struct dir {
    struct scr_item item;
    struct scr_table names; /* of struct scr_item */
};

static int remove_in(struct scr_sweep *s, const char *path, const struct dir *dir,
                     struct scr_err *err)
{
    if (s->ids == NULL)
        return scr_parts_remove(s->env->sys, path, &dir->names, s->below, &s->removed,
                                err);
    for (size_t i = 0; i < s->n; i++)
        TRY(remove_beside(s, path, s->ids[i], err));
    return SCR_OK;
}

static int sweep_dir(struct scr_sweep *s, const struct dir *dir, struct scr_err *err)
{
    int rc = SCR_OK;
    char *path = scr_path_join(s->p->path, dir->item.name);
    if (path == NULL)
        rc = scr_no_memory(err);
    else if (scr_path_check_inside(s->p->path, path, NULL) == SCR_OK)
        rc = remove_in(s, path, dir, err);
    free(path);
    return rc;
}

static int sweep_dirs(struct scr_sweep *s, const struct scr_table *dirs,
                      struct scr_err *err)
{
    int rc = SCR_OK;
    for (SCR_EACH(struct dir, d, dirs))
        rc = scr_first(rc, sweep_dir(s, d, rc == SCR_OK ? err : NULL));
    return rc;
}

static int add_path(struct scr_table *dirs, const char *path)
{
    char *name = scr_path_dir(path);
    struct dir *d = scr_table_add(dirs, name);
    free(name);
    if (d != NULL && d->names.size == 0)
        scr_table_init(&d->names, sizeof(struct scr_item));
    return d != NULL && scr_table_add(&d->names, scr_path_base(path)) != NULL;
}

int scr_sweep_paths(struct scr_sweep *s, const struct scr_table *paths,
                    struct scr_err *err)
{
    struct scr_table dirs = SCR_TABLE_OF(struct dir);
    int ok = 1;
    for (SCR_EACH(struct scr_item, e, paths))
        ok = ok && add_path(&dirs, e->name);
    int rc = ok ? sweep_dirs(s, &dirs, err) : scr_no_memory(err);
    for (SCR_EACH(struct dir, d, &dirs))
        scr_table_fini(&d->names);
    scr_table_fini(&dirs);
    return rc;
}

/* --- all of it, by one process --- */

/* Goes by the lists of datasets lists[0…n). One whose list is gone has written nothing;
 * a damaged one says nothing. */
static int sweep_listed(struct scr_sweep *s, const int *lists, size_t n,
                        struct scr_err *err)
{
    struct scr_table paths = SCR_TABLE_OF(struct scr_item);
    int rc = SCR_OK;
    for (size_t i = 0; i < n; i++) {
        struct scr_err why = SCR_ERR_INIT;
        int one = scr_paths_add(s->env, s->p, lists[i], &paths, &why);
        if (one == SCR_E_NOMEM || one == SCR_E_IO)
            TRY_OUT(scr_err_take(err, one, &why));
    }
    TRY_OUT(scr_sweep_paths(s, &paths, err));
out:
    scr_table_fini(&paths);
    return rc;
}

int scr_sweep_killed(const struct scr_env *env, const struct scr_prefix *p,
                     uint64_t *removed, struct scr_err *err)
{
    struct scr_dead d = { 0 };
    int rc = scr_dead_take(env, p, &d, err);
    struct scr_sweep files = { .env = env, .p = p, .below = SCR_ARRIVAL_TAG };
    struct scr_sweep dirs = { .env = env, .p = p, .ids = d.bypassed, .n = d.nbypassed };
    if (rc == SCR_OK)
        rc = sweep_listed(&files, d.flushed, d.nflushed, err);
    if (rc == SCR_OK && d.nbypassed > 0)
        rc = sweep_listed(&dirs, d.all, d.nall, err);
    *removed += files.removed + dirs.removed;
    scr_dead_release(env, p, &d, rc);
    return rc;
}

/* --- state files --- */

enum { OLD_S = 24 * 3600 };

/* ".<base>.<pid>.<n>.tmp" (base/io.h). */
static int is_half_done(const char *name)
{
    static const char suffix[] = ".tmp";
    size_t n = strlen(name), skip = sizeof suffix - 1;
    return name[0] == '.' && n > skip && strcmp(name + n - skip, suffix) == 0;
}

static int sweep_dir_records(const struct scr_env *env, const char *dir,
                             struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    char **names = NULL;
    size_t n = 0;
    int rc = dir ? scr_dir_list(env->sys, dir, &names, &n, &why) : scr_no_memory(&why);
    for (size_t i = 0; i < n && rc == SCR_OK; i++) {
        struct stat st;
        char *path = is_half_done(names[i]) ? scr_path_join(dir, names[i]) : NULL;
        if (path != NULL && scr_file_stat(env->sys, path, &st, NULL) == SCR_OK &&
            S_ISREG(st.st_mode) && st.st_mtime + OLD_S < time(NULL))
            rc = scr_file_remove(env->sys, path, &why);
        free(path);
    }
    scr_names_free(names, n);
    return scr_err_take(err, rc == SCR_E_NOENT ? SCR_OK : rc, &why);
}

int scr_sweep_records(const struct scr_env *env, const struct scr_prefix *p,
                      struct scr_err *err)
{
    int *ids = NULL, rc = SCR_OK;
    size_t n = 0;
    TRY(sweep_dir_records(env, p->scr, err));
    TRY(scr_prefix_unfinished_ids(env, p, NULL, &ids, &n, err));
    for (size_t i = 0; i < n && rc == SCR_OK; i++) {
        char *dir = scr_prefix_dset_dir(p, ids[i]);
        rc = sweep_dir_records(env, dir, err);
        free(dir);
    }
    free(ids);
    return rc;
}
