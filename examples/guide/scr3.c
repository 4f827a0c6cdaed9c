/* SPDX-License-Identifier: BSD-3-Clause */
/* quickstart.c with the calls of SCR 1.1 to 3.1: unnamed checkpoints, no fall-back. */
#include "scr.h"
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    char name[SCR_MAX_FILENAME], path[SCR_MAX_FILENAME];
    int rank, step = 0, have = 0;
    FILE *f;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (SCR_Init() != SCR_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1); /* SCR has said why */

    if (SCR_Have_restart(&have, NULL) == SCR_SUCCESS && have) {
        SCR_Start_restart(NULL);
        snprintf(name, sizeof name, "rank_%d.txt", rank);
        SCR_Route_file(name, path);
        int ok = (f = fopen(path, "r")) != NULL && fscanf(f, "%d", &step) == 1;
        ok = f != NULL && fclose(f) == 0 && ok;
        SCR_Complete_restart(ok);
    }
    while (step < 100) {
        step += 10; /* compute */
        SCR_Start_checkpoint();
        snprintf(name, sizeof name, "rank_%d.txt", rank);
        SCR_Route_file(name, path);
        int ok = (f = fopen(path, "w")) != NULL && fprintf(f, "%d\n", step) > 0;
        ok = f != NULL && fclose(f) == 0 && ok;
        SCR_Complete_checkpoint(ok);
    }
    SCR_Finalize();
    MPI_Finalize();
    return 0;
}
