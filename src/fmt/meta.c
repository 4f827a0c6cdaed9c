/* SPDX-License-Identifier: BSD-3-Clause */
/* Meta data of one file: typed access to a hash with well-known keys. */
#include "fmt/meta.h"

#include "base/hashfile.h"
#include "base/path.h"
#include "base/str.h"
#include <stdlib.h>
#include <string.h>

scr_meta *scr_meta_new(void)
{
    return scr_hash_new();
}

void scr_meta_delete(scr_meta *m)
{
    scr_hash_delete(m);
}

int scr_meta_copy(scr_meta *dst, const scr_meta *src)
{
    if (dst == src)
        return SCR_OK;
    scr_hash_unset_all(dst);
    return scr_hash_merge(dst, src);
}

/* --- set --- */

void scr_meta_set_complete(scr_meta *m, int complete)
{
    scr_hash_set_val_i64(m, "COMPLETE", complete);
}

void scr_meta_set_ranks(scr_meta *m, int ranks)
{
    scr_hash_set_val_i64(m, "RANKS", ranks);
}

void scr_meta_set_rank(scr_meta *m, int rank)
{
    scr_hash_set_val_i64(m, "RANK", rank);
}

void scr_meta_set_dataset(scr_meta *m, int dset)
{
    scr_hash_set_val_i64(m, "DSET", dset);
}

void scr_meta_set_filesize(scr_meta *m, uint64_t size)
{
    scr_hash_set_val_u64(m, "SIZE", size);
}

void scr_meta_set_filetype(scr_meta *m, const char *type)
{
    scr_hash_set_val(m, "TYPE", type);
}

void scr_meta_set_filename(scr_meta *m, const char *file)
{
    scr_hash_set_val(m, "FILE", file);
}

void scr_meta_set_orig(scr_meta *m, const char *orig)
{
    scr_hash_set_val(m, "ORIG", orig);
}

void scr_meta_set_origpath(scr_meta *m, const char *dir)
{
    scr_hash_set_val(m, "PATH", dir);
}

void scr_meta_set_origname(scr_meta *m, const char *name)
{
    scr_hash_set_val(m, "NAME", name);
}

void scr_meta_set_crc32(scr_meta *m, uint32_t crc)
{
    scr_hash_set_val_crc(m, "CRC", crc);
}

static void set_time(scr_meta *m, const char *secs, const char *nsecs,
                     const struct timespec *t)
{
    scr_hash_set_val_i64(m, secs, t->tv_sec);
    scr_hash_set_val_i64(m, nsecs, t->tv_nsec);
}

void scr_meta_set_stat(scr_meta *m, const struct stat *st)
{
    scr_hash_set_val_u64(m, "MODE", st->st_mode);
    scr_hash_set_val_u64(m, "UID", st->st_uid);
    scr_hash_set_val_u64(m, "GID", st->st_gid);
    set_time(m, "ATIME_SECS", "ATIME_NSECS", &st->st_atim);
    set_time(m, "CTIME_SECS", "CTIME_NSECS", &st->st_ctim);
    set_time(m, "MTIME_SECS", "MTIME_NSECS", &st->st_mtim);
}

void scr_meta_set(scr_meta *m, const char *file, const char *type, uint64_t size,
                  int dset, int rank, int ranks, int complete)
{
    scr_meta_set_filename(m, file);
    scr_meta_set_filetype(m, type);
    scr_meta_set_filesize(m, size);
    scr_meta_set_dataset(m, dset);
    scr_meta_set_rank(m, rank);
    scr_meta_set_ranks(m, ranks);
    scr_meta_set_complete(m, complete);
}

/* --- get --- */

static int get_int(const scr_meta *m, const char *key, int *out)
{
    return scr_hash_get_val_int(m, key, out) ? SCR_OK : SCR_E_NOENT;
}

static int get_str(const scr_meta *m, const char *key, const char **out)
{
    if (scr_hash_size(scr_hash_get(m, key)) != 1)
        return SCR_E_NOENT;
    *out = scr_hash_get_val(m, key);
    return SCR_OK;
}

int scr_meta_get_complete(const scr_meta *m, int *out)
{
    return get_int(m, "COMPLETE", out);
}

int scr_meta_get_ranks(const scr_meta *m, int *out)
{
    return get_int(m, "RANKS", out);
}

int scr_meta_get_rank(const scr_meta *m, int *out)
{
    return get_int(m, "RANK", out);
}

int scr_meta_get_dataset(const scr_meta *m, int *out)
{
    return get_int(m, "DSET", out);
}

int scr_meta_get_filesize(const scr_meta *m, uint64_t *out)
{
    return scr_hash_get_val_u64(m, "SIZE", out) ? SCR_OK : SCR_E_NOENT;
}

int scr_meta_get_filetype(const scr_meta *m, const char **out)
{
    return get_str(m, "TYPE", out);
}

int scr_meta_get_filename(const scr_meta *m, const char **out)
{
    return get_str(m, "FILE", out);
}

int scr_meta_get_orig(const scr_meta *m, const char **out)
{
    return get_str(m, "ORIG", out);
}

int scr_meta_get_origpath(const scr_meta *m, const char **out)
{
    return get_str(m, "PATH", out);
}

int scr_meta_get_origname(const scr_meta *m, const char **out)
{
    return get_str(m, "NAME", out);
}

