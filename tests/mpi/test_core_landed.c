/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that flushes which did not wait left in place, and failed (P28). */
/* ranks: 4 */
#include "helper_fault.h"
#include "helper_leftovers.h"
#include "helper_prefix.h"
#include "helper_stored.h"
#include "helper_walk.h"
#include "store/arrival.h"
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

/* --- flushes that did not wait, and failed (P28) --- */

enum { GOOD = 1, FAILED, LAST = 6 };

/* The file of the last rank has never room, but in the first checkpoint and the last:
 * those of others land before. */
static long size_too_much(int rank, int file, int seed)
{
    int much = rank == 3 && file == 0 && seed > GOOD && seed < LAST;
    return much ? 6000000 : same_size(rank, file, seed);
}

static int files_of(struct job *job, int seed)
{
    char part[64];
    snprintf(part, sizeof part, "/step.%d/", seed);
    return job_count(job, job->prefix, part);
}

/* A job whose prefix directory has room for two checkpoints, and what one that failed
 * has landed there; the first one is complete. 0: that takes another user. */
static struct scr_ctx *start_small(struct mpi_test *t, struct job *job, const char *how)
{
    struct scr_ctx *ctx = NULL;
    job_new(t, job, 4);
    job->size_of = size_too_much;
    job->out = tmpfile();
    if (make_small(job, "size=3700k")) {
        ctx = job_start(job, nodes, "SCR_FLUSH=1", "SCR_FLUSH_ASYNC=1",
                        "SCR_FLUSH_WIDTH=1", "SCR_CACHE_SIZE=1", how, NULL);
        job_checkpoint(job, ctx, "one", GOOD);
        CHECK_INT(scr_async_wait_all(ctx, 0, NULL), SCR_OK);
    }
    return ctx;
}

static void end_small(struct job *job, int root)
{
    if (root)
        free_small(job);
    fclose(job->out);
    job_free(job);
}

static void fail_and_go_on(struct mpi_test *t, const char *how)
{
    struct job job;
    struct scr_ctx *ctx = start_small(t, &job, how);
    for (int id = FAILED; id < LAST && ctx != NULL; id++) {
        job_checkpoint(&job, ctx, "failed", id);
        CHECK_INT(scr_async_wait_all(ctx, 0, NULL), SCR_E_FULL);
        CHECK_ENTRY(&job, id, INCOMPLETE, NOT_CURRENT);
        CHECK_INT(files_of(&job, id), 0);
    }
    if (ctx != NULL) {
        job_checkpoint(&job, ctx, "last", LAST);
        CHECK_INT(scr_async_wait_all(ctx, 0, NULL), SCR_OK);
        CHECK_ENTRY(&job, LAST, COMPLETE, CURRENT);
        CHECK_ENTRY(&job, GOOD, COMPLETE, NOT_CURRENT);
        job_kill(&job, ctx);
    }
    end_small(&job, ctx != NULL);
}

MPI_CASE(the_next_start_continues_a_flush_that_found_no_room)
{
    struct job job;
    struct scr_ctx *ctx = start_small(t, &job, NULL);
    if (ctx != NULL) {
        job_checkpoint(&job, ctx, "failed", FAILED);
        CHECK_INT(scr_async_wait_all(ctx, 0, NULL), SCR_E_FULL);
        CHECK_INT(files_of(&job, FAILED), 0);
        job_kill(&job, ctx);
        if (job.rank == 0)
            CHECK_INT(mount("none", job.prefix, NULL, MS_REMOUNT, "size=20m"), 0);
        mpi_test_barrier(job.comm);
        ctx = job_start(&job, nodes, "SCR_FLUSH=1", "SCR_FLUSH_ASYNC=1", NULL);
        CHECK_INT(scr_async_wait_all(ctx, 0, NULL), SCR_OK);
        CHECK_ENTRY(&job, FAILED, COMPLETE, CURRENT);
        job_kill(&job, ctx);
    }
    end_small(&job, ctx != NULL);
}

