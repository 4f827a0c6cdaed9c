/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of the C library that open, close and double files, as programs make them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "scr.h"
#include "wrap.h"

/* --- opening by descriptor --- */

/* *moved: another thread has moved the file to read. */
static int open_once(scr_ip_open_fn *real, const char *path, int flags, mode_t mode,
                     int *moved)
{
    struct scr_ip_use use;
    int cause = errno;
    int ours = scr_ip_open(path, flags, &use);
    errno = cause;
    *moved = 0;
    if (!ours)
        return real(path, flags, mode);
    if (use.error != 0) {
        errno = use.error;
        return -1;
    }
    int fd = use.place ? scr_ip_real()->open64(use.place, use.flags, mode) : -1;
    cause = errno;
    *moved = use.file == NULL && fd < 0 && cause == ENOENT;
    int refused = scr_ip_opened(&use, fd);
    if (refused && fd >= 0)
        scr_ip_real()->close(fd);
    errno = use.error ? use.error : cause;
    if (use.error)
        return -1;
    return refused ? real(path, flags, mode) : fd;
}

int scr_ip_open_any(scr_ip_open_fn *real, const char *path, int flags, mode_t mode)
{
    int fd, moved, tries = SCR_IP_TRIES;
    do
        fd = open_once(real, path, flags, mode, &moved);
    while (moved && --tries > 0);
    return fd;
}

static mode_t mode_of(int flags, va_list ap)
{
    return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE
               ? va_arg(ap, mode_t)
               : 0;
}

#define OPEN(name)                                                                     \
    SCR_API int name(const char *path, int flags, ...)                                 \
    {                                                                                  \
        va_list ap;                                                                    \
        va_start(ap, flags);                                                           \
        mode_t mode = mode_of(flags, ap);                                              \
        va_end(ap);                                                                    \
        if (FROM_PROGRAM)                                                              \
            return scr_ip_open_any(scr_ip_real()->name, path, flags, mode);            \
        return scr_ip_real()->name(path, flags, mode);                                 \
    }
OPEN(open)
OPEN(open64)

/* Calls of programs compiled with _FORTIFY_SOURCE; never with O_CREAT. */
#define OPEN_2(name, plain)                                                            \
    SCR_API int name(const char *path, int flags);                                     \
    SCR_API int name(const char *path, int flags)                                      \
    {                                                                                  \
        if (FROM_PROGRAM)                                                              \
            return scr_ip_open_any(scr_ip_real()->plain, path, flags, 0);              \
        return scr_ip_real()->name(path, flags);                                       \
    }
OPEN_2(__open_2, open)
OPEN_2(__open64_2, open64)

const char *scr_ip_path_at(int dir, const char *path, char **made)
{
    *made = NULL;
    if (path == NULL || dir == AT_FDCWD || path[0] == '/')
        return path;
    return *made = scr_ip_below(dir, path);
}

const char *scr_ip_candidate_at(int dir, const char *path, char **made)
{
    *made = NULL;
    return scr_ip_is_candidate(path) ? scr_ip_path_at(dir, path, made) : NULL;
}

#define OPENAT(name, plain)                                                            \
    SCR_API int name(int dir, const char *path, int flags, ...)                        \
    {                                                                                  \
        char *made = NULL;                                                             \
        va_list ap;                                                                    \
        va_start(ap, flags);                                                           \
        mode_t mode = mode_of(flags, ap);                                              \
        va_end(ap);                                                                    \
        int cause = errno;                                                             \
        const char *at = FROM_PROGRAM ? scr_ip_candidate_at(dir, path, &made) : NULL;  \
        errno = cause;                                                                 \
        int fd = at ? scr_ip_open_any(scr_ip_real()->plain, at, flags, mode)           \
                    : scr_ip_real()->name(dir, path, flags, mode);                     \
        cause = errno;                                                                 \
        free(made);                                                                    \
        errno = cause;                                                                 \
        return fd;                                                                     \
    }
OPENAT(openat, open)
OPENAT(openat64, open64)

#define CREAT(name, plain)                                                             \
    SCR_API int name(const char *path, mode_t mode)                                    \
    {                                                                                  \
        if (FROM_PROGRAM)                                                              \
            return scr_ip_open_any(scr_ip_real()->plain, path,                         \
                                   O_WRONLY | O_CREAT | O_TRUNC, mode);                \
        return scr_ip_real()->name(path, mode);                                        \
    }
CREAT(creat, open)
CREAT(creat64, open64)

/* --- opening as a stream --- */

/* Flags of open(2) for a mode of fopen(3). */
static int flags_of(const char *mode)
{
    int plus = strchr(mode, '+') != NULL;
    int excl = strchr(mode, 'x') != NULL ? O_EXCL : 0;
    if (mode[0] == 'r')
        return plus ? O_RDWR : O_RDONLY;
    return (plus ? O_RDWR : O_WRONLY) | O_CREAT | excl |
           (mode[0] == 'w' ? O_TRUNC : O_APPEND);
}

/* The mode without 'x': what is staged has been looked for elsewhere. */
static const char *without_x(const char *mode, char *plain, size_t size)
{
    size_t n = 0;
    for (; *mode != '\0' && n + 1 < size; mode++)
        if (*mode != 'x')
            plain[n++] = *mode;
    plain[n] = '\0';
    return plain;
}

static struct scr_ip_file *closing_stream(FILE *old)
{
    int cause = errno;
    struct scr_ip_file *f = scr_ip_closing(old ? fileno(old) : -1);
    errno = cause;
    return f;
}

