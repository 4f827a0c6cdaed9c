/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_report: what the event log says of all runs of a prefix directory, as a page, as
 * text or as JSON. */
#include <string.h>
#include <time.h>

#include "report.h"

enum { OPT_PREFIX, OPT_LOGFILE, OPT_OUTPUT, OPT_TEXT, OPT_JSON };

static const struct scr_opt opts[] = {
    [OPT_PREFIX] = { "prefix", 'p', "DIR", "prefix directory of the jobs" },
    [OPT_LOGFILE] = { "logfile", 'l', "FILE",
                      "event log (default: that of the prefix)" },
    [OPT_OUTPUT] = { "output", 'o', "FILE",
                     "write to FILE, - for stdout (default: scr_report.html)" },
    [OPT_TEXT] = { "text", 't', NULL, "print text for a terminal" },
    [OPT_JSON] = { "json", 'j', NULL, "print JSON" },
    { 0 },
};

/* To a file, or to stdout. */
static int report(struct scr_tool *t, const struct scr_args *a, const struct report *r,
                  struct scr_err *err)
{
    int is_json = a->opt[OPT_JSON] != NULL;
    scr_writer writer = is_json ? scr_report_json_write : scr_report_html_write;
    const char *path = a->opt[OPT_OUTPUT] ? a->opt[OPT_OUTPUT]
                       : is_json          ? "-"
                                          : "scr_report.html";
    if (a->opt[OPT_TEXT] != NULL) {
        scr_report_text(t, r);
        return SCR_OK;
    }
    if (strcmp(path, "-") == 0)
        return writer(SCR_FD(t->env.sys, fileno(t->out), "stdout"), r, err);
    TRY(scr_file_replace_by(t->env.sys, path, writer, r,
                            (struct scr_replace){ 0644, SCR_VOLATILE }, err));
    scr_tool_print_line(t, "%s", path);
    return SCR_OK;
}

static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    const char *logfile = a->opt[OPT_LOGFILE];
    struct scr_history h;
    TRY(scr_tool_exclusive(t, a, err, (const int[]){ OPT_TEXT, OPT_JSON, -1 }));
    TRY(scr_tool_exclusive(t, a, err, (const int[]){ OPT_TEXT, OPT_OUTPUT, -1 }));
    TRY(scr_tool_exclusive(t, a, err, (const int[]){ OPT_PREFIX, OPT_LOGFILE, -1 }));
    TRY(logfile ? SCR_OK : scr_tool_prefix(t, a->opt[OPT_PREFIX], 0, err));
    if (logfile == NULL && a->opt[OPT_JSON] == NULL)
        scr_tool_note_no_data(t);
    int rc = scr_report_read(&t->env, logfile ? NULL : &t->prefix, logfile, &h, err);
    const struct report r = { .h = &h,
                              .source = logfile ? logfile : t->prefix.path,
                              .now = (double)time(NULL),
                              .most = a->opt[OPT_JSON] ? 0 : SCR_REPORT_MOST };
    if (rc == SCR_OK)
        rc = report(t, a, &r, err);
    scr_history_fini(&h);
    return rc;
}

const struct scr_cmd scr_cmd_report = {
    .usage = "[OPTION]...",
    .about =
        "Reports on all runs of a prefix directory, by their event log: how much of\n"
        "the time was useful, where the rest went, checkpoints, flushes and failures,\n"
        "and how often to checkpoint. The result is one HTML file that needs no other\n"
        "and no network.",
    .opts = opts,
    .run = run,
};
