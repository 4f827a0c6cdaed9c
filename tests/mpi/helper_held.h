/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI and system objects that this rank holds. mpi_test.h compares it before and
 * after each case: a case, whatever fails in it, gives all of it back. */
#ifndef SCR_TEST_HELPER_HELD_H
#define SCR_TEST_HELPER_HELD_H

#include <stdatomic.h>

struct test_held {
    long comms;    /* communicators made and not freed */
    long requests; /* begun and neither finished nor freed */
    int fds;       /* open descriptors, MPI's own too */
};

struct test_held test_held_now(void);
/* A line on stderr for every descriptor that is counted. */
void test_held_print_fds(void);
/* Deleted files that this process has open, with this part in their path. */
int test_held_deleted(const char *part);

/* 1: MPI_Comm_split, or MPI_Comm_dup, fails, as where communicators are used up. */
extern int test_splits_fail, test_dups_fail;

/* Collective calls of the library since it was set to 0. */
extern atomic_int test_collectives;

/* The largest count that MPI_Isend was called with since it was set to 0: every message
 * of the library with bytes of files goes that way. */
extern atomic_int test_longest_isend;

#endif
