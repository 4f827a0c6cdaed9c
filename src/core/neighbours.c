/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets of other prefix directories in the caches of this job stay while there is
 * room, then leave one by one, oldest first (invariant C15). What a run uses stays,
 * what is copied from there, and output that has no other copy. In a store that nodes
 * share everything stays: a run that uses it may be on other nodes. */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/units.h"
#include "core/ctx.h"
#include "core/neighbours.h"
#include "core/space.h"
#include "store/neighbour.h"
#include "xfer/daemon.h"

/* The room to make, and the datasets that left for it. */
struct leaving {
    const struct scr_ctx *ctx;
    const struct scr_reddesc *red;
    struct scr_neighbour_at at;
    uint64_t need;              /* bytes, of this node */
    struct scr_neighbour *list; /* lowest rank of a node: what there is */
    size_t n;
    struct scr_neighbour_key after; /* those up to it had their turn */
    uint64_t bytes;                 /* that left, of all nodes */
    int datasets, directories;      /* that left, of all nodes */
    struct scr_table prefixes;      /* names of those */
    char *path;                     /* of the first of them, "": not known */
};

static int speaks(const struct leaving *l)
{
    return l->ctx->node.rank == 0;
}

/* --- which is next --- */

/* The oldest that is left here, if this node has not enough room; NULL: none. */
static const struct scr_neighbour *oldest_here(const struct leaving *l)
{
    const struct scr_neighbour *found = NULL;
    if (l->n == 0 || scr_space_left(l->ctx, l->red) >= l->need)
        return NULL;
    for (size_t i = 0; i < l->n; i++) {
        struct scr_neighbour_key key = scr_neighbour_key(&l->list[i]);
        if (scr_neighbour_compare(key, l->after) > 0 &&
            (found == NULL || scr_neighbour_compare(key, scr_neighbour_key(found)) < 0))
            found = &l->list[i];
    }
    return found;
}

struct turn {
    char name[SCR_IDENTITY_NAME];
    int id;
    int root;        /* a rank that has it */
    int64_t created; /* 0: no filemap there describes it */
};

/* The next on all ranks; 0: none. */
static int next_all(struct leaving *l, struct turn *turn)
{
    const struct scr_comm *world = &l->ctx->world;
    const struct scr_neighbour *mine = oldest_here(l);
    struct scr_neighbour_key key =
        mine ? scr_neighbour_key(mine)
             : (struct scr_neighbour_key){ INT64_MAX, INT64_MAX };
    int64_t created = scr_min_all(world, key.created);
    if (created == INT64_MAX)
        return 0;
    int64_t v[] = { key.created == created ? key.tie : INT64_MAX };
    scr_mins_all(world, v, 1);
    l->after = (struct scr_neighbour_key){ created, v[0] };
    int is_root = mine != NULL && scr_neighbour_compare(key, l->after) == 0;
    *turn = (struct turn){ .created = created };
    turn->root = (int)scr_min_all(world, is_root ? world->rank : world->size);
    if (turn->root == world->rank) {
        memcpy(turn->name, mine->name, sizeof turn->name);
        turn->id = mine->id;
    }
    return scr_bcast_bytes_all(world, turn->root, turn, sizeof *turn, NULL) == SCR_OK;
}

/* --- whether it may --- */

/* Locked, with no transfer process at work for it. */
static int is_held(const struct leaving *l, const struct turn *turn,
                   struct scr_neighbour_hold *h)
{
    int busy = 0;
    if (scr_neighbour_hold(&l->at, turn->name, turn->id, h) != SCR_OK)
        return 0;
    if (h->what.created != turn->created) /* here it is another, or nothing */
        h->what = (struct scr_neighbour){ 0 };
    return h->what.id == 0 || h->cntl.dir == NULL ||
           (scr_daemon_tidy(l->ctx->env.sys, h->cntl_dir, &busy, NULL) == SCR_OK &&
            !busy);
}

/* The rank that named it asks its prefix directory. */
static int may_go_all(const struct leaving *l, const struct turn *turn,
                      struct scr_neighbour_hold *h)
{
    const struct scr_comm *world = &l->ctx->world;
    const struct scr_env *env = &l->ctx->env;
    int64_t v[] = { !speaks(l) || is_held(l, turn, h), 0, 0 };
    v[1] = -h->what.is_done;
    v[2] = -h->what.is_output;
    scr_mins_all(world, v, 3);
    if (!v[0])
        return 0;
    int is_output = v[1] != 0 && v[2] != 0;
    return scr_and_all(world, world->rank != turn->root ||
                                  (!scr_neighbour_is_scavenged(env, h) &&
                                   (!is_output || scr_neighbour_is_saved(env, h))));
}

/* --- its leaving --- */

/* On all nodes, or, if one cannot record it in its filemaps, on none. */
static int give_up_all(const struct leaving *l, struct scr_neighbour_hold *h)
{
    const struct scr_env *env = &l->ctx->env;
    int done = h->what.id == 0 || scr_neighbour_give_up(env, h) == SCR_OK;
    if (scr_and_all(&l->ctx->world, done))
        return 1;
    scr_neighbour_restore(env, h);
    return 0;
}

