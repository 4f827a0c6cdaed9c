/* SPDX-License-Identifier: BSD-3-Clause */
/* How long datasets live: checkpoints and output, in cache and on the prefix; what
 * SCR_PREFIX_SIZE and the purges delete, and what they must not (invariant P9); records
 * that are lost or too new. */
/* ranks: 4 */

#include "helper_datasets.h"
#include "helper_fault.h"
#include "helper_prefix.h"
#include "helper_stored.h"
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

/* --- kinds of datasets --- */

JOB_CASE(output_leaves_the_cache_and_checkpoints_stay_by_count, 4)
{
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_CACHE_SIZE=2", NULL);
    datasets_write_ok(job, ctx, 1, CKPT);
    datasets_write_ok(job, ctx, 2, OUTPUT);
    CHECK(!scr_cache_has(ctx, 2));
    datasets_write_ok(job, ctx, 3, BOTH);
    CHECK(scr_cache_is_ready(ctx, 1) && scr_cache_is_ready(ctx, 3));
    datasets_write_ok(job, ctx, 4, CKPT);
    CHECK(!scr_cache_has(ctx, 1));
    CHECK(scr_cache_is_ready(ctx, 3) && scr_cache_is_ready(ctx, 4));
    CHECK(complete_are(job, "2 3"));
    scr_hash *left = job_cached(job, 2);
    CHECK(job->rank != 0 || scr_hash_size(left) == 0);
    scr_hash_delete(left);
    job_kill(job, ctx);
}

JOB_CASE(every_third_checkpoint_is_flushed_across_restarts_and_failures, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=3", NULL);
    write_some(job, ctx, 1, 2);
    /* A checkpoint that fails does not count. */
    CHECK_RC(scr_start_output_all(ctx, "bad", CKPT, &err), SCR_OK, &err);
    CHECK_RC(scr_complete_output_all(ctx, job->rank != 1, &err), SCR_E_INVALID, &err);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_FLUSH=3", NULL);
    CHECK_INT(ctx->ckpt_id, 2);
    datasets_write_ok(job, ctx, 4, OUTPUT); /* nor does output */
    write_some(job, ctx, 5, 5);
    CHECK_INT(ctx->ckpt_id, 3);
    int last = ctx->last_id;
    CHECK_ENTRY(job, last, COMPLETE, CURRENT);
    write_some(job, ctx, 6, 7);
    CHECK_ENTRY(job, last + 2, ABSENT, NOT_CURRENT);
    job_kill(job, ctx);
    job_lose_node(job, nodes);
    ctx = job_start(job, nodes, "SCR_FLUSH=3", NULL); /* fetched: the third */
    CHECK_INT(ctx->ckpt_id, 3);
    job_kill(job, ctx);
}

/* Index of the descriptor that dataset id was written with. */
static int descriptor(const struct scr_ctx *ctx, int id)
{
    int index = -1;
    scr_hash_get_val_int(scr_filemap_get_desc(ctx->cache.map, id, ctx->world.rank),
                         "INDEX", &index);
    return index;
}

JOB_CASE(intervals_of_descriptors_continue_after_a_restart, 4)
{
    const char *const a = "CKPT=0 INTERVAL=1 TYPE=SINGLE COUNT=1";
    const char *const b = "CKPT=1 INTERVAL=3 TYPE=XOR SET_SIZE=4";
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_COPY_TYPE=FILE", a, b, "SCR_CACHE_SIZE=5", NULL);
    write_some(job, ctx, 1, 2);
    CHECK_INT(descriptor(ctx, 2), 0);
    CHECK(!scr_cache_has(ctx, 1)); /* COUNT of the descriptor */
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_COPY_TYPE=FILE", a, b, "SCR_CACHE_SIZE=5", NULL);
    write_some(job, ctx, 3, 4);
    CHECK_INT(descriptor(ctx, 3), 1);
    CHECK_INT(descriptor(ctx, 4), 0);
    CHECK(scr_cache_is_ready(ctx, 3) && !scr_cache_has(ctx, 2));
    job_kill(job, ctx);
}

/* --- SCR_PREFIX_SIZE --- */

