/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets that bypass the cache and have files where an older one has its own: that
 * stays complete and whole until all of the new one is written (invariant P8). */
/* ranks: 4 */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "helper_fault.h"
#include "helper_prefix.h"
#include "helper_shared.h"
#include "helper_stored.h"
#include "store/deletion.h"
#include "store/paths.h"

static const char *const nodes = "n[1-4]";
static const char *const bypass = "SCR_CACHE_BYPASS=1";

/* --- one file a rank, A/file.<rank>, whatever the checkpoint --- */

static int write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    int ok = f != NULL && fputs(text, f) >= 0;
    return f != NULL && fclose(f) == 0 && ok;
}

static int has_text(const char *path, const char *text)
{
    char got[64] = "";
    FILE *f = fopen(path, "r");
    size_t n = f != NULL ? fread(got, 1, sizeof got - 1, f) : 0;
    if (f != NULL)
        fclose(f);
    return n > 0 && strcmp(got, text) == 0;
}

static int route_mine(struct job *job, struct scr_ctx *ctx, char *path,
                      struct scr_err *err)
{
    char name[32];
    snprintf(name, sizeof name, "A/file.%d", job->rank);
    return job_route(job, ctx, name, path, err);
}

/* Start, route, write; path: of this rank's file. */
static void begin(struct job *job, struct scr_ctx *ctx, const char *text, char *path)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    CHECK_RC(scr_start_output_all(ctx, "c", SCR_IS_CKPT, &err), SCR_OK, &err);
    CHECK_RC(route_mine(job, ctx, path, &err), SCR_OK, &err);
    CHECK(write_text(path, text));
}

static void put(struct job *job, struct scr_ctx *ctx, const char *text)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    char path[SCR_MAX_NAME] = "";
    begin(job, ctx, text, path);
    CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_OK, &err);
}

/* 1 on all ranks if all files have that text in their places. */
static int all_are(struct job *job, const char *text)
{
    char path[900];
    int all = 0;
    snprintf(path, sizeof path, "%s/A/file.%d", job->prefix, job->rank);
    mpi_test_barrier(job->comm);
    int is = has_text(path, text);
    MPI_Allreduce(&is, &all, 1, MPI_INT, MPI_MIN, job->comm);
    return all;
}

#define CHECK_COMPLETE(job, id, want) CHECK_INT(job_entry(job, id, NULL, NULL), want)

/* Nothing but what is complete or listed. */
#define CHECK_TIDY(job)                                                                \
    do {                                                                               \
        CHECK(!job_has(job, "A/" SCR_PART_DIR "2"));                                   \
        CHECK(!job_has(job, "A/" SCR_PART_DIR "3"));                                   \
        CHECK_INT(job_count(job, (job)->prefix, SCR_PART_DIR), 0);                     \
        CHECK_INT(job_count(job, (job)->prefix, "flushing.lock"), 0);                  \
        CHECK_INT(job_count(job, (job)->prefix, "/replacing.scr"), 0);                 \
    } while (0)

/* --- it succeeds, it fails, it dies --- */

JOB_CASE(the_older_one_is_complete_until_the_new_one_is, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    char path[SCR_MAX_NAME] = "", want[900];
    struct scr_ctx *ctx = job_start(job, nodes, bypass, NULL);
    put(job, ctx, "first");
    begin(job, ctx, "second", path);
    snprintf(want, sizeof want, "%s/A/" SCR_PART_DIR "2/file.%d", job->prefix,
             job->rank);
    CHECK(strcmp(path, want) == 0);
    CHECK(all_are(job, "first"));
    CHECK_COMPLETE(job, 1, 1);
    CHECK_COMPLETE(job, 2, 0);
    CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_OK, &err);
    CHECK(all_are(job, "second"));
    CHECK_COMPLETE(job, 1, -1);
    CHECK_COMPLETE(job, 2, 1);
    CHECK(!job_has(job, ".scr/scr.dataset.1/summary.scr"));
    CHECK_TIDY(job);
    put(job, ctx, "third");
    CHECK(all_are(job, "third"));
    CHECK_COMPLETE(job, 3, 1);
    CHECK_TIDY(job);
    job_kill(job, ctx);
}

