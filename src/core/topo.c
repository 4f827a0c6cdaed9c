/* SPDX-License-Identifier: BSD-3-Clause */
/* Where this rank is: its node (real or virtual), the directories there, its sets. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cwd.h"
#include "base/dir.h"
#include "base/hostlist.h"
#include "base/io.h"
#include "base/str.h"
#include "core/ctx.h"
#include "core/weaken.h"
#include "red/geom.h"
#include "rm/rm.h"

/* The ranks of a host are spread over its virtual nodes in blocks. */
static int vnode_pick(const char *text, int local, int nlocal, char **name,
                      struct scr_err *err)
{
    struct scr_hostlist names = SCR_HOSTLIST_INIT;
    int rc = scr_rm_vnodes(text, &names, err);
    if (rc == SCR_OK && names.n == 0)
        rc = scr_fail(err, SCR_E_CONFIG, 0, "SCR_VNODES=%s: no node named", text);
    if (rc == SCR_OK) {
        size_t i = (size_t)local * names.n / (size_t)nlocal;
        *name = scr_strdup(names.name[i]);
        if (*name == NULL)
            rc = scr_no_memory(err);
    }
    scr_hostlist_free(&names);
    return rc;
}

/* A name for the node that no other node of the job has: virtual ones of several hosts
 * may be called alike. */
static int name_vnode(struct scr_ctx *ctx, const char *host,
                      const struct scr_comm *on_host, struct scr_err *err)
{
    int rc = vnode_pick(ctx->prm.vnodes, on_host->rank, on_host->size, &ctx->vnode_name,
                        err);
    if (rc != SCR_OK)
        return rc;
    ctx->place.vnode = ctx->vnode_name;
    ctx->node_name = on_host->size == ctx->world.size
                         ? scr_strdup(ctx->vnode_name)
                         : scr_asprintf("%s/%s", host, ctx->vnode_name);
    return ctx->node_name ? SCR_OK : scr_no_memory(err);
}

/* The code is each rank's own. */
static int name_node_all(struct scr_ctx *ctx, struct scr_err *err)
{
    char *host = NULL;
    int rc = scr_hostname(&host, err);
    if (ctx->prm.vnodes == NULL) {
        ctx->node_name = host;
        return rc;
    }
    struct scr_comm on_host = SCR_COMM_INIT;
    rc = scr_comm_split_str_all(&ctx->world, rc, host, &on_host, err);
    if (rc == SCR_OK)
        rc = name_vnode(ctx, host, &on_host, err);
    scr_comm_free(&on_host);
    free(host);
    return rc;
}

/* The code is each rank's own. */
static int make_comms_all(struct scr_ctx *ctx, int rc, struct scr_err *err)
{
    rc = scr_comm_split_str_all(&ctx->world, rc, ctx->node_name, &ctx->node, err);
    return rc == SCR_OK ? scr_comm_split_all(&ctx->world, ctx->node.rank,
                                             ctx->world.rank, &ctx->across, err)
                        : rc;
}

static int is_node_local(const struct scr_store *store)
{
    return strcmp(store->group, "NODE") == 0;
}

static int store_is_used(const struct scr_ctx *ctx, int store)
{
    for (int i = 0; i < ctx->descs.nreds; i++)
        if (ctx->descs.red[i].enabled && ctx->descs.red[i].store == store)
            return 1;
    return store == ctx->descs.cntl_store;
}

static int make_store(struct scr_ctx *ctx, int i, struct scr_err *err)
{
    const struct scr_store *store = &ctx->descs.store[i];
    int rc =
        scr_place_make(&ctx->env, &ctx->place, store->path, is_node_local(store), err);
    if (rc != SCR_OK)
        scr_err_prefix(err, "%s on %s", store->origin, ctx->node_name);
    return rc;
}

