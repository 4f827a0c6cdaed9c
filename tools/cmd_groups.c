/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_groups: GROUPS lines for a configuration file, from what Slurm knows of switches.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/io.h"
#include "base/str.h"
#include "base/units.h"
#include "cfg/grammar.h"
#include "reach.h"
#include "rm/topology.h"
#include "tool.h"

enum { OPT_SLURM, OPT_FILE };

static const struct scr_opt opts[] = {
    [OPT_SLURM] = { "slurm", 's', NULL, "ask scontrol of Slurm" },
    [OPT_FILE] = { "file", 'f', "FILE", "read a topology.conf of Slurm" },
    { 0 },
};

/* Bytes: the file of a machine with 10^5 nodes fits many times. */
enum { LARGEST_FILE = 1 << 26 };

static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                            "0123456789_.:-";

static int ask_slurm(struct scr_tool *t, char **text, struct scr_err *err)
{
    const struct scr_rm_job job = { .manager = "SLURM", .id = NULL };
    struct scr_params prm;
    struct scr_rm rm;
    TRY(scr_tool_params(t, NULL, &prm, err));
    TRY(scr_rm_open_job(&t->env, t->cfg, &prm, &job, &rm, err));
    int rc = scr_rm_ask_topology(&rm, text, err);
    scr_rm_close(&rm);
    return rc;
}

static int read_text(struct scr_tool *t, const char *file, char **text,
                     struct scr_err *err)
{
    void *bytes = NULL;
    size_t n;
    if (file == NULL)
        return ask_slurm(t, text, err);
    TRY(scr_file_load(t->env.sys, file, LARGEST_FILE, &bytes, &n, err));
    *text = bytes;
    return SCR_OK;
}

/* The nodes are those that SCR will read in the line. */
static int print_leaf(struct scr_tool *t, const struct scr_rm_leaf *leaf, size_t *nodes,
                      struct scr_err *err)
{
    struct scr_hostlist hosts = SCR_HOSTLIST_INIT;
    struct scr_str value = SCR_STR_INIT;
    int rc = scr_hostlist_expand(leaf->nodes, &hosts, err);
    *nodes += hosts.n;
    scr_hostlist_free(&hosts);
    if (rc != SCR_OK) {
        scr_err_prefix(err, "switch %s", leaf->item.name);
        return rc;
    }
    if (leaf->item.name[strspn(leaf->item.name, plain)] == '\0')
        scr_str_append(&value, leaf->item.name);
    else
        scr_conf_quote(&value, leaf->item.name);
    rc = value.bad ? scr_no_memory(err) : SCR_OK;
    if (rc == SCR_OK)
        scr_tool_print_line(t, "GROUPS=%s SWITCH=%s", leaf->nodes, value.p);
    scr_str_free(&value);
    return rc;
}

static int print_leaves(struct scr_tool *t, const struct scr_table *leaves,
                        struct scr_err *err)
{
    size_t nodes = 0;
    for (SCR_EACH(const struct scr_rm_leaf, leaf, leaves))
        TRY(print_leaf(t, leaf, &nodes, err));
    scr_tool_print(t, "# %zu node%s in %zu group%s\n", nodes,
                   scr_plural((int64_t)nodes), leaves->n,
                   scr_plural((int64_t)leaves->n));
    return SCR_OK;
}

static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    static const int sources[] = { OPT_SLURM, OPT_FILE, -1 };
    const char *file = a->opt[OPT_FILE];
    struct scr_table leaves = SCR_TABLE_OF(struct scr_rm_leaf);
    char *text = NULL;
    int rc;
    TRY(scr_tool_exclusive(t, a, err, sources));
    if (file == NULL && a->opt[OPT_SLURM] == NULL)
        return scr_tool_usage(t, err, "from where? Give --slurm or --file FILE");
    TRY_OUT(read_text(t, file, &text, err));
    TRY_OUT(scr_rm_leaves(text, &leaves, err));
    if (leaves.n == 0)
        TRY_OUT(scr_fail(err, SCR_E_CONFIG, 0, "%s: no switch with nodes",
                         file ? file : "scontrol show topology"));
    TRY_OUT(print_leaves(t, &leaves, err));
out:
    scr_table_fini(&leaves);
    free(text);
    return rc;
}

const struct scr_cmd scr_cmd_groups = {
    .usage = "--slurm | --file FILE",
    .about =
        "Prints GROUPS lines for a configuration file: nodes behind one switch are a\n"
        "group. With SCR_GROUP=SWITCH no redundancy set has two processes of one.",
    .opts = opts,
    .run = run,
};
