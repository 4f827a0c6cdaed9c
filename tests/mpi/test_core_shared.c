/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that several ranks write. */
/* ranks: 4 */
#include "helper_fault.h"
#include "helper_shared.h"
#include "helper_stored.h"

#include <errno.h>
#include <fcntl.h>

static const char *const nodes = "n[1-4]";

/* Routes <prefix>/name and writes it whole, as if every rank had it for itself. */
static int write_own(struct job *job, struct scr_ctx *ctx, const char *name)
{
    char file[900], path[SCR_MAX_NAME];
    struct scr_err err = SCR_ERR_INIT;
    snprintf(file, sizeof file, "%s/%s", job->prefix, name);
    if (scr_route(ctx, file, path, &err) != SCR_OK)
        return 0;
    FILE *f = fopen(path, "w");
    if (f == NULL)
        return 0;
    fprintf(f, "%s of rank %d\n", name, job->rank);
    return fclose(f) == 0;
}

/* A checkpoint of one file a rank, called by name[rank]; its code and error. */
static int checkpoint(struct job *job, struct scr_ctx *ctx, const char *const *name,
                      struct scr_err *err)
{
    struct mpi_test *t = job->t;
    CHECK_RC(scr_start_output_all(ctx, NULL, SCR_IS_CKPT, err), SCR_OK, err);
    int valid = name[job->rank] == NULL || write_own(job, ctx, name[job->rank]);
    CHECK(valid);
    return scr_complete_output_all(ctx, valid, err);
}

JOB_CASE(a_shared_file_in_a_store_of_nodes_is_refused_at_complete, 4)
{
    static const char *const name[] = { "shared", "shared", "shared", "shared" };
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, NULL);
    job_checkpoint(job, ctx, "one", 1);
    CHECK_RC(checkpoint(job, ctx, name, &err), SCR_E_EXIST, &err);
    CHECK_TEXT(&err, "shared: written by several ranks (0-3)");
    CHECK_TEXT(&err, "SCR_CACHE_BYPASS=1");
    CHECK_TEXT(&err, "GROUP=WORLD");
    CHECK_INT(ctx->state, SCR_STATE_IDLE);
    CHECK(!scr_cache_is_ready(ctx, 2));
    job_kill(job, ctx);
    ctx = job_start(job, nodes, NULL);
    job_check_restart(job, ctx, "one", 1); /* what was there is not lost */
    job_end(job, ctx);
}

JOB_CASE(two_ranks_of_many_that_share_a_file_are_named, 4)
{
    static const char *const name[] = { "a.0", "late", "a.2", "late" };
    static const char *const crossed[] = { "a.2", NULL, "a.2", "a.3" };
    struct scr_err err = SCR_ERR_INIT, again = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, NULL);
    CHECK_RC(checkpoint(job, ctx, name, &err), SCR_E_EXIST, &err);
    CHECK_TEXT(&err, "late: written by several ranks (1,3)");
    CHECK_RC(checkpoint(job, ctx, crossed, &again), SCR_E_EXIST, &again);
    CHECK_TEXT(&again, "a.2: written by several ranks (0,2)");
    job_checkpoint(job, ctx, "one", 1); /* and the run continues */
    job_kill(job, ctx);
}

/* The actions of the ranks on a file that rank 0 makes and all of them write. */
enum slip { OPEN_ONLY, SAY_SO, SAY_NOTHING, SLIPS };

static int write_shared(struct job *job, struct scr_ctx *ctx, enum slip slip)
{
    char path[SCR_MAX_NAME], name[900];
    struct scr_err err = SCR_ERR_INIT;
    snprintf(name, sizeof name, "%s/shared", job->prefix);
    if (job->rank == 0)
        return write_own(job, ctx, "shared");
    if (scr_route(ctx, name, path, &err) != SCR_OK)
        return 0;
    FILE *f = slip == OPEN_ONLY ? fopen(path, "r+") : NULL;
    if (f != NULL)
        fclose(f);
    return slip == SAY_NOTHING || f != NULL;
}

/* A program that finds no file to open says valid=0; one that does not look leaves its
 * routed file unwritten. Neither is what is wrong. */
