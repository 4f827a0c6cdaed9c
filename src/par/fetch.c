/* SPDX-License-Identifier: BSD-3-Clause */
/* Fetch: prefix directory to cache. */
#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "fmt/dataset.h"
#include "fmt/state.h"
#include "par/flush.h"
#include "par/plain.h"
#include "par/rank2file.h"
#include "par/turns.h"
#include "xfer/stored.h"

struct fetch {
    const struct scr_env *env;
    const struct scr_comm *world;
    const struct scr_prefix *prefix;
    const struct scr_copy_opts *o;
    int id;
    const char *dset_dir;
    scr_filemap *map;
    scr_hash *files; /* FILE/<path below the prefix>/{SIZE, CRC} of this rank */
    scr_hash *names; /* {<path below the prefix>: {<name below rank.<r>>}} */
    char *tmp;       /* name of the file being copied */
    uint64_t bytes;  /* this rank's */
};

static int no_memory(const struct fetch *f, struct scr_err *err)
{
    return scr_fail(err, SCR_E_NOMEM, 0, "fetch of dataset %d: out of memory", f->id);
}

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
    return scr_hash_get(arg, rel) != NULL;
}

/* Chooses a name for every file. */
static int choose_names(struct fetch *f, struct scr_err *err)
{
    scr_hash *taken = scr_hash_new();
    int rc = taken ? SCR_OK : no_memory(f, err);
    for (SCR_HASH_EACH(e, scr_hash_get(f->files, "FILE"))) {
        const char *dest = scr_hash_elem_key(e);
        char *rel = rc == SCR_OK ? scr_cache_name(dest, is_taken, taken) : NULL;
        if (rc == SCR_OK && (rel == NULL || scr_hash_set(taken, rel, NULL) == NULL ||
                             scr_hash_set_val(f->names, dest, rel) == NULL))
            rc = no_memory(f, err);
        free(rel);
    }
    scr_hash_delete(taken);
    return rc;
}

static char *cache_path(const struct fetch *f, const char *rel)
{
    return scr_asprintf("%s/rank.%d/%s", f->dset_dir, f->world->rank, rel);
}

/* --- one file --- */

static int set_origin(const struct fetch *f, scr_meta *meta, const char *dest,
                      struct scr_err *err)
{
    char *dir = scr_path_dir(dest), *full = scr_path_join(f->prefix->path, dest);
    if (dir != NULL && full != NULL) {
        scr_meta_set_orig(meta, full);
        scr_meta_set_origpath(meta, dir);
        scr_meta_set_origname(meta, scr_path_base(dest));
    }
    int rc = dir && full ? SCR_OK : no_memory(f, err);
    free(full);
    free(dir);
    return rc;
}

/* What is known of the file before it is there: enough to name it, not to take it for
 * good. */
static int announce_file(struct fetch *f, const char *dest, const scr_hash *info,
                         struct scr_err *err)
{
    const char *rel = scr_hash_get_val(f->names, dest);
    uint64_t size = 0;
    uint32_t crc;
    scr_meta *meta = scr_meta_new();
    char *path = cache_path(f, rel);
    int rc = meta && path ? SCR_OK : no_memory(f, err);
    (void)scr_hash_get_val_u64(info, "SIZE", &size);
    scr_meta_set(meta, rel, "FULL", size, f->id, f->world->rank, f->world->size, 0);
    if (scr_hash_get_val_crc(info, "CRC", &crc))
        scr_meta_set_crc32(meta, crc);
    scr_meta_set_asked(meta, scr_hash_get_val(info, "ASKED"));
    if (scr_hash_get(info, "SHARED") != NULL)
        scr_meta_set_shared(meta);
    if (rc == SCR_OK)
        rc = set_origin(f, meta, dest, err);
    if (rc == SCR_OK)
        scr_filemap_set_meta(f->map, f->id, f->world->rank, path, meta);
    free(path);
    scr_meta_delete(meta);
    return rc;
}

