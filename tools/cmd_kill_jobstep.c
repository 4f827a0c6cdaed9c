/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_kill_jobstep: kills a job step through the resource manager, not the allocation.
 */
#include <stdlib.h>

#include "job.h"

enum { OPT_STEP, OPT_OLD_STEP, OPT_PREFIX, OPT_BINDIR, OPT_LAUNCHER };

static const struct scr_opt opts[] = {
    [OPT_STEP] = { "step", 'j', "ID", "the step (default: the newest that runs)" },
    [OPT_OLD_STEP] = { "jobStepId", 0, "ID", NULL /* as it was called */ },
    [OPT_PREFIX] = { "prefix", 'p', "DIR", "prefix directory of the job" },
    [OPT_BINDIR] = { "bindir", 'b', "DIR", NULL /* of SCR 3.x; nothing is there */ },
    [OPT_LAUNCHER] = { "launcher", 'l', "NAME", NULL /* as well */ },
    { 0 },
};

static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    struct job job;
    const char *step = a->opt[OPT_STEP] ? a->opt[OPT_STEP] : a->opt[OPT_OLD_STEP];
    char *killed = NULL;
    TRY(scr_job_launcher(t, a, OPT_LAUNCHER, err));
    int rc = scr_job_open(t, a->opt[OPT_PREFIX], &job, err);
    if (rc == SCR_OK)
        rc = scr_rm_kill_step(&job.rm, step, NULL, &killed, err);
    if (rc == SCR_OK && killed != NULL)
        scr_tool_print(t, "%s\n", killed);
    else if (rc == SCR_OK)
        rc = SCR_TOOL_NO;
    free(killed);
    scr_job_close(&job);
    return rc;
}

const struct scr_cmd scr_cmd_kill_jobstep = {
    .usage = "[OPTION]...",
    .about = "Kills a job step, and prints which. The allocation and what is in cache "
             "stay.\n"
             "The exit status is 1 if no step runs.",
    .opts = opts,
    .run = run,
};
