/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets that leave the prefix directory: a deleted one, checkpoints that newer
 * ones have made superfluous (SCR_PREFIX_SIZE), everything (SCR_PREFIX_PURGE). */
#include <stdlib.h>
#include <string.h>

#include "core/ctx.h"
#include "core/event_note.h"
#include "core/flushfile.h"
#include "core/meeting.h"
#include "core/retain.h"
#include "par/pfs/recall.h"
#include "store/arrival.h"
#include "store/deletion.h"
#include "store/flushing.h"
#include "store/replacing.h"

/* --- one dataset --- */

/* Of the paths this rank keeps those that are the dataset's alone. */
static int take_share(int id, const struct scr_table *kept, struct scr_table *share,
                      struct scr_err *err)
{
    for (SCR_EACH(struct scr_kept, k, kept))
        if (k->of != NULL && k->of->id == id && k->of->next == NULL)
            scr_table_add(share, k->item.name);
    return scr_table_ok(share) ? SCR_OK : scr_no_memory(err);
}

/* Programs may write every checkpoint to the same paths: what a later dataset wrote
 * there, or is bringing there, is not deleted with an earlier one (spare). Of a flush
 * that was cut short what it had compressed is not in the list of files yet. */
static int share_out_all(struct scr_ctx *ctx, int id, int spare, int rc,
                         struct scr_table *share, struct scr_err *err)
{
    struct scr_claims c = { &ctx->env, &ctx->world, &ctx->prefix, &ctx->recall,
                            .id = id };
    struct scr_table kept = SCR_TABLE_OF(struct scr_kept);
    if (rc == SCR_OK && ctx->world.rank == 0 && spare)
        rc = scr_deletion_owners(&ctx->env, &ctx->prefix, id, &c.owner, &c.n, err);
    TRY_OUT(scr_claims_read_all(&c, rc, &kept, err));
    TRY_OUT(scr_agree_all(&ctx->world, take_share(id, &kept, share, err), err));
out:
    scr_table_fini(&kept);
    return rc;
}

/* The destinations of this rank's files that are on their way to the prefix. */
static int add_coming(const struct scr_ctx *ctx, struct scr_parcels *send,
                      struct scr_err *err)
{
    struct scr_table dests = SCR_TABLE_OF(struct scr_item);
    int *ids = NULL, n = 0;
    int ok = scr_filemap_list_datasets(ctx->cache.map, &n, &ids) == SCR_OK;
    for (int i = 0; i < n && ok; i++)
        if (scr_async_has(ctx, ids[i]))
            ok = scr_cache_dests(ctx, ids[i], &dests);
    free(ids);
    for (SCR_EACH(struct scr_item, path, &dests))
        ok = ok && scr_parcel_text(send, scr_path_keeper(&ctx->world, path->name),
                                   path->name, err) == SCR_OK;
    scr_table_fini(&dests);
    return ok ? SCR_OK : scr_no_memory(err);
}

/* Takes what is on its way out of this rank's share: a flush that is not complete has
 * no list on the prefix yet, but may have put files there already. */
static int spare_coming_all(struct scr_ctx *ctx, struct scr_table *share,
                            struct scr_err *err)
{
    struct scr_parcels send = { 0 }, coming = { 0 };
    int rc = add_coming(ctx, &send, err);
    rc = scr_parcels_exchange_all(&ctx->world, rc, &send, &coming, err);
    for (size_t i = 0; i < coming.n; i++)
        for (SCR_TEXTS(path, &coming.of[i].bytes))
            (void)scr_table_drop(share, path);
    scr_parcels_free(&send);
    scr_parcels_free(&coming);
    return rc;
}

/* A dataset that is deleted from the prefix, or half deleted, is not there, also for
 * the flush file.
 */
static void unmark_all(struct scr_ctx *ctx, int id)
{
    if (scr_cache_has(ctx, id))
        scr_flush_mark(ctx, id, 0, SCR_LOC_PFS);
    else
        scr_flush_forget(ctx, id);
}

typedef int local_step(const struct scr_env *, const struct scr_prefix *, int id,
                       struct scr_err *);

