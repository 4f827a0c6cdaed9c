/* SPDX-License-Identifier: BSD-3-Clause */
/* Restart: bring the cache back to life, choose a checkpoint, fall back to older ones.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/path.h"
#include "base/str.h"
#include "core/ctx.h"
#include "par/distribute.h"

void scr_restart_fini(struct scr_restart *r)
{
    free(r->name);
    free(r->dset_dir);
    scr_hash_delete(r->by_dest);
    scr_hash_delete(r->by_name);
    memset(r, 0, sizeof *r);
}

/* --- one dataset in cache --- */

/* The redundancy descriptor of dataset id from any entry this rank holds; NULL: none.
 */
static const scr_hash *any_desc(const struct scr_ctx *ctx, int id)
{
    for (scr_hash_elem *e = scr_filemap_first_rank_by_dataset(ctx->map, id); e;
         e = scr_hash_elem_next(e)) {
        const scr_hash *desc =
            scr_filemap_get_desc(ctx->map, id, scr_hash_elem_key_int(e));
        if (scr_hash_get_val(desc, "STORE") != NULL)
            return desc;
    }
    return NULL;
}

/* Where and by how many ranks dataset id was written: told by the lowest rank that
 * knows. */
static int share_desc_all(struct scr_ctx *ctx, int id, scr_hash *desc,
                          struct scr_err *err)
{
    const scr_hash *mine = any_desc(ctx, id);
    int root = (int)scr_min_all(&ctx->world, mine ? ctx->world.rank : ctx->world.size);
    if (root == ctx->world.size)
        return scr_fail(err, SCR_E_LOST, 0, "dataset %d was not complete", id);
    int rc = SCR_OK;
    if (root == ctx->world.rank && scr_hash_merge(desc, mine) != SCR_OK)
        rc = scr_fail(err, SCR_E_NOMEM, 0, "dataset %d", id);
    rc = scr_agree_all(&ctx->world, rc, err);
    if (rc == SCR_OK)
        rc = scr_hash_bcast_all(&ctx->world, root, desc, err);
    if (rc != SCR_OK)
        return rc;
    int ranks = 0;
    if (!scr_hash_get_val_int(desc, "RANKS", &ranks) ||
        !scr_hash_get_val(desc, "STORE"))
        return scr_fail(err, SCR_E_CORRUPT, 0, "descriptor of dataset %d", id);
    if (ranks != ctx->world.size)
        return scr_fail(
            err, SCR_E_RANKS, 0,
            "dataset %d in cache was written by %d ranks, this run has %d: it is "
            "kept for a run with %d ranks (SCR_CACHE_PURGE=1 deletes it)",
            id, ranks, ctx->world.size, ranks);
    return SCR_OK;
}

static int make_dset_dir(struct scr_ctx *ctx, int id, const char *store, int node_local,
                         char **dset_dir, struct scr_err *err)
{
    char *cache = scr_topo_cache_dir(ctx, store, node_local);
    *dset_dir = cache ? scr_cache_dset_dir(cache, id) : NULL;
    int rc = *dset_dir ? SCR_OK : scr_fail(err, SCR_E_NOMEM, 0, "dataset %d", id);
    if (rc == SCR_OK)
        rc = scr_place_make(&ctx->env, &ctx->place, store, node_local, err);
    if (rc == SCR_OK)
        rc = scr_cache_make(&ctx->env, cache, id, ctx->world.rank, err);
    free(cache);
    return rc;
}

static int restore_one_all(struct scr_ctx *ctx, int id, const char *dset_dir,
                           struct scr_err *err)
{
    struct scr_protect p = { &ctx->env, &ctx->world, (size_t)ctx->prm.mpi_buf_size,
                             ctx->prm.crc_on_copy };
    struct scr_restore_report rep = { 0 };
    scr_hash *dset = scr_hash_new();
    int rc = scr_distribute_all(&ctx->env, &ctx->world, &ctx->cntl, id, dset_dir,
                                (size_t)ctx->prm.mpi_buf_size, ctx->map, err);
    if (rc == SCR_OK) {
        scr_phase_all(ctx, "rebuild", id);
        rc = scr_restore_all(&p, id, dset_dir, ctx->map, dset, &rep, err);
    }
    if (rc == SCR_OK)
        rc = scr_agree_all(&ctx->world,
                           scr_cntl_write(&ctx->env, &ctx->cntl, ctx->map, err), err);
    if (rc == SCR_OK && rep.rebuilt_ranks > 0)
        scr_log(
            &ctx->log, SCR_LOG_NOTE,
            "dataset %d: rebuilt the files of %d of %d ranks (%d files were lost or "
            "damaged)",
            id, rep.rebuilt_ranks, ctx->world.size, rep.lost_files);
    scr_hash_delete(dset);
    return rc;
}

