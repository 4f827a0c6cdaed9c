/* SPDX-License-Identifier: BSD-3-Clause */
/* Where this rank is: its node, its directories, its sets. */
#ifndef SCR_CORE_TOPO_H
#define SCR_CORE_TOPO_H

#include "core/ctx.h"

/* rc: of this rank until now; if any rank's is an error all leave with that. */
int scr_topo_init_all(struct scr_ctx *ctx, int rc, struct scr_err *err);
/* The nodes of the n ranks that say yes, as a compressed list, malloc'd, on rank 0,
 * which has to know n; NULL: there are none, or no memory, which is no error. Every
 * rank calls it, none waits but rank 0. */
char *scr_topo_nodes(const struct scr_ctx *ctx, int yes, int n);
void scr_topo_fini(struct scr_ctx *ctx);

#endif
