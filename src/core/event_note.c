/* SPDX-License-Identifier: BSD-3-Clause */
/* The event log: what happened to the job, one line an event, by rank 0. A log that
 * cannot be written is a warning, once, and never stops anything. */
#include "core/event_note.h"
#include "core/ctx.h"
#include "store/eventlog.h"

void scr_event_note(struct scr_ctx *ctx, struct scr_event e)
{
    const struct scr_eventlog_to to = scr_eventlog_to(&ctx->prm);
    struct scr_err err = SCR_ERR_INIT;
    if (ctx->world.rank != 0)
        return;
    scr_tally_add(&ctx->tally, &e);
    if (!ctx->prm.log_enable || ctx->log_failed || ctx->prefix.path == NULL)
        return;
    int64_t *const counts[] = {
        &e.dset, &e.bytes, &e.files, &e.ranks, &e.nodes, &e.run
    };
    /* 0 is "not given" to our callers, -1 to the format. */
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        *counts[i] = *counts[i] > 0 ? *counts[i] : -1;
    e.secs = e.secs > 0 ? e.secs : -1;
    e.host = ctx->node_name;
    e.jobid = ctx->prm.job_id;
    if (scr_eventlog_write(&ctx->env, &ctx->prefix, &e, &to, &err) == SCR_OK)
        return;
    ctx->log_failed = 1;
    scr_log(&ctx->log, SCR_LOG_WARN,
            "event log: %s; this run records no more events (no data are at risk)",
            err.text);
}
