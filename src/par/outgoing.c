/* SPDX-License-Identifier: BSD-3-Clause */
/* A dataset on its way out of the cache: the steps that all flushes share. */
#include "par/outgoing.h"

#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "fmt/dataset.h"
#include "par/lists.h"
#include "par/rank2file.h"
#include "par/turns.h"
#include "xfer/zst.h"

enum { DIR_MODE = 0777 }; /* cut by the umask */

int scr_outgoing_no_memory(const struct scr_outgoing *f, struct scr_err *err)
{
    return scr_fail(err, SCR_E_NOMEM, 0, "flush of dataset %d: out of memory", f->id);
}

/* --- what goes where --- */

/* Mode, owner and times as recorded at the end of the output phase: the cached file
 * may have been rebuilt since. A file that is gone is found when it is copied. */
static void describe(const struct scr_outgoing *f, struct scr_out_file *file,
                     const scr_meta *meta)
{
    struct scr_xfer_file *x = &file->xfer;
    (void)scr_meta_get_asked(meta, &file->asked);
    file->is_shared = scr_meta_is_shared(meta);
    *x = (struct scr_xfer_file){ .src = file->src,
                                 .dst = file->full,
                                 .name = file->dest };
    (void)scr_file_stat(f->env->sys, file->src, &x->attr, NULL);
    (void)scr_meta_get_stat(meta, &x->attr);
    x->has_size = scr_meta_get_filesize(meta, &x->size) == SCR_OK;
    x->has_crc = scr_meta_get_crc32(meta, &x->crc) == SCR_OK;
}

static int wants_pack(const struct scr_outgoing *f)
{
    return f->o != NULL && f->o->pack > 0;
}

/* A compressed one may replace another one. */
static int look_at_packed(struct scr_outgoing *f, const struct scr_out_file *file,
                          struct scr_err *err)
{
    struct stat st;
    char *zst = scr_asprintf("%s" SCR_ZST_SUFFIX, file->full);
    if (zst == NULL)
        return scr_outgoing_no_memory(f, err);
    f->replaces = scr_file_stat(f->env->sys, zst, &st, NULL) != SCR_E_NOENT;
    free(zst);
    return SCR_OK;
}

static int add_file(struct scr_outgoing *f, const char *path, const scr_meta *meta,
                    struct scr_err *err)
{
    struct scr_out_file *file = &f->file[f->n];
    struct stat st;
    int complete = 1;
    (void)scr_meta_get_complete(meta, &complete);
    if (!complete)
        return scr_fail(err, SCR_E_CORRUPT, 0, "flush %s: it was never completed",
                        path);
    if (!scr_meta_has_dest(meta))
        return scr_fail(err, SCR_E_OUTSIDE, 0,
                        "flush %s: no destination below the prefix is recorded", path);
    if ((file->dest = scr_meta_dest(meta)) == NULL)
        return scr_outgoing_no_memory(f, err);
    f->n++;
    if (scr_prefix_is_own(file->dest))
        return scr_fail(err, SCR_E_OUTSIDE, 0,
                        "flush %s to %s: .scr is not for files of the application",
                        path, file->dest);
    file->src = path;
    if ((file->full = scr_path_join(f->prefix->path, file->dest)) == NULL)
        return scr_outgoing_no_memory(f, err);
    describe(f, file, meta);
    if (scr_file_stat(f->env->sys, file->full, &st, NULL) != SCR_E_NOENT)
        f->replaces = 1;
    return wants_pack(f) && !f->replaces ? look_at_packed(f, file, err) : SCR_OK;
}

/* The files of one rank, this one or one it stands for. */
static int collect_rank(struct scr_outgoing *f, const scr_filemap *map, int rank,
                        struct scr_err *err)
{
    int rc = SCR_OK;
    size_t n = (size_t)scr_filemap_num_files(map, f->id, rank);
    struct scr_out_file *file =
        scr_reallocarray(f->file, f->n + n + 1, sizeof *f->file);
    if (file == NULL)
        return scr_outgoing_no_memory(f, err);
    f->file = file;
    for (const struct scr_file *e = scr_filemap_first_file(map, f->id, rank);
         e != NULL && rc == SCR_OK; e = scr_file_next(e)) {
        const char *type = NULL;
        const scr_meta *meta = scr_file_meta(e);
        f->file[f->n] = (struct scr_out_file){ .rank = rank };
        if (scr_meta_get_filetype(meta, &type) != SCR_OK)
            rc = scr_fail(err, SCR_E_CORRUPT, 0,
                          "flush %s: nothing is recorded about it", e->item.name);
        else if (strcmp(type, "FULL") == 0)
            rc = add_file(f, e->item.name, meta, err);
    }
    return rc;
}

