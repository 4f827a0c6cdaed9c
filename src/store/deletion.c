/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps of a deletion from the prefix directory. */
#include "store/deletion.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "base/units.h"
#include "ec/ec.h"
#include "store/arrival.h"
#include "store/dset_names.h"
#include "store/flushing.h"
#include "store/replacing.h"
#include "store/saved.h"

/* --- whose files they are --- */

struct owners {
    const struct scr_env *env;
    const struct scr_prefix *p;
    struct scr_index index;
    scr_hash *flush;
    int *pending;
    size_t npending;
};

/* Of a damaged one, which the next edit sets aside, nothing is known. */
static int read_marks(struct owners *o, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_prefix_state_read(o->env, o->p, "flush.scr", o->flush, &why);
    return scr_err_take(err, rc == SCR_E_CORRUPT ? SCR_OK : rc, &why);
}

static int read_owners(struct owners *o, struct scr_err *err)
{
    TRY(o->flush ? scr_prefix_index_read(o->env, o->p, &o->index, err)
                 : scr_no_memory(err));
    TRY(read_marks(o, err));
    return scr_arrivals_pending(o->env, o->p, &o->index, &o->pending, &o->npending,
                                err);
}

static int is_coming(const struct owners *o, int id)
{
    const int flushing = SCR_LOC_FLUSHING | SCR_LOC_SYNC_FLUSHING;
    int is = (scr_flush_get_location(o->flush, id) & flushing) != 0;
    for (size_t i = 0; i < o->npending; i++)
        is = is || o->pending[i] == id;
    return is || scr_flushing_is_held(o->env, o->p, id);
}

/* Timestamps are of seconds, and by the clock of another node: the entry of a dataset
 * that was flushed just now may be the same after it is flushed again. Version 1 has
 * none. before: the latest timestamp that is old enough. */
static uint64_t mark_of(const struct scr_index_entry *e, const char *before)
{
    if (!e->complete || e->dir != NULL || e->flushed == NULL ||
        strcmp(e->flushed, before) > 0)
        return 0;
    return (uint64_t)e->packed.n << 32 | scr_crc32(0, e->packed.p, e->packed.n);
}

static int list_owners(const struct owners *o, int id, struct scr_owner **owner,
                       size_t *n, struct scr_err *err)
{
    enum { SETTLED_SECS = 60 };
    const struct scr_index *x = &o->index;
    char before[32];
    if ((*owner = scr_calloc(x->n, sizeof **owner)) == NULL)
        return scr_no_memory(err);
    scr_format_stamp(time(NULL) - SETTLED_SECS, before, sizeof before);
    for (size_t i = x->n; i-- > 0;) {
        const struct scr_index_entry *e = &x->of[i];
        if (e->id != id && (e->complete || is_coming(o, e->id)))
            (*owner)[(*n)++] = (struct scr_owner){ e->id, mark_of(e, before) };
    }
    return SCR_OK;
}

int scr_deletion_owners(const struct scr_env *env, const struct scr_prefix *p, int id,
                        struct scr_owner **owner, size_t *n, struct scr_err *err)
{
    struct owners o = { env, p, SCR_INDEX_INIT, scr_hash_new(), NULL, 0 };
    *owner = NULL;
    *n = 0;
    int rc;
    TRY_OUT(read_owners(&o, err));
    TRY_OUT(list_owners(&o, id, owner, n, err));
out:
    scr_index_fini(&o.index);
    scr_hash_delete(o.flush);
    free(o.pending);
    return rc;
}

/* --- one at a time with what is renamed --- */

#define DELETING_LOCK "deleting.lock"
enum { PATIENCE_MS = 300000 }; /* millions of files */

int scr_deletion_hold(const struct scr_env *env, const struct scr_prefix *p,
                      struct scr_lock *lock, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    char *path = scr_prefix_file(p, DELETING_LOCK);
    *lock = (struct scr_lock)SCR_LOCK_INIT;
    int rc = path ? scr_lock_share(env->sys, path, PATIENCE_MS, lock, &why)
                  : scr_no_memory(&why);
    free(path);
    return scr_err_take(err, rc == SCR_E_FULL ? SCR_OK : rc, &why);
}

