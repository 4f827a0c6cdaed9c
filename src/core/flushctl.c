/* SPDX-License-Identifier: BSD-3-Clause */
/* When datasets go to the prefix. */

#include "core/flushctl.h"
#include "base/str.h"
#include "base/units.h"
#include "core/asyncctl.h"
#include "core/cachectl.h"
#include "core/ctx.h"
#include "core/edits.h"
#include "core/flushfile.h"
#include "core/mend.h"
#include "core/phase.h"
#include "core/retain.h"
#include "core/stock.h"
#include "par/migrate/regroup.h"

/* Copies a dataset in cache that a different number of ranks wrote. */
static int flush_foreign_all(struct scr_ctx *ctx, const struct scr_copy_opts *o, int id,
                             uint64_t *bytes, struct scr_err *err)
{
    struct scr_regroup_report rep;
    const struct scr_prefix_dset at = scr_prefix_dset_of(ctx, id);
    int rc = scr_regroup_all(&at, o, ctx->cache.map, &rep, err);
    *bytes = rep.bytes;
    if (rc == SCR_OK)
        scr_log(&ctx->log, SCR_LOG_NOTE,
                "dataset %d of %d rank%s was copied from cache to %s, the files of %d "
                "rank%s were rebuilt",
                id, rep.ranks, scr_plural(rep.ranks), ctx->prefix.path,
                rep.rebuilt_ranks, scr_plural(rep.rebuilt_ranks));
    return rc;
}

int scr_flush_once_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    const scr_hash *dset = scr_filemap_get_dataset(ctx->cache.map, id, ctx->world.rank);
    const struct scr_prefix_dset at = scr_prefix_dset_of(ctx, id);
    const struct scr_copy_opts o = scr_flush_opts(ctx);
    int foreign = scr_cache_is(ctx, id, SCR_CACHE_FOREIGN);
    struct scr_flush_end end = { 0 };
    TRY(scr_async_let_go_all(ctx, err));
    if (scr_cache_is(ctx, id, SCR_CACHE_KEPT))
        return scr_cache_refuse_kept(id, err);
    double start = scr_now_mono();
    scr_flush_begun(ctx, SCR_FLUSH_WAITED, id);
    scr_phase_all(ctx, "flush", id);
    int rc = foreign ? flush_foreign_all(ctx, &o, id, &end.bytes, err)
                     : scr_flush_all(&at, &o, dset, ctx->cache.map, &end.bytes, err);
    end.rc = rc;
    end.why = err != NULL ? err->text : NULL;
    end.secs = scr_now_mono() - start;
    scr_flush_ended(ctx, SCR_FLUSH_WAITED, id, &end);
    if (foreign)
        return rc;
    if (rc == SCR_OK || rc == SCR_E_FULL)
        scr_retain_all(ctx);
    else if (rc == SCR_E_TAKEN)
        scr_flee_ids_all(ctx);
    return rc;
}

/* A cached file that is gone or damaged is rebuilt, and the flush tried once more. */
int scr_flush_dataset_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT, lost = SCR_ERR_INIT;
    int rc = scr_flush_once_all(ctx, id, &why);
    if (scr_flush_may_be_mended(ctx, id, rc)) {
        scr_log(&ctx->log, SCR_LOG_WARN,
                "%s (dataset %d) is verified in cache and flushed once more: %s",
                scr_cache_name_of(ctx, id), id, why.text);
        if (scr_cache_mend_all(ctx, id, &lost) != SCR_OK)
            return scr_fail(err, rc, 0, "%s; it is not rebuilt: %s", why.text,
                            lost.text);
        scr_err_clear(&why);
        rc = scr_flush_once_all(ctx, id, &why);
    }
    return scr_err_take(err, rc, &why);
}

static int flush_unless_all(struct scr_ctx *ctx, int id,
                            int is_so_all(struct scr_ctx *ctx, int id),
                            struct scr_err *err)
{
    (void)scr_async_wait_all(ctx, id, NULL); /* what failed is not on the prefix */
    if (is_so_all(ctx, id))
        return SCR_OK;
    (void)scr_async_wait_all(ctx, 0, NULL); /* others may go to the same paths */
    return scr_flush_dataset_all(ctx, id, err);
}

int scr_flush_if_needed_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    return flush_unless_all(ctx, id, scr_flush_is_done_all, err);
}

int scr_flush_if_owed_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    return flush_unless_all(ctx, id, scr_flush_is_settled_all, err);
}

/* The same; a dataset that cannot be flushed any more, because a newer one has files at
 * its paths, is reported and counts as flushed (invariant P15). */
static int flush_or_give_way_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_flush_if_owed_all(ctx, id, &why);
    if (rc == SCR_E_NEWER)
        scr_flush_tell_newer(ctx, id, &why);
    else if (rc != SCR_OK)
        return scr_err_take(err, rc, &why);
    return SCR_OK;
}

