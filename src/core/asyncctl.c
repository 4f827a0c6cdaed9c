/* SPDX-License-Identifier: BSD-3-Clause */
/* Flushes that are under way while the application continues: which, and what follows
 * when they end. Every rank has the same list, in the order they were started, which is
 * the order they end in. */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/units.h"
#include "core/ctx.h"
#include "par/flush_async.h"
#include "par/lists.h"
#include "store/arrival.h"
#include "xfer/daemon.h"
#include "xfer/zst.h"

static enum scr_xfer_type flush_type(const struct scr_ctx *ctx)
{
    enum scr_xfer_type type = (enum scr_xfer_type)ctx->prm.flush_type_id;
    return type == SCR_XFER_DAEMON ? SCR_XFER_PTHREAD : type;
}

/* Only what runs in this process compresses. The value was checked when it was read. */
static int flush_pack(const struct scr_ctx *ctx)
{
    const char *colon = strchr(ctx->prm.flush_compress, ':');
    int level = SCR_ZST_LEVEL;
    if (ctx->prm.flush_compress_id == 0 || !scr_zst_have() ||
        ctx->prm.flush_type_id == SCR_XFER_DAEMON)
        return 0;
    return colon == NULL || scr_parse_int(colon + 1, &level) ? level : SCR_ZST_LEVEL;
}

struct scr_prefix_dset scr_prefix_dset_of(const struct scr_ctx *ctx, int id)
{
    return (struct scr_prefix_dset){ &ctx->env, &ctx->world, &ctx->prefix, id };
}

struct scr_copy_opts scr_flush_opts(const struct scr_ctx *ctx)
{
    return (struct scr_copy_opts){ .type = flush_type(ctx),
                                   .width = ctx->prm.flush_width,
                                   .buf = (size_t)ctx->prm.file_buf_size,
                                   .crc = ctx->prm.crc_on_flush,
                                   .pack = flush_pack(ctx) };
}

/* SCR_FLUSH_TYPE=SYNC is the default: only who asks for it makes SCR_FLUSH_ASYNC wait.
 */
int scr_async_is_on(const struct scr_ctx *ctx)
{
    return ctx->prm.flush_async && (!scr_cfg_is_set(ctx->cfg, "SCR_FLUSH_TYPE") ||
                                    flush_type(ctx) != SCR_XFER_SYNC);
}

/* --- the list --- */

static int place_of(const struct scr_ctx *ctx, int id)
{
    for (int i = 0; i < ctx->async.n; i++)
        if (scr_flush_async_id(ctx->async.flush[i]) == id)
            return i;
    return -1;
}

int scr_async_has(const struct scr_ctx *ctx, int id)
{
    return place_of(ctx, id) >= 0;
}

static int make_room(struct scr_async *s)
{
    struct scr_flush_async **more =
        scr_reallocarray(s->flush, (size_t)s->n + 1, sizeof(struct scr_flush_async *));
    s->flush = more != NULL ? more : s->flush;
    return more != NULL;
}

static struct scr_flush_async *take_out(struct scr_async *s, int i)
{
    struct scr_flush_async *a = s->flush[i];
    s->n--;
    memmove(&s->flush[i], &s->flush[i + 1],
            (size_t)(s->n - i) * sizeof(struct scr_flush_async *));
    return a;
}

void scr_async_fini(struct scr_ctx *ctx)
{
    struct scr_async *s = &ctx->async;
    scr_mover_stop(s->daemon);
    scr_mover_stop(s->threads);
    while (s->n > 0)
        scr_flush_kill(take_out(s, s->n - 1));
    scr_mover_free(s->daemon);
    scr_mover_free(s->threads);
    free(s->flush);
    memset(s, 0, sizeof *s);
}

/* --- datasets that meet on the prefix (meeting.c). Programs give a rank the same paths
 * each time: every rank checks its own paths before a retry; that no newer
 * one is written over sees the flush to it (invariant P15). --- */

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
    for (int i = 0; (i = scr_cache_newest(ctx, SCR_CACHE_READY, i)) > id && !replaced;)
        replaced = scr_or_all(&ctx->world, meets(ctx, id, i)) &&
                   (scr_async_has(ctx, i) || scr_flush_is_done_all(ctx, i));
    return replaced;
}

/* --- transfer processes --- */

