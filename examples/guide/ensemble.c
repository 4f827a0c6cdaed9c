/* SPDX-License-Identifier: BSD-3-Clause */
/* An ensemble: two members in one program, each with its own checkpoints. */
#include <mpi.h>
#include <scr.h>
#include <stdio.h>
#include <sys/stat.h>

static int start_member(int member)
{
    char setting[64];
    MPI_Comm comm;
    int rc;

    MPI_Comm_split(MPI_COMM_WORLD, member, 0, &comm);
    snprintf(setting, sizeof setting, "SCR_PREFIX=member.%d", member); /* exists */
    SCR_Config_comm(comm, setting);
    rc = SCR_Init_comm(comm);
    MPI_Comm_free(&comm);
    return rc;
}

/* The step that the member continues from. */
static int restart(const char *file)
{
    char name[SCR_MAX_FILENAME], path[SCR_MAX_FILENAME];
    int have = 0, step = 0;

    SCR_Have_restart(&have, name);
    if (have) {
        SCR_Start_restart(name);
        FILE *f = SCR_Route_file(file, path) == SCR_SUCCESS ? fopen(path, "r") : NULL;
        int ok = f != NULL && fscanf(f, "%d", &step) == 1;
        if (f != NULL)
            fclose(f);
        SCR_Complete_restart(ok);
    }
    return step;
}

static void checkpoint(const char *file, int step)
{
    char path[SCR_MAX_FILENAME];

    SCR_Start_output(NULL, SCR_FLAG_CHECKPOINT);
    FILE *f = SCR_Route_file(file, path) == SCR_SUCCESS ? fopen(path, "w") : NULL;
    int ok = f != NULL && fprintf(f, "%d\n", step) > 0;
    if (f != NULL)
        ok &= fclose(f) == 0;
    SCR_Complete_output(ok);
}

int main(int argc, char **argv)
{
    int rank, member, step;
    char dir[64], file[96];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    member = rank % 2;
    snprintf(dir, sizeof dir, "member.%d", member);
    snprintf(file, sizeof file, "%s/rank_%d.txt", dir, rank);
    mkdir(dir, 0777); /* any process of the member makes it */
    if (start_member(member) != SCR_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1); /* SCR has said why */

    step = restart(file);
    printf("member %d: step %d\n", member, step);
    checkpoint(file, step + 1 + member);

    int saved = SCR_Finalize() == SCR_SUCCESS; /* else SCR has said why */
    MPI_Finalize();
    return saved ? 0 : 1;
}
