/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared parts of the fuzz targets. Each target is one file fuzz_<what>.c with the
 * entry of libFuzzer; linked with it, or with driver.c where there is none. */
#ifndef SCR_FUZZ_H
#define SCR_FUZZ_H

#include "base/env.h"
#include "base/hash.h"
#include "base/str.h"
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

/* That packed hash in a file whose checksum is right; other bytes may follow it in the
 * input: *used is where they begin, n if there are none. */
struct scr_str fuzz_framed(const uint8_t *data, size_t n, size_t *used);
/* A journal: each text of the input with its NUL and the checksum it needs. */
struct scr_str fuzz_records(const uint8_t *data, size_t n);

/* The input as a text, up to its first NUL: malloc'd, no byte longer. */
char *fuzz_text(const uint8_t *data, size_t n);
/* Cuts the first piece off *text, which ends at a byte of value 1; "" at the end. */
char *fuzz_piece(char **text);

/* An environment that logs nothing, and in which every file that is opened has the
 * bytes of one of these pieces: the first one opened those of piece[0], and so on; the
 * last piece is that of all further ones. Good until the next call. */
struct fuzz_piece {
    const void *bytes;
    size_t n;
};
const struct scr_env *fuzz_disk(const struct fuzz_piece *piece, size_t n);

/* The rule of every decoder: on failure the hash is what it was, and the error is
 * filled; what was accepted is accepted again. */
void fuzz_decoder(const uint8_t *data, size_t n,
                  int (*decode)(scr_hash *h, struct scr_err *err));

#endif
