/* SPDX-License-Identifier: BSD-3-Clause */
/* Start_output and Complete_output: a dataset from its first file to its protection. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/str.h"
#include "base/units.h"
#include "core/asyncctl.h"
#include "core/bypass.h"
#include "core/cachectl.h"
#include "core/ctx.h"
#include "core/current.h"
#include "core/edits.h"
#include "core/event_note.h"
#include "core/flushctl.h"
#include "core/flushfile.h"
#include "core/layout.h"
#include "core/neighbours.h"
#include "core/phase.h"
#include "core/restart.h"
#include "core/retain.h"
#include "core/room.h"
#include "core/run_events.h"
#include "core/shared.h"
#include "core/sharedstore.h"
#include "core/space.h"
#include "par/pfs/owners.h"
#include "store/dset_names.h"

void scr_output_fini(struct scr_output *out)
{
    free(out->name);
    free(out->dset_dir);
    free(out->rank_dir);
    scr_table_fini(&out->routed);
    scr_table_fini(&out->taken);
    scr_table_fini(&out->shared);
    scr_hash_delete(out->dset);
    scr_bypass_fini(out);
    memset(out, 0, sizeof *out);
}

/* --- start --- */

static int check_flags(int flags, struct scr_err *err)
{
    if ((flags & ~(SCR_IS_CKPT | SCR_IS_OUTPUT)) == 0)
        return SCR_OK;
    return scr_fail(err, SCR_E_ARG, 0,
                    "SCR_Start_output: flags=%d is not a combination of "
                    "SCR_FLAG_CHECKPOINT and SCR_FLAG_OUTPUT",
                    flags);
}

/* The dataset hash; created is rank 0's. */
static int make_dataset(const struct scr_ctx *ctx, int64_t created, scr_hash *dset,
                        struct scr_err *err)
{
    const struct scr_output *out = &ctx->out;
    struct scr_dataset d = { .id = out->id,
                             .name = out->name,
                             .user = ctx->prm.user_name,
                             .jobname = ctx->prm.job_name,
                             .jobid = ctx->prm.job_id,
                             .cluster = ctx->prm.cluster_name,
                             .created = created,
                             .ckpt = out->is_ckpt ? ctx->ckpt_id + 1 : 0,
                             .complete = 0,
                             .is_ckpt = out->is_ckpt,
                             .is_output = out->is_output,
                             .is_bypass = out->bypass };
    int rc = scr_dataset_set(dset, &d);
    return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "dataset %s", out->name);
}

static int open_output(struct scr_ctx *ctx, const char *name, int flags,
                       struct scr_err *err)
{
    struct scr_output *out = &ctx->out;
    if (ctx->last_id == INT_MAX)
        return scr_fail(err, SCR_E_RANGE, 0, "dataset ids are used up");
    out->is_ckpt = (flags & SCR_IS_CKPT) != 0;
    out->is_output = (flags & SCR_IS_OUTPUT) != 0 || !out->is_ckpt;
    out->id = ctx->last_id + 1;
    int ckpt_id = out->is_ckpt ? ctx->ckpt_id + 1 : 0;
    out->name = name ? scr_strdup(name) : scr_asprintf("scr.dataset.%d", out->id);
    scr_table_init(&out->routed, sizeof(struct scr_routed));
    scr_table_init(&out->taken, sizeof(struct scr_item));
    scr_table_init(&out->shared, sizeof(struct scr_shared));
    out->red = scr_descs_select(&ctx->descs, ckpt_id, out->is_output);
    if (out->red == NULL)
        return scr_fail(err, SCR_E_CONFIG, 0, "no CKPT descriptor for checkpoint %d",
                        ckpt_id);
    out->bypass = out->red->bypass;
    const char *cache = ctx->cache.dirs[out->red->store];
    out->dset_dir = scr_dset_path(cache, out->id);
    out->rank_dir = scr_cache_rank_dir(cache, out->id, ctx->world.rank);
    TRY(out->name && out->dset_dir && out->rank_dir ? SCR_OK : scr_no_memory(err));
    return scr_cache_reserve(ctx, 1, err);
}

