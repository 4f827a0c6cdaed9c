/* SPDX-License-Identifier: BSD-3-Clause */
/* Filemap: which rank wrote which files in which dataset, by the example of the manual.
 */
#include "helper_tmp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hashfile.h"
#include "fmt/filemap.h"
#include "helper_fault.h"

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
    assert_int_equal(scr_filemap_check(map, NULL), SCR_OK);
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

static void questions(void **state)
{
    (void)state;
    scr_filemap *map = example();
    assert_int_equal(scr_filemap_num_datasets(map), 2);
    assert_int_equal(scr_filemap_latest_dataset(map), 11);
    assert_int_equal(scr_filemap_oldest_dataset(map), 10);
    assert_int_equal(scr_filemap_num_ranks(map), 2);
    assert_int_equal(scr_filemap_num_ranks_by_dataset(map, 10), 1);
    assert_int_equal(scr_filemap_num_ranks_by_dataset(map, 11), 2);
    assert_int_equal(scr_filemap_num_ranks_by_dataset(map, 12), 0);
    assert_true(scr_filemap_have_rank(map, 28));
    assert_false(scr_filemap_have_rank(map, 21));
    assert_true(scr_filemap_have_rank_by_dataset(map, 11, 28));
    assert_false(scr_filemap_have_rank_by_dataset(map, 10, 28));
    assert_int_equal(scr_filemap_num_files(map, 10, 20), 2);
    assert_int_equal(scr_filemap_num_expected_files(map, 10, 20), 2);
    assert_int_equal(scr_filemap_num_expected_files(map, 11, 28), -1);
    scr_filemap_unset_expected_files(map, 10, 20);
    assert_int_equal(scr_filemap_num_expected_files(map, 10, 20), -1);
    scr_filemap_delete(map);
}

static void an_empty_map_answers(void **state)
{
    (void)state;
    int n, *list;
    const char **files;
    assert_int_equal(scr_filemap_latest_dataset(NULL), -1);
    assert_int_equal(scr_filemap_oldest_dataset(NULL), -1);
    assert_int_equal(scr_filemap_num_files(NULL, 1, 2), 0);
    int rc = scr_filemap_list_datasets(NULL, &n, &list);
    assert_list(rc, n, list, -1, -1);
    assert_int_equal(scr_filemap_list_files(NULL, 1, 2, &n, &files), SCR_OK);
    assert_true(n == 0 && files == NULL);
    assert_null(scr_filemap_first_file(NULL, 1, 2));
    assert_int_equal(scr_filemap_check(NULL, NULL), SCR_OK);
}

static void lists_ascend(void **state)
{
    (void)state;
    int n, *list, rc;
    const char **files;
    scr_filemap *map = scr_filemap_new();
    scr_filemap_add_rank(map, 11, 28);
    scr_filemap_add_rank(map, 9, 3);
    scr_filemap_add_rank(map, 11, 3);
    rc = scr_filemap_list_datasets(map, &n, &list);
    assert_list(rc, n, list, 9, 11);
    rc = scr_filemap_list_ranks(map, &n, &list);
    assert_list(rc, n, list, 3, 28);
    rc = scr_filemap_list_ranks_by_dataset(map, 11, &n, &list);
    assert_list(rc, n, list, 3, 28);
    rc = scr_filemap_list_ranks_by_dataset(map, 9, &n, &list);
    assert_list(rc, n, list, 3, -1);
    scr_filemap_add_file(map, 9, 3, "/c/b");
    scr_filemap_add_file(map, 9, 3, "/c/a");
    assert_int_equal(scr_filemap_list_files(map, 9, 3, &n, &files), SCR_OK);
    assert_int_equal(n, 2);
    assert_string_equal(files[0], "/c/b"); /* as they came */
    assert_string_equal(files[1], "/c/a");
    free(files);
    scr_filemap_delete(map);
}

static void iterators(void **state)
{
    (void)state;
    scr_filemap *map = example();
    assert_string_equal(scr_hash_elem_key(scr_filemap_first_dataset(map)), "10");
    scr_hash_elem *e = scr_filemap_first_rank_by_dataset(map, 11);
    assert_int_equal(scr_hash_elem_key_int(e), 20);
    assert_int_equal(scr_hash_elem_key_int(scr_hash_elem_next(e)), 28);
    e = scr_filemap_first_file(map, 11, 28);
    assert_string_equal(scr_hash_elem_key(e), "/c/foo_28.ckpt.11");
    assert_null(scr_hash_elem_next(e));
    scr_filemap_delete(map);
}

