/* SPDX-License-Identifier: BSD-3-Clause */
/* Filemap: which rank wrote which files in which dataset, by the example of the manual.
 */

#include "base/hashfile.h"
#include "fmt/filemap.h"
#include "helper_fault.h"
#include "helper_filemap.h"
#include "helper_golden.h"
#include "helper_maps.h"
#include "helper_order.h"
#include "helper_steps.h"
#include "helper_tmp.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void assert_ranks(const scr_filemap *map, int first, int second)
{
    int n = 0, *list = NULL;
    int rc = scr_filemap_list_ranks(map, &n, &list);
    assert_list(rc, n, list, first, second);
}

/* Ranks of a dataset, by walking. */
static void assert_ranks_of(const scr_filemap *map, int dset, int first, int second)
{
    int rank = -1;
    for (int i = 0; i < 2; i++) {
        int want = i == 0 ? first : second;
        assert_int_equal(scr_filemap_next_rank(map, dset, &rank), want >= 0);
        assert_true(want < 0 || rank == want);
    }
    assert_false(scr_filemap_next_rank(map, dset, &rank));
}

/* --- questions --- */

static void questions(void **state)
{
    (void)state;
    scr_filemap *map = filemap_example();
    assert_datasets(map, 10, 11);
    assert_ranks(map, 20, 28);
    assert_int_equal(num_ranks(map), 2);
    assert_int_equal(scr_filemap_num_ranks_by_dataset(map, 10), 1);
    assert_int_equal(scr_filemap_num_ranks_by_dataset(map, 11), 2);
    assert_int_equal(scr_filemap_num_ranks_by_dataset(map, 12), 0);
    assert_non_null(scr_filemap_entry(map, 11, 28));
    assert_null(scr_filemap_entry(map, 10, 28));
    assert_int_equal(scr_filemap_num_files(map, 10, 20), 2);
    assert_int_equal(scr_filemap_num_expected_files(map, 10, 20), 2);
    assert_int_equal(scr_filemap_num_expected_files(map, 11, 28), -1);
    scr_filemap_delete(map);
}

static void an_empty_map_answers(void **state)
{
    (void)state;
    int n = 7;
    int64_t *made, oldest, newest;
    assert_true(scr_filemap_ok(NULL));
    assert_int_equal(scr_filemap_num_files(NULL, 1, 2), 0);
    assert_int_equal(scr_filemap_num_expected_files(NULL, 1, 2), -1);
    assert_datasets(NULL, -1, -1);
    assert_ranks(NULL, -1, -1);
    assert_ranks_of(NULL, 1, -1, -1);
    assert_null(scr_filemap_first_file(NULL, 1, 2));
    assert_null(scr_filemap_entry(NULL, 1, 2));
    assert_null(scr_filemap_first(NULL, 1));
    assert_null(scr_filemap_entry(NULL, 1, 2));
    assert_null(scr_filemap_get_dataset(NULL, 1, 2));
    assert_null(scr_filemap_get_desc(NULL, 1, 2));
    assert_null(scr_filemap_get_meta(NULL, 1, 2, "/c/a"));
    assert_true(scr_filemap_created(NULL, 1, 2) == 0);
    scr_filemap_made(NULL, 1, &oldest, &newest);
    assert_true(oldest == INT64_MAX && newest == 0);
    assert_null(scr_filemap_aside(NULL, 5));
    assert_false(scr_filemap_has_aside(NULL, 1));
    assert_int_equal(scr_filemap_list_aside(NULL, &n, &made), SCR_OK);
    assert_int_equal(n, 0);
    free(made);
    scr_filemap_delete(NULL);
}

