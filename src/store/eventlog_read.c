/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading the event log of a prefix directory. */
#include "store/eventlog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"

/* Longer lines, of whatever wrote them, count as damaged. */
enum { LINE_MAX_BYTES = 1 << 20 };

/* A line at a time from a buffer that is filled again when it holds no whole one. */
struct lines {
    struct scr_fd file;
    char *buf;
    size_t at, n; /* what is not read yet: buf[at] to buf[n - 1] */
    int skip;     /* the rest of a line that is too long */
};

static int give(struct scr_eventlog_reader *r, char *line, size_t n,
                struct scr_err *err)
{
    struct scr_event e;
    if (scr_event_decode(line, n, &e))
        return r->event(r->arg, &e, err);
    r->damaged++;
    return SCR_OK;
}

/* Every whole line in the buffer. */
static int give_lines(struct lines *l, struct scr_eventlog_reader *r,
                      struct scr_err *err)
{
    char *end;
    while ((end = memchr(l->buf + l->at, '\n', l->n - l->at)) != NULL) {
        char *line = l->buf + l->at;
        l->at = (size_t)(end - l->buf) + 1;
        int skipped = l->skip;
        l->skip = 0;
        if (!skipped)
            TRY(give(r, line, (size_t)(end - line), err));
    }
    return SCR_OK;
}

static int refill(struct lines *l, struct scr_eventlog_reader *r, size_t *got,
                  struct scr_err *err)
{
    memmove(l->buf, l->buf + l->at, l->n - l->at);
    l->n -= l->at;
    l->at = 0;
    if (l->n == LINE_MAX_BYTES) {
        r->damaged += !l->skip;
        l->skip = 1;
        l->n = 0;
    }
    TRY(scr_read_upto(&l->file, l->buf + l->n, LINE_MAX_BYTES - l->n, got, err));
    l->n += *got;
    return SCR_OK;
}

static int walk_fd(struct lines *l, struct scr_eventlog_reader *r, struct scr_err *err)
{
    size_t got;
    do {
        TRY(refill(l, r, &got, err));
        TRY(give_lines(l, r, err));
    } while (got > 0);
    /* The last line may have been cut, or have lost only its end. */
    return l->n == l->at || l->skip ? SCR_OK
                                    : give(r, l->buf + l->at, l->n - l->at, err);
}

/* To the tail of the file, which begins in the middle of a line. */
static int seek(struct lines *l, const struct stat *st, struct scr_eventlog_reader *r,
                struct scr_err *err)
{
    if (r->tail == 0 || (uint64_t)st->st_size <= r->tail)
        return SCR_OK;
    l->skip = r->cut = 1;
    if (l->file.sys->lseek(l->file.fd, st->st_size - (off_t)r->tail, SEEK_SET) < 0)
        return scr_fail(err, SCR_E_IO, errno, "read %s", l->file.path);
    return SCR_OK;
}

static int walk_open(const struct scr_fd *file, const struct stat *st,
                     struct scr_eventlog_reader *r, struct scr_err *err)
{
    struct lines l = { .file = *file };
    int rc;
    l.buf = malloc(LINE_MAX_BYTES);
    TRY_OUT(l.buf ? seek(&l, st, r, err) : scr_no_memory(err));
    TRY_OUT(walk_fd(&l, r, err));
out:
    free(l.buf);
    return rc;
}

int scr_eventlog_walk_file(const struct scr_env *env, const char *path,
                           struct scr_eventlog_reader *r, struct scr_err *err)
{
    int fd = -1;
    struct stat st;
    int rc = scr_open_regular(env->sys, path, 0, &fd, &st, err);
    if (rc == SCR_OK)
        rc = walk_open(SCR_FD(env->sys, fd, path), &st, r, err);
    return scr_first(rc, scr_close(env->sys, &fd, path, err));
}

/* A file that does not exist leaves *fd at -1. */
static int open_if_there(const struct scr_env *env, const char *path, int *fd,
                         struct stat *st, struct scr_err *err)
{
    *st = (struct stat){ 0 };
    int rc = scr_open_regular(env->sys, path, 0, fd, st, err);
    if (rc != SCR_E_NOENT)
        return rc;
    scr_err_clear(err);
    return SCR_OK;
}

struct pair {
    char *path[2]; /* log.1, log */
    int fd[2];
    struct stat st[2];
};

/* The newer first: an event that moves to log.1 meanwhile is in a file that is open. A
 * log that was rotated between the two is both of them; then what is log now is still
 * to be opened. */
static int open_pair(const struct scr_env *env, struct pair *f, struct scr_err *err)
{
    struct stat *older = &f->st[0], *newer = &f->st[1];
    do {
        TRY(scr_close(env->sys, &f->fd[0], f->path[0], err));
        TRY(scr_close(env->sys, &f->fd[1], f->path[1], err));
        TRY(open_if_there(env, f->path[1], &f->fd[1], newer, err));
        TRY(open_if_there(env, f->path[0], &f->fd[0], older, err));
    } while (f->fd[0] >= 0 && f->fd[1] >= 0 && newer->st_dev == older->st_dev &&
             newer->st_ino == older->st_ino);
    return SCR_OK;
}

int scr_eventlog_walk(const struct scr_env *env, const struct scr_prefix *p,
                      struct scr_eventlog_reader *r, struct scr_err *err)
{
    struct pair f = { .path = { scr_prefix_file(p, "log.1"),
                                scr_prefix_file(p, "log") },
                      .fd = { -1, -1 } };
    int rc = f.path[0] && f.path[1] ? open_pair(env, &f, err) : scr_no_memory(err);
    for (int i = 0; i < 2; i++) {
        if (rc == SCR_OK && f.fd[i] >= 0)
            rc = walk_open(SCR_FD(env->sys, f.fd[i], f.path[i]), &f.st[i], r, err);
        rc = scr_first(rc, scr_close(env->sys, &f.fd[i], f.path[i], err));
    }
    free(f.path[0]);
    free(f.path[1]);
    return rc;
}
