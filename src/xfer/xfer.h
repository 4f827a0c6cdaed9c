/* SPDX-License-Identifier: BSD-3-Clause */
/* Many files from one file system to another, by one of the means of SCR_FLUSH_TYPE.
 *
 *     struct scr_mover *m = scr_mover_new(SCR_XFER_PTHREAD, sys, err); // one a process
 *     struct scr_xfer *x = scr_xfer_new(&opts, err);
 *     rc = scr_xfer_add(x, &file, err);   // each file; whole = 1: is there already
 *     rc = scr_mover_start(m, x, err);    // returns at once, SYNC when it is done
 *     while (scr_mover_poll(m, x) == SCR_XFER_RUNNING)
 *         …
 *     rc = scr_mover_wait(m, x, err);     // or scr_mover_cancel(m, x)
 *     scr_xfer_free(x);                   // a started one has been waited for
 *     scr_mover_free(m);
 *
 * The transfers of a mover run one after another, in the order they were started. Each
 * file is written under a temporary name, its CRC summed up in the same pass and
 * compared with the recorded one, synced together with others, and renamed: mode, owner
 * and times as given. A transfer that failed, or was cancelled, or whose process died,
 * is resumed by another one in which the files that had landed are marked whole.
 *
 * Calls to a mover come from one thread; hooks run in whatever thread copies, one at a
 * time for a transfer. Nothing here knows MPI. */
#ifndef SCR_XFER_XFER_H
#define SCR_XFER_XFER_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sys.h"

/* In the order of SCR_FLUSH_TYPE's values. */
enum scr_xfer_type {
    SCR_XFER_SYNC,                    /* by the caller, in scr_mover_start */
    SCR_XFER_PTHREAD,                 /* by a few threads of this process */
    SCR_XFER_NTYPES,                  /* those above are made by scr_mover_new */
    SCR_XFER_DAEMON = SCR_XFER_NTYPES /* by another process: scr_mover_daemon */
};

struct scr_xfer_file {
    const char *src, *dst; /* absolute; copied by scr_xfer_add */
    const char *name;      /* for the hooks: dst as the records call it; copied */
    uint64_t size;         /* what src must have, if has_size; then: what was copied */
    uint32_t crc;          /* what it must have, if has_crc; then: what was computed */
    int has_size, has_crc;
    struct stat attr;     /* mode, owner and times of dst */
    int whole;            /* 1: dst is in place */
    char *tmp;            /* written and synced, waits there for scr_xfer_place; NULL */
    int packed;           /* 1: dst.zst is, a zstd frame of src, and no dst */
    uint64_t stored_size; /* of the frame */
    uint32_t stored_crc;
};

/* The owner of the files, for a process that cannot call the hooks and makes the
 * records of store/arrival.h itself; borrowed until the transfer is started. */
struct scr_xfer_where {
    const char *prefix;
    int id, node, rank;
    uint64_t stamp;
};

struct scr_xfer_opts {
    int tag;        /* distinguishes temporary files of processes: the world rank */
    size_t buf;     /* most bytes read at a time; 0: what is fastest */
    int want_crc;   /* also of files without a recorded one */
    int pack;       /* 1 to 22: files are compressed where that pays; 0: none is */
    int hold;       /* 1: files keep their temporary names until scr_xfer_place */
    int sync_dirs;  /* 1: the directories of the files are synced before finished() */
    double bw;      /* bytes a second, 0: no limit */
    double percent; /* of its time spent moving, 0: no limit */
    const char *slot_dir; /* where processes take turns (xfer/slot.h); copied */
    int width;            /* places there; 0: no process waits */
    int first;            /* where to begin to look for one: differs among them */
    int crowd;            /* processes that share them */
    /* Called first, in the thread that copies, with all n files: what has to be asked
       of file systems before, and may hang there. Describes files and marks those that
       are whole. May be NULL. */
    int (*prepare)(void *arg, struct scr_xfer_file *file, size_t n,
                   struct scr_err *err);
    /* The next file is about to get into place: SCR_OK if it still may. Called by
       several threads at once. May be NULL. */
    int (*allowed)(void *arg, struct scr_err *err);
    /* n files have just got into place and are safe there: records them; not with
       hold. May be NULL. */
    int (*landed)(void *arg, const struct scr_xfer_file *const *file, size_t n,
                  struct scr_err *err);
    /* All files are in place, also when there were none. May be NULL. */
    int (*finished)(void *arg, struct scr_err *err);
    void *arg;
    const struct scr_xfer_where *where; /* for DAEMON, instead of the hooks */
};

struct scr_xfer;

struct scr_xfer *scr_xfer_new(const struct scr_xfer_opts *o, struct scr_err *err);
int scr_xfer_add(struct scr_xfer *x, const struct scr_xfer_file *file,
                 struct scr_err *err);
/* Files that wait for scr_xfer_place are removed. */
void scr_xfer_free(struct scr_xfer *x);
/* With hold, after it has ended well: each file gets its name. Those that have it are
 * whole, also when another fails. Their directories are the caller's to sync. */
int scr_xfer_place(struct scr_xfer *x, struct scr_err *err);
/* Its files, after it has ended. */
const struct scr_xfer_file *scr_xfer_files(const struct scr_xfer *x, size_t *n);

enum scr_xfer_state {
    SCR_XFER_RUNNING, /* or waiting for those before it */
    SCR_XFER_DONE,    /* every file is in place, finished() returned SCR_OK */
    SCR_XFER_FAILED   /* or cancelled: scr_mover_wait returns the error */
};

struct scr_mover;

struct scr_mover *scr_mover_new(enum scr_xfer_type type, const struct scr_sys *sys,
                                struct scr_err *err);
/* After scr_mover_stop. Transfers are the caller's and may be freed after it. */
void scr_mover_free(struct scr_mover *m);
/* SCR_OK: x was started, not that it succeeded. */
int scr_mover_start(struct scr_mover *m, struct scr_xfer *x, struct scr_err *err);
/* PTHREAD: what has not begun does not, until scr_mover_go or one is waited for or
 * cancelled: a caller with something left to do has the processors for it. NULL: no. */
void scr_mover_pause(struct scr_mover *m);
void scr_mover_go(struct scr_mover *m);
enum scr_xfer_state scr_mover_poll(struct scr_mover *m, struct scr_xfer *x);
/* SCR_OK: every file is in place. */
int scr_mover_wait(struct scr_mover *m, struct scr_xfer *x, struct scr_err *err);
/* Cancels all that were started. With DAEMON they are left to it, and have ended only
 * for this process. */
void scr_mover_stop(struct scr_mover *m);
/* Files in place stay, temporaries are gone. Returns when x has ended. */
void scr_mover_cancel(struct scr_mover *m, struct scr_xfer *x);
/* The same without waiting. */
void scr_mover_interrupt(struct scr_mover *m, struct scr_xfer *x);
int scr_mover_is_daemon(const struct scr_mover *m); /* NULL: it is not */

#endif
