/* SPDX-License-Identifier: BSD-3-Clause */
/* SCR_Need_checkpoint where nothing is set: what it measures, keeps and says, and that
 * it never fails for what it cannot keep. The clock is not waited for: the last
 * checkpoint is made older. */
/* ranks: 4 */
#include "helper_job.h"
#include "helper_stored.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *const nodes = "n[1-4]";

static int need(struct job *job, struct scr_ctx *ctx)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    int flag = 7;
    CHECK_RC(scr_need_checkpoint_all(ctx, &flag, &err), SCR_OK, &err);
    return flag;
}

/* The same when so many seconds more have passed since the last checkpoint. */
static int need_after(struct job *job, struct scr_ctx *ctx, double seconds)
{
    ctx->times.last_ckpt -= seconds;
    return need(job, ctx);
}

/* What the file has; the same on all ranks. *open: how many runs it has that did not
 * end. */
static struct scr_autopilot kept(struct job *job, int *open)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_autopilot a = { 0 };
    char path[800];
    scr_hash *h = scr_hash_new();
    snprintf(path, sizeof path, "%s/.scr/%s", job->prefix, SCR_AUTOPILOT_FILE);
    mpi_test_barrier(job->comm);
    CHECK_RC(scr_hash_file_read(&scr_sys_posix, path, h, &err), SCR_OK, &err);
    CHECK_RC(scr_autopilot_get(h, &a, &err), SCR_OK, &err);
    *open = (int)scr_hash_size(scr_hash_getf(h, "RUN JOB"));
    scr_hash_delete(h);
    mpi_test_barrier(job->comm);
    return a;
}

#define CHECK_FAILURES(process, node, system)                                          \
    do {                                                                               \
        int open_;                                                                     \
        struct scr_autopilot a_ = kept(&job, &open_);                                  \
        CHECK_INT(a_.failures[SCR_FAILED_PROCESS], process);                           \
        CHECK_INT(a_.failures[SCR_FAILED_NODE], node);                                 \
        CHECK_INT(a_.failures[SCR_FAILED_SYSTEM], system);                             \
    } while (0)

MPI_CASE(without_it_every_call_says_yes)
{
    struct job job;
    job_new(t, &job, 4);
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_CHECKPOINT_AUTO=0", NULL);
    for (int i = 0; i < 3; i++)
        CHECK_INT(need(&job, ctx), 1);
    job_end(&job, ctx);
    CHECK_INT(job_count(&job, job.prefix, SCR_AUTOPILOT_FILE), 0);
    job_free(&job);
}

MPI_CASE(the_first_after_a_minute_then_by_what_it_cost)
{
    struct job job;
    int open;
    job_new(t, &job, 4);
    job.out = tmpfile();
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_DEBUG=1", "SCR_MTBF=7200", NULL);
    CHECK_INT(need(&job, ctx), 0);
    CHECK_INT(job_said(&job, "the first one after 60 s"), 1);
    CHECK_INT(need_after(&job, ctx, 61), 1);
    job_checkpoint(&job, ctx, "one", 1);
    CHECK_INT(need(&job, ctx), 0);
    CHECK_INT(job_said(&job, "MTBF 30 min from 0 failures in "), 1);
    CHECK_INT(need_after(&job, ctx, 1800), 1); /* never longer than the mean */
    job_checkpoint(&job, ctx, "two", 2);
    struct scr_autopilot a = kept(&job, &open);
    CHECK_INT(open, 1);
    CHECK(a.cost.n == 1 && a.cost.value > 0 && a.cost.value < 60);
    CHECK(a.between.n > 0 && a.uptime > 0);
    CHECK_FAILURES(0, 0, 0);
    job_end(&job, ctx);
    (void)kept(&job, &open);
    CHECK_INT(open, 0);
    fclose(job.out);
    job.out = NULL;
    job_free(&job);
}

