/* SPDX-License-Identifier: BSD-3-Clause */
/* Remains of a scavenge leave with a flush of the same dataset, and nothing else does,
 * whichever system call fails. */
#include "helper_alloc.h"
#include "helper_store.h"

#include "base/lock.h"
#include "store/scavenged.h"

enum { ID = 7 };

static const char *const remains[] = { "0.scrfilemap",    "12.scrfilemap",
                                       "2_of_3_in_0.xor", "3_of_3_in_0.partner",
                                       "files/ckpt/f.0",  "files" };
static const char *const records[] = { "summary.scr", "rank2file", "rank2file.0.0",
                                       "1_of_many.txt", "scrfilemap" };

static int is_there(const char *name)
{
    return access(test_path("prefix/.scr/scr.dataset.7/%s", name), F_OK) == 0;
}

static void put_file(const char *name)
{
    const char *path = test_path("prefix/.scr/scr.dataset.7/%s", name);
    assert_int_equal(scr_dir_make_parent(&scr_sys_posix, path, 0700, NULL), SCR_OK);
    test_put(path, "x", 1);
}

static void fill(struct test_store *t)
{
    test_store_open(t);
    for (size_t i = 0; i < sizeof records / sizeof *records; i++)
        put_file(records[i]);
    for (size_t i = 0; i + 1 < sizeof remains / sizeof *remains; i++)
        put_file(remains[i]);
}

static int count(const char *const *name, size_t n)
{
    int there = 0;
    for (size_t i = 0; i < n; i++)
        there += is_there(name[i]);
    return there;
}

#define COUNT(names) count(names, sizeof names / sizeof *names)

static void remains_leave_and_records_stay(void **state)
{
    (void)state;
    struct test_store t;
    fill(&t);
    scr_scavenged_remove(&t.env, &t.p, ID);
    assert_int_equal(COUNT(remains), 0);
    assert_int_equal(COUNT(records), 5);
    assert_string_equal(test_store_log(&t), "");
    test_store_close(&t);
}

/* Redundancy files without waiting copies belong to a dataset that scr_index built. */
static void what_a_scavenge_completed_stays(void **state)
{
    (void)state;
    struct test_store t;
    fill(&t);
    assert_int_equal(scr_dir_remove(&scr_sys_posix,
                                    test_path("prefix/.scr/scr.dataset.7/files"), NULL),
                     SCR_OK);
    scr_scavenged_remove(&t.env, &t.p, ID);
    assert_int_equal(COUNT(remains), 4);
    test_store_close(&t);
}

static void a_scavenge_at_work_loses_nothing(void **state)
{
    (void)state;
    struct test_store t;
    struct scr_lock lock = SCR_LOCK_INIT;
    fill(&t);
    assert_int_equal(scr_prefix_lock(&t.env, &t.p, SCR_SCAVENGE_LOCK, 0, &lock, &t.err),
                     SCR_OK);
    scr_scavenged_remove(&t.env, &t.p, ID);
    assert_int_equal(COUNT(remains), 6);
    scr_lock_release(&scr_sys_posix, &lock);
    put_file("placing.scr"); /* its files are on their way to their places */
    scr_scavenged_remove(&t.env, &t.p, ID);
    assert_int_equal(COUNT(remains), 6);
    test_store_close(&t);
}

#ifdef TEST_ALLOC
/* A marker that cannot be looked for may be there. */
static void without_memory_what_is_being_placed_stays(void **state)
{
    (void)state;
    struct test_store t;
    fill(&t);
    put_file("placing.scr");
    for (int failed = 1, n = 0; failed; n++) {
        test_alloc_arm(n);
        scr_scavenged_remove(&t.env, &t.p, ID);
        failed = test_alloc_off();
        assert_int_equal(COUNT(remains), 6);
    }
    test_store_close(&t);
}
#endif

/* What is left is removed by the next call, and a line tells of a failure. */
static void any_call_may_fail(void **state)
{
    (void)state;
    static const enum test_how hows[] = { TEST_ONCE, TEST_FOREVER };
    int fired = 1;
    for (long n = 0; fired; n++) {
        for (size_t i = 0; i < 2; i++) {
            struct test_store t;
            fill(&t);
            test_fault_arm(TEST_ANY, n, EIO, hows[i]);
            scr_scavenged_remove(&t.env, &t.p, ID);
            fired = test_fault_off();
            assert_true(fired || COUNT(remains) == 0);
            assert_int_equal(COUNT(records), 5);
            scr_scavenged_remove(&t.env, &t.p, ID);
            assert_int_equal(COUNT(remains), 0);
            test_store_close(&t);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remains_leave_and_records_stay),
        cmocka_unit_test(what_a_scavenge_completed_stays),
        cmocka_unit_test(a_scavenge_at_work_loses_nothing),
#ifdef TEST_ALLOC
        cmocka_unit_test(without_memory_what_is_being_placed_stays),
#endif
        cmocka_unit_test(any_call_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, test_tmp_teardown);
}
