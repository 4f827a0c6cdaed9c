/* SPDX-License-Identifier: BSD-3-Clause */
/* Flushes that compress and are cut short, or whose calls fail. */
/* ranks: 4 */
#include "helper_compress.h"
#include "helper_fault.h"
#include "helper_job.h"
#include "helper_pfs.h"
#include "helper_prefix.h"
#include "helper_shared.h"
#include "store/arrival.h"
#include "store/catalog.h"
#include "xfer/zst.h"
#include <errno.h>

/* The walk over all calls reads and writes what is there again and again. */
static long one_large_one(int rank, int file, int seed)
{
    return file == 0 ? 9000 + rank + seed : -1;
}

/* --- deletion --- */

MPI_CASE(what_is_deleted_goes_with_its_compressed_files)
{
    struct job job;
    begin(t, &job);
    struct scr_ctx *ctx =
        job_start(&job, nodes, FLUSH, ZSTD, "SCR_PREFIX_SIZE=1", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_checkpoint(&job, ctx, "two", 2);
    job_kill(&job, ctx);
    CHECK_INT(count(&job, "step.1/"), 0);
    CHECK_INT(count(&job, "step.2/"), 16);
    job_check_prefix(&job, nodes, "two", 2);
    job_free(&job);
}

/* --- cut short --- */

static void kill_job(struct job *job, struct scr_ctx *ctx)
{
    mpi_test_barrier(job->comm);
    pfs_die();
    scr_ctx_free(ctx);
    pfs_reset();
    mpi_test_barrier(job->comm);
}

/* How the run that finds it cut short continues. */
static void resume(struct mpi_test *t, const char *how)
{
    struct job job;
    int opened = 0;
    begin(t, &job);
    pfs_reset();
    job.sys = &pfs_sys;
    pfs_control.hold = 1;
    pfs_control.pass = 1; /* the first file of each rank lands, compressed */
    struct scr_ctx *ctx = job_start(&job, nodes, FLUSH, ASYNC, ZSTD, NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_wait_landed(&job, 1, 4);
    kill_job(&job, ctx);
    CHECK_INT(job_entry(&job, 1, NULL, NULL), 0);
    job.out = fopen("/dev/null", "w");
    ctx = job_start(&job, nodes, FLUSH, ZSTD, how, NULL);
    struct scr_err err = SCR_ERR_INIT;
    CHECK_RC(scr_async_wait_all(ctx, 0, &err), SCR_OK, &err);
    int mine = pfs_control.opened;
    MPI_Allreduce(&mine, &opened, 1, MPI_INT, MPI_SUM, job.comm);
    CHECK_INT(opened, 4 * 3);
    CHECK_INT(job_entry(&job, 1, NULL, NULL), 1);
    job_kill(&job, ctx);
    check_list(&job, 1, 16, 8);
    job_check_prefix(&job, nodes, "one", 1);
    fclose(job.out);
    job_free(&job);
}

MPI_CASE(a_flush_cut_short_continues_with_files_that_had_not_landed)
{
    resume(t, ASYNC);
    resume(t, "SCR_FLUSH_ASYNC=0");
}

MPI_CASE(a_dataset_copied_whole_is_entered_with_its_compressed_files)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    begin(t, &job);
    pfs_reset();
    job.sys = &pfs_sys;
    job.out = fopen("/dev/null", "w");
    struct scr_ctx *ctx = job_start(&job, nodes, FLUSH, ASYNC, ZSTD, NULL);
    pfs_control.fail_path = "summary.scr"; /* no process can complete it */
    job_checkpoint(&job, ctx, "one", 1);
    CHECK(scr_async_wait_all(ctx, 1, &err) != SCR_OK);
    CHECK_INT(job_entry(&job, 1, NULL, NULL), 0);
    kill_job(&job, ctx);
    job_lose_node(&job, nodes);
    ctx = job_start(&job, nodes, NULL);
    CHECK_INT(job_entry(&job, 1, NULL, NULL), 1);
    job_check_restart(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    check_list(&job, 1, 16, 8);
    fclose(job.out);
    job_free(&job);
}

/* The list of such a dataset does not say yet which files are compressed. */
MPI_CASE(what_a_flush_cut_short_had_compressed_is_deleted_too)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    begin(t, &job);
    pfs_reset();
    job.sys = &pfs_sys;
    pfs_control.hold = 1;
    pfs_control.pass = 1;
    struct scr_ctx *ctx = job_start(&job, nodes, FLUSH, ASYNC, ZSTD, NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_wait_landed(&job, 1, 4);
    kill_job(&job, ctx);
    CHECK(count(&job, ".zst") > 0);
    job_lose_node(&job, nodes);
    job.out = fopen("/dev/null", "w");
    ctx = job_start(&job, nodes, NULL);
    CHECK_INT(job_entry(&job, 1, NULL, NULL), 0);
    CHECK_RC(scr_delete_all(ctx, "one", &err), SCR_OK, &err);
    CHECK_INT(job_entry(&job, 1, NULL, NULL), -1);
    CHECK_INT(count(&job, ".zst"), 0);
    job_kill(&job, ctx);
    fclose(job.out);
    job_free(&job);
}

/* Some files have landed, others are being written. */
MPI_CASE(what_is_deleted_while_it_is_flushed_leaves_nothing)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    begin(t, &job);
    pfs_reset();
    job.sys = &pfs_sys;
    pfs_control.hold = 1;
    pfs_control.pass = 1;
    struct scr_ctx *ctx = job_start(&job, nodes, FLUSH, ASYNC, ZSTD, NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_wait_landed(&job, 1, 4);
    CHECK(count(&job, ".zst") > 0);
    pfs_control.slow_us = 300000;
    pfs_control.hold = 0;
    CHECK_RC(scr_delete_all(ctx, "one", &err), SCR_OK, &err);
    pfs_control.slow_us = 0;
    CHECK_INT(job_entry(&job, 1, NULL, NULL), -1);
    CHECK_INT(count(&job, "step.1"), 0);
    CHECK_INT(count(&job, "scr.dataset.1"), 0);
    CHECK(!job_has(&job, "step.1"));
    job_kill(&job, ctx);
    job_free(&job);
}

/* --- two of them under way --- */

static void write_one(struct mpi_test *t, struct job *job, struct scr_ctx *ctx,
                      const char *name, const char *suffix)
{
    struct scr_err err = SCR_ERR_INIT;
    char file[900], path[SCR_MAX_NAME];
    CHECK_RC(scr_start_output_all(ctx, name, 1, &err), SCR_OK, &err);
    snprintf(file, sizeof file, "%s/a.%d%s", job->prefix, job->rank, suffix);
    CHECK_RC(scr_route(ctx, file, path, &err), SCR_OK, &err);
    FILE *f = fopen(path, "wb");
    for (int i = 0; i < 20000 && f != NULL; i++)
        putc('a', f);
    fclose(f);
    CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_OK, &err);
}

MPI_CASE(one_that_may_be_compressed_meets_the_one_called_so)
{
    struct job job;
    begin(t, &job);
    pfs_reset();
    job.sys = &pfs_sys;
    pfs_control.hold = 1;
    struct scr_ctx *ctx =
        job_start(&job, nodes, FLUSH, ASYNC, ZSTD, "SCR_CACHE_SIZE=4", NULL);
    write_one(t, &job, ctx, "first", "");
    CHECK(scr_async_has(ctx, 1));
    ctx->prm.flush = 0; /* these are only looked at */
    write_one(t, &job, ctx, "second", ".zst");
    write_one(t, &job, ctx, "third", ".dat");
    CHECK_INT(scr_meeting_last_all(ctx, 2), 0);
    CHECK_INT(scr_meeting_last_all(ctx, 3), -1);
    pfs_control.hold = 0;
    job_kill(&job, ctx);
    pfs_reset();
    job_free(&job);
}

/* --- every call fails --- */

/* The system calls are the same with every MPI: one walks over all of them, where
 * waiting ranks spin on the cores every eleventh will do. */
#ifdef MPICH_VERSION
enum { STRIDE = 11 };
#else
enum { STRIDE = 1 };
#endif

struct plan {
    int victim; /* rank whose call fails; -1: all ranks, from then on */
    int error;
    int fetch; /* 1: in the start that reads "two", else in the flush of it */
};

static int any(const struct job *job, int mine)
{
    int all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, job->comm);
    return all;
}

