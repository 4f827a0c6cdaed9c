/* SPDX-License-Identifier: BSD-3-Clause */
/* The checkpoint a restart would read: which files it has, and where. */
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/str.h"
#include "core/ctx.h"

void scr_restart_fini(struct scr_restart *r)
{
    free(r->name);
    scr_table_fini(&r->by_dest);
    scr_table_fini(&r->by_name);
    scr_filemap_delete(r->near);
    scr_table_fini(&r->bases);
    scr_catalog_fini(&r->catalog);
    scr_rank2file_fini(&r->share);
    free(r->list);
    scr_str_free(&r->told);
    scr_plains_fini(&r->plain);
    memset(r, 0, sizeof *r);
    scr_table_init(&r->by_dest, sizeof(struct scr_readable));
    scr_table_init(&r->by_name, sizeof(struct scr_readable));
    scr_table_init(&r->bases, sizeof(struct scr_base));
}

struct scr_readable *scr_readable_add(struct scr_table *files, const char *name,
                                      const char *path)
{
    const char *text = scr_arena_text(&files->arena, path);
    struct scr_readable *f = text != NULL ? scr_table_add(files, name) : NULL;
    if (f != NULL)
        f->path = text;
    return f;
}

int scr_restart_add(struct scr_restart *r, const char *dest, const char *path)
{
    const char *base = scr_path_base(dest);
    int again = scr_table_find(&r->by_name, base) != NULL;
    return scr_readable_add(&r->by_dest, dest, path) != NULL &&
                   scr_readable_add(&r->by_name, base, again ? "" : path) != NULL
               ? SCR_OK
               : SCR_E_NOMEM;
}

int scr_restart_add_other(struct scr_restart *r, const char *dest, const char *path)
{
    struct scr_readable *f = scr_readable_add(&r->by_dest, dest, path);
    if (f != NULL)
        f->is_others = 1;
    return f != NULL ? SCR_OK : SCR_E_NOMEM;
}

void scr_restart_read_there(struct scr_ctx *ctx, int id)
{
    struct scr_restart *r = &ctx->restart;
    r->plain =
        (struct scr_plains){ .env = &ctx->env, .prefix = &ctx->prefix, .id = id };
    r->catalog = (struct scr_catalog){ .env = &ctx->env,
                                       .prefix = &ctx->prefix,
                                       .id = id,
                                       .rank = ctx->world.rank,
                                       .size = ctx->world.size };
}
