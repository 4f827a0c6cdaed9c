/* SPDX-License-Identifier: BSD-3-Clause */
/* Room in cache for the next checkpoint: which leave, what stays all the same. */
#include <string.h>

#include "base/units.h"
#include "core/cachectl.h"
#include "core/ctx.h"
#include "core/flushctl.h"
#include "core/flushfile.h"
#include "core/neighbours.h"
#include "core/room.h"
#include "core/space.h"

/* Whether a run could continue from a newer checkpoint, in cache, or on the prefix;
 * there also if that is this one itself. */
static int is_superseded_all(struct scr_ctx *ctx, int id)
{
    int newer = 0;
    if (scr_cache_newest_ckpt(ctx) > id)
        return 1;
    if (ctx->world.rank == 0) {
        struct scr_index index = SCR_INDEX_INIT;
        newer =
            scr_prefix_index_read(&ctx->env, &ctx->prefix, &index, NULL) == SCR_OK &&
            scr_index_newest(&index) >= id;
        scr_index_fini(&index);
    }
    return scr_or_all(&ctx->world, newer);
}

/* Whether id is a checkpoint in that store (of that descriptor). */
static int is_in(const struct scr_held *h, int store, int red_index)
{
    return (h->kind & SCR_IS_CKPT) != 0 && h->store == store &&
           (red_index < 0 || h->line == red_index);
}

/* Output that is not whole cannot be flushed before the next start. */
static int is_owed_all(struct scr_ctx *ctx, int id)
{
    return scr_cache_is(ctx, id, SCR_CACHE_KEPT) &&
           (scr_cache_kind(ctx, id) & SCR_IS_OUTPUT) != 0 &&
           !scr_flush_is_settled_all(ctx, id);
}

/* Whether another start of this number of ranks may use what this run cannot. */
static int is_kept(const struct scr_held *h)
{
    return h->state == SCR_CACHE_KEPT || h->set_aside;
}

/* COUNT counts checkpoints: output leaves the cache by itself when it has reached the
 * prefix. A dataset that waits for another start keeps its place while it is what that
 * would restart from (invariants P5, C8, P10): of those that are kept the newest. */
static int counts_all(struct scr_ctx *ctx, int id, int store, int red_index)
{
    int waits = scr_cache_is_waiting(ctx, id);
    if (!waits && !scr_cache_is_ready(ctx, id))
        return 0;
    /* With SCR_DISTRIBUTE=0 it is not known which of them are whole: all wait. */
    if (is_kept(scr_cache_held(ctx, id)) && ctx->prm.distribute)
        waits = id == scr_cache_newest_if(ctx, is_kept, 0);
    return is_in(scr_cache_held(ctx, id), store, red_index) &&
           (!waits || is_superseded_all(ctx, id)) && !is_owed_all(ctx, id);
}

/* --- what a checkpoint is worth --- */

/* NULL: there is no such descriptor any more. */
static const char *group_of(const struct scr_ctx *ctx, int line)
{
    const struct scr_descs *d = &ctx->descs;
    return line >= 0 && line < d->nreds && d->red[line].enabled ? d->red[line].group
                                                                : NULL;
}

/* A rack may be lost where only nodes are counted on: groups cannot be compared. What
 * the line of the older one was to survive is not asked for any more if that line is
 * gone or disabled: such a one would stay for ever, and newer ones would leave before
 * it. */
static int covers_group(const struct scr_ctx *ctx, int newer, int older)
{
    const char *has = group_of(ctx, newer), *wants = group_of(ctx, older);
    return newer == older || wants == NULL || (has != NULL && strcmp(has, wants) == 0);
}

/* Whether who has the newer one needs the older one no more. */
static int covers(const struct scr_ctx *ctx, const struct scr_held *newer,
                  const struct scr_held *older)
{
    return newer->losses >= older->losses &&
           (older->losses == 0 || covers_group(ctx, newer->line, older->line));
}

/* --- which may leave --- */

/* The order in which they leave. Uncovered ones leave last, the weakest first. */
enum turn { KEPT, COVERED, COVERED_SOON, UNCOVERED };

