/* SPDX-License-Identifier: BSD-3-Clause */
/* Every system call of a cycle fails once, on one rank, or all do from then on, on all
 * ranks, as if the job had died there: no hang, the same code everywhere, and nothing
 * that was complete is lost. */
/* ranks: 4 */
#include <errno.h>
#include <fcntl.h>

#include "helper_fault.h"
#include "helper_job.h"
#include "helper_stored.h"
#include "helper_walk.h"

static const char *const nodes = "n[1-4]";

static void lose_all_nodes(struct job *job)
{
    for (int i = 1; i <= 4; i++) {
        char name[8];
        snprintf(name, sizeof name, "n%d", i);
        job_lose_node(job, name);
    }
}

struct plan {
    int victim; /* rank whose call fails; -1: all ranks, from then on */
    int error;
    const char *flush; /* "SCR_FLUSH=1": the checkpoint goes to the prefix, and the
                          nodes are lost after it */
};

/* One cycle in which call number n of checkpoint "two" fails, which evicts the oldest
 * and takes its redundancy file over. 0 when there is no call n. */
static int fail_checkpoint(struct mpi_test *t, const struct plan *p, long n)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    job_new(t, &job, t->comm.size);
    job.sys = &test_fault_sys;
    struct scr_ctx *ctx = job_start(&job, nodes, p->flush, NULL);
    job_checkpoint(&job, ctx, "oldest", 3);
    job_checkpoint(&job, ctx, "one", 1);
    job_arm(&job, p->victim, TEST_ANY, n, p->error,
            p->victim < 0 ? TEST_FOREVER : TEST_ONCE);
    int rc = job_write(&job, ctx, "two", 2, 1, &err);
    int fired = job_disarm(&job);
    CHECK(job_same_code(&job, rc));
    CHECK(fired || rc == SCR_OK);
    CHECK(ctx->state == SCR_STATE_IDLE);
    job_kill(&job, ctx);
    job.sys = NULL;
    if (strcmp(p->flush, "SCR_FLUSH=1") == 0)
        lose_all_nodes(&job);
    job_check_one_or_two(&job, nodes,
                         rc == SCR_OK && strcmp(p->flush, "SCR_FLUSH=1") != 0);
    job_free(&job);
    return fired;
}

static void fail_every_call(struct mpi_test *t, const struct plan *p)
{
    long n = walk_from(0), failed = 0;
    for (; n < 2000 && mpi_test_good(t) && fail_checkpoint(t, p, n); failed++)
        n = walk_from(n + 1);
    CHECK(n > 20 && n < 2000);
    if (t->comm.rank == 0)
        printf("       %ld calls failed in turn, of %ld\n", failed, n);
}

MPI_CASE(each_call_of_a_checkpoint_fails_once_on_rank_0)
{
    fail_every_call(t, &(struct plan){ 0, EIO, "SCR_FLUSH=0" });
}

MPI_CASE(each_call_of_a_checkpoint_fails_once_on_another_rank)
{
    fail_every_call(t, &(struct plan){ 2, ENOSPC, "SCR_FLUSH=0" });
}

MPI_CASE(each_call_of_a_flush_fails_once_on_rank_0)
{
    fail_every_call(t, &(struct plan){ 0, EIO, "SCR_FLUSH=1" });
}

MPI_CASE(each_call_of_a_flush_fails_once_on_another_rank)
{
    fail_every_call(t, &(struct plan){ 3, EDQUOT, "SCR_FLUSH=1" });
}

MPI_CASE(the_job_dies_at_each_call_of_a_checkpoint)
{
    fail_every_call(t, &(struct plan){ -1, EIO, "SCR_FLUSH=0" });
}

MPI_CASE(the_job_dies_at_each_call_of_a_flush)
{
    fail_every_call(t, &(struct plan){ -1, EIO, "SCR_FLUSH=1" });
}

/* Calls that know nothing of it fail: the line says which dataset that costs. */
MPI_CASE(a_failed_protection_names_the_dataset)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    job_new(t, &job, t->comm.size);
    job.sys = &test_fault_sys;
    struct scr_ctx *ctx = job_start(&job, nodes, NULL);
    CHECK_RC(scr_start_output_all(ctx, "one", SCR_IS_CKPT, &err), SCR_OK, &err);
    job_arm(&job, 2, TEST_ANY, 0, EIO, TEST_FOREVER);
    int rc = scr_complete_output_all(ctx, 1, &err);
    CHECK(job_disarm(&job));
    CHECK(rc != SCR_OK);
    CHECK(job_same_code(&job, rc));
    CHECK(strncmp(err.text,
                  "SCR_Complete_output: one (dataset 1) is not completed: ", 55) == 0);
    job_kill(&job, ctx);
    job_free(&job);
}

/* Call n of the start fails, with a node to rebuild: a second start must find
 * everything. */
