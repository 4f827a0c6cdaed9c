/* SPDX-License-Identifier: BSD-3-Clause */
/* The event log of a prefix directory, <prefix>/.scr/log, and syslog: jobs and commands
 * write to it. */
#ifndef SCR_STORE_EVENTLOG_H
#define SCR_STORE_EVENTLOG_H

#include "fmt/event.h"
#include "store/prefix.h"

/* Where events go: SCR_LOG_TXT_ENABLE and the parameters SCR_LOG_SYSLOG_*, the last two
 * by the numbers of their values in params.def. */
struct scr_eventlog_to {
    int text, syslog;
    const char *prefix;
    int facility, level;
};

/* Writes one event: host and event are the caller's, and so are the fields that are
 * left out (see SCR_EVENT_INIT); without a time it is of now. To the log it is appended
 * with one write. */
int scr_eventlog_write(const struct scr_env *env, const struct scr_prefix *p,
                       const struct scr_event *e, const struct scr_eventlog_to *to,
                       struct scr_err *err);

/* What a reader is given: each event in the order of the files, with texts that live
 * until the call returns. A code other than SCR_OK ends the walk, which returns it. */
struct scr_eventlog_reader {
    int (*event)(void *arg, const struct scr_event *e, struct scr_err *err);
    void *arg;
    uint64_t damaged; /* lines passed over because they are no events, added up */
};

/* Walks over log.1, the older part if there is one, and log, in constant memory; a log
 * that does not exist has no events. While it is written to, and rotated, every event
 * that was in it at the call is given once. */
int scr_eventlog_walk(const struct scr_env *env, const struct scr_prefix *p,
                      struct scr_eventlog_reader *r, struct scr_err *err);
/* The same over one file, which has to exist (SCR_E_NOENT). */
int scr_eventlog_walk_file(const struct scr_env *env, const char *path,
                           struct scr_eventlog_reader *r, struct scr_err *err);

#endif
