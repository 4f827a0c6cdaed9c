/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded into programs of MPICH 4.0 in the test bed. Its MPI_Finalize over TCP may
 * wait for ever for a process that was there first and has gone: so all ranks get to
 * know each other, agree on an instant a little ahead (the nodes share one clock) and
 * enter together. */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

static const double ahead_s = 2.0;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void sleep_until(double then_s)
{
    struct timespec t = { .tv_sec = (time_t)then_s };
    t.tv_nsec = (long)((then_s - (double)t.tv_sec) * 1e9);
    while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &t, NULL) != 0)
        ;
}

static void meet_all(MPI_Comm world)
{
    int ranks;
    PMPI_Comm_size(world, &ranks);
    char *out = calloc((size_t)ranks, 1), *in = calloc((size_t)ranks, 1);
    if (out != NULL && in != NULL)
        PMPI_Alltoall(out, 1, MPI_CHAR, in, 1, MPI_CHAR, world);
    free(out);
    free(in);
}

int MPI_Finalize(void)
{
    meet_all(MPI_COMM_WORLD);
    double then_s = now_s() + ahead_s;
    PMPI_Bcast(&then_s, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    sleep_until(then_s);
    return PMPI_Finalize();
}
