/* SPDX-License-Identifier: BSD-3-Clause */
/* Molecular dynamics of a small box of argon, with all that SCR is asked for.
 *
 *     mpirun -n 4 md -s 200 -f 20 -o last.bin
 *
 * Each process has three files:
 *   state.<rank>   positions and velocities, what a restart needs          binary
 *   log.<rank>     one line a ten steps since the beginning of the run     grows
 *   frame.<rank>   positions for a movie, not read during the run    text
 * State and log make a checkpoint, written when SCR_Need_checkpoint asks for it. Frames
 * are output, one every -f steps: they must all reach the prefix directory. When both
 * are due at one step they are one dataset with both flags. */
#include <errno.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scr.h"

struct options {
    int steps, cells, frames;
    const char *output; /* or NULL */
};

/* All processes know all positions; each moves atoms first … first+mine-1. In units of
 * the Lennard-Jones potential. */
struct md {
    int rank, ranks;
    int scr; /* 0: it is switched off, or could not start */
    int atoms, first, mine, step;
    int *count, *at;         /* coordinates of each process, for MPI_Allgatherv */
    double box;              /* length of an edge */
    double energy;           /* of this process' atoms */
    double *x;               /* positions: 3 * atoms */
    double *v, *f;           /* velocities and forces: 3 * mine */
    double *read_x, *read_v; /* what a restart reads, until all have read theirs */
    FILE *log;
    char log_name[32];
};

static const double dt = 0.004, cutoff = 2.5;
enum { LOG_EVERY = 10 };

static int complain(const struct md *m, const char *what, const char *name)
{
    fprintf(stderr, "md: rank %d: %s %s\n", m->rank, what, name);
    return 0;
}

/* --- the atoms --- */

/* On a cubic lattice, with velocities between -1 and 1 that depend on the atom only. */
static void place_atoms(struct md *m, int cells)
{
    for (int i = 0; i < m->atoms; i++)
        for (int d = 0, k = i; d < 3; d++, k /= cells)
            m->x[3 * i + d] = (k % cells + 0.5) * m->box / cells;
    for (int i = 0; i < 3 * m->mine; i++) {
        unsigned k = (unsigned)(3 * m->first + i) * 2654435761u;
        m->v[i] = (double)(k >> 16) / 32768.0 - 1.0;
    }
}

/* Forces on this process' atoms, each summed up in the order of the others: the same
 * bits on any number of processes. */
static void compute_forces(struct md *m)
{
    memset(m->f, 0, 3 * (size_t)m->mine * sizeof *m->f);
    m->energy = 0;
    for (int i = 0; i < m->mine; i++) {
        const double *xi = m->x + 3 * (m->first + i);
        for (int j = 0; j < m->atoms; j++) {
            double r[3], r2 = 0;
            for (int d = 0; d < 3; d++) {
                r[d] = xi[d] - m->x[3 * j + d];
                r[d] -= m->box * floor(r[d] / m->box + 0.5);
                r2 += r[d] * r[d];
            }
            if (j == m->first + i || r2 > cutoff * cutoff)
                continue;
            double s6 = 1 / (r2 * r2 * r2), push = 24 * s6 * (2 * s6 - 1) / r2;
            for (int d = 0; d < 3; d++)
                m->f[3 * i + d] += push * r[d];
            m->energy += 2 * s6 * (s6 - 1);
        }
        for (int d = 0; d < 3; d++)
            m->energy += 0.5 * m->v[3 * i + d] * m->v[3 * i + d];
    }
}

static void share_positions(struct md *m)
{
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, m->x, m->count, m->at,
                   MPI_DOUBLE, MPI_COMM_WORLD);
}

static void advance(struct md *m)
{
    double *x = m->x + 3 * m->first;
    for (int i = 0; i < 3 * m->mine; i++) {
        m->v[i] += 0.5 * dt * m->f[i];
        x[i] += dt * m->v[i];
        x[i] -= m->box * floor(x[i] / m->box);
    }
    share_positions(m);
    compute_forces(m);
    for (int i = 0; i < 3 * m->mine; i++)
        m->v[i] += 0.5 * dt * m->f[i];
    m->step++;
}

