/* SPDX-License-Identifier: BSD-3-Clause */
/* CRC32 with carry-less products of two lanes at a time, for processors that have them
 * but not the four lanes ISA-L makes use of: there it is nearly twice as fast. */
#ifndef SCR_EC_CRC32_WIDE_H
#define SCR_EC_CRC32_WIDE_H

#include <stddef.h>
#include <stdint.h>

enum { SCR_CRC32_WIDE_LEAST = 256 }; /* bytes from which on it pays */

/* 1 if this processor has what it takes, and ISA-L nothing better. */
int scr_crc32_wide_usable(void);
/* As scr_crc32, of at least SCR_CRC32_WIDE_LEAST bytes, where usable. */
uint32_t scr_crc32_wide(uint32_t crc, const void *buf, size_t n);

#endif
