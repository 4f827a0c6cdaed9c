/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets that bypass the cache: their files are written straight to the prefix
 * directory. The index lists them as incomplete from Start_output on; Complete_output
 * syncs the files, records them and makes the entry complete (invariants P1, P8). Where
 * an older dataset has a file the new one is written next to it (store/replacing.h). */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "core/asyncctl.h"
#include "core/bypass.h"
#include "core/ctx.h"
#include "core/edits.h"
#include "core/layout.h"
#include "core/leftovers.h"
#include "core/phase.h"
#include "core/shared.h"
#include "par/comm/turns.h"
#include "par/pfs/lists.h"
#include "par/pfs/owners.h"
#include "red/member.h"
#include "store/arrival.h"
#include "store/deletion.h"
#include "store/paths.h"
#include "store/replacing.h"

/* --- start --- */

static int enter_older(struct scr_ctx *ctx, const int *ids, size_t n, int pending,
                       struct scr_err *err)
{
    struct scr_output *out = &ctx->out;
    struct scr_older *more =
        scr_reallocarray(out->older, out->nolder + n + 1, sizeof *more);
    TRY(more ? SCR_OK : scr_no_memory(err));
    out->older = more;
    for (size_t i = 0; i < n; i++)
        out->older[out->nolder++] =
            (struct scr_older){ .id = ids[i],
                                .pending = pending,
                                .files = { .env = &ctx->env,
                                           .prefix = &ctx->prefix,
                                           .id = ids[i],
                                           .real = &out->real,
                                           .rank = ctx->world.rank,
                                           .size = ctx->world.size } };
    return SCR_OK;
}

/* Ids of older datasets, malloc'd: of those that may get files meanwhile or may have
 * lost some, and of those that have all their files. */
struct older_ids {
    int *pending, *claimed;
    size_t npending, nclaimed;
};

/* Datasets that other processes write now: an application in its place, whose list is
 * not known yet, or a flush. Files that may be theirs are written next to their places.
 * Leaves room in pending for all complete datasets. */
static int add_writers(const struct scr_ctx *ctx, const struct scr_index *index,
                       struct older_ids *o, struct scr_err *err)
{
    int *more = scr_reallocarray(o->pending, o->npending + index->n + 1, sizeof *more);
    TRY(more ? SCR_OK : scr_no_memory(err));
    o->pending = more;
    for (size_t i = 0; i < index->n; i++) {
        int id = index->of[i].id;
        if (!index->of[i].complete && id != ctx->out.id &&
            scr_flushing_is_held(&ctx->env, &ctx->prefix, id))
            more[o->npending++] = id;
    }
    return SCR_OK;
}

/* 1 if dataset id has a list of files, or that is not known. */
static int has_list(const struct scr_ctx *ctx, int id)
{
    char *root = scr_rank2file_path(&ctx->prefix, id, "");
    int has = root == NULL || scr_file_is_there(ctx->env.sys, root);
    free(root);
    return has;
}

/* Datasets whose deletion began on a full file system are still called complete, and
 * may have lost files. A rank that finds no file at a path, and one that finds what the
 * first has just written there, must come to the same answer: their lists are read in
 * either case. A deletion removes the list after the files: without one there are no
 * files to spare. */
static void sort_out_deleted(const struct scr_ctx *ctx, const struct scr_index *index,
                             struct older_ids *o)
{
    size_t n = 0;
    for (size_t i = 0; i < o->nclaimed; i++) {
        struct scr_index_entry e;
        int id = o->claimed[i];
        if (scr_index_get(index, id, &e, NULL) != SCR_OK ||
            !scr_deletion_is_half(&ctx->env, &ctx->prefix, &e))
            o->claimed[n++] = id;
        else if (has_list(ctx, id))
            o->pending[o->npending++] = id;
    }
    o->nclaimed = n;
}

/* On rank 0. */
static int find_older_ids(struct scr_ctx *ctx, struct older_ids *o, struct scr_err *err)
{
    struct scr_index index = SCR_INDEX_INIT;
    int rc;
    TRY_OUT(scr_prefix_index_read(&ctx->env, &ctx->prefix, &index, err));
    TRY_OUT(scr_arrivals_pending(&ctx->env, &ctx->prefix, &index, &o->pending,
                                 &o->npending, err));
    TRY_OUT(add_writers(ctx, &index, o, err));
    if ((rc = scr_paths_claimed(&ctx->env, &ctx->prefix, &index, ctx->out.id,
                                &o->claimed, &o->nclaimed)) != SCR_OK)
        scr_no_memory(err);
    for (size_t i = o->nclaimed; i-- > 0 && rc == SCR_OK;)
        rc = scr_ids_add(&ctx->out.publish.known, o->claimed[i], err);
    sort_out_deleted(ctx, &index, o);
out:
    scr_index_fini(&index);
    return rc;
}

