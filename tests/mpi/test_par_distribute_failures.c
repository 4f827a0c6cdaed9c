/* SPDX-License-Identifier: BSD-3-Clause */
/* Moving files to other nodes: calls that fail, runs that die, and random moves. */
/* ranks: 1 2 3 4 5 8 */
#include "helper_fault.h"
#include "helper_move.h"
#include "helper_moves.h"
#include "par/migrate/distribute.h"
#include <errno.h>

/* --- failures --- */

/* Parts aside are named, too, while the filemaps of a node that has nothing else are
 * replaced one by one (invariant C1). */
MPI_CASE(what_is_aside_stays_named_when_a_filemap_cannot_be_written)
{
    enum { ID = 1, CREATED = 1000 };
    int n = t->comm.size, last = n - 1, rank = t->comm.rank, owner = (rank + 1) % n;
    struct scr_err err = SCR_ERR_INIT;
    struct move_job job;
    char path[64];
    const char *root = move_root(t);
    scr_filemap *all = scr_filemap_new();
    move_start(t, &job, root, &posix, 0);
    snprintf(path, sizeof path, "/c/scr.dataset.1/.scr/aside.1000/rank.%d/f", owner);
    scr_filemap_add_file(job.map, ID, owner, path);
    CHECK_INT(scr_filemap_set_aside(job.map, CREATED, job.map, ID, owner), SCR_OK);
    scr_filemap_remove_rank_by_dataset(job.map, ID, owner);
    CHECK_RC(scr_cntl_write(&posix, &job.cntl, job.map, &err), SCR_OK, &err);
    move_stop(&job);
    scr_barrier_all(&t->comm);
    move_start(t, &job, root, &faulty, 0);
    test_fault_arm(TEST_RENAMEAT, rank == last && n > 1 ? 0 : -1, EIO, TEST_FOREVER);
    CHECK_RC(scatter_all(t, &job, &err), n > 1 ? SCR_E_IO : SCR_OK, &err);
    test_fault_off();
    scr_err_clear(&err);
    CHECK_RC(scr_cntl_read_node(&posix, &job.cntl, all, &err), SCR_OK, &err);
    for (int r = 0; r < n; r++)
        CHECK(scr_filemap_entry(scr_filemap_aside(all, CREATED), ID, r) != NULL);
    scr_filemap_delete(all);
    scr_barrier_all(&t->comm);
    move_stop(&job);
    move_root_remove(t);
}

static const enum move_kind two[] = { MOVE_MIXED, MOVE_HOLES };

/* A restart in which calls of some ranks fail from the n-th on; then one in which
 * nothing does, on the same nodes or back where the files came from. 1 if any failure
 * happened. */
static int disturbed_restart(struct mpi_test *t, long n, int victim, int error,
                             enum test_how how)
{
    struct scr_err err = SCR_ERR_INIT;
    struct move_job job;
    int rank = t->comm.rank, size = t->comm.size, per_node = size > 2 ? 2 : 1;
    int ndsets = how == TEST_FOREVER ? 2 : 1;
    const char *root = move_root(t);
    int from = block(rank, per_node), to = block((rank + 1) % size, per_node);
    first_run(t, root, from, two, ndsets);
    move_start(t, &job, root, &faulty, to);
    test_fault_arm(TEST_ANY, victim < 0 || victim == rank ? n : -1, error, how);
    int rc = restart(t, &job, BUF, NULL, &err);
    int fired = scr_or_all(&t->comm, test_fault_off());
    move_same_rc(t, rc);
    if (!fired)
        CHECK_RC(rc, SCR_OK, &err);
    move_stop(&job);
    move_count_files(t, root, NNODES); /* C1 */
    check_restart(t, root, from, n % 2 ? from : to, two, ndsets, BUF);
    if (!mpi_test_good(t) && rank == 0)
        fprintf(stderr, "call %ld of rank %d, error %d, how %d: %s\n", n, victim, error,
                (int)how, err.text);
    move_root_remove(t);
    return fired;
}

/* Each call on up to three ranks; with more ranks, which make more calls in all, some
 * of them. The calls are the same with every MPI: one walks over all of them, where
 * waiting ranks spin on the cores every seventh will do. */
#ifdef MPICH_VERSION
enum { STRIDE = 7, STRIDE_OF_MANY = 5 };
#else
enum { STRIDE = 1, STRIDE_OF_MANY = 2 };
#endif

static void disturb(struct mpi_test *t, int victim, int error, enum test_how how)
{
    long n = victim < 0 ? 0 : victim,
         step = t->comm.size > 3 ? STRIDE_OF_MANY * t->comm.size - 1 : STRIDE;
    while (mpi_test_good(t) && n < 10000 && disturbed_restart(t, n, victim, error, how))
        n += step;
    CHECK(n > 10 || !mpi_test_good(t));
}

