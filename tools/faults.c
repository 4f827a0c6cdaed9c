/* SPDX-License-Identifier: BSD-3-Clause */
/* What is wrong with the files of a dataset. */
#include "faults.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "red/member.h"

void scr_faults_add(struct scr_faults *f, const char *fmt, ...)
{
    struct scr_str s = SCR_STR_INIT;
    if (f->n++ > 0)
        return;
    va_list ap;
    va_start(ap, fmt);
    scr_str_vprintf(&s, fmt, ap);
    va_end(ap);
    f->first = scr_str_take(&s);
}

void scr_faults_add_err(struct scr_faults *f, const struct scr_err *why)
{
    f->unknown += why->code == SCR_E_IO || why->code == SCR_E_FULL ||
                  why->code == SCR_E_NOMEM || why->code == SCR_E_LOCKED;
    scr_faults_add(f, "%s", why->text);
}

int scr_faults_real(const struct scr_faults *f)
{
    return f->n > f->unknown;
}

void scr_faults_fini(struct scr_faults *f)
{
    free(f->first);
    *f = (struct scr_faults)SCR_FAULTS_INIT;
}

static void add_of_rank(struct scr_faults *f, int rank, struct scr_err *why)
{
    scr_err_prefix(why, "rank %d", rank);
    scr_faults_add_err(f, why);
}

/* The file itself; meta holds what is recorded of it. */
static void check_file(const struct scr_env *env, const char *path,
                       const scr_hash *meta, int with_crc, int rank,
                       struct scr_faults *f)
{
    struct scr_err why = SCR_ERR_INIT;
    struct stat st;
    uint64_t size = 0, read_size;
    uint32_t crc, recorded;
    int has_size = scr_hash_get_val_u64(meta, "SIZE", &size); /* older writers: no */
    if (scr_file_stat(env->sys, path, &st, &why) != SCR_OK)
        add_of_rank(f, rank, &why);
    else if (!S_ISREG(st.st_mode))
        scr_faults_add(f, "rank %d: %s is not a regular file", rank, path);
    else if (has_size && (uint64_t)st.st_size != size)
        scr_faults_add(f, "rank %d: %s has %lld bytes, %llu are recorded", rank, path,
                       (long long)st.st_size, (unsigned long long)size);
    else if (!with_crc || !scr_hash_get_val_crc(meta, "CRC", &recorded))
        return;
    else if (scr_file_crc32(env, path, 0, &read_size, &crc, &why) != SCR_OK)
        add_of_rank(f, rank, &why);
    else if (crc != recorded)
        scr_faults_add(f, "rank %d: %s has the CRC32 0x%08x, 0x%08x is recorded", rank,
                       path, (unsigned)crc, (unsigned)recorded);
}

static void check_rank(const struct scr_env *env, const char *prefix,
                       const scr_hash *files, int rank, int with_crc,
                       struct scr_faults *f, uint64_t *nfiles)
{
    for (SCR_HASH_EACH(e, files)) {
        struct scr_err why = SCR_ERR_INIT;
        char *path = scr_path_join(prefix, scr_hash_elem_key(e));
        if (path != NULL) {
            check_file(env, path, scr_hash_elem_hash(e), with_crc, rank, f);
        } else {
            scr_fail(&why, SCR_E_NOMEM, 0, "out of memory");
            add_of_rank(f, rank, &why);
        }
        free(path);
        ++*nfiles;
    }
}

static void add_gap(struct scr_faults *f, int from, int to)
{
    if (from < to)
        scr_faults_add(f, "rank %d: nothing is known of its files", from);
}

/* Goes by the ranks that are listed: RANKS may be any number. */
static int check_ranks(const struct scr_env *env, const char *prefix,
                       const scr_hash *part, int ranks, const char *trusted,
                       struct scr_faults *f, uint64_t *files)
{
    const scr_hash *all = scr_hash_get(part, "RANK");
    int *rank, next = 0;
    size_t n;
    if (!scr_hash_list_int(all, &rank, &n))
        return SCR_E_NOMEM;
    for (size_t i = 0; i < n && rank[i] < ranks; i++) {
        add_gap(f, next, rank[i]);
        next = rank[i] + 1;
        check_rank(env, prefix,
                   scr_hash_get(scr_hash_get_kv_int(part, "RANK", rank[i]), "FILE"),
                   rank[i], trusted == NULL || !trusted[rank[i]], f, files);
    }
    add_gap(f, next, ranks);
    free(rank);
    return SCR_OK;
}

void scr_faults_check(const struct scr_env *env, const char *prefix,
                      const scr_hash *dset, const scr_hash *part, const char *trusted,
                      struct scr_faults *f, uint64_t *files)
{
    struct scr_err why = SCR_ERR_INIT;
    int ranks = 0;
    uint64_t recorded;
    if (!scr_hash_get_val_int(part, "RANKS", &ranks))
        scr_faults_add(f, "the number of ranks is not recorded");
    if (check_ranks(env, prefix, part, ranks, trusted, f, files) != SCR_OK) {
        scr_fail(&why, SCR_E_NOMEM, 0, "out of memory");
        scr_faults_add_err(f, &why);
    } else if (scr_hash_get_val_u64(dset, "FILES", &recorded) && recorded != *files) {
        scr_faults_add(f, "%llu files are listed, %llu are recorded",
                       (unsigned long long)*files, (unsigned long long)recorded);
    }
}
