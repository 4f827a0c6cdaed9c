/* SPDX-License-Identifier: BSD-3-Clause */
/* A file of a dataset in the prefix directory, by its entry in the list: what has to
 * be copied, or checked, to have its plain bytes.
 *
 *     char *src = NULL;
 *     struct scr_copy job = { .dst = …, … };
 *     rc = scr_stored_job(prefix, f, &src, &job, err);
 *     rc = scr_copy_file(sys, &job, &got, err);    // or scr_copy_check
 *     free(src); */
#ifndef SCR_XFER_STORED_H
#define SCR_XFER_STORED_H

#include "fmt/rank2file.h"
#include "xfer/copy.h"

/* Sets src, size and crc of job as recorded, of a compressed file also code and what is
 * stored. They point into f and to *src, malloc'd. */
int scr_stored_job(const char *prefix, const struct scr_listed *f, char **src,
                   struct scr_copy *job, struct scr_err *err);

#endif
