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
#include <time.h>

#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "base/units.h"
#include "core/ctx.h"
#include "core/tenancy.h"

/* A start that waits for a lock says so after that time. */
enum { TELL_MS = 1000 };

/* The mpirun of another MPI starts each process as a run of one rank. */
static const char *to_do(const struct scr_ctx *ctx)
{
    return ctx->world.size > 1
               ? "end that run first, or give this run its own prefix directory "
                 "(SCR_PREFIX)"
               : "end that run first, or give this run its own prefix directory "
                 "(SCR_PREFIX); this run has one rank: if several were started, their "
                 "mpirun is not that of the MPI of the program";
}

/* A lock that another run may hold. */
struct tenure {
    const char *path;
    int is_keyed; /* it is one of those in that file, */
    uint64_t key; /* by this key */
    int wait_ms;
};

static int acquire(const struct scr_ctx *ctx, const struct tenure *t, int ms,
                   struct scr_lock *lock)
{
    const struct scr_sys *sys = ctx->env.sys;
    return t->is_keyed ? scr_lock_acquire_key(sys, t->path, t->key, ms, lock, NULL)
                       : scr_lock_acquire(sys, t->path, ms, lock, NULL);
}

/* The process that holds the lock, in who. */
static const char *name_holder(const struct scr_ctx *ctx, const struct tenure *t,
                               struct scr_lock_holder *who)
{
    const struct scr_sys *sys = ctx->env.sys;
    (void)(t->is_keyed ? scr_lock_look_key(sys, t->path, t->key, who, NULL)
                       : scr_lock_look(sys, t->path, who, NULL));
    return who->note[0] != '\0' ? who->note : "its process is not known";
}

/* Rank 0 says it. */
static void tell(const struct scr_ctx *ctx, const struct tenure *t, int left_ms)
{
    struct scr_lock_holder who;
    char end[32];
    int left_s = (left_ms + 999) / 1000;
    scr_log(&ctx->log, SCR_LOG_WARN,
            "another run of job %s still uses the prefix directory %s (%s), this run "
            "waits until %s (%d s) for it to end: %s",
            ctx->prm.job_id, ctx->prefix.path, name_holder(ctx, t, &who),
            scr_format_stamp(time(NULL) + left_s, end, sizeof end), left_s, to_do(ctx));
}

static int refuse(const struct scr_ctx *ctx, const struct tenure *t,
                  struct scr_err *err)
{
    struct scr_lock_holder who;
    return scr_fail(err, SCR_E_TAKEN, 0,
                    "another run of job %s still uses the prefix directory %s (%s): "
                    "%s%s%s; nothing was changed",
                    ctx->prm.job_id, ctx->prefix.path, name_holder(ctx, t, &who),
                    to_do(ctx), t->is_keyed ? "; if its node was lost, remove " : "",
                    t->is_keyed ? t->path : "");
}

/* Where locks cannot be had there is no protection, and the job runs as well. */
static int take(const struct scr_ctx *ctx, const struct tenure *t,
                struct scr_lock *lock, struct scr_err *err)
{
    int first_ms = t->wait_ms < TELL_MS ? t->wait_ms : TELL_MS;
    int left_ms = t->wait_ms - first_ms, rc = acquire(ctx, t, first_ms, lock);
    if (rc == SCR_E_LOCKED && left_ms > 0) {
        tell(ctx, t, left_ms);
        rc = acquire(ctx, t, left_ms, lock);
    }
    return rc == SCR_E_LOCKED ? refuse(ctx, t, err) : SCR_OK;
}

/* --- the prefix directory --- */

/* The file systems that nodes share keep the locks of a node that was lost until they
 * notice, which takes them up to some minutes. */
int scr_tenancy_take_prefix(struct scr_ctx *ctx, struct scr_err *err)
{
    char *path = scr_prefix_file(&ctx->prefix, SCR_RUNS_LOCK);
    const struct tenure t = { path, 1, scr_str_key(ctx->prm.job_id), ctx->lease_ms };
    int rc = path ? take(ctx, &t, &ctx->run_lock, err) : scr_no_memory(err);
    free(path);
    return rc;
}

/* --- the node's directories --- */

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
    struct scr_lock *lock = &ctx->tenancy[store];
    char *path = scr_path_join(dir, SCR_CNTL_JOB_LOCK);
    const struct tenure t = { .path = path, .wait_ms = ctx->patience_ms };
    *gone = 0;
    int rc;
    TRY_OUT(path ? take(ctx, &t, lock, err) : scr_no_memory(err));
    *gone =
        lock->fd >= 0 && scr_lock_beat(ctx->env.sys, lock, path, NULL) == SCR_E_NOENT;
    if (*gone) {
        scr_lock_release(ctx->env.sys, lock);
    } else {
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
