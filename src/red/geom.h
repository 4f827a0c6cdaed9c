/* SPDX-License-Identifier: BSD-3-Clause */
/* The geometry of redundancy: one description for all schemes.
 *
 * A set has n members, 0 … n-1. The protected data are cut into n rows. Row r is a
 * codeword of nd data symbols and np parity symbols, each of rowlen[r] bytes, each held
 * by another member.
 *
 *   XOR, RS(k)  nd = n - k, np = k. Row r's parities are held by members
 *               r, r+1 … r+k-1 (mod n), its data by the other members. So every member
 *               holds n-k data chunks (its logical file, cut in row order) and k parity
 *               chunks. The data symbols of row r are ordered by member from r+k on
 *               (mod n), which is how a parity's coefficients are numbered. rowlen is
 *               the same for all rows:
 *               chunk = max(1, ceil(longest logical file / (n-k))).
 *   PARTNER(r)  nd = 1, np = r. Row r is the whole logical file of member r, copied to
 *               members r+1 … r+np (mod n). rowlen[r] is that file's length.
 *   SINGLE      nd = 1, np = 0; nothing to encode.
 *
 * XOR's chunk placement is the one of the developer's manual, figure 4. Encoding is
 * repairing with all parity missing, so encode and rebuild, over MPI and serial, all
 * run scr_plan rows. */
#ifndef SCR_RED_GEOM_H
#define SCR_RED_GEOM_H

#include "base/err.h"
#include "cfg/desc.h"
#include "ec/ec.h"
#include <stdint.h>

struct scr_geom {
    enum scr_scheme scheme; /* as reduced */
    int n;                  /* members, 1 … SCR_EC_MAX */
    int k;                  /* parities: 0 for SINGLE, 1 for XOR, copies for PARTNER */
    uint64_t chunk;         /* bytes of a chunk (striped schemes), else 0 */
    uint64_t len[SCR_EC_MAX]; /* len[i]: logical file length of member i */
};

/* Fills g for a set of n members with logical file lengths len[] (at most 2^55 - 1
 * bytes each, else SCR_E_RANGE: the same on all members). k is SET_FAILURES (RS,
 * PARTNER). Weakens what n cannot carry: RS k >= n -> k = n-1 (k = 1 is stored as
 * RS(1), same bytes as XOR), PARTNER r >= n -> r = n-1, any scheme with n == 1 ->
 * SINGLE. */
int scr_geom_init(struct scr_geom *g, enum scr_scheme scheme, int n, int k,
                  const uint64_t *len, struct scr_err *err);

/* What scr_geom_init would reduce (scheme, k) to for n members, without lengths. */
void scr_geom_weaken(enum scr_scheme *scheme, int *k, int n);

int scr_geom_nd(const struct scr_geom *g);
uint64_t scr_geom_rowlen(const struct scr_geom *g, int row);
uint64_t scr_geom_max_rowlen(const struct scr_geom *g);
/* Bytes of parity member i stores, and where its chunks start: parity slot s of a
 * member (0 … k-1), at scr_geom_slot_off, holds parity number s of a row: of row i - s
 * (XOR, RS) or of row i - 1 - s (PARTNER), mod n. slot == k gives the end. */
uint64_t scr_geom_parity_bytes(const struct scr_geom *g, int member);
uint64_t scr_geom_slot_off(const struct scr_geom *g, int member, int slot);

/* Where symbol s (0 … nd+np-1) of row lives. */
struct scr_sym {
    int member;
    int is_parity;
    uint64_t off; /* data: offset in the logical file; parity: offset in the member's
                     parity bytes */
};
void scr_geom_symbol(const struct scr_geom *g, int row, int s, struct scr_sym *out);

/* The data symbol that member holds of row, if it holds one. */
int scr_geom_data_of(const struct scr_geom *g, int row, int member,
                     struct scr_sym *out);

/* 1 if every parity symbol is the plain sum of its row's data: XOR, and copies. The CRC
 * of a sum follows from the CRCs of its terms, so that parity need not be read for its
 * own. */
int scr_geom_sums(const struct scr_geom *g);
/* CRC of member's parity bytes then: crc[i * n + row] is that of member i's data symbol
 * of row, padded to the row's length (scr_member_row_crcs). */
uint32_t scr_geom_parity_crc(const struct scr_geom *g, int member, const uint32_t *crc);

/* The remaining parts of each member. */
enum { SCR_HAVE_DATA = 1, SCR_HAVE_PARITY = 2, SCR_HAVE_ALL = 3 };

/* One row's work: read src[0…nd), compute dst[0…ndst) = coef * src at member coder. */
struct scr_plan {
    int row;
    uint64_t len;
    int nsrc, ndst;
    int coder; /* member that gathers and computes */
    struct scr_sym src[SCR_EC_MAX];
    struct scr_sym dst[SCR_EC_MAX];
    uint8_t *coef;   /* ndst x nsrc, owned */
    uint8_t *tables; /* for scr_ec_apply, owned */
};

/* Plans row: everything not had is computed from what is had (have[i] for each member).
 * ndst == 0 if nothing is missing. SCR_E_LOST if fewer than nd symbols are left. coder
 * is the first parity holder when encoding and rotates over the sources when
 * rebuilding, so that work and traffic balance. Same result on every rank. */
int scr_plan_row(const struct scr_geom *g, const int *have, int row,
                 struct scr_plan *plan, struct scr_err *err);
/* Computes dst[0…ndst) of src[0…nsrc), n bytes of each (ec/ec.h). */
void scr_plan_apply(const struct scr_plan *plan, size_t n, uint8_t *const *src,
                    uint8_t *const *dst);
void scr_plan_fini(struct scr_plan *plan);

/* 1 if every row can be planned with have[]. */
int scr_geom_recoverable(const struct scr_geom *g, const int *have);

#endif
