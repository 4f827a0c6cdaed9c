/* SPDX-License-Identifier: BSD-3-Clause */
/* Flush: cache to prefix directory. The order of steps is the header's; each is
 * agreed. */
#include "par/flush.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "ec/ec.h"
#include "fmt/dataset.h"
#include "par/rank2file.h"
#include "par/turns.h"
#include "xfer/copy.h"

enum { DIR_MODE = 0777 }; /* cut by the umask */

struct flush_file {
    const char *src; /* in cache, borrowed from the filemap */
    const scr_meta *meta;
    char *dest, *full; /* below the prefix, and whole */
    struct scr_copied got;
    uint32_t crc; /* known or computed */
    int has_crc;
};

struct flush {
    const struct scr_env *env;
    const struct scr_comm *world;
    const struct scr_prefix *prefix;
    const struct scr_copy_opts *o;
    int id;
    const scr_hash *dset;
    struct flush_file *file;
    size_t n;
    scr_hash *dirs; /* {<directory below the prefix>}: those this rank fsyncs */
    int replaces;   /* some destination existed before */
};

static int no_memory(const struct flush *f, struct scr_err *err)
{
    return scr_fail(err, SCR_E_NOMEM, 0, "flush of dataset %d: out of memory", f->id);
}

/* --- what goes where --- */

static int is_ours(const char *dest)
{
    return strcmp(dest, ".scr") == 0 || strncmp(dest, ".scr/", 5) == 0;
}

static int add_file(struct flush *f, const char *path, const scr_meta *meta,
                    struct scr_err *err)
{
    struct flush_file *file = &f->file[f->n];
    struct stat st;
    int complete = 1;
    (void)scr_meta_get_complete(meta, &complete);
    if (!complete)
        return scr_fail(err, SCR_E_CORRUPT, 0, "flush %s: it was never completed",
                        path);
    if ((file->dest = scr_meta_dest(meta)) == NULL)
        return scr_fail(err, SCR_E_OUTSIDE, 0,
                        "flush %s: no destination below the prefix is recorded", path);
    f->n++;
    if (is_ours(file->dest))
        return scr_fail(err, SCR_E_OUTSIDE, 0,
                        "flush %s to %s: .scr is not for files of the application",
                        path, file->dest);
    file->src = path;
    file->meta = meta;
    file->has_crc = scr_meta_get_crc32(meta, &file->crc) == SCR_OK;
    if ((file->full = scr_path_join(f->prefix->path, file->dest)) == NULL)
        return no_memory(f, err);
    if (scr_file_stat(f->env->sys, file->full, &st, NULL) == SCR_OK)
        f->replaces = 1;
    return SCR_OK;
}

static int collect(struct flush *f, const scr_filemap *map, struct scr_err *err)
{
    const char **paths = NULL;
    int n = 0, rc = scr_filemap_list_files(map, f->id, f->world->rank, &n, &paths);
    if (rc == SCR_OK && (f->file = scr_calloc((size_t)n, sizeof *f->file)) == NULL)
        rc = SCR_E_NOMEM;
    if (rc != SCR_OK)
        no_memory(f, err);
    for (int i = 0; i < n && rc == SCR_OK; i++) {
        const char *type = NULL;
        const scr_meta *meta =
            scr_filemap_get_meta(map, f->id, f->world->rank, paths[i]);
        if (scr_meta_get_filetype(meta, &type) != SCR_OK)
            rc = scr_fail(err, SCR_E_CORRUPT, 0,
                          "flush %s: nothing is recorded about it", paths[i]);
        else if (strcmp(type, "FULL") == 0)
            rc = add_file(f, paths[i], meta, err);
    }
    free(paths);
    return rc;
}

/* --- claims: each path is looked after by one rank, chosen by its hash --- */

static scr_hash *claim(const struct flush *f, scr_hash *send, const char *kind,
                       const char *path)
{
    uint32_t keeper = scr_crc32(0, path, strlen(path)) % (uint32_t)f->world->size;
    return scr_hash_set_kv(scr_hash_setf(send, NULL, "%u", keeper), kind, path);
}

