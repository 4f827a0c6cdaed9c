/* SPDX-License-Identifier: BSD-3-Clause */
/* Flushes that are under way while the application continues: which, and what follows
 * when they end. Every rank has the same list, in the order they were started, which is
 * the order they end in. */
#include <string.h>

#include "base/units.h"
#include "core/asyncctl.h"
#include "core/cachectl.h"
#include "core/ctx.h"
#include "core/edits.h"
#include "core/flushfile.h"
#include "core/meeting.h"
#include "core/mend.h"
#include "core/phase.h"
#include "core/retain.h"
#include "core/stock.h"
#include "core/underway.h"
#include "par/pfs/flush_async.h"

/* --- datasets that meet on the prefix (meeting.c). Programs give a rank the same paths
 * each time: every rank checks its own paths before a retry; that no newer one is
 * written over, the flush sees to (invariant P15). --- */

/* Local; in doubt they do. */
static int meets_files(const struct scr_ctx *ctx, int id, const char *name,
                       const struct scr_table *dests)
{
    struct scr_table mine = SCR_TABLE_OF(struct scr_item);
    int meets = !scr_cache_dests(ctx, id, &mine) ||
                strcmp(scr_cache_name_of(ctx, id), name) == 0;
    for (SCR_EACH(struct scr_item, path, &mine))
        meets = meets || scr_table_find(dests, path->name) != NULL;
    scr_table_fini(&mine);
    return meets;
}

static int meets(const struct scr_ctx *ctx, int id, int other)
{
    struct scr_table dests = SCR_TABLE_OF(struct scr_item);
    int found = !scr_cache_dests(ctx, other, &dests) ||
                meets_files(ctx, id, scr_cache_name_of(ctx, other), &dests);
    scr_table_fini(&dests);
    return found;
}

/* 1 if a newer dataset that meets id is on the prefix, or on its way there. */
static int is_replaced_all(struct scr_ctx *ctx, int id)
{
    int replaced = 0;
    for (int i = 0;
         (i = scr_cache_newest_if(ctx, scr_held_is_ready, i)) > id && !replaced;)
        replaced = scr_or_all(&ctx->world, meets(ctx, id, i)) &&
                   (scr_async_has(ctx, i) || scr_flush_is_done_all(ctx, i));
    return replaced;
}

/* --- start --- */

static int launch_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    struct scr_flusher *s = &ctx->flusher;
    const scr_hash *dset = scr_filemap_get_dataset(ctx->cache.map, id, ctx->world.rank);
    const struct scr_copy_opts o = scr_flush_opts(ctx);
    const struct scr_prefix_dset at = scr_prefix_dset_of(ctx, id);
    const struct scr_flush_by by = { .node = &ctx->node,
                                     .mover = scr_async_mover(ctx, err),
                                     .o = &o,
                                     .bw = (double)ctx->prm.flush_async_bw,
                                     .percent = ctx->prm.flush_async_percent };
    struct scr_flush_async *a = NULL;
    int rc = by.mover == NULL ? SCR_E_NOMEM : SCR_OK;
    if (rc == SCR_OK && !scr_async_reserve(s))
        rc = scr_no_memory(err);
    rc = scr_agree_all(&ctx->world, rc, err);
    if (rc == SCR_OK)
        rc = scr_flush_start_all(&a, &at, &by, dset, ctx->cache.map, err);
    if (rc == SCR_OK)
        s->flush[s->n++] = a;
    return rc;
}

/* Datasets that are output only leave the cache once they are flushed. */
static void let_output_go_all(struct scr_ctx *ctx, int id)
{
    struct scr_err why = SCR_ERR_INIT;
    if (scr_cache_kind(ctx, id) == SCR_IS_OUTPUT &&
        scr_cache_drop_all(ctx, id, "output that is flushed or deleted", &why) !=
            SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN, "dataset %d stays in cache: %s", id, why.text);
}

/* A newer dataset has files at its paths: it is superseded. */
static void give_way_all(struct scr_ctx *ctx, int id, const struct scr_err *why)
{
    scr_flush_tell_newer(ctx, id, why);
    let_output_go_all(ctx, id);
}

/* The part of a checkpoint that has landed is removed (invariant P28). */
static void make_room_all(struct scr_ctx *ctx, int id)
{
    scr_async_take_back_all(ctx, id, 0);
    scr_retain_all(ctx);
}

/* Files that are damaged in cache are rebuilt before it is tried again. */
static void note_failure_all(struct scr_ctx *ctx, int id, int rc, const char *why)
{
    int lost = scr_async_lose_daemon_all(ctx);
    scr_async_note_failed(ctx, id, 1, !lost && scr_flush_may_be_mended(ctx, id, rc));
    scr_log(&ctx->log, SCR_LOG_WARN,
            "flush of dataset %d failed, it stays in cache and is tried again, or the "
            "next checkpoint in its place%s: %s",
            id, lost ? ", by threads of the processes" : "", why);
}

/* rc is the ranks' common code; why may be of this rank alone. */
static void fail_all(struct scr_ctx *ctx, int id, int rc, const struct scr_err *why)
{
    const struct scr_flush_end end = { .rc = rc, .why = why->text };
    scr_flush_ended(ctx, SCR_FLUSH_BEHIND, id, &end);
    if (rc == SCR_E_NEWER) {
        give_way_all(ctx, id, why);
        return;
    }
    note_failure_all(ctx, id, rc, why->text);
    if (rc == SCR_E_FULL)
        make_room_all(ctx, id);
    else if (rc == SCR_E_TAKEN)
        scr_flee_ids_all(ctx);
}

