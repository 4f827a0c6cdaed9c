/* SPDX-License-Identifier: BSD-3-Clause */
/* What compressing a file would bring, by a few small pieces of it: cheap enough to be
 * asked of every large file. Bytes that only repeat ones far away from them count as
 * new ones. Inside xfer only. */
#ifndef SCR_XFER_SAMPLE_H
#define SCR_XFER_SAMPLE_H

#include "base/err.h"
#include "base/sys.h"
#include "xfer/gauge.h"

struct scr_sample {
    uint64_t plain, packed; /* bytes of the pieces before and after */
    struct scr_rate rate;   /* how fast the packer is once it runs */
};

/* Of the file in fd, size bytes long; where fd stands does not change. level: 1 to 22.
 * SCR_E_MISSING: it has become shorter. */
int scr_sample_take(const struct scr_sys *sys, int fd, const char *path, uint64_t size,
                    int level, struct scr_sample *s, struct scr_err *err);

#endif
