/* SPDX-License-Identifier: BSD-3-Clause */
/* Room in cache for the next checkpoint: which leave, what stays all the same. */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "core/ctx.h"
#include "par/distribute.h"

/* Whether a run could go on from a newer checkpoint that is as safe as this one: in
 * cache likewise, or on the prefix; there also if that is this one itself. */
static int is_superseded_all(struct scr_ctx *ctx, int id)
{
    int newer = 0;
    if (scr_cache_newest_ckpt(ctx, 0) > id)
        return 1;
    if (ctx->world.rank == 0) {
        scr_hash *index = scr_hash_new();
        newer = scr_prefix_index_read(&ctx->env, &ctx->prefix, index, NULL) == SCR_OK &&
                scr_index_newest(index, 0) >= id;
        scr_hash_delete(index);
    }
    return scr_or_all(&ctx->world, newer);
}

/* Whether this rank knows of id as a checkpoint in that store (of that descriptor). */
static int is_in(const struct scr_ctx *ctx, int id, const char *store, int red_index)
{
    struct scr_dataset d;
    const scr_hash *desc = scr_cache_any_desc(ctx, id);
    const scr_hash *dset = scr_cache_any_dataset(ctx, id);
    const char *path = scr_hash_get_val(desc, "STORE");
    int index = -1;
    scr_hash_get_val_int(desc, "INDEX", &index);
    return path != NULL && strcmp(path, store) == 0 && dset &&
           scr_dataset_get(dset, &d, NULL) == SCR_OK && d.is_ckpt &&
           (red_index < 0 || index == red_index);
}

/* Output that is not whole cannot be flushed before the next start. */
static int is_owed_all(struct scr_ctx *ctx, int id)
{
    return scr_cache_is(ctx, id, SCR_CACHE_KEPT) &&
           (scr_cache_kind_all(ctx, id) & SCR_IS_OUTPUT) != 0 &&
           !scr_flush_is_done_all(ctx, id);
}

/* COUNT counts checkpoints: output leaves the cache by itself when it has reached the
 * prefix. A dataset that waits for another start keeps its place while it is what that
 * would restart from (invariants P5, C8): of those that are KEPT the newest. */
static int counts_all(struct scr_ctx *ctx, int id, const char *store, int red_index)
{
    int waits = scr_cache_is_waiting(ctx, id);
    if (!waits && !scr_cache_is_ready(ctx, id))
        return 0;
    if (scr_cache_is(ctx, id, SCR_CACHE_KEPT))
        waits = id == scr_cache_newest(ctx, SCR_CACHE_KEPT, 0);
    return scr_or_all(&ctx->world, is_in(ctx, id, store, red_index)) &&
           (!waits || is_superseded_all(ctx, id)) && !is_owed_all(ctx, id);
}

/* What does not leave the cache. Told once a run: its flush is tried again each time.
 */
static void say_stays(struct scr_ctx *ctx, const struct scr_held *h, int foreign,
                      const struct scr_err *why)
{
    if (foreign)
        scr_log(&ctx->log, SCR_LOG_WARN,
                "dataset %d of another number of ranks stays in cache: %s", h->id,
                why->text);
    else if (!h->told)
        scr_log(&ctx->log, SCR_LOG_WARN,
                "%s (dataset %d) is output that cannot be flushed, and stays in cache "
                "beside SCR_CACHE_SIZE others while there is room; it is tried again "
                "when the next needs its place, mend what keeps it from %s: %s",
                scr_cache_name_of(ctx, h->id), h->id, ctx->prefix.path, why->text);
}

/* What cannot be flushed costs nobody else his place, nor does what another run left
 * and cannot be deleted. */
static int evict_one_all(struct scr_ctx *ctx, int id, struct scr_err *stuck,
                         struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int foreign = scr_cache_is(ctx, id, SCR_CACHE_FOREIGN);
    if (scr_cache_held(ctx, id)->stays)
        return SCR_OK; /* for the count of the store, too */
    int rc = scr_cache_let_go_all(ctx, id, &why);
    if (rc == SCR_OK)
        return rc;
    struct scr_held *h = scr_cache_held(ctx, id);
    if (!foreign && h->state != SCR_CACHE_READY) /* flushed, but not deleted */
        return scr_fail(err, rc, 0, "%s", why.text);
    say_stays(ctx, h, foreign, &why);
    h->stays = 1;
    h->told = 1;
    *stuck = why;
    return SCR_OK;
}

/* Deletes the oldest checkpoints until fewer than limit are left (red_index < 0: of the
 * store), before all others those that this run cannot go back to. */
