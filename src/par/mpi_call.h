/* SPDX-License-Identifier: BSD-3-Clause */
/* The return codes of MPI calls on our communicators (which return errors) as ours. */
#ifndef SCR_PAR_MPI_CALL_H
#define SCR_PAR_MPI_CALL_H

#include "base/err.h"
#include <mpi.h>

/* SCR_OK, or SCR_E_MPI with "<what>: <text of MPI>". */
int scr_mpi_check(int code, const char *what, struct scr_err *err);
/* Waits for n requests; all are waited for, also after an error. (Some compilers take
 * the MPI_STATUSES_IGNORE of MPICH for an array that is too short.) */
int scr_mpi_wait(MPI_Request *req, size_t n, const char *what, struct scr_err *err);

#endif
