/* SPDX-License-Identifier: BSD-3-Clause */
/* Output that is lost with the cache is reported at the next start, which goes back to
 * a checkpoint before it. */
/* ranks: 4 */
#include "helper_prefix.h"
#include "helper_stored.h"

#include <errno.h>

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

MPI_CASE(a_run_with_the_setting_continues_past_lost_output)
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
    CHECK_INT(job_said(&job, "no older one exists: this run continues from the newest"),
              1);
    end(&job);
}

/* Datasets that leave the cache for it are on the prefix first, or stay. */
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
MPI_CASE(output_that_cannot_be_rebuilt_is_reported)
{
    struct job job;
    begin(t, &job, 1, 1);
    job_lose_dataset(&job, 2);
    run(&job, NULL, "one", 1);
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
    CHECK_INT(job_entry(&job, 2, NULL, NULL), -1);
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

/* --- the start dies, or a call of it fails --- */

/* The start that goes back dies at rename n, which is how each of its steps gets
 * durable; the next one goes back all the same. */
static int die(struct mpi_test *t, struct job *job, long n)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx;
    const char *const settings[] = { "SCR_CACHE_SIZE=5", "SCR_COPY_TYPE=XOR", NULL };
    job_go_back(job);
    job->sys = &test_fault_sys;
    job_arm(job, -1, TEST_RENAMEAT, n, EIO, TEST_FOREVER);
    int rc = job_try_start(job, &ctx, &err, nodes, settings);
    int fired = job_disarm(job);
    CHECK(job_same_code(job, rc));
    CHECK(fired || rc == SCR_OK);
    job_kill(job, ctx);
    job->sys = NULL;
    run(job, NULL, "one", 1);
    return fired;
}

enum { MOST = 1000 }; /* steps */

static void die_at_each_step(struct mpi_test *t, struct job *job)
{
    long n = 0;
    job_save(job);
    while (n < MOST && mpi_test_good(t) && die(t, job, n))
        n++;
    CHECK(n > 5 && n < MOST);
    if (t->comm.rank == 0)
        printf("       died at each of %ld steps\n", n);
}

MPI_CASE(a_start_that_dies_on_the_way_back_keeps_the_record)
{
    for (int remnants = 0; remnants <= 1; remnants++) {
        struct job job;
        begin(t, &job, 1, 1);
        if (remnants)
            job_lose_dataset(&job, 2);
        else
            job_lose_node(&job, nodes);
        die_at_each_step(t, &job);
        end(&job);
    }
}

/* A rename of rank 0 fails at the start that goes back: it warns if it does not, and
 * the next start takes the same. */
static int fail_once(struct mpi_test *t, struct job *job, long n)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx;
    const char *const settings[] = { "SCR_CACHE_SIZE=5", "SCR_COPY_TYPE=XOR", NULL };
    int said = job_said(job, "this run does not go back"), offers = 1;
    job_go_back(job);
    job->sys = &test_fault_sys;
    job_arm(job, 0, TEST_RENAMEAT, n, EIO, TEST_ONCE);
    int rc = job_try_start(job, &ctx, &err, nodes, settings);
    int fired = job_disarm(job);
    CHECK(fired || rc == SCR_OK);
    if (rc == SCR_OK && job_said(job, "this run does not go back") > said)
        offers = 3;
    if (rc == SCR_OK)
        CHECK_INT(job_offered(job, ctx), offers);
    job_kill(job, ctx);
    job->sys = NULL;
    run(job, NULL, offers == 1 ? "one" : "two", offers == 1 ? 1 : 2);
    return fired;
}

MPI_CASE(a_run_that_cannot_go_back_warns)
{
    struct job job;
    long n = 0;
    begin(t, &job, 1, 1);
    job_lose_node(&job, nodes);
    job_save(&job);
    while (n < MOST && mpi_test_good(t) && fail_once(t, &job, n))
        n++;
    CHECK(n > 5 && n < MOST);
    CHECK(job_said(&job, "this run does not go back") > 0);
    end(&job);
}

