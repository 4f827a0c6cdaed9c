/* SPDX-License-Identifier: BSD-3-Clause */
/* Times an application that checkpoints through SCR, call by call.
 *
 *     mpirun -n 4 ckpt [--size BYTES] [--files N] [--repeats N] [--leave]
 *     mpirun -n 4 ckpt --restart [--size BYTES] [--files N] [--lost R,R,...]
 *                        [--parity BYTES]
 *     mpirun -n 4 ckpt --plain [--size BYTES] [--files N] [--repeats N]
 *     with --even: data that compresses well
 *
 * Uses only what the existing SCR has as well (lint.names checks it), so it measures
 * any library with that interface. A time is the maximum over the ranks; of the repeats
 * the median counts, the first checkpoint (new files, cold caches) excepted. Rank 0
 * prints one line of JSON: seconds by phase, "memcpy" in bytes a second of one core,
 * measured before each checkpoint, or before and after the start, while the other ranks
 * sleep, bytes sent by the busiest rank for one checkpoint, or for the start (counted
 * at the profiling interface of MPI), and memory; "names" is what the texts of a
 * checkpoint take that any library has to know, those of the program and the paths it
 * got for them, on rank 0. "returned" is when the last rank came
 * back from the last SCR_Complete_output, in seconds since the epoch. "reread" is the
 * time in which all ranks at once read their file in cache through a small buffer, if
 * each has one file: no library can protect or verify it in less.
 *
 * --leave ends without SCR_Finalize, as a run does that was killed: its cache can be
 * restarted from. --restart times that start, compares every byte, and times plain
 * writes to new files: of the dataset's bytes by all ranks at once ("write_all"), and
 * of the bytes that were rebuilt by the ranks named by --lost at once, --size of data
 * and --parity of redundancy each ("write_lost").
 *
 * --plain makes no call of the library: each rank writes its files below SCR_CACHE_BASE
 * and copies them to the next rank, as programs do for themselves, or FTI on its second
 * level. "complete" is the time of the copies. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "scr.h"

enum { INIT, START, ROUTE, WRITE, COMPLETE, REREAD, REROUTE, READ, FINALIZE, PHASES };
static const char *const phase_names[PHASES] = { "init",    "start",    "route",
                                                 "write",   "complete", "reread",
                                                 "reroute", "read",     "finalize" };

enum { MAX_REPEATS = 64, COPY_BYTES = 64 << 20, COPIES = 3 };
enum { MAX_COPIES = COPIES * (MAX_REPEATS + 1), PIECE_BYTES = 1 << 20 };
enum { REREAD_BYTES = 256 << 10 }; /* stays in the second-level cache */

struct bench {
    size_t size;   /* bytes of a rank, over all its files */
    size_t parity; /* bytes of redundancy a rank holds, at most size */
    int files, repeats, leave, restart, even, plain;
    const char *lost; /* ranks, comma separated */
    int rank, ranks;
    unsigned char *data;
    double write_all, write_lost;       /* seconds of plain writes */
    unsigned char *copy_from, *copy_to; /* of rank 0 */
    double copies[MAX_COPIES];          /* seconds of each */
    int ncopies;
    double seconds[PHASES][MAX_REPEATS];
    int count[PHASES];
    uint64_t sent;   /* of the last checkpoint, or of the start */
    double returned; /* from it; seconds since the epoch */
    long own_kib;    /* memory of the application when the library starts */
    size_t names;    /* bytes of the names of this rank's files and of their paths */
};

