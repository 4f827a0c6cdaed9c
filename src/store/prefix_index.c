/* SPDX-License-Identifier: BSD-3-Clause */
/* The index of the prefix directory: read, edited, and rebuilt when it is damaged
 * or gone. */
#include <pthread.h>
#include <stdlib.h>

#include "base/path.h"
#include "base/str.h"
#include "store/dset_names.h"
#include "store/prefix_dset.h"
#include "store/txn.h"

/* One look at the index, or change of it. */
struct txn {
    struct scr_txn file;
    struct scr_index index;
};

static int txn_init(struct txn *t, const struct scr_env *env,
                    const struct scr_prefix *p, struct scr_err *err)
{
    t->index = (struct scr_index)SCR_INDEX_INIT;
    return scr_txn_init(&t->file, env, p, "index.scr", err);
}

static void txn_fini(struct txn *t)
{
    scr_index_fini(&t->index);
    scr_txn_fini(&t->file);
}

/* *id: of what was written. */
static int txn_write(struct txn *t, struct scr_frame_id *id, struct scr_err *err)
{
    struct scr_str s = SCR_STR_INIT;
    scr_index_pack(&s, &t->index);
    return scr_frame_write(t->file.env->sys, t->file.path, &s, id, err);
}

/* The index with the bytes it borrows from. */
static void hand_over(struct txn *t, struct scr_index *index)
{
    *index = t->index;
    if (index->file == NULL)
        index->file = t->file.bytes;
    t->file.bytes = NULL;
    t->index = (struct scr_index)SCR_INDEX_INIT;
}

/* --- what this process knows of it ---
 *
 * A flush looks at the index ten times, and writes it twice. With thousands of datasets
 * to read it costs more than all else. So the last one read or written is kept, and
 * used while its CRC and size are those of the file. Threads that copy ask, too. */

struct scr_index_cache {
    pthread_mutex_t lock;
    struct scr_index_shared *last; /* NULL: none */
    struct scr_frame_id id;        /* the file it is */
    int edits;                     /* since it was read: each leaves some bytes */
    struct scr_ids strays;         /* directories without an entry then, if */
    int knows_strays;
};

struct scr_index_cache *scr_index_cache_new(void)
{
    struct scr_index_cache *c = scr_calloc(1, sizeof *c);
    if (c != NULL)
        (void)pthread_mutex_init(&c->lock, NULL); /* of this kind it cannot fail */
    return c;
}

void scr_index_cache_free(struct scr_index_cache *c)
{
    if (c == NULL)
        return;
    (void)scr_index_unshare(c->last, NULL);
    (void)pthread_mutex_destroy(&c->lock);
    scr_ids_fini(&c->strays);
    free(c);
}

/* Keeps index, which can be read on after that. One of version 1, or of a new file, is
 * other when it is read again. */
static void keep(struct scr_index_cache *c, struct scr_index *index,
                 const struct scr_frame_id *id, int edits)
{
    enum { MOST_EDITS = 1000 };
    struct scr_index_shared *s = NULL;
    if (index->version != 2 || edits > MOST_EDITS ||
        (s = scr_index_share(index)) == NULL)
        return;
    scr_index_lend(s, index);
    (void)pthread_mutex_lock(&c->lock);
    (void)scr_index_unshare(c->last, NULL);
    c->last = s;
    c->id = *id;
    c->edits = edits;
    c->knows_strays = c->knows_strays && edits > 0;
    (void)pthread_mutex_unlock(&c->lock);
}

/* The index to be read, if the file is still the one that is known. */
static int recall(struct scr_index_cache *c, const struct scr_txn *f,
                  struct scr_index *index)
{
    (void)pthread_mutex_lock(&c->lock);
    int known = c->last != NULL && scr_frame_is_at(f->env->sys, f->path, &c->id);
    if (known)
        scr_index_lend(c->last, index);
    (void)pthread_mutex_unlock(&c->lock);
    return known;
}

/* Takes the index that is in memory to edit it, unless a reader has it just now. It is
 * dropped there: the edit may fail. */
static int take_out(struct scr_index_cache *c, const struct scr_txn *f,
                    struct scr_index *index, int *edits)
{
    (void)pthread_mutex_lock(&c->lock);
    struct scr_index_shared *s = c->last;
    int same = s != NULL && scr_frame_is_at(f->env->sys, f->path, &c->id);
    c->last = NULL;
    *edits = c->edits + 1;
    (void)pthread_mutex_unlock(&c->lock);
    int ours = scr_index_unshare(s, index);
    if (ours && !same)
        scr_index_fini(index);
    if (!ours || !same)
        *edits = 0;
    return ours && same;
}

