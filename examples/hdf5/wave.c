/* SPDX-License-Identifier: BSD-3-Clause */
/* The wave equation on a square membrane, with checkpoints in HDF5 through SCR.
 *
 *     mpirun -n 4 wave -s 200 -e 20             each process writes its own file
 *     mpirun -n 4 wave -s 200 -e 20 -S          all write one file (parallel HDF5)
 *     mpirun -n 4 wave … -o membrane.bin        leaves the final heights there
 *
 * A file per process goes to the cache of its node. A shared file cannot: no node has
 * all of it. It is written straight to the prefix directory (SCR_CACHE_BYPASS), and SCR
 * still names it, enters it in the index when it is whole, and finds it at a restart.
 * The two differ in main, file_name, open_layout and nowhere else. */
#include <fcntl.h>
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scr.h"

struct options {
    int steps, size, every, shared;
    const char *output; /* or NULL */
};

/* Rows first … first+rows-1 of the membrane. In memory there is one more row above and
 * one below, the neighbours'. */
struct wave {
    int rank, ranks;
    int scr; /* 0: it is switched off, or could not start */
    int size, first, rows, step;
    double *before, *now, *next; /* heights at three steps */
};

static int complain(const struct wave *w, const char *what, const char *name)
{
    fprintf(stderr, "wave: rank %d: %s %s\n", w->rank, what, name);
    return 0;
}

