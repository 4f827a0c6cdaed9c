/* SPDX-License-Identifier: BSD-3-Clause */
/* Statistics of runs, the advice they lead to, and what comes of it in weeks of
 * failures. */
#include "helper_draw.h"
#include "helper_near.h"
#include "helper_tmp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/interval.h"
#include "fmt/autopilot.h"

#define HOUR 3600.0
#define DAY  (24 * HOUR)

/* --- the file --- */

static const struct scr_autopilot some = {
    .uptime = 43200.5,
    .failures = { 2, 0, 1 },
    .cost = { 12.25, 8 },
    .flush = { 60, 3 },
    .between = { 0.5, 8 },
};

static void fields_and_unknown_keys(void **state)
{
    (void)state;
    struct scr_autopilot got;
    scr_hash *h = scr_hash_new();
    assert_int_equal(scr_autopilot_get(h, &got, NULL), SCR_OK);
    assert_true(got.uptime == 0 && got.cost.n == 0);
    scr_hash_set_val(h, "FUTURE", "kept");
    assert_int_equal(scr_autopilot_set(h, &some), SCR_OK);
    assert_int_equal(scr_autopilot_get(h, &got, NULL), SCR_OK);
    IS_NEAR(got.uptime, 43200.5, 1e-6);
    assert_true(got.failures[SCR_FAILED_PROCESS] == 2 &&
                got.failures[SCR_FAILED_NODE] == 0 &&
                got.failures[SCR_FAILED_SYSTEM] == 1);
    assert_true(got.cost.n == 8 && got.flush.n == 3 && got.between.n == 8);
    IS_NEAR(got.cost.value, 12.25, 1e-6);
    IS_NEAR(got.flush.value, 60, 1e-6);
    IS_NEAR(got.between.value, 0.5, 1e-6);
    assert_string_equal(scr_hash_get_val(h, "FUTURE"), "kept");
    assert_int_equal(scr_autopilot_set(NULL, &some), SCR_E_NOMEM);
    scr_hash_delete(h);
}

static void each_job_has_a_run(void **state)
{
    (void)state;
    const struct scr_open_run runs[] = { { "17", 1000, 5000 },
                                         { "18 b", 1001, 0 },
                                         { "17", 1002, 0 } };
    scr_hash *h = scr_hash_new();
    for (int i = 0; i < 3; i++)
        assert_int_equal(scr_autopilot_enter(h, &runs[i]), SCR_OK);
    const scr_hash *jobs = scr_hash_getf(h, "RUN JOB");
    assert_int_equal(scr_hash_size(jobs), 2);
    assert_string_equal(scr_hash_get_val(scr_hash_get(jobs, "17"), "SEEN"), "1002");
    assert_null(scr_hash_get(scr_hash_get(jobs, "17"), "END"));
    struct scr_open_run newest;
    scr_autopilot_newest(h, &newest);
    assert_string_equal(newest.job_id, "17");
    assert_int_equal(newest.seen, 1002);
    scr_autopilot_leave(h, "17");
    scr_autopilot_newest(h, &newest);
    assert_string_equal(newest.job_id, "18 b");
    scr_autopilot_leave(h, "none");
    assert_non_null(scr_hash_getf(h, "RUN JOB %s", "18 b"));
    scr_autopilot_leave(h, "18 b");
    assert_int_equal(scr_hash_size(h), 0);
    scr_autopilot_newest(h, &newest);
    assert_null(newest.job_id);
    scr_autopilot_leave(h, "17");
    assert_int_equal(scr_autopilot_enter(NULL, &runs[0]), SCR_E_NOMEM);
    scr_hash_delete(h);
}

static void a_run_is_closed_once(void **state)
{
    (void)state;
    int changed = 7;
    struct scr_open_run run = { "17", 1000, 0 };
    scr_hash *h = scr_hash_new();
    assert_int_equal(scr_autopilot_close(h, NULL, &changed, NULL), SCR_OK);
    assert_int_equal(changed, 0);
    assert_int_equal(scr_autopilot_set(h, &some), SCR_OK);
    assert_int_equal(scr_autopilot_enter(h, &run), SCR_OK);
    assert_int_equal(scr_autopilot_close(h, NULL, &changed, NULL), SCR_OK);
    assert_int_equal(changed, 1);
    assert_int_equal(scr_autopilot_close(h, NULL, &changed, NULL), SCR_OK);
    assert_int_equal(changed, 0);
    scr_hash_set_val_i64(h, "VERSION", 2);
    assert_int_equal(scr_autopilot_close(h, NULL, &changed, NULL), SCR_E_VERSION);
    scr_hash_delete(h);
}

