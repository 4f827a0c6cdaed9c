/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_env: what SCR knows about the job it is run in. */
#include "job.h"

enum {
    OPT_USER,
    OPT_JOBID,
    OPT_NODES,
    OPT_DOWN,
    OPT_RUNNODES,
    OPT_ENDTIME,
    OPT_MANAGER,
    OPT_PREFIX,
    OPT_N
};

static const struct scr_opt opts[] = {
    [OPT_USER] = { "user", 'u', NULL, "name of the user" },
    [OPT_JOBID] = { "jobid", 'j', NULL, "id of the allocation" },
    [OPT_NODES] = { "nodes", 'n', NULL, "nodes of the allocation" },
    [OPT_DOWN] = { "down", 'd', NULL, "nodes that the resource manager reports down" },
    [OPT_RUNNODES] = { "runnodes", 'r', NULL, "number of nodes of the last run" },
    [OPT_ENDTIME] = { "endtime", 'e', NULL,
                      "when the allocation ends, seconds since 1970; 0: not known" },
    [OPT_MANAGER] = { "manager", 'm', NULL, "resource manager" },
    [OPT_PREFIX] = { "prefix", 'p', "DIR",
                     "prefix directory of the job (default: the current one)" },
    { 0 },
};

static int print_down(const struct job *job, struct scr_err *err)
{
    struct scr_downs down = SCR_DOWNS_INIT;
    int rc;
    TRY_OUT(scr_rm_down(&job->rm, &job->rm.nodes, &down, err));
    TRY_OUT(scr_tool_print_hosts(job->t, &down.nodes, 0, err));
out:
    scr_downs_free(&down);
    return rc;
}

static int print_run_nodes(const struct job *job, struct scr_err *err)
{
    int n = 0;
    TRY(scr_tool_prefix(job->t, job->prm.prefix, 0, err));
    scr_hash *h = scr_hash_new();
    int rc = scr_prefix_state_read(&job->t->env, &job->t->prefix, "nodes.scr", h, err);
    if (rc == SCR_OK && scr_nodes_get(h, &n, NULL) != SCR_OK)
        n = 0;
    scr_hash_delete(h);
    if (rc == SCR_OK)
        scr_tool_print(job->t, "%d\n", n);
    return rc;
}

static int print_end(const struct job *job, struct scr_err *err)
{
    int64_t end;
    TRY(scr_rm_end_time(&job->rm, &end, err));
    scr_tool_print(job->t, "%lld\n", (long long)end);
    return SCR_OK;
}

static int print(const struct job *job, const struct scr_args *a, struct scr_err *err)
{
    struct scr_tool *t = job->t;
    if (a->opt[OPT_USER] != NULL)
        scr_tool_print(t, "%s\n", job->prm.user_name);
    if (a->opt[OPT_JOBID] != NULL)
        scr_tool_print(t, "%s\n", job->prm.job_id);
    if (a->opt[OPT_NODES] != NULL)
        TRY(scr_tool_print_hosts(t, &job->rm.nodes, 0, err));
    if (a->opt[OPT_DOWN] != NULL)
        TRY(print_down(job, err));
    if (a->opt[OPT_RUNNODES] != NULL)
        TRY(print_run_nodes(job, err));
    if (a->opt[OPT_ENDTIME] != NULL)
        TRY(print_end(job, err));
    if (a->opt[OPT_MANAGER] != NULL)
        scr_tool_print(t, "%s\n", job->rm.ops->name);
    return SCR_OK;
}

static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    struct job job;
    int asked = 0;
    for (int i = 0; i < OPT_PREFIX; i++)
        asked |= a->opt[i] != NULL;
    if (!asked)
        return scr_tool_usage(t, err, "an option is missing, for example --nodes");
    int rc;
    TRY_OUT(scr_job_open(t, a->opt[OPT_PREFIX], &job, err));
    TRY_OUT(print(&job, a, err));
out:
    scr_job_close(&job);
    return rc;
}

const struct scr_cmd scr_cmd_env = {
    .usage = "OPTION...",
    .about =
        "Prints what SCR knows about the job it is run in, a line for each option.",
    .opts = opts,
    .run = run,
};
