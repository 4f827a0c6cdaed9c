/* SPDX-License-Identifier: BSD-3-Clause */
/* A member of a set on this process: its application files as one logical file, and its
 * redundancy file, read and written by symbol, with CRCs computed on the way.
 *
 * Redundancy file: header (a hash file, see redfile.h), then scr_geom_parity_bytes()
 * bytes. */
#ifndef SCR_RED_MEMBER_H
#define SCR_RED_MEMBER_H

#include "base/env.h"
#include "base/hash.h"
#include "red/geom.h"

struct scr_member_file {
    char *path; /* full path */
    uint64_t size;
    uint32_t crc; /* set by scr_member_finish */
};

struct scr_member; /* opaque */

enum {
    SCR_MEMBER_READ_DATA = 1,
    SCR_MEMBER_WRITE_DATA = 2,
    SCR_MEMBER_READ_PARITY = 4,
    SCR_MEMBER_WRITE_PARITY = 8,
    /* no CRC is kept of what passes; scr_member_finish leaves it alone */
    SCR_MEMBER_NO_DATA_CRC = 16,
    SCR_MEMBER_NO_PARITY_CRC = 32,
    /* The caller has just seen that the files to be read have their sizes. */
    SCR_MEMBER_SIZES_SEEN = 64
};

/* A member, to be opened. */
struct scr_member_def {
    const struct scr_geom *g; /* borrowed until the close */
    int me;                   /* of g */
    int flags;
    const struct scr_member_file *files; /* in logical order, borrowed until the close;
                                            their sizes add up to g->len[me], else
                                            SCR_E_ARG */
    size_t nfiles;
    const char *redpath;   /* its redundancy file; may be NULL without a PARITY flag */
    uint64_t header_bytes; /* where parity starts in that */
    const char *stem; /* not NULL: file number f is at <stem><f>.tmp, not at its path;
                         borrowed until the close */
};

/* Opens a member; env is borrowed until the close. Files opened for writing are created
 * 0600 if absent and cut to their size; READ needs regular files of exactly their size:
 * SCR_E_NOENT, SCR_E_MISSING (short), SCR_E_CORRUPT (long), SCR_E_UNSAFE (no regular
 * file). Any number of files: few are open at a time. One thread at a time. */
int scr_member_open(const struct scr_env *env, const struct scr_member_def *def,
                    struct scr_member **out, struct scr_err *err);

/* n bytes of symbol sym (which must be this member's) from byte `at` of it on. Reading
 * past the end of the logical file gives zeros; writing there drops bytes (they must be
 * zeros: SCR_E_CORRUPT otherwise). Within one symbol calls are in ascending order
 * without gaps, different symbols interleave freely: CRCs build on that. */
int scr_member_read(struct scr_member *m, const struct scr_sym *sym, uint64_t at,
                    void *buf, size_t n, struct scr_err *err);
int scr_member_write(struct scr_member *m, const struct scr_sym *sym, uint64_t at,
                     const void *buf, size_t n, struct scr_err *err);

/* CRC of each file and of the parity bytes as passed through read or write; bytes that
 * did not pass, or not in order, are read now. files[i].crc are set if opened with a
 * DATA flag, *parity_crc if with a PARITY flag; either pointer may be NULL. Closes
 * nothing. */
int scr_member_finish(struct scr_member *m, struct scr_member_file *files,
                      uint32_t *parity_crc, struct scr_err *err);
/* 1 if what passes of symbols of sym's kind goes into a CRC. */
int scr_member_keeps_crc(const struct scr_member *m, const struct scr_sym *sym);
/* CRC of each data symbol of this member, padded to the length of its row: crc[row] for
 * the rows it holds data of, 0 for the others; g->n of them. Opened with a DATA flag
 * and without SCR_MEMBER_NO_DATA_CRC, after all symbols passed or scr_member_finish. */
void scr_member_row_crcs(const struct scr_member *m, uint32_t *crc);
/* Closes all; a failed close of written files is an error. NULL is fine. */
int scr_member_close(struct scr_member *m, struct scr_err *err);

/* CRC32 of a regular file from byte off to its end, in slices of 256 KiB. *size: bytes
 * read. Symbolic links are not followed. */
int scr_file_crc32(const struct scr_env *env, const char *path, uint64_t off,
                   uint64_t *size, uint32_t *crc, struct scr_err *err);
/* The same of off, into size and crc; told (may be NULL) is called with the bytes of
 * each slice: for progress. */
struct scr_file_sum {
    uint64_t off, size;
    uint32_t crc;
    void (*told)(void *arg, size_t n);
    void *arg;
};
int scr_file_sum(const struct scr_env *env, const char *path, struct scr_file_sum *sum,
                 struct scr_err *err);

#endif
