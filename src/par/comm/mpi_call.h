/* SPDX-License-Identifier: BSD-3-Clause */
/* The return codes of MPI calls on our communicators (which return errors) as ours. */
#ifndef SCR_PAR_MPI_CALL_H
#define SCR_PAR_MPI_CALL_H

#include "base/err.h"
#include <mpi.h>

/* SCR_OK, or SCR_E_MPI with "<what>: <text of MPI>". */
int scr_mpi_check(int code, const char *what, struct scr_err *err);
/* Waits for n requests; all are waited for, also after an error. Polls and gives the
 * processor away in between: some MPI libraries spin in their blocking calls, which
 * costs milliseconds each where there are more ranks than cores. */
int scr_mpi_wait(MPI_Request *req, size_t n, const char *what, struct scr_err *err);
/* One request, with its status. */
int scr_mpi_wait_status(MPI_Request *req, MPI_Status *st, const char *what,
                        struct scr_err *err);
/* The return code of a call that starts *req, and then the wait for it. */
int scr_mpi_finish(int code, MPI_Request *req, const char *what, struct scr_err *err);

#endif
