/* SPDX-License-Identifier: BSD-3-Clause */
/* The series of step0.c as a large code would do it: checkpoints through SCR, and in
 * the code's own way where that fails.
 *
 *     mpirun -n 2 fallback STEPS [BROKEN]    SCR's checkpoint of step BROKEN fails */
#include <mpi.h>
#include <scr.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

struct state {
    long step;
    double sum;
};

struct code {
    int rank, ranks;
    int scr;     /* 0: SCR could not start */
    long broken; /* the step at which writing is made to fail */
};

static void compute(struct state *s, const struct code *c)
{
    for (long i = c->rank; i < 100000; i += c->ranks) {
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

static int good_everywhere(int ok)
{
    int all;
    MPI_Allreduce(&ok, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    return all;
}

/* --- the code's own way: own names, and the file "latest" --- */

static void own_name(char *path, size_t n, long step, int rank)
{
    snprintf(path, n, "own.%ld/rank_%d.dat", step, rank);
}

static int own_write(const struct state *s, const struct code *c)
{
    char path[64];
    own_name(path, sizeof path, s->step, c->rank);
    if (c->rank == 0) {
        char dir[32];
        snprintf(dir, sizeof dir, "own.%ld", s->step);
        mkdir(dir, 0777);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int ok = good_everywhere(write_state(s, path));
    FILE *f = ok && c->rank == 0 ? fopen("latest.tmp", "w") : NULL;
    if (f != NULL) {
        int written = fprintf(f, "%ld\n", s->step) > 0;
        if (fclose(f) == 0 && written)
            rename("latest.tmp", "latest");
    }
    return ok;
}

/* The step of the newest checkpoint that was written so, or 0. */
static long own_newest(const struct code *c)
{
    long step = 0;
    FILE *f = c->rank == 0 ? fopen("latest", "r") : NULL;
    if (f != NULL) {
        if (fscanf(f, "%ld", &step) != 1)
            step = 0;
        fclose(f);
    }
    MPI_Bcast(&step, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    return step;
}

/* --- through SCR --- */

static int scr_write(const struct state *s, const struct code *c)
{
    char dir[32], name[64], path[SCR_MAX_FILENAME];
    snprintf(dir, sizeof dir, "ckpt.%ld", s->step);
    snprintf(name, sizeof name, "%s/rank_%d.dat", dir, c->rank);
    if (SCR_Start_output(dir, SCR_FLAG_CHECKPOINT) != SCR_SUCCESS)
        return 0;
    int ok = SCR_Route_file(name, path) == SCR_SUCCESS && write_state(s, path);
    ok = ok && s->step != c->broken;
    return SCR_Complete_output(ok) == SCR_SUCCESS;
}

static void checkpoint(const struct state *s, const struct code *c)
{
    if (c->scr && scr_write(s, c))
        return;
    if (own_write(s, c) && c->rank == 0)
        printf("step %ld is kept without SCR\n", s->step);
}

static void restart(struct state *s, const struct code *c)
{
    char set[SCR_MAX_FILENAME], name[SCR_MAX_FILENAME], path[SCR_MAX_FILENAME];
    long own = own_newest(c), step = 0;
    int have = 0;
    while (SCR_Have_restart(&have, set) == SCR_SUCCESS && have &&
           sscanf(set, "ckpt.%ld", &step) == 1 && step > own) {
        SCR_Start_restart(set);
        snprintf(name, sizeof name, "%.900s/rank_%d.dat", set, c->rank);
        int ok = SCR_Route_file(name, path) == SCR_SUCCESS && read_state(s, path);
        if (SCR_Complete_restart(ok) == SCR_SUCCESS)
            return;
    }
    own_name(path, sizeof path, own, c->rank);
    if (own == 0 || !good_everywhere(read_state(s, path)))
        *s = (struct state){ 0, 0.0 };
}

static void start(struct code *c, int argc, char **argv)
{
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &c->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &c->ranks);
    if (level < MPI_THREAD_FUNNELED)
        MPI_Abort(MPI_COMM_WORLD, 1);
    SCR_Config("SCR_HALT_ENABLED=0"); /* this program ends in its own way */
    c->scr = SCR_Init() == SCR_SUCCESS;
}

static int finish(const struct state *s, const struct code *c)
{
    int saved = 1;
    double pi;
    MPI_Reduce(&s->sum, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    FILE *f = c->rank == 0 ? fopen("pi.txt", "w") : NULL;
    if (f != NULL) {
        fprintf(f, "%.15f after step %ld\n", pi, s->step);
        fclose(f);
    }
    if (c->scr)
        saved = SCR_Finalize() == SCR_SUCCESS; /* else SCR has said why */
    MPI_Finalize();
    return saved ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct state s = { 0, 0.0 };
    struct code c = { 0 };
    long steps = argc > 1 ? strtol(argv[1], NULL, 10) : 100;
    c.broken = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    start(&c, argc, argv);
    restart(&s, &c);
    if (c.rank == 0)
        printf("starting at step %ld\n", s.step);
    for (int stop = 0; s.step < steps && !stop;) {
        compute(&s, &c);
        if (s.step % 10 == 0) {
            checkpoint(&s, &c);
            SCR_Should_exit(&stop);
        }
    }
    return finish(&s, &c);
}
