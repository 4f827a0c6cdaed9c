/* SPDX-License-Identifier: BSD-3-Clause */
/* LSF: the host file of the job, bhosts, bjobs, jslist and jskill. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/io.h"
#include "base/str.h"
#include "rm/rm_impl.h"

enum { MAX_HOSTFILE = 64 << 20 };

/* One name a slot; where the batch script runs on a separate launch node, that one
 * comes first, with a single slot, and is no node to run on. */
static int drop_launch_node(struct scr_hostlist *nodes, const char *text)
{
    size_t n = strcspn(text, " \n"), lines = 0, first = 0;
    for (const char *p = text; *p != '\0'; p += strcspn(p, " \n")) {
        p += strspn(p, " \n");
        size_t len = strcspn(p, " \n");
        lines += len > 0;
        first += len == n && strncmp(p, text, n) == 0;
    }
    if (nodes->n < 2 || first != 1 || lines < 2 * nodes->n - 1)
        return 0;
    free(nodes->name[0]);
    memmove(nodes->name, nodes->name + 1, --nodes->n * sizeof *nodes->name);
    return 1;
}

static int add_slots(struct scr_hostlist *nodes, const char *text, struct scr_err *err)
{
    char *copy = scr_strdup(text);
    int rc = copy ? scr_rm_add_words(nodes, copy, err) : scr_no_memory(err);
    free(copy);
    if (rc == SCR_OK)
        drop_launch_node(nodes, text);
    return rc;
}

static int lsf_nodes(const struct scr_rm *rm, struct scr_hostlist *nodes,
                     struct scr_err *err)
{
    const char *path = scr_cfg_getenv(rm->cfg, "LSB_DJOB_HOSTFILE");
    const char *hosts = scr_cfg_getenv(rm->cfg, "LSB_HOSTS");
    if (path == NULL && hosts == NULL)
        return scr_fail(err, SCR_E_CONFIG, 0,
                        "neither LSB_DJOB_HOSTFILE nor LSB_HOSTS is set, so this is "
                        "outside of an allocation; SCR_NODELIST can name the nodes");
    if (path == NULL)
        return add_slots(nodes, hosts, err);
    void *text = NULL;
    size_t n;
    int rc = scr_file_load(rm->env->sys, path, MAX_HOSTFILE, &text, &n, err);
    if (rc == SCR_OK)
        rc = add_slots(nodes, text, err);
    else
        scr_err_prefix(err, "LSB_DJOB_HOSTFILE");
    free(text);
    return rc;
}

/* closed_Full and closed_Excl only say that a job, perhaps ours, uses the host. */
static int is_bad_status(const char *status)
{
    static const char *const bad[] = { "unavail",    "unreach",     "unlicensed",
                                       "closed_Adm", "closed_Lock", "closed_LIM" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (strncmp(status, bad[i], strlen(bad[i])) == 0)
            return 1;
    return 0;
}

/* "unavail" and "unreach": the host does not answer. */
static enum scr_down_kind kind_of(const char *status)
{
    return strncmp(status, "un", 2) == 0 && strncmp(status, "unlic", 5) != 0
               ? SCR_NODE_DEAD
               : SCR_NODE_UNFIT;
}

static int take_state(struct scr_downs *down, const char *node, const char *state,
                      const char *comment, struct scr_err *err)
{
    (void)comment; /* other columns */
    return is_bad_status(state)
               ? scr_downs_add(down, node, kind_of(state), err, "LSF says %s", state)
               : SCR_OK;
}

/* "bhosts -w": a headline, then a line a host, HOST_NAME STATUS … */
static int lsf_down(const struct scr_rm *rm, const struct scr_hostlist *nodes,
                    struct scr_downs *down, struct scr_err *err)
{
    const char *argv[] = { "bhosts", "-w", NULL };
    return scr_rm_ask_states(rm, argv, nodes, take_state, down, err);
}

/* "2:30 L": hours and minutes to the limit (or E, an estimate); "-" without one. */
static int lsf_end_time(const struct scr_rm *rm, int64_t *end, struct scr_err *err)
{
    const char *argv[] = { "bjobs", "-noheader", "-o", "time_left", rm->job, NULL };
    char *out;
    int64_t hours, minutes;
    int rc = scr_rm_ask(rm, argv, NULL, &out, err);
    *end = 0;
    char *colon = rc == SCR_OK ? strchr(out, ':') : NULL;
    if (colon != NULL) {
        *colon++ = '\0';
        colon[strcspn(colon, " ")] = '\0';
        if (scr_parse_i64(out, &hours) && scr_parse_i64(colon, &minutes) &&
            hours >= 0 && hours < INT32_MAX && minutes >= 0 && minutes < 60)
            *end = (int64_t)time(NULL) + 3600 * hours + 60 * minutes;
    }
    free(out);
    return rc;
}

/* "jslist": a headline, then a line a step, its number first and its state last. Of a
 * job whose launcher is mpirun there is no jslist, and there are no steps. */
static int add_steps(struct scr_hostlist *steps, char *text, struct scr_err *err)
{
    int rc = SCR_OK, n, understood = *text == '\0';
    for (char *line; rc == SCR_OK && (line = scr_rm_line(&text)) != NULL;) {
        const char *id = scr_rm_word(&line), *state = "";
        for (const char *word; *(word = scr_rm_word(&line)) != '\0';)
            state = word;
        understood |= strncmp(id, "===", 3) == 0;
        if (scr_parse_int(id, &n) && strcmp(state, "Running") == 0)
            rc = scr_hostlist_add_once(steps, id, err);
    }
    if (rc == SCR_OK && !understood)
        rc = scr_fail(err, SCR_E_CORRUPT, 0, "jslist: no list of job steps");
    return rc;
}

static int by_number(const void *a, const void *b)
{
    long x = strtol(*(char *const *)a, NULL, 10),
         y = strtol(*(char *const *)b, NULL, 10);
    return (x > y) - (x < y);
}

static int lsf_steps(const struct scr_rm *rm, struct scr_hostlist *steps,
                     struct scr_err *err)
{
    const char *argv[] = { "jslist", NULL };
    char *out;
    if (!scr_rm_has_program(rm, argv[0]))
        return SCR_OK;
    int rc = scr_rm_ask(rm, argv, NULL, &out, err);
    if (rc == SCR_OK)
        rc = add_steps(steps, out, err);
    if (steps->n > 0)
        qsort(steps->name, steps->n, sizeof *steps->name, by_number);
    free(out);
    return rc;
}

static int lsf_kill_step(const struct scr_rm *rm, const char *step, char **killed,
                         struct scr_err *err)
{
    const char *argv[] = { "jskill", step, NULL };
    return scr_rm_tell_to_kill(rm, argv, step, killed, err);
}

const struct scr_rm_ops scr_rm_lsf = {
    .name = "LSF",
    .launcher = "jsrun",
    .family = "LSB_",
    .job_vars = { "LSB_JOBID", NULL },
    .nodes = lsf_nodes,
    .down = lsf_down,
    .end_time = lsf_end_time,
    .steps = lsf_steps,
    .kill_step = lsf_kill_step,
    .jobs = { "bjobs", "-noheader", "-u", SCR_RM_USER, "-o", "jobid", NULL },
    .no_jobs = "No unfinished job found",
};