static int announce(struct fetch *f, const scr_hash *dset, struct scr_err *err)
{
    int rank = f->world->rank, rc = choose_names(f, err);
    scr_filemap_add_rank(f->map, f->id, rank);
    scr_filemap_set_dataset(f->map, f->id, rank, dset);
    scr_filemap_add_file(f->map, f->id, rank, f->tmp);
    for (SCR_HASH_EACH(e, scr_hash_get(f->files, "FILE")))
        if (rc == SCR_OK)
            rc = announce_file(f, scr_hash_elem_key(e), scr_hash_elem_hash(e), err);
    if (rc == SCR_OK && f->o->cntl != NULL)
        rc = scr_cntl_write(f->env, f->o->cntl, f->map, err);
    return rc;
}

static int make_dir(const struct fetch *f, const char *rel, struct scr_err *err)
{
    if (strchr(rel, '/') == NULL)
        return SCR_OK; /* rank.<r> itself, the caller's */
    char *below =
        scr_asprintf("rank.%d/%.*s", f->world->rank, (int)strcspn(rel, "/"), rel);
    int rc = below ? scr_dir_make_private(f->env->sys, f->dset_dir, below, 0700, err)
                   : no_memory(f, err);
    free(below);
    return rc;
}

/* What the copy complains about, seen as a fault of the dataset where it is one. */
static int dataset_code(const struct fetch *f, const char *src, int rc)
{
    struct stat st;
    if (rc == SCR_E_UNSAFE)
        return SCR_E_CORRUPT;
    if (rc == SCR_E_NOENT && scr_file_stat(f->env->sys, src, &st, NULL) == SCR_E_NOENT)
        return SCR_E_MISSING;
    return rc;
}

static int copy_file(struct fetch *f, const char *dest, const char *path,
                     const scr_hash *info, struct scr_copied *got, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    struct scr_stored s = { 0 };
    int complete = 1;
    struct scr_copy job = { .dst = path,
                            .tmp = f->tmp,
                            .buf = f->o->buf,
                            .want_crc = f->o->crc,
                            .mode_or = S_IRUSR | S_IWUSR };
    int rc = scr_stored_job(f->prefix->path, dest, info, &s, &job, err);
    if (rc == SCR_OK && scr_hash_get_val_int(info, "COMPLETE", &complete) && !complete)
        rc = scr_fail(err, SCR_E_CORRUPT, 0, "fetch %s: recorded as incomplete",
                      job.src);
    if (rc == SCR_OK && (rc = scr_copy_file(f->env->sys, &job, got, &why)) != SCR_OK)
        rc = scr_fail(err, dataset_code(f, job.src, rc), 0, "%s", why.text);
    scr_stored_fini(&s);
    return rc;
}

/* Copies one file and completes its entry. */
static int fetch_file(struct fetch *f, const char *dest, const scr_hash *info,
                      struct scr_err *err)
{
    const char *rel = scr_hash_get_val(f->names, dest);
    struct scr_copied got;
    char *path = cache_path(f, rel);
    int rc = path ? make_dir(f, rel, err) : no_memory(f, err);
    if (rc == SCR_OK)
        rc = copy_file(f, dest, path, info, &got, err);
    if (rc == SCR_OK) {
        scr_meta *meta = scr_filemap_get_meta(f->map, f->id, f->world->rank, path);
        scr_meta_set_filesize(meta, got.size);
        scr_meta_set_stat(meta, &got.st);
        scr_meta_set_complete(meta, 1);
        if (f->o->crc)
            scr_meta_set_crc32(meta, got.crc);
        f->bytes += got.size;
    }
    free(path);
    return rc;
}

static int fetch_files(void *arg, struct scr_err *err)
{
    struct fetch *f = arg;
    int rc = SCR_OK;
    for (SCR_HASH_EACH(e, scr_hash_get(f->files, "FILE")))
        if (rc == SCR_OK)
            rc = fetch_file(f, scr_hash_elem_key(e), scr_hash_elem_hash(e), err);
    return rc;
}

