/* SPDX-License-Identifier: BSD-3-Clause */
/* Resource managers: what they say about the job, and stopping a job step.
 *
 *     struct scr_rm rm;
 *     rc = scr_rm_open(&env, cfg, &prm, &rm, err);
 *     … rm.ops->name, rm.job, rm.nodes …
 *     rc = scr_rm_down(&rm, &rm.nodes, &down, err);
 *     scr_rm_close(&rm);
 *
 * SCR_RESOURCE_MANAGER names one; by default it is the first of the table whose
 * variables are in the environment. SCR_NODELIST and SCR_END_TIME come before what the
 * manager says. Its tools are run from argument arrays, with a time limit. Local; env,
 * cfg and prm are borrowed for the life of the object. */
#ifndef SCR_RM_RM_H
#define SCR_RM_RM_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/env.h"
#include "base/hostlist.h"
#include "base/strv.h"
#include "base/table.h"
#include "cfg/cfg.h"

/* Why a node cannot be used. A node that is only unfit for another run (drained,
 * excluded, its disk full) can be reached, and what is in its cache copied. */
enum scr_down_kind { SCR_NODE_UNFIT, SCR_NODE_DEAD };

struct scr_down {
    struct scr_item item; /* the node */
    char *reason;         /* the first that was found, in one line */
    enum scr_down_kind kind;
};

/* Nodes that cannot be used. */
struct scr_downs {
    struct scr_hostlist nodes;
    struct scr_table why; /* of struct scr_down, in the same order */
};
#define SCR_DOWNS_INIT                                                                 \
    {                                                                                  \
        .nodes = SCR_HOSTLIST_INIT, .why = SCR_TABLE_OF(struct scr_down)               \
    }
/* A node that is listed already keeps its reason, and is dead once any source reports
 * it. The reason is fmt; control characters in it become blanks. */
__attribute__((format(printf, 5, 6))) int
scr_downs_add(struct scr_downs *d, const char *node, enum scr_down_kind kind,
              struct scr_err *err, const char *fmt, ...);
/* Those that are dead. */
int scr_downs_dead(const struct scr_downs *d, struct scr_hostlist *dead,
                   struct scr_err *err);
void scr_downs_free(struct scr_downs *d);

struct scr_rm;

/* A row of the table of managers. Each call may be NULL: it has no such thing. */
struct scr_rm_ops {
    const char *name;     /* value of SCR_RESOURCE_MANAGER */
    const char *launcher; /* what starts programs under it: "srun" */
    const char *family;   /* start of the names of its variables: "SLURM_" */
    /* Variables with the id of the job; the first that is set counts. One of them, or
     * of marks, shows that we are in a job of this manager. NULL-terminated. */
    const char *job_vars[4], *marks[4];
    /* Its own name of the job if no variable has it; malloc'd, NULL: unknown. */
    int (*job)(const struct scr_rm *rm, char **job, struct scr_err *err);
    /* Nodes of the allocation, each once, in the manager's order. */
    int (*nodes)(const struct scr_rm *rm, struct scr_hostlist *nodes,
                 struct scr_err *err);
    /* Adds those among nodes that it thinks cannot be used. */
    int (*down)(const struct scr_rm *rm, const struct scr_hostlist *nodes,
                struct scr_downs *down, struct scr_err *err);
    /* When the allocation ends, seconds since 1970; 0: never, or not known. */
    int (*end_time)(const struct scr_rm *rm, int64_t *end, struct scr_err *err);
    /* Job steps that run, the newest last, without the batch script and those SCR
     * starts on nodes. */
    int (*steps)(const struct scr_rm *rm, struct scr_hostlist *steps,
                 struct scr_err *err);
    /* Kills a job step; NULL only without `steps`: what the launcher started. *killed:
     * what it was, malloc'd, NULL: there is none. */
    int (*kill_step)(const struct scr_rm *rm, const char *step, char **killed,
                     struct scr_err *err);
    /* Prints the ids of the jobs of a user that have not ended, as the first of
     * job_vars has them; SCR_RM_USER stands for the user, SCR_RM_UID, unless we are
     * root, for our number: the name may be another (SCR_USER_NAME). */
    const char *jobs[8];
    const char *no_jobs; /* how it complains if there are none; NULL: it does not */
};
#define SCR_RM_USER "%u"
#define SCR_RM_UID  "%U"

