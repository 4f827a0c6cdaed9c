/* SPDX-License-Identifier: BSD-3-Clause */
/* Growing strings, strict conversions, and near misses of names. */
#include "helper_tmp.h"

#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

static void appends_grow_one_string(void **state)
{
    (void)state;
    struct scr_str s = SCR_STR_INIT;
    for (int i = 0; i < 1000; i++)
        scr_str_printf(&s, "%d,", i);
    scr_str_append(&s, "end");
    scr_str_append_n(&s, "\0x", 2);
    assert_int_equal(s.len, 10 * 2 + 90 * 3 + 900 * 4 + 3 + 2);
    char *text = scr_str_take(&s);
    assert_memory_equal(text, "0,1,2,", 6);
    assert_string_equal(text + 3890, "end");
    assert_null(s.p);
    free(text);
}

static void nothing_appended_is_an_empty_string(void **state)
{
    (void)state;
    struct scr_str s = SCR_STR_INIT;
    char *text = scr_str_take(&s);
    assert_string_equal(text, "");
    free(text);
    scr_str_append_n(&s, NULL, 0);
    assert_string_equal(s.p, "");
    scr_str_free(&s);
    scr_str_free(&s);
}

static void too_large_makes_it_bad_for_good(void **state)
{
    (void)state;
    struct scr_str s = SCR_STR_INIT;
    scr_str_append(&s, "a");
    scr_str_append_n(&s, "", SIZE_MAX - 1);
    assert_int_equal(s.bad, 1);
    scr_str_append(&s, "b");
    scr_str_printf(&s, "%d", 1);
    assert_int_equal(s.bad, 1);
    assert_int_equal(s.len, 0);
    assert_null(scr_str_take(&s));
    assert_int_equal(s.bad, 0);
}

static void memory_helpers_check_the_product(void **state)
{
    (void)state;
    char *p = scr_calloc(0, 8);
    assert_non_null(p);
    assert_int_equal(p[0], 0);
    char *q = scr_reallocarray(p, 4, 4);
    assert_non_null(q);
    assert_null(scr_reallocarray(q, SIZE_MAX / 2, 3));
    q[15] = 1; /* still ours */
    free(q);
    /* through a variable, so that the compiler does not warn of its size */
    volatile size_t huge = SIZE_MAX / 2;
    assert_null(scr_calloc(huge, 3));
    assert_null(scr_strdup(NULL));
    char *t = scr_asprintf("%s-%03d", "a", 7);
    assert_string_equal(t, "a-007");
    free(t);
}

static void integers_are_whole_strings_in_range(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int ok;
        int64_t value;
    } rows[] = {
        { "0", 1, 0 },
        { "-0", 1, 0 },
        { "+7", 1, 7 },
        { "007", 1, 7 },
        { "9223372036854775807", 1, INT64_MAX },
        { "-9223372036854775808", 1, INT64_MIN },
        { "9223372036854775808", 0, 0 },
        { "-9223372036854775809", 0, 0 },
        { "99999999999999999999999999", 0, 0 },
        { "", 0, 0 },
        { "-", 0, 0 },
        { "+-1", 0, 0 },
        { " 1", 0, 0 },
        { "1 ", 0, 0 },
        { "1x", 0, 0 },
        { "0x1", 0, 0 },
        { "1.0", 0, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t v = 42;
        assert_int_equal(scr_parse_i64(rows[i].text, &v), rows[i].ok);
        assert_true(v == (rows[i].ok ? rows[i].value : 42));
    }
    int64_t v = 42;
    assert_int_equal(scr_parse_i64(NULL, &v), 0);
}

static void unsigned_and_int_have_their_own_ranges(void **state)
{
    (void)state;
    uint64_t u = 1;
    assert_int_equal(scr_parse_u64("18446744073709551615", &u), 1);
    assert_true(u == UINT64_MAX);
    assert_int_equal(scr_parse_u64("18446744073709551616", &u), 0);
    assert_int_equal(scr_parse_u64("-1", &u), 0);
    assert_int_equal(scr_parse_u64("-0", &u), 1);
    int i = 5;
    assert_int_equal(scr_parse_int("2147483647", &i), 1);
    assert_int_equal(i, INT_MAX);
    assert_int_equal(scr_parse_int("2147483648", &i), 0);
    assert_int_equal(scr_parse_int("-2147483648", &i), 1);
    static const struct {
        const char *text, *end;
        int number;
    } fronts[] = { { "12.jnl", ".jnl", 12 },
                   { "007", "", 7 },
                   { "2147483647 ", " ", INT_MAX },
                   { "2147483648 ", " ", -1 },
                   { "99999999999999999999", "", -1 },
                   { "x1", "x1", -1 },
                   { "-1", "-1", -1 },
                   { " 1", " 1", -1 },
                   { "", "", -1 } };
    for (size_t k = 0; k < sizeof fronts / sizeof fronts[0]; k++) {
        const char *end = NULL;
        assert_int_equal(scr_parse_front(fronts[k].text, &end), fronts[k].number);
        assert_string_equal(end, fronts[k].end);
    }
    assert_int_equal(i, INT_MIN);
}