JOB_CASE(sharing_is_reported_also_where_ranks_fail_because_of_it, 4)
{
    struct scr_ctx *ctx = job_start(job, nodes, NULL);
    for (int slip = 0; slip < SLIPS; slip++) {
        struct scr_err err = SCR_ERR_INIT;
        CHECK_RC(scr_start_output_all(ctx, NULL, SCR_IS_CKPT, &err), SCR_OK, &err);
        int valid = write_shared(job, ctx, (enum slip)slip);
        if (slip == SAY_SO && job->rank == 2)
            valid = 1;
        CHECK_RC(scr_complete_output_all(ctx, valid, &err), SCR_E_EXIST, &err);
        CHECK_TEXT(&err, "shared: written by several ranks (0-3)");
        CHECK_TEXT(&err, "SCR_CACHE_BYPASS=1");
        CHECK_TEXT(&err, "GROUP=WORLD");
    }
    job_checkpoint(job, ctx, "one", 1); /* and the run continues */
    job_end(job, ctx);
}

JOB_CASE(what_has_another_cause_keeps_its_own, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, NULL);
    CHECK_RC(scr_start_output_all(ctx, NULL, SCR_IS_CKPT, &err), SCR_OK, &err);
    CHECK(write_own(job, ctx,
                    job->rank == 0   ? "a"
                    : job->rank == 1 ? "b"
                                     : "c.0") ||
          job->rank > 1);
    CHECK_RC(scr_complete_output_all(ctx, job->rank != 1, &err), SCR_E_EXIST, &err);
    CHECK_TEXT(&err, "c.0: written by several ranks (2-3)");
    scr_err_clear(&err);
    CHECK_RC(scr_start_output_all(ctx, NULL, SCR_IS_CKPT, &err), SCR_OK, &err);
    CHECK(job->rank > 1 || write_own(job, ctx, job->rank == 0 ? "a" : "b"));
    CHECK_RC(scr_complete_output_all(ctx, job->rank != 1, &err), SCR_E_INVALID, &err);
    CHECK_TEXT(&err, "the application passed valid=0");
    job_kill(job, ctx);
}

JOB_CASE(files_of_one_rank_each_are_not_refused, 4)
{
    static const char *const names[][4] = {
        { "a", "b", "c", "d" },
        { "meta", NULL, NULL, NULL },
        { "x.1", "x.0", "x.3", "x.2" },
        { "d/state", "e/state", "f/state", "g/state" },
    };
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, NULL);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        CHECK_RC(checkpoint(job, ctx, names[i], &err), SCR_OK, &err);
    job_kill(job, ctx);
}

/* --- a store that all nodes share --- */

/* Settings for a cache on it, borrowed until the next call. */
static struct scr_ctx *start_shared(struct job *job, const char *vnodes,
                                    const char *more)
{
    static char base[900], store[1000];
    char dir[800];
    snprintf(dir, sizeof dir, "%s/world", job->dir);
    if (job->rank == 0)
        mkdir(dir, 0700);
    mpi_test_barrier(job->comm);
    snprintf(base, sizeof base, "SCR_CACHE_BASE=%s", dir);
    snprintf(store, sizeof store, "STORE=%s GROUP=WORLD", dir);
    return job_start(job, vnodes, base, store, more, NULL);
}

/* A checkpoint of files of each rank and one of all. */
static int write_both(struct job *job, struct scr_ctx *ctx, const char *name, int seed,
                      struct scr_err *err)
{
    int rc = scr_start_output_all(ctx, name, SCR_IS_CKPT, err);
    if (rc != SCR_OK)
        return rc;
    char own[64];
    snprintf(own, sizeof own, "own.%d/state", job->rank);
    int valid = job_write_shared(job, ctx, seed) && write_own(job, ctx, own);
    return scr_complete_output_all(ctx, valid, err);
}

static void checkpoint_both(struct job *job, struct scr_ctx *ctx, const char *name,
                            int seed)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    CHECK_RC(write_both(job, ctx, name, seed, &err), SCR_OK, &err);
}

static int own_is_right(struct job *job, struct scr_ctx *ctx)
{
    char own[64], want[100], got[100] = "", path[SCR_MAX_NAME];
    struct scr_err err = SCR_ERR_INIT;
    snprintf(own, sizeof own, "own.%d/state", job->rank);
    snprintf(want, sizeof want, "%s of rank %d\n", own, job->rank);
    FILE *f = job_route(job, ctx, own, path, &err) == SCR_OK ? fopen(path, "r") : NULL;
    if (f == NULL)
        return 0;
    int ok = fgets(got, sizeof got, f) != NULL && strcmp(got, want) == 0;
    fclose(f);
    return ok;
}

