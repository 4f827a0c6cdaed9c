/* SPDX-License-Identifier: BSD-3-Clause */
/* Filemap: which rank wrote which files in which dataset, by the example of the manual.
 */
#include "helper_golden.h"
#include "helper_maps.h"
#include "helper_order.h"
#include "helper_steps.h"
#include "helper_tmp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hashfile.h"
#include "base/ids.h"
#include "fmt/filemap.h"
#include "helper_fault.h"

static const char *tag_of(const scr_filemap *map, int dset, int rank, const char *tag)
{
    const struct scr_entry *e = scr_filemap_entry(map, dset, rank);
    return e != NULL ? scr_hash_get_val(e->tags, tag) : NULL;
}

/* What was packed can be unpacked, and is the same; entries ascend. */
static void assert_sound(const scr_filemap *map)
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

/* Ranks 20 and 28, datasets 10 and 11 (developer's manual, section 4.2). */
static scr_filemap *example(void)
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

static void assert_list(int rc, int n, int *list, int first, int second)
{
    assert_int_equal(rc, SCR_OK);
    assert_int_equal(n, (first >= 0) + (second >= 0));
    if (first >= 0)
        assert_int_equal(list[0], first);
    if (second >= 0)
        assert_int_equal(list[1], second);
    free(list);
}

/* Datasets, or ranks; -1: none. */
static void assert_datasets(const scr_filemap *map, int first, int second)
{
    int n = 0, *list = NULL;
    int rc = scr_filemap_list_datasets(map, &n, &list);
    assert_list(rc, n, list, first, second);
}

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

/* Ranks of all datasets, without what is aside. */
static int num_ranks(const scr_filemap *map)
{
    struct scr_ids ranks = { 0 };
    for (size_t i = 0; i < map->n; i++)
        assert_int_equal(scr_ids_add(&ranks, map->entry[i]->rank, NULL), SCR_OK);
    int n = (int)ranks.n;
    scr_ids_fini(&ranks);
    return n;
}

/* --- questions --- */

static void questions(void **state)
{
    (void)state;
    scr_filemap *map = example();
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
    scr_filemap *map = example();
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
    scr_filemap *map = example();
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

    map = example();
    scr_filemap_remove_dataset(map, 11);
    assert_ranks(map, 20, -1);
    assert_datasets(map, 10, -1);
    assert_sound(map);
    scr_filemap_remove_dataset(map, 10);
    assert_true(test_map_is_empty(map));
    scr_filemap_delete(map);

    map = example();
    scr_filemap_delete(scr_filemap_extract_rank(map, 20));
    assert_datasets(map, 11, -1);
    assert_ranks(map, 28, -1);
    assert_sound(map);
    scr_filemap_delete(map);
}