/* --- the log: written where the program runs, a copy goes into each checkpoint --- */

static int copy_stream(FILE *from, FILE *to)
{
    char part[4096];
    size_t n;
    while ((n = fread(part, 1, sizeof part, from)) > 0)
        if (fwrite(part, 1, n, to) != n)
            return 0;
    return !ferror(from);
}

static int copy_file(const char *from, const char *to)
{
    FILE *in = fopen(from, "rb");
    if (in == NULL)
        return 0; /* the target stays as it is */
    FILE *out = fopen(to, "wb");
    int ok = out != NULL && copy_stream(in, out);
    fclose(in);
    return out != NULL && fclose(out) == 0 && ok;
}

static void write_log(struct md *m)
{
    if (m->log != NULL && m->step % LOG_EVERY == 0)
        fprintf(m->log, "%d %.17g\n", m->step, m->energy);
}

/* mode "w" starts a new log, "a" appends. The run continues without a log if
 * necessary. */
static void open_log(struct md *m, const char *mode)
{
    m->log = fopen(m->log_name, mode);
    if (m->log == NULL)
        complain(m, "cannot write", m->log_name);
}

/* --- the files: each function handles one of this process, and says 1 if it could ---
 */

struct state_head {
    int step, atoms, first, mine;
};

static int save_state(struct md *m, const char *path)
{
    const struct state_head head = { m->step, m->atoms, m->first, m->mine };
    size_t n = 3 * (size_t)m->mine;
    FILE *out = fopen(path, "wb");
    int ok = out != NULL && fwrite(&head, sizeof head, 1, out) == 1 &&
             fwrite(m->x + 3 * m->first, sizeof(double), n, out) == n &&
             fwrite(m->v, sizeof(double), n, out) == n;
    return out != NULL && fclose(out) == 0 && ok;
}

static int load_state(struct md *m, const char *path)
{
    struct state_head head;
    size_t n = 3 * (size_t)m->mine;
    FILE *in = fopen(path, "rb");
    int ok = in != NULL && fread(&head, sizeof head, 1, in) == 1 &&
             head.atoms == m->atoms && head.first == m->first && head.mine == m->mine &&
             fread(m->read_x, sizeof(double), n, in) == n &&
             fread(m->read_v, sizeof(double), n, in) == n;
    if (in != NULL)
        fclose(in);
    if (ok)
        m->step = head.step;
    return ok;
}

static int save_log(struct md *m, const char *path)
{
    return m->log != NULL && fflush(m->log) == 0 && !ferror(m->log) &&
           copy_file(m->log_name, path);
}

/* Lines that the lost run wrote after its checkpoint are gone, none is there twice. */
static int load_log(struct md *m, const char *path)
{
    return copy_file(path, m->log_name);
}

static int save_frame(struct md *m, const char *path)
{
    FILE *out = fopen(path, "w");
    int ok = out != NULL && fprintf(out, "%d\nstep %d\n", m->mine, m->step) > 0;
    for (int i = m->first; ok && i < m->first + m->mine; i++)
        ok = fprintf(out, "Ar %.6f %.6f %.6f\n", m->x[3 * i], m->x[3 * i + 1],
                     m->x[3 * i + 2]) > 0;
    return out != NULL && fclose(out) == 0 && ok;
}

/* --- datasets --- */

/* Asks SCR for the path of the file, and writes or reads it. */
static int with_file(struct md *m, const char *dataset, const char *kind,
                     int (*act)(struct md *, const char *))
{
    char name[SCR_MAX_FILENAME], path[SCR_MAX_FILENAME];
    snprintf(name, sizeof name, "%.900s/%s.%d", dataset, kind, m->rank);
    if (SCR_Route_file(name, path) != SCR_SUCCESS)
        return 0; /* SCR has said why */
    return act(m, path) || complain(m, "cannot write or read", path);
}