/* The ranks this one flushes for: itself, or those the map names. */
static int list_ranks(struct scr_outgoing *f, const scr_filemap *map,
                      struct scr_err *err)
{
    int others = f->o != NULL && f->o->ranks > 0;
    const struct scr_entry *e = others ? scr_filemap_first(map, f->id) : NULL;
    f->ranks = scr_hash_new();
    if (!others)
        scr_hash_set_kv_int(f->ranks, "RANK", f->world->rank);
    for (; e != NULL; e = scr_filemap_next(map, e))
        scr_hash_set_kv_int(f->ranks, "RANK", e->rank);
    if (others)
        scr_hash_set_val_i64(f->ranks, "RANKS", f->o->ranks);
    return f->ranks && scr_hash_ok(f->ranks) ? SCR_OK : scr_outgoing_no_memory(f, err);
}

static int collect(struct scr_outgoing *f, const scr_filemap *map, struct scr_err *err)
{
    int rc = list_ranks(f, map, err);
    for (SCR_HASH_EACH(r, scr_hash_get(f->ranks, "RANK")))
        if (rc == SCR_OK)
            rc = collect_rank(f, map, scr_hash_elem_key_int(r), err);
    return rc;
}

/* --- claims: each path is looked after by one rank, chosen by its hash --- */

static scr_hash *claim(const struct scr_outgoing *f, scr_hash *send, const char *kind,
                       const char *path)
{
    int keeper = scr_path_keeper(f->world, path);
    return scr_hash_set_kv(scr_hash_setf(send, NULL, "%d", keeper), kind, path);
}

/* Claims dest's directory and those above it, up to the prefix itself. */
static int claim_dirs(const struct scr_outgoing *f, scr_hash *send, scr_hash *seen,
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
    return ok ? SCR_OK : scr_outgoing_no_memory(f, err);
}

/* Claims the name of what may become of dest when it is compressed. */
static int claim_packed(const struct scr_outgoing *f, scr_hash *send, const char *dest,
                        struct scr_err *err)
{
    char *zst = scr_asprintf("%s" SCR_ZST_SUFFIX, dest);
    scr_hash *claimed = zst ? claim(f, send, "ZST", zst) : NULL;
    free(zst);
    return claimed != NULL ? SCR_OK : scr_outgoing_no_memory(f, err);
}

static int claim_files(const struct scr_outgoing *f, scr_hash *send,
                       struct scr_err *err)
{
    scr_hash *seen = scr_hash_new(), *mine = scr_hash_new();
    int rc = seen && mine ? SCR_OK : scr_outgoing_no_memory(f, err);
    for (size_t i = 0; i < f->n && rc == SCR_OK; i++) {
        const char *dest = f->file[i].dest;
        if (scr_hash_get(mine, dest) != NULL)
            rc = scr_fail(err, SCR_E_EXIST, 0,
                          "flush of dataset %d: rank %d has two files for %s", f->id,
                          f->world->rank, dest);
        else if (scr_hash_set(mine, dest, NULL) == NULL ||
                 claim(f, send, "FILE", dest) == NULL)
            rc = scr_outgoing_no_memory(f, err);
        else
            rc = claim_dirs(f, send, seen, dest, err);
        if (rc == SCR_OK && wants_pack(f))
            rc = claim_packed(f, send, dest, err);
    }
    scr_hash_delete(seen);
    scr_hash_delete(mine);
    return rc;
}

/* One rank's claims, entered with the others'. */
static int enter_claims(struct scr_outgoing *f, const scr_hash_elem *from,
                        struct scr_err *err)
{
    const scr_hash *claims = scr_hash_elem_hash(from);
    for (SCR_HASH_EACH(e, scr_hash_get(claims, "FILE"))) {
        const char *path = scr_hash_elem_key(e);
        const char *other = scr_hash_get_val(f->dests, path);
        if (other != NULL)
            return scr_fail(
                err, SCR_E_EXIST, 0,
                "flush of dataset %d: ranks %s and %s both have a file for %s", f->id,
                other, scr_hash_elem_key(from), path);
        if (scr_hash_set_val(f->dests, path, scr_hash_elem_key(from)) == NULL)
            return scr_outgoing_no_memory(f, err);
    }
    for (SCR_HASH_EACH(d, scr_hash_get(claims, "DIR")))
        if (scr_hash_set(f->dirs, scr_hash_elem_key(d), NULL) == NULL)
            return scr_outgoing_no_memory(f, err);
    return SCR_OK;
}

