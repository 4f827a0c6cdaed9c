/* SPDX-License-Identifier: BSD-3-Clause */
/* A start that lacks room or memory, or cannot read, says nothing about a dataset: what
 * it could not rebuild stays in cache for the next one (invariant C8). */
/* ranks: 4 */
#include <errno.h>
#include <fcntl.h>

#include "helper_job.h"
#include "helper_memory.h"
#include "helper_prefix.h"
#include "helper_stored.h"
#include "red/redfile.h"

#define NODES "n[1-4]"
#define NEXT  "n1,n5,n3,n4"

/* Between allocations, and calls, that fail in turn: they are the same with every MPI,
 * and waiting ranks spin on the cores at some. */
#ifdef MPICH_VERSION
enum { STEP = 97, CALLS = 29 };
#else
enum { STEP = 101, CALLS = 4 };
#endif

/* --- calls that fail as long as they are to --- */

static struct {
    struct scr_sys sys;
    const char *part; /* of a path: what has it cannot be opened; NULL: all works */
    int flags;        /* one of these is needed to fail; 0: all do */
    int error;
} spot;

static int spot_openat(int at, const char *path, int flags, mode_t mode)
{
    if (spot.part == NULL || strstr(path, spot.part) == NULL ||
        (spot.flags != 0 && (flags & spot.flags) == 0))
        return scr_sys_posix.openat(at, path, flags, mode);
    errno = spot.error;
    return -1;
}

static void spot_on(struct job *job, const char *part, int flags, int error)
{
    spot.sys = scr_sys_posix;
    spot.sys.openat = spot_openat;
    spot.part = part;
    spot.flags = flags;
    spot.error = error;
    job->sys = &spot.sys;
}

/* Checkpoints "one" and, if there are two, "two"; then node 2 is lost. */
static void lose_second(struct mpi_test *t, struct job *job, const char *setting,
                        int two)
{
    job_new(t, job, t->comm.size);
    struct scr_ctx *ctx = job_start(job, NODES, "SCR_CACHE_SIZE=2", setting, NULL);
    job_checkpoint(job, ctx, "one", 1);
    if (two)
        job_checkpoint(job, ctx, "two", 2);
    job_kill(job, ctx);
    job_lose_node(job, "n2");
    job->out = tmpfile();
}

static void finish(struct job *job)
{
    if (job->out != NULL)
        fclose(job->out);
    job_free(job);
}

/* Nothing fails any more. */
static void start_well(struct job *job, const char *name, int seed)
{
    spot.part = NULL;
    struct scr_ctx *ctx = job_start(job, NEXT, "SCR_CACHE_SIZE=2", NULL);
    job_check_restart(job, ctx, name, seed);
    job_kill(job, ctx);
}

/* A start at which "two" cannot be rebuilt, which is reported. */
static struct scr_ctx *start_badly(struct job *job, const char *setting)
{
    struct mpi_test *t = job->t;
    spot_on(job, "scr.dataset.2/.scr/rebuild.", O_CREAT, ENOSPC);
    struct scr_ctx *ctx = job_start(job, NEXT, "SCR_CACHE_SIZE=2", setting, NULL);
    CHECK_INT(job_said(job, "two (dataset 2) is not restored from cache: "), 1);
    CHECK_INT(job_said(job, "no space left on device; it stays there, repair that"), 1);
    return ctx;
}

/* --- what stays --- */

MPI_CASE(what_lacks_room_stays_when_another_is_begun)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    lose_second(t, &job, "SCR_FLUSH=0", 1);
    struct scr_ctx *ctx = start_badly(&job, "SCR_FLUSH=0");
    job_check_restart(&job, ctx, "one", 1);
    CHECK_RC(scr_start_output_all(ctx, "three", SCR_IS_CKPT, &err), SCR_OK, &err);
    job_kill(&job, ctx);
    start_well(&job, "two", 2);
    finish(&job);
}

MPI_CASE(it_leaves_in_its_turn_when_a_newer_one_is_whole)
{
    struct job job;
    lose_second(t, &job, "SCR_FLUSH=0", 1);
    struct scr_ctx *ctx = start_badly(&job, "SCR_FLUSH=0");
    job_checkpoint(&job, ctx, "three", 3);
    CHECK(scr_cache_has(ctx, 2));
    job_checkpoint(&job, ctx, "four", 4);
    job_checkpoint(&job, ctx, "five", 5);
    CHECK(!scr_cache_has(ctx, 2));
    job_kill(&job, ctx);
    start_well(&job, "five", 5);
    finish(&job);
}

