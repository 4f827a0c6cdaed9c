/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_inspect: the existing datasets, and whether they are whole or can be
 * rebuilt. */

#include "candidates.h"

enum { OPT_FROM = SCR_CAND_NOPTS, OPT_JOBSET, OPT_UP, OPT_DOWN, OPT_N };

static const struct scr_opt opts[] = {
    SCR_CAND_OPTS,
    [OPT_FROM] = { "from", 'f', "DIR", "another name of --cntl" },
    [OPT_JOBSET] = { "jobset", 'j', "NODES", NULL /* of SCR 3.x, as the next two */ },
    [OPT_UP] = { "up", 'u', "NODES", NULL },
    [OPT_DOWN] = { "down", 'd', "NODES", NULL },
    [OPT_N] = { 0 },
};

/* It asks the caches that this process can reach, where that of SCR 3.x runs something
 * on each node. */
static int take_options(struct scr_tool *t, const struct scr_args *a,
                        struct scr_args *used, struct scr_err *err)
{
    static const int same[] = { SCR_CAND_CNTL, OPT_FROM, -1 };
    *used = *a;
    if (a->opt[OPT_FROM] != NULL)
        used->opt[SCR_CAND_CNTL] = a->opt[OPT_FROM];
    if (a->opt[OPT_JOBSET] != NULL || a->opt[OPT_UP] != NULL ||
        a->opt[OPT_DOWN] != NULL)
        scr_log(
            &t->log, SCR_LOG_NOTE,
            "only caches in reach of this node are looked at: scr_scavenge asks all");
    return scr_tool_exclusive(t, a, err, same);
}

static void print_text(struct scr_tool *t, const struct scr_judgement *j)
{
    scr_tool_print(t, "  DSET WHERE  STATE      NAME\n");
    for (size_t i = 0; i < j->n; i++) {
        const struct scr_candidate *c = &j->c[i];
        int bad =
            c->state != SCR_CANDIDATE_COMPLETE && c->state != SCR_CANDIDATE_OUTPUT;
        scr_tool_print_line(t, "%6d %-6s %-10s %s%s%s", c->id,
                            c->in_cache ? "cache" : "prefix",
                            scr_candidate_state_name(c->state), c->name ? c->name : "?",
                            bad ? ": " : "", bad ? c->why : "");
    }
}

static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    struct scr_judgement j;
    struct scr_args used;
    int usable = 0;
    TRY(take_options(t, a, &used, err));
    int rc = scr_candidates(t, &used, 0, &j, err);
    if (rc == SCR_OK && a->opt[SCR_CAND_JSON] != NULL)
        rc = scr_tool_json(t, scr_candidates_json(&j), err);
    else if (rc == SCR_OK) {
        scr_tool_note_no_data(t);
        print_text(t, &j);
    }
    for (size_t i = 0; i < j.n; i++)
        usable |= j.c[i].state <= SCR_CANDIDATE_OUTPUT;
    scr_judgement_fini(&j);
    return rc == SCR_OK && !usable ? SCR_TOOL_NO : rc;
}

const struct scr_cmd scr_cmd_inspect = {
    .usage = "[OPTION]...",
    .about =
        "Lists the datasets in the caches of this node and in the prefix directory\n"
        "and says of each whether it is complete, or can be rebuilt from\n"
        "redundancy data (mendable, partial), or what is wrong with it. The exit\n"
        "status is 1 if none is usable.",
    .opts = opts,
    .run = run,
};
