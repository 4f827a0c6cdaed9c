/* SPDX-License-Identifier: BSD-3-Clause */
/* A long run keeps nothing: memory, descriptors, communicators and requests are after a
 * thousand checkpoints what they were after two hundred. */
/* ranks: 4 */

#include "helper_async.h"
#include "helper_held.h"
#include "helper_job.h"
#include "helper_stored.h"

enum { CHECKPOINTS = 1000, WARM = 200, FLUSH_EVERY = 50 };

/* Freed memory stays with the allocator, and its pages are fuller than at first. The
 * address sanitizer keeps up to 256 MiB of it, and looks for leaks itself. */
#ifdef __SANITIZE_ADDRESS__
enum { SLACK_KB = 256 << 10 };
#else
enum { SLACK_KB = 256 };
#endif

static long one_small_file(int rank, int file, int seed)
{
    return file == 0 ? 1000 + (rank + seed) % 50 : -1;
}

static long value_of(const char *key)
{
    char line[256];
    long kb = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, key, strlen(key)) == 0)
            kb = strtol(line + strlen(key), NULL, 10);
    if (f != NULL)
        fclose(f);
    return kb;
}

struct sample {
    long rss_kb, threads;
    struct test_held held;
};

/* With no flush under way, as on all ranks. */
static struct sample sample(struct mpi_test *t, struct job *job, struct scr_ctx *ctx,
                            int n)
{
    struct scr_err err = SCR_ERR_INIT;
    CHECK_RC(scr_async_wait_all(ctx, 0, &err), SCR_OK, &err);
    mpi_test_barrier(job->comm);
    struct sample s = { .rss_kb = value_of("VmRSS:"),
                        .threads = value_of("Threads:"),
                        .held = test_held_now() };
    printf("rank %d after %d checkpoints: %ld kB, %d descriptors, %ld "
           "communicators, %ld requests, %ld threads\n",
           job->rank, n, s.rss_kb, s.held.fds, s.held.comms, s.held.requests,
           s.threads);
    return s;
}

static void checkpoints(struct job *job, struct scr_ctx *ctx, int from, int to)
{
    for (int i = from; i <= to; i++) {
        char name[32];
        snprintf(name, sizeof name, "ckpt.%d", i);
        job_checkpoint(job, ctx, name, i);
    }
}

MPI_CASE(a_thousand_checkpoints_keep_nothing)
{
    struct job job;
    job_new(t, &job, 4);
    job.size_of = one_small_file;
    struct scr_ctx *ctx =
        job_start(&job, nodes, "SCR_COPY_TYPE=XOR", "SCR_CACHE_SIZE=2",
                  "SCR_FLUSH_ASYNC=1", "SCR_FLUSH=50", "SCR_PREFIX_SIZE=2", NULL);
    checkpoints(&job, ctx, 1, WARM);
    const struct sample before = sample(t, &job, ctx, WARM);
    checkpoints(&job, ctx, WARM + 1, CHECKPOINTS);
    const struct sample after = sample(t, &job, ctx, CHECKPOINTS);
    CHECK(after.rss_kb <= before.rss_kb + SLACK_KB);
    CHECK_INT(after.held.fds, before.held.fds);
    CHECK_INT(after.held.comms, before.held.comms);
    CHECK_INT(after.held.requests, before.held.requests);
    CHECK_INT(after.threads, before.threads);
    /* in cache, and in the prefix directory */
    CHECK_INT(job_count(&job, job.cache, "rank.0/"), 2);
    CHECK_INT(entry(&job, CHECKPOINTS), 1);
    CHECK_INT(entry(&job, CHECKPOINTS - FLUSH_EVERY), 1);
    CHECK_INT(entry(&job, CHECKPOINTS - 2 * FLUSH_EVERY), -1);
    job_end(&job, ctx);
    job_free(&job);
}

int main(int argc, char **argv)
{
    return mpi_test_main(argc, argv,
                         MPI_CASES(RUN(a_thousand_checkpoints_keep_nothing)));
}