JOB_CASE(a_run_killed_while_it_writes_leaves_the_older_one_and_nothing_else, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    char path[SCR_MAX_NAME] = "";
    struct scr_ctx *ctx = job_start(job, nodes, bypass, NULL);
    put(job, ctx, "first");
    CHECK_RC(scr_start_output_all(ctx, "c", SCR_IS_CKPT, &err), SCR_OK, &err);
    CHECK_RC(route_mine(job, ctx, path, &err), SCR_OK, &err);
    if (job->rank % 2 == 0)
        CHECK(write_text(path, "sec"));
    job_kill(job, ctx);
    CHECK(job_has(job, "A/" SCR_PART_DIR "2/file.2"));
    ctx = job_start(job, nodes, bypass, "SCR_JOB_ID=next", NULL);
    CHECK_TIDY(job);
    CHECK_INT(job_offered(job, ctx), 1);
    CHECK(all_are(job, "first"));
    put(job, ctx, "third");
    CHECK_COMPLETE(job, 3, 1);
    job_kill(job, ctx);
}

JOB_CASE(one_that_the_application_calls_bad_costs_nothing, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    char path[SCR_MAX_NAME] = "";
    struct scr_ctx *ctx = job_start(job, nodes, bypass, NULL);
    put(job, ctx, "first");
    begin(job, ctx, "second", path);
    if (job->rank == 1) { /* a file that a library makes next to it */
        strncat(path, ".tmp", sizeof path - strlen(path) - 1);
        CHECK(write_text(path, "x"));
    }
    CHECK_RC(scr_complete_output_all(ctx, job->rank != 3, &err), SCR_E_INVALID, &err);
    CHECK_COMPLETE(job, 1, 1);
    CHECK(all_are(job, "first"));
    CHECK_TIDY(job);
    put(job, ctx, "third");
    CHECK_TIDY(job);
    job_kill(job, ctx);
}

JOB_CASE(a_directory_that_takes_no_new_files_costs_nothing, 4)
{
    static const int errors[] = { EROFS, ENOSPC, EACCES };
    char path[SCR_MAX_NAME] = "";
    job->sys = &test_fault_sys;
    struct scr_ctx *ctx = job_start(job, nodes, bypass, NULL);
    put(job, ctx, "first");
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        struct scr_err err = SCR_ERR_INIT, late = SCR_ERR_INIT;
        CHECK_RC(scr_start_output_all(ctx, "c", SCR_IS_CKPT, &err), SCR_OK, &err);
        job_arm(job, 2, TEST_MKDIRAT, 0, errors[i], TEST_FOREVER);
        if (job->rank == 2)
            CHECK(route_mine(job, ctx, path, &err) != SCR_OK);
        CHECK(job_disarm(job));
        if (job->rank != 2) {
            CHECK_RC(route_mine(job, ctx, path, &err), SCR_OK, &err);
            CHECK(write_text(path, "second"));
        }
        CHECK(scr_complete_output_all(ctx, 1, &late) != SCR_OK);
        CHECK_TEXT(&late, "the dataset lacks a file");
        CHECK_COMPLETE(job, 1, 1);
        CHECK(all_are(job, "first"));
        CHECK_TIDY(job);
    }
    job_kill(job, ctx);
}

JOB_CASE(a_file_next_to_another_is_no_file_of_a_dataset, 4)
{
    struct scr_err err = SCR_ERR_INIT, late = SCR_ERR_INIT;
    char path[SCR_MAX_NAME] = "", again[SCR_MAX_NAME];
    struct scr_ctx *ctx = job_start(job, nodes, bypass, NULL);
    put(job, ctx, "first");
    begin(job, ctx, "second", path);
    CHECK_RC(scr_route(ctx, path, again, &err), SCR_E_OUTSIDE, &err);
    CHECK_TEXT(&err, "reserved for SCR");
    CHECK_RC(scr_complete_output_all(ctx, 1, &late), SCR_E_OUTSIDE, &late);
    CHECK_TIDY(job);
    job_kill(job, ctx);
}