MPI_CASE(failed_asynchronous_flushes_do_not_fill_the_prefix)
{
    fail_and_go_on(t, "SCR_PREFIX_SIZE=0");
    fail_and_go_on(t, "SCR_PREFIX_SIZE=9");
    fail_and_go_on(t, "SCR_FLUSH_TYPE=DAEMON");
}

/* Write n of a rank finds no room, that of a record of files that have landed among
 * them. 0: there were not so many, as the file that is too large took the room before,
 * or this user cannot mount: then *mounted stays 0. */
static int fail_without_record(struct mpi_test *t, const char *room, const char *how,
                               long n, int *mounted)
{
    struct job job;
    struct scr_ctx *ctx = NULL;
    int fired = 0;
    job_new(t, &job, 4);
    job.size_of = size_too_much;
    job.sys = &test_fault_sys;
    job.out = tmpfile();
    if (make_small(&job, room)) {
        *mounted = 1;
        ctx = job_start(&job, nodes, "SCR_FLUSH=0", "SCR_FLUSH_ASYNC=1",
                        "SCR_CACHE_SIZE=1", how, NULL);
        job_checkpoint(&job, ctx, "one", GOOD);
        job_checkpoint(&job, ctx, "failed", FAILED);
        job_arm(&job, 2, TEST_WRITE, n, ENOSPC, TEST_ONCE);
        scr_async_start_all(ctx, FAILED);
        CHECK_INT(scr_async_wait_all(ctx, 0, NULL), SCR_E_FULL);
        fired = job_disarm(&job);
        CHECK_INT(files_of(&job, FAILED), 0);
        job_kill(&job, ctx);
    }
    end_small(&job, ctx != NULL);
    return fired;
}

MPI_CASE(files_whose_record_found_no_room_go_too)
{
    enum { WRITES = 3 * JOB_FILES }; /* of files and records, and some more */
    int plain = 0, packed = 0, mounted = 0;
    for (long n = 0; n < WRITES; n++) {
        plain += fail_without_record(t, "size=3700k", NULL, n, &mounted);
        packed += fail_without_record(t, "size=1000k", "SCR_FLUSH_COMPRESS=ZSTD", n,
                                      &mounted);
    }
    CHECK(!mounted || (plain > 0 && packed > 0));
}

/* The one that fails has the files of the older one, and one more that has no room: it
 * removed the mark of the older one, which still has all its files. */
static long size_one_more(int rank, int file, int seed)
{
    (void)seed;
    return rank == 3 && file == JOB_FILES ? 6000000 : same_size(rank, file, seed);
}

MPI_CASE(files_stay_that_an_older_dataset_can_be_made_of)
{
    struct job job;
    struct scr_ctx *ctx = start_small(t, &job, NULL);
    if (ctx != NULL) {
        job.size_of = size_one_more;
        job_checkpoint(&job, ctx, "failed", GOOD);
        CHECK_INT(scr_async_wait_all(ctx, 0, NULL), SCR_E_FULL);
        CHECK_ENTRY(&job, GOOD, INCOMPLETE, NOT_CURRENT);
        CHECK_INT(files_of(&job, GOOD), 4 * JOB_FILES);
        job_kill(&job, ctx);
        job.size_of = size_too_much;
        job_check_prefix(&job, "m[1-4]", "one", GOOD);
    }
    end_small(&job, ctx != NULL);
}

MPI_CASE(what_landed_of_an_output_stays)
{
    struct job job;
    struct scr_ctx *ctx = start_small(t, &job, NULL);
    if (ctx != NULL) {
        (void)job_write(&job, ctx, "failed", FAILED, SCR_IS_OUTPUT, NULL);
        CHECK_INT(scr_async_wait_all(ctx, 0, NULL), SCR_E_FULL);
        CHECK(files_of(&job, FAILED) > 0);
        job_kill(&job, ctx);
    }
    end_small(&job, ctx != NULL);
}

/* A complete checkpoint, and one with some landed files when this returns, and all of
 * them three seconds later. */
