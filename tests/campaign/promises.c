/* SPDX-License-Identifier: BSD-3-Clause */
/* One run of a program that promises.py plans:
 *
 *     promises RANKS DIRECTORY SCRIPT LEDGER SEED SERIAL STYLE …
 *
 * All ranks, or, where these words come again, an ensemble: the next RANKS ranks with
 * their own communicator. They work in DIRECTORY.
 * SCRIPT has a line a step, the same for all ranks. Each rank appends a line to
 * LEDGER.<rank> after each call, synced: what the call returned, and at a restart what
 * was offered and read. SEED, and a number counted on from SERIAL, are in every byte
 * that is written. STYLE: u, s or c: a name for each dataset, for each step, or one for
 * all; f: one directory for all files, whatever the name of the dataset.
 *
 *     config=NAME=VALUE                          a setting of the program
 *     init  finalize  restart  refuse=RANK       the calls; RANK finds its data wrong
 *     ckpt=SHAPE  output=SHAPE  both=SHAPE       a dataset of that shape (below)
 *     invalid=RANK  broken=SHAPE                 RANK passes 0; no rank completes it
 *     delete=N  drop=N  current=N                the name of N datasets before
 *     need  exit                                 SCR_Need_checkpoint, SCR_Should_exit
 *     run=COMMAND  bg=COMMAND  wait              of rank 0; bg: runs beside until wait
 *     die  alone  strike  full  readonly  heal   mishaps (mishap.h) */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../crash/mishap.h"
#include "../crash/strike.h"
#include "../crash/written.h"
#include "promises.h"
#include "scr.h"

extern char **environ;

/* What files a rank writes. */
enum { PLAIN, LARGE, MANY, EMPTY, SOME, DEEP, SHARED, HEADER, SHAPES };
enum { NAME = 64, PATH = 160, MOST = 1 << 18, PERIOD = 509, BLOCK = 1000, NAMES = 256 };
enum { SETTINGS = 200 };

/* At the beginning of the first file of a rank: what all its bytes depend on. */
struct stamp {
    int32_t seed, serial, step, ranks, rank, file, shape, bytes;
};

static MPI_Comm world; /* of the ranks of this script */
static int rank, size, nnames;
static const char *ledger, *style;
static struct stamp now; /* of what is written next */
static char names[NAMES][NAME];
static char *settings[SETTINGS]; /* of this program, also for commands it starts */
static int nsettings;
static pid_t beside;
static unsigned char data[MOST], want[MOST];

/* --- ledger --- */

__attribute__((format(printf, 1, 2))) static void note(const char *fmt, ...)
{
    char line[SCR_MAX_FILENAME + 100], path[PATH_MAX];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    snprintf(path, sizeof path, "%s.%d", ledger, rank);
    long fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd < 0 || syscall(SYS_write, fd, line, (size_t)n) != n ||
        syscall(SYS_fsync, fd) != 0 || syscall(SYS_close, fd) != 0)
        MPI_Abort(MPI_COMM_WORLD, 4);
}

static int least_all(int n)
{
    int all = 0;
    MPI_Allreduce(&n, &all, 1, MPI_INT, MPI_MIN, world);
    return all;
}

/* --- files --- */

static int files_of(int shape, int of)
{
    static const int n[SHAPES] = { 2, 1, 40, 3, 2, 3, 1, 1 };
    return shape == SOME && of % 2 == 1 ? 0 : n[shape] + (shape == HEADER && of == 0);
}

static uint32_t mix(const struct stamp *s)
{
    const int32_t parts[] = { s->seed, s->serial, s->step, s->ranks,
                              s->rank, s->file,   s->shape };
    return written_mix(parts, sizeof parts / sizeof *parts);
}

static int32_t bytes_of(const struct stamp *s)
{
    uint32_t x = mix(s) >> 8;
    int32_t head = s->file == 0 ? (int32_t)sizeof *s : 0;
    switch (s->shape) {
    case LARGE:
        return head + (int32_t)(100000 + x % 100000);
    case MANY:
        return head + (int32_t)(x % 64);
    case EMPTY:
        return s->file == 1 ? 0 : head;
    case SHARED:
        return BLOCK * s->ranks;
    default:
        return head + (int32_t)(x % 5000);
    }
}

static void fill_part(const struct stamp *s, unsigned char *to, int32_t n)
{
    uint32_t x = mix(s);
    for (int32_t i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        to[i] = i < PERIOD ? (unsigned char)(x >> 24) : to[i - PERIOD];
    }
    if (s->file == 0 && n >= (int32_t)sizeof *s)
        memcpy(to, s, sizeof *s);
}

