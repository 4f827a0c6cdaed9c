/* SPDX-License-Identifier: BSD-3-Clause */
/* The index of a prefix directory: updated whole or not at all, kept aside when damaged
 * (invariants D1, D3, P4). */
#include "helper_index.h"
#include "helper_prefix_dir.h"
#include "helper_store.h"

static const char *index_path(void)
{
    return test_path("prefix/.scr/index.scr");
}

static int read_index(struct test_store *t, struct scr_index *index)
{
    scr_err_clear(&t->err);
    return scr_prefix_index_read(&t->env, &t->p, index, &t->err);
}

/* --- the index --- */

static void an_absent_index_is_empty(void **state)
{
    (void)state;
    struct test_store t;
    test_store_open(&t);
    assert_string_equal(test_index_ids(&t), "");
    assert_false(test_exists(index_path()));
    test_store_close(&t);
}

static void updates_are_kept(void **state)
{
    (void)state;
    struct test_store t;
    test_store_open(&t);
    assert_int_equal(add(&t, 6), SCR_OK);
    assert_int_equal(add(&t, 12), SCR_OK);
    assert_string_equal(test_index_ids(&t), "12 6");
    assert_string_equal(test_store_log(&t), "");
    test_store_close(&t);
}

static int fail_after_change(struct scr_index *index, void *arg, int *changed,
                             struct scr_err *err)
{
    (void)arg;
    scr_index_remove(index, 6);
    *changed = 1;
    return scr_fail(err, SCR_E_NOENT, 0, "no such dataset");
}

/* --- what is known of it is not read again --- */

/* The index of t as another process finds it. */
static void check_same_as_on_disk(struct test_store *t)
{
    struct scr_prefix other;
    struct scr_index known, found;
    struct scr_str a = SCR_STR_INIT, b = SCR_STR_INIT;
    assert_int_equal(read_index(t, &known), SCR_OK);
    assert_int_equal(scr_prefix_open(&t->env, t->p.path, 0, &other, &t->err), SCR_OK);
    assert_int_equal(scr_prefix_index_read(&t->env, &other, &found, &t->err), SCR_OK);
    scr_index_pack(&a, &known);
    scr_index_pack(&b, &found);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.p, b.p, a.len);
    scr_str_free(&a);
    scr_str_free(&b);
    scr_index_fini(&known);
    scr_index_fini(&found);
    scr_prefix_fini(&other);
}

static void what_others_write_is_seen(void **state)
{
    (void)state;
    struct test_store t;
    struct scr_prefix other;
    test_store_open(&t);
    assert_int_equal(scr_prefix_open(&t.env, t.p.path, 0, &other, &t.err), SCR_OK);
    for (int id = 1; id < 40; id += 2) {
        int next = id + 1;
        assert_int_equal(add(&t, id), SCR_OK);
        check_same_as_on_disk(&t);
        assert_int_equal(
            scr_prefix_index_update(&t.env, &other, test_add_id, &next, &t.err),
            SCR_OK);
        check_same_as_on_disk(&t);
    }
    scr_prefix_fini(&other);
    test_store_close(&t);
}

static void an_index_lives_as_long_as_its_reader(void **state)
{
    (void)state;
    struct test_store t;
    struct scr_index before, index;
    test_store_open(&t);
    for (int id = 1; id < 4; id++)
        assert_int_equal(add(&t, id), SCR_OK);
    assert_int_equal(read_index(&t, &before), SCR_OK);
    assert_int_equal(add(&t, 4), SCR_OK);
    assert_int_equal(scr_index_max_id(&before), 3);
    assert_int_equal(read_index(&t, &index), SCR_OK);
    assert_int_equal(scr_index_max_id(&index), 4);
    scr_index_fini(&index);
    scr_prefix_fini(&t.p);
    assert_true(scr_index_is_complete(&before, 3));
    scr_index_fini(&before);
    test_store_close(&t);
}

static void what_is_known_is_not_read_again(void **state)
{
    (void)state;
    struct test_store t;
    struct scr_index index;
    char *bytes;
    size_t n;
    test_store_open(&t);
    assert_int_equal(add(&t, 1), SCR_OK);
    assert_int_equal(read_index(&t, &index), SCR_OK);
    scr_index_fini(&index);
    bytes = test_get(index_path(), &n);
    bytes[n / 2] ^= 1;
    test_put(index_path(), bytes, n);
    assert_int_equal(read_index(&t, &index), SCR_OK);
    assert_true(scr_index_is_complete(&index, 1));
    scr_index_fini(&index);
    assert_int_equal(add(&t, 2), SCR_OK);
    check_same_as_on_disk(&t);
    assert_string_equal(test_store_log(&t), "");
    free(bytes);
    test_store_close(&t);
}

static void a_failing_edit_changes_nothing(void **state)
{
    (void)state;
    struct test_store t;
    test_store_open(&t);
    add(&t, 6);
    assert_int_equal(
        scr_prefix_index_update(&t.env, &t.p, fail_after_change, NULL, &t.err),
        SCR_E_NOENT);
    assert_string_equal(t.err.text, "no such dataset");
    assert_string_equal(test_index_ids(&t), "6");
    test_store_close(&t);
}

