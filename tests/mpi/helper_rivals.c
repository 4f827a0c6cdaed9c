/* SPDX-License-Identifier: BSD-3-Clause */
#include "helper_rivals.h"

#include "base/str.h"

static void move_dir(struct job *job, const char *from, const char *to)
{
    struct mpi_test *t = job->t;
    mpi_test_barrier(job->comm);
    if (job->rank == 0) {
        mpi_test_remove(to);
        CHECK_INT(rename(from, to), 0);
    }
    mpi_test_barrier(job->comm);
}

void rivals_take_away(struct job *job, int node, int back)
{
    char *here = scr_asprintf("%s/vnode.n%d", job->cache, node);
    char *away = scr_asprintf("%s/away.n%d", job->dir, node);
    move_dir(job, back ? away : here, back ? here : away);
    free(away);
    free(here);
}

void rivals_forget(struct job *job)
{
    char *path = scr_asprintf("%s/.scr/flush.scr", job->prefix);
    mpi_test_barrier(job->comm);
    if (job->rank == 0)
        unlink(path);
    free(path);
    mpi_test_barrier(job->comm);
}

void rivals_two_runs(struct job *job, const char *scheme, const char *first,
                     const int *stale, int flags)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, first, scheme, NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_checkpoint(job, ctx, "two", 2);
    job_kill(job, ctx);
    for (int i = 0; stale[i] != 0; i++)
        rivals_take_away(job, stale[i], 0);
    job_lose_node(job, RIVALS_NODES);
    rivals_forget(job);
    ctx = job_start(job, RIVALS_NODES, scheme, NULL);
    CHECK_RC(job_write(job, ctx, "one", 11, SCR_IS_CKPT | flags, &err), SCR_OK, &err);
    job_checkpoint(job, ctx, "two", 12);
    CHECK_INT(ctx->last_id, 2);
    job_kill(job, ctx);
    for (int i = 0; stale[i] != 0; i++)
        rivals_take_away(job, stale[i], 1);
}
