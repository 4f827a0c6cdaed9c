/* SPDX-License-Identifier: BSD-3-Clause */
/* Hash files: header, packed hash and CRC32, read whole, written by atomic replacement.
 */
#include "base/hashfile.h"

#include "base/attr.h"
#include "base/cursor.h"
#include "base/lock.h"
#include "base/str.h"
#include <fcntl.h>
#include <isa-l.h>
#include <stdlib.h>

/*  0      4      6       8                16      20
 *  | magic | type | version | total file size | flags | packed hash … | CRC32 |
 * big-endian  */
enum {
    TYPE_HASH = 1,
    VERSION = 1,
    AT_TYPE = 4,
    AT_VERSION = 6,
    AT_SIZE = 8,
    AT_FLAGS = 16,
    HEADER = SCR_FRAME_HEADER,
    CRC_BYTES = 4,
    FLAG_CRC = 1,
    FILE_MODE = 0644 /* the umask of the process applies */
};
static const uint32_t MAGIC = 0x951fc3f5;
static const size_t FILE_MAX = (size_t)1 << 30; /* refuses to load more than this */

static void put_be(unsigned char *p, uint64_t v, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--, v >>= 8)
        p[i] = (unsigned char)v;
}

static uint64_t get_be(const unsigned char *p, int bytes)
{
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++)
        v = v << 8 | p[i];
    return v;
}

/* As zlib's; filemaps of many files have megabytes. */
static uint32_t crc32_of(uint32_t before, const void *p, size_t n)
{
    return crc32_gzip_refl(before, p, n);
}

/* --- bytes --- */

static void put_header(unsigned char *p, uint64_t size)
{
    put_be(p, MAGIC, 4);
    put_be(p + AT_TYPE, TYPE_HASH, 2);
    put_be(p + AT_VERSION, VERSION, 2);
    put_be(p + AT_SIZE, size, 8);
    put_be(p + AT_FLAGS, FLAG_CRC, 4);
}

void scr_frame_begin(struct scr_str *s)
{
    (void)scr_str_extend(s, HEADER);
}

void scr_frame_end(struct scr_str *s)
{
    if (scr_str_extend(s, CRC_BYTES) == NULL)
        return;
    unsigned char *p = (unsigned char *)s->p;
    size_t n = s->len - CRC_BYTES;
    put_header(p, s->len);
    put_be(p + n, crc32_of(0, p, n), CRC_BYTES);
}

/* --- piece by piece --- */

static int write_piece(struct scr_drain *drain, char *p, size_t n)
{
    struct scr_frame_out *o = (struct scr_frame_out *)drain;
    o->crc = crc32_of(o->crc, p, n);
    o->rc = scr_write_all(o->to, p, n, o->err);
    return o->rc;
}

void scr_frame_out_begin(struct scr_frame_out *o, struct scr_str *s)
{
    o->drain = (struct scr_drain){ .take = write_piece };
    *s = (struct scr_str){ .drain = &o->drain };
    unsigned char *p = (unsigned char *)scr_str_extend(s, HEADER);
    if (p != NULL)
        put_header(p, o->size);
}

int scr_frame_out_end(struct scr_frame_out *o, struct scr_str *s)
{
    unsigned char crc[CRC_BYTES];
    int rc;
    if (!s->bad) {
        put_be(crc, crc32_of(o->crc, s->p, s->len), CRC_BYTES);
        scr_str_append_n(s, crc, CRC_BYTES);
    }
    if (!s->bad)
        scr_str_drain(s);
    TRY_OUT(o->rc);
    TRY_OUT(s->bad ? scr_no_memory(o->err) : SCR_OK);
    if (o->drain.taken != o->size)
        TRY_OUT(scr_fail(o->err, SCR_E_FAILURE, 0,
                         "write %s: a hash of %llu bytes, %llu were kept for it",
                         o->to->path, (unsigned long long)o->drain.taken,
                         (unsigned long long)o->size));
out:
    scr_str_free(s);
    return rc;
}

static int corrupt(struct scr_err *err, const char *what)
{
    return scr_fail(err, SCR_E_CORRUPT, 0, "hash file: %s", what);
}

