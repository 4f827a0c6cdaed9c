/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole reads and writes, and the atomic replacement of a file. EINTR and short
 * transfers are retried; everything else is an error with the path in its text. */
#ifndef SCR_BASE_IO_H
#define SCR_BASE_IO_H

#include "base/err.h"
#include "base/sys.h"
#include <stddef.h>
#include <stdint.h>

/* Opens with O_CLOEXEC added; *fd is -1 on error, and with scr_sys_posix never one of
 * the standard streams. mode as in open(2). O_NOFOLLOW includes O_NONBLOCK and
 * O_NOCTTY: no FIFO is waited for. Regular files are blocking after the call. */
int scr_open(const struct scr_sys *sys, const char *path, int flags, mode_t mode,
             int *fd, struct scr_err *err);
/* Opens a regular file to be read, with O_NOFOLLOW in flags through no link (else 0);
 * *st is of it. SCR_E_UNSAFE: it is something else. */
int scr_open_regular(const struct scr_sys *sys, const char *path, int flags, int *fd,
                     struct stat *st, struct scr_err *err);
/* Closes *fd if it is >= 0 and sets it to -1. A failed close of a written file is
 * SCR_E_IO, also with EINTR: then it is not known whether the bytes arrived. */
int scr_close(const struct scr_sys *sys, int *fd, const char *path,
              struct scr_err *err);

/* An open file, and what messages call it. */
struct scr_fd {
    const struct scr_sys *sys;
    int fd;
    const char *path;
};
#define SCR_FD(sys, fd, path) (&(const struct scr_fd){ sys, fd, path })

/* Exactly n bytes at off; end of file before that is SCR_E_MISSING. */
int scr_pread_all(const struct scr_fd *f, void *buf, size_t n, off_t off,
                  struct scr_err *err);
int scr_pwrite_all(const struct scr_fd *f, const void *buf, size_t n, off_t off,
                   struct scr_err *err);
/* At off, whatever the current offset is; stops at end of file and sets *got. */
int scr_pread_upto(const struct scr_fd *f, void *buf, size_t n, off_t off, size_t *got,
                   struct scr_err *err);
/* At the current offset; the read stops at end of file and sets *got. */
int scr_read_upto(const struct scr_fd *f, void *buf, size_t n, size_t *got,
                  struct scr_err *err);
int scr_write_all(const struct scr_fd *f, const void *buf, size_t n,
                  struct scr_err *err);
/* The next read or write begins at byte 0. */
int scr_rewind(const struct scr_sys *sys, int fd, const char *path,
               struct scr_err *err);
/* Cuts or extends an open file to n bytes. */
int scr_resize(const struct scr_sys *sys, int fd, uint64_t n, const char *path,
               struct scr_err *err);
int scr_fsync(const struct scr_sys *sys, int fd, const char *path, struct scr_err *err);
/* The same of the file at path, through no link. */
int scr_file_sync(const struct scr_sys *sys, const char *path, struct scr_err *err);

/* The whole file into a malloc'd buffer (one NUL byte is appended, not counted in *n).
 * A file larger than max bytes is SCR_E_RANGE; an absent one SCR_E_NOENT; a directory
 * or device SCR_E_UNSAFE; *buf is NULL then. Never waits on a FIFO. A stale file
 * (ESTALE: another node has replaced it) is opened again. */
int scr_file_load(const struct scr_sys *sys, const char *path, size_t max, void **buf,
                  size_t *n, struct scr_err *err);

enum scr_durability {
    SCR_VOLATILE = 0, /* node-local: renamed into place, not synced */
    SCR_DURABLE = 1   /* file fsynced, renamed, directory fsynced (invariant D1) */
};

struct scr_replace {
    mode_t mode;
    enum scr_durability how;
};
/* Replaces path atomically: its own temporary ".<base>.<pid>.<n>.tmp" in the same
 * directory (O_EXCL, so any number of processes may replace one path at once, the last
 * one wins), write, [fsync], rename, [fsync directory]. On error path keeps its old
 * content and the temporary is gone; only when the very last step, the sync of the
 * directory, fails is the new content there. A crash may leave the temporary. A
 * symbolic link at path is itself replaced. */
int scr_file_replace(const struct scr_sys *sys, const char *path, const void *buf,
                     size_t n, struct scr_replace as, struct scr_err *err);
/* The same of what the call writes to f. */
typedef int (*scr_writer)(const struct scr_fd *f, const void *arg, struct scr_err *err);
int scr_file_replace_by(const struct scr_sys *sys, const char *path, scr_writer writer,
                        const void *arg, struct scr_replace as, struct scr_err *err);

/* One write() with O_APPEND | O_CREAT of all n bytes (logs, journals); only after a
 * short write a second one. An error may leave part of the record at the end. Follows
 * no symbolic link, and waits for no reader of a FIFO. */
int scr_file_append(const struct scr_sys *sys, const char *path, const void *buf,
                    size_t n, mode_t mode, struct scr_err *err);

/* Size and kind. Absent: SCR_E_NOENT. Follows no symbolic link. */
int scr_file_stat(const struct scr_sys *sys, const char *path, struct stat *st,
                  struct scr_err *err);
/* For the end of a message about a file of another size than is recorded: what its
 * program may have done, "" for what is shorter. */
const char *scr_size_hint(uint64_t bytes, uint64_t recorded);
/* 0: there is nothing at path; 1: there is, if only a symbolic link, or it is not
 * known, for example because a component of the path is a file. */
int scr_file_is_there(const struct scr_sys *sys, const char *path);
/* Removes a file; an absent one is success. */
int scr_file_remove(const struct scr_sys *sys, const char *path, struct scr_err *err);
/* The same; adds 1 to *removed if the file existed. */
int scr_file_remove_count(const struct scr_sys *sys, const char *path,
                          uint64_t *removed, struct scr_err *err);
/* Removes a file and syncs its directory, which must exist: a crash does not bring the
 * file back. Out of memory nothing is changed. */
int scr_file_remove_durably(const struct scr_sys *sys, const char *path,
                            struct scr_err *err);
int scr_file_rename(const struct scr_sys *sys, const char *from, const char *to,
                    struct scr_err *err);
/* Renames without replacing: SCR_E_EXIST, and both unchanged, if something exists at
 * to. On file systems without hard links a file that is created there at the same
 * moment is replaced. */
int scr_file_rename_new(const struct scr_sys *sys, const char *from, const char *to,
                        struct scr_err *err);

#endif
