/* SPDX-License-Identifier: BSD-3-Clause */
/* What a restart leaves to later calls and runs: SCR_CURRENT applies once an allocation
 * (invariant P6), and a restart that is never completed keeps nothing from being
 * written.
 */
/* ranks: 4 */
#include "helper_prefix.h"

static const char *const nodes = "n[1-2]";
static const char *const cache = "SCR_CACHE_SIZE=5";
static const char *const flush = "SCR_FLUSH=1";

static struct scr_ctx *start(struct job *job, const char *setting, const char *more)
{
    return job_start(job, nodes, cache, flush, setting, setting ? more : NULL, NULL);
}

/* "one" and "two" on the prefix and in cache. */
static void begin(struct mpi_test *t, struct job *job)
{
    job_new(t, job, 4);
    job->out = tmpfile();
    struct scr_ctx *ctx = start(job, NULL, NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_checkpoint(job, ctx, "two", 2);
    job_kill(job, ctx);
}

static void end(struct job *job)
{
    fclose(job->out);
    job_free(job);
}

/* A run with these settings is offered name; writes more, of the same seed as its id,
 * unless NULL, and dies. */
static void run(struct job *job, const char *setting, const char *other,
                const char *name, int seed, const char *more)
{
    struct scr_ctx *ctx = start(job, setting, other);
    job_check_restart(job, ctx, name, seed);
    if (more != NULL)
        job_checkpoint(job, ctx, more, ctx->last_id + 1);
    job_kill(job, ctx);
}

static const char *const one = "SCR_CURRENT=one";

MPI_CASE(SCR_CURRENT_applies_once_an_allocation)
{
    struct job job;
    begin(t, &job);
    run(&job, one, NULL, "one", 1, "three");
    CHECK_INT(job_said(&job, "restarts from what was written since"), 0);
    run(&job, one, NULL, "three", 3, "four");
    CHECK_INT(job_said(&job, "restarts from what was written since"), 1);
    run(&job, one, NULL, "four", 4, NULL);
    end(&job);
}

MPI_CASE(it_applies_again_to_another_name_and_in_another_allocation)
{
    struct job job;
    begin(t, &job);
    run(&job, one, NULL, "one", 1, "three");
    run(&job, "SCR_CURRENT=two", NULL, "two", 2, "four");
    run(&job, "SCR_CURRENT=two", NULL, "four", 4, NULL);
    run(&job, one, "SCR_JOB_ID=next", "one", 1, "five");
    run(&job, one, "SCR_JOB_ID=next", "five", 5, NULL);
    end(&job);
}

MPI_CASE(until_something_is_written_it_applies)
{
    struct job job;
    begin(t, &job);
    run(&job, one, NULL, "one", 1, NULL);
    run(&job, one, NULL, "one", 1, "three");
    run(&job, one, NULL, "three", 3, NULL);
    end(&job);
}

/* A checkpoint that the ranks call bad. */
static void write_bad(struct job *job, struct scr_ctx *ctx, const char *name)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    CHECK_RC(scr_start_output_all(ctx, name, SCR_IS_CKPT, &err), SCR_OK, &err);
    CHECK_RC(scr_complete_output_all(ctx, 0, &err), SCR_E_INVALID, &err);
}

MPI_CASE(a_checkpoint_that_failed_is_nothing_written)
{
    struct job job;
    begin(t, &job);
    for (int i = 0; i < 2; i++) {
        struct scr_ctx *ctx = start(&job, one, NULL);
        job_check_restart(&job, ctx, "one", 1);
        write_bad(&job, ctx, "bad");
        job_kill(&job, ctx);
    }
    CHECK_INT(job_said(&job, "restarts from what was written since"), 0);
    run(&job, one, NULL, "one", 1, "three");
    run(&job, one, NULL, "three", 3, NULL);
    end(&job);
}

/* The record of the checkpoint it had gone to before also stays. */
MPI_CASE(after_one_that_failed_the_name_gone_to_before_still_counts)
{
    struct job job;
    begin(t, &job);
    run(&job, one, NULL, "one", 1, "three");
    struct scr_ctx *ctx = start(&job, "SCR_CURRENT=two", NULL);
    job_check_restart(&job, ctx, "two", 2);
    write_bad(&job, ctx, "bad");
    job_kill(&job, ctx);
    ctx = start(&job, one, NULL);
    CHECK_INT(job_said(&job, "restarts from what was written since"), 1);
    job_kill(&job, ctx);
    end(&job);
}