/* Checks magic and type, and that the header claims a size of n bytes. */
static int check_header(const unsigned char *p, size_t n, struct scr_err *err)
{
    if (n < HEADER)
        return corrupt(err, "shorter than a header");
    if (get_be(p, 4) != MAGIC)
        return corrupt(err, "bad magic number");
    if (get_be(p + AT_TYPE, 2) != TYPE_HASH)
        return corrupt(err, "not of the type of a hash");
    uint64_t size = get_be(p + AT_SIZE, 8);
    if (size > n)
        return corrupt(err, "shorter than its header says");
    if (size < n)
        return corrupt(err, "longer than its header says");
    return SCR_OK;
}

/* Files of newer versions have a checksum. */
static int check_version(const unsigned char *p, uint64_t flags, struct scr_err *err)
{
    uint64_t version = get_be(p + AT_VERSION, 2);
    uint64_t unknown = flags & ~(uint64_t)FLAG_CRC;
    if (version == VERSION && unknown == 0)
        return SCR_OK;
    if (version < VERSION || !(flags & FLAG_CRC))
        return corrupt(err, "bad version or flags");
    if (version > VERSION)
        return scr_fail(err, SCR_E_VERSION, 0,
                        "hash file: version %u is newer than this reader's %d",
                        (unsigned)version, VERSION);
    return scr_fail(err, SCR_E_VERSION, 0, "hash file: unknown flags 0x%08x",
                    (unsigned)flags);
}

/* Checks the CRC if there is one, where its bytes and crc, that of all before it, are
 * known; *body gets the number of bytes of the packed hash. Before the CRC is known to
 * match, another version may be but a flipped bit. */
static int check_body(const unsigned char *p, size_t size, const unsigned char *end,
                      uint32_t crc, size_t *body, struct scr_err *err)
{
    uint64_t flags = get_be(p + AT_FLAGS, 4);
    size_t trailer = flags & FLAG_CRC ? CRC_BYTES : 0;
    if (size < HEADER + trailer)
        return corrupt(err, "no room for the checksum");
    if (trailer != 0 && get_be(end, CRC_BYTES) != crc)
        return corrupt(err, "checksum does not match");
    *body = size - HEADER - trailer;
    return check_version(p, flags, err);
}

int scr_frame_open(const void *buf, size_t n, struct scr_frame *f, struct scr_err *err)
{
    const unsigned char *p = buf;
    *f = (struct scr_frame){ 0 };
    if (n == 0) /* an empty hash */
        return SCR_OK;
    TRY(check_header(p, n, err));
    f->packed = p + HEADER;
    size_t end = n - CRC_BYTES;
    return check_body(p, n, p + end, crc32_of(0, p, end), &f->n, err);
}

/* The CRC of the first n bytes. */
static int sum_up(const struct scr_fd *from, uint64_t n, uint32_t *crc,
                  struct scr_err *err)
{
    unsigned char *buf = malloc(SCR_PIECE);
    int rc = buf != NULL ? SCR_OK : scr_no_memory(err);
    for (uint64_t at = 0; at < n && rc == SCR_OK; at += SCR_PIECE) {
        size_t piece = n - at < SCR_PIECE ? (size_t)(n - at) : SCR_PIECE;
        rc = scr_pread_all(from, buf, piece, (off_t)at, err);
        if (rc == SCR_OK)
            *crc = crc32_of(*crc, buf, piece);
    }
    free(buf);
    return rc;
}

int scr_frame_check(const struct scr_fd *from, uint64_t n, struct scr_frame *f,
                    struct scr_err *err)
{
    unsigned char head[HEADER], end[CRC_BYTES] = { 0 };
    uint32_t crc = 0;
    *f = (struct scr_frame){ 0 };
    if (n == 0)
        return SCR_OK;
    TRY(scr_pread_all(from, head, n < HEADER ? (size_t)n : HEADER, 0, err));
    TRY(check_header(head, (size_t)n, err));
    if (get_be(head + AT_FLAGS, 4) & FLAG_CRC) {
        TRY(sum_up(from, n - CRC_BYTES, &crc, err));
        TRY(scr_pread_all(from, end, CRC_BYTES, (off_t)(n - CRC_BYTES), err));
    }
    return check_body(head, n, end, crc, &f->n, err);
}

static int feed_more(struct scr_feed *feed, void *p, size_t *n)
{
    struct scr_file_feed *f = (struct scr_file_feed *)feed;
    TRY(scr_pread_all(f->from, p, *n, (off_t)f->at, f->err));
    f->at += *n;
    return SCR_OK;
}