static void check_both(struct job *job, struct scr_ctx *ctx, const char *name, int seed)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    char got[SCR_MAX_NAME] = "";
    CHECK_RC(scr_start_restart_all(ctx, got, &err), SCR_OK, &err);
    CHECK(strcmp(got, name) == 0);
    if (err.code != SCR_OK)
        return;
    CHECK(own_is_right(job, ctx));
    CHECK(job_shared_ok(job, ctx, seed));
    CHECK_RC(scr_complete_restart_all(ctx, 1, &err), SCR_OK, &err);
}

static void lose_all(struct job *job)
{
    job_lose_node(job, "n1,n2,n3,n4");
}

MPI_CASE(lost_and_changed_nodes_cost_nothing_in_a_shared_store)
{
    static const char *const type[] = { "SCR_COPY_TYPE=SINGLE", "SCR_COPY_TYPE=XOR" };
    struct job job;
    for (int i = 0; i < 2; i++) {
        job_new(t, &job, 4);
        struct scr_ctx *ctx = start_shared(&job, nodes, type[i]);
        checkpoint_both(&job, ctx, "one", 1);
        job_kill(&job, ctx);
        scr_hash *before = job_cached(&job, 1);
        ctx = start_shared(&job, "n4,n3,n2,n1", type[i]); /* every rank elsewhere */
        check_both(&job, ctx, "one", 1);
        job_kill(&job, ctx);
        job_lose_node(&job, "n2");
        ctx = start_shared(&job, "n1,n9,n3,n4", type[i]);
        check_both(&job, ctx, "one", 1);
        job_kill(&job, ctx);
        lose_all(&job);
        job_lose_node(&job, "n9");
        ctx = start_shared(&job, nodes, type[i]);
        check_both(&job, ctx, "one", 1);
        job_kill(&job, ctx);
        scr_hash *after = job_cached(&job, 1);
        CHECK(job_has_kept(&job, before, NULL, after));
        scr_hash_delete(before);
        scr_hash_delete(after);
        job_free(&job);
    }
}

JOB_CASE(a_file_that_only_a_later_rank_writes_is_waited_for, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    char path[SCR_MAX_NAME];
    struct scr_ctx *ctx = start_shared(job, nodes, NULL);
    CHECK_RC(scr_start_output_all(ctx, "one", SCR_IS_CKPT, &err), SCR_OK, &err);
    if (job->rank == 3) {
        usleep(50000); /* the others are in Complete_output by now */
        CHECK(write_own(job, ctx, "late"));
    } else {
        CHECK_RC(job_route(job, ctx, "late", path, &err), SCR_OK, &err);
    }
    CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_OK, &err);
    job_kill(job, ctx);
}

/* Inode of <world>/…/part on rank 0, which shows whether files were copied. */
static long inode_of(struct job *job, const char *part)
{
    struct stat st = { 0 };
    int n = 0;
    mpi_test_barrier(job->comm);
    char **found = job_find(job->dir, part, &n);
    if (n == 1)
        stat(found[0], &st);
    job_find_free(found, n);
    mpi_test_barrier(job->comm);
    return n == 1 ? (long)st.st_ino : -n;
}

JOB_CASE(files_in_a_shared_store_stay_where_they_are, 4)
{
    struct scr_ctx *ctx = start_shared(job, nodes, NULL);
    checkpoint_both(job, ctx, "one", 1);
    job_kill(job, ctx);
    long shared = inode_of(job, "rank.0/shared.1"), own = inode_of(job, "rank.3/state");
    CHECK(shared > 0 && own > 0);
    ctx = start_shared(job, "n4,n1,n2,n3", NULL);
    check_both(job, ctx, "one", 1);
    job_kill(job, ctx);
    CHECK_INT(inode_of(job, "rank.0/shared.1"), shared);
    CHECK_INT(inode_of(job, "rank.3/state"), own);
}

