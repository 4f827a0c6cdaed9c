/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of the event log. */
#include "helper_tmp.h"

#include <stdlib.h>
#include <string.h>

#include "fmt/event.h"

#define TIME "2014-01-14T11:26:06.000123+01:00"

static struct scr_event example(void)
{
    struct scr_event e = SCR_EVENT_INIT;
    e.time = TIME;
    e.host = "atlas3";
    e.event = "ENCODE";
    return e;
}

static void assert_line(const struct scr_event *e, const char *want)
{
    char *line;
    size_t n;
    assert_int_equal(scr_event_encode(e, &line, &n, NULL), SCR_OK);
    assert_string_equal(line, want);
    assert_int_equal(n, strlen(want));
    free(line);
}

static void what_is_not_set_is_left_out(void **state)
{
    (void)state;
    struct scr_event e = example();
    assert_line(&e,
                "{\"time\":\"" TIME "\",\"host\":\"atlas3\",\"event\":\"ENCODE\"}\n");
    e.jobid = "1145655";
    e.dset = 0;
    e.secs = 0.25;
    e.bytes = 1048576;
    assert_line(&e,
                "{\"time\":\"" TIME "\",\"host\":\"atlas3\",\"jobid\":\"1145655\","
                "\"event\":\"ENCODE\",\"dset\":0,\"secs\":0.25,\"bytes\":1048576}\n");
}

/* Nothing a user names can end the line early or make it invalid. */
static void any_text_stays_on_one_line(void **state)
{
    (void)state;
    char *line;
    size_t n;
    struct scr_event e = example(), got;
    struct scr_event_owner *owner;
    e.name = "a\nb\"c\\d\te\x01";
    e.note = "caf\xc3\xa9";
    e.from = "\xff\xfe/x"; /* no UTF-8 */
    assert_int_equal(scr_event_encode(&e, &line, &n, NULL), SCR_OK);
    for (size_t i = 0; i + 1 < n; i++)
        assert_true((unsigned char)line[i] >= 0x20);
    assert_int_equal(scr_event_decode(line, n, &got, &owner, NULL), SCR_OK);
    assert_string_equal(got.name, e.name);
    assert_string_equal(got.note, e.note);
    assert_string_equal(got.from, "?\?/x");
    scr_event_free(owner);
    free(line);
}

static void round_trip_of_every_event(void **state)
{
    (void)state;
    size_t count = 0;
    for (const char *const *name = scr_event_names; *name != NULL; name++, count++) {
        char *line;
        size_t n;
        struct scr_event e = example(), got;
        struct scr_event_owner *owner;
        e.event = *name;
        e.jobid = "7";
        e.to = "to";
        e.dset = e.bytes = e.files = INT64_MAX;
        e.secs = 1e9;
        assert_int_equal(scr_event_encode(&e, &line, &n, NULL), SCR_OK);
        assert_int_equal(scr_event_decode(line, n - 1, &got, &owner, NULL), SCR_OK);
        assert_string_equal(got.event, *name);
        assert_string_equal(got.time, TIME);
        assert_string_equal(got.to, "to");
        assert_null(got.from);
        assert_true(got.dset == INT64_MAX && got.files == INT64_MAX && got.secs == 1e9);
        scr_event_free(owner);
        free(line);
    }
    assert_int_equal(count, 29);
}

static void incomplete_events_are_refused(void **state)
{
    (void)state;
    char *line;
    size_t n;
    struct scr_event e = example();
    e.event = "DANCE";
    assert_int_equal(scr_event_encode(&e, &line, &n, NULL), SCR_E_ARG);
    e.event = NULL;
    assert_int_equal(scr_event_encode(&e, &line, &n, NULL), SCR_E_ARG);
    e = example();
    e.host = NULL;
    assert_int_equal(scr_event_encode(&e, &line, &n, NULL), SCR_E_ARG);
    assert_true(scr_event_known("HALT"));
    assert_false(scr_event_known("halt"));
    assert_false(scr_event_known(NULL));
}

static int decode(const char *line, struct scr_event *e, struct scr_event_owner **owner,
                  struct scr_err *err)
{
    return scr_event_decode(line, strlen(line), e, owner, err);
}

static void lines_of_newer_writers_are_read(void **state)
{
    (void)state;
    struct scr_event e;
    struct scr_event_owner *owner;
    assert_int_equal(
        decode("{\"event\":\"NEW\",\"host\":\"h\",\"time\":\"t\",\"x\":[1],"
               "\"secs\":3}",
               &e, &owner, NULL),
        SCR_OK);
    assert_string_equal(e.event, "NEW");
    assert_true(e.secs == 3 && e.dset == -1);
    scr_event_free(owner);
}

static void torn_and_foreign_lines_are_refused(void **state)
{
    (void)state;
#define START "{\"time\":\"t\",\"host\":\"h\",\"event\":\"HALT\""
    static const char *const bad[] = {
        "",
        "\n",
        "not JSON",
        "[]",
        "\"text\"",
        START,
        START ",\"dset\":\"1\"}",
        START ",\"dset\":1.5}",
        START ",\"dset\":-1}",
        START ",\"bytes\":99999999999999999999}",
        START ",\"secs\":\"1\"}",
        START ",\"note\":7}",
        START ",\"note\":\"a\\u0000b\"}",
        START ",\"host\":\"twice\"}",
        START "} trailing",
        "{\"time\":\"t\",\"host\":\"h\"}",
        "{\"time\":\"t\",\"event\":\"HALT\"}",
        "{\"time\":5,\"host\":\"h\",\"event\":\"HALT\"}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct scr_err err = SCR_ERR_INIT;
        struct scr_event e = SCR_EVENT_INIT;
        struct scr_event_owner *owner = NULL;
        if (decode(bad[i], &e, &owner, &err) != SCR_E_CORRUPT)
            fail_msg("accepted: %s", bad[i]);
        assert_true(owner == NULL && e.event == NULL);
        assert_true(strncmp(err.text, "event: ", 7) == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_set_is_left_out),
        cmocka_unit_test(any_text_stays_on_one_line),
        cmocka_unit_test(round_trip_of_every_event),
        cmocka_unit_test(incomplete_events_are_refused),
        cmocka_unit_test(lines_of_newer_writers_are_read),
        cmocka_unit_test(torn_and_foreign_lines_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
