/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets whose files go to the same paths on the prefix: whose they are when a flush
 * brings them, whatever the names of the datasets and whichever rank has them. */
/* ranks: 4 */

#include "helper_fault.h"
#include "helper_paths.h"
#include "helper_pfs.h"
#include "helper_prefix.h"
#include "helper_stored.h"
#include "store/arrival.h"
#include "store/wanted.h"
#include "xfer/copy.h"
#include <errno.h>

/* A file where a directory is wanted: until it is gone, flushes to it fail. */
static void block(struct job *job, const char *dir, int on)
{
    char path[900];
    snprintf(path, sizeof path, "%s/%s", job->prefix, dir);
    mpi_test_barrier(job->comm);
    if (job->rank == 0 && on)
        fclose(fopen(path, "w"));
    else if (job->rank == 0)
        unlink(path);
    mpi_test_barrier(job->comm);
}

/* --- who is demoted --- */

JOB_CASE(a_flush_demotes_those_whose_files_it_replaces_and_no_others, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    paths_write_ok(job, ctx, "x", CKPT, "A", "first");
    paths_write_ok(job, ctx, "x", CKPT, "B", "second");
    CHECK_ENTRY(job, 1, COMPLETE, NOT_CURRENT);
    CHECK_ENTRY(job, 2, COMPLETE, CURRENT);
    paths_write_ok(job, ctx, "x", CKPT, "A", "third");
    CHECK_GONE(job, 1);
    CHECK_ENTRY(job, 2, COMPLETE, NOT_CURRENT);
    CHECK_ENTRY(job, 3, COMPLETE, CURRENT);
    CHECK(job_has(job, ".scr/scr.dataset.2/summary.scr"));
    job_kill(job, ctx);
    job_lose_node(job, nodes);
    /* A run can restart from the remaining ones. */
    ctx = job_start(job, nodes, NULL);
    CHECK_INT(job_offered(job, ctx), 3);
    CHECK_RC(scr_start_restart_all(ctx, NULL, &err), SCR_OK, &err);
    CHECK_RC(scr_complete_restart_all(ctx, 0, &err), SCR_E_INVALID, &err);
    CHECK_INT(job_offered(job, ctx), 2);
    job_kill(job, ctx);
}

JOB_CASE(neither_names_matter_nor_the_rank_of_a_file, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    paths_write_ok(job, ctx, "x", CKPT, "A", "first");
    paths_write_ok(job, ctx, "out", OUTPUT, "B", "second");
    CHECK_RC(write_at(job, ctx, "y", CKPT, "A", 1, "third", &err), SCR_OK, &err);
    CHECK_GONE(job, 1);
    CHECK_ENTRY(job, 2, COMPLETE, NOT_CURRENT);
    CHECK_ENTRY(job, 3, COMPLETE, CURRENT);
    CHECK(all_are(job, "A", "third") && all_are(job, "B", "second"));
    job_kill(job, ctx);
}

/* No file has got its name: the files there are the older one's, and it is complete,
 * also for an index that is rebuilt, and can be restarted from. */
static void check_older_is_whole(struct job *job)
{
    struct mpi_test *t = job->t;
    char index[900];
    CHECK_INT(job_entry(job, 1, NULL, NULL), 1);
    CHECK_INT(job_entry(job, 2, NULL, NULL), 0);
    CHECK(all_are(job, "A", "first"));
    job_lose_node(job, nodes);
    struct scr_ctx *ctx = job_start(job, nodes, NULL);
    CHECK_INT(job_offered(job, ctx), 1);
    job_kill(job, ctx);
    snprintf(index, sizeof index, "%s/.scr/index.scr", job->prefix);
    mpi_test_barrier(job->comm);
    if (job->rank == 0)
        CHECK(unlink(index) == 0);
    mpi_test_barrier(job->comm);
    CHECK_INT(job_entry(job, 1, NULL, NULL), 1);
}

static struct scr_ctx *start_with_one(struct mpi_test *t, struct job *job,
                                      const char *async)
{
    struct scr_err err = SCR_ERR_INIT;
    job_new(t, job, 4);
    job->out = fopen("/dev/null", "w");
    pfs_reset();
    job->sys = &pfs_sys;
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_CACHE_SIZE=2", "SCR_FLUSH=1", async, NULL);
    paths_write_ok(job, ctx, "x", CKPT, "A", "first");
    CHECK_RC(scr_async_wait_all(ctx, 0, &err), SCR_OK, &err);
    return ctx;
}

