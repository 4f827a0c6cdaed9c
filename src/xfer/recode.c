/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes of a copy that is compressed, or unpacked, on its way. */
#include "xfer/recode.h"

#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "ec/ec.h"
#include "xfer/zst.h"

enum {
    BUF = 128 << 10,   /* bytes read at a time */
    BLOCK = 4096,      /* file systems store no less */
    LEAST_SAVED = 20,  /* one in so many bytes, or it is not worth while */
    LOOK_AT = 8 << 20, /* plain bytes that decide for a larger file */
};

static int stream_init(struct scr_stream *s, struct scr_err *err)
{
    s->buf = malloc(BUF);
    return s->buf != NULL ? SCR_OK : scr_no_memory(err);
}

/* Takes z over. */
static int stream_set(struct scr_stream *s, struct scr_zst *z,
                      const struct scr_err *err)
{
    s->z = z;
    return z != NULL ? SCR_OK : err != NULL ? err->code : SCR_E_NOMEM;
}

static void stream_fini(struct scr_stream *s)
{
    scr_zst_free(s->z);
    free(s->buf);
    s->z = NULL;
    s->buf = NULL;
}

static int step(const struct scr_stream *s, size_t n, struct scr_err *err)
{
    const struct scr_copy_pace *pace = s->job->pace;
    return pace != NULL ? pace->step(pace->arg, n, err) : SCR_OK;
}

static int put(const struct scr_stream *s, const void *buf, size_t n,
               struct scr_err *err)
{
    TRY(s->out >= 0 ? scr_write_all(SCR_FD(s->sys, s->out, s->tmp), buf, n, err)
                    : SCR_OK);
    return step(s, n, err);
}

/* --- into a frame --- */

static int put_packed(void *arg, const void *buf, size_t n, struct scr_err *err)
{
    struct scr_stream *s = arg;
    s->got->stored_crc = scr_crc32(s->got->stored_crc, buf, n);
    s->got->stored_size += n;
    return put(s, buf, n, err);
}

static int pack_some(struct scr_stream *s, size_t n, struct scr_err *err)
{
    s->got->crc = scr_crc32(s->got->crc, s->buf, n);
    s->got->size += n;
    return scr_zst_feed(s->z, s->buf, n, put_packed, s, err);
}

static int changed(const struct scr_stream *s, struct scr_err *err)
{
    return scr_fail(err, SCR_E_CORRUPT, 0, "copy %s: it changed while it was read",
                    s->job->src);
}

static int is_worth_it(uint64_t plain, uint64_t stored)
{
    return stored + BLOCK <= plain && stored <= plain - plain / LEAST_SAVED;
}

/* *worth: it is, as far as the file was read. */
static int pack_all(struct scr_stream *s, int *worth, struct scr_err *err)
{
    uint64_t size = (uint64_t)s->got->st.st_size;
    int looked = size <= LOOK_AT;
    for (size_t n = BUF; *worth && n == BUF;) {
        TRY(scr_read_upto(SCR_FD(s->sys, s->in, s->job->src), s->buf, BUF, &n, err));
        if (n > size - s->got->size)
            return changed(s, err);
        if (n > 0)
            TRY(pack_some(s, n, err));
        if (!looked && s->got->size >= LOOK_AT) {
            *worth = is_worth_it(s->got->size, s->got->stored_size);
            looked = 1;
        }
    }
    if (*worth && s->got->size < size)
        return changed(s, err);
    return *worth ? scr_zst_end(s->z, put_packed, s, err) : SCR_OK;
}

/* Both files from their beginning. */
static int start_over(struct scr_stream *s, struct scr_err *err)
{
    struct scr_copied *got = s->got;
    got->size = got->stored_size = 0;
    got->crc = got->stored_crc = 0;
    TRY(scr_rewind(s->sys, s->in, s->job->src, err));
    TRY(scr_rewind(s->sys, s->out, s->tmp, err));
    return scr_resize(s->sys, s->out, 0, s->tmp, err);
}

static int pack(struct scr_stream *s, struct scr_err *err)
{
    uint64_t size = (uint64_t)s->got->st.st_size;
    int worth = 1;
    TRY(stream_init(s, err));
    TRY(stream_set(s, scr_zst_packer(s->job->level, size, err), err));
    TRY(put_packed(s, scr_zst_mark, SCR_ZST_MARK_SIZE, err));
    TRY(pack_all(s, &worth, err));
    s->got->packed = worth && is_worth_it(size, s->got->stored_size);
    return s->got->packed ? SCR_OK : start_over(s, err);
}

int scr_recode_is_too_small(uint64_t size)
{
    return !is_worth_it(size, 0);
}

int scr_recode_pack(struct scr_stream *s, struct scr_err *err)
{
    if (scr_recode_is_too_small((uint64_t)s->got->st.st_size))
        return SCR_OK;
    int rc = pack(s, err);
    stream_fini(s);
    return rc;
}

int scr_recode_is_ours(const struct scr_sys *sys, const char *path)
{
    unsigned char begins[SCR_ZST_MARK_SIZE];
    int fd = -1;
    size_t n = 0;
    int rc;
    TRY_OUT(scr_open(sys, path, O_RDONLY | O_NOFOLLOW, 0, &fd, NULL));
    TRY_OUT(scr_read_upto(SCR_FD(sys, fd, path), begins, sizeof begins, &n, NULL));
out:
    scr_close(sys, &fd, path, NULL); /* only read from */
    return rc == SCR_OK && n == sizeof begins &&
           memcmp(begins, scr_zst_mark, sizeof begins) == 0;
}

/* --- out of a frame --- */

static int put_plain(void *arg, const void *buf, size_t n, struct scr_err *err)
{
    struct scr_stream *s = arg;
    const uint64_t *size = s->job->size;
    if (size != NULL && n > *size - s->got->size)
        return scr_fail(err, SCR_E_CORRUPT, 0,
                        "there are more than the %llu bytes recorded in it",
                        (unsigned long long)*size);
    s->got->crc = scr_crc32(s->got->crc, buf, n);
    s->got->size += n;
    return put(s, buf, n, err);
}

static int unpack_all(struct scr_stream *s, struct scr_err *err)
{
    size_t n = BUF;
    int rc = SCR_OK;
    while (rc == SCR_OK && n == BUF) {
        rc = scr_read_upto(SCR_FD(s->sys, s->in, s->job->src), s->buf, BUF, &n, err);
        if (rc != SCR_OK)
            break;
        s->got->stored_crc = scr_crc32(s->got->stored_crc, s->buf, n);
        s->got->stored_size += n;
        rc = scr_zst_feed(s->z, s->buf, n, put_plain, s, err);
    }
    return rc == SCR_OK ? scr_zst_end(s->z, put_plain, s, err) : rc;
}

int scr_recode_unpack(struct scr_stream *s, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc;
    TRY_OUT(stream_init(s, &why));
    TRY_OUT(stream_set(s, scr_zst_unpacker(&why), &why));
    TRY_OUT(unpack_all(s, &why));
out:
    stream_fini(s);
    return rc == SCR_OK ? rc
                        : scr_fail(err, rc, 0, "unpack %s: %s", s->job->src, why.text);
}