/* Programs that clean /tmp do that. The locks of the run went with it, so it is not
 * made again. */
static int write_filemap(struct scr_ctx *ctx, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_cntl_write(&ctx->env, &ctx->cntl, ctx->cache.map, &why);
    if (rc == SCR_E_NOENT && !scr_file_is_there(ctx->env.sys, ctx->cntl.dir))
        return scr_fail(err, rc, 0,
                        "control directory %s is gone, something has removed it: no "
                        "checkpoint is written until the program is started again",
                        ctx->cntl.dir);
    return scr_err_take(err, rc, &why);
}

static int make_cache(struct scr_ctx *ctx, const scr_hash *dset, struct scr_err *err)
{
    const struct scr_output *out = &ctx->out;
    /* A deletion that ran short of memory may have left the map without an entry. */
    TRY(scr_cache_mend_map(ctx, 0, err));
    scr_filemap_add_rank(ctx->cache.map, out->id, ctx->world.rank);
    scr_filemap_set_dataset(ctx->cache.map, out->id, ctx->world.rank, dset);
    TRY(write_filemap(ctx, err));
    return scr_cache_make(&ctx->env, ctx->cache.dirs[out->red->store], out->id,
                          ctx->world.rank, err);
}

/* Bytes of the existing files of the open dataset. */
static uint64_t bytes_written(const struct scr_ctx *ctx)
{
    uint64_t sum = 0;
    for (SCR_FILES(f, ctx->cache.map, ctx->out.id, ctx->world.rank)) {
        struct stat st;
        if (scr_file_stat(ctx->env.sys, f->item.name, &st, NULL) == SCR_OK)
            sum += (uint64_t)st.st_size;
    }
    return sum;
}

/* Gives up the open dataset: nothing of it stays in cache. The cause is reported
 * already. */
static void abandon_all(struct scr_ctx *ctx)
{
    if (ctx->out.is_ckpt) {
        ctx->times.failed++;
        ctx->times.last_try = scr_now_mono();
    }
    if (ctx->out.bypass) {
        scr_bypass_abandon_all(ctx);
        scr_output_fini(&ctx->out);
        return;
    }
    uint64_t tried = ctx->out.is_ckpt ? bytes_written(ctx) : 0;
    ctx->sizes.tried = tried > 0 ? tried : ctx->sizes.tried;
    ctx->sizes.tries += ctx->out.is_ckpt;
    scr_cache_delete_all(ctx, ctx->out.id, NULL);
    scr_cache_spare_for(ctx, 0, 0);
    scr_output_fini(&ctx->out);
}

/* The call, the open dataset, and since when no checkpoint is completed. */
static void name_failure(const struct scr_ctx *ctx, const char *call, const char *what,
                         struct scr_err *err)
{
    char since[64] = "", span[32];
    const struct scr_output *out = &ctx->out;
    if (out->is_ckpt && ctx->times.failed > 0)
        snprintf(since, sizeof since, " (%d failed, none for %s)",
                 ctx->times.failed + 1,
                 scr_format_duration(scr_now_mono() - ctx->times.last_ckpt, span,
                                     sizeof span));
    scr_err_prefix(err, "%s: %s (dataset %d) is not %s%s", call, out->name, out->id,
                   what, since);
}

static int make_room_all(struct scr_ctx *ctx, const struct scr_room *room,
                         struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_cache_evict_all(ctx, ctx->out.red, room, &why);
    return rc == SCR_OK ? rc
                        : scr_fail(err, rc, 0, "SCR_Start_output: no room for %s: %s",
                                   ctx->out.name, why.text);
}

