/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of the C library that rename, remove, change and ask about files by name.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scr.h"
#include "wrap.h"

/* Paths that were made are freed, and errno stays. */
static int done(int rc, char *a, char *b)
{
    int cause = errno;
    free(a);
    free(b);
    errno = cause;
    return rc;
}

static int exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

/* --- rename --- */

/* The errno for an operation that flags of renameat2 forbid. Nothing of ours is
 * exchanged: there are file systems that cannot do it either. */
static int refused(const char *from, const char *to, unsigned flags)
{
    if (flags == 0 || (!scr_ip_forms_checkpoint(from) && !scr_ip_forms_checkpoint(to)))
        return 0;
    if (flags != RENAME_NOREPLACE)
        return EINVAL;
    return !exists(from) ? ENOENT : exists(to) ? EEXIST : 0;
}

/* 1: *rc is the result. */
static int rename_ours(int from_dir, const char *from, int to_dir, const char *to,
                       unsigned flags, int *rc)
{
    char *made_from = NULL, *made_to = NULL;
    if (!scr_ip_is_candidate(from) && !scr_ip_is_candidate(to))
        return 0;
    const char *a = scr_ip_path_at(from_dir, from, &made_from);
    const char *b = scr_ip_path_at(to_dir, to, &made_to);
    int error = a && b ? refused(a, b, flags) : 0;
    int ours = error != 0 || (a && b && scr_ip_rename(a, b, rc));
    if (error != 0) {
        errno = error;
        *rc = -1;
    }
    return done(ours, made_from, made_to);
}

/* A call whose result is in rc if `ours` is not 0; else the C library makes it. */
#define WRAP(name, params, args, ours)                                                 \
    SCR_API int name params                                                            \
    {                                                                                  \
        int rc, cause = errno;                                                         \
        if (FROM_PROGRAM && (ours))                                                    \
            return rc;                                                                 \
        errno = cause;                                                                 \
        return scr_ip_real()->name args;                                               \
    }
WRAP(rename, (const char *from, const char *to), (from, to),
     rename_ours(AT_FDCWD, from, AT_FDCWD, to, 0, &rc))
WRAP(renameat, (int from_dir, const char *from, int to_dir, const char *to),
     (from_dir, from, to_dir, to), rename_ours(from_dir, from, to_dir, to, 0, &rc))
WRAP(renameat2,
     (int from_dir, const char *from, int to_dir, const char *to, unsigned flags),
     (from_dir, from, to_dir, to, flags),
     rename_ours(from_dir, from, to_dir, to, flags, &rc))

/* --- remove --- */

WRAP(unlink, (const char *path), (path), scr_ip_unlink(path, &rc))
WRAP(remove, (const char *path), (path), scr_ip_unlink(path, &rc))

SCR_API int unlinkat(int dir, const char *path, int flags)
{
    int rc, cause = errno;
    char *made = NULL;
    const char *at = FROM_PROGRAM && (flags & AT_REMOVEDIR) == 0
                         ? scr_ip_candidate_at(dir, path, &made)
                         : NULL;
    if (at && scr_ip_unlink(at, &rc))
        return done(rc, made, NULL);
    free(made);
    errno = cause;
    return scr_ip_real()->unlinkat(dir, path, flags);
}

/* --- calls that are made of others --- */

static int open_ours(const char *path, int flags)
{
    return scr_ip_open_any(scr_ip_real()->open64, path, flags | O_CLOEXEC, 0600);
}

/* Closes fd; 0 if that and what came before was good, else -1 and the first errno. */
static int close_after(int rc, int fd)
{
    int cause = errno;
    int closed = fd >= 0 ? close(fd) : 0;
    errno = rc != 0 ? cause : errno;
    return rc != 0 ? rc : closed;
}

static void remove_ours(const char *path)
{
    int rc, cause = errno;
    if (!scr_ip_unlink(path, &rc))
        (void)scr_ip_real()->unlink(path);
    errno = cause;
}

/* As the program would copy it; nothing is left of a copy that failed. */
static int copy_as_program(const char *from, const char *to)
{
    struct stat st;
    struct scr_err err = SCR_ERR_INIT;
    int in = open_ours(from, O_RDONLY), out = -1;
    int rc = in < 0 ? -1 : fstat(in, &st);
    if (rc == 0)
        rc = (out = open_ours(to, O_WRONLY | O_CREAT | O_EXCL)) < 0 ? -1 : 0;
    if (rc == 0)
        rc = fchmod(out, st.st_mode & 07777);
    if (rc == 0 && scr_ip_copy_fd(in, out, to, &err) != SCR_OK) {
        errno = err.sys ? err.sys : EIO;
        rc = -1;
    }
    if (rc != 0 && out >= 0)
        remove_ours(to); /* once it is closed it is a file of its checkpoint */
    return close_after(close_after(rc, out), in);
}

