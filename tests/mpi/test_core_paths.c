/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets whose files go to the same paths on the prefix: whose they are when a flush
 * brings them, whatever the names of the datasets and whichever rank has them. */
/* ranks: 4 */
#include <errno.h>

#include "helper_fault.h"
#include "helper_pfs.h"
#include "helper_prefix.h"
#include "store/arrival.h"
#include "store/wanted.h"
#include "xfer/copy.h"

static const char *const nodes = "n[1-4]";

static const char *const plan_of_1 = ".scr/scr.dataset.1/outgoing.scr";

enum { CKPT = 1, OUTPUT = 2, BOTH = 3 };

/* Newer datasets have replaced all of its files: no record of it is left (P27). */
#define CHECK_GONE(job, id)                                                            \
    do {                                                                               \
        CHECK_ENTRY(job, id, ABSENT, NOT_CURRENT);                                     \
        CHECK(!job_has(job, ".scr/scr.dataset." #id));                                 \
    } while (0)

/* One file a rank, <prefix>/<dir>/f.<rank + shift>, with this text. */
static int write_at(struct job *job, struct scr_ctx *ctx, const char *name, int flags,
                    const char *dir, int shift, const char *text, struct scr_err *err)
{
    char file[900], path[SCR_MAX_NAME] = "";
    int rc = scr_start_output_all(ctx, name, flags, err);
    if (rc != SCR_OK)
        return rc;
    snprintf(file, sizeof file, "%s/%s/f.%d", job->prefix, dir,
             (job->rank + shift) % job->size);
    FILE *f = scr_route(ctx, file, path, err) == SCR_OK ? fopen(path, "w") : NULL;
    int ok = f != NULL && fputs(text, f) >= 0;
    ok = (f == NULL || fclose(f) == 0) && ok;
    return scr_complete_output_all(ctx, ok, err);
}

static void write_ok(struct job *job, struct scr_ctx *ctx, const char *name, int flags,
                     const char *dir, const char *text)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    CHECK_RC(write_at(job, ctx, name, flags, dir, 0, text, &err), SCR_OK, &err);
}

/* 1 on all ranks if all of <dir>/f.* have that text. */
static int all_are(struct job *job, const char *dir, const char *text)
{
    char path[900], got[64] = "";
    int all = 0;
    snprintf(path, sizeof path, "%s/%s/f.%d", job->prefix, dir, job->rank);
    mpi_test_barrier(job->comm);
    FILE *f = fopen(path, "r");
    size_t n = f != NULL ? fread(got, 1, sizeof got - 1, f) : 0;
    if (f != NULL)
        fclose(f);
    int is = n > 0 && strcmp(got, text) == 0;
    MPI_Allreduce(&is, &all, 1, MPI_INT, MPI_MIN, job->comm);
    return all;
}

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
    write_ok(job, ctx, "x", CKPT, "A", "first");
    write_ok(job, ctx, "x", CKPT, "B", "second");
    CHECK_ENTRY(job, 1, COMPLETE, NOT_CURRENT);
    CHECK_ENTRY(job, 2, COMPLETE, CURRENT);
    write_ok(job, ctx, "x", CKPT, "A", "third");
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
    write_ok(job, ctx, "x", CKPT, "A", "first");
    write_ok(job, ctx, "out", OUTPUT, "B", "second");
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
    write_ok(job, ctx, "x", CKPT, "A", "first");
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
    write_ok(&job, ctx, "x", CKPT, "A", "second");
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
    write_ok(&job, ctx, "x", CKPT, "A", "second");
    CHECK(scr_async_wait_all(ctx, 0, &err) != SCR_OK);
    CHECK_ENTRY(&job, 1, INCOMPLETE, NOT_CURRENT);
    CHECK(!job_has(&job, ".scr/scr.dataset.1/summary.scr"));
    job_kill(&job, ctx);
    pfs_reset();
    fclose(job.out);
    job_free(&job);
}

/* --- what lacks nothing but its record --- */

