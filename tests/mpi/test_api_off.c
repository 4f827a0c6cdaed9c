/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that continue although SCR does not run, as the shortest ones do: one line
 * in all gives the reason, calls succeed, and the programs write their own files
 * (invariant P23). On two ranks SCR is switched off, on three SCR_Init fails. The cases
 * run in order: they are one life of the library. */
/* ranks: 2 3 */
#include "mpi_test.h"

#include <fcntl.h>

#include "scr.h"

static int is_disabled(const struct mpi_test *t)
{
    return t->comm.size == 2;
}

/* The lines that all ranks print into a file of the run, from one call to the other. */
static int say_into_file(const struct mpi_test *t, char *path, size_t n)
{
    int saved = dup(2);
    snprintf(path, n, "%s/stderr", t->dir);
    mpi_test_barrier(t->comm.comm);
    int fd = open(path, O_CREAT | O_APPEND | O_WRONLY, 0600);
    fflush(stderr);
    dup2(fd, 2);
    close(fd);
    return saved;
}

static int lines_said(const struct mpi_test *t, int saved, const char *path)
{
    int lines = 0;
    fflush(stderr);
    dup2(saved, 2);
    close(saved);
    mpi_test_barrier(t->comm.comm);
    FILE *f = fopen(path, "r");
    for (int c; f != NULL && (c = getc(f)) != EOF;)
        lines += c == '\n';
    if (f != NULL)
        fclose(f);
    mpi_test_barrier(t->comm.comm);
    if (t->comm.rank == 0)
        remove(path);
    mpi_test_barrier(t->comm.comm);
    return lines;
}

/* A call, and how many lines all ranks have printed in it. */
#define SAYS(lines, call)                                                              \
    do {                                                                               \
        char said_[600];                                                               \
        int saved_ = say_into_file(t, said_, sizeof said_);                            \
        call;                                                                          \
        CHECK_INT(lines_said(t, saved_, said_), lines);                                \
    } while (0)

static int file_is(const char *path, const char *text)
{
    char got[64] = "";
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return 0;
    int same = fgets(got, sizeof got, f) != NULL && strcmp(got, text) == 0;
    fclose(f);
    return same;
}

MPI_CASE(a_start_without_scr_is_reported_once)
{
    char why[SCR_MAX_FILENAME];
    t->keeps = 1;
    CHECK_INT(chdir(t->dir), 0);
    setenv("SCR_CHECKPOINT_INTERVAL", "2", 1);
    setenv(is_disabled(t) ? "SCR_ENABLE" : "SCR_PREFIX",
           is_disabled(t) ? "0" : "/no/such/directory", 1);
    SAYS(1, CHECK_INT(SCR_Init(), is_disabled(t) ? SCR_SUCCESS : SCR_E_NOENT));
    CHECK_INT(SCR_Last_error(why), is_disabled(t) ? SCR_SUCCESS : SCR_E_NOENT);
    CHECK(is_disabled(t) || strstr(why, "; this run makes no checkpoints") != NULL);
    SAYS(1, CHECK_INT(SCR_Init(), SCR_E_STATE));
}

MPI_CASE(what_is_asked_has_an_answer)
{
    char name[SCR_MAX_FILENAME] = "", *value = NULL;
    int flag = 7;
    CHECK_INT(SCR_Restart_ranks(&flag), SCR_SUCCESS); /* asks for any number of ranks */
    CHECK_INT(flag, 0);
    flag = 7;
    CHECK_INT(SCR_Have_restart(&flag, name), SCR_SUCCESS);
    CHECK_INT(flag, 0);
    for (int i = 0; i < 4; i++) {
        CHECK_INT(SCR_Need_checkpoint(&flag), SCR_SUCCESS);
        CHECK_INT(flag, i % 2);
    }
    flag = 7;
    CHECK_INT(SCR_Should_exit(&flag), SCR_SUCCESS);
    CHECK_INT(flag, 0);
    value = (char *)(uintptr_t)SCR_Config("SCR_CHECKPOINT_INTERVAL");
    CHECK(value != NULL && strcmp(value, "2") == 0);
    free(value);
    CHECK_INT(SCR_Current("a"), SCR_SUCCESS);
    CHECK_INT(SCR_Delete("a"), SCR_SUCCESS);
    CHECK_INT(SCR_Drop("a"), SCR_SUCCESS);
    SAYS(1, CHECK_INT(SCR_Need_checkpoint(NULL), SCR_E_ARG));
}

