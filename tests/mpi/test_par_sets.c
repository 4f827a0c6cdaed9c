/* SPDX-License-Identifier: BSD-3-Clause */
/* Redundancy sets: no set holds two ranks of a group, whatever the topology. */
/* ranks: 1 2 7 13 */
#include "mpi_test.h"

#include <limits.h>

#include "base/str.h"
#include "par/redundancy/sets.h"

/* The same sequence on every rank, from a printed seed. */
static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static uint32_t seed_of_run(struct mpi_test *t, const char *name)
{
    const char *given = getenv("SCR_TEST_SEED");
    uint32_t seed =
        given != NULL ? (uint32_t)strtoul(given, NULL, 10) : (uint32_t)getpid();
    seed = seed != 0 ? seed : 1;
    scr_bcast_bytes_all(&t->comm, 0, &seed, sizeof seed, NULL);
    if (t->comm.rank == 0)
        printf("       %s: SCR_TEST_SEED=%u\n", name, seed);
    return seed;
}

static uint32_t below(uint32_t *state, int n)
{
    return next_random(state) % (uint32_t)n;
}

/* --- what the header promises, computed with everything in one place --- */

/* Position of rank when groups are counted one after the other, in the order of their
 * lowest ranks. */
static int position_of(const int *group_of, int ranks, int rank)
{
    int first = rank, before = 0;
    for (int r = rank - 1; r >= 0; r--)
        if (group_of[r] == group_of[rank])
            first = r;
    for (int r = 0; r < ranks; r++) {
        int lowest = r;
        for (int i = r - 1; i >= 0; i--)
            if (group_of[i] == group_of[r])
                lowest = i;
        before += lowest < first || (lowest == first && r < rank);
    }
    return before;
}

static int largest_group(const int *group_of, int ranks)
{
    int most = 0;
    for (int r = 0; r < ranks; r++) {
        int n = 0;
        for (int i = 0; i < ranks; i++)
            n += group_of[i] == group_of[r];
        most = n > most ? n : most;
    }
    return most;
}

static int expected_sets(int ranks, int largest, int set_size)
{
    int s = ranks / set_size > largest ? ranks / set_size : largest;
    return s > 1 ? s : 1;
}

/* The members are those, and in that order, that the positions give. */
static void check_members(struct mpi_test *t, const struct scr_set *set,
                          const int *group_of, int sets)
{
    int n = t->comm.size, mine = position_of(group_of, n, t->comm.rank) % sets;
    for (int r = 0; r < n; r++) {
        int p = position_of(group_of, n, r);
        if (p % sets == mine && p / sets < set->n)
            CHECK_INT(set->world[p / sets], r);
        else
            CHECK(p % sets != mine);
    }
}

static void check_no_group_twice(struct mpi_test *t, const struct scr_set *set,
                                 const int *group_of)
{
    for (int i = 0; i < set->n; i++)
        for (int j = 0; j < i; j++)
            CHECK(group_of[set->world[i]] != group_of[set->world[j]]);
}

static void check_fields(struct mpi_test *t, const struct scr_set *set)
{
    int lowest = set->world[0];
    CHECK_INT(set->n, set->comm.size);
    CHECK_INT(set->me, set->comm.rank);
    CHECK_INT(set->world[set->me], t->comm.rank);
    for (int i = 1; i < set->n; i++)
        lowest = set->world[i] < lowest ? set->world[i] : lowest;
    CHECK_INT(set->id, lowest);
    CHECK_INT(scr_same_all(&set->comm, set->world, (size_t)set->n * sizeof *set->world),
              1);
}

/* As a header has it; of a list that is too long nothing but that. */
static struct scr_setdesc list_of(const int *members, int n)
{
    struct scr_setdesc d = { .scheme = SCR_SCHEME_XOR, .failures = 1, .n = n };
    if (n > 0 && n <= SCR_EC_MAX)
        memcpy(d.world, members, (size_t)n * sizeof *members);
    return d;
}

/* Finds the sets again from their lists. */
static void check_found_again(struct mpi_test *t, const struct scr_set *set)
{
    struct scr_set again;
    struct scr_err err = SCR_ERR_INIT;
    const struct scr_setdesc known = list_of(set->world, set->n);
    CHECK_RC(scr_set_restore_all(&t->comm, &known, SCR_OK, &again, &err), SCR_OK, &err);
    CHECK_INT(again.n, set->n);
    CHECK_INT(again.me, set->me);
    CHECK_INT(again.id, set->id);
    CHECK(again.n == set->n &&
          memcmp(again.world, set->world, (size_t)set->n * sizeof *set->world) == 0);
    scr_set_free(&again);
}

