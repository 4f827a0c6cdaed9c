/* SPDX-License-Identifier: BSD-3-Clause */
/* A header that one rank writes and all read in a restart (invariant C9). */
/* ranks: 4 */
#include "helper_prefix.h"
#include "helper_stored.h"

static const char *const nodes = "n[1-2]"; /* ranks 0 and 1, ranks 2 and 3 */
static const char *const text = "step 1, four parts\n";

static void write_file(struct job *job, struct scr_ctx *ctx, const char *name,
                       const char *what)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    char file[900], path[SCR_MAX_NAME];
    snprintf(file, sizeof file, "%s/%s", job->prefix, name);
    CHECK_RC(scr_route(ctx, file, path, &err), SCR_OK, &err);
    FILE *f = fopen(path, "w");
    CHECK(f != NULL && fputs(what, f) >= 0);
    if (f != NULL)
        fclose(f);
}

static void write_part(struct job *job, struct scr_ctx *ctx, int rank)
{
    char name[64], what[64];
    snprintf(name, sizeof name, "step.1/part.%d", rank);
    snprintf(what, sizeof what, "part of %d\n", rank);
    write_file(job, ctx, name, what);
}

/* A part of each rank and the header of rank `of`. */
static void checkpoint(struct job *job, struct scr_ctx *ctx, int of)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    CHECK_RC(scr_start_output_all(ctx, "step.1", 1, &err), SCR_OK, &err);
    write_part(job, ctx, job->rank);
    if (job->rank == of)
        write_file(job, ctx, "step.1/header", text);
    CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_OK, &err);
}

/* Code of the route; *path: what it gave. */
static int route(struct job *job, struct scr_ctx *ctx, const char *name, char *path,
                 struct scr_err *err)
{
    char file[900];
    snprintf(file, sizeof file, "%s/%s", job->prefix, name);
    scr_err_clear(err);
    return scr_route(ctx, file, path, err);
}

static int holds(const char *path, const char *want)
{
    char got[200] = "";
    FILE *f = fopen(path, "r");
    size_t n = f != NULL ? fread(got, 1, sizeof got - 1, f) : 0;
    if (f != NULL)
        fclose(f);
    return n == strlen(want) && strcmp(got, want) == 0;
}

static int is_cached(const struct job *job, const char *path)
{
    return strncmp(path, job->prefix, strlen(job->prefix)) != 0;
}

static void open_restart(struct job *job, struct scr_ctx *ctx)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    CHECK_INT(job_offered(job, ctx), 1);
    CHECK_RC(scr_start_restart_all(ctx, NULL, &err), SCR_OK, &err);
}

/* All ranks get the header, those of `in_cache` (bits) from there. */
static void check_header(struct job *job, struct scr_ctx *ctx, unsigned in_cache)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    char path[SCR_MAX_NAME] = "", part[64];
    int n = 0;
    open_restart(job, ctx);
    CHECK_RC(route(job, ctx, "step.1/header", path, &err), SCR_OK, &err);
    CHECK(holds(path, text));
    CHECK_INT(is_cached(job, path), (in_cache >> job->rank) & 1);
    CHECK_RC(route(job, ctx, "step.1/header", path, &err), SCR_OK, &err);
    snprintf(part, sizeof part, "part of %d\n", job->rank);
    CHECK_RC(scr_route(ctx, part, path, &err), SCR_E_NOENT, &err);
    snprintf(part, sizeof part, "step.1/part.%d", job->rank);
    CHECK_RC(route(job, ctx, part, path, &err), SCR_OK, &err);
    CHECK_INT(is_cached(job, path), in_cache != 0);
    CHECK_RC(route(job, ctx, "step.1/nothing", path, &err), SCR_E_NOENT, &err);
    /* each file is listed once, with who wrote it */
    CHECK_RC(scr_restart_files_all(ctx, &n, &err), SCR_OK, &err);
    CHECK_INT(n, job->size + 1);
    CHECK_RC(scr_complete_restart_all(ctx, 1, &err), SCR_OK, &err);
}

/* Written with one setting, read with another, by a run of nodes that lost some. */
static void written_and_read(struct mpi_test *t, const char *write, const char *lost,
                             const char *then, const char *read, unsigned in_cache)
{
    struct job job;
    job_new(t, &job, 4);
    struct scr_ctx *ctx = job_start(&job, nodes, write, NULL);
    checkpoint(&job, ctx, 0);
    job_kill(&job, ctx);
    if (lost)
        job_lose_node(&job, lost);
    ctx = job_start(&job, then, read, NULL);
    check_header(&job, ctx, in_cache);
    job_kill(&job, ctx);
    job_free(&job);
}

enum { NOWHERE = 0, FIRST_NODE = 3, EVERYWHERE = 15 };

