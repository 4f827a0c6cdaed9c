/* SPDX-License-Identifier: BSD-3-Clause */
/* A dataset in cache is made whole: its files are moved to where their ranks are now,
 * verified and rebuilt. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/units.h"
#include "core/cachectl.h"
#include "core/ctx.h"
#include "core/event_note.h"
#include "core/mend.h"
#include "core/neighbours.h"
#include "core/phase.h"
#include "core/rivalry.h"
#include "core/topo.h"
#include "par/migrate/distribute.h"

/* The ranks that know the dataset to restore. known: as far as it has been looked for.
 */
static int settle_rivals_all(struct scr_ctx *ctx, int id, const struct scr_known *known,
                             struct scr_rivals *rivals, struct scr_err *err)
{
    if (known != NULL)
        rivals->known = *known;
    else
        scr_rivals_look_all(ctx, &id, 1, &rivals->known);
    rivals->are = rivals->known.several;
    if (!rivals->are)
        return SCR_OK;
    TRY(scr_rivals_settle_all(ctx, id, rivals, err));
    scr_rivals_look_all(ctx, &id, 1, &rivals->known);
    return SCR_OK;
}

/* Where and by how many ranks dataset id was written: sent by the lowest rank that
 * knows, if not all do, and it is not as this run would write it. The code is each
 * rank's own. */
static int share_desc_all(struct scr_ctx *ctx, int id, const struct scr_known *known,
                          scr_hash *desc, struct scr_redplace *kept,
                          struct scr_err *err)
{
    int rc = SCR_OK;
    if (known->line >= 0) {
        const struct scr_descs *d = &ctx->descs;
        const struct scr_store *store = &d->store[d->red[known->line].store];
        *kept = (struct scr_redplace){ store->path, store->group, ctx->world.size,
                                       INT_MAX, known->line };
        return SCR_OK;
    }
    if (known->root == ctx->world.size)
        return scr_fail(err, SCR_E_LOST, 0, "dataset %d was not complete", id);
    if ((known->alike || known->root == ctx->world.rank) &&
        scr_hash_merge(desc, scr_cache_any_desc(ctx, id)) != SCR_OK)
        rc = scr_no_memory(err);
    if (!known->alike)
        rc = scr_hash_bcast_all(&ctx->world, known->root, rc, desc, err);
    if (rc != SCR_OK)
        return rc;
    *kept = scr_redplace_get(desc);
    if (kept->ranks == 0 || kept->store == NULL)
        return scr_fail(err, SCR_E_CORRUPT, 0,
                        "dataset %d: no store or number of ranks in its descriptor",
                        id);
    if (kept->ranks != ctx->world.size)
        return scr_fail(
            err, SCR_E_RANKS, 0,
            "dataset %d in cache was written by %d rank%s, this run has %d: it "
            "stays there for a run with %d (SCR_CACHE_PURGE=1 deletes it)",
            id, kept->ranks, scr_plural(kept->ranks), ctx->world.size, kept->ranks);
    return SCR_OK;
}

/* Learns where dataset id is kept, and makes its directory there for this rank. */
static int open_dset_all(struct scr_ctx *ctx, int id, const struct scr_known *known,
                         char **dset_dir, struct scr_err *err)
{
    scr_hash *desc = scr_hash_new();
    struct scr_redplace kept = { 0 };
    int rc = share_desc_all(ctx, id, known, desc, &kept, err);
    if (rc == SCR_OK)
        rc = scr_rivals_drop_begun(ctx, id, err);
    if (rc == SCR_OK) {
        int is_local = kept.group == NULL || strcmp(kept.group, "NODE") == 0;
        rc = scr_cache_open(ctx, id, kept.store, is_local, dset_dir, err);
    }
    scr_hash_delete(desc);
    return rc;
}

struct revival {
    struct scr_ctx *ctx;
    struct scr_moving moving;
    struct scr_protect protect;
    int id;
    const char *dset_dir;
    enum scr_placed placed;
    int stayed; /* files are where they came from, too */
    struct scr_restore_report rep;
    double begun; /* scr_now_mono() */
};

/* With the nodes that have files which were rebuilt. Datasets that lack nothing have no
 * event, and no rank knows before the end whether one lacks something: none says that a
 * rebuild begins. */
