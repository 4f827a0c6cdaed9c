/* SPDX-License-Identifier: BSD-3-Clause */
/* Output in addition to checkpoints, and calls that take a dataset by name. An argument
 * is the name of the checkpoint to restart from. */
#include <mpi.h>
#include <scr.h>
#include <stdio.h>

static int write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    int ok = f != NULL && fputs(text, f) >= 0;
    return f != NULL && fclose(f) == 0 && ok;
}

static int write_dataset(char *name, int flags, int rank)
{
    char file[256], path[SCR_MAX_FILENAME];
    snprintf(file, sizeof file, "%s/%d.txt", name, rank);
    int rc = SCR_Start_output(name, flags);
    if (rc == SCR_SUCCESS) {
        int ok = SCR_Route_file(file, path) == SCR_SUCCESS && write_text(path, name);
        rc = SCR_Complete_output(ok);
    }
    if (rc != SCR_SUCCESS && rank == 0) {
        char why[SCR_MAX_FILENAME];
        SCR_Last_error(why);
        fprintf(stderr, "no dataset %s: %s\n", name, why);
    }
    return rc;
}

/* What a restart could take, for a user who chooses another one by name. */
static void print_choices(int rank)
{
    char name[SCR_MAX_FILENAME];
    double bytes;
    int n, i, flags;

    SCR_Datasets(&n);
    for (i = 0; i < n && rank == 0; i++)
        if (SCR_Dataset(i, name, NULL, &flags, &bytes, NULL) == SCR_SUCCESS &&
            (flags & SCR_FLAG_RESTARTABLE) != 0)
            printf("%s, %.0f bytes, %s\n", name, bytes,
                   flags & SCR_FLAG_IN_CACHE ? "in cache" : "in the prefix directory");
}

int main(int argc, char **argv)
{
    int rank, rc = SCR_SUCCESS;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (SCR_Init() != SCR_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1); /* SCR has said why */
    if (argc > 1)
        rc = SCR_Current(argv[1]); /* restart from this one, even if others are newer */

    /* a picture for users, a state to continue from, and one that is both */
    rc |= write_dataset("picture.1", SCR_FLAG_OUTPUT, rank);
    rc |= write_dataset("state.1", SCR_FLAG_CHECKPOINT, rank);
    rc |= write_dataset("state.2", SCR_FLAG_CHECKPOINT | SCR_FLAG_OUTPUT, rank);

    print_choices(rank);
    rc |= SCR_Delete("picture.1"); /* files and entry */
    rc |= SCR_Drop("state.2");     /* the entry; the files stay */

    rc |= SCR_Finalize();
    MPI_Finalize();
    return rc == SCR_SUCCESS ? 0 : 1;
}
