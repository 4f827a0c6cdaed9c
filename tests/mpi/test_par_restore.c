/* SPDX-License-Identifier: BSD-3-Clause */
/* Restore: what the redundancy can carry comes back bit for bit, redundancy files
 * included; what it cannot is refused on all ranks and nothing is touched. */
/* ranks: 1 2 3 4 5 6 7 8 */
#include "mpi_test.h"

#include <errno.h>

#include "base/str.h"
#include "helper_cell.h"
#include "helper_fault.h"
#include "helper_tolerance.h"
#include "store/cache.h"

struct plan {
    enum scr_scheme scheme;
    int k;
};

static const struct plan plans[] = {
    { SCR_SCHEME_SINGLE, 1 }, { SCR_SCHEME_PARTNER, 1 }, { SCR_SCHEME_PARTNER, 2 },
    { SCR_SCHEME_XOR, 1 },    { SCR_SCHEME_RS, 2 },      { SCR_SCHEME_RS, 3 },
};
enum { PLANS = sizeof plans / sizeof plans[0] };

/* Whether a set of n can lose everything of these members. */
static int tolerates(const struct plan *p, int n, const int *lost)
{
    struct plan w = *p;
    int have[SCR_EC_MAX];
    scr_geom_weaken(&w.scheme, &w.k, n);
    for (int i = 0; i < n; i++)
        have[i] = lost[i] ? 0 : SCR_HAVE_ALL;
    return test_tolerates(w.scheme, w.k, n, have);
}

static int data_chunks(const struct plan *p, int n)
{
    struct plan w = *p;
    scr_geom_weaken(&w.scheme, &w.k, n);
    return w.scheme == SCR_SCHEME_XOR || w.scheme == SCR_SCHEME_RS ? n - w.k : 1;
}

/* SINGLE keeps nothing to rebuild data from, but meta data: its own, and with a set of
 * several the neighbour's. */
static int single_tolerates(const struct cell *c, enum cell_loss loss)
{
    int forgotten = c->world.size == 1 && (loss == CELL_NODE || loss == CELL_MAP);
    return !forgotten && !cell_hits_data(c, loss);
}

/* hurt: what this rank has is not as kept. */
static void check_outcome(struct cell *c, int can, int n_lost, int hurt)
{
    struct mpi_test *t = c->t;
    int rc = cell_try_restore_all(c);
    CHECK_RC(rc, can ? SCR_OK : SCR_E_LOST, &c->err);
    if (can && rc == SCR_OK) {
        cell_check_whole(c);
        CHECK(c->rep.rebuilt_ranks <= n_lost);
    } else {
        if (!hurt)
            cell_check_intact(c, c->nkept);
        cell_put_back(c);
    }
}

/* --- one loss --- */

/* One member loses something; afterwards all is as before, so the next loss follows. */
static void lose_one(struct cell *c, const struct plan *p, int member,
                     enum cell_loss loss)
{
    struct mpi_test *t = c->t;
    struct plan w = *p;
    int me = c->world.rank;
    scr_geom_weaken(&w.scheme, &w.k, c->world.size);
    int can =
        me != member || w.scheme != SCR_SCHEME_SINGLE || single_tolerates(c, loss);
    can = scr_and_all(&c->world, can);
    if (me == member)
        cell_damage(c, loss);
    check_outcome(c, can, 1, me == member);
    if (!mpi_test_good(t) && me == 0)
        fprintf(stderr, "  with %s(%d), member %d of %d, loss %d\n",
                scr_scheme_name(p->scheme), p->k, member, c->world.size, loss);
}

static void lose_each(struct mpi_test *t, const struct plan *p, enum cell_files profile,
                      int all_losses)
{
    struct cell c;
    int n = t->comm.size;
    cell_make_all(t, &c, &t->comm, profile, data_chunks(p, n));
    cell_protect_all(&c, p->scheme, p->k);
    for (int m = 0; m < n && mpi_test_good(t); m++) {
        lose_one(&c, p, m, CELL_NODE);
        for (int loss = CELL_DATA; loss < CELL_LOSSES_; loss++)
            if (all_losses || loss % 4 == m % 4)
                lose_one(&c, p, m, (enum cell_loss)loss);
    }
    cell_free_all(&c);
}

