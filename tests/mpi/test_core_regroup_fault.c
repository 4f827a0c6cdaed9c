/* SPDX-License-Identifier: BSD-3-Clause */
/* Every system call of a start on a different number of ranks, which rebuilds and
 * copies cached datasets, fails once on one rank, or all do from then on, on all ranks:
 * no hang, the same code everywhere, and the next start finds the newest checkpoint, on
 * any number of ranks (invariants C2, P5, P13). */
/* ranks: 4 */
#include <errno.h>

#include "helper_fault.h"
#include "helper_job.h"

static const char *const nodes = "n[1-2]";

/* The system calls are the same with every MPI: one looks at many of them, where
 * waiting ranks spin on the cores at some. */
#ifdef MPICH_VERSION
enum { STRIDE = 331 };
#else
enum { STRIDE = 37 };
#endif

/* "one" is on the prefix, "two" in cache alone, and a node is lost. */
static void write_both(struct mpi_test *t, struct job *base)
{
    job_new(t, base, 4);
    struct scr_ctx *ctx = job_start(base, nodes, "SCR_FLUSH=1", NULL);
    job_checkpoint(base, ctx, "one", 1);
    job_kill(base, ctx);
    ctx = job_start(base, nodes, NULL);
    job_checkpoint(base, ctx, "two", 2);
    job_kill(base, ctx);
    job_lose_node(base, "n2");
}

/* Every rank reads the files of all four. */
static void read_two(struct job *job)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    char name[SCR_MAX_NAME] = "";
    int have = 0, ok = 1;
    struct scr_ctx *ctx = job_start(job, nodes, NULL);
    CHECK_RC(scr_have_restart_all(ctx, &have, name, &err), SCR_OK, &err);
    CHECK(have && strcmp(name, "two") == 0);
    if (have) {
        CHECK_RC(scr_start_restart_all(ctx, name, &err), SCR_OK, &err);
        for (int r = 0; r < 4; r++)
            if (job->size != 4 || r == job->rank)
                ok = job_read_of(job, ctx, r, 2) && ok;
        CHECK(ok);
    }
    job_kill(job, ctx);
}

/* The start in which call n fails, on the victim or (-1) for good and on all. 1 on all
 * ranks if there is a call n. */
static int start_failing(struct job *job, int victim, long n)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx;
    job->sys = &test_fault_sys;
    job_arm(job, victim, TEST_ANY, n, EIO, victim < 0 ? TEST_FOREVER : TEST_ONCE);
    int rc = job_try_start(job, &ctx, &err, nodes, NULL);
    int fired = job_disarm(job);
    CHECK(job_same_code(job, rc));
    CHECK(fired || rc == SCR_OK);
    job_kill(job, ctx);
    job->sys = NULL;
    return fired;
}

static int fail_call(struct mpi_test *t, int victim, long n)
{
    struct job base, job;
    int fired = 0;
    write_both(t, &base);
    job_share(t, &job, &base, 3);
    if (job.in)
        fired = start_failing(&job, victim, n);
    if (job.in && n % 2 == 0)
        read_two(&job);
    job_unshare(&job);
    if (n % 2 != 0)
        read_two(&base);
    MPI_Bcast(&fired, 1, MPI_INT, 0, base.comm);
    job_free(&base);
    return fired;
}

static void fail_calls(struct mpi_test *t, int victim)
{
    long n = victim + 1;
    while (n < 4000 && mpi_test_good(t) && fail_call(t, victim, n))
        n += STRIDE;
    CHECK(n > 100 && n < 4000);
    if (t->comm.rank == 0)
        printf("       %ld calls failed in turn, of %ld\n", n / STRIDE, n);
}

MPI_CASE(a_call_fails_once_on_the_rank_that_rebuilds)
{
    fail_calls(t, 0);
}

MPI_CASE(a_call_fails_once_on_another_rank)
{
    fail_calls(t, 1);
}

MPI_CASE(the_job_dies_at_a_call)
{
    fail_calls(t, -1);
}

MPI_CASE(no_descriptor_is_left_open)
{
    CHECK_INT(test_fault_open_fds(), 0);
}

int main(int argc, char **argv)
{
    return mpi_test_main(argc, argv,
                         MPI_CASES(RUN(a_call_fails_once_on_the_rank_that_rebuilds),
                                   RUN(a_call_fails_once_on_another_rank),
                                   RUN(the_job_dies_at_a_call),
                                   RUN(no_descriptor_is_left_open)));
}
