/* SPDX-License-Identifier: BSD-3-Clause */
/* One run of a program, as random_runs.py plans it:
 *
 *     random_run JOURNAL CASE SERIAL STYLE EVENT…
 *
 * CASE, and a number counted on from SERIAL, are in every byte it writes. STYLE:
 * letters c: one name for all checkpoints, else a name a step; h: rank 0 writes a
 * header that all read. Events are done in turn:
 *
 *     init  restart  ckpt  output  invalid  finalize      the calls; invalid: of rank 0
 *     stuck                           output; its directory refuses what is copied
 *     delete=N  drop=N  current=N     the name of N steps before
 *     die alone full readonly heal    mishaps (mishap.h)
 *
 * The journal gets a line of rank 0 for each call that ended, with what every rank has
 * read: bytes, compared with what the run named in them had to write. id: the dataset's
 * number, once a file in cache is named. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mishap.h"
#include "scr.h"
#include "strike.h"
#include "written.h"

enum { FILES = 2, HEADER = FILES, MOST_BYTES = 100000, NAME = 64, PATH = 128 };

/* At the beginning of every file: what its bytes are a function of. */
struct stamp {
    int32_t run_case, serial, step, ranks; /* the same in all files of a checkpoint */
    int32_t rank, file, bytes;
};

static int rank, size;
static const char *journal, *style;
static struct stamp now; /* of what is written next */

__attribute__((format(printf, 1, 2))) static void note(const char *fmt, ...)
{
    char line[SCR_MAX_FILENAME + 100];
    va_list ap;
    if (rank != 0)
        return;
    va_start(ap, fmt);
    int n = vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    int fd = open(journal, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd < 0 || write(fd, line, (size_t)n) != n || close(fd) != 0)
        MPI_Abort(MPI_COMM_WORLD, 4);
}

static int has_style(char letter)
{
    return strchr(style, letter) != NULL;
}

