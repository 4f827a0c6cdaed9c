/* SPDX-License-Identifier: BSD-3-Clause */
/* Compression on flush (invariant P18): which files, that every reader of the dataset
 * gets plain bytes, and that damage, deaths and failing calls cost no more than
 * without. */
/* ranks: 4 */

#include "helper_compress.h"
#include "helper_job.h"
#include "helper_prefix.h"
#include "helper_shared.h"
#include "helper_stored.h"
#include "store/arrival.h"
#include "store/catalog.h"
#include "xfer/zst.h"

/* The first file below the prefix whose path contains part; malloc'd, NULL: none. */
static char *find_one(const struct job *job, const char *part)
{
    int n = 0;
    char **paths = job_find(job->prefix, part, &n);
    char *path = n > 0 ? strdup(paths[0]) : NULL;
    job_find_free(paths, n);
    return path;
}

MPI_CASE(what_is_worth_it_is_compressed_and_comes_back)
{
    struct job job;
    begin(t, &job);
    struct scr_ctx *ctx = job_start(&job, nodes, FLUSH, ZSTD, NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    CHECK_INT(count(&job, ".zst"), 8);
    CHECK_INT(count(&job, "step.1/"), 16);
    check_list(&job, 1, 16, 8);
    job_check_prefix(&job, nodes, "one", 1);
    job_free(&job);
}

MPI_CASE(threads_compress_too_and_the_last_one_enters_it)
{
    struct job job;
    begin(t, &job);
    struct scr_ctx *ctx =
        job_start(&job, nodes, FLUSH, ASYNC, "SCR_FLUSH_COMPRESS=ZSTD:9",
                  "SCR_FLUSH_TYPE=PTHREAD", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_checkpoint(&job, ctx, "two", 2);
    job_end(&job, ctx);
    CHECK_INT(count(&job, ".zst"), 16);
    check_list(&job, 1, 16, 8);
    check_list(&job, 2, 16, 8);
    job_check_prefix(&job, nodes, "two", 2);
    job_free(&job);
}

MPI_CASE(noise_stays_as_it_is)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    char file[900], path[SCR_MAX_NAME];
    begin(t, &job);
    struct scr_ctx *ctx = job_start(&job, nodes, FLUSH, ZSTD, NULL);
    CHECK_RC(scr_start_output_all(ctx, "noise", 1, &err), SCR_OK, &err);
    snprintf(file, sizeof file, "%s/noise.%d", job.prefix, job.rank);
    CHECK_RC(scr_route(ctx, file, path, &err), SCR_OK, &err);
    FILE *f = fopen(path, "wb");
    uint64_t x = 88172645463325252u + (uint64_t)job.rank;
    for (int i = 0; i < 100000 && f != NULL; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        putc((int)(x & 255), f);
    }
    fclose(f);
    CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_OK, &err);
    job_kill(&job, ctx);
    CHECK_INT(count(&job, ".zst"), 0);
    check_list(&job, 1, 4, 0);
    job_free(&job);
}

MPI_CASE(what_bypasses_the_cache_is_not_compressed)
{
    struct job job;
    begin(t, &job);
    struct scr_ctx *ctx =
        job_start(&job, nodes, FLUSH, ZSTD, "SCR_CACHE_BYPASS=1", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    CHECK_INT(count(&job, ".zst"), 0);
    job_check_prefix(&job, nodes, "one", 1);
    job_free(&job);
}

/* --- another name in the way --- */

/* Writes two files of this rank, the second called like the first when compressed. */
static void write_pair(struct mpi_test *t, struct job *job, struct scr_ctx *ctx)
{
    struct scr_err err = SCR_ERR_INIT;
    CHECK_RC(scr_start_output_all(ctx, "pair", 1, &err), SCR_OK, &err);
    for (int i = 0; i < 2; i++) {
        char file[900], path[SCR_MAX_NAME];
        snprintf(file, sizeof file, "%s/a.%d%s", job->prefix, job->rank,
                 i ? ".zst" : "");
        CHECK_RC(scr_route(ctx, file, path, &err), SCR_OK, &err);
        FILE *f = fopen(path, "wb");
        for (int j = 0; j < 20000 && f != NULL; j++)
            putc('a' + i, f);
        fclose(f);
    }
    CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_OK, &err);
}

