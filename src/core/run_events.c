/* SPDX-License-Identifier: BSD-3-Clause */
/* The run in the event log, and on stderr. */
#include "core/run_events.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hostlist.h"
#include "base/lock.h"
#include "base/str.h"
#include "base/units.h"
#include "core/ctx.h"
#include "core/event_note.h"
#include "core/space.h"
#include "core/topo.h"
#include "store/eventlog.h"

/* Of each file; some ten thousand events. If a run has more, all are read. */
enum { TAIL = 4 << 20 };

/* --- the run before --- */

struct last_run {
    const char *job; /* this one */
    int failures;    /* in it so far */
    int is_open;
    int64_t run;         /* its number; -1: not known */
    double seen;         /* when its job recorded something last, seconds since 1970 */
    char *jobid, *nodes; /* NULL: not known */
};

static int is_job(const char *jobid, const char *of)
{
    return jobid != NULL && of != NULL && strcmp(jobid, of) == 0;
}

static void keep_text(char **to, const char *text)
{
    free(*to);
    *to = scr_strdup(text);
}

static int see_event(void *arg, const struct scr_event *e, struct scr_err *err)
{
    struct last_run *last = arg;
    (void)err;
    if (strcmp(e->event, "RUN_START") == 0 && scr_event_by(e) == SCR_BY_LIBRARY) {
        last->is_open = 1;
        last->run = e->run > 0 ? e->run : last->run > 0 ? last->run + 1 : -1;
        keep_text(&last->jobid, e->jobid);
        keep_text(&last->nodes, e->nodelist);
    }
    if (is_job(e->jobid, last->jobid))
        last->seen = e->at;
    if (strcmp(e->event, "FAILURE") == 0 && is_job(e->jobid, last->job))
        last->failures++;
    if (strcmp(e->event, "RUN_END") == 0 && is_job(e->jobid, last->jobid) &&
        scr_event_by(e) == SCR_BY_LIBRARY)
        last->is_open = 0;
    return SCR_OK;
}

/* Facts are left out that are unknown because the log cannot be read. */
static void look_back(const struct scr_ctx *ctx, struct last_run *last)
{
    struct scr_eventlog_reader r = { .event = see_event, .arg = last, .tail = TAIL };
    int rc = scr_eventlog_walk(&ctx->env, &ctx->prefix, &r, NULL);
    if (rc == SCR_OK && r.cut && last->run <= 0) { /* a run with very many events */
        struct scr_eventlog_reader whole = { .event = see_event, .arg = last };
        free(last->jobid);
        free(last->nodes);
        *last = (struct last_run){ .job = last->job };
        rc = scr_eventlog_walk(&ctx->env, &ctx->prefix, &whole, NULL);
    }
    if (rc != SCR_OK)
        last->run = -1;
}

/* Job's run holds its lock. */
static int is_running(const struct scr_ctx *ctx, const char *job)
{
    struct scr_lock_holder who = { 0 };
    char *path = scr_prefix_file(&ctx->prefix, SCR_RUNS_LOCK);
    if (path != NULL && job != NULL)
        (void)scr_lock_look_key(ctx->env.sys, path, scr_str_key(job), &who, NULL);
    free(path);
    return who.held;
}

/* A job has one run at a time; another job may still compute: while it does it holds
 * its lock, and after an end without the library nothing is recorded any more. */
static int has_failed(const struct scr_ctx *ctx, const struct last_run *last)
{
    return last->is_open && (is_job(last->jobid, last->job) ||
                             ((double)time(NULL) - last->seen > SCR_AUTOPILOT_EVERY &&
                              !is_running(ctx, last->jobid)));
}

/* Nodes of the run before that this one has not. malloc'd; NULL: none, or not known. */
static char *lost_nodes(const struct last_run *last, const char *now)
{
    struct scr_hostlist then = SCR_HOSTLIST_INIT, here = SCR_HOSTLIST_INIT,
                        lost = SCR_HOSTLIST_INIT;
    char *text = NULL;
    if (last->nodes != NULL && now != NULL &&
        scr_hostlist_expand(last->nodes, &then, NULL) == SCR_OK &&
        scr_hostlist_expand(now, &here, NULL) == SCR_OK &&
        scr_hostlist_minus(&then, &here, &lost, NULL) == SCR_OK && lost.n > 0)
        (void)scr_hostlist_compress(&lost, 1, &text, NULL);
    scr_hostlist_free(&then);
    scr_hostlist_free(&here);
    scr_hostlist_free(&lost);
    return text;
}

