/* SPDX-License-Identifier: BSD-3-Clause */
/* A parallel file system that fails, and links in the prefix directory, for every way
 * to flush: the run continues, one line says why, the dataset stays in cache and gets
 * there when it can, and nothing is written to, or deleted from, anywhere else. */
/* ranks: 4 */
#include <errno.h>

#include "base/units.h"
#include "helper_job.h"
#include "helper_pfs.h"
#include "helper_prefix.h"
#include "helper_shared.h"
#include "helper_stored.h"

static const char *const nodes = "n[1-4]";

enum { CKPT = 1, BOTH = 3 };

/* Ways to flush; those that can be disturbed from within the process are first. */
static const struct way {
    const char *async, *type;
    int is_async, is_daemon;
} ways[] = {
    { "SCR_FLUSH_ASYNC=0", "SCR_FLUSH_TYPE=PTHREAD", 0, 0 },
    { "SCR_FLUSH_ASYNC=1", "SCR_FLUSH_TYPE=PTHREAD", 1, 0 },
    { "SCR_FLUSH_ASYNC=1", "SCR_FLUSH_TYPE=DAEMON", 1, 1 },
};
enum { WAYS = sizeof ways / sizeof *ways, WAYS_INSIDE = 2 };

static void begin(struct mpi_test *t, struct job *job)
{
    char path[800];
    job_new(t, job, 4);
    pfs_reset();
    job->sys = &pfs_sys;
    snprintf(path, sizeof path, "%s/said.%d", job->dir, job->rank);
    job->out = fopen(path, "w+");
}

static struct scr_ctx *start(struct job *job, const struct way *w)
{
    return job_start(job, nodes, "SCR_FLUSH=1", "SCR_CACHE_SIZE=3", w->async, w->type,
                     "SCR_TRANSFER_PROGRAM=" SCR_TOOL "_transfer", NULL);
}

/* Lines rank 0 has printed so far with both of these in them. */
static int said(struct job *job, const char *part, const char *other)
{
    char line[2000];
    int n = 0;
    mpi_test_barrier(job->comm);
    rewind(job->out);
    while (fgets(line, sizeof line, job->out) != NULL)
        n += strstr(line, part) != NULL && strstr(line, other) != NULL;
    fseek(job->out, 0, SEEK_END);
    MPI_Bcast(&n, 1, MPI_INT, 0, job->comm);
    return n;
}

static void finish(struct job *job, struct scr_ctx *ctx)
{
    job_end(job, ctx);
    fclose(job->out);
    job->out = NULL;
    pfs_reset();
}

/* Dataset "one", checkpoint or both, is written while it cannot be flushed; that is
 * reported in one line. */
static void fail_one(struct mpi_test *t, struct job *job, struct scr_ctx *ctx,
                     const struct way *w, int flags, const char *cause)
{
    struct scr_err err = SCR_ERR_INIT;
    int rc = job_write(job, ctx, "one", 1, flags, &err);
    CHECK(job_same_code(job, rc));
    CHECK((rc == SCR_OK) == (w->is_async || flags == CKPT));
    if (rc != SCR_OK && strstr(err.text, cause) == NULL && job->rank == 0)
        mpi_test_fail(t, __FILE__, __LINE__, "%s: not %s", err.text, cause);
    (void)scr_async_wait_all(ctx, 1, NULL); /* some do not even begin */
    if (w->is_async)
        CHECK_INT(scr_cache_held(ctx, 1)->failed, 1);
    CHECK_INT(said(job, "stays in cache", cause), rc == SCR_OK);
    CHECK(scr_cache_is_ready(ctx, 1));
}

/* --- it fails --- */

static const struct failure {
    const char *name;
    atomic_int *kind;
    int error;
} failures[] = {
    { "full", &pfs_control.write_error, ENOSPC },
    { "quota exceeded", &pfs_control.write_error, EDQUOT },
    { "read-only", &pfs_control.open_error, EROFS },
    { "gone", &pfs_control.open_error, ENOENT },
    { "stale", &pfs_control.open_error, ESTALE },
    { "broken", &pfs_control.write_error, EIO },
};

