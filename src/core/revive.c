/* SPDX-License-Identifier: BSD-3-Clause */
/* At a start: brings what is in cache back to life, dataset by dataset, oldest first.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/ctx.h"
#include "core/rivals.h"
#include "fmt/state.h"
#include "par/distribute.h"
#include "store/flushing.h"

/* The ranks that know the dataset to restore. */
static int settle_rivals_all(struct scr_ctx *ctx, int id, struct scr_rivals *rivals,
                             struct scr_known *known, struct scr_err *err)
{
    rivals->are = scr_rivals_look_all(ctx, id, known);
    TRY(rivals->are ? scr_rivals_settle_all(ctx, id, rivals, err) : SCR_OK);
    if (rivals->are)
        (void)scr_rivals_look_all(ctx, id, known);
    return SCR_OK;
}

/* Where and by how many ranks dataset id was written: sent by the lowest rank that
 * knows, if not all do. The code is each rank's own. */
static int share_desc_all(struct scr_ctx *ctx, int id, const struct scr_known *known,
                          scr_hash *desc, struct scr_err *err)
{
    int rc = SCR_OK;
    if (known->root == ctx->world.size)
        return scr_fail(err, SCR_E_LOST, 0, "dataset %d was not complete", id);
    if ((known->alike || known->root == ctx->world.rank) &&
        scr_hash_merge(desc, scr_cache_any_desc(ctx, id)) != SCR_OK)
        rc = scr_no_memory(err);
    if (!known->alike)
        rc = scr_hash_bcast_all(&ctx->world, known->root, rc, desc, err);
    if (rc != SCR_OK)
        return rc;
    int ranks = 0;
    if (!scr_hash_get_val_int(desc, "RANKS", &ranks) ||
        !scr_hash_get_val(desc, "STORE"))
        return scr_fail(err, SCR_E_CORRUPT, 0, "descriptor of dataset %d", id);
    if (ranks != ctx->world.size)
        return scr_fail(
            err, SCR_E_RANKS, 0,
            "dataset %d in cache was written by %d ranks, this run has %d: it stays "
            "there for a run with %d ranks (SCR_CACHE_PURGE=1 deletes it)",
            id, ranks, ctx->world.size, ranks);
    return SCR_OK;
}

struct revival {
    struct scr_moving moving;
    struct scr_protect protect;
    int id;
    const char *dset_dir;
    int stayed; /* files are where they came from, too */
    struct scr_restore_report rep;
};

static int rebuild_all(struct scr_ctx *ctx, struct revival *r, struct scr_err *err)
{
    int rc =
        scr_restore_all(&r->protect, r->id, r->dset_dir, r->moving.map, &r->rep, err);
    if (rc != SCR_OK || r->rep.intact)
        return rc;
    return scr_agree_all(&ctx->world,
                         scr_cntl_write(&ctx->env, &ctx->cntl, ctx->map, err), err);
}

static int release_all(struct revival *r, struct scr_err *err)
{
    r->stayed = 0;
    return scr_distribute_all(&r->moving, r->id, r->dset_dir, SCR_OK, NULL, err);
}

/* Everybody has everything: files that cannot be released stay named where they are,
 * and the next start takes them. */
static void release_rest_all(struct scr_ctx *ctx, struct revival *r)
{
    struct scr_err why = SCR_ERR_INIT;
    if (release_all(r, &why) != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN,
                "dataset %d: copies of moved files stay where they came from: %s",
                r->id, why.text);
}

/* Until all ranks have everything, files stay where they came from too: the node they
 * came to may be the next to die (invariant C2). A cache without room for both keeps
 * one. rc: of this rank until now. */
static int move_and_rebuild_all(struct scr_ctx *ctx, struct revival *r, int rc,
                                struct scr_err *err)
{
    rc = scr_distribute_all(&r->moving, r->id, r->dset_dir, rc, &r->stayed, err);
    if (rc != SCR_OK)
        return rc;
    scr_phase_all(ctx, "rebuild", r->id);
    rc = rebuild_all(ctx, r, err);
    if (rc == SCR_E_FULL && r->stayed) {
        scr_err_clear(err);
        rc = release_all(r, err);
        rc = rc == SCR_OK ? rebuild_all(ctx, r, err) : rc;
    }
    if (rc == SCR_OK && r->stayed)
        release_rest_all(ctx, r);
    return rc;
}

