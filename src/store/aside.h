/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of two datasets that have one number: a node that was away may come back with
 * files of the one, while the others have the other. Their files have the same names,
 * so those of the one that is not restored are renamed
 *
 *   <cache>/scr.dataset.<id>/.scr/aside.<CREATED>/<path below scr.dataset.<id>>
 *
 * and the filemap lists them under ASIDE/<CREATED> (fmt/filemap.h). Both names are in
 * the filemap on disk while files move (invariant C1): a run that dies in the middle
 * leaves an entry in both places, and scr_aside_return repairs that. A file outside of
 * dataset directories is listed under its own name and stays in place.
 *
 * Calls are local, on the entries of one rank's filemap. After an error the filemap
 * names all files still. */
#ifndef SCR_STORE_ASIDE_H
#define SCR_STORE_ASIDE_H

#include "store/cntl.h"

struct scr_aside {
    const struct scr_env *env;
    struct scr_cntl *cntl;
    scr_filemap *map;
    int id; /* dataset */
};

/* Puts all entries aside that are of another dataset than the one made at created. */
int scr_aside_put(const struct scr_aside *a, int64_t created, struct scr_err *err);
/* Takes the entries of created back. Files in their places that no filemap
 * names are replaced. */
int scr_aside_take(const struct scr_aside *a, int64_t created, struct scr_err *err);
/* Takes back parts with a free place: no other dataset's entry of the rank is here, and
 * no file is at the place of one of theirs. The rest stays aside. */
int scr_aside_return(const struct scr_aside *a, struct scr_err *err);
/* Removes the files that are aside, of datasets written by ranks ranks; those of a
 * different number of ranks stay. ranks 0: all. Files first, then the record. */
int scr_aside_drop(const struct scr_aside *a, int ranks, struct scr_err *err);
/* Removes what ranks from `ranks` on had only begun when they died: nothing says when
 * it was made, so that it is part of no dataset that could be restored. */
int scr_aside_drop_begun(const struct scr_aside *a, int ranks, struct scr_err *err);

#endif
