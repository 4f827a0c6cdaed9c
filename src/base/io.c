/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole reads and writes, and the atomic replacement of a file. */
#include "base/io.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/dir.h"
#include "base/path.h"
#include "base/str.h"
#include "base/units.h"

/* The kernel moves at most 2 GiB - 4 KiB a call anyway; this keeps a size in ssize_t.
 */
static const size_t most_at_once = (size_t)1 << 30;

static size_t slice(size_t n)
{
    return n < most_at_once ? n : most_at_once;
}

/* Lustre refuses to read and write where another node has a lock, if O_NONBLOCK is set.
 * Files of other kinds keep it, so that no process waits for the other end of a FIFO.
 */
static int let_wait(const struct scr_sys *sys, const char *path, int flags, int *fd,
                    struct stat *st, struct scr_err *err)
{
    int rc = scr_fd_stat(sys, *fd, st, path, err);
    if (rc != SCR_OK)
        (void)scr_close(sys, fd, path, NULL); /* nothing was written */
    else if (S_ISREG(st->st_mode))
        sys->set_blocking(*fd, flags);
    return rc;
}

static int open_path(const struct scr_sys *sys, const char *path, int flags,
                     mode_t mode, int *fd, struct scr_err *err)
{
    do
        *fd = sys->openat(AT_FDCWD, path, flags | O_CLOEXEC, mode);
    while (*fd < 0 && errno == EINTR);
    return *fd >= 0 ? SCR_OK : scr_fail(err, SCR_E_IO, errno, "open %s", path);
}

int scr_open(const struct scr_sys *sys, const char *path, int flags, mode_t mode,
             int *fd, struct scr_err *err)
{
    struct stat st;
    if (flags & O_NOFOLLOW)
        flags |= O_NONBLOCK | O_NOCTTY;
    TRY(open_path(sys, path, flags, mode, fd, err));
    return (flags & O_NONBLOCK) == 0 || (flags & O_EXCL)
               ? SCR_OK
               : let_wait(sys, path, flags, fd, &st, err);
}

int scr_open_regular(const struct scr_sys *sys, const char *path, int flags, int *fd,
                     struct stat *st, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    flags |= O_RDONLY | O_NONBLOCK | O_NOCTTY;
    int rc = open_path(sys, path, flags, 0, fd, &why);
    int other = why.sys == ELOOP || why.sys == ENXIO; /* a link, a socket */
    if (rc == SCR_OK)
        rc = let_wait(sys, path, flags, fd, st, &why);
    if (rc == SCR_OK && S_ISREG(st->st_mode))
        return SCR_OK;
    (void)scr_close(sys, fd, path, NULL); /* nothing was written */
    if (rc == SCR_OK || other)
        return scr_fail(err, SCR_E_UNSAFE, 0, "open %s: not a regular file", path);
    if (err != NULL && err->code == SCR_OK)
        *err = why;
    return rc;
}

int scr_close(const struct scr_sys *sys, int *fd, const char *path, struct scr_err *err)
{
    if (*fd < 0)
        return SCR_OK;
    int rc = sys->close(*fd);
    *fd = -1; /* closed on Linux whatever close returned, so never tried again */
    return rc == 0 ? SCR_OK : scr_fail(err, SCR_E_IO, errno, "close %s", path);
}

/* Reads until n bytes are there or the file ends; off NULL: at the current offset. */
static int read_until(const struct scr_fd *f, char *p, size_t n, const off_t *off,
                      size_t *got, struct scr_err *err)
{
    *got = 0;
    while (*got < n) {
        size_t most = slice(n - *got);
        ssize_t r = off == NULL
                        ? f->sys->read(f->fd, p + *got, most)
                        : f->sys->pread(f->fd, p + *got, most, *off + (off_t)*got);
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return scr_fail(err, SCR_E_IO, errno, "read %s", f->path);
        if (r == 0)
            break;
        *got += (size_t)r;
    }
    return SCR_OK;
}

