/* SPDX-License-Identifier: BSD-3-Clause */
/* The event log of a prefix directory, <prefix>/.scr/log, and syslog: jobs and commands
 * write to it. */
#ifndef SCR_STORE_EVENTLOG_H
#define SCR_STORE_EVENTLOG_H

#include "cfg/cfg.h"
#include "fmt/event.h"
#include "store/prefix.h"

/* Where events go, as the parameters SCR_LOG_* say; facility and level are numbers of
 * their values in params.def. */
struct scr_eventlog_to {
    int text, syslog;
    uint64_t size;    /* bytes of a log that is full; 0: none is */
    const char *word; /* first of a message to syslog */
    int facility, level;
    const char *user;
};
struct scr_eventlog_to scr_eventlog_to(const struct scr_params *prm);

/* Writes one event: host and event are the caller's, and so are the fields that are
 * left out (see SCR_EVENT_INIT); without a time it is of now. To the log it is appended
 * with one write. A log that is full is renamed to log.1 first and replaces it;
 * any number of processes may do that at once, and no event that the two files have
 * room for is lost. */
int scr_eventlog_write(const struct scr_env *env, const struct scr_prefix *p,
                       const struct scr_event *e, const struct scr_eventlog_to *to,
                       struct scr_err *err);

/* What a reader is given: each event in the order of the files, with texts that live
 * until the call returns. A code other than SCR_OK ends the walk, which returns it. */
struct scr_eventlog_reader {
    int (*event)(void *arg, const struct scr_event *e, struct scr_err *err);
    void *arg;
    uint64_t tail; /* of each file the last bytes only, from a whole line on; 0: all */
    uint64_t damaged; /* lines passed over because they are no events, added up */
    int cut;          /* there was more than tail */
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