MPI_CASE(a_file_of_that_name_keeps_the_dataset_plain)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    begin(t, &job);
    struct scr_ctx *ctx = job_start(&job, nodes, FLUSH, ZSTD, NULL);
    write_pair(t, &job, ctx);
    job_kill(&job, ctx);
    CHECK_INT(count(&job, "/a."), 8);
    CHECK_INT(count(&job, ".zst.zst"), 0);
    check_list(&job, 1, 8, 0);
    job_lose_node(&job, nodes);
    ctx = job_start(&job, nodes, NULL);
    char name[SCR_MAX_NAME];
    CHECK_RC(scr_start_restart_all(ctx, name, &err), SCR_OK, &err);
    CHECK_RC(scr_complete_restart_all(ctx, 1, &err), SCR_OK, &err);
    job_kill(&job, ctx);
    job_free(&job);
}

MPI_CASE(a_directory_of_that_name_keeps_the_file_plain)
{
    struct job job;
    begin(t, &job);
    if (job.rank == 0) {
        char path[900];
        snprintf(path, sizeof path, "%s/step.1", job.prefix);
        mkdir(path, 0777);
        snprintf(path, sizeof path, "%s/step.1/file0.2.zst", job.prefix);
        mkdir(path, 0777);
    }
    mpi_test_barrier(job.comm);
    struct scr_ctx *ctx = job_start(&job, nodes, FLUSH, ZSTD, NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    check_list(&job, 1, 16, 7);
    job_check_prefix(&job, nodes, "one", 1);
    job_free(&job);
}

/* A file of the user, with a name like one of ours. */
static void keep_own(struct mpi_test *t, const char *how)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    char path[900], text[16] = "";
    begin(t, &job);
    snprintf(path, sizeof path, "%s/step.1", job.prefix);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/step.1/file0.2.zst", job.prefix);
    if (job.rank == 0) {
        FILE *f = fopen(path, "w");
        CHECK(f != NULL && fputs("somebody's own", f) >= 0 && fclose(f) == 0);
    }
    mpi_test_barrier(job.comm);
    struct scr_ctx *ctx = job_start(&job, nodes, FLUSH, ZSTD, how, NULL);
    job_checkpoint(&job, ctx, "one", 1);
    CHECK_RC(scr_async_wait_all(ctx, 0, &err), SCR_OK, &err);
    check_list(&job, 1, 16, 7);
    job_kill(&job, ctx);
    job_check_prefix(&job, nodes, "one", 1);
    ctx = job_start(&job, nodes, NULL);
    CHECK_RC(scr_delete_all(ctx, "one", &err), SCR_OK, &err);
    job_kill(&job, ctx);
    CHECK_INT(count(&job, "step.1/"), 1);
    FILE *f = fopen(path, "r");
    CHECK(f != NULL && fgets(text, sizeof text, f) != NULL && fclose(f) == 0);
    CHECK(strcmp(text, "somebody's own") == 0);
    job_free(&job);
}

MPI_CASE(a_file_of_that_name_that_is_not_ours_stays)
{
    keep_own(t, "SCR_FLUSH_ASYNC=0");
    keep_own(t, ASYNC);
}

