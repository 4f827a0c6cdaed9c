/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of the event log. */
#include "helper_tmp.h"

#include <stdlib.h>
#include <string.h>

#include "fmt/event.h"
#include <jansson.h>

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

/* The line, which has to be an object without members of the same name. */
static json_t *parsed(const char *line, size_t n)
{
    json_t *root = json_loadb(line, n, JSON_REJECT_DUPLICATES, NULL);
    assert_true(json_is_object(root));
    return root;
}

static const char *text_of(const json_t *root, const char *key)
{
    return json_string_value(json_object_get(root, key));
}

/* Nothing a user names can end the line early or make it invalid. */
static void any_text_stays_on_one_line(void **state)
{
    (void)state;
    char *line;
    size_t n;
    struct scr_event e = example();
    e.name = "a\nb\"c\\d\te\x01";
    e.note = "caf\xc3\xa9";
    e.from = "\xff\xfe/x"; /* no UTF-8 */
    assert_int_equal(scr_event_encode(&e, &line, &n, NULL), SCR_OK);
    for (size_t i = 0; i + 1 < n; i++)
        assert_true((unsigned char)line[i] >= 0x20);
    json_t *root = parsed(line, n);
    assert_string_equal(text_of(root, "name"), e.name);
    assert_string_equal(text_of(root, "note"), e.note);
    assert_string_equal(text_of(root, "from"), "?\?/x");
    json_decref(root);
    free(line);
}

static void every_event_is_an_object(void **state)
{
    (void)state;
    static const char *const counts[] = { "dset", "bytes", "files" };
    size_t count = 0;
    for (const char *const *name = scr_event_names; *name != NULL; name++, count++) {
        char *line;
        size_t n;
        struct scr_event e = example();
        e.event = *name;
        e.jobid = "7";
        e.to = "to";
        e.dset = e.bytes = e.files = INT64_MAX;
        e.secs = 1e9;
        assert_int_equal(scr_event_encode(&e, &line, &n, NULL), SCR_OK);
        json_t *root = parsed(line, n - 1);
        assert_string_equal(text_of(root, "event"), *name);
        assert_string_equal(text_of(root, "time"), TIME);
        assert_string_equal(text_of(root, "host"), "atlas3");
        assert_string_equal(text_of(root, "jobid"), "7");
        assert_string_equal(text_of(root, "to"), "to");
        assert_null(json_object_get(root, "from"));
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
            assert_true(json_integer_value(json_object_get(root, counts[i])) ==
                        INT64_MAX);
        assert_true(json_real_value(json_object_get(root, "secs")) == 1e9);
        json_decref(root);
        free(line);
    }
    assert_int_equal(count, 30);
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

/* --- what events say --- */

static void it_is_known_who_wrote_an_event(void **state)
{
    (void)state;
    static const struct {
        const char *event, *note;
        enum scr_event_by by;
    } rows[] = {
        { "RUN_START", NULL, SCR_BY_LIBRARY },
        { "RUN_START", "run 1 on 4 of 4 nodes: mpirun a", SCR_BY_LOOP },
        { "RUN_START", "halt", SCR_BY_LOOP },
        { "RUN_END", NULL, SCR_BY_LIBRARY },
        { "RUN_END", "halt", SCR_BY_LIBRARY },
        { "RUN_END", "run 1: exit status 9", SCR_BY_LOOP },
        { "CHECKPOINT_END", "no space", SCR_BY_LIBRARY },
        { "NODE_FAIL", "n3: down", SCR_BY_OTHER },
        { "SCAVENGE_START", NULL, SCR_BY_OTHER },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct scr_event e = { .event = rows[i].event, .note = rows[i].note };
        assert_int_equal(scr_event_by(&e), rows[i].by);
    }
}

static void a_lost_node_has_its_reason(void **state)
{
    (void)state;
    char name[300] = "";
    memset(name, 'n', 256);
    const struct {
        const char *note;
        size_t n;
        const char *why;
    } rows[] = { { "n3: no answer: timeout", 2, "no answer: timeout" },
                 { "n3", 2, "" },
                 { "n3:", 2, "" },
                 { ": nothing", 0, "nothing" },
                 { NULL, 0, "" },
                 { name, 0, "" },
                 { name + 1, 255, "" } };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct scr_event e = { .event = "NODE_FAIL", .note = rows[i].note };
        const char *why;
        assert_int_equal(scr_event_lost_node(&e, &why), rows[i].n);
        assert_string_equal(why, rows[i].why);
    }
}

/* --- decoding --- */

