/* SPDX-License-Identifier: BSD-3-Clause */
/* The two lines of a run on stderr: what it starts with, and what it has written. */
/* ranks: 4 */
#include "helper_prefix.h"

static const char *const nodes = "n[1-4]";

static struct scr_ctx *start(struct job *job, const char *setting)
{
    return job_start(job, nodes, "SCR_QUIET=0", "SCR_CACHE_SIZE=1", setting, NULL);
}

/* A run's first line, and the second of one that writes nothing. */
JOB_CASE(a_run_that_writes_nothing, 4)
{
    job->out = tmpfile();
    job_end(job, start(job, "SCR_FLUSH=0"));
    CHECK_INT(job_said(job, "SCR " SCR_VERSION ": 4 ranks on 4 nodes; XOR, sets of 4; "
                            "cache "),
              1);
    CHECK_INT(job_said(job, " free); prefix "), 1);
    CHECK_INT(job_said(job, "; no checkpoint found"), 1);
    CHECK_INT(job_said(job, "SCR: no checkpoint was written"), 1);
    CHECK_INT(job_said(job, "SCR"), 2);
    fclose(job->out);
}

/* Shorter than the time to the first checkpoint. */
JOB_CASE(a_run_that_was_never_asked_for_a_checkpoint, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    int flag = 7;
    job->out = tmpfile();
    struct scr_ctx *ctx = start(job, "SCR_FLUSH=0");
    CHECK_RC(scr_need_checkpoint_all(ctx, &flag, &err), SCR_OK, &err);
    CHECK_INT(flag, 0);
    job_end(job, ctx);
    CHECK_INT(job_said(job,
                       "SCR: no checkpoint was written: SCR_Need_checkpoint asks for "
                       "the first after 60 s, SCR_CHECKPOINT_SECONDS sets another "
                       "time"),
              1);
    fclose(job->out);
}

/* A byte of each rank. */
JOB_CASE(the_size_is_that_of_all_ranks, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    char file[900], path[SCR_MAX_NAME];
    job->out = tmpfile();
    struct scr_ctx *ctx = start(job, "SCR_FLUSH=0");
    for (int i = 1; i <= 2; i++) {
        CHECK_RC(scr_start_output_all(ctx, NULL, SCR_IS_CKPT, &err), SCR_OK, &err);
        snprintf(file, sizeof file, "%s/f.%d.%d", job->prefix, i, job->rank);
        CHECK_RC(scr_route(ctx, file, path, &err), SCR_OK, &err);
        FILE *f = fopen(path, "w");
        CHECK(f != NULL && fputs("x", f) >= 0 && fclose(f) == 0);
        CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_OK, &err);
    }
    job_end(job, ctx);
    CHECK_INT(job_said(job, "SCR: 2 checkpoints of 4 B (all ranks) in "), 1);
    fclose(job->out);
}

JOB_CASE(lines_with_the_time, 4)
{
    job->out = tmpfile();
    setenv("SCR_LOG_TIME", "1", 1); /* the tests have 0 there */
    job_end(job, job_start(job, nodes, "SCR_QUIET=0", NULL));
    setenv("SCR_LOG_TIME", "0", 1);
    CHECK_INT(job_said(job, "SCR"), 2);
    CHECK_INT(job_said(job, ":00 SCR " SCR_VERSION ": 4 ranks on 4 nodes; "), 1);
    CHECK_INT(job_said(job, ":00 SCR: no checkpoint was written"), 1);
    fclose(job->out);
}

JOB_CASE(checkpoints_in_cache_and_on_the_prefix, 4)
{
    job->out = tmpfile();
    struct scr_ctx *ctx = start(job, "SCR_FLUSH=2");
    job_checkpoint(job, ctx, "one", 1);
    job_checkpoint(job, ctx, "two", 2);
    job_checkpoint(job, ctx, "three", 3);
    job_kill(job, ctx);
    job_lose_node(job, "n2");
    ctx = start(job, "SCR_FLUSH=0");
    CHECK_INT(job_said(job, "; restart from three in cache"), 1);
    job_checkpoint(job, ctx, "four", 4);
    job_end(job, ctx);
    CHECK_INT(job_said(job, "SCR: 1 checkpoint of "), 1);
    CHECK_INT(job_said(job, "; 0 flushed; newest four is in cache, none on the prefix; "
                            "the job survived 1 failure so far"),
              1);
    ctx = start(job, "SCR_FLUSH=2");
    job_checkpoint(job, ctx, "five", 5);
    job_checkpoint(job, ctx, "six", 6);
    job_end(job, ctx);
    CHECK_INT(job_said(job, "SCR: 2 checkpoints of "), 1);
    CHECK_INT(job_said(job, " flushed; newest six is on the prefix; the job survived 1 "
                            "failure so far"),
              1);
    fclose(job->out);
}