/* Not where the index has changed meanwhile: directories may have come without it. */
static void keep_strays(struct scr_index_cache *c, const struct scr_index *index,
                        const struct scr_ids *strays)
{
    (void)pthread_mutex_lock(&c->lock);
    if (c->last != NULL && index->of_all == c->last) {
        scr_ids_fini(&c->strays);
        c->knows_strays = scr_ids_merge(&c->strays, strays, NULL) == SCR_OK;
    }
    (void)pthread_mutex_unlock(&c->lock);
}

static int recall_strays(struct scr_index_cache *c, const struct scr_index *index,
                         struct scr_ids *strays)
{
    (void)pthread_mutex_lock(&c->lock);
    int known = c->knows_strays && c->last != NULL && index->of_all == c->last &&
                scr_ids_merge(strays, &c->strays, NULL) == SCR_OK;
    (void)pthread_mutex_unlock(&c->lock);
    return known;
}

/* --- rebuilding it --- */

static int rebuild_add(struct txn *t, int id, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    const struct scr_txn *f = &t->file;
    int complete = 0;
    scr_hash *dset = scr_hash_new();
    int rc = scr_prefix_summary_here(f->env, f->p, id, &complete, dset, &why);
    if (rc == SCR_OK)
        rc = scr_index_add(&t->index, dset, complete,
                           scr_prefix_summary_time(f->env, f->p, id));
    scr_hash_delete(dset);
    if (rc == SCR_OK)
        return SCR_OK;
    if (rc == SCR_E_NOMEM)
        return scr_no_memory(err);
    /* A summary that cannot be read now may be good: better no index than one without
     * it. */
    if (rc == SCR_E_IO)
        return scr_err_take(err, rc, &why);
    scr_log(
        f->env->log, SCR_LOG_WARN,
        "%s; to put dataset %d back into the index: scr_index --prefix %s --build %d",
        why.text, id, f->p->path, id);
    return SCR_OK;
}

/* Rebuilds the index from the summaries, oldest first, and makes the newest one
 * current. */
static int rebuild(struct txn *t, struct scr_err *err)
{
    struct scr_index_entry e;
    int *ids;
    size_t n;
    int rc = scr_dset_ids(t->file.env, t->file.p->scr, &ids, &n, err);
    scr_index_fini(&t->index);
    for (size_t i = 0; i < n && rc == SCR_OK; i++)
        rc = rebuild_add(t, ids[i], err);
    free(ids);
    int newest = scr_index_newest(&t->index);
    if (rc == SCR_OK && scr_index_get(&t->index, newest, &e, NULL) == SCR_OK)
        rc = scr_index_set_current(&t->index, e.dset.name);
    return rc;
}

/* --- loading it --- */

/* Index of version 1, which was in the prefix directory itself. It is only read: an
 * update writes the new one. Anything else of that name is not ours. */
static int load_old(struct txn *t, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    struct scr_txn *f = &t->file;
    char *path = scr_path_join(f->p->path, "index.scr");
    int rc = path ? scr_txn_read(f, path, &why) : SCR_E_NOMEM;
    free(path);
    if (rc == SCR_OK && f->bytes != NULL)
        rc = scr_index_unpack(&t->index, f->bytes, f->nbytes, &why);
    if (rc == SCR_E_NOMEM)
        return scr_no_memory(err);
    if (rc == SCR_E_IO)
        return scr_err_take(err, rc, &why);
    if (rc != SCR_OK || t->index.version != 1) {
        scr_index_fini(&t->index);
        scr_txn_forget(f);
    }
    return SCR_OK;
}

/* Without a file: the old index, or none in a new prefix. The first flush writes the
 * index before it writes a summary, so where there is one the index was lost.
 * Directories without, as a scavenge leaves them, say nothing. */
static int load_absent(struct txn *t, struct scr_err *err)
{
    const struct scr_txn *f = &t->file;
    int *ids;
    size_t n, summaries = 0;
    int rc = load_old(t, err);
    if (rc != SCR_OK || t->index.version == 1)
        return rc;
    rc = scr_dset_ids(f->env, f->p->scr, &ids, &n, err);
    for (size_t i = 0; rc == SCR_OK && i < n; i++)
        summaries += scr_prefix_summary_time(f->env, f->p, ids[i]) != 0;
    free(ids);
    if (rc == SCR_OK && summaries > 0)
        rc = scr_fail(err, SCR_E_CORRUPT, 0, "%s is gone", f->path);
    return rc;
}