static void end_with_one(struct job *job, struct scr_ctx *ctx)
{
    job_kill(job, ctx);
    pfs_reset();
    check_older_is_whole(job);
    fclose(job->out);
    job_free(job);
}

/* The copy of one rank fails, or those of all, as in a death. */
static void fail_in_copying(struct mpi_test *t, const char *name, int all)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = start_with_one(t, &job, "SCR_FLUSH_ASYNC=0");
    if (all)
        pfs_die();
    else if (job.rank == 1)
        pfs_control.write_error = ENOSPC;
    CHECK_RC(write_at(&job, ctx, name, CKPT, "A", 0, "second", &err), SCR_OK, &err);
    CHECK(all || job_count(&job, job.prefix, SCR_COPY_TMP) == 0);
    end_with_one(&job, ctx);
}

MPI_CASE(a_flush_that_fails_in_the_copying_leaves_the_older_dataset_complete)
{
    for (int all = 0; all < 2; all++) {
        fail_in_copying(t, "x", all); /* whatever the names */
        fail_in_copying(t, "y", all);
    }
}

/* The threads are held up in their first copies, and die there. */
MPI_CASE(an_asynchronous_flush_that_dies_early_leaves_it_complete)
{
    struct job job;
    struct scr_ctx *ctx = start_with_one(t, &job, "SCR_FLUSH_ASYNC=1");
    pfs_control.hold = 1;
    paths_write_ok(&job, ctx, "x", CKPT, "A", "second");
    CHECK_INT(job_entry(&job, 1, NULL, NULL), 1);
    mpi_test_barrier(job.comm);
    pfs_die();
    end_with_one(&job, ctx);
}

/* The others' files get their names. */
MPI_CASE(one_that_fails_later_does_not)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = start_with_one(t, &job, "SCR_FLUSH_ASYNC=1");
    pfs_control.write_error = job.rank == 1 ? ENOSPC : 0;
    paths_write_ok(&job, ctx, "x", CKPT, "A", "second");
    CHECK(scr_async_wait_all(ctx, 0, &err) != SCR_OK);
    CHECK_ENTRY(&job, 1, INCOMPLETE, NOT_CURRENT);
    CHECK(!job_has(&job, ".scr/scr.dataset.1/summary.scr"));
    job_kill(&job, ctx);
    pfs_reset();
    fclose(job.out);
    job_free(&job);
}

MPI_CASE(a_start_that_finds_nothing_else_takes_one_that_lacks_only_its_record)
{
    struct job job;
    die_before_summary(t, &job);
    struct scr_ctx *ctx = job_start(&job, nodes, NULL);
    CHECK_INT(job_offered(&job, ctx), 1);
    CHECK_ENTRY(&job, 1, COMPLETE, CURRENT);
    CHECK(job_has(&job, ".scr/scr.dataset.1/summary.scr"));
    job_kill(&job, ctx);
    fclose(job.out);
    job_free(&job);
}

MPI_CASE(but_not_one_with_another_file)
{
    struct job job;
    char path[900];
    die_before_summary(t, &job);
    snprintf(path, sizeof path, "%s/A/f.2", job.prefix);
    if (job.rank == 0)
        job_flip(path, 0);
    mpi_test_barrier(job.comm);
    struct scr_ctx *ctx = job_start(&job, nodes, NULL);
    CHECK_INT(job_offered(&job, ctx), 0);
    CHECK_ENTRY(&job, 1, INCOMPLETE, NOT_CURRENT);
    job_kill(&job, ctx);
    fclose(job.out);
    job_free(&job);
}

