/* SPDX-License-Identifier: BSD-3-Clause */
/* Encoding over MPI: what it sends, what it stores, and what failures of I/O do to it.
 */
/* ranks: 1 2 3 5 8 */
#include "mpi_test.h"

#include <errno.h>

#include "base/hashfile.h"
#include "base/str.h"
#include "helper_cell.h"
#include "helper_fault.h"
#include "red/redfile.h"

struct plan {
    enum scr_scheme scheme;
    int k;
};

static const struct plan plans[] = {
    { SCR_SCHEME_SINGLE, 1 }, { SCR_SCHEME_PARTNER, 1 }, { SCR_SCHEME_PARTNER, 2 },
    { SCR_SCHEME_XOR, 1 },    { SCR_SCHEME_RS, 1 },      { SCR_SCHEME_RS, 2 },
    { SCR_SCHEME_RS, 4 },
};
enum { PLANS = sizeof plans / sizeof plans[0] };

/* As the set reduces it. */
static struct plan weakened(const struct plan *p, int n)
{
    struct plan w = *p;
    scr_geom_weaken(&w.scheme, &w.k, n);
    return w;
}

/* Bytes a member sends for CELL_BYTES on each of n members: B (n-1)/(n-k), or r B. */
static uint64_t bytes_sent(const struct plan *w, int n)
{
    if (w->scheme == SCR_SCHEME_SINGLE)
        return 0;
    if (w->scheme == SCR_SCHEME_PARTNER)
        return (uint64_t)w->k * CELL_BYTES;
    return (uint64_t)CELL_BYTES * (uint64_t)(n - 1) / (uint64_t)(n - w->k);
}

MPI_CASE(each_member_sends_no_more_than_it_must)
{
    static const size_t bufs[] = { 100, 4096, 10000000 };
    int n = t->comm.size;
    for (int i = 0; i < PLANS; i++) {
        struct plan w = weakened(&plans[i], n);
        for (int b = 0; b < 3; b++) {
            struct cell c;
            cell_make_all(t, &c, &t->comm, CELL_EQUAL, 1);
            c.p.mpi_buf = bufs[b];
            cell_protect_all(&c, plans[i].scheme, plans[i].k);
            CHECK_INT(c.stats.sent, bytes_sent(&w, n));
            CHECK_INT(c.stats.received, bytes_sent(&w, n));
            cell_free_all(&c);
        }
    }
}

/* Parity bytes for equal files: B k/(n-k), or r B. */
MPI_CASE(parity_is_as_small_as_it_can_be)
{
    int n = t->comm.size;
    for (int i = 0; i < PLANS; i++) {
        struct plan w = weakened(&plans[i], n);
        struct cell c;
        struct stat st;
        uint64_t header = 0, want = 0;
        scr_hash *h = scr_hash_new();
        cell_make_all(t, &c, &t->comm, CELL_EQUAL, 1);
        cell_protect_all(&c, plans[i].scheme, plans[i].k);
        const char *red = cell_red(&c);
        CHECK(red != NULL && stat(red, &st) == 0);
        CHECK_RC(scr_redfile_read(&c.env, red, h, &header, &c.err), SCR_OK, &c.err);
        if (w.scheme == SCR_SCHEME_PARTNER)
            want = (uint64_t)w.k * CELL_BYTES;
        else if (w.scheme != SCR_SCHEME_SINGLE)
            want = (uint64_t)CELL_BYTES / (uint64_t)(n - w.k) * (uint64_t)w.k;
        CHECK_INT((uint64_t)st.st_size - header, want);
        scr_hash_delete(h);
        cell_free_all(&c);
    }
}

/* The slice decides nothing about the bytes stored. */
MPI_CASE(the_size_of_messages_does_not_change_the_parity)
{
    for (int i = 0; i < PLANS; i++) {
        struct cell c;
        cell_make_all(t, &c, &t->comm, CELL_TINY, 1);
        cell_protect_all(&c, plans[i].scheme, plans[i].k);
        c.p.mpi_buf = 1;
        const char *red = cell_red(&c);
        CHECK(red != NULL && unlink(red) == 0);
        CHECK_RC(cell_try_protect_all(&c, plans[i].scheme, plans[i].k), SCR_OK, &c.err);
        cell_check_whole(&c);
        cell_free_all(&c);
    }
}

