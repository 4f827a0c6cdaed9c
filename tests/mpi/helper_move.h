/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs on simulated nodes, one after the other inside one mpirun: every node is a
 * directory <root>/node.<k>/{cntl,cache}, every job places its ranks on nodes as it
 * likes and finds what the job before left there.
 *
 *     struct move_job job;
 *     move_start(t, &job, root, env, place[rank]);   // collective
 *     move_write(t, &job, 7, MOVE_MIXED);   // dataset 7 as a checkpoint leaves it
 *     move_stop(&job);
 *     …
 *     move_check(t, &job, 7, MOVE_MIXED);   // this rank has all its files of 7
 */
#ifndef SCR_TEST_HELPER_MOVE_H
#define SCR_TEST_HELPER_MOVE_H

#include "fmt/filemap.h"
#include "mpi_test.h"
#include "store/cntl.h"

struct move_job {
    struct scr_env env;
    struct scr_comm node;
    struct scr_cntl cntl;
    char cache[700];
    scr_filemap *map;
};

/* The files of the ranks of a dataset. */
enum move_kind {
    MOVE_MIXED, /* three or four, one of them empty, two with the same base name */
    MOVE_HOLES, /* every third rank has none */
    MOVE_NONE,
    MOVE_EMPTY, /* two of zero bytes */
    MOVE_MANY,  /* 300 small ones */
    MOVE_LARGE  /* two, of some hundred messages */
};

/* Fresh directory <t->dir>/<case>.<serial>, the same on all ranks; removed by
 * move_root_remove. */
const char *move_root(struct mpi_test *t);
void move_root_remove(struct mpi_test *t);

void move_start(struct mpi_test *t, struct move_job *job, const char *root,
                const struct scr_env *env, int node);
void move_stop(struct move_job *job);

/* Dataset id of this rank, its redundancy file included, entered in the map and
 * stored. */
void move_write(struct mpi_test *t, struct move_job *job, int id, enum move_kind kind);
/* <cache>/scr.dataset.<id>; valid until the next call. */
const char *move_dset_dir(const struct move_job *job, int id);
/* The entry of (id, own rank) and its files are those move_write made, here. */
void move_check(struct mpi_test *t, struct move_job *job, int id, enum move_kind kind);
/* Bytes of file i of rank in dataset id (i = -1: redundancy file) are at path; 1 or 0.
 */
int move_same(const char *path, int id, int rank, int i, enum move_kind kind);
int move_nfiles(int rank, enum move_kind kind);
uint64_t move_size(int rank, int i, enum move_kind kind);
void move_rel(char *rel, size_t n, int i);             /* of file i, below rank.<r> */
void move_dest(char *dest, size_t n, int rank, int i); /* below the prefix */
void *move_bytes(int id, int rank, int i, enum move_kind kind, size_t *n);

/* Collective: all regular files below the caches of the nodes, every one of them named
 * by a filemap of its node (invariant C1, checked): their number on all ranks. */
long move_count_files(struct mpi_test *t, const char *root, int nnodes);
/* Files all ranks of the dataset have together, redundancy files included. */
long move_expected(int nranks, enum move_kind kind);

/* rc is the same on all ranks (checked). */
void move_same_rc(struct mpi_test *t, int rc);
void move_mkdir(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
