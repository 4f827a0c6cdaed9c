/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets that meet on the prefix: two of one name, or with files at one path, also
 * those of different ranks. */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "core/ctx.h"
#include "core/meeting.h"
#include "par/pfs/flush_async.h"
#include "par/pfs/lists.h"
#include "store/realdir.h"
#include "xfer/zst.h"

/* Until it exists, it is not known whether it will be compressed, or was before a flush
 * was cut short. */
static int add_both(struct scr_realdir *real, struct scr_table *dests, const char *dest)
{
    char *zst = scr_asprintf("%s" SCR_ZST_SUFFIX, dest);
    int ok = zst != NULL && scr_realdir_add(real, dest, dests) &&
             scr_realdir_add(real, zst, dests);
    free(zst);
    return ok;
}

int scr_cache_dests(const struct scr_ctx *ctx, int id, struct scr_table *dests)
{
    struct scr_realdir real = SCR_REALDIR_OF(&ctx->env, &ctx->prefix);
    int me = ctx->world.rank, ok = 1;
    for (SCR_FILES(f, ctx->cache.map, id, me)) {
        const scr_meta *meta = scr_file_meta(f);
        if (!scr_meta_has_dest(meta)) /* redundancy files have none */
            continue;
        char *dest = scr_meta_dest(meta);
        ok = ok && dest != NULL && add_both(&real, dests, dest);
        free(dest);
    }
    scr_realdir_fini(&real);
    return ok;
}

/* Tells the keepers of this rank's paths of id: "<what>/<path>". */
static int tell(const struct scr_ctx *ctx, int id, int what, struct scr_parcels *send)
{
    struct scr_table dests = SCR_TABLE_OF(struct scr_item);
    int ok = scr_cache_dests(ctx, id, &dests);
    for (SCR_EACH(struct scr_item, path, &dests))
        ok = ok && scr_parcel_printf(send, scr_path_keeper(&ctx->world, path->name),
                                     NULL, "%d/%s", what, path->name) == SCR_OK;
    scr_table_fini(&dests);
    return ok ? SCR_OK : SCR_E_NOMEM;
}

/* All about the datasets under way, by their place in the list, and about id as one
 * more. */
static int tell_of_all(const struct scr_ctx *ctx, int id, struct scr_parcels *send)
{
    const struct scr_flusher *s = &ctx->flusher;
    TRY(tell(ctx, id, s->n, send));
    for (int i = 0; i < s->n; i++)
        TRY(tell(ctx, scr_flush_async_id(s->flush[i]), i, send));
    return SCR_OK;
}

/* A path this rank keeps. */
struct meeting {
    struct scr_item item;
    int is_its; /* it is one of id's */
    int after;  /* the place behind that of the last dataset under way that has it, 0:
                   none has */
};

static void hear(struct scr_table *paths, const char *text, int n)
{
    char *end = NULL;
    int what = (int)strtol(text, &end, 10);
    struct meeting *m = scr_table_add(paths, end + 1);
    if (m == NULL)
        return;
    if (what == n)
        m->is_its = 1;
    else if (what >= m->after)
        m->after = what + 1;
}

/* The last place whose dataset has one of id's paths that this rank keeps, which is the
 * last in doubt; -1: none. */
static int last_that_meets(const struct scr_parcels *recv, int n)
{
    struct scr_table paths = SCR_TABLE_OF(struct meeting);
    int last = -1;
    for (size_t i = 0; i < recv->n; i++)
        for (SCR_TEXTS(text, &recv->of[i].bytes))
            hear(&paths, text, n);
    for (SCR_EACH(struct meeting, m, &paths))
        if (m->is_its && m->after > last + 1)
            last = m->after - 1;
    last = scr_table_ok(&paths) ? last : n - 1;
    scr_table_fini(&paths);
    return last;
}

int scr_meeting_last_all(struct scr_ctx *ctx, int id)
{
    const struct scr_flusher *s = &ctx->flusher;
    struct scr_parcels send = { 0 }, recv = { 0 };
    if (s->n == 0)
        return -1;
    int rc = tell_of_all(ctx, id, &send);
    rc = scr_parcels_exchange_all(&ctx->world, rc, &send, &recv, NULL);
    int last = rc == SCR_OK ? last_that_meets(&recv, s->n) : s->n - 1;
    for (int i = last + 1; i < s->n; i++)
        if (strcmp(scr_cache_name_of(ctx, scr_flush_async_id(s->flush[i])),
                   scr_cache_name_of(ctx, id)) == 0)
            last = i;
    scr_parcels_free(&send);
    scr_parcels_free(&recv);
    return (int)scr_max_all(&ctx->world, last);
}
