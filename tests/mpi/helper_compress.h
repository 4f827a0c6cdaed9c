/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs whose flushes compress. */
#ifndef SCR_TEST_HELPER_COMPRESS_H
#define SCR_TEST_HELPER_COMPRESS_H

#include "base/str.h"
#include "helper_fault.h"
#include "helper_job.h"
#include "helper_pfs.h"
#include "helper_prefix.h"
#include "helper_shared.h"
#include "store/catalog.h"

static const char *const nodes = "n[1-4]";

#define ZSTD  "SCR_FLUSH_COMPRESS=ZSTD"
#define FLUSH "SCR_FLUSH=1"
#define ASYNC "SCR_FLUSH_ASYNC=1"

/* As many as are worth it on each rank, and some that are not. */
long two_large_ones(int rank, int file, int seed);

void begin(struct mpi_test *t, struct job *job);

/* Files below the prefix, SCR's own among them, whose path contains part. */
int count(struct job *job, const char *part);

/* The numbers in the list of files of dataset id: files, and compressed ones; that
 * their sizes and CRCs are those of the files is checked on rank 0. */
void check_list(struct job *job, int id, size_t files, size_t packed);

#endif
