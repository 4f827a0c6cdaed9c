/* SPDX-License-Identifier: BSD-3-Clause */
/* What an earlier flush of the dataset got into place. */
#include "par/outgoing.h"

#include <stdlib.h>

#include "base/io.h"
#include "base/str.h"
#include "store/arrival.h"
#include "xfer/copy.h"
#include "xfer/zst.h"

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
    int rc = map ? SCR_OK : scr_outgoing_no_memory(f, err);
    size_t i = 0;
    for (SCR_HASH_EACH(e, nodes))
        if (is_mine(f, i++) && rc == SCR_OK)
            rc = scr_arrival_read(f->env, f->prefix, f->id, scr_hash_elem_key_int(e),
                                  map, err);
    for (SCR_ENTRIES(r, map, f->id)) {
        if (r->rank >= f->world->size) /* of another number of ranks */
            continue;
        for (SCR_EACH(struct scr_file, p, &r->files))
            if (scr_hash_setf(send, NULL, "%d %s", r->rank, p->item.name) == NULL)
                rc = scr_outgoing_no_memory(f, err);
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
    int rc = plan ? SCR_OK : scr_outgoing_no_memory(f, err), found = SCR_E_NOENT;
    if (rc == SCR_OK && f->world->rank == 0)
        found = scr_arrival_plan_read(f->env, f->prefix, f->id, plan, NULL);
    if (found == SCR_OK) {
        rc = scr_hash_merge(scr_hash_set(known, "NODE", NULL),
                            scr_hash_get(plan, "NODE"));
        if (scr_hash_get_val_u64(plan, "STAMP", &stamp))
            scr_hash_set_val_u64(known, "STAMP", stamp);
        if (rc != SCR_OK || !scr_hash_ok(known))
            rc = scr_outgoing_no_memory(f, err);
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
    int rc = known && send && recv ? SCR_OK : scr_outgoing_no_memory(f, err);
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
