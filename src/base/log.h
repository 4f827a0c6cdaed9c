/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages to people, one line each, on stderr: "SCR: error: …". The caller
 * that makes the log decides which rank prints: the others get one with quiet set. */
#ifndef SCR_BASE_LOG_H
#define SCR_BASE_LOG_H

#include "base/err.h"
#include <stdio.h>

enum scr_level {
    SCR_LOG_ERROR = -2, /* something the user asked for failed */
    SCR_LOG_WARN = -1,  /* it continues, but not as asked */
    SCR_LOG_NOTE = 0,   /* main events: restarts, rebuilds, halts */
    SCR_LOG_INFO = 1,   /* SCR_DEBUG=1 */
    SCR_LOG_DEBUG = 2   /* SCR_DEBUG=2 */
};

struct scr_log {
    FILE *out;       /* NULL means stderr */
    const char *who; /* "SCR" in the library, the command's name in tools */
    int level;       /* highest level printed: 0 … 2 */
    int quiet;       /* 1: print nothing (every rank but the speaking one) */
    int has_time;    /* 1: lines begin with the time, as in the event log */
};

/* Prints one line if log is not NULL, not quiet and level <= log->level. Newlines and
 * other control characters in the text are replaced by '?', so that one message is one
 * line. Written with a single fwrite so that lines of several processes do not mix. */
void scr_log(const struct scr_log *log, int level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* has_time by SCR_LOG_TIME: 0, 1, or -1, which is 1 unless stderr is a terminal. */
int scr_log_time(int set);

/* scr_log(log, SCR_LOG_ERROR, "<text>") of a filled error; nothing for an empty one. */
void scr_log_err(const struct scr_log *log, const struct scr_err *err);

#endif
