/* SPDX-License-Identifier: BSD-3-Clause */
/* How many collective calls each call of SCR makes when all is well: one agreement a
 * step. With many ranks, or more ranks than cores, they are what a call costs. */
/* ranks: 4 */
#include "helper_job.h"

static const char *const nodes = "n[1-4]";

/* Beside those a step is made of, an encode has three, over each set: sizes, whether
 * all can begin, checksums. */
enum { ENCODE = 3 };

/* A flush of files whose sizes and checksums are known: destinations 3, an earlier
 * attempt 1, index 2, list of files 4, copies 1, older datasets 2, names 1, directories
 * and totals 1, summary 1. */
enum { FLUSH = 16 };

/* Makes a call that returns a code and says what it may cost. */
#define COSTS(most, call)                                                              \
    do {                                                                               \
        test_collectives = 0;                                                          \
        CHECK_RC(call, SCR_OK, &err);                                                  \
        if (test_collectives > (most))                                                 \
            mpi_test_fail(t, __FILE__, __LINE__,                                       \
                          "%s: %d collective calls, %d allowed", #call,                \
                          test_collectives, most);                                     \
    } while (0)

/* One file a rank. */
static void write_file(struct job *job, struct scr_ctx *ctx, const char *name)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    char file[900], path[SCR_MAX_NAME] = "";
    snprintf(file, sizeof file, "%s/%s/f.%d", job->prefix, name, job->rank);
    test_collectives = 0;
    CHECK_RC(scr_route(ctx, file, path, &err), SCR_OK, &err);
    CHECK_INT(test_collectives, 0);
    FILE *f = fopen(path, "w");
    CHECK(f != NULL && fputs(name, f) >= 0 && fclose(f) == 0);
}

static void checkpoint(struct job *job, struct scr_ctx *ctx, const char *name,
                       int start, int complete)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    COSTS(start, scr_start_output_all(ctx, name, SCR_IS_CKPT, &err));
    write_file(job, ctx, name);
    COSTS(complete, scr_complete_output_all(ctx, 1, &err));
}

/* The one before it leaves the cache. */
JOB_CASE(a_checkpoint_in_cache, 4)
{
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_CACHE_SIZE=-1", NULL);
    checkpoint(job, ctx, "one", 2, 3 + ENCODE);
    checkpoint(job, ctx, "two", 2, 4 + ENCODE);
    checkpoint(job, ctx, "three", 2, 4 + ENCODE);
    job_end(job, ctx);
}

JOB_CASE(one_that_has_to_make_room, 4)
{
    job->out = fopen("/dev/null", "w"); /* that none is left in cache meanwhile */
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_CACHE_SIZE=1", NULL);
    checkpoint(job, ctx, "one", 2, 3 + ENCODE);
    checkpoint(job, ctx, "two", 4, 3 + ENCODE);
    job_end(job, ctx);
    fclose(job->out);
}

JOB_CASE(a_checkpoint_that_is_flushed, 4)
{
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    checkpoint(job, ctx, "one", 2, 3 + ENCODE + FLUSH);
    checkpoint(job, ctx, "two", 2, 3 + ENCODE + FLUSH);
    job_end(job, ctx);
}

/* A flush that does not wait: destinations 3, an earlier attempt 1, index 2,
 * directories 1, list of files 4, the plan 3, older datasets 2, how fast 1, to begin 4.
 */
JOB_CASE(a_checkpoint_whose_flush_begins, 4)
{
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_FLUSH=1", "SCR_FLUSH_ASYNC=1", NULL);
    checkpoint(job, ctx, "one", 2, 3 + ENCODE + 21);
    job_end(job, ctx);
}

/* From the prefix directory into caches that have gone. */
JOB_CASE(a_start_that_fetches, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    int flag = 0;
    const char *const settings[] = { "SCR_COPY_TYPE=XOR", NULL };
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    checkpoint(job, ctx, "one", 2, 3 + ENCODE + FLUSH);
    job_kill(job, ctx);
    job_lose_node(job, nodes);
    ctx = job_make(job, nodes, settings);
    COSTS(23, scr_init_all(ctx, job->comm, &err));
    COSTS(1, scr_have_restart_all(ctx, &flag, NULL, &err));
    CHECK(flag);
    job_end(job, ctx);
}

/* Deleted by name, listed and restarted from. */
JOB_CASE(one_that_bypasses_the_cache, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    int n = 0;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_CACHE_BYPASS=1", NULL);
    checkpoint(job, ctx, "one", 6, 16);
    checkpoint(job, ctx, "two", 8, 16);
    COSTS(23, scr_delete_all(ctx, "one", &err));
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_CACHE_BYPASS=1", NULL);
    COSTS(5, scr_restart_files_all(ctx, &n, &err));
    CHECK_INT(n, 4);
    COSTS(1, scr_restart_files_all(ctx, &n, &err));
    job_end(job, ctx);
}

