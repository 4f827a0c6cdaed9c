/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks come back on other nodes: every file finds its owner, and none is ever lost. */
/* ranks: 1 2 3 4 5 8 */

#include "helper_fault.h"
#include "helper_move.h"
#include "helper_moves.h"
#include "par/migrate/distribute.h"
#include <errno.h>

/* The k-th of some permutations of 0 … n-1 (all of them for k < n! in turn). */
static int permuted(int rank, int n, long k)
{
    int left[64], at = 0;
    for (int i = 0; i < n; i++)
        left[i] = i;
    for (int r = 0;; r++) {
        int choices = n - r;
        at = (int)(k % choices);
        k /= choices;
        if (r == rank)
            return left[at];
        memmove(&left[at], &left[at + 1], (size_t)(choices - at - 1) * sizeof *left);
    }
}

static void scatter(struct mpi_test *t, struct move_job *job)
{
    struct scr_err err = SCR_ERR_INIT;
    CHECK_RC(scatter_all(t, job, &err), SCR_OK, &err);
}

static void move_between(struct mpi_test *t, int from, int to,
                         const enum move_kind *kinds, int ndsets, size_t buf)
{
    const char *root = move_root(t);
    first_run(t, root, from, kinds, ndsets);
    check_restart(t, root, from, to, kinds, ndsets, buf);
    move_root_remove(t);
}

static const enum move_kind mixed[] = { MOVE_MIXED };

/* No file is moved, and no filemap written. */
MPI_CASE(ranks_that_stay_move_nothing)
{
    const char *root = move_root(t);
    struct scr_err err = SCR_ERR_INIT;
    struct move_job job;
    struct stat before, after;
    int node = block(t->comm.rank, 2);
    first_run(t, root, node, mixed, 1);
    move_start(t, &job, root, &faulty, node);
    CHECK_INT(stat(job.cntl.map_path, &before), 0);
    test_fault_arm(TEST_ANY, -1, 0, TEST_ONCE);
    CHECK_RC(restart(t, &job, BUF, NULL, &err), SCR_OK, &err);
    test_fault_off();
    CHECK_INT(test_fault_count(TEST_PREAD), 0);
    CHECK_INT(test_fault_count(TEST_PWRITE), 0);
    CHECK_INT(test_fault_count(TEST_RENAMEAT), 0);
    CHECK_INT(stat(job.cntl.map_path, &after), 0);
    CHECK_INT(before.st_ino, after.st_ino);
    move_check(t, &job, 1, MOVE_MIXED);
    move_stop(&job);
    CHECK_INT(move_count_files(t, root, NNODES),
              move_expected(t->comm.size, MOVE_MIXED));
    move_root_remove(t);
}

/* The possible faults at the last rank; the others find nothing. */
enum wrong { NOTHING, GONE, SHORT, NAMED, UNDESCRIBED, AWAY, WRONGS };

static void spoil(struct mpi_test *t, struct move_job *job, enum wrong wrong)
{
    int rank = t->comm.rank;
    struct scr_file *f = scr_filemap_first_file(job->map, 1, rank);
    while (f != NULL && scr_file_next(f) != NULL)
        f = scr_file_next(f); /* the redundancy file, which is never empty */
    CHECK(f != NULL);
    if (f == NULL || rank != t->comm.size - 1)
        return;
    switch (wrong) {
    case GONE:
        CHECK_INT(unlink(f->item.name), 0);
        break;
    case SHORT:
        CHECK_INT(truncate(f->item.name, 1), 0);
        break;
    case NAMED:
        scr_filemap_add_file(job->map, 1, rank, job->cntl.map_path);
        break;
    case UNDESCRIBED:
        scr_hash_delete(scr_filemap_entry(job->map, 1, rank)->desc);
        scr_filemap_entry(job->map, 1, rank)->desc = NULL;
        break;
    case AWAY: /* an entry of another rank, as if it had run here */
        scr_filemap_add_rank(job->map, 1, 0);
        if (rank == 0)
            scr_filemap_add_file(job->map, 1, rank, "/elsewhere/f");
        break;
    default:
        break;
    }
}

