/* SPDX-License-Identifier: BSD-3-Clause */
/* SCR_REQUIRED=1: a SCR_Init that fails ends the job with status 1, after one line. On
 * two ranks another setting is bad, on three the prefix directory is missing, on four
 * a setting is bad and SCR_REQUIRED comes from a file. */
/* ranks: 2 3 4 */
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
    if (rank == 0 && getenv("SCR_CONF_FILE") != NULL)
        mpi_test_remove(getenv("SCR_CONF_FILE"));
    int good = status == 1 && finalized && (rank != 0 || (lines == 1 && told == 1));
    if (!good)
        printf("FAILED rank %d: exit(%d), MPI_Finalized %d, %d lines\n", rank, status,
               finalized, lines);
    fflush(stdout);
    _exit(!good);
}

static void require_by_file(void)
{
    char conf[sizeof path + 10];
    snprintf(conf, sizeof conf, "%s.conf", path);
    if (rank == 0) {
        FILE *f = fopen(conf, "w");
        if (f == NULL || fputs("SCR_REQUIRED=1\n", f) < 0 || fclose(f) != 0)
            MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    setenv("SCR_CONF_FILE", conf, 1);
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
    if (ranks == 4)
        require_by_file();
    else
        setenv("SCR_REQUIRED", "1", 1);
    setenv(ranks != 3 ? "SCR_FLUSH" : "SCR_PREFIX", ranks != 3 ? "x" : "/no/such/dir",
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
