/* SPDX-License-Identifier: BSD-3-Clause */
/* The record of who runs a program in a prefix directory. */
#include "runfile.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cwd.h"
#include "base/hashfile.h"
#include "base/str.h"
#include "reach.h"

static char *record_path(const struct scr_tool *t)
{
    return scr_prefix_file(&t->prefix, SCR_RUN_RECORD);
}

static int take_lock(const struct scr_tool *t, struct scr_lock *lock,
                     struct scr_err *err)
{
    return scr_prefix_lock(&t->env, &t->prefix, SCR_RUN_LOCK, 0, lock, err);
}

static int write_record(const struct job *job, const struct scr_hostlist *others,
                        struct scr_err *err)
{
    char *path = record_path(job->t), *list = NULL;
    scr_hash *h = scr_hash_new();
    int rc = others ? scr_hostlist_compress(others, 0, &list, err) : SCR_OK;
    scr_hash_set_val(h, "HOST", job->rm.host);
    scr_hash_set_val_i64(h, "PID", (int)getpid());
    scr_hash_set_val(h, "MANAGER", job->rm.ops->name);
    if (job->rm.job != NULL && list != NULL)
        scr_hash_set_val(h, "JOB", job->rm.job);
    if (list != NULL && *list != '\0')
        scr_hash_set_val(h, "OTHERS", list);
    if (rc == SCR_OK)
        rc = path && scr_hash_ok(h)
                 ? scr_hash_file_write(job->t->env.sys, path, h, SCR_VOLATILE, err)
                 : scr_no_memory(err);
    scr_hash_delete(h);
    free(list);
    free(path);
    return rc;
}

int scr_runfile_open(const struct job *job, const struct scr_hostlist *others,
                     struct runfile *file, struct scr_err *err)
{
    int rc = take_lock(job->t, &file->lock, err);
    if (rc == SCR_E_LOCKED)
        scr_err_prefix(err, "another scr_srun or the like runs in %s",
                       job->t->prefix.path);
    return rc == SCR_OK ? write_record(job, others, err) : rc;
}

void scr_runfile_close(const struct scr_tool *t, struct runfile *file)
{
    if (file->lock.fd < 0)
        return;
    char *path = record_path(t);
    if (path != NULL)
        (void)scr_file_remove(t->env.sys, path, NULL); /* without the lock it is void */
    free(path);
    scr_lock_release(t->env.sys, &file->lock);
}

/* --- ending it --- */

static int kill_new_step(const struct scr_rm *rm, const scr_hash *record, char **step,
                         struct scr_err *err)
{
    struct scr_hostlist others = SCR_HOSTLIST_INIT;
    const char *list = scr_hash_get_val(record, "OTHERS");
    int rc;
    TRY_OUT(scr_hostlist_expand(list ? list : "", &others, err));
    TRY_OUT(scr_rm_kill_step(rm, NULL, &others, step, err));
out:
    scr_hostlist_free(&others);
    return rc;
}

static int kill_step(struct scr_tool *t, const struct scr_rm_job *job,
                     const scr_hash *record, char **what, struct scr_err *err)
{
    struct scr_params prm;
    struct scr_rm rm;
    char *step = NULL;
    int rc;
    TRY(scr_tool_params(t, t->prefix.path, &prm, err));
    TRY(scr_rm_open_job(&t->env, t->cfg, &prm, job, &rm, err));
    TRY_OUT(kill_new_step(&rm, record, &step, err));
    if (step != NULL)
        *what = scr_asprintf("job step %s is killed", step);
out:
    free(step);
    scr_rm_close(&rm);
    return rc;
}

static int kill_recorded(struct scr_tool *t, const scr_hash *h, enum runfile_why why,
                         char **what, struct scr_err *err)
{
    const union sigval value = { .sival_int = (int)why };
    const char *at = scr_hash_get_val(h, "HOST"), *id = scr_hash_get_val(h, "JOB");
    const char *manager = scr_hash_get_val(h, "MANAGER");
    int pid = 0;
    char *host = NULL;
    if (at == NULL || manager == NULL ||
        !scr_parse_int(scr_hash_get_val(h, "PID") ? scr_hash_get_val(h, "PID") : "",
                       &pid) ||
        pid <= 1)
        return scr_fail(err, SCR_E_CORRUPT, 0, "run.scr: not understood");
    int rc = scr_hostname(&host, err);
    int here = rc == SCR_OK && strcmp(host, at) == 0;
    if (here && sigqueue((pid_t)pid, SIGUSR2, value) == 0)
        *what = scr_asprintf("process %d is asked to end the run", pid);
    else if (rc == SCR_OK && id != NULL)
        rc = kill_step(t, &(struct scr_rm_job){ manager, id }, h, what, err);
    else if (rc == SCR_OK)
        rc =
            scr_fail(err, SCR_E_UNSUPPORTED, 0,
                     "the run is watched by process %d of %s: send SIGUSR2 to it there",
                     pid, at);
    free(host);
    return rc;
}

int scr_runfile_kill(struct scr_tool *t, enum runfile_why why, char **what,
                     struct scr_err *err)
{
    struct scr_lock lock = SCR_LOCK_INIT;
    char *path = record_path(t);
    scr_hash *h = scr_hash_new();
    *what = NULL;
    int rc = path ? scr_hash_file_read(t->env.sys, path, h, NULL) : SCR_E_NOMEM;
    /* A record without a lock holder is that of a process that died. */
    if (rc == SCR_OK && take_lock(t, &lock, NULL) == SCR_OK)
        scr_lock_release(t->env.sys, &lock);
    else if (rc == SCR_OK)
        rc = kill_recorded(t, h, why, what, err);
    else if (rc == SCR_E_NOENT)
        rc = SCR_OK;
    else
        rc = scr_fail(err, rc, 0, "%s: cannot be read", path ? path : "run.scr");
    scr_hash_delete(h);
    free(path);
    return rc;
}