/* Of a file that all write, each rank has a block. */
static void fill(struct stamp s, unsigned char *to)
{
    s.bytes = bytes_of(&s);
    if (s.shape != SHARED)
        fill_part(&s, to, s.bytes);
    for (int r = 0; s.shape == SHARED && r < s.ranks; r++) {
        s.rank = r;
        fill_part(&s, to + BLOCK * r, BLOCK);
    }
}

static void file_name(char *path, const char *set, const struct stamp *s)
{
    const char *dir = strchr(style, 'f') != NULL ? "files" : set;
    if (s->shape == SHARED)
        snprintf(path, PATH, "%s/shared", dir);
    else if (s->shape == HEADER && s->file == 1)
        snprintf(path, PATH, "%s/header", dir);
    else if (s->shape == DEEP)
        snprintf(path, PATH, "%s/d%d/deep/f%d.%d", dir, s->file, s->file, s->rank);
    else
        snprintf(path, PATH, "%s/f%d.%d", dir, s->file, s->rank);
}

static int write_part(const char *path, int n, int at, int part)
{
    int fd =
        openat(AT_FDCWD, path, O_WRONLY | O_CREAT | (part == n ? O_TRUNC : 0), 0600);
    int ok = fd >= 0 && ftruncate(fd, n) == 0 &&
             pwrite(fd, data + at, (size_t)part, at) == part;
    return fd >= 0 && close(fd) == 0 && ok;
}

/* Once more: a call of the program may be the one that is to be interrupted. */
static int write_file(const char *path, const struct stamp *s)
{
    const int32_t n = bytes_of(s), at = s->shape == SHARED ? BLOCK * rank : 0;
    const int32_t part = s->shape == SHARED ? BLOCK : n;
    fill(*s, data);
    if (getenv("TEST_SABOTAGE") != NULL && part > 0)
        data[at + part - 1] ^= 1; /* is what SCR sums up, too */
    return write_part(path, n, at, part) || write_part(path, n, at, part);
}

/* Bytes in data, or -1. */
static ssize_t load(const char *name, char *path)
{
    path[0] = '\0';
    if (SCR_Route_file(name, path) != SCR_SUCCESS)
        return -1;
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        return -1;
    size_t n = fread(data, 1, sizeof data, f);
    fclose(f);
    return (ssize_t)n;
}

/* --- restart --- */

/* What was read: wrong bytes are worse than none. */
enum { RIGHT, MISSING, WRONG };

static int read_file(const char *set, const struct stamp *s)
{
    char name[PATH], path[SCR_MAX_FILENAME];
    file_name(name, set, s);
    ssize_t n = load(name, path);
    fill(*s, want);
    if (n == bytes_of(s) && memcmp(data, want, (size_t)n) == 0)
        return RIGHT;
    fprintf(stderr, "promises: rank %d: wrong: %s (%s): %zd bytes, not %d, serial %d\n",
            rank, name, path, n, bytes_of(s), s->serial);
    return n < 0 ? MISSING : WRONG;
}

/* The stamp of a rank's first file; 1 if there is one. */
static int read_stamp(const char *set, int of, struct stamp *s)
{
    static const int shapes[] = { PLAIN, DEEP, SHARED };
    char name[PATH], path[SCR_MAX_FILENAME];
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct stamp ask = { .shape = shapes[i], .rank = of };
        file_name(name, set, &ask);
        if (load(name, path) >= (ssize_t)sizeof *s) {
            memcpy(s, data, sizeof *s);
            return s->shape >= 0 && s->shape < SHAPES && s->ranks > 0 &&
                   s->ranks <= MISHAP_MOST;
        }
    }
    return 0;
}

/* Files of every rank that wrote it, by some rank; of all ranks the stamp is that of
 * rank 0 but for the rank. */
static int read_all(const char *set, struct stamp *first)
{
    int ranks = 0, worst = SCR_Restart_ranks(&ranks) == SCR_SUCCESS ? RIGHT : WRONG;
    int has = rank == 0 && read_stamp(set, 0, first);
    MPI_Bcast(&has, 1, MPI_INT, 0, world);
    MPI_Bcast(first, sizeof *first, MPI_BYTE, 0, world);
    if (!has || ranks != first->ranks)
        return has ? WRONG : MISSING;
    for (int of = rank; of < ranks; of += size)
        for (int i = 0; i < files_of(first->shape, of); i++) {
            struct stamp s = *first;
            s.rank = of;
            s.file = i;
            int got = read_file(set, &s);
            worst = got > worst ? got : worst;
        }
    return worst;
}

