/* SPDX-License-Identifier: BSD-3-Clause */
/* Codewords: any nd symbols give all the others, with bytes equal to plain arithmetic.
 */
#include "helper_tmp.h"

#include "ec/ec.h"
#include <stdlib.h>
#include <string.h>

static unsigned seed = 1;
static unsigned rnd(unsigned below)
{
    seed = seed * 1103515245U + 12345U;
    return (seed >> 8) % below;
}

/* Product modulo x^8+x^4+x^3+x^2+1, by hand. */
static uint8_t slow_mul(unsigned a, unsigned b)
{
    unsigned p = 0;
    for (; b != 0; b >>= 1) {
        if (b & 1U)
            p ^= a;
        a = (a << 1) ^ ((a & 0x80U) ? 0x11dU : 0);
    }
    return (uint8_t)p;
}

static void one_parity_is_xor_and_one_data_is_a_copy(void **state)
{
    (void)state;
    uint8_t gen[10 * 5];
    scr_ec_generator(5, 1, gen);
    for (int d = 0; d < 5; d++) {
        assert_int_equal(gen[5 * 5 + d], 1);
        assert_int_equal(gen[d * 5 + d], 1);
    }
    scr_ec_generator(1, 4, gen);
    for (int r = 0; r < 5; r++)
        assert_int_equal(gen[r], 1);
    scr_ec_generator(3, 0, gen);
    const uint8_t identity[] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 };
    assert_memory_equal(gen, identity, sizeof identity);
}

/* coef x (codeword of have) must be the codeword of want, checked on generator columns.
 */
static void check_solution(int nd, int np, const uint8_t *gen, const int *have)
{
    int want[SCR_EC_MAX] = { 0 }, n = nd + np;
    uint8_t *coef = malloc((size_t)n * (size_t)nd);
    for (int i = 0; i < n; i++)
        want[i] = i;
    assert_int_equal(
        scr_ec_solve(&(struct scr_ec_code){ nd, np, gen }, have, want, n, coef), 1);
    for (int w = 0; w < n; w++)
        for (int d = 0; d < nd; d++) {
            uint8_t sum = 0;
            for (int j = 0; j < nd; j++)
                sum ^= slow_mul(coef[w * nd + j], gen[have[j] * nd + d]);
            assert_int_equal(sum, gen[w * nd + d]);
        }
    free(coef);
}

static void any_nd_symbols_give_all_others(void **state)
{
    (void)state;
    for (int nd = 1; nd <= 7; nd++)
        for (int np = 0; np <= 4; np++) {
            uint8_t gen[11 * 7];
            scr_ec_generator(nd, np, gen);
            for (unsigned mask = 0; mask < 1U << (nd + np); mask++) {
                int have[SCR_EC_MAX], n = 0;
                for (int s = nd + np - 1; s >= 0; s--) /* order is free */
                    if (mask & (1U << s))
                        have[n++] = s;
                if (n == nd)
                    check_solution(nd, np, gen, have);
            }
        }
}

static void the_largest_codewords(void **state)
{
    (void)state;
    const int shapes[][2] = {
        { 254, 1 }, { 250, 5 }, { 128, 127 }, { 1, 254 }, { 2, 253 }
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        int nd = shapes[i][0], np = shapes[i][1], have[SCR_EC_MAX];
        uint8_t *gen = malloc((size_t)(nd + np) * (size_t)nd);
        scr_ec_generator(nd, np, gen);
        for (int j = 0; j < nd; j++)
            have[j] = nd + np - 1 - j;
        if (nd <= 128) {
            check_solution(nd, np, gen, have);
        } else {
            uint8_t *coef = malloc((size_t)nd);
            int want = 0;
            assert_int_equal(scr_ec_solve(&(struct scr_ec_code){ nd, np, gen }, have,
                                          &want, 1, coef),
                             1);
            free(coef);
        }
        free(gen);
    }
}

