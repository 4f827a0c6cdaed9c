/* SPDX-License-Identifier: BSD-3-Clause */
/* Output that this job had in cache only and that this start could not restore. */
#ifndef SCR_CORE_LOST_H
#define SCR_CORE_LOST_H

struct scr_ctx;

/* Output that this job had in cache only and that this start could not restore
 * (lost.c). */
struct scr_lost {
    int may;   /* the flush file had output at the start that may be */
    int open;  /* what the run restarts from is not settled: the flush file keeps its
                  entries of output */
    int found; /* on rank 0: it has entries that may be of lost output */
    int below; /* the run goes back to a checkpoint with a smaller id, 0: it does not */
    int waits; /* it cannot be settled before the program asks, or writes a checkpoint
                */
};

/* Reports the output that no rank can restore any more, and finds out whether the run
 * goes back for it. */
void scr_lost_output_look_all(struct scr_ctx *ctx);
/* 1: a checkpoint before it is loaded and is CURRENT. Else nothing has changed: there
 * is none to go back to, or it cannot be had, which is reported. */
int scr_lost_output_go_back_all(struct scr_ctx *ctx);
/* The restart is chosen: removes the lost output from the flush file. */
void scr_lost_output_settle_all(struct scr_ctx *ctx);

#endif
