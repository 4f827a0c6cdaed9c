/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank is short of memory: an allocation fails there once, or all do from then on.
 * No hang, no crash, the same code everywhere, and a later run finds the newest
 * checkpoint: that memory is short says nothing about a dataset. Each place that
 * allocates has its turn (helper_memory.h). */
/* ranks: 2 */
#include "helper_job.h"

#define NODES "n1,n2"
#define SET(...)                                                                       \
    (const char *const[])                                                              \
    {                                                                                  \
        __VA_ARGS__, NULL                                                              \
    }

struct plan {
    const char *const *set; /* settings of the job */
    /* The memory that runs short; "one" and, with has_two, "two" exist. A start if
     * NULL: of a job whose nodes `lost` are lost, on the nodes `next`. */
    int (*work)(struct job *job, struct scr_ctx *ctx, struct scr_err *err);
    int has_two;
    const char *lost, *next;
    int goes_back;    /* it may leave "one" as the checkpoint to restart from */
    int once;         /* it cannot be tried again in the same run */
    const char *gone; /* nodes that are lost afterwards */
};

/* A job, in which several attempts fail before one look at what they left. */
struct trial {
    struct job job;
    const struct plan *plan;
    struct scr_ctx *ctx;
    int elsewhere; /* its files are on the nodes `next` */
    int rc;        /* of the last attempt */
    int fired;     /* it was short of memory */
};

/* A start is on the nodes where the files are not, if it is to move them. */
static const char *nodes_of(const struct trial *x)
{
    return x->plan->next != NULL && !x->elsewhere ? x->plan->next : NODES;
}

static void begin(struct mpi_test *t, struct trial *x)
{
    const struct plan *p = x->plan;
    struct scr_err err = SCR_ERR_INIT;
    job_new(t, &x->job, t->comm.size);
    x->job.out = fopen("/dev/null", "w");
    CHECK_RC(job_try_start(&x->job, &x->ctx, &err, NODES, p->set), SCR_OK, &err);
    job_checkpoint(&x->job, x->ctx, "one", 1);
    if (p->has_two)
        job_checkpoint(&x->job, x->ctx, "two", 2);
    CHECK_RC(scr_async_wait_all(x->ctx, 0, &err), SCR_OK, &err);
}

static void attempt(struct trial *x, int victim, int n)
{
    const struct plan *p = x->plan;
    struct job *job = &x->job;
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    if (p->work == NULL) {
        job_kill(job, x->ctx);
        if (p->lost != NULL)
            job_lose_node(job, p->lost);
        x->ctx = job_make(job, nodes_of(x), p->set);
    }
    /* Every fourth time memory is short to the end. */
    job_arm(job, victim, JOB_PLACE, 0, 0, n % 4 == 3 ? TEST_FOREVER : TEST_ONCE);
    x->rc = p->work != NULL ? p->work(job, x->ctx, &err)
                            : scr_init_all(x->ctx, job->comm, &err);
    x->fired = job_disarm(job);
    CHECK(job_same_code(job, x->rc));
    CHECK(x->fired || x->rc == SCR_OK);
    if (x->rc == SCR_OK)
        x->elsewhere = !x->elsewhere;
}

static void die(struct trial *x)
{
    job_kill(&x->job, x->ctx);
    if (x->plan->gone != NULL)
        job_lose_node(&x->job, x->plan->gone);
}

/* A later run. */
static void look_back(struct trial *x)
{
    const struct plan *p = x->plan;
    int kept = p->gone == NULL || !x->fired;
    die(x);
    job_check_one_or_two(&x->job, NODES,
                         p->has_two ? !p->goes_back : x->rc == SCR_OK && kept);
}

/* It costs one dataset, not the run. */
static void go_on(struct trial *x)
{
    struct job *job = &x->job;
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    CHECK_RC(job_write(job, x->ctx, "three", 3, 1, &err), SCR_OK, &err);
    CHECK_RC(scr_async_wait_all(x->ctx, 0, &err), SCR_OK, &err);
    die(x);
    x->ctx = job_start(job, NODES, NULL);
    job_check_restart(job, x->ctx, "three", 3);
    job_kill(job, x->ctx);
}

static int write_two(struct job *job, struct scr_ctx *ctx, struct scr_err *err)
{
    int rc = job_write(job, ctx, "two", 2, 1, err);
    (void)scr_async_wait_all(ctx, 0, NULL);
    return rc;
}

/* Some attempts of one job; 0 when each place has had its turn. */
static int fail_some(struct mpi_test *t, const struct plan *p, int victim, long *tried)
{
    enum { ATTEMPTS = 8 };
    struct trial x = { .plan = p, .fired = 1 };
    begin(t, &x);
    for (int n = 0, again = 1; n < ATTEMPTS && again && mpi_test_good(t); n++) {
        attempt(&x, victim, n);
        *tried += x.fired;
        again = x.fired && !p->once && !(p->goes_back && x.rc == SCR_OK);
    }
    if (p->work == write_two && *tried / ATTEMPTS % 2 != 0)
        go_on(&x);
    else
        look_back(&x);
    fclose(x.job.out);
    job_free(&x.job);
    return x.fired;
}

static void fail_all(struct mpi_test *t, const struct plan *p)
{
    for (int victim = 0; victim < t->comm.size; victim++) {
        long tried = 0;
        while (mpi_test_good(t) && fail_some(t, p, victim, &tried))
            ;
        CHECK(tried > 0 || victim > 0); /* a case before may have had all of its */
        if (t->comm.rank == 0)
            printf("       rank %d: %ld places failed in turn\n", victim, tried);
    }
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
                                .lost = "n2,n5",
                                .next = "n1,n5" });
}

MPI_CASE(a_start_whose_ranks_moved)
{
    fail_all(
        t, &(struct plan){ .has_two = 1, .set = SET("SCR_FLUSH=0"), .next = "n2,n1" });
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
                                .once = 1,
                                .set = SET("SCR_FLUSH=1") });
}

MPI_CASE(the_end)
{
    fail_all(
        t, &(struct plan){
               .work = finalize, .has_two = 1, .once = 1, .set = SET("SCR_FLUSH=3") });
}

/* An allocation fails on one rank alone while it learns what rank 0 has found, or on
 * rank 0 while it looks: steps that agree later, when nodes and their directories are
 * known. */
static void start_short_of_memory(struct job *job, int victim)
{
    enum { MOST = 900, APART = 7 };
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

JOB_CASE(a_start_where_one_rank_cannot_learn, 2)
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

JOB_CASE(a_rank_without_memory_asks_for_a_setting, 2)
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

/* A setting that looks unset would be that of another run. */
JOB_CASE(settings_are_read_without_memory, 2)
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
