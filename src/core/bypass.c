/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets that bypass the cache: their files are written straight to the prefix
 * directory. The index lists them as incomplete from Start_output on; Complete_output
 * syncs the files, records them and makes the entry complete (invariants P1, P8). Where
 * an older dataset has a file the new one is written beside it (store/replacing.h). */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "core/ctx.h"
#include "par/lists.h"
#include "par/owners.h"
#include "par/turns.h"
#include "red/member.h"
#include "store/arrival.h"
#include "store/paths.h"
#include "store/replacing.h"

enum { DIR_MODE = 0777 }; /* cut by the umask */

/* --- start --- */

/* Also those whose demotion died before it was through. */
static int list_claimed(const struct scr_ctx *ctx, int **ids, size_t *n,
                        struct scr_err *err)
{
    return scr_paths_claimed(&ctx->env, &ctx->prefix, ctx->out.id, ids, n, err);
}

/* Those that a transfer process outside of this allocation may still copy, and
 * complete. */
static int list_pending(const struct scr_ctx *ctx, int **ids, size_t *n,
                        struct scr_err *err)
{
    return scr_arrivals_pending(&ctx->env, &ctx->prefix, ids, n, err);
}

static int enter_older(struct scr_ctx *ctx, const int *ids, size_t n, int pending,
                       struct scr_err *err)
{
    struct scr_output *out = &ctx->out;
    struct scr_older *more =
        scr_reallocarray(out->older, out->nolder + n + 1, sizeof *more);
    if (more == NULL)
        return scr_fail(err, SCR_E_NOMEM, 0, "list of datasets");
    out->older = more;
    for (size_t i = 0; i < n; i++)
        out->older[out->nolder++] =
            (struct scr_older){ .id = ids[i],
                                .pending = pending,
                                .files = { .env = &ctx->env,
                                           .prefix = &ctx->prefix,
                                           .id = ids[i],
                                           .rank = ctx->world.rank,
                                           .size = ctx->world.size } };
    return SCR_OK;
}

/* Lists of files of complete ones are only read where a file is about to be written
 * over. */
static int learn_older_all(struct scr_ctx *ctx, int pending, struct scr_err *err)
{
    int *ids = NULL, rc = SCR_OK;
    size_t n = 0;
    if (ctx->world.rank == 0)
        rc = (pending ? list_pending : list_claimed)(ctx, &ids, &n, err);
    rc = scr_agree_all(&ctx->world, rc, err);
    if (rc == SCR_OK)
        rc = scr_share_ids_all(&ctx->world, &ids, &n, err);
    if (rc == SCR_OK)
        rc = scr_agree_all(&ctx->world, enter_older(ctx, ids, n, pending, err), err);
    free(ids);
    return rc;
}

void scr_bypass_fini(struct scr_output *out)
{
    for (size_t i = 0; i < out->nolder; i++)
        scr_catalog_fini(&out->older[i].files);
    free(out->older);
    scr_hash_delete(out->made);
    scr_hash_delete(out->parts);
    scr_hash_delete(out->waits);
    if (out->publish.env != NULL) /* as a process that dies leaves it */
        scr_flushing_leave(out->publish.env, &out->publish.mark);
}

static int open_publish(struct scr_ctx *ctx, const scr_hash *dset, struct scr_err *err)
{
    struct scr_output *out = &ctx->out;
    out->dset = scr_hash_dup(dset);
    out->made = scr_hash_new();
    out->parts = scr_hash_new();
    out->waits = scr_hash_new();
    out->publish = (struct scr_publish){ .env = &ctx->env,
                                         .world = &ctx->world,
                                         .prefix = &ctx->prefix,
                                         .id = out->id,
                                         .dset = out->dset };
    return out->dset && out->made && out->parts && out->waits
               ? SCR_OK
               : scr_fail(err, SCR_E_NOMEM, 0, "dataset %s", out->name);
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
    int rc = scr_async_let_go_all(ctx, err);
    if (rc == SCR_OK)
        rc = place_last_all(ctx, err);
    if (rc != SCR_OK)
        return rc;
    rc = scr_agree_all(&ctx->world, open_publish(ctx, dset, err), err);
    if (rc == SCR_OK)
        rc = learn_older_all(ctx, 1, err);
    if (rc == SCR_OK)
        rc = learn_older_all(ctx, 0, err);
    return rc == SCR_OK ? scr_publish_begin_all(&ctx->out.publish, err) : rc;
}