MPI_CASE(the_program_writes_its_files)
{
    char name[] = "a", file[64], path[SCR_MAX_FILENAME];
    for (int i = 0; i < 3; i++) {
        snprintf(file, sizeof file, "ckpt.%d/part/rank_%d", i, t->comm.rank);
        CHECK_INT(SCR_Route_file(file, path), SCR_SUCCESS);
        CHECK(access("ckpt.0/part", F_OK) != 0 || i > 0); /* nothing is open */
        mpi_test_barrier(t->comm.comm);
        CHECK_INT(SCR_Start_output(name, SCR_FLAG_CHECKPOINT), SCR_SUCCESS);
        CHECK_INT(SCR_Route_file(file, path), SCR_SUCCESS);
        CHECK(strcmp(path, file) == 0);
        FILE *f = fopen(path, "w");
        int ok = f != NULL && fputs(file, f) >= 0;
        ok = f != NULL && fclose(f) == 0 && ok;
        CHECK_INT(SCR_Complete_output(ok), SCR_SUCCESS);
        CHECK(file_is(file, file));
    }
}

MPI_CASE(a_file_that_failed_on_one_rank_fails_the_phase_on_all)
{
    char name[] = "a", path[SCR_MAX_FILENAME];
    int last = t->comm.rank == t->comm.size - 1;
    CHECK_INT(SCR_Start_output(name, SCR_FLAG_OUTPUT), SCR_SUCCESS);
    SAYS(1, CHECK_INT(SCR_Complete_output(!last), SCR_E_INVALID));
    if (last) /* a file where the directory should be */
        fclose(fopen("taken", "w"));
    CHECK_INT(SCR_Start_output(name, SCR_FLAG_OUTPUT), SCR_SUCCESS);
    SAYS(1, CHECK_INT(SCR_Route_file(last ? "taken/file" : "free/file", path),
                      last ? SCR_E_IO : SCR_SUCCESS));
    SAYS(1, CHECK_INT(SCR_Complete_output(1), SCR_E_IO));
}

MPI_CASE(calls_keep_their_order)
{
    char name[] = "a", path[SCR_MAX_FILENAME];
    int n;
    SAYS(1, CHECK_INT(SCR_Complete_output(1), SCR_E_STATE));
    SAYS(1, CHECK_INT(SCR_Start_restart(path), SCR_E_STATE));
    SAYS(1, CHECK_INT(SCR_Restart_files(&n), SCR_E_STATE));
    CHECK_INT(SCR_Start_output(name, SCR_FLAG_CHECKPOINT), SCR_SUCCESS);
    SAYS(1, CHECK_INT(SCR_Start_output(name, SCR_FLAG_CHECKPOINT), SCR_E_STATE));
    SAYS(1, CHECK_INT(SCR_Finalize(), SCR_E_STATE));
    CHECK_INT(SCR_Complete_output(1), SCR_SUCCESS);
    CHECK_INT(SCR_Finalize(), SCR_SUCCESS);
    SAYS(1, CHECK_INT(SCR_Finalize(), SCR_E_STATE));
    CHECK_INT(chdir("/"), 0);
}

int main(int argc, char **argv)
{
    mpi_test_forget_settings();
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(a_start_without_scr_is_reported_once),
                  RUN(what_is_asked_has_an_answer), RUN(the_program_writes_its_files),
                  RUN(a_file_that_failed_on_one_rank_fails_the_phase_on_all),
                  RUN(calls_keep_their_order)));
}