/* The whole product for small sets, a diagonal of it for larger ones. */
MPI_CASE(every_single_loss_of_every_scheme)
{
    int n = t->comm.size;
    for (int i = 0; i < PLANS; i++)
        for (int profile = 0; profile < CELL_PROFILES_; profile++)
            if (n < 3 || (i + profile) % 3 == n % 3)
                lose_each(t, &plans[i], (enum cell_files)profile, n < 4);
}

MPI_CASE(nothing_lost_means_nothing_done)
{
    for (int i = 0; i < PLANS; i++) {
        struct cell c;
        cell_make_all(t, &c, &t->comm, CELL_ODD, 1);
        cell_protect_all(&c, plans[i].scheme, plans[i].k);
        CHECK_RC(cell_try_restore_all(&c), SCR_OK, &c.err);
        CHECK_INT(c.rep.rebuilt_ranks, 0);
        CHECK_INT(c.rep.lost_files, 0);
        CHECK_INT(c.rep.bytes, 0);
        CHECK(c.rep.intact);
        cell_check_whole(&c);
        cell_free_all(&c);
    }
}

MPI_CASE(the_report_counts_what_was_rebuilt)
{
    struct cell c;
    int n = t->comm.size;
    cell_make_all(t, &c, &t->comm, CELL_EQUAL, 1);
    cell_protect_all(&c, SCR_SCHEME_XOR, 1);
    if (n > 1 && t->comm.rank == n - 1)
        cell_damage(&c, CELL_NODE);
    CHECK_RC(cell_try_restore_all(&c), SCR_OK, &c.err);
    if (n > 1) {
        CHECK_INT(c.rep.rebuilt_ranks, 1);
        CHECK_INT(c.rep.lost_files, 3);
        CHECK_INT(c.rep.bytes, CELL_BYTES + CELL_BYTES / (n - 1));
    }
    cell_check_whole(&c);
    cell_free_all(&c);
}

MPI_CASE(messages_of_one_byte_rebuild_too)
{
    for (int i = 1; i < PLANS && t->comm.size > 1; i++) {
        struct cell c;
        cell_make_all(t, &c, &t->comm, CELL_TINY, 1);
        cell_protect_all(&c, plans[i].scheme, plans[i].k);
        c.p.mpi_buf = 1;
        if (t->comm.rank == i % t->comm.size)
            cell_damage(&c, CELL_NODE);
        check_outcome(&c, 1, 1, 1);
        cell_free_all(&c);
    }
}

/* Without checksums a redundancy file that was cut short is recognised by its size. */
MPI_CASE(a_short_redundancy_file_is_rebuilt_without_checksums_too)
{
    for (int i = 1; i < PLANS && t->comm.size > 1; i++) {
        struct cell c;
        cell_make_all(t, &c, &t->comm, CELL_ODD, 1);
        c.p.crc = 0;
        cell_protect_all(&c, plans[i].scheme, plans[i].k);
        if (t->comm.rank == 0)
            cell_damage(&c, CELL_SHORT_RED);
        CHECK_RC(cell_try_restore_all(&c), SCR_OK, &c.err);
        CHECK_INT(c.rep.rebuilt_ranks, 1);
        cell_check_whole(&c);
        cell_free_all(&c);
    }
}

/* --- several losses --- */

static void lose_these(struct cell *c, const struct plan *p, const int *lost)
{
    int n_lost = 0;
    for (int i = 0; i < c->world.size; i++)
        n_lost += lost[i];
    if (lost[c->world.rank])
        cell_damage(c, CELL_NODE);
    check_outcome(c, tolerates(p, c->world.size, lost), n_lost, lost[c->world.rank]);
}