static struct scr_ctx *start_slowly(struct mpi_test *t, struct job *job, int landed,
                                    const char *how)
{
    job_new(t, job, 4);
    job->size_of = same_size;
    job->sys = &test_fault_sys;
    job->even = 1;
    job->out = tmpfile();
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", "SCR_FLUSH_ASYNC=1",
                                    "SCR_FLUSH_WIDTH=1", "SCR_CACHE_SIZE=2", how, NULL);
    job_checkpoint(job, ctx, "one", GOOD);
    CHECK_INT(scr_async_wait_all(ctx, 0, NULL), SCR_OK);
    ctx->prm.flush_async_bw = 400000;
    job_checkpoint(job, ctx, "cancelled", FAILED);
    job_wait_landed(job, FAILED, landed);
    return ctx;
}

/* The older one is whole. */
static void end_slowly(struct mpi_test *t, struct job *job, struct scr_ctx *ctx)
{
    CHECK_INT(job_entry(job, GOOD, NULL, NULL), 1);
    CHECK_INT(parts(job), 0);
    job_kill(job, ctx);
    job_check_prefix(job, "m[1-4]", "one", GOOD);
    fclose(job->out);
    job_free(job);
}

static void change_one_and_cancel(struct mpi_test *t, const char *how)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    int n = 0;
    struct scr_ctx *ctx = start_slowly(t, &job, 3, how);
    char **landed = job_find(job.prefix, "/step.2/file", &n);
    CHECK(n > 1 && n < 4 * JOB_FILES);
    mpi_test_barrier(job.comm);
    if (job.rank == 0 && n > 1) {
        FILE *one = fopen(landed[0], "a");
        CHECK(one != NULL && fputs("changed", one) > 0 && fclose(one) == 0);
    }
    mpi_test_barrier(job.comm);
    CHECK_RC(scr_cache_delete_all(ctx, FAILED, &err), SCR_OK, &err);
    CHECK_INT(files_of(&job, FAILED), 1);
    CHECK(n > 1 && scr_file_is_there(&scr_sys_posix, landed[0]));
    job_find_free(landed, n);
    end_slowly(t, &job, ctx);
}

MPI_CASE(what_landed_goes_with_the_cached_files_if_it_has_not_changed)
{
    change_one_and_cancel(t, NULL);
    change_one_and_cancel(t, "SCR_FLUSH_COMPRESS=ZSTD");
}

/* Directories where ranks that have not ended yet write that they have. */
static void block_records(struct mpi_test *t, struct job *job, int on)
{
    char path[900];
    snprintf(path, sizeof path, "%s/.scr/scr.dataset.2/arrived.%d.jnl", job->prefix,
             job->rank);
    int done = (on ? mkdir(path, 0700) : rmdir(path)) == 0;
    MPI_Allreduce(MPI_IN_PLACE, &done, 1, MPI_INT, MPI_LOR, job->comm);
    CHECK(done);
}

/* All files land, and the flush fails. */
static struct scr_ctx *land_all(struct mpi_test *t, struct job *job, const char *how)
{
    struct scr_ctx *ctx = start_slowly(t, job, 1, how);
    block_records(t, job, 1);
    CHECK(scr_async_wait_all(ctx, FAILED, NULL) != SCR_OK);
    CHECK_INT(job_entry(job, FAILED, NULL, NULL), 0);
    block_records(t, job, 0);
    CHECK_INT(files_of(job, FAILED), 4 * JOB_FILES);
    ctx->prm.flush_async_bw = 0;
    return ctx;
}

static int records(struct job *job)
{
    return job_count(job, job->prefix, "/scr.dataset.2/landed.");
}

/* Of the second rank the last record found no room, say. */
static void lose_records(struct job *job)
{
    char path[900];
    snprintf(path, sizeof path, "%s/.scr/scr.dataset.2/landed.1.jnl", job->prefix);
    if (job->rank == 0)
        unlink(path);
    mpi_test_barrier(job->comm);
}

