/* SPDX-License-Identifier: BSD-3-Clause */
/* transfer.scrinfo: what the library asks of the transfer process of a node and what
 * that reports back (developer's manual 9.7). Edits a hash; unknown keys are kept.
 *
 *   FILES/<source path>/{DESTINATION=<path>, SIZE=<bytes>, WRITTEN=<bytes>}
 *   PERCENT=<float> BW=<float> COMMAND=RUN|STOP|EXIT STATE=RUNNING|STOPPED FLAG=DONE */
#ifndef SCR_FMT_TRANSFER_H
#define SCR_FMT_TRANSFER_H

#include "base/err.h"
#include "base/hash.h"
#include <stdint.h>

enum scr_transfer_command {
    SCR_TRANSFER_NONE = 0, /* not set */
    SCR_TRANSFER_RUN,
    SCR_TRANSFER_STOP,
    SCR_TRANSFER_EXIT
};

struct scr_transfer {
    double percent; /* share of CPU time in percent, 0: no limit */
    double bw;      /* bytes a second, 0: no limit */
    enum scr_transfer_command command;
    int running; /* STATE */
    int done;    /* FLAG DONE: everything listed was written */
};

/* SCR_E_CORRUPT for malformed fields; absent ones read as 0. */
int scr_transfer_get(const scr_hash *h, struct scr_transfer *out, struct scr_err *err);
/* Writes every field, keeps FILES. SCR_E_ARG for a negative or non-finite limit. */
int scr_transfer_set(scr_hash *h, const struct scr_transfer *in);

/* One of the limits, also of a dataset (fmt/transfer_job.h). An absent one leaves *out
 * as it is; 0 if it is there and makes no sense. v: finite, not negative. */
int scr_transfer_get_limit(const scr_hash *h, const char *key, double *out);
void scr_transfer_set_limit(scr_hash *h, const char *key, double v);

struct scr_transfer_file {
    const char *source, *destination; /* absolute; borrowed from the hash */
    uint64_t size, written;
};

/* Adds or replaces a file with WRITTEN=0. SCR_E_ARG unless both paths are absolute. */
int scr_transfer_add_file(scr_hash *h, const char *source, const char *destination,
                          uint64_t size);
/* From an element of FILES (SCR_HASH_EACH(e, scr_hash_get(h, "FILES"))). SCR_E_CORRUPT:
 * relative or ".." path, no DESTINATION or SIZE, or more written than there is. */
int scr_transfer_get_file(const scr_hash_elem *e, struct scr_transfer_file *out,
                          struct scr_err *err);
/* SCR_E_NOENT: no such file listed. */
int scr_transfer_set_written(scr_hash *h, const char *source, uint64_t written);
/* Bytes still to write; malformed entries are an error as in get_file. */
int scr_transfer_left(const scr_hash *h, uint64_t *bytes, struct scr_err *err);

#endif
