/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkpoints that a run could not ask for in the right way: names outside the prefix
 * directory, or of files that there are not. Nobody has read them, so nothing is known
 * against them. */
/* ranks: 4 */
#include "helper_prefix.h"
#include "helper_stored.h"

static const char *const nodes = "n[1-4]";

enum asks { OUTSIDE_ALL, OUTSIDE_ONE, UNKNOWN, RIGHT };

/* Rank 0 alone asks for the wrong one, or all do; the first error of SCR_Route_file. */
static int ask(const struct job *job, struct scr_ctx *ctx, enum asks how)
{
    char path[SCR_MAX_NAME] = "", known[900];
    const char *wrong = how == UNKNOWN ? "misspelt.dat" : "/tmp/elsewhere/rank.dat";
    struct scr_err err = SCR_ERR_INIT;
    int id = ctx->restart.id;
    snprintf(known, sizeof known, "%s/step.%d/file0.%d", job->prefix, id, job->rank);
    int right = how == RIGHT || (how == OUTSIDE_ONE && job->rank != 0);
    return scr_route(ctx, right ? known : wrong, path, &err);
}

/* Starts a restart of this checkpoint, asks, and says that it is no good. */
static void reject(struct job *job, struct scr_ctx *ctx, int id, enum asks how)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    CHECK_INT(job_offered(job, ctx), id);
    CHECK_RC(scr_start_restart_all(ctx, NULL, &err), SCR_OK, &err);
    int right = how == RIGHT || (how == OUTSIDE_ONE && job->rank != 0);
    int rc = right ? SCR_OK : how == UNKNOWN ? SCR_E_NOENT : SCR_E_OUTSIDE;
    CHECK_INT(ask(job, ctx, how), rc);
    CHECK_RC(scr_complete_restart_all(ctx, 0, &err), SCR_E_INVALID, &err);
}

static void write_two(struct job *job, struct scr_ctx *ctx)
{
    job_checkpoint(job, ctx, "one", 1);
    job_checkpoint(job, ctx, "two", 2);
}

/* Each would have to be fetched to find out that it, too, has no such file. */
JOB_CASE(after_a_name_outside_the_prefix_nothing_is_offered, 4)
{
    for (enum asks how = OUTSIDE_ALL; how <= OUTSIDE_ONE; how++) {
        int failed = 1;
        struct scr_ctx *ctx =
            job_start(job, nodes, "SCR_CACHE_SIZE=2", "SCR_FLUSH=1", NULL);
        if (how == OUTSIDE_ALL)
            write_two(job, ctx);
        reject(job, ctx, 2, how);
        CHECK_INT(job_offered(job, ctx), 0);
        CHECK_INT(job_entry(job, 2, NULL, &failed), 1);
        CHECK_INT(failed, 0);
        job_kill(job, ctx);
    }
    struct scr_ctx *ctx = job_start(job, nodes, NULL);
    job_check_restart(job, ctx, "two", 2);
    job_kill(job, ctx);
    job_lose_node(job, nodes); /* and the copy on the prefix */
    ctx = job_start(job, nodes, NULL);
    job_check_restart(job, ctx, "two", 2);
    job_kill(job, ctx);
}

/* A number in cache of 1 would give the only copy's place to what is written next. */
JOB_CASE(what_is_in_cache_only_outlives_a_run_that_cannot_write_either, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_CACHE_SIZE=1", NULL);
    write_two(job, ctx);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_CACHE_SIZE=1", NULL);
    reject(job, ctx, 2, OUTSIDE_ALL);
    for (int i = 0; i < 2; i++) {
        char path[SCR_MAX_NAME] = "";
        CHECK_RC(scr_start_output_all(ctx, "three", SCR_IS_CKPT, &err), SCR_OK, &err);
        CHECK_INT(scr_route(ctx, "/tmp/elsewhere/rank.dat", path, &err), SCR_E_OUTSIDE);
        CHECK(scr_complete_output_all(ctx, 0, &err) != SCR_OK);
    }
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_CACHE_SIZE=1", NULL);
    job_check_restart(job, ctx, "two", 2);
    job_kill(job, ctx);
}

JOB_CASE(it_leaves_the_cache_when_a_newer_checkpoint_is_whole, 4)
{
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_CACHE_SIZE=1", NULL);
    write_two(job, ctx);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_CACHE_SIZE=1", NULL);
    reject(job, ctx, 2, OUTSIDE_ALL);
    job_checkpoint(job, ctx, "three", 3);
    CHECK(scr_cache_is_ready(ctx, 2));
    CHECK_INT(job_entry(job, 2, NULL, NULL), -1);
    job_checkpoint(job, ctx, "four", 4);
    CHECK(!scr_cache_has(ctx, 2));
    CHECK(job_copied_ok(job, 2));           /* it was in cache only */
    job_check_restart(job, ctx, "four", 4); /* written since: it is offered */
    job_kill(job, ctx);
}

JOB_CASE(after_an_unknown_name_an_older_checkpoint_is_offered, 4)
{
    int failed = 1;
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_CACHE_SIZE=3", "SCR_FLUSH=1", NULL);
    write_two(job, ctx);
    reject(job, ctx, 2, UNKNOWN);
    job_check_restart(job, ctx, "one", 1);
    job_check_restart(job, ctx, "one", 1); /* this run cannot use the other one */
    CHECK_INT(job_entry(job, 2, NULL, &failed), 1);
    CHECK_INT(failed, 0);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_CACHE_SIZE=3", "SCR_FLUSH=1", NULL);
    job_check_restart(job, ctx, "two", 2);
    job_kill(job, ctx);
}

/* The end of a run copies it to the prefix like any other. */
JOB_CASE(it_is_flushed_at_the_end_of_the_run, 4)
{
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_CACHE_SIZE=3", "SCR_FLUSH=100", NULL);
    write_two(job, ctx);
    reject(job, ctx, 2, UNKNOWN);
    job_checkpoint(job, ctx, "three", 3);
    job_end(job, ctx);
    CHECK(job_copied_ok(job, 2));
    CHECK(job_copied_ok(job, 3));
}

/* What was read and found bad is no other start's. */
JOB_CASE(a_checkpoint_that_was_read_and_rejected_goes, 4)
{
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_CACHE_SIZE=2", NULL);
    write_two(job, ctx);
    reject(job, ctx, 2, RIGHT);
    CHECK(!scr_cache_has(ctx, 2));
    job_check_restart(job, ctx, "one", 1);
    job_kill(job, ctx);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(after_a_name_outside_the_prefix_nothing_is_offered),
                  RUN(what_is_in_cache_only_outlives_a_run_that_cannot_write_either),
                  RUN(it_leaves_the_cache_when_a_newer_checkpoint_is_whole),
                  RUN(after_an_unknown_name_an_older_checkpoint_is_offered),
                  RUN(it_is_flushed_at_the_end_of_the_run),
                  RUN(a_checkpoint_that_was_read_and_rejected_goes)));
}
