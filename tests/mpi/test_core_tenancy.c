/* SPDX-License-Identifier: BSD-3-Clause */
/* Prefix directories that share a job and its nodes (invariant C13), and runs that
 * share a prefix directory (invariant C7). */
/* ranks: 4 */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "helper_job.h"
#include "helper_stored.h"
#include "helper_walk.h"

/* The second case starts from nothing, writes its own, and ends; then the first
 * continues from its own, in cache and on the prefix. */
MPI_CASE(a_second_prefix_is_not_offered_the_first_ones_checkpoint)
{
    struct job one, two;
    job_new(t, &one, 4);
    job_neighbour(t, &two, &one);
    one.out = two.out = tmpfile();
    struct scr_ctx *ctx = job_start(&one, "n1,n2", NULL);
    job_checkpoint(&one, ctx, "first", 1);
    job_checkpoint(&one, ctx, "second", 2);
    job_kill(&one, ctx);
    ctx = job_start(&two, "n1,n2", "SCR_FLUSH=1", NULL);
    job_check_restart(&two, ctx, NULL, 0);
    job_checkpoint(&two, ctx, "of two", 3);
    CHECK_INT(ctx->last_id, 1);
    job_end(&two, ctx);
    CHECK_INT(job_count(&two, two.prefix, "/step.1/"), 0);
    CHECK_INT(job_count(&two, two.prefix, "/step.2/"), 0);
    CHECK_INT(job_count(&two, two.prefix, "/step.3/"), 4 * JOB_FILES);
    CHECK_INT(job_count(&one, one.prefix, "/step."), 0);
    ctx = job_start(&one, "n1,n2", NULL);
    job_check_restart(&one, ctx, "second", 2);
    job_kill(&one, ctx);
    ctx = job_start(&two, "n1,n2", NULL);
    job_check_restart(&two, ctx, "of two", 3);
    job_kill(&two, ctx);
    CHECK_INT(job_said(&one, "prefix"), 0);
    fclose(one.out);
    job_unshare(&two);
    job_free(&one);
}

/* Output, too: what the first could not flush is not flushed by the second. */
MPI_CASE(a_second_prefix_flushes_nothing_of_the_first)
{
    struct job one, two;
    struct scr_err err = SCR_ERR_INIT;
    job_new(t, &one, 4);
    job_neighbour(t, &two, &one);
    struct scr_ctx *ctx = job_start(&one, "n1,n2", "SCR_FLUSH_ASYNC=1", NULL);
    CHECK_RC(job_write(&one, ctx, "out", 1, SCR_IS_CKPT | SCR_IS_OUTPUT, &err), SCR_OK,
             &err);
    job_kill(&one, ctx);
    ctx = job_start(&two, "n1,n2", "SCR_FLUSH_ON_RESTART=1", NULL);
    job_end(&two, ctx);
    CHECK_INT(job_count(&two, two.prefix, "/step."), 0);
    ctx = job_start(&one, "n1,n2", NULL);
    job_check_restart(&one, ctx, "out", 1);
    job_end(&one, ctx);
    job_unshare(&two);
    job_free(&one);
}

MPI_CASE(a_moved_prefix_finds_its_cache)
{
    struct job job;
    char away[720];
    job_new(t, &job, 4);
    struct scr_ctx *ctx = job_start(&job, "n1,n2", NULL);
    job_checkpoint(&job, ctx, "first", 1);
    job_kill(&job, ctx);
    snprintf(away, sizeof away, "%.690s.moved", job.prefix);
    CHECK(job.rank != 0 || rename(job.prefix, away) == 0);
    memcpy(job.prefix, away, sizeof job.prefix);
    ctx = job_start(&job, "n1,n2", NULL);
    job_check_restart(&job, ctx, "first", 1);
    job_end(&job, ctx);
    job_free(&job);
}

static void copy_identity(const struct job *from, const struct job *to)
{
    char path[800], bytes[4096];
    snprintf(path, sizeof path, "%s/.scr/identity.scr", from->prefix);
    FILE *f = fopen(path, "rb");
    size_t n = f != NULL ? fread(bytes, 1, sizeof bytes, f) : 0;
    if (f != NULL)
        fclose(f);
    snprintf(path, sizeof path, "%s/.scr", to->prefix);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/.scr/identity.scr", to->prefix);
    f = fopen(path, "wb");
    if (f != NULL && fwrite(bytes, 1, n, f) == n)
        fclose(f);
}

