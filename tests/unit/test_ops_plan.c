/* SPDX-License-Identifier: BSD-3-Clause */
/* What scr plan proposes, against numbers worked out by hand, and a simulation. */
#include "helper_draw.h"
#include "helper_near.h"
#include "helper_tmp.h"

#include <math.h>

#include "ops/plan.h"

#define DAY 86400.0
#define GB  1e9

/* 56 GB a node, 64 GB with the parity of XOR of 8, and a failure a day. */
static const struct scr_machine site = {
    .nodes = 800,
    .ranks = 6400,
    .bytes = 7 * GB,
    .memory = 512 * GB,
    .memory_speed = 10 * GB,
    .program = 256 * GB,
    .network = 14 * GB,
    .files = 112 * GB,
    .mtbf = 800 * DAY,
    .several = 0.01,
    .restart = 100,
    .allocation = 7 * DAY,
};

static struct scr_outlook found(const struct scr_machine *m)
{
    struct scr_outlook o;
    assert_int_equal(scr_outlook_find(m, &o), SCR_OK);
    return o;
}

static void costs_by_hand(void **state)
{
    (void)state;
    struct scr_outlook o = found(&site);
    assert_true(o.scheme == SCR_SCHEME_XOR && o.set_size == 8 && o.set_failures == 1);
    assert_true(o.copies == 2 && !o.on_disk);
    IS_NEAR(o.data, 56 * GB, 1);
    IS_NEAR(o.stored, 64 * GB, 1);
    IS_NEAR(o.room, 192 * GB, 1);
    IS_NEAR(o.sent, 56 * GB, 1);
    IS_NEAR(o.cost, 12 + 4, 1e-9);
    IS_NEAR(o.flush, 400, 1e-9);
    IS_NEAR(o.fetched, 100 + 400 + 16, 1e-9);
}

/* 28 s for what the cache would take in 5.6: all else stays. */
static void a_program_may_write_slowly(void **state)
{
    (void)state;
    struct scr_machine m = site;
    m.writing = 2 * GB;
    struct scr_outlook o = found(&m);
    IS_NEAR(o.cost, 28 + 6.4 + 4, 1e-9);
    IS_NEAR(o.rebuilt, found(&site).rebuilt, 1e-9);
    m.writing = 100 * GB; /* faster than the cache is not possible */
    IS_NEAR(found(&m).cost, 12 + 4, 1e-9);
}

static void failures_by_hand(void **state)
{
    (void)state;
    struct scr_outlook o = found(&site);
    /* 100 s, 64 GB to read, 8/7 of 56 GB to receive */
    double window = 100 + 6.4 + 64.0 / 14;
    double alone = 1 - pow(exp(-window / (800 * DAY)), 7);
    IS_NEAR(o.beyond, 1 - (1 - alone) * 0.99, 1e-12);
    IS_NEAR(o.far * DAY, 0.1 + 0.4 * o.beyond, 1e-12);
    IS_NEAR((o.near + o.far) * DAY, 1, 1e-12);
    double nodes = 0.4 * (1 - o.beyond) / (0.5 + 0.4 * (1 - o.beyond));
    IS_NEAR(o.rebuilt, 106.4 + nodes * 64 / 14, 1e-9);
}

static void intervals_by_hand(void **state)
{
    (void)state;
    struct scr_outlook o = found(&site);
    /* sqrt(2 * 16 / near), sqrt(2 * 400 / far): 14.7 to 1 */
    assert_int_equal(o.pace.every, 15);
    double cost = 16 + 400 / 15.0, rate = o.near + 15 * o.far;
    IS_NEAR(o.pace.interval, scr_interval_best(cost, 1 / rate), 1e-9);
    IS_NEAR(o.pace.interval / sqrt(2 * cost / rate), 1, 0.02);
}

/* The highest efficiency in the Markov model of all paces around the one of o. */
static double best_around(const struct scr_machine *m, const struct scr_outlook *o)
{
    double best = 0;
    struct scr_outlook next = *o;
    for (double n = 0.125; n < 9; n *= 1.0905) /* 2^(1/8) */
        for (double t = 0.125; t < 9; t *= 1.0905) {
            next.pace.every = (int)fmax(1, round(o->pace.every * n));
            next.pace.interval = o->pace.interval * t;
            best = fmax(best, scr_outlook_on(m, &next));
        }
    return best;
}

/* To the first order, by the Markov model, and the best of that. */
static void models_agree(void **state)
{
    (void)state;
    for (int async = 0; async < 2; async++)
        for (double days = 50; days < 5000; days *= 4) {
            struct scr_machine m = site;
            m.mtbf = days * DAY;
            m.is_async = async;
            struct scr_outlook o = found(&m);
            double best = best_around(&m, &o), rate = o.near + o.far, n = o.pace.every;
            double cost = o.cost + (async ? 0.1 : 1) * o.flush / n;
            double waste = cost / o.pace.interval +
                           (o.near + n * o.far) * o.pace.interval / 2 +
                           o.near * o.rebuilt + o.far * o.fetched;
            assert_true(best >= o.efficiency - 1e-6);
            IS_NEAR(o.efficiency, best, 0.003);
            /* the first order leaves out what is lost while losses are made good */
            IS_NEAR(1 / o.efficiency, 1 + waste, 3 * waste * waste + 1e-4);
            assert_true(rate > 0);
        }
}

