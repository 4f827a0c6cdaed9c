/* SPDX-License-Identifier: BSD-3-Clause */
/* A run in the event log: when it begins, computes and ends, and how the run before it
 * ended. At its beginning and end also a line on stderr each, unless SCR_QUIET is 1. */
#ifndef SCR_CORE_RUN_EVENTS_H
#define SCR_CORE_RUN_EVENTS_H

struct scr_ctx;

/* At the end of SCR_Init, which was called at start (scr_now_mono()): that the run
 * before has failed, if it has no end, then that this one begins. Every
 * rank calls it, none waits but rank 0. */
void scr_run_begin(struct scr_ctx *ctx, double start);
/* note: "halt" where the library ends the program, else NULL. Local. */
void scr_run_end(struct scr_ctx *ctx, const char *note);
/* With SCR_DEBUG=1: how long each part of the open dataset, now complete, took. Local.
 */
void scr_run_say_output(const struct scr_ctx *ctx, double now);
/* The program computes from now on, or has until now. Local. */
void scr_compute_start(struct scr_ctx *ctx);
void scr_compute_end(struct scr_ctx *ctx, double now);

#endif
