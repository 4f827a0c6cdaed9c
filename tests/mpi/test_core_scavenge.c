/* SPDX-License-Identifier: BSD-3-Clause */
/* A job is killed and nodes are lost; scr_postrun saves from the survivors what is only
 * in cache, and a job on other nodes restarts from it with the same bytes. */
/* ranks: 4 */
#include "helper_prefix.h"
#include "helper_rivals.h"
#include "helper_stored.h"

#include <stdarg.h>

#include "base/proc.h"
#include "base/str.h"

static const char *const nodes = "n[1-4]";
static const char *const others = "m[1-4]";

/* Runs a command of scr on rank 0 with these arguments and the job's places; its exit
 * status on all ranks. *out: what it printed, malloc'd, on rank 0. */
static int tool(struct job *job, char **out, ...)
{
    const char *argv[16] = { SCR_TOOL };
    char *prefix = scr_asprintf("SCR_PREFIX=%s", job->prefix);
    char *cntl = scr_asprintf("SCR_CNTL_BASE=%s", job->cache);
    const char *env[] = { prefix, cntl, "SCR_USER_NAME=tester", "SCR_JOB_ID=job",
                          NULL };
    const struct scr_proc_spec spec = { .argv = argv, .env = env };
    int status = -1;
    va_list ap;
    va_start(ap, out);
    for (int i = 1; i < 15 && (argv[i] = va_arg(ap, const char *)) != NULL; i++)
        ;
    va_end(ap);
    *out = NULL;
    mpi_test_barrier(job->comm);
    if (job->rank == 0)
        scr_proc_run(&spec, 60, out, &status, NULL);
    free(prefix);
    free(cntl);
    MPI_Bcast(&status, 1, MPI_INT, 0, job->comm);
    return status;
}

static int postrun(struct job *job)
{
    char *out;
    int status = tool(job, &out, "postrun", NULL);
    free(out);
    return status;
}

/* The next job is on nodes that have nothing. */
static void check_next_job(struct mpi_test *t, struct job *job, const char *what,
                           const char *name, int seed)
{
    (void)what;
    (void)t;
    job_lose_node(job, nodes);
    struct scr_ctx *ctx = job_start(job, others, NULL);
    job_check_restart(job, ctx, name, seed);
    job_kill(job, ctx);
}

/* --- a node with files of an older dataset of the same number --- */

static const struct stale {
    const char *setting;
    int nodes[3];
    int status; /* of scr_postrun */
    const char *name;
    int seed;
} stales[] = {
    { "SCR_COPY_TYPE=XOR", { 4 }, 0, "two", 12 },
    { "SCR_COPY_TYPE=XOR", { 1 }, 0, "two", 12 },
    { "SCR_COPY_TYPE=PARTNER", { 2, 4 }, 0, "two", 12 },
    { "SCR_COPY_TYPE=XOR", { 1, 2 }, 1, NULL, 0 },
    { "SCR_COPY_TYPE=SINGLE", { 3 }, 1, NULL, 0 },
};

/* With a flush file, and where only the caches list the datasets. */
MPI_CASE(a_stale_part_is_not_saved_with_the_rest)
{
    enum { N = sizeof stales / sizeof stales[0] };
    for (size_t i = 0; i < 2 * N; i++) {
        const struct stale *s = &stales[i / 2];
        struct job job;
        job_new(t, &job, 4);
        rivals_two_runs(&job, s->setting, nodes, s->nodes, 0);
        if (i % 2)
            rivals_forget(&job);
        CHECK_INT(postrun(&job), s->status);
        check_next_job(t, &job, s->setting, s->name, s->seed);
        job_free(&job);
    }
}

/* Three of four nodes have the older one: a start restores that, and so it is saved. */
JOB_CASE(where_only_the_older_can_be_restored_it_is_saved, 4)
{
    static const int stale[] = { 1, 2, 3, 0 };
    rivals_two_runs(job, "SCR_COPY_TYPE=XOR", nodes, stale, 0);
    rivals_forget(job);
    job_save(job);
    CHECK_INT(postrun(job), 0);
    check_next_job(t, job, "three nodes are stale", "two", 2);
    job_go_back(job);
    struct scr_ctx *ctx = job_start(job, nodes, NULL);
    job_check_restart(job, ctx, "two", 2);
    job_kill(job, ctx);
}

/* A command that names no dataset gets no mixture. */
JOB_CASE(files_of_two_datasets_make_none, 4)
{
    static const int stale[] = { 3, 0 };
    char *out;
    rivals_two_runs(job, "SCR_COPY_TYPE=SINGLE", nodes, stale, 0);
    CHECK_INT(tool(job, &out, "copy", "--id", "2", NULL), 0);
    free(out);
    CHECK(tool(job, &out, "index", "--build", "2", NULL) != 0);
    free(out);
    check_next_job(t, job, "copies of all nodes", NULL, 0);
}

