/* SPDX-License-Identifier: BSD-3-Clause */
/* Flushes by the transfer process of each node: it continues when the job has died, and
 * the job continues when the process is missing, dies, hangs or fails. */
/* ranks: 4 */
#include <signal.h>

#include "base/hashfile.h"
#include "base/units.h"
#include "fmt/transfer.h"
#include "helper_job.h"
#include "helper_prefix.h"
#include "helper_stored.h"
#include "xfer/daemon.h"

#define PROGRAM "SCR_TRANSFER_PROGRAM=" SCR_TOOL "_transfer"
#define DAEMON  "SCR_FLUSH_ASYNC=1", "SCR_FLUSH=1", "SCR_FLUSH_TYPE=DAEMON", PROGRAM
#define SLOW    "SCR_FLUSH_ASYNC_BW=4000" /* minutes: until it is changed */

static const char *const nodes = "n[1-2]"; /* two ranks each */

/* 1.2 MB of four ranks. */
static long large(int rank, int file, int seed)
{
    (void)rank;
    (void)seed;
    return file < 2 ? 150000 : -1;
}

static void begin(struct mpi_test *t, struct job *job)
{
    job_new(t, job, 4);
    job->size_of = large;
}

static FILE *quiet(struct job *job)
{
    char path[800];
    snprintf(path, sizeof path, "%s/said.%d", job->dir, job->rank);
    return job->out = fopen(path, "w+");
}

/* As job_said; nothing is kept open. */
static int said(struct job *job, const char *part)
{
    int n = job_said(job, part);
    fclose(job->out);
    job->out = NULL;
    return n;
}

/* Waits, without a call to SCR, until the index says that id is complete. */
static int becomes_complete(struct job *job, int id)
{
    for (int ms = 0; ms < MPI_TEST_PATIENCE_MS; ms += 25) {
        int all = 0, mine = job_entry(job, id, NULL, NULL) == 1;
        MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, job->comm); /* each reads */
        if (all)
            return 1;
        usleep(25000);
    }
    return 0;
}

/* The process of this rank's node, 0: none. */
static pid_t process_of(const char *cntl_dir)
{
    struct scr_lock_holder who;
    int rc = scr_daemon_look(&scr_sys_posix, cntl_dir, &who, NULL);
    return rc == SCR_OK && who.held ? (pid_t)who.pid : 0;
}

/* One rank of each node signals its process. */
static void signal_processes(struct mpi_test *t, struct job *job, struct scr_ctx *ctx,
                             int signo)
{
    pid_t pid = process_of(ctx->cntl_dir);
    CHECK(pid > 1);
    mpi_test_barrier(job->comm);
    if (ctx->node.rank == 0 && pid > 1)
        kill(pid, signo);
    mpi_test_barrier(job->comm);
}

/* 1 if the process ends. */
static int ends(const char *cntl_dir)
{
    pid_t pid = process_of(cntl_dir);
    for (int ms = 0; ms < MPI_TEST_PATIENCE_MS && pid != 0; ms += 25) {
        usleep(25000);
        pid = process_of(cntl_dir);
    }
    return pid == 0;
}

static int count_parts(struct job *job)
{
    return job_count(job, job->prefix, ".scr-part");
}

