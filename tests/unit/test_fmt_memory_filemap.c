/* SPDX-License-Identifier: BSD-3-Clause */
/* Want of memory in operations on filemaps and their meta data. */
#include "helper_operations.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef TEST_ALLOC

static void some_files(scr_filemap *map)
{
    scr_hash *made = scr_hash_new();
    scr_meta *meta = scr_meta_new();
    scr_meta_set(meta, "a", "FULL", 5, (struct scr_meta_of){ 6, 0, 3 }, 1);
    scr_meta_set_text(meta, SCR_META_ORIG, "dir/a");
    scr_hash_set_val_i64(made, "CREATED", 9);
    for (int rank = 0; rank < 3; rank++) {
        scr_filemap_add_file(map, 6, rank, "/c/a");
        scr_filemap_set_meta(map, 6, rank, "/c/a", meta);
        scr_filemap_set_expected_files(map, 6, rank, 1);
        scr_filemap_set_dataset(map, 6, rank, made);
        scr_filemap_add_file(map, 7, rank, "/c/b");
        scr_filemap_set_desc(map, 7, rank, made);
        scr_filemap_set_tag(map, 7, rank, "PARTNER", "node1");
        scr_filemap_set_tag(map, 7, rank, "OTHER", "node2");
    }
    if (meta == NULL || made == NULL || meta->arena->lost || !scr_hash_ok(made))
        map->lost = 1; /* what was entered is less than was meant */
    scr_meta_delete(meta);
    scr_hash_delete(made);
}

static void many_names(scr_filemap *map)
{
    char name[32];
    some_files(map);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "/c/%d", i);
        scr_filemap_add_file(map, 6, 1, name);
    }
    for (int i = 0; i < 4; i++) { /* texts that need separate blocks */
        struct scr_str s = SCR_STR_INIT;
        for (int k = 0; k < 3000; k++)
            scr_str_append(&s, "x");
        scr_meta_set_text(scr_filemap_get_meta(map, 6, i % 3, "/c/a"), SCR_META_ORIG,
                          s.p);
        map->lost |= s.bad;
        scr_str_free(&s);
    }
}

static void with_aside(scr_filemap *map)
{
    some_files(map);
    if (scr_filemap_set_aside(map, 3, map, 6, 1) != SCR_OK ||
        scr_filemap_set_aside(map, 4, map, 7, 1) != SCR_OK ||
        scr_filemap_set_aside(map, 4, map, 7, 2) != SCR_OK)
        map->lost = 1;
}

/* 1 if the map can be written, and then is the wanted one. */
static int whole_map(const scr_filemap *map, const scr_filemap *want)
{
    if (map == NULL || !scr_filemap_ok(map))
        return 0;
    long armed = test_alloc_pause(); /* comparing takes memory, too */
    assert_true(test_maps_same(map, want));
    test_alloc_resume(armed);
    return 1;
}

static int build_map(scr_filemap *given)
{
    scr_filemap *map = scr_filemap_new();
    if (map != NULL)
        with_aside(map);
    int ok = whole_map(map, given);
    scr_filemap_delete(map);
    return ok;
}

static int build_large_map(scr_filemap *given)
{
    scr_filemap *map = scr_filemap_new();
    if (map != NULL)
        many_names(map);
    int ok = whole_map(map, given);
    scr_filemap_delete(map);
    return ok;
}

static int duplicate_map(scr_filemap *given)
{
    scr_filemap *map = scr_filemap_dup(given);
    int ok = map != NULL;
    assert_true(map == NULL || whole_map(map, given));
    scr_filemap_delete(map);
    return ok;
}

static int merge_map(scr_filemap *given)
{
    scr_filemap *map = scr_filemap_new();
    int ok = map != NULL && scr_filemap_add_file(map, 6, 1, "/c/a") != NULL &&
             scr_filemap_merge(map, given) == SCR_OK;
    assert_true(!ok || whole_map(map, given));
    scr_filemap_delete(map);
    return ok;
}

/* Of a map that is used up by it. */
static int take_map(scr_filemap *given)
{
    scr_filemap *map = scr_filemap_new(), *spent = scr_filemap_dup(given);
    int ok = map != NULL && scr_filemap_add_file(map, 6, 1, "/c/a") != NULL &&
             spent != NULL && scr_filemap_take(map, spent) == SCR_OK;
    scr_filemap_delete(spent);
    assert_true(!ok || whole_map(map, given));
    scr_filemap_delete(map);
    return ok;
}

/* Into an empty map, or one with an entry more; it is there completely, or not at all,
 * or known not to be. */
static int unpack_map(scr_filemap *given, int full)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_str s = SCR_STR_INIT;
    scr_filemap *map = scr_filemap_new();
    scr_filemap_pack(&s, given);
    int ok = map != NULL && !s.bad &&
             (!full || scr_filemap_add_file(map, 6, 1, "/c/a") != NULL);
    if (ok) {
        int rc = scr_filemap_unpack(s.p, s.len, map, &err);
        assert_true(rc == SCR_OK || (rc == SCR_E_NOMEM && err.code == rc));
        assert_true(rc != SCR_OK || whole_map(map, given));
        assert_true(rc == SCR_OK || full || (map->n == 0 && map->aside == NULL));
        ok = rc == SCR_OK;
    }
    scr_str_free(&s);
    scr_filemap_delete(map);
    return ok;
}

static int pack_and_unpack_map(scr_filemap *given)
{
    return unpack_map(given, 0);
}

