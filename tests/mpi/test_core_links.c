/* SPDX-License-Identifier: BSD-3-Clause */
/* A file with several names: links in the prefix directory to directories in it, and
 * hard links (invariant P16). No dataset is complete with files of another one, and
 * none is deleted with one. */
/* ranks: 4 */
#include "base/dir.h"
#include "helper_fault.h"
#include "helper_paths.h"
#include "helper_prefix.h"
#include "helper_shared.h"
#include <unistd.h>

static const char *const ways[] = { "SCR_FLUSH_ASYNC=0", "SCR_FLUSH_ASYNC=1",
                                    "SCR_FLUSH_COMPRESS=ZSTD", "SCR_CACHE_BYPASS=1" };
enum { WAYS = sizeof ways / sizeof *ways };

/* <prefix>/L becomes a link to <target>. */
static void make_link(struct job *job, const char *target)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    char at[900], to[900];
    snprintf(at, sizeof at, "%s/L", job->prefix);
    snprintf(to, sizeof to, "%s/%s", job->prefix, target);
    mpi_test_barrier(job->comm);
    if (job->rank == 0) {
        CHECK_RC(scr_dir_make(&scr_sys_posix, to, 0700, &err), SCR_OK, &err);
        CHECK_INT(symlink(target, at), 0);
    }
    mpi_test_barrier(job->comm);
}

static struct scr_ctx *start(struct job *job, const char *way, const char *more)
{
    return job_start(job, nodes, "SCR_FLUSH=1", way, more, NULL);
}

static void put(struct job *job, struct scr_ctx *ctx, const char *name, const char *dir,
                const char *text)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    paths_write_ok(job, ctx, name, CKPT, dir, text);
    CHECK_RC(scr_async_wait_all(ctx, 0, &err), SCR_OK, &err);
}

/* A newer dataset by one name of the directory, an older one by the other. */
static void replace(struct mpi_test *t, const char *way, const char *old,
                    const char *new, const char *more)
{
    struct job job;
    job_new(t, &job, 4);
    make_link(&job, "A");
    struct scr_ctx *ctx = start(&job, way, more);
    put(&job, ctx, "x", old, "first");
    put(&job, ctx, "y", new, "second");
    CHECK_GONE(&job, 1);
    CHECK_ENTRY(&job, 2, COMPLETE, CURRENT);
    CHECK(all_are(&job, "A", "second"));
    job_kill(&job, ctx);
    job_lose_node(&job, nodes);
    ctx = start(&job, way, more);
    CHECK_INT(job_offered(&job, ctx), 2);
    job_kill(&job, ctx);
    job_free(&job);
}

MPI_CASE(a_file_behind_a_link_is_that_of_the_other_dataset)
{
    for (int w = 0; w < WAYS; w++) {
        replace(t, ways[w], "A", "L", "SCR_PREFIX_SIZE=0");
        replace(t, ways[w], "L", "A", "SCR_PREFIX_SIZE=0");
    }
}

MPI_CASE(a_retired_dataset_leaves_the_files_of_a_newer_one)
{
    for (int w = 0; w < WAYS; w++)
        replace(t, ways[w], "L", "A", "SCR_PREFIX_SIZE=1");
}

/* A user has replaced the directory of the older one. */
JOB_CASE(a_deletion_leaves_what_another_dataset_lists_by_another_name, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    char old[900];
    struct scr_ctx *ctx = start(job, ways[0], NULL);
    put(job, ctx, "x", "L", "first");
    put(job, ctx, "y", "A", "second");
    snprintf(old, sizeof old, "%s/L", job->prefix);
    mpi_test_barrier(job->comm);
    if (job->rank == 0)
        CHECK_INT(scr_dir_remove(&scr_sys_posix, old, NULL), SCR_OK);
    make_link(job, "A");
    CHECK_RC(scr_delete_all(ctx, "x", &err), SCR_OK, &err);
    CHECK_GONE(job, 1);
    CHECK(all_are(job, "A", "second"));
    CHECK_ENTRY(job, 2, COMPLETE, CURRENT);
    job_kill(job, ctx);
}

/* The directory behind the link goes with the files of a deleted dataset. */
static void delete_behind(struct mpi_test *t, const char *way)
{
    struct scr_err err = SCR_ERR_INIT;
    struct job job;
    job_new(t, &job, 4);
    make_link(&job, "step/A");
    struct scr_ctx *ctx = start(&job, way, NULL);
    put(&job, ctx, "x", "L", "first");
    put(&job, ctx, "y", "B", "second");
    CHECK_RC(scr_delete_all(ctx, "x", &err), SCR_OK, &err);
    CHECK(!job_has(&job, "step"));
    put(&job, ctx, "z", "L/sub", "third");
    CHECK_ENTRY(&job, 3, COMPLETE, CURRENT);
    CHECK(all_are(&job, "step/A/sub", "third"));
    job_kill(&job, ctx);
    job_free(&job);
}

MPI_CASE(a_link_to_a_deleted_directory_leads_to_a_new_one)
{
    for (int w = 0; w < WAYS; w++)
        delete_behind(t, ways[w]);
}

