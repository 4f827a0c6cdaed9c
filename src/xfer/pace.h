/* SPDX-License-Identifier: BSD-3-Clause */
/* How fast a transfer may go: bytes a second, and the share of its time it may spend
 * moving them. Shared by the threads of one transfer.
 *
 * Bytes are paid for after they were moved: the thread that moved them sleeps until
 * they are within the limit. Sleeps that took too long are made up for, idle time from
 * before is not saved up. */
#ifndef SCR_XFER_PACE_H
#define SCR_XFER_PACE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/err.h"

/* The clock of a pace. */
struct scr_clock {
    double (*now)(void *arg); /* seconds */
    void (*sleep)(void *arg, double secs);
    void *arg;
};

struct scr_pace {
    struct scr_clock clock;
    double bw; /* bytes a second; 0: no limit */
    double
        percent; /* of the time since the start, over all threads; 0, 100: no limit */
    atomic_int cancel; /* sleeping threads wake up, and every step fails from then on */
    pthread_mutex_t lock; /* for the rest */
    double ready;         /* when the bytes so far are paid for */
    double since;         /* end of the last step: what came after was work */
    double debt;          /* seconds that have to be slept for the work so far */
};

/* clock NULL: that of the machine. */
void scr_pace_init(struct scr_pace *p, double bw, double percent,
                   const struct scr_clock *clock);
void scr_pace_fini(struct scr_pace *p);
/* The clock starts now. */
void scr_pace_start(struct scr_pace *p);
/* n bytes were moved; sleeps as long as the limits ask for. SCR_E_CANCELLED after
 * scr_pace_cancel. */
int scr_pace_step(struct scr_pace *p, size_t n, struct scr_err *err);
void scr_pace_cancel(struct scr_pace *p);
/* Sleeps; SCR_E_CANCELLED if that was cut short. */
int scr_pace_sleep(struct scr_pace *p, double secs, struct scr_err *err);
/* Most bytes to be moved between two steps, so that a few threads keep the limit within
 * a tenth of a second; `most` if there is no limit. */
size_t scr_pace_burst(const struct scr_pace *p, size_t most);

#endif
