/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that ranks open together by MPI. On four ranks each has its own store, and such
 * an open is refused instead of waiting for ever (invariant C12); on two ranks the
 * dataset bypasses the cache, on three all nodes share the store, and it is opened. */
/* ranks: 2 3 4 */
#include "helper_open.h"

#include <fcntl.h>

/* The lines that this process prints to stderr from one call to the other. */
static int hold_stderr(const struct mpi_test *t, char *path, size_t n)
{
    int saved = dup(2);
    snprintf(path, n, "%s/stderr.%d", t->dir, t->comm.rank);
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    fflush(stderr);
    dup2(fd, 2);
    close(fd);
    return saved;
}

/* Lines of all ranks with that part; gives stderr back. */
static int count_said(const struct mpi_test *t, int saved, const char *path,
                      const char *part)
{
    char line[4096];
    int lines = 0, all = 0;
    fflush(stderr);
    dup2(saved, 2);
    close(saved);
    FILE *f = fopen(path, "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        lines += strstr(line, part) != NULL;
    if (f != NULL)
        fclose(f);
    MPI_Allreduce(&lines, &all, 1, MPI_INT, MPI_SUM, t->comm.comm);
    return all;
}

static void start_scr(struct mpi_test *t)
{
    open_place(t);
    setenv("SCR_USER_NAME", "tester", 1);
    if (t->comm.size == 2)
        SCR_Config("SCR_CACHE_BYPASS=1");
    if (t->comm.size == 3)
        SCR_Configf("STORE=%s/cache GROUP=WORLD", t->dir);
    CHECK_INT(SCR_Init(), SCR_SUCCESS);
}

/* One number a rank of comm, by all of them; 1 if they are in the file then. */
static int write_together(MPI_Comm comm, const char *path)
{
    MPI_File file;
    int rank, size, ok = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (MPI_File_open(comm, path, CREATE, MPI_INFO_NULL, &file) != MPI_SUCCESS)
        return 0;
    int mine = 1000 + rank;
    ok &= MPI_File_write_at_all(file, (MPI_Offset)sizeof(int) * rank, &mine, 1, MPI_INT,
                                MPI_STATUS_IGNORE) == MPI_SUCCESS;
    ok &= MPI_File_sync(file) == MPI_SUCCESS;
    MPI_Barrier(comm);
    for (int r = 0; r < size; r++) {
        int got = -1;
        ok &= MPI_File_read_at_all(file, (MPI_Offset)sizeof(int) * r, &got, 1, MPI_INT,
                                   MPI_STATUS_IGNORE) == MPI_SUCCESS &&
              got == 1000 + r;
    }
    return MPI_File_close(&file) == MPI_SUCCESS && ok;
}

/* Each opens with its own path; all get the error, reported once. */
static void be_refused(struct mpi_test *t, MPI_Comm comm, const char *name)
{
    char path[SCR_MAX_FILENAME], told[600];
    int class = MPI_SUCCESS, saved = hold_stderr(t, told, sizeof told);
    if (comm != MPI_COMM_NULL) {
        MPI_File file;
        open_route(t, name, path);
        int code = MPI_File_open(comm, path, CREATE, MPI_INFO_NULL, &file);
        MPI_Error_class(code, &class);
        CHECK_INT(class, MPI_ERR_NOT_SAME);
        CHECK(file == MPI_FILE_NULL);
        CHECK(access(path, F_OK) != 0);
    }
    char want[200];
    snprintf(want, sizeof want, "%s: written by several ranks (", name);
    CHECK_INT(count_said(t, saved, told, want), 1);
}

static void begin(struct mpi_test *t)
{
    CHECK_INT(SCR_Start_output(NULL, SCR_FLAG_CHECKPOINT), SCR_SUCCESS);
}

/* Refused for that, with one line, by all. */
static void be_not_completed(struct mpi_test *t, int valid, const char *name)
{
    char told[600], want[200];
    int saved = hold_stderr(t, told, sizeof told);
    CHECK_INT(SCR_Complete_output(valid), SCR_E_EXIST);
    snprintf(want, sizeof want, "%s: written by several ranks (", name);
    CHECK_INT(count_said(t, saved, told, want), 1);
}

static void refuse_what_each_has_elsewhere(struct mpi_test *t)
{
    MPI_Comm some;
    begin(t);
    be_refused(t, t->comm.comm, "all.h5");
    be_not_completed(t, 0, "all.h5");
    begin(t);
    be_refused(t, t->comm.comm, "all.h5"); /* by a program that does not look */
    be_not_completed(t, 1, "all.h5");
    MPI_Comm_split(t->comm.comm, t->comm.rank == 0 ? MPI_UNDEFINED : 1, 0, &some);
    begin(t);
    be_refused(t, some, "some.h5");
    be_not_completed(t, t->comm.rank == 0, "some.h5");
    if (some != MPI_COMM_NULL)
        MPI_Comm_free(&some);
}

/* The file of one rank, opened by others, too, is theirs to open. */
static void open_what_one_has(struct mpi_test *t)
{
    char path[SCR_MAX_FILENAME], name[32];
    begin(t);
    snprintf(name, sizeof name, "own.%d", t->comm.rank);
    open_route(t, name, path);
    CHECK(write_together(MPI_COMM_SELF, path));
    CHECK_INT(SCR_Complete_output(1), SCR_SUCCESS);
    begin(t);
    if (t->comm.rank == 0)
        open_route(t, "of.0", path);
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, t->comm.comm);
    CHECK(write_together(t->comm.comm, path));
    CHECK_INT(SCR_Complete_output(1), SCR_SUCCESS);
}

