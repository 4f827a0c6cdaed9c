/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures for scr plan from the runs of a prefix directory. */
#include "plan_runs.h"

#include <math.h>
#include <string.h>

#include "fmt/autopilot.h"
#include "store/eventlog.h"

/* Sums over the checkpoints of runs with as many ranks and nodes as the last. */
struct sums {
    double nodes, ranks;
    double ckpts, bytes;
    double cached, write;   /* write: without the encoding */
    double encoded, encode; /* bytes sent for redundancy, seconds */
    double flushed, flush;
    double encoding; /* of the checkpoint being written */
};

static void begin_run(struct sums *s, const struct scr_event *e)
{
    double nodes = (double)e->nodes, ranks = (double)e->ranks;
    if (nodes <= 0 || ranks <= 0 || (nodes == s->nodes && ranks == s->ranks))
        return;
    *s = (struct sums){ .nodes = nodes, .ranks = ranks };
}

/* By a flush, or by a program that writes past the cache. */
static int to_prefix(const struct scr_event *e)
{
    return strcmp(e->event, "FLUSH_SUCCESS") == 0 ||
           strcmp(e->event, "ASYNC_FLUSH_SUCCESS") == 0 ||
           (strcmp(e->event, "CHECKPOINT_END") == 0 && e->to != NULL &&
            strcmp(e->to, "prefix") == 0);
}

static int add_event(void *arg, const struct scr_event *e, struct scr_err *err)
{
    struct sums *s = arg;
    double bytes = (double)e->bytes;
    (void)err;
    if (strcmp(e->event, "RUN_START") == 0 && scr_event_by(e) == SCR_BY_LIBRARY)
        begin_run(s, e);
    if (e->secs < 0 || bytes <= 0)
        return SCR_OK;
    if (strcmp(e->event, "ENCODE") == 0) {
        s->encoding = e->secs;
        if (e->to != NULL && strcmp(e->to, "SINGLE") != 0) {
            s->encoded +=
                bytes; /* all but RS send each byte once, that a little more */
            s->encode += e->secs;
        }
    } else if (strcmp(e->event, "CHECKPOINT_END") == 0) {
        s->ckpts++;
        s->bytes += bytes;
    }
    if (to_prefix(e)) {
        s->flushed += bytes;
        s->flush += e->secs;
    } else if (strcmp(e->event, "CHECKPOINT_END") == 0) {
        s->cached += bytes;
        s->write += e->secs - s->encoding;
        s->encoding = 0;
    }
    return SCR_OK;
}

/* Encoding reads what was written at the bandwidth of the cache, then sends it. Data
 * are not read more slowly than the program wrote them; where that is slower than the
 * cache, the log does not divide the time, and reading gets half of it. */
static void take_sums(const struct sums *s, struct scr_plan_runs *r)
{
    r->nodes = s->nodes;
    r->ranks = s->ranks;
    if (s->nodes <= 0)
        return;
    r->bytes = s->ckpts > 0 ? s->bytes / s->ckpts / s->ranks : 0;
    r->writing = s->write > 0 ? s->cached / s->write / s->nodes : 0;
    double reading = r->writing > 0 ? s->encoded / s->nodes / r->writing : 0;
    reading = fmin(reading, s->encode / 2);
    r->cache = reading > 0 ? s->encoded / reading / s->nodes : r->writing;
    r->network = reading > 0 ? s->encoded / (s->encode - reading) / s->nodes : 0;
    r->files = s->flush > 0 ? s->flushed / s->flush : 0;
}

static int take_failures(struct scr_tool *t, const char *prefix,
                         struct scr_plan_runs *r, struct scr_err *err)
{
    struct scr_params prm;
    struct scr_autopilot a;
    struct scr_advice advice;
    scr_hash *h = scr_hash_new();
    int rc;
    TRY_OUT(scr_tool_cfg(t, prefix, err));
    TRY_OUT(scr_cfg_params(t->cfg, &prm, err));
    TRY_OUT(scr_prefix_state_read(&t->env, &t->prefix, SCR_AUTOPILOT_FILE, h, err));
    TRY_OUT(scr_autopilot_get(h, &a, err));
    const struct scr_autopilot_job job = { .nodes = (int)r->nodes, .mtbf = prm.mtbf };
    scr_autopilot_advise(&a, &job, &advice);
    if (a.uptime > 0 && r->nodes > 0)
        r->mtbf = advice.mean * r->nodes;
out:
    scr_hash_delete(h);
    return rc;
}

int scr_plan_runs_read(struct scr_tool *t, const char *prefix, struct scr_plan_runs *r,
                       struct scr_err *err)
{
    struct sums s = { 0 };
    struct scr_eventlog_reader reader = { .event = add_event, .arg = &s };
    *r = (struct scr_plan_runs){ 0 };
    TRY(scr_tool_prefix(t, prefix, 0, err));
    TRY(scr_eventlog_walk(&t->env, &t->prefix, &reader, err));
    take_sums(&s, r);
    return take_failures(t, prefix, r, err);
}
