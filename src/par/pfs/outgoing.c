/* SPDX-License-Identifier: BSD-3-Clause */
/* A dataset on its way out of the cache: the steps that all flushes share. */
#include "par/pfs/outgoing.h"

#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "fmt/dataset.h"
#include "par/comm/turns.h"
#include "par/pfs/lists.h"
#include "par/pfs/rank2file_all.h"
#include "store/realdir.h"
#include "xfer/zst.h"

enum { DIR_MODE = 0777 }; /* cut by the umask */

/* --- what goes where --- */

/* Mode, owner and times as recorded at the end of the output phase: the cached file
 * may have been rebuilt since. A file that is gone is found when it is copied. */
static void describe(const struct scr_outgoing *f, struct scr_out_file *file,
                     const scr_meta *meta)
{
    struct scr_xfer_file *x = &file->xfer;
    file->asked = scr_meta_text(meta, SCR_META_ASKED);
    file->is_shared = scr_meta_is_shared(meta);
    *x = (struct scr_xfer_file){ .src = file->src,
                                 .dst = file->full,
                                 .name = file->dest };
    (void)scr_file_stat(f->at.env->sys, file->src, &x->attr, NULL);
    (void)scr_meta_get_stat(meta, &x->attr);
    x->has_size = scr_meta_get_filesize(meta, &x->size) == SCR_OK;
    x->has_crc = scr_meta_get_crc32(meta, &x->crc) == SCR_OK;
}

/* A compressed one may replace another one. */
static int look_at_packed(struct scr_outgoing *f, const struct scr_out_file *file,
                          struct scr_err *err)
{
    char *zst = scr_asprintf("%s" SCR_ZST_SUFFIX, file->full);
    TRY(zst ? SCR_OK : scr_no_memory(err));
    f->replaces = scr_file_is_there(f->at.env->sys, zst);
    free(zst);
    return SCR_OK;
}

static int add_file(struct scr_outgoing *f, const char *path, const scr_meta *meta,
                    struct scr_err *err)
{
    struct scr_out_file *file = &f->file[f->n];
    int complete = 1;
    (void)scr_meta_get_int(meta, SCR_META_COMPLETE, &complete);
    if (!complete)
        return scr_fail(err, SCR_E_CORRUPT, 0, "flush %s: it was never completed",
                        path);
    if (!scr_meta_has_dest(meta))
        return scr_fail(err, SCR_E_OUTSIDE, 0,
                        "flush %s: no destination below the prefix is recorded", path);
    TRY((file->dest = scr_meta_dest(meta)) != NULL ? SCR_OK : scr_no_memory(err));
    f->n++;
    if (scr_prefix_is_own(file->dest))
        return scr_fail(err, SCR_E_OUTSIDE, 0,
                        "flush %s to %s: .scr is not for files of the application",
                        path, file->dest);
    file->src = path;
    if ((file->full = scr_path_join(f->at.prefix->path, file->dest)) == NULL)
        return scr_no_memory(err);
    describe(f, file, meta);
    if (scr_file_is_there(f->at.env->sys, file->full))
        f->replaces = 1;
    return f->o->pack > 0 && !f->replaces ? look_at_packed(f, file, err) : SCR_OK;
}

/* The files of one rank, this one or one it stands for. */
static int collect_rank(struct scr_outgoing *f, const scr_filemap *map, int rank,
                        struct scr_err *err)
{
    int rc = SCR_OK;
    size_t n = (size_t)scr_filemap_num_files(map, f->at.id, rank);
    struct scr_out_file *file =
        scr_reallocarray(f->file, f->n + n + 1, sizeof *f->file);
    TRY(file ? SCR_OK : scr_no_memory(err));
    f->file = file;
    for (const struct scr_file *e = scr_filemap_first_file(map, f->at.id, rank);
         e != NULL && rc == SCR_OK; e = scr_file_next(e)) {
        const scr_meta *meta = scr_file_meta(e);
        f->file[f->n] = (struct scr_out_file){ .rank = rank };
        if (scr_meta_text(meta, SCR_META_TYPE) == NULL)
            rc = scr_fail(err, SCR_E_CORRUPT, 0,
                          "flush %s: nothing is recorded about it", e->item.name);
        else if (scr_meta_is_full(meta))
            rc = add_file(f, e->item.name, meta, err);
    }
    return rc;
}

