/* SPDX-License-Identifier: BSD-3-Clause */
/* Cached files that are damaged or missing when their dataset must be flushed:
 * redundancy rebuilds them first (doc/design/durability.md P22). */
/* ranks: 4 */
#include <errno.h>

#include "base/str.h"
#include "helper_fault.h"
#include "helper_pfs.h"
#include "helper_prefix.h"
#include "helper_stored.h"
#include "helper_walk.h"

static const char *const nodes = "n[1-4]";

enum damage { FLIPPED, GONE, CUT, NDAMAGES };

/* The first file of this rank in dataset id in cache that has bytes in it. */
static void damage(struct job *job, int id, int rank, enum damage how)
{
    struct mpi_test *t = job->t;
    int n = 0, done = 0;
    struct stat st;
    char *part = scr_asprintf("/scr.dataset.%d/rank.%d/", id, rank);
    char **paths = job_find(job->cache, part, &n);
    mpi_test_barrier(job->comm);
    for (int i = 0; i < n && job->rank == 0 && !done; i++) {
        done = stat(paths[i], &st) == 0 && st.st_size > 0;
        if (done && how == FLIPPED)
            job_flip(paths[i], (long)st.st_size / 2);
        else if (done)
            CHECK_INT(
                how == GONE ? unlink(paths[i]) : truncate(paths[i], st.st_size - 1), 0);
    }
    CHECK(job->rank > 0 || done);
    mpi_test_barrier(job->comm);
    job_find_free(paths, n);
    free(part);
}

static void begin(struct mpi_test *t, struct job *job)
{
    job_new(t, job, 4);
    job->out = tmpfile();
    pfs_reset();
}

static void end(struct job *job)
{
    fclose(job->out);
    job->out = NULL;
    job_free(job);
}

/* Finalize copies the checkpoint, in whatever way, and says what it found. */
MPI_CASE(the_last_flush_rebuilds_what_is_damaged_or_gone)
{
    static const char *const ways[] = { "SCR_FLUSH_ASYNC=0", "SCR_FLUSH_ASYNC=1",
                                        "SCR_FLUSH_COMPRESS=ZSTD",
                                        "SCR_FLUSH_TYPE=PTHREAD" };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        for (int how = 0; how < NDAMAGES; how++) {
            struct job job;
            begin(t, &job);
            struct scr_ctx *ctx = job_start(&job, nodes, "SCR_FLUSH=9", ways[i], NULL);
            job_checkpoint(&job, ctx, "one", 1);
            damage(&job, 1, 1, (enum damage)how);
            job_end(&job, ctx);
            CHECK_ENTRY(&job, 1, COMPLETE, CURRENT);
            CHECK_INT(job_said(&job, "flushed once more"), 1);
            CHECK_INT(job_said(&job, "rebuilt the files of 1 of 4 ranks (1 lost or "
                                     "damaged, redundancy files included)"),
                      1);
            job_check_prefix(&job, nodes, "one", 1);
            end(&job);
        }
}

/* P21: a halted run leaves its newest checkpoint on the prefix. */
MPI_CASE(a_halted_run_rebuilds_what_it_leaves)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    begin(t, &job);
    struct scr_ctx *ctx =
        job_start(&job, nodes, "SCR_FLUSH=0", "SCR_HALT_ENABLED=0", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    damage(&job, 1, 2, GONE);
    CHECK_RC(scr_halt_reason_all(ctx, "test", &err), SCR_OK, &err);
    job_end(&job, ctx);
    CHECK_ENTRY(&job, 1, COMPLETE, CURRENT);
    job_check_prefix(&job, nodes, "one", 1);
    end(&job);
}

static void write_output(struct job *job, struct scr_ctx *ctx, const char *name,
                         int seed)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    job_block_flush(job, seed, 1);
    CHECK(job_write(job, ctx, name, seed, SCR_IS_OUTPUT, &err) != SCR_OK);
    job_block_flush(job, seed, 0);
}

/* Files of a seed as they are on the prefix. */
static int count_on_prefix(struct job *job, int seed)
{
    char *part = scr_asprintf("%s/step.%d", job->prefix, seed);
    int n = job_count(job, part, "/");
    free(part);
    return n;
}

/* Each is rebuilt for itself; what one of them lacks for good is no matter of the
 * others. */
