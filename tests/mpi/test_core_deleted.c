/* SPDX-License-Identifier: BSD-3-Clause */
/* What scr_index --delete removes from the prefix while a job has it in cache. */
/* ranks: 4 */
#include "helper_async.h"
#include "ops/delete.h"
#include "store/deletion.h"

/* Like scr_index --delete, on rank 0 beside the job. */
static void delete_on_prefix(struct job *job, int id, int is_forced)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    const struct scr_delete what = { id, is_forced };
    struct scr_env env = { .sys = &scr_sys_posix };
    struct scr_prefix p = { 0 };
    struct scr_deleted got;
    mpi_test_barrier(job->comm);
    if (job->rank == 0) {
        CHECK_RC(scr_prefix_open(&env, job->prefix, 0, &p, &err), SCR_OK, &err);
        CHECK_RC(is_forced ? SCR_OK : scr_delete_check(&env, &p, id, &err), SCR_OK,
                 &err);
        CHECK_RC(scr_delete_dataset(&env, &p, &what, &got, &err), SCR_OK, &err);
        scr_prefix_fini(&p);
    }
    mpi_test_barrier(job->comm);
}

static void write_both(struct job *job, struct scr_ctx *ctx, const char *name, int seed)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    CHECK_RC(job_write(job, ctx, name, seed, SCR_IS_CKPT | SCR_IS_OUTPUT, &err), SCR_OK,
             &err);
}

/* A run with both in cache and on the prefix. */
static struct scr_ctx *start_with_two(struct job *job)
{
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_CACHE_SIZE=2", "SCR_FLUSH=1", NULL);
    write_both(job, ctx, "one", 1);
    write_both(job, ctx, "two", 2);
    return ctx;
}

JOB_CASE(output_does_not_come_back_when_it_leaves_the_cache, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = start_with_two(job);
    delete_on_prefix(job, 1, 0);
    CHECK(scr_cache_is_ready(ctx, 1));
    CHECK_RC(scr_cache_let_go_all(ctx, 1, "room", &err), SCR_OK, &err);
    CHECK(!scr_cache_has(ctx, 1));
    job_end(job, ctx);
    CHECK_ENTRY(job, 1, ABSENT, NOT_CURRENT);
    CHECK(!job_has(job, "step.1"));
    CHECK_ENTRY(job, 2, COMPLETE, CURRENT);
}

JOB_CASE(output_does_not_come_back_at_the_end, 4)
{
    struct scr_ctx *ctx = start_with_two(job);
    delete_on_prefix(job, 1, 0);
    job_end(job, ctx);
    CHECK_ENTRY(job, 1, ABSENT, NOT_CURRENT);
}

/* Nor does a run that lost it go back before it. */
JOB_CASE(output_does_not_come_back_with_the_next_start, 4)
{
    struct scr_ctx *ctx = start_with_two(job);
    delete_on_prefix(job, 1, 0);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_CACHE_SIZE=2", ASYNC, NULL);
    CHECK(scr_cache_is_ready(ctx, 1));
    CHECK(!scr_async_has(ctx, 1));
    job_check_restart(job, ctx, "two", 2);
    job_kill(job, ctx);
    job_lose_dataset(job, 1);
    ctx = job_start(job, nodes, "SCR_CACHE_SIZE=2", NULL);
    job_check_restart(job, ctx, "two", 2);
    job_end(job, ctx);
    CHECK_ENTRY(job, 1, ABSENT, NOT_CURRENT);
}

/* The whole copy is the one in cache, and the user did not insist. */
JOB_CASE(output_that_was_not_whole_there_is_copied, 4)
{
    struct scr_ctx *ctx = start_with_two(job);
    job_fail_entry(job, 1);
    delete_on_prefix(job, 1, 0);
    CHECK(!job_has(job, "step.1"));
    job_end(job, ctx);
    CHECK_ENTRY(job, 1, COMPLETE, NOT_CURRENT);
}

JOB_CASE(a_forced_deletion_ends_a_flush_for_good, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    pfs_reset();
    job->sys = &pfs_sys;
    pfs_control.hold = 1;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_CACHE_SIZE=3", ASYNC, NULL);
    write_both(job, ctx, "one", 1);
    CHECK(scr_async_has(ctx, 1));
    delete_on_prefix(job, 1, 1);
    pfs_control.hold = 0;
    CHECK(scr_async_wait_all(ctx, 1, &err) != SCR_OK);
    write_both(job, ctx, "two", 2); /* those that failed are tried again */
    CHECK(!scr_async_has(ctx, 1));
    job_end(job, ctx);
    CHECK_ENTRY(job, 1, ABSENT, NOT_CURRENT);
    CHECK_ENTRY(job, 2, COMPLETE, CURRENT);
    pfs_reset();
}