static void note_rebuilt(const struct revival *r)
{
    struct scr_ctx *ctx = r->ctx;
    const char *name = scr_cache_name_of(ctx, r->id);
    char *nodes = NULL, *note;
    if (ctx->prm.log_enable)
        nodes = scr_topo_nodes(ctx, r->rep.mine, r->rep.rebuilt_ranks);
    note = scr_asprintf("the files of %d of %d ranks (%d lost or damaged, redundancy "
                        "files included)",
                        r->rep.rebuilt_ranks, ctx->world.size, r->rep.lost_files);
    if (note != NULL)
        scr_log(&ctx->log, SCR_LOG_NOTE, "%s (dataset %d): rebuilt %s", name, r->id,
                note);
    SCR_EVENT(ctx, .event = "REBUILD_SUCCESS", .dset = r->id, .name = name,
              .secs = scr_now_mono() - r->begun, .bytes = (int64_t)r->rep.bytes,
              .nodelist = nodes, .note = note);
    free(nodes);
    free(note);
}

static int rebuild_all(struct revival *r, struct scr_err *err)
{
    return scr_restore_all(&r->protect, r->id, r->dset_dir, r->moving.map, &r->rep,
                           err);
}

static int release_all(struct revival *r, struct scr_err *err)
{
    r->stayed = 0;
    return scr_distribute_all(&r->moving, r->id, r->dset_dir, SCR_OK, NULL, err);
}

/* Everybody has everything: files that cannot be released stay named where they are,
 * and the next start takes them. */
static void release_rest_all(struct scr_ctx *ctx, struct revival *r)
{
    struct scr_err why = SCR_ERR_INIT;
    if (release_all(r, &why) != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN,
                "dataset %d: copies of moved files stay where they came from: %s",
                r->id, why.text);
}

/* Until all ranks have everything, files stay where they came from too: the node they
 * came to may be the next to die (invariant C2). A cache without room for both keeps
 * one. */
static int move_and_rebuild_all(struct scr_ctx *ctx, struct revival *r,
                                struct scr_err *err)
{
    int rc;
    if (r->placed == SCR_PLACED_ELSE)
        TRY(r->protect.rc = scr_distribute_all(&r->moving, r->id, r->dset_dir,
                                               r->protect.rc, &r->stayed, err));
    scr_phase_all(ctx, "rebuild", r->id);
    rc = rebuild_all(r, err);
    if (rc == SCR_E_FULL && r->stayed) {
        scr_err_clear(err);
        rc = release_all(r, err);
        rc = rc == SCR_OK ? rebuild_all(r, err) : rc;
    }
    if (rc == SCR_OK && r->stayed)
        release_rest_all(ctx, r);
    return rc;
}

/* rc: of this rank until now. */
static int restore_one_all(struct scr_ctx *ctx, int id, struct scr_rivals *rivals,
                           int rc, struct scr_err *err)
{
    struct revival r = {
        .ctx = ctx,
        .begun = scr_now_mono(),
        .moving = { .env = &ctx->env,
                    .world = &ctx->world,
                    .cntl = &ctx->cntl,
                    .map = ctx->cache.map,
                    .buf_max = (size_t)ctx->prm.mpi_buf_size,
                    .released = &rivals->released },
        .protect = { .env = &ctx->env,
                     .world = &ctx->world,
                     .mpi_buf = (size_t)ctx->prm.mpi_buf_size,
                     .crc = ctx->prm.crc_on_copy,
                     .cntl = &ctx->cntl,
                     .rc = rc,
                     .whole = rivals->known.placed == SCR_PLACED_WHOLE,
                     .say = scr_cache_say,
                     .arg = ctx },
        .id = id,
        .dset_dir = rivals->dset_dir,
        .placed = rivals->known.placed,
    };
    r.moving.whole = &r.protect.whole;
    if (rivals->known.line >= 0) {
        r.protect.set = &ctx->cache.sets[rivals->known.line];
        scr_rivals_describe(ctx, rivals->known.line, &r.protect.known);
    }
    rc = move_and_rebuild_all(ctx, &r, err);
    ctx->cache.restored = r.rep;
    if (rc == SCR_OK && r.rep.rebuilt_ranks > 0) {
        ctx->pilot.rebuilt = 1;
        note_rebuilt(&r);
    }
    return rc;
}