/* --- which checkpoint --- */

MPI_CASE(lost_output_that_is_a_checkpoint_does_not_block_the_way_back)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    job_new(t, &job, 4);
    job.out = tmpfile();
    struct scr_ctx *ctx = start(&job, "SCR_FLUSH=1");
    job_checkpoint(&job, ctx, "one", 1);
    job_block_flush(&job, OUT, 1);
    (void)job_write(&job, ctx, "out", OUT, SCR_IS_OUTPUT | SCR_IS_CKPT, &err);
    job_checkpoint(&job, ctx, "two", 2);
    job_kill(&job, ctx);
    job_block_flush(&job, OUT, 0);
    job_lose_dataset(&job, 2);
    run(&job, NULL, "one", 1);
    run(&job, NULL, "one", 1);
    CHECK_INT(job_said(&job, "this run does not go back"), 0);
    CHECK_INT(job_said(&job, told), 1);
    end(&job);
}

/* "one" is damaged on the prefix: "zero" is before the lost output, too. */
MPI_CASE(an_older_one_takes_the_place_of_a_damaged_one)
{
    struct job job;
    job_new(t, &job, 4);
    job.out = tmpfile();
    struct scr_ctx *ctx = start(&job, "SCR_FLUSH=1");
    job_checkpoint(&job, ctx, "zero", 4);
    job_checkpoint(&job, ctx, "one", 1);
    write_out(&job, ctx, 1);
    job_checkpoint(&job, ctx, "two", 2);
    job_kill(&job, ctx);
    job_block_flush(&job, OUT, 0);
    job_lose_node(&job, nodes);
    int n = 0;
    char **files = job_find(job.prefix, "step.1/", &n);
    if (job.rank == 0)
        unlink(files[0]);
    job_find_free(files, n);
    run(&job, NULL, "zero", 4);
    run(&job, NULL, "zero", 4);
    CHECK_INT(job_said(&job, "one cannot be loaded"), 1);
    end(&job);
}

/* Nothing leads back to the older of two of one name. */
MPI_CASE(of_two_checkpoints_of_one_name_the_older_is_none)
{
    struct job job;
    job_new(t, &job, 4);
    job.out = tmpfile();
    struct scr_ctx *ctx = start(&job, "SCR_FLUSH=1");
    job_checkpoint(&job, ctx, "same", 1);
    write_out(&job, ctx, 1);
    job_checkpoint(&job, ctx, "same", 2);
    job_kill(&job, ctx);
    job_block_flush(&job, OUT, 0);
    job_lose_node(&job, nodes);
    run(&job, NULL, "same", 2);
    CHECK_INT(job_said(&job, "no older one exists: this run continues from the newest"),
              1);
    end(&job);
}

