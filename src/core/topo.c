/* SPDX-License-Identifier: BSD-3-Clause */
/* Where this rank is: its node (real or virtual), the directories there, its sets. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cwd.h"
#include "base/hostlist.h"
#include "base/io.h"
#include "base/str.h"
#include "core/ctx.h"
#include "core/tenancy.h"
#include "core/topo.h"
#include "core/weaken.h"
#include "par/comm/roster.h"
#include "red/geom.h"
#include "rm/rm.h"

/* The ranks of a host are spread over its virtual nodes in blocks. *first: which of
 * them has that name first. */
static int vnode_pick(const struct scr_ctx *ctx, const struct scr_comm *on_host,
                      int *first, char **name, struct scr_err *err)
{
    struct scr_hostlist names = SCR_HOSTLIST_INIT;
    int rc;
    TRY_OUT(scr_rm_expand(ctx->cfg, "SCR_VNODES", ctx->prm.vnodes, &names, err));
    if (names.n == 0)
        TRY_OUT(scr_fail(err, SCR_E_CONFIG, 0, "SCR_VNODES=%s (%s): no node named",
                         ctx->prm.vnodes, scr_cfg_origin(ctx->cfg, "SCR_VNODES")));
    const char *mine =
        scr_rm_vnode(&names, (size_t)on_host->rank, (size_t)on_host->size);
    while (strcmp(names.name[*first], mine) != 0)
        ++*first;
    *name = scr_strdup(mine);
    if (*name == NULL)
        rc = scr_no_memory(err);
out:
    scr_hostlist_free(&names);
    return rc;
}

/* A name for the node that no other node of the job has: virtual ones of several hosts
 * may be called alike. */
static int name_vnode(struct scr_ctx *ctx, const char *host,
                      const struct scr_comm *on_host, int *first, struct scr_err *err)
{
    TRY(vnode_pick(ctx, on_host, first, &ctx->vnode_name, err));
    ctx->place.vnode = ctx->vnode_name;
    ctx->node_name = on_host->size == ctx->world.size
                         ? scr_strdup(ctx->vnode_name)
                         : scr_asprintf("%s/%s", host, ctx->vnode_name);
    return ctx->node_name ? SCR_OK : scr_no_memory(err);
}

/* A host is a node, unless it has virtual ones, which its ranks know if none of them
 * has failed. rc: of this rank until now; the code is that of the host's ranks. */
static int find_node_all(struct scr_ctx *ctx, int rc, struct scr_err *err)
{
    char *host = NULL;
    struct scr_comm on_host = SCR_COMM_INIT;
    int first = 0, named = scr_hostname(&host, rc == SCR_OK ? err : NULL);
    rc = scr_comm_part_str_all(&ctx->world, scr_first(rc, named), host, &on_host, err);
    if (rc != SCR_OK || ctx->prm.vnodes == NULL || on_host.comm == MPI_COMM_NULL) {
        ctx->node_name = host;
        ctx->node = on_host;
        return rc;
    }
    rc = name_vnode(ctx, host, &on_host, &first, err);
    int split = scr_comm_split_all(&on_host, first, on_host.rank, &ctx->node,
                                   rc == SCR_OK ? err : NULL);
    scr_comm_free(&on_host);
    free(host);
    return rc == SCR_OK ? split : rc;
}

static int is_node_local(const struct scr_store *store)
{
    return strcmp(store->group, "NODE") == 0;
}

static int store_is_used(const struct scr_ctx *ctx, int store)
{
    return store == ctx->descs.cntl_store || scr_descs_uses(&ctx->descs, store);
}

static int make_store(struct scr_ctx *ctx, int i, struct scr_err *err)
{
    const struct scr_store *store = &ctx->descs.store[i];
    int rc =
        scr_place_make(&ctx->env, &ctx->place, store->path, is_node_local(store), err);
    if (rc != SCR_OK)
        scr_err_prefix(err, "store %s (%s) on %s", store->path, store->origin,
                       ctx->node_name);
    return rc;
}

