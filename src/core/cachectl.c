/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets in cache: room for the next one, deletion, look-up. */
#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "core/cachectl.h"
#include "core/ctx.h"
#include "core/event_note.h"
#include "core/flushfile.h"
#include "core/sharedstore.h"
#include "red/member.h"
#include "red/redfile.h"
#include "store/aside.h"
#include "store/dset_names.h"
#include "store/spare.h"

/* 1 if path is where redundancy files are and names one: an application's file may have
 * such a name too. */
static int is_redfile(const char *path)
{
    enum scr_scheme scheme;
    int member, n, set;
    char *dir = scr_path_dir(path);
    int hidden = dir != NULL && strcmp(scr_path_base(dir), ".scr") == 0;
    free(dir);
    return hidden && scr_redfile_parse(scr_path_base(path), &scheme, &member, &n, &set);
}

/* The redundancy file of what leaves is kept for the dataset that is written next.
 * Where that cannot be done it is removed like all others. */
static void keep_spare(struct scr_ctx *ctx, int id, const struct scr_file *f)
{
    const char *path = f->item.name;
    struct scr_spare *s = &ctx->cache.spare;
    if (s->id == 0 || s->id == id || s->is_there || !is_redfile(path) ||
        scr_spare_keep(&ctx->env, path, ctx->cache.dirs[s->store], s->id,
                       ctx->world.rank, NULL) != SCR_OK)
        return;
    s->is_there = 1;
    (void)scr_meta_get_filesize(scr_file_meta(f), &s->bytes);
}

/* SCR_CRC_ON_DELETE: the last look at a file. A fault is reported, and the
 * file is deleted. */
static void check_crc(struct scr_ctx *ctx, int id, const struct scr_file *f)
{
    const char *path = f->item.name;
    uint64_t size = 0;
    uint32_t want, crc = 0;
    if (!ctx->prm.crc_on_delete ||
        scr_meta_get_crc32(scr_file_meta(f), &want) != SCR_OK ||
        scr_file_crc32(&ctx->env, path, 0, &size, &crc, NULL) != SCR_OK || crc == want)
        return;
    scr_log(&ctx->local_log, SCR_LOG_WARN,
            "%s of dataset %d is deleted from cache with CRC 0x%08x, 0x%08x was "
            "recorded: something damages files there",
            path, id, crc, want);
}

/* Room that is needed, or reported, now is given back now. */
static int may_linger(const struct scr_ctx *ctx)
{
    return ctx->state == SCR_STATE_OUTPUT && ctx->log.level < SCR_LOG_INFO;
}

/* Files of one directory mostly follow each other: it is pruned after the last. */
static int remove_files(struct scr_ctx *ctx, int id, const struct scr_entry *e,
                        struct scr_err *err)
{
    int rc = SCR_OK;
    const char *last = NULL;
    for (SCR_EACH(const struct scr_file, f, &e->files)) {
        const char *path = f->item.name;
        check_crc(ctx, id, f);
        keep_spare(ctx, id, f);
        if (may_linger(ctx))
            scr_release_hold(&ctx->cache.release, ctx->env.sys, path);
        int one = scr_file_remove(ctx->env.sys, path, rc == SCR_OK ? err : NULL);
        if (last != NULL && !scr_path_same_dir(last, path))
            scr_cache_prune(&ctx->env, last, id);
        last = path;
        rc = scr_first(rc, one);
    }
    if (last != NULL)
        scr_cache_prune(&ctx->env, last, id);
    return rc;
}

int scr_cache_mend_map(struct scr_ctx *ctx, int gone, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    if (scr_filemap_ok(ctx->cache.map))
        return SCR_OK;
    /* What was routed for the open dataset is in this map alone. */
    if (ctx->state == SCR_STATE_OUTPUT && !ctx->out.bypass && gone != ctx->out.id)
        return scr_no_memory(err);
    scr_filemap *map = scr_filemap_new();
    int rc = map ? scr_filemap_read(ctx->env.sys, ctx->cntl.map_path, map, &why)
                 : scr_no_memory(&why);
    if (rc != SCR_OK) {
        scr_filemap_delete(map);
        return scr_err_take(err, rc, &why);
    }
    scr_filemap_remove_dataset(map, gone);
    scr_filemap_delete(ctx->cache.map);
    ctx->cache.map = map;
    return SCR_OK;
}

static int delete_local(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    int rc = SCR_OK;
    for (SCR_ENTRIES(e, ctx->cache.map, id))
        rc = scr_first(rc, remove_files(ctx, id, e, err));
    const struct scr_aside aside = { &ctx->env, &ctx->cntl, ctx->cache.map, id };
    if (rc == SCR_OK)
        rc = scr_shared_forget(ctx, id, err);
    if (rc == SCR_OK && scr_filemap_has_aside(ctx->cache.map, id))
        rc = scr_aside_drop(&aside, 0, err);
    /* Files first, then the record that names them (invariant C1). */
    if (rc == SCR_OK) {
        scr_filemap_remove_dataset(ctx->cache.map, id);
        rc = scr_cache_mend_map(ctx, id, err);
    }
    return rc == SCR_OK ? scr_cntl_write(&ctx->env, &ctx->cntl, ctx->cache.map, err)
                        : rc;
}