static int is_regular(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* A second name of a file in cache would be one of a file of SCR: it becomes a copy. */
static int link_ours(const char *from, const char *to, int *rc)
{
    if (!scr_ip_is_candidate(from) && !scr_ip_is_candidate(to))
        return 0;
    char *place = scr_ip_look(from);
    int ours = is_regular(place ? place : from) &&
               (place != NULL || scr_ip_forms_checkpoint(to));
    free(place);
    if (ours)
        *rc = copy_as_program(from, to);
    return ours;
}

WRAP(link, (const char *from, const char *to), (from, to), link_ours(from, to, &rc))

SCR_API int linkat(int from_dir, const char *from, int to_dir, const char *to,
                   int flags)
{
    int rc, ours, cause = errno;
    char *made_from, *made_to;
    if (!FROM_PROGRAM || (flags & AT_EMPTY_PATH) != 0)
        return scr_ip_real()->linkat(from_dir, from, to_dir, to, flags);
    const char *a = scr_ip_path_at(from_dir, from, &made_from);
    const char *b = scr_ip_path_at(to_dir, to, &made_to);
    ours = a && b && link_ours(a, b, &rc);
    done(0, made_from, made_to);
    if (ours)
        return rc;
    errno = cause;
    return scr_ip_real()->linkat(from_dir, from, to_dir, to, flags);
}

static int cut(const char *path, off64_t length)
{
    int fd = open_ours(path, O_WRONLY);
    return fd < 0 ? -1 : close_after(ftruncate64(fd, length), fd);
}

#define TRUNCATE(name, offset)                                                         \
    SCR_API int name(const char *path, offset length)                                  \
    {                                                                                  \
        int cause = errno;                                                             \
        if (FROM_PROGRAM && scr_ip_forms_checkpoint(path))                             \
            return cut(path, length);                                                  \
        errno = cause;                                                                 \
        return scr_ip_real()->name(path, length);                                      \
    }
TRUNCATE(truncate, off_t)
TRUNCATE(truncate64, off64_t)

/* --- questions --- */

/* They are asked where this process has the file. A change is also made in the prefix
 * directory, where the file may have been flushed. */
#define ASK(...)    QUESTION(0, __VA_ARGS__)
#define CHANGE(...) QUESTION(1, __VA_ARGS__)
#define QUESTION(changes, name, params, plain_args, place_args)                        \
    SCR_API int name params;                                                           \
    SCR_API int name params                                                            \
    {                                                                                  \
        int rc, cause = errno, tries = SCR_IP_TRIES;                                   \
        char *place = NULL;                                                            \
        do {                                                                           \
            free(place);                                                               \
            place = FROM_PROGRAM ? LOOK : NULL;                                        \
            errno = cause;                                                             \
            rc = place ? scr_ip_real()->name place_args                                \
                       : scr_ip_real()->name plain_args;                               \
        } while (place && rc != 0 && errno == ENOENT && --tries > 0);                  \
        cause = errno;                                                                 \
        if (changes && place && rc == 0)                                               \
            (void)scr_ip_real()->name plain_args;                                      \
        errno = cause;                                                                 \
        return done(rc, place, NULL);                                                  \
    }
#define LOOK scr_ip_look(path)
CHANGE(chmod, (const char *path, mode_t mode), (path, mode), (place, mode))
CHANGE(chown, (const char *path, uid_t user, gid_t group), (path, user, group),
       (place, user, group))
CHANGE(lchown, (const char *path, uid_t user, gid_t group), (path, user, group),
       (place, user, group))
CHANGE(utime, (const char *path, const struct utimbuf *when), (path, when),
       (place, when))
CHANGE(utimes, (const char *path, const struct timeval when[2]), (path, when),
       (place, when))
ASK(access, (const char *path, int mode), (path, mode), (place, mode))
ASK(eaccess, (const char *path, int mode), (path, mode), (place, mode))
ASK(euidaccess, (const char *path, int mode), (path, mode), (place, mode))
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

static char *look_at(int dir, const char *path)
{
    char *made;
    const char *at = scr_ip_candidate_at(dir, path, &made);
    char *place = at ? scr_ip_look(at) : NULL;
    free(made);
    return place;
}

/* The same below a directory that is open; dir becomes AT_FDCWD where path changes. */
#undef LOOK
#define LOOK look_at(dir, path)
CHANGE(fchmodat, (int dir, const char *path, mode_t mode, int flags),
       (dir, path, mode, flags), (AT_FDCWD, place, mode, flags))
CHANGE(fchownat, (int dir, const char *path, uid_t user, gid_t group, int flags),
       (dir, path, user, group, flags), (AT_FDCWD, place, user, group, flags))
CHANGE(utimensat, (int dir, const char *path, const struct timespec when[2], int flags),
       (dir, path, when, flags), (AT_FDCWD, place, when, flags))
ASK(faccessat, (int dir, const char *path, int mode, int flags),
    (dir, path, mode, flags), (AT_FDCWD, place, mode, flags))
ASK(fstatat, (int dir, const char *path, struct stat *st, int flags),
    (dir, path, st, flags), (AT_FDCWD, place, st, flags))
ASK(fstatat64, (int dir, const char *path, struct stat64 *st, int flags),
    (dir, path, st, flags), (AT_FDCWD, place, st, flags))
ASK(statx, (int dir, const char *path, int flags, unsigned mask, struct statx *st),
    (dir, path, flags, mask, st), (AT_FDCWD, place, flags, mask, st))
