/* SPDX-License-Identifier: BSD-3-Clause */
/* Flushes the application does not wait for, of datasets whose files have the same
 * paths; those that failed and left the cache; CRCs. */
/* ranks: 4 */
#include "helper_async.h"
#include "helper_job.h"
#include "helper_pfs.h"
#include "helper_prefix.h"
#include "helper_shared.h"
#include "helper_stored.h"
#include "store/arrival.h"
#include <errno.h>
#include <sys/mman.h>

/* --- datasets whose files have the same paths --- */

static void same_path(const struct job *job, int file, char *path, size_t n)
{
    snprintf(path, n, "%s/same.%d.%d", job->prefix, job->rank, file);
}

static int write_same(struct job *job, struct scr_ctx *ctx, const char *text)
{
    int ok = 1;
    for (int i = 0; i < 2; i++) {
        struct scr_err err = SCR_ERR_INIT;
        char name[900], path[SCR_MAX_NAME];
        same_path(job, i, name, sizeof name);
        FILE *f = scr_route(ctx, name, path, &err) == SCR_OK ? fopen(path, "w") : NULL;
        ok = ok && f != NULL && fputs(text, f) >= 0;
        ok = (f == NULL || fclose(f) == 0) && ok;
    }
    return ok;
}

static void checkpoint_same(struct job *job, struct scr_ctx *ctx, const char *name,
                            const char *text)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    CHECK_RC(scr_start_output_all(ctx, name, SCR_IS_CKPT, &err), SCR_OK, &err);
    CHECK(write_same(job, ctx, text));
    CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_OK, &err);
}

/* 1 if file number `file` of this rank has that text on the prefix. */
static int same_is(const struct job *job, int file, const char *text)
{
    char path[900], got[64] = "";
    same_path(job, file, path, sizeof path);
    FILE *f = fopen(path, "r");
    size_t n = f != NULL ? fread(got, 1, sizeof got - 1, f) : 0;
    if (f != NULL)
        fclose(f);
    return n > 0 && strcmp(got, text) == 0;
}

#define EVERY_OTHER_BYPASSES                                                           \
    "SCR_COPY_TYPE=FILE", "CKPT=0 INTERVAL=1 TYPE=XOR", "CKPT=1 INTERVAL=2 BYPASS=1"

MPI_CASE(what_bypasses_the_cache_is_written_when_no_flush_is_under_way)
{
    struct job job;
    async_begin(t, &job);
    pfs_control.slow_us = 300000;
    struct scr_ctx *ctx = job_start(&job, nodes, ASYNC, EVERY_OTHER_BYPASSES, NULL);
    checkpoint_same(&job, ctx, "one", "first");
    checkpoint_same(&job, ctx, "two", "the second");
    job_end(&job, ctx);
    CHECK(same_is(&job, 0, "the second"));
    CHECK(same_is(&job, 1, "the second"));
    CHECK_INT(entry(&job, 2), 1);
    job_free(&job);
}

MPI_CASE(output_that_leaves_the_cache_leaves_nothing_for_what_bypasses_it)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    async_begin(t, &job);
    pfs_control.slow_us = 100000;
    struct scr_ctx *ctx =
        job_start(&job, nodes, "SCR_FLUSH_ASYNC=1", EVERY_OTHER_BYPASSES, NULL);
    job_checkpoint(&job, ctx, "one", 1);
    CHECK_RC(job_write(&job, ctx, "out", 2, SCR_IS_OUTPUT, &err), SCR_OK, &err);
    job_checkpoint(&job, ctx, "three", 3);
    CHECK_INT(entry(&job, 3), 1);
    CHECK_INT(job_count(&job, job.cache, "scr.dataset.2"), 0);
    CHECK_INT(job_count(&job, job.cache, "scr.dataset.3"), 0);
    job_end(&job, ctx);
    job_free(&job);
}

MPI_CASE(nothing_leaves_the_cache_in_an_output_phase)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    int flag = 0;
    async_begin(t, &job);
    pfs_control.slow_us = 50000;
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_FLUSH_ASYNC=1", NULL);
    CHECK_RC(job_write(&job, ctx, "out", 1, SCR_IS_OUTPUT, &err), SCR_OK, &err);
    CHECK_RC(scr_start_output_all(ctx, "two", SCR_IS_CKPT, &err), SCR_OK, &err);
    int was_ready = scr_cache_is_ready(ctx, 1); /* else it was quick */
    CHECK(becomes_complete(&job, 1));
    usleep(200000); /* its threads end */
    CHECK_RC(scr_should_exit_all(ctx, &flag, &err), SCR_OK, &err);
    CHECK_INT(scr_cache_is_ready(ctx, 1), was_ready);
    CHECK(write_same(&job, ctx, "two"));
    CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_OK, &err);
    job_end(&job, ctx);
    job_free(&job);
}

