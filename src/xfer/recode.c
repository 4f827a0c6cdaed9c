/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes of a copy that is compressed, or unpacked, on its way. */
#include "xfer/recode.h"

#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/units.h"
#include "ec/ec.h"
#include "xfer/zst.h"

enum {
    BUF = 128 << 10,         /* bytes read at a time */
    FIRST_LOOK = 8 << 20,    /* plain bytes after which it is asked whether it pays, */
    NEXT_LOOK = 64 << 20,    /* and again */
    LEAST_WORTHWHILE = 4096, /* smaller files take a block whatever they hold */
};

struct stream {
    const struct scr_sys *sys;
    const struct scr_copy *job;
    int in, out;
    const char *tmp;
    struct scr_copied *got;
    struct scr_zst *z;
    void *buf;
};

static int stream_init(struct stream *s, struct scr_zst *z, struct scr_err *err)
{
    s->z = z;
    s->buf = malloc(BUF);
    if (s->buf == NULL)
        return scr_fail(err, SCR_E_NOMEM, 0, "copy %s: out of memory", s->job->src);
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
    int rc = s->out >= 0 ? scr_write_all(s->sys, s->out, buf, n, s->tmp, err) : SCR_OK;
    return rc == SCR_OK ? step(s, n, err) : rc;
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
    s->got->pack_secs += scr_now_mono() - start - (s->got->link_secs - before);
    s->got->crc = scr_crc32(s->got->crc, s->buf, n);
    s->got->size += n;
    return rc;
}

/* How fast the file system is shows only when it has to have the bytes. */
static int measure_link(struct stream *s, struct scr_err *err)
{
    double start = scr_now_mono();
    int rc = scr_fsync(s->sys, s->out, s->tmp, err);
    s->got->link_secs += scr_now_mono() - start;
    return rc;
}

/* What is known from files before, and from the part of this one that is through. */
static int look(struct stream *s, int *pays, struct scr_err *err)
{
    struct scr_gauge g = s->job->gauge ? *s->job->gauge : (struct scr_gauge){ 0 };
    int rc = SCR_OK;
    if (g.link.bytes <= 0) {
        rc = measure_link(s, err);
        scr_gauge_link(&g, s->got->stored_size, s->got->link_secs);
    }
    scr_gauge_pack(&g, s->got->size, s->got->pack_secs);
    *pays = scr_gauge_pays(&g, s->got->size, s->got->stored_size);
    return rc;
}

static int changed(const struct stream *s, struct scr_err *err)
{
    return scr_fail(err, SCR_E_CORRUPT, 0, "copy %s: it changed while it was read",
                    s->job->src);
}

static int pack_all(struct stream *s, int *pays, struct scr_err *err)
{
    uint64_t size = (uint64_t)s->got->st.st_size, next = FIRST_LOOK;
    size_t n = BUF;
    int rc = SCR_OK;
    while (rc == SCR_OK && *pays && n == BUF) {
        rc = scr_read_upto(s->sys, s->in, s->buf, BUF, &n, s->job->src, err);
        if (rc == SCR_OK && n > size - s->got->size)
            rc = changed(s, err);
        if (rc == SCR_OK && n > 0)
            rc = pack_some(s, n, err);
        if (rc == SCR_OK && s->got->size >= next) {
            rc = look(s, pays, err);
            next += NEXT_LOOK;
        }
    }
    if (rc == SCR_OK && *pays && s->got->size < size)
        rc = changed(s, err);
    return rc == SCR_OK && *pays ? pack_some(s, 0, err) : rc;
}

int scr_recode_pack(const struct scr_sys *sys, const struct scr_copy *job, int in,
                    int out, const char *tmp, struct scr_copied *got,
                    struct scr_err *err)
{
    struct stream s = {
        .sys = sys, .job = job, .in = in, .out = out, .tmp = tmp, .got = got
    };
    const struct scr_gauge nothing = { 0 };
    uint64_t size = (uint64_t)got->st.st_size;
    int pays = 1;
    if (size < LEAST_WORTHWHILE)
        return SCR_OK;
    int rc = stream_init(&s, scr_zst_packer(job->level, size, err), err);
    if (rc == SCR_OK)
        rc = put_packed(&s, scr_zst_mark, SCR_ZST_MARK_SIZE, err);
    if (rc == SCR_OK)
        rc = pack_all(&s, &pays, err);
    stream_fini(&s);
    /* The time is spent; what is left to be asked is whether it was of any use. */
    got->packed =
        rc == SCR_OK && pays && scr_gauge_pays(&nothing, size, got->stored_size);
    return rc;
}

int scr_recode_is_ours(const struct scr_sys *sys, const char *path)
{
    unsigned char begins[SCR_ZST_MARK_SIZE];
    int fd = -1;
    size_t n = 0;
    int rc = scr_open(sys, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, &fd, NULL);
    if (rc == SCR_OK)
        rc = scr_read_upto(sys, fd, begins, sizeof begins, &n, path, NULL);
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
    int rc = stream_init(&s, scr_zst_unpacker(&why), &why);
    if (rc == SCR_OK)
        rc = unpack_all(&s, &why);
    stream_fini(&s);
    return rc == SCR_OK ? rc
                        : scr_fail(err, rc, 0, "unpack %s: %s", job->src, why.text);
}
