/* SPDX-License-Identifier: BSD-3-Clause */
/* The datasets in cache: what the ranks have agreed on of each, and looking them up. */
#include <limits.h>
#include <string.h>

#include "base/str.h"
#include "core/ctx.h"

int scr_cache_reserve(struct scr_ctx *ctx, size_t more, struct scr_err *err)
{
    size_t room = ctx->cache.nheld + more;
    if (room <= ctx->cache.room)
        return SCR_OK;
    struct scr_held *held = scr_reallocarray(ctx->cache.held, room, sizeof *held);
    ctx->cache.held = held != NULL ? held : ctx->cache.held;
    int *leaving = scr_reallocarray(ctx->cache.leaving, room, sizeof *leaving);
    ctx->cache.leaving = leaving != NULL ? leaving : ctx->cache.leaving;
    TRY(held && leaving ? SCR_OK : scr_no_memory(err));
    ctx->cache.room = room;
    return SCR_OK;
}

struct scr_held *scr_cache_held(const struct scr_ctx *ctx, int id)
{
    for (size_t i = 0; i < ctx->cache.nheld; i++)
        if (ctx->cache.held[i].id == id)
            return &ctx->cache.held[i];
    return NULL;
}

void scr_cache_set_state(struct scr_ctx *ctx, int id, enum scr_cache_state state)
{
    struct scr_held *h = scr_cache_held(ctx, id);
    if (h != NULL && state == SCR_CACHE_GONE)
        *h = ctx->cache.held[--ctx->cache.nheld];
    else if (h != NULL)
        h->state = state;
    else if (state != SCR_CACHE_GONE && ctx->cache.nheld < ctx->cache.room)
        ctx->cache.held[ctx->cache.nheld++] =
            (struct scr_held){ .id = id, .state = state };
}

void scr_cache_enter(struct scr_ctx *ctx, int id, int kind,
                     const struct scr_reddesc *red)
{
    scr_cache_set_state(ctx, id, SCR_CACHE_READY);
    struct scr_held *h = scr_cache_held(ctx, id);
    h->kind = kind;
    h->store = red->store;
    h->line = red->index;
    h->losses = (int)ctx->cache.losses[red->index];
}

static int store_of(const struct scr_ctx *ctx, const char *path)
{
    for (int i = 0; i < ctx->descs.nstores && path != NULL; i++)
        if (strcmp(ctx->descs.store[i].path, path) == 0)
            return i;
    return INT_MAX;
}

/* What the ranks agree on of a dataset: the least of each. */
enum { LOSSES, LINE, KIND, STORE, SAID };

static void say(const struct scr_ctx *ctx, int id, int64_t *v)
{
    struct scr_dataset d;
    const struct scr_redplace kept = scr_redplace_get(scr_cache_any_desc(ctx, id));
    int kind = 0;
    if (scr_cache_view(ctx, id, &d))
        kind = (d.is_ckpt ? SCR_IS_CKPT : 0) | (d.is_output ? SCR_IS_OUTPUT : 0);
    v[LOSSES] = kept.failures;
    v[LINE] = kept.index;
    v[KIND] = -kind;
    v[STORE] = store_of(ctx, kept.store);
}

static void enter(struct scr_ctx *ctx, int id, enum scr_cache_state state,
                  const int64_t *v)
{
    scr_cache_set_state(ctx, id, state);
    struct scr_held *h = scr_cache_held(ctx, id);
    h->line = (int)v[LINE];
    h->kind = (int)-v[KIND];
    h->store = v[STORE] < INT_MAX ? (int)v[STORE] : -1;
    h->losses = h->store >= 0 && scr_store_is_shared(&ctx->descs.store[h->store])
                    ? 0
                    : (int)v[LOSSES];
}

/* rc: of this rank until now; if any rank's is an error the state stays as it was. */
static int enter_all(struct scr_ctx *ctx, int id, enum scr_cache_state state, int rc,
                     struct scr_err *err)
{
    int64_t v[1 + SAID];
    say(ctx, id, &v[1]);
    rc = scr_agree_mins_all(&ctx->world, rc, v, 1 + SAID, err);
    if (rc == SCR_OK)
        enter(ctx, id, state, &v[1]);
    return rc;
}

void scr_cache_enter_all(struct scr_ctx *ctx, int id, enum scr_cache_state state)
{
    (void)enter_all(ctx, id, state, SCR_OK, NULL);
}

int scr_cache_enter_ready_all(struct scr_ctx *ctx, int id, int rc, struct scr_err *err)
{
    struct scr_dataset d;
    if (rc == SCR_OK)
        rc = scr_cache_dataset(ctx, id, &d, err);
    return enter_all(ctx, id, SCR_CACHE_READY, rc, err);
}

int scr_cache_say(const void *ctx, int id, int64_t *least, struct scr_err *err)
{
    struct scr_dataset d;
    _Static_assert((int)SAID == SCR_RESTORE_LEAST, "all of it rides along");
    TRY(scr_cache_dataset(ctx, id, &d, err));
    say(ctx, id, least);
    return SCR_OK;
}

