/* SPDX-License-Identifier: BSD-3-Clause */
/* Prefix directories of the existing SCR 3.x, in both directions: a job restarts from
 * one, and what a flush writes is byte for byte what it would write, except the sizes
 * and checksums of files, which it ignores. */
/* ranks: 4 */
#include <errno.h>

#include "helper_job.h"
#include "helper_stored.h"

#include "base/hashfile.h"
#include "base/str.h"

#define GOLDEN SCR_GOLDEN_DIR "/prefix/scr3"

/* As in tests/golden/prefix_files.py. */
static long size_of(int rank, int file, int seed)
{
    (void)seed;
    return file < 2 ? 100 + 10 * rank + file : -1;
}

static void start(struct mpi_test *t, struct job *job)
{
    job_new(t, job, 4);
    job->size_of = size_of;
    job_set_prefix(job, GOLDEN);
}

/* <dir>/.scr/scr.dataset.<id>/<name> as a hash; NULL: it cannot be read. */
static scr_hash *read_record(const char *dir, int id, const char *name)
{
    scr_hash *h = scr_hash_new();
    char *path = scr_asprintf("%s/.scr/scr.dataset.%d/%s", dir, id, name);
    if (scr_hash_file_read(&scr_sys_posix, path, h, NULL) != SCR_OK) {
        scr_hash_delete(h);
        h = NULL;
    }
    free(path);
    return h;
}

static int same_bytes(const scr_hash *a, const scr_hash *b)
{
    struct scr_str x = SCR_STR_INIT, y = SCR_STR_INIT;
    scr_hash_append(&x, a);
    scr_hash_append(&y, b);
    int same = !x.bad && x.len == y.len && memcmp(x.p, y.p, x.len) == 0;
    scr_str_free(&x);
    scr_str_free(&y);
    return same;
}

static void drop_ours(scr_hash *part)
{
    for (SCR_HASH_EACH(r, scr_hash_get(part, "RANK")))
        for (SCR_HASH_EACH(f, scr_hash_get(scr_hash_elem_hash(r), "FILE"))) {
            scr_hash_unset(scr_hash_elem_hash(f), "SIZE");
            scr_hash_unset(scr_hash_elem_hash(f), "CRC");
        }
}

MPI_CASE(a_job_restarts_from_a_prefix_of_scr_3)
{
    struct job job;
    start(t, &job);
    struct scr_ctx *ctx = job_start(&job, "n[1-4]", "SCR_FLUSH=1", NULL);
    job_check_restart(&job, ctx, "ckpt.3", 3);
    job_checkpoint(&job, ctx, "ckpt.5", 5); /* 4 is known to the index */
    CHECK_INT(ctx->last_id, 5);
    job_end(&job, ctx); /* it is with the others now */
    job_lose_node(&job, "n[1-4]");
    ctx = job_start(&job, "n[1-4]", NULL);
    job_check_restart(&job, ctx, "ckpt.5", 5);
    job_end(&job, ctx);
    job_free(&job);
}

MPI_CASE(an_older_one_is_taken_when_a_file_of_the_newest_is_gone)
{
    struct job job;
    start(t, &job);
    if (job.rank == 0) {
        char path[900];
        snprintf(path, sizeof path, "%s/step.3/file0.2", job.prefix);
        CHECK_INT(unlink(path), 0);
    }
    struct scr_ctx *ctx = job_start(&job, "n[1-4]", NULL);
    job_check_restart(&job, ctx, "ckpt.1", 1);
    job_kill(&job, ctx);
    job_free(&job);
}