static void an_empty_map_changes_nothing(void **state)
{
    (void)state;
    scr_filemap *map = scr_filemap_new();
    scr_filemap_remove_file(NULL, 1, 2, "/c/a");
    scr_filemap_remove_dataset(NULL, 1);
    scr_filemap_remove_rank_by_dataset(NULL, 1, 2);
    scr_filemap_drop_aside(NULL, 5, 1, 2);
    scr_filemap_forget(NULL, 1, 2);
    assert_null(scr_filemap_add_file(NULL, 1, 2, "/c/a"));
    assert_null(scr_filemap_add_rank(NULL, 1, 2));
    scr_filemap_set_tag(NULL, 1, 2, "T", "v");
    scr_filemap_set_desc(NULL, 1, 2, NULL);
    scr_filemap_set_meta(NULL, 1, 2, "/c/a", NULL);
    scr_filemap_set_expected_files(NULL, 1, 2, 3);
    assert_int_equal(scr_filemap_merge(map, NULL), SCR_OK);
    assert_int_equal(scr_filemap_merge(NULL, NULL), SCR_OK);
    assert_true(test_map_is_empty(map));
    scr_filemap *all[] = { scr_filemap_dup(NULL), scr_filemap_only(NULL, 1, 5),
                           scr_filemap_extract_rank(NULL, 2) };
    for (int i = 0; i < 3; i++) {
        assert_true(all[i] != NULL && test_map_is_empty(all[i]));
        scr_filemap_delete(all[i]);
    }
    scr_filemap_add_rank(map, 1, 2); /* what cannot be entered is no success */
    assert_int_equal(scr_filemap_merge(NULL, map), SCR_E_NOMEM);
    assert_int_equal(scr_filemap_copy_entry(NULL, map, 1, 2), SCR_E_NOMEM);
    scr_filemap_delete(map);
}

static void lists_ascend(void **state)
{
    (void)state;
    scr_filemap *map = scr_filemap_new();
    scr_filemap_add_rank(map, 11, 28);
    scr_filemap_add_rank(map, 9, 3);
    scr_filemap_add_rank(map, 11, 3);
    assert_datasets(map, 9, 11);
    assert_ranks(map, 3, 28);
    assert_ranks_of(map, 11, 3, 28);
    assert_ranks_of(map, 9, 3, -1);
    scr_filemap_add_file(map, 9, 3, "/c/b");
    scr_filemap_add_file(map, 9, 3, "/c/a");
    const struct scr_file *file = scr_filemap_first_file(map, 9, 3);
    assert_string_equal(file->item.name, "/c/b"); /* as they came */
    assert_string_equal(scr_file_next(file)->item.name, "/c/a");
    assert_sound(map);
    scr_filemap_delete(map);
}

static void iterators(void **state)
{
    (void)state;
    int n = 0;
    scr_filemap *map = filemap_example();
    for (SCR_ENTRIES(e, map, 11)) {
        assert_true(e->dset == 11 && e->rank == (n == 0 ? 20 : 28));
        assert_int_equal(e->expected, n == 0 ? 1 : -1);
        n++;
    }
    assert_int_equal(n, 2);
    struct scr_entry *e = scr_filemap_first(map, 10); /* 11 is not of it */
    assert_int_equal(e->rank, 20);
    assert_null(scr_filemap_next(map, e));
    assert_null(scr_filemap_first(map, 9));
    assert_null(scr_filemap_first(map, 12));
    struct scr_file *f = scr_filemap_first_file(map, 10, 20);
    assert_string_equal(f->item.name, "/c/foo_20.ckpt.10");
    f = scr_file_next(f);
    assert_string_equal(f->item.name, "/c/foo_20.ckpt.10.xor");
    assert_null(scr_file_next(f));
    assert_null(scr_file_meta(f));
    assert_null(scr_file_meta(NULL));
    scr_filemap_delete(map);
}

/* --- changes --- */

/* Whatever is removed, nothing empty stays. */
static void removing(void **state)
{
    (void)state;
    scr_filemap *map = filemap_example();
    scr_filemap_remove_file(map, 10, 20, "/c/foo_20.ckpt.10.xor");
    assert_int_equal(scr_filemap_num_files(map, 10, 20), 1);
    scr_filemap_remove_file(map, 10, 20, "/c/foo_20.ckpt.10");
    assert_non_null(scr_filemap_entry(map, 10, 20)); /* and wrote two files */
    scr_filemap_remove_file(map, 10, 20, "/c/never");
    scr_filemap_remove_rank_by_dataset(map, 11, 20);
    assert_ranks(map, 20, 28);
    assert_int_equal(scr_filemap_num_ranks_by_dataset(map, 11), 1);
    scr_filemap_remove_rank_by_dataset(map, 10, 28); /* it never was */
    scr_filemap_remove_rank_by_dataset(map, 10, 20);
    assert_ranks(map, 28, -1);
    assert_datasets(map, 11, -1);
    assert_sound(map);
    scr_filemap_delete(map);

    map = filemap_example();
    scr_filemap_remove_dataset(map, 11);
    assert_ranks(map, 20, -1);
    assert_datasets(map, 10, -1);
    assert_sound(map);
    scr_filemap_remove_dataset(map, 10);
    assert_true(test_map_is_empty(map));
    scr_filemap_delete(map);

    map = filemap_example();
    scr_filemap_delete(scr_filemap_extract_rank(map, 20));
    assert_datasets(map, 11, -1);
    assert_ranks(map, 28, -1);
    assert_sound(map);
    scr_filemap_delete(map);
}

