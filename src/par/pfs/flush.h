/* SPDX-License-Identifier: BSD-3-Clause */
/* Cache -> prefix (flush) and prefix -> cache (fetch), synchronous, collective over
 * world. */
#ifndef SCR_PAR_FLUSH_H
#define SCR_PAR_FLUSH_H

#include "fmt/filemap.h"
#include "fmt/rank2file.h"
#include "par/pfs/rank2file_all.h"
#include "store/cntl.h"
#include "store/flushing.h"
#include "store/prefix.h"
#include "xfer/xfer.h"

struct scr_copy_opts {
    enum scr_xfer_type type; /* flush: by what means */
    int width; /* SCR_FLUSH_WIDTH / SCR_FETCH_WIDTH: most ranks copying at once, >= 1 */
    size_t buf; /* SCR_FILE_BUF_SIZE; 0: the default */
    int crc;    /* SCR_CRC_ON_FLUSH: compute CRCs that are not recorded; recorded ones
                   are always checked */
    int pack;   /* flush: level of compression from 1 to 22, where it pays; 0: none */
    int ranks;  /* flush: 0, or how many wrote the dataset when those were others: the
                   map then has this rank's files under the ranks it stands for */
};

/* Copies this rank's TYPE=FULL files of the dataset (map) to PATH/NAME under the
 * prefix. In order:
 *
 *   1. index entry COMPLETE=0 (an interrupted flush is visible, its id never used
 *      again), an older summary of this id removed;
 *   2. rank2file parts (a part per 1 MB of file names, written by the first rank in
 *      it), root: from here on files of the dataset may exist;
 *   3. files: directories, temporary name, size and CRC checked against META's in the
 *      pass, mode and times as recorded, fsync. When all ranks have done that
 *      rank2file is written once more if it has to say something else now, older
 *      datasets that list one of the paths lose their mark of completeness (invariant
 *      P16), and the files are renamed (with o->pack onto <name>.zst where it was
 *      compressed; an older file of the plain name goes); then the directories are
 *      synced, each by one rank;
 *   4. summary.scr;  5. index entry COMPLETE=1, and CURRENT=<name> for a checkpoint.
 *
 * Before anything is written, destinations are checked: two of them equal, one below
 * the other, or inside <prefix>/.scr is SCR_E_OUTSIDE or SCR_E_EXIST with the names.
 * dset: used on rank 0; SIZE, FILES and COMPLETE are set from what was copied. *bytes:
 * of all ranks. On failure the entry stays COMPLETE=0; same code on all ranks. What was
 * copied is removed, unless files were renamed already: those stay. */
int scr_flush_all(const struct scr_prefix_dset *at, const struct scr_copy_opts *o,
                  const scr_hash *dset, const scr_filemap *map, uint64_t *bytes,
                  struct scr_err *err);

/* A dataset whose files are written to the prefix by the application itself. The caller
 * sets all but the mark, and keeps it until scr_publish_end_all. */
struct scr_publish {
    struct scr_prefix_dset at;
    const scr_hash *dset;
    struct scr_flushing mark; /* rank 0's (store/flushing.h) */
    struct scr_ids known;     /* rank 0's: those that were complete, or may be called
                                 so, when the application began to write */
};
/* Step 1, before the files are written. The mark is held from then on. rc: what this
 * rank found before; if any rank's is an error all leave with that of the lowest. */
int scr_publish_begin_all(struct scr_publish *p, int rc, struct scr_err *err);

/* A file that the application wrote. */
struct scr_published {
    const struct scr_listed *f; /* what is recorded of it */
    const char *waits;          /* where it waits; NULL: it is in its place */
};
/* When this rank's files are whole and synced: the list of files, the directories
 * (fsynced) and steps 4 and 5. Files that wait next to their places (store/replacing.h)
 * are renamed before, and older datasets that list one of the paths of this dataset
 * lose their mark of completeness first; where this fails after replacing.scr was
 * written, that stays.
 *
 * file[0…n): those that belong to this rank. Of o the width counts. As above otherwise.
 */
int scr_publish_all(const struct scr_publish *p, const struct scr_copy_opts *o,
                    const struct scr_published *file, size_t n, uint64_t *bytes,
                    struct scr_err *err);

/* Where in cache a dataset is fetched to. */
struct scr_fetch_to {
    const char *dset_dir;
    scr_filemap *map;
    struct scr_cntl *cntl; /* names the files there before they are made (invariant C1);
                              NULL: the caller sees to it */
};

/* Copies the dataset from the prefix into to->dset_dir/rank.<r> (exists) and enters its
 * files with META, FILES and DSETDESC into to->map under (id, own rank); the caller
 * writes that. Rank 0 reads summary.scr and the rank2file root; parts are read by as
 * many ranks as there are parts and scattered. Sizes and CRCs are verified where
 * recorded. SCR_E_RANKS: written by a different number of ranks (nothing copied, and
 * the caller marks nothing as failed); SCR_E_CORRUPT, _MISSING, _IO: do not use this
 * dataset; map then names what may be in cache. *dset (an empty hash; here and below
 * NULL, for lack of memory, is SCR_E_NOMEM on all ranks) gets the dataset hash. rc:
 * what this rank found before; if any rank's is an error all leave with that. */
int scr_fetch_all(const struct scr_prefix_dset *at, const struct scr_copy_opts *o,
                  const struct scr_fetch_to *to, int rc, scr_hash *dset,
                  struct scr_err *err);

/* The same without a copy, for files to be read where they lie: files (empty) gets
 * those of this rank. Sizes are verified where recorded, with o->crc CRCs too.
 * Compressed ones are unpacked, each by the rank whose file it is (par/pfs/plain.h). */
int scr_fetch_in_place_all(const struct scr_prefix_dset *at,
                           const struct scr_copy_opts *o, struct scr_rank2file *files,
                           scr_hash *dset, struct scr_err *err);

/* A dataset of any number of ranks, to be read where it lies: *dset (an empty hash)
 * gets the dataset hash, share (empty) the files of the ranks that are this one modulo
 * the size of world; share->ranks is how many wrote it. It checks that they exist with
 * the recorded size, but not their CRCs. SCR_E_CORRUPT, _MISSING, _IO: do not
 * use this dataset. */
int scr_fetch_look_all(const struct scr_prefix_dset *at, scr_hash *dset,
                       struct scr_rank2file *share, struct scr_err *err);

/* Where file `dest` (relative to the prefix) of this rank goes in cache: its base
 * name, or a numbered sub-directory "<n>/<base>" when taken (taken(arg, rel) is 1).
 * Names that are a number, or one of our temporaries, always go into a sub-directory:
 * no file next to the sub-directories has the name of one. malloc'd path
 * relative to rank.<r>. */
char *scr_cache_name(const char *dest, int (*taken)(void *arg, const char *rel),
                     void *arg);

#endif
