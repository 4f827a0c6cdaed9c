/* SPDX-License-Identifier: BSD-3-Clause */
/* What the event log says of runs, by logs whose sums are done by hand. */
#include "ops/history.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/interval.h"

/* One event; members that are not given are left out. */
static void add(struct scr_history *h, struct scr_event e)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_event known = SCR_EVENT_INIT;
    known.at = e.at;
    known.event = e.event;
    known.host = e.host ? e.host : "n1";
    known.jobid = e.jobid ? e.jobid : "1";
    known.name = e.name, known.note = e.note, known.from = e.from, known.to = e.to;
    known.class = e.class, known.nodelist = e.nodelist;
    known.version = e.version, known.config = e.config;
    known.dset = e.dset ? e.dset : -1;
    known.bytes = e.bytes ? e.bytes : -1;
    known.run = e.run ? e.run : -1;
    known.secs = e.secs != 0 ? e.secs : -1;
    assert_int_equal(scr_history_add(h, &known, &err), SCR_OK);
}
#define ADD(h, ...) add(h, (struct scr_event){ __VA_ARGS__ })

static void finish(struct scr_history *h)
{
    struct scr_err err = SCR_ERR_INIT;
    assert_int_equal(scr_history_finish(h, &err), SCR_OK);
}

#define assert_near(a, b) assert_true(fabs((a) - (b)) < 1e-6)

static void assert_times(const double *secs, const double *wanted, int n)
{
    for (int i = 0; i < n; i++)
        if (fabs(secs[i] - wanted[i]) > 1e-6)
            fail_msg("time %d: %g instead of %g", i, secs[i], wanted[i]);
}

/* From computing that ends at `at` after secs to a checkpoint of 10 s, 4 of them for
 * redundancy. */
static void checkpoint(struct scr_history *h, double at, double secs, int dset)
{
    ADD(h, .at = at, .event = "COMPUTE_END", .secs = secs);
    ADD(h, .at = at, .event = "CHECKPOINT_START", .dset = dset, .name = "ckpt");
    ADD(h, .at = at + 10, .event = "ENCODE", .dset = dset, .secs = 4, .bytes = 600,
        .to = "XOR");
    ADD(h, .at = at + 10, .event = "CHECKPOINT_END", .dset = dset, .name = "ckpt",
        .secs = 10, .bytes = 600);
    ADD(h, .at = at + 10, .event = "COMPUTE_START");
}

/* Two runs. The first computes 100 s twice and dies 30 s later, which the run loop
 * notes; a node is lost. The second begins after 20 s, rebuilds the second checkpoint
 * and continues from it. */
static void failure_and_rebuild(struct scr_history *h)
{
    ADD(h, .at = 999, .event = "RUN_START", .note = "run1: srun", .host = "login");
    ADD(h, .at = 1005, .event = "RUN_START", .secs = 5, .run = 1, .version = "4.0.0",
        .config = "SCR_FLUSH=2", .nodelist = "n[1-4]");
    ADD(h, .at = 1005, .event = "COMPUTE_START");
    checkpoint(h, 1105, 100, 1);
    checkpoint(h, 1215, 100, 2);
    ADD(h, .at = 1225, .event = "FLUSH_START", .dset = 2);
    ADD(h, .at = 1255, .event = "FLUSH_SUCCESS", .dset = 2, .secs = 30, .bytes = 600);
    ADD(h, .at = 1255, .event = "COMPUTE_START");
    ADD(h, .at = 1285, .event = "RUN_END", .note = "run1: status 137", .host = "login");
    ADD(h, .at = 1290, .event = "NODE_FAIL", .note = "n3: no answer", .host = "login");
    ADD(h, .at = 1309, .event = "REBUILD_SUCCESS", .dset = 2, .secs = 3);
    ADD(h, .at = 1310, .event = "FAILURE", .class = "node");
    ADD(h, .at = 1311, .event = "RUN_START", .secs = 6, .run = 2, .version = "4.0.0",
        .config = "SCR_FLUSH=2");
    ADD(h, .at = 1311, .event = "COMPUTE_START");
    ADD(h, .at = 1313, .event = "RESTART_SUCCESS", .dset = 2, .secs = 2,
        .from = "cache");
    checkpoint(h, 1413, 102, 3);
    ADD(h, .at = 1523, .event = "COMPUTE_END", .secs = 100);
    ADD(h, .at = 1523, .event = "RUN_END", .secs = 212);
}