/* next: what is about to be written, or NULL. */
static enum turn turn_of(const struct scr_ctx *ctx, int n, const struct scr_held *h,
                         const struct scr_held *next)
{
    if (scr_cache_is_waiting(ctx, h->id)) /* this run continues from another */
        return KEPT;
    for (int i = 0; i < n; i++) {
        const struct scr_held *newer = scr_cache_held(ctx, ctx->cache.leaving[i]);
        if (newer->id > h->id && newer->state == SCR_CACHE_READY && !newer->set_aside &&
            covers(ctx, newer, h))
            return COVERED;
    }
    return next != NULL && covers(ctx, next, h) ? COVERED_SOON : UNCOVERED;
}

static int leaves_before(const struct scr_held *a, const struct scr_held *b)
{
    if (a->turn != b->turn)
        return a->turn < b->turn;
    if (a->turn >= COVERED_SOON && a->losses != b->losses)
        return a->losses < b->losses;
    return a->id < b->id;
}

static void sort_by_turn(struct scr_ctx *ctx, int n)
{
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0; k--) {
            int *id = &ctx->cache.leaving[k - 1];
            if (!leaves_before(scr_cache_held(ctx, id[1]), scr_cache_held(ctx, id[0])))
                break;
            int first = id[1];
            id[1] = id[0];
            id[0] = first;
        }
}

/* Lists the checkpoints that count in the store of red (every: of every line) in
 * ctx->cache.leaving, in the order they leave, and returns how many these are. next:
 * before one of red is written. */
static int list_all(struct scr_ctx *ctx, const struct scr_reddesc *red, int every,
                    int next)
{
    const struct scr_held of_red = { .losses = (int)ctx->cache.losses[red->index],
                                     .line = red->index };
    int n = 0;
    for (int id = 0; (id = scr_cache_next(ctx, id)) > 0;)
        if (counts_all(ctx, id, red->store, every ? -1 : red->index))
            ctx->cache.leaving[n++] = id;
    for (int i = 0; i < n; i++) {
        struct scr_held *h = scr_cache_held(ctx, ctx->cache.leaving[i]);
        h->turn = (int)turn_of(ctx, n, h, next ? &of_red : NULL);
    }
    sort_by_turn(ctx, n);
    return n;
}

/* --- leaving --- */

enum stays { GOES, IS_NOT_FLUSHED, IS_NOT_DELETED };

/* What does not leave the cache. Told once a run: its flush is tried again each time.
 */
static void say_stays(struct scr_ctx *ctx, const struct scr_held *h, int foreign,
                      const struct scr_err *why)
{
    if (foreign)
        scr_log(
            &ctx->log, SCR_LOG_WARN,
            "dataset %d, written by a different number of ranks, stays in cache: %s",
            h->id, why->text);
    else if (!h->told && h->stays == IS_NOT_DELETED)
        scr_log(&ctx->log, SCR_LOG_WARN,
                "%s (dataset %d) stays whole in cache while there is room, as it "
                "cannot be deleted on all nodes: %s",
                scr_cache_name_of(ctx, h->id), h->id, why->text);
    else if (!h->told)
        scr_log(&ctx->log, SCR_LOG_WARN,
                "%s %s (dataset %d) cannot be flushed; kept in cache in addition "
                "to SCR_CACHE_SIZE others while there is room, retried when the next "
                "dataset needs its place; fix the error that keeps it from %s: %s",
                (h->kind & SCR_IS_OUTPUT) ? "output" : "checkpoint",
                scr_cache_name_of(ctx, h->id), h->id, ctx->prefix.path, why->text);
}

static void note_stays(struct scr_ctx *ctx, struct scr_held *h, enum stays how,
                       const struct scr_err *why)
{
    h->stays = (int)how;
    say_stays(ctx, h, h->state == SCR_CACHE_FOREIGN, why);
    h->told = 1;
}

/* A dataset that cannot be flushed, or deleted, costs no other its place. may_go: all
 * ranks have agreed that they can delete it. */
