/* SPDX-License-Identifier: BSD-3-Clause */
/* Packed hashes, written and read without a tree. */
#include "base/cursor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- writing --- */

void scr_pack_count(struct scr_str *s, size_t n)
{
    const unsigned char be[4] = { (unsigned char)(n >> 24), (unsigned char)(n >> 16),
                                  (unsigned char)(n >> 8), (unsigned char)n };
    scr_str_append_n(s, be, sizeof be);
}

void scr_pack_key(struct scr_str *s, const char *key)
{
    scr_str_append_n(s, key, strlen(key) + 1);
}

void scr_pack_key_int(struct scr_str *s, int key)
{
    char text[16];
    snprintf(text, sizeof text, "%d", key);
    scr_pack_key(s, text);
}

void scr_pack_val(struct scr_str *s, const char *key, const char *val)
{
    scr_pack_key(s, key);
    scr_pack_count(s, 1);
    scr_pack_key(s, val);
    scr_pack_count(s, 0);
}

void scr_pack_u64(struct scr_str *s, const char *key, uint64_t val)
{
    char digits[24], *p = digits + sizeof digits - 1;
    *p = '\0';
    do {
        *--p = (char)('0' + val % 10);
    } while ((val /= 10) > 0);
    scr_pack_val(s, key, p);
}

void scr_pack_i64(struct scr_str *s, const char *key, int64_t val)
{
    char text[24];
    if (val >= 0) {
        scr_pack_u64(s, key, (uint64_t)val);
        return;
    }
    snprintf(text, sizeof text, "%" PRId64, val);
    scr_pack_val(s, key, text);
}

void scr_pack_crc(struct scr_str *s, const char *key, uint32_t crc)
{
    char text[12] = "0x";
    for (int i = 0; i < 8; i++)
        text[2 + i] = "0123456789abcdef"[crc >> (28 - 4 * i) & 15];
    text[10] = '\0';
    scr_pack_val(s, key, text);
}

void scr_pack_hash(struct scr_str *s, const char *key, const scr_hash *h)
{
    scr_pack_key(s, key);
    scr_hash_append(s, h);
}

/* --- reading --- */

void scr_cursor_init(struct scr_cursor *c, const void *buf, size_t n)
{
    *c = (struct scr_cursor){ .p = buf, .start = buf, .left = n };
}

void scr_cursor_init_feed(struct scr_cursor *c, struct scr_feed *f)
{
    f->room = (size_t)2 * SCR_PIECE;
    f->buf = malloc(f->room);
    scr_cursor_init(c, f->buf, 0);
    c->feed = f;
    if (f->buf == NULL)
        scr_cursor_no_memory(c);
}

void scr_feed_fini(struct scr_feed *f)
{
    free(f->buf);
    f->buf = NULL;
}

uint64_t scr_cursor_at(const struct scr_cursor *c)
{
    return (c->feed != NULL ? c->feed->passed : 0) + (uint64_t)(c->p - c->start);
}

void scr_cursor_refuse(struct scr_cursor *c, const char *why)
{
    if (c->wrong == NULL)
        c->wrong = why;
}

void scr_cursor_no_memory(struct scr_cursor *c)
{
    c->no_memory = 1;
    scr_cursor_refuse(c, "out of memory");
}

/* The window begins at its first byte that is still needed, with room for a piece. */
static int make_room(struct scr_cursor *c)
{
    struct scr_feed *f = c->feed;
    size_t at = (size_t)(c->p - f->buf), kept = c->keep ? (size_t)(c->p - c->keep) : 0;
    size_t have = kept + c->left;
    memmove(f->buf, c->p - kept, have);
    f->passed += at - kept;
    if (f->room - have < SCR_PIECE) {
        unsigned char *more = scr_reallocarray(f->buf, f->room, 2);
        if (more == NULL)
            return 0;
        f->buf = more;
        f->room *= 2;
    }
    c->start = f->buf;
    c->p = f->buf + kept;
    c->keep = c->keep != NULL ? f->buf : NULL;
    return 1;
}