/* As other writers leave the list: no CRC32 of the file of rank 2, or of any. */
static void forget_crcs(struct job *job, int all)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_rank2file l = { 0 };
    char part[900];
    snprintf(part, sizeof part, "%s/.scr/scr.dataset.1/rank2file.0.0", job->prefix);
    mpi_test_barrier(job->comm);
    if (job->rank == 0) {
        CHECK_RC(scr_rank2file_read(&scr_sys_posix, part, &l, &err), SCR_OK, &err);
        CHECK_INT(l.n, 4);
        for (size_t i = 0; i < l.n; i++)
            for (SCR_EACH(struct scr_listed, f, &l.of[i]->files))
                f->has_crc = !all && l.of[i]->rank != 2;
        CHECK_RC(scr_rank2file_write(&scr_sys_posix, part, &l, &err), SCR_OK, &err);
        scr_rank2file_fini(&l);
    }
    mpi_test_barrier(job->comm);
}

/* P25: the sizes are right, which proves nothing. */
MPI_CASE(but_not_one_without_a_recorded_crc)
{
    for (int all = 0; all < 2; all++) {
        struct job job;
        die_before_summary(t, &job);
        forget_crcs(&job, all);
        struct scr_ctx *ctx = job_start(&job, nodes, NULL);
        CHECK_INT(job_offered(&job, ctx), 0);
        CHECK_ENTRY(&job, 1, INCOMPLETE, NOT_CURRENT);
        CHECK(!job_has(&job, ".scr/scr.dataset.1/summary.scr"));
        CHECK(all_are(&job, "A", "first"));
        job_kill(&job, ctx);
        fclose(job.out);
        job_free(&job);
    }
}

/* 1 if the descriptor is that of <prefix>/<dir>. */
static int is_dir(int fd, const char *dir)
{
    char link[64], path[900];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    const char *base = strrchr(path, '/');
    return base != NULL && strcmp(base + 1, dir) == 0;
}

static int fsync_but_a(int fd)
{
    if (!is_dir(fd, "A"))
        return scr_sys_posix.fsync(fd);
    errno = EIO;
    return -1;
}

/* Its names may be lost with the power as long as they are not synced. */
MPI_CASE(but_not_one_whose_directories_cannot_be_synced)
{
    struct job job;
    struct scr_sys sys = scr_sys_posix;
    die_before_summary(t, &job);
    sys.fsync = fsync_but_a;
    for (int fails = 1; fails >= 0; fails--) {
        job.sys = fails ? &sys : &scr_sys_posix;
        struct scr_ctx *ctx = job_start(&job, nodes, NULL);
        CHECK_INT(job_offered(&job, ctx), fails ? 0 : 1);
        CHECK_ENTRY(&job, 1, !fails, !fails);
        CHECK_INT(job_has(&job, ".scr/scr.dataset.1/summary.scr"), !fails);
        job_kill(&job, ctx);
    }
    fclose(job.out);
    job_free(&job);
}

static int openat_but_b(int dirfd, const char *path, int flags, mode_t mode)
{
    if (strstr(path, "/B/f.") == NULL)
        return scr_sys_posix.openat(dirfd, path, flags, mode);
    errno = EIO;
    return -1;
}

/* Had the older one become complete, no start would find that no other checkpoint
 * exists. */
JOB_CASE(a_transient_error_does_not_lead_to_an_older_one, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_sys sys = scr_sys_posix;
    job->out = tmpfile();
    pfs_reset();
    job->sys = &pfs_sys;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    pfs_control.fail_path = "summary.scr";
    CHECK_RC(write_at(job, ctx, "x", CKPT, "A", 0, "first", &err), SCR_OK, &err);
    CHECK_RC(write_at(job, ctx, "y", CKPT, "B", 0, "second", &err), SCR_OK, &err);
    job_kill(job, ctx);
    job_lose_node(job, nodes);
    sys.openat = openat_but_b;
    job->sys = &sys;
    ctx = job_start(job, nodes, NULL);
    CHECK_INT(job_offered(job, ctx), 0);
    CHECK_ENTRY(job, 1, INCOMPLETE, NOT_CURRENT);
    CHECK_ENTRY(job, 2, INCOMPLETE, NOT_CURRENT);
    CHECK_INT(job_said(job, "dataset 2 on the prefix is not used, and no older"), 1);
    job_kill(job, ctx);
    job->sys = &scr_sys_posix;
    ctx = job_start(job, nodes, NULL);
    CHECK_INT(job_offered(job, ctx), 2);
    CHECK_ENTRY(job, 1, INCOMPLETE, NOT_CURRENT);
    CHECK_ENTRY(job, 2, COMPLETE, CURRENT);
    job_kill(job, ctx);
    fclose(job->out);
}

