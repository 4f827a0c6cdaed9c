/* SPDX-License-Identifier: BSD-3-Clause */
#include "helper_filemap.h"

const char *tag_of(const scr_filemap *map, int dset, int rank, const char *tag)
{
    const struct scr_entry *e = scr_filemap_entry(map, dset, rank);
    return e != NULL ? scr_hash_get_val(e->tags, tag) : NULL;
}

void assert_sound(const scr_filemap *map)
{
    struct scr_str s = test_packed(map);
    scr_filemap *again = scr_filemap_new();
    assert_true(scr_filemap_ok(map));
    assert_int_equal(scr_filemap_unpack(s.p, s.len, again, NULL), SCR_OK);
    assert_true(test_maps_same(map, again));
    for (size_t i = 1; i < map->n; i++) {
        const struct scr_entry *a = map->entry[i - 1], *b = map->entry[i];
        assert_true(a->dset < b->dset || (a->dset == b->dset && a->rank < b->rank));
    }
    scr_filemap_delete(again);
    scr_str_free(&s);
}

scr_filemap *filemap_example(void)
{
    scr_filemap *map = scr_filemap_new();
    scr_filemap_add_file(map, 10, 20, "/c/foo_20.ckpt.10");
    scr_filemap_add_file(map, 10, 20, "/c/foo_20.ckpt.10.xor");
    scr_filemap_set_expected_files(map, 10, 20, 2);
    scr_filemap_add_file(map, 11, 20, "/c/foo_20.ckpt.11");
    scr_filemap_set_expected_files(map, 11, 20, 1);
    scr_filemap_add_file(map, 11, 28, "/c/foo_28.ckpt.11");
    scr_filemap_set_tag(map, 11, 28, "PARTNER", "atlas56");
    assert_sound(map);
    return map;
}

void assert_list(int rc, int n, int *list, int first, int second)
{
    assert_int_equal(rc, SCR_OK);
    assert_int_equal(n, (first >= 0) + (second >= 0));
    if (first >= 0)
        assert_int_equal(list[0], first);
    if (second >= 0)
        assert_int_equal(list[1], second);
    free(list);
}

void assert_datasets(const scr_filemap *map, int first, int second)
{
    int n = 0, *list = NULL;
    int rc = scr_filemap_list_datasets(map, &n, &list);
    assert_list(rc, n, list, first, second);
}

int num_ranks(const scr_filemap *map)
{
    struct scr_ids ranks = { 0 };
    for (size_t i = 0; i < map->n; i++)
        assert_int_equal(scr_ids_add(&ranks, map->entry[i]->rank, NULL), SCR_OK);
    int n = (int)ranks.n;
    scr_ids_fini(&ranks);
    return n;
}

scr_filemap *rich(void)
{
    scr_hash *h = scr_hash_new();
    scr_filemap *map = filemap_example(), *old = scr_filemap_new();
    struct stat st = { .st_mode = 0100600, .st_uid = 1000, .st_gid = 100 };
    scr_meta *m = scr_meta_new();
    scr_meta_set(m, "foo", "FULL", 5, (struct scr_meta_of){ 11, 20, 32 }, 1);
    scr_meta_set_crc32(m, 7);
    scr_meta_set_text(m, SCR_META_ORIG, "foo");
    scr_meta_set_stat(m, &st);
    scr_filemap_set_meta(map, 11, 20, "/c/foo_20.ckpt.11", m);
    scr_filemap_set_meta(map, 10, 20, "/c/foo_20.ckpt.10", NULL);
    scr_filemap_set_meta(map, 11, 28, "relative/file", m);
    scr_filemap_add_file(map, 11, 28, "relative/found")->meta.size = 7;
    scr_hash_set_val(h, "ID", "11");
    scr_hash_setf(h, NULL, "GROUP 1 2");
    scr_filemap_set_dataset(map, 11, 20, h);
    scr_filemap_set_desc(map, 11, 20, h);
    scr_filemap_set_dataset(map, 10, 20, NULL);
    scr_filemap_set_tag(map, 11, 28, "", "of the tag without name");
    scr_filemap_set_tag(map, 11, 28, "MORE", "");
    scr_filemap_add_file(old, 11, 20, "/c/old");
    scr_filemap_add_rank(old, 10, 28);
    scr_filemap_set_expected_files(old, 10, 28, 0);
    assert_int_equal(scr_filemap_set_aside(map, 3, old, 11, 20), SCR_OK);
    assert_int_equal(scr_filemap_set_aside(map, 3, old, 10, 28), SCR_OK);
    assert_int_equal(scr_filemap_set_aside(map, -4, old, 11, 20), SCR_OK);
    scr_filemap_delete(old);
    scr_hash_delete(h);
    scr_meta_delete(m);
    assert_sound(map);
    return map;
}