MPI_CASE(one_process_a_node_copies_and_ends_with_the_run)
{
    struct job job;
    begin(t, &job);
    struct scr_ctx *ctx = job_start(&job, nodes, DAEMON, "SCR_FLUSH_WIDTH=1", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    CHECK(becomes_complete(&job, 1));
    pid_t pid = process_of(ctx->cntl_dir), other = 0;
    CHECK(pid > 1 && pid != getpid());
    MPI_Allreduce(&pid, &other, 1, MPI_INT, MPI_MAX, ctx->node.comm);
    CHECK_INT(pid, other);
    MPI_Allreduce(&pid, &other, 1, MPI_INT, MPI_SUM, job.comm);
    CHECK(other != 4 * pid);
    job_checkpoint(&job, ctx, "two", 2);
    char *dir = strdup(ctx->cntl_dir);
    job_end(&job, ctx);
    CHECK_ENTRY(&job, 2, COMPLETE, CURRENT);
    CHECK(ends(dir));
    CHECK_INT(count_parts(&job), 0);
    free(dir);
    job_check_prefix(&job, nodes, "two", 2);
    job_free(&job);
}

/* The command for the process of a node, and its limit for dataset 1. */
struct order {
    enum scr_transfer_command command;
    double bw;
};

static int edit_order(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    const struct order *o = arg;
    struct scr_transfer is;
    int rc = scr_transfer_get(h, &is, err);
    if (rc != SCR_OK)
        return rc;
    is.command = o->command;
    scr_transfer_set_limit(scr_hash_getf(h, "DSET 1"), "BW", o->bw);
    *changed = 1;
    return scr_transfer_set(h, &is);
}

static void give_order(struct mpi_test *t, const char *cntl_dir, const struct order *o)
{
    char path[900];
    struct scr_err err = SCR_ERR_INIT;
    snprintf(path, sizeof path, "%s/" SCR_TRANSFER_FILE, cntl_dir);
    CHECK_RC(scr_hash_file_update(&scr_sys_posix, path, MPI_TEST_PATIENCE_MS,
                                  edit_order, (void *)o, &err),
             SCR_OK, &err);
}

/* The content of the file of this rank's node. */
static struct scr_transfer look(const char *cntl_dir, double *bw)
{
    char path[900];
    struct scr_transfer is = { 0 };
    scr_hash *h = scr_hash_new();
    snprintf(path, sizeof path, "%s/" SCR_TRANSFER_FILE, cntl_dir);
    if (scr_hash_file_read(&scr_sys_posix, path, h, NULL) == SCR_OK)
        (void)scr_transfer_get(h, &is, NULL);
    if (bw != NULL)
        (void)scr_transfer_get_limit(scr_hash_getf(h, "DSET 1"), "BW", bw);
    scr_hash_delete(h);
    return is;
}

/* Waits until the process of this rank's node copies, or has stopped to. */
static void wait_until_running(struct mpi_test *t, const char *cntl_dir, int running)
{
    int ms = 0;
    for (; ms < MPI_TEST_PATIENCE_MS && look(cntl_dir, NULL).running != running;
         ms += 5)
        usleep(5000);
    CHECK(ms < MPI_TEST_PATIENCE_MS);
}

/* One rank of each node takes the limit away. */
static void hasten(struct mpi_test *t, const char *cntl_dir)
{
    give_order(t, cntl_dir, &(struct order){ SCR_TRANSFER_STOP, 0 });
    wait_until_running(t, cntl_dir, 0);
    give_order(t, cntl_dir, &(struct order){ SCR_TRANSFER_RUN, 0 });
}

MPI_CASE(the_dataset_is_complete_although_the_job_is_dead)
{
    struct job job;
    begin(t, &job);
    struct scr_ctx *ctx = job_start(&job, nodes, DAEMON, SLOW, NULL);
    job_checkpoint(&job, ctx, "one", 1);
    CHECK_ENTRY(&job, 1, INCOMPLETE, NOT_CURRENT);
    wait_until_running(t, ctx->cntl_dir, 1);
    char *dir = ctx->node.rank == 0 ? strdup(ctx->cntl_dir) : NULL;
    job_kill(&job, ctx);
    if (dir != NULL)
        hasten(t, dir);
    free(dir);
    CHECK(becomes_complete(&job, 1));
    job_check_prefix(&job, nodes, "one", 1);
    job_free(&job);
}

MPI_CASE(the_next_run_takes_over_what_is_being_copied)
{
    struct job job;
    begin(t, &job);
    struct scr_ctx *ctx = job_start(&job, nodes, DAEMON, SLOW, NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    ctx = job_start(&job, nodes, DAEMON, NULL); /* resumes at full speed */
    job_check_restart(&job, ctx, "one", 1);
    CHECK(becomes_complete(&job, 1));
    job_kill(&job, ctx);
    CHECK_INT(count_parts(&job), 0);
    job_check_prefix(&job, nodes, "one", 1);
    job_free(&job);
}

/* P16: names that each checkpoint has. */
MPI_CASE(an_older_dataset_is_complete_until_the_first_of_its_files_is_replaced)
{
    struct job job;
    begin(t, &job);
    struct scr_ctx *ctx = job_start(&job, nodes, DAEMON, NULL);
    job_checkpoint(&job, ctx, "one", 1);
    CHECK(becomes_complete(&job, 1));
    CHECK_INT(scr_async_wait_all(ctx, 0, NULL), SCR_OK);
    signal_processes(t, &job, ctx, SIGSTOP);
    job_checkpoint(&job, ctx, "two", 1);
    CHECK_ENTRY(&job, 2, INCOMPLETE, NOT_CURRENT);
    CHECK_ENTRY(&job, 1, COMPLETE, CURRENT);
    CHECK(job_copied_ok(&job, 1));
    signal_processes(t, &job, ctx, SIGCONT);
    CHECK(becomes_complete(&job, 2));
    CHECK(job_entry(&job, 1, NULL, NULL) != 1);
    job_end(&job, ctx);
    job_check_prefix(&job, nodes, "two", 1);
    job_free(&job);
}

MPI_CASE(the_bandwidth_is_that_of_the_job)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    begin(t, &job);
    struct scr_ctx *ctx =
        job_start(&job, nodes, DAEMON, "SCR_FLUSH_ASYNC_BW=400000", NULL);
    double start = scr_now_mono(), mine = 0, all = 0;
    job_checkpoint(&job, ctx, "one", 1);
    if (ctx->node.rank == 0)
        (void)look(ctx->cntl_dir, &mine);
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, job.comm);
    CHECK_INT(all, 400000); /* the nodes share it */
    CHECK_RC(scr_async_wait_all(ctx, 1, &err), SCR_OK, &err);
    CHECK(scr_now_mono() - start > 2.5); /* of three seconds */
    job_end(&job, ctx);
    job_free(&job);
}

