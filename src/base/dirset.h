/* SPDX-License-Identifier: BSD-3-Clause */
/* Directories that got files: each is made once, and synced in the end.
 *
 *     struct scr_table set;
 *     scr_table_init(&set, sizeof(struct scr_item));
 *     scr_dirset_make(sys, &set, "/p", "/p/a/file", 0777, &err);   // makes /p/a
 *     … the files …
 *     scr_dirset_sync(sys, &set, &err);                            // /p/a and /p */
#ifndef SCR_BASE_DIRSET_H
#define SCR_BASE_DIRSET_H

#include <sys/types.h>

#include "base/err.h"
#include "base/sys.h"
#include "base/table.h"

/* The directory of file, and those above it, unless it is in set. Those up to top get
 * into set, which may have got an entry each: POSIX syncs a directory without its name
 * in the one above it. */
int scr_dirset_make(const struct scr_sys *sys, struct scr_table *set, const char *top,
                    const char *file, mode_t mode, struct scr_err *err);
int scr_dirset_sync(const struct scr_sys *sys, const struct scr_table *set,
                    struct scr_err *err);

#endif
