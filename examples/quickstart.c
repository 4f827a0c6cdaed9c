/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts to 100, ten steps between checkpoints, and continues where it was stopped. */
#include "scr.h"
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    char set[SCR_MAX_FILENAME], name[SCR_MAX_FILENAME], path[SCR_MAX_FILENAME];
    int rank, step = 0, have = 0;
    FILE *f;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (SCR_Init() != SCR_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1); /* SCR has said why */

    while (SCR_Have_restart(&have, set) == SCR_SUCCESS && have) {
        SCR_Start_restart(set);
        snprintf(name, sizeof name, "%.900s/rank_%d.txt", set, rank);
        SCR_Route_file(name, path);
        int ok = (f = fopen(path, "r")) != NULL && fscanf(f, "%d", &step) == 1;
        ok = f != NULL && fclose(f) == 0 && ok;
        if (SCR_Complete_restart(ok) == SCR_SUCCESS)
            break; /* else the next older one */
    }
    for (int stop = 0; step < 100 && !stop; SCR_Should_exit(&stop)) {
        step += 10; /* compute */
        snprintf(set, sizeof set, "step.%d", step);
        SCR_Start_output(set, SCR_FLAG_CHECKPOINT);
        snprintf(name, sizeof name, "%.900s/rank_%d.txt", set, rank);
        SCR_Route_file(name, path);
        int ok = (f = fopen(path, "w")) != NULL && fprintf(f, "%d\n", step) > 0;
        ok = f != NULL && fclose(f) == 0 && ok;
        SCR_Complete_output(ok);
    }
    SCR_Finalize();
    MPI_Finalize();
    return 0;
}