/* --- schemes and losses --- */

static const struct loss {
    const char *what, *settings[4];
    const char *lose; /* NULL: no node */
    int status;       /* of scr_postrun */
    const char *name; /* what the next job restarts from */
    int seed;
} losses[] = {
    { "nothing lost", { "SCR_COPY_TYPE=XOR" }, NULL, 0, "two", 2 },
    { "SINGLE", { "SCR_COPY_TYPE=SINGLE" }, NULL, 0, "two", 2 },
    { "SINGLE, a node lost", { "SCR_COPY_TYPE=SINGLE" }, "n3", 1, NULL, 0 },
    { "PARTNER", { "SCR_COPY_TYPE=PARTNER" }, "n2", 0, "two", 2 },
    { "PARTNER, two nodes", { "SCR_COPY_TYPE=PARTNER" }, "n1,n3", 0, "two", 2 },
    { "XOR", { "SCR_COPY_TYPE=XOR" }, "n4", 0, "two", 2 },
    { "XOR in two sets",
      { "SCR_COPY_TYPE=XOR", "SCR_SET_SIZE=2" },
      "n1,n4",
      0,
      "two",
      2 },
    { "RS", { "SCR_COPY_TYPE=RS", "SCR_SET_FAILURES=2" }, "n2,n3", 0, "two", 2 },
    { "too many", { "SCR_COPY_TYPE=XOR" }, "n1,n2", 1, NULL, 0 },
    { "the older one is better protected",
      { "SCR_COPY_TYPE=FILE", "CKPT=0 INTERVAL=1 TYPE=RS SET_FAILURES=2",
        "CKPT=1 INTERVAL=2 TYPE=XOR" },
      "n1,n2",
      1,
      "one",
      1 },
    { "the older one was flushed",
      { "SCR_COPY_TYPE=FILE", "CKPT=0 INTERVAL=1 TYPE=XOR BYPASS=1",
        "CKPT=1 INTERVAL=2 TYPE=XOR" },
      "n1,n2",
      1,
      "one",
      1 },
    { "no checksums", { "SCR_CRC_ON_COPY=0", "SCR_COPY_TYPE=XOR" }, "n2", 0, "two", 2 },
    { "directories of SCR's own",
      { "SCR_PRESERVE_DIRECTORIES=0", "SCR_COPY_TYPE=XOR" },
      "n2",
      0,
      "two",
      2 },
    { "in place already", { "SCR_CACHE_BYPASS=1" }, "n2", 0, "two", 2 },
};

MPI_CASE(the_next_job_finds_what_survived)
{
    for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++) {
        const struct loss *l = &losses[i];
        struct job job;
        job_new(t, &job, 4);
        struct scr_ctx *ctx = job_start(&job, nodes, l->settings[0], l->settings[1],
                                        l->settings[2], NULL);
        job_checkpoint(&job, ctx, "one", 1);
        job_checkpoint(&job, ctx, "two", 2);
        job_kill(&job, ctx);
        if (l->lose != NULL)
            job_lose_node(&job, l->lose);
        int status = postrun(&job);
        if (status != l->status)
            mpi_test_fail(t, __FILE__, __LINE__, "%s: exit status %d", l->what, status);
        CHECK_INT(postrun(&job), l->status); /* again: nothing, or lost for good */
        check_next_job(t, &job, l->what, l->name, l->seed);
        job_free(&job);
    }
}

/* --- an older run's files at the same paths --- */

/* helper_job writes every checkpoint to its own directory; this one does not. */
static void write_same(struct mpi_test *t, struct job *job, struct scr_ctx *ctx,
                       const char *name, const char *text)
{
    struct scr_err err = SCR_ERR_INIT;
    char file[800], path[SCR_MAX_NAME];
    snprintf(file, sizeof file, "%s/state.%d", job->prefix, job->rank);
    CHECK_RC(scr_start_output_all(ctx, name, SCR_IS_CKPT, &err), SCR_OK, &err);
    CHECK_RC(scr_route(ctx, file, path, &err), SCR_OK, &err);
    FILE *f = fopen(path, "w");
    int valid = f != NULL && fputs(text, f) >= 0;
    if (f != NULL)
        valid = fclose(f) == 0 && valid;
    CHECK_RC(scr_complete_output_all(ctx, valid, &err), SCR_OK, &err);
}

