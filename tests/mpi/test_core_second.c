/* SPDX-License-Identifier: BSD-3-Clause */
/* A second loss before the first is repaired: the run dies at each system call of the
 * rebuild, and then another node goes, or the same one again. Everything the scheme
 * carries exists at the next start, every byte of it, redundancy included; the rebuild
 * that died has torn nothing (doc/design/durability.md C2). */
/* ranks: 4 */
#include <errno.h>

#include "base/str.h"
#include "helper_fault.h"
#include "helper_job.h"
#include "helper_stored.h"
#include "helper_walk.h"

static const char *const before = "n1,n2,n3,n4";

/* Nodes are lost, the run on the spares dies in the rebuild, more nodes are lost, and
 * the last run makes everything whole. */
struct plan {
    const char *scheme, *failures;
    const char *first;     /* nodes lost from `before` */
    const char *spares;    /* nodes of the run that dies */
    const char *second[3]; /* lost then, in turn from case to case; NULL ends */
    const char *last[3];   /* nodes of the last run */
    int victim;            /* rank that dies, -1: all do at once */
    int step;              /* from call to call */
};

/* Starts and dies at call n: 0 when there is no call n. */
static int die_in_rebuild(struct job *job, const struct plan *p, long n)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx;
    const char *const settings[] = { p->scheme, p->failures, NULL };
    job->sys = &test_fault_sys;
    job_arm(job, p->victim, TEST_ANY, n, EIO, TEST_FOREVER);
    int rc = job_try_start(job, &ctx, &err, p->spares, settings);
    job_kill(job, ctx); /* before the calls work again: the dead clean nothing up */
    int fired = job_disarm(job);
    job->sys = NULL;
    CHECK(fired || rc == SCR_OK);
    return fired;
}

static void check_whole(struct job *job, const struct plan *p, int turn,
                        const scr_hash *files)
{
    struct mpi_test *t = job->t;
    struct scr_ctx *ctx = job_start(job, p->last[turn], p->scheme, p->failures, NULL);
    job_check_restart(job, ctx, "one", 1);
    scr_hash *now = job_cached(job, 1);
    CHECK(job_has_kept(job, files, NULL, now));
    CHECK_INT(scr_hash_size(now), scr_hash_size(files)); /* no temporaries */
    scr_hash_delete(now);
    job_kill(job, ctx);
}

static int count_turns(const struct plan *p)
{
    int n = 0;
    while (n < 3 && p->second[n] != NULL)
        n++;
    return n;
}

