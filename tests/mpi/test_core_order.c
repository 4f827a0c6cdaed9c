/* SPDX-License-Identifier: BSD-3-Clause */
/* Which checkpoint a run continues from: the cache, SCR_CURRENT and CURRENT, the newest
 * complete one, older ones; and again in the same run. */
/* ranks: 4 */
#include <errno.h>

#include "helper_pfs.h"
#include "helper_prefix.h"
#include "helper_stored.h"

static const char *const nodes = "n[1-4]";

/* Checkpoints named a, b, … with seeds and ids 1 … n. */
static void write_some(struct job *job, struct scr_ctx *ctx, int n)
{
    for (int i = 1; i <= n; i++)
        job_checkpoint(job, ctx, (char[]){ (char)('a' + i - 1), '\0' }, i);
}

static void lose_cache(struct job *job)
{
    job_lose_node(job, "n[1-4]");
}

/* Reads what is offered, which has to be this dataset, and says it is no good. */
static void refuse(struct job *job, struct scr_ctx *ctx, int id)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    CHECK_INT(job_offered(job, ctx), id);
    CHECK_RC(scr_start_restart_all(ctx, NULL, &err), SCR_OK, &err);
    CHECK(job_read_ok(job, ctx, id));
    CHECK_RC(scr_complete_restart_all(ctx, job->rank != 2, &err), SCR_E_INVALID, &err);
}

static void flip_on_prefix(struct job *job, int seed)
{
    char path[800];
    snprintf(path, sizeof path, "%s/step.%d/file0.1", job->prefix, seed);
    mpi_test_barrier(job->comm);
    if (job->rank == 0)
        job_flip(path, 0);
    mpi_test_barrier(job->comm);
}

/* --- SCR_CURRENT --- */

JOB_CASE(the_checkpoint_asked_for_wins_over_newer_ones_in_cache, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_CACHE_SIZE=5", NULL);
    write_some(job, ctx, 3);
    job_block_flush(job, 4, 1);
    CHECK(job_write(job, ctx, "out", 4, 2, &err) != SCR_OK);
    job_block_flush(job, 4, 0);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_CACHE_SIZE=5", "SCR_CURRENT=b", NULL);
    CHECK(!scr_cache_has(ctx, 3));
    CHECK_ENTRY(job, 4, COMPLETE, NOT_CURRENT); /* output is flushed before it goes */
    CHECK(!scr_cache_has(ctx, 4));
    CHECK_INT(ctx->ckpt_id, 2);
    CHECK_INT(ctx->last_id, 4);
    job_check_restart(job, ctx, "b", 2);
    job_kill(job, ctx);
}

JOB_CASE(the_checkpoint_asked_for_is_fetched_if_the_cache_has_it_not, 4)
{
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_CACHE_SIZE=1", "SCR_FLUSH=1", NULL);
    write_some(job, ctx, 3);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_CACHE_SIZE=1", "SCR_CURRENT=a",
                    "SCR_DROP_AFTER_CURRENT=1", NULL);
    CHECK_ENTRY(job, 1, COMPLETE, CURRENT);
    CHECK_ENTRY(job, 2, ABSENT, NOT_CURRENT);
    CHECK_ENTRY(job, 3, ABSENT, NOT_CURRENT);
    job_check_restart(job, ctx, "a", 1);
    job_checkpoint(job, ctx, "d", 4);
    CHECK_INT(ctx->last_id, 4); /* dropped ids are not used again */
    job_kill(job, ctx);
}

JOB_CASE(an_unknown_name_asked_for_is_reported_and_the_newest_is_taken, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_CACHE_SIZE=5", NULL);
    write_some(job, ctx, 2);
    CHECK_RC(job_write(job, ctx, "out", 3, 2, &err), SCR_OK, &err);
    job_kill(job, ctx);
    const char *const wrong[] = { "SCR_CURRENT=nobody", "SCR_CURRENT=out" };
    for (int i = 0; i < 2; i++) {
        job->out = tmpfile();
        ctx = job_start(job, nodes, "SCR_CACHE_SIZE=5", wrong[i], NULL);
        CHECK(job_said(job, i ? "out is no complete" : "nobody") > 0);
        job_check_restart(job, ctx, "b", 2);
        job_kill(job, ctx);
        fclose(job->out);
        job->out = NULL;
    }
}