static void time_of_runs_is_divided(void **state)
{
    (void)state;
    struct scr_history h;
    scr_history_init(&h);
    failure_and_rebuild(&h);
    finish(&h);
    assert_int_equal(h.nruns, 2);
    assert_near(h.run[0].begin, 1000);
    assert_near(h.run[0].wall, 285);
    assert_times(h.run[0].secs, (double[]){ 200, 20, 0, 30, 5, 30, 0, 0 }, SCR_TIMES);
    assert_near(h.run[1].begin, 1305);
    assert_near(h.run[1].wall, 218);
    assert_times(h.run[1].secs, (double[]){ 200, 10, 0, 0, 8, 0, 0, 0 }, SCR_TIMES);
    assert_times(h.sums.secs, (double[]){ 400, 30, 0, 30, 13, 30, 0, 20 }, SCR_TIMES);
    assert_near(h.sums.wall, 503);
    assert_near(h.sums.span, 523);
    assert_near(h.sums.efficiency, 400.0 / 503);
    scr_history_fini(&h);
}

static void runs_datasets_and_failures_are_linked(void **state)
{
    (void)state;
    struct scr_history h;
    scr_history_init(&h);
    failure_and_rebuild(&h);
    finish(&h);
    assert_int_equal(h.run[0].end, SCR_RUN_FAILED);
    assert_int_equal(h.run[1].end, SCR_RUN_ENDED);
    assert_int_equal(h.run[0].restarted, SCR_HIST_NONE);
    assert_int_equal(h.run[1].restarted, 2);
    assert_string_equal(h.run[1].from, "cache");
    assert_ptr_equal(h.run[0].config, h.run[1].config);
    assert_int_equal(h.nfailures, 1);
    assert_int_equal(h.failure[0].run, 0);
    assert_int_equal(h.failure[0].next, 1);
    assert_string_equal(h.failure[0].class, "node");
    assert_string_equal(h.failure[0].nodes, "n3");
    assert_near(h.failure[0].lost, 30);
    assert_near(h.failure[0].at, 1285);
    assert_int_equal(h.ndsets, 3);
    const struct scr_hist_dset *d = &h.dset[1];
    assert_int_equal(d->id, 2);
    assert_int_equal(d->run, 0);
    assert_int_equal(d->written, SCR_HIST_DONE);
    assert_int_equal(d->flushed, SCR_HIST_DONE);
    assert_int_equal(d->restarts, 1);
    assert_near(d->write, 10);
    assert_near(d->encode, 4);
    assert_near(d->flush, 30);
    assert_string_equal(d->scheme, "XOR");
    assert_int_equal(h.doubts.unseen, 0);
    scr_history_fini(&h);
}

static void costs_bandwidth_and_plan_follow(void **state)
{
    (void)state;
    struct scr_history h;
    scr_history_init(&h);
    failure_and_rebuild(&h);
    finish(&h);
    assert_int_equal(h.moves[SCR_MOVE_CACHE].n, 3);
    assert_near(h.moves[SCR_MOVE_CACHE].median, 100);  /* 600 in 10 - 4 s */
    assert_near(h.moves[SCR_MOVE_ENCODE].median, 150); /* 600 in 4 s */
    assert_near(h.moves[SCR_MOVE_FLUSH].median, 20);   /* 600 in 30 s */
    assert_int_equal(h.moves[SCR_MOVE_FETCH].n, 0);
    assert_near(scr_hist_quantile(&h.costs[SCR_COST_INIT], 0.5), 5);
    assert_near(scr_hist_quantile(&h.costs[SCR_COST_INIT], 1), 6);
    assert_near(h.costs[SCR_COST_INIT].mean, 5.5);
    assert_int_equal(h.costs[SCR_COST_INIT].bin[0], 1);
    assert_int_equal(h.costs[SCR_COST_INIT].bin[SCR_COST_BINS - 1], 1);
    assert_near(h.costs[SCR_COST_REBUILD].mean, 3);
    assert_true(h.plan.is_known);
    assert_near(h.plan.mean, 503);             /* one failure in that */
    assert_near(h.plan.cost, (30.0 + 30) / 3); /* checkpoints and a flush */
    assert_near(h.plan.restart, 13.0 / 2);
    assert_near(h.plan.interval, (400.0 + 30) / 3);
    assert_near(h.plan.best, scr_interval_best(20, 503));
    assert_true(h.plan.best_efficiency >= h.plan.efficiency);
    assert_true(h.nadvices >= 1);
    scr_history_fini(&h);
}

