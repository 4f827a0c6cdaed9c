/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes of a copy that is compressed, or unpacked, on its way (xfer/copy.h). Inside
 * xfer only. */
#ifndef SCR_XFER_RECODE_H
#define SCR_XFER_RECODE_H

#include "xfer/copy.h"

/* The bytes of a copy on their way. */
struct scr_stream {
    const struct scr_sys *sys;
    const struct scr_copy *job;
    int in, out;     /* out -1: nowhere */
    const char *tmp; /* the name of out */
    struct scr_copied *got;
    struct scr_zst *z; /* here and below: while it is recoded */
    void *buf;
};

/* in, as got->st has it, into a frame at out; got has both. Where that saves less
 * than a twentieth, of a large file by what its first 8 MiB show, or less than a block,
 * got->packed stays 0, and in and out are as they were. */
int scr_recode_pack(struct scr_stream *s, struct scr_err *err);
/* 1 if nothing that can come of so many bytes is small enough. */
int scr_recode_is_too_small(uint64_t size);
/* 1 if the file at path is one that scr_recode_pack made; in doubt it is not. */
int scr_recode_is_ours(const struct scr_sys *sys, const char *path);
/* The frame in `in` to out. No more than job->size bytes come out. */
int scr_recode_unpack(struct scr_stream *s, struct scr_err *err);

#endif