/* It warns once that the cache is not its own. */
MPI_CASE(a_copied_prefix_begins_with_an_empty_cache)
{
    struct job one, two;
    job_new(t, &one, 4);
    job_neighbour(t, &two, &one);
    two.out = tmpfile();
    struct scr_ctx *ctx = job_start(&one, "n1,n2", NULL);
    job_checkpoint(&one, ctx, "first", 1);
    job_kill(&one, ctx);
    if (one.rank == 0)
        copy_identity(&one, &two);
    for (int i = 0; i < 2; i++) {
        ctx = job_start(&two, "n1,n2", NULL);
        job_check_restart(&two, ctx, NULL, 0);
        job_end(&two, ctx);
        CHECK_INT(job_said(&two, "prefix2 is a copy: checkpoints in cache stay"), 1);
    }
    ctx = job_start(&one, "n1,n2", NULL);
    job_check_restart(&one, ctx, "first", 1);
    job_end(&one, ctx);
    fclose(two.out);
    job_unshare(&two);
    job_free(&one);
}

/* What is only in cache is found again, and a line reports it. */
JOB_CASE(a_damaged_identity_is_kept_aside_and_restored, 4)
{
    char path[800];
    job->out = tmpfile();
    struct scr_ctx *ctx = job_start(job, "n1,n2", NULL);
    job_checkpoint(job, ctx, "first", 1);
    job_kill(job, ctx);
    snprintf(path, sizeof path, "%s/.scr/identity.scr", job->prefix);
    if (job->rank == 0)
        job_flip(path, 40);
    ctx = job_start(job, "n1,n2", NULL);
    CHECK_INT(job_said(job, "identity.scr.damaged.1"), 1);
    job_check_restart(job, ctx, "first", 1);
    job_end(job, ctx);
    ctx = job_start(job, "n1,n2", NULL);
    CHECK_INT(job_said(job, "damaged"), 1);
    job_end(job, ctx);
    fclose(job->out);
}

/* Every call that rank 0 makes at the first start of a prefix fails in turn, among them
 * those that make the identity: all ranks leave with one code, and the next start goes
 * on. */
MPI_CASE(every_call_of_the_first_start_may_fail)
{
    int fired = 1;
    for (long n = walk_from(0); fired; n = walk_from(n + 1)) {
        struct job job;
        struct scr_err err = SCR_ERR_INIT;
        struct scr_ctx *ctx;
        job_new(t, &job, 4);
        job.sys = &test_fault_sys;
        job.out = tmpfile();
        job_arm(&job, 0, TEST_ANY, n, EIO, TEST_ONCE);
        int rc = job_try_start(&job, &ctx, &err, "n1,n2", NULL);
        fired = job_disarm(&job);
        CHECK(fired || rc == SCR_OK);
        CHECK(job_same_code(&job, rc));
        job_kill(&job, ctx);
        ctx = job_start(&job, "n1,n2", NULL);
        job_checkpoint(&job, ctx, "first", 1);
        job_kill(&job, ctx);
        ctx = job_start(&job, "n1,n2", NULL);
        job_check_restart(&job, ctx, "first", 1);
        job_end(&job, ctx);
        fclose(job.out);
        job_free(&job);
    }
}

/* Neither notices the other. */
MPI_CASE(jobs_with_other_prefixes_run_side_by_side)
{
    static const struct {
        const char *nodes, *setting;
    } apart[] = { { "n1,n2", "SCR_FLUSH=0" },
                  { "n1,n2", "SCR_JOB_ID=another" },
                  { "n3,n4", "SCR_FLUSH=0" } };
    struct job one, two;
    job_new(t, &one, 4);
    job_neighbour(t, &two, &one);
    struct scr_ctx *ctx = job_start(&one, "n1,n2", NULL);
    job_checkpoint(&one, ctx, "first", 1);
    for (size_t i = 0; i < 3; i++) {
        struct scr_ctx *other = job_start(&two, apart[i].nodes, apart[i].setting, NULL);
        job_checkpoint(&two, other, "of two", 2);
        job_checkpoint(&one, ctx, "second", 3);
        job_kill(&two, other);
    }
    job_kill(&one, ctx);
    ctx = job_start(&one, "n1,n2", NULL);
    job_check_restart(&one, ctx, "second", 3);
    job_end(&one, ctx);
    job_unshare(&two);
    job_free(&one);
}

