/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets that bypass the cache: their files are written straight to the prefix
 * directory. The index lists them as incomplete from Start_output on; Complete_output
 * syncs the files, records them and makes the entry complete (invariants P1, P8). */
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
#include "par/turns.h"
#include "red/member.h"
#include "store/arrival.h"
#include "store/paths.h"

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
}

int scr_bypass_start_all(struct scr_ctx *ctx, const scr_hash *dset, struct scr_err *err)
{
    struct scr_output *out = &ctx->out;
    /* A flush may bring files to the very paths that are written now. */
    (void)scr_async_wait_all(ctx, 0, NULL);
    int rc = scr_async_let_go_all(ctx, err);
    if (rc != SCR_OK)
        return rc;
    if ((out->dset = scr_hash_dup(dset)) == NULL)
        rc = scr_fail(err, SCR_E_NOMEM, 0, "dataset %s", out->name);
    rc = scr_agree_all(&ctx->world, rc, err);
    if (rc == SCR_OK)
        rc = learn_older_all(ctx, 1, err);
    if (rc == SCR_OK)
        rc = learn_older_all(ctx, 0, err);
    return rc == SCR_OK ? scr_publish_begin_all(&ctx->env, &ctx->world, &ctx->prefix,
                                                out->id, out->dset, err)
                        : rc;
}

/* --- route --- */

static int check_inside(const struct scr_ctx *ctx, const char *dir, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_prefix_check_inside(&ctx->prefix, dir, &why);
    return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "SCR_Route_file: %s", why.text);
}

/* Programs route many files into one directory: the last one is remembered. */
static int make_dir(struct scr_ctx *ctx, const char *path, struct scr_err *err)
{
    struct scr_output *out = &ctx->out;
    char *dir = scr_path_dir(path);
    int rc = dir ? SCR_OK : scr_fail(err, SCR_E_NOMEM, 0, "SCR_Route_file");
    if (rc == SCR_OK && out->made_dir != NULL && strcmp(dir, out->made_dir) == 0) {
        free(dir);
        return SCR_OK;
    }
    if (rc == SCR_OK)
        rc = check_inside(ctx, dir, err);
    if (rc == SCR_OK)
        rc = scr_dir_make(ctx->env.sys, dir, DIR_MODE, err);
    free(out->made_dir);
    out->made_dir = rc == SCR_OK ? dir : NULL;
    if (rc != SCR_OK)
        free(dir);
    return rc;
}

static int edit_demote(scr_hash *index, void *arg, int *changed, struct scr_err *err)
{
    scr_hash *entry = scr_hash_get_kv_int(index, "DSET", *(const int *)arg);
    (void)err;
    *changed = entry != NULL;
    if (entry)
        scr_hash_set_val_i64(entry, "COMPLETE", 0);
    return SCR_OK;
}

/* The first rank to find a plan does it for all: without it nobody completes the
 * dataset, and who still copies it stops. */
static int give_up(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    scr_hash *plan = scr_hash_new();
    int rc = plan ? scr_arrival_plan_read(&ctx->env, &ctx->prefix, id, plan, NULL)
                  : SCR_E_NOMEM;
    scr_hash_delete(plan);
    return rc == SCR_E_NOENT ? SCR_OK
                             : scr_arrival_give_up(&ctx->env, &ctx->prefix, id, err);
}

/* Likewise; without its summary the others see that it is done. One whose summary
 * cannot be read may be complete all the same. */
static int demote(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    int rc = scr_prefix_summary_read(&ctx->env, &ctx->prefix, id, NULL, NULL, NULL);
    if (rc == SCR_E_NOENT)
        return SCR_OK;
    rc = scr_prefix_index_update(&ctx->env, &ctx->prefix, edit_demote, &id, err);
    return rc == SCR_OK ? scr_prefix_summary_remove(&ctx->env, &ctx->prefix, id, err)
                        : rc;
}

/* A file is about to be written at dest: from now on the dataset that lists it is not
 * complete, and does not become so. A complete one whose list is damaged is left alone:
 * it cannot be restored, or its checksums will tell; one of a newer version can be, so
 * nothing is written that may be its; a pending one is given up, whatever its files
 * are. is_there: 0 if nothing is written over, so that only those
 * can list it whose files are still to come. */
static int demote_owner(struct scr_ctx *ctx, const char *dest, int is_there,
                        struct scr_err *err)
{
    struct scr_output *out = &ctx->out;
    int rc = SCR_OK;
    for (size_t i = 0; i < out->nolder && rc == SCR_OK; i++) {
        struct scr_older *older = &out->older[i];
        const scr_hash *info = NULL;
        if (older->id == 0 || !(older->pending || is_there))
            continue;
        struct scr_err why = SCR_ERR_INIT;
        int found = scr_catalog_find_stored(&older->files, dest, &info, &why);
        if (found == SCR_E_NOMEM || found == SCR_E_IO ||
            (found == SCR_E_VERSION && !older->pending &&
             scr_paths_is_complete(&ctx->env, &ctx->prefix, older->id)))
            return scr_fail(err, found, 0, "SCR_Route_file: %s: %s", dest, why.text);
        int listed = info != NULL;
        int given_up = (listed || found != SCR_OK) && older->pending;
        if (given_up)
            rc = give_up(ctx, older->id, err);
        if (listed && rc == SCR_OK)
            rc = demote(ctx, older->id, err);
        if (rc == SCR_OK && (listed || given_up))
            older->id = 0;
    }
    return rc;
}

/* What is at path already must be a file that can be written over. */
static int check_free(struct scr_ctx *ctx, const char *dest, const char *path,
                      struct scr_err *err)
{
    struct stat st = { 0 };
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_file_stat(ctx->env.sys, path, &st, &why);
    if (rc == SCR_E_NOENT)
        return demote_owner(ctx, dest, 0, err);
    if (rc != SCR_OK)
        return scr_fail(err, rc, 0, "SCR_Route_file: %s", why.text);
    if (S_ISREG(st.st_mode))
        return demote_owner(ctx, dest, 1, err);
    return scr_fail(err, SCR_E_UNSAFE, 0,
                    "SCR_Route_file: %s is %s, a file is to be written there; remove "
                    "it or use another name",
                    path,
                    S_ISDIR(st.st_mode)   ? "a directory"
                    : S_ISLNK(st.st_mode) ? "a symbolic link"
                                          : "no regular file");
}

int scr_bypass_place(struct scr_ctx *ctx, const char *dest, char **path,
                     struct scr_err *err)
{
    *path = scr_path_join(ctx->prefix.path, dest);
    int rc = *path ? make_dir(ctx, *path, err)
                   : scr_fail(err, SCR_E_NOMEM, 0, "SCR_Route_file");
    return rc == SCR_OK ? check_free(ctx, dest, *path, err) : rc;
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

int scr_bypass_complete_all(struct scr_ctx *ctx, int valid, struct scr_err *err)
{
    struct scr_output *out = &ctx->out;
    scr_hash *files = scr_hash_new();
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
        rc = in_turns_all(ctx, measure_files, &m, err);
    if (rc == SCR_OK)
        rc = scr_publish_all(&ctx->env, &ctx->world, &ctx->prefix, &o, out->id,
                             out->dset, files, &bytes, err);
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
