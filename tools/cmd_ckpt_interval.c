/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_ckpt_interval: how often to checkpoint, by what the event log says of cost and
 * failures. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "base/interval.h"
#include "base/io.h"
#include "base/str.h"
#include "tool.h"

enum { OPT_STATS, OPT_MODEL, OPT_PERCENT, OPT_PREFIX, OPT_LOGFILE };
/* What SCR 3.1 prints, for either unit, while nothing is known. */
enum { UNKNOWN = 10, LOG_MAX = 1 << 30 };

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

/* "2014-01-14T11:26:06.000123+01:00"; the fraction does not matter here. */
static int parse_time(const char *text, double *seconds)
{
    struct tm tm = { 0 }, zone = { 0 };
    const char *end = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;
    if (end == NULL)
        return 0;
    end += strspn(end, ".0123456789");
    if (strptime(end, "%z", &zone) == NULL)
        return 0;
    *seconds = (double)(timegm(&tm) - zone.tm_gmtoff);
    return 1;
}

static void end_run(struct history *h)
{
    if (h->running)
        h->run_secs += h->last - h->begin;
    h->running = 0;
}

/* A run begins where the library says so; what a run script says of it has a note, and
 * ends it, too, if the program did not live to say that. Lost nodes are found, and
 * datasets scavenged, when the run is over. */
static void add_event(struct history *h, const char *event, double at, const json_t *e)
{
    int by_script = json_object_get(e, "note") != NULL;
    if (strcmp(event, "RUN_START") == 0) {
        end_run(h);
        if (by_script)
            return;
        h->runs++;
        h->running = 1;
        h->begin = h->last = at;
    }
    if (!h->running || strcmp(event, "NODE_FAIL") == 0 ||
        strncmp(event, "SCAVENGE_", 9) == 0)
        return;
    h->last = at > h->last ? at : h->last;
    if (strcmp(event, "RUN_END") == 0)
        end_run(h);
    if (strcmp(event, "CHECKPOINT_END") != 0)
        return;
    h->ckpts++;
    h->ckpt_secs += json_number_value(json_object_get(e, "secs"));
}

/* Lines that are no events are passed over (scr_event_log(5)). */
static void add_line(struct history *h, const char *line, size_t n)
{
    double at;
    json_t *e = json_loadb(line, n, 0, NULL);
    const char *event = json_string_value(json_object_get(e, "event"));
    if (event != NULL && parse_time(json_string_value(json_object_get(e, "time")), &at))
        add_event(h, event, at, e);
    json_decref(e);
}

static int read_log(struct scr_tool *t, const char *path, struct history *h,
                    struct scr_err *err)
{
    void *text = NULL;
    size_t n = 0;
    int rc = scr_file_load(t->env.sys, path, LOG_MAX, &text, &n, err);
    for (const char *line = text; rc == SCR_OK && line < (const char *)text + n;) {
        size_t left = (size_t)((const char *)text + n - line);
        const char *end = memchr(line, '\n', left);
        size_t len = end ? (size_t)(end - line) : left;
        add_line(h, line, len);
        line += len + 1;
    }
    end_run(h);
    free(text);
    return rc;
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

static int find_log(struct scr_tool *t, const struct scr_args *a, char **path,
                    struct scr_err *err)
{
    const char *given = a->opt[OPT_LOGFILE];
    TRY(given ? SCR_OK : scr_tool_prefix(t, a->opt[OPT_PREFIX], 0, err));
    *path = given ? scr_strdup(given) : scr_prefix_file(&t->prefix, "log");
    return *path ? SCR_OK : scr_no_memory(err);
}

static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    const char *model = a->opt[OPT_MODEL] ? a->opt[OPT_MODEL] : "daly";
    int young = strcmp(model, "young") == 0;
    char *path = NULL;
    struct history h = { 0 };
    if (!young && strcmp(model, "daly") != 0)
        return scr_tool_usage(
            t, err, "option --model: \"%s\" is neither daly nor young", model);
    int rc;
    TRY_OUT(find_log(t, a, &path, err));
    TRY_OUT(read_log(t, path, &h, err));
out:
    free(path);
    /* Before the first run neither the log nor the prefix directory has to exist. */
    if (rc == SCR_E_NOENT && a->opt[OPT_LOGFILE] == NULL) {
        scr_err_clear(err);
        rc = SCR_OK;
    }
    if (rc == SCR_OK)
        tell(t, a, &h, young);
    return rc;
}

const struct scr_cmd scr_cmd_ckpt_interval = {
    .name = "ckpt_interval",
    .usage = "[OPTION]...",
    .about =
        "Prints how many seconds there should be between two checkpoints, by what the\n"
        "event log says of earlier runs: how long checkpoints take, and after what "
        "time\n"
        "a run ends. Without a log of a checkpoint it prints 10.",
    .opts = opts,
    .run = run,
};
