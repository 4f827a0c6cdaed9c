/* SPDX-License-Identifier: BSD-3-Clause */
/* Output that is lost with the cache is told at the next start, which goes back to a
 * checkpoint before it. */
/* ranks: 4 */
#include "helper_prefix.h"

static const char *const nodes = "n[1-2]";
static const char *const told = "output is lost: ";
static const char *const past = "SCR_RESTART_PAST_LOST_OUTPUT=1";
enum { OUT = 7 };

static struct scr_ctx *start(struct job *job, const char *setting)
{
    return job_start(job, nodes, "SCR_CACHE_SIZE=5", "SCR_COPY_TYPE=XOR", setting,
                     NULL);
}

/* Output "out", which can be copied if `blocked` is 0. */
static void write_out(struct job *job, struct scr_ctx *ctx, int blocked)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    job_block_flush(job, OUT, blocked);
    int rc = job_write(job, ctx, "out", OUT, SCR_IS_OUTPUT, &err);
    CHECK_INT(rc != SCR_OK, blocked);
}

/* "one" on the prefix, then "out", and "two" if `after`. */
static void begin(struct mpi_test *t, struct job *job, int blocked, int after)
{
    job_new(t, job, 4);
    job->out = tmpfile();
    struct scr_ctx *ctx = start(job, "SCR_FLUSH=1");
    job_checkpoint(job, ctx, "one", 1);
    write_out(job, ctx, blocked);
    if (after)
        job_checkpoint(job, ctx, "two", 2);
    job_kill(job, ctx);
    job_block_flush(job, OUT, 0);
}

static void end(struct job *job)
{
    fclose(job->out);
    job_free(job);
}

/* A run with this setting is offered name. */
static void run(struct job *job, const char *setting, const char *name, int seed)
{
    struct scr_ctx *ctx = start(job, setting);
    job_check_restart(job, ctx, name, seed);
    job_kill(job, ctx);
}

static const char *const not_again =
    "out (dataset 2); a run from a newer checkpoint does not write it again";

/* "three" is newer than what was passed over, which stays on the prefix. */
MPI_CASE(a_run_goes_back_before_lost_output_once)
{
    struct job job;
    begin(t, &job, 1, 1);
    job_lose_node(&job, nodes);
    run(&job, NULL, "one", 1);
    CHECK_INT(job_said(&job, not_again), 1);
    CHECK_INT(job_said(&job, "this run goes back to one"), 1);
    run(&job, NULL, "one", 1);
    job_lose_node(&job, nodes);
    struct scr_ctx *ctx = start(&job, "SCR_FLUSH=1");
    job_check_restart(&job, ctx, "one", 1);
    write_out(&job, ctx, 0);
    job_checkpoint(&job, ctx, "three", 3);
    job_kill(&job, ctx);
    run(&job, NULL, "three", 3);
    job_lose_node(&job, nodes);
    run(&job, NULL, "three", 3);
    run(&job, "SCR_CURRENT=two", "two", 2);
    CHECK_INT(job_said(&job, told), 1);
    end(&job);
}

MPI_CASE(a_run_that_is_told_to_goes_on_past_lost_output)
{
    struct job job;
    begin(t, &job, 1, 1);
    job_lose_node(&job, nodes);
    run(&job, past, "two", 2);
    CHECK_INT(job_said(&job, not_again), 1);
    CHECK_INT(job_said(&job, "SCR_CURRENT=one goes back before it"), 1);
    run(&job, "SCR_CURRENT=one", "one", 1);
    CHECK_INT(job_said(&job, told), 1);
    end(&job);
}

/* "two" is better than nothing. */
MPI_CASE(without_an_older_checkpoint_the_newer_one_is_offered)
{
    struct job job;
    job_new(t, &job, 4);
    job.out = tmpfile();
    struct scr_ctx *ctx = start(&job, NULL);
    write_out(&job, ctx, 1);
    job_checkpoint(&job, ctx, "two", 2);
    job_kill(&job, ctx);
    job_lose_dataset(&job, 1);
    run(&job, NULL, "two", 2);
    CHECK_INT(job_said(&job, "and no older one exists"), 1);
    end(&job);
}

