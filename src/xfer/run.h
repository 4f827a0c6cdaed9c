/* SPDX-License-Identifier: BSD-3-Clause */
/* One transfer, from its first file to its last: what all back ends share. Inside xfer
 * only. */
#ifndef SCR_XFER_RUN_H
#define SCR_XFER_RUN_H

#include "xfer/pace.h"
#include "xfer/xfer.h"

struct scr_xfer {
    struct scr_xfer_opts o;
    char *slot_dir;
    const struct scr_sys *sys;  /* that copied */
    struct scr_xfer_file *file; /* strings owned */
    size_t n, cap;
    struct scr_pace pace;
    pthread_mutex_t lock; /* for next, rc and err while it runs */
    pthread_mutex_t hook; /* one hook at a time */
    size_t next;          /* first file that no thread has taken */
    size_t share;         /* most files a thread takes at a time */
    int rc;               /* of the first failure */
    struct scr_err err;
    enum scr_xfer_state state;   /* the mover's */
    struct scr_xfer_where where; /* of DAEMON: what o.where was at the start */
    struct scr_xfer *after;      /* the mover's: started next */
};

/* Copies what is not whole, with this many threads, the calling one among them. x->rc
 * and x->err have the result. */
void scr_xfer_run(struct scr_xfer *x, const struct scr_sys *sys, int threads);

#endif