/* Without SCR the program makes the directory itself. */
static void write_frame(struct md *m)
{
    char path[64];
    snprintf(path, sizeof path, "md.%d", m->step);
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        complain(m, "cannot make", path);
    snprintf(path, sizeof path, "md.%d/frame.%d", m->step, m->rank);
    if (!save_frame(m, path))
        complain(m, "cannot write", path);
}

/* flags: SCR_FLAG_CHECKPOINT, SCR_FLAG_OUTPUT or both. A dataset that fails is no
 * reason to stop: the one before it is still there. */
static void write_dataset(struct md *m, int flags)
{
    char dataset[32];
    int ok = 1;
    snprintf(dataset, sizeof dataset, "md.%d", m->step);
    int rc = SCR_Start_output(dataset, flags);
    if (rc == SCR_SUCCESS) {
        if (flags & SCR_FLAG_CHECKPOINT)
            ok = with_file(m, dataset, "state", save_state) &&
                 with_file(m, dataset, "log", save_log);
        if (flags & SCR_FLAG_OUTPUT)
            ok = with_file(m, dataset, "frame", save_frame) && ok;
        rc = SCR_Complete_output(ok);
    }
    if (rc != SCR_SUCCESS && m->rank == 0)
        complain(m, "going on without dataset", dataset);
}

