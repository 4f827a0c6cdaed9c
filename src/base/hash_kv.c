/* SPDX-License-Identifier: BSD-3-Clause */
/* Hash: key/value pairs, single values, and several levels by a format. */
#include "base/hash_impl.h"
#include "base/str.h"
#include <inttypes.h>
#include <string.h>

/* --- key/value pairs --- */

scr_hash *scr_hash_set_kv(scr_hash *h, const char *key, const char *val)
{
    return scr_hash_need(scr_hash_need(h, key), val);
}

scr_hash *scr_hash_get_kv(const scr_hash *h, const char *key, const char *val)
{
    return scr_hash_get(scr_hash_get(h, key), val);
}

int scr_hash_unset_kv(scr_hash *h, const char *key, const char *val)
{
    scr_hash *values = scr_hash_get(h, key);
    int there = scr_hash_unset(values, val);
    if (there && scr_hash_size(values) == 0)
        (void)scr_hash_unset(h, key);
    return there;
}

enum { INT_TEXT = 24 }; /* bytes that hold any 64-bit number in decimal, NUL included */

static const char *int_text(char buf[INT_TEXT], int64_t v)
{
    (void)snprintf(buf, INT_TEXT, "%" PRId64, v);
    return buf;
}

scr_hash *scr_hash_set_kv_int(scr_hash *h, const char *key, int val)
{
    char buf[INT_TEXT];
    return scr_hash_set_kv(h, key, int_text(buf, val));
}

scr_hash *scr_hash_get_kv_int(const scr_hash *h, const char *key, int val)
{
    char buf[INT_TEXT];
    return scr_hash_get_kv(h, key, int_text(buf, val));
}

int scr_hash_unset_kv_int(scr_hash *h, const char *key, int val)
{
    char buf[INT_TEXT];
    return scr_hash_unset_kv(h, key, int_text(buf, val));
}

/* --- single values --- */

/* The new value is made before the old one goes: val may be borrowed from it. */
scr_hash *scr_hash_set_val(scr_hash *h, const char *key, const char *val)
{
    scr_hash *holder = scr_hash_new();
    scr_hash *value = scr_hash_set(holder, val, NULL);
    if (value != NULL)
        return scr_hash_set(h, key, holder) == NULL ? NULL : value;
    scr_hash_delete(holder);
    if (h != NULL)
        h->lost = 1;
    return NULL;
}

scr_hash *scr_hash_set_val_i64(scr_hash *h, const char *key, int64_t val)
{
    char buf[INT_TEXT];
    return scr_hash_set_val(h, key, int_text(buf, val));
}

scr_hash *scr_hash_set_val_u64(scr_hash *h, const char *key, uint64_t val)
{
    char buf[INT_TEXT];
    (void)snprintf(buf, sizeof buf, "%" PRIu64, val);
    return scr_hash_set_val(h, key, buf);
}

const char *scr_hash_get_val(const scr_hash *h, const char *key)
{
    return scr_hash_elem_key(scr_hash_elem_first(scr_hash_get(h, key)));
}

/* The value of key if it has exactly one, else NULL. */
static const char *only_val(const scr_hash *h, const char *key)
{
    const scr_hash *values = scr_hash_get(h, key);
    return scr_hash_size(values) == 1 ? scr_hash_elem_first(values)->key : NULL;
}

int scr_hash_get_val_i64(const scr_hash *h, const char *key, int64_t *out)
{
    const char *text = only_val(h, key);
    return text != NULL && scr_parse_i64(text, out);
}

int scr_hash_get_val_u64(const scr_hash *h, const char *key, uint64_t *out)
{
    const char *text = only_val(h, key);
    return text != NULL && scr_parse_u64(text, out);
}

int scr_hash_get_val_int(const scr_hash *h, const char *key, int *out)
{
    const char *text = only_val(h, key);
    return text != NULL && scr_parse_int(text, out);
}

int scr_hash_get_val_crc(const scr_hash *h, const char *key, uint32_t *out)
{
    const char *text = only_val(h, key);
    return text != NULL && scr_parse_hex32(text, out);
}

/* --- several levels at once --- */

enum { KEY_TEXT = 512 }; /* words are shorter */

/* Length of the conversion or word at the front of fmt, without the space that ends it;
 * 0: there is neither. */
static size_t part_length(const char *fmt)
{
    size_t len = strcspn(fmt, " ");
    int is_conv = len == 2 && fmt[0] == '%' && (fmt[1] == 's' || fmt[1] == 'd');
    int is_word = len < KEY_TEXT && memchr(fmt, '%', len) == NULL;
    return is_conv || is_word ? len : 0;
}

/* 1 if fmt is conversions and words separated by single spaces, at least one. */
static int format_ok(const char *fmt)
{
    size_t len = fmt == NULL ? 0 : part_length(fmt);
    while (len > 0 && fmt[len] != '\0') {
        fmt += len + 1;
        len = part_length(fmt);
    }
    return len > 0;
}

/* Takes the next key off *fmt (NULL after the last one) and its argument off *ap. The
 * key is the argument itself or the text made of it in buf. */
static const char *next_key(const char **fmt, va_list *ap, char buf[KEY_TEXT])
{
    const char *part = *fmt;
    size_t len = part_length(part);
    *fmt = part[len] == '\0' ? NULL : part + len + 1;
    if (part[0] != '%')
        (void)snprintf(buf, KEY_TEXT, "%.*s", (int)len, part);
    else if (part[1] == 's')
        return va_arg(*ap, const char *);
    else
        (void)int_text(buf, va_arg(*ap, int));
    return buf;
}

scr_hash *scr_hash_setf(scr_hash *h, scr_hash *value, const char *fmt, ...)
{
    char buf[KEY_TEXT];
    if (h == NULL || !format_ok(fmt)) {
        scr_hash_delete(value);
        return NULL;
    }
    va_list ap;
    va_start(ap, fmt);
    const char *key = next_key(&fmt, &ap, buf);
    while (fmt != NULL) {
        h = scr_hash_need(h, key);
        key = next_key(&fmt, &ap, buf);
    }
    va_end(ap);
    return value == NULL ? scr_hash_need(h, key) : scr_hash_set(h, key, value);
}

scr_hash *scr_hash_getf(const scr_hash *h, const char *fmt, ...)
{
    char buf[KEY_TEXT];
    if (h == NULL || !format_ok(fmt))
        return NULL;
    va_list ap;
    va_start(ap, fmt);
    scr_hash *found = scr_hash_get(h, next_key(&fmt, &ap, buf));
    while (fmt != NULL)
        found = scr_hash_get(found, next_key(&fmt, &ap, buf));
    va_end(ap);
    return found;
}
