/* SPDX-License-Identifier: BSD-3-Clause */
/* A dataset on its way out of the cache: the steps that all flushes share. */
#include "par/outgoing.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "fmt/dataset.h"
#include "par/lists.h"
#include "par/rank2file.h"
#include "par/turns.h"
#include "store/arrival.h"
#include "xfer/copy.h"
#include "xfer/zst.h"

enum { DIR_MODE = 0777 }; /* cut by the umask */

static int no_memory(const struct scr_outgoing *f, struct scr_err *err)
{
    return scr_fail(err, SCR_E_NOMEM, 0, "flush of dataset %d: out of memory", f->id);
}

/* --- what goes where --- */

static int is_ours(const char *dest)
{
    return strcmp(dest, ".scr") == 0 || strncmp(dest, ".scr/", 5) == 0;
}

/* Mode, owner and times as recorded at the end of the output phase: the cached file
 * may have been rebuilt since. A file that is gone is found when it is copied. */
static void describe(const struct scr_outgoing *f, struct scr_out_file *file,
                     const scr_meta *meta)
{
    struct scr_xfer_file *x = &file->xfer;
    file->meta = meta;
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
        return no_memory(f, err);
    f->replaces = scr_file_stat(f->env->sys, zst, &st, NULL) == SCR_OK;
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
    if ((file->dest = scr_meta_dest(meta)) == NULL)
        return scr_fail(err, SCR_E_OUTSIDE, 0,
                        "flush %s: no destination below the prefix is recorded", path);
    f->n++;
    if (is_ours(file->dest))
        return scr_fail(err, SCR_E_OUTSIDE, 0,
                        "flush %s to %s: .scr is not for files of the application",
                        path, file->dest);
    file->src = path;
    if ((file->full = scr_path_join(f->prefix->path, file->dest)) == NULL)
        return no_memory(f, err);
    describe(f, file, meta);
    if (scr_file_stat(f->env->sys, file->full, &st, NULL) != SCR_E_NOENT)
        f->replaces = 1;
    return wants_pack(f) && !f->replaces ? look_at_packed(f, file, err) : SCR_OK;
}

/* The files of one rank, this one or one it stands for. */
static int collect_rank(struct scr_outgoing *f, const scr_filemap *map, int rank,
                        struct scr_err *err)
{
    const char **paths = NULL;
    int n = 0, rc = scr_filemap_list_files(map, f->id, rank, &n, &paths);
    struct scr_out_file *file =
        scr_reallocarray(f->file, f->n + (size_t)n + 1, sizeof *f->file);
    if (file != NULL)
        f->file = file;
    if (file == NULL || rc != SCR_OK)
        rc = no_memory(f, err);
    for (int i = 0; i < n && rc == SCR_OK; i++) {
        const char *type = NULL;
        const scr_meta *meta = scr_filemap_get_meta(map, f->id, rank, paths[i]);
        f->file[f->n] = (struct scr_out_file){ .rank = rank };
        if (scr_meta_get_filetype(meta, &type) != SCR_OK)
            rc = scr_fail(err, SCR_E_CORRUPT, 0,
                          "flush %s: nothing is recorded about it", paths[i]);
        else if (strcmp(type, "FULL") == 0)
            rc = add_file(f, paths[i], meta, err);
    }
    free(paths);
    return rc;
}

/* The ranks this one flushes for: itself, or those the map names. */
static int list_ranks(struct scr_outgoing *f, const scr_filemap *map,
                      struct scr_err *err)
{
    int others = f->o != NULL && f->o->ranks > 0;
    scr_hash_elem *e = others ? scr_filemap_first_rank_by_dataset(map, f->id) : NULL;
    f->ranks = scr_hash_new();
    if (!others)
        scr_hash_set_kv_int(f->ranks, "RANK", f->world->rank);
    for (; e != NULL; e = scr_hash_elem_next(e))
        scr_hash_set_kv(f->ranks, "RANK", scr_hash_elem_key(e));
    if (others)
        scr_hash_set_val_i64(f->ranks, "RANKS", f->o->ranks);
    return f->ranks && scr_hash_ok(f->ranks) ? SCR_OK : no_memory(f, err);
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
    return ok ? SCR_OK : no_memory(f, err);
}

