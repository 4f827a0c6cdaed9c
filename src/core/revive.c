/* SPDX-License-Identifier: BSD-3-Clause */
/* At a start: brings what is in cache back to life, dataset by dataset, oldest first.
 */
#include <stdlib.h>

#include "base/str.h"
#include "base/units.h"
#include "core/asyncctl.h"
#include "core/cachectl.h"
#include "core/ctx.h"
#include "core/event_note.h"
#include "core/flushctl.h"
#include "core/flushfile.h"
#include "core/leftovers.h"
#include "core/mend.h"
#include "core/retain.h"
#include "core/revive.h"
#include "core/sharedstore.h"
#include "core/stock.h"
#include "fmt/state.h"
#include "par/migrate/distribute.h"
#include "par/pfs/lists.h"
#include "store/arrival.h"

/* A dataset of a different number of ranks lacks nothing: foreign.c reads it. The next
 * start may restore datasets that this one could not (invariant C8). Rank 0, which says
 * so, may have lost all that it knew. */
static void leave_as_it_is_all(struct scr_ctx *ctx, int id, int rc,
                               const struct scr_err *why)
{
    char *name = scr_cache_name_all(ctx, id);
    enum scr_cache_state state = rc == SCR_E_RANKS      ? SCR_CACHE_FOREIGN
                                 : scr_err_may_pass(rc) ? SCR_CACHE_KEPT
                                                        : SCR_CACHE_LOST;
    SCR_EVENT(ctx, .event = "REBUILD_FAIL", .dset = id, .name = name,
              .note = why->text);
    if (state == SCR_CACHE_FOREIGN)
        scr_log(&ctx->log, SCR_LOG_INFO, "%s", why->text);
    else
        scr_log(&ctx->log, SCR_LOG_WARN,
                "%s (dataset %d) is not restored from cache: %s%s", name ? name : "?",
                id, why->text,
                state == SCR_CACHE_KEPT
                    ? "; it stays there, repair that and start again to restart from it"
                    : "");
    scr_cache_enter_all(ctx, id, state);
    free(name);
}

/* The ranks look for many datasets at once, and again after a failure, as filemaps may
 * be read again then: for few, as the next may fail, too. */
static void rebuild_cache_all(struct scr_ctx *ctx, const struct scr_ids *ids)
{
    struct scr_known known[SCR_RIVALS_LOOK];
    size_t first = 0, end = 0, most = SCR_RIVALS_LOOK;
    for (size_t i = 0; i < ids->n; i++) {
        struct scr_err why = SCR_ERR_INIT;
        int id = ids->id[i], failed;
        if (i == end) {
            first = i;
            end = ids->n - i < most ? ids->n : i + most;
            most = 2 * most < SCR_RIVALS_LOOK ? 2 * most : SCR_RIVALS_LOOK;
            scr_rivals_look_all(ctx, &ids->id[i], end - i, known);
        }
        int rc = scr_cache_restore_all(ctx, id, &known[i - first], &failed, &why);
        if (failed) {
            end = i + 1;
            most = 1;
        }
        if (rc != SCR_OK) {
            leave_as_it_is_all(ctx, id, rc, &why);
            continue;
        }
        scr_cache_enter_restored(ctx, id);
        scr_flush_mark(ctx, id, SCR_LOC_CACHE,
                       SCR_LOC_FLUSHING | SCR_LOC_SYNC_FLUSHING);
    }
}

/* SCR_DISTRIBUTE=0: what is in cache waits for a run that looks at it. */
static void leave_cache_alone_all(struct scr_ctx *ctx, const struct scr_ids *ids)
{
    for (size_t i = 0; i < ids->n; i++) {
        /* A dataset without a descriptor on any rank was never complete. */
        int id = ids->id[i];
        int begun =
            scr_or_all(&ctx->world, scr_cache_any_desc(ctx, id) != NULL ||
                                        scr_filemap_has_aside(ctx->cache.map, id));
        scr_cache_enter_all(ctx, id, begun ? SCR_CACHE_KEPT : SCR_CACHE_LOST);
    }
    if (ids->n > 0)
        scr_log(&ctx->log, SCR_LOG_NOTE,
                "SCR_DISTRIBUTE=0: %zu dataset%s in cache %s left alone", ids->n,
                scr_plural((int64_t)ids->n), ids->n == 1 ? "is" : "are");
}