static size_t count_files(const struct fetch *f)
{
    return scr_hash_size(scr_hash_get(f->files, "FILE"));
}

/* All files are there. */
static int enter_files(struct fetch *f, struct scr_err *err)
{
    int rank = f->world->rank;
    scr_filemap_remove_file(f->map, f->id, rank, f->tmp);
    scr_filemap_set_expected_files(f->map, f->id, rank, (int)count_files(f));
    return scr_filemap_ok(f->map) ? SCR_OK : no_memory(f, err);
}

static int in_turns_all(struct fetch *f, scr_turn_work work, struct scr_err *err)
{
    return scr_in_turns_all(f->world, f->o->width, count_files(f) > 0, work, f, err);
}

/* --- the record --- */

static int read_summary(const struct fetch *f, scr_hash *dset, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int complete = 0;
    int rc = scr_prefix_summary_read(f->env, f->prefix, f->id, &complete, dset, &why);
    if (rc == SCR_E_NOENT)
        rc = SCR_E_MISSING;
    if (rc != SCR_OK)
        return scr_fail(err, rc, 0, "%s", why.text);
    if (!complete)
        return scr_fail(err, SCR_E_CORRUPT, 0,
                        "dataset %d: its summary says incomplete", f->id);
    return SCR_OK;
}

/* The dataset hash from its summary, on all ranks. */
static int learn_dataset_all(const struct fetch *f, scr_hash *dset, struct scr_err *err)
{
    int rc = SCR_OK;
    if (f->world->rank == 0)
        rc = read_summary(f, dset, err);
    rc = scr_agree_all(f->world, rc, err);
    return rc == SCR_OK ? scr_agree_all(f->world,
                                        scr_hash_bcast_all(f->world, 0, dset, err), err)
                        : rc;
}

/* A list that lost files must not pass for a dataset that has fewer. */
static int check_count_all(const struct fetch *f, const scr_hash *dset, size_t mine,
                           struct scr_err *err)
{
    uint64_t want = 0, have = scr_sum_all(f->world, mine);
    if (!scr_hash_get_val_u64(dset, "FILES", &want) || want == have)
        return SCR_OK;
    return scr_fail(err, SCR_E_CORRUPT, 0,
                    "dataset %d: its list names %llu files, its summary %llu", f->id,
                    (unsigned long long)have, (unsigned long long)want);
}

static int learn_all(struct fetch *f, int rc, scr_hash *dset, struct scr_err *err)
{
    rc = scr_agree_all(f->world, rc, err);
    if (rc == SCR_OK)
        rc = learn_dataset_all(f, dset, err);
    if (rc == SCR_OK)
        rc = scr_rank2file_read_all(f->env, f->world, f->prefix, f->id, f->files, err);
    return rc == SCR_OK ? check_count_all(f, dset, count_files(f), err) : rc;
}

int scr_fetch_all(const struct scr_env *env, const struct scr_comm *world,
                  const struct scr_prefix *prefix, const struct scr_copy_opts *o,
                  int id, const char *dset_dir, scr_filemap *map, scr_hash *dset,
                  uint64_t *bytes, struct scr_err *err)
{
    struct fetch f = { .env = env,
                       .world = world,
                       .prefix = prefix,
                       .o = o,
                       .id = id,
                       .dset_dir = dset_dir,
                       .map = map };
    f.files = scr_hash_new();
    f.names = scr_hash_new();
    f.tmp = cache_path(&f, SCR_COPY_TMP);
    *bytes = 0;
    int rc = f.files && f.names && f.tmp ? SCR_OK : no_memory(&f, err);
    rc = learn_all(&f, rc, dset, err);
    if (rc == SCR_OK)
        rc = scr_agree_all(world, announce(&f, dset, err), err);
    if (rc == SCR_OK)
        rc = in_turns_all(&f, fetch_files, err);
    if (rc == SCR_OK)
        rc = scr_agree_all(world, enter_files(&f, err), err);
    if (rc == SCR_OK)
        *bytes = scr_sum_all(world, f.bytes);
    scr_hash_delete(f.files);
    scr_hash_delete(f.names);
    free(f.tmp);
    return rc;
}