struct scr_file_feed scr_file_feed(const struct scr_fd *from, uint64_t at, uint64_t n,
                                   struct scr_err *err)
{
    return (struct scr_file_feed){ { .more = feed_more, .rest = n }, from, at, err };
}

int scr_frame_identify(const void *buf, size_t n, struct scr_frame_id *id)
{
    const unsigned char *p = buf;
    if (n < HEADER + CRC_BYTES || !(get_be(p + AT_FLAGS, 4) & FLAG_CRC))
        return 0;
    *id = (struct scr_frame_id){ n, (uint32_t)get_be(p + n - CRC_BYTES, CRC_BYTES) };
    return 1;
}

/* All n bytes must belong to the hash, which is known before h is touched. */
static int unpack_into(const void *packed, size_t n, void *h, struct scr_err *err)
{
    struct scr_cursor c;
    scr_cursor_init(&c, packed, n);
    scr_cursor_skip(&c);
    if (c.wrong == NULL && c.left > 0)
        return corrupt(err, "bytes left over after the hash");
    return scr_hash_unpack(packed, n, h, NULL, err);
}

int scr_hash_decode(const void *buf, size_t n, scr_hash *h, struct scr_err *err)
{
    struct scr_frame f;
    TRY(scr_frame_open(buf, n, &f, err));
    return n > 0 ? unpack_into(f.packed, f.n, h, err) : SCR_OK;
}

/* --- files --- */

int scr_frame_is_at(const struct scr_sys *sys, const char *path,
                    const struct scr_frame_id *id)
{
    unsigned char end[CRC_BYTES + 1];
    size_t got = 0;
    int fd = -1;
    int rc;
    TRY_OUT(scr_open(sys, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, &fd, NULL));
    TRY_OUT(scr_pread_upto(SCR_FD(sys, fd, path), end, sizeof end,
                           (off_t)id->size - CRC_BYTES, &got, NULL));
out:
    (void)scr_close(sys, &fd, path, NULL);
    return rc == SCR_OK && got == CRC_BYTES && get_be(end, CRC_BYTES) == id->crc;
}

int scr_frame_read(const struct scr_sys *sys, const char *path, scr_unpack unpack,
                   void *into, struct scr_err *err)
{
    void *buf = NULL;
    size_t n = 0;
    struct scr_frame f;
    struct scr_err cause = SCR_ERR_INIT;
    int rc;
    TRY(scr_file_load(sys, path, FILE_MAX, &buf, &n, err));
    TRY_OUT(scr_frame_open(buf, n, &f, &cause));
    if (n > 0)
        TRY_OUT(unpack(f.packed, f.n, into, &cause));
out:
    free(buf);
    return rc == SCR_OK ? SCR_OK
                        : scr_fail(err, rc, 0, "read %s: %s", path, cause.text);
}

/* One read, as most state files are small. */
static int take_at_once(const struct scr_fd *from, size_t size, scr_take take,
                        void *into, struct scr_err *err)
{
    struct scr_frame f;
    struct scr_cursor c;
    size_t n = 0;
    void *buf = malloc(size + 1);
    int rc;
    TRY_OUT(buf != NULL ? scr_read_upto(from, buf, size, &n, err) : scr_no_memory(err));
    TRY_OUT(scr_frame_open(buf, n, &f, err));
    if (n == 0)
        goto out;
    scr_cursor_init(&c, f.packed, f.n);
    rc = take(&c, into, err);
out:
    free(buf);
    return rc;
}

static int take_frame(const struct scr_fd *from, scr_take take, void *into,
                      struct scr_err *err)
{
    struct stat st;
    struct scr_frame f;
    struct scr_cursor c;
    TRY(scr_fd_stat(from->sys, from->fd, &st, from->path, err));
    if (!S_ISREG(st.st_mode))
        return scr_fail(err, SCR_E_UNSAFE, 0, "not a regular file");
    if ((uint64_t)st.st_size > FILE_MAX)
        return scr_fail(err, SCR_E_RANGE, 0, "larger than %zu bytes", FILE_MAX);
    if (st.st_size <= SCR_PIECE)
        return take_at_once(from, (size_t)st.st_size, take, into, err);
    TRY(scr_frame_check(from, (uint64_t)st.st_size, &f, err));
    struct scr_file_feed feed = scr_file_feed(from, HEADER, f.n, err);
    scr_cursor_init_feed(&c, &feed.feed);
    int rc = take(&c, into, err);
    scr_feed_fini(&feed.feed);
    return rc;
}