/* A communicator 1, what rank 0 found 1, hosts 2, virtual nodes 1, their directories 1,
 * sets 2, filemaps of the node 1, what there is 1, what to restart from 1. */
static void start_empty(struct job *job, const char *vnodes)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    const char *const settings[] = { "SCR_COPY_TYPE=XOR", NULL };
    struct scr_ctx *ctx = job_make(job, vnodes, settings);
    COSTS(11, scr_init_all(ctx, job->comm, &err));
    job_end(job, ctx);
}

JOB_CASE(a_start_with_nothing_in_cache, 4)
{
    start_empty(job, nodes);
}

JOB_CASE(a_start_on_one_node, 4)
{
    start_empty(job, "n1");
}

/* A start after a job that died with n checkpoints in cache, each in sets of all nodes.
 * lost: nodes that have lost theirs, or NULL. */
static void start_again(struct job *job, int n, const char *lost, const char *vnodes,
                        int most)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    int flag = 0;
    static const char *const names[] = { "one", "two", "three", "four", "five" };
    const char *const settings[] = { "SCR_COPY_TYPE=XOR", "SCR_CACHE_SIZE=5", NULL };
    struct scr_ctx *ctx = job_start(job, nodes, settings[0], settings[1], NULL);
    for (int i = 0; i < n; i++)
        checkpoint(job, ctx, names[i], 2, 3 + ENCODE);
    job_kill(job, ctx);
    if (lost != NULL)
        job_lose_node(job, lost);
    ctx = job_make(job, vnodes, settings);
    COSTS(most, scr_init_all(ctx, job->comm, &err));
    COSTS(1, scr_have_restart_all(ctx, &flag, NULL, &err));
    CHECK(flag);
    job_end(job, ctx);
}

/* The ranks are where they were. Besides: where the files of all datasets are 1, what
 * those of each are like 1, the files to be read 1. */
enum { FOUND = 13 };

JOB_CASE(a_start_that_finds_one_in_cache, 4)
{
    start_again(job, 1, NULL, nodes, FOUND + 1);
}

JOB_CASE(a_start_that_finds_two_in_cache, 4)
{
    start_again(job, 2, NULL, nodes, FOUND + 2);
}

JOB_CASE(a_start_that_finds_five_in_cache, 4)
{
    start_again(job, 5, NULL, nodes, FOUND + 5);
}

/* Lists of files 1, what each has 1; the stripes 1, whether all is rebuilt 1, whether
 * it is in place, and what it is 1. */
enum { REBUILD = 5, MOVE = 31 };

/* A node was lost, and is empty now, or another takes its place. */
JOB_CASE(a_start_that_has_lost_a_node, 4)
{
    start_again(job, 1, "n2", nodes, FOUND + REBUILD);
}

JOB_CASE(a_start_that_has_a_new_node, 4)
{
    start_again(job, 1, "n2", "n1,n5,n3,n4", FOUND + REBUILD);
}

JOB_CASE(a_start_that_rebuilds_two, 4)
{
    start_again(job, 2, "n2", nodes, FOUND + 2 * REBUILD);
}

/* All are there, but elsewhere; and the filemaps are dealt out, 5. */
JOB_CASE(a_start_that_moves_files, 4)
{
    start_again(job, 1, NULL, "n4,n1,n2,n3", FOUND + 5 + MOVE);
}

JOB_CASE(questions, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    int flag = 0;
    struct scr_ctx *ctx = job_start(job, nodes, NULL);
    COSTS(1, scr_need_checkpoint_all(ctx, &flag, &err));
    COSTS(1, scr_should_exit_all(ctx, &flag, &err));
    COSTS(1, scr_have_restart_all(ctx, &flag, NULL, &err));
    COSTS(2, scr_finalize_all(ctx, &err));
    job_kill(job, ctx);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(
            RUN(a_checkpoint_in_cache), RUN(one_that_has_to_make_room),
            RUN(a_checkpoint_that_is_flushed), RUN(a_checkpoint_whose_flush_begins),
            RUN(a_start_that_fetches), RUN(one_that_bypasses_the_cache),
            RUN(a_start_with_nothing_in_cache), RUN(a_start_on_one_node),
            RUN(a_start_that_finds_one_in_cache), RUN(a_start_that_finds_two_in_cache),
            RUN(a_start_that_finds_five_in_cache), RUN(a_start_that_has_lost_a_node),
            RUN(a_start_that_has_a_new_node), RUN(a_start_that_rebuilds_two),
            RUN(a_start_that_moves_files), RUN(questions)));
}