JOB_CASE(a_damaged_one_asked_for_costs_nothing_and_an_older_one_is_taken, 4)
{
    int failed = 0;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    write_some(job, ctx, 3);
    job_kill(job, ctx);
    job_lose_dataset(job, 2);
    flip_on_prefix(job, 2);
    ctx = job_start(job, nodes, "SCR_CURRENT=b", NULL);
    CHECK_INT(job_entry(job, 2, NULL, &failed), 1);
    CHECK_INT(failed, 1);
    CHECK(scr_cache_is_ready(ctx, 3));
    job_check_restart(job, ctx, "a", 1);
    job_kill(job, ctx);
}

/* But not because of missing room: the user has chosen. */
JOB_CASE(one_asked_for_that_has_no_room_is_an_error, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    const char *const settings[] = { "SCR_CURRENT=b", NULL };
    pfs_reset();
    job->sys = &pfs_sys;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    write_some(job, ctx, 3);
    job_kill(job, ctx);
    lose_cache(job);
    pfs_control.write_error = ENOSPC;
    CHECK_RC(job_try_start(job, &ctx, &err, nodes, settings), SCR_E_FULL, &err);
    CHECK(strstr(err.text, "SCR_CURRENT: b cannot be loaded: ") != NULL);
    CHECK(strstr(err.text, "no older checkpoint is used instead") != NULL);
    job_kill(job, ctx);
    pfs_reset();
    ctx = job_start(job, nodes, "SCR_CURRENT=b", NULL);
    job_check_restart(job, ctx, "b", 2);
    job_kill(job, ctx);
}

/* --- SCR_Current --- */

JOB_CASE(programs_that_restart_on_their_own_count_on_from_what_they_name, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    write_some(job, ctx, 3);
    job_kill(job, ctx);
    lose_cache(job);
    ctx = job_start(job, nodes, "SCR_FETCH=0", "SCR_FLUSH=3", NULL);
    CHECK_INT(job_offered(job, ctx), 0);
    CHECK_RC(scr_current_all(ctx, "b", &err), SCR_OK, &err);
    CHECK_INT(job_offered(job, ctx), 0);
    CHECK_ENTRY(job, 2, COMPLETE, CURRENT);
    job_checkpoint(job, ctx, "d", 4); /* the third in the count: flushed */
    CHECK_ENTRY(job, 4, COMPLETE, CURRENT);
    job_checkpoint(job, ctx, "e", 5);
    CHECK_ENTRY(job, 5, ABSENT, NOT_CURRENT);
    CHECK_RC(scr_current_all(ctx, "nobody", &err), SCR_OK, &err);
    CHECK_INT(ctx->ckpt_id, 4);
    job_kill(job, ctx);
}

JOB_CASE(an_output_that_cannot_be_flushed_does_not_keep_newer_checkpoints, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_CACHE_SIZE=5", NULL);
    write_some(job, ctx, 1);
    job_block_flush(job, 2, 1);
    CHECK(job_write(job, ctx, "out", 2, 2, &err) != SCR_OK);
    job_checkpoint(job, ctx, "c", 3);
    struct scr_err why = SCR_ERR_INIT;
    CHECK(scr_current_all(ctx, "a", &why) != SCR_OK);
    CHECK(scr_cache_is_ready(ctx, 2)); /* kept, to be tried again (P7) */
    CHECK(!scr_cache_has(ctx, 3));
    job_check_restart(job, ctx, "a", 1);
    job_kill(job, ctx);
}

/* --- falling back --- */

JOB_CASE(the_copy_on_the_prefix_is_read_before_an_older_one, 4)
{
    int failed = 0;
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_CACHE_SIZE=3", "SCR_FLUSH=2", NULL);
    write_some(job, ctx, 2);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_CACHE_SIZE=3", NULL);
    refuse(job, ctx, 2); /* from cache */
    CHECK_INT(job_entry(job, 2, NULL, &failed), 1);
    CHECK_INT(failed, 0);
    job_check_restart(job, ctx, "b", 2); /* from the prefix */
    job_kill(job, ctx);
}