/* --- files of all ranks --- */

/* path: where the ranks write it, after each other, so that each finds what the last
 * one has made; the same for all. */
static void route_in_turns(struct job *job, struct scr_ctx *ctx, char *path)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    char first[SCR_MAX_NAME];
    for (int r = 0; r < job->size; r++) {
        if (r == job->rank) {
            CHECK_RC(job_route(job, ctx, "shared.1", path, &err), SCR_OK, &err);
            FILE *f = fopen(path, "a");
            CHECK(f != NULL && fclose(f) == 0);
        }
        mpi_test_barrier(job->comm);
    }
    memcpy(first, path, sizeof first);
    MPI_Bcast(first, sizeof first, MPI_CHAR, 0, job->comm);
    CHECK(strcmp(path, first) == 0);
}

JOB_CASE(all_ranks_are_given_one_path_of_a_shared_file, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    char path[SCR_MAX_NAME] = "";
    struct scr_ctx *ctx = job_start(job, nodes, bypass, NULL);
    for (int i = 1; i <= 3; i++) {
        CHECK_RC(scr_start_output_all(ctx, "c", SCR_IS_CKPT, &err), SCR_OK, &err);
        route_in_turns(job, ctx, path);
        CHECK((strstr(path, SCR_PART_DIR) != NULL) == (i > 1));
        CHECK(job_write_shared(job, ctx, 1));
        CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_OK, &err);
        CHECK_COMPLETE(job, i, 1);
        if (i > 1)
            CHECK_COMPLETE(job, i - 1, -1);
        CHECK_TIDY(job);
    }
    CHECK_INT(job_offered(job, ctx), 3);
    CHECK_RC(scr_start_restart_all(ctx, NULL, &err), SCR_OK, &err);
    CHECK(job_shared_ok(job, ctx, 1));
    CHECK_RC(scr_complete_restart_all(ctx, 1, &err), SCR_OK, &err);
    job_kill(job, ctx);
}

/* As a deletion on a full file system leaves dataset 1, which the index still calls
 * complete. */
static void delete_half(struct job *job, int has_list)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    const struct scr_env env = { .sys = &scr_sys_posix };
    struct scr_prefix p = { 0 };
    char file[900];
    snprintf(file, sizeof file, "%s/shared.1", job->prefix);
    mpi_test_barrier(job->comm);
    if (job->rank == 0) {
        CHECK_RC(scr_prefix_open(&env, job->prefix, 0, &p, &err), SCR_OK, &err);
        CHECK_RC(scr_prefix_summary_remove(&env, &p, 1, &err), SCR_OK, &err);
        CHECK(unlink(file) == 0);
        if (!has_list)
            CHECK_RC(scr_deletion_records(&env, &p, 1, &err), SCR_OK, &err);
        scr_prefix_fini(&p);
    }
    mpi_test_barrier(job->comm);
}

static void share_after_half(struct job *job, int has_list)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    char path[SCR_MAX_NAME] = "";
    struct scr_ctx *ctx = job_start(job, nodes, bypass, NULL);
    CHECK_RC(scr_start_output_all(ctx, "c", SCR_IS_CKPT, &err), SCR_OK, &err);
    CHECK(job_write_shared(job, ctx, 1));
    CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_OK, &err);
    delete_half(job, has_list);
    CHECK_COMPLETE(job, 1, 1);
    CHECK_RC(scr_start_output_all(ctx, "c", SCR_IS_CKPT, &err), SCR_OK, &err);
    route_in_turns(job, ctx, path);
    CHECK((strstr(path, SCR_PART_DIR) != NULL) == has_list);
    CHECK(job_write_shared(job, ctx, 1));
    CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_OK, &err);
    CHECK_COMPLETE(job, 2, 1);
    CHECK_TIDY(job);
    CHECK_INT(job_offered(job, ctx), 2);
    CHECK_RC(scr_start_restart_all(ctx, NULL, &err), SCR_OK, &err);
    CHECK(job_shared_ok(job, ctx, 1));
    CHECK_RC(scr_complete_restart_all(ctx, 1, &err), SCR_OK, &err);
    job_kill(job, ctx);
}