JOB_CASE(a_shared_store_is_evicted_and_swept, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = start_shared(job, nodes, "SCR_CACHE_SIZE=1");
    checkpoint_both(job, ctx, "one", 1);
    checkpoint_both(job, ctx, "two", 2);
    CHECK_INT(job_count(job, job->dir, "scr.dataset.1/"), 0);
    CHECK_INT(job_count(job, job->dir, "scr.dataset.2/shared/"), 0);
    CHECK_RC(scr_start_output_all(ctx, "three", SCR_IS_CKPT, &err), SCR_OK, &err);
    CHECK(job_write_shared(job, ctx, 3));
    job_kill(job, ctx);
    lose_all(job); /* no record of 3 any more */
    ctx = start_shared(job, nodes, "SCR_CACHE_SIZE=3");
    CHECK_INT(job_count(job, job->dir, "scr.dataset."), 0);
    checkpoint_both(job, ctx, "four", 4);
    job_kill(job, ctx);
    ctx = start_shared(job, nodes, "SCR_CACHE_SIZE=3");
    check_both(job, ctx, "four", 4);
    CHECK_RC(scr_start_output_all(ctx, "five", SCR_IS_CKPT, &err), SCR_OK, &err);
    CHECK(job_write_shared(job, ctx, 5));
    CHECK_RC(scr_complete_output_all(ctx, job->rank != 1, &err), SCR_E_INVALID, &err);
    CHECK_INT(job_count(job, job->dir, "shared.5"), 0);
    job_kill(job, ctx);
}

/* A checkpoint of a file of each rank, in a directory of its own. */
static void checkpoint_own(struct job *job, struct scr_ctx *ctx)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    char own[64];
    snprintf(own, sizeof own, "own.%d/state", job->rank);
    CHECK_RC(scr_start_output_all(ctx, NULL, SCR_IS_CKPT, &err), SCR_OK, &err);
    CHECK(write_own(job, ctx, own));
    CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_OK, &err);
}

/* What rank 0 removes does not grow with the ranks: they would wait for it. */
JOB_CASE(each_rank_removes_its_own_in_a_shared_store, 4)
{
    enum { MORE = 8 }; /* directories of all ranks, two calls each */
    job->sys = &test_fault_sys;
    struct scr_ctx *ctx = start_shared(job, nodes, "SCR_CACHE_SIZE=1");
    checkpoint_own(job, ctx);
    test_fault_arm(TEST_UNLINKAT, 1000000, EIO, TEST_ONCE);
    checkpoint_own(job, ctx);
    long removed = test_fault_count(TEST_UNLINKAT);
    test_fault_off();
    long least = removed;
    MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_LONG, MPI_MIN, job->comm);
    CHECK(removed <= least + MORE);
    CHECK_INT(job_count(job, job->dir, "scr.dataset.1/"), 0);
    CHECK_INT(job_count(job, job->dir, "scr.dataset.2/shared"), 0);
    job_kill(job, ctx);
}

/* Directories with files of all ranks that this one lists. */
static struct {
    struct scr_sys sys;
    int n;
} listed;

static int count_openat(int at, const char *path, int flags, mode_t mode)
{
    listed.n += (flags & O_DIRECTORY) != 0 && strstr(path, "scr.dataset.1/.scr") != 0;
    return scr_sys_posix.openat(at, path, flags, mode);
}

