/* SPDX-License-Identifier: BSD-3-Clause */
/* A checkpoint of a different number of ranks is for programs that ask for it. */
/* ranks: 4 */
#include "helper_prefix.h"

static const char *const nodes = "n[1-2]";
static const char *const parameter = "SCR_RESTART_ANY_RANKS=1";

/* "one" of 3 ranks, then "two" of 4, both on the prefix and in cache; of 3 ranks a run
 * that has not asked. */
struct runs {
    struct job base, job;
};

static void write_with(struct mpi_test *t, struct runs *r, int ranks, const char *name,
                       int seed, const char *setting)
{
    struct job job;
    job_share(t, &job, &r->base, ranks);
    if (job.in) {
        struct scr_ctx *ctx = job_start(&job, nodes, setting, NULL);
        job_checkpoint(&job, ctx, name, seed);
        job_kill(&job, ctx);
    }
    job_unshare(&job);
}

static void write_as(struct mpi_test *t, struct runs *r, int ranks, const char *name,
                     int seed)
{
    write_with(t, r, ranks, name, seed, "SCR_FLUSH=1");
}

static void begin_with(struct mpi_test *t, struct runs *r, int ranks)
{
    job_new(t, &r->base, 4);
    write_as(t, r, 3, "one", 1);
    write_as(t, r, 4, "two", 2);
    job_share(t, &r->job, &r->base, ranks);
    r->job.any_ranks = 0;
    if (r->job.in)
        r->job.out = tmpfile();
}

static void begin(struct mpi_test *t, struct runs *r)
{
    begin_with(t, r, 3);
}

static void end(struct runs *r)
{
    if (r->job.in)
        fclose(r->job.out);
    job_unshare(&r->job);
    job_free(&r->base);
}

/* "one", every byte of it, and a line that says why not "two", whose marks stay. */
static void check_passed_over(struct job *job, struct scr_ctx *ctx)
{
    struct mpi_test *t = job->t;
    int current = 0, failed = 0;
    job_check_restart(job, ctx, "one", 1);
    CHECK_INT(job_said(job, "SCR_RESTART_ANY_RANKS=1"), 1);
    CHECK_INT(job_said(job, "was written by 4 ranks, this run has 3"), 1);
    CHECK_INT(job_entry(job, 2, &current, &failed), 1);
    CHECK_INT(failed, 0);
}

/* Runs once with the caches there and once without. */
static void check_mode(struct mpi_test *t, const char *setting)
{
    struct runs r;
    for (int lost = 0; lost <= 1; lost++) {
        begin(t, &r);
        if (lost)
            job_lose_node(&r.base, nodes);
        if (r.job.in) {
            struct scr_ctx *ctx = job_start(&r.job, nodes, setting, NULL);
            check_passed_over(&r.job, ctx);
            CHECK_INT(job_offered(&r.job, ctx), 1);
            CHECK_INT(job_said(&r.job, "SCR_RESTART_ANY_RANKS=1"), 1);
            job_kill(&r.job, ctx);
        }
        write_as(t, &r, 4, "three", 3); /* continues where it was */
        end(&r);
    }
}

MPI_CASE(a_program_that_has_not_asked_is_offered_an_older_one_of_its_number)
{
    check_mode(t, NULL);
}

MPI_CASE(also_where_a_restart_reads_in_the_prefix_directory)
{
    check_mode(t, "SCR_FETCH_BYPASS=1");
}

MPI_CASE(also_with_a_global_restart)
{
    check_mode(t, "SCR_GLOBAL_RESTART=1");
}

/* What 4 wrote is in cache, and a run of 3 has written newer files at its paths, which
 * no flush replaces. The run of 4 has its protection all the same. */
MPI_CASE(a_global_restart_passes_over_what_would_replace_something_newer)
{
    struct runs r;
    struct job four;
    job_new(t, &r.base, 4);
    write_with(t, &r, 4, "one", 1, "SCR_FLUSH=0");
    write_as(t, &r, 3, "one", 1);
    job_share(t, &four, &r.base, 4);
    four.any_ranks = 0;
    four.out = tmpfile();
    struct scr_ctx *ctx = job_start(&four, nodes, "SCR_GLOBAL_RESTART=1", NULL);
    CHECK_INT(job_offered(&four, ctx), 0);
    CHECK_INT(job_said(&four, "one (dataset 1) is skipped"), 1);
    CHECK_INT(job_said(&four, "SCR_RESTART_ANY_RANKS=1"), 1);
    job_checkpoint(&four, ctx, "two", 2);
    job_kill(&four, ctx);
    ctx = job_start(&four, nodes, "SCR_GLOBAL_RESTART=1", NULL);
    job_check_restart(&four, ctx, "two", 2);
    job_kill(&four, ctx);
    fclose(four.out);
    job_unshare(&four);
    job_free(&r.base);
}

