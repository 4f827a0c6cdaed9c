/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of datasets: flushed, made current, evicted, deleted, fallen back to. */
/* ranks: 4 */
#include "helper_prefix.h"
#include "helper_stored.h"

#include <errno.h>

static const char *const nodes = "n[1-4]";

JOB_CASE(an_output_that_cannot_be_flushed_does_not_keep_the_newest_checkpoint, 4)
{
    struct scr_err err = SCR_ERR_INIT, late = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=10", NULL);
    job_checkpoint(job, ctx, "c1", 1);
    job_block_flush(job, 2, 1);
    CHECK(job_write(job, ctx, "out", 2, 2, &err) != SCR_OK);
    CHECK(strstr(err.text, "SCR_Complete_output: flush of out (dataset 2)") != NULL);
    CHECK(scr_cache_is_ready(ctx, 2)); /* kept, to be tried again */
    job_checkpoint(job, ctx, "c3", 3);
    CHECK(scr_finalize_all(ctx, &late) != SCR_OK);
    CHECK(strstr(late.text, "flush of out (dataset 2): ") != NULL);
    CHECK(
        strstr(late.text, "; kept in cache: scr_postrun or the next run tries again"));
    CHECK_ENTRY(job, 3, COMPLETE, CURRENT);
    CHECK_ENTRY(job, 2, INCOMPLETE, NOT_CURRENT);
    job_kill(job, ctx);
}

/* Ways to keep one checkpoint in cache. */
static const char *const keep_one[][5] = {
    { "SCR_CACHE_SIZE=1", "SCR_COPY_TYPE=XOR" },
    { "SCR_CACHE_SIZE=1", "SCR_FLUSH_ASYNC=1", "SCR_COPY_TYPE=PARTNER" },
    { "SCR_CACHE_SIZE=1", "SCR_COPY_TYPE=FILE", "CKPT=0 INTERVAL=1 TYPE=XOR COUNT=1",
      "CKPT=1 INTERVAL=2 TYPE=SINGLE COUNT=1" },
};

static struct scr_ctx *start_keeping(struct mpi_test *t, struct job *job,
                                     const char *const *how)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx;
    job_new(t, job, 4);
    job->out = tmpfile();
    CHECK_RC(job_try_start(job, &ctx, &err, nodes, how), SCR_OK, &err);
    return ctx;
}

static void end_keeping(struct job *job, struct scr_ctx *ctx)
{
    job_kill(job, ctx);
    fclose(job->out);
    job_free(job);
}

/* P7: the one stays, each of the others gets its place. */
static void keep_beside(struct mpi_test *t, const char *const *how)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = start_keeping(t, &job, how);
    job_block_flush(&job, 1, 1);
    (void)job_write(&job, ctx, "stuck", 1, 3, &err);
    for (int i = 2; i <= 4; i++) {
        job_checkpoint(&job, ctx, i == 4 ? "last" : "next", i);
        CHECK(scr_cache_is_ready(ctx, 1));
        CHECK(scr_cache_is_ready(ctx, i));
        CHECK(!scr_cache_has(ctx, i == 2 ? 0 : i - 1));
    }
    CHECK_INT(job_said(&job, "output stuck (dataset 1) cannot be flushed"), 1);
    CHECK_ENTRY(&job, 1, INCOMPLETE, NOT_CURRENT);
    job_block_flush(&job, 1, 0);
    job_checkpoint(&job, ctx, "after", 5);
    CHECK_ENTRY(&job, 1, COMPLETE, CURRENT);
    CHECK(!scr_cache_has(ctx, 1));
    end_keeping(&job, ctx);
}

MPI_CASE(an_output_that_cannot_be_flushed_keeps_no_checkpoint_from_its_place)
{
    for (size_t i = 0; i < sizeof keep_one / sizeof keep_one[0]; i++)
        keep_beside(t, keep_one[i]);
}

static int no_room;

static int full_statvfs(const char *path, struct statvfs *st)
{
    int rc = scr_sys_posix.statvfs(path, st);
    if (no_room)
        st->f_bavail = 0;
    return rc;
}

MPI_CASE(an_output_that_stays_needs_room_for_both_on_every_node)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_sys sys = scr_sys_posix;
    struct scr_ctx *ctx = start_keeping(t, &job, keep_one[0]);
    sys.statvfs = full_statvfs;
    ctx->env.sys = &sys;
    job_block_flush(&job, 1, 1);
    CHECK(job_write(&job, ctx, "stuck", 1, 3, &err) != SCR_OK);
    scr_err_clear(&err);
    no_room = job.rank == 2;
    CHECK_RC(job_write(&job, ctx, "next", 2, 1, &err), SCR_E_FULL, &err);
    CHECK(strstr(err.text, "SCR_Start_output: no room for next: ") != NULL);
    CHECK(strstr(err.text, "stuck (dataset 1)") != NULL);
    CHECK(scr_cache_is_ready(ctx, 1));
    no_room = 0;
    job_checkpoint(&job, ctx, "next", 2);
    CHECK(scr_cache_is_ready(ctx, 1));
    ctx->env.sys = &scr_sys_posix;
    end_keeping(&job, ctx);
}