static int rebuild_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    scr_hash *desc = scr_hash_new();
    char *dset_dir = NULL;
    int rc = share_desc_all(ctx, id, desc, err);
    if (rc == SCR_OK) {
        const char *group = scr_hash_get_val(desc, "STORE_GROUP");
        rc = make_dset_dir(ctx, id, scr_hash_get_val(desc, "STORE"),
                           group == NULL || strcmp(group, "NODE") == 0, &dset_dir, err);
        rc = scr_agree_all(&ctx->world, rc, err);
        if (rc == SCR_OK)
            rc = restore_one_all(ctx, id, dset_dir, err);
    }
    free(dset_dir);
    scr_hash_delete(desc);
    return rc;
}

static int rebuild_cache_all(struct scr_ctx *ctx, struct scr_err *err)
{
    int *ids = NULL, n = 0;
    int rc = scr_list_datasets_all(&ctx->world, ctx->map, &ids, &n, err);
    for (int i = 0; i < n && rc == SCR_OK; i++) {
        struct scr_err why = SCR_ERR_INIT;
        SCR_EVENT(ctx, .event = "REBUILD_START", .dset = ids[i]);
        int one = rebuild_all(ctx, ids[i], &why);
        ctx->last_id = ids[i] > ctx->last_id ? ids[i] : ctx->last_id;
        if (one == SCR_OK) {
            scr_hash_set_kv_int(ctx->ready, "READY", ids[i]);
            SCR_EVENT(ctx, .event = "REBUILD_SUCCESS", .dset = ids[i]);
            scr_hash *dset = scr_filemap_get_dataset(ctx->map, ids[i], ctx->world.rank);
            rc = scr_flush_mark_all(ctx, ids[i], dset, SCR_LOC_CACHE,
                                    SCR_LOC_SYNC_FLUSHING, err);
            continue;
        }
        scr_log(&ctx->log, SCR_LOG_WARN, "dataset %d is not restored from cache: %s",
                ids[i], why.text);
        SCR_EVENT(ctx, .event = "REBUILD_FAIL", .dset = ids[i], .note = why.text);
        /* A dataset of another number of ranks keeps its place (invariant P5). */
        if (one != SCR_E_RANKS)
            scr_hash_set_kv_int(ctx->ready, "LOST", ids[i]);
    }
    free(ids);
    return rc;
}

/* Ids of the index and of dataset directories count too: no id is used twice. */
static int learn_last_id_all(struct scr_ctx *ctx, struct scr_err *err)
{
    int rc = SCR_OK, max = 0;
    if (ctx->world.rank == 0) {
        scr_hash *index = scr_hash_new();
        rc = scr_prefix_index_read(&ctx->env, &ctx->prefix, index, err);
        if (rc == SCR_OK)
            rc = scr_prefix_max_dset_dir(&ctx->env, &ctx->prefix, &max, err);
        int listed = scr_index_max_id(index);
        max = listed > max ? listed : max;
        scr_hash_delete(index);
    }
    rc = scr_agree_all(&ctx->world, rc, err);
    int known = (int)scr_max_all(&ctx->world, max > ctx->last_id ? max : ctx->last_id);
    ctx->last_id = known;
    return rc;
}

int scr_restart_init_all(struct scr_ctx *ctx, struct scr_err *err)
{
    int rc = scr_scatter_filemaps_all(&ctx->env, &ctx->world, &ctx->node, &ctx->cntl,
                                      ctx->map, err);
    if (rc == SCR_OK && (!ctx->prm.distribute || ctx->prm.cache_purge))
        rc = scr_cache_purge_all(ctx, err);
    if (rc == SCR_OK)
        rc = rebuild_cache_all(ctx, err);
    if (rc == SCR_OK)
        rc = learn_last_id_all(ctx, err);
    if (rc != SCR_OK)
        return rc;
    struct scr_err why = SCR_ERR_INIT;
    if (scr_flush_pending_all(ctx, ctx->prm.flush_on_restart, &why) != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN,
                "flush at restart failed, tried again later: %s", why.text);
    return scr_restart_find_all(ctx, err);
}

/* --- the checkpoint to read --- */

