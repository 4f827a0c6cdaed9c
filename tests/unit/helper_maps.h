/* SPDX-License-Identifier: BSD-3-Clause */
/* Filemaps in tests: what they are on disk. Without memory the test ends. */
#ifndef SCR_TEST_HELPER_MAPS_H
#define SCR_TEST_HELPER_MAPS_H

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "fmt/filemap.h"
#include "helper_pack.h"

static inline void test_need(int ok)
{
    if (!ok)
        abort();
}

/* The packed hash; the caller frees it. */
static inline struct scr_str test_packed(const scr_filemap *map)
{
    struct scr_str s = SCR_STR_INIT;
    scr_filemap_pack(&s, map);
    test_need(!s.bad);
    return s;
}

/* The same bytes. */
static inline int test_maps_same(const scr_filemap *a, const scr_filemap *b)
{
    struct scr_str x = test_packed(a), y = test_packed(b);
    int same = x.len == y.len && memcmp(x.p, y.p, x.len) == 0;
    scr_str_free(&x);
    scr_str_free(&y);
    return same;
}

/* The hash it is on disk. */
static inline scr_hash *test_map_tree(const scr_filemap *map)
{
    struct scr_str s = test_packed(map);
    scr_hash *h = scr_hash_new();
    test_need(scr_hash_unpack(s.p, s.len, h, NULL, NULL) == SCR_OK);
    scr_str_free(&s);
    return h;
}

/* Both say the same, in whatever order. */
static inline int test_maps_equal(const scr_filemap *a, const scr_filemap *b)
{
    scr_hash *x = test_map_tree(a), *y = test_map_tree(b);
    int equal = scr_hash_equal(x, y);
    scr_hash_delete(x);
    scr_hash_delete(y);
    return equal;
}

/* The result of unpacking this tree into map, from a block of just its size. */
static inline int test_take_tree(const scr_hash *h, scr_filemap *map,
                                 struct scr_err *err)
{
    size_t n;
    void *bytes = test_hash_packed(h, &n);
    int rc = scr_filemap_unpack(bytes, n, map, err);
    free(bytes);
    return rc;
}

/* Nothing at all is in it. */
static inline int test_map_is_empty(const scr_filemap *map)
{
    return test_maps_same(map, NULL);
}

#endif