/* --- never newer by older (P15) --- */

JOB_CASE(an_output_that_failed_is_not_flushed_over_a_newer_dataset, 4)
{
    struct scr_err err = SCR_ERR_INIT, late = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    block(job, "A", 1);
    CHECK(write_at(job, ctx, "out", OUTPUT, "A", 0, "first", &err) != SCR_OK);
    block(job, "A", 0);
    paths_write_ok(job, ctx, "x", CKPT, "A", "second");
    job->out = tmpfile();
    ctx->log.out = job->out;
    CHECK_RC(scr_finalize_all(ctx, &late), SCR_OK, &late);
    CHECK_GONE(job, 1);
    CHECK_ENTRY(job, 2, COMPLETE, CURRENT);
    CHECK(all_are(job, "A", "second"));
    CHECK(!scr_cache_has(ctx, 1));
    CHECK(job_said(job, "x (dataset 2) is newer") > 0);
    job_kill(job, ctx);
    fclose(job->out);
}

JOB_CASE(also_not_when_it_has_to_make_room, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_FLUSH=1", "SCR_CACHE_SIZE=2", NULL);
    block(job, "A", 1);
    CHECK(write_at(job, ctx, "both", BOTH, "A", 0, "first", &err) != SCR_OK);
    block(job, "A", 0);
    paths_write_ok(job, ctx, "x", CKPT, "A", "second");
    paths_write_ok(job, ctx, "y", CKPT, "B", "third"); /* evicts the first */
    CHECK(!scr_cache_has(ctx, 1));
    CHECK_ENTRY(job, 2, COMPLETE, NOT_CURRENT);
    CHECK(all_are(job, "A", "second"));
    job_kill(job, ctx);
}

/* The plan of the older one is left where it failed; the next start resumes it. */
JOB_CASE(also_not_when_a_start_resumes_it, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    pfs_reset();
    job->sys = &pfs_sys;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", "SCR_FLUSH_ASYNC=1",
                                    "SCR_CACHE_SIZE=3", NULL);
    pfs_control.write_error = ENOSPC;
    CHECK_RC(write_at(job, ctx, "out", OUTPUT, "A", 0, "first", &err), SCR_OK, &err);
    CHECK(scr_async_wait_all(ctx, 1, &err) != SCR_OK);
    job_kill(job, ctx);
    pfs_reset();
    char plan[] = ".scr/scr.dataset.1/outgoing.scr";
    CHECK(job_has(job, plan));
    /* A run without what is in cache brings something newer there. */
    job_save(job);
    job_lose_node(job, nodes);
    ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    paths_write_ok(job, ctx, "x", CKPT, "A", "second");
    CHECK_ENTRY(job, 2, COMPLETE, CURRENT);
    job_kill(job, ctx);
    char from[800], to[800];
    snprintf(from, sizeof from, "%s.saved", job->cache);
    snprintf(to, sizeof to, "%s", job->cache);
    if (job->rank == 0) {
        mpi_test_remove(to);
        CHECK(rename(from, to) == 0);
    }
    mpi_test_barrier(job->comm);
    for (int async = 0; async < 2; async++) {
        ctx = job_start(job, nodes, async ? "SCR_FLUSH_ASYNC=1" : "SCR_FLUSH_ASYNC=0",
                        NULL);
        CHECK_GONE(job, 1);
        CHECK_ENTRY(job, 2, COMPLETE, CURRENT);
        CHECK(all_are(job, "A", "second"));
        CHECK(!scr_cache_has(ctx, 1));
        CHECK(!job_has(job, plan));
        job_kill(job, ctx);
    }
}