static void numbers_with_fractions(void **state)
{
    (void)state;
    static const char *const bad[] = { "",    ".",     "1.5x", "0x10", "inf",
                                       "nan", " 1",    "1e",   "e5",   "1,5",
                                       "--1", "1e999", "1e+",  "1.2.3" };
    double v = 0;
    assert_int_equal(scr_parse_f64("-1.5e+2", &v), 1);
    assert_true(v == -150.0);
    assert_int_equal(scr_parse_f64(".5", &v), 1);
    assert_true(v == 0.5);
    assert_int_equal(scr_parse_f64("7.", &v), 1);
    assert_true(v == 7.0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(scr_parse_f64(bad[i], &v), 0);
    assert_true(v == 7.0);
}

static void a_decimal_comma_of_the_application_changes_nothing(void **state)
{
    (void)state;
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "fr_FR.UTF-8"))
        skip();
    double v = 0;
    int ok = scr_parse_f64("1.5", &v);
    setlocale(LC_NUMERIC, "C");
    assert_int_equal(ok, 1);
    assert_true(v == 1.5);
}

static void hex_numbers_have_one_to_eight_digits(void **state)
{
    (void)state;
    uint32_t v = 1;
    assert_int_equal(scr_parse_hex32("0xDEADbeef", &v), 1);
    assert_true(v == 0xdeadbeefu);
    assert_int_equal(scr_parse_hex32("0X1", &v), 1);
    assert_true(v == 1);
    static const char *const bad[] = { "",     "0x",  "deadbeef", "0x123456789",
                                       "0x1g", "0x 1" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(scr_parse_hex32(bad[i], &v), 0);
    assert_int_equal(scr_parse_hex32(NULL, &v), 0);
}

static void near_names_are_near(void **state)
{
    (void)state;
    assert_int_equal(scr_edit_distance("SCR_DEBUG", "scr_debug"), 0);
    assert_int_equal(scr_edit_distance("SCR_DEBGU", "SCR_DEBUG"), 1);
    assert_int_equal(scr_edit_distance("SCR_SETSIZE", "SCR_SET_SIZE"), 1);
    assert_int_equal(scr_edit_distance("kitten", "sitting"), 3);
    assert_int_equal(scr_edit_distance("", "abc"), 3);
    assert_int_equal(scr_edit_distance(NULL, ""), 0);
    assert_int_equal(scr_edit_distance("ca", "abc"), 3);
    char longer[400];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_true(scr_edit_distance(longer, longer) > 100);
}

/* Keeps what it is given; refuses from the piece with that number on. */
struct kept {
    struct scr_drain drain;
    struct scr_str all;
    int pieces, refused;
};

static int keep(struct scr_drain *d, char *p, size_t n)
{
    struct kept *k = (struct kept *)d;
    assert_int_equal(d->taken, k->all.len);
    scr_str_append_n(&k->all, p, n);
    return ++k->pieces == k->refused ? 1 : 0;
}

static void a_drain_gets_all_bytes_in_pieces(void **state)
{
    (void)state;
    struct kept k = { .drain.take = keep };
    struct scr_drain count = { 0 };
    struct scr_str s = { .drain = &k.drain }, counted = { .drain = &count };
    struct scr_str want = SCR_STR_INIT;
    char large[3 * SCR_PIECE];
    memset(large, 'x', sizeof large);
    for (int i = 0; i < 50000; i++) {
        size_t n = i == 20000 ? sizeof large : (size_t)(i % 10);
        scr_str_append_n(&s, large, n);
        scr_str_append_n(&counted, large, n);
        scr_str_append_n(&want, large, n);
        scr_str_printf(&s, "%d,", i);
        scr_str_printf(&counted, "%d,", i);
        scr_str_printf(&want, "%d,", i);
    }
    assert_true(s.cap <= 4 * SCR_PIECE + 64 && k.pieces > 3);
    scr_str_drain(&s);
    scr_str_drain(&s); /* of nothing */
    assert_int_equal(k.drain.taken, want.len);
    assert_int_equal(k.all.len, want.len);
    assert_memory_equal(k.all.p, want.p, want.len);
    assert_int_equal(count.taken + counted.len, want.len);
    scr_str_free(&s);
    scr_str_free(&counted);
    scr_str_free(&want);
    scr_str_free(&k.all);
}

static void a_drain_that_refuses_makes_the_string_bad(void **state)
{
    (void)state;
    struct kept k = { .drain.take = keep, .refused = 2 };
    struct scr_str s = { .drain = &k.drain };
    for (int i = 0; i < 100000; i++)
        scr_str_append(&s, "some text ");
    assert_int_equal(s.bad, 1);
    assert_null(s.p);
    assert_int_equal(k.pieces, 2);
    scr_str_free(&s);
    scr_str_free(&k.all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appends_grow_one_string),
        cmocka_unit_test(nothing_appended_is_an_empty_string),
        cmocka_unit_test(too_large_makes_it_bad_for_good),
        cmocka_unit_test(a_drain_gets_all_bytes_in_pieces),
        cmocka_unit_test(a_drain_that_refuses_makes_the_string_bad),
        cmocka_unit_test(memory_helpers_check_the_product),
        cmocka_unit_test(integers_are_whole_strings_in_range),
        cmocka_unit_test(unsigned_and_int_have_their_own_ranges),
        cmocka_unit_test(numbers_with_fractions),
        cmocka_unit_test(a_decimal_comma_of_the_application_changes_nothing),
        cmocka_unit_test(hex_numbers_have_one_to_eight_digits),
        cmocka_unit_test(near_names_are_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
