/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings from the program, before SCR_Init, and what is in force after it. */
#include <mpi.h>
#include <scr.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int ranks, rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("SCR %s\n", SCR_Get_version());

    SCR_Config("SCR_FLUSH=5");
    SCR_Configf("SCR_SET_SIZE=%d", ranks > 64 ? 16 : 8);
    if (SCR_Init() != SCR_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1); /* SCR has said why */

    char *flush = (char *)SCR_Config("SCR_FLUSH"); /* the user may have changed it */
    if (rank == 0)
        printf("one checkpoint in %s is copied\n", flush);
    free(flush);

    int saved = SCR_Finalize() == SCR_SUCCESS; /* else SCR has said why */
    MPI_Finalize();
    return saved ? 0 : 1;
}
