/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of libscr_interpose: the one struct with everything that is writable, and
 * the calls of the C library that its wrappers stand before. doc/design/interpose.md
 * says what is done when.
 *
 * Code of the library itself raises scr_ip_inside around its calls: wrappers pass
 * everything on then, so that files may be handled through base/ as everywhere. */
#ifndef SCR_INTERPOSE_IP_H
#define SCR_INTERPOSE_IP_H

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <utime.h>

#include "pattern.h"

/* The wrapped calls: result, name, parameters. */
#define SCR_IP_CALLS(F)                                                                \
    F(int, open, (const char *, int, ...))                                             \
    F(int, open64, (const char *, int, ...))                                           \
    F(int, __open_2, (const char *, int))                                              \
    F(int, __open64_2, (const char *, int))                                            \
    F(int, openat, (int, const char *, int, ...))                                      \
    F(int, openat64, (int, const char *, int, ...))                                    \
    F(int, creat, (const char *, mode_t))                                              \
    F(int, creat64, (const char *, mode_t))                                            \
    F(FILE *, fopen, (const char *, const char *))                                     \
    F(FILE *, fopen64, (const char *, const char *))                                   \
    F(FILE *, freopen, (const char *, const char *, FILE *))                           \
    F(FILE *, freopen64, (const char *, const char *, FILE *))                         \
    F(int, close, (int))                                                               \
    F(int, dup, (int))                                                                 \
    F(int, dup2, (int, int))                                                           \
    F(int, dup3, (int, int, int))                                                      \
    F(int, fcntl, (int, int, ...))                                                     \
    F(int, fcntl64, (int, int, ...))                                                   \
    F(int, fclose, (FILE *))                                                           \
    F(int, rename, (const char *, const char *))                                       \
    F(int, renameat, (int, const char *, int, const char *))                           \
    F(int, renameat2, (int, const char *, int, const char *, unsigned))                \
    F(int, link, (const char *, const char *))                                         \
    F(int, linkat, (int, const char *, int, const char *, int))                        \
    F(int, truncate, (const char *, off_t))                                            \
    F(int, truncate64, (const char *, off64_t))                                        \
    F(int, unlink, (const char *))                                                     \
    F(int, unlinkat, (int, const char *, int))                                         \
    F(int, remove, (const char *))                                                     \
    F(int, chmod, (const char *, mode_t))                                              \
    F(int, fchmodat, (int, const char *, mode_t, int))                                 \
    F(int, chown, (const char *, uid_t, gid_t))                                        \
    F(int, lchown, (const char *, uid_t, gid_t))                                       \
    F(int, fchownat, (int, const char *, uid_t, gid_t, int))                           \
    F(int, utime, (const char *, const struct utimbuf *))                              \
    F(int, utimes, (const char *, const struct timeval *))                             \
    F(int, utimensat, (int, const char *, const struct timespec *, int))               \
    F(int, access, (const char *, int))                                                \
    F(int, eaccess, (const char *, int))                                               \
    F(int, euidaccess, (const char *, int))                                            \
    F(int, faccessat, (int, const char *, int, int))                                   \
    F(int, fstatat, (int, const char *, struct stat *, int))                           \
    F(int, fstatat64, (int, const char *, struct stat64 *, int))                       \
    F(int, statx, (int, const char *, int, unsigned, struct statx *))                  \
    F(int, stat, (const char *, struct stat *))                                        \
    F(int, lstat, (const char *, struct stat *))                                       \
    F(int, stat64, (const char *, struct stat64 *))                                    \
    F(int, lstat64, (const char *, struct stat64 *))                                   \
    F(int, __xstat, (int, const char *, struct stat *))                                \
    F(int, __lxstat, (int, const char *, struct stat *))                               \
    F(int, __xstat64, (int, const char *, struct stat64 *))                            \
    F(int, __lxstat64, (int, const char *, struct stat64 *))

/* The calls as the C library has them. */
struct scr_ip_real {
#define F(type, name, params) type(*name) params;
    SCR_IP_CALLS(F)
#undef F
};

enum scr_ip_where {
    SCR_IP_STAGED, /* in the stage: of no dataset yet */
    SCR_IP_CACHED, /* in a dataset in cache, which may be evicted */
    SCR_IP_PLACED  /* where the program put it: it could not be staged */
};

