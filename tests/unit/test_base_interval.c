/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkpoint intervals: published numbers, limits, and a simulation that knows none of
 * the formulas. */
#include "helper_draw.h"
#include "helper_near.h"
#include "helper_tmp.h"

#include <math.h>
#include <stdint.h>

#include "base/interval.h"

#define MIN  60.0
#define HOUR 3600.0

/* --- one level --- */

static void published_optima(void **state)
{
    (void)state;
    static const struct {
        double mean, daly, best, young; /* minutes; C is 5 minutes */
    } rows[] = {
        { 24 * HOUR, 116.690, 116.690, 120.000 },
        { 6 * HOUR, 56.713, 56.714, 60.000 },
        { 15 * MIN, 9.1409, 9.1665, 12.247 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double m = rows[i].mean, digits = m < HOUR ? 5e-5 : 5e-4;
        IS_NEAR(scr_interval_daly(5 * MIN, m) / MIN, rows[i].daly, digits);
        IS_NEAR(scr_interval_best(5 * MIN, m) / MIN, rows[i].best, digits);
        IS_NEAR(scr_interval_young(5 * MIN, m) / MIN, rows[i].young, 5e-4);
    }
}

/* Expected seconds for a second of work. */
static double completion(double cost, double mean, double interval)
{
    return mean * expm1((interval + cost) / mean) / interval;
}

/* Beside it everything takes longer, from costs far below the mean time to far above.
 */
static void the_best_is_a_minimum(void **state)
{
    (void)state;
    for (double x = 1e-12; x < 30; x *= 3) {
        double cost = x * HOUR, best = scr_interval_best(cost, HOUR);
        double least = completion(cost, HOUR, best);
        assert_true(best > 0 && best <= HOUR);
        assert_true(least <= completion(cost, HOUR, best * 1.01));
        assert_true(least <= completion(cost, HOUR, best * 0.99));
        if (x < 1e-9)
            IS_NEAR(best / scr_interval_young(cost, HOUR), 1, 1e-4);
    }
    IS_NEAR(scr_interval_best(1000 * HOUR, HOUR), HOUR, 1e-9);
    IS_NEAR(scr_interval_daly(2 * HOUR, HOUR), HOUR, 0);
}

static void limits_and_nonsense(void **state)
{
    (void)state;
    double (*const all[])(double, double) = { scr_interval_young, scr_interval_daly,
                                              scr_interval_best };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        assert_true(all[i](0, HOUR) == 0);
        assert_true(all[i](0, INFINITY) == 0);
        assert_true(isinf(all[i](1, INFINITY)));
        assert_true(isnan(all[i](-1, HOUR)));
        assert_true(isnan(all[i](NAN, HOUR)));
        assert_true(isnan(all[i](1, 0)));
        assert_true(isnan(all[i](1, -1)));
        assert_true(isnan(all[i](1, NAN)));
    }
    assert_true(scr_interval_best(INFINITY, HOUR) == HOUR);
    assert_true(scr_interval_waste(0, 0, HOUR) == 0);
    assert_true(scr_interval_waste(INFINITY, 0, HOUR) == 1);
    assert_true(scr_interval_waste(1, 0, INFINITY) == 0);
    assert_true(isnan(scr_interval_waste(1, 1, 0)));
    assert_true(isnan(scr_interval_waste(-1, 1, HOUR)));
    assert_true(isnan(scr_interval_waste(1, -1, HOUR)));
}

/* At twice or half the optimum a quarter more is lost: (x + 1/x) / 2. */
static void an_error_costs_little(void **state)
{
    (void)state;
    double rate = 1 / (24 * HOUR), best = scr_interval_young(1, 1 / rate);
    double w = scr_interval_waste(1, rate, best), w2;
    for (double x = 0.25; x <= 4; x *= 2) {
        w2 = scr_interval_waste(1, rate, x * best);
        IS_NEAR(w2 / (1 - w2) / (w / (1 - w)), (x + 1 / x) / 2, 1e-9);
    }
}

/* --- the Markov model --- */

static void pace_of_two_levels(void **state)
{
    (void)state;
    const struct scr_ckpt_level level[2] = { { 9, 7.78e-6, 0 }, { 438, 5.19e-7, 0 } };
    struct scr_pace p = scr_pace_find(level, 0, 0);
    assert_int_equal(p.every, 27);
    double n = p.every, rate = 7.78e-6 + n * 5.19e-7;
    IS_NEAR(p.interval, scr_interval_best(9 + 438 / n, 1 / rate), 1e-9);
    IS_NEAR(p.interval / 1521, 1, 0.02); /* of the first level alone */
    /* a number that is given */
    p = scr_pace_find(level, 0, 3);
    assert_int_equal(p.every, 3);
    IS_NEAR(p.interval, scr_interval_best(155, 1 / (7.78e-6 + 3 * 5.19e-7)), 1e-9);
    /* a flush in the background takes a week */
    p = scr_pace_find(level, 7 * 24 * HOUR, 0);
    assert_true(p.every > n && p.every * p.interval >= 7 * 24 * HOUR);
    p = scr_pace_find(level, 7 * 24 * HOUR, 3);
    IS_NEAR(p.interval, 7 * 8 * HOUR, 1e-6);
}

