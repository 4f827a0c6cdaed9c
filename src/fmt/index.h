/* SPDX-License-Identifier: BSD-3-Clause */
/* The index of datasets in a prefix directory (index.scr, version 2; version 1 of the
 * developer's manual 9.1 is converted on read). store/prefix.h does the file.
 *
 *   VERSION=2  CURRENT=<name>  NAME/<name>/DSET/<id>
 *   DSET/<id>/{DSET/{dataset}, COMPLETE=0|1, FLUSHED=<ts>, FETCHED/<ts>…, FAILED/<ts>…,
 *              DELETING, OWN=<path>}
 *
 * In memory an array of entries by id. Unknown parts of an entry are kept unchanged, as
 * are unknown keys next to DSET. NAME repeats what DSET says, and is rewritten: of
 * several datasets of one name it leads to the newest.
 *
 *     struct scr_index index = SCR_INDEX_INIT;
 *     rc = scr_index_unpack(&index, file, n, &err);
 *     rc = scr_index_get(&index, scr_index_newest(&index), &entry, &err);
 *     scr_index_fini(&index);
 *
 * Where an index is asked NULL is an empty one. Local; not thread-safe. */
#ifndef SCR_FMT_INDEX_H
#define SCR_FMT_INDEX_H

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "fmt/dataset.h"
#include <stdatomic.h>
#include <time.h>

/* A number so far above id that a writer who counts on from id, and does not ask, does
 * not get there soon; id where there is none. */
int scr_index_far_id(int id);

struct scr_index_entry {
    int id;
    struct scr_dataset dset;
    int complete, doomed;
    int current;         /* CURRENT leads to it; set by scr_index_get */
    const char *flushed; /* timestamp or NULL */
    const char *failed;  /* the last time a restart could not read it; NULL: it could */
    const char *dir;     /* version 1: directory below the prefix of files and summary;
                            else NULL */
    const char *own;     /* as noted by scr_index_set_own, or NULL */
    struct {
        const void *p;
        size_t n;
    } packed; /* all of it */
};

struct scr_index {
    int version;                /* of the file it was read from, 0: none */
    struct scr_index_entry *of; /* ascending by id */
    size_t n, room;
    char *current;       /* CURRENT, NULL: none */
    int current_id;      /* where that leads, -1: nowhere */
    struct scr_str rest; /* what else there is, packed: keys and hashes, */
    size_t nrest;        /* so many */
    struct scr_arena arena;
    void *file; /* freed with the index; may be NULL */
    int lost;   /* something could not be entered: it is not to be written */
    struct scr_index_shared *of_all; /* whose it is, if several read it; then it is
                                        not edited */
};

/* An index that several read, each one by its own scr_index. */
struct scr_index_shared {
    atomic_int users; /* the last one frees it */
    struct scr_index x;
};
#define SCR_INDEX_INIT                                                                 \
    {                                                                                  \
        .rest = SCR_STR_INIT, .current_id = -1                                         \
    }

void scr_index_fini(struct scr_index *x);
/* Moves x into one to be shared, with one user; NULL: out of memory, x stays. */
struct scr_index_shared *scr_index_share(struct scr_index *x);
/* x, which is empty, reads it, too, until scr_index_fini. */
void scr_index_lend(struct scr_index_shared *s, struct scr_index *x);
/* One user less. x (NULL: not wanted) gets the index if that was the last: 1. */
int scr_index_unshare(struct scr_index_shared *s, struct scr_index *x);
/* Reads a hash file in memory into x, which is empty; nothing in it is an empty index.
 * The bytes must last as long as x, which may be given them: x->file. Checks VERSION
 * and structure: SCR_E_VERSION for newer ones, SCR_E_CORRUPT otherwise; x is empty
 * then. Of several copies of a checkpoint in version 1 the complete one flushed last is
 * kept; its directory becomes its NAME and stays under DIR. */
int scr_index_unpack(struct scr_index *x, const void *file, size_t n,
                     struct scr_err *err);
/* Begins the hash file in s, for scr_frame_write; s becomes bad where memory ran out,
 * now or in an edit. */
void scr_index_pack(struct scr_str *s, const struct scr_index *x);

/* --- edits --- */
/* Adds or replaces dataset (by ID) with COMPLETE and FLUSHED=when; complete clears
 * FAILED. SCR_E_ARG: not a dataset; SCR_E_NOMEM. */
int scr_index_add(struct scr_index *x, const scr_hash *dset, int complete, time_t when);
/* As above, but FAILED stays: a repaired dataset is not one that was written again. */
int scr_index_mend(struct scr_index *x, const scr_hash *dset, int complete,
                   time_t when);
/* 1 if it existed; drops CURRENT if it leads to it. */
int scr_index_remove(struct scr_index *x, int id);
/* Removes every dataset with a larger id: 1 if there was one. */
int scr_index_drop_after(struct scr_index *x, int id);
/* SCR_E_NOENT if no such name. */
int scr_index_set_current(struct scr_index *x, const char *name);
/* Makes dataset id current if it is a complete checkpoint that has not failed, and
 * newer than the one CURRENT leads to, or, where that is none, than all others: a
 * restart that finds no CURRENT begins with the newest, and must not go back because an
 * older one arrived. SCR_OK (also when nothing is to be done) or SCR_E_NOMEM. */
int scr_index_advance_current(struct scr_index *x, int id);
void scr_index_unset_current(struct scr_index *x);
void scr_index_mark_fetched(struct scr_index *x, int id, time_t when);
/* Also drops CURRENT if it leads to it. */
void scr_index_mark_failed(struct scr_index *x, int id, time_t when);
void scr_index_clear_failed(struct scr_index *x, int id);
void scr_index_mark_incomplete(struct scr_index *x, int id);
/* Incomplete from now on, and marked for deletion: DELETING stays until the dataset is
 * removed or added again. */
void scr_index_mark_doomed(struct scr_index *x, int id);
/* A flush is over: adds the dataset as complete, and advances CURRENT. */
int scr_index_arrive(struct scr_index *x, const scr_hash *dset, time_t when);
/* Notes a path of the dataset that no newer complete one lists (store/replaced.h). */
void scr_index_set_own(struct scr_index *x, int id, const char *path);

/* --- questions --- */
/* SCR_E_NOENT if there is no such id. Texts borrow from the index, until that entry is
 * edited. */
int scr_index_get(const struct scr_index *x, int id, struct scr_index_entry *e,
                  struct scr_err *err);
int scr_index_has(const struct scr_index *x, int id);
int scr_index_is_complete(const struct scr_index *x, int id);
int scr_index_is_good(const struct scr_index *x, int id); /* and has not failed */
/* Appends its dataset hash, with all keys; SCR_E_NOENT, SCR_E_NOMEM. */
int scr_index_dataset(const struct scr_index *x, int id, scr_hash *dset);
int scr_index_find(const struct scr_index *x, const char *name); /* id or -1 */
int scr_index_max_id(const struct scr_index *x);                 /* 0: empty */
/* Largest id that is a complete checkpoint not marked failed; -1: none. */
int scr_index_newest(const struct scr_index *x);
/* Ids descending, malloc'd. SCR_OK or SCR_E_NOMEM. */
int scr_index_ids(const struct scr_index *x, int **ids, size_t *n);

#endif