/* One rank a device sweeps: of a node, or of the job if the nodes share it. */
static int sweeps(const struct scr_ctx *ctx, int store)
{
    int rank = scr_store_is_shared(&ctx->descs.store[store]) ? ctx->world.rank
                                                             : ctx->node.rank;
    return rank == 0 && ctx->cache.dirs != NULL && ctx->cache.dirs[store] != NULL;
}

static void sweep(struct scr_ctx *ctx, int id)
{
    for (int i = 0; i < ctx->descs.nstores; i++)
        if (sweeps(ctx, i))
            scr_cache_remove(&ctx->env, ctx->cache.dirs[i], id, NULL);
}

static void sweep_above(struct scr_ctx *ctx, const char *cache, int id)
{
    int *ids = NULL;
    size_t n = 0;
    if (scr_dset_ids(&ctx->env, cache, &ids, &n, NULL) != SCR_OK)
        return;
    for (size_t i = 0; i < n; i++)
        if (ids[i] > id)
            scr_cache_remove(&ctx->env, cache, ids[i], NULL);
    free(ids);
}

void scr_cache_sweep_above(struct scr_ctx *ctx, int id)
{
    for (int i = 0; i < ctx->descs.nstores; i++)
        if (sweeps(ctx, i))
            sweep_above(ctx, ctx->cache.dirs[i], id);
}

int scr_cache_has_newer(const struct scr_ctx *ctx)
{
    return ctx->node.rank == 0 && scr_cntl_has_newer(&ctx->env, &ctx->cntl);
}

int scr_cache_max_id(const struct scr_ctx *ctx)
{
    int max = 0, *ids = NULL;
    size_t n = 0;
    for (int i = 0; i < ctx->descs.nstores; i++) {
        if (!ctx->cache.dirs || !ctx->cache.dirs[i] ||
            scr_dset_ids(&ctx->env, ctx->cache.dirs[i], &ids, &n, NULL) != SCR_OK)
            continue;
        for (size_t k = 0; k < n; k++)
            max = ids[k] > max ? ids[k] : max;
        free(ids);
    }
    return max;
}

void scr_cache_spare_for(struct scr_ctx *ctx, int id, int store)
{
    struct scr_spare *s = &ctx->cache.spare;
    if (s->id == id && s->store == store)
        return;
    /* In other stores this dataset may just be begun by other ranks of the node. */
    if (s->id != 0 && !scr_cache_has(ctx, s->id) && sweeps(ctx, s->store))
        scr_cache_remove(&ctx->env, ctx->cache.dirs[s->store], s->id, NULL);
    *s = (struct scr_spare){ .id = id, .store = store };
}

/* --- deletion --- */

/* A dataset that could not be deleted is none any more, and is tried again when room is
 * needed. A dataset without a state gets none if a rank lacks the memory, as a fetch
 * finds that did: states are the same on all ranks. The next start finds what is left
 * of it.
 */
static void keep_lost_all(struct scr_ctx *ctx, int id)
{
    if (scr_cache_has(ctx, id)) {
        scr_cache_set_state(ctx, id, SCR_CACHE_LOST);
        return;
    }
    if (scr_and_all(&ctx->world, scr_cache_reserve(ctx, 1, NULL) == SCR_OK))
        scr_cache_enter_all(ctx, id, SCR_CACHE_LOST);
}

int scr_cache_delete_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    if (ctx->restart.id == id)
        scr_restart_fini(&ctx->restart);
    if (ctx->choice.fetched == id)
        ctx->choice.fetched = 0;
    scr_async_stop_all(ctx, id);
    int rc = scr_agree_all(&ctx->world, delete_local(ctx, id, err), err);
    if (rc != SCR_OK) {
        keep_lost_all(ctx, id);
        return rc;
    }
    scr_cache_set_state(ctx, id, SCR_CACHE_GONE);
    sweep(ctx, id);
    scr_flush_forget(ctx, id);
    return rc;
}

int scr_cache_drop_all(struct scr_ctx *ctx, int id, const char *why,
                       struct scr_err *err)
{
    char *name = scr_strdup(scr_cache_name_of(ctx, id));
    int rc = scr_cache_delete_all(ctx, id, err);
    if (rc == SCR_OK)
        SCR_EVENT(ctx, .event = "DELETE", .dset = id, .name = name, .from = "cache",
                  .note = why);
    free(name);
    return rc;
}

