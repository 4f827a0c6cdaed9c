/* SPDX-License-Identifier: BSD-3-Clause */
/* Redundancy sets: no set holds two ranks of a group, whatever the topology. */
/* ranks: 1 2 7 13 */
#include "mpi_test.h"

#include "base/str.h"
#include "par/sets.h"

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

static int expected_sets(int ranks, int largest, int set_size)
{
    int s = ranks / set_size > largest ? ranks / set_size : largest;
    return s > 1 ? s : 1;
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

/* Makes the sets of a topology, checks them, and finds them again from their lists. */
static void check_topology(struct mpi_test *t, const int *group_of, int set_size)
{
    struct scr_comm group;
    struct scr_set set, again;
    struct scr_err err = SCR_ERR_INIT;
    char name[16];
    int ranks = t->comm.size, largest;
    snprintf(name, sizeof name, "g%d", group_of[t->comm.rank]);
    CHECK_RC(scr_comm_split_str_all(&t->comm, name, &group, &err), SCR_OK, &err);
    largest = (int)scr_max_all(&t->comm, group.size);
    CHECK_RC(scr_set_make_all(&t->comm, &group, set_size, &set, &err), SCR_OK, &err);
    int sets = expected_sets(ranks, largest, set_size);
    CHECK(set.n >= ranks / sets && set.n <= (ranks + sets - 1) / sets);
    check_fields(t, &set);
    check_no_group_twice(t, &set, group_of);
    CHECK_INT(scr_sum_all(&t->comm, set.me == 0), sets);

    CHECK_RC(scr_set_restore_all(&t->comm, set.world, set.n, &again, &err), SCR_OK,
             &err);
    CHECK_INT(again.n, set.n);
    CHECK_INT(again.me, set.me);
    CHECK_INT(again.id, set.id);
    CHECK(again.n == set.n &&
          memcmp(again.world, set.world, (size_t)set.n * sizeof *set.world) == 0);
    scr_set_free(&again);
    scr_set_free(&set);
    scr_comm_free(&group);
    CHECK(set.comm.comm == MPI_COMM_NULL);
}

MPI_CASE(random_topologies)
{
    uint32_t random = seed_of_run(t, t->name);
    int *group_of = scr_calloc((size_t)t->comm.size, sizeof *group_of);
    for (int round = 0; round < 25; round++) {
        int groups = 1 + (int)(next_random(&random) % (uint32_t)t->comm.size);
        for (int r = 0; r < t->comm.size; r++)
            group_of[r] = (int)(next_random(&random) % (uint32_t)groups);
        check_topology(t, group_of, 1 + (int)(next_random(&random) % 10));
    }
    free(group_of);
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
    CHECK_RC(scr_set_make_all(&t->comm, &t->comm, 8, &set, &err), SCR_OK, &err);
    CHECK_INT(set.n, 1);
    CHECK_INT(set.id, t->comm.rank);
    scr_set_free(&set);
}

MPI_CASE(a_set_size_below_one_is_refused_everywhere)
{
    struct scr_set set;
    struct scr_err err = SCR_ERR_INIT;
    int size = t->comm.rank == t->comm.size - 1 ? 0 : 8;
    CHECK_RC(scr_set_make_all(&t->comm, &t->comm, size, &set, &err), SCR_E_RANGE, &err);
    CHECK_INT(err.rank, t->comm.size - 1);
}

static void check_refused(struct mpi_test *t, const int *members, int n, int code)
{
    struct scr_set set;
    struct scr_err err = SCR_ERR_INIT;
    CHECK_RC(scr_set_restore_all(&t->comm, members, n, &set, &err), code, &err);
    CHECK(set.comm.comm == MPI_COMM_NULL && set.world == NULL);
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
        MPI_CASES(RUN(random_topologies), RUN(blocks_and_cycles_of_equal_groups),
                  RUN(one_group_leaves_every_rank_alone),
                  RUN(a_set_size_below_one_is_refused_everywhere),
                  RUN(stored_lists_that_cannot_be_are_refused_everywhere)));
}
