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
    free(r->dir);
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
    const char *text = scr_arena_share(&files->arena, path);
    struct scr_readable *f =
        text != NULL || path == NULL ? scr_table_add(files, name) : NULL;
    if (f != NULL)
        f->path = text;
    return f;
}

int scr_restart_add(struct scr_restart *r, const char *dest, const char *path)
{
    const char *rel = scr_path_rest(r->dir, path);
    int is_there = rel != NULL && strcmp(rel, scr_path_base(dest)) == 0;
    struct scr_readable *f =
        scr_readable_add(&r->by_dest, dest, is_there ? NULL : path);
    if (f != NULL)
        f->is_named = 1;
    return f != NULL ? SCR_OK : SCR_E_NOMEM;
}

int scr_readable_path(const struct scr_ctx *ctx, const struct scr_readable *f,
                      const char **path, struct scr_err *err)
{
    const struct scr_restart *r = &ctx->restart;
    *path = f != NULL ? f->path : NULL;
    if (f == NULL || f->path != NULL)
        return SCR_OK;
    char *own = scr_path_join(r->dir, scr_path_base(f->item.name));
    TRY(own ? SCR_OK : scr_no_memory(err));
    const struct scr_entry *e =
        scr_filemap_entry(ctx->cache.map, r->id, ctx->world.rank);
    const struct scr_file *file = e != NULL ? scr_table_find(&e->files, own) : NULL;
    *path = file != NULL ? file->item.name : NULL;
    free(own);
    return SCR_OK;
}

static int enter_name(struct scr_ctx *ctx, const struct scr_readable *f,
                      struct scr_err *err)
{
    struct scr_table *names = &ctx->restart.by_name;
    const char *path, *base = scr_path_base(f->item.name);
    TRY(scr_readable_path(ctx, f, &path, err));
    if (path == NULL)
        return SCR_OK;
    const char *first = scr_table_find(names, base) == NULL ? path : "";
    return scr_readable_add(names, base, first) != NULL ? SCR_OK : scr_no_memory(err);
}

/* After an error the next call enters all of them. */
int scr_restart_enter_names(struct scr_ctx *ctx, struct scr_err *err)
{
    struct scr_restart *r = &ctx->restart;
    int rc = SCR_OK;
    if (r->has_names)
        return SCR_OK;
    for (SCR_EACH(struct scr_readable, f, &r->by_dest))
        if (rc == SCR_OK && f->is_named)
            rc = enter_name(ctx, f, err);
    if (rc != SCR_OK)
        scr_table_fini(&r->by_name);
    r->has_names = rc == SCR_OK;
    return rc;
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