/* Among those made before *created, if there are several; out: when that one was. */
static int mend_one_all(struct scr_ctx *ctx, int id, const struct scr_known *known,
                        int64_t *created, struct scr_err *err)
{
    struct scr_rivals rivals = { .created = *created };
    char *dset_dir = NULL;
    int rc = settle_rivals_all(ctx, id, known, &rivals, err);
    if (rc == SCR_OK) {
        rc = open_dset_all(ctx, id, &rivals.known, &dset_dir, err);
        rivals.dset_dir = dset_dir;
        rc = restore_one_all(ctx, id, &rivals, rc, err);
    }
    if (rc == SCR_OK && rivals.are)
        rc = scr_cache_check_all(ctx, id, err);
    /* Short of memory still, it is left to the next dataset, or the next write. */
    if (rc != SCR_OK)
        (void)scr_cache_mend_map(ctx, 0, NULL);
    if (rivals.are)
        scr_rivals_end_all(ctx, id, rc, &rivals);
    *created = rivals.created;
    free(dset_dir);
    return rc;
}

/* Sizes and headers chose the newest of several; where its bytes turn out to be bad an
 * older one may be whole. Where none is, what is wrong with the last that was tried is
 * said. */
static int mend_all(struct scr_ctx *ctx, int id, const struct scr_known *known,
                    int *failed, struct scr_err *err)
{
    int64_t created = INT64_MAX, tried = created;
    int rc = mend_one_all(ctx, id, known, &created, err);
    *failed |= rc != SCR_OK;
    while (rc != SCR_OK && !scr_err_may_pass(rc) && created < tried) {
        struct scr_err why = SCR_ERR_INIT;
        int before = rc;
        tried = created;
        rc = mend_one_all(ctx, id, NULL, &created, &why);
        if (rc == SCR_E_LOST && created == tried)
            return before;
        if (rc == SCR_OK || rc == SCR_E_RANKS)
            scr_log(&ctx->log, SCR_LOG_WARN,
                    "dataset %d in cache: the newest of several of this number is not "
                    "restored, %s: %s",
                    id,
                    rc == SCR_OK ? "an older one is"
                                 : "and a different number of ranks wrote an older one",
                    err->text);
        *err = why;
    }
    return rc;
}

/* --- where its store is full --- */

/* A descriptor of the store that dataset id is in, the same on all ranks; NULL: there
 * is none any more. */
static const struct scr_reddesc *red_of_all(const struct scr_ctx *ctx, int id)
{
    const struct scr_descs *d = &ctx->descs;
    const char *path = scr_redplace_get(scr_cache_any_desc(ctx, id)).store;
    int found = d->nreds;
    for (int i = d->nreds - 1; i >= 0 && path != NULL; i--)
        if (d->red[i].enabled && strcmp(d->store[d->red[i].store].path, path) == 0)
            found = i;
    found = (int)scr_min_all(&ctx->world, found);
    return found < d->nreds ? &d->red[found] : NULL;
}

/* For a dataset that found its store full: what other prefix directories have leaves,
 * as much as is needed, then (all) the rest. */
static int make_room_all(struct scr_ctx *ctx, int id, int all)
{
    struct scr_dataset d = { 0 };
    const struct scr_reddesc *red = red_of_all(ctx, id);
    (void)scr_cache_view(ctx, id, &d);
    return red != NULL && scr_neighbours_leave_all(ctx, red, id, d.size, all);
}

int scr_cache_restore_all(struct scr_ctx *ctx, int id, const struct scr_known *known,
                          int *failed, struct scr_err *err)
{
    struct scr_err full = SCR_ERR_INIT;
    *failed = 0;
    int rc = mend_all(ctx, id, known, failed, &full);
    for (int all = 0; rc == SCR_E_FULL && all <= 1; all++)
        if (make_room_all(ctx, id, all)) {
            scr_err_clear(&full);
            rc = mend_all(ctx, id, NULL, failed, &full);
        }
    if (rc != SCR_OK && err != NULL)
        *err = full;
    return rc;
}

int scr_cache_mend_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    int failed;
    TRY(scr_cache_restore_all(ctx, id, NULL, &failed, err));
    return scr_cache_check_all(ctx, id, err);
}
