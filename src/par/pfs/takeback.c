/* SPDX-License-Identifier: BSD-3-Clause */
/* What a flush that failed has landed leaves the prefix again (invariant P28). */
#include <stdlib.h>

#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "par/pfs/flush_async.h"
#include "par/pfs/lists.h"
#include "par/pfs/outgoing.h"
#include "store/arrival.h"
#include "store/realdir.h"
#include "xfer/recode.h"
#include "xfer/zst.h"

/* --- whether there is something --- */

/* Records of landed files exist. */
static int has_records(const struct scr_outgoing *f)
{
    int *node = NULL;
    size_t n = 0;
    int rc = scr_arrival_nodes(f->at.env, f->at.prefix, f->at.id, &node, &n, NULL);
    free(node);
    return rc == SCR_OK && n > 0;
}

/* All have arrived, and the next look completes the dataset; or in doubt. */
static int has_arrived(const struct scr_outgoing *f)
{
    int arrived = 0;
    scr_hash *dset = scr_hash_new();
    int rc =
        dset ? scr_arrival_look(f->at.env, f->at.prefix, f->at.id, &arrived, dset, NULL)
             : SCR_E_NOMEM;
    scr_hash_delete(dset);
    return rc != SCR_OK || arrived;
}

/* Rank 0's: *some if something may have landed that no process is about to complete. */
static int begin(const struct scr_outgoing *f, int for_good, uint64_t *some,
                 struct scr_err *err)
{
    enum scr_entered is;
    int rc = scr_prefix_look_up(f->at.env, f->at.prefix, f->dset, &is, err);
    *some = rc == SCR_OK && is == SCR_ENTERED_INCOMPLETE &&
            !scr_flushing_is_held(f->at.env, f->at.prefix, f->at.id) && !has_arrived(f);
    if (*some && for_good)
        rc = scr_arrival_give_up(f->at.env, f->at.prefix, f->at.id, err);
    *some = *some && (!for_good || has_records(f));
    return rc;
}

/* With or without a record of it, and whatever its times are: its CRC may be right. */
static int is_there(const struct scr_outgoing *f, const struct scr_out_file *file)
{
    struct stat st;
    const struct scr_xfer_file *x = &file->xfer;
    char *zst = scr_asprintf("%s" SCR_ZST_SUFFIX, file->full);
    int there = zst == NULL || scr_file_is_there(f->at.env->sys, zst) ||
                (scr_file_stat(f->at.env->sys, file->full, &st, NULL) == SCR_OK &&
                 (!x->has_size || (uint64_t)st.st_size == x->size));
    free(zst);
    return there;
}

/* A compressed one whose size is not known: ours, and of the time that we set. */
static int has_packed(const struct scr_outgoing *f, struct scr_out_file *file)
{
    struct stat st;
    struct scr_xfer_file *x = &file->xfer;
    char *zst = scr_asprintf("%s" SCR_ZST_SUFFIX, file->full);
    int ours = zst != NULL && scr_file_stat(f->at.env->sys, zst, &st, NULL) == SCR_OK &&
               scr_recode_is_ours(f->at.env->sys, zst);
    free(zst);
    if (ours) {
        x->packed = 1;
        x->stored_size = (uint64_t)st.st_size;
        x->packed = ours = scr_outgoing_is_in_place(f, file);
    }
    return ours;
}

/* Where the disk is full a file that is in its place may have no record: the attempt
 * that has just failed put there what has the size and the time of the cached file. */
static void find_unrecorded(const struct scr_outgoing *f)
{
    for (size_t i = 0; i < f->n; i++) {
        struct scr_out_file *file = &f->file[i];
        if (!file->xfer.whole)
            file->xfer.whole = scr_outgoing_is_in_place(f, file) || has_packed(f, file);
    }
}

/* *some: some files have landed, but not all exist; else the dataset can become
 * complete (invariant P25). */
