/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns: never more ranks at work than allowed, never fewer while one waits. */
/* ranks: 1 2 3 5 */
#include <stdatomic.h>

#include "mpi_test.h"
#include "par/comm/turns.h"

enum { PATIENCE_US = 60 * 1000000, NAP_US = 100 };

/* Shared by all ranks. */
struct counts {
    atomic_int inside, most, begun, ended;
};

struct scene {
    struct mpi_test *t;
    MPI_Win win;
    struct counts *n;
    int width;
    int movers; /* ranks that have work */
    int holder; /* rank that works until all others have ended; -1: none */
    int fails;  /* rank that fails; -1: none */
};

static void open_scene(struct mpi_test *t, struct scene *s)
{
    MPI_Aint bytes = t->comm.rank == 0 ? (MPI_Aint)sizeof(struct counts) : 0;
    void *mine;
    int unit;
    *s = (struct scene){ .t = t };
    MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, t->comm.comm, &mine, &s->win);
    MPI_Win_shared_query(s->win, 0, &bytes, &unit, &s->n);
}

static void close_scene(struct scene *s)
{
    MPI_Win_free(&s->win);
}

/* 1 if no rank may be waiting for a place that is free. */
static int is_full(const struct scene *s)
{
    return s->n->inside == s->width || s->n->begun == s->movers;
}

static int others_ended(const struct scene *s)
{
    return s->n->ended == s->movers - 1;
}

static void wait_until(struct scene *s, int (*met)(const struct scene *s))
{
    struct mpi_test *t = s->t;
    long waited = 0;
    for (; !met(s) && waited < PATIENCE_US; waited += NAP_US)
        usleep(NAP_US);
    CHECK(waited < PATIENCE_US);
}

static int work(void *arg, struct scr_err *err)
{
    struct scene *s = arg;
    int rank = s->t->comm.rank, now = ++s->n->inside, most = s->n->most;
    s->n->begun++;
    while (now > most && !atomic_compare_exchange_weak(&s->n->most, &most, now))
        ;
    if (rank == s->fails) {
        s->n->inside--;
        return scr_fail(err, SCR_E_FULL, 0, "rank %d has no room", rank);
    }
    if (s->holder < 0)
        wait_until(s, is_full);
    else if (s->holder == rank)
        wait_until(s, others_ended);
    s->n->inside--;
    s->n->ended++;
    return SCR_OK;
}

static int rank_has_work(int mask, int rank)
{
    return (mask >> rank) & 1;
}

static int run(struct scene *s, int width, int mask, int holder, int fails)
{
    struct mpi_test *t = s->t;
    struct scr_err err = SCR_ERR_INIT;
    s->width = width;
    s->holder = holder;
    s->fails = fails;
    s->movers = __builtin_popcount((unsigned)mask);
    scr_barrier_all(&t->comm);
    if (t->comm.rank == 0)
        s->n->inside = s->n->most = s->n->begun = s->n->ended = 0;
    scr_barrier_all(&t->comm);
    int rc = scr_in_turns_all(&t->comm, width, rank_has_work(mask, t->comm.rank), work,
                              s, &err);
    CHECK_INT(scr_min_all(&t->comm, rc), scr_max_all(&t->comm, rc));
    CHECK_INT(s->n->inside, 0);
    CHECK(s->n->most <= width);
    CHECK_INT(err.code, rc);
    if (rc != SCR_OK)
        CHECK(strstr(err.text, "has no room") != NULL);
    return rc;
}

static int all_of(const struct mpi_test *t)
{
    return (1 << t->comm.size) - 1;
}

/* Each stays until it has seen all places taken, or no rank is left to take one. */
MPI_CASE(as_many_as_allowed_work_at_once)
{
    struct scene s;
    open_scene(t, &s);
    for (int mask = 0; mask <= all_of(t); mask++)
        for (int width = 1; width <= t->comm.size + 1; width++) {
            CHECK_INT(run(&s, width, mask, -1, -1), SCR_OK);
            CHECK_INT(s.n->ended, s.movers);
            CHECK_INT(s.n->most, s.movers < width ? s.movers : width);
        }
    close_scene(&s);
}

/* One rank works until all others have ended: they share the places that are left. */
MPI_CASE(one_that_takes_long_delays_no_other)
{
    struct scene s;
    open_scene(t, &s);
    for (int holder = 0; holder < t->comm.size; holder++)
        for (int width = 2; width <= t->comm.size; width++) {
            CHECK_INT(run(&s, width, all_of(t), holder, -1), SCR_OK);
            CHECK_INT(s.n->ended, t->comm.size);
        }
    close_scene(&s);
}

MPI_CASE(no_rank_begins_after_a_failure_and_all_hear_of_it)
{
    struct scene s;
    open_scene(t, &s);
    for (int mask = 1; mask <= all_of(t); mask++)
        for (int fails = 0; fails < t->comm.size; fails++) {
            if (!rank_has_work(mask, fails))
                continue;
            CHECK_INT(run(&s, 1, mask, -1, fails), SCR_E_FULL);
            CHECK_INT(s.n->begun, s.n->ended + 1); /* it was the last to begin */
            if (rank_has_work(mask, 0) && fails == 0)
                CHECK_INT(s.n->begun, 1);
        }
    close_scene(&s);
}

static int count(void *arg, struct scr_err *err)
{
    (void)err;
    ++*(int *)arg;
    return SCR_OK;
}

/* With no barrier in between: nothing of one is left for the next. */
MPI_CASE(turns_can_follow_each_other)
{
    struct scr_err err = SCR_ERR_INIT;
    int mine = 0, want = 0;
    for (int i = 0; i < 300; i++) {
        int has_work = (i + t->comm.rank) % 3 != 0;
        want += has_work;
        CHECK_RC(scr_in_turns_all(&t->comm, i % 3, has_work, count, &mine, &err),
                 SCR_OK, &err);
    }
    CHECK_INT(mine, want);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(as_many_as_allowed_work_at_once),
                  RUN(one_that_takes_long_delays_no_other),
                  RUN(no_rank_begins_after_a_failure_and_all_hear_of_it),
                  RUN(turns_can_follow_each_other)));
}
