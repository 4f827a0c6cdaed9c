/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets that are flushed and fetched: files, runs, and what a flush leaves. */
#ifndef SCR_TEST_HELPER_FLUSHED_H
#define SCR_TEST_HELPER_FLUSHED_H

#include "helper_fault.h"
#include "helper_move.h"
#include "par/pfs/flush.h"
#include "par/pfs/rank2file_all.h"
#include "store/cache.h"

enum { ID = 7, BUF = 1000 };

static const struct scr_env posix = { .sys = &scr_sys_posix };
static const struct scr_env faulty = { .sys = &test_fault_sys };

/* A job with dataset ID in cache, one rank a node, and a prefix directory. */
struct scene {
    const char *root;
    struct move_job job;
    char prefix_path[700];
    struct scr_prefix prefix;
    struct scr_copy_opts opts;
    scr_hash *dset;
    uint64_t bytes;
};

void scene_prefix(struct mpi_test *t, struct scene *s);

void scene_open(struct mpi_test *t, struct scene *s, enum move_kind kind);

void scene_close(struct mpi_test *t, struct scene *s);

int flush(struct mpi_test *t, struct scene *s, const struct scr_env *env,
          struct scr_err *err);

/* Into an empty cache. */
int fetch(struct mpi_test *t, struct scene *s, const struct scr_env *env,
          struct scr_err *err);

/* Path of our file i below the prefix. */
const char *at_prefix(const struct mpi_test *t, const struct scene *s, int i);

const char *at_record(const struct scene *s, const char *name);

long total_files(int nranks, enum move_kind kind);

uint64_t total_bytes(int nranks, enum move_kind kind);

void check_files(struct mpi_test *t, struct scene *s, enum move_kind kind);

/* COMPLETE of the index entry, -1: there is none. */
int index_complete(struct mpi_test *t, struct scene *s, int id, int *current);

void check_record(struct mpi_test *t, struct scene *s, enum move_kind kind);

void check_fetched(struct mpi_test *t, struct scene *s, enum move_kind kind);

void flip(struct mpi_test *t, const char *path, long at);

enum taken { TAKEN_BY_FILE, TAKEN_BY_LINK, TAKEN_BY_DIRECTORY };

#endif
