/* SPDX-License-Identifier: BSD-3-Clause */
/* The lists of the datasets in the prefix directory, checked by all ranks together: one
 * rank reads each part of a list, and one rank, its keeper, checks each path. Programs
 * may write every checkpoint to the same paths: the lists show the owner of a file
 * (store/paths.h does this for a single process). */
#ifndef SCR_PAR_LISTS_H
#define SCR_PAR_LISTS_H

#include "base/table.h"
#include "par/comm/comm.h"
#include "store/prefix.h"

/* The rank that is responsible for a path below the prefix, chosen by its hash; the
 * same on all ranks. Local. */
int scr_path_keeper(const struct scr_comm *world, const char *path);

/* Rank 0's ids on all ranks; *ids is malloc'd, also on rank 0, and *n counts on success
 * only. rc: what this rank found before; if any rank's is an error all leave with that
 * of the lowest. One collective call where there are none. Agreed. */
int scr_share_ids_all(const struct scr_comm *world, int rc, int **ids, size_t *n,
                      struct scr_err *err);

/* A path this rank keeps, and the datasets that list it; in a table of those. */
struct scr_kept {
    struct scr_item item; /* name: the path, of compressed files as they are stored,
                             without links (store/realdir.h) */
    struct scr_kept_id {
        int id;
        struct scr_kept_id *next; /* none twice */
    } * of;
};
/* 1 if that dataset is one of them. */
int scr_kept_lists(const struct scr_kept *k, int id);

/* What was found of the lists of datasets: an element for each of ids. */
enum scr_list_state {
    SCR_LIST_READ,
    SCR_LIST_UNREAD, /* damaged, or gone */
    SCR_LIST_NEWER   /* a newer SCR can read what this one cannot */
};

struct scr_lists {
    const struct scr_env *env;
    const struct scr_comm *world;
    const struct scr_prefix *prefix;
    const int *ids; /* of the datasets, the same on all ranks */
    size_t n;
    int spare;                  /* a list that is damaged, or of a newer version, is no
                                   error, but lists nothing */
    enum scr_list_state *state; /* n of them: what this rank has found of each,
                                   SCR_LIST_READ of those that others looked at; NULL:
                                   not wanted */
};
/* Reads their lists. kept (empty) gets the paths this rank keeps. One without a list
 * lists nothing. rc: what this rank found before; if any rank's is an error all leave
 * with that of the lowest. Agreed. */
int scr_lists_read_all(const struct scr_lists *lists, int rc, struct scr_table *kept,
                       struct scr_err *err);

/* Adds to kept, as above, the paths of the compressed files of dataset id that landed
 * in a flush that did not complete it (store/arrival.h): its list does not say yet that
 * they are. Agreed. */
int scr_lists_landed_all(const struct scr_env *env, const struct scr_comm *world,
                         const struct scr_prefix *p, int id, struct scr_table *kept,
                         struct scr_err *err);

#endif
