/* SPDX-License-Identifier: BSD-3-Clause */
/* scr report: the history of a prefix directory (ops/history.h) for people and for
 * programs. cmd_report.c reads the log. */
#ifndef SCR_TOOL_REPORT_H
#define SCR_TOOL_REPORT_H

#include "base/io.h"
#include "base/str.h"
#include "ops/history.h"
#include "tool.h"

struct report {
    const struct scr_history *h;
    const char *source; /* prefix directory or log */
    double now;
    size_t most; /* items of each list, the newest or evenly chosen; 0: all */
};

/* Items of the lists of a page: more than anyone reads, and a browser stays quick. */
enum { SCR_REPORT_MOST = 2000 };

/* The history of the log of a prefix directory, or of a file; the caller's to fini, in
 * any case. */
int scr_report_read(const struct scr_env *env, const struct scr_prefix *prefix,
                    const char *logfile, struct scr_history *h, struct scr_err *err);
/* The page of a prefix directory, into a file. */
int scr_report_page(struct scr_tool *t, const char *prefix, const char *path,
                    struct scr_err *err);

/* One JSON value, into an empty text, also safe inside a script element. Out of memory
 * out is bad. */
void scr_report_json(const struct report *r, struct scr_str *out);
/* That value, in pieces, as it may be as long as the log, and the page with it. Both
 * are a scr_writer (base/io.h) of a struct report. */
int scr_report_json_write(const struct scr_fd *to, const void *report,
                          struct scr_err *err);
int scr_report_html_write(const struct scr_fd *to, const void *report,
                          struct scr_err *err);
void scr_report_text(struct scr_tool *t, const struct report *r);

/* Sentences on odd lines of the log: the next one into buf, and *i, which begins as 0,
 * goes past it. 0: there are no more. */
int scr_report_note(const struct scr_history *h, size_t *i, char *buf, size_t n);

/* Names of enumerations, as JSON has them. */
extern const char *const scr_report_times[SCR_TIMES];
extern const char *const scr_report_levels[SCR_MOVE_LEVELS];
extern const char *const scr_report_costs[SCR_COSTS];
extern const char *const scr_report_ends[SCR_RUN_ENDS];

#endif
