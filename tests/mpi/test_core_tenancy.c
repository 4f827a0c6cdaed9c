/* SPDX-License-Identifier: BSD-3-Clause */
/* Two jobs at the same control directories of the same nodes. */
/* ranks: 4 */
#include <errno.h>

#include "base/str.h"
#include "helper_job.h"

/* A neighbour: the same directories, but a prefix directory of its own. */
static void neighbour(struct mpi_test *t, struct job *job, const struct job *of)
{
    job_share(t, job, of, 4);
    snprintf(job->prefix, sizeof job->prefix, "%s/prefix2", job->dir);
    if (job->rank == 0)
        mkdir(job->prefix, 0700);
    scr_barrier_all(&t->comm);
}

static void check_refused(struct job *job)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx;
    int rc = job_try_start(job, &ctx, &err, "n1,n2", NULL);
    CHECK_RC(rc, SCR_E_TAKEN, &err);
    CHECK(job_same_code(job, rc));
    CHECK(strstr(err.text, "/prefix; give this one an SCR_JOB_ID") != NULL);
    job_kill(job, ctx);
}

/* The second is told, and the first does not even notice; when it has ended the second
 * one may have the directories. */
MPI_CASE(another_prefix_waits_until_the_first_has_ended)
{
    struct job one, two;
    job_new(t, &one, 4);
    neighbour(t, &two, &one);
    struct scr_ctx *ctx = job_start(&one, "n1,n2", NULL);
    job_checkpoint(&one, ctx, "first", 1);
    check_refused(&two);
    job_checkpoint(&one, ctx, "second", 2);
    job_kill(&one, ctx);
    ctx = job_start(&one, "n1,n2", NULL);
    job_check_restart(&one, ctx, "second", 2);
    job_end(&one, ctx);
    ctx = job_start(&two, "n1,n2", NULL);
    job_end(&two, ctx);
    job_unshare(&two);
    job_free(&one);
}

/* A job id of its own keeps them apart, and so do other nodes. */
MPI_CASE(jobs_with_other_directories_run_side_by_side)
{
    static const struct {
        const char *nodes, *setting;
    } apart[] = { { "n1,n2", "SCR_JOB_ID=another" }, { "n3,n4", "SCR_FLUSH=0" } };
    struct job one, two;
    job_new(t, &one, 4);
    neighbour(t, &two, &one);
    struct scr_ctx *ctx = job_start(&one, "n1,n2", NULL);
    job_checkpoint(&one, ctx, "first", 1);
    for (size_t i = 0; i < 2; i++) {
        struct scr_ctx *other = job_start(&two, apart[i].nodes, apart[i].setting, NULL);
        job_checkpoint(&two, other, "of two", 2);
        job_end(&two, other);
    }
    job_kill(&one, ctx);
    ctx = job_start(&one, "n1,n2", NULL);
    job_check_restart(&one, ctx, "first", 1);
    job_end(&one, ctx);
    job_unshare(&two);
    job_free(&one);
}

/* A run whose processes are slow to die is in nobody's way who goes on with it, and
 * when they have gone nobody else comes in its way. */
MPI_CASE(the_next_run_of_a_job_does_not_wait_for_the_last)
{
    struct job job, other;
    job_new(t, &job, 4);
    neighbour(t, &other, &job);
    struct scr_ctx *last = job_start(&job, "n1,n2", NULL);
    job_checkpoint(&job, last, "first", 1);
    struct scr_ctx *ctx = job_start(&job, "n1,n2", NULL);
    job_check_restart(&job, ctx, "first", 1);
    job_kill(&job, last);
    job_checkpoint(&job, ctx, "second", 2);
    check_refused(&other);
    job_end(&job, ctx);
    job_unshare(&other);
    job_free(&job);
}

/* Where there are no locks there is no protection, and nobody is refused. */
MPI_CASE(without_locks_all_goes_on)
{
    struct job job;
    job_new(t, &job, 4);
    job.sys = &test_fault_sys;
    job_arm(&job, -1, TEST_SETLK, 0, ENOLCK, TEST_ONCE);
    struct scr_ctx *ctx = job_start(&job, "n1,n2", NULL);
    CHECK(job_disarm(&job));
    job_checkpoint(&job, ctx, "first", 1);
    job_end(&job, ctx);
    job_free(&job);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(another_prefix_waits_until_the_first_has_ended),
                  RUN(jobs_with_other_directories_run_side_by_side),
                  RUN(the_next_run_of_a_job_does_not_wait_for_the_last),
                  RUN(without_locks_all_goes_on)));
}
