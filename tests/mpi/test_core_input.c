/* SPDX-License-Identifier: BSD-3-Clause */
/* Bad input and unusual sizes: an error that is the same on all ranks, and no loss of
 * what was good. */
/* ranks: 4 */
#include "helper_job.h"
#include "helper_stored.h"

#include "base/hashfile.h"
#include "base/str.h"

static const char *const nodes = "n[1-4]";

/* Init with one more setting must fail with this code on all ranks and say the word. */
static void refuse(struct mpi_test *t, const char *setting, int want, const char *word)
{
    struct job job;
    const char *settings[] = { setting, NULL };
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx;
    job_new(t, &job, t->comm.size);
    int rc = job_try_start(&job, &ctx, &err, nodes, settings);
    CHECK_RC(rc, want, &err);
    if (strstr(err.text, word) == NULL)
        mpi_test_fail(t, __FILE__, __LINE__, "%s: no \"%s\" in: %s", setting, word,
                      err.text);
    CHECK_INT(ctx->state, SCR_STATE_OFF);
    job_kill(&job, ctx);
    job_free(&job);
}

MPI_CASE(bad_values_are_named_with_origin_and_range)
{
    refuse(t, "SCR_SET_SIZE=abc", SCR_E_CONFIG, "SCR_SET_SIZE=abc");
    refuse(t, "SCR_SET_SIZE=0", SCR_E_CONFIG, "SCR_SET_SIZE=0");
    refuse(t, "SCR_GROUP=nobody", SCR_E_CONFIG, "nobody");
    refuse(t, "SCR_COPY_TYPE=RAID9", SCR_E_CONFIG, "RAID9");
    refuse(t, "SCR_MPI_BUF_SIZE=0", SCR_E_CONFIG, "SCR_MPI_BUF_SIZE=0");
    refuse(t, "SCR_CACHE_SIZE=-2", SCR_E_CONFIG, "SCR_CACHE_SIZE=-2");
    refuse(t, "SCR_CONF_FILE=/no/such/file", SCR_E_CONFIG, "/no/such/file");
    refuse(t, "SCR_VNODES=n[", SCR_E_CONFIG, "SCR_VNODES=n[ (SCR_Config): ");
    refuse(t, "SCR_VNODES=0", SCR_E_CONFIG, "SCR_VNODES=0 (SCR_Config): ");
}

MPI_CASE(disabled_is_said)
{
    struct job job;
    const char *settings[] = { "SCR_ENABLE=0", NULL };
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx;
    job_new(t, &job, t->comm.size);
    CHECK_RC(job_try_start(&job, &ctx, &err, nodes, settings), SCR_E_DISABLED, &err);
    CHECK_INT(ctx->state, SCR_STATE_OFF);
    job_kill(&job, ctx);
    job_free(&job);
}

MPI_CASE(a_prefix_that_is_not_there)
{
    refuse(t, "SCR_PREFIX=/no/such/prefix", SCR_E_NOENT,
           "SCR_PREFIX (SCR_Config): prefix: open directory /no/such/prefix: ");
    refuse(t, "SCR_PREFIX=/etc/passwd", SCR_E_IO, "/etc/passwd");
}

MPI_CASE(a_store_that_cannot_be_made)
{
    refuse(t, "SCR_CACHE_BASE=/dev/null/a/b", SCR_E_IO,
           "store /dev/null/a/b (SCR_CACHE_BASE, SCR_Config) on ");
}

static void put_config(struct job *job, const char *text)
{
    char path[800];
    snprintf(path, sizeof path, "%s/.scrconf", job->prefix);
    if (job->rank == 0) {
        FILE *f = fopen(path, "w");
        fputs(text, f);
        fclose(f);
    }
    mpi_test_barrier(job->comm);
}

