/* SPDX-License-Identifier: BSD-3-Clause */
/* All ranks decide alike after an allocation failed on one of them (invariant C4),
 * because their next steps are collective. Missing memory is an error, never an answer:
 * after "there is no checkpoint" a program would start from the beginning. */
/* ranks: 4 */
#include <errno.h>

#include "base/str.h"
#include "helper_job.h"
#include "helper_memory.h"
#include "par/pfs/flush_async.h"
#include "store/arrival.h"

#define NODES "n[1-4]"

/* Between allocations that fail in turn, where there are many: they are the same with
 * every MPI, and waiting ranks spin on the cores at some. */
#ifdef MPICH_VERSION
enum { FINE = 17, COARSE = 1201 };
#else
enum { FINE = 7, COARSE = 401 };
#endif

/* --- what is alike --- */

static void say_held(const struct scr_ctx *ctx, struct scr_str *s)
{
    for (size_t i = 0; i < ctx->cache.nheld; i++) {
        const struct scr_held *h = &ctx->cache.held[i];
        scr_str_printf(s, " held %d:%d%d%d", h->id, (int)h->state, h->stays, h->told);
        scr_str_printf(s, " %d in %d of %d, %d", h->kind, h->store, h->line, h->losses);
        scr_str_printf(s, " %d%d", h->failed, h->mend);
    }
}

static void say_async(const struct scr_flusher *a, struct scr_str *s)
{
    scr_str_printf(s, " lost %d left %d unsure %d stuck %d", a->daemon_lost,
                   a->leftovers, a->unsure, a->stuck);
    for (int i = 0; i < a->n; i++)
        scr_str_printf(s, " flush %d", scr_flush_async_id(a->flush[i]));
}

static char *say_all(const struct scr_ctx *ctx)
{
    struct scr_str s = SCR_STR_INIT;
    const struct scr_restart *r = &ctx->restart;
    scr_str_printf(&s, "state %d last %d ckpt %d below %d ask %d owed %d from %d,%d",
                   (int)ctx->state, ctx->last_id, ctx->ckpt_id, ctx->choice.below,
                   ctx->choice.ask_again, ctx->flusher.owed, ctx->choice.from_id,
                   ctx->choice.from_last);
    scr_str_printf(&s, " fetched %d halt %d out %d span %d,%d tries %d",
                   ctx->choice.fetched, ctx->halt, ctx->out.id, ctx->sizes.span.id,
                   ctx->sizes.span.line, ctx->sizes.tries);
    scr_str_printf(&s, " restart %d,%d,%d,%d,%d %s", r->id, r->is_foreign, r->in_place,
                   r->share.ranks, r->list != NULL, r->name ? r->name : "");
    say_held(ctx, &s);
    say_async(&ctx->flusher, &s);
    return scr_str_take(&s);
}

/* 1 on all ranks if all say the same. */
static int is_alike(struct job *job, const struct scr_ctx *ctx)
{
    struct scr_comm c = { job->comm, job->rank, job->size };
    char *mine = say_all(ctx);
    int alike = scr_same_all(&c, mine, strlen(mine) + 1);
    if (!alike)
        fprintf(stderr, "rank %d: %s\n", job->rank, mine);
    free(mine);
    return alike;
}

/* --- the walk --- */

struct walk {
    long step;
    /* With the n-th allocation failing. */
    int (*work)(struct job *job, struct scr_ctx *ctx, long n, struct scr_err *err);
    /* After it, with all succeeding; may be NULL. */
    void (*after)(struct job *job, struct scr_ctx *ctx, int rc, long n);
};

/* 0 when there is no allocation n. */
static int fail_one(struct job *job, struct scr_ctx *ctx, const struct walk *w,
                    int victim, long n)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    job_arm(job, victim, JOB_ALLOCATION, n, 0, TEST_ONCE);
    int rc = w->work(job, ctx, n, &err);
    int fired = job_disarm(job);
    CHECK(job_same_code(job, rc));
    if (!is_alike(job, ctx))
        mpi_test_fail(t, __FILE__, __LINE__, "not alike after allocation %ld: %s", n,
                      err.text);
    if (w->after != NULL)
        w->after(job, ctx, rc, n);
    return fired;
}

static void walk(struct job *job, struct scr_ctx *ctx, const struct walk *w)
{
    struct mpi_test *t = job->t;
    struct scr_comm c = { job->comm, job->rank, job->size };
    for (int victim = 0; victim < 3; victim += 2) {
        /* Ranks but 0 have few where the step is fine. */
        long n = 0, step = victim > 0 && w->step == FINE ? 1 : w->step;
        while (scr_and_all(&c, t->failed == 0) && fail_one(job, ctx, w, victim, n))
            n += step;
        CHECK(n > 0);
        if (job->rank == 0)
            printf("       rank %d: %ld allocations\n", victim, n);
    }
}

