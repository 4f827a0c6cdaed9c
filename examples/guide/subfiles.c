/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkpoints that a library writes as a directory of files, whose names it chooses.
 * Here the library is library_write: each process writes one file of the directory.
 *
 *     mpirun -n 2 subfiles STEPS */
#include <dirent.h>
#include <mpi.h>
#include <scr.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static int good_everywhere(int ok)
{
    int all;
    MPI_Allreduce(&ok, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    return all;
}

/* --- stands for a library --- */

static int library_write(const char *dir, int rank, int step)
{
    char path[SCR_MAX_FILENAME];
    if (rank == 0)
        mkdir(dir, 0777);
    MPI_Barrier(MPI_COMM_WORLD);
    snprintf(path, sizeof path, "%.900s/data.%d", dir, rank);
    FILE *f = fopen(path, "w");
    int ok = f != NULL && fprintf(f, "%d\n", step) > 0;
    ok = f != NULL && fclose(f) == 0 && ok;
    return good_everywhere(ok); /* closed by all: every file is whole */
}

static int library_read(const char *dir, int rank, int *step)
{
    char path[SCR_MAX_FILENAME];
    snprintf(path, sizeof path, "%.900s/data.%d", dir, rank);
    FILE *f = fopen(path, "r");
    int ok = f != NULL && fscanf(f, "%d", step) == 1;
    if (f != NULL)
        fclose(f);
    return good_everywhere(ok);
}

/* --- with SCR --- */

/* Names every file of the directory to SCR: 1 if all is well. */
static int route_all(const char *dir)
{
    char name[SCR_MAX_FILENAME], path[SCR_MAX_FILENAME];
    DIR *d = opendir(dir);
    int n = 0, ok = d != NULL;
    for (struct dirent *e; ok && (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.') {
            snprintf(name, sizeof name, "%.500s/%.255s", dir, e->d_name);
            ok = SCR_Route_file(name, path) == SCR_SUCCESS;
            n++;
        }
    if (d != NULL)
        closedir(d);
    return ok && n > 0;
}

static void checkpoint(int rank, int step)
{
    char set[32], dir[64];
    snprintf(set, sizeof set, "ckpt.%d", step); /* a new name each time */
    snprintf(dir, sizeof dir, "%s/field.bp", set);
    if (SCR_Start_output(set, SCR_FLAG_CHECKPOINT) != SCR_SUCCESS)
        return;
    if (rank == 0)
        mkdir(set, 0777);
    int ok = library_write(dir, rank, step);
    if (ok && rank == 0)
        ok = route_all(dir);
    SCR_Complete_output(ok);
}

static int restart(int rank)
{
    char set[SCR_MAX_FILENAME], dir[SCR_MAX_FILENAME];
    int have = 0, step = 0;
    while (SCR_Have_restart(&have, set) == SCR_SUCCESS && have) {
        SCR_Start_restart(set);
        snprintf(dir, sizeof dir, "%.900s/field.bp", set);
        if (SCR_Complete_restart(library_read(dir, rank, &step)) == SCR_SUCCESS)
            return step;
    }
    return 0;
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 3, rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    SCR_Config("SCR_CACHE_BYPASS=1");
    if (SCR_Init() != SCR_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1); /* SCR has said why */
    int step = restart(rank);
    if (rank == 0)
        printf("starting at step %d\n", step);
    while (step < steps)
        checkpoint(rank, ++step);
    int saved = SCR_Finalize() == SCR_SUCCESS; /* else SCR has said why */
    MPI_Finalize();
    return saved ? 0 : 1;
}