static int name_dirs(struct scr_ctx *ctx, struct scr_err *err)
{
    int bad = 0;
    ctx->cache.dirs = scr_calloc((size_t)ctx->descs.nstores, sizeof *ctx->cache.dirs);
    ctx->tenancy = scr_calloc((size_t)ctx->descs.nstores, sizeof *ctx->tenancy);
    for (int i = 0; ctx->tenancy && i < ctx->descs.nstores; i++)
        ctx->tenancy[i] = (struct scr_lock)SCR_LOCK_INIT;
    for (int i = 0; ctx->cache.dirs && i < ctx->descs.nstores; i++) {
        const struct scr_store *store = &ctx->descs.store[i];
        if (!store_is_used(ctx, i))
            continue;
        ctx->cache.dirs[i] =
            scr_place_dir(&ctx->place, store->path, is_node_local(store));
        bad |= ctx->cache.dirs[i] == NULL;
    }
    if (ctx->cache.dirs && ctx->tenancy && !bad)
        ctx->cntl_dir = scr_strdup(ctx->cache.dirs[ctx->descs.cntl_store]);
    return ctx->cntl_dir ? SCR_OK : scr_no_memory(err);
}

/* A directory that is removed at that moment is made again. */
static int take_store(struct scr_ctx *ctx, int i, struct scr_err *err)
{
    int gone = 1;
    while (gone) {
        TRY(make_store(ctx, i, err));
        TRY(scr_tenancy_take(ctx, i, &gone, err));
    }
    return SCR_OK;
}

/* One rank of the node takes its directories for all, that of control first, before
 * anything else is made or touched there. */
static int take_node(struct scr_ctx *ctx, struct scr_err *err)
{
    int cntl = ctx->descs.cntl_store, rc = name_dirs(ctx, err);
    if (rc != SCR_OK || ctx->node.rank != 0)
        return rc;
    TRY(take_store(ctx, cntl, err));
    for (int i = 0; i < ctx->descs.nstores; i++)
        if (i != cntl && store_is_used(ctx, i) && is_node_local(&ctx->descs.store[i]))
            TRY(take_store(ctx, i, err));
    return SCR_OK;
}

/* A process of a virtual node leaves its pid where a drill finds it. */
static int write_pid(struct scr_ctx *ctx, struct scr_err *err)
{
    if (ctx->place.vnode == NULL)
        return SCR_OK;
    char *path = scr_asprintf("%s/pid.%d", ctx->cntl_dir, ctx->world.rank);
    char *text = scr_asprintf("%ld %d\n", (long)getpid(), ctx->world.rank);
    int rc = path && text
                 ? scr_file_replace(ctx->env.sys, path, text, strlen(text),
                                    (struct scr_replace){ 0600, SCR_VOLATILE }, err)
                 : scr_no_memory(err);
    free(path);
    free(text);
    return rc;
}

static void remove_pid(struct scr_ctx *ctx)
{
    if (ctx->place.vnode == NULL || ctx->cntl_dir == NULL)
        return;
    char *path = scr_asprintf("%s/pid.%d", ctx->cntl_dir, ctx->world.rank);
    if (path)
        scr_file_remove(ctx->env.sys, path, NULL);
    free(path);
}

static int make_dirs(struct scr_ctx *ctx, struct scr_err *err)
{
    for (int i = 0; i < ctx->descs.nstores; i++)
        if (store_is_used(ctx, i))
            TRY(make_store(ctx, i, err));
    TRY(scr_cntl_open(&ctx->env, ctx->cntl_dir, ctx->node.rank, &ctx->cntl, err));
    return write_pid(ctx, err);
}

/* Datasets cached for the directory that this one was copied from are not ours. With a
 * line if there are any. */
static void tell_of_original(const struct scr_ctx *ctx)
{
    struct stat st;
    struct scr_place place = ctx->place;
    const struct scr_store *store = &ctx->descs.store[ctx->descs.cntl_store];
    place.prefix = ctx->original;
    char *dir =
        ctx->original ? scr_place_dir(&place, store->path, is_node_local(store)) : NULL;
    if (dir != NULL && scr_file_stat(ctx->env.sys, dir, &st, NULL) == SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN,
                "prefix directory %s is a copy: checkpoints in cache stay with the "
                "directory it was copied from, this run begins with what was flushed",
                ctx->prefix.path);
    free(dir);
}

