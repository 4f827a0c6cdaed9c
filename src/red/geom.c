/* SPDX-License-Identifier: BSD-3-Clause */
/* Where every symbol of every row lies, and what computes the missing ones. */
#include "red/geom.h"

#include "base/str.h"
#include <stdlib.h>
#include <string.h>

/* Longest logical file: k chunks of parity still fit an off_t for every k. */
static const uint64_t max_len = INT64_MAX / (SCR_EC_MAX + 1);

void scr_geom_weaken(enum scr_scheme *scheme, int *k, int n)
{
    if (n <= 1 || *scheme == SCR_SCHEME_SINGLE) {
        *scheme = SCR_SCHEME_SINGLE;
        *k = 0;
        return;
    }
    if (*scheme == SCR_SCHEME_XOR || *k < 1)
        *k = 1;
    if (*k >= n)
        *k = n - 1;
}

static int is_striped(const struct scr_geom *g)
{
    return g->scheme == SCR_SCHEME_XOR || g->scheme == SCR_SCHEME_RS;
}

static uint64_t longest(const struct scr_geom *g)
{
    uint64_t max = 0;
    for (int i = 0; i < g->n; i++)
        if (g->len[i] > max)
            max = g->len[i];
    return max;
}

int scr_geom_init(struct scr_geom *g, enum scr_scheme scheme, int n, int k,
                  const uint64_t *len, struct scr_err *err)
{
    memset(g, 0, sizeof *g);
    if (n < 1 || n > SCR_EC_MAX)
        return scr_fail(err, SCR_E_RANGE, 0,
                        "redundancy set of %d members: must have 1 to %d", n,
                        SCR_EC_MAX);
    for (int i = 0; i < n; i++)
        if (len[i] > max_len)
            return scr_fail(err, SCR_E_RANGE, 0,
                            "files of member %d: %llu bytes are more than %llu", i,
                            (unsigned long long)len[i], (unsigned long long)max_len);
    scr_geom_weaken(&scheme, &k, n);
    g->scheme = scheme;
    g->n = n;
    g->k = k;
    memcpy(g->len, len, (size_t)n * sizeof *len);
    if (is_striped(g))
        g->chunk = longest(g) == 0 ? 1 : (longest(g) - 1) / (uint64_t)(n - k) + 1;
    return SCR_OK;
}

int scr_geom_nd(const struct scr_geom *g)
{
    return is_striped(g) ? g->n - g->k : 1;
}

uint64_t scr_geom_rowlen(const struct scr_geom *g, int row)
{
    return is_striped(g) ? g->chunk : g->len[row];
}

uint64_t scr_geom_max_rowlen(const struct scr_geom *g)
{
    return is_striped(g) ? g->chunk : longest(g);
}

/* i modulo n for -n <= i. */
static int wrap(const struct scr_geom *g, int i)
{
    return (i + g->n) % g->n;
}

/* The row whose parity `slot` member holds: parity j of a row is everywhere in slot j.
 */
static int slot_row(const struct scr_geom *g, int member, int slot)
{
    return wrap(g, is_striped(g) ? member - slot : member - 1 - slot);
}

uint64_t scr_geom_slot_off(const struct scr_geom *g, int member, int slot)
{
    uint64_t off = 0;
    for (int s = 0; s < slot; s++)
        off += scr_geom_rowlen(g, slot_row(g, member, s));
    return off;
}

uint64_t scr_geom_parity_bytes(const struct scr_geom *g, int member)
{
    return scr_geom_slot_off(g, member, g->k);
}

/* Rows before `row` in which member holds data: its chunk number in that row. */
static int chunk_index(const struct scr_geom *g, int member, int row)
{
    int index = row;
    for (int slot = 0; slot < g->k; slot++)
        index -= slot_row(g, member, slot) < row;
    return index;
}

static void striped_symbol(const struct scr_geom *g, int row, int s,
                           struct scr_sym *out)
{
    int nd = scr_geom_nd(g);
    out->is_parity = s >= nd;
    if (out->is_parity) {
        out->member = wrap(g, row + s - nd);
        out->off = (uint64_t)(s - nd) * g->chunk;
    } else {
        out->member = wrap(g, row + g->k + s);
        out->off = (uint64_t)chunk_index(g, out->member, row) * g->chunk;
    }
}

static void copied_symbol(const struct scr_geom *g, int row, int s, struct scr_sym *out)
{
    out->member = wrap(g, row + s);
    out->is_parity = s > 0;
    out->off = s > 0 ? scr_geom_slot_off(g, out->member, s - 1) : 0;
}

void scr_geom_symbol(const struct scr_geom *g, int row, int s, struct scr_sym *out)
{
    if (is_striped(g))
        striped_symbol(g, row, s, out);
    else
        copied_symbol(g, row, s, out);
}

int scr_geom_data_of(const struct scr_geom *g, int row, int member, struct scr_sym *out)
{
    int nd = scr_geom_nd(g);
    int behind = wrap(g, member - row);
    int s = is_striped(g) ? wrap(g, behind - g->k) : behind;
    if (s >= nd)
        return 0;
    scr_geom_symbol(g, row, s, out);
    return 1;
}

/* --- CRCs of sums --- */

int scr_geom_sums(const struct scr_geom *g)
{
    return g->k == 1 || scr_geom_nd(g) == 1;
}

/* CRC32 is linear except for a constant of the length, which the CRC of zeros shows: an
 * even number of terms cancels it, and the sum needs it once. */
