/* SPDX-License-Identifier: BSD-3-Clause */
/* Flushes that are under way: the list of them, what copies them, and how one is
 * stopped. Every rank has the same list, in the order they were started, which is the
 * order they end in. */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "core/ctx.h"
#include "core/edits.h"
#include "core/flushfile.h"
#include "core/underway.h"
#include "par/pfs/flush_async.h"
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

int scr_async_place(const struct scr_ctx *ctx, int id)
{
    for (int i = 0; i < ctx->flusher.n; i++)
        if (scr_flush_async_id(ctx->flusher.flush[i]) == id)
            return i;
    return -1;
}

int scr_async_has(const struct scr_ctx *ctx, int id)
{
    return scr_async_place(ctx, id) >= 0;
}

int scr_async_reserve(struct scr_flusher *s)
{
    struct scr_flush_async **more =
        scr_reallocarray(s->flush, (size_t)s->n + 1, sizeof(struct scr_flush_async *));
    s->flush = more != NULL ? more : s->flush;
    return more != NULL;
}

struct scr_flush_async *scr_async_take(struct scr_flusher *s, int i)
{
    struct scr_flush_async *a = s->flush[i];
    s->n--;
    memmove(&s->flush[i], &s->flush[i + 1],
            (size_t)(s->n - i) * sizeof(struct scr_flush_async *));
    return a;
}

void scr_async_fini(struct scr_ctx *ctx)
{
    struct scr_flusher *s = &ctx->flusher;
    scr_mover_stop(s->daemon);
    scr_mover_stop(s->threads);
    while (s->n > 0)
        scr_flush_kill(scr_async_take(s, s->n - 1));
    scr_mover_free(s->daemon);
    scr_mover_free(s->threads);
    free(s->flush);
    memset(s, 0, sizeof *s);
}

/* --- transfer processes --- */

static int uses_daemon(const struct scr_ctx *ctx)
{
    return ctx->prm.flush_type_id == SCR_XFER_DAEMON && !ctx->flusher.daemon_lost;
}

/* The mover new flushes use, made when it is needed first; NULL on error. */
struct scr_mover *scr_async_mover(struct scr_ctx *ctx, struct scr_err *err)
{
    struct scr_flusher *s = &ctx->flusher;
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
    ctx->flusher.paused = 1;
}

void scr_async_go(struct scr_ctx *ctx)
{
    ctx->flusher.paused = 0;
    scr_mover_go(ctx->flusher.threads);
}

/* 1 if one was lost since the last call: then no rank uses them any more. */
int scr_async_lose_daemon_all(struct scr_ctx *ctx)
{
    struct scr_flusher *s = &ctx->flusher;
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
    struct scr_flusher *s = &ctx->flusher;
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
    scr_mover_dismiss(ctx->flusher.daemon);
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

/* --- stopping one --- */

void scr_async_note_failed(const struct scr_ctx *ctx, int id, int failed, int mend)
{
    struct scr_held *h = scr_cache_held(ctx, id);
    if (h != NULL) {
        h->failed = failed;
        h->mend = mend;
    }
}

/* Of an output it stays: a scavenge can use it. */
void scr_async_take_back_all(struct scr_ctx *ctx, int id, int for_good)
{
    struct scr_err why = SCR_ERR_INIT;
    const struct scr_take_back t = { .at = scr_prefix_dset_of(ctx, id),
                                     .map = ctx->cache.map,
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

int scr_async_drop_all(struct scr_ctx *ctx, int id)
{
    struct scr_err why = SCR_ERR_INIT;
    int i = scr_async_place(ctx, id), done = 0;
    if (scr_async_let_go_all(ctx, &why) != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN, "%s", why.text);
    why = (struct scr_err)SCR_ERR_INIT;
    const struct scr_held *h = scr_cache_held(ctx, id);
    int failed = h != NULL && h->failed;
    /* A checkpoint that is not tried again any more is made up for by the next. */
    if (failed && (h->kind & SCR_IS_CKPT) != 0)
        ctx->flusher.owed = 1;
    scr_async_note_failed(ctx, id, 0, 0);
    if (i < 0)
        return failed;
    if (scr_flush_cancel_all(scr_async_take(&ctx->flusher, i), &done, &why) != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN, "flush of dataset %d is cancelled: %s", id,
                why.text);
    (void)scr_async_lose_daemon_all(ctx);
    scr_flush_mark(ctx, id, done ? SCR_LOC_PFS : 0, SCR_LOC_FLUSHING);
    return !done;
}

void scr_async_stop_all(struct scr_ctx *ctx, int id)
{
    if (scr_async_drop_all(ctx, id))
        scr_async_take_back_all(ctx, id, 1);
}
