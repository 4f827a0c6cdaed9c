/* SPDX-License-Identifier: BSD-3-Clause */
/* Deleted files in memory, whose pages a thread gives back. */
#include "base/release.h"

#include <fcntl.h>

#include "base/memory.h"
#include "base/thread.h"

enum { LEAST_BYTES = 1 << 20 }; /* of less, a system call more is not worth it */

void scr_release_hold(struct scr_release *r, const struct scr_sys *sys,
                      const char *path)
{
    struct stat st;
    if (r->n == SCR_RELEASE_MOST || r->runs)
        return;
    r->sys = sys;
    int fd = sys->openat(AT_FDCWD, path, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
    if (fd < 0)
        return;
    if (sys->fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= LEAST_BYTES &&
        scr_is_in_memory(sys, fd))
        r->fd[r->n++] = fd;
    else
        (void)sys->close(fd);
}

/* Nothing was written by them. */
static void close_held(struct scr_release *r)
{
    for (int i = 0; i < r->n; i++)
        (void)r->sys->close(r->fd[i]);
}

static void *run(void *arg)
{
    close_held(arg);
    return NULL;
}

void scr_release_start(struct scr_release *r)
{
    if (r->n == 0 || r->runs)
        return;
    r->runs = scr_thread_start(&r->thread, run, r) == 0;
    if (!r->runs)
        scr_release_wait(r);
}

void scr_release_wait(struct scr_release *r)
{
    if (r->runs)
        (void)pthread_join(r->thread, NULL);
    else
        close_held(r);
    r->n = r->runs = 0;
}