/* By the filemaps, and the same on all ranks. */
MPI_CASE(whole_is_a_dataset_whose_ranks_name_their_own_files)
{
    for (enum wrong wrong = NOTHING; wrong < WRONGS; wrong++) {
        const char *root = move_root(t);
        struct scr_err err = SCR_ERR_INIT;
        struct move_job job;
        int whole = -1;
        first_run(t, root, t->comm.rank, mixed, 1);
        move_start(t, &job, root, &posix, t->comm.rank);
        scatter(t, &job);
        spoil(t, &job, wrong);
        const struct scr_moving m = { .env = &job.env,
                                      .world = &t->comm,
                                      .cntl = &job.cntl,
                                      .map = job.map,
                                      .buf_max = BUF,
                                      .whole = &whole };
        CHECK_RC(scr_distribute_all(&m, 1, move_dset_dir(&job, 1), SCR_OK, NULL, &err),
                 SCR_OK, &err);
        CHECK_INT(whole, wrong == NOTHING || wrong == GONE || wrong == SHORT);
        move_stop(&job);
        move_root_remove(t);
    }
}

MPI_CASE(every_permutation_of_ranks_over_nodes)
{
    int n = t->comm.size;
    long all = 1;
    for (int i = 2; i <= n; i++)
        all *= i;
    for (long k = 0; k < all && mpi_test_good(t); k += all > 24 ? all / 25 + 1 : 1)
        move_between(t, t->comm.rank, permuted(t->comm.rank, n, k), mixed, 1, BUF);
}

MPI_CASE(permutations_of_nodes_with_two_ranks)
{
    int n = (t->comm.size + 1) / 2, rank = t->comm.rank;
    long all = 1;
    for (int i = 2; i <= n; i++)
        all *= i;
    for (long k = 0; k < all && mpi_test_good(t); k++)
        move_between(t, block(rank, 2), permuted(block(rank, 2), n, k), mixed, 1, BUF);
}

MPI_CASE(more_or_fewer_ranks_per_node)
{
    int rank = t->comm.rank;
    for (int from = 1; from <= 4; from++)
        for (int to = 1; to <= 4 && mpi_test_good(t); to++) {
            move_between(t, block(rank, from), block(rank, to), mixed, 1, BUF);
            move_between(t, block(rank, from), 7 - block(rank, to), mixed, 1, BUF);
        }
}

MPI_CASE(all_sorts_of_files_and_several_datasets)
{
    static const enum move_kind kinds[] = { MOVE_MIXED, MOVE_HOLES, MOVE_NONE,
                                            MOVE_EMPTY, MOVE_MANY };
    int n = t->comm.size, rank = t->comm.rank;
    move_between(t, rank, (rank + 1) % n, kinds, 5, BUF);
    move_between(t, block(rank, 3), block(n - 1 - rank, 2), kinds, 5, 1 << 20);
}

/* Messages of a few bytes make batches of a few files: many passes. */
MPI_CASE(any_size_of_message_and_many_batches)
{
    static const enum move_kind kinds[] = { MOVE_MIXED, MOVE_LARGE };
    static const size_t bufs[] = { 1, 7, 60, 4096, 1 << 20 };
    int n = t->comm.size, rank = t->comm.rank;
    for (size_t i = n > 4 ? 2 : n > 2; i < sizeof bufs / sizeof *bufs; i++)
        move_between(t, rank, (rank + 1) % n, kinds, bufs[i] < 60 ? 1 : 2, bufs[i]);
}

/* The node of the highest rank is gone with its files; its ranks run on a spare. */
MPI_CASE(a_lost_node_costs_only_its_own_files)
{
    int n = t->comm.size, rank = t->comm.rank, lost = block(n - 1, 2);
    struct scr_err err = SCR_ERR_INIT;
    struct move_job job;
    const char *root = move_root(t);
    char path[700];
    first_run(t, root, block(rank, 2), mixed, 1);
    snprintf(path, sizeof path, "%s/node.%d", root, lost);
    if (rank == 0)
        mpi_test_remove(path);
    scr_barrier_all(&t->comm);
    /* The others move on by one as well, among the nodes that are left. */
    move_start(t, &job, root, &posix,
               block(rank, 2) == lost ? 15 : (block(rank, 2) + 1) % lost);
    CHECK_RC(restart(t, &job, BUF, NULL, &err), SCR_OK, &err);
    if (block(rank, 2) != lost)
        move_check(t, &job, 1, MOVE_MIXED);
    else
        CHECK_INT(scr_filemap_num_files(job.map, 1, rank), 0);
    long want = 0;
    for (int r = 0; r < n; r++)
        want += block(r, 2) == lost ? 0 : move_nfiles(r, MOVE_MIXED) + 1;
    CHECK_INT(move_count_files(t, root, NNODES), want);
    move_stop(&job);
    move_root_remove(t);
}