JOB_CASE(a_program_that_refuses_everything_comes_to_the_end, 4)
{
    int failed = 0;
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_CACHE_SIZE=5", "SCR_FLUSH=2", NULL);
    write_some(job, ctx, 5); /* b and d are on the prefix too */
    job_kill(job, ctx);
    job_lose_dataset(job, 4);
    ctx = job_start(job, nodes, "SCR_CACHE_SIZE=5", NULL);
    refuse(job, ctx, 5); /* only in cache */
    refuse(job, ctx, 4); /* only on the prefix, between cached ones */
    CHECK_INT(job_entry(job, 4, NULL, &failed), 1);
    CHECK_INT(failed, 1);
    refuse(job, ctx, 3);
    refuse(job, ctx, 2); /* in cache */
    refuse(job, ctx, 2); /* on the prefix */
    refuse(job, ctx, 1);
    CHECK_INT(job_offered(job, ctx), 0);
    job_checkpoint(job, ctx, "f", 6); /* from the beginning */
    CHECK_INT(ctx->last_id, 6);
    job_check_restart(job, ctx, "f", 6);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_CACHE_SIZE=5", NULL);
    job_check_restart(job, ctx, "f", 6);
    job_kill(job, ctx);
}

JOB_CASE(a_bad_copy_on_the_prefix_ends_with_the_older_one, 4)
{
    int failed = 0;
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_CACHE_SIZE=3", "SCR_FLUSH=2", NULL);
    write_some(job, ctx, 2);
    flip_on_prefix(job, 2);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_CACHE_SIZE=3", NULL);
    refuse(job, ctx, 2);
    CHECK_INT(job_entry(job, 2, NULL, &failed), 1);
    CHECK_INT(failed, 1);
    job_check_restart(job, ctx, "a", 1);
    job_kill(job, ctx);
}

JOB_CASE(without_fetch_the_prefix_is_not_read, 4)
{
    int failed = 1;
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_CACHE_SIZE=3", "SCR_FLUSH=1", NULL);
    write_some(job, ctx, 2);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_CACHE_SIZE=3", "SCR_FETCH=0", NULL);
    refuse(job, ctx, 2);
    CHECK_INT(job_entry(job, 2, NULL, &failed), 1);
    CHECK_INT(failed, 0);
    job_check_restart(job, ctx, "a", 1);
    job_kill(job, ctx);
}

/* --- in the same run --- */

JOB_CASE(output_between_have_and_start_takes_nothing_away, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    char name[SCR_MAX_NAME] = "";
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_CACHE_SIZE=1", NULL);
    write_some(job, ctx, 1);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_CACHE_SIZE=1", NULL);
    CHECK_INT(job_offered(job, ctx), 1);
    CHECK_RC(job_write(job, ctx, "out", 2, 2, &err), SCR_OK, &err);
    CHECK_RC(scr_start_restart_all(ctx, name, &err), SCR_OK, &err);
    CHECK(strcmp(name, "a") == 0);
    CHECK(job_read_ok(job, ctx, 1));
    CHECK_RC(scr_complete_restart_all(ctx, 1, &err), SCR_OK, &err);
    job_kill(job, ctx);
}

JOB_CASE(a_checkpoint_between_have_and_start_leaves_what_was_promised, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    char name[SCR_MAX_NAME] = "";
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_CACHE_SIZE=2", NULL);
    write_some(job, ctx, 1);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_CACHE_SIZE=2", NULL);
    CHECK_INT(job_offered(job, ctx), 1);
    job_checkpoint(job, ctx, "b", 2);
    CHECK_RC(scr_start_restart_all(ctx, name, &err), SCR_OK, &err);
    CHECK(strcmp(name, "a") == 0);
    CHECK(job_read_ok(job, ctx, 1));
    CHECK_RC(scr_complete_restart_all(ctx, 1, &err), SCR_OK, &err);
    job_kill(job, ctx);
    /* Where it had to make room for the new one, there is nothing to start. */
    ctx = job_start(job, nodes, "SCR_CACHE_SIZE=1", NULL);
    job_checkpoint(job, ctx, "c", 3);
    job_checkpoint(job, ctx, "d", 4);
    CHECK_RC(scr_start_restart_all(ctx, name, &err), SCR_E_STATE, &err);
    job_check_restart(job, ctx, "d", 4);
    job_kill(job, ctx);
}

JOB_CASE(a_run_may_go_back_as_often_as_it_likes, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_CACHE_SIZE=2", NULL);
    CHECK_INT(job_offered(job, ctx), 0);
    write_some(job, ctx, 2);
    job_check_restart(job, ctx, "b", 2);
    job_check_restart(job, ctx, "b", 2);
    refuse(job, ctx, 2);
    job_check_restart(job, ctx, "a", 1);
    CHECK_INT(ctx->ckpt_id, 1);
    job_checkpoint(job, ctx, "c", 3);
    CHECK_RC(job_write(job, ctx, "d", 4, 1, &err), SCR_OK, &err);
    job_check_restart(job, ctx, "d", 4);
    job_kill(job, ctx);
}