/* rc: of this rank until now. */
static int restore_one_all(struct scr_ctx *ctx, int id, struct scr_rivals *rivals,
                           int rc, struct scr_err *err)
{
    struct revival r = {
        .moving = { .env = &ctx->env,
                    .world = &ctx->world,
                    .cntl = &ctx->cntl,
                    .map = ctx->map,
                    .buf_max = (size_t)ctx->prm.mpi_buf_size,
                    .released = &rivals->released },
        .protect = { .env = &ctx->env,
                     .world = &ctx->world,
                     .mpi_buf = (size_t)ctx->prm.mpi_buf_size,
                     .crc = ctx->prm.crc_on_copy },
        .id = id,
        .dset_dir = rivals->dset_dir,
    };
    r.moving.whole = &r.protect.whole;
    rc = move_and_rebuild_all(ctx, &r, rc, err);
    if (rc == SCR_OK && r.rep.rebuilt_ranks > 0)
        scr_log(&ctx->log, SCR_LOG_NOTE,
                "%s (dataset %d): rebuilt the files of %d of %d ranks (%d files were "
                "lost or "
                "damaged)",
                scr_cache_name_of(ctx, id), id, r.rep.rebuilt_ranks, ctx->world.size,
                r.rep.lost_files);
    return rc;
}

/* Learns where dataset id is kept, and makes its directory there for this rank. */
static int open_dset_all(struct scr_ctx *ctx, int id, const struct scr_known *known,
                         char **dset_dir, struct scr_err *err)
{
    scr_hash *desc = scr_hash_new();
    int rc = share_desc_all(ctx, id, known, desc, err);
    if (rc == SCR_OK)
        rc = scr_rivals_drop_begun(ctx, id, err);
    if (rc == SCR_OK) {
        const char *group = scr_hash_get_val(desc, "STORE_GROUP");
        rc = scr_cache_open(ctx, id, scr_hash_get_val(desc, "STORE"),
                            group == NULL || strcmp(group, "NODE") == 0, dset_dir, err);
    }
    scr_hash_delete(desc);
    return rc;
}

/* Of those made before *created, if there are several; out: when that one was. */
static int mend_one_all(struct scr_ctx *ctx, int id, int64_t *created,
                        struct scr_err *err)
{
    struct scr_rivals rivals = { .created = *created };
    char *dset_dir = NULL;
    struct scr_known known;
    int rc = settle_rivals_all(ctx, id, &rivals, &known, err);
    if (rc == SCR_OK) {
        rc = open_dset_all(ctx, id, &known, &dset_dir, err);
        rivals.dset_dir = dset_dir;
        rc = restore_one_all(ctx, id, &rivals, rc, err);
    }
    if (rc == SCR_OK && rivals.are)
        rc = scr_cache_check_all(ctx, id, err);
    /* Short of memory still, it is left to the next dataset, or the next write. */
    if (rc != SCR_OK)
        (void)scr_cache_mend_map(ctx, 0, NULL);
    if (rivals.are)
        scr_rivals_end_all(ctx, id, rc, &rivals);
    *created = rivals.created;
    free(dset_dir);
    return rc;
}

/* Sizes and headers chose the newest of several; where its bytes turn out to be bad an
 * older one may be whole. Where none is, what is wrong with the last that was tried is
 * said. */
static int mend_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    int64_t created = INT64_MAX, tried = created;
    int rc = mend_one_all(ctx, id, &created, err);
    while (rc != SCR_OK && !scr_err_may_pass(rc) && created < tried) {
        struct scr_err why = SCR_ERR_INIT;
        int before = rc;
        tried = created;
        rc = mend_one_all(ctx, id, &created, &why);
        if (rc == SCR_E_LOST && created == tried)
            return before;
        if (rc == SCR_OK || rc == SCR_E_RANKS)
            scr_log(&ctx->log, SCR_LOG_WARN,
                    "dataset %d in cache: the newest of several of this number is not "
                    "restored, %s: %s",
                    id,
                    rc == SCR_OK ? "an older one is"
                                 : "and a different number of ranks wrote an older one",
                    err->text);
        *err = why;
    }
    return rc;
}

