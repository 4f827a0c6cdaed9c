/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures for scr plan from the runs of a prefix directory: its event log, and the
 * statistics of the autopilot. */
#ifndef SCR_TOOL_PLAN_RUNS_H
#define SCR_TOOL_PLAN_RUNS_H

#include "tool.h"

/* 0: not known. Bandwidths are bytes a second, times seconds. */
struct scr_plan_runs {
    double nodes, ranks, bytes; /* of the last run; of a rank's checkpoint, the mean */
    double writing;             /* by the programs on a node */
    double cache, network;      /* bandwidths of a node that explain the times */
    double files;               /* of flushes, all nodes */
    double mtbf;                /* of a node, from the failures that were counted */
};
int scr_plan_runs_read(struct scr_tool *t, const char *prefix, struct scr_plan_runs *r,
                       struct scr_err *err);

#endif