/* The flush dies between its last file and the summary. */
static void die_before_summary(struct mpi_test *t, struct job *job)
{
    struct scr_err err = SCR_ERR_INIT;
    job_new(t, job, 4);
    job->out = fopen("/dev/null", "w");
    pfs_reset();
    job->sys = &pfs_sys;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    pfs_control.fail_path = "summary.scr";
    CHECK_RC(write_at(job, ctx, "x", CKPT, "A", 0, "first", &err), SCR_OK, &err);
    job_kill(job, ctx);
    pfs_reset();
    job_lose_node(job, nodes);
    CHECK_INT(job_entry(job, 1, NULL, NULL), 0);
    CHECK(all_are(job, "A", "first"));
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

/* --- what another job completes while a flush is under way --- */

static struct {
    const char *prefix; /* NULL: nothing happens */
    int id;
} other_job;

static void complete_as_other_job(void)
{
    struct scr_env env = { .sys = &scr_sys_posix };
    struct scr_prefix p = { 0 };
    struct scr_index index = SCR_INDEX_INIT;
    scr_hash *dset = scr_hash_new();
    (void)scr_prefix_open(&env, other_job.prefix, 0, &p, NULL);
    (void)scr_prefix_index_read(&env, &p, &index, NULL);
    (void)scr_index_dataset(&index, other_job.id, dset);
    (void)scr_prefix_summary_write(&env, &p, other_job.id, dset, 1, NULL);
    (void)scr_prefix_index_enter(&env, &p, dset, 1, 1000, NULL);
    scr_hash_delete(dset);
    scr_index_fini(&index);
    scr_prefix_fini(&p);
}

/* As the list is written, which is when the flush has looked whose files it replaces.
 */
static int openat_beside_other(int dirfd, const char *path, int flags, mode_t mode)
{
    if (other_job.prefix != NULL && (flags & O_CREAT) && strstr(path, "rank2file")) {
        complete_as_other_job();
        other_job.prefix = NULL;
    }
    return scr_sys_posix.openat(dirfd, path, flags, mode);
}

static void complete_beside(struct mpi_test *t, const char *how)
{
    struct job job;
    struct scr_sys sys = scr_sys_posix;
    die_before_summary(t, &job);
    sys.openat = openat_beside_other;
    job.sys = &sys;
    struct scr_ctx *ctx =
        job_start(&job, nodes, "SCR_FETCH=0", "SCR_FLUSH=1", how, NULL);
    CHECK_ENTRY(&job, 1, INCOMPLETE, NOT_CURRENT);
    other_job.prefix = job.rank == 0 ? job.prefix : NULL;
    other_job.id = 1;
    write_ok(&job, ctx, "y", CKPT, "A", "second");
    (void)scr_async_wait_all(ctx, 0, NULL);
    CHECK(other_job.prefix == NULL);
    CHECK_GONE(&job, 1);
    CHECK_ENTRY(&job, 2, COMPLETE, CURRENT);
    CHECK(all_are(&job, "A", "second"));
    job_kill(&job, ctx);
    fclose(job.out);
    job_free(&job);
}

MPI_CASE(what_becomes_complete_while_it_is_replaced_is_demoted)
{
    complete_beside(t, "SCR_FLUSH_ASYNC=0");
    complete_beside(t, "SCR_FLUSH_ASYNC=1");
}

/* Dataset 2 lacks its record, and gets it while 1 is flushed. */
static void complete_newer_beside(struct mpi_test *t, const char *how)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_sys sys = scr_sys_posix;
    job_new(t, &job, 4);
    job.out = fopen("/dev/null", "w");
    struct scr_ctx *ctx =
        job_start(&job, nodes, "SCR_FLUSH=0", "SCR_CACHE_SIZE=3", how, NULL);
    write_ok(&job, ctx, "x", CKPT, "A", "first");
    write_ok(&job, ctx, "y", CKPT, "A", "second");
    pfs_reset();
    pfs_control.fail_path = "summary.scr";
    ctx->env.sys = &pfs_sys;
    CHECK(scr_flush_dataset_all(ctx, 2, &err) != SCR_OK);
    scr_err_clear(&err);
    sys.openat = openat_beside_other;
    ctx->env.sys = &sys;
    other_job.prefix = job.rank == 0 ? job.prefix : NULL;
    other_job.id = 2;
    if (strstr(how, "=1") != NULL)
        scr_async_start_all(ctx, 1);
    else
        CHECK_RC(scr_flush_dataset_all(ctx, 1, &err), SCR_E_NEWER, &err);
    CHECK(!scr_async_has(ctx, 1));
    CHECK(!job_has(&job, plan_of_1));
    CHECK_ENTRY(&job, 1, INCOMPLETE, NOT_CURRENT);
    CHECK_ENTRY(&job, 2, COMPLETE, CURRENT);
    CHECK(all_are(&job, "A", "second"));
    ctx->env.sys = &scr_sys_posix;
    job_kill(&job, ctx);
    fclose(job.out);
    job_free(&job);
}

