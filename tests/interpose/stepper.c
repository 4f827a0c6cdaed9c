/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that knows nothing of SCR, as many are: it steps through time, writes
 * restart files from time to time, and continues from the newest it is given.
 *
 *   stepper [--files one|each|turns|tmp] [--steps N] [--every K] [--restart STEP]
 *           [--comm dup] [--open] [--exit N] [--hold N] [--read] [--child]
 *           [--block] [--again] [--name STEM] [--newest] [--stay] [--silent]
 *
 * files    one   the first process writes STEM.<step> for all
 *          each  each process writes STEM.<step>.<rank>
 *          turns the same, one after another
 *          tmp   the same, as STEM.<step>.<rank>.new that is renamed
 *          ab    the first process writes STEM.a and STEM.b in turn
 *          late  as each, but the first process some collective calls before the others
 *          same  every process writes STEM.<step>, one after another: the last one wins
 *          mpi   they write parts of STEM.<step> through MPI-IO
 * child    a forked process writes STEM.99.<rank>, an executed one prints LD_PRELOAD
 * block    the name of the last file is a directory when the file is closed
 * again    each file is opened to append when no descriptor is left, which fails, and
 * once more, which must continue at its end open     the last file is not closed newest
 * restarts from the newest file it finds in its directory stay     the first process
 * writes the second half of its first file at the very end silent   no collective calls
 * but the one at the end exit     every process calls exit() at that step, right after
 * its checkpoint hold     the program waits at the begin of that step until it is
 * killed read     each file is read again as soon as it is written, and compared Prints
 * "step <n> sum <s>" for the last step; the sum depends on every step. */
#include <dirent.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CELLS = 5000 };

struct run {
    const char *files, *stem;
    int steps, every, restart, open, exit_at, hold_at, read, child, block, again;
    int silent, stay;
    FILE *stays;
    MPI_Comm comm;
    int rank, size;
    int64_t cell[CELLS], kept[CELLS];
};

