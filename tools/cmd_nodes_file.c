/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_nodes_file: how many nodes the last run in a prefix directory had. */
#include "tool.h"

enum { OPT_DIR, OPT_PREFIX };

static const struct scr_opt opts[] = {
    [OPT_DIR] = { "dir", 'd', "DIR", "prefix directory (default: the current one)" },
    [OPT_PREFIX] = { "prefix", 'p', "DIR", "the same" },
    { 0 },
};

static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    const char *dir = a->opt[OPT_DIR] ? a->opt[OPT_DIR] : a->opt[OPT_PREFIX];
    struct scr_err why = SCR_ERR_INIT;
    int nodes;
    if (a->opt[OPT_DIR] != NULL && a->opt[OPT_PREFIX] != NULL)
        return scr_tool_usage(t, err, "the prefix is given twice");
    TRY(scr_tool_prefix(t, dir, 0, err));
    scr_hash *h = scr_hash_new();
    int rc = scr_prefix_state_read(&t->env, &t->prefix, "nodes.scr", h, &why);
    if (rc == SCR_OK && (rc = scr_nodes_get(h, &nodes, &why)) == SCR_OK)
        scr_tool_print(t, "%d\n", nodes);
    scr_hash_delete(h);
    if (rc == SCR_E_NOENT)
        return SCR_TOOL_NO;
    return scr_err_take(err, rc, &why);
}

const struct scr_cmd scr_cmd_nodes_file = {
    .usage = "[OPTION]...",
    .about =
        "Prints the number of nodes of the last run in a prefix directory. The exit\n"
        "status is 1 if none is recorded.",
    .opts = opts,
    .run = run,
};
