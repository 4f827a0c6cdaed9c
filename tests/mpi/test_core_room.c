/* SPDX-License-Identifier: BSD-3-Clause */
/* Which checkpoints leave the cache for the next, and when: not before all ranks have
 * begun it (invariant C10), by default not before it is protected, and a strong one not
 * for a weak one (invariant C11). */
/* ranks: 4 */
#include <errno.h>
#include <linux/magic.h>

#include "base/str.h"
#include "helper_async.h"
#include "helper_fault.h"
#include "helper_held.h"
#include "helper_job.h"
#include "helper_pfs.h"
#include "helper_prefix.h"
#include "helper_stored.h"
#include "par/pfs/flush_async.h"

#define AUTOMATIC "SCR_CACHE_SIZE=-1"
#define ONE       "SCR_CACHE_SIZE=1"

/* --- calls that fail on one rank --- */

static struct {
    struct scr_sys sys;
    const char *part; /* of a path: its calls fail; NULL: all work */
    int error;
    int64_t room; /* bytes that are free, -1: as it is */
    int held;     /* deleted files that were open when a redundancy file was opened */
} node;

static int refuses(const char *path)
{
    int yes = node.part != NULL && strstr(path, node.part) != NULL;
    errno = yes ? node.error : errno;
    return yes;
}

static int node_mkdirat(int at, const char *path, mode_t mode)
{
    return refuses(path) ? -1 : scr_sys_posix.mkdirat(at, path, mode);
}

static int node_unlinkat(int at, const char *path, int flags)
{
    return refuses(path) ? -1 : scr_sys_posix.unlinkat(at, path, flags);
}

static int node_statvfs(const char *path, struct statvfs *st)
{
    int rc = scr_sys_posix.statvfs(path, st);
    if (node.room >= 0) {
        st->f_frsize = 1;
        st->f_bavail = (fsblkcnt_t)node.room;
    }
    return rc;
}

/* Wherever the test has its cache. */
static int in_memory(int fd, struct statfs *st)
{
    int rc = scr_sys_posix.fstatfs(fd, st);
    st->f_type = TMPFS_MAGIC;
    return rc;
}

static int note_held(int at, const char *path, int flags, mode_t mode)
{
    if ((flags & O_CREAT) != 0 && strstr(path, ".xor") != NULL)
        node.held = test_held_deleted("/scr.dataset.");
    return pfs_sys.openat(at, path, flags, mode);
}

static struct scr_ctx *begin(struct mpi_test *t, struct job *job, const char *size)
{
    job_new(t, job, 4);
    node.sys = scr_sys_posix;
    node.sys.mkdirat = node_mkdirat;
    node.sys.unlinkat = node_unlinkat;
    node.sys.statvfs = node_statvfs;
    node.sys.fstatfs = in_memory;
    node.part = NULL;
    node.room = -1;
    job->sys = &node.sys;
    job->out = tmpfile();
    struct scr_ctx *ctx = job_start(job, nodes, size, NULL);
    job_checkpoint(job, ctx, "one", 1);
    return ctx;
}

static void end(struct job *job, struct scr_ctx *ctx)
{
    job_kill(job, ctx);
    fclose(job->out);
    job_free(job);
}

static void fail_on(const struct job *job, int rank, const char *part, int error)
{
    node.part = job->rank == rank ? part : NULL;
    node.error = error;
}

/* The run dies, and with it the node n2; the checkpoint the next one continues from. */
static struct scr_ctx *die(struct job *job, struct scr_ctx *ctx, const char *size,
                           const char *name, int seed)
{
    job_kill(job, ctx);
    node.part = NULL;
    node.room = -1;
    job_lose_node(job, "n2");
    ctx = job_start(job, nodes, size, NULL);
    job_check_restart(job, ctx, name, seed);
    return ctx;
}

/* --- the old one stays --- */

