/* SPDX-License-Identifier: BSD-3-Clause */
/* The prefix directory: its index and state files are updated whole or not at all, and
 * damaged files are kept aside, never lost (invariants D1, D3, P4). */
#include "helper_failure.h"
#include "helper_index.h"
#include "helper_prefix_dir.h"
#include "helper_store.h"

/* --- the directory --- */

static void opens_a_directory_and_makes_its_hidden_one(void **state)
{
    (void)state;
    struct test_store t;
    test_store_open(&t);
    assert_string_equal(t.p.path, test_path("prefix"));
    assert_string_equal(t.p.scr, test_path("prefix/.scr"));
    assert_true(test_exists(t.p.scr));
    test_store_close(&t);
}

/* D1: without its entry the state files in it are lost. Nor is it sure that the process
 * that made it has synced it. */
static void the_hidden_one_is_synced_whether_it_is_new_or_not(void **state)
{
    (void)state;
    struct test_store t;
    struct scr_prefix p;
    test_store_open(&t);
    for (int is_new = 1; is_new >= 0; is_new--) {
        if (is_new)
            assert_int_equal(rmdir(t.p.scr), 0);
        test_fault_arm(TEST_FSYNC_DIR, 0, EIO, TEST_ONCE);
        assert_int_equal(scr_prefix_open(&t.env, t.p.path, 1, &p, &t.err), SCR_E_IO);
        assert_true(test_fault_off());
        assert_non_null(strstr(t.err.text, "prefix"));
        scr_err_clear(&t.err);
        assert_int_equal(scr_prefix_open(&t.env, t.p.path, 1, &p, &t.err), SCR_OK);
        scr_prefix_fini(&p);
    }
    test_store_close(&t);
}

static void leaves_no_probe_behind(void **state)
{
    (void)state;
    struct test_store t;
    char **names;
    size_t n;
    test_store_open(&t);
    assert_int_equal(scr_dir_list(&scr_sys_posix, t.p.scr, &names, &n, NULL), SCR_OK);
    assert_int_equal(n, 0);
    scr_names_free(names, n);
    test_store_close(&t);
}

/* S2: whose process ids can be guessed. */
static void a_fifo_in_the_place_of_the_probe_is_an_error(void **state)
{
    (void)state;
    struct test_store t;
    struct scr_prefix p;
    test_store_open(&t);
    char *fifo = scr_asprintf("%s/.probe.%ld", t.p.scr, (long)getpid());
    assert_non_null(fifo);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    alarm(60);
    assert_int_equal(scr_prefix_open(&t.env, t.p.path, 1, &p, &t.err), SCR_E_IO);
    alarm(0);
    assert_non_null(strstr(t.err.text, "not writable"));
    free(fifo);
    test_store_close(&t);
}

static void takes_relative_and_untidy_paths(void **state)
{
    (void)state;
    struct test_store t;
    struct scr_prefix p;
    char old[4096];
    test_store_open(&t);
    assert_non_null(getcwd(old, sizeof old));
    assert_int_equal(chdir(test_tmp()), 0);
    assert_int_equal(scr_prefix_open(&t.env, "./x/..//prefix/", 0, &p, &t.err), SCR_OK);
    assert_string_equal(p.path, t.p.path);
    scr_prefix_fini(&p);
    assert_int_equal(chdir(old), 0);
    test_store_close(&t);
}

static void refuses_what_is_no_directory(void **state)
{
    (void)state;
    struct test_store t;
    struct scr_prefix p;
    test_store_open(&t);
    assert_int_equal(scr_prefix_open(&t.env, test_path("none"), 1, &p, &t.err),
                     SCR_E_NOENT);
    assert_non_null(strstr(t.err.text, "none"));
    assert_null(p.path);
    scr_err_clear(&t.err);
    test_put(test_path("file"), "", 0);
    assert_int_equal(scr_prefix_open(&t.env, test_path("file"), 1, &p, &t.err),
                     SCR_E_IO);
    scr_err_clear(&t.err);
    assert_int_equal(scr_prefix_open(&t.env, "", 0, &p, &t.err), SCR_E_ARG);
    assert_int_equal(scr_prefix_open(&t.env, NULL, 0, &p, NULL), SCR_E_ARG);
    test_store_close(&t);
}

static void it_fails_when_it_cannot_write(void **state)
{
    (void)state;
    struct test_store t;
    struct scr_prefix p;
    test_store_open(&t);
    test_fault_arm(TEST_OPENAT, 1, EACCES,
                   TEST_FOREVER); /* the first opens the prefix */
    assert_int_equal(scr_prefix_open(&t.env, t.p.path, 1, &p, &t.err), SCR_E_IO);
    test_fault_off();
    assert_non_null(strstr(t.err.text, "not writable"));
    assert_non_null(strstr(t.err.text, t.p.path));
    test_store_close(&t);
}