static void extracting_and_merging_give_the_whole_again(void **state)
{
    (void)state;
    scr_filemap *map = filemap_example(), *whole = filemap_example();
    scr_filemap *r20 = scr_filemap_extract_rank(map, 20);
    assert_ranks(map, 28, -1);
    assert_ranks(r20, 20, -1);
    assert_datasets(r20, 10, 11);
    assert_int_equal(scr_filemap_num_files(r20, 10, 20), 2);
    assert_sound(map);
    assert_sound(r20);
    scr_filemap *nobody = scr_filemap_extract_rank(map, 99);
    assert_true(test_map_is_empty(nobody));
    assert_int_equal(scr_filemap_merge(map, r20), SCR_OK);
    assert_true(test_maps_same(map, whole));
    scr_filemap_delete(map);
    scr_filemap_delete(whole);
    scr_filemap_delete(r20);
    scr_filemap_delete(nobody);
}

static int equals(const scr_meta *a, const scr_meta *b)
{
    scr_hash *x = scr_hash_new(), *y = scr_hash_new();
    assert_int_equal(scr_meta_to_hash(a, x), SCR_OK);
    assert_int_equal(scr_meta_to_hash(b, y), SCR_OK);
    int equal = scr_hash_equal(x, y);
    scr_hash_delete(x);
    scr_hash_delete(y);
    return equal;
}

static void descriptors_meta_data_and_tags(void **state)
{
    (void)state;
    scr_filemap *map = filemap_example();
    scr_hash *h = scr_hash_new();
    scr_meta *m = scr_meta_new();
    scr_hash_set_val(h, "ID", "11");
    scr_meta_set(m, "foo_28.ckpt.11", "FULL", 5, (struct scr_meta_of){ 11, 28, 32 }, 1);
    assert_null(scr_filemap_get_dataset(map, 11, 28));
    assert_null(scr_filemap_get_meta(map, 11, 28, "/c/foo_28.ckpt.11"));
    scr_filemap_set_dataset(map, 11, 28, h);
    scr_filemap_set_desc(map, 11, 28, h);
    scr_filemap_set_meta(map, 11, 28, "/c/foo_28.ckpt.11", m);
    assert_true(scr_hash_equal(scr_filemap_get_dataset(map, 11, 28), h));
    assert_true(scr_hash_equal(scr_filemap_get_desc(map, 11, 28), h));
    scr_meta *got = scr_filemap_get_meta(map, 11, 28, "/c/foo_28.ckpt.11");
    assert_true(got != m && equals(got, m));
    assert_ptr_equal(scr_file_meta(scr_filemap_first_file(map, 11, 28)), got);
    scr_filemap_set_meta(map, 11, 28, "/c/foo_28.ckpt.11", got); /* from itself */
    assert_true(equals(got, m));
    assert_ptr_not_equal(scr_filemap_get_desc(map, 11, 28), h); /* copied */
    scr_filemap_set_desc(map, 11, 28,
                         scr_filemap_get_desc(map, 11, 28)); /* from itself */
    assert_true(scr_hash_equal(scr_filemap_get_desc(map, 11, 28), h));
    assert_null(scr_filemap_get_meta(map, 11, 28, "/c/other"));
    assert_string_equal(tag_of(map, 11, 28, "PARTNER"), "atlas56");
    scr_filemap_set_tag(map, 11, 28, "PARTNER", "atlas57"); /* replaces */
    assert_string_equal(tag_of(map, 11, 28, "PARTNER"), "atlas57");
    assert_sound(map);
    scr_filemap_set_desc(map, 11, 28, NULL); /* empty is not none */
    assert_int_equal(scr_hash_size(scr_filemap_get_desc(map, 11, 28)), 0);
    assert_non_null(scr_filemap_get_desc(map, 11, 28));
    scr_filemap_set_desc(map, 11, 28, h);
    scr_filemap_set_expected_files(map, 11, 28, 1);
    scr_filemap_forget(map, 11, 28);
    assert_int_equal(scr_filemap_num_expected_files(map, 11, 28), -1);
    assert_null(scr_filemap_get_desc(map, 11, 28));
    assert_null(tag_of(map, 11, 28, "PARTNER"));
    assert_null(scr_filemap_get_dataset(map, 11, 28));
    assert_int_equal(scr_filemap_num_files(map, 11, 28), 1);
    got = scr_filemap_get_meta(map, 11, 28, "/c/foo_28.ckpt.11");
    assert_true(equals(got, m));
    scr_filemap_set_meta(map, 11, 28, "/c/foo_28.ckpt.11", NULL);
    scr_meta *none = scr_meta_new();
    assert_true(equals(got, none));
    assert_sound(map);
    scr_meta_delete(none);
    scr_hash_delete(h);
    scr_meta_delete(m);
    scr_filemap_delete(map);
}

