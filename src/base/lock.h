/* SPDX-License-Identifier: BSD-3-Clause */
/* A lock between processes, held on a separate file next to the file it guards.
 * Released by the kernel when the holder dies. */
#ifndef SCR_BASE_LOCK_H
#define SCR_BASE_LOCK_H

#include <stdint.h>
#include <time.h>

#include "base/err.h"
#include "base/sys.h"

struct scr_lock {
    int fd;       /* -1: not held */
    int is_flock; /* of scr_lock_itself */
};
#define SCR_LOCK_INIT                                                                  \
    {                                                                                  \
        -1, 0                                                                          \
    }

/* Waits up to timeout_ms for an exclusive lock on path (created if absent, as the
 * umask lets it, and never removed); SCR_E_LOCKED when the time is over, naming the pid
 * that holds it where known. timeout_ms 0 tries once. The lock belongs to this acquire
 * and not to the process: acquiring it a second time in the same process waits like any
 * other process; children made by fork share it. */
int scr_lock_acquire(const struct scr_sys *sys, const char *path, int timeout_ms,
                     struct scr_lock *lock, struct scr_err *err);
/* The same for one of the locks that a file has, by its key. Holders of different keys
 * do not exclude each other; path must not also be locked as a whole. */
int scr_lock_acquire_key(const struct scr_sys *sys, const char *path, uint64_t key,
                         int timeout_ms, struct scr_lock *lock, struct scr_err *err);
/* A shared lock: any number may hold it at once, and none while an exclusive one is
 * held; its holders do not sign. */
int scr_lock_share(const struct scr_sys *sys, const char *path, int timeout_ms,
                   struct scr_lock *lock, struct scr_err *err);
/* Locks the file at path itself with flock(2), as SCR 3.x locks a file that it
 * rewrites: shared, with lock->fd open for reading, or exclusively, with lock->fd open
 * for writing, too. It does not sign. Where that cannot be it is not held. */
void scr_lock_itself(const struct scr_sys *sys, const char *path, int exclusive,
                     int timeout_ms, struct scr_lock *lock);
void scr_lock_release(const struct scr_sys *sys, struct scr_lock *lock);

/* SCR_E_NOENT: path is not the locked file any more, so no other process sees the lock.
 */
int scr_lock_check(const struct scr_sys *sys, const struct scr_lock *lock,
                   const char *path, struct scr_err *err);
/* A sign of life of who holds a lock for long: the time of modification of its file is
 * now. SCR_E_NOENT: as of scr_lock_check. */
int scr_lock_beat(const struct scr_sys *sys, const struct scr_lock *lock,
                  const char *path, struct scr_err *err);

enum { SCR_LOCK_NOTE = 97 };

struct scr_lock_holder {
    int held;
    char note[SCR_LOCK_NOTE]; /* "process <pid> on <host>", as it signed; "": unknown */
    long pid;                 /* as it signed; 0: not known, or on another host */
    struct timespec beat;     /* its last sign of life */
};

/* The holder of the lock on path, without waiting; the lock is held only during the
 * check. No file: no holder. */
int scr_lock_look(const struct scr_sys *sys, const char *path,
                  struct scr_lock_holder *who, struct scr_err *err);
/* The holder of the lock of a key; note may be that of another key's holder, as 64
 * lines serve all keys. */
int scr_lock_look_key(const struct scr_sys *sys, const char *path, uint64_t key,
                      struct scr_lock_holder *who, struct scr_err *err);

#endif