static void pace_where_a_level_is_useless(void **state)
{
    (void)state;
    const struct scr_ckpt_level dear[2] = { { 100, 1e-6, 0 }, { 10, 1e-5, 0 } };
    struct scr_pace p = scr_pace_find(dear, 0, 0);
    assert_int_equal(p.every, 1);
    IS_NEAR(p.interval, scr_interval_best(110, 1 / 1.1e-5), 1e-9);
    /* a flush is not dear, but it needs what comes before it */
    const struct scr_ckpt_level cheap[2] = { { 5, 9e-7, 0 }, { 8, 1e-7, 0 } };
    assert_int_equal(scr_pace_find(cheap, 0, 0).every, 4);
    const struct scr_ckpt_level safe[2] = { { 100, 1e-6, 0 }, { 10, 0, 0 } };
    p = scr_pace_find(safe, 0, 0);
    assert_int_equal(p.every, 0);
    IS_NEAR(p.interval, scr_interval_best(100, 1e6), 1e-9);
    const struct scr_ckpt_level free_of_cost[2] = { { 0, 1e-6, 0 }, { 10, 1e-6, 0 } };
    p = scr_pace_find(free_of_cost, 0, 0);
    assert_int_equal(p.every, SCR_PACE_MOST);
    assert_true(p.interval > 0);
    const struct scr_ckpt_level rare[2] = { { 1e-9, 1, 0 }, { 1e9, 1e-9, 0 } };
    assert_int_equal(scr_pace_find(rare, 0, 0).every, SCR_PACE_MOST);
}

static void published_efficiencies(void **state)
{
    (void)state;
    struct scr_markov three = {
        3,
        { { 9, 7.78e-6, 9 }, { 50, 5.19e-7, 50 }, { 438, 3e-8, 438 } },
        { 200, 0, 1 },
        500
    };
    struct scr_markov two = {
        2, { { 9, 7.78e-6, 9 }, { 438, 5.19e-7, 438 } }, { 26, 1 }, 1490
    };
    double time = 0;
    IS_NEAR(scr_markov_efficiency(&three, &time), 0.948598760627, 5e-13);
    IS_NEAR(time, 105945.742469, 5e-7);
    three.interval = 1000;
    IS_NEAR(scr_markov_efficiency(&three, NULL), 0.930593974691, 5e-13);
    IS_NEAR(scr_markov_efficiency(&two, NULL), 0.9669491474, 5e-11);
    two.interval = 1521;
    IS_NEAR(scr_markov_efficiency(&two, NULL), 0.9669429603, 5e-11);
}

/* Of one level it is Daly's exact expression, with a restart of its own after each
 * failure. */
static void one_level_is_the_closed_form(void **state)
{
    (void)state;
    for (double mean = 15 * MIN; mean < 1e9; mean *= 10) {
        struct scr_markov m = {
            1, { { 5 * MIN, 1 / mean, 10 * MIN } }, { 1 }, 20 * MIN
        };
        double time = 0, all = mean * exp(10 * MIN / mean) * expm1(25 * MIN / mean);
        IS_NEAR(scr_markov_efficiency(&m, &time) * all / (20 * MIN), 1, 1e-9);
        IS_NEAR(time / all, 1, 1e-9);
    }
}

static void models_that_cannot_be(void **state)
{
    (void)state;
    const struct scr_markov good = { 1, { { 0, 0, 0 } }, { 0 }, 1 };
    struct scr_markov bad[6];
    assert_true(scr_markov_efficiency(&good, NULL) == 1);
    for (int i = 0; i < 6; i++)
        bad[i] = good;
    bad[0].n = 0;
    bad[1].interval = 0;
    bad[2].level[0].cost = -1;
    bad[3].level[0].rate = NAN;
    bad[4].level[0].recover = INFINITY;
    bad[5].between[0] = -1;
    for (int i = 0; i < 6; i++)
        assert_true(isnan(scr_markov_efficiency(&bad[i], NULL)));
}

/* --- a simulation --- */

struct world {
    const struct scr_markov *m;
    struct test_random random;
    double now, next; /* seconds; when something fails next */
    int failed;       /* class of that */
};

