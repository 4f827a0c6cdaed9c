/* SPDX-License-Identifier: BSD-3-Clause */
/* How long datasets live: checkpoints and output, in cache and on the prefix; what
 * SCR_PREFIX_SIZE and the purges delete, and what they must not (invariant P9); records
 * that are lost or too new. */
/* ranks: 4 */
#include "helper_fault.h"
#include "helper_prefix.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/lock.h"

static const char *const nodes = "n[1-4]";

enum { CKPT = 1, OUTPUT = 2, BOTH = 3 };

static void write_ok(struct job *job, struct scr_ctx *ctx, int seed, int flags)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    char name[16];
    snprintf(name, sizeof name, "d%d", seed);
    CHECK_RC(job_write(job, ctx, name, seed, flags, &err), SCR_OK, &err);
}

static void write_some(struct job *job, struct scr_ctx *ctx, int from, int to)
{
    for (int i = from; i <= to; i++)
        write_ok(job, ctx, i, CKPT);
}

/* Datasets the index calls complete, as "1 3 4". */
static int complete_are(struct job *job, const char *want)
{
    char got[200] = "";
    for (int id = 1; id < 20; id++)
        if (job_entry(job, id, NULL, NULL) == 1)
            snprintf(got + strlen(got), sizeof got - strlen(got), "%s%d",
                     *got ? " " : "", id);
    if (strcmp(got, want) != 0 && job->rank == 0)
        fprintf(stderr, "complete are %s, not %s\n", got, want);
    return strcmp(got, want) == 0;
}

/* <prefix>/<name> as this text; NULL: removed. */
static void put(struct job *job, const char *name, const char *text)
{
    char path[900];
    snprintf(path, sizeof path, "%s/%s", job->prefix, name);
    mpi_test_barrier(job->comm);
    if (job->rank == 0 && text != NULL) {
        FILE *f = fopen(path, "w");
        fputs(text, f);
        fclose(f);
    } else if (job->rank == 0) {
        unlink(path);
    }
    mpi_test_barrier(job->comm);
}

/* --- kinds of datasets --- */

JOB_CASE(output_leaves_the_cache_and_checkpoints_stay_by_count, 4)
{
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_CACHE_SIZE=2", NULL);
    write_ok(job, ctx, 1, CKPT);
    write_ok(job, ctx, 2, OUTPUT);
    CHECK(!scr_cache_has(ctx, 2));
    write_ok(job, ctx, 3, BOTH);
    CHECK(scr_cache_is_ready(ctx, 1) && scr_cache_is_ready(ctx, 3));
    write_ok(job, ctx, 4, CKPT);
    CHECK(!scr_cache_has(ctx, 1));
    CHECK(scr_cache_is_ready(ctx, 3) && scr_cache_is_ready(ctx, 4));
    CHECK(complete_are(job, "2 3"));
    scr_hash *left = job_cached(job, 2);
    CHECK(job->rank != 0 || scr_hash_size(left) == 0);
    scr_hash_delete(left);
    job_kill(job, ctx);
}

JOB_CASE(every_third_checkpoint_is_flushed_across_restarts_and_failures, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=3", NULL);
    write_some(job, ctx, 1, 2);
    /* A checkpoint that fails does not count. */
    CHECK_RC(scr_start_output_all(ctx, "bad", CKPT, &err), SCR_OK, &err);
    CHECK_RC(scr_complete_output_all(ctx, job->rank != 1, &err), SCR_E_INVALID, &err);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_FLUSH=3", NULL);
    CHECK_INT(ctx->ckpt_id, 2);
    write_ok(job, ctx, 4, OUTPUT); /* nor does output */
    write_some(job, ctx, 5, 5);
    CHECK_INT(ctx->ckpt_id, 3);
    int last = ctx->last_id;
    CHECK_ENTRY(job, last, COMPLETE, CURRENT);
    write_some(job, ctx, 6, 7);
    CHECK_ENTRY(job, last + 2, ABSENT, NOT_CURRENT);
    job_kill(job, ctx);
    job_lose_node(job, nodes);
    ctx = job_start(job, nodes, "SCR_FLUSH=3", NULL); /* fetched: the third */
    CHECK_INT(ctx->ckpt_id, 3);
    job_kill(job, ctx);
}