struct scr_rm {
    const struct scr_rm_ops *ops;
    const struct scr_env *env;
    const struct scr_cfg *cfg;
    const struct scr_params *prm;
    char *job;     /* the manager's id of the job; NULL: none, or not known */
    char *host;    /* this host's name */
    double ask_by; /* scr_now_mono() when answers must have arrived; 0: each gets 20
                    * s */
    /* Set by another thread: commands on nodes are ended. NULL: they are not. */
    const atomic_int *stop;
    struct scr_hostlist nodes; /* of the allocation; may be none with NONE */
    int is_virtual;            /* 1: they are those of SCR_VNODES, all on this host */
};

/* SCR_E_CONFIG: a manager was named whose job this is not, or SCR_NODELIST is none. */
int scr_rm_open(const struct scr_env *env, const struct scr_cfg *cfg,
                const struct scr_params *prm, struct scr_rm *rm, struct scr_err *err);
/* The same without the nodes, inside or outside of an allocation; job is NULL outside.
 */
int scr_rm_open_anywhere(const struct scr_env *env, const struct scr_cfg *cfg,
                         const struct scr_params *prm, struct scr_rm *rm,
                         struct scr_err *err);
struct scr_rm_job {
    const char *manager; /* its name */
    const char *id;      /* there */
};
/* The same for a job that we are outside of: only kill_step, end_time and down are of
 * use. SCR_E_UNSAFE: the id would be taken for an option. */
int scr_rm_open_job(const struct scr_env *env, const struct scr_cfg *cfg,
                    const struct scr_params *prm, const struct scr_rm_job *job,
                    struct scr_rm *rm, struct scr_err *err);
void scr_rm_close(struct scr_rm *rm);

int scr_rm_down(const struct scr_rm *rm, const struct scr_hostlist *nodes,
                struct scr_downs *down, struct scr_err *err);
int scr_rm_end_time(const struct scr_rm *rm, int64_t *end, struct scr_err *err);
/* Warns that SCR_HALT_SECONDS is set and the end, which it counts from, is not known.
 * why: what went wrong, if anything did. */
void scr_rm_warn_no_end(const struct scr_log *log, const struct scr_err *why);
/* Job steps that run, the newest last; none if the manager cannot list them. */
int scr_rm_steps(const struct scr_rm *rm, struct scr_hostlist *steps,
                 struct scr_err *err);
/* Kills that step; with NULL the newest that is not one of `others` (may be NULL).
 * *killed: what it was, malloc'd, NULL: there is none. SCR_E_UNSUPPORTED: the manager
 * knows no job steps. */
int scr_rm_kill_step(const struct scr_rm *rm, const char *step,
                     const struct scr_hostlist *others, char **killed,
                     struct scr_err *err);

/* Adds the ids of the jobs of a user that have not ended, by the manager we are in a
 * job of and all others whose tools this machine has, or only the one of
 * SCR_RESOURCE_MANAGER. Fails if one of them cannot be asked: its jobs may run. Of Flux
 * they are not known. */
int scr_rm_jobs(const struct scr_rm *rm, const char *user, struct scr_hostlist *jobs,
                struct scr_err *err);
/* Whether that job is one of them. The id that PBS lists for an array, "12[].srv",
 * stands for each of its elements, "12[3].srv". */
int scr_rm_is_listed(const struct scr_hostlist *jobs, const char *job);

/* For a program that is to run as outside of any job: adds the names of the managers'
 * variables in envp, which struct scr_proc_spec then removes. */
void scr_rm_hide_job(char *const *envp, struct scr_strv *env);

/* Names of nodes as the setting of that name lists them: a host list, for SCR_VNODES
 * also a count meaning n1 … n<count>. SCR_E_CONFIG: it is neither; the text of the
 * error has the origin, by cfg. SCR_E_NOMEM. */
int scr_rm_expand(const struct scr_cfg *cfg, const char *name, const char *text,
                  struct scr_hostlist *nodes, struct scr_err *err);
/* 0: the resource manager says that the job has several nodes, or cannot be asked. */
int scr_rm_is_on_one_host(const struct scr_rm *rm);
/* The name of SCR_VNODES that a rank of a host has, of so many ranks there: they are
 * spread in blocks. */
const char *scr_rm_vnode(const struct scr_hostlist *names, size_t rank, size_t ranks);

/* Absolute path of a program in the PATH of the configuration's environment (or of
 * name itself, if it has a '/'); malloc'd. SCR_E_NOENT: there is none. */
int scr_rm_program(const struct scr_rm *rm, const char *name, char **path,
                   struct scr_err *err);
/* 1 if path, or what its links lead to, is a file that may be executed. */
int scr_rm_is_program(const struct scr_sys *sys, const char *path);
int scr_rm_has_program(const struct scr_rm *rm, const char *name);

#endif
