/* SPDX-License-Identifier: BSD-3-Clause */
/* The job a command is run in. */
#include "job.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cwd.h"
#include "reach.h"
#include "rm/launch.h"

static int read_config(struct job *job, const char *prefix, struct scr_err *err)
{
    TRY(scr_tool_params(job->t, prefix, &job->prm, err));
    if (!scr_cfg_is_set(job->t->cfg, "SCR_RUNS"))
        job->prm.runs = job->prm.retries < 0 ? -1 : job->prm.retries + 1;
    return scr_rm_open(&job->t->env, job->t->cfg, &job->prm, &job->rm, err);
}

int scr_job_open(struct scr_tool *t, const char *prefix, struct job *job,
                 struct scr_err *err)
{
    *job = (struct job){ .t = t };
    TRY(read_config(job, prefix, err));
    return scr_realpath("/proc/self/exe", &job->self, err);
}

int scr_job_open_anywhere(struct scr_tool *t, const char *prefix, struct job *job,
                          struct scr_err *err)
{
    *job = (struct job){ .t = t };
    TRY(scr_tool_params(t, prefix, &job->prm, err));
    return scr_rm_open_anywhere(&t->env, t->cfg, &job->prm, &job->rm, err);
}

void scr_job_close(struct job *job)
{
    scr_rm_close(&job->rm);
    free(job->self);
    job->self = NULL;
}

/* The nodes of the allocation stay. */
static void take_over(struct job *job, struct job *fresh)
{
    struct scr_hostlist nodes = job->rm.nodes;
    job->rm.nodes = fresh->rm.nodes;
    scr_rm_close(&job->rm);
    job->prm = fresh->prm;
    job->rm = fresh->rm;
    job->rm.prm = &job->prm;
    job->rm.nodes = nodes;
}

int scr_job_reload(struct job *job, struct scr_err *err)
{
    struct job fresh = { .t = job->t };
    struct scr_cfg *old = job->t->cfg;
    job->t->cfg = NULL;
    int rc = read_config(&fresh, job->prm.prefix, err);
    if (rc == SCR_OK) {
        take_over(job, &fresh);
    } else {
        struct scr_cfg *bad = job->t->cfg;
        job->t->cfg = old;
        old = bad;
    }
    job->is_stale = rc != SCR_OK;
    scr_cfg_free(old);
    return rc;
}

int scr_job_launcher(struct scr_tool *t, const struct scr_args *a, int row,
                     struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    if (a->opt[row] == NULL || scr_launcher_check(a->opt[row], &why) == SCR_OK)
        return SCR_OK;
    return scr_tool_usage(t, err, "%s", why.text);
}

int scr_job_test_nodes(const struct job *job, const struct scr_hostlist *nodes,
                       double timeout_s, int use_free, struct scr_downs *down,
                       struct scr_err *err)
{
    const char *check[] = { job->self,
                            "check_node",
                            "--prefix",
                            job->prm.prefix,
                            use_free ? "--free" : NULL,
                            NULL };
    const struct scr_node_tests tests = { &job->rm, job->is_stale ? NULL : check,
                                          timeout_s };
    return scr_nodes_test(&tests, nodes, down, err);
}

static int nodes_of_last_run(const struct job *job, const struct scr_prefix *prefix,
                             size_t *nodes, struct scr_err *err)
{
    int n = 0;
    struct scr_err why = SCR_ERR_INIT;
    scr_hash *h = scr_hash_new();
    int rc;
    TRY_OUT(scr_prefix_state_read(&job->t->env, prefix, "nodes.scr", h, &why));
    TRY_OUT(scr_nodes_get(h, &n, &why));
out:
    scr_hash_delete(h);
    *nodes = rc == SCR_OK && n > 0 ? (size_t)n : 0;
    if (rc == SCR_OK || rc == SCR_E_NOENT || rc == SCR_E_CORRUPT)
        return SCR_OK; /* the next run rewrites a damaged one */
    return scr_err_take(err, rc, &why);
}

int scr_job_needs(const struct job *job, const struct scr_prefix *prefix, size_t asked,
                  size_t *need, const char **from, struct scr_err *err)
{
    size_t last = 0;
    int rc = nodes_of_last_run(job, prefix, &last, err);
    const struct {
        size_t n;
        const char *from;
    } rows[] = { { (size_t)job->prm.min_nodes, "SCR_MIN_NODES" },
                 { asked, "options of the launcher" },
                 { last, "the previous run" },
                 { job->rm.nodes.n, "size of the allocation" } };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        *need = rows[i].n;
        *from = rows[i].from;
        if (*need > 0)
            break;
    }
    return rc;
}

int scr_job_halted(const struct job *job, const struct scr_prefix *prefix,
                   int64_t end_time, char **why, int *is_end, struct scr_err *err)
{
    struct scr_halt h;
    struct scr_err cause = SCR_ERR_INIT;
    scr_hash *file = scr_hash_new();
    *why = NULL;
    *is_end = 0;
    int rc = scr_prefix_state_read(&job->t->env, prefix, "halt.scr", file, &cause);
    if (rc == SCR_OK)
        rc = scr_halt_get(file, &h, &cause);
    if (rc == SCR_E_CORRUPT) {
        scr_log(job->t->env.log, SCR_LOG_WARN, "%s: it holds no condition", cause.text);
        rc = scr_halt_get(NULL, &h, &cause);
    }
    if (rc == SCR_OK) {
        if (scr_halt_is_of_another(file, job->prm.job_id))
            h.reason = NULL;
        scr_halt_add_job(&h, (int64_t)job->prm.halt_seconds, end_time);
        const char *word = scr_halt_due(&h, (int64_t)time(NULL), why);
        *is_end =
            h.reason == NULL && word != NULL && strcmp(word, SCR_HALT_JOB_END) == 0;
    }
    scr_hash_delete(file);
    return scr_err_take(err, rc, &cause);
}