static int fail_start(struct mpi_test *t, int victim, enum test_how how, long n)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx;
    job_new(t, &job, t->comm.size);
    ctx = job_start(&job, nodes, NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    job_lose_node(&job, "n2");
    job.sys = &test_fault_sys;
    job_arm(&job, victim, TEST_ANY, n, EIO, how);
    int rc = job_try_start(&job, &ctx, &err, "n1,n5,n3,n4", NULL);
    int fired = job_disarm(&job);
    CHECK(job_same_code(&job, rc));
    CHECK(fired || rc == SCR_OK);
    job_kill(&job, ctx);
    job.sys = NULL;
    ctx = job_start(&job, "n1,n5,n3,n4", NULL);
    job_check_restart(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    job_free(&job);
    return fired;
}

static void fail_every_start(struct mpi_test *t, int victim, enum test_how how)
{
    long n = walk_from(0), failed = 0;
    for (; n < 2000 && mpi_test_good(t) && fail_start(t, victim, how, n); failed++)
        n = walk_from(n + 1);
    CHECK(n > 20 && n < 2000);
    if (t->comm.rank == 0)
        printf("       %ld calls failed in turn, of %ld\n", failed, n);
}

MPI_CASE(each_call_of_a_rebuilding_start_fails_once)
{
    fail_every_start(t, 0, TEST_ONCE);
    fail_every_start(t, 1, TEST_ONCE); /* the rank that is rebuilt */
}

MPI_CASE(the_job_dies_at_each_call_of_a_rebuilding_start)
{
    fail_every_start(t, -1, TEST_FOREVER);
}

/* --- no room for the filemap of rank 0 when files were moved and rebuilt --- */

static struct {
    struct scr_sys sys;
    int rebuilding; /* 1: it has reported it */
    int skip, full; /* filemaps that can be written then, and after those cannot */
    int failed;     /* calls that did */
} spot;

static int spot_openat(int at, const char *path, int flags, mode_t mode)
{
    spot.rebuilding |= strstr(path, "/phases") != NULL;
    if (!spot.rebuilding || (flags & O_CREAT) == 0 ||
        strstr(path, "filemap_") == NULL || spot.skip-- > 0 || spot.full-- <= 0)
        return scr_sys_posix.openat(at, path, flags, mode);
    spot.failed++;
    errno = ENOSPC;
    return -1;
}

/* A start at which every rank must move to the node of the next one, and rank 0 lacks
 * room. Its lines are in job->out. */
static struct scr_ctx *move_with(struct mpi_test *t, struct job *job, int skip,
                                 int full)
{
    char phases[700];
    job_new(t, job, 4);
    struct scr_ctx *ctx = job_start(job, "n1,n2,n3,n4", NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_kill(job, ctx);
    memset(&spot, 0, sizeof spot);
    spot.sys = scr_sys_posix;
    spot.sys.openat = spot_openat;
    spot.skip = skip;
    spot.full = job->rank == 0 ? full : 0;
    job->sys = &spot.sys;
    job->out = tmpfile();
    snprintf(phases, sizeof phases, "SCR_PHASE_FILE=%s/phases", job->dir);
    return job_start(job, "n2,n3,n4,n1", phases, NULL);
}

/* Files below the directories of the other ranks on a node that is another's now. */
static int seconds_on(struct job *job, int node, int rank)
{
    char dir[900], part[64];
    job_node_dir(job, node, dir, sizeof dir);
    snprintf(part, sizeof part, "/scr.dataset.1/rank.%d/", rank);
    return job_count(job, dir, part);
}

static void move_on(struct job *job, struct scr_ctx *ctx)
{
    job_kill(job, ctx);
    fclose(job->out);
    job->out = NULL;
    job->sys = NULL;
    ctx = job_start(job, "n2,n3,n4,n1", NULL);
    job_check_restart(job, ctx, "one", 1);
    job_kill(job, ctx);
}

/* Files that moved go from where they came from, and then there is. */
MPI_CASE(without_room_for_the_filemap_one_copy_has_to_do)
{
    struct job job;
    struct scr_ctx *ctx = move_with(t, &job, 0, 1);
    CHECK(job.rank != 0 || spot.failed == 1);
    CHECK_INT(seconds_on(&job, 2, 1), 0);
    CHECK_INT(seconds_on(&job, 2, 0), JOB_FILES);
    job_check_restart(&job, ctx, "one", 1);
    move_on(&job, ctx);
    job_free(&job);
}

/* If there is still none, the dataset is refused, and stays. */
MPI_CASE(without_room_at_all_the_files_stay)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    int have = 1;
    struct scr_ctx *ctx = move_with(t, &job, 0, 1000);
    CHECK_RC(scr_have_restart_all(ctx, &have, NULL, &err), SCR_OK, &err);
    CHECK_INT(have, 0);
    CHECK_INT(job_said(&job, "is not restored from cache: "), 1);
    move_on(&job, ctx);
    job_free(&job);
}

MPI_CASE(copies_that_cannot_be_released_are_taken_by_the_next_start)
{
    struct job job;
    struct scr_ctx *ctx = move_with(t, &job, 1, 1000);
    CHECK(job.rank != 0 || spot.failed > 0);
    CHECK_INT(job_said(&job, "copies of moved files stay where they came from: "), 1);
    job_check_restart(&job, ctx, "one", 1);
    move_on(&job, ctx);
    CHECK_INT(seconds_on(&job, 2, 1), 0);
    job_free(&job);
}

MPI_CASE(no_descriptor_is_left_open)
{
    CHECK_INT(test_fault_open_fds(), 0);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(each_call_of_a_checkpoint_fails_once_on_rank_0),
                  RUN(each_call_of_a_checkpoint_fails_once_on_another_rank),
                  RUN(each_call_of_a_flush_fails_once_on_rank_0),
                  RUN(each_call_of_a_flush_fails_once_on_another_rank),
                  RUN(the_job_dies_at_each_call_of_a_checkpoint),
                  RUN(the_job_dies_at_each_call_of_a_flush),
                  RUN(a_failed_protection_names_the_dataset),
                  RUN(each_call_of_a_rebuilding_start_fails_once),
                  RUN(the_job_dies_at_each_call_of_a_rebuilding_start),
                  RUN(without_room_for_the_filemap_one_copy_has_to_do),
                  RUN(without_room_at_all_the_files_stay),
                  RUN(copies_that_cannot_be_released_are_taken_by_the_next_start),
                  RUN(no_descriptor_is_left_open)));
}
