/* SPDX-License-Identifier: BSD-3-Clause */
/* A scavenged dataset before it is whole: its files wait below its own directory, so
 * that nothing under the prefix is replaced for a dataset that may turn out to be lost
 * (invariant P13).
 *
 *   <prefix>/.scr/scr.dataset.<id>/files/<path below the prefix>   the stage
 *   <prefix>/.scr/scr.dataset.<id>/placing.scr                     VERSION=1, DSET
 *
 * When every file has been verified there and rank2file lists them, placing.scr is
 * written and each file renamed to its destination; then the dataset is recorded as
 * complete, and stage and placing.scr go. A process that finds placing.scr continues
 * with that: a file that has left the stage is in place.
 *
 * Calls are local; one process at a time works on a dataset except for the files that
 * scr_gather adds. */
#ifndef SCR_SCAV_STAGE_H
#define SCR_SCAV_STAGE_H

#include "fmt/rank2file.h"
#include "store/prefix.h"
#include "store/scavenged.h"

/* Makes it, for the user only: files are there before their own directories protect
 * them. */
int scr_stage_make(const struct scr_env *env, const struct scr_prefix *p, int id,
                   struct scr_err *err);
/* Removes what copies that were killed left under temporary names: before those of a
 * scavenge begin. An older one that is still at work then gets no more files named. */
void scr_stage_sweep(const struct scr_env *env, const struct scr_prefix *p, int id);

/* Files that a dead asynchronous flush had put in place go to the stage instead, so
 * that they need not be copied again, nor are lost with a node. That flush is not
 * completed any more. Files that a complete dataset lists stay where they are, and so
 * do those of another size than recorded. *n: how many were taken. */
int scr_stage_take_landed(const struct scr_env *env, const struct scr_prefix *p, int id,
                          uint64_t *n, struct scr_err *err);

/* Puts the listed files in place. A complete dataset that lists one of these paths is
 * complete no longer, and a pending one is cancelled. dset: of the dataset. The files
 * are in the stage, or, if an earlier call died, in place already: of neither is
 * SCR_E_MISSING, and nothing else is done then. rank2file is written and the index says
 * COMPLETE=0 before. SCR_E_LOST: as scr_paths_written_over (store/paths.h).
 * SCR_E_VERSION: one whose list this version cannot read may, and a file would be
 * replaced. SCR_E_OUTSIDE, SCR_E_UNSAFE: a destination that cannot be. */
int scr_stage_place(const struct scr_env *env, const struct scr_prefix *p, int id,
                    const scr_hash *dset, const struct scr_rank2file *files,
                    struct scr_err *err);
/* Undoes a placing that cannot be ended: what is listed and in place, in the size
 * recorded, goes back to the stage. */
int scr_stage_take_back(const struct scr_env *env, const struct scr_prefix *p, int id,
                        const struct scr_rank2file *files, struct scr_err *err);
/* Removes placing.scr, and the stage with all that is in it. */
int scr_stage_remove(const struct scr_env *env, const struct scr_prefix *p, int id,
                     struct scr_err *err);

#endif
