/* SPDX-License-Identifier: BSD-3-Clause */
/* When datasets go to the prefix, and the flush file that says where each one is. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/str.h"
#include "base/units.h"
#include "core/ctx.h"
#include "store/arrival.h"
#include "store/flushing.h"
#include "store/replacing.h"

struct mark {
    int id;
    const scr_hash *dset;
    int on, off;
};

static int edit_mark(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    const struct mark *m = arg;
    int rc;
    *changed = 1;
    TRY_OUT(m->dset ? scr_flush_set_dataset(h, m->dset) : SCR_OK);
    for (int bit = SCR_LOC_CACHE; bit <= SCR_LOC_SYNC_FLUSHING; bit <<= 1)
        if ((m->on | m->off) & bit)
            TRY_OUT(scr_flush_set_location(h, m->id, bit, (m->on & bit) != 0));
out:
    return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "flush file, dataset %d", m->id);
}

/* --- the flush file: lists for commands what to save when the job has died --- */

struct edit {
    scr_hash_edit make;
    void *arg;
    int changed;
};

static int edit_and_note(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    struct edit *e = arg;
    int rc = e->make(h, e->arg, changed, err);
    e->changed = *changed;
    return rc;
}

/* On rank 0. A failure to write it is no reason to drop a dataset, so the others do not
 * wait for it; it is reported once, until it is written or fails for another cause. */
static void edit_flush_file(struct scr_ctx *ctx, scr_hash_edit edit, void *arg)
{
    struct edit e = { edit, arg, 0 };
    struct scr_err why = SCR_ERR_INIT;
    if (ctx->world.rank != 0)
        return;
    int rc = scr_prefix_state_update(&ctx->env, &ctx->prefix, "flush.scr",
                                     edit_and_note, &e, &why);
    if (rc != SCR_OK && strcmp(why.text, ctx->untold.text) != 0)
        scr_log(&ctx->log, SCR_LOG_WARN,
                "cannot update flush.scr: %s; commands may not find datasets in cache",
                why.text);
    if (rc != SCR_OK || e.changed)
        ctx->untold = why;
}

void scr_flush_mark(struct scr_ctx *ctx, int id, int on, int off)
{
    struct mark m = { id, scr_filemap_get_dataset(ctx->map, id, ctx->world.rank), on,
                      off };
    edit_flush_file(ctx, edit_mark, &m);
}

/* The only record of output that may be lost stays until a restart was chosen. */
static int is_needed(const struct scr_ctx *ctx, const scr_hash *h, int id)
{
    return ctx->lost.open && scr_flush_is_open_output(h, id);
}

struct forget {
    const struct scr_ctx *ctx;
    int id;
};

/* Another job's entry of that number stays. */
static int edit_forget(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    const struct forget *f = arg;
    (void)err;
    *changed = scr_hash_get_kv_int(h, "DATASET", f->id) != NULL &&
               scr_flush_is_of_job(h, f->id, f->ctx->prm.job_id) &&
               !is_needed(f->ctx, h, f->id);
    if (*changed)
        scr_flush_remove(h, f->id);
    return SCR_OK;
}

void scr_flush_forget(struct scr_ctx *ctx, int id)
{
    struct forget f = { ctx, id };
    edit_flush_file(ctx, edit_forget, &f);
}

/* The result of rank 0; what cannot be read is empty. 1 if the index was read. */
static int read_state(const struct scr_ctx *ctx, scr_hash *flush,
                      struct scr_index *index)
{
    if (scr_prefix_state_read(&ctx->env, &ctx->prefix, "flush.scr", flush, NULL) !=
        SCR_OK)
        scr_hash_unset_all(flush);
    return scr_prefix_index_read(&ctx->env, &ctx->prefix, index, NULL) == SCR_OK;
}

/* An older one that is not complete there is copied once more, too: what a newer one
 * has written over stays as it is (invariant P15). */
static int is_on_prefix(const struct scr_ctx *ctx, int id)
{
    struct scr_index index = SCR_INDEX_INIT;
    scr_hash *flush = scr_hash_new();
    int on = read_state(ctx, flush, &index) &&
             scr_flush_is_saved(flush, &index, id, scr_cache_any_dataset(ctx, id));
    scr_hash_delete(flush);
    scr_index_fini(&index);
    return on;
}

int scr_flush_is_done_all(struct scr_ctx *ctx, int id)
{
    return scr_or_all(&ctx->world, ctx->world.rank == 0 && is_on_prefix(ctx, id));
}

