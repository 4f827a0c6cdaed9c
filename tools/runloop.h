/* SPDX-License-Identifier: BSD-3-Clause */
/* Running a program under SCR: launched, watched, and launched again without the nodes
 * that were lost, until it has ended well, is to stop, or cannot continue (developer's
 * manual 11.3.1). Every decision is a line of the log. */
#ifndef SCR_TOOL_RUNLOOP_H
#define SCR_TOOL_RUNLOOP_H

#include "commands.h"
#include "job.h"
#include "rm/launch.h"
#include "watch.h"

struct runloop {
    struct scr_tool *t;
    struct job job;
    struct scr_launcher launcher;
    struct scr_commands commands;
    struct scr_strv line;       /* what of them this run starts */
    struct scr_downs down;      /* once down, always down */
    struct scr_hostlist good;   /* what is left */
    struct scr_hostlist others; /* job steps that ran before the first run */
    int knows_others;
    size_t need;
    int runs;         /* made so far */
    int64_t end_time; /* of the allocation, 0: not known */
    int status;       /* exit status of the last run; -1: none was made */
    int asked;        /* signals that asked to stop, so far */
    int hangs;        /* 1: the run has been found to hang */
    double kill_at; /* scr_now_mono() when the run is ended if it continues; 0: never */
    struct watch watch;
};

/* Runs args with the launcher until done, then saves what is in cache. *status: exit
 * status for the caller. Signals are blocked meanwhile, and taken as requests to
 * stop. */
int scr_runloop(struct scr_tool *t, const char *launcher, const char *const *args,
                int *status, struct scr_err *err);

#endif