/* In the directories of the files that this rank's map has of it, of each owner the
 * first; files on one device are found together. */
int scr_cache_may_delete(const struct scr_ctx *ctx, int id, struct scr_err *err)
{
    int rc = SCR_OK;
    char *name = scr_asprintf("probe.%d", ctx->world.rank);
    for (SCR_ENTRIES(e, ctx->cache.map, id)) {
        const struct scr_item *f = e->files.first;
        if (rc != SCR_OK)
            break;
        char *dir = f ? scr_cache_dset_of(f->name, id) : NULL;
        if (name == NULL || (f && dir == NULL))
            rc = scr_no_memory(err);
        else if (f)
            rc = scr_dir_may_remove(ctx->env.sys, dir, name, err);
        free(dir);
    }
    free(name);
    return rc == SCR_E_NOENT ? SCR_OK : rc;
}

int scr_cache_purge_all(struct scr_ctx *ctx, const struct scr_ids *ids,
                        struct scr_err *err)
{
    int rc = SCR_OK;
    for (size_t i = 0; i < ids->n && rc == SCR_OK; i++)
        rc = scr_cache_drop_all(ctx, ids->id[i], "SCR_CACHE_PURGE", err);
    if (rc != SCR_OK)
        return rc;
    if (ctx->node.rank == 0)
        rc = scr_cntl_drop_newer(&ctx->env, &ctx->cntl, err);
    rc = scr_agree_all(&ctx->world, rc, err);
    if (rc == SCR_OK)
        scr_cache_sweep_above(ctx, 0);
    return rc;
}

int scr_cache_open(struct scr_ctx *ctx, int id, const char *store, int node_local,
                   char **dset_dir, struct scr_err *err)
{
    char *cache = scr_place_dir(&ctx->place, store, node_local);
    *dset_dir = cache ? scr_dset_path(cache, id) : NULL;
    int rc;
    TRY_OUT(*dset_dir ? SCR_OK : scr_no_memory(err));
    TRY_OUT(scr_place_make(&ctx->env, &ctx->place, store, node_local, err));
    TRY_OUT(scr_cache_make(&ctx->env, cache, id, ctx->world.rank, err));
out:
    free(cache);
    return rc;
}

void scr_cache_prune_all(struct scr_ctx *ctx, int id)
{
    for (int i = 0; i < ctx->descs.nstores; i++) {
        const char *cache = ctx->cache.dirs ? ctx->cache.dirs[i] : NULL;
        char *rank_dir = cache ? scr_cache_rank_dir(cache, id, ctx->world.rank) : NULL;
        char *red = cache ? scr_cache_red_path(cache, id, "") : NULL;
        if (rank_dir)
            scr_dir_prune(ctx->env.sys, rank_dir, cache, NULL);
        if (red)
            scr_dir_prune(ctx->env.sys, red, cache, NULL);
        free(rank_dir);
        free(red);
    }
    scr_barrier_all(&ctx->world);
}

/* The filemap, which from now on describes dataset id. */
static int record(struct scr_ctx *ctx, const struct scr_reddesc *red, int id,
                  struct scr_err *err)
{
    struct scr_dataset d;
    TRY(scr_cntl_write(&ctx->env, &ctx->cntl, ctx->cache.map, err));
    TRY(scr_cache_dataset(ctx, id, &d, err));
    return scr_store_is_shared(&ctx->descs.store[red->store])
               ? scr_shared_note(ctx, ctx->cache.dirs[red->store], id, err)
               : SCR_OK;
}

int scr_protect_dataset_all(struct scr_ctx *ctx, const struct scr_reddesc *red,
                            struct scr_protection *d, int rc, struct scr_err *err)
{
    const struct scr_store *store = &ctx->descs.store[red->store];
    struct scr_protect p = { .env = &ctx->env,
                             .world = &ctx->world,
                             .mpi_buf = (size_t)ctx->prm.mpi_buf_size,
                             .crc = ctx->prm.crc_on_copy };
    scr_hash *desc = scr_hash_new();
    const struct scr_redplace kept = { .store = store->path,
                                       .group = store->group,
                                       .index = red->index };
    if (rc == SCR_OK && scr_redplace_set(desc, &kept) != SCR_OK)
        rc = scr_no_memory(err);
    d->set = &ctx->cache.sets[red->index];
    d->scheme = red->scheme;
    d->k = red->set_failures;
    d->desc = desc;
    d->map = ctx->cache.map;
    rc = scr_protect_all(&p, d, rc, err);
    scr_hash_delete(desc);
    if (rc == SCR_OK)
        rc = record(ctx, red, d->id, err);
    ctx->sizes.span.id = d->id;
    ctx->sizes.span.line = red->index;
    ctx->sizes.span.longest = d->longest;
    return rc;
}
