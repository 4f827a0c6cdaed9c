/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that knows nothing of SCR and writes each of its restart files by other
 * calls of the C library. Every process writes state.<n>.<rank> for case n, and finds
 * it with what belongs in it.
 *
 *   calls            all cases, with MPI_THREAD_MULTIPLE, and collective calls between
 *   calls --check N  without MPI: the files of N processes exist, with the same bytes
 *   calls --starved  with files that cannot be staged
 *   calls --time     without MPI: prints what opening a file takes
 *
 * Ends with status 1 and a line on what is wrong. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

enum { HALF = 700, SIZE = 2 * HALF, NAME = 100 };

static void stop(const char *what, const char *name)
{
    fprintf(stderr, "calls: %s: %s: %s\n", name, what, strerror(errno));
    exit(1);
}

/* state.<n>.<rank>, or with another beginning. */
static const char *name_of(char *name, const char *stem, int n, int rank)
{
    snprintf(name, NAME, "%s.%d.%d", stem, n, rank);
    return name;
}

static void fill(char *buf, int n, int rank)
{
    for (int i = 0; i < SIZE; i++)
        buf[i] = (char)('a' + (i * 7 + n * 3 + rank) % 26);
}

static void put(int fd, const char *buf, size_t n, const char *name)
{
    if (fd < 0)
        stop("open", name);
    if (write(fd, buf, n) != (ssize_t)n)
        stop("write", name);
}

static void shut(int fd, const char *name)
{
    if (close(fd) != 0)
        stop("close", name);
}

static void is(int good, const char *what, const char *name)
{
    if (!good)
        stop(what, name);
}

/* name has what case n writes. */
static void expect(const char *name, int n, int rank)
{
    char want[SIZE], have[SIZE + 1];
    struct stat st;
    fill(want, n, rank);
    int fd = open(name, O_RDONLY);
    is(fd >= 0, "open to read", name);
    is(read(fd, have, sizeof have) == SIZE, "size", name);
    is(memcmp(want, have, SIZE) == 0, "bytes", name);
    is(fstat(fd, &st) == 0 && st.st_size == SIZE, "fstat", name);
    shut(fd, name);
    is(stat(name, &st) == 0 && st.st_size == SIZE, "stat", name);
    is(access(name, R_OK) == 0, "access", name);
}

static void barriers(int n)
{
    while (n-- > 0)
        MPI_Barrier(MPI_COMM_WORLD);
}

static void write_to(int fd, const char *buf, const char *name)
{
    put(fd, buf, SIZE, name);
    shut(fd, name);
}

static void write_stream(FILE *f, const char *buf, const char *name)
{
    is(f && fwrite(buf, 1, SIZE, f) == SIZE && fclose(f) == 0, "stream", name);
}

static int create(const char *name)
{
    return open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
}

/* --- ways to write; name is state.<n>.<rank>, buf what comes into it --- */

static void by_openat(const char *name, const char *buf, int rank)
{
    (void)rank;
    write_to(openat(AT_FDCWD, name, O_WRONLY | O_CREAT, 0644), buf, name);
}

static void by_open64(const char *name, const char *buf, int rank)
{
    (void)rank;
    write_to(open64(name, O_WRONLY | O_CREAT | O_EXCL, 0644), buf, name);
    is(open64(name, O_WRONLY | O_CREAT | O_EXCL, 0644) < 0 && errno == EEXIST, "O_EXCL",
       name);
}

static void by_creat64(const char *name, const char *buf, int rank)
{
    (void)rank;
    write_to(creat64(name, 0644), buf, name);
}

static void by_fopen64(const char *name, const char *buf, int rank)
{
    (void)rank;
    write_stream(fopen64(name, "wx"), buf, name);
    is(fopen(name, "wx") == NULL && errno == EEXIST, "fopen x", name);
}

static void by_freopen(const char *name, const char *buf, int rank)
{
    char other[NAME];
    name_of(other, "log", 0, rank);
    FILE *f = fopen(other, "w");
    is(f != NULL, "fopen", other);
    write_stream(freopen(name, "w", f), buf, name);
    is(unlink(other) == 0, "unlink", other);
    /* A refused call also closes the old descriptor. */
    f = fopen(name, "w");
    is(f && fwrite(buf, 1, SIZE, f) == SIZE, "fwrite", name);
    is(freopen(name, "wx", f) == NULL && errno == EEXIST, "freopen x", name);
}

