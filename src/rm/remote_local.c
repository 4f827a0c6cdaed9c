/* SPDX-License-Identifier: BSD-3-Clause */
/* Here: for virtual nodes, and for a job with only this node. */
#include <string.h>

#include "rm/remote_impl.h"

static int is_here(const struct scr_rm *rm, const struct scr_hostlist *nodes)
{
    if (rm->is_virtual)
        return 1;
    for (size_t i = 0; i < nodes->n; i++)
        if (strcmp(nodes->name[i], rm->host) != 0 &&
            strcmp(nodes->name[i], "localhost") != 0)
            return 0;
    return 1;
}

/* The command is on one of the nodes of the job. */
static void line(const struct scr_remote_job *job, const char *node,
                 struct scr_strv *argv, struct scr_strv *env)
{
    scr_strv_add_all(argv, job->argv);
    if (!job->rm->is_virtual)
        return;
    scr_strv_printf(env, "SCR_VNODES=%s", node);
    scr_strv_join(env, "SCR_NODELIST=", job->rm->nodes.name, job->rm->nodes.n);
}

static int run(const struct scr_remote_job *job, struct scr_err *err)
{
    return scr_remote_each(job, line, -1, err);
}

const struct scr_remote_ops scr_remote_local = { .name = "LOCAL",
                                                 .applies = is_here,
                                                 .run = run };
