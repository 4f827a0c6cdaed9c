/* SPDX-License-Identifier: BSD-3-Clause */
/* Flush and fetch: how many ranks copy at once, the parts of rank2file, and calls that
 * fail. */
/* ranks: 1 2 3 4 5 8 */
#include "base/str.h"
#include "helper_fault.h"
#include "helper_flushed.h"
#include "helper_move.h"
#include "par/pfs/flush.h"
#include "par/pfs/rank2file_all.h"
#include "store/cache.h"
#include <errno.h>

/* --- width --- */

/* Counts how many ranks are between reading a file and setting its times at once. */
static struct {
    int *shared; /* now, most */
    int meet;    /* each waits until so many were there at once */
} gauge;

static int most_at_once(void)
{
    return __atomic_load_n(&gauge.shared[1], __ATOMIC_SEQ_CST);
}

static int counted_futimens(int fd, const struct timespec times[2])
{
    int now = __atomic_add_fetch(&gauge.shared[0], 1, __ATOMIC_SEQ_CST);
    int most = most_at_once();
    while (now > most &&
           !__atomic_compare_exchange_n(&gauge.shared[1], &most, now, 0,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        ;
    for (int i = 0; i < MPI_TEST_PATIENCE_MS && most_at_once() < gauge.meet; i++)
        usleep(1000);
    __atomic_sub_fetch(&gauge.shared[0], 1, __ATOMIC_SEQ_CST);
    return scr_sys_posix.futimens(fd, times);
}

MPI_CASE(no_more_ranks_copy_at_once_than_allowed)
{
    struct scr_sys sys = scr_sys_posix;
    const struct scr_env counted = { .sys = &sys };
    MPI_Win win;
    int unit;
    MPI_Aint bytes = t->comm.rank == 0 ? 2 * (MPI_Aint)sizeof(int) : 0;
    void *mine;
    sys.futimens = counted_futimens;
    MPI_Win_allocate_shared(bytes, sizeof(int), MPI_INFO_NULL, t->comm.comm, &mine,
                            &win);
    MPI_Win_shared_query(win, 0, &bytes, &unit, &gauge.shared);
    for (int width = 1; width <= t->comm.size; width++) {
        struct scr_err err = SCR_ERR_INIT;
        struct scene s;
        scene_open(t, &s, MOVE_MIXED);
        s.opts.width = width;
        gauge.meet = width > 1 ? 2 : 1;
        for (int k = 0; k < 2; k++) {
            if (t->comm.rank == 0)
                gauge.shared[0] = gauge.shared[1] = 0;
            scr_barrier_all(&t->comm);
            int rc =
                k == 0 ? flush(t, &s, &counted, &err) : fetch(t, &s, &counted, &err);
            CHECK_RC(rc, SCR_OK, &err);
            CHECK(most_at_once() <= width);
            CHECK(most_at_once() >= gauge.meet); /* nor one after the other */
            scr_barrier_all(&t->comm);
        }
        scene_close(t, &s);
    }
    MPI_Win_free(&win);
}

/* --- the rank-to-file map in parts --- */

enum { PART_FILES = 12000 }; /* of one rank: more than 1 MiB of names */

static void long_list(struct mpi_test *t, struct scr_rank2file *mine)
{
    int rank = t->comm.rank;
    scr_rank2file_init(mine, t->comm.size);
    for (int i = 0; i < PART_FILES; i++) {
        char path[128];
        snprintf(path, sizeof path, "a/somewhat/longer/directory/name/rank.%d/file.%d",
                 rank, i);
        struct scr_listed *f = scr_rank2file_add_file(mine, rank, path);
        scr_listed_set_size(f, (uint64_t)i);
        scr_listed_set_crc(f, (uint32_t)(rank * PART_FILES + i));
    }
    CHECK(scr_rank2file_ok(mine));
}

static void pack_list(const struct scr_rank2file *l, int rank, struct scr_str *s)
{
    scr_rank_files_pack(s, scr_rank2file_rank(l, rank));
}

MPI_CASE(long_lists_are_written_in_parts_and_come_back)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scene s = { .root = move_root(t) };
    struct scr_rank2file mine, got = { 0 };
    struct scr_rank2file_root root = { 0 };
    struct scr_str wrote = SCR_STR_INIT, came = SCR_STR_INIT;
    scene_prefix(t, &s);
    const struct scr_prefix_dset at = { &posix, &t->comm, &s.prefix, ID };
    move_mkdir("%s/scr.dataset.%d", s.prefix.scr, ID);
    long_list(t, &mine);
    scr_barrier_all(&t->comm);
    CHECK_RC(scr_rank2file_write_all(&at, &mine, SCR_OK, &err), SCR_OK, &err);
    CHECK_RC(scr_rank2file_root_read(&scr_sys_posix, at_record(&s, "rank2file"), &root,
                                     NULL, &err),
             SCR_OK, &err);
    CHECK_INT(root.n, t->comm.size);
    CHECK_RC(scr_rank2file_read_all(&at, SCR_OK, &got, &err), SCR_OK, &err);
    CHECK_INT(got.ranks, t->comm.size);
    CHECK_INT(got.n, 1);
    pack_list(&mine, t->comm.rank, &wrote);
    pack_list(&got, t->comm.rank, &came);
    CHECK(wrote.len == came.len && memcmp(wrote.p, came.p, came.len) == 0);
    scr_str_free(&wrote);
    scr_str_free(&came);
    scr_rank2file_root_fini(&root);
    scr_rank2file_fini(&got);
    scr_rank2file_fini(&mine);
    scr_prefix_fini(&s.prefix);
    scr_hash_delete(s.dset);
    move_root_remove(t);
}

/* The same by ranks that have less than a part each: the first of each part gets what
 * begins in its stretch. */
MPI_CASE(short_lists_share_a_part)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scene s = { .root = move_root(t) };
    struct scr_rank2file mine, got = { 0 };
    struct scr_rank2file_root root = { 0 };
    int rank = t->comm.rank, half = PART_FILES / 2;
    scene_prefix(t, &s);
    const struct scr_prefix_dset at = { &posix, &t->comm, &s.prefix, ID };
    move_mkdir("%s/scr.dataset.%d", s.prefix.scr, ID);
    scr_rank2file_init(&mine, t->comm.size);
    scr_rank2file_add_rank(&mine, rank);
    for (int i = 0; rank % 2 == 0 && i < half; i++) {
        char path[200];
        snprintf(path, sizeof path, "a/directory/of/%0100d/rank.%d/file.%d", 7, rank,
                 i);
        scr_rank2file_add_file(&mine, rank, path);
    }
    CHECK(scr_rank2file_ok(&mine));
    scr_barrier_all(&t->comm);
    CHECK_RC(scr_rank2file_write_all(&at, &mine, SCR_OK, &err), SCR_OK, &err);
    CHECK_RC(scr_rank2file_root_read(&scr_sys_posix, at_record(&s, "rank2file"), &root,
                                     NULL, &err),
             SCR_OK, &err);
    for (size_t i = 0; i + 1 < root.n; i++)
        CHECK(root.part[i] < root.part[i + 1]);
    CHECK_INT(root.part[0], 0);
    CHECK_RC(scr_rank2file_share_all(&at, SCR_OK, &got, &err), SCR_OK, &err);
    CHECK_INT(got.ranks, t->comm.size);
    CHECK_INT(scr_rank2file_num_files(&got), rank % 2 == 0 ? half : 0);
    scr_rank2file_root_fini(&root);
    scr_rank2file_fini(&got);
    scr_rank2file_fini(&mine);
    scr_prefix_fini(&s.prefix);
    scr_hash_delete(s.dset);
    move_root_remove(t);
}

