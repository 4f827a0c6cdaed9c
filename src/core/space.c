/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes: what a dataset takes in a cache, what the next checkpoint will, and what each
 * cache has room for. */
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "core/ctx.h"
#include "core/space.h"
#include "red/geom.h"

/* Blocks of a file system. */
enum { BLOCK = 4096 };

static uint64_t in_blocks(uint64_t bytes)
{
    return (bytes + BLOCK - 1) / BLOCK * BLOCK;
}

static uint64_t size_in_map(const scr_meta *meta)
{
    uint64_t size = 0;
    (void)scr_meta_get_filesize(meta, &size);
    return in_blocks(size);
}

/* Bytes of all files of id that this rank's map has. */
static uint64_t bytes_of(const struct scr_ctx *ctx, int id)
{
    uint64_t sum = 0;
    for (SCR_ENTRIES(e, ctx->cache.map, id))
        for (SCR_EACH(struct scr_file, f, &e->files))
            sum += size_in_map(scr_file_meta(f));
    return sum;
}

uint64_t scr_space_of_all(const struct scr_ctx *ctx, const struct scr_reddesc *red,
                          int id)
{
    int shared = scr_store_is_shared(&ctx->descs.store[red->store]);
    return scr_sum_all(shared ? &ctx->world : &ctx->node, bytes_of(ctx, id));
}

uint64_t scr_space_left(const struct scr_ctx *ctx, const struct scr_reddesc *red)
{
    return scr_room_at(ctx->env.sys, &scr_memory_of_kernel,
                       ctx->cache.dirs[red->store]);
}

/* --- the next checkpoint --- */

/* Bytes of this rank's own files of id, without redundancy. */
static uint64_t data_of(const struct scr_ctx *ctx, int id)
{
    int me = ctx->world.rank;
    uint64_t sum = 0;
    for (SCR_FILES(f, ctx->cache.map, id, me)) {
        const scr_meta *meta = scr_file_meta(f);
        enum scr_scheme s;
        int is_red = scr_scheme_parse(scr_meta_text(meta, SCR_META_TYPE), &s);
        sum += is_red ? 0 : size_in_map(meta);
    }
    return sum;
}

/* What a member of the set stores for others, when the longest has that much. */
static uint64_t parity_of(const struct scr_reddesc *red, int members, uint64_t longest)
{
    enum scr_scheme scheme = red->scheme;
    int k = scheme == SCR_SCHEME_XOR ? 1 : red->set_failures;
    scr_geom_weaken(&scheme, &k, members);
    if (scheme == SCR_SCHEME_SINGLE)
        return 0;
    uint64_t rows = scheme == SCR_SCHEME_PARTNER ? 1 : (uint64_t)(members - k);
    return in_blocks((longest / rows + 1) * (uint64_t)k + BLOCK);
}

/* This rank's part of the next checkpoint, of data bytes here and longest where the set
 * has most. */
static uint64_t part_of(const struct scr_ctx *ctx, const struct scr_reddesc *red,
                        uint64_t data, uint64_t longest)
{
    uint64_t parity =
        longest > 0 ? parity_of(red, ctx->cache.sets[red->index].n, longest) : 0;
    int reused = ctx->cache.spare.is_there && ctx->cache.spare.store == red->store;
    uint64_t there = reused ? ctx->cache.spare.bytes : 0;
    return data + (parity > there ? parity - there : 0);
}

/* It is taken to be as large as the last, of data bytes, or as what was written of one
 * that failed since. */
static uint64_t next_of_all(const struct scr_ctx *ctx, const struct scr_reddesc *red,
                            uint64_t data)
{
    uint64_t tried = ctx->sizes.tried + ctx->sizes.tried / 4; /* was perhaps not all */
    if (tried > data)
        data = tried;
    const struct scr_comm *set = &ctx->cache.sets[red->index].comm;
    return part_of(ctx, red, data, (uint64_t)scr_max_all(set, (int64_t)data));
}

