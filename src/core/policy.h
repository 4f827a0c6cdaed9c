/* SPDX-License-Identifier: BSD-3-Clause */
/* When to write a checkpoint, and when to stop. */
#ifndef SCR_CORE_POLICY_H
#define SCR_CORE_POLICY_H

#include "base/err.h"

struct scr_ctx;

/* Time spent, for SCR_Need_checkpoint. Only rank 0's figures are used. */
struct scr_times {
    double run_start;     /* when SCR_Init returned, scr_now_mono() */
    double compute_start; /* since when the program computes, by that clock */
    double compute, ckpt; /* seconds so far */
    int ckpts;            /* checkpoints in that time */
    double flush;         /* the same of flushes of checkpoints, */
    int flushes;          /* and how many */
    double blocked;       /* part of ckpt in which flushes were begun, or waited for */
    double last_flush;    /* since when the newest flushed checkpoint exists; 0: none
                             was flushed in this run */
    double last_ckpt;     /* end of the last checkpoint */
    int failed;           /* attempts at one that failed since */
    double last_try;      /* end of the last of these */
    int need_calls;       /* calls of SCR_Need_checkpoint */
};

int scr_need_checkpoint_all(struct scr_ctx *ctx, int *flag, struct scr_err *err);
/* The answer by the parameters and this rank's clock, or by the autopilot. Local, of
 * rank 0. */
int scr_is_time_for_ckpt(struct scr_ctx *ctx);
/* 1 on all ranks if the checkpoint that is complete now must be flushed. */
int scr_is_flush_due_all(struct scr_ctx *ctx);
int scr_should_exit_all(struct scr_ctx *ctx, int *flag, struct scr_err *err);
/* Halt file at Init: sets ctx->halt and says why; asked again when the run begins, it
 * drops entries of an earlier allocation. Local, for rank 0. */
int scr_halt_look(struct scr_ctx *ctx, int begins, struct scr_err *err);
/* After a successful checkpoint: counts it, sets ctx->halt if a condition is due. */
int scr_halt_ckpt_all(struct scr_ctx *ctx, struct scr_err *err);
/* 1 if the run ends because the job is halted: the program was asked to exit, or a
 * condition is due, now or before. */
int scr_is_halted_all(struct scr_ctx *ctx, int *halted, struct scr_err *err);
/* Writes ExitReason. */
int scr_halt_reason_all(struct scr_ctx *ctx, const char *reason, struct scr_err *err);

#endif