/* All pairs, in large sets a third of them per scheme. */
MPI_CASE(every_double_loss)
{
    int n = t->comm.size, *lost = scr_calloc((size_t)n, sizeof *lost);
    for (int i = 1; i < PLANS; i++) {
        struct cell c;
        cell_make_all(t, &c, &t->comm, i % 2 ? CELL_ODD : CELL_EDGE,
                      data_chunks(&plans[i], n));
        cell_protect_all(&c, plans[i].scheme, plans[i].k);
        for (int a = 0; a < n; a++) {
            for (int b = a + 1; b < n && mpi_test_good(t); b++) {
                if (n > 5 && (a + b + i) % 3 != 0)
                    continue;
                lost[a] = lost[b] = 1;
                lose_these(&c, &plans[i], lost);
                lost[a] = lost[b] = 0;
            }
        }
        cell_free_all(&c);
    }
    free(lost);
}

MPI_CASE(triple_losses_in_a_row)
{
    int n = t->comm.size, *lost = scr_calloc((size_t)n, sizeof *lost);
    for (int i = 4; i < PLANS && n > 2; i++) {
        struct cell c;
        cell_make_all(t, &c, &t->comm, CELL_ODD, 1);
        cell_protect_all(&c, plans[i].scheme, plans[i].k);
        for (int a = 0; a < n && mpi_test_good(t); a++) {
            for (int j = 0; j < 3; j++)
                lost[(a + j) % n] = 1;
            lose_these(&c, &plans[i], lost);
            memset(lost, 0, (size_t)n * sizeof *lost);
        }
        cell_free_all(&c);
    }
    free(lost);
}

/* One member's data and another's redundancy, where two losses are carried. */
MPI_CASE(different_losses_at_once)
{
    int n = t->comm.size;
    struct cell c;
    cell_make_all(t, &c, &t->comm, CELL_ODD, 1);
    cell_protect_all(&c, SCR_SCHEME_RS, 2);
    for (int loss = 0; loss < CELL_MAP && n > 2; loss++) {
        int other = (loss + 3) % CELL_MAP;
        if (t->comm.rank == loss % n)
            cell_damage(&c, (enum cell_loss)loss);
        if (t->comm.rank == (loss + 1) % n)
            cell_damage(&c, (enum cell_loss)other);
        check_outcome(&c, 1, 2, 1);
    }
    cell_free_all(&c);
}

/* Headers gone everywhere: the filemaps still know the files, so existing data is kept,
 * and protected again. */
MPI_CASE(all_redundancy_files_lost_and_nothing_else)
{
    for (int i = 0; i < PLANS; i++) {
        struct cell c;
        cell_make_all(t, &c, &t->comm, CELL_ODD, 1);
        cell_protect_all(&c, plans[i].scheme, plans[i].k);
        cell_damage(&c, CELL_RED);
        CHECK_RC(cell_try_restore_all(&c), SCR_OK, &c.err);
        CHECK_INT(c.rep.rebuilt_ranks, t->comm.size);
        cell_check_data(&c);
        if (t->comm.size > 1 && plans[i].scheme != SCR_SCHEME_SINGLE) {
            if (t->comm.rank == 0)
                cell_damage(&c, CELL_NODE);
            CHECK_RC(cell_try_restore_all(&c), SCR_OK, &c.err);
            cell_check_data(&c);
        }
        cell_free_all(&c);
    }
}

MPI_CASE(everything_lost_is_refused)
{
    struct cell c;
    cell_make_all(t, &c, &t->comm, CELL_ODD, 1);
    cell_protect_all(&c, SCR_SCHEME_RS, 2);
    cell_damage(&c, CELL_NODE);
    CHECK_RC(cell_try_restore_all(&c), SCR_E_LOST, &c.err);
    CHECK_INT(cell_count(&c), 0);
    cell_free_all(&c);
}