/* Directories and records of the open dataset, and a look at the room there is. */
static int begin_all(struct scr_ctx *ctx, int64_t created, uint64_t need,
                     struct scr_room *room, struct scr_err *err)
{
    scr_hash *dset = scr_hash_new();
    int rc = make_dataset(ctx, created, dset, err);
    if (!ctx->out.bypass) {
        rc = rc == SCR_OK ? make_cache(ctx, dset, err) : rc;
        scr_room_look(ctx, ctx->out.red, need, room);
    }
    struct scr_vote v = { .least = { -room->neighbours, -room->narrow } };
    rc = scr_vote_all(&ctx->world, rc, &v, err);
    *room = (struct scr_room){ v.least[0] != 0, v.least[1] != 0 };
    if (rc == SCR_OK && ctx->out.bypass)
        rc = scr_bypass_start_all(ctx, dset, err);
    scr_hash_delete(dset);
    return rc;
}

/* A store may be too full for the records, of what other prefix directories have. */
static int begin_or_make_room_all(struct scr_ctx *ctx, int64_t created, uint64_t need,
                                  struct scr_room *room, struct scr_err *err)
{
    struct scr_err full = SCR_ERR_INIT;
    int rc = begin_all(ctx, created, need, room, &full);
    if (rc == SCR_E_FULL && !ctx->out.bypass &&
        scr_neighbours_leave_all(ctx, ctx->out.red, ctx->out.id, 1, 0)) {
        scr_err_clear(&full);
        rc = begin_all(ctx, created, need, room, &full);
    }
    if (rc != SCR_OK && err != NULL)
        *err = full;
    return rc;
}

/* Datasets in cache stay until all ranks have begun (invariant C10). sum: of the parts
 * that the ranks know (scr_space_part). */
static int begin_and_make_room_all(struct scr_ctx *ctx, int64_t created, uint64_t sum,
                                   struct scr_err *err)
{
    const struct scr_reddesc *red = ctx->out.red;
    int offered = ctx->restart.id, in_cache = !ctx->out.bypass;
    struct scr_room room = { 0 };
    scr_space_note(ctx);
    scr_cache_spare_for(ctx, in_cache ? ctx->out.id : 0, red->store);
    uint64_t need = in_cache && ctx->out.is_ckpt && scr_room_is_measured(ctx, red)
                        ? scr_space_need_all(ctx, red, sum)
                        : 0;
    int rc = begin_or_make_room_all(ctx, created, need, &room, err);
    if (rc != SCR_OK)
        name_failure(ctx, "SCR_Start_output", "begun", err);
    if (rc == SCR_OK && ctx->out.is_ckpt && in_cache)
        rc = make_room_all(ctx, &room, err);
    else if (rc == SCR_OK && room.neighbours)
        scr_neighbours_give_way_all(ctx, red);
    if (ctx->restart.id != offered)
        ctx->choice.ask_again = 1; /* it made room */
    return rc;
}

/* Data that the ranks exchange before a dataset is begun. */
enum { NAME, NAME_NEGATED, FLAGS, FLAGS_NEGATED, CREATED_NEGATED };

/* Takes the arguments, which have to be the same on all ranks. created: when. */
static int open_output_all(struct scr_ctx *ctx, const char *name, int flags,
                           int64_t *created, uint64_t *sum, struct scr_err *err)
{
    static const char call[] = "SCR_Start_output";
    name = name != NULL && name[0] != '\0' ? name : NULL;
    int64_t mark = scr_text_mark(name), now = (int64_t)scr_now_usec();
    int rc = scr_check_name(call, name, 1, err);
    if (rc == SCR_OK)
        rc = check_flags(flags, err);
    if (rc == SCR_OK)
        rc = open_output(ctx, name, flags, err);
    struct scr_vote v = { .least = { mark, -mark, flags, -(int64_t)flags,
                                     ctx->world.rank == 0 ? -now : 0 } };
    v.sum[0] = rc == SCR_OK ? scr_space_part(ctx, ctx->out.red) : 0;
    rc = scr_vote_all(&ctx->world, rc, &v, err);
    if (rc == SCR_OK)
        rc = scr_check_same(call, "name differs", v.least[NAME], v.least[NAME_NEGATED],
                            err);
    if (rc == SCR_OK)
        rc = scr_check_same(call, "flags differ", v.least[FLAGS],
                            v.least[FLAGS_NEGATED], err);
    *created = -v.least[CREATED_NEGATED];
    *sum = v.sum[0];
    return rc;
}