static int is_same_all(int value)
{
    int range[2] = { value, -value };
    MPI_Allreduce(MPI_IN_PLACE, range, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return range[0] == -range[1];
}

static int and_all(int ok)
{
    MPI_Allreduce(MPI_IN_PLACE, &ok, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return ok;
}

/* --- files --- */

static void dataset_name(char *name, int step, int flags)
{
    if (flags == SCR_FLAG_OUTPUT)
        snprintf(name, NAME, "out.%d", step);
    else if (has_style('c'))
        snprintf(name, NAME, "state");
    else
        snprintf(name, NAME, "step.%d", step);
}

static void file_name(char *path, const char *set, int file, int of)
{
    if (file == HEADER)
        snprintf(path, PATH, "%s/header", set);
    else
        snprintf(path, PATH, "%s/file%d.%d", set, file, of);
}

static uint32_t mix(const struct stamp *s)
{
    const int32_t parts[] = { s->run_case, s->serial, s->step,
                              s->ranks,    s->rank,   s->file };
    return written_mix(parts, sizeof parts / sizeof *parts);
}

/* Mostly small: what counts is that there are files. */
static int32_t bytes_of(const struct stamp *s)
{
    uint32_t x = mix(s) >> 8;
    return (int32_t)(sizeof *s + (x % 16 == 0 ? 70000 + x % 100 : x % 5000));
}

static void fill(const struct stamp *s, unsigned char *data)
{
    uint32_t x = mix(s);
    memcpy(data, s, sizeof *s);
    for (size_t i = sizeof *s; i < (size_t)s->bytes; i++)
        data[i] = (unsigned char)((x + i / 8 * 2654435761u) >> 13);
}

/* open and write: those of mishap.c, which the stream functions do not call. */
static int write_file(const char *path, int file)
{
    static unsigned char data[MOST_BYTES];
    struct stamp s = now;
    s.rank = file == HEADER ? 0 : rank;
    s.file = file;
    s.bytes = bytes_of(&s);
    fill(&s, data);
    int fd = openat(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int ok = fd >= 0 && write(fd, data, (size_t)s.bytes) == s.bytes;
    return fd >= 0 && close(fd) == 0 && ok;
}

/* 1 if it is what the stamp in it says, of that rank. */
static int read_file(const char *path, int file, int of, struct stamp *s)
{
    static unsigned char data[MOST_BYTES], want[MOST_BYTES];
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        return 0;
    size_t n = fread(data, 1, sizeof data, f);
    fclose(f);
    if (n < sizeof *s)
        return 0;
    memcpy(s, data, sizeof *s);
    if (s->bytes != bytes_of(s) || n != (size_t)s->bytes || s->file != file ||
        s->rank != of)
        return 0;
    fill(s, want);
    return memcmp(data, want, n) == 0;
}

/* --- restart --- */

static int read_one(const char *set, int file, int of, struct stamp *first)
{
    char name[PATH], path[SCR_MAX_FILENAME] = "";
    struct stamp s = { 0 };
    file_name(name, set, file, of);
    int ok = SCR_Route_file(name, path) == SCR_SUCCESS && read_file(path, file, of, &s);
    if (ok && first->ranks == 0)
        *first = s;
    ok = ok && s.run_case == first->run_case && s.serial == first->serial &&
         s.step == first->step && s.ranks == first->ranks;
    if (!ok)
        fprintf(stderr, "random_run: rank %d: wrong: %s (%s): run %d step %d\n", rank,
                name, path, s.serial, s.step);
    return ok;
}

/* Every file of every rank that wrote it is read by some rank; rank 0 has one to read.
 */
static int read_all(const char *set, struct stamp *first)
{
    int ranks = 0, ok = SCR_Restart_ranks(&ranks) == SCR_SUCCESS;
    for (int of = rank; of < ranks; of += size)
        for (int i = 0; i < FILES; i++)
            ok = read_one(set, i, of, first) && ok;
    if (has_style('h'))
        ok = read_one(set, HEADER, 0, first) && ok;
    return ok && (first->ranks == ranks || first->ranks == 0);
}

static int is_one_checkpoint_all(const struct stamp *s)
{
    struct stamp first = *s;
    MPI_Bcast(&first, sizeof first, MPI_BYTE, 0, MPI_COMM_WORLD);
    int idle = s->bytes == 0; /* this rank had nothing to read */
    return and_all(idle ||
                   (s->run_case == first.run_case && s->serial == first.serial &&
                    s->step == first.step && s->ranks == first.ranks));
}

static void restart(void)
{
    char set[SCR_MAX_FILENAME];
    int have = 0;
    while (SCR_Have_restart(&have, set) == SCR_SUCCESS && have) {
        struct stamp s = { 0 };
        SCR_Start_restart(set);
        int ok = and_all(read_all(set, &s));
        ok = is_one_checkpoint_all(&s) && ok;
        note("%s %s %d %d %d %d\n", ok ? "offer" : "bad", set, s.run_case, s.serial,
             s.step, s.ranks);
        if (SCR_Complete_restart(ok) == SCR_SUCCESS) {
            MPI_Bcast(&s, sizeof s, MPI_BYTE, 0, MPI_COMM_WORLD);
            now.step = s.step;
            note("from %d\n", now.step);
            return;
        }
    }
    note("none\n");
}

/* --- output --- */

static int write_files(const char *set, int *id)
{
    char name[PATH], path[SCR_MAX_FILENAME];
    int ok = 1;
    for (int i = 0; i < FILES + (has_style('h') && rank == 0); i++) {
        file_name(name, set, i, rank);
        ok = SCR_Route_file(name, path) == SCR_SUCCESS && write_file(path, i) && ok;
        *id = written_id(path);
        if (i == 0 && *id > 0)
            note("id %d\n", *id);
    }
    return ok;
}

static void output(int flags, int valid)
{
    char set[NAME];
    int id = 0;
    now.step++;
    now.serial++;
    dataset_name(set, now.step, flags);
    note("begin %s %d %d\n", set, now.serial, now.step);
    int rc = SCR_Start_output(set, flags);
    note("start %d\n", rc);
    int ok = rc == SCR_SUCCESS && write_files(set, &id) && (valid || rank > 0);
    int written = and_all(ok);
    rc = SCR_Complete_output(ok);
    note("%s %d %d %d\n", is_same_all(rc) ? "complete" : "differ", rc, written,
         id > 0 ? id : written_newest());
}

/* Output that cannot get to the prefix directory, from here to the end of the run. */
static void stuck_output(void)
{
    char set[NAME], dir[PATH_MAX];
    dataset_name(set, now.step + 1, SCR_FLAG_OUTPUT);
    snprintf(dir, sizeof dir, "%s/%s", getenv("SCR_PREFIX"), set);
    strike_refuse(dir, ENOSPC);
    output(SCR_FLAG_OUTPUT, 1);
}

static void manage(const char *what, int (*call)(const char *), int back)
{
    char set[NAME];
    dataset_name(set, now.step - back, SCR_FLAG_CHECKPOINT);
    note("try %s %s\n", what, set);
    int rc = call(set);
    note("%s %d\n", is_same_all(rc) ? "tried" : "differ", rc);
}

/* --- events --- */

/* Without SCR a program would write over what is in the prefix directory: this one ends
 * when SCR_Init fails. */
static void init(void)
{
    int rc = SCR_Init();
    note("%s %d\n", is_same_all(rc) ? "init" : "differ", rc);
    if (rc == SCR_SUCCESS)
        return;
    MPI_Finalize();
    exit(0);
}

static void finalize(void)
{
    note("try finalize -\n");
    int rc = SCR_Finalize();
    note("%s %d\n", is_same_all(rc) ? "tried" : "differ", rc);
}

static int do_management(const char *what, int n)
{
    if (strcmp(what, "delete") == 0)
        manage(what, SCR_Delete, n);
    else if (strcmp(what, "drop") == 0)
        manage(what, SCR_Drop, n);
    else if (strcmp(what, "current") == 0)
        manage(what, SCR_Current, n);
    else
        return 0;
    return 1;
}

static int do_event(char *event)
{
    char *arg = event;
    const char *what = strsep(&arg, "=");
    if (mishap_step(what, arg))
        return 1;
    if (arg != NULL)
        return do_management(what, (int)strtol(arg, NULL, 10));
    if (strcmp(what, "init") == 0)
        init();
    else if (strcmp(what, "restart") == 0)
        restart();
    else if (strcmp(what, "ckpt") == 0)
        output(SCR_FLAG_CHECKPOINT, 1);
    else if (strcmp(what, "invalid") == 0)
        output(SCR_FLAG_CHECKPOINT, 0);
    else if (strcmp(what, "output") == 0)
        output(SCR_FLAG_OUTPUT, 1);
    else if (strcmp(what, "stuck") == 0)
        stuck_output();
    else if (strcmp(what, "finalize") == 0)
        finalize();
    else
        return 0;
    return 1;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 5)
        MPI_Abort(MPI_COMM_WORLD, 2);
    journal = argv[1];
    mishap_job(journal);
    now.run_case = (int32_t)strtol(argv[2], NULL, 10);
    now.serial = (int32_t)strtol(argv[3], NULL, 10);
    now.ranks = size;
    style = argv[4];
    for (int i = 5; i < argc; i++)
        if (!do_event(argv[i]))
            MPI_Abort(MPI_COMM_WORLD, 2);
    strike_spare();
    MPI_Finalize();
    return 0;
}
