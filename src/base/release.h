/* SPDX-License-Identifier: BSD-3-Clause */
/* Deleted files in memory, whose pages a thread gives back. The kernel takes about
 * 10 ms for 100 MiB of small pages when the last link to a file goes. It does not while
 * the file is open, so that unlink(2) returns at once and close(2) takes the time.
 *
 *     struct scr_release r = { 0 };
 *     scr_release_hold(&r, sys, path);   // as often as there are files; then unlink
 *     scr_release_start(&r);             // the caller returns
 *     scr_release_wait(&r);              // before it needs the room
 *
 * If the process dies the kernel closes what is held. */
#ifndef SCR_BASE_RELEASE_H
#define SCR_BASE_RELEASE_H

#include "base/sys.h"
#include <pthread.h>

enum { SCR_RELEASE_MOST = 16 };
struct scr_release {
    const struct scr_sys *sys;
    int fd[SCR_RELEASE_MOST];
    int n;
    int runs; /* the thread has them */
    pthread_t thread;
};

/* Holds the file at path, which is about to be deleted: a regular one of at least 1 MiB
 * in a tmpfs or ramfs, up to SCR_RELEASE_MOST of them. On a network file system an open
 * file would keep its directory from being removed. Any other file, or one that cannot
 * be opened, is not held. Not while the thread runs. */
void scr_release_hold(struct scr_release *r, const struct scr_sys *sys,
                      const char *path);
/* Starts the thread; without one the caller closes them. */
void scr_release_start(struct scr_release *r);
/* Returns when all that was held is given back, started or not. */
void scr_release_wait(struct scr_release *r);

#endif