/* Its only purpose was the prefix. */
JOB_CASE(output_that_is_no_checkpoint_leaves_the_cache, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    pfs_reset();
    job->sys = &pfs_sys;
    pfs_control.hold = 1;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_CACHE_SIZE=3", ASYNC, NULL);
    CHECK_RC(job_write(job, ctx, "one", 1, SCR_IS_OUTPUT, &err), SCR_OK, &err);
    delete_on_prefix(job, 1, 1);
    pfs_control.hold = 0;
    CHECK(scr_async_wait_all(ctx, 1, &err) != SCR_OK);
    CHECK(scr_cache_has(ctx, 1));
    job_checkpoint(job, ctx, "two", 2);
    CHECK(!scr_cache_has(ctx, 1));
    job_end(job, ctx);
    CHECK_ENTRY(job, 1, ABSENT, NOT_CURRENT);
    pfs_reset();
}

/* Both have the same files; the older one is still in cache. */
JOB_CASE(an_older_one_does_not_take_the_place_of_a_newer_one, 4)
{
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_CACHE_SIZE=2", "SCR_FLUSH=1", NULL);
    write_both(job, ctx, "one", 1);
    write_both(job, ctx, "two", 1);
    CHECK_ENTRY(job, 1, ABSENT, NOT_CURRENT);
    delete_on_prefix(job, 2, 1);
    job_end(job, ctx);
    CHECK_ENTRY(job, 1, ABSENT, NOT_CURRENT);
    CHECK_ENTRY(job, 2, ABSENT, NOT_CURRENT);
    CHECK(!job_has(job, "step.1"));
}

/* The first attempt died when it had begun. */
JOB_CASE(a_second_attempt_may_insist, 4)
{
    struct scr_ctx *ctx = start_with_two(job);
    job_fail_entry(job, 1);
    mpi_test_barrier(job->comm);
    if (job->rank == 0)
        CHECK_INT(scr_deletion_begin(&ctx->env, &ctx->prefix, 1, NULL), SCR_OK);
    delete_on_prefix(job, 1, 1);
    job_end(job, ctx);
    CHECK_ENTRY(job, 1, ABSENT, NOT_CURRENT);
}

/* Output that was lost makes a start go back, and what it leaves behind is saved
 * first, except for what was deleted. */
JOB_CASE(a_way_back_does_not_copy_it, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_CACHE_SIZE=3", "SCR_FLUSH=1", NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_kill(job, ctx);
    job_block_flush(job, 2, 1);
    ctx = job_start(job, nodes, "SCR_CACHE_SIZE=3", "SCR_FLUSH=0", NULL);
    (void)job_write(job, ctx, "two", 2, SCR_IS_OUTPUT, &err); /* only in cache */
    write_both(job, ctx, "three", 3);
    job_kill(job, ctx);
    job_block_flush(job, 2, 0);
    delete_on_prefix(job, 3, 1);
    job_lose_dataset(job, 2);
    ctx = job_start(job, nodes, "SCR_CACHE_SIZE=3", NULL);
    job_check_restart(job, ctx, "one", 1);
    job_kill(job, ctx);
    CHECK_ENTRY(job, 3, ABSENT, NOT_CURRENT);
}

/* A run whose processes read the prefix directory has it there again. */
JOB_CASE(a_restart_that_needs_it_there_copies_it, 4)
{
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_kill(job, ctx);
    delete_on_prefix(job, 1, 1);
    ctx = job_start(job, nodes, NULL);
    job_check_restart(job, ctx, "one", 1);
    job_kill(job, ctx);
    CHECK_ENTRY(job, 1, ABSENT, NOT_CURRENT);
    ctx = job_start(job, nodes, "SCR_GLOBAL_RESTART=1", NULL);
    job_check_restart(job, ctx, "one", 1);
    job_kill(job, ctx);
    CHECK_ENTRY(job, 1, COMPLETE, CURRENT);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(output_does_not_come_back_when_it_leaves_the_cache),
                  RUN(output_does_not_come_back_at_the_end),
                  RUN(output_does_not_come_back_with_the_next_start),
                  RUN(output_that_was_not_whole_there_is_copied),
                  RUN(a_forced_deletion_ends_a_flush_for_good),
                  RUN(output_that_is_no_checkpoint_leaves_the_cache),
                  RUN(an_older_one_does_not_take_the_place_of_a_newer_one),
                  RUN(a_second_attempt_may_insist), RUN(a_way_back_does_not_copy_it),
                  RUN(a_restart_that_needs_it_there_copies_it)));
}
