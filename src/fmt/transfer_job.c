/* SPDX-License-Identifier: BSD-3-Clause */
/* The owners of the files of a transfer file. */
#include "fmt/transfer_job.h"

#include "fmt/meta.h"
#include "fmt/transfer.h"

static scr_hash *dset_of(const scr_hash *h, int id)
{
    return scr_hash_get_kv_int(h, "DSET", id);
}

static scr_hash *rank_of(const scr_hash *h, int id, int rank)
{
    return scr_hash_get_kv_int(dset_of(h, id), "RANK", rank);
}

static int has_stamp(const scr_hash *h, int id, uint64_t stamp)
{
    uint64_t there = 0;
    return scr_hash_get_val_u64(dset_of(h, id), "STAMP", &there) && there == stamp;
}

/* --- files --- */

int scr_transfer_own_file(scr_hash *h, const char *source, int id, int rank,
                          const uint32_t *crc, const struct stat *attr)
{
    scr_hash *file = scr_hash_get_kv(h, "FILES", source);
    scr_hash_set_val_i64(file, "DSET", id);
    scr_hash_set_val_i64(file, "RANK", rank);
    scr_meta *meta = scr_meta_new();
    scr_hash *fields = scr_hash_new();
    scr_meta_set_stat(meta, attr);
    if (crc != NULL)
        scr_meta_set_crc32(meta, *crc);
    int rc = meta && fields ? scr_meta_to_hash(meta, fields) : SCR_E_NOMEM;
    for (SCR_HASH_EACH(e, fields)) /* an earlier owner may have left some */
        scr_hash_unset(file, scr_hash_elem_key(e));
    if (rc == SCR_OK)
        rc = scr_hash_merge(file, fields);
    scr_hash_delete(fields);
    scr_meta_delete(meta);
    return rc == SCR_OK && scr_hash_ok(file) ? SCR_OK : SCR_E_NOMEM;
}

int scr_transfer_owner(const scr_hash_elem *file, int *id, int *rank)
{
    const scr_hash *f = scr_hash_elem_hash(file);
    return scr_hash_get_val_int(f, "DSET", id) && scr_hash_get_val_int(f, "RANK", rank);
}

/* Those of one rank, or (-1) of all ranks of a dataset. */
static void remove_files(scr_hash *h, int id, int rank)
{
    scr_hash *files = scr_hash_get(h, "FILES");
    scr_hash_elem *next = NULL;
    for (scr_hash_elem *e = scr_hash_elem_first(files); e != NULL; e = next) {
        int of = -1, by = -1;
        next = scr_hash_elem_next(e);
        if (scr_transfer_owner(e, &of, &by) && of == id && (rank < 0 || by == rank))
            scr_hash_unset(files, scr_hash_elem_key(e));
    }
}

/* --- datasets and ranks --- */

void scr_transfer_remove_dset(scr_hash *h, int id)
{
    remove_files(h, id, -1);
    scr_hash_unset_kv_int(h, "DSET", id);
}

int scr_transfer_add_rank(scr_hash *h, int id, const struct scr_transfer_dset *d,
                          int rank)
{
    if (!has_stamp(h, id, d->stamp))
        scr_transfer_remove_dset(h, id);
    scr_transfer_remove_rank(h, id, rank);
    scr_hash *dset = scr_hash_set_kv_int(h, "DSET", id);
    scr_hash_set_val(dset, "PREFIX", d->prefix);
    scr_hash_set_val_u64(dset, "STAMP", d->stamp);
    scr_hash_set_val_i64(dset, "NODE", d->node);
    scr_hash_set_val_i64(dset, "WIDTH", d->width);
    scr_hash_set_val_i64(dset, "CROWD", d->crowd);
    scr_transfer_set_limit(dset, "BW", d->bw);
    scr_transfer_set_limit(dset, "PERCENT", d->percent);
    scr_hash_set_kv_int(dset, "RANK", rank);
    return dset != NULL && scr_hash_ok(dset) ? SCR_OK : SCR_E_NOMEM;
}