static int same_code(const struct job *job, int rc)
{
    int low = 0, high = 0;
    MPI_Allreduce(&rc, &low, 1, MPI_INT, MPI_MIN, job->comm);
    MPI_Allreduce(&rc, &high, 1, MPI_INT, MPI_MAX, job->comm);
    return low == high;
}

static void arm(const struct plan *p, const struct job *job, long n)
{
    if (p->victim < 0 || p->victim == job->rank)
        test_fault_arm(TEST_ANY, n, p->error, p->victim < 0 ? TEST_FOREVER : TEST_ONCE);
}

static int fail_flush(struct job *job, const struct plan *p, long n)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, FLUSH, ZSTD, NULL);
    job_checkpoint(job, ctx, "one", 1);
    CHECK_RC(scr_async_wait_all(ctx, 0, &err), SCR_OK, &err);
    ctx->prm.flush = 0; /* only the flush shall fail */
    job_checkpoint(job, ctx, "two", 2);
    arm(p, job, n);
    int rc = scr_flush_dataset_all(ctx, 2, &err);
    int fired = any(job, test_fault_off());
    CHECK(same_code(job, rc));
    CHECK(fired || rc == SCR_OK);
    job_kill(job, ctx);
    return fired;
}

static int fail_fetch(struct job *job, const struct plan *p, long n)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, FLUSH, ZSTD, NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_checkpoint(job, ctx, "two", 2);
    job_kill(job, ctx);
    job_lose_node(job, nodes);
    const char *none[] = { NULL };
    arm(p, job, n);
    int rc = job_try_start(job, &ctx, &err, nodes, none);
    int fired = any(job, test_fault_off());
    CHECK(same_code(job, rc));
    CHECK(fired || rc == SCR_OK);
    job_kill(job, ctx);
    return fired;
}

