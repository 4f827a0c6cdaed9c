/* SPDX-License-Identifier: BSD-3-Clause */
/* One file from one place to another, whole or not at all. */
#include "xfer/copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "ec/ec.h"
#include "xfer/recode.h"

enum {
    SYNC_AHEAD = 8 << 20 /* written to the device at a time */
};

int scr_copy_is_tmp(const char *base)
{
    return strncmp(base, SCR_COPY_TMP, strlen(SCR_COPY_TMP)) == 0;
}

/* Short whatever dst is called, so that a name of the longest length can be copied
 * too. With 32 bits two of many names that one process holds would meet. */
char *scr_copy_tmp_stem(const char *dst)
{
    return scr_asprintf(SCR_COPY_TMP ".%016llx", (unsigned long long)scr_str_key(dst));
}

char *scr_copy_tmp(const char *dst, int tag)
{
    char *dir = scr_path_dir(dst), *stem = scr_copy_tmp_stem(dst);
    char *tmp = dir && stem ? scr_asprintf("%s/%s.%d", dir, stem, tag) : NULL;
    free(stem);
    free(dir);
    return tmp;
}

char *scr_copy_tmp_parse(const char *base, int *tag)
{
    const char *dot = strrchr(base, '.');
    if (!scr_copy_is_tmp(base) || dot == base || !scr_parse_int(dot + 1, tag))
        return NULL;
    return scr_asprintf("%.*s", (int)(dot - base), base);
}

/* Starts to write bytes to the device while the rest is copied: the last n bytes up to
 * `end`. A hint: what fails there, fsync says. */
static void sync_ahead(const struct scr_sys *sys, int out, uint64_t end, size_t n)
{
    uint64_t from = (end - n) / SYNC_AHEAD * SYNC_AHEAD;
    uint64_t to = end / SYNC_AHEAD * SYNC_AHEAD;
    if (to > from)
        (void)sys->sync_file_range(out, (off_t)from, (off_t)(to - from),
                                   SYNC_FILE_RANGE_WRITE);
}

/* n bytes that are in memory to out; counts and sums up on the way. */
static int put(const struct scr_stream *s, const void *bytes, size_t n,
               struct scr_err *err)
{
    const struct scr_copy *job = s->job;
    if (job->want_crc || job->crc != NULL)
        s->got->crc = scr_crc32(s->got->crc, bytes, n);
    s->got->size += n;
    TRY(s->out >= 0 ? scr_write_all(SCR_FD(s->sys, s->out, s->tmp), bytes, n, err)
                    : SCR_OK);
    if (s->out >= 0 && job->sync)
        sync_ahead(s->sys, s->out, s->got->size, n);
    if (job->pace != NULL)
        TRY(job->pace->step(job->pace->arg, n, err));
    return SCR_OK;
}

/* Copies in to out from byte got->size on, up to the end that the file has then: it may
 * have been cut or have grown since it was opened. If size and CRC are recorded,
 * reading ends at that size: the CRC shows whether these are the recorded bytes. */
static int pump(const struct scr_stream *s, struct scr_err *err)
{
    const struct scr_copy *job = s->job;
    int is_short = job->buf > 0 && job->buf < SCR_COPY_SLICE;
    size_t cap = is_short ? job->buf : SCR_COPY_SLICE, n = cap;
    uint64_t end = job->size != NULL && job->crc != NULL ? *job->size : UINT64_MAX;
    void *buf = malloc(cap);
    int rc;
    TRY_OUT(buf ? SCR_OK : scr_no_memory(err));
    while (n == cap && s->got->size < end) {
        size_t most = end - s->got->size < cap ? (size_t)(end - s->got->size) : cap;
        TRY_OUT(scr_pread_upto(SCR_FD(s->sys, s->in, job->src), buf, most,
                               (off_t)s->got->size, &n, err));
        TRY_OUT(put(s, buf, n, err));
    }
    rc = SCR_OK;
out:
    free(buf);
    return rc;
}

/* want: recorded, or what src had when it was opened. */
static int check_size(const struct scr_copy *job, uint64_t size, uint64_t want,
                      int recorded, struct scr_err *err)
{
    unsigned long long have = size, wanted = want;
    if (have == wanted)
        return SCR_OK;
    if (!recorded)
        return scr_fail(err, SCR_E_CORRUPT, 0, "copy %s: it changed while it was read",
                        job->src);
    return scr_fail(err, have < wanted ? SCR_E_MISSING : SCR_E_CORRUPT, 0,
                    "copy %s: it has %llu bytes, %llu were recorded", job->src, have,
                    wanted);
}

/* Nothing is written for a torn source. */
static int check_source(const struct scr_copy *job, const struct stat *st,
                        struct scr_err *err)
{
    const uint64_t *want = job->code == SCR_COPY_UNPACK ? job->stored_size : job->size;
    return want != NULL ? check_size(job, (uint64_t)st->st_size, *want, 1, err)
                        : SCR_OK;
}

static int check_crc(const struct scr_copy *job, const char *of, const uint32_t *want,
                     uint32_t crc, struct scr_err *err)
{
    if (want == NULL || *want == crc)
        return SCR_OK;
    return scr_fail(err, SCR_E_CORRUPT, 0,
                    "copy %s: %s CRC is 0x%08x, 0x%08x was recorded", job->src, of, crc,
                    *want);
}

