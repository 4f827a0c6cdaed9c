/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_cntl_dir: control and cache directories of a job. */
#include <stdlib.h>
#include <string.h>

#include "cfg/desc.h"
#include "reach.h"
#include "store/cache.h"

enum { OPT_USER, OPT_JOBID, OPT_BASE, OPT_LOCAL, OPT_PREFIX };

static const struct scr_opt opts[] = {
    [OPT_USER] = { "user", 'u', "NAME", "of this user" },
    [OPT_JOBID] = { "jobid", 'j', "ID", "of this allocation" },
    [OPT_BASE] = { "base", 'b', NULL, "print only the base directory" },
    [OPT_LOCAL] = { "local", 'l', NULL, "without directories that all nodes share" },
    [OPT_PREFIX] = { "prefix", 'p', "DIR", "prefix directory of the job" },
    { 0 },
};

static int print_dir(struct scr_tool *t, const struct scr_args *a,
                     const struct scr_place *place, const struct scr_store *s,
                     struct scr_err *err)
{
    int is_local = strcmp(s->group, "NODE") == 0;
    if (a->opt[OPT_LOCAL] != NULL && !is_local)
        return SCR_OK;
    if (a->opt[OPT_BASE] != NULL) {
        scr_tool_print(t, "%s\n", s->path);
        return SCR_OK;
    }
    char *dir = scr_place_dir(place, s->path, is_local);
    TRY(dir ? SCR_OK : scr_no_memory(err));
    scr_tool_print(t, "%s\n", dir);
    free(dir);
    return SCR_OK;
}

static int print_dirs(struct scr_tool *t, const struct scr_args *a, int is_cache,
                      const struct scr_place *place, const struct scr_descs *d,
                      struct scr_err *err)
{
    if (!is_cache)
        return print_dir(t, a, place, &d->store[d->cntl_store], err);
    /* Bases of the node, which a prolog makes and an epilog empties, may be used by the
     * descriptors of a job. */
    int all = a->opt[OPT_BASE] != NULL && a->opt[OPT_LOCAL] != NULL;
    for (int i = 0; i < d->nstores; i++)
        if (all || scr_descs_uses(d, i))
            TRY(print_dir(t, a, place, &d->store[i], err));
    return SCR_OK;
}

static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    const char *kind = a->noperands > 0 ? a->operand[0] : "control";
    int is_cache = strcmp(kind, "cache") == 0;
    struct scr_params prm;
    struct scr_descs d = { 0 };
    if (!is_cache && strcmp(kind, "control") != 0 && strcmp(kind, "cntl") != 0)
        return scr_tool_usage(t, err, "\"%s\" is neither control nor cache", kind);
    int rc;
    TRY(scr_tool_descs(t, a->opt[OPT_PREFIX], &prm, &d, err));
    const char *user = a->opt[OPT_USER], *job = a->opt[OPT_JOBID];
    /* Of several virtual nodes on this host it cannot be known which is meant. */
    const char *vnode = prm.vnodes && strpbrk(prm.vnodes, ",[") ? "*" : prm.vnodes;
    struct scr_identity id;
    TRY_OUT(scr_tool_identity(t, &prm, &id, err));
    /* Before its first run nor what the directory will be called. */
    const struct scr_place place = { user ? user : prm.user_name,
                                     job ? job : prm.job_id, vnode,
                                     id.name[0] ? id.name : SCR_IDENTITY_MARK "*" };
    TRY_OUT(print_dirs(t, a, is_cache, &place, &d, err));
out:
    scr_descs_fini(&d);
    return rc;
}

const struct scr_cmd scr_cmd_cntl_dir = {
    .usage = "[OPTION]... [control|cache]",
    .about =
        "Prints the full path of the control directory of a job, or with \"cache\" of\n"
        "each of its cache directories, as they are on its nodes.",
    .opts = opts,
    .max_operands = 1,
    .run = run,
};
