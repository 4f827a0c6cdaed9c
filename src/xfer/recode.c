/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes of a copy that is compressed, or unpacked, on its way. */
#include "xfer/recode.h"

#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/units.h"
#include "ec/ec.h"
#include "xfer/sample.h"
#include "xfer/zst.h"

enum {
    BUF = 128 << 10,         /* bytes read at a time */
    LEAST_WORTHWHILE = 4096, /* smaller files take a block whatever they hold */
    SAMPLED = 1 << 20,       /* smaller files are tried instead */
    TIMED = 8 << 20,         /* of smaller ones time is no matter */
    LINK_PART = 16,          /* this part of a file shows how fast the link is, */
    LINK_LEAST = 1 << 20,    /* no less */
    LINK_MOST = 4 << 20,     /* and no more */
    FIRST_LOOK = 8 << 20,    /* plain bytes packed after which it is asked again, */
    NEXT_LOOK = 64 << 20,    /* and again */
};

struct stream {
    const struct scr_sys *sys;
    const struct scr_copy *job;
    int in, out;
    const char *tmp;
    struct scr_copied *got;
    struct scr_zst *z;
    void *buf;
    struct scr_gauge known; /* from files before this one, and of the link */
};

static int stream_init(struct stream *s, struct scr_err *err)
{
    s->buf = malloc(BUF);
    return s->buf != NULL ? SCR_OK : scr_no_memory(err);
}

/* Takes z over. */
static int stream_set(struct stream *s, struct scr_zst *z, const struct scr_err *err)
{
    s->z = z;
    return z != NULL ? SCR_OK : err != NULL ? err->code : SCR_E_NOMEM;
}

static void stream_fini(struct stream *s)
{
    scr_zst_free(s->z);
    free(s->buf);
}

static int step(const struct stream *s, size_t n, struct scr_err *err)
{
    const struct scr_copy_pace *pace = s->job->pace;
    return pace != NULL ? pace->step(pace->arg, n, err) : SCR_OK;
}

static int put(const struct stream *s, const void *buf, size_t n, struct scr_err *err)
{
    TRY(s->out >= 0 ? scr_write_all(s->sys, s->out, buf, n, s->tmp, err) : SCR_OK);
    return step(s, n, err);
}

/* --- into a frame --- */

static int put_packed(void *arg, const void *buf, size_t n, struct scr_err *err)
{
    struct stream *s = arg;
    double start = scr_now_mono();
    int rc = put(s, buf, n, err);
    s->got->stored_crc = scr_crc32(s->got->stored_crc, buf, n);
    s->got->stored_size += n;
    s->got->link_secs += scr_now_mono() - start;
    return rc;
}

/* Packs n bytes of the buffer; n 0: the end. */
static int pack_some(struct stream *s, size_t n, struct scr_err *err)
{
    double start = scr_now_mono(), before = s->got->link_secs;
    int rc = n > 0 ? scr_zst_feed(s->z, s->buf, n, put_packed, s, err)
                   : scr_zst_end(s->z, put_packed, s, err);
    double secs = scr_now_mono() - start - (s->got->link_secs - before);
    s->got->pack_secs += secs;
    s->got->packing.secs += secs;
    s->got->packing.bytes += (double)n;
    s->got->crc = scr_crc32(s->got->crc, s->buf, n);
    s->got->size += n;
    return rc;
}

static int changed(const struct stream *s, struct scr_err *err)
{
    return scr_fail(err, SCR_E_CORRUPT, 0, "copy %s: it changed while it was read",
                    s->job->src);
}

/* By what is known from files before, and of this one so far. */
static int pays(const struct stream *s, uint64_t plain, uint64_t stored)
{
    struct scr_gauge g = s->known;
    scr_gauge_pack(&g, (uint64_t)s->got->packing.bytes, s->got->packing.secs);
    return scr_gauge_pays(&g, plain, stored);
}