MPI_CASE(an_older_plain_file_is_replaced_and_its_dataset_is_not_complete)
{
    struct job job;
    begin(t, &job);
    struct scr_ctx *ctx = job_start(&job, nodes, FLUSH, NULL);
    job_checkpoint(&job, ctx, "same", 1);
    job_kill(&job, ctx);
    CHECK_INT(count(&job, "step.1/"), 16);
    ctx = job_start(&job, nodes, FLUSH, ZSTD, NULL);
    job_checkpoint(&job, ctx, "same", 1);
    job_kill(&job, ctx);
    CHECK_INT(count(&job, "step.1/"), 16); /* not both of them */
    CHECK_INT(count(&job, ".zst"), 8);
    CHECK_INT(job_entry(&job, 1, NULL, NULL), -1);
    CHECK_INT(job_entry(&job, 2, NULL, NULL), 1);
    ctx = job_start(&job, nodes, FLUSH, ZSTD, NULL); /* compressed over compressed */
    job_checkpoint(&job, ctx, "same", 1);
    job_kill(&job, ctx);
    CHECK_INT(job_entry(&job, 2, NULL, NULL), -1);
    CHECK_INT(job_entry(&job, 3, NULL, NULL), 1);
    job_check_prefix(&job, nodes, "same", 1);
    job_free(&job);
}

/* --- damage --- */

enum damage { FLIP, CUT, GONE, ANOTHER };

static void damage_one(const struct job *job, enum damage how)
{
    mpi_test_barrier(job->comm);
    if (job->rank == 0) {
        struct stat st;
        char *path = find_one(job, "step.2/file0.2.zst");
        stat(path, &st);
        if (how == FLIP)
            job_flip(path, (long)st.st_size / 2);
        if (how == CUT)
            st.st_size = truncate(path, st.st_size - 5);
        if (how == GONE)
            unlink(path);
        if (how == ANOTHER) { /* as long, and a frame no more */
            FILE *f = fopen(path, "wb");
            for (long i = 0; i < (long)st.st_size; i++)
                putc('x', f);
            fclose(f);
        }
        free(path);
    }
    mpi_test_barrier(job->comm);
}

MPI_CASE(a_damaged_one_is_not_taken_but_the_older_dataset)
{
    static const enum damage hows[] = { FLIP, CUT, GONE, ANOTHER };
    for (size_t i = 0; i < 4; i++) {
        struct job job;
        begin(t, &job);
        struct scr_ctx *ctx = job_start(&job, nodes, FLUSH, ZSTD, NULL);
        job_checkpoint(&job, ctx, "one", 1);
        job_checkpoint(&job, ctx, "two", 2);
        job_kill(&job, ctx);
        damage_one(&job, hows[i]);
        job.out = fopen("/dev/null", "w");
        job_check_prefix(&job, nodes, "one", 1);
        int failed = 0;
        (void)job_entry(&job, 2, NULL, &failed);
        CHECK_INT(failed, 1);
        fclose(job.out);
        job_free(&job);
    }
}

/* --- read in the prefix directory --- */