/* Claims dest's directory and those above it, up to the prefix itself. */
static int claim_dirs(const struct flush *f, scr_hash *send, scr_hash *seen,
                      const char *dest, struct scr_err *err)
{
    int top = 0;
    char *dir = scr_path_dir(dest);
    while (dir != NULL && !top && scr_hash_get(seen, dir) == NULL) {
        if (claim(f, send, "DIR", dir) == NULL || scr_hash_set(seen, dir, NULL) == NULL)
            break;
        char *above = scr_path_dir(dir);
        top = strcmp(dir, ".") == 0;
        free(dir);
        dir = above;
    }
    int ok = dir != NULL && scr_hash_get(seen, dir) != NULL;
    free(dir);
    return ok ? SCR_OK : no_memory(f, err);
}

static int claim_files(const struct flush *f, scr_hash *send, struct scr_err *err)
{
    scr_hash *seen = scr_hash_new(), *mine = scr_hash_new();
    int rc = seen && mine ? SCR_OK : no_memory(f, err);
    for (size_t i = 0; i < f->n && rc == SCR_OK; i++) {
        const char *dest = f->file[i].dest;
        if (scr_hash_get(mine, dest) != NULL)
            rc = scr_fail(err, SCR_E_EXIST, 0,
                          "flush of dataset %d: rank %d has two files for %s", f->id,
                          f->world->rank, dest);
        else if (scr_hash_set(mine, dest, NULL) == NULL ||
                 claim(f, send, "FILE", dest) == NULL)
            rc = no_memory(f, err);
        else
            rc = claim_dirs(f, send, seen, dest, err);
    }
    scr_hash_delete(seen);
    scr_hash_delete(mine);
    return rc;
}

/* One rank's claims, entered with the others': who = {<file>: {<rank>}}. */
static int enter_claims(struct flush *f, const scr_hash_elem *from, scr_hash *who,
                        struct scr_err *err)
{
    const scr_hash *claims = scr_hash_elem_hash(from);
    for (SCR_HASH_EACH(e, scr_hash_get(claims, "FILE"))) {
        const char *path = scr_hash_elem_key(e), *other = scr_hash_get_val(who, path);
        if (other != NULL)
            return scr_fail(
                err, SCR_E_EXIST, 0,
                "flush of dataset %d: ranks %s and %s both have a file for %s", f->id,
                other, scr_hash_elem_key(from), path);
        if (scr_hash_set_val(who, path, scr_hash_elem_key(from)) == NULL)
            return no_memory(f, err);
    }
    for (SCR_HASH_EACH(d, scr_hash_get(claims, "DIR")))
        if (scr_hash_set(f->dirs, scr_hash_elem_key(d), NULL) == NULL)
            return no_memory(f, err);
    return SCR_OK;
}

static int check_claims(struct flush *f, const scr_hash *recv, struct scr_err *err)
{
    scr_hash *who = scr_hash_new();
    int rc = who != NULL ? SCR_OK : no_memory(f, err);
    for (SCR_HASH_EACH(e, recv))
        if (rc == SCR_OK)
            rc = enter_claims(f, e, who, err);
    for (SCR_HASH_EACH(d, f->dirs)) {
        const char *path = scr_hash_elem_key(d), *other = scr_hash_get_val(who, path);
        if (rc == SCR_OK && other != NULL)
            rc = scr_fail(
                err, SCR_E_EXIST, 0,
                "flush of dataset %d: %s is a file of rank %s and a directory of "
                "other files",
                f->id, path, other);
    }
    scr_hash_delete(who);
    return rc;
}

static int claim_all(struct flush *f, struct scr_err *err)
{
    scr_hash *send = scr_hash_new(), *recv = scr_hash_new();
    int rc = send && recv ? claim_files(f, send, err) : no_memory(f, err);
    rc = scr_agree_all(f->world, rc, err);
    if (rc == SCR_OK)
        rc = scr_hash_exchange_all(f->world, send, recv, err);
    if (rc == SCR_OK)
        rc = scr_agree_all(f->world, check_claims(f, recv, err), err);
    scr_hash_delete(send);
    scr_hash_delete(recv);
    return rc;
}

/* --- index --- */

