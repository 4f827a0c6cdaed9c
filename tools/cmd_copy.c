/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_copy: what one node has of a dataset, copied to the prefix directory. */
#include <stdlib.h>
#include <string.h>

#include "attended.h"
#include "base/hostlist.h"
#include "base/lock.h"
#include "base/path.h"
#include "base/str.h"
#include "base/units.h"
#include "ops/gather.h"
#include "ops/progress.h"
#include "ops/stage.h"
#include "reach.h"
#include "red/survey.h"
#include "store/cntl.h"
#include "store/dset_names.h"
#include "tool.h"

static const double USED_WAIT_S = 5; /* for processes of a run that are ending */
enum { LEAVING_MS = 5000 };          /* for a run that makes what is here leave */

enum {
    OPT_CNTLDIR,
    OPT_ID,
    OPT_PREFIX,
    OPT_DSTDIR,
    OPT_BUF,
    OPT_CRC,
    OPT_PARTNER,
    OPT_SHARED,
    OPT_CONTAINERS,
    OPT_ALONE,
    OPT_FOR,
    OPT_CREATED
};

static const struct scr_opt opts[] = {
    [OPT_CNTLDIR] = { "cntldir", 'c', "DIR",
                      "control directory of the node (default: by configuration)" },
    [OPT_ID] = { "id", 'i', "ID", "the dataset" },
    [OPT_PREFIX] = { "prefix", 'p', "DIR",
                     "prefix directory (default: the current one)" },
    [OPT_DSTDIR] = { "dstdir", 'd', "DIR",
                     "or the dataset's directory in it, PREFIX/.scr/scr.dataset.ID" },
    [OPT_BUF] = { "buf", 'b', "BYTES",
                  "read so many bytes at a time (default: 128KiB)" },
    [OPT_CRC] = { "crc", 'r', NULL,
                  "compute the CRC32 of files for which none is recorded" },
    [OPT_PARTNER] = { "partner", 'a', NULL,
                      "copy what the node keeps for other nodes (PARTNER) too" },
    [OPT_SHARED] = { "shared", 's', NULL,
                     "copy what lost nodes had in caches that all share, too" },
    [OPT_CONTAINERS] = { "containers", 'n', NULL,
                         "accepted; files are never packed together" },
    [OPT_ALONE] = { "alone", 'A', NULL, "not while a run uses the cache" },
    [OPT_FOR] = { "for", 'F', "NUMBER",
                  "number of the scavenge: end when that scavenge has ended" },
    [OPT_CREATED] = { "created", 'm', "TIME",
                      "only files of the dataset created then, in microseconds" },
    { 0 },
};

struct copy {
    struct scr_tool *t;
    struct scr_gather g;
    struct scr_progress progress;
    struct scr_gathered total;
    struct scr_attended for_whom;
    int shared;      /* caches that all nodes share too */
    int alone;       /* not during a run */
    int caches;      /* that were looked at */
    int nodes;       /* whose files were copied */
    int64_t created; /* of the dataset that is meant; 0: whichever is there */
};

/* --- what is asked for --- */

/* <prefix> of <prefix>/.scr/scr.dataset.<id>; malloc'd. */
static int take_dstdir(struct scr_tool *t, const char *dstdir, int id, char **prefix,
                       struct scr_err *err)
{
    char *path = scr_path_normal(dstdir), *scr = path ? scr_path_dir(path) : NULL;
    *prefix = scr ? scr_path_dir(scr) : NULL;
    int rc = SCR_OK;
    if (*prefix == NULL)
        rc = scr_no_memory(err);
    else if (strcmp(scr_path_base(scr), ".scr") != 0 ||
             scr_dset_id(scr_path_base(path)) != id)
        rc = scr_tool_usage(t, err,
                            "option --dstdir: %s is not the directory of dataset %d, "
                            "PREFIX/.scr/scr.dataset.%d",
                            dstdir, id, id);
    free(scr);
    free(path);
    return rc;
}

