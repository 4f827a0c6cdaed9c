/* SPDX-License-Identifier: BSD-3-Clause */
/* Hash: packing into bytes, and unpacking bytes that may be damaged. */
#include "base/cursor.h"
#include "base/hash_impl.h"
#include "base/str.h"

/* depth: how many levels of keys may still follow. */
static void append_level(struct scr_str *s, const scr_hash *h, int depth)
{
    if (h != NULL && (h->lost || (h->items.n > 0 && depth == 0))) {
        scr_str_spoil(s);
        return;
    }
    scr_pack_count(s, scr_hash_size(h));
    for (SCR_HASH_EACH(e, h)) {
        scr_pack_key(s, e->key);
        append_level(s, e->hash, depth - 1);
    }
}

void scr_hash_append(struct scr_str *s, const scr_hash *h)
{
    append_level(s, h, SCR_HASH_DEPTH);
}

/* A level and all below it. */
static void unpack_level(struct scr_cursor *c, scr_hash *h, int depth)
{
    size_t count = scr_cursor_enter(c);
    if (count > 0 && depth == 0)
        scr_cursor_refuse(c, "nested too deep");
    for (; count > 0 && c->wrong == NULL; count--) {
        const char *key = scr_cursor_key(c);
        if (c->wrong != NULL)
            return;
        if (scr_hash_elem_get(h, key) != NULL) {
            scr_cursor_refuse(c, "key given twice");
            return;
        }
        scr_hash *value = scr_hash_set(h, key, NULL);
        if (value == NULL)
            scr_cursor_no_memory(c);
        else
            unpack_level(c, value, depth - 1);
    }
}

/* Into an empty hash the whole content moves at once. */
static int take_over(scr_hash *h, scr_hash *fresh, struct scr_err *err)
{
    if (h == NULL || scr_hash_size(h) > 0 || !scr_hash_ok(h))
        return scr_hash_merge(h, fresh) == SCR_OK ? SCR_OK : scr_no_memory(err);
    scr_hash_move(h, fresh);
    return SCR_OK;
}

int scr_hash_unpack(const void *buf, size_t n, scr_hash *h, size_t *used,
                    struct scr_err *err)
{
    struct scr_cursor c;
    scr_hash *fresh = scr_hash_new();
    TRY(fresh ? SCR_OK : scr_no_memory(err));
    scr_cursor_init(&c, buf, n);
    unpack_level(&c, fresh, SCR_HASH_DEPTH);
    int rc;
    TRY_OUT(scr_cursor_end(&c, 0, err));
    TRY_OUT(take_over(h, fresh, err));
    if (used != NULL)
        *used = n - c.left;
out:
    scr_hash_delete(fresh);
    return rc;
}
