/* SPDX-License-Identifier: BSD-3-Clause */
/* Caches that are gone: removed while the program runs, or not where they were. */
/* ranks: 4 */
#include "helper_prefix.h"

static const char *const nodes = "n[1-4]";

static int is_needed(struct job *job, struct scr_ctx *ctx)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    int flag = -1;
    CHECK_RC(scr_need_checkpoint_all(ctx, &flag, &err), SCR_OK, &err);
    return flag;
}

/* A program that cleans /tmp. Each further failure has the program wait longer. */
JOB_CASE(a_control_directory_removed_under_a_run_is_named, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_CHECKPOINT_SECONDS=1", NULL);
    job_checkpoint(job, ctx, "one", 1);
    mpi_test_barrier(job->comm);
    job_lose_node(job, "n2");
    ctx->times.last_ckpt -= 100;
    for (int failed = 1; failed <= 3; failed++) {
        CHECK_INT(is_needed(job, ctx), 1);
        int rc = job_write(job, ctx, "two", 2, SCR_IS_CKPT, &err);
        CHECK_RC(rc, SCR_E_NOENT, &err);
        CHECK(job_same_code(job, rc));
        if (job->rank == 1)
            CHECK(strstr(err.text, "SCR_Start_output: two (dataset ") == err.text &&
                  strstr(err.text, "control directory ") != NULL);
        scr_err_clear(&err);
        ctx->times.last_try += 1 - (1 << (failed - 1)); /* a second is left */
        CHECK_INT(is_needed(job, ctx), 0);
        ctx->times.last_try -= 1;
    }
    job_kill(job, ctx);
    ctx = job_start(job, nodes, NULL);
    job_check_restart(job, ctx, "one", 1);
    job_kill(job, ctx);
}

/* Starts on nodes whose caches are empty, like those of other bases. */
static void start_bare(struct job *job, int said)
{
    struct mpi_test *t = job->t;
    job->out = tmpfile();
    struct scr_ctx *ctx = job_start(job, "m[1-4]", "SCR_FETCH=0", NULL);
    CHECK_INT(job_offered(job, ctx), 0);
    CHECK_INT(job_said(job, "checkpoint two (dataset 2) was in cache only"), said);
    job_kill(job, ctx);
    fclose(job->out);
    job->out = NULL;
}

JOB_CASE(a_start_without_its_caches_says_what_they_had, 4)
{
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_CACHE_SIZE=2", NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_checkpoint(job, ctx, "two", 2);
    job_kill(job, ctx);
    start_bare(job, 1);
    start_bare(job, 0); /* once */
}

JOB_CASE(what_is_on_the_prefix_is_not_missed, 4)
{
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_checkpoint(job, ctx, "two", 2);
    job_kill(job, ctx);
    start_bare(job, 0);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(a_control_directory_removed_under_a_run_is_named),
                  RUN(a_start_without_its_caches_says_what_they_had),
                  RUN(what_is_on_the_prefix_is_not_missed)));
}