static int unpack_into_map(scr_filemap *given)
{
    return unpack_map(given, 1);
}

/* A rank is either in the map it was taken from or in the one it was taken into. */
static int extract(scr_filemap *given)
{
    scr_filemap *one = scr_filemap_extract_rank(given, 1);
    assert_int_equal(scr_filemap_entry(given, 7, 1) != NULL, one == NULL);
    assert_int_equal(scr_filemap_entry(given, 6, 1) != NULL, one == NULL);
    assert_int_equal(scr_filemap_aside(given, 3) != NULL, one == NULL);
    assert_true(one == NULL || scr_filemap_num_files(one, 7, 1) == 1);
    assert_true(scr_filemap_ok(given) && (one == NULL || scr_filemap_ok(one)));
    int ok = one != NULL;
    scr_filemap_delete(one);
    return ok;
}

static int only_one(scr_filemap *given)
{
    scr_filemap *one = scr_filemap_only(given, 6, 3);
    int ok = one != NULL;
    assert_true(!ok || (scr_filemap_ok(one) && one->n == 3));
    scr_filemap_delete(one);
    return ok;
}

static int set_in_map(scr_filemap *given)
{
    struct scr_entry *e = scr_filemap_entry(given, 6, 0);
    scr_meta *m = scr_filemap_get_meta(given, 6, 0, "/c/a");
    scr_meta_set_text(m, SCR_META_ORIG,
                      "another name, which needs some room in the arena");
    scr_filemap_set_tag(given, 6, 0, "T", "v");
    scr_filemap_set_desc(given, 6, 0, e->dataset);
    scr_filemap_add_rank(given, 8, 0);
    scr_filemap_set_expected_files(given, 8, 1, 1);
    return scr_filemap_ok(given);
}

static int adopt(scr_filemap *given)
{
    int changed = 0;
    scr_filemap *map = scr_filemap_new();
    struct scr_entry *e = map ? scr_filemap_add_rank(map, 7, 1) : NULL;
    int ok = e != NULL &&
             scr_entry_adopt(e, scr_filemap_entry(given, 7, 1), &changed) == SCR_OK;
    assert_true(!ok || (changed && scr_filemap_ok(map) && scr_hash_size(e->tags) == 2));
    scr_filemap_delete(map);
    return ok;
}

static char *below_d(const void *arg, const char *name)
{
    (void)arg;
    return scr_asprintf("/d%s", name);
}

static int rename_files(scr_filemap *given)
{
    int rc = scr_filemap_rename_files(given, 6, 1, below_d, NULL);
    assert_true(rc == SCR_OK || rc == SCR_E_NOMEM);
    assert_true(rc != SCR_OK || scr_filemap_get_meta(given, 6, 1, "/d/c/a") != NULL);
    assert_true(scr_filemap_ok(given));
    return rc == SCR_OK;
}

static int list_map(scr_filemap *given)
{
    int n, *list = NULL, ok = 0;
    int64_t *made = NULL;
    if (scr_filemap_list_datasets(given, &n, &list) != SCR_OK)
        goto out;
    assert_int_equal(n, 2);
    free(list);
    if (scr_filemap_list_ranks(given, &n, &list) != SCR_OK)
        goto out;
    assert_int_equal(n, 3);
    ok = scr_filemap_list_aside(given, &n, &made) == SCR_OK;
    assert_int_equal(n, ok ? 2 : 0);
out:
    free(list); /* NULL, and n 0, of a list that could not be had */
    free(made);
    return ok;
}

/* Texts that could not be had are missing, and that is known. */
static int meta_and_hash(scr_filemap *given)
{
    const scr_meta *m = scr_filemap_get_meta(given, 6, 1, "/c/a");
    scr_meta *copy = scr_meta_new(), *merged = scr_meta_new(), *back = scr_meta_new();
    scr_hash *h = scr_hash_new();
    int ok = copy && merged && back && h;
    if (ok) {
        scr_meta_copy(copy, m);
        scr_meta_merge(merged, copy);
        ok = scr_meta_to_hash(merged, h) == SCR_OK && scr_hash_ok(h) &&
             scr_meta_from_hash(back, h) == SCR_OK;
    }
    assert_true(!ok || (back->size == 5 && scr_hash_size(h) == 8));
    scr_hash_delete(h);
    scr_meta_delete(back);
    scr_meta_delete(merged);
    scr_meta_delete(copy);
    return ok;
}

static const struct operation operations[] = {
    MAP("build a map", build_map, with_aside, 1),
    MAP("build a large map", build_large_map, many_names, 1),
    MAP("dup a map", duplicate_map, with_aside, 1),
    MAP("merge a map", merge_map, with_aside, 1),
    MAP("take a map", take_map, with_aside, 1),
    MAP("pack and unpack a map", pack_and_unpack_map, with_aside, 1),
    MAP("unpack a large map", pack_and_unpack_map, many_names, 1),
    MAP("unpack into a map", unpack_into_map, with_aside, 1),
    MAP("extract", extract, with_aside, 1),
    MAP("only one dataset", only_one, with_aside, 1),
    MAP("set in a map", set_in_map, some_files, 0),
    MAP("adopt", adopt, some_files, 1),
    MAP("rename files", rename_files, many_names, 1),
    MAP("list a map", list_map, with_aside, 1),
    MAP("meta data", meta_and_hash, some_files, 1),
};

#endif

static void every_allocation_fails_once(void **state)
{
    (void)state;
    FAIL_EVERY_ALLOCATION(operations);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_allocation_fails_once) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