MPI_CASE(what_becomes_complete_and_is_newer_is_not_replaced)
{
    complete_newer_beside(t, "SCR_FLUSH_ASYNC=0");
    complete_newer_beside(t, "SCR_FLUSH_ASYNC=1");
}

/* --- never newer by older (P15) --- */

JOB_CASE(an_output_that_failed_is_not_flushed_over_a_newer_dataset, 4)
{
    struct scr_err err = SCR_ERR_INIT, late = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    block(job, "A", 1);
    CHECK(write_at(job, ctx, "out", OUTPUT, "A", 0, "first", &err) != SCR_OK);
    block(job, "A", 0);
    write_ok(job, ctx, "x", CKPT, "A", "second");
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
    write_ok(job, ctx, "x", CKPT, "A", "second");
    write_ok(job, ctx, "y", CKPT, "B", "third"); /* evicts the first */
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
    write_ok(job, ctx, "x", CKPT, "A", "second");
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
    write_ok(job, ctx, "x", CKPT, "A", "first");
    write_ok(job, ctx, "y", CKPT, "A", "second");
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
    write_ok(job, ctx, "x", CKPT, "A", "first");
    write_ok(job, ctx, "y", CKPT, "A", "second");
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
    write_ok(&job, ctx, "x", BOTH, "A", "first");
    write_ok(&job, ctx, "x", BOTH, "B", "second");
    write_ok(&job, ctx, "y", CKPT, "A", "third");
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
    write_ok(&job, ctx, "x", CKPT, "A", "first");
    write_ok(&job, ctx, "y", CKPT, "B", "second");
    job_arm(&job, -1, TEST_UNLINKAT, n, EIO, TEST_FOREVER);
    (void)write_at(&job, ctx, "z", CKPT, "A", 0, "third", &err);
    int fired = job_disarm(&job);
    job_kill(&job, ctx);
    check_complete_ones(&job);
    ctx = job_start(&job, nodes, "SCR_CACHE_BYPASS=1", NULL);
    write_ok(&job, ctx, "z", CKPT, "A", "third");
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

/* --- flushes under way --- */

/* Rank 0's file of the first is rank 3's of the second. */
JOB_CASE(a_flush_waits_for_the_same_path_of_another_rank, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    pfs_reset();
    job->sys = &pfs_sys;
    pfs_control.slow_us = job->rank == 0 ? 300000 : 0;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", "SCR_FLUSH_ASYNC=1",
                                    "SCR_CACHE_SIZE=3", NULL);
    write_ok(job, ctx, "x", CKPT, "A", "the first");
    CHECK_RC(write_at(job, ctx, "y", CKPT, "A", 1, "second", &err), SCR_OK, &err);
    CHECK(!scr_async_has(ctx, 1));
    CHECK_RC(scr_async_wait_all(ctx, 2, &err), SCR_OK, &err);
    CHECK(all_are(job, "A", "second"));
    CHECK_GONE(job, 1);
    CHECK_ENTRY(job, 2, COMPLETE, CURRENT);
    pfs_control.hold = job->rank == 0;
    write_ok(job, ctx, "z", CKPT, "B", "third");
    write_ok(job, ctx, "w", CKPT, "C", "fourth"); /* others do not wait */
    CHECK(job->rank != 0 || scr_async_has(ctx, 3));
    pfs_control.hold = 0;
    CHECK_RC(scr_async_wait_all(ctx, 0, &err), SCR_OK, &err);
    job_kill(job, ctx);
}

