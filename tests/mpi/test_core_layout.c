/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters that change where files go and how they leave: SCR_PRESERVE_DIRECTORIES
 * and SCR_CRC_ON_DELETE. */
/* ranks: 4 */
#include "helper_shared.h"
#include "helper_stored.h"

static const char *const nodes = "n[1-4]";
static const char *const flat = "SCR_PRESERVE_DIRECTORIES=0";

static void lose_all(struct job *job)
{
    job_lose_node(job, "n1,n2,n3,n4");
}

/* One file a rank, all called differently. */
static long one_file(int rank, int file, int seed)
{
    (void)seed;
    return file == 0 ? 100 + rank : -1;
}

JOB_CASE(a_dataset_gets_its_own_directory, 4)
{
    job->size_of = one_file;
    struct scr_ctx *ctx = job_start(job, nodes, flat, "SCR_FLUSH=1", NULL);
    job_checkpoint(job, ctx, "one", 1);
    CHECK_INT(job_count(job, job->prefix, "prefix/scr.dataset.1/file0."), 4);
    CHECK_INT(job_count(job, job->prefix, "step.1"), 0);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, flat, NULL);
    job_check_restart(job, ctx, "one", 1); /* from cache, by the names it wrote */
    job_kill(job, ctx);
    lose_all(job);
    ctx = job_start(job, nodes, NULL);
    job_check_restart(job, ctx, "one", 1); /* from the prefix */
    job_kill(job, ctx);
    job_lose_node(job, "n3");
    ctx = job_start(job, nodes, NULL);
    job_check_restart(job, ctx, "one", 1); /* fetched and rebuilt */
    job_kill(job, ctx);
    lose_all(job);
    ctx = job_start(job, nodes, "SCR_FETCH_BYPASS=1", NULL);
    job_check_restart(job, ctx, "one", 1); /* where it lies */
    job_kill(job, ctx);
}

JOB_CASE(ranks_that_call_files_alike_get_directories_in_it, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, flat, NULL);
    CHECK_RC(job_write(job, ctx, "one", 1, 3, &err), SCR_OK, &err);
    CHECK_INT(job_count(job, job->prefix, "prefix/scr.dataset.1/rank.2/"), 3);
    CHECK_INT(job_count(job, job->prefix, "/state"), 4);
    CHECK_INT(job_count(job, job->prefix, "step.1"), 0);
    job_kill(job, ctx);
    lose_all(job);
    ctx = job_start(job, nodes, NULL);
    job_check_restart(job, ctx, "one", 1);
    CHECK_RC(scr_delete_all(ctx, "one", &err), SCR_OK, &err);
    CHECK_INT(job_count(job, job->prefix, "prefix/scr.dataset.1"), 0);
    job_kill(job, ctx);
}

JOB_CASE(what_bypasses_the_cache_stays_where_it_was_written, 4)
{
    struct scr_ctx *ctx = job_start(job, nodes, flat, "SCR_CACHE_BYPASS=1", NULL);
    job_checkpoint(job, ctx, "one", 1);
    CHECK_INT(job_count(job, job->prefix, "step.1"), 12);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, flat, NULL);
    job_check_restart(job, ctx, "one", 1);
    job_kill(job, ctx);
}

/* --- SCR_CRC_ON_DELETE --- */

static int lines_with(FILE *log, const char *part)
{
    char line[2000];
    int n = 0;
    rewind(log);
    while (fgets(line, sizeof line, log) != NULL)
        n += strstr(line, part) != NULL;
    return n;
}

/* Damages a file of dataset 1 and lets it be evicted; warnings of all ranks. */
static int evict_damaged(struct mpi_test *t, const char *setting)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    char path[SCR_MAX_NAME], file[900];
    job_new(t, &job, 4);
    job.out = tmpfile();
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_CACHE_SIZE=1", setting, NULL);
    CHECK_RC(scr_start_output_all(ctx, "one", SCR_IS_CKPT, &err), SCR_OK, &err);
    snprintf(file, sizeof file, "f.%d", job.rank);
    CHECK_RC(job_route(&job, ctx, file, path, &err), SCR_OK, &err);
    FILE *f = fopen(path, "w");
    fputs("some bytes", f);
    fclose(f);
    CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_OK, &err);
    if (job.rank == 2)
        job_flip(path, 3);
    job_checkpoint(&job, ctx, "two", 2);
    CHECK(access(path, F_OK) != 0); /* it goes in any case */
    int warned = lines_with(job.out, "is deleted from cache with CRC");
    CHECK(warned == 0 || job.rank == 2);
    job_kill(&job, ctx);
    MPI_Allreduce(MPI_IN_PLACE, &warned, 1, MPI_INT, MPI_SUM, job.comm);
    fclose(job.out);
    job_free(&job);
    return warned;
}

MPI_CASE(a_damaged_file_is_reported_when_it_is_deleted)
{
    CHECK_INT(evict_damaged(t, "SCR_CRC_ON_DELETE=1"), 1);
    CHECK_INT(evict_damaged(t, "SCR_CRC_ON_DELETE=0"), 0);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(a_dataset_gets_its_own_directory),
                  RUN(ranks_that_call_files_alike_get_directories_in_it),
                  RUN(what_bypasses_the_cache_stays_where_it_was_written),
                  RUN(a_damaged_file_is_reported_when_it_is_deleted)));
}
