/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets whose files go to the same paths, and one of them is pending from an earlier
 * run: it never becomes complete over a newer one. */
/* ranks: 4 */
#include "helper_fault.h"
#include "helper_paths.h"
#include "helper_pfs.h"
#include "helper_prefix.h"
#include "store/arrival.h"
#include "store/wanted.h"

/* --- flushes under way --- */

/* Rank 0's file of the first is rank 3's of the second. */
JOB_CASE(a_flush_waits_for_the_same_path_of_another_rank, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    pfs_reset();
    job->sys = &pfs_sys;
    pfs_control.slow_us = job->rank == 0 ? 300000 : 0;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", "SCR_FLUSH_ASYNC=1",
                                    "SCR_CACHE_SIZE=3", NULL);
    paths_write_ok(job, ctx, "x", CKPT, "A", "the first");
    CHECK_RC(write_at(job, ctx, "y", CKPT, "A", 1, "second", &err), SCR_OK, &err);
    CHECK(!scr_async_has(ctx, 1));
    CHECK_RC(scr_async_wait_all(ctx, 2, &err), SCR_OK, &err);
    CHECK(all_are(job, "A", "second"));
    CHECK_GONE(job, 1);
    CHECK_ENTRY(job, 2, COMPLETE, CURRENT);
    pfs_control.hold = job->rank == 0;
    paths_write_ok(job, ctx, "z", CKPT, "B", "third");
    paths_write_ok(job, ctx, "w", CKPT, "C", "fourth"); /* others do not wait */
    CHECK(job->rank != 0 || scr_async_has(ctx, 3));
    pfs_control.hold = 0;
    CHECK_RC(scr_async_wait_all(ctx, 0, &err), SCR_OK, &err);
    job_kill(job, ctx);
}

static uint64_t leave_pending(struct job *job, int written)
{
    return leave_pending_as(job, written, 1, "x", "first");
}

static void arrive_late(struct job *job, uint64_t stamp)
{
    arrive_late_as(job, 1, stamp);
}

static void write_over_pending(struct mpi_test *t, int written, const char *how)
{
    struct job job;
    job_new(t, &job, 4);
    job.out = fopen("/dev/null", "w");
    uint64_t stamp = leave_pending(&job, written);
    keep_pending(written);
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_FLUSH=1", how, NULL);
    pfs_reset();
    paths_write_ok(&job, ctx, "y", CKPT, "B", "second");
    (void)scr_async_wait_all(ctx, 0, NULL);
    CHECK(written || job_has(&job, plan_of_1)); /* else it may be complete now */
    paths_write_ok(&job, ctx, "z", CKPT, "A", "third");
    (void)scr_async_wait_all(ctx, 0, NULL);
    CHECK(!job_has(&job, plan_of_1));
    arrive_late(&job, stamp);
    CHECK_GONE(&job, 1);
    CHECK_ENTRY(&job, 2, COMPLETE, NOT_CURRENT);
    CHECK_ENTRY(&job, 3, COMPLETE, CURRENT);
    CHECK(all_are(&job, "A", "third") && all_are(&job, "B", "second"));
    job_kill(&job, ctx);
    fclose(job.out);
    job_free(&job);
}

/* Neither when none of its files are there yet, nor when it lacks but the summary. */
MPI_CASE(a_pending_one_never_becomes_complete_over_a_newer_one)
{
    for (int written = 0; written < 2; written++) {
        write_over_pending(t, written, "SCR_FLUSH_ASYNC=0");
        write_over_pending(t, written, "SCR_FLUSH_ASYNC=1");
        write_over_pending(t, written, "SCR_CACHE_BYPASS=1");
    }
}

/* Its files are not known. */
static void damage_list(struct mpi_test *t, const struct job *job, int gone)
{
    char path[900];
    snprintf(path, sizeof path, "%s/.scr/scr.dataset.1/rank2file%s", job->prefix,
             gone ? "" : ".0.0");
    mpi_test_barrier(job->comm);
    if (job->rank == 0)
        CHECK_INT(gone ? unlink(path) : truncate(path, 40), 0);
    mpi_test_barrier(job->comm);
}

static void write_beside_damaged(struct mpi_test *t, int gone, const char *how)
{
    struct job job;
    job_new(t, &job, 4);
    job.out = fopen("/dev/null", "w");
    uint64_t stamp = leave_pending(&job, 0);
    damage_list(t, &job, gone);
    pfs_reset();
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_FLUSH=1", how, NULL);
    paths_write_ok(&job, ctx, "z", CKPT, "A", "second");
    (void)scr_async_wait_all(ctx, 0, NULL);
    CHECK(!job_has(&job, plan_of_1));
    arrive_late(&job, stamp);
    CHECK_ENTRY(&job, 1, INCOMPLETE, NOT_CURRENT);
    CHECK_ENTRY(&job, 2, COMPLETE, CURRENT);
    CHECK(all_are(&job, "A", "second"));
    job_kill(&job, ctx);
    fclose(job.out);
    job_free(&job);
}

MPI_CASE(a_pending_one_whose_list_is_damaged_never_becomes_complete)
{
    for (int gone = 0; gone < 2; gone++) {
        write_beside_damaged(t, gone, "SCR_FLUSH_ASYNC=0");
        write_beside_damaged(t, gone, "SCR_FLUSH_ASYNC=1");
        write_beside_damaged(t, gone, "SCR_CACHE_BYPASS=1");
    }
}

