/* SPDX-License-Identifier: BSD-3-Clause */
/* Launchers: the command line that starts the application on the nodes that are good.
 *
 *     struct scr_launcher l;
 *     rc = scr_launcher_open(&rm, "srun", &l, err);
 *     struct scr_launch what = { .args = args, .good = &good, .bad = &bad, .need = 4 };
 *     rc = scr_launch_line(&rm, &l, &what, &argv, &env, err);
 *     scr_launcher_close(&l);
 *
 * The user's arguments are passed on as they are; what leaves the bad nodes out is put
 * before them. Options of the user that say on which nodes to run are taken out and
 * followed, where that can be done, and refused where it cannot. */
#ifndef SCR_RM_LAUNCH_H
#define SCR_RM_LAUNCH_H

#include "base/strv.h"
#include "rm/rm.h"

struct scr_launch {
    const char *const *args; /* NULL-terminated: options of the launcher, the program
                                and its arguments */
    const struct scr_hostlist *good, *bad; /* nodes of the allocation */
    size_t need;                           /* how many nodes the application needs */
};

struct scr_launcher_ops;

struct scr_launcher {
    const struct scr_launcher_ops *ops;
    const char *name; /* as the user wrote it; borrowed */
    char *path;
};

/* SCR_E_ARG, with the names that are known, if this is none of them. */
int scr_launcher_check(const char *name, struct scr_err *err);
/* SCR_E_ARG: no launcher of that name is known; SCR_E_NOENT: it is not in PATH. mpirun
 * is asked whose it is. */
int scr_launcher_open(const struct scr_rm *rm, const char *name, struct scr_launcher *l,
                      struct scr_err *err);
void scr_launcher_close(struct scr_launcher *l);

/* Appends the command line to argv, and additions to the environment to env.
 * SCR_E_ARG: options that conflict, or no program among args. */
int scr_launch_line(const struct scr_rm *rm, const struct scr_launcher *l,
                    const struct scr_launch *what, struct scr_strv *argv,
                    struct scr_strv *env, struct scr_err *err);

/* How many of args, from the first, are not of the program: options of the launcher. */
size_t scr_launch_options(const struct scr_launcher *l, const char *const *args);
/* Number of nodes that options among args ask for, 0: none does. */
size_t scr_launch_asks_nodes(const struct scr_launcher *l, const char *const *args);
/* Nodes that options among args name (a list, or the file that holds it), each once;
 * without such options the list is empty. */
int scr_launch_names_nodes(const struct scr_rm *rm, const struct scr_launcher *l,
                           const char *const *args, struct scr_hostlist *nodes,
                           struct scr_err *err);
/* Whether it starts all processes on this machine if no node is named: mpirun. */
int scr_launch_runs_here(const struct scr_launcher *l);

#endif