/* refuse: the rank that finds wrong what it read, -1: none. */
static int restart_from(char *set, int refuse)
{
    struct stamp s = { 0 };
    static const char *const said[] = { "offer", "missing", "bad" };
    SCR_Start_restart(set);
    int mine = read_all(set, &s), worst = -least_all(-mine);
    note("%s %s %d %d %d\n", said[worst], set, s.seed, s.serial, s.ranks);
    if (refuse >= 0)
        note("refuses\n");
    int rc = SCR_Complete_restart(mine == RIGHT && refuse != rank);
    note("%s %d\n", refuse < 0 ? "from" : "refused", rc);
    if (rc == SCR_SUCCESS)
        now.step = s.step;
    return rc == SCR_SUCCESS;
}

static void restart(int refuse)
{
    char set[SCR_MAX_FILENAME];
    int have = 0;
    while (SCR_Have_restart(&have, set) == SCR_SUCCESS && have) {
        if (restart_from(set, refuse))
            return;
        refuse = -1;
    }
    note("none\n");
}

/* --- output --- */

static void note_place(const char *path)
{
    int id = written_id(path);
    note("my id %d %s\n", id > 0 ? id : written_newest(), path);
}

static int write_files(const char *set, int shape)
{
    char name[PATH], path[SCR_MAX_FILENAME];
    int ok = 1, n = files_of(shape, rank);
    for (int i = 0; i < n; i++) {
        struct stamp s = now;
        s.rank = shape == SHARED ? 0 : rank;
        s.file = i;
        s.shape = shape;
        file_name(name, set, &s);
        int rc = SCR_Route_file(name, path);
        if (i == 0 && rank == 0)
            note_place(path);
        if (rc != SCR_SUCCESS || !write_file(path, &s)) {
            fprintf(stderr, "promises: rank %d: cannot write %s: %s\n", rank, path,
                    strerror(errno));
            ok = 0;
        }
    }
    return ok;
}

static void dataset_name(char *set, const char *kind)
{
    if (strchr(style, 'c') != NULL)
        snprintf(set, NAME, "%s", kind);
    else
        snprintf(set, NAME, "%s.%d", kind,
                 strchr(style, 'u') != NULL ? now.serial : now.step);
}

/* invalid: the rank that passes 0, -1: none. is_broken: all ranks leave it open. */
static void output(int flags, int shape, int invalid, int is_broken)
{
    char *set = names[nnames++ % NAMES];
    now.step++;
    now.serial++;
    dataset_name(set, flags == SCR_FLAG_OUTPUT ? "out" : "ckpt");
    note("begin %s %d %d %d %d\n", set, now.serial, flags, shape, invalid);
    int rc = SCR_Start_output(set, flags);
    note("start %d\n", rc);
    int ok = rc == SCR_SUCCESS && write_files(set, shape) && invalid != rank;
    if (is_broken)
        return;
    note("my close %d\n", ok);
    rc = SCR_Complete_output(ok);
    note("complete %d\n", rc);
}

static const char *before(int n)
{
    return n < nnames ? names[(nnames - 1 - n) % NAMES] : "none";
}

static void manage(const char *what, int (*call)(const char *), int n)
{
    note("try %s %s\n", what, before(n));
    note("tried %d\n", call(before(n)));
}

/* --- commands --- */

/* Blanks separate words; @N: the name of N datasets before. */
static pid_t start_command(char *text)
{
    char *words[32], path[PATH_MAX];
    int n = 0;
    pid_t pid = -1;
    for (char *word; n < 31 && (word = strsep(&text, " ")) != NULL; n++)
        words[n] =
            (char *)(word[0] == '@' ? before((int)strtol(word + 1, NULL, 10)) : word);
    words[n] = NULL;
    snprintf(path, sizeof path, "%s", getenv("TEST_SCR"));
    words[0] = path;
    for (int i = 0; i < nsettings; i++)
        putenv(settings[i]);
    if (posix_spawn(&pid, path, NULL, NULL, words, environ) != 0)
        MPI_Abort(MPI_COMM_WORLD, 5);
    for (int i = 0; i < nsettings; i++) {
        char name[NAME];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(settings[i], "="),
                 settings[i]);
        unsetenv(name);
    }
    return pid;
}

static void end_command(pid_t pid)
{
    int status = 0;
    if (rank == 0 && pid > 0)
        waitpid(pid, &status, 0);
    status = WIFEXITED(status) ? WEXITSTATUS(status) : 200;
    MPI_Bcast(&status, 1, MPI_INT, 0, world);
    note("ran %d\n", status);
}

static pid_t run_command(char *text)
{
    char told[PATH_MAX] = "";
    size_t n = 0;
    for (const char *at = text; *at != '\0' && n < sizeof told - NAME; at++)
        if (*at == '@') {
            char *end;
            n += (size_t)snprintf(told + n, sizeof told - n, "%s",
                                  before((int)strtol(at + 1, &end, 10)));
            at = end - 1;
        } else {
            told[n++] = *at;
        }
    note("run %s\n", told);
    return rank == 0 ? start_command(text) : 0;
}

