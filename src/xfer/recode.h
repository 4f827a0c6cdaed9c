/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes of a copy that is compressed, or unpacked, on its way (xfer/copy.h). Inside
 * xfer only. */
#ifndef SCR_XFER_RECODE_H
#define SCR_XFER_RECODE_H

#include "xfer/copy.h"

/* in, as got->st has it, into a frame at out; got tells of both. When it sees that it
 * does not pay, most often before it has begun, got->packed stays 0: then the first
 * got->size bytes, 0 or more, have been copied as they are, in and out stand behind
 * them, and the rest is the caller's. */
int scr_recode_pack(const struct scr_sys *sys, const struct scr_copy *job, int in,
                    int out, const char *tmp, struct scr_copied *got,
                    struct scr_err *err);
/* 1 if the file at path is one that scr_recode_pack made; in doubt it is not. */
int scr_recode_is_ours(const struct scr_sys *sys, const char *path);
/* The frame in `in` to out, -1: nowhere. No more than job->size bytes come out. */
int scr_recode_unpack(const struct scr_sys *sys, const struct scr_copy *job, int in,
                      int out, const char *tmp, struct scr_copied *got,
                      struct scr_err *err);

#endif