/* Those that a transfer process outside of this allocation may still copy, and
 * complete, then the complete ones, also those whose demotion died before it was
 * through: one that becomes complete meanwhile is in both. Lists of files of complete
 * ones are only read where a file is about to be written over. */
static int learn_older_all(struct scr_ctx *ctx, struct scr_err *err)
{
    struct older_ids o = { 0 };
    int rc = ctx->world.rank == 0 ? find_older_ids(ctx, &o, err) : SCR_OK;
    rc = scr_share_ids_all(&ctx->world, rc, &o.pending, &o.npending, err);
    if (rc == SCR_OK)
        rc = scr_share_ids_all(&ctx->world, rc, &o.claimed, &o.nclaimed, err);
    if (rc == SCR_OK) {
        rc = enter_older(ctx, o.pending, o.npending, 1, err);
        if (rc == SCR_OK)
            rc = enter_older(ctx, o.claimed, o.nclaimed, 0, err);
        rc = scr_agree_all(&ctx->world, rc, err);
    }
    free(o.pending);
    free(o.claimed);
    return rc;
}

void scr_bypass_fini(struct scr_output *out)
{
    for (size_t i = 0; i < out->nolder; i++)
        scr_catalog_fini(&out->older[i].files);
    free(out->older);
    scr_ids_fini(&out->publish.known);
    scr_realdir_fini(&out->real);
    scr_table_fini(&out->made);
    scr_table_fini(&out->parts);
    if (out->publish.at.env != NULL) /* as a process that dies leaves it */
        scr_flushing_leave(out->publish.at.env, &out->publish.mark);
}

static int open_publish(struct scr_ctx *ctx, const scr_hash *dset, struct scr_err *err)
{
    struct scr_output *out = &ctx->out;
    out->dset = scr_hash_dup(dset);
    scr_table_init(&out->made, sizeof(struct scr_item));
    scr_table_init(&out->parts, sizeof(struct scr_item));
    out->real = (struct scr_realdir)SCR_REALDIR_OF(&ctx->env, &ctx->prefix);
    out->publish = (struct scr_publish){ .at = scr_prefix_dset_of(ctx, out->id),
                                         .dset = out->dset };
    return out->dset ? SCR_OK : scr_no_memory(err);
}

/* Files of the last dataset that still wait for their names would be lost if the next
 * one replaced those that have theirs. */
static int place_last_all(struct scr_ctx *ctx, struct scr_err *err)
{
    int rc = SCR_OK;
    if (ctx->unplaced == 0)
        return SCR_OK;
    scr_leftovers_sweep_all(ctx);
    if (ctx->world.rank == 0 &&
        scr_replacing_is_begun(&ctx->env, &ctx->prefix, ctx->unplaced))
        rc = scr_fail(err, SCR_E_STATE, 0,
                      "files of dataset %d could not be put in place so far",
                      ctx->unplaced);
    rc = scr_agree_all(&ctx->world, rc, err);
    ctx->unplaced = rc == SCR_OK ? 0 : ctx->unplaced;
    return rc;
}

int scr_bypass_start_all(struct scr_ctx *ctx, const scr_hash *dset, struct scr_err *err)
{
    /* A flush may bring files to the very paths that are written now. */
    (void)scr_async_wait_all(ctx, 0, NULL);
    TRY(scr_async_let_go_all(ctx, err));
    TRY(place_last_all(ctx, err));
    TRY(scr_publish_begin_all(&ctx->out.publish, open_publish(ctx, dset, err), err));
    return learn_older_all(ctx, err); /* of two that begin, one sees the other */
}

/* --- route --- */

static int check_inside(const struct scr_ctx *ctx, const char *dir, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_path_check_inside(ctx->prefix.path, dir, &why);
    return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "SCR_Route_file: %s", why.text);
}

/* The directory of path, unless made has it. */
static int make_dir(struct scr_ctx *ctx, const char *path, struct scr_table *made,
                    struct scr_err *err)
{
    char *dir = scr_path_dir(path);
    int rc;
    TRY_OUT(dir ? SCR_OK : scr_no_memory(err));
    if (scr_table_find(made, dir) == NULL) {
        TRY_OUT(check_inside(ctx, dir, err));
        TRY_OUT(scr_prefix_make_dir(&ctx->env, &ctx->prefix, dir, err));
        TRY_OUT(scr_table_add(made, dir) != NULL ? SCR_OK : scr_no_memory(err));
    }
out:
    free(dir);
    return rc;
}

