/* SPDX-License-Identifier: BSD-3-Clause */
/* Flush while the application continues. Everything a complete dataset needs, except
 * its files, is put on the prefix before the first file is copied (store/arrival.h), so
 * that the dataset is completed by whichever process comes last, without MPI and
 * without a call of the application.
 *
 *     rc = scr_flush_start_all(&a, …, err);              // index entry, plan; returns
 *     if (scr_flush_poll_all(a) != SCR_XFER_RUNNING)     // later, any number of times
 *         rc = scr_flush_end_all(a, err);                // waits if need be; frees a
 *
 * or scr_flush_cancel_all. All calls but scr_flush_kill are collective over world. */
#ifndef SCR_PAR_FLUSH_ASYNC_H
#define SCR_PAR_FLUSH_ASYNC_H

#include "par/pfs/flush.h"
#include "xfer/xfer.h"

/* By whom the files are copied, and how fast; all pointers are borrowed until the flush
 * has ended, but for o. */
struct scr_flush_by {
    const struct scr_comm *node; /* the ranks of this node */
    struct scr_mover *mover;
    const struct scr_copy_opts *o;
    double bw, percent; /* bytes a second of the whole job, and percent of the time of
                           each process that copies; 0: as fast as it goes */
};

struct scr_flush_async;

/* Begins to copy the dataset as scr_flush_all does. In order: destinations
 * checked; what an earlier attempt got into place found (it is not copied again); index
 * entry COMPLETE=0; directories; rank2file with sizes and CRCs as recorded; the plan.
 * SCR_OK on all ranks, or the same error on all and nothing under way. What at points
 * to is borrowed until the flush has ended. */
int scr_flush_start_all(struct scr_flush_async **a, const struct scr_prefix_dset *at,
                        const struct scr_flush_by *by, const scr_hash *dset,
                        const scr_filemap *map, struct scr_err *err);
int scr_flush_async_id(const struct scr_flush_async *a);
double scr_flush_async_since(const struct scr_flush_async *a);   /* scr_now_mono() */
uint64_t scr_flush_async_bytes(const struct scr_flush_async *a); /* of all ranks */
/* RUNNING while any rank copies; then FAILED if any rank did. */
enum scr_xfer_state scr_flush_poll_all(const struct scr_flush_async *a);
/* Waits until all ranks have ended, completes the dataset if they succeeded, and frees.
 * On failure what has landed stays recorded for the next attempt. */
int scr_flush_end_all(struct scr_flush_async *a, struct scr_err *err);
/* Stops copying; the dataset stays incomplete, unless it was complete already: *done.
 */
int scr_flush_cancel_all(struct scr_flush_async *a, int *done, struct scr_err *err);
struct scr_take_back {
    struct scr_prefix_dset at;
    const scr_filemap *map; /* has its files, in cache */
    int for_good;           /* it leaves the cache: its plan goes, too */
};
/* Removes what a flush of a dataset that failed, or was cancelled, has landed: files
 * that its records name and that have not changed since. Unless it is for good, that
 * attempt has just failed: files it put in place without a record go, too. The records
 * stay. Nothing is removed if the dataset is complete or has all its files, and no file
 * that another dataset of the index lists (invariant P28). No process may be copying
 * it. SCR_OK, too, where nothing had landed; agreed. */
int scr_flush_take_back_all(const struct scr_take_back *t, struct scr_err *err);
/* Local: stops copying and frees; leaves everything as a death of the process would.
 * After scr_mover_stop a transfer process continues. */
void scr_flush_kill(struct scr_flush_async *a);

#endif
