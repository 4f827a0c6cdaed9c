/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared parts of the fuzz targets. Each target is one file fuzz_<what>.c with the
 * entry of libFuzzer; linked with it, or with driver.c where there is none. */
#ifndef SCR_FUZZ_H
#define SCR_FUZZ_H

#include "base/hash.h"
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* The conditions for any input. */
#define FUZZ_CHECK(condition)                                                          \
    do {                                                                               \
        if (!(condition))                                                              \
            abort();                                                                   \
    } while (0)

/* The input as a tree: a whole hash file, or else the packed hash inside something that
 * looks like one, so that changed bytes get past the checksum. Never NULL. */
scr_hash *fuzz_tree(const uint8_t *data, size_t n);
/* The packed hash of that tree: *size bytes in a block of just as many. */
uint8_t *fuzz_packed(const uint8_t *data, size_t n, size_t *size);

/* The rule of every decoder: on failure the hash is what it was, and the error is
 * filled; what was accepted is accepted again. */
void fuzz_decoder(const uint8_t *data, size_t n,
                  int (*decode)(scr_hash *h, struct scr_err *err));

#endif
