/* SPDX-License-Identifier: BSD-3-Clause */
/* Applies redundancy to a dataset in cache. */
#include "par/protect.h"

#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "par/redset.h"
#include "store/spare.h"

/* --- this rank's files --- */

/* Redundancy files have the name of their scheme as type; everything else is protected.
 */
static int is_application_file(const scr_meta *meta)
{
    enum scr_scheme s;
    const char *type = NULL;
    return scr_meta_get_filetype(meta, &type) != SCR_OK || !scr_scheme_parse(type, &s);
}

/* meta gets FILE, the name below the rank's directory: what a rebuild elsewhere goes
 * by. */
static int name_file(const struct scr_redset *r, const char *path, scr_meta *meta,
                     struct scr_err *err)
{
    int outside = 0, rc = SCR_OK;
    char *normal = scr_path_normal(path);
    char *rel = normal != NULL ? scr_path_below(r->rank_dir, normal, &outside) : NULL;
    if (outside)
        rc = scr_fail(err, SCR_E_OUTSIDE, 0, "protect %s: not below %s", path,
                      r->rank_dir);
    else if (rel == NULL)
        rc = scr_fail(err, SCR_E_NOMEM, 0, "protect %s", path);
    else
        scr_meta_set_filename(meta, rel);
    free(rel);
    free(normal);
    return rc;
}

static int take_file(struct scr_redset *r, const char *path, const scr_meta *from,
                     scr_meta **meta, struct scr_err *err)
{
    struct scr_member_file *f = &r->files[r->nfiles];
    f->path = scr_strdup(path);
    *meta = scr_hash_dup(from);
    if (f->path == NULL || (*meta == NULL && from != NULL))
        return scr_fail(err, SCR_E_NOMEM, 0, "protect %s", path);
    if (scr_meta_get_filesize(*meta, &f->size) != SCR_OK)
        return scr_fail(err, SCR_E_ARG, 0, "protect %s: its size is not recorded",
                        path);
    return name_file(r, path, *meta, err);
}

/* Fills files of r; metas[i] are copies with FILE set. */
static int take_files(struct scr_redset *r, const scr_filemap *map, scr_meta ***metas,
                      struct scr_err *err)
{
    int n = 0, me = r->p->world->rank;
    const char **paths = NULL;
    int rc = scr_filemap_list_files(map, r->id, me, &n, &paths);
    r->files = scr_calloc((size_t)n, sizeof *r->files);
    *metas = scr_calloc((size_t)n, sizeof **metas);
    if (rc != SCR_OK || r->files == NULL || *metas == NULL)
        rc = scr_fail(err, SCR_E_NOMEM, 0, "list of files of dataset %d", r->id);
    for (int i = 0; i < n && rc == SCR_OK; i++) {
        const scr_meta *meta = scr_filemap_get_meta(map, r->id, me, paths[i]);
        if (!is_application_file(meta))
            continue;
        rc = take_file(r, paths[i], meta, &(*metas)[r->nfiles], err);
        r->nfiles++;
    }
    free(paths);
    return rc;
}

/* Without CRCs the places kept for them would read as checksums that are wrong. */
static void forget_crcs(struct scr_redset *r)
{
    for (size_t i = 0; i < r->nfiles; i++)
        scr_hash_unset(scr_hash_getf(r->current, "FILE %zu", i), "CRC");
    scr_hash_unset(r->current, "CHUNKCRC");
}

static int make_current(struct scr_redset *r, scr_meta *const *metas,
                        const scr_hash *extra, const scr_hash *dset,
                        struct scr_err *err)
{
    scr_hash *desc = scr_redset_desc(r, extra);
    if (desc != NULL)
        r->current =
            scr_redfile_current(r->p->world->rank, r->nfiles, metas, desc, dset);
    scr_hash_delete(desc);
    if (r->current == NULL)
        return scr_fail(err, SCR_E_NOMEM, 0, "meta data of dataset %d", r->id);
    if (!r->p->crc)
        forget_crcs(r);
    return SCR_OK;
}

static void free_metas(scr_meta **metas, size_t n)
{
    for (size_t i = 0; metas != NULL && i < n; i++)
        scr_meta_delete(metas[i]);
    free(metas);
}

/* --- the encode --- */