/* --- two runs of one prefix --- */

static void check_refused(struct job *job, const char *nodes)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    static const char *const settings[] = { "SCR_DEBUG=1", NULL };
    struct scr_ctx *ctx = job_make(job, nodes, settings);
    ctx->patience_ms = ctx->lease_ms = 1;
    int rc = scr_init_all(ctx, job->comm, &err);
    CHECK_RC(rc, SCR_E_TAKEN, &err);
    CHECK(job_same_code(job, rc));
    CHECK(strstr(err.text, "/prefix (process ") != NULL);
    CHECK(strstr(err.text, "end that run first, or give this run its own") != NULL);
    job_kill(job, ctx);
}

/* Refused before anything is touched; the first one continues. Also if only one node is
 * the same, or none. */
JOB_CASE(a_second_run_of_a_prefix_is_refused, 4)
{
    struct scr_ctx *ctx = job_start(job, "n1,n2", NULL);
    job_checkpoint(job, ctx, "first", 1);
    scr_hash *before = job_cached(job, 1);
    check_refused(job, "n1,n2");
    check_refused(job, "n2,n3");
    check_refused(job, "n3,n4");
    scr_hash *after = job_cached(job, 1);
    CHECK(job_has_kept(job, before, NULL, after));
    CHECK_INT(job_count(job, job->prefix, "app.conf"), 1);
    job_checkpoint(job, ctx, "second", 2);
    job_kill(job, ctx);
    ctx = job_start(job, "n1,n2", NULL);
    job_check_restart(job, ctx, "second", 2);
    job_end(job, ctx);
    scr_hash_delete(before);
    scr_hash_delete(after);
}

static int hold_node(const struct job *job, struct scr_lock *lock)
{
    char dir[900], path[940];
    job_node_dir(job, 1, dir, sizeof dir);
    snprintf(path, sizeof path, "%s/" SCR_CNTL_JOB_LOCK, dir);
    return scr_lock_acquire(&scr_sys_posix, path, 0, lock, NULL);
}

static int hold_prefix(const struct job *job, struct scr_lock *lock)
{
    char path[900];
    snprintf(path, sizeof path, "%s/.scr/runs.lock", job->prefix);
    return scr_lock_acquire_key(&scr_sys_posix, path, scr_str_key("job"), 0, lock,
                                NULL);
}

/* A process that holds a lock, as one that is ending would, until it is released. */
static pid_t linger(const struct job *job,
                    int (*hold)(const struct job *job, struct scr_lock *lock),
                    int *tell)
{
    char byte = 0;
    int ready[2], go[2];
    if (pipe(ready) != 0 || pipe(go) != 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        struct scr_lock lock = SCR_LOCK_INIT;
        close(go[1]);
        byte = hold(job, &lock) == SCR_OK;
        if (write(ready[1], &byte, 1) == 1 && read(go[0], &byte, 1) < 0)
            _exit(2);
        usleep(200000); /* ends while the next run waits for it */
        _exit(0);
    }
    if (read(ready[0], &byte, 1) != 1 || byte != 1)
        pid = -1;
    close(ready[0]);
    close(ready[1]);
    close(go[0]);
    *tell = go[1];
    return pid;
}

static void wait_for(struct mpi_test *t,
                     int (*hold)(const struct job *job, struct scr_lock *lock))
{
    struct job job;
    int tell = -1;
    job_new(t, &job, 4);
    struct scr_ctx *ctx = job_start(&job, "n1,n2", NULL);
    job_checkpoint(&job, ctx, "first", 1);
    job_kill(&job, ctx);
    pid_t pid = job.rank == 0 ? linger(&job, hold, &tell) : 0;
    CHECK(pid >= 0);
    mpi_test_barrier(job.comm);
    check_refused(&job, "n1,n2");
    if (pid > 0)
        close(tell);
    ctx = job_start(&job, "n1,n2", NULL);
    CHECK(job.rank != 0 || waitpid(pid, NULL, WNOHANG) == pid);
    job_check_restart(&job, ctx, "first", 1);
    job_end(&job, ctx);
    job_free(&job);
}

MPI_CASE(the_next_run_waits_for_processes_of_the_last)
{
    wait_for(t, hold_node);
}