MPI_CASE(the_filemap_says_how_the_dataset_is_protected)
{
    for (int i = 0; i < PLANS; i++) {
        struct plan w = weakened(&plans[i], t->comm.size);
        struct cell c;
        int value = -1, me = t->comm.rank;
        uint32_t crc;
        cell_make_all(t, &c, &t->comm, CELL_ODD, 1);
        cell_protect_all(&c, plans[i].scheme, plans[i].k);
        const scr_hash *desc = scr_filemap_get_desc(c.map, c.id, me);
        CHECK(strcmp(scr_hash_get_val(desc, "TYPE"), scr_scheme_name(w.scheme)) == 0);
        CHECK(scr_hash_get_val_int(desc, "FAILURES", &value) && value == w.k);
        CHECK(scr_hash_get_val_int(desc, "RANKS", &value) && value == t->comm.size);
        CHECK(scr_hash_get_val_int(desc, "SET_ID", &value) && value == 0);
        CHECK(scr_hash_get_val_int(desc, "MEMBER", &value) && value == me);
        CHECK(strcmp(scr_hash_get_val(desc, "STORE"), "/dev/shm") == 0);
        CHECK_INT(scr_filemap_num_expected_files(c.map, c.id, me), 4);
        CHECK_INT(scr_filemap_num_files(c.map, c.id, me), 5);
        const scr_meta *meta = scr_file_meta(scr_filemap_first_file(c.map, c.id, me));
        CHECK_RC(scr_meta_get_crc32(meta, &crc), SCR_OK, &c.err);
        CHECK_INT(crc, 0); /* the first file is empty */
        meta = scr_filemap_get_meta(c.map, c.id, me, cell_red(&c));
        CHECK(strcmp(scr_meta_text(meta, SCR_META_TYPE), scr_scheme_name(w.scheme)) ==
              0);
        cell_free_all(&c);
    }
}

MPI_CASE(without_checksums_none_are_recorded)
{
    struct cell c;
    uint32_t crc;
    int me = t->comm.rank;
    cell_make_all(t, &c, &t->comm, CELL_ODD, 1);
    c.p.crc = 0;
    cell_protect_all(&c, SCR_SCHEME_XOR, 1);
    for (SCR_FILES(f, c.map, c.id, me))
        CHECK_INT(scr_meta_get_crc32(scr_file_meta(f), &crc), SCR_E_NOENT);
    if (t->comm.rank == 0)
        cell_damage(&c, CELL_NODE);
    int can = t->comm.size > 1;
    CHECK_RC(cell_try_restore_all(&c), can ? SCR_OK : SCR_E_LOST, &c.err);
    if (can)
        cell_check_whole(&c);
    cell_free_all(&c);
}

/* A new encode of changed files must not be mixed up with the redundancy file there
 * was. */
MPI_CASE(a_redundancy_file_that_is_there_is_replaced)
{
    struct cell c;
    cell_make_all(t, &c, &t->comm, CELL_ODD, 1);
    cell_protect_all(&c, SCR_SCHEME_XOR, 1);
    cell_damage(&c, CELL_FLIP_HEADER);
    cell_damage(&c, CELL_FLIP_PARITY);
    CHECK_RC(cell_try_protect_all(&c, SCR_SCHEME_XOR, 1), SCR_OK, &c.err);
    cell_check_whole(&c);
    cell_free_all(&c);
}

/* --- failures that one rank sees --- */

static void expect_failure(struct mpi_test *t, enum cell_files profile, int code,
                           void (*spoil)(struct cell *c))
{
    struct cell c;
    int last = t->comm.size - 1;
    cell_make_all(t, &c, &t->comm, profile, 1);
    cell_keep(&c);
    if (t->comm.rank == last)
        spoil(&c);
    CHECK_RC(cell_try_protect_all(&c, SCR_SCHEME_XOR, 1), code, &c.err);
    CHECK_INT(c.err.rank, last);
    if (t->comm.rank != last)
        cell_check_data(&c);
    CHECK(cell_red(&c) == NULL);
    cell_free_all(&c);
}

static void lose_data(struct cell *c)
{
    cell_damage(c, CELL_DATA);
}