/* *names: how many the file there has, which can be written over; 0: none is there. */
static int check_free(const struct scr_ctx *ctx, const char *path, nlink_t *names,
                      struct scr_err *err)
{
    struct stat st = { 0 };
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_file_stat(ctx->env.sys, path, &st, &why);
    *names = rc == SCR_OK ? st.st_nlink : 0;
    if (rc == SCR_E_NOENT)
        return SCR_OK;
    if (rc != SCR_OK)
        return scr_fail(err, rc, 0, "SCR_Route_file: %s", why.text);
    if (S_ISREG(st.st_mode))
        return SCR_OK;
    return scr_fail(
        err, SCR_E_UNSAFE, 0,
        "SCR_Route_file: cannot write %s: it is %s; remove it or use another name",
        path,
        S_ISDIR(st.st_mode)   ? "a directory"
        : S_ISLNK(st.st_mode) ? "a symbolic link"
                              : "no regular file");
}

/* *listed: the older dataset lists dest, or may: a rank that reads all of a damaged
 * list must come to the same answer as one that finds dest before the damage. A
 * complete one of a newer version may list any path, and can be restored: no file is
 * replaced then.
 */
static int may_list(struct scr_ctx *ctx, struct scr_older *older, const char *dest,
                    int *listed, struct scr_err *err)
{
    const struct scr_listed *f = NULL;
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_catalog_find_stored(&older->files, dest, &f, &why);
    *listed = rc != SCR_OK || f != NULL;
    if (rc == SCR_E_NOMEM || rc == SCR_E_IO ||
        (rc == SCR_E_VERSION && !older->pending &&
         scr_paths_is_complete(&ctx->env, &ctx->prefix, older->id)))
        return scr_fail(err, rc, 0, "SCR_Route_file: %s: %s", dest, why.text);
    return SCR_OK;
}

/* A complete dataset has all its files; those of a pending one may be still to
 * come. So lists of complete ones are only read where there is a file. */
static int find_older(struct scr_ctx *ctx, const char *dest, int is_there, int *found,
                      struct scr_err *err)
{
    struct scr_output *out = &ctx->out;
    *found = 0;
    for (size_t i = 0; i < out->nolder && !*found; i++)
        if (is_there || out->older[i].pending)
            TRY(may_list(ctx, &out->older[i], dest, found, err));
    return SCR_OK;
}

/* Another rank may have made the file already. */
static int place_beside(struct scr_ctx *ctx, const char *dest, char **path,
                        struct scr_err *err)
{
    nlink_t names;
    free(*path);
    *path = scr_replacing_path(&ctx->prefix, ctx->out.id, dest);
    TRY(*path ? make_dir(ctx, *path, &ctx->out.parts, err) : scr_no_memory(err));
    return check_free(ctx, *path, &names, err);
}

/* A file with several names, as `cp -al` makes them, stays under the others. */
static int find_owner(struct scr_ctx *ctx, const char *dest, nlink_t names, int *waits,
                      struct scr_err *err)
{
    char *real = scr_realdir_path(&ctx->out.real, dest);
    int rc = real != NULL ? find_older(ctx, real, names > 0, waits, err)
                          : scr_no_memory(err);
    if (rc == SCR_OK && scr_prefix_is_own(real))
        rc = scr_fail(err, SCR_E_OUTSIDE, 0,
                      "SCR_Route_file: %s leads to %s, which is "
                      "reserved for SCR",
                      dest, real);
    *waits = *waits || names > 1;
    free(real);
    return rc;
}

int scr_bypass_place(struct scr_ctx *ctx, const char *dest, char **path, int *waits,
                     struct scr_err *err)
{
    nlink_t names = 0;
    *waits = 0;
    *path = scr_path_join(ctx->prefix.path, dest);
    TRY(*path ? make_dir(ctx, *path, &ctx->out.made, err) : scr_no_memory(err));
    TRY(check_free(ctx, *path, &names, err));
    TRY(find_owner(ctx, dest, names, waits, err));
    return *waits ? place_beside(ctx, dest, path, err) : SCR_OK;
}

/* --- complete --- */

static int sync_file(struct scr_ctx *ctx, const char *dest, const char *path,
                     struct scr_err *err)
{
    struct stat st;
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_file_stat(ctx->env.sys, path, &st, &why);
    if (rc == SCR_E_NOENT)
        return scr_fail(err, SCR_E_MISSING, 0, "%s was routed but never written", dest);
    TRY(scr_err_take(err, rc, &why));
    if (!S_ISREG(st.st_mode))
        return scr_fail(err, SCR_E_UNSAFE, 0, "%s is no regular file", path);
    return scr_file_sync(ctx->env.sys, path, err);
}

