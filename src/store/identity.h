/* SPDX-License-Identifier: BSD-3-Clause */
/* The identity of a prefix directory: a random number in <prefix>/.scr/identity.scr,
 * made once, and again in identity.copy.scr, as without it nothing that is cached is
 * found. Datasets cached for a prefix directory are below a name made from it
 * (store/cache.h), so that one job's caches keep those of several prefix directories
 * apart.
 *
 *   ID/<32 hexadecimal digits>
 *   INODE/<inode number of <prefix>/.scr>
 *
 * A directory that is moved keeps its identity. A copy of one has another inode number
 * and gets its own identity. */
#ifndef SCR_STORE_IDENTITY_H
#define SCR_STORE_IDENTITY_H

#include "store/prefix.h"

/* "prefix." and the first 16 digits. */
enum { SCR_IDENTITY_DIGITS = 16, SCR_IDENTITY_NAME = 24 };
#define SCR_IDENTITY_MARK "prefix."

struct scr_identity {
    /* of the directory below the job's, "": it has none, so nothing is cached for it */
    char name[SCR_IDENTITY_NAME];
    /* the same of the directory it was copied from; "": it is no copy */
    char original[SCR_IDENTITY_NAME];
    int is_new; /* it was made by this very call: there was none, also no damaged one */
};

/* Only looks. Where both files are damaged there is none, with a warning. */
int scr_identity_read(const struct scr_env *env, const struct scr_prefix *p,
                      struct scr_identity *out, struct scr_err *err);
/* Makes one if there is none that fits; of several that do so at once all get the same.
 * A damaged file is kept aside, with a warning, and written again as the other one. */
int scr_identity_make(const struct scr_env *env, const struct scr_prefix *p,
                      struct scr_identity *out, struct scr_err *err);
/* 1 and opens the prefix directory at path (NULL: none) if it is still the one of that
 * name. */
int scr_identity_open(const struct scr_env *env, const char *path, const char *name,
                      struct scr_prefix *p);
/* 1 if a directory of the job may be one of a prefix directory. */
int scr_identity_is_name(const char *name);

#endif