static void die(const char *what)
{
    fprintf(stderr, "ckpt: %s%s%s\n", what, errno ? ": " : "",
            errno ? strerror(errno) : "");
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void require(int code, const char *call)
{
    errno = 0;
    if (code != SCR_SUCCESS)
        die(call);
}

/* --- bytes sent, at the profiling interface --- */

static uint64_t bytes_sent;

static void count_bytes(int count, MPI_Datatype type)
{
    int size = 0;
    PMPI_Type_size(type, &size);
    bytes_sent += (uint64_t)count * (uint64_t)size;
}

int MPI_Send(const void *buf, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    count_bytes(n, type);
    return PMPI_Send(buf, n, type, to, tag, comm);
}

int MPI_Isend(const void *buf, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *req)
{
    count_bytes(n, type);
    return PMPI_Isend(buf, n, type, to, tag, comm, req);
}

int MPI_Sendrecv(const void *buf, int n, MPI_Datatype type, int to, int tag, void *in,
                 int nin, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm,
                 MPI_Status *status)
{
    count_bytes(n, type);
    return PMPI_Sendrecv(buf, n, type, to, tag, in, nin, in_type, from, in_tag, comm,
                         status);
}

/* --- measuring --- */

static double now_epoch(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A barrier in which waiting ranks leave the cores alone, and that all leave together.
 */
static void quiet_barrier(void)
{
    MPI_Request req;
    int done = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &req);
    while (MPI_Test(&req, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done)
        usleep(500);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void note(struct bench *b, int phase, double seconds)
{
    double longest;
    MPI_Allreduce(&seconds, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (b->count[phase] < MAX_REPEATS)
        b->seconds[phase][b->count[phase]++] = longest;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double *values, int n)
{
    double sorted[MAX_COPIES];
    if (n == 0)
        return 0;
    memcpy(sorted, values, (size_t)n * sizeof *values);
    qsort(sorted, (size_t)n, sizeof *sorted, ascending);
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/* One core copies n times between buffers larger than its caches, while the other ranks
 * sleep. Time and again, as the memory of a virtual machine is faster at one moment
 * than at the next. */
static void time_copies(struct bench *b, int n)
{
    quiet_barrier();
    for (int i = 0; b->rank == 0 && i < n && b->ncopies < MAX_COPIES; i++) {
        double start = MPI_Wtime();
        memcpy(b->copy_to, b->copy_from, COPY_BYTES);
        b->copies[b->ncopies++] = MPI_Wtime() - start;
        b->copy_from[(size_t)i] = b->copy_to[COPY_BYTES - 1 - i];
    }
    quiet_barrier();
}

static void prepare_copies(struct bench *b)
{
    if (b->rank != 0)
        return;
    b->copy_from = malloc(COPY_BYTES);
    b->copy_to = malloc(COPY_BYTES);
    if (b->copy_from == NULL || b->copy_to == NULL)
        die("memory");
    memset(b->copy_from, 1, COPY_BYTES);
    memset(b->copy_to, 2, COPY_BYTES);
}

/* A value in KiB from /proc/self/status; 0: not there. */
static long status_kib(const char *key)
{
    char line[256];
    long kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, key, strlen(key)) == 0 && line[strlen(key)] == ':')
            kib = strtol(line + strlen(key) + 1, NULL, 10);
    if (f != NULL)
        fclose(f);
    return kib;
}

/* From now on VmHWM is the peak since now, where the kernel can do that. */
static void reset_peak(void)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY);
    if (fd < 0)
        return;
    ssize_t n = write(fd, "5", 1);
    (void)n;
    close(fd);
}

/* --- the application --- */

static size_t file_size(const struct bench *b, int file)
{
    size_t each = b->size / (size_t)b->files;
    return file == b->files - 1 ? b->size - each * (size_t)(b->files - 1) : each;
}

static void file_name(const struct bench *b, const char *dataset, int file, char *name)
{
    snprintf(name, SCR_MAX_FILENAME, "%.500s/rank_%d.%d", dataset, b->rank, file);
}

/* No two words of a run's data are alike, so that nothing can be mistaken; with --even
 * they are numbers of few digits, two bytes of eight. */
static void fill(struct bench *b, int step)
{
    uint64_t x = (uint64_t)b->rank * 1000003 + (uint64_t)step * 7919 + 1;
    for (size_t i = 0; i < b->size; i += sizeof x) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        uint64_t word = b->even ? x >> 48 : x;
        memcpy(b->data + i, &word, b->size - i < sizeof x ? b->size - i : sizeof x);
    }
}

