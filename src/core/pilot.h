/* SPDX-License-Identifier: BSD-3-Clause */
/* The autopilot of a run (fmt/autopilot.h): measures, keeps what it learns in the
 * prefix directory, and says when to checkpoint and what to flush. All of it is rank
 * 0's, local, and never fails a call: what cannot be kept is a warning. */
#ifndef SCR_CORE_PILOT_H
#define SCR_CORE_PILOT_H

#include "base/err.h"
#include "fmt/autopilot.h"

struct scr_ctx;

struct scr_pilot {
    struct scr_autopilot stats;
    int begun;      /* the program has asked, or completed a checkpoint */
    int is_asked;   /* it asks when to checkpoint, and the answers are those here */
    int64_t began;  /* then, in seconds since 1970 */
    int is_entered; /* the file has this run, and stats continue from it */
    int is_lost;    /* its lock is stuck: it is not written any more */
    double unkept;  /* part of stats.uptime that the file does not have */
    int is_over;    /* the run ends by itself */
    int rebuilt;    /* at this start files were; the same on all ranks */
    int is_told;
    struct scr_advice told; /* the last that was reported */
    struct scr_err untold;  /* why the file could not be written last, if so */
    /* scr_now_mono(): up to when uptime counts; when the file was written; when the
       program asked last */
    double counted, written, called;
    double called_ckpt; /* scr_times.ckpt at that call */
    /* scr_times as they were then */
    double ckpt, flush, blocked;
    int flushes, ckpts;
};

/* At a call of SCR_Need_checkpoint: 1 if a checkpoint is due. */
int scr_pilot_is_time(struct scr_ctx *ctx);
/* When a checkpoint is complete, with SCR_FLUSH=AUTO: 1 if it must be flushed. */
int scr_pilot_flushes(struct scr_ctx *ctx);
/* Why the run before died, if it did, by what this start has found. */
enum scr_failure scr_pilot_failure(const struct scr_ctx *ctx);
/* The run ends by itself, or by a request: its death after that is no failure. */
void scr_pilot_end(struct scr_ctx *ctx);

#endif
