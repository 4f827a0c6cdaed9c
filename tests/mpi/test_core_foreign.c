/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets in cache of a run with a different number of ranks (invariant P5): how long
 * they stay there, that output gets to the prefix, that they are found by name, and
 * read again if the copy on the prefix is damaged (invariant P10). */
/* ranks: 4 */
#include "helper_prefix.h"
#include "helper_stored.h"

enum { CKPT = 1, OUTPUT = 2, BOTH = 3 };

static const char *const nodes = "n[1-2]";

/* A run of so many ranks on two nodes: body, then it dies. */
typedef void (*run_body)(struct job *job, struct scr_ctx *ctx);

static void run(struct mpi_test *t, const struct job *base, int ranks,
                const char *setting, run_body body)
{
    struct job job;
    job_share(t, &job, base, ranks);
    if (job.in) {
        struct scr_ctx *ctx = job_start(&job, nodes, "SCR_CACHE_SIZE=1", setting, NULL);
        body(&job, ctx);
        job_kill(&job, ctx);
    }
    job_unshare(&job);
}

static void write_one(struct job *job, struct scr_ctx *ctx)
{
    job_checkpoint(job, ctx, "one", 1);
}

static void write_blocked(struct job *job, struct scr_ctx *ctx, const char *name,
                          int seed, int flags)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    job_block_flush(job, seed, 1);
    CHECK(job_write(job, ctx, name, seed, flags, &err) != SCR_OK);
    job_block_flush(job, seed, 0);
}

static int foreign(const struct scr_ctx *ctx, int id)
{
    return scr_cache_is(ctx, id, SCR_CACHE_FOREIGN);
}

/* --- how long a checkpoint stays --- */

static void stay_until_newer_one(struct job *job, struct scr_ctx *ctx)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    CHECK(foreign(ctx, 1));
    CHECK_RC(scr_drop_all(ctx, "one", &err), SCR_OK, &err); /* from the prefix */
    job_checkpoint(job, ctx, "two", 2);
    CHECK(foreign(ctx, 1)); /* nothing newer was safe when that began */
    job_checkpoint(job, ctx, "three", 3);
    CHECK(!scr_cache_has(ctx, 1)); /* "two" was, in the same cache */
    CHECK(!scr_cache_has(ctx, 2)); /* by COUNT */
    job_checkpoint(job, ctx, "four", 4);
    CHECK(scr_cache_is_ready(ctx, 4));
    scr_hash *left = job_cached(job, 1);
    CHECK(job->rank != 0 || scr_hash_size(left) == 0);
    scr_hash_delete(left);
}

MPI_CASE(a_checkpoint_stays_until_a_newer_one_is_as_safe)
{
    struct job base;
    job_new(t, &base, 4);
    run(t, &base, 4, NULL, write_one);
    run(t, &base, 2, NULL, stay_until_newer_one);
    job_free(&base);
}

static void stay_by_count(struct job *job, struct scr_ctx *ctx)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    CHECK_RC(scr_drop_all(ctx, "one", &err), SCR_OK, &err);
    job_checkpoint(job, ctx, "two", 2);
    job_checkpoint(job, ctx, "three", 3);
    CHECK(foreign(ctx, 1) && scr_cache_is_ready(ctx, 2) && scr_cache_is_ready(ctx, 3));
    job_checkpoint(job, ctx, "four", 4);
    CHECK(!scr_cache_has(ctx, 1));
    CHECK(scr_cache_is_ready(ctx, 2) && scr_cache_is_ready(ctx, 4));
}

MPI_CASE(it_counts_like_any_other)
{
    struct job base;
    job_new(t, &base, 4);
    run(t, &base, 4, NULL, write_one);
    run(t, &base, 3, "SCR_CACHE_SIZE=3", stay_by_count);
    job_free(&base);
}

static void go_at_once(struct job *job, struct scr_ctx *ctx)
{
    struct mpi_test *t = job->t;
    CHECK(foreign(ctx, 1));
    job_checkpoint(job, ctx, "two", 2);
    CHECK(!scr_cache_has(ctx, 1));
}

MPI_CASE(what_is_on_the_prefix_makes_room_at_once)
{
    struct job base;
    job_new(t, &base, 4);
    run(t, &base, 4, "SCR_FLUSH=1", write_one);
    run(t, &base, 2, NULL, go_at_once);
    job_free(&base);
}

/* The number that wrote it is offered the newer one, and no run an older one. */
static void offered_two(struct job *job, struct scr_ctx *ctx)
{
    struct mpi_test *t = job->t;
    CHECK_INT(job_offered(job, ctx), 2);
}

static void write_two(struct job *job, struct scr_ctx *ctx)
{
    job_checkpoint(job, ctx, "two", 2);
}

