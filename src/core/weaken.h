/* SPDX-License-Identifier: BSD-3-Clause */
/* What a redundancy descriptor asks for and this placement of ranks cannot give. */
#ifndef SCR_CORE_WEAKEN_H
#define SCR_CORE_WEAKEN_H

#include "core/ctx.h"

/* Warns, from rank 0 and in a line each, of ranks that find no partner, of sets too
 * small for SET_FAILURES (what they carry instead: scr_geom_weaken), and of a SET_SIZE
 * beyond SCR_EC_MAX. red is enabled, set is its set of this rank, cut how it was made,
 * the failure group is called `value`. That a group holds all ranks is said once, for
 * the first descriptor of the group. Collective over world; agreed. */
int scr_weaken_report_all(const struct scr_ctx *ctx, const struct scr_reddesc *red,
                          const struct scr_set *set, const struct scr_cut *cut,
                          const char *value, struct scr_err *err);

/* Warns of nodes without a GROUPS line of the group of red, once for each group. first:
 * the lowest rank on such a node, world.size: there is none; is_mine: this rank's node
 * has none. Collective over world; agreed. */
int scr_weaken_ungrouped_all(const struct scr_ctx *ctx, const struct scr_reddesc *red,
                             int first, int is_mine, struct scr_err *err);

#endif