/* SCR_E_CORRUPT: it must be rebuilt. */
static int load(struct txn *t, struct scr_err *err)
{
    struct scr_txn *f = &t->file;
    TRY(scr_txn_read(f, f->path, err));
    if (f->bytes == NULL)
        return load_absent(t, err);
    if (f->nbytes == 0)
        return scr_fail(err, SCR_E_CORRUPT, 0, "%s is empty", f->path);
    int rc = scr_index_unpack(&t->index, f->bytes, f->nbytes, err);
    if (rc != SCR_OK)
        scr_err_prefix(err, "%s", f->path);
    return rc;
}

/* Under the lock: loads the index, and repairs it on disk if it must be. */
static int load_mended(struct txn *t, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    struct scr_txn *f = &t->file;
    struct scr_frame_id id;
    int rc = load(t, &why);
    if (rc == SCR_OK)
        return SCR_OK;
    if (rc != SCR_E_CORRUPT)
        return scr_err_take(err, rc, &why);
    int gone = f->bytes == NULL; /* nothing to keep aside */
    if ((!gone && (rc = scr_txn_keep_aside(f, why.text, err)) != SCR_OK) ||
        (rc = rebuild(t, err)) != SCR_OK || (rc = txn_write(t, &id, err)) != SCR_OK)
        return rc;
    scr_log(f->env->log, SCR_LOG_WARN, "%s: %srebuilt from the dataset directories",
            f->path, gone ? "was gone, " : "");
    return SCR_OK;
}

/* For who only looks. */
static int load_repaired(struct txn *t, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = load(t, &why);
    if (rc == SCR_OK)
        return rc;
    if (rc != SCR_E_CORRUPT)
        return scr_err_take(err, rc, &why);
    scr_log(t->file.env->log, SCR_LOG_WARN,
            "%s: using the dataset directories instead; to rebuild it: scr_index "
            "--prefix %s --adopt",
            why.text, t->file.p->path);
    return rebuild(t, err);
}

/* --- what others call --- */

static int read_mended(const struct scr_env *env, const struct scr_prefix *p,
                       struct scr_index *index, struct scr_err *err)
{
    struct txn t;
    int rc = txn_init(&t, env, p, err);
    if (rc == SCR_OK && (rc = scr_txn_lock(&t.file, err)) == SCR_OK &&
        (rc = load_mended(&t, err)) == SCR_OK)
        hand_over(&t, index);
    txn_fini(&t);
    return rc;
}

int scr_prefix_index_peek(const struct scr_env *env, const struct scr_prefix *p,
                          struct scr_index *index, struct scr_err *err)
{
    struct txn t;
    *index = (struct scr_index)SCR_INDEX_INIT;
    struct scr_frame_id id;
    int rc = txn_init(&t, env, p, err);
    if (rc == SCR_OK && !recall(p->index, &t.file, index) &&
        (rc = load(&t, err)) == SCR_OK) {
        int known = scr_frame_identify(t.file.bytes, t.file.nbytes, &id);
        hand_over(&t, index);
        if (known)
            keep(p->index, index, &id, 0);
    }
    txn_fini(&t);
    return rc;
}

int scr_prefix_index_read(const struct scr_env *env, const struct scr_prefix *p,
                          struct scr_index *index, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_prefix_index_peek(env, p, index, &why);
    if (rc == SCR_E_CORRUPT)
        return read_mended(env, p, index, err);
    return scr_err_take(err, rc, &why);
}

int scr_prefix_index_look(const struct scr_env *env, const struct scr_prefix *p,
                          struct scr_index *index, struct scr_err *err)
{
    struct txn t;
    *index = (struct scr_index)SCR_INDEX_INIT;
    int rc = txn_init(&t, env, p, err);
    if (rc == SCR_OK && (rc = load_repaired(&t, err)) == SCR_OK)
        hand_over(&t, index);
    txn_fini(&t);
    return rc;
}

int scr_prefix_index_update(const struct scr_env *env, const struct scr_prefix *p,
                            scr_index_edit edit, void *arg, struct scr_err *err)
{
    struct txn t;
    struct scr_index index = SCR_INDEX_INIT;
    struct scr_frame_id id;
    int changed = 0, edits = 0, rc = txn_init(&t, env, p, err);
    if (rc == SCR_OK && (rc = scr_txn_lock(&t.file, err)) == SCR_OK &&
        !take_out(p->index, &t.file, &t.index, &edits))
        rc = load_mended(&t, err);
    if (rc == SCR_OK)
        rc = edit(&t.index, arg, &changed, err);
    if (rc == SCR_OK && changed && (rc = txn_write(&t, &id, err)) == SCR_OK) {
        hand_over(&t, &index);
        keep(p->index, &index, &id, edits);
    }
    scr_index_fini(&index);
    txn_fini(&t);
    return rc;
}

