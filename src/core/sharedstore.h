/* SPDX-License-Identifier: BSD-3-Clause */
/* A cache that all nodes share. */
#ifndef SCR_CORE_SHAREDSTORE_H
#define SCR_CORE_SHAREDSTORE_H

#include "core/ctx.h"

/* Where dest is written until Complete_output; malloc'd, directories are made. Local.
 */
int scr_shared_place(struct scr_ctx *ctx, const char *dest, char **path,
                     struct scr_err *err);
/* Moves the files that are this rank's to its directory, drops the others. Local. */
int scr_shared_take_files(struct scr_ctx *ctx, struct scr_err *err);
/* When all ranks have done that: removes the directories that this rank's files were
 * in. Local. */
void scr_shared_leave(struct scr_ctx *ctx);
/* And after that the directory of all of them. Local, of rank 0. */
void scr_shared_tidy(struct scr_ctx *ctx);
/* Writes this rank's entry of id to the directory of the files. Local. */
int scr_shared_note(struct scr_ctx *ctx, const char *cache, int id,
                    struct scr_err *err);
/* Removes the stored entries of id of the ranks in this rank's map, whose files have
 * gone. Local. */
int scr_shared_forget(struct scr_ctx *ctx, int id, struct scr_err *err);
/* Adds the stored entry of a rank to map; 0: it cannot be read. Local. */
int scr_shared_read(const struct scr_ctx *ctx, const char *cache, int id, int rank,
                    scr_filemap *map);
/* At a start: every rank learns from there what is its own. rc: of this rank until now;
 * the code is its own, to be agreed on. */
int scr_shared_adopt_all(struct scr_ctx *ctx, int rc, struct scr_err *err);

#endif