/* A good dataset replaces a failed one, also if it is older. */
JOB_CASE(one_that_has_failed_is_written_over, 4)
{
    char path[900];
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_FLUSH=2", "SCR_CACHE_SIZE=2", NULL);
    paths_write_ok(job, ctx, "x", CKPT, "A", "first");
    paths_write_ok(job, ctx, "y", CKPT, "A", "second");
    CHECK_ENTRY(job, 2, COMPLETE, CURRENT);
    job_kill(job, ctx);
    job_lose_dataset(job, 2);
    snprintf(path, sizeof path, "%s/A/f.1", job->prefix);
    if (job->rank == 0)
        job_flip(path, 0);
    mpi_test_barrier(job->comm);
    ctx = job_start(job, nodes, "SCR_GLOBAL_RESTART=1", NULL);
    CHECK_INT(job_offered(job, ctx), 1);
    CHECK(all_are(job, "A", "first"));
    CHECK_ENTRY(job, 1, COMPLETE, CURRENT);
    CHECK_ENTRY(job, 2, INCOMPLETE, NOT_CURRENT);
    job_kill(job, ctx);
}

/* The one in cache is older, and would be flushed over it. */
JOB_CASE(a_global_restart_takes_what_is_newer_on_the_prefix, 4)
{
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_FLUSH=2", "SCR_CACHE_SIZE=2", NULL);
    paths_write_ok(job, ctx, "x", CKPT, "A", "first");
    paths_write_ok(job, ctx, "y", CKPT, "A", "second");
    job_kill(job, ctx);
    job_lose_dataset(job, 2);
    ctx = job_start(job, nodes, "SCR_GLOBAL_RESTART=1", NULL);
    CHECK_INT(job_offered(job, ctx), 2);
    CHECK_ENTRY(job, 1, ABSENT, NOT_CURRENT);
    CHECK_ENTRY(job, 2, COMPLETE, CURRENT);
    CHECK(all_are(job, "A", "second"));
    job_kill(job, ctx);
}

/* --- calls that fail while one is replaced --- */

static int same_code(const struct job *job, int rc)
{
    int low = 0, high = 0;
    MPI_Allreduce(&rc, &low, 1, MPI_INT, MPI_MIN, job->comm);
    MPI_Allreduce(&rc, &high, 1, MPI_INT, MPI_MAX, job->comm);
    return low == high;
}

/* Datasets that the index calls complete are (P16): 1 and 3 are in A, 2 is in B. */
static void check_complete_ones(struct job *job)
{
    struct mpi_test *t = job->t;
    int first = job_entry(job, 1, NULL, NULL), third = job_entry(job, 3, NULL, NULL);
    int is_first = all_are(job, "A", "first"), is_third = all_are(job, "A", "third");
    CHECK(first != 1 || is_first);
    CHECK(third != 1 || is_third);
    CHECK_INT(job_entry(job, 2, NULL, NULL), 1);
    CHECK(all_are(job, "B", "second"));
}

/* A rebuilt index also does not call the first complete when its files are gone. */
static void check_rebuilt_index(struct job *job)
{
    struct mpi_test *t = job->t;
    char path[900];
    CHECK(!job_has(job, ".scr/scr.dataset.1/summary.scr"));
    snprintf(path, sizeof path, "%s/.scr/index.scr", job->prefix);
    mpi_test_barrier(job->comm);
    if (job->rank == 0)
        CHECK(unlink(path) == 0);
    mpi_test_barrier(job->comm);
    CHECK_INT(job_entry(job, 1, NULL, NULL), -1);
    CHECK_INT(job_entry(job, 2, NULL, NULL), 1);
    CHECK_INT(job_entry(job, 3, NULL, NULL), 1);
}

/* The n-th call of a kind of the flush that replaces files fails on this rank, or all
 * from there on on all ranks (-1), as in a death. */
static int fail_replacing(struct mpi_test *t, int victim, enum test_kind kind, long n)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    int mine, fired = 0;
    job_new(t, &job, 4);
    job.out = tmpfile();
    job.sys = &test_fault_sys;
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_CACHE_SIZE=3", NULL);
    paths_write_ok(&job, ctx, "x", BOTH, "A", "first");
    paths_write_ok(&job, ctx, "x", BOTH, "B", "second");
    paths_write_ok(&job, ctx, "y", CKPT, "A", "third");
    if (victim < 0 || job.rank == victim)
        test_fault_arm(kind, n, EIO, victim < 0 ? TEST_FOREVER : TEST_ONCE);
    int rc = scr_flush_dataset_all(ctx, 3, &err);
    mine = test_fault_off();
    MPI_Allreduce(&mine, &fired, 1, MPI_INT, MPI_MAX, job.comm);
    CHECK(same_code(&job, rc));
    CHECK(rc != SCR_OK || job_entry(&job, 3, NULL, NULL) == 1);
    check_complete_ones(&job);
    job_kill(&job, ctx);
    ctx = job_start(&job, nodes, "SCR_FLUSH_ON_RESTART=1", NULL);
    check_complete_ones(&job);
    CHECK_ENTRY(&job, 3, COMPLETE, CURRENT);
    job_kill(&job, ctx);
    check_rebuilt_index(&job);
    if (!mpi_test_good(t) && job.rank == 0)
        fprintf(stderr, "call %ld failed on rank %d\n", n, victim);
    fclose(job.out);
    job_free(&job);
    return fired;
}

