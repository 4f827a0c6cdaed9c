/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys of a transfer file beyond those of the developer's manual: the owners of the
 * files, so that the transfer process can record arrived files on the prefix
 * (store/arrival.h), and report the result to the library.
 *
 *   DSET/<id>/{PREFIX=<path>, STAMP=<n>, NODE=<n>, WIDTH=<n>, CROWD=<n>,
 *              BW=<float>, PERCENT=<float>,
 *              RANK/<r>/{[CANCEL], [CODE=<SCR_E_*>, ERROR=<text>]}}
 *   FILES/<source path>/{DSET=<id>, RANK=<r>, CRC, MODE, UID, GID, {A,C,M}TIME_*}
 *
 * BW and PERCENT are as at the top, where they are for files without a dataset, and for
 * datasets without their own limits.
 *
 * One attempt to copy a dataset has one STAMP: setting another one drops what is there
 * of the dataset. A rank that has a CODE has ended. Pure edits of a hash. */
#ifndef SCR_FMT_TRANSFER_JOB_H
#define SCR_FMT_TRANSFER_JOB_H

#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/hash.h"

struct scr_transfer_dset {
    const char *prefix; /* absolute; borrowed */
    uint64_t stamp;
    int node;           /* number of this node in the records */
    int width, crowd;   /* as in xfer/xfer.h */
    double bw, percent; /* -1: its entry says nothing of them */
};

/* Enters dataset id and one of its ranks, both without files. SCR_E_NOMEM. */
int scr_transfer_add_rank(scr_hash *h, int id, const struct scr_transfer_dset *d,
                          int rank);
/* SCR_E_NOENT: no such dataset; SCR_E_CORRUPT: its entry makes no sense. */
int scr_transfer_get_dset(const scr_hash *h, int id, struct scr_transfer_dset *out);
/* Says whose a listed file is, and how it has to be: crc may be NULL. */
int scr_transfer_own_file(scr_hash *h, const char *source, int id, int rank,
                          const uint32_t *crc, const struct stat *attr);
/* Of an element of FILES: 1 if it belongs to a dataset. */
int scr_transfer_owner(const scr_hash_elem *file, int *id, int *rank);

/* Its files too; the dataset goes with its last rank. */
void scr_transfer_remove_rank(scr_hash *h, int id, int rank);
void scr_transfer_remove_dset(scr_hash *h, int id);
/* 1 if a rank of dataset id is listed, has not ended and is not to be cancelled. */
int scr_transfer_is_pending(const scr_hash *h, int id, int rank);

/* Where a rank of that attempt is: 1 once it has ended, with *code and *text (borrowed,
 * NULL if SCR_OK); 0 while it has not. A rank that is not listed has ended with
 * SCR_E_MISSING. */
int scr_transfer_has_ended(const scr_hash *h, int id, uint64_t stamp, int rank,
                           int *code, const char **text);
/* Nothing if that attempt, or the rank, is not listed. */
void scr_transfer_end_rank(scr_hash *h, int id, uint64_t stamp, int rank, int code,
                           const char *text);
/* Asks the transfer process to release a rank (-1: all of them) of dataset id (-1: of
 * all), unless it has ended. 1 if there was any. */
int scr_transfer_cancel(scr_hash *h, int id, int rank);
int scr_transfer_is_cancelled(const scr_hash *h, int id, int rank);

#endif