/* 1 if a compressed file would be called like a file or directory of the dataset. */
static int is_packed_taken(const struct scr_outgoing *f, const scr_hash *recv)
{
    for (SCR_HASH_EACH(from, recv))
        for (SCR_HASH_EACH(e, scr_hash_get(scr_hash_elem_hash(from), "ZST")))
            if (scr_hash_get(f->dests, scr_hash_elem_key(e)) != NULL ||
                scr_hash_get(f->dirs, scr_hash_elem_key(e)) != NULL)
                return 1;
    return 0;
}

/* What is called so is replaced, too. */
static int enter_packed(struct scr_outgoing *f, const scr_hash *recv,
                        struct scr_err *err)
{
    for (SCR_HASH_EACH(from, recv))
        for (SCR_HASH_EACH(e, scr_hash_get(scr_hash_elem_hash(from), "ZST")))
            if (scr_hash_set_val(f->dests, scr_hash_elem_key(e),
                                 scr_hash_elem_key(from)) == NULL)
                return scr_outgoing_no_memory(f, err);
    return SCR_OK;
}

static int check_claims(struct scr_outgoing *f, const scr_hash *recv,
                        struct scr_err *err)
{
    int rc = SCR_OK;
    for (SCR_HASH_EACH(e, recv))
        if (rc == SCR_OK)
            rc = enter_claims(f, e, err);
    for (SCR_HASH_EACH(d, f->dirs)) {
        const char *path = scr_hash_elem_key(d);
        const char *other = scr_hash_get_val(f->dests, path);
        if (rc == SCR_OK && other != NULL)
            rc = scr_fail(
                err, SCR_E_EXIST, 0,
                "flush of dataset %d: %s is a file of rank %s and a directory of "
                "other files",
                f->id, path, other);
    }
    if (rc == SCR_OK)
        f->pack = wants_pack(f) && !is_packed_taken(f, recv) ? f->o->pack : 0;
    return rc;
}

/* Each directory on the way to a file is some rank's, so that one look at each is
 * enough (invariant P20). What cannot be looked at cannot be written to either. */
static int check_dir(const struct scr_outgoing *f, const char *dir, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    struct stat st;
    if (strcmp(dir, f->prefix->path) == 0 ||
        scr_file_stat(f->env->sys, dir, &st, NULL) != SCR_OK || !S_ISLNK(st.st_mode))
        return SCR_OK;
    int rc = scr_prefix_check_inside(f->prefix, dir, &why);
    return rc == SCR_OK
               ? rc
               : scr_fail(err, rc, 0, "flush of dataset %d: %s", f->id, why.text);
}

typedef int dir_step(const struct scr_outgoing *f, const char *dir,
                     struct scr_err *err);

/* The directories this rank looks after, until one fails. */
static int each_dir(const struct scr_outgoing *f, dir_step *step, struct scr_err *err)
{
    int rc = SCR_OK;
    for (SCR_HASH_EACH(e, f->dirs)) {
        char *dir = scr_path_join(f->prefix->path, scr_hash_elem_key(e));
        if (rc == SCR_OK)
            rc = dir ? step(f, dir, err) : scr_outgoing_no_memory(f, err);
        free(dir);
    }
    return rc;
}

static int claim_all(struct scr_outgoing *f, struct scr_err *err)
{
    scr_hash *send = scr_hash_new(), *recv = scr_hash_new();
    int rc = send && recv ? claim_files(f, send, err) : scr_outgoing_no_memory(f, err);
    rc = scr_agree_all(f->world, rc, err);
    if (rc == SCR_OK)
        rc = scr_hash_exchange_all(f->world, send, recv, err);
    if (rc == SCR_OK)
        rc = scr_agree_all(f->world, check_claims(f, recv, err), err);
    if (rc == SCR_OK)
        rc = scr_agree_all(f->world, each_dir(f, check_dir, err), err);
    if (rc == SCR_OK && wants_pack(f)) /* one name in the way, and all stay plain */
        f->pack = (int)scr_min_all(f->world, f->pack);
    if (rc == SCR_OK && f->pack > 0)
        rc = scr_agree_all(f->world, enter_packed(f, recv, err), err);
    scr_hash_delete(send);
    scr_hash_delete(recv);
    return rc;
}