/* Setters make the entry and the file they need. */
static void setters_enter_what_is_missing(void **state)
{
    (void)state;
    scr_hash *h = scr_hash_new();
    scr_hash_set_val(h, "ID", "1");
    for (int i = 0; i < 5; i++) {
        scr_filemap *map = scr_filemap_new();
        if (i == 0)
            scr_filemap_set_dataset(map, 1, 2, h);
        else if (i == 1)
            scr_filemap_set_desc(map, 1, 2, h);
        else if (i == 2)
            scr_filemap_set_tag(map, 1, 2, "T", "v");
        else if (i == 3)
            scr_filemap_set_expected_files(map, 1, 2, 0);
        else
            scr_filemap_set_meta(map, 1, 2, "/c/a", NULL);
        assert_non_null(scr_filemap_entry(map, 1, 2));
        assert_int_equal(scr_filemap_num_files(map, 1, 2), i == 4);
        assert_sound(map);
        scr_filemap_delete(map);
    }
    scr_hash_delete(h);
}

/* --- merging --- */

/* Rank 2 of dataset 1 with one file of that size, and that many expected, unless 0. */
static scr_filemap *one_file(uint64_t size, int expected, const char *tag)
{
    scr_filemap *map = scr_filemap_new();
    struct scr_file *f = scr_filemap_add_file(map, 1, 2, "/c/a");
    scr_meta *m = scr_file_need_meta(f, &scr_filemap_entry(map, 1, 2)->files);
    if (size > 0)
        scr_meta_set_filesize(m, size);
    scr_meta_set_text(m, SCR_META_TYPE, "FULL");
    if (expected > 0)
        scr_filemap_set_expected_files(map, 1, 2, expected);
    if (tag != NULL)
        scr_filemap_set_tag(map, 1, 2, "T", tag);
    return map;
}

static void merging_adds_what_is_missing(void **state)
{
    (void)state;
    scr_filemap *whole = one_file(5, 1, "v"), *map = one_file(0, 0, NULL);
    assert_int_equal(scr_filemap_merge(map, whole), SCR_OK);
    assert_true(test_maps_same(map, whole));
    assert_int_equal(scr_filemap_merge(map, whole), SCR_OK);
    assert_true(test_maps_same(map, whole));
    scr_filemap *less = one_file(0, 0, NULL);
    assert_int_equal(scr_filemap_merge(map, less), SCR_OK);
    assert_true(test_maps_same(map, whole));
    scr_filemap_delete(less);
    scr_filemap_delete(map);
    map = scr_filemap_dup(whole); /* with all its own */
    assert_true(test_maps_same(map, whole));
    scr_filemap_delete(whole);
    assert_sound(map);
    scr_filemap_delete(map);
}

