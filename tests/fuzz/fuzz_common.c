/* SPDX-License-Identifier: BSD-3-Clause */
/* Input as trees, and the rule of every decoder. */
#include "fuzz.h"

#include "base/hashfile.h"
#include <string.h>

enum { HEADER = 20, TRAILER = 4 };

scr_hash *fuzz_tree(const uint8_t *data, size_t n)
{
    scr_hash *h = scr_hash_new();
    FUZZ_CHECK(h != NULL);
    if (scr_hash_decode(data, n, h, NULL, NULL) != SCR_OK && n > HEADER + TRAILER)
        (void)scr_hash_unpack(data + HEADER, n - HEADER - TRAILER, h, NULL, NULL);
    return h;
}

uint8_t *fuzz_packed(const uint8_t *data, size_t n, size_t *size)
{
    struct scr_frame f;
    if (scr_frame_open(data, n, 1, &f, NULL) != SCR_OK || f.packed == NULL) {
        int framed = n > HEADER + TRAILER;
        f.packed = framed ? data + HEADER : data;
        f.n = framed ? n - HEADER - TRAILER : 0;
    }
    uint8_t *exact = malloc(f.n > 0 ? f.n : 1);
    FUZZ_CHECK(exact != NULL);
    memcpy(exact, f.packed, f.n);
    *size = f.n;
    return exact;
}

void fuzz_decoder(const uint8_t *data, size_t n,
                  int (*decode)(scr_hash *h, struct scr_err *err))
{
    struct scr_err err = SCR_ERR_INIT;
    scr_hash *h = fuzz_tree(data, n), *before = scr_hash_dup(h);
    int rc = decode(h, &err);
    if (rc == SCR_OK) {
        FUZZ_CHECK(err.code == SCR_OK);
        FUZZ_CHECK(decode(h, &err) == SCR_OK);
    } else {
        FUZZ_CHECK(err.code == rc && err.text[0] != '\0');
        FUZZ_CHECK(scr_hash_equal(h, before));
    }
    scr_hash_delete(h);
    scr_hash_delete(before);
}
