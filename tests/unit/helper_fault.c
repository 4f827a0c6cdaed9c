/* SPDX-License-Identifier: BSD-3-Clause */
/* System calls that fail on demand. */
#include "helper_fault.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* Transfers make their calls from threads. */
static struct {
    atomic_int kind; /* enum test_kind */
    atomic_long n;   /* -1: none */
    atomic_int error;
    atomic_size_t most; /* bytes of a short transfer, when error is 0 */
    atomic_int how;     /* enum test_how */
    atomic_int fired;
    atomic_long calls[TEST_ANY + 1];
} fault = { .kind = TEST_ANY, .n = -1 };

static atomic_long open_fds;

static void arm(enum test_kind kind, long n, int error, size_t most, enum test_how how)
{
    fault.kind = kind;
    fault.n = n;
    fault.error = error;
    fault.most = most;
    fault.how = how;
    fault.fired = 0;
    for (int i = 0; i <= TEST_ANY; i++)
        fault.calls[i] = 0;
}

void test_fault_arm(enum test_kind kind, long n, int error, enum test_how how)
{
    arm(kind, n, error, 0, how);
}

void test_fault_short(enum test_kind kind, long n, size_t most, enum test_how how)
{
    arm(kind, n, 0, most, how);
}

int test_fault_off(void)
{
    fault.n = -1;
    return fault.fired;
}

long test_fault_count(enum test_kind kind)
{
    return fault.calls[kind];
}

long test_fault_open_fds(void)
{
    return open_fds;
}

/* Counts a call, of one kind or of two; 1 if it is the one (or one of those) to
 * disturb. */
static int disturbed(enum test_kind kind, enum test_kind also)
{
    long number = -1, n = fault.n;
    int chosen = fault.kind;
    const enum test_kind counted[] = { TEST_ANY, kind, also };
    for (int i = 0; i < (also == kind ? 2 : 3); i++) {
        long before = fault.calls[counted[i]]++;
        number = chosen == (int)counted[i] ? before : number;
    }
    if (n < 0 || number < 0)
        return 0;
    if (number != n && !(fault.how == TEST_FOREVER && number > n))
        return 0;
    fault.fired = 1;
    return 1;
}

/* 1 with errno if the call is to fail; a short fault shortens *most, where there is
 * one. */
static int fails_as(enum test_kind kind, enum test_kind also, size_t *most)
{
    if (!disturbed(kind, also))
        return 0;
    if (fault.error == 0) {
        if (most != NULL && fault.most < *most)
            *most = fault.most;
        return 0;
    }
    errno = fault.error;
    return 1;
}

static int fails(enum test_kind kind, size_t *most)
{
    return fails_as(kind, kind, most);
}

/* Closing fails after the fact, as it does on Linux. */
static int keep_error(int rc, int failed)
{
    if (!failed)
        return rc;
    errno = fault.error;
    return -1;
}

static int f_openat(int dirfd, const char *path, int flags, mode_t mode)
{
    if (fails(TEST_OPENAT, NULL))
        return -1;
    int fd = scr_sys_posix.openat(dirfd, path, flags, mode);
    open_fds += fd >= 0;
    return fd;
}

static int f_close(int fd)
{
    int failed = fails(TEST_CLOSE, NULL);
    int rc = scr_sys_posix.close(fd);
    open_fds -= rc == 0;
    return keep_error(rc, failed);
}

static ssize_t f_read(int fd, void *buf, size_t n)
{
    return fails(TEST_READ, &n) ? -1 : scr_sys_posix.read(fd, buf, n);
}

static ssize_t f_write(int fd, const void *buf, size_t n)
{
    return fails(TEST_WRITE, &n) ? -1 : scr_sys_posix.write(fd, buf, n);
}

static ssize_t f_pread(int fd, void *buf, size_t n, off_t off)
{
    return fails(TEST_PREAD, &n) ? -1 : scr_sys_posix.pread(fd, buf, n, off);
}

static ssize_t f_pwrite(int fd, const void *buf, size_t n, off_t off)
{
    return fails(TEST_PWRITE, &n) ? -1 : scr_sys_posix.pwrite(fd, buf, n, off);
}

static off_t f_lseek(int fd, off_t off, int whence)
{
    return fails(TEST_LSEEK, NULL) ? -1 : scr_sys_posix.lseek(fd, off, whence);
}

static int f_fsync(int fd)
{
    struct stat st;
    int dir = fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
    return fails_as(TEST_FSYNC, dir ? TEST_FSYNC_DIR : TEST_FSYNC, NULL)
               ? -1
               : scr_sys_posix.fsync(fd);
}

static int f_sync_file_range(int fd, off_t off, off_t n, unsigned int flags)
{
    return fails(TEST_SYNC_FILE_RANGE, NULL)
               ? -1
               : scr_sys_posix.sync_file_range(fd, off, n, flags);
}

static int f_ftruncate(int fd, off_t length)
{
    return fails(TEST_FTRUNCATE, NULL) ? -1 : scr_sys_posix.ftruncate(fd, length);
}

static int f_fstat(int fd, struct stat *st)
{
    return fails(TEST_FSTAT, NULL) ? -1 : scr_sys_posix.fstat(fd, st);
}

static int f_fstatat(int dirfd, const char *path, struct stat *st, int flags)
{
    return fails(TEST_FSTATAT, NULL) ? -1
                                     : scr_sys_posix.fstatat(dirfd, path, st, flags);
}

