/* SPDX-License-Identifier: BSD-3-Clause */
/* The history as a page: tools/report/page.html with page.css and page.js in it, which
 * the build makes bytes of, around the JSON of the history. */
#include "report.h"

#include <time.h>

#include "base/io.h"
#include "report_page.h"
#include "store/eventlog.h"

static int take(void *arg, const struct scr_event *e, struct scr_err *err)
{
    return scr_history_add(arg, e, err);
}

int scr_report_read(const struct scr_env *env, const struct scr_prefix *prefix,
                    const char *logfile, struct scr_history *h, struct scr_err *err)
{
    struct scr_eventlog_reader reader = { .event = take, .arg = h };
    scr_history_init(h);
    TRY(logfile ? scr_eventlog_walk_file(env, logfile, &reader, err)
                : scr_eventlog_walk(env, prefix, &reader, err));
    h->doubts.damaged = reader.damaged;
    return scr_history_finish(h, err);
}

int scr_report_html_write(const struct scr_fd *to, const void *report,
                          struct scr_err *err)
{
    struct scr_str json = SCR_STR_INIT;
    scr_report_json(report, &json);
    int rc;
    TRY_OUT(json.bad ? scr_no_memory(err) : SCR_OK);
    TRY_OUT(scr_write_all(to, scr_report_page_head, sizeof scr_report_page_head, err));
    TRY_OUT(scr_write_all(to, json.p, json.len, err));
    TRY_OUT(scr_write_all(to, scr_report_page_tail, sizeof scr_report_page_tail, err));
out:
    scr_str_free(&json);
    return rc;
}

int scr_report_page(struct scr_tool *t, const char *prefix, const char *path,
                    struct scr_err *err)
{
    struct scr_history h;
    TRY(scr_tool_prefix(t, prefix, 0, err));
    int rc = scr_report_read(&t->env, &t->prefix, NULL, &h, err);
    const struct report r = {
        .h = &h, .source = prefix, .now = (double)time(NULL), .most = SCR_REPORT_MOST
    };
    if (rc == SCR_OK)
        rc = scr_file_replace_by(t->env.sys, path, scr_report_html_write, &r,
                                 (struct scr_replace){ 0644, SCR_VOLATILE }, err);
    scr_history_fini(&h);
    return rc;
}
