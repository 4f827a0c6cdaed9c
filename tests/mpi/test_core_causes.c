/* SPDX-License-Identifier: BSD-3-Clause */
/* What the line of a failure says of its cause: how many ranks, since when, a full
 * store, a name that was meant. */
/* ranks: 4 */
#include "helper_prefix.h"
#include "helper_shared.h"

static const char *const nodes = "n[1-2]"; /* ranks 0 and 1, ranks 2 and 3 */

static int write_own(struct job *job, struct scr_ctx *ctx, const char *name)
{
    struct scr_err err = SCR_ERR_INIT;
    char file[900], path[SCR_MAX_NAME];
    snprintf(file, sizeof file, "%s/%s.%d", job->prefix, name, job->rank);
    if (scr_route(ctx, file, path, &err) != SCR_OK)
        return 0;
    FILE *f = fopen(path, "w");
    return f != NULL && fputs(name, f) >= 0 && fclose(f) == 0;
}

static void attempt(struct job *job, struct scr_ctx *ctx, int valid,
                    struct scr_err *err)
{
    struct mpi_test *t = job->t;
    scr_err_clear(err);
    CHECK_RC(scr_start_output_all(ctx, NULL, SCR_IS_CKPT, err), SCR_OK, err);
    CHECK(write_own(job, ctx, "state"));
    CHECK_INT(scr_complete_output_all(ctx, valid, err), valid ? SCR_OK : SCR_E_INVALID);
}

JOB_CASE(an_error_says_which_rank_failed_first_and_how_many_did, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, NULL);
    CHECK_RC(scr_start_output_all(ctx, NULL, SCR_IS_CKPT, &err), SCR_OK, &err);
    CHECK(write_own(job, ctx, "state"));
    CHECK_INT(scr_complete_output_all(ctx, job->rank == 0, &err), SCR_E_INVALID);
    CHECK_INT(err.rank, 1);
    CHECK_INT(err.others, 2);
    attempt(job, ctx, 0, &err);
    CHECK_INT(err.rank, 0);
    CHECK_INT(err.others, 0); /* the line is that of all of them */
    job_kill(job, ctx);
}

JOB_CASE(only_relative_names_need_the_working_directory, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    char path[SCR_MAX_NAME], gone[900], before[SCR_MAX_NAME];
    struct scr_ctx *ctx = job_start(job, nodes, NULL);
    snprintf(gone, sizeof gone, "%s/gone.%d", job->prefix, job->rank);
    CHECK(getcwd(before, sizeof before) != NULL);
    CHECK(mkdir(gone, 0700) == 0 && chdir(gone) == 0 && rmdir(gone) == 0);
    CHECK_RC(scr_start_output_all(ctx, NULL, SCR_IS_CKPT, &err), SCR_OK, &err);
    CHECK(write_own(job, ctx, "state"));
    CHECK_RC(scr_route(ctx, "state", path, &err), SCR_E_NOENT, &err);
    CHECK_TEXT(&err, "SCR_Route_file: state: current directory: no such file");
    CHECK(chdir(before) == 0);
    scr_err_clear(&err);
    CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_E_NOENT, &err);
    job_kill(job, ctx);
}

JOB_CASE(failures_in_a_row_are_counted, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx = job_start(job, nodes, NULL);
    attempt(job, ctx, 0, &err);
    CHECK(strstr(err.text, "failed, none for") == NULL);
    attempt(job, ctx, 0, &err);
    CHECK_TEXT(&err, "is not completed (2 failed, none for ");
    attempt(job, ctx, 0, &err);
    CHECK_TEXT(&err, "is not completed (3 failed, none for ");
    attempt(job, ctx, 1, &err);
    attempt(job, ctx, 0, &err);
    CHECK(strstr(err.text, "failed, none for") == NULL);
    job_kill(job, ctx);
}

static int statvfs_full(const char *path, struct statvfs *st)
{
    int rc = statvfs(path, st);
    st->f_bavail = 1;
    return rc;
}

