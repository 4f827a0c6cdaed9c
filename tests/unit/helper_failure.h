/* SPDX-License-Identifier: BSD-3-Clause */
/* What fails in a walk over an operation: a system call, once or from then on, or an
 * allocation. What has to hold afterwards is the same for all of them:
 *
 *     for (int f = 0; f < TEST_FAILURES; f++)
 *         for (long n = 0, fired = 1; fired; n++) {
 *             arrange();
 *             test_failure_arm(f, n);
 *             int rc = operation(&test_fault_sys, …);
 *             fired = test_failure_off(f);
 *             assert_old_or_new_state();
 *         }
 *
 * Included by one file of a program only (helper_alloc.h). */
#ifndef SCR_TEST_HELPER_FAILURE_H
#define SCR_TEST_HELPER_FAILURE_H

#include "helper_alloc.h"
#include "helper_fault.h"

enum test_failure {
    TEST_CALL_ONCE,
    TEST_CALL_FOREVER,
#ifdef TEST_ALLOC
    TEST_ALLOCATION,
#endif
    TEST_FAILURES
};

/* Number n from now on fails; call errors are EIO. */
static inline void test_failure_arm(int f, long n)
{
#ifdef TEST_ALLOC
    if (f == TEST_ALLOCATION) {
        test_alloc_arm(n);
        return;
    }
#endif
    test_fault_arm(TEST_ANY, n, EIO, f == TEST_CALL_ONCE ? TEST_ONCE : TEST_FOREVER);
}

/* All work again; 1 if the failure has happened. */
static inline int test_failure_off(int f)
{
#ifdef TEST_ALLOC
    if (f == TEST_ALLOCATION)
        return test_alloc_off();
#endif
    (void)f;
    return test_fault_off();
}

/* Blocks that are allocated, where that is known: an operation that fails leaks none.
 */
static inline long test_failure_blocks(void)
{
#ifdef TEST_ALLOC
    return test_alloc_live();
#else
    return 0;
#endif
}

#endif
