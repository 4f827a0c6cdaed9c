/* SPDX-License-Identifier: BSD-3-Clause */
/* The event log is read: log.1, then log, in constant memory. */
#include "helper_store.h"
#include "store/eventlog.h"

/* What a reader was given: ids of datasets, "1 2 3". */
struct seen {
    struct test_store t;
    struct scr_eventlog_reader reader;
    char ids[256];
    size_t n;
    int stop_at;
};

static int see(void *arg, const struct scr_event *e, struct scr_err *err)
{
    struct seen *s = arg;
    if (e->dset == s->stop_at)
        return scr_fail(err, SCR_E_HALT, 0, "enough");
    if (s->n + 16 < sizeof s->ids)
        s->n += (size_t)snprintf(s->ids + s->n, sizeof s->ids - s->n,
                                 s->n ? " %d" : "%d", (int)e->dset);
    return SCR_OK;
}

static void begin(struct seen *s)
{
    *s = (struct seen){ .stop_at = -2 };
    test_store_open(&s->t);
    s->reader = (struct scr_eventlog_reader){ .event = see, .arg = s };
}

static void put(const char *name, const char *lines)
{
    test_put(test_path("prefix/.scr/%s", name), lines, strlen(lines));
}

#define LINE(id)                                                                       \
    "{\"time\":\"2026-01-31T12:00:00.5+01:00\",\"host\":\"n1\",\"event\":\"ENCODE\","  \
    "\"dset\":" #id "}"

static int walk(struct seen *s)
{
    s->n = 0;
    s->ids[0] = '\0';
    s->reader.damaged = 0;
    return scr_eventlog_walk(&s->t.env, &s->t.p, &s->reader, &s->t.err);
}

static void the_older_part_comes_first(void **state)
{
    (void)state;
    struct seen s;
    begin(&s);
    assert_int_equal(walk(&s), SCR_OK); /* there is no log */
    assert_string_equal(s.ids, "");
    put("log", LINE(3) "\n" LINE(4) "\n");
    assert_int_equal(walk(&s), SCR_OK);
    assert_string_equal(s.ids, "3 4");
    put("log.1", LINE(1) "\n" LINE(2) "\n");
    assert_int_equal(walk(&s), SCR_OK);
    assert_string_equal(s.ids, "1 2 3 4");
    unlink(test_path("prefix/.scr/log")); /* in the middle of a rotation */
    assert_int_equal(walk(&s), SCR_OK);
    assert_string_equal(s.ids, "1 2");
    assert_int_equal(s.reader.damaged, 0);
    test_store_close(&s.t);
}

static void damaged_lines_are_counted(void **state)
{
    (void)state;
    struct seen s;
    begin(&s);
    put("log", LINE(1) "\nhalf a li" LINE(2) "\n\n" LINE(3) "\n{\"time\":\"20");
    assert_int_equal(walk(&s), SCR_OK);
    assert_string_equal(s.ids, "1 3");
    assert_int_equal(s.reader.damaged, 3);
    put("log", LINE(1) "\n" LINE(2)); /* the end of the last line is all it has lost */
    assert_int_equal(walk(&s), SCR_OK);
    assert_string_equal(s.ids, "1 2");
    assert_int_equal(s.reader.damaged, 0);
    test_store_close(&s.t);
}

/* Without end in memory of a fixed size, and one after a line of 3 MiB. */
static void a_line_that_is_too_long_is_one_damaged_line(void **state)
{
    (void)state;
    struct seen s;
    size_t n = 3 << 20, tail = strlen("\n" LINE(2) "\n"), head = strlen(LINE(1) "\n");
    char *text = malloc(head + n + tail);
    assert_non_null(text);
    begin(&s);
    memcpy(text, LINE(1) "\n", head);
    memset(text + head, 'x', n);
    memcpy(text + head + n, "\n" LINE(2) "\n", tail);
    test_put(test_path("prefix/.scr/log"), text, head + n + tail);
    assert_int_equal(walk(&s), SCR_OK);
    assert_string_equal(s.ids, "1 2");
    assert_int_equal(s.reader.damaged, 1);
    test_put(test_path("prefix/.scr/log"), text, head + n); /* and never ends */
    assert_int_equal(walk(&s), SCR_OK);
    assert_string_equal(s.ids, "1");
    assert_int_equal(s.reader.damaged, 1);
    free(text);
    test_store_close(&s.t);
}

static void a_reader_may_stop(void **state)
{
    (void)state;
    struct seen s;
    begin(&s);
    put("log.1", LINE(1) "\n" LINE(2) "\n");
    put("log", LINE(3) "\n");
    s.stop_at = 2;
    assert_int_equal(walk(&s), SCR_E_HALT);
    assert_string_equal(s.ids, "1");
    assert_string_equal(s.t.err.text, "enough");
    test_store_close(&s.t);
}

static void only_the_tail_may_be_wanted(void **state)
{
    (void)state;
    struct seen s;
    begin(&s);
    put("log.1", LINE(1) "\n" LINE(2) "\n");
    put("log", LINE(3) "\n" LINE(4) "\n" LINE(5) "\n");
    s.reader.tail = strlen(LINE(1) "\n") * 2 + 5;
    assert_int_equal(walk(&s), SCR_OK);
    assert_string_equal(s.ids, "1 2 4 5");
    assert_int_equal(s.reader.damaged, 0);
    assert_true(s.reader.cut);
    test_store_close(&s.t);
}

static void one_file_has_to_exist(void **state)
{
    (void)state;
    struct seen s;
    begin(&s);
    const char *path = test_path("prefix/.scr/log");
    assert_int_equal(scr_eventlog_walk_file(&s.t.env, path, &s.reader, &s.t.err),
                     SCR_E_NOENT);
    put("log", LINE(7) "\n");
    scr_err_clear(&s.t.err);
    assert_int_equal(scr_eventlog_walk_file(&s.t.env, path, &s.reader, &s.t.err),
                     SCR_OK);
    assert_string_equal(s.ids, "7");
    test_store_close(&s.t);
}

static void what_is_no_file_is_refused(void **state)
{
    (void)state;
    struct seen s;
    begin(&s);
    assert_int_equal(mkfifo(test_path("prefix/.scr/log"), 0600), 0);
    assert_int_equal(walk(&s), SCR_E_UNSAFE);
    test_store_close(&s.t);
}

/* Each system call fails in turn: the walk says so, or has given everything. */
static void a_call_that_fails_is_an_error(void **state)
{
    (void)state;
    struct seen s;
    begin(&s);
    put("log.1", LINE(1) "\n");
    put("log", LINE(2) "\n");
    for (long n = 0;; n++) {
        scr_err_clear(&s.t.err);
        test_fault_arm(TEST_ANY, n, EIO, TEST_ONCE);
        int rc = walk(&s), fired = test_fault_off();
        assert_int_equal(rc, fired ? SCR_E_IO : SCR_OK);
        if (!fired)
            break;
    }
    assert_string_equal(s.ids, "1 2");
    test_store_close(&s.t);
    assert_int_equal(test_fault_open_fds(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_older_part_comes_first),
        cmocka_unit_test(damaged_lines_are_counted),
        cmocka_unit_test(a_line_that_is_too_long_is_one_damaged_line),
        cmocka_unit_test(a_reader_may_stop),
        cmocka_unit_test(only_the_tail_may_be_wanted),
        cmocka_unit_test(one_file_has_to_exist),
        cmocka_unit_test(what_is_no_file_is_refused),
        cmocka_unit_test(a_call_that_fails_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, test_tmp_teardown);
}
