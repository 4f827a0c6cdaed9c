/* SPDX-License-Identifier: BSD-3-Clause */
/* What flushes that failed have left in the prefix directory: some files of a dataset
 * that can never become complete (invariant P28). */
#include <stdlib.h>

#include "base/io.h"
#include "base/path.h"
#include "core/ctx.h"
#include "par/lists.h"
#include "scav/stage.h"
#include "store/arrival.h"
#include "store/flushing.h"
#include "store/replacing.h"

/* --- whether it is certain --- */

/* Files of this rank's share that do not exist. What cannot be looked at may exist. */
static uint64_t count_missing(const struct scr_ctx *ctx, const struct scr_table *kept)
{
    uint64_t missing = 0;
    for (SCR_EACH(const struct scr_kept, k, kept)) {
        struct stat st;
        char *path = scr_path_join(ctx->prefix.path, k->item.name);
        missing +=
            path != NULL && scr_file_stat(ctx->env.sys, path, &st, NULL) == SCR_E_NOENT;
        free(path);
    }
    return missing;
}

/* 1 if a file that the list of dataset id names does not exist, or it names none: else
 * the dataset may become complete by what is there (invariant P25). */
static int lacks_files_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    struct scr_table kept;
    scr_kept_init(&kept);
    int rc = scr_lists_read_all(&(struct scr_lists){ .env = &ctx->env,
                                                     .world = &ctx->world,
                                                     .prefix = &ctx->prefix,
                                                     .ids = &id,
                                                     .n = 1 },
                                SCR_OK, &kept, err);
    uint64_t count[] = { kept.n, count_missing(ctx, &kept) };
    if (rc == SCR_OK)
        scr_sums_all(&ctx->world, count, 2);
    scr_table_fini(&kept);
    return rc == SCR_OK && (count[0] == 0 || count[1] > 0);
}

/* Every file has arrived: whoever looks next completes it (invariant P11). */
static int has_arrived(const struct scr_ctx *ctx, int id)
{
    int arrived = 0;
    scr_hash *dset = scr_hash_new();
    int rc = scr_arrival_look(&ctx->env, &ctx->prefix, id, &arrived, dset, NULL);
    scr_hash_delete(dset);
    return rc != SCR_OK || arrived;
}

/* Rank 0's: nothing but a flush from cache would complete it. */
static int needs_cache(const struct scr_ctx *ctx, const struct scr_index_entry *e)
{
    const struct scr_env *env = &ctx->env;
    const struct scr_prefix *p = &ctx->prefix;
    return !e->complete && !e->current && e->id != ctx->restart.id &&
           !scr_flushing_is_held(env, p, e->id) &&
           !scr_replacing_is_begun(env, p, e->id) &&
           !scr_stage_is_there(env, p, e->id) && !scr_stage_is_placing(env, p, e->id) &&
           !has_arrived(ctx, e->id);
}

/* No transfer process may be at work any more. Files at paths that any other dataset
 * lists stay: that one may be whole but for its mark, which this flush took away. */
static void remove_all(struct scr_ctx *ctx, int id)
{
    struct scr_err why = SCR_ERR_INIT;
    if (!lacks_files_all(ctx, id, &why)) {
        if (why.code != SCR_OK)
            scr_log(&ctx->log, SCR_LOG_WARN,
                    "what the failed flush of dataset %d has left stays in %s: %s", id,
                    ctx->prefix.path, why.text);
        return;
    }
    if (scr_prefix_delete_all(ctx, id, SCR_SPARE_LISTED, &why) == SCR_OK)
        scr_log(&ctx->log, SCR_LOG_INFO,
                "what the failed flush of dataset %d has left is removed from %s", id,
                ctx->prefix.path);
    else
        scr_log(&ctx->log, SCR_LOG_WARN,
                "what the failed flush of dataset %d has left is not removed from %s: "
                "%s",
                id, ctx->prefix.path, why.text);
}

/* --- of a dataset that leaves the cache --- */

/* Rank 0's: the index tells of this dataset, not of another job's of its number. */
static int is_left(const struct scr_ctx *ctx, int id)
{
    struct scr_index_entry e;
    struct scr_dataset d;
    struct scr_index index = SCR_INDEX_INIT;
    const scr_hash *dset = scr_cache_any_dataset(ctx, id);
    int left = scr_prefix_index_read(&ctx->env, &ctx->prefix, &index, NULL) == SCR_OK &&
               scr_index_get(&index, id, &e, NULL) == SCR_OK && dset != NULL &&
               scr_dataset_get(dset, &d, NULL) == SCR_OK &&
               scr_dataset_is_alike(&d, &e.dset) && needs_cache(ctx, &e);
    scr_index_fini(&index);
    return left;
}

void scr_partial_leaves_all(struct scr_ctx *ctx, int id)
{
    struct scr_err why = SCR_ERR_INIT;
    int left = scr_async_let_go_all(ctx, &why) == SCR_OK && ctx->world.rank == 0 &&
               is_left(ctx, id);
    if (scr_or_all(&ctx->world, left))
        remove_all(ctx, id);
}

/* --- a prefix directory without room --- */

/* Rank 0's: checkpoints that neither this job nor, as far as flush.scr tells, another
 * would flush. Output stays, as in retain.c. */
static int list_dead(const struct scr_ctx *ctx, int **ids, size_t *n,
                     struct scr_err *err)
{
    size_t all = 0;
    struct scr_index index = SCR_INDEX_INIT;
    scr_hash *flush = scr_hash_new();
    int rc = flush ? scr_prefix_index_read(&ctx->env, &ctx->prefix, &index, err)
                   : scr_no_memory(err);
    if (rc == SCR_OK)
        rc = scr_prefix_state_read(&ctx->env, &ctx->prefix, "flush.scr", flush, err);
    if (rc == SCR_OK && (rc = scr_index_ids(&index, ids, &all)) != SCR_OK)
        scr_fail(err, rc, 0, "list of datasets");
    for (size_t i = 0; i < all; i++) {
        struct scr_index_entry e;
        if (scr_index_get(&index, (*ids)[i], &e, NULL) == SCR_OK && e.dset.is_ckpt &&
            !e.dset.is_output && !scr_flush_may_go_on(ctx, flush, &e) &&
            needs_cache(ctx, &e))
            (*ids)[(*n)++] = e.id;
    }
    scr_index_fini(&index);
    scr_hash_delete(flush);
    return rc;
}

void scr_partial_make_room_all(struct scr_ctx *ctx)
{
    struct scr_err why = SCR_ERR_INIT;
    int *ids = NULL;
    size_t n = 0;
    scr_retain_all(ctx);
    int rc = scr_async_let_go_all(ctx, &why);
    if (rc == SCR_OK && ctx->world.rank == 0)
        rc = list_dead(ctx, &ids, &n, &why);
    rc = scr_share_ids_all(&ctx->world, rc, &ids, &n, &why);
    if (rc != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN,
                "what failed flushes have left stays in %s: %s", ctx->prefix.path,
                why.text);
    for (size_t i = 0; i < n && rc == SCR_OK; i++)
        remove_all(ctx, ids[i]);
    free(ids);
}
