/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that libraries for other languages need in addition to scr.h: calls that know
 * the size of the buffers they return text in, and that all return a code. They are
 * exported, except for libraries that are built and installed together with this one:
 * no header with them is installed, and they may change with every version.
 *
 * size: bytes of the buffer, NUL included, at least 1. What does not fit is SCR_E_NAME,
 * on all ranks of a collective call if it does not fit on one of them; then nothing is
 * done. All else is as in scr.h. */
#ifndef SCR_API_BIND_H
#define SCR_API_BIND_H

#include <stddef.h>

#include "scr.h"

/* *value: malloc'd, of less than size characters; NULL for a setting, an error, or if
 * there is no value. */
SCR_API int scr_bind_config(const char *config, size_t size, char **value);
/* comm: a handle of Fortran. */
SCR_API int scr_bind_config_comm(int comm, const char *config, size_t size,
                                 char **value);
SCR_API int scr_bind_init_comm(int comm);
SCR_API int scr_bind_route_file(const char *name, char *file, size_t size);
SCR_API int scr_bind_have_restart(int *flag, char *name, size_t size);
SCR_API int scr_bind_start_restart(char *name, size_t size);
SCR_API int scr_bind_restart_file(int i, char *file, size_t size, int *rank);
SCR_API int scr_bind_dataset_name(int i, char *name, size_t size);
SCR_API int scr_bind_get_version(char *version, size_t size);

/* Before MPI opens a file together, for a program that does not come by MPI_File_open
 * of C. Collective over comm. 1 on all its ranks: the file must not be opened, the
 * program must get *file and *code; 0: it is opened. comm, *file: handles of
 * Fortran. */
SCR_API int scr_bind_open_file(int comm, const char *name, int *file, int *code);

#endif