static int add_file(scr_hash *by_dest, scr_hash *by_name, const char *path,
                    const scr_meta *meta)
{
    char *dest = scr_meta_dest(meta);
    if (dest == NULL)
        return SCR_E_CORRUPT;
    const char *base = scr_path_base(dest);
    const char *same = scr_hash_get_val(by_name, base);
    int ok = scr_hash_set_val(by_dest, dest, path) != NULL &&
             scr_hash_set_val(by_name, base, same ? "" : path) != NULL;
    free(dest);
    return ok ? SCR_OK : SCR_E_NOMEM;
}

static int index_files(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    struct scr_restart *r = &ctx->restart;
    int rc = SCR_OK;
    for (scr_hash_elem *e = scr_filemap_first_file(ctx->map, id, ctx->world.rank);
         e && rc == SCR_OK; e = scr_hash_elem_next(e)) {
        const char *path = scr_hash_elem_key(e);
        const scr_meta *meta =
            scr_filemap_get_meta(ctx->map, id, ctx->world.rank, path);
        if (scr_meta_check_filetype(meta, "FULL") == SCR_OK)
            rc = add_file(r->by_dest, r->by_name, path, meta);
    }
    return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "files of dataset %d", id);
}

static int load_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    struct scr_restart *r = &ctx->restart;
    struct scr_dataset d;
    scr_restart_fini(r);
    r->by_dest = scr_hash_new();
    r->by_name = scr_hash_new();
    int rc = r->by_dest && r->by_name ? SCR_OK : SCR_E_NOMEM;
    if (rc == SCR_OK)
        rc = scr_cache_dataset(ctx, id, &d, err);
    if (rc == SCR_OK) {
        r->name = scr_strdup(d.name);
        rc = r->name ? index_files(ctx, id, err) : SCR_E_NOMEM;
    }
    rc = scr_agree_all(&ctx->world, rc, err);
    if (rc != SCR_OK) {
        scr_restart_fini(r);
        return rc;
    }
    r->id = id;
    ctx->ckpt_id = d.ckpt > 0 ? d.ckpt : ctx->ckpt_id;
    return SCR_OK;
}

/* --- fetching --- */

/* Rank 0 chooses: the current one first, then the newest below. -1: none. */
static int choose_fetch(struct scr_ctx *ctx, int *id, struct scr_err *err)
{
    scr_hash *index = scr_hash_new();
    struct scr_index_entry e;
    int rc = scr_prefix_index_read(&ctx->env, &ctx->prefix, index, err);
    *id = -1;
    if (rc == SCR_OK) {
        const char *current =
            ctx->prm.current ? ctx->prm.current : scr_index_get_current(index);
        int cur = current ? scr_index_find(index, current) : -1;
        if (ctx->prm.current && cur < 0 && ctx->tried_below == 0)
            scr_log(&ctx->log, SCR_LOG_WARN,
                    "SCR_CURRENT=%s names no dataset of the index, the newest is taken",
                    ctx->prm.current);
        int usable = cur > 0 && (ctx->tried_below == 0 || cur < ctx->tried_below) &&
                     scr_index_get(index, cur, &e, NULL) == SCR_OK && e.complete &&
                     !e.failed && e.dset.is_ckpt;
        *id = usable ? cur : scr_index_newest(index, ctx->tried_below);
    }
    scr_hash_delete(index);
    return rc;
}

struct fetched {
    int id;
    int failed; /* 1: the dataset itself is bad */
    const char *name;
};

static int edit_fetched(scr_hash *index, void *arg, int *changed, struct scr_err *err)
{
    const struct fetched *f = arg;
    time_t now = time(NULL);
    (void)err;
    *changed = 1;
    if (f->failed) {
        scr_index_mark_failed(index, f->id, now);
        return SCR_OK;
    }
    scr_index_mark_fetched(index, f->id, now);
    int rc = scr_index_set_current(index, f->name);
    return rc == SCR_E_NOENT ? SCR_OK : rc;
}

