/* SPDX-License-Identifier: BSD-3-Clause */
/* Removes leftovers of killed flushes from the prefix (invariants P8, P26). Their marks
 * (store/flushing.h) name the datasets; their lists name the files next to which
 * temporary ones are. Datasets that bypassed the cache leave directories next to files
 * that any dataset may list. Each directory is read once. Local. */
#ifndef SCR_SCAV_SWEEP_H
#define SCR_SCAV_SWEEP_H

#include "base/table.h"
#include "store/flushing.h"

/* The marks that killed processes left: {0} is none. */
struct scr_dead {
    struct scr_flushing *mark;
    size_t n;
    int *flushed, *bypassed; /* how the dataset was written; unknown: in both */
    size_t nflushed, nbypassed;
    int *all; /* datasets of the index */
    size_t nall;
};

/* Takes the marks. Of a dataset that bypassed the cache and had some of its files
 * renamed the others are, too: it is complete then (store/replacing.h). An error: some
 * may still be to be renamed, and nothing may be removed. */
int scr_dead_take(const struct scr_env *env, const struct scr_prefix *p,
                  struct scr_dead *d, struct scr_err *err);
/* rc: of the removal. SCR_OK: the marks go; else they stay for the next one. */
void scr_dead_release(const struct scr_env *env, const struct scr_prefix *p,
                      struct scr_dead *d, int rc);

/* The files to remove. */
struct scr_sweep {
    const struct scr_env *env;
    const struct scr_prefix *p;
    int below;        /* temporary files, as scr_parts_remove has it; or, with ids, */
    const int *ids;   /* the directories of these datasets next to files */
    size_t n;         /* of ids */
    uint64_t removed; /* is increased */
};

/* Removes leftovers next to the files at these paths (store/paths.h). Leftovers behind
 * a link that leads out of the prefix stay: no job has written there (invariant P20).
 * The first error, after all were tried. */
int scr_sweep_paths(struct scr_sweep *s, const struct scr_table *paths,
                    struct scr_err *err);
/* All of what killed flushes left. *removed is increased. */
int scr_sweep_killed(const struct scr_env *env, const struct scr_prefix *p,
                     uint64_t *removed, struct scr_err *err);
/* Removes temporary files of state files (base/io.h) that are a day old, as no process
 * takes so long to replace one: in .scr, and in the directories of datasets that may be
 * unfinished. */
int scr_sweep_records(const struct scr_env *env, const struct scr_prefix *p,
                      struct scr_err *err);

#endif