MPI_CASE(fewer_ranks_restart_from_a_shared_store)
{
    struct job job, two;
    struct scr_err err = SCR_ERR_INIT;
    char path[SCR_MAX_NAME], text[100] = "";
    int n = 0;
    job_new(t, &job, 4);
    struct scr_ctx *ctx = start_shared(&job, nodes, NULL);
    checkpoint_both(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    lose_all(&job);
    two = job;
    MPI_Comm_split(job.comm, job.rank < 2 ? 0 : MPI_UNDEFINED, job.rank, &two.comm);
    if (job.rank < 2) {
        two.size = 2;
        two.any_ranks = 1;
        listed.sys = scr_sys_posix;
        listed.sys.openat = count_openat;
        two.sys = &listed.sys;
        ctx = start_shared(&two, "n[1-2]", NULL);
        CHECK_INT(listed.n, 0);
        CHECK_RC(scr_restart_files_all(ctx, &n, &err), SCR_OK, &err);
        CHECK_INT(n, 5); /* the shared one once */
        CHECK_RC(scr_start_restart_all(ctx, NULL, &err), SCR_OK, &err);
        CHECK_RC(job_route(&two, ctx, "own.3/state", path, &err), SCR_OK, &err);
        FILE *f = fopen(path, "r");
        CHECK(f != NULL && fgets(text, sizeof text, f) != NULL);
        CHECK(strcmp(text, "own.3/state of rank 3\n") == 0);
        if (f != NULL)
            fclose(f);
        CHECK_RC(job_route(&two, ctx, "shared.1", path, &err), SCR_OK, &err);
        CHECK_RC(scr_complete_restart_all(ctx, 1, &err), SCR_OK, &err);
        job_kill(&two, ctx);
        MPI_Comm_free(&two.comm);
    }
    mpi_test_barrier(job.comm);
    ctx = start_shared(&job, nodes, NULL);
    CHECK_RC(scr_restart_files_all(ctx, &n, &err), SCR_OK, &err);
    CHECK_INT(n, 5);
    check_both(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    job_free(&job);
}

/* An entry stored with the files stops no start: it uses the existing files. */
JOB_CASE(any_number_of_ranks_may_be_recorded, 4)
{
    int n = 0;
    struct scr_ctx *ctx = start_shared(job, nodes, NULL);
    checkpoint_both(job, ctx, "one", 1);
    job_kill(job, ctx);
    lose_all(job);
    char **paths = job_find(job->dir, "filemap_0.scrinfo", &n);
    CHECK_INT(n, 1);
    mpi_test_barrier(job->comm); /* who still looks might find a new one, too */
    if (job->rank == 0 && n == 1) {
        scr_filemap *map = scr_filemap_new();
        CHECK_INT(scr_filemap_read(&scr_sys_posix, paths[0], map, NULL), SCR_OK);
        scr_hash_set_val_i64(scr_filemap_get_desc(map, 1, 0), "RANKS", INT32_MAX);
        CHECK_INT(scr_filemap_write(&scr_sys_posix, paths[0], map, SCR_VOLATILE, NULL),
                  SCR_OK);
        scr_filemap_delete(map);
    }
    job_find_free(paths, n);
    mpi_test_barrier(job->comm);
    ctx = start_shared(job, nodes, NULL);
    CHECK_INT(ctx->restart.id, 0);
    job_kill(job, ctx);
}

/* Who wrote path, by the list of files. */
static int writer_of(struct job *job, struct scr_ctx *ctx, const char *path)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    char file[SCR_MAX_NAME];
    int n = 0, writer = -1, rank = -1;
    CHECK_RC(scr_restart_files_all(ctx, &n, &err), SCR_OK, &err);
    for (int i = 0; i < n; i++) {
        CHECK_RC(scr_restart_file(ctx, i, file, &rank, &err), SCR_OK, &err);
        if (strcmp(file + strlen(job->prefix) + 1, path) == 0)
            writer = writer < 0 ? rank : -2; /* it is there once */
    }
    return writer;
}

/* Every rank may read it; it is listed as that of the lowest rank that wrote it. */
JOB_CASE(a_file_of_some_ranks_is_listed_as_theirs, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    char path[SCR_MAX_NAME];
    struct scr_ctx *ctx = start_shared(job, nodes, NULL);
    CHECK_RC(scr_start_output_all(ctx, "one", SCR_IS_CKPT, &err), SCR_OK, &err);
    if (job->rank >= 2) {
        CHECK_RC(job_route(job, ctx, "pair", path, &err), SCR_OK, &err);
        FILE *f = fopen(path, "a");
        CHECK(f != NULL && fclose(f) == 0);
    }
    CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_OK, &err);
    job_kill(job, ctx);
    ctx = start_shared(job, nodes, NULL);
    CHECK_INT(writer_of(job, ctx, "pair"), 2);
    CHECK_RC(scr_start_restart_all(ctx, NULL, &err), SCR_OK, &err);
    CHECK_RC(job_route(job, ctx, "pair", path, &err), SCR_OK, &err);
    CHECK_RC(scr_complete_restart_all(ctx, 1, &err), SCR_OK, &err);
    job_kill(job, ctx);
}