/* The sets of a descriptor while they are made. */
struct making {
    struct scr_cut cut;
    struct scr_comm group; /* of ranks with the same value, unless that is the node */
    const char *value;
    int is_ungrouped; /* the node has no GROUPS line with the group */
    int ungrouped;    /* the lowest rank on such a node; world.size: there is none */
};

/* A node without a GROUPS line counts as a group by itself. */
static int find_value(const struct scr_ctx *ctx, const struct scr_reddesc *red,
                      struct making *m, struct scr_err *err)
{
    TRY(scr_descs_group_value(&ctx->descs, red->group, ctx->node_name, &m->value, err));
    m->is_ungrouped = m->value == NULL;
    m->ungrouped = m->is_ungrouped ? ctx->world.rank : ctx->world.size;
    if (m->is_ungrouped)
        m->value = ctx->node_name;
    return SCR_OK;
}

/* Sets that are not cut by nodes. The code is each rank's own. */
static int make_others_all(struct scr_ctx *ctx, const struct scr_reddesc *red,
                           struct making *m, int rc, struct scr_err *err)
{
    m->cut.group = &m->group;
    rc = scr_comm_split_str_all(&ctx->world, rc, m->value, &m->group, err);
    return rc == SCR_OK ? scr_set_make_all(&ctx->world, &m->cut, rc,
                                           &ctx->cache.sets[red->index], err)
                        : rc;
}

/* The sets of all descriptors. nodes: how they are cut by nodes. rc: of this rank until
 * now; the code is its own. */
static int make_sets_all(struct scr_ctx *ctx, const struct scr_cut *nodes,
                         struct making *of, int rc, struct scr_err *err)
{
    for (int i = 0; i < ctx->descs.nreds; i++) {
        const struct scr_reddesc *red = &ctx->descs.red[i];
        struct making *m = &of[i];
        if (!red->enabled)
            continue;
        m->cut = *nodes;
        m->cut.set_size = red->scheme == SCR_SCHEME_SINGLE ? 1 : red->set_size;
        if (rc == SCR_OK)
            rc = find_value(ctx, red, m, err);
        rc = strcasecmp(red->group, "NODE") == 0
                 ? scr_set_cut_all(&ctx->world, &m->cut, rc, &ctx->cache.sets[i], err)
                 : make_others_all(ctx, red, m, rc, err);
    }
    return rc;
}

/* Of this rank's set. */
static int losses_of(const struct scr_ctx *ctx, const struct scr_reddesc *red,
                     int members)
{
    enum scr_scheme scheme = red->scheme;
    int k = scheme == SCR_SCHEME_XOR ? 1 : red->set_failures;
    if (scr_store_is_shared(&ctx->descs.store[red->store]))
        return 0;
    scr_geom_weaken(&scheme, &k, members);
    return scheme == SCR_SCHEME_SINGLE ? 0 : k;
}

/* Facts about the sets of all ranks, in the reduction that agrees on rc.
 * least: room for four numbers a descriptor, and one. */
static int know_sets_all(struct scr_ctx *ctx, struct making *of, int64_t *least, int rc,
                         struct scr_err *err)
{
    int n = ctx->descs.nreds;
    int64_t *losses = least + 1, *members = losses + n, *alone = members + n;
    int64_t *ungrouped = alone + n;
    for (int i = 0; i < n; i++)
        if (ctx->descs.red[i].enabled && rc == SCR_OK) {
            losses[i] = losses_of(ctx, &ctx->descs.red[i], ctx->cache.sets[i].n);
            members[i] = of[i].cut.least;
            alone[i] = -of[i].cut.has_alone;
            ungrouped[i] = of[i].ungrouped;
        }
    rc = scr_agree_mins_all(&ctx->world, rc, least, 4 * n + 1, err);
    for (int i = 0; i < n && rc == SCR_OK; i++) {
        ctx->cache.losses[i] = losses[i];
        of[i].cut.least = (int)members[i];
        of[i].cut.has_alone = alone[i] != 0;
        of[i].ungrouped = (int)ungrouped[i];
    }
    return rc;
}