static void misuse_is_refused(void **state)
{
    (void)state;
    uint8_t gen[5 * 3], coef[3];
    struct scr_ec_code code = { 3, 2, gen };
    scr_ec_generator(3, 2, gen);
    const int twice[] = { 0, 4, 4 }, outside[] = { 0, 1, 5 }, negative[] = { 0, 1, -1 };
    const int good[] = { 0, 1, 4 }, want = 2, want_bad = 5;
    assert_int_equal(scr_ec_solve(&code, twice, &want, 1, coef), 0);
    assert_int_equal(scr_ec_solve(&code, outside, &want, 1, coef), 0);
    assert_int_equal(scr_ec_solve(&code, negative, &want, 1, coef), 0);
    assert_int_equal(scr_ec_solve(&code, good, &want_bad, 1, coef), 0);
    assert_int_equal(scr_ec_solve(&code, good, &want, 1, coef), 1);
    code.nd = 0;
    assert_int_equal(scr_ec_solve(&code, good, &want, 1, coef), 0);
    code.nd = 254;
    assert_int_equal(scr_ec_solve(&code, good, &want, 1, coef), 0);
}

/* Results at an aligned address, or off bytes past one; the sources at any. */
static void apply_and_check(int nsrc, int ndst, size_t n, unsigned max_coef, size_t off)
{
    uint8_t coef[64], tables[32 * 64], *src[8], *dst[8];
    for (int i = 0; i < nsrc * ndst; i++)
        coef[i] = (uint8_t)rnd(max_coef + 1);
    for (int j = 0; j < nsrc; j++) {
        src[j] = (uint8_t *)scr_ec_alloc(n + (size_t)j) + j;
        for (size_t b = 0; b < n; b++)
            src[j][b] = (uint8_t)rnd(256);
    }
    for (int i = 0; i < ndst; i++) {
        dst[i] = (uint8_t *)scr_ec_alloc(n + off + 1) + off;
        memset(dst[i] - off, 0xee, n + off + 1);
    }
    scr_ec_prepare(nsrc, ndst, coef, tables);
    scr_ec_apply(&(struct scr_ec_sums){ nsrc, ndst, coef, tables }, n, src, dst);
    for (int i = 0; i < ndst; i++) {
        for (size_t b = 0; b < n; b++) {
            uint8_t sum = 0;
            for (int j = 0; j < nsrc; j++)
                sum ^= slow_mul(coef[i * nsrc + j], src[j][b]);
            assert_int_equal(dst[i][b], sum);
        }
        assert_int_equal(dst[i][n], 0xee);
        assert_true(off == 0 || dst[i][-1] == 0xee);
        free(dst[i] - off);
    }
    for (int j = 0; j < nsrc; j++)
        free(src[j] - j);
}

static void apply_is_right_for_every_length(void **state)
{
    (void)state;
    for (size_t n = 0; n <= 200; n++)
        for (unsigned max_coef = 0; max_coef < 256; max_coef = max_coef * 16 + 1)
            apply_and_check(1 + (int)rnd(8), 1 + (int)rnd(8), n, max_coef, n % 3);
    for (int i = 0; i < 20; i++)
        apply_and_check(1 + i % 8, 1 + i % 5, 4096 + rnd(5000), i % 2 ? 1 : 255,
                        (size_t)i % 7);
}

static void alloc_is_aligned_even_for_nothing(void **state)
{
    (void)state;
    for (size_t n = 0; n < 200; n += 33) {
        uint8_t *p = scr_ec_alloc(n);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 64, 0);
        memset(p, 1, n);
        free(p);
    }
    assert_null(scr_ec_alloc(SIZE_MAX - 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_parity_is_xor_and_one_data_is_a_copy),
        cmocka_unit_test(any_nd_symbols_give_all_others),
        cmocka_unit_test(the_largest_codewords),
        cmocka_unit_test(misuse_is_refused),
        cmocka_unit_test(apply_is_right_for_every_length),
        cmocka_unit_test(alloc_is_aligned_even_for_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