static void note_failure(struct scr_ctx *ctx, const struct last_run *last,
                         const char *nodes)
{
    static const char *const classes[] = { [SCR_FAILED_PROCESS] = "process",
                                           [SCR_FAILED_NODE] = "node",
                                           [SCR_FAILED_SYSTEM] = "beyond" };
    enum scr_failure class = scr_pilot_failure(ctx);
    /* Another job has other nodes, which says nothing of those of the run before. */
    char *lost = is_job(last->jobid, last->job) && class != SCR_FAILED_PROCESS
                     ? lost_nodes(last, nodes)
                     : NULL;
    char *note = last->run > 0 ? scr_asprintf("run %lld of job %s did not end",
                                              (long long)last->run,
                                              last->jobid ? last->jobid : "?")
                               : NULL;
    SCR_EVENT(ctx, .event = "FAILURE", .class = classes[class], .nodelist = lost,
              .note = note);
    free(lost);
    free(note);
}

/* --- this run --- */

static void note_start(struct scr_ctx *ctx, const char *nodes, double secs)
{
    struct last_run last = { .job = ctx->prm.job_id };
    char *config = scr_cfg_text(ctx->cfg);
    look_back(ctx, &last);
    ctx->tally.failures = last.failures;
    if (has_failed(ctx, &last))
        note_failure(ctx, &last, nodes);
    SCR_EVENT(ctx, .event = "RUN_START", .ranks = ctx->world.size, .nodes = ctx->nodes,
              .nodelist = nodes, .version = SCR_VERSION, .config = config, .secs = secs,
              .run = last.run + 1);
    free(config);
    free(last.jobid);
    free(last.nodes);
}

/* --- the two lines --- */

static void say(const struct scr_ctx *ctx, const char *who, enum scr_level level,
                const struct scr_str *line)
{
    struct scr_log log = ctx->log;
    log.who = who;
    if (!line->bad)
        scr_log(&log, level, "%s", line->p);
}

/* Redundancy, cache and room of the next checkpoint, as rank 0 sees it. */
static void add_store(const struct scr_ctx *ctx, struct scr_str *line)
{
    const struct scr_reddesc *red = scr_descs_select(&ctx->descs, ctx->ckpt_id + 1, 0);
    char room[32];
    if (red == NULL)
        return;
    if (red->bypass) {
        scr_str_append(line, "; checkpoints go straight to the prefix");
        return;
    }
    int members = ctx->cache.sets[red->index].n;
    if (members > 1)
        scr_str_printf(line, "; %s, sets of %d", scr_scheme_name(red->scheme), members);
    else
        scr_str_append(line, "; SINGLE");
    scr_str_printf(line, "; cache %s (%s free)", ctx->descs.store[red->store].path,
                   scr_format_size(scr_space_left(ctx, red), room, sizeof room));
}

static void say_start(const struct scr_ctx *ctx)
{
    const struct scr_restart *r = &ctx->restart;
    struct scr_str line = SCR_STR_INIT;
    scr_str_printf(&line, "%d rank%s on %d node%s", ctx->world.size,
                   ctx->world.size == 1 ? "" : "s", ctx->nodes,
                   ctx->nodes == 1 ? "" : "s");
    add_store(ctx, &line);
    scr_str_printf(&line, "; prefix %s; ", ctx->prefix.path);
    if (r->id > 0)
        scr_str_printf(&line, "restart from %s %s", r->name,
                       scr_restart_is_on_prefix(r)    ? "on the prefix"
                       : ctx->choice.fetched == r->id ? "fetched from the prefix"
                                                      : "in cache");
    else if (ctx->choice.ranks.passed > 0)
        scr_str_printf(&line, "no checkpoint of %d rank%s found", ctx->world.size,
                       ctx->world.size == 1 ? "" : "s");
    else if (ctx->choice.failed > 0)
        scr_str_printf(&line, "no checkpoint found (%d marked failed: scr why)",
                       ctx->choice.failed);
    else
        scr_str_append(&line, "no checkpoint found");
    say(ctx, "SCR " SCR_VERSION, SCR_LOG_NOTE, &line);
    scr_str_free(&line);
}

/* Where the last checkpoint is. */
static void add_newest(const struct scr_tally *t, struct scr_str *line)
{
    const char *newest = t->newest_name ? t->newest_name : "?";
    if (t->safe >= t->newest) {
        scr_str_printf(line, "; newest %s is on the prefix", newest);
        return;
    }
    scr_str_printf(line, "; newest %s is in cache", newest);
    if (t->safe > 0)
        scr_str_printf(line, ", %s on the prefix", t->safe_name ? t->safe_name : "?");
    else
        scr_str_append(line, ", none on the prefix");
}

/* A short run that asks when to checkpoint may end before the first time. */
static void add_when(const struct scr_pilot *p, struct scr_str *line)
{
    char time[32];
    if (p->is_told)
        scr_str_printf(line,
                       ": SCR_Need_checkpoint asks for %s %s, SCR_CHECKPOINT_SECONDS "
                       "sets another time",
                       p->told.is_known ? "one every" : "the first after",
                       scr_format_duration(p->told.interval, time, sizeof time));
}

