/* SPDX-License-Identifier: BSD-3-Clause */
/* The patterns of SCR_INTERPOSE_PATTERN: which files form a checkpoint, and its number.
 *
 * Patterns are separated by blanks. One without '/' is compared with the last component
 * of a path, any other with the whole path below the prefix directory. `*` stands for
 * any characters but '/', `?` for one of them, `%d` for the digits of the number (as
 * many as there are, 18 at most), which may come once. `%` before another letter or a
 * digit is refused. Everything else stands for itself. */
#ifndef SCR_INTERPOSE_PATTERN_H
#define SCR_INTERPOSE_PATTERN_H

#include "base/err.h"
#include <stddef.h>
#include <stdint.h>

enum { SCR_IP_NO_NUMBER = -1 };

/* Starts zeroed. */
struct scr_ip_patterns {
    char *text; /* all of them, each NUL-terminated */
    const char **v;
    size_t n;
};

/* prefix: absolute and normal; an absolute pattern must be below it. SCR_E_CONFIG
 * names the pattern that cannot be used; p is empty then. */
int scr_ip_patterns_init(struct scr_ip_patterns *p, const char *text,
                         const char *prefix, struct scr_err *err);
void scr_ip_patterns_fini(struct scr_ip_patterns *p);

/* rel: a path below the prefix. 1 if a pattern matches; *number: of the first that
 * does, or SCR_IP_NO_NUMBER. */
int scr_ip_patterns_match(const struct scr_ip_patterns *p, const char *rel,
                          int64_t *number);
/* 0 only if no path that ends in the last component of path can match: a cheap first
 * look, made for every file the program opens. */
int scr_ip_patterns_may_match(const struct scr_ip_patterns *p, const char *path);

#endif