/* Index of the descriptor that dataset id was written with. */
static int descriptor(const struct scr_ctx *ctx, int id)
{
    int index = -1;
    scr_hash_get_val_int(scr_filemap_get_desc(ctx->cache.map, id, ctx->world.rank),
                         "INDEX", &index);
    return index;
}

JOB_CASE(intervals_of_descriptors_continue_after_a_restart, 4)
{
    const char *const a = "CKPT=0 INTERVAL=1 TYPE=SINGLE COUNT=1";
    const char *const b = "CKPT=1 INTERVAL=3 TYPE=XOR SET_SIZE=4";
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_COPY_TYPE=FILE", a, b, "SCR_CACHE_SIZE=5", NULL);
    write_some(job, ctx, 1, 2);
    CHECK_INT(descriptor(ctx, 2), 0);
    CHECK(!scr_cache_has(ctx, 1)); /* COUNT of the descriptor */
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_COPY_TYPE=FILE", a, b, "SCR_CACHE_SIZE=5", NULL);
    write_some(job, ctx, 3, 4);
    CHECK_INT(descriptor(ctx, 3), 1);
    CHECK_INT(descriptor(ctx, 4), 0);
    CHECK(scr_cache_is_ready(ctx, 3) && !scr_cache_has(ctx, 2));
    job_kill(job, ctx);
}

/* --- SCR_PREFIX_SIZE --- */

JOB_CASE(the_newest_checkpoints_stay_on_the_prefix, 4)
{
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_FLUSH=1", "SCR_PREFIX_SIZE=2", NULL);
    write_some(job, ctx, 1, 5);
    CHECK(complete_are(job, "4 5"));
    CHECK_ENTRY(job, 1, ABSENT, NOT_CURRENT);
    CHECK(!job_has(job, "step.3") && !job_has(job, ".scr/scr.dataset.3"));
    CHECK(job_has(job, "step.4") && job_has(job, "step.5"));
    job_kill(job, ctx);
    job_lose_node(job, nodes);
    ctx = job_start(job, nodes, NULL);
    job_check_restart(job, ctx, "d5", 5);
    job_kill(job, ctx);
}

JOB_CASE(output_is_never_deleted, 4)
{
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_FLUSH=1", "SCR_PREFIX_SIZE=1", NULL);
    write_ok(job, ctx, 1, OUTPUT);
    write_ok(job, ctx, 2, BOTH);
    write_some(job, ctx, 3, 5);
    CHECK(complete_are(job, "1 2 5"));
    CHECK(job_has(job, "step.1") && job_has(job, "step.2"));
    job_kill(job, ctx);
}

JOB_CASE(files_that_newer_checkpoints_name_too_stay, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_FLUSH=1", "SCR_PREFIX_SIZE=1", NULL);
    CHECK_RC(job_write(job, ctx, "x", 1, CKPT, &err), SCR_OK, &err);
    CHECK_RC(job_write(job, ctx, "y", 1, CKPT, &err), SCR_OK, &err);
    CHECK_RC(job_write(job, ctx, "z", 1, CKPT, &err), SCR_OK, &err);
    CHECK(complete_are(job, "3"));
    job_kill(job, ctx);
    job_lose_node(job, nodes);
    ctx = job_start(job, nodes, NULL);
    job_check_restart(job, ctx, "z", 1);
    job_kill(job, ctx);
}

JOB_CASE(the_checkpoint_of_the_restart_stays_until_a_newer_one_is_safe, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    write_some(job, ctx, 1, 4);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_FLUSH=1", "SCR_PREFIX_SIZE=1", "SCR_CURRENT=d2",
                    NULL);
    job_check_restart(job, ctx, "d2", 2);
    job_block_flush(job, 5, 1);
    write_some(job, ctx, 5, 5); /* not flushed: a warning */
    job_block_flush(job, 5, 0);
    CHECK(complete_are(job, "1 2 3 4"));
    write_ok(job, ctx, 6, OUTPUT); /* what is too much goes, but not what is wanted */
    CHECK(complete_are(job, "2 4 6"));
    write_some(job, ctx, 7, 7);
    CHECK(complete_are(job, "6 7"));
    CHECK_RC(scr_finalize_all(ctx, &err), SCR_OK, &err);
    job_kill(job, ctx);
}

