/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets whose files newer ones have all written over leave no records (invariant
 * P27), whichever system call fails. */
#include "helper_failure.h"
#include "helper_lists.h"
#include "helper_store.h"

#include "store/deletion.h"
#include "store/replaced.h"

static int teardown(void **state)
{
    (void)state;
    test_tmp_remove();
    return test_fault_open_fds() == 0 ? 0 : -1;
}

/* The list of dataset id: one rank's files, separated by blanks. */
static void list_files(struct test_store *t, int id, const char *files)
{
    char name[64];
    struct scr_rank2file list = { .ranks = 1 };
    for (int at = 0, n = 0; sscanf(files + at, "%63s%n", name, &n) == 1; at += n)
        test_list_add(&list, 0, name, 1);
    const char *path = test_path("prefix/.scr/scr.dataset.%d/rank2file", id);
    assert_int_equal(scr_rank2file_write(&scr_sys_posix, path, &list, &t->err), SCR_OK);
    scr_rank2file_fini(&list);
}

/* A dataset "ckpt" with such a list, in the index and, if it is complete, with a
 * summary. */
static void add(struct test_store *t, int id, int complete, const char *files)
{
    scr_hash *dset = test_dataset(id, "ckpt");
    test_summary(t, id, "ckpt", 1);
    list_files(t, id, files);
    if (!complete)
        assert_int_equal(scr_prefix_summary_remove(&t->env, &t->p, id, &t->err),
                         SCR_OK);
    assert_int_equal(
        scr_prefix_index_enter(&t->env, &t->p, dset, complete, 1000, &t->err), SCR_OK);
    scr_hash_delete(dset);
}

/* "5 3" are the datasets in the index, and the only ones with a directory. */
static void assert_left(struct test_store *t, const char *ids)
{
    assert_string_equal(test_index_ids(t), ids);
    for (int id = 1; id < 40; id++) {
        char number[8], all[1100];
        const char *dir = test_path("prefix/.scr/scr.dataset.%d", id);
        snprintf(number, sizeof number, " %d ", id);
        snprintf(all, sizeof all, " %s ", ids);
        assert_int_equal(test_exists(dir), strstr(all, number) != NULL);
    }
}

static void put(int id, const char *name)
{
    test_put(test_path("prefix/.scr/scr.dataset.%d/%s", id, name), "x", 1);
}

static void take(int id, const char *name)
{
    assert_int_equal(unlink(test_path("prefix/.scr/scr.dataset.%d/%s", id, name)), 0);
}

static struct scr_index_entry entry(struct test_store *t, int id,
                                    struct scr_index *index)
{
    struct scr_index_entry e;
    assert_int_equal(scr_prefix_index_read(&t->env, &t->p, index, &t->err), SCR_OK);
    assert_int_equal(scr_index_get(index, id, &e, &t->err), SCR_OK);
    return e;
}

static void assert_own(struct test_store *t, int id, const char *path)
{
    struct scr_index index = SCR_INDEX_INIT;
    const char *own = entry(t, id, &index).own;
    assert_string_equal(own != NULL ? own : "none", path);
    scr_index_fini(&index);
}

/* --- which go --- */

static void those_without_a_remaining_path_go(void **state)
{
    (void)state;
    struct test_store t;
    test_store_open(&t);
    add(&t, 1, 0, "a b");
    add(&t, 2, 0, "b");
    add(&t, 3, 0, "a b c");
    add(&t, 4, 1, "d");
    add(&t, 5, 1, "a b");
    add(&t, 6, 0, "a"); /* is newer: it may be on its way */
    scr_replaced_remove(&t.env, &t.p, 5);
    assert_left(&t, "6 5 4 3");
    assert_own(&t, 3, "c");
    assert_string_equal(test_store_log(&t), "");
    test_store_close(&t);
}

static void several_newer_ones_count_together(void **state)
{
    (void)state;
    struct test_store t;
    test_store_open(&t);
    add(&t, 1, 0, "a b");
    add(&t, 2, 1, "a");
    scr_replaced_remove(&t.env, &t.p, 2);
    assert_left(&t, "2 1");
    assert_own(&t, 1, "b");
    add(&t, 3, 1, "c");
    scr_replaced_remove(&t.env, &t.p, 3);
    assert_left(&t, "3 2 1");
    add(&t, 4, 1, "b");
    scr_replaced_remove(&t.env, &t.p, 4);
    assert_left(&t, "4 3 2");
    test_store_close(&t);
}