int scr_transfer_get_dset(const scr_hash *h, int id, struct scr_transfer_dset *out)
{
    const scr_hash *dset = dset_of(h, id);
    struct scr_transfer_dset d = { .prefix = scr_hash_get_val(dset, "PREFIX"),
                                   .bw = -1,
                                   .percent = -1 };
    if (dset == NULL)
        return SCR_E_NOENT;
    if (d.prefix == NULL || d.prefix[0] != '/' ||
        !scr_hash_get_val_u64(dset, "STAMP", &d.stamp) ||
        !scr_hash_get_val_int(dset, "NODE", &d.node) || d.node < 0 ||
        !scr_hash_get_val_int(dset, "WIDTH", &d.width) || d.width < 0 ||
        !scr_hash_get_val_int(dset, "CROWD", &d.crowd) || d.crowd < 0 ||
        !scr_transfer_get_limit(dset, "BW", &d.bw) ||
        !scr_transfer_get_limit(dset, "PERCENT", &d.percent))
        return SCR_E_CORRUPT;
    *out = d;
    return SCR_OK;
}

void scr_transfer_remove_rank(scr_hash *h, int id, int rank)
{
    remove_files(h, id, rank);
    scr_hash_unset_kv_int(dset_of(h, id), "RANK", rank);
    if (dset_of(h, id) != NULL &&
        scr_hash_size(scr_hash_get(dset_of(h, id), "RANK")) == 0)
        scr_transfer_remove_dset(h, id);
}

/* --- how they end --- */

int scr_transfer_has_ended(const scr_hash *h, int id, uint64_t stamp, int rank,
                           int *code, const char **text)
{
    const scr_hash *r = rank_of(h, id, rank);
    *text = "the transfer file does not list it any more";
    *code = SCR_E_MISSING;
    if (r == NULL || !has_stamp(h, id, stamp))
        return 1;
    if (!scr_hash_get_val_int(r, "CODE", code))
        return 0;
    *text = *code == SCR_OK ? NULL : scr_hash_get_val(r, "ERROR");
    if (*code != SCR_OK && *text == NULL)
        *text = "it does not say why";
    return 1;
}

void scr_transfer_end_rank(scr_hash *h, int id, uint64_t stamp, int rank, int code,
                           const char *text)
{
    scr_hash *r = rank_of(h, id, rank);
    if (r == NULL || !has_stamp(h, id, stamp))
        return;
    scr_hash_set_val_i64(r, "CODE", code);
    if (code != SCR_OK)
        scr_hash_set_val(r, "ERROR", text);
}

int scr_transfer_is_cancelled(const scr_hash *h, int id, int rank)
{
    return scr_hash_get(rank_of(h, id, rank), "CANCEL") != NULL;
}

int scr_transfer_is_pending(const scr_hash *h, int id, int rank)
{
    const scr_hash *r = rank_of(h, id, rank);
    return r != NULL && scr_hash_get(r, "CODE") == NULL &&
           scr_hash_get(r, "CANCEL") == NULL;
}

/* Cancels the ranks of one dataset. */
static int cancel_ranks(scr_hash *dset, int rank)
{
    int any = 0;
    for (SCR_HASH_EACH(r, scr_hash_get(dset, "RANK"))) {
        if (scr_hash_get(scr_hash_elem_hash(r), "CODE") != NULL ||
            (rank >= 0 && scr_hash_elem_key_int(r) != rank))
            continue;
        scr_hash_set(scr_hash_elem_hash(r), "CANCEL", NULL);
        any = 1;
    }
    return any;
}

int scr_transfer_cancel(scr_hash *h, int id, int rank)
{
    int any = 0;
    for (SCR_HASH_EACH(d, scr_hash_get(h, "DSET")))
        if (id < 0 || scr_hash_elem_key_int(d) == id)
            any = cancel_ranks(scr_hash_elem_hash(d), rank) || any;
    return any;
}