JOB_CASE(a_full_store_is_named_when_the_program_gives_up, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_sys full = scr_sys_posix;
    struct scr_ctx *ctx = job_start(job, nodes, NULL);
    CHECK_RC(scr_start_output_all(ctx, NULL, SCR_IS_CKPT, &err), SCR_OK, &err);
    CHECK(write_own(job, ctx, "state"));
    full.statvfs = statvfs_full;
    ctx->env.sys = &full;
    CHECK_INT(scr_complete_output_all(ctx, job->rank != 2, &err), SCR_E_INVALID);
    ctx->env.sys = &scr_sys_posix;
    CHECK_TEXT(&err, "the application passed valid=0; /");
    CHECK_TEXT(&err, " is full (");
    job_kill(job, ctx);
}

JOB_CASE(a_wrong_name_in_a_restart_is_told_the_nearest, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    char name[SCR_MAX_NAME], file[900], want[64];
    int flag = 0;
    struct scr_ctx *ctx = job_start(job, nodes, NULL);
    attempt(job, ctx, 1, &err);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, NULL);
    CHECK_RC(scr_have_restart_all(ctx, &flag, name, &err), SCR_OK, &err);
    CHECK_RC(scr_start_restart_all(ctx, name, &err), SCR_OK, &err);
    snprintf(file, sizeof file, "%s/sate.%d", job->prefix, job->rank);
    CHECK_INT(scr_route(ctx, file, name, &err), SCR_E_NOENT);
    snprintf(want, sizeof want, "(did you mean state.%d?)", job->rank);
    CHECK_TEXT(&err, want);
    scr_err_clear(&err);
    snprintf(file, sizeof file, "%s/of/another/kind", job->prefix);
    CHECK_INT(scr_route(ctx, file, name, &err), SCR_E_NOENT);
    CHECK(strstr(err.text, "did you mean") == NULL);
    snprintf(want, sizeof want, "node (it has state.%d, for example); ", job->rank);
    CHECK_TEXT(&err, want);
    CHECK_TEXT(&err, "can be read with SCR_GLOBAL_RESTART=1");
    scr_err_clear(&err);
    CHECK_RC(scr_complete_restart_all(ctx, 1, &err), SCR_OK, &err);
    job_kill(job, ctx);
}

/* On one node there are no files out of reach. */
JOB_CASE(a_wrong_name_on_one_node_is_told_no_setting, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    char name[SCR_MAX_NAME], file[900], want[2 * SCR_MAX_NAME];
    int flag = 0;
    struct scr_ctx *ctx = job_start(job, "n1", NULL);
    attempt(job, ctx, 1, &err);
    job_kill(job, ctx);
    ctx = job_start(job, "n1", NULL);
    CHECK_RC(scr_have_restart_all(ctx, &flag, name, &err), SCR_OK, &err);
    CHECK_RC(scr_start_restart_all(ctx, name, &err), SCR_OK, &err);
    snprintf(want, sizeof want,
             "SCR_Route_file: checkpoint %s has no file %s/of/another/kind "
             "(it has state.%d, for example)",
             name, job->prefix, job->rank);
    snprintf(file, sizeof file, "%s/of/another/kind", job->prefix);
    CHECK_INT(scr_route(ctx, file, name, &err), SCR_E_NOENT);
    CHECK(strcmp(err.text, want) == 0);
    scr_err_clear(&err);
    CHECK_RC(scr_complete_restart_all(ctx, 1, &err), SCR_OK, &err);
    job_kill(job, ctx);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(an_error_says_which_rank_failed_first_and_how_many_did),
                  RUN(only_relative_names_need_the_working_directory),
                  RUN(failures_in_a_row_are_counted),
                  RUN(a_full_store_is_named_when_the_program_gives_up),
                  RUN(a_wrong_name_in_a_restart_is_told_the_nearest),
                  RUN(a_wrong_name_on_one_node_is_told_no_setting)));
}
