/* SPDX-License-Identifier: BSD-3-Clause */
/* The inside of a hash, shared by the files hash*.c and their test alone. */
#ifndef SCR_BASE_HASH_IMPL_H
#define SCR_BASE_HASH_IMPL_H

#include "base/hash.h"

/* Millions of hashes hold a single key, so both structures are kept at the smallest: 24
 * bytes a hash, 28 plus the key an element. */
struct scr_hash_elem {
    scr_hash_elem *next; /* NULL at the end */
    scr_hash_elem *prev; /* of the first: the last */
    scr_hash *hash;
    uint32_t code; /* hash code of key under the index's seed; unset without an index */
    char key[];
};

struct scr_hash {
    scr_hash_elem *first;
    struct hash_index *index; /* NULL while there are few keys */
    uint32_t size;
    uint32_t lost; /* an insertion was lost for want of memory */
};

/* Open addressing with linear probing; removal shifts back, so there are no tombstones.
 * The seed differs from run to run, which keeps prepared files from making all keys
 * collide. */
struct hash_index {
    uint64_t seed;
    size_t mask; /* slots - 1 */
    scr_hash_elem *slot[];
};

/* The hash under key, made if it is not there; NULL (and h marked) without memory. */
scr_hash *scr_hash_need(scr_hash *h, const char *key);

#endif