/* What a rank found before keeps all from writing. */
MPI_CASE(a_list_is_not_written_if_a_rank_failed)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scene s = { .root = move_root(t) };
    struct scr_rank2file mine;
    int rc = SCR_OK, last = t->comm.size - 1;
    scene_prefix(t, &s);
    const struct scr_prefix_dset at = { &posix, &t->comm, &s.prefix, ID };
    move_mkdir("%s/scr.dataset.%d", s.prefix.scr, ID);
    scr_rank2file_init(&mine, t->comm.size);
    scr_rank2file_add_file(&mine, t->comm.rank, "file");
    scr_barrier_all(&t->comm);
    if (t->comm.rank == last)
        rc = scr_fail(&err, SCR_E_MISSING, 0, "never written");
    rc = scr_rank2file_write_all(&at, &mine, rc, &err);
    CHECK_RC(rc, SCR_E_MISSING, &err);
    CHECK(strcmp(err.text, "never written") == 0 && err.rank == last);
    CHECK_INT(access(at_record(&s, "rank2file"), F_OK), -1);
    CHECK_INT(access(at_record(&s, "rank2file.0.0"), F_OK), -1);
    scr_rank2file_fini(&mine);
    scr_prefix_fini(&s.prefix);
    scr_hash_delete(s.dset);
    move_root_remove(t);
}

/* --- failures --- */

/* The index is right: COMPLETE=1 only for datasets that can be fetched whole. */
static void check_truth(struct mpi_test *t, struct scene *s)
{
    struct scr_err err = SCR_ERR_INIT;
    int current = 0;
    if (index_complete(t, s, ID, &current) == 1) {
        check_files(t, s, MOVE_MIXED);
        check_record(t, s, MOVE_MIXED);
    } else {
        CHECK_INT(current, 0);
    }
    CHECK_RC(flush(t, s, &posix, &err), SCR_OK, &err); /* it can be done again */
    check_files(t, s, MOVE_MIXED);
    check_record(t, s, MOVE_MIXED);
}