/* 1 if it is true on all processes. */
static int everywhere(int ok)
{
    int all;
    MPI_Allreduce(&ok, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    return all;
}

/* --- the membrane --- */

static double *row(const struct wave *w, double *field, int i)
{
    return field + (size_t)i * (size_t)w->size;
}

/* At step 0: at rest, with a bump. */
static void wave_reset(struct wave *w)
{
    size_t bytes = (size_t)(w->rows + 2) * (size_t)w->size * sizeof(double);
    memset(w->now, 0, bytes);
    memset(w->next, 0, bytes);
    w->step = 0;
    for (int i = 1; i <= w->rows; i++)
        for (int j = 1; j + 1 < w->size; j++) {
            double y = (w->first + i - 0.3 * w->size) / w->size;
            double x = (j - 0.6 * w->size) / w->size;
            row(w, w->now, i)[j] = 1.0 / (1.0 + 200.0 * (x * x + y * y));
        }
    memcpy(w->before, w->now, bytes);
}

static int wave_init(struct wave *w, int size)
{
    size_t cells;
    MPI_Comm_rank(MPI_COMM_WORLD, &w->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &w->ranks);
    w->size = size;
    w->first = (int)((long)size * w->rank / w->ranks);
    w->rows = (int)((long)size * (w->rank + 1) / w->ranks) - w->first;
    cells = (size_t)(w->rows + 2) * (size_t)size;
    w->before = malloc(cells * sizeof(double));
    w->now = malloc(cells * sizeof(double));
    w->next = malloc(cells * sizeof(double));
    if (!everywhere(w->before && w->now && w->next))
        return 0;
    wave_reset(w);
    return 1;
}

static void wave_free(struct wave *w)
{
    free(w->before);
    free(w->now);
    free(w->next);
}

static void exchange_rows(struct wave *w)
{
    int up = w->rank > 0 ? w->rank - 1 : MPI_PROC_NULL;
    int down = w->rank + 1 < w->ranks ? w->rank + 1 : MPI_PROC_NULL;
    MPI_Sendrecv(row(w, w->now, 1), w->size, MPI_DOUBLE, up, 0,
                 row(w, w->now, w->rows + 1), w->size, MPI_DOUBLE, down, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(row(w, w->now, w->rows), w->size, MPI_DOUBLE, down, 1,
                 row(w, w->now, 0), w->size, MPI_DOUBLE, up, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

/* Every cell depends on the two steps before only: the result has the same bits on any
 * number of processes and however often the run was stopped. */
static void advance(struct wave *w)
{
    double *oldest = w->before;
    exchange_rows(w);
    for (int i = 1; i <= w->rows; i++) {
        const double *above = row(w, w->now, i - 1), *here = row(w, w->now, i);
        const double *below = row(w, w->now, i + 1), *old = row(w, w->before, i);
        for (int j = 1; j + 1 < w->size; j++) {
            double bend = (above[j] + below[j]) + (here[j - 1] + here[j + 1]);
            row(w, w->next, i)[j] = 2 * here[j] - old[j] + 0.2 * (bend - 4 * here[j]);
        }
    }
    w->before = w->now;
    w->now = w->next;
    w->next = oldest;
    w->step++;
}

/* --- the HDF5 file ---
 * Reading and writing a shared one takes all processes: each makes the same calls,
 * whatever fails on it, and they agree before those that would wait for the others. */

/* The layout of this process' rows in the file and in memory, and by which means HDF5
 * reads and writes them. */
struct layout {
    int shared;               /* one file of all processes */
    hid_t in_file, in_memory; /* data spaces */
    hid_t access, transfer;   /* property lists */
};

/* 1 if all is well. Close it in any case. */
static int open_layout(struct layout *l, const struct wave *w, int shared)
{
    hsize_t mine[2] = { (hsize_t)w->rows, (hsize_t)w->size };
    hsize_t whole[2] = { (hsize_t)(shared ? w->size : w->rows), (hsize_t)w->size };
    hsize_t start[2] = { (hsize_t)(shared ? w->first : 0), 0 };
    l->shared = shared;
    l->in_memory = H5Screate_simple(2, mine, NULL);
    l->in_file = H5Screate_simple(2, whole, NULL);
    l->access = H5Pcreate(H5P_FILE_ACCESS);
    l->transfer = H5Pcreate(H5P_DATASET_XFER);
    if (l->in_memory < 0 || l->in_file < 0 || l->access < 0 || l->transfer < 0)
        return 0;
    if (shared && (H5Pset_fapl_mpio(l->access, MPI_COMM_WORLD, MPI_INFO_NULL) < 0 ||
                   H5Pset_dxpl_mpio(l->transfer, H5FD_MPIO_COLLECTIVE) < 0))
        return 0;
    return H5Sselect_hyperslab(l->in_file, H5S_SELECT_SET, start, NULL, mine, NULL) >=
           0;
}

static void close_layout(struct layout *l)
{
    H5Sclose(l->in_memory);
    H5Sclose(l->in_file);
    H5Pclose(l->access);
    H5Pclose(l->transfer);
}

/* HDF5 opens a shared file with all processes, and where one fails the others wait for
 * it in there. So each finds out alone whether it can. */
static int can_open(const struct wave *w, const char *path, int save)
{
    int fd = open(path, save ? O_RDWR | O_CREAT : O_RDONLY, 0666);
    return (fd >= 0 && close(fd) == 0) || complain(w, "cannot open", path);
}

/* 1 if all processes have opened the file. If some have not, those that did close
 * theirs. With a shared one they cannot: that, too, takes all that have it open, and
 * HDF5 would wait for them at the end of the program at the latest. Then the run ends
 * here, and the next one continues from the newest checkpoint. */
static int open_everywhere(const struct wave *w, hid_t file, const char *path,
                           const struct layout *l)
{
    int mine = file >= 0 || complain(w, "HDF5 cannot open", path), all;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (all == w->ranks)
        return 1;
    if (mine && l->shared) {
        complain(w, "ending, as not all processes could open", path);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (mine)
        H5Fclose(file);
    return 0;
}

static int write_field(hid_t file, const char *name, const struct layout *l,
                       const double *rows)
{
    hid_t set = H5Dcreate2(file, name, H5T_IEEE_F64LE, l->in_file, H5P_DEFAULT,
                           H5P_DEFAULT, H5P_DEFAULT);
    int ok = everywhere(set >= 0) && H5Dwrite(set, H5T_NATIVE_DOUBLE, l->in_memory,
                                              l->in_file, l->transfer, rows) >= 0;
    return set >= 0 && H5Dclose(set) >= 0 && ok;
}

static int write_step(hid_t file, int step)
{
    hid_t scalar = H5Screate(H5S_SCALAR);
    hid_t attr =
        H5Acreate2(file, "step", H5T_STD_I32LE, scalar, H5P_DEFAULT, H5P_DEFAULT);
    int ok = attr >= 0 && H5Awrite(attr, H5T_NATIVE_INT, &step) >= 0;
    ok = attr >= 0 && H5Aclose(attr) >= 0 && ok;
    return H5Sclose(scalar) >= 0 && ok;
}

/* What HDF5 still holds in memory is written when the file is closed: a checkpoint is
 * good only if that went well too. */
static int save_file(const struct wave *w, const char *path, const struct layout *l)
{
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, l->access);
    if (!open_everywhere(w, file, path, l))
        return 0;
    int ok = write_step(file, w->step);
    ok &= write_field(file, "now", l, row(w, w->now, 1));
    ok &= write_field(file, "before", l, row(w, w->before, 1));
    if (!ok)
        complain(w, "not written by all processes:", path);
    return H5Fclose(file) >= 0 && ok;
}

static int read_field(hid_t file, const char *name, const struct layout *l,
                      double *rows)
{
    hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
    hid_t space = set >= 0 ? H5Dget_space(set) : -1;
    int fits = space >= 0 && H5Sextent_equal(space, l->in_file) > 0;
    int ok = everywhere(fits) && H5Dread(set, H5T_NATIVE_DOUBLE, l->in_memory,
                                         l->in_file, l->transfer, rows) >= 0;
    if (space >= 0)
        H5Sclose(space);
    if (set >= 0)
        H5Dclose(set);
    return ok;
}

static int read_step(hid_t file, int *step)
{
    hid_t attr = H5Aopen(file, "step", H5P_DEFAULT);
    int ok = attr >= 0 && H5Aread(attr, H5T_NATIVE_INT, step) >= 0 && *step > 0;
    if (attr >= 0)
        H5Aclose(attr);
    return ok;
}

static int load_file(struct wave *w, const char *path, const struct layout *l)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, l->access);
    if (!open_everywhere(w, file, path, l))
        return 0;
    int ok = read_step(file, &w->step);
    ok &= read_field(file, "now", l, row(w, w->now, 1));
    ok &= read_field(file, "before", l, row(w, w->before, 1));
    if (!ok)
        complain(w, "not a file of this run on all processes:", path);
    H5Fclose(file);
    return ok;
}

/* --- checkpoint and restart --- */

/* Below the prefix directory; each process' own, or the same for all. */
static void file_name(char *name, size_t n, const struct wave *w, const char *dataset,
                      int shared)
{
    if (shared)
        snprintf(name, n, "%.900s/membrane.h5", dataset);
    else
        snprintf(name, n, "%.900s/rows.%d.h5", dataset, w->rank);
}

/* Writes or reads the file of this process, if every process can. */
static int use_file(struct wave *w, const char *dataset, int shared, int save)
{
    char name[SCR_MAX_FILENAME], path[SCR_MAX_FILENAME];
    struct layout l;
    file_name(name, sizeof name, w, dataset, shared);
    int ok = open_layout(&l, w, shared);
    ok = SCR_Route_file(name, path) == SCR_SUCCESS && can_open(w, path, save) && ok;
    if (everywhere(ok))
        ok = save ? save_file(w, path, &l) : load_file(w, path, &l);
    else
        ok = 0;
    close_layout(&l);
    return ok;
}

static void checkpoint(struct wave *w, int shared)
{
    char dataset[32];
    snprintf(dataset, sizeof dataset, "wave.%d", w->step);
    int rc = SCR_Start_output(dataset, SCR_FLAG_CHECKPOINT);
    if (rc == SCR_SUCCESS)
        rc = SCR_Complete_output(use_file(w, dataset, shared, 1));
    if (rc != SCR_SUCCESS && w->rank == 0)
        complain(w, "going on without checkpoint", dataset);
}

/* Takes the newest checkpoint that all processes can read, else begins at step 0. */
static void restart(struct wave *w, int shared)
{
    char dataset[SCR_MAX_FILENAME];
    int have = 0;
    while (w->scr && SCR_Have_restart(&have, dataset) == SCR_SUCCESS && have) {
        if (SCR_Start_restart(dataset) != SCR_SUCCESS)
            break;
        if (SCR_Complete_restart(use_file(w, dataset, shared, 0)) == SCR_SUCCESS)
            return;
    }
    wave_reset(w);
}

/* --- the result --- */

/* Through rank 0, as plain doubles. */
static int write_result(struct wave *w, const char *path)
{
    int *count = malloc((size_t)w->ranks * sizeof(int));
    int *at = malloc((size_t)w->ranks * sizeof(int));
    size_t cells = (size_t)w->size * (size_t)w->size;
    double *all = w->rank == 0 ? malloc(cells * sizeof(double)) : NULL;
    int ok = 0;
    if (everywhere(count && at && (w->rank > 0 || all))) {
        for (int r = 0; r < w->ranks; r++) {
            at[r] = (int)((long)w->size * r / w->ranks) * w->size;
            count[r] = (int)((long)w->size * (r + 1) / w->ranks) * w->size - at[r];
        }
        MPI_Gatherv(row(w, w->now, 1), w->rows * w->size, MPI_DOUBLE, all, count, at,
                    MPI_DOUBLE, 0, MPI_COMM_WORLD);
        ok = 1;
    }
    if (ok && w->rank == 0) {
        FILE *f = fopen(path, "wb");
        ok = f != NULL && fwrite(all, sizeof(double), cells, f) == cells;
        ok = f != NULL && fclose(f) == 0 && ok;
    }
    free(all);
    free(at);
    free(count);
    return ok ? 1 : complain(w, "cannot write", path);
}

/* --- the program --- */

static int number(const char *text, int least, int most, int *out)
{
    char *end;
    long v = strtol(text, &end, 10);
    *out = (int)v;
    return end != text && *end == '\0' && v >= least && v <= most;
}

static int parse(int argc, char **argv, struct options *o)
{
    int c, ok = 1;
    while (ok && (c = getopt(argc, argv, "s:n:e:o:S")) != -1) {
        if (c == 's')
            ok = number(optarg, 0, 1000000000, &o->steps);
        else if (c == 'n')
            ok = number(optarg, 3, 10000, &o->size);
        else if (c == 'e')
            ok = number(optarg, 1, 1000000000, &o->every);
        else if (c == 'o')
            o->output = optarg;
        else
            ok = (o->shared = c == 'S');
    }
    return ok && optind == argc;
}

static int run(const struct options *o, int scr)
{
    struct wave w = { .scr = scr };
    int stop = 0;
    if (!wave_init(&w, o->size)) {
        complain(&w, "not enough memory for size", "");
        wave_free(&w);
        return 0;
    }
    restart(&w, o->shared);
    if (w.rank == 0)
        printf("wave: beginning at step %d\n", w.step);
    while (w.step < o->steps && !stop) {
        advance(&w);
        if (w.scr && w.step % o->every == 0) {
            checkpoint(&w, o->shared);
            SCR_Should_exit(&stop);
        }
    }
    if (w.rank == 0)
        printf("wave: ended at step %d\n", w.step);
    int ok = o->output == NULL || w.step < o->steps || write_result(&w, o->output);
    wave_free(&w);
    return ok;
}

int main(int argc, char **argv)
{
    struct options o = { .steps = 200, .size = 120, .every = 20 };
    int rank, ranks, status = 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    opterr = rank == 0;
    if (parse(argc, argv, &o) && o.size >= ranks) {
        if (o.shared)
            SCR_Config("SCR_CACHE_BYPASS=1");
        int started = SCR_Init() == SCR_SUCCESS;
        if (!started && rank == 0)
            fprintf(stderr, "wave: going on without checkpoints\n");
        status = run(&o, started) ? 0 : 1;
        if (started && SCR_Finalize() != SCR_SUCCESS)
            status = 1; /* SCR has said what did not reach the prefix directory */
    } else if (rank == 0) {
        fprintf(stderr, "usage: wave [-s STEPS] [-n SIZE, at least a row a process] "
                        "[-e STEPS-BETWEEN-CHECKPOINTS] [-S] [-o FILE]\n");
    }
    MPI_Finalize();
    return status;
}
