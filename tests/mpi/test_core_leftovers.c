/* SPDX-License-Identifier: BSD-3-Clause */
/* What killed and failed flushes leave on the prefix, and when it goes. */
/* ranks: 4 */
#include <errno.h>

#include "base/path.h"
#include "helper_fault.h"
#include "helper_prefix.h"
#include "store/flushing.h"
#include "xfer/copy.h"

static const char *const nodes = "n[1-4]";
static const struct scr_env posix_env = { .sys = &scr_sys_posix };

static int parts(struct job *job)
{
    return job_count(job, job->prefix, "/" SCR_COPY_TMP);
}

static int marks(struct job *job)
{
    return job_count(job, job->prefix, "flushing.lock");
}

/* --- temporary files --- */

/* The job dies at call n of a flush, and is started again with what is in cache, or as
 * another job. 1 if temporary files were left. */
static int die_in_flush(struct mpi_test *t, const char *how, long n, int *fired)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    job_new(t, &job, 4);
    job.sys = &test_fault_sys;
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_FLUSH=1", how, NULL);
    job_checkpoint(&job, ctx, "one", 1);
    (void)scr_async_wait_all(ctx, 0, NULL);
    job_arm(&job, -1, TEST_ANY, n, EIO, TEST_FOREVER);
    (void)job_write(&job, ctx, "two", 2, 1, &err);
    (void)scr_async_wait_all(ctx, 0, NULL);
    scr_ctx_free(ctx);
    *fired = job_disarm(&job);
    job.sys = NULL;
    int left = parts(&job) > 0;
    if (n % 2)
        job_lose_node(&job, nodes);
    ctx = job_start(&job, n % 2 ? "m[1-4]" : nodes,
                    n % 2 ? "SCR_JOB_ID=next" : "SCR_FLUSH=0", NULL);
    CHECK_INT(parts(&job), 0);
    CHECK_INT(marks(&job), 0);
    CHECK(job_offered(&job, ctx) >= 1);
    job_kill(&job, ctx);
    job_free(&job);
    return left;
}

static void die_in_some(struct mpi_test *t, const char *how, long step)
{
    int left = 0, fired = 1;
    for (long n = 61; fired && mpi_test_good(t); n += step)
        left += die_in_flush(t, how, n, &fired);
    CHECK(left > 1);
}

#ifdef MPICH_VERSION
enum { STEP = 57 };
#else
enum { STEP = 19 };
#endif

MPI_CASE(the_next_start_removes_the_temporary_files_of_a_killed_flush)
{
    die_in_some(t, "SCR_FLUSH_ASYNC=0", STEP);
}

MPI_CASE(likewise_of_one_that_did_not_wait)
{
    die_in_some(t, "SCR_FLUSH_ASYNC=1", STEP);
}

/* As a process of the job killed leaves them; of paths of the dataset and of others. */
static void make_part(struct job *job, const char *path, int tag)
{
    char *full = scr_path_join(job->prefix, path);
    char *part = scr_copy_tmp(full, tag);
    if (job->rank == 0)
        fclose(fopen(part, "w"));
    mpi_test_barrier(job->comm);
    free(part);
    free(full);
}

MPI_CASE(temporary_files_of_a_flush_under_way_and_of_other_paths_stay)
{
    struct job job;
    struct scr_prefix p = { 0 };
    struct scr_flushing mark = { 0 };
    job_new(t, &job, 4);
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_FLUSH=1", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    int n = 0;
    char **found = job_find(job.prefix, "step.1/", &n);
    CHECK(n > 0);
    if (n > 0)
        make_part(&job, found[0] + strlen(job.prefix) + 1, 7);
    job_find_free(found, n);
    make_part(&job, "step.1/no_file_of_it", 7);
    CHECK_INT(scr_prefix_open(&posix_env, job.prefix, 0, &p, NULL), SCR_OK);
    if (job.rank == 0)
        CHECK_INT(scr_flushing_begin(&posix_env, &p, 1, &mark, NULL), SCR_OK);
    ctx = job_start(&job, nodes, NULL);
    CHECK_INT(parts(&job), 2);
    CHECK_INT(marks(&job), 1);
    job_kill(&job, ctx);
    scr_flushing_leave(&posix_env, &mark);
    ctx = job_start(&job, nodes, NULL);
    CHECK_INT(parts(&job), 1);
    CHECK_INT(marks(&job), 0);
    job_kill(&job, ctx);
    scr_prefix_fini(&p);
    job_free(&job);
}

MPI_CASE(a_flush_that_fails_or_ends_leaves_neither_mark_nor_temporary_file)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    job_new(t, &job, 4);
    job.sys = &test_fault_sys;
    job.out = tmpfile();
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_FLUSH=0", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_arm(&job, 2, TEST_FSYNC, 1, ENOSPC, TEST_FOREVER);
    int rc = scr_flush_dataset_all(ctx, 1, &err);
    CHECK(job_disarm(&job));
    CHECK_RC(rc, SCR_E_FULL, &err);
    CHECK_INT(parts(&job), 0);
    CHECK_INT(marks(&job), 0);
    CHECK_RC(scr_flush_dataset_all(ctx, 1, &err), SCR_OK, &err);
    CHECK_INT(marks(&job), 0);
    CHECK_ENTRY(1, 1, 1);
    job_kill(&job, ctx);
    fclose(job.out);
    job_free(&job);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(
            RUN(the_next_start_removes_the_temporary_files_of_a_killed_flush),
            RUN(likewise_of_one_that_did_not_wait),
            RUN(temporary_files_of_a_flush_under_way_and_of_other_paths_stay),
            RUN(a_flush_that_fails_or_ends_leaves_neither_mark_nor_temporary_file)));
}