static void plan_failure(struct world *w)
{
    double rate = 0, pick;
    for (int l = 0; l < w->m->n; l++)
        rate += w->m->level[l].rate;
    w->next = w->now - log(test_draw_fraction(&w->random)) / rate;
    pick = test_draw_fraction(&w->random) * rate;
    w->failed = 0;
    while (w->failed < w->m->n - 1 && pick > w->m->level[w->failed].rate)
        pick -= w->m->level[w->failed++].rate;
}

/* The class of the failure that comes before that time has passed; -1: none. */
static int pass(struct world *w, double seconds)
{
    if (w->next > w->now + seconds) {
        w->now += seconds;
        return -1;
    }
    w->now = w->next;
    int failed = w->failed;
    plan_failure(w);
    return failed;
}

/* Level of the i-th checkpoint from the last of the highest level on. */
static int level_of(const struct scr_markov *m, int i)
{
    int l = 0;
    for (; l < m->n - 1 && i % (m->between[l] + 1) == 0; l++)
        i /= m->between[l] + 1;
    return l;
}

/* The checkpoint the run goes on from, when it was at number `at`. */
static int recover(struct world *w, int at, int failed)
{
    const struct scr_markov *m = w->m;
    while (failed >= 0) {
        while (level_of(m, at) < failed)
            at--;
        int from = level_of(m, at), again = pass(w, m->level[from].recover);
        failed = again == from && from < m->n - 1 ? from + 1 : again;
    }
    return at;
}

static double simulate(const struct scr_markov *m, int cycles, uint64_t seed)
{
    struct world w = { .m = m, .random = { seed } };
    int count = 1;
    for (int l = 0; l < m->n - 1; l++)
        count *= m->between[l] + 1;
    plan_failure(&w);
    for (int c = 0; c < cycles; c++)
        for (int at = 0; at < count;) {
            int failed = pass(&w, m->interval);
            if (failed < 0)
                failed = pass(&w, m->level[level_of(m, at + 1)].cost);
            at = failed < 0 ? at + 1 : recover(&w, at, failed);
        }
    return m->interval * count * cycles / w.now;
}

/* Checkpoint 0, of the highest level, was there before. */
static void simulation_agrees_with_markov(void **state)
{
    (void)state;
    const struct scr_markov models[] = {
        { 1, { { 60, 2e-4, 120 } }, { 1 }, 700 },
        { 2, { { 9, 7.78e-5, 9 }, { 438, 5.19e-6, 438 } }, { 26, 1 }, 500 },
        { 3,
          { { 9, 2e-4, 20 }, { 50, 5e-5, 100 }, { 438, 1e-5, 900 } },
          { 3, 2, 1 },
          400 },
        { 3,
          { { 9, 7.78e-5, 9 }, { 50, 5.19e-6, 50 }, { 438, 3e-6, 438 } },
          { 20, 0, 1 },
          500 },
    };
    const int cycles[] = { 400000, 100000, 1000000, 200000 };
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        IS_NEAR(simulate(&models[i], cycles[i], 20100 + i),
                scr_markov_efficiency(&models[i], NULL), 0.001);
}

/* What the first order chooses, and says of it, is what happens. */
static void simulation_agrees_with_the_pace(void **state)
{
    (void)state;
    const struct scr_ckpt_level levels[] = { { 9, 7.78e-6, 9 }, { 438, 5.19e-7, 438 } };
    struct scr_pace p = scr_pace_find(levels, 0, 0);
    struct scr_markov m = { 2, { levels[0], levels[1] }, { p.every - 1, 1 }, 0 };
    double overhead = sqrt(2 * 9 * 7.78e-6) + sqrt(2 * 438 * 5.19e-7);
    m.interval = p.interval;
    double is = simulate(&m, 20000, 1974), model = scr_markov_efficiency(&m, NULL);
    IS_NEAR(is, model, 0.001);
    IS_NEAR(is, 1 / (1 + overhead), 0.002);
    m.interval = p.interval / 2;
    assert_true(scr_markov_efficiency(&m, NULL) < model);
    m.interval = p.interval * 2;
    assert_true(scr_markov_efficiency(&m, NULL) < model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_optima),
        cmocka_unit_test(the_best_is_a_minimum),
        cmocka_unit_test(limits_and_nonsense),
        cmocka_unit_test(an_error_costs_little),
        cmocka_unit_test(pace_of_two_levels),
        cmocka_unit_test(pace_where_a_level_is_useless),
        cmocka_unit_test(published_efficiencies),
        cmocka_unit_test(one_level_is_the_closed_form),
        cmocka_unit_test(models_that_cannot_be),
        cmocka_unit_test(simulation_agrees_with_markov),
        cmocka_unit_test(simulation_agrees_with_the_pace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
