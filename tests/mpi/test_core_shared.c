/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that several ranks write. */
/* ranks: 4 */
#include "helper_job.h"

static const char *const nodes = "n[1-4]";

/* Routes <prefix>/name and writes it whole, as if every rank had it for itself. */
static int write_own(struct job *job, struct scr_ctx *ctx, const char *name)
{
    char file[900], path[SCR_MAX_NAME];
    struct scr_err err = SCR_ERR_INIT;
    snprintf(file, sizeof file, "%s/%s", job->prefix, name);
    if (scr_route(ctx, file, path, &err) != SCR_OK)
        return 0;
    FILE *f = fopen(path, "w");
    if (f == NULL)
        return 0;
    fprintf(f, "%s of rank %d\n", name, job->rank);
    return fclose(f) == 0;
}

/* A checkpoint of one file a rank, called by name[rank]; its code and error. */
static int checkpoint(struct job *job, struct scr_ctx *ctx, const char *const *name,
                      struct scr_err *err)
{
    struct mpi_test *t = job->t;
    CHECK_RC(scr_start_output_all(ctx, NULL, SCR_IS_CKPT, err), SCR_OK, err);
    int valid = name[job->rank] == NULL || write_own(job, ctx, name[job->rank]);
    CHECK(valid);
    return scr_complete_output_all(ctx, valid, err);
}

#define CHECK_TEXT(err, part)                                                          \
    do {                                                                               \
        if (strstr((err)->text, part) == NULL)                                         \
            mpi_test_fail(t, __FILE__, __LINE__, "\"%s\" lacks \"%s\"", (err)->text,   \
                          part);                                                       \
    } while (0)

MPI_CASE(a_shared_file_in_a_store_of_nodes_is_refused_at_complete)
{
    static const char *const name[] = { "shared", "shared", "shared", "shared" };
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    job_new(t, &job, 4);
    struct scr_ctx *ctx = job_start(&job, nodes, NULL);
    job_checkpoint(&job, ctx, "one", 1);
    CHECK_RC(checkpoint(&job, ctx, name, &err), SCR_E_EXIST, &err);
    CHECK_TEXT(&err, "ranks 0-3 all routed shared");
    CHECK_TEXT(&err, "SCR_CACHE_BYPASS=1");
    CHECK_TEXT(&err, "GROUP=WORLD");
    CHECK_INT(ctx->state, SCR_STATE_IDLE);
    CHECK(!scr_cache_is_ready(ctx, 2));
    job_kill(&job, ctx);
    ctx = job_start(&job, nodes, NULL);
    job_check_restart(&job, ctx, "one", 1); /* what was there is not lost */
    job_end(&job, ctx);
    job_free(&job);
}

MPI_CASE(two_ranks_of_many_that_share_a_file_are_named)
{
    static const char *const name[] = { "a.0", "late", "a.2", "late" };
    static const char *const crossed[] = { "a.2", NULL, "a.2", "a.3" };
    struct job job;
    struct scr_err err = SCR_ERR_INIT, again = SCR_ERR_INIT;
    job_new(t, &job, 4);
    struct scr_ctx *ctx = job_start(&job, nodes, NULL);
    CHECK_RC(checkpoint(&job, ctx, name, &err), SCR_E_EXIST, &err);
    CHECK_TEXT(&err, "ranks 1,3 all routed late");
    CHECK_RC(checkpoint(&job, ctx, crossed, &again), SCR_E_EXIST, &again);
    CHECK_TEXT(&again, "ranks 0,2 all routed a.2");
    job_checkpoint(&job, ctx, "one", 1); /* and the run goes on */
    job_kill(&job, ctx);
    job_free(&job);
}

MPI_CASE(files_of_one_rank_each_are_not_refused)
{
    static const char *const names[][4] = {
        { "a", "b", "c", "d" },
        { "meta", NULL, NULL, NULL },
        { NULL, NULL, NULL, NULL },
        { "x.1", "x.0", "x.3", "x.2" },
        { "d/state", "e/state", "f/state", "g/state" },
    };
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    job_new(t, &job, 4);
    struct scr_ctx *ctx = job_start(&job, nodes, NULL);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        CHECK_RC(checkpoint(&job, ctx, names[i], &err), SCR_OK, &err);
    job_kill(&job, ctx);
    job_free(&job);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(a_shared_file_in_a_store_of_nodes_is_refused_at_complete),
                  RUN(two_ranks_of_many_that_share_a_file_are_named),
                  RUN(files_of_one_rank_each_are_not_refused)));
}