/* SCR_CACHE_BYPASS: the program writes to the prefix. */
static void checkpoints_past_the_cache_are_on_the_prefix(void **state)
{
    (void)state;
    struct scr_history h;
    scr_history_init(&h);
    ADD(&h, .at = 100, .event = "RUN_START", .version = "4");
    ADD(&h, .at = 200, .event = "CHECKPOINT_END", .dset = 1, .secs = 10, .bytes = 600,
        .to = "prefix");
    ADD(&h, .at = 300, .event = "CHECKPOINT_END", .dset = 2, .secs = 6, .bytes = 600,
        .to = "cache");
    finish(&h);
    assert_int_equal(h.sums.ckpts, 2);
    assert_true(h.dset[0].is_bypass && !h.dset[1].is_bypass);
    assert_int_equal(h.moves[SCR_MOVE_FLUSH].n, 1);
    assert_near(h.moves[SCR_MOVE_FLUSH].median, 60);
    assert_int_equal(h.moves[SCR_MOVE_CACHE].n, 1);
    assert_near(h.moves[SCR_MOVE_CACHE].median, 100);
    assert_near(h.costs[SCR_COST_CHECKPOINT].mean, 8);
    scr_history_fini(&h);
}

/* A rate of failures at which 10 s of cost make 5 min too short: the closed formula
 * says by how much. */
static void advice_has_the_expected_gain(void **state)
{
    (void)state;
    struct scr_history h;
    scr_history_init(&h);
    ADD(&h, .at = 1000, .event = "RUN_START", .version = "4");
    for (int i = 0; i < 100; i++)
        checkpoint(&h, 1300 + i * 310, 300, i + 1);
    ADD(&h, .at = 1000 + 100 * 310, .event = "RUN_END", .note = "1: status 9");
    ADD(&h, .at = 33000, .event = "FAILURE", .class = "process");
    ADD(&h, .at = 33000, .event = "RUN_START", .version = "4");
    ADD(&h, .at = 33000, .event = "RESTART_SUCCESS", .dset = 100);
    finish(&h);
    const double m = 31000, c = 10;
    double t = scr_interval_best(c, m);
    double now = m * (exp((300 + c) / m) - 1) / 300,
           best = m * (exp((t + c) / m) - 1) / t;
    assert_near(h.plan.mean, m);
    assert_near(h.plan.interval, 300);
    assert_near(h.plan.gain, 1 - best / now);
    assert_non_null(
        strstr(h.advice[0].text, "checkpoint every 13 min instead of 5.0 min"));
    assert_near(h.advice[0].gain, h.plan.gain);
    scr_history_fini(&h);
}

static int advises(const struct scr_history *h, const char *what)
{
    for (size_t i = 0; i < h->nadvices; i++)
        if (strstr(h->advice[i].text, what) != NULL)
            return 1;
    return 0;
}

/* A run of job a that computed in vain for an hour after its only checkpoint, which job
 * b fetches. */
