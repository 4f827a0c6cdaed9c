/* SPDX-License-Identifier: BSD-3-Clause */
/* A long walk, over every system call of a scenario say, is shared between the MPIs:
 * what is walked over is the same with each. MPICH, whose waiting ranks cost the others
 * most, takes every seventh number, Open MPI those between. Both together, as .ci/run
 * does it, take all of them.
 *
 *     for (long n = walk_from(0); goes_on(n); n = walk_from(n + 1)) */
#ifndef SCR_TEST_HELPER_WALK_H
#define SCR_TEST_HELPER_WALK_H

#include <mpi.h>

static inline int walk_is_ours(long n)
{
    enum { TURN = 7 };
#ifdef MPICH_VERSION
    return n % TURN == TURN - 1;
#else
    return n % TURN != TURN - 1;
#endif
}

/* The first number from n on that is ours. */
static inline long walk_from(long n)
{
    while (!walk_is_ours(n))
        n++;
    return n;
}

#endif
