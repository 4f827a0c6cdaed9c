/* SPDX-License-Identifier: BSD-3-Clause */
/* A checkpoint that a restart reads in the prefix directory. */
#include <stdlib.h>

#include "base/str.h"
#include "core/ctx.h"
#include "core/edits.h"
#include "core/inplace.h"
#include "core/phase.h"
#include "core/shared.h"

/* The dataset for the index: written in place, or for a shared store. */
static int wants_in_place(const struct scr_ctx *ctx, int id, int is_shared_store)
{
    struct scr_index index = SCR_INDEX_INIT;
    int wants = 0;
    if (scr_prefix_index_read(&ctx->env, &ctx->prefix, &index, NULL) == SCR_OK) {
        struct scr_index_entry e;
        wants = scr_index_get(&index, id, &e, NULL) == SCR_OK &&
                (e.dset.is_bypass || (e.dset.is_shared && !is_shared_store));
    }
    scr_index_fini(&index);
    return wants;
}

int scr_is_read_in_place_all(struct scr_ctx *ctx, int id)
{
    const struct scr_reddesc *red = scr_descs_select(&ctx->descs, 1, 0);
    if (ctx->prm.fetch_bypass || (red != NULL && red->bypass) ||
        scr_cache_is(ctx, id, SCR_CACHE_KEPT))
        return 1;
    int shared = red != NULL && scr_store_is_shared(&ctx->descs.store[red->store]);
    return scr_or_all(&ctx->world,
                      ctx->world.rank == 0 && wants_in_place(ctx, id, shared));
}

/* Enters a file of this rank; shared gets those that others may read too. */
static int enter_file(struct scr_ctx *ctx, int id, const struct scr_listed *f,
                      struct scr_table *shared)
{
    const char *dest = f->asked ? f->asked : f->item.name;
    char *path = scr_plain_path(&ctx->prefix, id, f);
    int rc;
    TRY_OUT(path ? scr_restart_add(&ctx->restart, dest, path) : SCR_E_NOMEM);
    if (f->is_shared && scr_readable_add(shared, dest, path) == NULL)
        TRY_OUT(SCR_E_NOMEM);
out:
    free(path);
    return rc;
}

/* Files unpacked by this rank are recorded first, so that they are removed in any
 * case. */
static int enter_files(struct scr_ctx *ctx, int id, const struct scr_rank_files *mine,
                       struct scr_table *shared, struct scr_err *err)
{
    if (mine == NULL)
        return SCR_OK;
    for (SCR_EACH(struct scr_listed, f, &mine->files))
        TRY(scr_plains_note(&ctx->restart.plain, f, err));
    for (SCR_EACH(struct scr_listed, f, &mine->files)) {
        int rc = enter_file(ctx, id, f, shared);
        if (rc != SCR_OK)
            return scr_fail(err, rc, 0, "files of dataset %d", id);
    }
    return SCR_OK;
}

static int enter_name(struct scr_ctx *ctx, const struct scr_dataset *d, char **name,
                      struct scr_err *err)
{
    ctx->restart.name = scr_strdup(d->name);
    *name = scr_strdup(d->name);
    return ctx->restart.name && *name ? SCR_OK : scr_no_memory(err);
}

int scr_in_place_open_all(struct scr_ctx *ctx, int id, char **name, struct scr_err *err)
{
    struct scr_copy_opts o = { .width = ctx->prm.fetch_width,
                               .crc = ctx->prm.crc_on_flush };
    struct scr_rank2file files = { 0 };
    struct scr_dataset d = { 0 };
    struct scr_table shared = SCR_TABLE_OF(struct scr_readable);
    scr_hash *dset = scr_hash_new();
    scr_restart_fini(&ctx->restart);
    scr_restart_read_there(ctx, id);
    scr_phase_all(ctx, "fetch", id);
    const struct scr_prefix_dset at = scr_prefix_dset_of(ctx, id);
    int rc = scr_fetch_in_place_all(&at, &o, &files, dset, err);
    if (rc == SCR_OK) {
        rc = enter_files(ctx, id, scr_rank2file_rank(&files, ctx->world.rank), &shared,
                         err);
        if (rc == SCR_OK)
            rc = scr_dataset_get(dset, &d, err);
        if (rc == SCR_OK)
            rc = enter_name(ctx, &d, name, err);
        rc = scr_spread_shared_all(ctx, &shared, rc, err);
    }
    if (rc == SCR_OK) {
        ctx->restart.in_place = 1;
        ctx->restart.id = id;
        ctx->ckpt_id = d.ckpt > 0 ? d.ckpt : ctx->ckpt_id;
    } else {
        scr_restart_fini(&ctx->restart);
    }
    scr_rank2file_fini(&files);
    scr_hash_delete(dset);
    scr_table_fini(&shared);
    return rc;
}
