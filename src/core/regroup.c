/* SPDX-License-Identifier: BSD-3-Clause */
/* A checkpoint that another number of ranks wrote: read where it lies in the prefix
 * directory, any file by any rank. */
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/str.h"
#include "base/units.h"
#include "core/ctx.h"
#include "par/regroup.h"

static int no_memory(int id, struct scr_err *err)
{
    return scr_fail(err, SCR_E_NOMEM, 0, "files of dataset %d: out of memory", id);
}

/* --- opening one --- */

static int enter(struct scr_ctx *ctx, int id, const scr_hash *dset, struct scr_err *err)
{
    struct scr_restart *r = &ctx->restart;
    struct scr_dataset d;
    int rc = scr_dataset_get(dset, &d, err);
    if (rc != SCR_OK)
        return rc;
    r->is_foreign = 1;
    scr_restart_read_there(ctx, id);
    ctx->ckpt_id = d.ckpt > 0 ? d.ckpt : ctx->ckpt_id; /* on all ranks or on none */
    if ((r->name = scr_strdup(d.name)) == NULL)
        return no_memory(id, err);
    return scr_catalog_add(&r->catalog, r->share, err);
}

int scr_regroup_open_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    struct scr_restart *r = &ctx->restart;
    scr_hash *dset = scr_hash_new();
    scr_restart_fini(r);
    r->by_dest = scr_hash_new();
    r->by_name = scr_hash_new();
    r->share = scr_hash_new();
    int rc = dset && r->by_dest && r->by_name && r->share ? SCR_OK : no_memory(id, err);
    rc = scr_agree_all(&ctx->world, rc, err);
    if (rc == SCR_OK)
        rc = scr_fetch_look_all(&ctx->env, &ctx->world, &ctx->prefix, id, dset,
                                &r->ranks, r->share, err);
    if (rc == SCR_OK)
        rc = scr_agree_all(&ctx->world, enter(ctx, id, dset, err), err);
    scr_hash_delete(dset);
    if (rc != SCR_OK) {
        scr_restart_fini(r);
        return rc;
    }
    r->id = id;
    scr_log(&ctx->log, SCR_LOG_NOTE,
            "checkpoint %s (dataset %d) was written by %d ranks: this run of %d reads "
            "it in %s",
            r->name, id, r->ranks, ctx->world.size, ctx->prefix.path);
    return SCR_OK;
}

/* --- out of the cache --- */

/* 1 if this run has gone back to an older one, and left this for those who wrote it. */
static int is_left_behind(const struct scr_ctx *ctx, int id)
{
    return ctx->from_id > 0 && id > ctx->from_id && id <= ctx->from_last;
}

int scr_regroup_ranks_all(const struct scr_ctx *ctx, int id)
{
    int ranks = 0;
    (void)scr_hash_get_val_int(scr_cache_any_desc(ctx, id), "RANKS", &ranks);
    return (int)scr_max_all(&ctx->world, ranks);
}

int scr_regroup_newest_all(struct scr_ctx *ctx, int below)
{
    int id = below;
    while ((id = scr_cache_newest(ctx, SCR_CACHE_FOREIGN, id)) > 0)
        if (!is_left_behind(ctx, id) && (scr_cache_kind(ctx, id) & SCR_IS_CKPT))
            break;
    return id;
}

int scr_regroup_flush_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    struct scr_copy_opts o = { .type = scr_flush_type(ctx),
                               .width = ctx->prm.flush_width,
                               .buf = (size_t)ctx->prm.file_buf_size,
                               .crc = ctx->prm.crc_on_flush,
                               .pack = scr_flush_pack(ctx) };
    struct scr_regroup_report rep;
    double start = scr_now_mono();
    int rc = scr_async_let_go_all(ctx, err);
    if (rc != SCR_OK)
        return rc;
    scr_phase_all(ctx, "flush", id);
    SCR_EVENT(ctx, .event = "FLUSH_START", .dset = id);
    rc = scr_regroup_all(&ctx->env, &ctx->world, &ctx->prefix, &o, id, ctx->map, &rep,
                         err);
    SCR_EVENT(ctx, .event = rc == SCR_OK ? "FLUSH_SUCCESS" : "FLUSH_FAIL", .dset = id,
              .bytes = (int64_t)rep.bytes, .secs = scr_now_mono() - start,
              .note = rc == SCR_OK || err == NULL ? NULL : err->text);
    if (rc != SCR_OK)
        return rc;
    scr_flush_mark(ctx, id, SCR_LOC_PFS, 0);
    scr_log(&ctx->log, SCR_LOG_NOTE,
            "dataset %d of %d ranks was copied from cache to %s, the files of %d ranks "
            "were rebuilt",
            id, rep.ranks, ctx->prefix.path, rep.rebuilt_ranks);
    return SCR_OK;
}

