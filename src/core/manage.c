/* SPDX-License-Identifier: BSD-3-Clause */
/* Current, Delete and Drop: the datasets an application manages by name. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "core/ctx.h"
#include "par/distribute.h"

/* A dataset by its name, where it is and what it can be used for. */
struct found {
    int listed;  /* id in the index, 0: not there */
    int cached;  /* id in cache, 0: not there */
    int is_ckpt; /* the listed one is a complete checkpoint */
    int ckpt;    /* its place in the count of checkpoints */
};

static int look_up(struct scr_ctx *ctx, const char *name, struct found *f,
                   struct scr_err *err)
{
    struct scr_index_entry e;
    scr_hash *index = scr_hash_new();
    int rc = scr_prefix_index_read(&ctx->env, &ctx->prefix, index, err);
    int id = rc == SCR_OK ? scr_index_find(index, name) : -1;
    if (id > 0 && scr_index_get(index, id, &e, NULL) == SCR_OK) {
        f->listed = id;
        f->is_ckpt = e.dset.is_ckpt && e.complete;
        f->ckpt = e.dset.ckpt;
    }
    scr_hash_delete(index);
    return rc;
}

static int look_up_all(struct scr_ctx *ctx, const char *call, const char *name,
                       struct found *f, struct scr_err *err)
{
    memset(f, 0, sizeof *f);
    int rc = scr_check_name_all(ctx, call, name, 0, err);
    if (rc != SCR_OK)
        return rc;
    if (ctx->world.rank == 0)
        rc = look_up(ctx, name, f, err);
    rc = scr_agree_all(&ctx->world, rc, err);
    if (rc == SCR_OK)
        rc = scr_bcast_bytes_all(&ctx->world, 0, f, sizeof *f, err);
    int cached = scr_cache_find(ctx, name);
    f->cached = cached > 0 ? cached : 0;
    return rc;
}

static int unknown(const char *call, const char *name, const struct scr_ctx *ctx,
                   struct scr_err *err)
{
    return scr_fail(
        err, SCR_E_NOENT, 0,
        "%s: no dataset is named %s in %s (scr_index --prefix %s lists them)", call,
        name, ctx->prefix.path, ctx->prefix.path);
}

/* --- current --- */

/* Checkpoints newer than id leave the cache. */
static int drop_newer_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    int *ids = NULL, n = 0;
    int rc = scr_list_datasets_all(&ctx->world, ctx->map, &ids, &n, err);
    for (int i = 0; i < n && rc == SCR_OK; i++)
        if (ids[i] > id && !scr_cache_is(ctx, ids[i], SCR_CACHE_FOREIGN))
            rc = scr_cache_let_go_all(ctx, ids[i], err);
    free(ids);
    return rc;
}

/* Of two datasets of one name the newer one is meant. */
static int can_be_current(const struct scr_ctx *ctx, const struct found *f, int id)
{
    struct scr_dataset d;
    if (id == f->cached)
        return scr_cache_dataset(ctx, id, &d, NULL) == SCR_OK && d.is_ckpt;
    return f->is_ckpt;
}

/* What was offered before the call that failed is offered again. */
static int find_again_all(struct scr_ctx *ctx, int rc)
{
    struct scr_err why = SCR_ERR_INIT;
    if (scr_restart_find_all(ctx, &why) != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN, "no checkpoint to restart from: %s", why.text);
    return rc;
}

int scr_current_all(struct scr_ctx *ctx, const char *name, struct scr_err *err)
{
    struct found f;
    int rc = look_up_all(ctx, "SCR_Current", name, &f, err);
    if (rc != SCR_OK)
        return rc;
    int id = f.listed > f.cached ? f.listed : f.cached;
    if (id == 0)
        return unknown("SCR_Current", name, ctx, err);
    if (!can_be_current(ctx, &f, id))
        return scr_fail(err, SCR_E_ARG, 0,
                        "SCR_Current: dataset %s is no complete checkpoint", name);
    /* Loaded first: what cannot be had must not cost what is there. */
    ctx->ckpt_id = id == f.listed && f.ckpt > 0 ? f.ckpt : ctx->ckpt_id;
    rc = scr_restart_load_all(ctx, id, err);
    if (rc != SCR_OK)
        return find_again_all(ctx, rc);
    ctx->tried_below = id < INT_MAX ? id + 1 : 0;
    rc = scr_note_current_all(ctx, id, name, err);
    int rc2 = drop_newer_all(ctx, id, rc == SCR_OK ? err : NULL);
    return rc == SCR_OK ? rc2 : rc;
}