static void unknown_keys_survive_an_update(void **state)
{
    (void)state;
    struct test_store t;
    struct scr_index index;
    scr_hash *h = scr_hash_new();
    test_store_open(&t);
    scr_hash_set_val_i64(h, "VERSION", 2);
    scr_hash_set_kv(h, "FUTURE", "thing");
    assert_int_equal(
        scr_hash_file_write(&scr_sys_posix, index_path(), h, SCR_DURABLE, NULL),
        SCR_OK);
    assert_int_equal(add(&t, 1), SCR_OK);
    scr_hash_delete(h);
    assert_int_equal(read_index(&t, &index), SCR_OK);
    h = test_index_tree(&index);
    assert_non_null(scr_hash_get_kv(h, "FUTURE", "thing"));
    scr_hash_delete(h);
    scr_index_fini(&index);
    test_store_close(&t);
}

static void a_newer_index_is_refused_and_left_alone(void **state)
{
    (void)state;
    struct test_store t;
    struct scr_index index;
    scr_hash *h = scr_hash_new();
    size_t n, m;
    test_store_open(&t);
    scr_hash_set_val_i64(h, "VERSION", 3);
    scr_hash_file_write(&scr_sys_posix, index_path(), h, SCR_DURABLE, NULL);
    void *before = test_get(index_path(), &n);
    assert_int_equal(read_index(&t, &index), SCR_E_VERSION);
    assert_non_null(strstr(t.err.text, "index.scr"));
    assert_int_equal(add(&t, 1), SCR_E_VERSION);
    void *after = test_get(index_path(), &m);
    assert_int_equal(n, m);
    assert_memory_equal(before, after, n);
    assert_false(test_exists(test_path("prefix/.scr/index.scr.damaged.1")));
    free(before);
    free(after);
    scr_hash_delete(h);
    scr_index_fini(&index);
    test_store_close(&t);
}

/* --- the damaged index --- */

static const struct damage {
    const char *what, *bytes;
    size_t n;
} damages[] = {
    { "zero bytes", "", 0 },
    { "garbage", "garbage, forty bytes of it, no magic here", 41 },
    { "a cut header", "\x95\x1f\xc3\xf5\0\1", 6 },
};

static void is_rebuilt(struct test_store *t, const struct damage *d)
{
    struct scr_index index = SCR_INDEX_INIT;
    struct scr_index_entry e;
    size_t n;
    test_put(index_path(), d->bytes, d->n);
    assert_int_equal(read_index(t, &index), SCR_OK);
    assert_string_equal(test_index_ids(t), "12 6");
    assert_int_equal(scr_index_get(&index, 6, &e, NULL), SCR_OK);
    assert_string_equal(e.dset.name, "ckpt.6");
    assert_true(e.complete);
    assert_string_equal(index.current, "ckpt.6"); /* 12 is incomplete */
    void *aside = test_get(test_path("prefix/.scr/index.scr.damaged.1"), &n);
    assert_int_equal(n, d->n);
    assert_memory_equal(aside, d->bytes, n);
    free(aside);
    scr_index_fini(&index);
}

static void a_damaged_index_is_kept_aside_and_rebuilt(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        struct test_store t;
        test_store_open(&t);
        test_summary(&t, 6, "ckpt.6", 1);
        test_summary(&t, 12, "ckpt.12", 0);
        is_rebuilt(&t, &damages[i]);
        assert_non_null(strstr(test_store_log(&t), "index.scr.damaged.1"));
        assert_non_null(
            strstr(test_store_log(&t), "rebuilt from the dataset directories"));
        test_store_close(&t);
    }
}

static void an_index_that_is_gone_is_rebuilt(void **state)
{
    (void)state;
    struct test_store t;
    test_store_open(&t);
    test_summary(&t, 6, "ckpt.6", 1);
    test_summary(&t, 12, "ckpt.12", 1);
    add(&t, 6);
    assert_int_equal(unlink(index_path()), 0);
    assert_string_equal(test_index_ids(&t), "12 6");
    assert_true(test_exists(index_path()));
    assert_non_null(strstr(test_store_log(&t), "was gone, rebuilt from the dataset"));
    assert_null(strstr(test_store_log(&t), "damaged"));
    test_store_close(&t);
}

static void directories_without_a_summary_are_no_lost_index(void **state)
{
    (void)state;
    struct test_store t;
    test_store_open(&t);
    assert_int_equal(mkdir(test_path("prefix/.scr/scr.dataset.7"), 0700), 0);
    assert_string_equal(test_index_ids(&t), "");
    assert_string_equal(test_store_log(&t), "");
    assert_false(test_exists(index_path()));
    test_store_close(&t);
}