JOB_CASE(also_where_a_deletion_was_killed_on_a_full_file_system, 4)
{
    share_after_half(job, 1);
}

JOB_CASE(also_where_only_the_entry_of_a_deleted_one_is_left, 4)
{
    share_after_half(job, 0);
}

/* --- the older one is deleted meanwhile --- */

/* As another job or scr_index does it. */
static void delete_older(struct job *job, int id, const char *file)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    const struct scr_env env = { .sys = &scr_sys_posix };
    const struct scr_log quiet = { 0 };
    struct scr_prefix p = { 0 };
    struct scr_table paths;
    scr_table_init(&paths, sizeof(struct scr_item));
    mpi_test_barrier(job->comm);
    if (job->rank == 0) {
        CHECK_RC(scr_prefix_open(&env, job->prefix, 0, &p, &err), SCR_OK, &err);
        CHECK_RC(scr_deletion_begin(&env, &p, id, &err), SCR_OK, &err);
        if (file != NULL)
            CHECK(scr_table_add(&paths, file) != NULL);
        else
            CHECK_RC(scr_paths_add(&env, &p, id, &paths, &err), SCR_OK, &err);
        CHECK_RC(scr_prefix_summary_remove(&env, &p, id, &err), SCR_OK, &err);
        CHECK_RC(scr_deletion_files(&env, &p, &quiet, &paths, NULL, &err), SCR_OK,
                 &err);
        CHECK_RC(scr_deletion_records(&env, &p, id, &err), SCR_OK, &err);
        CHECK_RC(scr_deletion_forget(&env, &p, id, &err), SCR_OK, &err);
        scr_prefix_fini(&p);
    }
    scr_table_fini(&paths);
    mpi_test_barrier(job->comm);
}

JOB_CASE(the_older_one_may_be_deleted_at_the_same_time, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    char path[SCR_MAX_NAME] = "";
    struct scr_ctx *ctx = job_start(job, nodes, bypass, NULL);
    put(job, ctx, "first");
    begin(job, ctx, "second", path);
    delete_older(job, 1, NULL);
    CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_OK, &err);
    CHECK(all_are(job, "second"));
    CHECK_COMPLETE(job, 1, -1);
    CHECK_COMPLETE(job, 2, 1);
    CHECK_TIDY(job);
    job_kill(job, ctx);
}

/* A deletion that had looked at all datasets before the new one was recorded, and gets
 * to the files when that is written: rank 0's. */
struct late {
    struct scr_env env;
    struct scr_prefix p;
    struct scr_lock lock;
    struct scr_table paths;
    pthread_t thread;
};

static void *delete_late(void *arg)
{
    struct late *l = arg;
    const struct scr_log quiet = { 0 };
    (void)usleep(300000);
    (void)scr_deletion_files(&l->env, &l->p, &quiet, &l->paths, NULL, NULL);
    scr_lock_release(l->env.sys, &l->lock);
    return NULL;
}

static void begin_late(struct job *job, struct late *l)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    l->env = (struct scr_env){ .sys = &scr_sys_posix };
    scr_table_init(&l->paths, sizeof(struct scr_item));
    CHECK_RC(scr_prefix_open(&l->env, job->prefix, 0, &l->p, &err), SCR_OK, &err);
    CHECK_RC(scr_deletion_begin(&l->env, &l->p, 1, &err), SCR_OK, &err);
    CHECK_RC(scr_deletion_hold(&l->env, &l->p, &l->lock, &err), SCR_OK, &err);
    CHECK_RC(scr_paths_add(&l->env, &l->p, 1, &l->paths, &err), SCR_OK, &err);
    CHECK_INT(l->paths.n, 4);
    CHECK_INT(pthread_create(&l->thread, NULL, delete_late, l), 0);
}