/* --- delete --- */

/* Deletes one rank's share of the files under the prefix. */
static int delete_files(struct scr_ctx *ctx, const scr_hash *share, struct scr_err *err)
{
    int rc = SCR_OK;
    for (SCR_HASH_EACH(from, share))
        for (SCR_HASH_EACH(e, scr_hash_elem_hash(from))) {
            char *path = scr_path_join(ctx->prefix.path, scr_hash_elem_key(e));
            char *dir = path ? scr_path_dir(path) : NULL;
            int one =
                dir ? scr_file_remove(ctx->env.sys, path, rc == SCR_OK ? err : NULL)
                    : scr_fail(err, SCR_E_NOMEM, 0, "delete");
            if (one == SCR_OK)
                scr_dir_prune(ctx->env.sys, dir, ctx->prefix.path, NULL);
            rc = rc == SCR_OK ? one : rc;
            free(dir);
            free(path);
        }
    return rc;
}

/* Adds the paths of dataset id to paths. A dataset without a list has none. */
static int add_paths(struct scr_ctx *ctx, int id, scr_hash *paths, struct scr_err *err)
{
    struct scr_err none = SCR_ERR_INIT;
    scr_hash *part = scr_hash_new();
    int rc = scr_prefix_rank2file_read(&ctx->env, &ctx->prefix, id, part, &none);
    if (rc == SCR_E_NOENT && scr_hash_size(part) == 0)
        rc = SCR_OK;
    else if (rc != SCR_OK)
        scr_fail(err, rc, 0, "%s", none.text);
    for (SCR_HASH_EACH(r, scr_hash_get(part, "RANK")))
        for (SCR_HASH_EACH(f, scr_hash_get(scr_hash_elem_hash(r), "FILE")))
            scr_hash_set(paths, scr_hash_elem_key(f), NULL);
    scr_hash_delete(part);
    return rc == SCR_OK && !scr_hash_ok(paths)
               ? scr_fail(err, SCR_E_NOMEM, 0, "files of dataset %d", id)
               : rc;
}

/* Programs may write every checkpoint to the same paths: what a later dataset wrote
 * there is not deleted with an earlier one. */
static int spare_others(struct scr_ctx *ctx, int id, scr_hash *paths,
                        struct scr_err *err)
{
    scr_hash *index = scr_hash_new(), *others = scr_hash_new();
    int *ids = NULL;
    size_t n = 0;
    int rc = scr_prefix_index_read(&ctx->env, &ctx->prefix, index, err);
    if (rc == SCR_OK)
        rc = scr_index_ids(index, &ids, &n);
    for (size_t i = 0; i < n && rc == SCR_OK; i++) {
        struct scr_index_entry e;
        if (ids[i] != id && scr_index_get(index, ids[i], &e, NULL) == SCR_OK &&
            e.complete)
            rc = add_paths(ctx, ids[i], others, err);
    }
    for (SCR_HASH_EACH(f, others))
        scr_hash_unset(paths, scr_hash_elem_key(f));
    free(ids);
    scr_hash_delete(others);
    scr_hash_delete(index);
    return rc;
}

/* The files of dataset id, spread over the ranks of this run: send = {<rank>:
 * {<path>}}. */
static int share_out(struct scr_ctx *ctx, int id, scr_hash *send, struct scr_err *err)
{
    scr_hash *paths = scr_hash_new();
    int to = 0;
    int rc = add_paths(ctx, id, paths, err);
    if (rc == SCR_OK)
        rc = spare_others(ctx, id, paths, err);
    for (SCR_HASH_EACH(f, paths))
        scr_hash_setf(send, NULL, "%d %s", to++ % ctx->world.size,
                      scr_hash_elem_key(f));
    scr_hash_delete(paths);
    if (rc == SCR_OK && !scr_hash_ok(send))
        rc = scr_fail(err, SCR_E_NOMEM, 0, "delete dataset %d", id);
    return rc;
}