/* With n beyond the last call the first rebuild is complete. */
static void walk(struct mpi_test *t, const struct plan *p)
{
    struct job job;
    int fired = 1, turn = 0, turns = count_turns(p);
    long i = walk_from(0), n = i * p->step, deaths = 0;
    job_new(t, &job, 4);
    job.out = fopen("/dev/null", "w");
    struct scr_ctx *ctx = job_start(&job, before, p->scheme, p->failures, NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    scr_hash *files = job_cached(&job, 1);
    CHECK(job.rank > 0 || scr_hash_size(files) == 4 * (JOB_FILES + 1));
    job_lose_node(&job, p->first);
    job_save(&job);
    for (; fired && n < 2000 && mpi_test_good(t); n = i * p->step, deaths++) {
        job_go_back(&job);
        fired = die_in_rebuild(&job, p, n);
        job_lose_node(&job, p->second[turn]);
        check_whole(&job, p, turn, files);
        if (!mpi_test_good(t) && t->comm.rank == 0)
            fprintf(stderr, "  %s %s: %s lost, on %s dead at call %ld, %s lost\n",
                    p->scheme, p->failures, p->first, p->spares, n, p->second[turn]);
        turn = (turn + 1) % turns;
        i = walk_from(i + 1);
    }
    CHECK(n > 20 && n < 2000);
    if (t->comm.rank == 0)
        printf("       died at %ld of %ld calls\n", deaths, n);
    scr_hash_delete(files);
    fclose(job.out);
    job_free(&job);
}

static const struct plan rs_plan = {
    .scheme = "SCR_COPY_TYPE=RS",
    .failures = "SCR_SET_FAILURES=2",
    .first = "n2",
    .spares = "n1,n5,n3,n4",
    .second = { "n1", "n3", "n4" },
    .last = { "n6,n5,n3,n4", "n1,n5,n6,n4", "n1,n5,n3,n6" },
    .victim = -1,
    .step = 1,
};

MPI_CASE(rs_survives_another_node_lost_whenever_the_rebuild_dies)
{
    walk(t, &rs_plan);
}

/* The others continue for a while, and clean up, when one is dead. */
MPI_CASE(rs_survives_another_node_lost_when_one_rank_dies)
{
    struct plan p = rs_plan;
    p.step = 2;
    p.victim = 1; /* the rank that is rebuilt */
    walk(t, &p);
    p.victim = 3; /* a source */
    walk(t, &p);
}

MPI_CASE(rs_survives_the_spares_lost_with_two_nodes_to_rebuild)
{
    walk(t, &(struct plan){ .scheme = "SCR_COPY_TYPE=RS",
                            .failures = "SCR_SET_FAILURES=2",
                            .first = "n2,n3",
                            .spares = "n1,n5,n6,n4",
                            .second = { "n5", "n6", "n5,n6" },
                            .last = { "n1,n7,n6,n4", "n1,n5,n7,n4", "n1,n8,n7,n4" },
                            .victim = -1,
                            .step = 3 });
}

/* A node lost in the middle of moves costs the ranks that were leaving it, or those
 * that were coming, and never both: until all is restored files are at both ends. */
MPI_CASE(rs_survives_another_node_lost_while_ranks_change_places)
{
    walk(t, &(struct plan){ .scheme = "SCR_COPY_TYPE=RS",
                            .failures = "SCR_SET_FAILURES=2",
                            .first = "n2",
                            .spares = "n3,n5,n4,n1",
                            .second = { "n1", "n3", "n4" },
                            .last = { "n3,n5,n4,n6", "n6,n5,n4,n1", "n3,n5,n6,n1" },
                            .victim = -1,
                            .step = 3 });
}

static const struct plan xor_plan = {
    .scheme = "SCR_COPY_TYPE=XOR",
    .failures = "SCR_SET_FAILURES=1",
    .first = "n3",
    .spares = "n1,n2,n5,n4",
    .second = { "n5" },
    .last = { "n1,n2,n6,n4" },
    .victim = -1,
    .step = 2,
};

MPI_CASE(xor_survives_the_spare_lost_whenever_the_rebuild_dies)
{
    walk(t, &xor_plan);
}

/* The spare is last in the list, so that ranks move up to other nodes: those whose
 * files came to the spare lose nothing with it. */
MPI_CASE(xor_survives_the_spare_lost_while_ranks_move_up)
{
    struct plan p = xor_plan;
    p.first = "n2";
    p.spares = "n1,n3,n4,n5";
    p.last[0] = "n1,n3,n4,n6";
    p.step = 3;
    walk(t, &p);
}

MPI_CASE(partner_survives_the_spare_lost_whenever_the_rebuild_dies)
{
    struct plan p = xor_plan;
    p.scheme = "SCR_COPY_TYPE=PARTNER";
    p.step = 3;
    walk(t, &p);
}

/* --- after a complete rebuild --- */

/* One more node lost, a spare in its place, and all ranks one node further. */
static void lose_another(struct job *job, const char *scheme, char (*place)[8],
                         int gone, const char *spare, const scr_hash *files)
{
    struct mpi_test *t = job->t;
    char text[64], first[8];
    job_lose_node(job, place[gone]);
    snprintf(place[gone], sizeof place[gone], "%s", spare);
    memcpy(first, place[0], sizeof first);
    memmove(place[0], place[1], 3 * sizeof place[0]);
    memcpy(place[3], first, sizeof first);
    snprintf(text, sizeof text, "%s,%s,%s,%s", place[0], place[1], place[2], place[3]);
    struct scr_ctx *ctx = job_start(job, text, scheme, NULL);
    job_check_restart(job, ctx, "one", 1);
    scr_hash *now = job_cached(job, 1);
    CHECK(job_has_kept(job, files, NULL, now));
    scr_hash_delete(now);
    job_kill(job, ctx);
}

static void lose_two_in_turn(struct mpi_test *t, const char *scheme, int first,
                             int second)
{
    struct job job;
    char place[4][8] = { "n1", "n2", "n3", "n4" };
    job_new(t, &job, 4);
    struct scr_ctx *ctx = job_start(&job, before, scheme, NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    scr_hash *files = job_cached(&job, 1);
    lose_another(&job, scheme, place, first, "n5", files);
    lose_another(&job, scheme, place, second, "n6", files);
    scr_hash_delete(files);
    job_free(&job);
}

/* Every pair of nodes (shared like the calls), the spare that took the place of the
 * first included. */
MPI_CASE(one_failure_at_a_time_may_follow_another)
{
    static const char *const schemes[] = { "SCR_COPY_TYPE=XOR",
                                           "SCR_COPY_TYPE=PARTNER" };
    for (long i = walk_from(0); i < 32 && mpi_test_good(t); i = walk_from(i + 1))
        lose_two_in_turn(t, schemes[i / 16], (int)(i / 4 % 4), (int)(i % 4));
}

MPI_CASE(no_descriptor_is_left_open)
{
    CHECK_INT(test_fault_open_fds(), 0);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(rs_survives_another_node_lost_whenever_the_rebuild_dies),
                  RUN(rs_survives_another_node_lost_when_one_rank_dies),
                  RUN(rs_survives_the_spares_lost_with_two_nodes_to_rebuild),
                  RUN(rs_survives_another_node_lost_while_ranks_change_places),
                  RUN(xor_survives_the_spare_lost_whenever_the_rebuild_dies),
                  RUN(xor_survives_the_spare_lost_while_ranks_move_up),
                  RUN(partner_survives_the_spare_lost_whenever_the_rebuild_dies),
                  RUN(one_failure_at_a_time_may_follow_another),
                  RUN(no_descriptor_is_left_open)));
}
