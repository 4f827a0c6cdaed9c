/* SPDX-License-Identifier: BSD-3-Clause */
/* The runs of a prefix directory by the events of its log. */
#include "ops/runlog.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "base/hostlist.h"

static void add(struct scr_runlog *l, struct scr_event e)
{
    struct scr_err err = SCR_ERR_INIT;
    assert_int_equal(scr_runlog_add(l, &e, &err), SCR_OK);
}
/* An event of dataset 3 that took a minute, if that counts. */
#define ADD(l, name, ...) ADD_OF("7", l, name, __VA_ARGS__)
#define ADD_OF(job, l, name, ...)                                                      \
    add(l, (struct scr_event){ .event = name,                                          \
                               .host = "n1",                                           \
                               .jobid = job,                                           \
                               .dset = 3,                                              \
                               .bytes = -1,                                            \
                               .secs = 60,                                             \
                               __VA_ARGS__ })

static void the_newest_run_counts(void **state)
{
    (void)state;
    struct scr_runlog l = SCR_RUNLOG_INIT;
    ADD(&l, "RUN_START", .at = 100, .ranks = 8, .nodes = 4, .nodelist = "n[1-4]");
    ADD(&l, "INTERVAL", .at = 101, .note = "why");
    ADD(&l, "CHECKPOINT_END", .at = 150, .name = "a");
    ADD(&l, "RUN_END", .at = 160);
    assert_int_equal(l.runs, 1);
    assert_string_equal(l.nodelist, "n[1-4]");
    assert_true(l.ended == 160 && l.ckpt_ended == 150 && l.interval == 60);
    ADD_OF("8", &l, "RUN_START", .at = 200, .run = 5);
    assert_int_equal(l.runs, 5);
    assert_string_equal(l.job, "8");
    assert_null(l.nodelist);
    assert_null(l.advice);
    assert_true(l.began == 200 && l.ended == 0 && l.interval == 0 && l.ranks == 0);
    scr_runlog_fini(&l);
}

/* It brackets those of the library, and is the last to speak of a run that died. */
static void events_of_the_run_loop_are_not_runs(void **state)
{
    (void)state;
    struct scr_runlog l = SCR_RUNLOG_INIT;
    ADD(&l, "RUN_START", .at = 90, .note = "run 1 on 4 of 4 nodes: mpirun a");
    assert_int_equal(l.runs, 0);
    ADD(&l, "RUN_START", .at = 100);
    ADD(&l, "RUN_END", .at = 150, .note = "run 1: exit status 9");
    assert_true(l.runs == 1 && l.ended == 0 && l.seen == 100);
    assert_string_equal(l.exit, "run 1: exit status 9");
    ADD(&l, "RUN_START", .at = 160);
    assert_null(l.exit);
    scr_runlog_fini(&l);
}

static void a_halt_has_its_reason(void **state)
{
    (void)state;
    struct scr_runlog l = SCR_RUNLOG_INIT;
    ADD(&l, "RUN_START", .at = 100);
    ADD(&l, "HALT", .at = 150, .note = "no checkpoints left to take");
    ADD(&l, "RUN_END", .at = 151, .note = "halt");
    assert_string_equal(l.halt, "no checkpoints left to take");
    assert_true(l.ended == 151);
    ADD(&l, "RUN_START", .at = 200);
    assert_null(l.halt);
    ADD(&l, "RUN_END", .at = 250, .note = "halt");
    assert_string_equal(l.halt, "halt");
    scr_runlog_fini(&l);
}

static void each_lost_node_counts_once(void **state)
{
    (void)state;
    struct scr_runlog l = SCR_RUNLOG_INIT;
    ADD(&l, "RUN_START", .at = 100, .nodes = 4);
    ADD(&l, "NODE_FAIL", .at = 110, .note = "n3: no answer");
    ADD(&l, "NODE_FAIL", .at = 120, .note = "n3: no answer");
    ADD(&l, "NODE_FAIL", .at = 120);
    ADD(&l, "NODE_FAIL", .at = 120, .note = ": nothing");
    assert_true(l.lost.n == 1 && l.lost_since == 1);
    ADD(&l, "RUN_START", .at = 130, .nodes = 3);
    ADD(&l, "FAILURE", .at = 131, .class = "node", .nodelist = "n[3-4]");
    ADD(&l, "FAILURE", .at = 132, .class = "beyond", .nodelist = "n[");
    ADD(&l, "FAILURE", .at = 133, .class = "other");
    ADD(&l, "FAILURE", .at = 134);
    assert_true(l.lost.n == 2 && l.lost_since == 0);
    assert_int_equal(l.failures[SCR_FAILED_PROCESS], 0);
    assert_int_equal(l.failures[SCR_FAILED_NODE], 1);
    assert_int_equal(l.failures[SCR_FAILED_SYSTEM], 1);
    scr_runlog_fini(&l);
}