static int open_prefix(struct scr_tool *t, const struct scr_args *a, int id,
                       struct scr_err *err)
{
    char *prefix = NULL;
    if (a->opt[OPT_DSTDIR] == NULL)
        return scr_tool_prefix(t, a->opt[OPT_PREFIX], 1, err);
    if (a->opt[OPT_PREFIX] != NULL)
        return scr_tool_usage(t, err,
                              "options --prefix and --dstdir exclude each other");
    int rc;
    TRY_OUT(take_dstdir(t, a->opt[OPT_DSTDIR], id, &prefix, err));
    TRY_OUT(scr_tool_prefix(t, prefix, 1, err));
out:
    free(prefix);
    return rc;
}

/* Names of failed nodes, as the old command wanted them, must be such. */
static int check_operands(struct scr_tool *t, const struct scr_args *a,
                          struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = SCR_OK;
    for (int i = 0; i < a->noperands && rc == SCR_OK; i++) {
        struct scr_hostlist list = SCR_HOSTLIST_INIT;
        if (scr_hostlist_expand(a->operand[i], &list, &why) != SCR_OK)
            rc = scr_tool_usage(t, err, "failed nodes: %s", why.text);
        scr_hostlist_free(&list);
    }
    return rc;
}

static int parse(struct copy *c, const struct scr_args *a, struct scr_err *err)
{
    struct scr_tool *t = c->t;
    int64_t id = 0, number = 0;
    uint64_t buf = 0;
    TRY(scr_tool_int(t, a, OPT_ID, SCR_AT_LEAST(1), &id, err));
    if (id == 0)
        return scr_tool_usage(t, err, "which dataset? option --id is missing");
    if (a->opt[OPT_BUF] != NULL && (!scr_parse_size(a->opt[OPT_BUF], &buf) || buf < 1))
        return scr_tool_usage(t, err, "option --buf: \"%s\" is not a number of bytes",
                              a->opt[OPT_BUF]);
    TRY(check_operands(t, a, err));
    TRY(open_prefix(t, a, (int)id, err));
    c->g = (struct scr_gather){ .env = &t->env,
                                .prefix = &t->prefix,
                                .id = (int)id,
                                .buf = (size_t)buf,
                                .want_crc = a->opt[OPT_CRC] != NULL,
                                .partner = a->opt[OPT_PARTNER] != NULL,
                                .told = scr_progress_add,
                                .arg = &c->progress };
    TRY(scr_tool_int(t, a, OPT_CREATED, SCR_BETWEEN(1, INT64_MAX), &c->created, err));
    c->shared = a->opt[OPT_SHARED] != NULL;
    c->alone = a->opt[OPT_ALONE] != NULL;
    if (a->opt[OPT_FOR] == NULL)
        return SCR_OK;
    c->g.wanted = scr_attended_check;
    c->g.wanted_arg = &c->for_whom;
    TRY(scr_tool_int(t, a, OPT_FOR, SCR_BETWEEN(1, INT64_MAX), &number, err));
    return scr_attended_open(t, number, &c->for_whom, err);
}

/* --- copying --- */

static void add_up(struct copy *c, const struct scr_gathered *got)
{
    c->total.ranks += got->ranks;
    c->total.files += got->files;
    c->total.bytes += got->bytes;
    c->total.whole += got->whole;
    c->total.bad += got->bad;
    c->total.partners += got->partners;
}

static int copy_wanted(struct copy *c, const scr_filemap *map, struct scr_err *err)
{
    struct scr_gathered got;
    if (scr_filemap_num_ranks_by_dataset(map, c->g.id) == 0)
        return SCR_OK;
    scr_progress_start(&c->progress, c->t->log.out, scr_gather_size(&c->g, map));
    int rc = scr_gather_node(&c->g, map, &got, err);
    scr_progress_hide(&c->progress);
    add_up(c, &got);
    c->nodes += rc == SCR_OK;
    return rc;
}

/* A node that was away may have files of an older dataset of the same number: they are
 * no part of this one (invariant C14). */