/* Also files of other ranks: each node writes back what was written on it. */
static int sync_files(void *arg, struct scr_err *err)
{
    struct scr_ctx *ctx = arg;
    for (SCR_EACH(struct scr_routed, r, &ctx->out.routed))
        TRY(sync_file(ctx, r->item.name, r->path, err));
    return SCR_OK;
}

/* The files of this rank, as they are recorded, and where each waits. */
struct written {
    struct scr_ctx *ctx;
    struct scr_table files;     /* of struct scr_listed */
    struct scr_published *file; /* n of them */
    size_t n;
};

static int measure_file(struct written *w, const struct scr_routed *r,
                        struct scr_err *err)
{
    struct scr_ctx *ctx = w->ctx;
    struct stat st = { 0 };
    uint64_t size = 0;
    uint32_t crc = 0;
    int rc;
    if (ctx->prm.crc_on_flush)
        rc = scr_file_crc32(&ctx->env, r->path, 0, &size, &crc, err);
    else if ((rc = scr_file_stat(ctx->env.sys, r->path, &st, err)) == SCR_OK)
        size = (uint64_t)st.st_size;
    if (rc != SCR_OK)
        return rc;
    struct scr_listed *f = scr_table_add(&w->files, r->item.name);
    TRY(f ? SCR_OK : scr_no_memory(err));
    scr_listed_set_size(f, size);
    if (ctx->prm.crc_on_flush)
        scr_listed_set_crc(f, crc);
    f->is_shared = scr_table_find(&ctx->out.shared, r->item.name) != NULL;
    w->file[w->n++] = (struct scr_published){ f, r->waits ? r->path : NULL };
    return SCR_OK;
}

static int measure_files(void *arg, struct scr_err *err)
{
    struct written *w = arg;
    for (SCR_EACH(struct scr_routed, r, &w->ctx->out.routed))
        if (scr_output_is_mine(w->ctx, r->item.name))
            TRY(measure_file(w, r, err));
    return SCR_OK;
}

/* At most SCR_FLUSH_WIDTH ranks at a time; those that routed nothing need not wait. */
static int in_turns_all(struct scr_ctx *ctx, scr_turn_work work, void *arg,
                        struct scr_err *err)
{
    return scr_in_turns_all(&ctx->world, ctx->prm.flush_width, ctx->out.routed.n > 0,
                            work, arg, err);
}

/* 1 if all ranks that share a file have it next to its place: shared has the ranks with
 * the file, beside those that have it there. */
static int is_one_place(const struct scr_output *out, const struct scr_table *beside,
                        const char *dest)
{
    const struct scr_shared *all = scr_table_find(&out->shared, dest);
    const struct scr_shared *some = scr_table_find(beside, dest);
    return all == NULL || (some != NULL && strcmp(all->ranks, some->ranks) == 0);
}

static int check_places(const struct scr_output *out, const struct scr_table *beside,
                        struct scr_err *err)
{
    for (SCR_EACH(struct scr_routed, r, &out->routed))
        if (r->waits && !is_one_place(out, beside, r->item.name))
            return scr_bypass_refuse_paths(r->item.name, err);
    return SCR_OK;
}

/* Files of several ranks are at one path each. */
static int check_places_all(struct scr_ctx *ctx, struct scr_err *err)
{
    struct scr_output *out = &ctx->out;
    struct scr_table waits = SCR_TABLE_OF(struct scr_item);
    struct scr_table beside = SCR_TABLE_OF(struct scr_shared);
    struct scr_owners q = { .dests = &waits, .shared = &beside };
    int rc = SCR_OK;
    if (!out->has_shared)
        return rc;
    for (SCR_EACH(struct scr_routed, r, &out->routed))
        if (r->waits)
            scr_table_add(&waits, r->item.name);
    if (!scr_table_ok(&waits))
        rc = scr_no_memory(err);
    struct scr_vote v = { .sum = { waits.n } };
    rc = scr_vote_all(&ctx->world, rc, &v, err);
    if (rc == SCR_OK && v.sum[0] > 0) {
        rc = scr_owners_find_all(&ctx->world, &q, rc, err);
        if (rc == SCR_OK)
            rc = scr_agree_all(&ctx->world, check_places(out, &beside, err), err);
    }
    scr_table_fini(&waits);
    scr_table_fini(&beside);
    return rc;
}

