/* SPDX-License-Identifier: BSD-3-Clause */
/* scr why: which dataset a restart would take, and why not each other. */

#include "candidates.h"

static const struct scr_opt opts[] = {
    SCR_CAND_OPTS,
    [SCR_CAND_NOPTS] = { 0 },
};

/* The newest checkpoint in a cache out of reach; NULL: there is none. */
static const struct scr_candidate *newest_unseen(const struct scr_judgement *j)
{
    for (size_t i = 0; i < j->unseen; i++)
        if (j->c[i].is_ckpt)
            return &j->c[i];
    return NULL;
}

/* "takes dataset 7 (ckpt.7) from cache" */
static void add_taken(struct scr_str *line, const struct scr_candidate *c)
{
    if (c == NULL)
        scr_str_append(line, "finds nothing");
    else
        scr_str_printf(line, "takes dataset %d (%s) from %s", c->id,
                       c->name ? c->name : "?",
                       c->in_cache ? "cache" : "the prefix directory");
}

/* The contents of caches out of reach are not known. */
static int print_taken(struct scr_tool *t, const struct scr_judgement *j,
                       struct scr_err *err)
{
    struct scr_str line = SCR_STR_INIT;
    scr_str_append(&line, "a restart ");
    add_taken(&line, j->taken);
    if (j->else_taken != j->taken) {
        scr_str_append(&line, " if other nodes have the rest of what is partial, which "
                              "is not known here; else it ");
        add_taken(&line, j->else_taken);
    }
    int rc = line.bad ? scr_no_memory(err) : SCR_OK;
    if (rc == SCR_OK)
        scr_tool_print_line(t, "%s", line.p);
    scr_str_free(&line);
    return rc;
}

static int print_text(struct scr_tool *t, const struct scr_judgement *j,
                      struct scr_err *err)
{
    scr_tool_print(t, "    DSET WHERE  STATE      NAME: WHY\n");
    for (size_t i = 0; i < j->n; i++) {
        const struct scr_candidate *c = &j->c[i];
        scr_tool_print_line(t, "%s%6d %-6s %-10s %s: %s", c->taken ? "->" : "  ", c->id,
                            c->in_cache ? "cache" : "prefix",
                            scr_candidate_state_name(c->state), c->name ? c->name : "?",
                            c->why);
    }
    if (j->lost_text != NULL)
        scr_tool_print_line(t, "%s", j->lost_text);
    const struct scr_candidate *unseen = newest_unseen(j);
    if (unseen != NULL && (j->taken == NULL || unseen->id > j->taken->id))
        scr_tool_print_line(
            t, "a restart that finds these caches takes dataset %d (%s); without them",
            unseen->id, unseen->name);
    return print_taken(t, j, err);
}

static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    struct scr_judgement j;
    int rc = scr_candidates(t, a, a->opt[SCR_CAND_JSON] == NULL, &j, err);
    if (rc == SCR_OK && a->opt[SCR_CAND_JSON] != NULL) {
        rc = scr_tool_json(t, scr_candidates_json(&j), err);
    } else if (rc == SCR_OK) {
        scr_tool_note_no_data(t);
        rc = print_text(t, &j, err);
    }
    if (rc == SCR_OK && j.taken == NULL)
        rc = SCR_TOOL_NO;
    scr_judgement_fini(&j);
    return rc;
}

const struct scr_cmd scr_cmd_why = {
    .usage = "[OPTION]...",
    .about =
        "Explains, for each dataset in the caches of this node and in the prefix\n"
        "directory, whether the next restart would take it, and why not. The exit\n"
        "status is 0 if it would find one, else 1. Nothing is changed.",
    .opts = opts,
    .notes = "Datasets are listed as SCR_Have_restart looks: those in cache, newest\n"
             "first, then those of the prefix directory. The current one of the index\n"
             "is tried before newer ones; -> marks what a restart takes.",
    .run = run,
};
