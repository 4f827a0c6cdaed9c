/* SPDX-License-Identifier: BSD-3-Clause */
/* When to checkpoint where nothing is set, and what to flush with SCR_FLUSH=AUTO. */
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
    if (!p->is_entered) {
        p->stats = in_file;
        if (scr_pilot_failure(ctx) == SCR_FAILED_SYSTEM)
            p->stats.unflushed = 0;
        p->stats.unflushed += p->unkept;
    }
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

static void count_time(struct scr_pilot *p, double now)
{
    p->stats.uptime += now - p->counted;
    p->stats.unflushed += now - p->counted;
    p->unkept += now - p->counted;
    p->counted = now;
}

/* A lock that is stuck is not waited for twice. Where SCR is off there is no file. */
static void keep(struct scr_ctx *ctx, double now)
{
    struct scr_pilot *p = &ctx->pilot;
    struct scr_err why = SCR_ERR_INIT;
    p->written = now;
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
    if (p->begun)
        return;
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
    count_time(p, scr_now_mono());
    keep(ctx, p->counted);
}

/* --- measuring --- */

/* Adds the costs since the last question; 1 if a checkpoint was written. Of several the
 * mean counts. */
static int learn_costs(struct scr_ctx *ctx, double now)
{
    struct scr_pilot *p = &ctx->pilot;
    const struct scr_times *t = &ctx->times;
    double ckpt = t->ckpt - p->ckpt, blocked = t->blocked - p->blocked;
    int ckpts = t->ckpts - p->ckpts, flushes = t->flushes - p->flushes;
    if (ckpt > 0)
        scr_average_add(&p->stats.cost,
                        fmax(ckpt - blocked, 0) / (ckpts > 1 ? ckpts : 1));
    if (flushes > 0) {
        scr_average_add(&p->stats.flush, (t->flush - p->flush) / flushes);
        p->stats.unflushed = now - t->last_flush;
    }
    if (blocked > 0 && scr_async_is_on(ctx))
        scr_average_add(&p->stats.blocked, blocked);
    p->ckpt = t->ckpt;
    p->flush = t->flush;
    p->blocked = t->blocked;
    p->ckpts = t->ckpts;
    p->flushes = t->flushes;
    return ckpt > 0;
}

/* The time to the first question counts as one between two. */
static void learn_calls(struct scr_ctx *ctx, double now)
{
    struct scr_pilot *p = &ctx->pilot;
    double ckpt = ctx->times.ckpt - p->called_ckpt;
    if (p->called > 0)
        scr_average_add(&p->stats.between, fmax(now - p->called - ckpt, 0));
    else if (p->stats.between.n == 0)
        scr_average_add(&p->stats.between, now - ctx->times.last_ckpt);
    p->called = now;
    p->called_ckpt = ctx->times.ckpt;
}

/* Without SCR nothing is known of sets. */
static int is_single(const struct scr_ctx *ctx)
{
    if (ctx->cache.losses == NULL)
        return 0;
    for (int i = 0; i < ctx->descs.nreds; i++)
        if (ctx->descs.red[i].enabled &&
            (ctx->cache.losses[i] > 0 ||
             scr_store_is_shared(&ctx->descs.store[ctx->descs.red[i].store])))
            return 0;
    return 1;
}

/* Finds the facts that an answer needs; *left: seconds left of the allocation. */
static void look(struct scr_ctx *ctx, double now, struct scr_advice *advice,
                 double *left)
{
    struct scr_pilot *p = &ctx->pilot;
    const struct scr_params *prm = &ctx->prm;
    int is_direct = prm->cache_bypass || prm->cache_size == 0;
    const struct scr_autopilot_job job = { .nodes = ctx->nodes,
                                           .mtbf = prm->mtbf,
                                           .flush_every = is_direct ? 1 : prm->flush,
                                           .is_async = scr_async_is_on(ctx),
                                           .is_single = is_single(ctx),
                                           .most = prm->checkpoint_overhead };
    count_time(p, now);
    if (learn_costs(ctx, now) || now - p->written >= SCR_AUTOPILOT_EVERY)
        keep(ctx, now);
    scr_autopilot_advise(&p->stats, &job, advice);
    *left = prm->end_time > 0 ? prm->end_time - (double)time(NULL) : INFINITY;
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
    struct scr_advice advice;
    double now = scr_now_mono(), left;
    p->is_asked = 1;
    begin(ctx, now);
    learn_calls(ctx, now);
    look(ctx, now, &advice, &left);
    tell(ctx, &advice);
    return scr_autopilot_is_due(&p->stats, &advice, now - ctx->times.last_ckpt, left);
}

/* While a flush is under way in the background the next one waits. */
int scr_pilot_flushes(struct scr_ctx *ctx)
{
    struct scr_pilot *p = &ctx->pilot;
    struct scr_advice advice;
    double now = scr_now_mono(), left;
    begin(ctx, now);
    if (!p->is_asked)
        learn_calls(ctx, now);
    look(ctx, now, &advice, &left);
    int due = ctx->flusher.n == 0 &&
              scr_autopilot_flush_is_due(&p->stats, &advice, now - ctx->times.last_ckpt,
                                         left);
    if (due && p->stats.flush.n > 0) /* else it must be measured */
        scr_log(&ctx->log, SCR_LOG_INFO,
                "%s is flushed: %.0f s since the last flush, one every %.0f s is best",
                ctx->out.name, p->stats.unflushed, advice.flush);
    return due;
}
