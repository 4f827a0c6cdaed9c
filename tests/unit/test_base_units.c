/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes and times as people write them. */
#include "helper_tmp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

static void sizes_people_write(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } rows[] = {
        { "0", 0 },
        { "64", 64 },
        { "64b", 64 },
        { "1k", 1024 },
        { "128KiB", 131072 },
        { "2 TB", (uint64_t)2 << 40 },
        { "1.5g", (uint64_t)3 << 29 },
        { "0.5k", 512 },
        { "1.0001k", 1024 },
        { "1.9", 1 },
        { "15E", (uint64_t)15 << 60 },
        { "18446744073709551615", UINT64_MAX },
        { "9007199254740993", 9007199254740993u }, /* no double has this value */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t v = 1;
        assert_int_equal(scr_parse_size(rows[i].text, &v), 1);
        assert_true(v == rows[i].bytes);
    }
}

static void sizes_that_are_none(void **state)
{
    (void)state;
    static const char *const bad[] = { "",
                                       "k",
                                       "-1",
                                       "+1",
                                       " 1",
                                       "1 ",
                                       "1kk",
                                       "1kib2",
                                       "1x",
                                       "16E",
                                       "1e3",
                                       "0x10",
                                       "1.2.3",
                                       ".",
                                       "1,5k",
                                       "1 k b",
                                       "99999999999999999999",
                                       "16.0E" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint64_t v = 42;
        assert_int_equal(scr_parse_size(bad[i], &v), 0);
        assert_true(v == 42);
    }
    assert_int_equal(scr_parse_size(NULL, &(uint64_t){ 0 }), 0);
}

static void sizes_printed(void **state)
{
    (void)state;
    char b[32];
    assert_string_equal(scr_format_size(0, b, sizeof b), "0 B");
    assert_string_equal(scr_format_size(1023, b, sizeof b), "1023 B");
    assert_string_equal(scr_format_size(1024, b, sizeof b), "1.00 KiB");
    assert_string_equal(scr_format_size(3 << 19, b, sizeof b), "1.50 MiB");
    assert_string_equal(scr_format_size(1048575, b, sizeof b), "1023.99 KiB");
    assert_string_equal(scr_format_size(UINT64_MAX, b, sizeof b), "15.99 EiB");
}

static void durations(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double seconds;
    } rows[] = {
        { "90", 90 },     { "10s", 10 }, { "30m", 1800 }, { "1.5h", 5400 },
        { "2D", 172800 }, { "0", 0 },    { "2 h", 7200 }, { "5y", 157680000 }
    };
    double v = -1;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(scr_parse_seconds(rows[i].text, &v), 1);
        assert_true(v == rows[i].seconds);
    }
    static const char *const bad[] = {
        "", "-1", "1w", "h", "1h30m", "nan", "1e3", "."
    };
    v = -1;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(scr_parse_seconds(bad[i], &v), 0);
    assert_true(v == -1);
}

static void durations_have_two_digits(void **state)
{
    (void)state;
    static const struct {
        double seconds;
        const char *text;
    } rows[] = {
        { 0, "0 s" },           { 4e-6, "0 s" },       { 5e-5, "0.05 ms" },
        { 0.0039, "3.9 ms" },   { 0.02, "20 ms" },     { 0.1, "0.10 s" },
        { 0.25, "0.25 s" },     { 12, "12 s" },        { 119, "119 s" },
        { 780, "13 min" },      { 32400, "9.0 h" },    { 20 * 86400.0, "20 d" },
        { 157680000, "5.0 y" }, { INFINITY, "inf y" },
    };
    char b[32];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(scr_format_duration(rows[i].seconds, b, sizeof b),
                            rows[i].text);
}

static void stamps_are_local_time(void **state)
{
    (void)state;
    char b[32];
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
    assert_string_equal(scr_format_stamp(1389695166, b, sizeof b),
                        "2014-01-14T11:26:06");
    assert_string_equal(scr_format_stamp(1405329966, b, sizeof b),
                        "2014-07-14T11:26:06");
}

static void iso_times_carry_the_zone(void **state)
{
    (void)state;
    char b[48];
    struct timespec t = { 1389695166, 123456 };
    setenv("TZ", "XXX-1", 1);
    tzset();
    assert_string_equal(scr_format_iso(&t, b, sizeof b),
                        "2014-01-14T11:26:06.000123+01:00");
    setenv("TZ", "XXX3:30", 1);
    tzset();
    assert_string_equal(scr_format_iso(&t, b, sizeof b),
                        "2014-01-14T06:56:06.000123-03:30");
}

static void iso_times_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double seconds;
    } good[] = {
        { "1970-01-01T00:00:00Z", 0 },
        { "2014-01-14T11:26:06.5+01:00", 1389695166.5 },
        { "2014-01-14T11:26:06.5+0100", 1389695166.5 },
        { "2014-01-14T06:26:06-04:00", 1389695166 },
    };
    static const char *const bad[] = {
        "",
        "?",
        "2014-01-14",
        "2014-01-14 11:26:06Z",
        "2014-13-14T11:26:06Z",
        "2014-01-14T11:26:06",
        "2014-01-14T11:26:06+1",
        "2014-01-14T11:26:06Zulu",
        "2014-01-14T11:26:06+01:00x",
    };
    double seconds;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(scr_parse_iso(good[i].text, &seconds));
        assert_true(seconds == good[i].seconds);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(scr_parse_iso(bad[i], &seconds));
    assert_false(scr_parse_iso(NULL, &seconds));
}

static void a_number_has_a_word(void **state)
{
    (void)state;
    assert_string_equal(scr_plural(1), "");
    assert_string_equal(scr_plural(0), "s");
    assert_string_equal(scr_plural(2), "s");
}

static void clocks_run(void **state)
{
    (void)state;
    double a = scr_now_mono(), b = scr_now_mono();
    assert_true(b >= a && a > 0);
    uint64_t us = scr_now_usec();
    assert_true(us / 1000000u >= (uint64_t)time(NULL) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_people_write),
        cmocka_unit_test(sizes_that_are_none),
        cmocka_unit_test(sizes_printed),
        cmocka_unit_test(durations),
        cmocka_unit_test(durations_have_two_digits),
        cmocka_unit_test(stamps_are_local_time),
        cmocka_unit_test(iso_times_carry_the_zone),
        cmocka_unit_test(iso_times_are_read),
        cmocka_unit_test(a_number_has_a_word),
        cmocka_unit_test(clocks_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
