/* SPDX-License-Identifier: BSD-3-Clause */
/* A request to stop after the next checkpoint that holds for the runs of one scr_srun:
 * CheckpointsLeft of the halt file is 1 for that time, and CheckpointsLeftBefore, while
 * it exists, has its previous value (0: not set). t->prefix is open. */
#ifndef SCR_TOOL_STOP_H
#define SCR_TOOL_STOP_H

#include "tool.h"

/* Changes nothing if the program is to stop then anyway. */
int scr_stop_ask(const struct scr_tool *t, struct scr_err *err);
/* Undoes that, if there is such a request. Checkpoints made meanwhile count. */
int scr_stop_take_back(const struct scr_tool *t, struct scr_err *err);
/* A user sets the condition again, in the hash of the halt file: it is to stay. */
void scr_stop_settle(scr_hash *h);

#endif
