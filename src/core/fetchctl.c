/* SPDX-License-Identifier: BSD-3-Clause */
/* Fetching a checkpoint from the prefix into the cache, and which. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/str.h"
#include "base/units.h"
#include "core/cachectl.h"
#include "core/ctx.h"
#include "core/edits.h"
#include "core/event_note.h"
#include "core/fetchctl.h"
#include "core/flushfile.h"
#include "core/foreign.h"
#include "core/inplace.h"
#include "core/neighbours.h"
#include "core/phase.h"
#include "core/room.h"

/* --- one dataset --- */

struct fetched {
    int id;
    int failed; /* 1: the dataset itself is bad */
};

/* CURRENT stays: it moves when the application has read the checkpoint (invariant P6).
 */
static int edit_fetched(struct scr_index *index, void *arg, int *changed,
                        struct scr_err *err)
{
    const struct fetched *f = arg;
    time_t now = time(NULL);
    (void)err;
    *changed = 1;
    if (f->failed) {
        scr_index_mark_failed(index, f->id, now);
        return SCR_OK;
    }
    scr_index_mark_fetched(index, f->id, now);
    scr_index_clear_failed(index, f->id);
    return SCR_OK;
}

static int fetch_into_all(struct scr_ctx *ctx, const struct scr_reddesc *red, int id,
                          char **name, struct scr_err *err)
{
    const struct scr_store *store = &ctx->descs.store[red->store];
    const struct scr_prefix_dset at = scr_prefix_dset_of(ctx, id);
    const struct scr_copy_opts o = { .width = ctx->prm.fetch_width,
                                     .buf = (size_t)ctx->prm.file_buf_size,
                                     .crc = ctx->prm.crc_on_flush };
    scr_hash *dset = scr_hash_new();
    char *dset_dir = NULL;
    struct scr_dataset d;
    int rc = scr_cache_reserve(ctx, 1, err);
    if (rc == SCR_OK)
        rc = scr_cache_open(ctx, id, store->path, strcmp(store->group, "NODE") == 0,
                            &dset_dir, err);
    scr_phase_all(ctx, "fetch", id);
    const struct scr_fetch_to to = { dset_dir, ctx->cache.map, &ctx->cntl };
    rc = scr_fetch_all(&at, &o, &to, rc, dset, err);
    if (rc == SCR_OK) {
        struct scr_protection p = { .id = id, .dset_dir = dset_dir, .dset = dset };
        rc = scr_protect_dataset_all(ctx, red, &p, SCR_OK, err);
        if (rc == SCR_OK)
            rc = scr_cache_dataset(ctx, id, &d, err);
        *name = rc == SCR_OK ? scr_strdup(d.name) : NULL;
        if (rc == SCR_OK && *name == NULL)
            rc = scr_no_memory(err);
        rc = scr_cache_enter_ready_all(ctx, id, rc, err);
    }
    if (rc == SCR_OK)
        scr_flush_mark(ctx, id, SCR_LOC_CACHE | SCR_LOC_PFS, 0);
    scr_hash_delete(dset);
    free(dset_dir);
    return rc;
}

/* Errors that are the dataset's fault: it is not tried again. */
static int is_bad_dataset(int rc)
{
    return rc == SCR_E_CORRUPT || rc == SCR_E_MISSING || rc == SCR_E_OUTSIDE;
}

/* Rank 0 alone: no other rank depends on it. */
static void note_in_index(struct scr_ctx *ctx, struct fetched f)
{
    struct scr_err why = SCR_ERR_INIT;
    if (ctx->world.rank == 0 &&
        scr_prefix_index_update(&ctx->env, &ctx->prefix, edit_fetched, &f, &why) !=
            SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN, "dataset %d: the index is not updated: %s",
                f.id, why.text);
}

/* What a fetch that failed left in cache; files that were there before, because the
 * dataset is read on the prefix, stay. A dataset of a different number of ranks was not
 * touched, and may be in cache for those. */
static void clean_up_all(struct scr_ctx *ctx, int id, int rc)
{
    struct scr_err why = SCR_ERR_INIT;
    if (rc == SCR_E_RANKS)
        scr_cache_prune_all(ctx, id);
    else if (!scr_cache_is_ready(ctx, id) && !scr_cache_is(ctx, id, SCR_CACHE_KEPT))
        scr_cache_delete_all(ctx, id, &why);
}

/* Bytes of dataset id as the index has it; 0 on other ranks than 0. */
static uint64_t size_of(const struct scr_ctx *ctx, int id)
{
    struct scr_index_entry e = { 0 };
    struct scr_index index = SCR_INDEX_INIT;
    if (ctx->world.rank == 0 &&
        scr_prefix_index_read(&ctx->env, &ctx->prefix, &index, NULL) == SCR_OK)
        (void)scr_index_get(&index, id, &e, NULL);
    uint64_t size = e.dset.size;
    scr_index_fini(&index);
    return size;
}

/* After the step'th attempt, which found no room: what others have leaves, as much as
 * is needed, then all of it; then what this run has. *more: something has left. */
