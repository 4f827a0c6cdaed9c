/* SPDX-License-Identifier: BSD-3-Clause */
/* Flushes the application does not wait for: complete when copied, by the last process;
 * resumed when cut short; held up, failing, cancelled, limited. */
/* ranks: 4 */

#include "base/units.h"
#include "helper_async.h"
#include "helper_fault.h"
#include "helper_job.h"
#include "helper_pfs.h"
#include "helper_prefix.h"
#include "helper_shared.h"
#include "helper_stored.h"
#include "par/pfs/flush_async.h"
#include "store/arrival.h"
#include <fcntl.h>
#include <sys/mman.h>

static int is_current(struct job *job, int id)
{
    int current = 0;
    (void)job_entry(job, id, &current, NULL);
    return current;
}

/* Waits until every rank has begun n copies. */
static void wait_until_opened(const struct job *job, int n)
{
    for (int i = 0; i < MPI_TEST_PATIENCE_MS && pfs_control.opened < n; i++)
        usleep(1000);
    mpi_test_barrier(job->comm);
}

static int sum_opened(const struct job *job)
{
    int mine = pfs_control.opened, all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, job->comm);
    return all;
}

MPI_CASE(complete_output_returns_and_the_dataset_is_indexed_without_a_call)
{
    struct job job;
    async_begin(t, &job);
    pfs_control.hold = 1;
    struct scr_ctx *ctx = job_start(&job, nodes, ASYNC, NULL);
    job_checkpoint(&job, ctx, "one", 1);
    wait_until_opened(&job, 1);
    CHECK_INT(entry(&job, 1), 0);
    CHECK(scr_async_has(ctx, 1));
    pfs_control.hold = 0;
    CHECK(becomes_complete(&job, 1));
    kill_job(&job, ctx);
    job_check_prefix(&job, nodes, "one", 1);
    job_free(&job);
}

MPI_CASE(later_calls_note_the_end_and_output_leaves_the_cache)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    int flag = 0;
    async_begin(t, &job);
    pfs_control.hold = 1;
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_FLUSH_ASYNC=1", NULL);
    CHECK_RC(job_write(&job, ctx, "out", 1, 2, &err), SCR_OK, &err);
    CHECK_RC(scr_need_checkpoint_all(ctx, &flag, &err), SCR_OK, &err);
    CHECK(scr_cache_is_ready(ctx, 1));
    pfs_control.hold = 0;
    CHECK(becomes_complete(&job, 1));
    for (int i = 0; i < MPI_TEST_PATIENCE_MS && scr_async_has(ctx, 1); i++) {
        CHECK_RC(scr_should_exit_all(ctx, &flag, &err), SCR_OK, &err);
        usleep(1000);
    }
    CHECK(!scr_cache_is_ready(ctx, 1));
    job_end(&job, ctx);
    CHECK_INT(entry(&job, 1), 1);
    job_free(&job);
}

