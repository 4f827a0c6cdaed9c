/* SPDX-License-Identifier: BSD-3-Clause */
/* A checkpoint that a different number of ranks wrote: read in place in the prefix
 * directory, any file by any rank. */
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/str.h"
#include "base/units.h"
#include "core/ctx.h"
#include "core/edits.h"
#include "core/flushctl.h"
#include "core/flushfile.h"
#include "core/foreign.h"

/* --- opening one --- */

static int enter(struct scr_ctx *ctx, int id, const scr_hash *dset, struct scr_err *err)
{
    struct scr_restart *r = &ctx->restart;
    struct scr_dataset d;
    TRY(scr_dataset_get(dset, &d, err));
    r->is_foreign = 1;
    scr_restart_read_there(ctx, id);
    ctx->ckpt_id = d.ckpt > 0 ? d.ckpt : ctx->ckpt_id; /* on all ranks or on none */
    TRY((r->name = scr_strdup(d.name)) != NULL ? SCR_OK : scr_no_memory(err));
    return scr_catalog_add(&r->catalog, &r->share, err);
}

int scr_regroup_open_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    struct scr_restart *r = &ctx->restart;
    scr_hash *dset = scr_hash_new();
    scr_restart_fini(r);
    const struct scr_prefix_dset at = scr_prefix_dset_of(ctx, id);
    int rc = scr_fetch_look_all(&at, dset, &r->share, err);
    if (rc == SCR_OK)
        rc = scr_agree_all(&ctx->world, enter(ctx, id, dset, err), err);
    scr_hash_delete(dset);
    if (rc != SCR_OK) {
        scr_restart_fini(r);
        return rc;
    }
    r->id = id;
    scr_log(&ctx->log, SCR_LOG_NOTE,
            "checkpoint %s (dataset %d) was written by %d rank%s: this run of %d "
            "reads it in %s",
            r->name, id, r->share.ranks, scr_plural(r->share.ranks), ctx->world.size,
            ctx->prefix.path);
    return SCR_OK;
}

/* --- out of the cache --- */

int scr_regroup_is_left_behind(const struct scr_ctx *ctx, int id)
{
    return ctx->choice.from_id > 0 && id > ctx->choice.from_id &&
           id <= ctx->choice.from_last;
}

int scr_regroup_ranks_all(const struct scr_ctx *ctx, int id)
{
    const struct scr_redplace kept = scr_redplace_get(scr_cache_any_desc(ctx, id));
    return (int)scr_max_all(&ctx->world, kept.ranks);
}

int scr_regroup_cached_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int ranks = scr_regroup_ranks_all(ctx, id);
    scr_fail(&why, SCR_E_RANKS, 0,
             "dataset %d in cache was written by %d rank%s, this run has %d", id, ranks,
             scr_plural(ranks), ctx->world.size);
    if (scr_ranks_check(ctx, &why, err) != SCR_OK)
        return SCR_E_RANKS;
    scr_err_clear(&why);
    if (scr_flush_is_done_all(ctx, id) && scr_regroup_open_all(ctx, id, &why) == SCR_OK)
        return SCR_OK;
    TRY(scr_flush_once_all(ctx, id, err));
    return scr_regroup_open_all(ctx, id, err);
}

/* --- one file --- */

/* A file must be as it is recorded; a compressed one is unpacked. */
static int prepare_file(struct scr_ctx *ctx, const struct scr_listed *f,
                        struct scr_err *err)
{
    struct scr_restart *r = &ctx->restart;
    TRY(scr_plains_note(&r->plain, f, err));
    return f->is_packed
               ? scr_plain_make(&ctx->env, &ctx->prefix, r->id, ctx->world.rank, f, err)
               : scr_plain_check(&ctx->env, &ctx->prefix, f, 1, err);
}

static int check_share(const struct scr_ctx *ctx, const struct scr_rank2file *share,
                       struct scr_err *err)
{
    for (SCR_LISTED(f, share))
        TRY(scr_plain_check(&ctx->env, &ctx->prefix, f, 1, err));
    return SCR_OK;
}

