/* SPDX-License-Identifier: BSD-3-Clause */
/* Temporary files that killed copies left next to their destinations. Found by the
 * names of the destinations, directory by directory: temporary files of copies to other
 * paths are not touched. Local. */
#ifndef SCR_XFER_PARTS_H
#define SCR_XFER_PARTS_H

#include "base/err.h"
#include "base/sys.h"
#include "base/table.h"

/* Removes those of the copies to dir/<name>, or to what dir/<name> is when it is stored
 * plain; names: of struct scr_item. below > 0: only those made for smaller tags
 * (xfer/copy.h). *n is increased. A directory that does not exist has none. The first
 * error, after all were tried. */
int scr_parts_remove(const struct scr_sys *sys, const char *dir,
                     const struct scr_table *names, int below, uint64_t *n,
                     struct scr_err *err);

#endif