static int copy_map(struct copy *c, const scr_filemap *map, struct scr_err *err)
{
    if (c->created == 0)
        return copy_wanted(c, map, err);
    scr_filemap *only = scr_filemap_only(map, c->g.id, c->created);
    int rc = only ? copy_wanted(c, only, err) : scr_no_memory(err);
    scr_filemap_delete(only);
    return rc;
}

/* So that what is copied does not leave for other runs (invariant C15). Without it the
 * copy continues: files that are gone are missing, and reported. */
static void hold_node(struct copy *c, const char *dir, struct scr_lock *lock)
{
    char *path = scr_path_join(dir, SCR_CNTL_COPY_LOCK);
    if (path != NULL)
        (void)scr_lock_share(c->t->env.sys, path, LEAVING_MS, lock, NULL);
    free(path);
}

static int copy_cntl(struct copy *c, const char *dir, struct scr_err *err)
{
    struct scr_cntl cntl;
    scr_filemap *map = scr_filemap_new();
    int rc = map ? scr_cntl_open(&c->t->env, dir, 0, &cntl, err) : scr_no_memory(err);
    if (rc == SCR_OK) {
        rc = scr_cntl_read_node(&c->t->env, &cntl, map, err);
        scr_cntl_close(&c->t->env, &cntl);
    }
    if (rc == SCR_OK)
        rc = copy_map(c, map, err);
    scr_filemap_delete(map);
    return rc;
}

/* Each node by itself: files that moved are named on two of them. */
static int copy_node(struct copy *c, const char *dir, struct scr_err *err)
{
    struct scr_lock lock = SCR_LOCK_INIT;
    int rc =
        c->alone ? scr_cntl_wait_unused(&c->t->env, dir, USED_WAIT_S, err) : SCR_OK;
    if (rc == SCR_E_LOCKED)
        scr_tool_print(c->t, "%s\n", SCR_COPY_IN_USE);
    if (rc != SCR_OK)
        return rc;
    hold_node(c, dir, &lock);
    rc = copy_cntl(c, dir, err);
    scr_lock_release(c->t->env.sys, &lock);
    return rc;
}

/* Files named by filemaps stored with them, of any rank: those that running nodes
 * copied exist.
 */
static int copy_shared(struct copy *c, const char *cache, struct scr_err *err)
{
    struct scr_survey s;
    int rc;
    TRY_OUT(scr_survey_open(&s, &c->t->env, NULL, 0, err));
    TRY_OUT(scr_survey_add_shared(&s, cache, err));
    TRY_OUT(copy_map(c, s.map, err));
out:
    scr_survey_fini(&s);
    return rc;
}

/* SCR_VNODES names the virtual node on this machine that we are. */
static int is_asked(const struct scr_hostlist *vnodes, const char *dir)
{
    const char *at = strstr(dir, "/vnode.");
    if (vnodes->n == 0 || at == NULL)
        return 1;
    at += strlen("/vnode.");
    char *name = scr_asprintf("%.*s", (int)strcspn(at, "/"), at);
    int asked = name != NULL && scr_hostlist_contains(vnodes, name);
    free(name);
    return asked;
}

/* The names of SCR_VNODES; none if it is not set, or is only a count. */
static int read_vnodes(struct scr_tool *t, struct scr_hostlist *vnodes,
                       struct scr_err *err)
{
    struct scr_params prm;
    int n;
    TRY(scr_tool_params(t, t->prefix.path, &prm, err));
    if (prm.vnodes == NULL || *prm.vnodes == '\0' || scr_parse_int(prm.vnodes, &n))
        return SCR_OK;
    return scr_hostlist_expand(prm.vnodes, vnodes, err);
}

