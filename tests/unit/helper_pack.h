/* SPDX-License-Identifier: BSD-3-Clause */
/* Hashes as bytes, in blocks of just their size. */
#ifndef SCR_TEST_HELPER_PACK_H
#define SCR_TEST_HELPER_PACK_H

#include <stdlib.h>
#include <string.h>

#include "base/hashfile.h"

/* Frees s; NULL if it is bad. */
static inline void *test_block(struct scr_str *s, size_t *n)
{
    void *block = s->bad ? NULL : malloc(s->len + (s->len == 0));
    if (block != NULL && s->len > 0)
        memcpy(block, s->p, s->len);
    *n = s->len;
    scr_str_free(s);
    return block;
}

static inline void *test_hash_packed(const scr_hash *h, size_t *n)
{
    struct scr_str s = SCR_STR_INIT;
    scr_hash_append(&s, h);
    return test_block(&s, n);
}

/* The file that would hold it. */
static inline void *test_hash_encoded(const scr_hash *h, size_t *n)
{
    struct scr_str s = SCR_STR_INIT;
    scr_frame_begin(&s);
    scr_hash_append(&s, h);
    scr_frame_end(&s);
    return test_block(&s, n);
}

#endif