/* A look would not see it: the lock is shared. */
int scr_deletion_wait(const struct scr_env *env, const struct scr_prefix *p,
                      struct scr_err *err)
{
    struct scr_lock lock = SCR_LOCK_INIT;
    struct scr_err why = SCR_ERR_INIT;
    char *path = scr_prefix_file(p, DELETING_LOCK);
    int rc;
    TRY_OUT(path ? SCR_OK : scr_no_memory(err));
    if (!scr_file_is_there(env->sys, path))
        goto out;
    rc = scr_lock_acquire(env->sys, path, 0, &lock, &why);
    if (rc == SCR_E_LOCKED) {
        scr_log(env->log, SCR_LOG_NOTE,
                "files in %s are not replaced before a deletion there has ended",
                p->path);
        scr_err_clear(&why);
        rc = scr_lock_acquire(env->sys, path, PATIENCE_MS, &lock, &why);
    }
    if (rc != SCR_OK)
        scr_fail(err, rc, 0,
                 "files in %s cannot be replaced while a deletion runs there: %s",
                 p->path, why.text);
    scr_lock_release(env->sys, &lock);
out:
    free(path);
    return rc;
}

/* --- files and records --- */

struct deletion {
    const struct scr_env *env;
    const struct scr_prefix *p;
    const struct scr_log *log;
    struct scr_table looked_at; /* of struct looked */
    uint64_t removed;           /* files that existed */
};

/* A directory. */
struct looked {
    struct scr_item item;
    int leads_out; /* a link on the way does, or may */
};

/* 1 if a link on the way leads out of the prefix, or may: files there must stay
 * (invariant P20), reported once for each directory. */
static int leads_out(struct deletion *d, const char *dir)
{
    struct scr_err why = SCR_ERR_INIT;
    struct looked *known = scr_table_find(&d->looked_at, dir);
    if (known != NULL)
        return known->leads_out;
    int out = scr_path_check_inside(d->p->path, dir, &why) != SCR_OK;
    if ((known = scr_table_add(&d->looked_at, dir)) != NULL)
        known->leads_out = out;
    if (out)
        scr_log(d->log, SCR_LOG_WARN, "files stay where they are: %s", why.text);
    return out;
}

static int delete_file(struct deletion *d, const char *dest, struct scr_err *err)
{
    char *path = scr_path_join(d->p->path, dest);
    char *dir = path ? scr_path_dir(path) : NULL;
    int rc = dir ? SCR_OK : scr_no_memory(err);
    if (rc == SCR_OK && !leads_out(d, dir) &&
        (rc = scr_file_remove_count(d->env->sys, path, &d->removed, err)) == SCR_OK)
        scr_dir_prune(d->env->sys, dir, d->p->path, NULL);
    free(dir);
    free(path);
    return rc;
}

int scr_deletion_files(const struct scr_env *env, const struct scr_prefix *p,
                       const struct scr_log *log, const struct scr_table *paths,
                       uint64_t *removed, struct scr_err *err)
{
    int rc = SCR_OK;
    struct deletion d = { env, p, log, SCR_TABLE_OF(struct looked), 0 };
    for (SCR_EACH(const struct scr_item, f, paths))
        rc = scr_first(rc, delete_file(&d, f->name, rc == SCR_OK ? err : NULL));
    scr_table_fini(&d.looked_at);
    if (removed != NULL)
        *removed = d.removed;
    return rc;
}

/* The root of the list first: a list that lacks parts could not be read, and a deletion
 * that died here not be finished. */
int scr_deletion_records(const struct scr_env *env, const struct scr_prefix *p, int id,
                         struct scr_err *err)
{
    char *dir = scr_prefix_dset_dir(p, id);
    char *root = dir ? scr_path_join(dir, "rank2file") : NULL;
    int rc;
    TRY_OUT(root ? scr_file_remove(env->sys, root, err) : scr_no_memory(err));
    TRY_OUT(scr_dir_remove(env->sys, dir, err));
out:
    free(root);
    free(dir);
    return rc;
}