MPI_CASE(finalize_waits)
{
    struct job job;
    async_begin(t, &job);
    pfs_control.hold = 1;
    struct scr_ctx *ctx = job_start(&job, nodes, ASYNC, "SCR_FLUSH_TYPE=PTHREAD", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    CHECK_INT(entry(&job, 1), 0);
    pfs_control.slow_us = 100000;
    pfs_control.hold = 0;
    job_end(&job, ctx);
    CHECK_INT(entry(&job, 1), 1);
    pfs_reset();
    job_check_prefix(&job, nodes, "one", 1);
    job_free(&job);
}

MPI_CASE(a_run_that_goes_back_stays_there_when_the_newer_one_lands)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    async_begin(t, &job);
    struct scr_ctx *ctx = job_start(&job, nodes, ASYNC, "SCR_CACHE_SIZE=2", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    CHECK_RC(scr_async_wait_all(ctx, 0, &err), SCR_OK, &err);
    pfs_control.slow_us = 100000;
    pfs_control.hold = 1;
    job_checkpoint(&job, ctx, "two", 2);
    CHECK(scr_async_has(ctx, 2));
    pfs_control.hold = 0;
    CHECK_RC(scr_current_all(ctx, "one", &err), SCR_OK, &err);
    CHECK_INT(entry(&job, 2), 1);
    CHECK_INT(is_current(&job, 1), 1);
    kill_job(&job, ctx);
    job_check_prefix(&job, nodes, "one", 1);
    job_free(&job);
}

MPI_CASE(several_flushes_complete_in_order)
{
    struct job job;
    async_begin(t, &job);
    pfs_control.hold = 1;
    struct scr_ctx *ctx = job_start(&job, nodes, ASYNC, "SCR_CACHE_SIZE=4", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_checkpoint(&job, ctx, "two", 2);
    job_checkpoint(&job, ctx, "three", 3);
    CHECK_INT(ctx->flusher.n, 3);
    pfs_control.slow_us = 20000;
    pfs_control.hold = 0;
    for (int i = 0, done = 0; i < MPI_TEST_PATIENCE_MS && !done; i++) {
        int third = entry(&job, 3), second = entry(&job, 2), first = entry(&job, 1);
        CHECK(third != 1 || second == 1); /* read newest first */
        CHECK(second != 1 || first == 1);
        done = third == 1;
    }
    CHECK_INT(entry(&job, 3), 1);
    job_end(&job, ctx);
    job_free(&job);
}

MPI_CASE(of_two_datasets_of_one_name_the_newer_one_is_complete)
{
    struct job job;
    async_begin(t, &job);
    pfs_control.slow_us = 20000;
    struct scr_ctx *ctx = job_start(&job, nodes, ASYNC, "SCR_CACHE_SIZE=4", NULL);
    job_checkpoint(&job, ctx, "same", 1);
    job_checkpoint(&job, ctx, "same", 1);
    job_end(&job, ctx);
    CHECK_INT(entry(&job, 1), -1);
    CHECK_INT(entry(&job, 2), 1);
    pfs_reset();
    job_check_prefix(&job, nodes, "same", 1);
    job_free(&job);
}

MPI_CASE(a_flush_cut_short_continues_where_it_was)
{
    struct job job;
    async_begin(t, &job);
    pfs_control.hold = 1;
    pfs_control.pass = 1; /* one file of each rank's three lands */
    struct scr_ctx *ctx = job_start(&job, nodes, ASYNC, NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_wait_landed(&job, 1, 4);
    kill_job(&job, ctx);
    CHECK_INT(entry(&job, 1), 0);
    ctx = job_start(&job, nodes, ASYNC, NULL);
    job_check_restart(&job, ctx, "one", 1);
    CHECK(becomes_complete(&job, 1));
    CHECK_INT(sum_opened(&job), 4 * (JOB_FILES - 1)); /* the rest is copied */
    job_kill(&job, ctx);
    job_check_prefix(&job, nodes, "one", 1);
    job_free(&job);
}

MPI_CASE(a_flush_cut_short_is_finished_by_a_run_that_waits)
{
    struct job job;
    async_begin(t, &job);
    pfs_control.hold = 1;
    pfs_control.pass = 1;
    struct scr_ctx *ctx = job_start(&job, nodes, ASYNC, NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_wait_landed(&job, 1, 4);
    kill_job(&job, ctx);
    job_lose_node(&job, "n2"); /* rebuilt elsewhere */
    ctx = job_start(&job, "n1,n5,n3,n4", NULL);
    CHECK_INT(entry(&job, 1), 1);
    CHECK_INT(sum_opened(&job), 4 * (JOB_FILES - 1));
    job_kill(&job, ctx);
    job_check_prefix(&job, nodes, "one", 1);
    job_free(&job);
}

MPI_CASE(a_dataset_copied_whole_is_entered_by_the_next_start)
{
    struct job job;
    async_begin(t, &job);
    pfs_control.hold = 1;
    struct scr_ctx *ctx = job_start(&job, nodes, ASYNC, NULL);
    job_checkpoint(&job, ctx, "one", 1);
    wait_until_opened(&job, 1);
    pfs_control.fail_path = "summary.scr"; /* no process can complete it */
    pfs_control.hold = 0;
    struct scr_err err = SCR_ERR_INIT;
    CHECK(scr_async_wait_all(ctx, 1, &err) != SCR_OK);
    CHECK_INT(entry(&job, 1), 0);
    kill_job(&job, ctx);
    job_lose_node(&job, nodes); /* nothing but the prefix is left */
    ctx = job_start(&job, nodes, NULL);
    CHECK_INT(entry(&job, 1), 1);
    job_check_restart(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    job_free(&job);
}

static void adopt(struct mpi_test *t, const struct job *job)
{
    struct scr_env env = { .sys = &scr_sys_posix };
    struct scr_prefix p = { 0 };
    int n = 0;
    if (job->rank == 0) {
        CHECK_INT(scr_prefix_open(&env, job->prefix, 0, &p, NULL), SCR_OK);
        CHECK_INT(scr_arrivals_adopt(&env, &p, &n, NULL), SCR_OK);
        CHECK_INT(n, 1);
        scr_prefix_fini(&p);
    }
    mpi_test_barrier(job->comm);
}

MPI_CASE(what_another_process_completes_is_not_copied_again)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    async_begin(t, &job);
    job.out = fopen("/dev/null", "w");
    pfs_control.hold = 1;
    struct scr_ctx *ctx = job_start(&job, nodes, ASYNC, "SCR_CACHE_SIZE=2", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    wait_until_opened(&job, 1);
    pfs_control.fail_path = "summary.scr";
    pfs_control.hold = 0;
    CHECK(scr_async_wait_all(ctx, 1, &err) != SCR_OK);
    CHECK_INT(entry(&job, 1), 0);
    pfs_control.fail_path = NULL;
    adopt(t, &job);
    pfs_control.opened = 0;
    job_checkpoint(&job, ctx, "two", 2);
    CHECK_INT(scr_async_wait_all(ctx, 0, NULL), SCR_OK);
    CHECK_INT(sum_opened(&job), 4 * JOB_FILES); /* of the second */
    CHECK_INT(entry(&job, 1), 1);
    CHECK_INT(entry(&job, 2), 1);
    job_end(&job, ctx);
    fclose(job.out);
    job_free(&job);
}

/* Another job, or a command, removes the plan. */
static void give_up(struct mpi_test *t, const struct job *job, int id)
{
    struct scr_env env = { .sys = &scr_sys_posix };
    struct scr_prefix p = { 0 };
    mpi_test_barrier(job->comm);
    if (job->rank == 0) {
        CHECK_INT(scr_prefix_open(&env, job->prefix, 0, &p, NULL), SCR_OK);
        CHECK_INT(scr_arrival_give_up(&env, &p, id, NULL), SCR_OK);
        scr_prefix_fini(&p);
    }
    mpi_test_barrier(job->comm);
}

/* Nothing of it gets its name after that. */
MPI_CASE(threads_release_a_cancelled_flush_and_it_is_tried_again)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    async_begin(t, &job);
    job.out = fopen("/dev/null", "w");
    pfs_control.hold = 1;
    struct scr_ctx *ctx = job_start(&job, nodes, ASYNC, "SCR_CACHE_SIZE=2", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    wait_until_opened(&job, 1);
    give_up(t, &job, 1);
    pfs_control.hold = 0;
    CHECK(scr_async_wait_all(ctx, 1, &err) != SCR_OK);
    CHECK_INT(entry(&job, 1), 0);
    CHECK_INT(job_count(&job, job.prefix, "step.1/"), 0);
    job_checkpoint(&job, ctx, "two", 2);
    job_end(&job, ctx);
    CHECK_INT(entry(&job, 1), 1);
    CHECK_INT(entry(&job, 2), 1);
    fclose(job.out);
    job.out = NULL;
    job_check_prefix(&job, nodes, "two", 2);
    job_free(&job);
}

/* All files exist, but no process may complete it any more: that is no success. */
MPI_CASE(a_flush_cancelled_after_it_arrived_is_tried_again)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    async_begin(t, &job);
    job.out = fopen("/dev/null", "w");
    pfs_control.fail_path = "summary.scr";
    struct scr_ctx *ctx = job_start(&job, nodes, ASYNC, "SCR_CACHE_SIZE=2", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    for (int i = 0; i < MPI_TEST_PATIENCE_MS &&
                    scr_flush_poll_all(ctx->flusher.flush[0]) == SCR_XFER_RUNNING;
         i++)
        usleep(1000);
    give_up(t, &job, 1);
    pfs_control.fail_path = NULL;
    CHECK(scr_async_wait_all(ctx, 1, &err) != SCR_OK);
    CHECK_INT(entry(&job, 1), 0);
    CHECK(scr_cache_is_ready(ctx, 1));
    job_checkpoint(&job, ctx, "two", 2);
    job_end(&job, ctx);
    CHECK_INT(entry(&job, 1), 1);
    CHECK_INT(entry(&job, 2), 1);
    fclose(job.out);
    job.out = NULL;
    job_check_prefix(&job, nodes, "two", 2);
    job_free(&job);
}

MPI_CASE(one_rank_that_fails_is_enough)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    async_begin(t, &job);
    job.out = fopen("/dev/null", "w");
    pfs_control.write_error = job.rank == 2 ? EIO : 0;
    struct scr_ctx *ctx = job_start(&job, nodes, ASYNC, NULL);
    job_checkpoint(&job, ctx, "one", 1);
    CHECK(scr_async_wait_all(ctx, 1, &err) != SCR_OK);
    CHECK_INT(entry(&job, 1), 0);
    pfs_control.write_error = 0;
    pfs_control.opened = 0;
    job_end(&job, ctx); /* tries again and waits */
    CHECK_INT(entry(&job, 1), 1);
    CHECK_INT(sum_opened(&job), JOB_FILES); /* of rank 2 */
    fclose(job.out);
    job_free(&job);
}

/* --- every call fails --- */

/* Call n of a checkpoint and its flush fails, on one rank, or (victim < 0) that and all
 * later ones on all ranks, as if the job had died. Datasets that the index then calls
 * complete are right, and the first checkpoint exists. 0: there is no call n. Threads
 * share the counter, so n is a call at about that place. */
static int fail_call(struct mpi_test *t, int victim, long n)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    char name[SCR_MAX_NAME] = "";
    int have = 0;
    async_begin(t, &job);
    job.out = fopen("/dev/null", "w");
    job.sys = &test_fault_sys;
    struct scr_ctx *ctx = job_start(&job, nodes, ASYNC, NULL);
    job_checkpoint(&job, ctx, "one", 1);
    CHECK_RC(scr_async_wait_all(ctx, 0, &err), SCR_OK, &err);
    job_arm(&job, victim, TEST_ANY, n, EIO, victim < 0 ? TEST_FOREVER : TEST_ONCE);
    CHECK(job_same_code(&job, job_write(&job, ctx, "two", 2, 1, &err)));
    CHECK(job_same_code(&job, scr_async_wait_all(ctx, 0, NULL)));
    int fired = job_disarm(&job);
    job_kill(&job, ctx);
    job.sys = NULL;
    CHECK_INT(entry(&job, 1), 1);
    int complete = entry(&job, 2) == 1;
    CHECK(fired || complete);
    job_lose_node(&job, nodes);
    ctx = job_start(&job, nodes, NULL);
    CHECK_RC(scr_have_restart_all(ctx, &have, name, &err), SCR_OK, &err);
    CHECK(strcmp(name, "two") == 0 || (!complete && strcmp(name, "one") == 0));
    job_check_restart(&job, ctx, name, strcmp(name, "two") == 0 ? 2 : 1);
    job_kill(&job, ctx);
    fclose(job.out);
    job_free(&job);
    return fired;
}

#ifdef MPICH_VERSION
enum { STRIDE = 211 };
#else
enum { STRIDE = 23 };
#endif

static void fail_every_call(struct mpi_test *t, int victim, long first)
{
    long n = first;
    while (n < 2000 && mpi_test_good(t) && fail_call(t, victim, n))
        n += STRIDE;
    CHECK(n > 20 && n < 2000);
}

MPI_CASE(calls_fail_once_on_rank_0)
{
    fail_every_call(t, 0, 0);
}

MPI_CASE(calls_fail_once_on_another_rank)
{
    fail_every_call(t, 2, 3);
}

MPI_CASE(the_job_dies_at_calls)
{
    fail_every_call(t, -1, 5);
}

MPI_CASE(eviction_waits_for_the_flush)
{
    struct job job;
    async_begin(t, &job);
    pfs_control.slow_us = 100000;
    struct scr_ctx *ctx = job_start(&job, nodes, ASYNC, "SCR_CACHE_SIZE=1", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_checkpoint(&job, ctx, "two", 2);
    CHECK_INT(entry(&job, 1), 1);
    CHECK(!scr_cache_is_ready(ctx, 1));
    job_end(&job, ctx);
    CHECK_INT(entry(&job, 2), 1);
    job_free(&job);
}

MPI_CASE(deletion_cancels_the_flush)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    async_begin(t, &job);
    pfs_control.slow_us = 50000;
    struct scr_ctx *ctx = job_start(&job, nodes, ASYNC, NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_checkpoint(&job, ctx, "two", 2);
    CHECK_RC(scr_delete_all(ctx, "two", &err), SCR_OK,
             &err); /* waits behind the first */
    CHECK(!scr_async_has(ctx, 2));
    CHECK_INT(entry(&job, 2), -1);
    CHECK_RC(scr_delete_all(ctx, "one", &err), SCR_OK, &err);
    CHECK_INT(entry(&job, 1), -1);
    job_checkpoint(&job, ctx, "three", 3);
    job_end(&job, ctx);
    int n = 0;
    char **left = job_find(job.prefix, "/step.1/", &n);
    CHECK_INT(n, 0);
    job_find_free(left, n);
    left = job_find(job.prefix, ".scr-part", &n);
    CHECK_INT(n, 0);
    job_find_free(left, n);
    CHECK_INT(entry(&job, 3), 1);
    job_free(&job);
}

static long big(int rank, int file, int seed)
{
    (void)rank, (void)seed;
    return file == 0 ? 500000 : -1;
}

/* Seconds until a checkpoint is on the prefix. */
static double seconds_of_flush(struct mpi_test *t, const char *setting, int slow_us)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    async_begin(t, &job);
    job.size_of = big;
    pfs_control.slow_us = slow_us;
    struct scr_ctx *ctx =
        job_start(&job, nodes, ASYNC, "SCR_FILE_BUF_SIZE=20000", setting, NULL);
    double start = scr_now_mono();
    job_checkpoint(&job, ctx, "one", 1);
    CHECK_RC(scr_async_wait_all(ctx, 1, &err), SCR_OK, &err);
    double secs = scr_now_mono() - start;
    job_end(&job, ctx);
    job_free(&job);
    return secs;
}

/* How much longer it takes, other work on the machine may decide. */
MPI_CASE(bandwidth_is_limited)
{
    double secs =
        seconds_of_flush(t, "SCR_FLUSH_ASYNC_BW=1000000", 0); /* of 2 million */
    if (secs < 1.7) /* a fifth of a second may be made up for */
        mpi_test_fail(t, __FILE__, __LINE__, "2 s expected, %.2f s taken", secs);
}

MPI_CASE(the_share_of_time_is_limited)
{
    double secs = seconds_of_flush(t, "SCR_FLUSH_ASYNC_PERCENT=20", 10000);
    if (secs < 1.12) /* of 25 writes of 10 ms */
        mpi_test_fail(t, __FILE__, __LINE__, "1.25 s expected, %.2f s taken", secs);
}

/* Counters that all processes share. */
static atomic_int *shared_counters(const struct job *job)
{
    char path[800];
    snprintf(path, sizeof path, "%s/together", job->dir);
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, 4096) != 0)
        MPI_Abort(MPI_COMM_WORLD, 2);
    void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return at;
}

MPI_CASE(no_more_processes_than_allowed_copy_at_once)
{
    struct job job;
    async_begin(t, &job);
    pfs_control.together = shared_counters(&job);
    pfs_control.meet = 2;
    pfs_control.slow_us = 20000;
    struct scr_ctx *ctx = job_start(&job, nodes, ASYNC, "SCR_FLUSH_WIDTH=2", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_checkpoint(&job, ctx, "two", 2);
    job_end(&job, ctx);
    CHECK_INT(entry(&job, 2), 1);
    CHECK_INT(pfs_control.together[1], 2);
    munmap(pfs_control.together, 4096);
    pfs_reset();
    job_free(&job);
}

MPI_CASE(threads_flush_also_while_the_application_waits)
{
    struct job job;
    async_begin(t, &job);
    struct scr_ctx *ctx =
        job_start(&job, nodes, "SCR_FLUSH=1", "SCR_FLUSH_TYPE=PTHREAD", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    CHECK_INT(entry(&job, 1), 1);
    job_kill(&job, ctx);
    job_check_prefix(&job, nodes, "one", 1);
    job_free(&job);
}

MPI_CASE(a_program_that_asks_for_sync_waits)
{
    struct job job;
    async_begin(t, &job);
    struct scr_ctx *ctx = job_start(&job, nodes, ASYNC, "SCR_FLUSH_TYPE=SYNC", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    CHECK_INT(entry(&job, 1), 1);
    job_kill(&job, ctx);
    job_free(&job);
}

int main(int argc, char **argv)
{
    pfs_reset();
    return mpi_test_main(
        argc, argv,
        MPI_CASES(
            RUN(complete_output_returns_and_the_dataset_is_indexed_without_a_call),
            RUN(later_calls_note_the_end_and_output_leaves_the_cache),
            RUN(finalize_waits),
            RUN(a_run_that_goes_back_stays_there_when_the_newer_one_lands),
            RUN(several_flushes_complete_in_order),
            RUN(of_two_datasets_of_one_name_the_newer_one_is_complete),
            RUN(a_flush_cut_short_continues_where_it_was),
            RUN(a_flush_cut_short_is_finished_by_a_run_that_waits),
            RUN(a_dataset_copied_whole_is_entered_by_the_next_start),
            RUN(what_another_process_completes_is_not_copied_again),
            RUN(threads_release_a_cancelled_flush_and_it_is_tried_again),
            RUN(a_flush_cancelled_after_it_arrived_is_tried_again),
            RUN(one_rank_that_fails_is_enough), RUN(calls_fail_once_on_rank_0),
            RUN(calls_fail_once_on_another_rank), RUN(the_job_dies_at_calls),
            RUN(eviction_waits_for_the_flush), RUN(deletion_cancels_the_flush),
            RUN(bandwidth_is_limited), RUN(the_share_of_time_is_limited),
            RUN(no_more_processes_than_allowed_copy_at_once),
            RUN(threads_flush_also_while_the_application_waits),
            RUN(a_program_that_asks_for_sync_waits)));
}