/* A descriptor of the store that dataset id is in, the same on all ranks; NULL: there
 * is none any more. */
static const struct scr_reddesc *red_of_all(const struct scr_ctx *ctx, int id)
{
    const struct scr_descs *d = &ctx->descs;
    const char *path = scr_hash_get_val(scr_cache_any_desc(ctx, id), "STORE");
    int found = d->nreds;
    for (int i = d->nreds - 1; i >= 0 && path != NULL; i--)
        if (d->red[i].enabled && strcmp(d->store[d->red[i].store].path, path) == 0)
            found = i;
    found = (int)scr_min_all(&ctx->world, found);
    return found < d->nreds ? &d->red[found] : NULL;
}

/* For a dataset that found its store full: what other prefix directories have leaves,
 * as much as is needed, then (all) the rest. */
static int make_room_all(struct scr_ctx *ctx, int id, int all)
{
    struct scr_dataset d = { 0 };
    const scr_hash *dset = scr_cache_any_dataset(ctx, id);
    const struct scr_reddesc *red = red_of_all(ctx, id);
    if (dset != NULL)
        (void)scr_dataset_get(dset, &d, NULL);
    return red != NULL && scr_neighbours_leave_all(ctx, red, id, d.size, all);
}

static int mend_with_room_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    struct scr_err full = SCR_ERR_INIT;
    int rc = mend_all(ctx, id, &full);
    for (int all = 0; rc == SCR_E_FULL && all <= 1; all++)
        if (make_room_all(ctx, id, all)) {
            scr_err_clear(&full);
            rc = mend_all(ctx, id, &full);
        }
    if (rc != SCR_OK && err != NULL)
        *err = full;
    return rc;
}

int scr_cache_mend_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    TRY(mend_with_room_all(ctx, id, err));
    return scr_cache_check_all(ctx, id, err);
}

/* A dataset of a different number of ranks lacks nothing: regroup.c reads it. The next
 * start may restore datasets that this one could not (invariant C8). */
static void leave_as_it_is_all(struct scr_ctx *ctx, int id, int rc,
                               const struct scr_err *why)
{
    SCR_EVENT(ctx, .event = "REBUILD_FAIL", .dset = id, .note = why->text);
    if (rc == SCR_E_RANKS) {
        scr_log(&ctx->log, SCR_LOG_INFO, "%s", why->text);
        scr_cache_enter_all(ctx, id, SCR_CACHE_FOREIGN);
        return;
    }
    int kept = scr_err_may_pass(rc);
    scr_log(&ctx->log, SCR_LOG_WARN, "%s (dataset %d) is not restored from cache: %s%s",
            scr_cache_name_of(ctx, id), id, why->text,
            kept ? "; it stays there, repair that and start again to restart from it"
                 : "");
    scr_cache_enter_all(ctx, id, kept ? SCR_CACHE_KEPT : SCR_CACHE_LOST);
}

static void rebuild_cache_all(struct scr_ctx *ctx, const struct scr_ids *ids)
{
    for (size_t i = 0; i < ids->n; i++) {
        struct scr_err why = SCR_ERR_INIT;
        int id = ids->id[i];
        SCR_EVENT(ctx, .event = "REBUILD_START", .dset = id);
        int rc = mend_with_room_all(ctx, id, &why);
        if (rc == SCR_OK)
            rc = scr_cache_enter_ready_all(ctx, id, rc, &why);
        if (rc != SCR_OK) {
            leave_as_it_is_all(ctx, id, rc, &why);
            continue;
        }
        scr_flush_mark(ctx, id, SCR_LOC_CACHE,
                       SCR_LOC_FLUSHING | SCR_LOC_SYNC_FLUSHING);
        SCR_EVENT(ctx, .event = "REBUILD_SUCCESS", .dset = id);
    }
}