static int pack_all(struct stream *s, int *worth, struct scr_err *err)
{
    uint64_t size = (uint64_t)s->got->st.st_size, next = FIRST_LOOK;
    size_t n = BUF;
    int rc = SCR_OK;
    while (*worth && n == BUF) {
        TRY_OUT(scr_read_upto(s->sys, s->in, s->buf, BUF, &n, s->job->src, err));
        if (n > size - s->got->size)
            TRY_OUT(changed(s, err));
        if (n > 0)
            TRY_OUT(pack_some(s, n, err));
        if (s->got->size >= next) {
            *worth = pays(s, s->got->size, s->got->stored_size);
            next += NEXT_LOOK;
        }
    }
    if (*worth && s->got->size < size)
        TRY_OUT(changed(s, err));
out:
    return rc == SCR_OK && *worth ? pack_some(s, 0, err) : rc;
}

/* Both files from their beginning, for another try. */
static int start_over(struct stream *s, struct scr_err *err)
{
    struct scr_copied *got = s->got;
    if (got->size == 0 && got->stored_size == 0)
        return SCR_OK;
    int rc;
    TRY_OUT(scr_rewind(s->sys, s->in, s->job->src, err));
    TRY_OUT(scr_rewind(s->sys, s->out, s->tmp, err));
    TRY_OUT(scr_resize(s->sys, s->out, 0, s->tmp, err));
out:
    got->size = got->stored_size = 0;
    got->crc = got->stored_crc = 0;
    return rc;
}

/* The time is spent; what is left to be asked is whether it was of any use. */
static int pack(struct stream *s, struct scr_err *err)
{
    const struct scr_gauge nothing = { 0 };
    struct scr_copied *got = s->got;
    uint64_t size = (uint64_t)got->st.st_size;
    int worth = 1;
    int rc;
    TRY_OUT(stream_set(s, scr_zst_packer(s->job->level, size, err), err));
    TRY_OUT(put_packed(s, scr_zst_mark, SCR_ZST_MARK_SIZE, err));
    TRY_OUT(pack_all(s, &worth, err));
out:
    got->packed =
        rc == SCR_OK && worth && scr_gauge_pays(&nothing, size, got->stored_size);
    if (rc != SCR_OK || got->packed)
        return rc;
    got->pack_secs += got->link_secs; /* in vain, too */
    return start_over(s, err);
}

/* --- before that: is it worth while? --- */

/* How fast the file system is shows only when it has to have the bytes. They are those
 * the file begins with as it is, so that they stay if it is not packed. */
static int measure_link(struct stream *s, struct scr_err *err)
{
    struct scr_copied *got = s->got;
    uint64_t most = (uint64_t)got->st.st_size / LINK_PART;
    most = most < LINK_LEAST ? LINK_LEAST : most < LINK_MOST ? most : LINK_MOST;
    double start = scr_now_mono();
    int rc = SCR_OK;
    while (rc == SCR_OK && got->size < most) {
        size_t n = 0;
        rc = scr_read_upto(s->sys, s->in, s->buf, BUF, &n, s->job->src, err);
        if (rc == SCR_OK && n < BUF)
            rc = changed(s, err);
        if (rc == SCR_OK)
            rc = put(s, s->buf, n, err);
        if (s->job->want_crc || s->job->crc != NULL)
            got->crc = scr_crc32(got->crc, s->buf, n);
        got->size += n;
    }
    if (rc == SCR_OK)
        rc = scr_fsync(s->sys, s->out, s->tmp, err);
    got->link = (struct scr_rate){ scr_now_mono() - start, (double)got->size };
    scr_gauge_link(&s->known, got->size, got->link.secs);
    return rc;
}

/* A few pieces tell what packing saves, and how long it takes. That is compared with
 * the link, which has to be measured if no file was written before. */