int scr_regroup_cached_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    scr_fail(&why, SCR_E_RANKS, 0,
             "dataset %d in cache was written by %d ranks, this run has %d", id,
             scr_regroup_ranks_all(ctx, id), ctx->world.size);
    if (scr_ranks_check(ctx, &why, err) != SCR_OK)
        return SCR_E_RANKS;
    scr_err_clear(&why);
    if (scr_flush_is_done_all(ctx, id) && scr_regroup_open_all(ctx, id, &why) == SCR_OK)
        return SCR_OK;
    int rc = scr_regroup_flush_all(ctx, id, err);
    return rc == SCR_OK ? scr_regroup_open_all(ctx, id, err) : rc;
}

/* --- one file --- */

/* What is known of a file must be true of it; a compressed one is unpacked. */
static int prepare_file(struct scr_ctx *ctx, const char *dest, const scr_hash *info,
                        struct scr_err *err)
{
    struct scr_restart *r = &ctx->restart;
    int rc = scr_plains_note(&r->plain, dest, info, err);
    if (rc != SCR_OK)
        return rc;
    return scr_rank2file_packed(info, NULL)
               ? scr_plain_make(&ctx->env, &ctx->prefix, r->id, ctx->world.rank, dest,
                                info, err)
               : scr_plain_check(&ctx->env, &ctx->prefix, dest, info, 1, err);
}

static int check_share(const struct scr_ctx *ctx, const scr_hash *share,
                       struct scr_err *err)
{
    int rc = SCR_OK;
    for (SCR_HASH_EACH(r, scr_hash_get(share, "RANK")))
        for (SCR_HASH_EACH(e, scr_hash_get(scr_hash_elem_hash(r), "FILE")))
            if (rc == SCR_OK)
                rc = scr_plain_check(&ctx->env, &ctx->prefix, scr_hash_elem_key(e),
                                     scr_hash_elem_hash(e), 1, err);
    return rc;
}

int scr_restart_verify_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    scr_hash *dset = scr_hash_new(), *share = scr_hash_new();
    int ranks = 0;
    int rc = dset && share ? SCR_OK : no_memory(id, err);
    rc = scr_agree_all(&ctx->world, rc, err);
    if (rc == SCR_OK)
        rc = scr_fetch_look_all(&ctx->env, &ctx->world, &ctx->prefix, id, dset, &ranks,
                                share, err);
    if (rc == SCR_OK)
        rc = scr_agree_all(&ctx->world, check_share(ctx, share, err), err);
    scr_hash_delete(dset);
    scr_hash_delete(share);
    return rc;
}

int scr_regroup_find(struct scr_ctx *ctx, const char *dest, struct scr_err *err)
{
    struct scr_restart *r = &ctx->restart;
    const scr_hash *info = NULL;
    if (scr_hash_get(r->by_dest, dest) != NULL)
        return SCR_OK;
    const char *stored = dest;
    int rc = scr_catalog_find(&r->catalog, dest, &info, err);
    if (rc == SCR_OK && info == NULL && (stored = scr_catalog_asked(&r->catalog, dest)))
        rc = scr_catalog_find(&r->catalog, stored, &info, err);
    if (rc != SCR_OK || info == NULL)
        return rc;
    char *path = scr_plain_path(&ctx->prefix, r->id, stored, info);
    rc = path ? prepare_file(ctx, stored, info, err) : no_memory(r->id, err);
    if (rc == SCR_OK && scr_restart_add_other(r, dest, path) != SCR_OK)
        rc = no_memory(r->id, err);
    free(path);
    return rc;
}

static int learn_bases(struct scr_restart *r, struct scr_err *err)
{
    int rc = scr_catalog_read_all(&r->catalog, err);
    scr_hash *bases = rc == SCR_OK ? scr_hash_new() : NULL;
    if (rc == SCR_OK && bases == NULL)
        rc = no_memory(r->id, err);
    for (SCR_HASH_EACH(e, r->catalog.files)) {
        const char *dest = scr_hash_elem_key(e), *base = scr_path_base(dest);
        int again = scr_hash_get(bases, base) != NULL;
        if (rc == SCR_OK && scr_hash_set_val(bases, base, again ? "" : dest) == NULL)
            rc = no_memory(r->id, err);
    }
    if (rc == SCR_OK)
        r->bases = bases;
    else
        scr_hash_delete(bases);
    return rc;
}

