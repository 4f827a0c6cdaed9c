/* SPDX-License-Identifier: BSD-3-Clause */
/* Leftovers of killed and failed flushes on the prefix, and their removal. */
/* ranks: 4 */

#include "base/path.h"
#include "helper_fault.h"
#include "helper_leftovers.h"
#include "helper_prefix.h"
#include "helper_stored.h"
#include "helper_walk.h"
#include "store/arrival.h"
#include "store/flushing.h"
#include "xfer/copy.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>

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

/* The calls of a flush that does not wait come in another order each time. */
enum { STEP = 19, SMALL_STEP = 7 };

MPI_CASE(the_next_start_removes_the_temporary_files_of_a_killed_flush)
{
    die_in_some(t, "SCR_FLUSH_ASYNC=0", STEP);
}

MPI_CASE(also_of_one_that_did_not_wait)
{
    die_in_some(t, "SCR_FLUSH_ASYNC=1", SMALL_STEP);
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

JOB_CASE(temporary_files_of_a_flush_under_way_and_of_other_paths_stay, 4)
{
    struct scr_prefix p = { 0 };
    struct scr_flushing mark = { 0 };
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_kill(job, ctx);
    int n = 0;
    char **found = job_find(job->prefix, "step.1/", &n);
    CHECK(n > 0);
    if (n > 0)
        make_part(job, found[0] + strlen(job->prefix) + 1, 7);
    job_find_free(found, n);
    make_part(job, "step.1/no_file_of_it", 7);
    CHECK_INT(scr_prefix_open(&posix_env, job->prefix, 0, &p, NULL), SCR_OK);
    if (job->rank == 0)
        CHECK_INT(scr_flushing_begin(&posix_env, &p, 1, &mark, NULL), SCR_OK);
    ctx = job_start(job, nodes, NULL);
    CHECK_INT(parts(job), 2);
    CHECK_INT(marks(job), 1);
    job_kill(job, ctx);
    scr_flushing_leave(&posix_env, &mark);
    ctx = job_start(job, nodes, NULL);
    CHECK_INT(parts(job), 1);
    CHECK_INT(marks(job), 0);
    job_kill(job, ctx);
    scr_prefix_fini(&p);
}

JOB_CASE(a_flush_that_fails_or_ends_leaves_neither_mark_nor_temporary_file, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    job->sys = &test_fault_sys;
    job->out = tmpfile();
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=0", NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_arm(job, 2, TEST_FSYNC, 1, ENOSPC, TEST_FOREVER);
    int rc = scr_flush_dataset_all(ctx, 1, &err);
    CHECK(job_disarm(job));
    CHECK_RC(rc, SCR_E_FULL, &err);
    CHECK_INT(parts(job), 0);
    CHECK_INT(marks(job), 0);
    CHECK_RC(scr_flush_dataset_all(ctx, 1, &err), SCR_OK, &err);
    CHECK_INT(marks(job), 0);
    CHECK_ENTRY(job, 1, COMPLETE, CURRENT);
    job_kill(job, ctx);
    fclose(job->out);
}

/* The job dies at call n of its second flush, and its nodes with it. 1 if that left
 * temporary files; then the next job has room for one. */
static int fill_and_die(struct mpi_test *t, long n, int *root)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    int left = 0;
    job_new(t, &job, 4);
    job.size_of = same_size;
    job.sys = &test_fault_sys;
    *root = make_small(&job, "size=2650k"); /* two checkpoints and two files */
    if (*root) {
        struct scr_ctx *ctx = job_start(&job, nodes, "SCR_FLUSH=1", NULL);
        job_checkpoint(&job, ctx, "one", 1);
        job_arm(&job, -1, TEST_ANY, n, EIO, TEST_FOREVER);
        (void)job_write(&job, ctx, "two", 2, 1, &err);
        scr_ctx_free(ctx);
        (void)job_disarm(&job);
        left = parts(&job) >= 3 && job_count(&job, job.prefix, "step.2/file") == 0;
        job_lose_node(&job, nodes);
        ctx = job_start(&job, nodes, "SCR_FLUSH=1", "SCR_JOB_ID=next", NULL);
        job_checkpoint(&job, ctx, "three", 3);
        if (left)
            CHECK_ENTRY(&job, ctx->last_id, COMPLETE, CURRENT);
        job_kill(&job, ctx);
        free_small(&job);
    }
    job_free(&job);
    return left;
}

MPI_CASE(a_prefix_that_a_killed_flush_filled_has_room_again)
{
    int root = 1, left = 0;
    for (long n = 61; n < 300 && root && mpi_test_good(t); n += 7)
        left += fill_and_die(t, n, &root);
    CHECK(!root || left > 0);
}

/* To the last byte. */
static void fill_up(struct job *job)
{
    static const char bytes[4096];
    struct mpi_test *t = job->t;
    char path[900];
    snprintf(path, sizeof path, "%s/filler", job->prefix);
    mpi_test_barrier(job->comm);
    int fd = job->rank == 0 ? open(path, O_WRONLY | O_CREAT, 0600) : -1;
    while (fd >= 0 && write(fd, bytes, sizeof bytes) > 0)
        continue;
    CHECK(job->rank > 0 || (errno == ENOSPC && close(fd) == 0));
    mpi_test_barrier(job->comm);
}