int scr_flush_once_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    const scr_hash *dset = scr_filemap_get_dataset(ctx->map, id, ctx->world.rank);
    const struct scr_prefix_dset at = scr_prefix_dset_of(ctx, id);
    const struct scr_copy_opts o = scr_flush_opts(ctx);
    int foreign = scr_cache_is(ctx, id, SCR_CACHE_FOREIGN);
    uint64_t bytes = 0;
    TRY(scr_async_let_go_all(ctx, err));
    if (scr_cache_is(ctx, id, SCR_CACHE_KEPT))
        return scr_cache_refuse_kept(id, err);
    if (!foreign)
        scr_flush_mark(ctx, id, SCR_LOC_CACHE | SCR_LOC_SYNC_FLUSHING, 0);
    scr_phase_all(ctx, "flush", id);
    double start = scr_now_mono();
    SCR_EVENT(ctx, .event = "FLUSH_START", .dset = id);
    int rc = foreign ? scr_regroup_flush_all(ctx, &o, id, &bytes, err)
                     : scr_flush_all(&at, &o, dset, ctx->map, &bytes, err);
    SCR_EVENT(ctx, .event = rc == SCR_OK ? "FLUSH_SUCCESS" : "FLUSH_FAIL", .dset = id,
              .bytes = (int64_t)bytes, .secs = scr_now_mono() - start,
              .note = rc == SCR_OK || err == NULL ? NULL : err->text);
    if (rc == SCR_OK || !foreign)
        scr_flush_mark(ctx, id, rc == SCR_OK ? SCR_LOC_PFS : 0,
                       foreign ? 0 : SCR_LOC_SYNC_FLUSHING);
    if (foreign)
        return rc;
    if (rc == SCR_OK || rc == SCR_E_FULL)
        scr_retain_all(ctx);
    else if (rc == SCR_E_TAKEN)
        scr_flee_ids_all(ctx);
    return rc;
}

int scr_flush_may_be_mended(const struct scr_ctx *ctx, int id, int rc)
{
    return scr_cache_is_ready(ctx, id) &&
           (rc == SCR_E_MISSING || rc == SCR_E_CORRUPT || rc == SCR_E_NOENT);
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
    return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "%s", why.text);
}

int scr_flush_if_needed_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    (void)scr_async_wait_all(ctx, id, NULL); /* what failed is not on the prefix */
    if (scr_flush_is_done_all(ctx, id))
        return SCR_OK;
    (void)scr_async_wait_all(ctx, 0, NULL); /* others may go to the same paths */
    return scr_flush_dataset_all(ctx, id, err);
}

/* That one which was on the prefix is written over by a newer one is as it should be.
 */
static int was_on_prefix(const struct scr_ctx *ctx, int id)
{
    scr_hash *flush = scr_hash_new();
    (void)scr_prefix_state_read(&ctx->env, &ctx->prefix, "flush.scr", flush, NULL);
    int was = scr_flush_is_saved(flush, NULL, id, scr_cache_any_dataset(ctx, id));
    scr_hash_delete(flush);
    return was;
}

void scr_flush_tell_newer(struct scr_ctx *ctx, int id, const struct scr_err *why)
{
    if (ctx->world.rank == 0)
        scr_log(&ctx->log, was_on_prefix(ctx, id) ? SCR_LOG_INFO : SCR_LOG_WARN,
                "%s: it is not flushed any more", why->text);
}

int scr_flush_or_give_way_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_flush_if_needed_all(ctx, id, &why);
    if (rc == SCR_E_NEWER)
        scr_flush_tell_newer(ctx, id, &why);
    else if (rc != SCR_OK)
        return scr_fail(err, rc, 0, "%s", why.text);
    return SCR_OK;
}

/* An output in cache goes to the prefix; if that is all it is, it leaves the cache. */
static int flush_output_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    int kind = scr_cache_kind(ctx, id);
    if ((kind & SCR_IS_OUTPUT) == 0)
        return SCR_OK;
    int rc = scr_flush_or_give_way_all(ctx, id, err);
    return rc == SCR_OK && kind == SCR_IS_OUTPUT ? scr_cache_delete_all(ctx, id, err)
                                                 : rc;
}

void scr_flush_left_all(struct scr_ctx *ctx)
{
    for (int id = 0; (id = scr_cache_next(ctx, id)) > 0;) {
        struct scr_err why = SCR_ERR_INIT;
        if (scr_cache_is(ctx, id, SCR_CACHE_FOREIGN) &&
            flush_output_all(ctx, id, &why) != SCR_OK)
            scr_log(&ctx->log, SCR_LOG_WARN,
                    "cannot flush output dataset %d, written by a different number of "
                    "ranks: %s; kept in cache, retried later",
                    id, why.text);
    }
}