/* --- parameters --- */

JOB_CASE(flush_on_restart_flushes_the_checkpoint_of_the_restart, 4)
{
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_CACHE_SIZE=5", NULL);
    write_some(job, ctx, 3);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_CACHE_SIZE=5", "SCR_FLUSH_ON_RESTART=1",
                    "SCR_CURRENT=b", NULL);
    CHECK_ENTRY(job, 2, COMPLETE, CURRENT);
    CHECK_ENTRY(job, 3, ABSENT, NOT_CURRENT); /* dropped, and not flushed for that */
    CHECK_ENTRY(job, 1, ABSENT, NOT_CURRENT);
    job_check_restart(job, ctx, "b", 2);
    job_kill(job, ctx);
}

JOB_CASE(a_global_restart_reads_from_the_prefix, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    char file[900], path[SCR_MAX_NAME] = "";
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_CACHE_SIZE=3", NULL);
    write_some(job, ctx, 3);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_CACHE_SIZE=3", "SCR_GLOBAL_RESTART=1", NULL);
    CHECK_ENTRY(job, 3, COMPLETE, CURRENT);
    CHECK_ENTRY(job, 2, ABSENT, NOT_CURRENT);
    CHECK_RC(scr_start_restart_all(ctx, NULL, &err), SCR_OK, &err);
    snprintf(file, sizeof file, "%s/step.3/file0.%d", job->prefix, job->rank);
    CHECK_RC(scr_route(ctx, file, path, &err), SCR_OK, &err);
    CHECK(strncmp(path, job->prefix, strlen(job->prefix)) == 0);
    CHECK(job_read_ok(job, ctx, 3));
    CHECK_RC(scr_complete_restart_all(ctx, 0, &err), SCR_E_INVALID, &err);
    CHECK_INT(job_offered(job, ctx), 2);
    CHECK_ENTRY(job, 2, COMPLETE, CURRENT);
    refuse(job, ctx, 2);
    refuse(job, ctx, 1);
    CHECK_INT(job_offered(job, ctx), 0);
    job_kill(job, ctx);
}

/* The checkpoint refused there is still in cache, where it was not read. */
JOB_CASE(a_global_restart_keeps_the_cached_copy_of_what_is_refused, 4)
{
    int failed = 0;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_CACHE_SIZE=3", NULL);
    write_some(job, ctx, 2);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_CACHE_SIZE=3", "SCR_GLOBAL_RESTART=1", NULL);
    refuse(job, ctx, 2);
    CHECK_INT(job_entry(job, 2, NULL, &failed), 1);
    CHECK_INT(failed, 1);
    job_check_restart(job, ctx, "a", 1);
    job_check_restart(job, ctx, "a", 1);
    job_end(job, ctx);
    CHECK_ENTRY(job, 2, COMPLETE, NOT_CURRENT);
    CHECK_ENTRY(job, 1, COMPLETE, CURRENT);
    ctx = job_start(job, nodes, "SCR_CACHE_SIZE=3", NULL);
    job_check_restart(job, ctx, "b", 2);
    job_kill(job, ctx);
}

JOB_CASE(a_global_restart_repairs_a_damaged_copy_from_cache, 4)
{
    int failed = 1;
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_CACHE_SIZE=3", "SCR_FLUSH=1", NULL);
    write_some(job, ctx, 2);
    job_kill(job, ctx);
    flip_on_prefix(job, 2);
    ctx = job_start(job, nodes, "SCR_CACHE_SIZE=3", "SCR_GLOBAL_RESTART=1", NULL);
    job_check_restart(job, ctx, "b", 2);
    CHECK_INT(job_entry(job, 2, NULL, &failed), 1);
    CHECK_INT(failed, 0);
    CHECK_ENTRY(job, 2, COMPLETE, CURRENT);
    job_kill(job, ctx);
    lose_cache(job);
    ctx = job_start(job, nodes, NULL);
    job_check_restart(job, ctx, "b", 2);
    job_kill(job, ctx);
}