static void fail_with(struct mpi_test *t, const struct way *w, const struct failure *f)
{
    char cause[128];
    struct job job;
    begin(t, &job);
    struct scr_ctx *ctx = start(&job, w);
    *f->kind = f->error;
    snprintf(cause, sizeof cause, ": %s", strerror(f->error));
    cause[2] = (char)(cause[2] | 0x20); /* as SCR writes it */
    fail_one(t, &job, ctx, w, BOTH, cause);
    CHECK_ENTRY(&job, 1, INCOMPLETE, NOT_CURRENT);
    *f->kind = 0;
    job_checkpoint(&job, ctx, "two", 2);
    finish(&job, ctx);
    CHECK_ENTRY(&job, 1, COMPLETE, NOT_CURRENT);
    CHECK_ENTRY(&job, 2, COMPLETE, CURRENT);
    job_check_prefix(&job, nodes, "two", 2);
    job_free(&job);
}

MPI_CASE(a_prefix_that_fails_costs_no_dataset)
{
    for (int w = 0; w < WAYS_INSIDE; w++)
        for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
            fail_with(t, &ways[w], &failures[i]);
            if (!mpi_test_good(t)) {
                fprintf(stderr, "%s, %s\n", ways[w].async, failures[i].name);
                return;
            }
        }
}

MPI_CASE(a_slow_prefix_is_waited_for)
{
    for (int w = 0; w < WAYS_INSIDE; w++) {
        struct job job;
        struct scr_err err = SCR_ERR_INIT;
        begin(t, &job);
        struct scr_ctx *ctx = start(&job, &ways[w]);
        pfs_control.slow_us = 300000;
        double begun = scr_now_mono();
        job_checkpoint(&job, ctx, "one", 1);
        double held = scr_now_mono() - begun;
        CHECK(ways[w].is_async || held > 0.3);
        CHECK_RC(scr_async_wait_all(ctx, 1, &err), SCR_OK, &err);
        CHECK(scr_now_mono() - begun > 0.3);
        pfs_control.slow_us = 0;
        CHECK_ENTRY(&job, 1, COMPLETE, CURRENT);
        finish(&job, ctx);
        job_check_prefix(&job, nodes, "one", 1);
        job_free(&job);
    }
}

/* What was mounted there is not any more. It is not made again where it was. */
MPI_CASE(a_prefix_that_is_gone_is_not_made_again)
{
    for (int w = 0; w < WAYS; w++) {
        struct job job;
        struct stat st;
        char away[800];
        begin(t, &job);
        struct scr_ctx *ctx = start(&job, &ways[w]);
        snprintf(away, sizeof away, "%s.away", job.prefix);
        mpi_test_barrier(job.comm);
        if (job.rank == 0)
            CHECK_INT(rename(job.prefix, away), 0);
        mpi_test_barrier(job.comm);
        fail_one(t, &job, ctx, &ways[w], CKPT, "no such file or directory");
        CHECK(stat(job.prefix, &st) != 0);
        mpi_test_barrier(job.comm);
        if (job.rank == 0)
            CHECK_INT(rename(away, job.prefix), 0);
        mpi_test_barrier(job.comm);
        job_checkpoint(&job, ctx, "two", 2);
        finish(&job, ctx);
        CHECK_ENTRY(&job, 2, COMPLETE, CURRENT);
        job_check_prefix(&job, nodes, "two", 2);
        job_free(&job);
    }
}

/* --- links --- */

/* <prefix>/<name> becomes a link to <job>/<target>, or, with target NULL, goes. */
static void make_link(struct job *job, const char *name, const char *target)
{
    struct mpi_test *t = job->t;
    char at[900], to[900];
    snprintf(at, sizeof at, "%s/%s", job->prefix, name);
    snprintf(to, sizeof to, "%s/%s", job->dir, target != NULL ? target : "");
    mpi_test_barrier(job->comm);
    if (job->rank == 0 && target == NULL)
        CHECK_INT(unlink(at), 0);
    if (job->rank == 0 && target != NULL) {
        mkdir(to, 0700);
        CHECK_INT(symlink(to, at), 0);
    }
    mpi_test_barrier(job->comm);
}

