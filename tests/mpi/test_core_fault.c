/* SPDX-License-Identifier: BSD-3-Clause */
/* Every system call of a cycle fails once, on one rank, or all do from then on, on all
 * ranks, as if the job had died there: no hang, the same code everywhere, and nothing
 * that was complete is lost. */
/* ranks: 4 */
#include <errno.h>

#include "helper_fault.h"
#include "helper_job.h"
#include "helper_walk.h"

static const char *const nodes = "n[1-4]";

static void lose_all_nodes(struct job *job)
{
    for (int i = 1; i <= 4; i++) {
        char name[8];
        snprintf(name, sizeof name, "n%d", i);
        job_lose_node(job, name);
    }
}

struct plan {
    int victim; /* rank whose call fails; -1: all ranks, from then on */
    int error;
    const char *flush; /* "SCR_FLUSH=1": the checkpoint goes to the prefix, and the
                          nodes are lost after it */
};

/* One cycle in which call number n of checkpoint "two" fails, which evicts the oldest
 * and takes its redundancy file over. 0 when there is no call n. */
static int fail_checkpoint(struct mpi_test *t, const struct plan *p, long n)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    job_new(t, &job, t->comm.size);
    job.sys = &test_fault_sys;
    struct scr_ctx *ctx = job_start(&job, nodes, p->flush, NULL);
    job_checkpoint(&job, ctx, "oldest", 3);
    job_checkpoint(&job, ctx, "one", 1);
    job_arm(&job, p->victim, TEST_ANY, n, p->error,
            p->victim < 0 ? TEST_FOREVER : TEST_ONCE);
    int rc = job_write(&job, ctx, "two", 2, 1, &err);
    int fired = job_disarm(&job);
    CHECK(job_same_code(&job, rc));
    CHECK(fired || rc == SCR_OK);
    CHECK(ctx->state == SCR_STATE_IDLE);
    job_kill(&job, ctx);
    job.sys = NULL;
    if (strcmp(p->flush, "SCR_FLUSH=1") == 0)
        lose_all_nodes(&job);
    job_check_one_or_two(&job, nodes,
                         rc == SCR_OK && strcmp(p->flush, "SCR_FLUSH=1") != 0);
    job_free(&job);
    return fired;
}

static void fail_every_call(struct mpi_test *t, const struct plan *p)
{
    long n = walk_from(0), failed = 0;
    for (; n < 2000 && mpi_test_good(t) && fail_checkpoint(t, p, n); failed++)
        n = walk_from(n + 1);
    CHECK(n > 20 && n < 2000);
    if (t->comm.rank == 0)
        printf("       %ld calls failed in turn, of %ld\n", failed, n);
}

MPI_CASE(each_call_of_a_checkpoint_fails_once_on_rank_0)
{
    fail_every_call(t, &(struct plan){ 0, EIO, "SCR_FLUSH=0" });
}

MPI_CASE(each_call_of_a_checkpoint_fails_once_on_another_rank)
{
    fail_every_call(t, &(struct plan){ 2, ENOSPC, "SCR_FLUSH=0" });
}

MPI_CASE(each_call_of_a_flush_fails_once_on_rank_0)
{
    fail_every_call(t, &(struct plan){ 0, EIO, "SCR_FLUSH=1" });
}

MPI_CASE(each_call_of_a_flush_fails_once_on_another_rank)
{
    fail_every_call(t, &(struct plan){ 3, EDQUOT, "SCR_FLUSH=1" });
}

MPI_CASE(the_job_dies_at_each_call_of_a_checkpoint)
{
    fail_every_call(t, &(struct plan){ -1, EIO, "SCR_FLUSH=0" });
}

MPI_CASE(the_job_dies_at_each_call_of_a_flush)
{
    fail_every_call(t, &(struct plan){ -1, EIO, "SCR_FLUSH=1" });
}

/* Call n of the start fails, with a node to rebuild: a second start must find
 * everything. */
static int fail_start(struct mpi_test *t, int victim, enum test_how how, long n)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx;
    job_new(t, &job, t->comm.size);
    ctx = job_start(&job, nodes, NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    job_lose_node(&job, "n2");
    job.sys = &test_fault_sys;
    job_arm(&job, victim, TEST_ANY, n, EIO, how);
    int rc = job_try_start(&job, &ctx, &err, "n1,n5,n3,n4", NULL);
    int fired = job_disarm(&job);
    CHECK(job_same_code(&job, rc));
    CHECK(fired || rc == SCR_OK);
    job_kill(&job, ctx);
    job.sys = NULL;
    ctx = job_start(&job, "n1,n5,n3,n4", NULL);
    job_check_restart(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    job_free(&job);
    return fired;
}

static void fail_every_start(struct mpi_test *t, int victim, enum test_how how)
{
    long n = walk_from(0), failed = 0;
    for (; n < 2000 && mpi_test_good(t) && fail_start(t, victim, how, n); failed++)
        n = walk_from(n + 1);
    CHECK(n > 20 && n < 2000);
    if (t->comm.rank == 0)
        printf("       %ld calls failed in turn, of %ld\n", failed, n);
}

MPI_CASE(each_call_of_a_rebuilding_start_fails_once)
{
    fail_every_start(t, 0, TEST_ONCE);
    fail_every_start(t, 1, TEST_ONCE); /* the rank that is rebuilt */
}

MPI_CASE(the_job_dies_at_each_call_of_a_rebuilding_start)
{
    fail_every_start(t, -1, TEST_FOREVER);
}

MPI_CASE(no_descriptor_is_left_open)
{
    CHECK_INT(test_fault_open_fds(), 0);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(each_call_of_a_checkpoint_fails_once_on_rank_0),
                  RUN(each_call_of_a_checkpoint_fails_once_on_another_rank),
                  RUN(each_call_of_a_flush_fails_once_on_rank_0),
                  RUN(each_call_of_a_flush_fails_once_on_another_rank),
                  RUN(the_job_dies_at_each_call_of_a_checkpoint),
                  RUN(the_job_dies_at_each_call_of_a_flush),
                  RUN(each_call_of_a_rebuilding_start_fails_once),
                  RUN(the_job_dies_at_each_call_of_a_rebuilding_start),
                  RUN(no_descriptor_is_left_open)));
}
