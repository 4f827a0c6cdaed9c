/* SPDX-License-Identifier: BSD-3-Clause */
/* Codewords over GF(2^8): generators, the solution for any survivors, and their
 * application. */
#include "ec/ec.h"

#include <isa-l.h>
#include <stdlib.h>
#include <string.h>

/* ISA-L takes lengths as int; slices also keep every pointer aligned. */
enum { MAX_SLICE = 1 << 30, XOR_UNIT = 64, ALIGNMENT = 64 };

void scr_ec_generator(int nd, int np, uint8_t *gen)
{
    size_t width = (size_t)nd;
    /* With one parity, or one data symbol, all ones has every square submatrix regular.
     */
    if (np > 1 && nd > 1) {
        gf_gen_cauchy1_matrix(gen, nd + np, nd);
        return;
    }
    memset(gen, 0, width * width);
    for (size_t d = 0; d < width; d++)
        gen[d * width + d] = 1;
    memset(gen + width * width, 1, (size_t)np * width);
}

/* The survivors of a codeword, sorted into what solve() needs. */
struct survivors {
    int at[SCR_EC_MAX];      /* at[d]: which survivor is data symbol d; -1: missing */
    int missing[SCR_EC_MAX]; /* the missing data symbols … */
    int parity[SCR_EC_MAX];  /* … and the survivors that stand in for them */
    int n;                   /* of each */
};

static int sort_survivors(const struct scr_ec_code *c, const int *have,
                          struct survivors *s)
{
    int nd = c->nd, np = c->np;
    int nparity = 0;
    uint8_t seen[SCR_EC_MAX] = { 0 };
    for (int d = 0; d < nd; d++)
        s->at[d] = -1;
    for (int j = 0; j < nd; j++) {
        if (have[j] < 0 || have[j] >= nd + np || seen[have[j]])
            return 0;
        seen[have[j]] = 1;
        if (have[j] < nd)
            s->at[have[j]] = j;
        else
            s->parity[nparity++] = j;
    }
    s->n = 0;
    for (int d = 0; d < nd; d++)
        if (s->at[d] < 0)
            s->missing[s->n++] = d;
    return 1;
}

/* rows[b] (nd wide): missing data symbol b as a combination of the survivors. The
 * parities in use, less what the present data put into them, are a small system in the
 * missing data. */
static int solve_missing(int nd, const uint8_t *gen, const int *have,
                         const struct survivors *s, uint8_t *rows)
{
    int e = s->n, ok = 0;
    size_t cells = (size_t)e * (size_t)e;
    uint8_t *system = malloc(2 * cells + 1);
    if (system == NULL)
        return 0;
    uint8_t *inverse = system + cells;
    for (int a = 0; a < e; a++)
        for (int b = 0; b < e; b++)
            system[a * e + b] = gen[have[s->parity[a]] * nd + s->missing[b]];
    if (e > 0 && gf_invert_matrix(system, inverse, e) != 0)
        goto out;
    memset(rows, 0, (size_t)e * (size_t)nd);
    for (int b = 0; b < e; b++) {
        for (int a = 0; a < e; a++) {
            uint8_t f = inverse[b * e + a];
            const uint8_t *g = gen + have[s->parity[a]] * nd;
            rows[b * nd + s->parity[a]] = f;
            for (int d = 0; d < nd; d++)
                if (s->at[d] >= 0)
                    rows[b * nd + s->at[d]] ^= gf_mul(f, g[d]);
        }
    }
    ok = 1;
out:
    free(system);
    return ok;
}

/* out = the generator row g expressed in the survivors. */
static void express(int nd, const uint8_t *g, const struct survivors *s,
                    const uint8_t *rows, uint8_t *out)
{
    memset(out, 0, (size_t)nd);
    for (int d = 0; d < nd; d++)
        if (s->at[d] >= 0)
            out[s->at[d]] ^= g[d];
    for (int b = 0; b < s->n; b++)
        if (g[s->missing[b]] != 0)
            for (int j = 0; j < nd; j++)
                out[j] ^= gf_mul(g[s->missing[b]], rows[b * nd + j]);
}

