/* SPDX-License-Identifier: BSD-3-Clause */
/* The hash: ordered tree of strings. */
#include "base/hash_impl.h"
#include "base/str.h"
#include <stdlib.h>
#include <string.h>

/* --- life --- */

scr_hash *scr_hash_new(void)
{
    return calloc(1, sizeof(scr_hash));
}

/* Without recursion, so that a tree of any depth can be freed: the children of each
 * element are put in front of the elements still to free. */
void scr_hash_unset_all(scr_hash *h)
{
    scr_hash_elem *e = scr_hash_elem_first(h);
    while (e != NULL) {
        struct scr_item *rest = e->item.next;
        if (e->hash != NULL && e->hash->items.first != NULL) {
            e->hash->items.first->prev->next = rest;
            rest = e->hash->items.first;
        }
        if (e->hash != NULL)
            free(e->hash->items.index);
        free(e->hash);
        free(e);
        e = (scr_hash_elem *)rest;
    }
    if (h == NULL)
        return;
    free(h->items.index);
    memset(h, 0, sizeof *h);
}

void scr_hash_delete(scr_hash *h)
{
    scr_hash_unset_all(h);
    free(h);
}

scr_hash *scr_hash_dup(const scr_hash *h)
{
    scr_hash *copy = h == NULL ? NULL : scr_hash_new();
    if (copy == NULL || scr_hash_merge(copy, h) == SCR_OK)
        return copy;
    scr_hash_delete(copy);
    return NULL;
}

int scr_hash_ok(const scr_hash *h)
{
    if (h != NULL && h->lost)
        return 0;
    for (SCR_HASH_EACH(e, h))
        if (!scr_hash_ok(e->hash))
            return 0;
    return 1;
}

/* --- elements --- */

scr_hash_elem *scr_hash_elem_get(const scr_hash *h, const char *key)
{
    return h != NULL && key != NULL ? scr_items_find(&h->items, key) : NULL;
}

static scr_hash_elem *elem_new(const char *key, scr_hash *value)
{
    size_t n = strlen(key) + 1;
    scr_hash_elem *e = malloc(sizeof *e + n);
    if (e == NULL)
        return NULL;
    e->hash = value;
    memcpy(e->key, key, n);
    e->item.name = e->key;
    return e;
}

scr_hash *scr_hash_set(scr_hash *h, const char *key, scr_hash *value)
{
    scr_hash_elem *e = scr_hash_elem_get(h, key), *added = NULL;
    if (h == NULL || key == NULL)
        goto fail;
    if (value == NULL && (value = scr_hash_new()) == NULL)
        goto fail;
    if (e != NULL) {
        if (e->hash != value)
            scr_hash_delete(e->hash);
        e->hash = value;
        return value;
    }
    if ((added = elem_new(key, value)) != NULL &&
        scr_items_link(&h->items, &added->item))
        return value;
fail:
    if (h != NULL)
        h->lost = 1;
    free(added);
    scr_hash_delete(value);
    return NULL;
}

scr_hash *scr_hash_get(const scr_hash *h, const char *key)
{
    return scr_hash_elem_hash(scr_hash_elem_get(h, key));
}

scr_hash *scr_hash_extract(scr_hash *h, const char *key)
{
    scr_hash_elem *e = scr_hash_elem_get(h, key);
    if (e == NULL)
        return NULL;
    scr_hash *value = e->hash;
    scr_items_unlink(&h->items, &e->item);
    free(e);
    return value;
}

int scr_hash_unset(scr_hash *h, const char *key)
{
    scr_hash *value = scr_hash_extract(h, key);
    scr_hash_delete(value);
    return value != NULL;
}

size_t scr_hash_size(const scr_hash *h)
{
    return h == NULL ? 0 : h->items.n;
}

scr_hash_elem *scr_hash_elem_first(const scr_hash *h)
{
    return h == NULL ? NULL : (scr_hash_elem *)h->items.first;
}

scr_hash_elem *scr_hash_elem_next(const scr_hash_elem *e)
{
    return e == NULL ? NULL : (scr_hash_elem *)e->item.next;
}

const char *scr_hash_elem_key(const scr_hash_elem *e)
{
    return e == NULL ? NULL : e->key;
}

/* A key that is a number is looked up by that number, so "07" and "+7" are none. */
int scr_hash_key_int(const char *key, int *out)
{
    const char *digits = *key == '-' ? key + 1 : key;
    int leading = *digits == '0' && (digits[1] != '\0' || digits != key);
    return *key != '+' && !leading && scr_parse_int(key, out);
}

int scr_hash_elem_key_int(const scr_hash_elem *e)
{
    int v;
    return e != NULL && scr_hash_key_int(e->key, &v) ? v : -1;
}

scr_hash *scr_hash_elem_hash(const scr_hash_elem *e)
{
    return e == NULL ? NULL : e->hash;
}

scr_hash *scr_hash_need(scr_hash *h, const char *key)
{
    scr_hash *value = scr_hash_get(h, key);
    return value != NULL ? value : scr_hash_set(h, key, NULL);
}

/* --- whole hashes --- */

int scr_hash_merge(scr_hash *dst, const scr_hash *src)
{
    if (src == NULL || dst == src)
        return SCR_OK;
    if (dst == NULL) /* it could not be made: what belongs there would be lost */
        return src->items.n == 0 ? SCR_OK : SCR_E_NOMEM;
    dst->lost |= src->lost;
    for (SCR_HASH_EACH(e, src)) {
        scr_hash *into = scr_hash_need(dst, e->key);
        if (into == NULL || scr_hash_merge(into, e->hash) != SCR_OK)
            return SCR_E_NOMEM;
    }
    return SCR_OK;
}

void scr_hash_move(scr_hash *dst, scr_hash *src)
{
    if (dst == NULL || src == NULL || dst == src)
        return;
    scr_hash_unset_all(dst);
    *dst = *src;
    memset(src, 0, sizeof *src);
}

int scr_hash_equal(const scr_hash *a, const scr_hash *b)
{
    if (scr_hash_size(a) != scr_hash_size(b))
        return 0;
    for (SCR_HASH_EACH(e, a)) {
        const scr_hash_elem *other = scr_hash_elem_get(b, e->key);
        if (other == NULL || !scr_hash_equal(e->hash, other->hash))
            return 0;
    }
    return 1;
}

int scr_hash_list_int(const scr_hash *h, int **vals, size_t *n)
{
    *vals = NULL;
    *n = 0;
    if (scr_hash_size(h) == 0)
        return 1;
    int *list = scr_calloc(h->items.n, sizeof *list);
    if (list == NULL)
        return 0;
    for (SCR_HASH_EACH(e, h))
        if (scr_hash_key_int(e->key, &list[*n]))
            ++*n;
    if (*n == 0) {
        free(list);
        return 1;
    }
    qsort(list, *n, sizeof *list, scr_by_int);
    *vals = list;
    return 1;
}
