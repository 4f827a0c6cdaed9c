/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of several datasets of one number in cache: nodes that were away came back with
 * files of an older one. The newest that can be restored is; what the nodes have of the
 * others is put aside first (store/aside.h), and removed when that has succeeded. */
#include "core/rivalry.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/str.h"
#include "par/redundancy/rivals.h"
#include "store/aside.h"
#include "store/dset_names.h"

static struct scr_aside aside_of(struct scr_ctx *ctx, int id)
{
    return (struct scr_aside){ &ctx->env, &ctx->cntl, ctx->cache.map, id };
}

/* From a descriptor: the place and the number of ranks; 0: there is none. */
static int64_t mark_of(const scr_hash *desc)
{
    const struct scr_redplace k = scr_redplace_get(desc);
    char *text = scr_asprintf("%d %s %s", k.ranks, k.group ? k.group : "",
                              k.store ? k.store : "");
    int64_t mark = desc != NULL ? scr_text_mark(text) : 0;
    free(text);
    return mark;
}

void scr_rivals_describe(const struct scr_ctx *ctx, int line, struct scr_setdesc *d)
{
    const struct scr_reddesc *red = &ctx->descs.red[line];
    scr_set_describe(&ctx->cache.sets[line], ctx->world.size, red->scheme,
                     red->set_failures, d);
}

/* Where this rank has its own descriptor of a dataset, and nothing of other ranks: the
 * line it was written by, if that still has the same store and set; else -1. INT_MAX:
 * it has nothing, and believes those that have. */
static int line_of(const struct scr_ctx *ctx, int id)
{
    int me = ctx->world.rank;
    struct scr_setdesc was, is;
    const scr_hash *desc = scr_filemap_get_desc(ctx->cache.map, id, me);
    const struct scr_redplace k = scr_redplace_get(desc);
    for (SCR_ENTRIES(e, ctx->cache.map, id))
        if (e->rank != me)
            return -1;
    if (desc == NULL)
        return INT_MAX;
    if (k.store == NULL || k.index < 0 || k.index >= ctx->descs.nreds ||
        !ctx->descs.red[k.index].enabled)
        return -1;
    const struct scr_store *store = &ctx->descs.store[ctx->descs.red[k.index].store];
    scr_setdesc_get(desc, &was);
    scr_rivals_describe(ctx, k.index, &is);
    return strcmp(k.store, store->path) == 0 &&
                   strcmp(k.group != NULL ? k.group : "NODE", store->group) == 0 &&
                   memcmp(&was, &is, scr_setdesc_size(&is)) == 0
               ? k.index
               : -1;
}

/* By this rank's own descriptor. */
static enum scr_placed placed(const struct scr_ctx *ctx, int id)
{
    int me = ctx->world.rank;
    enum scr_placed is = SCR_PLACED_ELSE;
    const struct scr_redplace k =
        scr_redplace_get(scr_filemap_get_desc(ctx->cache.map, id, me));
    int is_local = k.group == NULL || strcmp(k.group, "NODE") == 0;
    char *cache = k.store ? scr_place_dir(&ctx->place, k.store, is_local) : NULL;
    char *dset_dir = cache != NULL ? scr_dset_path(cache, id) : NULL;
    if (dset_dir != NULL || scr_filemap_entry(ctx->cache.map, id, me) == NULL)
        is = scr_holdings_placed(ctx->cache.map, id, me, dset_dir);
    free(dset_dir);
    free(cache);
    return is;
}

enum { ROOT, OLDEST, NEWEST, ASIDE, DESC, SAME_DESC, LINE, SAME_LINE, PLACED, N };

/* Of a dataset, as this rank knows it: the least of all ranks counts. */
static void say(const struct scr_ctx *ctx, int id, int64_t *v)
{
    const scr_hash *desc = scr_cache_any_desc(ctx, id);
    v[ROOT] = desc != NULL ? ctx->world.rank : ctx->world.size;
    scr_filemap_made(ctx->cache.map, id, &v[OLDEST], &v[NEWEST]);
    v[NEWEST] = -v[NEWEST];
    v[ASIDE] = -scr_filemap_has_aside(ctx->cache.map, id);
    v[DESC] = mark_of(desc);
    v[SAME_DESC] = -v[DESC];
    v[LINE] = line_of(ctx, id);
    v[SAME_LINE] = v[LINE] == INT_MAX ? INT_MAX : -v[LINE];
    v[PLACED] = placed(ctx, id);
}