static int check_args(const struct scr_outgoing *f, struct scr_err *err)
{
    struct scr_dataset d;
    if (f->dirs == NULL || f->dests == NULL)
        return scr_outgoing_no_memory(f, err);
    if (f->world->rank != 0)
        return SCR_OK;
    int rc = scr_dataset_get(f->dset, &d, err);
    if (rc == SCR_OK && d.id != f->id)
        rc = scr_fail(err, SCR_E_ARG, 0,
                      "flush of dataset %d: its record is that of %d", f->id, d.id);
    return rc;
}

int scr_outgoing_collect_all(struct scr_outgoing *f, const scr_filemap *map,
                             struct scr_err *err)
{
    f->dirs = scr_hash_new();
    f->dests = scr_hash_new();
    int rc = check_args(f, err);
    if (rc == SCR_OK && f->world->rank == 0)
        rc = scr_outgoing_note_complete(f, err);
    if (rc == SCR_OK)
        rc = collect(f, map, err);
    rc = scr_agree_all(f->world, rc, err);
    return rc == SCR_OK ? claim_all(f, err) : rc;
}

static int list(struct scr_outgoing *f, const scr_hash *files, struct scr_err *err)
{
    int rc = list_ranks(f, NULL, err);
    f->file = scr_calloc(scr_hash_size(files), sizeof *f->file);
    if (rc != SCR_OK || f->file == NULL)
        return scr_outgoing_no_memory(f, err);
    for (SCR_HASH_EACH(e, files)) {
        struct scr_out_file *file = &f->file[f->n++];
        file->rank = f->world->rank;
        const scr_hash *info = scr_hash_elem_hash(e);
        file->asked = scr_hash_get_val(info, "ASKED");
        file->is_shared = scr_hash_get(info, "SHARED") != NULL;
        (void)scr_hash_get_val_u64(info, "SIZE", &file->xfer.size);
        file->xfer.has_crc = scr_hash_get_val_crc(info, "CRC", &file->xfer.crc);
        file->xfer.name = file->dest = scr_strdup(scr_hash_elem_key(e));
        file->full = scr_path_join(f->prefix->path, scr_hash_elem_key(e));
        file->src = scr_hash_get_val(info, "WAITS");
        f->replaces |= file->src != NULL;
        if (file->dest == NULL || file->full == NULL)
            return scr_outgoing_no_memory(f, err);
    }
    return SCR_OK;
}

int scr_outgoing_list_all(struct scr_outgoing *f, const scr_hash *files,
                          struct scr_err *err)
{
    f->dirs = scr_hash_new();
    f->dests = scr_hash_new();
    int rc = check_args(f, err);
    if (rc == SCR_OK)
        rc = list(f, files, err);
    rc = scr_agree_all(f->world, rc, err);
    return rc == SCR_OK ? claim_all(f, err) : rc;
}

void scr_outgoing_fini(struct scr_outgoing *f)
{
    for (size_t i = 0; i < f->n; i++) {
        free(f->file[i].dest);
        free(f->file[i].full);
    }
    free(f->file);
    scr_hash_delete(f->ranks);
    scr_hash_delete(f->dirs);
    scr_hash_delete(f->dests);
    scr_hash_delete(f->older);
    scr_hash_delete(f->judged);
    scr_flushing_end(f->env, f->prefix, &f->mark);
}

/* --- directories --- */

static int make_dir(const struct scr_outgoing *f, const char *dir, struct scr_err *err)
{
    return scr_dir_make(f->env->sys, dir, DIR_MODE, err);
}

static int sync_dir(const struct scr_outgoing *f, const char *dir, struct scr_err *err)
{
    return scr_dir_sync(f->env->sys, dir, err);
}

static int make_dirs(void *arg, struct scr_err *err)
{
    return each_dir(arg, make_dir, err);
}

static int sync_dirs(void *arg, struct scr_err *err)
{
    return each_dir(arg, sync_dir, err);
}

static int dirs_in_turns_all(struct scr_outgoing *f, scr_turn_work work,
                             struct scr_err *err)
{
    return scr_in_turns_all(f->world, f->o->width, scr_hash_size(f->dirs) > 0, work, f,
                            err);
}

