/* SPDX-License-Identifier: BSD-3-Clause */
#include "mishap.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
    int rank, n, pids[MISHAP_MOST];
    char mark[PATH_MAX];
    int alone;
    atomic_int left; /* changes until the death, 0: none is due */
    char dir[PATH_MAX];
    atomic_int error; /* of changes below it, 0: none */
} mishap;

void mishap_job(const char *journal)
{
    int pid = (int)getpid();
    MPI_Comm_rank(MPI_COMM_WORLD, &mishap.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &mishap.n);
    if (mishap.n > MISHAP_MOST)
        MPI_Abort(MPI_COMM_WORLD, 2);
    snprintf(mishap.mark, sizeof mishap.mark, "%s.died", journal);
    MPI_Allgather(&pid, 1, MPI_INT, mishap.pids, 1, MPI_INT, MPI_COMM_WORLD);
}

void mishap_refuse(const char *dir, int error)
{
    snprintf(mishap.dir, sizeof mishap.dir, "%s/", dir);
    mishap.error = error;
}

static void die_later(const char *when, int alone)
{
    int rank = -1, changes = 0;
    if (sscanf(when, "%d:%d", &rank, &changes) != 2 || rank != mishap.rank)
        return;
    mishap.alone = alone;
    mishap.left = changes;
}

int mishap_step(const char *what, const char *arg)
{
    if (strcmp(what, "heal") == 0)
        mishap.error = 0;
    else if (strcmp(what, "die") == 0)
        die_later(arg, 0);
    else if (strcmp(what, "alone") == 0)
        die_later(arg, 1);
    else if (strcmp(what, "full") == 0)
        mishap_refuse(arg, ENOSPC);
    else if (strcmp(what, "readonly") == 0)
        mishap_refuse(arg, EROFS);
    else
        return 0;
    return 1;
}

void mishap_spare(void)
{
    mishap.left = 0;
}

/* Stopped first, so that no process sees another one die. Of two that die at the same
 * time the first one makes the mark: else they could stop each other. */
static void die(void)
{
    long fd =
        syscall(SYS_openat, AT_FDCWD, mishap.mark, O_WRONLY | O_CREAT | O_EXCL, 0600);
    while (fd < 0 && errno == EEXIST)
        pause();
    if (fd >= 0)
        close((int)fd);
    for (int i = 0; i < mishap.n && !mishap.alone; i++)
        if (mishap.pids[i] != getpid())
            kill(mishap.pids[i], SIGSTOP);
    for (int i = 0; i < mishap.n && !mishap.alone; i++)
        if (mishap.pids[i] != getpid())
            kill(mishap.pids[i], SIGKILL);
    raise(SIGKILL);
}

/* Where a descriptor leads, or AT_FDCWD. */
static void path_of(int fd, char *path, size_t n)
{
    char link[64];
    if (fd == AT_FDCWD)
        snprintf(link, sizeof link, "/proc/self/cwd");
    else
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t got = readlink(link, path, n - 1);
    path[got > 0 ? got : 0] = '\0';
}

static int is_refused(int dirfd, const char *name)
{
    char at[PATH_MAX] = "", path[2 * PATH_MAX];
    if (mishap.error == 0)
        return 0;
    if (name == NULL || name[0] != '/')
        path_of(dirfd, at, sizeof at);
    snprintf(path, sizeof path, "%s/%s", at, name != NULL ? name : "");
    return strncmp(path + (name != NULL && name[0] == '/'), mishap.dir,
                   strlen(mishap.dir)) == 0;
}

/* takes_room: the change needs space. -1 with errno if it is refused. */
static int change(int dirfd, const char *name, int takes_room)
{
    if (mishap.left > 0 && atomic_fetch_sub(&mishap.left, 1) == 1)
        die();
    if ((mishap.error != ENOSPC || takes_room) && is_refused(dirfd, name)) {
        errno = mishap.error;
        return -1;
    }
    return 0;
}

/* Pipes and sockets are MPI's. */
static int is_file(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

/* --- the calls --- */

int openat(int dirfd, const char *path, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    int makes = (flags & O_CREAT) && faccessat(dirfd, path, F_OK, 0) != 0;
    int writes = (flags & O_ACCMODE) != O_RDONLY || makes || (flags & O_TRUNC);
    if (writes && change(dirfd, path, makes) != 0)
        return -1;
    return (int)syscall(SYS_openat, dirfd, path, flags, mode);
}

ssize_t write(int fd, const void *data, size_t n)
{
    if (is_file(fd) && change(fd, NULL, 1) != 0)
        return -1;
    return syscall(SYS_write, fd, data, n);
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t at)
{
    if (change(fd, NULL, 1) != 0)
        return -1;
    return syscall(SYS_pwrite64, fd, data, n, at);
}

int ftruncate(int fd, off_t n)
{
    if (is_file(fd) && change(fd, NULL, 1) != 0)
        return -1;
    return (int)syscall(SYS_ftruncate, fd, n);
}

int mkdirat(int dirfd, const char *path, mode_t mode)
{
    if (change(dirfd, path, 1) != 0)
        return -1;
    return (int)syscall(SYS_mkdirat, dirfd, path, mode);
}

int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
    if (change(to_fd, to, 0) != 0)
        return -1;
    return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, 0);
}

int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
    if (change(to_fd, to, 1) != 0)
        return -1;
    return (int)syscall(SYS_linkat, from_fd, from, to_fd, to, flags);
}

int unlinkat(int dirfd, const char *path, int flags)
{
    if (change(dirfd, path, 0) != 0)
        return -1;
    return (int)syscall(SYS_unlinkat, dirfd, path, flags);
}