struct index_edit {
    const scr_hash *dset;
    int id, complete;
    int replaces; /* files of an older dataset of this name may be overwritten */
    int replaced; /* result: id of that dataset, 0: none */
};

/* Before: the entry is there, incomplete; nothing leads to a dataset whose files go. */
static void open_entry(scr_hash *index, struct index_edit *e, const char *name)
{
    int old = scr_index_find(index, name);
    const char *current = scr_index_get_current(index);
    if (old < 0 || (old != e->id && !e->replaces))
        return;
    e->replaced = old != e->id ? old : 0;
    if (old != e->id)
        scr_hash_set_val_i64(scr_hash_getf(index, "DSET %d", old), "COMPLETE", 0);
    if (current != NULL && strcmp(current, name) == 0)
        scr_index_unset_current(index);
}

static int edit_index(scr_hash *index, void *arg, int *changed, struct scr_err *err)
{
    struct index_edit *e = arg;
    struct scr_dataset d;
    int rc = scr_dataset_get(e->dset, &d, err);
    if (rc != SCR_OK)
        return rc;
    if (!e->complete)
        open_entry(index, e, d.name);
    rc = scr_index_add(index, e->dset, e->complete, time(NULL));
    /* A late flush of an older checkpoint does not take the job back to it. */
    if (rc == SCR_OK)
        rc = scr_index_advance_current(index, e->id);
    *changed = 1;
    return rc == SCR_OK ? rc
                        : scr_fail(err, rc, 0, "index: entry of dataset %d", e->id);
}

static int write_index(const struct flush *f, const scr_hash *dset, int complete,
                       int replaces, struct scr_err *err)
{
    struct index_edit e = {
        .dset = dset, .id = f->id, .complete = complete, .replaces = replaces
    };
    int rc = scr_prefix_index_update(f->env, f->prefix, edit_index, &e, err);
    if (rc == SCR_OK && e.replaced > 0)
        rc = scr_prefix_summary_remove(f->env, f->prefix, e.replaced, err);
    return rc;
}

/* The dataset's directory, without the summary that would call it complete. */
static int open_dset_dir(const struct flush *f, struct scr_err *err)
{
    char *dir = scr_prefix_dset_dir(f->prefix, f->id);
    int rc = dir ? SCR_OK : no_memory(f, err);
    if (rc == SCR_OK)
        rc = scr_dir_make(f->env->sys, dir, DIR_MODE, err);
    if (rc == SCR_OK)
        rc = scr_dir_sync(f->env->sys, f->prefix->scr, err);
    if (rc == SCR_OK)
        rc = scr_prefix_summary_remove(f->env, f->prefix, f->id, err);
    free(dir);
    return rc;
}

static int begin_all(const struct flush *f, struct scr_err *err)
{
    int replaces = scr_or_all(f->world, f->replaces), rc = SCR_OK;
    if (f->world->rank == 0) {
        rc = write_index(f, f->dset, 0, replaces, err);
        if (rc == SCR_OK)
            rc = open_dset_dir(f, err);
    }
    return scr_agree_all(f->world, rc, err);
}

/* --- files --- */

/* Mode, owner and times as recorded at the end of the output phase: the cached file
 * may have been rebuilt since. */
static int copy_one(const struct flush *f, struct flush_file *file, struct scr_err *err)
{
    struct stat attr = { .st_mode = 0 };
    uint64_t size;
    struct scr_copy job = { .src = file->src,
                            .dst = file->full,
                            .tag = f->world->rank,
                            .buf = f->o->buf,
                            .want_crc = f->o->crc,
                            .sync = 1 };
    if (scr_meta_get_filesize(file->meta, &size) == SCR_OK)
        job.size = &size;
    if (file->has_crc)
        job.crc = &file->crc;
    int rc = scr_file_stat(f->env->sys, file->src, &attr, err);
    if (rc != SCR_OK)
        return rc;
    (void)scr_meta_get_stat(file->meta, &attr);
    job.attr = &attr;
    rc = scr_copy_file(f->env->sys, &job, &file->got, err);
    if (rc == SCR_OK && (file->has_crc || f->o->crc)) {
        file->has_crc = 1;
        file->crc = file->got.crc;
    }
    return rc;
}