int scr_restart_verify_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    scr_hash *dset = scr_hash_new();
    struct scr_rank2file share = { 0 };
    const struct scr_prefix_dset at = scr_prefix_dset_of(ctx, id);
    int rc;
    TRY_OUT(scr_fetch_look_all(&at, dset, &share, err));
    TRY_OUT(scr_agree_all(&ctx->world, check_share(ctx, &share, err), err));
out:
    scr_hash_delete(dset);
    scr_rank2file_fini(&share);
    return rc;
}

int scr_regroup_find(struct scr_ctx *ctx, const char *dest, struct scr_err *err)
{
    struct scr_restart *r = &ctx->restart;
    const struct scr_listed *f = NULL;
    const char *stored;
    if (scr_table_find(&r->by_dest, dest) != NULL)
        return SCR_OK;
    int rc = scr_catalog_find(&r->catalog, dest, &f, err);
    if (rc == SCR_OK && f == NULL && (stored = scr_catalog_asked(&r->catalog, dest)))
        rc = scr_catalog_find(&r->catalog, stored, &f, err);
    if (rc != SCR_OK || f == NULL)
        return rc;
    char *path = scr_plain_path(&ctx->prefix, r->id, f);
    TRY_OUT(path ? prepare_file(ctx, f, err) : scr_no_memory(err));
    if (scr_restart_add_other(r, dest, path) != SCR_OK)
        TRY_OUT(scr_no_memory(err));
out:
    free(path);
    return rc;
}

static int learn_bases(struct scr_restart *r, struct scr_err *err)
{
    TRY(scr_catalog_read_all(&r->catalog, err));
    for (SCR_EACH(struct scr_listed, f, &r->catalog.files)) {
        const char *base = scr_path_base(f->item.name);
        int again = scr_table_find(&r->bases, base) != NULL;
        struct scr_base *b = scr_table_add(&r->bases, base);
        if (b != NULL)
            b->of = again ? NULL : f;
    }
    r->has_bases = scr_table_ok(&r->bases);
    if (r->has_bases)
        return SCR_OK;
    scr_table_fini(&r->bases);
    return scr_no_memory(err);
}