/* The refusal names the ranks and the first file at fault. */
MPI_CASE(a_refusal_says_what_is_lost)
{
    struct cell c;
    cell_make_all(t, &c, &t->comm, CELL_EQUAL, 1);
    cell_protect_all(&c, SCR_SCHEME_XOR, 1);
    if (t->comm.size > 2 && t->comm.rank > 0 && t->comm.rank < 3)
        cell_damage(&c, CELL_FLIP_DATA);
    int rc = cell_try_restore_all(&c);
    if (t->comm.size > 2) {
        CHECK_RC(rc, SCR_E_LOST, &c.err);
        CHECK(strstr(c.err.text, "ranks 1,2 of the set 0,1,2") != NULL);
        CHECK(strstr(c.err.text, "rank.1/file") != NULL);
        CHECK(strstr(c.err.text, "crc32") != NULL);
        CHECK_INT(c.err.rank, 1);
    }
    cell_free_all(&c);
}

/* --- a different number of ranks --- */

/* c->world is replaced by the first n ranks; the others stay out. */
static void restore_on_fewer(struct mpi_test *t, struct cell *c, int n)
{
    struct scr_comm few, all = c->world;
    int in = t->comm.rank < n;
    CHECK_RC(scr_comm_split_all(&t->comm, in ? 0 : -1, 0, &few, &c->err), SCR_OK,
             &c->err);
    if (in) {
        c->world = few;
        CHECK_RC(cell_try_restore_all(c), SCR_E_RANKS, &c->err);
        c->world = all;
        scr_comm_free(&few);
        cell_check_whole(c);
    }
}

MPI_CASE(fewer_ranks_are_refused_and_nothing_is_touched)
{
    struct cell c;
    cell_make_all(t, &c, &t->comm, CELL_ODD, 1);
    cell_protect_all(&c, SCR_SCHEME_XOR, 1);
    for (int n = 1; n < t->comm.size; n += 2)
        restore_on_fewer(t, &c, n);
    cell_free_all(&c);
}

MPI_CASE(more_ranks_are_refused_and_nothing_is_touched)
{
    struct scr_comm few;
    struct scr_err err = SCR_ERR_INIT;
    int n = t->comm.size - 1, in = t->comm.rank < n;
    struct cell c;
    memset(&c, 0, sizeof c);
    if (n < 1)
        return;
    CHECK_RC(scr_comm_split_all(&t->comm, in ? 0 : -1, 0, &few, &err), SCR_OK, &err);
    if (in) {
        cell_make_all(t, &c, &few, CELL_ODD, 1);
        cell_protect_all(&c, SCR_SCHEME_XOR, 1);
    }
    struct scr_env env = { .sys = &scr_sys_posix };
    struct scr_protect p = {
        .env = &env, .world = &t->comm, .mpi_buf = 4096, .crc = 1
    };
    scr_filemap *empty = scr_filemap_new();
    CHECK_RC(scr_restore_all(&p, 7, in ? c.dset_dir : t->dir, in ? c.map : empty, NULL,
                             &err),
             SCR_E_RANKS, &err);
    if (in) {
        cell_check_whole(&c);
        cell_free_all(&c);
    }
    scr_comm_free(&few);
    scr_filemap_delete(empty);
}

/* All are told so, with or without a search for the sets. */
MPI_CASE(a_rank_that_has_failed_before_is_heard)
{
    int last = t->comm.rank == t->comm.size - 1;
    for (int known = 0; known <= 1; known++) {
        struct cell c;
        char want[32];
        cell_make_all(t, &c, &t->comm, CELL_ODD, 1);
        cell_protect_all(&c, SCR_SCHEME_XOR, 1);
        if (last && t->comm.size > 1)
            cell_damage(&c, CELL_NODE);
        c.p.set = known ? &c.set : NULL;
        c.p.rc = last ? scr_fail(&c.err, SCR_E_FULL, 0, "no room") : SCR_OK;
        int rc = scr_restore_all(&c.p, c.id, c.dset_dir, c.map, NULL, &c.err);
        CHECK_RC(rc, SCR_E_FULL, &c.err);
        snprintf(want, sizeof want, "dataset %d: no room", c.id);
        CHECK(!last || strcmp(c.err.text, want) == 0);
        CHECK(strstr(c.err.text, "no room") != NULL);
        c.p.rc = SCR_OK;
        CHECK_RC(cell_try_restore_all(&c), SCR_OK, &c.err);
        cell_check_whole(&c);
        cell_free_all(&c);
    }
}

