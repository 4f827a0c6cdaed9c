/* SPDX-License-Identifier: BSD-3-Clause */
/* Places on node-local storage: where they are, and that those of other users are
 * refused. */
#include "helper_store.h"

#include "store/cache.h"
#include "store/dset_names.h"

static int setup(void **state)
{
    (void)state;
    mkdir(test_path("base"), 0755);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    test_tmp_remove();
    return test_fault_open_fds() == 0 ? 0 : -1;
}

static const struct scr_env env = { .sys = &test_fault_sys };
static const struct scr_place place = { "user1", "112573", NULL, NULL };
static const struct scr_place vplace = { "user1", "112573", "n2", NULL };
static const struct scr_place pplace = { "user1", "112573", "n2", "prefix.0a" };

static void assert_path(char *path, const char *want)
{
    assert_non_null(path);
    assert_string_equal(path, want);
    free(path);
}

static void paths_are_those_of_the_manual(void **state)
{
    (void)state;
    assert_path(scr_place_dir(&place, "/tmp", 1), "/tmp/user1/scr.112573");
    assert_path(scr_place_dir(&vplace, "/tmp/", 1), "/tmp/vnode.n2/user1/scr.112573");
    assert_path(scr_place_dir(&vplace, "/tmp", 0), "/tmp/user1/scr.112573");
    assert_path(scr_place_dir(&place, "/", 1), "/user1/scr.112573");
    assert_path(scr_place_dir(&pplace, "/tmp", 1),
                "/tmp/vnode.n2/user1/scr.112573/prefix.0a");
    assert_path(scr_place_dir(&pplace, "/tmp", 0), "/tmp/user1/scr.112573/prefix.0a");
    assert_path(scr_dset_path("/c", 6), "/c/scr.dataset.6");
    assert_path(scr_cache_rank_dir("/c", 6, 2), "/c/scr.dataset.6/rank.2");
    assert_path(scr_cache_red_path("/c", 6, "1_of_4_in_0.xor"),
                "/c/scr.dataset.6/.scr/1_of_4_in_0.xor");
}

