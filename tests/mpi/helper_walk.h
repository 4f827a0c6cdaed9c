/* SPDX-License-Identifier: BSD-3-Clause */
/* A long walk, over every system call of a scenario say, is shared between the MPIs:
 * what is walked over is the same with each, so Open MPI takes numbers 0, 2, 4, …, and
 * MPICH 1, 3, 5, …. Both together, as .ci/run does it, take all of them. */
#ifndef SCR_TEST_HELPER_WALK_H
#define SCR_TEST_HELPER_WALK_H

#include <mpi.h>

#ifdef MPICH_VERSION
enum { WALK_FIRST = 1 };
#else
enum { WALK_FIRST = 0 };
#endif
enum { WALK_STEP = 2 };

#endif
