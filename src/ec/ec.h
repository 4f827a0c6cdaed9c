/* SPDX-License-Identifier: BSD-3-Clause */
/* Checksums and arithmetic over GF(2^8), on ISA-L. Pure functions, any thread. */
#ifndef SCR_EC_EC_H
#define SCR_EC_EC_H

#include <stddef.h>
#include <stdint.h>

enum { SCR_EC_MAX = 255 }; /* most members in a codeword */

/* CRC32 of zlib and gzip. Start with crc = 0. */
uint32_t scr_crc32(uint32_t crc, const void *buf, size_t n);
/* CRC of A followed by B from crc(A), crc(B) and B's length. */
uint32_t scr_crc32_combine(uint32_t a, uint32_t b, uint64_t len_b);
/* CRC of n zero bytes. */
uint32_t scr_crc32_zeros(uint64_t n);

/* A systematic code of nd data and np parity symbols. 1 <= nd, 0 <= np,
 * nd + np <= SCR_EC_MAX. */
struct scr_ec_code {
    int nd, np;
    const uint8_t *gen; /* its generator */
};

/* Generator of an (nd + np, nd) systematic code: (nd + np) x nd bytes, row-major:
 * identity, then np parity rows; one parity row is all ones (XOR), several are Cauchy.
 * With nd == 1 all rows are ones: copies. */
void scr_ec_generator(int nd, int np, uint8_t *gen);

/* Coefficients that compute codeword symbols want[0…nwant) from symbols have[0…nd)
 * (indices into the nd + np symbols of gen): coef is nwant x nd, row-major. 1, or 0 if
 * have repeats itself or an index is out of range, when out of memory, or if the system
 * is singular (never for these generators). */
int scr_ec_solve(const struct scr_ec_code *code, const int *have, const int *want,
                 int nwant, uint8_t *coef);

/* Sums of nsrc sources, ndst of them. */
struct scr_ec_sums {
    int nsrc, ndst;
    const uint8_t *coef;   /* ndst x nsrc, row-major */
    const uint8_t *tables; /* 32*nsrc*ndst bytes filled by scr_ec_prepare */
};
void scr_ec_prepare(int nsrc, int ndst, const uint8_t *coef, uint8_t *tables);
/* dst[i] = sum_j coef[i*nsrc + j] * src[j], n bytes each; buffers do not overlap and
 * are best aligned (scr_ec_alloc). Takes the XOR and copy short cuts by itself. */
void scr_ec_apply(const struct scr_ec_sums *s, size_t n, uint8_t *const *src,
                  uint8_t *const *dst);

void *scr_ec_alloc(
    size_t n); /* 64-byte aligned, rounded up; free() it; NULL: out of memory */

#endif