/* Another process may complete it yet, or needs its list. */
static void what_is_in_use_stays(void **state)
{
    (void)state;
    static const char *const names[] = { "outgoing.scr", "flushing.lock", "files",
                                         "placing.scr", "rebuild" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct test_store t;
        test_store_open(&t);
        add(&t, 1, 0, "a");
        add(&t, 2, 1, "a");
        put(1, names[i]);
        scr_replaced_remove(&t.env, &t.p, 2);
        assert_left(&t, "2 1");
        take(1, names[i]);
        scr_replaced_remove(&t.env, &t.p, 2);
        assert_left(&t, "2");
        test_store_close(&t);
    }
}

static void a_dataset_without_a_good_list_stays_too(void **state)
{
    (void)state;
    struct test_store t;
    test_store_open(&t);
    add(&t, 1, 0, "a");
    add(&t, 2, 0, "a");
    add(&t, 3, 0, "");
    add(&t, 4, 1, "a");
    take(1, "rank2file");
    put(2, "rank2file");
    scr_replaced_remove(&t.env, &t.p, 4);
    assert_left(&t, "4 3 2 1");
    test_store_close(&t);
}

static int edit_current(struct scr_index *index, void *arg, int *changed,
                        struct scr_err *err)
{
    (void)err;
    *changed = 1;
    return scr_index_set_current(index, arg);
}

static void the_current_one_stays_too(void **state)
{
    (void)state;
    struct test_store t;
    char name[] = "chosen";
    scr_hash *dset = test_dataset(1, name);
    test_store_open(&t);
    add(&t, 1, 0, "a");
    add(&t, 2, 1, "a");
    assert_int_equal(scr_prefix_index_enter(&t.env, &t.p, dset, 0, 1000, &t.err),
                     SCR_OK);
    assert_int_equal(scr_prefix_index_update(&t.env, &t.p, edit_current, name, &t.err),
                     SCR_OK);
    scr_replaced_remove(&t.env, &t.p, 2);
    assert_left(&t, "2 1");
    scr_hash_delete(dset);
    test_store_close(&t);
}

/* Entries of older versions are looked at little by little. */
static void many_go_in_several_calls(void **state)
{
    (void)state;
    struct test_store t;
    test_store_open(&t);
    for (int id = 1; id < 20; id++)
        add(&t, id, 0, "a");
    add(&t, 20, 1, "a");
    scr_replaced_remove(&t.env, &t.p, 20);
    assert_left(&t, "20 3 2 1");
    scr_replaced_remove(&t.env, &t.p, 20);
    assert_left(&t, "20");
    test_store_close(&t);
}

/* Leftovers of earlier deletions: the list was the last to go. */
static void a_deletion_that_died_is_finished(void **state)
{
    (void)state;
    struct test_store t;
    test_store_open(&t);
    add(&t, 1, 0, "a");
    add(&t, 2, 0, "b");
    add(&t, 3, 1, "c");
    for (int id = 1; id <= 2; id++)
        assert_int_equal(scr_deletion_begin(&t.env, &t.p, id, &t.err), SCR_OK);
    take(1, "rank2file");
    scr_replaced_remove(&t.env, &t.p, 3);
    assert_left(&t, "3 2"); /* the file of 2 is still to be deleted */
    test_store_close(&t);
}

/* --- in cache --- */

static scr_hash *flush_file(struct test_store *t)
{
    scr_hash *h = scr_hash_new();
    assert_int_equal(scr_prefix_state_read(&t->env, &t->p, "flush.scr", h, &t->err),
                     SCR_OK);
    return h;
}

static int edit_cached(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    (void)arg, (void)err;
    for (int id = 1; id <= 2; id++) {
        scr_hash *dset = test_dataset(id, "ckpt");
        assert_int_equal(scr_flush_set_dataset(h, dset), SCR_OK);
        scr_flush_set_location(h, id, SCR_LOC_CACHE | SCR_LOC_PFS, 1);
        scr_hash_delete(dset);
    }
    *changed = 1;
    return SCR_OK;
}

static int is_saved(struct test_store *t, int id)
{
    struct scr_index index;
    scr_hash *h = flush_file(t);
    assert_int_equal(scr_prefix_index_read(&t->env, &t->p, &index, &t->err), SCR_OK);
    int saved = scr_flush_is_saved(h, &index, id, NULL);
    scr_hash_delete(h);
    scr_index_fini(&index);
    return saved;
}

