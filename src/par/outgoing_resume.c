/* SPDX-License-Identifier: BSD-3-Clause */
/* What an earlier flush of the dataset got into place. */
#include "par/outgoing.h"

#include <stdlib.h>

#include "base/io.h"
#include "base/str.h"
#include "par/lists.h"
#include "store/arrival.h"
#include "xfer/copy.h"
#include "xfer/zst.h"

/* The nodes whose records this rank reads and removes: every size'th of the plan. */
static int is_mine(const struct scr_outgoing *f, size_t i)
{
    return i % (size_t)f->world->size == (size_t)f->world->rank;
}

/* What an earlier attempt told of. */
struct attempt {
    int *node;
    size_t n;
    uint64_t stamp; /* 0: it does not say */
    int has_plan;   /* rank 0 has found one, or cannot tell */
};

/* Tells each rank what of its files has landed by the records this rank looks after. */
static int read_records(const struct scr_outgoing *f, const struct attempt *a,
                        struct scr_parcels *send, struct scr_err *err)
{
    scr_filemap *map = scr_filemap_new();
    int rc = map ? SCR_OK : scr_no_memory(err);
    for (size_t i = 0; i < a->n && rc == SCR_OK; i++)
        if (is_mine(f, i))
            rc = scr_arrival_read(f->env, f->prefix, f->id, a->node[i], map, err);
    for (SCR_ENTRIES(r, map, f->id)) {
        if (r->rank >= f->world->size) /* of another number of ranks */
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

/* A path and what was recorded of it. */
struct record {
    struct scr_item item;
    const char *text; /* borrowed */
};

/* Of several the last one counts. One that is lost for want of memory costs a copy. */
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
        struct scr_packed is;
        uint64_t stamp;
        const char *path;
        const struct record *r = scr_table_find(&by_path, f->file[i].dest);
        if (r == NULL)
            continue;
        struct scr_xfer_file *x = &f->file[i].xfer;
        if (scr_arrival_packed_parse(r->text, &stamp, &is, &path))
            mark_packed(f, x, &is);
        else
            x->whole = is_known(f, x) && is_same(f, x->dst, x->size, &x->attr);
    }
    scr_table_fini(&by_path);
}

static int forget_records(const struct scr_outgoing *f, const struct attempt *a,
                          struct scr_err *err)
{
    int rc = SCR_OK;
    for (size_t i = 0; i < a->n && rc == SCR_OK; i++)
        if (is_mine(f, i))
            rc = scr_arrival_forget(f->env, f->prefix, f->id, a->node[i], err);
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

/* Rank 0's. One that cannot be read says nothing, but is there. */
static int read_plan(const struct scr_outgoing *f, struct attempt *a,
                     struct scr_err *err)
{
    scr_hash *plan = scr_hash_new();
    int rc = SCR_OK, found = SCR_E_NOENT;
    if (plan == NULL)
        return scr_no_memory(err);
    found = scr_arrival_plan_read(f->env, f->prefix, f->id, plan, NULL);
    if (found == SCR_OK) {
        (void)scr_hash_get_val_u64(plan, "STAMP", &a->stamp);
        if (!scr_hash_list_int(scr_hash_get(plan, "NODE"), &a->node, &a->n))
            rc = scr_no_memory(err);
    }
    a->has_plan = found != SCR_E_NOENT;
    scr_hash_delete(plan);
    return rc;
}

static int resume_all(struct scr_outgoing *f, struct attempt *a, int rc,
                      struct scr_err *err)
{
    struct scr_parcels send = { 0 }, recv = { 0 };
    rc = scr_first(rc,
                   scr_bcast_bytes_all(f->world, 0, &a->stamp, sizeof a->stamp, err));
    if (rc == SCR_OK)
        rc = read_records(f, a, &send, err);
    rc = scr_parcels_exchange_all(f->world, rc, &send, &recv, err);
    scr_parcels_free(&send);
    if (rc != SCR_OK)
        return rc;
    mark_landed(f, &recv);
    scr_parcels_free(&recv);
    if (a->stamp != 0)
        remove_parts(f, a->stamp);
    return forget_records(f, a, err);
}

int scr_outgoing_resume_all(struct scr_outgoing *f, int rc, struct scr_err *err)
{
    struct attempt a = { 0 };
    if (rc == SCR_OK && f->world->rank == 0)
        rc = read_plan(f, &a, err);
    rc = scr_share_ids_all(f->world, rc, &a.node, &a.n, err);
    if (rc != SCR_OK)
        goto out;
    /* Only now: until here a rank may have failed, and all is left as it was. */
    if (a.has_plan)
        rc = scr_arrival_give_up(f->env, f->prefix, f->id, err);
    if (a.n > 0)
        rc = resume_all(f, &a, rc, err);
out:
    free(a.node);
    return rc;
}