static int uses_daemon(const struct scr_ctx *ctx)
{
    return ctx->prm.flush_type_id == SCR_XFER_DAEMON && !ctx->async.daemon_lost;
}

/* The mover new flushes use, made when it is needed first; NULL on error. */
static struct scr_mover *mover(struct scr_ctx *ctx, struct scr_err *err)
{
    struct scr_async *s = &ctx->async;
    const struct scr_daemon_opts o = { ctx->cntl_dir, ctx->prm.transfer_program,
                                       ctx->prm.transfer_timeout };
    if (uses_daemon(ctx)) {
        if (s->daemon == NULL)
            s->daemon = scr_mover_daemon(&o, ctx->env.sys, err);
        return s->daemon;
    }
    if (s->threads == NULL)
        s->threads = scr_mover_new(SCR_XFER_PTHREAD, ctx->env.sys, err);
    if (s->paused)
        scr_mover_pause(s->threads);
    return s->threads;
}

void scr_async_pause(struct scr_ctx *ctx)
{
    ctx->async.paused = 1;
}

void scr_async_go(struct scr_ctx *ctx)
{
    ctx->async.paused = 0;
    scr_mover_go(ctx->async.threads);
}

/* 1 if one was lost since the last call: then no rank uses them any more. */
static int lose_daemon_all(struct scr_ctx *ctx)
{
    struct scr_async *s = &ctx->async;
    int used = uses_daemon(ctx);
    if (ctx->prm.flush_type_id != SCR_XFER_DAEMON)
        return 0;
    s->daemon_lost = scr_or_all(&ctx->world, scr_mover_is_lost(s->daemon));
    s->unsure = s->daemon_lost;
    return used && s->daemon_lost;
}

/* Seconds for one that was killed, and given time to die, before. */
static const double GRACE = 0.2;

int scr_async_let_go_all(struct scr_ctx *ctx, struct scr_err *err)
{
    struct scr_async *s = &ctx->async;
    int rc = SCR_OK;
    if (!s->leftovers && !s->unsure)
        return SCR_OK;
    if (s->stuck && ctx->node.rank == 0)
        rc = scr_daemon_kill(ctx->env.sys, ctx->cntl_dir, GRACE, err);
    if (rc == SCR_OK && s->leftovers && ctx->node.rank == 0)
        rc = scr_daemon_release(ctx->env.sys, ctx->cntl_dir, ctx->prm.transfer_timeout,
                                err);
    if (rc == SCR_OK && scr_mover_is_lost(s->daemon))
        rc = scr_daemon_kill(ctx->env.sys, ctx->cntl_dir, GRACE, err);
    rc = scr_agree_all(&ctx->world, rc, err);
    s->stuck = rc != SCR_OK;
    if (rc == SCR_OK)
        s->leftovers = s->unsure = 0;
    return rc;
}

void scr_async_dismiss(struct scr_ctx *ctx)
{
    scr_mover_dismiss(ctx->async.daemon);
}

/* What a transfer process still does for an earlier run continues until this one writes
 * to the prefix itself. */
int scr_async_find_leftovers(struct scr_ctx *ctx)
{
    struct scr_err why = SCR_ERR_INIT;
    int busy = 0;
    if (ctx->node.rank == 0 &&
        scr_daemon_tidy(ctx->env.sys, ctx->cntl_dir, &busy, &why) != SCR_OK) {
        scr_log(&ctx->local_log, SCR_LOG_WARN, "transfers of an earlier run: %s",
                why.text);
        busy = 1;
    }
    return busy;
}

/* --- start --- */

static int launch_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    struct scr_async *s = &ctx->async;
    const scr_hash *dset = scr_filemap_get_dataset(ctx->map, id, ctx->world.rank);
    const struct scr_copy_opts o = scr_flush_opts(ctx);
    const struct scr_prefix_dset at = scr_prefix_dset_of(ctx, id);
    const struct scr_flush_by by = { .node = &ctx->node,
                                     .mover = mover(ctx, err),
                                     .o = &o,
                                     .bw = (double)ctx->prm.flush_async_bw,
                                     .percent = ctx->prm.flush_async_percent };
    struct scr_flush_async *a = NULL;
    int rc = by.mover == NULL ? SCR_E_NOMEM : SCR_OK;
    if (rc == SCR_OK && !make_room(s))
        rc = scr_no_memory(err);
    rc = scr_agree_all(&ctx->world, rc, err);
    if (rc == SCR_OK)
        rc = scr_flush_start_all(&a, &at, &by, dset, ctx->map, err);
    if (rc == SCR_OK)
        s->flush[s->n++] = a;
    return rc;
}