/* why: it has failed; NULL: it is complete. */
static void note_end(struct scr_ctx *ctx, double now, const struct scr_err *why)
{
    const struct scr_output *out = &ctx->out;
    SCR_EVENT(ctx, .event = out->is_ckpt ? "CHECKPOINT_END" : "OUTPUT_END",
              .dset = out->id, .name = out->name, .secs = now - out->start - out->flush,
              .bytes = why == NULL ? (int64_t)out->bytes : 0,
              .files = (int64_t)out->files, .to = out->bypass ? "prefix" : "cache",
              .note = why != NULL ? why->text : NULL);
}

int scr_start_output_all(struct scr_ctx *ctx, const char *name, int flags,
                         struct scr_err *err)
{
    int64_t created = 0;
    uint64_t sum = 0;
    scr_restart_close_all(ctx, "SCR_Start_output");
    scr_release_wait(&ctx->cache.release);
    double now = scr_now_mono();
    scr_async_poll_all(ctx);
    int rc = open_output_all(ctx, name, flags, &created, &sum, err);
    if (rc != SCR_OK) {
        scr_output_fini(&ctx->out);
        return rc;
    }
    /* From here on the id counts as used, whatever happens. */
    ctx->last_id = ctx->out.id;
    scr_compute_end(ctx, now);
    ctx->out.start = now;
    rc = begin_and_make_room_all(ctx, created, sum, err);
    if (rc != SCR_OK) {
        note_end(ctx, now, err);
        abandon_all(ctx);
        scr_compute_start(ctx);
        return rc;
    }
    scr_phase_all(ctx, "checkpoint", ctx->out.id);
    SCR_EVENT(ctx, .event = ctx->out.is_ckpt ? "CHECKPOINT_START" : "OUTPUT_START",
              .dset = ctx->out.id, .name = ctx->out.name);
    ctx->state = SCR_STATE_OUTPUT;
    scr_output_heed_opens(ctx, ctx->out.id);
    return SCR_OK;
}

/* --- complete --- */

static int note_file(const struct scr_ctx *ctx, struct scr_file *f, uint64_t *bytes,
                     struct scr_err *err)
{
    struct stat st;
    const char *path = f->item.name;
    scr_meta *meta = scr_file_meta(f);
    const char *name = scr_meta_text(meta, SCR_META_ORIG);
    struct scr_err missing = SCR_ERR_INIT;
    int rc = scr_file_stat(ctx->env.sys, path, &st, &missing);
    if (rc == SCR_E_NOENT)
        return scr_fail(err, SCR_E_MISSING, 0, "%s was routed to %s but never written",
                        name != NULL ? name : path, path);
    TRY(scr_err_take(err, rc, &missing));
    if (!S_ISREG(st.st_mode))
        return scr_fail(err, SCR_E_UNSAFE, 0, "%s is no regular file", path);
    scr_meta_set_filesize(meta, (uint64_t)st.st_size);
    scr_meta_set_number(meta, SCR_META_COMPLETE, 1);
    scr_meta_set_stat(meta, &st);
    *bytes += (uint64_t)st.st_size;
    return SCR_OK;
}

/* Of this rank's files, then of all ranks'. */
enum { BYTES, FILES, TOTALS };
struct totals {
    uint64_t v[TOTALS];
};

/* Looks at every routed file; what the application and Route_file said counts first. */
static int note_files(struct scr_ctx *ctx, int valid, struct totals *total,
                      struct scr_err *err)
{
    int id = ctx->out.id, me = ctx->world.rank;
    int rc = scr_output_check(ctx, valid, err);
    for (struct scr_file *f = scr_filemap_first_file(ctx->cache.map, id, me);
         f && rc == SCR_OK; f = scr_file_next(f)) {
        rc = note_file(ctx, f, &total->v[BYTES], err);
        total->v[FILES] += 1;
    }
    return rc;
}