/* Moved files exist twice until the second call; a node that is lost in between costs
 * nothing, whichever it is. */
MPI_CASE(sources_stay_until_they_are_released)
{
    int n = t->comm.size, rank = t->comm.rank;
    for (int lost = -1; lost < (n > 1 ? n : 0) && mpi_test_good(t); lost++) {
        struct scr_err err = SCR_ERR_INIT;
        struct move_job job;
        const char *root = move_root(t);
        char path[700];
        int stayed = -1;
        first_run(t, root, rank, mixed, 1);
        move_start(t, &job, root, &posix, (rank + 1) % n);
        scatter(t, &job);
        CHECK_RC(distribute(t, &job, 1, BUF, &stayed, &err), SCR_OK, &err);
        CHECK_INT(stayed, n > 1);
        CHECK_INT(move_count_files(t, root, NNODES),
                  (n > 1 ? 2 : 1) * move_expected(n, MOVE_MIXED));
        if (lost < 0) {
            CHECK_RC(distribute(t, &job, 1, BUF, NULL, &err), SCR_OK, &err);
            move_check(t, &job, 1, MOVE_MIXED);
        }
        move_stop(&job);
        scr_barrier_all(&t->comm);
        snprintf(path, sizeof path, "%s/node.%d", root, lost);
        if (rank == 0 && lost >= 0)
            mpi_test_remove(path);
        scr_barrier_all(&t->comm);
        /* a spare for the lost one: its rank's files are where they were at first */
        int at = (rank + 1) % n;
        check_restart(t, root, at == lost ? rank : at, at == lost ? 15 : at, mixed, 1,
                      BUF);
        move_root_remove(t);
    }
}

/* No room: files move as they did, one after the other. */
MPI_CASE(sources_go_where_there_is_no_room_for_both)
{
    int n = t->comm.size, rank = t->comm.rank;
    for (int victim = 0; victim < n && mpi_test_good(t); victim++) {
        struct scr_err err = SCR_ERR_INIT;
        struct move_job job;
        const char *root = move_root(t);
        int stayed = -1;
        first_run(t, root, rank, mixed, 1);
        move_start(t, &job, root, &faulty, (rank + 1) % n);
        scatter(t, &job);
        test_fault_arm(TEST_PWRITE, rank == victim ? 1 : -1, ENOSPC, TEST_ONCE);
        CHECK_RC(distribute(t, &job, 1, BUF, &stayed, &err), SCR_OK, &err);
        CHECK_INT(scr_or_all(&t->comm, test_fault_off()), n > 1);
        CHECK_INT(stayed, 0);
        move_check(t, &job, 1, MOVE_MIXED);
        move_stop(&job);
        CHECK_INT(move_count_files(t, root, NNODES), move_expected(n, MOVE_MIXED));
        move_root_remove(t);
    }
}

/* A file that is gone or too short at its holder stays behind; the others come. */
MPI_CASE(missing_and_short_files_are_no_error)
{
    int n = t->comm.size, rank = t->comm.rank;
    struct scr_err err = SCR_ERR_INIT;
    struct move_job job;
    const char *root = move_root(t);
    char path[1024];
    first_run(t, root, rank, mixed, 1);
    snprintf(path, sizeof path, "%s/node.%d/cache/scr.dataset.1/rank.%d/file.0", root,
             rank, rank);
    CHECK_INT(rank % 2 ? unlink(path) : truncate(path, 0), 0);
    scr_barrier_all(&t->comm);
    move_start(t, &job, root, &posix, (rank + 1) % n);
    CHECK_RC(restart(t, &job, BUF, NULL, &err), SCR_OK, &err);
    snprintf(path, sizeof path, "%s/rank.%d/file.0", move_dset_dir(&job, 1), rank);
    CHECK(!move_same(path, 1, rank, 0, MOVE_MIXED));
    snprintf(path, sizeof path, "%s/rank.%d/1/file.0", move_dset_dir(&job, 1), rank);
    CHECK(move_same(path, 1, rank, 2, MOVE_MIXED));
    move_count_files(t, root, NNODES);
    move_stop(&job);
    move_root_remove(t);
}