/* Writes n bytes; off NULL: at the current offset. */
static int write_until(const struct scr_fd *f, const char *p, size_t n,
                       const off_t *off, struct scr_err *err)
{
    size_t done = 0;
    while (done < n) {
        size_t most = slice(n - done);
        ssize_t put = off == NULL
                          ? f->sys->write(f->fd, p + done, most)
                          : f->sys->pwrite(f->fd, p + done, most, *off + (off_t)done);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0) /* a write of nothing would be tried for ever */
            return scr_fail(err, SCR_E_IO, put < 0 ? errno : EIO, "write %s", f->path);
        done += (size_t)put;
    }
    return SCR_OK;
}

int scr_pread_upto(const struct scr_fd *f, void *buf, size_t n, off_t off, size_t *got,
                   struct scr_err *err)
{
    return read_until(f, buf, n, &off, got, err);
}

int scr_read_upto(const struct scr_fd *f, void *buf, size_t n, size_t *got,
                  struct scr_err *err)
{
    return read_until(f, buf, n, NULL, got, err);
}

int scr_pread_all(const struct scr_fd *f, void *buf, size_t n, off_t off,
                  struct scr_err *err)
{
    size_t got;
    int rc = read_until(f, buf, n, &off, &got, err);
    if (rc == SCR_OK && got < n)
        return scr_fail(err, SCR_E_MISSING, 0,
                        "read %s: ends at byte %lld, %zu bytes too early", f->path,
                        (long long)off + (long long)got, n - got);
    return rc;
}

int scr_pwrite_all(const struct scr_fd *f, const void *buf, size_t n, off_t off,
                   struct scr_err *err)
{
    return write_until(f, buf, n, &off, err);
}

int scr_write_all(const struct scr_fd *f, const void *buf, size_t n,
                  struct scr_err *err)
{
    return write_until(f, buf, n, NULL, err);
}

int scr_rewind(const struct scr_sys *sys, int fd, const char *path, struct scr_err *err)
{
    return sys->lseek(fd, 0, SEEK_SET) == 0
               ? SCR_OK
               : scr_fail(err, SCR_E_IO, errno, "rewind %s", path);
}

int scr_resize(const struct scr_sys *sys, int fd, uint64_t n, const char *path,
               struct scr_err *err)
{
    int rc;
    do
        rc = sys->ftruncate(fd, (off_t)n);
    while (rc != 0 && errno == EINTR);
    return rc == 0 ? SCR_OK : scr_fail(err, SCR_E_IO, errno, "resize %s", path);
}

int scr_fsync(const struct scr_sys *sys, int fd, const char *path, struct scr_err *err)
{
    int rc;
    do
        rc = sys->fsync(fd);
    while (rc != 0 && errno == EINTR);
    return rc == 0 ? SCR_OK : scr_fail(err, SCR_E_IO, errno, "fsync %s", path);
}

int scr_file_sync(const struct scr_sys *sys, const char *path, struct scr_err *err)
{
    int fd;
    TRY(scr_open(sys, path, O_RDONLY | O_NOFOLLOW, 0, &fd, err));
    int rc = scr_fsync(sys, fd, path, err);
    return scr_first(rc, scr_close(sys, &fd, path, err));
}

/* --- loading --- */

/* Reads to the end of the file, growing *buf from its first size; the file may be
 * larger than fstat said (a journal that is appended to, a file of /proc). */
static int load_fd(const struct scr_fd *f, size_t size, size_t max, char **buf,
                   size_t *n, struct scr_err *err)
{
    *n = 0;
    for (;;) {
        char *p = scr_reallocarray(*buf, size + 1, 1);
        TRY(p ? SCR_OK : scr_no_memory(err));
        *buf = p;
        size_t got;
        TRY(scr_read_upto(f, p + *n, size + 1 - *n, &got, err));
        *n += got;
        if (*n <= size)
            break;
        if (size >= max)
            return scr_fail(err, SCR_E_RANGE, 0, "load %s: larger than %zu bytes",
                            f->path, max);
        size = size < max / 2 ? 2 * size + 4096 : max;
        if (size > max)
            size = max;
    }
    (*buf)[*n] = '\0';
    return SCR_OK;
}

