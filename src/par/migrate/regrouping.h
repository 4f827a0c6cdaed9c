/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a regroup, and its parts: find (the rest of the sets, and which rank
 * represents which) and regroup_mend.c (the rebuild of lost files). The ranks that
 * wrote the dataset are its old ranks here. */
#ifndef SCR_PAR_REGROUPING_H
#define SCR_PAR_REGROUPING_H

#include "base/ids.h"
#include "par/migrate/regroup.h"
#include "par/redundancy/setjudge.h"

struct scr_regrouping {
    struct scr_prefix_dset at;
    const struct scr_copy_opts *o;
    const scr_filemap *map;
    int ranks;             /* number of old ranks */
    struct scr_table sets; /* of struct scr_judged: those this rank decides on */
    /* The work of this rank, by old ranks: those with files it flushes; and those with
     * files, and redundancy files, that it copies to where their set is rebuilt. */
    struct scr_ids to_play, to_ship, to_ship_red;
    scr_filemap *play;     /* under the old ranks: what this rank flushes */
    char *scratch;         /* directory of the rebuild */
    int rebuilt;           /* old ranks this rank rebuilt something of */
    struct scr_err unread; /* of a file here that counts as lost, if the error is
                            * transient */
};

/* 1 if path, of old rank r, is named and recorded as a redundancy file. */
int scr_regroup_is_redfile(const struct scr_regrouping *g, int r, const char *path);

/* Fills ranks and sets; agreed. *lost: the same on all ranks, some set lost
 * something. SCR_E_LOST when too much is. */
int scr_regroup_find_all(struct scr_regrouping *g, int *lost, struct scr_err *err);

/* Rebuilds what is lost and enters it in play; agreed. */
int scr_regroup_mend_all(struct scr_regrouping *g, struct scr_err *err);

#endif
