/* SPDX-License-Identifier: BSD-3-Clause */
/* Applies redundancy to a dataset in cache. */
#include "par/redundancy/protect.h"

#include <stdlib.h>

#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "par/redundancy/redset.h"
#include "store/spare.h"

/* --- this rank's files --- */

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
        rc = scr_no_memory(err);
    else
        scr_meta_set_text(meta, SCR_META_FILE, rel);
    if (rc == SCR_OK && meta->arena->lost)
        rc = scr_no_memory(err);
    free(rel);
    free(normal);
    return rc;
}

/* Enters a file of the filemap: into files, and with its name into current. */
static int take_file(struct scr_redset *r, struct scr_file *from, struct scr_err *err)
{
    const char *path = from->item.name;
    struct scr_member_file *f = &r->files[r->nfiles];
    f->path = (char *)path; /* the filemap's, see scr_redset_fini */
    TRY(scr_current_lend(r->current, from) == SCR_OK ? SCR_OK : scr_no_memory(err));
    scr_meta *meta = scr_file_meta(from);
    if (scr_meta_get_filesize(meta, &f->size) != SCR_OK)
        return scr_fail(err, SCR_E_ARG, 0, "protect %s: its size is not recorded",
                        path);
    return name_file(r, path, meta, err);
}

/* Fills files and current of r. */
static int take_files(struct scr_redset *r, const scr_filemap *map, struct scr_err *err)
{
    int me = r->p->world->rank, rc = SCR_OK;
    r->files =
        scr_calloc((size_t)scr_filemap_num_files(map, r->id, me), sizeof *r->files);
    r->current = scr_current_new(me, NULL, NULL);
    TRY(r->files && r->current ? SCR_OK : scr_no_memory(err));
    for (struct scr_file *f = scr_filemap_first_file(map, r->id, me); f && rc == SCR_OK;
         f = scr_file_next(f)) {
        enum scr_scheme s;
        /* Redundancy files have the name of their scheme as type; everything else is
         * protected. */
        if (scr_scheme_parse(scr_meta_text(scr_file_meta(f), SCR_META_TYPE), &s))
            continue;
        rc = take_file(r, f, err);
        r->nfiles++;
    }
    return rc;
}

/* Without CRCs no places are kept for them: they would read as checksums that are
 * wrong. */
static int describe(struct scr_redset *r, const struct scr_protection *d,
                    struct scr_err *err)
{
    struct scr_current *c = r->current;
    r->g.scheme = d->scheme;
    r->g.k = d->k;
    scr_geom_weaken(&r->g.scheme, &r->g.k, r->set->n);
    c->desc = scr_redset_desc(r, d->desc);
    c->dset = scr_hash_dup(d->dset);
    if (c->desc == NULL || (c->dset == NULL && d->dset != NULL))
        return scr_no_memory(err);
    for (size_t i = 0; i < c->n; i++)
        scr_meta_unset_crc32(&c->file[i]->meta);
    if (r->p->crc)
        scr_current_reserve_crcs(c);
    return SCR_OK;
}

/* --- the encode --- */

/* The header's place stays empty, or blank in a spare, until its CRCs are known: a file
 * without a valid header is none, so a death in here leaves nothing that looks
 * complete. */
static int start_redfile(struct scr_redset *r, const char *dset_dir,
                         struct scr_err *err)
{
    r->redpath = scr_redset_path(r, dset_dir);
    TRY(r->redpath ? SCR_OK : scr_no_memory(err));
    int rc = scr_spare_take(r->p->env, dset_dir, r->p->world->rank, r->redpath, NULL);
    if (rc != SCR_OK)
        rc = scr_file_remove(r->p->env->sys, r->redpath, err);
    return rc == SCR_OK ? scr_redset_header_size(r, &r->header_bytes, err) : rc;
}

/* Collective over the set; the code is the member's own. The CRCs are known after the
 * encode: then the header is written. */
static int encode_all(struct scr_redset *r, const char *dset_dir,
                      struct scr_stripe_stats *stats, struct scr_err *err)
{
    int have[SCR_EC_MAX]; /* before the encode there are data, no parity */
    for (int i = 0; i < r->set->n; i++)
        have[i] = SCR_HAVE_DATA;
    int rc = start_redfile(r, dset_dir, err);
    struct scr_redset_run run = { .have = have,
                                  .flags = SCR_MEMBER_READ_DATA |
                                           SCR_MEMBER_SIZES_SEEN |
                                           SCR_MEMBER_WRITE_PARITY,
                                  .files = r->files,
                                  .redpath = r->redpath,
                                  .want_crc = r->p->crc };
    rc = scr_redset_run_all(r, &run, rc, err);
    *stats = run.stats;
    if (rc == SCR_OK && r->p->crc)
        scr_current_set_crcs(r->current, r->files, run.parity_crc);
    if (rc == SCR_OK)
        rc = scr_redset_write_header_all(r, have, r->redpath, rc, err);
    return rc;
}

int scr_protect_all(const struct scr_protect *p, struct scr_protection *d, int rc,
                    struct scr_err *err)
{
    struct scr_redset r = SCR_REDSET_INIT;
    int rc1 =
        scr_redset_init(&r, p, d->set, d->id, d->dset_dir, rc == SCR_OK ? err : NULL);
    r.encoding = 1;
    rc = scr_first(rc, rc1);
    if (rc == SCR_OK)
        rc = take_files(&r, d->map, err);
    if (rc == SCR_OK)
        rc = describe(&r, d, err);
    rc = scr_redset_geom_all(&r, d->scheme, d->k, rc, err);
    if (rc == SCR_OK)
        rc = encode_all(&r, d->dset_dir, &d->stats, err);
    for (int i = 0; i < r.g.n; i++)
        d->longest = r.g.len[i] > d->longest ? r.g.len[i] : d->longest;
    if (rc == SCR_OK)
        rc = scr_redset_enter(&r, d->map, err);
    for (size_t i = 0; rc != SCR_OK && r.current != NULL && i < r.current->n; i++)
        scr_meta_unset_crc32(scr_file_meta(r.current->file[i]));
    scr_redset_fini(&r);
    return rc;
}