MPI_CASE(deletion_spares_what_a_flush_under_way_has_brought)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    async_begin(t, &job);
    struct scr_ctx *ctx = job_start(&job, nodes, ASYNC, "SCR_CACHE_SIZE=2", NULL);
    checkpoint_same(&job, ctx, "one", "first");
    CHECK_RC(scr_async_wait_all(ctx, 1, &err), SCR_OK, &err);
    pfs_control.opened = 0;
    pfs_control.pass = 1; /* one file of each rank's two lands */
    pfs_control.hold = 1;
    checkpoint_same(&job, ctx, "two", "the second");
    job_wait_landed(&job, 2, 4);
    CHECK_RC(scr_delete_all(ctx, "one", &err), SCR_OK, &err);
    pfs_control.hold = 0;
    CHECK_RC(scr_async_wait_all(ctx, 2, &err), SCR_OK, &err);
    CHECK(same_is(&job, 0, "the second"));
    CHECK(same_is(&job, 1, "the second"));
    CHECK_INT(entry(&job, 1), -1);
    CHECK_INT(entry(&job, 2), 1);
    job_end(&job, ctx);
    job_free(&job);
}

MPI_CASE(a_dataset_dropped_while_it_is_flushed_stays_dropped)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    async_begin(t, &job);
    pfs_control.slow_us = 100000;
    struct scr_ctx *ctx = job_start(&job, nodes, ASYNC, "SCR_CACHE_SIZE=3", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    CHECK_RC(scr_drop_all(ctx, "one", &err), SCR_OK, &err);
    CHECK_INT(entry(&job, 1), -1);
    pfs_control.slow_us = 0;
    job_checkpoint(&job, ctx, "two", 2);
    job_end(&job, ctx);
    CHECK_INT(entry(&job, 1), -1);
    CHECK_INT(entry(&job, 2), 1);
    job_free(&job);
}

/* Rank 0 is through with a dataset while rank 1 is not; the next one has its files. */
MPI_CASE(a_flush_waits_for_one_of_the_same_paths)
{
    static const char *const second[] = { "one", "two" };
    for (int i = 0; i < 2; i++) {
        struct job job;
        struct scr_err err = SCR_ERR_INIT;
        async_begin(t, &job);
        pfs_control.slow_us = job.rank == 1 ? 200000 : 0;
        struct scr_ctx *ctx = job_start(&job, nodes, ASYNC, "SCR_CACHE_SIZE=3", NULL);
        checkpoint_same(&job, ctx, "one", "first");
        checkpoint_same(&job, ctx, second[i], "the second");
        CHECK(!scr_async_has(ctx, 1));
        CHECK_RC(scr_async_wait_all(ctx, 2, &err), SCR_OK, &err);
        CHECK(same_is(&job, 0, "the second"));
        CHECK_INT(entry(&job, 2), 1);
        CHECK_INT(entry(&job, 1), -1);
        job_end(&job, ctx);
        job_free(&job);
    }
}

MPI_CASE(what_failed_is_not_brought_over_what_bypassed_the_cache)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    async_begin(t, &job);
    job.out = fopen("/dev/null", "w");
    pfs_control.write_error = ENOSPC;
    struct scr_ctx *ctx =
        job_start(&job, nodes, ASYNC, "SCR_CACHE_SIZE=4", EVERY_OTHER_BYPASSES, NULL);
    checkpoint_same(&job, ctx, "one", "first");
    CHECK(scr_async_wait_all(ctx, 1, &err) != SCR_OK);
    CHECK_RC(scr_start_output_all(ctx, "two", SCR_IS_CKPT, &err), SCR_OK, &err);
    CHECK(write_same(&job, ctx, "the second"));
    pfs_control.write_error = 0; /* what is tried again succeeds */
    CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_OK, &err);
    job_checkpoint(&job, ctx, "three", 3);
    job_checkpoint(&job, ctx, "four", 4);
    job_end(&job, ctx);
    CHECK_INT(entry(&job, 2), 1);
    CHECK_INT(entry(&job, 4), 1);
    CHECK(same_is(&job, 0, "the second"));
    CHECK(same_is(&job, 1, "the second"));
    fclose(job.out);
    job_free(&job);
}