JOB_CASE(an_output_that_failed_reaches_the_prefix_at_the_next_chance, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_CACHE_SIZE=1", NULL);
    job_block_flush(job, 1, 1);
    CHECK(job_write(job, ctx, "out", 1, 3, &err) != SCR_OK);
    job_block_flush(job, 1, 0);
    job_checkpoint(job, ctx, "c2", 2); /* evicts it, flushed first */
    CHECK_ENTRY(job, 1, COMPLETE, CURRENT);
    CHECK(!scr_cache_is_ready(ctx, 1));
    job_kill(job, ctx);
}

JOB_CASE(a_late_flush_does_not_move_current_back, 4)
{
    struct scr_err err = SCR_ERR_INIT, late = SCR_ERR_INIT;
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_CACHE_SIZE=5", "SCR_FLUSH=1", NULL);
    job_block_flush(job, 1, 1);
    CHECK(job_write(job, ctx, "a", 1, 3, &err) != SCR_OK);
    job_block_flush(job, 1, 0);
    job_checkpoint(job, ctx, "b", 2);
    CHECK_ENTRY(job, 2, COMPLETE, CURRENT);
    CHECK_RC(scr_finalize_all(ctx, &late), SCR_OK, &late);
    CHECK_ENTRY(job, 1, COMPLETE, NOT_CURRENT);
    CHECK_ENTRY(job, 2, COMPLETE, CURRENT);
    job_kill(job, ctx);
}

JOB_CASE(output_does_not_evict_a_checkpoint, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_CACHE_SIZE=1", NULL);
    job_checkpoint(job, ctx, "c1", 1);
    CHECK_RC(job_write(job, ctx, "out", 2, 2, &err), SCR_OK, &err);
    CHECK(!scr_cache_is_ready(ctx, 2));
    job_kill(job, ctx);
    ctx = job_start(job, nodes, NULL);
    job_check_restart(job, ctx, "c1", 1);
    job_end(job, ctx);
}

JOB_CASE(current_loads_what_it_names, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_CACHE_SIZE=5", "SCR_FLUSH=1", NULL);
    job_checkpoint(job, ctx, "a", 1);
    job_checkpoint(job, ctx, "b", 2);
    job_checkpoint(job, ctx, "c", 3);
    job_kill(job, ctx);
    job_lose_dataset(job, 2);
    ctx = job_start(job, nodes, "SCR_CACHE_SIZE=5", "SCR_FLUSH=1", NULL);
    CHECK_INT(job_offered(job, ctx), 3);
    CHECK_RC(scr_current_all(ctx, "b", &err), SCR_OK, &err);
    job_check_restart(job, ctx, "b", 2);
    CHECK_ENTRY(job, 2, COMPLETE, CURRENT);
    CHECK_INT(ctx->ckpt_id, 2);
    job_checkpoint(job, ctx, "d", 4);
    CHECK_ENTRY(job, 4, COMPLETE, CURRENT);
    job_kill(job, ctx);
}

JOB_CASE(current_means_the_newer_of_two_with_one_name, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_CACHE_SIZE=5", "SCR_FLUSH=2", NULL);
    for (int i = 1; i <= 3; i++)
        job_checkpoint(job, ctx, "restart", i);
    CHECK_RC(scr_current_all(ctx, "restart", &err), SCR_OK, &err);
    CHECK_INT(job_offered(job, ctx), 3);
    job_check_restart(job, ctx, "restart", 3);
    job_kill(job, ctx);
}

JOB_CASE(an_output_cannot_be_current, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_CACHE_SIZE=5", NULL);
    job_checkpoint(job, ctx, "c1", 1);
    CHECK_RC(job_write(job, ctx, "out", 2, 2, &err), SCR_OK, &err);
    job_checkpoint(job, ctx, "c3", 3);
    CHECK_RC(scr_current_all(ctx, "out", &err), SCR_E_ARG, &err);
    CHECK(scr_cache_is_ready(ctx, 3));
    job_kill(job, ctx);
}

