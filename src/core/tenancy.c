/* SPDX-License-Identifier: BSD-3-Clause */
/* A job has one run at a time in a prefix directory: two of them would give their
 * datasets the same numbers. Rank 0 holds the job's lock in <prefix>/.scr/runs.lock
 * until SCR_Finalize, or until it dies.
 *
 * A control directory has one run at a time: two of them would take each other's files
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
#include "base/str.h"
#include "core/ctx.h"
#include "core/tenancy.h"

/* The first message of a start that waits for the prefix directory. */
enum { TELL_MS = 5000 };

static const char *name_of(const struct scr_lock_holder *who)
{
    return who->note[0] != '\0' ? who->note : "its process is not known";
}

static int refuse(const struct scr_ctx *ctx, const struct scr_lock_holder *who,
                  const char *hint, struct scr_err *err)
{
    return scr_fail(err, SCR_E_TAKEN, 0,
                    "another run of job %s still uses the prefix directory %s (%s): "
                    "end that run first, or give this run its own SCR_JOB_ID or prefix "
                    "directory%s; nothing was changed",
                    ctx->prm.job_id, ctx->prefix.path, name_of(who), hint);
}

/* --- the prefix directory --- */

/* The file systems that nodes share keep the locks of a node that was lost until they
 * notice, which takes them up to some minutes. */
static int wait_for_prefix(struct scr_ctx *ctx, const char *path, uint64_t key)
{
    struct scr_lock *lock = &ctx->run_lock;
    struct scr_lock_holder who;
    int first_ms = ctx->lease_ms < TELL_MS ? ctx->lease_ms : TELL_MS;
    int rc = scr_lock_acquire_key(ctx->env.sys, path, key, first_ms, lock, NULL);
    if (rc != SCR_E_LOCKED || first_ms == ctx->lease_ms)
        return rc;
    (void)scr_lock_look_key(ctx->env.sys, path, key, &who, NULL);
    scr_log(&ctx->log, SCR_LOG_WARN,
            "waiting up to %d s for another run of job %s with the prefix directory %s "
            "to end (%s)",
            (ctx->lease_ms - first_ms) / 1000, ctx->prm.job_id, ctx->prefix.path,
            name_of(&who));
    return scr_lock_acquire_key(ctx->env.sys, path, key, ctx->lease_ms - first_ms, lock,
                                NULL);
}

/* Where locks cannot be had there is no protection, and the job runs as well. */
int scr_tenancy_take_prefix(struct scr_ctx *ctx, struct scr_err *err)
{
    struct scr_lock_holder who;
    uint64_t key = scr_str_key(ctx->prm.job_id);
    char *path = scr_prefix_file(&ctx->prefix, SCR_RUNS_LOCK);
    TRY(path ? SCR_OK : scr_no_memory(err));
    char *hint = scr_asprintf("; if its node was lost, remove %s", path);
    int rc = wait_for_prefix(ctx, path, key) == SCR_E_LOCKED ? SCR_E_TAKEN : SCR_OK;
    if (rc != SCR_OK) {
        (void)scr_lock_look_key(ctx->env.sys, path, key, &who, NULL);
        rc = refuse(ctx, &who, hint ? hint : "", err);
    }
    free(hint);
    free(path);
    return rc;
}

/* --- the node's directories --- */

static int refuse_node(const struct scr_ctx *ctx, const char *lock, struct scr_err *err)
{
    struct scr_lock_holder who;
    (void)scr_lock_look(ctx->env.sys, lock, &who, NULL);
    return refuse(ctx, &who, "", err);
}

/* Where locks cannot be had there is no protection, and the job runs as well. */
static int take(struct scr_ctx *ctx, int store, const char *path, int *gone,
                struct scr_err *err)
{
    struct scr_lock *lock = &ctx->tenancy[store];
    int rc = scr_lock_acquire(ctx->env.sys, path, ctx->patience_ms, lock, NULL);
    if (rc == SCR_E_LOCKED)
        return refuse_node(ctx, path, err);
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
        (void)scr_file_replace(ctx->env.sys, path, text, strlen(text),
                               (struct scr_replace){ 0600, SCR_VOLATILE }, NULL);
    free(path);
}

int scr_tenancy_take(struct scr_ctx *ctx, int store, int *gone, struct scr_err *err)
{
    const char *dir = ctx->cache.dirs[store];
    char *path = scr_path_join(dir, SCR_CNTL_JOB_LOCK);
    *gone = 0;
    int rc;
    TRY_OUT(path ? take(ctx, store, path, gone, err) : scr_no_memory(err));
    if (!*gone) {
        note(ctx, dir, SCR_CNTL_JOB_PREFIX, ctx->prefix.path);
        note(ctx, dir, SCR_CNTL_JOB_CNTL, ctx->cntl_dir);
    }
out:
    free(path);
    return rc;
}

/* --- the end --- */

void scr_tenancy_leave(struct scr_ctx *ctx)
{
    scr_lock_release(ctx->env.sys, &ctx->run_lock);
    for (int i = 0; ctx->tenancy && i < ctx->descs.nstores; i++)
        scr_lock_release(ctx->env.sys, &ctx->tenancy[i]);
    free(ctx->tenancy);
    ctx->tenancy = NULL;
}

void scr_tenancy_forget(struct scr_ctx *ctx)
{
    (void)scr_close(ctx->env.sys, &ctx->run_lock.fd, "", NULL);
    for (int i = 0; ctx->tenancy && i < ctx->descs.nstores; i++)
        (void)scr_close(ctx->env.sys, &ctx->tenancy[i].fd, "", NULL);
}
