/* SPDX-License-Identifier: BSD-3-Clause */
/* A dataset on its way out of the cache: which files go where, and the steps that all
 * flushes share, with any copying process. Inside par only; the order of the steps is
 * that of par/pfs/flush.h. Calls ending in _all are collective and agreed. */
#ifndef SCR_PAR_OUTGOING_H
#define SCR_PAR_OUTGOING_H

#include "base/ids.h"
#include "base/table.h"
#include "par/pfs/flush.h"
#include "store/flushing.h"
#include "xfer/xfer.h"

struct scr_out_file {
    int rank;                  /* that wrote it */
    const char *src;           /* in cache, borrowed from the filemap; or where the
                                  application wrote it, NULL: in its place */
    char *dest, *full;         /* below the prefix, and whole */
    const char *asked;         /* another destination that was asked for; NULL: none;
                                  borrowed */
    int is_shared;             /* several ranks routed it */
    struct scr_xfer_file xfer; /* borrows from the above; what was copied, later */
};

/* A destination and the rank that has a file for it. */
struct scr_out_dest {
    struct scr_item item;
    int rank;
    int is_packed; /* only if it is compressed */
};

/* Results that an earlier flush of the dataset has reported. */
struct scr_past {
    int *node; /* that have records; the same on all ranks */
    size_t n;
    uint64_t stamp; /* of its plan; 0: it does not say */
    int has_plan;   /* rank 0 has found one, or does not know */
    int believed;   /* the index has the dataset, as one that is not complete */
};

struct scr_outgoing {
    struct scr_prefix_dset at;
    const struct scr_copy_opts *o;
    const scr_hash *dset;
    struct scr_out_file *file;
    size_t n;
    struct scr_ids ranks;   /* this rank, or those it flushes for */
    struct scr_table dirs;  /* below the prefix: those this rank is responsible for */
    struct scr_table dests; /* of struct scr_out_dest: those destinations that
                               this rank is responsible for (par/pfs/lists.h) */
    int has_dests;          /* they are known */
    int replaces;           /* some destination existed before */
    int any_replaces;       /* on some rank */
    int changed;            /* a file turned out to be other than was recorded */
    struct scr_ids older;   /* those that list one, see scr_outgoing_begin_all; on
                               rank 0 */
    struct scr_ids judged;  /* those that list none; on rank 0 */
    int in_place;           /* some file was written in its place, on any rank */
    const struct scr_ids *known; /* rank 0's: those that were complete before that, as
                                    in struct scr_publish; NULL: it was not */
    const scr_hash *replacing;   /* rank 0's: to be noted before the older ones are
                                  demoted (store/replacing.h); NULL: no */
    int pack;                    /* as in o, unless names stand in the way */
    struct scr_flushing mark;    /* rank 0's, from scr_outgoing_begin_all on */
    struct scr_past past;        /* from scr_outgoing_find_landed_all on */
};

/* Finds this rank's files and checks where all ranks' go; nothing is written. f has its
 * borrowed members set. scr_outgoing_fini in any case. */
int scr_outgoing_collect_all(struct scr_outgoing *f, const scr_filemap *map,
                             struct scr_err *err);
/* The same with the files that the application wrote. */
int scr_outgoing_list_all(struct scr_outgoing *f, const struct scr_published *file,
                          size_t n, struct scr_err *err);
void scr_outgoing_fini(struct scr_outgoing *f);

/* Marks the files that an earlier flush of this dataset got into place (invariant P12);
 * nothing is written. rc, here and below: what this rank found before; nothing is done
 * if it is an error of any rank. Agreed. */
int scr_outgoing_find_landed_all(struct scr_outgoing *f, int rc, struct scr_err *err);
/* The same, and removes its plan: from here on only this flush completes the dataset.
 * The code is each rank's own; scr_outgoing_begin_all agrees on it. */
int scr_outgoing_resume_all(struct scr_outgoing *f, int rc, struct scr_err *err);
/* 1 if the file is still the one that was put in its place. Local. */
int scr_outgoing_is_in_place(const struct scr_outgoing *f,
                             const struct scr_out_file *file);
/* Removes the records that were found, this rank its share of them. Local. */
int scr_outgoing_forget(const struct scr_outgoing *f, struct scr_err *err);
/* The index entry, incomplete, and the dataset's directory without a summary. f->older
 * gets the datasets that list one of the destinations, whatever their names: they stay
 * complete until scr_demote (store/demote.h). The plans of pending ones are cancelled.
 * Marks the flush as under way (store/flushing.h), until scr_outgoing_fini.
 * SCR_E_NEWER, and nothing is changed, if a complete one of them is newer and has not
 * failed (invariants P15, P16).
 * SCR_E_VERSION, nothing is changed: files must be replaced, and the files of a
 * complete dataset are not known, because only a newer version can read its list. */
int scr_outgoing_begin_all(struct scr_outgoing *f, int rc, struct scr_err *err);
/* Before it is known whether a destination exists: where none does, none of those that
 * are complete now lists one. Rank 0's, local. */
int scr_outgoing_note_complete(struct scr_outgoing *f, struct scr_err *err);
/* Once more, of those that another job or a command has made complete or pending since:
 * they come into f->older, or are a reason to stop, as above. A process that completes
 * or plans one after this call finds our plan, if there is one. Rank 0's code is its
 * own, to be agreed on. */
int scr_outgoing_look_again_all(struct scr_outgoing *f, int rc, struct scr_err *err);
/* All files wait for their names: f->older, after a last look, are complete no more.
 * SCR_E_CANCELLED: nor is this dataset wanted any more, it is being deleted. */
int scr_outgoing_demote_all(struct scr_outgoing *f, int rc, struct scr_err *err);
/* Rank 0: all parts exist. Summary, then the index, unless the dataset is being
 * deleted; then what it replaced goes (store/replaced.h). dset: as they are to have it.
 */
int scr_outgoing_complete(const struct scr_outgoing *f, const scr_hash *dset,
                          struct scr_err *err);
/* Each directory made by the rank that is responsible for it, then synced by it. The
 * code is each rank's own, to be agreed on. */
int scr_outgoing_make_dirs_all(struct scr_outgoing *f, struct scr_err *err);
int scr_outgoing_sync_dirs_all(struct scr_outgoing *f, struct scr_err *err);
/* A record that is written in advance: the sizes are those files have now. */
void scr_outgoing_fix_sizes(struct scr_outgoing *f);
/* The parts of rank2file and its root, from what is known of the files now. */
int scr_outgoing_record_all(const struct scr_outgoing *f, int rc, struct scr_err *err);
/* Bytes of this rank's files. */
uint64_t scr_outgoing_bytes(const struct scr_outgoing *f);
/* Bytes and files of all ranks. */
int scr_outgoing_count_all(const struct scr_outgoing *f, int rc, uint64_t *bytes,
                           uint64_t *files, struct scr_err *err);
/* The dataset hash as summary and index get it; NULL: out of memory. */
scr_hash *scr_outgoing_dataset(const struct scr_outgoing *f, uint64_t bytes,
                               uint64_t files);

/* The transfer of what is not in place; NULL on error. hooks: landed, finished, arg and
 * sync_dirs. */
struct scr_xfer *scr_outgoing_xfer(const struct scr_outgoing *f,
                                   const struct scr_xfer_opts *hooks,
                                   struct scr_err *err);
/* Takes over what its files turned out to be; f->changed: they are not as recorded. */
void scr_outgoing_take(struct scr_outgoing *f, const struct scr_xfer_file *copied);

#endif