static int copy_files(const struct flush *f, struct scr_err *err)
{
    char *last = NULL;
    int rc = SCR_OK;
    for (size_t i = 0; i < f->n && rc == SCR_OK; i++) {
        char *dir = scr_path_dir(f->file[i].full);
        if (dir == NULL)
            rc = no_memory(f, err);
        else if (last == NULL || strcmp(dir, last) != 0)
            rc = scr_dir_make(f->env->sys, dir, DIR_MODE, err);
        if (rc == SCR_OK)
            rc = copy_one(f, &f->file[i], err);
        free(last);
        last = dir;
    }
    free(last);
    return rc;
}

static int copy_all(const struct flush *f, struct scr_err *err)
{
    int before = scr_turn_take(f->world, f->o->width), rc = SCR_OK;
    if (before == SCR_OK)
        rc = copy_files(f, err);
    scr_turn_pass(f->world, f->o->width, before != SCR_OK ? before : rc);
    return scr_agree_all(f->world, rc, err);
}

static int sync_dirs_all(const struct flush *f, struct scr_err *err)
{
    int rc = SCR_OK;
    for (SCR_HASH_EACH(e, f->dirs)) {
        char *dir = scr_path_join(f->prefix->path, scr_hash_elem_key(e));
        if (rc == SCR_OK)
            rc = dir ? scr_dir_sync(f->env->sys, dir, err) : no_memory(f, err);
        free(dir);
    }
    return scr_agree_all(f->world, rc, err);
}

/* --- the record --- */

/* {SHARED} of a file that other ranks wrote too. */
static int mark_shared(scr_hash *extra, const scr_meta *meta)
{
    scr_hash_unset_all(extra);
    return scr_hash_get(meta, "SHARED") == NULL ||
           scr_hash_set_val(extra, "SHARED", "1") != NULL;
}

static int list_files(const struct flush *f, scr_hash *part, struct scr_err *err)
{
    int rank = f->world->rank, rc = SCR_OK;
    scr_hash *extra = scr_hash_new();
    if (extra == NULL || /* RANK: also one without files */
        scr_hash_set_kv_int(part, "RANK", rank) == NULL)
        rc = SCR_E_NOMEM;
    for (size_t i = 0; i < f->n && rc == SCR_OK; i++) {
        const struct flush_file *file = &f->file[i];
        rc = mark_shared(extra, file->meta)
                 ? scr_rank2file_add_file(part, rank, file->dest, file->got.size,
                                          file->has_crc ? &file->crc : NULL, extra)
                 : SCR_E_NOMEM;
    }
    scr_hash_delete(extra);
    return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "list of files of rank %d", rank);
}

static int record_all(const struct flush *f, struct scr_err *err)
{
    scr_hash *part = scr_hash_new();
    int rc = part ? list_files(f, part, err) : no_memory(f, err);
    rc = scr_agree_all(f->world, rc, err);
    if (rc == SCR_OK)
        rc = scr_rank2file_write_all(f->env, f->world, f->prefix, f->id, part, err);
    scr_hash_delete(part);
    return rc;
}

static int finish_all(const struct flush *f, uint64_t bytes, struct scr_err *err)
{
    uint64_t files = scr_sum_all(f->world, f->n);
    int rc = SCR_OK;
    if (f->world->rank == 0) {
        scr_hash *dset = scr_hash_dup(f->dset);
        scr_hash_set_val_u64(dset, "SIZE", bytes);
        scr_hash_set_val_u64(dset, "FILES", files);
        scr_hash_set_val_i64(dset, "COMPLETE", 1);
        if (dset == NULL || !scr_hash_ok(dset))
            rc = no_memory(f, err);
        if (rc == SCR_OK)
            rc = scr_prefix_summary_write(f->env, f->prefix, f->id, dset, 1, err);
        if (rc == SCR_OK)
            rc = write_index(f, dset, 1, 0, err);
        scr_hash_delete(dset);
    }
    return scr_agree_all(f->world, rc, err);
}

/* --- all of it --- */