static void numbers_that_are_none_are_written_as_0(void **state)
{
    (void)state;
    struct scr_autopilot odd = some, got;
    scr_hash *h = scr_hash_new();
    odd.uptime = NAN;
    odd.cost.value = -1;
    odd.flush.value = INFINITY;
    assert_int_equal(scr_autopilot_set(h, &odd), SCR_OK);
    assert_int_equal(scr_autopilot_get(h, &got, NULL), SCR_OK);
    assert_true(got.uptime == 0 && got.cost.value == 0 && got.flush.value == 0);
    scr_hash_delete(h);
}

/* --- failures --- */

/* A run that computes is written every 600 s and some; 625.5 s are silence. */
static void which_runs_are_over_and_have_failed(void **state)
{
    (void)state;
    static const struct {
        struct scr_open_run run;
        struct scr_observer me;
        int stays, failed;
    } rows[] = {
        /* its allocation is still there */
        { { "17", 1000, 0 }, { "17", 1, 1000, 1000 }, 0, 1 },
        { { "17", 100000, 100100 }, { "17", 1, 100050, 100050 }, 0, 1 },
        /* the run itself */
        { { "17", 1000, 0 }, { "17", 0, 1000, 9000 }, 1, 0 },
        /* another job, which may compute */
        { { "17", 100000, 0 }, { "18", 1, 100600, 100600 }, 1, 0 },
        { { "17", 100000, 200000 }, { "18", 1, 100600, 100600 }, 1, 0 },
        /* or does not any more: nobody knows when it was to end, or long before */
        { { "17", 100000, 0 }, { "18", 1, 100700, 100700 }, 0, 1 },
        { { "17", 50000, 100100 }, { "18", 1, 100200, 100200 }, 0, 1 },
        { { "17", 50000, 100100 }, { "18", 1, 60000, 60000 }, 0, 1 },
        /* it has ended with its allocation */
        { { "17", 100000, 100100 }, { "18", 1, 100101, 100101 }, 0, 0 },
        { { "17", 99500, 100100 }, { "18", 1, 200000, 200000 }, 0, 0 },
        /* found silent later, by one that began after it was seen, and by another */
        { { "17", 100000, 0 }, { "18", 0, 100001, 100700 }, 0, 1 },
        { { "17", 100000, 0 }, { "18", 0, 99999, 100700 }, 1, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        scr_hash *h = scr_hash_new();
        const struct scr_open_run other = { "19", INT64_MAX, 0 };
        assert_int_equal(scr_autopilot_enter(h, &rows[i].run), SCR_OK);
        assert_int_equal(scr_autopilot_enter(h, &other), SCR_OK);
        if (scr_autopilot_settle(h, &some, &rows[i].me) != rows[i].failed)
            fail_msg("row %zu has failed or not", i);
        if ((scr_hash_getf(h, "RUN JOB 17") != NULL) != rows[i].stays)
            fail_msg("row %zu is over or not", i);
        assert_non_null(scr_hash_getf(h, "RUN JOB 19"));
        scr_hash_delete(h);
    }
    assert_int_equal(scr_autopilot_settle(NULL, &some, &rows[0].me), 0);
}

static void averages_follow(void **state)
{
    (void)state;
    struct scr_average a = { 0 };
    scr_average_add(&a, 10);
    IS_NEAR(a.value, 10, 0);
    scr_average_add(&a, 20);
    IS_NEAR(a.value, 15, 1e-12);
    for (int i = 0; i < 100; i++)
        scr_average_add(&a, 40);
    IS_NEAR(a.value, 40, 1e-3);
    assert_int_equal(a.n, SCR_AVERAGE_OF);
}

/* --- advice --- */

static const struct scr_autopilot_job job = { 100, 1825 * DAY, 10, 0, 0, 0 };

static void before_anything_is_known(void **state)
{
    (void)state;
    struct scr_autopilot a = { 0 };
    struct scr_advice advice;
    scr_autopilot_advise(&a, &job, &advice);
    assert_false(advice.is_known);
    IS_NEAR(advice.mean, 18.25 * DAY, 1);
    assert_false(scr_autopilot_is_due(&a, &advice, 59, INFINITY));
    assert_true(scr_autopilot_is_due(&a, &advice, 60, INFINITY));
    scr_average_add(&a.between, 50); /* the next would come at 100 */
    assert_true(scr_autopilot_is_due(&a, &advice, 50, INFINITY));
    assert_false(scr_autopilot_is_due(&a, &advice, 34, INFINITY));

    struct scr_autopilot_job often = job; /* a failure every 2 minutes */
    a = (struct scr_autopilot){ 0 };
    often.mtbf = 12000;
    scr_autopilot_advise(&a, &often, &advice);
    IS_NEAR(advice.interval, 12, 1e-9);
}

static void failures_shorten_the_interval(void **state)
{
    (void)state;
    struct scr_autopilot a = { .uptime = 1e-9, .cost = { 12, 1 }, .between = { 1, 8 } };
    struct scr_autopilot_job near = job;
    struct scr_advice advice, after;
    near.flush_every = 0;
    scr_autopilot_advise(&a, &near, &advice);
    IS_NEAR(advice.interval, scr_interval_best(12, 18.25 * DAY), 1e-3);
    a.failures[SCR_FAILED_PROCESS] = 9;
    scr_autopilot_advise(&a, &near, &after);
    IS_NEAR(after.mean, 18.25 * DAY / 5.5, 1);
    IS_NEAR(after.interval, scr_interval_best(12, 18.25 * DAY / 5.5), 1e-3);
    assert_true(scr_advice_has_changed(&after, &advice));
    assert_false(scr_advice_has_changed(&advice, &advice));
    /* Time without any lengthens it. */
    a.uptime = 1e9;
    scr_autopilot_advise(&a, &near, &advice);
    assert_true(advice.interval > after.interval);
}

static void flushes_count(void **state)
{
    (void)state;
    struct scr_autopilot a = { .cost = { 12, 1 }, .flush = { 600, 1 } };
    struct scr_autopilot_job j = job;
    struct scr_advice advice;
    scr_autopilot_advise(&a, &j, &advice);
    IS_NEAR(advice.cost, 72, 1e-9);
    /* Of ten failures one loses ten intervals. */
    IS_NEAR(advice.interval, scr_interval_best(72, 18.25 * DAY / 1.9), 1e-3);
    j.is_async = 1;
    scr_autopilot_advise(&a, &j, &advice);
    IS_NEAR(advice.cost, 18, 1e-9);
    a.flush.value = 1e6; /* one cannot begin before the last has ended */
    a.cost.value = 0;
    j.mtbf = DAY;
    scr_autopilot_advise(&a, &j, &advice);
    IS_NEAR(advice.interval, 1e5, 1e-3);
}

/* SCR_FLUSH=AUTO: rates 0.9 and 0.1 of a failure in 18.25 d. */
static void flushes_by_what_they_cost(void **state)
{
    (void)state;
    struct scr_autopilot a = { .cost = { 12, 1 }, .flush = { 600, 1 } };
    struct scr_autopilot_job j = job;
    struct scr_advice advice;
    double far = 0.1 / (18.25 * DAY), near = 0.9 / (18.25 * DAY);
    j.flush_every = -1;
    scr_autopilot_advise(&a, &j, &advice);
    IS_NEAR(advice.flush, sqrt(2 * 600 / far), 1e-3);
    int n = (int)round(sqrt(600 / far / (12 / near))); /* 21 */
    IS_NEAR(advice.cost, 12 + 600.0 / n, 1e-9);
    IS_NEAR(advice.interval, scr_interval_best(advice.cost, 1 / (near + n * far)),
            1e-3);
    IS_NEAR(n * advice.interval / advice.flush, 1, 0.05);
    /* in the background: what it blocks, and a tenth */
    j.is_async = 1;
    a.blocked = (struct scr_average){ 2, 1 };
    scr_autopilot_advise(&a, &j, &advice);
    IS_NEAR(advice.flush, sqrt(2 * (2 + 60) / far), 1e-3);
    a.flush.value = 1e7; /* one ends before the next begins */
    scr_autopilot_advise(&a, &j, &advice);
    IS_NEAR(advice.flush, 1e7, 1e-3);
    struct scr_advice was = advice;
    assert_false(scr_advice_has_changed(&advice, &was));
    was.flush *= 1.2;
    assert_true(scr_advice_has_changed(&advice, &was));
}

static void a_flush_is_due(void **state)
{
    (void)state;
    const struct scr_advice advice = { .is_known = 1, .interval = 600, .flush = 6000 };
    struct scr_autopilot a = { .cost = { 12, 1 } };
    assert_true(scr_autopilot_flush_is_due(&a, &advice, 600, INFINITY));
    a.flush = (struct scr_average){ 100, 1 }; /* one was measured */
    assert_false(scr_autopilot_flush_is_due(&a, &advice, 600, INFINITY));
    a.unflushed = 5699;
    assert_false(scr_autopilot_flush_is_due(&a, &advice, 600, INFINITY));
    a.unflushed = 5700; /* nearer to 6000 than the next will be */
    assert_true(scr_autopilot_flush_is_due(&a, &advice, 600, INFINITY));
    a.unflushed = 600;
    assert_false(scr_autopilot_flush_is_due(&a, &advice, 600, 172));
    assert_true(scr_autopilot_flush_is_due(&a, &advice, 600, 171)); /* 12, 100, 60 */
    a.between = (struct scr_average){ 600, 1 }; /* the next would come too late */
    assert_true(scr_autopilot_flush_is_due(&a, &advice, 600, 771));
}

static void a_share_of_the_time_is_a_limit(void **state)
{
    (void)state;
    struct scr_autopilot a = { .cost = { 12, 1 } };
    struct scr_autopilot_job j = job;
    struct scr_advice advice;
    j.mtbf = DAY;
    j.most = 1;
    scr_autopilot_advise(&a, &j, &advice);
    IS_NEAR(advice.interval, 12 * 99, 1e-9);
    j.most = 50;
    scr_autopilot_advise(&a, &j, &advice);
    assert_true(advice.interval > 12);
    j.most = 100; /* no limit */
    scr_autopilot_advise(&a, &j, &advice);
    assert_true(advice.interval > 12);
}

static void once_before_the_allocation_ends(void **state)
{
    (void)state;
    struct scr_autopilot a = { .cost = { 12, 1 }, .flush = { 100, 1 } };
    const struct scr_advice advice = { .is_known = 1, .interval = 3600 };
    scr_average_add(&a.between, 10);
    assert_false(scr_autopilot_is_due(&a, &advice, 1000, 182));
    assert_true(scr_autopilot_is_due(&a, &advice, 1000, 181)); /* 12 + 100 + 60 + 10 */
    assert_false(scr_autopilot_is_due(&a, &advice, 20, 160));  /* done at 180 */
    assert_true(scr_autopilot_is_due(&a, &advice, 23, 160));   /* before that */
}

static void advice_is_one_line(void **state)
{
    (void)state;
    struct scr_autopilot a = { .uptime = 12 * HOUR,
                               .failures = { 1, 1, 1 },
                               .cost = { 12, 1 } };
    struct scr_advice advice = { 1, 780, 9 * HOUR, 12, 0.031, 0 };
    char *text = scr_advice_text(&advice, &a);
    assert_string_equal(text, "MTBF 9.0 h from 3 failures in 12 h; C 12 s; checkpoint "
                              "every 13 min; expected waste 3.1 %");
    free(text);
    advice = (struct scr_advice){ 1, 3 * DAY, 20 * DAY, 0.25, 0, 0 };
    a.failures[SCR_FAILED_NODE] = a.failures[SCR_FAILED_SYSTEM] = 0;
    text = scr_advice_text(&advice, &a);
    assert_string_equal(text, "MTBF 20 d from 1 failure in 12 h; C 0.25 s; checkpoint "
                              "every 3.0 d; expected waste 0.0 %");
    free(text);
    advice.flush = 2 * HOUR;
    text = scr_advice_text(&advice, &a);
    assert_non_null(
        strstr(text, "checkpoint every 3.0 d; flush every 2.0 h; expected"));
    free(text);
    advice = (struct scr_advice){ .interval = 60 };
    text = scr_advice_text(&advice, &a);
    assert_string_equal(text, "what a checkpoint costs is not known yet; the first one "
                              "after 60 s");
    free(text);
}

/* --- weeks of failures --- */

/* A machine with failures that a checkpoint in cache survives, and others that need a
 * flushed one, and a program on it that asks every `step` seconds. */
struct world {
    double rate[2], cost, flush, step;
    int every; /* of checkpoints one is flushed; < 0: as the autopilot says */
    struct test_random random;
    double now, next;           /* seconds; of the next failure */
    int failed;                 /* its class */
    double work, kept, flushed; /* done, in cache, on the prefix */
};

static void plan_failure(struct world *w)
{
    double rate = w->rate[0] + w->rate[1];
    w->next = w->now - log(test_draw_fraction(&w->random)) / rate;
    w->failed = test_draw_fraction(&w->random) * rate > w->rate[0];
}

/* 0 if something fails before that time has passed. */
static int pass(struct world *w, double seconds)
{
    int is_well = w->now + seconds < w->next;
    w->now = is_well ? w->now + seconds : w->next;
    return is_well;
}

/* Until the run fails, or so much time has passed in all; restarts cost what writing
 * does. */
static void run_once(struct world *w, struct scr_autopilot *a,
                     const struct scr_autopilot_job *j, double until)
{
    int count = 0;
    double last = w->now, seen = w->now;
    struct scr_advice advice;
    scr_autopilot_advise(a, j, &advice);
    while (w->now < until && pass(w, w->step)) {
        w->work += w->step;
        scr_average_add(&a->between, w->step);
        if (!scr_autopilot_is_due(a, &advice, w->now - last, INFINITY))
            continue;
        a->unflushed += w->now - seen;
        int flushes =
            w->every > 0
                ? ++count % w->every == 0
                : scr_autopilot_flush_is_due(a, &advice, w->now - last, INFINITY);
        if (!pass(w, w->cost + (flushes ? w->flush : 0)))
            return;
        scr_average_add(&a->cost, w->cost);
        if (flushes)
            scr_average_add(&a->flush, w->flush);
        a->uptime += w->now - seen; /* as the file is written */
        a->unflushed = flushes ? 0 : a->unflushed + w->cost;
        scr_autopilot_advise(a, j, &advice);
        last = seen = w->now;
        w->kept = w->work;
        w->flushed = flushes ? w->work : w->flushed;
    }
}

static double live(const struct world *begin, double mtbf, double days, uint64_t seed)
{
    struct world w = *begin;
    struct scr_autopilot a = { 0 };
    struct scr_autopilot_job j = { 1, mtbf, w.every, 0, 0, 0 };
    w.random.state = seed;
    plan_failure(&w);
    while (w.now < days * DAY) {
        run_once(&w, &a, &j, days * DAY);
        while (w.now >= w.next) { /* it has failed, maybe in a restart */
            a.failures[w.failed ? SCR_FAILED_SYSTEM : SCR_FAILED_PROCESS]++;
            w.work = w.kept = w.failed ? w.flushed : w.kept;
            a.unflushed = w.failed ? 0 : a.unflushed;
            int from = w.failed;
            plan_failure(&w);
            (void)pass(&w, w.cost + (from ? w.flush : 0));
        }
    }
    return w.work / w.now;
}

/* The best that any interval does on that machine. */
static double best_of(const struct world *w, int every)
{
    double best = 0;
    for (double t = 30; t < 10 * DAY; t *= 1.02) {
        struct scr_markov m = { 2,
                                { { w->cost, w->rate[0], w->cost },
                                  { w->cost + w->flush, w->rate[1],
                                    w->cost + w->flush } },
                                { every - 1, 1 },
                                t };
        best = fmax(best, scr_markov_efficiency(&m, NULL));
    }
    return best;
}

/* And where that is free, any number of checkpoints between flushes. */
static double best_possible(const struct world *w)
{
    double best = 0;
    if (w->every > 0)
        return best_of(w, w->every);
    for (int n = 1; n < 300; n += 1 + n / 20)
        best = fmax(best, best_of(w, n));
    return best;
}

/* Mean of some histories of six weeks, as a single one has luck. */
static double live_often(const struct world *w, double mtbf)
{
    enum { HISTORIES = 10 };
    double sum = 0;
    for (int i = 0; i < HISTORIES; i++)
        sum += live(w, mtbf, 42, 7 + (uint64_t)i);
    return sum / HISTORIES;
}

/* With the rates that are true, and with a prior that is off by ten. */
static void lives_well(const struct world *w)
{
    double mean = 1 / (w->rate[0] + w->rate[1]), best = best_possible(w);
    IS_NEAR(live_often(w, mean), best, 0.01);
    IS_NEAR(live_often(w, mean * 10), best, 0.03);
    IS_NEAR(live_often(w, mean / 10), best, 0.03);
}

static const struct world worlds[] = {
    { .rate = { 0.9 / (9 * HOUR), 0.1 / (9 * HOUR) },
      .cost = 12,
      .flush = 60,
      .step = 20,
      .every = 10 },
    { .rate = { 0.9 / (2 * DAY), 0.1 / (2 * DAY) },
      .cost = 30,
      .flush = 300,
      .step = 60,
      .every = 10 },
    { .rate = { 0.9 / (2 * HOUR), 0.1 / (2 * HOUR) },
      .cost = 5,
      .flush = 60,
      .step = 10,
      .every = 4 },
};

static void weeks_of_failures(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof worlds / sizeof worlds[0]; i++)
        lives_well(&worlds[i]);
}