static void hear(struct scr_known *known, const int64_t *v)
{
    known->root = (int)v[ROOT];
    known->alike = v[DESC] != 0 && v[DESC] == -v[SAME_DESC];
    known->line = v[LINE] == -v[SAME_LINE] ? (int)v[LINE] : -1;
    known->placed =
        known->alike || known->line >= 0 ? (enum scr_placed)v[PLACED] : SCR_PLACED_ELSE;
    known->several = v[ASIDE] < 0 || (v[NEWEST] < 0 && v[OLDEST] != -v[NEWEST]);
}

void scr_rivals_look_all(const struct scr_ctx *ctx, const int *ids, size_t n,
                         struct scr_known *known)
{
    int64_t v[SCR_RIVALS_LOOK][N];
    for (size_t i = 0; i < n; i++)
        say(ctx, ids[i], v[i]);
    scr_mins_all(&ctx->world, v[0], (int)n * N);
    for (size_t i = 0; i < n; i++)
        hear(&known[i], v[i]);
}

/* --- before --- */

int scr_rivals_settle_all(struct scr_ctx *ctx, int id, struct scr_rivals *r,
                          struct scr_err *err)
{
    const struct scr_aside a = aside_of(ctx, id);
    const struct scr_comm *world = &ctx->world;
    /* First what a run that died in the middle left half done. */
    TRY(scr_agree_all(world, scr_aside_return(&a, err), err));
    TRY(scr_rivals_choose_all(&ctx->env, world, ctx->cache.map, id, &r->created, err));
    int rc = scr_agree_all(world, scr_aside_put(&a, r->created, err), err);
    if (rc == SCR_OK) /* no file is in another's place any more */
        rc = scr_agree_all(world, scr_aside_take(&a, r->created, err), err);
    r->came = scr_filemap_entry(ctx->cache.map, id, world->rank) == NULL;
    return rc;
}

int scr_rivals_drop_begun(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    const struct scr_aside a = aside_of(ctx, id);
    return scr_aside_drop_begun(&a, ctx->world.size, err);
}

/* --- after --- */

static void remove_part(struct scr_ctx *ctx, int id, const char *dset_dir)
{
    int me = ctx->world.rank;
    char *cache = dset_dir ? scr_path_dir(dset_dir) : NULL;
    for (SCR_FILES(f, ctx->cache.map, id, me))
        if (scr_file_remove(ctx->env.sys, f->item.name, NULL) != SCR_OK)
            goto out; /* it stays named */
    if (cache != NULL)
        (void)scr_cache_remove_rank(&ctx->env, cache, id, me, NULL);
    scr_filemap_remove_rank_by_dataset(ctx->cache.map, id, me);
out:
    free(cache);
}

/* Files that came to this node for the chosen dataset make room, if all of them are
 * elsewhere, too: a later start may choose another dataset. */
static void put_back_all(struct scr_ctx *ctx, int id, const struct scr_rivals *r)
{
    const struct scr_aside a = aside_of(ctx, id);
    struct scr_err why = SCR_ERR_INIT;
    if (r->came && !r->released)
        remove_part(ctx, id, r->dset_dir);
    scr_barrier_all(&ctx->world);
    if (scr_aside_return(&a, &why) != SCR_OK)
        scr_log(&ctx->local_log, SCR_LOG_WARN,
                "dataset %d: files of an older dataset of this number stay aside: %s",
                id, why.text);
}

void scr_rivals_end_all(struct scr_ctx *ctx, int id, int rc, const struct scr_rivals *r)
{
    const struct scr_aside a = aside_of(ctx, id);
    struct scr_err why = SCR_ERR_INIT;
    if (rc != SCR_OK) {
        put_back_all(ctx, id, r);
        return;
    }
    scr_log(&ctx->log, SCR_LOG_NOTE,
            "%s (dataset %d): some nodes had files of another dataset of this number; "
            "this one is restored",
            scr_cache_name_of(ctx, id), id);
    if (scr_filemap_has_aside(ctx->cache.map, id) &&
        scr_aside_drop(&a, ctx->world.size, &why) != SCR_OK)
        scr_log(&ctx->local_log, SCR_LOG_WARN,
                "dataset %d: files of another dataset of this number stay: %s", id,
                why.text);
}
