/* SPDX-License-Identifier: BSD-3-Clause */
/* The event log of a prefix directory, <prefix>/.scr/log, and syslog: jobs and commands
 * write to it. */
#ifndef SCR_STORE_EVENTLOG_H
#define SCR_STORE_EVENTLOG_H

#include "fmt/event.h"
#include "store/prefix.h"

/* Writes one event: host and event are the caller's, and so are the fields that are
 * left out (see SCR_EVENT_INIT); without a time it is of now. text: to the log,
 * appended with one write (SCR_LOG_TXT_ENABLE); to_syslog: there too
 * (SCR_LOG_SYSLOG_ENABLE). */
int scr_eventlog_write(const struct scr_env *env, const struct scr_prefix *p,
                       const struct scr_event *e, int text, int to_syslog,
                       struct scr_err *err);

#endif