/* A directory that is not empty in the place of a file: it cannot be deleted. */
static void bar_deletion(struct job *job, int seed, int on)
{
    char dir[800], in[900];
    snprintf(dir, sizeof dir, "%s/step.%d/file0.1", job->prefix, seed);
    snprintf(in, sizeof in, "%s/x", dir);
    mpi_test_barrier(job->comm);
    if (job->rank == 0 && on) {
        unlink(dir);
        mkdir(dir, 0700);
        fclose(fopen(in, "w"));
    } else if (job->rank == 0) {
        mpi_test_remove(dir);
    }
    mpi_test_barrier(job->comm);
}

JOB_CASE(a_deletion_that_fails_is_a_warning_and_done_later, 4)
{
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_FLUSH=1", "SCR_PREFIX_SIZE=1", NULL);
    write_some(job, ctx, 1, 1);
    bar_deletion(job, 1, 1);
    write_some(job, ctx, 2, 2);
    CHECK_ENTRY(job, 1, INCOMPLETE, NOT_CURRENT);
    CHECK_ENTRY(job, 2, COMPLETE, CURRENT);
    bar_deletion(job, 1, 0);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_FLUSH=1", "SCR_PREFIX_SIZE=1", NULL);
    write_some(job, ctx, 3, 3);
    CHECK_ENTRY(job, 1, ABSENT, NOT_CURRENT);
    CHECK(complete_are(job, "3"));
    CHECK(!job_has(job, "step.1") && !job_has(job, ".scr/scr.dataset.1"));
    job_kill(job, ctx);
}

JOB_CASE(one_that_is_written_again_is_not_deleted_by_what_was_begun, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    write_some(job, ctx, 1, 1);
    bar_deletion(job, 1, 1);
    CHECK(scr_prefix_delete_all(ctx, 1, 1, &err) != SCR_OK);
    bar_deletion(job, 1, 0);
    CHECK_ENTRY(job, 1, INCOMPLETE, CURRENT);
    CHECK_RC(scr_finalize_all(ctx, &err), SCR_OK, &err); /* from cache */
    CHECK(complete_are(job, "1"));
    job_kill(job, ctx);
    put(job, ".scr/halt.scr", NULL);
    ctx = job_start(job, nodes, "SCR_FLUSH=1", "SCR_PREFIX_SIZE=5", NULL);
    write_some(job, ctx, 2, 2);
    CHECK(complete_are(job, "1 2"));
    job_kill(job, ctx);
}

/* A checkpoint that makes an older one go, with the n-th call of a kind failing: it is
 * good, or the one before is, and the next one brings all in order. */
static int fail_retention(struct mpi_test *t, int victim, int kind, long n)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    job_new(t, &job, 4);
    job.out = tmpfile();
    job.sys = &test_fault_sys;
    struct scr_ctx *ctx =
        job_start(&job, nodes, "SCR_FLUSH=1", "SCR_PREFIX_SIZE=1", NULL);
    write_some(&job, ctx, 1, 1);
    job_arm(&job, victim, kind, n, EROFS, TEST_ONCE);
    int rc = job_write(&job, ctx, "d2", 2, CKPT, &err);
    int fired = job_disarm(&job);
    CHECK(job_same_code(&job, rc));
    CHECK(job_entry(&job, 1, NULL, NULL) == 1 || job_entry(&job, 2, NULL, NULL) == 1);
    write_some(&job, ctx, 3, 3);
    CHECK_ENTRY(&job, 3, COMPLETE, CURRENT);
    CHECK_ENTRY(&job, 1, ABSENT, NOT_CURRENT);
    job_kill(&job, ctx);
    if (!mpi_test_good(t) && job.rank == 0) {
        int c;
        fprintf(stderr, "call %ld of kind %d failed on rank %d:\n", n, kind, victim);
        rewind(job.out);
        while ((c = getc(job.out)) != EOF)
            putc(c, stderr);
    }
    fclose(job.out);
    job_free(&job);
    return fired;
}