/* SCR_DISTRIBUTE=0: what is in cache waits for a run that looks at it. */
static void leave_cache_alone_all(struct scr_ctx *ctx, const struct scr_ids *ids)
{
    for (size_t i = 0; i < ids->n; i++) {
        /* A dataset without a descriptor on any rank was never complete. */
        int id = ids->id[i];
        int begun = scr_or_all(&ctx->world, scr_cache_any_desc(ctx, id) != NULL ||
                                                scr_filemap_has_aside(ctx->map, id));
        scr_cache_enter_all(ctx, id, begun ? SCR_CACHE_KEPT : SCR_CACHE_LOST);
    }
    if (ids->n > 0)
        scr_log(&ctx->log, SCR_LOG_NOTE,
                "SCR_DISTRIBUTE=0: %zu datasets in cache are left alone", ids->n);
}

/* --- what there is --- */

/* The state of caches and prefix before anything is rebuilt; the same on all ranks.
 */
struct stock {
    int newer;          /* some node keeps filemaps of a newer version */
    int marked;         /* flushes were killed, it seems (store/flushing.h) */
    struct scr_ids ids; /* that some filemap names */
};
enum { STOCK_ID, STOCK_NEWER, STOCK_LOST, STOCK_MARKED, STOCK_LEAST };

/* Data that rank 0 reads from the prefix: the largest id in use there; whether output
 * may be lost; whether there are marks of flushes. */
struct listed {
    int max, may_lose, marked;
};

/* A damaged flush file lists nothing: it only repeats other records. */
static int read_listed(const struct scr_ctx *ctx, struct listed *l, struct scr_err *err)
{
    struct scr_index index = SCR_INDEX_INIT;
    scr_hash *flush = scr_hash_new();
    int *ids = NULL;
    size_t n = 0;
    int rc = scr_prefix_index_read(&ctx->env, &ctx->prefix, &index, err);
    if (rc == SCR_OK)
        rc = scr_prefix_unfinished_ids(&ctx->env, &ctx->prefix, &index, &ids, &n, err);
    int read = scr_prefix_state_read(&ctx->env, &ctx->prefix, "flush.scr", flush, NULL);
    int flushed = read == SCR_OK ? scr_flush_max_id(flush) : 0;
    l->may_lose =
        read == SCR_OK ? scr_flush_has_open_output(flush) : read != SCR_E_CORRUPT;
    l->max = rc == SCR_OK ? scr_index_max_id(&index) : 0;
    l->max = flushed > l->max ? flushed : l->max;
    l->max = n > 0 && ids[n - 1] > l->max ? ids[n - 1] : l->max;
    l->marked = scr_flushing_any(&ctx->env, &ctx->prefix, ids, n);
    free(ids);
    scr_index_fini(&index);
    scr_hash_delete(flush);
    return rc;
}

/* Ids of the index, the flush file and dataset directories are in use, too, as none is
 * used twice. rc: of this rank until now; the code is its own. */
static int say_stock(const struct scr_ctx *ctx, int64_t *least, int rc,
                     struct scr_err *err)
{
    struct listed l = { 0 };
    int newer = scr_cache_has_newer(ctx);
    int max = newer ? scr_cache_max_id(ctx) : 0;
    if (rc == SCR_OK && ctx->world.rank == 0)
        rc = read_listed(ctx, &l, err);
    max = l.max > max ? l.max : max;
    least[STOCK_ID] = -(max > ctx->last_id ? max : ctx->last_id);
    least[STOCK_NEWER] = -newer;
    least[STOCK_LOST] = -l.may_lose;
    least[STOCK_MARKED] = -l.marked;
    return rc;
}

