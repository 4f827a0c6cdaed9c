/* SPDX-License-Identifier: BSD-3-Clause */
/* The flush file, which says where each dataset is: commands read it to save datasets
 * when the job has died. Rank 0 edits it while the others continue. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/ctx.h"
#include "core/event_note.h"
#include "core/flushfile.h"

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
 * wait for it; it is reported once, until it is written or fails for another cause.
 * Returns the code, for the one caller whose next step depends on it. */
static int edit_flush_file(struct scr_ctx *ctx, scr_hash_edit edit, void *arg)
{
    struct edit e = { edit, arg, 0 };
    struct scr_err why = SCR_ERR_INIT;
    if (ctx->world.rank != 0)
        return SCR_OK;
    int rc = scr_prefix_state_update(&ctx->env, &ctx->prefix, "flush.scr",
                                     edit_and_note, &e, &why);
    if (rc != SCR_OK && strcmp(why.text, ctx->flusher.untold.text) != 0)
        scr_log(&ctx->log, SCR_LOG_WARN,
                "cannot update flush.scr: %s; commands may not find datasets in cache",
                why.text);
    if (rc != SCR_OK || e.changed)
        ctx->flusher.untold = why;
    return rc;
}

void scr_flush_mark(struct scr_ctx *ctx, int id, int on, int off)
{
    struct mark m = { id, scr_filemap_get_dataset(ctx->cache.map, id, ctx->world.rank),
                      on, off };
    (void)edit_flush_file(ctx, edit_mark, &m);
}

/* The only record of output that may be lost stays until a restart was chosen. */
static int is_needed(const struct scr_ctx *ctx, const scr_hash *h, int id)
{
    return ctx->choice.lost.open && scr_flush_is_open_output(h, id);
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
    (void)edit_flush_file(ctx, edit_forget, &f);
}

struct retired {
    const struct scr_ctx *ctx;
    const struct scr_index *index;
    const int *ids;
    size_t n;
};

static int edit_retired(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    const struct retired *r = arg;
    const int copied = SCR_LOC_CACHE | SCR_LOC_PFS;
    (void)err;
    *changed = 0;
    for (size_t i = 0; i < r->n; i++) {
        struct scr_index_entry e;
        int id = r->ids[i];
        if (scr_index_get(r->index, id, &e, NULL) != SCR_OK ||
            (scr_flush_get_location(h, id) & copied) != copied ||
            !scr_flush_is_of(h, id, &e.dset) ||
            scr_flush_is_of_job(h, id, r->ctx->prm.job_id))
            continue;
        (void)scr_flush_set_location(h, id, SCR_LOC_PFS, 0);
        *changed = 1;
    }
    return SCR_OK;
}

int scr_flush_mark_retired(struct scr_ctx *ctx, scr_hash *flush,
                           const struct scr_index *index, const int *ids, size_t n)
{
    struct retired r = { ctx, index, ids, n };
    int due = 0;
    (void)edit_retired(flush, &r, &due, NULL);
    return due ? edit_flush_file(ctx, edit_retired, &r) : SCR_OK;
}

/* --- whether a dataset is on the prefix --- */

/* The result of rank 0; what cannot be read is empty. 1 if the index was read. */
static int read_state(const struct scr_ctx *ctx, scr_hash *flush,
                      struct scr_index *index)
{
    if (scr_prefix_state_read(&ctx->env, &ctx->prefix, "flush.scr", flush, NULL) !=
        SCR_OK)
        scr_hash_unset_all(flush);
    return scr_prefix_index_read(&ctx->env, &ctx->prefix, index, NULL) == SCR_OK;
}

typedef int is_so(const scr_hash *flush, const struct scr_index *index, int id,
                  const scr_hash *dset);

static int ask_state(const struct scr_ctx *ctx, int id, is_so *is)
{
    struct scr_index index = SCR_INDEX_INIT;
    scr_hash *flush = scr_hash_new();
    int so = read_state(ctx, flush, &index) &&
             is(flush, &index, id, scr_cache_any_dataset(ctx, id));
    scr_hash_delete(flush);
    scr_index_fini(&index);
    return so;
}

static int ask_state_all(struct scr_ctx *ctx, int id, is_so *is)
{
    return scr_or_all(&ctx->world, ctx->world.rank == 0 && ask_state(ctx, id, is));
}

/* An older one that is not complete there is copied once more, too: what a newer one
 * has written over stays as it is (invariant P15). */
int scr_flush_is_done_all(struct scr_ctx *ctx, int id)
{
    return ask_state_all(ctx, id, scr_flush_is_saved);
}

int scr_flush_is_settled_all(struct scr_ctx *ctx, int id)
{
    return ask_state_all(ctx, id, scr_flush_is_settled);
}

int scr_flush_is_settled_here(const struct scr_ctx *ctx, int id)
{
    return ask_state(ctx, id, scr_flush_is_settled);
}

