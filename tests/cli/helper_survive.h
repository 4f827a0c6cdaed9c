/* SPDX-License-Identifier: BSD-3-Clause */
/* Work on a prefix directory with every system call failing in turn, once and for good:
 *
 *     static struct survival subject = { arrange, act, check };
 *     … SURVIVAL_TESTS(subject), …      // rows of the table of tests */
#ifndef SCR_TEST_HELPER_SURVIVE_H
#define SCR_TEST_HELPER_SURVIVE_H

#include "../unit/helper_store.h"

struct survival {
    void (*arrange)(struct test_store *t); /* opens the store; all calls work */
    int (*act)(struct test_store *t);      /* the work; its code is that of t->err */
    /* The conditions after any failure; and that a second try succeeds. */
    void (*check)(struct test_store *t, int rc);
};

static void survive(const struct survival *s, enum test_kind kind, int error,
                    enum test_how how)
{
    int fired = 1;
    for (long n = 0; fired; n++) {
        struct test_store t;
        s->arrange(&t);
        test_fault_arm(kind, n, error, how);
        int rc = s->act(&t);
        fired = test_fault_off();
        assert_int_equal(t.err.code, rc);
        s->check(&t, rc);
        test_store_close(&t);
    }
}

static void one_failing_call_does_no_harm(void **state)
{
    survive(*state, TEST_ANY, EIO, TEST_ONCE);
}

static void a_crash_at_any_call_does_no_harm(void **state)
{
    survive(*state, TEST_ANY, EIO, TEST_FOREVER);
}

static void a_full_disk_does_no_harm(void **state)
{
    survive(*state, TEST_WRITE, ENOSPC, TEST_FOREVER);
    survive(*state, TEST_PWRITE, ENOSPC, TEST_FOREVER);
    survive(*state, TEST_MKDIRAT, ENOSPC, TEST_ONCE);
}

static void what_a_file_system_lacks_costs_nothing(void **state)
{
    const struct survival *s = *state;
    for (int i = 0; i < TEST_LACKS; i++) {
        int fired = 1;
        for (long n = 0; fired; n++) {
            struct test_store t;
            s->arrange(&t);
            test_fault_arm(test_lacks[i].kind, n, test_lacks[i].error, TEST_FOREVER);
            int rc = s->act(&t);
            fired = test_fault_off();
            if (rc != SCR_OK)
                fail_msg("lack %d from call %ld on: %s", i, n, t.err.text);
            s->check(&t, rc);
            test_store_close(&t);
        }
    }
}

#define SURVIVAL_TESTS(subject)                                                        \
    cmocka_unit_test_prestate(one_failing_call_does_no_harm, &(subject)),              \
        cmocka_unit_test_prestate(a_crash_at_any_call_does_no_harm, &(subject)),       \
        cmocka_unit_test_prestate(a_full_disk_does_no_harm, &(subject)),               \
        cmocka_unit_test_prestate(what_a_file_system_lacks_costs_nothing, &(subject))

#endif
