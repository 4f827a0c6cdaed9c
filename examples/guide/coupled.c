/* SPDX-License-Identifier: BSD-3-Clause */
/* One of several executables of a job, each with its own checkpoints:
 *
 *     mpirun -n 2 coupled ocean 5 : -n 1 coupled air 5
 *
 * The arguments are the prefix directory, which exists, the number of steps, and a step
 * at which writing is made to fail. */
#include <mpi.h>
#include <scr.h>
#include <stdio.h>
#include <stdlib.h>

/* The processes that run the same executable. */
static MPI_Comm own_part(void)
{
    int *app, there;
    MPI_Comm part;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &app, &there);
    MPI_Comm_split(MPI_COMM_WORLD, there ? *app : 0, 0, &part);
    return part;
}

static int start(MPI_Comm part, const char *prefix)
{
    char setting[1024];
    snprintf(setting, sizeof setting, "SCR_PREFIX=%.900s", prefix);
    SCR_Config_comm(part, setting);
    SCR_Config_comm(part, "SCR_HALT_ENABLED=0"); /* the other parts would wait */
    SCR_Config_comm(part, "SCR_CACHE_SIZE=2");   /* one part may be a step ahead */
    return SCR_Init_comm(part);
}

/* A part may be a checkpoint behind: the oldest of their newest steps. */
static int agree(int step)
{
    int oldest;
    MPI_Allreduce(&step, &oldest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return oldest;
}

static void file_name(char *name, const char *prefix, const char *set, int rank)
{
    snprintf(name, SCR_MAX_FILENAME, "%.400s/%.400s/rank_%d.txt", prefix, set, rank);
}

/* Reads the checkpoint that is offered: its step, or 0. */
static int read_offered(const char *prefix, char *set, int rank)
{
    char name[SCR_MAX_FILENAME], path[SCR_MAX_FILENAME];
    int step = 0;
    SCR_Start_restart(set);
    file_name(name, prefix, set, rank);
    FILE *f = SCR_Route_file(name, path) == SCR_SUCCESS ? fopen(path, "r") : NULL;
    int ok = f != NULL && fscanf(f, "%d", &step) == 1;
    if (f != NULL)
        fclose(f);
    return SCR_Complete_restart(ok) == SCR_SUCCESS ? step : 0;
}

/* Takes the newest step that all parts have. */
static int restart(const char *prefix, int rank)
{
    char set[SCR_MAX_FILENAME];
    int have = 0, step = 0;
    if (SCR_Have_restart(&have, set) == SCR_SUCCESS && have)
        sscanf(set, "step.%d", &step);
    int all = agree(step);
    snprintf(set, sizeof set, "step.%d", all);
    if (all > 0 && all < step) {
        SCR_Current(set);
        SCR_Have_restart(&have, set);
    }
    step = all > 0 ? read_offered(prefix, set, rank) : 0;
    if (agree(step) != all)
        MPI_Abort(MPI_COMM_WORLD, 1); /* some part has lost it */
    return all;
}

static void checkpoint(const char *prefix, int rank, int step, int broken)
{
    char set[32], name[SCR_MAX_FILENAME], path[SCR_MAX_FILENAME];
    snprintf(set, sizeof set, "step.%d", step);
    SCR_Start_output(set, SCR_FLAG_CHECKPOINT);
    file_name(name, prefix, set, rank);
    FILE *f = SCR_Route_file(name, path) == SCR_SUCCESS ? fopen(path, "w") : NULL;
    int ok = f != NULL && fprintf(f, "%d\n", step) > 0;
    ok = f != NULL && fclose(f) == 0 && ok && step != broken;
    SCR_Complete_output(ok);
}

int main(int argc, char **argv)
{
    const char *prefix = argc > 1 ? argv[1] : ".";
    int steps = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 5;
    int broken = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 0;
    int rank, step, stop = 0, anywhere = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm part = own_part();
    MPI_Comm_rank(part, &rank);
    if (start(part, prefix) != SCR_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1); /* SCR has said why */
    step = restart(prefix, rank);
    if (rank == 0)
        printf("%s: starting at step %d\n", prefix, step);
    while (step < steps && !anywhere) {
        step = agree(step + 1); /* stands for a step of all parts */
        checkpoint(prefix, rank, step, broken);
        SCR_Should_exit(&stop);
        MPI_Allreduce(&stop, &anywhere, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    }
    int saved = SCR_Finalize() == SCR_SUCCESS; /* else SCR has said why */
    MPI_Comm_free(&part);
    MPI_Finalize();
    return saved ? 0 : 1;
}
