/* SPDX-License-Identifier: BSD-3-Clause */
/* Two thousand flipped bits, in application files, parity and headers, under every
 * scheme, one or several at a time: repaired bit for bit as long as the scheme carries
 * the damage (invariant C3), else refused alike by all ranks with nothing changed. No
 * wrong byte is ever taken for a good one, by the ranks or by the commands.
 *
 * TEST_SEED repeats a run. */
/* ranks: 1 2 6 */
#include "mpi_test.h"

#include "base/str.h"
#include "helper_cell.h"
#include "helper_random.h"
#include "helper_tolerance.h"

/* Bits do not depend on the MPI: where waiting ranks spin on the cores some will do. */
#ifdef MPICH_VERSION
enum { FLIPS = 200 };
#else
enum { FLIPS = 2000 };
#endif

static const struct {
    enum scr_scheme scheme;
    int k;
} plans[] = {
    { SCR_SCHEME_SINGLE, 0 }, { SCR_SCHEME_PARTNER, 1 }, { SCR_SCHEME_PARTNER, 2 },
    { SCR_SCHEME_XOR, 1 },    { SCR_SCHEME_RS, 1 },      { SCR_SCHEME_RS, 2 },
    { SCR_SCHEME_RS, 3 },     { SCR_SCHEME_RS, 4 },      { SCR_SCHEME_PARTNER, 4 },
};
enum { PLANS = sizeof plans / sizeof plans[0] };

/* Cases of one set of files, before new ones are made. */
enum { SPREE = 10 };

struct tally {
    int flips, repaired, refused;
    int kinds[CELL_LOSSES_]; /* flips of each */
};

struct spree {
    struct cell c;
    enum scr_scheme scheme; /* as reduced */
    int k;
    struct test_random *r;
};

static void start(struct mpi_test *t, struct spree *s, int number)
{
    int plan = number % PLANS, n = t->comm.size;
    int profile = test_below(s->r, CELL_CHUNKS + CELL_TURNS);
    s->scheme = plans[plan].scheme;
    s->k = plans[plan].k;
    scr_geom_weaken(&s->scheme, &s->k, n);
    int striped = s->scheme == SCR_SCHEME_XOR || s->scheme == SCR_SCHEME_RS;
    cell_make_all(t, &s->c, &t->comm, (enum cell_files)profile, striped ? n - s->k : 1);
    s->c.p.mpi_buf = number % 2 ? 64 : 100000;
    cell_protect_all(&s->c, s->scheme, s->k);
}

/* Mostly one bit, at times several, on any members. */
static void flip_some(struct spree *s, struct tally *tally)
{
    static const enum cell_loss kinds[] = { CELL_FLIP_DATA, CELL_FLIP_PARITY,
                                            CELL_FLIP_HEADER };
    int count = test_below(s->r, 3) ? 1 : 2 + test_below(s->r, s->k + 2);
    for (int i = 0; i < count; i++) {
        int member = test_below(s->r, s->c.world.size);
        enum cell_loss kind = kinds[test_below(s->r, 3)];
        uint64_t pick = test_draw(s->r);
        if (member == s->c.world.rank)
            cell_flip(&s->c, kind, pick);
        tally->kinds[kind]++;
        tally->flips++;
    }
}

/* The result of the flips. */
struct harm {
    int can;  /* the scheme carries it */
    int reds; /* redundancy files hit */
};

static struct harm find_harm(const struct spree *s)
{
    int n = s->c.world.size, mine = cell_have(&s->c), have[SCR_EC_MAX];
    scr_allgather_bytes_all(&s->c.world, &mine, sizeof mine, have, NULL);
    struct harm harm = { test_tolerates(s->scheme, s->k, n, have), 0 };
    for (int i = 0; i < n; i++)
        harm.reds += !(have[i] & SCR_HAVE_PARITY);
    return harm;
}

/* By one member, as the commands do it: they know no filemaps, so that with a header
 * and its copies gone they fail where the ranks do not. 1 if all is whole again. */
static int repair_serially(struct spree *s, const struct harm *harm)
{
    struct mpi_test *t = s->c.t;
    int copies = s->c.world.size > 1;
    uint64_t before = cell_print(&s->c);
    int rc = cell_try_serial_all(&s->c, test_below(s->r, s->c.world.size));
    CHECK(rc == SCR_OK || rc == SCR_E_LOST);
    CHECK(rc != SCR_OK || harm->can);
    CHECK(rc == SCR_OK || !harm->can || harm->reds > copies);
    if (rc == SCR_OK)
        cell_check_bytes(&s->c);
    else
        CHECK(cell_print(&s->c) == before);
    CHECK_INT(cell_count(&s->c), s->c.nkept);
    return rc == SCR_OK;
}

/* repaired: before, by other means, which give other times. */
static void repair_together(struct spree *s, int can, int repaired)
{
    struct mpi_test *t = s->c.t;
    uint64_t before = cell_print(&s->c);
    CHECK_RC(cell_try_restore_all(&s->c), can ? SCR_OK : SCR_E_LOST, &s->c.err);
    if (can && repaired)
        cell_check_bytes(&s->c);
    else if (can)
        cell_check_whole(&s->c);
    else
        CHECK(cell_print(&s->c) == before);
    CHECK_INT(cell_count(&s->c), s->c.nkept);
}

static void one_case(struct spree *s, struct tally *tally, int serial)
{
    flip_some(s, tally);
    struct harm harm = find_harm(s);
    int repaired = serial && repair_serially(s, &harm);
    repair_together(s, harm.can, repaired);
    tally->repaired += harm.can;
    tally->refused += !harm.can;
    if (!harm.can || serial)
        cell_put_back(&s->c);
}

MPI_CASE(two_thousand_flips_are_repaired_or_refused)
{
    uint64_t seed = test_seed_all(t);
    struct test_random r = { seed };
    struct tally tally = { 0 };
    for (int i = 0; tally.flips < FLIPS && mpi_test_good(t); i++) {
        struct spree s = { .r = &r };
        start(t, &s, i);
        for (int j = 0; j < SPREE && mpi_test_good(t); j++)
            one_case(&s, &tally, j % 3 == 0);
        cell_free_all(&s.c);
        if (!mpi_test_good(t) && t->comm.rank == 0)
            fprintf(stderr, "  with %s(%d), set of files number %d\n",
                    scr_scheme_name(s.scheme), s.k, i);
    }
    if (t->comm.rank == 0)
        printf("       %d flips (%d in data, %d in parity, %d in headers): %d times "
               "repaired, %d times refused\n",
               tally.flips, tally.kinds[CELL_FLIP_DATA], tally.kinds[CELL_FLIP_PARITY],
               tally.kinds[CELL_FLIP_HEADER], tally.repaired, tally.refused);
    CHECK(tally.repaired > 0 && tally.refused > 0);
}

int main(int argc, char **argv)
{
    return mpi_test_main(argc, argv,
                         MPI_CASES(RUN(two_thousand_flips_are_repaired_or_refused)));
}