static int open_file(const char *path, int flags)
{
    int fd = open(path, flags, 0600);
    if (fd < 0)
        die(path);
    return fd;
}

static void write_bytes(int fd, const char *path, const unsigned char *data,
                        size_t size)
{
    for (size_t at = 0; at < size;) {
        ssize_t n = write(fd, data + at, size - at);
        if (n < 0)
            die(path);
        at += (size_t)n;
    }
}

static void write_file(const char *path, const unsigned char *data, size_t size)
{
    int fd = open_file(path, O_WRONLY | O_CREAT | O_TRUNC);
    write_bytes(fd, path, data, size);
    if (close(fd) != 0)
        die(path);
}

static void compare_file(const char *path, const unsigned char *data, size_t size)
{
    static unsigned char part[1 << 16];
    int fd = open_file(path, O_RDONLY);
    for (size_t at = 0; at < size;) {
        ssize_t n = read(fd, part, sizeof part);
        errno = 0;
        if (n <= 0 || memcmp(part, data + at, (size_t)n) != 0)
            die("a restarted file differs from what was written");
        at += (size_t)n;
    }
    close(fd);
}

static const unsigned char *file_data(const struct bench *b, int file)
{
    return b->data + (size_t)file * (b->size / (size_t)b->files);
}

/* All ranks at once, right after the checkpoint. */
static void reread(struct bench *b, const char *path)
{
    static unsigned char part[REREAD_BYTES];
    quiet_barrier();
    double start = MPI_Wtime();
    int fd = open_file(path, O_RDONLY);
    ssize_t n;
    do
        n = read(fd, part, sizeof part);
    while (n > 0);
    if (n < 0 || close(fd) != 0)
        die(path);
    note(b, REREAD, MPI_Wtime() - start);
}

static void checkpoint(struct bench *b, int step)
{
    char dataset[64], name[SCR_MAX_FILENAME], path[SCR_MAX_FILENAME];
    double route = 0, written = 0, t[3];
    snprintf(dataset, sizeof dataset, "ckpt.%d", step);
    fill(b, step);
    time_copies(b, COPIES);

    uint64_t before = bytes_sent;
    t[0] = MPI_Wtime();
    require(SCR_Start_output(dataset, SCR_FLAG_CHECKPOINT), "SCR_Start_output");
    double start = MPI_Wtime() - t[0];
    for (int f = 0; f < b->files; f++) {
        t[0] = MPI_Wtime();
        file_name(b, dataset, f, name);
        require(SCR_Route_file(name, path), "SCR_Route_file");
        t[1] = MPI_Wtime();
        b->names += step == 1 ? strlen(name) + strlen(path) + 2 : 0;
        write_file(path, file_data(b, f), file_size(b, f));
        t[2] = MPI_Wtime();
        route += t[1] - t[0];
        written += t[2] - t[1];
    }
    quiet_barrier();
    t[0] = MPI_Wtime();
    require(SCR_Complete_output(1), "SCR_Complete_output");
    double complete = MPI_Wtime() - t[0];
    b->returned = now_epoch();

    b->sent = bytes_sent - before;
    if (step == 1 && b->repeats > 1)
        return;
    note(b, START, start);
    note(b, ROUTE, route);
    note(b, WRITE, written);
    note(b, COMPLETE, complete);
    if (b->files == 1)
        reread(b, path);
}

static int is_lost(const struct bench *b)
{
    for (const char *at = b->lost; at != NULL && *at != '\0';) {
        char *end;
        if (strtol(at, &end, 10) == b->rank)
            return 1;
        at = *end == ',' ? end + 1 : NULL;
    }
    return 0;
}