MPI_CASE(a_dataset_all_of_whose_files_are_there_stays_with_its_records)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = land_all(t, &job, NULL);
    lose_records(&job);
    CHECK_RC(scr_cache_delete_all(ctx, FAILED, &err), SCR_OK, &err);
    CHECK_INT(files_of(&job, FAILED), 4 * JOB_FILES);
    CHECK_INT(records(&job), 3);
    end_slowly(t, &job, ctx);
}

MPI_CASE(a_deletion_finds_compressed_files_that_stayed)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = land_all(t, &job, "SCR_FLUSH_COMPRESS=ZSTD");
    CHECK(job_count(&job, job.prefix, ".zst") > 0);
    CHECK_RC(scr_cache_delete_all(ctx, FAILED, &err), SCR_OK, &err);
    CHECK_RC(scr_delete_all(ctx, "cancelled", &err), SCR_OK, &err);
    CHECK_INT(files_of(&job, FAILED), 0);
    end_slowly(t, &job, ctx);
}

MPI_CASE(what_has_landed_is_not_copied_again)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    struct stat before = { 0 }, after = { 0 };
    int n = 0;
    struct scr_ctx *ctx = land_all(t, &job, NULL);
    char **file = job_find(job.prefix, "/step.2/file", &n);
    CHECK(n > 0 && stat(file[0], &before) == 0);
    mpi_test_barrier(job.comm);
    scr_async_retry_all(ctx);
    CHECK_RC(scr_async_wait_all(ctx, FAILED, &err), SCR_OK, &err);
    CHECK(n > 0 && stat(file[0], &after) == 0);
    CHECK_INT(after.st_ino, before.st_ino);
    CHECK_INT(job_entry(&job, FAILED, NULL, NULL), 1);
    CHECK_INT(records(&job), 0);
    job_kill(&job, ctx);
    job_check_prefix(&job, "m[1-4]", "cancelled", FAILED);
    job_find_free(file, n);
    fclose(job.out);
    job_free(&job);
}

/* An entry becomes complete, or another job's. */
struct edit {
    int id;
    const char *job; /* whose number it is then; NULL: it becomes complete */
};

static int edit_entry(struct scr_index *index, void *arg, int *changed,
                      struct scr_err *err)
{
    const struct edit *e = arg;
    scr_hash *dset = scr_hash_new();
    int rc = scr_index_dataset(index, e->id, dset);
    if (e->job != NULL)
        scr_hash_set_val(dset, "JOBID", e->job);
    if (rc == SCR_OK)
        rc = e->job != NULL ? scr_index_add(index, dset, 0, time(NULL))
                            : scr_index_arrive(index, dset, time(NULL));
    scr_hash_delete(dset);
    *changed = 1;
    return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "no such dataset");
}

MPI_CASE(old_records_of_a_complete_dataset_prove_nothing)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_prefix p = { 0 };
    struct stat st;
    int n = 0;
    struct edit arrives = { FAILED, NULL }; /* as scr_index --add has it */
    struct scr_ctx *ctx = land_all(t, &job, NULL);
    char **file = job_find(job.prefix, "/step.2/file", &n);
    CHECK(n > 0 && stat(file[0], &st) == 0);
    mpi_test_barrier(job.comm);
    if (job.rank == 0 && n > 0) {
        const struct timespec as_before[] = { st.st_atim, st.st_mtim };
        job_flip(file[0], 5000);
        CHECK_INT(utimensat(AT_FDCWD, file[0], as_before, 0), 0);
        CHECK_INT(scr_prefix_open(&posix_env, job.prefix, 0, &p, NULL), SCR_OK);
        CHECK_INT(scr_arrival_give_up(&posix_env, &p, FAILED, NULL), SCR_OK);
        CHECK_INT(scr_prefix_index_update(&posix_env, &p, edit_entry, &arrives, NULL),
                  SCR_OK);
        scr_prefix_fini(&p);
    }
    mpi_test_barrier(job.comm);
    CHECK_INT(records(&job), 4);
    job_arm(&job, 0, TEST_RENAMEAT, 2, EIO, TEST_ONCE); /* after flush.scr and index */
    int rc = scr_flush_dataset_all(ctx, FAILED, &err);
    CHECK(job_disarm(&job));
    CHECK_RC(rc, SCR_E_IO, &err);
    CHECK_INT(job_entry(&job, FAILED, NULL, NULL), 0);
    scr_err_clear(&err);
    CHECK_RC(scr_flush_dataset_all(ctx, FAILED, &err), SCR_OK, &err);
    CHECK_INT(records(&job), 0);
    job_kill(&job, ctx);
    job_check_prefix(&job, "m[1-4]", "cancelled", FAILED);
    job_find_free(file, n);
    fclose(job.out);
    job_free(&job);
}

