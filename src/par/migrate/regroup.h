/* SPDX-License-Identifier: BSD-3-Clause */
/* A dataset in cache that a different number of ranks wrote, flushed by the present
 * ranks: each represents the old ranks with files in its filemap. Collective over
 * world; nothing in cache is changed. */
#ifndef SCR_PAR_REGROUP_H
#define SCR_PAR_REGROUP_H

#include "par/pfs/flush.h"

struct scr_regroup_report {
    int ranks;         /* that wrote the dataset */
    int rebuilt_ranks; /* of them: whose files were lost or damaged */
    uint64_t bytes;    /* flushed, of all ranks */
};

/* Every file is verified in cache. If some are lost, what is left of their sets is
 * copied to <prefix>/.scr/scr.dataset.<id>/rebuild and they are rebuilt there, a set by
 * one rank, the sets side by side. Only when all files of all ranks that wrote the
 * dataset are good does the flush begin (par/pfs/flush.h): what was under the prefix is
 * not touched before. rank2file is that of the ranks that wrote it.
 * SCR_E_LOST with the ranks at fault when too much is lost. */
int scr_regroup_all(const struct scr_prefix_dset *at, const struct scr_copy_opts *o,
                    const scr_filemap *map, struct scr_regroup_report *rep,
                    struct scr_err *err);

#endif