/* rc: of this rank until now. Agreed. */
static int cut_world_all(struct scr_ctx *ctx, const struct scr_cut *nodes,
                         struct making *of, int64_t *least, struct scr_err *err)
{
    int rc = make_dirs(ctx, err);
    tell_of_original(ctx);
    if (ctx->world.rank == 0)
        scr_place_tell_scr3(&(struct scr_env){ ctx->env.sys, &ctx->log }, &ctx->place,
                            ctx->descs.store[ctx->descs.cntl_store].path);
    rc = make_sets_all(ctx, nodes, of, rc, err);
    rc = know_sets_all(ctx, of, least, rc, err);
    for (int i = 0; i < ctx->descs.nreds; i++) {
        const struct scr_reddesc *red = &ctx->descs.red[i];
        if (rc == SCR_OK && red->enabled)
            rc = scr_weaken_ungrouped_all(ctx, red, of[i].ungrouped, of[i].is_ungrouped,
                                          err);
        if (rc == SCR_OK && red->enabled)
            rc = scr_weaken_report_all(ctx, red, &ctx->cache.sets[i], &of[i].cut,
                                       of[i].value, err);
        scr_comm_free(&of[i].group);
    }
    return rc;
}

/* One vote says that every rank knows its node, and that directories there are taken,
 * before anything else is written; one more what all sets are like. */
int scr_topo_init_all(struct scr_ctx *ctx, int rc, struct scr_err *err)
{
    size_t n = (size_t)ctx->descs.nreds;
    struct scr_cut nodes = { .group = &ctx->node };
    struct scr_vote v = { .sum = { 0 } };
    ctx->place.user = ctx->prm.user_name;
    ctx->place.jobid = ctx->prm.job_id;
    ctx->place.prefix = ctx->prefix_name;
    rc = find_node_all(ctx, rc, err);
    struct making *of = scr_calloc(n, sizeof *of);
    int64_t *least = scr_calloc(4 * n + 1, sizeof *least);
    ctx->cache.sets = scr_calloc(n, sizeof *ctx->cache.sets);
    ctx->cache.losses = scr_calloc(n, sizeof *ctx->cache.losses);
    if (rc == SCR_OK && !(of && least && ctx->cache.sets && ctx->cache.losses))
        rc = scr_no_memory(err);
    for (size_t i = 0; of != NULL && i < n; i++)
        of[i].group = (struct scr_comm)SCR_COMM_INIT;
    scr_cut_say(&ctx->world, &nodes, v.least);
    v.least[SCR_CUT_LEAST] = ctx->sees_opens;
    v.sum[0] = ctx->node.rank == 0;
    rc = scr_vote_all(&ctx->world, rc == SCR_OK ? take_node(ctx, err) : rc, &v, err);
    scr_cut_hear(&nodes, v.least);
    ctx->sees_opens = (int)v.least[SCR_CUT_LEAST];
    ctx->nodes = (int)v.sum[0];
    if (rc == SCR_OK)
        rc = cut_world_all(ctx, &nodes, of, least, err);
    free(of);
    free(least);
    return rc;
}

char *scr_topo_nodes(const struct scr_ctx *ctx, int yes, int n)
{
    struct scr_hostlist nodes = SCR_HOSTLIST_INIT;
    char *text = NULL;
    const char *mine = yes ? ctx->node_name : NULL;
    if (scr_roster_gather(&ctx->world, mine, n, &nodes) == SCR_OK && nodes.n > 0)
        (void)scr_hostlist_compress(&nodes, 1, &text, NULL);
    scr_hostlist_free(&nodes);
    return text;
}

void scr_topo_fini(struct scr_ctx *ctx)
{
    remove_pid(ctx);
    scr_cntl_close(&ctx->env, &ctx->cntl);
    scr_tenancy_leave(ctx);
    for (int i = 0; ctx->cache.sets && i < ctx->descs.nreds; i++)
        if (ctx->cache.sets[i].n > 0)
            scr_set_free(&ctx->cache.sets[i]);
    free(ctx->cache.sets);
    free(ctx->cache.losses);
    for (int i = 0; ctx->cache.dirs && i < ctx->descs.nstores; i++)
        free(ctx->cache.dirs[i]);
    free(ctx->cache.dirs);
    free(ctx->cntl_dir);
    free(ctx->node_name);
    free(ctx->vnode_name);
    scr_comm_free(&ctx->node);
    ctx->cache.sets = NULL;
    ctx->cache.losses = NULL;
    ctx->cache.dirs = NULL;
    ctx->cntl_dir = ctx->node_name = ctx->vnode_name = NULL;
}
