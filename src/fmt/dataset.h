/* SPDX-License-Identifier: BSD-3-Clause */
/* The dataset hash: ID NAME USER JOBNAME JOBID CLUSTER SIZE FILES CREATED CKPT COMPLETE
 * FLAG_CKPT FLAG_OUTPUT BYPASS SHARED. Kept as a hash so that unknown keys survive;
 * this is the typed view. */
#ifndef SCR_FMT_DATASET_H
#define SCR_FMT_DATASET_H

#include "base/cursor.h"
#include "base/err.h"
#include "base/hash.h"
#include <stddef.h>
#include <stdint.h>

struct scr_dataset {
    int id;           /* >= 1 */
    const char *name; /* borrowed from the hash; never NULL after get */
    const char *user, *jobname, *jobid, *cluster; /* may be NULL: left out */
    uint64_t size, files;                         /* bytes and files of all ranks */
    int64_t created;                              /* µs since the epoch */
    int ckpt;               /* checkpoint counter value, 0: none recorded */
    int complete;           /* 1, 0; -1: not recorded */
    int is_ckpt, is_output; /* flags */
    int is_bypass;          /* was written to the prefix directory itself */
    int is_shared;          /* has files that several ranks wrote */
};

/* Writes every field of d into h (replacing), keeps other keys. */
int scr_dataset_set(scr_hash *h, const struct scr_dataset *d);
/* It is complete, with so much in it. SCR_OK or SCR_E_NOMEM, also for what h lacks. */
int scr_dataset_finish(scr_hash *h, uint64_t bytes, uint64_t files);
/* SCR_E_CORRUPT without a valid ID and NAME. Missing flags mean checkpoint (older
 * writers). */
int scr_dataset_get(const scr_hash *h, struct scr_dataset *out, struct scr_err *err);
/* The same of the packed dataset hash that begins at c, which is then behind it; texts
 * are borrowed from the bytes. Where these are no hash c is bad. */
int scr_dataset_take(struct scr_cursor *c, struct scr_dataset *out,
                     struct scr_err *err);
/* 1 if both, of one id, describe one dataset: two jobs on one prefix count alike, and
 * may begin in the same microsecond. A key that one of them lacks is not compared. */
int scr_dataset_is_same(const struct scr_dataset *a, const struct scr_dataset *b);
/* The same, and both record when they were made, or neither does. */
int scr_dataset_is_alike(const struct scr_dataset *a, const struct scr_dataset *b);

/* One of several datasets of one number with parts in cache. */
struct scr_rival {
    int64_t created;
    int ranks; /* that wrote it */
    enum {
        SCR_RIVAL_NOT,   /* more is lost than its redundancy can rebuild */
        SCR_RIVAL_MAYBE, /* what cannot be seen from here decides */
        SCR_RIVAL_WHOLE  /* it is whole, or can be rebuilt */
    } state;
};
/* The one to continue with: the newest that can be rebuilt, else the newest for which
 * that is not known; NULL: there is none. ranks, unless 0, is how many ranks ask: a
 * rival of a different number is never chosen, and none is if the newest is such. */
const struct scr_rival *scr_rival_choose(const struct scr_rival *rival, size_t n,
                                         int ranks);

#endif
