/* SPDX-License-Identifier: BSD-3-Clause */
/* Cache -> prefix (flush) and prefix -> cache (fetch), synchronous, collective over world. */
#ifndef SCR_PAR_FLUSH_H
#define SCR_PAR_FLUSH_H

#include "fmt/filemap.h"
#include "par/comm.h"
#include "store/prefix.h"

struct scr_copy_opts {
    int width;        /* SCR_FLUSH_WIDTH / SCR_FETCH_WIDTH: most ranks copying at once, >= 1 */
    size_t buf;       /* SCR_FILE_BUF_SIZE */
    int crc;          /* SCR_CRC_ON_FLUSH */
};

/* Copies this rank's TYPE=FULL files of dataset id (map) to PATH/NAME under the prefix: directories made (by
 * the ranks that need them), temporary name, CRC in the same pass and checked against META's, fsync, rename, mode and times kept.
 * Then rank2file and its parts (gathered by a tree, one part per about 1 MB), then summary.scr, then the index entry
 * (COMPLETE=1, CURRENT=name when it is a checkpoint), in that order. Before any file is copied the index gets the entry with
 * COMPLETE=0, so an interrupted flush is visible and its id never reused. On failure it stays COMPLETE=0; same code on all ranks. */
int scr_flush_all(const struct scr_env *env, const struct scr_comm *world,
                  const struct scr_prefix *prefix, const struct scr_copy_opts *o, int id,
                  const scr_hash *dset, const scr_filemap *map, uint64_t *bytes,
                  struct scr_err *err);

/* Copies dataset id from the prefix into dset_dir/rank.<r> (exists) and enters files with META, FILES and
 * DSETDESC into map under (id, own rank). Rank 0 reads summary.scr and the rank2file root; parts are read by as many ranks as there
 * are parts and scattered. Sizes and, where recorded, CRCs are verified. SCR_E_RANKS: written by another number of ranks (nothing copied, nothing
 * to be marked failed); SCR_E_CORRUPT, _MISSING, _IO: do not use this dataset. *dset gets the dataset hash. */
int scr_fetch_all(const struct scr_env *env, const struct scr_comm *world,
                  const struct scr_prefix *prefix, const struct scr_copy_opts *o, int id,
                  const char *dset_dir, scr_filemap *map, scr_hash *dset,
                  uint64_t *bytes, struct scr_err *err);

/* Where rank.<r> file `dest` (relative to the prefix) of this rank goes in cache: base name, or a numbered
 * sub-directory "<n>/<base>" when taken (taken(arg, rel) says so). malloc'd path relative to rank.<r>. */
char *scr_cache_name(const char *dest, int (*taken)(void *arg, const char *rel), void *arg);

#endif