/* What leaves the cache for it is on the prefix first, or stays. */
MPI_CASE(nothing_that_is_passed_over_is_lost)
{
    for (int blocked = 0; blocked <= 1; blocked++) {
        struct job job;
        job_new(t, &job, 4);
        job.out = tmpfile();
        struct scr_ctx *ctx = start(&job, "SCR_FLUSH=0");
        job_checkpoint(&job, ctx, "one", 1);
        write_out(&job, ctx, 1);
        job_checkpoint(&job, ctx, "two", 2);
        job_kill(&job, ctx);
        job_block_flush(&job, OUT, 0);
        job_lose_dataset(&job, 2);
        job_block_flush(&job, 2, blocked);
        run(&job, NULL, blocked ? "two" : "one", blocked ? 2 : 1);
        CHECK_INT(job_said(&job, "this run does not go back"), blocked);
        job_block_flush(&job, 2, 0);
        if (!blocked)
            CHECK_INT(job_entry(&job, 3, NULL, NULL), 1);
        end(&job);
    }
}

MPI_CASE(without_a_newer_checkpoint_the_run_writes_it_again)
{
    struct job job;
    begin(t, &job, 1, 0);
    job_lose_node(&job, nodes);
    run(&job, NULL, "one", 1);
    CHECK_INT(job_said(&job, "out (dataset 2); no newer checkpoint exists"), 1);
    CHECK_INT(job_said(&job, "SCR_CURRENT="), 0);
    end(&job);
}

/* Too much of it is gone to rebuild it. */
MPI_CASE(output_that_cannot_be_rebuilt_is_told)
{
    struct job job;
    begin(t, &job, 1, 1);
    job_lose_dataset(&job, 2);
    run(&job, NULL, "one", 1);
    CHECK_INT(job_said(&job, told), 1);
    end(&job);
}

MPI_CASE(what_can_be_rebuilt_or_is_on_the_prefix_is_not_lost)
{
    struct job job;
    begin(t, &job, 1, 1);
    job_lose_node(&job, "n2");
    run(&job, NULL, "two", 2);
    CHECK_INT(job_said(&job, told), 0);
    CHECK_INT(job_entry(&job, 2, NULL, NULL), 1);
    end(&job);
    begin(t, &job, 0, 1);
    job_lose_node(&job, nodes);
    run(&job, NULL, "two", 2);
    CHECK_INT(job_said(&job, told), 0);
    end(&job);
}

/* Written over by newer output of that name. */
MPI_CASE(what_was_on_the_prefix_is_not_lost)
{
    struct job job;
    job_new(t, &job, 4);
    job.out = tmpfile();
    struct scr_ctx *ctx = start(&job, "SCR_FLUSH=1");
    for (int i = 1; i <= 2; i++) {
        job_checkpoint(&job, ctx, i == 1 ? "one" : "two", i);
        write_out(&job, ctx, 0);
    }
    job_checkpoint(&job, ctx, "three", 3);
    CHECK_INT(job_entry(&job, 2, NULL, NULL), 0);
    job_kill(&job, ctx);
    job_lose_node(&job, nodes);
    run(&job, NULL, "three", 3);
    CHECK_INT(job_said(&job, told), 0);
    end(&job);
}

MPI_CASE(what_is_left_in_cache_or_is_another_jobs_is_not_lost)
{
    struct job job;
    begin(t, &job, 1, 1);
    run(&job, "SCR_DISTRIBUTE=0", "two", 2); /* on the prefix */
    CHECK_INT(job_said(&job, told), 0);
    run(&job, "SCR_JOB_ID=another", "two", 2);
    CHECK_INT(job_said(&job, told), 0);
    end(&job);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(a_run_goes_back_before_lost_output_once),
                  RUN(a_run_that_is_told_to_goes_on_past_lost_output),
                  RUN(without_an_older_checkpoint_the_newer_one_is_offered),
                  RUN(nothing_that_is_passed_over_is_lost),
                  RUN(without_a_newer_checkpoint_the_run_writes_it_again),
                  RUN(output_that_cannot_be_rebuilt_is_told),
                  RUN(what_can_be_rebuilt_or_is_on_the_prefix_is_not_lost),
                  RUN(what_was_on_the_prefix_is_not_lost),
                  RUN(what_is_left_in_cache_or_is_another_jobs_is_not_lost)));
}