/* The flush file says of both that they are on the prefix (invariant P24). */
JOB_CASE(one_is_flushed_again_if_the_index_calls_it_failed, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_CACHE_SIZE=3", "SCR_FLUSH=1", NULL);
    write_some(job, ctx, 2);
    job_fail_entry(job, 1);
    CHECK(!scr_flush_is_done_all(ctx, 1));
    CHECK(scr_flush_is_done_all(ctx, 2));
    job_fail_entry(job, 2);
    CHECK(!scr_flush_is_done_all(ctx, 2));
    CHECK_RC(scr_flush_pending_all(ctx, 1, &err), SCR_OK, &err);
    CHECK(scr_flush_is_done_all(ctx, 2));
    CHECK_ENTRY(job, 2, COMPLETE, CURRENT);
    job_kill(job, ctx);
}

JOB_CASE(a_global_restart_that_cannot_flush_warns_and_keeps_the_checkpoint, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    const char *const settings[] = { "SCR_GLOBAL_RESTART=1", NULL };
    struct scr_ctx *ctx = job_start(job, nodes, NULL);
    write_some(job, ctx, 1);
    job_kill(job, ctx);
    job_block_flush(job, 1, 1);
    CHECK(job_try_start(job, &ctx, &err, nodes, settings) != SCR_OK);
    job_kill(job, ctx);
    job_block_flush(job, 1, 0);
    ctx = job_start(job, nodes, "SCR_GLOBAL_RESTART=1", NULL);
    job_check_restart(job, ctx, "a", 1);
    job_kill(job, ctx);
}

JOB_CASE(a_deleted_or_dropped_checkpoint_is_not_offered_any_more, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_CACHE_SIZE=5", "SCR_FLUSH=1", NULL);
    write_some(job, ctx, 3);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_CACHE_SIZE=5", NULL);
    CHECK_INT(job_offered(job, ctx), 3);
    CHECK_RC(scr_delete_all(ctx, "c", &err), SCR_OK, &err);
    CHECK(!job_has(job, "step.3") && !job_has(job, ".scr/scr.dataset.3"));
    CHECK_INT(job_offered(job, ctx), 2);
    CHECK_RC(scr_drop_all(ctx, "a", &err), SCR_OK, &err);
    CHECK_ENTRY(job, 1, ABSENT, NOT_CURRENT);
    CHECK(job_has(job, "step.1"));
    CHECK_RC(scr_delete_all(ctx, "nobody", &err), SCR_OK, &err);
    CHECK_RC(scr_drop_all(ctx, "nobody", &err), SCR_OK, &err);
    job_kill(job, ctx);
    lose_cache(job);
    ctx = job_start(job, nodes, NULL);
    refuse(job, ctx, 2);
    CHECK_INT(job_offered(job, ctx), 0); /* a was dropped */
    job_kill(job, ctx);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(
            RUN(the_checkpoint_asked_for_wins_over_newer_ones_in_cache),
            RUN(the_checkpoint_asked_for_is_fetched_if_the_cache_has_it_not),
            RUN(an_unknown_name_asked_for_is_reported_and_the_newest_is_taken),
            RUN(a_damaged_one_asked_for_costs_nothing_and_an_older_one_is_taken),
            RUN(one_asked_for_that_has_no_room_is_an_error),
            RUN(programs_that_restart_on_their_own_count_on_from_what_they_name),
            RUN(an_output_that_cannot_be_flushed_does_not_keep_newer_checkpoints),
            RUN(the_copy_on_the_prefix_is_read_before_an_older_one),
            RUN(a_program_that_refuses_everything_comes_to_the_end),
            RUN(a_bad_copy_on_the_prefix_ends_with_the_older_one),
            RUN(without_fetch_the_prefix_is_not_read),
            RUN(output_between_have_and_start_takes_nothing_away),
            RUN(a_checkpoint_between_have_and_start_leaves_what_was_promised),
            RUN(a_run_may_go_back_as_often_as_it_likes),
            RUN(flush_on_restart_flushes_the_checkpoint_of_the_restart),
            RUN(a_global_restart_reads_from_the_prefix),
            RUN(a_global_restart_keeps_the_cached_copy_of_what_is_refused),
            RUN(a_global_restart_repairs_a_damaged_copy_from_cache),
            RUN(one_is_flushed_again_if_the_index_calls_it_failed),
            RUN(a_global_restart_that_cannot_flush_warns_and_keeps_the_checkpoint),
            RUN(a_deleted_or_dropped_checkpoint_is_not_offered_any_more)));
}