static void finds_the_largest_id_of_dataset_directories(void **state)
{
    (void)state;
    static const char *const names[] = { "scr.dataset.3",           "scr.dataset.12",
                                         "scr.dataset.x",           "scr.dataset.07",
                                         "scr.dataset.-1",          "scr.dataset.",
                                         "scr.dataset.99999999999", "scr.datasets.40" };
    struct test_store t;
    int max = -1;
    test_store_open(&t);
    assert_int_equal(scr_prefix_max_dset_dir(&t.env, &t.p, &max, &t.err), SCR_OK);
    assert_int_equal(max, 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_int_equal(mkdir(test_path("prefix/.scr/%s", names[i]), 0700), 0);
    assert_int_equal(scr_prefix_max_dset_dir(&t.env, &t.p, &max, &t.err), SCR_OK);
    assert_int_equal(max, 12);
    test_store_close(&t);
}

static void interrupted_calls_are_not_noticed(void **state)
{
    (void)state;
    for (long n = 0; n < 200; n++) {
        struct test_store t;
        test_store_open(&t);
        test_fault_arm(TEST_READ, n, EINTR, TEST_ONCE);
        assert_int_equal(add(&t, 12), SCR_OK);
        int fired = test_fault_off();
        test_store_close(&t);
        if (!fired)
            break;
    }
}

/* --- other state files --- */

static int set_halt(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    struct scr_halt halt;
    int rc = scr_halt_get(h, &halt, err);
    if (rc != SCR_OK)
        return rc;
    halt.checkpoints_left = *(int *)arg;
    *changed = 1;
    return scr_halt_set(h, &halt);
}

static int update_halt(struct test_store *t, int n)
{
    return scr_prefix_state_update(&t->env, &t->p, "halt.scr", set_halt, &n, &t->err);
}

static int64_t halt_now(struct test_store *t)
{
    const struct scr_env env = { .sys = &scr_sys_posix };
    struct scr_halt halt;
    scr_hash *h = scr_hash_new();
    assert_int_equal(scr_prefix_state_read(&env, &t->p, "halt.scr", h, NULL), SCR_OK);
    assert_int_equal(scr_halt_get(h, &halt, NULL), SCR_OK);
    int64_t left = halt.checkpoints_left;
    scr_hash_delete(h);
    return left;
}

static void state_files_are_read_and_updated(void **state)
{
    (void)state;
    struct test_store t;
    test_store_open(&t);
    assert_int_equal(halt_now(&t), -1);
    assert_int_equal(update_halt(&t, 5), SCR_OK);
    assert_int_equal(halt_now(&t), 5);
    assert_int_equal(scr_prefix_state_remove(&t.env, &t.p, "halt.scr", &t.err), SCR_OK);
    assert_int_equal(halt_now(&t), -1);
    assert_int_equal(scr_prefix_state_remove(&t.env, &t.p, "halt.scr", &t.err), SCR_OK);
    test_store_close(&t);
}

static void a_damaged_halt_file_is_kept_aside(void **state)
{
    (void)state;
    struct test_store t;
    scr_hash *h = scr_hash_new();
    test_store_open(&t);
    test_put(test_path("prefix/.scr/halt.scr"), "nonsense", 8);
    assert_int_equal(scr_prefix_state_read(&t.env, &t.p, "halt.scr", h, &t.err),
                     SCR_E_CORRUPT);
    assert_non_null(strstr(t.err.text, "halt.scr"));
    scr_err_clear(&t.err);
    assert_int_equal(update_halt(&t, 1), SCR_OK);
    assert_int_equal(halt_now(&t), 1);
    assert_true(test_exists(test_path("prefix/.scr/halt.scr.damaged.1")));
    assert_non_null(strstr(test_store_log(&t), "kept aside"));
    scr_hash_delete(h);
    test_store_close(&t);
}

static void other_damaged_files_are_not_replaced(void **state)
{
    (void)state;
    struct test_store t;
    int n = 1;
    test_store_open(&t);
    test_put(test_path("prefix/.scr/other.scr"), "nonsense", 8);
    assert_int_equal(
        scr_prefix_state_update(&t.env, &t.p, "other.scr", set_halt, &n, &t.err),
        SCR_E_CORRUPT);
    size_t size;
    char *kept = test_get(test_path("prefix/.scr/other.scr"), &size);
    assert_string_equal(kept, "nonsense");
    free(kept);
    test_store_close(&t);
}

static int update_to_9(struct test_store *t)
{
    return update_halt(t, 9);
}

static int remove_it(struct test_store *t)
{
    return scr_prefix_state_remove(&t->env, &t->p, "halt.scr", &t->err);
}

/* With any failure of the step, the file has what it had, or what the step makes. */
static void survives_any_failure(int (*step)(struct test_store *t), int64_t made)
{
    for (int f = 0; f < TEST_FAILURES; f++) {
        for (long n = 0;; n++) {
            struct test_store t;
            test_store_open(&t);
            update_halt(&t, 5);
            test_failure_arm(f, n);
            int rc = step(&t);
            int fired = test_failure_off(f);
            int64_t left = halt_now(&t);
            assert_true(left == made || (rc != SCR_OK && left == 5));
            test_store_close(&t);
            if (!fired)
                break;
        }
    }
}

static void a_halt_update_survives_any_failure(void **state)
{
    (void)state;
    survives_any_failure(update_to_9, 9);
}

static void a_removal_survives_any_failure(void **state)
{
    (void)state;
    survives_any_failure(remove_it, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens_a_directory_and_makes_its_hidden_one),
        cmocka_unit_test(the_hidden_one_is_synced_whether_it_is_new_or_not),
        cmocka_unit_test(leaves_no_probe_behind),
        cmocka_unit_test(a_fifo_in_the_place_of_the_probe_is_an_error),
        cmocka_unit_test(takes_relative_and_untidy_paths),
        cmocka_unit_test(refuses_what_is_no_directory),
        cmocka_unit_test(it_fails_when_it_cannot_write),
        cmocka_unit_test(finds_the_largest_id_of_dataset_directories),
        cmocka_unit_test(interrupted_calls_are_not_noticed),
        cmocka_unit_test(state_files_are_read_and_updated),
        cmocka_unit_test(a_damaged_halt_file_is_kept_aside),
        cmocka_unit_test(other_damaged_files_are_not_replaced),
        cmocka_unit_test(a_halt_update_survives_any_failure),
        cmocka_unit_test(a_removal_survives_any_failure),
    };
    return cmocka_run_group_tests(tests, NULL, prefix_dir_teardown);
}
