/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of other ranks in a restart: a header, say, that rank 0 writes and all read.
 * SCR_Route_file is local, so a rank gets what it can reach without the others. Where
 * the restart reads in the prefix directory that is every file. Of a checkpoint in
 * cache it is what the control directory of its node names, or what is in a store
 * that all nodes share, else the copy in the prefix directory, if there is a complete
 * one. */
#include <stdlib.h>
#include <string.h>

#include "core/ctx.h"
#include "core/foreign.h"
#include "core/others.h"
#include "core/sharedstore.h"
#include "par/redundancy/verify.h"

/* --- in cache --- */

static int is_asked_for(const scr_meta *meta, const char *dest)
{
    int complete = 0;
    const char *asked = scr_meta_text(meta, SCR_META_ASKED);
    char *own = asked ? NULL : scr_meta_dest(meta);
    const char *name = asked ? asked : own;
    int same = name != NULL && strcmp(name, dest) == 0;
    free(own);
    return same && scr_meta_is_full(meta) &&
           scr_meta_get_int(meta, SCR_META_COMPLETE, &complete) == SCR_OK &&
           complete == 1;
}

/* To the last byte as it was recorded (invariant C3). */
static int is_good(const struct scr_ctx *ctx, const char *path, const scr_meta *meta)
{
    uint64_t size;
    return scr_meta_get_filesize(meta, &size) == SCR_OK &&
           scr_verify_meta(&ctx->env, path, meta, NULL) == SCR_OK;
}

/* A number may have been another dataset's. */
static int is_of_this(const struct scr_ctx *ctx, const struct scr_entry *e)
{
    struct scr_dataset mine, its;
    return e->dataset != NULL && scr_dataset_get(e->dataset, &its, NULL) == SCR_OK &&
           scr_cache_dataset(ctx, ctx->restart.id, &mine, NULL) == SCR_OK &&
           scr_dataset_is_same(&mine, &its);
}

/* Enters dest if the rank of the entry has it. */
static int take_of(struct scr_ctx *ctx, const struct scr_entry *e, const char *dest,
                   struct scr_err *err)
{
    if (!is_of_this(ctx, e))
        return SCR_OK;
    for (SCR_EACH(struct scr_file, f, &e->files)) {
        const char *path = f->item.name;
        const scr_meta *meta = scr_file_meta(f);
        if (!is_asked_for(meta, dest) || !is_good(ctx, path, meta))
            continue;
        return scr_restart_add_other(&ctx->restart, dest, path) == SCR_OK
                   ? SCR_OK
                   : scr_no_memory(err);
    }
    return SCR_OK;
}

static int is_found(const struct scr_ctx *ctx, const char *dest)
{
    return scr_table_find(&ctx->restart.by_dest, dest) != NULL;
}

/* The files of the ranks of this node. */
static int find_on_node(struct scr_ctx *ctx, const char *dest, struct scr_err *err)
{
    struct scr_restart *r = &ctx->restart;
    int rc = SCR_OK;
    if (r->near == NULL) {
        scr_filemap *map = scr_filemap_new();
        rc = map ? scr_cntl_read_node(&ctx->env, &ctx->cntl, map, err)
                 : scr_no_memory(err);
        if (rc == SCR_OK)
            r->near = map;
        else
            scr_filemap_delete(map);
    }
    for (SCR_ENTRIES(e, r->near, r->id))
        if (rc == SCR_OK && !is_found(ctx, dest))
            rc = take_of(ctx, e, dest, err);
    return rc;
}

/* The cache of a store that all nodes share, if that is where the checkpoint lies. */
static const char *shared_cache(const struct scr_ctx *ctx)
{
    const char *store =
        scr_redplace_get(scr_cache_any_desc(ctx, ctx->restart.id)).store;
    for (int i = 0; i < ctx->descs.nstores && store != NULL; i++)
        if (scr_store_is_shared(&ctx->descs.store[i]) &&
            strcmp(ctx->descs.store[i].path, store) == 0)
            return ctx->cache.dirs[i];
    return NULL;
}

/* Rank by rank: what many read is mostly the first one's. */
static int find_in_shared(struct scr_ctx *ctx, const char *cache, const char *dest,
                          struct scr_err *err)
{
    int rc = SCR_OK;
    for (int i = 0; i < ctx->world.size && rc == SCR_OK && !is_found(ctx, dest); i++) {
        scr_filemap *map = scr_filemap_new();
        rc = map ? SCR_OK : scr_no_memory(err);
        const struct scr_entry *e =
            rc == SCR_OK && scr_shared_read(ctx, cache, ctx->restart.id, i, map)
                ? scr_filemap_entry(map, ctx->restart.id, i)
                : NULL;
        if (e != NULL)
            rc = take_of(ctx, e, dest, err);
        scr_filemap_delete(map);
    }
    return rc;
}

/* --- in the prefix directory --- */

/* 1 if the dataset is complete there too; its list of files can be asked then. */
static int has_copy(struct scr_ctx *ctx)
{
    struct scr_restart *r = &ctx->restart;
    struct scr_dataset mine, its;
    int complete = 0;
    if (r->catalog.prefix != NULL)
        return 1;
    scr_hash *dset = scr_hash_new();
    int same = dset != NULL &&
               scr_prefix_summary_read(&ctx->env, &ctx->prefix, r->id, &complete, dset,
                                       NULL) == SCR_OK &&
               complete && scr_dataset_get(dset, &its, NULL) == SCR_OK &&
               scr_cache_dataset(ctx, r->id, &mine, NULL) == SCR_OK &&
               scr_dataset_is_same(&mine, &its);
    scr_hash_delete(dset);
    if (same)
        scr_restart_read_there(ctx, r->id);
    return same;
}

static int reads_there(const struct scr_ctx *ctx)
{
    return ctx->restart.is_foreign || ctx->restart.in_place;
}

int scr_others_find(struct scr_ctx *ctx, const char *dest, struct scr_err *err)
{
    if (reads_there(ctx))
        return scr_regroup_find(ctx, dest, err);
    const char *shared = shared_cache(ctx);
    int rc =
        shared ? find_in_shared(ctx, shared, dest, err) : find_on_node(ctx, dest, err);
    return rc == SCR_OK && !is_found(ctx, dest) && has_copy(ctx)
               ? scr_regroup_find(ctx, dest, err)
               : rc;
}

int scr_others_find_base(struct scr_ctx *ctx, const char *base, struct scr_err *err)
{
    return reads_there(ctx) || has_copy(ctx) ? scr_regroup_find_base(ctx, base, err)
                                             : SCR_OK;
}