static int evict_one_all(struct scr_ctx *ctx, int id, int may_go, struct scr_err *stuck,
                         struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int foreign = scr_cache_is(ctx, id, SCR_CACHE_FOREIGN);
    if (scr_cache_held(ctx, id)->stays != GOES)
        return SCR_OK; /* for the count of the store, too */
    int rc = SCR_OK;
    if (!may_go)
        rc = scr_agree_all(&ctx->world, scr_cache_may_delete(ctx, id, &why), &why);
    enum stays how = rc == SCR_OK ? IS_NOT_FLUSHED : IS_NOT_DELETED;
    if (rc == SCR_OK)
        rc = scr_cache_let_go_all(ctx, id, "superseded by newer checkpoints", &why);
    if (rc == SCR_OK)
        return rc;
    struct scr_held *h = scr_cache_held(ctx, id);
    if (!foreign && h->state == SCR_CACHE_LOST) /* flushed, but not deleted */
        return scr_err_take(err, rc, &why);
    note_stays(ctx, h, how, &why);
    *stuck = why;
    return SCR_OK;
}

/* Deletes checkpoints until fewer than limit are left, of the store or (!every) of the
 * descriptor. */
static int evict_to_all(struct scr_ctx *ctx, const struct scr_reddesc *red, int every,
                        int limit, struct scr_err *stuck, struct scr_err *err)
{
    int rc = SCR_OK, n = list_all(ctx, red, every, 1);
    for (int i = 0; i < n && rc == SCR_OK && n - i >= limit; i++)
        rc = evict_one_all(ctx, ctx->cache.leaving[i], 0, stuck, err);
    return rc;
}

static int is_lost(const struct scr_held *h)
{
    return h->state == SCR_CACHE_LOST;
}

/* A dataset that could not be restored or deleted is kept until its room is needed:
 * another start may succeed with the same files. */
static void drop_lost_all(struct scr_ctx *ctx)
{
    int id = 0, below = 0;
    while ((id = scr_cache_newest_if(ctx, is_lost, below)) > 0) {
        struct scr_err why = SCR_ERR_INIT;
        if (scr_cache_drop_all(ctx, id, "not restored", &why) != SCR_OK)
            scr_log(&ctx->log, SCR_LOG_WARN,
                    "%s (dataset %d) is not deleted from cache: %s",
                    scr_cache_name_of(ctx, id), id, why.text);
        below = id;
    }
}

/* --- room in addition to datasets that stay --- */

static void forget_stays(struct scr_ctx *ctx)
{
    for (size_t i = 0; i < ctx->cache.nheld; i++)
        ctx->cache.held[i].stays = GOES;
}

/* A dataset of this run that stays. */
static int is_staying(const struct scr_held *h)
{
    return h->stays && scr_held_is_ready(h) && !h->set_aside;
}

/* What is whole is copied to the prefix first; output has to be. */
static int drop_for_room_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    const char *reason = "not restored, its room is needed";
    int whole = scr_cache_is_ready(ctx, id);
    int rc = whole ? scr_cache_let_go_all(ctx, id, reason, err) : SCR_OK;
    if (whole && (rc == SCR_OK || (scr_cache_kind(ctx, id) & SCR_IS_OUTPUT) != 0))
        return rc;
    scr_err_clear(err);
    return scr_cache_drop_all(ctx, id, reason, err);
}

/* A dataset that waits for another start does not keep this run from writing: it leaves
 * if there is no room for as much in addition to it (invariant C8). */
static void drop_kept_all(struct scr_ctx *ctx, const struct scr_reddesc *red)
{
    int id = 0;
    while ((id = scr_cache_newest_if(ctx, is_kept, id)) > 0) {
        struct scr_err why = SCR_ERR_INIT;
        if (!is_in(scr_cache_held(ctx, id), red->store, -1))
            continue;
        uint64_t bytes = scr_space_of_all(ctx, red, id);
        int narrow =
            scr_or_all(&ctx->world, bytes > 0 && scr_space_left(ctx, red) < bytes);
        if (!narrow || is_owed_all(ctx, id))
            continue;
        scr_log(&ctx->log, SCR_LOG_WARN,
                "%s (dataset %d), which was not restored, leaves the cache: the next "
                "dataset needs its room",
                scr_cache_name_of(ctx, id), id);
        if (drop_for_room_all(ctx, id, &why) != SCR_OK)
            scr_log(&ctx->log, SCR_LOG_WARN, "dataset %d is not deleted from cache: %s",
                    id, why.text);
    }
}

