/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults of the files of a dataset. */
#include "ops/faults.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "red/redfile.h"
#include "xfer/stored.h"
#include "xfer/zst.h"

void scr_faults_add(struct scr_faults *f, const char *fmt, ...)
{
    struct scr_str s = SCR_STR_INIT;
    if (f->n++ > 0 && f->tell == NULL)
        return;
    va_list ap;
    va_start(ap, fmt);
    scr_str_vprintf(&s, fmt, ap);
    va_end(ap);
    char *text = scr_str_take(&s);
    if (f->tell != NULL && text != NULL)
        f->tell(f->arg, text);
    if (f->first == NULL)
        f->first = text;
    else
        free(text);
}

void scr_faults_add_err(struct scr_faults *f, const struct scr_err *why)
{
    f->unknown += why->code == SCR_E_IO || why->code == SCR_E_FULL ||
                  why->code == SCR_E_NOMEM || why->code == SCR_E_LOCKED ||
                  why->code == SCR_E_OUTSIDE;
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

/* A compressed file is right if what comes out of it is. Its CRC is always recorded. */
static void check_packed(const struct scr_env *env, const char *path,
                         const struct scr_listed *is, int rank, struct scr_faults *f)
{
    struct scr_err why = SCR_ERR_INIT;
    const struct scr_copy_pace pace = { scr_progress_step, f->progress };
    struct scr_copy job = { .dst = "", .pace = &pace };
    char *src = NULL;
    struct scr_copied got;
    /* path is where it is stored */
    if (scr_stored_job("/", is, &src, &job, &why) == SCR_OK) {
        job.src = path;
        if (!scr_zst_have()) { /* then the stored bytes */
            job.code = SCR_COPY_PLAIN;
            job.size = job.stored_size;
            job.crc = job.stored_crc;
        }
        (void)scr_copy_check(env->sys, &job, &got, &why);
    }
    free(src);
    if (why.code != SCR_OK)
        add_of_rank(f, rank, &why);
}

void scr_faults_check_file(const struct scr_env *env, const char *path,
                           const struct scr_listed *is, int with_crc, int rank,
                           struct scr_faults *f)
{
    struct scr_err why = SCR_ERR_INIT;
    struct stat st;
    uint64_t size = is->is_packed ? is->packed.size : is->size;
    struct scr_file_sum sum = { .told = scr_progress_add, .arg = f->progress };
    f->unsummed += !is->has_crc && !is->is_packed;
    if (scr_file_stat(env->sys, path, &st, &why) != SCR_OK)
        add_of_rank(f, rank, &why);
    else if (!S_ISREG(st.st_mode))
        scr_faults_add(f, "rank %d: %s is not a regular file", rank, path);
    else if (is->has_size && (uint64_t)st.st_size != size)
        scr_faults_add(f, "rank %d: %s has %lld bytes, %llu are recorded%s", rank, path,
                       (long long)st.st_size, (unsigned long long)size,
                       scr_size_hint((uint64_t)st.st_size, size));
    else if (!with_crc || f->sizes_only || (!is->has_crc && !is->is_packed))
        return;
    else if (is->is_packed)
        check_packed(env, path, is, rank, f);
    else if (scr_file_sum(env, path, &sum, &why) != SCR_OK)
        add_of_rank(f, rank, &why);
    else if (sum.crc != is->crc)
        scr_faults_add(f, "rank %d: %s has the CRC32 0x%08x, 0x%08x is recorded", rank,
                       path, (unsigned)sum.crc, (unsigned)is->crc);
}

static void check_rank(const struct scr_env *env, const char *prefix,
                       const struct scr_rank_files *of, int with_crc,
                       struct scr_faults *f, uint64_t *nfiles)
{
    for (SCR_EACH(struct scr_listed, is, &of->files)) {
        struct scr_err why = SCR_ERR_INIT;
        char *rel = scr_listed_stored(is);
        char *path = rel ? scr_path_join(prefix, rel) : NULL;
        if (path != NULL) {
            scr_faults_check_file(env, path, is, with_crc, of->rank, f);
        } else {
            scr_no_memory(&why);
            add_of_rank(f, of->rank, &why);
        }
        free(path);
        free(rel);
        ++*nfiles;
    }
}

static void add_gap(struct scr_faults *f, int from, int to)
{
    if (from < to)
        scr_faults_add(f, "rank %d: nothing is known of its files", from);
}

void scr_faults_check(const struct scr_env *env, const char *prefix,
                      const scr_hash *dset, const struct scr_rank2file *list,
                      struct scr_faults *f, uint64_t *files)
{
    int next = 0;
    uint64_t recorded;
    if (list->ranks == 0)
        scr_faults_add(f, "the number of ranks is not recorded");
    /* By the ranks that are listed: there may be said to be any number. */
    for (size_t i = 0; i < list->n && list->of[i]->rank < list->ranks; i++) {
        const struct scr_rank_files *of = list->of[i];
        add_gap(f, next, of->rank);
        next = of->rank + 1;
        check_rank(env, prefix, of, f->trusted == NULL || !f->trusted[of->rank], f,
                   files);
    }
    add_gap(f, next, list->ranks);
    if (scr_hash_get_val_u64(dset, "FILES", &recorded) && recorded != *files)
        scr_faults_add(f, "%llu file%s listed, %llu are recorded",
                       (unsigned long long)*files, *files == 1 ? " is" : "s are",
                       (unsigned long long)recorded);
}

/* --- redundancy files --- */

/* The file may have been put in the place of another one. */
static int check_place(const struct scr_redinfo *info, const char *path, int id,
                       struct scr_err *err)
{
    enum scr_scheme scheme;
    int member, n, set_id;
    if (info->dset_id != id)
        return scr_fail(err, SCR_E_CORRUPT, 0, "%s belongs to dataset %d", path,
                        info->dset_id);
    if (!scr_redfile_parse(scr_path_base(path), &scheme, &member, &n, &set_id))
        return SCR_OK;
    if (info->set.scheme != scheme || info->set.member != member || info->set.n != n ||
        info->set.id != set_id)
        return scr_fail(err, SCR_E_CORRUPT, 0,
                        "%s is of member %d of the %d of %s set %d", path,
                        info->set.member + 1, info->set.n,
                        scr_scheme_name(info->set.scheme), info->set.id);
    return SCR_OK;
}

static int check_parity(const struct scr_env *env, const char *path, int id,
                        struct scr_faults *f, int *rank, struct scr_err *err)
{
    struct scr_file_sum sum = { .told = scr_progress_add, .arg = f->progress };
    uint32_t recorded = 0;
    int has_crc = 0;
    struct scr_redhead h;
    int rc = scr_redhead_read(env, path, &h, err);
    if (rc == SCR_OK)
        rc = check_place(&h.info, path, id, err);
    if (rc == SCR_OK) {
        *rank = h.info.set.world[h.info.set.member];
        sum.off = h.bytes;
        has_crc = h.current->has_chunk_crc;
        recorded = h.current->chunk_crc;
    }
    scr_redhead_fini(&h);
    if (rc != SCR_OK || !has_crc || f->sizes_only)
        return rc;
    TRY(scr_file_sum(env, path, &sum, err));
    if (sum.crc != recorded)
        return scr_fail(err, SCR_E_CORRUPT, 0,
                        "%s has parity of the CRC32 0x%08x, 0x%08x is recorded", path,
                        (unsigned)sum.crc, (unsigned)recorded);
    return SCR_OK;
}

void scr_faults_check_redfile(const struct scr_env *env, const char *path, int id,
                              struct scr_faults *f)
{
    struct scr_err why = SCR_ERR_INIT;
    int rank = -1;
    if (check_parity(env, path, id, f, &rank, &why) == SCR_OK)
        return;
    if (rank >= 0)
        add_of_rank(f, rank, &why);
    else
        scr_faults_add_err(f, &why);
}
