/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets whose files go to the same paths: what another job or a newer version of SCR
 * does there meanwhile, and what a deletion leaves alone. */
/* ranks: 4 */
#include "helper_paths.h"
#include "helper_pfs.h"
#include "helper_prefix.h"
#include "helper_stored.h"
#include "store/arrival.h"

/* --- what another job completes while a flush is under way --- */

static struct {
    const char *prefix; /* NULL: nothing happens */
    int id;
} other_job;

static void complete_as_other_job(void)
{
    struct scr_env env = { .sys = &scr_sys_posix };
    struct scr_prefix p = { 0 };
    struct scr_index index = SCR_INDEX_INIT;
    scr_hash *dset = scr_hash_new();
    (void)scr_prefix_open(&env, other_job.prefix, 0, &p, NULL);
    (void)scr_prefix_index_read(&env, &p, &index, NULL);
    (void)scr_index_dataset(&index, other_job.id, dset);
    (void)scr_prefix_summary_write(&env, &p, other_job.id, dset, 1, NULL);
    (void)scr_prefix_index_enter(&env, &p, dset, 1, 1000, NULL);
    scr_hash_delete(dset);
    scr_index_fini(&index);
    scr_prefix_fini(&p);
}

/* As the list is written, which is when the flush has looked whose files it replaces.
 */
static int openat_beside_other(int dirfd, const char *path, int flags, mode_t mode)
{
    if (other_job.prefix != NULL && (flags & O_CREAT) && strstr(path, "rank2file")) {
        complete_as_other_job();
        other_job.prefix = NULL;
    }
    return scr_sys_posix.openat(dirfd, path, flags, mode);
}

static void complete_beside(struct mpi_test *t, const char *how)
{
    struct job job;
    struct scr_sys sys = scr_sys_posix;
    die_before_summary(t, &job);
    sys.openat = openat_beside_other;
    job.sys = &sys;
    struct scr_ctx *ctx =
        job_start(&job, nodes, "SCR_FETCH=0", "SCR_FLUSH=1", how, NULL);
    CHECK_ENTRY(&job, 1, INCOMPLETE, NOT_CURRENT);
    other_job.prefix = job.rank == 0 ? job.prefix : NULL;
    other_job.id = 1;
    paths_write_ok(&job, ctx, "y", CKPT, "A", "second");
    (void)scr_async_wait_all(ctx, 0, NULL);
    CHECK(other_job.prefix == NULL);
    CHECK_GONE(&job, 1);
    CHECK_ENTRY(&job, 2, COMPLETE, CURRENT);
    CHECK(all_are(&job, "A", "second"));
    job_kill(&job, ctx);
    fclose(job.out);
    job_free(&job);
}

MPI_CASE(what_becomes_complete_while_it_is_replaced_is_demoted)
{
    complete_beside(t, "SCR_FLUSH_ASYNC=0");
    complete_beside(t, "SCR_FLUSH_ASYNC=1");
}

/* --- what another job writes while a program writes to the prefix itself --- */

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    if (f != NULL) {
        fputs(text, f);
        fclose(f);
    }
}

/* Begins name, and writes A/f.<rank>; path: where. */
static struct scr_ctx *begin_bypass(struct job *job, const char *on, const char *id,
                                    const char *text, char *path)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    char name[900];
    struct scr_ctx *ctx = job_start(job, on, "SCR_CACHE_BYPASS=1", id, NULL);
    snprintf(name, sizeof name, "%s/A/f.%d", job->prefix, job->rank);
    CHECK_RC(scr_start_output_all(ctx, text, CKPT, &err), SCR_OK, &err);
    CHECK_RC(scr_route(ctx, name, path, &err), SCR_OK, &err);
    put(path, text);
    return ctx;
}

/* Its older dataset replaces the files: whose bytes are there is not known. */
JOB_CASE(a_file_that_another_job_replaced_meanwhile_is_refused, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    char path[SCR_MAX_NAME];
    struct scr_ctx *other =
        job_start(job, "n[5-8]", "SCR_FLUSH=0", "SCR_JOB_ID=other", NULL);
    paths_write_ok(job, other, "x", CKPT, "A", "theirs");
    struct scr_ctx *ctx = begin_bypass(job, nodes, "SCR_JOB_ID=job", "ours", path);
    CHECK_RC(scr_flush_dataset_all(other, 1, &err), SCR_OK, &err);
    CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_E_TAKEN, &err);
    CHECK_ENTRY(job, 1, COMPLETE, CURRENT);
    CHECK_ENTRY(job, 2, INCOMPLETE, NOT_CURRENT);
    CHECK(all_are(job, "A", "theirs"));
    job_kill(job, ctx);
    job_kill(job, other);
}

