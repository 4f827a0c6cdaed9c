/* SPDX-License-Identifier: BSD-3-Clause */
/* When to checkpoint where nothing is set. */
#include "core/pilot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/units.h"
#include "core/ctx.h"
#include "core/event_note.h"

/* --- the file --- */

/* The start's findings show why the run before died. */
enum scr_failure scr_pilot_failure(const struct scr_ctx *ctx)
{
    if (ctx->choice.fetched > 0 || ctx->restart.is_foreign)
        return SCR_FAILED_SYSTEM;
    return ctx->pilot.rebuilt ? SCR_FAILED_NODE : SCR_FAILED_PROCESS;
}

/* Other runs of the prefix may have written it meanwhile: time and failures are added
 * to what it has. The averages are this run's, which the others learn from. */
static int edit_stats(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    struct scr_ctx *ctx = arg;
    struct scr_pilot *p = &ctx->pilot;
    struct scr_autopilot in_file;
    int64_t now = (int64_t)time(NULL);
    const struct scr_observer me = { ctx->prm.job_id, !p->is_entered, p->began, now };
    const struct scr_open_run run = { ctx->prm.job_id, now,
                                      (int64_t)ctx->prm.end_time };
    *changed = 1;
    TRY(scr_autopilot_get(h, &in_file, err));
    if (!p->is_entered)
        p->stats = in_file;
    p->stats.uptime = in_file.uptime + p->unkept;
    memcpy(p->stats.failures, in_file.failures, sizeof in_file.failures);
    p->stats.failures[scr_pilot_failure(ctx)] += scr_autopilot_settle(h, &in_file, &me);
    int rc = scr_autopilot_set(h, &p->stats);
    if (p->is_over)
        scr_autopilot_leave(h, ctx->prm.job_id);
    else
        rc = scr_first(rc, scr_autopilot_enter(h, &run));
    return rc == SCR_OK ? rc : scr_no_memory(err);
}

/* A lock that is stuck is not waited for twice. Where SCR is off there is no file. */
static void keep(struct scr_ctx *ctx, double now)
{
    struct scr_pilot *p = &ctx->pilot;
    struct scr_err why = SCR_ERR_INIT;
    p->stats.uptime += now - p->counted;
    p->unkept += now - p->counted;
    p->counted = p->written = now;
    if (ctx->prefix.path == NULL || p->is_lost)
        return;
    int rc = scr_prefix_state_update(&ctx->env, &ctx->prefix, SCR_AUTOPILOT_FILE,
                                     edit_stats, ctx, &why);
    if (rc != SCR_OK && strcmp(why.text, p->untold.text) != 0)
        scr_log(&ctx->log, SCR_LOG_WARN,
                "what checkpoints cost and how often runs fail is not kept: %s",
                why.text);
    p->untold = why;
    p->unkept = rc == SCR_OK ? 0 : p->unkept;
    p->is_lost = rc == SCR_E_LOCKED;
    p->is_entered |= rc == SCR_OK;
}

static void begin(struct scr_ctx *ctx, double now)
{
    struct scr_pilot *p = &ctx->pilot;
    p->begun = 1;
    p->counted = now;
    p->began = (int64_t)time(NULL);
    keep(ctx, now);
}

void scr_pilot_end(struct scr_ctx *ctx)
{
    struct scr_pilot *p = &ctx->pilot;
    if (ctx->world.rank != 0 || !p->begun || p->is_over)
        return;
    p->is_over = 1;
    keep(ctx, scr_now_mono());
}

/* --- measuring --- */

/* Adds the costs since the last question; 1 if a checkpoint was written. Of several the
 * mean counts, and the time to the first question counts as one between two. */
static int learn(struct scr_ctx *ctx, double now)
{
    struct scr_pilot *p = &ctx->pilot;
    const struct scr_times *t = &ctx->times;
    double ckpt = t->ckpt - p->ckpt, flush = t->flush - p->flush;
    int ckpts = ctx->ckpt_id - p->ckpts, flushes = t->flushes - p->flushes;
    double own = scr_async_is_on(ctx) ? ckpt : ckpt - flush;
    if (ckpt > 0)
        scr_average_add(&p->stats.cost, fmax(own, 0) / (ckpts > 1 ? ckpts : 1));
    if (flushes > 0)
        scr_average_add(&p->stats.flush, flush / flushes);
    if (p->called > 0)
        scr_average_add(&p->stats.between, fmax(now - p->called - ckpt, 0));
    else if (p->stats.between.n == 0)
        scr_average_add(&p->stats.between, now - t->last_ckpt);
    p->ckpt = t->ckpt;
    p->flush = t->flush;
    p->ckpts = ctx->ckpt_id;
    p->flushes = t->flushes;
    p->called = now;
    return ckpt > 0;
}

static void tell(struct scr_ctx *ctx, const struct scr_advice *advice)
{
    struct scr_pilot *p = &ctx->pilot;
    if (p->is_told && !scr_advice_has_changed(advice, &p->told))
        return;
    p->is_told = 1;
    p->told = *advice;
    char *text = scr_advice_text(advice, &p->stats);
    if (text == NULL)
        return;
    scr_log(&ctx->log, SCR_LOG_INFO, "%s", text);
    if (ctx->prefix.path != NULL)
        SCR_EVENT(ctx, .event = "INTERVAL", .secs = advice->interval, .note = text);
    free(text);
}

int scr_pilot_is_time(struct scr_ctx *ctx)
{
    struct scr_pilot *p = &ctx->pilot;
    const struct scr_params *prm = &ctx->prm;
    int is_direct = prm->cache_bypass || prm->cache_size == 0;
    const struct scr_autopilot_job job = { .nodes = ctx->nodes,
                                           .mtbf = prm->mtbf,
                                           .flush_every = is_direct ? 1 : prm->flush,
                                           .is_async = scr_async_is_on(ctx),
                                           .most = prm->checkpoint_overhead };
    struct scr_advice advice;
    double now = scr_now_mono(), left = INFINITY;
    if (!p->begun)
        begin(ctx, now);
    if (learn(ctx, now) || now - p->written >= SCR_AUTOPILOT_EVERY)
        keep(ctx, now);
    scr_autopilot_advise(&p->stats, &job, &advice);
    tell(ctx, &advice);
    if (prm->end_time > 0)
        left = prm->end_time - (double)time(NULL);
    return scr_autopilot_is_due(&p->stats, &advice, now - ctx->times.last_ckpt, left);
}
