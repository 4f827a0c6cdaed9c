/* SPDX-License-Identifier: BSD-3-Clause */
/* The control directory: filemaps and the journal of routed files.
 *
 *   filemap.scrinfo            Filemap/<path>…: lists the others (by the node's master)
 *   filemap_<i>.scrinfo        filemap of local rank i
 *   filemap_<i>.scrinfo.jnl    files routed since that filemap was written: records of
 *                              "DSET RANK path\0 crc32" (scr_journal(5)), a torn
 *                              tail is ignored
 *
 * A file may exist in cache only if the filemap or the journal of some local rank names
 * it (invariant C1). */
#ifndef SCR_STORE_CNTL_H
#define SCR_STORE_CNTL_H

#include "base/env.h"
#include "fmt/filemap.h"

struct scr_cntl {
    char *dir;  /* control directory */
    int jnl_fd; /* open journal, -1 */
    char *map_path, *jnl_path;
};

int scr_cntl_open(const struct scr_env *env, const char *dir, int local_rank,
                  struct scr_cntl *c, struct scr_err *err); /* dir must exist */
void scr_cntl_close(const struct scr_env *env, struct scr_cntl *c);

/* Everything this node's control directory knows: master filemap, all filemaps it lists
 * and any other filemap_*.scrinfo, and their journals, merged. A corrupt one is skipped
 * with a warning naming it (its files are lost, the rest is not). */
int scr_cntl_read_node(const struct scr_env *env, const struct scr_cntl *c,
                       scr_filemap *map, struct scr_err *err);
/* The same; the line of each warning is also added to unread (of struct scr_item). */
int scr_cntl_survey_node(const struct scr_env *env, const struct scr_cntl *c,
                         scr_filemap *map, struct scr_table *unread,
                         struct scr_err *err);
/* The same as scr_cntl_read_node for the master of a node that is about to rewrite all
 * filemaps: those of a newer version are first renamed to "<name>.newer.<n>", with a
 * warning. A file that cannot be renamed is an error: it would be replaced. */
int scr_cntl_take_node(const struct scr_env *env, const struct scr_cntl *c,
                       scr_filemap *map, struct scr_err *err);
/* 1 if the directory has nothing but a master filemap, filemaps of the first nlocal
 * local ranks and what newer versions wrote, and no journal: then all that a rank's own
 * filemap does not name is some other rank's. 0 if not, or if it is not known. */
int scr_cntl_is_settled(const struct scr_env *env, const struct scr_cntl *c,
                        int nlocal);
/* 1 if it has no filemap of any kind, and no journal; 0 also if it is not known. */
int scr_cntl_is_empty(const struct scr_env *env, const struct scr_cntl *c);
/* Reads this rank's own filemap into map, an empty one. 1 if it exists, is good, and
 * names only files that world rank wrote; 0: the caller reads it with all others. */
int scr_cntl_read_own(const struct scr_env *env, const struct scr_cntl *c, int rank,
                      scr_filemap *map);
/* 1 if files of a newer version exist: the caches of the node may hold
 * files that only they name. Also 1 if it is not known. */
int scr_cntl_has_newer(const struct scr_env *env, const struct scr_cntl *c);
/* Removes them. */
int scr_cntl_drop_newer(const struct scr_env *env, const struct scr_cntl *c,
                        struct scr_err *err);
/* Master only: the list of filemaps for nlocal ranks; removes filemaps of higher local
 * ranks. */
int scr_cntl_write_master(const struct scr_env *env, const struct scr_cntl *c,
                          int nlocal, struct scr_err *err);
/* Replaces this rank's filemap and empties its journal. */
int scr_cntl_write(const struct scr_env *env, struct scr_cntl *c,
                   const scr_filemap *map, struct scr_err *err);
/* Appends one routed file to the journal: O(1), one write. */
int scr_cntl_journal(const struct scr_env *env, struct scr_cntl *c, int dset, int rank,
                     const char *path, struct scr_err *err);

/* Filemaps of several ranks of a node that name a dataset. */
struct scr_cntl_maps {
    int id;
    struct scr_cntl_map {
        int local; /* rank on its node */
        scr_filemap *map;
    } * of;
    size_t n;
};
void scr_cntl_maps_fini(struct scr_cntl_maps *maps);
/* For who holds the lock of a control directory that is not its own run's. maps, empty:
 * those filemaps of the node that name dataset id, with their journals.
 * SCR_E_UNSUPPORTED: something else there names it, or cannot be read. */
int scr_cntl_maps_of(const struct scr_env *env, const struct scr_cntl *c, int id,
                     struct scr_cntl_maps *maps, struct scr_err *err);
/* Replaces these filemaps, in their order, and empties their journals. */
int scr_cntl_write_maps(const struct scr_env *env, const struct scr_cntl *c,
                        const struct scr_cntl_maps *maps, struct scr_err *err);

/* Held by the lowest rank of a node as long as it lives, also in the cache directories
 * of the node that its run uses (invariant C7). */
#define SCR_CNTL_JOB_LOCK "job.lock"
/* The path of the prefix directory, for messages and other runs. */
#define SCR_CNTL_JOB_PREFIX "job.prefix"
/* In each of those directories: the path of the control directory. */
#define SCR_CNTL_JOB_CNTL "job.cntl"
/* The path in one of these records of dir, malloc'd; NULL: there is none. dir may be
 * NULL. */
char *scr_cntl_job_path(const struct scr_env *env, const char *dir, const char *record);
/* Shared by those who copy from the caches without being a run. */
#define SCR_CNTL_COPY_LOCK "copy.lock"
/* Waits up to wait_s seconds until no run uses the directory any more: processes may
 * take a moment to end. SCR_E_LOCKED: one does. Where there are no locks none is seen.
 */
int scr_cntl_wait_unused(const struct scr_env *env, const char *dir, double wait_s,
                         struct scr_err *err);

/* The journal's bytes, for tests and the golden files. Decode adds to map; stops at a
 * torn tail. */
int scr_journal_encode(int dset, int rank, const char *path, void **buf, size_t *n);
int scr_journal_decode(const void *buf, size_t n, scr_filemap *map, size_t *good);

#endif