/* Two names of one file in one dataset: all but one of its files would be lost. */
static void write_twice(struct job *job, int is_gone)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    char name[32], path[SCR_MAX_NAME];
    job->out = fopen("/dev/null", "w");
    make_link(job, "A");
    snprintf(path, sizeof path, "%s/A", job->prefix);
    if (is_gone && job->rank == 0)
        CHECK_INT(rmdir(path), 0);
    mpi_test_barrier(job->comm);
    struct scr_ctx *ctx = start(job, ways[0], NULL);
    CHECK_RC(scr_start_output_all(ctx, "x", SCR_IS_CKPT, &err), SCR_OK, &err);
    snprintf(name, sizeof name, "%s/f.%d", job->rank % 2 ? "L" : "A", job->rank / 2);
    CHECK_RC(job_route(job, ctx, name, path, &err), SCR_OK, &err);
    FILE *f = fopen(path, "w");
    CHECK(f != NULL && fputs(name, f) >= 0 && fclose(f) == 0);
    CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_OK, &err);
    CHECK_ENTRY(job, 1, ABSENT, NOT_CURRENT);
    CHECK(!job_has(job, "A/f.0"));
    job_kill(job, ctx);
    fclose(job->out);
}

JOB_CASE(a_dataset_with_one_file_twice_is_not_flushed, 4)
{
    write_twice(job, 0);
}

JOB_CASE(nor_where_the_link_leads_to_a_directory_that_has_gone, 4)
{
    write_twice(job, 1);
}

/* A link that leads out of the prefix makes no directory there. */
JOB_CASE(a_link_to_a_missing_directory_outside_makes_none, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    char at[900], to[900];
    job->out = fopen("/dev/null", "w");
    snprintf(at, sizeof at, "%s/L", job->prefix);
    snprintf(to, sizeof to, "%s.outside", job->prefix);
    if (job->rank == 0)
        CHECK_INT(symlink(to, at), 0);
    mpi_test_barrier(job->comm);
    struct scr_ctx *ctx = start(job, ways[0], NULL);
    paths_write_ok(job, ctx, "x", CKPT, "L", "first");
    CHECK_ENTRY(job, 1, ABSENT, NOT_CURRENT);
    job_kill(job, ctx);
    ctx = start(job, ways[3], NULL);
    CHECK_RC(write_at(job, ctx, "y", CKPT, "L", 0, "second", &err), SCR_E_OUTSIDE,
             &err);
    CHECK_INT(access(to, F_OK), -1);
    job_kill(job, ctx);
    fclose(job->out);
}

/* No link makes a state file of SCR a file of the application. */
JOB_CASE(a_link_to_scr_leads_nowhere, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    job->out = fopen("/dev/null", "w");
    make_link(job, ".scr");
    struct scr_ctx *ctx = start(job, ways[0], NULL);
    paths_write_ok(job, ctx, "x", CKPT, "L", "first");
    CHECK_ENTRY(job, 1, ABSENT, NOT_CURRENT);
    CHECK(!job_has(job, ".scr/f.0"));
    job_kill(job, ctx);
    ctx = start(job, ways[3], NULL);
    CHECK_RC(write_at(job, ctx, "y", CKPT, "L", 0, "second", &err), SCR_E_OUTSIDE,
             &err);
    job_kill(job, ctx);
    fclose(job->out);
}

/* `cp -al`: the other name keeps the bytes, also where the program itself writes. */
JOB_CASE(a_file_with_a_hard_link_is_not_written_over, 4)
{
    char own[900], other[900];
    struct scr_ctx *ctx = start(job, ways[3], NULL);
    put(job, ctx, "x", "A", "first");
    snprintf(own, sizeof own, "%s/A/f.%d", job->prefix, job->rank);
    snprintf(other, sizeof other, "%s/B", job->prefix);
    mkdir(other, 0700);
    snprintf(other, sizeof other, "%s/B/f.%d", job->prefix, job->rank);
    CHECK_INT(link(own, other), 0);
    put(job, ctx, "y", "B", "second");
    CHECK_ENTRY(job, 1, COMPLETE, NOT_CURRENT);
    CHECK_ENTRY(job, 2, COMPLETE, CURRENT);
    CHECK(all_are(job, "A", "first") && all_are(job, "B", "second"));
    job_kill(job, ctx);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(a_file_behind_a_link_is_that_of_the_other_dataset),
                  RUN(a_retired_dataset_leaves_the_files_of_a_newer_one),
                  RUN(a_deletion_leaves_what_another_dataset_lists_by_another_name),
                  RUN(a_link_to_a_deleted_directory_leads_to_a_new_one),
                  RUN(a_dataset_with_one_file_twice_is_not_flushed),
                  RUN(nor_where_the_link_leads_to_a_directory_that_has_gone),
                  RUN(a_link_to_a_missing_directory_outside_makes_none),
                  RUN(a_link_to_scr_leads_nowhere),
                  RUN(a_file_with_a_hard_link_is_not_written_over)));
}
