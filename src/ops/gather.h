/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies one node's files of a dataset to the prefix directory (developer's manual
 * 11.10.3): application files to the stage (ops/stage.h), redundancy files next to it,
 * and for each rank a <rank>.scrfilemap that lists them:
 *
 *   DSET/<id>/RANK/<r>
 *   RANK/<r>/DSET/<id>/{DSETDESC, FILES=<the expected number>,
 *                       FILE/<path below the prefix>/META/{…},
 *                       FILE/<redundancy file>/META/{…}}
 *
 * A file is copied under a temporary name that no other process uses, its size and
 * CRC32 compared in the pass with those recorded, synced and renamed. A file that is
 * there in the recorded size and with the recorded time is whole, and is not copied
 * again: a copy that was interrupted continues. Any number of nodes may do this at
 * once.
 */
#ifndef SCR_SCAV_GATHER_H
#define SCR_SCAV_GATHER_H

#include "fmt/filemap.h"
#include "store/prefix.h"

struct scr_gather {
    const struct scr_env *env; /* every file that is not copied is logged */
    const struct scr_prefix *prefix;
    int id;
    size_t buf;   /* bytes read at a time; 0: the default */
    int want_crc; /* compute missing CRCs; recorded ones are checked */
    int partner;  /* files kept for other ranks (PARTNER) too: some rank lost its own */
    void (*told)(void *arg, size_t n); /* bytes as they are copied; may be NULL */
    void *arg;
    /* Asked between the bytes and before a file gets its name: SCR_OK if the copy is
     * still wanted; anything else ends it, and what it did is not listed. NULL: it
     * is. */
    int (*wanted)(void *wanted_arg, struct scr_err *err);
    void *wanted_arg;
};

struct scr_gathered {
    int ranks;             /* with an entry here */
    uint64_t files, bytes; /* copied */
    uint64_t whole;        /* files that were there before */
    uint64_t bad;          /* missing, damaged or unreadable in cache */
    uint64_t partners;     /* left out: copies of other ranks' files */
};

/* Bytes there are to copy at most. */
uint64_t scr_gather_size(const struct scr_gather *g, const scr_filemap *map);

/* map: everything that the control directory of the node names. A file that is bad is
 * left out and counted, and so are all of a rank that never completed the dataset.
 * SCR_E_TAKEN: the index gives the id to another dataset. SCR_E_NOENT: nothing is named
 * of the dataset. Anything else is about the prefix directory. */
int scr_gather_node(const struct scr_gather *g, const scr_filemap *map,
                    struct scr_gathered *got, struct scr_err *err);

#endif