int scr_regroup_find_base(struct scr_ctx *ctx, const char *base, struct scr_err *err)
{
    struct scr_restart *r = &ctx->restart;
    if (scr_hash_get(r->by_name, base) != NULL)
        return SCR_OK;
    int rc = r->bases == NULL ? learn_bases(r, err) : SCR_OK;
    const char *dest = rc == SCR_OK ? scr_hash_get_val(r->bases, base) : NULL;
    if (dest == NULL)
        return rc;
    if (dest[0] != '\0')
        rc = scr_regroup_find(ctx, dest, err);
    const char *path = dest[0] != '\0' ? scr_hash_get_val(r->by_dest, dest) : "";
    if (rc == SCR_OK && scr_hash_set_val(r->by_name, base, path) == NULL)
        rc = no_memory(r->id, err);
    return rc;
}

/* --- who wrote it, and which files there are --- */

static int check_there(const struct scr_ctx *ctx, const char *call, struct scr_err *err)
{
    if (ctx->restart.id > 0)
        return SCR_OK;
    return scr_fail(err, SCR_E_STATE, 0,
                    "%s: there is no checkpoint, ask SCR_Have_restart first", call);
}

/* Before SCR_Have_restart it is a question that has no answer yet. Later, or in a
 * restart phase, it says nothing of what the program could read besides. */
int scr_restart_ranks(struct scr_ctx *ctx, int *ranks, struct scr_err *err)
{
    if (ranks == NULL)
        return scr_fail(err, SCR_E_ARG, 0, "SCR_Restart_ranks: ranks is NULL");
    ctx->ranks.asked |= !ctx->ranks.known && ctx->state != SCR_STATE_RESTART;
    *ranks = 0;
    if (!ctx->ranks.known && (ctx->restart.id == 0 || ctx->ranks.passed > 0))
        return SCR_OK;
    int rc = check_there(ctx, "SCR_Restart_ranks", err);
    if (rc == SCR_OK)
        *ranks = ctx->restart.is_foreign ? ctx->restart.ranks : ctx->world.size;
    return rc;
}

/* This rank's part of the list: of a checkpoint of its own number of ranks, its files.
 */
static int make_share(const struct scr_ctx *ctx, scr_hash *share, struct scr_err *err)
{
    const struct scr_restart *r = &ctx->restart;
    if (share == NULL)
        return no_memory(r->id, err);
    if (r->is_foreign)
        return scr_hash_merge(share, r->share) == SCR_OK ? SCR_OK
                                                         : no_memory(r->id, err);
    scr_hash *mine = scr_hash_setf(share, NULL, "RANK %d", ctx->world.rank);
    for (SCR_HASH_EACH(e, r->by_dest))
        if (scr_hash_get(r->others, scr_hash_elem_key(e)) == NULL)
            scr_hash_set_kv(mine, "FILE", scr_hash_elem_key(e));
    return mine != NULL && scr_hash_ok(mine) ? SCR_OK : no_memory(r->id, err);
}

/* Everybody's share, at rank 0. */
static int gather_all(const struct scr_ctx *ctx, scr_hash *lists, struct scr_err *err)
{
    scr_hash *send = scr_hash_new(), *recv = scr_hash_new();
    int rc = send && recv ? make_share(ctx, scr_hash_setf(send, NULL, "0"), err)
                          : no_memory(ctx->restart.id, err);
    rc = scr_agree_all(&ctx->world, rc, err);
    if (rc == SCR_OK)
        rc = scr_hash_exchange_all(&ctx->world, send, recv, err);
    for (SCR_HASH_EACH(e, recv))
        if (rc == SCR_OK && scr_hash_merge(lists, scr_hash_elem_hash(e)) != SCR_OK)
            rc = no_memory(ctx->restart.id, err);
    scr_hash_sort_int(scr_hash_get(lists, "RANK"), SCR_HASH_ASC);
    scr_hash_delete(send);
    scr_hash_delete(recv);
    return scr_agree_all(&ctx->world, rc, err);
}

