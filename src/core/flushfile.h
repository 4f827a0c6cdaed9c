/* SPDX-License-Identifier: BSD-3-Clause */
/* The flush file, and what it and the index say of a dataset. */
#ifndef SCR_CORE_FLUSHFILE_H
#define SCR_CORE_FLUSHFILE_H

#include "core/ctx.h"

/* 1 if the files in cache of id may be why its flush failed with rc, and redundancy may
 * have what they lack. */
int scr_flush_may_be_mended(const struct scr_ctx *ctx, int id, int rc);
/* 1 if the dataset is on the prefix, complete, by the index; one that the index does
 * not list any more, but the flush file calls copied, was dropped, and counts as done.
 */
int scr_flush_is_done_all(struct scr_ctx *ctx, int id);
/* 1 if it need not be copied: that is so, or it was deleted from the prefix. */
int scr_flush_is_settled_all(struct scr_ctx *ctx, int id);
/* The same, on rank 0 alone. Local. */
int scr_flush_is_settled_here(const struct scr_ctx *ctx, int id);
/* Says so; a warning unless it was on the prefix before that newer one. */
void scr_flush_tell_newer(struct scr_ctx *ctx, int id, const struct scr_err *why);
/* 1 if it is of the last weeks: whether another job still runs, or its caches can be
 * scavenged, is not known here, and after so long it does not. Local. */
int scr_flush_is_recent(const struct scr_dataset *d);
/* 1 if the flush file h has dataset id as a recent one of another job. Local. */
int scr_flush_is_anothers(const struct scr_ctx *ctx, const scr_hash *h, int id);
/* Notes id's locations (SCR_LOC_*) in the flush file, or that it is gone: on rank 0,
 * while the others continue. A failure is a warning. Local. */
void scr_flush_mark(struct scr_ctx *ctx, int id, int on, int off);
void scr_flush_forget(struct scr_ctx *ctx, int id);
/* Notes that another process has completed its copy, if one has; in the same way. */
void scr_flush_mark_saved(struct scr_ctx *ctx, int id);
/* Of the n datasets, which SCR_PREFIX_SIZE is about to delete from the prefix, those
 * that another job has in cache are not called copied any more: it would look for them
 * there. flush, index: as just read. On rank 0; a failure is a warning, and none of
 * them may be deleted then. Local. */
int scr_flush_mark_retired(struct scr_ctx *ctx, scr_hash *flush,
                           const struct scr_index *index, const int *ids, size_t n);
/* Takes datasets that were in the caches of this job, and are no more, out of it; of
 * other jobs those of long ago. is_bare: no cache had anything at this start, and the
 * newest checkpoint that was nowhere else is reported. On rank 0; a failure is a
 * warning. Local. */
void scr_flush_sweep(struct scr_ctx *ctx, int is_bare);

/* --- begin and end of a flush, for the event log and the flush file --- */

enum scr_flush_way {
    SCR_FLUSH_WAITED, /* the program waits for it */
    SCR_FLUSH_BEHIND  /* the program continues */
};

struct scr_flush_end {
    int rc;
    const char *why; /* of a failure; may be NULL */
    uint64_t bytes;  /* of a success, of all ranks */
    double secs;
};

/* On rank 0, while the others continue; a failure is a warning. Local. Of a dataset
 * that a different number of ranks wrote, whose entry in the flush file is not this
 * job's, only the success is marked there. */
void scr_flush_begun(struct scr_ctx *ctx, enum scr_flush_way way, int id);
void scr_flush_ended(struct scr_ctx *ctx, enum scr_flush_way way, int id,
                     const struct scr_flush_end *end);

#endif
