/* SPDX-License-Identifier: BSD-3-Clause */
/* When to checkpoint and when to stop. Rank 0 decides, everybody is told. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/str.h"
#include "base/units.h"
#include "core/ctx.h"

/* --- halt --- */

struct halt_edit {
    const struct scr_params *prm;
    int at_start;       /* 1: fill an empty file with what the job was started with */
    int count;          /* 1: one checkpoint more was completed */
    const char *record; /* ExitReason to write, NULL: none */
    int due;            /* result */
    char *why;          /* result, malloc'd */
};

/* scr_halt's settings win over the job's: only a file without any takes the job's. */
static int take_job_settings(const struct halt_edit *e, struct scr_halt *h)
{
    if (!e->at_start || e->prm->halt_seconds <= 0)
        return 0;
    h->halt_seconds = (int64_t)e->prm->halt_seconds;
    if (e->prm->end_time > 0)
        h->exit_before = (int64_t)e->prm->end_time;
    return 1;
}

static int edit_halt(scr_hash *file, void *arg, int *changed, struct scr_err *err)
{
    struct halt_edit *e = arg;
    struct scr_halt h;
    int empty = scr_hash_size(file) == 0;
    int rc = scr_halt_get(file, &h, err);
    if (rc != SCR_OK)
        return rc;
    if (empty)
        *changed = take_job_settings(e, &h);
    if (e->count && h.checkpoints_left > 0) {
        h.checkpoints_left--;
        *changed = 1;
    }
    e->due = scr_halt_due(&h, (int64_t)time(NULL), &e->why);
    if (e->record && h.reason == NULL) {
        h.reason = e->record;
        *changed = 1;
    }
    return *changed ? scr_halt_set(file, &h) : SCR_OK;
}

/* Runs the edit; due and why (malloc'd, may be NULL) come out on every rank. */
static int halt_all(struct scr_ctx *ctx, struct halt_edit *e, struct scr_err *err)
{
    e->prm = &ctx->prm;
    int rc = scr_edit_state_all(ctx, "halt.scr", edit_halt, e, err);
    e->due = scr_or_all(&ctx->world, e->due);
    if (rc == SCR_OK && e->due)
        rc = scr_bcast_str_all(&ctx->world, 0, &e->why, err);
    return rc;
}

int scr_halt_init_all(struct scr_ctx *ctx, struct scr_err *err)
{
    struct halt_edit e = { .at_start = 1 };
    int rc = halt_all(ctx, &e, err);
    ctx->halt = rc == SCR_OK && e.due;
    if (ctx->halt)
        scr_log(
            &ctx->log, SCR_LOG_NOTE,
            "the job is halted: %s (scr_halt --list --prefix %s shows the conditions, "
            "scr_halt --remove deletes them so that it runs again)",
            e.why ? e.why : "halt condition", ctx->prefix.path);
    free(e.why);
    return rc;
}

int scr_halt_ckpt_all(struct scr_ctx *ctx, struct scr_err *err)
{
    struct halt_edit e = { .count = 1 };
    int rc = halt_all(ctx, &e, err);
    if (rc == SCR_OK && e.due) {
        ctx->halt = 1;
        scr_log(&ctx->log, SCR_LOG_NOTE, "halting after this checkpoint: %s",
                e.why ? e.why : "halt condition");
        SCR_EVENT(ctx, .event = "HALT", .note = e.why);
        struct scr_err flush = SCR_ERR_INIT;
        if (scr_flush_pending_all(ctx, 1, &flush) != SCR_OK)
            scr_log(&ctx->log, SCR_LOG_ERROR, "last flush before the halt: %s",
                    flush.text);
        rc = scr_halt_reason_all(ctx, e.why ? e.why : "HALT", err);
    }
    free(e.why);
    return rc;
}

int scr_halt_reason_all(struct scr_ctx *ctx, const char *reason, struct scr_err *err)
{
    struct halt_edit e = { .record = reason };
    int rc = halt_all(ctx, &e, err);
    free(e.why);
    return rc;
}

static int check_flag_all(struct scr_ctx *ctx, const char *call, const int *flag,
                          struct scr_err *err)
{
    int rc = flag ? SCR_OK : scr_fail(err, SCR_E_ARG, 0, "%s: flag is NULL", call);
    return scr_agree_all(&ctx->world, rc, err);
}

/* Asks the halt file again unless a condition was due before. */
static int halt_due_all(struct scr_ctx *ctx, int *due, struct scr_err *err)
{
    struct halt_edit e = { 0 };
    int rc = ctx->halt ? SCR_OK : halt_all(ctx, &e, err);
    *due = ctx->halt || e.due;
    free(e.why);
    return rc;
}

int scr_should_exit_all(struct scr_ctx *ctx, int *flag, struct scr_err *err)
{
    int rc = check_flag_all(ctx, "SCR_Should_exit", flag, err);
    if (rc != SCR_OK)
        return rc;
    *flag = 0;
    return halt_due_all(ctx, flag, err);
}

/* --- checkpoints --- */

static int is_time_for_ckpt(const struct scr_ctx *ctx)
{
    const struct scr_params *p = &ctx->prm;
    const struct scr_times *t = &ctx->times;
    double now = scr_now_mono();
    if (p->checkpoint_interval <= 0 && p->checkpoint_seconds <= 0 &&
        p->checkpoint_overhead <= 0)
        return 1; /* nothing to go by: the application decides how often it asks */
    if (p->checkpoint_interval > 0 && t->need_calls % p->checkpoint_interval == 0)
        return 1;
    if (p->checkpoint_seconds > 0 && now - t->last_ckpt >= p->checkpoint_seconds)
        return 1;
    if (p->checkpoint_overhead <= 0)
        return 0;
    double compute = t->compute + now - t->compute_start;
    return t->ckpt * 100.0 <= p->checkpoint_overhead * (compute + t->ckpt);
}

int scr_need_checkpoint_all(struct scr_ctx *ctx, int *flag, struct scr_err *err)
{
    int rc = check_flag_all(ctx, "SCR_Need_checkpoint", flag, err);
    if (rc != SCR_OK)
        return rc;
    int due = 0;
    *flag = 0;
    ctx->times.need_calls++;
    rc = halt_due_all(ctx, &due, err);
    int need = ctx->world.rank == 0 && (due || is_time_for_ckpt(ctx));
    *flag = scr_or_all(&ctx->world, need);
    return rc;
}