/* --- pending datasets of an earlier run --- */

/* The call that must fail so that dataset 1 does not become complete: its files are
 * written, or not.
 */
static void keep_pending(int written)
{
    pfs_reset();
    pfs_control.fail_path = written ? "summary.scr" : NULL;
    pfs_control.write_error = written ? 0 : ENOSPC;
}

/* A job ends with dataset id of that name and text in A pending, and loses its nodes.
 * The stamp of the plan. */
static uint64_t leave_pending_as(struct job *job, int written, int id, const char *name,
                                 const char *text)
{
    struct mpi_test *t = job->t;
    struct scr_env env = { .sys = &scr_sys_posix };
    struct scr_prefix p = { 0 };
    struct scr_err err = SCR_ERR_INIT;
    uint64_t stamp = 0;
    scr_hash *plan = scr_hash_new();
    keep_pending(written);
    job->sys = &pfs_sys;
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_FLUSH=1", "SCR_FLUSH_ASYNC=1", NULL);
    write_ok(job, ctx, name, CKPT, "A", text);
    CHECK(scr_async_wait_all(ctx, id, &err) != SCR_OK);
    job_kill(job, ctx);
    job_lose_node(job, nodes);
    CHECK_RC(scr_prefix_open(&env, job->prefix, 0, &p, NULL), SCR_OK, &err);
    CHECK_RC(scr_arrival_plan_read(&env, &p, id, plan, NULL), SCR_OK, &err);
    CHECK(scr_hash_get_val_u64(plan, "STAMP", &stamp));
    scr_hash_delete(plan);
    scr_prefix_fini(&p);
    mpi_test_barrier(job->comm);
    return stamp;
}

static uint64_t leave_pending(struct job *job, int written)
{
    return leave_pending_as(job, written, 1, "x", "first");
}

/* Processes that went on with it, on nodes this job has nothing to do with, are
 * through. Where its records have gone theirs have no place. */
static void arrive_late_as(struct job *job, int id, uint64_t stamp)
{
    struct mpi_test *t = job->t;
    struct scr_env env = { .sys = &scr_sys_posix };
    struct scr_prefix p = { 0 };
    struct scr_err err = SCR_ERR_INIT;
    char dir[64];
    snprintf(dir, sizeof dir, ".scr/scr.dataset.%d", id);
    int want = job_has(job, dir) ? SCR_OK : SCR_E_NOENT;
    CHECK_RC(scr_prefix_open(&env, job->prefix, 0, &p, &err), SCR_OK, &err);
    const struct scr_arrival a = { &env, &p, id, job->rank, job->rank };
    CHECK_RC(scr_arrival_arrived(&a, stamp, &err), want, &err);
    scr_err_clear(&err);
    CHECK_RC(scr_arrival_finish(&env, &p, id, job->rank, &err), SCR_OK, &err);
    scr_prefix_fini(&p);
    mpi_test_barrier(job->comm);
}

static void arrive_late(struct job *job, uint64_t stamp)
{
    arrive_late_as(job, 1, stamp);
}

static void write_over_pending(struct mpi_test *t, int written, const char *how)
{
    struct job job;
    job_new(t, &job, 4);
    job.out = fopen("/dev/null", "w");
    uint64_t stamp = leave_pending(&job, written);
    keep_pending(written);
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_FLUSH=1", how, NULL);
    pfs_reset();
    write_ok(&job, ctx, "y", CKPT, "B", "second");
    (void)scr_async_wait_all(ctx, 0, NULL);
    CHECK(written || job_has(&job, plan_of_1)); /* else it may be complete now */
    write_ok(&job, ctx, "z", CKPT, "A", "third");
    (void)scr_async_wait_all(ctx, 0, NULL);
    CHECK(!job_has(&job, plan_of_1));
    arrive_late(&job, stamp);
    CHECK_GONE(&job, 1);
    CHECK_ENTRY(&job, 2, COMPLETE, NOT_CURRENT);
    CHECK_ENTRY(&job, 3, COMPLETE, CURRENT);
    CHECK(all_are(&job, "A", "third") && all_are(&job, "B", "second"));
    job_kill(&job, ctx);
    fclose(job.out);
    job_free(&job);
}

