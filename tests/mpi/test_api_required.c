/* SPDX-License-Identifier: BSD-3-Clause */
/* SCR_REQUIRED=1: a SCR_Init that fails ends the job with status 1, after one line. On
 * two ranks another setting is bad, on three the prefix directory is missing. */
/* ranks: 2 3 */
#include <fcntl.h>

#include "mpi_test.h"
#include "scr.h"

static char path[600]; /* of what all ranks print */
static int rank;

static int count_lines(const char *word, int *with_word)
{
    char line[2048];
    int lines = 0;
    FILE *f = fopen(path, "r");
    for (*with_word = 0; f != NULL && fgets(line, sizeof line, f) != NULL; lines++)
        *with_word += strstr(line, word) != NULL;
    if (f != NULL)
        fclose(f);
    return lines;
}

/* The process ends as it should when SCR has called exit(1) after MPI_Finalize. */
static void judge(int status, void *arg)
{
    int finalized = 0, told;
    (void)arg;
    MPI_Finalized(&finalized);
    int lines = count_lines("SCR_REQUIRED is set, the job ends", &told);
    if (rank == 0)
        mpi_test_remove(path);
    int good = status == 1 && finalized && (rank != 0 || (lines == 1 && told == 1));
    if (!good)
        printf("FAILED rank %d: exit(%d), MPI_Finalized %d, %d lines\n", rank, status,
               finalized, lines);
    fflush(stdout);
    _exit(!good);
}

int main(int argc, char **argv)
{
    int ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char *base = getenv("TMPDIR");
    int pid = (int)getpid();
    MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "%s/scr-required.%d", base ? base : "/tmp", pid);
    mpi_test_forget_settings();
    setenv("SCR_REQUIRED", "1", 1);
    setenv(ranks == 2 ? "SCR_FLUSH" : "SCR_PREFIX", ranks == 2 ? "x" : "/no/such/dir",
           1);
    int fd = open(path, O_CREAT | O_APPEND | O_WRONLY, 0600);
    dup2(fd, 2);
    close(fd);
    on_exit(judge, NULL);
    SCR_Init();
    printf("FAILED rank %d: SCR_Init came back\n", rank);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 2);
    return 2;
}