static void shorten_data(struct cell *c)
{
    cell_damage(c, CELL_SHORT_DATA);
}

static void forget_size(struct cell *c)
{
    struct scr_file *f = scr_filemap_first_file(c->map, c->id, c->world.rank);
    f->meta.has &= ~(1u << SCR_META_SIZE);
}

static void name_file_outside(struct cell *c)
{
    scr_filemap_add_file(c->map, c->id, c->world.rank, "/elsewhere/file");
    scr_meta *meta = scr_meta_new();
    scr_meta_set_filesize(meta, 0);
    scr_filemap_set_meta(c->map, c->id, c->world.rank, "/elsewhere/file", meta);
    scr_meta_delete(meta);
}

static void block_redundancy_directory(struct cell *c)
{
    char *dir = scr_asprintf("%s/.scr", c->dset_dir);
    rmdir(dir);
    free(dir);
}

MPI_CASE(a_missing_file_fails_everywhere)
{
    expect_failure(t, CELL_ODD, SCR_E_NOENT, lose_data);
}

MPI_CASE(a_file_shorter_than_recorded_fails_everywhere)
{
    expect_failure(t, CELL_ODD, SCR_E_MISSING, shorten_data);
}

MPI_CASE(a_file_without_size_fails_everywhere)
{
    expect_failure(t, CELL_ODD, SCR_E_ARG, forget_size);
}

MPI_CASE(a_file_outside_the_dataset_fails_everywhere)
{
    expect_failure(t, CELL_NONE, SCR_E_OUTSIDE, name_file_outside);
}

MPI_CASE(a_directory_that_cannot_be_written_fails_everywhere)
{
    expect_failure(t, CELL_ODD, SCR_E_NOENT, block_redundancy_directory);
}

/* Every system call of one rank fails in turn, once or for good: the same code
 * everywhere, the files as they were, and the next try succeeds. */
static void walk_faults(struct mpi_test *t, enum cell_files profile,
                        const struct plan *p, enum test_how how, int error)
{
    int last = t->comm.size - 1, victim = t->comm.rank == last, fired = 1, tries = 0;
    struct cell c;
    cell_make_all(t, &c, &t->comm, profile, 1);
    cell_keep(&c);
    for (long n = 0; fired && n < 2000; n++, tries++) {
        if (victim) {
            c.env.sys = &test_fault_sys;
            test_fault_arm(TEST_ANY, n, error, how);
        }
        int rc = cell_try_protect_all(&c, p->scheme, p->k);
        fired = victim && test_fault_off();
        c.env.sys = &scr_sys_posix;
        fired = scr_or_all(&t->comm, fired);
        CHECK(fired || rc == SCR_OK);
        cell_check_data(&c);
        if (!mpi_test_good(t))
            break;
        if (rc != SCR_OK)
            cell_put_back(&c);
    }
    CHECK(tries > 10);
    cell_keep(&c);
    if (victim && t->comm.size > 1 && p->scheme != SCR_SCHEME_SINGLE)
        cell_damage(&c, CELL_NODE);
    CHECK_RC(cell_try_restore_all(&c), SCR_OK, &c.err);
    cell_check_whole(&c);
    CHECK_INT(test_fault_open_fds(), 0);
    cell_free_all(&c);
}

MPI_CASE(every_system_call_may_fail_once)
{
    for (int i = 0; i < PLANS; i += 2)
        walk_faults(t, CELL_ODD, &plans[i], TEST_ONCE, EIO);
    walk_faults(t, CELL_ODD, &plans[3], TEST_ONCE, ENOSPC);
}

MPI_CASE(every_system_call_may_fail_for_good)
{
    for (int i = 1; i < PLANS; i += 2)
        walk_faults(t, CELL_ODD, &plans[i], TEST_FOREVER, EIO);
}

MPI_CASE(every_system_call_may_fail_on_long_files)
{
    for (int i = 0; i < PLANS; i++)
        walk_faults(t, CELL_LONG, &plans[i], TEST_ONCE, EIO);
    walk_faults(t, CELL_LONG, &plans[3], TEST_FOREVER, EIO);
}