MPI_CASE(outputs_are_rebuilt_one_by_one)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    begin(t, &job);
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_CACHE_SIZE=4", NULL);
    write_output(&job, ctx, "one", 1);
    write_output(&job, ctx, "two", 2);
    write_output(&job, ctx, "three", 3);
    damage(&job, 1, 1, FLIPPED);
    damage(&job, 2, 0, GONE);
    damage(&job, 2, 3, GONE); /* more than XOR rebuilds */
    damage(&job, 3, 3, CUT);
    int rc = scr_finalize_all(ctx, &err);
    CHECK_RC(rc, SCR_E_NOENT, &err);
    CHECK(job_same_code(&job, rc));
    CHECK(strstr(err.text, "flush of two (dataset 2)") != NULL);
    CHECK(strstr(err.text, "it is not rebuilt") != NULL);
    job_kill(&job, ctx);
    CHECK_ENTRY(&job, 1, COMPLETE, NOT_CURRENT);
    CHECK_ENTRY(&job, 2, INCOMPLETE, NOT_CURRENT);
    CHECK_ENTRY(&job, 3, COMPLETE, NOT_CURRENT);
    CHECK_INT(count_on_prefix(&job, 1), 4 * JOB_FILES);
    CHECK_INT(count_on_prefix(&job, 3), 4 * JOB_FILES);
    CHECK(job_copied_ok(&job, 1));
    CHECK(job_copied_ok(&job, 3));
    end(&job);
}

/* A flush that was begun in the background and failed: the next Complete_output
 * rebuilds it and begins again. */
MPI_CASE(an_asynchronous_flush_is_begun_again_with_what_was_rebuilt)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    begin(t, &job);
    job.sys = &pfs_sys;
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_FLUSH_ASYNC=1", "SCR_FLUSH=1",
                                    "SCR_CACHE_SIZE=3", NULL);
    pfs_control.hold = 1;
    job_checkpoint(&job, ctx, "one", 1);
    damage(&job, 1, 1, FLIPPED);
    pfs_control.hold = 0;
    CHECK_RC(scr_async_wait_all(ctx, 1, &err), SCR_E_CORRUPT, &err);
    job_checkpoint(&job, ctx, "two", 2);
    CHECK_INT(job_said(&job, "rebuilt the files of 1 of 4 ranks"), 1);
    scr_err_clear(&err);
    CHECK_RC(scr_async_wait_all(ctx, 0, &err), SCR_OK, &err);
    CHECK_ENTRY(&job, 1, COMPLETE, NOT_CURRENT);
    CHECK_ENTRY(&job, 2, COMPLETE, CURRENT);
    job_end(&job, ctx);
    job.sys = NULL;
    job_check_prefix(&job, nodes, "two", 2);
    end(&job);
}

/* --- in the rebuild --- */

/* Call n of Finalize fails, once on a rank or for good on all: 0 when there is none.
 * The checkpoint is there for the next run, whatever became of the flush. */
static int fail_call(struct job *job, int victim, long n)
{
    struct mpi_test *t = job->t;
    job->sys = &test_fault_sys;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=9", NULL);
    damage(job, 1, 1, GONE);
    job_arm(job, victim, TEST_ANY, n, EIO, victim < 0 ? TEST_FOREVER : TEST_ONCE);
    CHECK(job_same_code(job, scr_finalize_all(ctx, NULL)));
    if (victim < 0)
        job_kill(job, ctx); /* the dead clean nothing up */
    int fired = job_disarm(job);
    if (victim >= 0)
        job_kill(job, ctx);
    job->sys = NULL;
    ctx = job_start(job, nodes, "SCR_HALT_ENABLED=0", NULL);
    job_check_restart(job, ctx, "one", 1);
    job_kill(job, ctx);
    return fired;
}

static void walk(struct mpi_test *t, int victim, int step)
{
    struct job job;
    int fired = 1;
    long i = walk_from(0);
    begin(t, &job);
    struct scr_ctx *ctx = job_start(&job, nodes, NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    job_save(&job);
    for (; fired && i < 500 && mpi_test_good(t); i = walk_from(i + 1)) {
        job_go_back(&job);
        fired = fail_call(&job, victim, i * step);
    }
    CHECK(i > 5 && i < 500);
    end(&job);
}

MPI_CASE(a_job_that_dies_while_it_rebuilds_loses_nothing)
{
    walk(t, -1, 29);
}

MPI_CASE(a_call_that_fails_on_one_rank_loses_nothing)
{
    walk(t, 1, 23);
    walk(t, 0, 23);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(the_last_flush_rebuilds_what_is_damaged_or_gone),
                  RUN(a_halted_run_rebuilds_what_it_leaves),
                  RUN(outputs_are_rebuilt_one_by_one),
                  RUN(an_asynchronous_flush_is_begun_again_with_what_was_rebuilt),
                  RUN(a_job_that_dies_while_it_rebuilds_loses_nothing),
                  RUN(a_call_that_fails_on_one_rank_loses_nothing)));
}
