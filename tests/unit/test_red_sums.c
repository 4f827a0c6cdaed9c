/* SPDX-License-Identifier: BSD-3-Clause */
/* The CRC of parity that is a plain sum follows from the CRCs of the data: for every
 * such scheme it is the one of the bytes that an encode would write. */
#include "helper_tmp.h"

#include "red/geom.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_N = 6, MAX_LEN = 700 };

static unsigned seed = 11;
static unsigned rnd(unsigned below)
{
    seed = seed * 1103515245U + 12345U;
    return (seed >> 8) % below;
}

struct set {
    struct scr_geom g;
    uint8_t data[MAX_N][MAX_N * MAX_LEN]; /* logical files, zero padded */
};

static void make(struct set *s, enum scr_scheme scheme, int n, int k)
{
    uint64_t len[MAX_N];
    struct scr_err err = SCR_ERR_INIT;
    memset(s->data, 0, sizeof s->data);
    for (int i = 0; i < n; i++) {
        len[i] = rnd(4) == 0 ? rnd(2) : rnd(MAX_LEN);
        for (uint64_t b = 0; b < len[i]; b++)
            s->data[i][b] = (uint8_t)rnd(256);
    }
    assert_int_equal(scr_geom_init(&s->g, scheme, n, k, len, &err), SCR_OK);
}

/* Adds row's data to its parity, a slot of member. */
static void add_row(const struct set *s, int row, uint8_t *parity)
{
    struct scr_sym sym;
    for (int d = 0; d < scr_geom_nd(&s->g); d++) {
        scr_geom_symbol(&s->g, row, d, &sym);
        for (uint64_t b = 0; b < scr_geom_rowlen(&s->g, row); b++)
            parity[b] ^= s->data[sym.member][sym.off + b];
    }
}

static uint32_t crc_of_bytes(const struct set *s, int member)
{
    size_t n = (size_t)scr_geom_parity_bytes(&s->g, member);
    uint8_t *parity = calloc(n + 1, 1);
    struct scr_sym sym;
    int nd = scr_geom_nd(&s->g);
    for (int row = 0; row < s->g.n; row++)
        for (int p = 0; p < s->g.k; p++) {
            scr_geom_symbol(&s->g, row, nd + p, &sym);
            if (sym.member == member)
                add_row(s, row, parity + sym.off);
        }
    uint32_t crc = scr_crc32(0, parity, n);
    free(parity);
    return crc;
}

/* The symbol of row that member holds, by looking at all; 0: a parity or none. */
static int holds_data(const struct scr_geom *g, int row, int member,
                      struct scr_sym *out)
{
    for (int s = 0; s < scr_geom_nd(g); s++) {
        scr_geom_symbol(g, row, s, out);
        if (out->member == member)
            return 1;
    }
    return 0;
}

static void check(enum scr_scheme scheme, int n, int k)
{
    static struct set s;
    uint32_t crc[MAX_N * MAX_N] = { 0 };
    struct scr_sym sym, want;
    make(&s, scheme, n, k);
    assert_int_equal(scr_geom_sums(&s.g), s.g.k == 1 || scr_geom_nd(&s.g) == 1);
    for (int i = 0; i < n; i++)
        for (int row = 0; row < n; row++) {
            int held = holds_data(&s.g, row, i, &want);
            assert_int_equal(scr_geom_data_of(&s.g, row, i, &sym), held);
            if (held) {
                assert_int_equal(sym.off, want.off);
                assert_false(sym.is_parity);
                crc[i * n + row] = scr_crc32(0, s.data[i] + sym.off,
                                             (size_t)scr_geom_rowlen(&s.g, row));
            }
        }
    for (int i = 0; scr_geom_sums(&s.g) && i < n; i++)
        assert_int_equal(scr_geom_parity_crc(&s.g, i, crc), crc_of_bytes(&s, i));
}

static void the_crc_of_a_sum_needs_no_bytes(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++)
        for (int n = 1; n <= MAX_N; n++) {
            check(SCR_SCHEME_SINGLE, n, 0);
            check(SCR_SCHEME_XOR, n, 1);
            for (int k = 1; k < n; k++) {
                check(SCR_SCHEME_PARTNER, n, k);
                check(SCR_SCHEME_RS, n, k);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_crc_of_a_sum_needs_no_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
