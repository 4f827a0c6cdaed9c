/* SPDX-License-Identifier: BSD-3-Clause */
/* A small harness for test programs that run under mpirun: many cases in one run.
 *
 *     MPI_CASE(sums_are_equal_everywhere)
 *     {
 *         CHECK(scr_sum_all(&t->comm, 1) == (uint64_t)t->comm.size);
 *     }
 *     int main(int argc, char **argv)
 *     {
 *         return mpi_test_main(argc, argv, MPI_CASES(RUN(sums_are_equal_everywhere)));
 *     }
 *
 * CHECK is local: it prints what failed and where, with the rank, and the case
 * continues (no rank leaves between two collectives). After each case the ranks agree
 * whether it passed; rank 0 prints the failed ones and "N passed, N failed" at the end;
 * the exit status is 1 if any failed. A filter may be given as first argument: only
 * cases whose name contains it run. */
#ifndef SCR_MPI_TEST_H
#define SCR_MPI_TEST_H

#include <ftw.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "helper_held.h"
#include "par/comm/comm.h"

struct mpi_test {
    struct scr_comm comm; /* a duplicate of the world */
    const char
        *dir; /* temporary directory of all ranks of the run, removed at the end */
    const char *name;      /* of the case */
    int failed;            /* checks that failed on this rank in this case */
    struct test_held held; /* before the case */
    int keeps; /* set by a case that leaves what it holds to a later one, which unsets
                  it */
};

struct mpi_case {
    const char *name;
    void (*run)(struct mpi_test *t);
};

#ifndef MPI_TEST_LEVEL /* of threads */
#define MPI_TEST_LEVEL MPI_THREAD_SINGLE
#endif

#define MPI_CASE(name) static void name(struct mpi_test *t)
#define RUN(name)                                                                      \
    {                                                                                  \
#name, name                                                                    \
    }
#define MPI_CASES(...)                                                                 \
    (const struct mpi_case[])                                                          \
    {                                                                                  \
        __VA_ARGS__,                                                                   \
        {                                                                              \
            NULL, NULL                                                                 \
        }                                                                              \
    }

/* More than this many failed checks of a rank in a case are counted but not printed. */
enum { MPI_TEST_SHOWN = 10 };

