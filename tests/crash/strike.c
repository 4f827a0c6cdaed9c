/* SPDX-License-Identifier: BSD-3-Clause */
#include "strike.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum kind {
    OPEN,
    CLOSE,
    READ,
    WRITE,
    SYNC,
    SIZE,
    RENAME,
    LINK,
    UNLINK,
    MKDIR,
    STAT,
    LIST,
    CHANGE, /* of several kinds */
    KINDS
};
static const char *const kinds[KINDS] = { "open", "close",  "read",  "write",  "sync",
                                          "size", "rename", "link",  "unlink", "mkdir",
                                          "stat", "list",   "change" };
enum { LOOKS = 0, CHANGES = 1, TAKES_ROOM = 2 }; /* what a call does */
enum how { GO, FAIL, SHORTEN, LIE, DIE_BEFORE, DIE_AFTER };

static const struct {
    const char *name;
    int error;
} errors[] = { { "EIO", EIO },     { "ENOSPC", ENOSPC }, { "EDQUOT", EDQUOT },
               { "EINTR", EINTR }, { "EROFS", EROFS },   { "ENOMEM", ENOMEM } };

/* Transfers make their calls from threads. */
static struct {
    int who, trace;
    char below[PATH_MAX], refused[PATH_MAX];
    atomic_int refusal; /* of changes below refused, 0: none */
    atomic_int kind;    /* KINDS: none is due */
    long n;
    enum how how;
    int error, for_good;
    void (*die)(void);
    atomic_long calls[KINDS];
} strike = { .trace = -1, .kind = KINDS };

struct call {
    enum kind kind;
    int is_met; /* it counts */
    enum how how;
};

/* --- what is to happen --- */

static void die_alone(void)
{
    raise(SIGKILL);
}

static int set_how(const char *how)
{
    size_t n = strcspn(how, "+");
    strike.how = strcmp(how, "before") == 0  ? DIE_BEFORE
                 : strcmp(how, "after") == 0 ? DIE_AFTER
                 : strcmp(how, "short") == 0 ? SHORTEN
                 : strcmp(how, "lie+") == 0  ? LIE
                                             : FAIL;
    strike.for_good = how[n] == '+';
    strike.error = 0;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (strlen(errors[i].name) == n && strncmp(how, errors[i].name, n) == 0)
            strike.error = errors[i].error;
    return strike.how != FAIL || strike.error != 0;
}

int strike_arm(const char *what, void (*die)(void))
{
    char kind[16] = "", how[16] = "";
    int k = 0;
    if (sscanf(what, "%15[a-z]:%ld:%15s", kind, &strike.n, how) != 3 || !set_how(how))
        return 0;
    while (k < KINDS && strcmp(kinds[k], kind) != 0)
        k++;
    strike.die = die != NULL ? die : die_alone;
    for (int i = 0; i < KINDS; i++)
        strike.calls[i] = 0;
    strike.kind = k;
    return k < KINDS;
}

void strike_spare(void)
{
    strike.kind = KINDS;
}

void strike_refuse(const char *dir, int error)
{
    snprintf(strike.refused, sizeof strike.refused, "%s/", dir);
    strike.refusal = error;
}

