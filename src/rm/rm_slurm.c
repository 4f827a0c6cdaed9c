/* SPDX-License-Identifier: BSD-3-Clause */
/* Slurm: sinfo, squeue and scancel. */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "rm/remote.h"
#include "rm/rm_impl.h"

/* The list of the environment: the one squeue gives shrinks when a node dies under
 * --no-kill. */
static int slurm_nodes(const struct scr_rm *rm, struct scr_hostlist *nodes,
                       struct scr_err *err)
{
    const char *list = scr_cfg_getenv(rm->cfg, "SLURM_JOB_NODELIST");
    if (list == NULL)
        list = scr_cfg_getenv(rm->cfg, "SLURM_NODELIST");
    if (list == NULL)
        return scr_fail(
            err, SCR_E_CONFIG, 0,
            "SLURM_NODELIST is not set, so this is outside of an allocation; "
            "SCR_NODELIST can name the nodes");
    return scr_hostlist_expand(list, nodes, err);
}

/* The states of sinfo's %T in which a node takes no new step, or is about to go. Those
 * that an operator or a health check has set still run steps of the job. */
static int is_bad_state(const char *state, enum scr_down_kind *kind)
{
    static const struct {
        const char *name;
        enum scr_down_kind kind;
    } bad[] = { { "down", SCR_NODE_DEAD },          { "drain", SCR_NODE_UNFIT },
                { "fail", SCR_NODE_UNFIT },         { "error", SCR_NODE_UNFIT },
                { "not_resp", SCR_NODE_DEAD },      { "no_resp", SCR_NODE_DEAD },
                { "unknown", SCR_NODE_DEAD },       { "power_down", SCR_NODE_DEAD },
                { "powering_down", SCR_NODE_DEAD }, { "powered_down", SCR_NODE_DEAD } };
    const int silent = strchr(state, '*') != NULL; /* does not respond */
    *kind = SCR_NODE_DEAD;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0] && !silent; i++)
        if (strncmp(state, bad[i].name, strlen(bad[i].name)) == 0) {
            *kind = bad[i].kind;
            return 1;
        }
    return silent;
}

static int take_state(struct scr_downs *down, const char *node, const char *state,
                      const char *reason, struct scr_err *err)
{
    enum scr_down_kind kind;
    int has_reason = *reason != '\0' && strcmp(reason, "none") != 0;
    if (!is_bad_state(state, &kind))
        return SCR_OK;
    return scr_downs_add(down, node, kind, err, "Slurm says %s%s%s", state,
                         has_reason ? ": " : "", has_reason ? reason : "");
}

/* A node that died and came back is not in the allocation any more. */
static int add_lost(const struct scr_rm *rm, const struct scr_hostlist *nodes,
                    struct scr_downs *down, struct scr_err *err)
{
    const char *argv[] = { "squeue", "-h", "-j", rm->job, "-o", "%N", NULL };
    struct scr_hostlist left = SCR_HOSTLIST_INIT;
    struct scr_rm_names names = { 0 };
    char *out;
    if (rm->job == NULL)
        return SCR_OK;
    int rc = scr_rm_ask(rm, argv, NULL, &out, err);
    if (rc == SCR_OK) {
        for (char *p = out; *p != '\0'; p++) /* a line a part of a heterogeneous job */
            *p = *p == '\n' ? ',' : *p;
        rc = scr_hostlist_expand(out, &left, err);
    }
    if (rc == SCR_OK)
        rc = scr_rm_names_init(&names, &left, err);
    for (size_t i = 0; i < nodes->n && rc == SCR_OK && left.n > 0; i++)
        if (scr_rm_match(&names, nodes->name[i]) == NULL)
            rc = scr_downs_add(down, nodes->name[i], SCR_NODE_DEAD, err,
                               "Slurm has taken it out of the allocation");
    scr_rm_names_fini(&names);
    scr_hostlist_free(&left);
    free(out);
    return rc;
}

static int slurm_down(const struct scr_rm *rm, const struct scr_hostlist *nodes,
                      struct scr_downs *down, struct scr_err *err)
{
    char *list = NULL;
    int rc;
    TRY_OUT(scr_hostlist_compress(nodes, 0, &list, err));
    /* A line for each partition the node is in. */
    const char *argv[] = { "sinfo", "-h", "-N", "-n", list, "-o", "%N %T %E", NULL };
    TRY_OUT(scr_rm_ask_states(rm, argv, nodes, take_state, down, err));
    TRY_OUT(add_lost(rm, nodes, down, err));
out:
    free(list);
    return rc;
}

/* "NONE" or "N/A" for a job without a time limit; the parts of a heterogeneous job end
 * together. */
static int slurm_end_time(const struct scr_rm *rm, int64_t *end, struct scr_err *err)
{
    const char *argv[] = { "squeue", "-h", "-j", rm->job, "-o", "%e", NULL };
    const char *env[] = { "SLURM_TIME_FORMAT=%s", NULL };
    char *out;
    int rc = scr_rm_ask(rm, argv, env, &out, err);
    *end = 0;
    if (rc == SCR_OK) {
        out[strcspn(out, "\n")] = '\0';
        if (!scr_parse_i64(out, end) || *end < 0)
            *end = 0;
    }
    free(out);
    return rc;
}

static int number_of(const char *step, int64_t *number)
{
    const char *dot = strrchr(step, '.');
    return dot != NULL && scr_parse_i64(dot + 1, number);
}

static int by_number(const void *a, const void *b)
{
    int64_t m = 0, n = 0;
    (void)number_of(*(char *const *)a, &m);
    (void)number_of(*(char *const *)b, &n);
    return m < n ? -1 : m > n;
}

/* The id is "job.number", that of the batch script "job.batch". */
static int slurm_steps(const struct scr_rm *rm, struct scr_hostlist *steps,
                       struct scr_err *err)
{
    const char *argv[] = { "squeue", "-h", "-s", "-j", rm->job, "-o", "%i %j", NULL };
    char *out;
    int64_t number;
    int rc = scr_rm_ask(rm, argv, NULL, &out, err);
    char *rest = out;
    for (char *line; rc == SCR_OK && (line = scr_rm_line(&rest)) != NULL;) {
        const char *id = scr_rm_word(&line);
        if (number_of(id, &number) && strcmp(scr_rm_word(&line), SCR_REMOTE_STEP) != 0)
            rc = scr_hostlist_add_once(steps, id, err);
    }
    if (steps->n > 1)
        qsort(steps->name, steps->n, sizeof *steps->name, by_number);
    free(out);
    return rc;
}

static int slurm_kill_step(const struct scr_rm *rm, const char *given, char **killed,
                           struct scr_err *err)
{
    char *step =
        strchr(given, '.') ? scr_strdup(given) : scr_asprintf("%s.%s", rm->job, given);
    const char *argv[] = { "scancel", step, NULL };
    int rc =
        step ? scr_rm_tell_to_kill(rm, argv, step, killed, err) : scr_no_memory(err);
    free(step);
    return rc;
}

const struct scr_rm_ops scr_rm_slurm = {
    .name = "SLURM",
    .launcher = "srun",
    .family = "SLURM_",
    .job_vars = { "SLURM_JOBID", "SLURM_JOB_ID", NULL },
    .nodes = slurm_nodes,
    .down = slurm_down,
    .end_time = slurm_end_time,
    .steps = slurm_steps,
    .kill_step = slurm_kill_step,
    .jobs = { "squeue", "-h", "-a", "-u", SCR_RM_UID, "-o", "%A", NULL },
};