/* Neither when none of its files are there yet, nor when it lacks but the summary. */
MPI_CASE(a_pending_one_never_becomes_complete_over_a_newer_one)
{
    for (int written = 0; written < 2; written++) {
        write_over_pending(t, written, "SCR_FLUSH_ASYNC=0");
        write_over_pending(t, written, "SCR_FLUSH_ASYNC=1");
        write_over_pending(t, written, "SCR_CACHE_BYPASS=1");
    }
}

/* Its files are not known. */
static void damage_list(struct mpi_test *t, const struct job *job, int gone)
{
    char path[900];
    snprintf(path, sizeof path, "%s/.scr/scr.dataset.1/rank2file%s", job->prefix,
             gone ? "" : ".0.0");
    mpi_test_barrier(job->comm);
    if (job->rank == 0)
        CHECK_INT(gone ? unlink(path) : truncate(path, 40), 0);
    mpi_test_barrier(job->comm);
}

static void write_beside_damaged(struct mpi_test *t, int gone, const char *how)
{
    struct job job;
    job_new(t, &job, 4);
    job.out = fopen("/dev/null", "w");
    uint64_t stamp = leave_pending(&job, 0);
    damage_list(t, &job, gone);
    pfs_reset();
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_FLUSH=1", how, NULL);
    write_ok(&job, ctx, "z", CKPT, "A", "second");
    (void)scr_async_wait_all(ctx, 0, NULL);
    CHECK(!job_has(&job, plan_of_1));
    arrive_late(&job, stamp);
    CHECK_ENTRY(&job, 1, INCOMPLETE, NOT_CURRENT);
    CHECK_ENTRY(&job, 2, COMPLETE, CURRENT);
    CHECK(all_are(&job, "A", "second"));
    job_kill(&job, ctx);
    fclose(job.out);
    job_free(&job);
}

MPI_CASE(a_pending_one_whose_list_is_damaged_never_becomes_complete)
{
    for (int gone = 0; gone < 2; gone++) {
        write_beside_damaged(t, gone, "SCR_FLUSH_ASYNC=0");
        write_beside_damaged(t, gone, "SCR_FLUSH_ASYNC=1");
        write_beside_damaged(t, gone, "SCR_CACHE_BYPASS=1");
    }
}

/* This rank's file, as the copying process leaves it. */
static void put_file(struct job *job, const char *dir, const char *text)
{
    char path[900];
    snprintf(path, sizeof path, "%s/%s", job->prefix, dir);
    (void)mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/%s/f.%d", job->prefix, dir, job->rank);
    FILE *f = fopen(path, "w");
    int ok = f != NULL && fputs(text, f) >= 0;
    ok = (f == NULL || fclose(f) == 0) && ok;
    if (!ok)
        mpi_test_fail(job->t, __FILE__, __LINE__, "cannot write %s", path);
    mpi_test_barrier(job->comm);
}

/* By name, or as it is newer than the one a run goes back to. */
static void drop_pending(struct mpi_test *t, int by_name)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    job_new(t, &job, 4);
    job.out = fopen("/dev/null", "w");
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_FLUSH=1", NULL);
    write_ok(&job, ctx, "x", CKPT, "B", "first");
    job_kill(&job, ctx);
    uint64_t stamp = leave_pending_as(&job, 0, 2, "y", "second");
    pfs_reset();
    ctx = job_start(&job, nodes, "SCR_DROP_AFTER_CURRENT=1", NULL);
    CHECK_ENTRY(&job, 2, INCOMPLETE, NOT_CURRENT);
    if (by_name)
        CHECK_RC(scr_drop_all(ctx, "y", &err), SCR_OK, &err);
    else
        CHECK_RC(scr_current_all(ctx, "x", &err), SCR_OK, &err);
    put_file(&job, "A", "second");
    arrive_late_as(&job, 2, stamp);
    CHECK_ENTRY(&job, 1, COMPLETE, CURRENT);
    CHECK_ENTRY(&job, 2, ABSENT, NOT_CURRENT);
    CHECK(!job_has(&job, ".scr/scr.dataset.2/summary.scr"));
    job_kill(&job, ctx);
    fclose(job.out);
    job_free(&job);
}

