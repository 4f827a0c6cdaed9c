/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of the real system calls. */
#include "base/sys.h"

#include <errno.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

/* Where the standard streams are closed, a file would take the place of one, and what
 * is printed would be written into it. */
static int above_streams(int low)
{
    int fd = fcntl(low, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int why = errno;
    (void)close(low);
    errno = why;
    return fd;
}

static int real_openat(int dirfd, const char *path, int flags, mode_t mode)
{
    int fd = openat(dirfd, path, flags, mode);
    return fd >= 0 && fd <= STDERR_FILENO ? above_streams(fd) : fd;
}

static void real_set_blocking(int fd, int flags)
{
    (void)fcntl(fd, F_SETFL, flags & O_APPEND); /* works for every open file */
}

static int real_setlk(int fd, struct flock *lk)
{
    lk->l_pid = 0; /* required of open-file-description locks */
    return fcntl(fd, F_OFD_SETLK, lk);
}

const struct scr_sys scr_sys_posix = {
    .openat = real_openat,
    .close = close,
    .read = read,
    .write = write,
    .pread = pread,
    .pwrite = pwrite,
    .lseek = lseek,
    .fsync = fsync,
    .sync_file_range = sync_file_range,
    .ftruncate = ftruncate,
    .fstat = fstat,
    .fstatat = fstatat,
    .statvfs = statvfs,
    .fstatfs = fstatfs,
    .renameat = renameat,
    .linkat = linkat,
    .unlinkat = unlinkat,
    .mkdirat = mkdirat,
    .fchmod = fchmod,
    .fchown = fchown,
    .futimens = futimens,
    .set_blocking = real_set_blocking,
    .setlk = real_setlk,
    .flock = flock,
    .fdopendir = fdopendir,
    .readdir = readdir,
    .closedir = closedir,
};
