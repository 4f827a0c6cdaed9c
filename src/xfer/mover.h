/* SPDX-License-Identifier: BSD-3-Clause */
/* What a means of moving files has to do. Inside xfer only. */
#ifndef SCR_XFER_MOVER_H
#define SCR_XFER_MOVER_H

#include "xfer/run.h"

struct scr_daemon;

struct scr_mover {
    const struct scr_back_end *back_end;
    const struct scr_sys *sys;
    pthread_mutex_t lock;          /* for the rest and the state of transfers */
    pthread_cond_t moved;          /* the queue or a state has changed */
    struct scr_xfer *first, *last; /* those that have not ended, in order */
    pthread_t thread;
    int have_thread, quit;
    int paused;                /* nothing begins, what has begun continues */
    struct scr_daemon *daemon; /* of DAEMON */
};

struct scr_back_end {
    int (*start)(struct scr_mover *m, struct scr_xfer *x, struct scr_err *err);
    /* NULL: nothing runs between calls. */
    void (*cancel)(struct scr_mover *m, struct scr_xfer *x);
    void (*stop)(struct scr_mover *m);
    void (*fini)(struct scr_mover *m);
    /* Looks how x is doing and ends it in time; NULL: it ends by itself. */
    void (*look)(struct scr_mover *m, struct scr_xfer *x);
};

/* With the lock held, where there is more than one thread. */
void scr_mover_append(struct scr_mover *m, struct scr_xfer *x);
void scr_mover_remove(struct scr_mover *m, struct scr_xfer *x);

struct scr_mover *scr_mover_make(const struct scr_back_end *b,
                                 const struct scr_sys *sys, struct scr_err *err);

#endif
