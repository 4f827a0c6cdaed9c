/* SPDX-License-Identifier: BSD-3-Clause */
/* srun inside of a Slurm job: a step a node, so that a dead node holds up no other. */
#include <string.h>

#include "rm/remote_impl.h"

static int in_slurm(const struct scr_rm *rm, const struct scr_hostlist *nodes)
{
    (void)nodes;
    return strcmp(rm->ops->name, "SLURM") == 0 && rm->job != NULL;
}

/* --overlap: in parallel with the application, without waiting for its resources.
 * --export: settings of SCR reach the node also after sbatch --export=NONE. */
static void line(const struct scr_remote_job *job, const char *node,
                 struct scr_strv *argv, struct scr_strv *env)
{
    static const char *const fixed[] = { "--nodes=1",
                                         "--ntasks=1",
                                         "--overlap",
                                         "--quiet",
                                         "--export=ALL",
                                         "--mpi=none",
                                         "--job-name=" SCR_REMOTE_STEP,
                                         NULL };
    /* Settings for the application's steps that would get into the way of ours. */
    static const char *const unset[] = {
        "SLURM_HOSTFILE",       "SLURM_DISTRIBUTION", "SLURM_NTASKS_PER_NODE",
        "SLURM_TASKS_PER_NODE", "SLURM_EXACT",        "SLURM_LABELIO",
        "SLURM_EXPORT_ENV",     "SRUN_EXPORT_ENV",    NULL
    };
    scr_strv_add(argv, job->path);
    scr_strv_add_all(argv, fixed);
    scr_strv_printf(argv, "--jobid=%s", job->rm->job);
    scr_strv_printf(argv, "--nodelist=%s", node);
    scr_strv_add_all(argv, job->argv);
    scr_strv_add_all(env, unset);
    scr_strv_printf(env, "SCR_JOB_ID=%s", job->rm->prm->job_id);
}

/* srun reports the status of the command; when no step could be made it prints an error
 * and ends with 1, like a command that answers no: the text distinguishes them. */
static int is_carrier_failure(const struct scr_remote_result *r)
{
    static const char *const words[] = { "srun: error: Unable to create step",
                                         "srun: error: Task launch",
                                         "srun: error: Node failure",
                                         "srun: error: Application launch failed" };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strstr(r->why, words[i]) != NULL)
            return 1;
    return 0;
}

static int run(const struct scr_remote_job *job, struct scr_err *err)
{
    int rc = scr_remote_each(job, line, -1, err);
    for (size_t i = 0; i < job->nodes->n && rc == SCR_OK; i++) {
        struct scr_remote_result *r = &job->res[i];
        if (r->answered && r->status != 0 && is_carrier_failure(r)) {
            r->answered = 0;
            r->status = -1;
        }
    }
    return rc;
}

const struct scr_remote_ops scr_remote_srun = {
    .name = "SRUN", .program = "srun", .applies = in_slurm, .run = run
};