static int seal_dataset(struct scr_ctx *ctx, const struct totals *total, scr_hash *dset,
                        struct scr_err *err)
{
    int id = ctx->out.id, me = ctx->world.rank;
    struct scr_dataset d;
    int rc = scr_hash_merge(dset, scr_filemap_get_dataset(ctx->cache.map, id, me));
    if (rc == SCR_OK)
        rc = scr_dataset_get(dset, &d, err);
    if (rc != SCR_OK)
        return scr_fail(err, rc, 0, "dataset %d", id);
    d.size = total->v[BYTES];
    d.files = total->v[FILES];
    d.complete = 1;
    d.name = ctx->out.name; /* the strings in d borrow from dset, which is rewritten */
    d.user = ctx->prm.user_name;
    d.jobname = ctx->prm.job_name;
    d.jobid = ctx->prm.job_id;
    d.cluster = ctx->prm.cluster_name;
    d.is_shared = d.is_shared || ctx->out.has_shared;
    rc = scr_dataset_set(dset, &d);
    if (rc != SCR_OK)
        return scr_fail(err, rc, 0, "dataset %d", id);
    scr_filemap_set_dataset(ctx->cache.map, id, me, dset);
    return SCR_OK;
}

/* In a store that all nodes share: each file goes to the rank it belongs to. */
static int take_shared_all(struct scr_ctx *ctx, struct totals *total,
                           struct scr_err *err)
{
    struct totals mine = { { 0 } };
    int id = ctx->out.id, me = ctx->world.rank;
    TRY(scr_agree_all(&ctx->world, scr_shared_take_files(ctx, err), err));
    scr_shared_leave(ctx);
    for (SCR_FILES(f, ctx->cache.map, id, me)) {
        uint64_t size = 0;
        (void)scr_meta_get_filesize(scr_file_meta(f), &size);
        mine.v[BYTES] += size;
        mine.v[FILES] += 1;
    }
    *total = mine;
    scr_sums_all(&ctx->world, total->v, TOTALS);
    scr_shared_tidy(ctx);
    return SCR_OK;
}

/* may_go: which dataset all ranks can delete when this one is complete. */
static int protect_all(struct scr_ctx *ctx, const scr_hash *dset, int *may_go, int rc,
                       struct scr_err *err)
{
    struct scr_output *out = &ctx->out;
    struct scr_protection d = { .id = out->id,
                                .dset_dir = out->dset_dir,
                                .dset = dset };
    rc = scr_protect_dataset_all(ctx, out->red, &d, rc, err);
    int leaves = out->is_ckpt ? scr_cache_covered_all(ctx, out->red) : 0;
    struct scr_vote v = { .least = { leaves > 0 && scr_cache_may_delete(
                                                       ctx, leaves, NULL) == SCR_OK } };
    rc = scr_vote_all(&ctx->world, rc, &v, err);
    *may_go = v.least[0] ? leaves : 0;
    return rc;
}

/* Of the least protected set: one of a single member is SINGLE, for example all sets of
 * a run on one node. */
static enum scr_scheme least_scheme(const struct scr_ctx *ctx,
                                    const struct scr_reddesc *red)
{
    return ctx->cache.losses[red->index] > 0 ||
                   scr_store_is_shared(&ctx->descs.store[red->store])
               ? red->scheme
               : SCR_SCHEME_SINGLE;
}

