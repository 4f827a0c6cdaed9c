/* SPDX-License-Identifier: BSD-3-Clause */
/* jsrun and lrun of LSF, flux run, aprun of ALPS. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "rm/launch_impl.h"

/* --- jsrun, lrun --- */

static int exclude_hosts(const struct scr_rm *rm, const struct scr_launcher *l,
                         const struct scr_launch *what, struct scr_strv *argv,
                         struct scr_strv *env, struct scr_err *err)
{
    (void)rm;
    (void)env;
    int rc =
        scr_launch_refuse(l, what->args, SCR_OPT_EXCLUDE, "set SCR_EXCLUDE_NODES", err);
    if (what->bad->n > 0)
        scr_strv_join(argv, "--exclude_hosts=", what->bad->name, what->bad->n);
    scr_strv_add_all(argv, what->args);
    return rc;
}

static const struct scr_launch_row jsrun_rows[] = {
    { "--exclude_hosts", SCR_OPT_EXCLUDE },
    { "-p --np", SCR_OPT_PROCS },
    { "-h --chdir", SCR_OPT_CHDIR },
    { NULL, SCR_OPT_OTHER },
};

const struct scr_launcher_ops scr_launch_jsrun = {
    .names = "jsrun",
    .rows = jsrun_rows,
    .has_letters = 1,
    .with_value = "-A -a -b -c -d -D -e -E -F -f -g -i -J -K -k -l -L -m -M -n -o -O "
                  "-P -r -S -t -U -u -x -Y -Z --nrs --tasks_per_rs --cpu_per_rs "
                  "--gpu_per_rs --rs_per_host --bind --launch_distribution --env "
                  "--latency_priority --stdio_input --stdio_stdout "
                  "--stdio_stderr --stdio_mode --smpiargs --erf_input --appfile",
    .line = exclude_hosts,
};

static const struct scr_launch_row lrun_rows[] = {
    { "--exclude_hosts", SCR_OPT_EXCLUDE },
    { "-N", SCR_OPT_NODES },
    { "-n -p", SCR_OPT_PROCS },
    { "-T", SCR_OPT_PER_NODE },
    { NULL, SCR_OPT_OTHER },
};

const struct scr_launcher_ops scr_launch_lrun = {
    .names = "lrun",
    .rows = lrun_rows,
    .has_letters = 1,
    .with_value = "-c -g -W --bind --env --gpubind --threads --pack_gpus",
    .line = exclude_hosts,
};

/* --- flux run --- */

static const struct scr_launch_row flux_rows[] = {
    { "-N --nodes", SCR_OPT_NODES },
    { "-n --ntasks", SCR_OPT_PROCS },
    { "--tasks-per-node", SCR_OPT_PER_NODE },
    { "--requires", SCR_OPT_EXCLUDE },
    { "--cwd", SCR_OPT_CHDIR },
    { NULL, SCR_OPT_OTHER },
};

/* "run" in "flux run", "mini run" of older versions; otherwise the user left it out. */
static size_t subcommand_words(const char *const *args)
{
    if (args[0] != NULL && strcmp(args[0], "run") == 0)
        return 1;
    return args[0] && args[1] && strcmp(args[0], "mini") == 0 &&
                   strcmp(args[1], "run") == 0
               ? 2
               : 0;
}

static int flux_line(const struct scr_rm *rm, const struct scr_launcher *l,
                     const struct scr_launch *what, struct scr_strv *argv,
                     struct scr_strv *env, struct scr_err *err)
{
    size_t n = subcommand_words(what->args);
    const char *const *options = what->args + n;
    char *bad = NULL;
    (void)rm;
    (void)env;
    for (size_t i = 0; i < n; i++)
        scr_strv_add(argv, what->args[i]);
    if (n == 0)
        scr_strv_add(argv, "run");
    int rc = what->bad->n ? scr_launch_refuse(l, options, SCR_OPT_EXCLUDE,
                                              "set SCR_EXCLUDE_NODES", err)
                          : SCR_OK;
    if (rc == SCR_OK && what->bad->n > 0) {
        rc = scr_hostlist_compress(what->bad, 0, &bad, err);
        if (rc == SCR_OK)
            scr_strv_printf(argv, "--requires=-host:%s", bad);
        free(bad);
    }
    scr_strv_add_all(argv, options);
    return rc;
}

const struct scr_launcher_ops scr_launch_flux = {
    .names = "flux",
    .rows = flux_rows,
    .has_letters = 1,
    .with_value =
        "-B -c -g -o -t -q -S --bank --cores-per-task --gpus-per-task --cores "
        "--gpus-per-node --queue --time-limit --setopt --setattr --env "
        "--env-remove --env-file --rlimit --input --output --error "
        "--dependency --urgency --job-name --begin-time --signal --add-file "
        "--taskmap --conf --flags --log --log-stderr",
    .skip = subcommand_words,
    .line = flux_line,
};

/* --- aprun --- */

static const struct scr_launch_row aprun_rows[] = {
    { "-n --pes", SCR_OPT_PROCS },
    { "-N --pes-per-node", SCR_OPT_PER_NODE },
    { "-L --node-list", SCR_OPT_HOSTS },
    { "-E --exclude-node-list", SCR_OPT_EXCLUDE },
    { NULL, SCR_OPT_OTHER },
};

/* ALPS knows nodes by number: nid00023 is 23. */
static const char *node_number(const char *node)
{
    const char *p = node + strcspn(node, "0123456789");
    p += strspn(p, "0");
    return *p == '\0' || !isdigit((unsigned char)*p) ? "0" : p;
}

static int aprun_line(const struct scr_rm *rm, const struct scr_launcher *l,
                      const struct scr_launch *what, struct scr_strv *argv,
                      struct scr_strv *env, struct scr_err *err)
{
    struct scr_str list = SCR_STR_INIT;
    (void)rm;
    (void)env;
    int rc =
        scr_launch_refuse(l, what->args, SCR_OPT_HOSTS, "set SCR_EXCLUDE_NODES", err);
    for (size_t i = 0; i < what->good->n; i++)
        scr_str_printf(&list, "%s%s", i ? "," : "", node_number(what->good->name[i]));
    char *text = scr_str_take(&list);
    if (text == NULL)
        argv->bad = 1;
    else if (what->bad->n > 0) {
        scr_strv_add(argv, "-L");
        scr_strv_add(argv, text);
    }
    free(text);
    scr_strv_add_all(argv, what->args);
    return rc;
}

const struct scr_launcher_ops scr_launch_aprun = {
    .names = "aprun",
    .rows = aprun_rows,
    .has_letters = 1,
    .with_value = "-a -B -C -cc -cp -d -D -e -F -j -m -M -p -P -r -S -sn -sl -ss -t -u "
                  "-z --cpu-binding --depth --memory-per-pe --pes-per-numa-node "
                  "--cpus-per-cu --access-mode --environment-override --architecture",
    .line = aprun_line,
};
