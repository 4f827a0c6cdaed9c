/* SPDX-License-Identifier: BSD-3-Clause */
/* Current, Delete and Drop: the datasets an application manages by name. */
#include <limits.h>
#include <string.h>

#include "core/asyncctl.h"
#include "core/cachectl.h"
#include "core/choose.h"
#include "core/ctx.h"
#include "core/edits.h"
#include "core/event_note.h"
#include "core/flushctl.h"
#include "core/manage.h"
#include "core/retain.h"
#include "store/deletion.h"

/* A dataset by its name, where it is and what it can be used for. */
struct found {
    int listed; /* id in the index, 0: not there */
    int clash; /* in cache that number is another dataset's: ours, not the listed one */
    int cached;  /* id in cache, 0: not there */
    int is_ckpt; /* the listed one is a complete checkpoint */
    int ckpt;    /* its place in the count of checkpoints */
};

/* Two jobs on one prefix may have given a number twice (invariant P14). The dataset of
 * this job in cache also has a name: then the name means that one. */
static void tell_apart(const struct scr_ctx *ctx, const char *name,
                       const struct scr_dataset *listed, struct found *f)
{
    struct scr_dataset d;
    if (!scr_cache_view(ctx, f->listed, &d) || scr_dataset_is_same(&d, listed))
        return;
    if (strcmp(d.name, name) == 0)
        f->listed = 0;
    else
        f->clash = 1;
}

static int look_up(struct scr_ctx *ctx, const char *name, struct found *f,
                   struct scr_err *err)
{
    struct scr_index_entry e;
    struct scr_index index = SCR_INDEX_INIT;
    int rc = scr_prefix_index_read(&ctx->env, &ctx->prefix, &index, err);
    int id = rc == SCR_OK ? scr_index_find(&index, name) : -1;
    if (id > 0 && scr_index_get(&index, id, &e, NULL) == SCR_OK) {
        f->listed = id;
        f->is_ckpt = e.dset.is_ckpt && e.complete;
        f->ckpt = e.dset.ckpt;
        tell_apart(ctx, name, &e.dset, f);
    }
    scr_index_fini(&index);
    return rc;
}

static int look_up_all(struct scr_ctx *ctx, const char *call, const char *name,
                       struct found *f, struct scr_err *err)
{
    memset(f, 0, sizeof *f);
    int rc = scr_check_name_all(ctx, call, name, err);
    if (rc != SCR_OK)
        return rc;
    if (ctx->world.rank == 0)
        rc = look_up(ctx, name, f, err);
    rc = scr_agree_all(&ctx->world, rc, err);
    if (rc == SCR_OK)
        rc = scr_bcast_bytes_all(&ctx->world, 0, f, sizeof *f, err);
    f->cached = scr_cache_find_all(ctx, name);
    return rc;
}

/* Programs say what they started from, and tidy up, whether or not SCR knows it: the
 * name may be of files that were archived, or deleted by others. */
static int leave_unknown(const struct scr_ctx *ctx, const char *call, const char *name)
{
    scr_log(&ctx->log, SCR_LOG_NOTE,
            "%s: no dataset is named %s in %s, nothing is changed (scr_index --prefix "
            "%s lists them)",
            call, name, ctx->prefix.path, ctx->prefix.path);
    return SCR_OK;
}

/* --- current --- */

/* The rest of it cannot be flushed, and no start continues from it, unless all of
 * it comes back. */
static int is_lost_output(const struct scr_ctx *ctx, int id)
{
    return scr_cache_is(ctx, id, SCR_CACHE_LOST) &&
           (scr_cache_kind(ctx, id) & SCR_IS_OUTPUT) != 0;
}

/* Datasets newer than id leave the cache. A dataset that has to stay does not
 * keep the others: the next start would continue from it. */
static int drop_newer_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    int rc = SCR_OK;
    while ((id = scr_cache_next(ctx, id)) > 0) {
        if (scr_cache_is(ctx, id, SCR_CACHE_FOREIGN) || is_lost_output(ctx, id))
            continue;
        rc = scr_first(rc, scr_cache_let_go_all(ctx, id, "newer than the one gone to",
                                                rc == SCR_OK ? err : NULL));
    }
    return rc;
}

