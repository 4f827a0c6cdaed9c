/* SPDX-License-Identifier: BSD-3-Clause */
/* CRC32: known values, joining and padding, against plain computation. */
#include "helper_tmp.h"

#include "ec/ec.h"
#include <stdlib.h>
#include <string.h>

/* The definition, a bit at a time. */
static uint32_t slow_crc(const uint8_t *p, size_t n)
{
    uint32_t c = ~0U;
    for (size_t i = 0; i < n; i++) {
        c ^= p[i];
        for (int b = 0; b < 8; b++)
            c = (c >> 1) ^ ((c & 1U) ? 0xedb88320U : 0);
    }
    return ~c;
}

static void fill(uint8_t *p, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)((seed = seed * 1103515245U + 12345U) >> 16);
}

static void known_values(void **state)
{
    (void)state;
    assert_int_equal(scr_crc32(0, "", 0), 0);
    assert_int_equal(scr_crc32(0, "123456789", 9), 0xcbf43926U);
    assert_int_equal(scr_crc32(scr_crc32(0, "12345", 5), "6789", 4), 0xcbf43926U);
    assert_int_equal(scr_crc32(7, NULL, 0), 7);
}

static void every_length_and_alignment(void **state)
{
    (void)state;
    uint8_t buf[600];
    fill(buf, sizeof buf, 1);
    for (size_t off = 0; off < 17; off++)
        for (size_t n = 0; n + off <= 580; n++)
            assert_int_equal(scr_crc32(0, buf + off, n), slow_crc(buf + off, n));
}

/* Long ones take another way, where the processor has it: to be seen against a plain
 * computation, in pieces of any length and at any alignment. */
static void long_messages_in_pieces(void **state)
{
    (void)state;
    static uint8_t buf[70000];
    fill(buf, sizeof buf, 5);
    unsigned seed = 6;
    for (int i = 0; i < 200; i++) {
        size_t at = (size_t)i % 37, start = at;
        uint32_t crc = 0;
        while (at < sizeof buf - 5000) {
            seed = seed * 1103515245U + 12345U;
            size_t n = (seed >> 8) % 5000;
            crc = scr_crc32(crc, buf + at, n);
            at += n;
        }
        assert_int_equal(crc, slow_crc(buf + start, at - start));
    }
}

static void combine_equals_the_direct_crc(void **state)
{
    (void)state;
    static uint8_t buf[70000];
    fill(buf, sizeof buf, 2);
    unsigned seed = 3;
    for (int i = 0; i < 2000; i++) {
        seed = seed * 1103515245U + 12345U;
        size_t n = (seed >> 8) % (i < 1000 ? 100U : (unsigned)sizeof buf);
        seed = seed * 1103515245U + 12345U;
        size_t cut = n > 0 ? (seed >> 8) % (n + 1) : 0;
        uint32_t a = scr_crc32(0, buf, cut), b = scr_crc32(0, buf + cut, n - cut);
        assert_int_equal(scr_crc32_combine(a, b, n - cut), scr_crc32(0, buf, n));
    }
    assert_int_equal(scr_crc32_combine(0x12345678U, 0, 0), 0x12345678U);
    assert_int_equal(scr_crc32_combine(0, 0x12345678U, 99), 0x12345678U);
}

static void combine_is_associative_at_any_length(void **state)
{
    (void)state;
    const uint64_t lens[] = { 1, 4096, (1ULL << 32) - 1, 5ULL << 32,
                              (1ULL << 63) + 17 };
    for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++) {
        uint64_t half = lens[i] / 2, rest = lens[i] - half;
        uint32_t z =
            scr_crc32_combine(scr_crc32_zeros(half), scr_crc32_zeros(rest), rest);
        assert_int_equal(z, scr_crc32_zeros(lens[i]));
    }
}

static void zeros(void **state)
{
    (void)state;
    static const uint8_t buf[5000];
    for (size_t n = 0; n < sizeof buf; n += n < 300 ? 1 : 97)
        assert_int_equal(scr_crc32_zeros(n), scr_crc32(0, buf, n));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(every_length_and_alignment),
        cmocka_unit_test(long_messages_in_pieces),
        cmocka_unit_test(combine_equals_the_direct_crc),
        cmocka_unit_test(combine_is_associative_at_any_length),
        cmocka_unit_test(zeros),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