/* Starts that fail one after the other do not fill the cache: in addition to
 * SCR_CACHE_SIZE others the newest of the datasets they left stays. */
MPI_CASE(of_several_the_newest_keeps_its_place)
{
    struct job job;
    lose_second(t, &job, "SCR_FLUSH=0", 1);
    struct scr_ctx *ctx = start_badly(&job, "SCR_FLUSH=0");
    job_checkpoint(&job, ctx, "three", 3);
    job_kill(&job, ctx);
    job_lose_node(&job, "n5");
    spot_on(&job, "/.scr/rebuild.", O_CREAT, ENOSPC);
    ctx = job_start(&job, "n1,n6,n3,n4", "SCR_CACHE_SIZE=2", NULL);
    CHECK(scr_cache_is(ctx, 1, SCR_CACHE_KEPT));
    CHECK(scr_cache_is(ctx, 3, SCR_CACHE_KEPT));
    spot.part = NULL;
    job_checkpoint(&job, ctx, "four", 4);
    CHECK(!scr_cache_has(ctx, 1));
    CHECK(scr_cache_has(ctx, 2));
    CHECK(scr_cache_has(ctx, 3));
    job_checkpoint(&job, ctx, "five", 5);
    CHECK(!scr_cache_has(ctx, 3));
    CHECK(scr_cache_has(ctx, 4));
    job_kill(&job, ctx);
    finish(&job);
}

static int full_statvfs(const char *path, struct statvfs *st)
{
    int rc = scr_sys_posix.statvfs(path, st);
    st->f_bavail = 0;
    return rc;
}

/* It leaves where the next one needs its room; where it takes none it is no help. */
static void begin_without_room(struct mpi_test *t, int at, int stays)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    lose_second(t, &job, "SCR_FLUSH=0", 1);
    struct scr_ctx *ctx = start_badly(&job, "SCR_FLUSH=0");
    if (job.rank == at)
        spot.sys.statvfs = full_statvfs;
    CHECK_RC(scr_start_output_all(ctx, "three", SCR_IS_CKPT, &err), SCR_OK, &err);
    CHECK_INT(scr_cache_has(ctx, 2), stays);
    CHECK_INT(job_said(&job, "two (dataset 2), which was not restored, leaves"),
              !stays);
    job_kill(&job, ctx);
    finish(&job);
}

MPI_CASE(it_leaves_when_there_is_no_room_for_both)
{
    begin_without_room(t, 1, 1);
    begin_without_room(t, 3, 0);
}

/* A start of the same ranks, at which they ask for a file elsewhere, so that they do
 * not read "one". */
static struct scr_ctx *start_unread(struct job *job)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    char path[SCR_MAX_NAME];
    spot_on(job, NULL, 0, 0);
    struct scr_ctx *ctx =
        job_start(job, NODES, "SCR_CACHE_SIZE=2", "SCR_FLUSH=0", NULL);
    CHECK_INT(job_offered(job, ctx), 1);
    CHECK_RC(scr_start_restart_all(ctx, NULL, &err), SCR_OK, &err);
    CHECK_INT(scr_route(ctx, "/elsewhere/file", path, NULL), SCR_E_OUTSIDE);
    CHECK_RC(scr_complete_restart_all(ctx, 0, &err), SCR_E_INVALID, &err);
    CHECK(scr_cache_held(ctx, 1)->set_aside);
    return ctx;
}

/* It is the only copy: the prefix directory gets it, if it can. The run goes on in
 * either case. */
static void begin_in_room_of_unread(struct mpi_test *t, int blocked)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    job_new(t, &job, t->comm.size);
    struct scr_ctx *ctx = job_start(&job, NODES, "SCR_FLUSH=0", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    job.out = tmpfile();
    ctx = start_unread(&job);
    if (job.rank == 3)
        spot.sys.statvfs = full_statvfs;
    job_block_flush(&job, 1, blocked);
    CHECK_RC(scr_start_output_all(ctx, "two", SCR_IS_CKPT, &err), SCR_OK, &err);
    job_block_flush(&job, 1, 0);
    CHECK(!scr_cache_has(ctx, 1));
    CHECK_INT(job_said(&job, "one (dataset 1), which was not restored, leaves"), 1);
    CHECK_INT(job_entry(&job, 1, NULL, NULL), !blocked); /* an incomplete one */
    job_kill(&job, ctx);
    finish(&job);
}

