/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_index --build with every system call failing in turn, once and for good: complete
 * is written last (invariant P1), nothing good is destroyed (C2), and a second try
 * succeeds. */
#include "../unit/helper_store.h"

#include "base/proc.h"
#include "build.h"
#include "red/member.h"

enum { ID = 7, RANKS = 3, LOST = 1 };

static int teardown(void **state)
{
    (void)state;
    test_tmp_remove();
    return test_fault_open_fds() == 0 ? 0 : -1;
}

/* A scavenged dataset that lost all of one rank. */
static void scavenge(struct test_store *t)
{
    test_store_open(t);
    t->env.log = NULL;
    const char *argv[] = { SCR_TEST_SCAVENGE, t->p.path, "7", "XOR", "3", "3", NULL };
    const struct scr_proc_spec spec = { .argv = argv };
    int status = -1;
    assert_int_equal(scr_proc_run(&spec, 60, NULL, &status, &t->err), SCR_OK);
    assert_int_equal(status, 0);
    unlink(test_path("prefix/ckpt.7/rank_%d.dat", LOST));
    unlink(test_path("prefix/ckpt.7/empty_%d", LOST));
    unlink(test_path("prefix/.scr/scr.dataset.7/%d_of_3_in_0.xor", LOST + 1));
}

static void sums(uint32_t crc[RANKS])
{
    const struct scr_env env = { &scr_sys_posix, NULL };
    uint64_t size;
    for (int r = 0; r < RANKS; r++) {
        crc[r] = 0;
        scr_file_crc32(&env, test_path("prefix/ckpt.7/rank_%d.dat", r), 0, &size,
                       &crc[r], NULL);
    }
}

/* COMPLETE of the dataset in the index, read with working calls; -1: not there. */
static int in_index(struct test_store *t)
{
    const struct scr_env env = { &scr_sys_posix, NULL };
    struct scr_index_entry e;
    scr_hash *index = scr_hash_new();
    assert_int_equal(scr_prefix_index_read(&env, &t->p, index, NULL), SCR_OK);
    int complete = scr_index_get(index, ID, &e, NULL) == SCR_OK ? e.complete : -1;
    scr_hash_delete(index);
    return complete;
}

/* What must hold after any failure. */
static void check_after(struct test_store *t, int rc, const uint32_t *whole)
{
    uint32_t now[RANKS];
    struct scr_build_report report;
    sums(now);
    for (int r = 0; r < RANKS; r++)
        assert_true(now[r] == whole[r] || (r == LOST && now[r] == 0));
    if (rc == SCR_OK)
        assert_int_equal(in_index(t), 1);
    if (in_index(t) == 1)
        assert_int_equal(now[LOST], whole[LOST]);

    scr_err_clear(&t->err);
    rc = scr_build_dataset(&t->env, &t->p, ID, &report, &t->err);
    if (rc != SCR_OK)
        fail_msg("second try: %s", t->err.text);
    sums(now);
    assert_memory_equal(now, whole, sizeof now);
    assert_int_equal(in_index(t), 1);
    assert_int_equal(report.files, 2 * RANKS);
}

static void survive(enum test_kind kind, int error, enum test_how how)
{
    struct test_store t;
    struct scr_build_report report;
    uint32_t whole[RANKS];
    scavenge(&t);
    assert_int_equal(scr_build_dataset(&t.env, &t.p, ID, &report, &t.err), SCR_OK);
    assert_int_equal(report.rebuilt_ranks, 1);
    sums(whole);
    test_store_close(&t);
    for (long n = 0;; n++) {
        scavenge(&t);
        test_fault_arm(kind, n, error, how);
        int rc = scr_build_dataset(&t.env, &t.p, ID, &report, &t.err);
        int fired = test_fault_off();
        assert_int_equal(t.err.code, rc);
        check_after(&t, rc, whole);
        test_store_close(&t);
        if (!fired)
            break;
    }
}

static void one_failing_call_does_no_harm(void **state)
{
    (void)state;
    survive(TEST_ANY, EIO, TEST_ONCE);
}

static void a_crash_at_any_call_does_no_harm(void **state)
{
    (void)state;
    survive(TEST_ANY, EIO, TEST_FOREVER);
}

static void a_full_disk_does_no_harm(void **state)
{
    (void)state;
    survive(TEST_WRITE, ENOSPC, TEST_FOREVER);
    survive(TEST_PWRITE, ENOSPC, TEST_FOREVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_failing_call_does_no_harm),
        cmocka_unit_test(a_crash_at_any_call_does_no_harm),
        cmocka_unit_test(a_full_disk_does_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