MPI_CASE(the_old_one_stays_until_the_new_one_is_protected)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = begin(t, &job, AUTOMATIC);
    CHECK_RC(scr_start_output_all(ctx, "two", SCR_IS_CKPT, &err), SCR_OK, &err);
    CHECK(scr_cache_is_ready(ctx, 1));
    job_check_restart(&job, ctx, "one", 1);
    ctx = die(&job, ctx, AUTOMATIC, "one", 1);
    job_checkpoint(&job, ctx, "two", 2);
    CHECK(!scr_cache_has(ctx, 1));
    CHECK(scr_cache_is_ready(ctx, 3));
    CHECK_INT(job_said(&job, "no checkpoint is in cache"), 0);
    end(&job, die(&job, ctx, AUTOMATIC, "two", 2));
}

static void invalid_on_one(struct mpi_test *t, int last)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = begin(t, &job, AUTOMATIC);
    for (int i = 0; i < last; i++) {
        CHECK_RC(scr_start_output_all(ctx, "two", SCR_IS_CKPT, &err), SCR_OK, &err);
        CHECK_RC(scr_complete_output_all(ctx, job.rank != 1, &err), SCR_E_INVALID,
                 &err);
        scr_err_clear(&err);
        CHECK(scr_cache_is_ready(ctx, 1));
    }
    end(&job, die(&job, ctx, AUTOMATIC, "one", 1));
}

MPI_CASE(one_that_was_not_valid_does_not_cost_it)
{
    invalid_on_one(t, 1);
    invalid_on_one(t, 3);
}

/* Full or read-only, whatever the user has set: SCR_Start_output fails on all ranks. */
MPI_CASE(a_directory_that_cannot_be_made_on_one_node_does_not_cost_it)
{
    static const char *const size[] = { AUTOMATIC, ONE };
    static const int error[] = { EROFS, ENOSPC };
    for (int i = 0; i < 4; i++) {
        struct job job;
        struct scr_err err = SCR_ERR_INIT;
        struct scr_ctx *ctx = begin(t, &job, size[i / 2]);
        fail_on(&job, 2, "scr.dataset.2", error[i % 2]);
        int rc = job_write(&job, ctx, "two", 2, SCR_IS_CKPT, &err);
        CHECK(rc != SCR_OK && job_same_code(&job, rc));
        CHECK(scr_cache_is_ready(ctx, 1));
        end(&job, die(&job, ctx, size[i / 2], "one", 1));
    }
}

/* --- one that cannot be deleted --- */

MPI_CASE(where_one_node_cannot_delete_none_does)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = begin(t, &job, ONE);
    scr_hash *before = job_cached(&job, 1);
    fail_on(&job, 2, "scr.dataset.1", EROFS);
    CHECK_RC(scr_start_output_all(ctx, "two", SCR_IS_CKPT, &err), SCR_OK, &err);
    CHECK(scr_cache_is_ready(ctx, 1));
    CHECK_INT(job_said(&job, "one (dataset 1) stays whole in cache"), 1);
    scr_hash *now = job_cached(&job, 1);
    CHECK(job_has_kept(&job, before, NULL, now));
    scr_hash_delete(before);
    scr_hash_delete(now);
    ctx = die(&job, ctx, ONE, "one", 1);
    fail_on(&job, 2, "scr.dataset.1", EROFS);
    job_checkpoint(&job, ctx, "two", 2);
    CHECK(scr_cache_is_ready(ctx, 1));
    node.part = NULL;
    job_checkpoint(&job, ctx, "three", 3);
    CHECK(!scr_cache_has(ctx, 1));
    CHECK_INT(job_said(&job, "one (dataset 1) stays whole in cache"), 2); /* runs */
    end(&job, die(&job, ctx, ONE, "three", 3));
}

