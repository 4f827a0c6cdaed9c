/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages to people, one line each. */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"
#include "base/units.h"

static const char *label(int level)
{
    if (level <= SCR_LOG_ERROR)
        return "error: ";
    if (level == SCR_LOG_WARN)
        return "warning: ";
    return level >= SCR_LOG_DEBUG ? "debug: " : "";
}

int scr_log_time(int set)
{
    return set >= 0 ? set > 0 : !isatty(STDERR_FILENO);
}

static void add_time(struct scr_str *line)
{
    struct timespec now;
    char text[48];
    clock_gettime(CLOCK_REALTIME, &now);
    scr_str_printf(line, "%s ", scr_format_iso(&now, text, sizeof text));
}

void scr_log(const struct scr_log *log, int level, const char *fmt, ...)
{
    if (log == NULL || log->quiet || level > log->level)
        return;
    int saved = errno;
    struct scr_str line = SCR_STR_INIT;
    if (log->has_time)
        add_time(&line);
    scr_str_printf(&line, "%s: %s", log->who ? log->who : "SCR", label(level));
    va_list ap;
    va_start(ap, fmt);
    scr_str_vprintf(&line, fmt, ap);
    va_end(ap);
    scr_str_mask(&line);
    scr_str_append(&line, "\n");

    /* A message that cannot be printed cannot be reported either. */
    FILE *out = log->out ? log->out : stderr;
    if (line.bad)
        fputs("SCR: error: out of memory while printing a message\n", out);
    else
        (void)fwrite(line.p, 1, line.len, out);
    fflush(out);
    scr_str_free(&line);
    errno = saved;
}

void scr_log_err(const struct scr_log *log, const struct scr_err *err)
{
    if (err == NULL || err->code == SCR_OK)
        return;
    const char *text = err->text[0] != '\0' ? err->text : scr_err_meaning(err->code);
    scr_log(log, SCR_LOG_ERROR, "%s", text);
}