MPI_CASE(what_a_run_has_learned_is_known_to_the_next)
{
    struct job job;
    job_new(t, &job, 4);
    for (int i = 0; i < 2; i++) {
        struct scr_ctx *ctx = job_start(&job, nodes, "SCR_FLUSH=1", NULL);
        CHECK_INT(need_after(&job, ctx, 61), i == 0); /* five years are longer */
        job_checkpoint(&job, ctx, "one", 1);
        CHECK_INT(need(&job, ctx), 0);
        if (ctx->world.rank == 0)
            CHECK_INT(ctx->pilot.stats.flush.n, i + 1);
        job_end(&job, ctx);
    }
    job_free(&job);
}

MPI_CASE(failures_are_told_apart)
{
    struct job job;
    job_new(t, &job, 4);
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_FLUSH=1", NULL);
    CHECK_INT(need(&job, ctx), 0);
    job_checkpoint(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    ctx = job_start(&job, nodes, "SCR_FLUSH=1", NULL);
    CHECK_INT(need(&job, ctx), 0);
    CHECK_FAILURES(1, 0, 0);
    job_kill(&job, ctx);
    job_lose_node(&job, "n2");
    ctx = job_start(&job, nodes, "SCR_FLUSH=1", NULL);
    CHECK_INT(need(&job, ctx), 0);
    CHECK_FAILURES(1, 1, 0);
    job_kill(&job, ctx);
    job_lose_node(&job, nodes);
    ctx = job_start(&job, nodes, "SCR_FLUSH=1", NULL);
    CHECK_INT(need(&job, ctx), 0);
    CHECK_FAILURES(1, 1, 1);
    job_end(&job, ctx);
    ctx = job_start(&job, nodes, "SCR_HALT_ENABLED=0", NULL);
    CHECK_INT(need(&job, ctx), 0);
    CHECK_FAILURES(1, 1, 1);
    job_end(&job, ctx);
    job_free(&job);
}

/* The run of another job computes; its time counts, too. When it is silent for longer
 * than it would be, it has failed. */
MPI_CASE(a_run_of_another_job_has_not_failed)
{
    struct job a, b;
    struct scr_err err = SCR_ERR_INIT;
    int open;
    char prefix[800];
    job_new(t, &a, 4);
    job_new(t, &b, 4);
    struct job job = a; /* for CHECK_FAILURES */
    snprintf(prefix, sizeof prefix, "SCR_PREFIX=%s", a.prefix);
    struct scr_ctx *one = job_start(&a, nodes, "SCR_JOB_ID=17", NULL);
    CHECK_INT(need(&a, one), 0);
    struct scr_ctx *two = job_start(&b, nodes, "SCR_JOB_ID=18", prefix, NULL);
    CHECK_INT(need(&b, two), 0);
    CHECK_FAILURES(0, 0, 0);
    double uptime = kept(&a, &open).uptime;
    CHECK_INT(open, 2);
    if (one->world.rank == 0) {
        one->pilot.counted -= 100;
        one->pilot.written -= SCR_AUTOPILOT_EVERY;
        two->pilot.counted -= 1000;
        two->pilot.written -= SCR_AUTOPILOT_EVERY;
    }
    CHECK_INT(need(&a, one), 0);
    CHECK_INT(need(&b, two), 0);
    CHECK(kept(&a, &open).uptime >= uptime + 1100);
    CHECK_INT(open, 2);
    job_kill(&a, one);
    if (two->world.rank == 0) { /* an hour passes */
        char path[800];
        scr_hash *h = scr_hash_new();
        const struct scr_open_run then = { "17", (int64_t)time(NULL) - 3600, 0 };
        snprintf(path, sizeof path, "%s/.scr/%s", a.prefix, SCR_AUTOPILOT_FILE);
        CHECK_RC(scr_hash_file_read(&scr_sys_posix, path, h, &err), SCR_OK, &err);
        CHECK_RC(scr_autopilot_enter(h, &then), SCR_OK, &err);
        CHECK_RC(scr_hash_file_write(&scr_sys_posix, path, h, SCR_VOLATILE, &err),
                 SCR_OK, &err);
        scr_hash_delete(h);
        two->pilot.written -= SCR_AUTOPILOT_EVERY;
    }
    CHECK_INT(need(&b, two), 0);
    CHECK_FAILURES(1, 0, 0);
    job_end(&b, two);
    (void)kept(&a, &open);
    CHECK_INT(open, 0);
    job_free(&b);
    job_free(&a);
}

/* A program that leaves when it is asked to need not live to call SCR_Finalize. */
MPI_CASE(a_run_that_had_to_end_has_not_failed)
{
    for (int halts = 0; halts < 2; halts++) {
        struct job job;
        struct scr_err err = SCR_ERR_INIT;
        char end[64], seconds[64];
        long now = (long)time(NULL);
        int flag = 0, open = 7;
        job_new(t, &job, 4);
        MPI_Bcast(&now, 1, MPI_LONG, 0, job.comm);
        snprintf(end, sizeof end, "SCR_END_TIME=%ld", now + 3600);
        snprintf(seconds, sizeof seconds, "SCR_HALT_SECONDS=%d", 7200);
        struct scr_ctx *ctx = job_start(&job, nodes, "SCR_HALT_ENABLED=0", NULL);
        CHECK_INT(need(&job, ctx), 0);
        job_kill(&job, ctx);
        ctx = job_start(&job, nodes, "SCR_HALT_ENABLED=0", seconds, end, NULL);
        CHECK_INT(need(&job, ctx), 1); /* as it is to halt */
        if (halts)
            job_checkpoint(&job, ctx, "one", 1);
        else {
            CHECK_RC(scr_should_exit_all(ctx, &flag, &err), SCR_OK, &err);
            CHECK_INT(flag, 1);
        }
        job_kill(&job, ctx);
        (void)kept(&job, &open);
        CHECK_INT(open, 0);
        CHECK_FAILURES(1, 0, 0);
        job_free(&job);
    }
}

MPI_CASE(once_before_the_allocation_ends)
{
    struct job job;
    char end[64];
    long now = (long)time(NULL);
    job_new(t, &job, 4);
    MPI_Bcast(&now, 1, MPI_LONG, 0, job.comm);
    snprintf(end, sizeof end, "SCR_END_TIME=%ld", now + 3600);
    struct scr_ctx *ctx = job_start(&job, nodes, end, NULL);
    CHECK_INT(need(&job, ctx), 0);
    job_checkpoint(&job, ctx, "one", 1);
    CHECK_INT(need(&job, ctx), 0);
    ctx->prm.end_time = (double)now + 40; /* a minute is needed, and some */
    CHECK_INT(need(&job, ctx), 0);        /* done just now */
    CHECK_INT(need_after(&job, ctx, 100), 1);
    job_checkpoint(&job, ctx, "two", 2);
    CHECK_INT(need(&job, ctx), 0);
    job_end(&job, ctx);
    job_free(&job);
}

/* Alone it says yes as long as the share is not used up. */
MPI_CASE(a_share_of_the_time_limits_it_if_both_are_set)
{
    struct job job;
    job_new(t, &job, 4);
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_CHECKPOINT_OVERHEAD=1", NULL);
    CHECK_INT(need(&job, ctx), 1);
    job_end(&job, ctx);
    ctx = job_start(&job, nodes, "SCR_HALT_ENABLED=0", "SCR_CHECKPOINT_OVERHEAD=1",
                    "SCR_CHECKPOINT_AUTO=1", NULL);
    CHECK_INT(need(&job, ctx), 0);
    job_end(&job, ctx);
    job_free(&job);
}

/* --- SCR_FLUSH=AUTO --- */

static int on_prefix(struct job *job, struct scr_ctx *ctx, const char *name, int seed)
{
    job_checkpoint(job, ctx, name, seed);
    return scr_flush_is_settled_here(ctx, ctx->last_id);
}

/* The same when so many seconds more have passed since the last flush. */
static int on_prefix_after(struct job *job, struct scr_ctx *ctx, const char *name,
                           double seconds)
{
    ctx->times.last_flush -= seconds;
    ctx->pilot.counted -= seconds;
    return on_prefix(job, ctx, name, 2);
}

MPI_CASE(flushes_as_often_as_is_best)
{
    struct job job;
    int open;
    job_new(t, &job, 4);
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_FLUSH=AUTO", NULL);
    CHECK_INT(on_prefix(&job, ctx, "one", 1), 1); /* to measure it */
    for (int i = 0; i < 3; i++)
        CHECK_INT(on_prefix(&job, ctx, "two", 2), 0);
    CHECK_INT(on_prefix_after(&job, ctx, "three", 1e6), 1);
    CHECK_INT(on_prefix(&job, ctx, "four", 2), 0);
    struct scr_autopilot a = kept(&job, &open);
    CHECK(a.flush.n == 2 && a.cost.n > 2 && a.flush.value > 0 && open == 1);
    CHECK(a.uptime > 1e6 && a.unflushed < 1e5);
    job_kill(&job, ctx);
    /* The next run knows what a flush costs, and how long ago the last one was. */
    ctx = job_start(&job, nodes, "SCR_FLUSH=AUTO", NULL);
    CHECK_INT(on_prefix(&job, ctx, "five", 2), 0);
    if (ctx->world.rank == 0)
        ctx->pilot.counted -= 1e6;
    CHECK_INT(on_prefix(&job, ctx, "six", 2), 1);
    CHECK_INT(on_prefix(&job, ctx, "seven", 2), 0);
    job_end(&job, ctx);
    job_lose_node(&job, nodes); /* SCR_Finalize has flushed it, as with any but 0 */
    ctx = job_start(&job, nodes, "SCR_FLUSH=AUTO", "SCR_HALT_ENABLED=0", NULL);
    job_check_restart(&job, ctx, "seven", 2);
    job_end(&job, ctx);
    job_free(&job);
}

MPI_CASE(flushes_before_the_allocation_ends)
{
    struct job job;
    char end[64];
    long now = (long)time(NULL);
    job_new(t, &job, 4);
    MPI_Bcast(&now, 1, MPI_LONG, 0, job.comm);
    snprintf(end, sizeof end, "SCR_END_TIME=%ld", now + 36000);
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_FLUSH=AUTO", end, NULL);
    CHECK_INT(on_prefix(&job, ctx, "one", 1), 1);
    CHECK_INT(on_prefix(&job, ctx, "two", 2), 0);
    ctx->prm.end_time = (double)now + 50;
    CHECK_INT(on_prefix(&job, ctx, "three", 2), 1);
    job_end(&job, ctx);
    job_free(&job);
}

/* One at a time; the program waits a moment only. */
MPI_CASE(flushes_in_the_background_one_at_a_time)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    job_new(t, &job, 4);
    struct scr_ctx *ctx =
        job_start(&job, nodes, "SCR_FLUSH=AUTO", "SCR_FLUSH_ASYNC=1", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    CHECK_RC(scr_async_wait_all(ctx, 0, &err), SCR_OK, &err);
    CHECK_INT(scr_flush_is_settled_here(ctx, ctx->last_id), 1);
    job_checkpoint(&job, ctx, "two", 2);
    CHECK_INT(ctx->flusher.n, 0);
    CHECK_INT(scr_flush_is_settled_here(ctx, ctx->last_id), 0);
    if (ctx->world.rank == 0)
        CHECK(ctx->pilot.stats.blocked.n == 1 && ctx->pilot.stats.flush.n == 1 &&
              ctx->pilot.stats.blocked.value > 0);
    ctx->times.last_flush -= 1e6;
    ctx->pilot.counted -= 1e6;
    job_checkpoint(&job, ctx, "three", 2);
    CHECK_RC(scr_async_wait_all(ctx, 0, &err), SCR_OK, &err);
    CHECK_INT(scr_flush_is_settled_here(ctx, ctx->last_id), 1);
    job_end(&job, ctx);
    job_free(&job);
}

/* --- files that cannot be had --- */

static void put(struct job *job, const char *text)
{
    char path[800];
    snprintf(path, sizeof path, "%s/.scr/%s", job->prefix, SCR_AUTOPILOT_FILE);
    if (job->rank == 0) {
        FILE *f = fopen(path, "w");
        if (f != NULL) {
            fputs(text, f);
            fclose(f);
        }
    }
    mpi_test_barrier(job->comm);
}

MPI_CASE(a_damaged_file_is_kept_aside)
{
    struct job job;
    int open;
    job_new(t, &job, 4);
    job.out = tmpfile();
    struct scr_ctx *ctx = job_start(&job, nodes, NULL);
    put(&job, "this is no hash file");
    CHECK_INT(need(&job, ctx), 0);
    CHECK_INT(job_count(&job, job.prefix, "autopilot.scr.damaged"), 1);
    (void)kept(&job, &open);
    CHECK_INT(open, 1);
    job_end(&job, ctx);
    fclose(job.out);
    job.out = NULL;
    job_free(&job);
}

MPI_CASE(a_newer_file_stays_as_it_is)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    char path[800];
    job_new(t, &job, 4);
    job.out = tmpfile();
    struct scr_ctx *ctx = job_start(&job, nodes, NULL);
    snprintf(path, sizeof path, "%s/.scr/%s", job.prefix, SCR_AUTOPILOT_FILE);
    scr_hash *newer = scr_hash_new(), *h = scr_hash_new();
    scr_hash_set_val(newer, "VERSION", "2");
    if (job.rank == 0)
        CHECK_RC(scr_hash_file_write(&scr_sys_posix, path, newer, SCR_VOLATILE, &err),
                 SCR_OK, &err);
    mpi_test_barrier(job.comm);
    CHECK_INT(need(&job, ctx), 0);
    CHECK_INT(need_after(&job, ctx, 61), 1);
    job_checkpoint(&job, ctx, "one", 1);
    CHECK_INT(need(&job, ctx), 0);
    CHECK_INT(job_said(&job, "is not kept: "), 1);
    job_end(&job, ctx);
    CHECK_RC(scr_hash_file_read(&scr_sys_posix, path, h, &err), SCR_OK, &err);
    CHECK(scr_hash_equal(newer, h));
    scr_hash_delete(newer);
    scr_hash_delete(h);
    fclose(job.out);
    job.out = NULL;
    job_free(&job);
}