/* --- route --- */

static int no_memory(struct scr_err *err)
{
    return scr_fail(err, SCR_E_NOMEM, 0, "SCR_Route_file");
}

static int check_inside(const struct scr_ctx *ctx, const char *dir, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_prefix_check_inside(&ctx->prefix, dir, &why);
    return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "SCR_Route_file: %s", why.text);
}

/* The directory of path, unless made, {<directory>}, has it. */
static int make_dir(struct scr_ctx *ctx, const char *path, scr_hash *made,
                    struct scr_err *err)
{
    char *dir = scr_path_dir(path);
    int rc = dir ? SCR_OK : no_memory(err);
    if (rc == SCR_OK && scr_hash_get(made, dir) == NULL) {
        rc = check_inside(ctx, dir, err);
        if (rc == SCR_OK)
            rc = scr_dir_make(ctx->env.sys, dir, DIR_MODE, err);
        if (rc == SCR_OK && scr_hash_set(made, dir, NULL) == NULL)
            rc = no_memory(err);
    }
    free(dir);
    return rc;
}

/* *is_there: a file is, which can be written over. */
static int check_free(const struct scr_ctx *ctx, const char *path, int *is_there,
                      struct scr_err *err)
{
    struct stat st = { 0 };
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_file_stat(ctx->env.sys, path, &st, &why);
    *is_there = rc == SCR_OK;
    if (rc == SCR_E_NOENT)
        return SCR_OK;
    if (rc != SCR_OK)
        return scr_fail(err, rc, 0, "SCR_Route_file: %s", why.text);
    if (S_ISREG(st.st_mode))
        return SCR_OK;
    return scr_fail(err, SCR_E_UNSAFE, 0,
                    "SCR_Route_file: %s is %s, a file is to be written there; remove "
                    "it or use another name",
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
    const scr_hash *info = NULL;
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_catalog_find_stored(&older->files, dest, &info, &why);
    *listed = rc != SCR_OK || info != NULL;
    if (rc == SCR_E_NOMEM || rc == SCR_E_IO ||
        (rc == SCR_E_VERSION && !older->pending &&
         scr_paths_is_complete(&ctx->env, &ctx->prefix, older->id)))
        return scr_fail(err, rc, 0, "SCR_Route_file: %s: %s", dest, why.text);
    return SCR_OK;
}

/* Of a complete dataset all files are there; those of a pending one may be still to
 * come. So lists of complete ones are only read where there is a file. */
static int find_older(struct scr_ctx *ctx, const char *dest, int is_there, int *found,
                      struct scr_err *err)
{
    struct scr_output *out = &ctx->out;
    int rc = SCR_OK;
    *found = 0;
    for (size_t i = 0; i < out->nolder && rc == SCR_OK && !*found; i++)
        if (is_there || out->older[i].pending)
            rc = may_list(ctx, &out->older[i], dest, found, err);
    return rc;
}

/* Another rank may have made the file already. */
static int place_beside(struct scr_ctx *ctx, const char *dest, char **path,
                        struct scr_err *err)
{
    int is_there;
    free(*path);
    *path = scr_replacing_path(&ctx->prefix, ctx->out.id, dest);
    int rc = *path ? make_dir(ctx, *path, ctx->out.parts, err) : no_memory(err);
    if (rc == SCR_OK)
        rc = check_free(ctx, *path, &is_there, err);
    return rc == SCR_OK && scr_hash_set(ctx->out.waits, dest, NULL) == NULL
               ? no_memory(err)
               : rc;
}

int scr_bypass_place(struct scr_ctx *ctx, const char *dest, char **path,
                     struct scr_err *err)
{
    int is_there = 0, found = 0;
    *path = scr_path_join(ctx->prefix.path, dest);
    int rc = *path ? make_dir(ctx, *path, ctx->out.made, err) : no_memory(err);
    if (rc == SCR_OK)
        rc = check_free(ctx, *path, &is_there, err);
    if (rc == SCR_OK)
        rc = find_older(ctx, dest, is_there, &found, err);
    return rc == SCR_OK && found ? place_beside(ctx, dest, path, err) : rc;
}

/* --- complete --- */

static int sync_file(struct scr_ctx *ctx, const char *dest, const char *path,
                     struct scr_err *err)
{
    struct stat st;
    struct scr_err why = SCR_ERR_INIT;
    int fd = -1;
    int rc = scr_file_stat(ctx->env.sys, path, &st, &why);
    if (rc == SCR_E_NOENT)
        return scr_fail(err, SCR_E_MISSING, 0, "%s was routed but never written", dest);
    if (rc != SCR_OK)
        return scr_fail(err, rc, 0, "%s", why.text);
    if (!S_ISREG(st.st_mode))
        return scr_fail(err, SCR_E_UNSAFE, 0, "%s is no regular file", path);
    rc = scr_open(ctx->env.sys, path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, 0, &fd, err);
    if (rc == SCR_OK)
        rc = scr_fsync(ctx->env.sys, fd, path, err);
    scr_close(ctx->env.sys, &fd, path, NULL); /* only read from */
    return rc;
}

/* Also files of other ranks: each node writes back what was written on it. */
static int sync_files(void *arg, struct scr_err *err)
{
    struct scr_ctx *ctx = arg;
    int rc = SCR_OK;
    for (SCR_HASH_EACH(e, ctx->out.routed)) {
        const char *dest = scr_hash_elem_key(e);
        if (rc == SCR_OK)
            rc = sync_file(ctx, dest, scr_hash_get_val(ctx->out.routed, dest), err);
    }
    return rc;
}

/* Size and CRC of a file of this rank. */
static int measure_file(struct scr_ctx *ctx, const char *dest, scr_hash *files,
                        struct scr_err *err)
{
    const char *path = scr_hash_get_val(ctx->out.routed, dest);
    struct stat st = { 0 };
    uint64_t size = 0;
    uint32_t crc = 0;
    int rc;
    if (ctx->prm.crc_on_flush)
        rc = scr_file_crc32(&ctx->env, path, 0, &size, &crc, err);
    else if ((rc = scr_file_stat(ctx->env.sys, path, &st, err)) == SCR_OK)
        size = (uint64_t)st.st_size;
    if (rc != SCR_OK)
        return rc;
    scr_hash *info = scr_hash_set(files, dest, NULL);
    scr_hash_set_val_u64(info, "SIZE", size);
    if (ctx->prm.crc_on_flush)
        scr_hash_set_val_crc(info, "CRC", crc);
    if (scr_hash_get(ctx->out.shared, dest) != NULL)
        scr_hash_set_val(info, "SHARED", "1");
    if (scr_hash_get(ctx->out.waits, dest) != NULL)
        scr_hash_set_val(info, "WAITS", path);
    return scr_hash_ok(files) ? SCR_OK : scr_fail(err, SCR_E_NOMEM, 0, "list of files");
}

struct measure {
    struct scr_ctx *ctx;
    scr_hash *files;
};

static int measure_files(void *arg, struct scr_err *err)
{
    struct measure *m = arg;
    int rc = SCR_OK;
    for (SCR_HASH_EACH(e, m->ctx->out.routed)) {
        const char *dest = scr_hash_elem_key(e);
        if (rc == SCR_OK && scr_output_is_mine(m->ctx, dest))
            rc = measure_file(m->ctx, dest, m->files, err);
    }
    return rc;
}

/* At most SCR_FLUSH_WIDTH ranks at a time; those that routed nothing need not wait. */
static int in_turns_all(struct scr_ctx *ctx, scr_turn_work work, void *arg,
                        struct scr_err *err)
{
    return scr_in_turns_all(&ctx->world, ctx->prm.flush_width,
                            scr_hash_size(ctx->out.routed) > 0, work, arg, err);
}

/* 1 if all ranks that share a file have it beside its place: shared tells which have
 * the file, beside which have it there. */
static int is_one_place(const struct scr_output *out, const scr_hash *beside,
                        const char *dest)
{
    const char *all = scr_hash_get_val(scr_hash_get(out->shared, dest), "RANKS");
    const char *some = scr_hash_get_val(scr_hash_get(beside, dest), "RANKS");
    return all == NULL || (some != NULL && strcmp(all, some) == 0);
}

int scr_bypass_refuse_paths(const char *name, struct scr_err *err)
{
    return scr_fail(err, SCR_E_MISMATCH, 0,
                    "%s: written to two paths, as an older dataset that has the file "
                    "was changed during the output; write it again",
                    name);
}

static int check_places(const struct scr_output *out, const scr_hash *beside,
                        struct scr_err *err)
{
    for (SCR_HASH_EACH(e, out->waits))
        if (!is_one_place(out, beside, scr_hash_elem_key(e)))
            return scr_bypass_refuse_paths(scr_hash_elem_key(e), err);
    return SCR_OK;
}

/* Files of several ranks are at one path each. */
static int check_places_all(struct scr_ctx *ctx, struct scr_err *err)
{
    struct scr_output *out = &ctx->out;
    int any = 0;
    if (!out->has_shared || !scr_or_all(&ctx->world, scr_hash_size(out->waits) > 0))
        return SCR_OK;
    scr_hash *beside = scr_hash_new();
    int rc = beside ? SCR_OK : scr_fail(err, SCR_E_NOMEM, 0, "shared files");
    rc = scr_owners_find_all(&ctx->world, out->waits, NULL, 0, rc, beside, &any, err);
    if (rc == SCR_OK)
        rc = scr_agree_all(&ctx->world, check_places(out, beside, err), err);
    scr_hash_delete(beside);
    return rc;
}

static int write_all(struct scr_ctx *ctx, int valid, scr_hash *files,
                     struct scr_err *err)
{
    struct scr_output *out = &ctx->out;
    struct measure m = { ctx, files };
    const struct scr_copy_opts o = { .width = ctx->prm.flush_width };
    uint64_t bytes = 0, routed = scr_hash_size(out->routed);
    int rc = files ? scr_output_check(ctx, valid, err)
                   : scr_fail(err, SCR_E_NOMEM, 0, "list of files");
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
        rc = in_turns_all(ctx, measure_files, &m, err);
    return rc == SCR_OK ? scr_publish_all(&out->publish, &o, files, &bytes, err) : rc;
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
    struct stat st;
    char *above = scr_path_dir(dir);
    if (above != NULL)
        (void)scr_dir_prune(ctx->env.sys, dir, above, NULL);
    free(above);
    if (scr_file_stat(ctx->env.sys, dir, &st, NULL) == SCR_E_NOENT)
        return 1;
    (void)scr_dir_remove(ctx->env.sys, dir, NULL);
    return scr_file_stat(ctx->env.sys, dir, &st, NULL) == SCR_E_NOENT;
}

/* The directories beside files to be replaced, and what a program left there. */
static int remove_parts(const struct scr_ctx *ctx)
{
    int done = 1;
    for (SCR_HASH_EACH(e, ctx->out.parts))
        done &= remove_part(ctx, scr_hash_elem_key(e));
    return done;
}

/* When no rank works in them any more. The mark stays where one could not be removed:
 * the next start tries again. */
static void tidy_all(struct scr_ctx *ctx)
{
    struct scr_output *out = &ctx->out;
    int left = 0;
    if (scr_or_all(&ctx->world, scr_hash_size(out->parts) > 0))
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
    for (SCR_HASH_EACH(e, out->waits)) {
        const char *path = scr_hash_get_val(out->routed, scr_hash_elem_key(e));
        if (path != NULL)
            (void)scr_file_remove(ctx->env.sys, path, NULL);
    }
    tidy_all(ctx);
}

int scr_bypass_complete_all(struct scr_ctx *ctx, int valid, struct scr_err *err)
{
    scr_hash *files = scr_hash_new();
    int rc = write_all(ctx, valid, files, err);
    if (rc != SCR_OK)
        rc = place_rest_all(ctx, rc, err);
    if (rc == SCR_OK)
        tidy_all(ctx);
    scr_hash_delete(files);
    return rc;
}

/* --- restart --- */

/* What the index says of the dataset: written in place, or for a shared store. */
static int wants_in_place(const struct scr_ctx *ctx, int id, int is_shared_store)
{
    scr_hash *index = scr_hash_new();
    int wants = 0;
    if (scr_prefix_index_read(&ctx->env, &ctx->prefix, index, NULL) == SCR_OK) {
        const scr_hash *dset = scr_hash_getf(index, "DSET %d DSET", id);
        wants = scr_hash_get(dset, "BYPASS") != NULL ||
                (scr_hash_get(dset, "SHARED") != NULL && !is_shared_store);
    }
    scr_hash_delete(index);
    return wants;
}

int scr_is_read_in_place_all(struct scr_ctx *ctx, int id)
{
    const struct scr_reddesc *red = scr_descs_select(&ctx->descs, 1, 0);
    if (ctx->prm.fetch_bypass || (red != NULL && red->bypass) ||
        scr_cache_is(ctx, id, SCR_CACHE_KEPT))
        return 1;
    int shared = red != NULL && scr_store_is_shared(&ctx->descs.store[red->store]);
    return scr_or_all(&ctx->world,
                      ctx->world.rank == 0 && wants_in_place(ctx, id, shared));
}

/* Enters this rank's files; shared gets those that others may read too. */
static int enter_files(struct scr_ctx *ctx, int id, const scr_hash *files,
                       scr_hash *shared)
{
    int rc = SCR_OK;
    for (SCR_HASH_EACH(e, scr_hash_get(files, "FILE"))) {
        const char *asked = scr_hash_get_val(scr_hash_elem_hash(e), "ASKED");
        const char *dest = asked ? asked : scr_hash_elem_key(e);
        char *path = scr_plain_path(&ctx->prefix, id, scr_hash_elem_key(e),
                                    scr_hash_elem_hash(e));
        if (rc == SCR_OK)
            rc = path ? scr_restart_add(&ctx->restart, dest, path) : SCR_E_NOMEM;
        if (rc == SCR_OK && scr_hash_get(scr_hash_elem_hash(e), "SHARED") != NULL &&
            scr_hash_set_val(shared, dest, path) == NULL)
            rc = SCR_E_NOMEM;
        free(path);
    }
    return rc;
}

static int enter_dataset(struct scr_ctx *ctx, int id, const scr_hash *dset,
                         const scr_hash *files, scr_hash *shared, char **name,
                         struct scr_err *err)
{
    struct scr_restart *r = &ctx->restart;
    struct scr_dataset d;
    int rc = scr_dataset_get(dset, &d, err);
    if (rc != SCR_OK)
        return rc;
    ctx->ckpt_id = d.ckpt > 0 ? d.ckpt : ctx->ckpt_id;
    r->name = scr_strdup(d.name);
    *name = scr_strdup(d.name);
    rc = r->name && *name ? enter_files(ctx, id, files, shared) : SCR_E_NOMEM;
    return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "files of dataset %d", id);
}

