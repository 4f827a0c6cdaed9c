/* SPDX-License-Identifier: BSD-3-Clause */
/* A lock between processes: an open-file-description lock on a separate file. */
#include "base/lock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/io.h"
#include "base/str.h"
#include "base/units.h"

enum {
    FILE_MODE = 0666, /* cut by the umask: who may write the directory may lock it */
    HOST_BYTES = 48,
    /* The holder's line, always this long: one write, no truncation. */
    NOTE_BYTES = SCR_LOCK_NOTE - 1,
    FIRST_PAUSE_US = 500,  /* between tries; doubled up to … */
    LAST_PAUSE_US = 50000, /* … this, which bounds how late a freed lock is noticed */
    NOTES = 64             /* holders' lines of a file that is locked by keys */
};

/* The locked bytes of a lock file, and the place of the holder's name. */
struct part {
    off_t at, len; /* len 0: up to the end, wherever that is */
    off_t note;
};

static const struct part whole = { 0, 0, 0 };

/* One byte a key, far behind the lines. */
static struct part part_of(uint64_t key)
{
    return (struct part){ .at = (off_t)((UINT64_C(1) << 61) | (key >> 3)),
                          .len = 1,
                          .note = (off_t)(key % NOTES) * NOTE_BYTES };
}

static int check_regular(const struct scr_sys *sys, const char *path, int *fd,
                         struct scr_err *err)
{
    struct stat st;
    int rc = scr_fd_stat(sys, *fd, &st, path, err);
    if (rc == SCR_OK && !S_ISREG(st.st_mode))
        rc = scr_fail(err, SCR_E_UNSAFE, 0, "lock %s: not a regular file", path);
    if (rc != SCR_OK)
        (void)scr_close(sys, fd, path, NULL);
    return rc;
}

static int open_lock_file(const struct scr_sys *sys, const char *path, int *fd,
                          struct scr_err *err)
{
    int flags = O_RDWR | O_CREAT | O_NOFOLLOW;
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_open(sys, path, flags, FILE_MODE, fd, &why);
    if (rc != SCR_OK && why.sys == ELOOP)
        return scr_fail(err, SCR_E_UNSAFE, 0, "lock %s: refused, it is a symbolic link",
                        path);
    if (rc != SCR_OK)
        return scr_fail(err, SCR_E_IO, why.sys, "open %s", path);
    return check_regular(sys, path, fd, err);
}

/* A lock: of a part by type, or of the file itself by an operation of flock. */
struct want {
    short type;
    const struct part *part;
    int op;
};

/* 1 if the lock was taken, 0 if another has one in its way, -1 with errno. On a remote
 * file system a signal may come in between, and means nothing. */
static int try_lock(const struct scr_sys *sys, int fd, const struct want *want)
{
    struct flock lk = { .l_type = want->type, .l_whence = SEEK_SET };
    if (want->part != NULL) {
        lk.l_start = want->part->at;
        lk.l_len = want->part->len;
    }
    int rc;
    do
        rc = want->op != 0 ? sys->flock(fd, want->op) : sys->setlk(fd, &lk);
    while (rc != 0 && errno == EINTR);
    if (rc == 0)
        return 1;
    return errno == EAGAIN || errno == EACCES ? 0 : -1;
}

/* Sleeps, but not past the end; the next pause. */
static long pause_us(long us, double left_s)
{
    if ((double)us * 1e-6 > left_s)
        us = (long)(left_s * 1e6) + 1;
    struct timespec t = { us / 1000000, us % 1000000 * 1000 };
    nanosleep(&t, NULL);
    return 2 * us < LAST_PAUSE_US ? 2 * us : LAST_PAUSE_US;
}

static int wait_lock(const struct scr_sys *sys, int fd, const struct want *want,
                     int timeout_ms)
{
    double end = scr_now_mono() + 1e-3 * (double)timeout_ms;
    for (long us = FIRST_PAUSE_US;;) {
        int got = try_lock(sys, fd, want);
        if (got != 0)
            return got;
        double left = end - scr_now_mono();
        if (left <= 0)
            return 0;
        us = pause_us(us, left);
    }
}

static void name_host(char host[HOST_BYTES])
{
    memset(host, 0, HOST_BYTES);
    if (gethostname(host, HOST_BYTES - 1) != 0)
        host[0] = '?';
}

