/* SPDX-License-Identifier: BSD-3-Clause */
/* Running one command on many nodes at once, with a time limit for all together.
 *
 *     const char *argv[] = { "/opt/scr/bin/scr", "check_node", NULL };
 *     struct scr_remote_result *res;
 *     rc = scr_remote_run(&rm, &rm.nodes, argv, 30, &res, err);
 *     for (size_t i = 0; i < rm.nodes.n; i++)
 *         … res[i].answered, res[i].status, res[i].out …
 *     scr_remote_free(res, rm.nodes.n);
 *
 * By srun, pdsh or ssh, as SCR_REMOTE says; where the nodes are virtual, or this one,
 * as a process here. The command sees the SCR_* variables of our environment wherever
 * it runs, and on a virtual node SCR_VNODES is that node's name alone. There is nothing
 * on its stdin. Arguments arrive as they are given here: where ssh hands them to a
 * login shell they are quoted for it. */
#ifndef SCR_RM_REMOTE_H
#define SCR_RM_REMOTE_H

#include "rm/rm.h"

/* Name of the job steps started here, to distinguish them from those of the
 * application.
 */
#define SCR_REMOTE_STEP "scr_remote"

struct scr_remote_result {
    int answered; /* 1: the command ended there, with this status */
    int status;   /* 0…255; -1 if not answered */
    char *out;    /* what it wrote to stdout, malloc'd, never NULL */
    char *why;    /* what it wrote to stderr; if not answered, the reason */
};

/* *res: one for each node, in their order; *res is NULL on error. Fails if there is no
 * way to reach the nodes, which is one clear line; a node that does not answer is no
 * error. SCR_E_UNSAFE: a name is none of a node. */
int scr_remote_run(const struct scr_rm *rm, const struct scr_hostlist *nodes,
                   const char *const *argv, double timeout_s,
                   struct scr_remote_result **res, struct scr_err *err);
void scr_remote_free(struct scr_remote_result *res, size_t n);

/* "SRUN", "PDSH", "SSH" or "LOCAL": what scr_remote_run would take for these nodes. */
int scr_remote_means(const struct scr_rm *rm, const struct scr_hostlist *nodes,
                     const char **name, struct scr_err *err);

#endif