/* Afterwards, with all calls working, there is the new one or the old one. */
static void check_one_or_two(struct job *job)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    char name[SCR_MAX_NAME] = "";
    int have = 0;
    job_lose_node(job, nodes);
    struct scr_ctx *ctx = job_start(job, nodes, NULL);
    CHECK_RC(scr_have_restart_all(ctx, &have, name, &err), SCR_OK, &err);
    CHECK_INT(have, 1);
    if (have)
        job_check_restart(job, ctx, name, strcmp(name, "two") == 0 ? 2 : 1);
    job_kill(job, ctx);
}

static int fail_one(struct mpi_test *t, const struct plan *p, long n)
{
    struct job job;
    begin(t, &job);
    job.size_of = one_large_one;
    job.sys = &test_fault_sys;
    job.out = fopen("/dev/null", "w");
    int fired = p->fetch ? fail_fetch(&job, p, n) : fail_flush(&job, p, n);
    job.sys = NULL;
    check_one_or_two(&job);
    fclose(job.out);
    job_free(&job);
    return fired;
}

static void fail_every_call(struct mpi_test *t, const struct plan *p, int stride)
{
    long n = 0;
    while (n < 2000 && mpi_test_good(t) && fail_one(t, p, n))
        n += stride;
    CHECK(n > 5 && n < 2000);
    if (t->comm.rank == 0)
        printf("       %ld calls failed in turn, of %ld\n", n / stride, n);
}

MPI_CASE(each_call_of_a_compressing_flush_fails)
{
    fail_every_call(t, &(struct plan){ 1, ENOSPC, 0 }, STRIDE);
    fail_every_call(t, &(struct plan){ -1, EIO, 0 }, 3 * STRIDE);
}

MPI_CASE(each_call_of_a_fetch_that_unpacks_fails)
{
    fail_every_call(t, &(struct plan){ 1, EIO, 1 }, 13 * STRIDE);
}

MPI_CASE(no_descriptor_is_left_open)
{
    CHECK_INT(test_fault_open_fds(), 0);
}

int main(int argc, char **argv)
{
    if (!scr_zst_have()) {
        puts("skipped: built without libzstd");
        return 0;
    }
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(what_is_deleted_goes_with_its_compressed_files),
                  RUN(a_flush_cut_short_continues_with_files_that_had_not_landed),
                  RUN(a_dataset_copied_whole_is_entered_with_its_compressed_files),
                  RUN(what_a_flush_cut_short_had_compressed_is_deleted_too),
                  RUN(what_is_deleted_while_it_is_flushed_leaves_nothing),
                  RUN(one_that_may_be_compressed_meets_the_one_called_so),
                  RUN(each_call_of_a_compressing_flush_fails),
                  RUN(each_call_of_a_fetch_that_unpacks_fails),
                  RUN(no_descriptor_is_left_open)));
}