static int write_all(struct written *w, int valid, struct scr_err *err)
{
    struct scr_ctx *ctx = w->ctx;
    struct scr_output *out = &ctx->out;
    const struct scr_copy_opts o = { .width = ctx->prm.flush_width };
    uint64_t routed = out->routed.n;
    int rc = w->file != NULL ? scr_output_check(ctx, valid, err) : scr_no_memory(err);
    rc = scr_agree_all(&ctx->world, rc, err);
    if (rc == SCR_OK) {
        scr_phase_all(ctx, "flush", out->id);
        rc = in_turns_all(ctx, sync_files, ctx, err);
    }
    if (rc == SCR_OK)
        rc = scr_settle_owners_all(ctx, &routed, 1, SCR_OK, err);
    if (rc == SCR_OK)
        rc = scr_output_check_files(ctx, routed, err);
    if (rc == SCR_OK)
        rc = check_places_all(ctx, err);
    if (rc == SCR_OK)
        rc = in_turns_all(ctx, measure_files, w, err);
    out->files = routed;
    return rc == SCR_OK
               ? scr_publish_all(&out->publish, &o, w->file, w->n, &out->bytes, err)
               : rc;
}

/* All files are written and synced, and some may have their names: the others get
 * theirs, too, now or at the next start. */
static int place_rest_all(struct scr_ctx *ctx, int rc, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int id = ctx->out.id, again = SCR_OK, me = ctx->world.rank;
    uint64_t files = 0;
    int begun = me == 0 && scr_replacing_is_begun(&ctx->env, &ctx->prefix, id);
    if (!scr_or_all(&ctx->world, begun))
        return rc;
    if (me == 0)
        again = scr_replacing_finish(&ctx->env, &ctx->prefix, id, &files, &why);
    again = scr_agree_all(&ctx->world, again, &why);
    ctx->out.unplaced = again != SCR_OK;
    ctx->unplaced = again != SCR_OK ? id : ctx->unplaced;
    if (again != SCR_OK)
        return rc;
    scr_log(&ctx->log, SCR_LOG_NOTE, "dataset %d is complete at the second attempt: %s",
            id, err != NULL ? err->text : "");
    if (err != NULL)
        scr_err_clear(err);
    return SCR_OK;
}

/* Mostly it is empty, and another rank removes it. */
static int remove_part(const struct scr_ctx *ctx, const char *dir)
{
    char *above = scr_path_dir(dir);
    if (above != NULL)
        (void)scr_dir_prune(ctx->env.sys, dir, above, NULL);
    free(above);
    if (!scr_file_is_there(ctx->env.sys, dir))
        return 1;
    (void)scr_dir_remove(ctx->env.sys, dir, NULL);
    return !scr_file_is_there(ctx->env.sys, dir);
}

/* The directories next to files to replace, and files that a program left there. */
static int remove_parts(const struct scr_ctx *ctx)
{
    int done = 1;
    for (SCR_EACH(struct scr_item, dir, &ctx->out.parts))
        done &= remove_part(ctx, dir->name);
    return done;
}

/* When no rank works in them any more. The mark stays where one could not be removed:
 * the next start tries again. */
static void tidy_all(struct scr_ctx *ctx)
{
    struct scr_output *out = &ctx->out;
    int left = 0;
    if (scr_or_all(&ctx->world, out->parts.n > 0))
        left = scr_or_all(&ctx->world, !remove_parts(ctx));
    if (left)
        scr_flushing_leave(&ctx->env, &out->publish.mark);
    else
        scr_flushing_end(&ctx->env, &ctx->prefix, &out->publish.mark);
}

void scr_bypass_abandon_all(struct scr_ctx *ctx)
{
    struct scr_output *out = &ctx->out;
    if (out->unplaced) {
        scr_flushing_leave(&ctx->env, &out->publish.mark);
        return;
    }
    for (SCR_EACH(struct scr_routed, r, &out->routed))
        if (r->waits)
            (void)scr_file_remove(ctx->env.sys, r->path, NULL);
    tidy_all(ctx);
}

int scr_bypass_complete_all(struct scr_ctx *ctx, int valid, struct scr_err *err)
{
    struct written w = { .ctx = ctx, .files = SCR_TABLE_OF(struct scr_listed) };
    w.file = scr_calloc(ctx->out.routed.n, sizeof *w.file);
    int rc = write_all(&w, valid, err);
    if (rc != SCR_OK)
        rc = place_rest_all(ctx, rc, err);
    if (rc == SCR_OK)
        tidy_all(ctx);
    scr_table_fini(&w.files);
    free(w.file);
    return rc;
}
