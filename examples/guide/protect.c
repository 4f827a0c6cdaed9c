/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkpoints of memory: pieces are registered once, saved and loaded all together. */
#include <mpi.h>
#include <scr.h>
#include <stdio.h>
#include <stdlib.h>

/* --- what FTI and VELOC call protected memory --- */

static struct piece {
    void *at;
    size_t bytes;
} pieces[64];
static int npieces;

static void protect(void *at, size_t bytes)
{
    if (npieces < (int)(sizeof pieces / sizeof pieces[0]))
        pieces[npieces++] = (struct piece){ at, bytes };
}

static int save_pieces(const char *path)
{
    FILE *f = fopen(path, "wb");
    int ok = f != NULL;
    for (int i = 0; ok && i < npieces; i++)
        ok = fwrite(pieces[i].at, 1, pieces[i].bytes, f) == pieces[i].bytes;
    return f != NULL && fclose(f) == 0 && ok;
}

static int load_pieces(const char *path)
{
    FILE *f = fopen(path, "rb");
    int ok = f != NULL;
    for (int i = 0; ok && i < npieces; i++)
        ok = fread(pieces[i].at, 1, pieces[i].bytes, f) == pieces[i].bytes;
    if (f != NULL)
        fclose(f);
    return ok;
}

/* --- the two things a program asks for --- */

/* 1 on all processes if all pieces of all of them are safe. */
static int checkpoint(const char *name, int version)
{
    char set[128], file[160], path[SCR_MAX_FILENAME];
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(set, sizeof set, "%s.%d", name, version);
    snprintf(file, sizeof file, "%s/%d.dat", set, rank);
    if (SCR_Start_output(set, SCR_FLAG_CHECKPOINT) != SCR_SUCCESS)
        return 0;
    int ok = SCR_Route_file(file, path) == SCR_SUCCESS && save_pieces(path);
    return SCR_Complete_output(ok) == SCR_SUCCESS;
}

/* 1 on all processes if the pieces are those of the newest good checkpoint. On 0 they
 * may be those of a damaged checkpoint: start again. */
static int restart(void)
{
    char set[SCR_MAX_FILENAME], file[SCR_MAX_FILENAME + 16], path[SCR_MAX_FILENAME];
    int rank, have = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    while (SCR_Have_restart(&have, set) == SCR_SUCCESS && have) {
        SCR_Start_restart(set);
        snprintf(file, sizeof file, "%s/%d.dat", set, rank);
        int ok = SCR_Route_file(file, path) == SCR_SUCCESS && load_pieces(path);
        if (SCR_Complete_restart(ok) == SCR_SUCCESS)
            return 1;
    }
    return 0;
}

/* --- a program --- */

static void begin(int *step, double *field, size_t n)
{
    *step = 0;
    for (size_t i = 0; i < n; i++)
        field[i] = (double)i;
}

int main(int argc, char **argv)
{
    static double field[1000];
    int step, steps = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 10, rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (SCR_Init() != SCR_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1); /* SCR has said why */

    protect(&step, sizeof step);
    protect(field, sizeof field);
    if (!restart())
        begin(&step, field, 1000);
    if (rank == 0)
        printf("starting at step %d\n", step);

    for (int stop = 0; step < steps && !stop; SCR_Should_exit(&stop)) {
        for (size_t i = 0; i < 1000; i++)
            field[i] = field[i] / 2 + 1;
        step++;
        if (!checkpoint("field", step) && rank == 0)
            fprintf(stderr, "step %d is not saved, going on\n", step);
    }
    if (rank == 0)
        printf("field[999] = %.9f after step %d\n", field[999], step);

    int saved = SCR_Finalize() == SCR_SUCCESS; /* else SCR has said why */
    MPI_Finalize();
    return saved ? 0 : 1;
}