/* Whatever is removed, index and entries stay in step and nothing empty stays. */
static void removing(void **state)
{
    (void)state;
    scr_filemap *map = example();
    scr_filemap_remove_file(map, 10, 20, "/c/foo_20.ckpt.10.xor");
    assert_int_equal(scr_filemap_num_files(map, 10, 20), 1);
    scr_filemap_remove_file(map, 10, 20, "/c/foo_20.ckpt.10");
    assert_true(
        scr_filemap_have_rank_by_dataset(map, 10, 20)); /* and wrote two files */
    scr_filemap_remove_file(map, 10, 20, "/c/never");
    scr_filemap_remove_rank_by_dataset(map, 11, 20);
    assert_true(scr_filemap_have_rank(map, 20));
    assert_int_equal(scr_filemap_num_ranks_by_dataset(map, 11), 1);
    scr_filemap_remove_rank_by_dataset(map, 10, 20);
    assert_false(scr_filemap_have_rank(map, 20));
    assert_int_equal(scr_filemap_num_datasets(map), 1);
    assert_int_equal(scr_filemap_check(map, NULL), SCR_OK);
    scr_filemap_delete(map);

    map = example();
    scr_filemap_remove_dataset(map, 11);
    assert_false(scr_filemap_have_rank(map, 28));
    assert_int_equal(scr_filemap_latest_dataset(map), 10);
    assert_int_equal(scr_filemap_check(map, NULL), SCR_OK);
    scr_filemap_remove_dataset(map, 10);
    assert_int_equal(scr_hash_size(map), 0);
    scr_filemap_delete(map);

    map = example();
    scr_filemap_remove_rank(map, 20);
    assert_int_equal(scr_filemap_oldest_dataset(map), 11);
    assert_int_equal(scr_filemap_check(map, NULL), SCR_OK);
    scr_filemap_clear(map);
    assert_int_equal(scr_hash_size(map), 0);
    scr_filemap_delete(map);
}

static void extracting_and_merging_give_the_whole_again(void **state)
{
    (void)state;
    scr_filemap *map = example(), *whole = example();
    scr_filemap *r20 = scr_filemap_extract_rank(map, 20);
    assert_false(scr_filemap_have_rank(map, 20));
    assert_int_equal(scr_filemap_num_datasets(r20), 2);
    assert_int_equal(scr_filemap_num_files(r20, 10, 20), 2);
    assert_int_equal(scr_filemap_check(map, NULL), SCR_OK);
    assert_int_equal(scr_filemap_check(r20, NULL), SCR_OK);
    scr_filemap *nobody = scr_filemap_extract_rank(map, 99);
    assert_int_equal(scr_hash_size(nobody), 0);
    assert_int_equal(scr_filemap_merge(map, r20), SCR_OK);
    assert_true(scr_hash_equal(map, whole));
    scr_filemap_delete(map);
    scr_filemap_delete(whole);
    scr_filemap_delete(r20);
    scr_filemap_delete(nobody);
}

static void descriptors_meta_data_and_tags(void **state)
{
    (void)state;
    scr_filemap *map = example();
    scr_hash *h = scr_hash_new();
    scr_hash_set_val(h, "ID", "11");
    assert_null(scr_filemap_get_dataset(map, 11, 28));
    scr_filemap_set_dataset(map, 11, 28, h);
    scr_filemap_set_desc(map, 11, 28, h);
    scr_filemap_set_meta(map, 11, 28, "/c/foo_28.ckpt.11", h);
    assert_true(scr_hash_equal(scr_filemap_get_dataset(map, 11, 28), h));
    assert_true(scr_hash_equal(scr_filemap_get_desc(map, 11, 28), h));
    assert_true(
        scr_hash_equal(scr_filemap_get_meta(map, 11, 28, "/c/foo_28.ckpt.11"), h));
    assert_ptr_not_equal(scr_filemap_get_desc(map, 11, 28), h); /* copied */
    scr_filemap_set_desc(map, 11, 28,
                         scr_filemap_get_desc(map, 11, 28)); /* from itself */
    assert_true(scr_hash_equal(scr_filemap_get_desc(map, 11, 28), h));
    assert_null(scr_filemap_get_meta(map, 11, 28, "/c/other"));
    assert_string_equal(scr_filemap_get_tag(map, 11, 28, "PARTNER"), "atlas56");
    scr_filemap_unset_tag(map, 11, 28, "PARTNER");
    scr_filemap_unset_desc(map, 11, 28);
    scr_filemap_unset_dataset(map, 11, 28);
    assert_null(scr_filemap_get_tag(map, 11, 28, "PARTNER"));
    assert_null(scr_filemap_get_desc(map, 11, 28));
    assert_null(scr_filemap_get_dataset(map, 11, 28));
    scr_hash_delete(h);
    scr_filemap_delete(map);
}

