/* SPDX-License-Identifier: BSD-3-Clause */
/* Hash files (.scr, .scrinfo): header, packed hash, CRC32. Layout in FORMATS
 * (scr_hashfile(5)). */
#ifndef SCR_BASE_HASHFILE_H
#define SCR_BASE_HASHFILE_H

#include "base/cursor.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/str.h"

/* Merges a hash file held in memory into h. n == 0 is an empty hash. Bad magic, type,
 * size, CRC or structure: SCR_E_CORRUPT; a newer version whose CRC is right:
 * SCR_E_VERSION; h is untouched then. */
int scr_hash_decode(const void *buf, size_t n, scr_hash *h, struct scr_err *err);

/* --- the same without a tree (base/cursor.h) --- */
/* A hash file in s, which is empty: begin, then the packed hash, then end. Whatever
 * fails makes s bad. */
void scr_frame_begin(struct scr_str *s);
void scr_frame_end(struct scr_str *s);
/* Distinguishes a hash file from earlier and later ones at its path. */
struct scr_frame_id {
    uint64_t size;
    uint32_t crc; /* of all before it */
};
/* Ends s and replaces path by it, durably (io.h scr_file_replace); *id (may be NULL):
 * which file it is then. Frees s, in any case. */
int scr_frame_write(const struct scr_sys *sys, const char *path, struct scr_str *s,
                    struct scr_frame_id *id, struct scr_err *err);
/* Of a file in memory; 0: it has no CRC, and cannot be distinguished. */
int scr_frame_identify(const void *buf, size_t n, struct scr_frame_id *id);
/* 1 if path is that file: a few bytes are read. */
int scr_frame_is_at(const struct scr_sys *sys, const char *path,
                    const struct scr_frame_id *id);
/* A hash file that is written while it is packed, from the first byte of an open file
 * on: between begin and end the packed hash is appended to s, so that it is never in
 * memory as a whole. size: of the file, which begins with it. */
struct scr_frame_out {
    struct scr_drain drain;
    const struct scr_fd *to;
    uint64_t size;
    uint32_t crc;
    struct scr_err *err; /* of the first write that failed */
    int rc;
};
void scr_frame_out_begin(struct scr_frame_out *o, struct scr_str *s);
/* Frees s. SCR_E_FAILURE: it was another number of bytes. */
int scr_frame_out_end(struct scr_frame_out *o, struct scr_str *s);
/* Replaces path by the hash file that pack appends the packed hash of, twice: first for
 * its size. Ends as scr_frame_write. */
typedef void (*scr_packer)(struct scr_str *s, const void *from);
int scr_frame_replace(const struct scr_sys *sys, const char *path, scr_packer pack,
                      const void *from, enum scr_durability how, struct scr_err *err);
/* A hash file in memory: its packed hash. */
struct scr_frame {
    const unsigned char *packed;
    size_t n;
};
/* As scr_hash_decode, except for the structure of the hash. */
int scr_frame_open(const void *buf, size_t n, struct scr_frame *f, struct scr_err *err);
/* The same of an open file of n bytes, which is read for its checksum, piece by piece;
 * packed is NULL. */
int scr_frame_check(const struct scr_fd *from, uint64_t n, struct scr_frame *f,
                    struct scr_err *err);
/* Bytes of an open file, for a cursor (base/cursor.h). */
struct scr_file_feed {
    struct scr_feed feed;
    const struct scr_fd *from;
    uint64_t at;
    struct scr_err *err; /* of the read that failed */
};
struct scr_file_feed scr_file_feed(const struct scr_fd *from, uint64_t at, uint64_t n,
                                   struct scr_err *err);
/* Where the packed hash of a frame begins in its file. */
enum { SCR_FRAME_HEADER = 20 };
/* Reads path and has its packed hash taken into `into`, unless it is empty. Absent:
 * SCR_E_NOENT. Errors carry the path. */
typedef int (*scr_unpack)(const void *packed, size_t n, void *into,
                          struct scr_err *err);
int scr_frame_read(const struct scr_sys *sys, const char *path, scr_unpack unpack,
                   void *into, struct scr_err *err);
/* The same of a hash that is never in memory as a whole: take ends with the code of
 * scr_cursor_end. */
typedef int (*scr_take)(struct scr_cursor *c, void *into, struct scr_err *err);
int scr_frame_take(const struct scr_sys *sys, const char *path, scr_take take,
                   void *into, struct scr_err *err);

/* Reads path and merges it into h. Absent: SCR_E_NOENT. Errors carry the path. */
int scr_hash_file_read(const struct scr_sys *sys, const char *path, scr_hash *h,
                       struct scr_err *err);
/* As scr_frame_replace. */
int scr_hash_file_write(const struct scr_sys *sys, const char *path, const scr_hash *h,
                        enum scr_durability how, struct scr_err *err);

/* A transaction on a node-local file that several processes update: takes
 * "<path>.lock", reads path (absent: empty hash), calls edit, writes the hash back if
 * edit returned SCR_OK and changed something ( *changed set to 1 by edit ), releases
 * the lock. A file that cannot be read or decoded is an error and is not replaced. */
typedef int (*scr_hash_edit)(scr_hash *h, void *arg, int *changed, struct scr_err *err);
int scr_hash_file_update(const struct scr_sys *sys, const char *path, int timeout_ms,
                         scr_hash_edit edit, void *arg, struct scr_err *err);

#endif