static int seal_and_protect_all(struct scr_ctx *ctx, int valid, int *may_go,
                                struct scr_err *err)
{
    struct totals total = { { 0 } };
    int is_shared = scr_store_is_shared(&ctx->descs.store[ctx->out.red->store]);
    if (is_shared) /* others may still be writing what this rank is about to look at */
        scr_barrier_all(&ctx->world);
    int rc = note_files(ctx, valid, &total, err);
    rc = scr_settle_owners_all(ctx, total.v, TOTALS, rc, err);
    if (rc == SCR_OK)
        rc = scr_output_check_files(ctx, total.v[FILES], err);
    if (rc == SCR_OK && is_shared)
        rc = take_shared_all(ctx, &total, err);
    if (rc == SCR_OK && !ctx->prm.preserve_directories)
        rc = scr_layout_all(ctx, err);
    if (rc != SCR_OK)
        return rc;
    scr_table_fini(&ctx->out.routed); /* makes room for what the encode needs */
    scr_hash *dset = scr_hash_new();
    rc = seal_dataset(ctx, &total, dset, err);
    double start = scr_now_mono();
    scr_phase_all(ctx, "encode", ctx->out.id);
    rc = protect_all(ctx, dset, may_go, rc, err);
    scr_hash_delete(dset);
    if (rc != SCR_OK)
        return rc;
    scr_cache_enter(ctx, ctx->out.id,
                    (ctx->out.is_ckpt ? SCR_IS_CKPT : 0) |
                        (ctx->out.is_output ? SCR_IS_OUTPUT : 0),
                    ctx->out.red);
    ctx->out.bytes = total.v[BYTES];
    ctx->out.files = total.v[FILES];
    ctx->out.encode = scr_now_mono() - start;
    SCR_EVENT(ctx, .event = "ENCODE", .dset = ctx->out.id,
              .bytes = (int64_t)total.v[BYTES], .secs = ctx->out.encode,
              .to = scr_scheme_name(least_scheme(ctx, ctx->out.red)));
    /* The number may have marks of a dataset that is long gone. */
    scr_flush_mark(ctx, ctx->out.id, SCR_LOC_CACHE,
                   SCR_LOC_PFS | SCR_LOC_FLUSHING | SCR_LOC_SYNC_FLUSHING);
    return SCR_OK;
}

/* Whatever fails on the way, the line that is printed names the dataset. */
static int complete_all(struct scr_ctx *ctx, int valid, int *may_go,
                        struct scr_err *err)
{
    const struct scr_output *out = &ctx->out;
    int rc = out->bypass ? scr_bypass_complete_all(ctx, valid, err)
                         : seal_and_protect_all(ctx, valid, may_go, err);
    if (rc != SCR_OK)
        name_failure(ctx, "SCR_Complete_output", "completed", err);
    return rc;
}

/* For the autopilot. A flush that was only begun notes its end elsewhere. */
static void note_flush(struct scr_ctx *ctx, const struct scr_output *out, double since,
                       int is_done)
{
    double now = scr_now_mono();
    if (!out->is_ckpt)
        return;
    ctx->times.blocked += now - since;
    if (!is_done)
        return;
    ctx->times.flush += now - since;
    ctx->times.flushes++;
    ctx->times.last_flush = now;
}

/* Flushes a sealed dataset if it is due. Output must reach the prefix; for a checkpoint
 * that is safe in cache a failed flush is a warning, and it is tried again later. */
static int flush_due_all(struct scr_ctx *ctx, const struct scr_output *out,
                         struct scr_err *err)
{
    int due = out->is_ckpt && scr_is_flush_due_all(ctx);
    if (!out->is_output && !due)
        return SCR_OK;
    double since = scr_now_mono();
    if (scr_async_is_on(ctx)) {
        ctx->flusher.owed = due ? 0 : ctx->flusher.owed;
        scr_async_start_all(ctx, out->id);
        note_flush(ctx, out, since, 0);
        return SCR_OK;
    }
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_flush_dataset_all(ctx, out->id, &why);
    ctx->out.flush = scr_now_mono() - since;
    note_flush(ctx, out, since, rc == SCR_OK);
    ctx->flusher.owed = due ? rc != SCR_OK : ctx->flusher.owed;
    if (rc == SCR_OK && !out->is_ckpt) {
        struct scr_err left = SCR_ERR_INIT;
        if (scr_cache_drop_all(ctx, out->id, "output that is flushed", &left) != SCR_OK)
            scr_log(&ctx->log, SCR_LOG_WARN, "%s stays in cache: %s", out->name,
                    left.text);
    }
    if (rc == SCR_OK)
        return SCR_OK;
    if (out->is_output)
        return scr_fail(
            err, rc, 0,
            "SCR_Complete_output: flush of %s (dataset %d) failed, it stays "
            "in cache: %s",
            out->name, out->id, why.text);
    scr_log(&ctx->log, SCR_LOG_WARN, "flush of %s failed, it stays in cache: %s",
            out->name, why.text);
    return SCR_OK;
}

