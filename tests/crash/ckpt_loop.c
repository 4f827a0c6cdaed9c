/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkpoints as fast as it can until it is killed. After every checkpoint that
 * SCR_Complete_output called complete, rank 0 appends its number to a ledger; at a
 * start it says which number it restarted from and whether every byte was right. usage:
 * ckpt_loop LEDGER COUNT [BYTES] */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scr.h"

static int rank;
static size_t bytes = 200000;

static unsigned char byte_at(long step, size_t i)
{
    unsigned long x =
        (unsigned long)step * 1000003u + (unsigned long)rank * 7919u + i * 31u;
    return (unsigned char)(x ^ (x >> 11));
}

static int write_state(const char *path, long step)
{
    FILE *f = fopen(path, "wb");
    if (f == NULL)
        return 0;
    for (size_t i = 0; i < bytes; i++)
        putc(byte_at(step, i), f);
    return fclose(f) == 0;
}

static int read_state(const char *path, long step)
{
    FILE *f = fopen(path, "rb");
    size_t i = 0;
    int c;
    if (f == NULL)
        return 0;
    while ((c = getc(f)) != EOF && i < bytes && c == byte_at(step, i))
        i++;
    fclose(f);
    return c == EOF && i == bytes;
}

/* The number of the checkpoint restarted from, 0 if none; exits 3 on a wrong byte. */
static long restart(void)
{
    char name[SCR_MAX_FILENAME], file[128], path[SCR_MAX_FILENAME];
    int have = 0;
    if (SCR_Have_restart(&have, name) != SCR_SUCCESS || !have)
        return 0;
    SCR_Start_restart(name);
    long step = strtol(name + strlen("step."), NULL, 10);
    snprintf(file, sizeof file, "step.%ld/state.%d", step, rank);
    int ok = SCR_Route_file(file, path) == SCR_SUCCESS && read_state(path, step);
    if (!ok) {
        fprintf(stderr, "rank %d: checkpoint %s has wrong bytes\n", rank, name);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    SCR_Complete_restart(1);
    return step;
}

static void note(const char *ledger, const char *what, long step)
{
    char line[64];
    if (rank != 0)
        return;
    int n = snprintf(line, sizeof line, "%s %ld\n", what, step);
    int fd = open(ledger, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd < 0 || write(fd, line, (size_t)n) != n)
        MPI_Abort(MPI_COMM_WORLD, 4);
    close(fd);
}

static int checkpoint(long step)
{
    char name[64], file[128], path[SCR_MAX_FILENAME];
    snprintf(name, sizeof name, "step.%ld", step);
    snprintf(file, sizeof file, "step.%ld/state.%d", step, rank);
    /* As programs do. A client of NFS remembers what is not there. */
    (void)access(name, F_OK);
    if (SCR_Start_output(name, SCR_FLAG_CHECKPOINT) != SCR_SUCCESS)
        return 0;
    int ok = SCR_Route_file(file, path) == SCR_SUCCESS && write_state(path, step);
    return SCR_Complete_output(ok) == SCR_SUCCESS;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc < 3 || SCR_Init() != SCR_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 2);
    long count = strtol(argv[2], NULL, 10);
    if (argc > 3)
        bytes = (size_t)strtoul(argv[3], NULL, 10);
    long step = restart();
    note(argv[1], "restart", step);
    for (long i = 0; i < count; i++) {
        step++;
        if (!checkpoint(step))
            MPI_Abort(MPI_COMM_WORLD, 5);
        note(argv[1], "done", step);
    }
    MPI_Finalize(); /* without SCR_Finalize: the job continues */
    return 0;
}