static int look_all(struct scr_outgoing *f, const struct scr_take_back *t, int *some,
                    struct scr_err *err)
{
    TRY(scr_outgoing_collect_all(f, t->map, err));
    TRY(scr_outgoing_find_landed_all(f, SCR_OK, err));
    struct scr_vote v = { .sum = { 0, 0 } };
    if (!t->for_good)
        find_unrecorded(f);
    for (size_t i = 0; i < f->n; i++) {
        v.sum[0] += (uint64_t)f->file[i].xfer.whole;
        v.sum[1] += !is_there(f, &f->file[i]);
    }
    int rc = scr_vote_all(f->at.world, SCR_OK, &v, err);
    *some = v.sum[0] > 0 && v.sum[1] > 0;
    return rc;
}

/* --- what other datasets list --- */

/* All ranks': the datasets of the index. */
static int list_datasets_all(const struct scr_outgoing *f, int **ids, size_t *n,
                             struct scr_err *err)
{
    struct scr_index index = SCR_INDEX_INIT;
    int rc = SCR_OK;
    if (f->at.world->rank == 0) {
        rc = scr_prefix_index_ids(f->at.env, f->at.prefix, &index, ids, n, err);
        scr_index_fini(&index);
    }
    return scr_share_ids_all(f->at.world, rc, ids, n, err);
}

static int read_lists_all(const struct scr_outgoing *f, struct scr_table *kept,
                          struct scr_err *err)
{
    int *ids = NULL;
    size_t n = 0;
    int rc = list_datasets_all(f, &ids, &n, err);
    const struct scr_lists l = { .env = f->at.env,
                                 .world = f->at.world,
                                 .prefix = f->at.prefix,
                                 .ids = ids,
                                 .n = n };
    if (rc == SCR_OK)
        rc = scr_lists_read_all(&l, rc, kept, err);
    free(ids);
    return rc;
}

static char *stored_name(const struct scr_out_file *file, const char *path)
{
    return scr_asprintf("%s%s", path, file->xfer.packed ? SCR_ZST_SUFFIX : "");
}

/* Below the prefix, without links, as others may list it. */
static char *listed_name(struct scr_realdir *real, const struct scr_out_file *file)
{
    char *path = stored_name(file, file->dest);
    char *name = path != NULL ? scr_realdir_path(real, path) : NULL;
    free(path);
    return name;
}

/* The landed files of this rank, each to the rank that keeps its path. */
static int send_landed(const struct scr_outgoing *f, struct scr_parcels *send,
                       struct scr_err *err)
{
    struct scr_realdir real = SCR_REALDIR_OF(f->at.env, f->at.prefix);
    int rc = SCR_OK;
    for (size_t i = 0; i < f->n && rc == SCR_OK; i++) {
        if (!f->file[i].xfer.whole)
            continue;
        char *path = listed_name(&real, &f->file[i]);
        rc = path ? scr_parcel_text(send, scr_path_keeper(f->at.world, path), path, err)
                  : scr_no_memory(err);
        free(path);
    }
    scr_realdir_fini(&real);
    return rc;
}

/* Those back to who asked that a dataset other than id lists, too: it may be whole
 * except for its mark, which this flush took. */
static int answer(int id, const struct scr_table *kept, const struct scr_parcels *asked,
                  struct scr_parcels *send, struct scr_err *err)
{
    for (size_t i = 0; i < asked->n; i++)
        for (SCR_TEXTS(path, &asked->of[i].bytes)) {
            const struct scr_kept *k = scr_table_find(kept, path);
            const struct scr_kept_id *of = k ? k->of : NULL;
            while (of != NULL && of->id == id)
                of = of->next;
            if (of != NULL)
                TRY(scr_parcel_text(send, asked->of[i].rank, path, err));
        }
    return SCR_OK;
}

static int add_texts(struct scr_table *paths, const struct scr_parcels *told,
                     struct scr_err *err)
{
    for (size_t i = 0; i < told->n; i++)
        for (SCR_TEXTS(path, &told->of[i].bytes))
            (void)scr_table_add(paths, path);
    return scr_table_ok(paths) ? SCR_OK : scr_no_memory(err);
}