static int copy_all(struct copy *c, const struct scr_reach *reach, int given,
                    struct scr_err *err)
{
    struct scr_hostlist vnodes = SCR_HOSTLIST_INIT;
    int rc = given ? SCR_OK : read_vnodes(c->t, &vnodes, err);
    for (size_t i = 0; i < reach->n && rc == SCR_OK; i++)
        if (is_asked(&vnodes, reach->cntl[i])) {
            c->caches++;
            rc = copy_node(c, reach->cntl[i], err);
        }
    scr_hostlist_free(&vnodes);
    c->caches += (int)reach->nshared;
    for (size_t i = 0; c->shared && i < reach->nshared && rc == SCR_OK; i++)
        rc = copy_shared(c, reach->shared[i], err);
    return rc;
}

/* "3 files, 12.00 KiB copied, 2 were there, 1 could not be copied" */
static void tell(struct copy *c)
{
    char size[32];
    const struct scr_gathered *got = &c->total;
    scr_tool_print(c->t, "dataset %d: %llu file%s of %d rank%s copied, %s", c->g.id,
                   (unsigned long long)got->files, scr_plural((int64_t)got->files),
                   got->ranks, scr_plural(got->ranks),
                   scr_format_size(got->bytes, size, sizeof size));
    if (got->whole > 0)
        scr_tool_print(c->t, "; %llu were there", (unsigned long long)got->whole);
    if (got->partners > 0)
        scr_tool_print(c->t, "; %llu kept for other nodes left out",
                       (unsigned long long)got->partners);
    if (got->bad > 0)
        scr_tool_print(c->t, "; %llu could not be copied",
                       (unsigned long long)got->bad);
    scr_tool_print(c->t, "\n");
}

/* --- the command --- */

/* Complete, or all of it gathered: there is nothing to copy. */
static int is_there(struct copy *c, struct scr_err *err, int *there)
{
    struct scr_index index = SCR_INDEX_INIT;
    int rc = scr_prefix_index_look(&c->t->env, &c->t->prefix, &index, err);
    *there = rc == SCR_OK && scr_index_is_good(&index, c->g.id);
    scr_index_fini(&index);
    if (rc == SCR_OK && *there)
        scr_tool_print_line(c->t, "dataset %d: is complete in %s", c->g.id,
                            c->t->prefix.path);
    else if (rc == SCR_OK && scr_stage_is_placing(&c->t->env, &c->t->prefix, c->g.id)) {
        *there = 1;
        scr_tool_print(c->t,
                       "dataset %d: all of it was copied; finish with scr_index "
                       "--build %d\n",
                       c->g.id, c->g.id);
    }
    return rc;
}

static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    struct copy c = { .t = t };
    struct scr_reach reach = { 0 };
    int there = 0;
    int rc = parse(&c, a, err);
    if (rc == SCR_OK)
        rc = is_there(&c, err, &there);
    if (rc == SCR_OK && !there) {
        rc = scr_tool_reach(t, t->prefix.path, a->opt[OPT_CNTLDIR], &reach, err);
        if (rc == SCR_OK)
            rc = copy_all(&c, &reach, a->opt[OPT_CNTLDIR] != NULL, err);
        if (rc == SCR_OK && c.nodes > 0)
            tell(&c);
        else if (rc == SCR_OK)
            scr_tool_print(t, "dataset %d: %s\n", c.g.id,
                           c.caches > 0 ? SCR_COPY_NOTHING : SCR_COPY_NO_CACHE);
        scr_reach_fini(&reach);
    }
    scr_attended_close(&c.for_whom);
    return rc == SCR_OK && c.total.bad > 0 ? SCR_TOOL_NO : rc;
}

const struct scr_cmd scr_cmd_copy = {
    .usage = "[OPTION]... --id ID [FAILED NODE]...",
    .about =
        "Copies what this node has of a dataset from cache to the prefix directory:\n"
        "the files of the application and the redundancy files, each compared with\n"
        "its CRC32 on the way. scr_scavenge runs it on all nodes; scr_index --build\n"
        "then makes the dataset whole. The exit status is 1 if some files could not\n"
        "be copied because they are damaged or gone.",
    .opts = opts,
    .notes =
        "Files wait in PREFIX/.scr/scr.dataset.ID/files until the dataset is whole.\n"
        "Those that are there already are not copied again.",
    .max_operands = -1,
    .run = run,
};