MPI_CASE(one_that_cannot_be_deleted_needs_room_for_both)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = begin(t, &job, ONE);
    fail_on(&job, 2, "scr.dataset.1", EROFS);
    node.room = job.rank == 0 ? 0 : -1;
    CHECK_RC(scr_start_output_all(ctx, "two", SCR_IS_CKPT, &err), SCR_E_FULL, &err);
    CHECK(strstr(err.text, "one (dataset 1), which cannot be deleted") != NULL);
    CHECK(scr_cache_is_ready(ctx, 1));
    end(&job, die(&job, ctx, ONE, "one", 1));
}

/* --- where there is no room for both --- */

MPI_CASE(without_room_on_one_node_the_old_one_goes_before)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = begin(t, &job, AUTOMATIC);
    node.room = job.rank == 2 ? 0 : -1;
    for (int i = 2; i <= 3; i++) {
        CHECK_RC(scr_start_output_all(ctx, NULL, SCR_IS_CKPT, &err), SCR_OK, &err);
        CHECK(!scr_cache_has(ctx, i - 1));
        CHECK_INT(job_said(&job, "as there is no room for two: "), 1);
        CHECK_INT(job_said(&job, " on n3 has 0 B free, a checkpoint takes about "), 1);
        char file[900], path[SCR_MAX_NAME];
        snprintf(file, sizeof file, "%s/f.%d", job.prefix, job.rank);
        CHECK_RC(scr_route(ctx, file, path, &err), SCR_OK, &err);
        FILE *f = fopen(path, "w");
        CHECK(f != NULL && fputs("x", f) >= 0 && fclose(f) == 0);
        CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_OK, &err);
    }
    end(&job, ctx);
}

MPI_CASE(with_a_number_set_it_goes_before_and_that_is_reported_once)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = begin(t, &job, ONE);
    job_checkpoint(&job, ctx, "two", 2);
    CHECK_RC(scr_start_output_all(ctx, "three", SCR_IS_CKPT, &err), SCR_OK, &err);
    CHECK(!scr_cache_has(ctx, 2));
    CHECK_INT(job_said(&job, "no checkpoint is in cache from SCR_Start_output"), 1);
    CHECK_INT(job_said(&job, "to 2, or leave it out"), 1);
    end(&job, ctx);
}

static long growing(int rank, int file, int seed)
{
    (void)rank;
    return file == 0 ? 100000L * seed : -1;
}

/* There is room for one more of the size of the last, but not of this: it fails, and
 * the next time it is not begun while the old one is in cache. */
MPI_CASE(one_that_outgrew_the_room_does_not_fail_for_ever)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = begin(t, &job, AUTOMATIC);
    job.size_of = growing;
    job_checkpoint(&job, ctx, "one", 1);
    node.room = 1 << 20;
    CHECK_RC(scr_start_output_all(ctx, "two", SCR_IS_CKPT, &err), SCR_OK, &err);
    CHECK(scr_cache_is_ready(ctx, 2));
    char file[900], path[SCR_MAX_NAME], bytes[1000] = "";
    snprintf(file, sizeof file, "%s/f.%d", job.prefix, job.rank);
    CHECK_RC(scr_route(ctx, file, path, &err), SCR_OK, &err);
    FILE *f = fopen(path, "w");
    for (int i = 0; f != NULL && i < 200; i++)
        CHECK(fwrite(bytes, sizeof bytes, 1, f) == 1);
    CHECK(f != NULL && fclose(f) == 0);
    CHECK_RC(scr_complete_output_all(ctx, 0, &err), SCR_E_INVALID, &err);
    scr_err_clear(&err);
    CHECK(scr_cache_is_ready(ctx, 2));
    job_checkpoint(&job, ctx, "two", 2);
    CHECK_INT(job_said(&job, "as there is no room for two: "), 1);
    job_checkpoint(&job, ctx, "three", 1); /* as small as the first were */
    CHECK_INT(job_said(&job, "as there is no room for two: "), 1);
    end(&job, ctx);
}

/* --- redundancy files are used again --- */