/* *stay gets the paths of this rank's files that other datasets list. */
static int find_shared_all(const struct scr_outgoing *f, struct scr_table *stay,
                           struct scr_err *err)
{
    struct scr_parcels ask = { 0 }, asked = { 0 }, send = { 0 }, told = { 0 };
    struct scr_table kept = SCR_TABLE_OF(struct scr_kept);
    int rc = read_lists_all(f, &kept, err);
    if (rc == SCR_OK)
        rc = send_landed(f, &ask, err);
    rc = scr_parcels_exchange_all(f->at.world, rc, &ask, &asked, err);
    if (rc == SCR_OK)
        rc = answer(f->at.id, &kept, &asked, &send, err);
    rc = scr_parcels_exchange_all(f->at.world, rc, &send, &told, err);
    if (rc == SCR_OK)
        rc = add_texts(stay, &told, err);
    scr_parcels_free(&ask);
    scr_parcels_free(&asked);
    scr_parcels_free(&send);
    scr_parcels_free(&told);
    scr_table_fini(&kept);
    return scr_agree_all(f->at.world, rc, err);
}

/* --- the files --- */

/* Its directory stays: a flush that is under way may need it. */
static int remove_file(const struct scr_outgoing *f, const struct scr_out_file *file,
                       struct scr_err *err)
{
    char *full = stored_name(file, file->full);
    char *dir = full ? scr_path_dir(full) : NULL;
    int rc;
    TRY_OUT(dir ? SCR_OK : scr_no_memory(err));
    if (scr_path_check_inside(f->at.prefix->path, dir, NULL) == SCR_OK &&
        scr_outgoing_is_in_place(f, file))
        TRY_OUT(scr_file_remove(f->at.env->sys, full, err));
out:
    free(dir);
    free(full);
    return rc;
}

/* The first error, after all were tried. */
static int remove_files(const struct scr_outgoing *f, const struct scr_table *stay,
                        struct scr_err *err)
{
    struct scr_realdir real = SCR_REALDIR_OF(f->at.env, f->at.prefix);
    int rc = SCR_OK;
    for (size_t i = 0; i < f->n; i++) {
        const struct scr_out_file *file = &f->file[i];
        char *path = listed_name(&real, file);
        if (path == NULL)
            rc = scr_first(rc, scr_no_memory(err));
        else if (file->xfer.whole && scr_table_find(stay, path) == NULL)
            rc = scr_first(rc, remove_file(f, file, rc == SCR_OK ? err : NULL));
        free(path);
    }
    scr_realdir_fini(&real);
    return rc;
}

/* The records stay: by them a deletion of the dataset finds what could not be removed,
 * and those of files that have gone prove nothing. */
static int remove_all(const struct scr_outgoing *f, struct scr_err *err)
{
    struct scr_table stay = SCR_TABLE_OF(struct scr_item);
    int rc;
    TRY_OUT(find_shared_all(f, &stay, err));
    TRY_OUT(scr_agree_all(f->at.world, remove_files(f, &stay, err), err));
out:
    scr_table_fini(&stay);
    return rc;
}

int scr_flush_take_back_all(const struct scr_take_back *t, struct scr_err *err)
{
    const struct scr_copy_opts o = { .width = 1 };
    const int rank = t->at.world->rank;
    struct scr_outgoing f = { .at = t->at,
                              .o = &o,
                              .dset = scr_filemap_get_dataset(t->map, t->at.id, rank) };
    struct scr_vote v = { .sum = { 0 } };
    int some = 0;
    int rc = rank == 0 ? begin(&f, t->for_good, &v.sum[0], err) : SCR_OK;
    rc = scr_vote_all(t->at.world, rc, &v, err);
    if (rc == SCR_OK && v.sum[0] > 0)
        rc = look_all(&f, t, &some, err);
    if (rc == SCR_OK && some)
        rc = remove_all(&f, err);
    scr_outgoing_fini(&f);
    return rc;
}