/* A file is in the way of the directory of its files. */
JOB_CASE(newer_output_that_cannot_be_flushed_stays_and_the_choice_holds, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    char path[900];
    snprintf(path, sizeof path, "%s/step.3", job->prefix);
    if (job->rank == 0)
        fclose(fopen(path, "w"));
    mpi_test_barrier(job->comm);
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_CACHE_SIZE=5", NULL);
    job_checkpoint(job, ctx, "c1", 1);
    job_checkpoint(job, ctx, "c2", 2);
    CHECK(job_write(job, ctx, "out", 3, 2, &err) != SCR_OK);
    scr_err_clear(&err);
    int rc = scr_current_all(ctx, "c1", &err);
    CHECK(rc != SCR_OK && job_same_code(job, rc));
    CHECK(strstr(err.text,
                 "SCR_Current: c1 is loaded, but some newer datasets could not"));
    CHECK(!scr_cache_is_ready(ctx, 2) && scr_cache_is_ready(ctx, 3));
    job_check_restart(job, ctx, "c1", 1);
    if (job->rank == 0)
        unlink(path);
    mpi_test_barrier(job->comm);
    scr_err_clear(&err);
    CHECK_RC(scr_current_all(ctx, "c1", &err), SCR_OK, &err);
    CHECK(!scr_cache_is_ready(ctx, 3) && job_copied_ok(job, 3));
    job_end(job, ctx);
}

MPI_CASE(a_different_number_of_ranks_does_not_block_newer_datasets)
{
    struct job job, two;
    struct scr_err err = SCR_ERR_INIT;
    job_new(t, &job, 4);
    job.any_ranks = 1;
    struct scr_ctx *ctx = job_start(&job, nodes, NULL);
    job_checkpoint(&job, ctx, "x", 1);
    job_kill(&job, ctx);
    two = job;
    MPI_Comm_split(job.comm, job.rank < 2 ? 0 : MPI_UNDEFINED, job.rank, &two.comm);
    if (job.rank < 2) {
        two.size = 2;
        ctx = job_start(&two, "n[1-2]", "SCR_FLUSH=1", NULL);
        CHECK_INT(job_offered(&two, ctx), 0);
        job_checkpoint(&two, ctx, "y", 2);
        job_kill(&two, ctx);
        job_lose_dataset(&two, 2);
        ctx = job_start(&two, "n[1-2]", NULL);
        job_check_restart(&two, ctx, "y", 2);
        CHECK_RC(scr_current_all(ctx, "y", &err), SCR_OK, &err);
        CHECK_INT(job_offered(&two, ctx), 2);
        job_kill(&two, ctx);
        MPI_Comm_free(&two.comm);
    }
    mpi_test_barrier(job.comm);
    ctx = job_start(&job, nodes, "SCR_FETCH=0", NULL);
    CHECK_INT(job_offered(&job, ctx), 2);
    CHECK(scr_cache_is_ready(ctx, 1));
    job_kill(&job, ctx);
    job_free(&job);
}

JOB_CASE(what_was_lost_from_cache_is_fetched_before_something_older_is_used, 4)
{
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_CACHE_SIZE=3", "SCR_FLUSH=1", NULL);
    job_checkpoint(job, ctx, "a", 1);
    job_checkpoint(job, ctx, "b", 2);
    job_kill(job, ctx);
    job_lose_dataset(job, 2);
    ctx = job_start(job, nodes, "SCR_CACHE_SIZE=3", NULL);
    job_check_restart(job, ctx, "b", 2);
    job_kill(job, ctx);
    job_lose_dataset(job, 2);
    ctx = job_start(job, nodes, "SCR_CACHE_SIZE=3", "SCR_FETCH=0", NULL);
    job_check_restart(job, ctx, "a", 1);
    job_kill(job, ctx);
}

JOB_CASE(a_cached_file_that_cannot_be_deleted_does_not_stop_the_fall_back, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    char file[900], path[SCR_MAX_NAME];
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_CACHE_SIZE=1", "SCR_FLUSH=1", NULL);
    job_checkpoint(job, ctx, "a", 1);
    job_checkpoint(job, ctx, "b", 2);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_CACHE_SIZE=1", NULL);
    CHECK_RC(scr_start_restart_all(ctx, NULL, &err), SCR_OK, &err);
    snprintf(file, sizeof file, "%s/step.2/file0.%d", job->prefix, job->rank);
    CHECK_RC(scr_route(ctx, file, path, &err), SCR_OK, &err);
    if (job->rank == 1) {
        unlink(path); /* a directory that is not empty is there instead */
        mkdir(path, 0700);
        strncat(path, "/x", sizeof path - strlen(path) - 1);
        fclose(fopen(path, "w"));
    }
    CHECK_RC(scr_complete_restart_all(ctx, 0, &err), SCR_E_INVALID, &err);
    job_check_restart(job, ctx, "a", 1);
    job_kill(job, ctx);
}

