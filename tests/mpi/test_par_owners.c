/* SPDX-License-Identifier: BSD-3-Clause */
/* Which files several ranks have. */
/* ranks: 1 2 4 5 */
#include "mpi_test.h"
#include "par/pfs/owners.h"

/* The names a rank has in a case; a pure function of the rank. */
typedef void (*names_of)(int rank, int size, struct scr_table *names);

static void add(struct scr_table *names, const char *fmt, int a, int b)
{
    char name[64];
    snprintf(name, sizeof name, fmt, a, b);
    scr_table_add(names, name);
}

/* Ranks that have this name, ascending. */
static int who_has(names_of f, int size, const char *name, int *ranks)
{
    int n = 0;
    for (int r = 0; r < size; r++) {
        struct scr_table names;
        scr_table_init(&names, sizeof(struct scr_item));
        f(r, size, &names);
        if (scr_table_find(&names, name) != NULL)
            ranks[n++] = r;
        scr_table_fini(&names);
    }
    return n;
}

/* Compares with what follows from knowing the names of all ranks. */
static void check(struct mpi_test *t, names_of f)
{
    struct scr_table mine, shared;
    scr_table_init(&mine, sizeof(struct scr_item));
    scr_table_init(&shared, sizeof(struct scr_shared));
    struct scr_err err = SCR_ERR_INIT;
    int ranks[64], expect_any = 0;
    uint64_t totals[2] = { 1, (uint64_t)t->comm.rank };
    struct scr_owners q = { &mine, totals, 2, &shared, -1 };
    f(t->comm.rank, t->comm.size, &mine);
    CHECK_RC(scr_owners_find_all(&t->comm, &q, SCR_OK, &err), SCR_OK, &err);
    CHECK_INT(totals[0], t->comm.size);
    CHECK_INT(totals[1], t->comm.size * (t->comm.size - 1) / 2);
    size_t n = 0;
    for (SCR_EACH(struct scr_item, e, &mine)) {
        int has = who_has(f, t->comm.size, e->name, ranks);
        const struct scr_shared *found = scr_table_find(&shared, e->name);
        CHECK((found != NULL) == (has > 1));
        if (found == NULL)
            continue;
        n++;
        CHECK_INT(found->owner, ranks[0]);
    }
    CHECK_INT(shared.n, n);
    expect_any = scr_or_all(&t->comm, n > 0);
    CHECK_INT(q.any, expect_any);
    scr_table_fini(&mine);
    scr_table_fini(&shared);
}

static void numbered(int rank, int size, struct scr_table *names)
{
    (void)size;
    add(names, "step.7/rank_%d.ckpt", rank, 0);
    add(names, "step.7/rank_%d/part.h5", rank, 0);
}

static void numbered_from_one(int rank, int size, struct scr_table *names)
{
    (void)size;
    for (int i = 0; i < 3; i++)
        add(names, "out.%06d.%04d", rank + 1, i);
}

static void with_a_header(int rank, int size, struct scr_table *names)
{
    numbered(rank, size, names);
    if (rank == size - 1)
        add(names, "header", 0, 0);
}

MPI_CASE(names_with_the_rank_are_of_one_rank)
{
    check(t, numbered);
    check(t, numbered_from_one);
    check(t, with_a_header);
}

static void all_alike(int rank, int size, struct scr_table *names)
{
    /* in another order on every rank */
    for (int i = 0; i < size; i++)
        add(names, "shared.%d", (i + rank) % size, 0);
    add(names, "shared", 0, 0);
}

static void with_one_shared(int rank, int size, struct scr_table *names)
{
    numbered(rank, size, names);
    add(names, "shared.dat", 0, 0);
}

static void in_pairs(int rank, int size, struct scr_table *names)
{
    (void)size;
    add(names, "pair.%d", rank / 2, 0);
}

static void of_another(int rank, int size, struct scr_table *names)
{
    numbered(rank, size, names);
    if (rank == size - 1)
        add(names, "step.7/rank_%d.ckpt", 0, 0);
}

