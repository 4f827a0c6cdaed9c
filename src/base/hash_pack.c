/* SPDX-License-Identifier: BSD-3-Clause */
/* Hash: packing into bytes, and unpacking bytes that nobody vouches for. */
#include "base/hash_impl.h"
#include "base/str.h"
#include <string.h>

size_t scr_hash_pack_size(const scr_hash *h)
{
    size_t bytes = sizeof(uint32_t);
    for (SCR_HASH_EACH(e, h))
        bytes += strlen(e->key) + 1 + scr_hash_pack_size(e->hash);
    return bytes;
}

/* 1 if keys lie at most `depth` below each other. */
static int depth_ok(const scr_hash *h, int depth)
{
    if (depth == 0)
        return scr_hash_size(h) == 0;
    for (SCR_HASH_EACH(e, h))
        if (!depth_ok(e->hash, depth - 1))
            return 0;
    return 1;
}

static unsigned char *pack_at(unsigned char *p, const scr_hash *h)
{
    size_t count = scr_hash_size(h);
    for (int shift = 24; shift >= 0; shift -= 8)
        *p++ = (unsigned char)(count >> shift);
    for (SCR_HASH_EACH(e, h)) {
        size_t n = strlen(e->key) + 1;
        memcpy(p, e->key, n);
        p = pack_at(p + n, e->hash);
    }
    return p;
}

size_t scr_hash_pack(void *buf, const scr_hash *h)
{
    if (!depth_ok(h, SCR_HASH_DEPTH) || !scr_hash_ok(h))
        return 0;
    return (size_t)(pack_at(buf, h) - (unsigned char *)buf);
}

void scr_hash_append(struct scr_str *s, const scr_hash *h)
{
    size_t n = scr_hash_pack_size(h);
    char *at = scr_str_extend(s, n);
    if (at != NULL && scr_hash_pack(at, h) != n)
        scr_str_spoil(s);
}

/* What is left to unpack, and the count of the level it stands at. */
struct unpacker {
    const unsigned char *p;
    size_t left;
    const unsigned char *start;
    struct scr_err *err;
};

static int unpack_fail(const struct unpacker *u, const char *what)
{
    return scr_fail(u->err, SCR_E_CORRUPT, 0, "packed hash: %s at byte %zu", what,
                    (size_t)(u->p - u->start));
}

static int unpack_count(struct unpacker *u, size_t *count)
{
    enum { SMALLEST = 5 }; /* bytes of the smallest element: empty key, empty hash */
    if (u->left < 4)
        return unpack_fail(u, "count cut short");
    *count =
        (size_t)u->p[0] << 24 | (size_t)u->p[1] << 16 | (size_t)u->p[2] << 8 | u->p[3];
    if (*count > (u->left - 4) / SMALLEST)
        return unpack_fail(u, "more elements than bytes");
    u->p += 4;
    u->left -= 4;
    return SCR_OK;
}

static int unpack_key(struct unpacker *u, const char **key)
{
    const unsigned char *end = memchr(u->p, 0, u->left);
    if (end == NULL)
        return unpack_fail(u, "key without end");
    *key = (const char *)u->p;
    u->left -= (size_t)(end + 1 - u->p);
    u->p = end + 1;
    return SCR_OK;
}

/* depth: how many levels of keys may still follow. */
static int unpack_level(struct unpacker *u, scr_hash *h, int depth)
{
    size_t count = 0;
    const char *key = "";
    int rc = unpack_count(u, &count);
    if (rc == SCR_OK && count > 0 && depth == 0)
        rc = unpack_fail(u, "nested too deep");
    for (; rc == SCR_OK && count > 0; count--) {
        if ((rc = unpack_key(u, &key)) != SCR_OK)
            return rc;
        if (scr_hash_elem_get(h, key) != NULL)
            return unpack_fail(u, "key given twice");
        scr_hash *value = scr_hash_set(h, key, NULL);
        if (value == NULL)
            return scr_no_memory(u->err);
        rc = unpack_level(u, value, depth - 1);
    }
    return rc;
}

int scr_hash_unpack(const void *buf, size_t n, scr_hash *h, size_t *used,
                    struct scr_err *err)
{
    struct unpacker u = { buf, n, buf, err };
    scr_hash *fresh = scr_hash_new();
    if (fresh == NULL)
        return scr_no_memory(err);
    int rc = unpack_level(&u, fresh, SCR_HASH_DEPTH);
    if (rc == SCR_OK && h != NULL && (rc = scr_hash_absorb(h, fresh)) != SCR_OK)
        (void)scr_fail(err, rc, 0, "packed hash: out of memory");
    if (rc == SCR_OK && used != NULL)
        *used = n - u.left;
    scr_hash_delete(fresh);
    return rc;
}