/* The same with SCR_FLUSH=AUTO, and with flushes that are dear or often needed. */
static void weeks_of_failures_and_flushes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof worlds / sizeof worlds[0]; i++) {
        struct world w = worlds[i];
        w.every = -1;
        lives_well(&w);
        w.flush *= 5;
        if (i != 1) /* in which six weeks have two failures to learn from */
            lives_well(&w);
    }
    struct world w = worlds[0];
    w.every = -1;
    w.rate[0] = w.rate[1] = 0.5 / (9 * HOUR);
    lives_well(&w);
}

/* What one flush in so many costs, to the first order, by the Markov model and as
 * simulated, with an interval that is given. */
static void models_agree_on_two_levels(void **state)
{
    (void)state;
    const struct world *w = &worlds[1];
    const struct scr_ckpt_level level[2] = { { w->cost, w->rate[0], w->cost },
                                             { w->flush, w->rate[1], w->flush } };
    struct scr_pace p = scr_pace_find(level, 0, 0);
    double n = p.every, H = (w->cost + w->flush / n) / p.interval +
                            (w->rate[0] + n * w->rate[1]) * p.interval / 2;
    struct scr_markov m = { 2,
                            { { w->cost, w->rate[0], w->cost },
                              { w->cost + w->flush, w->rate[1], w->cost + w->flush } },
                            { p.every - 1, 1 },
                            p.interval };
    double markov = scr_markov_efficiency(&m, NULL);
    IS_NEAR(1 / (1 + H), markov, 0.002);
    struct world given = *w;
    given.every = -1;
    IS_NEAR(best_possible(&given), markov, 0.001);
    IS_NEAR(live_often(&given, 1 / (w->rate[0] + w->rate[1])), markov, 0.01);
}