static int check(const struct scr_copy *job, const struct scr_copied *got,
                 struct scr_err *err)
{
    int unpacked = job->code == SCR_COPY_UNPACK;
    uint64_t opened = (uint64_t)got->st.st_size;
    TRY(check_size(job, unpacked ? got->stored_size : got->size, opened,
                   !unpacked && job->size != NULL, err));
    if (job->size != NULL)
        TRY(check_size(job, got->size, *job->size, 1, err));
    if (unpacked)
        TRY(check_crc(job, "its", job->stored_crc, got->stored_crc, err));
    return check_crc(job, unpacked ? "unpacked, its" : "its", job->crc, got->crc, err);
}

/* Attributes last: writing changes the times. */
static int finish(const struct scr_stream *s, struct scr_err *err)
{
    struct stat attr = s->job->attr ? *s->job->attr : s->got->st;
    attr.st_mode |= s->job->mode_or;
    TRY(check(s->job, s->got, err));
    return scr_fd_set_attr(s->sys, s->out, &attr, s->tmp, err);
}

static int move(struct scr_stream *s, struct scr_err *err)
{
    if (s->job->code == SCR_COPY_UNPACK)
        return scr_recode_unpack(s, err);
    if (s->job->code == SCR_COPY_PACK)
        TRY(scr_recode_pack(s, err));
    return s->got->packed ? SCR_OK : pump(s, err);
}

/* A temporary left by an earlier attempt is in the way of O_EXCL, which keeps us from
 * writing through a link put there by others: it goes, and that is tried once more. */
static int open_tmp(const struct scr_sys *sys, struct scr_copy_open *file,
                    struct scr_err *err)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_open(sys, file->tmp, flags, 0600, &file->fd, &why);
    if (rc == SCR_OK || why.sys != EEXIST)
        return rc == SCR_OK ? rc : scr_fail(err, rc, why.sys, "open %s", file->tmp);
    TRY(scr_file_remove(sys, file->tmp, err));
    return scr_open(sys, file->tmp, flags, 0600, &file->fd, err);
}

int scr_copy_begin(const struct scr_sys *sys, const struct scr_copy *job,
                   struct scr_copy_open *file, struct scr_copied *got,
                   struct scr_err *err)
{
    struct scr_stream s = { .sys = sys, .job = job, .in = -1, .got = got };
    *got = (struct scr_copied){ 0 };
    file->fd = -1;
    file->tmp = job->tmp ? scr_strdup(job->tmp) : scr_copy_tmp(job->dst, job->tag);
    s.tmp = file->tmp;
    int rc;
    TRY_OUT(file->tmp ? SCR_OK : scr_no_memory(err));
    TRY_OUT(scr_open_regular(sys, job->src, 0, &s.in, &got->st, err));
    TRY_OUT(check_source(job, &got->st, err));
    TRY_OUT(open_tmp(sys, file, err));
    s.out = file->fd;
    TRY_OUT(move(&s, err));
    TRY_OUT(finish(&s, err));
out:
    scr_close(sys, &s.in, job->src, NULL); /* only read from */
    if (rc == SCR_OK)
        return rc;
    if (file->fd >= 0) {
        scr_copy_abandon(sys, file);
    } else { /* it was not made */
        free(file->tmp);
        file->tmp = NULL;
    }
    return rc;
}

int scr_copy_sync(const struct scr_sys *sys, const struct scr_copy *job,
                  struct scr_copy_open *file, struct scr_err *err)
{
    if (file->fd < 0)
        return SCR_OK;
    int rc = job->sync ? scr_fsync(sys, file->fd, file->tmp, err) : SCR_OK;
    rc = scr_first(rc, scr_close(sys, &file->fd, file->tmp, err));
    if (rc != SCR_OK)
        scr_copy_abandon(sys, file);
    return rc;
}

int scr_copy_commit(const struct scr_sys *sys, const struct scr_copy *job,
                    struct scr_copy_open *file, struct scr_err *err)
{
    int rc = scr_copy_sync(sys, job, file, err);
    if (rc != SCR_OK || file->tmp == NULL)
        return rc;
    if (strcmp(file->tmp, job->dst) != 0)
        rc = job->fresh ? scr_file_rename_new(sys, file->tmp, job->dst, err)
                        : scr_file_rename(sys, file->tmp, job->dst, err);
    if (rc != SCR_OK)
        scr_file_remove(sys, file->tmp,
                        NULL); /* the first error is the one to report */
    free(file->tmp);
    file->tmp = NULL;
    return rc;
}

void scr_copy_abandon(const struct scr_sys *sys, struct scr_copy_open *file)
{
    if (file->fd >= 0)
        scr_close(sys, &file->fd, file->tmp, NULL); /* thrown away */
    if (file->tmp != NULL)
        scr_file_remove(sys, file->tmp, NULL);
    free(file->tmp);
    file->tmp = NULL;
}

int scr_copy_file(const struct scr_sys *sys, const struct scr_copy *job,
                  struct scr_copied *got, struct scr_err *err)
{
    struct scr_copy_open file;
    TRY(scr_copy_begin(sys, job, &file, got, err));
    return scr_copy_commit(sys, job, &file, err);
}

int scr_copy_check(const struct scr_sys *sys, const struct scr_copy *job,
                   struct scr_copied *got, struct scr_err *err)
{
    struct scr_stream s = {
        .sys = sys, .job = job, .in = -1, .out = -1, .tmp = "", .got = got
    };
    *got = (struct scr_copied){ 0 };
    int rc;
    TRY_OUT(scr_open_regular(sys, job->src, 0, &s.in, &got->st, err));
    TRY_OUT(check_source(job, &got->st, err));
    TRY_OUT(move(&s, err));
    TRY_OUT(check(job, got, err));
out:
    scr_close(sys, &s.in, job->src, NULL); /* only read from */
    return rc;
}
