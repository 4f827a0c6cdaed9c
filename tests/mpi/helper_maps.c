/* SPDX-License-Identifier: BSD-3-Clause */
/* Filemaps in tests. */
#include "helper_maps.h"

scr_hash *test_map_tree(const scr_filemap *map)
{
    struct scr_str s = SCR_STR_INIT;
    scr_hash *h = scr_hash_new();
    scr_filemap_pack(&s, map);
    if (s.bad || scr_hash_unpack(s.p, s.len, h, NULL, NULL) != SCR_OK) {
        scr_hash_delete(h);
        h = NULL;
    }
    scr_str_free(&s);
    return h;
}

int test_maps_equal(const scr_filemap *a, const scr_filemap *b)
{
    scr_hash *x = test_map_tree(a), *y = test_map_tree(b);
    int equal = x != NULL && y != NULL && scr_hash_equal(x, y);
    scr_hash_delete(x);
    scr_hash_delete(y);
    return equal;
}