int scr_regroup_find_base(struct scr_ctx *ctx, const char *base, struct scr_err *err)
{
    struct scr_restart *r = &ctx->restart;
    if (scr_table_find(&r->by_name, base) != NULL)
        return SCR_OK;
    int rc = r->has_bases ? SCR_OK : learn_bases(r, err);
    const struct scr_base *b = rc == SCR_OK ? scr_table_find(&r->bases, base) : NULL;
    const char *path = NULL;
    if (b == NULL)
        return rc;
    if (b->of != NULL) {
        TRY(scr_regroup_find(ctx, b->of->item.name, err));
        rc = scr_readable_path(ctx, scr_table_find(&r->by_dest, b->of->item.name),
                               &path, err);
    }
    if (rc == SCR_OK && scr_readable_add(&r->by_name, base, path ? path : "") == NULL)
        rc = scr_no_memory(err);
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
 * restart phase, the call declares nothing about other checkpoints. */
int scr_restart_ranks(struct scr_ctx *ctx, int *ranks, struct scr_err *err)
{
    if (ranks == NULL)
        return scr_fail(err, SCR_E_ARG, 0, "SCR_Restart_ranks: ranks is NULL");
    ctx->choice.ranks.asked |=
        !ctx->choice.ranks.known && ctx->state != SCR_STATE_RESTART;
    *ranks = 0;
    if (!ctx->choice.ranks.known &&
        (ctx->restart.id == 0 || ctx->choice.ranks.passed > 0))
        return SCR_OK;
    TRY(check_there(ctx, "SCR_Restart_ranks", err));
    *ranks = ctx->restart.is_foreign ? ctx->restart.share.ranks : ctx->world.size;
    return SCR_OK;
}

static void tell(struct scr_str *s, int rank, const char *dest)
{
    scr_str_printf(s, "%d/%s", rank, dest);
    scr_str_append_n(s, "", 1);
}

/* This rank's part of the list: for a checkpoint of the present number of ranks, its
 * files.
 */
static void tell_share(const struct scr_ctx *ctx, struct scr_str *s)
{
    const struct scr_restart *r = &ctx->restart;
    for (size_t i = 0; i < r->share.n; i++)
        for (SCR_EACH(struct scr_listed, f, &r->share.of[i]->files))
            tell(s, r->share.of[i]->rank, f->item.name);
    if (r->is_foreign)
        return;
    for (SCR_EACH(struct scr_readable, f, &r->by_dest))
        if (!f->is_others)
            tell(s, ctx->world.rank, f->item.name);
}

/* By rank, then in the order of arrival. */
static int compare_files(const void *a, const void *b)
{
    const struct scr_restart_file *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->dest < y->dest ? -1 : x->dest > y->dest;
}

/* Files that several ranks wrote are sent by all of them, and listed once. */
static int list_once(struct scr_restart_file *list, size_t n, int *nlist)
{
    struct scr_table seen = SCR_TABLE_OF(struct scr_item);
    *nlist = 0;
    for (size_t i = 0; i < n; i++) {
        size_t before = seen.n;
        scr_table_add(&seen, list[i].dest);
        if (seen.n > before)
            list[(*nlist)++] = list[i];
    }
    int ok = scr_table_ok(&seen);
    scr_table_fini(&seen);
    return ok;
}

static int number_files(struct scr_restart *r, struct scr_err *err)
{
    size_t n = 0;
    for (SCR_TEXTS(text, &r->told))
        n++;
    if (n > INT32_MAX)
        return scr_fail(err, SCR_E_RANGE, 0,
                        "SCR_Restart_files: checkpoint %s has %zu files", r->name, n);
    if ((r->list = scr_calloc(n, sizeof *r->list)) == NULL)
        return scr_no_memory(err);
    n = 0;
    for (SCR_TEXTS(text, &r->told)) {
        char *end = NULL;
        int rank = (int)strtol(text, &end, 10);
        r->list[n++] = (struct scr_restart_file){ end + 1, rank };
    }
    qsort(r->list, n, sizeof *r->list, compare_files);
    return list_once(r->list, n, &r->nlist) ? SCR_OK : scr_no_memory(err);
}

static int list_all(struct scr_ctx *ctx, int rc, struct scr_err *err)
{
    struct scr_restart *r = &ctx->restart;
    struct scr_str mine = SCR_STR_INIT;
    tell_share(ctx, &mine);
    rc = scr_bytes_share_all(&ctx->world, rc, &mine, &r->told, err);
    if (rc == SCR_OK)
        rc = scr_agree_all(&ctx->world, number_files(r, err), err);
    if (rc != SCR_OK) {
        free(r->list);
        r->list = NULL;
        scr_str_free(&r->told);
    }
    scr_str_free(&mine);
    return rc;
}

int scr_restart_files_all(struct scr_ctx *ctx, int *n, struct scr_err *err)
{
    int is_new = ctx->restart.id > 0 && ctx->restart.list == NULL; /* on all ranks */
    int rc = n ? SCR_OK : scr_fail(err, SCR_E_ARG, 0, "SCR_Restart_files: n is NULL");
    rc = is_new ? list_all(ctx, rc, err) : scr_agree_all(&ctx->world, rc, err);
    if (rc == SCR_OK)
        rc = check_there(ctx, "SCR_Restart_files", err);
    if (rc == SCR_OK)
        *n = ctx->restart.nlist;
    return rc;
}

int scr_restart_file(const struct scr_ctx *ctx, int i, char *file, int *rank,
                     struct scr_err *err)
{
    const struct scr_restart *r = &ctx->restart;
    TRY(check_there(ctx, "SCR_Restart_file", err));
    if (r->list == NULL)
        return scr_fail(err, SCR_E_STATE, 0,
                        "SCR_Restart_file: call SCR_Restart_files first");
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
