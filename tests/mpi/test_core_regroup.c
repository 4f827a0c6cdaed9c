/* SPDX-License-Identifier: BSD-3-Clause */
/* Restart on a different number of ranks: from the prefix and from cache, with and
 * without a lost node, every byte compared. */
/* ranks: 8 */
#include "helper_prefix.h"
#include "helper_stored.h"

/* A choice of pairs in which every number is on both sides, fewer of them, with every
 * number on one side, where waiting ranks spin on the cores; all of them with
 * "test_core_regroup _ all". */
static const int numbers[] = { 1, 2, 3, 4, 6, 8 };
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static int all_pairs;

static int is_chosen(int i, int j)
{
#ifdef MPICH_VERSION
    int chosen = i + j == NUMBERS - 1 && i % 2 == 0;
#else
    int chosen = (i + j) % 3 == 2;
#endif
    return i != j && (chosen || all_pairs);
}

/* Nodes of the pair: at least two where there are two ranks, so that one may be lost.
 */
static int nodes_of(int from, int to)
{
    int n = from < to ? from : to;
    n = n < 2 ? 2 : n;
    n = n > 4 ? 4 : n;
    return n < from ? n : from;
}

static const char *node_list(int nodes)
{
    static const char *const lists[] = { "", "n1", "n[1-2]", "n[1-3]", "n[1-4]" };
    return lists[nodes];
}

/* As many of the nodes as there are ranks. */
static const char *nodes_for(int ranks, int nodes)
{
    return node_list(ranks < nodes ? ranks : nodes);
}

/* --- what a restart gives --- */

static int offered(struct job *job, struct scr_ctx *ctx)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    int have = 0;
    CHECK_RC(scr_have_restart_all(ctx, &have, NULL, &err), SCR_OK, &err);
    return have ? ctx->restart.id : 0;
}

/* The list has every file of every rank that wrote, once, in the order of ranks. */
static void check_list(struct job *job, struct scr_ctx *ctx, int from)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    char file[SCR_MAX_NAME], path[SCR_MAX_NAME];
    int n = 0, rank = -1, last = 0;
    CHECK_RC(scr_restart_files_all(ctx, &n, &err), SCR_OK, &err);
    CHECK_INT(n, from * JOB_FILES);
    for (int i = 0; i < n; i++) {
        CHECK_RC(scr_restart_file(ctx, i, file, &rank, &err), SCR_OK, &err);
        CHECK(rank >= last && rank < from);
        last = rank;
        if (from != job->size || rank == job->rank)
            CHECK_RC(scr_route(ctx, file, path, &err), SCR_OK, &err);
    }
    CHECK_RC(scr_restart_file(ctx, n, file, &rank, &err), SCR_E_RANGE, &err);
}

/* Offered is `name` of `from` ranks: every rank reads every file. */
static void check_all_files(struct job *job, struct scr_ctx *ctx, const char *name,
                            int seed, int from)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    char got[SCR_MAX_NAME] = "";
    int have = 0, ranks = 0, ok = 1;
    CHECK_RC(scr_have_restart_all(ctx, &have, got, &err), SCR_OK, &err);
    CHECK_INT(have, 1);
    if (!have)
        return;
    if (strcmp(got, name) != 0)
        mpi_test_fail(t, __FILE__, __LINE__, "%d ranks are offered %s, not %s",
                      job->size, got, name);
    CHECK_RC(scr_restart_ranks(ctx, &ranks, &err), SCR_OK, &err);
    CHECK_INT(ranks, from);
    CHECK_RC(scr_start_restart_all(ctx, got, &err), SCR_OK, &err);
    for (int r = 0; r < from; r++)
        if (from != job->size || r == job->rank)
            ok = job_read_of(job, ctx, r, seed) && ok;
    CHECK(ok);
    check_list(job, ctx, from);
    CHECK_RC(scr_complete_restart_all(ctx, 1, &err), SCR_OK, &err);
}

static void check_nothing_failed(const struct job *job)
{
    struct mpi_test *t = job->t;
    char path[800];
    int failed = 0;
    scr_hash *index = scr_hash_new();
    snprintf(path, sizeof path, "%s/.scr/index.scr", job->prefix);
    scr_hash_file_read(&scr_sys_posix, path, index, NULL);
    for (SCR_HASH_EACH(e, scr_hash_get(index, "DSET")))
        failed += scr_hash_get(scr_hash_elem_hash(e), "FAILED") != NULL;
    scr_hash_delete(index);
    CHECK_INT(failed, 0);
}

