/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_test_runtime: whether the programs are there that runs need. */
#include "job.h"
#include "rm/remote.h"

enum { OPT_PREFIX };

static const struct scr_opt opts[] = {
    [OPT_PREFIX] = { "prefix", 'p', "DIR", "prefix directory of the job" },
    { 0 },
};

static int test(const struct job *job, struct scr_err *err)
{
    const char *means = NULL;
    int rc = SCR_OK;
    scr_tool_print(job->t, "resource manager: %s\n", job->rm.ops->name);
    scr_tool_print(job->t, "nodes: %zu\n", job->rm.nodes.n);
    if (job->rm.nodes.n > 0)
        rc = scr_remote_means(&job->rm, &job->rm.nodes, &means, err);
    if (rc == SCR_OK && means != NULL)
        scr_tool_print(job->t, "commands on nodes: %s\n", means);
    scr_tool_print(job->t, "ping: %s\n",
                   scr_rm_has_program(&job->rm, "ping") ? "yes" : "no");
    return rc;
}

static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    struct job job;
    int rc;
    TRY_OUT(scr_job_open(t, a->opt[OPT_PREFIX], &job, err));
    TRY_OUT(test(&job, err));
out:
    scr_job_close(&job);
    return rc;
}

const struct scr_cmd scr_cmd_test_runtime = {
    .usage = "[OPTION]...",
    .about =
        "Checks that the programs exist which scr_srun and its relatives need at run\n"
        "time, and prints which ones they would use.",
    .opts = opts,
    .run = run,
};
