/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_should_exit, scr_retries_halt: whether a job should not be started again. */
#include <stdlib.h>

#include "base/units.h"
#include "job.h"

enum { OPT_DOWN, OPT_MIN_NODES, OPT_RUNS, OPT_PREFIX, OPT_DIR };

static const struct scr_opt opts[] = {
    [OPT_DOWN] = { "down", 'D', "NODES",
                   "nodes that cannot be used: are enough left without them?" },
    [OPT_MIN_NODES] = { "min-nodes", 0, "N",
                        "nodes that a run needs (default: SCR_MIN_NODES, or as many as "
                        "the last one had)" },
    [OPT_RUNS] = { "runs", 'r', "N", "runs that are left: stop at 0" },
    [OPT_PREFIX] = { "prefix", 'p', "DIR", "prefix directory of the job" },
    [OPT_DIR] = { "dir", 'd', "DIR", "the same" },
    { 0 },
};

static int check_runs(const struct job *job, const struct scr_args *a,
                      struct scr_err *err, int *stop)
{
    int64_t left = 1;
    TRY(scr_tool_int(job->t, a, OPT_RUNS, SCR_AT_LEAST(0), &left, err));
    if (left == 0) {
        scr_tool_print(job->t, "no runs left\n");
        *stop = 1;
    }
    return SCR_OK;
}

static int check_nodes(const struct job *job, const struct scr_args *a,
                       struct scr_err *err, int *stop)
{
    struct scr_hostlist down = SCR_HOSTLIST_INIT, left = SCR_HOSTLIST_INIT;
    const char *from = "--min-nodes"; /* the source of the number needed */
    int64_t given = 0;
    TRY(scr_tool_int(job->t, a, OPT_MIN_NODES, SCR_AT_LEAST(1), &given, err));
    if (a->opt[OPT_DOWN] == NULL)
        return SCR_OK;
    size_t need = (size_t)given;
    int rc;
    TRY_OUT(scr_tool_hosts(job->t, a, OPT_DOWN, &down, err));
    TRY_OUT(scr_hostlist_minus(&job->rm.nodes, &down, &left, err));
    if (given == 0)
        TRY_OUT(scr_job_needs(job, &job->t->prefix, 0, &need, &from, err));
    if (left.n < need) {
        scr_tool_print(job->t, "%zu node%s left of %zu, %zu needed (%s)\n", left.n,
                       scr_plural((int64_t)left.n), job->rm.nodes.n, need, from);
        *stop = 1;
    }
out:
    scr_hostlist_free(&left);
    scr_hostlist_free(&down);
    return rc;
}

static int check_halt(const struct job *job, struct scr_err *err, int *stop)
{
    char *why = NULL;
    int64_t end = 0;
    int is_end;
    struct scr_err unknown = SCR_ERR_INIT;
    if (scr_rm_end_time(&job->rm, &end, &unknown) != SCR_OK)
        scr_log(job->t->env.log, SCR_LOG_WARN, "end of the allocation not known: %s",
                unknown.text);
    int rc = scr_job_halted(job, &job->t->prefix, end, &why, &is_end, err);
    if (why != NULL) {
        scr_tool_print_line(job->t, "halt condition: %s", why);
        *stop = 1;
    }
    free(why);
    return rc;
}

static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    static const int prefixes[] = { OPT_PREFIX, OPT_DIR, -1 };
    const char *prefix = a->opt[OPT_PREFIX] ? a->opt[OPT_PREFIX] : a->opt[OPT_DIR];
    struct job job = { 0 };
    int stop = 0;
    int rc;
    TRY(scr_tool_exclusive(t, a, err, prefixes));
    TRY_OUT(scr_job_open(t, prefix, &job, err));
    TRY_OUT(scr_tool_prefix(t, job.prm.prefix, 0, err));
    TRY_OUT(check_halt(&job, err, &stop));
    TRY_OUT(check_nodes(&job, a, err, &stop));
    TRY_OUT(check_runs(&job, a, err, &stop));
out:
    scr_job_close(&job);
    return rc == SCR_OK && !stop ? SCR_TOOL_NO : rc;
}

const struct scr_cmd scr_cmd_should_exit = {
    .usage = "[OPTION]...",
    .about =
        "Reports whether a job should not be started again: a halt condition holds,\n"
        "too few nodes are left, or no runs. The exit status is 0 if it should stop, "
        "and\n"
        "the reasons are printed; 1 if it may continue.",
    .opts = opts,
    .run = run,
};