/* --- runs on some of the ranks --- */

/* A run of `ranks`: writes name with seed. */
static void run_writing(struct mpi_test *t, const struct job *base, int ranks,
                        const char *nodes, const char *flush, const char *name,
                        int seed)
{
    struct job job;
    job_share(t, &job, base, ranks);
    if (job.in) {
        struct scr_ctx *ctx = job_start(&job, nodes, flush, NULL);
        job_checkpoint(&job, ctx, name, seed);
        job_kill(&job, ctx);
    }
    job_unshare(&job);
}

/* A run of `ranks` that is offered name, which `from` ranks wrote. */
static void run_reading(struct mpi_test *t, const struct job *base, int ranks,
                        const char *nodes, const char *name, int seed, int from)
{
    struct job job;
    job_share(t, &job, base, ranks);
    if (job.in) {
        struct scr_ctx *ctx = job_start(&job, nodes, NULL);
        check_all_files(&job, ctx, name, seed, from);
        check_nothing_failed(&job);
        job_kill(&job, ctx);
    }
    job_unshare(&job);
}

static void lose_all(struct job *job)
{
    job_lose_node(job, "n[1-4]");
}

static void each_pair(struct mpi_test *t,
                      void (*fn)(struct mpi_test *t, int from, int to))
{
    for (int i = 0; i < NUMBERS; i++)
        for (int j = 0; j < NUMBERS; j++)
            if (is_chosen(i, j) && mpi_test_good(t))
                fn(t, numbers[i], numbers[j]);
}

/* --- from the prefix --- */

static void from_prefix(struct mpi_test *t, int from, int to)
{
    struct job base;
    int nodes = nodes_of(from, to);
    job_new(t, &base, 8);
    run_writing(t, &base, from, node_list(nodes), "SCR_FLUSH=1", "one", 1);
    lose_all(&base);
    run_reading(t, &base, to, nodes_for(to, nodes), "one", 1, from);
    run_writing(t, &base, to, nodes_for(to, nodes), "SCR_FLUSH=1", "two", 2);
    lose_all(&base);
    run_reading(t, &base, from, node_list(nodes), "two", 2, to);
    run_reading(t, &base, to, nodes_for(to, nodes), "two", 2, to);
    job_free(&base);
}

MPI_CASE(any_number_of_ranks_reads_from_the_prefix)
{
    each_pair(t, from_prefix);
}

/* --- from cache --- */

/* "one" is on the prefix, "two" in cache alone. */
static void write_both(struct mpi_test *t, struct job *base, int from, int nodes)
{
    job_new(t, base, 8);
    run_writing(t, base, from, node_list(nodes), "SCR_FLUSH=1", "one", 1);
    run_writing(t, base, from, node_list(nodes), "SCR_FLUSH=0", "two", 2);
}

static void from_cache(struct mpi_test *t, int from, int to)
{
    struct job base;
    int nodes = nodes_of(from, to);
    write_both(t, &base, from, nodes);
    run_reading(t, &base, to, nodes_for(to, nodes), "two", 2, from);
    run_reading(t, &base, from, node_list(nodes), "two", 2, from);
    run_writing(t, &base, to, nodes_for(to, nodes), "SCR_FLUSH=0", "three", 3);
    run_reading(t, &base, to, nodes_for(to, nodes), "three", 3, to);
    run_reading(t, &base, from, node_list(nodes), "three", 3, to);
    job_free(&base);
}

static void from_cache_without_a_node(struct mpi_test *t, int from, int to)
{
    struct job base;
    int nodes = nodes_of(from, to);
    write_both(t, &base, from, nodes);
    job_lose_node(&base, "n2");
    run_reading(t, &base, to, nodes_for(to, nodes), "two", 2, from);
    run_reading(t, &base, from, node_list(nodes), "two", 2, from);
    job_free(&base);
}

/* Two nodes of an even number of ranks are copies of each other; more than two cannot
 * do without two of them, and with a rank too many one rank of n1 is alone in its set.
 */