JOB_CASE(a_flushed_shared_file_is_fetched_or_read_in_place, 4)
{
    char world[900];
    struct scr_ctx *ctx = start_shared(job, nodes, "SCR_FLUSH=1");
    checkpoint_both(job, ctx, "one", 1);
    job_kill(job, ctx);
    snprintf(world, sizeof world, "%s/world", job->dir);
    lose_all(job);
    if (job->rank == 0)
        mpi_test_remove(world);
    ctx = start_shared(job, nodes, NULL);
    check_both(job, ctx, "one", 1);
    CHECK_INT(job_count(job, world, "shared.1"), 1);
    job_kill(job, ctx);
    lose_all(job);
    if (job->rank == 0)
        mpi_test_remove(world);
    ctx = job_start(job, nodes, NULL); /* a store of nodes cannot hold it */
    check_both(job, ctx, "one", 1);
    CHECK_INT(job_count(job, job->cache, "shared.1"), 0);
    job_kill(job, ctx);
}

JOB_CASE(the_control_directory_cannot_be_shared, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx;
    char store[900];
    snprintf(store, sizeof store, "STORE=%s GROUP=WORLD", job->cache);
    const char *const settings[] = { store, NULL };
    CHECK_RC(job_try_start(job, &ctx, &err, nodes, settings), SCR_E_CONFIG, &err);
    CHECK_TEXT(&err, "SCR_CNTL_BASE");
    job_kill(job, ctx);
}

/* Call number n of a checkpoint fails; 0 when there is no call n. */
static int fail_checkpoint(struct mpi_test *t, int victim, long n)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    job_new(t, &job, 4);
    job.sys = &test_fault_sys;
    struct scr_ctx *ctx = start_shared(&job, nodes, "SCR_CACHE_SIZE=3");
    checkpoint_both(&job, ctx, "one", 1);
    int rc = scr_start_output_all(ctx, "two", SCR_IS_CKPT, &err);
    int valid = rc == SCR_OK && job_write_shared(&job, ctx, 2) &&
                write_own(&job, ctx, job.rank % 2 ? "own.1/x" : "own.0/x");
    job_arm(&job, victim, TEST_ANY, n, EIO, victim < 0 ? TEST_FOREVER : TEST_ONCE);
    rc = scr_complete_output_all(ctx, valid, &err);
    int fired = job_disarm(&job);
    CHECK(job_same_code(&job, rc));
    if (!fired)
        CHECK_RC(rc, SCR_OK, &err);
    job_kill(&job, ctx);
    job.sys = NULL;
    ctx = start_shared(&job, "n2,n1,n4,n3", NULL);
    if (ctx->restart.id == 1)
        check_both(&job, ctx, "one", 1);
    else
        CHECK_INT(ctx->restart.id, 2);
    CHECK(ctx->restart.id == 2 || rc != SCR_OK);
    job_kill(&job, ctx);
    job_free(&job);
    return fired;
}

/* The system calls are the same with every MPI. */
#ifdef MPICH_VERSION
enum { STRIDE = 29 };
#else
enum { STRIDE = 7 };
#endif

MPI_CASE(each_call_of_complete_fails_in_a_shared_store)
{
    for (int victim = -1; victim < 2; victim++)
        for (long n = 0; n < 1000 && mpi_test_good(t); n += STRIDE)
            if (!fail_checkpoint(t, victim, n))
                break;
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(a_shared_file_in_a_store_of_nodes_is_refused_at_complete),
                  RUN(two_ranks_of_many_that_share_a_file_are_named),
                  RUN(sharing_is_reported_also_where_ranks_fail_because_of_it),
                  RUN(what_has_another_cause_keeps_its_own),
                  RUN(files_of_one_rank_each_are_not_refused),
                  RUN(lost_and_changed_nodes_cost_nothing_in_a_shared_store),
                  RUN(a_file_that_only_a_later_rank_writes_is_waited_for),
                  RUN(files_in_a_shared_store_stay_where_they_are),
                  RUN(a_shared_store_is_evicted_and_swept),
                  RUN(each_rank_removes_its_own_in_a_shared_store),
                  RUN(fewer_ranks_restart_from_a_shared_store),
                  RUN(any_number_of_ranks_may_be_recorded),
                  RUN(a_file_of_some_ranks_is_listed_as_theirs),
                  RUN(a_flushed_shared_file_is_fetched_or_read_in_place),
                  RUN(the_control_directory_cannot_be_shared),
                  RUN(each_call_of_complete_fails_in_a_shared_store)));
}