JOB_CASE(an_unwritable_flush_file_costs_no_dataset, 4)
{
    char path[800];
    job->out = tmpfile();
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_CACHE_SIZE=1", NULL);
    job_checkpoint(job, ctx, "c1", 1);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_CACHE_SIZE=1", NULL);
    snprintf(path, sizeof path, "%s/.scr/flush.scr.lock", job->prefix);
    mpi_test_barrier(job->comm);
    if (job->rank == 0) {
        unlink(path);
        mkdir(path, 0700);
    }
    mpi_test_barrier(job->comm);
    job_checkpoint(job, ctx, "c2", 2);
    CHECK_INT(job_said(job, "cannot update flush.scr: "), 1);
    CHECK_INT(job_offered(job, ctx), 2); /* c1, offered until then, is gone */
    job_kill(job, ctx);
    ctx = job_start(job, nodes, NULL);
    job_check_restart(job, ctx, "c2", 2);
    CHECK_INT(job_said(job, "flush.scr"), 2); /* once a run */
    job_kill(job, ctx);
    fclose(job->out);
}

static int rename_but_flush_file(int from_dir, const char *from, int to_dir,
                                 const char *to)
{
    size_t n = strlen(to), name = strlen("/flush.scr");
    if (n > name && strcmp(to + n - name, "/flush.scr") == 0) {
        errno = ENOSPC;
        return -1;
    }
    return scr_sys_posix.renameat(from_dir, from, to_dir, to);
}

/* Checkpoints that leave the cache are not in it: that is nothing to write, and no
 * sign that it can be. */
JOB_CASE(a_flush_file_that_can_be_read_and_not_written_is_reported_once, 4)
{
    struct scr_sys sys = scr_sys_posix;
    job->out = tmpfile();
    job->sys = &sys;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_CACHE_SIZE=1", NULL);
    sys.renameat = rename_but_flush_file;
    job_checkpoint(job, ctx, "c1", 1);
    job_checkpoint(job, ctx, "c2", 2);
    job_checkpoint(job, ctx, "c3", 3);
    CHECK_INT(job_said(job, "cannot update flush.scr: "), 1);
    sys.renameat = scr_sys_posix.renameat;
    job_checkpoint(job, ctx, "c4", 4);
    CHECK_INT(job_offered(job, ctx), 4);
    sys.renameat = rename_but_flush_file;
    job_checkpoint(job, ctx, "c5", 5);
    CHECK_INT(job_said(job, "cannot update flush.scr: "), 2);
    job_kill(job, ctx);
    fclose(job->out);
}

JOB_CASE(a_delete_that_fails_halfway_leaves_nothing_that_looks_complete, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    char path[1000];
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    job_checkpoint(job, ctx, "a", 1);
    job_checkpoint(job, ctx, "b", 2);
    snprintf(path, sizeof path, "%s/step.2/file0.1", job->prefix);
    mpi_test_barrier(job->comm);
    if (job->rank == 0) {
        unlink(path);
        mkdir(path, 0700);
        strncat(path, "/x", sizeof path - strlen(path) - 1);
        fclose(fopen(path, "w"));
    }
    mpi_test_barrier(job->comm);
    CHECK(scr_delete_all(ctx, "b", &err) != SCR_OK);
    CHECK_ENTRY(job, 2, INCOMPLETE, CURRENT);
    snprintf(path, sizeof path, "%s/.scr/index.scr", job->prefix);
    mpi_test_barrier(job->comm);
    if (job->rank == 0)
        CHECK(truncate(path, 0) == 0);
    CHECK_ENTRY(job, 1, COMPLETE, CURRENT);
    CHECK_ENTRY(job, 2, ABSENT, NOT_CURRENT);
    job_kill(job, ctx);
}

JOB_CASE(delete_spares_files_that_a_later_dataset_wrote, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    job_checkpoint(job, ctx, "a", 1);
    job_checkpoint(job, ctx, "b", 1); /* the same seed: the same paths */
    CHECK_RC(scr_delete_all(ctx, "a", &err), SCR_OK, &err);
    CHECK_ENTRY(job, 1, ABSENT, NOT_CURRENT);
    job_kill(job, ctx);
    job_lose_dataset(job, 2);
    ctx = job_start(job, nodes, NULL);
    job_check_restart(job, ctx, "b", 1);
    job_kill(job, ctx);
}

