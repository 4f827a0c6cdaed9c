/* SPDX-License-Identifier: BSD-3-Clause */
/* The hash: ordered tree of strings with an index once a level has more than a few
 * keys. */
#include "base/hash.h"

#include "base/str.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    INDEX_FROM =
        9, /* keys from which a level gets an index; below, a walk is as fast */
    FIRST_SLOTS = 32 /* slots of a new index, a power of two */
};

/* Millions of hashes hold a single key, so both structures are kept at the smallest: 24
 * bytes a hash, 28 plus the key an element. */
struct scr_hash_elem {
    scr_hash_elem *next; /* NULL at the end */
    scr_hash_elem *prev; /* of the first: the last */
    scr_hash *hash;
    uint32_t code; /* hash code of key under the index's seed; unset without an index */
    char key[];
};

/* Open addressing with linear probing; removal shifts back, so there are no tombstones.
 * The seed differs from run to run, which keeps prepared files from making all keys
 * collide. */
struct hash_index {
    uint64_t seed;
    size_t mask; /* slots - 1 */
    scr_hash_elem *slot[];
};

struct scr_hash {
    scr_hash_elem *first;
    struct hash_index *index; /* NULL while there are few keys */
    uint32_t size;
    uint32_t lost; /* an insertion was lost for want of memory */
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

size_t scr_hash_lookup_steps(const scr_hash *h)
{
    size_t steps = 0, at = 0;
    for (const scr_hash_elem *e = scr_hash_elem_first(h); e != NULL; e = e->next) {
        size_t i = h->index == NULL ? 0 : e->code & h->index->mask;
        steps += h->index == NULL ? ++at : 1;
        while (h->index != NULL && h->index->slot[i] != e) {
            i = (i + 1) & h->index->mask;
            steps++;
        }
    }
    return steps;
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

int scr_hash_elem_key_int(const scr_hash_elem *e)
{
    int v = -1;
    if (e != NULL)
        (void)scr_parse_int(e->key, &v);
    return v;
}

scr_hash *scr_hash_elem_hash(const scr_hash_elem *e)
{
    return e == NULL ? NULL : e->hash;
}

/* --- key/value pairs --- */

/* The hash under key, made if it is not there. */
static scr_hash *get_or_set(scr_hash *h, const char *key)
{
    scr_hash *value = scr_hash_get(h, key);
    return value != NULL ? value : scr_hash_set(h, key, NULL);
}

scr_hash *scr_hash_set_kv(scr_hash *h, const char *key, const char *val)
{
    return get_or_set(get_or_set(h, key), val);
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

scr_hash *scr_hash_set_val_crc(scr_hash *h, const char *key, uint32_t crc)
{
    char buf[INT_TEXT];
    (void)snprintf(buf, sizeof buf, "0x%08" PRIx32, crc);
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
    return scr_hash_size(values) == 1 ? values->first->key : NULL;
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

enum conv { S, D, LD, LLD, U, LU, LLU, ZU, F, X, LX, WORD, BAD };

static const struct {
    const char *text;
    enum conv conv;
} conversions[] = {
    { "%s", S }, { "%d", D },   { "%ld", LD },   { "%lld", LLD },
    { "%u", U }, { "%lu", LU }, { "%llu", LLU }, { "%zu", ZU },
    { "%f", F }, { "%lf", F },  { "%x", X },     { "%lx", LX },
};

enum {
    KEY_TEXT = 512
}; /* "%f" of the largest double needs 317 bytes; words are cut to this */

/* Conversion at the front of fmt; *len is its length without the space that ends it. */
static enum conv conv_at(const char *fmt, size_t *len)
{
    *len = strcspn(fmt, " ");
    if (*len == 0 || *len >= KEY_TEXT)
        return BAD;
    for (size_t i = 0; i < sizeof conversions / sizeof conversions[0]; i++)
        if (strlen(conversions[i].text) == *len &&
            memcmp(conversions[i].text, fmt, *len) == 0)
            return conversions[i].conv;
    return memchr(fmt, '%', *len) == NULL ? WORD : BAD;
}

/* 1 if fmt is conversions and words separated by single spaces, at least one. */
static int format_ok(const char *fmt)
{
    size_t len;
    while (fmt != NULL && conv_at(fmt, &len) != BAD) {
        if (fmt[len] == '\0')
            return 1;
        fmt += len + 1;
    }
    return 0;
}

/* Takes the next key off *fmt (NULL after the last one) and its argument off *ap. The
 * key is the argument itself or the text made of it in buf. */
static const char *next_key(const char **fmt, va_list *ap, char buf[KEY_TEXT])
{
    size_t len;
    enum conv conv = conv_at(*fmt, &len);
    const char *word = *fmt;
    *fmt = word[len] == '\0' ? NULL : word + len + 1;
    switch (conv) {
    case S:
        return va_arg(*ap, const char *);
    case D:
        return int_text(buf, va_arg(*ap, int));
    case LD:
        return int_text(buf, va_arg(*ap, long));
    case LLD:
        return int_text(buf, va_arg(*ap, long long));
    case U:
        return int_text(buf, va_arg(*ap, unsigned));
    case LU:
        (void)snprintf(buf, KEY_TEXT, "%lu", va_arg(*ap, unsigned long));
        return buf;
    case LLU:
        (void)snprintf(buf, KEY_TEXT, "%llu", va_arg(*ap, unsigned long long));
        return buf;
    case ZU:
        (void)snprintf(buf, KEY_TEXT, "%zu", va_arg(*ap, size_t));
        return buf;
    case F:
        (void)snprintf(buf, KEY_TEXT, "%f", va_arg(*ap, double));
        return buf;
    case X:
        (void)snprintf(buf, KEY_TEXT, "%x", va_arg(*ap, unsigned));
        return buf;
    case LX:
        (void)snprintf(buf, KEY_TEXT, "%lx", va_arg(*ap, unsigned long));
        return buf;
    default:
        (void)snprintf(buf, KEY_TEXT, "%.*s", (int)len, word);
        return buf;
    }
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
        h = get_or_set(h, key);
        key = next_key(&fmt, &ap, buf);
    }
    va_end(ap);
    return value == NULL ? get_or_set(h, key) : scr_hash_set(h, key, value);
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

/* --- whole hashes --- */

typedef int (*elem_cmp)(const scr_hash_elem *a, const scr_hash_elem *b, int order);

static int cmp_bytes(const scr_hash_elem *a, const scr_hash_elem *b, int order)
{
    return strcmp(a->key, b->key) * order;
}

static int cmp_numbers(const scr_hash_elem *a, const scr_hash_elem *b, int order)
{
    int64_t x = 0, y = 0;
    int x_ok = scr_parse_i64(a->key, &x), y_ok = scr_parse_i64(b->key, &y);
    if (x_ok != y_ok)
        return x_ok ? -1 : 1; /* what is no number comes last in both orders */
    if (x != y)
        return (x < y ? -1 : 1) * order;
    return cmp_bytes(a, b, order);
}

/* Takes the smaller head of the lists *a and *b off its list. */
static scr_hash_elem *take_smaller(scr_hash_elem **a, scr_hash_elem **b, elem_cmp cmp,
                                   int order)
{
    scr_hash_elem **from = *a == NULL || (*b != NULL && cmp(*b, *a, order) < 0) ? b : a;
    scr_hash_elem *e = *from;
    *from = e->next;
    return e;
}

/* Cuts list after n elements and returns what follows. */
static scr_hash_elem *cut_after(scr_hash_elem *list, size_t n)
{
    for (; list != NULL && n > 1; n--)
        list = list->next;
    if (list == NULL)
        return NULL;
    scr_hash_elem *rest = list->next;
    list->next = NULL;
    return rest;
}

/* One pass of a bottom-up merge sort: merges neighbouring runs of the given length. */
static scr_hash_elem *merge_runs(scr_hash_elem *list, size_t run, elem_cmp cmp,
                                 int order)
{
    scr_hash_elem *head = NULL, **tail = &head;
    while (list != NULL) {
        scr_hash_elem *a = list, *b = cut_after(a, run);
        list = cut_after(b, run);
        while (a != NULL || b != NULL) {
            *tail = take_smaller(&a, &b, cmp, order);
            tail = &(*tail)->next;
        }
    }
    return head;
}

/* Merge sort of the list itself: needs no memory, so it cannot fail. */
static void sort_by(scr_hash *h, elem_cmp cmp, int order)
{
    if (h == NULL || h->size < 2)
        return;
    for (size_t run = 1; run < h->size; run *= 2)
        h->first = merge_runs(h->first, run, cmp, order);
    scr_hash_elem *prev = h->first;
    for (scr_hash_elem *e = h->first; e != NULL; e = e->next) {
        e->prev = prev;
        prev = e;
    }
    h->first->prev = prev;
}

void scr_hash_sort(scr_hash *h, enum scr_hash_order order)
{
    sort_by(h, cmp_bytes, order);
}

void scr_hash_sort_int(scr_hash *h, enum scr_hash_order order)
{
    sort_by(h, cmp_numbers, order);
}

int scr_hash_merge(scr_hash *dst, const scr_hash *src)
{
    if (dst == NULL || src == NULL || dst == src)
        return SCR_OK;
    dst->lost |= src->lost;
    for (SCR_HASH_EACH(e, src)) {
        scr_hash *into = get_or_set(dst, e->key);
        if (into == NULL || scr_hash_merge(into, e->hash) != SCR_OK)
            return SCR_E_NOMEM;
    }
    return SCR_OK;
}

static int cmp_ints(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
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
        if (scr_parse_int(e->key, &list[*n]))
            ++*n;
    if (*n == 0) {
        free(list);
        return 1;
    }
    qsort(list, *n, sizeof *list, cmp_ints);
    *vals = list;
    return 1;
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

/* --- bytes --- */

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
            return scr_fail(u->err, SCR_E_NOMEM, 0, "packed hash: out of memory");
        rc = unpack_level(u, value, depth - 1);
    }
    return rc;
}

/* Moves every element of src into dst, merging where a key is in both; src is left
 * empty. */
static int absorb(scr_hash *dst, scr_hash *src)
{
    int rc = SCR_OK;
    while (src->first != NULL) {
        scr_hash_elem *e = src->first;
        scr_hash *there = scr_hash_get(dst, e->key);
        elem_unlink(src, e);
        if (there == NULL && elem_link(dst, e))
            continue;
        if (there == NULL || absorb(there, e->hash) != SCR_OK) {
            dst->lost = 1;
            rc = SCR_E_NOMEM;
        }
        scr_hash_delete(e->hash);
        free(e);
    }
    return rc;
}

/* Into an empty hash the whole content moves at once. */
static int absorb_all(scr_hash *dst, scr_hash *src)
{
    if (dst->size > 0)
        return absorb(dst, src);
    scr_hash was = *dst;
    *dst = *src;
    dst->lost |= was.lost;
    *src = was;
    return SCR_OK;
}

int scr_hash_unpack(const void *buf, size_t n, scr_hash *h, size_t *used,
                    struct scr_err *err)
{
    struct unpacker u = { buf, n, buf, err };
    scr_hash *fresh = scr_hash_new();
    if (fresh == NULL)
        return scr_fail(err, SCR_E_NOMEM, 0, "packed hash: out of memory");
    int rc = unpack_level(&u, fresh, SCR_HASH_DEPTH);
    if (rc == SCR_OK && h != NULL && (rc = absorb_all(h, fresh)) != SCR_OK)
        (void)scr_fail(err, rc, 0, "packed hash: out of memory");
    if (rc == SCR_OK && used != NULL)
        *used = n - u.left;
    scr_hash_delete(fresh);
    return rc;
}

/* --- people --- */

static void print_key(FILE *out, const char *key)
{
    for (const unsigned char *p = (const unsigned char *)key; *p != '\0'; p++) {
        if (*p < 0x20 || *p == 0x7f)
            (void)fprintf(out, "\\x%02X", *p);
        else
            (void)fputc(*p, out);
    }
}

/* The value of an element that is a plain "key = value", else NULL. */
static const char *plain_value(const scr_hash_elem *e)
{
    const scr_hash *h = e->hash;
    return scr_hash_size(h) == 1 && scr_hash_size(h->first->hash) == 0 ? h->first->key
                                                                       : NULL;
}

void scr_hash_fprint(FILE *out, const scr_hash *h, int indent)
{
    for (SCR_HASH_EACH(e, h)) {
        const char *value = plain_value(e);
        (void)fprintf(out, "%*s", indent, "");
        print_key(out, e->key);
        if (value != NULL) {
            (void)fputs(" = ", out);
            print_key(out, value);
        }
        (void)fputc('\n', out);
        if (value == NULL)
            scr_hash_fprint(out, e->hash, indent + 2);
    }
}

void scr_hash_print(const scr_hash *h, int indent)
{
    scr_hash_fprint(stdout, h, indent);
}
