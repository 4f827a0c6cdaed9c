/* SPDX-License-Identifier: BSD-3-Clause */
/* Every subset of the members of every set up to eight, under every scheme and number
 * of failures up to four: rebuilt bit for bit as long as the scheme carries it, by the
 * ranks together and by one process for all; beyond that refused by both, alike on all
 * ranks, and no file is touched. */
/* ranks: 1 2 3 4 5 6 7 8 */
#include "mpi_test.h"

#include "base/str.h"
#include "helper_cell.h"
#include "helper_maps.h"
#include "helper_tolerance.h"
#include "helper_walk.h"

/* The many losses of all but the smallest sets are shared between the MPIs, in turn
 * from plan to plan. */
static int is_ours(int n, int plan, int number)
{
    return n < 4 || walk_is_ours(plan + number);
}

struct plan {
    enum scr_scheme scheme;
    int k;
};

static const struct plan plans[] = {
    { SCR_SCHEME_SINGLE, 0 },  { SCR_SCHEME_PARTNER, 1 }, { SCR_SCHEME_PARTNER, 2 },
    { SCR_SCHEME_PARTNER, 3 }, { SCR_SCHEME_PARTNER, 4 }, { SCR_SCHEME_XOR, 1 },
    { SCR_SCHEME_RS, 1 },      { SCR_SCHEME_RS, 2 },      { SCR_SCHEME_RS, 3 },
    { SCR_SCHEME_RS, 4 },
};
enum { PLANS = sizeof plans / sizeof plans[0] };

/* Schemes that a set of n reduces are the same as a plan further up. */
static int fits(const struct plan *p, int n)
{
    struct plan w = *p;
    scr_geom_weaken(&w.scheme, &w.k, n);
    return w.scheme == p->scheme && w.k == p->k;
}

static int data_chunks(const struct plan *p, int n)
{
    int striped = p->scheme == SCR_SCHEME_XOR || p->scheme == SCR_SCHEME_RS;
    return striped ? n - p->k : 1;
}

/* This rank keeps of its files what `have` says: all, data, redundancy or nothing, and
 * then it does not know of them either. */
static void lose(struct cell *c, int have)
{
    static const enum cell_loss loss[] = { CELL_NODE, CELL_RED, CELL_DATA };
    if (have != SCR_HAVE_ALL)
        cell_damage(c, loss[have]);
}

static void check_untouched(struct cell *c, uint64_t print, const scr_filemap *map)
{
    struct mpi_test *t = c->t;
    CHECK(cell_print(c) == print);
    CHECK(test_maps_equal(c->map, map));
}

/* Member `by` rebuilds for all. The losses are there again afterwards. */
static void rebuild_serially(struct cell *c, int by, int can, int mine)
{
    struct mpi_test *t = c->t;
    uint64_t before = cell_print(c);
    CHECK_RC(cell_try_serial_all(c, by), can ? SCR_OK : SCR_E_LOST, &c->err);
    if (!can) {
        CHECK(cell_print(c) == before);
        return;
    }
    cell_check_bytes(c);
    CHECK_INT(cell_count(c), c->nkept);
    lose(c, mine);
}

static void rebuild_together(struct cell *c, int can, int mine)
{
    struct mpi_test *t = c->t;
    uint64_t before = cell_print(c);
    scr_filemap *map = scr_filemap_dup(c->map);
    CHECK_RC(cell_try_restore_all(c), can ? SCR_OK : SCR_E_LOST, &c->err);
    if (can)
        cell_check_whole(c);
    else
        check_untouched(c, before, map);
    if (!can && mine != SCR_HAVE_ALL)
        cell_put_back(c);
    scr_filemap_delete(map);
}

/* The set is whole before and after. */
static void lose_and_rebuild(struct cell *c, const struct plan *p, const int *have,
                             int serial)
{
    struct mpi_test *t = c->t;
    int n = c->world.size, mine = have[c->world.rank], by = 0;
    int can = test_tolerates(p->scheme, p->k, n, have);
    for (int i = 0; i < n; i++)
        by = (by + (i + 1) * have[i]) % n;
    lose(c, mine);
    if (serial)
        rebuild_serially(c, by, can, mine);
    rebuild_together(c, can, mine);
    if (mpi_test_good(t) || t->comm.rank > 0)
        return;
    fprintf(stderr, "  with %s(%d) when members have", scr_scheme_name(p->scheme),
            p->k);
    for (int i = 0; i < n; i++)
        fprintf(stderr, " %d", have[i]);
    fprintf(stderr, "\n");
}

