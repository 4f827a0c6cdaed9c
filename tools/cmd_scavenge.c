/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_scavenge: a dataset from the caches of all nodes to the prefix directory. */
#include <stdlib.h>

#include "scavenge.h"
#include "tool.h"

enum {
    OPT_ID,
    OPT_PREFIX,
    OPT_TO,
    OPT_FROM,
    OPT_JOBSET,
    OPT_UP,
    OPT_DOWN,
    OPT_TIMEOUT,
    OPT_ENDED
};

static const struct scr_opt opts[] = {
    [OPT_ID] = { "id", 'i', "ID", "the dataset" },
    [OPT_PREFIX] = { "prefix", 'p', "DIR",
                     "prefix directory (default: the current one)" },
    [OPT_TO] = { "to", 't', "DIR", "the same" },
    [OPT_FROM] = { "from", 'f', "DIR",
                   "control directory on each node (default: by configuration)" },
    [OPT_JOBSET] = { "jobset", 'j', "NODES", "nodes of the job (default: all of it)" },
    [OPT_UP] = { "up", 'u', "NODES", "copy from these only" },
    [OPT_DOWN] = { "down", 'd', "NODES", "nodes that are lost" },
    [OPT_TIMEOUT] = { "timeout", 'T', "TIME",
                      "longest time for the nodes to copy (default: as the job has)" },
    [OPT_ENDED] = { "ended", 'e', NULL,
                    "the run has ended, even if some of its processes still exist" },
    { 0 },
};

static int check_use(struct scr_tool *t, const struct scr_args *a, int64_t *id,
                     struct scr_err *err)
{
    static const int prefixes[] = { OPT_PREFIX, OPT_TO, -1 };
    static const int nodes[] = { OPT_UP, OPT_DOWN, -1 };
    TRY(scr_tool_exclusive(t, a, err, prefixes));
    TRY(scr_tool_exclusive(t, a, err, nodes));
    TRY(scr_tool_hosts(t, a, OPT_JOBSET, NULL, err));
    TRY(scr_tool_hosts(t, a, OPT_UP, NULL, err));
    TRY(scr_tool_hosts(t, a, OPT_DOWN, NULL, err));
    TRY(scr_tool_int(t, a, OPT_ID, SCR_AT_LEAST(1), id, err));
    return *id > 0 ? SCR_OK
                   : scr_tool_usage(t, err, "which dataset? option --id is missing");
}

/* 1 if it is complete in the prefix directory. */
static int is_there(struct scr_tool *t, int id, int *there, struct scr_err *err)
{
    struct scr_index index = SCR_INDEX_INIT;
    int rc = scr_prefix_index_read(&t->env, &t->prefix, &index, err);
    *there = rc == SCR_OK && scr_index_is_good(&index, id);
    scr_index_fini(&index);
    return rc;
}

/* Files that an earlier scavenge or a flush copied may be enough. */
static int check_found(const struct scr_scavenge *s, int id, struct scr_err *err)
{
    const struct scr_prefix *p = &s->t->prefix;
    char *dir = scr_prefix_dset_dir(p, id);
    TRY(dir ? SCR_OK : scr_no_memory(err));
    int is_there = s->found > 0 || scr_file_is_there(s->t->env.sys, dir);
    free(dir);
    return is_there ? SCR_OK
                    : scr_fail(err, SCR_E_NOENT, 0,
                               "dataset %d: no node has files of it, and %s has none; "
                               "scr_index and scr_flush_file list the datasets",
                               id, p->path);
}

static int scavenge(struct scr_tool *t, const struct scr_args *a, int id,
                    struct scr_err *err)
{
    struct scr_scavenge s;
    const struct scr_scavenge_opts o = { .jobset = a->opt[OPT_JOBSET],
                                         .up = a->opt[OPT_UP],
                                         .down = a->opt[OPT_DOWN],
                                         .cntldir = a->opt[OPT_FROM],
                                         .ended = a->opt[OPT_ENDED] != NULL,
                                         .timeout = a->opt[OPT_TIMEOUT] };
    scr_hash *flush = scr_hash_new();
    int rc;
    TRY_OUT(scr_scavenge_open(t, &o, &s, err));
    (void)scr_prefix_state_read(&t->env, &t->prefix, "flush.scr", flush, NULL);
    TRY_OUT(scr_scavenge_dataset(&s, id,
                                 scr_hash_getf(flush, "DATASET %d DSETDESC", id), err));
    TRY_OUT(check_found(&s, id, err));
    scr_tool_print(t, "dataset %d: make it whole with scr_index --build %d\n", id, id);
out:
    scr_scavenge_close(&s);
    scr_hash_delete(flush);
    return rc;
}

static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    const char *prefix = a->opt[OPT_TO] ? a->opt[OPT_TO] : a->opt[OPT_PREFIX];
    int64_t id = 0;
    int there = 0;
    TRY(check_use(t, a, &id, err));
    TRY(scr_tool_prefix(t, prefix, 1, err));
    TRY(is_there(t, (int)id, &there, err));
    if (!there)
        return scavenge(t, a, (int)id, err);
    scr_tool_print_line(t, "dataset %d: is complete in %s", (int)id, t->prefix.path);
    return SCR_OK;
}

const struct scr_cmd scr_cmd_scavenge = {
    .usage = "[OPTION]... --id ID",
    .about =
        "Copies what is left of a dataset in the caches of a job's nodes to the "
        "prefix\n"
        "directory: scr_copy on all nodes at once, and once more on those that keep\n"
        "copies for others if something is lost. scr_index --build then makes the\n"
        "dataset whole; scr_postrun does both, for all that must be saved.",
    .opts = opts,
    .max_operands = 0,
    .run = run,
};
