/* SPDX-License-Identifier: BSD-3-Clause */
/* What encoding and rebuilding a redundancy set have in common. */
#include "par/redset.h"

#include <stdlib.h>
#include <string.h>

#include "base/hashfile.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"

int scr_redset_init(struct scr_redset *r, const struct scr_protect *p,
                    const struct scr_set *set, int id, const char *dset_dir,
                    struct scr_err *err)
{
    r->p = p;
    r->set = set;
    r->id = id;
    char *dir = scr_asprintf("%s/rank.%d", dset_dir, p->world->rank);
    r->rank_dir = dir != NULL ? scr_path_normal(dir) : NULL;
    free(dir);
    if (r->rank_dir == NULL)
        return scr_fail(err, SCR_E_NOMEM, 0, "redundancy of dataset %d", id);
    return SCR_OK;
}

static void drop_partners(struct scr_redset *r)
{
    for (int j = 0; r->partners != NULL && j < r->npartners; j++)
        scr_hash_delete(r->partners[j]);
    free(r->partners);
    r->partners = NULL;
    r->npartners = 0;
}

void scr_redset_fini(struct scr_redset *r)
{
    drop_partners(r);
    scr_member_files_free(r->files, r->nfiles);
    scr_hash_delete(r->current);
    free(r->redpath);
    free(r->rank_dir);
    *r = (struct scr_redset)SCR_REDSET_INIT;
}

char *scr_redset_path(const struct scr_redset *r, const char *dset_dir)
{
    char *name = scr_redfile_name(r->g.scheme, r->set->me, r->set->n, r->set->id);
    char *path = name != NULL ? scr_asprintf("%s/.scr/%s", dset_dir, name) : NULL;
    free(name);
    return path;
}

/* What each member has to say before the geometry. */
struct opening {
    uint64_t bytes;
    uint64_t failed;
};

int scr_redset_geom_all(struct scr_redset *r, enum scr_scheme scheme, int k, int rc,
                        struct scr_err *err)
{
    struct opening mine = { 0, rc != SCR_OK }, all[SCR_EC_MAX];
    uint64_t len[SCR_EC_MAX];
    for (size_t i = 0; rc == SCR_OK && i < r->nfiles; i++)
        mine.bytes += r->files[i].size;
    int rc1 = scr_allgather_bytes_all(&r->set->comm, &mine, sizeof mine, all, err);
    rc = rc == SCR_OK ? rc1 : rc;
    int failed = rc1 != SCR_OK;
    for (int i = 0; i < r->set->n && !failed; i++) {
        failed = all[i].failed != 0;
        len[i] = all[i].bytes;
    }
    return failed ? scr_set_agree_all(r->set, rc, err)
                  : scr_geom_init(&r->g, scheme, r->set->n, k, len, err);
}

int scr_redset_partners_all(struct scr_redset *r, int rc, struct scr_err *err)
{
    int n = r->set->n, me = r->set->me;
    int copies = scr_redfile_copies(n, r->g.k);
    drop_partners(r);
    r->partners = scr_calloc((size_t)copies, sizeof *r->partners);
    for (int j = 0; j < copies && r->partners != NULL; j++, r->npartners++)
        if ((r->partners[j] = scr_hash_new()) == NULL)
            break;
    if (rc == SCR_OK && r->npartners < copies)
        rc = scr_fail(err, SCR_E_NOMEM, 0, "meta data of %d members", copies);
    for (int j = 1; j <= copies; j++) {
        scr_hash *in = j <= r->npartners ? r->partners[j - 1] : NULL;
        int rc1 = scr_hash_sendrecv(&r->set->comm, r->current, (me + j) % n, in,
                                    (me - j + n) % n, rc == SCR_OK ? err : NULL);
        rc = rc == SCR_OK ? rc1 : rc;
    }
    return rc;
}

scr_hash *scr_redset_header(const struct scr_redset *r)
{
    return scr_redfile_header(&r->g, r->set->me, r->id, r->p->world->size,
                              r->set->world, r->current, r->partners, r->npartners);
}

int scr_redset_header_size(const struct scr_redset *r, uint64_t *n, struct scr_err *err)
{
    scr_hash *header = scr_redset_header(r);
    if (header == NULL)
        return scr_fail(err, SCR_E_NOMEM, 0, "redundancy header of dataset %d", r->id);
    void *buf = NULL;
    size_t bytes = 0;
    int rc = scr_hash_encode(header, &buf, &bytes, err);
    free(buf);
    scr_hash_delete(header);
    *n = bytes;
    return rc;
}

/* The CRC of this member's parity from those of everybody's data, which are shared
 * together with whether anybody failed. mine: a place for that, then the n of this
 * member; all: room for n of these. */
static int share_crcs_all(const struct scr_redset *r, uint32_t *mine, uint32_t *all,
                          uint32_t *crc, int rc, struct scr_err *err)
{
    size_t n = (size_t)r->set->n;
    mine[0] = rc != SCR_OK;
    int rc1 = scr_allgather_bytes_all(&r->set->comm, mine, (n + 1) * sizeof *mine, all,
                                      rc == SCR_OK ? err : NULL);
    int failed = rc1 != SCR_OK;
    for (size_t i = 0; i < n && !failed; i++) {
        failed = all[i * (n + 1)] != 0;
        memmove(&all[i * n], &all[i * (n + 1) + 1], n * sizeof *all);
    }
    if (failed)
        return scr_set_agree_all(r->set, rc == SCR_OK ? rc1 : rc, err);
    *crc = scr_geom_parity_crc(&r->g, r->set->me, all);
    return SCR_OK;
}

