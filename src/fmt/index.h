/* SPDX-License-Identifier: BSD-3-Clause */
/* The index of datasets in a prefix directory (index.scr, version 2; version 1 of the
 * developer's manual 9.1 is converted on read). Edits a hash; store/prefix.h does the
 * file. Unknown keys are kept.
 *
 *   VERSION=2  CURRENT=<name>  NAME/<name>/DSET/<id>
 *   DSET/<id>/{DSET/{dataset}, COMPLETE=0|1, FLUSHED=<ts>, FETCHED/<ts>…, FAILED/<ts>…,
 *              DELETING, OWN=<path>}
 */
#ifndef SCR_FMT_INDEX_H
#define SCR_FMT_INDEX_H

#include "base/err.h"
#include "base/hash.h"
#include "fmt/dataset.h"
#include <time.h>

/* Checks VERSION and structure, converts version 1 in place; an empty hash becomes an
 * empty version 2 index. SCR_E_VERSION for newer ones, SCR_E_CORRUPT otherwise. NAME is
 * mended where it disagrees with DSET. Of several copies of a checkpoint in version 1
 * the complete one flushed last is kept; its directory becomes its NAME and stays under
 * DIR. */
int scr_index_normal(scr_hash *index, struct scr_err *err);

/* Adds or replaces dataset (by ID) with COMPLETE and FLUSHED=when; complete clears
 * FAILED. A name already used by another id moves to the new one. SCR_E_ARG: not a
 * dataset; SCR_E_NOMEM. */
int scr_index_add(scr_hash *index, const scr_hash *dset, int complete, time_t when);
/* The same, but FAILED stays: what was repaired is not what was written anew. */
int scr_index_mend(scr_hash *index, const scr_hash *dset, int complete, time_t when);
int scr_index_remove(scr_hash *index,
                     int id); /* 1 if it was there; drops CURRENT naming it */
/* Removes every dataset with a larger id; *changed is set if there was one. SCR_OK or
 * SCR_E_NOMEM. */
int scr_index_drop_after(scr_hash *index, int id, int *changed);
int scr_index_set_current(scr_hash *index,
                          const char *name); /* SCR_E_NOENT if no such name */
/* Makes dataset id current if it is a complete checkpoint that has not failed, and
 * CURRENT is unset or leads to no dataset or an older one. SCR_OK (also when nothing is
 * to be done) or SCR_E_NOMEM. */
int scr_index_advance_current(scr_hash *index, int id);
void scr_index_unset_current(scr_hash *index);
const char *scr_index_get_current(const scr_hash *index);
int scr_index_find(const scr_hash *index, const char *name); /* id or -1 */
int scr_index_max_id(const scr_hash *index);                 /* 0: empty */
void scr_index_mark_fetched(scr_hash *index, int id, time_t when);
void scr_index_mark_failed(scr_hash *index, int id,
                           time_t when); /* also drops CURRENT naming it */
void scr_index_clear_failed(scr_hash *index, int id);
/* Incomplete from now on, and to be deleted: DELETING says so until the dataset is
 * removed or added anew. */
void scr_index_mark_doomed(scr_hash *index, int id);
/* Notes a path of the dataset that no newer complete one lists (store/replaced.h). */
void scr_index_set_own(scr_hash *index, int id, const char *path);

struct scr_index_entry {
    int id;
    struct scr_dataset dset;
    int complete, failed, current, doomed;
    const char *flushed; /* timestamp or NULL */
    const char *
        dir; /* version 1: directory below the prefix of files and summary; else NULL */
    const char *own; /* as noted by scr_index_set_own, or NULL */
};
/* SCR_E_NOENT if there is no such id. Strings borrow from index. */
int scr_index_get(const scr_hash *index, int id, struct scr_index_entry *e,
                  struct scr_err *err);
/* Largest id < below (0: no bound) that is a complete checkpoint not marked failed; -1:
 * none. */
int scr_index_newest(const scr_hash *index, int below);
/* Ids descending, malloc'd. SCR_OK or SCR_E_NOMEM. */
int scr_index_ids(const scr_hash *index, int **ids, size_t *n);

#endif
