/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that computes by sleeping, so that a busy machine hardly slows it, and
 * checkpoints when SCR_Need_checkpoint says so.
 *
 *     sleeper DIR STEP_MS WRITE_MS BYTES
 *
 * A step takes STEP_MS, the files of a checkpoint, BYTES each, take WRITE_MS to write.
 * Rank 0 appends "<seconds since 1970> <steps completed>" to DIR/steps before the first
 * step and after each. The program ends when DIR/end exists. */
#include "scr.h"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct run {
    const char *dir;
    int step_ms, write_ms, rank;
    size_t bytes;
    char *filling;
    FILE *progress; /* of rank 0 */
};

static struct timespec after_ms(int ms)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += ms / 1000;
    t.tv_nsec += ms % 1000 * 1000000L;
    t.tv_sec += t.tv_nsec / 1000000000L;
    t.tv_nsec %= 1000000000L;
    return t;
}

static void sleep_until(const struct timespec *end)
{
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, end, NULL) != 0)
        continue;
}

static void note(const struct run *r, int step)
{
    struct timespec t;
    if (r->rank != 0)
        return;
    clock_gettime(CLOCK_REALTIME, &t);
    fprintf(r->progress, "%ld.%03ld %d\n", (long)t.tv_sec, t.tv_nsec / 1000000, step);
    fflush(r->progress);
}

static const char *route(const struct run *r, const char *set, char *path)
{
    char name[SCR_MAX_FILENAME];
    snprintf(name, sizeof name, "%.900s/rank_%d", set, r->rank);
    SCR_Route_file(name, path);
    return path;
}

/* The step number is the first line, the rest is filling. */
static int write_file(const struct run *r, const char *path, int step)
{
    FILE *f = fopen(path, "w");
    if (f == NULL)
        return 0;
    int ok = fprintf(f, "%d\n", step) > 0;
    ok = fwrite(r->filling, 1, r->bytes, f) == r->bytes && ok;
    return fclose(f) == 0 && ok;
}

static void checkpoint(const struct run *r, int step)
{
    char set[64], path[SCR_MAX_FILENAME];
    snprintf(set, sizeof set, "step.%d", step);
    SCR_Start_output(set, SCR_FLAG_CHECKPOINT);
    struct timespec end = after_ms(r->write_ms);
    int ok = write_file(r, route(r, set, path), step);
    sleep_until(&end);
    SCR_Complete_output(ok);
}

static int restart(const struct run *r)
{
    char set[SCR_MAX_FILENAME], path[SCR_MAX_FILENAME];
    int have = 0, step = 0;
    while (SCR_Have_restart(&have, set) == SCR_SUCCESS && have) {
        SCR_Start_restart(set);
        FILE *f = fopen(route(r, set, path), "r");
        int ok = f != NULL && fscanf(f, "%d", &step) == 1;
        ok = f != NULL && fclose(f) == 0 && ok;
        if (SCR_Complete_restart(ok) == SCR_SUCCESS)
            return step;
        step = 0;
    }
    return 0;
}

static int is_over(const struct run *r)
{
    char path[SCR_MAX_FILENAME];
    snprintf(path, sizeof path, "%s/end", r->dir);
    int over = r->rank == 0 && access(path, F_OK) == 0;
    MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return over;
}

static void compute(const struct run *r, int step)
{
    int need = 0;
    note(r, step);
    while (!is_over(r)) {
        struct timespec end = after_ms(r->step_ms);
        sleep_until(&end);
        note(r, ++step);
        SCR_Need_checkpoint(&need);
        if (need)
            checkpoint(r, step);
    }
}

int main(int argc, char **argv)
{
    struct run r = { 0 };
    char path[SCR_MAX_FILENAME];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &r.rank);
    if (argc != 5 || SCR_Init() != SCR_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1);
    r.dir = argv[1];
    r.step_ms = (int)strtol(argv[2], NULL, 10);
    r.write_ms = (int)strtol(argv[3], NULL, 10);
    r.bytes = (size_t)strtoull(argv[4], NULL, 10);
    r.filling = malloc(r.bytes + 1);
    if (r.filling == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (size_t i = 0; i < r.bytes; i++)
        r.filling[i] = (char)(i * 31 % 127);
    snprintf(path, sizeof path, "%s/steps", r.dir);
    if (r.rank == 0 && (r.progress = fopen(path, "a")) == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    compute(&r, restart(&r));
    if (r.rank == 0)
        fclose(r.progress);
    free(r.filling);
    SCR_Finalize();
    MPI_Finalize();
    return 0;
}