void scr_flush_mark_saved(struct scr_ctx *ctx, int id)
{
    if (ctx->world.rank == 0 && ask_state(ctx, id, scr_flush_is_saved))
        scr_flush_mark(ctx, id, SCR_LOC_PFS, 0);
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

int scr_flush_may_be_mended(const struct scr_ctx *ctx, int id, int rc)
{
    return scr_cache_is_ready(ctx, id) &&
           (rc == SCR_E_MISSING || rc == SCR_E_CORRUPT || rc == SCR_E_NOENT);
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
int scr_flush_is_recent(const struct scr_dataset *d)
{
    enum { DAYS = 30, DAY = 24 * 3600 };
    return d->created / 1000000 > (int64_t)time(NULL) - (int64_t)DAYS * DAY;
}

int scr_flush_is_anothers(const struct scr_ctx *ctx, const scr_hash *h, int id)
{
    struct scr_dataset d;
    const scr_hash *dset = scr_hash_getf(h, "DATASET %d DSETDESC", id);
    return !scr_flush_is_of_job(h, id, ctx->prm.job_id) &&
           scr_dataset_get(dset, &d, NULL) == SCR_OK && scr_flush_is_recent(&d);
}

struct sweep {
    struct scr_ctx *ctx;
    int newest; /* checkpoint that was in cache only */
    char *name;
};

static void note_newest(struct sweep *s, const scr_hash *h, int id)
{
    if (id < s->newest || !scr_flush_need(h, id) || !scr_flush_has(h, id, "CKPT"))
        return;
    s->newest = id;
    free(s->name);
    s->name = scr_strdup(scr_flush_name(h, id));
}

/* The rest of lost output stays in cache until room is needed: its entry says that
 * no later start has to go back for it. */
static int sweep_one(struct sweep *s, scr_hash *h, int id)
{
    struct scr_ctx *ctx = s->ctx;
    int lost = scr_cache_is(ctx, id, SCR_CACHE_LOST) && scr_flush_is_open_output(h, id);
    if ((scr_cache_has(ctx, id) && !lost) || scr_flush_is_anothers(ctx, h, id) ||
        (scr_flush_get_location(h, id) & SCR_LOC_CACHE) == 0)
        return 0;
    if (is_needed(ctx, h, id)) {
        ctx->choice.lost.found = 1;
        return 0;
    }
    note_newest(s, h, id);
    if (lost)
        (void)scr_flush_set_lost(h, id);
    else
        forget_cache(h, id);
    return 1;
}

static int edit_sweep(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    int *ids = NULL;
    size_t n = 0;
    if (!scr_hash_list_int(scr_hash_get(h, "DATASET"), &ids, &n))
        return scr_no_memory(err);
    for (size_t i = 0; i < n; i++)
        if (sweep_one(arg, h, ids[i]))
            *changed = 1;
    free(ids);
    return SCR_OK;
}

void scr_flush_sweep(struct scr_ctx *ctx, int is_bare)
{
    struct sweep s = { .ctx = ctx };
    (void)edit_flush_file(ctx, edit_sweep, &s);
    if (is_bare && s.newest > 0)
        scr_log(&ctx->log, SCR_LOG_WARN,
                "checkpoint %s (dataset %d) was in cache only, and the caches of this "
                "run are empty: it is lost, or SCR_CACHE_BASE, SCR_CNTL_BASE or "
                "SCR_VNODES are not as they were",
                s.name ? s.name : "?", s.newest);
    free(s.name);
}

static const struct {
    int bit; /* in the flush file while it is under way */
    const char *start, *success, *fail;
} WAYS[] = {
    [SCR_FLUSH_WAITED] = { SCR_LOC_SYNC_FLUSHING, "FLUSH_START", "FLUSH_SUCCESS",
                           "FLUSH_FAIL" },
    [SCR_FLUSH_BEHIND] = { SCR_LOC_FLUSHING, "ASYNC_FLUSH_START", "ASYNC_FLUSH_SUCCESS",
                           "ASYNC_FLUSH_FAIL" },
};

void scr_flush_begun(struct scr_ctx *ctx, enum scr_flush_way way, int id)
{
    SCR_EVENT(ctx, .event = WAYS[way].start, .dset = id,
              .name = scr_cache_name_of(ctx, id));
    if (!scr_cache_is(ctx, id, SCR_CACHE_FOREIGN))
        scr_flush_mark(ctx, id, SCR_LOC_CACHE | WAYS[way].bit, 0);
}

void scr_flush_ended(struct scr_ctx *ctx, enum scr_flush_way way, int id,
                     const struct scr_flush_end *end)
{
    struct scr_dataset d = { 0 };
    int done = end->rc == SCR_OK, foreign = scr_cache_is(ctx, id, SCR_CACHE_FOREIGN);
    (void)scr_cache_dataset(ctx, id, &d, NULL);
    if (done && d.is_ckpt)
        scr_tally_flushed(&ctx->tally, id, d.name);
    if (done)
        SCR_EVENT(ctx, .event = WAYS[way].success, .dset = id, .name = d.name,
                  .secs = end->secs, .bytes = (int64_t)end->bytes,
                  .files = (int64_t)d.files, .from = "cache", .to = "prefix");
    else
        SCR_EVENT(ctx, .event = WAYS[way].fail, .dset = id,
                  .name = scr_cache_name_of(ctx, id), .note = end->why);
    if (done || !foreign)
        scr_flush_mark(ctx, id, done ? SCR_LOC_PFS : 0, foreign ? 0 : WAYS[way].bit);
}
