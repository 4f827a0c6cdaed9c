/* SPDX-License-Identifier: BSD-3-Clause */
/* The rank-to-file map of a dataset in the prefix directory, written and read by many
 * ranks: a root and parts of about 1 MB (fmt/state.h has the format). */
#ifndef SCR_PAR_RANK2FILE_H
#define SCR_PAR_RANK2FILE_H

#include "par/comm.h"
#include "store/prefix.h"

/* Bytes of packed hash after which a new part begins. */
enum { SCR_RANK2FILE_PART = 1 << 20 };

/* mine: {RANK/<own rank>/FILE/<path>/{SIZE, CRC}}; or, for a dataset that another
 * number of ranks wrote, RANKS=<number> and a RANK/<r> for each of them that this rank
 * stands for (each is stood for by one rank). Parts first, then the root, all fsynced.
 * The dataset's directory exists. mine is used up. */
int scr_rank2file_write_all(const struct scr_env *env, const struct scr_comm *world,
                            const struct scr_prefix *p, int id, scr_hash *mine,
                            struct scr_err *err);

/* The files of this rank: mine = {FILE/<path>/{SIZE, CRC}}, empty if it has none. Rank
 * 0 reads the root, parts are read by as many ranks as there are parts. SCR_E_RANKS,
 * before any part is read, when written by another number of ranks; SCR_E_MISSING,
 * _CORRUPT, _IO: unusable. */
int scr_rank2file_read_all(const struct scr_env *env, const struct scr_comm *world,
                           const struct scr_prefix *p, int id, scr_hash *mine,
                           struct scr_err *err);

/* The same for a dataset of any number of ranks: share = {RANK/<r>/FILE/<path>/{SIZE,
 * CRC}} for every r that is this rank modulo the number of ranks of this run. */
int scr_rank2file_share_all(const struct scr_env *env, const struct scr_comm *world,
                            const struct scr_prefix *p, int id, int *ranks,
                            scr_hash *share, struct scr_err *err);

#endif