static void closed(struct scr_ip_file *f, int failed)
{
    int cause = errno;
    if (f)
        scr_ip_closed(f, failed);
    errno = cause;
}

/* One way of opening a stream, or reopening one. */
struct how {
    FILE *(*open)(const char *, const char *);
    FILE *(*reopen)(const char *, const char *, FILE *);
    FILE *old;  /* for reopen, else NULL */
    int closed; /* reopen was called, which closes it in any case */
};

static FILE *stream(struct how *how, const char *path, const char *mode)
{
    how->closed = 1;
    return how->old ? how->reopen(path, mode, how->old) : how->open(path, mode);
}

/* The staged file; one to reopen only if that can succeed: reopen closes. */
static FILE *staged_stream(struct how *how, const struct scr_ip_use *use,
                           const char *mode)
{
    char plain[16];
    if (use->place == NULL)
        return NULL;
    if (how->old) {
        int fd = scr_ip_real()->open64(use->place, use->flags | O_CLOEXEC, 0666);
        if (fd < 0)
            return NULL;
        scr_ip_real()->close(fd);
    }
    return stream(how, use->place, without_x(mode, plain, sizeof plain));
}

static FILE *open_stream_once(struct how *how, const char *path, const char *mode,
                              int *moved)
{
    struct scr_ip_use use;
    *moved = 0;
    int cause = errno;
    int ours = scr_ip_open(path, flags_of(mode), &use);
    errno = cause;
    if (!ours)
        return stream(how, path, mode);
    if (use.error != 0) {
        errno = use.error;
        return NULL;
    }
    FILE *f = staged_stream(how, &use, mode);
    cause = errno;
    *moved = use.file == NULL && f == NULL && cause == ENOENT;
    int refused = scr_ip_opened(&use, f ? fileno(f) : -1);
    if (refused && f && how->old == NULL)
        scr_ip_real()->fclose(f);
    errno = use.error ? use.error : cause;
    if (use.error)
        return NULL;
    return refused ? stream(how, path, mode) : f;
}

static FILE *open_stream(struct how *how, const char *path, const char *mode)
{
    FILE *f;
    int moved, tries = SCR_IP_TRIES;
    do
        f = open_stream_once(how, path, mode, &moved);
    while (moved && --tries > 0);
    return f;
}

#define FOPEN(name)                                                                    \
    SCR_API FILE *name(const char *path, const char *mode)                             \
    {                                                                                  \
        struct how how = { .open = scr_ip_real()->name };                              \
        if (FROM_PROGRAM && mode)                                                      \
            return open_stream(&how, path, mode);                                      \
        return how.open(path, mode);                                                   \
    }
FOPEN(fopen)
FOPEN(fopen64)

/* Also if we refuse to open it: what was written to it must not stay in memory. */
static FILE *reopen(struct how *how, const char *path, const char *mode)
{
    int failed = 0, cause = errno;
    struct scr_ip_file *was = closing_stream(how->old);
    if (was)
        failed = fflush(how->old) != 0; /* reopening does not report it */
    errno = cause;
    FILE *f = open_stream(how, path, mode);
    cause = errno;
    if (f == NULL && !how->closed)
        (void)stream(how, "", "r"); /* which fails */
    errno = cause;
    closed(was, failed);
    return f;
}

/* The previous stream is closed, also after an error; without a path only its
 * mode changes. */
#define FREOPEN(name)                                                                  \
    SCR_API FILE *name(const char *path, const char *mode, FILE *old)                  \
    {                                                                                  \
        struct how how = { .reopen = scr_ip_real()->name, .old = old };                \
        if (FROM_PROGRAM && path != NULL && mode != NULL && old != NULL)               \
            return reopen(&how, path, mode);                                           \
        return how.reopen(path, mode, old);                                            \
    }
FREOPEN(freopen)
FREOPEN(freopen64)

/* --- closing --- */

SCR_API int close(int fd)
{
    struct scr_ip_file *f = scr_ip_closing(fd);
    int rc = scr_ip_real()->close(fd);
    closed(f, rc != 0);
    return rc;
}

SCR_API int fclose(FILE *old)
{
    struct scr_ip_file *f = closing_stream(old);
    int rc = scr_ip_real()->fclose(old);
    closed(f, rc != 0);
    return rc;
}

/* --- second descriptors --- */

static int doubled(int from, int to)
{
    int cause = errno;
    if (to >= 0)
        scr_ip_duplicated(from, to);
    errno = cause;
    return to;
}

SCR_API int dup(int fd)
{
    return doubled(fd, scr_ip_real()->dup(fd));
}

SCR_API int dup2(int fd, int to)
{
    return doubled(fd, scr_ip_real()->dup2(fd, to));
}

SCR_API int dup3(int fd, int to, int flags)
{
    return doubled(fd, scr_ip_real()->dup3(fd, to, flags));
}

/* The third argument, if there is one, is an int or a pointer: as wide as a pointer it
 * is passed on well. */
#define FCNTL(name)                                                                    \
    SCR_API int name(int fd, int what, ...)                                            \
    {                                                                                  \
        va_list ap;                                                                    \
        va_start(ap, what);                                                            \
        void *arg = va_arg(ap, void *);                                                \
        va_end(ap);                                                                    \
        int rc = scr_ip_real()->name(fd, what, arg);                                   \
        return what == F_DUPFD || what == F_DUPFD_CLOEXEC ? doubled(fd, rc) : rc;      \
    }
FCNTL(fcntl)
FCNTL(fcntl64)