/* --- the index --- */

static int edit_mark(struct scr_index *index, void *arg, int *changed,
                     struct scr_err *err)
{
    int id = *(const int *)arg;
    (void)err;
    *changed = scr_index_has(index, id);
    scr_index_mark_doomed(index, id);
    return SCR_OK;
}

static int begin(const struct scr_env *env, const struct scr_prefix *p, int id,
                 int is_full, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_arrival_give_up(env, p, id, &why);
    if (rc == SCR_OK)
        rc = scr_prefix_index_update(env, p, edit_mark, &id, &why);
    if (rc == SCR_E_FULL && scr_prefix_summary_remove(env, p, id, NULL) == SCR_OK) {
        scr_err_clear(&why);
        rc = scr_prefix_index_update(env, p, edit_mark, &id, &why);
        rc = rc == SCR_E_FULL && is_full ? SCR_OK : rc;
    }
    return scr_err_take(err, rc, &why);
}

int scr_deletion_begin(const struct scr_env *env, const struct scr_prefix *p, int id,
                       struct scr_err *err)
{
    return begin(env, p, id, 0, err);
}

int scr_deletion_begin_full(const struct scr_env *env, const struct scr_prefix *p,
                            int id, struct scr_err *err)
{
    return begin(env, p, id, 1, err);
}

/* Datasets of version 1 have their summary elsewhere. */
int scr_deletion_is_half(const struct scr_env *env, const struct scr_prefix *p,
                         const struct scr_index_entry *e)
{
    return e->complete && e->dir == NULL && !scr_prefix_has_summary(env, p, e->id);
}

void scr_deletions_look(const struct scr_env *env, const struct scr_prefix *p,
                        struct scr_index *index)
{
    for (size_t i = 0; i < index->n; i++) {
        const struct scr_index_entry *e = &index->of[i];
        if (!scr_deletion_is_half(env, p, e))
            continue;
        scr_log(env->log, SCR_LOG_WARN,
                "dataset %d (%s) has no summary, its deletion may have been "
                "interrupted: no restart takes it; to complete the deletion: "
                "scr_index --prefix %s --delete %d; to check and keep it: --add %d",
                e->id, e->dset.name, p->path, e->id, e->id);
        scr_index_mark_doomed(index, e->id);
    }
}

int scr_edit_forget(struct scr_index *index, void *arg, int *changed,
                    struct scr_err *err)
{
    (void)err;
    *changed = scr_index_remove(index, *(const int *)arg);
    return SCR_OK;
}

int scr_edit_drop_after(struct scr_index *index, void *arg, int *changed,
                        struct scr_err *err)
{
    (void)err;
    *changed = scr_index_drop_after(index, *(const int *)arg);
    return SCR_OK;
}

static int stop(const struct scr_env *env, const struct scr_prefix *p, const int *ids,
                size_t n, struct scr_err *err)
{
    for (size_t i = 0; i < n; i++) {
        TRY(scr_arrival_give_up(env, p, ids[i], err));
        TRY(scr_replacing_end(env, p, ids[i], err));
    }
    return scr_saved_note(env, p, ids, n, 0, err);
}

int scr_deletion_stop(const struct scr_env *env, const struct scr_prefix *p, int id,
                      struct scr_err *err)
{
    return stop(env, p, &id, 1, err);
}

int scr_deletion_stop_after(const struct scr_env *env, const struct scr_prefix *p,
                            int id, struct scr_err *err)
{
    int *ids = NULL;
    size_t n = 0, first = 0;
    int rc;
    TRY_OUT(scr_dset_ids(env, p->scr, &ids, &n, err));
    while (first < n && ids[first] <= id)
        first++;
    TRY_OUT(stop(env, p, ids + first, n - first, err));
out:
    free(ids);
    return rc;
}

int scr_deletion_forget(const struct scr_env *env, const struct scr_prefix *p, int id,
                        struct scr_err *err)
{
    return scr_prefix_index_update(env, p, scr_edit_forget, &id, err);
}
