/* SPDX-License-Identifier: BSD-3-Clause */
/* A program outside the tree: prints SCR's version; with an argument it starts and ends
 * SCR. */
#include <mpi.h>
#include <scr.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rc = SCR_SUCCESS;
    if (argc < 2) {
        printf("%s\n", SCR_Get_version());
        return 0;
    }
    MPI_Init(&argc, &argv);
    rc = SCR_Init();
    if (rc == SCR_SUCCESS)
        rc = SCR_Finalize();
    MPI_Finalize();
    return rc == SCR_SUCCESS ? 0 : 1;
}
