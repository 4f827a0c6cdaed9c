/* SPDX-License-Identifier: BSD-3-Clause */
/* Redundancy of a dataset in cache: apply it (Complete_output), and bring a dataset
 * back (Init). Both work on the filemap entry of (dataset, own world rank). */
#ifndef SCR_PAR_PROTECT_H
#define SCR_PAR_PROTECT_H

#include "fmt/filemap.h"
#include "par/redundancy/sets.h"
#include "par/redundancy/stripe.h"
#include "store/cntl.h"

struct scr_protect {
    const struct scr_env *env;
    const struct scr_comm *world;
    size_t mpi_buf;        /* SCR_MPI_BUF_SIZE */
    int crc;               /* SCR_CRC_ON_COPY */
    struct scr_cntl *cntl; /* restore: where a map that has changed is written before
                            * all leave; NULL: the caller does that */
    int rc;                /* restore: of this rank until now */
    int whole;             /* restore: each rank's files are where they were, as far as
                     * scr_distribute_all knows: they are read before a search for lost
                     * files */
    /* restore: the set of this rank, if every rank had the one it has now when the
     * dataset was written, as `known` describes; NULL: they are looked for */
    const struct scr_set *set;
    struct scr_setdesc known;
    /* restore: looks at the entry of the dataset in the map, and says what else the
     * ranks agree on; may be NULL */
    int (*say)(const void *arg, int id, int64_t *least, struct scr_err *err);
    const void *arg;
};

/* A dataset to be protected, and what came of it. */
struct scr_protection {
    const struct scr_set *set;
    enum scr_scheme
        scheme; /* and k as configured; reduced per set as by scr_geom_weaken */
    int k;      /* says */
    int id;
    const char *dset_dir;
    const scr_hash *dset;
    const scr_hash *desc; /* is merged into REDDESC */
    scr_filemap *map;
    struct scr_stripe_stats stats;
    uint64_t longest; /* bytes of the member of the set that has most */
};

/* Writes this rank's redundancy file <dset_dir>/.scr/<name> for the files listed in map
 * under (id, world rank), whose META has SIZE: the caller has just looked, it is not
 * checked here. Fills CRC into the METAs, adds the redundancy file to map (META TYPE =
 * scheme, SIZE) and sets FILES and the tag CHUNKCRC, and stores REDDESC: {TYPE,
 * FAILURES, SET_ID, RANKS=<world size>, GROUP/{RANKS, RANK/<i>/<world>}, MEMBER, INDEX,
 * STORE, CACHE dir}. Collective over the sets; rc: of this rank until now. The code is
 * this rank's own, to be agreed on; after a failure anywhere redundancy files may be
 * left, the caller deletes the dataset. */
int scr_protect_all(const struct scr_protect *p, struct scr_protection *d, int rc,
                    struct scr_err *err);

enum { SCR_RESTORE_LEAST = 4 };
struct scr_restore_report {
    int64_t least[SCR_RESTORE_LEAST]; /* of what all ranks said */
    int rebuilt_ranks;                /* world-wide: ranks with rebuilt files */
    int mine;                         /* this rank is one of them */
    int lost_files;                   /* world-wide: files found absent or damaged */
    uint64_t bytes;                   /* rebuilt bytes, world-wide */
    int intact; /* every rank had everything, and map is as it was */
};

/* After distribution: dset_dir is this rank's dataset directory (created), map what it
 * holds there (maybe nothing). Finds the sets (from headers; the others send it to
 * ranks without one), verifies size and CRC of every application and redundancy file,
 * rebuilds lost files, verifies again. Of a whole dataset the sets are not looked for
 * unless a file turns out to be damaged. Collective over world. On success map holds on
 * every rank the complete entry (FILES, METAs, DSETDESC, REDDESC). SCR_E_LOST on all
 * ranks with the ranks at fault when beyond tolerance; SCR_E_RANKS when a different
 * number of ranks wrote the dataset. After an error, also one of a rank before the
 * call (p->rc), nothing that exists is deleted; where the sets are known, other sets
 * may have rebuilt temporary files, which are removed. */
int scr_restore_all(const struct scr_protect *p, int id, const char *dset_dir,
                    scr_filemap *map, struct scr_restore_report *rep,
                    struct scr_err *err);

#endif