int scr_ec_solve(const struct scr_ec_code *code, const int *have, const int *want,
                 int nwant, uint8_t *coef)
{
    int nd = code->nd, np = code->np;
    const uint8_t *gen = code->gen;
    struct survivors s;
    if (nd < 1 || np < 0 || nd + np > SCR_EC_MAX || !sort_survivors(code, have, &s))
        return 0;
    for (int w = 0; w < nwant; w++)
        if (want[w] < 0 || want[w] >= nd + np)
            return 0;
    uint8_t *rows = malloc((size_t)s.n * (size_t)nd + 1);
    int ok = rows != NULL && solve_missing(nd, gen, have, &s, rows);
    for (int w = 0; ok && w < nwant; w++)
        express(nd, gen + want[w] * nd, &s, rows, coef + w * nd);
    free(rows);
    return ok;
}

void scr_ec_prepare(int nsrc, int ndst, const uint8_t *coef, uint8_t *tables)
{
    if (nsrc > 0 && ndst > 0)
        ec_init_tables(nsrc, ndst, (unsigned char *)coef, tables); /* only reads coef */
}

/* The sources a row of zeros and ones adds up; -1 if it has other coefficients. */
static int binary_row(int nsrc, const uint8_t *coef, int *which)
{
    int n = 0;
    for (int j = 0; j < nsrc; j++) {
        if (coef[j] > 1)
            return -1;
        if (coef[j] == 1)
            which[n++] = j;
    }
    return n;
}

/* What a register of any x86-64 holds, at any address. */
typedef uint64_t word __attribute__((vector_size(16), aligned(1), may_alias));

/* Of at least two sources. ISA-L's xor_gen takes aligned ones only, which a header in
 * front of the parity makes rare. */
static void xor_all(int nsrc, const int *which, size_t n, uint8_t *const *src,
                    uint8_t *dst)
{
    size_t whole = n - n % XOR_UNIT;
    for (size_t at = 0; at < whole; at += XOR_UNIT) {
        const word *from = (const word *)(const void *)(src[which[0]] + at);
        word *to = (word *)(void *)(dst + at);
        word a = from[0], b = from[1], c = from[2], d = from[3];
        for (int j = 1; j < nsrc; j++) {
            from = (const word *)(const void *)(src[which[j]] + at);
            a ^= from[0];
            b ^= from[1];
            c ^= from[2];
            d ^= from[3];
        }
        to[0] = a;
        to[1] = b;
        to[2] = c;
        to[3] = d;
    }
    for (size_t at = whole; at < n; at++) {
        uint8_t sum = 0;
        for (int j = 0; j < nsrc; j++)
            sum ^= src[which[j]][at];
        dst[at] = sum;
    }
}

static void apply_binary(int nsrc, const int *which, size_t n, uint8_t *const *src,
                         uint8_t *dst)
{
    if (nsrc == 0)
        memset(dst, 0, n);
    else if (nsrc == 1)
        memcpy(dst, src[which[0]], n);
    else
        xor_all(nsrc, which, n, src, dst);
}

static void apply_tables(const struct scr_ec_sums *s, size_t n, uint8_t *const *src,
                         uint8_t *const *dst)
{
    unsigned char *from[SCR_EC_MAX], *to[SCR_EC_MAX];
    for (size_t at = 0; at < n; at += MAX_SLICE) {
        size_t len = n - at < MAX_SLICE ? n - at : MAX_SLICE;
        for (int j = 0; j < s->nsrc; j++)
            from[j] = src[j] + at;
        for (int i = 0; i < s->ndst; i++)
            to[i] = dst[i] + at;
        ec_encode_data((int)len, s->nsrc, s->ndst, (unsigned char *)s->tables, from,
                       to);
    }
}

void scr_ec_apply(const struct scr_ec_sums *s, size_t n, uint8_t *const *src,
                  uint8_t *const *dst)
{
    int which[SCR_EC_MAX], binary = 1;
    if (n == 0 || s->ndst == 0)
        return;
    for (int i = 0; binary && i < s->ndst; i++)
        binary = binary_row(s->nsrc, s->coef + i * s->nsrc, which) >= 0;
    if (!binary) {
        apply_tables(s, n, src, dst);
        return;
    }
    for (int i = 0; i < s->ndst; i++) {
        int ones = binary_row(s->nsrc, s->coef + i * s->nsrc, which);
        apply_binary(ones, which, n, src, dst[i]);
    }
}

void *scr_ec_alloc(size_t n)
{
    if (n > SIZE_MAX - ALIGNMENT)
        return NULL;
    size_t whole = (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return aligned_alloc(ALIGNMENT, whole > 0 ? whole : ALIGNMENT);
}