/* --- several sets --- */

/* Cuts the ranks into new sets. color: of this rank's group. */
static void cut_anew(struct cell *c, int color)
{
    struct mpi_test *t = c->t;
    struct scr_comm group;
    scr_set_free(&c->set);
    CHECK_RC(scr_comm_split_all(&t->comm, color, 0, &group, &c->err), SCR_OK, &c->err);
    struct scr_cut cut = { .group = &group, .set_size = t->comm.size };
    CHECK_RC(scr_set_make_all(&t->comm, &cut, SCR_OK, &c->set, &c->err), SCR_OK,
             &c->err);
    scr_comm_free(&group);
}

/* Two sets side by side (even and odd ranks), each with a loss; then one beyond
 * tolerance. */
MPI_CASE(sets_are_rebuilt_side_by_side_and_refused_together)
{
    struct cell c;
    int n = t->comm.size, me = t->comm.rank;
    if (n < 4)
        return;
    cell_make_all(t, &c, &t->comm, CELL_ODD, 1);
    cut_anew(&c, me / 2);
    CHECK_INT(c.set.n, (n + 1 - me % 2) / 2);
    cell_protect_all(&c, SCR_SCHEME_XOR, 1);
    if (me < 2)
        cell_damage(&c, CELL_NODE);
    CHECK_RC(cell_try_restore_all(&c), SCR_OK, &c.err);
    CHECK_INT(c.rep.rebuilt_ranks, 2);
    cell_check_whole(&c);
    if (me == 0 || me == 1 || me == 3)
        cell_damage(&c, CELL_NODE);
    CHECK_RC(cell_try_restore_all(&c), SCR_E_LOST, &c.err);
    CHECK_INT(scr_sum_all(&t->comm, cell_count(&c)),
              scr_sum_all(&t->comm, me == 0 || me == 1 || me == 3 ? 0 : c.nkept));
    cell_free_all(&c);
}

/* All ranks except one share a node: two have each other, the rest have no partner. */
MPI_CASE(sets_of_several_schemes_are_intact_too)
{
    struct cell c;
    int n = t->comm.size;
    if (n < 3)
        return;
    cell_make_all(t, &c, &t->comm, CELL_ODD, 1);
    cut_anew(&c, t->comm.rank == n - 1);
    cell_protect_all(&c, SCR_SCHEME_XOR, 1);
    CHECK_RC(cell_try_restore_all(&c), SCR_OK, &c.err);
    CHECK(c.rep.intact);
    cell_check_whole(&c);
    cell_free_all(&c);
}

/* A node that was away has its part of a dataset that was fetched once more since, and
 * cut into other sets: each rank has all of its files, but they protect no rank. */
MPI_CASE(ranks_that_remember_other_sets_are_not_intact)
{
    struct cell c;
    int n = t->comm.size, me = t->comm.rank;
    if (n < 4)
        return;
    cell_make_all(t, &c, &t->comm, CELL_EQUAL, 1);
    cell_protect_all(&c, SCR_SCHEME_XOR, 1);
    cut_anew(&c, me / 2);
    CHECK_RC(cell_try_protect_all(&c, SCR_SCHEME_XOR, 1), SCR_OK, &c.err);
    if (me == 0)
        cell_put_back(&c);
    CHECK_RC(cell_try_restore_all(&c), SCR_E_CORRUPT, &c.err);
    cell_free_all(&c);
}

/* --- failures in the middle --- */

/* While member 0's files are rebuilt every call of `victim` fails in turn. Whatever
 * comes of it is the same on all ranks, no survivor's file changes, and a later restore
 * succeeds. */
