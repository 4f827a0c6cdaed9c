/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that an earlier flush of the dataset put in place. */
#include "par/pfs/outgoing.h"

#include <stdlib.h>

#include "base/io.h"
#include "base/str.h"
#include "par/pfs/lists.h"
#include "store/arrival.h"
#include "xfer/copy.h"
#include "xfer/zst.h"

/* The nodes whose records this rank reads and removes: every size'th. */
static int is_mine(const struct scr_outgoing *f, size_t i)
{
    return i % (size_t)f->at.world->size == (size_t)f->at.world->rank;
}

/* Tells each rank what of its files has landed by the records this rank is responsible
 * for. */
static int read_records(const struct scr_outgoing *f, struct scr_parcels *send,
                        struct scr_err *err)
{
    scr_filemap *map = scr_filemap_new();
    int rc = map ? SCR_OK : scr_no_memory(err);
    for (size_t i = 0; i < f->past.n && rc == SCR_OK; i++)
        if (is_mine(f, i))
            rc = scr_arrival_read(f->at.env, f->at.prefix, f->at.id, f->past.node[i],
                                  map, err);
    for (SCR_ENTRIES(r, map, f->at.id)) {
        if (r->rank >= f->at.world->size) /* of a different number of ranks */
            continue;
        for (SCR_EACH(struct scr_file, p, &r->files))
            if (rc == SCR_OK)
                rc = scr_parcel_text(send, r->rank, p->item.name, err);
    }
    scr_filemap_delete(map);
    return rc;
}

/* What was renamed into place there was whole and synced. That it is still the same
 * file show its size and time of modification, which we set. */
static int is_same(const struct scr_outgoing *f, const char *path, uint64_t size,
                   const struct stat *attr)
{
    struct stat st;
    return scr_file_stat(f->at.env->sys, path, &st, NULL) == SCR_OK &&
           S_ISREG(st.st_mode) && (uint64_t)st.st_size == size &&
           st.st_mtim.tv_sec == attr->st_mtim.tv_sec &&
           st.st_mtim.tv_nsec == attr->st_mtim.tv_nsec;
}

/* If its CRC is wanted and was not recorded, only a copy finds it. */
static int is_known(const struct scr_outgoing *f, const struct scr_xfer_file *x)
{
    return x->has_size && (x->has_crc || !f->o->crc);
}

int scr_outgoing_is_in_place(const struct scr_outgoing *f,
                             const struct scr_out_file *file)
{
    const struct scr_xfer_file *x = &file->xfer;
    if (!x->packed)
        return x->has_size && is_same(f, x->dst, x->size, &x->attr);
    char *zst = scr_asprintf("%s" SCR_ZST_SUFFIX, x->dst);
    int same = zst != NULL && is_same(f, zst, x->stored_size, &x->attr);
    free(zst);
    return same;
}

/* A path and what was recorded of it. */
struct record {
    struct scr_item item;
    const char *text; /* borrowed */
};

/* Of several the last one counts. A record that is lost for lack of memory costs a
 * copy. */
static void index_records(const struct scr_parcels *recv, struct scr_table *by_path)
{
    for (size_t i = 0; i < recv->n; i++)
        for (SCR_TEXTS(text, &recv->of[i].bytes)) {
            struct scr_packed is;
            uint64_t stamp;
            const char *path = text;
            (void)scr_arrival_packed_parse(text, &stamp, &is, &path);
            struct record *r = scr_table_add(by_path, path);
            if (r != NULL)
                r->text = text;
        }
}

static void mark_landed(struct scr_outgoing *f, const struct scr_parcels *recv)
{
    struct scr_table by_path = SCR_TABLE_OF(struct record);
    index_records(recv, &by_path);
    for (size_t i = 0; i < f->n; i++) {
        struct scr_packed is = { 0 };
        uint64_t stamp;
        const char *path;
        struct scr_xfer_file *x = &f->file[i].xfer;
        const struct record *r = scr_table_find(&by_path, f->file[i].dest);
        if (r == NULL || !is_known(f, x))
            continue;
        x->packed = scr_arrival_packed_parse(r->text, &stamp, &is, &path);
        x->stored_size = is.size;
        x->stored_crc = is.crc;
        x->whole =
            (!x->packed || scr_zst_have()) && scr_outgoing_is_in_place(f, &f->file[i]);
        x->packed = x->packed && x->whole;
    }
    scr_table_fini(&by_path);
}

