/* SPDX-License-Identifier: BSD-3-Clause */
/* A control directory has one run at a time: two of them would take each other's files
 * for their own. Runs with other prefix directories have other control directories
 * (store/identity.h).
 *
 *   job.lock      held by the lowest rank of the node as long as it lives
 *   job.prefix    where the prefix directory is
 *   job.cntl      where the control directory is
 *
 * So have the cache directories that are the node's: their control directory may be
 * below a base that another run does not know.
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
static int take(struct scr_ctx *ctx, int store, const char *path, int *gone,
                struct scr_err *err)
{
    struct scr_lock *lock = &ctx->tenancy[store];
    int rc = scr_lock_acquire(ctx->env.sys, path, ctx->patience_ms, lock, NULL);
    if (rc == SCR_E_LOCKED)
        return refuse(ctx, path, err);
    *gone =
        rc == SCR_OK && scr_lock_beat(ctx->env.sys, lock, path, NULL) == SCR_E_NOENT;
    if (*gone)
        scr_lock_release(ctx->env.sys, lock);
    return SCR_OK;
}

static void note(const struct scr_ctx *ctx, const char *dir, const char *name,
                 const char *text)
{
    char *path = scr_path_join(dir, name);
    if (path != NULL)
        (void)scr_file_replace(ctx->env.sys, path, text, strlen(text), 0600,
                               SCR_VOLATILE, NULL);
    free(path);
}

int scr_tenancy_take(struct scr_ctx *ctx, int store, int *gone, struct scr_err *err)
{
    const char *dir = ctx->cache_dirs[store];
    char *path = scr_path_join(dir, SCR_CNTL_JOB_LOCK);
    *gone = 0;
    int rc = path ? take(ctx, store, path, gone, err)
                  : scr_fail(err, SCR_E_NOMEM, 0, "control directory");
    if (rc == SCR_OK && !*gone) {
        note(ctx, dir, SCR_CNTL_JOB_PREFIX, ctx->prefix.path);
        note(ctx, dir, SCR_CNTL_JOB_CNTL, ctx->cntl_dir);
    }
    free(path);
    return rc;
}

void scr_tenancy_leave(struct scr_ctx *ctx)
{
    for (int i = 0; ctx->tenancy && i < ctx->descs.nstores; i++)
        scr_lock_release(ctx->env.sys, &ctx->tenancy[i]);
    free(ctx->tenancy);
    ctx->tenancy = NULL;
}

void scr_tenancy_forget(struct scr_ctx *ctx)
{
    for (int i = 0; ctx->tenancy && i < ctx->descs.nstores; i++)
        (void)scr_close(ctx->env.sys, &ctx->tenancy[i].fd, "", NULL);
}