static void fail_checkpoint(struct job *job, struct scr_ctx *ctx, const char *name)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    CHECK_RC(scr_start_output_all(ctx, name, SCR_IS_CKPT, &err), SCR_OK, &err);
    CHECK(scr_complete_output_all(ctx, 0, &err) != SCR_OK);
}

/* The newest checkpoint is older than the program wanted. */
JOB_CASE(runs_whose_last_attempts_failed, 4)
{
    job->out = tmpfile();
    struct scr_ctx *ctx = start(job, "SCR_FLUSH=0");
    fail_checkpoint(job, ctx, "one");
    fail_checkpoint(job, ctx, "two");
    job_end(job, ctx);
    CHECK_INT(job_said(job, "SCR: warning: no checkpoint was written; the last 2 "
                            "attempts failed"),
              1);
    ctx = start(job, "SCR_FLUSH=0");
    job_checkpoint(job, ctx, "three", 3);
    fail_checkpoint(job, ctx, "four");
    job_end(job, ctx);
    CHECK_INT(job_said(job, "SCR: warning: 1 checkpoint of "), 1);
    CHECK_INT(job_said(job, "; the last attempt failed"), 1);
    fclose(job->out);
}

JOB_CASE(a_restart_from_the_prefix, 4)
{
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_end(job, ctx);
    job_lose_node(job, nodes);
    job->out = tmpfile();
    job_end(job, start(job, "SCR_FLUSH=1"));
    CHECK_INT(job_said(job, "; restart from one fetched from the prefix"), 1);
    job_lose_node(job, nodes);
    job_end(job, start(job, "SCR_CACHE_BYPASS=1"));
    CHECK_INT(job_said(job, "; checkpoints go straight to the prefix; prefix "), 1);
    CHECK_INT(job_said(job, "; restart from one on the prefix"), 1);
    fclose(job->out);
}

JOB_CASE(more_nodes_are_lost_than_it_survives, 4)
{
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=0", NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_kill(job, ctx);
    job_lose_node(job, "n[1-3]");
    job->out = tmpfile();
    job_end(job, start(job, "SCR_FLUSH=0"));
    CHECK_INT(job_said(job,
                       " has lost its files, and so have the ranks of its set that "
                       "had the list of them: too many are lost"),
              1);
    CHECK_INT(job_said(job, "; no checkpoint found"), 1);
    fclose(job->out);
}

JOB_CASE(checkpoints_are_marked_failed, 4)
{
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_kill(job, ctx);
    job_fail_entry(job, 1);
    job_lose_node(job, "n[1-4]");
    job->out = tmpfile();
    job_end(job, start(job, "SCR_FLUSH=0"));
    CHECK_INT(job_said(job, "; no checkpoint found (1 marked failed: scr why)"), 1);
    fclose(job->out);
}

JOB_CASE(none_if_it_is_quiet, 4)
{
    job->out = tmpfile();
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_QUIET=1", NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_end(job, ctx);
    CHECK_INT(job_said(job, "SCR"), 0);
    fclose(job->out);
}

/* SCR_DEBUG=1 has a line a checkpoint. */
JOB_CASE(how_long_each_part_took, 4)
{
    job->out = tmpfile();
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_DEBUG=1", "SCR_FLUSH=1", NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_end(job, ctx);
    CHECK_INT(job_said(job, "SCR: dataset 1 one complete in "), 1);
    CHECK_INT(job_said(job, "/s); encoded in "), 1);
    CHECK_INT(job_said(job, "/s); flushed in "), 1);
    CHECK_INT(job_said(job, "; cache has "), 1);
    fclose(job->out);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(a_run_that_writes_nothing),
                  RUN(a_run_that_was_never_asked_for_a_checkpoint),
                  RUN(the_size_is_that_of_all_ranks), RUN(lines_with_the_time),
                  RUN(checkpoints_in_cache_and_on_the_prefix),
                  RUN(runs_whose_last_attempts_failed), RUN(a_restart_from_the_prefix),
                  RUN(more_nodes_are_lost_than_it_survives),
                  RUN(checkpoints_are_marked_failed), RUN(none_if_it_is_quiet),
                  RUN(how_long_each_part_took)));
}
