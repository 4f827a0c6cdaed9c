/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank with more than 2^31 bytes: offsets, lengths of rows and counts of slices
 * beyond what an int holds, from the encode to the rebuild. The file is sparse; its
 * copy and the rebuilt one are not. */
/* ranks: 2 */
#include <sys/statvfs.h>

#include "helper_job.h"

static const long long BYTES = (1LL << 31) + 1000003;

/* Where the file is not zero. */
static const long long marks[] = { 0,         4095,      (1LL << 30) + 17,
                                   INT32_MAX, 1LL << 31, (1LL << 31) + 1000002 };
enum { MARKS = sizeof marks / sizeof marks[0] };

static char mark_byte(int i)
{
    return (char)('A' + i);
}

static int has_room(const struct job *job)
{
    struct statvfs st;
    int room = statvfs(job->cache, &st) == 0 &&
               st.f_bavail > 3 * (unsigned long long)BYTES / st.f_frsize;
    if (!room && job->rank == 0)
        printf("       skipped: less than %lld GiB free in %s\n", 3 * BYTES >> 30,
               job->cache);
    return room;
}

static int write_marks(const char *path)
{
    FILE *f = fopen(path, "wb");
    if (f == NULL)
        return 0;
    int ok = 1;
    for (int i = 0; i < MARKS; i++)
        ok = fseeko(f, marks[i], SEEK_SET) == 0 && putc(mark_byte(i), f) != EOF && ok;
    return fclose(f) == 0 && ok;
}

static int read_marks(const char *path)
{
    struct stat st;
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        return 0;
    int ok = fstat(fileno(f), &st) == 0 && st.st_size == BYTES;
    for (int i = 0; i < MARKS; i++)
        ok = fseeko(f, marks[i], SEEK_SET) == 0 && getc(f) == mark_byte(i) && ok;
    fclose(f);
    return ok;
}

/* Rank 0 has the large file, the other one a byte. */
static void checkpoint(struct job *job, struct scr_ctx *ctx)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    char name[900], path[SCR_MAX_NAME];
    snprintf(name, sizeof name, "%s/large/rank.%d", job->prefix, job->rank);
    CHECK_RC(scr_start_output_all(ctx, "large", SCR_IS_CKPT, &err), SCR_OK, &err);
    CHECK_RC(scr_route(ctx, name, path, &err), SCR_OK, &err);
    FILE *f = job->rank == 0 ? NULL : fopen(path, "wb");
    CHECK(job->rank == 0 ? write_marks(path) : putc('x', f) == 'x' && fclose(f) == 0);
    CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_OK, &err);
}

static void check_restart(struct job *job, struct scr_ctx *ctx)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    char name[900], path[SCR_MAX_NAME] = "";
    int have = 0;
    CHECK_RC(scr_have_restart_all(ctx, &have, name, &err), SCR_OK, &err);
    CHECK_INT(have, 1);
    if (!have)
        return;
    CHECK_RC(scr_start_restart_all(ctx, NULL, &err), SCR_OK, &err);
    snprintf(name, sizeof name, "%s/large/rank.%d", job->prefix, job->rank);
    CHECK_RC(scr_route(ctx, name, path, &err), SCR_OK, &err);
    CHECK(job->rank > 0 || read_marks(path));
    CHECK_RC(scr_complete_restart_all(ctx, 1, &err), SCR_OK, &err);
}

MPI_CASE(more_than_two_gigabytes_of_a_rank_are_rebuilt)
{
    struct job job;
    job_new(t, &job, t->comm.size);
    if (has_room(&job)) {
        struct scr_ctx *ctx = job_start(&job, "n[1-2]", "SCR_COPY_TYPE=PARTNER", NULL);
        checkpoint(&job, ctx);
        job_kill(&job, ctx);
        job_lose_node(&job, "n1");
        ctx = job_start(&job, "n3,n2", "SCR_COPY_TYPE=PARTNER", NULL);
        check_restart(&job, ctx);
        job_end(&job, ctx);
    }
    job_free(&job);
}

int main(int argc, char **argv)
{
    return mpi_test_main(argc, argv,
                         MPI_CASES(RUN(more_than_two_gigabytes_of_a_rank_are_rebuilt)));
}
