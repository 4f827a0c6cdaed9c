/* SPDX-License-Identifier: BSD-3-Clause */
/* The hash: ordered tree of strings with an index once a level has more than a few
 * keys. */
#include "base/hash_impl.h"
#include "base/str.h"
#include <stdlib.h>
#include <string.h>

enum {
    INDEX_FROM =
        9, /* keys from which a level gets an index; below, a walk is as fast */
    FIRST_SLOTS = 32 /* slots of a new index, a power of two */
};

/* --- index --- */

/* FNV-1a over the seed, then the finaliser of splitmix64 to spread it over the low
 * bits. */
static uint32_t key_code(uint64_t seed, const char *key)
{
    uint64_t x = seed;
    for (; *key != '\0'; key++)
        x = (x ^ (unsigned char)*key) * UINT64_C(0x100000001b3);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)(x >> 32);
}

static struct hash_index *index_new(size_t slots, uint64_t seed)
{
    if (slots > (SIZE_MAX - sizeof(struct hash_index)) / sizeof(scr_hash_elem *))
        return NULL;
    struct hash_index *ix = calloc(1, sizeof *ix + slots * sizeof ix->slot[0]);
    if (ix == NULL)
        return NULL;
    ix->seed =
        seed != 0 ? seed : (uint64_t)(uintptr_t)ix ^ UINT64_C(0xcbf29ce484222325);
    ix->mask = slots - 1;
    return ix;
}

static void index_put(struct hash_index *ix, scr_hash_elem *e)
{
    size_t i = e->code & ix->mask;
    while (ix->slot[i] != NULL)
        i = (i + 1) & ix->mask;
    ix->slot[i] = e;
}

static scr_hash_elem *index_find(const struct hash_index *ix, const char *key)
{
    uint32_t code = key_code(ix->seed, key);
    for (size_t i = code & ix->mask; ix->slot[i] != NULL; i = (i + 1) & ix->mask)
        if (ix->slot[i]->code == code && strcmp(ix->slot[i]->key, key) == 0)
            return ix->slot[i];
    return NULL;
}

/* Empties the slot of e and moves back every later element of the run that may fill it.
 */
static void index_drop(struct hash_index *ix, const scr_hash_elem *e)
{
    size_t hole = e->code & ix->mask;
    while (ix->slot[hole] != e)
        hole = (hole + 1) & ix->mask;
    for (size_t i = (hole + 1) & ix->mask; ix->slot[i] != NULL;
         i = (i + 1) & ix->mask) {
        size_t home = ix->slot[i]->code & ix->mask;
        if (((i - home) & ix->mask) < ((i - hole) & ix->mask))
            continue; /* its home lies after the hole */
        ix->slot[hole] = ix->slot[i];
        hole = i;
    }
    ix->slot[hole] = NULL;
}

/* Makes room in the index for one element more, building or doubling it; 0: no memory.
 */
static int index_reserve(scr_hash *h)
{
    struct hash_index *old = h->index;
    size_t want = (size_t)h->size + 1;
    if (old == NULL ? want < INDEX_FROM : want <= (old->mask + 1) / 4 * 3)
        return 1;
    size_t slots = old == NULL ? FIRST_SLOTS : (old->mask + 1) * 2;
    struct hash_index *ix = index_new(slots, old == NULL ? 0 : old->seed);
    if (ix == NULL)
        return 0;
    for (scr_hash_elem *e = h->first; e != NULL; e = e->next) {
        if (old == NULL)
            e->code = key_code(ix->seed, e->key);
        index_put(ix, e);
    }
    free(old);
    h->index = ix;
    return 1;
}

/* --- life --- */

scr_hash *scr_hash_new(void)
{
    return calloc(1, sizeof(scr_hash));
}

/* Without recursion, so that a tree of any depth can be freed: the children of each
 * element are put in front of the elements still to free. */
void scr_hash_unset_all(scr_hash *h)
{
    if (h == NULL)
        return;
    scr_hash_elem *e = h->first;
    while (e != NULL) {
        scr_hash_elem *rest = e->next;
        if (e->hash != NULL && e->hash->first != NULL) {
            e->hash->first->prev->next = rest;
            rest = e->hash->first;
        }
        if (e->hash != NULL)
            free(e->hash->index);
        free(e->hash);
        free(e);
        e = rest;
    }
    free(h->index);
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
    if (h == NULL || key == NULL)
        return NULL;
    if (h->index != NULL)
        return index_find(h->index, key);
    scr_hash_elem *e = h->first;
    while (e != NULL && strcmp(e->key, key) != 0)
        e = e->next;
    return e;
}

/* Appends e, whose key is not in h yet; 0: no memory, nothing changed. */
static int elem_link(scr_hash *h, scr_hash_elem *e)
{
    if (h->size == UINT32_MAX || !index_reserve(h))
        return 0;
    if (h->index != NULL) {
        e->code = key_code(h->index->seed, e->key);
        index_put(h->index, e);
    }
    scr_hash_elem *last = h->first == NULL ? e : h->first->prev;
    e->prev = last;
    e->next = NULL;
    if (h->first == NULL)
        h->first = e;
    else
        last->next = e;
    h->first->prev = e;
    h->size++;
    return 1;
}

static void elem_unlink(scr_hash *h, scr_hash_elem *e)
{
    if (h->index != NULL)
        index_drop(h->index, e);
    if (e->next != NULL)
        e->next->prev = e->prev;
    else
        h->first->prev = e->prev;
    if (e == h->first)
        h->first = e->next;
    else
        e->prev->next = e->next;
    if (--h->size == 0) {
        free(h->index);
        h->index = NULL;
    }
}

static scr_hash_elem *elem_new(const char *key, scr_hash *value)
{
    size_t n = strlen(key) + 1;
    size_t bytes = offsetof(scr_hash_elem, key) + n;
    scr_hash_elem *e = malloc(bytes < sizeof *e ? sizeof *e : bytes);
    if (e == NULL)
        return NULL;
    e->hash = value;
    e->code = 0;
    memcpy(e->key, key, n);
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
    if ((added = elem_new(key, value)) != NULL && elem_link(h, added))
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
    elem_unlink(h, e);
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
    return h == NULL ? 0 : h->size;
}

scr_hash_elem *scr_hash_elem_first(const scr_hash *h)
{
    return h == NULL ? NULL : h->first;
}

scr_hash_elem *scr_hash_elem_next(const scr_hash_elem *e)
{
    return e == NULL ? NULL : e->next;
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
        return src->first == NULL ? SCR_OK : SCR_E_NOMEM;
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
    int *list = scr_calloc(h->size, sizeof *list);
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