static int load_once(const struct scr_sys *sys, const char *path, size_t max,
                     void **buf, size_t *n, struct scr_err *err)
{
    int fd = -1, rc;
    char *p = NULL;
    struct stat st;
    *buf = NULL;
    *n = 0;
    TRY_OUT(scr_open_regular(sys, path, 0, &fd, &st, err));
    if ((uint64_t)st.st_size > max)
        TRY_OUT(
            scr_fail(err, SCR_E_RANGE, 0, "load %s: larger than %zu bytes", path, max));
    rc = load_fd(SCR_FD(sys, fd, path), (size_t)st.st_size, max, &p, n, err);
out:
    (void)scr_close(sys, &fd, path, NULL); /* nothing was written */
    if (rc != SCR_OK) {
        free(p);
        *n = 0;
        return rc;
    }
    *buf = p;
    return SCR_OK;
}

/* A client of NFS opens by the name that it has cached, so a file that another node has
 * replaced can stay stale for seconds, however often it is opened. When it is the look
 * at a name that finds it stale, the client asks the server for the name again. */
static void look_again(const struct scr_sys *sys, const char *path, int tries)
{
    enum { NAP_MS = 5 };
    struct stat st;
    (void)scr_file_stat(sys, path, &st, NULL);
    scr_nap_ms(tries * NAP_MS);
}

int scr_file_load(const struct scr_sys *sys, const char *path, size_t max, void **buf,
                  size_t *n, struct scr_err *err)
{
    enum { TRIES = 20 }; /* a second in all */
    struct scr_err why = SCR_ERR_INIT;
    int rc = load_once(sys, path, max, buf, n, &why);
    for (int i = 0; rc != SCR_OK && why.sys == ESTALE && i < TRIES; i++) {
        look_again(sys, path, i);
        scr_err_clear(&why);
        rc = load_once(sys, path, max, buf, n, &why);
    }
    if (rc != SCR_OK && err != NULL && err->code == SCR_OK)
        *err = why;
    return rc;
}

/* --- replacing --- */

enum {
    TEMP_BASE =
        200, /* bytes of the name kept in a temporary name, to stay below NAME_MAX */
    TEMP_TRIES = 1000 /* temporaries of crashed namesakes to step over */
};

/* Creates "<dir>/.<base>.<pid>.<n>.tmp" with the first n that is free. Another host
 * may have a process of our pid, so the name alone proves nothing: O_EXCL does. */
static int temp_open(const struct scr_sys *sys, const char *path, mode_t mode,
                     char **temp, int *fd, struct scr_err *err)
{
    char *dir = scr_path_dir(path);
    for (int i = 0; dir != NULL && i < TEMP_TRIES; i++) {
        free(*temp);
        *temp = scr_asprintf("%s/.%.*s.%ld.%d.tmp", dir, TEMP_BASE, scr_path_base(path),
                             (long)getpid(), i);
        if (*temp == NULL)
            break;
        do
            *fd = sys->openat(AT_FDCWD, *temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                              mode);
        while (*fd < 0 && errno == EINTR);
        if (*fd >= 0 || errno != EEXIST) {
            free(dir);
            return *fd >= 0 ? SCR_OK
                            : scr_fail(err, SCR_E_IO, errno, "create %s", *temp);
        }
    }
    int rc = dir == NULL || *temp == NULL
                 ? scr_no_memory(err)
                 : scr_fail(err, SCR_E_EXIST, 0,
                            "replace %s: too many left-over temporary files like %s",
                            path, *temp);
    free(dir);
    return rc;
}

int scr_file_replace_by(const struct scr_sys *sys, const char *path, scr_writer writer,
                        const void *arg, struct scr_replace as, struct scr_err *err)
{
    int fd = -1, rc;
    char *temp = NULL;
    if ((rc = temp_open(sys, path, as.mode, &temp, &fd, err)) != SCR_OK) {
        free(temp);
        return rc;
    }
    rc = writer(SCR_FD(sys, fd, temp), arg, err);
    if (rc == SCR_OK && as.how == SCR_DURABLE)
        rc = scr_fsync(sys, fd, temp, err);
    if (rc == SCR_OK)
        rc = scr_close(sys, &fd, temp, err);
    if (rc == SCR_OK)
        rc = scr_file_rename(sys, temp, path, err);
    (void)scr_close(sys, &fd, temp, NULL); /* only open when it is thrown away */
    if (rc != SCR_OK)
        (void)scr_file_remove(sys, temp, NULL); /* the first error is reported */
    else if (as.how == SCR_DURABLE)
        rc = scr_dir_sync_parent(sys, path, err);
    free(temp);
    return rc;
}