/* The second one to begin leaves the place to the first. */
JOB_CASE(two_jobs_that_write_one_file_have_a_place_each, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    char one[SCR_MAX_NAME], two[SCR_MAX_NAME];
    struct scr_ctx *ctx = begin_bypass(job, nodes, "SCR_JOB_ID=job", "first", one);
    struct scr_ctx *other =
        begin_bypass(job, "n[5-8]", "SCR_JOB_ID=other", "second", two);
    CHECK(strcmp(one, two) != 0);
    CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_OK, &err);
    CHECK_ENTRY(job, 1, COMPLETE, CURRENT);
    CHECK(all_are(job, "A", "first"));
    CHECK_RC(scr_complete_output_all(other, 1, &err), SCR_OK, &err);
    CHECK_GONE(job, 1);
    CHECK_ENTRY(job, 2, COMPLETE, CURRENT);
    CHECK(all_are(job, "A", "second"));
    job_kill(job, ctx);
    job_kill(job, other);
}

/* Dataset 2 lacks its record, and gets it while 1 is flushed. */
static void complete_newer_beside(struct mpi_test *t, const char *how)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_sys sys = scr_sys_posix;
    job_new(t, &job, 4);
    job.out = fopen("/dev/null", "w");
    struct scr_ctx *ctx =
        job_start(&job, nodes, "SCR_FLUSH=0", "SCR_CACHE_SIZE=3", how, NULL);
    paths_write_ok(&job, ctx, "x", CKPT, "A", "first");
    paths_write_ok(&job, ctx, "y", CKPT, "A", "second");
    pfs_reset();
    pfs_control.fail_path = "summary.scr";
    ctx->env.sys = &pfs_sys;
    CHECK(scr_flush_dataset_all(ctx, 2, &err) != SCR_OK);
    scr_err_clear(&err);
    sys.openat = openat_beside_other;
    ctx->env.sys = &sys;
    other_job.prefix = job.rank == 0 ? job.prefix : NULL;
    other_job.id = 2;
    if (strstr(how, "=1") != NULL)
        scr_async_start_all(ctx, 1);
    else
        CHECK_RC(scr_flush_dataset_all(ctx, 1, &err), SCR_E_NEWER, &err);
    CHECK(!scr_async_has(ctx, 1));
    CHECK(!job_has(&job, plan_of_1));
    CHECK_ENTRY(&job, 1, INCOMPLETE, NOT_CURRENT);
    CHECK_ENTRY(&job, 2, COMPLETE, CURRENT);
    CHECK(all_are(&job, "A", "second"));
    ctx->env.sys = &scr_sys_posix;
    job_kill(&job, ctx);
    fclose(job.out);
    job_free(&job);
}

MPI_CASE(what_becomes_complete_and_is_newer_is_not_replaced)
{
    complete_newer_beside(t, "SCR_FLUSH_ASYNC=0");
    complete_newer_beside(t, "SCR_FLUSH_ASYNC=1");
}

/* --- a list that a newer version wrote --- */

enum { THIS_VERSION = 1 };

/* It is in the header of a part of dataset 1's list. */
static void set_version(struct job *job, const char *part, int version)
{
    char path[900];
    snprintf(path, sizeof path, "%s/.scr/scr.dataset.1/%s", job->prefix, part);
    job_set_version(job, path, version);
}

static void write_beside_newer(struct mpi_test *t, const char *part, const char *how)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    job_new(t, &job, 4);
    job.out = tmpfile();
    struct scr_ctx *ctx =
        job_start(&job, nodes, "SCR_FLUSH=1", "SCR_CACHE_SIZE=3", how, NULL);
    paths_write_ok(&job, ctx, "x", CKPT, "A", "first");
    CHECK_RC(scr_async_wait_all(ctx, 0, &err), SCR_OK, &err);
    set_version(&job, part, JOB_NEWER_VERSION);
    paths_write_ok(&job, ctx, "y", CKPT, "B", "second"); /* replaces nothing */
    (void)write_at(&job, ctx, "z", CKPT, "A", 0, "third", &err);
    (void)scr_async_wait_all(ctx, 0, NULL);
    CHECK_ENTRY(&job, 1, COMPLETE, NOT_CURRENT);
    CHECK_ENTRY(&job, 2, COMPLETE, CURRENT);
    CHECK(job_entry(&job, 3, NULL, NULL) != 1);
    CHECK(all_are(&job, "A", "first") && all_are(&job, "B", "second"));
    int bypasses = strstr(how, "BYPASS") != NULL;
    CHECK(bypasses || job_said(&job, "whose list is of a newer version") > 0);
    set_version(&job, part, THIS_VERSION);
    if (bypasses) { /* the program writes it again */
        paths_write_ok(&job, ctx, "z", CKPT, "A", "third");
    } else {
        scr_err_clear(&err);
        CHECK_RC(scr_flush_dataset_all(ctx, 3, &err), SCR_OK, &err);
    }
    CHECK_GONE(&job, 1);
    CHECK(all_are(&job, "A", "third"));
    job_kill(&job, ctx);
    fclose(job.out);
    job_free(&job);
}

