/* SPDX-License-Identifier: BSD-3-Clause */
/* The row plans run in one process that reaches the files of every member: the
 * commands' and tests' counterpart of the engine over MPI, with the same bytes. */
#ifndef SCR_RED_SERIAL_H
#define SCR_RED_SERIAL_H

#include "red/member.h"
#include "red/redfile.h"

/* Computes all that have[] lacks. members[i] are open for what the plans need of them:
 * data or parity to read where had, to write where not. */
int scr_rows_run(const struct scr_geom *g, const int *have,
                 struct scr_member *const *members, struct scr_err *err);

/* A member to protect. */
struct scr_serial_part {
    size_t nfiles;
    const scr_meta *const *metas; /* in logical order, with FILE and SIZE */
    const char *dir;              /* files are dir/FILE */
    const char *redpath;          /* its redundancy file, written */
};

struct scr_serial_set {
    enum scr_scheme scheme; /* weakened to what n carries */
    int k;                  /* failures */
    int dset_id, world_size;
    int n;                       /* members */
    const int *world_ranks;      /* of them */
    const scr_hash *desc, *dset; /* DESC and DSETDESC of every member; may be NULL */
};

/* Writes the redundancy file of every member. On error some may have been written. */
int scr_protect_serial(const struct scr_env *env, const struct scr_serial_set *set,
                       const struct scr_serial_part *parts, struct scr_err *err);

#endif