static int same_step_everywhere(int step)
{
    int range[2] = { step, -step }, most[2];
    MPI_Allreduce(range, most, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return most[0] == -most[1];
}

/* Takes the newest checkpoint that all processes can read, and continues from it. */
static int restart(struct md *m)
{
    char dataset[SCR_MAX_FILENAME];
    int have = 0;
    while (m->scr && SCR_Have_restart(&have, dataset) == SCR_SUCCESS && have) {
        if (SCR_Start_restart(dataset) != SCR_SUCCESS)
            return 0;
        int ok = with_file(m, dataset, "state", load_state) &&
                 with_file(m, dataset, "log", load_log);
        ok = same_step_everywhere(m->step) && ok;
        if (SCR_Complete_restart(ok) != SCR_SUCCESS)
            continue; /* is there an older one? */
        size_t bytes = 3 * (size_t)m->mine * sizeof(double);
        memcpy(m->x + 3 * m->first, m->read_x, bytes);
        memcpy(m->v, m->read_v, bytes);
        share_positions(m);
        return 1;
    }
    return 0;
}

/* --- the run --- */

static void begin(struct md *m, const struct options *o)
{
    if (restart(m)) {
        open_log(m, "a");
    } else {
        m->step = 0;
        place_atoms(m, o->cells);
        open_log(m, "w");
    }
    compute_forces(m);
    if (m->rank == 0)
        printf("md: beginning at step %d\n", m->step);
}

/* Does the work due at this step; 1 if the program must end. */
static int write_due(struct md *m, int frame)
{
    int need = 0, stop = 0, flags = frame ? SCR_FLAG_OUTPUT : 0;
    SCR_Need_checkpoint(&need);
    if (need)
        flags |= SCR_FLAG_CHECKPOINT;
    if (flags != 0)
        write_dataset(m, flags);
    if (need)
        SCR_Should_exit(&stop); /* right after a checkpoint nothing is lost */
    return stop;
}

static void run(struct md *m, const struct options *o)
{
    int stop = 0;
    while (m->step < o->steps && !stop) {
        advance(m);
        write_log(m);
        int frame = m->step % o->frames == 0;
        if (m->scr)
            stop = write_due(m, frame);
        else if (frame)
            write_frame(m);
    }
    if (m->rank == 0)
        printf("md: %s at step %d\n", m->step < o->steps ? "stopped" : "done", m->step);
}

/* All processes have all positions: the first one writes them. */
static int write_result(struct md *m, const char *path)
{
    size_t n = 3 * (size_t)m->atoms;
    if (m->rank > 0)
        return 1;
    FILE *out = fopen(path, "wb");
    int ok = out != NULL && fwrite(m->x, sizeof(double), n, out) == n;
    ok = out != NULL && fclose(out) == 0 && ok;
    return ok ? 1 : complain(m, "cannot write", path);
}

static int md_init(struct md *m, int cells)
{
    size_t ranks, mine;
    MPI_Comm_rank(MPI_COMM_WORLD, &m->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &m->ranks);
    m->atoms = cells * cells * cells;
    m->first = (int)((long)m->atoms * m->rank / m->ranks);
    m->mine = (int)((long)m->atoms * (m->rank + 1) / m->ranks) - m->first;
    m->box = cells * 1.2;
    snprintf(m->log_name, sizeof m->log_name, "md.log.%d", m->rank);
    ranks = (size_t)m->ranks;
    mine = 3 * (size_t)m->mine + 1;
    m->count = malloc(ranks * sizeof(int));
    m->at = malloc(ranks * sizeof(int));
    m->x = malloc(3 * (size_t)m->atoms * sizeof(double));
    m->v = malloc(mine * sizeof(double));
    m->f = malloc(mine * sizeof(double));
    m->read_x = malloc(mine * sizeof(double));
    m->read_v = malloc(mine * sizeof(double));
    if (!m->count || !m->at || !m->x || !m->v || !m->f || !m->read_x || !m->read_v)
        return complain(m, "out of memory", "");
    for (int r = 0; r < m->ranks; r++) {
        m->at[r] = 3 * (int)((long)m->atoms * r / m->ranks);
        m->count[r] = 3 * (int)((long)m->atoms * (r + 1) / m->ranks) - m->at[r];
    }
    return 1;
}

static int md_free(struct md *m)
{
    int ok = m->log != NULL && !ferror(m->log);
    ok = m->log != NULL && fclose(m->log) == 0 && ok;
    free(m->count);
    free(m->at);
    free(m->x);
    free(m->v);
    free(m->f);
    free(m->read_x);
    free(m->read_v);
    return ok ? 1 : complain(m, "cannot write", m->log_name);
}

static int simulate(const struct options *o)
{
    struct md m = { 0 };
    if (!md_init(&m, o->cells))
        MPI_Abort(MPI_COMM_WORLD, 1);
    /* The program ends by itself, with its log closed, when SCR_Should_exit asks for
     * it. */
    SCR_Config("SCR_HALT_ENABLED=0");
    m.scr = SCR_Init() == SCR_SUCCESS;
    if (!m.scr && m.rank == 0)
        complain(&m, "going on without", "checkpoints");
    begin(&m, o);
    run(&m, o);
    int ok = m.step < o->steps || o->output == NULL || write_result(&m, o->output);
    if (m.scr && SCR_Finalize() != SCR_SUCCESS)
        ok = 0; /* SCR has said what did not reach the prefix directory */
    return md_free(&m) && ok;
}

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
    while (ok && (c = getopt(argc, argv, "s:c:f:o:")) != -1) {
        if (c == 's')
            ok = number(optarg, 0, 1000000000, &o->steps);
        else if (c == 'c')
            ok = number(optarg, 5, 100, &o->cells);
        else if (c == 'f')
            ok = number(optarg, 1, 1000000000, &o->frames);
        else if (c == 'o')
            o->output = optarg;
        else
            ok = 0;
    }
    return ok && optind == argc;
}

int main(int argc, char **argv)
{
    struct options o = { .steps = 200, .cells = 6, .frames = 20 };
    int rank, status = 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    opterr = rank == 0;
    if (parse(argc, argv, &o))
        status = simulate(&o) ? 0 : 1;
    else if (rank == 0)
        fprintf(stderr,
                "usage: md [-s STEPS] [-c CELLS-A-SIDE] [-f STEPS-BETWEEN-FRAMES] "
                "[-o FILE]\n");
    MPI_Finalize();
    return status;
}
