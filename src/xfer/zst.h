/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams of bytes into a zstd frame and out of one, by libzstd if SCR is built with
 * it.
 *
 *     struct scr_zst *z = scr_zst_packer(3, size, err);   // or scr_zst_unpacker(err)
 *     rc = scr_zst_feed(z, buf, n, sink, arg, err);       // any number of times
 *     rc = scr_zst_end(z, sink, arg, err);
 *     scr_zst_free(z);
 *
 * The output goes to the sink, piece by piece; its error ends the stream. Local,
 * one thread at a time. */
#ifndef SCR_XFER_ZST_H
#define SCR_XFER_ZST_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define SCR_ZST_SUFFIX ".zst" /* of files that are frames */
enum { SCR_ZST_LEVEL = 3 };

/* 1 if built with libzstd; else the two makers fail with SCR_E_UNSUPPORTED. */
int scr_zst_have(void);

struct scr_zst;
typedef int scr_zst_sink(void *arg, const void *buf, size_t n, struct scr_err *err);

/* One frame of exactly size bytes, with a checksum, at a level from 1 to 22. NULL: out
 * of memory, or unsupported. */
struct scr_zst *scr_zst_packer(int level, uint64_t size, struct scr_err *err);
/* The first frame of files that SCR compresses: readers skip it (RFC 8878). */
enum { SCR_ZST_MARK_SIZE = 12 };
extern const unsigned char scr_zst_mark[SCR_ZST_MARK_SIZE];

/* Any number of frames, one after another, as zstd -d takes them. */
struct scr_zst *scr_zst_unpacker(struct scr_err *err);
void scr_zst_free(struct scr_zst *z);

/* SCR_E_CORRUPT, with no name in the text: no frame, a damaged one, or another number
 * of bytes than was said. */
int scr_zst_feed(struct scr_zst *z, const void *buf, size_t n, scr_zst_sink *sink,
                 void *arg, struct scr_err *err);
/* The rest of the frame; SCR_E_CORRUPT too if a frame being unpacked is cut short. */
int scr_zst_end(struct scr_zst *z, scr_zst_sink *sink, void *arg, struct scr_err *err);

#endif