/* An index of two such names of `digits` takes more than its summary frees, or not. */
static void delete_when_full(struct mpi_test *t, int digits)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    char name[2][SCR_MAX_NAME];
    for (int i = 0; i < 2; i++)
        snprintf(name[i], sizeof name[i], "%0*d", digits, i);
    job_new(t, &job, 4);
    job.size_of = same_size;
    if (make_small(&job, "size=2650k")) {
        struct scr_ctx *ctx =
            job_start(&job, nodes, "SCR_FLUSH=1", "SCR_CACHE_SIZE=2", NULL);
        job_checkpoint(&job, ctx, name[0], 1);
        job_checkpoint(&job, ctx, name[1], 2);
        fill_up(&job);
        CHECK_RC(scr_delete_all(ctx, name[0], &err), SCR_OK, &err);
        CHECK_ENTRY(&job, 1, ABSENT, NOT_CURRENT);
        CHECK_ENTRY(&job, 2, COMPLETE, CURRENT);
        CHECK(!job_has(&job, "step.1") && !job_has(&job, ".scr/scr.dataset.1"));
        job_kill(&job, ctx);
        free_small(&job);
    }
    job_free(&job);
}

MPI_CASE(a_deletion_works_in_a_prefix_that_is_full)
{
    delete_when_full(t, 1);
    delete_when_full(t, 1000);
}

/* --- entries that cannot become complete --- */

/* A flush with some renamed files. */
static void fail_flush(struct job *job, struct scr_ctx *ctx, const char *name, int seed)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    job_arm(job, 2, TEST_RENAMEAT, 5, EIO, TEST_FOREVER);
    (void)job_write(job, ctx, name, seed, 1, &err);
    CHECK(job_disarm(job));
}

JOB_CASE(retention_removes_what_cannot_become_complete_when_a_newer_one_is, 4)
{
    job->sys = &test_fault_sys;
    job->out = tmpfile();
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", "SCR_PREFIX_SIZE=9",
                                    "SCR_CACHE_SIZE=2", NULL);
    job_checkpoint(job, ctx, "one", 1);
    fail_flush(job, ctx, "two", 2);
    CHECK_ENTRY(job, 2, INCOMPLETE, NOT_CURRENT);
    CHECK(job_has(job, "step.2"));
    job_checkpoint(job, ctx, "three", 3);
    CHECK_ENTRY(job, 2, INCOMPLETE,
                NOT_CURRENT); /* in cache: it may be flushed again */
    job_checkpoint(job, ctx, "four", 4);
    job_checkpoint(job, ctx, "five", 5);
    CHECK_ENTRY(job, 2, ABSENT, NOT_CURRENT);
    CHECK(!job_has(job, "step.2"));
    CHECK(!job_has(job, ".scr/scr.dataset.2"));
    CHECK_ENTRY(job, 1, COMPLETE, NOT_CURRENT);
    CHECK_ENTRY(job, 5, COMPLETE, CURRENT);
    job_kill(job, ctx);
    fclose(job->out);
}

JOB_CASE(what_another_job_may_still_bring_stays, 4)
{
    job->sys = &test_fault_sys;
    job->out = tmpfile();
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    fail_flush(job, ctx, "one", 1);
    CHECK_ENTRY(job, 1, INCOMPLETE, NOT_CURRENT);
    job_kill(job, ctx);
    job_lose_node(job, nodes);
    ctx = job_start(job, "m[1-4]", "SCR_FLUSH=1", "SCR_PREFIX_SIZE=1",
                    "SCR_JOB_ID=next", NULL);
    job_checkpoint(job, ctx, "two", 2);
    CHECK_ENTRY(job, 1, INCOMPLETE, NOT_CURRENT);
    char path[900];
    snprintf(path, sizeof path, "%s/.scr/flush.scr", job->prefix);
    if (job->rank == 0)
        unlink(path);
    mpi_test_barrier(job->comm);
    job_checkpoint(job, ctx, "three", 3);
    CHECK_ENTRY(job, 1, ABSENT, NOT_CURRENT);
    CHECK(!job_has(job, "step.1"));
    job_kill(job, ctx);
    fclose(job->out);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(
            RUN(the_next_start_removes_the_temporary_files_of_a_killed_flush),
            RUN(also_of_one_that_did_not_wait),
            RUN(temporary_files_of_a_flush_under_way_and_of_other_paths_stay),
            RUN(a_flush_that_fails_or_ends_leaves_neither_mark_nor_temporary_file),
            RUN(a_prefix_that_a_killed_flush_filled_has_room_again),
            RUN(a_deletion_works_in_a_prefix_that_is_full),
            RUN(retention_removes_what_cannot_become_complete_when_a_newer_one_is),
            RUN(what_another_job_may_still_bring_stays)));
}
