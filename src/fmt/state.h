/* SPDX-License-Identifier: BSD-3-Clause */
/* The small state files as typed structs over hashes: halt, flush, nodes, summary.
 * Decoders check everything and keep nothing they do not know; editors work on the hash
 * so that unknown keys survive. */
#ifndef SCR_FMT_STATE_H
#define SCR_FMT_STATE_H

#include "base/err.h"
#include "base/hash.h"
#include "fmt/index.h"
#include "fmt/rank2file.h"
#include <stdint.h>

/* --- halt.scr: CheckpointsLeft ExitAfter ExitBefore HaltSeconds ExitReason. Malformed
 * fields are SCR_E_CORRUPT, numbers below 0 read as 0. --- */
struct scr_halt {
    int64_t checkpoints_left; /* -1: not set */
    int64_t exit_after;       /* epoch seconds, -1: not set */
    int64_t exit_before;      /* epoch seconds, -1: not set */
    int64_t halt_seconds;     /* -1: not set */
    const char *reason;       /* NULL: not set; borrowed */
    int is_job_end;           /* exit_before is the end of the allocation; not stored */
};
int scr_halt_get(const scr_hash *h, struct scr_halt *out, struct scr_err *err);
int scr_halt_set(scr_hash *h, const struct scr_halt *in); /* unset fields are removed */
/* The reason to stop at time now, NULL: there is none. As the halt file has it: the one
 * recorded (borrowed), or else "NO_CHECKPOINTS_LEFT", "EXIT_AFTER_TIME",
 * "EXIT_BEFORE_TIME" or "TIME_LIMIT". *why: the same for people, malloc'd. */
const char *scr_halt_due(const struct scr_halt *h, int64_t now, char **why);
/* 1 if scr_halt asks for an end that waits for a checkpoint: the job is not started
 * again, but a run continues up to then. */
int scr_halt_waits(const struct scr_halt *h);
/* What a job adds that is not in the file: SCR_HALT_SECONDS, unless the file has it,
 * and the end of its allocation (epoch seconds, 0: not known), which counts only with
 * that.
 */
void scr_halt_add_job(struct scr_halt *h, int64_t halt_seconds, int64_t end_time);
/* Which job a recorded reason stops: a chain of jobs is not stopped by its first. What
 * scr_halt writes has no job and stops every one. Reasons that a library records as a
 * run ends have none where SCR 3.x wrote them, and are of a job that is over. */
#define SCR_HALT_EXIT_JOB  "ExitJobId"
#define SCR_HALT_FINALIZED "SCR_FINALIZE_CALLED"
#define SCR_HALT_ASKED     "JOB_HALTED"
#define SCR_HALT_JOB_END   "TIME_LIMIT"
int scr_halt_is_of_another(const scr_hash *h, const char *job_id);

/* --- flush.scr: DATASET/<id>/{NAME, LOCATION/{CACHE,PFS,FLUSHING,SYNC_FLUSHING}, CKPT,
 * OUTPUT, LOST, DELETED, DSETDESC, REPLACED=<id>} --- */
enum scr_location {
    SCR_LOC_CACHE = 1,
    SCR_LOC_PFS = 2,
    SCR_LOC_FLUSHING = 4,
    SCR_LOC_SYNC_FLUSHING = 8
};
/* Enters a dataset hash. Marks that are there of another dataset of that number go. */
int scr_flush_set_dataset(scr_hash *h, const scr_hash *dset);
/* Output that is lost, for which a restart was chosen (fmt/lost_output.h), until a
 * location says that it is in cache. */
int scr_flush_set_lost(scr_hash *h, int id);
/* 1: output that is in cache and not on the PFS; should it be lost, no restart was
 * chosen yet. */
int scr_flush_is_open_output(const scr_hash *h, int id);
int scr_flush_has_open_output(const scr_hash *h); /* 1 if any is */
int scr_flush_set_location(scr_hash *h, int id, int loc, int on);
int scr_flush_get_location(const scr_hash *h, int id); /* bits; 0 if unknown */
int scr_flush_remove(scr_hash *h, int id);             /* 1 if it was there */
/* All files of the dataset, which leaves the index, have been written over by dataset
 * by. Nothing if it is not in the flush file. */
