/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets leave the prefix. */
#ifndef SCR_CORE_RETAIN_H
#define SCR_CORE_RETAIN_H

#include "core/ctx.h"

/* Deletes dataset id from the prefix: files, directories that get empty, records.
 * spare: files that another complete dataset of the index names too stay. */
int scr_prefix_delete_all(struct scr_ctx *ctx, int id, int spare, struct scr_err *err);
/* After a dataset has become complete on the prefix, or a flush found no room there:
 * deletes what SCR_PREFIX_SIZE does not keep, and checkpoints older than a complete one
 * that cannot become complete any more. Failures are warnings, and tried again the next
 * time. */
void scr_retain_all(struct scr_ctx *ctx);
/* At a start, if SCR_PREFIX_PURGE is set: deletes every dataset of the index. */
void scr_prefix_purge_all(struct scr_ctx *ctx);

#endif