/* --- one that failed and left the cache --- */

/* Of two checkpoints one is flushed: the second, which fails and makes room for the
 * third. In whose place that is flushed. */
static void make_up(struct mpi_test *t, int constant)
{
    static const char *const changing[] = { "", "one", "two", "three", "four", "five" };
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    async_begin(t, &job);
    job.out = tmpfile();
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_FLUSH_ASYNC=1", "SCR_FLUSH=2",
                                    "SCR_CACHE_SIZE=1", NULL);
    for (int i = 1; i <= 5; i++) {
        pfs_control.write_error = i == 2 ? EIO : 0;
        job_checkpoint(&job, ctx, constant ? "same" : changing[i], constant ? 1 : i);
        CHECK((scr_async_wait_all(ctx, 0, &err) == SCR_OK) == (i != 2));
        scr_err_clear(&err);
        CHECK((entry(&job, i) == 1) == (i == 3 || i == 4)); /* made up for once */
    }
    CHECK_INT(job_said(&job, "tried again, or the next checkpoint in its place"), 1);
    kill_job(&job, ctx);
    fclose(job.out);
    job.out = NULL;
    job_check_prefix(&job, nodes, constant ? "same" : "four", constant ? 1 : 4);
    job_free(&job);
}

MPI_CASE(a_flush_that_failed_and_left_is_made_up_for_by_the_next)
{
    make_up(t, 0);
}

MPI_CASE(one_of_a_constant_name_is_made_up_for_too)
{
    make_up(t, 1);
}

/* --- CRCs --- */

/* Files of dataset id that have a CRC in the list of files; on rank 0. */
static int count_crcs(const struct job *job, int id)
{
    struct scr_env env = { .sys = &scr_sys_posix };
    struct scr_prefix p = { 0 };
    struct scr_rank2file list = { 0 };
    int n = 0;
    if (scr_prefix_open(&env, job->prefix, 0, &p, NULL) == SCR_OK)
        scr_prefix_rank2file_read(&env, &p, id, &list, NULL);
    for (size_t i = 0; i < list.n; i++)
        for (SCR_EACH(struct scr_listed, f, &list.of[i]->files))
            n += f->has_crc;
    scr_prefix_fini(&p);
    scr_rank2file_fini(&list);
    return n;
}

MPI_CASE(missing_crcs_are_recorded_by_the_flush)
{
    struct job job;
    async_begin(t, &job);
    struct scr_ctx *ctx = job_start(&job, nodes, ASYNC, "SCR_CRC_ON_COPY=0", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_end(&job, ctx);
    if (job.rank == 0)
        CHECK_INT(count_crcs(&job, 1), 4 * JOB_FILES);
    job_check_prefix(&job, nodes, "one", 1);
    job_free(&job);
    /* Also of what had landed when another flush takes over. */
    async_begin(t, &job);
    pfs_control.hold = 1;
    pfs_control.pass = 1;
    ctx =
        job_start(&job, nodes, ASYNC, "SCR_CRC_ON_COPY=0", "SCR_CRC_ON_FLUSH=0", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_wait_landed(&job, 1, 4);
    kill_job(&job, ctx);
    ctx = job_start(&job, nodes, "SCR_CRC_ON_COPY=0", NULL);
    CHECK_INT(entry(&job, 1), 1);
    if (job.rank == 0)
        CHECK_INT(count_crcs(&job, 1), 4 * JOB_FILES);
    job_end(&job, ctx);
    job_check_prefix(&job, nodes, "one", 1);
    job_free(&job);
}

int main(int argc, char **argv)
{
    pfs_reset();
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(what_bypasses_the_cache_is_written_when_no_flush_is_under_way),
                  RUN(output_that_leaves_the_cache_leaves_nothing_for_what_bypasses_it),
                  RUN(nothing_leaves_the_cache_in_an_output_phase),
                  RUN(deletion_spares_what_a_flush_under_way_has_brought),
                  RUN(a_dataset_dropped_while_it_is_flushed_stays_dropped),
                  RUN(a_flush_waits_for_one_of_the_same_paths),
                  RUN(what_failed_is_not_brought_over_what_bypassed_the_cache),
                  RUN(a_flush_that_failed_and_left_is_made_up_for_by_the_next),
                  RUN(one_of_a_constant_name_is_made_up_for_too),
                  RUN(missing_crcs_are_recorded_by_the_flush)));
}
