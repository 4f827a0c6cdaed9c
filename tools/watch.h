/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a run still makes datasets, by what the library records of them. */
#ifndef SCR_TOOL_WATCH_H
#define SCR_TOOL_WATCH_H

#include "job.h"

struct watch {
    double timeout, timeout_pfs; /* seconds; 0: never too long */
    int newest;                  /* dataset seen last, with what is known of it */
    double since;                /* scr_now_mono() of its last change */
};

/* The clock starts now. */
void scr_watch_start(const struct scr_params *prm, struct watch *w);
/* 1: nothing has changed for too long; *limit is the time that was allowed. A state
 * that cannot be read counts as no change. */
int scr_watch_hangs(const struct scr_tool *t, struct watch *w, double *limit);

#endif
