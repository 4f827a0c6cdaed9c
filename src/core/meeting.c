/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets that meet on the prefix: two of one name, or with files at one path, also
 * those of different ranks. */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "core/ctx.h"
#include "par/flush_async.h"
#include "par/lists.h"
#include "xfer/zst.h"

/* Whether it will be compressed, or was before a flush was cut short, is not known
 * before it is there. */
static int add_both(scr_hash *dests, const char *dest)
{
    char *zst = scr_asprintf("%s" SCR_ZST_SUFFIX, dest);
    int ok = zst != NULL && scr_hash_set(dests, dest, NULL) != NULL &&
             scr_hash_set(dests, zst, NULL) != NULL;
    free(zst);
    return ok;
}

int scr_cache_dests(const struct scr_ctx *ctx, int id, scr_hash *dests)
{
    int me = ctx->world.rank, ok = dests != NULL;
    for (struct scr_file *f = scr_filemap_first_file(ctx->map, id, me); f != NULL;
         f = scr_file_next(f)) {
        const scr_meta *meta = scr_file_meta(f);
        if (!scr_meta_has_dest(meta)) /* redundancy files have none */
            continue;
        char *dest = scr_meta_dest(meta);
        ok = ok && dest != NULL && add_both(dests, dest);
        free(dest);
    }
    return ok;
}

static int is_same_name(const struct scr_ctx *ctx, int a, int b)
{
    return strcmp(scr_cache_name_of(ctx, a), scr_cache_name_of(ctx, b)) == 0;
}

/* Tells the keepers of this rank's paths of id: send = {<keeper>: {<what>: {<path>}}}.
 */
static int tell(const struct scr_ctx *ctx, int id, int what, scr_hash *send)
{
    scr_hash *dests = scr_hash_new();
    int ok = scr_cache_dests(ctx, id, dests);
    for (SCR_HASH_EACH(e, dests)) {
        const char *path = scr_hash_elem_key(e);
        ok = ok && scr_hash_setf(send, NULL, "%d %d %s",
                                 scr_path_keeper(&ctx->world, path), what, path);
    }
    scr_hash_delete(dests);
    return ok;
}

/* All about the datasets under way, by their place in the list, and about id as one
 * more. */
static int tell_of_all(const struct scr_ctx *ctx, int id, scr_hash *send)
{
    const struct scr_async *s = &ctx->async;
    int ok = tell(ctx, id, s->n, send);
    for (int i = 0; i < s->n; i++)
        ok = tell(ctx, scr_flush_async_id(s->flush[i]), i, send) && ok;
    return ok;
}

/* 1 if some rank gives the path to the dataset called that. */
static int is_given(const scr_hash *recv, const char *what, const char *path)
{
    for (SCR_HASH_EACH(from, recv))
        if (scr_hash_get_kv(scr_hash_elem_hash(from), what, path) != NULL)
            return 1;
    return 0;
}

/* The last place whose dataset has one of id's paths that this rank keeps; -1: none. */
static int last_that_meets(const scr_hash *recv, int n)
{
    char what[16];
    for (int i = n - 1; i >= 0; i--) {
        snprintf(what, sizeof what, "%d", i);
        for (SCR_HASH_EACH(from, recv))
            for (SCR_HASH_EACH(e, scr_hash_getf(scr_hash_elem_hash(from), "%d", n)))
                if (is_given(recv, what, scr_hash_elem_key(e)))
                    return i;
    }
    return -1;
}

int scr_meeting_last_all(struct scr_ctx *ctx, int id)
{
    const struct scr_async *s = &ctx->async;
    int last = -1;
    if (s->n == 0)
        return -1;
    scr_hash *send = scr_hash_new(), *recv = scr_hash_new();
    int ok = recv != NULL && tell_of_all(ctx, id, send);
    ok = scr_and_all(&ctx->world, ok) &&
         scr_hash_exchange_all(&ctx->world, send, recv, NULL) == SCR_OK;
    last = ok ? last_that_meets(recv, s->n) : s->n - 1;
    for (int i = last + 1; i < s->n; i++)
        if (is_same_name(ctx, scr_flush_async_id(s->flush[i]), id))
            last = i;
    scr_hash_delete(send);
    scr_hash_delete(recv);
    return (int)scr_max_all(&ctx->world, last);
}