int scr_frame_take(const struct scr_sys *sys, const char *path, scr_take take,
                   void *into, struct scr_err *err)
{
    struct scr_err cause = SCR_ERR_INIT;
    int fd = -1;
    /* O_NONBLOCK: as scr_file_load */
    TRY(scr_open(sys, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, &fd, err));
    int rc = take_frame(SCR_FD(sys, fd, path), take, into, &cause);
    (void)scr_close(sys, &fd, path, NULL); /* nothing was written */
    if (rc == SCR_OK)
        return SCR_OK;
    if (cause.sys == 0 && rc != SCR_E_MISSING)
        return scr_fail(err, rc, 0, "read %s: %s", path, cause.text);
    if (err != NULL && err->code == SCR_OK)
        *err = cause; /* the call that failed has named it */
    return rc;
}

struct packing {
    scr_packer pack;
    const void *from;
    uint64_t size;
};

static int write_packed(const struct scr_fd *to, const void *arg, struct scr_err *err)
{
    const struct packing *p = arg;
    struct scr_str s;
    struct scr_frame_out o = { .to = to, .size = p->size, .err = err };
    scr_frame_out_begin(&o, &s);
    p->pack(&s, p->from);
    return scr_frame_out_end(&o, &s);
}

int scr_frame_replace(const struct scr_sys *sys, const char *path, scr_packer pack,
                      const void *from, enum scr_durability how, struct scr_err *err)
{
    struct scr_drain count = { 0 };
    struct scr_str s = { .drain = &count };
    pack(&s, from);
    struct packing p = { pack, from, count.taken + s.len + HEADER + CRC_BYTES };
    int bad = s.bad;
    scr_str_free(&s);
    if (bad)
        return scr_fail(err, SCR_E_NOMEM, 0, "write %s: out of memory", path);
    return scr_file_replace_by(sys, path, write_packed, &p,
                               (struct scr_replace){ FILE_MODE, how }, err);
}

int scr_frame_write(const struct scr_sys *sys, const char *path, struct scr_str *s,
                    struct scr_frame_id *id, struct scr_err *err)
{
    scr_frame_end(s);
    int rc;
    TRY_OUT(s->bad ? scr_fail(err, SCR_E_NOMEM, 0, "write %s: out of memory", path)
                   : scr_file_replace(sys, path, s->p, s->len,
                                      (struct scr_replace){ FILE_MODE, SCR_DURABLE },
                                      err));
    if (id != NULL)
        (void)scr_frame_identify(s->p, s->len, id);
out:
    scr_str_free(s);
    return rc;
}

int scr_hash_file_read(const struct scr_sys *sys, const char *path, scr_hash *h,
                       struct scr_err *err)
{
    return scr_frame_read(sys, path, unpack_into, h, err);
}

static void append_hash(struct scr_str *s, const void *h)
{
    scr_hash_append(s, h);
}

int scr_hash_file_write(const struct scr_sys *sys, const char *path, const scr_hash *h,
                        enum scr_durability how, struct scr_err *err)
{
    return scr_frame_replace(sys, path, append_hash, h, how, err);
}

/* --- transactions --- */

/* Like scr_hash_file_read, but an absent file is an empty hash. */
static int read_if_there(const struct scr_sys *sys, const char *path, scr_hash *h,
                         struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_hash_file_read(sys, path, h, &why);
    if (rc == SCR_OK || rc == SCR_E_NOENT)
        return SCR_OK;
    if (err != NULL && err->code == SCR_OK)
        *err = why;
    return rc;
}

int scr_hash_file_update(const struct scr_sys *sys, const char *path, int timeout_ms,
                         scr_hash_edit edit, void *arg, struct scr_err *err)
{
    struct scr_lock lock = SCR_LOCK_INIT;
    int changed = 0;
    char *lock_path = scr_asprintf("%s.lock", path);
    scr_hash *h = scr_hash_new();
    int rc;
    TRY_OUT(lock_path && h ? scr_lock_acquire(sys, lock_path, timeout_ms, &lock, err)
                           : scr_no_memory(err));
    TRY_OUT(read_if_there(sys, path, h, err));
    TRY_OUT(edit(h, arg, &changed, err));
    if (changed)
        TRY_OUT(scr_hash_file_write(sys, path, h, SCR_VOLATILE, err));
out:
    scr_lock_release(sys, &lock);
    scr_hash_delete(h);
    free(lock_path);
    return rc;
}