/* A file that forms a checkpoint and that this process wrote, now or before the
 * restart. */
struct scr_ip_file {
    char *path;  /* as the program knows it: absolute, below the prefix */
    char *place; /* where its bytes are; NULL if PLACED */
    int64_t number;
    enum scr_ip_where where;
    int pending;   /* of a checkpoint that is not complete yet */
    int nopen;     /* descriptors open for writing */
    int rounds;    /* meetings between which it was closed since it is pending */
    int bad;       /* closing it failed */
    int handed_in; /* to a dataset that is being completed */
    int dropped;   /* freed when the last descriptor is closed */
    int64_t epoch; /* meetings before it was closed last, or opened first */
    int64_t
        active; /* … before it was opened, or seen to have changed, last, to this: */
    struct timespec changed;
};

enum { SCR_IP_PATIENCE = 3 };   /* checkpoints that wait for what may never come */
enum { SCR_IP_MAX_FD = 65536 }; /* above that files are not intercepted */
enum { SCR_IP_FORTRAN = 160 };  /* names of MPI calls in Fortran */

enum scr_ip_state {
    SCR_IP_OFF, /* before MPI_Init, after MPI_Finalize, and where nothing is to do */
    SCR_IP_ON
};

struct scr_ip {
    struct scr_ip_real real;
    atomic_int resolved;
    _Atomic(void *) fortran[SCR_IP_FORTRAN];
    _Atomic(enum scr_ip_state) state;
    _Atomic(unsigned long) collective; /* calls of all processes so far */
    uintptr_t scr_from, scr_to;        /* code of libscr, whose threads are passed on */

    pthread_mutex_t lock; /* of what follows, up to the next blank line */
    struct scr_ip_file **file;
    size_t nfiles;
    _Atomic(struct scr_ip_file *) *fd; /* read without the lock */
    char *stage;                       /* directory; NULL: nothing is staged */
    unsigned long staged;              /* files staged so far, names them */
    int64_t epoch;
    int news;  /* files opened or closed since the last meeting */
    int told;  /* bits of messages that are given once */
    int begun; /* checkpoints begun since collective was begun_at, */
    unsigned long begun_at;
    int64_t begun_last; /* the last of them this one */

    struct scr_ip_patterns patterns; /* constant while ON, like these */
    char *prefix, *prefix_real;
    int rank;
    pid_t pid;
    int want, most_calls; /* SCR_INTERPOSE_FILES, SCR_INTERPOSE_CALLS */

    /* Of the thread that is in a collective call. */
    MPI_Comm comm;
    int has_comm, keyval, multiple; /* MPI_THREAD_MULTIPLE */
    int calls, period;   /* collective calls since the last meeting, until the next */
    int had_news;        /* at that meeting, the same everywhere */
    double met;          /* when that was, scr_now_mono() */
    int datasets;        /* completed so far, */
    int64_t first, last; /* with these numbers; -1: without one */
    int quiet;           /* SCR_QUIET */
    int has_time;        /* lines begin with the time: SCR_LOG_TIME */
    int has_scr;         /* SCR_Init was good, SCR_Finalize has to come */
};

extern struct scr_ip scr_ip;
extern _Thread_local int scr_ip_inside;

/* The real calls, found on the first use. */
const struct scr_ip_real *scr_ip_real(void);
/* 1 if a call that came from `caller` (__builtin_return_address(0)) is the program's
 * own and may concern it: the library is on, and neither it nor libscr is calling. */
int scr_ip_is_program(const void *caller);
/* Programs that are executed do not get the library from LD_PRELOAD. */
void scr_ip_leave_preload(void);
/* Finds the code of libscr, and keeps forked children out: they are OFF. */
void scr_ip_settle_in(void);

/* One line from this process, once for each bit of `once` (0: each time). */
void scr_ip_tell(int once, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same from rank 0 only. */
void scr_ip_tell_all(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Notes, not warnings, unless SCR_QUIET is 1. */
void scr_ip_say_all(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

enum {
    SCR_IP_TOLD_STAGE = 1,
    SCR_IP_TOLD_OTHERS = 2,
    SCR_IP_TOLD_RENAMED = 4,
    SCR_IP_TOLD_STARVED = 8
};

#endif
