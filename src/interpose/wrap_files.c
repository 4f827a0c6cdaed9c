/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of the C library on files, as programs call them. Each leaves errno as the
 * real call would. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interpose/files.h"
#include "scr.h"

#define FROM_PROGRAM scr_ip_is_program(__builtin_return_address(0))

/* --- opening by descriptor --- */

/* One of the real calls with two or three arguments; openat's come without theirs. */
typedef int open_fn(const char *, int, ...);

static int open_any(open_fn *real, const char *path, int flags, mode_t mode)
{
    struct scr_ip_use use;
    int cause = errno;
    int ours = scr_ip_open(path, flags, &use);
    errno = cause;
    if (!ours)
        return real(path, flags, mode);
    if (use.error != 0) {
        errno = use.error;
        return -1;
    }
    int fd = use.place ? scr_ip_real()->open64(use.place, use.flags, mode) : -1;
    cause = errno;
    int refused = scr_ip_opened(&use, fd);
    if (refused && fd >= 0)
        scr_ip_real()->close(fd);
    errno = use.error ? use.error : cause;
    if (use.error)
        return -1;
    return refused ? real(path, flags, mode) : fd;
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
            return open_any(scr_ip_real()->name, path, flags, mode);                   \
        return scr_ip_real()->name(path, flags, mode);                                 \
    }
OPEN(open)
OPEN(open64)

/* What programs that were compiled with _FORTIFY_SOURCE call; never with O_CREAT. */
#define OPEN_2(name, plain)                                                            \
    SCR_API int name(const char *path, int flags);                                     \
    SCR_API int name(const char *path, int flags)                                      \
    {                                                                                  \
        if (FROM_PROGRAM)                                                              \
            return open_any(scr_ip_real()->plain, path, flags, 0);                     \
        return scr_ip_real()->name(path, flags);                                       \
    }
OPEN_2(__open_2, open)
OPEN_2(__open64_2, open64)

/* A path below a directory that is open is not followed. */
#define OPENAT(name, plain)                                                            \
    SCR_API int name(int dir, const char *path, int flags, ...)                        \
    {                                                                                  \
        va_list ap;                                                                    \
        va_start(ap, flags);                                                           \
        mode_t mode = mode_of(flags, ap);                                              \
        va_end(ap);                                                                    \
        if (FROM_PROGRAM && (dir == AT_FDCWD || path[0] == '/'))                       \
            return open_any(scr_ip_real()->plain, path, flags, mode);                  \
        return scr_ip_real()->name(dir, path, flags, mode);                            \
    }
OPENAT(openat, open)
OPENAT(openat64, open64)

#define CREAT(name, plain)                                                             \
    SCR_API int name(const char *path, mode_t mode)                                    \
    {                                                                                  \
        if (FROM_PROGRAM)                                                              \
            return open_any(scr_ip_real()->plain, path, O_WRONLY | O_CREAT | O_TRUNC,  \
                            mode);                                                     \
        return scr_ip_real()->name(path, mode);                                        \
    }
CREAT(creat, open)
CREAT(creat64, open64)

/* --- opening as a stream --- */

typedef FILE *fopen_fn(const char *, const char *);

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
static FILE *open_stream(const char *place, const char *mode)
{
    char plain[16];
    size_t n = 0;
    for (; *mode != '\0' && n + 1 < sizeof plain; mode++)
        if (*mode != 'x')
            plain[n++] = *mode;
    plain[n] = '\0';
    return scr_ip_real()->fopen64(place, plain);
}

static FILE *fopen_any(fopen_fn *real, const char *path, const char *mode)
{
    struct scr_ip_use use;
    int cause = errno;
    int ours = scr_ip_open(path, flags_of(mode), &use);
    errno = cause;
    if (!ours)
        return real(path, mode);
    if (use.error != 0) {
        errno = use.error;
        return NULL;
    }
    FILE *f = use.place ? open_stream(use.place, mode) : NULL;
    cause = errno;
    int refused = scr_ip_opened(&use, f ? fileno(f) : -1);
    if (refused && f)
        scr_ip_real()->fclose(f);
    errno = use.error ? use.error : cause;
    if (use.error)
        return NULL;
    return refused ? real(path, mode) : f;
}

#define FOPEN(name)                                                                    \
    SCR_API FILE *name(const char *path, const char *mode)                             \
    {                                                                                  \
        if (FROM_PROGRAM && mode)                                                      \
            return fopen_any(scr_ip_real()->name, path, mode);                         \
        return scr_ip_real()->name(path, mode);                                        \
    }
FOPEN(fopen)
FOPEN(fopen64)

/* --- closing --- */

SCR_API int close(int fd)
{
    struct scr_ip_file *f = scr_ip_closing(fd);
    int rc = scr_ip_real()->close(fd);
    if (f) {
        int cause = errno;
        scr_ip_closed(f, rc != 0);
        errno = cause;
    }
    return rc;
}

SCR_API int fclose(FILE *stream)
{
    struct scr_ip_file *f = scr_ip_closing(stream ? fileno(stream) : -1);
    int rc = scr_ip_real()->fclose(stream);
    if (f) {
        int cause = errno;
        scr_ip_closed(f, rc != 0);
        errno = cause;
    }
    return rc;
}

/* --- names --- */

SCR_API int rename(const char *from, const char *to)
{
    int rc, cause = errno;
    if (FROM_PROGRAM && scr_ip_rename(from, to, &rc))
        return rc;
    errno = cause;
    return scr_ip_real()->rename(from, to);
}

#define UNLINK(name)                                                                   \
    SCR_API int name(const char *path)                                                 \
    {                                                                                  \
        int rc, cause = errno;                                                         \
        if (FROM_PROGRAM && scr_ip_unlink(path, &rc))                                  \
            return rc;                                                                 \
        errno = cause;                                                                 \
        return scr_ip_real()->name(path);                                              \
    }
UNLINK(unlink)
UNLINK(remove)

/* Questions about a file are asked where this process has it. */
#define ASK(name, params, plain_args, place_args)                                      \
    SCR_API int name params;                                                           \
    SCR_API int name params                                                            \
    {                                                                                  \
        int cause = errno;                                                             \
        char *place = FROM_PROGRAM ? scr_ip_look(path) : NULL;                         \
        errno = cause;                                                                 \
        if (place == NULL)                                                             \
            return scr_ip_real()->name plain_args;                                     \
        int rc = scr_ip_real()->name place_args;                                       \
        cause = errno;                                                                 \
        free(place);                                                                   \
        errno = cause;                                                                 \
        return rc;                                                                     \
    }
ASK(access, (const char *path, int mode), (path, mode), (place, mode))
ASK(stat, (const char *path, struct stat *st), (path, st), (place, st))
ASK(lstat, (const char *path, struct stat *st), (path, st), (place, st))
ASK(stat64, (const char *path, struct stat64 *st), (path, st), (place, st))
ASK(lstat64, (const char *path, struct stat64 *st), (path, st), (place, st))
ASK(__xstat, (int v, const char *path, struct stat *st), (v, path, st), (v, place, st))
ASK(__lxstat, (int v, const char *path, struct stat *st), (v, path, st), (v, place, st))
ASK(__xstat64, (int v, const char *path, struct stat64 *st), (v, path, st),
    (v, place, st))
ASK(__lxstat64, (int v, const char *path, struct stat64 *st), (v, path, st),
    (v, place, st))
