/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums up a series for pi. */
#include <mpi.h>
#include <scr.h>
#include <stdio.h>
#include <stdlib.h>

/* The state to save: the steps done, and this process' share of the sum. */
struct state {
    long step;
    double sum;
};

/* One step: 100000 more terms of 4 - 4/3 + 4/5 - …, shared out to the processes. */
static void compute(struct state *s, int rank, int ranks)
{
    for (long i = rank; i < 100000; i += ranks) {
        long k = s->step * 100000 + i;
        s->sum += (k % 2 ? -4.0 : 4.0) / (double)(2 * k + 1);
    }
    s->step++;
}

static int write_state(const struct state *s, const char *path)
{
    FILE *f = fopen(path, "wb");
    int ok = f != NULL && fwrite(s, sizeof *s, 1, f) == 1;
    return f != NULL && fclose(f) == 0 && ok;
}

static int read_state(struct state *s, const char *path)
{
    FILE *f = fopen(path, "rb");
    int ok = f != NULL && fread(s, sizeof *s, 1, f) == 1;
    return f != NULL && fclose(f) == 0 && ok;
}

static void restart(struct state *s, int rank)
{
    char dir[SCR_MAX_FILENAME], name[SCR_MAX_FILENAME], path[SCR_MAX_FILENAME];
    int have = 0;
    while (SCR_Have_restart(&have, dir) == SCR_SUCCESS && have) {
        SCR_Start_restart(dir);
        snprintf(name, sizeof name, "%.900s/rank_%d.dat", dir, rank);
        int ok = SCR_Route_file(name, path) == SCR_SUCCESS && read_state(s, path);
        if (SCR_Complete_restart(ok) == SCR_SUCCESS)
            return;
        *s = (struct state){ 0, 0.0 }; /* try the next older one */
    }
}

static void checkpoint(const struct state *s, int rank)
{
    char dir[32], name[64], path[SCR_MAX_FILENAME];
    snprintf(dir, sizeof dir, "ckpt.%ld", s->step);
    snprintf(name, sizeof name, "%s/rank_%d.dat", dir, rank);
    SCR_Start_output(dir, SCR_FLAG_CHECKPOINT);
    int ok = SCR_Route_file(name, path) == SCR_SUCCESS && write_state(s, path);
    SCR_Complete_output(ok);
}

int main(int argc, char **argv)
{
    struct state s = { 0, 0.0 };
    long steps = argc > 1 ? strtol(argv[1], NULL, 10) : 100;
    int rank, ranks;
    double pi;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (SCR_Init() != SCR_SUCCESS && rank == 0)
        fprintf(stderr, "going on without SCR\n");
    restart(&s, rank);
    if (rank == 0)
        printf("starting at step %ld\n", s.step);
    while (s.step < steps) {
        compute(&s, rank, ranks);
        if (s.step % 10 == 0)
            checkpoint(&s, rank);
    }
    MPI_Reduce(&s.sum, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%.9f after step %ld\n", pi, s.step);
    int rc = SCR_Finalize();
    MPI_Finalize();
    return rc == SCR_SUCCESS ? 0 : 1;
}