/* Makes the sets of a topology and checks them. */
static void check_topology(struct mpi_test *t, const int *group_of, int set_size)
{
    struct scr_comm group;
    struct scr_set set;
    struct scr_err err = SCR_ERR_INIT;
    char name[16];
    int ranks = t->comm.size;
    snprintf(name, sizeof name, "g%d", group_of[t->comm.rank]);
    CHECK_RC(scr_comm_split_str_all(&t->comm, SCR_OK, name, &group, &err), SCR_OK,
             &err);
    struct scr_cut cut = { .group = &group, .set_size = set_size };
    CHECK_RC(scr_set_make_all(&t->comm, &cut, SCR_OK, &set, &err), SCR_OK, &err);
    int largest = largest_group(group_of, ranks);
    CHECK_INT(cut.largest, largest);
    CHECK_INT(cut.least, scr_min_all(&t->comm, set.n > 1 ? set.n : INT_MAX - 1));
    int sets = expected_sets(ranks, largest, set_size);
    CHECK(set.n >= ranks / sets && set.n <= (ranks + sets - 1) / sets);
    /* Smaller than asked for only where a large group leaves no other way. */
    CHECK(set.n >= set_size || largest > ranks / set_size || ranks < set_size);
    CHECK(set.n < 2 * (int64_t)set_size);
    check_fields(t, &set);
    check_no_group_twice(t, &set, group_of);
    check_members(t, &set, group_of, sets);
    CHECK_INT(scr_sum_all(&t->comm, set.me == 0), sets);
    check_found_again(t, &set);
    scr_set_free(&set);
    scr_comm_free(&group);
    CHECK(set.comm.comm == MPI_COMM_NULL);
}

/* --- topologies --- */

static void fill_uniform(int *group_of, int n, uint32_t *random)
{
    int groups = 1 + (int)below(random, n);
    for (int r = 0; r < n; r++)
        group_of[r] = (int)below(random, groups);
}

/* Blocks of random lengths, like nodes that are not all full. */
static void fill_blocks(int *group_of, int n, uint32_t *random)
{
    int longest = 1 + (int)below(random, n);
    for (int r = 0, g = 0; r < n; g++)
        for (int left = 1 + (int)below(random, longest); left > 0 && r < n; left--)
            group_of[r++] = g;
}

/* One group takes most ranks, wherever they are. */
static void fill_giant(int *group_of, int n, uint32_t *random)
{
    for (int r = 0; r < n; r++)
        group_of[r] = below(random, 4) ? n : (int)below(random, n);
}

/* Groups of one, in random order, except the ranks of one block. */
static void fill_singles(int *group_of, int n, uint32_t *random)
{
    int from = (int)below(random, n), to = from + (int)below(random, n);
    for (int r = 0; r < n; r++)
        group_of[r] = r >= from && r < to ? n : n - r;
}

static void fill_one(int *group_of, int n, uint32_t *random)
{
    (void)random;
    for (int r = 0; r < n; r++)
        group_of[r] = 0;
}

/* Topologies times ranks, and the step from one set size to the next. The sets do not
 * depend on the MPI: fewer where waiting ranks spin on the cores. */
#ifdef MPICH_VERSION
enum { WORK = 300, STEP = 4 };
#else
enum { WORK = 4000, STEP = 1 };
#endif

MPI_CASE(random_topologies)
{
    static void (*const fill[])(int *, int, uint32_t *) = {
        fill_uniform, fill_blocks, fill_giant, fill_uniform, fill_blocks, fill_singles,
    };
    enum { FILLS = sizeof fill / sizeof *fill };
    uint32_t random = seed_of_run(t, t->name);
    int n = t->comm.size;
    int *group_of = scr_calloc((size_t)n, sizeof *group_of);
    for (int round = 0; round < WORK / n && mpi_test_good(t); round++) {
        fill[round % FILLS](group_of, n, &random);
        check_topology(t, group_of, 1 + (int)below(&random, n + 2));
    }
    free(group_of);
}

/* From alone to all together, and beyond what a set can have. */
MPI_CASE(every_set_size)
{
    static const int beyond[] = { 254, 255, 256, 1000000, INT_MAX };
    uint32_t random = seed_of_run(t, t->name);
    int n = t->comm.size;
    int *group_of = scr_calloc((size_t)n, sizeof *group_of);
    for (int kind = 0; kind < 3; kind++) {
        (kind == 0   ? fill_one
         : kind == 1 ? fill_blocks
                     : fill_singles)(group_of, n, &random);
        for (int size = 1; size <= n + 1; size += STEP)
            check_topology(t, group_of, size);
        for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i += STEP)
            check_topology(t, group_of, beyond[i]);
    }
    free(group_of);
}