static void end_late(struct late *l)
{
    (void)pthread_join(l->thread, NULL);
    scr_table_fini(&l->paths);
    scr_prefix_fini(&l->p);
}

static void replace_during_deletion(struct job *job, const char *setting)
{
    struct mpi_test *t = job->t;
    struct late late = { 0 };
    job->out = fopen("/dev/null", "w");
    struct scr_ctx *ctx = job_start(job, nodes, setting, NULL);
    put(job, ctx, "first");
    if (job->rank == 0)
        begin_late(job, &late);
    mpi_test_barrier(job->comm);
    put(job, ctx, "second");
    if (job->rank == 0)
        end_late(&late);
    CHECK(all_are(job, "second"));
    CHECK_COMPLETE(job, 2, 1);
    job_kill(job, ctx);
    fclose(job->out);
}

JOB_CASE(a_deletion_that_has_begun_ends_before_files_are_replaced, 4)
{
    replace_during_deletion(job, bypass);
}

JOB_CASE(also_before_a_flush_replaces_them, 4)
{
    replace_during_deletion(job, "SCR_FLUSH=1");
}

JOB_CASE(a_shared_file_at_two_paths_is_refused, 4)
{
    struct scr_err err = SCR_ERR_INIT, late = SCR_ERR_INIT;
    char path[SCR_MAX_NAME] = "";
    struct scr_ctx *ctx = job_start(job, nodes, bypass, NULL);
    for (int i = 1; i <= 2; i++) {
        CHECK_RC(scr_start_output_all(ctx, "c", SCR_IS_CKPT, &err), SCR_OK, &err);
        if (i == 2 && job->rank != 2)
            CHECK_RC(job_route(job, ctx, "shared.1", path, &err), SCR_OK, &err);
        if (i == 2)
            delete_older(job, 1, "shared.1");
        if (i == 1 || job->rank == 2)
            CHECK_RC(job_route(job, ctx, "shared.1", path, &err), SCR_OK, &err);
        if (i == 2) { /* where ranks open it together none does */
            MPI_File f;
            CHECK_RC(scr_check_open_all(ctx, job->comm, path, &late), SCR_E_MISMATCH,
                     &late);
            scr_err_clear(&ctx->out.refused);
            scr_err_clear(&late);
            CHECK(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_WRONLY,
                                MPI_INFO_NULL, &f) == MPI_SUCCESS &&
                  MPI_File_close(&f) == MPI_SUCCESS);
        } else {
            CHECK(job_write_shared(job, ctx, 1));
            CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_OK, &err);
        }
    }
    CHECK_RC(scr_complete_output_all(ctx, 1, &late), SCR_E_MISMATCH, &late);
    CHECK_TEXT(&late, "written to two paths");
    CHECK_TIDY(job);
    job_kill(job, ctx);
}

/* --- system calls that fail --- */

/* After a death or failure, with all calls working again: a start finds the first or
 * the second, whole; the second if that was acknowledged. */
static void check_start(struct job *of, int acknowledged)
{
    struct mpi_test *t = of->t;
    struct job job = *of;
    job.sys = NULL;
    struct scr_ctx *ctx = job_start(&job, nodes, bypass, NULL);
    CHECK_TIDY(&job);
    int offered = job_offered(&job, ctx);
    CHECK(offered == 2 || (offered == 1 && !acknowledged));
    CHECK(all_are(&job, offered == 2 ? "second" : "first"));
    CHECK_INT(job_entry(&job, 1, NULL, NULL) == 1, offered == 1);
    put(&job, ctx, "third");
    CHECK(all_are(&job, "third"));
    CHECK_TIDY(&job);
    job_kill(&job, ctx);
}