/* A byte flipped in cache is found on the way: that file does not arrive, and is left
 * where it is. */
MPI_CASE(a_flipped_byte_does_not_arrive)
{
    int n = t->comm.size, rank = t->comm.rank;
    struct scr_err err = SCR_ERR_INIT;
    struct move_job job;
    const char *root = move_root(t);
    char path[1024], source[1024];
    first_run(t, root, rank, mixed, 1);
    snprintf(source, sizeof source, "%s/node.%d/cache/scr.dataset.1/rank.%d/1/file.0",
             root, rank, rank);
    FILE *f = fopen(source, "r+b");
    CHECK(f != NULL && fseek(f, 77, SEEK_SET) == 0);
    int c = f != NULL ? fgetc(f) : 0;
    CHECK(f != NULL && fseek(f, 77, SEEK_SET) == 0 && fputc(c ^ 1, f) != EOF);
    CHECK(f != NULL && fclose(f) == 0);
    scr_barrier_all(&t->comm);
    move_start(t, &job, root, &posix, (rank + 1) % n);
    CHECK_RC(restart(t, &job, BUF, NULL, &err), SCR_OK, &err);
    snprintf(path, sizeof path, "%s/rank.%d/1/file.0", move_dset_dir(&job, 1), rank);
    CHECK(n == 1 || access(path, F_OK) != 0);
    CHECK(access(source, F_OK) == 0);
    snprintf(path, sizeof path, "%s/rank.%d/file.0", move_dset_dir(&job, 1), rank);
    CHECK(move_same(path, 1, rank, 0, MOVE_MIXED));
    move_count_files(t, root, NNODES);
    move_stop(&job);
    move_root_remove(t);
}

/* Restarts with the cache in another directory of the same nodes. */
static void start_elsewhere(struct mpi_test *t, struct move_job *job, const char *root,
                            int k)
{
    move_start(t, job, root, &faulty, block(t->comm.rank, 2));
    size_t len = strlen(job->cache);
    snprintf(job->cache + len, sizeof job->cache - len, "/moved.%d", k);
    move_mkdir("%s", job->cache);
    scr_barrier_all(&t->comm);
    scatter(t, job);
}

/* Owner and holder are the same rank, but the cache lies elsewhere now. */
MPI_CASE(a_cache_that_moved_on_its_node_is_renamed_into_place)
{
    struct scr_err err = SCR_ERR_INIT;
    struct move_job job;
    const char *root = move_root(t);
    first_run(t, root, block(t->comm.rank, 2), mixed, 1);
    for (int k = 0; k < 2; k++) { /* and with rename refused: another file system */
        start_elsewhere(t, &job, root, k);
        /* renames: directory entries first, then filemaps; the first file's is the
         * third */
        test_fault_arm(TEST_RENAMEAT, k == 0 ? -1 : 1, EXDEV, TEST_ONCE);
        CHECK_RC(distribute(t, &job, 1, BUF, NULL, &err), SCR_OK, &err);
        CHECK_INT(test_fault_off(), k);
        /* No byte was copied. */
        CHECK(k == 1 ||
              test_fault_count(TEST_READ) + test_fault_count(TEST_PREAD) == 0);
        move_check(t, &job, 1, MOVE_MIXED);
        move_stop(&job);
        CHECK_INT(move_count_files(t, root, NNODES),
                  move_expected(t->comm.size, MOVE_MIXED));
    }
    move_root_remove(t);
}

/* A damaged file is moved like any other: restore repairs it with the help of the rest,
 * which must exist for that. */