/* One rank of each node takes a lock in its control directory; the file then does not
 * say who that is. */
static void take_lock(struct mpi_test *t, const char *cntl_dir, const char *name,
                      int takes, struct scr_lock *lock)
{
    char path[900];
    struct scr_err err = SCR_ERR_INIT;
    *lock = (struct scr_lock)SCR_LOCK_INIT;
    snprintf(path, sizeof path, "%s/%s", cntl_dir, name);
    if (takes) {
        CHECK_RC(
            scr_lock_acquire(&scr_sys_posix, path, MPI_TEST_PATIENCE_MS, lock, &err),
            SCR_OK, &err);
        CHECK_INT(truncate(path, 0), 0);
    }
    mpi_test_barrier(t->comm.comm);
}

static void give_lock_back(struct mpi_test *t, struct scr_lock *lock)
{
    if (lock->fd >= 0)
        scr_lock_release(&scr_sys_posix, lock);
    mpi_test_barrier(t->comm.comm);
}

/* The process of this rank's node copies dataset 1, or all files exist. */
static int has_begun(const struct job *job, const char *cntl_dir)
{
    char path[900];
    snprintf(path, sizeof path, "%s/.scr/scr.dataset.1/summary.scr", job->prefix);
    return look(cntl_dir, NULL).running || access(path, F_OK) == 0;
}

/* All has arrived, and the dataset is complete, before they can report it. One rank a
 * node: of two a process may begin with the first one's files, and could not read of
 * the others while the test has the lock. */
MPI_CASE(processes_that_die_unnoticed_have_done_their_work)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_lock file;
    begin(t, &job);
    struct scr_ctx *ctx =
        job_start(&job, "n[1-4]", DAEMON, "SCR_FLUSH_ASYNC_BW=800000", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    for (int ms = 0; ms < MPI_TEST_PATIENCE_MS && !has_begun(&job, ctx->cntl_dir); ms++)
        usleep(1000);
    take_lock(t, ctx->cntl_dir, SCR_TRANSFER_FILE ".lock", ctx->node.rank == 0, &file);
    CHECK(becomes_complete(&job, 1));
    signal_processes(t, &job, ctx, SIGKILL);
    CHECK(ends(ctx->cntl_dir));
    give_lock_back(t, &file);
    CHECK_RC(scr_async_wait_all(ctx, 1, &err), SCR_OK, &err);
    CHECK_INT(scr_cache_held(ctx, 1)->failed, 0);
    CHECK_ENTRY(&job, 1, COMPLETE, CURRENT);
    job_end(&job, ctx);
    CHECK_ENTRY(&job, 1, COMPLETE, CURRENT);
    job_check_prefix(&job, "n[1-4]", "one", 1);
    job_free(&job);
}

