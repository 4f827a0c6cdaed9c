/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that write every checkpoint to the same files leave one row of the index,
 * and nothing of the older ones (invariant P27). */
/* ranks: 4 */
#include <errno.h>

#include "helper_fault.h"
#include "helper_pfs.h"
#include "helper_prefix.h"
#include "store/dset_names.h"

static const char *const nodes = "n[1-4]";

enum { CKPT = 1, BOTH = 3 };

/* One file a rank in each of these directories below the prefix, a letter each. */
static int write_in(struct job *job, struct scr_ctx *ctx, const char *name, int flags,
                    const char *dirs, struct scr_err *err)
{
    int rc = scr_start_output_all(ctx, name, flags, err), ok = 1;
    if (rc != SCR_OK)
        return rc;
    for (const char *d = dirs; *d != '\0'; d++) {
        char file[900], path[SCR_MAX_NAME] = "";
        snprintf(file, sizeof file, "%s/%c/f.%d", job->prefix, *d, job->rank);
        FILE *f = scr_route(ctx, file, path, err) == SCR_OK ? fopen(path, "w") : NULL;
        ok = f != NULL && fprintf(f, "%s in %s", name, dirs) > 0 && ok;
        ok = (f == NULL || fclose(f) == 0) && ok;
    }
    return scr_complete_output_all(ctx, ok, err);
}

static void write_ok(struct job *job, struct scr_ctx *ctx, const char *name, int flags,
                     const char *dirs)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    CHECK_RC(write_in(job, ctx, name, flags, dirs, &err), SCR_OK, &err);
}

/* Whether these ids, ascending, are those of all rows, and of all directories. */
static int are_left(struct job *job, int n, const int *want)
{
    struct scr_env env = { .sys = &scr_sys_posix };
    char dir[800];
    int *ids = NULL, rows = 0;
    size_t found = 0;
    for (int id = 1; id <= 40; id++)
        rows += job_entry(job, id, NULL, NULL) >= 0;
    snprintf(dir, sizeof dir, "%s/.scr", job->prefix);
    int same = scr_dset_ids(&env, dir, &ids, &found, NULL) == SCR_OK && rows == n &&
               found == (size_t)n;
    for (int i = 0; i < n && same; i++)
        same = ids[i] == want[i];
    free(ids);
    for (int i = 0; i < n; i++)
        same = job_entry(job, want[i], NULL, NULL) >= 0 && same;
    mpi_test_barrier(job->comm);
    return same;
}

#define CHECK_LEFT(job, ...)                                                           \
    CHECK(are_left(job, sizeof(int[]){ __VA_ARGS__ } / sizeof(int),                    \
                   (int[]){ __VA_ARGS__ }))

/* --- one row --- */

enum { MANY = 20 };

static void write_many(struct mpi_test *t, int same_name, const char *how)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    job_new(t, &job, 4);
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_FLUSH=1", how, NULL);
    for (int i = 1; i <= MANY; i++) {
        char name[16];
        snprintf(name, sizeof name, same_name ? "ckpt" : "ckpt.%d", i);
        write_ok(&job, ctx, name, CKPT, "A");
    }
    CHECK_RC(scr_async_wait_all(ctx, 0, &err), SCR_OK, &err);
    CHECK_LEFT(&job, MANY);
    CHECK_ENTRY(&job, MANY, COMPLETE, CURRENT);
    job_kill(&job, ctx);
    /* No number is given twice, also when nothing is left in cache. */
    job_lose_node(&job, nodes);
    ctx = job_start(&job, nodes, "SCR_FLUSH=1", how, NULL);
    CHECK_INT(job_offered(&job, ctx), MANY);
    write_ok(&job, ctx, "next", CKPT, "B");
    CHECK_RC(scr_async_wait_all(ctx, 0, &err), SCR_OK, &err);
    CHECK_LEFT(&job, MANY, MANY + 1);
    job_kill(&job, ctx);
    job_free(&job);
}

MPI_CASE(constant_file_names_leave_one_row)
{
    write_many(t, 0, "SCR_FLUSH_ASYNC=0");
    write_many(t, 0, "SCR_FLUSH_ASYNC=1");
    write_many(t, 0, "SCR_CACHE_BYPASS=1");
}

MPI_CASE(constant_names_of_the_dataset_leave_one_row)
{
    write_many(t, 1, "SCR_FLUSH_ASYNC=0");
}

/* --- what stays --- */

static void overlap(struct mpi_test *t, const char *how)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    job_new(t, &job, 4);
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_FLUSH=1", how, NULL);
    write_ok(&job, ctx, "one", CKPT, "AB");
    write_ok(&job, ctx, "two", CKPT, "A");
    write_ok(&job, ctx, "three", CKPT, "C");
    CHECK_RC(scr_async_wait_all(ctx, 0, &err), SCR_OK, &err);
    CHECK_LEFT(&job, 1, 2, 3);
    CHECK_ENTRY(&job, 1, INCOMPLETE, NOT_CURRENT);
    CHECK_ENTRY(&job, 2, COMPLETE, NOT_CURRENT);
    write_ok(&job, ctx, "four", CKPT, "B");
    CHECK_RC(scr_async_wait_all(ctx, 0, &err), SCR_OK, &err);
    CHECK_LEFT(&job, 2, 3, 4);
    CHECK_ENTRY(&job, 2, COMPLETE, NOT_CURRENT);
    job_kill(&job, ctx);
    job_free(&job);
}

