/* SPDX-License-Identifier: BSD-3-Clause */
/* Halt conditions: met at a start, at a checkpoint, or only when the program asks or
 * ends. What a halted run leaves is on the prefix (doc/design/durability.md P21). */
/* ranks: 4 */
#include "helper_prefix.h"
#include "helper_stored.h"
#include "store/prefix.h"

#include <time.h>

static const char *const nodes = "n[1-4]";

static void damage_halt_file(const struct job *job)
{
    char path[800];
    snprintf(path, sizeof path, "%s/.scr/halt.scr", job->prefix);
    mpi_test_barrier(job->comm);
    if (job->rank == 0) {
        FILE *f = fopen(path, "w");
        fputs("garbage garbage", f);
        fclose(f);
    }
    mpi_test_barrier(job->comm);
}

JOB_CASE(a_damaged_halt_file_is_kept_aside_once, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    int flag, n = 0;
    struct scr_ctx *ctx = job_start(job, nodes, NULL);
    damage_halt_file(job);
    for (int i = 0; i < 3; i++)
        CHECK_RC(scr_need_checkpoint_all(ctx, &flag, &err), SCR_OK, &err);
    job_checkpoint(job, ctx, "c1", 1);
    job_checkpoint(job, ctx, "c2", 2);
    mpi_test_barrier(job->comm);
    char **found = job_find(job->prefix, "halt.scr.damaged", &n);
    CHECK_INT(n, 1);
    job_find_free(found, n);
    job_kill(job, ctx);
}

/* It says nothing, but the end of the allocation is known without it. */
JOB_CASE(a_damaged_halt_file_does_not_hide_the_end_of_the_allocation, 4)
{
    char end[64];
    struct scr_ctx *ctx = job_start(job, nodes, NULL);
    job_kill(job, ctx);
    damage_halt_file(job);
    long now = (long)time(NULL);
    MPI_Bcast(&now, 1, MPI_LONG, 0, job->comm);
    snprintf(end, sizeof end, "SCR_END_TIME=%ld", now + 30);
    job->out = tmpfile();
    ctx = job_start(job, nodes, "SCR_HALT_SECONDS=60", end, NULL);
    CHECK_INT(ctx->halt, 1);
    /* The settings that say so are named; scr_halt neither lists nor removes them. */
    CHECK_INT(job_said(job, "the job is halted: less than 60 seconds left before the "
                            "end of the allocation, 20"),
              1);
    CHECK_INT(job_said(job, " (SCR_HALT_SECONDS, SCR_END_TIME)"), 1);
    CHECK_INT(job_said(job, "scr_halt --"), 0);
    job_kill(job, ctx);
    fclose(job->out);
}

static struct scr_ctx *start_in_allocation(struct job *job, const char *id, long end)
{
    char text[64], name[64];
    snprintf(text, sizeof text, "SCR_END_TIME=%ld", end);
    snprintf(name, sizeof name, "SCR_JOB_ID=%s", id);
    return job_start(job, nodes, "SCR_HALT_SECONDS=60", "SCR_FLUSH=1", text, name,
                     NULL);
}

/* By which the program's exit status is chosen. */
MPI_CASE(a_halt_whose_last_flush_failed_is_reported)
{
    for (int blocked = 0; blocked < 2; blocked++) {
        struct job job;
        job_new(t, &job, 4);
        job.out = tmpfile();
        struct scr_ctx *ctx = job_start(&job, nodes, NULL);
        CHECK_RC(scr_halt_reason_all(ctx, "test", &(struct scr_err){ 0 }), SCR_OK,
                 &(struct scr_err){ 0 });
        if (blocked)
            job_block_flush(&job, 1, 1);
        job_checkpoint(&job, ctx, "c1", 1);
        CHECK(ctx->halt);
        CHECK_INT(ctx->halt_unsafe, blocked);
        CHECK_INT(job_entry(&job, 1, NULL, NULL), blocked ? 0 : 1);
        CHECK_INT(job_said(&job, "is only in cache and is lost") > 0, blocked);
        job_kill(&job, ctx);
        fclose(job.out);
        job_free(&job);
    }
}

