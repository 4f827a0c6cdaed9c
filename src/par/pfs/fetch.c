/* SPDX-License-Identifier: BSD-3-Clause */
/* Fetch: prefix directory to cache. */
#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "base/units.h"
#include "par/comm/turns.h"
#include "par/pfs/flush.h"
#include "par/pfs/plain.h"
#include "par/pfs/rank2file_all.h"
#include "xfer/stored.h"

struct fetched {
    const struct scr_listed *is;
    const char *rel; /* its name below rank.<r> */
};

struct fetch {
    struct scr_prefix_dset at;
    const struct scr_copy_opts *o;
    const struct scr_fetch_to *to;
    struct scr_rank2file *list; /* of this rank's files */
    struct fetched *file;       /* those */
    size_t n;
    struct scr_table names; /* those in cache */
    int announced;          /* code of the step before they are copied */
};

/* --- names in cache --- */

static int is_reserved(const char *base)
{
    return base[strspn(base, "0123456789")] == '\0' || scr_copy_is_tmp(base);
}

char *scr_cache_name(const char *dest, int (*taken)(void *arg, const char *rel),
                     void *arg)
{
    const char *base = scr_path_base(dest);
    char *rel = NULL;
    if (!is_reserved(base) && !taken(arg, base))
        return scr_strdup(base);
    for (unsigned n = 1; n != 0; n++) {
        free(rel);
        rel = scr_asprintf("%u/%s", n, base);
        if (rel == NULL || !taken(arg, rel))
            break;
    }
    return rel;
}

static int is_taken(void *arg, const char *rel)
{
    return scr_table_find(arg, rel) != NULL;
}

/* Chooses a name for every file. */
static int choose_names(struct fetch *f, struct scr_err *err)
{
    for (size_t i = 0; i < f->n; i++) {
        char *rel = scr_cache_name(f->file[i].is->item.name, is_taken, &f->names);
        const struct scr_item *name = scr_table_add(&f->names, rel);
        free(rel);
        TRY(name ? SCR_OK : scr_no_memory(err));
        f->file[i].rel = name->name;
    }
    return SCR_OK;
}

static char *cache_path(const struct fetch *f, const char *rel)
{
    return scr_asprintf("%s/rank.%d/%s", f->to->dset_dir, f->at.world->rank, rel);
}

/* --- one file --- */

/* The record of the file before it exists: enough to name it, not enough to use it. */
static int announce_file(struct fetch *f, const struct fetched *file,
                         struct scr_err *err)
{
    const struct scr_listed *is = file->is;
    scr_meta *meta = scr_meta_new();
    char *path = cache_path(f, file->rel);
    char *full = scr_path_join(f->at.prefix->path, is->item.name);
    int rc = meta && path && full ? SCR_OK : scr_no_memory(err);
    scr_meta_set(meta, file->rel, "FULL", is->size,
                 (struct scr_meta_of){ f->at.id, f->at.world->rank, f->at.world->size },
                 0);
    if (is->has_crc)
        scr_meta_set_crc32(meta, is->crc);
    scr_meta_set_text(meta, SCR_META_ASKED, is->asked);
    if (is->is_shared)
        scr_meta_set_shared(meta);
    scr_meta_set_text(meta, SCR_META_ORIG, full);
    scr_meta_set_dest(meta, is->item.name);
    if (rc == SCR_OK)
        scr_filemap_set_meta(f->to->map, f->at.id, f->at.world->rank, path, meta);
    free(full);
    free(path);
    scr_meta_delete(meta);
    return rc;
}

static int announce(struct fetch *f, const scr_hash *dset, struct scr_err *err)
{
    int rank = f->at.world->rank, rc = choose_names(f, err);
    scr_filemap_add_rank(f->to->map, f->at.id, rank);
    scr_filemap_set_dataset(f->to->map, f->at.id, rank, dset);
    for (size_t i = 0; i < f->n && rc == SCR_OK; i++)
        rc = announce_file(f, &f->file[i], err);
    if (rc == SCR_OK && f->to->cntl != NULL)
        rc = scr_cntl_write(f->at.env, f->to->cntl, f->to->map, err);
    return rc;
}

static int make_dir(const struct fetch *f, const char *rel, struct scr_err *err)
{
    if (strchr(rel, '/') == NULL)
        return SCR_OK; /* rank.<r> itself, the caller's */
    char *below =
        scr_asprintf("rank.%d/%.*s", f->at.world->rank, (int)strcspn(rel, "/"), rel);
    int rc =
        below ? scr_dir_make_private(f->at.env->sys, f->to->dset_dir, below, 0700, err)
              : scr_no_memory(err);
    free(below);
    return rc;
}