struct bytes {
    const void *p;
    size_t n;
};

static int write_bytes(const struct scr_fd *f, const void *arg, struct scr_err *err)
{
    const struct bytes *b = arg;
    return scr_write_all(f, b->p, b->n, err);
}

int scr_file_replace(const struct scr_sys *sys, const char *path, const void *buf,
                     size_t n, struct scr_replace as, struct scr_err *err)
{
    const struct bytes b = { buf, n };
    return scr_file_replace_by(sys, path, write_bytes, &b, as, err);
}

int scr_file_append(const struct scr_sys *sys, const char *path, const void *buf,
                    size_t n, mode_t mode, struct scr_err *err)
{
    int fd = -1;
    TRY(scr_open(sys, path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, mode, &fd,
                 err));
    /* The first write carries everything; a second one, after a short write, either
     * completes the record or learns why it cannot be. */
    int rc = scr_write_all(SCR_FD(sys, fd, path), buf, n, err);
    return scr_first(rc, scr_close(sys, &fd, path, err));
}

/* --- names --- */

int scr_file_stat(const struct scr_sys *sys, const char *path, struct stat *st,
                  struct scr_err *err)
{
    if (sys->fstatat(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW) != 0)
        return scr_fail(err, SCR_E_IO, errno, "stat %s", path);
    return SCR_OK;
}

int scr_file_is_there(const struct scr_sys *sys, const char *path)
{
    struct stat st;
    return scr_file_stat(sys, path, &st, NULL) != SCR_E_NOENT;
}

int scr_file_remove_count(const struct scr_sys *sys, const char *path,
                          uint64_t *removed, struct scr_err *err)
{
    if (sys->unlinkat(AT_FDCWD, path, 0) == 0)
        ++*removed;
    else if (errno != ENOENT)
        return scr_fail(err, SCR_E_IO, errno, "remove %s", path);
    return SCR_OK;
}

int scr_file_remove(const struct scr_sys *sys, const char *path, struct scr_err *err)
{
    uint64_t removed = 0;
    return scr_file_remove_count(sys, path, &removed, err);
}

int scr_file_remove_durably(const struct scr_sys *sys, const char *path,
                            struct scr_err *err)
{
    char *dir = scr_path_dir(path);
    int rc;
    TRY_OUT(dir ? scr_file_remove(sys, path, err) : scr_no_memory(err));
    TRY_OUT(scr_dir_sync(sys, dir, err));
out:
    free(dir);
    return rc;
}

int scr_file_rename(const struct scr_sys *sys, const char *from, const char *to,
                    struct scr_err *err)
{
    if (sys->renameat(AT_FDCWD, from, AT_FDCWD, to) != 0)
        return scr_fail(err, SCR_E_IO, errno, "rename %s to %s", from, to);
    return SCR_OK;
}

/* 1 if the file system has no hard links, or none for us. */
static int is_no_link(int error)
{
    return error == EPERM || error == EOPNOTSUPP || error == ENOSYS || error == EMLINK;
}

/* A link takes no name that is taken. Without links a look before the rename has to do.
 */
int scr_file_rename_new(const struct scr_sys *sys, const char *from, const char *to,
                        struct scr_err *err)
{
    if (sys->linkat(AT_FDCWD, from, AT_FDCWD, to, 0) == 0) {
        (void)scr_file_remove(sys, from, NULL); /* a second name does no harm */
        return SCR_OK;
    }
    int error = errno;
    if (is_no_link(error) && !scr_file_is_there(sys, to))
        return scr_file_rename(sys, from, to, err);
    if (error == EEXIST || is_no_link(error))
        return scr_fail(err, SCR_E_EXIST, 0, "%s is there", to);
    return scr_fail(err, SCR_E_IO, error, "link %s to %s", from, to);
}

const char *scr_size_hint(uint64_t bytes, uint64_t recorded)
{
    return bytes <= recorded
               ? ""
               : " (was it written to after SCR_Complete_output, or closed "
                 "after it?)";
}