/* Output, and a checkpoint that was set aside: a newer one does not replace them. */
static int is_owed(const struct scr_ctx *ctx, int id)
{
    const struct scr_held *h = scr_cache_held(ctx, id);
    return h != NULL && ((h->kind & SCR_IS_OUTPUT) != 0 || h->set_aside);
}

/* It goes to the prefix; if output is all it is, it leaves the cache. */
static int flush_owed_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    int kind = scr_cache_kind(ctx, id);
    if (!is_owed(ctx, id))
        return SCR_OK;
    int rc = flush_or_give_way_all(ctx, id, err);
    return rc == SCR_OK && kind == SCR_IS_OUTPUT
               ? scr_cache_drop_all(ctx, id, "output that is flushed or deleted", err)
               : rc;
}

void scr_flush_left_all(struct scr_ctx *ctx)
{
    for (int id = 0; (id = scr_cache_next(ctx, id)) > 0;) {
        struct scr_err why = SCR_ERR_INIT;
        if (scr_cache_is(ctx, id, SCR_CACHE_FOREIGN) &&
            flush_owed_all(ctx, id, &why) != SCR_OK)
            scr_log(&ctx->log, SCR_LOG_WARN,
                    "cannot flush output dataset %d, written by a different number of "
                    "ranks: %s; kept in cache, retried later",
                    id, why.text);
    }
}

/* err keeps the first of several failures. */
static int tell_flush(const struct scr_ctx *ctx, int id, int rc,
                      const struct scr_err *why, struct scr_err *err)
{
    return rc == SCR_OK ? rc
                        : scr_fail(err, rc, 0, "flush of %s (dataset %d): %s",
                                   scr_cache_name_of(ctx, id), id, why->text);
}

/* A failure does not stop the others, least of all the newest checkpoint. */
int scr_flush_pending_all(struct scr_ctx *ctx, int newest, struct scr_err *err)
{
    int rc = SCR_OK;
    (void)scr_async_wait_all(ctx, 0, NULL); /* nor does one of these */
    for (int id = 0; (id = scr_cache_next(ctx, id)) > 0;) {
        struct scr_err why = SCR_ERR_INIT;
        int one = scr_cache_is_ready(ctx, id) ? flush_owed_all(ctx, id, &why) : SCR_OK;
        rc = scr_first(rc, tell_flush(ctx, id, one, &why, err));
    }
    scr_flush_left_all(ctx);
    int id = scr_cache_newest_ckpt(ctx);
    if (newest && id > 0) {
        struct scr_err why = SCR_ERR_INIT;
        int last = flush_or_give_way_all(ctx, id, &why);
        rc = scr_first(rc, tell_flush(ctx, id, last, &why, err));
    }
    return rc;
}

/* Names of what SCR_Finalize would copy. */
static void list_unsaved(const struct scr_ctx *ctx, struct scr_str *names)
{
    int newest = ctx->prm.flush != 0 ? scr_cache_newest_ckpt(ctx) : 0;
    for (size_t i = 0; i < ctx->cache.nheld; i++) {
        struct scr_dataset d;
        int id = ctx->cache.held[i].id;
        if (!scr_cache_is_ready(ctx, id) ||
            scr_cache_dataset(ctx, id, &d, NULL) != SCR_OK)
            continue;
        if ((is_owed(ctx, id) || id == newest) && !scr_flush_is_settled_here(ctx, id))
            scr_str_printf(names, "%s%s", names->len > 0 ? ", " : "", d.name);
    }
}

char *scr_ctx_unsaved(const struct scr_ctx *ctx)
{
    struct scr_str names = SCR_STR_INIT, text = SCR_STR_INIT;
    list_unsaved(ctx, &names);
    if (ctx->out.id > 0)
        scr_str_printf(&text, "%s was not completed, ", ctx->out.name);
    if (names.len > 0)
        scr_str_printf(&text, "only in cache, which is lost with the allocation: %s",
                       names.p);
    else
        scr_str_append(&text, "the job counts as unfinished");
    scr_str_free(&names);
    return scr_str_take(&text);
}

/* --- what leaves the cache --- */

int scr_cache_let_go_all(struct scr_ctx *ctx, int id, const char *why,
                         struct scr_err *err)
{
    (void)scr_async_wait_all(ctx, id, NULL);
    TRY(is_owed(ctx, id) ? flush_or_give_way_all(ctx, id, err) : SCR_OK);
    scr_log(&ctx->log, SCR_LOG_INFO, "%s (dataset %d) leaves the cache",
            scr_cache_name_of(ctx, id), id);
    return scr_cache_drop_all(ctx, id, why, err);
}
