/* SPDX-License-Identifier: BSD-3-Clause */
/* The event log: what happened to the job, one line an event, by rank 0. A log that
 * cannot be written is a warning, once, and never stops anything. */
#include <stdlib.h>
#include <syslog.h>
#include <time.h>

#include "base/io.h"
#include "base/units.h"
#include "core/ctx.h"

static int append(struct scr_ctx *ctx, const char *line, size_t n, struct scr_err *err)
{
    char *path = scr_prefix_file(&ctx->prefix, "log");
    int rc = path ? scr_file_append(ctx->env.sys, path, line, n, 0666, err)
                  : scr_fail(err, SCR_E_NOMEM, 0, "event log");
    free(path);
    return rc;
}

static int write_event(struct scr_ctx *ctx, struct scr_event *e, struct scr_err *err)
{
    char stamp[48], *line = NULL;
    struct timespec now;
    size_t n = 0;
    clock_gettime(CLOCK_REALTIME, &now);
    e->time = scr_format_iso(&now, stamp, sizeof stamp);
    e->host = ctx->node_name;
    e->jobid = ctx->prm.job_id;
    int rc = scr_event_encode(e, &line, &n, err);
    if (rc == SCR_OK && ctx->prm.log_txt_enable)
        rc = append(ctx, line, n, err);
    if (line != NULL && ctx->prm.log_syslog_enable)
        syslog(LOG_INFO, "%.*s", (int)n - 1, line);
    free(line);
    return rc;
}

/* 0 is "not given" to our callers, -1 to the format. */
static void leave_out(struct scr_event *e)
{
    e->dset = e->dset > 0 ? e->dset : -1;
    e->bytes = e->bytes > 0 ? e->bytes : -1;
    e->files = e->files > 0 ? e->files : -1;
    e->secs = e->secs > 0 ? e->secs : -1;
}

void scr_event_note(struct scr_ctx *ctx, struct scr_event e)
{
    struct scr_err err = SCR_ERR_INIT;
    if (!ctx->prm.log_enable || ctx->world.rank != 0 || ctx->log_failed)
        return;
    leave_out(&e);
    if (write_event(ctx, &e, &err) == SCR_OK)
        return;
    ctx->log_failed = 1;
    scr_log(&ctx->log, SCR_LOG_WARN, "event log: %s; no more events are recorded",
            err.text);
}