int scr_outgoing_make_dirs_all(struct scr_outgoing *f, struct scr_err *err)
{
    int rc = dirs_in_turns_all(f, make_dirs, err);
    return rc == SCR_OK ? scr_outgoing_sync_dirs_all(f, err) : rc;
}

int scr_outgoing_sync_dirs_all(struct scr_outgoing *f, struct scr_err *err)
{
    return dirs_in_turns_all(f, sync_dirs, err);
}

/* --- the record --- */

void scr_outgoing_fix_sizes(struct scr_outgoing *f)
{
    for (size_t i = 0; i < f->n; i++) {
        struct scr_xfer_file *x = &f->file[i].xfer;
        if (!x->has_size)
            x->size = (uint64_t)x->attr.st_size;
        x->has_size = 1;
    }
}

static int list_files(const struct scr_outgoing *f, scr_hash *part, struct scr_err *err)
{
    scr_hash *extra = scr_hash_new();
    /* also ranks without files */
    int rc = extra ? scr_hash_merge(part, f->ranks) : SCR_E_NOMEM;
    for (size_t i = 0; i < f->n && rc == SCR_OK; i++) {
        const struct scr_xfer_file *x = &f->file[i].xfer;
        scr_hash_unset_all(extra);
        rc = scr_rank2file_carry(extra, f->file[i].asked, f->file[i].is_shared);
        if (rc == SCR_OK && x->packed)
            rc = scr_rank2file_set_packed(
                extra, &(struct scr_packed){ x->stored_size, x->stored_crc });
        if (rc == SCR_OK)
            rc = scr_rank2file_add_file(part, f->file[i].rank, x->name, x->size,
                                        x->has_crc ? &x->crc : NULL, extra);
    }
    scr_hash_delete(extra);
    return rc == SCR_OK ? rc
                        : scr_fail(err, rc, 0, "list of files of dataset %d", f->id);
}

int scr_outgoing_record_all(const struct scr_outgoing *f, struct scr_err *err)
{
    scr_hash *part = scr_hash_new();
    int rc = part ? list_files(f, part, err) : scr_outgoing_no_memory(f, err);
    rc = scr_agree_all(f->world, rc, err);
    if (rc == SCR_OK)
        rc = scr_rank2file_write_all(f->env, f->world, f->prefix, f->id, part, err);
    scr_hash_delete(part);
    return rc;
}

void scr_outgoing_count_all(const struct scr_outgoing *f, uint64_t *bytes,
                            uint64_t *files)
{
    uint64_t mine = 0;
    for (size_t i = 0; i < f->n; i++)
        mine += f->file[i].xfer.size;
    *bytes = scr_sum_all(f->world, mine);
    *files = scr_sum_all(f->world, f->n);
}

scr_hash *scr_outgoing_dataset(const struct scr_outgoing *f, uint64_t bytes,
                               uint64_t files)
{
    scr_hash *dset = scr_hash_dup(f->dset);
    scr_hash_set_val_u64(dset, "SIZE", bytes);
    scr_hash_set_val_u64(dset, "FILES", files);
    scr_hash_set_val_i64(dset, "COMPLETE", 1);
    if (dset != NULL && scr_hash_ok(dset))
        return dset;
    scr_hash_delete(dset);
    return NULL;
}

void scr_outgoing_take(struct scr_outgoing *f, const struct scr_xfer_file *copied)
{
    for (size_t i = 0; i < f->n; i++) {
        f->file[i].xfer.size = copied[i].size;
        f->file[i].xfer.crc = copied[i].crc;
        f->file[i].xfer.has_crc = copied[i].has_crc;
        f->file[i].xfer.packed = copied[i].packed;
        f->file[i].xfer.stored_size = copied[i].stored_size;
        f->file[i].xfer.stored_crc = copied[i].stored_crc;
    }
}

struct scr_xfer *scr_outgoing_xfer(const struct scr_outgoing *f,
                                   const struct scr_xfer_opts *hooks,
                                   struct scr_err *err)
{
    struct scr_xfer_opts o = *hooks;
    o.tag = f->world->rank;
    o.first = f->world->rank;
    o.buf = f->o->buf;
    o.want_crc = f->o->crc;
    o.pack = f->pack;
    struct scr_xfer *x = scr_xfer_new(&o, err);
    for (size_t i = 0; i < f->n && x != NULL; i++)
        if (scr_xfer_add(x, &f->file[i].xfer, err) != SCR_OK) {
            scr_xfer_free(x);
            x = NULL;
        }
    return x;
}
