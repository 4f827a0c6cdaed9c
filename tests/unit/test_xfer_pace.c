/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits of bandwidth and of time, by a clock that goes as the test wants. */
#include "helper_tmp.h"

#include <math.h>

#include "xfer/pace.h"

/* A machine that moves bytes at a fixed speed. */
struct machine {
    double time;
    double speed;     /* bytes a second */
    double oversleep; /* seconds each sleep takes too long */
    double busy;      /* seconds spent moving */
    double bytes;
    struct scr_pace *cancel; /* at `cancel_at` */
    double cancel_at;
};

static double now(void *arg)
{
    return ((struct machine *)arg)->time;
}

static void nap(void *arg, double secs)
{
    struct machine *m = arg;
    assert_true(secs > 0);
    m->time += secs + m->oversleep;
    if (m->cancel != NULL && m->time >= m->cancel_at)
        scr_pace_cancel(m->cancel);
}

static void open_pace(struct scr_pace *p, struct machine *m, double bw, double percent)
{
    scr_pace_init(p, bw, percent, &(struct scr_clock){ now, nap, m });
}

static void move(struct machine *m, double n)
{
    m->time += n / m->speed;
    m->busy += n / m->speed;
    m->bytes += n;
}

/* Moves pieces, as a copy does, until that time. */
static void run(struct scr_pace *p, struct machine *m, double until)
{
    struct scr_err err = SCR_ERR_INIT;
    while (m->time < until) {
        size_t n = scr_pace_burst(p, 128 << 10);
        move(m, (double)n);
        assert_int_equal(scr_pace_step(p, n, &err), SCR_OK);
    }
}

static void assert_within(double got, double want, double part)
{
    if (fabs(got - want) > part * want)
        fail_msg("%g is not within %g of %g", got, part, want);
}

static const double oversleeps[] = { 0, 0.0001, 0.004 };

static void bandwidth_over_5_seconds_is_within_5_percent(void **state)
{
    static const double limits[] = { 1e5, 1e6, 1e7, 1e9, 1e10 };
    static const double speedups[] = { 1.5, 4, 1000 };
    (void)state;
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 3; k++)
            for (int o = 0; o < 3; o++) {
                struct machine m = { .speed = speedups[k] * limits[i],
                                     .oversleep = oversleeps[o] };
                struct scr_pace p;
                open_pace(&p, &m, limits[i], 0);
                run(&p, &m, 5);
                assert_within(m.bytes / m.time, limits[i], 0.05);
                scr_pace_fini(&p);
            }
}

static void share_of_time_over_5_seconds_is_within_5_percent(void **state)
{
    static const double limits[] = { 2, 10, 50, 90 };
    static const double speeds[] = { 1e7, 1e8, 1e10 };
    (void)state;
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++)
            for (int o = 0; o < 3; o++) {
                struct machine m = { .speed = speeds[k], .oversleep = oversleeps[o] };
                struct scr_pace p;
                open_pace(&p, &m, 0, limits[i]);
                run(&p, &m, 5);
                assert_within(100 * m.busy / m.time, limits[i], 0.05);
                scr_pace_fini(&p);
            }
}

static void of_two_limits_the_tighter_one_counts(void **state)
{
    static const struct {
        double bw, percent, bytes;
    } cases[] = { { 1e6, 50, 1e6 }, { 1e7, 1, 1e6 } }; /* at 1e8 bytes a second */
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct machine m = { .speed = 1e8 };
        struct scr_pace p;
        open_pace(&p, &m, cases[i].bw, cases[i].percent);
        run(&p, &m, 5);
        assert_within(m.bytes / m.time, cases[i].bytes, 0.05);
        scr_pace_fini(&p);
    }
}

static void what_is_slower_than_the_limit_never_sleeps(void **state)
{
    static const double limits[][2] = { { 1e9, 0 }, { 0, 100 }, { 0, 0 } };
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct machine m = { .speed = 1e8 };
        struct scr_pace p;
        open_pace(&p, &m, limits[i][0], limits[i][1]);
        run(&p, &m, 5);
        assert_within(m.busy, m.time, 1e-9);
        scr_pace_fini(&p);
    }
}

static void a_pause_is_not_made_up_for(void **state)
{
    struct machine m = { .speed = 1e9 };
    struct scr_pace p;
    (void)state;
    open_pace(&p, &m, 1e7, 0);
    run(&p, &m, 1);
    m.time += 10; /* a server that hangs */
    double before = m.bytes, start = m.time;
    run(&p, &m, start + 1);
    assert_true(m.bytes - before <= 1.3e7);
    scr_pace_fini(&p);
}

static void a_new_start_owes_and_owns_nothing(void **state)
{
    struct machine m = { .speed = 1e9 };
    struct scr_pace p;
    struct scr_err err = SCR_ERR_INIT;
    (void)state;
    open_pace(&p, &m, 1e6, 10);
    m.time = 100;
    scr_pace_start(&p);
    move(&m, 1e5);
    assert_int_equal(scr_pace_step(&p, 100000, &err), SCR_OK);
    assert_within(m.time, 100.1, 1e-3);
    scr_pace_fini(&p);
}

static void a_thread_that_sleeps_wakes_up_when_it_is_cancelled(void **state)
{
    struct machine m = { .speed = 1e9 };
    struct scr_pace p;
    struct scr_err err = SCR_ERR_INIT;
    (void)state;
    open_pace(&p, &m, 1000, 0);
    m.cancel = &p;
    m.cancel_at = 0.5;
    assert_int_equal(scr_pace_step(&p, 1000000, &err), SCR_E_CANCELLED); /* 1000 s */
    assert_true(m.time < 0.6);
    assert_int_equal(scr_pace_step(&p, 1, NULL), SCR_E_CANCELLED);
    assert_int_equal(scr_pace_sleep(&p, 0, NULL), SCR_E_CANCELLED);
    scr_pace_fini(&p);
}

static void pieces_are_small_enough_for_the_limit(void **state)
{
    struct machine m = { 0 };
    (void)state;
    for (double bw = 1000; bw < 1e12; bw *= 10) {
        struct scr_pace p;
        open_pace(&p, &m, bw, 0);
        size_t n = scr_pace_burst(&p, 1 << 20);
        assert_true(n >= 4096 && n <= 1 << 20);
        assert_true((double)n <= bw / 40 || n == 4096); /* of four threads: 0.1 s */
        scr_pace_fini(&p);
    }
    struct scr_pace p;
    open_pace(&p, &m, 0, 50);
    assert_int_equal(scr_pace_burst(&p, 12345), 12345);
    scr_pace_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bandwidth_over_5_seconds_is_within_5_percent),
        cmocka_unit_test(share_of_time_over_5_seconds_is_within_5_percent),
        cmocka_unit_test(of_two_limits_the_tighter_one_counts),
        cmocka_unit_test(what_is_slower_than_the_limit_never_sleeps),
        cmocka_unit_test(a_pause_is_not_made_up_for),
        cmocka_unit_test(a_new_start_owes_and_owns_nothing),
        cmocka_unit_test(a_thread_that_sleeps_wakes_up_when_it_is_cancelled),
        cmocka_unit_test(pieces_are_small_enough_for_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
