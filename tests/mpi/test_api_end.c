/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of MPI. On two ranks the program omits SCR_Finalize, with a checkpoint in
 * cache only, on three with an output phase open; on four it calls it, on one it has
 * not even called SCR_Init. Afterwards every call is refused, and none reaches MPI. */
/* ranks: 1 2 3 4 */
#include <fcntl.h>

#include "mpi_test.h"
#include "scr.h"

static struct mpi_test test;
static char said[600]; /* what this rank printed */

static void be_heard(int fd)
{
    fflush(stderr);
    dup2(fd, 2);
}

/* Lines with the word since the file was made empty. */
static int lines_with(const char *word)
{
    char line[2048];
    int lines = 0;
    FILE *f = fopen(said, "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        lines += strstr(line, word) != NULL;
    if (f != NULL)
        fclose(f);
    return lines;
}

/* With the checks that failed. */
static void print_said(void)
{
    FILE *f = fopen(said, "r");
    for (int c; f != NULL && (c = getc(f)) != EOF;)
        putc(c, stderr);
    if (f != NULL)
        fclose(f);
}

static int write_one(const char *name)
{
    char set[64], file[128], path[SCR_MAX_FILENAME];
    snprintf(set, sizeof set, "%s", name);
    snprintf(file, sizeof file, "%s/%d", name, test.comm.rank);
    int rc = SCR_Start_output(set, SCR_FLAG_CHECKPOINT);
    SCR_Route_file(file, path);
    FILE *f = fopen(path, "w");
    if (f != NULL)
        fclose(f);
    return rc == SCR_SUCCESS ? SCR_Complete_output(f != NULL) : rc;
}

static void run(struct mpi_test *t, const char *dir)
{
    char name[] = "open";
    CHECK_INT(chdir(dir), 0);
    setenv("SCR_PREFIX", dir, 1);
    setenv("SCR_CACHE_BASE", dir, 1);
    setenv("SCR_CNTL_BASE", dir, 1);
    setenv("SCR_CACHE_SIZE", "2", 1);
    CHECK_INT(SCR_Init(), SCR_SUCCESS);
    CHECK_INT(write_one("kept"), SCR_SUCCESS);
    if (t->comm.size == 3)
        CHECK_INT(SCR_Start_output(name, SCR_FLAG_CHECKPOINT), SCR_SUCCESS);
    if (t->comm.size == 4)
        CHECK_INT(SCR_Finalize(), SCR_SUCCESS);
}

static void check_last_words(struct mpi_test *t)
{
    int forgot = t->comm.rank == 0 && (t->comm.size == 2 || t->comm.size == 3);
    CHECK_INT(lines_with("MPI_Finalize was called without SCR_Finalize"), forgot);
    CHECK_INT(lines_with("only in cache, which is lost with the allocation: kept"),
              forgot);
    CHECK_INT(lines_with("open was not completed"), forgot && t->comm.size == 3);
}

static void check_calls(struct mpi_test *t)
{
    int flag = 7;
    char name[SCR_MAX_FILENAME] = "a";
    CHECK_INT(SCR_Init(), SCR_E_STATE);
    CHECK_INT(SCR_Need_checkpoint(&flag), SCR_E_STATE);
    CHECK_INT(flag, 0);
    CHECK_INT(SCR_Start_output(name, SCR_FLAG_CHECKPOINT), SCR_E_STATE);
    CHECK_INT(SCR_Route_file("file", name), SCR_E_STATE);
    CHECK(strcmp(name, "file") == 0);
    CHECK_INT(SCR_Complete_output(1), SCR_E_STATE);
    CHECK_INT(SCR_Have_restart(&flag, name), SCR_E_STATE);
    CHECK_INT(SCR_Start_restart(name), SCR_E_STATE);
    CHECK_INT(SCR_Complete_restart(1), SCR_E_STATE);
    CHECK_INT(SCR_Restart_ranks(&flag), SCR_E_STATE);
    CHECK_INT(SCR_Restart_files(&flag), SCR_E_STATE);
    CHECK_INT(SCR_Restart_file(0, name, &flag), SCR_E_STATE);
    CHECK_INT(SCR_Should_exit(&flag), SCR_E_STATE);
    CHECK_INT(SCR_Current("a"), SCR_E_STATE);
    CHECK_INT(SCR_Delete("a"), SCR_E_STATE);
    CHECK_INT(SCR_Drop("a"), SCR_E_STATE);
    CHECK(SCR_Config("SCR_FLUSH") == NULL);
    CHECK_INT(SCR_Last_error(NULL), SCR_E_STATE);
    CHECK_INT(SCR_Finalize(), SCR_E_STATE);
    CHECK(SCR_Get_version() != NULL);
    /* 17 calls, three of them local: one line each */
    CHECK_INT(lines_with(": MPI_Finalize was called"), t->comm.rank == 0 ? 17 : 3);
}

int main(int argc, char **argv)
{
    char dir[512];
    struct scr_err err = SCR_ERR_INIT;
    int saved = dup(2);
    MPI_Init(&argc, &argv);
    if (scr_comm_dup_all(MPI_COMM_WORLD, &test.comm, &err) != SCR_OK ||
        !mpi_test_make_dir(dir, sizeof dir, test.comm.rank))
        MPI_Abort(MPI_COMM_WORLD, 2);
    test.name = "the_end_of_mpi";
    snprintf(said, sizeof said, "%s.said.%d", dir, test.comm.rank);
    if (test.comm.size > 1)
        run(&test, dir);
    int rank = test.comm.rank, size = test.comm.size;
    scr_comm_free(&test.comm);
    test.comm.rank = rank, test.comm.size = size;
    int fd = open(said, O_CREAT | O_TRUNC | O_APPEND | O_WRONLY, 0600);
    be_heard(fd);
    MPI_Finalize();
    check_last_words(&test);
    if (test.failed == 0 && ftruncate(fd, 0) != 0)
        test.failed++;
    check_calls(&test);
    be_heard(saved);
    if (test.failed > 0)
        print_said();
    remove(said);
    if (rank == 0)
        mpi_test_remove(dir);
    return test.failed > 0;
}
