/* SPDX-License-Identifier: BSD-3-Clause */
/* Whose files a deletion may remove. A file goes with its dataset unless another
 * complete dataset lists its path, too. With thousands of datasets on the prefix, their
 * lists cost more to read than all other steps of a deletion. So between deletions each
 * rank remembers a code of each path that it keeps (par/pfs/lists.h) and which datasets
 * listed it, and rank 0 the marks of these datasets (store/deletion.h). The next
 * deletion reads the list of the dataset to be deleted, lists of datasets whose mark is
 * new, and lists that are remembered to have one of its paths: what is remembered never
 * tells whose a path is, only which lists cannot have it.
 *
 * After an error, and where there is no memory or too much to be remembered, everything
 * is forgotten on all ranks. */
#ifndef SCR_PAR_RECALL_H
#define SCR_PAR_RECALL_H

#include "par/pfs/lists.h"
#include "store/deletion.h"

/* All zero remembers nothing. The same ranks use it each time. */
struct scr_recall {
    struct scr_owner *owner; /* rank 0: those of the last deletion; a dataset is */
    size_t nowner;           /* remembered if its mark is what it was then */
    struct scr_recalled {
        uint32_t code; /* of a path */
        int id;
    } * path;
    size_t npath, room;
};

void scr_recall_fini(struct scr_recall *r);

struct scr_claims {
    const struct scr_env *env;
    const struct scr_comm *world;
    const struct scr_prefix *prefix;
    struct scr_recall *recall;
    int id; /* of the dataset to be deleted, the same on all ranks */
    struct scr_owner
        *owner; /* rank 0's other owners (scr_deletion_owners), malloc'd; */
    size_t n;   /* recall takes them */
};
/* kept, empty, gets the paths of dataset id that this rank keeps, also those that
 * scr_lists_landed_all adds, and for each of them every owner that lists it. rc: what
 * this rank found before; if any rank's is an error all leave with that of the lowest.
 * Agreed. */
int scr_claims_read_all(const struct scr_claims *c, int rc, struct scr_table *kept,
                        struct scr_err *err);

#endif
