/* SPDX-License-Identifier: BSD-3-Clause */
/* Random numbers that all ranks draw alike, from a seed that is printed and can be
 * given. */
#ifndef SCR_TEST_HELPER_RANDOM_H
#define SCR_TEST_HELPER_RANDOM_H

#include <time.h>

#include "helper_draw.h"
#include "mpi_test.h"

/* 0 … n-1 */
__attribute__((unused)) static int test_below(struct test_random *r, int n)
{
    return (int)(test_draw(r) % (uint64_t)n);
}

/* A separate sequence for case number i of a run, so that it can be repeated alone.
 */
__attribute__((unused)) static struct test_random test_random_case(uint64_t seed, int i)
{
    struct test_random r = { seed };
    r.state = test_draw(&r) + (uint64_t)i;
    r.state = test_draw(&r);
    return r;
}

/* Collective: $TEST_SEED, else one of the clock; printed. */
__attribute__((unused)) static uint64_t test_seed_all(const struct mpi_test *t)
{
    const char *given = getenv("TEST_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    MPI_Bcast(&seed, 1, MPI_UINT64_T, 0, t->comm.comm);
    if (t->comm.rank == 0)
        printf("       seed %llu (TEST_SEED=%llu repeats it)\n",
               (unsigned long long)seed, (unsigned long long)seed);
    return seed;
}

#endif