static int has_text(const struct job *job, const char *text)
{
    char file[800], got[64] = "";
    snprintf(file, sizeof file, "%s/state.%d", job->prefix, job->rank);
    FILE *f = fopen(file, "r");
    if (f != NULL) {
        if (fgets(got, sizeof got, f) == NULL)
            got[0] = '\0';
        fclose(f);
    }
    return strcmp(got, text) == 0;
}

MPI_CASE(what_cannot_be_saved_replaces_nothing)
{
    for (int lost = 1; lost <= 2; lost++) {
        struct job job;
        char *out;
        job_new(t, &job, 4);
        struct scr_ctx *ctx =
            job_start(&job, nodes, "SCR_COPY_TYPE=XOR", "SCR_FLUSH=2", NULL);
        write_same(t, &job, ctx, "a", "before");
        write_same(t, &job, ctx, "b", "flushed"); /* every second is */
        write_same(t, &job, ctx, "c", "after");
        job_kill(&job, ctx);
        job_lose_node(&job, lost == 1 ? "n2" : "n2,n3");
        CHECK_INT(postrun(&job), lost == 1 ? 0 : 1);
        CHECK(has_text(&job, lost == 1 ? "after" : "flushed"));
        CHECK_INT(tool(&job, &out, "verify", NULL), 0);
        free(out);
        job_lose_node(&job, nodes);
        CHECK_INT(tool(&job, &out, "have_restart", NULL), 0);
        if (job.rank == 0)
            CHECK(strcmp(out, lost == 1 ? "c\n" : "b\n") == 0);
        free(out);
        job_free(&job);
    }
}

static int edit_incomplete(struct scr_index *index, void *arg, int *changed,
                           struct scr_err *err)
{
    (void)arg, (void)err;
    scr_index_mark_incomplete(index, 2);
    *changed = 1;
    return SCR_OK;
}

/* The process that should replace dataset 2 died after it had edited the index: its
 * summary still exists. */
static void demote_half(struct mpi_test *t, struct job *job)
{
    struct scr_env env = { .sys = &scr_sys_posix };
    struct scr_prefix p = { 0 };
    struct scr_err err = SCR_ERR_INIT;
    if (job->rank == 0) {
        CHECK_RC(scr_prefix_open(&env, job->prefix, 0, &p, &err), SCR_OK, &err);
        CHECK_RC(scr_prefix_index_update(&env, &p, edit_incomplete, NULL, &err), SCR_OK,
                 &err);
        scr_prefix_fini(&p);
    }
    mpi_test_barrier(job->comm);
}

JOB_CASE(a_demotion_that_died_is_finished_by_the_scavenge, 4)
{
    char summary[] = ".scr/scr.dataset.2/summary.scr";
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_COPY_TYPE=XOR", "SCR_FLUSH=2", NULL);
    write_same(t, job, ctx, "a", "before");
    write_same(t, job, ctx, "b", "flushed");
    write_same(t, job, ctx, "c", "after");
    job_kill(job, ctx);
    demote_half(t, job);
    CHECK(job_has(job, summary));
    CHECK_INT(postrun(job), 0);
    CHECK(has_text(job, "after"));
    CHECK(!job_has(job, summary));
    CHECK_ENTRY(job, 2, ABSENT, NOT_CURRENT);
    CHECK_ENTRY(job, 3, COMPLETE, CURRENT);
}

/* --- flushes that were under way --- */

MPI_CASE(an_asynchronous_flush_continues_in_the_scavenge)
{
    static const char *const bw[] = { "SCR_FLUSH_ASYNC_BW=1",
                                      "SCR_FLUSH_ASYNC_BW=30000",
                                      "SCR_FLUSH_ASYNC_BW=0" };
    for (size_t i = 0; i < sizeof bw / sizeof bw[0]; i++) {
        struct job job;
        job_new(t, &job, 4);
        struct scr_ctx *ctx =
            job_start(&job, nodes, "SCR_COPY_TYPE=XOR", "SCR_FLUSH=1",
                      "SCR_FLUSH_ASYNC=1", "SCR_FLUSH_TYPE=PTHREAD", bw[i], NULL);
        job_checkpoint(&job, ctx, "one", 1);
        job_kill(&job, ctx);
        job_lose_node(&job, "n2");
        CHECK_INT(postrun(&job), 0);
        check_next_job(t, &job, bw[i], "one", 1);
        job_free(&job);
    }
}

/* --- output --- */

/* A scavenge that could not make the dataset whole, as another command was to do it or
 * it died, and a next run in the same allocation. */