/* A separate directory, below a descriptor. */
static void by_directory(const char *name, const char *buf, int rank)
{
    char dir[NAME];
    struct stat st;
    name_of(dir, "dir", 0, rank);
    is(mkdir(dir, 0777) == 0, "mkdir", dir);
    int at = open(dir, O_RDONLY | O_DIRECTORY);
    is(at >= 0, "open", dir);
    write_to(openat(at, name, O_WRONLY | O_CREAT, 0600), buf, name);
    is(fstatat(at, name, &st, 0) == 0 && st.st_size == SIZE, "fstatat", name);
    is(renameat(at, name, AT_FDCWD, name) == 0, "renameat", name);
    is(faccessat(at, name, F_OK, 0) != 0 && errno == ENOENT, "faccessat", name);
    shut(at, dir);
    is(rmdir(dir) == 0, "rmdir", dir);
}

/* Bytes written after the first descriptor is closed belong to it too. */
static void through(int second, int first, const char *buf, const char *name)
{
    put(first, buf, HALF, name);
    shut(first, name);
    barriers(4);
    put(second, buf + HALF, HALF, name);
    shut(second, name);
}

static void by_dup(const char *name, const char *buf, int rank)
{
    int fd = create(name);
    (void)rank;
    through(dup(fd), fd, buf, name);
}

static void by_dup2(const char *name, const char *buf, int rank)
{
    int fd = create(name), to = 200;
    (void)rank;
    through(dup2(fd, to), fd, buf, name);
}

static void by_fcntl(const char *name, const char *buf, int rank)
{
    int fd = create(name);
    (void)rank;
    is(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL)) == 0, "fcntl", name);
    through(fcntl(fd, F_DUPFD_CLOEXEC, 100), fd, buf, name);
}

static void by_append(const char *name, const char *buf, int rank)
{
    (void)rank;
    int fd = create(name);
    put(fd, buf, HALF, name);
    shut(fd, name);
    barriers(4); /* in a dataset now, which stays as it is */
    FILE *f = fopen(name, "a");
    is(f && fwrite(buf + HALF, 1, HALF, f) == HALF && fclose(f) == 0, "append", name);
}

/* Over a file that is staged, from a name with a pattern and one without. */
static void by_rename(const char *name, const char *buf, int rank)
{
    char other[NAME], first[NAME];
    name_of(first, "x", 0, rank);
    snprintf(other, sizeof other, "%s.new", name);
    put(create(name), buf + 1, HALF, name);
    write_to(create(other), buf, other);
    is(renameat2(AT_FDCWD, other, AT_FDCWD, name, RENAME_NOREPLACE) != 0 &&
           errno == EEXIST,
       "RENAME_NOREPLACE", name);
    is(rename(other, name) == 0, "rename", name);
    is(access(other, F_OK) != 0 && errno == ENOENT, "access", other);
    expect(name, 10, rank);
    write_to(create(first), buf, first);
    is(rename(first, name) == 0, "rename", first);
}

static void by_unlink(const char *name, const char *buf, int rank)
{
    struct stat st;
    (void)rank;
    write_to(create(name), buf, name);
    is(unlink(name) == 0, "unlink", name);
    is(stat(name, &st) != 0 && errno == ENOENT, "stat", name);
    is(open(name, O_RDONLY) < 0 && errno == ENOENT, "open", name);
    is(unlink(name) != 0 && errno == ENOENT, "unlink again", name);
    write_to(create(name), buf, name);
    is(unlinkat(AT_FDCWD, name, 0) == 0, "unlinkat", name);
    write_to(create(name), buf, name);
}

/* A link that fails leaves nothing, though it is a copy. */
static void link_without_room(const char *name)
{
    char other[NAME + 4];
    struct rlimit before, small = { 1, RLIM_INFINITY };
    struct stat st;
    snprintf(other, sizeof other, "%s.cut", name);
    is(getrlimit(RLIMIT_FSIZE, &before) == 0, "getrlimit", other);
    small.rlim_max = before.rlim_max;
    is(signal(SIGXFSZ, SIG_IGN) != SIG_ERR, "signal", other);
    is(setrlimit(RLIMIT_FSIZE, &small) == 0, "setrlimit", other);
    int rc = link(name, other), cause = errno;
    is(setrlimit(RLIMIT_FSIZE, &before) == 0, "setrlimit back", other);
    is(rc != 0 && cause == EFBIG, "link without room", other);
    is(stat(other, &st) != 0 && errno == ENOENT, "stat", other);
}