static void lose_an_hour(struct scr_history *h, const char *job, const char *lost)
{
    ADD(h, .at = 1000, .event = "RUN_START", .version = "4");
    checkpoint(h, 1300, 300, 1);
    ADD(h, .at = 4910, .event = "COMPUTE_END", .secs = 3600);
    ADD(h, .at = 9000, .event = "FAILURE", .class = "beyond", .nodelist = lost,
        .jobid = job);
    ADD(h, .at = 9000, .event = "RUN_START", .version = "4", .jobid = job);
    ADD(h, .at = 9000, .event = "RESTART_SUCCESS", .dset = 1, .jobid = job);
    finish(h);
}

/* An allocation that ended takes its caches along, whatever the scheme. */
static void a_scheme_is_advised_for_lost_nodes(void **state)
{
    (void)state;
    struct scr_history h;
    scr_history_init(&h);
    lose_an_hour(&h, "1", "n2");
    assert_true(advises(&h, "use a scheme that survives more"));
    assert_false(advises(&h, "SCR_HALT_SECONDS"));
    scr_history_fini(&h);
    scr_history_init(&h);
    lose_an_hour(&h, "2", NULL);
    assert_false(advises(&h, "use a scheme that survives more"));
    assert_true(advises(&h, "set SCR_HALT_SECONDS"));
    scr_history_fini(&h);
}

/* Events that are of no use, or missing, or at the wrong time. */
static void odd_logs_are_counted(void **state)
{
    (void)state;
    struct scr_history h;
    scr_history_init(&h);
    ADD(&h, .at = 10, .event = "NONSENSE");
    ADD(&h, .at = 100, .event = "CHECKPOINT_END", .dset = 7, .secs = 10); /* headless */
    ADD(&h, .at = 50, .event = "COMPUTE_START");                          /* back */
    ADD(&h, .at = 7250, .event = "COMPUTE_END", .secs = 20);              /* forward */
    ADD(&h, .at = 7250, .event = "CHECKPOINT_START"); /* no number */
    ADD(&h, .at = 7255, .event = "FLUSH_SUCCESS");
    ADD(&h, .at = 7260, .event = "RUN_END");
    ADD(&h, .at = 7270, .event = "RUN_END");
    ADD(&h, .at = 7300, .event = "RUN_START");
    ADD(&h, .at = 7301, .event = "RESTART_SUCCESS", .dset = 99); /* not in the log */
    ADD(&h, .at = NAN, .event = "RUN_END");
    finish(&h);
    assert_int_equal(h.doubts.unknown, 1);
    assert_int_equal(h.doubts.headless, 1);
    assert_int_equal(h.doubts.jumps, 2);
    assert_int_equal(h.doubts.strangers, 1);
    assert_int_equal(h.nruns, 2);
    assert_near(h.run[0].wall, 10 + 20 + 10);
    assert_near(h.run[0].secs[SCR_TIME_KEPT], 20 + 5); /* up to its end */
    assert_int_equal(h.run[1].end, SCR_RUN_OPEN);
    scr_history_fini(&h);
}

static void nothing_is_a_history_too(void **state)
{
    (void)state;
    struct scr_history h;
    scr_history_init(&h);
    finish(&h);
    assert_int_equal(h.nruns, 0);
    assert_int_equal(h.nadvices, 0);
    assert_near(h.sums.efficiency, 0);
    scr_history_fini(&h);
}

/* Two jobs at once in one log: each has its own clock, and a restart of one loses
 * nothing of the other. */
