/* SPDX-License-Identifier: BSD-3-Clause */
/* The rank-to-file map of a dataset in the prefix directory, written and read by many
 * ranks: a root and parts of about 1 MB (fmt/rank2file.h has the format). */
#ifndef SCR_PAR_RANK2FILE_ALL_H
#define SCR_PAR_RANK2FILE_ALL_H

#include "par/comm/comm.h"
#include "store/prefix.h"

/* A dataset in the prefix directory, and the ranks that work on it together. All of it
 * is borrowed. */
struct scr_prefix_dset {
    const struct scr_env *env;
    const struct scr_comm *world;
    const struct scr_prefix *prefix;
    int id;
};

/* Bytes of packed hash after which a new part begins. */
enum { SCR_RANK2FILE_PART = 1 << 20 };

/* mine: the files of this rank; or, for a dataset that a different number of ranks
 * wrote (mine->ranks), of each old rank that this rank represents (one rank represents
 * each), also of those without files. rc: what this rank found before; if any rank's is
 * an error nothing is written and all leave with that of the lowest. Parts first, then
 * the root, all fsynced. The dataset's directory exists. Agreed. */
int scr_rank2file_write_all(const struct scr_prefix_dset *at,
                            const struct scr_rank2file *mine, int rc,
                            struct scr_err *err);

/* The files of this rank, in mine (empty): mine->ranks is set, and there is an entry of
 * this rank alone, none if it has no files. Rank 0 reads the root, parts are read by as
 * many ranks as there are parts. SCR_E_RANKS, before any part is read, when written by
 * a different number of ranks; SCR_E_MISSING, _CORRUPT, _IO: unusable. rc: as above,
 * then nothing is read. The code is each rank's own, to be agreed on. */
int scr_rank2file_read_all(const struct scr_prefix_dset *at, int rc,
                           struct scr_rank2file *mine, struct scr_err *err);

/* The same for a dataset of any number of ranks: share gets the entries of every rank
 * that is this one modulo the number of ranks of this run. */
int scr_rank2file_share_all(const struct scr_prefix_dset *at, int rc,
                            struct scr_rank2file *share, struct scr_err *err);

#endif