/* --- steps --- */

/* Without SCR a program would write over what is in the prefix directory: this one ends
 * when SCR_Init fails. */
static void init(void)
{
    int rc = world == MPI_COMM_WORLD ? SCR_Init() : SCR_Init_comm(world);
    note("init %d\n", rc);
    if (rc == SCR_SUCCESS)
        return;
    MPI_Finalize();
    exit(0);
}

static void config(char *setting)
{
    SCR_Config_comm(world, setting);
    if (SCR_Last_error(NULL) != SCR_SUCCESS || nsettings == SETTINGS)
        MPI_Abort(MPI_COMM_WORLD, 6);
    settings[nsettings++] = strdup(setting);
}

static void finalize(void)
{
    note("try finalize -\n");
    note("tried %d\n", SCR_Finalize());
}

static void ask(const char *what, int (*call)(int *))
{
    int flag = 0;
    int rc = call(&flag);
    note("%s %d %d\n", what, rc, flag);
}

static int do_data(const char *what, int n)
{
    if (strcmp(what, "ckpt") == 0)
        output(SCR_FLAG_CHECKPOINT, n, -1, 0);
    else if (strcmp(what, "output") == 0)
        output(SCR_FLAG_OUTPUT, n, -1, 0);
    else if (strcmp(what, "both") == 0)
        output(SCR_FLAG_OUTPUT | SCR_FLAG_CHECKPOINT, n, -1, 0);
    else if (strcmp(what, "invalid") == 0)
        output(SCR_FLAG_CHECKPOINT, PLAIN, n, 0);
    else if (strcmp(what, "broken") == 0)
        output(SCR_FLAG_CHECKPOINT, n, -1, 1);
    else if (strcmp(what, "refuse") == 0)
        restart(n);
    else if (strcmp(what, "delete") == 0)
        manage(what, SCR_Delete, n);
    else if (strcmp(what, "drop") == 0)
        manage(what, SCR_Drop, n);
    else if (strcmp(what, "current") == 0)
        manage(what, SCR_Current, n);
    else
        return 0;
    return 1;
}

static int do_plain(const char *what, char *arg)
{
    if (strcmp(what, "config") == 0)
        config(arg);
    else if (strcmp(what, "init") == 0)
        init();
    else if (strcmp(what, "finalize") == 0)
        finalize();
    else if (strcmp(what, "restart") == 0)
        restart(-1);
    else if (strcmp(what, "need") == 0)
        ask(what, SCR_Need_checkpoint);
    else if (strcmp(what, "exit") == 0)
        ask(what, SCR_Should_exit);
    else if (strcmp(what, "wait") == 0)
        end_command(beside);
    else if (strcmp(what, "bg") == 0)
        beside = run_command(arg);
    else if (strcmp(what, "run") == 0)
        end_command(run_command(arg));
    else
        return 0;
    return 1;
}

static void do_script(const char *path)
{
    char line[PATH_MAX];
    FILE *f = fopen(path, "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        char *arg = line, *what = strsep(&arg, "=");
        int n = arg != NULL ? (int)strtol(arg, NULL, 10) : 0;
        if (!do_plain(what, arg) && !do_data(what, n) && !mishap_step(what, arg))
            MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (f == NULL || fclose(f) != 0)
        MPI_Abort(MPI_COMM_WORLD, 3);
}

/* Of an ensemble the member that this rank is in: its words. */
static char **join(int argc, char **argv)
{
    enum { WORDS = 7 };
    int at = 1, end = (int)strtol(argv[1], NULL, 10);
    for (; rank >= end && at + 2 * WORDS <= argc; at += WORDS)
        end += (int)strtol(argv[at + WORDS], NULL, 10);
    if (rank >= end || at + WORDS > argc)
        MPI_Abort(MPI_COMM_WORLD, 2);
    if (argc > 1 + WORDS)
        MPI_Comm_split(MPI_COMM_WORLD, at, 0, &world);
    return argv + at;
}

int promises(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world = MPI_COMM_WORLD, &rank);
    if (argc < 8)
        MPI_Abort(MPI_COMM_WORLD, 2);
    mishap_job(argv[4]);
    argv = join(argc, argv);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    if (chdir(argv[1]) != 0)
        MPI_Abort(MPI_COMM_WORLD, 2);
    ledger = argv[3];
    now.seed = (int32_t)strtol(argv[4], NULL, 10);
    now.serial = (int32_t)strtol(argv[5], NULL, 10);
    now.ranks = size;
    style = argv[6];
    do_script(argv[2]);
    strike_spare();
    MPI_Finalize();
    return 0;
}
