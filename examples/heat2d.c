/* SPDX-License-Identifier: BSD-3-Clause */
/* The 2-D heat equation by Jacobi iteration, with checkpoints through SCR.
 *
 *     mpirun -n 8 heat2d --steps 400 --every 50 --output field.bin
 *
 * A square plate, hot along its top edge, is cut into strips of rows, one a rank. Every
 * cell of the next step depends on the last step only, so the result has the same bits
 * however fast the ranks run, whatever their number, and however often the run was
 * stopped and restarted. That makes it the yardstick of `scr drill`. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "scr.h"

struct options {
    int steps;          /* Jacobi steps in all */
    int size;           /* rows and columns of the plate, borders not counted */
    int every;          /* steps between checkpoints; 0: as SCR_Need_checkpoint asks */
    int sleep_ms;       /* pause in each step, to stretch a small problem */
    const char *output; /* file for the final field, or NULL */
};

/* A strip of the plate: rows first … first+rows-1, stored with a border of one cell. */
struct strip {
    int rank, ranks;
    int size, first, rows;
    size_t cells; /* of one of the two arrays, borders included */
    double *now, *next;
};

/* The header of a state file, before the cells. */
struct state_head {
    char magic[8];
    int32_t step, size, first, rows;
    uint64_t sum; /* of the cells */
};

static const char state_magic[8] = "HEAT2D1";

/* --- small helpers --- */

static int print_error(int rank, const char *fmt, ...)
{
    char text[2 * SCR_MAX_FILENAME];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fprintf(stderr, "heat2d: rank %d: %s\n", rank, text);
    return 0;
}

static double *row(const struct strip *s, double *field, int i)
{
    return field + (size_t)i * (size_t)(s->size + 2);
}

/* FNV-1a over the words of the cells. */
static uint64_t checksum(const double *cells, size_t n)
{
    uint64_t sum = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++) {
        uint64_t word;
        memcpy(&word, &cells[i], sizeof word);
        sum = (sum ^ word) * 0x100000001b3u;
    }
    return sum;
}

/* --- the plate --- */

/* The state at step 0: cold, with a hot border above the first row of the plate. */
static void strip_reset(struct strip *s)
{
    memset(s->now, 0, s->cells * sizeof *s->now);
    memset(s->next, 0, s->cells * sizeof *s->next);
    for (int j = 0; s->rank == 0 && j < s->size + 2; j++)
        s->now[j] = s->next[j] = 100.0 + j % 7;
}

static int strip_init(struct strip *s, int size, int rank, int ranks)
{
    int share = size / ranks, more = size % ranks;
    s->rank = rank;
    s->ranks = ranks;
    s->size = size;
    s->rows = share + (rank < more);
    s->first = rank * share + (rank < more ? rank : more);
    s->cells = (size_t)(s->rows + 2) * (size_t)(size + 2);
    s->now = malloc(s->cells * sizeof *s->now);
    s->next = malloc(s->cells * sizeof *s->next);
    if (s->now == NULL || s->next == NULL)
        return 0;
    strip_reset(s);
    return 1;
}

static void strip_free(struct strip *s)
{
    free(s->now);
    free(s->next);
}