static int remove_records(const struct scr_env *env, const struct scr_prefix *p, int id,
                          struct scr_err *err)
{
    TRY(scr_deletion_records(env, p, id, err));
    return scr_deletion_forget(env, p, id, err);
}

/* Rank 0 does it. */
static int step_all(struct scr_ctx *ctx, local_step *step, int id, struct scr_err *err)
{
    int rc = ctx->world.rank == 0 ? step(&ctx->env, &ctx->prefix, id, err) : SCR_OK;
    return scr_agree_all(&ctx->world, rc, err);
}

static int delete_begun_all(struct scr_ctx *ctx, int id, int spare, struct scr_err *err)
{
    struct scr_table share = SCR_TABLE_OF(struct scr_item);
    struct scr_lock lock = SCR_LOCK_INIT;
    int rc = SCR_OK;
    if (ctx->world.rank == 0)
        rc = scr_deletion_hold(&ctx->env, &ctx->prefix, &lock, err);
    TRY_OUT(share_out_all(ctx, id, spare, rc, &share, err));
    /* of old versions it is the list, too */
    TRY_OUT(step_all(ctx, scr_prefix_summary_remove, id, err));
    if (ctx->flusher.n > 0)
        TRY_OUT(spare_coming_all(ctx, &share, err));
    TRY_OUT(scr_agree_all(
        &ctx->world,
        scr_deletion_files(&ctx->env, &ctx->prefix, &ctx->local_log, &share, NULL, err),
        err));
    TRY_OUT(step_all(ctx, remove_records, id, err));
out:
    scr_lock_release(ctx->env.sys, &lock);
    scr_table_fini(&share);
    return rc;
}

/* Not complete any more, then the files, then the records: a death in between never
 * leaves an entry that promises files that are gone (invariant P3). */
int scr_prefix_delete_all(struct scr_ctx *ctx, int id, int spare, struct scr_err *err)
{
    TRY(scr_async_let_go_all(ctx, err));
    TRY(step_all(ctx, scr_deletion_begin_full, id, err));
    if (ctx->restart.id == id && (ctx->restart.in_place || !scr_cache_has(ctx, id)))
        scr_restart_fini(&ctx->restart); /* it was read where it lies */
    int rc = delete_begun_all(ctx, id, spare, err);
    unmark_all(ctx, id);
    return rc;
}

/* --- some of them --- */

/* Datasets that are deleted. */
struct doomed {
    const char *why;
    int spare;
    int *ids; /* n of them, newest first; rank 0 lists them */
    size_t n;
};

/* Deletes them and frees the list, oldest first: a death in between leaves the newer
 * ones. A failure does not stop the others. rc, err: of rank 0's list. */
static void delete_some_all(struct scr_ctx *ctx, struct doomed *d, int rc,
                            struct scr_err *err)
{
    rc = scr_share_ids_all(&ctx->world, rc, &d->ids, &d->n, err);
    if (rc != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN, "%s: nothing is deleted from %s: %s", d->why,
                ctx->prefix.path, err->text);
    for (size_t i = d->n; rc == SCR_OK && i-- > 0;) {
        struct scr_err one = SCR_ERR_INIT;
        int id = d->ids[i];
        int gone = scr_prefix_delete_all(ctx, id, d->spare, &one) == SCR_OK;
        if (gone)
            SCR_EVENT(ctx, .event = "DELETE", .dset = id, .from = "prefix",
                      .note = d->why);
        if (gone)
            scr_log(&ctx->log, SCR_LOG_INFO, "%s: dataset %d is deleted from %s",
                    d->why, id, ctx->prefix.path);
        else
            scr_log(&ctx->log, SCR_LOG_WARN,
                    "%s: dataset %d is not deleted from %s, tried again later: %s",
                    d->why, id, ctx->prefix.path, one.text);
    }
    free(d->ids);
}

/* --- SCR_PREFIX_SIZE --- */

/* 1 if the dataset is in use: current, or offered or what this run went on from while
 * it has written nothing newer that is safe. */
static int is_wanted(const struct scr_ctx *ctx, const struct scr_index_entry *e,
                     int newest)
{
    return e->current || (e->id == ctx->restart.id && !ctx->choice.ask_again) ||
           (e->id == ctx->choice.from_id && newest <= ctx->choice.from_last);
}

