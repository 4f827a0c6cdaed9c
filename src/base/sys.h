/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of system calls. Every file-system call of SCR goes through one, so that a
 * test can make the n-th one fail. Members have the meaning, return values and errno of
 * the POSIX calls they are named after. Only src/base calls them directly; higher
 * layers use io.h, dir.h, lock.h and the object headers. */
#ifndef SCR_BASE_SYS_H
#define SCR_BASE_SYS_H

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <time.h>

struct scr_sys {
    int (*openat)(int dirfd, const char *path, int flags, mode_t mode);
    int (*close)(int fd);
    ssize_t (*read)(int fd, void *buf, size_t n);
    ssize_t (*write)(int fd, const void *buf, size_t n);
    ssize_t (*pread)(int fd, void *buf, size_t n, off_t off);
    ssize_t (*pwrite)(int fd, const void *buf, size_t n, off_t off);
    off_t (*lseek)(int fd, off_t off, int whence);
    int (*fsync)(int fd);
    int (*sync_file_range)(int fd, off_t off, off_t n, unsigned int flags);
    int (*ftruncate)(int fd, off_t length);
    int (*fstat)(int fd, struct stat *st);
    int (*fstatat)(int dirfd, const char *path, struct stat *st, int flags);
    int (*statvfs)(const char *path, struct statvfs *st);
    int (*fstatfs)(int fd, struct statfs *st);
    int (*renameat)(int olddir, const char *oldpath, int newdir, const char *newpath);
    int (*linkat)(int olddir, const char *oldpath, int newdir, const char *newpath,
                  int flags);
    int (*unlinkat)(int dirfd, const char *path, int flags);
    int (*mkdirat)(int dirfd, const char *path, mode_t mode);
    int (*fchmod)(int fd, mode_t mode);
    int (*fchown)(int fd, uid_t uid, gid_t gid);
    int (*futimens)(int fd, const struct timespec times[2]);
    void (*set_blocking)(int fd, int flags); /* clears O_NONBLOCK; flags: of openat */
    int (*setlk)(int fd,
                 struct flock *lk); /* non-blocking open-file-description lock */
    int (*flock)(int fd, int op);
    DIR *(*fdopendir)(int fd);
    struct dirent *(*readdir)(DIR *dir);
    int (*closedir)(DIR *dir);
};

/* The real calls. */
extern const struct scr_sys scr_sys_posix;

#endif
