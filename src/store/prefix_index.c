/* SPDX-License-Identifier: BSD-3-Clause */
/* The index of the prefix directory: read, edited, and rebuilt when it is damaged
 * or gone. */
#include <stdlib.h>

#include "base/io.h"
#include "base/path.h"
#include "store/names.h"
#include "store/prefix_dset.h"
#include "store/txn.h"

static int rebuild_add(struct scr_txn *s, int id, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int complete = 0;
    scr_hash *dset = scr_hash_new();
    int rc = scr_prefix_summary_here(s->env, s->p, id, &complete, dset, &why);
    if (rc == SCR_OK)
        rc = scr_index_add(s->h, dset, complete,
                           scr_prefix_summary_time(s->env, s->p, id));
    scr_hash_delete(dset);
    if (rc == SCR_OK)
        return SCR_OK;
    if (rc == SCR_E_NOMEM)
        return scr_txn_no_memory(s, err);
    /* What cannot be read now may be good: better no index than one that forgot it. */
    if (rc == SCR_E_IO)
        return scr_fail(err, rc, 0, "%s", why.text);
    scr_log(
        s->env->log, SCR_LOG_WARN,
        "%s; to put dataset %d back into the index: scr_index --prefix %s --build %d",
        why.text, id, s->p->path, id);
    return SCR_OK;
}

/* Fills s->h anew from the summaries, oldest first, and makes the newest one current.
 */
static int rebuild(struct scr_txn *s, struct scr_err *err)
{
    struct scr_index_entry e;
    int *ids;
    size_t n;
    int rc = scr_dset_ids(s->env, s->p->scr, &ids, &n, err);
    scr_hash_unset_all(s->h);
    if (rc == SCR_OK)
        rc = scr_index_normal(s->h, err);
    for (size_t i = 0; i < n && rc == SCR_OK; i++)
        rc = rebuild_add(s, ids[i], err);
    free(ids);
    int newest = scr_index_newest(s->h, 0);
    if (rc == SCR_OK && newest > 0 && scr_index_get(s->h, newest, &e, NULL) == SCR_OK)
        rc = scr_index_set_current(s->h, e.dset.name);
    return rc;
}

/* Index of version 1, which lay in the prefix directory itself. It is only read: an
 * update writes the new one. Anything else of that name is not ours. */
static int load_old(struct scr_txn *s, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int version = 0;
    char *path = scr_path_join(s->p->path, "index.scr");
    int rc = path ? scr_hash_file_read(s->env->sys, path, s->h, &why) : SCR_E_NOMEM;
    free(path);
    if (rc == SCR_E_NOMEM)
        return scr_txn_no_memory(s, err);
    if (rc == SCR_E_IO)
        return scr_fail(err, rc, 0, "%s", why.text);
    if (rc != SCR_OK || !scr_hash_get_val_int(s->h, "VERSION", &version) ||
        version != 1)
        scr_hash_unset_all(s->h);
    return SCR_OK;
}

/* Without a file: the old index, or none in a new prefix. The first flush writes the
 * index before it writes a summary, so where there is one the index was lost.
 * Directories without, as a scavenge leaves them, say nothing. */
static int load_absent(struct scr_txn *s, struct scr_err *err)
{
    int *ids;
    size_t n, summaries = 0;
    int rc = load_old(s, err);
    if (rc != SCR_OK || scr_hash_size(s->h) > 0)
        return rc;
    rc = scr_dset_ids(s->env, s->p->scr, &ids, &n, err);
    for (size_t i = 0; rc == SCR_OK && i < n; i++)
        summaries += scr_prefix_summary_time(s->env, s->p, ids[i]) != 0;
    free(ids);
    if (rc == SCR_OK && summaries > 0)
        rc = scr_fail(err, SCR_E_CORRUPT, 0, "%s is gone", s->path);
    return rc;
}

/* Loads index.scr into s->h. SCR_E_CORRUPT: it is to be rebuilt. */
static int index_load(struct scr_txn *s, struct scr_err *err)
{
    int rc = scr_txn_load(s, err);
    if (rc != SCR_OK)
        return rc;
    if (s->bytes != NULL && s->nbytes == 0)
        return scr_fail(err, SCR_E_CORRUPT, 0, "%s is empty", s->path);
    if (s->bytes == NULL && (rc = load_absent(s, err)) != SCR_OK)
        return rc;
    if ((rc = scr_index_normal(s->h, err)) != SCR_OK)
        scr_err_prefix(err, "%s", s->path);
    return rc;
}

