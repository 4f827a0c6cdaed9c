/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters and calls that do what their pages say. */
/* ranks: 4 */
#include "helper_job.h"
#include "helper_stored.h"

static const char *const nodes = "n[1-4]";

JOB_CASE(files_in_cache_are_left_alone_without_distribute, 4)
{
    struct scr_ctx *ctx = job_start(job, nodes, NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_kill(job, ctx);
    job_lose_node(job, "n2");
    scr_hash *before = job_cached(job, 1);
    ctx = job_start(job, "n1,n[3-5]", "SCR_DISTRIBUTE=0", NULL);
    job_check_restart(job, ctx, NULL, 0);
    job_end(job, ctx);
    scr_hash *after = job_cached(job, 1);
    CHECK(job_has_kept(job, before, NULL, after));
    ctx = job_start(job, "n1,n[3-5]", NULL);
    job_check_restart(job, ctx, "one", 1);
    job_kill(job, ctx);
    /* A run that continues without it leaves the newer one to restart from. */
    ctx = job_start(job, "n1,n[3-5]", "SCR_DISTRIBUTE=0", NULL);
    job_checkpoint(job, ctx, "two", 2);
    job_kill(job, ctx);
    ctx = job_start(job, "n1,n[3-5]", NULL);
    job_check_restart(job, ctx, "two", 2);
    job_kill(job, ctx);
    scr_hash_delete(before);
    scr_hash_delete(after);
}

JOB_CASE(output_in_cache_is_not_lost_without_distribute, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_FLUSH_ASYNC=1", "SCR_FLUSH_ASYNC_BW=1", NULL);
    CHECK_RC(job_write(job, ctx, "out", 1, SCR_IS_OUTPUT, &err), SCR_OK, &err);
    job_kill(job, ctx); /* before it is copied */
    ctx = job_start(job, nodes, "SCR_DISTRIBUTE=0", NULL);
    for (int i = 2; i < 5; i++)
        job_checkpoint(job, ctx, "later", i);
    job_end(job, ctx);
    ctx = job_start(job, nodes, NULL);
    CHECK_INT(scr_flush_is_done_all(ctx, 1), 1);
    CHECK(job_count(job, job->prefix, "step.1/") > 0);
    job_end(job, ctx);
}

JOB_CASE(with_a_cache_of_size_0_files_go_to_the_prefix, 4)
{
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_CACHE_SIZE=0", NULL);
    job_checkpoint(job, ctx, "one", 1);
    CHECK_INT(job_count(job, job->cache, "scr.dataset."), 0);
    job_checkpoint(job, ctx, "two", 2);
    CHECK_INT(job_count(job, job->cache, "scr.dataset."), 0);
    job_kill(job, ctx);
    job_lose_node(job, "n1,n2,n3,n4");
    ctx = job_start(job, nodes, "SCR_CACHE_SIZE=0", NULL);
    job_check_restart(job, ctx, "two", 2);
    job_kill(job, ctx);
}

static int write_nothing(struct mpi_test *t, struct scr_ctx *ctx, const char *name,
                         int flags)
{
    struct scr_err err = SCR_ERR_INIT;
    CHECK_RC(scr_start_output_all(ctx, name, flags, &err), SCR_OK, &err);
    return scr_complete_output_all(ctx, 1, &err);
}

MPI_CASE(a_checkpoint_without_any_file_is_refused)
{
    for (int bypass = 0; bypass < 2; bypass++) {
        struct job job;
        job_new(t, &job, 4);
        struct scr_ctx *ctx = job_start(
            &job, nodes, bypass ? "SCR_CACHE_BYPASS=1" : "SCR_CACHE_BYPASS=0", NULL);
        job_checkpoint(&job, ctx, "one", 1);
        CHECK_INT(write_nothing(t, ctx, "none", SCR_IS_CKPT), SCR_E_MISSING);
        CHECK_INT(write_nothing(t, ctx, "both", SCR_IS_CKPT | SCR_IS_OUTPUT),
                  SCR_E_MISSING);
        CHECK_INT(write_nothing(t, ctx, "out", SCR_IS_OUTPUT), SCR_OK);
        job_kill(&job, ctx);
        ctx = job_start(&job, nodes, NULL);
        job_check_restart(&job, ctx, "one", 1);
        job_kill(&job, ctx);
        job_free(&job);
    }
}

static int start_below(struct job *job, const char *base, struct scr_ctx **ctx)
{
    char text[900];
    const char *settings[] = { text, NULL };
    struct scr_err err = SCR_ERR_INIT;
    snprintf(text, sizeof text, "SCR_CACHE_BASE=%s/%s", job->dir, base);
    return job_try_start(job, ctx, &err, nodes, settings);
}

JOB_CASE(a_cache_base_that_is_missing_is_made, 4)
{
    struct scr_ctx *ctx;
    struct stat st;
    char path[800];
    CHECK_INT(start_below(job, "made/for/it", &ctx), SCR_OK);
    job_checkpoint(job, ctx, "one", 1);
    job_kill(job, ctx);
    snprintf(path, sizeof path, "%s/made", job->dir);
    CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0700);
    CHECK_INT(start_below(job, "made/for/it/", &ctx), SCR_OK);
    job_check_restart(job, ctx, "one", 1);
    job_kill(job, ctx);
    snprintf(path, sizeof path, "%s/file", job->dir);
    if (job->rank == 0)
        fclose(fopen(path, "w"));
    snprintf(path, sizeof path, "%s/link", job->dir);
    if (job->rank == 0)
        CHECK_INT(symlink("nowhere", path), 0);
    mpi_test_barrier(job->comm);
    CHECK(start_below(job, "file/cache", &ctx) != SCR_OK);
    job_kill(job, ctx);
    CHECK_INT(start_below(job, "link/cache", &ctx), SCR_E_NOENT);
    job_kill(job, ctx);
    snprintf(path, sizeof path, "%s/nowhere", job->dir);
    CHECK(access(path, F_OK) != 0);
}

