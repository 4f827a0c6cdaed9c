/* SPDX-License-Identifier: BSD-3-Clause */
/* The marks of a dataset in flush.scr do not override the index, and do not apply to
 * another dataset of its number (doc/design/durability.md P24, P2, P14). */
/* ranks: 4 */
#include <errno.h>

#include "base/hashfile.h"
#include "base/str.h"
#include "helper_pfs.h"
#include "helper_prefix.h"

static const char *const nodes = "n[1-4]";

static int edit_copied(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    (void)err;
    *changed = 1;
    return scr_flush_set_location(h, *(const int *)arg, SCR_LOC_PFS, 1);
}

/* flush.scr calls a dataset of this number copied. */
static void mark_copied(struct job *job, struct scr_ctx *ctx, int id)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    mpi_test_barrier(job->comm);
    if (job->rank == 0)
        CHECK_RC(scr_prefix_state_update(&ctx->env, &ctx->prefix, "flush.scr",
                                         edit_copied, &id, &err),
                 SCR_OK, &err);
    mpi_test_barrier(job->comm);
}

static void write_one(struct job *job, struct scr_ctx *ctx)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    char path[SCR_MAX_NAME], name[900];
    snprintf(name, sizeof name, "%s/x/%d", job->prefix, job->rank);
    CHECK_RC(scr_route(ctx, name, path, &err), SCR_OK, &err);
    FILE *f = fopen(path, "w");
    CHECK(f != NULL && fputs("x", f) >= 0 && fclose(f) == 0);
}

JOB_CASE(a_dataset_begins_with_clear_marks, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=9", NULL);
    CHECK_RC(scr_start_output_all(ctx, "one", SCR_IS_CKPT, &err), SCR_OK, &err);
    write_one(job, ctx);
    mark_copied(job, ctx, 1);
    CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_OK, &err);
    job_end(job, ctx);
    CHECK_ENTRY(job, 1, COMPLETE, CURRENT);
}

/* Also where nothing else knows of it any more. */
JOB_CASE(a_number_in_the_flush_file_is_not_used_again, 4)
{
    struct scr_ctx *ctx = job_start(job, nodes, NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_kill(job, ctx);
    job_lose_node(job, nodes);
    ctx = job_start(job, nodes, NULL);
    job_checkpoint(job, ctx, "two", 2);
    CHECK_INT(ctx->restart.id, 0);
    CHECK_INT(ctx->last_id, 2);
    job_kill(job, ctx);
}

/* Moves the records of dataset 1 of job a aside for job b, or back. */
static void move_records(const struct job *job, int away)
{
    static const char *const names[] = { "index.scr", "flush.scr", "scr.dataset.1" };
    char here[900], there[900];
    mpi_test_barrier(job->comm);
    for (int i = 0; i < 3 && job->rank == 0; i++) {
        snprintf(here, sizeof here, "%s/.scr/%s", job->prefix, names[i]);
        snprintf(there, sizeof there, "%s/saved.%s", job->prefix, names[i]);
        if (!away)
            mpi_test_remove(here);
        (void)(away ? rename(here, there) : rename(there, here));
    }
    mpi_test_barrier(job->comm);
}

/* Dataset 1 "one" of job a is on the prefix, dataset 1 "mine" in the caches of job b.
 */
static void make_clash(struct job *job)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_JOB_ID=a", NULL);
    job_checkpoint(job, ctx, "one", 1);
    CHECK_RC(scr_flush_dataset_all(ctx, 1, &err), SCR_OK, &err);
    job_kill(job, ctx);
    job_lose_node(job, nodes);
    move_records(job, 1);
    ctx = job_start(job, nodes, "SCR_JOB_ID=b", NULL);
    job_checkpoint(job, ctx, "mine", 2);
    job_kill(job, ctx);
    move_records(job, 0);
}

JOB_CASE(marks_of_another_dataset_of_that_number_are_no_marks, 4)
{
    make_clash(job);
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_JOB_ID=b", NULL);
    CHECK(!scr_flush_is_done_all(ctx, 1));
    job_kill(job, ctx);
}

/* The message has the command that frees the number; ours_of_that_number_… shows what
 * follows. */
JOB_CASE(a_flush_whose_number_is_taken_says_what_to_do, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    char command[1000];
    make_clash(job);
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_JOB_ID=b", NULL);
    CHECK_RC(scr_flush_dataset_all(ctx, 1, &err), SCR_E_TAKEN, &err);
    snprintf(command, sizeof command, "scr_index --prefix %s --delete 1 --force,",
             job->prefix);
    CHECK(strstr(err.text, command) != NULL);
    CHECK(strstr(err.text, "flush of mine") != NULL);
    CHECK(scr_cache_is_ready(ctx, 1));
    job_kill(job, ctx);
}

/* "mine" cannot get there; a run from the beginning loses more than one from "one". */
JOB_CASE(a_global_restart_continues_from_what_has_the_number, 4)
{
    make_clash(job);
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_JOB_ID=b", "SCR_GLOBAL_RESTART=1", NULL);
    job_check_restart(job, ctx, "one", 1);
    job_kill(job, ctx);
}

