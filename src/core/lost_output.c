/* SPDX-License-Identifier: BSD-3-Clause */
/* Output that an earlier run of this job left in cache, that is not on the prefix and
 * that the start could not restore: it is told before the flush file forgets it. */
#include "fmt/lost_output.h"

#include <stdlib.h>

#include "core/ctx.h"
#include "fmt/state.h"

/* What another job has in its caches may be saved by that one. One that is kept for the
 * next start, or for another number of ranks, is not lost. */
static int is_lost(const struct scr_ctx *ctx, const scr_hash *flush,
                   const scr_hash *index, int id)
{
    int gone = !scr_cache_has(ctx, id) || scr_cache_is(ctx, id, SCR_CACHE_LOST);
    return gone && scr_flush_has(flush, id, "OUTPUT") &&
           scr_flush_is_of_job(flush, id, ctx->prm.job_id) &&
           scr_flush_is_unsaved(flush, index, id);
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

static void tell(const struct scr_ctx *ctx, const scr_hash *index,
                 const struct scr_lost_output *l)
{
    int cached = scr_cache_newest_ckpt(ctx, 0), listed = scr_index_newest(index, 0);
    char *text = scr_lost_output_text(l, cached > listed ? cached : listed,
                                      name_before(ctx, index, l->oldest));
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