static size_t count_files(const scr_hash *lists)
{
    size_t n = 0;
    for (SCR_HASH_EACH(r, scr_hash_get(lists, "RANK")))
        n += scr_hash_size(scr_hash_get(scr_hash_elem_hash(r), "FILE"));
    return n;
}

/* Files that several ranks wrote are told of by all of them, and listed once. */
static int number_share(struct scr_restart *r, const scr_hash_elem *of, scr_hash *seen,
                        struct scr_err *err)
{
    for (SCR_HASH_EACH(e, scr_hash_get(scr_hash_elem_hash(of), "FILE"))) {
        const char *dest = scr_hash_elem_key(e);
        if (scr_hash_get(seen, dest) != NULL)
            continue;
        if (scr_hash_set(seen, dest, NULL) == NULL)
            return no_memory(r->id, err);
        r->list[r->nlist++] = (struct scr_listed){ dest, scr_hash_elem_key_int(of) };
    }
    return SCR_OK;
}

static int number_files(struct scr_restart *r, const scr_hash *lists,
                        struct scr_err *err)
{
    size_t n = count_files(lists);
    if (n > INT32_MAX)
        return scr_fail(err, SCR_E_RANGE, 0,
                        "SCR_Restart_files: checkpoint %s has %zu files", r->name, n);
    scr_hash *seen = scr_hash_new();
    r->list = scr_calloc(n, sizeof *r->list);
    int rc = r->list && seen ? SCR_OK : no_memory(r->id, err);
    r->nlist = 0;
    for (SCR_HASH_EACH(w, scr_hash_get(lists, "RANK")))
        if (rc == SCR_OK)
            rc = number_share(r, w, seen, err);
    scr_hash_delete(seen);
    return rc;
}

static int list_all(struct scr_ctx *ctx, struct scr_err *err)
{
    struct scr_restart *r = &ctx->restart;
    scr_hash *lists = scr_hash_new();
    int rc = scr_agree_all(&ctx->world, lists ? SCR_OK : no_memory(r->id, err), err);
    if (rc == SCR_OK)
        rc = gather_all(ctx, lists, err);
    if (rc == SCR_OK)
        rc = scr_agree_all(&ctx->world, scr_hash_bcast_all(&ctx->world, 0, lists, err),
                           err);
    if (rc == SCR_OK)
        rc = scr_agree_all(&ctx->world, number_files(r, lists, err), err);
    if (rc == SCR_OK) {
        r->lists = lists;
        return rc;
    }
    free(r->list);
    r->list = NULL;
    scr_hash_delete(lists);
    return rc;
}

int scr_restart_files_all(struct scr_ctx *ctx, int *n, struct scr_err *err)
{
    int rc = n ? SCR_OK : scr_fail(err, SCR_E_ARG, 0, "SCR_Restart_files: n is NULL");
    rc = scr_agree_all(&ctx->world, rc, err);
    if (rc == SCR_OK)
        rc = check_there(ctx, "SCR_Restart_files", err);
    if (rc == SCR_OK && ctx->restart.lists == NULL)
        rc = list_all(ctx, err);
    if (rc == SCR_OK)
        *n = ctx->restart.nlist;
    return rc;
}

int scr_restart_file(const struct scr_ctx *ctx, int i, char *file, int *rank,
                     struct scr_err *err)
{
    const struct scr_restart *r = &ctx->restart;
    int rc = check_there(ctx, "SCR_Restart_file", err);
    if (rc == SCR_OK && r->lists == NULL)
        rc = scr_fail(err, SCR_E_STATE, 0,
                      "SCR_Restart_file: call SCR_Restart_files first");
    if (rc != SCR_OK)
        return rc;
    if (file == NULL)
        return scr_fail(err, SCR_E_ARG, 0,
                        "SCR_Restart_file: the buffer for the path is NULL");
    if (i < 0 || i >= r->nlist)
        return scr_fail(err, SCR_E_RANGE, 0,
                        "SCR_Restart_file: file %d of %d, counted from 0", i, r->nlist);
    int n = snprintf(file, ctx->room, "%s/%s", ctx->prefix.path, r->list[i].dest);
    if (n < 0 || (size_t)n >= ctx->room) {
        file[0] = '\0';
        return scr_fail(err, SCR_E_NAME, 0,
                        "SCR_Restart_file: the path of %.64s… has %d characters, at "
                        "most %zu fit",
                        r->list[i].dest, n, ctx->room - 1);
    }
    if (rank != NULL)
        *rank = r->list[i].rank;
    return SCR_OK;
}