static void places_are_private(void **state)
{
    (void)state;
    struct stat st;
    struct scr_err err = SCR_ERR_INIT;
    assert_int_equal(scr_place_make(&env, &vplace, test_path("base"), 1, &err), SCR_OK);
    assert_int_equal(scr_place_make(&env, &vplace, test_path("base"), 1, &err), SCR_OK);
    assert_int_equal(stat(test_path("base/vnode.n2/user1/scr.112573"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
}

/* (S5) */
static void names_that_are_no_path_component_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = { "", ".", "..", "a/b", "/", "../x", NULL };
    for (int i = 0; bad[i] != NULL; i++) {
        const struct scr_place users = { bad[i], "1", NULL, NULL },
                               jobs = { "u", bad[i], NULL, NULL },
                               nodes = { "u", "1", bad[i], NULL },
                               prefixes = { "u", "1", NULL, bad[i] };
        assert_int_equal(scr_place_make(&env, &prefixes, test_path("base"), 1, NULL),
                         SCR_E_NAME);
        assert_int_equal(scr_place_make(&env, &users, test_path("base"), 1, NULL),
                         SCR_E_NAME);
        if (strcmp(bad[i], "") == 0 || strchr(bad[i], '/') != NULL)
            assert_int_equal(scr_place_make(&env, &jobs, test_path("base"), 1, NULL),
                             SCR_E_NAME);
        if (strcmp(bad[i], "") == 0 || strchr(bad[i], '/') != NULL)
            assert_int_equal(scr_place_make(&env, &nodes, test_path("base"), 1, NULL),
                             SCR_E_NAME);
    }
    const struct scr_place none = { NULL, "1", NULL, NULL };
    assert_int_equal(scr_place_make(&env, &none, test_path("base"), 1, NULL),
                     SCR_E_NAME);
}

static void symlinks_and_open_directories_are_refused(void **state)
{
    (void)state;
    const struct scr_place link = { "link", "1", NULL, NULL },
                           open = { "open", "1", NULL, NULL };
    struct scr_err err = SCR_ERR_INIT;
    assert_int_equal(symlink("/tmp", test_path("base/link")), 0);
    assert_int_equal(scr_place_make(&env, &link, test_path("base"), 1, &err),
                     SCR_E_UNSAFE);
    assert_non_null(strstr(err.text, "base/link"));
    assert_int_equal(mkdir(test_path("base/open"), 0700), 0);
    assert_int_equal(chmod(test_path("base/open"), 0777), 0);
    assert_int_equal(scr_place_make(&env, &open, test_path("base"), 1, NULL),
                     SCR_E_UNSAFE);
}

static void a_missing_base_is_made_for_its_user_only(void **state)
{
    (void)state;
    struct stat st;
    struct scr_err err = SCR_ERR_INIT;
    assert_int_equal(scr_place_make(&env, &place, test_path("no/base"), 1, &err),
                     SCR_OK);
    assert_int_equal(stat(test_path("no/base"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(stat(test_path("no/base/user1/scr.112573"), &st), 0);
}

static void a_base_that_cannot_be_made_is_an_error(void **state)
{
    (void)state;
    assert_int_equal(close(open(test_path("file"), O_CREAT | O_WRONLY, 0600)), 0);
    assert_int_not_equal(scr_place_make(&env, &place, test_path("file/base"), 1, NULL),
                         SCR_OK);
}

static void datasets_come_and_go(void **state)
{
    (void)state;
    struct scr_err err = SCR_ERR_INIT;
    const char *cache = test_path("base");
    int *ids;
    size_t n;
    for (int r = 0; r < 3; r++)
        assert_int_equal(scr_cache_make(&env, cache, 12, r, &err), SCR_OK);
    assert_int_equal(scr_cache_make(&env, cache, 3, 0, &err), SCR_OK);
    mkdir(test_path("base/scr.dataset.x"), 0700);
    assert_int_equal(scr_dset_ids(&env, cache, &ids, &n, &err), SCR_OK);
    assert_int_equal(n, 2);
    assert_int_equal(ids[0], 3);
    assert_int_equal(ids[1], 12);
    free(ids);
    test_put(test_path("base/scr.dataset.3/rank.0/file"), "x", 1);
    assert_int_equal(scr_cache_remove(&env, cache, 3, &err), SCR_OK);
    assert_int_equal(scr_cache_remove(&env, cache, 3, &err), SCR_OK);
    assert_false(test_exists(test_path("base/scr.dataset.3")));
}

static void the_last_rank_takes_the_dataset_along(void **state)
{
    (void)state;
    const char *cache = test_path("base");
    struct scr_err err = SCR_ERR_INIT;
    for (int r = 0; r < 2; r++)
        assert_int_equal(scr_cache_make(&env, cache, 7, r, &err), SCR_OK);
    test_put(test_path("base/scr.dataset.7/rank.1/file"), "x", 1);
    test_put(test_path("base/scr.dataset.7/.scr/2_of_2_in_0.xor"), "x", 1);
    assert_int_equal(scr_cache_remove_rank(&env, cache, 7, 0, &err), SCR_OK);
    assert_true(test_exists(test_path("base/scr.dataset.7/rank.1/file")));
    assert_int_equal(unlink(test_path("base/scr.dataset.7/.scr/2_of_2_in_0.xor")), 0);
    assert_int_equal(scr_cache_remove_rank(&env, cache, 7, 1, &err), SCR_OK);
    assert_false(test_exists(test_path("base/scr.dataset.7")));
    assert_int_equal(scr_cache_remove_rank(&env, cache, 7, 1, &err), SCR_OK);
}

static void an_absent_cache_holds_nothing(void **state)
{
    (void)state;
    int *ids = (int *)1;
    size_t n = 1;
    assert_int_equal(scr_dset_ids(&env, test_path("none"), &ids, &n, NULL), SCR_OK);
    assert_int_equal(n, 0);
    free(ids);
}

static void failures_are_reported_and_leak_nothing(void **state)
{
    (void)state;
    for (long n = 0;; n++) {
        struct scr_err err = SCR_ERR_INIT;
        int *ids = NULL;
        size_t nids;
        test_fault_arm(TEST_ANY, n, EIO, TEST_ONCE);
        int rc = scr_cache_make(&env, test_path("base"), 5, 0, &err);
        if (rc == SCR_OK)
            rc = scr_dset_ids(&env, test_path("base"), &ids, &nids, &err);
        if (rc == SCR_OK)
            rc = scr_cache_remove_rank(&env, test_path("base"), 5, 0, &err);
        int fired = test_fault_off();
        free(ids);
        assert_int_equal(err.code, rc);
        assert_int_equal(scr_cache_remove(&env, test_path("base"), 5, NULL), SCR_OK);
        if (!fired) {
            assert_int_equal(rc, SCR_OK);
            break;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_are_those_of_the_manual),
        cmocka_unit_test(places_are_private),
        cmocka_unit_test(names_that_are_no_path_component_are_refused),
        cmocka_unit_test(symlinks_and_open_directories_are_refused),
        cmocka_unit_test(a_missing_base_is_made_for_its_user_only),
        cmocka_unit_test(a_base_that_cannot_be_made_is_an_error),
        cmocka_unit_test(datasets_come_and_go),
        cmocka_unit_test(the_last_rank_takes_the_dataset_along),
        cmocka_unit_test(an_absent_cache_holds_nothing),
        cmocka_unit_test(failures_are_reported_and_leak_nothing),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
