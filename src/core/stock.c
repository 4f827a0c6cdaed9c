/* SPDX-License-Identifier: BSD-3-Clause */
/* The stock of caches and prefix at a start, and the ids in use. */
#include <stdlib.h>

#include "core/cachectl.h"
#include "core/ctx.h"
#include "core/stock.h"
#include "fmt/state.h"
#include "par/migrate/distribute.h"
#include "store/flushing.h"

enum { STOCK_ID, STOCK_NEWER, STOCK_LOST, STOCK_MARKED, STOCK_OPEN, STOCK_LEAST };

/* Data that rank 0 reads from the prefix: the largest id in use there; whether output
 * may be lost; whether there are marks of flushes, and unfinished datasets. */
struct listed {
    int max, may_lose, marked, unfinished;
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
    l->unfinished = n > 0;
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
    least[STOCK_OPEN] = -l.unfinished;
    return rc;
}

/* Those that this rank's map names. */
static int list_own(const struct scr_ctx *ctx, struct scr_ids *mine,
                    struct scr_err *err)
{
    int n = 0;
    if (scr_filemap_list_datasets(ctx->cache.map, &n, &mine->id) != SCR_OK)
        return scr_no_memory(err);
    mine->n = (size_t)n;
    return SCR_OK;
}

/* The ids that some map names, and room for the states of these. said: of all ranks. */
static int list_all(struct scr_ctx *ctx, const struct scr_ids *mine, int64_t *said,
                    struct scr_ids *ids, struct scr_err *err)
{
    TRY(scr_ids_hear_all(&ctx->world, mine, said, ids, err));
    return ids->n > SCR_IDS_STRETCH
               ? scr_agree_all(&ctx->world, scr_cache_reserve(ctx, ids->n, err), err)
               : SCR_OK;
}

int scr_stock_take_all(struct scr_ctx *ctx, struct scr_stock *s, int rc,
                       struct scr_err *err)
{
    enum { BUSY = STOCK_LEAST, HALT, IDS, N = IDS + SCR_IDS_SAID };
    struct scr_ids mine = { 0 };
    int64_t v[1 + N] = { 0 }, *least = v + 1; /* v[0]: for the code */
    if (rc == SCR_OK)
        rc = list_own(ctx, &mine, err);
    if (rc == SCR_OK)
        rc = scr_cache_reserve(ctx, SCR_IDS_STRETCH, err);
    ctx->last_id = mine.n > 0 ? mine.id[mine.n - 1] : 0;
    least[BUSY] = -scr_async_find_leftovers(ctx);
    least[HALT] = -ctx->halt;
    scr_ids_say(&mine, 0, &s->ids, &least[IDS]);
    rc = say_stock(ctx, least, rc, err);
    rc = scr_agree_mins_all(&ctx->world, rc, v, 1 + N, err);
    ctx->last_id = (int)-least[STOCK_ID];
    ctx->flusher.leftovers = least[BUSY] != 0;
    ctx->halt = least[HALT] != 0;
    ctx->choice.lost.may = least[STOCK_LOST] != 0;
    s->newer = least[STOCK_NEWER] != 0;
    s->marked = least[STOCK_MARKED] != 0;
    s->unfinished = least[STOCK_OPEN] != 0;
    if (rc == SCR_OK)
        rc = list_all(ctx, &mine, &least[IDS], &s->ids, err);
    scr_ids_fini(&mine);
    return rc;
}

/* The other one continues counting where it is; a number that is near would be taken
 * too.
 */
void scr_flee_ids_all(struct scr_ctx *ctx)
{
    struct scr_err why = SCR_ERR_INIT;
    struct scr_vote v = { .least = { 0 } };
    int rc = say_stock(ctx, v.least, SCR_OK, &why);
    (void)scr_vote_all(&ctx->world, rc, &v, &why); /* what is found counts */
    ctx->last_id = scr_index_far_id((int)-v.least[STOCK_ID]);
    scr_log(&ctx->log, SCR_LOG_WARN,
            "dataset ids start at %d, to avoid those of the other job: give each job "
            "its own prefix directory",
            ctx->last_id + 1);
}
