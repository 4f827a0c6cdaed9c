/* SPDX-License-Identifier: BSD-3-Clause */
/* A control directory has one run at a time: two of them would take each other's files
 * for their own. Runs with other prefix directories have other control directories
 * (store/identity.h).
 *
 *   job.lock      held by the lowest rank of the node as long as it lives
 *   job.prefix    where the prefix directory is, for messages
 *
 * A run may start before the processes of the run before it have gone, and waits for
 * them. */
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/path.h"
#include "core/ctx.h"

static int refuse(const struct scr_ctx *ctx, const char *lock, struct scr_err *err)
{
    struct scr_lock_holder who;
    (void)scr_lock_look(ctx->env.sys, lock, &who, NULL);
    return scr_fail(err, SCR_E_TAKEN, 0,
                    "another run of job %s is still going on with the prefix directory "
                    "%s (%s): end that first, or give this one an SCR_JOB_ID or a "
                    "prefix directory of its own; nothing was changed",
                    ctx->prm.job_id, ctx->prefix.path,
                    who.note[0] != '\0' ? who.note : "its process is not known");
}

/* Where locks cannot be had there is no protection, and the job runs as well. */
static int take(struct scr_ctx *ctx, const char *lock, int *gone, struct scr_err *err)
{
    int rc =
        scr_lock_acquire(ctx->env.sys, lock, ctx->patience_ms, &ctx->tenancy, NULL);
    if (rc == SCR_E_LOCKED)
        return refuse(ctx, lock, err);
    *gone = rc == SCR_OK &&
            scr_lock_beat(ctx->env.sys, &ctx->tenancy, lock, NULL) == SCR_E_NOENT;
    if (*gone)
        scr_tenancy_leave(ctx);
    return SCR_OK;
}

int scr_tenancy_take(struct scr_ctx *ctx, int *gone, struct scr_err *err)
{
    char *lock = scr_path_join(ctx->cntl_dir, SCR_CNTL_JOB_LOCK);
    char *record = scr_path_join(ctx->cntl_dir, SCR_CNTL_JOB_PREFIX);
    *gone = 0;
    int rc = lock && record ? take(ctx, lock, gone, err)
                            : scr_fail(err, SCR_E_NOMEM, 0, "control directory");
    if (rc == SCR_OK && !*gone)
        (void)scr_file_replace(ctx->env.sys, record, ctx->prefix.path,
                               strlen(ctx->prefix.path), 0600, SCR_VOLATILE, NULL);
    free(record);
    free(lock);
    return rc;
}

void scr_tenancy_leave(struct scr_ctx *ctx)
{
    scr_lock_release(ctx->env.sys, &ctx->tenancy);
}

void scr_tenancy_forget(struct scr_ctx *ctx)
{
    (void)scr_close(ctx->env.sys, &ctx->tenancy.fd, "", NULL);
}
