/* SPDX-License-Identifier: BSD-3-Clause */
/* The basis of SCR_Need_checkpoint where no setting says when to checkpoint, and of
 * SCR_FLUSH=AUTO: statistics of the runs of a prefix directory, kept in autopilot.scr,
 * and the intervals that follow from them. Times are seconds, rates failures a second.
 * Pure: who measures calls scr_average_add, who decides asks scr_autopilot_advise, then
 * scr_autopilot_is_due at each call of the program, and scr_autopilot_flush_is_due at
 * each checkpoint. */
#ifndef SCR_FMT_AUTOPILOT_H
#define SCR_FMT_AUTOPILOT_H

#include "base/err.h"
#include "base/hash.h"
#include <stdint.h>

#define SCR_AUTOPILOT_FILE "autopilot.scr"

/* What was needed to continue after a run that did not end by itself. */
enum scr_failure {
    SCR_FAILED_PROCESS, /* all files were in cache, or there were none */
    SCR_FAILED_NODE,    /* files were rebuilt */
    SCR_FAILED_SYSTEM,  /* a checkpoint was taken from the prefix directory */
    SCR_FAILURES
};

/* Until failures are seen: of all that keep a job from going on, so many are of each
 * class. And of the time of an asynchronous flush the program loses this share. */
extern const double scr_failure_share[SCR_FAILURES], scr_flush_slowdown;

/* The mean of the first few values, then of the newer ones mainly. */
struct scr_average {
    double value;
    int64_t n; /* values so far, 0: none; more than SCR_AVERAGE_OF count as that */
};
enum { SCR_AVERAGE_OF = 8 };
void scr_average_add(struct scr_average *a, double value);

struct scr_autopilot {
    double uptime;    /* of runs, from their first question on */
    double unflushed; /* part of it since the newest checkpoint that is flushed */
    int64_t failures[SCR_FAILURES];
    struct scr_average cost;    /* of a checkpoint, without a flush */
    struct scr_average flush;   /* time from begin to end of one */
    struct scr_average blocked; /* an asynchronous one keeps the program waiting */
    struct scr_average between; /* calls of SCR_Need_checkpoint, or checkpoints */
};

/* A run that computes, or did not end by itself. */
struct scr_open_run {
    const char *job_id;
    int64_t seen; /* when it was written last, seconds since 1970 */
    int64_t end;  /* of its allocation, 0: not known */
};
/* While a run computes it is written so often at least, if the program asks. */
enum { SCR_AUTOPILOT_EVERY = 600 };

/* autopilot.scr: VERSION=1 UPTIME UNFLUSHED FAILURES/{PROCESS,NODE,SYSTEM} {COST,FLUSH,
 * BLOCKED,BETWEEN}/{USEC,COUNT} RUN/JOB/<id>/{SEEN,END}; scr_autopilot_file(5). An
 * empty hash is that of no run. SCR_E_CORRUPT, or SCR_E_VERSION: a newer one; *a is as
 * it was then. */
int scr_autopilot_get(const scr_hash *h, struct scr_autopilot *a, struct scr_err *err);
/* Unknown keys and open runs stay. SCR_OK or SCR_E_NOMEM. */
int scr_autopilot_set(scr_hash *h, const struct scr_autopilot *a);

/* The open runs of such a hash, one a job. The newest is the one seen last; its job_id
 * is borrowed from h, and NULL if there is none. */
void scr_autopilot_newest(const scr_hash *h, struct scr_open_run *run);
int scr_autopilot_enter(scr_hash *h, const struct scr_open_run *run);
void scr_autopilot_leave(scr_hash *h, const char *job_id);
/* An edit of the file (base/hashfile.h), without arg: there is no open run. */
int scr_autopilot_close(scr_hash *h, void *arg, int *changed, struct scr_err *err);

/* The run that looks at the others. */
struct scr_observer {
    const char *job_id;
    int is_new;         /* it has not entered itself: what its job has is another's */
    int64_t began, now; /* seconds since 1970 */
};
/* Removes the runs of h that are over, and returns how many of them have failed. A run
 * of the same job is over, and has failed, if is_new. That of another job is over if it
 * was not seen since `began`, and is either silent for longer than a run that computes,
 * or past the end of its allocation; it has failed, unless it was about to end when it
 * was seen last. *a: the statistics of h. */
int scr_autopilot_settle(scr_hash *h, const struct scr_autopilot *a,
                         const struct scr_observer *o);

/* What a job brings in. */
struct scr_autopilot_job {
    int nodes;       /* 1 or more */
    double mtbf;     /* of a node, until failures have been seen */
    int flush_every; /* SCR_FLUSH: one checkpoint out of so many; 0: none, < 0: as is
                        best; 1 also where all are written to the prefix directory */
    int is_async;    /* flushes let the program run */
    int is_single;   /* no checkpoint in cache survives the loss of a node */
    double most;     /* percent of the time that checkpoints may take; 0: any */
};

struct scr_advice {
    int is_known;    /* 0: no checkpoint was measured; only interval counts */
    double interval; /* from the end of a checkpoint to the next */
    double mean;     /* time between failures of any class */
    double cost;     /* of a checkpoint, with its share of a flush */
    double waste;    /* expected share of the time, 0 to 1 */
    double flush;    /* time between flushes; 0: SCR_FLUSH counts checkpoints */
};
void scr_autopilot_advise(const struct scr_autopilot *a,
                          const struct scr_autopilot_job *job, struct scr_advice *out);
/* 1 if the advice is another than the one before by more than a tenth. */
int scr_advice_has_changed(const struct scr_advice *now, const struct scr_advice *was);
/* The advice and its reasons, as one line for people; malloc'd, NULL: no memory. */
char *scr_advice_text(const struct scr_advice *advice, const struct scr_autopilot *a);

/* Whether to checkpoint now: elapsed since the last one, or the start; left of the
 * allocation, INFINITY: not known. The call that is nearest to the end of the interval
 * says yes, and one before the allocation ends, in time for a flush. */
int scr_autopilot_is_due(const struct scr_autopilot *a, const struct scr_advice *advice,
                         double elapsed, double left);
/* Whether to flush the checkpoint that is complete now, `elapsed` after the one before;
 * left as above. The one nearest to the end of advice->flush is, one before the
 * allocation ends, and, as long as no flush was measured, any. */
int scr_autopilot_flush_is_due(const struct scr_autopilot *a,
                               const struct scr_advice *advice, double elapsed,
                               double left);

#endif