static void jobs_do_not_mix(void **state)
{
    (void)state;
    struct scr_history h;
    scr_history_init(&h);
    for (int i = 0; i < 2; i++)
        ADD(&h, .at = 1000 + i, .event = "RUN_START", .version = "4",
            .jobid = i ? "b" : "a");
    for (int i = 0; i < 2; i++)
        ADD(&h, .at = 1100 + i, .event = "CHECKPOINT_START", .dset = 1 + i,
            .jobid = i ? "b" : "a");
    for (int i = 0; i < 2; i++)
        ADD(&h, .at = 1110 + i, .event = "CHECKPOINT_END", .dset = 1 + i, .secs = 10,
            .jobid = i ? "b" : "a");
    ADD(&h, .at = 1150, .event = "COMPUTE_END", .secs = 40, .jobid = "a");
    ADD(&h, .at = 1160, .event = "FAILURE", .jobid = "a");
    ADD(&h, .at = 1160, .event = "RUN_START", .version = "4", .jobid = "a");
    ADD(&h, .at = 1161, .event = "RESTART_SUCCESS", .dset = 1, .jobid = "a");
    ADD(&h, .at = 1211, .event = "RUN_END", .jobid = "b");
    ADD(&h, .at = 1261, .event = "RUN_END", .jobid = "a");
    finish(&h);
    assert_int_equal(h.nruns, 3);
    assert_int_equal(h.run[0].end, SCR_RUN_FAILED);
    assert_times(h.run[0].secs, (double[]){ 100, 10, 0, 0, 0, 40, 0, 0 }, SCR_TIMES);
    assert_times(h.run[1].secs, (double[]){ 200, 10, 0, 0, 0, 0, 0, 0 }, SCR_TIMES);
    assert_times(h.run[2].secs, (double[]){ 101, 0, 0, 0, 0, 0, 0, 0 }, SCR_TIMES);
    assert_true(h.doubts.overlaps > 0);
    assert_near(h.sums.secs[SCR_TIME_IDLE], 0); /* b ran meanwhile */
    scr_history_fini(&h);
}

/* Two runs that died before their first checkpoint, and one that began again. */
static void runs_that_got_nowhere_lose_all(void **state)
{
    (void)state;
    struct scr_history h;
    scr_history_init(&h);
    for (int i = 0; i < 3; i++) {
        if (i > 0)
            ADD(&h, .at = 1000 + 100 * i, .event = "FAILURE", .class = "process");
        ADD(&h, .at = 1000 + 100 * i, .event = "RUN_START", .secs = 0, .version = "4");
        ADD(&h, .at = 1000 + 100 * i, .event = "COMPUTE_START");
        if (i < 2)
            ADD(&h, .at = 1030 + 110 * i, .event = "INTERVAL", .secs = 60);
    }
    ADD(&h, .at = 1260, .event = "COMPUTE_END", .secs = 60);
    ADD(&h, .at = 1260, .event = "RUN_END", .secs = 60);
    finish(&h);
    assert_int_equal(h.nfailures, 2);
    assert_near(h.failure[0].lost, 30);
    assert_near(h.failure[1].lost, 40);
    assert_near(h.sums.secs[SCR_TIME_LOST], 70);
    assert_near(h.sums.secs[SCR_TIME_KEPT], 60);
    scr_history_fini(&h);
}

/* Without computing times, versions and failures, and with the flush in the secs of
 * the checkpoint. */
static void older_logs_are_read(void **state)
{
    (void)state;
    struct scr_history h;
    scr_history_init(&h);
    ADD(&h, .at = 1000, .event = "RUN_START");
    ADD(&h, .at = 1100, .event = "CHECKPOINT_START", .dset = 1);
    ADD(&h, .at = 1130, .event = "FLUSH_SUCCESS", .dset = 1, .secs = 20);
    ADD(&h, .at = 1130, .event = "CHECKPOINT_END", .dset = 1, .secs = 30);
    ADD(&h, .at = 1200, .event = "CHECKPOINT_START", .dset = 2);
    ADD(&h, .at = 1300, .event = "RUN_START");
    ADD(&h, .at = 1305, .event = "RESTART_SUCCESS", .dset = 1);
    ADD(&h, .at = 1400, .event = "RUN_END");
    finish(&h);
    assert_times(h.run[0].secs, (double[]){ 100, 10, 0, 20, 0, 70, 0, 0 }, SCR_TIMES);
    assert_int_equal(h.run[0].end, SCR_RUN_FAILED);
    assert_int_equal(h.nfailures, 1);
    assert_null(h.failure[0].class);
    assert_near(h.failure[0].lost, 70);
    assert_int_equal(h.doubts.old, 1);
    assert_int_equal(h.doubts.unseen, 1);
    assert_int_equal(h.dset[1].written, SCR_HIST_BEGUN);
    scr_history_fini(&h);
}

/* The allocation ended, and the next run had to begin before what it had computed:
 * no failure. A run that dies in its restart does not make a failure of everything. */