/* Under the lock: loads the index, and repairs it on disk if it must be. */
static int index_load_mended(struct scr_txn *s, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = index_load(s, &why);
    if (rc == SCR_OK)
        return SCR_OK;
    if (rc != SCR_E_CORRUPT)
        return scr_fail(err, rc, 0, "%s", why.text);
    int gone = s->bytes == NULL; /* nothing to keep aside */
    if ((!gone && (rc = scr_txn_keep_aside(s, why.text, err)) != SCR_OK) ||
        (rc = rebuild(s, err)) != SCR_OK || (rc = scr_txn_write(s, err)) != SCR_OK)
        return rc;
    scr_log(s->env->log, SCR_LOG_WARN,
            "%s: %srebuilt from the dataset directories beside it", s->path,
            gone ? "was gone, " : "");
    return SCR_OK;
}

static int index_transaction(const struct scr_env *env, const struct scr_prefix *p,
                             scr_hash_edit edit, void *arg, struct scr_err *err)
{
    struct scr_txn s;
    int rc = scr_txn_init(&s, env, p, "index.scr", err);
    if (rc == SCR_OK && (rc = scr_txn_lock(&s, err)) == SCR_OK &&
        (rc = index_load_mended(&s, err)) == SCR_OK)
        rc = scr_txn_edit(&s, edit, arg, err);
    scr_txn_fini(&s);
    return rc;
}

int scr_prefix_index_update(const struct scr_env *env, const struct scr_prefix *p,
                            scr_hash_edit edit, void *arg, struct scr_err *err)
{
    return index_transaction(env, p, edit, arg, err);
}

int scr_prefix_index_read(const struct scr_env *env, const struct scr_prefix *p,
                          scr_hash *index, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    struct scr_txn s;
    int changed;
    int rc = scr_txn_init(&s, env, p, "index.scr", &why);
    if (rc == SCR_OK && (rc = index_load(&s, &why)) == SCR_OK)
        rc = scr_txn_copy_out(s.h, index, &changed, &why);
    scr_txn_fini(&s);
    if (rc == SCR_E_CORRUPT)
        return index_transaction(env, p, scr_txn_copy_out, index, err);
    return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "%s", why.text);
}

static int load_repaired(struct scr_txn *s, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = index_load(s, &why);
    if (rc == SCR_OK)
        return rc;
    if (rc != SCR_E_CORRUPT)
        return scr_fail(err, rc, 0, "%s", why.text);
    scr_log(s->env->log, SCR_LOG_WARN,
            "%s: going by the dataset directories beside it; to rebuild it: scr_index "
            "--prefix %s --adopt",
            why.text, s->p->path);
    return rebuild(s, err);
}

int scr_prefix_index_look(const struct scr_env *env, const struct scr_prefix *p,
                          scr_hash *index, struct scr_err *err)
{
    struct scr_txn s;
    int changed;
    int rc = scr_txn_init(&s, env, p, "index.scr", err);
    if (rc == SCR_OK && (rc = load_repaired(&s, err)) == SCR_OK)
        rc = scr_txn_copy_out(s.h, index, &changed, err);
    scr_txn_fini(&s);
    return rc;
}

struct entry {
    const scr_hash *dset;
    int complete;
    time_t when;
    int mended; /* its files were repaired: CURRENT and FAILED stay */
};

/* Some of its files may have gone. */
static int check_stays(const scr_hash *index, const struct entry *e,
                       const struct scr_dataset *d, struct scr_err *err)
{
    struct scr_index_entry old;
    if (!e->complete || scr_index_get(index, d->id, &old, NULL) != SCR_OK ||
        !old.doomed)
        return SCR_OK;
    return scr_fail(err, SCR_E_CANCELLED, 0,
                    "%s (dataset %d) is being deleted: it does not become complete",
                    d->name, d->id);
}

static int edit_entry(scr_hash *index, void *arg, int *changed, struct scr_err *err)
{
    const struct entry *e = arg;
    struct scr_dataset d;
    int rc = scr_dataset_get(e->dset, &d, err);
    if (rc == SCR_OK)
        rc = check_stays(index, e, &d, err);
    if (rc != SCR_OK)
        return rc;
    *changed = 1;
    rc = e->mended ? scr_index_mend(index, e->dset, e->complete, e->when)
                   : scr_index_add(index, e->dset, e->complete, e->when);
    if (rc == SCR_OK && !e->mended)
        rc = scr_index_advance_current(index, d.id);
    return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "index: dataset %d", d.id);
}

int scr_prefix_index_enter(const struct scr_env *env, const struct scr_prefix *p,
                           const scr_hash *dset, int complete, time_t when,
                           struct scr_err *err)
{
    struct entry e = { dset, complete, when, 0 };
    return scr_prefix_index_update(env, p, edit_entry, &e, err);
}

int scr_prefix_index_mend(const struct scr_env *env, const struct scr_prefix *p,
                          const scr_hash *dset, int complete, time_t when,
                          struct scr_err *err)
{
    struct entry e = { dset, complete, when, 1 };
    return scr_prefix_index_update(env, p, edit_entry, &e, err);
}