static int edit_current(struct scr_index *index, void *arg, int *changed,
                        struct scr_err *err)
{
    (void)arg, (void)err;
    scr_index_unset_current(index);
    *changed = 1;
    return SCR_OK;
}

/* CURRENT names nothing that is complete, as when a scavenge of that name has failed.
 */
static void unset_current(struct job *job)
{
    struct mpi_test *t = job->t;
    struct scr_env env = { .sys = &scr_sys_posix };
    struct scr_prefix p = { 0 };
    struct scr_err err = SCR_ERR_INIT;
    mpi_test_barrier(job->comm);
    CHECK_RC(scr_prefix_open(&env, job->prefix, 0, &p, &err), SCR_OK, &err);
    if (job->rank == 0)
        CHECK_RC(scr_prefix_index_update(&env, &p, edit_current, NULL, &err), SCR_OK,
                 &err);
    scr_prefix_fini(&p);
    mpi_test_barrier(job->comm);
}

/* What 4 wrote is in cache, and passed over; another job has newer ones on the prefix.
 */
MPI_CASE(a_global_restart_takes_what_is_newer_than_one_that_is_passed_over)
{
    struct runs r;
    struct job three;
    job_new(t, &r.base, 4);
    write_with(t, &r, 4, "one", 1, "SCR_FLUSH=0");
    job_share(t, &three, &r.base, 3);
    three.any_ranks = 0;
    if (three.in) {
        three.out = tmpfile();
        struct scr_ctx *ctx =
            job_start(&three, nodes, "SCR_FLUSH=1", "SCR_JOB_ID=next", NULL);
        job_checkpoint(&three, ctx, "two", 2);
        job_kill(&three, ctx);
        unset_current(&three);
        ctx = job_start(&three, nodes, "SCR_GLOBAL_RESTART=1", NULL);
        job_check_restart(&three, ctx, "two", 2);
        job_kill(&three, ctx);
        fclose(three.out);
    }
    job_unshare(&three);
    job_free(&r.base);
}

/* The same for who reads what any number of ranks wrote, and may not look at the prefix
 * directory for something newer. */
MPI_CASE(a_restart_of_a_different_number_of_ranks_takes_it_too)
{
    struct runs r;
    struct job two;
    job_new(t, &r.base, 4);
    write_with(t, &r, 4, "one", 1, "SCR_FLUSH=0");
    write_with(t, &r, 3, "one", 1, "SCR_CACHE_BYPASS=1");
    job_share(t, &two, &r.base, 2);
    two.out = tmpfile();
    if (two.in) {
        struct scr_ctx *ctx = job_start(&two, nodes, "SCR_FETCH=0", NULL);
        CHECK_INT(job_offered(&two, ctx), 0);
        CHECK_INT(job_said(&two, "one (dataset 1) is skipped: flush of one "
                                 "(dataset 1): one (dataset 2) is newer"),
                  1);
        job_checkpoint(&two, ctx, "two", 2);
        job_kill(&two, ctx);
    }
    fclose(two.out);
    job_unshare(&two);
    job_free(&r.base);
}

/* A run of 3 went on from "one"; the next one has 4 again, which wrote "two". */
static void check_they_go_on(struct mpi_test *t, int lost, const char *setting)
{
    struct runs r;
    struct job four;
    begin(t, &r);
    if (lost)
        job_lose_node(&r.base, nodes);
    if (r.job.in) {
        struct scr_ctx *ctx = job_start(&r.job, nodes, NULL);
        check_passed_over(&r.job, ctx);
        job_kill(&r.job, ctx);
    }
    job_share(t, &four, &r.base, 4);
    four.any_ranks = 0;
    struct scr_ctx *ctx = job_start(&four, nodes, setting, NULL);
    job_check_restart(&four, ctx, "two", 2);
    job_kill(&four, ctx);
    job_unshare(&four);
    end(&r);
}

/* Another job has the number on the prefix: the first one died before it had recorded
 * it there. */
