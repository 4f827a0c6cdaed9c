/* SPDX-License-Identifier: BSD-3-Clause */
/* CRC32 of zlib, and its algebra: joining CRCs without the bytes they were made from.
 */
#include "ec/ec.h"

#include "ec/crc32_wide.h"
#include <isa-l.h>

/* The generator polynomial, bit-reflected: bit 31 is the coefficient of x^0. */
static const uint32_t poly = 0xedb88320U;

uint32_t scr_crc32(uint32_t crc, const void *buf, size_t n)
{
    if (n >= SCR_CRC32_WIDE_LEAST && scr_crc32_wide_usable())
        return scr_crc32_wide(crc, buf, n);
    return n > 0 ? crc32_gzip_refl(crc, buf, n) : crc;
}

/* a times b modulo the polynomial, all three reflected. */
static uint32_t mul_mod(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (uint32_t bit = 1U << 31; bit != 0; bit >>= 1) {
        if (a & bit)
            product ^= b;
        b = (b & 1U) ? (b >> 1) ^ poly : b >> 1;
    }
    return product;
}

/* x^(8n): what n more bytes multiply a register by. */
static uint32_t shift_of(uint64_t n)
{
    uint32_t power = 1U << (31 - 8); /* x^8, squared at each bit of n */
    uint32_t result = 1U << 31;      /* x^0 */
    for (; n > 0; n >>= 1) {
        if (n & 1U)
            result = mul_mod(power, result);
        power = mul_mod(power, power);
    }
    return result;
}

/* The conditioning (start and end with all ones) cancels out of the sum. */
uint32_t scr_crc32_combine(uint32_t a, uint32_t b, uint64_t len_b)
{
    return mul_mod(shift_of(len_b), a) ^ b;
}

uint32_t scr_crc32_zeros(uint64_t n)
{
    return ~mul_mod(shift_of(n), ~0U);
}
