/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of files in tests: what they are on disk. Without memory the test ends. */
#ifndef SCR_TEST_HELPER_LISTS_H
#define SCR_TEST_HELPER_LISTS_H

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "fmt/rank2file.h"

/* The packed hash; the caller frees it. */
static inline struct scr_str test_list_packed(const struct scr_rank2file *l)
{
    struct scr_str s = SCR_STR_INIT;
    scr_rank2file_pack(&s, l);
    if (s.bad)
        abort();
    return s;
}

/* The same bytes. */
static inline int test_lists_same(const struct scr_rank2file *a,
                                  const struct scr_rank2file *b)
{
    struct scr_str x = test_list_packed(a), y = test_list_packed(b);
    int same = x.len == y.len && memcmp(x.p, y.p, x.len) == 0;
    scr_str_free(&x);
    scr_str_free(&y);
    return same;
}

/* Nothing at all is in it. */
static inline int test_list_is_empty(const struct scr_rank2file *l)
{
    return l->n == 0 && l->ranks == 0 && l->of == NULL && !l->lost;
}

/* The result of unpacking these bytes into l, from a block of just their size. */
static inline int test_take_list(const void *bytes, size_t n, struct scr_rank2file *l,
                                 struct scr_err *err)
{
    void *exact = malloc(n > 0 ? n : 1);
    if (exact == NULL)
        abort();
    memcpy(exact, bytes, n);
    int rc = scr_rank2file_unpack(exact, n, l, err);
    free(exact); /* nothing of them is borrowed */
    return rc;
}

/* A file of that size of a rank. */
static inline struct scr_listed *test_list_add(struct scr_rank2file *l, int rank,
                                               const char *path, uint64_t size)
{
    struct scr_listed *f = scr_rank2file_add_file(l, rank, path);
    if (f == NULL)
        abort();
    scr_listed_set_size(f, size);
    return f;
}

#endif
