/* SPDX-License-Identifier: BSD-3-Clause */
/* Random numbers from a seed, the same on every machine. */
#ifndef SCR_TEST_HELPER_DRAW_H
#define SCR_TEST_HELPER_DRAW_H

#include <stdint.h>

struct test_random {
    uint64_t state;
};

/* splitmix64 */
__attribute__((unused)) static uint64_t test_draw(struct test_random *r)
{
    uint64_t x = r->state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* From 0 to 1, both excluded. */
__attribute__((unused)) static double test_draw_fraction(struct test_random *r)
{
    return ((double)(test_draw(r) >> 11) + 0.5) * 0x1p-53;
}

#endif