JOB_CASE(an_unknown_end_of_the_allocation_is_reported, 4)
{
    job->out = tmpfile();
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_HALT_SECONDS=60", NULL);
    CHECK(!ctx->halt);
    CHECK_INT(job_said(job, "SCR_HALT_SECONDS has no effect: the end"), 1);
    job_kill(job, ctx);
    fclose(job->out);
}

JOB_CASE(the_end_of_one_allocation_does_not_stop_the_next, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    long now = (long)time(NULL);
    MPI_Bcast(&now, 1, MPI_LONG, 0, job->comm);
    struct scr_ctx *ctx = start_in_allocation(job, "a1", now + 100000);
    CHECK_INT(ctx->halt, 0);
    job_checkpoint(job, ctx, "c1", 1);
    CHECK_RC(scr_finalize_all(ctx, &err), SCR_OK, &err);
    job_kill(job, ctx);
    ctx = start_in_allocation(job, "a1", now + 30);
    CHECK_INT(ctx->halt, 1); /* it ended well: not again in this one */
    job_kill(job, ctx);
    ctx = start_in_allocation(job, "a2", now + 100000);
    CHECK_INT(ctx->halt, 0);
    job_check_restart(job, ctx, "c1", 1);
    job_kill(job, ctx);
}

/* Two jobs in one prefix directory: each ends by reasons of its own. */
JOB_CASE(the_end_of_another_job_does_not_stop_a_run, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    long now = (long)time(NULL);
    MPI_Bcast(&now, 1, MPI_LONG, 0, job->comm);
    struct job other;
    job_share(t, &other, job, 4);
    struct scr_ctx *ctx = start_in_allocation(job, "a1", now + 100000);
    struct scr_ctx *beside = start_in_allocation(&other, "a2", now + 100000);
    CHECK_RC(scr_finalize_all(beside, &err), SCR_OK, &err);
    job_kill(&other, beside);
    job_checkpoint(job, ctx, "c1", 1);
    CHECK_INT(ctx->halt, 0);
    CHECK_RC(scr_finalize_all(ctx, &err), SCR_OK, &err);
    job_kill(job, ctx);
    ctx = start_in_allocation(job, "a1", now + 100000);
    CHECK_INT(ctx->halt, 1); /* its own end is what the file has now */
    job_kill(job, ctx);
    job_unshare(&other);
}

/* --- met when no checkpoint follows any more --- */

static int set_conditions(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    (void)err;
    *changed = 1;
    return scr_halt_set(h, arg);
}

static void set_halt(struct job *job, struct scr_ctx *ctx, struct scr_halt halt)
{
    struct mpi_test *t = job->t;
    mpi_test_barrier(job->comm);
    if (job->rank == 0)
        CHECK(scr_prefix_state_update(&ctx->env, &ctx->prefix, "halt.scr",
                                      set_conditions, &halt, NULL) == SCR_OK);
    mpi_test_barrier(job->comm);
}

static struct scr_halt halt_after(long seconds_from_now)
{
    return (struct scr_halt){ -1, (int64_t)time(NULL) + seconds_from_now, -1, -1, NULL,
                              0 };
}

static struct scr_halt halt_before(long seconds_from_now)
{
    return (struct scr_halt){ -1,  -1,   (int64_t)time(NULL) + seconds_from_now,
                              120, NULL, 0 };
}

static void ask_to_exit(struct job *job, struct scr_ctx *ctx, int want)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    int flag = -1;
    CHECK_RC(scr_should_exit_all(ctx, &flag, &err), SCR_OK, &err);
    CHECK_INT(flag, want);
}

static void finalize(struct job *job, struct scr_ctx *ctx)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    CHECK_RC(scr_finalize_all(ctx, &err), SCR_OK, &err);
    job_kill(job, ctx);
}

