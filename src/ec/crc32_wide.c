/* SPDX-License-Identifier: BSD-3-Clause */
/* CRC32 by folding: a block of the message is a polynomial; multiplied by x^d mod P it
 * may be added to the block d bits further on without changing the remainder. A product
 * of 64 by 64 bits is one instruction, so each half of a 128-bit lane has a constant of
 * its own: x^(d+32) for the half that comes first, x^(d-32) for the other, modulo P,
 * reflected, shifted by one as the product of reflected factors asks for it.
 * After V. Gopal et al., Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
 * Instruction, Intel, 2009. */
#include "ec/crc32_wide.h"

#include <isa-l.h>

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#define WIDE __attribute__((target("avx2,vpclmulqdq,pclmul")))

/* For distances of 1024, 256 and 128 bits: { x^(d+32), x^(d-32) }. */
static const long long fold1024[2] = { 0x1e88ef372, 0x14a7fe880 };
static const long long fold256[2] = { 0x0f1da05aa, 0x15a546366 };
static const long long fold128[2] = { 0x1751997d0, 0x0ccaa009e };

int scr_crc32_wide_usable(void)
{
    return __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("pclmul") &&
           __builtin_cpu_supports("avx2") && !__builtin_cpu_supports("avx512f");
}

WIDE static inline __m256i load(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

WIDE static inline __m256i both_lanes(const long long k[2])
{
    return _mm256_set_epi64x(k[1], k[0], k[1], k[0]);
}

/* a folded onto b. */
WIDE static inline __m256i fold(__m256i a, __m256i k, __m256i b)
{
    __m256i first = _mm256_clmulepi64_epi128(a, k, 0x00);
    __m256i second = _mm256_clmulepi64_epi128(a, k, 0x11);
    return _mm256_xor_si256(_mm256_xor_si256(first, second), b);
}

/* The two lanes of a become the one that has the same remainder; its CRC. */
WIDE static uint32_t finish(__m256i a)
{
    uint8_t last[16];
    __m128i k = _mm_set_epi64x(fold128[1], fold128[0]);
    __m128i lane = _mm256_castsi256_si128(a), end = _mm256_extracti128_si256(a, 1);
    end = _mm_xor_si128(end, _mm_clmulepi64_si128(lane, k, 0x00));
    end = _mm_xor_si128(end, _mm_clmulepi64_si128(lane, k, 0x11));
    _mm_storeu_si128((__m128i *)(void *)last, end);
    return crc32_gzip_refl(~0U, last, sizeof last); /* a register of zeros */
}

WIDE uint32_t scr_crc32_wide(uint32_t crc, const void *buf, size_t n)
{
    const uint8_t *p = buf;
    const uint8_t *end = p + n / 128 * 128;
    __m256i k = both_lanes(fold1024);
    __m256i start = _mm256_set_epi32(0, 0, 0, 0, 0, 0, 0, (int)~crc);
    __m256i a = _mm256_xor_si256(load(p), start), b = load(p + 32);
    __m256i c = load(p + 64), d = load(p + 96);
    for (p += 128; p < end; p += 128) {
        a = fold(a, k, load(p));
        b = fold(b, k, load(p + 32));
        c = fold(c, k, load(p + 64));
        d = fold(d, k, load(p + 96));
    }
    k = both_lanes(fold256);
    crc = finish(fold(fold(fold(a, k, b), k, c), k, d));
    return n % 128 > 0 ? crc32_gzip_refl(crc, end, n % 128) : crc;
}

#else

int scr_crc32_wide_usable(void)
{
    return 0;
}

uint32_t scr_crc32_wide(uint32_t crc, const void *buf, size_t n)
{
    return crc32_gzip_refl(crc, buf, n);
}

#endif