static void by_link(const char *name, const char *buf, int rank)
{
    char other[NAME];
    name_of(other, "link", 0, rank);
    write_to(create(name), buf, name);
    is(link(name, other) == 0, "link", name);
    is(link(name, other) != 0 && errno == EEXIST, "link again", name);
    expect(other, 12, rank);
    link_without_room(name);
    is(unlink(name) == 0, "unlink", name);
    is(link(".", name) != 0 && errno == EPERM, "link of a directory", name);
    is(link(other, name) == 0, "link back", name);
    is(unlink(other) == 0, "unlink", other);
}

static void by_truncate(const char *name, const char *buf, int rank)
{
    (void)rank;
    int fd = create(name);
    put(fd, buf, SIZE, name);
    is(ftruncate(fd, HALF + 1) == 0, "ftruncate", name);
    shut(fd, name);
    is(truncate(name, HALF) == 0, "truncate", name);
    fd = open(name, O_WRONLY | O_APPEND);
    put(fd, buf + HALF, HALF, name);
    shut(fd, name);
}

/* Through a mapping, while the descriptor is open. */
static void by_mmap(const char *name, const char *buf, int rank)
{
    (void)rank;
    int fd = open(name, O_RDWR | O_CREAT, 0644);
    is(fd >= 0 && ftruncate(fd, SIZE) == 0, "ftruncate", name);
    char *at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    is(at != MAP_FAILED, "mmap", name);
    barriers(4);
    memcpy(at, buf, SIZE);
    is(munmap(at, SIZE) == 0, "munmap", name);
    shut(fd, name);
}

/* Through descriptors that were open before the name matched, or while it does not;
 * also of a file that may not be opened for writing any more. */
static void by_late_rename(const char *name, const char *buf, int rank)
{
    char other[NAME];
    int fd = create(name_of(other, "late", 0, rank)), second = dup(fd);
    put(fd, buf, 100, other);
    is(rename(other, name) == 0, "rename", other);
    is(fchmod(fd, 0444) == 0, "fchmod", name);
    put(second, buf + 100, 100, name);
    is(rename(name, other) == 0, "rename", name);
    put(fd, buf + 200, 100, other);
    put(second, buf + 300, HALF - 300, other);
    shut(fd, other);
    is(fchmod(second, 0644) == 0, "fchmod", other);
    fd = open(other, O_WRONLY | O_APPEND);
    is(fchmod(fd, 0444) == 0, "fchmod", other);
    is(rename(other, name) == 0, "rename back", other);
    put(fd, buf + HALF, HALF, name);
    shut(fd, name);
    shut(second, name);
}

/* What a rename is refused for; the file stays. */
static void by_refused_rename(const char *name, const char *buf, int rank)
{
    char other[NAME];
    write_to(create(name), buf, name);
    is(rename(name, name) == 0, "rename to itself", name);
    for (int matches = 0; matches < 2; matches++) {
        snprintf(other, sizeof other, "missing/%s", matches ? name : "other");
        is(rename(name, other) != 0 && errno == ENOENT, "no directory", other);
        name_of(other, matches ? "state.21" : "dir", 1, rank);
        is(mkdir(other, 0777) == 0, "mkdir", other);
        is(rename(name, other) != 0 && errno == EISDIR, "over a directory", other);
        is(rmdir(other) == 0, "rmdir", other);
    }
    is(renameat2(AT_FDCWD, other, AT_FDCWD, name, RENAME_NOREPLACE) != 0 &&
           errno == ENOENT,
       "RENAME_NOREPLACE of nothing", other);
    snprintf(other, sizeof other, "calls/%s", name); /* below a file */
    shut(create("calls"), "calls");
    is(open(other, O_WRONLY | O_CREAT, 0644) < 0 && errno == ENOTDIR, "ENOTDIR", other);
}

/* Modes as they would be without SCR. */
static void by_chmod(const char *name, const char *buf, int rank)
{
    struct stat st;
    (void)rank;
    write_to(open(name, O_WRONLY | O_CREAT, 0600), buf, name);
    is(chmod(name, 0640) == 0, "chmod", name);
    barriers(4);
    write_to(open(name, O_WRONLY | O_TRUNC), buf, name);
    is(stat(name, &st) == 0 && (st.st_mode & 07777) == 0640, "mode", name);
}

/* The rest of what a file has besides its bytes, also where it was flushed, which a
 * symbolic link sees. */
