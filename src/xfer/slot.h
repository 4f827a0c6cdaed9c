/* SPDX-License-Identifier: BSD-3-Clause */
/* A place among the processes that may use the parallel file system at once, without
 * MPI: `width` lock files in a directory that all of them see. The holder of one of the
 * locks has a place; the kernel gives it back when the holder dies. */
#ifndef SCR_XFER_SLOT_H
#define SCR_XFER_SLOT_H

#include "base/lock.h"
#include "xfer/pace.h"

/* The places: <dir>/slot.<0 … width-1>.lock. */
struct scr_slots {
    const char *dir;
    int width;
    int first; /* number, modulo width, to begin with */
    int crowd; /* about how many wait; the more, the longer each sleeps between looks,
                  so that all of them together ask the file system no more often */
};
/* Waits for one of them, which scr_lock_release gives back. SCR_E_CANCELLED: p was
 * cancelled meanwhile. */
int scr_slot_take(const struct scr_sys *sys, const struct scr_slots *slots,
                  struct scr_pace *p, struct scr_lock *slot, struct scr_err *err);

#endif
