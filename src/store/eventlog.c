/* SPDX-License-Identifier: BSD-3-Clause */
/* The event log of a prefix directory. */
#include "store/eventlog.h"

#include <stdlib.h>
#include <syslog.h>
#include <time.h>

#include "base/io.h"
#include "base/units.h"

static int append(const struct scr_env *env, const struct scr_prefix *p,
                  const char *line, size_t n, struct scr_err *err)
{
    char *path = scr_prefix_file(p, "log");
    int rc =
        path ? scr_file_append(env->sys, path, line, n, 0644, err) : scr_no_memory(err);
    free(path);
    return rc;
}

/* In the order of params.def. */
static const int facilities[] = { LOG_USER,   LOG_DAEMON, LOG_LOCAL0, LOG_LOCAL1,
                                  LOG_LOCAL2, LOG_LOCAL3, LOG_LOCAL4, LOG_LOCAL5,
                                  LOG_LOCAL6, LOG_LOCAL7 };
static const int levels[] = { LOG_EMERG,   LOG_ALERT,  LOG_CRIT, LOG_ERR,
                              LOG_WARNING, LOG_NOTICE, LOG_INFO, LOG_DEBUG };

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
        rc = append(env, p, line, n, err);
    if (line != NULL && to->syslog) /* what the program has opened it with stays */
        syslog(facilities[to->facility] | levels[to->level], "%s: %.*s", to->prefix,
               (int)n - 1, line);
    free(line);
    return rc;
}