/* A process that cannot be killed, here an unknown one. */
MPI_CASE(nothing_is_written_while_a_lost_process_may_write)
{
    struct job job;
    struct scr_lock life;
    begin(t, &job);
    quiet(&job);
    struct scr_ctx *ctx = job_start(&job, nodes, DAEMON, SLOW, NULL);
    job_checkpoint(&job, ctx, "one", 1);
    wait_until_running(t, ctx->cntl_dir, 1);
    signal_processes(t, &job, ctx, SIGKILL);
    CHECK(ends(ctx->cntl_dir));
    mpi_test_barrier(job.comm); /* else a rank may still look, and find it taken */
    take_lock(t, ctx->cntl_dir, SCR_TRANSFER_LIFE, ctx->node.rank == 0, &life);
    job_kill(&job, ctx);
    ctx = job_start(&job, nodes, DAEMON, "SCR_TRANSFER_TIMEOUT=1", "SCR_CACHE_SIZE=3",
                    NULL);
    job_check_restart(&job, ctx, "one", 1);
    job_checkpoint(&job, ctx, "two", 2);
    CHECK(!scr_async_has(ctx, 1) && !scr_async_has(ctx, 2));
    CHECK(scr_cache_is_ready(ctx, 1) && scr_cache_is_ready(ctx, 2));
    CHECK(job_entry(&job, 1, NULL, NULL) != 1);
    CHECK(job_entry(&job, 2, NULL, NULL) != 1);
    give_lock_back(t, &life);
    job_checkpoint(&job, ctx, "three", 3);
    CHECK(becomes_complete(&job, 1));
    CHECK(becomes_complete(&job, 2));
    CHECK(becomes_complete(&job, 3));
    job_end(&job, ctx);
    CHECK(said(&job, "it may still write") > 0);
    job_check_prefix(&job, nodes, "three", 3);
    job_free(&job);
}

/* The run continues, and threads copy what the processes did not. A rank that finds out
 * after another rank of its node has killed the process prints the other one (NULL:
 * neither is possible). */
static void lose_processes(struct mpi_test *t, int signo, const char *cause,
                           const char *other)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    begin(t, &job);
    quiet(&job);
    struct scr_ctx *ctx =
        job_start(&job, nodes, DAEMON, SLOW,
                  /* a busy machine keeps no living process silent for that long */
                  signo == SIGSTOP ? "SCR_TRANSFER_TIMEOUT=3" : "SCR_DEBUG=0", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    wait_until_running(t, ctx->cntl_dir, 1);
    signal_processes(t, &job, ctx, signo);
    CHECK(scr_async_wait_all(ctx, 1, &err) != SCR_OK);
    CHECK(scr_cache_is_ready(ctx, 1));
    CHECK(ends(ctx->cntl_dir));
    CHECK_ENTRY(&job, 1, INCOMPLETE, NOT_CURRENT);
    ctx->prm.flush_async_bw = 0;
    job_checkpoint(&job, ctx, "two", 2);
    CHECK(becomes_complete(&job, 1));
    CHECK(becomes_complete(&job, 2));
    CHECK_INT(process_of(ctx->cntl_dir), 0);
    CHECK_INT(count_parts(&job), 0);
    job_end(&job, ctx);
    CHECK_INT((other != NULL ? job_said(&job, other) : 0) + said(&job, cause), 1);
    job_check_prefix(&job, nodes, "two", 2);
    job_free(&job);
}

MPI_CASE(killed_processes_cost_no_checkpoint)
{
    static const char cause[] = "by threads of the processes: the transfer "
                                "process in";
    lose_processes(t, SIGKILL, cause, NULL);
}

MPI_CASE(stuck_processes_cost_no_checkpoint)
{
    lose_processes(t, SIGSTOP, "no sign of life", "has died");
}

/* Before the job dies the process does: what had landed is not copied again. */
MPI_CASE(a_flush_whose_job_and_processes_died_continues)
{
    struct job job;
    begin(t, &job);
    struct scr_ctx *ctx = job_start(&job, nodes, DAEMON, SLOW, NULL);
    job_checkpoint(&job, ctx, "one", 1);
    wait_until_running(t, ctx->cntl_dir, 1);
    signal_processes(t, &job, ctx, SIGKILL);
    job_kill(&job, ctx);
    CHECK_ENTRY(&job, 1, INCOMPLETE, NOT_CURRENT);
    ctx = job_start(&job, nodes, DAEMON, NULL);
    CHECK(becomes_complete(&job, 1));
    CHECK_INT(count_parts(&job), 0);
    job_end(&job, ctx);
    job_check_prefix(&job, nodes, "one", 1);
    job_free(&job);
}

static void no_program(struct mpi_test *t, const char *setting, const char *cause)
{
    struct job job;
    begin(t, &job);
    quiet(&job);
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_FLUSH_ASYNC=1", "SCR_FLUSH=1",
                                    "SCR_FLUSH_TYPE=DAEMON", setting, NULL);
    job_checkpoint(&job, ctx, "one", 1);
    CHECK(becomes_complete(&job, 1));
    job_checkpoint(&job, ctx, "two", 2);
    job_end(&job, ctx);
    CHECK_ENTRY(&job, 2, COMPLETE, CURRENT);
    CHECK_INT(said(&job, cause), 1);
    job_check_prefix(&job, nodes, "two", 2);
    job_free(&job);
}

