/* SPDX-License-Identifier: BSD-3-Clause */
/* Temporary files that killed flushes left on the prefix. Their marks
 * (store/flushing.h) say of which datasets, the lists of those in which directories.
 * Datasets that bypassed the cache leave directories beside files that an older dataset
 * lists, so all lists tell where those are. */
#include <stdlib.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "core/ctx.h"
#include "par/lists.h"
#include "store/arrival.h"
#include "store/flushing.h"
#include "store/replacing.h"
#include "xfer/parts.h"

static int no_memory(struct scr_err *err)
{
    return scr_fail(err, SCR_E_NOMEM, 0, "out of memory");
}

/* {<rank>: {<directory>: {<name>}}} of the paths this rank keeps: each directory is
 * read by one rank. */
static int deal(const struct scr_ctx *ctx, const scr_hash *kept, scr_hash *send,
                struct scr_err *err)
{
    int ok = 1;
    for (SCR_HASH_EACH(e, kept)) {
        char *dir = scr_path_dir(scr_hash_elem_key(e));
        ok = ok && dir != NULL &&
             scr_hash_setf(send, NULL, "%d %s %s", scr_path_keeper(&ctx->world, dir),
                           dir, scr_path_base(scr_hash_elem_key(e))) != NULL;
        free(dir);
    }
    return ok ? SCR_OK : no_memory(err);
}

/* Removes temporary files, or the directories of datasets ids[0…n) beside files. */
struct sweep {
    const struct scr_ctx *ctx;
    int beside;
    const int *ids; /* with beside */
    size_t n;
    uint64_t removed;
};

static int remove_beside(struct sweep *s, const char *dir, int id, struct scr_err *err)
{
    struct stat st;
    char *part = scr_replacing_dir(dir, id);
    int rc = SCR_OK;
    if (part == NULL)
        rc = no_memory(err);
    else if (scr_file_stat(s->ctx->env.sys, part, &st, NULL) != SCR_E_NOENT) {
        rc = scr_dir_remove(s->ctx->env.sys, part, err);
        s->removed += rc == SCR_OK;
    }
    free(part);
    return rc;
}

static int remove_in(struct sweep *s, const char *dir, const scr_hash *names,
                     struct scr_err *err)
{
    int rc = SCR_OK;
    if (!s->beside)
        return scr_parts_remove(s->ctx->env.sys, dir, names, SCR_ARRIVAL_TAG,
                                &s->removed, err);
    for (size_t i = 0; i < s->n && rc == SCR_OK; i++)
        rc = remove_beside(s, dir, s->ids[i], err);
    return rc;
}

/* What lies behind a link out of the prefix no job has written (invariant P20). */
static int sweep_dir(struct sweep *s, const scr_hash_elem *dir, struct scr_err *err)
{
    const struct scr_prefix *p = &s->ctx->prefix;
    int rc = SCR_OK;
    char *path = scr_path_join(p->path, scr_hash_elem_key(dir));
    if (path == NULL)
        rc = no_memory(err);
    else if (scr_prefix_check_inside(p, path, NULL) == SCR_OK)
        rc = remove_in(s, path, scr_hash_elem_hash(dir), err);
    free(path);
    return rc;
}

/* recv = {<from>: {<directory>: {<name>}}}; a directory that fails does not keep the
 * others. */
static int sweep(struct sweep *s, const scr_hash *recv, struct scr_err *err)
{
    scr_hash *dirs = scr_hash_new();
    int rc = dirs ? SCR_OK : no_memory(err);
    for (SCR_HASH_EACH(from, recv))
        if (rc == SCR_OK && scr_hash_merge(dirs, scr_hash_elem_hash(from)) != SCR_OK)
            rc = no_memory(err);
    for (SCR_HASH_EACH(d, dirs)) {
        int one = sweep_dir(s, d, rc == SCR_OK ? err : NULL);
        rc = rc == SCR_OK ? one : rc;
    }
    scr_hash_delete(dirs);
    return rc;
}

/* Goes by the lists of datasets lists[0…n). One whose list is gone has written nothing;
 * of a damaged one nothing can be told. */
static int sweep_all(struct scr_ctx *ctx, struct sweep *s, const int *lists, size_t n,
                     struct scr_err *err)
{
    scr_hash *kept = scr_hash_new(), *unread = scr_hash_new();
    scr_hash *send = scr_hash_new(), *recv = scr_hash_new();
    int rc = kept && unread && send && recv ? SCR_OK : no_memory(err);
    rc = scr_agree_all(&ctx->world, rc, err);
    if (rc == SCR_OK)
        rc = scr_lists_read_all(&ctx->env, &ctx->world, &ctx->prefix, lists, n, unread,
                                kept, err);
    if (rc == SCR_OK)
        rc = scr_agree_all(&ctx->world, deal(ctx, kept, send, err), err);
    if (rc == SCR_OK)
        rc = scr_hash_exchange_all(&ctx->world, send, recv, err);
    if (rc == SCR_OK)
        rc = scr_agree_all(&ctx->world, sweep(s, recv, err), err);
    scr_hash_delete(kept);
    scr_hash_delete(unread);
    scr_hash_delete(send);
    scr_hash_delete(recv);
    return rc;
}

/* --- datasets of which some files had their names --- */

