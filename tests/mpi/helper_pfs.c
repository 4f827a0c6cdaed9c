/* SPDX-License-Identifier: BSD-3-Clause */
#include "helper_pfs.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "xfer/copy.h"

enum { FDS = 1024, PATIENCE_MS = 120000 };

struct pfs_control pfs_control;

static atomic_int is_copy[FDS];

static struct pfs_control *const c = &pfs_control;

static int refuse(int error)
{
    errno = error;
    return -1;
}

/* The first copy that is open makes this process one of those that copy. */
static int enter(void)
{
    int number = ++c->opened;
    if (c->open_now++ > 0 || c->together == NULL)
        return number;
    int now = ++c->together[0], most = c->together[1];
    while (now > most && !atomic_compare_exchange_weak(&c->together[1], &most, now))
        ;
    for (int i = 0; i < PATIENCE_MS && c->together[1] < c->meet; i++)
        usleep(1000);
    return number;
}

static void leave(void)
{
    if (--c->open_now == 0 && c->together != NULL)
        c->together[0]--;
}

/* A temporary, or a file of a rank that is fetched, which has its own name at once. */
static int begins_copy(const char *path, int flags)
{
    return (flags & O_CREAT) != 0 &&
           (strstr(path, SCR_COPY_TMP) != NULL ||
            ((flags & O_EXCL) != 0 && strstr(path, "/rank.") != NULL));
}

static int p_openat(int dirfd, const char *path, int flags, mode_t mode)
{
    int copy = begins_copy(path, flags);
    if (copy && c->open_error)
        return refuse(c->open_error);
    const char *part = c->fail_path;
    if (part != NULL && (flags & O_CREAT) && strstr(path, part) != NULL)
        return refuse(EIO);
    int fd = scr_sys_posix.openat(dirfd, path, flags, mode);
    if (copy && fd >= 0 && fd < FDS) {
        is_copy[fd] = 1;
        int number = enter();
        while (c->hold && number > c->pass)
            usleep(1000);
    }
    if (copy && fd >= 0 && c->dead) {
        pfs_sys.close(fd);
        return refuse(EIO);
    }
    return fd;
}

static int p_close(int fd)
{
    if (fd >= 0 && fd < FDS && is_copy[fd]) {
        is_copy[fd] = 0;
        leave();
    }
    return scr_sys_posix.close(fd);
}

static ssize_t p_write(int fd, const void *buf, size_t n)
{
    if (fd >= 0 && fd < FDS && is_copy[fd]) {
        if (c->slow_us > 0)
            usleep((useconds_t)c->slow_us);
        if (c->write_error)
            return refuse(c->write_error);
    }
    return scr_sys_posix.write(fd, buf, n);
}

/* The rest is forwarded as it stands. */
struct scr_sys pfs_sys;

void pfs_die(void)
{
    c->dead = 1; /* nor does it make empty files */
    c->write_error = EIO;
    c->hold = 0;
}

void pfs_reset(void)
{
    pfs_sys = scr_sys_posix;
    pfs_sys.openat = p_openat;
    pfs_sys.close = p_close;
    pfs_sys.write = p_write;
    c->pass = c->hold = c->dead = c->meet = c->slow_us = c->write_error =
        c->open_error = 0;
    c->opened = c->open_now = 0;
    c->fail_path = NULL;
    c->together = NULL;
}
