/* SPDX-License-Identifier: BSD-3-Clause */
/* When to checkpoint and when to stop. Rank 0 decides for all. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/units.h"
#include "core/asyncctl.h"
#include "core/ctx.h"
#include "core/event_note.h"
#include "core/flushctl.h"
#include "rm/rm.h"

/* --- halt --- */

struct halt_edit {
    const struct scr_params *prm;
    int again;          /* 1: this process has ended a run before */
    int at_start;       /* 1: a reason that does not stop this run is removed */
    int goes_on;        /* 1: an end that waits for a checkpoint is not due yet */
    int count;          /* 1: one checkpoint more was completed */
    const char *record; /* ExitReason to write, NULL: none */
    const char *word;   /* result: ExitReason of what is due, NULL if the file has it */
    int due;            /* result */
    char *why;          /* result, malloc'd */
};

/* That a run has come to its end keeps the next one of its allocation from starting. It
 * does not apply to a process that starts a run itself, where jobs cannot be
 * distinguished, or where the program halts itself; run loops still use it. */
static int is_done_with(const struct halt_edit *e, const scr_hash *file)
{
    const char *reason = scr_hash_get_val(file, "ExitReason");
    int counts =
        e->prm->halt_enabled && !e->again && strcmp(e->prm->job_id, SCR_NO_JOB_ID) != 0;
    return reason != NULL && strcmp(reason, SCR_HALT_FINALIZED) == 0 && !counts;
}

static int forget_old_reason(const struct halt_edit *e, scr_hash *file)
{
    if (!e->at_start ||
        (!scr_halt_is_of_another(file, e->prm->job_id) && !is_done_with(e, file)))
        return 0;
    scr_hash_unset(file, SCR_HALT_EXIT_JOB);
    scr_hash_unset(file, "ExitReason");
    return 1;
}

static void ask_if_due(struct halt_edit *e, const struct scr_halt *in_file)
{
    struct scr_halt h = *in_file;
    if (e->goes_on && scr_halt_waits(&h))
        h.reason = NULL;
    scr_halt_add_job(&h, (int64_t)e->prm->halt_seconds, (int64_t)e->prm->end_time);
    const char *word = scr_halt_due(&h, (int64_t)time(NULL), &e->why);
    e->due = word != NULL;
    e->word = in_file->reason == NULL ? word : NULL;
}

static int record_reason(const struct halt_edit *e, const struct scr_halt *in_file,
                         scr_hash *file)
{
    if (e->record == NULL || in_file->reason != NULL)
        return 0;
    scr_hash_set_val(file, "ExitReason", e->record);
    scr_hash_set_val(file, SCR_HALT_EXIT_JOB, e->prm->job_id);
    return 1;
}

static int edit_halt(scr_hash *file, void *arg, int *changed, struct scr_err *err)
{
    struct halt_edit *e = arg;
    struct scr_halt h;
    *changed = forget_old_reason(e, file);
    TRY(scr_halt_get(file, &h, err));
    /* Two jobs in one prefix directory: neither ends the other. */
    if (scr_halt_is_of_another(file, e->prm->job_id))
        h.reason = NULL;
    if (e->count && h.checkpoints_left > 0) {
        h.checkpoints_left--;
        scr_hash_set_val_i64(file, "CheckpointsLeft", h.checkpoints_left);
        *changed = 1;
    }
    ask_if_due(e, &h);
    if (record_reason(e, &h, file))
        *changed = 1;
    return SCR_OK;
}

/* Looks without changing anything: no lock, no write, often. A damaged file is replaced
 * when the next checkpoint is counted. */
static int look_at_halt(struct scr_ctx *ctx, struct halt_edit *e, struct scr_err *err)
{
    scr_hash *file = scr_hash_new();
    int changed;
    int rc;
    TRY_OUT(scr_prefix_state_read(&ctx->env, &ctx->prefix, "halt.scr", file, err));
    TRY_OUT(edit_halt(file, e, &changed, err));
out:
    scr_hash_delete(file);
    if (rc != SCR_E_CORRUPT)
        return rc;
    scr_err_clear(err);
    return SCR_OK;
}

static int update_halt(struct scr_ctx *ctx, struct halt_edit *e, struct scr_err *err)
{
    return scr_prefix_state_update(&ctx->env, &ctx->prefix, "halt.scr", edit_halt, e,
                                   err);
}