MPI_CASE(what_was_not_read_is_copied_before_its_room_is_taken)
{
    begin_in_room_of_unread(t, 0);
    begin_in_room_of_unread(t, 1);
}

/* Also where programs read the prefix themselves. */
MPI_CASE(one_cannot_go_to_it)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    lose_second(t, &job, "SCR_FLUSH=0", 1);
    struct scr_ctx *ctx = start_badly(&job, "SCR_FETCH=0");
    CHECK_RC(scr_current_all(ctx, "two", &err), SCR_E_STATE, &err);
    job_check_restart(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    start_well(&job, "two", 2);
    finish(&job);
}

/* A dataset that is also on the prefix is read there, and the copy in cache stays. */
MPI_CASE(its_copy_on_the_prefix_is_read_there)
{
    struct job job;
    lose_second(t, &job, "SCR_FLUSH=1", 1);
    struct scr_ctx *ctx = start_badly(&job, "SCR_FLUSH=1");
    CHECK_INT(ctx->restart.id, 2);
    CHECK(ctx->restart.in_place);
    job_check_restart(&job, ctx, "two", 2);
    CHECK(scr_cache_has(ctx, 2));
    job_kill(&job, ctx);
    start_well(&job, "two", 2);
    finish(&job);
}

MPI_CASE(a_bad_copy_on_the_prefix_does_not_cost_it)
{
    struct job job;
    char path[800];
    lose_second(t, &job, "SCR_FLUSH=1", 1);
    snprintf(path, sizeof path, "%s/.scr/scr.dataset.2/rank2file", job.prefix);
    if (job.rank == 0)
        job_flip(path, 30);
    mpi_test_barrier(job.comm);
    struct scr_ctx *ctx = start_badly(&job, "SCR_FLUSH=1");
    job_check_restart(&job, ctx, "one", 1);
    CHECK(scr_cache_has(ctx, 2));
    job_kill(&job, ctx);
    start_well(&job, "two", 2);
    finish(&job);
}

/* One rank's files are gone, and another's cannot be read now. */
static void cannot_read(struct mpi_test *t, const char *part, int error)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    lose_second(t, &job, "SCR_FLUSH=0", 0);
    spot_on(&job, job.rank == 2 ? part : NULL, 0, error);
    struct scr_ctx *ctx = job_start(&job, NEXT, "SCR_CACHE_SIZE=2", NULL);
    CHECK_INT(job_said(&job, "one (dataset 1) is not restored from cache: "), 1);
    CHECK_RC(scr_start_output_all(ctx, "two", SCR_IS_CKPT, &err), SCR_OK, &err);
    job_kill(&job, ctx);
    start_well(&job, "one", 1);
    finish(&job);
}

MPI_CASE(what_cannot_be_read_now_is_not_lost)
{
    cannot_read(t, "scr.dataset.1/rank.2/", EIO);
    cannot_read(t, "scr.dataset.1/.scr/", EMFILE);
}

/* A lost dataset is lost: no start waits for it. */
MPI_CASE(what_is_lost_is_dropped)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    lose_second(t, &job, "SCR_FLUSH=0", 0);
    job_lose_node(&job, "n1"); /* whose rank 0 says what is lost */
    struct scr_ctx *ctx = job_start(&job, NEXT, "SCR_CACHE_SIZE=2", NULL);
    CHECK_INT(job_said(&job, "it stays there"), 0);
    CHECK_INT(job_said(&job, "one (dataset 1) is not restored from cache: "), 1);
    CHECK_RC(scr_start_output_all(ctx, "two", SCR_IS_CKPT, &err), SCR_OK, &err);
    CHECK(!scr_cache_has(ctx, 1));
    job_kill(&job, ctx);
    finish(&job);
}

/* --- each call, each allocation --- */

enum losing { DATA, DATA_AND_MAP, PARITY, LOSSES };

/* Takes files of dataset 1 from rank 1. */
static void lose_files(struct job *job, struct scr_ctx *ctx, enum losing what)
{
    int n = 0;
    char **paths = job_find(job->cache, "scr.dataset.1/", &n);
    for (int i = 0; i < n && job->rank == 1; i++) {
        int is_parity = strstr(paths[i], "/.scr/") != NULL;
        if (strstr(paths[i], "vnode.n2/") != NULL && (what != PARITY || is_parity))
            unlink(paths[i]);
    }
    job_find_free(paths, n);
    if (what == DATA_AND_MAP && job->rank == 1)
        scr_filemap_remove_dataset(ctx->cache.map, 1);
    mpi_test_barrier(job->comm);
}

