/* SPDX-License-Identifier: BSD-3-Clause */
/* When datasets go to the prefix, and the flush file that says where each one is. */
#include <stdlib.h>

#include "base/str.h"
#include "base/units.h"
#include "core/ctx.h"
#include "par/distribute.h"

struct mark {
    int id;
    const scr_hash *dset;
    int on, off;
};

static int edit_mark(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    const struct mark *m = arg;
    int rc = m->dset ? scr_flush_set_dataset(h, m->dset) : SCR_OK;
    for (int bit = SCR_LOC_CACHE; bit <= SCR_LOC_SYNC_FLUSHING && rc == SCR_OK;
         bit <<= 1)
        if ((m->on | m->off) & bit)
            rc = scr_flush_set_location(h, m->id, bit, (m->on & bit) != 0);
    *changed = 1;
    return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "flush file, dataset %d", m->id);
}

int scr_flush_mark_all(struct scr_ctx *ctx, int id, const scr_hash *dset, int on,
                       int off, struct scr_err *err)
{
    struct mark m = { id, dset, on, off };
    return scr_edit_state_all(ctx, "flush.scr", edit_mark, &m, err);
}

static int edit_forget(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    int id = *(const int *)arg;
    (void)err;
    *changed = scr_hash_get_kv_int(h, "DATASET", id) != NULL;
    if (*changed)
        scr_flush_remove(h, id);
    return SCR_OK;
}

int scr_flush_forget_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    return scr_edit_state_all(ctx, "flush.scr", edit_forget, &id, err);
}

int scr_flush_needed_all(struct scr_ctx *ctx, int id, int *need, struct scr_err *err)
{
    int rc = SCR_OK, answer = 0;
    if (ctx->world.rank == 0) {
        scr_hash *h = scr_hash_new();
        rc = scr_prefix_state_read(&ctx->env, &ctx->prefix, "flush.scr", h, err);
        if (rc == SCR_OK)
            answer = (scr_flush_get_location(h, id) & SCR_LOC_PFS) == 0;
        scr_hash_delete(h);
    }
    rc = scr_agree_all(&ctx->world, rc, err);
    *need = scr_or_all(&ctx->world, answer);
    return rc;
}

int scr_flush_dataset_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    const scr_hash *dset = scr_filemap_get_dataset(ctx->map, id, ctx->world.rank);
    struct scr_copy_opts o = { .width = ctx->prm.flush_width,
                               .buf = (size_t)ctx->prm.file_buf_size,
                               .crc = ctx->prm.crc_on_flush };
    uint64_t bytes = 0;
    int rc = scr_flush_mark_all(ctx, id, dset, SCR_LOC_CACHE | SCR_LOC_SYNC_FLUSHING, 0,
                                err);
    if (rc != SCR_OK)
        return rc;
    scr_phase_all(ctx, "flush", id);
    double start = scr_now_mono();
    SCR_EVENT(ctx, .event = "FLUSH_START", .dset = id);
    rc = scr_flush_all(&ctx->env, &ctx->world, &ctx->prefix, &o, id, dset, ctx->map,
                       &bytes, err);
    SCR_EVENT(ctx, .event = rc == SCR_OK ? "FLUSH_SUCCESS" : "FLUSH_FAIL", .dset = id,
              .bytes = (int64_t)bytes, .secs = scr_now_mono() - start,
              .note = rc == SCR_OK || err == NULL ? NULL : err->text);
    int done = rc == SCR_OK ? SCR_LOC_PFS : 0;
    int rc2 = scr_flush_mark_all(ctx, id, dset, done, SCR_LOC_SYNC_FLUSHING,
                                 rc == SCR_OK ? err : NULL);
    return rc != SCR_OK ? rc : rc2;
}

static int flush_if_needed_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    int need = 0;
    int rc = scr_flush_needed_all(ctx, id, &need, err);
    return rc == SCR_OK && need ? scr_flush_dataset_all(ctx, id, err) : rc;
}

int scr_flush_pending_all(struct scr_ctx *ctx, int newest, struct scr_err *err)
{
    int *ids = NULL, n = 0;
    int rc = scr_list_datasets_all(&ctx->world, ctx->map, &ids, &n, err);
    for (int i = 0; i < n && rc == SCR_OK; i++) {
        struct scr_dataset d;
        if (!scr_cache_is_ready(ctx, ids[i]) ||
            scr_cache_dataset(ctx, ids[i], &d, NULL) != SCR_OK || !d.is_output)
            continue;
        int keep = d.is_ckpt;
        rc = flush_if_needed_all(ctx, ids[i], err);
        if (rc == SCR_OK && !keep)
            rc = scr_cache_delete_all(ctx, ids[i], err);
    }
    int id = scr_cache_newest_ckpt(ctx, 0);
    if (rc == SCR_OK && newest && id > 0)
        rc = flush_if_needed_all(ctx, id, err);
    free(ids);
    return rc;
}