static void refuse_config(struct mpi_test *t, const char *text, const char *word)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx;
    job_new(t, &job, t->comm.size);
    put_config(&job, text);
    CHECK_RC(job_try_start(&job, &ctx, &err, nodes, NULL), SCR_E_CONFIG, &err);
    if (strstr(err.text, word) == NULL)
        mpi_test_fail(t, __FILE__, __LINE__, "no \"%s\" in: %s", word, err.text);
    job_kill(&job, ctx);
    job_free(&job);
}

MPI_CASE(bad_configuration_lines_are_named)
{
    refuse_config(t, "# comment\nSCR_FLUSH 10\n", ".scrconf:2");
    refuse_config(t, "SCR_JOB_NAME=$NO_SUCH_VARIABLE_XYZ\n", "NO_SUCH_VARIABLE_XYZ");
    refuse_config(t, "SCR_COPY_TYPE=FILE\nCKPT=0 INTERVAL=2 TYPE=XOR\n", "INTERVAL");
    refuse_config(t, "SCR_COPY_TYPE=FILE\nCKPT=0 INTERVAL=1 TYPE=XOR GROUP=NONE\n",
                  "NONE");
}

/* --- state files --- */

static void spoil(struct job *job, const char *name, const char *bytes, size_t n)
{
    char path[800];
    snprintf(path, sizeof path, "%s/.scr/%s", job->prefix, name);
    mpi_test_barrier(job->comm);
    if (job->rank == 0) {
        FILE *f = fopen(path, "wb");
        fwrite(bytes, 1, n, f);
        fclose(f);
    }
    mpi_test_barrier(job->comm);
}

static void lose_all_nodes(struct job *job)
{
    for (int i = 1; i <= 4; i++) {
        char name[8];
        snprintf(name, sizeof name, "n%d", i);
        job_lose_node(job, name);
    }
}

static void restart_with_spoilt(struct mpi_test *t, const char *file, const char *bytes,
                                size_t n)
{
    struct job job;
    job_new(t, &job, t->comm.size);
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_FLUSH=1", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_checkpoint(&job, ctx, "two", 2);
    job_kill(&job, ctx);
    spoil(&job, file, bytes, n);
    lose_all_nodes(&job);
    ctx = job_start(&job, nodes, NULL);
    job_check_restart(&job, ctx, "two", 2);
    CHECK_INT(ctx->last_id, 2);
    job_end(&job, ctx);
    job_free(&job);
}

MPI_CASE(a_damaged_index_loses_no_dataset)
{
    restart_with_spoilt(t, "index.scr", "", 0);
    restart_with_spoilt(t, "index.scr", "this is no hash file at all", 27);
}

MPI_CASE(damaged_halt_flush_and_nodes_files_do_not_stop_the_job)
{
    restart_with_spoilt(t, "halt.scr", "garbage", 7);
    restart_with_spoilt(t, "flush.scr", "garbage", 7);
    restart_with_spoilt(t, "nodes.scr", "garbage", 7);
}