static struct scr_ctx *begin(struct mpi_test *t, struct job *job, int ranks,
                             const char *one, const char *two)
{
    job_new(t, job, ranks);
    job->out = fopen("/dev/null", "w");
    return job->in ? job_start(job, NODES, one, two, NULL) : NULL;
}

static void finish(struct job *job, struct scr_ctx *ctx)
{
    if (job->in)
        job_kill(job, ctx);
    fclose(job->out);
    job_free(job);
}

/* --- the checkpoint to restart from --- */

/* As if the run had counted on, so that it shows who takes over what count. */
static int find(struct job *job, struct scr_ctx *ctx, long n, struct scr_err *err)
{
    int have;
    (void)job, (void)n;
    ctx->choice.ask_again = 1;
    ctx->ckpt_id = 7;
    return scr_have_restart_all(ctx, &have, NULL, err);
}

/* A program that is not offered "two" gets an error, and "two" when it asks again. */
static void check_two(struct job *job, struct scr_ctx *ctx, int rc, long n)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    int have = 0;
    if (rc == SCR_OK && ctx->restart.id != 2)
        mpi_test_fail(t, __FILE__, __LINE__, "allocation %ld: finds %d", n,
                      ctx->restart.id);
    CHECK_RC(scr_have_restart_all(ctx, &have, NULL, &err), SCR_OK, &err);
    CHECK(have && ctx->restart.id == 2);
}

static void find_each(struct job *job, struct scr_ctx *ctx, long step)
{
    walk(job, ctx, &(struct walk){ step, find, check_two });
}

static void write_two(struct job *job, struct scr_ctx *ctx)
{
    job_checkpoint(job, ctx, "one", 1);
    job_checkpoint(job, ctx, "two", 2);
}

MPI_CASE(the_checkpoint_in_cache)
{
    struct job job;
    struct scr_ctx *ctx = begin(t, &job, 4, "SCR_FLUSH=0", NULL);
    write_two(&job, ctx);
    find_each(&job, ctx, 1);
    finish(&job, ctx);
}

MPI_CASE(the_checkpoint_on_the_prefix)
{
    struct job job;
    struct scr_ctx *ctx = begin(t, &job, 4, "SCR_FLUSH=0", "SCR_CACHE_BYPASS=1");
    write_two(&job, ctx);
    find_each(&job, ctx, FINE);
    finish(&job, ctx);
}

/* Three ranks write, all four read. */
static void find_of_three(struct mpi_test *t, const char *flush, int lost)
{
    struct job three, four;
    struct scr_ctx *ctx = begin(t, &three, 3, flush, NULL);
    if (three.in)
        write_two(&three, ctx);
    if (three.in)
        job_kill(&three, ctx);
    if (three.in && lost)
        job_lose_node(&three, NODES);
    job_share(t, &four, &three, 4);
    four.out = three.out;
    ctx = job_start(&four, NODES, NULL);
    find_each(&four, ctx, FINE);
    job_kill(&four, ctx);
    job_unshare(&four);
    fclose(three.out);
    job_free(&three);
}

MPI_CASE(the_checkpoint_of_a_different_number_of_ranks)
{
    find_of_three(t, "SCR_FLUSH=1", 1);
}

MPI_CASE(the_cached_checkpoint_of_a_different_number_of_ranks)
{
    find_of_three(t, "SCR_FLUSH=0", 0);
}

/* --- what is neither fetched nor deleted --- */

/* Memory lacks once on the victim, and it cannot write a filemap, so that what it
 * fetched cannot be deleted either. Another run: the list of cached datasets grows
 * once. */
static void fail_fetch(struct job *job, int victim, long n)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, NODES, "SCR_FETCH=0", "SCR_FLUSH=0", NULL);
    job_arm(job, victim, JOB_ALLOCATION, n, 0, TEST_ONCE);
    if (job->armed)
        test_fault_arm(TEST_RENAMEAT, 0, EIO, TEST_FOREVER);
    int rc = scr_fetch_dataset_all(ctx, 1, &err);
    (void)test_fault_off();
    CHECK(job_disarm(job));
    CHECK(rc != SCR_OK);
    CHECK(job_same_code(job, rc));
    if (!is_alike(job, ctx))
        mpi_test_fail(t, __FILE__, __LINE__, "not alike after allocation %ld", n);
    else
        job_checkpoint(job, ctx, "two", 2); /* tries the deletion again */
    CHECK(!scr_cache_has(ctx, 1));
    job_kill(job, ctx);
    job_lose_node(job, NODES);
}

