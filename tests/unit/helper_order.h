/* SPDX-License-Identifier: BSD-3-Clause */
/* Hashes with their keys in another order than the library writes them. */
#ifndef SCR_TEST_HELPER_ORDER_H
#define SCR_TEST_HELPER_ORDER_H

#include "helper_tmp.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

static inline int test_bytewise(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static inline int test_bytewise_down(const void *a, const void *b)
{
    return test_bytewise(b, a);
}

static inline int test_numbers_down(const void *a, const void *b)
{
    long x = strtol(*(const char *const *)a, NULL, 10);
    long y = strtol(*(const char *const *)b, NULL, 10);
    return (y > x) - (y < x);
}

/* Puts the keys of this one level into the order of cmp. */
static inline void test_hash_sort(scr_hash *h, int (*cmp)(const void *, const void *))
{
    size_t n = 0;
    const char **keys = calloc(scr_hash_size(h) + 1, sizeof *keys);
    scr_hash *sorted = scr_hash_new();
    assert_non_null(keys);
    assert_non_null(sorted);
    for (SCR_HASH_EACH(e, h))
        keys[n++] = scr_hash_elem_key(e);
    qsort(keys, n, sizeof *keys, cmp);
    for (size_t i = 0; i < n; i++)
        assert_non_null(
            scr_hash_set(sorted, keys[i], scr_hash_dup(scr_hash_get(h, keys[i]))));
    scr_hash_move(h, sorted);
    scr_hash_delete(sorted);
    free(keys);
}

#endif
