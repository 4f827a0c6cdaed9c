/* SPDX-License-Identifier: BSD-3-Clause */
/* A control directory has one job at a time. Where no resource manager tells jobs
 * apart, and where one job runs several programs, two of them may come to the same
 * directory of a node, and each would take the other's files for its own.
 *
 *   job.lock      held by the lowest rank of the node as long as it lives
 *   job.prefix    the prefix directory of the job that took it last
 *
 * A run of the same prefix does not mind: it may have to start before the processes of
 * the run before it are gone. It takes the lock as soon as those let go of it. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/path.h"
#include "core/ctx.h"

/* The holder writes its prefix right after it has the lock. */
enum { WAIT_MS = 1000 };

/* In the control directory, malloc'd. */
struct places {
    char *lock, *record;
};

/* 0: out of memory. places_fini in any case. */
static int places_init(const struct scr_ctx *ctx, struct places *at)
{
    at->lock = scr_path_join(ctx->cntl_dir, SCR_CNTL_JOB_LOCK);
    at->record = scr_path_join(ctx->cntl_dir, "job.prefix");
    return at->lock != NULL && at->record != NULL;
}

static void places_fini(struct places *at)
{
    free(at->lock);
    free(at->record);
}

static int is_ours(const struct scr_ctx *ctx, const char *record, char **other)
{
    size_t n = 0;
    void *text = NULL;
    int rc = scr_file_load(ctx->env.sys, record, PATH_MAX, &text, &n, NULL);
    *other = text;
    return rc == SCR_OK && strcmp(*other, ctx->prefix_real) == 0;
}

/* LOCKED unless it is held by a run of this prefix. */
static int take(struct scr_ctx *ctx, const struct places *at)
{
    char *other = NULL;
    int rc = scr_lock_acquire(ctx->env.sys, at->lock, 0, &ctx->tenancy, NULL);
    if (rc == SCR_E_LOCKED && !is_ours(ctx, at->record, &other))
        rc = scr_lock_acquire(ctx->env.sys, at->lock, WAIT_MS, &ctx->tenancy, NULL);
    free(other);
    return rc;
}

static int refuse(const struct scr_ctx *ctx, const char *record, struct scr_err *err)
{
    char *other = NULL;
    int rc = SCR_OK;
    if (!is_ours(ctx, record, &other))
        rc = scr_fail(err, SCR_E_TAKEN, 0,
                      "%s on %s: in use by a running job with the prefix directory %s; "
                      "give this one an SCR_JOB_ID of its own",
                      ctx->cntl_dir, ctx->node_name, other ? other : "(unknown)");
    free(other);
    return rc;
}

/* Who comes after another finds what that one left in cache, as ever. */
static void enter(struct scr_ctx *ctx, const char *record)
{
    char *other = NULL;
    if (!is_ours(ctx, record, &other) && other != NULL)
        scr_log(&ctx->local_log, SCR_LOG_WARN,
                "%s on %s: what a job with the prefix directory %s left there is taken "
                "over (an SCR_JOB_ID of its own keeps a job apart)",
                ctx->cntl_dir, ctx->node_name, other);
    free(other);
    (void)scr_file_replace(ctx->env.sys, record, ctx->prefix_real,
                           strlen(ctx->prefix_real), 0600, SCR_VOLATILE, NULL);
}

/* Where locks or the record cannot be had there is no protection, and the job runs as
 * well. */
int scr_tenancy_take(struct scr_ctx *ctx, struct scr_err *err)
{
    struct places at;
    int rc = SCR_OK;
    if (ctx->node.rank != 0)
        return SCR_OK;
    if (!places_init(ctx, &at))
        rc = scr_fail(err, SCR_E_NOMEM, 0, "control directory");
    else if (take(ctx, &at) == SCR_E_LOCKED)
        rc = refuse(ctx, at.record, err);
    else
        enter(ctx, at.record);
    places_fini(&at);
    return rc;
}

void scr_tenancy_retry(struct scr_ctx *ctx)
{
    struct places at;
    if (ctx->node.rank != 0 || ctx->tenancy.fd >= 0)
        return;
    if (places_init(ctx, &at) &&
        scr_lock_acquire(ctx->env.sys, at.lock, 0, &ctx->tenancy, NULL) == SCR_OK)
        enter(ctx, at.record);
    places_fini(&at);
}

void scr_tenancy_leave(struct scr_ctx *ctx)
{
    scr_lock_release(ctx->env.sys, &ctx->tenancy);
}