/* A device that is full from some call on, and one that fails once, at each call of the
 * first question: a line at most, and the answers are what they were. */
MPI_CASE(no_failure_of_the_file_fails_a_call)
{
    struct job job;
    for (int how = TEST_ONCE; how <= TEST_FOREVER; how++)
        for (long n = 0, fired = 1; fired; n++) {
            job_new(t, &job, 4);
            job.out = tmpfile();
            job.sys = &test_fault_sys;
            struct scr_ctx *ctx = job_start(&job, nodes, NULL);
            job_arm(&job, 0, TEST_ANY, n, how == TEST_ONCE ? EIO : ENOSPC,
                    (enum test_how)how);
            struct scr_err err = SCR_ERR_INIT;
            int flag = 7;
            /* The halt file, which it reads too, may be what failed. */
            int rc = scr_need_checkpoint_all(ctx, &flag, &err);
            fired = job_disarm(&job);
            CHECK(rc == SCR_OK || strstr(err.text, "halt") != NULL);
            CHECK(job_same_code(&job, rc));
            CHECK_INT(flag, 0);
            CHECK(job_said(&job, "is not kept: ") <= 1);
            CHECK_INT(need_after(&job, ctx, 61), 1);
            job_checkpoint(&job, ctx, "one", 1);
            CHECK_INT(need(&job, ctx), 0);
            job_end(&job, ctx);
            fclose(job.out);
            job.out = NULL;
            job_free(&job);
        }
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(
            RUN(without_it_every_call_says_yes),
            RUN(the_first_after_a_minute_then_by_what_it_cost),
            RUN(what_a_run_has_learned_is_known_to_the_next),
            RUN(failures_are_told_apart), RUN(a_run_of_another_job_has_not_failed),
            RUN(a_run_that_had_to_end_has_not_failed),
            RUN(once_before_the_allocation_ends),
            RUN(a_share_of_the_time_limits_it_if_both_are_set),
            RUN(flushes_as_often_as_is_best), RUN(flushes_before_the_allocation_ends),
            RUN(flushes_in_the_background_one_at_a_time),
            RUN(a_damaged_file_is_kept_aside), RUN(a_newer_file_stays_as_it_is),
            RUN(no_failure_of_the_file_fails_a_call)));
}
