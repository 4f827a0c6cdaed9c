/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables: a list of items, with chains by the hash of their names once there are more
 * than a few. */
#include "base/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

/* Items from which there is an index; below, a walk is as fast. */
enum { INDEX_FROM = 9, FIRST_BUCKETS = 16 };

/* A hash that begins with the seed, spread over the low bits. */
static uint32_t code_of(const struct scr_buckets *b, const char *name)
{
    uint64_t x = scr_bytes_key(b->seed, name, strlen(name));
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    return (uint32_t)(x >> 32);
}

static void chain_in(struct scr_buckets *b, struct scr_item *e)
{
    struct scr_item **first = &b->first[e->code & b->mask];
    e->chain = *first;
    *first = e;
}

/* For one item more: as many buckets as items, at least. 0: no memory. */
static int reserve(struct scr_items *s)
{
    struct scr_buckets *old = s->index;
    if (s->n + 1 < (old == NULL ? INDEX_FROM : old->mask + 1))
        return 1;
    size_t n = old == NULL ? FIRST_BUCKETS : 2 * (old->mask + 1);
    struct scr_buckets *b = calloc(1, sizeof *b + n * sizeof b->first[0]);
    if (b == NULL)
        return 0;
    b->mask = n - 1;
    b->seed = old != NULL ? old->seed : (uint64_t)(uintptr_t)b ^ SCR_KEY_OF_NOTHING;
    for (struct scr_item *e = s->first; e != NULL; e = e->next) {
        e->code = old != NULL ? e->code : code_of(b, e->name);
        chain_in(b, e);
    }
    free(old);
    s->index = b;
    return 1;
}

/* --- items --- */

void *scr_items_find(const struct scr_items *s, const char *name)
{
    const struct scr_buckets *b = s->index;
    uint32_t code = b != NULL ? code_of(b, name) : 0;
    struct scr_item *e = b != NULL ? b->first[code & b->mask] : s->first;
    while (e != NULL && (e->code != code || strcmp(e->name, name) != 0))
        e = b != NULL ? e->chain : e->next;
    return e;
}

int scr_items_link(struct scr_items *s, struct scr_item *e)
{
    if (!reserve(s))
        return 0;
    e->code = 0;
    if (s->index != NULL) {
        e->code = code_of(s->index, e->name);
        chain_in(s->index, e);
    }
    e->next = NULL;
    e->prev = s->first != NULL ? s->first->prev : e;
    if (s->first != NULL)
        s->first->prev->next = e;
    else
        s->first = e;
    s->first->prev = e;
    s->n++;
    return 1;
}

void scr_items_unlink(struct scr_items *s, struct scr_item *e)
{
    if (s->index != NULL) {
        struct scr_item **at = &s->index->first[e->code & s->index->mask];
        while (*at != e)
            at = &(*at)->chain;
        *at = e->chain;
    }
    if (e->next != NULL)
        e->next->prev = e->prev;
    else
        s->first->prev = e->prev;
    if (e == s->first)
        s->first = e->next;
    else
        e->prev->next = e->next;
    s->n--;
}

/* --- tables --- */

void scr_table_init(struct scr_table *t, size_t item_size)
{
    *t = (struct scr_table){ .size = item_size, .arena = SCR_ARENA_INIT };
}

void scr_table_fini(struct scr_table *t)
{
    free(t->items.index);
    scr_arena_free(&t->arena);
    scr_table_init(t, t->size);
}

int scr_table_ok(const struct scr_table *t)
{
    return !t->arena.lost;
}

void *scr_table_find(const struct scr_table *t, const char *name)
{
    return t != NULL && name != NULL ? scr_items_find(&t->items, name) : NULL;
}

static void *add(struct scr_table *t, const char *name, int is_lent)
{
    void *known = scr_table_find(t, name);
    if (known != NULL || name == NULL)
        return known;
    struct scr_item *e = scr_arena_get(&t->arena, t->size);
    if (e != NULL)
        e->name = is_lent ? name : scr_arena_share(&t->arena, name);
    if (e == NULL || e->name == NULL)
        return NULL;
    if (scr_items_link(&t->items, e))
        return e;
    t->arena.lost = 1;
    return NULL;
}

void *scr_table_add(struct scr_table *t, const char *name)
{
    return add(t, name, 0);
}

void *scr_table_lend(struct scr_table *t, const char *name)
{
    return add(t, name, 1);
}

void scr_table_remove(struct scr_table *t, void *item)
{
    scr_items_unlink(&t->items, item);
}

int scr_table_drop(struct scr_table *t, const char *name)
{
    void *item = scr_table_find(t, name);
    if (item != NULL)
        scr_table_remove(t, item);
    return item != NULL;
}
