/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_ckpt_interval: how often to checkpoint, by what the event log says of cost and
 * failures. */
#include <math.h>
#include <string.h>

#include "base/interval.h"
#include "store/eventlog.h"
#include "tool.h"

enum { OPT_STATS, OPT_MODEL, OPT_PERCENT, OPT_PREFIX, OPT_LOGFILE };
/* What SCR 3.1 prints, for either unit, while nothing is known. */
enum { UNKNOWN = 10 };

static const struct scr_opt opts[] = {
    [OPT_STATS] = { "stats", 's', NULL, "print how the answer is computed" },
    [OPT_MODEL] = { "model", 'm', "NAME", "daly (the default) or young" },
    [OPT_PERCENT] = { "percent", 0, NULL,
                      "print what share of the time checkpoints then take" },
    [OPT_PREFIX] = { "prefix", 'p', "DIR", "prefix directory of the job" },
    [OPT_LOGFILE] = { "logfile", 'l', "FILE",
                      "event log (default: that of the prefix)" },
    { 0 },
};

struct history {
    int runs, ckpts;
    double run_secs, ckpt_secs;
    int running;        /* the last run that began has not ended yet */
    double begin, last; /* its first and its newest event, seconds since 1970 */
};

/* --- what the log says --- */

static void end_run(struct history *h)
{
    if (h->running)
        h->run_secs += h->last - h->begin;
    h->running = 0;
}

/* A run begins where the library says so; what the run loop says of it ends it, too, if
 * the program did not live to say that, as does the START of the next. A checkpoint
 * with a note has failed. */
static int add_event(void *arg, const struct scr_event *e, struct scr_err *err)
{
    struct history *h = arg;
    (void)err;
    int begins = strcmp(e->event, "RUN_START") == 0;
    if (begins || strcmp(e->event, "START") == 0)
        end_run(h);
    if (begins && scr_event_by(e) == SCR_BY_LIBRARY) {
        h->runs++;
        h->running = 1;
        h->begin = h->last = e->at;
    }
    if (!h->running || scr_event_by(e) == SCR_BY_OTHER)
        return SCR_OK;
    h->last = e->at > h->last ? e->at : h->last;
    if (strcmp(e->event, "RUN_END") == 0)
        end_run(h);
    if (strcmp(e->event, "CHECKPOINT_END") != 0 || e->note != NULL)
        return SCR_OK;
    h->ckpts++;
    h->ckpt_secs += e->secs > 0 ? e->secs : 0;
    return SCR_OK;
}

/* Before the first run neither the log nor the prefix directory has to exist. */
static int read_log(struct scr_tool *t, const struct scr_args *a, struct history *h,
                    struct scr_err *err)
{
    struct scr_eventlog_reader r = { .event = add_event, .arg = h };
    const char *file = a->opt[OPT_LOGFILE];
    int rc;
    if (file != NULL) {
        rc = scr_eventlog_walk_file(&t->env, file, &r, err);
    } else {
        rc = scr_tool_prefix(t, a->opt[OPT_PREFIX], 0, err);
        rc = rc == SCR_OK ? scr_eventlog_walk(&t->env, &t->prefix, &r, err) : rc;
    }
    end_run(h);
    if (rc != SCR_E_NOENT || file != NULL)
        return rc;
    scr_err_clear(err);
    return SCR_OK;
}

/* --- the answer --- */

static void tell(struct scr_tool *t, const struct scr_args *a, const struct history *h,
                 int young)
{
    int known = h->runs > 0 && h->run_secs > 0 && h->ckpt_secs > 0;
    double mean = known ? h->run_secs / h->runs : 0;
    double cost = known ? h->ckpt_secs / h->ckpts : 0;
    double secs = !known  ? UNKNOWN
                  : young ? scr_interval_young(cost, mean)
                          : scr_interval_daly(cost, mean);
    double percent = known ? 100 * cost / secs : UNKNOWN;
    if (a->opt[OPT_STATS] != NULL)
        scr_tool_print(t,
                       "runs: %d, %.1f s in all, %.1f s on average\n"
                       "checkpoints: %d, %.3f s in all, %.3f s on average\n"
                       "%s: one every %.0f s, %.2f %% of the time\n",
                       h->runs, h->run_secs, mean, h->ckpts, h->ckpt_secs, cost,
                       !known  ? "not known yet"
                       : young ? "young"
                               : "daly",
                       secs, percent);
    else if (a->opt[OPT_PERCENT] != NULL)
        scr_tool_print(t, "%.2f\n", percent);
    else /* 0 would be no interval */
        scr_tool_print(t, "%.0f\n", secs < 1 ? 1 : floor(secs));
}

static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    const char *model = a->opt[OPT_MODEL] ? a->opt[OPT_MODEL] : "daly";
    int young = strcmp(model, "young") == 0;
    struct history h = { 0 };
    if (!young && strcmp(model, "daly") != 0)
        return scr_tool_usage(
            t, err, "option --model: \"%s\" is neither daly nor young", model);
    TRY(read_log(t, a, &h, err));
    tell(t, a, &h, young);
    return SCR_OK;
}

const struct scr_cmd scr_cmd_ckpt_interval = {
    .usage = "[OPTION]...",
    .about =
        "Prints how many seconds there should be between two checkpoints, by what the\n"
        "event log says of earlier runs: how long checkpoints take, and after what "
        "time\n"
        "a run ends. Without a log of a checkpoint it prints 10.",
    .opts = opts,
    .run = run,
};