/* The ranks this one flushes for: itself, or those the map names. */
static int list_ranks(struct scr_outgoing *f, const scr_filemap *map,
                      struct scr_err *err)
{
    if (f->o->ranks == 0)
        return scr_ids_add(&f->ranks, f->at.world->rank, err);
    for (SCR_ENTRIES(e, map, f->at.id))
        TRY(scr_ids_add(&f->ranks, e->rank, err));
    return SCR_OK;
}

/* --- claims: each path is looked after by one rank, chosen by its hash --- */

/* What a path is claimed to be: the first character of a text. */
enum { A_FILE = 'f', A_DIR = 'd', A_PACKED = 'z' };

static int claim(const struct scr_outgoing *f, struct scr_parcels *send, int kind,
                 const char *path, struct scr_err *err)
{
    return scr_parcel_printf(send, scr_path_keeper(f->at.world, path), err, "%c%s",
                             kind, path);
}

/* Claims dest's directory and those above it, up to the prefix itself. */
static int claim_dirs(const struct scr_outgoing *f, struct scr_parcels *send,
                      struct scr_table *seen, const char *dest, struct scr_err *err)
{
    int rc = SCR_OK;
    char *dir = scr_path_dir(dest);
    while (rc == SCR_OK && dir != NULL && scr_table_find(seen, dir) == NULL) {
        rc = scr_table_add(seen, dir) != NULL ? claim(f, send, A_DIR, dir, err)
                                              : scr_no_memory(err);
        char *above = scr_path_dir(dir);
        free(dir);
        dir = above;
    }
    if (rc == SCR_OK && dir == NULL)
        rc = scr_no_memory(err);
    free(dir);
    return rc;
}

/* Claims the name of what may become of dest when it is compressed. */
static int claim_packed(const struct scr_outgoing *f, struct scr_parcels *send,
                        const char *dest, struct scr_err *err)
{
    char *zst = scr_asprintf("%s" SCR_ZST_SUFFIX, dest);
    int rc = zst ? claim(f, send, A_PACKED, zst, err) : scr_no_memory(err);
    free(zst);
    return rc;
}

/* By the name without links, two names of one file are claimed as one. */
static int claim_file(const struct scr_outgoing *f, struct scr_parcels *send,
                      struct scr_table *mine, const char *real, struct scr_err *err)
{
    if (scr_prefix_is_own(real))
        return scr_fail(err, SCR_E_OUTSIDE, 0,
                        "flush of dataset %d: a link leads to %s, which is not for "
                        "files of the application",
                        f->at.id, real);
    if (scr_table_find(mine, real) != NULL)
        return scr_fail(err, SCR_E_EXIST, 0,
                        "flush of dataset %d: rank %d has two files for %s", f->at.id,
                        f->at.world->rank, real);
    TRY(scr_table_add(mine, real) != NULL ? SCR_OK : scr_no_memory(err));
    TRY(claim(f, send, A_FILE, real, err));
    return f->o->pack > 0 ? claim_packed(f, send, real, err) : SCR_OK;
}

static int claim_files(const struct scr_outgoing *f, struct scr_parcels *send,
                       struct scr_err *err)
{
    struct scr_table seen = SCR_TABLE_OF(struct scr_item);
    struct scr_table mine = SCR_TABLE_OF(struct scr_item);
    struct scr_realdir real = SCR_REALDIR_OF(f->at.env, f->at.prefix);
    int rc = SCR_OK;
    for (size_t i = 0; i < f->n && rc == SCR_OK; i++) {
        char *path = scr_realdir_path(&real, f->file[i].dest);
        rc = path != NULL ? claim_file(f, send, &mine, path, err) : scr_no_memory(err);
        if (rc == SCR_OK)
            rc = claim_dirs(f, send, &seen, f->file[i].dest, err);
        free(path);
    }
    scr_realdir_fini(&real);
    scr_table_fini(&seen);
    scr_table_fini(&mine);
    return rc;
}