MPI_CASE(a_program_that_reads_the_prefix_reads_plain_files)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    char name[SCR_MAX_NAME] = "";
    begin(t, &job);
    struct scr_ctx *ctx = job_start(&job, nodes, FLUSH, ZSTD, NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    job_lose_node(&job, nodes);
    ctx = job_start(&job, nodes, "SCR_FETCH_BYPASS=1", NULL);
    CHECK_INT(count(&job, "/plain/"), 8);
    CHECK_RC(scr_start_restart_all(ctx, name, &err), SCR_OK, &err);
    int ok = job_read_ok(&job, ctx, 1);
    CHECK(ok);
    CHECK_RC(scr_complete_restart_all(ctx, 1, &err), SCR_OK, &err);
    CHECK_INT(count(&job, "/plain/"), 0);
    job_kill(&job, ctx);
    ctx = job_start(&job, nodes, "SCR_GLOBAL_RESTART=1", ZSTD, NULL);
    job_check_restart(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    job_free(&job);
}

MPI_CASE(a_damaged_one_read_there_is_not_taken_either)
{
    struct job job;
    begin(t, &job);
    struct scr_ctx *ctx = job_start(&job, nodes, FLUSH, ZSTD, NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_checkpoint(&job, ctx, "two", 2);
    job_kill(&job, ctx);
    damage_one(&job, FLIP);
    job_lose_node(&job, nodes);
    job.out = fopen("/dev/null", "w");
    ctx = job_start(&job, nodes, "SCR_FETCH_BYPASS=1", NULL);
    job_check_restart(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    CHECK_INT(count(&job, "/plain/"), 0);
    fclose(job.out);
    job_free(&job);
}

/* Written by `from` ranks and flushed with `first`, read by `to` of them, each every
 * file, with `then`; kept: what is in cache is. */
static void regroup(struct mpi_test *t, int from, int to, const char *first,
                    const char *then, int kept)
{
    struct job job, other;
    struct scr_err err = SCR_ERR_INIT;
    char name[SCR_MAX_NAME] = "";
    const char *on = kept ? "n[1-2]" : "n1";
    job_new(t, &job, from);
    job.size_of = two_large_ones;
    job.even = 1;
    if (job.in) {
        struct scr_ctx *ctx = job_start(&job, on, first, ZSTD, NULL);
        job_checkpoint(&job, ctx, "one", 1);
        job_kill(&job, ctx);
        if (!kept)
            job_lose_node(&job, nodes);
    }
    job_share(t, &other, &job, to);
    other.size_of = two_large_ones;
    other.even = 1;
    if (other.in) {
        struct scr_ctx *ctx = job_start(&other, on, then, NULL);
        CHECK_INT(count(&other, ".zst"), 2 * from);
        CHECK_RC(scr_start_restart_all(ctx, name, &err), SCR_OK, &err);
        for (int r = 0; r < from; r++) {
            int ok = job_read_of(&other, ctx, r, 1);
            CHECK(ok);
        }
        CHECK_RC(scr_complete_restart_all(ctx, 1, &err), SCR_OK, &err);
        CHECK_INT(count(&other, "/plain/"), 0);
        job_kill(&other, ctx);
    }
    job_unshare(&other);
    job_free(&job);
}

MPI_CASE(a_different_number_of_ranks_reads_every_file)
{
    regroup(t, 4, 2, FLUSH, "SCR_FLUSH_COMPRESS=NONE", 0);
    regroup(t, 1, 4, FLUSH, "SCR_FLUSH_COMPRESS=NONE", 0);
}

MPI_CASE(a_cached_dataset_of_a_different_number_of_ranks_is_compressed)
{
    regroup(t, 4, 2, "SCR_FLUSH=0", ZSTD, 1);
}

/* --- without libzstd --- */

MPI_CASE(without_the_library_files_are_flushed_as_they_are)
{
    struct job job;
    begin(t, &job);
    job.out = tmpfile();
    struct scr_ctx *ctx = job_start(&job, nodes, FLUSH, ZSTD, NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    CHECK_INT(count(&job, ".zst"), 0);
    check_list(&job, 1, 16, 0);
    CHECK_INT(job_said(&job, "built without libzstd"), 1);
    fclose(job.out);
    job.out = NULL;
    job_check_prefix(&job, nodes, "one", 1);
    job_free(&job);
}

int main(int argc, char **argv)
{
    if (!scr_zst_have())
        return mpi_test_main(
            argc, argv,
            MPI_CASES(RUN(without_the_library_files_are_flushed_as_they_are)));
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(what_is_worth_it_is_compressed_and_comes_back),
                  RUN(threads_compress_too_and_the_last_one_enters_it),
                  RUN(noise_stays_as_it_is),
                  RUN(what_bypasses_the_cache_is_not_compressed),
                  RUN(a_file_of_that_name_keeps_the_dataset_plain),
                  RUN(a_directory_of_that_name_keeps_the_file_plain),
                  RUN(a_file_of_that_name_that_is_not_ours_stays),
                  RUN(an_older_plain_file_is_replaced_and_its_dataset_is_not_complete),
                  RUN(a_damaged_one_is_not_taken_but_the_older_dataset),
                  RUN(a_program_that_reads_the_prefix_reads_plain_files),
                  RUN(a_damaged_one_read_there_is_not_taken_either),
                  RUN(a_different_number_of_ranks_reads_every_file),
                  RUN(a_cached_dataset_of_a_different_number_of_ranks_is_compressed)));
}
