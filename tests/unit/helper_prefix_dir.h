/* SPDX-License-Identifier: BSD-3-Clause */
/* A prefix directory of a test. */
#ifndef SCR_TEST_HELPER_PREFIX_DIR_H
#define SCR_TEST_HELPER_PREFIX_DIR_H

#include "helper_index.h"
#include "helper_store.h"

int prefix_dir_teardown(void **state);

int add(struct test_store *t, int id);

#endif