/* By name, or as it is newer than the one a run goes back to. */
static void drop_pending(struct mpi_test *t, int by_name)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    job_new(t, &job, 4);
    job.out = fopen("/dev/null", "w");
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_FLUSH=1", NULL);
    paths_write_ok(&job, ctx, "x", CKPT, "B", "first");
    job_kill(&job, ctx);
    uint64_t stamp = leave_pending_as(&job, 0, 2, "y", "second");
    pfs_reset();
    ctx = job_start(&job, nodes, "SCR_DROP_AFTER_CURRENT=1", NULL);
    CHECK_ENTRY(&job, 2, INCOMPLETE, NOT_CURRENT);
    if (by_name)
        CHECK_RC(scr_drop_all(ctx, "y", &err), SCR_OK, &err);
    else
        CHECK_RC(scr_current_all(ctx, "x", &err), SCR_OK, &err);
    put_file(&job, "A", "second");
    arrive_late_as(&job, 2, stamp);
    CHECK_ENTRY(&job, 1, COMPLETE, CURRENT);
    CHECK_ENTRY(&job, 2, ABSENT, NOT_CURRENT);
    CHECK(!job_has(&job, ".scr/scr.dataset.2/summary.scr"));
    job_kill(&job, ctx);
    fclose(job.out);
    job_free(&job);
}

MPI_CASE(one_that_was_dropped_never_becomes_complete)
{
    drop_pending(t, 0);
    drop_pending(t, 1);
}

JOB_CASE(a_pending_one_whose_paths_are_its_own_becomes_complete, 4)
{
    job->out = fopen("/dev/null", "w");
    uint64_t stamp = leave_pending(job, 0);
    pfs_reset();
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    paths_write_ok(job, ctx, "y", CKPT, "B", "second");
    arrive_late(job, stamp);
    CHECK_ENTRY(job, 1, COMPLETE, NOT_CURRENT);
    CHECK_ENTRY(job, 2, COMPLETE, CURRENT);
    job_kill(job, ctx);
    fclose(job->out);
}

/* A deletion of what is pending, with all files there, dies as it removes a file. 1: it
 * had not come so far. */
static int die_in_deletion(struct mpi_test *t, long n)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    job_new(t, &job, 4);
    job.out = fopen("/dev/null", "w");
    uint64_t stamp = leave_pending(&job, 0);
    put_file(&job, "A", "first");
    job.sys = &test_fault_sys;
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_FLUSH=1", "SCR_FETCH=0", NULL);
    job_arm(&job, -1, TEST_UNLINKAT, n, EIO, TEST_FOREVER);
    int rc = scr_delete_all(ctx, "x", &err);
    int fired = job_disarm(&job);
    job_kill(&job, ctx);
    CHECK(fired ? rc != SCR_OK : rc == SCR_OK);
    if (rc != SCR_OK)
        arrive_late(&job, stamp);
    CHECK(job_entry(&job, 1, NULL, NULL) != 1 || all_are(&job, "A", "first"));
    fclose(job.out);
    job_free(&job);
    return fired;
}

MPI_CASE(a_pending_one_whose_deletion_died_does_not_become_complete)
{
    long n = 0;
    while (die_in_deletion(t, n))
        n++;
    CHECK(n > 2); /* the plan goes first, then files */
}

/* Of dataset 2 nothing is in place yet, but dataset 1, whose files it is to replace,
 * has lost its mark; a process far from this job is about to rename the first. */
JOB_CASE(a_pending_one_replaces_nothing_of_what_a_start_makes_complete, 4)
{
    struct scr_env env = { .sys = &scr_sys_posix };
    struct scr_prefix p = { 0 };
    struct scr_err err = SCR_ERR_INIT;
    struct scr_wanted far;
    job->out = fopen("/dev/null", "w");
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    paths_write_ok(job, ctx, "x", CKPT, "A", "first");
    job_kill(job, ctx);
    uint64_t stamp = leave_pending_as(job, 0, 2, "y", "second");
    pfs_reset();
    scr_wanted_init(&far);
    CHECK_RC(scr_prefix_open(&env, job->prefix, 0, &p, &err), SCR_OK, &err);
    CHECK_RC(scr_wanted_check(&far, &env, &p, 2, stamp, &err), SCR_OK, &err);
    CHECK_ENTRY(job, 1, INCOMPLETE, NOT_CURRENT);
    ctx = job_start(job, nodes, NULL);
    CHECK_INT(job_offered(job, ctx), 1);
    CHECK_ENTRY(job, 1, COMPLETE, CURRENT);
    CHECK_RC(scr_wanted_check(&far, &env, &p, 2, stamp, &err), SCR_E_MISSING, &err);
    CHECK(!job_has(job, ".scr/scr.dataset.2/outgoing.scr"));
    scr_wanted_fini(&far);
    scr_prefix_fini(&p);
    job_kill(job, ctx);
    fclose(job->out);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(a_flush_waits_for_the_same_path_of_another_rank),
                  RUN(a_pending_one_never_becomes_complete_over_a_newer_one),
                  RUN(a_pending_one_whose_list_is_damaged_never_becomes_complete),
                  RUN(one_that_was_dropped_never_becomes_complete),
                  RUN(a_pending_one_whose_paths_are_its_own_becomes_complete),
                  RUN(a_pending_one_whose_deletion_died_does_not_become_complete),
                  RUN(a_pending_one_replaces_nothing_of_what_a_start_makes_complete)));
}