static void a_flipped_bit_anywhere_is_found_and_repaired(void **state)
{
    (void)state;
    struct test_store t;
    size_t n;
    test_store_open(&t);
    test_summary(&t, 6, "ckpt.6", 1);
    add(&t, 6);
    char *good = test_get(index_path(), &n);
    for (size_t i = 0; i < n; i++) {
        struct scr_index index = SCR_INDEX_INIT;
        good[i] = (char)(good[i] ^ 0x10);
        test_put(index_path(), good, n);
        good[i] = (char)(good[i] ^ 0x10);
        assert_int_equal(read_index(&t, &index), SCR_OK);
        assert_int_equal(scr_index_find(&index, "ckpt.6"), 6);
        scr_index_fini(&index);
    }
    free(good);
    test_store_close(&t);
}

static void damaged_files_never_replace_each_other(void **state)
{
    (void)state;
    struct test_store t;
    test_store_open(&t);
    for (int i = 1; i <= 3; i++) {
        test_put(index_path(), "bad", 3);
        assert_int_equal(add(&t, i), SCR_OK);
        assert_true(test_exists(test_path("prefix/.scr/index.scr.damaged.%d", i)));
    }
    assert_string_equal(test_index_ids(&t), "3");
    test_store_close(&t);
}

static void datasets_without_usable_summary_are_named(void **state)
{
    (void)state;
    struct test_store t;
    struct scr_index index = SCR_INDEX_INIT;
    test_store_open(&t);
    test_summary(&t, 2, "ckpt.2", 1);
    assert_int_equal(mkdir(test_path("prefix/.scr/scr.dataset.7"), 0700), 0);
    assert_int_equal(mkdir(test_path("prefix/.scr/scr.dataset.8"), 0700), 0);
    test_put(test_path("prefix/.scr/scr.dataset.8/summary.scr"), "bad", 3);
    test_put(index_path(), "", 0);
    assert_int_equal(read_index(&t, &index), SCR_OK);
    assert_string_equal(test_index_ids(&t), "2");
    assert_non_null(strstr(test_store_log(&t), "--build 7"));
    assert_non_null(strstr(test_store_log(&t), "--build 8"));
    scr_index_fini(&index);
    test_store_close(&t);
}

static void a_copied_dataset_directory_is_not_a_dataset(void **state)
{
    (void)state;
    struct test_store t;
    test_store_open(&t);
    test_summary(&t, 2, "ckpt.2", 1);
    assert_int_equal(rename(test_path("prefix/.scr/scr.dataset.2"),
                            test_path("prefix/.scr/scr.dataset.5")),
                     0);
    test_put(index_path(), "", 0);
    assert_string_equal(test_index_ids(&t), "");
    test_store_close(&t);
}

/* --- every system call fails once, and from each on nothing works --- */

/* The old ids, or those with 12 as well: never anything else, after every fault. */
static void survive_update(int error, enum test_how how, const char *start,
                           size_t nstart)
{
    for (long n = 0;; n++) {
        struct test_store t;
        test_store_open(&t);
        test_summary(&t, 6, "ckpt.6", 1);
        if (start == NULL)
            add(&t, 6);
        else
            test_put(index_path(), start, nstart);
        test_fault_arm(TEST_ANY, n, error, how);
        int rc = add(&t, 12);
        int fired = test_fault_off();
        const char *ids = test_index_ids(&t);
        if (rc == SCR_OK)
            assert_string_equal(ids, "12 6");
        else
            assert_true(strcmp(ids, "6") == 0 || strcmp(ids, "12 6") == 0);
        assert_int_equal(t.err.code, rc);
        test_store_close(&t);
        if (!fired)
            break;
    }
}

static void an_index_update_survives_any_failure(void **state)
{
    (void)state;
    survive_update(EIO, TEST_ONCE, NULL, 0);
    survive_update(EIO, TEST_FOREVER, NULL, 0);
    survive_update(ENOSPC, TEST_FOREVER, NULL, 0);
}

static void an_index_repair_survives_any_failure(void **state)
{
    (void)state;
    survive_update(EIO, TEST_ONCE, "", 0);
    survive_update(EIO, TEST_FOREVER, "garbage", 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_absent_index_is_empty),
        cmocka_unit_test(updates_are_kept),
        cmocka_unit_test(what_others_write_is_seen),
        cmocka_unit_test(an_index_lives_as_long_as_its_reader),
        cmocka_unit_test(what_is_known_is_not_read_again),
        cmocka_unit_test(a_failing_edit_changes_nothing),
        cmocka_unit_test(unknown_keys_survive_an_update),
        cmocka_unit_test(a_newer_index_is_refused_and_left_alone),
        cmocka_unit_test(a_damaged_index_is_kept_aside_and_rebuilt),
        cmocka_unit_test(an_index_that_is_gone_is_rebuilt),
        cmocka_unit_test(directories_without_a_summary_are_no_lost_index),
        cmocka_unit_test(a_flipped_bit_anywhere_is_found_and_repaired),
        cmocka_unit_test(damaged_files_never_replace_each_other),
        cmocka_unit_test(datasets_without_usable_summary_are_named),
        cmocka_unit_test(a_copied_dataset_directory_is_not_a_dataset),
        cmocka_unit_test(an_index_update_survives_any_failure),
        cmocka_unit_test(an_index_repair_survives_any_failure),
    };
    return cmocka_run_group_tests(tests, NULL, prefix_dir_teardown);
}
