/* SPDX-License-Identifier: BSD-3-Clause */
#include "helper_protect.h"

#include <stdlib.h>

#include "base/str.h"
#include "red/serial.h"

/* The data of a member while it is encoded. */
struct work {
    struct scr_current *current;
    struct scr_member_file *files;
    size_t nfiles;
    uint64_t header_bytes;
    struct scr_member *member;
};

struct job {
    const struct scr_env *env;
    const struct test_protect_set *set;
    const struct test_protect_part *parts;
    struct scr_geom g;
    struct work *w; /* set->n of them */
};

static int describe(struct job *job, struct scr_err *err)
{
    const struct test_protect_set *set = job->set;
    uint64_t len[SCR_EC_MAX] = { 0 };
    for (int i = 0; i < set->n; i++) {
        const struct test_protect_part *part = &job->parts[i];
        struct work *w = &job->w[i];
        int has_crc;
        w->current = scr_current_new(set->world_ranks[i], set->desc, set->dset);
        int rc = w->current != NULL ? SCR_OK : SCR_E_NOMEM;
        struct scr_shelf own = { .dir = "/c" };
        for (size_t f = 0; f < part->nfiles && rc == SCR_OK; f++)
            rc = scr_current_shelve(w->current, part->metas[f], &own);
        if (rc != SCR_OK)
            return scr_fail(err, rc, 0, "redundancy header of member %d", i);
        scr_current_reserve_crcs(w->current);
        rc = scr_redfile_files(w->current, part->dir, SCR_LAYOUT_CACHE, &w->files,
                               &has_crc, err);
        if (rc != SCR_OK)
            return rc;
        w->nfiles = w->current->n;
        for (size_t f = 0; f < w->nfiles; f++)
            len[i] += w->files[f].size;
    }
    return scr_geom_init(&job->g, set->scheme, set->n, set->k, len, err);
}

static int write_headers(struct job *job, struct scr_err *err)
{
    const struct test_protect_set *set = job->set;
    int rc = SCR_OK, n = set->n, copies = scr_redfile_copies(n, job->g.k);
    for (int i = 0; rc == SCR_OK && i < n; i++) {
        struct scr_redowner o = { &job->g, i, set->dset_id, set->world_size,
                                  set->world_ranks };
        struct scr_str header = SCR_STR_INIT, left[SCR_EC_MAX] = { SCR_STR_INIT };
        for (int j = 1; j <= copies; j++)
            scr_current_pack(&left[j - 1], job->w[(i + n - j) % n].current);
        scr_redfile_header(&header, &o, job->w[i].current, left, copies);
        rc = scr_redfile_write(job->env, job->parts[i].redpath, &header, err);
        job->w[i].header_bytes = header.len;
        for (int j = 1; j <= copies; j++)
            scr_str_free(&left[j - 1]);
        scr_str_free(&header);
    }
    return rc;
}

static int encode(struct job *job, struct scr_err *err)
{
    struct scr_member *members[SCR_EC_MAX];
    int have[SCR_EC_MAX];
    for (int i = 0; i < job->set->n; i++) {
        struct work *w = &job->w[i];
        const struct scr_member_def def = { .g = &job->g,
                                            .me = i,
                                            .flags = SCR_MEMBER_READ_DATA |
                                                     SCR_MEMBER_WRITE_PARITY,
                                            .files = w->files,
                                            .nfiles = w->nfiles,
                                            .redpath = job->parts[i].redpath,
                                            .header_bytes = w->header_bytes };
        int rc = scr_member_open(job->env, &def, &w->member, err);
        if (rc != SCR_OK)
            return rc;
        members[i] = w->member;
        have[i] = SCR_HAVE_DATA;
    }
    return scr_rows_run(&job->g, have, members, err);
}

static int note_crcs(struct job *job, struct scr_err *err)
{
    for (int i = 0; i < job->set->n; i++) {
        struct work *w = &job->w[i];
        uint32_t parity = 0;
        int rc = scr_member_finish(w->member, w->files, &parity, err);
        if (rc != SCR_OK)
            return rc;
        scr_current_set_crcs(w->current, w->files, parity);
    }
    return SCR_OK;
}

/* The CRCs do not change a header's size, so it is simply written again. */
static int protect(struct job *job, struct scr_err *err)
{
    int rc;
    if ((rc = describe(job, err)) != SCR_OK ||
        (rc = write_headers(job, err)) != SCR_OK || (rc = encode(job, err)) != SCR_OK ||
        (rc = note_crcs(job, err)) != SCR_OK)
        return rc;
    return write_headers(job, err);
}

int test_protect(const struct scr_env *env, const struct test_protect_set *set,
                 const struct test_protect_part *parts, struct scr_err *err)
{
    struct job job = { .env = env, .set = set, .parts = parts };
    if (set->n < 1 || set->n > SCR_EC_MAX)
        return scr_fail(err, SCR_E_RANGE, 0, "redundancy set of %d members", set->n);
    job.w = scr_calloc((size_t)set->n, sizeof *job.w);
    if (job.w == NULL)
        return scr_no_memory(err);
    int rc = protect(&job, err);
    for (int i = 0; i < set->n; i++) {
        int closed = scr_member_close(job.w[i].member, err);
        rc = rc != SCR_OK ? rc : closed;
        scr_member_files_free(job.w[i].files, job.w[i].nfiles);
        scr_current_delete(job.w[i].current);
    }
    free(job.w);
    return rc;
}