JOB_CASE(the_newest_checkpoints_stay_on_the_prefix, 4)
{
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_FLUSH=1", "SCR_PREFIX_SIZE=2", NULL);
    write_some(job, ctx, 1, 5);
    CHECK(complete_are(job, "4 5"));
    CHECK_ENTRY(job, 1, ABSENT, NOT_CURRENT);
    CHECK(!job_has(job, "step.3") && !job_has(job, ".scr/scr.dataset.3"));
    CHECK(job_has(job, "step.4") && job_has(job, "step.5"));
    job_kill(job, ctx);
    job_lose_node(job, nodes);
    ctx = job_start(job, nodes, NULL);
    job_check_restart(job, ctx, "d5", 5);
    job_kill(job, ctx);
}

JOB_CASE(output_is_never_deleted, 4)
{
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_FLUSH=1", "SCR_PREFIX_SIZE=1", NULL);
    datasets_write_ok(job, ctx, 1, OUTPUT);
    datasets_write_ok(job, ctx, 2, BOTH);
    write_some(job, ctx, 3, 5);
    CHECK(complete_are(job, "1 2 5"));
    CHECK(job_has(job, "step.1") && job_has(job, "step.2"));
    job_kill(job, ctx);
}

JOB_CASE(files_that_newer_checkpoints_name_too_stay, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_FLUSH=1", "SCR_PREFIX_SIZE=1", NULL);
    CHECK_RC(job_write(job, ctx, "x", 1, CKPT, &err), SCR_OK, &err);
    CHECK_RC(job_write(job, ctx, "y", 1, CKPT, &err), SCR_OK, &err);
    CHECK_RC(job_write(job, ctx, "z", 1, CKPT, &err), SCR_OK, &err);
    CHECK(complete_are(job, "3"));
    job_kill(job, ctx);
    job_lose_node(job, nodes);
    ctx = job_start(job, nodes, NULL);
    job_check_restart(job, ctx, "z", 1);
    job_kill(job, ctx);
}

JOB_CASE(the_checkpoint_of_the_restart_stays_until_a_newer_one_is_safe, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    write_some(job, ctx, 1, 4);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_FLUSH=1", "SCR_PREFIX_SIZE=1", "SCR_CURRENT=d2",
                    NULL);
    job_check_restart(job, ctx, "d2", 2);
    job_block_flush(job, 5, 1);
    write_some(job, ctx, 5, 5); /* not flushed: a warning */
    job_block_flush(job, 5, 0);
    CHECK(complete_are(job, "1 2 3 4"));
    datasets_write_ok(job, ctx, 6,
                      OUTPUT); /* what is too much goes, but not what is wanted */
    CHECK(complete_are(job, "2 4 6"));
    write_some(job, ctx, 7, 7);
    CHECK(complete_are(job, "6 7"));
    CHECK_RC(scr_finalize_all(ctx, &err), SCR_OK, &err);
    job_kill(job, ctx);
}

/* A directory that is not empty in the place of a file: it cannot be deleted. */
static void bar_deletion(struct job *job, int seed, int on)
{
    char dir[800], in[900];
    snprintf(dir, sizeof dir, "%s/step.%d/file0.1", job->prefix, seed);
    snprintf(in, sizeof in, "%s/x", dir);
    mpi_test_barrier(job->comm);
    if (job->rank == 0 && on) {
        unlink(dir);
        mkdir(dir, 0700);
        fclose(fopen(in, "w"));
    } else if (job->rank == 0) {
        mpi_test_remove(dir);
    }
    mpi_test_barrier(job->comm);
}

JOB_CASE(a_deletion_that_fails_is_a_warning_and_done_later, 4)
{
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_FLUSH=1", "SCR_PREFIX_SIZE=1", NULL);
    write_some(job, ctx, 1, 1);
    bar_deletion(job, 1, 1);
    write_some(job, ctx, 2, 2);
    CHECK_ENTRY(job, 1, INCOMPLETE, NOT_CURRENT);
    CHECK_ENTRY(job, 2, COMPLETE, CURRENT);
    bar_deletion(job, 1, 0);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_FLUSH=1", "SCR_PREFIX_SIZE=1", NULL);
    write_some(job, ctx, 3, 3);
    CHECK_ENTRY(job, 1, ABSENT, NOT_CURRENT);
    CHECK(complete_are(job, "3"));
    CHECK(!job_has(job, "step.1") && !job_has(job, ".scr/scr.dataset.1"));
    job_kill(job, ctx);
}