/* P14: a name of the index is not taken for what has its number in cache. */
JOB_CASE(ours_of_that_number_is_neither_gone_to_nor_deleted, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    make_clash(job);
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_JOB_ID=b", NULL);
    int rc = scr_current_all(ctx, "one", &err);
    CHECK_RC(rc, SCR_E_TAKEN, &err);
    CHECK(job_same_code(job, rc));
    job_check_restart(job, ctx, "mine", 2);
    scr_err_clear(&err);
    CHECK_RC(scr_delete_all(ctx, "one", &err), SCR_OK, &err);
    CHECK_ENTRY(job, 1, ABSENT, NOT_CURRENT);
    CHECK(scr_cache_is_ready(ctx, 1));
    CHECK_RC(scr_flush_dataset_all(ctx, 1, &err), SCR_OK, &err);
    job_kill(job, ctx);
    job_check_prefix(job, nodes, "mine", 2);
}

/* Where flush.scr says that dataset id is. */
static int location(struct job *job, struct scr_ctx *ctx, int id)
{
    scr_hash *h = scr_hash_new();
    mpi_test_barrier(job->comm);
    (void)scr_prefix_state_read(&ctx->env, &ctx->prefix, "flush.scr", h, NULL);
    int at = scr_flush_get_location(h, id);
    scr_hash_delete(h);
    mpi_test_barrier(job->comm);
    return at;
}

/* A second job starts, writes, makes room and ends: the first can still be saved. */
JOB_CASE(a_second_job_leaves_the_marks_of_the_first, 4)
{
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_JOB_ID=a", NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_JOB_ID=b", "SCR_CACHE_SIZE=1", NULL);
    CHECK_INT(location(job, ctx, 1), SCR_LOC_CACHE);
    job_checkpoint(job, ctx, "two", 2);
    job_checkpoint(job, ctx, "three", 3);
    CHECK_INT(ctx->last_id, 3);
    CHECK_INT(location(job, ctx, 1), SCR_LOC_CACHE);
    CHECK_INT(location(job, ctx, 2), 0);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_JOB_ID=a", NULL);
    job_check_restart(job, ctx, "one", 1);
    CHECK_INT(location(job, ctx, 3), SCR_LOC_CACHE);
    job_kill(job, ctx);
}

/* Two datasets with files at the same paths. */
JOB_CASE(what_a_flush_cut_short_has_written_over_is_flushed_again, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    job->out = fopen("/dev/null", "w");
    pfs_reset();
    job->sys = &pfs_sys;
    struct scr_ctx *ctx = job_start(job, nodes, NULL);
    job_checkpoint(job, ctx, "one", 1);
    CHECK_RC(scr_flush_dataset_all(ctx, 1, &err), SCR_OK, &err);
    job_checkpoint(job, ctx, "two", 1);
    pfs_control.fail_path = "summary.scr"; /* when the files have their names */
    CHECK(scr_flush_dataset_all(ctx, 2, &err) != SCR_OK);
    pfs_control.fail_path = NULL;
    job_kill(job, ctx);
    CHECK_ENTRY(job, 1, INCOMPLETE, NOT_CURRENT);
    CHECK_ENTRY(job, 2, INCOMPLETE, NOT_CURRENT);
    job_lose_dataset(job, 2);
    job->sys = NULL;
    ctx = job_start(job, nodes, "SCR_FLUSH=9", NULL);
    CHECK_INT(job_offered(job, ctx), 1);
    job_end(job, ctx);
    CHECK_ENTRY(job, 1, COMPLETE, CURRENT);
    job_check_prefix(job, nodes, "one", 1);
    fclose(job->out);
}

/* P15: the newer one stays, and that the older one does not come back is no news. */
JOB_CASE(what_a_newer_one_has_written_over_is_left_without_a_word, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    job->out = tmpfile();
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_CACHE_SIZE=3", NULL);
    CHECK_RC(job_write(job, ctx, "one", 1, SCR_IS_CKPT | SCR_IS_OUTPUT, &err), SCR_OK,
             &err);
    CHECK_RC(job_write(job, ctx, "two", 1, SCR_IS_CKPT | SCR_IS_OUTPUT, &err), SCR_OK,
             &err);
    job_end(job, ctx);
    CHECK_ENTRY(job, 1, ABSENT, NOT_CURRENT);
    CHECK_ENTRY(job, 2, COMPLETE, CURRENT);
    CHECK_INT(job_said(job, "not flushed any more"), 0);
    fclose(job->out);
    job->out = NULL;
    job_check_prefix(job, nodes, "two", 1);
}

/* The user who dropped it from the index has seen it there. */
JOB_CASE(what_was_dropped_is_not_flushed_again, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    job_checkpoint(job, ctx, "one", 1);
    CHECK_RC(scr_drop_all(ctx, "one", &err), SCR_OK, &err);
    job_end(job, ctx);
    CHECK_ENTRY(job, 1, ABSENT, NOT_CURRENT);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(a_dataset_begins_with_clear_marks),
                  RUN(a_number_in_the_flush_file_is_not_used_again),
                  RUN(marks_of_another_dataset_of_that_number_are_no_marks),
                  RUN(a_flush_whose_number_is_taken_says_what_to_do),
                  RUN(a_global_restart_continues_from_what_has_the_number),
                  RUN(ours_of_that_number_is_neither_gone_to_nor_deleted),
                  RUN(a_second_job_leaves_the_marks_of_the_first),
                  RUN(what_a_flush_cut_short_has_written_over_is_flushed_again),
                  RUN(what_a_newer_one_has_written_over_is_left_without_a_word),
                  RUN(what_was_dropped_is_not_flushed_again)));
}