static void exchange_borders(struct strip *s)
{
    int up = s->rank > 0 ? s->rank - 1 : MPI_PROC_NULL;
    int down = s->rank + 1 < s->ranks ? s->rank + 1 : MPI_PROC_NULL;
    MPI_Sendrecv(row(s, s->now, 1), s->size + 2, MPI_DOUBLE, up, 0,
                 row(s, s->now, s->rows + 1), s->size + 2, MPI_DOUBLE, down, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(row(s, s->now, s->rows), s->size + 2, MPI_DOUBLE, down, 1,
                 row(s, s->now, 0), s->size + 2, MPI_DOUBLE, up, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void swap_fields(struct strip *s)
{
    double *now = s->now;
    s->now = s->next;
    s->next = now;
}

static void relax(struct strip *s)
{
    for (int i = 1; i <= s->rows; i++) {
        const double *above = row(s, s->now, i - 1), *here = row(s, s->now, i);
        const double *below = row(s, s->now, i + 1);
        double *out = row(s, s->next, i);
        for (int j = 1; j <= s->size; j++)
            out[j] = 0.25 * ((above[j] + below[j]) + (here[j - 1] + here[j + 1]));
    }
    swap_fields(s);
}

static void one_step(struct strip *s, int sleep_ms)
{
    struct timespec pause = { sleep_ms / 1000, (sleep_ms % 1000) * 1000000L };
    exchange_borders(s);
    relax(s);
    if (sleep_ms > 0)
        nanosleep(&pause, NULL);
}

/* --- state files --- */

static int write_all(int fd, const void *bytes, size_t n)
{
    const char *p = bytes;
    while (n > 0) {
        ssize_t done = write(fd, p, n);
        if (done < 0 && errno != EINTR)
            return 0;
        p += done > 0 ? done : 0;
        n -= done > 0 ? (size_t)done : 0;
    }
    return 1;
}

static int read_all(int fd, void *bytes, size_t n)
{
    char *p = bytes;
    while (n > 0) {
        ssize_t done = read(fd, p, n);
        if (done == 0 || (done < 0 && errno != EINTR))
            return 0;
        p += done > 0 ? done : 0;
        n -= done > 0 ? (size_t)done : 0;
    }
    return 1;
}

static int save_state(const struct strip *s, int step, const char *path)
{
    struct state_head head = { .step = step,
                               .size = s->size,
                               .first = s->first,
                               .rows = s->rows,
                               .sum = checksum(s->now, s->cells) };
    memcpy(head.magic, state_magic, sizeof head.magic);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0)
        return print_error(s->rank, "open %s: %s", path, strerror(errno));
    int ok = write_all(fd, &head, sizeof head) &&
             write_all(fd, s->now, s->cells * sizeof *s->now);
    ok = close(fd) == 0 && ok;
    return ok ? 1 : print_error(s->rank, "write %s: %s", path, strerror(errno));
}

static int head_fits(const struct state_head *head, const struct strip *s)
{
    return memcmp(head->magic, state_magic, sizeof head->magic) == 0 &&
           head->size == s->size && head->first == s->first && head->rows == s->rows &&
           head->step > 0;
}

/* Reads into s->next: it counts only when all ranks could read theirs. */
static int load_state(struct strip *s, int *step, const char *path)
{
    struct state_head head;
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        return print_error(s->rank, "open %s: %s", path, strerror(errno));
    int ok = read_all(fd, &head, sizeof head) && head_fits(&head, s) &&
             read_all(fd, s->next, s->cells * sizeof *s->next) &&
             checksum(s->next, s->cells) == head.sum;
    close(fd);
    if (!ok)
        return print_error(s->rank, "%s: not a state file of this run, or damaged",
                           path);
    *step = head.step;
    return 1;
}

/* --- checkpoint and restart --- */

static int same_step_everywhere(int step)
{
    int low, high;
    MPI_Allreduce(&step, &low, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&step, &high, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return low == high;
}

static void checkpoint(const struct strip *s, int step)
{
    char dataset[64], name[96], path[SCR_MAX_FILENAME];
    snprintf(dataset, sizeof dataset, "heat2d.step.%d", step);
    snprintf(name, sizeof name, "%s/strip.%d", dataset, s->rank);
    int rc = SCR_Start_output(dataset, SCR_FLAG_CHECKPOINT);
    if (rc == SCR_SUCCESS) {
        int ok = SCR_Route_file(name, path) == SCR_SUCCESS && save_state(s, step, path);
        rc = SCR_Complete_output(ok);
    }
    if (s->rank == 0 && rc != SCR_SUCCESS)
        print_error(0, "checkpoint %s failed (%d); going on without it", dataset, rc);
}

/* Tries the checkpoints SCR offers, newest first; returns the step to continue from. */
static int restart(struct strip *s)
{
    char dataset[SCR_MAX_FILENAME], name[SCR_MAX_FILENAME], path[SCR_MAX_FILENAME];
    int have = 0;
    snprintf(name, sizeof name, "strip.%d", s->rank);
    while (SCR_Have_restart(&have, dataset) == SCR_SUCCESS && have) {
        int step = 0;
        if (SCR_Start_restart(dataset) != SCR_SUCCESS)
            break;
        int ok =
            SCR_Route_file(name, path) == SCR_SUCCESS && load_state(s, &step, path);
        ok = same_step_everywhere(step) && ok;
        if (SCR_Complete_restart(ok) == SCR_SUCCESS) {
            swap_fields(s);
            if (s->rank == 0)
                printf("heat2d: restarted from %s at step %d\n", dataset, step);
            return step;
        }
    }
    strip_reset(s);
    if (s->rank == 0)
        printf("heat2d: starting from step 0\n");
    return 0;
}

static int checkpoint_is_due(const struct options *o, int step)
{
    int need = 0;
    if (o->every > 0)
        return step % o->every == 0;
    return SCR_Need_checkpoint(&need) == SCR_SUCCESS && need;
}

/* Returns the number of steps done in all. */
static int run(struct strip *s, const struct options *o, int step)
{
    int stop = 0;
    while (step < o->steps && !stop) {
        one_step(s, o->sleep_ms);
        step++;
        if (step < o->steps && checkpoint_is_due(o, step)) {
            checkpoint(s, step);
            SCR_Should_exit(&stop);
        }
    }
    return step;
}

/* --- the result --- */

/* The inner cells of the plate, row by row, as the doubles they are. Each rank writes
 * its rows. */
static int write_rows(struct strip *s, const char *path)
{
    size_t width = (size_t)s->size * sizeof(double);
    int fd = open(path, O_WRONLY | O_CREAT, 0644);
    int ok = fd >= 0 && lseek(fd, (off_t)(width * (size_t)s->first), SEEK_SET) >= 0;
    for (int i = 1; ok && i <= s->rows; i++)
        ok = write_all(fd, row(s, s->now, i) + 1, width);
    if (fd >= 0)
        ok = close(fd) == 0 && ok;
    return ok ? 1 : print_error(s->rank, "write %s: %s", path, strerror(errno));
}

static int write_field(struct strip *s, const char *path)
{
    int ok = 1, all;
    if (s->rank == 0)
        ok = unlink(path) == 0 || errno == ENOENT;
    MPI_Barrier(MPI_COMM_WORLD);
    ok = write_rows(s, path) && ok;
    MPI_Allreduce(&ok, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    return all;
}

static uint64_t field_sum(struct strip *s)
{
    uint64_t sum = 0, all;
    for (int i = 1; i <= s->rows; i++)
        sum +=
            checksum(row(s, s->now, i) + 1, (size_t)s->size) * (uint64_t)(s->first + i);
    MPI_Allreduce(&sum, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static int report(struct strip *s, const struct options *o, int step)
{
    uint64_t sum = field_sum(s);
    int ok = 1;
    if (step == o->steps && o->output != NULL)
        ok = write_field(s, o->output);
    if (s->rank == 0)
        printf("heat2d: %s at step %d, sum of the field %016" PRIx64 "\n",
               step == o->steps ? "done" : "stopped", step, sum);
    return ok;
}

/* --- the command line --- */

static void print_usage(FILE *out)
{
    fputs("usage: heat2d [--steps N] [--size N] [--every N] [--sleep-ms N] [--output "
          "FILE]\n"
          "  --steps N      Jacobi steps (200)\n"
          "  --size N       rows and columns of the plate (128)\n"
          "  --every N      steps between checkpoints (20); 0: SCR_Need_checkpoint "
          "decides\n"
          "  --sleep-ms N   pause in each step (0)\n"
          "  --output FILE  write the final field there\n",
          out);
}

static int parse_number(const char *text, int least, int *out)
{
    char *end;
    errno = 0;
    long v = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || v < least || v > 1000000000)
        return 0;
    *out = (int)v;
    return 1;
}

/* 1: continue; 0: help was asked for; -1: wrong use. */
static int parse_options(int argc, char **argv, struct options *o)
{
    static const struct option table[] = {
        { "steps", 1, NULL, 's' },  { "size", 1, NULL, 'n' },
        { "every", 1, NULL, 'e' },  { "sleep-ms", 1, NULL, 'w' },
        { "output", 1, NULL, 'o' }, { "help", 0, NULL, 'h' },
        { NULL, 0, NULL, 0 }
    };
    int c, ok = 1;
    while (ok && (c = getopt_long(argc, argv, "h", table, NULL)) != -1) {
        switch (c) {
        case 's':
            ok = parse_number(optarg, 0, &o->steps);
            break;
        case 'n':
            ok = parse_number(optarg, 1, &o->size);
            break;
        case 'e':
            ok = parse_number(optarg, 0, &o->every);
            break;
        case 'w':
            ok = parse_number(optarg, 0, &o->sleep_ms);
            break;
        case 'o':
            o->output = optarg;
            break;
        case 'h':
            return 0;
        default:
            ok = 0;
        }
    }
    return ok && optind == argc ? 1 : -1;
}

static int solve(const struct options *o, int rank, int ranks)
{
    struct strip s;
    if (!strip_init(&s, o->size, rank, ranks)) {
        print_error(rank, "out of memory");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    int with_scr = SCR_Init() == SCR_SUCCESS; /* else SCR has said why */
    if (!with_scr && rank == 0)
        print_error(0, "going on without SCR");
    int step = run(&s, o, restart(&s));
    int ok = report(&s, o, step);
    if (with_scr && SCR_Finalize() != SCR_SUCCESS)
        ok = 0;
    strip_free(&s);
    return ok ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct options o = { .steps = 200, .size = 128, .every = 20 };
    int rank, ranks, status;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    opterr = rank == 0;
    int go = parse_options(argc, argv, &o);
    if (go == 1 && o.size < ranks) {
        go = -1;
        if (rank == 0)
            print_error(0, "--size %d is less than a row for each of %d ranks", o.size,
                        ranks);
    }
    if (go != 1) {
        if (rank == 0)
            print_usage(go == 0 ? stdout : stderr);
        status = go == 0 ? 0 : 2;
    } else {
        status = solve(&o, rank, ranks);
    }
    MPI_Finalize();
    return status;
}