/* A failure does not stop the others, least of all the newest checkpoint. */
int scr_flush_pending_all(struct scr_ctx *ctx, int newest, struct scr_err *err)
{
    int rc = SCR_OK;
    (void)scr_async_wait_all(ctx, 0, NULL); /* nor does one of these */
    for (int id = 0; (id = scr_cache_next(ctx, id)) > 0;) {
        struct scr_err why = SCR_ERR_INIT;
        int one =
            scr_cache_is_ready(ctx, id) ? flush_output_all(ctx, id, &why) : SCR_OK;
        if (one != SCR_OK && rc == SCR_OK)
            rc = scr_fail(err, one, 0, "flush of %s (dataset %d): %s",
                          scr_cache_name_of(ctx, id), id, why.text);
    }
    scr_flush_left_all(ctx);
    int id = scr_cache_newest_ckpt(ctx, 0);
    if (newest && id > 0) {
        rc = scr_first(rc,
                       scr_flush_or_give_way_all(ctx, id, rc == SCR_OK ? err : NULL));
    }
    return rc;
}

/* Names of what SCR_Finalize would copy. */
static void list_unsaved(const struct scr_ctx *ctx, struct scr_str *names)
{
    int newest = ctx->prm.flush > 0 ? scr_cache_newest_ckpt(ctx, 0) : 0;
    for (size_t i = 0; i < ctx->nheld; i++) {
        struct scr_dataset d;
        int id = ctx->held[i].id;
        if (!scr_cache_is_ready(ctx, id) ||
            scr_cache_dataset(ctx, id, &d, NULL) != SCR_OK)
            continue;
        if ((d.is_output || id == newest) && !is_on_prefix(ctx, id))
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

/* --- what the flush file says of datasets that are gone --- */

static void forget_cache(scr_hash *h, int id)
{
    for (int bit = SCR_LOC_CACHE; bit <= SCR_LOC_SYNC_FLUSHING; bit <<= 1)
        if (bit != SCR_LOC_PFS)
            scr_flush_set_location(h, id, bit, 0);
    if (scr_flush_get_location(h, id) == 0)
        scr_flush_remove(h, id);
}

/* It is not known here whether another job still runs, or its caches can be scavenged;
 * after so long it does not. */
static int is_recent(const struct scr_dataset *d)
{
    enum { DAYS = 30, DAY = 24 * 3600 };
    return d->created / 1000000 > (int64_t)time(NULL) - (int64_t)DAYS * DAY;
}

static int is_anothers(const struct scr_ctx *ctx, const scr_hash *h, int id)
{
    struct scr_dataset d;
    const scr_hash *dset = scr_hash_getf(h, "DATASET %d DSETDESC", id);
    return !scr_flush_is_of_job(h, id, ctx->prm.job_id) &&
           scr_dataset_get(dset, &d, NULL) == SCR_OK && is_recent(&d);
}

/* Runs of this job before this one are over, except for their transfer processes. */
int scr_flush_may_go_on(const struct scr_ctx *ctx, const scr_hash *flush,
                        const struct scr_index_entry *e)
{
    const char *of = e->dset.jobid;
    if (scr_cache_has(ctx, e->id) || scr_async_has(ctx, e->id) ||
        ctx->out.id == e->id || scr_flushing_is_held(&ctx->env, &ctx->prefix, e->id) ||
        scr_replacing_is_begun(&ctx->env, &ctx->prefix, e->id))
        return 1;
    if (of == NULL || strcmp(of, ctx->prm.job_id) == 0)
        return ctx->async.leftovers &&
               scr_arrival_has_plan(&ctx->env, &ctx->prefix, e->id);
    return is_recent(&e->dset) &&
           (scr_arrival_has_plan(&ctx->env, &ctx->prefix, e->id) ||
            is_anothers(ctx, flush, e->id));
}

/* The rest of lost output stays in cache until room is needed: its entry says that
 * no later start has to go back for it. */
static int sweep_one(struct scr_ctx *ctx, scr_hash *h, int id)
{
    int lost = scr_cache_is(ctx, id, SCR_CACHE_LOST) && scr_flush_is_open_output(h, id);
    if ((scr_cache_has(ctx, id) && !lost) || is_anothers(ctx, h, id) ||
        (scr_flush_get_location(h, id) & SCR_LOC_CACHE) == 0)
        return 0;
    if (is_needed(ctx, h, id)) {
        ctx->lost.found = 1;
        return 0;
    }
    if (lost)
        (void)scr_flush_set_lost(h, id);
    else
        forget_cache(h, id);
    return 1;
}

static int edit_sweep(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    struct scr_ctx *ctx = arg;
    int *ids = NULL;
    size_t n = 0;
    if (!scr_hash_list_int(scr_hash_get(h, "DATASET"), &ids, &n))
        return scr_no_memory(err);
    for (size_t i = 0; i < n; i++)
        if (sweep_one(ctx, h, ids[i]))
            *changed = 1;
    free(ids);
    return SCR_OK;
}

void scr_flush_sweep(struct scr_ctx *ctx)
{
    edit_flush_file(ctx, edit_sweep, ctx);
}