static void headers(int rank, int size, struct scr_table *names)
{
    numbered(rank, size, names);
    add(names, "header.%c", 'a' + rank % 3, 0);
}

MPI_CASE(files_of_several_ranks_belong_to_the_lowest)
{
    check(t, all_alike);
    check(t, with_one_shared);
    check(t, in_pairs);
    check(t, of_another);
    check(t, headers);
}

static void none(int rank, int size, struct scr_table *names)
{
    (void)rank, (void)size, (void)names;
}

static void huge_numbers(int rank, int size, struct scr_table *names)
{
    (void)size;
    add(names, "x99999999999999999999999999.%d", rank % 2, 0);
    add(names, "4294967296%d", rank, 0);
}

MPI_CASE(numbers_that_are_no_ranks)
{
    check(t, none);
    check(t, huge_numbers);
}

static int round_of_random;

/* Some of a few names, so that many are had by several ranks. */
static void at_random(int rank, int size, struct scr_table *names)
{
    static const char *const form[] = { "f%d", "a%d.%d", "d%d/g%d", "n" };
    uint32_t x = (uint32_t)(rank * 7919 + round_of_random * 104729 + 1);
    for (int i = 0; i < 4; i++) {
        x = x * 1664525u + 1013904223u;
        add(names, form[x >> 30], (int)(x >> 16) % (size + 1), (int)(x >> 8) % 3);
    }
    if (round_of_random % 2)
        add(names, "own.%d", rank, 0);
}

MPI_CASE(what_is_found_is_what_knowing_all_gives)
{
    for (round_of_random = 0; round_of_random < 200; round_of_random++)
        check(t, at_random);
}

MPI_CASE(ranks_are_printed_as_ranges)
{
    struct scr_table mine, shared;
    scr_table_init(&mine, sizeof(struct scr_item));
    scr_table_init(&shared, sizeof(struct scr_shared));
    struct scr_err err = SCR_ERR_INIT;
    struct scr_owners q = { .dests = &mine, .shared = &shared };
    with_one_shared(t->comm.rank, t->comm.size, &mine);
    CHECK_RC(scr_owners_find_all(&t->comm, &q, SCR_OK, &err), SCR_OK, &err);
    const struct scr_shared *found = scr_table_find(&shared, "shared.dat");
    char want[16];
    snprintf(want, sizeof want, "0-%d", t->comm.size - 1);
    CHECK(t->comm.size == 1 ? found == NULL
                            : found != NULL && strcmp(found->ranks, want) == 0);
    scr_table_fini(&mine);
    scr_table_fini(&shared);
}

/* What a rank found before travels in the reduction. */
MPI_CASE(an_error_of_one_rank_is_that_of_all)
{
    struct scr_table mine, shared;
    scr_table_init(&mine, sizeof(struct scr_item));
    scr_table_init(&shared, sizeof(struct scr_shared));
    struct scr_err err = SCR_ERR_INIT;
    struct scr_owners q = { .dests = &mine, .shared = &shared, .any = 1 };
    int last = t->comm.size - 1, rc = SCR_OK;
    with_one_shared(t->comm.rank, t->comm.size, &mine);
    if (t->comm.rank == last)
        rc = scr_fail(&err, SCR_E_MISSING, 0, "never written");
    rc = scr_owners_find_all(&t->comm, &q, rc, &err);
    CHECK_RC(rc, SCR_E_MISSING, &err);
    CHECK(strcmp(err.text, "never written") == 0);
    CHECK_INT(err.rank, last);
    CHECK(!q.any && shared.n == 0);
    scr_table_fini(&mine);
    scr_table_fini(&shared);
}

int main(int argc, char **argv)
{
    return mpi_test_main(argc, argv,
                         MPI_CASES(RUN(names_with_the_rank_are_of_one_rank),
                                   RUN(files_of_several_ranks_belong_to_the_lowest),
                                   RUN(numbers_that_are_no_ranks),
                                   RUN(what_is_found_is_what_knowing_all_gives),
                                   RUN(ranks_are_printed_as_ranges),
                                   RUN(an_error_of_one_rank_is_that_of_all)));
}
