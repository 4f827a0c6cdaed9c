/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_log_event, scr_log_transfer: an event of a script in the event log of a prefix
 * directory. */
#include <stddef.h>
#include <string.h>

#include "args.h"
#include "base/units.h"
#include "events.h"
#include "reach.h"

enum {
    OPT_TYPE,
    OPT_NOTE,
    OPT_DSET,
    OPT_NAME,
    OPT_START,
    OPT_SECS,
    OPT_FROM,
    OPT_TO,
    OPT_BYTES,
    OPT_FILES,
    OPT_RANKS,
    OPT_NODES,
    OPT_NODELIST,
    OPT_RUN,
    OPT_CLASS,
    OPT_JOBID,
    OPT_PREFIX,
    OPT_USER,
    OPT_JOBNAME,
    OPT_JOBSTART
};

static const struct scr_opt opts[] = {
    [OPT_TYPE] = { "type", 'T', "EVENT", "what happened, for example RUN_START" },
    [OPT_NOTE] = { "note", 'N', "TEXT", "more about it" },
    [OPT_DSET] = { "dset", 'D', "ID", "the dataset it is about" },
    [OPT_NAME] = { "name", 'n', "NAME", "the name of the dataset" },
    [OPT_START] = { "start", 'S', "SECONDS",
                    "when it began, since 1970 (default: now)" },
    [OPT_SECS] = { "secs", 'L', "SECONDS", "how long it took" },
    [OPT_FROM] = { "from", 'X', "PATH", "where files were copied from" },
    [OPT_TO] = { "to", 'Y', "PATH", "where they were copied to" },
    [OPT_BYTES] = { "bytes", 'B', "N", "how many bytes" },
    [OPT_FILES] = { "files", 'F', "N", "how many files" },
    [OPT_RANKS] = { "ranks", 0, "N", "processes of the run" },
    [OPT_NODES] = { "nodes", 0, "N", "nodes of the run" },
    [OPT_NODELIST] = { "nodelist", 0, "LIST", "nodes it is about, n[1-4]" },
    [OPT_RUN] = { "run", 0, "N", "number of the run in its prefix directory" },
    [OPT_CLASS] = { "class", 0, "CLASS", "of a failure: process, node or beyond" },
    [OPT_JOBID] = { "jobid", 'i', "ID", "the job (default: this one)" },
    [OPT_PREFIX] = { "prefix", 'p', "DIR", "prefix directory of the job" },
    /* Older scripts give them; the log has no such thing. */
    [OPT_USER] = { "user", 'u', "NAME", NULL },
    [OPT_JOBNAME] = { "jobname", 'j', "NAME", NULL },
    [OPT_JOBSTART] = { "jobstart", 's', "SECONDS", NULL },
    { 0 },
};

/* Copies are recorded when they are done, by older scripts without the result. */
static const struct {
    const char *type, *event;
} transfers[] = {
    { "FETCH", "FETCH_SUCCESS" },
    { "FLUSH", "FLUSH_SUCCESS" },
    { "ASYNC_FLUSH", "ASYNC_FLUSH_SUCCESS" },
    { "SCAVENGE", "SCAVENGE_END" },
    { "DRAIN", "SCAVENGE_END" },
};

static int take_type(struct scr_tool *t, const char *type, struct scr_event *e,
                     struct scr_err *err)
{
    if (type == NULL)
        return scr_tool_usage(t, err, "what happened? for example --type RUN_START");
    e->event = type;
    for (size_t i = 0; i < sizeof transfers / sizeof transfers[0]; i++)
        if (strcmp(type, transfers[i].type) == 0)
            e->event = transfers[i].event;
    if (scr_event_known(e->event))
        return SCR_OK;
    const char *near = scr_args_nearest(type, scr_event_names);
    return scr_tool_usage(t, err, "option --type: no event is called \"%s\"%s%s%s",
                          type, near ? " (did you mean " : "", near ? near : "",
                          near ? "?)" : "");
}

static void take_texts(const struct scr_args *a, struct scr_event *e)
{
    e->note = a->opt[OPT_NOTE];
    e->name = a->opt[OPT_NAME];
    e->from = a->opt[OPT_FROM];
    e->to = a->opt[OPT_TO];
    e->jobid = a->opt[OPT_JOBID];
    e->nodelist = a->opt[OPT_NODELIST];
    e->class = a->opt[OPT_CLASS];
}

