/* SPDX-License-Identifier: BSD-3-Clause */
/* The event log: what happened to the job, one line an event, by rank 0. A log that
 * cannot be written is a warning, once, and never stops anything. */
#include "core/event_note.h"
#include "core/ctx.h"
#include "store/eventlog.h"

void scr_event_note(struct scr_ctx *ctx, struct scr_event e)
{
    const struct scr_params *prm = &ctx->prm;
    const struct scr_eventlog_to to = { .text = prm->log_txt_enable,
                                        .syslog = prm->log_syslog_enable,
                                        .prefix = prm->log_syslog_prefix,
                                        .facility = prm->log_syslog_facility_id,
                                        .level = prm->log_syslog_level_id };
    struct scr_err err = SCR_ERR_INIT;
    if (!ctx->prm.log_enable || ctx->world.rank != 0 || ctx->log_failed)
        return;
    /* 0 is "not given" to our callers, -1 to the format. */
    e.dset = e.dset > 0 ? e.dset : -1;
    e.bytes = e.bytes > 0 ? e.bytes : -1;
    e.files = e.files > 0 ? e.files : -1;
    e.secs = e.secs > 0 ? e.secs : -1;
    e.host = ctx->node_name;
    e.jobid = ctx->prm.job_id;
    if (scr_eventlog_write(&ctx->env, &ctx->prefix, &e, &to, &err) == SCR_OK)
        return;
    ctx->log_failed = 1;
    scr_log(&ctx->log, SCR_LOG_WARN, "event log: %s; no more events are recorded",
            err.text);
}