/* Whether the entry is there already or not, and what is aside. */
static void taking_a_map_gives_what_merging_does(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        scr_filemap *map = kind == 0 ? scr_filemap_new() : one_file(5, 1, "v");
        scr_filemap *given = kind == 2 ? one_file(6, 2, "w") : one_file(5, 1, "v");
        scr_filemap_add_file(given, 1, 3, "/c/b");
        scr_filemap_add_file(given, 0, 9, "/c/c");
        assert_int_equal(scr_filemap_set_aside(given, 77, given, 1, 3), SCR_OK);
        scr_filemap *want = scr_filemap_dup(map);
        assert_int_equal(scr_filemap_merge(want, given), SCR_OK);
        assert_int_equal(scr_filemap_take(map, given), SCR_OK);
        scr_filemap_delete(given);
        assert_true(test_maps_same(map, want));
        assert_sound(map);
        scr_filemap_delete(want);
        assert_int_equal(scr_filemap_take(map, NULL), SCR_OK);
        scr_filemap_clear(map);
        assert_int_equal(num_ranks(map), 0);
        scr_filemap_delete(map);
    }
    assert_int_equal(scr_filemap_take(NULL, NULL), SCR_E_NOMEM);
}

static void what_differs_is_not_recorded_after_merging(void **state)
{
    (void)state;
    uint64_t size;
    scr_filemap *map = one_file(5, 1, "v"), *other = one_file(6, 2, "w");
    assert_int_equal(scr_filemap_merge(map, other), SCR_OK);
    const scr_meta *m = scr_filemap_get_meta(map, 1, 2, "/c/a");
    assert_int_equal(scr_meta_get_filesize(m, &size), SCR_E_NOENT);
    assert_true(scr_meta_is_full(m));
    assert_int_equal(scr_filemap_num_expected_files(map, 1, 2), -1);
    scr_hash *tree = test_map_tree(map), *files;
    files = scr_hash_getf(tree, "RANK 2 DSET 1 FILE");
    assert_int_equal(scr_hash_size(files), 1);
    assert_null(scr_hash_getf(files, "/c/a META SIZE"));
    assert_null(scr_hash_getf(tree, "RANK 2 DSET 1 FILES"));
    /* a tag is both, which its readers see */
    assert_int_equal(scr_hash_size(scr_hash_getf(tree, "RANK 2 DSET 1 T")), 2);
    assert_sound(map);
    scr_hash_delete(tree);
    scr_filemap_delete(map);
    scr_filemap_delete(other);
}

/* 0 is a number of files, too. */
static void an_entry_without_files_is_no_unknown_one(void **state)
{
    (void)state;
    static const int cases[][3] = { { 0, -1, 0 }, { -1, 0, 0 }, { 0, 0, 0 },
                                    { 0, 1, -1 }, { 1, 0, -1 }, { -1, -1, -1 } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int changed = 0, has = cases[i][0], more = cases[i][1];
        scr_filemap *map = scr_filemap_new(), *other = scr_filemap_new();
        struct scr_entry *e = scr_filemap_add_rank(map, 1, 2);
        struct scr_entry *from = scr_filemap_add_rank(other, 1, 2);
        e->expected = has;
        from->expected = more;
        assert_int_equal(scr_entry_merge(e, from), SCR_OK);
        assert_int_equal(e->expected, cases[i][2]);
        e->expected = has; /* the destination keeps what it has */
        assert_int_equal(scr_entry_adopt(e, from, &changed), SCR_OK);
        assert_int_equal(e->expected, has < 0 ? more : has);
        assert_int_equal(changed, has < 0 && more >= 0);
        scr_filemap_delete(map);
        scr_filemap_delete(other);
    }
}