MPI_CASE(nothing_is_replaced_that_a_newer_version_may_list)
{
    write_beside_newer(t, "rank2file", "SCR_FLUSH_ASYNC=0");
    write_beside_newer(t, "rank2file.0.0", "SCR_FLUSH_ASYNC=1");
    write_beside_newer(t, "rank2file.0.0", "SCR_CACHE_BYPASS=1");
}

/* --- deletion --- */

JOB_CASE(deletion_spares_the_paths_of_other_ranks_files, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_FLUSH=1", "SCR_CACHE_SIZE=3", NULL);
    paths_write_ok(job, ctx, "x", CKPT, "A", "first");
    CHECK_RC(write_at(job, ctx, "y", CKPT, "A", 2, "second", &err), SCR_OK, &err);
    paths_write_ok(job, ctx, "z", CKPT, "B", "third");
    CHECK_RC(scr_delete_all(ctx, "x", &err), SCR_OK, &err);
    CHECK(all_are(job, "A", "second") && all_are(job, "B", "third"));
    CHECK_RC(scr_delete_all(ctx, "y", &err), SCR_OK, &err);
    CHECK(!job_has(job, "A") && all_are(job, "B", "third"));
    CHECK_ENTRY(job, 3, COMPLETE, CURRENT);
    job_kill(job, ctx);
}

/* Dataset 2, whose files are at the paths of dataset 1, is on its way, and 1 is deleted
 * by a job that has nothing to do with it. */
static struct scr_ctx *start_beside(struct mpi_test *t, struct job *job)
{
    job_new(t, job, 4);
    job->out = fopen("/dev/null", "w");
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    paths_write_ok(job, ctx, "x", CKPT, "A", "first");
    return ctx;
}

MPI_CASE(deletion_spares_what_a_transfer_of_another_job_has_brought)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    job_kill(&job, start_beside(t, &job));
    uint64_t stamp = leave_pending_as(&job, 0, 2, "y", "second");
    put_file(&job, "A", "second");
    pfs_reset();
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_FETCH=0", NULL);
    CHECK_RC(scr_delete_all(ctx, "x", &err), SCR_OK, &err);
    CHECK_ENTRY(&job, 1, ABSENT, NOT_CURRENT);
    CHECK(all_are(&job, "A", "second"));
    arrive_late_as(&job, 2, stamp);
    CHECK_ENTRY(&job, 2, COMPLETE, CURRENT);
    job_kill(&job, ctx);
    fclose(job.out);
    job_free(&job);
}

/* As a job leaves it that dies while it waits for its flush. */
static int mark_flushing(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    (void)arg, (void)err;
    *changed = 1;
    return scr_flush_set_location(h, 2, SCR_LOC_SYNC_FLUSHING, 1);
}

MPI_CASE(deletion_spares_what_a_flush_of_another_job_has_brought)
{
    struct job job;
    struct scr_env env = { .sys = &scr_sys_posix };
    struct scr_prefix p = { 0 };
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = start_beside(t, &job);
    pfs_reset();
    pfs_control.fail_path = "summary.scr";
    ctx->env.sys = &pfs_sys;
    CHECK_RC(write_at(&job, ctx, "y", CKPT, "A", 0, "second", &err), SCR_OK, &err);
    job_kill(&job, ctx);
    job_lose_node(&job, nodes);
    ctx = job_start(&job, nodes, "SCR_FETCH=0", NULL);
    CHECK_RC(scr_prefix_open(&env, job.prefix, 0, &p, &err), SCR_OK, &err);
    for (int marked = 1; marked >= 0; marked--) {
        if (marked && job.rank == 0)
            CHECK_RC(scr_prefix_state_update(&env, &p, "flush.scr", mark_flushing, NULL,
                                             &err),
                     SCR_OK, &err);
        mpi_test_barrier(job.comm);
        CHECK_ENTRY(&job, 2, INCOMPLETE, NOT_CURRENT);
        CHECK_RC(scr_delete_all(ctx, marked ? "x" : "y", &err), SCR_OK, &err);
        CHECK(marked ? all_are(&job, "A", "second") : !job_has(&job, "A"));
    }
    scr_prefix_fini(&p);
    job_kill(&job, ctx);
    fclose(job.out);
    job_free(&job);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(a_file_that_another_job_replaced_meanwhile_is_refused),
                  RUN(two_jobs_that_write_one_file_have_a_place_each),
                  RUN(what_becomes_complete_while_it_is_replaced_is_demoted),
                  RUN(what_becomes_complete_and_is_newer_is_not_replaced),
                  RUN(nothing_is_replaced_that_a_newer_version_may_list),
                  RUN(deletion_spares_the_paths_of_other_ranks_files),
                  RUN(deletion_spares_what_a_transfer_of_another_job_has_brought),
                  RUN(deletion_spares_what_a_flush_of_another_job_has_brought)));
}