/* The needs of the next one are not known: as much as this one. */
static int check_room_all(struct scr_ctx *ctx, const struct scr_reddesc *red, int id,
                          const struct scr_err *stuck, struct scr_err *err)
{
    char need[32], left[32];
    const char *cache = ctx->cache.dirs[red->store];
    uint64_t bytes = scr_space_of_all(ctx, red, id), room = scr_space_left(ctx, red);
    int unflushed = scr_cache_held(ctx, id)->stays == IS_NOT_FLUSHED;
    int rc = SCR_OK;
    if (room < bytes)
        rc = scr_fail(
            err, SCR_E_FULL, 0,
            "%s has %s free, %s are needed while it keeps %s (dataset %d), which %s: "
            "make room there, or fix the error that keeps it from %s: %s",
            cache, scr_format_size(room, left, sizeof left),
            scr_format_size(bytes, need, sizeof need), scr_cache_name_of(ctx, id), id,
            unflushed ? "cannot be flushed" : "cannot be deleted",
            unflushed ? ctx->prefix.path : "leaving", stuck->text);
    return scr_agree_all(&ctx->world, rc, err);
}

/* --- a store without a number: as many as are needed, while there is room --- */

int scr_room_is_measured(const struct scr_ctx *ctx, const struct scr_reddesc *red)
{
    return ctx->descs.store[red->store].count < 0;
}

/* Datasets that a newer one covers leave. A dataset that is being flushed may stay
 * until that is done; waits: it does not. */
static int drop_covered_all(struct scr_ctx *ctx, const struct scr_reddesc *red,
                            int waits, int may_go, struct scr_err *stuck,
                            struct scr_err *err)
{
    int rc = SCR_OK, n = list_all(ctx, red, 1, 0);
    for (int i = 0; i < n && rc == SCR_OK; i++) {
        int id = ctx->cache.leaving[i];
        if (scr_cache_held(ctx, id)->turn > COVERED)
            break;
        if (waits || !scr_async_has(ctx, id))
            rc = evict_one_all(ctx, id, id == may_go, stuck, err);
    }
    return rc;
}

/* Until there is room for the next in addition to the others; full: what was short of
 * room. */
static int evict_for_space_all(struct scr_ctx *ctx, const struct scr_reddesc *red,
                               struct scr_err *full, struct scr_err *stuck,
                               struct scr_err *err)
{
    struct scr_err short_of = SCR_ERR_INIT;
    int rc = SCR_OK, n = list_all(ctx, red, 1, 1);
    for (int i = 0; i < n && rc == SCR_OK; i++) {
        if (scr_space_for_next_all(ctx, red, &short_of))
            break;
        *full = short_of;
        short_of = (struct scr_err)SCR_ERR_INIT;
        rc = evict_one_all(ctx, ctx->cache.leaving[i], 0, stuck, err);
    }
    return rc;
}

int scr_cache_covered_all(struct scr_ctx *ctx, const struct scr_reddesc *red)
{
    int n = scr_room_is_measured(ctx, red) ? list_all(ctx, red, 1, 1) : 0;
    if (n == 0 || scr_cache_held(ctx, ctx->cache.leaving[0])->turn > COVERED_SOON)
        return 0;
    return ctx->cache.leaving[0];
}

void scr_cache_settle_all(struct scr_ctx *ctx, const struct scr_reddesc *red,
                          int may_go)
{
    struct scr_err stuck = SCR_ERR_INIT, why = SCR_ERR_INIT;
    if (!scr_room_is_measured(ctx, red))
        return;
    forget_stays(ctx);
    if (drop_covered_all(ctx, red, 0, may_go, &stuck, &why) != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN, "an older checkpoint stays in cache: %s",
                why.text);
}

/* --- before the next is written --- */

