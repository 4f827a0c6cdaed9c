/* SPDX-License-Identifier: BSD-3-Clause */
/* PBS (Professional, OpenPBS and Torque): the node file of the job, pbsnodes and
 * qstat. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/io.h"
#include "base/str.h"
#include "rm/rm_impl.h"

enum { MAX_NODEFILE = 64 << 20 };

/* One name a slot. */
static int pbs_nodes(const struct scr_rm *rm, struct scr_hostlist *nodes,
                     struct scr_err *err)
{
    const char *path = scr_cfg_getenv(rm->cfg, "PBS_NODEFILE");
    void *text = NULL;
    size_t n;
    if (path == NULL)
        return scr_fail(err, SCR_E_CONFIG, 0,
                        "PBS_NODEFILE is not set, so this is outside of an allocation; "
                        "SCR_NODELIST can name the nodes");
    int rc = scr_file_load(rm->env->sys, path, MAX_NODEFILE, &text, &n, err);
    if (rc == SCR_OK)
        rc = scr_rm_add_words(nodes, text, err);
    else
        scr_err_prefix(err, "PBS_NODEFILE");
    free(text);
    return rc;
}

/* Offline is what an operator has set; the node itself may be well. */
static enum scr_down_kind kind_of(const char *state)
{
    return strstr(state, "down") != NULL || strstr(state, "unknown") != NULL
               ? SCR_NODE_DEAD
               : SCR_NODE_UNFIT;
}

static int take_state(struct scr_downs *down, const char *node, const char *state,
                      const char *comment, struct scr_err *err)
{
    comment += strspn(comment, " ");
    if (*state == '\0')
        return SCR_OK;
    return scr_downs_add(down, node, kind_of(state), err, "PBS says %s%s%s", state,
                         *comment != '\0' ? ": " : "", comment);
}

/* "pbsnodes -l" lists only nodes that are down, offline or unknown: name, states,
 * comment. */
static int pbs_down(const struct scr_rm *rm, const struct scr_hostlist *nodes,
                    struct scr_downs *down, struct scr_err *err)
{
    const char *argv[] = { "pbsnodes", "-l", NULL };
    return scr_rm_ask_states(rm, argv, nodes, take_state, down, err);
}

/* "01:02:03" or a number of seconds. */
static int parse_hms(const char *text, int64_t *seconds)
{
    int64_t sum = 0;
    for (int fields = 0; fields < 3; fields++) {
        int part = scr_parse_front(text, &text);
        if (part < 0)
            return 0;
        sum = 60 * sum + part;
        if (*text == '\0') {
            *seconds = sum;
            return 1;
        }
        if (*text++ != ':')
            return 0;
    }
    return 0;
}

/* Value of the line "    name = value" in what qstat -f prints. */
static int find_time(const char *text, const char *name, int64_t *seconds)
{
    char *key = scr_asprintf("%s = ", name);
    const char *at = key ? strstr(text, key) : NULL;
    char *value = at ? scr_asprintf("%.*s", (int)strcspn(at + strlen(key), "\n"),
                                    at + strlen(key))
                     : NULL;
    int found = value != NULL && parse_hms(value, seconds);
    free(value);
    free(key);
    return found;
}

/* Torque reports the time left; the others the limit and how much of it is used. */
static int pbs_end_time(const struct scr_rm *rm, int64_t *end, struct scr_err *err)
{
    const char *argv[] = { "qstat", "-f", rm->job, NULL };
    char *out;
    int64_t limit, used = 0, left = -1;
    int rc;
    TRY_OUT(scr_rm_ask(rm, argv, NULL, &out, err));
    if (!find_time(out, "Walltime.Remaining", &left) &&
        find_time(out, "Resource_List.walltime", &limit)) {
        (void)find_time(out, "resources_used.walltime", &used);
        left = limit > used ? limit - used : 0;
    }
out:
    *end = left >= 0 ? (int64_t)time(NULL) + left : 0;
    free(out);
    return rc;
}

/* Steps are those of ALPS: an apid, which has to be given. */
static int pbs_kill_step(const struct scr_rm *rm, const char *step, char **killed,
                         struct scr_err *err)
{
    const char *argv[] = { "apkill", step, NULL };
    if (step == NULL)
        return scr_fail(err, SCR_E_UNSUPPORTED, 0,
                        "PBS knows no job steps; apstat shows those of aprun");
    return scr_rm_tell_to_kill(rm, argv, step, killed, err);
}

const struct scr_rm_ops scr_rm_pbs = {
    .name = "PBS",
    .launcher = "mpirun",
    .family = "PBS_",
    .job_vars = { "PBS_JOBID", NULL },
    .nodes = pbs_nodes,
    .down = pbs_down,
    .end_time = pbs_end_time,
    .kill_step = pbs_kill_step,
    .jobs = { "qselect", "-u", SCR_RM_USER, NULL },
};