MPI_CASE(interrupted_calls_are_not_noticed)
{
    struct cell c;
    cell_make_all(t, &c, &t->comm, CELL_ODD, 1);
    for (long n = 0; n < 40; n += 3) {
        c.env.sys = &test_fault_sys;
        test_fault_arm(n % 2 ? TEST_PREAD : TEST_PWRITE, n / 2, EINTR, TEST_ONCE);
        CHECK_RC(cell_try_protect_all(&c, SCR_SCHEME_RS, 2), SCR_OK, &c.err);
        test_fault_off();
    }
    c.env.sys = &scr_sys_posix;
    CHECK_RC(cell_try_restore_all(&c), SCR_OK, &c.err);
    CHECK_INT(c.rep.lost_files, 0);
    cell_free_all(&c);
}

/* --- the serial rebuild of the commands gives the same bytes --- */

enum { PATH_BYTES = 1024 };

/* Rank 0 rebuilds member m of the set from the directories of all nodes. */
static void rebuild_serially(struct mpi_test *t, struct cell *c, int m, const char *red)
{
    int n = t->comm.size;
    char mine[2][PATH_BYTES], *all = scr_calloc((size_t)n, sizeof mine);
    snprintf(mine[0], PATH_BYTES, "%s", red);
    snprintf(mine[1], PATH_BYTES, "%s", c->rank_dir);
    scr_allgather_bytes_all(&t->comm, mine, sizeof mine, all, &c->err);
    const char **reds = scr_calloc((size_t)n, sizeof *reds);
    const char **dirs = scr_calloc((size_t)n, sizeof *dirs);
    const char **outs = scr_calloc((size_t)n, sizeof *outs);
    for (int i = 0; i < n; i++) {
        outs[i] = all + (size_t)i * sizeof mine;
        dirs[i] = outs[i] + PATH_BYTES;
        reds[i] = i == m ? NULL : outs[i];
    }
    int rc = SCR_OK;
    if (t->comm.rank == 0)
        rc = scr_rebuild_serial(&c->env,
                                &(struct scr_rebuild_set){ n, reds, dirs, outs, NULL },
                                NULL, &c->err);
    CHECK_RC(scr_agree_all(&t->comm, rc, &c->err), SCR_OK, &c->err);
    free(reds);
    free(dirs);
    free(outs);
    free(all);
}

MPI_CASE(the_serial_rebuild_gives_the_same_bytes)
{
    for (int i = 1; i < PLANS && t->comm.size > 1; i++) {
        struct cell c;
        int m = i % t->comm.size;
        cell_make_all(t, &c, &t->comm, i % 2 ? CELL_ODD : CELL_UNEVEN, 1);
        cell_protect_all(&c, plans[i].scheme, plans[i].k);
        char *red = scr_strdup(cell_red(&c));
        if (t->comm.rank == m) {
            cell_damage(&c, CELL_DATA);
            cell_damage(&c, CELL_RED);
        }
        rebuild_serially(t, &c, m, red);
        CHECK_RC(cell_try_restore_all(&c), SCR_OK, &c.err);
        CHECK_INT(c.rep.lost_files, 0);
        CHECK_INT(c.rep.rebuilt_ranks, 0);
        cell_check_bytes(&c);
        free(red);
        cell_free_all(&c);
    }
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(each_member_sends_no_more_than_it_must),
                  RUN(parity_is_as_small_as_it_can_be),
                  RUN(the_size_of_messages_does_not_change_the_parity),
                  RUN(the_filemap_says_how_the_dataset_is_protected),
                  RUN(without_checksums_none_are_recorded),
                  RUN(a_redundancy_file_that_is_there_is_replaced),
                  RUN(a_missing_file_fails_everywhere),
                  RUN(a_file_shorter_than_recorded_fails_everywhere),
                  RUN(a_file_without_size_fails_everywhere),
                  RUN(a_file_outside_the_dataset_fails_everywhere),
                  RUN(a_directory_that_cannot_be_written_fails_everywhere),
                  RUN(every_system_call_may_fail_once),
                  RUN(every_system_call_may_fail_for_good),
                  RUN(every_system_call_may_fail_on_long_files),
                  RUN(interrupted_calls_are_not_noticed),
                  RUN(the_serial_rebuild_gives_the_same_bytes)));
}
