/* SPDX-License-Identifier: BSD-3-Clause */
/* What the datasets in the prefix directory list, looked at by all ranks together: each
 * part of a list is read by one rank, and each path is looked after by one, its keeper.
 * Programs may write every checkpoint to the same paths: whose a file is tell the lists
 * (store/paths.h is the same for a single process). */
#ifndef SCR_PAR_LISTS_H
#define SCR_PAR_LISTS_H

#include "par/comm.h"
#include "store/prefix.h"

/* The rank that looks after a path below the prefix, chosen by its hash; the same on
 * all ranks. Local. */
int scr_path_keeper(const struct scr_comm *world, const char *path);

/* Rank 0's ids on all ranks; *ids is malloc'd, also on rank 0. */
int scr_share_ids_all(const struct scr_comm *world, int **ids, size_t *n,
                      struct scr_err *err);

/* Reads the lists of datasets ids[0…n), the same on all ranks. kept (empty) gets the
 * paths this rank keeps: {<path>: {<id>}}, of compressed files as they are stored. One
 * without a list lists nothing. So does one whose list is damaged, or of a newer
 * version, if unread is not NULL: it gets the ids of all three as this rank has found
 * them, {<id>}, and {<id>: {NEWER}} where a newer SCR can read what this one cannot;
 * else such a list is an error, like all others. Agreed. */
int scr_lists_read_all(const struct scr_env *env, const struct scr_comm *world,
                       const struct scr_prefix *p, const int *ids, size_t n,
                       scr_hash *unread, scr_hash *kept, struct scr_err *err);

/* Adds to kept, as above, the paths of the compressed files of dataset id that landed
 * in a flush that did not complete it (store/arrival.h): its list does not say yet that
 * they are. Agreed. */
int scr_lists_landed_all(const struct scr_env *env, const struct scr_comm *world,
                         const struct scr_prefix *p, int id, scr_hash *kept,
                         struct scr_err *err);

#endif
