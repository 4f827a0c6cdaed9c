/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of src/rm: the table of ways to run something on another node. */
#ifndef SCR_RM_REMOTE_IMPL_H
#define SCR_RM_REMOTE_IMPL_H

#include "base/strv.h"
#include "rm/many.h"
#include "rm/remote.h"

/* One run of a command on some nodes. */
struct scr_remote_job {
    const struct scr_rm *rm;
    const struct scr_hostlist *nodes;
    const char *const *argv;
    const char *path; /* of the program in the row, NULL if it has none */
    double timeout_s;
    struct scr_remote_result *res; /* to be filled; out and why are "" before */
};

struct scr_remote_ops {
    const char *name;    /* value of SCR_REMOTE */
    const char *program; /* that it needs here; NULL: none */
    /* Whether AUTO may take it for these nodes, should its program be there; NULL: it
     * may. */
    int (*applies)(const struct scr_rm *rm, const struct scr_hostlist *nodes);
    int (*run)(const struct scr_remote_job *job, struct scr_err *err);
};

extern const struct scr_remote_ops scr_remote_srun, scr_remote_pdsh, scr_remote_ssh,
    scr_remote_local;

/* Makes the command line of node i (and its environment, empty at the start). */
typedef void (*scr_remote_line)(const struct scr_remote_job *job, const char *node,
                                struct scr_strv *argv, struct scr_strv *env);
/* One process a node. A status of `unreached` (-1: none) means that it was the carrier
 * that failed, not the command. */
int scr_remote_each(const struct scr_remote_job *job, scr_remote_line line,
                    int unreached, struct scr_err *err);

/* "env SCR_X=… COMMAND…", quoted for a shell at the other end; malloc'd. */
char *scr_remote_shell_line(const struct scr_remote_job *job);

#endif