static void stop(const char *what, const char *name)
{
    perror(name);
    fprintf(stderr, "stepper: %s %s failed\n", what, name);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static int is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static void name_of(const struct run *r, int step, char *name, size_t n)
{
    if (is(r->files, "one") || is(r->files, "same") || is(r->files, "mpi"))
        snprintf(name, n, "%s.%d", r->stem, step);
    else if (is(r->files, "ab"))
        snprintf(name, n, "%s.%c", r->stem, step / r->every % 2 ? 'a' : 'b');
    else
        snprintf(name, n, "%s.%d.%d", r->stem, step, r->rank);
}

/* --- files --- */

static void finish(const struct run *r)
{
    size_t half = CELLS / 2;
    if (fwrite(r->kept + half, sizeof *r->kept, half, r->stays) != half ||
        fclose(r->stays) != 0)
        stop("write", "what stayed open");
}

static void put(struct run *r, const char *name, const int64_t *v, size_t n,
                int may_stay_open)
{
    FILE *f = fopen(name, "wb");
    int stays = r->stay && r->stays == NULL;
    size_t now = stays ? n / 2 : n;
    if (f == NULL || fwrite(v, sizeof *v, now, f) != now)
        stop("write", name);
    if (stays) {
        r->stays = f;
        memcpy(r->kept, r->cell, sizeof r->kept);
    } else if ((!r->open || !may_stay_open) && fclose(f) != 0)
        stop("close", name);
}

/* With open(2), as others do. */
static void get(const char *name, int64_t *v, size_t n)
{
    int fd = open(name, O_RDONLY);
    if (fd < 0)
        stop("open", name);
    size_t done = 0, all = n * sizeof *v;
    while (done < all) {
        ssize_t got = read(fd, (char *)v + done, all - done);
        if (got <= 0)
            stop("read", name);
        done += (size_t)got;
    }
    close(fd);
}

static void write_one(struct run *r, const char *name, int last)
{
    int64_t *all = NULL;
    size_t n = (size_t)r->size * CELLS;
    if (r->rank == 0 && (all = malloc(n * sizeof *all)) == NULL)
        stop("memory for", name);
    MPI_Gather(r->cell, CELLS, MPI_INT64_T, all, CELLS, MPI_INT64_T, 0, r->comm);
    if (r->rank == 0)
        put(r, name, all, n, last);
    free(all);
}

static void check_back(const struct run *r, const char *name)
{
    static int64_t back[CELLS];
    if (access(name, R_OK) != 0)
        stop("access", name);
    get(name, back, CELLS);
    if (memcmp(back, r->cell, sizeof back) != 0)
        stop("read again: contents of", name);
}

/* Descriptors up to the limit are taken, so that the first attempt fails. */
static void append_again(const char *name)
{
    struct rlimit old, few = { 0 };
    getrlimit(RLIMIT_NOFILE, &old);
    few.rlim_max = old.rlim_max;
    setrlimit(RLIMIT_NOFILE, &few);
    if (open(name, O_WRONLY | O_APPEND) >= 0)
        stop("without descriptors, but it works: open", name);
    setrlimit(RLIMIT_NOFILE, &old);
    int fd = open(name, O_WRONLY | O_APPEND);
    if (fd < 0 || lseek(fd, 0, SEEK_END) != (off_t)(CELLS * sizeof(int64_t)))
        stop("append to", name);
    close(fd);
}

static void write_own(struct run *r, const char *name, int last)
{
    char tmp[256];
    int renames = is(r->files, "tmp");
    snprintf(tmp, sizeof tmp, "%s.new", name);
    put(r, renames ? tmp : name, r->cell, CELLS, last);
    if (renames && rename(tmp, name) != 0)
        stop("rename", tmp);
}

static void write_in_turns(struct run *r, const char *name, int last)
{
    for (int turn = 0; turn < r->size; turn++) {
        if (turn == r->rank)
            write_own(r, name, last);
        MPI_Barrier(r->comm);
    }
}

static void write_late(struct run *r, const char *name, int last)
{
    if (r->rank == 0)
        write_own(r, name, last);
    for (int i = 0; i < 4; i++)
        MPI_Barrier(r->comm);
    if (r->rank != 0)
        write_own(r, name, last);
}

static void write_mpi(const struct run *r, const char *name)
{
    MPI_File f;
    MPI_Offset at = (MPI_Offset)(sizeof r->cell) * r->rank;
    if (MPI_File_open(r->comm, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                      &f) != MPI_SUCCESS)
        stop("MPI_File_open", name);
    MPI_File_write_at_all(f, at, r->cell, CELLS, MPI_INT64_T, MPI_STATUS_IGNORE);
    MPI_File_close(&f);
}

static void checkpoint(struct run *r, int step)
{
    char name[200];
    int last = step + r->every > r->steps;
    name_of(r, step, name, sizeof name);
    if (is(r->files, "one") || is(r->files, "ab"))
        write_one(r, name, last);
    else if (is(r->files, "mpi"))
        write_mpi(r, name);
    else if (is(r->files, "turns") || is(r->files, "same"))
        write_in_turns(r, name, last);
    else if (is(r->files, "late"))
        write_late(r, name, last);
    else
        write_own(r, name, last);
    if (r->again)
        append_again(name);
    if (r->block && last && mkdir(name, 0777) != 0)
        stop("mkdir", name);
    if (r->read)
        check_back(r, name);
}

static void load(struct run *r)
{
    char name[200];
    size_t n = (size_t)r->size * CELLS;
    int64_t *all = malloc(n * sizeof *all);
    name_of(r, r->restart, name, sizeof name);
    if (all == NULL)
        stop("memory for", name);
    if (is(r->files, "one") || is(r->files, "ab")) {
        if (r->rank == 0)
            get(name, all, n);
        MPI_Scatter(all, CELLS, MPI_INT64_T, r->cell, CELLS, MPI_INT64_T, 0, r->comm);
    } else {
        get(name, r->cell, CELLS);
    }
    free(all);
}

/* --- children --- */

static void have_child(struct run *r)
{
    char name[200];
    snprintf(name, sizeof name, "%s.99.%d", r->stem, r->rank);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        put(r, name, r->cell, CELLS, 0);
        execlp("sh", "sh", "-c", "echo \"preload: ${LD_PRELOAD:-none}\"", (char *)NULL);
        _exit(127);
    }
    int status;
    if (waitpid(pid, &status, 0) != pid || status != 0)
        stop("child", name);
}