static void extracting_and_merging_give_the_whole_again(void **state)
{
    (void)state;
    scr_filemap *map = example(), *whole = example();
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
    scr_filemap *map = example();
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
    scr_filemap *map = example(), *one = scr_filemap_new();
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

/* The bytes found of a file go to the rank that gets its entry, and stay. */
static void what_was_found_travels(void **state)
{
    (void)state;
    scr_filemap *map = one_file(5, 0, NULL), *got = scr_filemap_new();
    scr_filemap_first_file(map, 1, 2)->found = UINT64_MAX;
    scr_filemap_add_file(map, 1, 2, "/c/b")->found = 7;
    struct scr_str s = test_packed(map);
    assert_int_equal(scr_filemap_unpack(s.p, s.len, got, NULL), SCR_OK);
    const struct scr_file *f = scr_filemap_first_file(got, 1, 2);
    assert_true(f->found == UINT64_MAX && scr_file_meta(f) != NULL);
    assert_true(scr_file_next(f)->found == 7 && !scr_file_next(f)->has_meta);
    scr_filemap *less = one_file(5, 0, NULL);
    assert_int_equal(scr_filemap_merge(got, less), SCR_OK);
    assert_true(scr_filemap_first_file(got, 1, 2)->found == UINT64_MAX);
    assert_int_equal(scr_filemap_merge(less, got), SCR_OK);
    assert_true(scr_filemap_first_file(less, 1, 2)->found == UINT64_MAX);
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

/* --- bytes --- */

/* All that there can be: descriptors, tags, meta data, parts aside. */
static scr_filemap *rich(void)
{
    scr_hash *h = scr_hash_new();
    scr_filemap *map = example(), *old = scr_filemap_new();
    struct stat st = { .st_mode = 0100600, .st_uid = 1000, .st_gid = 100 };
    scr_meta *m = scr_meta_new();
    scr_meta_set(m, "foo", "FULL", 5, (struct scr_meta_of){ 11, 20, 32 }, 1);
    scr_meta_set_crc32(m, 7);
    scr_meta_set_text(m, SCR_META_ORIG, "foo");
    scr_meta_set_stat(m, &st);
    scr_filemap_set_meta(map, 11, 20, "/c/foo_20.ckpt.11", m);
    scr_filemap_set_meta(map, 10, 20, "/c/foo_20.ckpt.10", NULL);
    scr_filemap_set_meta(map, 11, 28, "relative/file", m);
    scr_filemap_first_file(map, 11, 28)->found = 7;
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

/* The layout on disk of scr_filemap(5). */
static void packed_it_is_the_hash_of_the_manual(void **state)
{
    (void)state;
    scr_hash *want = scr_hash_new(), *e;
    scr_hash_setf(want, NULL, "DSET 10 RANK 20");
    scr_hash_setf(want, NULL, "DSET 11 RANK 20");
    scr_hash_setf(want, NULL, "DSET 11 RANK 28");
    e = scr_hash_setf(want, NULL, "RANK 20 DSET 10");
    scr_hash_setf(e, NULL, "FILES 2");
    scr_hash_setf(e, NULL, "FILE /c/foo_20.ckpt.10");
    scr_hash_setf(e, NULL, "FILE /c/foo_20.ckpt.10.xor");
    e = scr_hash_setf(want, NULL, "RANK 20 DSET 11");
    scr_hash_setf(e, NULL, "FILES 1");
    scr_hash_setf(e, NULL, "FILE /c/foo_20.ckpt.11");
    e = scr_hash_setf(want, NULL, "RANK 28 DSET 11");
    scr_hash_setf(e, NULL, "FILE /c/foo_28.ckpt.11");
    scr_hash_setf(e, NULL, "PARTNER atlas56");
    scr_filemap *map = example();
    scr_hash *tree = test_map_tree(map);
    assert_true(scr_hash_equal(tree, want));
    scr_hash_delete(tree);

    scr_hash_set_val_i64(scr_hash_setf(e, NULL, "FILE /c/foo_28.ckpt.11 META"), "SIZE",
                         5);
    scr_hash_setf(e, NULL, "DSETDESC CREATED 3");
    scr_hash_setf(e, NULL, "REDDESC TYPE XOR");
    scr_hash_setf(want, NULL, "ASIDE 3 DSET 11 RANK 28");
    scr_hash_set(scr_hash_setf(want, NULL, "ASIDE 3 RANK 28 DSET"), "11",
                 scr_hash_dup(e));
    scr_meta *m = scr_meta_new();
    scr_meta_set_filesize(m, 5);
    scr_filemap_set_meta(map, 11, 28, "/c/foo_28.ckpt.11", m);
    scr_filemap_set_dataset(map, 11, 28, scr_hash_get(e, "DSETDESC"));
    scr_filemap_set_desc(map, 11, 28, scr_hash_get(e, "REDDESC"));
    assert_int_equal(scr_filemap_set_aside(map, 3, map, 11, 28), SCR_OK);
    tree = test_map_tree(map);
    assert_true(scr_hash_equal(tree, want));
    assert_sound(map);
    scr_meta_delete(m);
    scr_hash_delete(tree);
    scr_hash_delete(want);
    scr_filemap_delete(map);
}

/* An older writer put what came first first. */
static void the_order_on_disk_does_not_matter(void **state)
{
    (void)state;
    scr_filemap *map = rich(), *got = scr_filemap_new();
    scr_hash *h = test_map_tree(map);
    test_hash_sort(h, test_bytewise_down);
    for (int i = 0; i < 2; i++) {
        scr_hash *outer = scr_hash_get(h, i == 0 ? "DSET" : "RANK");
        test_hash_sort(outer, test_numbers_down);
        for (SCR_HASH_EACH(e, outer)) {
            scr_hash *inner =
                scr_hash_get(scr_hash_elem_hash(e), i == 0 ? "RANK" : "DSET");
            test_hash_sort(inner, test_numbers_down);
            for (SCR_HASH_EACH(f, inner))
                test_hash_sort(scr_hash_elem_hash(f), test_bytewise_down);
        }
    }
    assert_int_equal(test_take_tree(h, got, NULL), SCR_OK);
    scr_hash *again = test_map_tree(got);
    assert_true(scr_hash_equal(again, h));
    assert_sound(got);
    scr_hash_delete(h);
    scr_hash_delete(again);
    scr_filemap_delete(map);
    scr_filemap_delete(got);
}

static void what_is_not_known_is_skipped_or_a_tag(void **state)
{
    (void)state;
    scr_filemap *map = example(), *got = scr_filemap_new();
    scr_hash *h = test_map_tree(map);
    scr_hash_setf(h, NULL, "FUTURE a b c");
    scr_hash_setf(h, NULL, "RANK 20 FUTURE a b");
    scr_hash_setf(h, NULL, "DSET 11 NAME a b");
    scr_hash_setf(h, NULL, "DSET 11 RANK 28 FUTURE a");
    scr_hash_setf(h, NULL, "RANK 20 DSET 11 FILE /c/foo_20.ckpt.11 FUTURE a b");
    assert_int_equal(test_take_tree(h, got, NULL), SCR_OK);
    assert_true(test_maps_same(got, map)); /* skipped */
    scr_filemap_delete(got);

    got = scr_filemap_new();
    scr_hash_setf(h, NULL, "RANK 20 DSET 11 FUTURE a b"); /* of an entry: a tag */
    scr_hash_setf(h, NULL, "RANK 20 DSET 11 FUTURE c");
    scr_hash_setf(h, NULL, "RANK 20 DSET 10 EMPTY");
    assert_int_equal(test_take_tree(h, got, NULL), SCR_OK);
    scr_hash *again = test_map_tree(got);
    assert_true(scr_hash_equal(scr_hash_getf(again, "RANK 20 DSET 11 FUTURE"),
                               scr_hash_getf(h, "RANK 20 DSET 11 FUTURE")));
    assert_non_null(scr_hash_getf(again, "RANK 20 DSET 10 EMPTY"));
    assert_string_equal(tag_of(got, 11, 20, "FUTURE"), "a");
    assert_sound(got);
    scr_hash_delete(again);
    scr_hash_delete(h);
    scr_filemap_delete(got);
    scr_filemap_delete(map);
}

static void ambiguous_meta_data_are_not_recorded(void **state)
{
    (void)state;
    uint64_t size;
    uint32_t crc;
    const char *path = "/c/foo_20.ckpt.11";
    scr_filemap *map = rich(), *got = scr_filemap_new();
    scr_hash *h = test_map_tree(map);
    scr_hash *m = scr_hash_get(
        scr_hash_get(scr_hash_getf(h, "RANK 20 DSET 11 FILE"), path), "META");
    scr_hash_set_kv(m, "SIZE", "6");
    scr_hash_set_kv(m, "TYPE", "XOR");
    scr_hash_set_val(m, "CRC", "7");
    scr_hash_setf(m, NULL, "FUTURE a b");
    assert_int_equal(test_take_tree(h, got, NULL), SCR_OK);
    const scr_meta *meta = scr_filemap_get_meta(got, 11, 20, path);
    assert_int_equal(scr_meta_get_filesize(meta, &size), SCR_E_NOENT);
    assert_null(scr_meta_text(meta, SCR_META_TYPE));
    assert_int_equal(scr_meta_get_crc32(meta, &crc), SCR_E_NOENT);
    assert_string_equal(scr_meta_text(meta, SCR_META_FILE), "foo");
    scr_hash *again = test_map_tree(got);
    (void)scr_hash_unset(m, "SIZE");
    (void)scr_hash_unset(m, "TYPE");
    (void)scr_hash_unset(m, "CRC");
    (void)scr_hash_unset(m, "FUTURE");
    assert_true(scr_hash_equal(again, h)); /* all the rest is as it was */
    scr_hash_delete(again);
    scr_hash_delete(h);
    scr_filemap_delete(got);
    scr_filemap_delete(map);
}

/* --- damage --- */

/* The example with one thing added, or set to a value, or taken away. */
static const struct damage {
    const char *add, *drop, *from; /* drop: a key of the hash that from is */
    const char *value;             /* in place of what add has */
} damages[] = {
    /* index and entries */
    { .add = "RANK 30 DSET 11" },
    { .add = "RANK 20 DSET 12" },
    { .add = "DSET 11 RANK 30" },
    { .add = "DSET 12 RANK 20" },
    { .add = "DSET 12" },
    { .add = "RANK 30" },
    { .add = "DSET 12 RANK" },
    { .add = "RANK 30 DSET" },
    { .add = "DSET 12 NAME a" },
    { .drop = "DSET", .from = "" },
    { .drop = "RANK", .from = "" },
    { .drop = "10", .from = "DSET" },
    { .drop = "20", .from = "DSET 11 RANK" },
    { .drop = "28", .from = "DSET 11 RANK" },
    { .drop = "RANK", .from = "DSET 10" },
    { .drop = "28", .from = "RANK" },
    { .drop = "11", .from = "RANK 20 DSET" },
    { .drop = "DSET", .from = "RANK 28" },
    /* the same of what is aside */
    { .add = "ASIDE 3 RANK 30 DSET 11" },
    { .add = "ASIDE 3 DSET 12 RANK 20" },
    { .add = "ASIDE 9 DSET 12 RANK 20" },
    { .drop = "DSET", .from = "ASIDE 3" },
    { .drop = "RANK", .from = "ASIDE 3" },
    { .drop = "20", .from = "ASIDE 3 RANK" },
    /* numbers */
    { .add = "ASIDE never" },
    { .add = "ASIDE 99999999999999999999" },
    { .add = "RANK two DSET 11" },
    { .add = "RANK -2 DSET 11" },
    { .add = "RANK +20 DSET 11" },
    { .add = "RANK 020 DSET 11" },
    { .add = "RANK 20x DSET 11" },
    { .add = "RANK 99999999999 DSET 11" },
    { .add = "RANK 20 DSET x" },
    { .add = "DSET 011 RANK 20" },
    { .add = "DSET 11 RANK -1" },
    { .add = "DSET 11 RANK 00" },
    { .add = "RANK 20 DSET 10 FILES", .value = "-1" },
    { .add = "RANK 20 DSET 10 FILES", .value = "two" },
    { .add = "RANK 20 DSET 10 FILES", .value = "99999999999" },
    { .add = "RANK 20 DSET 10 FILES", .value = "" },
    { .add = "RANK 20 DSET 10 FILES 3" }, /* and 2 */
    { .drop = "2", .from = "RANK 20 DSET 10 FILES" },
    { .add = "RANK 28 DSET 11 FILE /c/foo_28.ckpt.11 FOUND", .value = "many" },
    { .add = "RANK 28 DSET 11 FILE /c/foo_28.ckpt.11 FOUND", .value = "-1" },
    { .add = "RANK 28 DSET 11 FILE /c/foo_28.ckpt.11 FOUND" },
    /* names of files */
    { .add = "RANK 20 DSET 11 FILE /" },
    { .add = "RANK 20 DSET 11 FILE /.." },
    { .add = "RANK 20 DSET 11 FILE .." },
    { .add = "RANK 20 DSET 11 FILE ../a" },
    { .add = "RANK 20 DSET 11 FILE /c/../a" },
    { .add = "RANK 20 DSET 11 FILE a/../../b" },
    { .add = "RANK 20 DSET 11 FILE /c/.." },
    { .add = "RANK 20 DSET 11 FILE", .value = "" },
    { .add = "ASIDE 3 RANK 20 DSET 11 FILE ../a" },
};

static void damage(scr_hash *h, const struct damage *d)
{
    if (d->drop != NULL)
        assert_int_equal(
            scr_hash_unset(*d->from ? scr_hash_getf(h, d->from) : h, d->drop), 1);
    scr_hash *at = d->add != NULL ? scr_hash_setf(h, NULL, d->add) : NULL;
    assert_true(d->add == NULL || at != NULL);
    if (d->value != NULL) {
        scr_hash_unset_all(at);
        scr_hash_set(at, d->value, NULL);
    }
}

/* Nothing of it is merged, and the message says what is wrong, and where. */
static void a_damaged_map_is_refused(void **state)
{
    (void)state;
    const char *path = test_path("bad.scrinfo");
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        const struct damage *d = &damages[i];
        struct scr_err err = SCR_ERR_INIT;
        scr_filemap *map = example(), *got = scr_filemap_new(), *full = rich(),
                    *before = rich();
        assert_int_equal(scr_filemap_set_aside(map, 3, map, 11, 20), SCR_OK);
        scr_hash *h = test_map_tree(map);
        damage(h, d);
        if (test_take_tree(h, got, &err) != SCR_E_CORRUPT)
            fail_msg("%s%s: taken", d->add ? d->add : d->from, d->drop ? d->drop : "");
        assert_true(err.code == SCR_E_CORRUPT && strstr(err.text, "filemap") != NULL);
        if (d->add != NULL && strstr(d->add, "FILE ") != NULL && d->value == NULL &&
            strstr(d->add, "FOUND") == NULL)
            assert_non_null(strstr(err.text, "bad file name"));
        assert_true(test_map_is_empty(got) && scr_filemap_ok(got));
        assert_int_equal(test_take_tree(h, full, NULL), SCR_E_CORRUPT);
        assert_true(test_maps_same(full, before));
        scr_err_clear(&err);
        assert_int_equal(
            scr_hash_file_write(&scr_sys_posix, path, h, SCR_VOLATILE, NULL), SCR_OK);
        assert_int_equal(scr_filemap_read(&scr_sys_posix, path, got, &err),
                         SCR_E_CORRUPT);
        assert_non_null(strstr(err.text, path));
        assert_true(test_map_is_empty(got));
        scr_hash_delete(h);
        scr_filemap_delete(map);
        scr_filemap_delete(got);
        scr_filemap_delete(full);
        scr_filemap_delete(before);
    }
}

static void names_that_are_none_of_these_are_taken(void **state)
{
    (void)state;
    static const char *const names[] = { "a",      "/a",    "a/b",   "...",    "/c/..a",
                                         "/c/a..", "//c/a", "/c/ a", "/c/a\nb" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        scr_filemap *map = scr_filemap_new(), *got = scr_filemap_new();
        scr_filemap_add_file(map, 1, 0, names[i]);
        struct scr_str s = test_packed(map);
        if (scr_filemap_unpack(s.p, s.len, got, NULL) != SCR_OK)
            fail_msg("\"%s\" is refused", names[i]);
        assert_true(test_maps_same(map, got));
        scr_str_free(&s);
        scr_filemap_delete(map);
        scr_filemap_delete(got);
    }
}

static int take(const void *bytes, size_t n, scr_filemap *map)
{
    unsigned char *exact = malloc(n > 0 ? n : 1);
    memcpy(exact, bytes, n);
    int rc = scr_filemap_unpack(exact, n, map, NULL);
    free(exact);
    return rc;
}

static void every_truncation_is_refused(void **state)
{
    (void)state;
    scr_filemap *map = rich(), *got = scr_filemap_new();
    struct scr_str s = test_packed(map);
    for (size_t n = 0; n < s.len; n++) {
        assert_int_equal(take(s.p, n, got), SCR_E_CORRUPT);
        assert_true(got->n == 0 && got->aside == NULL);
    }
    scr_str_append_n(&s, "", 1); /* and one byte more */
    assert_int_equal(take(s.p, s.len, got), SCR_E_CORRUPT);
    assert_int_equal(take(s.p, s.len - 1, got), SCR_OK);
    assert_true(test_maps_same(got, map));
    scr_str_free(&s);
    scr_filemap_delete(map);
    scr_filemap_delete(got);
}

/* Whatever the bytes, what is taken is a sound map. */
static void every_changed_byte_is_survived(void **state)
{
    (void)state;
    static const unsigned char telling[] = { 0,   1,   2,   3,   0x7f, 0x80, 0xff,
                                             '0', '1', '2', '-', '.',  '/' };
    scr_filemap *map = rich();
    struct scr_str s = test_packed(map);
    for (size_t at = 0; at < s.len; at++) {
        char was = s.p[at];
        for (size_t i = 0; i < sizeof telling; i++) {
            scr_filemap *got = scr_filemap_new();
            s.p[at] = (char)telling[i];
            if (take(s.p, s.len, got) == SCR_OK)
                assert_sound(got);
            else
                assert_true(got->n == 0 && got->aside == NULL);
            scr_filemap_delete(got);
        }
        s.p[at] = was;
    }
    scr_str_free(&s);
    scr_filemap_delete(map);
}

/* Packs a tree in which one element is there twice: whole both times, or once with the
 * first of its elements and once with the others. */
struct twice {
    size_t which;    /* of all, a level before those below it */
    size_t counted;  /* so far */
    int split, done; /* done: which was one of them … */
    int is_value;    /* … and the value of a field of meta data */
};

/* Of two copies one keeps the first of the elements, the other what is behind it; where
 * there is one only, that is divided. */
static void divide(scr_hash *first, scr_hash *rest)
{
    scr_hash_elem *e = scr_hash_elem_first(first), *next;
    if (scr_hash_size(first) == 1) {
        const char *key = scr_hash_elem_key(e);
        divide(scr_hash_get(first, key), scr_hash_get(rest, key));
        return;
    }
    if (e != NULL)
        (void)scr_hash_unset(rest, scr_hash_elem_key(e));
    while (e != NULL && (next = scr_hash_elem_next(e)) != NULL)
        (void)scr_hash_unset(first, scr_hash_elem_key(next));
}

static void pack_both(struct scr_str *s, scr_hash_elem *e, int split)
{
    const char *key = scr_hash_elem_key(e);
    scr_hash *rest = scr_hash_dup(scr_hash_elem_hash(e)), *first = scr_hash_dup(rest);
    if (split)
        divide(first, rest);
    scr_pack_hash(s, key, first);
    scr_pack_hash(s, key, rest);
    scr_hash_delete(first);
    scr_hash_delete(rest);
}

/* meta: levels below META, -1: not below it. */
static void pack_twice(struct scr_str *s, const scr_hash *h, struct twice *t, int meta)
{
    size_t at = t->counted, n = scr_hash_size(h);
    int here = t->which >= at && t->which < at + n;
    t->counted += n;
    t->done |= here;
    t->is_value |= here && meta == 1;
    scr_pack_count(s, n + (here ? 1 : 0));
    for (SCR_HASH_EACH(e, h)) {
        const char *key = scr_hash_elem_key(e);
        int is_meta = meta < 0 && strcmp(key, "META") == 0;
        if (at++ == t->which) {
            pack_both(s, e, t->split);
            continue;
        }
        scr_pack_key(s, key);
        pack_twice(s, scr_hash_elem_hash(e), t, is_meta || meta >= 0 ? meta + 1 : -1);
    }
}

/* No key has two meanings: neither the first nor the last to come wins, nor do both. */
static void a_key_given_twice_is_refused(void **state)
{
    (void)state;
    scr_filemap *map = rich(), *got = scr_filemap_new();
    scr_hash *h = test_map_tree(map);
    int values = 0, done = 1;
    for (size_t which = 0; done; which++) {
        for (int split = 0; split < 2; split++) {
            struct twice t = { .which = which, .split = split };
            struct scr_str s = SCR_STR_INIT;
            pack_twice(&s, h, &t, -1);
            done = t.done;
            int rc = take(s.p, s.len, got);
            if (!done || t.is_value) /* whichever it is, it counts as not recorded */
                assert_int_equal(rc, SCR_OK);
            else if (rc != SCR_E_CORRUPT)
                fail_msg("element %zu twice%s: taken", which, split ? ", split" : "");
            values += t.is_value;
            scr_str_free(&s);
        }
        scr_filemap_delete(got);
        got = scr_filemap_new();
    }
    assert_true(values > 20);
    scr_hash_delete(h);
    scr_filemap_delete(map);
    scr_filemap_delete(got);
}

/* The number of pairs is right, and each has its entry. */
static void a_pair_given_twice_is_not_two(void **state)
{
    (void)state;
    scr_filemap *map = example(), *got = scr_filemap_new();
    scr_hash *h = test_map_tree(map);
    struct scr_str s = SCR_STR_INIT;
    scr_pack_count(&s, 2);
    scr_pack_hash(&s, "RANK", scr_hash_get(h, "RANK"));
    scr_pack_key(&s, "DSET");
    scr_pack_count(&s, 2);
    scr_pack_hash(&s, "10", scr_hash_getf(h, "DSET 10"));
    scr_pack_key(&s, "11");
    scr_pack_count(&s, 1);
    scr_pack_key(&s, "RANK");
    scr_pack_count(&s, 2);
    scr_pack_hash(&s, "20", NULL);
    scr_pack_hash(&s, "20", NULL); /* and not 28 */
    assert_int_equal(take(s.p, s.len, got), SCR_E_CORRUPT);
    scr_str_free(&s);
    scr_hash_delete(h);
    scr_filemap_delete(map);
    scr_filemap_delete(got);
}

/* Either part is a map that could be aside. */
static void a_time_given_twice_is_refused(void **state)
{
    (void)state;
    static const char *const keys[][2] = { { "3", "4" }, { "3", "3" }, { "3", "03" } };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        scr_filemap *got = scr_filemap_new();
        struct scr_str s = SCR_STR_INIT;
        scr_pack_count(&s, 1);
        scr_pack_key(&s, "ASIDE");
        scr_pack_count(&s, 2);
        for (int k = 0; k < 2; k++) {
            scr_filemap *part = scr_filemap_new();
            scr_filemap_add_rank(part, 1 + k, 7 + k);
            scr_pack_key(&s, keys[i][k]);
            scr_filemap_pack(&s, part);
            scr_filemap_delete(part);
        }
        assert_int_equal(take(s.p, s.len, got), i == 0 ? SCR_OK : SCR_E_CORRUPT);
        scr_str_free(&s);
        scr_filemap_delete(got);
    }
}

/* --- files --- */

static void written_read_and_merged(void **state)
{
    (void)state;
    const char *path = test_path("filemap_0.scrinfo");
    scr_filemap *map = rich(), *got = scr_filemap_new(), *want = rich();
    assert_int_equal(scr_filemap_read(&scr_sys_posix, path, got, NULL), SCR_E_NOENT);
    assert_int_equal(scr_filemap_write(&scr_sys_posix, path, map, SCR_VOLATILE, NULL),
                     SCR_OK);
    assert_int_equal(scr_filemap_read(&scr_sys_posix, path, got, NULL), SCR_OK);
    assert_true(test_maps_same(got, map));
    scr_filemap_delete(got);
    got = scr_filemap_new();
    scr_filemap_add_file(got, 12, 5, "/c/x");
    scr_filemap_add_file(want, 12, 5, "/c/x");
    assert_int_equal(scr_filemap_read(&scr_sys_posix, path, got, NULL), SCR_OK);
    assert_true(test_maps_same(got, want));
    assert_sound(got);
    test_fault_arm(TEST_ANY, 0, EIO, TEST_ONCE);
    assert_int_equal(scr_filemap_read(&test_fault_sys, path, got, NULL), SCR_E_IO);
    (void)test_fault_off();
    assert_true(test_maps_same(got, want));
    test_fault_arm(TEST_WRITE, 0, ENOSPC, TEST_FOREVER);
    assert_int_equal(scr_filemap_write(&test_fault_sys, path, got, SCR_VOLATILE, NULL),
                     SCR_E_FULL);
    (void)test_fault_off();
    scr_filemap_delete(got);
    got = scr_filemap_new();
    assert_int_equal(scr_filemap_read(&scr_sys_posix, path, got, NULL), SCR_OK);
    assert_true(test_maps_same(got, map)); /* what was there is still */
    scr_filemap_delete(map);
    scr_filemap_delete(got);
    scr_filemap_delete(want);
}

/* As any hash file of no bytes (scr_hashfile(5)). */
static void an_empty_file_is_an_empty_map(void **state)
{
    (void)state;
    const char *path = test_path("empty.scrinfo");
    scr_filemap *got = scr_filemap_new();
    test_put(path, "", 0);
    assert_int_equal(scr_filemap_read(&scr_sys_posix, path, got, NULL), SCR_OK);
    assert_true(test_map_is_empty(got));
    assert_int_equal(scr_filemap_write(&scr_sys_posix, path, NULL, SCR_VOLATILE, NULL),
                     SCR_OK);
    assert_int_equal(scr_filemap_read(&scr_sys_posix, path, got, NULL), SCR_OK);
    assert_true(test_map_is_empty(got));
    scr_filemap_delete(got);
}

/* A map that lost an entry because of missing memory must not be taken for complete. */
static void a_map_that_is_not_whole_is_not_written(void **state)
{
    (void)state;
    const char *path = test_path("lost.scrinfo");
    enum { N = 5 };
    scr_filemap *lost[N], *to = scr_filemap_new();
    for (int i = 0; i < N; i++)
        lost[i] = i == 0 ? scr_filemap_new() : i < 4 ? example() : rich();
    lost[0]->lost = lost[1]->lost = 1;
    scr_filemap_entry(lost[2], 11, 28)->files.arena.lost = 1;
    scr_hash_set_val(scr_filemap_entry(lost[3], 11, 28)->tags, "T",
                     NULL); /* marks it */
    scr_filemap_aside(lost[4], -4)->lost = 1;
    for (int i = 0; i < N; i++) {
        struct scr_err err = SCR_ERR_INIT;
        struct scr_str s = SCR_STR_INIT;
        assert_false(scr_filemap_ok(lost[i]));
        scr_filemap_pack(&s, lost[i]);
        assert_true(s.bad);
        scr_str_free(&s);
        assert_int_equal(
            scr_filemap_write(&scr_sys_posix, path, lost[i], SCR_VOLATILE, &err),
            SCR_E_NOMEM);
        assert_non_null(strstr(err.text, path));
        assert_int_equal(access(path, F_OK), -1);
        assert_int_equal(scr_filemap_merge(to, lost[i]), SCR_E_NOMEM);
        assert_null(scr_filemap_dup(lost[i]));
        assert_null(scr_filemap_extract_rank(lost[i], 28));
        scr_filemap *map = example();
        struct scr_str more = test_packed(map); /* reading does not repair it */
        (void)scr_filemap_unpack(more.p, more.len, lost[i], NULL);
        assert_false(scr_filemap_ok(lost[i]));
        scr_str_free(&more);
        scr_filemap_delete(map);
        scr_filemap_delete(lost[i]);
    }
    assert_true(test_map_is_empty(to));
    scr_filemap_delete(to);
}

/* Read from the file, and written again: no byte of what is known is lost. */
static void read_golden(const struct test_golden *g, void *arg)
{
    const char *path = test_path("golden.scrinfo");
    struct scr_err err = SCR_ERR_INIT;
    scr_filemap *map = scr_filemap_new(), *again = scr_filemap_new();
    scr_hash *want = scr_hash_new(), *got = scr_hash_new();
    (void)arg;
    if (scr_filemap_read(&scr_sys_posix, g->path, map, &err) != SCR_OK)
        fail_msg("%s", err.text);
    assert_int_equal(scr_filemap_write(&scr_sys_posix, path, map, SCR_VOLATILE, NULL),
                     SCR_OK);
    assert_int_equal(scr_hash_decode(g->bytes, g->n, want, NULL, NULL), SCR_OK);
    assert_int_equal(scr_hash_file_read(&scr_sys_posix, path, got, NULL), SCR_OK);
    assert_true(scr_hash_equal(got, want));
    assert_int_equal(scr_filemap_read(&scr_sys_posix, path, again, NULL), SCR_OK);
    assert_true(test_maps_same(map, again));
    scr_hash_delete(want);
    scr_hash_delete(got);
    scr_filemap_delete(map);
    scr_filemap_delete(again);
}

static void refuse_golden(const struct test_golden *g, void *arg)
{
    struct scr_err err = SCR_ERR_INIT;
    scr_filemap *map = example(), *before = example();
    (void)arg;
    int rc = scr_filemap_read(&scr_sys_posix, g->path, map, &err);
    if (rc != g->code || err.code != rc)
        fail_msg("%s: %s", g->name, scr_err_meaning(rc));
    assert_non_null(strstr(err.text, g->path));
    assert_true(test_maps_same(map, before));
    scr_filemap_delete(map);
    scr_filemap_delete(before);
}

static void golden_files(void **state)
{
    (void)state;
    (void)test_golden_each("filemap", "good-", read_golden, NULL);
    assert_true(test_golden_each("filemap", "bad-", refuse_golden, NULL) >= 18);
}

/* --- cost --- */

/* Every file routed is entered: the last must cost what the first did. */
static void many_files(void **state)
{
    (void)state;
    enum { N = 50000 };
    char path[64];
    scr_filemap *map = scr_filemap_new();
    for (int i = 0; i < N; i++) {
        (void)snprintf(path, sizeof path, "/c/file.%d", i);
        assert_non_null(scr_filemap_add_file(map, 1, 0, path));
    }
    assert_int_equal(scr_filemap_num_files(map, 1, 0), N);
    const struct scr_table *files = &scr_filemap_entry(map, 1, 0)->files;
    size_t steps = test_steps(&files->items, NULL);
    assert_true(steps >= N && steps < 4 * N);
    assert_sound(map);
    scr_filemap_delete(map);
}

static void many_ranks_and_datasets(void **state)
{
    (void)state;
    enum { RANKS = 300, DSETS = 7 };
    scr_filemap *map = scr_filemap_new();
    for (int i = 0; i < RANKS * DSETS; i++) { /* in no order: 1009 is prime */
        int k = i * 1009 % (RANKS * DSETS);
        assert_non_null(scr_filemap_add_rank(map, 1 + k % DSETS, k / DSETS));
    }
    assert_int_equal(map->n, RANKS * DSETS);
    assert_int_equal(num_ranks(map), RANKS);
    for (int d = 1; d <= DSETS; d++) {
        int rank = 0;
        assert_int_equal(scr_filemap_num_ranks_by_dataset(map, d), RANKS);
        for (SCR_ENTRIES(e, map, d))
            assert_true(e->dset == d && e->rank == rank++);
        assert_int_equal(rank, RANKS);
    }
    assert_sound(map);
    for (int rank = 0; rank < RANKS; rank += 2)
        scr_filemap_delete(scr_filemap_extract_rank(map, rank));
    assert_int_equal(num_ranks(map), RANKS / 2);
    scr_filemap_remove_dataset(map, 3);
    assert_int_equal(map->n, RANKS / 2 * (DSETS - 1));
    assert_sound(map);
    scr_filemap_delete(map);
}

/* --- what is aside --- */

/* Rank 20 with datasets made at 5 and, aside, at 3; rank 28 with the older only. */
static scr_filemap *with_aside(void)
{
    scr_filemap *map = scr_filemap_new(), *old = scr_filemap_new();
    scr_hash *made = scr_hash_new();
    scr_filemap_add_file(map, 10, 20, "/c/new");
    scr_hash_set_val_i64(made, "CREATED", 5);
    scr_filemap_set_dataset(map, 10, 20, made);
    scr_hash_set_val_i64(made, "CREATED", 3);
    for (int rank = 20; rank <= 28; rank += 8) {
        scr_filemap_add_file(old, 10, rank, "/c/old");
        scr_filemap_set_dataset(old, 10, rank, made);
        scr_filemap_set_desc(old, 10, rank, NULL);
        assert_int_equal(scr_filemap_set_aside(map, 3, old, 10, rank), SCR_OK);
    }
    assert_sound(map);
    scr_filemap_delete(old);
    scr_hash_delete(made);
    return map;
}

static void what_is_aside_is_kept_apart(void **state)
{
    (void)state;
    int n = 0;
    int64_t *made = NULL, oldest, newest;
    scr_filemap *map = with_aside();
    assert_int_equal(scr_filemap_num_ranks_by_dataset(map, 10), 1);
    assert_int_equal(num_ranks(map), 1);
    int *list = NULL, rc = scr_filemap_list_ranks(map, &n, &list);
    assert_list(rc, n, list, 20, 28);
    assert_int_equal(scr_filemap_created(map, 10, 20), 0); /* only begun there */
    scr_filemap_set_desc(map, 10, 20, NULL);
    scr_filemap_made(map, 10, &oldest, &newest);
    assert_true(oldest == 5 && newest == 5);
    assert_int_equal(scr_filemap_list_aside(map, &n, &made), SCR_OK);
    assert_true(n == 1 && made[0] == 3);
    free(made);
    scr_filemap *only = scr_filemap_only(map, 10, 3);
    assert_int_equal(scr_filemap_num_ranks_by_dataset(only, 10), 2);
    assert_int_equal(scr_filemap_num_files(only, 10, 20), 1);
    assert_sound(only);
    scr_filemap_delete(only);
    scr_filemap_drop_aside(map, 3, 10, 20);
    assert_true(scr_filemap_has_aside(map, 10));
    scr_filemap_remove_dataset(map, 10);
    assert_null(map->aside);
    assert_true(test_map_is_empty(map));
    assert_false(scr_filemap_has_aside(map, 10));
    scr_filemap_delete(map);
}

static void times_of_what_is_aside_are_listed(void **state)
{
    (void)state;
    int n = 0;
    int64_t *made = NULL;
    scr_filemap *map = rich();
    assert_int_equal(scr_filemap_list_aside(map, &n, &made), SCR_OK);
    assert_true(n == 2 && made[0] == 3 && made[1] == -4); /* as they came */
    free(made);
    scr_filemap_delete(map);
}

static void datasets_that_are_only_aside_are_listed(void **state)
{
    (void)state;
    scr_filemap *map = with_aside();
    scr_filemap_remove_rank_by_dataset(map, 10, 20);
    assert_int_equal(map->n, 0);
    assert_datasets(map, 10, -1);
    assert_sound(map);
    scr_filemap_drop_aside(map, 3, 10, 20);
    scr_filemap_drop_aside(map, 4, 10, 28); /* nothing is */
    assert_datasets(map, 10, -1);
    scr_filemap_drop_aside(map, 3, 10, 28);
    assert_true(test_map_is_empty(map));
    scr_filemap_delete(map);
}

static void what_is_aside_goes_with_its_rank(void **state)
{
    (void)state;
    scr_filemap *map = with_aside(), *whole = scr_filemap_dup(map);
    scr_filemap *one = scr_filemap_extract_rank(map, 20);
    assert_int_equal(num_ranks(one), 1);
    assert_int_equal(num_ranks(scr_filemap_aside(one, 3)), 1);
    assert_int_equal(num_ranks(scr_filemap_aside(map, 3)), 1);
    assert_sound(one);
    assert_sound(map);
    assert_int_equal(scr_filemap_merge(map, one), SCR_OK);
    assert_true(test_maps_same(map, whole));
    scr_filemap *other = scr_filemap_extract_rank(map, 28); /* aside only */
    assert_int_equal(other->n, 0);
    scr_filemap *third = scr_filemap_extract_rank(map, 4); /* nothing of it is */
    assert_true(test_map_is_empty(third));
    scr_filemap_delete(third);
    assert_int_equal(num_ranks(scr_filemap_aside(other, 3)), 1);
    assert_null(scr_filemap_entry(scr_filemap_aside(map, 3), 10, 28));
    scr_filemap_delete(scr_filemap_extract_rank(map, 20));
    assert_true(test_map_is_empty(map));
    scr_filemap_delete(other);
    scr_filemap_delete(whole);
    scr_filemap_delete(one);
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
        cmocka_unit_test(packed_it_is_the_hash_of_the_manual),
        cmocka_unit_test(the_order_on_disk_does_not_matter),
        cmocka_unit_test(what_is_not_known_is_skipped_or_a_tag),
        cmocka_unit_test(ambiguous_meta_data_are_not_recorded),
        cmocka_unit_test(a_damaged_map_is_refused),
        cmocka_unit_test(names_that_are_none_of_these_are_taken),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(every_changed_byte_is_survived),
        cmocka_unit_test(a_key_given_twice_is_refused),
        cmocka_unit_test(a_pair_given_twice_is_not_two),
        cmocka_unit_test(a_time_given_twice_is_refused),
        cmocka_unit_test(written_read_and_merged),
        cmocka_unit_test(an_empty_file_is_an_empty_map),
        cmocka_unit_test(a_map_that_is_not_whole_is_not_written),
        cmocka_unit_test(golden_files),
        cmocka_unit_test(many_files),
        cmocka_unit_test(many_ranks_and_datasets),
        cmocka_unit_test(what_is_aside_is_kept_apart),
        cmocka_unit_test(times_of_what_is_aside_are_listed),
        cmocka_unit_test(datasets_that_are_only_aside_are_listed),
        cmocka_unit_test(what_is_aside_goes_with_its_rank),
    };
    return cmocka_run_group_tests(tests, NULL, test_tmp_teardown);
}