static void check_number(struct mpi_test *t, int any_ranks)
{
    struct runs r;
    char told[900];
    job_new(t, &r.base, 4);
    write_with(t, &r, 4, "cached", 7, "SCR_COPY_TYPE=SINGLE");
    snprintf(told, sizeof told, "%s/.scr/flush.scr", r.base.prefix);
    if (r.base.rank == 0)
        CHECK_INT(unlink(told), 0);
    mpi_test_barrier(r.base.comm);
    job_share(t, &r.job, &r.base, 3);
    if (r.job.in) {
        struct scr_ctx *ctx =
            job_start(&r.job, nodes, "SCR_FLUSH=1", "SCR_JOB_ID=other", NULL);
        job_checkpoint(&r.job, ctx, "one", 1);
        CHECK_INT(job_entry(&r.job, 1, NULL, NULL), 1);
        job_kill(&r.job, ctx);
    }
    job_unshare(&r.job);
    job_lose_node(&r.base, "n2");
    job_share(t, &r.job, &r.base, 3);
    r.job.any_ranks = any_ranks;
    if (r.job.in) {
        r.job.out = tmpfile();
        struct scr_ctx *ctx = job_start(&r.job, nodes, NULL);
        job_check_restart(&r.job, ctx, "one", 1);
        job_kill(&r.job, ctx);
    }
    end(&r);
}

MPI_CASE(the_number_of_one_that_is_passed_over_may_be_anothers_on_the_prefix)
{
    check_number(t, 0);
    check_number(t, 1);
}

MPI_CASE(it_stays_in_cache_for_those_who_wrote_it)
{
    check_they_go_on(t, 0, "SCR_FETCH=0");
}

MPI_CASE(it_stays_current_on_the_prefix_for_them)
{
    check_they_go_on(t, 1, NULL);
}

MPI_CASE(without_one_of_its_number_nothing_is_offered)
{
    struct runs r;
    begin_with(t, &r, 2);
    if (r.job.in) {
        struct scr_ctx *ctx = job_start(&r.job, nodes, NULL);
        CHECK_INT(job_offered(&r.job, ctx), 0);
        CHECK_INT(job_said(&r.job, "SCR_RESTART_ANY_RANKS=1"), 1);
        job_kill(&r.job, ctx);
    }
    end(&r);
}

MPI_CASE(the_parameter_asks)
{
    struct runs r;
    begin(t, &r);
    if (r.job.in) {
        struct scr_ctx *ctx = job_start(&r.job, nodes, parameter, NULL);
        CHECK_INT(job_offered(&r.job, ctx), 2);
        CHECK_INT(job_said(&r.job, "is skipped"), 0);
        job_kill(&r.job, ctx);
    }
    end(&r);
}

/* On one rank is enough: the call is local. */
static void ask(struct job *job, struct scr_ctx *ctx, int rank)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    int ranks = 9;
    if (job->rank != rank)
        return;
    CHECK_RC(scr_restart_ranks(ctx, &ranks, &err), SCR_OK, &err);
    CHECK_INT(ranks, 0);
}

static void check_two(struct job *job, struct scr_ctx *ctx)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    int ranks = 0;
    CHECK_INT(job_offered(job, ctx), 2);
    CHECK_RC(scr_restart_ranks(ctx, &ranks, &err), SCR_OK, &err);
    CHECK_INT(ranks, 4);
    CHECK_RC(scr_start_restart_all(ctx, NULL, &err), SCR_OK, &err);
    for (int i = 0; i < 4; i++)
        CHECK(job_read_of(job, ctx, i, 2));
    CHECK_RC(scr_complete_restart_all(ctx, 1, &err), SCR_OK, &err);
    CHECK_INT(job_said(job, "is skipped"), 0);
}

/* unknown: SCR_Current of a name that nothing has in between; may be NULL. */
static void asked_by_call(struct mpi_test *t, const char *setting, const char *unknown)
{
    struct runs r;
    struct scr_err err = SCR_ERR_INIT;
    begin(t, &r);
    if (r.job.in) {
        struct scr_ctx *ctx = job_start(&r.job, nodes, setting, NULL);
        ask(&r.job, ctx, 1);
        if (unknown != NULL)
            CHECK_RC(scr_current_all(ctx, unknown, &err), SCR_OK, &err);
        check_two(&r.job, ctx);
        job_kill(&r.job, ctx);
    }
    end(&r);
}

MPI_CASE(a_call_of_Restart_ranks_before_Have_restart_asks)
{
    asked_by_call(t, NULL, NULL);
    asked_by_call(t, "SCR_GLOBAL_RESTART=1", NULL);
}

