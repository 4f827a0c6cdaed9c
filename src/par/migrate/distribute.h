/* SPDX-License-Identifier: BSD-3-Clause */
/* Restart, first part: hand the filemaps of a node to the ranks that run there now,
 * and move files to the nodes where their owners run. */
#ifndef SCR_PAR_DISTRIBUTE_H
#define SCR_PAR_DISTRIBUTE_H

#include "base/ids.h"
#include "fmt/filemap.h"
#include "par/comm/comm.h"
#include "store/cntl.h"

/* Collective over world; node: ranks that share cntl. A node whose ranks all find their
 * own filemaps, and no other one, reads just these and writes nothing; where there are
 * none each rank begins its own. Of any other node the master reads every filemap and
 * journal, gives each entry to its owner if that runs there, else spreads the rest
 * evenly by rank; then writes the new master filemap, and every rank its filemap,
 * before old ones go. On return map, empty before, is what this rank is responsible
 * for. Safe to die in at any point: every file stays named by some filemap. world: to
 * name ranks by. The code is that of the node, to be agreed on in world. */
int scr_scatter_filemaps_all(const struct scr_env *env, const struct scr_comm *world,
                             const struct scr_comm *node, struct scr_cntl *cntl,
                             scr_filemap *map, struct scr_err *err);

/* The ids that any rank holds, equal on all ranks. The first SCR_IDS_STRETCH of them,
 * from the least one on, cost no reduction of their own:
 *
 *     int64_t said[SCR_IDS_SAID];
 *     scr_ids_say(&mine, 0, &all, said);
 *     … said becomes the least of all ranks, with what else they agree on …
 *     rc = scr_ids_hear_all(world, &mine, said, &all, err);
 *
 * Each further stretch costs one. */
enum { SCR_IDS_STRETCH = 64, SCR_IDS_SAID = SCR_IDS_STRETCH + 2 };
/* The ids of mine, those this rank holds, from `from` on. Local; all gets room. */
void scr_ids_say(const struct scr_ids *mine, int64_t from, struct scr_ids *all,
                 int64_t *said);
/* Appends to all. SCR_OK, or SCR_E_NOMEM if that is any rank's; agreed. */
int scr_ids_hear_all(const struct scr_comm *world, const struct scr_ids *mine,
                     int64_t *said, struct scr_ids *all, struct scr_err *err);

/* SCR_E_CORRUPT, on all ranks, if the entries of this number are of two datasets (their
 * CREATED differ): runs on other nodes may have given it twice. */
int scr_check_one_dataset_all(const struct scr_comm *world, const scr_filemap *map,
                              int id, struct scr_err *err);

struct scr_moving {
    const struct scr_env *env;
    const struct scr_comm *world;
    struct scr_cntl *cntl;
    scr_filemap *map; /* what this rank is responsible for */
    size_t buf_max;   /* bytes of a message, read or write, if that is 9 or more */
    /* Set to 1, on all ranks, before files that came over MPI are removed where they
       came from; may be NULL. */
    int *released;
    /* Set, on all ranks: 1 if every rank's filemap has its own files, in place, and
       no other rank's, so that no file had to be moved or checked; may be NULL. */
    int *whole;
};

/* Moves the files of dataset id so that each owner holds its own below its dset_dir
 * (scr_dset_path of its cache; made with rank.<r>/ and .scr/). Files in place
 * stay; those elsewhere on the owner's node are renamed, or copied from another file
 * system; the others come over MPI, from the holder that has most of what is lacking
 * (size as recorded), then from the next, in batches and rounds: each rank sends to one
 * and receives from one at a time. A file is written under a temporary name, checked
 * against its recorded CRC if it came over MPI, renamed, entered in the owner's filemap
 * on disk, and only then removed at the source; names are on disk before the files
 * exist (invariant C1). Dying anywhere loses nothing: call it again.
 *
 * stayed: NULL, or what came over MPI also stays where it came from, so that a node may
 * be lost before the dataset is restored (invariant C2); *stayed, equal on all ranks,
 * says whether there is any such file. A second call, with NULL, removes them. Where
 * there is no room for both it is as with NULL.
 *
 * Another number of ranks: SCR_E_RANKS on all, before anything is touched. Entries of
 * two datasets with this number (their CREATED differ): SCR_E_CORRUPT, before anything
 * is touched. Files that are missing, unreadable or damaged are a warning here and no
 * error: restore decides. rc: what this rank found before; if any rank's is an error
 * all leave with that. */
int scr_distribute_all(const struct scr_moving *m, int id, const char *dset_dir, int rc,
                       int *stayed, struct scr_err *err);

#endif
