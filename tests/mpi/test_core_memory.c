/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank is short of memory: an allocation fails there once, or all do from then on.
 * No hang, no crash, the same code everywhere, and a later run finds the newest
 * checkpoint: that memory is short says nothing about a dataset. */
/* ranks: 4 */
#include "helper_job.h"

#define NODES "n[1-4]"
#define SET(...)                                                                       \
    (const char *const[])                                                              \
    {                                                                                  \
        __VA_ARGS__, NULL                                                              \
    }

/* Between allocations that fail in turn: they are the same with every MPI, and waiting
 * ranks spin on the cores at some. */
#ifdef MPICH_VERSION
enum { STEP = 6007 };
#else
enum { STEP = 2003 };
#endif

struct plan {
    const char *const *set; /* settings of the job */
    /* The memory that runs short; "one" and, with has_two, "two" exist. A start if
     * NULL: of a job whose nodes `lost` are lost, on the nodes `next`. */
    int (*work)(struct job *job, struct scr_ctx *ctx, struct scr_err *err);
    int has_two;
    const char *lost, *next;
    int goes_back;    /* it may leave "one" as the checkpoint to restart from */
    const char *gone; /* nodes that are lost afterwards */
};

static const char *nodes_of(const struct plan *p)
{
    return p->next != NULL ? p->next : NODES;
}

static int start_or_work(const struct plan *p, struct job *job, struct scr_ctx **ctx,
                         int victim, long n, enum test_how how)
{
    struct scr_err err = SCR_ERR_INIT;
    if (p->work == NULL)
        *ctx = job_make(job, nodes_of(p), p->set);
    job_arm(job, victim, JOB_ALLOCATION, n, 0, how);
    return p->work != NULL ? p->work(job, *ctx, &err)
                           : scr_init_all(*ctx, job->comm, &err);
}

/* A later run. */
static void look_back(struct job *job, struct scr_ctx *ctx, const struct plan *p,
                      int rc)
{
    job_kill(job, ctx);
    if (p->gone != NULL)
        job_lose_node(job, p->gone);
    job_check_one_or_two(job, nodes_of(p),
                         p->has_two ? !p->goes_back : rc == SCR_OK && p->gone == NULL);
}

/* It costs one dataset, not the run. */
static void go_on(struct job *job, struct scr_ctx *ctx, const struct plan *p)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    CHECK_RC(job_write(job, ctx, "three", 3, 1, &err), SCR_OK, &err);
    CHECK_RC(scr_async_wait_all(ctx, 0, &err), SCR_OK, &err);
    job_kill(job, ctx);
    if (p->gone != NULL)
        job_lose_node(job, p->gone);
    ctx = job_start(job, nodes_of(p), NULL);
    job_check_restart(job, ctx, "three", 3);
    job_kill(job, ctx);
}

static int write_two(struct job *job, struct scr_ctx *ctx, struct scr_err *err)
{
    int rc = job_write(job, ctx, "two", 2, 1, err);
    (void)scr_async_wait_all(ctx, 0, NULL);
    return rc;
}

/* 0 when there is no allocation n. */
static int fail_one(struct mpi_test *t, const struct plan *p, int victim, long n,
                    enum test_how how)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx;
    job_new(t, &job, t->comm.size);
    job.out = fopen("/dev/null", "w");
    CHECK_RC(job_try_start(&job, &ctx, &err, NODES, p->set), SCR_OK, &err);
    job_checkpoint(&job, ctx, "one", 1);
    if (p->has_two)
        job_checkpoint(&job, ctx, "two", 2);
    CHECK_RC(scr_async_wait_all(ctx, 0, &err), SCR_OK, &err);
    if (p->work == NULL)
        job_kill(&job, ctx);
    if (p->lost != NULL)
        job_lose_node(&job, p->lost);
    int rc = start_or_work(p, &job, &ctx, victim, n, how);
    int fired = job_disarm(&job);
    CHECK(job_same_code(&job, rc));
    CHECK(fired || rc == SCR_OK);
    if (p->work == write_two && n % 2 != 0)
        go_on(&job, ctx, p);
    else
        look_back(&job, ctx, p, rc);
    fclose(job.out);
    job_free(&job);
    return fired;
}