static void what_fits_is_taken(void **state)
{
    (void)state;
    struct scr_machine m = site;
    struct scr_outlook o;
    m.memory = 256 * GB + 100 * GB; /* 75 of them: one copy */
    o = found(&m);
    assert_int_equal(o.copies, 1);
    assert_true(o.set_size == 8 && o.set_failures == 1);
    struct scr_outlook two = found(&site);
    IS_NEAR(1 - o.beyond,
            (1 - two.beyond) * o.pace.interval / (o.pace.interval + o.cost), 1e-5);
    m.memory = 256 * GB + 80 * GB; /* 60, XOR of 16 takes 59.7 */
    o = found(&m);
    assert_true(o.scheme == SCR_SCHEME_XOR && o.set_size == 16);
    m.memory = 256 * GB + 75 * GB; /* 56.25: no redundancy */
    o = found(&m);
    assert_true(o.scheme == SCR_SCHEME_SINGLE && o.set_failures == 0);
    IS_NEAR(o.beyond, 1, 0);
    m.memory = 256 * GB + 74 * GB;
    assert_int_equal(scr_outlook_find(&m, &o), SCR_E_FULL);
    IS_NEAR(o.data, 56 * GB, 1);
    m.memory = 0;
    m.disk = 128 * GB;
    m.disk_speed = 2 * GB;
    o = found(&m);
    assert_true(o.on_disk && o.copies == 2);
    IS_NEAR(o.cost, 60 + 4, 1e-9);
}

static void few_nodes_make_small_sets(void **state)
{
    (void)state;
    struct scr_machine m = site;
    m.nodes = 4;
    m.ranks = 30; /* two nodes have one less */
    struct scr_outlook o = found(&m);
    assert_int_equal(o.set_size, 4);
    IS_NEAR(o.data, 56 * GB, 1);
    IS_NEAR(o.stored, 56 * GB * 4 / 3, 1);
    m.nodes = 1;
    m.ranks = 8;
    o = found(&m);
    assert_true(o.scheme == SCR_SCHEME_SINGLE && o.set_failures == 0);
}

static void losses_at_once_ask_for_more(void **state)
{
    (void)state;
    struct scr_machine m = site;
    m.several = 0.5;
    struct scr_outlook o = found(&m);
    assert_true(o.scheme == SCR_SCHEME_RS && o.set_failures >= 2);
    IS_NEAR(o.beyond, pow(0.5, o.set_failures), 1e-6);
    double stored = 56 * GB * o.set_size / (o.set_size - o.set_failures);
    IS_NEAR(o.stored, stored, 1);
    IS_NEAR(o.sent,
            56 * GB + (o.set_failures - 1) * (stored - 56 * GB) / o.set_failures, 1);
}

static void the_allocation_is_a_limit(void **state)
{
    (void)state;
    struct scr_machine m = site;
    m.allocation = 0;
    struct scr_outlook none = found(&m);
    m.allocation = 5 * none.pace.interval;
    struct scr_outlook o = found(&m);
    assert_true(o.pace.every > 1 && o.pace.every < none.pace.every);
    assert_true(o.pace.every * (o.pace.interval + o.cost) <= m.allocation);
    m.allocation = 1;
    assert_int_equal(found(&m).pace.every, 1);
}

static void failures_too_often(void **state)
{
    (void)state;
    struct scr_machine m = site;
    struct scr_outlook o;
    m.mtbf = 800 * 15.0; /* a checkpoint takes 16 s */
    assert_int_equal(scr_outlook_find(&m, &o), SCR_E_RANGE);
    IS_NEAR(o.cost, 16, 1e-9);
}

static void on_another_machine(void **state)
{
    (void)state;
    struct scr_outlook o = found(&site);
    struct scr_machine m = site;
    IS_NEAR(scr_outlook_on(&m, &o), o.efficiency, 1e-12);
    m.mtbf /= 2;
    double lost = found(&m).efficiency - scr_outlook_on(&m, &o);
    /* sqrt(2) from the optimum costs (1.414 + 0.707) / 2 of the least overhead */
    assert_true(lost > 0 && lost < 0.07 * (1 - found(&m).efficiency));
    m.bytes *= 2;
    assert_true(isnan(scr_outlook_on(&m, &o)));
}

/* Seven others of a set, each of which may fail before the files of the first are
 * rebuilt; and each loss may take others along. */
static void losses_beyond_as_simulated(void **state)
{
    (void)state;
    enum { LOSSES = 400000 };
    struct scr_machine m = site;
    struct test_random random = { 7 };
    m.mtbf = 400000;
    m.nodes = 20;
    m.ranks = 160;
    m.several = 0.1;
    m.files = GB;
    m.restart = 1000;
    struct scr_outlook o = found(&m);
    double window = m.restart + o.stored / m.memory_speed +
                    o.set_size / (o.set_size - 1.0) * o.data / m.network;
    int beyond = 0;
    assert_true(o.set_failures > 0);
    for (int i = 0; i < LOSSES; i++) {
        int along = 0, others = 0;
        while (along < o.set_failures && test_draw_fraction(&random) < m.several)
            along++;
        for (int node = 1; node < o.set_size; node++)
            others += -log(test_draw_fraction(&random)) * m.mtbf < window;
        beyond += along >= o.set_failures || others >= o.set_failures;
    }
    assert_true(o.beyond > 0.001);
    IS_NEAR((double)beyond / LOSSES / o.beyond, 1, 0.05);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_by_hand),
        cmocka_unit_test(a_program_may_write_slowly),
        cmocka_unit_test(failures_by_hand),
        cmocka_unit_test(intervals_by_hand),
        cmocka_unit_test(models_agree),
        cmocka_unit_test(what_fits_is_taken),
        cmocka_unit_test(few_nodes_make_small_sets),
        cmocka_unit_test(losses_at_once_ask_for_more),
        cmocka_unit_test(the_allocation_is_a_limit),
        cmocka_unit_test(failures_too_often),
        cmocka_unit_test(on_another_machine),
        cmocka_unit_test(losses_beyond_as_simulated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