static void note_failed(const struct scr_ctx *ctx, int id, int failed, int mend)
{
    struct scr_held *h = scr_cache_held(ctx, id);
    if (h != NULL) {
        h->failed = failed;
        h->mend = mend;
    }
}

/* Files that are damaged in cache are rebuilt before it is tried again. */
static void note_failure_all(struct scr_ctx *ctx, int id, const struct scr_err *why)
{
    int lost = lose_daemon_all(ctx);
    note_failed(ctx, id, 1, !lost && scr_flush_may_be_mended(ctx, id, why->code));
    scr_log(&ctx->log, SCR_LOG_WARN,
            "flush of dataset %d failed, it stays in cache and is tried again, or the "
            "next checkpoint in its place%s: %s",
            id, lost ? ", by threads of the processes" : "", why->text);
    SCR_EVENT(ctx, .event = "ASYNC_FLUSH_FAIL", .dset = id, .note = why->text);
}

/* Datasets that are output only leave the cache once they are flushed. */
static void let_output_go_all(struct scr_ctx *ctx, int id)
{
    struct scr_err why = SCR_ERR_INIT;
    if (scr_cache_kind(ctx, id) == SCR_IS_OUTPUT &&
        scr_cache_delete_all(ctx, id, &why) != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN, "dataset %d stays in cache: %s", id, why.text);
}

/* A newer dataset has files at its paths: it is superseded. */
static void give_way_all(struct scr_ctx *ctx, int id, const struct scr_err *why)
{
    scr_flush_tell_newer(ctx, id, why);
    let_output_go_all(ctx, id);
}

/* --- what has landed of a checkpoint goes again (invariant P28) --- */

/* Of an output it stays: a scavenge can use it. */
static void take_back_all(struct scr_ctx *ctx, int id, int for_good)
{
    struct scr_err why = SCR_ERR_INIT;
    const struct scr_take_back t = { .at = scr_prefix_dset_of(ctx, id),
                                     .map = ctx->map,
                                     .for_good = for_good };
    if (scr_cache_kind(ctx, id) != SCR_IS_CKPT)
        return;
    int rc;
    TRY_OUT(scr_async_let_go_all(ctx, &why));
    TRY_OUT(scr_flush_take_back_all(&t, &why));
out:
    if (rc != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN,
                "what a flush has copied of dataset %d stays in %s: %s", id,
                ctx->prefix.path, why.text);
}

static void make_room_all(struct scr_ctx *ctx, int id)
{
    take_back_all(ctx, id, 0);
    scr_retain_all(ctx);
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
        (void)scr_async_wait_all(ctx, scr_flush_async_id(ctx->async.flush[last]), NULL);
    note_failed(ctx, id, 0, 0);
    int rc = scr_async_let_go_all(ctx, &why);
    if (rc != SCR_OK) {
        note_failure_all(ctx, id, &why);
        return;
    }
    SCR_EVENT(ctx, .event = "ASYNC_FLUSH_START", .dset = id);
    scr_flush_mark(ctx, id, SCR_LOC_CACHE | SCR_LOC_FLUSHING, 0);
    rc = launch_all(ctx, id, &why);
    if (rc != SCR_OK && lose_daemon_all(ctx)) {
        scr_log(&ctx->log, SCR_LOG_WARN, "threads of the processes copy: %s", why.text);
        why = (struct scr_err)SCR_ERR_INIT;
        rc = scr_async_let_go_all(ctx, &why);
        if (rc == SCR_OK)
            rc = launch_all(ctx, id, &why);
    }
    if (rc == SCR_OK) {
        if (ctx->prm.phase_file != NULL) /* a failure injected here finds it running */
            scr_async_go(ctx);
        scr_phase_all(ctx, "flush", id);
        return;
    }
    scr_flush_mark(ctx, id, 0, SCR_LOC_FLUSHING);
    if (rc == SCR_E_NEWER) {
        give_way_all(ctx, id, &why);
        return;
    }
    note_failure_all(ctx, id, &why);
    if (rc == SCR_E_FULL)
        make_room_all(ctx, id);
    else if (rc == SCR_E_TAKEN)
        scr_flee_ids_all(ctx);
}

