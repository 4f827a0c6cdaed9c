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

int scr_eventlog_write(const struct scr_env *env, const struct scr_prefix *p,
                       const struct scr_event *e, int text, int to_syslog,
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
    if (rc == SCR_OK && text)
        rc = append(env, p, line, n, err);
    if (line != NULL && to_syslog)
        syslog(LOG_INFO, "%.*s", (int)n - 1, line);
    free(line);
    return rc;
}