void scr_flush_set_replaced(scr_hash *h, int id, int by);
/* 1 unless the entry is that of another dataset of the number. */
int scr_flush_is_of(const scr_hash *h, int id, const struct scr_dataset *d);
/* The dataset was deleted from the PFS. on: it, and those that it had replaced, are not
 * to come back from a cache, until a location says that they do; 0: it may. Nothing if
 * the flush file does not have it. */
int scr_flush_set_deleted(scr_hash *h, int id, int on);
/* The dataset, a dataset hash, has become complete on the PFS, and no flush of it is
 * under way. Without an entry it gets one if a cache may have it. Nothing if the entry
 * is that of another dataset. *changed: 1 if h is. */
int scr_flush_set_saved(scr_hash *h, const scr_hash *dset, int in_cache, int *changed);
/* 1: in cache, not on the PFS, and not deleted from there for good. */
int scr_flush_need(const scr_hash *h, int id);
/* 1 if the dataset is complete on the PFS: so says its entry in the index, or, if that
 * has none of this number, the mark: such a one was copied and then dropped, or
 * replaced by a newer one, which must be complete itself then. dset: what the dataset
 * is, NULL: as the flush file says. An entry or mark of another dataset of that number
 * counts as none. */
int scr_flush_is_saved(const scr_hash *h, const struct scr_index *index, int id,
                       const scr_hash *dset);
/* 1 if the dataset was deleted from the PFS: the flush file says so, and the index does
 * not have it, or has it as being deleted. dset as above. */
int scr_flush_is_deleted(const scr_hash *h, const struct scr_index *index, int id,
                         const scr_hash *dset);
/* 1 if the dataset is not to be copied: it is saved, or deleted. dset as above. */
int scr_flush_is_settled(const scr_hash *h, const struct scr_index *index, int id,
                         const scr_hash *dset);
/* 1: the flush file says it is in cache, and it is still to be copied to the PFS. */
int scr_flush_is_unsaved(const scr_hash *h, const struct scr_index *index, int id);
const char *scr_flush_name(const scr_hash *h, int id); /* "?": not known */
int scr_flush_max_id(const scr_hash *h);               /* 0: it lists none */
/* 1 unless the entry says that another job wrote the dataset. */
int scr_flush_is_of_job(const scr_hash *h, int id, const char *jobid);
/* 1 if the dataset has that flag, "CKPT", "OUTPUT", "LOST" or "DELETED", or is
 * "REPLACED". */
int scr_flush_has(const scr_hash *h, int id, const char *flag);
int scr_flush_latest(const scr_hash *h); /* newest checkpoint in cache; -1: none */

/* --- nodes.scr --- */
/* SCR_E_NOENT: not recorded. */
int scr_nodes_get(const scr_hash *h, int *nodes, struct scr_err *err);
int scr_nodes_set(scr_hash *h, int nodes);

/* --- current.scr: {JOB/<job id>/NAME}: the checkpoint that SCR_CURRENT named when a
 * run of the job went to it. --- */
/* NULL: none. Borrowed. */
const char *scr_gone_to_name(const scr_hash *h, const char *job_id);
int scr_gone_to_is(const scr_hash *h, const char *job_id, const char *name);
/* Only the last 16 jobs are kept. */
int scr_gone_to_set(scr_hash *h, const char *job_id, const char *name);
void scr_gone_to_forget(scr_hash *h, const char *job_id);

/* --- summary.scr: VERSION=6 COMPLETE DSET/{dataset}. Version 5, which had the
 * rank/file part in the same file, is converted in place: its dataset gets the name
 * scr.dataset.<id>, and the part goes under RANK2FILE. --- */
int scr_summary_set(scr_hash *h, const scr_hash *dset, int complete);
/* *dset is borrowed from h; *files (empty) gets the part in the summary: of 0 ranks if
 * there is none, because it has its own files. */
int scr_summary_get(scr_hash *h, int *complete, scr_hash **dset,
                    struct scr_rank2file *files, struct scr_err *err);

#endif