/* --- more ranks than a test can run --- */

/* The sets of groups of these sizes, counted position by position. */
static void check_count(struct mpi_test *t, const int *groups, int ngroups,
                        int set_size)
{
    int ranks = 0, largest = 0, p = 0;
    for (int g = 0; g < ngroups; g++) {
        ranks += groups[g];
        largest = groups[g] > largest ? groups[g] : largest;
    }
    int s = scr_set_count(ranks, largest, set_size);
    int least = ranks / s, most = (ranks + s - 1) / s;
    int *last = scr_calloc((size_t)s, sizeof *last); /* group of the last member, + 1 */
    CHECK(least >= 1 && most <= 255);
    CHECK(most < 2 * (int64_t)set_size);
    CHECK(least >= set_size || largest > ranks / set_size || ranks < set_size ||
          ranks / (s - 1) >= 255);
    for (int g = 0; g < ngroups; g++)
        for (int i = 0; i < groups[g]; i++, p++) {
            CHECK(last[p % s] != g + 1);
            last[p % s] = g + 1;
        }
    free(last);
}

MPI_CASE(counts_hold_for_any_number_of_ranks)
{
    uint32_t random = seed_of_run(t, t->name);
    int groups[1000];
    for (int round = 0; round < 2000 && t->comm.rank == 0 && !t->failed; round++) {
        int n = 1 + (int)below(&random, 1000), most = 1 + (int)below(&random, 64);
        for (int g = 0; g < n; g++)
            groups[g] = 1 + (int)below(&random, most);
        if (round % 5 == 0)
            groups[below(&random, n)] = 1 + (int)below(&random, 5000);
        int limit = round % 2 ? 20 : 600;
        check_count(t, groups, n, 1 + (int)below(&random, limit));
        check_count(t, groups, n, round % 2 ? 255 : 256);
    }
}

