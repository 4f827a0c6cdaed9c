/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts what N processes wrote on any number of processes, then writes it again. */
#include <mpi.h>
#include <scr.h>
#include <stdio.h>

static int size, me;

static long read_part(const char *path)
{
    long value = 0;
    FILE *f = fopen(path, "r");
    int ok = f != NULL && fscanf(f, "%ld", &value) == 1;
    if (f != NULL)
        fclose(f);
    return ok ? value : 0;
}

static int write_part(const char *path, long value)
{
    FILE *f = fopen(path, "w");
    int ok = f != NULL && fprintf(f, "%ld\n", value) > 0;
    return f != NULL && fclose(f) == 0 && ok;
}

/* The parts that this process reads; other processes wrote some of them. */
static long restart(void)
{
    int have = 0, n = 0, i, writer;
    char name[SCR_MAX_FILENAME], file[SCR_MAX_FILENAME], path[SCR_MAX_FILENAME];
    long sum = 0;

    SCR_Have_restart(&have, name);
    if (have) {
        SCR_Start_restart(name);
        SCR_Restart_files(&n);
        for (i = 0; i < n; i++) {
            SCR_Restart_file(i, file, &writer);
            if (writer % size == me && SCR_Route_file(file, path) == SCR_SUCCESS)
                sum += read_part(path);
        }
        SCR_Complete_restart(1);
    }
    return sum;
}

/* On as many processes as wrote it, each has its own files only: nothing to share out.
 */
static void tell_about_writers(void)
{
    int have = 0, ranks = 0;
    SCR_Have_restart(&have, NULL);
    if (have && SCR_Restart_ranks(&ranks) == SCR_SUCCESS && me == 0)
        printf("a checkpoint of %d processes, read by %d\n", ranks, size);
}

int main(int argc, char **argv)
{
    char path[SCR_MAX_FILENAME], name[64];
    long sum, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    SCR_Config("SCR_RESTART_ANY_RANKS=1");
    if (SCR_Init() != SCR_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1); /* SCR has said why */

    tell_about_writers();
    sum = restart();
    MPI_Allreduce(&sum, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (me == 0)
        printf("found %ld\n", all);

    SCR_Start_output("parts", SCR_FLAG_CHECKPOINT | SCR_FLAG_OUTPUT);
    snprintf(name, sizeof name, "parts/%d.txt", me);
    int ok = SCR_Route_file(name, path) == SCR_SUCCESS && write_part(path, me + 1);
    SCR_Complete_output(ok);

    int saved = SCR_Finalize() == SCR_SUCCESS; /* else SCR has said why */
    MPI_Finalize();
    return saved ? 0 : 1;
}