MPI_CASE(a_damaged_filemap_costs_no_more_than_its_ranks)
{
    struct job job;
    int n = 0;
    job_new(t, &job, t->comm.size);
    struct scr_ctx *ctx = job_start(&job, nodes, NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    char dir[900];
    job_node_dir(&job, 2, dir, sizeof dir);
    char **maps = job_find(dir, "/filemap_", &n);
    CHECK(n >= 1);
    mpi_test_barrier(job.comm);
    if (job.rank == 0)
        job_flip(maps[0], 60);
    mpi_test_barrier(job.comm);
    job_find_free(maps, n);
    ctx = job_start(&job, nodes, NULL);
    job_check_restart(&job, ctx, "one", 1);
    job_end(&job, ctx);
    job_free(&job);
}

/* --- a different number of ranks --- */

static int index_failed_entries(const struct job *job)
{
    char path[800];
    int failed = 0;
    scr_hash *index = scr_hash_new();
    snprintf(path, sizeof path, "%s/.scr/index.scr", job->prefix);
    scr_hash_file_read(&scr_sys_posix, path, index, NULL);
    for (SCR_HASH_EACH(e, scr_hash_get(index, "DSET")))
        failed += scr_hash_get(scr_hash_elem_hash(e), "FAILED") != NULL;
    scr_hash_delete(index);
    return failed;
}

/* Written by all, then started by ranks - 1, then again by all: nothing is lost by the
 * mistake. */
static void start_with_one_less(struct mpi_test *t, int from_prefix)
{
    struct job job, less;
    job_new(t, &job, t->comm.size);
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_FLUSH=1", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    if (from_prefix)
        lose_all_nodes(&job);
    job_new(t, &less, t->comm.size - 1);
    if (less.in) {
        memcpy(less.dir, job.dir, sizeof less.dir);
        memcpy(less.prefix, job.prefix, sizeof less.prefix);
        memcpy(less.cache, job.cache, sizeof less.cache);
        ctx = job_start(&less, nodes, "SCR_RESTART_ANY_RANKS=1", NULL);
        job_check_restart(&less, ctx, "one", 1);
        /* It may continue without harm to existing datasets. */
        job_checkpoint(&less, ctx, "other", 9);
        CHECK_INT(ctx->last_id, 2);
        struct scr_err err = SCR_ERR_INIT;
        CHECK_RC(scr_delete_all(ctx, "other", &err), SCR_OK, &err);
        job_kill(&less, ctx);
        MPI_Comm_free(&less.comm);
    }
    mpi_test_barrier(job.comm);
    CHECK_INT(index_failed_entries(&job), 0);
    ctx = job_start(&job, nodes, NULL);
    job_check_restart(&job, ctx, "one", 1);
    job_end(&job, ctx);
    job_free(&job);
}

MPI_CASE(a_different_number_of_ranks_harms_nothing)
{
    start_with_one_less(t, 0);
    start_with_one_less(t, 1);
}

/* --- sizes --- */

MPI_CASE(two_thousand_files_a_rank)
{
    enum { FILES = 2000 };
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    char file[800], path[SCR_MAX_NAME];
    int wrong = 0;
    job_new(t, &job, t->comm.size);
    struct scr_ctx *ctx = job_start(&job, nodes, NULL);
    CHECK_RC(scr_start_output_all(ctx, "many", 1, &err), SCR_OK, &err);
    for (int i = 0; i < FILES; i++) {
        snprintf(file, sizeof file, "%s/many/%d.%d", job.prefix, job.rank, i);
        CHECK_RC(scr_route(ctx, file, path, &err), SCR_OK, &err);
        FILE *f = fopen(path, "w");
        fprintf(f, "%d of %d", i, job.rank);
        fclose(f);
    }
    CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_OK, &err);
    job_kill(&job, ctx);
    job_lose_node(&job, "n3");
    ctx = job_start(&job, "n1,n2,n5,n4", NULL);
    CHECK_RC(scr_start_restart_all(ctx, NULL, &err), SCR_OK, &err);
    for (int i = 0; i < FILES; i++) {
        int a = -1, b = -1;
        snprintf(file, sizeof file, "%s/many/%d.%d", job.prefix, job.rank, i);
        FILE *f = scr_route(ctx, file, path, &err) == SCR_OK ? fopen(path, "r") : NULL;
        wrong +=
            f == NULL || fscanf(f, "%d of %d", &a, &b) != 2 || a != i || b != job.rank;
        if (f)
            fclose(f);
    }
    CHECK_INT(wrong, 0);
    CHECK_RC(scr_complete_restart_all(ctx, 1, &err), SCR_OK, &err);
    job_end(&job, ctx);
    job_free(&job);
}

/* One rank's file is sparse and longer than 4 GiB; the set's parity is written for
 * real, so the set is made of all ranks and the bytes are few only where the scheme has
 * none: PARTNER would copy 4 GiB, SINGLE shows that 64-bit sizes pass through every
 * layer. */