static int make_room_all(struct scr_ctx *ctx, const struct scr_reddesc *red, int id,
                         int step, int *more, struct scr_err *err)
{
    enum { NEEDED, ALL, OWN };
    *more = 1;
    if (step == OWN)
        return scr_cache_evict_for_fetch_all(ctx, red, err);
    *more = scr_neighbours_leave_all(ctx, red, id, size_of(ctx, id), step == ALL);
    return SCR_OK;
}

/* Remaining files of a dataset that could not be restored: they may be in another store
 * than the one this fetch uses, and would count as files of the fetched copy. */
static int remove_lost_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    if (!scr_cache_is(ctx, id, SCR_CACHE_LOST))
        return SCR_OK;
    TRY(scr_cache_delete_all(ctx, id, err));
    scr_barrier_all(
        &ctx->world); /* before the fetch makes them, directories are swept */
    return SCR_OK;
}

/* Datasets in cache are only evicted if there is no room for the new one: until it is
 * whole they may be the only copies. */
static int fetch_or_make_room_all(struct scr_ctx *ctx, int id, char **name,
                                  struct scr_err *err)
{
    enum { STEPS = 3 };
    const struct scr_reddesc *red = scr_descs_select(&ctx->descs, 1, 0);
    struct scr_err full = SCR_ERR_INIT;
    if (red == NULL)
        return scr_fail(err, SCR_E_CONFIG, 0, "no CKPT descriptor");
    scr_release_wait(&ctx->cache.release);
    TRY(remove_lost_all(ctx, id, err));
    int rc = fetch_into_all(ctx, red, id, name, &full);
    for (int step = 0, more; rc == SCR_E_FULL && step < STEPS; step++) {
        clean_up_all(ctx, id, rc);
        free(*name);
        *name = NULL;
        int made = make_room_all(ctx, red, id, step, &more, err);
        if (made != SCR_OK)
            return made;
        if (more) {
            scr_err_clear(&full);
            rc = fetch_into_all(ctx, red, id, name, &full);
        }
    }
    return scr_err_take(err, rc, &full);
}

/* 1 if the index has another dataset of this number than what is in cache (P14). */
static int is_anothers_all(struct scr_ctx *ctx, int id)
{
    enum scr_entered is = SCR_ENTERED_NOT;
    const scr_hash *cached = scr_cache_any_dataset(ctx, id);
    if (ctx->world.rank == 0 && cached != NULL)
        (void)scr_prefix_look_up(&ctx->env, &ctx->prefix, cached, &is, NULL);
    return scr_or_all(&ctx->world, is == SCR_ENTERED_OTHER);
}

/* Of a dataset that is read where it lies nothing was copied. */
static void note_fetched(struct scr_ctx *ctx, int id, const char *name, double secs)
{
    struct scr_dataset d = { .name = name };
    int in_place = scr_restart_is_on_prefix(&ctx->restart);
    if (!in_place)
        (void)scr_cache_dataset(ctx, id, &d, NULL);
    SCR_EVENT(ctx, .event = "FETCH_SUCCESS", .dset = id, .name = name, .secs = secs,
              .bytes = (int64_t)d.size, .files = (int64_t)d.files, .from = "prefix",
              .to = in_place ? "prefix" : "cache");
}

/* A dataset of a different number of ranks stays in cache for those: if another dataset
 * on the prefix has its number, that one is read there. */
int scr_fetch_dataset_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    char *name = NULL;
    int foreign = scr_cache_is(ctx, id, SCR_CACHE_FOREIGN);
    if (foreign && !is_anothers_all(ctx, id)) {
        int ranks = scr_regroup_ranks_all(ctx, id);
        return scr_fail(err, SCR_E_RANKS, 0,
                        "dataset %d in cache was written by %d rank%s, this run has %d",
                        id, ranks, scr_plural(ranks), ctx->world.size);
    }
    double start = scr_now_mono();
    SCR_EVENT(ctx, .event = "FETCH_START", .dset = id);
    int rc = foreign || scr_is_read_in_place_all(ctx, id)
                 ? scr_in_place_open_all(ctx, id, &name, err)
                 : fetch_or_make_room_all(ctx, id, &name, err);
    if (rc == SCR_OK) {
        ctx->choice.fetched = id;
        note_in_index(ctx, (struct fetched){ id, 0 });
        scr_log(&ctx->log, SCR_LOG_NOTE, "fetched checkpoint %s (dataset %d) from %s",
                name, id, ctx->prefix.path);
        note_fetched(ctx, id, name, scr_now_mono() - start);
    } else {
        if (is_bad_dataset(rc))
            note_in_index(ctx, (struct fetched){ id, 1 });
        if (!foreign)
            clean_up_all(ctx, id, rc);
        SCR_EVENT(ctx, .event = "FETCH_FAIL", .dset = id,
                  .note = err != NULL ? err->text : NULL);
    }
    free(name);
    return rc;
}

int scr_fetch_or_open_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_fetch_dataset_all(ctx, id, &why);
    if (rc == SCR_E_RANKS) {
        rc = scr_ranks_check(ctx, &why, err);
        return rc == SCR_OK ? scr_regroup_open_all(ctx, id, err) : rc;
    }
    return scr_err_take(err, rc, &why);
}