static int count_at(struct job *job, const char *dir)
{
    char path[900];
    snprintf(path, sizeof path, "%s/%s", job->dir, dir);
    return job_count(job, path, "");
}

/* The link is the directory of the files, or one on the way to them. */
static void lead_out(struct mpi_test *t, const struct way *w, const char *name)
{
    struct job job;
    begin(t, &job);
    struct scr_ctx *ctx = start(&job, w);
    if (strchr(name, '/') != NULL) {
        char dir[900];
        snprintf(dir, sizeof dir, "%s/step.1", job.prefix);
        mkdir(dir, 0700);
    }
    make_link(&job, name, "elsewhere");
    fail_one(t, &job, ctx, w, CKPT, "which is outside the prefix directory");
    CHECK_INT(count_at(&job, "elsewhere"), 0);
    make_link(&job, name, NULL);
    job_checkpoint(&job, ctx, "two", 2);
    finish(&job, ctx);
    if (w->is_async) /* of those that are waited for the next one makes up */
        CHECK_ENTRY(&job, 1, COMPLETE, NOT_CURRENT);
    CHECK_ENTRY(&job, 2, COMPLETE, CURRENT);
    job_check_prefix(&job, nodes, "two", 2);
    job_free(&job);
}

MPI_CASE(no_flush_follows_a_link_out_of_the_prefix)
{
    for (int w = 0; w < WAYS; w++) {
        lead_out(t, &ways[w], "step.1");
        lead_out(t, &ways[w], "step.1/rank.2");
    }
}

/* The prefix is behind a link, and a link in it leads to a directory in it. */
MPI_CASE(links_to_the_prefix_and_in_it_are_followed)
{
    for (int w = 0; w < WAYS; w++) {
        struct job job;
        begin(t, &job);
        make_link(&job, "../link", "prefix");
        snprintf(job.prefix, sizeof job.prefix, "%s/link", job.dir);
        make_link(&job, "step.1", "prefix/real");
        struct scr_ctx *ctx = start(&job, &ways[w]);
        job_checkpoint(&job, ctx, "one", 1);
        finish(&job, ctx);
        CHECK_ENTRY(&job, 1, COMPLETE, CURRENT);
        CHECK_INT(count_at(&job, "prefix/real"), 4 * JOB_FILES);
        job_check_prefix(&job, nodes, "one", 1);
        job_free(&job);
    }
}

/* A dataset that was moved to an archive is read there, and stays there. */
MPI_CASE(files_behind_a_link_are_read_but_not_deleted)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    char at[900], to[900];
    begin(t, &job);
    struct scr_ctx *ctx = start(&job, &ways[0]);
    job_checkpoint(&job, ctx, "one", 1);
    finish(&job, ctx);
    snprintf(at, sizeof at, "%s/step.1", job.prefix);
    snprintf(to, sizeof to, "%s/archive", job.dir);
    if (job.rank == 0)
        CHECK_INT(rename(at, to), 0);
    make_link(&job, "step.1", "archive");
    job_check_prefix(&job, nodes, "one", 1);
    snprintf(at, sizeof at, "%s/said.again.%d", job.dir, job.rank);
    job.out = fopen(at, "w+");
    ctx = start(&job, &ways[0]);
    CHECK_RC(scr_delete_all(ctx, "one", &err), SCR_OK, &err);
    CHECK_ENTRY(&job, 1, ABSENT, NOT_CURRENT);
    CHECK_INT(count_at(&job, "archive"), 4 * JOB_FILES);
    CHECK(job_has(&job, "step.1"));
    finish(&job, ctx);
    job_free(&job);
}

int main(int argc, char **argv)
{
    return mpi_test_main(argc, argv,
                         MPI_CASES(RUN(a_prefix_that_fails_costs_no_dataset),
                                   RUN(a_slow_prefix_is_waited_for),
                                   RUN(a_prefix_that_is_gone_is_not_made_again),
                                   RUN(no_flush_follows_a_link_out_of_the_prefix),
                                   RUN(links_to_the_prefix_and_in_it_are_followed),
                                   RUN(files_behind_a_link_are_read_but_not_deleted)));
}