MPI_CASE(one_that_was_dropped_never_becomes_complete)
{
    drop_pending(t, 0);
    drop_pending(t, 1);
}

JOB_CASE(a_pending_one_whose_paths_are_its_own_becomes_complete, 4)
{
    job->out = fopen("/dev/null", "w");
    uint64_t stamp = leave_pending(job, 0);
    pfs_reset();
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    write_ok(job, ctx, "y", CKPT, "B", "second");
    arrive_late(job, stamp);
    CHECK_ENTRY(job, 1, COMPLETE, NOT_CURRENT);
    CHECK_ENTRY(job, 2, COMPLETE, CURRENT);
    job_kill(job, ctx);
    fclose(job->out);
}

/* A deletion of what is pending, with all files there, dies as it removes a file. 1: it
 * had not come so far. */
static int die_in_deletion(struct mpi_test *t, long n)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    job_new(t, &job, 4);
    job.out = fopen("/dev/null", "w");
    uint64_t stamp = leave_pending(&job, 0);
    put_file(&job, "A", "first");
    job.sys = &test_fault_sys;
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_FLUSH=1", "SCR_FETCH=0", NULL);
    job_arm(&job, -1, TEST_UNLINKAT, n, EIO, TEST_FOREVER);
    int rc = scr_delete_all(ctx, "x", &err);
    int fired = job_disarm(&job);
    job_kill(&job, ctx);
    CHECK(fired ? rc != SCR_OK : rc == SCR_OK);
    if (rc != SCR_OK)
        arrive_late(&job, stamp);
    CHECK(job_entry(&job, 1, NULL, NULL) != 1 || all_are(&job, "A", "first"));
    fclose(job.out);
    job_free(&job);
    return fired;
}

MPI_CASE(a_pending_one_whose_deletion_died_does_not_become_complete)
{
    long n = 0;
    while (die_in_deletion(t, n))
        n++;
    CHECK(n > 2); /* the plan goes first, then files */
}

/* Of dataset 2 nothing is in place yet, but dataset 1, whose files it is to replace,
 * has lost its mark; a process far from this job is about to rename the first. */
JOB_CASE(a_pending_one_replaces_nothing_of_what_a_start_makes_complete, 4)
{
    struct scr_env env = { .sys = &scr_sys_posix };
    struct scr_prefix p = { 0 };
    struct scr_err err = SCR_ERR_INIT;
    struct scr_wanted far;
    job->out = fopen("/dev/null", "w");
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    write_ok(job, ctx, "x", CKPT, "A", "first");
    job_kill(job, ctx);
    uint64_t stamp = leave_pending_as(job, 0, 2, "y", "second");
    pfs_reset();
    scr_wanted_init(&far);
    CHECK_RC(scr_prefix_open(&env, job->prefix, 0, &p, &err), SCR_OK, &err);
    CHECK_RC(scr_wanted_check(&far, &env, &p, 2, stamp, &err), SCR_OK, &err);
    CHECK_ENTRY(job, 1, INCOMPLETE, NOT_CURRENT);
    ctx = job_start(job, nodes, NULL);
    CHECK_INT(job_offered(job, ctx), 1);
    CHECK_ENTRY(job, 1, COMPLETE, CURRENT);
    CHECK_RC(scr_wanted_check(&far, &env, &p, 2, stamp, &err), SCR_E_MISSING, &err);
    CHECK(!job_has(job, ".scr/scr.dataset.2/outgoing.scr"));
    scr_wanted_fini(&far);
    scr_prefix_fini(&p);
    job_kill(job, ctx);
    fclose(job->out);
}