/* One vote says what there is. rc: of this rank until now. */
static int take_stock_all(struct scr_ctx *ctx, struct stock *s, int rc,
                          struct scr_err *err)
{
    enum { FIRST = STOCK_LEAST, BUSY, HALT };
    int *mine = NULL, n = 0;
    if (rc == SCR_OK && scr_filemap_list_datasets(ctx->map, &n, &mine) != SCR_OK)
        rc = scr_no_memory(err);
    ctx->last_id = n > 0 ? mine[n - 1] : 0;
    struct scr_vote v = { .least = { [FIRST] = n > 0 ? mine[0] : INT64_MAX,
                                     [BUSY] = -scr_async_find_leftovers(ctx),
                                     [HALT] = -ctx->halt } };
    rc = say_stock(ctx, v.least, rc, err);
    rc = scr_vote_all(&ctx->world, rc, &v, err);
    ctx->last_id = (int)-v.least[STOCK_ID];
    ctx->async.leftovers = v.least[BUSY] != 0;
    ctx->halt = v.least[HALT] != 0;
    ctx->lost.may = v.least[STOCK_LOST] != 0;
    s->newer = v.least[STOCK_NEWER] != 0;
    s->marked = v.least[STOCK_MARKED] != 0;
    if (rc == SCR_OK)
        rc = scr_list_datasets_all(&ctx->world, mine, n, v.least[FIRST], &s->ids, err);
    free(mine);
    return rc == SCR_OK && s->ids.n > 0
               ? scr_agree_all(&ctx->world, scr_cache_reserve(ctx, s->ids.n, err), err)
               : rc;
}

/* --- all of it --- */

/* The other one continues counting where it is; a number that is near would be taken
 * too.
 */
void scr_flee_ids_all(struct scr_ctx *ctx)
{
    enum { FAR = 1000 };
    struct scr_err why = SCR_ERR_INIT;
    struct scr_vote v = { .least = { 0 } };
    int rc = say_stock(ctx, v.least, SCR_OK, &why);
    (void)scr_vote_all(&ctx->world, rc, &v, &why); /* what is found counts */
    ctx->last_id = (int)-v.least[STOCK_ID];
    if (ctx->last_id < INT_MAX - FAR)
        ctx->last_id += FAR;
    scr_log(&ctx->log, SCR_LOG_WARN,
            "dataset ids start at %d, to avoid those of the other job: give each job "
            "its own prefix directory",
            ctx->last_id + 1);
}

/* Failures are reported, and tried again later. */
static void catch_up_all(struct scr_ctx *ctx, int marked)
{
    struct scr_err why = SCR_ERR_INIT;
    scr_flush_sweep(ctx);
    if (marked)
        scr_leftovers_sweep_all(ctx);
    scr_prefix_purge_all(ctx);
    scr_async_resume_all(ctx);
    if (scr_async_is_on(ctx))
        scr_flush_left_all(ctx);
    else if (scr_flush_pending_all(ctx, 0, &why) != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN, "output is not flushed, tried again later: %s",
                why.text);
}

int scr_cache_revive_all(struct scr_ctx *ctx, int rc, struct scr_err *err)
{
    struct stock s = { 0 };
    int dealt = scr_scatter_filemaps_all(&ctx->env, &ctx->world, &ctx->node, &ctx->cntl,
                                         ctx->map, rc == SCR_OK ? err : NULL);
    rc = scr_shared_adopt_all(ctx, rc == SCR_OK ? dealt : rc, err);
    rc = take_stock_all(ctx, &s, rc, err);
    if (rc != SCR_OK || (ctx->halt && ctx->prm.halt_enabled))
        goto out;
    scr_async_adopt(ctx);
    if (ctx->prm.cache_purge)
        rc = scr_cache_purge_all(ctx, &s.ids, err);
    else if (ctx->prm.distribute)
        rebuild_cache_all(ctx, &s.ids);
    else
        leave_cache_alone_all(ctx, &s.ids);
    if (rc != SCR_OK)
        goto out;
    /* Without a record here they may have one in a filemap we cannot read, of any node
     * if nodes share a cache. */
    if (!s.newer)
        scr_cache_sweep_above(ctx, s.ids.n > 0 ? s.ids.id[s.ids.n - 1] : 0);
    ctx->lost.open = 1;
    catch_up_all(ctx, s.marked);
out:
    scr_ids_fini(&s.ids);
    return rc;
}