MPI_CASE(a_dataset_with_its_own_file_keeps_its_row)
{
    overlap(t, "SCR_FLUSH_ASYNC=0");
    overlap(t, "SCR_FLUSH_ASYNC=1");
    overlap(t, "SCR_CACHE_BYPASS=1");
}

/* --- flushes that failed --- */

JOB_CASE(the_next_flush_removes_what_one_that_failed_had_demoted, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    job->out = fopen("/dev/null", "w");
    pfs_reset();
    job->sys = &pfs_sys;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    write_ok(job, ctx, "one", CKPT, "A");
    pfs_control.fail_path = "summary.scr";
    (void)write_in(job, ctx, "two", CKPT, "A", &err);
    pfs_reset();
    CHECK_ENTRY(job, 1, INCOMPLETE, NOT_CURRENT);
    CHECK_ENTRY(job, 2, INCOMPLETE, NOT_CURRENT);
    write_ok(job, ctx, "three", CKPT, "A");
    CHECK_LEFT(job, 3);
    job_kill(job, ctx);
    fclose(job->out);
}

/* The job dies at call n of a flush that replaces files, or the call fails on rank 0.
 */
static int die_replacing(struct mpi_test *t, int victim, long n)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    job_new(t, &job, 4);
    job.out = fopen("/dev/null", "w");
    job.sys = &test_fault_sys;
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_FLUSH=0", NULL);
    write_ok(&job, ctx, "one", CKPT, "A");
    CHECK_RC(scr_flush_dataset_all(ctx, 1, &err), SCR_OK, &err);
    write_ok(&job, ctx, "two", CKPT, "A");
    job_arm(&job, victim, TEST_ANY, n, EIO, victim < 0 ? TEST_FOREVER : TEST_ONCE);
    (void)scr_flush_dataset_all(ctx, 2, &err);
    int fired = job_disarm(&job);
    job_kill(&job, ctx);
    int first = job_entry(&job, 1, NULL, NULL), second = job_entry(&job, 2, NULL, NULL);
    CHECK(first != 1 || second != 1);
    ctx = job_start(&job, nodes, "SCR_FLUSH=1", "SCR_FLUSH_ON_RESTART=1", NULL);
    CHECK_INT(job_offered(&job, ctx), 2);
    write_ok(&job, ctx, "three", CKPT, "A");
    CHECK_LEFT(&job, 3);
    CHECK_ENTRY(&job, 3, COMPLETE, CURRENT);
    job_kill(&job, ctx);
    if (!mpi_test_good(t) && job.rank == 0)
        fprintf(stderr, "call %ld failed, rank %d\n", n, victim);
    fclose(job.out);
    job_free(&job);
    return fired;
}

/* Some of them: tests/unit/test_store_replaced.c walks over all of the removal's. */
enum { STEP = 53 };

MPI_CASE(no_death_and_no_failure_leaves_a_row_for_ever)
{
    int tried = 0;
    for (int victim = -1; victim < 1; victim++)
        for (long n = victim + 1; mpi_test_good(t) && die_replacing(t, victim, n);
             n += STEP)
            tried++;
    CHECK(tried >= 4);
}

/* --- what is in cache still --- */

static int edit_failed(struct scr_index *index, void *arg, int *changed,
                       struct scr_err *err)
{
    (void)arg, (void)err;
    *changed = 1;
    scr_index_mark_failed(index, 2, 1000);
    return SCR_OK;
}

JOB_CASE(what_is_replaced_counts_as_flushed_until_what_replaced_it_is_no_good, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    job->out = tmpfile();
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_FLUSH=1", "SCR_CACHE_SIZE=2", NULL);
    write_ok(job, ctx, "one", BOTH, "A");
    write_ok(job, ctx, "two", CKPT, "A");
    CHECK_LEFT(job, 2);
    CHECK(scr_flush_is_done_all(ctx, 1));
    /* A flush of it is refused, and adds no row. */
    CHECK_RC(scr_flush_dataset_all(ctx, 1, &err), SCR_E_NEWER, &err);
    CHECK_LEFT(job, 2);
    CHECK_RC(scr_edit_index_all(ctx, edit_failed, NULL, &err), SCR_OK, &err);
    CHECK(!scr_flush_is_done_all(ctx, 1));
    scr_err_clear(&err);
    CHECK_RC(scr_flush_if_needed_all(ctx, 1, &err), SCR_OK, &err);
    CHECK_ENTRY(job, 1, COMPLETE, CURRENT);
    CHECK_ENTRY(job, 2, INCOMPLETE, NOT_CURRENT);
    job_kill(job, ctx);
    fclose(job->out);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(
            RUN(constant_file_names_leave_one_row),
            RUN(constant_names_of_the_dataset_leave_one_row),
            RUN(a_dataset_with_its_own_file_keeps_its_row),
            RUN(the_next_flush_removes_what_one_that_failed_had_demoted),
            RUN(no_death_and_no_failure_leaves_a_row_for_ever),
            RUN(what_is_replaced_counts_as_flushed_until_what_replaced_it_is_no_good)));
}