static int judge(struct stream *s, int *worth, struct scr_err *err)
{
    const struct scr_gauge nothing = { 0 };
    struct scr_copied *got = s->got;
    struct scr_sample sample;
    struct scr_err why = SCR_ERR_INIT;
    uint64_t size = (uint64_t)got->st.st_size;
    double start = scr_now_mono();
    int rc =
        scr_sample_take(s->sys, s->in, s->job->src, size, s->job->level, &sample, &why);
    got->pack_secs = scr_now_mono() - start;
    got->packing = sample.rate;
    if (rc != SCR_OK)
        return rc == SCR_E_MISSING ? changed(s, err)
                                   : scr_fail(err, rc, 0, "%s", why.text);
    uint64_t stored =
        (uint64_t)((double)size * (double)sample.packed / (double)sample.plain);
    *worth = scr_gauge_pays(&nothing, size, stored);
    if (!*worth || size < TIMED)
        return SCR_OK;
    if (s->known.link.bytes <= 0)
        rc = measure_link(s, err);
    *worth = pays(s, size, stored);
    return rc;
}

int scr_recode_pack(const struct scr_sys *sys, const struct scr_copy *job, int in,
                    int out, const char *tmp, struct scr_copied *got,
                    struct scr_err *err)
{
    struct stream s = {
        .sys = sys, .job = job, .in = in, .out = out, .tmp = tmp, .got = got
    };
    uint64_t size = (uint64_t)got->st.st_size;
    int worth = 1;
    if (size < LEAST_WORTHWHILE)
        return SCR_OK;
    if (job->gauge != NULL)
        s.known = *job->gauge;
    int rc;
    TRY_OUT(stream_init(&s, err));
    if (size >= SAMPLED)
        TRY_OUT(judge(&s, &worth, err));
    if (worth)
        TRY_OUT(start_over(&s, err));
    if (worth)
        TRY_OUT(pack(&s, err));
out:
    stream_fini(&s);
    return rc;
}

int scr_recode_is_ours(const struct scr_sys *sys, const char *path)
{
    unsigned char begins[SCR_ZST_MARK_SIZE];
    int fd = -1;
    size_t n = 0;
    int rc;
    TRY_OUT(scr_open(sys, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, &fd, NULL));
    TRY_OUT(scr_read_upto(sys, fd, begins, sizeof begins, &n, path, NULL));
out:
    scr_close(sys, &fd, path, NULL); /* only read from */
    return rc == SCR_OK && n == sizeof begins &&
           memcmp(begins, scr_zst_mark, sizeof begins) == 0;
}

/* --- out of a frame --- */

static int put_plain(void *arg, const void *buf, size_t n, struct scr_err *err)
{
    struct stream *s = arg;
    const uint64_t *size = s->job->size;
    if (size != NULL && n > *size - s->got->size)
        return scr_fail(err, SCR_E_CORRUPT, 0,
                        "there are more than the %llu bytes recorded in it",
                        (unsigned long long)*size);
    s->got->crc = scr_crc32(s->got->crc, buf, n);
    s->got->size += n;
    return put(s, buf, n, err);
}

static int unpack_all(struct stream *s, struct scr_err *err)
{
    size_t n = BUF;
    int rc = SCR_OK;
    while (rc == SCR_OK && n == BUF) {
        rc = scr_read_upto(s->sys, s->in, s->buf, BUF, &n, s->job->src, err);
        if (rc != SCR_OK)
            break;
        s->got->stored_crc = scr_crc32(s->got->stored_crc, s->buf, n);
        s->got->stored_size += n;
        rc = scr_zst_feed(s->z, s->buf, n, put_plain, s, err);
    }
    return rc == SCR_OK ? scr_zst_end(s->z, put_plain, s, err) : rc;
}

int scr_recode_unpack(const struct scr_sys *sys, const struct scr_copy *job, int in,
                      int out, const char *tmp, struct scr_copied *got,
                      struct scr_err *err)
{
    struct stream s = {
        .sys = sys, .job = job, .in = in, .out = out, .tmp = tmp, .got = got
    };
    struct scr_err why = SCR_ERR_INIT;
    int rc;
    TRY_OUT(stream_init(&s, &why));
    TRY_OUT(stream_set(&s, scr_zst_unpacker(&why), &why));
    TRY_OUT(unpack_all(&s, &why));
out:
    stream_fini(&s);
    return rc == SCR_OK ? rc
                        : scr_fail(err, rc, 0, "unpack %s: %s", job->src, why.text);
}
