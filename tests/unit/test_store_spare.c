/* SPDX-License-Identifier: BSD-3-Clause */
/* The redundancy file of an evicted dataset passes to the next one, and at no time is
 * it mistaken for the old one (invariant C5). */
#include "helper_store.h"

#include "store/cache.h"
#include "store/spare.h"

enum { BYTES = 5000 };
static const struct scr_env env = { .sys = &test_fault_sys };

static int teardown(void **state)
{
    (void)state;
    test_tmp_remove();
    return test_fault_open_fds() == 0 ? 0 : -1;
}

/* A redundancy file of dataset 5, to be evicted for dataset 6. */
static const char *make(void)
{
    char bytes[BYTES];
    struct scr_err err = SCR_ERR_INIT;
    memset(bytes, 'h', sizeof bytes);
    mkdir(test_path("cache"), 0700);
    assert_int_equal(scr_cache_make(&env, test_path("cache"), 5, 2, &err), SCR_OK);
    test_put(test_path("cache/scr.dataset.5/.scr/1_of_2_in_0.xor"), bytes, BYTES);
    return test_path("cache/scr.dataset.5/.scr/1_of_2_in_0.xor");
}

static int keep(const char *path, struct scr_err *err)
{
    return scr_spare_keep(&env, path, test_path("cache"), 6, 2, err);
}

static void assert_blank(const char *path)
{
    static const char zeros[16];
    size_t n;
    char *bytes = test_get(path, &n);
    assert_int_equal(n, BYTES);
    assert_memory_equal(bytes, zeros, sizeof zeros);
    assert_int_equal(bytes[BYTES - 1], 'h');
    free(bytes);
}

static void a_kept_file_is_taken_without_its_header(void **state)
{
    (void)state;
    struct scr_err err = SCR_ERR_INIT;
    const char *from = make(), *to = test_path("cache/scr.dataset.6/.scr/new");
    assert_int_equal(keep(from, &err), SCR_OK);
    assert_int_equal(access(from, F_OK), -1);
    assert_blank(test_path("cache/scr.dataset.6/.scr/spare.2"));
    const char *dset_dir = test_path("cache/scr.dataset.6");
    assert_int_equal(scr_spare_take(&env, dset_dir, 2, to, &err), SCR_OK);
    assert_blank(to);
    assert_int_equal(scr_spare_take(&env, dset_dir, 2, to, &err), SCR_E_NOENT);
    assert_blank(to);
    unlink(to);
}

static void links_are_not_followed(void **state)
{
    (void)state;
    struct scr_err err = SCR_ERR_INIT;
    const char *from = make();
    assert_int_equal(rename(from, test_path("precious")), 0);
    assert_int_equal(symlink(test_path("precious"), from), 0);
    assert_int_not_equal(keep(from, &err), SCR_OK);
    size_t n;
    char *bytes = test_get(test_path("precious"), &n);
    assert_int_equal(bytes[0], 'h');
    free(bytes);
    unlink(from);
}

/* The header goes first: whatever fails after that leaves a file that is none. */
static void every_failing_call_is_reported(void **state)
{
    (void)state;
    int fired = 1;
    for (long n = 0; fired; n++) {
        struct scr_err err = SCR_ERR_INIT;
        const char *from = make();
        test_fault_arm(TEST_ANY, n, EIO, TEST_ONCE);
        int rc = keep(from, &err);
        fired = test_fault_off();
        const char *spare = test_path("cache/scr.dataset.6/.scr/spare.2");
        assert_int_equal(access(spare, F_OK) == 0, rc == SCR_OK);
        if (rc == SCR_OK)
            assert_blank(spare);
        assert_true(fired || rc == SCR_OK);
        unlink(spare);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kept_file_is_taken_without_its_header),
        cmocka_unit_test(links_are_not_followed),
        cmocka_unit_test(every_failing_call_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