/* Datasets that an earlier run had copied become complete. Local, of rank 0. */
static void adopt(struct scr_ctx *ctx)
{
    struct scr_err why = SCR_ERR_INIT;
    int n = 0;
    if (ctx->world.rank != 0)
        return;
    if (scr_arrivals_adopt(&ctx->env, &ctx->prefix, &n, &why) != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN, "datasets copied by an earlier run: %s",
                why.text);
    if (n > 0)
        scr_log(&ctx->log, SCR_LOG_NOTE,
                "%d dataset%s that an earlier run had copied %s complete now", n,
                n == 1 ? "" : "s", n == 1 ? "is" : "are");
}

static void resume_all(struct scr_ctx *ctx, int id)
{
    struct scr_err why = SCR_ERR_INIT;
    scr_log(&ctx->log, SCR_LOG_NOTE, "the flush of dataset %d continues", id);
    if (scr_async_is_on(ctx))
        scr_async_start_all(ctx, id);
    else if (scr_flush_dataset_all(ctx, id, &why) != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN, "flush of dataset %d failed: %s", id,
                why.text);
}

/* Output in cache that never began to be copied. */
static void start_outputs_all(struct scr_ctx *ctx)
{
    for (int id = 0; (id = scr_cache_next(ctx, id)) > 0;)
        if (scr_cache_is_ready(ctx, id) && (scr_cache_kind(ctx, id) & SCR_IS_OUTPUT) &&
            !scr_flush_is_settled_all(ctx, id))
            scr_async_start_all(ctx, id);
}

/* When the cache is restored, flushes that were cut short start again. */
static void resume_flushes_all(struct scr_ctx *ctx, int unfinished)
{
    struct scr_err why = SCR_ERR_INIT;
    int *ids = NULL, rc = SCR_OK;
    size_t n = 0;
    if (scr_cache_newest_if(ctx, scr_held_is_ready, 0) == 0) /* nothing to copy */
        return;
    if (unfinished && ctx->world.rank == 0)
        rc = scr_arrivals_pending(&ctx->env, &ctx->prefix, NULL, &ids, &n, &why);
    if (unfinished)
        rc = scr_share_ids_all(&ctx->world, rc, &ids, &n, &why);
    for (size_t i = 0; i < n && rc == SCR_OK; i++)
        if (scr_cache_is_ready(ctx, ids[i]))
            resume_all(ctx, ids[i]);
    if (rc != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN, "flushes that were cut short: %s", why.text);
    free(ids);
    if (scr_async_is_on(ctx))
        start_outputs_all(ctx);
}

/* --- all of it --- */

/* Failures are reported, and tried again later. */
static void catch_up_all(struct scr_ctx *ctx, const struct scr_stock *s)
{
    struct scr_err why = SCR_ERR_INIT;
    scr_flush_sweep(ctx, s->ids.n == 0);
    if (s->marked)
        scr_leftovers_sweep_all(ctx);
    scr_prefix_purge_all(ctx);
    resume_flushes_all(ctx, s->unfinished);
    if (scr_async_is_on(ctx))
        scr_flush_left_all(ctx);
    else if (scr_flush_pending_all(ctx, 0, &why) != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN, "output is not flushed, tried again later: %s",
                why.text);
}

int scr_cache_revive_all(struct scr_ctx *ctx, int rc, struct scr_err *err)
{
    struct scr_stock s = { 0 };
    int dealt = scr_scatter_filemaps_all(&ctx->env, &ctx->world, &ctx->node, &ctx->cntl,
                                         ctx->cache.map, rc == SCR_OK ? err : NULL);
    rc = scr_shared_adopt_all(ctx, rc == SCR_OK ? dealt : rc, err);
    rc = scr_stock_take_all(ctx, &s, rc, err);
    if (rc != SCR_OK || (ctx->halt && ctx->prm.halt_enabled))
        goto out;
    adopt(ctx);
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
    ctx->choice.lost.open = 1;
    catch_up_all(ctx, &s);
out:
    scr_ids_fini(&s.ids);
    return rc;
}