/* stop: so that what is dropped is not entered again. */
static int drop_from_index_all(struct scr_ctx *ctx, int id,
                               int (*stop)(const struct scr_env *env,
                                           const struct scr_prefix *p, int id,
                                           struct scr_err *err),
                               scr_index_edit edit, struct scr_err *err)
{
    int rc = SCR_OK;
    if (ctx->world.rank == 0)
        rc = stop(&ctx->env, &ctx->prefix, id, err);
    rc = scr_agree_all(&ctx->world, rc, err);
    return rc == SCR_OK ? scr_edit_index_all(ctx, edit, &id, err) : rc;
}

/* What was offered before the call that failed is offered again. */
static int find_again_all(struct scr_ctx *ctx, int rc)
{
    struct scr_err why = SCR_ERR_INIT;
    if (scr_restart_find_all(ctx, &why) != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN, "no checkpoint to restart from: %s", why.text);
    return rc;
}

/* The datasets removed once it is loaded; the first error, after all was tried. Noted
 * when the newer ones are gone: a flush of theirs that ends meanwhile makes its own
 * current.
 */
static int settle_all(struct scr_ctx *ctx, int id, const char *name,
                      struct scr_err *err)
{
    int rc = drop_newer_all(ctx, id, err);
    rc = scr_first(rc,
                   scr_note_current_all(ctx, id, name, 0, rc == SCR_OK ? err : NULL));
    if (ctx->prm.drop_after_current) {
        rc = scr_first(rc, drop_from_index_all(ctx, id, scr_deletion_stop_after,
                                               scr_edit_drop_after,
                                               rc == SCR_OK ? err : NULL));
    }
    return rc;
}

static int newest_of(const struct found *f)
{
    return f->listed > f->cached ? f->listed : f->cached;
}

static void list_found(const struct scr_ctx *ctx, const char *name,
                       const struct found *f, struct scr_restart_copy *copy)
{
    int kept = scr_cache_is(ctx, f->cached, SCR_CACHE_KEPT);
    copy[0] = (struct scr_restart_copy){
        .id = f->cached,
        .name = name,
        .cached = 1,
        .is_ckpt = (scr_cache_kind(ctx, f->cached) & SCR_IS_CKPT) != 0,
        .state = kept ? SCR_COPY_KEPT : SCR_COPY_WHOLE
    };
    copy[1] = (struct scr_restart_copy){ .id = f->listed,
                                         .name = name,
                                         .is_ckpt = 1,
                                         .clash = f->clash,
                                         .state = f->is_ckpt ? SCR_COPY_WHOLE
                                                             : SCR_COPY_INCOMPLETE };
}

static int go_to_found_all(struct scr_ctx *ctx, const char *who, const char *name,
                           const struct found *found, int *tried, struct scr_err *err)
{
    const struct found f = *found;
    int id = newest_of(found), counted = ctx->ckpt_id, rc;
    struct scr_restart_copy copy[2];
    list_found(ctx, name, found, copy);
    const struct scr_restart_list list = { copy, 2, 0 };
    const struct scr_restart_copy *c = scr_restart_named(&list, name);
    if (c != NULL && c->clash)
        return scr_fail(err, SCR_E_TAKEN, 0,
                        "%s: %s has the number of %s in cache (dataset %d), as another "
                        "job wrote it: go to it in a run that has nothing in cache",
                        who, name, scr_cache_name_of(ctx, id), id);
    if (c == NULL)
        return scr_fail(err, SCR_E_ARG, 0, "%s: dataset %s is no complete checkpoint",
                        who, name);
    /* Loaded first: a dataset that cannot be loaded must not cost existing ones. */
    ctx->ckpt_id = id == f.listed && f.ckpt > 0 ? f.ckpt : ctx->ckpt_id;
    *tried = id;
    if (c->state == SCR_COPY_KEPT)
        rc = scr_cache_refuse_kept(id, err);
    else
        rc = scr_restart_load_all(ctx, id, err);
    if (rc != SCR_OK) {
        ctx->ckpt_id = counted;
        scr_err_prefix(err, "%s: %s cannot be loaded", who, name);
        return rc;
    }
    *tried = 0;
    ctx->choice.ranks.passed = ctx->choice.ranks.wanted = 0; /* the choice is made */
    ctx->choice.below = id < INT_MAX ? id + 1 : 0;
    ctx->choice.ask_again = 0;
    ctx->choice.from_id = id;
    ctx->choice.from_last = ctx->last_id;
    rc = settle_all(ctx, id, name, err);
    if (rc != SCR_OK)
        scr_err_prefix(err,
                       "%s: %s is loaded, but some newer datasets could not be removed",
                       who, name);
    return rc;
}