static const char *cache_base(void)
{
    const char *dir = getenv("SCR_CACHE_BASE");
    return dir != NULL ? dir : "/tmp";
}

/* What a program without a library would need for new files of the same bytes, of the
 * ranks that write, all at once: data, and parity where that is wanted. */
static double plain_write(const struct bench *b, int writes, size_t parity_size)
{
    char file[SCR_MAX_FILENAME], parity[SCR_MAX_FILENAME + 8];
    double times[5], longest;
    snprintf(file, sizeof file, "%s/plain.%d", cache_base(), b->rank);
    snprintf(parity, sizeof parity, "%s.parity", file);
    for (int i = 0; i < 5; i++) {
        quiet_barrier();
        double start = MPI_Wtime();
        if (writes) {
            write_file(file, b->data, b->size);
            write_file(parity, b->data, parity_size);
        }
        double took = MPI_Wtime() - start;
        unlink(file);
        unlink(parity);
        MPI_Allreduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        times[i] = longest;
    }
    return median(times, 5);
}

static void restart(struct bench *b)
{
    char dataset[SCR_MAX_FILENAME], name[SCR_MAX_FILENAME], path[SCR_MAX_FILENAME];
    int have = 0, step = 0;
    double route = 0, read = 0, t[3];
    require(SCR_Have_restart(&have, dataset), "SCR_Have_restart");
    errno = 0;
    if (!have || sscanf(dataset, "ckpt.%d", &step) != 1)
        die("no checkpoint to restart from");
    fill(b, step);
    require(SCR_Start_restart(dataset), "SCR_Start_restart");
    for (int f = 0; f < b->files; f++) {
        file_name(b, dataset, f, name);
        t[0] = MPI_Wtime();
        require(SCR_Route_file(name, path), "SCR_Route_file");
        t[1] = MPI_Wtime();
        b->names += strlen(name) + strlen(path) + 2;
        compare_file(path, file_data(b, f), file_size(b, f));
        t[2] = MPI_Wtime();
        route += t[1] - t[0];
        read += t[2] - t[1];
    }
    require(SCR_Complete_restart(1), "SCR_Complete_restart");
    note(b, REROUTE, route);
    note(b, READ, read);
}

/* --- without a library --- */

enum plain { OWN, COPY, PLAINS };

static void plain_path(const struct bench *b, enum plain what, int step, int file,
                       char *path)
{
    snprintf(path, SCR_MAX_FILENAME, "%s/plain.%d.%s.%d.%d", cache_base(), b->rank,
             what == OWN ? "own" : "copy", step, file);
}