/* 1 if a dataset of the index that is not complete may become so: it is in the cache of
 * this job, on its way, or another job may bring it. flush: what flush.scr says. Runs
 * of this job before this one are over, except for their transfer processes. */
static int may_go_on(const struct scr_ctx *ctx, const scr_hash *flush,
                     const struct scr_index_entry *e)
{
    const char *of = e->dset.jobid;
    if (scr_cache_has(ctx, e->id) || scr_async_has(ctx, e->id) ||
        ctx->out.id == e->id || scr_flushing_is_held(&ctx->env, &ctx->prefix, e->id) ||
        scr_replacing_is_begun(&ctx->env, &ctx->prefix, e->id))
        return 1;
    if (of == NULL || strcmp(of, ctx->prm.job_id) == 0)
        return ctx->flusher.leftovers &&
               scr_arrival_has_plan(&ctx->env, &ctx->prefix, e->id);
    return scr_flush_is_recent(&e->dset) &&
           (scr_arrival_has_plan(&ctx->env, &ctx->prefix, e->id) ||
            scr_flush_is_anothers(ctx, flush, e->id));
}

/* Output and what is wanted stays; of checkpoints the newest `size` good ones, and what
 * is newer or may yet become complete. What a deletion before left half done goes. */
static int stays(const struct scr_ctx *ctx, const scr_hash *flush,
                 const struct scr_index_entry *e, int newest, int good)
{
    if (!e->dset.is_ckpt || e->dset.is_output || is_wanted(ctx, e, newest))
        return 1;
    if (e->doomed)
        return 0;
    if (!e->complete)
        return e->id > newest || may_go_on(ctx, flush, e);
    return good < ctx->prm.prefix_size;
}

static size_t choose_old(const struct scr_ctx *ctx, const struct scr_index *index,
                         const scr_hash *flush, int *ids, size_t n)
{
    int good = 0, newest = scr_index_newest(index);
    size_t chosen = 0;
    for (size_t i = 0; i < n; i++) {
        struct scr_index_entry e;
        if (scr_index_get(index, ids[i], &e, NULL) != SCR_OK)
            continue;
        if (!stays(ctx, flush, &e, newest, good))
            ids[chosen++] = e.id;
        good += e.dset.is_ckpt && e.complete && !e.failed;
    }
    return chosen;
}

void scr_retain_all(struct scr_ctx *ctx)
{
    struct doomed d = { .why = "SCR_PREFIX_SIZE", .spare = 1 };
    struct scr_err err = SCR_ERR_INIT;
    int rc = SCR_OK;
    if (ctx->prm.prefix_size <= 0)
        return;
    if (ctx->world.rank == 0) {
        struct scr_index index = SCR_INDEX_INIT;
        scr_hash *flush = scr_hash_new();
        rc = scr_prefix_index_ids(&ctx->env, &ctx->prefix, &index, &d.ids, &d.n, &err);
        if (rc == SCR_OK)
            rc = scr_prefix_state_read(&ctx->env, &ctx->prefix, "flush.scr", flush,
                                       &err);
        d.n = rc == SCR_OK ? choose_old(ctx, &index, flush, d.ids, d.n) : 0;
        if (scr_flush_mark_retired(ctx, flush, &index, d.ids, d.n) != SCR_OK)
            d.n = 0; /* the next flush tries again */
        scr_index_fini(&index);
        scr_hash_delete(flush);
    }
    delete_some_all(ctx, &d, rc, &err);
}

/* --- SCR_PREFIX_PURGE --- */

void scr_prefix_purge_all(struct scr_ctx *ctx)
{
    struct doomed d = { .why = "SCR_PREFIX_PURGE" };
    struct scr_err err = SCR_ERR_INIT;
    int rc = SCR_OK;
    if (!ctx->prm.prefix_purge)
        return;
    if (ctx->world.rank == 0) {
        struct scr_index index = SCR_INDEX_INIT;
        rc = scr_prefix_index_ids(&ctx->env, &ctx->prefix, &index, &d.ids, &d.n, &err);
        scr_index_fini(&index);
    }
    delete_some_all(ctx, &d, rc, &err);
}
