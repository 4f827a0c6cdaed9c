/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults of the files of a dataset: the first finding in words, the rest
 * counted. */
#ifndef SCR_TOOL_FAULTS_H
#define SCR_TOOL_FAULTS_H

#include "base/env.h"
#include "base/hash.h"
#include "fmt/rank2file.h"
#include "ops/progress.h"
#include <stddef.h>

struct scr_faults {
    char *first; /* malloc'd; NULL: none (or out of memory, see n) */
    size_t n;
    size_t unknown;  /* those of the n that say nothing about the files: I/O errors,
                        links that are not followed */
    size_t unsummed; /* files without a recorded CRC32: only their size was compared */
    int sizes_only;  /* set before a check: no file is read */
    const char
        *trusted; /* set before a check: of ranks with trusted[rank] set no file is
                            read; NULL: none */
    struct scr_progress *progress; /* counts the bytes read; NULL: none */
    void (*tell)(void *arg,
                 const char *text); /* called with every fault; may be NULL */
    void *arg;
};
#define SCR_FAULTS_INIT                                                                \
    {                                                                                  \
        0, 0, 0, 0, 0, 0, 0, 0, 0                                                      \
    }

void scr_faults_add(struct scr_faults *f, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* A fault that a call reported: its text, and by its code whether it is one of the
 * files or only of the attempt to look at them. */
void scr_faults_add_err(struct scr_faults *f, const struct scr_err *why);
/* 1 if something is wrong with the files themselves, as far as is known. */
int scr_faults_real(const struct scr_faults *f);
void scr_faults_fini(struct scr_faults *f);

/* Checks the files of every rank that is listed: there, below prefix, of the recorded
 * size and, where recorded, the CRC32. A rank that is not listed is a fault, one for
 * each gap, and so is a number of files other than the dataset hash dset records, if it
 * does. *files counts what was looked at. */
void scr_faults_check(const struct scr_env *env, const char *prefix,
                      const scr_hash *dset, const struct scr_rank2file *list,
                      struct scr_faults *f, uint64_t *files);

/* Checks one file of a rank against what is recorded of it; path is where it is stored,
 * of a compressed one <path>.zst. */
void scr_faults_check_file(const struct scr_env *env, const char *path,
                           const struct scr_listed *is, int with_crc, int rank,
                           struct scr_faults *f);
/* Checks a redundancy file of dataset id: its header, that it is of the member its name
 * says, and the CRC32 of its parity. */
void scr_faults_check_redfile(const struct scr_env *env, const char *path, int id,
                              struct scr_faults *f);

#endif