void scr_cache_enter_restored(struct scr_ctx *ctx, int id)
{
    enter(ctx, id, SCR_CACHE_READY, ctx->cache.restored.least);
}

int scr_cache_next(const struct scr_ctx *ctx, int above)
{
    int next = 0;
    for (size_t i = 0; i < ctx->cache.nheld; i++) {
        int id = ctx->cache.held[i].id;
        if (id > above && (next == 0 || id < next))
            next = id;
    }
    return next;
}

int scr_cache_newest_if(const struct scr_ctx *ctx, scr_held_is *is, int below)
{
    int newest = 0;
    for (size_t i = 0; i < ctx->cache.nheld; i++) {
        const struct scr_held *h = &ctx->cache.held[i];
        if (h->id > newest && (below == 0 || h->id < below) && is(h))
            newest = h->id;
    }
    return newest;
}

int scr_held_is_ready(const struct scr_held *h)
{
    return h->state == SCR_CACHE_READY;
}

int scr_held_is_ckpt(const struct scr_held *h)
{
    return scr_held_is_ready(h) && (h->kind & SCR_IS_CKPT) != 0;
}

int scr_cache_newest_ckpt(const struct scr_ctx *ctx)
{
    return scr_cache_newest_if(ctx, scr_held_is_ckpt, 0);
}

/* --- one of them --- */

int scr_cache_is(const struct scr_ctx *ctx, int id, enum scr_cache_state state)
{
    const struct scr_held *h = scr_cache_held(ctx, id);
    return h != NULL && h->state == state;
}

int scr_cache_is_ready(const struct scr_ctx *ctx, int id)
{
    return scr_cache_is(ctx, id, SCR_CACHE_READY);
}

int scr_cache_is_waiting(const struct scr_ctx *ctx, int id)
{
    const struct scr_held *h = scr_cache_held(ctx, id);
    return h != NULL && (h->state == SCR_CACHE_FOREIGN || h->state == SCR_CACHE_KEPT ||
                         h->set_aside);
}

int scr_cache_has(const struct scr_ctx *ctx, int id)
{
    return scr_cache_held(ctx, id) != NULL;
}

int scr_cache_refuse_kept(int id, struct scr_err *err)
{
    return scr_fail(
        err, SCR_E_STATE, 0,
        "dataset %d in cache was not restored: a later start may restore it", id);
}

int scr_cache_kind(const struct scr_ctx *ctx, int id)
{
    const struct scr_held *h = scr_cache_held(ctx, id);
    return h != NULL ? h->kind : 0;
}

int scr_cache_dataset(const struct scr_ctx *ctx, int id, struct scr_dataset *d,
                      struct scr_err *err)
{
    const scr_hash *h = scr_filemap_get_dataset(ctx->cache.map, id, ctx->world.rank);
    if (h == NULL)
        return scr_fail(err, SCR_E_NOENT, 0, "dataset %d is not in cache", id);
    return scr_dataset_get(h, d, err);
}

int scr_cache_check_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    struct scr_dataset d;
    return scr_agree_all(&ctx->world, scr_cache_dataset(ctx, id, &d, err), err);
}

const scr_hash *scr_cache_any_desc(const struct scr_ctx *ctx, int id)
{
    for (SCR_ENTRIES(e, ctx->cache.map, id))
        if (scr_redplace_get(e->desc).store != NULL)
            return e->desc;
    return NULL;
}

const scr_hash *scr_cache_any_dataset(const struct scr_ctx *ctx, int id)
{
    struct scr_dataset d;
    for (SCR_ENTRIES(e, ctx->cache.map, id))
        if (scr_dataset_get(e->dataset, &d, NULL) == SCR_OK)
            return e->dataset;
    return NULL;
}

int scr_cache_view(const struct scr_ctx *ctx, int id, struct scr_dataset *d)
{
    const scr_hash *dset = scr_cache_any_dataset(ctx, id);
    return dset != NULL && scr_dataset_get(dset, d, NULL) == SCR_OK;
}

/* Not every rank knows datasets of a different number of ranks. */
int scr_cache_find_all(const struct scr_ctx *ctx, const char *name)
{
    int found = 0;
    struct scr_dataset d;
    for (size_t i = 0; i < ctx->cache.nheld; i++) {
        const struct scr_held *h = &ctx->cache.held[i];
        if (h->state != SCR_CACHE_LOST && h->id > found &&
            scr_cache_view(ctx, h->id, &d) && strcmp(d.name, name) == 0)
            found = h->id;
    }
    return (int)scr_max_all(&ctx->world, found);
}

const char *scr_cache_name_of(const struct scr_ctx *ctx, int id)
{
    struct scr_dataset d;
    return scr_cache_view(ctx, id, &d) ? d.name : "?";
}

char *scr_cache_name_all(const struct scr_ctx *ctx, int id)
{
    struct scr_dataset d;
    char *name = scr_cache_view(ctx, id, &d) ? scr_strdup(d.name) : NULL;
    (void)scr_first_str_all(&ctx->world, &name, NULL);
    return name;
}