MPI_CASE(a_damaged_file_does_not_keep_the_others_from_another_file_system)
{
    struct scr_err err = SCR_ERR_INIT;
    struct move_job job;
    const char *root = move_root(t);
    char path[1024];
    int rank = t->comm.rank;
    first_run(t, root, block(rank, 2), mixed, 1);
    snprintf(path, sizeof path, "%s/node.%d/cache/scr.dataset.1/rank.%d/file.0", root,
             block(rank, 2), rank);
    CHECK_INT(truncate(path, 0), 0);
    CHECK_INT(truncate(path, (off_t)move_size(rank, 0, MOVE_MIXED)), 0);
    start_elsewhere(t, &job, root, 0);
    test_fault_arm(TEST_RENAMEAT, 1, EXDEV, TEST_ONCE);
    CHECK_RC(distribute(t, &job, 1, BUF, NULL, &err), SCR_OK, &err);
    CHECK_INT(test_fault_off(), 1);
    CHECK_INT(scr_filemap_num_files(job.map, 1, rank),
              move_nfiles(rank, MOVE_MIXED) + 1);
    snprintf(path, sizeof path, "%s/rank.%d/1/file.0", move_dset_dir(&job, 1), rank);
    CHECK(move_same(path, 1, rank, 2, MOVE_MIXED));
    move_stop(&job);
    CHECK_INT(move_count_files(t, root, NNODES),
              move_expected(t->comm.size, MOVE_MIXED));
    move_root_remove(t);
}

/* --- a different number of ranks --- */

/* The job of fewer ranks runs on a part of the communicator. */
static void check_other_size(struct mpi_test *t, const char *root, int size, int want)
{
    struct scr_err err = SCR_ERR_INIT;
    struct mpi_test part = *t;
    struct move_job job;
    scr_comm_split_all(&t->comm, t->comm.rank < size ? 0 : -1, t->comm.rank, &part.comm,
                       &err);
    if (part.comm.comm != MPI_COMM_NULL) {
        move_start(&part, &job, root, &posix, part.comm.rank + 5);
        move_stop(&job);
        move_start(&part, &job, root, &posix, part.comm.rank);
        int rc = restart(&part, &job, BUF, NULL, &err);
        move_same_rc(&part, rc);
        if (rc != want)
            mpi_test_fail(t, __FILE__, __LINE__, "%d ranks: %s", size, err.text);
        if (want == SCR_E_RANKS) {
            char text[64];
            snprintf(text, sizeof text, "run has %d", size);
            if (strstr(err.text, text) == NULL)
                mpi_test_fail(t, __FILE__, __LINE__, "no number in: %s", err.text);
        }
        move_stop(&job);
        scr_comm_free(&part.comm);
    }
    t->failed += part.failed > t->failed ? part.failed - t->failed : 0;
    scr_barrier_all(&t->comm);
}

MPI_CASE(a_different_number_of_ranks_touches_nothing)
{
    int n = t->comm.size, rank = t->comm.rank;
    const char *root = move_root(t);
    first_run(t, root, rank, mixed, 1);
    for (int fewer = 1; fewer < n; fewer++)
        check_other_size(t, root, fewer, SCR_E_RANKS);
    CHECK_INT(move_count_files(t, root, NNODES), move_expected(n, MOVE_MIXED));
    check_restart(t, root, rank, rank, mixed, 1, BUF); /* still all there for n ranks */
    move_root_remove(t);
}

/* Written by fewer ranks than run now: only the record shows it. */
MPI_CASE(more_ranks_than_wrote_it_are_distinguished)
{
    int n = t->comm.size;
    struct scr_err err = SCR_ERR_INIT;
    struct mpi_test part = *t;
    struct move_job job;
    const char *root = move_root(t);
    if (n == 1)
        return;
    scr_comm_split_all(&t->comm, t->comm.rank < n - 1 ? 0 : -1, t->comm.rank,
                       &part.comm, &err);
    if (part.comm.comm != MPI_COMM_NULL) {
        first_run(&part, root, part.comm.rank, mixed, 1);
        scr_comm_free(&part.comm);
    }
    scr_barrier_all(&t->comm);
    move_start(t, &job, root, &posix, t->comm.rank);
    CHECK_RC(restart(t, &job, BUF, NULL, &err), SCR_E_RANKS, &err);
    CHECK_INT(move_count_files(t, root, NNODES), move_expected(n - 1, MOVE_MIXED));
    move_stop(&job);
    move_root_remove(t);
}