/* After a checkpoint in cache what it covers leaves; the redundancy file of that is for
 * the next. */
static void settle_all(struct scr_ctx *ctx, const struct scr_output *out, int may_go)
{
    const struct scr_reddesc *next = scr_descs_select(&ctx->descs, ctx->ckpt_id + 1, 0);
    int keep = next != NULL && !next->bypass;
    scr_cache_spare_for(ctx, keep ? ctx->last_id + 1 : 0, keep ? next->store : 0);
    ctx->sizes.tried = 0;
    ctx->sizes.tries = 0;
    scr_cache_settle_all(ctx, out->red, may_go);
}

/* With flushes of earlier datasets. None runs while files are in the prefix directory
 * that are not recorded yet: it may replace them. */
static void catch_up_all(struct scr_ctx *ctx)
{
    scr_async_poll_all(ctx);
    scr_async_retry_all(ctx);
}

int scr_complete_output_all(struct scr_ctx *ctx, int valid, struct scr_err *err)
{
    int bypass = ctx->out.bypass, may_go = 0;
    ctx->out.write = scr_now_mono() - ctx->out.start;
    scr_output_heed_opens(ctx, 0);
    scr_async_pause(ctx);
    if (!bypass)
        catch_up_all(ctx);
    scr_release_wait(&ctx->cache.release); /* the encode needs the room */
    int is_ckpt = ctx->out.is_ckpt;
    if (is_ckpt)
        scr_wanted_note_all(ctx);
    int rc = complete_all(ctx, valid, &may_go, err);
    if (is_ckpt)
        scr_wanted_settle_all(ctx, rc == SCR_OK);
    if (is_ckpt && rc == SCR_OK) /* going back now would lose this one */
        scr_lost_output_settle_all(ctx);
    if (rc != SCR_OK) {
        note_end(ctx, scr_now_mono(), err);
        abandon_all(ctx);
    } else {
        /* Only complete ones count: of SCR_FLUSH=n, n lie between two flushes. */
        ctx->ckpt_id += is_ckpt;
        ctx->choice.ask_again |= is_ckpt;
        if (bypass) {
            scr_async_replaced_all(ctx);
            scr_retain_all(ctx);
        } else {
            scr_cache_spare_for(ctx, 0, 0);
            rc = flush_due_all(ctx, &ctx->out, err);
            if (is_ckpt)
                settle_all(ctx, &ctx->out, may_go);
        }
        double now = scr_now_mono();
        scr_run_say_output(ctx, now);
        if (is_ckpt) {
            ctx->times.ckpt += now - ctx->out.start;
            ctx->times.ckpts++;
            ctx->times.last_ckpt = now;
            ctx->times.failed = 0;
        }
        note_end(ctx, now, NULL);
        scr_output_fini(&ctx->out);
    }
    ctx->state = SCR_STATE_IDLE;
    scr_release_start(&ctx->cache.release);
    if (bypass)
        catch_up_all(ctx);
    struct scr_err halt = SCR_ERR_INIT;
    if (rc == SCR_OK && is_ckpt && scr_halt_ckpt_all(ctx, &halt) != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN, "halt conditions not read: %s", halt.text);
    scr_compute_start(ctx);
    scr_phase_all(ctx, "compute", scr_cache_newest_ckpt(ctx));
    scr_async_go(ctx);
    return rc;
}