/* A node that is lost takes the cache along: half of all failures, and those seen. */
static void a_lost_node_of_single_needs_a_flush(void **state)
{
    (void)state;
    struct scr_autopilot a = { .cost = { 1, 8 }, .flush = { 1, 8 } };
    struct scr_autopilot_job j = { 4, 480, -1, 0, 1, 0 }; /* a failure in 2 minutes */
    struct scr_advice advice;
    scr_autopilot_advise(&a, &j, &advice);
    IS_NEAR(advice.mean, 120, 1e-9);
    IS_NEAR(advice.flush, sqrt(2 * 1 * 240), 1e-9);
    a.uptime = 720;
    a.failures[SCR_FAILED_PROCESS] = a.failures[SCR_FAILED_SYSTEM] = 3;
    a.failures[SCR_FAILED_NODE] = 2;
    scr_autopilot_advise(&a, &j, &advice);
    IS_NEAR(1 / advice.mean, (4.0 + 6) / (720 + 240), 1e-9);
    IS_NEAR(advice.flush, sqrt(2 * 1 * 960 / 6.0), 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_and_unknown_keys),
        cmocka_unit_test(each_job_has_a_run),
        cmocka_unit_test(a_run_is_closed_once),
        cmocka_unit_test(numbers_that_are_none_are_written_as_0),
        cmocka_unit_test(which_runs_are_over_and_have_failed),
        cmocka_unit_test(averages_follow),
        cmocka_unit_test(before_anything_is_known),
        cmocka_unit_test(a_lost_node_of_single_needs_a_flush),
        cmocka_unit_test(failures_shorten_the_interval),
        cmocka_unit_test(flushes_count),
        cmocka_unit_test(flushes_by_what_they_cost),
        cmocka_unit_test(a_flush_is_due),
        cmocka_unit_test(a_share_of_the_time_is_a_limit),
        cmocka_unit_test(once_before_the_allocation_ends),
        cmocka_unit_test(advice_is_one_line),
        cmocka_unit_test(weeks_of_failures),
        cmocka_unit_test(weeks_of_failures_and_flushes),
        cmocka_unit_test(models_agree_on_two_levels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