static int disturbed_flush(struct mpi_test *t, long n, int victim, int error,
                           enum test_how how)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scene s;
    scene_open(t, &s, MOVE_MIXED);
    test_fault_arm(TEST_ANY, victim < 0 || victim == t->comm.rank ? n : -1, error, how);
    int rc = flush(t, &s, &faulty, &err);
    int fired = scr_or_all(&t->comm, test_fault_off());
    if (!fired)
        CHECK_RC(rc, SCR_OK, &err);
    check_truth(t, &s);
    CHECK_INT(test_fault_open_fds(), 0);
    if (!mpi_test_good(t) && t->comm.rank == 0)
        fprintf(stderr, "call %ld of rank %d, error %d, how %d: %s\n", n, victim, error,
                (int)how, err.text);
    scene_close(t, &s);
    return fired;
}

static int disturbed_fetch(struct mpi_test *t, long n, int victim, int error,
                           enum test_how how)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scene s;
    scene_open(t, &s, MOVE_MIXED);
    CHECK_RC(flush(t, &s, &posix, &err), SCR_OK, &err);
    test_fault_arm(TEST_ANY, victim < 0 || victim == t->comm.rank ? n : -1, error, how);
    int rc = fetch(t, &s, &faulty, &err);
    int fired = scr_or_all(&t->comm, test_fault_off());
    if (rc == SCR_OK)
        check_fetched(t, &s, MOVE_MIXED);
    else
        CHECK(fired);
    move_count_files(t, s.root, t->comm.size); /* C1 */
    CHECK_RC(fetch(t, &s, &posix, &err), SCR_OK, &err);
    check_fetched(t, &s, MOVE_MIXED);
    CHECK_INT(test_fault_open_fds(), 0);
    if (!mpi_test_good(t) && t->comm.rank == 0)
        fprintf(stderr, "call %ld of rank %d, error %d, how %d: %s\n", n, victim, error,
                (int)how, err.text);
    scene_close(t, &s);
    return fired;
}

typedef int (*disturbed)(struct mpi_test *t, long n, int victim, int error,
                         enum test_how how);

static void disturb(struct mpi_test *t, disturbed run, int victim, int error,
                    enum test_how how)
{
    long n = 0, step = t->comm.size > 2 ? 2 * t->comm.size - 3 : 1;
    while (mpi_test_good(t) && n < 10000 && run(t, n, victim, error, how))
        n += step;
    CHECK(n > 10 || !mpi_test_good(t));
}

MPI_CASE(each_failing_call_in_a_flush_leaves_a_true_index)
{
    disturb(t, disturbed_flush, 0, EIO, TEST_ONCE);
    disturb(t, disturbed_flush, t->comm.size - 1, ENOSPC, TEST_ONCE);
}

MPI_CASE(a_flush_that_dies_anywhere_leaves_a_true_index)
{
    disturb(t, disturbed_flush, -1, EIO, TEST_FOREVER);
}

MPI_CASE(each_failing_call_in_a_fetch_is_agreed)
{
    disturb(t, disturbed_fetch, 0, EIO, TEST_ONCE);
    disturb(t, disturbed_fetch, t->comm.size - 1, ENOSPC, TEST_ONCE);
    disturb(t, disturbed_fetch, -1, EIO, TEST_FOREVER);
}

/* --- names in cache --- */

static int is_taken(void *arg, const char *rel)
{
    return scr_table_find(arg, rel) != NULL;
}

MPI_CASE(names_in_cache_never_meet)
{
    static const char *const cases[][2] = {
        { "a/data", "data" },
        { "b/data", "1/data" },
        { "data", "2/data" },
        { "x/1", "1/1" },
        { "y/1", "2/1" },
        { "out/42", "1/42" },
        { "a/.scr-part", "1/.scr-part" },
        { "c/data.1", "data.1" },
        { "d/1x", "1x" },
    };
    struct scr_table taken;
    scr_table_init(&taken, sizeof(struct scr_item));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *rel = scr_cache_name(cases[i][0], is_taken, &taken);
        if (rel == NULL || strcmp(rel, cases[i][1]) != 0)
            mpi_test_fail(t, __FILE__, __LINE__, "%s -> %s", cases[i][0], rel);
        scr_table_add(&taken, rel);
        free(rel);
    }
    scr_table_fini(&taken);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(names_in_cache_never_meet),
                  RUN(no_more_ranks_copy_at_once_than_allowed),
                  RUN(long_lists_are_written_in_parts_and_come_back),
                  RUN(short_lists_share_a_part),
                  RUN(a_list_is_not_written_if_a_rank_failed),
                  RUN(each_failing_call_in_a_flush_leaves_a_true_index),
                  RUN(a_flush_that_dies_anywhere_leaves_a_true_index),
                  RUN(each_failing_call_in_a_fetch_is_agreed)));
}
