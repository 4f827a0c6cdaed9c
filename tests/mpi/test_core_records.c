/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of datasets that are gone, too new, held or torn, and two jobs on one
 * prefix. */
/* ranks: 4 */
#include "base/lock.h"
#include "core/retain.h"
#include "helper_datasets.h"
#include "helper_prefix.h"
#include "helper_stored.h"
#include "helper_walk.h"
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

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

/* Rank 0 reads the flush file. */
static int is_called_copied(struct job *job, int id)
{
    struct scr_env env = { .sys = &scr_sys_posix };
    struct scr_prefix p = { 0 };
    int location = 0;
    mpi_test_barrier(job->comm);
    if (job->rank == 0 && scr_prefix_open(&env, job->prefix, 0, &p, NULL) == SCR_OK) {
        scr_hash *h = scr_hash_new();
        (void)scr_prefix_state_read(&env, &p, "flush.scr", h, NULL);
        location = scr_flush_get_location(h, id);
        scr_hash_delete(h);
        scr_prefix_fini(&p);
    }
    MPI_Bcast(&location, 1, MPI_INT, 0, job->comm);
    return (location & SCR_LOC_PFS) != 0;
}

/* SCR_PREFIX_SIZE of one job deletes a checkpoint that another one has in cache while
 * call number n fails on rank 0. 0 when there is no call n. */
static int retire_anothers(struct mpi_test *t, long n)
{
    struct job job;
    job_new(t, &job, 4);
    struct scr_ctx *ctx =
        job_start(&job, "m[1-4]", "SCR_FLUSH=1", "SCR_JOB_ID=other", NULL);
    write_some(&job, ctx, 1, 1);
    job_kill(&job, ctx);
    CHECK(is_called_copied(&job, 1));
    job.sys = &test_fault_sys;
    ctx = job_start(&job, nodes, "SCR_FLUSH=1", "SCR_FETCH=0", NULL);
    write_some(&job, ctx, 2, 2);
    ctx->prm.prefix_size = 1;
    job_arm(&job, 0, TEST_ANY, n, EIO, TEST_ONCE);
    scr_retain_all(ctx);
    int fired = job_disarm(&job);
    job_kill(&job, ctx);
    int is_there = job_entry(&job, 1, NULL, NULL) == COMPLETE;
    CHECK(is_there || !is_called_copied(&job, 1));
    CHECK(fired || !is_there);
    job_free(&job);
    return fired;
}

/* The other job would look for it there, and not in its cache. */
MPI_CASE(a_retired_checkpoint_of_another_job_is_not_called_copied)
{
    long n = walk_from(0);
    while (n < 2000 && mpi_test_good(t) && retire_anothers(t, n))
        n = walk_from(n + 1);
    CHECK(n > 20 && n < 2000);
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
        MPI_CASES(RUN(two_jobs_on_one_prefix_lose_nothing_of_each_other),
                  RUN(a_retired_checkpoint_of_another_job_is_not_called_copied),
                  RUN(where_nothing_is_current_the_newest_on_the_prefix_counts),
                  RUN(an_index_that_was_removed_is_rebuilt),
                  RUN(an_index_of_a_newer_version_stops_flushes_and_not_the_run),
                  RUN(a_prefix_that_is_gone_for_a_while_costs_no_checkpoint),
                  RUN(a_lock_held_by_a_process_that_died_blocks_no_process),
                  RUN(filemaps_of_a_newer_version_are_kept_with_what_they_name)));
}
