/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of one dataset that this rank holds while they are moved to their owners:
 * which files exist on this node, for which rank, how good they are, and the final
 * places of our files.
 *
 * A file is known by its place below the dataset directory, its rel:
 * "rank.<owner>/<name>" or ".scr/<redundancy file>". */
#ifndef SCR_PAR_HOLDINGS_H
#define SCR_PAR_HOLDINGS_H

#include "fmt/filemap.h"
#include "par/comm/told.h"
#include "store/cntl.h"

struct scr_holdings {
    const struct scr_env *env;
    struct scr_cntl *cntl;
    scr_filemap *map;
    int id, me;           /* dataset and own world rank */
    const char *dset_dir; /* where ours shall be */
    char *tmp;            /* name of a file being made there: rank.<me>/.scr-part */
    int dirty;            /* map differs from the filemap on disk */

    struct scr_holding { /* intact files on this node, by owner; ascending */
        int owner;
        struct scr_table rels; /* each with its paths */
    } * held;
    size_t nheld;
    struct scr_table target; /* rel -> path: cache of scr_holdings_target */
    struct scr_table dirs;   /* left by removed files, to be pruned */
};

int scr_holdings_init(struct scr_holdings *h, struct scr_err *err);
void scr_holdings_fini(struct scr_holdings *h);

/* How the files of dataset id that map has are placed. Whether they are good, or there
 * at all, is for restore to find. */
enum scr_placed {
    SCR_PLACED_ELSE, /* neither of these */
    SCR_PLACED_HOME, /* there is no entry, or only one of rank me, whose files are all
                        known and named at their final places, in dset_dir */
    SCR_PLACED_WHOLE /* so they are, and the entry has all descriptors */
};
/* dset_dir may be NULL where there is no entry. */
enum scr_placed scr_holdings_placed(const scr_filemap *map, int id, int me,
                                    const char *dset_dir);

/* 1 if they are SCR_PLACED_WHOLE, and dset_dir exists. If so on all ranks, no file has
 * to move. */
int scr_holdings_are_whole(const struct scr_env *env, const scr_filemap *map, int id,
                           int me, const char *dset_dir);

/* 1 if nothing is known here that has to move, and dset_dir exists. Files may be lost.
 */
int scr_holdings_are_settled(const struct scr_env *env, const scr_filemap *map, int id,
                             int me, const char *dset_dir);

/* Looks at every file the map names: fills held, and offers with the list for each
 * owner (par/comm/told.h): its entry, with the files that are intact, each with the
 * bytes found and what is recorded of it. A file is intact if it is a regular file of
 * the size recorded, or of any size if none is. Remains of interrupted transfers are
 * removed. */
int scr_holdings_inspect(struct scr_holdings *h, struct scr_parcels *offers,
                         struct scr_err *err);

/* Where our file rel shall be; borrowed, NULL: out of memory. */
const char *scr_holdings_target(struct scr_holdings *h, const char *rel);
/* The path to take owner's rel from: in place if it exists; NULL: none. */
const char *scr_holdings_path(struct scr_holdings *h, int owner, const char *rel);

/* Names the targets of our files rels (its names), and tmp, in the filemap on disk and
 * makes their directories: from now on they may exist (invariant C1). */
int scr_holdings_announce(struct scr_holdings *h, const struct scr_table *rels,
                          struct scr_err *err);
/* Enters our file rel, now in place. */
int scr_holdings_enter(struct scr_holdings *h, const char *rel, const scr_meta *meta,
                       struct scr_err *err);
/* Removes owner's rel, which is safe elsewhere, at all our places except keep (may be
 * NULL). A file that cannot be removed stays named; with a warning. */
void scr_holdings_release(struct scr_holdings *h, int owner, const char *rel,
                          const char *keep);
/* Last: removes entries of missing files, prunes directories. */
int scr_holdings_sweep(struct scr_holdings *h, struct scr_err *err);
/* Writes the filemap if it changed. */
int scr_holdings_store(struct scr_holdings *h, struct scr_err *err);

#endif
