/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that all ranks of a job write together. */
#ifndef SCR_TEST_HELPER_SHARED_H
#define SCR_TEST_HELPER_SHARED_H

#include "helper_job.h"

/* SCR_Route_file of <prefix>/name. */
int job_route(struct job *job, struct scr_ctx *ctx, const char *name, char *path,
              struct scr_err *err);
/* Routes <prefix>/shared.<seed> and writes this rank's part of it with MPI-IO; 1: done.
 */
int job_write_shared(struct job *job, struct scr_ctx *ctx, int seed);
/* 1 if this rank, in a restart, is given the file and finds every rank's part in it. */
int job_shared_ok(struct job *job, struct scr_ctx *ctx, int seed);

#define CHECK_TEXT(err, part)                                                          \
    do {                                                                               \
        if (strstr((err)->text, part) == NULL)                                         \
            mpi_test_fail(t, __FILE__, __LINE__, "\"%s\" lacks \"%s\"", (err)->text,   \
                          part);                                                       \
    } while (0)

#endif
