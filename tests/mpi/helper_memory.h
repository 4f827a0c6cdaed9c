/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocations that fail on demand: those of SCR and of the test, as the linker puts
 * these functions in front of the C library's (--wrap, see CMakeLists.txt). MPI's and
 * the C library's own do not fail. */
#ifndef SCR_TEST_HELPER_MEMORY_H
#define SCR_TEST_HELPER_MEMORY_H

/* Allocation number n (from 0) from now on fails, with forever all later ones too; of
 * whatever thread. */
void test_memory_arm(long n, int forever);
/* The first allocation at a new place fails from now on, with forever all later ones
 * too. A place is an allocation and the functions that lead to it; it is new if no call
 * of this function has made it fail, so that each has its turn in as many runs as there
 * are places, where failing every allocation in turn would take many more. */
void test_memory_arm_place(int forever);
/* All succeed again; 1 if one has failed. */
int test_memory_off(void);

#endif