MPI_CASE(SCR_CURRENT_of_a_different_number_needs_it_too)
{
    struct runs r;
    begin(t, &r);
    if (r.job.in) {
        struct scr_ctx *ctx = job_start(&r.job, nodes, "SCR_CURRENT=two", NULL);
        check_passed_over(&r.job, ctx);
        job_kill(&r.job, ctx);
    }
    end(&r);
    asked_by_call(t, "SCR_CURRENT=two", NULL);
}

MPI_CASE(SCR_Current_of_a_different_number_says_what_to_set)
{
    struct runs r;
    struct scr_err err = SCR_ERR_INIT;
    begin(t, &r);
    if (r.job.in) {
        struct scr_ctx *ctx = job_start(&r.job, nodes, NULL);
        CHECK_RC(scr_current_all(ctx, "two", &err), SCR_E_RANKS, &err);
        CHECK(strstr(err.text, "set SCR_RESTART_ANY_RANKS=1") != NULL);
        ask(&r.job, ctx, 0);
        CHECK_RC(scr_current_all(ctx, "two", &err), SCR_OK, &err);
        CHECK_INT(job_offered(&r.job, ctx), 2);
        job_kill(&r.job, ctx);
    }
    end(&r);
}

/* A call that asks how many ranks wrote the offered checkpoint asks for nothing
 * else. */
MPI_CASE(a_call_after_Have_restart_asks_for_nothing)
{
    struct runs r;
    struct scr_err err = SCR_ERR_INIT;
    int ranks = 0;
    begin(t, &r);
    if (r.job.in) {
        struct scr_ctx *ctx = job_start(&r.job, nodes, NULL);
        CHECK_INT(job_offered(&r.job, ctx), 1);
        CHECK_RC(scr_restart_ranks(ctx, &ranks, &err), SCR_OK, &err);
        CHECK_INT(ranks, 3);
        CHECK_INT(job_offered(&r.job, ctx), 1);
        CHECK_RC(scr_current_all(ctx, "two", &err), SCR_E_RANKS, &err);
        CHECK_INT(job_offered(&r.job, ctx), 1);
        job_kill(&r.job, ctx);
    }
    end(&r);
}

MPI_CASE(what_was_asked_holds_when_SCR_Current_has_failed_since)
{
    asked_by_call(t, NULL, "nothing");
    asked_by_call(t, "SCR_CURRENT=two", "nothing");
}

/* A restart phase knows its checkpoint: a call there is no wish for others. */
MPI_CASE(a_call_within_the_restart_asks_for_nothing)
{
    struct runs r;
    struct scr_err err = SCR_ERR_INIT;
    int ranks = 0;
    begin(t, &r);
    if (r.job.in) {
        struct scr_ctx *ctx = job_start(&r.job, nodes, NULL);
        CHECK_INT(job_offered(&r.job, ctx), 1);
        CHECK_RC(scr_start_restart_all(ctx, NULL, &err), SCR_OK, &err);
        CHECK_RC(scr_restart_ranks(ctx, &ranks, &err), SCR_OK, &err);
        CHECK_INT(ranks, 3);
        CHECK_RC(scr_complete_restart_all(ctx, 1, &err), SCR_OK, &err);
        CHECK_INT(job_offered(&r.job, ctx), 1);
        job_kill(&r.job, ctx);
    }
    end(&r);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(
            RUN(a_program_that_has_not_asked_is_offered_an_older_one_of_its_number),
            RUN(also_where_a_restart_reads_in_the_prefix_directory),
            RUN(also_with_a_global_restart),
            RUN(a_global_restart_passes_over_what_would_replace_something_newer),
            RUN(a_global_restart_takes_what_is_newer_than_one_that_is_passed_over),
            RUN(a_restart_of_a_different_number_of_ranks_takes_it_too),
            RUN(the_number_of_one_that_is_passed_over_may_be_anothers_on_the_prefix),
            RUN(it_stays_in_cache_for_those_who_wrote_it),
            RUN(it_stays_current_on_the_prefix_for_them),
            RUN(without_one_of_its_number_nothing_is_offered), RUN(the_parameter_asks),
            RUN(a_call_of_Restart_ranks_before_Have_restart_asks),
            RUN(SCR_CURRENT_of_a_different_number_needs_it_too),
            RUN(SCR_Current_of_a_different_number_says_what_to_set),
            RUN(a_call_after_Have_restart_asks_for_nothing),
            RUN(what_was_asked_holds_when_SCR_Current_has_failed_since),
            RUN(a_call_within_the_restart_asks_for_nothing)));
}
