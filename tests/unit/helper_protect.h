/* SPDX-License-Identifier: BSD-3-Clause */
/* The members of a set encoded in one process that reaches the files of all: what
 * protecting over MPI leaves, with the same bytes. */
#ifndef SCR_TEST_HELPER_PROTECT_H
#define SCR_TEST_HELPER_PROTECT_H

#include "red/redfile.h"

/* A member to protect. */
struct test_protect_part {
    size_t nfiles;
    const scr_meta *const *metas; /* in logical order, with FILE and SIZE */
    const char *dir;              /* files are dir/FILE */
    const char *redpath;          /* its redundancy file, written */
};

struct test_protect_set {
    enum scr_scheme scheme; /* reduced to what n carries */
    int k;                  /* failures */
    int dset_id, world_size;
    int n;                       /* members */
    const int *world_ranks;      /* of them */
    const scr_hash *desc, *dset; /* DESC and DSETDESC of every member; may be NULL */
};

/* Writes the redundancy file of every member. On error some may have been written. */
int test_protect(const struct scr_env *env, const struct test_protect_set *set,
                 const struct test_protect_part *parts, struct scr_err *err);

#endif