/* The job has gone to what SCR_CURRENT names before: it does not apply any more. */
MPI_CASE(a_setting_that_does_not_apply_chooses_nothing)
{
    struct job job;
    job_new(t, &job, 4);
    job.out = tmpfile();
    struct scr_ctx *ctx = start(&job, "SCR_FLUSH=1");
    job_checkpoint(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    ctx = start(&job, "SCR_CURRENT=one");
    job_check_restart(&job, ctx, "one", 1);
    job_checkpoint(&job, ctx, "two", 2);
    write_out(&job, ctx, 1);
    job_checkpoint(&job, ctx, "three", 3);
    job_kill(&job, ctx);
    job_block_flush(&job, OUT, 0);
    job_lose_dataset(&job, 3);
    run(&job, "SCR_CURRENT=one", "two", 2);
    CHECK_INT(job_said(&job, "this run goes back to two"), 1);
    end(&job);
}

/* --- together with other features --- */

/* A program that has not asked for checkpoints of a different number is offered
 * nothing, and a run of the right number finds the loss again. */
MPI_CASE(a_run_of_a_different_number_of_ranks_goes_back_too)
{
    for (int asks = 0; asks <= 1; asks++) {
        struct job job, pair;
        begin(t, &job, 1, 1);
        job_lose_node(&job, nodes);
        job_share(t, &pair, &job, 2);
        pair.any_ranks = asks;
        if (pair.in) {
            struct scr_ctx *ctx = start(&pair, NULL);
            CHECK_INT(job_offered(&pair, ctx), asks ? 1 : 0);
            job_kill(&pair, ctx);
        }
        job_unshare(&pair);
        run(&job, NULL, "one", 1);
        end(&job);
    }
}

/* The program asks when SCR_Init is over. */
MPI_CASE(a_program_that_asks_for_any_ranks_goes_back)
{
    struct job job, pair;
    begin(t, &job, 1, 1);
    job_lose_node(&job, nodes);
    job_share(t, &pair, &job, 2);
    pair.any_ranks = 0;
    if (pair.in) {
        struct scr_ctx *ctx = start(&pair, NULL);
        ctx->choice.ranks.asked = 1;
        CHECK_INT(job_offered(&pair, ctx), 1);
        job_kill(&pair, ctx);
    }
    job_unshare(&pair);
    run(&job, NULL, "one", 1);
    CHECK_INT(job_said(&job, told), 1);
    end(&job);
}

/* Output that the job has lost of another prefix directory does not matter here. */
MPI_CASE(each_prefix_directory_has_its_own)
{
    struct job job, other;
    begin(t, &job, 1, 1);
    job_neighbour(t, &other, &job);
    struct scr_ctx *ctx = start(&other, "SCR_FLUSH=1");
    job_checkpoint(&other, ctx, "one", 1);
    write_out(&other, ctx, 0);
    job_checkpoint(&other, ctx, "two", 2);
    job_kill(&other, ctx);
    job_lose_node(&job, nodes);
    run(&other, NULL, "two", 2);
    CHECK_INT(job_said(&job, told), 0);
    run(&job, NULL, "one", 1);
    CHECK_INT(job_said(&job, told), 1);
    run(&other, NULL, "two", 2);
    job_unshare(&other);
    end(&job);
}

/* A program that reads the prefix itself chooses there. */
MPI_CASE(without_a_fetch_the_newest_is_taken)
{
    struct job job;
    begin(t, &job, 1, 1);
    job_lose_dataset(&job, 2);
    run(&job, "SCR_FETCH=0", "two", 2);
    CHECK_INT(job_said(&job, "SCR_CURRENT=one goes back before it"), 1);
    run(&job, NULL, "two", 2);
    CHECK_INT(job_said(&job, told), 1);
    end(&job);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(a_run_goes_back_before_lost_output_once),
                  RUN(a_run_with_the_setting_continues_past_lost_output),
                  RUN(without_an_older_checkpoint_the_newer_one_is_offered),
                  RUN(nothing_that_is_passed_over_is_lost),
                  RUN(without_a_newer_checkpoint_the_run_writes_it_again),
                  RUN(output_that_cannot_be_rebuilt_is_reported),
                  RUN(what_can_be_rebuilt_or_is_on_the_prefix_is_not_lost),
                  RUN(what_was_on_the_prefix_is_not_lost),
                  RUN(what_is_left_in_cache_or_is_another_jobs_is_not_lost),
                  RUN(lost_output_that_is_a_checkpoint_does_not_block_the_way_back),
                  RUN(a_run_that_cannot_go_back_warns),
                  RUN(an_older_one_takes_the_place_of_a_damaged_one),
                  RUN(of_two_checkpoints_of_one_name_the_older_is_none),
                  RUN(a_setting_that_does_not_apply_chooses_nothing),
                  RUN(a_run_of_a_different_number_of_ranks_goes_back_too),
                  RUN(a_program_that_asks_for_any_ranks_goes_back),
                  RUN(each_prefix_directory_has_its_own),
                  RUN(without_a_fetch_the_newest_is_taken),
                  RUN(a_start_that_dies_on_the_way_back_keeps_the_record)));
}
