/* SPDX-License-Identifier: BSD-3-Clause */
#include "ec/xor.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { LINE = 64 }; /* bytes of a line of the cache */

/* A quarter of a line, at any address. */
typedef uint64_t quarter __attribute__((vector_size(LINE / 4), aligned(1), may_alias));

static void xor_bytes(int nsrc, const uint8_t *const *src, size_t from, size_t to,
                      uint8_t *dst)
{
    for (size_t at = from; at < to; at++) {
        uint8_t sum = src[0][at];
        for (int j = 1; j < nsrc; j++)
            sum ^= src[j][at];
        dst[at] = sum;
    }
}

/* Past the caches only whole lines go, in order, each at a line's address: a part of
 * one would be read and written again. */
static inline void put(quarter *to, quarter sum, int is_far)
{
#ifdef __SSE2__
    if (is_far) {
        _mm_stream_si128((__m128i *)(void *)to, (__m128i)sum);
        return;
    }
#endif
    (void)is_far;
    *to = sum;
}

/* Whole lines from `at` on; returns where they end. */
static inline size_t xor_lines(int nsrc, const uint8_t *const *src, size_t at, size_t n,
                               uint8_t *dst, int is_far)
{
    for (; n - at >= LINE; at += LINE) {
        const quarter *from = (const quarter *)(const void *)(src[0] + at);
        quarter *to = (quarter *)(void *)(dst + at);
        quarter a = from[0], b = from[1], c = from[2], d = from[3];
        for (int j = 1; j < nsrc; j++) {
            from = (const quarter *)(const void *)(src[j] + at);
            a ^= from[0];
            b ^= from[1];
            c ^= from[2];
            d ^= from[3];
        }
        put(&to[0], a, is_far);
        put(&to[1], b, is_far);
        put(&to[2], c, is_far);
        put(&to[3], d, is_far);
    }
    return at;
}

static size_t xor_far(int nsrc, const uint8_t *const *src, size_t n, uint8_t *dst)
{
    size_t head = (LINE - (uintptr_t)dst % LINE) % LINE;
    if (head > n)
        head = n;
    xor_bytes(nsrc, src, 0, head, dst);
    size_t end = xor_lines(nsrc, src, head, n, dst, 1);
#ifdef __SSE2__
    _mm_sfence(); /* who is told that they are there shall see them */
#endif
    return end;
}

void scr_xor(int nsrc, const uint8_t *const *src, size_t n, uint8_t *dst, int is_far)
{
    size_t done =
        is_far ? xor_far(nsrc, src, n, dst) : xor_lines(nsrc, src, 0, n, dst, 0);
    xor_bytes(nsrc, src, done, n, dst);
}
