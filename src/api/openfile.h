/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the façade and the wrapper of MPI_File_open. The wrapper is an object of its
 * own: a static program in which a tool wraps the call already does not get it. */
#ifndef SCR_API_OPENFILE_H
#define SCR_API_OPENFILE_H

#include <mpi.h>

/* 1 if MPI_File_open, called from anywhere in this process, is the wrapper. */
int scr_open_is_wrapped(void);
/* Collective over comm. 1: the open must not be tried, one line has said why. */
int scr_open_is_refused_all(MPI_Comm comm, const char *name);

#endif