/* A checkpoint that this run could restart from. */
static int is_in_use(const struct scr_held *h)
{
    return scr_held_is_ckpt(h) && !h->set_aside;
}

/* An empty cache is reported once a run. last: the previous dataset; full: the
 * store that is short of room, else the user's number is the cause. */
static void say_bare(struct scr_ctx *ctx, const struct scr_reddesc *red, int last,
                     const struct scr_err *full)
{
    const struct scr_store *store = &ctx->descs.store[red->store];
    if (last == 0 || ctx->told_bare || scr_cache_newest_if(ctx, is_in_use, 0) > 0)
        return;
    ctx->told_bare = 1;
    if (full->code != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN,
                "no checkpoint is in cache from SCR_Start_output until "
                "SCR_Complete_output returns, as there is no room for two: %s; make "
                "room, or set SCR_CACHE_BASE to larger storage",
                full->text);
    else
        scr_log(&ctx->log, SCR_LOG_WARN,
                "no checkpoint is in cache from SCR_Start_output until "
                "SCR_Complete_output returns, as %s is to keep %d: set SCR_CACHE_SIZE, "
                "or COUNT of its STORE line, to 2, or leave it out",
                store->path, store->count > 0 ? store->count : 1);
}

void scr_room_look(const struct scr_ctx *ctx, const struct scr_reddesc *red,
                   uint64_t need, struct scr_room *room)
{
    room->neighbours = scr_neighbours_are_any(ctx, red);
    room->narrow = need > 0 && ctx->node.rank == 0 && scr_space_left(ctx, red) < need;
}

/* For a fetch that found no room (room is NULL) an automatic store keeps one, which is
 * what is fetched. */
static int make_room_all(struct scr_ctx *ctx, const struct scr_reddesc *red,
                         const struct scr_room *room, struct scr_err *full,
                         struct scr_err *stuck, struct scr_err *err)
{
    int count = ctx->descs.store[red->store].count, rc = SCR_OK;
    int measured = scr_room_is_measured(ctx, red) && room != NULL;
    if (red->count > 0)
        rc = evict_to_all(ctx, red, 0, red->count, stuck, err);
    /* A count of 0 keeps nothing between checkpoints; the one being written needs its
     * place. */
    if (rc == SCR_OK && !measured)
        rc = evict_to_all(ctx, red, 1, count > 0 ? count : 1, stuck, err);
    if (rc == SCR_OK && measured)
        rc = drop_covered_all(ctx, red, 1, 0, stuck, err);
    /* After what leaves anyway, before what this run would rather keep. */
    if (rc == SCR_OK && room != NULL && room->neighbours)
        scr_neighbours_give_way_all(ctx, red);
    if (rc == SCR_OK)
        drop_kept_all(ctx, red);
    return rc == SCR_OK && measured && room->narrow
               ? evict_for_space_all(ctx, red, full, stuck, err)
               : rc;
}

static int evict_all(struct scr_ctx *ctx, const struct scr_reddesc *red,
                     const struct scr_room *room, struct scr_err *full,
                     struct scr_err *err)
{
    struct scr_err stuck = SCR_ERR_INIT;
    drop_lost_all(ctx);
    forget_stays(ctx);
    int rc = make_room_all(ctx, red, room, full, &stuck, err);
    int id = scr_cache_newest_if(ctx, is_staying, 0);
    return rc == SCR_OK && id > 0 ? check_room_all(ctx, red, id, &stuck, err) : rc;
}

int scr_cache_evict_all(struct scr_ctx *ctx, const struct scr_reddesc *red,
                        const struct scr_room *room, struct scr_err *err)
{
    struct scr_err full = SCR_ERR_INIT;
    int last = scr_cache_newest_if(ctx, is_in_use, 0);
    int rc = evict_all(ctx, red, room, &full, err);
    say_bare(ctx, red, last, &full);
    return rc;
}

int scr_cache_evict_for_fetch_all(struct scr_ctx *ctx, const struct scr_reddesc *red,
                                  struct scr_err *err)
{
    struct scr_err full = SCR_ERR_INIT;
    return evict_all(ctx, red, NULL, &full, err);
}