int scr_go_to_all(struct scr_ctx *ctx, const char *who, const char *name, int *tried,
                  struct scr_err *err)
{
    struct found f;
    *tried = 0;
    TRY(look_up_all(ctx, who, name, &f, err));
    if (newest_of(&f) == 0)
        return scr_fail(err, SCR_E_NOENT, 0,
                        "%s: no dataset is named %s in %s (scr_index --prefix %s lists "
                        "them)",
                        who, name, ctx->prefix.path, ctx->prefix.path);
    return go_to_found_all(ctx, who, name, &f, tried, err);
}

int scr_current_all(struct scr_ctx *ctx, const char *name, struct scr_err *err)
{
    static const char call[] = "SCR_Current";
    struct found f;
    int tried = 0;
    (void)scr_ranks_ask_all(ctx);
    int rc = look_up_all(ctx, call, name, &f, err);
    if (rc == SCR_OK && newest_of(&f) == 0)
        return leave_unknown(ctx, call, name);
    if (rc == SCR_OK)
        rc = go_to_found_all(ctx, call, name, &f, &tried, err);
    return tried > 0 ? find_again_all(ctx, rc) : rc;
}

/* --- delete --- */

static int is_named(const struct scr_ctx *ctx, int id, const char *name)
{
    struct scr_dataset d;
    return scr_cache_view(ctx, id, &d) && strcmp(d.name, name) == 0;
}

/* Every cached dataset of that name, also one that could not be restored. */
static int delete_cached_all(struct scr_ctx *ctx, const char *name, int listed,
                             struct scr_err *err)
{
    for (int id = 0; (id = scr_cache_next(ctx, id)) > 0;) {
        int named = is_named(ctx, id, name) || id == listed;
        if (scr_or_all(&ctx->world, named))
            TRY(scr_cache_drop_all(ctx, id, "SCR_Delete", err));
    }
    return SCR_OK;
}

int scr_delete_all(struct scr_ctx *ctx, const char *name, struct scr_err *err)
{
    struct found f;
    TRY(look_up_all(ctx, "SCR_Delete", name, &f, err));
    if (f.listed == 0 && f.cached == 0)
        return leave_unknown(ctx, "SCR_Delete", name);
    int offered = ctx->restart.id;
    TRY(delete_cached_all(ctx, name, f.clash ? 0 : f.listed, err));
    while (f.listed > 0) {
        TRY(scr_prefix_delete_all(ctx, f.listed, 1, err));
        SCR_EVENT(ctx, .event = "DELETE", .dset = f.listed, .name = name,
                  .from = "prefix", .note = "SCR_Delete");
        TRY(look_up_all(ctx, "SCR_Delete", name, &f, err));
    }
    /* If it was the one to restart from, another takes its place. */
    if (offered > 0 && ctx->restart.id == 0)
        TRY(scr_restart_find_all(ctx, err));
    return SCR_OK;
}

/* --- drop --- */

int scr_drop_all(struct scr_ctx *ctx, const char *name, struct scr_err *err)
{
    struct found f;
    int rc = look_up_all(ctx, "SCR_Drop", name, &f, err);
    if (rc != SCR_OK)
        return rc;
    if (f.listed == 0)
        return leave_unknown(ctx, "SCR_Drop", name);
    while (rc == SCR_OK && f.listed > 0) {
        /* Its flush would enter it again when it ends, or is tried again. */
        if (!f.clash) {
            (void)scr_async_wait_all(ctx, f.listed, NULL);
            (void)scr_async_drop_all(ctx, f.listed);
        }
        rc =
            drop_from_index_all(ctx, f.listed, scr_deletion_stop, scr_edit_forget, err);
        if (rc == SCR_OK)
            rc = look_up_all(ctx, "SCR_Drop", name, &f, err);
    }
    return rc;
}