/* The error of the copy, as a fault of the dataset if it is one. */
static int dataset_code(const struct fetch *f, const char *src, int rc)
{
    if (rc == SCR_E_UNSAFE)
        return SCR_E_CORRUPT;
    if (rc == SCR_E_NOENT && !scr_file_is_there(f->at.env->sys, src))
        return SCR_E_MISSING;
    return rc;
}

/* Under its own name: the record says that it is not complete. */
static int copy_file(struct fetch *f, const char *path, const struct scr_listed *is,
                     struct scr_copied *got, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    char *src = NULL;
    struct scr_copy job = { .dst = path,
                            .tmp = path,
                            .buf = f->o->buf,
                            .want_crc = f->o->crc,
                            .mode_or = S_IRUSR | S_IWUSR };
    int rc = scr_stored_job(f->at.prefix->path, is, &src, &job, err);
    if (rc == SCR_OK && is->is_incomplete)
        rc = scr_fail(err, SCR_E_CORRUPT, 0, "fetch %s: recorded as incomplete",
                      job.src);
    if (rc == SCR_OK && (rc = scr_copy_file(f->at.env->sys, &job, got, &why)) != SCR_OK)
        rc = scr_err_take(err, dataset_code(f, job.src, rc), &why);
    free(src);
    return rc;
}

/* Copies one file and completes its entry. */
static int fetch_file(struct fetch *f, const struct fetched *file, struct scr_err *err)
{
    struct scr_copied got;
    char *path = cache_path(f, file->rel);
    int rc;
    TRY_OUT(path ? make_dir(f, file->rel, err) : scr_no_memory(err));
    TRY_OUT(copy_file(f, path, file->is, &got, err));
    scr_meta *meta =
        scr_filemap_get_meta(f->to->map, f->at.id, f->at.world->rank, path);
    scr_meta_set_filesize(meta, got.size);
    scr_meta_set_stat(meta, &got.st);
    scr_meta_set_number(meta, SCR_META_COMPLETE, 1);
    if (f->o->crc)
        scr_meta_set_crc32(meta, got.crc);
out:
    free(path);
    return rc;
}

static int fetch_files(void *arg, struct scr_err *err)
{
    struct fetch *f = arg;
    TRY(f->announced);
    for (size_t i = 0; i < f->n; i++)
        TRY(fetch_file(f, &f->file[i], err));
    return SCR_OK;
}

static int take_turns_all(struct fetch *f, scr_turn_work work, struct scr_err *err)
{
    return scr_take_turns_all(f->at.world, f->o->width, f->n > 0, work, f, err);
}

/* --- the record --- */

static int read_summary(const struct fetch *f, scr_hash *dset, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int complete = 0;
    int rc = scr_prefix_summary_read(f->at.env, f->at.prefix, f->at.id, &complete, dset,
                                     &why);
    if (rc == SCR_E_NOENT)
        rc = SCR_E_MISSING;
    TRY(scr_err_take(err, rc, &why));
    if (!complete)
        return scr_fail(err, SCR_E_CORRUPT, 0,
                        "dataset %d: its summary says incomplete", f->at.id);
    return SCR_OK;
}

/* The dataset hash from its summary, on all ranks. The code is each rank's own. */
static int learn_dataset_all(const struct fetch *f, int rc, scr_hash *dset,
                             struct scr_err *err)
{
    if (rc == SCR_OK && f->at.world->rank == 0)
        rc = read_summary(f, dset, err);
    return scr_hash_bcast_all(f->at.world, 0, rc, dset, err);
}

/* Agrees; a list that lost files must not pass for a dataset that has fewer. */
static int check_count_all(const struct fetch *f, int rc, const scr_hash *dset,
                           size_t mine, struct scr_err *err)
{
    uint64_t want = 0;
    struct scr_vote v = { .sum = { mine } };
    rc = scr_vote_all(f->at.world, rc, &v, err);
    if (rc != SCR_OK || !scr_hash_get_val_u64(dset, "FILES", &want) || want == v.sum[0])
        return rc;
    return scr_fail(err, SCR_E_CORRUPT, 0,
                    "dataset %d: its list names %llu file%s, its summary %llu",
                    f->at.id, (unsigned long long)v.sum[0],
                    scr_plural((int64_t)v.sum[0]), (unsigned long long)want);
}