static void written_read_and_merged(void **state)
{
    (void)state;
    const char *path = test_path("filemap_0.scrinfo");
    scr_filemap *map = example(), *got = scr_filemap_new();
    assert_int_equal(scr_filemap_read(&scr_sys_posix, path, got, NULL), SCR_E_NOENT);
    assert_int_equal(scr_filemap_write(&scr_sys_posix, path, map, NULL), SCR_OK);
    scr_filemap_add_file(got, 12, 5, "/c/x");
    assert_int_equal(scr_filemap_read(&scr_sys_posix, path, got, NULL), SCR_OK);
    assert_int_equal(scr_filemap_num_datasets(got), 3);
    assert_int_equal(scr_filemap_check(got, NULL), SCR_OK);
    test_fault_arm(TEST_ANY, 0, EIO, TEST_ONCE);
    assert_int_equal(scr_filemap_read(&test_fault_sys, path, got, NULL), SCR_E_IO);
    (void)test_fault_off();
    assert_int_equal(scr_filemap_num_datasets(got), 3);
    scr_filemap_delete(map);
    scr_filemap_delete(got);
}

static void a_damaged_map_is_not_merged(void **state)
{
    (void)state;
    struct scr_err err = SCR_ERR_INIT;
    const char *path = test_path("bad.scrinfo");
    scr_filemap *bad = example(), *got = scr_filemap_new();
    scr_hash_setf(bad, NULL, "RANK 30 DSET 11"); /* an entry the index does not know */
    assert_int_equal(scr_filemap_write(&scr_sys_posix, path, bad, NULL), SCR_OK);
    assert_int_equal(scr_filemap_read(&scr_sys_posix, path, got, &err), SCR_E_CORRUPT);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(scr_hash_size(got), 0);
    scr_filemap_delete(bad);
    scr_filemap_delete(got);
}

/* Every file routed is entered: the thousandth must cost what the first did. */
static void many_files(void **state)
{
    (void)state;
    enum { N = 50000 };
    char path[64];
    scr_filemap *map = scr_filemap_new();
    for (int i = 0; i < N; i++) {
        (void)snprintf(path, sizeof path, "/c/file.%d", i);
        scr_filemap_add_file(map, 1, 0, path);
    }
    assert_int_equal(scr_filemap_num_files(map, 1, 0), N);
    assert_true(scr_hash_lookup_steps(scr_hash_getf(map, "RANK 0 DSET 1 FILE")) <
                4 * N);
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
    assert_int_equal(scr_filemap_check(map, NULL), SCR_OK);
    scr_filemap_delete(old);
    scr_hash_delete(made);
    return map;
}

static void what_is_aside_is_kept_apart(void **state)
{
    (void)state;
    int n = 0, *list = NULL, rc;
    int64_t *made = NULL, oldest, newest;
    scr_filemap *map = with_aside();
    assert_int_equal(scr_filemap_num_ranks_by_dataset(map, 10), 1);
    rc = scr_filemap_list_ranks(map, &n, &list);
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
    scr_filemap_delete(only);
    scr_filemap_drop_aside(map, 3, 10, 20);
    assert_true(scr_filemap_has_aside(map, 10));
    scr_filemap_remove_dataset(map, 10);
    assert_int_equal(scr_hash_size(scr_hash_get(map, "ASIDE")), 0);
    assert_false(scr_filemap_has_aside(map, 10));
    scr_filemap_delete(map);
}

static void what_is_aside_goes_with_its_rank(void **state)
{
    (void)state;
    scr_filemap *map = with_aside(), *whole = scr_hash_dup(map);
    scr_filemap *one = scr_filemap_extract_rank(map, 20);
    assert_int_equal(scr_filemap_num_ranks(one), 1);
    assert_int_equal(scr_filemap_num_ranks(scr_filemap_aside(one, 3)), 1);
    assert_int_equal(scr_filemap_num_ranks(scr_filemap_aside(map, 3)), 1);
    assert_int_equal(scr_filemap_merge(map, one), SCR_OK);
    assert_true(scr_hash_equal(map, whole));
    scr_hash_set_kv(map, "ASIDE", "no time");
    assert_int_equal(scr_filemap_check(map, NULL), SCR_E_CORRUPT);
    scr_filemap_delete(whole);
    scr_filemap_delete(one);
    scr_filemap_delete(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(questions),
        cmocka_unit_test(an_empty_map_answers),
        cmocka_unit_test(lists_ascend),
        cmocka_unit_test(iterators),
        cmocka_unit_test(removing),
        cmocka_unit_test(extracting_and_merging_give_the_whole_again),
        cmocka_unit_test(descriptors_meta_data_and_tags),
        cmocka_unit_test(written_read_and_merged),
        cmocka_unit_test(a_damaged_map_is_not_merged),
        cmocka_unit_test(many_files),
        cmocka_unit_test(what_is_aside_is_kept_apart),
        cmocka_unit_test(what_is_aside_goes_with_its_rank),
    };
    return cmocka_run_group_tests(tests, NULL, test_tmp_teardown);
}