/* Rank 0's. An error: some files still wait, and nothing may be removed. */
static int place_rest(const struct scr_ctx *ctx, int id, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    uint64_t files = 0;
    if (!scr_replacing_is_begun(&ctx->env, &ctx->prefix, id))
        return SCR_OK;
    int rc = scr_replacing_finish(&ctx->env, &ctx->prefix, id, &files, &why);
    if (rc == SCR_OK) {
        scr_log(&ctx->log, SCR_LOG_NOTE,
                "dataset %d on the prefix was written, but not all of its files had "
                "their names: it is complete now, %llu files",
                id, (unsigned long long)files);
        return SCR_OK;
    }
    if (scr_err_may_pass(rc))
        return scr_fail(err, rc, 0, "dataset %d: %s", id, why.text);
    scr_log(&ctx->log, SCR_LOG_WARN, "dataset %d cannot be completed: %s", id,
            why.text);
    return scr_replacing_end(&ctx->env, &ctx->prefix, id, err);
}

/* --- all of them --- */

/* The marks that killed processes left, on rank 0. */
struct dead {
    struct scr_flushing *mark;
    size_t n;
    int *flushed, *bypassed; /* by what wrote the dataset */
    size_t nflushed, nbypassed;
    int *all; /* datasets of the index */
    size_t nall;
};

/* One whose entry is lost may be either. */
static void sort_dead(struct dead *d, const scr_hash *index, int id)
{
    const scr_hash *dset = scr_hash_getf(index, "DSET %d DSET", id);
    int bypass = scr_hash_get(dset, "BYPASS") != NULL;
    if (dset == NULL || !bypass)
        d->flushed[d->nflushed++] = id;
    if (dset == NULL || bypass)
        d->bypassed[d->nbypassed++] = id;
}

static int list_dead(const struct scr_ctx *ctx, struct dead *d, struct scr_err *err)
{
    int rc = scr_flushing_take_dead(&ctx->env, &ctx->prefix, &d->mark, &d->n, err);
    if (rc != SCR_OK || d->n == 0)
        return rc;
    scr_hash *index = scr_hash_new();
    d->flushed = scr_calloc(d->n, sizeof *d->flushed);
    d->bypassed = scr_calloc(d->n, sizeof *d->bypassed);
    rc = index && d->flushed && d->bypassed
             ? scr_prefix_index_read(&ctx->env, &ctx->prefix, index, err)
             : no_memory(err);
    if (rc == SCR_OK && scr_index_ids(index, &d->all, &d->nall) != SCR_OK)
        rc = no_memory(err);
    for (size_t i = 0; i < d->n && rc == SCR_OK; i++)
        sort_dead(d, index, d->mark[i].id);
    for (size_t i = 0; i < d->nbypassed && rc == SCR_OK; i++)
        rc = place_rest(ctx, d->bypassed[i], err);
    scr_hash_delete(index);
    return rc;
}

static int share_dead_all(struct scr_ctx *ctx, struct dead *d, struct scr_err *err)
{
    int rc = scr_share_ids_all(&ctx->world, &d->flushed, &d->nflushed, err);
    if (rc == SCR_OK)
        rc = scr_share_ids_all(&ctx->world, &d->bypassed, &d->nbypassed, err);
    return rc == SCR_OK && d->nbypassed > 0
               ? scr_share_ids_all(&ctx->world, &d->all, &d->nall, err)
               : rc;
}

static int sweep_dead_all(struct scr_ctx *ctx, struct dead *d, uint64_t *removed,
                          struct scr_err *err)
{
    struct sweep files = { .ctx = ctx }, dirs = { .ctx = ctx, .beside = 1 };
    int rc = share_dead_all(ctx, d, err);
    if (rc == SCR_OK && d->nflushed > 0)
        rc = sweep_all(ctx, &files, d->flushed, d->nflushed, err);
    dirs.ids = d->bypassed;
    dirs.n = d->nbypassed;
    if (rc == SCR_OK && d->nbypassed > 0)
        rc = sweep_all(ctx, &dirs, d->all, d->nall, err);
    *removed = scr_sum_all(&ctx->world, files.removed + dirs.removed);
    return rc;
}

static void tell(const struct scr_ctx *ctx, int rc, uint64_t removed,
                 const struct scr_err *err)
{
    if (rc != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN,
                "temporary files of killed jobs stay in %s until the next start: %s",
                ctx->prefix.path, err->text);
    if (removed > 0)
        scr_log(&ctx->log, SCR_LOG_INFO,
                "%llu temporary file%s of killed jobs removed from %s",
                (unsigned long long)removed, removed == 1 ? "" : "s", ctx->prefix.path);
}

void scr_leftovers_sweep_all(struct scr_ctx *ctx)
{
    struct scr_err err = SCR_ERR_INIT;
    struct dead d = { 0 };
    int rc = ctx->world.rank == 0 ? list_dead(ctx, &d, &err) : SCR_OK;
    uint64_t removed = 0;
    rc = scr_agree_all(&ctx->world, rc, &err);
    if (rc == SCR_OK)
        rc = sweep_dead_all(ctx, &d, &removed, &err);
    for (size_t i = 0; i < d.n && d.mark != NULL; i++)
        if (rc == SCR_OK)
            scr_flushing_end(&ctx->env, &ctx->prefix, &d.mark[i]);
        else
            scr_flushing_leave(&ctx->env, &d.mark[i]);
    tell(ctx, rc, removed, &err);
    free(d.mark);
    free(d.flushed);
    free(d.bypassed);
    free(d.all);
}