MPI_CASE(a_routed_file_is_opened_together_or_refused)
{
    char path[SCR_MAX_FILENAME];
    t->keeps = 1; /* to the last case */
    start_scr(t);
    if (t->comm.size == 4) {
        refuse_what_each_has_elsewhere(t);
        open_what_one_has(t);
    } else {
        begin(t);
        open_route(t, "all.h5", path);
        CHECK(write_together(t->comm.comm, path));
        CHECK_INT(SCR_Complete_output(1), SCR_SUCCESS);
    }
}

static int comparisons;

int MPI_Comm_compare(MPI_Comm a, MPI_Comm b, int *how)
{
    comparisons++;
    return PMPI_Comm_compare(a, b, how);
}

/* With many ranks that takes long. */
MPI_CASE(a_communicator_is_compared_once)
{
    char path[700];
    MPI_Comm some = MPI_COMM_NULL, copy;
    snprintf(path, sizeof path, "%s/often", t->dir);
    MPI_Comm_split(t->comm.comm, t->comm.rank / 2, -t->comm.rank, &some);
    comparisons = 0;
    for (int i = 0; i < 3; i++)
        CHECK(write_together(t->comm.comm, path));
    CHECK(comparisons <= 1);
    comparisons = 0;
    snprintf(path, sizeof path, "%s/often.%d", t->dir, t->comm.rank / 2);
    CHECK(write_together(some, path));
    MPI_Comm_dup(some, &copy);
    CHECK(write_together(copy, path));
    CHECK(write_together(some, path));
    CHECK(comparisons <= 1);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&some);
}

/* Neither in a phase nor outside of one. */
MPI_CASE(files_that_are_not_routed_are_passed_on)
{
    char path[700], told[600];
    int saved = hold_stderr(t, told, sizeof told);
    MPI_File file = MPI_FILE_NULL;
    snprintf(path, sizeof path, "%s/plot", t->dir);
    CHECK(write_together(t->comm.comm, path));
    begin(t);
    CHECK(write_together(t->comm.comm, path));
    char own[SCR_MAX_FILENAME], name[32];
    snprintf(name, sizeof name, "own.%d", t->comm.rank);
    open_route(t, name, own);
    FILE *f = fopen(own, "w");
    CHECK(f != NULL && fputs("own", f) >= 0 && fclose(f) == 0);
    snprintf(path, sizeof path, "%s/no/such/directory", t->dir);
    CHECK(MPI_File_open(t->comm.comm, path, CREATE, MPI_INFO_NULL, &file) !=
          MPI_SUCCESS);
    CHECK_INT(SCR_Complete_output(1), SCR_SUCCESS);
    CHECK_INT(SCR_Finalize(), SCR_SUCCESS);
    t->keeps = 0;
    snprintf(path, sizeof path, "%s/plot", t->dir);
    CHECK(write_together(t->comm.comm, path));
    CHECK_INT(count_said(t, saved, told, "several ranks"), 0);
}

int main(int argc, char **argv)
{
    return mpi_test_main(argc, argv,
                         MPI_CASES(RUN(a_routed_file_is_opened_together_or_refused),
                                   RUN(a_communicator_is_compared_once),
                                   RUN(files_that_are_not_routed_are_passed_on)));
}