/* Some of them, fewer where waiting ranks spin on the cores. */
#ifdef MPICH_VERSION
enum { STRIDE = 41 };
#else
enum { STRIDE = 11 };
#endif

MPI_CASE(calls_that_fail_while_one_is_replaced_leave_what_is_complete_right)
{
    int tried = 0;
    for (int victim = -1; victim < 2; victim++)
        for (long n = victim + 1;
             mpi_test_good(t) && fail_replacing(t, victim, TEST_ANY, n); n += STRIDE)
            tried++;
    CHECK(tried >= 4);
    if (t->comm.rank == 0)
        printf("       %d calls failed in turn\n", tried);
}

/* The entry of the first is edited, its summary stays: what comes next removes it. */
MPI_CASE(a_demotion_that_died_is_finished_by_the_next_flush)
{
    long n = 0;
    while (mpi_test_good(t) && fail_replacing(t, 0, TEST_UNLINKAT, n))
        n++;
    CHECK(n >= 2);
}

static int die_in_bypass(struct mpi_test *t, long n)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    job_new(t, &job, 4);
    job.out = fopen("/dev/null", "w");
    job.sys = &test_fault_sys;
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_CACHE_BYPASS=1", NULL);
    paths_write_ok(&job, ctx, "x", CKPT, "A", "first");
    paths_write_ok(&job, ctx, "y", CKPT, "B", "second");
    job_arm(&job, -1, TEST_UNLINKAT, n, EIO, TEST_FOREVER);
    (void)write_at(&job, ctx, "z", CKPT, "A", 0, "third", &err);
    int fired = job_disarm(&job);
    job_kill(&job, ctx);
    check_complete_ones(&job);
    ctx = job_start(&job, nodes, "SCR_CACHE_BYPASS=1", NULL);
    paths_write_ok(&job, ctx, "z", CKPT, "A", "third");
    CHECK_GONE(&job, 1);
    CHECK_ENTRY(&job, 2, COMPLETE, NOT_CURRENT);
    job_kill(&job, ctx);
    fclose(job.out);
    job_free(&job);
    return fired;
}

MPI_CASE(and_by_what_bypasses_the_cache)
{
    long n = 0;
    while (mpi_test_good(t) && die_in_bypass(t, n))
        n++;
    CHECK(n >= 1);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(
            RUN(a_flush_demotes_those_whose_files_it_replaces_and_no_others),
            RUN(neither_names_matter_nor_the_rank_of_a_file),
            RUN(a_flush_that_fails_in_the_copying_leaves_the_older_dataset_complete),
            RUN(an_asynchronous_flush_that_dies_early_leaves_it_complete),
            RUN(one_that_fails_later_does_not),
            RUN(a_start_that_finds_nothing_else_takes_one_that_lacks_only_its_record),
            RUN(but_not_one_with_another_file), RUN(but_not_one_without_a_recorded_crc),
            RUN(but_not_one_whose_directories_cannot_be_synced),
            RUN(a_transient_error_does_not_lead_to_an_older_one),
            RUN(an_output_that_failed_is_not_flushed_over_a_newer_dataset),
            RUN(also_not_when_it_has_to_make_room),
            RUN(also_not_when_a_start_resumes_it),
            RUN(one_that_has_failed_is_written_over),
            RUN(a_global_restart_takes_what_is_newer_on_the_prefix),
            RUN(calls_that_fail_while_one_is_replaced_leave_what_is_complete_right),
            RUN(a_demotion_that_died_is_finished_by_the_next_flush),
            RUN(and_by_what_bypasses_the_cache)));
}