/* Decodes a copy, which *line keeps, as texts lie in it. */
static int decode(const char *text, char **line, struct scr_event *e)
{
    *line = strdup(text);
    assert_non_null(*line);
    return scr_event_decode(*line, strlen(text), e);
}

static void what_was_encoded_is_decoded(void **state)
{
    (void)state;
    char *line, *again;
    size_t n, m;
    struct scr_event e = {
        .time = TIME,
        .host = "atlas3",
        .jobid = "7",
        .event = "FAILURE",
        .name = "a\nb\"c",
        .from = "cache",
        .to = "prefix",
        .note = "caf\xc3\xa9",
        .nodelist = "n3",
        .version = "4.0",
        .config = "CKPT=0",
        .class = "node",
        .dset = 18,
        .bytes = INT64_MAX,
        .files = 0,
        .ranks = 64,
        .nodes = 16,
        .run = 3,
        .secs = 0.123456789,
    };
    assert_int_equal(scr_event_encode(&e, &line, &n, NULL), SCR_OK);
    char *copy = strdup(line);
    struct scr_event d;
    assert_true(scr_event_decode(line, n, &d));
    assert_string_equal(d.name, e.name);
    assert_true(d.at > 1389695166.000122 && d.at < 1389695166.000124);
    assert_int_equal(scr_event_encode(&d, &again, &m, NULL), SCR_OK);
    assert_string_equal(again, copy); /* every member is what it was */
    free(line);
    free(copy);
    free(again);
}

static void what_is_not_known_is_left_out(void **state)
{
    (void)state;
    struct scr_event e;
    char *line;
    assert_true(decode("{\"time\":\"" TIME "\",\"event\":\"DANCE\",\"new\":[1],"
                       "\"dset\":\"5\",\"note\":5,\"bytes\":1.5,\"files\":-1,"
                       "\"secs\":2,\"run\":99999999999999999999}",
                       &line, &e));
    assert_string_equal(e.event, "DANCE");
    assert_null(e.host);
    assert_null(e.note);
    assert_true(e.dset == -1 && e.bytes == -1 && e.files == -1 && e.run == -1);
    assert_true(e.secs == 2);
    free(line);
}

/* A damaged line cannot make sums overflow, or conversions to int. */
static void numbers_that_cannot_be_are_left_out(void **state)
{
    (void)state;
    struct scr_event e;
    char *line;
    assert_true(decode("{\"time\":\"" TIME "\",\"event\":\"HALT\","
                       "\"dset\":2147483648,\"run\":9223372036854775807,"
                       "\"ranks\":2147483648,\"nodes\":4294967297,\"secs\":1e308,"
                       "\"bytes\":9223372036854775808,\"files\":9223372036854775807}",
                       &line, &e));
    assert_true(e.dset == -1 && e.run == -1 && e.ranks == -1 && e.nodes == -1);
    assert_true(e.secs == -1 && e.bytes == -1 && e.files == INT64_MAX);
    free(line);
    assert_true(decode("{\"time\":\"" TIME "\",\"event\":\"HALT\","
                       "\"dset\":2147483647,\"run\":2147483647,\"secs\":1e10}",
                       &line, &e));
    assert_true(e.dset == INT32_MAX && e.run == INT32_MAX && e.secs == 1e10);
    free(line);
    assert_true(decode("{\"time\":\"" TIME "\",\"event\":\"HALT\",\"secs\":1e-300}",
                       &line, &e));
    assert_true(e.secs == 0);
    free(line);
}

static void a_line_without_time_or_event_is_damaged(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "",
        "\n",
        "{}",
        "{\"time\":\"" TIME "\"}",
        "{\"event\":\"HALT\"}",
        "{\"time\":\"?\",\"event\":\"HALT\"}",
        "{\"time\":\"" TIME "\",\"event\":5}",
        "{\"time\":\"" TIME "\",\"event\":\"HALT\"",
    };
    struct scr_event e;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char *line;
        if (decode(lines[i], &line, &e))
            fail_msg("%s", lines[i]);
        free(line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_set_is_left_out),
        cmocka_unit_test(any_text_stays_on_one_line),
        cmocka_unit_test(every_event_is_an_object),
        cmocka_unit_test(incomplete_events_are_refused),
        cmocka_unit_test(it_is_known_who_wrote_an_event),
        cmocka_unit_test(a_lost_node_has_its_reason),
        cmocka_unit_test(what_was_encoded_is_decoded),
        cmocka_unit_test(what_is_not_known_is_left_out),
        cmocka_unit_test(numbers_that_cannot_be_are_left_out),
        cmocka_unit_test(a_line_without_time_or_event_is_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