void strike_open(int who)
{
    const char *trace = getenv("TEST_TRACE"), *below = getenv("TEST_BELOW");
    strike.who = who;
    if (below != NULL)
        snprintf(strike.below, sizeof strike.below, "%s/", below);
    if (trace != NULL)
        strike.trace = (int)syscall(SYS_openat, AT_FDCWD, trace,
                                    O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

/* --- which call it is --- */

/* Where a descriptor leads, or AT_FDCWD, and a name from there. */
static void path_of(int fd, const char *name, char *path)
{
    char link[64], at[PATH_MAX] = "";
    if (fd == AT_FDCWD)
        snprintf(link, sizeof link, "/proc/self/cwd");
    else
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = 0;
    if (name == NULL || name[0] != '/')
        n = syscall(SYS_readlink, link, at, sizeof at - 1);
    at[n > 0 ? n : 0] = '\0';
    snprintf(path, 2 * PATH_MAX, "%s%s%s", at, at[0] != '\0' && name ? "/" : "",
             name != NULL ? name : "");
}

static int is_below(const char *path, const char *dir)
{
    return strncmp(path, dir, strlen(dir)) == 0;
}

/* Pipes and sockets are MPI's. */
static int is_file(int fd)
{
    struct stat st;
    return syscall(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH) == 0 &&
           (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
}

static int is_due(enum kind kind, long number)
{
    return strike.kind == (int)kind &&
           (number == strike.n || (strike.for_good && number > strike.n));
}

static void tell(const char *text, size_t n)
{
    if (strike.trace >= 0 && syscall(SYS_write, strike.trace, text, n) != (ssize_t)n)
        abort();
}

static void tell_struck(void)
{
    char line[64];
    tell(line, (size_t)snprintf(line, sizeof line, "%d\tstruck\n", strike.who));
}

/* Before a call. 0 with errno: it is not to be made. */
static int begins(struct call *c, int fd, const char *name, int does)
{
    static _Thread_local char path[2 * PATH_MAX];
    int saved = errno;
    if (strike.below[0] != '\0' || strike.refusal != 0)
        path_of(fd, name, path);
    c->is_met = is_below(path, strike.below) || strike.below[0] == '\0';
    if (c->is_met) {
        long number = ++strike.calls[c->kind];
        long change = does & CHANGES ? ++strike.calls[CHANGE] : 0;
        if (is_due(c->kind, number) || (change > 0 && is_due(CHANGE, change))) {
            c->how = strike.how;
            tell_struck();
        }
    }
    if (c->how == DIE_BEFORE)
        strike.die();
    errno = c->how == FAIL ? strike.error : saved;
    if (c->how == FAIL)
        return 0;
    if (strike.refusal == 0 || !(does & CHANGES) || !is_below(path, strike.refused) ||
        (strike.refusal == ENOSPC && !(does & TAKES_ROOM)))
        return 1;
    errno = strike.refusal;
    return 0;
}

/* --- the trace: WHO KIND RESULT PATH, and for a write offset and bytes, for a rename
 * or link the new path, for a size that --- */

static void tell_call(const struct call *c, long rc, const char *path, const char *more)
{
    static _Thread_local char line[5 * PATH_MAX];
    int n = snprintf(line, sizeof line, "%d\t%s\t%ld\t%s\t%s\n", strike.who,
                     kinds[c->kind], rc, path, more);
    tell(line, (size_t)n);
}

static void tell_bytes(long rc, int fd, const unsigned char *data, off_t at)
{
    char path[2 * PATH_MAX];
    path_of(fd, NULL, path);
    size_t size = strlen(path) + 2 * (size_t)rc + 100, n;
    char *line = malloc(size);
    if (line == NULL)
        abort();
    n = (size_t)snprintf(line, size, "%d\twrite\t%ld\t%s\t%ld ", strike.who, rc, path,
                         (long)at);
    for (long i = 0; i < rc; i++)
        n += (size_t)snprintf(line + n, 3, "%02x", data[i]);
    line[n++] = '\n';
    tell(line, n);
    free(line);
}

static long ends(const struct call *c, long rc)
{
    if (c->how == DIE_AFTER)
        strike.die();
    return rc;
}

static long told(const struct call *c, long rc, int fd, const char *name)
{
    int saved = errno;
    if (c->is_met && strike.trace >= 0) {
        char path[2 * PATH_MAX];
        path_of(fd, name, path);
        tell_call(c, rc, path, "");
    }
    errno = saved;
    return ends(c, rc);
}

static long wrote(const struct call *c, long rc, int fd, const void *data, off_t at)
{
    if (rc <= 0 || !c->is_met || strike.trace < 0)
        return told(c, rc, fd, NULL);
    if (at < 0)
        at = syscall(SYS_lseek, fd, 0, SEEK_CUR) - rc;
    tell_bytes(rc, fd, data, at);
    return ends(c, rc);
}

static size_t length(const struct call *c, size_t n)
{
    return c->how == SHORTEN ? (n + 1) / 2 : n;
}

/* --- the calls --- */

int openat(int dirfd, const char *name, int flags, ...)
{
    va_list ap;
    struct call c = { .kind = OPEN };
    va_start(ap, flags);
    mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    int makes = (flags & O_CREAT) && faccessat(dirfd, name, F_OK, 0) != 0;
    int writes = (flags & O_ACCMODE) != O_RDONLY || makes || (flags & O_TRUNC);
    if (!begins(&c, dirfd, name, (writes ? CHANGES : LOOKS) | TAKES_ROOM * makes))
        return -1;
    long fd = syscall(SYS_openat, dirfd, name, flags, mode);
    if (fd < 0 || !c.is_met || strike.trace < 0)
        return (int)told(&c, fd, dirfd, name);
    char path[2 * PATH_MAX];
    path_of(dirfd, name, path);
    tell_call(&c, fd, path, makes ? "new" : flags & O_TRUNC ? "0" : "");
    return (int)ends(&c, fd);
}

/* Closing fails after the fact, as it does on Linux. */
int close(int fd)
{
    struct call c = { .kind = CLOSE };
    if (fd < 0 || !is_file(fd))
        return (int)syscall(SYS_close, fd);
    int ok = begins(&c, fd, NULL, LOOKS), error = errno;
    told(&c, 0, fd, NULL);
    int rc = (int)syscall(SYS_close, fd);
    errno = ok ? errno : error;
    return ok ? rc : -1;
}

ssize_t read(int fd, void *data, size_t n)
{
    struct call c = { .kind = READ };
    if (!is_file(fd))
        return syscall(SYS_read, fd, data, n);
    if (!begins(&c, fd, NULL, LOOKS))
        return -1;
    return told(&c, syscall(SYS_read, fd, data, length(&c, n)), fd, NULL);
}

ssize_t pread(int fd, void *data, size_t n, off_t at)
{
    struct call c = { .kind = READ };
    if (!begins(&c, fd, NULL, LOOKS))
        return -1;
    return told(&c, syscall(SYS_pread64, fd, data, length(&c, n), at), fd, NULL);
}

ssize_t write(int fd, const void *data, size_t n)
{
    struct call c = { .kind = WRITE };
    if (!is_file(fd))
        return syscall(SYS_write, fd, data, n);
    if (!begins(&c, fd, NULL, CHANGES | TAKES_ROOM))
        return -1;
    return wrote(&c, syscall(SYS_write, fd, data, length(&c, n)), fd, data, -1);
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t at)
{
    struct call c = { .kind = WRITE };
    if (!begins(&c, fd, NULL, CHANGES | TAKES_ROOM))
        return -1;
    return wrote(&c, syscall(SYS_pwrite64, fd, data, length(&c, n), at), fd, data, at);
}

int fsync(int fd)
{
    struct call c = { .kind = SYNC };
    if (!begins(&c, fd, NULL, LOOKS))
        return -1;
    if (c.how == LIE)
        return 0;
    return (int)told(&c, syscall(SYS_fsync, fd), fd, NULL);
}

int ftruncate(int fd, off_t n)
{
    struct call c = { .kind = SIZE };
    char path[2 * PATH_MAX], size[32];
    if (!is_file(fd))
        return (int)syscall(SYS_ftruncate, fd, n);
    if (!begins(&c, fd, NULL, CHANGES | TAKES_ROOM))
        return -1;
    long rc = syscall(SYS_ftruncate, fd, n);
    if (rc != 0 || !c.is_met || strike.trace < 0)
        return (int)told(&c, rc, fd, NULL);
    path_of(fd, NULL, path);
    snprintf(size, sizeof size, "%ld", (long)n);
    tell_call(&c, rc, path, size);
    return (int)ends(&c, rc);
}

static int two_paths(struct call *c, const int fds[2], const char *const names[2],
                     int flags)
{
    char from[2 * PATH_MAX], to[2 * PATH_MAX];
    if (!begins(c, fds[1], names[1], CHANGES | TAKES_ROOM * (c->kind == LINK)))
        return -1;
    path_of(fds[0], names[0], from);
    path_of(fds[1], names[1], to);
    long rc = syscall(c->kind == LINK ? SYS_linkat : SYS_renameat2, fds[0], names[0],
                      fds[1], names[1], flags);
    int saved = errno;
    if (c->is_met)
        tell_call(c, rc, from, to);
    errno = saved;
    return (int)ends(c, rc);
}

int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
    struct call c = { .kind = RENAME };
    return two_paths(&c, (int[]){ from_fd, to_fd }, (const char *[]){ from, to }, 0);
}

int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
    struct call c = { .kind = LINK };
    return two_paths(&c, (int[]){ from_fd, to_fd }, (const char *[]){ from, to },
                     flags);
}

int unlinkat(int dirfd, const char *name, int flags)
{
    struct call c = { .kind = UNLINK };
    if (!begins(&c, dirfd, name, CHANGES))
        return -1;
    return (int)told(&c, syscall(SYS_unlinkat, dirfd, name, flags), dirfd, name);
}

int mkdirat(int dirfd, const char *name, mode_t mode)
{
    struct call c = { .kind = MKDIR };
    if (!begins(&c, dirfd, name, CHANGES | TAKES_ROOM))
        return -1;
    return (int)told(&c, syscall(SYS_mkdirat, dirfd, name, mode), dirfd, name);
}

int fstatat(int dirfd, const char *name, struct stat *st, int flags)
{
    struct call c = { .kind = STAT };
    if (!begins(&c, dirfd, name, LOOKS))
        return -1;
    return (int)told(&c, syscall(SYS_newfstatat, dirfd, name, st, flags), dirfd, name);
}

DIR *fdopendir(int fd)
{
    struct call c = { .kind = LIST };
    DIR *(*real)(int) = NULL;
    if (!begins(&c, fd, NULL, LOOKS))
        return NULL;
    *(void **)&real = dlsym(RTLD_NEXT, "fdopendir");
    told(&c, 0, fd, NULL);
    return real(fd);
}

#ifdef STRIKE_PRELOADED
__attribute__((constructor)) static void arm_command(void)
{
    const char *what = getenv("TEST_STRIKE");
    strike_open((int)getpid());
    if (what != NULL && !strike_arm(what, NULL))
        abort();
}
#endif
