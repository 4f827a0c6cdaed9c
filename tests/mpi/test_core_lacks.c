/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs on machines that lack something: a call that SCR can do without fails on all
 * ranks, from one of them on and for good, through checkpoints, flushes, the loss of a
 * node, the move of ranks to other nodes and a fetch. No call of SCR fails, and every
 * byte is the one that was written. */
/* ranks: 4 */
#include "helper_job.h"
#include "xfer/zst.h"

/* One file of several slices, a short one, one with nothing. */
static long mixed(int rank, int file, int seed)
{
    const long sizes[] = { 300000 + 1000 * rank + seed, 70000, 0 };
    return file < 3 ? sizes[file] : -1;
}

/* The first of rank 1 is synced while it is copied. */
static long with_large(int rank, int file, int seed)
{
    return file == 0 && rank == 1 && seed == 3 ? 17 << 20 : mixed(rank, file, seed);
}

/* Files belong to another user than the one who makes them: their owners must be
 * set. */
static int fstat_of_others(int fd, struct stat *st)
{
    int rc = test_fault_sys.fstat(fd, st);
    if (rc == 0 && S_ISREG(st->st_mode))
        st->st_uid++;
    return rc;
}

/* How the checkpoints get to the prefix. */
static const char *flush_of(int i)
{
    static const char *const flushes[] = { "SCR_FLUSH_ASYNC=0", "SCR_FLUSH_ASYNC=1",
                                           "SCR_FLUSH_COMPRESS=ZSTD:1" };
    return flushes[i % (scr_zst_have() ? 3 : 2)];
}

/* The redundancy file of the first becomes the third one's. */
static void write_three(struct job *job, struct scr_ctx *ctx)
{
    job_checkpoint(job, ctx, "one", 1);
    job_checkpoint(job, ctx, "two", 2);
    job_checkpoint(job, ctx, "three", 3);
}

/* A node is lost, and two ranks change places. */
static void rebuild(struct mpi_test *t, struct job *job)
{
    (void)t;
    job_lose_node(job, "n2");
    struct scr_ctx *ctx = job_start(job, "n1,n5,n4,n3", NULL);
    job_check_restart(job, ctx, "three", 3);
    job_kill(job, ctx);
}

static void fetch(struct job *job)
{
    job_lose_node(job, "n1,n3,n4,n5");
    struct scr_ctx *ctx = job_start(job, "n[1-4]", NULL);
    job_check_restart(job, ctx, "three", 3);
    job_end(job, ctx);
}

/* 1 if something it does has failed. */
static int live_without(struct mpi_test *t, const struct test_lack *lack, long n,
                        const char *flush)
{
    struct job job;
    struct scr_sys sys = test_fault_sys;
    sys.fstat = fstat_of_others;
    job_new(t, &job, t->comm.size);
    job.sys = &sys;
    job.size_of = lack->kind == TEST_SYNC_FILE_RANGE ? with_large : mixed;
    job_arm(&job, -1, (int)lack->kind, n, lack->error, TEST_FOREVER);
    struct scr_ctx *ctx =
        job_start(&job, "n[1-4]", "SCR_FLUSH=3", "SCR_CACHE_SIZE=-1", flush, NULL);
    write_three(&job, ctx);
    job_end(&job, ctx);
    rebuild(t, &job);
    fetch(&job);
    int fired = job_disarm(&job);
    job_free(&job);
    return fired;
}

/* No job makes links, wherever it runs, but all the others. */
static int is_made(enum test_kind kind)
{
    return kind != TEST_LINKAT;
}

/* The tests of single layers go through the errors of the calls. */
MPI_CASE(whatever_the_machine_lacks_no_byte_is_lost)
{
    int turn = 0;
    for (int i = 0; i < TEST_LACKS && mpi_test_good(t); i++) {
        const struct test_lack *lack = &test_lacks[i];
        if (i > 0 && lack->kind == test_lacks[i - 1].kind)
            continue;
        int fired = live_without(t, lack, turn % 2, flush_of(turn));
        CHECK_INT(fired, is_made(lack->kind));
        if (t->failed > 0 && t->comm.rank == 0)
            fprintf(stderr, "without calls of kind %d (errno %d)\n", (int)lack->kind,
                    lack->error);
        turn++;
    }
}

MPI_CASE(no_descriptor_is_left_open)
{
    CHECK_INT(test_fault_open_fds(), 0);
}

int main(int argc, char **argv)
{
    return mpi_test_main(argc, argv,
                         MPI_CASES(RUN(whatever_the_machine_lacks_no_byte_is_lost),
                                   RUN(no_descriptor_is_left_open)));
}
