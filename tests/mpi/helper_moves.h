/* SPDX-License-Identifier: BSD-3-Clause */
/* Placements of ranks on nodes, and runs that move files between them. */
#ifndef SCR_TEST_HELPER_MOVES_H
#define SCR_TEST_HELPER_MOVES_H

#include "helper_fault.h"
#include "helper_move.h"
#include "par/migrate/distribute.h"

enum { NNODES = 16, BUF = 1000 };

static const struct scr_env posix = { .sys = &scr_sys_posix };
static const struct scr_env faulty = { .sys = &test_fault_sys };

int block(int rank, int per_node);

void first_run(struct mpi_test *t, const char *root, int node,
               const enum move_kind *kinds, int ndsets);

int distribute(struct mpi_test *t, struct move_job *job, int id, size_t buf,
               int *stayed, struct scr_err *err);

int scatter_all(struct mpi_test *t, struct move_job *job, struct scr_err *err);

/* Filemaps to their ranks, then every dataset to its owners. */
int restart(struct mpi_test *t, struct move_job *job, size_t buf, int *stayed,
            struct scr_err *err);

/* A run on these nodes finds everything that the first one left on them, and leaves no
 * more. */
void check_restart(struct mpi_test *t, const char *root, int from, int to,
                   const enum move_kind *kinds, int ndsets, size_t buf);

#endif