MPI_CASE(without_the_program_threads_copy)
{
    no_program(t, "SCR_TRANSFER_PROGRAM=/nowhere/scr_transfer",
               "threads of the processes copy: transfer process "
               "(SCR_TRANSFER_PROGRAM): start /nowhere/scr_transfer: no such file");
    no_program(t, "SCR_TRANSFER_PROGRAM=/bin/false", "/bin/false ended with status 1");
}

MPI_CASE(what_the_process_cannot_write_is_tried_again)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    char path[900];
    begin(t, &job);
    quiet(&job);
    struct scr_ctx *ctx = job_start(&job, nodes, DAEMON, NULL);
    snprintf(path, sizeof path, "%s/step.1", job.prefix);
    mkdir(path, 0700);
    mpi_test_barrier(job.comm);
    snprintf(path, sizeof path, "%s/step.1/file0.2", job.prefix);
    if (job.rank == 2)
        CHECK_INT(mkdir(path, 0700), 0);
    mpi_test_barrier(job.comm);
    job_checkpoint(&job, ctx, "one", 1);
    CHECK(scr_async_wait_all(ctx, 1, &err) != SCR_OK);
    CHECK(scr_cache_is_ready(ctx, 1));
    pid_t pid = process_of(ctx->cntl_dir);
    CHECK(pid > 1);
    if (job.rank == 2)
        CHECK_INT(rmdir(path), 0);
    mpi_test_barrier(job.comm);
    job_checkpoint(&job, ctx, "two", 2);
    CHECK(becomes_complete(&job, 1));
    CHECK(becomes_complete(&job, 2));
    CHECK_INT(process_of(ctx->cntl_dir), pid);
    job_end(&job, ctx);
    CHECK_INT(said(&job, "file0.2"), 1);
    job_check_prefix(&job, nodes, "two", 2);
    job_free(&job);
}

MPI_CASE(a_dropped_dataset_is_released)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    begin(t, &job);
    struct scr_ctx *ctx = job_start(&job, nodes, DAEMON, SLOW, NULL);
    job_checkpoint(&job, ctx, "one", 1);
    double start = scr_now_mono();
    CHECK_RC(scr_cache_delete_all(ctx, 1, &err), SCR_OK, &err);
    CHECK(scr_now_mono() - start < 100); /* of 300 */
    CHECK_ENTRY(&job, 1, INCOMPLETE, NOT_CURRENT);
    CHECK_INT(count_parts(&job), 0);
    ctx->prm.flush_async_bw = 0;
    job_checkpoint(&job, ctx, "two", 2);
    job_end(&job, ctx);
    CHECK_ENTRY(&job, 1, INCOMPLETE, NOT_CURRENT);
    CHECK_ENTRY(&job, 2, COMPLETE, CURRENT);
    job_free(&job);
}

MPI_CASE(a_process_that_was_there_is_used_and_stays)
{
    struct job job;
    begin(t, &job);
    struct scr_ctx *ctx = job_start(&job, nodes, DAEMON, NULL);
    char *dir = strdup(ctx->cntl_dir);
    job_checkpoint(&job, ctx, "one", 1);
    CHECK(becomes_complete(&job, 1));
    pid_t pid = process_of(dir);
    job_kill(&job, ctx); /* without a request to end */
    ctx = job_start(&job, nodes, DAEMON, NULL);
    job_checkpoint(&job, ctx, "two", 2);
    job_end(&job, ctx);
    CHECK_ENTRY(&job, 2, COMPLETE, CURRENT);
    CHECK_INT(process_of(dir), pid);
    free(dir);
    job_free(&job);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(
            RUN(one_process_a_node_copies_and_ends_with_the_run),
            RUN(the_dataset_is_complete_although_the_job_is_dead),
            RUN(the_next_run_takes_over_what_is_being_copied),
            RUN(an_older_dataset_is_complete_until_the_first_of_its_files_is_replaced),
            RUN(the_bandwidth_is_that_of_the_job),
            RUN(processes_that_die_unnoticed_have_done_their_work),
            RUN(nothing_is_written_while_a_lost_process_may_write),
            RUN(killed_processes_cost_no_checkpoint),
            RUN(stuck_processes_cost_no_checkpoint),
            RUN(a_flush_whose_job_and_processes_died_continues),
            RUN(without_the_program_threads_copy),
            RUN(what_the_process_cannot_write_is_tried_again),
            RUN(a_dropped_dataset_is_released),
            RUN(a_process_that_was_there_is_used_and_stays)));
}