static void from_cache_without_too_many(struct mpi_test *t, int from, int to)
{
    struct job base;
    int nodes = nodes_of(from, to);
    int suffices = nodes == 2 && from % 2 == 0 && to > 1;
    write_both(t, &base, from, nodes);
    job_lose_node(&base, nodes > 2 ? "n[1-2]" : "n1");
    run_reading(t, &base, to, nodes_for(to, nodes), suffices ? "two" : "one",
                suffices ? 2 : 1, from);
    job_free(&base);
}

MPI_CASE(any_number_of_ranks_reads_from_cache)
{
    each_pair(t, from_cache);
}

MPI_CASE(any_number_of_ranks_reads_from_cache_what_a_node_lost)
{
    each_pair(t, from_cache_without_a_node);
}

MPI_CASE(an_older_one_replaces_what_cannot_be_rebuilt)
{
    each_pair(t, from_cache_without_too_many);
}

/* --- refusals, and runs that continue --- */

MPI_CASE(a_refused_one_stays_for_those_who_wrote_it)
{
    struct job base, job;
    struct scr_err err = SCR_ERR_INIT;
    write_both(t, &base, 4, 2);
    job_share(t, &job, &base, 3);
    if (job.in) {
        struct scr_ctx *ctx = job_start(&job, "n[1-2]", NULL);
        CHECK_INT(offered(&job, ctx), 2);
        CHECK_RC(scr_start_restart_all(ctx, NULL, &err), SCR_OK, &err);
        CHECK_RC(scr_complete_restart_all(ctx, 0, &err), SCR_E_INVALID, &err);
        check_all_files(&job, ctx, "one", 1, 4);
        job_checkpoint(&job, ctx, "three", 3);
        CHECK_INT(ctx->last_id, 3);
        check_nothing_failed(&job);
        job_kill(&job, ctx);
    }
    job_unshare(&job);
    job_share(t, &job, &base, 4);
    struct scr_ctx *ctx = job.in ? job_start(&job, "n[1-2]", NULL) : NULL;
    if (job.in) {
        CHECK(scr_cache_is_ready(ctx, 2));
        check_all_files(&job, ctx, "three", 3, 3);
        job_kill(&job, ctx);
    }
    job_unshare(&job);
    job_free(&base);
}

/* Reads the offered checkpoint, seed 1 of 4 ranks, and continues from it. */
static void go_on_from_one(struct job *job, struct scr_ctx *ctx)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    CHECK_INT(offered(job, ctx), 1);
    CHECK_RC(scr_start_restart_all(ctx, NULL, &err), SCR_OK, &err);
    CHECK(job_read_of(job, ctx, 3, 1));
    CHECK_RC(scr_complete_restart_all(ctx, 1, &err), SCR_OK, &err);
}

MPI_CASE(a_run_that_goes_back_is_not_offered_the_newer_one_again)
{
    struct job base, job;
    struct scr_err err = SCR_ERR_INIT;
    job_new(t, &base, 8);
    job_share(t, &job, &base, 4);
    if (job.in) {
        struct scr_ctx *ctx =
            job_start(&job, "n[1-2]", "SCR_CACHE_SIZE=2", "SCR_FLUSH=1", NULL);
        job_checkpoint(&job, ctx, "one", 1);
        job_checkpoint(&job, ctx, "two", 2);
        job_kill(&job, ctx);
    }
    job_unshare(&job);
    job_share(t, &job, &base, 3);
    if (job.in) {
        struct scr_ctx *ctx = job_start(&job, "n[1-2]", NULL);
        CHECK_INT(offered(&job, ctx), 2);
        CHECK_RC(scr_current_all(ctx, "one", &err), SCR_OK, &err);
        go_on_from_one(&job, ctx);
        go_on_from_one(&job, ctx);
        job_checkpoint(&job, ctx, "three", 3);
        CHECK_INT(offered(&job, ctx), 3);
        CHECK(scr_cache_is(ctx, 2, SCR_CACHE_FOREIGN));
        job_kill(&job, ctx);
    }
    job_unshare(&job);
    job_free(&base);
}

/* An older one in its place would lose work that a later start can still save. */
MPI_CASE(a_prefix_that_cannot_be_written_to_costs_no_checkpoint)
{
    struct job base, job;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = NULL;
    const char *const settings[] = { NULL };
    write_both(t, &base, 4, 2);
    job_share(t, &job, &base, 3);
    if (job.in) {
        job_block_flush(&job, 2, 1);
        CHECK(job_try_start(&job, &ctx, &err, "n[1-2]", settings) != SCR_OK);
        CHECK(strstr(err.text, "dataset 2 in cache") != NULL);
        job_kill(&job, ctx);
        job_block_flush(&job, 2, 0);
    }
    job_unshare(&job);
    run_reading(t, &base, 3, "n[1-2]", "two", 2, 4);
    job_free(&base);
}