/* The ExitReason of the halt file, "" if it has none. */
static void get_reason(struct job *job, struct scr_ctx *ctx, char *reason, size_t n)
{
    scr_hash *h = scr_hash_new();
    mpi_test_barrier(job->comm);
    (void)scr_prefix_state_read(&ctx->env, &ctx->prefix, "halt.scr", h, NULL);
    const char *text = scr_hash_get_val(h, "ExitReason");
    snprintf(reason, n, "%s", text != NULL ? text : "");
    scr_hash_delete(h);
    mpi_test_barrier(job->comm);
}

/* Without distinguishable allocations, and where the program halts by itself, only run
 * loops use it: a run that is started continues. */
MPI_CASE(that_a_run_has_ended_stops_the_next_of_its_allocation_only)
{
    const struct {
        const char *job_id, *enabled;
        int stops;
    } rows[] = {
        { "SCR_JOB_ID=a1", "SCR_HALT_ENABLED=1", 1 },
        { "SCR_JOB_ID=a1", "SCR_HALT_ENABLED=0", 0 },
        { "SCR_JOB_ID=" SCR_NO_JOB_ID, "SCR_HALT_ENABLED=1", 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct job job;
        char reason[64];
        job_new(t, &job, 4);
        struct scr_ctx *ctx =
            job_start(&job, nodes, rows[i].job_id, rows[i].enabled, NULL);
        job_checkpoint(&job, ctx, "c1", 1);
        CHECK_RC(scr_finalize_all(ctx, &(struct scr_err){ 0 }), SCR_OK,
                 &(struct scr_err){ 0 });
        get_reason(&job, ctx, reason, sizeof reason);
        CHECK(strcmp(reason, SCR_HALT_FINALIZED) == 0);
        job_kill(&job, ctx);
        ctx = job_start(&job, nodes, rows[i].job_id, rows[i].enabled, NULL);
        CHECK_INT(ctx->halt, rows[i].stops);
        get_reason(&job, ctx, reason, sizeof reason);
        CHECK(strcmp(reason, rows[i].stops ? SCR_HALT_FINALIZED : "") == 0);
        if (!rows[i].stops) {
            ask_to_exit(&job, ctx, 0);
            job_checkpoint(&job, ctx, "c2", 2);
            CHECK_INT(ctx->halt, 0);
        }
        job_kill(&job, ctx);
        job_free(&job);
    }
}

/* SCR 3.x does not record their allocation. */
MPI_CASE(reasons_that_another_library_left_do_not_stop_a_run)
{
    const char *const reasons[] = { SCR_HALT_FINALIZED, "TIME_LIMIT" };
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        struct job job;
        struct scr_halt left = { -1, -1, -1, -1, reasons[i], 0 };
        job_new(t, &job, 4);
        struct scr_ctx *ctx = job_start(&job, nodes, "SCR_JOB_ID=a1", NULL);
        set_halt(&job, ctx, left);
        job_kill(&job, ctx);
        ctx = job_start(&job, nodes, "SCR_JOB_ID=a2", NULL);
        CHECK_INT(ctx->halt, 0);
        job_kill(&job, ctx);
        job_free(&job);
    }
}

/* scr_halt without a condition: the run continues up to its next checkpoint, which is
 * requested now, and is not started again even if it is killed before. */
MPI_CASE(a_run_that_is_asked_to_halt_ends_with_its_next_checkpoint)
{
    for (int killed = 0; killed < 2; killed++) {
        struct job job;
        struct scr_halt asked = { 1, -1, -1, -1, SCR_HALT_ASKED, 0 };
        int flag = 0;
        job_new(t, &job, 4);
        struct scr_ctx *ctx =
            job_start(&job, nodes, "SCR_CHECKPOINT_INTERVAL=1000", NULL);
        set_halt(&job, ctx, asked);
        ask_to_exit(&job, ctx, 0);
        CHECK_RC(scr_need_checkpoint_all(ctx, &flag, &(struct scr_err){ 0 }), SCR_OK,
                 &(struct scr_err){ 0 });
        CHECK_INT(flag, 1);
        CHECK_INT(ctx->halt, 0);
        if (!killed) {
            job_checkpoint(&job, ctx, "c1", 1);
            CHECK_INT(ctx->halt, 1);
            CHECK_ENTRY(&job, 1, COMPLETE, CURRENT);
        }
        job_kill(&job, ctx);
        ctx = job_start(&job, nodes, NULL);
        CHECK_INT(ctx->halt, 1);
        job_kill(&job, ctx);
        job_free(&job);
    }
}

