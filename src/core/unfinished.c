/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkpoints on the prefix that lack nothing but their record: a flush died before it
 * wrote the summary, or was to replace their files and died before it did. */
#include <stdlib.h>
#include <time.h>

#include "core/ctx.h"
#include "par/lists.h"
#include "par/plain.h"
#include "par/rank2file.h"
#include "store/arrival.h"

static int no_memory(int id, struct scr_err *err)
{
    return scr_fail(err, SCR_E_NOMEM, 0, "files of dataset %d", id);
}

/* --- which there are --- */

/* Rank 0's: checkpoints that are not complete, newest first, below ctx->tried_below. */
static int list_unfinished(const struct scr_ctx *ctx, int **ids, size_t *n,
                           struct scr_err *err)
{
    size_t all = 0;
    scr_hash *index = scr_hash_new();
    int rc = scr_prefix_index_read(&ctx->env, &ctx->prefix, index, err);
    if (rc == SCR_OK && (rc = scr_index_ids(index, ids, &all)) != SCR_OK)
        scr_fail(err, rc, 0, "list of datasets");
    for (size_t i = 0; i < all; i++) {
        struct scr_index_entry e;
        int id = (*ids)[i];
        if (scr_index_get(index, id, &e, NULL) == SCR_OK && e.dset.is_ckpt &&
            !e.complete && !e.failed && !e.doomed &&
            (ctx->tried_below == 0 || id < ctx->tried_below))
            (*ids)[(*n)++] = id;
    }
    scr_hash_delete(index);
    return rc;
}

/* --- whether they are whole --- */

struct counts {
    uint64_t bytes, files;
};

static int check_file(const struct scr_ctx *ctx, const scr_hash_elem *file,
                      struct counts *c, struct scr_err *err)
{
    const char *dest = scr_hash_elem_key(file);
    const scr_hash *info = scr_hash_elem_hash(file);
    uint64_t size = 0;
    uint32_t crc = 0;
    if (!scr_hash_get_val_u64(info, "SIZE", &size) ||
        !scr_hash_get_val_crc(info, "CRC", &crc))
        return scr_fail(err, SCR_E_MISSING, 0, "%s: no CRC32 is recorded of it", dest);
    c->bytes += size;
    c->files++;
    return scr_plain_check(&ctx->env, &ctx->prefix, dest, info, 1, err);
}

static int check_share(const struct scr_ctx *ctx, const scr_hash *share,
                       struct counts *c, struct scr_err *err)
{
    int rc = SCR_OK;
    for (SCR_HASH_EACH(r, scr_hash_get(share, "RANK")))
        for (SCR_HASH_EACH(e, scr_hash_get(scr_hash_elem_hash(r), "FILE")))
            if (rc == SCR_OK)
                rc = check_file(ctx, e, c, err);
    return rc;
}

/* Every file that the list names is there, of the size and with the CRC32 recorded. */
static int check_all(struct scr_ctx *ctx, int id, struct counts *c, struct scr_err *err)
{
    int ranks = 0;
    scr_hash *share = scr_hash_new();
    int rc = scr_agree_all(&ctx->world, share ? SCR_OK : no_memory(id, err), err);
    if (rc == SCR_OK)
        rc = scr_rank2file_share_all(&ctx->env, &ctx->world, &ctx->prefix, id, &ranks,
                                     share, err);
    if (rc == SCR_OK)
        rc = scr_agree_all(&ctx->world, check_share(ctx, share, c, err), err);
    c->bytes = scr_sum_all(&ctx->world, c->bytes);
    c->files = scr_sum_all(&ctx->world, c->files);
    scr_hash_delete(share);
    return rc;
}

/* --- the record --- */

static int read_entry(const struct scr_ctx *ctx, int id, scr_hash *dset,
                      struct scr_err *err)
{
    scr_hash *index = scr_hash_new();
    int rc = scr_prefix_index_read(&ctx->env, &ctx->prefix, index, err);
    if (rc == SCR_OK &&
        scr_hash_merge(dset, scr_hash_getf(index, "DSET %d DSET", id)) != SCR_OK)
        rc = no_memory(id, err);
    scr_hash_delete(index);
    return rc;
}

/* Nobody copies it any more: all of it is there. */
static int enter(const struct scr_ctx *ctx, int id, const struct counts *c,
                 struct scr_err *err)
{
    scr_hash *dset = scr_hash_new();
    int rc = read_entry(ctx, id, dset, err);
    scr_hash_set_val_u64(dset, "SIZE", c->bytes);
    scr_hash_set_val_u64(dset, "FILES", c->files);
    scr_hash_set_val_i64(dset, "COMPLETE", 1);
    if (rc == SCR_OK && (dset == NULL || !scr_hash_ok(dset)))
        rc = no_memory(id, err);
    if (rc == SCR_OK)
        rc = scr_arrival_give_up(&ctx->env, &ctx->prefix, id, err);
    if (rc == SCR_OK)
        rc = scr_prefix_summary_write(&ctx->env, &ctx->prefix, id, dset, 1, err);
    if (rc == SCR_OK)
        rc = scr_prefix_index_enter(&ctx->env, &ctx->prefix, dset, 1, time(NULL), err);
    scr_hash_delete(dset);
    return rc;
}

static int enter_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    struct counts c = { 0 };
    int rc = check_all(ctx, id, &c, err);
    if (rc == SCR_OK && c.files == 0)
        rc = scr_fail(err, SCR_E_MISSING, 0, "dataset %d lists no file", id);
    if (rc != SCR_OK)
        return rc;
    rc = ctx->world.rank == 0 ? enter(ctx, id, &c, err) : SCR_OK;
    rc = scr_agree_all(&ctx->world, rc, err);
    if (rc == SCR_OK)
        scr_log(&ctx->log, SCR_LOG_NOTE,
                "dataset %d on the prefix was not recorded as complete; all its files "
                "are there, of the sizes and checksums recorded: it is complete now",
                id);
    return rc;
}

int scr_unfinished_enter_all(struct scr_ctx *ctx, int *entered, struct scr_err *err)
{
    int *ids = NULL, rc = SCR_OK;
    size_t n = 0;
    *entered = 0;
    if (ctx->async.n > 0) /* it may be replacing files */
        return SCR_OK;
    rc = scr_async_let_go_all(ctx, err);
    if (rc == SCR_OK && ctx->world.rank == 0)
        rc = list_unfinished(ctx, &ids, &n, err);
    rc = scr_agree_all(&ctx->world, rc, err);
    if (rc == SCR_OK)
        rc = scr_share_ids_all(&ctx->world, &ids, &n, err);
    for (size_t i = 0; i < n && rc == SCR_OK && *entered == 0; i++) {
        struct scr_err why = SCR_ERR_INIT;
        if (enter_all(ctx, ids[i], &why) == SCR_OK)
            *entered = ids[i];
    }
    free(ids);
    return rc;
}