MPI_CASE(plans_of_another_job_stay)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_prefix p = { 0 };
    struct scr_ctx *ctx = land_all(t, &job, NULL);
    CHECK_INT(scr_prefix_open(&posix_env, job.prefix, 0, &p, NULL), SCR_OK);
    CHECK(scr_arrival_has_plan(&posix_env, &p, FAILED));
    mpi_test_barrier(job.comm);
    struct edit other = { FAILED, "other" };
    if (job.rank == 0)
        CHECK_INT(scr_prefix_index_update(&posix_env, &p, edit_entry, &other, NULL),
                  SCR_OK);
    mpi_test_barrier(job.comm);
    CHECK_RC(scr_flush_dataset_all(ctx, FAILED, &err), SCR_E_TAKEN, &err);
    CHECK_RC(scr_cache_delete_all(ctx, FAILED, &err), SCR_OK, &err);
    CHECK(scr_arrival_has_plan(&posix_env, &p, FAILED));
    CHECK_INT(records(&job), 4);
    CHECK_INT(files_of(&job, FAILED), 4 * JOB_FILES);
    scr_prefix_fini(&p);
    end_slowly(t, &job, ctx);
}

/* Call n of the removal fails on one rank, or all from there on, as if it had died.
 * 0: there were not so many. */
static int fail_to_take_back(struct mpi_test *t, int victim, long n)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = start_slowly(t, &job, 3, "SCR_FLUSH_COMPRESS=ZSTD");
    (void)scr_async_drop_all(ctx, FAILED); /* nothing is copied any more */
    scr_cache_held(ctx, FAILED)->failed = 1;
    int all = files_of(&job, FAILED) == 4 * JOB_FILES;
    job_arm(&job, victim, TEST_ANY, n, EIO, n % 2 ? TEST_ONCE : TEST_FOREVER);
    int rc = scr_cache_delete_all(ctx, FAILED, &err);
    int fired = job_disarm(&job);
    CHECK(job_same_code(&job, rc));
    if (!fired)
        CHECK_INT(files_of(&job, FAILED), all ? 4 * JOB_FILES : 0);
    CHECK_RC(scr_delete_all(ctx, "cancelled", &err), SCR_OK, &err);
    CHECK_INT(files_of(&job, FAILED), 0);
    end_slowly(t, &job, ctx);
    return fired;
}

MPI_CASE(whatever_call_of_it_fails_all_can_be_deleted)
{
    for (int victim = 0; victim < 4; victim += 3) {
        int fired = 1;
        for (long n = walk_from(victim + 1); fired; n = walk_from(n + 5))
            fired = fail_to_take_back(t, victim, n);
    }
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(failed_asynchronous_flushes_do_not_fill_the_prefix),
                  RUN(files_whose_record_found_no_room_go_too),
                  RUN(the_next_start_continues_a_flush_that_found_no_room),
                  RUN(files_stay_that_an_older_dataset_can_be_made_of),
                  RUN(what_landed_of_an_output_stays),
                  RUN(what_landed_goes_with_the_cached_files_if_it_has_not_changed),
                  RUN(a_dataset_all_of_whose_files_are_there_stays_with_its_records),
                  RUN(a_deletion_finds_compressed_files_that_stayed),
                  RUN(what_has_landed_is_not_copied_again),
                  RUN(old_records_of_a_complete_dataset_prove_nothing),
                  RUN(plans_of_another_job_stay),
                  RUN(whatever_call_of_it_fails_all_can_be_deleted)));
}