JOB_CASE(a_flush_removes_what_a_scavenge_left, 4)
{
    char *out, *stage = scr_asprintf("%s/.scr/scr.dataset.1/files", job->prefix);
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=0", NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_kill(job, ctx);
    job_lose_node(job, "n1");
    CHECK_INT(tool(job, &out, "scavenge", "--id", "1", "--jobset", nodes, "--down",
                   "n1", NULL),
              0);
    free(out);
    CHECK_INT(access(stage, F_OK), 0);
    ctx = job_start(job, "m1,n[2-4]", "SCR_FLUSH=1", NULL);
    job_check_restart(job, ctx, "one", 1);
    job_end(job, ctx);
    CHECK_INT(tool(job, &out, "verify", NULL), 0);
    free(out);
    CHECK_INT(access(stage, F_OK), -1);
    free(stage);
}

JOB_CASE(output_is_saved_with_the_checkpoint, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    char *out;
    job->out = fopen("/dev/null", "w");
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_COPY_TYPE=XOR", NULL);
    /* A file in place of its directory: the flush of the output fails. */
    char *way = scr_asprintf("%s/step.5", job->prefix);
    if (job->rank == 0)
        fclose(fopen(way, "w"));
    (void)job_write(job, ctx, "plot", 5, SCR_IS_OUTPUT, &err);
    job_checkpoint(job, ctx, "one", 1);
    job_kill(job, ctx);
    if (job->rank == 0)
        unlink(way);
    free(way);
    job_lose_node(job, "n3");
    CHECK_INT(postrun(job), 0);
    CHECK_INT(tool(job, &out, "index", NULL), 0);
    if (job->rank == 0)
        CHECK(strstr(out, "plot") != NULL && strstr(out, " NO ") == NULL);
    free(out);
    CHECK_INT(tool(job, &out, "verify", NULL), 0);
    free(out);
    fclose(job->out);
    job->out = NULL;
    check_next_job(t, job, "output", "one", 1);
}

/* --- a cache that all nodes share --- */

JOB_CASE(a_shared_cache_is_copied_for_the_dead, 4)
{
    char base[900], store[1000], dir[800];
    snprintf(dir, sizeof dir, "%s/world", job->dir);
    if (job->rank == 0)
        mkdir(dir, 0700);
    snprintf(base, sizeof base, "SCR_CACHE_BASE=%s", dir);
    snprintf(store, sizeof store, "STORE=%s GROUP=WORLD", dir);
    struct scr_ctx *ctx =
        job_start(job, nodes, base, store, "SCR_COPY_TYPE=SINGLE", NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_kill(job, ctx);
    job_lose_node(job, "n2,n3"); /* their control directories */
    CHECK_INT(postrun(job), 0);
    mpi_test_barrier(job->comm);
    if (job->rank == 0)
        mpi_test_remove(dir);
    check_next_job(t, job, "shared", "one", 1);
}

/* --- the next job has a different number of ranks --- */

MPI_CASE(a_job_of_fewer_ranks_finds_it)
{
    struct job job, fewer;
    job_new(t, &job, 4);
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_COPY_TYPE=XOR", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    job_lose_node(&job, "n1");
    CHECK_INT(postrun(&job), 0);
    job_lose_node(&job, nodes);
    job_share(t, &fewer, &job, 3);
    if (fewer.in) {
        struct scr_err err = SCR_ERR_INIT;
        char name[SCR_MAX_NAME] = "";
        int have = 0;
        ctx = job_start(&fewer, others, NULL);
        CHECK_RC(scr_have_restart_all(ctx, &have, name, &err), SCR_OK, &err);
        CHECK(have && strcmp(name, "one") == 0);
        CHECK_RC(scr_start_restart_all(ctx, name, &err), SCR_OK, &err);
        for (int r = 0; r < 4; r++)
            CHECK(job_read_of(&fewer, ctx, r, 1));
        CHECK_RC(scr_complete_restart_all(ctx, 1, &err), SCR_OK, &err);
        job_kill(&fewer, ctx);
    }
    job_unshare(&fewer);
    job_free(&job);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(a_stale_part_is_not_saved_with_the_rest),
                  RUN(where_only_the_older_can_be_restored_it_is_saved),
                  RUN(files_of_two_datasets_make_none),
                  RUN(the_next_job_finds_what_survived),
                  RUN(what_cannot_be_saved_replaces_nothing),
                  RUN(a_demotion_that_died_is_finished_by_the_scavenge),
                  RUN(an_asynchronous_flush_continues_in_the_scavenge),
                  RUN(a_flush_removes_what_a_scavenge_left),
                  RUN(output_is_saved_with_the_checkpoint),
                  RUN(a_shared_cache_is_copied_for_the_dead),
                  RUN(a_job_of_fewer_ranks_finds_it)));
}
