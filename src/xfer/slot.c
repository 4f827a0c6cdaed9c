/* SPDX-License-Identifier: BSD-3-Clause */
/* A place among the processes that may use the parallel file system at once. */
#include "xfer/slot.h"

#include <stdlib.h>

#include "base/str.h"

enum { TRIES = 2 }; /* places looked at in a round: a lock costs a message */
/* Seconds between rounds: the first, and the longest for each process that waits for a
 * place. A crowd that is small in all may ask more often. */
static const double FIRST_PAUSE = 0.01, LONG_PAUSE = 0.05, LEAST_LAST_PAUSE = 0.3,
                    SMALL_CROWD = 150;

static int try_one(const struct scr_sys *sys, const char *dir, int i,
                   struct scr_lock *slot, struct scr_err *err)
{
    char *path = scr_asprintf("%s/slot.%d.lock", dir, i);
    int rc = path ? scr_lock_acquire(sys, path, 0, slot, err) : scr_no_memory(err);
    free(path);
    return rc;
}

/* Those from *next on. */
static int try_round(const struct scr_sys *sys, const struct scr_slots *slots,
                     int *next, struct scr_lock *slot, struct scr_err *err)
{
    int rc = SCR_E_LOCKED;
    for (int i = 0; i < TRIES && i < slots->width && rc == SCR_E_LOCKED; i++) {
        struct scr_err why = SCR_ERR_INIT;
        rc = try_one(sys, slots->dir, *next, slot, &why);
        *next = (*next + 1) % slots->width;
        if (rc != SCR_OK && rc != SCR_E_LOCKED)
            scr_err_take(err, rc, &why);
    }
    return rc;
}

int scr_slot_take(const struct scr_sys *sys, const struct scr_slots *slots,
                  struct scr_pace *p, struct scr_lock *slot, struct scr_err *err)
{
    double crowd = slots->crowd, pause = FIRST_PAUSE;
    double most = LONG_PAUSE * crowd / slots->width;
    double least = LEAST_LAST_PAUSE * (crowd < SMALL_CROWD ? crowd / SMALL_CROWD : 1);
    int next = slots->first % slots->width;
    most = most > least ? most : least;
    for (;;) {
        int rc = try_round(sys, slots, &next, slot, err);
        if (rc != SCR_E_LOCKED)
            return rc;
        if ((rc = scr_pace_sleep(p, pause, err)) != SCR_OK)
            return rc;
        pause = 2 * pause < most ? 2 * pause : most;
    }
}