static int note_unpacked(struct scr_restart *r, const scr_hash *files,
                         struct scr_err *err)
{
    int rc = SCR_OK;
    for (SCR_HASH_EACH(e, scr_hash_get(files, "FILE")))
        if (rc == SCR_OK)
            rc = scr_plains_note(&r->plain, scr_hash_elem_key(e), scr_hash_elem_hash(e),
                                 err);
    return rc;
}

static int open_files_all(struct scr_ctx *ctx, int id, scr_hash *files, scr_hash *dset,
                          struct scr_err *err)
{
    struct scr_copy_opts o = { .width = ctx->prm.fetch_width,
                               .crc = ctx->prm.crc_on_flush };
    struct scr_restart *r = &ctx->restart;
    uint64_t bytes = 0;
    r->by_dest = scr_hash_new();
    r->by_name = scr_hash_new();
    scr_restart_read_there(ctx, id);
    int rc = files && dset && r->by_dest && r->by_name
                 ? SCR_OK
                 : scr_fail(err, SCR_E_NOMEM, 0, "files of dataset %d", id);
    rc = scr_agree_all(&ctx->world, rc, err);
    if (rc != SCR_OK)
        return rc;
    scr_phase_all(ctx, "fetch", id);
    rc = scr_fetch_in_place_all(&ctx->env, &ctx->world, &ctx->prefix, &o, id, files,
                                dset, &bytes, err);
    return rc == SCR_OK ? scr_agree_all(&ctx->world, note_unpacked(r, files, err), err)
                        : rc;
}

int scr_in_place_open_all(struct scr_ctx *ctx, int id, char **name, struct scr_err *err)
{
    scr_hash *files = scr_hash_new(), *dset = scr_hash_new(), *shared = scr_hash_new();
    scr_restart_fini(&ctx->restart);
    int rc = open_files_all(ctx, id, files, dset, err);
    if (rc == SCR_OK)
        rc = scr_agree_all(&ctx->world,
                           enter_dataset(ctx, id, dset, files, shared, name, err), err);
    if (rc == SCR_OK)
        rc = scr_spread_shared_all(ctx, shared, err);
    ctx->restart.in_place = 1;
    if (rc == SCR_OK)
        ctx->restart.id = id;
    else
        scr_restart_fini(&ctx->restart);
    scr_hash_delete(files);
    scr_hash_delete(dset);
    scr_hash_delete(shared);
    return rc;
}
