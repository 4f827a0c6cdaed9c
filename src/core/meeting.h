/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets that meet on the prefix: the same name, or files at the same paths. */
#ifndef SCR_CORE_MEETING_H
#define SCR_CORE_MEETING_H

#include "core/ctx.h"

/* Adds to dests, a set of paths below the prefix, where this rank's files of dataset id
 * in cache go, of each also the name it has there if it is compressed; 0: no memory.
 * (meeting.c) */
int scr_cache_dests(const struct scr_ctx *ctx, int id, struct scr_table *dests);
/* Place in the list of the last flush under way whose dataset has the name of id, or a
 * file of any rank at a path where one of id goes, of whatever rank; -1: none. */
int scr_meeting_last_all(struct scr_ctx *ctx, int id);

#endif
