/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_prerun: prepares the prefix directory before the first run of an allocation. */
#include "tool.h"

enum { OPT_PREFIX };

static const struct scr_opt opts[] = {
    [OPT_PREFIX] = { "prefix", 'p', "DIR", "prefix directory of the job" },
    { 0 },
};

/* The number of nodes of an earlier allocation does not apply to this one. Records of
 * the cache stay: this may be the second run in the same allocation. */
static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    TRY(scr_tool_prefix(t, a->opt[OPT_PREFIX], 1, err));
    return scr_prefix_state_remove(&t->env, &t->prefix, "nodes.scr", err);
}

const struct scr_cmd scr_cmd_prerun = {
    .usage = "[OPTION]...",
    .about =
        "Prepares a prefix directory for the runs of an allocation: makes its .scr\n"
        "directory and removes the number of nodes of an earlier job. Halt conditions\n"
        "stay.",
    .opts = opts,
    .run = run,
};