static int evict_to_all(struct scr_ctx *ctx, const char *store, int red_index,
                        int limit, struct scr_err *stuck, struct scr_err *err)
{
    int *ids = NULL, n = 0, have = 0;
    int rc = scr_list_datasets_all(&ctx->world, ctx->map, &ids, &n, err);
    for (int i = 0; i < n; i++) {
        int in = counts_all(ctx, ids[i], store, red_index);
        ids[i] = in ? ids[i] : 0;
        have += in;
    }
    for (int i = 0; i < 2 * n && rc == SCR_OK && have >= limit; i++) {
        int *id = &ids[i % n];
        if (*id == 0 || (i < n && !scr_cache_is(ctx, *id, SCR_CACHE_KEPT)))
            continue;
        rc = evict_one_all(ctx, *id, stuck, err);
        *id = 0;
        have--;
    }
    free(ids);
    return rc;
}

/* What could not be restored, or not be deleted, is kept until its room is needed:
 * another start may have more luck with the same files. */
static void drop_lost_all(struct scr_ctx *ctx)
{
    int id = 0, below = 0;
    while ((id = scr_cache_newest(ctx, SCR_CACHE_LOST, below)) > 0) {
        struct scr_err why = SCR_ERR_INIT;
        if (scr_cache_delete_all(ctx, id, &why) != SCR_OK)
            scr_log(&ctx->log, SCR_LOG_WARN,
                    "%s (dataset %d) is not deleted from cache: %s",
                    scr_cache_name_of(ctx, id), id, why.text);
        below = id;
    }
}

/* --- room beside what stays --- */

static void forget_stays(struct scr_ctx *ctx)
{
    for (size_t i = 0; i < ctx->nheld; i++)
        ctx->held[i].stays = 0;
}

/* Newest own dataset that stays, 0: none. */
static int newest_that_stays(const struct scr_ctx *ctx)
{
    int id = 0;
    for (size_t i = 0; i < ctx->nheld; i++) {
        const struct scr_held *h = &ctx->held[i];
        if (h->stays && h->state == SCR_CACHE_READY && h->id > id)
            id = h->id;
    }
    return id;
}

/* What waits for another start does not keep this run from writing: it leaves where
 * there is no room for as much beside it (invariant C8). */
static void drop_kept_all(struct scr_ctx *ctx, const struct scr_reddesc *red)
{
    const char *path = ctx->descs.store[red->store].path;
    int id = 0;
    while ((id = scr_cache_newest(ctx, SCR_CACHE_KEPT, id)) > 0) {
        struct scr_err why = SCR_ERR_INIT;
        uint64_t bytes = scr_space_of_all(ctx, red, id);
        int narrow =
            scr_or_all(&ctx->world, bytes > 0 && scr_space_left(ctx, red) < bytes);
        if (!narrow || !scr_or_all(&ctx->world, is_in(ctx, id, path, -1)) ||
            is_owed_all(ctx, id))
            continue;
        scr_log(&ctx->log, SCR_LOG_WARN,
                "%s (dataset %d), which was not restored, leaves the cache: beside it "
                "there is no room for the next",
                scr_cache_name_of(ctx, id), id);
        if (scr_cache_delete_all(ctx, id, &why) != SCR_OK)
            scr_log(&ctx->log, SCR_LOG_WARN, "dataset %d is not deleted from cache: %s",
                    id, why.text);
    }
}

/* What the next one needs nobody knows: as much as this one. */
static int check_room_all(struct scr_ctx *ctx, const struct scr_reddesc *red, int id,
                          const struct scr_err *stuck, struct scr_err *err)
{
    char need[32], left[32];
    const char *cache = ctx->cache_dirs[red->store];
    uint64_t bytes = scr_space_of_all(ctx, red, id), room = scr_space_left(ctx, red);
    int rc = SCR_OK;
    if (room < bytes)
        rc =
            scr_fail(err, SCR_E_FULL, 0,
                     "%s has %s free, and %s would be needed beside %s (dataset %d), "
                     "which is output that cannot be flushed: make room there, or mend "
                     "what keeps it from %s: %s",
                     cache, scr_format_size(room, left, sizeof left),
                     scr_format_size(bytes, need, sizeof need),
                     scr_cache_name_of(ctx, id), id, ctx->prefix.path, stuck->text);
    return scr_agree_all(&ctx->world, rc, err);
}

int scr_cache_evict_all(struct scr_ctx *ctx, const struct scr_reddesc *red,
                        struct scr_err *err)
{
    const struct scr_store *store = &ctx->descs.store[red->store];
    struct scr_err stuck = SCR_ERR_INIT;
    drop_lost_all(ctx);
    forget_stays(ctx);
    /* A count of 0 keeps nothing between checkpoints; the one being written needs its
     * place. */
    int rc = evict_to_all(ctx, store->path, -1, store->count > 0 ? store->count : 1,
                          &stuck, err);
    if (rc == SCR_OK && red->count > 0)
        rc = evict_to_all(ctx, store->path, red->index, red->count, &stuck, err);
    if (rc == SCR_OK)
        drop_kept_all(ctx, red);
    int id = newest_that_stays(ctx);
    return rc == SCR_OK && id > 0 ? check_room_all(ctx, red, id, &stuck, err) : rc;
}
