/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_run and, for a launcher each, scr_srun, scr_mpirun, scr_aprun …: run a program
 * under SCR. */
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/proc.h"
#include "base/strv.h"
#include "reach.h"
#include "runloop.h"

/* The launcher in "scr_srun", "scr-srun" or "scr srun"; NULL in "scr_run". */
static const char *launcher_of(const char *who)
{
    const char *word = strrchr(who, ' ');
    const char *base = word ? word + 1 : scr_path_base(who);
    if (strncmp(base, "scr_", 4) == 0 || strncmp(base, "scr-", 4) == 0)
        base += 4;
    return strcmp(base, "run") == 0 ? NULL : base;
}

/* The launcher may be any, unless its options must be distinguished from a run
 * command. */
static int plain_line(const struct scr_rm *here, const char *launcher,
                      const char *const *args, struct scr_strv *argv,
                      struct scr_err *err)
{
    struct scr_commands c = { 0 };
    struct scr_launcher l = { 0 };
    int rc = SCR_OK;
    scr_strv_add(argv, launcher);
    if (!scr_commands_are(args))
        scr_strv_add_all(argv, args);
    else if ((rc = scr_launcher_open(here, launcher, &l, err)) == SCR_OK &&
             (rc = scr_commands_take(&l, args, &c, err)) == SCR_OK)
        scr_commands_line(&c, NULL, argv);
    scr_commands_free(&c);
    scr_launcher_close(&l);
    return rc == SCR_OK && argv->bad ? scr_no_memory(err) : rc;
}

/* With SCR_ENABLE=0 only the launcher is left, and it gets all signals itself. */
static int run_plain(struct scr_tool *t, const char *launcher, const char *const *args,
                     struct scr_err *err)
{
    struct scr_strv argv = SCR_STRV_INIT;
    const struct scr_rm here = { .env = &t->env, .cfg = t->cfg };
    char *path = NULL;
    int rc;
    TRY_OUT(plain_line(&here, launcher, args, &argv, err));
    TRY_OUT(scr_rm_program(&here, launcher, &path, err));
    TRY_OUT(scr_proc_exec(path, scr_strv_argv(&argv), err));
out:
    scr_strv_free(&argv);
    free(path);
    return rc;
}

static int is_enabled(struct scr_tool *t, int *enabled, struct scr_err *err)
{
    struct scr_params prm;
    int rc = scr_tool_params(t, NULL, &prm, err);
    *enabled = rc == SCR_OK && prm.enable;
    t->log.has_time = rc == SCR_OK ? scr_log_time(prm.log_time) : scr_cfg_log_time();
    if (rc == SCR_OK)
        t->log.level = prm.debug > t->log.level ? prm.debug : t->log.level;
    return rc;
}

/* Before the launcher; behind it all is the launcher's. */
static const char *const *take_verbose(struct scr_tool *t, const char *const *args)
{
    for (; *args && (strcmp(*args, "-v") == 0 || strcmp(*args, "--verbose") == 0);
         args++)
        t->log.level = SCR_LOG_INFO;
    return args;
}

static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    const char *launcher = launcher_of(t->who);
    const char *const *args = a->operand;
    int enabled;
    if (launcher == NULL)
        args = take_verbose(t, args);
    if (launcher == NULL && (launcher = *args++) == NULL)
        return scr_tool_usage(t, err, "LAUNCHER is missing, for example srun");
    if (*launcher == '-')
        return scr_tool_usage(t, err, "unknown option %s", launcher);
    if (*args == NULL)
        return scr_tool_usage(t, err, "PROGRAM is missing");
    TRY(is_enabled(t, &enabled, err));
    TRY(enabled ? scr_runloop(t, launcher, args, &t->status, err)
                : run_plain(t, launcher, args, err));
    return SCR_TOOL_STATUS;
}

/* For the help: they are found among those of the launcher. */
static const struct scr_opt opts[] = {
    { "run-cmd", 0, "COMMAND", "what to run, instead of PROGRAM and its arguments" },
    { "restart-cmd", 0, "COMMAND", "what to run where there is a checkpoint" },
    { 0 },
};

const struct scr_cmd scr_cmd_run = {
    .usage = "[LAUNCHER] [LAUNCHER OPTION]... PROGRAM [ARGUMENT]...",
    .about =
        "Runs PROGRAM with LAUNCHER (scr_srun: srun, scr_mpirun: mpirun, and so on) "
        "on\n"
        "the nodes of the allocation that are good. If it fails, runs it again "
        "without\n"
        "the nodes that were lost, SCR_RUNS times in all, as long as there are enough\n"
        "nodes and no halt condition holds. At the end, what is only in cache is "
        "saved.\n"
        "The exit status is that of the last run.",
    .opts = opts,
    .notes =
        "For short -rc and -rs; the name of the checkpoint takes the place of\n"
        "SCR_CKPT_NAME. All other arguments are handed on. SCR_PREFIX, SCR_RUNS,\n"
        "SCR_MIN_NODES, SCR_RUN_SLEEP, SCR_HALT_SECONDS, SCR_EXCLUDE_NODES and\n"
        "SCR_WATCHDOG are described in scr_params(5). SIGTERM, SIGINT and SIGUSR1 ask\n"
        "the program to stop after its next checkpoint; a second one ends it.",
    .max_operands = -1,
    .raw = 1,
    .run = run,
};