static int edit_failed(struct scr_index *index, void *arg, int *changed,
                       struct scr_err *err)
{
    (void)err;
    *changed = 1;
    scr_index_mark_failed(index, *(int *)arg, 1000);
    return SCR_OK;
}

static void fail_dataset(struct test_store *t, int id)
{
    assert_int_equal(scr_prefix_index_update(&t->env, &t->p, edit_failed, &id, &t->err),
                     SCR_OK);
}

static void what_has_failed_replaces_nothing(void **state)
{
    (void)state;
    struct test_store t;
    test_store_open(&t);
    add(&t, 1, 0, "a");
    add(&t, 2, 1, "a");
    fail_dataset(&t, 2);
    scr_replaced_remove(&t.env, &t.p, 2);
    assert_left(&t, "2 1");
    scr_replaced_remove(&t.env, &t.p, 3); /* is not there */
    assert_left(&t, "2 1");
    test_store_close(&t);
}

/* It would be the last whole one when what replaced it turns out to be no good. */
static void what_is_in_cache_counts_as_saved_while_its_heir_is_good(void **state)
{
    (void)state;
    struct test_store t;
    test_store_open(&t);
    assert_int_equal(
        scr_prefix_state_update(&t.env, &t.p, "flush.scr", edit_cached, NULL, &t.err),
        SCR_OK);
    add(&t, 1, 0, "a");
    add(&t, 2, 1, "a");
    scr_replaced_remove(&t.env, &t.p, 2);
    assert_left(&t, "2");
    assert_int_equal(is_saved(&t, 1), 1);
    add(&t, 2, 0, "a");
    add(&t, 3, 1, "a");
    scr_replaced_remove(&t.env, &t.p, 3);
    assert_left(&t, "3");
    assert_int_equal(is_saved(&t, 1), 1);
    assert_int_equal(is_saved(&t, 2), 1);
    fail_dataset(&t, 3);
    assert_int_equal(is_saved(&t, 1), 0);
    assert_int_equal(is_saved(&t, 2), 0);
    test_store_close(&t);
}

/* --- whatever fails --- */

/* Every call fails in turn, or all from there on; the next one that becomes complete
 * finishes what was begun. */
static int fail_at(long n, int failure)
{
    struct test_store t;
    long blocks = test_failure_blocks();
    test_store_open(&t);
    add(&t, 1, 0, "a b");
    add(&t, 2, 0, "a b");
    add(&t, 3, 0, "c");
    add(&t, 4, 1, "a b");
    test_failure_arm(failure, n);
    scr_replaced_remove(&t.env, &t.p, 4);
    int fired = test_failure_off(failure);
    struct scr_index index = SCR_INDEX_INIT;
    struct scr_index_entry e = entry(&t, 4, &index);
    assert_true(e.complete && e.current);
    scr_index_fini(&index);
    assert_true(test_exists(test_path("prefix/.scr/scr.dataset.4/summary.scr")));
    assert_true(test_exists(test_path("prefix/.scr/scr.dataset.3/rank2file")));
    add(&t, 5, 1, "a b");
    scr_replaced_remove(&t.env, &t.p, 5);
    assert_left(&t, "5 4 3");
    assert_own(&t, 3, "c");
    test_store_close(&t);
    assert_int_equal(test_failure_blocks(), blocks);
    return fired;
}

static void a_failure_or_a_death_at_any_call_leaves_nothing_for_ever(void **state)
{
    (void)state;
    for (int failure = 0; failure < TEST_FAILURES; failure++) {
        long n = 0;
        while (fail_at(n, failure))
            n++;
        assert_true(n > 40);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_without_a_remaining_path_go),
        cmocka_unit_test(several_newer_ones_count_together),
        cmocka_unit_test(what_has_failed_replaces_nothing),
        cmocka_unit_test(what_is_in_use_stays),
        cmocka_unit_test(a_dataset_without_a_good_list_stays_too),
        cmocka_unit_test(the_current_one_stays_too),
        cmocka_unit_test(many_go_in_several_calls),
        cmocka_unit_test(a_deletion_that_died_is_finished),
        cmocka_unit_test(what_is_in_cache_counts_as_saved_while_its_heir_is_good),
        cmocka_unit_test(a_failure_or_a_death_at_any_call_leaves_nothing_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