MPI_CASE(a_run_of_the_right_number_is_offered_what_is_newer)
{
    struct job base;
    job_new(t, &base, 4);
    run(t, &base, 4, NULL, write_one);
    run(t, &base, 2, NULL, write_two);
    run(t, &base, 4, NULL, offered_two);
    job_free(&base);
}

/* --- output --- */

static void leave_output(struct job *job, struct scr_ctx *ctx)
{
    write_blocked(job, ctx, "out", 1, OUTPUT);
    write_blocked(job, ctx, "both", 2, BOTH);
}

static void find_it_flushed(struct job *job, struct scr_ctx *ctx)
{
    struct mpi_test *t = job->t;
    CHECK_INT(job_entry(job, 1, NULL, NULL), 1);
    CHECK_INT(job_entry(job, 2, NULL, NULL), 1);
    CHECK(!scr_cache_has(ctx, 1));
    CHECK(foreign(ctx, 2)); /* a checkpoint, too */
    CHECK(job_has(job, "step.1/file0.3") && job_has(job, "step.2/file0.3"));
}

MPI_CASE(output_is_flushed_by_a_run_of_a_different_number)
{
    for (int async = 0; async < 2; async++) {
        struct job base;
        job_new(t, &base, 4);
        run(t, &base, 4, NULL, leave_output);
        run(t, &base, 3, async ? "SCR_FLUSH_ASYNC=1" : NULL, find_it_flushed);
        job_free(&base);
    }
}

/* With too much lost nothing can be done, and nothing else suffers. */
static void go_on_without(struct job *job, struct scr_ctx *ctx)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    CHECK(foreign(ctx, 1));
    CHECK(job_entry(job, 1, NULL, NULL) != 1);
    job_checkpoint(job, ctx, "three", 3);
    job_checkpoint(job, ctx, "four", 4);
    CHECK_RC(scr_finalize_all(ctx, &err), SCR_OK, &err);
    CHECK(foreign(ctx, 1));
}

static void leave_single(struct job *job, struct scr_ctx *ctx)
{
    write_blocked(job, ctx, "out", 1, OUTPUT);
    write_blocked(job, ctx, "both", 2, BOTH);
}

MPI_CASE(output_that_is_lost_stops_no_run)
{
    struct job base;
    job_new(t, &base, 4);
    base.out = tmpfile();
    run(t, &base, 4, "SCR_COPY_TYPE=SINGLE", leave_single);
    if (base.in)
        job_lose_node(&base, "n2");
    run(t, &base, 2, NULL, go_on_without);
    fclose(base.out);
    job_free(&base);
}

/* --- by name --- */

static void go_to_one(struct job *job, struct scr_ctx *ctx)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    CHECK_RC(scr_current_all(ctx, "one", &err), SCR_OK, &err);
    CHECK_INT(job_entry(job, 1, NULL, NULL), 1);
    CHECK_INT(ctx->ckpt_id, 1);
    CHECK_RC(scr_current_all(ctx, "nobody", &err), SCR_OK, &err);
    CHECK_RC(scr_delete_all(ctx, "one", &err), SCR_OK, &err);
    CHECK(!scr_cache_has(ctx, 1));
    CHECK_INT(job_entry(job, 1, NULL, NULL), -1);
}

MPI_CASE(a_checkpoint_in_cache_alone_is_found_by_name)
{
    static const char *const setting[] = { "SCR_FETCH=0", "SCR_FETCH=1" };
    for (int i = 0; i < 2; i++) {
        struct job base;
        job_new(t, &base, 4);
        run(t, &base, 4, NULL, write_one);
        run(t, &base, 3, setting[i], go_to_one);
        job_free(&base);
    }
}

static void delete_one(struct job *job, struct scr_ctx *ctx)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    CHECK_RC(scr_drop_all(ctx, "both", &err), SCR_OK, &err); /* from the prefix */
    CHECK_RC(scr_delete_all(ctx, "both", &err), SCR_OK, &err);
    CHECK(!scr_cache_has(ctx, 1));
    CHECK_RC(scr_delete_all(ctx, "both", &err), SCR_OK, &err);
}

static void write_both(struct job *job, struct scr_ctx *ctx)
{
    struct mpi_test *t = job->t;
    job_checkpoint(job, ctx, "both", 1);
    CHECK_INT(job_entry(job, 1, NULL, NULL), -1);
}

MPI_CASE(one_in_cache_alone_is_deleted_by_name)
{
    struct job base;
    job_new(t, &base, 4);
    run(t, &base, 4, NULL, write_both);
    run(t, &base, 2, "SCR_FETCH=0", delete_one);
    job_free(&base);
}

/* --- two copies --- */

