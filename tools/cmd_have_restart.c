/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_have_restart: would a restart find something? */
#include <jansson.h>

#include "candidates.h"

static const struct scr_opt opts[] = {
    SCR_CAND_OPTS,
    [SCR_CAND_NOPTS] = { 0 },
};

static json_t *found_json(const struct scr_candidate *c)
{
    if (c == NULL)
        return json_pack("{s:b}", "found", 0);
    return json_pack("{s:b, s:i, s:o, s:s}", "found", 1, "id", c->id, "name",
                     scr_tool_json_text(c->name), "where",
                     c->in_cache ? "cache" : "prefix");
}

static int tell(struct scr_tool *t, const struct scr_args *a,
                const struct scr_candidate *c, struct scr_err *err)
{
    if (a->opt[SCR_CAND_JSON] != NULL)
        return scr_tool_json(t, found_json(c), err);
    if (c != NULL)
        scr_tool_print_line(t, "%s", c->name ? c->name : "");
    return SCR_OK;
}

static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    struct scr_judgement j;
    int rc;
    TRY_OUT(scr_candidates(t, a, 0, &j, err));
    TRY_OUT(tell(t, a, j.taken, err));
    if (j.taken == NULL)
        TRY_OUT(SCR_TOOL_NO);
out:
    scr_judgement_fini(&j);
    return rc;
}

const struct scr_cmd scr_cmd_have_restart = {
    .usage = "[OPTION]...",
    .about = "Prints the name of the checkpoint a restart would start from. The exit\n"
             "status is 1 if there is none. scr why explains the choice.",
    .opts = opts,
    .run = run,
};