static int enter_dest(struct scr_outgoing *f, int from, const char *path, int is_packed,
                      struct scr_err *err)
{
    struct scr_out_dest *d = scr_table_add(&f->dests, path);
    TRY(d ? SCR_OK : scr_no_memory(err));
    d->rank = from;
    d->is_packed = is_packed;
    return SCR_OK;
}

static int enter_claim(struct scr_outgoing *f, int from, const char *claim,
                       struct scr_err *err)
{
    const char *path = claim + 1;
    if (*claim == A_DIR && scr_table_add(&f->dirs, path) == NULL)
        return scr_no_memory(err);
    if (*claim != A_FILE)
        return SCR_OK;
    const struct scr_out_dest *other = scr_table_find(&f->dests, path);
    return other != NULL
               ? scr_fail(err, SCR_E_EXIST, 0,
                          "flush of dataset %d: ranks %d and %d both have a file for "
                          "%s",
                          f->at.id, other->rank, from, path)
               : enter_dest(f, from, path, 0, err);
}

/* What a compressed file would be called is replaced, too; unless it is called like a
 * file or directory of the dataset: then none is compressed. */
static int enter_packed(struct scr_outgoing *f, int from, const char *claim,
                        struct scr_err *err)
{
    const char *path = claim + 1;
    if (*claim != A_PACKED)
        return SCR_OK;
    if (scr_table_find(&f->dests, path) == NULL &&
        scr_table_find(&f->dirs, path) == NULL)
        return enter_dest(f, from, path, 1, err);
    f->pack = 0;
    return SCR_OK;
}

typedef int enter(struct scr_outgoing *f, int from, const char *claim,
                  struct scr_err *err);

static int each_claim(struct scr_outgoing *f, const struct scr_parcels *recv,
                      enter *step, struct scr_err *err)
{
    for (size_t i = 0; i < recv->n; i++)
        for (SCR_TEXTS(text, &recv->of[i].bytes))
            TRY(step(f, recv->of[i].rank, text, err));
    return SCR_OK;
}

static int check_claims(struct scr_outgoing *f, const struct scr_parcels *recv,
                        struct scr_err *err)
{
    int rc = each_claim(f, recv, enter_claim, err);
    for (SCR_EACH(struct scr_item, dir, &f->dirs)) {
        const struct scr_out_dest *other = scr_table_find(&f->dests, dir->name);
        if (rc == SCR_OK && other != NULL)
            rc = scr_fail(
                err, SCR_E_EXIST, 0,
                "flush of dataset %d: %s is a file of rank %d and a directory of "
                "other files",
                f->at.id, dir->name, other->rank);
    }
    f->pack = f->o->pack;
    return rc == SCR_OK ? each_claim(f, recv, enter_packed, err) : rc;
}

/* Each directory on the way to a file is some rank's, so that one look at each is
 * enough (invariant P20). A directory that cannot be checked cannot be written to
 * either. What a link leads to may have gone with the files of an older dataset. */
static int check_dir(const struct scr_outgoing *f, const char *dir, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    struct stat st;
    if (strcmp(dir, f->at.prefix->path) == 0 ||
        scr_file_stat(f->at.env->sys, dir, &st, NULL) != SCR_OK || !S_ISLNK(st.st_mode))
        return SCR_OK;
    int rc = scr_path_check_inside(f->at.prefix->path, dir, &why);
    if (rc == SCR_OK)
        rc = scr_prefix_make_dir(f->at.env, f->at.prefix, dir, &why);
    return rc == SCR_OK
               ? rc
               : scr_fail(err, rc, 0, "flush of dataset %d: %s", f->at.id, why.text);
}

typedef int dir_step(const struct scr_outgoing *f, const char *dir,
                     struct scr_err *err);

/* The directories this rank is responsible for, until one fails. */
static int each_dir(const struct scr_outgoing *f, dir_step *step, struct scr_err *err)
{
    int rc = SCR_OK;
    for (SCR_EACH(struct scr_item, e, &f->dirs)) {
        char *dir = scr_path_join(f->at.prefix->path, e->name);
        if (rc == SCR_OK)
            rc = dir ? step(f, dir, err) : scr_no_memory(err);
        free(dir);
    }
    return rc;
}