/* Descriptors are hashes: a value of each is ambiguous for readers. */
static void descriptors_that_differ_are_ambiguous_after_merging(void **state)
{
    (void)state;
    int64_t when;
    scr_filemap *map[2];
    scr_hash *h = scr_hash_new();
    for (int i = 0; i < 2; i++) {
        map[i] = scr_filemap_new();
        scr_hash_set_val_i64(h, "CREATED", 100 + i);
        scr_hash_set_val_i64(h, "ID", 1);
        scr_filemap_set_dataset(map[i], 1, 2, h);
        scr_filemap_set_desc(map[i], 1, 2, h);
    }
    assert_true(scr_filemap_created(map[1], 1, 2) == 101);
    assert_int_equal(scr_filemap_merge(map[0], map[1]), SCR_OK);
    const scr_hash *got = scr_filemap_get_dataset(map[0], 1, 2);
    assert_false(scr_hash_get_val_i64(got, "CREATED", &when));
    assert_true(scr_hash_get_val_i64(got, "ID", &when) && when == 1);
    assert_true(scr_filemap_created(map[0], 1, 2) == 0);
    assert_sound(map[0]);
    scr_filemap_delete(map[0]);
    scr_filemap_delete(map[1]);
    scr_hash_delete(h);
}

static void entries_are_copied_alone(void **state)
{
    (void)state;
    scr_filemap *map = filemap_example(), *one = scr_filemap_new();
    assert_int_equal(scr_filemap_copy_entry(one, map, 11, 20), SCR_OK);
    assert_datasets(one, 11, -1);
    assert_ranks(one, 20, -1);
    assert_int_equal(scr_filemap_num_expected_files(one, 11, 20), 1);
    assert_int_equal(scr_filemap_copy_entry(one, map, 10, 28), SCR_OK);
    assert_non_null(scr_filemap_entry(one, 10, 28)); /* made, without */
    assert_int_equal(scr_filemap_num_files(one, 10, 28), 0);
    assert_sound(one);
    scr_filemap_delete(map);
    scr_filemap_delete(one);
}

/* Existing entries stay, whole; files are not looked at. */
static void an_entry_takes_what_it_lacks(void **state)
{
    (void)state;
    int changed = 0;
    scr_hash *h = scr_hash_new();
    scr_filemap *map = one_file(5, 0, "mine"), *from = one_file(6, 3, "theirs");
    struct scr_entry *e = scr_filemap_entry(map, 1, 2);
    const struct scr_entry *f = scr_filemap_entry(from, 1, 2);
    scr_hash_set_val(h, "ID", "1");
    scr_filemap_set_dataset(from, 1, 2, h);
    scr_filemap_set_desc(map, 1, 2, NULL); /* empty, but there */
    scr_filemap_set_desc(from, 1, 2, h);
    scr_filemap_set_tag(from, 1, 2, "MORE", "x");
    scr_filemap_add_file(from, 1, 2, "/c/b");
    assert_int_equal(scr_entry_adopt(e, f, &changed), SCR_OK);
    assert_int_equal(changed, 1);
    assert_int_equal(e->expected, 3);
    assert_true(scr_hash_equal(e->dataset, h));
    assert_int_equal(scr_hash_size(e->desc), 0);
    assert_string_equal(tag_of(map, 1, 2, "T"), "mine");
    assert_int_equal(scr_hash_size(scr_hash_get(e->tags, "T")), 1);
    assert_string_equal(tag_of(map, 1, 2, "MORE"), "x");
    assert_int_equal(e->files.n, 1);
    assert_sound(map);
    changed = 0;
    assert_int_equal(scr_entry_adopt(e, f, &changed), SCR_OK);
    assert_int_equal(changed, 0);
    scr_filemap_delete(from); /* it has its own */
    assert_sound(map);
    scr_filemap_delete(map);
    scr_hash_delete(h);
}

/* The bytes found of a file of which nothing is recorded go to the rank that gets its
 * entry, and stay; what is recorded is not changed by them. */