/* Of a deletion that is over. */
static void leave_lock(struct job *job)
{
    struct mpi_test *t = job->t;
    char path[900];
    snprintf(path, sizeof path, "%s/.scr/deleting.lock", job->prefix);
    CHECK(job->rank > 0 || write_text(path, ""));
}

/* Call number n of Complete_output fails on rank victim, or all do from there on (-1).
 * 0 when there is no call n. crc: as in SCR_CRC_ON_FLUSH. */
static int fail_complete(struct mpi_test *t, int victim, int error, long n,
                         const char *crc)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    char path[SCR_MAX_NAME] = "";
    job_new(t, &job, 4);
    job.sys = &test_fault_sys;
    job.out = fopen("/dev/null", "w");
    struct scr_ctx *ctx = job_start(&job, nodes, bypass, crc, NULL);
    put(&job, ctx, "first");
    leave_lock(&job);
    begin(&job, ctx, "second", path);
    job_arm(&job, victim, TEST_ANY, n, error, victim < 0 ? TEST_FOREVER : TEST_ONCE);
    int rc = scr_complete_output_all(ctx, 1, &err);
    int fired = job_disarm(&job);
    CHECK(job_same_code(&job, rc));
    CHECK(fired || rc == SCR_OK);
    if (victim >= 0 && n % 2) { /* or it continues */
        put(&job, ctx, "third");
        CHECK(all_are(&job, "third"));
        CHECK_COMPLETE(&job, 3, 1);
        job_kill(&job, ctx);
    } else {
        job_kill(&job, ctx);
        check_start(&job, rc == SCR_OK);
    }
    if (!mpi_test_good(t) && job.rank == 0)
        fprintf(stderr, "call %ld failed on rank %d\n", n, victim);
    fclose(job.out);
    job_free(&job);
    return fired;
}

/* Waiting ranks of MPICH spin on the cores. */
#ifdef MPICH_VERSION
enum { STRIDE = 13 };
#else
enum { STRIDE = 3 };
#endif

static void fail_each(struct mpi_test *t, int victim, int error, const char *crc)
{
    long n = victim + 1;
    while (n < 2000 && mpi_test_good(t) && fail_complete(t, victim, error, n, crc))
        n += STRIDE;
    CHECK(n > 10 && n < 2000);
    if (t->comm.rank == 0)
        printf("       %ld calls failed in turn, of %ld\n", n / STRIDE, n);
}

MPI_CASE(each_call_that_completes_it_fails_once)
{
    fail_each(t, 0, EIO, "SCR_CRC_ON_FLUSH=1");
    fail_each(t, 2, ENOSPC, "SCR_CRC_ON_FLUSH=0");
}

MPI_CASE(the_job_dies_at_each_call_that_completes_it)
{
    fail_each(t, -1, EROFS, "SCR_CRC_ON_FLUSH=0");
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(
            RUN(the_older_one_is_complete_until_the_new_one_is),
            RUN(a_run_killed_while_it_writes_leaves_the_older_one_and_nothing_else),
            RUN(one_that_the_application_calls_bad_costs_nothing),
            RUN(a_directory_that_takes_no_new_files_costs_nothing),
            RUN(a_file_next_to_another_is_no_file_of_a_dataset),
            RUN(all_ranks_are_given_one_path_of_a_shared_file),
            RUN(also_where_a_deletion_was_killed_on_a_full_file_system),
            RUN(also_where_only_the_entry_of_a_deleted_one_is_left),
            RUN(the_older_one_may_be_deleted_at_the_same_time),
            RUN(a_deletion_that_has_begun_ends_before_files_are_replaced),
            RUN(also_before_a_flush_replaces_them),
            RUN(a_shared_file_at_two_paths_is_refused),
            RUN(each_call_that_completes_it_fails_once),
            RUN(the_job_dies_at_each_call_that_completes_it)));
}
