/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing to the event log of a prefix directory. */
#include "store/eventlog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <syslog.h>
#include <time.h>

#include "base/attr.h"
#include "base/io.h"
#include "base/str.h"
#include "base/units.h"

struct scr_eventlog_to scr_eventlog_to(const struct scr_params *prm)
{
    return (struct scr_eventlog_to){ .text = prm->log_txt_enable,
                                     .syslog = prm->log_syslog_enable,
                                     .size = prm->log_size,
                                     .word = prm->log_syslog_prefix,
                                     .facility = prm->log_syslog_facility_id,
                                     .level = prm->log_syslog_level_id,
                                     .user = prm->user_name };
}

/* --- the file --- */

/* 1 if the open log is still what has its name. */
static int is_named(const struct scr_sys *sys, const char *path, const struct stat *st)
{
    struct stat now;
    return scr_file_stat(sys, path, &now, NULL) == SCR_OK && now.st_dev == st->st_dev &&
           now.st_ino == st->st_ino;
}

/* Of several processes that find a file full one has its lock, and only that one
 * renames it, if it has its name still: a log that is new is never renamed for the old
 * one. The others write into the full file, which is kept. A file system without locks
 * leaves the moment between the look and the rename. */
static int rotate(const struct scr_fd *log, const struct stat *st, int *rotated,
                  struct scr_err *err)
{
    *rotated = 0;
    if (log->sys->flock(log->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return SCR_OK;
    if (!is_named(log->sys, log->path, st)) {
        *rotated = 1;
        return SCR_OK;
    }
    char *older = scr_asprintf("%s.1", log->path);
    int rc =
        older ? scr_file_rename(log->sys, log->path, older, err) : scr_no_memory(err);
    free(older);
    *rotated = rc == SCR_OK;
    return rc;
}

/* Opens the log, and once more if it has to be rotated before n bytes are written to
 * it. A FIFO in its place must not hang the job, nor a link lead to another file of
 * the user. */
static int open_log(const struct scr_sys *sys, const char *path, uint64_t size, int *fd,
                    struct scr_err *err)
{
    const int flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW;
    struct stat st;
    int rotated = 0;
    TRY(scr_open(sys, path, flags, 0666, fd, err));
    if (size == 0)
        return SCR_OK;
    TRY(scr_fd_stat(sys, *fd, &st, path, err));
    if (S_ISREG(st.st_mode) && (uint64_t)st.st_size >= size)
        TRY(rotate(SCR_FD(sys, *fd, path), &st, &rotated, err));
    if (!rotated)
        return SCR_OK;
    TRY(scr_close(sys, fd, path, err));
    return scr_open(sys, path, flags, 0666, fd, err);
}

static int append(const struct scr_env *env, const struct scr_prefix *p, uint64_t size,
                  const char *line, struct scr_err *err)
{
    char *path = scr_prefix_file(p, "log");
    int fd = -1, rc;
    TRY_OUT(path ? open_log(env->sys, path, size, &fd, err) : scr_no_memory(err));
    TRY_OUT(scr_write_all(SCR_FD(env->sys, fd, path), line, strlen(line), err));
out:
    rc = scr_first(rc, scr_close(env->sys, &fd, path, err));
    free(path);
    return rc;
}

/* --- syslog --- */

/* In the order of params.def. */
static const int facilities[] = { LOG_USER,   LOG_DAEMON, LOG_LOCAL0, LOG_LOCAL1,
                                  LOG_LOCAL2, LOG_LOCAL3, LOG_LOCAL4, LOG_LOCAL5,
                                  LOG_LOCAL6, LOG_LOCAL7 };
static const int levels[] = { LOG_EMERG,   LOG_ALERT,  LOG_CRIT, LOG_ERR,
                              LOG_WARNING, LOG_NOTICE, LOG_INFO, LOG_DEBUG };

/* The program may have called openlog() itself: it is not called here. The log of a
 * machine has the lines of all users, jobs and directories: a name with a newline must
 * not begin another one. */
static void tell_syslog(const struct scr_prefix *p, const struct scr_event *e,
                        const struct scr_eventlog_to *to, const char *line)
{
    char *text = scr_asprintf("%s: user=%s jobid=%s prefix=%s %.*s", to->word,
                              to->user ? to->user : "?", e->jobid ? e->jobid : "?",
                              p->path, (int)strcspn(line, "\n"), line);
    if (text == NULL)
        return;
    scr_mask(text, strlen(text));
    syslog(facilities[to->facility] | levels[to->level], "%s", text);
    free(text);
}

int scr_eventlog_write(const struct scr_env *env, const struct scr_prefix *p,
                       const struct scr_event *e, const struct scr_eventlog_to *to,
                       struct scr_err *err)
{
    char stamp[48], *line = NULL;
    struct scr_event timed = *e;
    struct timespec now;
    size_t n = 0;
    clock_gettime(CLOCK_REALTIME, &now);
    if (timed.time == NULL)
        timed.time = scr_format_iso(&now, stamp, sizeof stamp);
    int rc = scr_event_encode(&timed, &line, &n, err);
    if (rc == SCR_OK && to->text)
        rc = append(env, p, to->size, line, err);
    if (line != NULL && to->syslog)
        tell_syslog(p, e, to, line);
    free(line);
    return rc;
}
