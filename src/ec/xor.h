/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCR_EC_XOR_H
#define SCR_EC_XOR_H

#include <stddef.h>
#include <stdint.h>

/* dst = src[0] ^ … ^ src[nsrc - 1], n bytes each, at any address; dst overlaps none.
 * is_far: dst is not read again soon. It is written past the caches then, which saves
 * reading the lines it replaces and leaves the caches to the sources of what follows.
 */
void scr_xor(int nsrc, const uint8_t *const *src, size_t n, uint8_t *dst, int is_far);

#endif