static void fail_some(struct mpi_test *t, const struct plan *p, int victim,
                      enum test_how how)
{
    enum { MOST = 100000 };
    long n = victim, tried = 0;
    for (; n < MOST && mpi_test_good(t) && fail_one(t, p, victim, n, how); tried++)
        n += STEP;
    CHECK(n > victim && n < MOST);
    if (t->comm.rank == 0)
        printf("       rank %d: %ld allocations failed in turn, of %ld\n", victim,
               tried, n);
}

static void fail_all(struct mpi_test *t, const struct plan *p)
{
    fail_some(t, p, 0, TEST_ONCE);
    fail_some(t, p, 2, TEST_ONCE);
    fail_some(t, p, 1, TEST_FOREVER);
}

/* --- what runs short --- */

static int go_to_one(struct job *job, struct scr_ctx *ctx, struct scr_err *err)
{
    (void)job;
    return scr_current_all(ctx, "one", err);
}

static int delete_two(struct job *job, struct scr_ctx *ctx, struct scr_err *err)
{
    (void)job;
    return scr_delete_all(ctx, "two", err);
}

/* Also the first of what a refusal leads to: an older checkpoint. */
static int refuse_two(struct job *job, struct scr_ctx *ctx, struct scr_err *err)
{
    char name[SCR_MAX_NAME];
    (void)job;
    int have = 0, n = 0, rc = scr_have_restart_all(ctx, &have, name, err);
    if (rc == SCR_OK && have)
        rc = scr_start_restart_all(ctx, name, err);
    if (rc == SCR_OK && have)
        rc = scr_restart_files_all(ctx, &n, err);
    if (ctx->state == SCR_STATE_RESTART)
        (void)scr_complete_restart_all(ctx, 0, err);
    return rc;
}

/* Its entry in the halt file would keep the next run from restarting. */
static int finalize(struct job *job, struct scr_ctx *ctx, struct scr_err *err)
{
    char path[800];
    int rc = scr_finalize_all(ctx, err);
    snprintf(path, sizeof path, "%s/.scr/halt.scr", job->prefix);
    mpi_test_barrier(job->comm);
    if (job->rank == 0)
        unlink(path);
    mpi_test_barrier(job->comm);
    return rc;
}

MPI_CASE(a_checkpoint)
{
    fail_all(t, &(struct plan){ .work = write_two, .set = SET("SCR_FLUSH=0") });
}

MPI_CASE(a_flush)
{
    fail_all(t, &(struct plan){
                    .work = write_two, .set = SET("SCR_FLUSH=1"), .gone = NODES });
}

MPI_CASE(an_asynchronous_flush)
{
    fail_all(t, &(struct plan){ .work = write_two,
                                .set = SET("SCR_FLUSH=1", "SCR_FLUSH_ASYNC=1"),
                                .gone = NODES });
}

MPI_CASE(a_checkpoint_that_bypasses_the_cache)
{
    fail_all(t, &(struct plan){ .work = write_two,
                                .set = SET("SCR_CACHE_BYPASS=1"),
                                .gone = NODES });
}

MPI_CASE(a_start)
{
    fail_all(t, &(struct plan){ .has_two = 1, .set = SET("SCR_FLUSH=0") });
}

MPI_CASE(a_start_that_rebuilds)
{
    fail_all(t, &(struct plan){ .has_two = 1,
                                .set = SET("SCR_FLUSH=0"),
                                .lost = "n2",
                                .next = "n1,n5,n3,n4" });
}

MPI_CASE(a_start_whose_ranks_moved)
{
    fail_all(t, &(struct plan){
                    .has_two = 1, .set = SET("SCR_FLUSH=0"), .next = "n3,n4,n1,n2" });
}

MPI_CASE(a_start_that_fetches)
{
    fail_all(t,
             &(struct plan){ .has_two = 1, .set = SET("SCR_FLUSH=1"), .lost = NODES });
}

MPI_CASE(going_back)
{
    fail_all(t, &(struct plan){ .work = go_to_one,
                                .has_two = 1,
                                .goes_back = 1,
                                .set = SET("SCR_FLUSH=1") });
}

MPI_CASE(a_deletion)
{
    fail_all(t, &(struct plan){ .work = delete_two,
                                .has_two = 1,
                                .goes_back = 1,
                                .set = SET("SCR_FLUSH=1") });
}