/* By the words that scripts look for. */
MPI_CASE(the_condition_that_ended_a_run_is_recorded)
{
    const struct {
        struct scr_halt halt;
        const char *word;
    } rows[] = {
        { { 1, -1, -1, -1, NULL, 0 }, "NO_CHECKPOINTS_LEFT" },
        { halt_after(-60), "EXIT_AFTER_TIME" },
        { halt_before(60), "EXIT_BEFORE_TIME" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct job job;
        char reason[64];
        job_new(t, &job, 4);
        struct scr_ctx *ctx = job_start(&job, nodes, NULL);
        set_halt(&job, ctx, rows[i].halt);
        job_checkpoint(&job, ctx, "c1", 1);
        CHECK_INT(ctx->halt, 1);
        get_reason(&job, ctx, reason, sizeof reason);
        CHECK(strcmp(reason, rows[i].word) == 0);
        job_kill(&job, ctx);
        job_free(&job);
    }
}

/* P21: of two checkpoints the newest reaches the prefix, whether the program was asked
 * to exit or came to its end, and also if the condition was removed in the meantime. */
MPI_CASE(a_halt_that_no_checkpoint_meets_is_met_by_finalize)
{
    enum { ASKS = 1, TAKEN_BACK = 2 };
    const struct {
        struct scr_halt halt;
        int how;
        const char *setting;
    } rows[] = {
        { halt_after(-60), ASKS, "SCR_HALT_ENABLED=0" },
        { halt_after(-60), 0, "SCR_HALT_ENABLED=1" },
        { halt_before(60), ASKS, "SCR_HALT_ENABLED=1" },
        { { 0, -1, -1, -1, NULL, 0 }, 0, "SCR_HALT_ENABLED=0" },
        { { -1, -1, -1, -1, "JOB_HALTED", 0 }, ASKS, "SCR_FLUSH_ASYNC=1" },
        { halt_after(-60), ASKS | TAKEN_BACK, "SCR_HALT_ENABLED=1" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct job job;
        job_new(t, &job, 4);
        struct scr_ctx *ctx = job_start(&job, nodes, "SCR_FLUSH=0", "SCR_CACHE_SIZE=2",
                                        rows[i].setting, NULL);
        job_checkpoint(&job, ctx, "c1", 1);
        job_checkpoint(&job, ctx, "c2", 2);
        set_halt(&job, ctx, rows[i].halt);
        if (rows[i].how & ASKS)
            ask_to_exit(&job, ctx, 1);
        if (rows[i].how & TAKEN_BACK)
            set_halt(&job, ctx, halt_after(86400));
        finalize(&job, ctx);
        CHECK_ENTRY(&job, 1, ABSENT, NOT_CURRENT);
        CHECK_ENTRY(&job, 2, COMPLETE, CURRENT);
        job_free(&job);
    }
}

MPI_CASE(without_a_halt_finalize_leaves_checkpoints_in_cache)
{
    const struct scr_halt later[] = { halt_after(86400), halt_before(86400) };
    for (int i = 0; i < 2; i++) {
        struct job job;
        job_new(t, &job, 4);
        struct scr_ctx *ctx = job_start(&job, nodes, "SCR_FLUSH=0", NULL);
        job_checkpoint(&job, ctx, "c1", 1);
        set_halt(&job, ctx, later[i]);
        ask_to_exit(&job, ctx, 0);
        finalize(&job, ctx);
        CHECK_ENTRY(&job, 1, ABSENT, NOT_CURRENT);
        job_free(&job);
    }
}

JOB_CASE(what_a_halt_has_flushed_finalize_does_not_flush_again, 4)
{
    struct stat before = { 0 }, after = { 0 };
    char path[800];
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_FLUSH=0", "SCR_HALT_ENABLED=0", NULL);
    set_halt(job, ctx, halt_after(-60));
    job_checkpoint(job, ctx, "c1", 1);
    CHECK_ENTRY(job, 1, COMPLETE, CURRENT);
    snprintf(path, sizeof path, "%s/step.1/file0.%d", job->prefix, job->rank);
    CHECK(stat(path, &before) == 0);
    ask_to_exit(job, ctx, 1);
    finalize(job, ctx);
    CHECK(stat(path, &after) == 0);
    CHECK_INT(after.st_ino, before.st_ino);
}

/* Its flush may still be under way when the condition is met. */
JOB_CASE(finalize_of_a_halted_run_waits_for_what_is_under_way, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_FLUSH=0", "SCR_FLUSH_ASYNC=1", NULL);
    CHECK_RC(job_write(job, ctx, "c1", 1, SCR_IS_CKPT | SCR_IS_OUTPUT, &err), SCR_OK,
             &err);
    job_checkpoint(job, ctx, "c2", 2);
    set_halt(job, ctx, halt_after(-60));
    finalize(job, ctx);
    CHECK_ENTRY(job, 1, COMPLETE, NOT_CURRENT);
    CHECK_ENTRY(job, 2, COMPLETE, CURRENT);
}

/* The next one, if the job may continue, tries again. */
JOB_CASE(a_flush_at_the_end_of_a_halted_run_that_fails_is_an_error, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=0", NULL);
    job_checkpoint(job, ctx, "c1", 1);
    set_halt(job, ctx, halt_after(-60));
    job_block_flush(job, 1, 1);
    int rc = scr_finalize_all(ctx, &err);
    CHECK(rc != SCR_OK);
    CHECK(job_same_code(job, rc));
    CHECK(strstr(err.text, "step.1") != NULL);
    job_kill(job, ctx);
    job_block_flush(job, 1, 0);
    ctx = job_start(job, nodes, "SCR_FLUSH=0", "SCR_HALT_ENABLED=0", NULL);
    finalize(job, ctx);
    CHECK_ENTRY(job, 1, COMPLETE, CURRENT);
}

/* Only rank 0 reads it. */
JOB_CASE(a_rank_that_cannot_read_the_conditions_copies_and_all_say_why, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    char path[800];
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=0", NULL);
    job_checkpoint(job, ctx, "c1", 1);
    set_halt(job, ctx, halt_after(86400));
    snprintf(path, sizeof path, "%s/.scr/halt.scr", job->prefix);
    job_set_version(job, path, JOB_NEWER_VERSION);
    CHECK_RC(scr_finalize_all(ctx, &err), SCR_E_VERSION, &err);
    CHECK(strstr(err.text, "halt.scr") != NULL);
    CHECK_ENTRY(job, 1, COMPLETE, CURRENT);
    job_kill(job, ctx);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(a_damaged_halt_file_is_kept_aside_once),
                  RUN(a_damaged_halt_file_does_not_hide_the_end_of_the_allocation),
                  RUN(a_halt_whose_last_flush_failed_is_reported),
                  RUN(an_unknown_end_of_the_allocation_is_reported),
                  RUN(the_end_of_one_allocation_does_not_stop_the_next),
                  RUN(the_end_of_another_job_does_not_stop_a_run),
                  RUN(that_a_run_has_ended_stops_the_next_of_its_allocation_only),
                  RUN(reasons_that_another_library_left_do_not_stop_a_run),
                  RUN(a_run_that_is_asked_to_halt_ends_with_its_next_checkpoint),
                  RUN(the_condition_that_ended_a_run_is_recorded),
                  RUN(a_halt_that_no_checkpoint_meets_is_met_by_finalize),
                  RUN(without_a_halt_finalize_leaves_checkpoints_in_cache),
                  RUN(what_a_halt_has_flushed_finalize_does_not_flush_again),
                  RUN(finalize_of_a_halted_run_waits_for_what_is_under_way),
                  RUN(a_flush_at_the_end_of_a_halted_run_that_fails_is_an_error),
                  RUN(a_rank_that_cannot_read_the_conditions_copies_and_all_say_why)));
}
