/* SPDX-License-Identifier: BSD-3-Clause */
/* The job a command is run in: configuration, resource manager and nodes.
 *
 *     struct job job;
 *     rc = scr_job_open(t, a->opt[OPT_PREFIX], &job, err);
 *     … job.prm, job.rm.nodes …
 *     scr_job_close(&job); */
#ifndef SCR_TOOL_JOB_H
#define SCR_TOOL_JOB_H

#include "rm/nodetest.h"
#include "rm/rm.h"
#include "tool.h"

struct job {
    struct scr_tool *t;
    struct scr_params prm;
    struct scr_rm rm;
    char *self;   /* absolute path of the program scr, to be run on other nodes */
    int is_stale; /* 1: the configuration could not be read again */
};

/* Loads the configuration (scr_tool_cfg) without its warnings. Close in any case. */
int scr_job_open(struct scr_tool *t, const char *prefix, struct job *job,
                 struct scr_err *err);
/* The same for what needs no allocation: without nodes, without self, and without a job
 * outside of one. */
int scr_job_open_anywhere(struct scr_tool *t, const char *prefix, struct job *job,
                          struct scr_err *err);
void scr_job_close(struct job *job);
/* Reads the configuration again: files may have changed meanwhile. The nodes stay those
 * of before; on error, everything does, and scr_check_node, which would find the same,
 * is no test of nodes. */
int scr_job_reload(struct job *job, struct scr_err *err);

/* The launcher option of the commands of SCR 3.x; ours find out by themselves how
 * commands are run on nodes. SCR_E_USAGE if the row was given and is no launcher. */
int scr_job_launcher(struct scr_tool *t, const struct scr_args *a, int row,
                     struct scr_err *err);

/* Adds to down the nodes that fail a test; timeout_s 0: SCR_NODE_TIMEOUT; use_free:
 * capacities are compared with what is free. */
int scr_job_test_nodes(const struct job *job, const struct scr_hostlist *nodes,
                       double timeout_s, int use_free, struct scr_downs *down,
                       struct scr_err *err);

/* How many nodes the next run needs, and in `from` the source: SCR_MIN_NODES, asked
 * (the launcher's options, 0: they do not say), the previous run, else all. */
int scr_job_needs(const struct job *job, const struct scr_prefix *prefix, size_t asked,
                  size_t *need, const char **from, struct scr_err *err);

/* Whether a halt condition keeps a run of this job from starting. *why: malloc'd, NULL:
 * none does. *is_end: 1 if it is the end of the allocation, which scr_halt neither
 * lists nor removes. A damaged halt file is a warning, and the end of the job still
 * counts. */
int scr_job_halted(const struct job *job, const struct scr_prefix *prefix,
                   int64_t end_time, char **why, int *is_end, struct scr_err *err);

#endif
