/* SPDX-License-Identifier: BSD-3-Clause */
/* A table: items with a name, in the order they were added, found by name.
 *
 *     struct place { struct scr_item item; uint64_t size; };
 *     struct scr_table t = SCR_TABLE_OF(struct place);
 *     struct place *p = scr_table_add(&t, "a/b");   // the one there is, or a new one
 *     for (SCR_EACH(struct place, f, &t))
 *         … f->item.name …
 *     rc = scr_table_ok(&t) ? SCR_OK : SCR_E_NOMEM; // once, when all is added
 *     scr_table_fini(&t);
 *
 * An item is a struct that begins with a struct scr_item; it stays where it is until it
 * is removed or the table ends, which frees items and texts at once. Adding, finding
 * and removing cost the same however many there are. After a failed allocation what was
 * asked for is NULL and scr_table_ok says 0 for ever. Not thread-safe. */
#ifndef SCR_BASE_TABLE_H
#define SCR_BASE_TABLE_H

#include "base/arena.h"
#include <stdint.h>

struct scr_item {
    const char *name;       /* the table's */
    struct scr_item *next;  /* in the order of the table; NULL at the end */
    struct scr_item *prev;  /* of the first: the last */
    struct scr_item *chain; /* the next with the same bucket */
    uint32_t code;
};

/* The seed differs from run to run: prepared names do not collide. */
struct scr_buckets {
    uint64_t seed;
    size_t mask; /* buckets - 1: a power of two */
    struct scr_item *first[];
};

/* What a table, and a level of a hash, has its items by. */
struct scr_items {
    struct scr_item *first;
    size_t n;
    struct scr_buckets *index; /* NULL while there are few */
};

struct scr_table {
    union { /* so that t->first and t->n are those of t->items */
        struct scr_items items;
        struct {
            struct scr_item *first;
            size_t n;
        };
    };
    size_t size;            /* bytes of an item */
    struct scr_arena arena; /* of items and of what belongs to them */
};

/* What a table begins as; scr_table_init for one that cannot have an initialiser. */
#define SCR_TABLE_OF(type)                                                             \
    {                                                                                  \
        .size = sizeof(type)                                                           \
    }
void scr_table_init(struct scr_table *t, size_t item_size);
/* Removes every item, and frees what they took: the table is as new. */
void scr_table_fini(struct scr_table *t);

/* The item of that name; a new one is zeroed except for its struct scr_item. NULL: out
 * of memory. */
void *scr_table_add(struct scr_table *t, const char *name);
/* The same, but a name that is new is not copied: it lasts as long as the table. */
void *scr_table_lend(struct scr_table *t, const char *name);
/* NULL: there is none. t may be NULL. */
void *scr_table_find(const struct scr_table *t, const char *name);
/* Takes it out; its memory stays until the table ends. */
void scr_table_remove(struct scr_table *t, void *item);
/* The same by its name: 1, or 0 if there is none. */
int scr_table_drop(struct scr_table *t, const char *name);
int scr_table_ok(const struct scr_table *t);

/* The same for items that the caller makes and frees, and the index with them. Link:
 * e has a name that no other has; 0: out of memory, and nothing has changed. */
void *scr_items_find(const struct scr_items *s, const char *name);
int scr_items_link(struct scr_items *s, struct scr_item *e);
void scr_items_unlink(struct scr_items *s, struct scr_item *e);

/* for (SCR_EACH(type, e, table)): each item as a type *e. The current one must not be
 * removed inside. */
#define SCR_EACH(type, e, table)                                                       \
    type *e = (type *)(table)->first;                                                  \
    (e) != NULL;                                                                       \
    (e) = (type *)((struct scr_item *)(e))->next

#endif