static int list_mine(struct fetch *f, struct scr_err *err)
{
    const struct scr_rank_files *mine = scr_rank2file_rank(f->list, f->at.world->rank);
    f->file = scr_calloc(mine ? mine->files.n : 0, sizeof *f->file);
    TRY(f->file ? SCR_OK : scr_no_memory(err));
    if (mine != NULL)
        for (SCR_EACH(struct scr_listed, e, &mine->files))
            f->file[f->n++].is = e;
    return SCR_OK;
}

static int learn_all(struct fetch *f, int rc, scr_hash *dset, struct scr_err *err)
{
    rc = learn_dataset_all(f, rc, dset, err);
    rc = scr_rank2file_read_all(&f->at, rc, f->list, err);
    if (rc == SCR_OK)
        rc = list_mine(f, err);
    return check_count_all(f, rc, dset, f->n, err);
}

int scr_fetch_all(const struct scr_prefix_dset *at, const struct scr_copy_opts *o,
                  const struct scr_fetch_to *to, int rc, scr_hash *dset,
                  struct scr_err *err)
{
    struct scr_rank2file list = { 0 };
    struct fetch f = { .at = *at,
                       .o = o,
                       .to = to,
                       .list = &list,
                       .names = SCR_TABLE_OF(struct scr_item) };
    rc = learn_all(&f, rc, dset, err);
    if (rc == SCR_OK) {
        f.announced = announce(&f, dset, err);
        rc = scr_first(f.announced, take_turns_all(&f, fetch_files, err));
        if (rc == SCR_OK) { /* all files are there */
            scr_filemap_set_expected_files(to->map, at->id, at->world->rank, (int)f.n);
            rc = scr_filemap_ok(to->map) ? SCR_OK : scr_no_memory(err);
        }
        rc = scr_agree_all(at->world, rc, err);
    }
    scr_rank2file_fini(&list);
    scr_table_fini(&f.names);
    free(f.file);
    return rc;
}

/* --- in place --- */

/* The file is there and as recorded, deep: to the last byte. */
static int verify_there(const struct fetch *f, const struct scr_listed *is, int deep,
                        struct scr_err *err)
{
    TRY(scr_plain_check(f->at.env, f->at.prefix, is, deep, err));
    if (is->is_incomplete)
        return scr_fail(err, SCR_E_CORRUPT, 0, "%s: recorded as incomplete",
                        is->item.name);
    return SCR_OK;
}

static int verify_files(void *arg, struct scr_err *err)
{
    struct fetch *f = arg;
    for (size_t i = 0; i < f->n; i++) {
        const struct scr_listed *is = f->file[i].is;
        /* A compressed one is read where it is unpacked. */
        TRY(is->is_packed ? scr_plain_make(f->at.env, f->at.prefix, f->at.id,
                                           f->at.world->rank, is, err)
                          : verify_there(f, is, f->o->crc, err));
    }
    return SCR_OK;
}

int scr_fetch_in_place_all(const struct scr_prefix_dset *at,
                           const struct scr_copy_opts *o, struct scr_rank2file *files,
                           scr_hash *dset, struct scr_err *err)
{
    struct fetch f = { .at = *at, .o = o, .list = files };
    int rc = learn_all(&f, SCR_OK, dset, err);
    if (rc == SCR_OK) {
        rc = take_turns_all(&f, verify_files, err);
        rc = scr_agree_all(at->world, rc, err);
        /* Of a dataset that is not read after all nothing stays. */
        for (size_t i = 0; i < f.n && rc != SCR_OK; i++)
            if (f.file[i].is->is_packed)
                scr_plain_remove(at->env, at->prefix, at->id, f.file[i].is->item.name);
    }
    free(f.file);
    return rc;
}

static int check_share(const struct fetch *f, size_t *files, struct scr_err *err)
{
    for (SCR_LISTED(e, f->list)) {
        TRY(verify_there(f, e, 0, err));
        ++*files;
    }
    return SCR_OK;
}

int scr_fetch_look_all(const struct scr_prefix_dset *at, scr_hash *dset,
                       struct scr_rank2file *share, struct scr_err *err)
{
    const struct fetch f = { .at = *at, .list = share };
    size_t files = 0;
    int rc = learn_dataset_all(&f, SCR_OK, dset, err);
    rc = scr_rank2file_share_all(at, rc, share, err);
    if (rc == SCR_OK)
        rc = check_share(&f, &files, err);
    return check_count_all(&f, rc, dset, files, err);
}