static void say_end(const struct scr_ctx *ctx, double run)
{
    const struct scr_tally *t = &ctx->tally;
    char size[32], each[32], all[32];
    struct scr_str line = SCR_STR_INIT;
    if (t->ckpts == 0) {
        scr_str_append(&line, "no checkpoint was written");
        add_when(&ctx->pilot, &line);
    } else {
        scr_str_printf(
            &line,
            "%d checkpoint%s of %s (all ranks) in %s each (%.1f %% of %s); %d flushed",
            t->ckpts, t->ckpts == 1 ? "" : "s",
            scr_format_size(t->bytes / (uint64_t)t->ckpts, size, sizeof size),
            scr_format_duration(ctx->times.ckpt / t->ckpts, each, sizeof each),
            run > 0 ? 100 * ctx->times.ckpt / run : 0,
            scr_format_duration(run, all, sizeof all), t->flushes);
        add_newest(t, &line);
    }
    if (ctx->times.failed == 1)
        scr_str_append(&line, "; the last attempt failed");
    else if (ctx->times.failed > 1)
        scr_str_printf(&line, "; the last %d attempts failed", ctx->times.failed);
    if (t->failures > 0)
        scr_str_printf(&line, "; the job survived %d failure%s so far", t->failures,
                       t->failures == 1 ? "" : "s");
    say(ctx, "SCR", ctx->times.failed > 0 ? SCR_LOG_WARN : SCR_LOG_NOTE, &line);
    scr_str_free(&line);
}

/* "; encoded in 0.20 s (6.00 GiB/s)". */
static void add_step(struct scr_str *line, const char *what, double secs,
                     uint64_t bytes)
{
    char time[32], rate[32];
    if (secs <= 0)
        return;
    scr_str_printf(
        line, "; %s in %s (%s/s)", what, scr_format_duration(secs, time, sizeof time),
        scr_format_size((uint64_t)((double)bytes / secs), rate, sizeof rate));
}

void scr_run_say_output(const struct scr_ctx *ctx, double now)
{
    const struct scr_output *out = &ctx->out;
    char size[32], room[32];
    struct scr_str line = SCR_STR_INIT;
    if (ctx->log.quiet || ctx->log.level < SCR_LOG_INFO)
        return;
    scr_str_printf(&line, "dataset %d %s complete in %.3f s: %s in %llu file%s",
                   out->id, out->name, now - out->start,
                   scr_format_size(out->bytes, size, sizeof size),
                   (unsigned long long)out->files, scr_plural((int64_t)out->files));
    add_step(&line, "written", out->write, out->bytes);
    add_step(&line, "encoded", out->encode, out->bytes);
    add_step(&line, "flushed", out->flush, out->bytes);
    if (!out->bypass)
        scr_str_printf(
            &line, "; cache has %s free",
            scr_format_size(scr_space_left(ctx, out->red), room, sizeof room));
    if (!line.bad)
        scr_log(&ctx->log, SCR_LOG_INFO, "%s", line.p);
    scr_str_free(&line);
}

/* A job that is halted computes no more. */
static int is_over(const struct scr_ctx *ctx)
{
    return ctx->halt && ctx->prm.halt_enabled;
}

void scr_run_begin(struct scr_ctx *ctx, double start)
{
    if (ctx->prm.log_enable) {
        char *nodes = scr_topo_nodes(ctx, ctx->node.rank == 0, ctx->nodes);
        if (ctx->world.rank == 0)
            note_start(ctx, nodes, scr_now_mono() - start);
        free(nodes);
    }
    if (ctx->world.rank == 0 && !ctx->prm.quiet && !is_over(ctx))
        say_start(ctx);
    ctx->times.run_start = ctx->times.last_ckpt = scr_now_mono();
    scr_compute_start(ctx);
}

void scr_run_end(struct scr_ctx *ctx, const char *note)
{
    double run = scr_now_mono() - ctx->times.run_start;
    SCR_EVENT(ctx, .event = "RUN_END", .secs = run, .note = note);
    if (ctx->world.rank == 0 && !ctx->prm.quiet &&
        (!is_over(ctx) || ctx->tally.ckpts > 0))
        say_end(ctx, run);
}

void scr_compute_start(struct scr_ctx *ctx)
{
    ctx->times.compute_start = scr_now_mono();
    if (!is_over(ctx))
        SCR_EVENT(ctx, .event = "COMPUTE_START");
}

void scr_compute_end(struct scr_ctx *ctx, double now)
{
    double secs = now - ctx->times.compute_start;
    ctx->times.compute += secs;
    SCR_EVENT(ctx, .event = "COMPUTE_END", .secs = secs);
}