static void by_attributes(const char *name, const char *buf, int rank)
{
    char link[NAME];
    struct stat st;
    struct timespec when[2] = { { 5, 0 }, { 6, 0 } };
    struct timeval used[2] = { { 7, 0 }, { 8, 0 } };
    struct utimbuf last = { 9, 10 };
    write_to(create(name), buf, name);
    is(symlink(name, name_of(link, "look", 0, rank)) == 0, "symlink", link);
    for (int i = 0; i < 2; i++) {
        is(eaccess(name, R_OK) == 0 && euidaccess(name, R_OK) == 0, "eaccess", name);
        is(chown(name, getuid(), getgid()) == 0, "chown", name);
        is(lchown(name, getuid(), getgid()) == 0, "lchown", name);
        is(fchownat(AT_FDCWD, name, getuid(), getgid(), 0) == 0, "fchownat", name);
        is(fchmodat(AT_FDCWD, name, i ? 0640 : 0600, 0) == 0, "fchmodat", name);
        is(utimensat(AT_FDCWD, name, when, 0) == 0, "utimensat", name);
        is(stat(name, &st) == 0 && st.st_mtime == 6, "utimensat", name);
        is(utimes(name, used) == 0 && stat(name, &st) == 0 && st.st_mtime == 8,
           "utimes", name);
        is(utime(name, &last) == 0 && stat(name, &st) == 0 && st.st_mtime == 10,
           "utime", name);
        is((st.st_mode & 07777) == (i ? 0640 : 0600), "mode", name);
        barriers(4);
    }
    is(stat(link, &st) == 0 && (st.st_mode & 07777) == 0640, "mode", link);
    is(unlink(link) == 0, "unlink", link);
}

/* A child without exec keeps the open files, and its own files are not staged. */
static void by_fork(const char *name, const char *buf, int rank)
{
    char other[NAME];
    int fd = create(name), status;
    put(fd, buf, HALF, name);
    pid_t pid = fork();
    if (pid == 0) {
        put(fd, buf + HALF, HALF, name);
        shut(fd, name);
        write_to(create(name_of(other, "child", 0, rank)), buf, other);
        _exit(0);
    }
    is(waitpid(pid, &status, 0) == pid && status == 0, "child", name);
    shut(fd, name);
    expect(name_of(other, "child", 0, rank), 16, rank);
    is(unlink(other) == 0, "unlink", other);
}