MPI_CASE(nothing_is_offered_when_all_were_refused)
{
    struct job base, job;
    struct scr_err err = SCR_ERR_INIT;
    write_both(t, &base, 4, 2);
    job_share(t, &job, &base, 2);
    if (job.in) {
        int n = 0;
        struct scr_ctx *ctx = job_start(&job, "n[1-2]", NULL);
        for (int i = 0; i < 2; i++) {
            CHECK_RC(scr_start_restart_all(ctx, NULL, &err), SCR_OK, &err);
            CHECK_RC(scr_complete_restart_all(ctx, 0, &err), SCR_E_INVALID, &err);
        }
        CHECK_INT(offered(&job, ctx), 0);
        CHECK_RC(scr_restart_ranks(ctx, &n, &err), SCR_E_STATE, &err);
        CHECK_RC(scr_restart_files_all(ctx, &n, &err), SCR_E_STATE, &err);
        job_kill(&job, ctx);
    }
    job_unshare(&job);
    run_reading(t, &base, 4, "n[1-2]", "two", 2, 4);
    job_free(&base);
}

MPI_CASE(without_fetch_only_the_cache_is_offered)
{
    struct job base, job;
    write_both(t, &base, 4, 2);
    job_share(t, &job, &base, 3);
    struct scr_ctx *ctx =
        job.in ? job_start(&job, "n[1-2]", "SCR_FETCH=0", NULL) : NULL;
    if (job.in) {
        check_all_files(&job, ctx, "two", 2, 4);
        job_kill(&job, ctx);
    }
    lose_all(&base);
    ctx = job.in ? job_start(&job, "n[1-2]", "SCR_FETCH=0", NULL) : NULL;
    if (job.in) {
        CHECK_INT(offered(&job, ctx), 0);
        job_kill(&job, ctx);
    }
    job_unshare(&job);
    job_free(&base);
}

MPI_CASE(a_global_restart_reads_another_numbers_on_the_prefix)
{
    struct job base, job;
    write_both(t, &base, 4, 2);
    job_lose_node(&base, "n2");
    job_share(t, &job, &base, 3);
    if (job.in) {
        struct scr_ctx *ctx = job_start(&job, "n[1-2]", "SCR_GLOBAL_RESTART=1", NULL);
        check_all_files(&job, ctx, "two", 2, 4);
        job_kill(&job, ctx);
    }
    job_unshare(&job);
    job_free(&base);
}

/* --- files --- */

MPI_CASE(a_name_is_looked_up_among_all_files)
{
    struct job base, job;
    struct scr_err err = SCR_ERR_INIT;
    char path[SCR_MAX_NAME], file[900];
    job_new(t, &base, 8);
    run_writing(t, &base, 4, "n[1-2]", "SCR_FLUSH=1", "one", 1);
    lose_all(&base);
    job_share(t, &job, &base, 3);
    if (job.in) {
        struct scr_ctx *ctx = job_start(&job, "n[1-2]", NULL);
        CHECK_RC(scr_start_restart_all(ctx, NULL, &err), SCR_OK, &err);
        CHECK_RC(scr_route(ctx, "file0.3", path, &err), SCR_OK, &err);
        snprintf(file, sizeof file, "%s/step.1/file0.3", job.prefix);
        CHECK(strcmp(path, file) == 0);
        CHECK_RC(scr_route(ctx, "state", path, &err), SCR_E_ARG, &err);
        CHECK_RC(scr_route(ctx, "nothing", path, &err), SCR_E_NOENT, &err);
        snprintf(file, sizeof file, "%s/step.1/nothing", job.prefix);
        CHECK_RC(scr_route(ctx, file, path, &err), SCR_E_NOENT, &err);
        CHECK_RC(scr_route(ctx, "/elsewhere/file", path, &err), SCR_E_OUTSIDE, &err);
        job_kill(&job, ctx);
    }
    job_unshare(&job);
    job_free(&base);
}