static void remember(struct leaving *l, const struct turn *turn, char *path)
{
    if (l->prefixes.n == 0) {
        free(l->path);
        l->path = path;
    } else {
        free(path);
    }
    l->datasets++;
    (void)scr_table_add(&l->prefixes, turn->name);
}

static void leave_all(struct leaving *l, const struct turn *turn,
                      struct scr_neighbour_hold *h)
{
    const struct scr_comm *world = &l->ctx->world;
    if (!may_go_all(l, turn, h) || !give_up_all(l, h))
        return;
    int gone = h->what.id != 0 && scr_neighbour_remove(&l->ctx->env, h) == SCR_OK;
    uint64_t v[] = { gone ? h->what.bytes : 0, (uint64_t)gone };
    scr_sums_all(world, v, 2);
    l->bytes += v[0];
    l->directories += (int)v[1];
    if (turn->created == 0)
        return;
    char *path = turn->root == world->rank ? scr_strdup(h->prefix) : NULL;
    (void)scr_bcast_str_all(world, turn->root, &path, NULL);
    remember(l, turn, path);
}

static void tell(const struct leaving *l)
{
    char size[32];
    int prefixes = (int)l->prefixes.n;
    char *who = prefixes == 1 && l->path
                    ? scr_strdup(l->path)
                    : scr_asprintf("%d other prefix director%s", prefixes,
                                   prefixes == 1 ? "y" : "ies");
    if (l->datasets > 0)
        scr_log(
            &l->ctx->log, SCR_LOG_WARN,
            "%d dataset%s (%s) of %s left the cache to make room: checkpoints among "
            "them that were not flushed are lost, a next run there restarts from "
            "newer ones in cache or from what was flushed",
            l->datasets, l->datasets == 1 ? "" : "s",
            scr_format_size(l->bytes, size, sizeof size),
            who ? who : "other prefix directories");
    free(who);
}

/* Those of l until every node has room; l->need is known. */
static int make_room_all(struct leaving *l)
{
    struct turn turn;
    l->after = (struct scr_neighbour_key){ -1, 0 };
    scr_table_init(&l->prefixes, sizeof(struct scr_item));
    while (next_all(l, &turn)) {
        struct scr_neighbour_hold h = SCR_NEIGHBOUR_HOLD_INIT;
        leave_all(l, &turn, &h);
        scr_neighbour_release(&l->ctx->env, &h);
    }
    tell(l);
    int left = l->directories > 0;
    scr_table_fini(&l->prefixes);
    free(l->path);
    return left;
}

/* --- for what --- */

int scr_neighbours_are_any(const struct scr_ctx *ctx, const struct scr_reddesc *red)
{
    const struct scr_store *store = &ctx->descs.store[red->store];
    const struct scr_neighbour_at at = { &ctx->env, &ctx->place, store->path };
    return ctx->node.rank == 0 && strcmp(store->group, "NODE") == 0 &&
           scr_neighbour_is_any(&at);
}

/* 0: there are none, or they stay. Lists them. */
static int begin_all(struct leaving *l, const struct scr_ctx *ctx,
                     const struct scr_reddesc *red)
{
    const struct scr_store *store = &ctx->descs.store[red->store];
    *l = (struct leaving){ .ctx = ctx,
                           .red = red,
                           .at = { &ctx->env, &ctx->place, store->path } };
    if (!scr_or_all(&ctx->world, scr_neighbours_are_any(ctx, red)))
        return 0;
    if (speaks(l) && scr_neighbour_list(&l->at, &l->list, &l->n) != SCR_OK)
        l->n = 0;
    if (scr_or_all(&ctx->world, l->n > 0))
        return 1;
    free(l->list);
    return 0;
}

/* The size of the first dataset is not known: as the largest they have on any node. */
static uint64_t guess_all(const struct leaving *l)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < l->n; i++)
        bytes = l->list[i].bytes > bytes ? l->list[i].bytes : bytes;
    bytes = (uint64_t)scr_max_all(&l->ctx->world, (int64_t)bytes);
    return speaks(l) ? bytes : 0;
}

void scr_neighbours_give_way_all(const struct scr_ctx *ctx,
                                 const struct scr_reddesc *red)
{
    struct leaving l;
    if (!begin_all(&l, ctx, red))
        return;
    l.need = scr_space_of_next_all(ctx, red, guess_all(&l));
    (void)make_room_all(&l);
    free(l.list);
}

int scr_neighbours_leave_all(const struct scr_ctx *ctx, const struct scr_reddesc *red,
                             int id, uint64_t total, int all)
{
    struct leaving l;
    if (!begin_all(&l, ctx, red))
        return 0;
    uint64_t of_all = (uint64_t)scr_max_all(&ctx->world, (int64_t)total);
    l.need = scr_space_lacking_all(ctx, red, id, of_all);
    if (all)
        l.need = UINT64_MAX;
    int left = make_room_all(&l);
    free(l.list);
    return left;
}
