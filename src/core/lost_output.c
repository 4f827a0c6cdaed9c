/* SPDX-License-Identifier: BSD-3-Clause */
/* Output that an earlier run of this job left in cache, that is not on the prefix and
 * that the start could not restore: it is told before the flush file forgets it, and
 * the run goes back to a checkpoint before it. */
#include "fmt/lost_output.h"

#include <stdlib.h>

#include "core/ctx.h"
#include "fmt/state.h"

/* What another job has in its caches may be saved by that one. One that is kept for the
 * next start, or for another number of ranks, is not lost, nor one that was on the
 * prefix and has been written over or deleted since. */
static int is_lost(const struct scr_ctx *ctx, const scr_hash *flush,
                   const scr_hash *index, int id)
{
    int gone = !scr_cache_has(ctx, id) || scr_cache_is(ctx, id, SCR_CACHE_LOST);
    return gone && scr_flush_has(flush, id, "OUTPUT") &&
           scr_flush_is_of_job(flush, id, ctx->prm.job_id) &&
           scr_flush_need(flush, id) && scr_flush_is_unsaved(flush, index, id);
}

static void collect(const struct scr_ctx *ctx, const scr_hash *flush,
                    const scr_hash *index, struct scr_lost_output *l)
{
    int *ids = NULL;
    size_t n = 0;
    (void)scr_hash_list_int(scr_hash_get(flush, "DATASET"), &ids, &n);
    for (size_t i = 0; i < n; i++)
        if (is_lost(ctx, flush, index, ids[i]))
            scr_lost_output_add(l, ids[i], scr_flush_name(flush, ids[i]));
    free(ids);
}

/* Name of the newest checkpoint with a smaller id, in cache or on the prefix. */
static const char *name_before(const struct scr_ctx *ctx, const scr_hash *index, int id)
{
    struct scr_index_entry e;
    int cached = scr_cache_newest_ckpt(ctx, id), listed = scr_index_newest(index, id);
    if (cached > 0 && cached >= listed)
        return scr_cache_name_of(ctx, cached);
    return listed > 0 && scr_index_get(index, listed, &e, NULL) == SCR_OK ? e.dset.name
                                                                          : NULL;
}

/* Who chooses a checkpoint goes to that one. */
static int goes_back(const struct scr_ctx *ctx)
{
    return ctx->prm.fetch && ctx->prm.current == NULL &&
           !ctx->prm.restart_past_lost_output;
}

static void tell(struct scr_ctx *ctx, const scr_hash *index,
                 const struct scr_lost_output *l)
{
    int cached = scr_cache_newest_ckpt(ctx, 0), listed = scr_index_newest(index, 0);
    int newest = cached > listed ? cached : listed, back = goes_back(ctx);
    const char *before = name_before(ctx, index, l->oldest);
    char *text = scr_lost_output_text(
        l, newest, before, back ? SCR_LOST_OUTPUT_BACK : SCR_LOST_OUTPUT_STAY);
    if (back && before != NULL && newest > l->oldest)
        ctx->go_before = scr_strdup(before);
    if (text != NULL)
        scr_log(&ctx->log, SCR_LOG_WARN, "%s", text);
    free(text);
}

void scr_lost_output_tell(struct scr_ctx *ctx)
{
    struct scr_lost_output l = SCR_LOST_OUTPUT_INIT;
    if (ctx->world.rank != 0)
        return;
    scr_hash *flush = scr_hash_new(), *index = scr_hash_new();
    if (scr_prefix_state_read(&ctx->env, &ctx->prefix, "flush.scr", flush, NULL) ==
            SCR_OK &&
        scr_prefix_index_read(&ctx->env, &ctx->prefix, index, NULL) == SCR_OK)
        collect(ctx, flush, index, &l);
    if (l.oldest > 0)
        tell(ctx, index, &l);
    scr_lost_output_fini(&l);
    scr_hash_delete(flush);
    scr_hash_delete(index);
}

/* What is to be offered instead, and what leaves the cache for it, are in the prefix
 * directory first: later starts go by CURRENT, and a user may choose otherwise. */
static int save_all(struct scr_ctx *ctx, const char *name, struct scr_err *err)
{
    int ids[] = { scr_cache_find_all(ctx, name), scr_cache_newest_ckpt(ctx, 0) };
    int rc = SCR_OK;
    for (int i = 0; i < 2 && rc == SCR_OK; i++)
        if (ids[i] > 0)
            rc = scr_flush_if_needed_all(ctx, ids[i], err);
    return rc;
}

int scr_lost_output_go_back_all(struct scr_ctx *ctx)
{
    struct scr_err why = SCR_ERR_INIT;
    char *name = ctx->go_before;
    int tried;
    ctx->go_before = NULL;
    int rc = scr_bcast_str_all(&ctx->world, 0, &name, &why);
    int goes = rc == SCR_OK && name != NULL;
    if (goes)
        rc = save_all(ctx, name, &why);
    if (goes && rc == SCR_OK)
        rc = scr_go_to_all(ctx, "lost output", name, &tried, &why);
    free(name);
    if (rc != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN,
                "this run does not go back to a checkpoint before the lost output: %s",
                why.text);
    return goes && rc == SCR_OK;
}