static int fetch_into_all(struct scr_ctx *ctx, const struct scr_reddesc *red, int id,
                          char **name, struct scr_err *err)
{
    const struct scr_store *store = &ctx->descs.store[red->store];
    struct scr_copy_opts o = { .width = ctx->prm.fetch_width,
                               .buf = (size_t)ctx->prm.file_buf_size,
                               .crc = ctx->prm.crc_on_flush,
                               .cntl = &ctx->cntl };
    scr_hash *dset = scr_hash_new();
    char *dset_dir = NULL;
    uint64_t bytes = 0;
    struct scr_dataset d;
    int rc = make_dset_dir(ctx, id, store->path, strcmp(store->group, "NODE") == 0,
                           &dset_dir, err);
    rc = scr_agree_all(&ctx->world, rc, err);
    if (rc == SCR_OK) {
        scr_phase_all(ctx, "fetch", id);
        rc = scr_fetch_all(&ctx->env, &ctx->world, &ctx->prefix, &o, id, dset_dir,
                           ctx->map, dset, &bytes, err);
    }
    if (rc == SCR_OK)
        rc = scr_protect_dataset_all(ctx, red, id, dset_dir, dset, err);
    if (rc == SCR_OK) {
        rc = scr_dataset_get(dset, &d, err);
        *name = rc == SCR_OK ? scr_strdup(d.name) : NULL;
        rc = scr_agree_all(&ctx->world, rc == SCR_OK && !*name ? SCR_E_NOMEM : rc, err);
    }
    if (rc == SCR_OK) {
        scr_hash_set_kv_int(ctx->ready, "READY", id);
        rc = scr_flush_mark_all(ctx, id, dset, SCR_LOC_CACHE | SCR_LOC_PFS, 0, err);
    }
    scr_hash_delete(dset);
    free(dset_dir);
    return rc;
}

/* Errors that are the dataset's fault: it is not tried again. */
static int is_bad_dataset(int rc)
{
    return rc == SCR_E_CORRUPT || rc == SCR_E_MISSING || rc == SCR_E_NOENT ||
           rc == SCR_E_OUTSIDE;
}

static int fetch_one_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    char *name = NULL;
    const struct scr_reddesc *red = scr_descs_select(&ctx->descs, 1, 0);
    int rc = red ? SCR_OK : scr_fail(err, SCR_E_CONFIG, 0, "no CKPT descriptor");
    if (rc == SCR_OK)
        rc = scr_cache_evict_all(ctx, red, err);
    if (rc == SCR_OK)
        rc = fetch_into_all(ctx, red, id, &name, err);
    if (rc == SCR_OK) {
        struct fetched f = { id, 0, name };
        rc = scr_edit_index_all(ctx, edit_fetched, &f, err);
        scr_log(&ctx->log, SCR_LOG_NOTE, "fetched checkpoint %s (dataset %d) from %s",
                name, id, ctx->prefix.path);
        SCR_EVENT(ctx, .event = "FETCH_SUCCESS", .dset = id, .name = name);
    } else if (rc != SCR_E_RANKS) {
        struct fetched f = { id, 1, NULL };
        struct scr_err second = SCR_ERR_INIT;
        if (is_bad_dataset(rc))
            scr_edit_index_all(ctx, edit_fetched, &f, &second);
        scr_cache_delete_all(ctx, id, &second);
    }
    free(name);
    return rc;
}

static int next_fetch_all(struct scr_ctx *ctx, int *id, struct scr_err *err)
{
    int rc = SCR_OK, choice = -1;
    if (ctx->world.rank == 0)
        rc = choose_fetch(ctx, &choice, err);
    rc = scr_agree_all(&ctx->world, rc, err);
    *id = (int)scr_max_all(&ctx->world, choice);
    return rc;
}

static int fetch_loop_all(struct scr_ctx *ctx, struct scr_err *err)
{
    for (;;) {
        int id;
        int rc = next_fetch_all(ctx, &id, err);
        if (rc != SCR_OK || id < 0)
            return rc;
        struct scr_err why = SCR_ERR_INIT;
        SCR_EVENT(ctx, .event = "FETCH_START", .dset = id);
        rc = fetch_one_all(ctx, id, &why);
        if (rc == SCR_OK)
            return load_all(ctx, id, err);
        scr_log(&ctx->log, SCR_LOG_WARN, "dataset %d is not fetched: %s", id, why.text);
        SCR_EVENT(ctx, .event = "FETCH_FAIL", .dset = id, .note = why.text);
        if (rc == SCR_E_RANKS)
            return SCR_OK;
        ctx->tried_below = id;
    }
}

/* Cached datasets of another number of ranks stand in the way of older ones on the
 * prefix. */
static int cache_is_foreign(struct scr_ctx *ctx)
{
    int n = 0, *ids = NULL, foreign = 0;
    if (scr_filemap_list_datasets(ctx->map, &n, &ids) == SCR_OK)
        for (int i = 0; i < n; i++)
            foreign |= !scr_cache_is_ready(ctx, ids[i]) &&
                       scr_hash_get_kv_int(ctx->ready, "LOST", ids[i]) == NULL;
    free(ids);
    return scr_or_all(&ctx->world, foreign);
}

int scr_restart_find_all(struct scr_ctx *ctx, struct scr_err *err)
{
    scr_restart_fini(&ctx->restart);
    int id = scr_cache_newest_ckpt(ctx, ctx->tried_below);
    if (id > 0)
        return load_all(ctx, id, err);
    if (!ctx->prm.fetch || cache_is_foreign(ctx))
        return SCR_OK;
    return fetch_loop_all(ctx, err);
}