/* Where waiting ranks spin on the cores, fewer. */
#ifdef MPICH_VERSION
enum { STRIDE = 5 };
#else
enum { STRIDE = 1 };
#endif

static int fail_some(struct mpi_test *t, int victim, int kind, long step)
{
    int tried = 0;
    for (long n = step - 1; mpi_test_good(t) && fail_retention(t, victim, kind, n);
         n += step * STRIDE)
        tried++;
    return tried;
}

MPI_CASE(calls_that_fail_while_old_ones_are_deleted_cost_nothing)
{
    int tried = fail_some(t, 1, TEST_UNLINKAT, 1);
    tried += fail_some(t, 0, TEST_RENAMEAT, 3);
    tried += fail_some(t, 0, TEST_ANY, 17);
    CHECK(tried >= 5);
    if (t->comm.rank == 0)
        printf("       %d calls failed in turn\n", tried);
}

JOB_CASE(flushes_under_way_neither_stop_retention_nor_lose_files, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", "SCR_FLUSH_ASYNC=1",
                                    "SCR_PREFIX_SIZE=1", "SCR_CACHE_SIZE=4", NULL);
    write_some(job, ctx, 1, 3);
    CHECK_RC(job_write(job, ctx, "x", 9, CKPT, &err), SCR_OK, &err);
    CHECK_RC(scr_async_wait_all(ctx, 0, &err), SCR_OK, &err);
    CHECK(complete_are(job, "4"));
    /* The same files once more, on their way when the older ones are deleted. */
    CHECK_RC(job_write(job, ctx, "y", 9, CKPT, &err), SCR_OK, &err);
    CHECK_RC(scr_prefix_delete_all(ctx, 4, 1, &err), SCR_OK, &err);
    CHECK_RC(scr_finalize_all(ctx, &err), SCR_OK, &err);
    CHECK(complete_are(job, "5"));
    job_kill(job, ctx);
    put(job, ".scr/halt.scr", NULL);
    job_lose_node(job, nodes);
    ctx = job_start(job, nodes, NULL);
    job_check_restart(job, ctx, "y", 9);
    job_kill(job, ctx);
}

JOB_CASE(what_bypasses_the_cache_is_retained_too, 4)
{
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_CACHE_BYPASS=1", "SCR_PREFIX_SIZE=2", NULL);
    write_some(job, ctx, 1, 4);
    CHECK(complete_are(job, "3 4"));
    CHECK(!job_has(job, "step.1") && job_has(job, "step.3"));
    job_check_restart(job, ctx, "d4", 4);
    job_kill(job, ctx);
}

JOB_CASE(a_periodic_flush_that_failed_is_made_up_for, 4)
{
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=2", NULL);
    write_some(job, ctx, 1, 1);
    job_block_flush(job, 2, 1);
    write_some(job, ctx, 2, 2);
    job_block_flush(job, 2, 0);
    CHECK_ENTRY(job, 2, INCOMPLETE, NOT_CURRENT);
    write_some(job, ctx, 3, 3);
    CHECK_ENTRY(job, 3, COMPLETE, CURRENT);
    write_some(job, ctx, 4, 5);
    CHECK(complete_are(job, "3 4"));
    job_kill(job, ctx);
}

/* --- two jobs --- */