__attribute__((format(printf, 4, 5), unused)) static void
mpi_test_fail(struct mpi_test *t, const char *file, int line, const char *fmt, ...)
{
    if (++t->failed > MPI_TEST_SHOWN)
        return;
    char text[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fprintf(stderr, "%s:%d: %s: rank %d: %s\n", file, line, t->name, t->comm.rank,
            text);
}

#define CHECK(cond)                                                                    \
    do {                                                                               \
        if (!(cond))                                                                   \
            mpi_test_fail(t, __FILE__, __LINE__, "%s", #cond);                         \
    } while (0)

/* With values: CHECK_INT(got, want). */
#define CHECK_INT(got, want)                                                           \
    do {                                                                               \
        long long got_ = (long long)(got), want_ = (long long)(want);                  \
        if (got_ != want_)                                                             \
            mpi_test_fail(t, __FILE__, __LINE__, "%s = %lld, not %lld", #got, got_,    \
                          want_);                                                      \
    } while (0)

/* A code and, when it is another one, the text of the error. */
#define CHECK_RC(got, want, err)                                                       \
    do {                                                                               \
        int got_ = (got);                                                              \
        if (got_ != (want))                                                            \
            mpi_test_fail(t, __FILE__, __LINE__, "%s = %s (%s), not %s", #got,         \
                          scr_err_meaning(got_), (err)->text, scr_err_meaning(want));  \
    } while (0)

/* Milliseconds until something that has not happened never will, also on a machine that
 * is busy with other things. */
enum { MPI_TEST_PATIENCE_MS = 120000 };

/* A barrier that leaves the cores to the ranks that still work: some MPIs spin in
 * theirs. */
__attribute__((unused)) static void mpi_test_barrier(MPI_Comm comm)
{
    MPI_Request request;
    int done = 0;
    MPI_Ibarrier(comm, &request);
    for (MPI_Test(&request, &done, MPI_STATUS_IGNORE); !done;
         MPI_Test(&request, &done, MPI_STATUS_IGNORE))
        usleep(100);
}

/* Collective: 1 on all ranks if no rank has a failed check in this case so far. */
__attribute__((unused)) static int mpi_test_good(struct mpi_test *t)
{
    return scr_and_all(&t->comm, t->failed == 0);
}

static int mpi_test_remove_one(const char *path, const struct stat *st, int type,
                               struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

__attribute__((unused)) static void mpi_test_remove(const char *path)
{
    nftw(path, mpi_test_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* The same directory on all ranks: $TMPDIR, else memory if there is some, else /tmp.
 * The cases sync many small files, and what they show does not depend on the disk. */
static int mpi_test_make_dir(char *dir, size_t n, int rank)
{
    const char *base = getenv("TMPDIR");
    int ok = 1;
    if (base == NULL && access("/dev/shm", W_OK) == 0)
        base = "/dev/shm";
    if (rank == 0) {
        snprintf(dir, n, "%s/scr-mpi.XXXXXX", base != NULL ? base : "/tmp");
        ok = mkdtemp(dir) != NULL;
    }
    MPI_Bcast(&ok, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(dir, (int)n, MPI_CHAR, 0, MPI_COMM_WORLD);
    return ok;
}

/* A case gives back what it took. */
static void mpi_test_check_held(struct mpi_test *t)
{
    struct test_held now = test_held_now();
    CHECK_INT(now.comms, t->held.comms);
    CHECK_INT(now.requests, t->held.requests);
    CHECK_INT(now.fds, t->held.fds);
    if (now.fds != t->held.fds)
        test_held_print_fds();
    t->held = now;
}

static int mpi_test_run(struct mpi_test *t, const struct mpi_case *c)
{
    t->name = c->name;
    t->failed = 0;
    double start = MPI_Wtime();
    c->run(t);
    if (!t->keeps)
        mpi_test_check_held(t);
    int good = mpi_test_good(t);
    if (t->comm.rank == 0)
        printf("%s %s (%.2f s)\n", good ? "ok    " : "FAILED", c->name,
               MPI_Wtime() - start);
    fflush(stdout);
    return good;
}

/* Takes variables that begin with SCR_ out of the environment: for tests of every line
 * that is printed. */
__attribute__((unused)) static void mpi_test_forget_settings(void)
{
    for (char **e = environ; *e != NULL;) {
        size_t n = strcspn(*e, "=");
        char name[256];
        if (strncmp(*e, "SCR_", 4) != 0 || n >= sizeof name) {
            e++;
            continue;
        }
        memcpy(name, *e, n);
        name[n] = '\0';
        if (unsetenv(name) == 0)
            e = environ;
    }
}

__attribute__((unused)) static int mpi_test_main(int argc, char **argv,
                                                 const struct mpi_case *cases)
{
    static char dir[512];
    struct mpi_test t = { .dir = dir };
    struct scr_err err = SCR_ERR_INIT;
    int passed = 0, failed = 0, given;
    MPI_Init_thread(&argc, &argv, MPI_TEST_LEVEL, &given);
    if (scr_comm_dup_all(MPI_COMM_WORLD, &t.comm, &err) != SCR_OK ||
        !mpi_test_make_dir(dir, sizeof dir, t.comm.rank)) {
        fprintf(stderr, "cannot start: %s\n", err.text);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    t.held = test_held_now();
    for (const struct mpi_case *c = cases; c->name != NULL; c++) {
        if (argc > 1 && strstr(c->name, argv[1]) == NULL)
            continue;
        if (mpi_test_run(&t, c))
            passed++;
        else
            failed++;
    }
    scr_barrier_all(&t.comm);
    if (t.comm.rank == 0) {
        mpi_test_remove(dir);
        printf("%d ranks: %d passed, %d failed\n", t.comm.size, passed, failed);
    }
    scr_comm_free(&t.comm);
    MPI_Finalize();
    return failed > 0;
}

#endif