MPI_CASE(all_ranks_read_the_header_of_one)
{
    written_and_read(t, "SCR_FLUSH=1", NULL, nodes, NULL, FIRST_NODE);
    written_and_read(t, "SCR_FLUSH=0", NULL, "n1", NULL, EVERYWHERE);
}

MPI_CASE(also_when_it_bypasses_the_cache)
{
    written_and_read(t, "SCR_CACHE_BYPASS=1", NULL, nodes, NULL, NOWHERE);
}

MPI_CASE(also_when_it_is_read_in_the_prefix_directory)
{
    written_and_read(t, "SCR_FLUSH=1", nodes, nodes, "SCR_FETCH_BYPASS=1", NOWHERE);
}

MPI_CASE(also_with_a_global_restart)
{
    written_and_read(t, "SCR_FLUSH=0", NULL, nodes, "SCR_GLOBAL_RESTART=1", NOWHERE);
}

MPI_CASE(also_after_the_loss_of_its_node)
{
    written_and_read(t, "SCR_FLUSH=1", "n1", "n[2-3]", NULL, FIRST_NODE);
    written_and_read(t, "SCR_FLUSH=0", "n1", "n[2-3]", "SCR_GLOBAL_RESTART=1", NOWHERE);
    written_and_read(t, "SCR_FLUSH=1", nodes, "n[3-4]", NULL, FIRST_NODE); /* fetched */
}

MPI_CASE(also_of_compressed_files)
{
    static const char *const pack[] = { "SCR_FLUSH=1", "SCR_FLUSH_COMPRESS=ZSTD",
                                        NULL };
    static const char *const reads[] = { NULL, "SCR_FETCH_BYPASS=1" };
    for (int lost = 0; lost <= 1; lost++) {
        struct job job;
        struct scr_err err = SCR_ERR_INIT;
        struct scr_ctx *ctx;
        job_new(t, &job, 4);
        CHECK_RC(job_try_start(&job, &ctx, &err, nodes, pack), SCR_OK, &err);
        checkpoint(&job, ctx, 0);
        job_kill(&job, ctx);
        if (lost)
            job_lose_node(&job, nodes);
        ctx = job_start(&job, nodes, reads[lost], NULL);
        check_header(&job, ctx, lost ? NOWHERE : FIRST_NODE);
        job_kill(&job, ctx);
        job_free(&job);
    }
}

JOB_CASE(also_in_a_store_that_all_nodes_share, 4)
{
    char dir[700], base[800], store[800];
    snprintf(dir, sizeof dir, "%s/world", job->dir);
    snprintf(base, sizeof base, "SCR_CACHE_BASE=%s", dir);
    snprintf(store, sizeof store, "STORE=%s GROUP=WORLD", dir);
    if (job->rank == 0)
        mkdir(dir, 0700);
    mpi_test_barrier(job->comm);
    struct scr_ctx *ctx = job_start(job, nodes, base, store, NULL);
    checkpoint(job, ctx, 0);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, base, store, NULL);
    check_header(job, ctx, EVERYWHERE);
    job_kill(job, ctx);
}

static void check_out_of_reach(const struct job *job, const struct scr_err *err)
{
    struct mpi_test *t = job->t;
    char want[1800];
    snprintf(want, sizeof want,
             "SCR_Route_file: checkpoint step.1 has no file %s/step.1/header of rank "
             "%d or of another rank on its node (it has step.1/part.%d, for example); "
             "what a rank of another node wrote can be read with SCR_GLOBAL_RESTART=1",
             job->prefix, job->rank, job->rank);
    CHECK(strcmp(err->text, want) == 0);
}

/* Cached alone, on another node: nothing on this one has it. */
JOB_CASE(out_of_reach_the_line_says_what_to_set, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    char path[SCR_MAX_NAME];
    struct scr_ctx *ctx = job_start(job, nodes, NULL);
    checkpoint(job, ctx, 2);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, NULL);
    open_restart(job, ctx);
    int rc = route(job, ctx, "step.1/header", path, &err);
    CHECK_RC(rc, job->rank >= 2 ? SCR_OK : SCR_E_NOENT, &err);
    if (rc != SCR_OK)
        check_out_of_reach(job, &err);
    CHECK_RC(scr_complete_restart_all(ctx, 1, &err), SCR_OK, &err);
    job_kill(job, ctx);
}

