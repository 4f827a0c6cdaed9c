/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that go on although SCR does not run, as the shortest ones do: one line in
 * all tells them why, every call has its code, and SCR_Route_file gives them their own
 * files. On two ranks SCR is switched off, on three SCR_Init fails. */
/* ranks: 2 3 */
#include "mpi_test.h"

#include <fcntl.h>

#include "scr.h"

static int is_disabled(const struct mpi_test *t)
{
    return t->comm.size == 2;
}

/* What all ranks print into a file of the run, from one call to the other. */
static int say_into_file(const struct mpi_test *t, char *path, size_t n)
{
    int saved = dup(2);
    snprintf(path, n, "%s/stderr", t->dir);
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
    return lines;
}

MPI_CASE(one_line_says_why_and_no_call_repeats_it)
{
    char said[600], path[SCR_MAX_FILENAME], name[] = "a";
    int flag = 7, saved = say_into_file(t, said, sizeof said);
    int want = is_disabled(t) ? SCR_E_DISABLED : SCR_E_STATE;
    setenv(is_disabled(t) ? "SCR_ENABLE" : "SCR_PREFIX",
           is_disabled(t) ? "0" : "/no/such/directory", 1);
    CHECK_INT(SCR_Init(), is_disabled(t) ? SCR_E_DISABLED : SCR_E_NOENT);
    CHECK_INT(SCR_Have_restart(&flag, path), want);
    CHECK_INT(flag, 0);
    CHECK_INT(SCR_Need_checkpoint(&flag), want);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(SCR_Start_output(name, SCR_FLAG_CHECKPOINT), want);
        snprintf(path, sizeof path, "an older file");
        CHECK_INT(SCR_Route_file("dir/state.0", path), want);
        CHECK(strcmp(path, "dir/state.0") == 0);
        CHECK_INT(SCR_Complete_output(1), want);
    }
    CHECK_INT(SCR_Should_exit(&flag), want);
    CHECK_INT(SCR_Finalize(), want);
    CHECK_INT(lines_said(t, saved, said), 1);
}

int main(int argc, char **argv)
{
    return mpi_test_main(argc, argv,
                         MPI_CASES(RUN(one_line_says_why_and_no_call_repeats_it)));
}