MPI_CASE(a_damaged_file_is_not_given_out)
{
    struct job base, job;
    struct scr_err err = SCR_ERR_INIT;
    char path[SCR_MAX_NAME], file[900];
    job_new(t, &base, 8);
    run_writing(t, &base, 4, "n[1-2]", "SCR_FLUSH=1", "one", 1);
    lose_all(&base);
    snprintf(file, sizeof file, "%s/step.1/file0.2", base.prefix);
    if (base.rank == 0)
        job_flip(file, 0);
    mpi_test_barrier(base.comm);
    job_share(t, &job, &base, 3);
    if (job.in) {
        struct scr_ctx *ctx = job_start(&job, "n[1-2]", NULL);
        CHECK_RC(scr_start_restart_all(ctx, NULL, &err), SCR_OK, &err);
        CHECK_RC(scr_route(ctx, file, path, &err), SCR_E_CORRUPT, &err);
        CHECK_RC(scr_complete_restart_all(ctx, 0, &err), SCR_E_INVALID, &err);
        CHECK_INT(offered(&job, ctx), 0);
        job_kill(&job, ctx);
    }
    job_unshare(&job);
    job_free(&base);
}

MPI_CASE(a_missing_file_is_found_before_the_checkpoint_is_offered)
{
    struct job base;
    char file[900];
    write_both(t, &base, 4, 2);
    run_reading(t, &base, 3, "n[1-2]", "two", 2, 4);
    lose_all(&base);
    snprintf(file, sizeof file, "%s/step.2/file0.2", base.prefix);
    if (base.rank == 0)
        unlink(file);
    mpi_test_barrier(base.comm);
    run_reading(t, &base, 3, "n[1-2]", "one", 1, 4);
    job_free(&base);
}

/* A cached one repairs the copy on the prefix. */
MPI_CASE(a_file_missing_from_the_prefix_is_copied_from_cache_again)
{
    struct job base;
    char file[900];
    write_both(t, &base, 4, 2);
    run_reading(t, &base, 3, "n[1-2]", "two", 2, 4);
    snprintf(file, sizeof file, "%s/step.2/file0.2", base.prefix);
    if (base.rank == 0)
        unlink(file);
    mpi_test_barrier(base.comm);
    run_reading(t, &base, 3, "n[1-2]", "two", 2, 4);
    job_free(&base);
}

MPI_CASE(damage_in_cache_is_rebuilt_and_nothing_else_is_left_on_the_prefix)
{
    struct job base;
    int n = 0;
    write_both(t, &base, 4, 4);
    char **paths = job_find(base.cache, "scr.dataset.2/rank.1/file0.1", &n);
    CHECK_INT(n, 1);
    mpi_test_barrier(base.comm);
    if (base.rank == 0 && n == 1)
        job_flip(paths[0], 0);
    mpi_test_barrier(base.comm);
    job_find_free(paths, n);
    run_reading(t, &base, 6, "n[1-4]", "two", 2, 4);
    paths = job_find(base.prefix, "/rebuild/", &n);
    CHECK_INT(n, 0);
    job_find_free(paths, n);
    run_reading(t, &base, 4, "n[1-4]", "two", 2, 4);
    job_free(&base);
}

int main(int argc, char **argv)
{
    all_pairs = argc > 2 && strcmp(argv[2], "all") == 0;
    return mpi_test_main(
        argc, argv,
        MPI_CASES(
            RUN(any_number_of_ranks_reads_from_the_prefix),
            RUN(any_number_of_ranks_reads_from_cache),
            RUN(any_number_of_ranks_reads_from_cache_what_a_node_lost),
            RUN(an_older_one_replaces_what_cannot_be_rebuilt),
            RUN(a_refused_one_stays_for_those_who_wrote_it),
            RUN(a_run_that_goes_back_is_not_offered_the_newer_one_again),
            RUN(a_prefix_that_cannot_be_written_to_costs_no_checkpoint),
            RUN(nothing_is_offered_when_all_were_refused),
            RUN(without_fetch_only_the_cache_is_offered),
            RUN(a_global_restart_reads_another_numbers_on_the_prefix),
            RUN(a_name_is_looked_up_among_all_files),
            RUN(a_damaged_file_is_not_given_out),
            RUN(a_missing_file_is_found_before_the_checkpoint_is_offered),
            RUN(a_file_missing_from_the_prefix_is_copied_from_cache_again),
            RUN(damage_in_cache_is_rebuilt_and_nothing_else_is_left_on_the_prefix)));
}
