/* SPDX-License-Identifier: BSD-3-Clause */
#include "helper_leftovers.h"
#include "helper_stored.h"

int parts(struct job *job)
{
    return job_count(job, job->prefix, "/" SCR_COPY_TMP);
}

long same_size(int rank, int file, int seed)
{
    (void)rank, (void)seed;
    return file < JOB_FILES ? 100000 : -1;
}

int make_small(struct job *job, const char *size)
{
    int ok = 0;
    if (job->rank == 0)
        ok = mount("none", job->prefix, "tmpfs", 0, size) == 0;
    MPI_Bcast(&ok, 1, MPI_INT, 0, job->comm);
    return ok;
}

void free_small(struct job *job)
{
    mpi_test_barrier(job->comm);
    if (job->rank == 0)
        umount2(job->prefix, MNT_DETACH);
    mpi_test_barrier(job->comm);
}
