/* SPDX-License-Identifier: BSD-3-Clause */
/* What this rank holds of one dataset while its files are handed to their owners:
 * which files exist on this node, for whom, how good they are, and where ours shall
 * be.
 *
 * A file is known by its place below the dataset directory, its rel:
 * "rank.<owner>/<name>" or ".scr/<redundancy file>". Every list is a hash, so that
 * look-ups stay O(1). */
#ifndef SCR_PAR_HOLDINGS_H
#define SCR_PAR_HOLDINGS_H

#include "fmt/filemap.h"
#include "par/comm.h"
#include "store/cntl.h"

struct scr_holdings {
    const struct scr_env *env;
    struct scr_cntl *cntl;
    scr_filemap *map;
    int id, me;           /* dataset and own world rank */
    const char *dset_dir; /* where ours shall be */
    char *tmp;            /* name of a file being made there: rank.<me>/.scr-part */
    int dirty;            /* map differs from the filemap on disk */

    scr_hash *have;   /* {<owner>: {<rel>: {<path>…}}}: intact files on this node */
    scr_hash *target; /* {<rel>: {<path>}}: cache of scr_holdings_target */
    scr_hash *dirs;   /* {<dir>: {<stop>}}: left by removed files, to be pruned */
};

int scr_holdings_init(struct scr_holdings *h, struct scr_err *err);
void scr_holdings_fini(struct scr_holdings *h);

/* Looks at every file the map names: fills have, and offers with what each owner is to
 * be told: {<owner>: {ENTRY/{all but FILE}, FILE/<rel>/{SIZE, META}}}. A file is
 * intact if it is a regular file of the size recorded, or of any size if none is.
 * Remains of interrupted transfers are removed. */
int scr_holdings_inspect(struct scr_holdings *h, scr_hash *offers, struct scr_err *err);

/* Where our file rel shall be; borrowed, NULL: out of memory. */
const char *scr_holdings_target(struct scr_holdings *h, const char *rel);
/* The path to take owner's rel from: in place if it is there; NULL: none. */
const char *scr_holdings_path(struct scr_holdings *h, int owner, const char *rel);

/* Names the targets of our files rels (its keys), and tmp, in the filemap on disk and
 * makes their directories: from now on they may exist (invariant C1). */
int scr_holdings_announce(struct scr_holdings *h, const scr_hash *rels,
                          struct scr_err *err);
/* Enters our file rel, now in place. */
int scr_holdings_enter(struct scr_holdings *h, const char *rel, const scr_meta *meta,
                       struct scr_err *err);
/* Removes owner's rel, which is safe elsewhere, wherever we have it but keep (may be
 * NULL). What cannot be removed stays named; a warning says so. */
void scr_holdings_release(struct scr_holdings *h, int owner, const char *rel,
                          const char *keep);
/* Last: forgets what is named but gone, prunes directories. */
int scr_holdings_sweep(struct scr_holdings *h, struct scr_err *err);
/* Writes the filemap if it changed. */
int scr_holdings_store(struct scr_holdings *h, struct scr_err *err);

/* Value of key, made empty if absent; NULL: out of memory. Keys are taken as they are.
 */
scr_hash *scr_hash_below(scr_hash *h, const char *key);

#endif