MPI_CASE(a_refusal)
{
    fail_all(t, &(struct plan){ .work = refuse_two,
                                .has_two = 1,
                                .goes_back = 1,
                                .set = SET("SCR_FLUSH=1") });
}

MPI_CASE(the_end)
{
    fail_all(
        t, &(struct plan){ .work = finalize, .has_two = 1, .set = SET("SCR_FLUSH=3") });
}

/* A setting that looks unset would be that of another run. */
/* An allocation fails on one rank alone while it learns what rank 0 has found, or on
 * rank 0 while it looks: steps that agree later, when nodes and their directories are
 * known. */
static void start_short_of_memory(struct job *job, int victim)
{
    enum { MOST = 900, APART = 23 };
    struct mpi_test *t = job->t;
    const char *const settings[] = { "SCR_COPY_TYPE=XOR", NULL };
    for (long n = 1; n < MOST; n += APART) {
        struct scr_err err = SCR_ERR_INIT;
        struct scr_ctx *ctx = job_make(job, NODES, settings);
        job_arm(job, victim, JOB_ALLOCATION, n, 0, TEST_ONCE);
        int rc = scr_init_all(ctx, job->comm, &err);
        int failed = job_disarm(job);
        CHECK(job_same_code(job, rc));
        CHECK(rc == SCR_OK || (failed && rc == SCR_E_NOMEM));
        CHECK(rc == SCR_OK || err.rank == victim);
        job_kill(job, ctx);
    }
}

JOB_CASE(a_start_where_one_rank_cannot_learn, 4)
{
    start_short_of_memory(job, job->size - 1);
    start_short_of_memory(job, 0);
}

/* Before SCR_Init, where a setting is taken, and in the run. */
static void ask_short_of_memory(struct job *job, struct scr_ctx *ctx, const char *text,
                                int victim)
{
    enum { MOST = 40 };
    struct mpi_test *t = job->t;
    for (long n = 0; n < MOST; n++) {
        struct scr_err err = SCR_ERR_INIT;
        char *reply = NULL;
        job_arm(job, victim, JOB_ALLOCATION, n, 0, TEST_ONCE);
        int rc = scr_config_all(ctx, job->comm, text, &reply, &err);
        int failed = job_disarm(job);
        CHECK(job_same_code(job, rc));
        CHECK(rc == SCR_OK || (failed && rc == SCR_E_NOMEM));
        free(reply);
    }
}

JOB_CASE(a_rank_without_memory_asks_for_a_setting, 4)
{
    for (int victim = 0; victim < job->size; victim += job->size - 1) {
        struct scr_ctx *ctx = job_make(job, NODES, NULL);
        ask_short_of_memory(job, ctx, "SCR_COPY_TYPE", victim);
        ask_short_of_memory(job, ctx, "SCR_COPY_TYPE=XOR", victim);
        job_kill(job, ctx);
        ctx = job_start(job, NODES, NULL);
        ask_short_of_memory(job, ctx, "SCR_COPY_TYPE", victim);
        job_kill(job, ctx);
    }
}

JOB_CASE(settings_are_read_without_memory, 4)
{
    struct scr_params prm;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, NODES, "SCR_COPY_TYPE=PARTNER", NULL);
    job_arm(job, -1, JOB_ALLOCATION, 0, 0, TEST_FOREVER);
    int rc = scr_cfg_params(ctx->cfg, &prm, &err);
    job_disarm(job);
    CHECK_RC(rc, SCR_OK, &err);
    CHECK(prm.copy_type != NULL && strcmp(prm.copy_type, "PARTNER") == 0);
    job_kill(job, ctx);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(a_start_where_one_rank_cannot_learn),
                  RUN(a_rank_without_memory_asks_for_a_setting),
                  RUN(settings_are_read_without_memory), RUN(a_checkpoint),
                  RUN(a_flush), RUN(an_asynchronous_flush),
                  RUN(a_checkpoint_that_bypasses_the_cache), RUN(a_start),
                  RUN(a_start_that_rebuilds), RUN(a_start_whose_ranks_moved),
                  RUN(a_start_that_fetches), RUN(going_back), RUN(a_deletion),
                  RUN(a_refusal), RUN(the_end)));
}