static int name_dirs(struct scr_ctx *ctx, struct scr_err *err)
{
    int bad = 0;
    ctx->cache_dirs = scr_calloc((size_t)ctx->descs.nstores, sizeof *ctx->cache_dirs);
    ctx->tenancy = scr_calloc((size_t)ctx->descs.nstores, sizeof *ctx->tenancy);
    for (int i = 0; ctx->tenancy && i < ctx->descs.nstores; i++)
        ctx->tenancy[i] = (struct scr_lock)SCR_LOCK_INIT;
    for (int i = 0; ctx->cache_dirs && i < ctx->descs.nstores; i++) {
        const struct scr_store *store = &ctx->descs.store[i];
        if (!store_is_used(ctx, i))
            continue;
        ctx->cache_dirs[i] =
            scr_place_dir(&ctx->place, store->path, is_node_local(store));
        bad |= ctx->cache_dirs[i] == NULL;
    }
    if (ctx->cache_dirs && ctx->tenancy && !bad)
        ctx->cntl_dir = scr_strdup(ctx->cache_dirs[ctx->descs.cntl_store]);
    return ctx->cntl_dir ? SCR_OK : scr_no_memory(err);
}

/* What is removed in that moment is made again. */
static int take_store(struct scr_ctx *ctx, int i, struct scr_err *err)
{
    int gone = 1, rc = SCR_OK;
    while (rc == SCR_OK && gone) {
        rc = make_store(ctx, i, err);
        if (rc == SCR_OK)
            rc = scr_tenancy_take(ctx, i, &gone, err);
    }
    return rc;
}

/* One rank of the node takes its directories for all, that of control first, before
 * anything else is made or touched there. */
static int take_node(struct scr_ctx *ctx, struct scr_err *err)
{
    int cntl = ctx->descs.cntl_store, rc = name_dirs(ctx, err);
    if (rc != SCR_OK || ctx->node.rank != 0)
        return rc;
    rc = take_store(ctx, cntl, err);
    for (int i = 0; i < ctx->descs.nstores && rc == SCR_OK; i++)
        if (i != cntl && store_is_used(ctx, i) && is_node_local(&ctx->descs.store[i]))
            rc = take_store(ctx, i, err);
    return rc;
}

/* A process of a virtual node leaves its pid where a drill finds it. */
static int write_pid(struct scr_ctx *ctx, struct scr_err *err)
{
    if (ctx->place.vnode == NULL)
        return SCR_OK;
    char *path = scr_asprintf("%s/pid.%d", ctx->cntl_dir, ctx->world.rank);
    char *text = scr_asprintf("%ld %d\n", (long)getpid(), ctx->world.rank);
    int rc = path && text ? scr_file_replace(ctx->env.sys, path, text, strlen(text),
                                             0600, SCR_VOLATILE, err)
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
    int rc = SCR_OK;
    for (int i = 0; i < ctx->descs.nstores && rc == SCR_OK; i++)
        if (store_is_used(ctx, i))
            rc = make_store(ctx, i, err);
    if (rc == SCR_OK)
        rc = scr_cntl_open(&ctx->env, ctx->cntl_dir, ctx->node.rank, &ctx->cntl, err);
    return rc == SCR_OK ? write_pid(ctx, err) : rc;
}

/* What is cached for the directory that this one was copied from is not ours. Told
 * where there is any. */
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

static int is_node_group(const struct scr_reddesc *red)
{
    return strcasecmp(red->group, "NODE") == 0;
}

static int make_set_all(struct scr_ctx *ctx, const struct scr_reddesc *red, int rc,
                        struct scr_set *set, struct scr_err *err)
{
    struct scr_comm made = SCR_COMM_INIT;
    struct scr_cut cut = { .group = &made,
                           .set_size =
                               red->scheme == SCR_SCHEME_SINGLE ? 1 : red->set_size };
    const char *value = scr_descs_group_value(&ctx->descs, red->group, ctx->node_name);
    if (rc == SCR_OK && value == NULL)
        rc = scr_fail(err, SCR_E_CONFIG, 0,
                      "%s: group %s has no GROUPS line for host %s", red->origin,
                      red->group, ctx->node_name);
    if (is_node_group(red))
        cut.group = &ctx->node;
    else if ((rc = scr_comm_split_str_all(&ctx->world, rc, value, &made, err)) !=
             SCR_OK)
        return rc;
    rc = scr_set_make_all(&ctx->world, &cut, rc, set, err);
    if (rc == SCR_OK)
        rc = scr_weaken_report_all(ctx, red, set, &cut, value, err);
    scr_comm_free(&made);
    return rc;
}

