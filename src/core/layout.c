/* SPDX-License-Identifier: BSD-3-Clause */
/* SCR_PRESERVE_DIRECTORIES=0: every dataset in a directory of its own below the prefix,
 * scr.dataset.<id>/<name>, whatever directories the application named; ranks that call
 * files alike get one each in it. The path the application asks for is kept as ASKED.
 */
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/str.h"
#include "core/ctx.h"
#include "par/owners.h"

static int no_memory(const struct scr_ctx *ctx, struct scr_err *err)
{
    return scr_fail(err, SCR_E_NOMEM, 0, "files of dataset %d: out of memory",
                    ctx->out.id);
}

/* dests = {<destination>: {<path in cache>}}; names in the rank's directory are unique.
 */
static int choose_dests(const struct scr_ctx *ctx, int by_rank, scr_hash *dests,
                        struct scr_err *err)
{
    int id = ctx->out.id, me = ctx->world.rank;
    size_t skip = strlen(ctx->out.rank_dir) + 1;
    scr_hash_unset_all(dests);
    for (struct scr_file *f = scr_filemap_first_file(ctx->map, id, me); f;
         f = scr_file_next(f)) {
        const char *path = f->item.name;
        char *dest =
            by_rank ? scr_asprintf("scr.dataset.%d/rank.%d/%s", id, me, path + skip)
                    : scr_asprintf("scr.dataset.%d/%s", id, path + skip);
        int ok = dest != NULL && scr_hash_set_val(dests, dest, path) != NULL;
        free(dest);
        if (!ok)
            return no_memory(ctx, err);
    }
    return dests != NULL ? SCR_OK : no_memory(ctx, err);
}

static int set_dest(struct scr_ctx *ctx, const char *dest, const char *path)
{
    scr_meta *meta = scr_filemap_get_meta(ctx->map, ctx->out.id, ctx->world.rank, path);
    char *asked = scr_meta_dest(meta), *dir = scr_path_dir(dest);
    if (asked != NULL && dir != NULL) {
        scr_meta_set_asked(meta, asked);
        scr_meta_set_origpath(meta, dir);
        scr_meta_set_origname(meta, scr_path_base(dest));
    }
    int ok = asked != NULL && dir != NULL && !meta->arena->lost;
    free(dir);
    free(asked);
    return ok;
}

int scr_layout_all(struct scr_ctx *ctx, struct scr_err *err)
{
    int any = 0;
    scr_hash *dests = scr_hash_new(), *alike = scr_hash_new();
    int rc = alike ? choose_dests(ctx, 0, dests, err) : no_memory(ctx, err);
    rc = scr_owners_find_all(&ctx->world, dests, NULL, 0, rc, alike, &any, err);
    if (rc == SCR_OK && any)
        rc = choose_dests(ctx, 1, dests, err);
    for (SCR_HASH_EACH(e, dests)) {
        const char *dest = scr_hash_elem_key(e);
        if (rc == SCR_OK && !set_dest(ctx, dest, scr_hash_get_val(dests, dest)))
            rc = no_memory(ctx, err);
    }
    scr_hash_delete(dests);
    scr_hash_delete(alike);
    return scr_agree_all(&ctx->world, rc, err);
}
