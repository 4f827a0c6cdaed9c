/* SPDX-License-Identifier: BSD-3-Clause */
/* The stock of caches and prefix at a start, and the ids in use. */
#include <limits.h>
#include <stdlib.h>

#include "core/cachectl.h"
#include "core/ctx.h"
#include "core/stock.h"
#include "fmt/state.h"
#include "par/migrate/distribute.h"
#include "store/flushing.h"

enum { STOCK_ID, STOCK_NEWER, STOCK_LOST, STOCK_MARKED, STOCK_LEAST };

/* Data that rank 0 reads from the prefix: the largest id in use there; whether output
 * may be lost; whether there are marks of flushes. */
struct listed {
    int max, may_lose, marked;
};

/* A damaged flush file lists nothing: it only repeats other records. */
static int read_listed(const struct scr_ctx *ctx, struct listed *l, struct scr_err *err)
{
    struct scr_index index = SCR_INDEX_INIT;
    scr_hash *flush = scr_hash_new();
    int *ids = NULL;
    size_t n = 0;
    int rc = scr_prefix_index_read(&ctx->env, &ctx->prefix, &index, err);
    if (rc == SCR_OK)
        rc = scr_prefix_unfinished_ids(&ctx->env, &ctx->prefix, &index, &ids, &n, err);
    int read = scr_prefix_state_read(&ctx->env, &ctx->prefix, "flush.scr", flush, NULL);
    int flushed = read == SCR_OK ? scr_flush_max_id(flush) : 0;
    l->may_lose =
        read == SCR_OK ? scr_flush_has_open_output(flush) : read != SCR_E_CORRUPT;
    l->max = rc == SCR_OK ? scr_index_max_id(&index) : 0;
    l->max = flushed > l->max ? flushed : l->max;
    l->max = n > 0 && ids[n - 1] > l->max ? ids[n - 1] : l->max;
    l->marked = scr_flushing_any(&ctx->env, &ctx->prefix, ids, n);
    free(ids);
    scr_index_fini(&index);
    scr_hash_delete(flush);
    return rc;
}

/* Ids of the index, the flush file and dataset directories are in use, too, as none is
 * used twice. rc: of this rank until now; the code is its own. */
static int say_stock(const struct scr_ctx *ctx, int64_t *least, int rc,
                     struct scr_err *err)
{
    struct listed l = { 0 };
    int newer = scr_cache_has_newer(ctx);
    int max = newer ? scr_cache_max_id(ctx) : 0;
    if (rc == SCR_OK && ctx->world.rank == 0)
        rc = read_listed(ctx, &l, err);
    max = l.max > max ? l.max : max;
    least[STOCK_ID] = -(max > ctx->last_id ? max : ctx->last_id);
    least[STOCK_NEWER] = -newer;
    least[STOCK_LOST] = -l.may_lose;
    least[STOCK_MARKED] = -l.marked;
    return rc;
}

int scr_stock_take_all(struct scr_ctx *ctx, struct scr_stock *s, int rc,
                       struct scr_err *err)
{
    enum { FIRST = STOCK_LEAST, BUSY, HALT };
    int *mine = NULL, n = 0;
    if (rc == SCR_OK && scr_filemap_list_datasets(ctx->cache.map, &n, &mine) != SCR_OK)
        rc = scr_no_memory(err);
    ctx->last_id = n > 0 ? mine[n - 1] : 0;
    struct scr_vote v = { .least = { [FIRST] = n > 0 ? mine[0] : INT64_MAX,
                                     [BUSY] = -scr_async_find_leftovers(ctx),
                                     [HALT] = -ctx->halt } };
    rc = say_stock(ctx, v.least, rc, err);
    rc = scr_vote_all(&ctx->world, rc, &v, err);
    ctx->last_id = (int)-v.least[STOCK_ID];
    ctx->flusher.leftovers = v.least[BUSY] != 0;
    ctx->halt = v.least[HALT] != 0;
    ctx->choice.lost.may = v.least[STOCK_LOST] != 0;
    s->newer = v.least[STOCK_NEWER] != 0;
    s->marked = v.least[STOCK_MARKED] != 0;
    if (rc == SCR_OK)
        rc = scr_list_datasets_all(&ctx->world, mine, n, v.least[FIRST], &s->ids, err);
    free(mine);
    return rc == SCR_OK && s->ids.n > 0
               ? scr_agree_all(&ctx->world, scr_cache_reserve(ctx, s->ids.n, err), err)
               : rc;
}

/* The other one continues counting where it is; a number that is near would be taken
 * too.
 */
void scr_flee_ids_all(struct scr_ctx *ctx)
{
    enum { FAR = 1000 };
    struct scr_err why = SCR_ERR_INIT;
    struct scr_vote v = { .least = { 0 } };
    int rc = say_stock(ctx, v.least, SCR_OK, &why);
    (void)scr_vote_all(&ctx->world, rc, &v, &why); /* what is found counts */
    ctx->last_id = (int)-v.least[STOCK_ID];
    if (ctx->last_id < INT_MAX - FAR)
        ctx->last_id += FAR;
    scr_log(&ctx->log, SCR_LOG_WARN,
            "dataset ids start at %d, to avoid those of the other job: give each job "
            "its own prefix directory",
            ctx->last_id + 1);
}