/* Leaves the holder's pid and host for those who wait in vain. The lock does not depend
 * on it, so failures only cost the hint; a wrong hint is taken away. */
static void sign(const struct scr_sys *sys, int fd, const struct part *part)
{
    char host[HOST_BYTES], note[NOTE_BYTES + 1];
    name_host(host);
    memset(note, ' ', NOTE_BYTES);
    int n = snprintf(note, NOTE_BYTES, "process %ld on %s", (long)getpid(), host);
    note[n] = ' ';
    note[NOTE_BYTES - 1] = '\n';
    if (scr_pwrite_all(SCR_FD(sys, fd, ""), note, NOTE_BYTES, part->note, NULL) !=
        SCR_OK)
        (void)sys->ftruncate(fd, 0);
}

/* The line of the holder, without its end. */
static void read_note(const struct scr_sys *sys, int fd, const struct part *part,
                      char note[NOTE_BYTES + 1])
{
    size_t n = 0;
    (void)scr_pread_upto(SCR_FD(sys, fd, ""), note, NOTE_BYTES, part->note, &n, NULL);
    note[n] = '\0';
    note[strcspn(note, "\n")] = '\0';
    n = strlen(note);
    while (n > 0 && note[n - 1] == ' ')
        note[--n] = '\0';
}

static int fail_locked(const char *path, const char *note, int timeout_ms,
                       struct scr_err *err)
{
    return scr_fail(err, SCR_E_LOCKED, 0, "lock %s: still held after %d ms by %s", path,
                    timeout_ms, *note != '\0' ? note : "another process");
}

static int fail_lock(const char *path, int cause, struct scr_err *err)
{
    int none =
        cause == ENOLCK || cause == ENOSYS || cause == EOPNOTSUPP || cause == EINVAL;
    return scr_fail(err, SCR_E_IO, cause, "lock %s%s", path,
                    none ? " (this file system needs locks: mount Lustre with -o flock)"
                         : "");
}

static int acquire(const struct scr_sys *sys, const char *path, const struct want *want,
                   int timeout_ms, struct scr_lock *lock, struct scr_err *err)
{
    char note[NOTE_BYTES + 1] = "";
    int fd = -1;
    *lock = (struct scr_lock)SCR_LOCK_INIT;
    int rc = open_lock_file(sys, path, &fd, err);
    if (rc != SCR_OK)
        return rc;
    int got = wait_lock(sys, fd, want, timeout_ms);
    if (got == 1) {
        lock->fd = fd;
        return SCR_OK;
    }
    if (got < 0) {
        rc = fail_lock(path, errno, err);
    } else {
        read_note(sys, fd, want->part, note);
        rc = fail_locked(path, note, timeout_ms, err);
    }
    (void)scr_close(sys, &fd, path, NULL); /* the error to report is the first */
    return rc;
}

int scr_lock_acquire(const struct scr_sys *sys, const char *path, int timeout_ms,
                     struct scr_lock *lock, struct scr_err *err)
{
    const struct want want = { .type = F_WRLCK, .part = &whole };
    TRY(acquire(sys, path, &want, timeout_ms, lock, err));
    sign(sys, lock->fd, &whole);
    return SCR_OK;
}

int scr_lock_acquire_key(const struct scr_sys *sys, const char *path, uint64_t key,
                         int timeout_ms, struct scr_lock *lock, struct scr_err *err)
{
    const struct part part = part_of(key);
    const struct want want = { .type = F_WRLCK, .part = &part };
    TRY(acquire(sys, path, &want, timeout_ms, lock, err));
    sign(sys, lock->fd, &part);
    return SCR_OK;
}

int scr_lock_share(const struct scr_sys *sys, const char *path, int timeout_ms,
                   struct scr_lock *lock, struct scr_err *err)
{
    const struct want want = { .type = F_RDLCK, .part = &whole };
    return acquire(sys, path, &want, timeout_ms, lock, err);
}