static void what_was_found_travels(void **state)
{
    (void)state;
    scr_filemap *map = one_file(5, 0, NULL), *got = scr_filemap_new();
    scr_filemap_add_file(map, 1, 2, "/c/b")->meta.size = UINT64_MAX;
    struct scr_str s = test_packed(map);
    assert_int_equal(scr_filemap_unpack(s.p, s.len, got, NULL), SCR_OK);
    const struct scr_file *f = scr_filemap_first_file(got, 1, 2);
    assert_true(f->meta.size == 5 && scr_file_meta(f) != NULL);
    f = scr_file_next(f);
    assert_true(f->meta.size == UINT64_MAX && scr_file_meta(f) == NULL);
    scr_filemap *less = one_file(5, 0, NULL);
    assert_non_null(scr_filemap_add_file(less, 1, 2, "/c/b"));
    assert_int_equal(scr_filemap_merge(got, less), SCR_OK);
    assert_true(f->meta.size == UINT64_MAX);
    assert_int_equal(scr_filemap_merge(less, got), SCR_OK);
    f = scr_file_next(scr_filemap_first_file(less, 1, 2));
    assert_true(f->meta.size == UINT64_MAX && scr_file_meta(f) == NULL);
    assert_sound(got);
    scr_str_free(&s);
    scr_filemap_delete(less);
    scr_filemap_delete(map);
    scr_filemap_delete(got);
}

static char *below(const void *arg, const char *name)
{
    return scr_asprintf("%s/%s", (const char *)arg, name + strlen("/c/"));
}

static char *always_x(const void *arg, const char *name)
{
    (void)arg;
    (void)name;
    return scr_strdup("/x");
}

static void files_get_other_names(void **state)
{
    (void)state;
    uint64_t size;
    scr_hash *h = scr_hash_new();
    scr_filemap *map = one_file(5, 1, "v");
    scr_hash_set_val(h, "ID", "1");
    scr_filemap_set_dataset(map, 1, 2, h);
    scr_hash_set_val(h, "TYPE", "XOR");
    scr_filemap_set_desc(map, 1, 2, h);
    scr_filemap_add_file(map, 1, 2, "/c/b");
    assert_int_equal(scr_filemap_rename_files(map, 1, 2, below, "/d"), SCR_OK);
    const struct scr_file *f = scr_filemap_first_file(map, 1, 2);
    assert_string_equal(f->item.name, "/d/a");
    assert_string_equal(scr_file_next(f)->item.name, "/d/b");
    assert_int_equal(scr_meta_get_filesize(scr_file_meta(f), &size), SCR_OK);
    assert_true(size == 5);
    assert_null(scr_filemap_get_meta(map, 1, 2, "/c/a"));
    assert_true(scr_hash_equal(scr_filemap_get_desc(map, 1, 2), h));
    (void)scr_hash_unset(h, "TYPE");
    assert_true(scr_hash_equal(scr_filemap_get_dataset(map, 1, 2), h));
    scr_hash_delete(h);
    assert_string_equal(tag_of(map, 1, 2, "T"), "v");
    assert_int_equal(scr_filemap_num_expected_files(map, 1, 2), 1);
    assert_sound(map);
    assert_int_equal(scr_filemap_rename_files(map, 1, 2, always_x, NULL), SCR_OK);
    assert_int_equal(scr_filemap_num_files(map, 1, 2), 1); /* of one name: one */
    assert_non_null(scr_filemap_get_meta(map, 1, 2, "/x"));
    assert_int_equal(scr_filemap_rename_files(map, 9, 9, always_x, NULL), SCR_OK);
    assert_null(scr_filemap_entry(map, 9, 9));
    assert_sound(map);
    scr_filemap_delete(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(questions),
        cmocka_unit_test(an_empty_map_answers),
        cmocka_unit_test(an_empty_map_changes_nothing),
        cmocka_unit_test(lists_ascend),
        cmocka_unit_test(iterators),
        cmocka_unit_test(removing),
        cmocka_unit_test(extracting_and_merging_give_the_whole_again),
        cmocka_unit_test(descriptors_meta_data_and_tags),
        cmocka_unit_test(setters_enter_what_is_missing),
        cmocka_unit_test(merging_adds_what_is_missing),
        cmocka_unit_test(taking_a_map_gives_what_merging_does),
        cmocka_unit_test(what_differs_is_not_recorded_after_merging),
        cmocka_unit_test(an_entry_without_files_is_no_unknown_one),
        cmocka_unit_test(descriptors_that_differ_are_ambiguous_after_merging),
        cmocka_unit_test(entries_are_copied_alone),
        cmocka_unit_test(an_entry_takes_what_it_lacks),
        cmocka_unit_test(what_was_found_travels),
        cmocka_unit_test(files_get_other_names),
    };
    return cmocka_run_group_tests(tests, NULL, test_tmp_teardown);
}