static int is_fact(int rc)
{
    return rc == SCR_E_LOST || rc == SCR_E_CORRUPT || rc == SCR_E_MISSING ||
           rc == SCR_E_NOENT;
}

/* 0 when there is no call n. */
static int fail_one(struct job *job, struct scr_ctx *ctx, int victim, int kind, long n)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    lose_files(job, ctx, (enum losing)(n % LOSSES));
    job_arm(job, victim, kind, n / LOSSES, EIO, TEST_ONCE);
    int rc = scr_cache_mend_all(ctx, 1, &err);
    int fired = job_disarm(job);
    CHECK(job_same_code(job, rc));
    if (is_fact(rc))
        mpi_test_fail(t, __FILE__, __LINE__, "call %ld of loss %ld: %s", n / LOSSES,
                      n % LOSSES, err.text);
    scr_err_clear(&err);
    CHECK_RC(scr_cache_mend_all(ctx, 1, &err), SCR_OK, &err);
    return fired;
}

static void fail_each(struct mpi_test *t, int victim, int kind, long step)
{
    struct job job;
    enum { MOST = 100000 };
    long n = 0, tried = 0, last = 0;
    job_new(t, &job, t->comm.size);
    job.out = fopen("/dev/null", "w");
    job.sys = &test_fault_sys;
    struct scr_ctx *ctx = job_start(&job, NODES, NULL);
    job_checkpoint(&job, ctx, "one", 1);
    for (; n < MOST && n - last < LOSSES * step && mpi_test_good(t); n += step) {
        last = fail_one(&job, ctx, victim, kind, n) ? n : last;
        tried++;
    }
    CHECK(last > 20 && n < MOST);
    if (t->comm.rank == 0)
        printf("       rank %d: %ld failed in turn, of %ld\n", victim, tried, last);
    job_kill(&job, ctx);
    finish(&job);
}

MPI_CASE(no_allocation_that_fails_makes_it_lost)
{
    fail_each(t, 0, JOB_ALLOCATION, STEP);
    fail_each(t, 1, JOB_ALLOCATION, STEP);
    fail_each(t, 2, JOB_ALLOCATION, STEP);
}

MPI_CASE(no_call_that_fails_makes_it_lost)
{
    fail_each(t, 0, TEST_ANY, CALLS);
    fail_each(t, 1, TEST_ANY, CALLS);
    fail_each(t, 2, TEST_ANY, CALLS);
}

/* --- what is recorded, and what memory there is --- */

static struct scr_current *record_file(void)
{
    struct scr_shelf own = { .dir = "/c" };
    struct scr_current *current = scr_current_new(0, NULL, NULL);
    scr_meta *meta = scr_meta_new();
    scr_meta_set_text(meta, SCR_META_PATH, "sub");
    scr_meta_set_text(meta, SCR_META_NAME, "file");
    scr_meta_set_filesize(meta, 10);
    (void)scr_current_shelve(current, meta, &own);
    scr_meta_delete(meta);
    return current;
}

MPI_CASE(want_of_memory_is_no_missing_name)
{
    struct scr_current *current = record_file();
    int fired = t->comm.rank == 0;
    for (long n = 0; fired && t->failed == 0; n++) {
        struct scr_member_file *files = NULL;
        int has_crc = 0;
        test_memory_arm(n, 0);
        int rc = scr_redfile_files(current, "/dir", SCR_LAYOUT_PREFIX, &files, &has_crc,
                                   NULL);
        fired = test_memory_off();
        CHECK_INT(rc, fired ? SCR_E_NOMEM : SCR_OK);
        scr_member_files_free(files, current->files.n);
    }
    scr_current_delete(current);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(what_lacks_room_stays_when_another_is_begun),
                  RUN(it_leaves_in_its_turn_when_a_newer_one_is_whole),
                  RUN(of_several_the_newest_keeps_its_place),
                  RUN(it_leaves_when_there_is_no_room_for_both),
                  RUN(what_was_not_read_is_copied_before_its_room_is_taken),
                  RUN(one_cannot_go_to_it), RUN(its_copy_on_the_prefix_is_read_there),
                  RUN(a_bad_copy_on_the_prefix_does_not_cost_it),
                  RUN(what_cannot_be_read_now_is_not_lost),
                  RUN(what_is_lost_is_dropped),
                  RUN(no_allocation_that_fails_makes_it_lost),
                  RUN(no_call_that_fails_makes_it_lost),
                  RUN(want_of_memory_is_no_missing_name)));
}