MPI_CASE(what_a_flush_writes_is_what_scr_3_writes)
{
    static const char *const names[] = { "rank2file", "rank2file.0.0" };
    struct job job;
    start(t, &job);
    mpi_test_barrier(job.comm);
    if (job.rank == 0)
        mpi_test_remove(job.prefix);
    mpi_test_barrier(job.comm);
    if (job.rank == 0)
        CHECK_INT(mkdir(job.prefix, 0700), 0);
    mpi_test_barrier(job.comm);
    struct scr_ctx *ctx = job_start(&job, "n[1-4]", "SCR_FLUSH=1", NULL);
    job_checkpoint(&job, ctx, "ckpt.1", 1);
    job_end(&job, ctx);
    for (int i = 0; i < 2 && job.rank == 0; i++) {
        scr_hash *ours = read_record(job.prefix, 1, names[i]);
        scr_hash *theirs = read_record(GOLDEN, 1, names[i]);
        CHECK(ours != NULL && theirs != NULL);
        drop_ours(ours);
        if (!same_bytes(ours, theirs))
            mpi_test_fail(t, __FILE__, __LINE__, "%s differs", names[i]);
        scr_hash_delete(ours);
        scr_hash_delete(theirs);
    }
    job_free(&job);
}

/* --- its caches --- */

/* What SCR 3.1 leaves of a dataset: the list of the node, and under its directory the
 * files and what they are. */
static const char *const cached[] = {
    "cindex.scrinfo", "scr.dataset.1/ckpt.0", "scr.dataset.1/.scr/filemap_0",
    "scr.dataset.1/.scr/reddesc.er.0.xor.grp_1_of_1"
};
enum { CACHED = sizeof cached / sizeof cached[0] };

static void cached_path(const struct job *job, int i, char *path, size_t n)
{
    snprintf(path, n, "%s/tester/scr.job/%s", job->cache, cached[i]);
}

static void make_cached(struct mpi_test *t, const struct job *job)
{
    static const char *const dirs[] = { "", "tester", "tester/scr.job",
                                        "tester/scr.job/scr.dataset.1",
                                        "tester/scr.job/scr.dataset.1/.scr" };
    char path[900];
    for (int i = 0; i < 5; i++) {
        snprintf(path, sizeof path, "%s/%s", job->cache, dirs[i]);
        CHECK(mkdir(path, 0700) == 0 || errno == EEXIST);
    }
    for (int i = 0; i < CACHED; i++) {
        cached_path(job, i, path, sizeof path);
        FILE *f = fopen(path, "w");
        CHECK(f != NULL && fputs(cached[i], f) >= 0 && fclose(f) == 0);
    }
}

static void check_cached(struct mpi_test *t, const struct job *job)
{
    for (int i = 0; i < CACHED; i++) {
        char path[900], got[100] = "";
        cached_path(job, i, path, sizeof path);
        FILE *f = fopen(path, "r");
        CHECK(f != NULL && fgets(got, sizeof got, f) != NULL && fclose(f) == 0);
        CHECK(strcmp(got, cached[i]) == 0);
    }
}

/* Also after a request to delete everything. */
MPI_CASE(what_scr_3_has_in_cache_stays_and_is_reported)
{
    struct job job;
    start(t, &job);
    if (job.rank == 0)
        make_cached(t, &job);
    mpi_test_barrier(job.comm);
    job.out = tmpfile();
    struct scr_ctx *ctx = job_start(&job, "n[1-4]", "SCR_CACHE_PURGE=1",
                                    "SCR_PREFIX_PURGE=1", "SCR_CACHE_SIZE=1", NULL);
    for (int i = 1; i <= 3; i++)
        job_checkpoint(&job, ctx, "ckpt.1", i);
    struct scr_err err = SCR_ERR_INIT;
    CHECK_RC(scr_delete_all(ctx, "ckpt.1", &err), SCR_OK, &err);
    CHECK_INT(job_said(&job, "SCR 3.x or older has datasets in cache"), 1);
    job_end(&job, ctx);
    if (job.rank == 0)
        check_cached(t, &job);
    fclose(job.out);
    job.out = NULL;
    job_free(&job);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(a_job_restarts_from_a_prefix_of_scr_3),
                  RUN(an_older_one_is_taken_when_a_file_of_the_newest_is_gone),
                  RUN(what_a_flush_writes_is_what_scr_3_writes),
                  RUN(what_scr_3_has_in_cache_stays_and_is_reported)));
}
