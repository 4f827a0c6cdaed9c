/* SPDX-License-Identifier: BSD-3-Clause */
/* What the programs of random histories write. */
#ifndef SCR_TEST_WRITTEN_H
#define SCR_TEST_WRITTEN_H

#include <stddef.h>
#include <stdint.h>

/* The bytes of a file are a function of this, as in records.py. */
uint32_t written_mix(const int32_t *parts, size_t n);
/* The number of the dataset that a file in cache belongs to; 0: it is in no cache. */
int written_id(const char *path);
/* The highest number below the prefix directory, our current directory, where a dataset
 * that bypasses the cache has one; 0: none. */
int written_newest(void);

#endif
