/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets on their way to the prefix directory, recorded there so that the
 * process that comes last can finish them: a thread, a daemon, the next start, a
 * command. In the directory of the dataset:
 *
 *   outgoing.scr       the plan: VERSION=1, STAMP, DSET/{dataset},
 *                      NODE/<n>=<ranks of it>, REPLACES/<id>
 *   landed.<n>.jnl     files of node n that are in place (scr_journal(5) records)
 *   arrived.<n>.jnl    ranks of node n all of whose files are ("/<stamp>" for a path),
 *                      and before that those of their files that were compressed
 *
 * STAMP identifies the attempt to flush a dataset: only records of this one make it
 * complete. A node is numbered by its lowest world rank. The plan is written when
 * everything else that a complete dataset needs is there but its files and its summary;
 * it is all that makes a dataset pending, and is removed when the dataset is complete
 * or its flush is cancelled. The next attempt uses landed files.
 *
 * All calls are local, from any thread or process. Plans are read and removed, and
 * datasets completed, under <prefix>/.scr/outgoing.lock. */
#ifndef SCR_STORE_ARRIVAL_H
#define SCR_STORE_ARRIVAL_H

#include "base/ids.h"
#include "fmt/filemap.h"
#include "store/prefix.h"

/* To flush a dataset. */
struct scr_attempt {
    uint64_t stamp;
    const scr_hash *dset;  /* as the summary and the index are to have it except for
                              COMPLETE */
    const scr_hash *nodes; /* {<n>: {<ranks>}} */
    const struct scr_ids *replaces; /* complete until the first file of this dataset
                                       gets its name (store/demote.h); NULL: none */
};
/* Writes the plan. */
int scr_arrival_plan(const struct scr_env *env, const struct scr_prefix *p, int id,
                     const struct scr_attempt *plan, struct scr_err *err);
/* The plan, read into an empty hash; SCR_E_NOENT if there is none. */
int scr_arrival_plan_read(const struct scr_env *env, const struct scr_prefix *p, int id,
                          scr_hash *plan, struct scr_err *err);
/* 1 if there is one: a plan that cannot be looked at may exist, and another process may
 * complete the dataset. Where the directory of the dataset is a file there is none. */
int scr_arrival_has_plan(const struct scr_env *env, const struct scr_prefix *p, int id);
/* Where it is, malloc'd; NULL: out of memory. */
char *scr_arrival_plan_path(const struct scr_prefix *p, int id);
/* The tag in the names of an attempt's temporaries (xfer/copy.h): no other files have
 * it, so the next attempt can remove them. */
int scr_arrival_tag(uint64_t stamp);
enum { SCR_ARRIVAL_TAG = 0x40000000 }; /* the smallest */
/* Removes the plan: no process completes the dataset any more. No plan is success. */
int scr_arrival_give_up(const struct scr_env *env, const struct scr_prefix *p, int id,
                        struct scr_err *err);

/* Whose records are written. */
struct scr_arrival {
    const struct scr_env *env;
    const struct scr_prefix *p;
    int id, node, rank;
};
/* Files of the rank, by their paths below the prefix, are in place. Not synced: what a
 * crash of the machine takes away is copied again. */
int scr_arrival_landed(const struct scr_arrival *a, const char *const *path, size_t n,
                       struct scr_err *err);
/* The record of one that is there compressed, to be given as its path: "/<stamp>/<size>
 * of the frame/<its CRC>/<path>"; malloc'd, NULL: out of memory. */
char *scr_arrival_packed_name(uint64_t stamp, const struct scr_packed *is,
                              const char *path);
/* The other way round; *path is borrowed. 0: of a file that is stored as it is. */
int scr_arrival_packed_parse(const char *name, uint64_t *stamp, struct scr_packed *is,
                             const char **path);
/* Those of the rank's files, all of them, before scr_arrival_arrived: the process that
 * completes the dataset enters them into the list of files. */
int scr_arrival_packed(const struct scr_arrival *a, const char *const *name, size_t n,
                       struct scr_err *err);
/* All files of the rank are. Synced. */
int scr_arrival_arrived(const struct scr_arrival *a, uint64_t stamp,
                        struct scr_err *err);
/* Enters the landed files of node n's ranks as files of (id, rank) into map. */
int scr_arrival_read(const struct scr_env *env, const struct scr_prefix *p, int id,
                     int node, scr_filemap *map, struct scr_err *err);
/* The nodes there is such a record of, malloc'd. */
int scr_arrival_nodes(const struct scr_env *env, const struct scr_prefix *p, int id,
                      int **node, size_t *n, struct scr_err *err);
/* Removes the records of node n. */
int scr_arrival_forget(const struct scr_env *env, const struct scr_prefix *p, int id,
                       int node, struct scr_err *err);

/* After scr_arrival_arrived: completes the dataset if node's ranks were the last ones,
 * and whatever else is whole (scr_arrivals_adopt). A code without a text: whoever
 * adopts next tries again. */
int scr_arrival_finish(const struct scr_env *env, const struct scr_prefix *p, int id,
                       int node);
/* Completes every pending dataset whose files have all arrived, oldest first: summary,
 * index entry (CURRENT too, if it is newer), and the plan goes; then what they replaced
 * goes (store/replaced.h). A dataset that is being deleted only loses its plan. *n: how
 * many; may be NULL. The first error; later datasets are completed all the same. */
int scr_arrivals_adopt(const struct scr_env *env, const struct scr_prefix *p, int *n,
                       struct scr_err *err);
/* For those who only look: nothing is locked or written. *arrived: 1 if
 * scr_arrivals_adopt would complete the dataset; then what its summary will say is put
 * into dset, an empty hash. A plan that cannot be read is an error. */
int scr_arrival_look(const struct scr_env *env, const struct scr_prefix *p, int id,
                     int *arrived, scr_hash *dset, struct scr_err *err);
/* Enters into the hashes of index.scr and flush.scr (either may be NULL) what
 * scr_arrivals_adopt would write there; *n datasets. A plan that cannot be read is
 * passed over with a warning. */
int scr_arrivals_look(const struct scr_env *env, const struct scr_prefix *p,
                      struct scr_index *index, scr_hash *flush, int *n,
                      struct scr_err *err);
/* Ids of datasets that are pending, or may be if that is not known, ascending,
 * malloc'd. index: as for scr_prefix_unfinished_ids. */
int scr_arrivals_pending(const struct scr_env *env, const struct scr_prefix *p,
                         const struct scr_index *index, int **ids, size_t *n,
                         struct scr_err *err);

#endif
