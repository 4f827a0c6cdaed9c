/* SPDX-License-Identifier: BSD-3-Clause */
/* Deletes a dataset with its files from the prefix directory (invariant P3). */
#ifndef SCR_TOOL_DELETE_H
#define SCR_TOOL_DELETE_H

#include "store/prefix.h"

/* SCR_OK if nothing speaks against it: SCR_E_LOCKED: a flush of it is under way, or may
 * continue; SCR_E_STATE: it is the current one, or may be being written in place. One
 * whose deletion died is only asked for the first. */
int scr_delete_check(const struct scr_env *env, const struct scr_prefix *p, int id,
                     struct scr_err *err);

struct scr_deleted {
    uint64_t files;  /* removed; those that did not exist are not counted */
    uint64_t spared; /* of its list, but other datasets list them too */
};

struct scr_delete {
    int id;
    int is_forced; /* the user wants it gone although scr_delete_check speaks against */
};

/* Files that another dataset lists stay, if it is complete or its flush is under way or
 * may continue. A job that has the dataset in cache keeps it there. It copies it to the
 * prefix again only for a restart that reads it there, or if it was not complete there
 * and is_forced is 0. A deletion that died is finished by the next. */
int scr_delete_dataset(const struct scr_env *env, const struct scr_prefix *p,
                       const struct scr_delete *what, struct scr_deleted *out,
                       struct scr_err *err);

#endif