/* Inode of this rank's redundancy file of dataset id. */
static ino_t inode_of(struct job *job, int id)
{
    struct stat st = { 0 };
    int n = 0;
    char *dir = scr_asprintf("%s/vnode.n%d", job->cache, job->rank + 1);
    char *part = scr_asprintf("scr.dataset.%d/.scr/", id);
    char **paths = job_find(dir, part, &n);
    if (n > 0)
        stat(paths[0], &st);
    job_find_free(paths, n);
    free(part);
    free(dir);
    return st.st_ino;
}

MPI_CASE(the_redundancy_file_of_one_is_that_of_the_next_but_one)
{
    struct job job;
    struct scr_ctx *ctx = begin(t, &job, AUTOMATIC);
    ino_t first = inode_of(&job, 1);
    job_checkpoint(&job, ctx, "two", 2);
    ino_t second = inode_of(&job, 2);
    job_checkpoint(&job, ctx, "three", 3);
    CHECK(first != second);
    CHECK_INT(inode_of(&job, 3), first);
    job_checkpoint(&job, ctx, "four", 4);
    CHECK_INT(inode_of(&job, 4), second);
    job_end(&job, ctx); /* which keeps none */
    CHECK_INT(job_count(&job, job.cache, "/scr.dataset.5"), 0);
    ctx = job_start(&job, nodes, AUTOMATIC, NULL);
    job_check_restart(&job, ctx, "four", 4);
    end(&job, ctx);
}

/* --- a thread gives back what files took --- */

static void begin_large(struct job *job, struct scr_ctx *ctx, const char *name,
                        int flags)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    char path[SCR_MAX_NAME];
    char *own = scr_asprintf("%s/%s.%d", job->prefix, name, job->rank);
    CHECK_RC(scr_start_output_all(ctx, name, flags, &err), SCR_OK, &err);
    CHECK_INT(test_held_deleted("/scr.dataset."), 0);
    CHECK_INT(ctx->cache.release.n, 0);
    CHECK_RC(scr_route(ctx, own, path, &err), SCR_OK, &err);
    FILE *f = fopen(path, "wb");
    CHECK(f != NULL && ftruncate(fileno(f), 1 << 20) == 0 && fclose(f) == 0);
    free(own);
}

static void large(struct job *job, struct scr_ctx *ctx, const char *name, int flags)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    begin_large(job, ctx, name, flags);
    CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_OK, &err);
}

MPI_CASE(the_room_of_one_is_back_before_the_next_is_written)
{
    struct job job;
    struct scr_ctx *ctx = begin(t, &job, AUTOMATIC);
    large(&job, ctx, "two", SCR_IS_CKPT);
    CHECK_INT(ctx->cache.release.n, 0); /* files of a few bytes left */
    large(&job, ctx, "three", SCR_IS_CKPT);
    CHECK_INT(ctx->cache.release.n, 1);
    large(&job, ctx, "four", SCR_IS_CKPT);
    job_end(&job, ctx);
    CHECK_INT(test_held_deleted("/scr.dataset."), 0);
    ctx = job_start(&job, nodes, ONE, NULL);
    large(&job, ctx, "five", SCR_IS_CKPT); /* "four" leaves before it */
    CHECK_INT(ctx->cache.release.n, 0);
    end(&job, ctx);
}

/* Output that was copied meanwhile leaves the cache in the call that encodes. */
JOB_CASE(the_room_of_output_is_back_before_the_encode, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    pfs_reset();
    node.held = -1;
    node.sys = pfs_sys;
    node.sys.fstatfs = in_memory;
    node.sys.openat = note_held;
    job->sys = &node.sys;
    pfs_control.hold = 1;
    struct scr_ctx *ctx = job_start(job, nodes, AUTOMATIC, "SCR_FLUSH_ASYNC=1", NULL);
    large(job, ctx, "out", SCR_IS_OUTPUT);
    CHECK(scr_cache_has(ctx, 1));
    begin_large(job, ctx, "one", SCR_IS_CKPT);
    pfs_control.hold = 0;
    for (int i = 0; i < MPI_TEST_PATIENCE_MS &&
                    scr_flush_poll_all(ctx->flusher.flush[0]) == SCR_XFER_RUNNING;
         i++)
        usleep(1000);
    CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_OK, &err);
    CHECK(!scr_cache_has(ctx, 1));
    CHECK_INT(node.held, 0);
    job_end(job, ctx);
}