/* Sends a file to the next rank, and writes the one that the rank before sends. */
static void copy_to_partner(const struct bench *b, int step, int file)
{
    static unsigned char mine[PIECE_BYTES], theirs[PIECE_BYTES];
    char from[SCR_MAX_FILENAME], to[SCR_MAX_FILENAME];
    size_t size = file_size(b, file);
    plain_path(b, OWN, step, file, from);
    plain_path(b, COPY, step, file, to);
    int in = open_file(from, O_RDONLY);
    int out = open_file(to, O_WRONLY | O_CREAT | O_TRUNC);
    for (size_t at = 0; at < size; at += PIECE_BYTES) {
        size_t n = size - at < PIECE_BYTES ? size - at : PIECE_BYTES;
        for (size_t have = 0; have < n;) {
            ssize_t got = read(in, mine + have, n - have);
            if (got <= 0)
                die(from);
            have += (size_t)got;
        }
        MPI_Sendrecv(mine, (int)n, MPI_BYTE, (b->rank + 1) % b->ranks, 0, theirs,
                     (int)n, MPI_BYTE, (b->rank + b->ranks - 1) % b->ranks, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        write_bytes(out, to, theirs, n);
    }
    close(in);
    if (close(out) != 0)
        die(to);
}

static void remove_plain(const struct bench *b, int step)
{
    char path[SCR_MAX_FILENAME];
    for (int f = 0; f < b->files; f++)
        for (enum plain what = OWN; what < PLAINS; what++) {
            plain_path(b, what, step, f, path);
            unlink(path);
        }
}

/* The previous one is kept until every rank has the next. */
static void plain_checkpoint(struct bench *b, int step)
{
    char path[SCR_MAX_FILENAME];
    fill(b, step);
    time_copies(b, COPIES);

    uint64_t before = bytes_sent;
    double t = MPI_Wtime();
    for (int f = 0; f < b->files; f++) {
        plain_path(b, OWN, step, f, path);
        write_file(path, file_data(b, f), file_size(b, f));
    }
    double written = MPI_Wtime() - t;
    quiet_barrier();
    t = MPI_Wtime();
    for (int f = 0; f < b->files; f++)
        copy_to_partner(b, step, f);
    MPI_Barrier(MPI_COMM_WORLD);
    if (step > 1)
        remove_plain(b, step - 1);
    double complete = MPI_Wtime() - t;
    b->returned = now_epoch();

    b->sent = bytes_sent - before;
    if (step == 1 && b->repeats > 1)
        return;
    note(b, WRITE, written);
    note(b, COMPLETE, complete);
}

static void run_plain(struct bench *b)
{
    for (int step = 1; step <= b->repeats; step++)
        plain_checkpoint(b, step);
    remove_plain(b, b->repeats);
}

/* --- the report --- */

static void report(struct bench *b)
{
    uint64_t sent;
    double returned;
    long mine[2] = { status_kib("VmHWM"), 0 }, most[2];
    mine[1] = mine[0] - b->own_kib;
    MPI_Reduce(&b->sent, &sent, 1, MPI_UINT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&b->returned, &returned, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(mine, most, 2, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    if (b->rank != 0)
        return;
    printf("{\"ranks\": %d, \"size\": %zu, \"files\": %d, \"memcpy\": %.0f", b->ranks,
           b->size, b->files, COPY_BYTES / median(b->copies, b->ncopies));
    for (int p = 0; p < PHASES; p++)
        if (b->count[p] > 0)
            printf(", \"%s\": %.6f", phase_names[p],
                   median(b->seconds[p], b->count[p]));
    printf(", \"sent\": %llu", (unsigned long long)sent);
    if (b->restart)
        printf(", \"write_all\": %.6f, \"write_lost\": %.6f", b->write_all,
               b->write_lost);
    else
        printf(", \"returned\": %.6f", returned);
    printf(", \"names\": %zu, \"peak_rss_kib\": %ld, \"library_kib\": %ld}\n", b->names,
           most[0], most[1]);
}

/* All ranks have the same options, and rank 0 says what is wrong with them. */
__attribute__((format(printf, 2, 3))) static _Noreturn void
refuse(const struct bench *b, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (b->rank == 0)
        vfprintf(stderr, fmt, args);
    va_end(args);
    MPI_Finalize();
    exit(2);
}

static void usage(const struct bench *b)
{
    refuse(b, "usage: ckpt [--size BYTES] [--files N] [--repeats N] [--leave]\n"
              "       ckpt --restart [--size BYTES] [--files N] [--lost R,R,...]\n"
              "                      [--parity BYTES]\n"
              "       ckpt --plain [--size BYTES] [--files N] [--repeats N]\n"
              "       with --even: data that compresses well\n");
}

static size_t parse_size(const struct bench *b, const char *option, size_t least,
                         size_t most)
{
    char *end;
    unsigned long long n = strtoull(optarg, &end, 10);
    const char *units = "KMG", *unit = *end != '\0' ? strchr(units, *end) : NULL;
    int shift = unit != NULL ? 10 * (int)(unit - units + 1) : 0;
    if (end == optarg || (*end != '\0' && (unit == NULL || end[1] != '\0')) ||
        n > most >> shift || n << shift < least)
        refuse(b, "ckpt: --%s %s: must be a number from %zu to %zu%s\n", option, optarg,
               least, most, least == 0 ? ", may end in K, M or G" : "");
    return (size_t)n << shift;
}

static void check_lost(const struct bench *b)
{
    for (const char *at = b->lost; at != NULL && *at != '\0';) {
        char *end;
        long rank = strtol(at, &end, 10);
        if (end == at || (*end != ',' && *end != '\0') || rank < 0 || rank >= b->ranks)
            refuse(b, "ckpt: --lost %s: must be ranks from 0 to %d, as 0,2\n", b->lost,
                   b->ranks - 1);
        at = *end == ',' ? end + 1 : NULL;
    }
}

static void parse(struct bench *b, int argc, char **argv)
{
    static const size_t most = SIZE_MAX / 4;
    const struct option options[] = {
        { "size", 1, NULL, 's' },         { "files", 1, NULL, 'f' },
        { "repeats", 1, NULL, 'r' },      { "lost", 1, NULL, 'l' },
        { "parity", 1, NULL, 'p' },       { "leave", 0, &b->leave, 1 },
        { "restart", 0, &b->restart, 1 }, { "even", 0, &b->even, 1 },
        { "plain", 0, &b->plain, 1 },     { NULL, 0, NULL, 0 }
    };
    int c;
    opterr = b->rank == 0;
    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (c) {
        case 0: /* one that is set */
            break;
        case 's':
            b->size = parse_size(b, "size", 0, most);
            break;
        case 'f':
            b->files = (int)parse_size(b, "files", 1, INT_MAX);
            break;
        case 'r':
            b->repeats = (int)parse_size(b, "repeats", 1, MAX_REPEATS);
            break;
        case 'p':
            b->parity = parse_size(b, "parity", 0, most);
            break;
        case 'l':
            b->lost = optarg;
            break;
        default:
            usage(b);
        }
    }
    if (optind < argc)
        refuse(b, "ckpt: unexpected argument \"%s\"\n", argv[optind]);
    if (b->plain && b->restart)
        refuse(b, "ckpt: --plain and --restart exclude each other\n");
    if (b->parity > b->size)
        refuse(b, "ckpt: --parity %zu: must be at most --size, %zu\n", b->parity,
               b->size);
    check_lost(b);
}

static void run_library(struct bench *b)
{
    quiet_barrier();
    double t = MPI_Wtime();
    uint64_t before = bytes_sent;
    require(SCR_Init(), "SCR_Init");
    b->sent = bytes_sent - before;
    note(b, INIT, MPI_Wtime() - t);
    if (b->restart) {
        time_copies(b, COPIES);
        restart(b);
        b->write_all = plain_write(b, 1, 0);
        b->write_lost = plain_write(b, is_lost(b), b->parity);
    }
    for (int step = 1; !b->restart && step <= b->repeats; step++)
        checkpoint(b, step);

    if (!b->leave) {
        quiet_barrier();
        t = MPI_Wtime();
        require(SCR_Finalize(), "SCR_Finalize");
        note(b, FINALIZE, MPI_Wtime() - t);
    }
}

int main(int argc, char **argv)
{
    static struct bench b = { .size = 64 << 20, .files = 1, .repeats = 6 };
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &b.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &b.ranks);
    parse(&b, argc, argv);
    b.data = malloc(b.size + 1);
    if (b.data == NULL)
        die("memory");
    fill(&b, 0);
    prepare_copies(&b);
    if (b.restart)
        time_copies(&b, COPIES);
    reset_peak();
    b.own_kib = status_kib("VmRSS");

    if (b.plain)
        run_plain(&b);
    else
        run_library(&b);
    report(&b);
    free(b.data);
    free(b.copy_from);
    free(b.copy_to);
    MPI_Finalize();
    return 0;
}