MPI_CASE(the_next_run_waits_for_the_prefix_directory)
{
    wait_for(t, hold_prefix);
}

/* Soon, and once, of which process and until when; at the end what to do. */
static void check_told(struct job *job, int lease_ms, int patience_ms)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    char part[64];
    job->out = tmpfile();
    struct scr_ctx *ctx = job_make(job, "n1,n2", NULL);
    ctx->lease_ms = lease_ms;
    ctx->patience_ms = patience_ms;
    CHECK_RC(scr_init_all(ctx, job->comm, &err), SCR_E_TAKEN, &err);
    CHECK(strstr(err.text, "end that run first") != NULL);
    CHECK(strstr(err.text, "nothing was changed") != NULL);
    snprintf(part, sizeof part, "/prefix (process %ld on ", (long)getpid());
    CHECK_INT(job_said(job, part), 1);
    CHECK_INT(job_said(job, "another run of job job still uses the prefix"), 1);
    CHECK_INT(job_said(job, "waits until 20"), 1);
    CHECK_INT(job_said(job, "(1 s) for it to end: end that run first, or give"), 1);
    job_kill(job, ctx);
    fclose(job->out);
    job->out = NULL;
}

JOB_CASE(a_run_that_waits_says_for_whom_and_until_when, 4)
{
    struct scr_lock lock = SCR_LOCK_INIT;
    struct scr_ctx *ctx = job_start(job, "n1,n2", NULL);
    check_told(job, 1200, 1);
    job_end(job, ctx);
    CHECK(job->rank != 0 || hold_node(job, &lock) == SCR_OK);
    mpi_test_barrier(job->comm);
    check_told(job, 1, 1200);
    scr_lock_release(&scr_sys_posix, &lock);
    mpi_test_barrier(job->comm);
    job_end(job, job_start(job, "n1,n2", NULL));
}

/* Ranks that the mpirun of another MPI starts are runs of one rank each. */
JOB_CASE(a_run_of_one_rank_that_waits_says_what_mpirun_may_have_done, 1)
{
    struct scr_err err = SCR_ERR_INIT;
    if (!job->in)
        return;
    struct scr_ctx *ctx = job_start(job, "n1", NULL);
    job->out = tmpfile();
    struct scr_ctx *other = job_make(job, "n1", NULL);
    other->lease_ms = 1200;
    CHECK_RC(scr_init_all(other, job->comm, &err), SCR_E_TAKEN, &err);
    CHECK(strstr(err.text, "; this run has one rank: if several were started, their "
                           "mpirun is not that of the MPI of the program"));
    CHECK_INT(job_said(job, "for it to end: end that run first, or give this run"), 1);
    CHECK_INT(job_said(job, "; this run has one rank: if several were started, "), 1);
    job_kill(job, other);
    job_end(job, ctx);
    fclose(job->out);
}

/* Without locks there is no protection, and no run is refused. */
JOB_CASE(without_locks_all_continues, 4)
{
    job_end(job, job_start(job, "n1,n2", NULL)); /* the prefix has an identity */
    job->sys = &test_fault_sys;
    job_arm(job, -1, TEST_SETLK, 0, ENOLCK, TEST_ONCE);
    struct scr_ctx *ctx = job_start(job, "n1,n2", NULL);
    CHECK(job_disarm(job));
    job_checkpoint(job, ctx, "first", 1);
    job_end(job, ctx);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(a_second_prefix_is_not_offered_the_first_ones_checkpoint),
                  RUN(a_second_prefix_flushes_nothing_of_the_first),
                  RUN(a_moved_prefix_finds_its_cache),
                  RUN(a_copied_prefix_begins_with_an_empty_cache),
                  RUN(a_damaged_identity_is_kept_aside_and_restored),
                  RUN(every_call_of_the_first_start_may_fail),
                  RUN(jobs_with_other_prefixes_run_side_by_side),
                  RUN(a_second_run_of_a_prefix_is_refused),
                  RUN(a_run_of_one_rank_that_waits_says_what_mpirun_may_have_done),
                  RUN(the_next_run_waits_for_processes_of_the_last),
                  RUN(the_next_run_waits_for_the_prefix_directory),
                  RUN(a_run_that_waits_says_for_whom_and_until_when),
                  RUN(without_locks_all_continues)));
}