MPI_CASE(what_is_neither_fetched_nor_deleted)
{
    enum { FIRST = 20 };
    struct job job;
    struct scr_ctx *ctx = begin(t, &job, 4, "SCR_FLUSH=1", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    job_lose_node(&job, NODES);
    job.sys = &test_fault_sys;
    for (int victim = 0; victim < 3; victim += 2)
        for (long n = 0; n < FIRST && mpi_test_good(t); n++)
            fail_fetch(&job, victim, n);
    fclose(job.out);
    job_free(&job);
}

/* --- checkpoints --- */

static int write_one(struct job *job, struct scr_ctx *ctx, long n, struct scr_err *err)
{
    char name[40];
    snprintf(name, sizeof name, "ckpt.%ld", n);
    return job_write(job, ctx, name, (int)n, 1, err);
}

/* Those that stay listed, because their flush or the retention failed, would make every
 * walk longer than itself. */
static void forget_one(struct job *job, struct scr_ctx *ctx, int rc, long n)
{
    char name[40];
    (void)job;
    snprintf(name, sizeof name, "ckpt.%ld", n);
    if (rc != SCR_OK || ctx->flusher.owed)
        (void)scr_delete_all(ctx, name, NULL);
    scr_retain_all(ctx);
}

static void write_each(struct mpi_test *t, const char *one, const char *two)
{
    struct job job;
    struct scr_ctx *ctx = begin(t, &job, 4, one, two);
    walk(&job, ctx, &(struct walk){ COARSE, write_one, forget_one });
    finish(&job, ctx);
}

MPI_CASE(checkpoints)
{
    write_each(t, "SCR_FLUSH=0", NULL);
}

MPI_CASE(checkpoints_that_are_flushed)
{
    write_each(t, "SCR_FLUSH=1", "SCR_PREFIX_SIZE=2");
}

MPI_CASE(checkpoints_that_bypass_the_cache)
{
    write_each(t, "SCR_CACHE_BYPASS=1", "SCR_PREFIX_SIZE=2");
}

/* --- flushes to be tried again --- */

static int start_flush(struct job *job, struct scr_ctx *ctx, long n,
                       struct scr_err *err)
{
    (void)job, (void)n, (void)err;
    scr_async_start_all(ctx, 1);
    return SCR_OK;
}

/* Where its files go a link leads out of the prefix. */
MPI_CASE(flushes_that_fail)
{
    struct job job;
    char to[800];
    struct scr_ctx *ctx = begin(t, &job, 4, "SCR_FLUSH=0", "SCR_FLUSH_ASYNC=1");
    job_checkpoint(&job, ctx, "one", 1);
    snprintf(to, sizeof to, "%s/step.1", job.prefix);
    if (job.rank == 0)
        CHECK(symlink(job.cache, to) == 0);
    mpi_test_barrier(job.comm);
    walk(&job, ctx, &(struct walk){ FINE, start_flush, NULL });
    finish(&job, ctx);
}

/* --- plans --- */

/* It is complete, or it is not written. */
MPI_CASE(a_plan_lacks_nothing)
{
    struct job job;
    struct scr_ctx *ctx = begin(t, &job, 4, "SCR_FLUSH=1", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    const scr_hash *dset = scr_cache_any_dataset(ctx, 1);
    scr_hash *nodes = scr_hash_new();
    int fired = job.rank == 0;
    scr_hash_setf(nodes, NULL, "%d %d", 0, 4);
    for (long n = 0; fired && t->failed == 0; n++) {
        scr_hash *plan = scr_hash_new();
        test_memory_arm(n, 0);
        int rc = scr_arrival_plan(&ctx->env, &ctx->prefix, 1,
                                  &(struct scr_attempt){ 5, dset, nodes, NULL }, NULL);
        fired = test_memory_off();
        CHECK_INT(rc, fired ? SCR_E_NOMEM : SCR_OK);
        if (rc == SCR_OK)
            CHECK_INT(scr_arrival_plan_read(&ctx->env, &ctx->prefix, 1, plan, NULL),
                      SCR_OK);
        CHECK(rc != SCR_OK || scr_hash_getf(plan, "NODE 0 4") != NULL);
        scr_hash_delete(plan);
    }
    if (job.rank == 0)
        CHECK_INT(scr_arrival_give_up(&ctx->env, &ctx->prefix, 1, NULL), SCR_OK);
    scr_hash_delete(nodes);
    finish(&job, ctx);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(the_checkpoint_in_cache), RUN(the_checkpoint_on_the_prefix),
                  RUN(the_checkpoint_of_a_different_number_of_ranks),
                  RUN(the_cached_checkpoint_of_a_different_number_of_ranks),
                  RUN(what_is_neither_fetched_nor_deleted), RUN(checkpoints),
                  RUN(checkpoints_that_are_flushed),
                  RUN(checkpoints_that_bypass_the_cache), RUN(flushes_that_fail),
                  RUN(a_plan_lacks_nothing)));
}