JOB_CASE(one_that_is_written_again_is_not_deleted_by_what_was_begun, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    write_some(job, ctx, 1, 1);
    bar_deletion(job, 1, 1);
    CHECK(scr_prefix_delete_all(ctx, 1, 1, &err) != SCR_OK);
    bar_deletion(job, 1, 0);
    CHECK_ENTRY(job, 1, INCOMPLETE, CURRENT);
    CHECK_RC(scr_finalize_all(ctx, &err), SCR_OK, &err); /* from cache */
    CHECK(complete_are(job, "1"));
    job_kill(job, ctx);
    put(job, ".scr/halt.scr", NULL);
    ctx = job_start(job, nodes, "SCR_FLUSH=1", "SCR_PREFIX_SIZE=5", NULL);
    write_some(job, ctx, 2, 2);
    CHECK(complete_are(job, "1 2"));
    job_kill(job, ctx);
}

/* A checkpoint that makes an older one go, with the n-th call of a kind failing: it is
 * good, or the one before is, and the next one brings all in order. */
static int fail_retention(struct mpi_test *t, int victim, int kind, long n)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    job_new(t, &job, 4);
    job.out = tmpfile();
    job.sys = &test_fault_sys;
    struct scr_ctx *ctx =
        job_start(&job, nodes, "SCR_FLUSH=1", "SCR_PREFIX_SIZE=1", NULL);
    write_some(&job, ctx, 1, 1);
    job_arm(&job, victim, kind, n, EROFS, TEST_ONCE);
    int rc = job_write(&job, ctx, "d2", 2, CKPT, &err);
    int fired = job_disarm(&job);
    CHECK(job_same_code(&job, rc));
    CHECK(job_entry(&job, 1, NULL, NULL) == 1 || job_entry(&job, 2, NULL, NULL) == 1);
    write_some(&job, ctx, 3, 3);
    CHECK_ENTRY(&job, 3, COMPLETE, CURRENT);
    CHECK_ENTRY(&job, 1, ABSENT, NOT_CURRENT);
    job_kill(&job, ctx);
    if (!mpi_test_good(t) && job.rank == 0) {
        int c;
        fprintf(stderr, "call %ld of kind %d failed on rank %d:\n", n, kind, victim);
        rewind(job.out);
        while ((c = getc(job.out)) != EOF)
            putc(c, stderr);
    }
    fclose(job.out);
    job_free(&job);
    return fired;
}

/* Where waiting ranks spin on the cores, fewer. */
#ifdef MPICH_VERSION
enum { STRIDE = 5 };
#else
enum { STRIDE = 1 };
#endif

static int fail_some(struct mpi_test *t, int victim, int kind, long step)
{
    int tried = 0;
    for (long n = step - 1; mpi_test_good(t) && fail_retention(t, victim, kind, n);
         n += step * STRIDE)
        tried++;
    return tried;
}

MPI_CASE(calls_that_fail_while_old_ones_are_deleted_cost_nothing)
{
    int tried = fail_some(t, 1, TEST_UNLINKAT, 1);
    tried += fail_some(t, 0, TEST_RENAMEAT, 3);
    tried += fail_some(t, 0, TEST_ANY, 17);
    CHECK(tried >= 5);
    if (t->comm.rank == 0)
        printf("       %d calls failed in turn\n", tried);
}

JOB_CASE(flushes_under_way_neither_stop_retention_nor_lose_files, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", "SCR_FLUSH_ASYNC=1",
                                    "SCR_PREFIX_SIZE=1", "SCR_CACHE_SIZE=4", NULL);
    write_some(job, ctx, 1, 3);
    CHECK_RC(job_write(job, ctx, "x", 9, CKPT, &err), SCR_OK, &err);
    CHECK_RC(scr_async_wait_all(ctx, 0, &err), SCR_OK, &err);
    CHECK(complete_are(job, "4"));
    /* The same files once more, on their way when the older ones are deleted. */
    CHECK_RC(job_write(job, ctx, "y", 9, CKPT, &err), SCR_OK, &err);
    CHECK_RC(scr_prefix_delete_all(ctx, 4, 1, &err), SCR_OK, &err);
    CHECK_RC(scr_finalize_all(ctx, &err), SCR_OK, &err);
    CHECK(complete_are(job, "5"));
    job_kill(job, ctx);
    put(job, ".scr/halt.scr", NULL);
    job_lose_node(job, nodes);
    ctx = job_start(job, nodes, NULL);
    job_check_restart(job, ctx, "y", 9);
    job_kill(job, ctx);
}