/* --- computing --- */

static int64_t total(const struct run *r)
{
    int64_t sum = 0, all = 0;
    for (int i = 0; i < CELLS; i++)
        sum = sum * 31 + r->cell[i];
    sum &= 0xffffffff;
    MPI_Allreduce(&sum, &all, 1, MPI_INT64_T, MPI_SUM, r->comm);
    return all;
}

/* As many small collective calls as simulations make. */
static void compute(struct run *r, int step)
{
    for (int i = 0; i < CELLS; i++)
        r->cell[i] = (r->cell[i] * 5 + step + i + r->rank) & 0xffffff;
    for (int i = 0; i < 3 && !r->silent; i++)
        (void)total(r);
}

/* As many programs look for it. */
static int newest(const char *stem)
{
    DIR *dir = opendir(".");
    int found = 0;
    if (dir == NULL)
        stop("open", "directory");
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        const char *dot = strchr(e->d_name, '.');
        int step = dot && strncmp(e->d_name, stem, strlen(stem)) == 0
                       ? (int)strtol(dot + 1, NULL, 10)
                       : 0;
        found = step > found ? step : found;
    }
    closedir(dir);
    return found;
}

static void begin(struct run *r)
{
    memset(r->cell, 0, sizeof r->cell);
    if (r->restart < 0)
        r->restart = newest(r->stem);
    if (r->restart > 0)
        load(r);
}

static int loop(struct run *r)
{
    for (int step = r->restart + 1; step <= r->steps; step++) {
        if (step == r->hold_at)
            sleep(60);
        compute(r, step);
        if (r->every > 0 && step % r->every == 0)
            checkpoint(r, step);
        if (step == r->exit_at)
            exit(0);
    }
    return 0;
}

static int option(struct run *r, const char *name, const char *value)
{
    const struct {
        const char *name;
        int *number;
    } numbers[] = {
        { "--steps", &r->steps },     { "--every", &r->every },
        { "--restart", &r->restart }, { "--exit", &r->exit_at },
        { "--hold", &r->hold_at },
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (is(name, numbers[i].name))
            return (*numbers[i].number = (int)strtol(value, NULL, 10)) >= 0 ? 2 : 0;
    if (is(name, "--files"))
        return (r->files = value) != NULL ? 2 : 0;
    if (is(name, "--name"))
        return (r->stem = value) != NULL ? 2 : 0;
    if (is(name, "--comm"))
        return MPI_Comm_dup(MPI_COMM_WORLD, &r->comm) == MPI_SUCCESS ? 2 : 0;
    return 0;
}

static void options(struct run *r, int argc, char **argv)
{
    for (int i = 1, used; i < argc; i += used) {
        used = 1;
        if (is(argv[i], "--open"))
            r->open = 1;
        else if (is(argv[i], "--newest"))
            r->restart = -1;
        else if (is(argv[i], "--silent"))
            r->silent = 1;
        else if (is(argv[i], "--stay"))
            r->stay = 1;
        else if (is(argv[i], "--child"))
            r->child = 1;
        else if (is(argv[i], "--read"))
            r->read = 1;
        else if (is(argv[i], "--block"))
            r->block = 1;
        else if (is(argv[i], "--again"))
            r->again = 1;
        else if (i + 1 == argc || (used = option(r, argv[i], argv[i + 1])) == 0)
            stop("option", argv[i]);
    }
}

int main(int argc, char **argv)
{
    static struct run r = { .files = "each", .stem = "state", .steps = 20, .every = 5 };
    MPI_Init(&argc, &argv);
    r.comm = MPI_COMM_WORLD;
    options(&r, argc, argv);
    MPI_Comm_rank(r.comm, &r.rank);
    MPI_Comm_size(r.comm, &r.size);
    r.stay = r.stay && r.rank == 0;
    begin(&r);
    if (r.child)
        have_child(&r);
    int rc = loop(&r);
    long long sum = (long long)total(&r);
    if (r.rank == 0)
        printf("step %d sum %lld\n", r.steps, sum);
    fflush(stdout);
    if (r.stays)
        finish(&r);
    MPI_Finalize();
    return rc;
}