JOB_CASE(a_file_over_four_gib, 1)
{
    const off_t size = ((off_t)4 << 30) + 12345;
    struct scr_err err = SCR_ERR_INIT;
    char file[800], path[SCR_MAX_NAME];
    if (job->in) {
        struct scr_ctx *ctx = job_start(job, "n1", "SCR_COPY_TYPE=SINGLE", NULL);
        CHECK_RC(scr_start_output_all(ctx, "huge", 1, &err), SCR_OK, &err);
        snprintf(file, sizeof file, "%s/huge.%d", job->prefix, job->rank);
        CHECK_RC(scr_route(ctx, file, path, &err), SCR_OK, &err);
        FILE *f = fopen(path, "w");
        CHECK(fseeko(f, size - 3, SEEK_SET) == 0);
        fputs("end", f);
        fclose(f);
        CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_OK, &err);
        job_kill(job, ctx);
        ctx = job_start(job, "n1", NULL);
        CHECK_RC(scr_start_restart_all(ctx, NULL, &err), SCR_OK, &err);
        CHECK_RC(scr_route(ctx, file, path, &err), SCR_OK, &err);
        struct stat st;
        CHECK(stat(path, &st) == 0 && st.st_size == size);
        CHECK_RC(scr_complete_restart_all(ctx, 1, &err), SCR_OK, &err);
        job_kill(job, ctx);
    }
}

MPI_CASE(halt_file_is_honoured_at_complete_and_at_init)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    int flag = 0;
    job_new(t, &job, t->comm.size);
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_HALT_ENABLED=0", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    CHECK_INT(ctx->halt, 0);
    if (job.rank == 0) {
        char path[800];
        scr_hash *halt = scr_hash_new();
        scr_hash_set_val(halt, "CheckpointsLeft", "2");
        snprintf(path, sizeof path, "%s/.scr/halt.scr", job.prefix);
        CHECK_RC(scr_hash_file_write(&scr_sys_posix, path, halt, SCR_DURABLE, &err),
                 SCR_OK, &err);
        scr_hash_delete(halt);
    }
    mpi_test_barrier(job.comm);
    job_checkpoint(&job, ctx, "two", 2);
    CHECK_RC(scr_should_exit_all(ctx, &flag, &err), SCR_OK, &err);
    CHECK_INT(flag, 0);
    job_checkpoint(&job, ctx, "three", 3);
    CHECK_INT(ctx->halt, 1);
    CHECK_RC(scr_should_exit_all(ctx, &flag, &err), SCR_OK, &err);
    CHECK_INT(flag, 1);
    CHECK_RC(scr_need_checkpoint_all(ctx, &flag, &err), SCR_OK, &err);
    CHECK_INT(flag, 1);
    job_kill(&job, ctx);
    /* The last checkpoint reached the prefix before the halt. */
    lose_all_nodes(&job);
    ctx = job_start(&job, nodes, "SCR_HALT_ENABLED=0", NULL);
    CHECK_INT(ctx->halt, 1);
    job_check_restart(&job, ctx, "three", 3);
    job_end(&job, ctx);
    job_free(&job);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(bad_values_are_named_with_origin_and_range),
                  RUN(disabled_is_said), RUN(a_prefix_that_is_not_there),
                  RUN(a_store_that_cannot_be_made),
                  RUN(bad_configuration_lines_are_named),
                  RUN(a_damaged_index_loses_no_dataset),
                  RUN(damaged_halt_flush_and_nodes_files_do_not_stop_the_job),
                  RUN(a_damaged_filemap_costs_no_more_than_its_ranks),
                  RUN(a_different_number_of_ranks_harms_nothing),
                  RUN(two_thousand_files_a_rank), RUN(a_file_over_four_gib),
                  RUN(halt_file_is_honoured_at_complete_and_at_init)));
}