static int f_statvfs(const char *path, struct statvfs *st)
{
    return fails(TEST_STATVFS, NULL) ? -1 : scr_sys_posix.statvfs(path, st);
}

static int f_fstatfs(int fd, struct statfs *st)
{
    return fails(TEST_FSTATFS, NULL) ? -1 : scr_sys_posix.fstatfs(fd, st);
}

/* The characters of path up to its last component. */
static size_t dir_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? (size_t)(slash - path) : 0;
}

static int f_renameat(int olddir, const char *oldpath, int newdir, const char *newpath)
{
    size_t n = dir_length(oldpath);
    int near = olddir == newdir && n == dir_length(newpath) &&
               memcmp(oldpath, newpath, n) == 0;
    return fails_as(TEST_RENAMEAT, near ? TEST_RENAMEAT : TEST_RENAME_FAR, NULL)
               ? -1
               : scr_sys_posix.renameat(olddir, oldpath, newdir, newpath);
}

static int f_linkat(int olddir, const char *oldpath, int newdir, const char *newpath,
                    int flags)
{
    return fails(TEST_LINKAT, NULL)
               ? -1
               : scr_sys_posix.linkat(olddir, oldpath, newdir, newpath, flags);
}

static int f_unlinkat(int dirfd, const char *path, int flags)
{
    return fails(TEST_UNLINKAT, NULL) ? -1 : scr_sys_posix.unlinkat(dirfd, path, flags);
}

static int f_mkdirat(int dirfd, const char *path, mode_t mode)
{
    return fails(TEST_MKDIRAT, NULL) ? -1 : scr_sys_posix.mkdirat(dirfd, path, mode);
}

static int f_fchmod(int fd, mode_t mode)
{
    return fails(TEST_FCHMOD, NULL) ? -1 : scr_sys_posix.fchmod(fd, mode);
}

static int f_fchown(int fd, uid_t uid, gid_t gid)
{
    return fails(TEST_FCHOWN, NULL) ? -1 : scr_sys_posix.fchown(fd, uid, gid);
}

static int f_futimens(int fd, const struct timespec times[2])
{
    return fails(TEST_FUTIMENS, NULL) ? -1 : scr_sys_posix.futimens(fd, times);
}

static void f_set_blocking(int fd, int flags)
{
    scr_sys_posix.set_blocking(fd, flags);
}

static int f_flock(int fd, int op)
{
    return fails(TEST_SETLK, NULL) ? -1 : scr_sys_posix.flock(fd, op);
}

static int f_setlk(int fd, struct flock *lk)
{
    return fails(TEST_SETLK, NULL) ? -1 : scr_sys_posix.setlk(fd, lk);
}

static DIR *f_fdopendir(int fd)
{
    return fails(TEST_FDOPENDIR, NULL) ? NULL : scr_sys_posix.fdopendir(fd);
}

static struct dirent *f_readdir(DIR *dir)
{
    return fails(TEST_READDIR, NULL) ? NULL : scr_sys_posix.readdir(dir);
}

static int f_closedir(DIR *dir)
{
    int failed = fails(TEST_CLOSEDIR, NULL);
    int rc = scr_sys_posix.closedir(dir);
    open_fds -= rc == 0; /* of the descriptor that fdopendir took over */
    return keep_error(rc, failed);
}

const struct scr_sys test_fault_sys = {
    .openat = f_openat,
    .close = f_close,
    .read = f_read,
    .write = f_write,
    .pread = f_pread,
    .pwrite = f_pwrite,
    .lseek = f_lseek,
    .fsync = f_fsync,
    .sync_file_range = f_sync_file_range,
    .ftruncate = f_ftruncate,
    .fstat = f_fstat,
    .fstatat = f_fstatat,
    .statvfs = f_statvfs,
    .fstatfs = f_fstatfs,
    .renameat = f_renameat,
    .linkat = f_linkat,
    .unlinkat = f_unlinkat,
    .mkdirat = f_mkdirat,
    .fchmod = f_fchmod,
    .fchown = f_fchown,
    .futimens = f_futimens,
    .set_blocking = f_set_blocking,
    .setlk = f_setlk,
    .flock = f_flock,
    .fdopendir = f_fdopendir,
    .readdir = f_readdir,
    .closedir = f_closedir,
};

const struct test_lack test_lacks[TEST_LACKS] = {
    { TEST_FSTATFS, ENOSYS },
    { TEST_FSTATFS, EOPNOTSUPP },
    { TEST_SYNC_FILE_RANGE, ENOSYS },
    { TEST_SYNC_FILE_RANGE, EINVAL },
    { TEST_SYNC_FILE_RANGE, ESPIPE },
    { TEST_FSYNC_DIR, EINVAL },
    { TEST_FSYNC_DIR, EOPNOTSUPP },
    { TEST_LINKAT, EPERM }, /* FAT, some FUSE */
    { TEST_LINKAT, EOPNOTSUPP },
    { TEST_LINKAT, ENOSYS },
    { TEST_LINKAT, EMLINK },
    { TEST_RENAME_FAR, EXDEV },
    { TEST_FCHOWN, EPERM },
    { TEST_FCHOWN, EINVAL }, /* an owner that a user namespace has no number for */
    { TEST_STATVFS, ENOSYS },
    { TEST_STATVFS, EIO },
};