/* --- a list that a newer version wrote --- */

enum { THIS_VERSION = 1 };

/* It is in the header of a part of dataset 1's list. */
static void set_version(struct job *job, const char *part, int version)
{
    char path[900];
    snprintf(path, sizeof path, "%s/.scr/scr.dataset.1/%s", job->prefix, part);
    job_set_version(job, path, version);
}

static void write_beside_newer(struct mpi_test *t, const char *part, const char *how)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    job_new(t, &job, 4);
    job.out = tmpfile();
    struct scr_ctx *ctx =
        job_start(&job, nodes, "SCR_FLUSH=1", "SCR_CACHE_SIZE=3", how, NULL);
    write_ok(&job, ctx, "x", CKPT, "A", "first");
    CHECK_RC(scr_async_wait_all(ctx, 0, &err), SCR_OK, &err);
    set_version(&job, part, JOB_NEWER_VERSION);
    write_ok(&job, ctx, "y", CKPT, "B", "second"); /* replaces nothing */
    (void)write_at(&job, ctx, "z", CKPT, "A", 0, "third", &err);
    (void)scr_async_wait_all(ctx, 0, NULL);
    CHECK_ENTRY(&job, 1, COMPLETE, NOT_CURRENT);
    CHECK_ENTRY(&job, 2, COMPLETE, CURRENT);
    CHECK(job_entry(&job, 3, NULL, NULL) != 1);
    CHECK(all_are(&job, "A", "first") && all_are(&job, "B", "second"));
    int bypasses = strstr(how, "BYPASS") != NULL;
    CHECK(bypasses || job_said(&job, "whose list is of a newer version") > 0);
    set_version(&job, part, THIS_VERSION);
    if (bypasses) { /* the program writes it again */
        write_ok(&job, ctx, "z", CKPT, "A", "third");
    } else {
        scr_err_clear(&err);
        CHECK_RC(scr_flush_dataset_all(ctx, 3, &err), SCR_OK, &err);
    }
    CHECK_GONE(&job, 1);
    CHECK(all_are(&job, "A", "third"));
    job_kill(&job, ctx);
    fclose(job.out);
    job_free(&job);
}

MPI_CASE(nothing_is_replaced_that_a_newer_version_may_list)
{
    write_beside_newer(t, "rank2file", "SCR_FLUSH_ASYNC=0");
    write_beside_newer(t, "rank2file.0.0", "SCR_FLUSH_ASYNC=1");
    write_beside_newer(t, "rank2file.0.0", "SCR_CACHE_BYPASS=1");
}

/* --- deletion --- */

JOB_CASE(deletion_spares_the_paths_of_other_ranks_files, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_FLUSH=1", "SCR_CACHE_SIZE=3", NULL);
    write_ok(job, ctx, "x", CKPT, "A", "first");
    CHECK_RC(write_at(job, ctx, "y", CKPT, "A", 2, "second", &err), SCR_OK, &err);
    write_ok(job, ctx, "z", CKPT, "B", "third");
    CHECK_RC(scr_delete_all(ctx, "x", &err), SCR_OK, &err);
    CHECK(all_are(job, "A", "second") && all_are(job, "B", "third"));
    CHECK_RC(scr_delete_all(ctx, "y", &err), SCR_OK, &err);
    CHECK(!job_has(job, "A") && all_are(job, "B", "third"));
    CHECK_ENTRY(job, 3, COMPLETE, CURRENT);
    job_kill(job, ctx);
}

/* Dataset 2, whose files are at the paths of dataset 1, is on its way, and 1 is deleted
 * by a job that has nothing to do with it. */
static struct scr_ctx *start_beside(struct mpi_test *t, struct job *job)
{
    job_new(t, job, 4);
    job->out = fopen("/dev/null", "w");
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    write_ok(job, ctx, "x", CKPT, "A", "first");
    return ctx;
}

