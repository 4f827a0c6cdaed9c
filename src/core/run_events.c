/* SPDX-License-Identifier: BSD-3-Clause */
/* The run in the event log. */
#include "core/run_events.h"

#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/str.h"
#include "base/units.h"
#include "core/ctx.h"
#include "core/event_note.h"
#include "core/topo.h"
#include "store/eventlog.h"

/* Of each file; some ten thousand events. A run with more has no number. */
enum { TAIL = 4 << 20 };

/* --- the run before --- */

struct last_run {
    int is_open;
    int64_t run;         /* its number; -1: not known */
    char *jobid, *nodes; /* NULL: not known */
};

static void keep_text(char **to, const char *text)
{
    free(*to);
    *to = scr_strdup(text);
}

/* Events of a run loop have a note. */
static int see_event(void *arg, const struct scr_event *e, struct scr_err *err)
{
    struct last_run *last = arg;
    (void)err;
    if (strcmp(e->event, "RUN_START") == 0 && e->note == NULL) {
        last->is_open = 1;
        last->run = e->run;
        keep_text(&last->jobid, e->jobid);
        keep_text(&last->nodes, e->nodelist);
    }
    if (strcmp(e->event, "RUN_END") == 0 &&
        (e->note == NULL || strcmp(e->note, "halt") == 0))
        last->is_open = 0;
    return SCR_OK;
}

/* Facts are left out that are unknown because the log cannot be read. */
static void look_back(const struct scr_ctx *ctx, struct last_run *last)
{
    struct scr_eventlog_reader r = { .event = see_event, .arg = last, .tail = TAIL };
    if (scr_eventlog_walk(&ctx->env, &ctx->prefix, &r, NULL) != SCR_OK ||
        (r.cut && last->run == 0))
        last->run = -1;
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
    char *lost = class != SCR_FAILED_PROCESS ? lost_nodes(last, nodes) : NULL;
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
    struct last_run last = { 0 };
    char *config = scr_cfg_text(ctx->cfg);
    look_back(ctx, &last);
    if (last.is_open)
        note_failure(ctx, &last, nodes);
    SCR_EVENT(ctx, .event = "RUN_START", .ranks = ctx->world.size, .nodes = ctx->nodes,
              .nodelist = nodes, .version = SCR_VERSION, .config = config, .secs = secs,
              .run = last.run + 1);
    free(config);
    free(last.jobid);
    free(last.nodes);
}

void scr_run_begin(struct scr_ctx *ctx, double start)
{
    if (ctx->prm.log_enable) {
        char *nodes = scr_topo_nodes(ctx, ctx->node.rank == 0, ctx->nodes);
        if (ctx->world.rank == 0)
            note_start(ctx, nodes, scr_now_mono() - start);
        free(nodes);
    }
    ctx->times.run_start = ctx->times.last_ckpt = scr_now_mono();
    scr_compute_start(ctx);
}

void scr_run_end(struct scr_ctx *ctx, const char *note)
{
    SCR_EVENT(ctx, .event = "RUN_END", .secs = scr_now_mono() - ctx->times.run_start,
              .note = note);
}

/* A job that is halted computes no more. */
void scr_compute_start(struct scr_ctx *ctx)
{
    ctx->times.compute_start = scr_now_mono();
    if (!ctx->halt || !ctx->prm.halt_enabled)
        SCR_EVENT(ctx, .event = "COMPUTE_START");
}

void scr_compute_end(struct scr_ctx *ctx, double now)
{
    double secs = now - ctx->times.compute_start;
    ctx->times.compute += secs;
    SCR_EVENT(ctx, .event = "COMPUTE_END", .secs = secs);
}