static void a_node_is_lost_once_in_each_run(void **state)
{
    (void)state;
    struct scr_runlog l = SCR_RUNLOG_INIT;
    ADD(&l, "NODE_FAIL", .at = 90, .note = "n3");
    assert_int_equal(l.lost_since, 1);
    ADD(&l, "RUN_START", .at = 100);
    assert_int_equal(l.lost_since, 0);
    for (int i = 0; i < 2; i++) {
        ADD(&l, "NODE_FAIL", .at = 110, .note = "n3: no answer");
        ADD(&l, "NODE_FAIL", .at = 110, .note = "n4: no answer");
    }
    assert_true(l.lost.n == 2 && l.lost_since == 2);
    scr_runlog_fini(&l);
}

/* 100,000 nodes, and a line that names more than any machine has. */
static void many_lost_nodes_take_no_time(void **state)
{
    (void)state;
    char note[64];
    clock_t begin = clock();
    struct scr_runlog l = SCR_RUNLOG_INIT;
    ADD(&l, "RUN_START", .at = 100);
    for (int i = 0; i < 100000; i++) {
        snprintf(note, sizeof note, "n%d: no answer", i);
        ADD(&l, "NODE_FAIL", .at = 110, .note = note);
    }
    assert_true(l.lost.n == 100000 && l.lost_since == 100000);
    for (int i = 0; i < 1000; i++)
        ADD(&l, "FAILURE", .at = 120, .class = "node", .nodelist = "m[1-1000000]");
    assert_true(l.lost.n == 100000 + SCR_HOSTLIST_FRONT);
    assert_true(clock() - begin < 20 * CLOCKS_PER_SEC);
    scr_runlog_fini(&l);
}

static void redundancy_survives_what_it_was_asked_to(void **state)
{
    static const struct {
        const char *config;
        int64_t nodes;
        enum scr_scheme scheme;
        int losses;
    } rows[] = {
        { NULL, 4, SCR_SCHEME_SINGLE, 0 },
        { NULL, 4, SCR_SCHEME_XOR, 1 },
        { NULL, 1, SCR_SCHEME_XOR, 0 },
        { NULL, 0, SCR_SCHEME_RS, 2 },
        { NULL, 4, SCR_SCHEME_PARTNER, 1 },
        { "SCR_SET_FAILURES=3", 4, SCR_SCHEME_RS, 3 },
        { "SCR_SET_FAILURES=3", 4, SCR_SCHEME_PARTNER, 3 },
        { "SCR_FLUSH=0; SCR_SET_FAILURES=many", 4, SCR_SCHEME_RS, 2 },
        { "CKPT=0 TYPE=XOR; CKPT=1 TYPE=RS SET_FAILURES=4; SCR_FLUSH=1", 9,
          SCR_SCHEME_RS, 4 },
        { "CKPT=0 TYPE=RS; CKPT=1 SET_FAILURES=4 TYPE=XOR; SCR_SET_FAILURES=3", 9,
          SCR_SCHEME_RS, 3 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scr_runlog l = SCR_RUNLOG_INIT;
        ADD(&l, "RUN_START", .at = 1, .nodes = rows[i].nodes, .config = rows[i].config);
        ADD(&l, "ENCODE", .at = 2, .to = scr_scheme_name(rows[i].scheme));
        assert_int_equal(l.encoded, 3);
        assert_int_equal(l.scheme, rows[i].scheme);
        assert_int_equal(scr_runlog_survives(&l, l.scheme), rows[i].losses);
        ADD(&l, "ENCODE", .at = 2, .to = "BYTES");
        assert_int_equal(l.scheme, rows[i].scheme);
        scr_runlog_fini(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_run_counts),
        cmocka_unit_test(events_of_the_run_loop_are_not_runs),
        cmocka_unit_test(a_halt_has_its_reason),
        cmocka_unit_test(each_lost_node_counts_once),
        cmocka_unit_test(a_node_is_lost_once_in_each_run),
        cmocka_unit_test(many_lost_nodes_take_no_time),
        cmocka_unit_test(redundancy_survives_what_it_was_asked_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