/* Bytes more into the window; 0: there are none. */
static int refill(struct scr_cursor *c)
{
    struct scr_feed *f = c->feed;
    if (f == NULL || f->rest == 0 || c->wrong != NULL)
        return 0;
    if (!make_room(c)) {
        scr_cursor_no_memory(c);
        return 0;
    }
    size_t used = (size_t)(c->p - f->buf) + c->left, n = f->room - used;
    n = f->rest < n ? (size_t)f->rest : n;
    f->rc = f->more(f, f->buf + used, &n);
    if (f->rc != SCR_OK) {
        scr_cursor_refuse(c, "bytes cannot be read");
        return 0;
    }
    f->rest -= n;
    c->left += n;
    return 1;
}

size_t scr_cursor_enter(struct scr_cursor *c)
{
    enum { SMALLEST = 5 }; /* bytes of the smallest element: empty key, empty hash */
    while (c->left < 4 && refill(c))
        ;
    if (c->wrong == NULL && c->left < 4)
        scr_cursor_refuse(c, "count cut short");
    if (c->wrong != NULL)
        return 0;
    size_t n =
        (size_t)c->p[0] << 24 | (size_t)c->p[1] << 16 | (size_t)c->p[2] << 8 | c->p[3];
    uint64_t left = c->left + (c->feed != NULL ? c->feed->rest : 0);
    if (n > (left - 4) / SMALLEST) {
        scr_cursor_refuse(c, "more elements than bytes");
        return 0;
    }
    c->p += 4;
    c->left -= 4;
    return n;
}

const char *scr_cursor_key(struct scr_cursor *c)
{
    const unsigned char *end = NULL;
    size_t seen = 0;
    while (c->wrong == NULL &&
           (c->left == seen || !(end = memchr(c->p + seen, 0, c->left - seen)))) {
        seen = c->left;
        if (!refill(c))
            scr_cursor_refuse(c, "key without end");
    }
    if (c->wrong != NULL)
        return "";
    const char *key = (const char *)c->p;
    c->left -= (size_t)(end + 1 - c->p);
    c->p = end + 1;
    return key;
}

static void skip(struct scr_cursor *c, int depth)
{
    size_t n = scr_cursor_enter(c);
    if (n > 0 && depth == 0)
        scr_cursor_refuse(c, "nested too deep");
    for (; n > 0 && c->wrong == NULL; n--) {
        (void)scr_cursor_key(c);
        skip(c, depth - 1);
    }
}

void scr_cursor_skip(struct scr_cursor *c)
{
    skip(c, SCR_HASH_DEPTH);
}

const char *scr_cursor_val(struct scr_cursor *c)
{
    const char *val = NULL;
    size_t n = scr_cursor_enter(c);
    for (size_t i = 0; i < n && c->wrong == NULL; i++) {
        c->keep = (const unsigned char *)scr_cursor_key(c);
        if (c->wrong == NULL)
            scr_cursor_skip(c);
        val = n == 1 ? (const char *)c->keep : NULL;
        c->keep = NULL;
    }
    return c->wrong == NULL ? val : NULL;
}

/* The bytes that skipping takes are those of h. */
void scr_cursor_hash(struct scr_cursor *c, scr_hash *h)
{
    size_t used = 0;
    struct scr_err why = SCR_ERR_INIT;
    struct scr_cursor all = *c;
    if (c->feed != NULL && c->wrong == NULL) {
        c->keep = c->p;
        scr_cursor_skip(c);
        all = (struct scr_cursor){ .p = c->keep, .left = (size_t)(c->p - c->keep) };
        c->keep = NULL;
    }
    if (c->wrong != NULL)
        return;
    int rc = scr_hash_unpack(all.p, all.left, h, &used, &why);
    if (rc == SCR_E_NOMEM)
        scr_cursor_no_memory(c);
    else if (rc != SCR_OK)
        scr_cursor_refuse(c, "bad hash");
    if (c->feed == NULL) {
        c->p += used;
        c->left -= used;
    }
}

int scr_cursor_end(struct scr_cursor *c, int all, struct scr_err *err)
{
    if (all && (c->left > 0 || (c->feed != NULL && c->feed->rest > 0)))
        scr_cursor_refuse(c, "bytes left over");
    TRY(!c->no_memory ? SCR_OK : scr_no_memory(err));
    if (c->feed != NULL && c->feed->rc != SCR_OK)
        return c->feed->rc;
    if (c->wrong == NULL)
        return SCR_OK;
    return scr_fail(err, SCR_E_CORRUPT, 0, "packed hash: %s at byte %zu", c->wrong,
                    (size_t)scr_cursor_at(c));
}