/* Where one rank finds a compressed name taken, nothing is compressed. */
static int claim_all(struct scr_outgoing *f, int rc, struct scr_err *err)
{
    struct scr_parcels send = { 0 }, recv = { 0 };
    f->has_dests = 1;
    if (rc == SCR_OK)
        rc = claim_files(f, &send, err);
    rc = scr_parcels_exchange_all(f->at.world, rc, &send, &recv, err);
    scr_parcels_free(&send);
    if (rc != SCR_OK)
        return rc;
    rc = check_claims(f, &recv, err);
    scr_parcels_free(&recv);
    if (rc == SCR_OK)
        rc = each_dir(f, check_dir, err);
    struct scr_vote v = { .least = { f->pack, -f->replaces, -f->in_place } };
    rc = scr_vote_all(f->at.world, rc, &v, err);
    f->pack = (int)v.least[0];
    f->any_replaces = v.least[1] != 0;
    f->in_place = v.least[2] != 0;
    return rc;
}

static int check_args(struct scr_outgoing *f, struct scr_err *err)
{
    struct scr_dataset d;
    scr_table_init(&f->dirs, sizeof(struct scr_item));
    scr_table_init(&f->dests, sizeof(struct scr_out_dest));
    if (f->at.world->rank != 0)
        return SCR_OK;
    TRY(scr_dataset_get(f->dset, &d, err));
    if (d.id != f->at.id)
        return scr_fail(err, SCR_E_ARG, 0,
                        "flush of dataset %d: its record is that of %d", f->at.id,
                        d.id);
    return SCR_OK;
}

int scr_outgoing_collect_all(struct scr_outgoing *f, const scr_filemap *map,
                             struct scr_err *err)
{
    int rc = check_args(f, err);
    if (rc == SCR_OK && f->at.world->rank == 0)
        rc = scr_outgoing_note_complete(f, err);
    if (rc == SCR_OK)
        rc = list_ranks(f, map, err);
    for (size_t i = 0; i < f->ranks.n && rc == SCR_OK; i++)
        rc = collect_rank(f, map, f->ranks.id[i], err);
    return claim_all(f, rc, err);
}

static int list(struct scr_outgoing *f, const struct scr_published *published, size_t n,
                struct scr_err *err)
{
    int rc = list_ranks(f, NULL, err);
    f->file = scr_calloc(n, sizeof *f->file);
    TRY(rc == SCR_OK && f->file ? SCR_OK : scr_no_memory(err));
    for (size_t i = 0; i < n; i++) {
        const struct scr_listed *is = published[i].f;
        struct scr_out_file *file = &f->file[f->n++];
        *file = (struct scr_out_file){ .rank = f->at.world->rank,
                                       .src = published[i].waits,
                                       .asked = is->asked,
                                       .is_shared = is->is_shared };
        file->dest = scr_strdup(is->item.name);
        file->full = scr_path_join(f->at.prefix->path, is->item.name);
        file->xfer = (struct scr_xfer_file){
            .name = file->dest, .size = is->size, .has_crc = is->has_crc, .crc = is->crc
        };
        f->replaces |= file->src != NULL;
        f->in_place |= file->src == NULL;
        TRY(file->dest && file->full ? SCR_OK : scr_no_memory(err));
    }
    return SCR_OK;
}

int scr_outgoing_list_all(struct scr_outgoing *f, const struct scr_published *file,
                          size_t n, struct scr_err *err)
{
    int rc = check_args(f, err);
    if (rc == SCR_OK)
        rc = list(f, file, n, err);
    return claim_all(f, rc, err);
}

void scr_outgoing_fini(struct scr_outgoing *f)
{
    for (size_t i = 0; i < f->n; i++) {
        free(f->file[i].dest);
        free(f->file[i].full);
    }
    free(f->file);
    scr_ids_fini(&f->ranks);
    scr_table_fini(&f->dirs);
    scr_table_fini(&f->dests);
    scr_ids_fini(&f->older);
    scr_ids_fini(&f->judged);
    free(f->past.node);
    scr_flushing_end(f->at.env, f->at.prefix, &f->mark);
}

/* --- directories --- */

