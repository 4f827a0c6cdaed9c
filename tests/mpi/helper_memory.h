/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocations that fail on demand: those of SCR and of the test, as the linker puts
 * these functions in front of the C library's (--wrap, see CMakeLists.txt). MPI's and
 * the C library's own do not fail. */
#ifndef SCR_TEST_HELPER_MEMORY_H
#define SCR_TEST_HELPER_MEMORY_H

/* Allocation number n (from 0) from now on fails, with forever all later ones too; of
 * whatever thread. */
void test_memory_arm(long n, int forever);
/* All succeed again; 1 if one has failed. */
int test_memory_off(void);

#endif