static int configure(struct job *job, struct scr_ctx *ctx, const char *text)
{
    struct scr_err err = SCR_ERR_INIT;
    char *reply;
    int rc = scr_config_all(ctx, job->comm, text, &reply, &err);
    free(reply);
    return rc;
}

/* As in a file the first rank's environment counts, before SCR_Init and for all. */
JOB_CASE(a_setting_of_the_program_may_name_a_variable, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    char number[16];
    struct scr_ctx *ctx = job_make(job, nodes, NULL);
    snprintf(number, sizeof number, "%d", 7 + job->rank);
    setenv("TEST_FLUSH", number, 1);
    if (job->rank == 0)
        setenv("TEST_SET", "4", 1);
    else
        setenv("TEST_NONE", "3", 1);
    CHECK_INT(configure(job, ctx, "SCR_FLUSH=$TEST_FLUSH"), SCR_OK);
    CHECK_INT(configure(job, ctx, "SCR_SET_SIZE=${TEST_SET}"), SCR_OK);
    CHECK_INT(configure(job, ctx, "SCR_SET_SIZE=$TEST_NONE"), SCR_E_CONFIG);
    CHECK_RC(scr_init_all(ctx, job->comm, &err), SCR_OK, &err);
    CHECK_INT(ctx->prm.flush, 7);
    CHECK_INT(ctx->prm.set_size, 4);
    job_kill(job, ctx);
    unsetenv("TEST_FLUSH");
    unsetenv("TEST_SET");
    unsetenv("TEST_NONE");
}

static int lines_without_effect(struct mpi_test *t, const char *type)
{
    struct job job;
    job_new(t, &job, 4);
    job.out = tmpfile();
    struct scr_ctx *ctx = job_start(&job, nodes, "CKPT=0 TYPE=SINGLE", type, NULL);
    job_end(&job, ctx);
    int lines = job_said(&job, "CKPT lines (the first: SCR_Config) have no effect");
    fclose(job.out);
    job.out = NULL;
    job_free(&job);
    return lines;
}

MPI_CASE(ckpt_lines_without_effect_are_reported)
{
    CHECK_INT(lines_without_effect(t, "SCR_COPY_TYPE=XOR"), 1);
    CHECK_INT(lines_without_effect(t, "SCR_COPY_TYPE=FILE"), 0);
}

/* Without an identity a prefix directory is one that SCR 3.x has used. With a damaged
 * one it is ours, and with the lock file of the index our scr_index has edited that. */
MPI_CASE(a_prefix_of_another_version_gets_a_warning)
{
    const struct {
        const char *setting;
        int damaged, edited, told;
    } rows[] = { { NULL, 0, 0, 1 },
                 { NULL, 0, 1, 0 },
                 { "SCR_CACHE_BYPASS=0", 0, 0, 0 },
                 { NULL, 1, 0, 0 } };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct job job;
        char path[800];
        job_new(t, &job, 4);
        struct scr_ctx *ctx = job_start(&job, nodes, "SCR_FLUSH=1", NULL);
        job_checkpoint(&job, ctx, "one", 1);
        job_kill(&job, ctx);
        snprintf(path, sizeof path, "%s/.scr/identity.scr", job.prefix);
        mpi_test_barrier(job.comm);
        if (job.rank == 0 && rows[i].damaged)
            job_flip(path, 50);
        CHECK(job.rank > 0 || rows[i].damaged || unlink(path) == 0);
        snprintf(path, sizeof path, "%s/.scr/identity.copy.scr", job.prefix);
        CHECK(job.rank > 0 || unlink(path) == 0);
        snprintf(path, sizeof path, "%s/.scr/index.scr.lock", job.prefix);
        CHECK(job.rank > 0 || rows[i].edited || unlink(path) == 0);
        mpi_test_barrier(job.comm);
        job.out = tmpfile();
        ctx = job_start(&job, nodes, rows[i].setting, NULL);
        CHECK_INT(job_said(&job, "was used by SCR 3.x"), rows[i].told);
        job_check_restart(&job, ctx, "one", 1);
        job_kill(&job, ctx);
        ctx = job_start(&job, nodes, rows[i].setting, NULL);
        CHECK_INT(job_said(&job, "was used by SCR 3.x"), rows[i].told);
        job_kill(&job, ctx);
        fclose(job.out);
        job_free(&job);
    }
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(files_in_cache_are_left_alone_without_distribute),
                  RUN(output_in_cache_is_not_lost_without_distribute),
                  RUN(with_a_cache_of_size_0_files_go_to_the_prefix),
                  RUN(a_checkpoint_without_any_file_is_refused),
                  RUN(a_cache_base_that_is_missing_is_made),
                  RUN(a_setting_of_the_program_may_name_a_variable),
                  RUN(ckpt_lines_without_effect_are_reported),
                  RUN(a_prefix_of_another_version_gets_a_warning)));
}