/* --- flushes --- */

JOB_CASE(one_that_is_being_flushed_leaves_when_that_is_done, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    pfs_reset();
    job->sys = &pfs_sys;
    pfs_control.hold = 1;
    struct scr_ctx *ctx =
        job_start(job, nodes, AUTOMATIC, "SCR_FLUSH_ASYNC=1", "SCR_FLUSH=1", NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_checkpoint(job, ctx, "two", 2);
    CHECK(scr_cache_is_ready(ctx, 1));
    CHECK(scr_cache_is_ready(ctx, 2));
    pfs_control.hold = 0;
    CHECK_RC(scr_async_wait_all(ctx, 1, &err), SCR_OK, &err);
    job_checkpoint(job, ctx, "three", 3);
    CHECK(!scr_cache_has(ctx, 1));
    CHECK_ENTRY(job, 1, COMPLETE, NOT_CURRENT);
    job_end(job, ctx);
    job_check_prefix(job, nodes, "three", 3);
}

/* --- strong and weak ones --- */

/* The first n checkpoints, then a lost node: which is there then. */
static void survive(struct mpi_test *t, const char *const *settings, int n, int left)
{
    struct job job;
    struct scr_ctx *ctx;
    struct scr_err err = SCR_ERR_INIT;
    char name[16];
    job_new(t, &job, 4);
    job.out = tmpfile();
    CHECK_RC(job_try_start(&job, &ctx, &err, nodes, settings), SCR_OK, &err);
    for (int i = 1; i <= n; i++) {
        snprintf(name, sizeof name, "d%d", i);
        job_checkpoint(&job, ctx, name, i);
    }
    snprintf(name, sizeof name, "d%d", left);
    end(&job, die(&job, ctx, AUTOMATIC, name, left));
}

#define WEAK   "CKPT=0 INTERVAL=1 TYPE=SINGLE"
#define STRONG "CKPT=1 INTERVAL=3 TYPE=XOR"

MPI_CASE(a_weak_one_does_not_drive_out_a_strong_one)
{
    static const char *const two[] = { "SCR_COPY_TYPE=FILE", WEAK, STRONG,
                                       "SCR_CACHE_SIZE=2", NULL };
    static const char *const line[] = { "SCR_COPY_TYPE=FILE",
                                        "CKPT=0 INTERVAL=1 TYPE=SINGLE COUNT=1", STRONG,
                                        "SCR_CACHE_SIZE=2", NULL };
    static const char *const automatic[] = { "SCR_COPY_TYPE=FILE", WEAK, STRONG,
                                             AUTOMATIC, NULL };
    for (int n = 3; n <= 6; n++) {
        survive(t, two, n, n < 6 ? 3 : 6);
        survive(t, line, n, n < 6 ? 3 : 6);
        survive(t, automatic, n, n < 6 ? 3 : 6);
    }
}

/* The copies in the configuration of the guide's chapter. */
static int read_guide(char lines[][200], int most)
{
    FILE *f = fopen(SCR_SOURCE_DIR "/doc/guide/migrate-fti.md", "r");
    int n = 0;
    while (f != NULL && n < most && fgets(lines[n], 200, f) != NULL) {
        lines[n][strcspn(lines[n], "\n")] = '\0';
        n += strncmp(lines[n], "CKPT=", 5) == 0 || strncmp(lines[n], "SCR_C", 5) == 0;
    }
    if (f != NULL)
        fclose(f);
    return n;
}

MPI_CASE(levels_as_the_guide_has_them_survive_a_lost_node)
{
    char lines[8][200];
    const char *settings[10] = { AUTOMATIC };
    int n = read_guide(lines, 8);
    CHECK(n >= 4);
    for (int i = 0; i < n; i++)
        settings[i + 1] = lines[i];
    survive(t, settings, 2, 2);
    survive(t, settings, 3, 3);
    survive(t, settings, 5, 4);
    survive(t, settings, 7, 6);
}

/* How often Init warns that lines share a store that holds too few. */
static void warned(struct mpi_test *t, const char *size, int times)
{
    struct job job;
    job_new(t, &job, 4);
    job.out = tmpfile();
    struct scr_ctx *ctx =
        job_start(&job, nodes, "SCR_COPY_TYPE=FILE", WEAK, STRONG, size, NULL);
    CHECK_INT(job_said(&job, "2 CKPT lines share"), times);
    end(&job, ctx);
}

MPI_CASE(lines_that_share_a_store_too_small_are_reported)
{
    warned(t, ONE, 1);
    warned(t, "SCR_CACHE_SIZE=2", 0);
    warned(t, AUTOMATIC, 0);
}

/* --- calls that fail --- */

#ifdef MPICH_VERSION
enum { STEP = 7 };
#else
enum { STEP = 2 };
#endif

static int fail_call(struct mpi_test *t, int kind, long n, enum test_how how)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    job_new(t, &job, 4);
    job.sys = &test_fault_sys;
    job.out = fopen("/dev/null", "w");
    struct scr_ctx *ctx = job_start(&job, nodes, AUTOMATIC, NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_arm(&job, 1, kind, n, EIO, how);
    int rc = job_write(&job, ctx, "two", 2, SCR_IS_CKPT, &err);
    int fired = job_disarm(&job);
    CHECK(job_same_code(&job, rc));
    CHECK(scr_cache_is_ready(ctx, rc == SCR_OK ? 2 : 1));
    job_kill(&job, ctx);
    job_lose_node(&job, "n3");
    job_check_one_or_two(&job, nodes, rc == SCR_OK);
    fclose(job.out);
    job_free(&job);
    return fired;
}

MPI_CASE(calls_that_fail_on_one_rank_cost_no_checkpoint)
{
    static const int kinds[] = { TEST_MKDIRAT, TEST_UNLINKAT, TEST_RENAMEAT,
                                 TEST_STATVFS };
    int tried = 0;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (long n = 0;
             fail_call(t, kinds[k], n, tried % 2 ? TEST_ONCE : TEST_FOREVER); n += STEP)
            tried++;
    CHECK(tried >= 4);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(the_old_one_stays_until_the_new_one_is_protected),
                  RUN(one_that_was_not_valid_does_not_cost_it),
                  RUN(a_directory_that_cannot_be_made_on_one_node_does_not_cost_it),
                  RUN(where_one_node_cannot_delete_none_does),
                  RUN(one_that_cannot_be_deleted_needs_room_for_both),
                  RUN(without_room_on_one_node_the_old_one_goes_before),
                  RUN(with_a_number_set_it_goes_before_and_that_is_reported_once),
                  RUN(one_that_outgrew_the_room_does_not_fail_for_ever),
                  RUN(the_redundancy_file_of_one_is_that_of_the_next_but_one),
                  RUN(the_room_of_one_is_back_before_the_next_is_written),
                  RUN(the_room_of_output_is_back_before_the_encode),
                  RUN(one_that_is_being_flushed_leaves_when_that_is_done),
                  RUN(a_weak_one_does_not_drive_out_a_strong_one),
                  RUN(levels_as_the_guide_has_them_survive_a_lost_node),
                  RUN(lines_that_share_a_store_too_small_are_reported),
                  RUN(calls_that_fail_on_one_rank_cost_no_checkpoint)));
}