/* Two runs that did not see each other's nodes: what came of them has the same names.
 */
MPI_CASE(two_datasets_of_one_number_are_not_mixed)
{
    int n = t->comm.size, rank = t->comm.rank;
    struct scr_err err = SCR_ERR_INIT;
    struct move_job job;
    const char *root = move_root(t);
    move_start(t, &job, root, &posix, rank);
    move_write(t, &job, 1, MOVE_MIXED);
    scr_hash_set_val_i64(scr_filemap_get_dataset(job.map, 1, rank), "CREATED",
                         rank % 2 ? 1000 : 1001);
    CHECK_RC(scr_cntl_write(&posix, &job.cntl, job.map, &err), SCR_OK, &err);
    move_stop(&job);
    scr_barrier_all(&t->comm);
    move_start(t, &job, root, &posix, (rank + 1) % n);
    CHECK_RC(restart(t, &job, BUF, NULL, &err), n > 1 ? SCR_E_CORRUPT : SCR_OK, &err);
    CHECK(n == 1 || strstr(err.text, "two datasets") != NULL);
    move_stop(&job);
    CHECK_INT(move_count_files(t, root, NNODES), move_expected(n, MOVE_MIXED));
    move_root_remove(t);
}

/* n ids, `apart` from each other, of two ranks each; rank 0 has lost its own. */
static void check_ids(struct mpi_test *t, int n, int apart, int reductions)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ids mine = { 0 }, all = { 0 };
    int64_t said[SCR_IDS_SAID];
    int size = t->comm.size, rank = t->comm.rank;
    for (int i = 0; i < n && rank > 0; i++)
        if (i % size == rank || (i + 1) % size == rank)
            CHECK_INT(scr_ids_add(&mine, 7 + i * apart, NULL), SCR_OK);
    scr_ids_say(&mine, 0, &all, said);
    scr_mins_all(&t->comm, said, SCR_IDS_SAID);
    test_collectives = 0;
    CHECK_RC(scr_ids_hear_all(&t->comm, &mine, said, &all, &err), SCR_OK, &err);
    CHECK_INT(test_collectives, reductions);
    CHECK_INT(all.n, size > 1 ? n : 0);
    for (size_t i = 0; i < all.n; i++)
        CHECK_INT(all.id[i], 7 + (int)i * apart);
    scr_ids_fini(&mine);
    scr_ids_fini(&all);
}

/* The first 64 numbers from the least id on come with the agreement of the caller. */
MPI_CASE(ids_of_all_ranks_are_listed)
{
    int many = t->comm.size > 1;
    check_ids(t, 0, 1, 0);
    check_ids(t, 1, 1, 0);
    check_ids(t, 64, 1, 0);
    check_ids(t, 65, 1, many);
    check_ids(t, 300, 1, many * 4);
    check_ids(t, 3, 64, many * 2);
    check_ids(t, 20, 100000000, many * 19);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(ranks_that_stay_move_nothing),
                  RUN(whole_is_a_dataset_whose_ranks_name_their_own_files),
                  RUN(every_permutation_of_ranks_over_nodes),
                  RUN(permutations_of_nodes_with_two_ranks),
                  RUN(more_or_fewer_ranks_per_node),
                  RUN(all_sorts_of_files_and_several_datasets),
                  RUN(any_size_of_message_and_many_batches),
                  RUN(a_lost_node_costs_only_its_own_files),
                  RUN(sources_stay_until_they_are_released),
                  RUN(sources_go_where_there_is_no_room_for_both),
                  RUN(missing_and_short_files_are_no_error),
                  RUN(a_flipped_byte_does_not_arrive),
                  RUN(a_cache_that_moved_on_its_node_is_renamed_into_place),
                  RUN(a_damaged_file_does_not_keep_the_others_from_another_file_system),
                  RUN(a_different_number_of_ranks_touches_nothing),
                  RUN(more_ranks_than_wrote_it_are_distinguished),
                  RUN(two_datasets_of_one_number_are_not_mixed),
                  RUN(ids_of_all_ranks_are_listed)));
}
