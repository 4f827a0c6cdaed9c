/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of JSON, taken apart. */
#include "helper_tmp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonline.h"

/* "key=value key=value …", a text in ', other values as ?; "damaged" if it is. The line
 * is in memory of its own, so that checkers see a byte too many. */
static const char *taken(const char *line)
{
    static char out[512];
    size_t n = strlen(line), at = 0;
    char *copy = malloc(n > 0 ? n : 1);
    assert_non_null(copy);
    memcpy(copy, line, n);
    struct scr_jsonline j = SCR_JSONLINE(copy, n);
    out[0] = '\0';
    while (scr_jsonline_next(&j))
        at += (size_t)snprintf(out + at, sizeof out - at,
                               j.kind == SCR_JSON_TEXT ? "%s%s='%s'" : "%s%s=%s",
                               at ? " " : "", j.key,
                               j.kind == SCR_JSON_OTHER ? "?" : j.value);
    if (j.damaged)
        snprintf(out, sizeof out, "damaged");
    free(copy);
    return out;
}

static void members_come_in_order(void **state)
{
    (void)state;
    assert_string_equal(taken("{}"), "");
    assert_string_equal(taken(" { } \r"), "");
    assert_string_equal(taken("{\"a\":1}"), "a=1");
    assert_string_equal(taken("{\"a\" : -2.5e+3 ,\t\"b\":\"x\"}"), "a=-2.5e+3 b='x'");
    assert_string_equal(taken("{\"\":\"\",\"b\":0}"), "='' b=0");
}

static void other_values_are_passed_over(void **state)
{
    (void)state;
    assert_string_equal(taken("{\"a\":true,\"b\":false,\"c\":null,\"d\":7}"),
                        "a=? b=? c=? d=7");
    assert_string_equal(taken("{\"a\":{\"x\":[1,\"}]\",{}]},\"b\":[],\"c\":7}"),
                        "a=? b=? c=7");
}

static void escapes_become_what_they_mean(void **state)
{
    (void)state;
    assert_string_equal(taken("{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}"),
                        "a='\"\\/\b\f\n\r\t'");
    assert_string_equal(taken("{\"\\u0061\":\"\\u00e4\\u20AC\\ud83d\\ude00.\"}"),
                        "a='\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80.'");
}

static void anything_else_is_damaged(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "",
        "x",
        "[]",
        "{",
        "{\"a",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,",
        "{\"a\":1,}",
        "{\"a\":1 \"b\":2}",
        "{\"a\":\"x",
        "{\"a\":\"\\",
        "{\"a\":\"\\x\"}",
        "{\"a\":\"\\u12\"}",
        "{\"a\":\"\\u00g0\"}",
        "{\"a\":\"\\u0000\"}",
        "{\"a\":\"\\ud83d\"}",
        "{\"a\":\"\\ud83d\\u0041\"}",
        "{\"a\":\"\\ud83dxxxxxxx\"}",
        "{\"a\":\"\\ude00\"}",
        "{\"a\":\"\x01\"}",
        "{\"a\":[1,2}",
        "{\"a\":[\"x]}",
        "{\"a\":tru}",
        "{\"a\":yes}",
        "{a:1}",
        "{}x",
        "{\"a\":1}{\"a\":1}",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        if (strcmp(taken(lines[i]), "damaged") != 0)
            fail_msg("%s: %s", lines[i], taken(lines[i]));
}

/* Every beginning of a line is damaged, and read within its bytes. */
static void a_line_that_was_cut_is_damaged(void **state)
{
    (void)state;
    const char *line =
        "{\"a\":\"\\u00e4\\n\",\"b\":[{\"x\":\"}\"}],\"c\":-1,\"d\":null}";
    for (size_t n = 0; n < strlen(line); n++) {
        char *cut = strndup(line, n);
        assert_string_equal(taken(cut), "damaged");
        free(cut);
    }
    assert_string_equal(taken(line), "a='\xc3\xa4\n' b=? c=-1 d=?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_come_in_order),
        cmocka_unit_test(other_values_are_passed_over),
        cmocka_unit_test(escapes_become_what_they_mean),
        cmocka_unit_test(anything_else_is_damaged),
        cmocka_unit_test(a_line_that_was_cut_is_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