MPI_CASE(each_failing_call_of_one_rank_loses_nothing)
{
    for (int victim = 0; victim < t->comm.size && victim < 3; victim++)
        disturb(t, victim, victim == 1 ? ENOSPC : EIO, TEST_ONCE);
}

MPI_CASE(a_rank_whose_node_fails_for_good_loses_nothing)
{
    disturb(t, t->comm.size - 1, EIO, TEST_FOREVER);
}

MPI_CASE(a_run_that_dies_anywhere_loses_nothing)
{
    disturb(t, -1, EIO, TEST_FOREVER);
}

/* --- anything --- */

/* The same sequence on every rank, from a printed seed. */
static uint32_t below(uint32_t *state, int n)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state % (uint32_t)n;
}

static uint32_t seed_of_run(struct mpi_test *t)
{
    const char *given = getenv("SCR_TEST_SEED");
    uint32_t seed =
        given != NULL ? (uint32_t)strtoul(given, NULL, 10) : (uint32_t)getpid();
    seed = seed != 0 ? seed : 1;
    scr_bcast_bytes_all(&t->comm, 0, &seed, sizeof seed, NULL);
    if (t->comm.rank == 0)
        printf("       %s: SCR_TEST_SEED=%u\n", t->name, seed);
    return seed;
}

/* node[0 … n-1] becomes a permutation of 0 … n-1. */
static void shuffle(int *node, int n, uint32_t *random)
{
    for (int i = 0; i < n; i++) {
        int j = (int)below(random, i + 1);
        node[i] = node[j];
        node[j] = i;
    }
}

/* Node of this rank: any number of ranks on some of as many nodes as there are ranks.
 */
static int random_node(struct mpi_test *t, uint32_t *random)
{
    int n = t->comm.size, node[64], mine = 0;
    shuffle(node, n, random);
    int used = 1 + (int)below(random, n);
    for (int r = 0; r < n; r++) {
        int k = node[below(random, used)];
        mine = r == t->comm.rank ? k : mine;
    }
    return mine;
}

/* A restart on random nodes that every rank may leave at a different call. */
static void random_restart(struct mpi_test *t, const char *root, int deaths,
                           uint32_t *random)
{
    enum { CALLS = 400 }; /* about what a restart makes */
    struct scr_err err = SCR_ERR_INIT;
    struct move_job job;
    long call = -1;
    int stayed = 0, stay = below(random, 2) == 0;
    move_start(t, &job, root, &faulty, random_node(t, random));
    for (int r = 0; r < t->comm.size; r++) {
        int dies = below(random, 3) == 0;
        long at = (long)below(random, CALLS);
        if (r == t->comm.rank && deaths && dies)
            call = at;
    }
    test_fault_arm(TEST_ANY, call, EIO, TEST_FOREVER);
    int rc = restart(t, &job, BUF, stay ? &stayed : NULL, &err);
    int fired = scr_or_all(&t->comm, test_fault_off());
    move_same_rc(t, rc);
    if (!fired)
        CHECK_RC(rc, SCR_OK, &err);
    move_stop(&job);
    move_count_files(t, root, NNODES); /* C1 */
}

static void random_walk(struct mpi_test *t, uint32_t *random)
{
    static const enum move_kind any[] = { MOVE_MIXED, MOVE_HOLES, MOVE_NONE,
                                          MOVE_EMPTY };
    enum move_kind kinds[3];
    int n = t->comm.size, last[64], ndsets = 2 + (int)below(random, 2);
    for (int d = 0; d < 3; d++)
        kinds[d] = any[below(random, 4)];
    const char *root = move_root(t);
    first_run(t, root, random_node(t, random), kinds, ndsets);
    for (int k = (int)below(random, 5); k > 0; k--)
        random_restart(t, root, k > 1, random);
    /* A rank on every node: from wherever it got to, each file is found. */
    shuffle(last, n, random);
    check_restart(t, root, 0, last[t->comm.rank], kinds, ndsets, BUF);
    move_root_remove(t);
}

/* The files do not depend on the MPI: fewer walks where waiting ranks spin on the
 * cores. */
#ifdef MPICH_VERSION
enum { WALKS = 10 };
#else
enum { WALKS = 80 };
#endif

/* Several runs, with deaths in all but the last, on any nodes with any number of ranks
 * each, before one run finds all the files of two or three datasets again. */
MPI_CASE(random_moves_and_deaths_lose_nothing)
{
    uint32_t random = seed_of_run(t);
    for (int k = 0; k < WALKS && mpi_test_good(t); k++)
        random_walk(t, &random);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(what_is_aside_stays_named_when_a_filemap_cannot_be_written),
                  RUN(each_failing_call_of_one_rank_loses_nothing),
                  RUN(a_rank_whose_node_fails_for_good_loses_nothing),
                  RUN(a_run_that_dies_anywhere_loses_nothing),
                  RUN(random_moves_and_deaths_lose_nothing)));
}