int scr_prefix_strays(const struct scr_env *env, const struct scr_prefix *p,
                      const struct scr_index *index, struct scr_ids *strays,
                      struct scr_err *err)
{
    int *ids = NULL;
    size_t n = 0;
    int rc;
    if (recall_strays(p->index, index, strays))
        return SCR_OK;
    TRY_OUT(scr_dset_ids(env, p->scr, &ids, &n, err));
    for (size_t i = 0; i < n; i++)
        if (!scr_index_has(index, ids[i]))
            TRY_OUT(scr_ids_add(strays, ids[i], err));
    keep_strays(p->index, index, strays);
out:
    free(ids);
    return rc;
}

int scr_prefix_check_owner(const struct scr_prefix *p, const struct scr_index *index,
                           const struct scr_dataset *d, struct scr_err *err)
{
    struct scr_index_entry is;
    if (scr_index_get(index, d->id, &is, NULL) != SCR_OK ||
        scr_dataset_is_same(&is.dset, d))
        return SCR_OK;
    return scr_fail(
        err, SCR_E_TAKEN, 0,
        "dataset %d in the index is %s of job %s, another job uses this prefix; "
        "to free the number: scr_index --prefix %s --delete %d%s, and before that "
        "scr_index --prefix %s --extract %d --to DIR, which copies its files to DIR",
        d->id, is.dset.name, is.dset.jobid ? is.dset.jobid : "unknown", p->path, d->id,
        is.current ? " --force" : "", p->path, d->id);
}

int scr_prefix_look_up(const struct scr_env *env, const struct scr_prefix *p,
                       const scr_hash *dset, enum scr_entered *is, struct scr_err *err)
{
    struct scr_dataset d;
    struct scr_index_entry e;
    struct scr_index index = SCR_INDEX_INIT;
    int rc = scr_dataset_get(dset, &d, err);
    if (rc == SCR_OK)
        rc = scr_prefix_index_read(env, p, &index, err);
    *is = SCR_ENTERED_NOT;
    if (rc == SCR_OK && scr_index_get(&index, d.id, &e, NULL) == SCR_OK)
        *is = !scr_dataset_is_alike(&d, &e.dset) ? SCR_ENTERED_OTHER
              : e.complete                       ? SCR_ENTERED_COMPLETE
                                                 : SCR_ENTERED_INCOMPLETE;
    scr_index_fini(&index);
    return rc;
}

int scr_prefix_index_ids(const struct scr_env *env, const struct scr_prefix *p,
                         struct scr_index *index, int **ids, size_t *n,
                         struct scr_err *err)
{
    TRY(scr_prefix_index_read(env, p, index, err));
    return scr_index_ids(index, ids, n) == SCR_OK ? SCR_OK : scr_no_memory(err);
}

/* --- entering a dataset --- */

/* Some of its files may have gone. */
static int check_stays(const struct scr_index *index, const struct scr_entering *e,
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

static int edit_entry(struct scr_index *index, void *arg, int *changed,
                      struct scr_err *err)
{
    const struct scr_entering *e = arg;
    struct scr_dataset d;
    TRY(scr_dataset_get(e->dset, &d, err));
    TRY(check_stays(index, e, &d, err));
    *changed = 1;
    int rc = e->mended ? scr_index_mend(index, e->dset, e->complete, e->when)
                       : scr_index_add(index, e->dset, e->complete, e->when);
    if (rc == SCR_OK && e->goes_on)
        rc = scr_index_advance_current(index, d.id);
    return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "index: dataset %d", d.id);
}

int scr_prefix_index_put(const struct scr_env *env, const struct scr_prefix *p,
                         const struct scr_entering *e, struct scr_err *err)
{
    return scr_prefix_index_update(env, p, edit_entry, (void *)e, err);
}

int scr_prefix_index_enter(const struct scr_env *env, const struct scr_prefix *p,
                           const scr_hash *dset, int complete, time_t when,
                           struct scr_err *err)
{
    const struct scr_entering e = { dset, complete, when, .goes_on = 1 };
    return scr_prefix_index_put(env, p, &e, err);
}