/* The bytes in cache are others now: the copy in the prefix directory is right. */
MPI_CASE(damaged_bytes_of_another_rank_are_not_given_out)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    char path[SCR_MAX_NAME];
    for (int flush = 0; flush <= 1; flush++) {
        job_new(t, &job, 4);
        struct scr_ctx *ctx =
            job_start(&job, nodes, flush ? "SCR_FLUSH=1" : "SCR_FLUSH=0", NULL);
        checkpoint(&job, ctx, 0);
        job_kill(&job, ctx);
        ctx = job_start(&job, nodes, NULL);
        open_restart(&job, ctx);
        if (job.rank == 0) {
            CHECK_RC(route(&job, ctx, "step.1/header", path, &err), SCR_OK, &err);
            job_flip(path, 3);
        }
        mpi_test_barrier(job.comm);
        int rc = route(&job, ctx, "step.1/header", path, &err);
        if (job.rank == 1)
            CHECK_RC(rc, flush ? SCR_OK : SCR_E_NOENT, &err);
        CHECK(job.rank == 0 || !flush || holds(path, text));
        mpi_test_barrier(job.comm);
        CHECK_RC(scr_complete_restart_all(ctx, 1, &err), SCR_OK, &err);
        job_kill(&job, ctx);
        job_free(&job);
    }
}

/* --- names without a directory, in a program that runs in the prefix directory --- */

static const char *const top = "of all\n";

/* Rank 0 writes `header` in the prefix directory, each rank one in a directory of its
 * own if all, else rank 1 only. */
static void write_headers(struct job *job, struct scr_ctx *ctx, int all)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    char name[64];
    snprintf(name, sizeof name, "dir.%d/header", job->rank);
    CHECK_RC(scr_start_output_all(ctx, "step.1", 1, &err), SCR_OK, &err);
    write_part(job, ctx, job->rank);
    if (job->rank == 0)
        write_file(job, ctx, "header", top);
    else if (all || job->rank == 1)
        write_file(job, ctx, name, text);
    CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_OK, &err);
}

/* Asked for by all ranks as `header`; gives the code, and whether it held want. */
static int ask_bare(struct job *job, struct scr_ctx *ctx, const char *want, int *held)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    char path[SCR_MAX_NAME] = "", cwd[900];
    open_restart(job, ctx);
    CHECK(getcwd(cwd, sizeof cwd) != NULL && chdir(job->prefix) == 0);
    int rc = scr_route(ctx, "header", path, &err);
    CHECK(chdir(cwd) == 0);
    *held = rc == SCR_OK && holds(path, want);
    mpi_test_barrier(job->comm);
    CHECK_RC(scr_complete_restart_all(ctx, 1, &err), SCR_OK, &err);
    return rc;
}

static void bare_name(struct mpi_test *t, const char *write, int lost, const char *read,
                      unsigned reached)
{
    struct job job;
    int held;
    job_new(t, &job, 4);
    struct scr_ctx *ctx = job_start(&job, nodes, write, NULL);
    write_headers(&job, ctx, 0);
    job_kill(&job, ctx);
    if (lost)
        job_lose_node(&job, nodes);
    ctx = job_start(&job, nodes, read, NULL);
    int rc = ask_bare(&job, ctx, top, &held);
    CHECK_INT(held, (reached >> job.rank) & 1);
    CHECK_INT(rc, held ? SCR_OK : SCR_E_NOENT);
    job_kill(&job, ctx);
    job_free(&job);
}

MPI_CASE(the_path_counts_before_a_file_of_that_base_name)
{
    bare_name(t, "SCR_FLUSH=0", 0, NULL, FIRST_NODE);
    bare_name(t, "SCR_FLUSH=1", 0, NULL, EVERYWHERE);
    bare_name(t, "SCR_FLUSH=1", 1, "SCR_FETCH_BYPASS=1", EVERYWHERE);
    bare_name(t, "SCR_FLUSH=0", 0, "SCR_GLOBAL_RESTART=1", EVERYWHERE);
}

/* The base name is looked for among a rank's own files first, then among all. */
static void base_names(struct mpi_test *t, const char *setting)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    char path[SCR_MAX_NAME] = "";
    job_new(t, &job, 4);
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_FLUSH=1", NULL);
    write_headers(&job, ctx, 1);
    job_kill(&job, ctx);
    ctx = job_start(&job, nodes, setting, NULL);
    open_restart(&job, ctx);
    CHECK_RC(scr_route(ctx, "header", path, &err), SCR_OK, &err);
    CHECK(holds(path, job.rank == 0 ? top : text));
    CHECK_RC(scr_route(ctx, "part.2", path, &err), SCR_OK, &err);
    CHECK(holds(path, "part of 2\n"));
    mpi_test_barrier(job.comm);
    CHECK_RC(scr_complete_restart_all(ctx, 1, &err), SCR_OK, &err);
    job_kill(&job, ctx);
    job_free(&job);
}

