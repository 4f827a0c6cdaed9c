/* SPDX-License-Identifier: BSD-3-Clause */
/* The files under tests/golden (see its README). */
#ifndef SCR_TEST_HELPER_GOLDEN_H
#define SCR_TEST_HELPER_GOLDEN_H

#include "helper_tmp.h"

struct test_golden {
    const char *name; /* "good-nodes.scr" */
    const char *path;
    unsigned char *bytes;
    size_t n;
    int code; /* what decoding must return: SCR_OK, or the error named in
                 "bad-<error>-…" */
};

/* Calls each for every file of <format> whose name starts with start; fails the test if
 * there is none. Returns their number. */
size_t test_golden_each(const char *format, const char *start,
                        void (*each)(const struct test_golden *g, void *arg),
                        void *arg);

#endif