/* Of this rank's set. */
static int losses_of(const struct scr_reddesc *red, int members)
{
    enum scr_scheme scheme = red->scheme;
    int k = scheme == SCR_SCHEME_XOR ? 1 : red->set_failures;
    scr_geom_weaken(&scheme, &k, members);
    return scheme == SCR_SCHEME_SINGLE ? 0 : k;
}

static void know_losses_all(struct scr_ctx *ctx)
{
    for (int i = 0; i < ctx->descs.nreds; i++)
        if (ctx->descs.red[i].enabled)
            ctx->losses[i] = losses_of(&ctx->descs.red[i], ctx->sets[i].n);
    scr_mins_all(&ctx->world, ctx->losses, ctx->descs.nreds);
}

/* rc: of this rank until now. */
static int make_sets_all(struct scr_ctx *ctx, int rc, struct scr_err *err)
{
    int made = 0;
    ctx->sets = scr_calloc((size_t)ctx->descs.nreds, sizeof *ctx->sets);
    ctx->losses = scr_calloc((size_t)ctx->descs.nreds, sizeof *ctx->losses);
    if (rc == SCR_OK && (ctx->sets == NULL || ctx->losses == NULL))
        rc = scr_no_memory(err);
    struct scr_set none;
    for (int i = 0; i < ctx->descs.nreds && (rc == SCR_OK || !made); i++)
        if (ctx->descs.red[i].enabled) {
            rc = make_set_all(ctx, &ctx->descs.red[i], rc,
                              ctx->sets != NULL ? &ctx->sets[i] : &none, err);
            made = 1;
        }
    if (!made)
        rc = scr_agree_all(&ctx->world, rc, err);
    if (rc == SCR_OK)
        know_losses_all(ctx);
    return rc;
}

int scr_topo_init_all(struct scr_ctx *ctx, struct scr_err *err)
{
    ctx->place.user = ctx->prm.user_name;
    ctx->place.jobid = ctx->prm.job_id;
    ctx->place.prefix = ctx->prefix_name;
    int rc = make_comms_all(ctx, name_node_all(ctx, err), err);
    struct scr_vote v = { .least = { -ctx->across.size } };
    rc = scr_vote_all(&ctx->world, rc == SCR_OK ? take_node(ctx, err) : rc, &v, err);
    if (rc != SCR_OK)
        return rc;
    ctx->nodes = (int)-v.least[0];
    rc = make_dirs(ctx, err);
    tell_of_original(ctx);
    return make_sets_all(ctx, rc, err);
}

void scr_topo_fini(struct scr_ctx *ctx)
{
    remove_pid(ctx);
    scr_cntl_close(&ctx->env, &ctx->cntl);
    scr_tenancy_leave(ctx);
    for (int i = 0; ctx->sets && i < ctx->descs.nreds; i++)
        if (ctx->sets[i].n > 0)
            scr_set_free(&ctx->sets[i]);
    free(ctx->sets);
    free(ctx->losses);
    for (int i = 0; ctx->cache_dirs && i < ctx->descs.nstores; i++)
        free(ctx->cache_dirs[i]);
    free(ctx->cache_dirs);
    free(ctx->cntl_dir);
    free(ctx->node_name);
    free(ctx->vnode_name);
    scr_comm_free(&ctx->across);
    scr_comm_free(&ctx->node);
    ctx->sets = NULL;
    ctx->losses = NULL;
    ctx->cache_dirs = NULL;
    ctx->cntl_dir = ctx->node_name = ctx->vnode_name = NULL;
}