MPI_CASE(two_jobs_on_one_prefix_lose_nothing_of_each_other)
{
    struct job job, half;
    struct scr_err err = SCR_ERR_INIT;
    int taken = 0;
    job_new(t, &job, 4);
    int other = job.rank >= 2;
    half = job;
    half.size = 2;
    half.rank = job.rank % 2;
    half.out = tmpfile();
    MPI_Comm_split(job.comm, other, job.rank, &half.comm);
    struct scr_ctx *ctx =
        job_start(&half, other ? "m[1-2]" : "n[1-2]", "SCR_FLUSH=1",
                  other ? "SCR_JOB_ID=other" : "SCR_JOB_ID=job", NULL);
    mpi_test_barrier(job.comm);
    /* Each with its own files; of the first two one finds its number taken. */
    for (int i = 1; i <= 3; i++) {
        char name[16];
        snprintf(name, sizeof name, "%s%d", other ? "m" : "n", i);
        CHECK_RC(job_write(&half, ctx, name, 10 * i + other, CKPT, &err), SCR_OK, &err);
        mpi_test_barrier(job.comm);
    }
    int far = ctx->last_id > 1000;
    MPI_Allreduce(&far, &taken, 1, MPI_INT, MPI_SUM, job.comm);
    CHECK_INT(taken, 2); /* both ranks of one job */
    CHECK_INT(job_entry(&half, ctx->last_id, NULL, NULL), 1);
    CHECK_INT(job_entry(&half, ctx->last_id - 1, NULL, NULL), 1);
    CHECK_RC(scr_finalize_all(ctx, &err), SCR_OK, &err);
    job_kill(&half, ctx);
    mpi_test_barrier(job.comm);
    char text[2000] = "";
    rewind(half.out);
    size_t n = fread(text, 1, sizeof text - 1, half.out);
    text[n] = '\0';
    CHECK(!far || half.rank != 0 || strstr(text, "another job uses this prefix"));
    fclose(half.out);
    MPI_Comm_free(&half.comm);
    job_free(&job);
}

/* Another job went on from it, and deleted its newest checkpoint, the current one. */
static void go_on_elsewhere(struct mpi_test *t, const char *setting)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    job_new(t, &job, 4);
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_FLUSH=1", setting, NULL);
    write_some(&job, ctx, 1, 1);
    job_kill(&job, ctx);
    ctx = job_start(&job, "m[1-4]", "SCR_FLUSH=1", "SCR_JOB_ID=other", NULL);
    write_some(&job, ctx, 2, 3);
    CHECK_RC(scr_delete_all(ctx, "d3", &err), SCR_OK, &err);
    job_end(&job, ctx);
    ctx = job_start(&job, nodes, setting, NULL);
    job_check_restart(&job, ctx, "d2", 2);
    CHECK_ENTRY(&job, 2, COMPLETE, CURRENT);
    job_end(&job, ctx);
    job_free(&job);
}

MPI_CASE(where_nothing_is_current_the_newest_on_the_prefix_counts)
{
    go_on_elsewhere(t, "SCR_GLOBAL_RESTART=0");
    go_on_elsewhere(t, "SCR_GLOBAL_RESTART=1");
}

/* --- purges --- */

JOB_CASE(a_purge_deletes_every_dataset_of_the_prefix_and_nothing_else, 4)
{
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_FLUSH=1", "SCR_CACHE_SIZE=1", NULL);
    write_ok(job, ctx, 1, OUTPUT);
    write_some(job, ctx, 2, 3);
    job_kill(job, ctx);
    put(job, "mine.txt", "keep");
    ctx = job_start(job, nodes, "SCR_PREFIX_PURGE=1", NULL);
    CHECK(complete_are(job, ""));
    for (int id = 1; id <= 3; id++) {
        char path[40];
        snprintf(path, sizeof path, "step.%d", id);
        CHECK(!job_has(job, path));
        CHECK_ENTRY(job, id, ABSENT, NOT_CURRENT);
    }
    CHECK(job_has(job, "mine.txt"));
    CHECK_INT(ctx->last_id, 3);
    job_check_restart(job, ctx, "d3", 3); /* the cache is another matter */
    job_end(job, ctx);
    CHECK(complete_are(job, "")); /* SCR_FLUSH=0 */
    ctx = job_start(job, nodes, "SCR_FLUSH=10", NULL);
    job_end(job, ctx);
    CHECK(complete_are(job, "3")); /* a dead process */
    ctx = job_start(job, nodes, "SCR_PREFIX_PURGE=1", "SCR_CACHE_PURGE=1", NULL);
    CHECK_INT(job_offered(job, ctx), 0);
    write_some(job, ctx, 4, 4);
    CHECK_INT(ctx->last_id, 4);
    job_kill(job, ctx);
}

