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

void scr_faults_fini(struct scr_faults *f)
{
    free(f->first);
    *f = (struct scr_faults)SCR_FAULTS_INIT;
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
        scr_faults_add(f, "rank %d: %s", rank, why.text);
    else if (!S_ISREG(st.st_mode))
        scr_faults_add(f, "rank %d: %s is not a regular file", rank, path);
    else if (has_size && (uint64_t)st.st_size != size)
        scr_faults_add(f, "rank %d: %s has %lld bytes, %llu are recorded", rank, path,
                       (long long)st.st_size, (unsigned long long)size);
    else if (!with_crc || !scr_hash_get_val_crc(meta, "CRC", &recorded))
        return;
    else if (scr_file_crc32(env, path, 0, &read_size, &crc, &why) != SCR_OK)
        scr_faults_add(f, "rank %d: %s", rank, why.text);
    else if (crc != recorded)
        scr_faults_add(f, "rank %d: %s has the CRC32 0x%08x, 0x%08x is recorded", rank,
                       path, (unsigned)crc, (unsigned)recorded);
}

static void check_rank(const struct scr_env *env, const char *prefix,
                       const scr_hash *files, int rank, int with_crc,
                       struct scr_faults *f, uint64_t *nfiles)
{
    for (SCR_HASH_EACH(e, files)) {
        char *path = scr_path_join(prefix, scr_hash_elem_key(e));
        if (path != NULL)
            check_file(env, path, scr_hash_elem_hash(e), with_crc, rank, f);
        else
            scr_faults_add(f, "rank %d: out of memory", rank);
        free(path);
        ++*nfiles;
    }
}

void scr_faults_check(const struct scr_env *env, const char *prefix,
                      const scr_hash *part, const char *trusted, struct scr_faults *f,
                      uint64_t *files)
{
    int ranks = 0;
    if (!scr_hash_get_val_int(part, "RANKS", &ranks))
        scr_faults_add(f, "the number of ranks is not recorded");
    for (int r = 0; r < ranks; r++) {
        const scr_hash *rank = scr_hash_get_kv_int(part, "RANK", r);
        if (rank == NULL)
            scr_faults_add(f, "rank %d: nothing is known of its files", r);
        else
            check_rank(env, prefix, scr_hash_get(rank, "FILE"), r,
                       trusted == NULL || !trusted[r], f, files);
    }
}
