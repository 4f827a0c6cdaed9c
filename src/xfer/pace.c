/* SPDX-License-Identifier: BSD-3-Clause */
/* How fast a transfer may go. */
#include "xfer/pace.h"

#include <time.h>

#include "base/units.h"

static const double SLICE =
    0.02; /* seconds until a sleeper sees that it is cancelled */
static const double LEAST_SLEEP = 0.004; /* seconds; for less it is not worth waking */
static const double SAVED = 0.2;         /* seconds of lost time that are made up for */
enum { LEAST_BURST = 4096, BURSTS_A_SECOND = 100 };

static double now_here(void *unused)
{
    (void)unused;
    return scr_now_mono();
}

static void sleep_here(void *unused, double secs)
{
    const double whole = (double)(time_t)secs;
    (void)unused;
    nanosleep(&(struct timespec){ .tv_sec = (time_t)secs,
                                  .tv_nsec = (long)((secs - whole) * 1e9) },
              NULL);
}

static const struct scr_clock real_clock = { now_here, sleep_here, NULL };

static double now(const struct scr_pace *p)
{
    return p->clock.now(p->clock.arg);
}

void scr_pace_init(struct scr_pace *p, double bw, double percent,
                   const struct scr_clock *clock)
{
    p->clock = clock != NULL ? *clock : real_clock;
    p->bw = bw;
    p->percent = percent < 100 ? percent : 0;
    atomic_init(&p->cancel, 0);
    pthread_mutex_init(&p->lock, NULL);
    scr_pace_start(p);
}

void scr_pace_fini(struct scr_pace *p)
{
    pthread_mutex_destroy(&p->lock);
}

void scr_pace_start(struct scr_pace *p)
{
    p->ready = p->since = now(p);
    p->debt = 0;
}

void scr_pace_cancel(struct scr_pace *p)
{
    atomic_store(&p->cancel, 1);
}

static int check(struct scr_pace *p, struct scr_err *err)
{
    return atomic_load(&p->cancel)
               ? scr_fail(err, SCR_E_CANCELLED, 0, "the transfer was cancelled")
               : SCR_OK;
}

int scr_pace_sleep(struct scr_pace *p, double secs, struct scr_err *err)
{
    double end = now(p) + secs;
    TRY(check(p, err));
    for (double left = secs; left > 0; left = end - now(p)) {
        p->clock.sleep(p->clock.arg, left < SLICE ? left : SLICE);
        TRY(check(p, err));
    }
    return SCR_OK;
}

/* Seconds to sleep for n bytes, with the lock held. */
static double owed(struct scr_pace *p, size_t n, double at)
{
    double wait = 0;
    if (p->bw > 0) {
        p->ready = p->ready > at - SAVED ? p->ready : at - SAVED;
        p->ready += (double)n / p->bw;
        wait = p->ready - at;
    }
    if (p->percent > 0) {
        p->debt += (at - p->since) * (100 / p->percent - 1);
        wait = p->debt > wait ? p->debt : wait;
    }
    return wait;
}

int scr_pace_step(struct scr_pace *p, size_t n, struct scr_err *err)
{
    if (p->bw <= 0 && p->percent <= 0)
        return check(p, err);
    pthread_mutex_lock(&p->lock);
    double before = now(p);
    double wait = owed(p, n, before);
    pthread_mutex_unlock(&p->lock);
    int rc = scr_pace_sleep(p, wait < LEAST_SLEEP ? 0 : wait, err);
    pthread_mutex_lock(&p->lock);
    p->since = now(p);
    p->debt -= p->since - before;
    p->debt = p->debt > -SAVED ? p->debt : -SAVED;
    pthread_mutex_unlock(&p->lock);
    return rc;
}

size_t scr_pace_burst(const struct scr_pace *p, size_t most)
{
    if (p->bw <= 0 || p->bw / BURSTS_A_SECOND >= (double)most)
        return most;
    size_t burst = (size_t)(p->bw / BURSTS_A_SECOND);
    return burst > LEAST_BURST ? burst : LEAST_BURST;
}
