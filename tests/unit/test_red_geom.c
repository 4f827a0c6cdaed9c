/* SPDX-License-Identifier: BSD-3-Clause */
/* The geometry: every symbol once, no two of a row together, data tiled exactly; and
 * what the plans compute in memory is what was lost, for every loss within tolerance.
 */
#include "helper_tmp.h"
#include "helper_tolerance.h"

#include "red/geom.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned seed = 7;
static unsigned rnd(unsigned below)
{
    seed = seed * 1103515245U + 12345U;
    return (seed >> 8) % below;
}

static const enum scr_scheme all_schemes[] = { SCR_SCHEME_SINGLE, SCR_SCHEME_PARTNER,
                                               SCR_SCHEME_XOR, SCR_SCHEME_RS };

/* Calls fn with every scheme, n and k up to the bounds, as asked for (before a
 * reduction). */
static void for_all(int max_n, int max_k, void (*fn)(enum scr_scheme, int n, int k))
{
    for (size_t s = 0; s < 4; s++)
        for (int n = 1; n <= max_n; n++)
            for (int k = 1; k <= max_k; k++)
                fn(all_schemes[s], n, k);
}

static void make(struct scr_geom *g, enum scr_scheme s, int n, int k, unsigned max_len)
{
    uint64_t len[SCR_EC_MAX];
    struct scr_err err = SCR_ERR_INIT;
    for (int i = 0; i < n; i++)
        len[i] = rnd(4) == 0 ? 0 : rnd(max_len + 1);
    assert_int_equal(scr_geom_init(g, s, n, k, len, &err), SCR_OK);
}

/* --- placement --- */

static uint64_t padded_len(const struct scr_geom *g, int member)
{
    return g->chunk > 0 ? g->chunk * (uint64_t)scr_geom_nd(g) : g->len[member];
}

/* Marks [off, off + n) of a map of bytes; a byte marked twice fails. */
static void mark(uint8_t *map, uint64_t size, uint64_t off, uint64_t n)
{
    assert_true(off <= size && n <= size - off);
    for (uint64_t b = off; b < off + n; b++)
        assert_int_equal(map[b]++, 0);
}

static void check_placement(enum scr_scheme s, int n, int k)
{
    struct scr_geom g;
    uint8_t *data[12], *parity[12];
    make(&g, s, n, k, 40);
    for (int i = 0; i < n; i++) {
        data[i] = calloc(1, padded_len(&g, i) + 1);
        parity[i] = calloc(1, scr_geom_parity_bytes(&g, i) + 1);
        assert_true(padded_len(&g, i) >= g.len[i]);
    }
    for (int row = 0; row < n; row++) {
        int used[12] = { 0 };
        uint64_t len = scr_geom_rowlen(&g, row);
        assert_true(len <= scr_geom_max_rowlen(&g));
        for (int sym = 0; sym < scr_geom_nd(&g) + g.k; sym++) {
            struct scr_sym at;
            scr_geom_symbol(&g, row, sym, &at);
            assert_in_range(at.member, 0, n - 1);
            assert_int_equal(used[at.member]++, 0);
            assert_int_equal(at.is_parity, sym >= scr_geom_nd(&g));
            if (at.is_parity)
                mark(parity[at.member], scr_geom_parity_bytes(&g, at.member), at.off,
                     len);
            else
                mark(data[at.member], padded_len(&g, at.member), at.off, len);
        }
    }
    for (int i = 0; i < n; i++) {
        for (uint64_t b = 0; b < padded_len(&g, i); b++)
            assert_int_equal(data[i][b], 1);
        for (uint64_t b = 0; b < scr_geom_parity_bytes(&g, i); b++)
            assert_int_equal(parity[i][b], 1);
        free(data[i]);
        free(parity[i]);
    }
}

static void every_byte_is_in_one_symbol(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++)
        for_all(12, 4, check_placement);
}

static void check_row_order(enum scr_scheme s, int n, int k)
{
    struct scr_geom g;
    uint64_t last[12] = { 0 };
    int seen[12] = { 0 };
    make(&g, s, n, k, 100);
    for (int row = 0; row < n; row++)
        for (int sym = 0; sym < scr_geom_nd(&g); sym++) {
            struct scr_sym at;
            scr_geom_symbol(&g, row, sym, &at);
            assert_true(!seen[at.member] || at.off > last[at.member]);
            last[at.member] = at.off;
            seen[at.member] = 1;
        }
}