/* --- records that are gone, too new, held or torn --- */

JOB_CASE(an_index_that_was_removed_is_rebuilt, 4)
{
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    write_some(job, ctx, 1, 2);
    job_kill(job, ctx);
    job_lose_node(job, nodes);
    put(job, ".scr/index.scr", NULL);
    ctx = job_start(job, nodes, NULL);
    CHECK_ENTRY(job, 2, COMPLETE, CURRENT);
    CHECK_ENTRY(job, 1, COMPLETE, NOT_CURRENT);
    job_check_restart(job, ctx, "d2", 2);
    job_kill(job, ctx);
}

static int set_version(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    (void)err;
    *changed = 1;
    scr_hash_set_val_i64(h, "VERSION", *(int *)arg);
    return SCR_OK;
}

static void set_index_version(struct job *job, int version)
{
    struct mpi_test *t = job->t;
    char path[800];
    snprintf(path, sizeof path, "%s/.scr/index.scr", job->prefix);
    mpi_test_barrier(job->comm);
    if (job->rank == 0)
        CHECK(scr_hash_file_update(&scr_sys_posix, path, 1000, set_version, &version,
                                   NULL) == SCR_OK);
    mpi_test_barrier(job->comm);
}

JOB_CASE(an_index_of_a_newer_version_stops_flushes_and_not_the_run, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_FLUSH=1", "SCR_PREFIX_SIZE=1", NULL);
    write_some(job, ctx, 1, 1);
    set_index_version(job, 3);
    write_some(job, ctx, 2, 3);
    CHECK(scr_cache_is_ready(ctx, 3));
    CHECK(job_write(job, ctx, "d4", 4, OUTPUT, &err) == SCR_E_VERSION);
    CHECK(scr_cache_is_ready(ctx, 4));
    set_index_version(job, 2);
    write_some(job, ctx, 5, 5);
    CHECK(complete_are(job, "5"));
    CHECK_RC(scr_finalize_all(ctx, &err), SCR_OK, &err);
    CHECK(complete_are(job, "4 5"));
    job_kill(job, ctx);
}

JOB_CASE(a_prefix_that_is_gone_for_a_while_costs_no_checkpoint, 4)
{
    char away[800];
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_FLUSH=1", "SCR_PREFIX_SIZE=1", NULL);
    write_some(job, ctx, 1, 1);
    snprintf(away, sizeof away, "%s.away", job->prefix);
    mpi_test_barrier(job->comm);
    CHECK(job->rank != 0 || rename(job->prefix, away) == 0);
    mpi_test_barrier(job->comm);
    write_some(job, ctx, 2, 3);
    CHECK(scr_cache_is_ready(ctx, 3));
    mpi_test_barrier(job->comm);
    mpi_test_remove(job->rank == 0 ? job->prefix : "/nonexistent");
    CHECK(job->rank != 0 || rename(away, job->prefix) == 0);
    mpi_test_barrier(job->comm);
    CHECK(complete_are(job, "1"));
    write_some(job, ctx, 4, 4);
    CHECK(complete_are(job, "4"));
    job_kill(job, ctx);
}

JOB_CASE(a_lock_held_by_a_process_that_died_blocks_no_process, 4)
{
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_FLUSH=1", "SCR_PREFIX_SIZE=1", NULL);
    write_some(job, ctx, 1, 1);
    if (job->rank == 0) {
        char path[800];
        int ready[2];
        snprintf(path, sizeof path, "%s/.scr/index.scr.lock", job->prefix);
        CHECK(pipe(ready) == 0);
        pid_t pid = fork();
        if (pid == 0) {
            struct scr_lock lock = SCR_LOCK_INIT;
            int rc = scr_lock_acquire(&scr_sys_posix, path, 1000, &lock, NULL);
            (void)!write(ready[1], rc == SCR_OK ? "y" : "n", 1);
            for (;;)
                pause();
        }
        char got = 'n';
        CHECK(read(ready[0], &got, 1) == 1 && got == 'y');
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        close(ready[0]);
        close(ready[1]);
    }
    mpi_test_barrier(job->comm);
    write_some(job, ctx, 2, 2);
    CHECK(complete_are(job, "2"));
    job_kill(job, ctx);
}