static uint32_t sum_crc(const struct scr_geom *g, int row, const uint32_t *crc)
{
    struct scr_sym sym;
    int nd = scr_geom_nd(g);
    uint32_t sum = nd % 2 == 0 ? scr_crc32_zeros(scr_geom_rowlen(g, row)) : 0;
    for (int s = 0; s < nd; s++) {
        scr_geom_symbol(g, row, s, &sym);
        sum ^= crc[(size_t)sym.member * (size_t)g->n + (size_t)row];
    }
    return sum;
}

uint32_t scr_geom_parity_crc(const struct scr_geom *g, int member, const uint32_t *crc)
{
    uint32_t all = 0;
    for (int slot = 0; slot < g->k; slot++) {
        int row = slot_row(g, member, slot);
        all = scr_crc32_combine(all, sum_crc(g, row, crc), scr_geom_rowlen(g, row));
    }
    return all;
}

static int is_had(const int *have, const struct scr_sym *sym)
{
    return have[sym->member] & (sym->is_parity ? SCR_HAVE_PARITY : SCR_HAVE_DATA);
}

/* Fills plan's sources (the first nd that are left, data first) and destinations, with
 * the symbol numbers they have in the codeword. */
static void pick_symbols(const struct scr_geom *g, const int *have,
                         struct scr_plan *plan, int *from, int *to)
{
    int nd = scr_geom_nd(g);
    for (int s = 0; s < nd + g->k; s++) {
        struct scr_sym sym;
        scr_geom_symbol(g, plan->row, s, &sym);
        if (!is_had(have, &sym)) {
            to[plan->ndst] = s;
            plan->dst[plan->ndst++] = sym;
        } else if (plan->nsrc < nd) {
            from[plan->nsrc] = s;
            plan->src[plan->nsrc++] = sym;
        }
    }
}

static int solve(const struct scr_geom *g, struct scr_plan *plan, const int *from,
                 const int *to, struct scr_err *err)
{
    int nd = scr_geom_nd(g), rc = SCR_OK;
    size_t cells = (size_t)plan->ndst * (size_t)nd;
    uint8_t *gen = scr_calloc((size_t)(nd + g->k), (size_t)nd);
    plan->coef = scr_calloc(cells, 1);
    plan->tables = scr_calloc(cells, 32);
    if (gen != NULL)
        scr_ec_generator(nd, g->k, gen);
    /* The survivors are distinct, so that only memory can fail the solution. */
    if (gen == NULL || plan->coef == NULL || plan->tables == NULL ||
        !scr_ec_solve(&(struct scr_ec_code){ nd, g->k, gen }, from, to, plan->ndst,
                      plan->coef))
        rc = scr_no_memory(err);
    else
        scr_ec_prepare(nd, plan->ndst, plan->coef, plan->tables);
    free(gen);
    return rc;
}

/* 1 if all data is had and no parity. */
static int is_encoding(const struct scr_geom *g, const int *have)
{
    for (int i = 0; i < g->n; i++)
        if (have[i] != SCR_HAVE_DATA)
            return 0;
    return 1;
}

/* The source with the rank-th smallest member number. */
static int source_at(const struct scr_plan *plan, int rank)
{
    for (int j = 0; j < plan->nsrc; j++) {
        int smaller = 0;
        for (int i = 0; i < plan->nsrc; i++)
            smaller += plan->src[i].member < plan->src[j].member;
        if (smaller == rank)
            return plan->src[j].member;
    }
    return plan->src[0].member;
}

/* Encoding, every member codes the row it holds the first parity of. Rebuilding, the
 * sources take turns, so that the members being rebuilt only receive what they keep. */
static int pick_coder(const struct scr_geom *g, const int *have,
                      const struct scr_plan *plan)
{
    if (is_encoding(g, have))
        return plan->dst[0].member;
    return source_at(plan, plan->row % plan->nsrc);
}

int scr_plan_row(const struct scr_geom *g, const int *have, int row,
                 struct scr_plan *plan, struct scr_err *err)
{
    int from[SCR_EC_MAX], to[SCR_EC_MAX];
    plan->row = row;
    plan->len = scr_geom_rowlen(g, row);
    plan->nsrc = plan->ndst = 0;
    plan->coder = -1;
    plan->coef = plan->tables = NULL;
    pick_symbols(g, have, plan, from, to);
    if (plan->ndst == 0) {
        plan->nsrc = 0;
        return SCR_OK;
    }
    int nd = scr_geom_nd(g);
    if (plan->nsrc < nd)
        return scr_fail(err, SCR_E_LOST, 0,
                        "redundancy row %d: %d of %d symbols are left, %d are needed",
                        row, plan->nsrc, nd + g->k, nd);
    int rc = solve(g, plan, from, to, err);
    if (rc != SCR_OK) {
        scr_plan_fini(plan);
        return rc;
    }
    plan->coder = pick_coder(g, have, plan);
    return SCR_OK;
}

void scr_plan_apply(const struct scr_plan *plan, size_t n, uint8_t *const *src,
                    uint8_t *const *dst)
{
    const struct scr_ec_sums sums = { plan->nsrc, plan->ndst, plan->coef,
                                      plan->tables };
    scr_ec_apply(&sums, n, src, dst);
}

void scr_plan_fini(struct scr_plan *plan)
{
    free(plan->coef);
    free(plan->tables);
    plan->coef = plan->tables = NULL;
}

int scr_geom_recoverable(const struct scr_geom *g, const int *have)
{
    int nd = scr_geom_nd(g);
    for (int row = 0; row < g->n; row++) {
        int left = 0;
        for (int s = 0; s < nd + g->k; s++) {
            struct scr_sym sym;
            scr_geom_symbol(g, row, s, &sym);
            left += is_had(have, &sym) != 0;
        }
        if (left < nd)
            return 0;
    }
    return 1;
}