static void a_logical_file_is_cut_in_row_order(void **state)
{
    (void)state;
    for_all(12, 4, check_row_order);
}

/* Figure 4 of the developer's manual: member i leaves out row i, and keeps its parity.
 */
static void xor_is_laid_out_as_in_the_manual(void **state)
{
    (void)state;
    const uint64_t len[] = { 9, 8, 7, 6 };
    struct scr_geom g;
    struct scr_sym at;
    assert_int_equal(scr_geom_init(&g, SCR_SCHEME_XOR, 4, 3, len, NULL), SCR_OK);
    assert_int_equal(g.k, 1);
    assert_int_equal(g.chunk, 3);
    for (int row = 0; row < 4; row++) {
        for (int s = 0; s < 3; s++) {
            scr_geom_symbol(&g, row, s, &at);
            int chunk = row < at.member ? row : row - 1;
            assert_int_equal(at.off, 3 * chunk);
        }
        scr_geom_symbol(&g, row, 3, &at);
        assert_int_equal(at.member, row);
        assert_int_equal(at.off, 0);
    }
}

static void partner_copies_to_the_right(void **state)
{
    (void)state;
    const uint64_t len[] = { 10, 0, 30, 4 };
    struct scr_geom g;
    struct scr_sym at;
    assert_int_equal(scr_geom_init(&g, SCR_SCHEME_PARTNER, 4, 2, len, NULL), SCR_OK);
    scr_geom_symbol(&g, 3, 1, &at);
    assert_int_equal(at.member, 0);
    assert_int_equal(at.off, 0);
    scr_geom_symbol(&g, 2, 2, &at);
    assert_int_equal(at.member, 0);
    assert_int_equal(at.off, 4);
    assert_int_equal(scr_geom_parity_bytes(&g, 0), 34);
    assert_int_equal(scr_geom_slot_off(&g, 0, 1), 4);
    assert_int_equal(scr_geom_max_rowlen(&g), 30);
}

/* --- sizes and limits --- */

static void chunk_is_the_smallest_that_fits(void **state)
{
    (void)state;
    const struct {
        uint64_t longest, chunk;
    } rows[] = { { 0, 1 }, { 1, 1 }, { 3, 1 }, { 4, 2 }, { 524297, 174766 } };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const uint64_t len[] = { 0, rows[i].longest, 0, 0 };
        struct scr_geom g;
        assert_int_equal(scr_geom_init(&g, SCR_SCHEME_XOR, 4, 1, len, NULL), SCR_OK);
        assert_int_equal(g.chunk, rows[i].chunk);
    }
}