/* The size found by the last encode is not asked again. */
static int has_span(const struct scr_ctx *ctx, const struct scr_reddesc *red, int last)
{
    return last > 0 && ctx->sizes.tries == 0 && ctx->sizes.span.id == last &&
           ctx->sizes.span.line == red->index;
}

uint64_t scr_space_part(const struct scr_ctx *ctx, const struct scr_reddesc *red)
{
    int last = scr_cache_newest_ckpt(ctx);
    return has_span(ctx, red, last)
               ? part_of(ctx, red, data_of(ctx, last), ctx->sizes.span.longest)
               : 0;
}

/* The virtual nodes of a machine share its devices, as the nodes of a group do a store
 * of theirs. */
static const struct scr_comm *sharers(const struct scr_ctx *ctx,
                                      const struct scr_store *store)
{
    int alone = strcmp(store->group, "NODE") == 0 && ctx->vnode_name == NULL;
    return alone ? &ctx->node : &ctx->world;
}

void scr_space_note(struct scr_ctx *ctx)
{
    int last = scr_cache_newest_ckpt(ctx);
    ctx->sizes.ckpt = last > 0 ? data_of(ctx, last) : ctx->sizes.ckpt;
}

uint64_t scr_space_of_next_all(const struct scr_ctx *ctx, const struct scr_reddesc *red,
                               uint64_t guess)
{
    const struct scr_comm *comm = sharers(ctx, &ctx->descs.store[red->store]);
    int known = scr_or_all(&ctx->world, ctx->sizes.ckpt + ctx->sizes.tried > 0);
    return known ? scr_sum_all(comm, next_of_all(ctx, red, ctx->sizes.ckpt))
                 : scr_sum_all(comm, guess + guess / 8);
}

uint64_t scr_space_lacking_all(const struct scr_ctx *ctx, const struct scr_reddesc *red,
                               int id, uint64_t total)
{
    const struct scr_set *set = &ctx->cache.sets[red->index];
    const struct scr_comm *comm = sharers(ctx, &ctx->descs.store[red->store]);
    uint64_t part = in_blocks(total / (uint64_t)ctx->world.size);
    part += part / 4; /* not all ranks have as much */
    uint64_t v[] = { part + parity_of(red, set->n, part), bytes_of(ctx, id) };
    scr_sums_all(comm, v, 2);
    return v[0] > v[1] ? v[0] - v[1] : 0;
}

/* last is the newest checkpoint in cache. */
static uint64_t as_much_as_all(const struct scr_ctx *ctx, const struct scr_reddesc *red,
                               int last)
{
    return has_span(ctx, red, last) ? scr_space_part(ctx, red)
                                    : next_of_all(ctx, red, data_of(ctx, last));
}

uint64_t scr_space_need_all(const struct scr_ctx *ctx, const struct scr_reddesc *red,
                            uint64_t sum)
{
    const struct scr_comm *comm = sharers(ctx, &ctx->descs.store[red->store]);
    int last = scr_cache_newest_ckpt(ctx);
    if (last == 0)
        return 0;
    return has_span(ctx, red, last) && comm == &ctx->world
               ? sum
               : scr_sum_all(comm, as_much_as_all(ctx, red, last));
}

int scr_space_for_next_all(const struct scr_ctx *ctx, const struct scr_reddesc *red,
                           struct scr_err *why)
{
    char has[32], needs[32];
    const struct scr_store *store = &ctx->descs.store[red->store];
    int rc = SCR_OK;
    int last = scr_cache_newest_ckpt(ctx);
    uint64_t part = last > 0 ? as_much_as_all(ctx, red, last) : 0;
    uint64_t need = scr_sum_all(sharers(ctx, store), part);
    uint64_t room = ctx->node.rank == 0 ? scr_space_left(ctx, red) : UINT64_MAX;
    if (room < need)
        rc = scr_fail(why, SCR_E_FULL, 0,
                      "%s on %s has %s free, a checkpoint takes about %s there",
                      store->path, ctx->node_name,
                      scr_format_size(room, has, sizeof has),
                      scr_format_size(need, needs, sizeof needs));
    return scr_agree_all(&ctx->world, rc, why) == SCR_OK;
}