MPI_CASE(counts_of_the_manual)
{
    static const struct {
        int ranks, largest, set_size, sets;
    } rows[] = {
        { 9, 1, 8, 1 },      /* 9 */
        { 15, 1, 8, 1 },     /* 15 */
        { 16, 1, 8, 2 },     /* 8+8 */
        { 17, 1, 8, 2 },     /* 9+8 */
        { 18, 2, 8, 2 },     /* two ranks on each of 9 nodes: 9+9 */
        { 34, 2, 8, 4 },     /* of 17 nodes: 9+9+8+8 */
        { 4, 4, 8, 4 },      /* one node: every rank alone */
        { 8, 1, 1, 8 },      /* the same by wish */
        { 1, 1, 8, 1 },      /* a job of one */
        { 255, 1, 255, 1 },  /* the most a set can have */
        { 256, 1, 255, 2 },  /* one more: 128+128 */
        { 509, 1, 300, 2 },  /* 255+254 */
        { 511, 1, 1000, 3 }, /* 171+170+170 */
        { INT_MAX, 1, INT_MAX, 8421505 },
        { INT_MAX, INT_MAX, 8, INT_MAX },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_INT(scr_set_count(rows[i].ranks, rows[i].largest, rows[i].set_size),
                  rows[i].sets);
}

MPI_CASE(blocks_and_cycles_of_equal_groups)
{
    int n = t->comm.size;
    int *group_of = scr_calloc((size_t)n, sizeof *group_of);
    for (int per = 1; per <= n; per += 2) {
        for (int r = 0; r < n; r++)
            group_of[r] = r / per;
        check_topology(t, group_of, 8);
        for (int r = 0; r < n; r++)
            group_of[r] = r % per;
        check_topology(t, group_of, 3);
    }
    free(group_of);
}

MPI_CASE(one_group_leaves_every_rank_alone)
{
    struct scr_set set;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_cut cut = { .group = &t->comm, .set_size = 8 };
    CHECK_RC(scr_set_make_all(&t->comm, &cut, SCR_OK, &set, &err), SCR_OK, &err);
    CHECK_INT(set.n, 1);
    CHECK_INT(set.id, t->comm.rank);
    scr_set_free(&set);
}

MPI_CASE(a_set_size_below_one_is_refused_everywhere)
{
    struct scr_set set;
    struct scr_err err = SCR_ERR_INIT;
    int size = t->comm.rank == t->comm.size - 1 ? 0 : 8;
    struct scr_cut cut = { .group = &t->comm, .set_size = size };
    CHECK_RC(scr_set_make_all(&t->comm, &cut, SCR_OK, &set, &err), SCR_E_RANGE, &err);
    CHECK_INT(err.rank, t->comm.size - 1);
}

MPI_CASE(what_a_rank_found_before_stops_all)
{
    int last = t->comm.size - 1;
    struct scr_set set;
    struct scr_comm part;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_cut cut = { .group = &t->comm, .set_size = 8 };
    int rc = t->comm.rank == last ? scr_fail(&err, SCR_E_NOMEM, 0, "before") : SCR_OK;
    CHECK_RC(scr_set_make_all(&t->comm, &cut, rc, &set, &err), SCR_E_NOMEM, &err);
    CHECK(err.rank == last && strcmp(err.text, "before") == 0);
    CHECK(set.comm.comm == MPI_COMM_NULL);
    scr_err_clear(&err);
    rc = t->comm.rank == last ? scr_fail(&err, SCR_E_NOMEM, 0, "before") : SCR_OK;
    CHECK_RC(scr_comm_split_str_all(&t->comm, rc, "a", &part, &err), SCR_E_NOMEM, &err);
    CHECK(err.rank == last && strcmp(err.text, "before") == 0);
    CHECK(part.comm == MPI_COMM_NULL);
}

static void check_refused(struct mpi_test *t, const int *members, int n, int code)
{
    struct scr_set set;
    struct scr_err err = SCR_ERR_INIT;
    const struct scr_setdesc known = list_of(members, n);
    CHECK_RC(scr_set_restore_all(&t->comm, &known, SCR_OK, &set, &err), code, &err);
    CHECK(set.comm.comm == MPI_COMM_NULL && set.world == NULL);
}

/* One rank alone has failed before, or remembers another scheme. */
MPI_CASE(a_set_is_not_found_again_if_a_rank_failed_or_disagrees)
{
    struct scr_set set;
    struct scr_err err = SCR_ERR_INIT;
    int all[SCR_EC_MAX], n = t->comm.size, last = t->comm.rank == n - 1;
    for (int i = 0; i < n; i++)
        all[i] = i;
    struct scr_setdesc known = list_of(all, n);
    int rc = last ? scr_fail(&err, SCR_E_FULL, 0, "before") : SCR_OK;
    CHECK_RC(scr_set_restore_all(&t->comm, &known, rc, &set, &err), SCR_E_FULL, &err);
    CHECK(err.rank == n - 1 && strcmp(err.text, "before") == 0);
    CHECK(set.comm.comm == MPI_COMM_NULL && set.world == NULL);
    scr_err_clear(&err);
    known.failures += last;
    CHECK_RC(scr_set_restore_all(&t->comm, &known, SCR_OK, &set, &err),
             n > 1 ? SCR_E_CORRUPT : SCR_OK, &err);
    scr_set_free(&set);
}

MPI_CASE(stored_lists_that_cannot_be_are_refused_everywhere)
{
    int n = t->comm.size, me = t->comm.rank, last = n - 1;
    int alone[2] = { me, 0 };
    int odd = me == last;
    check_refused(t, NULL, 0, SCR_E_LOST);
    check_refused(t, alone, odd ? 0 : 1, SCR_E_LOST);
    check_refused(t, alone, odd ? 256 : 1, SCR_E_CORRUPT);
    alone[0] = odd ? n : me;
    check_refused(t, alone, 1, SCR_E_CORRUPT);
    alone[0] = odd ? -1 : me;
    check_refused(t, alone, 1, SCR_E_CORRUPT);
    alone[0] = alone[1] = me;
    check_refused(t, alone, odd ? 2 : 1, SCR_E_CORRUPT);
    if (n < 2)
        return;
    alone[0] = odd ? 0 : me; /* names another rank only */
    check_refused(t, alone, 1, SCR_E_CORRUPT);
    int pair[2] = { 0, last };
    alone[0] = me; /* the others think they are alone; the last has a partner */
    check_refused(t, odd ? pair : alone, odd ? 2 : 1, SCR_E_CORRUPT);
    int other_order[2] = { last, 0 };
    if (n == 2)
        check_refused(t, odd ? pair : other_order, 2, SCR_E_CORRUPT);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(random_topologies), RUN(every_set_size),
                  RUN(counts_hold_for_any_number_of_ranks), RUN(counts_of_the_manual),
                  RUN(blocks_and_cycles_of_equal_groups),
                  RUN(one_group_leaves_every_rank_alone),
                  RUN(a_set_size_below_one_is_refused_everywhere),
                  RUN(what_a_rank_found_before_stops_all),
                  RUN(stored_lists_that_cannot_be_are_refused_everywhere),
                  RUN(a_set_is_not_found_again_if_a_rank_failed_or_disagrees)));
}