static int take_numbers(struct scr_tool *t, const struct scr_args *a,
                        struct scr_event *e, struct scr_err *err)
{
    static const struct {
        int row;
        size_t at; /* in struct scr_event */
        int64_t lo, hi;
    } rows[] = {
        { OPT_DSET, offsetof(struct scr_event, dset), 1, INT32_MAX },
        { OPT_BYTES, offsetof(struct scr_event, bytes), 0, INT64_MAX },
        { OPT_FILES, offsetof(struct scr_event, files), 0, INT64_MAX },
        { OPT_RANKS, offsetof(struct scr_event, ranks), 1, INT32_MAX },
        { OPT_NODES, offsetof(struct scr_event, nodes), 1, INT32_MAX },
        { OPT_RUN, offsetof(struct scr_event, run), 1, INT64_MAX },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        TRY(scr_tool_int(t, a, rows[i].row, SCR_BETWEEN(rows[i].lo, rows[i].hi),
                         (int64_t *)(void *)((char *)e + rows[i].at), err));
    return SCR_OK;
}

static int take_seconds(struct scr_tool *t, const struct scr_args *a, int row,
                        double *seconds, struct scr_err *err)
{
    static const double most = 253402300799; /* the last second of the year 9999 */
    const char *text = a->opt[row];
    if (text == NULL || (scr_parse_seconds(text, seconds) && *seconds <= most))
        return SCR_OK;
    return scr_tool_usage(t, err, "option --%s: \"%s\" is no number of seconds",
                          opts[row].name, text);
}

/* An event with a duration is recorded at its end, as the library does. stamp: at least
 * 48 bytes, for the text of the time. */
static int take_times(struct scr_tool *t, const struct scr_args *a, struct scr_event *e,
                      char *stamp, size_t n, struct scr_err *err)
{
    double start = -1;
    TRY(take_seconds(t, a, OPT_START, &start, err));
    TRY(take_seconds(t, a, OPT_SECS, &e->secs, err));
    if (start < 0)
        return SCR_OK;
    double at = start + (e->secs > 0 ? e->secs : 0);
    struct timespec when = { .tv_sec = (time_t)at };
    when.tv_nsec = (long)((at - (double)when.tv_sec) * 1e9);
    e->time = scr_format_iso(&when, stamp, n);
    return SCR_OK;
}

/* The prefix that is written to is the one whose settings count. */
static int record(struct scr_tool *t, const char *prefix, const struct scr_event *e,
                  struct scr_err *err)
{
    struct scr_params prm;
    TRY(scr_tool_params(t, prefix, &prm, err));
    if (!scr_tool_logs(&prm)) {
        scr_log(t->env.log, SCR_LOG_NOTE,
                "nothing is recorded: logging is off (SCR_LOG_ENABLE)");
        return SCR_OK;
    }
    TRY(scr_tool_prefix(t, prefix ? prefix : prm.prefix, 1, err));
    return scr_tool_event(t, &prm, e, err);
}

static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    struct scr_event e = SCR_EVENT_INIT;
    char stamp[48];
    take_texts(a, &e);
    TRY(take_type(t, a->opt[OPT_TYPE], &e, err));
    TRY(take_numbers(t, a, &e, err));
    TRY(take_times(t, a, &e, stamp, sizeof stamp, err));
    return record(t, a->opt[OPT_PREFIX], &e, err);
}

const struct scr_cmd scr_cmd_log_event = {
    .usage = "--type EVENT [OPTION]...",
    .about =
        "Appends a line to the event log of a prefix directory, .scr/log, and to\n"
        "syslog, as SCR_LOG_ENABLE, SCR_LOG_TXT_ENABLE and SCR_LOG_SYSLOG_ENABLE say.",
    .opts = opts,
    .notes =
        "EVENT is one of those of scr_event_log(5). FETCH, FLUSH, ASYNC_FLUSH and\n"
        "SCAVENGE stand for a copy that succeeded.",
    .run = run,
};