/* A child that shares our memory closes only its own descriptors. */
static void by_vfork(const char *name, const char *buf, int rank)
{
    (void)rank;
    int fd = create(name), status;
    put(fd, buf, HALF, name);
    pid_t pid = vfork();
    if (pid == 0) {
        close(fd);
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    is(waitpid(pid, &status, 0) == pid && status == 0, "child", name);
    barriers(4);
    put(fd, buf + HALF, HALF, name);
    shut(fd, name);
}

/* Paths that are no files to stage, and files that cannot be opened. */
static void by_odd_means(const char *name, const char *buf, int rank)
{
    char other[NAME], link[NAME];
    snprintf(other, sizeof other, "missing/%s", name);
    is(open(other, O_WRONLY | O_CREAT, 0644) < 0 && errno == ENOENT, "ENOENT", other);
    is(fopen(other, "w") == NULL && errno == ENOENT, "fopen ENOENT", other);
    is(mkdir(name, 0777) == 0, "mkdir", name);
    is(open(name, O_WRONLY | O_CREAT, 0644) < 0 && errno == EISDIR, "EISDIR", name);
    is(rmdir(name) == 0, "rmdir", name);
    is(mkfifo(name, 0600) == 0, "mkfifo", name);
    is(open(name, O_WRONLY | O_NONBLOCK) < 0 && errno == ENXIO, "ENXIO", name);
    is(unlink(name) == 0, "unlink", name);
    name_of(other, "there", 0, rank);
    shut(create(name), name);
    is(symlink(other, name_of(link, "link", 17, rank)) == 0, "symlink", link);
    is(rename(link, name) == 0, "rename over a file", link);
    is(open(name, O_RDONLY) < 0 && errno == ENOENT, "link to nothing", name);
    for (int i = 0; i < 2; i++)
        is(open(name, O_WRONLY | O_CREAT | O_EXCL, 0644) < 0 && errno == EEXIST,
           "O_EXCL of a link", name);
    write_to(create(name), buf, name);
    expect(other, 17, rank);
    is(rename(other, name) == 0, "rename", name);
}

enum { CASES = 23 };

static void *in_thread(void *arg)
{
    char name[NAME], buf[SIZE];
    const int *who = arg; /* rank and number */
    snprintf(name, sizeof name, "state.%d.%d.%d", CASES - 1, who[0], who[1]);
    fill(buf, who[1], who[0]);
    for (int i = 0; i < 20; i++) {
        write_stream(fopen(name, "w"), buf, name);
        expect(name, who[1], who[0]);
    }
    return NULL;
}

/* Several at a time, while the processes meet. */
static void by_threads(const char *name, const char *buf, int rank)
{
    enum { THREADS = 4 };
    pthread_t t[THREADS];
    int who[THREADS][2];
    for (int i = 0; i < THREADS; i++) {
        who[i][0] = rank;
        who[i][1] = i;
        is(pthread_create(&t[i], NULL, in_thread, who[i]) == 0, "thread", name);
    }
    barriers(50);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    write_to(create(name), buf, name);
}

static void (*const how[])(const char *, const char *, int) = {
    by_openat,         by_open64,     by_creat64,   by_fopen64,  by_freopen,
    by_directory,      by_dup,        by_dup2,      by_fcntl,    by_append,
    by_rename,         by_unlink,     by_link,      by_truncate, by_mmap,
    by_chmod,          by_fork,       by_odd_means, by_vfork,    by_late_rename,
    by_refused_rename, by_attributes, by_threads,
};
_Static_assert(sizeof how / sizeof how[0] == CASES, "cases");

/* --- main --- */

static void all_cases(int rank)
{
    char name[NAME], buf[SIZE];
    for (int n = 0; n < CASES; n++) {
        fill(buf, n, rank);
        how[n](name_of(name, "state", n, rank), buf, rank);
        expect(name, n, rank);
        barriers(4);
        expect(name, n, rank);
    }
    if (rank == 0)
        printf("%d cases\n", CASES);
    fflush(stdout);
}

static int check(int ranks)
{
    char name[NAME];
    for (int n = 0; n < CASES; n++)
        for (int rank = 0; rank < ranks; rank++)
            expect(name_of(name, "state", n, rank), n, rank);
    printf("%d files as they should be\n", CASES * ranks);
    return 0;
}

/* Four checkpoints without a collective call: what comes then is not staged. */
static void starve(int rank)
{
    char name[NAME], buf[SIZE];
    for (int n = 1; n < 6; n++) {
        fill(buf, n, rank);
        write_to(create(name_of(name, "state", n, rank)), buf, name);
    }
}

/* Files that are in cache alone, or are written where they are, stay whole. */
static void without_stage(int rank)
{
    char name[NAME], buf[SIZE];
    fill(buf, 0, rank);
    write_to(create(name_of(name, "state", 0, rank)), buf, name);
    barriers(4);
    starve(rank);
    write_to(open(name, O_WRONLY | O_TRUNC), buf, name);
    expect(name, 0, rank);
    fill(buf, 9, rank);
    int first = create(name_of(name, "state", 9, rank));
    put(first, buf, HALF, name);
    is(rename(name, name) == 0, "rename to itself", name);
    barriers(4);
    int second = open(name, O_WRONLY | O_APPEND);
    put(first, buf + HALF, 200, name);
    put(second, buf + HALF + 200, HALF - 200, name);
    shut(first, name);
    shut(second, name);
    expect(name, 9, rank);
    barriers(4);
    expect(name, 9, rank);
    if (rank == 0)
        printf("without a stage\n");
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The best of many rounds: what else the machine does is not asked. */
static void times(void)
{
    enum { ROUNDS = 100, EACH = 1000 };
    double best = 1;
    for (int i = 0; i < ROUNDS; i++) {
        double from = seconds();
        for (int k = 0; k < EACH; k++)
            shut(open("/dev/null", O_WRONLY), "/dev/null");
        double took = (seconds() - from) / EACH;
        best = took < best ? took : best;
    }
    printf("open and close: %.0f ns\n", best * 1e9);
}

int main(int argc, char **argv)
{
    int rank, level;
    if (argc == 3 && strcmp(argv[1], "--check") == 0)
        return check((int)strtol(argv[2], NULL, 10));
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc == 2 && strcmp(argv[1], "--time") == 0)
        times();
    else if (argc == 2 && strcmp(argv[1], "--starved") == 0)
        without_stage(rank);
    else
        all_cases(rank);
    MPI_Finalize();
    return 0;
}