static int make_dir(const struct scr_outgoing *f, const char *dir, struct scr_err *err)
{
    return scr_dir_make(f->at.env->sys, dir, DIR_MODE, err);
}

static int sync_dir(const struct scr_outgoing *f, const char *dir, struct scr_err *err)
{
    return scr_dir_sync(f->at.env->sys, dir, err);
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
    return scr_take_turns_all(f->at.world, f->o->width, f->dirs.n > 0, work, f, err);
}

/* A directory that another rank is responsible for may get an entry by this. */
int scr_outgoing_make_dirs_all(struct scr_outgoing *f, struct scr_err *err)
{
    TRY(scr_agree_all(f->at.world, dirs_in_turns_all(f, make_dirs, err), err));
    return scr_outgoing_sync_dirs_all(f, err);
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

/* Also ranks without files. */
static void list_files(const struct scr_outgoing *f, struct scr_rank2file *l)
{
    for (size_t i = 0; i < f->ranks.n; i++)
        scr_rank2file_add_rank(l, f->ranks.id[i]);
    for (size_t i = 0; i < f->n; i++) {
        const struct scr_out_file *file = &f->file[i];
        const struct scr_xfer_file *x = &file->xfer;
        struct scr_listed *is = scr_rank2file_add_file(l, file->rank, x->name);
        if (is == NULL)
            return;
        scr_listed_set_size(is, x->size);
        if (x->has_crc)
            scr_listed_set_crc(is, x->crc);
        if (x->packed)
            scr_listed_set_packed(
                is, &(struct scr_packed){ x->stored_size, x->stored_crc });
        is->is_shared = file->is_shared != 0;
        scr_listed_set_asked(is, &scr_rank2file_rank(l, file->rank)->files,
                             file->asked);
    }
}

int scr_outgoing_record_all(const struct scr_outgoing *f, int rc, struct scr_err *err)
{
    struct scr_rank2file list;
    scr_rank2file_init(&list, f->o->ranks > 0 ? f->o->ranks : f->at.world->size);
    if (rc == SCR_OK)
        list_files(f, &list);
    rc = scr_rank2file_write_all(&f->at, &list, rc, err);
    scr_rank2file_fini(&list);
    return rc;
}

uint64_t scr_outgoing_bytes(const struct scr_outgoing *f)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < f->n; i++)
        bytes += f->file[i].xfer.size;
    return bytes;
}

int scr_outgoing_count_all(const struct scr_outgoing *f, int rc, uint64_t *bytes,
                           uint64_t *files, struct scr_err *err)
{
    struct scr_vote v = { .sum = { scr_outgoing_bytes(f), f->n } };
    rc = scr_vote_all(f->at.world, rc, &v, err);
    *bytes = v.sum[0];
    *files = v.sum[1];
    return rc;
}

scr_hash *scr_outgoing_dataset(const struct scr_outgoing *f, uint64_t bytes,
                               uint64_t files)
{
    scr_hash *dset = scr_hash_dup(f->dset);
    if (scr_dataset_finish(dset, bytes, files) == SCR_OK)
        return dset;
    scr_hash_delete(dset);
    return NULL;
}

void scr_outgoing_take(struct scr_outgoing *f, const struct scr_xfer_file *copied)
{
    for (size_t i = 0; i < f->n; i++) {
        struct scr_xfer_file *x = &f->file[i].xfer;
        const struct scr_xfer_file *is = &copied[i];
        f->changed |= x->size != is->size || x->has_crc != is->has_crc ||
                      x->crc != is->crc || x->packed != is->packed ||
                      x->stored_size != is->stored_size ||
                      x->stored_crc != is->stored_crc;
        x->size = is->size;
        x->crc = is->crc;
        x->has_crc = is->has_crc;
        x->packed = is->packed;
        x->stored_size = is->stored_size;
        x->stored_crc = is->stored_crc;
    }
}

struct scr_xfer *scr_outgoing_xfer(const struct scr_outgoing *f,
                                   const struct scr_xfer_opts *hooks,
                                   struct scr_err *err)
{
    struct scr_xfer_opts o = *hooks;
    o.tag = f->at.world->rank;
    o.first = f->at.world->rank;
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