MPI_CASE(deletion_spares_what_a_transfer_of_another_job_has_brought)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    job_kill(&job, start_beside(t, &job));
    uint64_t stamp = leave_pending_as(&job, 0, 2, "y", "second");
    put_file(&job, "A", "second");
    pfs_reset();
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_FETCH=0", NULL);
    CHECK_RC(scr_delete_all(ctx, "x", &err), SCR_OK, &err);
    CHECK_ENTRY(&job, 1, ABSENT, NOT_CURRENT);
    CHECK(all_are(&job, "A", "second"));
    arrive_late_as(&job, 2, stamp);
    CHECK_ENTRY(&job, 2, COMPLETE, CURRENT);
    job_kill(&job, ctx);
    fclose(job.out);
    job_free(&job);
}

/* As a job leaves it that dies while it waits for its flush. */
static int mark_flushing(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    (void)arg, (void)err;
    *changed = 1;
    return scr_flush_set_location(h, 2, SCR_LOC_SYNC_FLUSHING, 1);
}

MPI_CASE(deletion_spares_what_a_flush_of_another_job_has_brought)
{
    struct job job;
    struct scr_env env = { .sys = &scr_sys_posix };
    struct scr_prefix p = { 0 };
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = start_beside(t, &job);
    pfs_reset();
    pfs_control.fail_path = "summary.scr";
    ctx->env.sys = &pfs_sys;
    CHECK_RC(write_at(&job, ctx, "y", CKPT, "A", 0, "second", &err), SCR_OK, &err);
    job_kill(&job, ctx);
    job_lose_node(&job, nodes);
    ctx = job_start(&job, nodes, "SCR_FETCH=0", NULL);
    CHECK_RC(scr_prefix_open(&env, job.prefix, 0, &p, &err), SCR_OK, &err);
    for (int marked = 1; marked >= 0; marked--) {
        if (marked && job.rank == 0)
            CHECK_RC(scr_prefix_state_update(&env, &p, "flush.scr", mark_flushing, NULL,
                                             &err),
                     SCR_OK, &err);
        mpi_test_barrier(job.comm);
        CHECK_ENTRY(&job, 2, INCOMPLETE, NOT_CURRENT);
        CHECK_RC(scr_delete_all(ctx, marked ? "x" : "y", &err), SCR_OK, &err);
        CHECK(marked ? all_are(&job, "A", "second") : !job_has(&job, "A"));
    }
    scr_prefix_fini(&p);
    job_kill(&job, ctx);
    fclose(job.out);
    job_free(&job);
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
            RUN(what_becomes_complete_while_it_is_replaced_is_demoted),
            RUN(what_becomes_complete_and_is_newer_is_not_replaced),
            RUN(an_output_that_failed_is_not_flushed_over_a_newer_dataset),
            RUN(also_not_when_it_has_to_make_room),
            RUN(also_not_when_a_start_resumes_it),
            RUN(one_that_has_failed_is_written_over),
            RUN(a_global_restart_takes_what_is_newer_on_the_prefix),
            RUN(calls_that_fail_while_one_is_replaced_leave_what_is_complete_right),
            RUN(a_demotion_that_died_is_finished_by_the_next_flush),
            RUN(and_by_what_bypasses_the_cache),
            RUN(a_flush_waits_for_the_same_path_of_another_rank),
            RUN(a_pending_one_never_becomes_complete_over_a_newer_one),
            RUN(a_pending_one_whose_list_is_damaged_never_becomes_complete),
            RUN(one_that_was_dropped_never_becomes_complete),
            RUN(a_pending_one_whose_paths_are_its_own_becomes_complete),
            RUN(a_pending_one_whose_deletion_died_does_not_become_complete),
            RUN(a_pending_one_replaces_nothing_of_what_a_start_makes_complete),
            RUN(nothing_is_replaced_that_a_newer_version_may_list),
            RUN(deletion_spares_the_paths_of_other_ranks_files),
            RUN(deletion_spares_what_a_transfer_of_another_job_has_brought),
            RUN(deletion_spares_what_a_flush_of_another_job_has_brought)));
}