static int check_args(const struct flush *f, struct scr_err *err)
{
    struct scr_dataset d;
    if (f->dirs == NULL)
        return no_memory(f, err);
    if (f->world->rank != 0)
        return SCR_OK;
    int rc = scr_dataset_get(f->dset, &d, err);
    if (rc == SCR_OK && d.id != f->id)
        rc = scr_fail(err, SCR_E_ARG, 0,
                      "flush of dataset %d: its record is that of %d", f->id, d.id);
    return rc;
}

/* From files in place to a dataset that is complete. */
static int complete_all(struct flush *f, uint64_t *bytes, struct scr_err *err)
{
    int rc = sync_dirs_all(f, err);
    if (rc == SCR_OK)
        rc = record_all(f, err);
    if (rc != SCR_OK)
        return rc;
    for (size_t i = 0; i < f->n; i++)
        *bytes += f->file[i].got.size;
    *bytes = scr_sum_all(f->world, *bytes);
    return finish_all(f, *bytes, err);
}

static int run_all(struct flush *f, const scr_filemap *map, uint64_t *bytes,
                   struct scr_err *err)
{
    int rc = check_args(f, err);
    if (rc == SCR_OK)
        rc = collect(f, map, err);
    rc = scr_agree_all(f->world, rc, err);
    if (rc == SCR_OK)
        rc = claim_all(f, err);
    if (rc == SCR_OK)
        rc = begin_all(f, err);
    if (rc == SCR_OK)
        rc = copy_all(f, err);
    return rc == SCR_OK ? complete_all(f, bytes, err) : rc;
}

static void flush_fini(struct flush *f)
{
    for (size_t i = 0; i < f->n; i++) {
        free(f->file[i].dest);
        free(f->file[i].full);
    }
    free(f->file);
    scr_hash_delete(f->dirs);
}

int scr_flush_all(const struct scr_env *env, const struct scr_comm *world,
                  const struct scr_prefix *prefix, const struct scr_copy_opts *o,
                  int id, const scr_hash *dset, const scr_filemap *map, uint64_t *bytes,
                  struct scr_err *err)
{
    struct flush f = { .env = env,
                       .world = world,
                       .prefix = prefix,
                       .o = o,
                       .id = id,
                       .dset = dset,
                       .dirs = scr_hash_new() };
    *bytes = 0;
    int rc = run_all(&f, map, bytes, err);
    flush_fini(&f);
    return rc;
}

/* --- files that are there already --- */

int scr_publish_begin_all(const struct scr_env *env, const struct scr_comm *world,
                          const struct scr_prefix *prefix, int id, const scr_hash *dset,
                          struct scr_err *err)
{
    struct flush f = {
        .env = env, .world = world, .prefix = prefix, .id = id, .dset = dset
    };
    return begin_all(&f, err);
}

static int list_published(struct flush *f, const scr_hash *files, struct scr_err *err)
{
    f->file = scr_calloc(scr_hash_size(files), sizeof *f->file);
    if (f->file == NULL)
        return no_memory(f, err);
    for (SCR_HASH_EACH(e, files)) {
        struct flush_file *file = &f->file[f->n++];
        file->meta = scr_hash_elem_hash(e);
        (void)scr_hash_get_val_u64(file->meta, "SIZE", &file->got.size);
        file->has_crc = scr_hash_get_val_crc(file->meta, "CRC", &file->crc);
        if ((file->dest = scr_strdup(scr_hash_elem_key(e))) == NULL)
            return no_memory(f, err);
    }
    return SCR_OK;
}

int scr_publish_all(const struct scr_env *env, const struct scr_comm *world,
                    const struct scr_prefix *prefix, int id, const scr_hash *dset,
                    const scr_hash *files, uint64_t *bytes, struct scr_err *err)
{
    struct flush f = { .env = env,
                       .world = world,
                       .prefix = prefix,
                       .id = id,
                       .dset = dset,
                       .dirs = scr_hash_new() };
    *bytes = 0;
    int rc = check_args(&f, err);
    if (rc == SCR_OK)
        rc = list_published(&f, files, err);
    rc = scr_agree_all(world, rc, err);
    if (rc == SCR_OK)
        rc = claim_all(&f, err);
    if (rc == SCR_OK)
        rc = complete_all(&f, bytes, err);
    flush_fini(&f);
    return rc;
}
