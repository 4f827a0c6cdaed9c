/* SPDX-License-Identifier: BSD-3-Clause */
/* A plan is asked for before each file gets its name, and read when it has changed. */
#include "helper_failure.h"
#include "helper_fault.h"
#include "helper_tmp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "store/arrival.h"
#include "store/wanted.h"

enum { ID = 5, STAMP = 77, OTHER = 78 };

static const struct scr_env posix = { .sys = &scr_sys_posix };
static const struct scr_env faulty = { .sys = &test_fault_sys };
static struct scr_prefix prefix;

static int setup(void **state)
{
    struct scr_err err = SCR_ERR_INIT;
    (void)state;
    assert_int_equal(scr_prefix_open(&posix, test_path("%s", ""), 1, &prefix, &err),
                     SCR_OK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    scr_prefix_fini(&prefix);
    test_tmp_remove();
    return 0;
}

/* Puts the plan of an attempt there, in the place of any other. */
static void plan(uint64_t stamp)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_dataset d = { .id = ID, .name = "ckpt", .is_ckpt = 1 };
    scr_hash *dset = scr_hash_new(), *nodes = scr_hash_new();
    assert_int_equal(scr_dataset_set(dset, &d), SCR_OK);
    assert_int_equal(scr_prefix_summary_write(&posix, &prefix, ID, dset, 0, &err),
                     SCR_OK);
    assert_int_equal(scr_arrival_plan(&posix, &prefix, ID,
                                      &(struct scr_attempt){ stamp, dset, nodes, NULL },
                                      &err),
                     SCR_OK);
    scr_hash_delete(dset);
    scr_hash_delete(nodes);
}

static int check(struct scr_wanted *w)
{
    struct scr_err err = SCR_ERR_INIT;
    int rc = scr_wanted_check(w, &faulty, &prefix, ID, STAMP, &err);
    assert_int_equal(err.code, rc);
    return rc;
}

/* Until what comes next has other times, whatever the file system. */
static void let_it_age(void)
{
    char *path = scr_arrival_plan_path(&prefix, ID);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    free(path);
    const struct timespec pause = { st.st_ctim.tv_nsec != 0 ? 0 : 3,
                                    200 * 1000 * 1000 };
    nanosleep(&pause, NULL);
}

static void a_plan_is_read_once(void **state)
{
    struct scr_wanted w;
    (void)state;
    scr_wanted_init(&w);
    plan(STAMP);
    let_it_age();
    assert_int_equal(check(&w), SCR_OK);
    test_fault_arm(TEST_ANY, 1000, EIO, TEST_ONCE);
    for (int i = 0; i < 3; i++)
        assert_int_equal(check(&w), SCR_OK);
    test_fault_off();
    assert_int_equal(test_fault_count(TEST_READ) + test_fault_count(TEST_PREAD), 0);
    assert_int_equal(test_fault_count(TEST_OPENAT), 3);
    assert_int_equal(test_fault_open_fds(), 0);
    scr_wanted_fini(&w);
}

static struct timespec frozen;

/* A file system that gives its inodes to others, and whose clock stands still. */
static int fstat_coarse(int fd, struct stat *st)
{
    int rc = fstat(fd, st);
    st->st_ino = 1;
    st->st_mtim = st->st_ctim = frozen;
    return rc;
}

static void one_that_looks_the_same_is_noticed(void **state)
{
    struct scr_sys sys = scr_sys_posix;
    const struct scr_env env = { .sys = &sys };
    struct scr_err err = SCR_ERR_INIT;
    struct scr_wanted w;
    (void)state;
    sys.fstat = fstat_coarse;
    for (int has_parts = 0; has_parts < 2; has_parts++) {
        scr_wanted_init(&w);
        plan(STAMP);
        clock_gettime(CLOCK_REALTIME, &frozen);
        /* However long we are kept from going on, it is not settled. */
        frozen.tv_sec += has_parts ? 3600 : 0;
        frozen.tv_nsec = has_parts;
        for (int i = 0; i < 2; i++)
            assert_int_equal(scr_wanted_check(&w, &env, &prefix, ID, STAMP, &err),
                             SCR_OK);
        plan(OTHER);
        assert_int_equal(scr_wanted_check(&w, &env, &prefix, ID, STAMP, &err),
                         SCR_E_MISSING);
        scr_wanted_fini(&w);
    }
}

static void one_that_went_or_came_is_noticed(void **state)
{
    struct scr_wanted w;
    struct scr_err err = SCR_ERR_INIT;
    (void)state;
    scr_wanted_init(&w);
    plan(STAMP);
    assert_int_equal(check(&w), SCR_OK);
    plan(OTHER); /* as large, in the same moment */
    assert_int_equal(check(&w), SCR_E_MISSING);
    plan(STAMP);
    assert_int_equal(check(&w), SCR_OK);
    assert_int_equal(check(&w), SCR_OK);
    assert_int_equal(scr_arrival_give_up(&posix, &prefix, ID, &err), SCR_OK);
    assert_int_equal(check(&w), SCR_E_MISSING);
    scr_wanted_fini(&w);
}

static void a_damaged_one_is_an_error_each_time(void **state)
{
    struct scr_wanted w;
    (void)state;
    scr_wanted_init(&w);
    plan(STAMP);
    char *path = scr_arrival_plan_path(&prefix, ID);
    assert_int_equal(truncate(path, 30), 0);
    free(path);
    assert_int_equal(check(&w), SCR_E_CORRUPT);
    assert_int_equal(check(&w), SCR_E_CORRUPT);
    scr_wanted_fini(&w);
}

/* Of a plan that is there no failure makes one that has gone. */
static void whatever_call_fails_it_is_right_or_an_error(void **state)
{
    (void)state;
    plan(STAMP);
    for (int f = 0; f < TEST_FAILURES; f++)
        for (long n = 0, fired = 1; fired; n++) {
            struct scr_wanted w;
            scr_wanted_init(&w);
            test_failure_arm(f, n);
            int rc = check(&w);
            fired = test_failure_off(f);
            assert_true(rc == SCR_OK ||
                        (fired && (rc == SCR_E_IO || rc == SCR_E_NOMEM)));
            assert_int_equal(check(&w), SCR_OK);
            scr_wanted_fini(&w);
        }
    assert_int_equal(test_fault_open_fds(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_is_read_once),
        cmocka_unit_test(one_that_looks_the_same_is_noticed),
        cmocka_unit_test(one_that_went_or_came_is_noticed),
        cmocka_unit_test(a_damaged_one_is_an_error_each_time),
        cmocka_unit_test(whatever_call_fails_it_is_right_or_an_error),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