/* The header's place stays empty, or blank in a spare, until its CRCs are known: a file
 * without a valid header is none, so a death in here leaves nothing that looks
 * complete. */
static int start_redfile(struct scr_redset *r, const char *dset_dir,
                         struct scr_err *err)
{
    r->redpath = scr_redset_path(r, dset_dir);
    if (r->redpath == NULL)
        return scr_fail(err, SCR_E_NOMEM, 0, "redundancy file of dataset %d", r->id);
    int rc = scr_spare_take(r->p->env, dset_dir, r->p->world->rank, r->redpath, NULL);
    if (rc != SCR_OK)
        rc = scr_file_remove(r->p->env->sys, r->redpath, err);
    return rc == SCR_OK ? scr_redset_header_size(r, &r->header_bytes, err) : rc;
}

static int finish_redfile(const struct scr_redset *r, struct scr_err *err)
{
    scr_hash *header = scr_redset_header(r);
    uint64_t bytes = 0;
    if (header == NULL)
        return scr_fail(err, SCR_E_NOMEM, 0, "redundancy header of dataset %d", r->id);
    int rc = scr_redfile_write(r->p->env, r->redpath, header, &bytes, err);
    scr_hash_delete(header);
    if (rc == SCR_OK && bytes != r->header_bytes)
        rc = scr_fail(err, SCR_E_FAILURE, 0,
                      "header of %s: %llu bytes, %llu were kept for it", r->redpath,
                      (unsigned long long)bytes, (unsigned long long)r->header_bytes);
    return rc;
}

/* What is had before encoding: data, no parity. */
static int *have_data(int n)
{
    int *have = scr_calloc((size_t)n, sizeof *have);
    for (int i = 0; have != NULL && i < n; i++)
        have[i] = SCR_HAVE_DATA;
    return have;
}

/* Collective over the set; the code is the member's own. Partners are exchanged twice:
 * their size lays out the header, and after the encode they bring the CRCs. */
static int encode_all(struct scr_redset *r, const char *dset_dir, int rc,
                      struct scr_stripe_stats *stats, struct scr_err *err)
{
    uint32_t parity_crc = 0;
    rc = scr_redset_partners_all(r, rc, err);
    int *have = have_data(r->set->n);
    if (rc == SCR_OK && have == NULL)
        rc = scr_fail(err, SCR_E_NOMEM, 0, "redundancy set of %d members", r->set->n);
    if (rc == SCR_OK)
        rc = start_redfile(r, dset_dir, err);
    rc = scr_redset_run_all(r, have, SCR_MEMBER_READ_DATA | SCR_MEMBER_WRITE_PARITY,
                            r->files, r->redpath, r->p->crc ? &parity_crc : NULL, rc,
                            stats, err);
    free(have);
    if (rc != SCR_OK)
        return rc;
    if (r->p->crc &&
        scr_redfile_set_crcs(r->current, r->nfiles, r->files, parity_crc) != SCR_OK)
        rc = scr_fail(err, SCR_E_NOMEM, 0, "checksums of dataset %d", r->id);
    rc = scr_redset_partners_all(r, rc, err);
    return rc == SCR_OK ? finish_redfile(r, err) : rc;
}

int scr_protect_all(const struct scr_protect *p, struct scr_protection *d, int rc,
                    struct scr_err *err)
{
    struct scr_redset r = SCR_REDSET_INIT;
    scr_meta **metas = NULL;
    int rc1 =
        scr_redset_init(&r, p, d->set, d->id, d->dset_dir, rc == SCR_OK ? err : NULL);
    r.encoding = 1;
    rc = rc == SCR_OK ? rc1 : rc;
    if (rc == SCR_OK)
        rc = take_files(&r, d->map, &metas, err);
    rc = scr_redset_geom_all(&r, d->scheme, d->k, rc, err);
    if (rc == SCR_OK) {
        rc1 = make_current(&r, metas, d->desc, d->dset, err);
        rc = encode_all(&r, d->dset_dir, rc1, &d->stats, err);
    }
    for (int i = 0; i < r.g.n; i++)
        d->longest = r.g.len[i] > d->longest ? r.g.len[i] : d->longest;
    if (rc == SCR_OK)
        rc = scr_redset_enter(&r, d->map, err);
    free_metas(metas, r.nfiles);
    scr_redset_fini(&r);
    return rc;
}