MPI_CASE(a_base_name_is_that_of_the_rank_before_that_of_others)
{
    base_names(t, NULL);
    base_names(t, "SCR_GLOBAL_RESTART=1");
}

/* --- SCR_PRESERVE_DIRECTORIES=0: files are asked for by the paths they were given ---
 */

static const char *const flat = "SCR_PRESERVE_DIRECTORIES=0";

MPI_CASE(the_header_has_the_path_that_was_asked_for)
{
    written_and_read(t, flat, NULL, "n1", NULL, EVERYWHERE);
    written_and_read(t, flat, NULL, nodes, "SCR_GLOBAL_RESTART=1", NOWHERE);
}

/* Of 4 ranks' files, on the prefix or in cache alone, three ranks read all. */
static void read_by_three(struct mpi_test *t, const char *flush, int lost)
{
    struct job four, three;
    struct scr_err err = SCR_ERR_INIT;
    char path[SCR_MAX_NAME];
    job_new(t, &four, 4);
    struct scr_ctx *ctx = job_start(&four, nodes, flat, flush, NULL);
    checkpoint(&four, ctx, 0);
    job_kill(&four, ctx);
    if (lost)
        job_lose_node(&four, nodes);
    job_share(t, &three, &four, 3);
    if (three.in) {
        ctx = job_start(&three, nodes, NULL);
        open_restart(&three, ctx);
        CHECK_RC(route(&three, ctx, "step.1/header", path, &err), SCR_OK, &err);
        CHECK(holds(path, text));
        for (int i = 0; i < 4; i++) {
            char name[64], want[64];
            snprintf(name, sizeof name, "step.1/part.%d", i);
            snprintf(want, sizeof want, "part of %d\n", i);
            CHECK_RC(route(&three, ctx, name, path, &err), SCR_OK, &err);
            CHECK(holds(path, want));
        }
        CHECK_RC(route(&three, ctx, "step.1/nothing", path, &err), SCR_E_NOENT, &err);
        CHECK_RC(scr_complete_restart_all(ctx, 1, &err), SCR_OK, &err);
        job_kill(&three, ctx);
    }
    job_unshare(&three);
    job_free(&four);
}

MPI_CASE(a_different_number_of_ranks_asks_by_those_paths_too)
{
    read_by_three(t, "SCR_FLUSH=1", 1);
    read_by_three(t, "SCR_FLUSH=1", 0);
    read_by_three(t, "SCR_FLUSH=0", 0);
}

/* a/state and b/state, which one rank wrote, lie side by side under other names. */
MPI_CASE(several_files_asked_for_by_one_base_name_are_refused)
{
    struct job four, three;
    struct scr_err err = SCR_ERR_INIT;
    char path[SCR_MAX_NAME] = "";
    job_new(t, &four, 4);
    struct scr_ctx *ctx = job_start(&four, nodes, flat, "SCR_FLUSH=1", NULL);
    CHECK_RC(scr_start_output_all(ctx, "step.1", 1, &err), SCR_OK, &err);
    write_part(&four, ctx, four.rank);
    if (four.rank == 0) {
        write_file(&four, ctx, "a/state", text);
        write_file(&four, ctx, "b/state", top);
    }
    CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_OK, &err);
    job_kill(&four, ctx);
    job_lose_node(&four, nodes);
    job_share(t, &three, &four, 3);
    if (three.in) {
        ctx = job_start(&three, nodes, NULL);
        open_restart(&three, ctx);
        CHECK_RC(scr_route(ctx, "state", path, &err), SCR_E_ARG, &err);
        CHECK(strstr(err.text, "several files") != NULL);
        CHECK_RC(route(&three, ctx, "b/state", path, &err), SCR_OK, &err);
        CHECK(holds(path, top));
        CHECK_RC(scr_complete_restart_all(ctx, 1, &err), SCR_OK, &err);
        job_kill(&three, ctx);
    }
    job_unshare(&three);
    job_free(&four);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(
            RUN(all_ranks_read_the_header_of_one), RUN(also_when_it_bypasses_the_cache),
            RUN(also_when_it_is_read_in_the_prefix_directory),
            RUN(also_with_a_global_restart), RUN(also_after_the_loss_of_its_node),
            RUN(also_of_compressed_files), RUN(also_in_a_store_that_all_nodes_share),
            RUN(out_of_reach_the_line_says_what_to_set),
            RUN(damaged_bytes_of_another_rank_are_not_given_out),
            RUN(the_header_has_the_path_that_was_asked_for),
            RUN(the_path_counts_before_a_file_of_that_base_name),
            RUN(a_base_name_is_that_of_the_rank_before_that_of_others),
            RUN(several_files_asked_for_by_one_base_name_are_refused),
            RUN(a_different_number_of_ranks_asks_by_those_paths_too)));
}