/* Whether rank 0, which asks the file, found a condition due; only it knows why. */
static int share_due_all(struct scr_ctx *ctx, struct halt_edit *e, int rc,
                         struct scr_err *err)
{
    struct scr_vote v = { .least = { -e->due } };
    rc = scr_vote_all(&ctx->world, rc, &v, err);
    e->due = v.least[0] != 0;
    return rc;
}

/* Runs the edit; due comes out on every rank, why (malloc'd, may be NULL) on rank 0. */
static int halt_all(struct scr_ctx *ctx, struct halt_edit *e, struct scr_err *err)
{
    int rc = SCR_OK;
    e->prm = &ctx->prm;
    e->again = ctx->again;
    if (ctx->world.rank == 0)
        rc = update_halt(ctx, e, err);
    return share_due_all(ctx, e, rc, err);
}

/* For a program without a run loop. Asking costs a command of the manager, so
 * only rank 0 does, which decides, and only if the answer counts. */
static void find_end_time(struct scr_ctx *ctx, struct scr_err *why)
{
    struct scr_rm rm;
    int64_t end = 0;
    if (ctx->world.rank != 0 || ctx->prm.end_time > 0)
        return;
    if (scr_rm_open(&ctx->env, ctx->cfg, &ctx->prm, &rm, why) == SCR_OK) {
        (void)scr_rm_end_time(&rm, &end, why);
        scr_rm_close(&rm);
    }
    ctx->prm.end_time = (double)end;
}

static void find_end_time_for_halt(struct scr_ctx *ctx)
{
    struct scr_err why = SCR_ERR_INIT;
    if (ctx->prm.halt_seconds == 0)
        return;
    find_end_time(ctx, &why);
    if (ctx->world.rank == 0 && ctx->prm.end_time <= 0)
        scr_rm_warn_no_end(&ctx->log, &why);
}

static void note_halt(struct scr_ctx *ctx, const struct halt_edit *e)
{
    if (!e->due || ctx->halt)
        return;
    ctx->halt = 1;
    /* No command lists or removes the end of the allocation. */
    if (e->why != NULL && e->word != NULL && strcmp(e->word, SCR_HALT_JOB_END) == 0) {
        scr_log(&ctx->log, SCR_LOG_NOTE, "the job is halted: %s", e->why);
        return;
    }
    scr_log(&ctx->log, SCR_LOG_NOTE,
            "the job is halted: %s (scr_halt --list --prefix %s shows the conditions, "
            "scr_halt --remove deletes them so that it runs again)",
            e->why ? e->why : "halt condition", ctx->prefix.path);
}

int scr_halt_look(struct scr_ctx *ctx, int begins, struct scr_err *err)
{
    struct halt_edit e = { .prm = &ctx->prm, .again = ctx->again, .at_start = 1 };
    if (!begins)
        find_end_time_for_halt(ctx);
    int rc;
    TRY_OUT(begins ? update_halt(ctx, &e, err) : look_at_halt(ctx, &e, err));
    note_halt(ctx, &e);
out:
    free(e.why);
    return rc;
}