static void ends_without_failure_and_failed_restarts(void **state)
{
    (void)state;
    struct scr_history h;
    scr_history_init(&h);
    ADD(&h, .at = 1000, .event = "RUN_START", .version = "4", .jobid = "a");
    ADD(&h, .at = 1000, .event = "COMPUTE_START", .jobid = "a");
    ADD(&h, .at = 1100, .event = "COMPUTE_END", .secs = 100, .jobid = "a");
    ADD(&h, .at = 1100, .event = "CHECKPOINT_START", .dset = 1, .jobid = "a");
    ADD(&h, .at = 1110, .event = "CHECKPOINT_END", .dset = 1, .secs = 10, .jobid = "a");
    ADD(&h, .at = 1110, .event = "COMPUTE_START", .jobid = "a");
    ADD(&h, .at = 1150, .event = "RUN_END", .note = "killed", .jobid = "a");
    ADD(&h, .at = 5000, .event = "RUN_START", .version = "4", .jobid = "b");
    ADD(&h, .at = 5100, .event = "FAILURE", .class = "process", .jobid = "b");
    ADD(&h, .at = 5100, .event = "RUN_START", .version = "4", .jobid = "b");
    ADD(&h, .at = 5101, .event = "RESTART_SUCCESS", .dset = 1, .jobid = "b");
    finish(&h);
    assert_int_equal(h.run[0].end, SCR_RUN_CUT);
    assert_int_equal(h.run[1].end, SCR_RUN_FAILED);
    assert_near(h.run[0].secs[SCR_TIME_KEPT], 100);
    assert_near(h.run[0].secs[SCR_TIME_LOST], 40);
    assert_int_equal(h.nfailures, 1);
    scr_history_fini(&h);
}

/* Fetched after the run before had ended in one job; nodes are counted once for what
 * two tell. */
static void fetches_in_init_and_nodes(void **state)
{
    (void)state;
    struct scr_history h;
    scr_history_init(&h);
    ADD(&h, .at = 100, .event = "NODE_FAIL", .note = "n2: down");
    ADD(&h, .at = 110, .event = "FETCH_SUCCESS", .dset = 4, .secs = 8, .bytes = 80);
    ADD(&h, .at = 112, .event = "FAILURE", .class = "beyond", .nodelist = "n[2-3]");
    ADD(&h, .at = 113, .event = "RUN_START", .secs = 12, .version = "4");
    ADD(&h, .at = 5000, .event = "NODE_FAIL", .note = "n2: down again");
    ADD(&h, .at = 5000, .event = "NODE_FAIL", .note = "");
    finish(&h);
    assert_int_equal(h.nruns, 1);
    assert_near(h.run[0].begin, 101);
    assert_near(h.run[0].wall, 12);
    assert_near(h.moves[SCR_MOVE_FETCH].median, 10);
    const struct scr_hist_node *n2 = scr_table_find(&h.nodes, "n2");
    assert_non_null(n2);
    assert_int_equal(n2->n, 2);
    assert_string_equal(n2->why, "down again");
    assert_int_equal(h.nodes.n, 2);
    assert_string_equal(h.failure[0].nodes, "n[2-3]");
    scr_history_fini(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_of_runs_is_divided),
        cmocka_unit_test(runs_datasets_and_failures_are_linked),
        cmocka_unit_test(costs_bandwidth_and_plan_follow),
        cmocka_unit_test(checkpoints_past_the_cache_are_on_the_prefix),
        cmocka_unit_test(advice_has_the_expected_gain),
        cmocka_unit_test(a_scheme_is_advised_for_lost_nodes),
        cmocka_unit_test(odd_logs_are_counted),
        cmocka_unit_test(nothing_is_a_history_too),
        cmocka_unit_test(jobs_do_not_mix),
        cmocka_unit_test(runs_that_got_nowhere_lose_all),
        cmocka_unit_test(older_logs_are_read),
        cmocka_unit_test(ends_without_failure_and_failed_restarts),
        cmocka_unit_test(fetches_in_init_and_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
