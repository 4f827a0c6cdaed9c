/* SPDX-License-Identifier: BSD-3-Clause */
/* What is wrong with the files of a dataset: the first finding in words, the rest
 * counted. */
#ifndef SCR_TOOL_FAULTS_H
#define SCR_TOOL_FAULTS_H

#include "base/env.h"
#include "base/hash.h"
#include <stddef.h>

struct scr_faults {
    char *first; /* malloc'd; NULL: none (or out of memory, see n) */
    size_t n;
};
#define SCR_FAULTS_INIT                                                                \
    {                                                                                  \
        0, 0                                                                           \
    }

void scr_faults_add(struct scr_faults *f, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void scr_faults_fini(struct scr_faults *f);

/* Checks the files of every rank that a rank2file part lists: there, below prefix, of
 * the recorded size and, where recorded, the CRC32 (not for ranks with trusted[rank]
 * set; trusted may be NULL). A rank that is not listed is a fault. *files counts what
 * was looked at. */
void scr_faults_check(const struct scr_env *env, const char *prefix,
                      const scr_hash *part, const char *trusted, struct scr_faults *f,
                      uint64_t *files);

#endif
