/* SPDX-License-Identifier: BSD-3-Clause */
/* Temporary files of killed flushes go, whichever system call fails, and no others
 * (invariant P26). */
#include "helper_store.h"

#include "ops/sweep.h"
#include "store/arrival.h"
#include "store/flushing.h"
#include "xfer/copy.h"

static int teardown(void **state)
{
    (void)state;
    test_tmp_remove();
    return test_fault_open_fds() == 0 ? 0 : -1;
}

/* Dataset id lists <id>/a and <id>/b, and its flush was killed. */
static void add(struct test_store *t, int id)
{
    char name[64];
    struct scr_flushing mark = { 0 };
    struct scr_rank2file list = { .ranks = 1 };
    test_summary(t, id, "ckpt", 0);
    for (char file = 'a'; file <= 'b'; file++) {
        snprintf(name, sizeof name, "%d/%c", id, file);
        scr_listed_set_size(scr_rank2file_add_file(&list, 0, name), 1);
    }
    const char *path = test_path("prefix/.scr/scr.dataset.%d/rank2file", id);
    assert_int_equal(scr_rank2file_write(&scr_sys_posix, path, &list, &t->err), SCR_OK);
    scr_rank2file_fini(&list);
    assert_int_equal(scr_flushing_begin(&t->env, &t->p, id, &mark, &t->err), SCR_OK);
    scr_flushing_leave(&t->env, &mark);
}

static char *part_of(struct test_store *t, const char *file, int tag)
{
    char dst[1200];
    snprintf(dst, sizeof dst, "%s/%s", t->p.path, file);
    char *part = scr_copy_tmp(dst, tag);
    assert_non_null(part);
    return part;
}

static void make(struct test_store *t, const char *file, int tag)
{
    char *part = part_of(t, file, tag);
    test_put(part, "x", 1);
    free(part);
}

static int is_there(struct test_store *t, const char *file, int tag)
{
    char *part = part_of(t, file, tag);
    int there = test_exists(part);
    free(part);
    return there;
}

static int is_marked(int id)
{
    return test_exists(test_path("prefix/.scr/scr.dataset.%d/flushing.lock", id));
}

static uint64_t sweep(struct test_store *t)
{
    uint64_t n = 0;
    assert_int_equal(scr_sweep_killed(&t->env, &t->p, &n, &t->err), SCR_OK);
    return n;
}

static void open_with_two(struct test_store *t)
{
    test_store_open(t);
    for (int id = 1; id <= 2; id++) {
        add(t, id);
        assert_int_equal(mkdir(test_path("prefix/%d", id), 0700), 0);
    }
    make(t, "1/a", 0);
    make(t, "1/b", 7);
    make(t, "2/b", 0);
}

static void those_next_to_listed_files_go(void **state)
{
    (void)state;
    struct test_store t;
    open_with_two(&t);
    make(&t, "1/c", 0);
    make(&t, "2/a", SCR_ARRIVAL_TAG); /* a transfer process continues with it */
    assert_int_equal(sweep(&t), 3);
    assert_true(is_there(&t, "1/c", 0) && is_there(&t, "2/a", SCR_ARRIVAL_TAG));
    assert_false(is_marked(1) || is_marked(2));
    make(&t, "1/a", 0); /* without a mark it is not checked */
    assert_int_equal(sweep(&t), 0);
    test_store_close(&t);
}

static void those_of_a_flush_under_way_stay(void **state)
{
    (void)state;
    struct test_store t;
    struct scr_flushing mark = { 0 };
    open_with_two(&t);
    assert_int_equal(scr_flushing_begin(&t.env, &t.p, 1, &mark, &t.err), SCR_OK);
    assert_int_equal(sweep(&t), 1);
    assert_true(is_there(&t, "1/a", 0) && is_marked(1) && !is_marked(2));
    scr_flushing_end(&t.env, &t.p, &mark);
    test_store_close(&t);
}

static void a_list_that_is_damaged_or_gone_lists_nothing(void **state)
{
    (void)state;
    struct test_store t;
    open_with_two(&t);
    test_put(test_path("prefix/.scr/scr.dataset.1/rank2file"), "x", 1);
    assert_int_equal(unlink(test_path("prefix/.scr/scr.dataset.2/rank2file")), 0);
    assert_int_equal(sweep(&t), 0);
    assert_false(is_marked(1) || is_marked(2));
    test_store_close(&t);
}

static int edit_bypass(struct scr_index *index, void *arg, int *changed,
                       struct scr_err *err)
{
    (void)err;
    scr_hash *dset = scr_hash_new();
    assert_int_equal(scr_index_dataset(index, *(const int *)arg, dset), SCR_OK);
    assert_non_null(scr_hash_set_val(dset, "BYPASS", "1"));
    assert_int_equal(scr_index_mend(index, dset, 0, 1), SCR_OK);
    scr_hash_delete(dset);
    *changed = 1;
    return SCR_OK;
}

/* They are where it should write, which may be next to files of any dataset. */
static void directories_of_what_bypassed_the_cache_go(void **state)
{
    (void)state;
    struct test_store t;
    int id = 2;
    open_with_two(&t);
    assert_int_equal(scr_prefix_index_update(&t.env, &t.p, edit_bypass, &id, &t.err),
                     SCR_OK);
    assert_int_equal(mkdir(test_path("prefix/1/" SCR_PART_DIR "2"), 0700), 0);
    test_put(test_path("prefix/1/" SCR_PART_DIR "2/a"), "x", 1);
    assert_int_equal(mkdir(test_path("prefix/1/" SCR_PART_DIR "3"), 0700), 0);
    assert_int_equal(sweep(&t), 3); /* of dataset 1 two files */
    assert_false(test_exists(test_path("prefix/1/" SCR_PART_DIR "2")));
    assert_true(test_exists(test_path("prefix/1/" SCR_PART_DIR "3")));
    assert_false(is_marked(1) || is_marked(2));
    test_store_close(&t);
}

/* The mark stays as long as a file of it does. */
static int fail_at(long n, enum test_how how)
{
    struct test_store t;
    uint64_t removed = 0;
    open_with_two(&t);
    test_fault_arm(TEST_ANY, n, EIO, how);
    (void)scr_sweep_killed(&t.env, &t.p, &removed, &t.err);
    int fired = test_fault_off();
    assert_true(is_marked(1) || !(is_there(&t, "1/a", 0) || is_there(&t, "1/b", 7)));
    assert_true(is_marked(2) || !is_there(&t, "2/b", 0));
    scr_err_clear(&t.err);
    (void)sweep(&t);
    assert_false(is_there(&t, "1/a", 0) || is_there(&t, "1/b", 7) ||
                 is_there(&t, "2/b", 0));
    assert_false(is_marked(1) || is_marked(2));
    test_store_close(&t);
    return fired;
}

static void no_failure_loses_the_mark_before_the_files(void **state)
{
    (void)state;
    for (int how = TEST_ONCE; how <= TEST_FOREVER; how++) {
        long n = 0;
        while (fail_at(n, (enum test_how)how))
            n++;
        assert_true(n > 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_next_to_listed_files_go),
        cmocka_unit_test(those_of_a_flush_under_way_stay),
        cmocka_unit_test(directories_of_what_bypassed_the_cache_go),
        cmocka_unit_test(a_list_that_is_damaged_or_gone_lists_nothing),
        cmocka_unit_test(no_failure_loses_the_mark_before_the_files),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