int scr_outgoing_forget(const struct scr_outgoing *f, struct scr_err *err)
{
    for (size_t i = 0; i < f->past.n; i++)
        if (is_mine(f, i))
            TRY(scr_arrival_forget(f->at.env, f->at.prefix, f->at.id, f->past.node[i],
                                   err));
    return SCR_OK;
}

/* What a transfer process was about to write when it died. */
static void remove_parts(const struct scr_outgoing *f, uint64_t stamp)
{
    for (size_t i = 0; i < f->n; i++) {
        const struct scr_xfer_file *x = &f->file[i].xfer;
        char *part = x->whole ? NULL : scr_copy_tmp(x->dst, scr_arrival_tag(stamp));
        if (part != NULL)
            (void)scr_file_remove(f->at.env->sys, part, NULL);
        free(part);
    }
}

/* A list that cannot be read says nothing, but exists. Where there is none the records
 * may have outlived it; what cannot be listed is copied again. */
static int read_plan(const struct scr_outgoing *f, struct scr_past *past,
                     struct scr_err *err)
{
    scr_hash *plan = scr_hash_new();
    int rc = SCR_OK, found = SCR_E_NOENT;
    TRY(plan ? SCR_OK : scr_no_memory(err));
    found = scr_arrival_plan_read(f->at.env, f->at.prefix, f->at.id, plan, NULL);
    if (found == SCR_OK) {
        (void)scr_hash_get_val_u64(plan, "STAMP", &past->stamp);
        if (!scr_hash_list_int(scr_hash_get(plan, "NODE"), &past->node, &past->n))
            rc = scr_no_memory(err);
    } else if (found == SCR_E_NOENT) {
        (void)scr_arrival_nodes(f->at.env, f->at.prefix, f->at.id, &past->node,
                                &past->n, NULL);
    }
    past->has_plan = found != SCR_E_NOENT;
    scr_hash_delete(plan);
    return rc;
}

/* Of another dataset of this number they are that one's (invariant P14). Of one that is
 * complete they are old: it is flushed again as files of it were found damaged. */
static int judge_past(const struct scr_outgoing *f, struct scr_past *past,
                      struct scr_err *err)
{
    enum scr_entered is;
    int rc = scr_prefix_look_up(f->at.env, f->at.prefix, f->dset, &is, err);
    past->believed = is == SCR_ENTERED_INCOMPLETE;
    if (is == SCR_ENTERED_OTHER) {
        past->has_plan = 0;
        past->stamp = 0;
        past->n = 0;
    }
    return rc;
}

/* Rank 0's. */
static int read_past(const struct scr_outgoing *f, struct scr_past *past,
                     struct scr_err *err)
{
    int rc = read_plan(f, past, err);
    return rc == SCR_OK && (past->has_plan || past->n > 0) ? judge_past(f, past, err)
                                                           : rc;
}

int scr_outgoing_find_landed_all(struct scr_outgoing *f, int rc, struct scr_err *err)
{
    struct scr_past *past = &f->past;
    struct scr_parcels send = { 0 }, recv = { 0 };
    if (rc == SCR_OK && f->at.world->rank == 0)
        rc = read_past(f, past, err);
    rc = scr_share_ids_all(f->at.world, rc, &past->node, &past->n, err);
    if (rc != SCR_OK || past->n == 0)
        return rc;
    uint64_t told[] = { past->stamp, (uint64_t)past->believed };
    rc = scr_bcast_bytes_all(f->at.world, 0, told, sizeof told, err);
    past->stamp = told[0];
    past->believed = told[1] != 0;
    if (rc == SCR_OK && past->believed)
        rc = read_records(f, &send, err);
    rc = scr_parcels_exchange_all(f->at.world, rc, &send, &recv, err);
    if (rc == SCR_OK)
        mark_landed(f, &recv);
    scr_parcels_free(&send);
    scr_parcels_free(&recv);
    return rc;
}

int scr_outgoing_resume_all(struct scr_outgoing *f, int rc, struct scr_err *err)
{
    rc = scr_outgoing_find_landed_all(f, rc, err);
    if (rc == SCR_OK && f->past.has_plan)
        rc = scr_arrival_give_up(f->at.env, f->at.prefix, f->at.id, err);
    if (rc == SCR_OK && f->past.stamp != 0)
        remove_parts(f, f->past.stamp);
    /* From the next step on the dataset is not complete: a later attempt would believe
     * them. */
    if (rc == SCR_OK && !f->past.believed)
        rc = scr_outgoing_forget(f, err);
    return rc;
}