JOB_CASE(delete_and_drop_take_all_of_a_name, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    for (int i = 1; i <= 4; i++)
        job_checkpoint(job, ctx, i <= 2 ? "a" : "b", i); /* the paths differ */
    CHECK_RC(scr_delete_all(ctx, "a", &err), SCR_OK, &err);
    CHECK_ENTRY(job, 1, ABSENT, NOT_CURRENT);
    CHECK_ENTRY(job, 2, ABSENT, NOT_CURRENT);
    CHECK_ENTRY(job, 4, COMPLETE, CURRENT);
    CHECK_RC(scr_drop_all(ctx, "b", &err), SCR_OK, &err);
    CHECK_ENTRY(job, 3, ABSENT, NOT_CURRENT);
    CHECK_ENTRY(job, 4, ABSENT, NOT_CURRENT);
    CHECK_RC(scr_drop_all(ctx, "b", &err), SCR_OK, &err);
    job_kill(job, ctx);
}

JOB_CASE(current_that_cannot_be_loaded_costs_nothing, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    char path[800];
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    job_checkpoint(job, ctx, "a", 1);
    job_kill(job, ctx);
    job_lose_dataset(job, 1);
    snprintf(path, sizeof path, "%s/step.1/file0.1", job->prefix);
    mpi_test_barrier(job->comm);
    if (job->rank == 0)
        job_flip(path, 0);
    mpi_test_barrier(job->comm);
    ctx = job_start(job, nodes, "SCR_FETCH=0", NULL);
    job_checkpoint(job, ctx, "b", 2);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, NULL);
    CHECK_INT(job_offered(job, ctx), 2);
    CHECK_RC(scr_current_all(ctx, "a", &err), SCR_E_CORRUPT, &err);
    job_check_restart(job, ctx, "b", 2);
    job_kill(job, ctx);
}

JOB_CASE(a_lost_flush_file_does_not_copy_again_what_is_complete, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct stat before = { 0 }, after = { 0 };
    char path[800];
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    job_checkpoint(job, ctx, "a", 1);
    snprintf(path, sizeof path, "%s/.scr/flush.scr", job->prefix);
    mpi_test_barrier(job->comm);
    if (job->rank == 0)
        unlink(path);
    mpi_test_barrier(job->comm);
    snprintf(path, sizeof path, "%s/step.1/file0.%d", job->prefix, job->rank);
    CHECK(stat(path, &before) == 0);
    CHECK_RC(scr_finalize_all(ctx, &err), SCR_OK, &err);
    CHECK(stat(path, &after) == 0);
    CHECK_INT(after.st_ino, before.st_ino);
    CHECK_ENTRY(job, 1, COMPLETE, CURRENT);
    job_kill(job, ctx);
}

JOB_CASE(purged_ids_are_not_used_again, 4)
{
    struct scr_ctx *ctx = job_start(job, nodes, NULL);
    job_checkpoint(job, ctx, "c1", 1);
    job_checkpoint(job, ctx, "c2", 2);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_CACHE_PURGE=1", NULL);
    CHECK_INT(job_offered(job, ctx), 0);
    CHECK_INT(ctx->last_id, 2);
    job_kill(job, ctx);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(
            RUN(an_output_that_cannot_be_flushed_does_not_keep_the_newest_checkpoint),
            RUN(an_output_that_cannot_be_flushed_keeps_no_checkpoint_from_its_place),
            RUN(an_output_that_stays_needs_room_for_both_on_every_node),
            RUN(an_output_that_failed_reaches_the_prefix_at_the_next_chance),
            RUN(a_late_flush_does_not_move_current_back),
            RUN(output_does_not_evict_a_checkpoint), RUN(current_loads_what_it_names),
            RUN(current_means_the_newer_of_two_with_one_name),
            RUN(an_output_cannot_be_current),
            RUN(newer_output_that_cannot_be_flushed_stays_and_the_choice_holds),
            RUN(a_different_number_of_ranks_does_not_block_newer_datasets),
            RUN(what_was_lost_from_cache_is_fetched_before_something_older_is_used),
            RUN(a_cached_file_that_cannot_be_deleted_does_not_stop_the_fall_back),
            RUN(an_unwritable_flush_file_costs_no_dataset),
            RUN(a_flush_file_that_can_be_read_and_not_written_is_reported_once),
            RUN(a_delete_that_fails_halfway_leaves_nothing_that_looks_complete),
            RUN(delete_spares_files_that_a_later_dataset_wrote),
            RUN(delete_and_drop_take_all_of_a_name),
            RUN(current_that_cannot_be_loaded_costs_nothing),
            RUN(a_lost_flush_file_does_not_copy_again_what_is_complete),
            RUN(purged_ids_are_not_used_again)));
}
