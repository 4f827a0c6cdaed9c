/* SPDX-License-Identifier: BSD-3-Clause */
/* Leftovers of killed flushes on the prefix, removed by all ranks together;
 * scr_sweep_killed (ops/sweep.h) is the same for a single process. */
#include <stdlib.h>

#include "base/path.h"
#include "core/ctx.h"
#include "core/leftovers.h"
#include "ops/sweep.h"
#include "par/pfs/lists.h"
#include "store/arrival.h"

/* The paths this rank keeps, to the keepers of their directories: each directory is
 * read by one rank. */
static int deal(const struct scr_ctx *ctx, const struct scr_table *kept,
                struct scr_parcels *send, struct scr_err *err)
{
    int ok = 1;
    for (SCR_EACH(struct scr_kept, k, kept)) {
        char *dir = scr_path_dir(k->item.name);
        ok = ok && dir != NULL &&
             scr_parcel_text(send, scr_path_keeper(&ctx->world, dir), k->item.name,
                             err) == SCR_OK;
        free(dir);
    }
    return ok ? SCR_OK : scr_no_memory(err);
}

static int sweep(struct scr_sweep *s, const struct scr_parcels *recv,
                 struct scr_err *err)
{
    struct scr_table paths = SCR_TABLE_OF(struct scr_item);
    for (size_t i = 0; i < recv->n; i++)
        for (SCR_TEXTS(path, &recv->of[i].bytes))
            scr_table_add(&paths, path);
    int rc =
        scr_table_ok(&paths) ? scr_sweep_paths(s, &paths, err) : scr_no_memory(err);
    scr_table_fini(&paths);
    return rc;
}

/* Goes by the lists of datasets ids[0…n). One whose list is gone has written nothing;
 * a damaged one says nothing. */
static int sweep_listed_all(struct scr_ctx *ctx, struct scr_sweep *s, const int *ids,
                            size_t n, struct scr_err *err)
{
    struct scr_table kept = SCR_TABLE_OF(struct scr_kept);
    struct scr_parcels send = { 0 }, recv = { 0 };
    const struct scr_lists lists = { &ctx->env, &ctx->world, &ctx->prefix,
                                     ids,       n,           .spare = 1 };
    int rc;
    TRY_OUT(scr_lists_read_all(&lists, SCR_OK, &kept, err));
    TRY_OUT(scr_parcels_exchange_all(&ctx->world, deal(ctx, &kept, &send, err), &send,
                                     &recv, err));
    TRY_OUT(scr_agree_all(&ctx->world, sweep(s, &recv, err), err));
out:
    scr_parcels_free(&send);
    scr_parcels_free(&recv);
    scr_table_fini(&kept);
    return rc;
}

/* The marks themselves are rank 0's. */
static int share_dead_all(struct scr_ctx *ctx, struct scr_dead *d, struct scr_err *err)
{
    int rc = scr_share_ids_all(&ctx->world, SCR_OK, &d->flushed, &d->nflushed, err);
    if (rc == SCR_OK)
        rc = scr_share_ids_all(&ctx->world, rc, &d->bypassed, &d->nbypassed, err);
    return rc == SCR_OK && d->nbypassed > 0
               ? scr_share_ids_all(&ctx->world, rc, &d->all, &d->nall, err)
               : rc;
}

static int sweep_dead_all(struct scr_ctx *ctx, struct scr_dead *d, uint64_t *removed,
                          struct scr_err *err)
{
    int rc = share_dead_all(ctx, d, err);
    struct scr_sweep files = { .env = &ctx->env,
                               .p = &ctx->prefix,
                               .below = SCR_ARRIVAL_TAG };
    struct scr_sweep dirs = {
        .env = &ctx->env, .p = &ctx->prefix, .ids = d->bypassed, .n = d->nbypassed
    };
    if (rc == SCR_OK && d->nflushed > 0)
        rc = sweep_listed_all(ctx, &files, d->flushed, d->nflushed, err);
    if (rc == SCR_OK && d->nbypassed > 0)
        rc = sweep_listed_all(ctx, &dirs, d->all, d->nall, err);
    *removed = scr_sum_all(&ctx->world, files.removed + dirs.removed);
    return rc;
}

static void tell(const struct scr_ctx *ctx, int rc, uint64_t removed,
                 const struct scr_err *err)
{
    if (rc != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN,
                "temporary files of killed jobs stay in %s until the next start: %s",
                ctx->prefix.path, err->text);
    if (removed > 0)
        scr_log(&ctx->log, SCR_LOG_INFO,
                "%llu temporary file%s of killed jobs removed from %s",
                (unsigned long long)removed, removed == 1 ? "" : "s", ctx->prefix.path);
}

void scr_leftovers_sweep_all(struct scr_ctx *ctx)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_dead d = { 0 };
    uint64_t removed = 0;
    int rc = ctx->world.rank == 0 ? scr_dead_take(&ctx->env, &ctx->prefix, &d, &err)
                                  : SCR_OK;
    struct scr_vote v = { .sum = { d.n } };
    rc = scr_vote_all(&ctx->world, rc, &v, &err);
    if (rc == SCR_OK && v.sum[0] > 0)
        rc = sweep_dead_all(ctx, &d, &removed, &err);
    tell(ctx, rc, removed, &err);
    scr_dead_release(&ctx->env, &ctx->prefix, &d, rc);
}
