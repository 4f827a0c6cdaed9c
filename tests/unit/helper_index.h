/* SPDX-License-Identifier: BSD-3-Clause */
/* An index as the hash its file holds, and back. */
#ifndef SCR_TEST_HELPER_INDEX_H
#define SCR_TEST_HELPER_INDEX_H

#include "fmt/index.h"
#include "helper_pack.h"

/* The index in a file that holds h. */
static inline int test_index_take(const scr_hash *h, struct scr_index *index,
                                  struct scr_err *err)
{
    size_t n;
    *index = (struct scr_index)SCR_INDEX_INIT;
    void *bytes = test_hash_encoded(h, &n);
    int rc = bytes ? scr_index_unpack(index, bytes, n, err) : scr_no_memory(err);
    if (rc == SCR_OK)
        index->file = bytes;
    else
        free(bytes);
    return rc;
}

/* The content of its file; NULL: out of memory. */
static inline scr_hash *test_index_tree(const struct scr_index *index)
{
    struct scr_str s = SCR_STR_INIT;
    scr_hash *h = scr_hash_new();
    scr_index_pack(&s, index);
    scr_frame_end(&s);
    if (s.bad || scr_hash_decode(s.p, s.len, h, NULL) != SCR_OK) {
        scr_hash_delete(h);
        h = NULL;
    }
    scr_str_free(&s);
    return h;
}

#endif