/* Claims the name of what may become of dest when it is compressed. */
static int claim_packed(const struct scr_outgoing *f, scr_hash *send, const char *dest,
                        struct scr_err *err)
{
    char *zst = scr_asprintf("%s" SCR_ZST_SUFFIX, dest);
    scr_hash *claimed = zst ? claim(f, send, "ZST", zst) : NULL;
    free(zst);
    return claimed != NULL ? SCR_OK : no_memory(f, err);
}

static int claim_files(const struct scr_outgoing *f, scr_hash *send,
                       struct scr_err *err)
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
            return no_memory(f, err);
    }
    for (SCR_HASH_EACH(d, scr_hash_get(claims, "DIR")))
        if (scr_hash_set(f->dirs, scr_hash_elem_key(d), NULL) == NULL)
            return no_memory(f, err);
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
                return no_memory(f, err);
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
            rc = dir ? step(f, dir, err) : no_memory(f, err);
        free(dir);
    }
    return rc;
}

static int claim_all(struct scr_outgoing *f, struct scr_err *err)
{
    scr_hash *send = scr_hash_new(), *recv = scr_hash_new();
    int rc = send && recv ? claim_files(f, send, err) : no_memory(f, err);
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
        return no_memory(f, err);
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
        return no_memory(f, err);
    for (SCR_HASH_EACH(e, files)) {
        struct scr_out_file *file = &f->file[f->n++];
        file->rank = f->world->rank;
        file->meta = scr_hash_elem_hash(e);
        (void)scr_hash_get_val_u64(file->meta, "SIZE", &file->xfer.size);
        file->xfer.has_crc = scr_hash_get_val_crc(file->meta, "CRC", &file->xfer.crc);
        file->xfer.name = file->dest = scr_strdup(scr_hash_elem_key(e));
        if (file->dest == NULL)
            return no_memory(f, err);
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
}

/* --- an earlier flush of the dataset --- */

/* The nodes whose records this rank reads and removes: every size'th of the plan. */
static int is_mine(const struct scr_outgoing *f, size_t i)
{
    return i % (size_t)f->world->size == (size_t)f->world->rank;
}

/* {<rank>: {<path>}} of what has landed by the records this rank looks after. */
static int read_records(const struct scr_outgoing *f, const scr_hash *nodes,
                        scr_hash *send, struct scr_err *err)
{
    scr_filemap *map = scr_filemap_new();
    int rc = map ? SCR_OK : no_memory(f, err);
    size_t i = 0;
    for (SCR_HASH_EACH(e, nodes))
        if (is_mine(f, i++) && rc == SCR_OK)
            rc = scr_arrival_read(f->env, f->prefix, f->id, scr_hash_elem_key_int(e),
                                  map, err);
    for (SCR_HASH_EACH(r, scr_hash_get(map, "RANK"))) {
        int rank = scr_hash_elem_key_int(r);
        const scr_hash *files = scr_hash_getf(map, "RANK %d DSET %d FILE", rank, f->id);
        if (rank < 0 || rank >= f->world->size) /* of another number of ranks */
            continue;
        for (SCR_HASH_EACH(p, files))
            if (scr_hash_setf(send, NULL, "%d %s", rank, scr_hash_elem_key(p)) == NULL)
                rc = no_memory(f, err);
    }
    scr_hash_delete(map);
    return rc;
}

/* What was renamed into place there was whole and synced. That it is still the same
 * file show its size and time of modification, which we set. */
static int is_same(const struct scr_outgoing *f, const char *path, uint64_t size,
                   const struct stat *attr)
{
    struct stat st;
    return scr_file_stat(f->env->sys, path, &st, NULL) == SCR_OK &&
           S_ISREG(st.st_mode) && (uint64_t)st.st_size == size &&
           st.st_mtim.tv_sec == attr->st_mtim.tv_sec &&
           st.st_mtim.tv_nsec == attr->st_mtim.tv_nsec;
}

/* If its CRC is wanted and was not recorded, only a copy finds it. */
static int is_known(const struct scr_outgoing *f, const struct scr_xfer_file *x)
{
    return x->has_size && (x->has_crc || !f->o->crc);
}

static void mark_plain(const struct scr_outgoing *f, struct scr_xfer_file *x)
{
    x->whole = is_known(f, x) && is_same(f, x->dst, x->size, &x->attr);
}

static void mark_packed(const struct scr_outgoing *f, struct scr_xfer_file *x,
                        const struct scr_packed *is)
{
    char *zst = scr_asprintf("%s" SCR_ZST_SUFFIX, x->dst);
    x->whole = zst != NULL && scr_zst_have() && is_known(f, x) &&
               is_same(f, zst, is->size, &x->attr);
    x->packed = x->whole;
    x->stored_size = is->size;
    x->stored_crc = is->crc;
    free(zst);
}

/* {<path>: <its record>}: of several the last one counts. */
static scr_hash *index_records(const scr_hash *recv)
{
    scr_hash *by_path = scr_hash_new();
    for (SCR_HASH_EACH(from, recv))
        for (SCR_HASH_EACH(e, scr_hash_elem_hash(from))) {
            struct scr_packed is;
            uint64_t stamp;
            const char *name = scr_hash_elem_key(e), *path = name;
            (void)scr_arrival_packed_parse(name, &stamp, &is, &path);
            scr_hash_set_val(by_path, path, name);
        }
    return by_path;
}

static void mark_landed(struct scr_outgoing *f, const scr_hash *recv)
{
    scr_hash *by_path = index_records(recv);
    for (size_t i = 0; i < f->n; i++) {
        struct scr_packed is;
        uint64_t stamp;
        const char *path, *name = scr_hash_get_val(by_path, f->file[i].dest);
        if (name == NULL)
            continue;
        if (scr_arrival_packed_parse(name, &stamp, &is, &path))
            mark_packed(f, &f->file[i].xfer, &is);
        else
            mark_plain(f, &f->file[i].xfer);
    }
    scr_hash_delete(by_path);
}

static int forget_records(const struct scr_outgoing *f, const scr_hash *nodes,
                          struct scr_err *err)
{
    int rc = SCR_OK;
    size_t i = 0;
    for (SCR_HASH_EACH(e, nodes))
        if (is_mine(f, i++) && rc == SCR_OK)
            rc = scr_arrival_forget(f->env, f->prefix, f->id, scr_hash_elem_key_int(e),
                                    err);
    return rc;
}

/* What a transfer process was about to write when it died. */
static void remove_parts(const struct scr_outgoing *f, uint64_t stamp)
{
    for (size_t i = 0; i < f->n; i++) {
        const struct scr_xfer_file *x = &f->file[i].xfer;
        char *part = x->whole ? NULL : scr_copy_tmp(x->dst, scr_arrival_tag(stamp));
        if (part != NULL)
            (void)scr_file_remove(f->env->sys, part, NULL);
        free(part);
    }
}

/* What rank 0 knows of the plan, {NODE, STAMP}, on all ranks; one that cannot be read
 * is as good as none. */
static int share_plan_all(const struct scr_outgoing *f, scr_hash *known,
                          struct scr_err *err)
{
    scr_hash *plan = scr_hash_new();
    uint64_t stamp = 0;
    int rc = plan ? SCR_OK : no_memory(f, err), found = SCR_E_NOENT;
    if (rc == SCR_OK && f->world->rank == 0)
        found = scr_arrival_plan_read(f->env, f->prefix, f->id, plan, NULL);
    if (found == SCR_OK) {
        scr_hash_set(known, "NODE", scr_hash_dup(scr_hash_get(plan, "NODE")));
        if (scr_hash_get_val_u64(plan, "STAMP", &stamp))
            scr_hash_set_val_u64(known, "STAMP", stamp);
        rc = scr_hash_ok(known) ? rc : no_memory(f, err);
    }
    if (rc == SCR_OK && found != SCR_E_NOENT)
        rc = scr_arrival_give_up(f->env, f->prefix, f->id, err);
    scr_hash_delete(plan);
    rc = scr_agree_all(f->world, rc, err);
    return rc == SCR_OK ? scr_hash_bcast_all(f->world, 0, known, err) : rc;
}

int scr_outgoing_resume_all(struct scr_outgoing *f, struct scr_err *err)
{
    scr_hash *known = scr_hash_new(), *send = scr_hash_new(), *recv = scr_hash_new();
    uint64_t stamp = 0;
    int rc = known && send && recv ? SCR_OK : no_memory(f, err);
    rc = scr_agree_all(f->world, rc, err);
    if (rc == SCR_OK)
        rc = share_plan_all(f, known, err);
    const scr_hash *nodes = scr_hash_get(known, "NODE");
    if (rc == SCR_OK && scr_hash_size(nodes) > 0) {
        rc = scr_agree_all(f->world, read_records(f, nodes, send, err), err);
        if (rc == SCR_OK)
            rc = scr_hash_exchange_all(f->world, send, recv, err);
        if (rc == SCR_OK) {
            mark_landed(f, recv);
            if (scr_hash_get_val_u64(known, "STAMP", &stamp))
                remove_parts(f, stamp);
            rc = scr_agree_all(f->world, forget_records(f, nodes, err), err);
        }
    }
    scr_hash_delete(known);
    scr_hash_delete(send);
    scr_hash_delete(recv);
    return rc;
}

/* --- whose the files are that are about to be replaced --- */

/* Other datasets, the same on all ranks: pending ones, which whoever still copies them
 * may yet complete, and complete ones, newest first. */
struct others {
    int *ids;
    size_t n;
    size_t pending;   /* the first ones of them; on rank 0 only */
    uint64_t *hits;   /* how many of our destinations each lists */
    uint64_t *unsure; /* how many ranks could not tell: its list is damaged or gone */
};

static int add_id(const struct scr_outgoing *f, struct others *o, int id,
                  struct scr_err *err)
{
    int *more = scr_reallocarray(o->ids, o->n + 1, sizeof *more);
    if (more == NULL)
        return no_memory(f, err);
    o->ids = more;
    o->ids[o->n++] = id;
    return SCR_OK;
}

/* Newer ones of which all is there are complete before they are asked for their files
 * (invariant P15). */
static int list_pending(const struct scr_outgoing *f, struct others *o,
                        struct scr_err *err)
{
    int *ids = NULL;
    size_t n = 0;
    int rc = scr_arrivals_pending(f->env, f->prefix, &ids, &n, err);
    if (rc == SCR_OK && n > 0 && ids[n - 1] > f->id) {
        (void)scr_arrivals_adopt(f->env, f->prefix, NULL, NULL);
        free(ids);
        ids = NULL;
        rc = scr_arrivals_pending(f->env, f->prefix, &ids, &n, err);
    }
    for (size_t i = 0; i < n && rc == SCR_OK; i++)
        if (ids[i] != f->id)
            rc = add_id(f, o, ids[i], err);
    o->pending = o->n;
    free(ids);
    return rc;
}

static int list_complete(const struct scr_outgoing *f, struct others *o,
                         struct scr_err *err)
{
    struct scr_index_entry e;
    int *ids = NULL;
    size_t n = 0;
    scr_hash *index = scr_hash_new();
    int rc = scr_prefix_index_read(f->env, f->prefix, index, err);
    if (rc == SCR_OK && (rc = scr_index_ids(index, &ids, &n)) != SCR_OK)
        no_memory(f, err);
    for (size_t i = 0; i < n && rc == SCR_OK; i++)
        if (ids[i] != f->id && scr_index_get(index, ids[i], &e, NULL) == SCR_OK &&
            e.complete)
            rc = add_id(f, o, ids[i], err);
    free(ids);
    scr_hash_delete(index);
    return rc;
}

/* Of a complete one all files are there; those of a pending one may be still to come.
 */
static int list_others(const struct scr_outgoing *f, int replaces, struct others *o,
                       struct scr_err *err)
{
    int rc = list_pending(f, o, err);
    return rc == SCR_OK && replaces ? list_complete(f, o, err) : rc;
}

/* kept = {<path>: {<id>}} of the paths this rank keeps, damaged = {<id>}. */
static void count_hits(const struct scr_outgoing *f, const scr_hash *kept,
                       const scr_hash *damaged, struct others *o)
{
    for (SCR_HASH_EACH(e, f->dests))
        for (SCR_HASH_EACH(of, scr_hash_get(kept, scr_hash_elem_key(e))))
            for (size_t i = 0; i < o->n; i++)
                o->hits[i] += o->ids[i] == scr_hash_elem_key_int(of);
    for (SCR_HASH_EACH(d, damaged))
        for (size_t i = 0; i < o->n; i++)
            o->unsure[i] += o->ids[i] == scr_hash_elem_key_int(d);
}

/* A complete one whose list is damaged is left alone: it cannot be restored, or its
 * checksums will tell. */
static int find_listed_all(const struct scr_outgoing *f, struct others *o,
                           struct scr_err *err)
{
    int replaces = scr_or_all(f->world, f->replaces);
    scr_hash *kept = scr_hash_new(), *damaged = scr_hash_new();
    int rc = kept && damaged ? SCR_OK : no_memory(f, err);
    if (rc == SCR_OK && f->world->rank == 0)
        rc = list_others(f, replaces, o, err);
    rc = scr_agree_all(f->world, rc, err);
    if (rc == SCR_OK)
        rc = scr_share_ids_all(f->world, &o->ids, &o->n, err);
    if (rc == SCR_OK) {
        o->hits = scr_calloc(o->n, sizeof *o->hits);
        o->unsure = scr_calloc(o->n, sizeof *o->unsure);
        rc = scr_agree_all(f->world, o->hits && o->unsure ? SCR_OK : no_memory(f, err),
                           err);
    }
    if (rc == SCR_OK)
        rc = scr_lists_read_all(f->env, f->world, f->prefix, o->ids, o->n, damaged,
                                kept, err);
    if (rc == SCR_OK) {
        count_hits(f, kept, damaged, o);
        scr_sums_all(f->world, o->hits, (int)o->n);
        scr_sums_all(f->world, o->unsure, (int)o->n);
    }
    scr_hash_delete(kept);
    scr_hash_delete(damaged);
    return rc;
}

/* --- index --- */

struct index_edit {
    const scr_hash *dset;
    int id;
    const struct others *others;
};

/* A newer one keeps its files, unless it is no good itself. */
static int check_newer(const scr_hash *index, const struct index_edit *e,
                       const struct scr_dataset *d, struct scr_err *err)
{
    struct scr_index_entry old;
    for (size_t i = 0; i < e->others->n; i++)
        if (e->others->hits[i] > 0 && e->others->ids[i] > e->id &&
            scr_index_get(index, e->others->ids[i], &old, NULL) == SCR_OK &&
            old.complete && !old.failed)
            return scr_fail(err, SCR_E_NEWER, 0,
                            "flush of %s (dataset %d): %s (dataset %d) is newer and "
                            "has files at the same paths",
                            d->name, d->id, old.dset.name, old.id);
    return SCR_OK;
}

/* Nothing leads to a dataset whose files go. */
static void demote(scr_hash *index, int id)
{
    struct scr_index_entry old;
    if (scr_index_get(index, id, &old, NULL) != SCR_OK)
        return;
    if (old.current)
        scr_index_unset_current(index);
    scr_hash_set_val_i64(scr_hash_getf(index, "DSET %d", id), "COMPLETE", 0);
}

/* Before: the entry is there, incomplete. */
static void open_entry(scr_hash *index, const struct index_edit *e)
{
    demote(index, e->id);
    for (size_t i = 0; i < e->others->n; i++)
        if (e->others->hits[i] > 0)
            demote(index, e->others->ids[i]);
}

/* An entry of this id that tells of another dataset: a second job counts up on the same
 * prefix, and neither may lose what it has there. */
static int check_owner(const scr_hash *index, const struct scr_dataset *d,
                       struct scr_err *err)
{
    struct scr_index_entry old;
    if (scr_index_get(index, d->id, &old, NULL) != SCR_OK || old.dset.created <= 0 ||
        d->created <= 0 || old.dset.created == d->created)
        return SCR_OK;
    return scr_fail(err, SCR_E_TAKEN, 0,
                    "flush of %s: dataset %d in the index is %s of job %s, another job "
                    "uses this prefix",
                    d->name, d->id, old.dset.name,
                    old.dset.jobid ? old.dset.jobid : "unknown");
}

static int check_entry(const scr_hash *index, const struct index_edit *e,
                       struct scr_err *err)
{
    struct scr_dataset d;
    int rc = scr_dataset_get(e->dset, &d, err);
    if (rc == SCR_OK)
        rc = check_owner(index, &d, err);
    return rc == SCR_OK ? check_newer(index, e, &d, err) : rc;
}

static int edit_index(scr_hash *index, void *arg, int *changed, struct scr_err *err)
{
    const struct index_edit *e = arg;
    int rc = check_entry(index, e, err);
    if (rc != SCR_OK)
        return rc;
    open_entry(index, e);
    rc = scr_index_add(index, e->dset, 0, time(NULL));
    *changed = 1;
    return rc == SCR_OK ? rc
                        : scr_fail(err, rc, 0, "index: entry of dataset %d", e->id);
}

/* Whoever copies one of them finds no plan before its next file gets its name. So does
 * who copies one whose list cannot be read: its files may be any, and without a list it
 * is of no use. */
static int give_up_plans(const struct scr_outgoing *f, const struct others *o,
                         struct scr_err *err)
{
    int rc = SCR_OK;
    for (size_t i = 0; i < o->pending && rc == SCR_OK; i++)
        if (o->hits[i] > 0 || o->unsure[i] > 0)
            rc = scr_arrival_give_up(f->env, f->prefix, o->ids[i], err);
    return rc;
}

/* Not before it is clear that we may go on; but before the index is edited, from when
 * on nobody may make them complete. Here the index is only looked at: the plans have a
 * lock of their own, and whoever completes a dataset has it when he locks the index. */
static int give_up_others(const struct scr_outgoing *f, const struct index_edit *e,
                          struct scr_err *err)
{
    if (e->others->pending == 0)
        return SCR_OK;
    scr_hash *index = scr_hash_new();
    int rc = index ? scr_prefix_index_read(f->env, f->prefix, index, err)
                   : no_memory(f, err);
    if (rc == SCR_OK)
        rc = check_entry(index, e, err);
    scr_hash_delete(index);
    return rc == SCR_OK ? give_up_plans(f, e->others, err) : rc;
}

static int open_entry_of(const struct scr_outgoing *f, const struct others *o,
                         struct scr_err *err)
{
    struct index_edit e = { .dset = f->dset, .id = f->id, .others = o };
    int rc = give_up_others(f, &e, err);
    if (rc == SCR_OK)
        rc = scr_prefix_index_update(f->env, f->prefix, edit_index, &e, err);
    for (size_t i = 0; i < o->n && rc == SCR_OK; i++)
        if (o->hits[i] > 0)
            rc = scr_prefix_summary_remove(f->env, f->prefix, o->ids[i], err);
    return rc;
}

/* The dataset's directory, without the summary that would call it complete. */
static int open_dset_dir(const struct scr_outgoing *f, struct scr_err *err)
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

/* Who has no destinations yet (scr_publish_begin_all) replaces nothing. */
int scr_outgoing_begin_all(const struct scr_outgoing *f, struct scr_err *err)
{
    struct others o = { 0 };
    int rc = f->dests != NULL ? find_listed_all(f, &o, err) : SCR_OK;
    if (rc == SCR_OK && f->world->rank == 0) {
        rc = open_entry_of(f, &o, err);
        if (rc == SCR_OK)
            rc = open_dset_dir(f, err);
    }
    free(o.ids);
    free(o.hits);
    free(o.unsure);
    return scr_agree_all(f->world, rc, err);
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

static int list_files(const struct scr_outgoing *f, scr_hash *part, struct scr_err *err)
{
    scr_hash *extra = scr_hash_new();
    /* also ranks without files */
    int rc = extra ? scr_hash_merge(part, f->ranks) : SCR_E_NOMEM;
    for (size_t i = 0; i < f->n && rc == SCR_OK; i++) {
        const struct scr_xfer_file *x = &f->file[i].xfer;
        scr_hash_unset_all(extra);
        rc = scr_rank2file_carry(extra, f->file[i].meta);
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
    int rc = part ? list_files(f, part, err) : no_memory(f, err);
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
