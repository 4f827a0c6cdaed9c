/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_watchdog: kills a run that has stopped making datasets. */
#include <stdlib.h>

#include "base/str.h"
#include "base/units.h"
#include "runfile.h"
#include "watch.h"

enum { OPT_STEP, OPT_OLD_STEP, OPT_PREFIX, OPT_DIR };

static const struct scr_opt opts[] = {
    [OPT_STEP] = { "step", 'j', "ID",
                   "the job step to kill (default: the one that runs)" },
    [OPT_OLD_STEP] = { "jobStepId", 0, "ID", NULL /* as it was called */ },
    [OPT_PREFIX] = { "prefix", 'p', "DIR", "prefix directory of the job" },
    [OPT_DIR] = { "dir", 'd', "DIR", "the same" },
    { 0 },
};

enum { TICK_MS = 1000 };

/* Without a record of earlier steps, the newest may belong to any program. */
static int check_alone(const struct job *job, struct scr_err *err)
{
    struct scr_hostlist steps = SCR_HOSTLIST_INIT;
    int rc;
    TRY_OUT(scr_rm_steps(&job->rm, &steps, err));
    if (steps.n > 1)
        TRY_OUT(scr_fail(err, SCR_E_ARG, 0,
                         "the program hangs, but %zu job steps run: name the one to "
                         "kill with --step",
                         steps.n));
out:
    scr_hostlist_free(&steps);
    return rc;
}

static int kill_run(struct job *job, const char *step, char **what, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    if (step == NULL && scr_runfile_kill(job->t, RUNFILE_HANGS, what, &why) == SCR_OK &&
        *what != NULL)
        return SCR_OK;
    char *killed = NULL;
    int rc;
    TRY_OUT(step ? SCR_OK : check_alone(job, err));
    TRY_OUT(scr_rm_kill_step(&job->rm, step, NULL, &killed, err));
out:
    *what = killed ? scr_asprintf("job step %s is killed", killed) : NULL;
    free(killed);
    return rc;
}

static int watch(struct job *job, const char *step, struct scr_err *err)
{
    struct watch w;
    double limit;
    char *what = NULL;
    scr_watch_start(&job->prm, &w);
    while (!scr_watch_hangs(job->t, &w, &limit))
        scr_nap_ms(TICK_MS);
    int rc;
    TRY_OUT(kill_run(job, step, &what, err));
    scr_tool_print(job->t, "no new dataset for %.0f second%s: %s\n", limit,
                   scr_plural((int64_t)limit), what ? what : "nothing runs");
out:
    free(what);
    return rc;
}

static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    static const int prefixes[] = { OPT_PREFIX, OPT_DIR, -1 };
    const char *prefix = a->opt[OPT_PREFIX] ? a->opt[OPT_PREFIX] : a->opt[OPT_DIR];
    const char *step = a->opt[OPT_STEP] ? a->opt[OPT_STEP] : a->opt[OPT_OLD_STEP];
    struct job job = { 0 };
    int rc;
    TRY(scr_tool_exclusive(t, a, err, prefixes));
    TRY_OUT(scr_job_open(t, prefix, &job, err));
    TRY_OUT(scr_tool_prefix(t, job.prm.prefix, 0, err));
    if (job.prm.watchdog_timeout <= 0 && job.prm.watchdog_timeout_pfs <= 0)
        TRY_OUT(scr_fail(
            err, SCR_E_CONFIG, 0,
            "SCR_WATCHDOG_TIMEOUT and SCR_WATCHDOG_TIMEOUT_PFS are not set: how "
            "long may it take to the next dataset?"));
    TRY_OUT(watch(&job, step, err));
out:
    scr_job_close(&job);
    return rc;
}

const struct scr_cmd scr_cmd_watchdog = {
    .usage = "[OPTION]...",
    .about =
        "Waits until the run in a prefix directory has made no dataset for\n"
        "SCR_WATCHDOG_TIMEOUT seconds (SCR_WATCHDOG_TIMEOUT_PFS while one is written\n"
        "to the parallel file system), and kills its job step. scr_srun and its\n"
        "relatives do the same by themselves with SCR_WATCHDOG=1.",
    .opts = opts,
    .run = run,
};
