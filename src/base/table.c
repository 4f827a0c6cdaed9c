/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables: a list of items, with chains by the hash of their names once there are more
 * than a few. */
#include "base/table.h"

#include <stdlib.h>
#include <string.h>

/* Items from which a table gets buckets; below, a walk is as fast. */
enum { BUCKETS_FROM = 9, FIRST_BUCKETS = 16 };

void scr_table_init(struct scr_table *t, size_t item_size)
{
    *t = (struct scr_table){ .size = item_size, .arena = SCR_ARENA_INIT };
}

void scr_table_fini(struct scr_table *t)
{
    free(t->bucket);
    scr_arena_free(&t->arena);
    scr_table_init(t, t->size);
}

int scr_table_ok(const struct scr_table *t)
{
    return !t->arena.lost;
}

/* FNV-1a over the seed, which differs from run to run: prepared names do not collide.
 */
static uint32_t code_of(const struct scr_table *t, const char *name)
{
    uint64_t x = t->seed;
    for (; *name != '\0'; name++)
        x = (x ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    return (uint32_t)(x >> 32);
}

static struct scr_item **bucket_of(const struct scr_table *t, uint32_t code)
{
    return &t->bucket[code & (t->nbuckets - 1)];
}

static void chain_in(struct scr_table *t, struct scr_item *e)
{
    struct scr_item **b = bucket_of(t, e->code);
    e->chain = *b;
    *b = e;
}

/* As many buckets as items, at least. */
static int rehash(struct scr_table *t)
{
    size_t want = t->nbuckets == 0 ? FIRST_BUCKETS : t->nbuckets * 2;
    if (t->n + 1 < (t->nbuckets == 0 ? BUCKETS_FROM : t->nbuckets))
        return 1;
    struct scr_item **fresh = calloc(want, sizeof(struct scr_item *));
    if (fresh == NULL) {
        t->arena.lost = 1;
        return 0;
    }
    if (t->seed == 0)
        t->seed = (uint64_t)(uintptr_t)fresh ^ UINT64_C(0xcbf29ce484222325);
    int coded = t->nbuckets > 0;
    free(t->bucket);
    t->bucket = fresh;
    t->nbuckets = want;
    for (struct scr_item *e = t->first; e != NULL; e = e->next) {
        e->code = coded ? e->code : code_of(t, e->name);
        chain_in(t, e);
    }
    return 1;
}

void *scr_table_find(const struct scr_table *t, const char *name)
{
    if (t == NULL || name == NULL)
        return NULL;
    uint32_t code = t->bucket != NULL ? code_of(t, name) : 0;
    struct scr_item *e = t->bucket != NULL ? *bucket_of(t, code) : t->first;
    while (e != NULL && (e->code != code || strcmp(e->name, name) != 0))
        e = t->bucket != NULL ? e->chain : e->next;
    return e;
}

void *scr_table_add(struct scr_table *t, const char *name)
{
    void *known = scr_table_find(t, name);
    if (known != NULL || name == NULL || !rehash(t))
        return known;
    struct scr_item *e = scr_arena_get(&t->arena, t->size);
    if (e == NULL || (e->name = scr_arena_text(&t->arena, name)) == NULL)
        return NULL;
    if (t->bucket != NULL) {
        e->code = code_of(t, name);
        chain_in(t, e);
    }
    e->prev = t->first != NULL ? t->first->prev : e;
    if (t->first != NULL)
        t->first->prev->next = e;
    else
        t->first = e;
    t->first->prev = e;
    t->n++;
    return e;
}

void scr_table_remove(struct scr_table *t, void *item)
{
    struct scr_item *e = item;
    if (t->bucket != NULL) {
        struct scr_item **at = bucket_of(t, e->code);
        while (*at != e)
            at = &(*at)->chain;
        *at = e->chain;
    }
    if (e->next != NULL)
        e->next->prev = e->prev;
    else
        t->first->prev = e->prev;
    if (e == t->first)
        t->first = e->next;
    else
        e->prev->next = e->next;
    t->n--;
}

int scr_table_drop(struct scr_table *t, const char *name)
{
    void *item = scr_table_find(t, name);
    if (item != NULL)
        scr_table_remove(t, item);
    return item != NULL;
}
