/* SPDX-License-Identifier: BSD-3-Clause */
#include "helper_async.h"

/* The real prefix: what other processes than the job see. */
static int complete_on_prefix(const struct job *job, int id)
{
    struct scr_env env = { .sys = &scr_sys_posix };
    struct scr_prefix p = { 0 };
    struct scr_index_entry e;
    struct scr_index index = SCR_INDEX_INIT;
    int complete = -1;
    if (scr_prefix_open(&env, job->prefix, 0, &p, NULL) == SCR_OK &&
        scr_prefix_index_read(&env, &p, &index, NULL) == SCR_OK &&
        scr_index_get(&index, id, &e, NULL) == SCR_OK)
        complete = e.complete;
    scr_prefix_fini(&p);
    scr_index_fini(&index);
    return complete;
}

int entry(const struct job *job, int id)
{
    int complete = -1;
    mpi_test_barrier(job->comm);
    if (job->rank == 0)
        complete = complete_on_prefix(job, id);
    MPI_Bcast(&complete, 1, MPI_INT, 0, job->comm);
    return complete;
}

int becomes_complete(const struct job *job, int id)
{
    for (int ms = 0; ms < MPI_TEST_PATIENCE_MS; ms += 10) {
        if (entry(job, id) == 1)
            return 1;
        usleep(10000);
    }
    return 0;
}

void async_begin(struct mpi_test *t, struct job *job)
{
    job_new(t, job, 4);
    pfs_reset();
    job->sys = &pfs_sys;
}

void kill_job(struct job *job, struct scr_ctx *ctx)
{
    mpi_test_barrier(job->comm);
    pfs_die();
    scr_ctx_free(ctx);
    pfs_reset();
    mpi_test_barrier(job->comm);
}
