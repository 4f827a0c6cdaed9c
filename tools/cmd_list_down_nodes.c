/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_list_down_nodes: the nodes of a job that cannot be used, and why. */
#include <string.h>

#include <jansson.h>

#include "base/units.h"
#include "events.h"
#include "job.h"

enum {
    OPT_DOWN,
    OPT_REASON,
    OPT_FREE,
    OPT_TIMEOUT,
    OPT_LOG,
    OPT_SECS,
    OPT_LAUNCHER,
    OPT_PREFIX,
    OPT_JSON
};

static const struct scr_opt opts[] = {
    [OPT_DOWN] = { "down", 'd', "NODES", "nodes known to be down" },
    [OPT_REASON] = { "reason", 'r', NULL, "print the reason of each" },
    [OPT_FREE] = { "free", 'f', NULL,
                   "compare capacities with what is free on a node, not in all" },
    [OPT_TIMEOUT] = { "timeout", 'T', "TIME", "time for all tests (SCR_NODE_TIMEOUT)" },
    [OPT_LOG] = { "log", 'l', NULL, "record each in the event log, too" },
    [OPT_SECS] = { "secs", 's', "N", "with --log: seconds that the run took" },
    [OPT_LAUNCHER] = { "joblauncher", 'j', "NAME",
                       "launcher of the job, as srun: as in SCR 3.1 the exit status "
                       "is 0, also if there are any" },
    [OPT_PREFIX] = { "prefix", 'p', "DIR", "prefix directory of the job" },
    [OPT_JSON] = { "json", 0, NULL, "print JSON" },
    { 0 },
};

static const char DOWN_BEFORE[] = "down before";

static int add_known(struct scr_tool *t, const struct scr_args *a,
                     const struct scr_hostlist *nodes, struct scr_downs *down,
                     struct scr_err *err)
{
    struct scr_hostlist known = SCR_HOSTLIST_INIT;
    int rc;
    TRY_OUT(scr_tool_hosts(t, a, OPT_DOWN, &known, err));
    for (size_t i = 0; i < known.n; i++)
        if (scr_hostlist_contains(nodes, known.name[i]))
            TRY_OUT(scr_downs_add(down, known.name[i], SCR_NODE_DEAD, err, "%s",
                                  DOWN_BEFORE));
out:
    scr_hostlist_free(&known);
    return rc;
}

static int print_json(struct scr_tool *t, const struct scr_downs *down,
                      struct scr_err *err)
{
    json_t *all = json_object();
    for (SCR_EACH(const struct scr_down, d, &down->why))
        if (all != NULL && json_object_set_new(all, d->item.name,
                                               scr_tool_json_text(d->reason)) != 0) {
            json_decref(all);
            all = NULL;
        }
    return scr_tool_json(t, all, err);
}

static int print(struct scr_tool *t, const struct scr_args *a,
                 const struct scr_downs *down, struct scr_err *err)
{
    if (a->opt[OPT_JSON] != NULL)
        return print_json(t, down, err);
    if (a->opt[OPT_REASON] == NULL)
        return down->nodes.n > 0 ? scr_tool_print_hosts(t, &down->nodes, 1, err)
                                 : SCR_OK;
    for (SCR_EACH(const struct scr_down, d, &down->why))
        scr_tool_print_line(t, "%s: %s", d->item.name, d->reason);
    return SCR_OK;
}

static int list(struct scr_tool *t, const struct scr_args *a, const struct job *job,
                struct scr_downs *down, struct scr_err *err)
{
    double limit = 0;
    struct scr_hostlist given = SCR_HOSTLIST_INIT;
    const struct scr_hostlist *nodes = &job->rm.nodes;
    if (a->opt[OPT_TIMEOUT] != NULL &&
        (!scr_parse_seconds(a->opt[OPT_TIMEOUT], &limit) || limit <= 0))
        return scr_tool_usage(t, err, "option --timeout: \"%s\" is no time",
                              a->opt[OPT_TIMEOUT]);
    int rc;
    TRY_OUT(scr_tool_host_operands(a, NULL, &given, err));
    if (given.n > 0)
        nodes = &given;
    if (nodes->n == 0)
        TRY_OUT(
            scr_fail(err, SCR_E_CONFIG, 0,
                     "outside of an allocation: name the nodes, or set SCR_NODELIST"));
    TRY_OUT(add_known(t, a, nodes, down, err));
    TRY_OUT(scr_job_test_nodes(job, nodes, limit, a->opt[OPT_FREE] != NULL, down, err));
out:
    scr_hostlist_free(&given);
    return rc;
}

/* Nodes that were found before are in the log already. The answer does not depend
 * on the log: who asked may be about to start on the nodes that are left. */
static void log_found(struct job *job, int64_t secs, const struct scr_downs *down)
{
    struct scr_err why = SCR_ERR_INIT;
    size_t known = 0;
    if (!scr_tool_logs(&job->prm))
        return;
    for (SCR_EACH(const struct scr_down, d, &down->why))
        known += strcmp(d->reason, DOWN_BEFORE) == 0;
    if (scr_tool_prefix(job->t, job->prm.prefix, 0, &why) == SCR_OK)
        scr_tool_event_down(job->t, &job->prm, down, known, secs);
    else
        scr_log(job->t->env.log, SCR_LOG_WARN, "event log: %s", why.text);
}

static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    struct job job;
    struct scr_downs down = SCR_DOWNS_INIT;
    int64_t secs = -1;
    TRY(scr_tool_int(t, a, OPT_SECS, SCR_AT_LEAST(0), &secs, err));
    TRY(scr_job_launcher(t, a, OPT_LAUNCHER, err));
    int rc;
    TRY_OUT(scr_job_open(t, a->opt[OPT_PREFIX], &job, err));
    TRY_OUT(list(t, a, &job, &down, err));
    if (a->opt[OPT_LOG] != NULL && down.nodes.n > 0)
        log_found(&job, secs, &down);
    TRY_OUT(print(t, a, &down, err));
    if (down.nodes.n > 0 && a->opt[OPT_LAUNCHER] == NULL)
        TRY_OUT(SCR_TOOL_NO);
out:
    scr_downs_free(&down);
    scr_job_close(&job);
    return rc;
}

const struct scr_cmd scr_cmd_list_down_nodes = {
    .usage = "[OPTION]... [NODES]...",
    .about =
        "Tests NODES (by default those of the allocation), all at once, and prints\n"
        "those that cannot be used: known to be down, reported as down by the "
        "resource\n"
        "manager, listed in SCR_EXCLUDE_NODES, without a reply to ping, not "
        "reachable,\n"
        "or not passing scr_check_node. The exit status is 1 if there are any.",
    .opts = opts,
    .max_operands = -1,
    .run = run,
};