/* --- in place --- */

/* The file at dest is there and as recorded, deep: to the last byte. */
static int verify_there(const struct fetch *f, const char *dest, const scr_hash *info,
                        int deep, struct scr_err *err)
{
    int complete = 1;
    int rc = scr_plain_check(f->env, f->prefix, dest, info, deep, err);
    if (rc == SCR_OK && scr_hash_get_val_int(info, "COMPLETE", &complete) && !complete)
        rc = scr_fail(err, SCR_E_CORRUPT, 0, "%s: recorded as incomplete", dest);
    return rc;
}

/* A compressed one is read where it is unpacked. */
static int prepare_there(const struct fetch *f, const char *dest, const scr_hash *info,
                         struct scr_err *err)
{
    return scr_rank2file_packed(info, NULL)
               ? scr_plain_make(f->env, f->prefix, f->id, f->world->rank, dest, info,
                                err)
               : verify_there(f, dest, info, f->o->crc, err);
}

/* Of a dataset that is not read after all nothing stays. */
static void forget_unpacked(const struct fetch *f)
{
    for (SCR_HASH_EACH(e, scr_hash_get(f->files, "FILE")))
        if (scr_rank2file_packed(scr_hash_elem_hash(e), NULL))
            scr_plain_remove(f->env, f->prefix, f->id, scr_hash_elem_key(e));
}

static int verify_files(void *arg, struct scr_err *err)
{
    struct fetch *f = arg;
    int rc = SCR_OK;
    for (SCR_HASH_EACH(e, scr_hash_get(f->files, "FILE"))) {
        const scr_hash *info = scr_hash_elem_hash(e);
        uint64_t size = 0;
        if (rc == SCR_OK)
            rc = prepare_there(f, scr_hash_elem_key(e), info, err);
        (void)scr_hash_get_val_u64(info, "SIZE", &size);
        f->bytes += size;
    }
    return rc;
}

int scr_fetch_in_place_all(const struct scr_env *env, const struct scr_comm *world,
                           const struct scr_prefix *prefix,
                           const struct scr_copy_opts *o, int id, scr_hash *files,
                           scr_hash *dset, uint64_t *bytes, struct scr_err *err)
{
    struct fetch f = {
        .env = env, .world = world, .prefix = prefix, .o = o, .id = id, .files = files
    };
    int rc = learn_all(&f, SCR_OK, dset, err);
    if (rc == SCR_OK && (rc = in_turns_all(&f, verify_files, err)) != SCR_OK)
        forget_unpacked(&f);
    *bytes = rc == SCR_OK ? scr_sum_all(world, f.bytes) : 0;
    return rc;
}

static int check_share(const struct fetch *f, const scr_hash *share, size_t *files,
                       struct scr_err *err)
{
    for (SCR_HASH_EACH(r, scr_hash_get(share, "RANK")))
        for (SCR_HASH_EACH(e, scr_hash_get(scr_hash_elem_hash(r), "FILE"))) {
            int rc =
                verify_there(f, scr_hash_elem_key(e), scr_hash_elem_hash(e), 0, err);
            if (rc != SCR_OK)
                return rc;
            ++*files;
        }
    return SCR_OK;
}

int scr_fetch_look_all(const struct scr_env *env, const struct scr_comm *world,
                       const struct scr_prefix *prefix, int id, scr_hash *dset,
                       int *ranks, scr_hash *share, struct scr_err *err)
{
    const struct fetch f = { .env = env, .world = world, .prefix = prefix, .id = id };
    size_t files = 0;
    int rc = learn_dataset_all(&f, dset, err);
    if (rc == SCR_OK)
        rc = scr_rank2file_share_all(env, world, prefix, id, ranks, share, err);
    if (rc == SCR_OK)
        rc = scr_agree_all(world, check_share(&f, share, &files, err), err);
    return rc == SCR_OK ? check_count_all(&f, dset, files, err) : rc;
}
