/* SPDX-License-Identifier: BSD-3-Clause */
/* The stock of caches and prefix at a start, and the ids in use. */
#ifndef SCR_CORE_STOCK_H
#define SCR_CORE_STOCK_H

#include "core/ctx.h"

/* After a flush that found its id taken by another job on the same prefix
 * (SCR_E_TAKEN): counts on far away from that one. The dataset stays in cache. */
void scr_flee_ids_all(struct scr_ctx *ctx);
/* The state of caches and prefix before anything is rebuilt; the same on all ranks.
 */
struct scr_stock {
    int newer;          /* some node keeps filemaps of a newer version */
    int marked;         /* flushes were killed, it seems (store/flushing.h) */
    int unfinished;     /* the prefix has datasets that are not complete */
    struct scr_ids ids; /* that some filemap names */
};

/* One vote says what there is; scr_ids_fini frees the ids, also after an error. rc: of
 * this rank until now. */
int scr_stock_take_all(struct scr_ctx *ctx, struct scr_stock *s, int rc,
                       struct scr_err *err);

#endif
