/* SPDX-License-Identifier: BSD-3-Clause */
/* The judgement of scr why with every system call failing in turn: what cannot be
 * looked at is called unreadable, not lost, and nothing on disk changes. */
#include "../unit/helper_store.h"

#include "base/proc.h"
#include "ops/build.h"
#include "ops/judge.h"
#include "red/member.h"

enum { ID = 7 };

static int teardown(void **state)
{
    (void)state;
    test_tmp_remove();
    return test_fault_open_fds() == 0 ? 0 : -1;
}

/* A complete dataset of three ranks. */
static void fill(struct test_store *t)
{
    struct scr_build_report report;
    test_store_open(t);
    t->env.log = NULL;
    const char *argv[] = { SCR_TEST_SCAVENGE, t->p.path, "7", "XOR", "3", "3", NULL };
    const struct scr_proc_spec spec = { .argv = argv };
    int status = -1;
    assert_int_equal(scr_proc_run(&spec, 60, NULL, &status, &t->err), SCR_OK);
    assert_int_equal(status, 0);
    assert_int_equal(scr_build_dataset(&t->env, &t->p, ID, &report, &t->err), SCR_OK);
}

static uint32_t index_crc(void)
{
    const struct scr_env env = { .sys = &scr_sys_posix };
    uint64_t size;
    uint32_t crc = 0;
    assert_int_equal(
        scr_file_crc32(&env, test_path("prefix/.scr/index.scr"), 0, &size, &crc, NULL),
        SCR_OK);
    return crc;
}

static void survive(int error, enum test_how how)
{
    struct test_store t;
    fill(&t);
    const struct scr_reach none = { 0 };
    const struct scr_judge q = { .env = &t.env,
                                 .prefix = &t.p,
                                 .reach = &none,
                                 .with_crc = 1,
                                 .fetch = 1,
                                 .job_id = "7" };
    uint32_t before = index_crc();
    for (long n = 0;; n++) {
        struct scr_judgement j;
        scr_err_clear(&t.err);
        test_fault_arm(TEST_ANY, n, error, how);
        int rc = scr_judge(&q, &j, &t.err);
        int fired = test_fault_off();
        assert_int_equal(t.err.code, rc);
        assert_int_equal(index_crc(), before);
        for (size_t i = 0; i < j.n && rc == SCR_OK; i++) {
            assert_int_equal(j.c[i].id, ID);
            if (j.c[i].state != SCR_CANDIDATE_COMPLETE &&
                j.c[i].state != SCR_CANDIDATE_UNREADABLE)
                fail_msg("call %ld: %s: %s", n, scr_candidate_state_name(j.c[i].state),
                         j.c[i].why);
        }
        if (!fired)
            assert_non_null(j.taken);
        scr_judgement_fini(&j);
        if (!fired)
            break;
    }
    test_store_close(&t);
}

static void one_failing_call_condemns_nothing(void **state)
{
    (void)state;
    survive(EIO, TEST_ONCE);
}

static void a_device_that_is_gone_condemns_nothing(void **state)
{
    (void)state;
    survive(EIO, TEST_FOREVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(one_failing_call_condemns_nothing, teardown),
        cmocka_unit_test_teardown(a_device_that_is_gone_condemns_nothing, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