/* Makes the filemap of n1 one of a later version of the format. */
static void age_filemap(struct job *job, char *path, size_t n)
{
    char dir[860];
    job_node_dir(job, 1, dir, sizeof dir);
    snprintf(path, n, "%s/filemap_0.scrinfo", dir);
    job_set_version(job, path, JOB_NEWER_VERSION);
}

JOB_CASE(filemaps_of_a_newer_version_are_kept_with_what_they_name, 4)
{
    char path[900], aside[920];
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_COPY_TYPE=SINGLE", "SCR_CACHE_SIZE=1", NULL);
    write_some(job, ctx, 1, 1);
    job_kill(job, ctx);
    scr_hash *before = job_cached(job, 1);
    age_filemap(job, path, sizeof path);
    for (int i = 2; i <= 4; i++) { /* n1 alone knows of the dataset */
        char name[4] = { 'n', (char)('0' + i), '\0' };
        job_lose_node(job, name);
    }
    ctx = job_start(job, nodes, "SCR_CACHE_SIZE=1", NULL);
    snprintf(aside, sizeof aside, "%s.newer.1", path);
    CHECK(access(aside, F_OK) == 0);
    CHECK_INT(job_offered(job, ctx), 0);
    CHECK_INT(ctx->last_id, 1); /* its id is in use */
    write_some(job, ctx, 2, 3);
    scr_hash *now = job_cached(job, 1);
    scr_hash *of_n1 = scr_hash_new();
    if (job->rank == 0)
        for (SCR_HASH_EACH(e, before))
            if (strncmp(scr_hash_elem_key(e), "rank.0/", 7) == 0)
                scr_hash_set_val(of_n1, scr_hash_elem_key(e),
                                 scr_hash_get_val(before, scr_hash_elem_key(e)));
    CHECK(job->rank != 0 || scr_hash_size(of_n1) == JOB_FILES);
    CHECK(job_has_kept(job, of_n1, before, now));
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_CACHE_PURGE=1", NULL);
    CHECK(access(aside, F_OK) != 0);
    scr_hash_delete(now);
    now = job_cached(job, 1);
    CHECK(job->rank != 0 || scr_hash_size(now) == 0);
    job_kill(job, ctx);
    scr_hash_delete(of_n1);
    scr_hash_delete(before);
    scr_hash_delete(now);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(output_leaves_the_cache_and_checkpoints_stay_by_count),
                  RUN(every_third_checkpoint_is_flushed_across_restarts_and_failures),
                  RUN(intervals_of_descriptors_continue_after_a_restart),
                  RUN(the_newest_checkpoints_stay_on_the_prefix),
                  RUN(output_is_never_deleted),
                  RUN(files_that_newer_checkpoints_name_too_stay),
                  RUN(the_checkpoint_of_the_restart_stays_until_a_newer_one_is_safe),
                  RUN(a_deletion_that_fails_is_a_warning_and_done_later),
                  RUN(one_that_is_written_again_is_not_deleted_by_what_was_begun),
                  RUN(calls_that_fail_while_old_ones_are_deleted_cost_nothing),
                  RUN(flushes_under_way_neither_stop_retention_nor_lose_files),
                  RUN(what_bypasses_the_cache_is_retained_too),
                  RUN(a_periodic_flush_that_failed_is_made_up_for),
                  RUN(two_jobs_on_one_prefix_lose_nothing_of_each_other),
                  RUN(where_nothing_is_current_the_newest_on_the_prefix_counts),
                  RUN(a_purge_deletes_every_dataset_of_the_prefix_and_nothing_else),
                  RUN(an_index_that_was_removed_is_rebuilt),
                  RUN(an_index_of_a_newer_version_stops_flushes_and_not_the_run),
                  RUN(a_prefix_that_is_gone_for_a_while_costs_no_checkpoint),
                  RUN(a_lock_held_by_a_process_that_died_blocks_no_process),
                  RUN(filemaps_of_a_newer_version_are_kept_with_what_they_name)));
}