static void walk_faults(struct mpi_test *t, enum cell_files profile,
                        const struct plan *p, int victim, enum test_how how)
{
    int fired = 1, tries = 0, mine = t->comm.rank == victim;
    struct cell c;
    cell_make_all(t, &c, &t->comm, profile, 1);
    cell_protect_all(&c, p->scheme, p->k);
    for (long n = 0; fired && n < 2000; n++, tries++) {
        if (t->comm.rank == 0)
            cell_damage(&c, CELL_NODE);
        size_t before = cell_count(&c);
        if (mine) {
            c.env.sys = &test_fault_sys;
            test_fault_arm(TEST_ANY, n, EIO, how);
        }
        int rc = cell_try_restore_all(&c);
        fired = mine && test_fault_off();
        c.env.sys = &scr_sys_posix;
        fired = scr_or_all(&t->comm, fired);
        if (rc == SCR_OK)
            cell_check_whole(&c);
        else
            cell_check_intact(&c, before);
        CHECK(fired || rc == SCR_OK);
        /* a node lost in the middle takes its filemap along, the others keep theirs */
        if (rc != SCR_OK)
            CHECK_RC(cell_try_restore_all(&c), SCR_OK, &c.err);
        cell_check_data(&c);
        if (!mpi_test_good(t))
            break;
        cell_put_back(&c);
    }
    CHECK(tries > 10);
    CHECK_INT(test_fault_open_fds(), 0);
    cell_free_all(&c);
}

/* Every scheme in a set of three, XOR in one of five. */
static int walks(struct mpi_test *t, int plan)
{
    return t->comm.size == 3 ||
           (t->comm.size == 5 && plans[plan].scheme == SCR_SCHEME_XOR);
}

MPI_CASE(every_system_call_of_the_rebuilt_rank_may_fail)
{
    for (int i = 1; i < PLANS; i++)
        if (walks(t, i))
            walk_faults(t, CELL_ODD, &plans[i], 0, i % 2 ? TEST_ONCE : TEST_FOREVER);
}

MPI_CASE(every_system_call_of_a_rebuilt_long_file_may_fail)
{
    if (t->comm.size != 3)
        return;
    for (int i = 2; i < 5; i += 2) {
        walk_faults(t, CELL_LONG, &plans[i], 0, TEST_ONCE);
        walk_faults(t, CELL_LONG, &plans[i], 0, TEST_FOREVER);
    }
}

MPI_CASE(every_system_call_of_a_survivor_may_fail)
{
    for (int i = 1; i < PLANS; i++)
        if (walks(t, i))
            walk_faults(t, CELL_ODD, &plans[i], t->comm.size - 1,
                        i % 2 ? TEST_FOREVER : TEST_ONCE);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(every_single_loss_of_every_scheme),
                  RUN(nothing_lost_means_nothing_done),
                  RUN(the_report_counts_what_was_rebuilt),
                  RUN(messages_of_one_byte_rebuild_too),
                  RUN(a_short_redundancy_file_is_rebuilt_without_checksums_too),
                  RUN(every_double_loss), RUN(triple_losses_in_a_row),
                  RUN(different_losses_at_once),
                  RUN(all_redundancy_files_lost_and_nothing_else),
                  RUN(everything_lost_is_refused), RUN(a_refusal_says_what_is_lost),
                  RUN(fewer_ranks_are_refused_and_nothing_is_touched),
                  RUN(more_ranks_are_refused_and_nothing_is_touched),
                  RUN(a_rank_that_has_failed_before_is_heard),
                  RUN(sets_are_rebuilt_side_by_side_and_refused_together),
                  RUN(sets_of_several_schemes_are_intact_too),
                  RUN(ranks_that_remember_other_sets_are_not_intact),
                  RUN(every_system_call_of_the_rebuilt_rank_may_fail),
                  RUN(every_system_call_of_a_rebuilt_long_file_may_fail),
                  RUN(every_system_call_of_a_survivor_may_fail)));
}
