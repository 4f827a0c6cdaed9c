/* SPDX-License-Identifier: BSD-3-Clause */
/* Flux: flux resource, flux job timeleft, flux jobs and flux cancel, all of the
 * instance that FLUX_URI or FLUX_JOB_ID is about. */
#include <stdlib.h>
#include <time.h>

#include "base/str.h"
#include "rm/rm_impl.h"

static int flux_job(const struct scr_rm *rm, char **job, struct scr_err *err)
{
    const char *argv[] = { "flux", "getattr", "jobid", NULL };
    (void)err;
    (void)scr_rm_ask(rm, argv, NULL, job, NULL); /* an instance may be no job */
    return SCR_OK;
}

static int resource_list(const struct scr_rm *rm, const char *states,
                         struct scr_hostlist *nodes, struct scr_err *err)
{
    const char *argv[] = { "flux", "resource", "list",       "-s", states,
                           "-n",   "-o",       "{nodelist}", NULL };
    char *out;
    int rc = scr_rm_ask(rm, argv, NULL, &out, err);
    char *rest = out;
    for (char *line; rc == SCR_OK && (line = scr_rm_line(&rest)) != NULL;) {
        struct scr_hostlist some = SCR_HOSTLIST_INIT;
        rc = scr_hostlist_expand(line, &some, err);
        if (rc == SCR_OK)
            rc = scr_rm_add_nodes(nodes, &some, err);
        scr_hostlist_free(&some);
    }
    free(out);
    return rc;
}

static int flux_nodes(const struct scr_rm *rm, struct scr_hostlist *nodes,
                      struct scr_err *err)
{
    return resource_list(rm, "all", nodes, err);
}

/* Lines "nodelist reason…" of what is drained. */
static int add_drained(const struct scr_rm *rm, const struct scr_rm_names *nodes,
                       struct scr_downs *down, struct scr_err *err)
{
    const char *argv[] = { "flux", "resource", "drain",
                           "-n",   "-o",       "{nodelist} {reason}",
                           NULL };
    char *out;
    int rc = scr_rm_ask(rm, argv, NULL, &out, err);
    char *rest = out;
    for (char *line; rc == SCR_OK && (line = scr_rm_line(&rest)) != NULL;) {
        struct scr_hostlist some = SCR_HOSTLIST_INIT;
        const char *list = scr_rm_word(&line);
        rc = scr_hostlist_expand(list, &some, err);
        for (size_t i = 0; i < some.n && rc == SCR_OK; i++) {
            const char *node = scr_rm_match(nodes, some.name[i]);
            rc = node ? scr_downs_add(down, node, SCR_NODE_UNFIT, err,
                                      "Flux says drained%s%s", *line ? ": " : "", line)
                      : SCR_OK;
        }
        scr_hostlist_free(&some);
    }
    free(out);
    return rc;
}

static int flux_down(const struct scr_rm *rm, const struct scr_hostlist *nodes,
                     struct scr_downs *down, struct scr_err *err)
{
    struct scr_hostlist dead = SCR_HOSTLIST_INIT;
    struct scr_rm_names names;
    int rc;
    TRY_OUT(scr_rm_names_init(&names, nodes, err));
    TRY_OUT(add_drained(rm, &names, down, err));
    TRY_OUT(resource_list(rm, "down", &dead, err));
    for (size_t i = 0; i < dead.n; i++) {
        const char *node = scr_rm_match(&names, dead.name[i]);
        TRY_OUT(node ? scr_downs_add(down, node, SCR_NODE_DEAD, err, "Flux says down")
                     : SCR_OK);
    }
out:
    scr_rm_names_fini(&names);
    scr_hostlist_free(&dead);
    return rc;
}

/* Seconds, "infinity" without a limit. */
static int flux_end_time(const struct scr_rm *rm, int64_t *end, struct scr_err *err)
{
    const char *argv[] = { "flux", "job", "timeleft", NULL };
    char *out;
    int64_t left;
    int rc = scr_rm_ask(rm, argv, NULL, &out, err);
    *end = rc == SCR_OK && scr_parse_i64(out, &left) && left >= 0 && left < INT32_MAX
               ? (int64_t)time(NULL) + left
               : 0;
    free(out);
    return rc;
}

/* "flux jobs" lists the newest first. */
static int flux_steps(const struct scr_rm *rm, struct scr_hostlist *steps,
                      struct scr_err *err)
{
    const char *argv[] = { "flux", "jobs", "-n", "-f", "running", "-o", "{id}", NULL };
    char *out;
    int rc = scr_rm_ask(rm, argv, NULL, &out, err);
    if (rc == SCR_OK)
        rc = scr_rm_add_words(steps, out, err);
    for (size_t i = 0; i < steps->n / 2; i++) {
        char *newer = steps->name[i];
        steps->name[i] = steps->name[steps->n - 1 - i];
        steps->name[steps->n - 1 - i] = newer;
    }
    free(out);
    return rc;
}

static int flux_kill_step(const struct scr_rm *rm, const char *step, char **killed,
                          struct scr_err *err)
{
    const char *argv[] = { "flux", "cancel", step, NULL };
    return scr_rm_tell_to_kill(rm, argv, step, killed, err);
}

const struct scr_rm_ops scr_rm_flux = {
    .name = "FLUX",
    .launcher = "flux",
    .family = "FLUX_",
    .job_vars = { "FLUX_JOB_ID", NULL },
    .marks = { "FLUX_URI", NULL },
    .job = flux_job,
    .nodes = flux_nodes,
    .down = flux_down,
    .end_time = flux_end_time,
    .steps = flux_steps,
    .kill_step = flux_kill_step,
};
