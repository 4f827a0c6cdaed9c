/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers by the transfer process of a node, scr_transfer(1), which continues when
 * this process dies. They are listed in a file of the control directory
 * (fmt/transfer.h, fmt/transfer_job.h); the rank of a node that lists the first one
 * starts the process, if none runs. Local calls. */
#ifndef SCR_XFER_DAEMON_H
#define SCR_XFER_DAEMON_H

#include "base/lock.h"
#include "xfer/xfer.h"

/* In the control directory: the file (its lock is "<file>.lock"), the lock the process
 * holds while it lives, and what it says if it was started in the background. */
#define SCR_TRANSFER_FILE "transfer.scrinfo"
#define SCR_TRANSFER_LIFE "transfer.life.lock"
#define SCR_TRANSFER_LOG  "transfer.log"

enum {
    SCR_TRANSFER_LOCK_MS = 10000, /* longest wait for the file */
    SCR_TRANSFER_START_S = 20     /* until the process has to be there */
};

struct scr_daemon_opts {
    const char *dir;     /* control directory, absolute; copied */
    const char *program; /* scr_transfer; NULL: as installed, else from PATH. Copied */
    double patience;     /* seconds it may go without a sign of life */
};

/* A mover for this back end; the rest is in xfer/xfer.h. bw and percent are those of
 * the process, for this transfer; opts.where is needed, hooks are not
 * called. */
struct scr_mover *scr_mover_daemon(const struct scr_daemon_opts *o,
                                   const struct scr_sys *sys, struct scr_err *err);
/* 1 once the process could not be started, has died or hung: it was killed, and what it
 * had to do has failed. The mover is of no more use. */
int scr_mover_is_lost(const struct scr_mover *m);
/* Tells the process to end if this mover started it and nothing is left to be done. */
void scr_mover_dismiss(struct scr_mover *m);

/* At a start: what an earlier run left in dir. *busy: 1 if a process is still copying;
 * else the file is removed. */
int scr_daemon_tidy(const struct scr_sys *sys, const char *dir, int *busy,
                    struct scr_err *err);
/* Makes it release everything that an earlier run asked for; returns when it has, or
 * is dead. SCR_E_LOCKED as scr_daemon_kill: everything is as it was. */
int scr_daemon_release(const struct scr_sys *sys, const char *dir, double patience,
                       struct scr_err *err);

/* SIGKILL for the process of dir, if there is one, and a wait until it has released its
 * lock: then it writes no more. SCR_E_LOCKED: it has not within secs, and may still
 * write. */
int scr_daemon_kill(const struct scr_sys *sys, const char *dir, double secs,
                    struct scr_err *err);

/* The process of dir: who->held if there is one. */
int scr_daemon_look(const struct scr_sys *sys, const char *dir,
                    struct scr_lock_holder *who, struct scr_err *err);

#endif
