/* SPDX-License-Identifier: BSD-3-Clause */
/* A process that cannot start threads. */
#ifndef SCR_TEST_HELPER_THREADS_H
#define SCR_TEST_HELPER_THREADS_H

#include "helper_tmp.h"

#include <pthread.h>

/* No process has room for a stack of that size. */
static void test_threads_off(pthread_attr_t *before)
{
    pthread_attr_t huge;
    assert_int_equal(pthread_getattr_default_np(before), 0);
    assert_int_equal(pthread_attr_init(&huge), 0);
    assert_int_equal(pthread_attr_setstacksize(&huge, (size_t)1 << 60), 0);
    assert_int_equal(pthread_setattr_default_np(&huge), 0);
    (void)pthread_attr_destroy(&huge);
}

static void test_threads_on(pthread_attr_t *before)
{
    assert_int_equal(pthread_setattr_default_np(before), 0);
    (void)pthread_attr_destroy(before);
}

#endif