/* --- the calls --- */

static void give_name(const struct scr_ctx *ctx, char *name)
{
    size_t n = strlen(ctx->restart.name);
    n = n < SCR_MAX_NAME ? n : SCR_MAX_NAME - 1;
    memcpy(name, ctx->restart.name, n);
    name[n] = '\0';
}

int scr_have_restart_all(struct scr_ctx *ctx, int *flag, char *name,
                         struct scr_err *err)
{
    int rc =
        flag ? SCR_OK : scr_fail(err, SCR_E_ARG, 0, "SCR_Have_restart: flag is NULL");
    rc = scr_agree_all(&ctx->world, rc, err);
    if (rc != SCR_OK)
        return rc;
    *flag = ctx->restart.id > 0;
    if (*flag && name)
        give_name(ctx, name);
    return SCR_OK;
}

int scr_start_restart_all(struct scr_ctx *ctx, char *name, struct scr_err *err)
{
    if (ctx->restart.id == 0)
        return scr_fail(
            err, SCR_E_STATE, 0,
            "SCR_Start_restart: there is no checkpoint, ask SCR_Have_restart "
            "first");
    if (name)
        give_name(ctx, name);
    ctx->state = SCR_STATE_RESTART;
    scr_phase_all(ctx, "restart", ctx->restart.id);
    return SCR_OK;
}

static int edit_current(scr_hash *index, void *arg, int *changed, struct scr_err *err)
{
    const struct fetched *f = arg;
    const char *now = scr_index_get_current(index);
    (void)err;
    int listed = scr_index_find(index, f->name) == f->id;
    *changed = listed && (now == NULL || strcmp(now, f->name) != 0);
    return *changed ? scr_index_set_current(index, f->name) : SCR_OK;
}

/* The older one that was read is where the job goes on from, also for the next
 * allocation. */
static void note_restart_all(struct scr_ctx *ctx)
{
    struct fetched f = { ctx->restart.id, 0, ctx->restart.name };
    struct scr_err why = SCR_ERR_INIT;
    scr_log(&ctx->log, SCR_LOG_NOTE, "restarted from checkpoint %s (dataset %d)",
            ctx->restart.name, ctx->restart.id);
    SCR_EVENT(ctx, .event = "RESTART_SUCCESS", .dset = ctx->restart.id,
              .name = ctx->restart.name);
    if (scr_edit_index_all(ctx, edit_current, &f, &why) != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN, "current not noted: %s", why.text);
}

static int edit_failed(scr_hash *index, void *arg, int *changed, struct scr_err *err)
{
    int id = *(const int *)arg;
    *changed = scr_index_get(index, id, &(struct scr_index_entry){ 0 }, NULL) == SCR_OK;
    (void)err;
    if (*changed)
        scr_index_mark_failed(index, id, time(NULL));
    return SCR_OK;
}

static int give_up_all(struct scr_ctx *ctx, struct scr_err *err)
{
    int id = ctx->restart.id;
    scr_log(&ctx->log, SCR_LOG_WARN,
            "checkpoint %s (dataset %d) is given up, the application could not read it",
            ctx->restart.name, id);
    SCR_EVENT(ctx, .event = "RESTART_FAIL", .dset = id, .name = ctx->restart.name);
    int rc = scr_edit_index_all(ctx, edit_failed, &id, err);
    if (rc == SCR_OK)
        rc = scr_cache_delete_all(ctx, id, err);
    ctx->tried_below = id;
    int rc2 = scr_restart_find_all(ctx, err);
    return rc == SCR_OK ? rc2 : rc;
}

int scr_complete_restart_all(struct scr_ctx *ctx, int valid, struct scr_err *err)
{
    ctx->state = SCR_STATE_IDLE;
    if (scr_and_all(&ctx->world, valid)) {
        note_restart_all(ctx);
        scr_restart_fini(&ctx->restart);
        ctx->tried_below = 0;
        scr_phase_all(ctx, "compute", scr_cache_newest_ckpt(ctx, 0));
        return SCR_OK;
    }
    struct scr_err why = SCR_ERR_INIT;
    if (give_up_all(ctx, &why) != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN, "fall-back to an older checkpoint: %s",
                why.text);
    return scr_fail(err, SCR_E_INVALID, 0,
                    "SCR_Complete_restart: a rank passed valid=0; %s",
                    ctx->restart.id > 0 ? "an older checkpoint is loaded"
                                        : "no older checkpoint is left");
}