int scr_redset_run_all(const struct scr_redset *r, const int *have, int flags,
                       struct scr_member_file *files, const char *redpath,
                       uint32_t *crc, int rc, struct scr_stripe_stats *stats,
                       struct scr_err *err)
{
    struct scr_member *m = NULL;
    uint32_t *all = NULL, mine[1 + SCR_EC_MAX] = { 0 };
    size_t n = (size_t)r->set->n;
    int started = 0, sums = r->encoding && crc != NULL && scr_geom_sums(&r->g);
    flags |= sums || crc == NULL ? SCR_MEMBER_NO_PARITY_CRC : 0;
    flags |= crc == NULL ? SCR_MEMBER_NO_DATA_CRC : 0;
    if (rc == SCR_OK)
        rc = scr_member_open(r->p->env, &r->g, r->set->me, flags, files, r->nfiles,
                             redpath, r->header_bytes, &m, err);
    if (rc == SCR_OK && sums && (all = scr_calloc(n * (n + 1), sizeof *all)) == NULL)
        rc = scr_fail(err, SCR_E_NOMEM, 0, "checksums of dataset %d", r->id);
    rc = scr_stripe_run_all(r->set, &r->g, have, m, rc, r->p->mpi_buf, &started, stats,
                            err);
    if (rc == SCR_OK && crc != NULL)
        rc = scr_member_finish(m, files, crc, err);
    if (rc == SCR_OK && sums)
        scr_member_row_crcs(m, &mine[1]);
    int closed = scr_member_close(m, rc == SCR_OK ? err : NULL);
    rc = rc == SCR_OK ? closed : rc;
    rc = started && sums ? share_crcs_all(r, mine, all, crc, rc, err)
                         : scr_set_agree_all(r->set, rc, err);
    free(all);
    return rc;
}

scr_hash *scr_redset_desc(const struct scr_redset *r, const scr_hash *extra)
{
    scr_hash *h = scr_hash_new();
    scr_hash_set_val(h, "TYPE", scr_scheme_name(r->g.scheme));
    scr_hash_set_val_i64(h, "FAILURES", r->g.k);
    scr_hash_set_val_i64(h, "SET_ID", r->set->id);
    scr_hash_set_val_i64(h, "RANKS", r->p->world->size);
    scr_hash *group = scr_hash_set(h, "GROUP", NULL);
    scr_hash_set_val_i64(group, "RANKS", r->set->n);
    for (int i = 0; i < r->set->n; i++)
        scr_hash_setf(group, NULL, "RANK %d %d", i, r->set->world[i]);
    scr_hash_set_val_i64(h, "MEMBER", r->set->me);
    if (h != NULL && scr_hash_merge(h, extra) == SCR_OK && scr_hash_ok(h))
        return h;
    scr_hash_delete(h);
    return NULL;
}

/* --- the filemap --- */

static int drop_files(scr_filemap *map, int id, int rank)
{
    int n = 0;
    const char **files = NULL;
    int rc = scr_filemap_list_files(map, id, rank, &n, &files);
    /* Removing the last first: a name is borrowed from the entry it names. */
    for (int i = n - 1; rc == SCR_OK && i >= 0; i--)
        scr_filemap_remove_file(map, id, rank, files[i]);
    free(files);
    return rc;
}

static int enter_redfile(const struct scr_redset *r, scr_filemap *map)
{
    int me = r->p->world->rank;
    scr_meta *meta = scr_meta_new();
    if (meta == NULL)
        return SCR_E_NOMEM;
    uint64_t size = r->header_bytes + scr_geom_parity_bytes(&r->g, r->set->me);
    scr_meta_set(meta, scr_path_base(r->redpath), scr_scheme_name(r->g.scheme), size,
                 r->id, me, r->p->world->size, 1);
    scr_filemap_add_file(map, r->id, me, r->redpath);
    scr_filemap_set_meta(map, r->id, me, r->redpath, meta);
    scr_meta_delete(meta);
    return SCR_OK;
}

int scr_redset_enter(const struct scr_redset *r, scr_filemap *map, struct scr_err *err)
{
    int me = r->p->world->rank;
    int rc = drop_files(map, r->id, me);
    scr_filemap_add_rank(map, r->id, me);
    for (size_t i = 0; i < r->nfiles; i++) {
        scr_filemap_add_file(map, r->id, me, r->files[i].path);
        scr_filemap_set_meta(map, r->id, me, r->files[i].path,
                             scr_hash_getf(r->current, "FILE %zu", i));
    }
    scr_filemap_set_expected_files(map, r->id, me, (int)r->nfiles);
    const scr_hash *dset = scr_hash_get(r->current, "DSETDESC");
    if (dset != NULL)
        scr_filemap_set_dataset(map, r->id, me, dset);
    scr_filemap_set_desc(map, r->id, me, scr_hash_get(r->current, "DESC"));
    const char *chunk_crc = scr_hash_get_val(r->current, "CHUNKCRC");
    if (chunk_crc != NULL)
        scr_filemap_set_tag(map, r->id, me, "CHUNKCRC", chunk_crc);
    if (rc == SCR_OK)
        rc = enter_redfile(r, map);
    if (rc != SCR_OK || !scr_hash_ok(map))
        return scr_fail(err, SCR_E_NOMEM, 0, "filemap entry of dataset %d", r->id);
    return SCR_OK;
}
