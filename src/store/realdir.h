/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of files below the prefix with links to directories in it followed: only these
 * show whether two files are one (invariant P16). Local.
 *
 *     struct scr_realdir r = SCR_REALDIR_OF(env, p);
 *     char *real = scr_realdir_path(&r, "latest/f"); // "step.100/f"
 *     ...
 *     scr_realdir_fini(&r); */
#ifndef SCR_STORE_REALDIR_H
#define SCR_STORE_REALDIR_H

#include "base/table.h"
#include "store/prefix.h"

struct scr_realdir {
    const struct scr_env *env;
    const struct scr_prefix *p;
    struct scr_table dirs; /* each is looked at once */
};

/* A directory, and what it is called without links. */
struct scr_realdir_known {
    struct scr_item item;
    const char *real;
};
#define SCR_REALDIR_OF(env_, p_)                                                       \
    {                                                                                  \
        env_, p_, SCR_TABLE_OF(struct scr_realdir_known)                               \
    }

/* malloc'd; NULL: out of memory. path stays as it is where a directory does not exist,
 * cannot be looked at, or leads out of the prefix (invariant P20). A link to a
 * directory that does not exist is followed: the flush makes that. */
char *scr_realdir_path(struct scr_realdir *r, const char *path);
/* Adds it to a table of struct scr_item. 1, or 0: out of memory. */
int scr_realdir_add(struct scr_realdir *r, const char *path, struct scr_table *paths);
void scr_realdir_fini(struct scr_realdir *r);

#endif