/* The file that was locked may have been replaced while it was waited for. */
void scr_lock_itself(const struct scr_sys *sys, const char *path, int exclusive,
                     int timeout_ms, struct scr_lock *lock)
{
    int how = (exclusive ? O_RDWR : O_RDONLY) | O_NOFOLLOW;
    const struct want want = { .op = (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB };
    double end = scr_now_mono() + 1e-3 * (double)timeout_ms;
    *lock = (struct scr_lock){ -1, 1 };
    for (;;) {
        if (scr_open(sys, path, how, 0, &lock->fd, NULL) != SCR_OK ||
            check_regular(sys, path, &lock->fd, NULL) != SCR_OK)
            return;
        int left_ms = (int)(1e3 * (end - scr_now_mono()));
        int got = wait_lock(sys, lock->fd, &want, left_ms);
        int rc = got == 1 ? scr_lock_check(sys, lock, path, NULL) : SCR_E_LOCKED;
        if (rc == SCR_OK)
            return;
        scr_lock_release(sys, lock);
        if (rc != SCR_E_NOENT || scr_now_mono() >= end)
            return;
    }
}

void scr_lock_release(const struct scr_sys *sys, struct scr_lock *lock)
{
    int saved = errno;
    /* Closing the only descriptor of the open file releases the lock, if an unlock
     * failed. */
    struct flock lk = { .l_type = F_UNLCK, .l_whence = SEEK_SET };
    if (lock->fd >= 0)
        (void)(lock->is_flock ? sys->flock(lock->fd, LOCK_UN)
                              : sys->setlk(lock->fd, &lk));
    (void)scr_close(sys, &lock->fd, "", NULL);
    errno = saved;
}

/* --- who holds it --- */

int scr_lock_check(const struct scr_sys *sys, const struct scr_lock *lock,
                   const char *path, struct scr_err *err)
{
    struct stat mine, there;
    TRY(scr_file_stat(sys, path, &there, err));
    TRY(scr_fd_stat(sys, lock->fd, &mine, path, err));
    if (mine.st_ino != there.st_ino || mine.st_dev != there.st_dev)
        return scr_fail(err, SCR_E_NOENT, 0, "lock %s: it was replaced", path);
    return SCR_OK;
}

int scr_lock_beat(const struct scr_sys *sys, const struct scr_lock *lock,
                  const char *path, struct scr_err *err)
{
    TRY(scr_lock_check(sys, lock, path, err));
    if (sys->futimens(lock->fd, NULL) != 0)
        return scr_fail(err, SCR_E_IO, errno, "touch %s", path);
    return SCR_OK;
}

/* The pid in "process <pid> on <host>", 0 unless that is this host. */
static long pid_here(const char *note)
{
    static const char start[] = "process ", middle[] = " on ";
    char host[HOST_BYTES];
    name_host(host);
    if (strncmp(note, start, sizeof start - 1) != 0)
        return 0;
    int pid = scr_parse_front(note + sizeof start - 1, &note);
    int here = strncmp(note, middle, sizeof middle - 1) == 0 &&
               strcmp(note + sizeof middle - 1, host) == 0;
    return here && pid > 1 ? pid : 0;
}

/* A shared lock is refused where there is an exclusive one, and disturbs no other look.
 * A process that takes the exclusive one at this moment tries again. */
static int look_at(const struct scr_sys *sys, int fd, const char *path,
                   const struct part *part, struct scr_lock_holder *who,
                   struct scr_err *err)
{
    struct stat st;
    TRY(scr_fd_stat(sys, fd, &st, path, err));
    int taken = try_lock(sys, fd, &(struct want){ .type = F_RDLCK, .part = part });
    if (taken < 0)
        return fail_lock(path, errno, err);
    if (!taken) {
        who->held = 1;
        read_note(sys, fd, part, who->note);
        who->pid = pid_here(who->note);
        who->beat = st.st_mtim;
    }
    return SCR_OK;
}

static int look(const struct scr_sys *sys, const char *path, const struct part *part,
                struct scr_lock_holder *who, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int fd = -1;
    *who = (struct scr_lock_holder){ 0 };
    int rc = scr_open(sys, path, O_RDONLY | O_NOFOLLOW, 0, &fd, &why);
    if (rc == SCR_E_NOENT)
        return SCR_OK;
    TRY(scr_err_take(err, rc, &why));
    rc = look_at(sys, fd, path, part, who, err);
    (void)scr_close(sys, &fd, path, NULL); /* which gives the shared lock back */
    return rc;
}

int scr_lock_look(const struct scr_sys *sys, const char *path,
                  struct scr_lock_holder *who, struct scr_err *err)
{
    return look(sys, path, &whole, who, err);
}

int scr_lock_look_key(const struct scr_sys *sys, const char *path, uint64_t key,
                      struct scr_lock_holder *who, struct scr_err *err)
{
    struct part part = part_of(key);
    return look(sys, path, &part, who, err);
}
