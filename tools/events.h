/* SPDX-License-Identifier: BSD-3-Clause */
/* Events that commands write to the event log of t->prefix, if SCR_LOG_ENABLE and its
 * relatives are set. */
#ifndef SCR_TOOL_EVENTS_H
#define SCR_TOOL_EVENTS_H

#include "rm/rm.h"
#include "store/eventlog.h"
#include "tool.h"

/* 1: events are recorded somewhere. */
int scr_tool_logs(const struct scr_params *prm);

/* Records e; without a host it is of this one, without a job of that of prm, without a
 * time of now. Nothing if logging is off. */
int scr_tool_event(const struct scr_tool *t, const struct scr_params *prm,
                   const struct scr_event *e, struct scr_err *err);
/* The same in addition to the work of a command: a log that cannot be written stops
 * nothing, it is a warning, once. */
void scr_tool_event_try(struct scr_tool *t, const struct scr_params *prm,
                        const struct scr_event *e);
/* NODE_FAIL for each of down from number `from` on, "<node>: <reason>" as its note;
 * secs: how long the run took, < 0: not known. */
void scr_tool_event_down(struct scr_tool *t, const struct scr_params *prm,
                         const struct scr_downs *down, size_t from, int64_t secs);

#endif
