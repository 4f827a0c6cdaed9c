/* SPDX-License-Identifier: BSD-3-Clause */
/* srun of Slurm: --exclude, --kill-on-bad-exit. */
#include <stdlib.h>
#include <string.h>

#include "rm/launch_impl.h"

static const struct scr_launch_row rows[] = {
    { "-N --nodes", SCR_OPT_NODES },           { "-n --ntasks", SCR_OPT_PROCS },
    { "--ntasks-per-node", SCR_OPT_PER_NODE }, { "-w --nodelist", SCR_OPT_HOSTS },
    { "-F --nodefile", SCR_OPT_HOSTFILE },     { "-x --exclude", SCR_OPT_EXCLUDE },
    { "-D --chdir", SCR_OPT_CHDIR },           { NULL, SCR_OPT_OTHER },
};

/* -K, --kill-on-bad-exit or what of that srun takes for it; its value is never a
 * separate word. */
static int says_kill(const struct scr_launcher *l, const char *const *args)
{
    struct scr_launch_walk w = scr_launch_begin(l->ops, args);
    int found = 0;
    while (scr_launch_next(&w))
        found = found || strncmp(args[w.at], "-K", 2) == 0 ||
                strncmp(args[w.at], "--kill", 6) == 0;
    return found;
}

/* Where Slurm is not configured to (KillOnBadExit), a step continues when one of its
 * processes is killed, and the others wait for it for ever. */
static void end_with_the_first(const struct scr_rm *rm, const struct scr_launcher *l,
                               const char *const *args, struct scr_strv *argv)
{
    if (!says_kill(l, args) && scr_cfg_getenv(rm->cfg, "SLURM_KILL_BAD_EXIT") == NULL)
        scr_strv_printf(argv, "--kill-on-bad-exit=1");
}

/* Given twice, --exclude counts once only: the user's would undo ours. And --nodelist
 * means at least those nodes, dead ones, too. */
static int line(const struct scr_rm *rm, const struct scr_launcher *l,
                const struct scr_launch *what, struct scr_strv *argv,
                struct scr_strv *env, struct scr_err *err)
{
    static const char use[] = "set SCR_EXCLUDE_NODES";
    char *bad = NULL;
    (void)env;
    int rc = scr_launch_refuse(l, what->args, SCR_OPT_EXCLUDE, use, err);
    if (rc == SCR_OK)
        rc = scr_launch_refuse(l, what->args, SCR_OPT_HOSTS, use, err);
    if (rc == SCR_OK)
        rc = scr_launch_refuse(l, what->args, SCR_OPT_HOSTFILE, use, err);
    if (rc == SCR_OK && what->bad->n > 0) {
        rc = scr_hostlist_compress(what->bad, 0, &bad, err);
        if (rc == SCR_OK)
            scr_strv_printf(argv, "--exclude=%s", bad);
        free(bad);
    }
    end_with_the_first(rm, l, what->args, argv);
    scr_strv_add_all(argv, what->args);
    return rc;
}

const struct scr_launcher_ops scr_launch_srun = {
    .names = "srun",
    .rows = rows,
    .has_letters = 1,
    .with_value =
        "-A -b -B -c -C -d -e -G -i -J -L -m -M -o -p -P -q -r -R -S -t -T -U -W "
        "--account --acctg-freq --bb --bbf --begin --cluster-constraint --clusters "
        "--comment --compress --constraint --container --core-spec --cores-per-socket "
        "--cpu-bind --cpu-freq --cpus-per-gpu --cpus-per-task --deadline "
        "--delay-boot --dependency --distribution --epilog --error "
        "--export --extra-node-info --gid --gpu-bind --gpu-freq --gpus --gpus-per-node "
        "--gpus-per-socket --gpus-per-task --gres --gres-flags --hint --input "
        "--job-name --jobid --licenses --mail-type --mail-user --max-cpus --mcs-label "
        "--mem --mem-bind --mem-per-cpu --mem-per-gpu --mincpus --mpi --msg-timeout "
        "--multi-prog-file --network --nice --ntasks-per-core --ntasks-per-gpu "
        "--ntasks-per-socket --open-mode --output --partition --power --priority "
        "--profile --prolog --qos --relative --reservation --signal --slurmd-debug "
        "--sockets-per-node --switches --task-epilog --task-prolog --thread-spec "
        "--threads --threads-per-core --time --time-min --tmp --uid --wait --wckey",
    .line = line,
};