static void what_a_set_cannot_carry_is_reduced(void **state)
{
    (void)state;
    const struct {
        enum scr_scheme s;
        int k, n;
        enum scr_scheme s_out;
        int k_out;
    } rows[] = {
        { SCR_SCHEME_RS, 2, 8, SCR_SCHEME_RS, 2 },
        { SCR_SCHEME_RS, 8, 8, SCR_SCHEME_RS, 7 },
        { SCR_SCHEME_RS, 3, 2, SCR_SCHEME_RS, 1 },
        { SCR_SCHEME_RS, 3, 1, SCR_SCHEME_SINGLE, 0 },
        { SCR_SCHEME_RS, 0, 4, SCR_SCHEME_RS, 1 },
        { SCR_SCHEME_XOR, 5, 4, SCR_SCHEME_XOR, 1 },
        { SCR_SCHEME_XOR, 1, 1, SCR_SCHEME_SINGLE, 0 },
        { SCR_SCHEME_PARTNER, 4, 3, SCR_SCHEME_PARTNER, 2 },
        { SCR_SCHEME_PARTNER, 1, 1, SCR_SCHEME_SINGLE, 0 },
        { SCR_SCHEME_SINGLE, 1, 5, SCR_SCHEME_SINGLE, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        enum scr_scheme s = rows[i].s;
        int k = rows[i].k;
        scr_geom_weaken(&s, &k, rows[i].n);
        assert_int_equal(s, rows[i].s_out);
        assert_int_equal(k, rows[i].k_out);
    }
}

static void impossible_sets_are_refused(void **state)
{
    (void)state;
    uint64_t len[300] = { 0 };
    struct scr_geom g;
    struct scr_err err = SCR_ERR_INIT;
    assert_int_equal(scr_geom_init(&g, SCR_SCHEME_XOR, 0, 1, len, NULL), SCR_E_RANGE);
    assert_int_equal(scr_geom_init(&g, SCR_SCHEME_XOR, 256, 1, len, NULL), SCR_E_RANGE);
    len[1] = UINT64_MAX;
    assert_int_equal(scr_geom_init(&g, SCR_SCHEME_XOR, 4, 1, len, &err), SCR_E_RANGE);
    assert_non_null(strstr(err.text, "member 1"));
}

static void offsets_have_64_bits(void **state)
{
    (void)state;
    uint64_t len[255];
    struct scr_geom g;
    struct scr_sym at;
    for (int i = 0; i < 255; i++)
        len[i] = (1ULL << 55) - 1;
    assert_int_equal(scr_geom_init(&g, SCR_SCHEME_RS, 255, 254, len, NULL), SCR_OK);
    assert_true(scr_geom_parity_bytes(&g, 7) < INT64_MAX);
    assert_true(scr_geom_parity_bytes(&g, 7) == 254 * len[0]);
    scr_geom_symbol(&g, 0, 254, &at);
    assert_true(at.off == 253 * len[0]);
    assert_int_equal(scr_geom_init(&g, SCR_SCHEME_PARTNER, 255, 254, len, NULL),
                     SCR_OK);
    assert_true(scr_geom_parity_bytes(&g, 7) == 254 * len[0]);
}

/* --- plans --- */

static void plan_of(const struct scr_geom *g, const int *have, int row,
                    struct scr_plan *plan)
{
    struct scr_err err = SCR_ERR_INIT;
    assert_int_equal(scr_plan_row(g, have, row, plan, &err), SCR_OK);
}

static void check_encode_balance(enum scr_scheme s, int n, int k)
{
    struct scr_geom g;
    int have[12], coded[12] = { 0 };
    make(&g, s, n, k, 40);
    for (int i = 0; i < n; i++)
        have[i] = SCR_HAVE_DATA;
    for (int row = 0; row < n; row++) {
        struct scr_plan plan;
        plan_of(&g, have, row, &plan);
        assert_int_equal(plan.ndst, g.k);
        if (plan.ndst > 0) {
            assert_int_equal(plan.nsrc, scr_geom_nd(&g));
            assert_int_equal(plan.coder, plan.dst[0].member);
            assert_int_equal(coded[plan.coder]++, 0);
        }
        scr_plan_fini(&plan);
    }
}

static void encoding_gives_each_member_one_row(void **state)
{
    (void)state;
    for_all(12, 4, check_encode_balance);
}

static void rebuilding_shares_the_work_among_the_survivors(void **state)
{
    (void)state;
    const uint64_t len[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    struct scr_geom g;
    assert_int_equal(scr_geom_init(&g, SCR_SCHEME_XOR, 8, 1, len, NULL), SCR_OK);
    for (int lost = 0; lost < 8; lost++) {
        int have[8], coded[8] = { 0 };
        for (int i = 0; i < 8; i++)
            have[i] = i == lost ? 0 : SCR_HAVE_ALL;
        for (int row = 0; row < 8; row++) {
            struct scr_plan plan;
            plan_of(&g, have, row, &plan);
            assert_int_equal(plan.ndst, 1);
            coded[plan.coder]++;
            scr_plan_fini(&plan);
        }
        assert_int_equal(coded[lost], 0);
        for (int i = 0; i < 8; i++)
            assert_true(i == lost || coded[i] <= 2);
    }
}

static void nothing_lost_is_nothing_to_do(void **state)
{
    (void)state;
    const uint64_t len[3] = { 5, 5, 5 };
    const int have[3] = { SCR_HAVE_ALL, SCR_HAVE_ALL, SCR_HAVE_ALL };
    struct scr_geom g;
    struct scr_plan plan;
    assert_int_equal(scr_geom_init(&g, SCR_SCHEME_RS, 3, 2, len, NULL), SCR_OK);
    plan_of(&g, have, 1, &plan);
    assert_int_equal(plan.ndst, 0);
    assert_int_equal(plan.nsrc, 0);
    scr_plan_fini(&plan);
}

/* --- a set in memory --- */

struct memory {
    struct scr_geom g;
    uint8_t *data[8], *parity[8];
};

static uint8_t *bytes_of(struct memory *m, const struct scr_sym *sym)
{
    return (sym->is_parity ? m->parity : m->data)[sym->member] + sym->off;
}

/* Runs every row; 0 if one of them cannot be planned. */
static int run_rows(struct memory *m, const int *have)
{
    uint8_t *buf[16];
    size_t cap = (size_t)scr_geom_max_rowlen(&m->g);
    int ok = 1;
    for (int i = 0; i < 16; i++)
        buf[i] = scr_ec_alloc(cap);
    for (int row = 0; row < m->g.n; row++) {
        struct scr_plan plan;
        int rc = scr_plan_row(&m->g, have, row, &plan, NULL);
        assert_true(rc == SCR_OK || rc == SCR_E_LOST);
        if (rc != SCR_OK) {
            ok = 0;
            continue;
        }
        size_t n = (size_t)plan.len;
        for (int j = 0; j < plan.nsrc; j++)
            memcpy(buf[j], bytes_of(m, &plan.src[j]), n);
        scr_plan_apply(&plan, n, buf, buf + plan.nsrc);
        for (int i = 0; i < plan.ndst; i++)
            memcpy(bytes_of(m, &plan.dst[i]), buf[plan.nsrc + i], n);
        scr_plan_fini(&plan);
    }
    for (int i = 0; i < 16; i++)
        free(buf[i]);
    return ok;
}

static void memory_init(struct memory *m, enum scr_scheme s, int n, int k)
{
    int have[8];
    make(&m->g, s, n, k, 90);
    for (int i = 0; i < n; i++) {
        m->data[i] = calloc(1, padded_len(&m->g, i) + 1);
        m->parity[i] = calloc(1, scr_geom_parity_bytes(&m->g, i) + 1);
        for (uint64_t b = 0; b < m->g.len[i]; b++)
            m->data[i][b] = (uint8_t)rnd(256);
        have[i] = SCR_HAVE_DATA;
    }
    assert_int_equal(run_rows(m, have), 1);
}

static void memory_fini(struct memory *m)
{
    for (int i = 0; i < m->g.n; i++) {
        free(m->data[i]);
        free(m->parity[i]);
    }
}

/* Loses what have[] says, rebuilds it and compares with what was. */
static void lose_and_rebuild(struct memory *m, const int *have)
{
    struct memory copy = { .g = m->g };
    int expected = test_tolerates(m->g.scheme, m->g.k, m->g.n, have);
    assert_int_equal(scr_geom_recoverable(&m->g, have), expected);
    for (int i = 0; i < m->g.n; i++) {
        size_t nd = (size_t)padded_len(&m->g, i), np = scr_geom_parity_bytes(&m->g, i);
        copy.data[i] = malloc(nd + 1);
        copy.parity[i] = malloc(np + 1);
        memcpy(copy.data[i], m->data[i], nd);
        memcpy(copy.parity[i], m->parity[i], np);
        if (!(have[i] & SCR_HAVE_DATA))
            memset(copy.data[i], 0xdd, nd);
        if (!(have[i] & SCR_HAVE_PARITY))
            memset(copy.parity[i], 0xdd, np);
    }
    assert_int_equal(run_rows(&copy, have), expected);
    for (int i = 0; i < m->g.n; i++) {
        if (expected) {
            assert_memory_equal(copy.data[i], m->data[i], padded_len(&m->g, i));
            assert_memory_equal(copy.parity[i], m->parity[i],
                                scr_geom_parity_bytes(&m->g, i));
        }
        free(copy.data[i]);
        free(copy.parity[i]);
    }
}

/* Every subset of whole members; of sets up to six every mixture of what may be left
 * of each, of larger ones some. */
static void check_losses(enum scr_scheme s, int n, int k)
{
    struct memory m;
    int have[8];
    memory_init(&m, s, n, k);
    for (unsigned mask = 0; mask < 1U << n; mask++) {
        for (int i = 0; i < n; i++)
            have[i] = mask & (1U << i) ? 0 : SCR_HAVE_ALL;
        lose_and_rebuild(&m, have);
    }
    for (unsigned code = 0; n <= 6 && code < 1U << 2 * n; code++) {
        for (int i = 0; i < n; i++)
            have[i] = (int)(code >> 2 * i & SCR_HAVE_ALL);
        lose_and_rebuild(&m, have);
    }
    for (int round = 0; n > 6 && round < 500; round++) {
        for (int i = 0; i < n; i++)
            have[i] = rnd(3) ? SCR_HAVE_ALL : (int)rnd(4);
        lose_and_rebuild(&m, have);
    }
    memory_fini(&m);
}

static void every_loss_within_tolerance_is_rebuilt(void **state)
{
    (void)state;
    for_all(8, 4, check_losses);
}

/* The rule that the tests use, for whole members: no more than k of them, and of
 * PARTNER no more than k side by side. */
static void check_rule(enum scr_scheme s, int n, int k)
{
    scr_geom_weaken(&s, &k, n);
    for (unsigned lost = 0; lost < 1U << n; lost++) {
        int have[8], count = 0, run = 0, longest = 0;
        for (int i = 0; i < n; i++) {
            have[i] = lost & (1U << i) ? 0 : SCR_HAVE_ALL;
            count += have[i] == 0;
        }
        for (int i = 0; i < 2 * n; i++) {
            run = have[i % n] == 0 ? run + 1 : 0;
            longest = run > longest ? run : longest;
        }
        int can = s == SCR_SCHEME_PARTNER ? longest <= k : count <= k;
        assert_int_equal(test_tolerates(s, k, n, have), can);
    }
}

static void tolerance_of_whole_members_is_counted(void **state)
{
    (void)state;
    for_all(8, 4, check_rule);
}

static void rs_1_stores_the_bytes_of_xor(void **state)
{
    (void)state;
    struct memory a, b;
    for (int n = 2; n <= 8; n++) {
        seed = 99;
        memory_init(&a, SCR_SCHEME_XOR, n, 1);
        seed = 99;
        memory_init(&b, SCR_SCHEME_RS, n, 1);
        for (int i = 0; i < n; i++)
            assert_memory_equal(a.parity[i], b.parity[i],
                                scr_geom_parity_bytes(&a.g, i));
        memory_fini(&a);
        memory_fini(&b);
    }
}

/* The largest sets plan too, in reasonable time. */
static void sets_of_255_plan(void **state)
{
    (void)state;
    uint64_t len[255] = { 1000 };
    int have[255];
    struct scr_geom g;
    assert_int_equal(scr_geom_init(&g, SCR_SCHEME_RS, 255, 4, len, NULL), SCR_OK);
    for (int i = 0; i < 255; i++)
        have[i] = i >= 40 && i < 44 ? 0 : SCR_HAVE_ALL;
    assert_int_equal(scr_geom_recoverable(&g, have), 1);
    for (int row = 30; row < 50; row++) {
        struct scr_plan plan;
        plan_of(&g, have, row, &plan);
        assert_int_equal(plan.ndst, 4);
        scr_plan_fini(&plan);
    }
    have[200] = SCR_HAVE_PARITY;
    assert_int_equal(scr_geom_recoverable(&g, have), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_is_in_one_symbol),
        cmocka_unit_test(a_logical_file_is_cut_in_row_order),
        cmocka_unit_test(xor_is_laid_out_as_in_the_manual),
        cmocka_unit_test(partner_copies_to_the_right),
        cmocka_unit_test(chunk_is_the_smallest_that_fits),
        cmocka_unit_test(what_a_set_cannot_carry_is_reduced),
        cmocka_unit_test(impossible_sets_are_refused),
        cmocka_unit_test(offsets_have_64_bits),
        cmocka_unit_test(encoding_gives_each_member_one_row),
        cmocka_unit_test(rebuilding_shares_the_work_among_the_survivors),
        cmocka_unit_test(nothing_lost_is_nothing_to_do),
        cmocka_unit_test(tolerance_of_whole_members_is_counted),
        cmocka_unit_test(every_loss_within_tolerance_is_rebuilt),
        cmocka_unit_test(rs_1_stores_the_bytes_of_xor),
        cmocka_unit_test(sets_of_255_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