JOB_CASE(what_bypasses_the_cache_is_retained_too, 4)
{
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_CACHE_BYPASS=1", "SCR_PREFIX_SIZE=2", NULL);
    write_some(job, ctx, 1, 4);
    CHECK(complete_are(job, "3 4"));
    CHECK(!job_has(job, "step.1") && job_has(job, "step.3"));
    job_check_restart(job, ctx, "d4", 4);
    job_kill(job, ctx);
}

JOB_CASE(a_periodic_flush_that_failed_is_made_up_for, 4)
{
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=2", NULL);
    write_some(job, ctx, 1, 1);
    job_block_flush(job, 2, 1);
    write_some(job, ctx, 2, 2);
    job_block_flush(job, 2, 0);
    CHECK_ENTRY(job, 2, INCOMPLETE, NOT_CURRENT);
    write_some(job, ctx, 3, 3);
    CHECK_ENTRY(job, 3, COMPLETE, CURRENT);
    write_some(job, ctx, 4, 5);
    CHECK(complete_are(job, "3 4"));
    job_kill(job, ctx);
}

/* --- purges --- */

JOB_CASE(a_purge_deletes_every_dataset_of_the_prefix_and_nothing_else, 4)
{
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_FLUSH=1", "SCR_CACHE_SIZE=1", NULL);
    datasets_write_ok(job, ctx, 1, OUTPUT);
    write_some(job, ctx, 2, 3);
    job_kill(job, ctx);
    put(job, "mine.txt", "keep");
    ctx = job_start(job, nodes, "SCR_PREFIX_PURGE=1", NULL);
    CHECK(complete_are(job, ""));
    for (int id = 1; id <= 3; id++) {
        char path[40];
        snprintf(path, sizeof path, "step.%d", id);
        CHECK(!job_has(job, path));
        CHECK_ENTRY(job, id, ABSENT, NOT_CURRENT);
    }
    CHECK(job_has(job, "mine.txt"));
    CHECK_INT(ctx->last_id, 3);
    job_check_restart(job, ctx, "d3", 3); /* the cache is another matter */
    job_end(job, ctx);
    CHECK(complete_are(job, "")); /* SCR_FLUSH=0 */
    ctx = job_start(job, nodes, "SCR_FLUSH=10", NULL);
    job_end(job, ctx);
    CHECK(complete_are(job, "3")); /* a dead process */
    ctx = job_start(job, nodes, "SCR_PREFIX_PURGE=1", "SCR_CACHE_PURGE=1", NULL);
    CHECK_INT(job_offered(job, ctx), 0);
    write_some(job, ctx, 4, 4);
    CHECK_INT(ctx->last_id, 4);
    job_kill(job, ctx);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(output_leaves_the_cache_and_checkpoints_stay_by_count),
                  RUN(every_third_checkpoint_is_flushed_across_restarts_and_failures),
                  RUN(intervals_of_descriptors_continue_after_a_restart),
                  RUN(the_newest_checkpoints_stay_on_the_prefix),
                  RUN(output_is_never_deleted),
                  RUN(files_that_newer_checkpoints_name_too_stay),
                  RUN(the_checkpoint_of_the_restart_stays_until_a_newer_one_is_safe),
                  RUN(a_deletion_that_fails_is_a_warning_and_done_later),
                  RUN(one_that_is_written_again_is_not_deleted_by_what_was_begun),
                  RUN(calls_that_fail_while_old_ones_are_deleted_cost_nothing),
                  RUN(flushes_under_way_neither_stop_retention_nor_lose_files),
                  RUN(what_bypasses_the_cache_is_retained_too),
                  RUN(a_periodic_flush_that_failed_is_made_up_for),
                  RUN(a_purge_deletes_every_dataset_of_the_prefix_and_nothing_else)));
}