/* --- end --- */

/* Ends the first flush, waiting for it if it is not over. */
static int end_all(struct scr_ctx *ctx)
{
    struct scr_flush_async *a = take_out(&ctx->async, 0);
    struct scr_err why = SCR_ERR_INIT;
    int id = scr_flush_async_id(a);
    double since = scr_flush_async_since(a);
    int64_t bytes = (int64_t)scr_flush_async_bytes(a);
    int rc = scr_flush_end_all(a, &why);
    scr_flush_mark(ctx, id, rc == SCR_OK ? SCR_LOC_PFS : 0, SCR_LOC_FLUSHING);
    if (rc != SCR_OK) {
        note_failure_all(ctx, id, &why);
        if (rc == SCR_E_FULL)
            make_room_all(ctx, id);
        return rc;
    }
    SCR_EVENT(ctx, .event = "ASYNC_FLUSH_SUCCESS", .dset = id, .bytes = bytes,
              .secs = scr_now_mono() - since);
    let_output_go_all(ctx, id);
    scr_retain_all(ctx);
    return SCR_OK;
}

void scr_async_poll_all(struct scr_ctx *ctx)
{
    while (ctx->async.n > 0 &&
           scr_flush_poll_all(ctx->async.flush[0]) != SCR_XFER_RUNNING)
        (void)end_all(ctx); /* reported and recorded there */
}

int scr_async_wait_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    int rc = SCR_OK, until = id > 0 ? place_of(ctx, id) : ctx->async.n - 1;
    for (int i = 0; i <= until; i++) { /* those before it end before it */
        int one = end_all(ctx);
        if (i == until || id == 0)
            rc = one != SCR_OK ? one : rc;
    }
    return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "flush of dataset %d", id);
}

/* 1 if it was under way and is not complete, or had failed. */
static int stop_all(struct scr_ctx *ctx, int id)
{
    struct scr_err why = SCR_ERR_INIT;
    int i = place_of(ctx, id), done = 0;
    if (scr_async_let_go_all(ctx, &why) != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN, "%s", why.text);
    why = (struct scr_err)SCR_ERR_INIT;
    const struct scr_held *h = scr_cache_held(ctx, id);
    int failed = h != NULL && h->failed;
    /* A checkpoint that is not tried again any more is made up for by the next. */
    if (failed && (h->kind & SCR_IS_CKPT) != 0)
        ctx->flush_owed = 1;
    note_failed(ctx, id, 0, 0);
    if (i < 0)
        return failed;
    if (scr_flush_cancel_all(take_out(&ctx->async, i), &done, &why) != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN, "flush of dataset %d is cancelled: %s", id,
                why.text);
    (void)lose_daemon_all(ctx);
    scr_flush_mark(ctx, id, done ? SCR_LOC_PFS : 0, SCR_LOC_FLUSHING);
    return !done;
}

void scr_async_drop_all(struct scr_ctx *ctx, int id)
{
    (void)stop_all(ctx, id);
}

void scr_async_stop_all(struct scr_ctx *ctx, int id)
{
    if (stop_all(ctx, id))
        take_back_all(ctx, id, 1);
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
            note_failed(ctx, id, 0, 0);
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
            note_failed(ctx, id, 0, 0);
        } else if (scr_flush_is_done_all(ctx, id)) { /* completed by another process */
            note_failed(ctx, id, 0, 0);
            scr_flush_mark(ctx, id, SCR_LOC_PFS, 0);
            let_output_go_all(ctx, id);
        } else {
            start_again_all(ctx, id);
        }
}

void scr_async_adopt(struct scr_ctx *ctx)
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
            !scr_flush_is_done_all(ctx, id))
            scr_async_start_all(ctx, id);
}

void scr_async_resume_all(struct scr_ctx *ctx)
{
    struct scr_err why = SCR_ERR_INIT;
    int *ids = NULL, rc = SCR_OK;
    size_t n = 0;
    if (scr_cache_newest(ctx, SCR_CACHE_READY, 0) == 0) /* nothing to copy */
        return;
    if (ctx->world.rank == 0)
        rc = scr_arrivals_pending(&ctx->env, &ctx->prefix, NULL, &ids, &n, &why);
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