static void flip(struct job *job, const char *path)
{
    char full[900];
    snprintf(full, sizeof full, "%s/%s", job->prefix, path);
    mpi_test_barrier(job->comm);
    if (job->rank == 0)
        job_flip(full, 0);
    mpi_test_barrier(job->comm);
}

/* Offered is dataset 1, whose copy on the prefix is good or not: what is read of it is
 * refused if it is not. */
static int read_or_refuse(struct job *job, struct scr_ctx *ctx)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    int ok = 1, all = 0;
    CHECK_INT(job_offered(job, ctx), 1);
    CHECK_RC(scr_start_restart_all(ctx, NULL, &err), SCR_OK, &err);
    for (int r = 0; r < 4; r++)
        ok = job_read_of(job, ctx, r, 1) && ok;
    MPI_Allreduce(&ok, &all, 1, MPI_INT, MPI_MIN, job->comm);
    CHECK_RC(scr_complete_restart_all(ctx, all, &err), all ? SCR_OK : SCR_E_INVALID,
             &err);
    return all;
}

static void read_twice(struct job *job, struct scr_ctx *ctx)
{
    struct mpi_test *t = job->t;
    CHECK(!read_or_refuse(job, ctx)); /* found when a file is routed */
    CHECK(read_or_refuse(job, ctx));  /* the copy in cache has taken its place */
    CHECK_INT(job_entry(job, 1, NULL, NULL), 1);
}

static void refuse_good_one(struct job *job, struct scr_ctx *ctx)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    CHECK_INT(job_offered(job, ctx), 1);
    CHECK_RC(scr_start_restart_all(ctx, NULL, &err), SCR_OK, &err);
    CHECK_RC(scr_complete_restart_all(ctx, 0, &err), SCR_E_INVALID, &err);
    CHECK_INT(job_offered(job, ctx), 0); /* the bytes in cache are the same */
    CHECK(foreign(ctx, 1));
}

MPI_CASE(a_damaged_copy_on_the_prefix_is_replaced_from_cache)
{
    struct job base;
    job_new(t, &base, 4);
    run(t, &base, 4, "SCR_FLUSH=1", write_one);
    run(t, &base, 2, NULL, refuse_good_one);
    if (base.in)
        flip(&base, "step.1/file0.2");
    run(t, &base, 2, NULL, read_twice);
    job_free(&base);
}

/* Found when a global restart copies it out: what is damaged in cache is rebuilt. */
static void damage_cache(struct job *job)
{
    int n = 0;
    mpi_test_barrier(job->comm);
    if (job->rank == 0) {
        char **paths = job_find(job->cache, "rank.1/file0.1", &n);
        for (int i = 0; i < n; i++)
            job_flip(paths[i], 0);
        job_find_free(paths, n);
    }
    mpi_test_barrier(job->comm);
}

JOB_CASE(damage_found_at_the_copy_out_is_rebuilt, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, "n[1-4]", NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_kill(job, ctx);
    ctx = job_start(job, "n[1-4]", NULL);
    damage_cache(job); /* after all was verified */
    ctx->prm.global_restart = ctx->prm.fetch_bypass = 1;
    CHECK_RC(scr_restart_find_all(ctx, &err), SCR_OK, &err);
    job_check_restart(job, ctx, "one", 1);
    job_kill(job, ctx);
}

/* The one on the prefix, read in place, is damaged after it was looked at. */
JOB_CASE(a_global_restart_copies_damaged_files_again, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, "n[1-4]", NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_kill(job, ctx);
    ctx = job_start(job, "n[1-4]", "SCR_GLOBAL_RESTART=1", NULL);
    flip(job, "step.1/file0.2");
    CHECK_INT(job_offered(job, ctx), 1);
    CHECK_RC(scr_start_restart_all(ctx, NULL, &err), SCR_OK, &err);
    int bad = !job_read_ok(job, ctx, 1);
    CHECK_INT(bad, job->rank == 2);
    CHECK_RC(scr_complete_restart_all(ctx, !bad, &err), SCR_E_INVALID, &err);
    job_check_restart(job, ctx, "one", 1);
    job_kill(job, ctx);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(a_checkpoint_stays_until_a_newer_one_is_as_safe),
                  RUN(it_counts_like_any_other),
                  RUN(what_is_on_the_prefix_makes_room_at_once),
                  RUN(a_run_of_the_right_number_is_offered_what_is_newer),
                  RUN(output_is_flushed_by_a_run_of_a_different_number),
                  RUN(output_that_is_lost_stops_no_run),
                  RUN(a_checkpoint_in_cache_alone_is_found_by_name),
                  RUN(one_in_cache_alone_is_deleted_by_name),
                  RUN(a_damaged_copy_on_the_prefix_is_replaced_from_cache),
                  RUN(damage_found_at_the_copy_out_is_rebuilt),
                  RUN(a_global_restart_copies_damaged_files_again)));
}