/* Where transfer processes are lost, threads copy. */
static int begin_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    TRY(scr_async_let_go_all(ctx, err));
    scr_flush_begun(ctx, SCR_FLUSH_BEHIND, id);
    int rc = launch_all(ctx, id, &why);
    if (rc == SCR_OK)
        return rc;
    if (!scr_async_lose_daemon_all(ctx))
        return scr_fail(err, rc, why.sys, "%s", why.text);
    scr_log(&ctx->log, SCR_LOG_WARN, "threads of the processes copy: %s", why.text);
    TRY(scr_async_let_go_all(ctx, err));
    return launch_all(ctx, id, err);
}

void scr_async_start_all(struct scr_ctx *ctx, int id)
{
    struct scr_err why = SCR_ERR_INIT;
    if (scr_async_has(ctx, id))
        return;
    /* Until no flush that meets id is under way: files id brings would be taken for
     * those of the other one, which becomes complete when its last file has arrived. */
    int last = scr_meeting_last_all(ctx, id);
    if (last >= 0)
        (void)scr_async_wait_all(ctx, scr_flush_async_id(ctx->flusher.flush[last]),
                                 NULL);
    scr_async_note_failed(ctx, id, 0, 0);
    int rc = begin_all(ctx, id, &why);
    if (rc != SCR_OK) {
        fail_all(ctx, id, rc, &why);
        return;
    }
    if (ctx->prm.phase_file != NULL) /* a failure injected here finds it running */
        scr_async_go(ctx);
    scr_phase_all(ctx, "flush", id);
}

/* --- end --- */

/* Ends the first flush, waiting for it if it is not over. */
static int end_all(struct scr_ctx *ctx)
{
    struct scr_flush_async *a = scr_async_take(&ctx->flusher, 0);
    struct scr_err why = SCR_ERR_INIT;
    int id = scr_flush_async_id(a);
    double since = scr_flush_async_since(a);
    struct scr_flush_end end = { .bytes = scr_flush_async_bytes(a) };
    int rc = scr_flush_end_all(a, &why);
    if (rc != SCR_OK) {
        fail_all(ctx, id, rc, &why);
        return rc;
    }
    end.secs = scr_now_mono() - since;
    scr_flush_ended(ctx, SCR_FLUSH_BEHIND, id, &end);
    if (scr_cache_kind(ctx, id) & SCR_IS_CKPT) {
        ctx->times.flush += end.secs;
        ctx->times.flushes++;
        ctx->times.last_flush = since;
    }
    let_output_go_all(ctx, id);
    scr_retain_all(ctx);
    return SCR_OK;
}

void scr_async_poll_all(struct scr_ctx *ctx)
{
    while (ctx->flusher.n > 0 &&
           scr_flush_poll_all(ctx->flusher.flush[0]) != SCR_XFER_RUNNING)
        (void)end_all(ctx); /* reported and recorded there */
}

int scr_async_wait_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    int rc = SCR_OK, until = id > 0 ? scr_async_place(ctx, id) : ctx->flusher.n - 1;
    for (int i = 0; i <= until; i++) { /* those before it end before it */
        int one = end_all(ctx);
        if (i == until || id == 0)
            rc = one != SCR_OK ? one : rc;
    }
    return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "flush of dataset %d", id);
}

/* --- once more --- */

/* The smallest id above `above` of those that failed; 0: none. */
static int next_failed(const struct scr_ctx *ctx, int above)
{
    while ((above = scr_cache_next(ctx, above)) > 0)
        if (scr_cache_held(ctx, above)->failed)
            break;
    return above;
}

void scr_async_replaced_all(struct scr_ctx *ctx)
{
    for (int id = 0; (id = next_failed(ctx, id)) > 0;)
        if (scr_or_all(&ctx->world,
                       meets_files(ctx, id, ctx->out.name, &ctx->out.routed)))
            scr_async_note_failed(ctx, id, 0, 0);
}

/* Files that cannot be rebuilt are reported, and the flush names what it lacks. */
static void start_again_all(struct scr_ctx *ctx, int id)
{
    struct scr_err lost = SCR_ERR_INIT;
    if (scr_cache_held(ctx, id)->mend && scr_cache_mend_all(ctx, id, &lost) != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN, "%s (dataset %d) is not rebuilt in cache: %s",
                scr_cache_name_of(ctx, id), id, lost.text);
    scr_async_start_all(ctx, id);
}

void scr_async_retry_all(struct scr_ctx *ctx)
{
    for (int id = 0; (id = next_failed(ctx, id)) > 0;)
        if (!scr_cache_is_ready(ctx, id) || is_replaced_all(ctx, id)) {
            scr_async_note_failed(ctx, id, 0, 0);
        } else if (scr_flush_is_settled_all(ctx, id)) { /* by others */
            scr_async_note_failed(ctx, id, 0, 0);
            scr_flush_mark_saved(ctx, id);
            let_output_go_all(ctx, id);
        } else {
            start_again_all(ctx, id);
        }
}
