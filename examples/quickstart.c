/* SPDX-License-Identifier: BSD-3-Clause */
/* Every rank adds up the numbers 1 to 100, ten a second, with a checkpoint after each
 * ten, and continues where it was stopped. At the end the sum is checked. */
#include "scr.h"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char set[SCR_MAX_FILENAME], name[SCR_MAX_FILENAME], path[SCR_MAX_FILENAME];
    int rank, ranks, step = 0, sum = 0, have = 0;
    FILE *f;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (SCR_Init() != SCR_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1); /* SCR has said why */

    while (SCR_Have_restart(&have, set) == SCR_SUCCESS && have) {
        SCR_Start_restart(set);
        snprintf(name, sizeof name, "%.900s/rank_%d.txt", set, rank);
        SCR_Route_file(name, path);
        int ok = (f = fopen(path, "r")) != NULL && fscanf(f, "%d %d", &step, &sum) == 2;
        ok = f != NULL && fclose(f) == 0 && ok;
        if (SCR_Complete_restart(ok) == SCR_SUCCESS)
            break; /* else the next older one */
        step = sum = 0;
    }
    if (rank == 0)
        printf("starting at step %d\n", step);
    for (int stop = 0; step < 100 && !stop; SCR_Should_exit(&stop)) {
        for (int i = 0; i < 10; i++) /* compute */
            sum += ++step;
        sleep(argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1);
        snprintf(set, sizeof set, "step.%d", step);
        SCR_Start_output(set, SCR_FLAG_CHECKPOINT);
        snprintf(name, sizeof name, "%.900s/rank_%d.txt", set, rank);
        SCR_Route_file(name, path);
        int ok = (f = fopen(path, "w")) != NULL && fprintf(f, "%d %d\n", step, sum) > 0;
        ok = f != NULL && fclose(f) == 0 && ok;
        if (SCR_Complete_output(ok) == SCR_SUCCESS && rank == 0)
            printf("step %d: the sum is %d, checkpoint %s written\n", step, sum, set);
        fflush(stdout);
    }
    int right = sum == step * (step + 1) / 2, all = 0;
    MPI_Allreduce(&right, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    int saved = SCR_Finalize() == SCR_SUCCESS; /* else SCR has said why */
    MPI_Finalize();
    if (rank == 0)
        printf("the sum is %s on all %d ranks\n", all ? "right" : "NOT right", ranks);
    return all && saved ? 0 : 1;
}