MPI_CASE(a_second_one_after_one_that_failed_is_something_written)
{
    struct job job;
    begin(t, &job);
    struct scr_ctx *ctx = start(&job, one, NULL);
    job_check_restart(&job, ctx, "one", 1);
    write_bad(&job, ctx, "bad");
    int next = ctx->last_id + 1;
    job_checkpoint(&job, ctx, "next", next);
    job_kill(&job, ctx);
    run(&job, one, NULL, "next", next, NULL);
    end(&job);
}

/* The name is not there when the first run starts, and is that of a checkpoint later.
 */
MPI_CASE(a_name_that_was_unknown_at_first_is_not_gone_back_to)
{
    struct job job;
    begin(t, &job);
    run(&job, "SCR_CURRENT=three", NULL, "two", 2, "three");
    struct scr_ctx *ctx = start(&job, NULL, NULL);
    job_checkpoint(&job, ctx, "four", 4);
    job_kill(&job, ctx);
    run(&job, "SCR_CURRENT=three", NULL, "four", 4, NULL);
    end(&job);
}

/* Without a resource manager a run that has ended well ends the allocation. */
MPI_CASE(where_jobs_have_no_names_the_end_of_a_run_is_the_end)
{
    static const char *const no_job = "SCR_JOB_ID=defjobid";
    struct job job;
    begin(t, &job);
    run(&job, one, no_job, "one", 1, "three");
    struct scr_ctx *ctx = start(&job, one, no_job);
    job_check_restart(&job, ctx, "three", 3);
    job_end(&job, ctx);
    run(&job, one, no_job, "one", 1, NULL);
    end(&job);
}

MPI_CASE(where_that_cannot_be_recorded_the_checkpoint_is_written_all_the_same)
{
    struct job job;
    char path[900];
    begin(t, &job);
    snprintf(path, sizeof path, "%s/.scr/current.scr.lock", job.prefix);
    struct scr_ctx *ctx = start(&job, one, NULL);
    if (job.rank == 0)
        mkdir(path, 0700);
    mpi_test_barrier(job.comm);
    job_checkpoint(&job, ctx, "three", 3);
    CHECK_INT(job_said(&job, "SCR_CURRENT=one applies to the next run again"), 1);
    job_kill(&job, ctx);
    end(&job);
}

/* --- a restart that is left open --- */

MPI_CASE(output_closes_a_restart_that_was_left_open)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    begin(t, &job);
    struct scr_ctx *ctx = start(&job, NULL, NULL);
    CHECK_RC(scr_start_restart_all(ctx, NULL, &err), SCR_OK, &err);
    CHECK(job_read_ok(&job, ctx, 2));
    CHECK_RC(scr_state_check(ctx->state, SCR_CALL_NEED, &err), SCR_OK, &err);
    CHECK_RC(scr_state_check(ctx->state, SCR_CALL_START, &err), SCR_OK, &err);
    job_checkpoint(&job, ctx, "three", 3);
    CHECK_INT(job_said(&job, "the restart from two is still open"), 1);
    job_checkpoint(&job, ctx, "four", 4);
    CHECK_INT(job_said(&job, "is still open"), 1);
    job_check_restart(&job, ctx, "four", 4);
    job_kill(&job, ctx);
    run(&job, NULL, NULL, "four", 4, NULL);
    end(&job);
}

MPI_CASE(the_end_of_the_run_closes_it_too)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    begin(t, &job);
    struct scr_ctx *ctx = start(&job, NULL, NULL);
    CHECK_RC(scr_start_restart_all(ctx, NULL, &err), SCR_OK, &err);
    CHECK_RC(scr_state_check(ctx->state, SCR_CALL_FINALIZE, &err), SCR_OK, &err);
    job_end(&job, ctx);
    CHECK_INT(job_said(&job, "SCR_Finalize: the restart from two is still open"), 1);
    end(&job);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(
            RUN(SCR_CURRENT_applies_once_an_allocation),
            RUN(it_applies_again_to_another_name_and_in_another_allocation),
            RUN(until_something_is_written_it_applies),
            RUN(a_checkpoint_that_failed_is_nothing_written),
            RUN(after_one_that_failed_the_name_gone_to_before_still_counts),
            RUN(a_second_one_after_one_that_failed_is_something_written),
            RUN(a_name_that_was_unknown_at_first_is_not_gone_back_to),
            RUN(where_jobs_have_no_names_the_end_of_a_run_is_the_end),
            RUN(where_that_cannot_be_recorded_the_checkpoint_is_written_all_the_same),
            RUN(output_closes_a_restart_that_was_left_open),
            RUN(the_end_of_the_run_closes_it_too)));
}