/* One cell a plan; its files are protected once. */
static void make_all(struct mpi_test *t, struct cell *c, int plan, int turn)
{
    const struct plan *p = &plans[plan];
    int profile = (int)CELL_CHUNKS + turn;
    cell_make_all(t, c, &t->comm, (enum cell_files)profile,
                  data_chunks(p, t->comm.size));
    c->p.mpi_buf = plan % 2 ? 64 : 100000; /* rows in several messages, or in one */
    cell_protect_all(c, p->scheme, p->k);
}

static void report(const struct mpi_test *t, int cases)
{
    if (t->comm.rank == 0)
        printf("       %d losses\n", cases);
}

MPI_CASE(every_subset_of_whole_members)
{
    int n = t->comm.size, cases = 0;
    int *have = scr_calloc((size_t)n, sizeof *have);
    for (int i = 0; i < PLANS; i++) {
        struct cell c;
        if (!fits(&plans[i], n))
            continue;
        make_all(t, &c, i, i);
        for (int kept = 0; kept < 1 << n && mpi_test_good(t); kept++) {
            if (!is_ours(n, i, kept))
                continue;
            for (int m = 0; m < n; m++)
                have[m] = kept & 1 << m ? SCR_HAVE_ALL : 0;
            /* the unit tests walk over all of the serial ones too */
            lose_and_rebuild(&c, &plans[i], have, n < 7 || kept % 3 == 0);
            cases++;
        }
        cell_free_all(&c);
    }
    CHECK(cases > 0);
    report(t, cases);
    free(have);
}

/* Any mixture of members that lost everything, only data, only redundancy, or nothing:
 * all 4^n of small sets. The ranks' filemaps help where headers are gone, which the
 * commands do not have. */
MPI_CASE(every_mixture_of_lost_data_and_redundancy)
{
    int n = t->comm.size, cases = 0;
    int *have = scr_calloc((size_t)n, sizeof *have);
    for (int i = 0; i < PLANS && n <= 4; i++) {
        struct cell c;
        if (!fits(&plans[i], n))
            continue;
        make_all(t, &c, i, i + 3);
        for (int code = 0; code < 1 << 2 * n && mpi_test_good(t); code++) {
            if (!is_ours(n, i, code))
                continue;
            for (int m = 0; m < n; m++)
                have[m] = code >> 2 * m & SCR_HAVE_ALL;
            lose_and_rebuild(&c, &plans[i], have, 0);
            cases++;
        }
        cell_free_all(&c);
    }
    report(t, cases);
    free(have);
}

/* Files of 0, 1, chunk - 1, chunk, chunk + 1 bytes … change places among the members,
 * which are lost one after the other. Sets of seven and more have them all above. */
MPI_CASE(every_size_about_a_chunk_on_every_member)
{
    int n = t->comm.size, cases = 0;
    int *have = scr_calloc((size_t)n, sizeof *have);
    for (int i = 0; i < PLANS && n < CELL_TURNS; i++)
        for (int turn = 0; fits(&plans[i], n) && turn < CELL_TURNS; turn++) {
            struct cell c;
            if (!is_ours(n, i, turn))
                continue;
            make_all(t, &c, i, turn);
            for (int m = 0; m < n && mpi_test_good(t); m++, cases++) {
                for (int j = 0; j < n; j++)
                    have[j] = j == m ? 0 : SCR_HAVE_ALL;
                lose_and_rebuild(&c, &plans[i], have, 1);
            }
            cell_free_all(&c);
        }
    report(t, cases);
    free(have);
}

int main(int argc, char **argv)
{
    return mpi_test_main(argc, argv,
                         MPI_CASES(RUN(every_subset_of_whole_members),
                                   RUN(every_mixture_of_lost_data_and_redundancy),
                                   RUN(every_size_about_a_chunk_on_every_member)));
}