int scr_meta_get_crc32(const scr_meta *m, uint32_t *out)
{
    return scr_hash_get_val_crc(m, "CRC", out) ? SCR_OK : SCR_E_NOENT;
}

/* A field of at most `max`, which keeps it inside its type; 1 if it was there. */
static int get_id(const scr_meta *m, const char *key, uint32_t max, uint32_t *out)
{
    uint64_t v;
    if (!scr_hash_get_val_u64(m, key, &v) || v > max)
        return 0;
    *out = (uint32_t)v;
    return 1;
}

/* Both halves or nothing; 1 if they were there. */
static int get_time(const scr_meta *m, const char *secs, const char *nsecs,
                    struct timespec *t)
{
    int64_t s, ns;
    if (!scr_hash_get_val_i64(m, secs, &s) || !scr_hash_get_val_i64(m, nsecs, &ns) ||
        ns < 0 || ns > 999999999)
        return 0;
    t->tv_sec = (time_t)s;
    t->tv_nsec = (long)ns;
    return 1;
}

int scr_meta_get_stat(const scr_meta *m, struct stat *out)
{
    uint32_t mode = out->st_mode, uid = out->st_uid, gid = out->st_gid;
    int found = get_id(m, "MODE", 0177777, &mode);
    found += get_id(m, "UID", UINT32_MAX, &uid);
    found += get_id(m, "GID", UINT32_MAX, &gid);
    found += get_time(m, "ATIME_SECS", "ATIME_NSECS", &out->st_atim);
    found += get_time(m, "CTIME_SECS", "CTIME_NSECS", &out->st_ctim);
    found += get_time(m, "MTIME_SECS", "MTIME_NSECS", &out->st_mtim);
    out->st_mode = mode;
    out->st_uid = uid;
    out->st_gid = gid;
    return found > 0 ? SCR_OK : SCR_E_NOENT;
}

static int get_dest(const scr_meta *m, const char **dir, const char **name)
{
    return scr_meta_get_origpath(m, dir) == SCR_OK &&
           scr_meta_get_origname(m, name) == SCR_OK &&
           (strcmp(*dir, ".") == 0 || scr_path_is_safe(*dir)) &&
           strchr(*name, '/') == NULL && scr_path_is_safe(*name);
}

int scr_meta_has_dest(const scr_meta *m)
{
    const char *dir, *name;
    return get_dest(m, &dir, &name);
}

char *scr_meta_dest(const scr_meta *m)
{
    const char *dir, *name;
    return get_dest(m, &dir, &name) ? scr_path_join(dir, name) : NULL;
}

/* --- check --- */

static int check_int(const scr_meta *m, const char *key, int want)
{
    int v;
    return get_int(m, key, &v) == SCR_OK && v == want ? SCR_OK : SCR_E_FAILURE;
}

static int check_str(const scr_meta *m, const char *key, const char *want)
{
    const char *v;
    if (want == NULL || get_str(m, key, &v) != SCR_OK)
        return SCR_E_FAILURE;
    return strcmp(v, want) == 0 ? SCR_OK : SCR_E_FAILURE;
}

int scr_meta_check_ranks(const scr_meta *m, int ranks)
{
    return check_int(m, "RANKS", ranks);
}

int scr_meta_check_rank(const scr_meta *m, int rank)
{
    return check_int(m, "RANK", rank);
}

int scr_meta_check_dataset(const scr_meta *m, int dset)
{
    return check_int(m, "DSET", dset);
}

int scr_meta_check_filesize(const scr_meta *m, uint64_t size)
{
    uint64_t v;
    return scr_meta_get_filesize(m, &v) == SCR_OK && v == size ? SCR_OK : SCR_E_FAILURE;
}

int scr_meta_check_filetype(const scr_meta *m, const char *type)
{
    return check_str(m, "TYPE", type);
}

int scr_meta_check_filename(const scr_meta *m, const char *file)
{
    return check_str(m, "FILE", file);
}

int scr_meta_check_complete(const scr_meta *m)
{
    return check_int(m, "COMPLETE", 1);
}

/* --- files --- */

char *scr_meta_name(const char *file)
{
    return scr_asprintf("%s.scr", file);
}

int scr_meta_read(const struct scr_sys *sys, const char *file, scr_meta *m,
                  struct scr_err *err)
{
    char *path = scr_meta_name(file);
    if (path == NULL)
        return scr_fail(err, SCR_E_NOMEM, 0, "read meta data of %s: out of memory",
                        file);
    int rc = scr_hash_file_read(sys, path, m, err);
    free(path);
    return rc;
}

int scr_meta_write(const struct scr_sys *sys, const char *file, const scr_meta *m,
                   struct scr_err *err)
{
    char *path = scr_meta_name(file);
    if (path == NULL)
        return scr_fail(err, SCR_E_NOMEM, 0, "write meta data of %s: out of memory",
                        file);
    int rc = scr_hash_file_write(sys, path, m, SCR_VOLATILE, err);
    free(path);
    return rc;
}

int scr_meta_unlink(const struct scr_sys *sys, const char *file, struct scr_err *err)
{
    char *path = scr_meta_name(file);
    if (path == NULL)
        return scr_fail(err, SCR_E_NOMEM, 0, "remove meta data of %s: out of memory",
                        file);
    int rc = scr_file_remove(sys, path, err);
    free(path);
    return rc;
}