static int remove_dset_dir(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    char *dir = scr_prefix_dset_dir(&ctx->prefix, id);
    int rc = dir ? scr_dir_remove(ctx->env.sys, dir, err)
                 : scr_fail(err, SCR_E_NOMEM, 0, "delete dataset %d", id);
    free(dir);
    return rc;
}

static int edit_incomplete(scr_hash *index, void *arg, int *changed,
                           struct scr_err *err)
{
    (void)err;
    scr_hash *entry = scr_hash_get_kv_int(index, "DSET", *(const int *)arg);
    *changed = entry != NULL;
    if (entry)
        scr_hash_set_val_i64(entry, "COMPLETE", 0);
    return SCR_OK;
}

static int edit_remove(scr_hash *index, void *arg, int *changed, struct scr_err *err)
{
    (void)err;
    *changed = scr_index_remove(index, *(const int *)arg);
    return SCR_OK;
}

/* Not complete any more, then the files, then the records: a death in between never
 * leaves an entry that promises files that are gone (invariant P3). */
static int delete_prefix_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    scr_hash *send = scr_hash_new(), *share = scr_hash_new();
    int rc = scr_edit_index_all(ctx, edit_incomplete, &id, err);
    if (rc == SCR_OK) {
        if (ctx->world.rank == 0) {
            rc = share_out(ctx, id, send, err);
            if (rc == SCR_OK)
                rc = scr_prefix_summary_remove(&ctx->env, &ctx->prefix, id, err);
        }
        rc = scr_agree_all(&ctx->world, rc, err);
    }
    if (rc == SCR_OK)
        rc = scr_hash_exchange_all(&ctx->world, send, share, err);
    if (rc == SCR_OK)
        rc = scr_agree_all(&ctx->world, delete_files(ctx, share, err), err);
    if (rc == SCR_OK) {
        if (ctx->world.rank == 0)
            rc = remove_dset_dir(ctx, id, err);
        rc = scr_agree_all(&ctx->world, rc, err);
    }
    if (rc == SCR_OK)
        rc = scr_edit_index_all(ctx, edit_remove, &id, err);
    scr_hash_delete(send);
    scr_hash_delete(share);
    return rc;
}

/* Every cached dataset of that name, also one that could not be restored. */
static int delete_cached_all(struct scr_ctx *ctx, const char *name, int listed,
                             struct scr_err *err)
{
    int *ids = NULL, n = 0;
    int rc = scr_list_datasets_all(&ctx->world, ctx->map, &ids, &n, err);
    for (int i = 0; i < n && rc == SCR_OK; i++) {
        struct scr_dataset d;
        int named = scr_cache_dataset(ctx, ids[i], &d, NULL) == SCR_OK &&
                    strcmp(d.name, name) == 0;
        named = scr_or_all(&ctx->world, named || ids[i] == listed);
        if (named && !scr_cache_is(ctx, ids[i], SCR_CACHE_FOREIGN))
            rc = scr_cache_delete_all(ctx, ids[i], err);
    }
    free(ids);
    return rc;
}

int scr_delete_all(struct scr_ctx *ctx, const char *name, struct scr_err *err)
{
    struct found f;
    int rc = look_up_all(ctx, "SCR_Delete", name, &f, err);
    if (rc != SCR_OK)
        return rc;
    if (f.listed == 0 && f.cached == 0)
        return unknown("SCR_Delete", name, ctx, err);
    int offered = ctx->restart.id;
    rc = delete_cached_all(ctx, name, f.listed, err);
    if (rc == SCR_OK && f.listed > 0) {
        if (ctx->restart.id == f.listed) /* read in place */
            scr_restart_fini(&ctx->restart);
        rc = delete_prefix_all(ctx, f.listed, err);
    }
    /* If it was the one to restart from, another takes its place. */
    if (rc == SCR_OK && offered > 0 && ctx->restart.id == 0)
        rc = scr_restart_find_all(ctx, err);
    return rc;
}

/* --- drop --- */

int scr_drop_all(struct scr_ctx *ctx, const char *name, struct scr_err *err)
{
    struct found f;
    int rc = look_up_all(ctx, "SCR_Drop", name, &f, err);
    if (rc != SCR_OK)
        return rc;
    if (f.listed == 0)
        return unknown("SCR_Drop", name, ctx, err);
    return scr_edit_index_all(ctx, edit_remove, &f.listed, err);
}