int scr_halt_ckpt_all(struct scr_ctx *ctx, struct scr_err *err)
{
    struct halt_edit e = { .goes_on = 1, .count = 1 };
    int rc;
    TRY_OUT(halt_all(ctx, &e, err));
    if (e.due) {
        ctx->halt = 1;
        scr_pilot_end(ctx);
        scr_log(&ctx->log, SCR_LOG_NOTE, "halting after this checkpoint: %s",
                e.why ? e.why : "halt condition");
        SCR_EVENT(ctx, .event = "HALT", .note = e.why);
        struct scr_err flush = SCR_ERR_INIT;
        ctx->halt_unsafe = scr_flush_pending_all(ctx, 1, &flush) != SCR_OK;
        if (ctx->halt_unsafe)
            scr_log(&ctx->log, SCR_LOG_ERROR,
                    "the last flush before the halt failed, its dataset is only in "
                    "cache and is lost with the allocation: %s",
                    flush.text);
        TRY_OUT(scr_halt_reason_all(ctx, e.word, err));
    }
out:
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

/* Asks the halt file again unless a condition was due before. rc: of this rank until
 * now; goes_on: as in struct halt_edit; also: what else makes it due. */
static int due_all(struct scr_ctx *ctx, int rc, int goes_on, int also, int *due,
                   struct scr_err *err)
{
    struct halt_edit e = { .prm = &ctx->prm, .goes_on = goes_on };
    if (ctx->world.rank == 0 && rc == SCR_OK && !ctx->halt)
        rc = look_at_halt(ctx, &e, err);
    e.due |= ctx->halt || also;
    rc = share_due_all(ctx, &e, rc, err);
    *due = e.due;
    free(e.why);
    return rc;
}

static int check_flag(const char *call, int *flag, struct scr_err *err)
{
    if (flag == NULL)
        return scr_fail(err, SCR_E_ARG, 0, "%s: flag is NULL", call);
    *flag = 0;
    return SCR_OK;
}

int scr_should_exit_all(struct scr_ctx *ctx, int *flag, struct scr_err *err)
{
    int due = 0;
    if (ctx->state == SCR_STATE_IDLE) /* else what it deletes may be in use */
        scr_async_poll_all(ctx);
    int rc = due_all(ctx, check_flag("SCR_Should_exit", flag, err), 1, 0, &due, err);
    if (rc == SCR_OK && due) {
        ctx->told_to_exit = 1;
        scr_pilot_end(ctx);
    }
    if (rc == SCR_OK)
        *flag = due;
    return rc;
}

int scr_is_halted_all(struct scr_ctx *ctx, int *halted, struct scr_err *err)
{
    *halted = ctx->told_to_exit; /* whatever was taken back since, the program ends */
    return ctx->told_to_exit ? SCR_OK : due_all(ctx, SCR_OK, 0, 0, halted, err);
}

/* --- checkpoints --- */

/* With a limit to the time that checkpoints take the autopilot has to be asked for: the
 * limit alone says yes as often as it allows. */
static int is_automatic(const struct scr_ctx *ctx)
{
    const struct scr_params *p = &ctx->prm;
    return p->checkpoint_auto && p->checkpoint_interval <= 0 &&
           p->checkpoint_seconds <= 0 &&
           (p->checkpoint_overhead <= 0 ||
            scr_cfg_is_set(ctx->cfg, "SCR_CHECKPOINT_AUTO"));
}

static void find_end_time_for_pilot(struct scr_ctx *ctx)
{
    if (!ctx->pilot.begun && ctx->prefix.path != NULL)
        find_end_time(ctx, NULL);
}

int scr_is_flush_due_all(struct scr_ctx *ctx)
{
    int every = ctx->prm.flush, due = 0;
    if (every == 0 || ctx->flusher.owed)
        return every != 0;
    if (every != SCR_AUTO)
        return ctx->ckpt_id % every == 0;
    if (ctx->world.rank == 0) {
        find_end_time_for_pilot(ctx);
        due = scr_pilot_flushes(ctx);
    }
    return scr_or_all(&ctx->world, due);
}

/* After failures in a row the program computes in between: a cache that is broken would
 * cost it a line and an event a step. */
static int is_too_soon(const struct scr_times *t, double now)
{
    enum { DOUBLINGS = 6 };
    int n = t->failed <= DOUBLINGS ? t->failed - 1 : DOUBLINGS;
    return t->failed > 0 && now - t->last_try < (double)(1 << n);
}

int scr_is_time_for_ckpt(struct scr_ctx *ctx)
{
    const struct scr_params *p = &ctx->prm;
    const struct scr_times *t = &ctx->times;
    double now = scr_now_mono();
    if (is_automatic(ctx)) {
        find_end_time_for_pilot(ctx);
        return scr_pilot_is_time(ctx) && !is_too_soon(t, now);
    }
    if (p->checkpoint_interval <= 0 && p->checkpoint_seconds <= 0 &&
        p->checkpoint_overhead <= 0)
        return 1; /* no setting: the application decides how often it asks */
    if (p->checkpoint_interval > 0 && t->need_calls % p->checkpoint_interval == 0)
        return 1;
    if (is_too_soon(t, now))
        return 0;
    if (p->checkpoint_seconds > 0 && now - t->last_ckpt >= p->checkpoint_seconds)
        return 1;
    if (p->checkpoint_overhead <= 0)
        return 0;
    double compute = t->compute + now - t->compute_start;
    return t->ckpt * 100.0 <= p->checkpoint_overhead * (compute + t->ckpt);
}

int scr_need_checkpoint_all(struct scr_ctx *ctx, int *flag, struct scr_err *err)
{
    int due = 0;
    if (ctx->state != SCR_STATE_RESTART) /* else what it deletes may be in use */
        scr_async_poll_all(ctx);
    ctx->times.need_calls++;
    int is_time = ctx->world.rank == 0 && scr_is_time_for_ckpt(ctx);
    int rc = check_flag("SCR_Need_checkpoint", flag, err);
    rc = due_all(ctx, rc, 0, is_time, &due, err);
    if (flag != NULL)
        *flag = due;
    return rc;
}
