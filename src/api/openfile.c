/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_File_open of routed names. In a store of nodes each rank has another path for the
 * same file; MPI libraries then wait for ever for ranks that are at another file. What
 * opens files by MPI (HDF5, NetCDF) comes by this name, so such an open is refused
 * here, on all ranks, before it begins. All else is passed on. */
#include "api/openfile.h"

#include "scr.h"

/* As the handler of files that could not be opened has it: programs are given the
 * error, unless they asked to be ended. A handler of their own cannot be called without
 * a file.
 */
static int fail(MPI_Comm comm, int code)
{
    MPI_Errhandler handler = MPI_ERRORS_RETURN;
    PMPI_File_get_errhandler(MPI_FILE_NULL, &handler);
    if (handler == MPI_ERRORS_ARE_FATAL)
        PMPI_Abort(comm, code);
    return code;
}

SCR_API int MPI_File_open(MPI_Comm comm, const char *name, int mode, MPI_Info info,
                          MPI_File *file)
{
    if (!scr_open_is_refused_all(comm, name))
        return PMPI_File_open(comm, name, mode, info, file);
    *file = MPI_FILE_NULL;
    return fail(comm, MPI_ERR_NOT_SAME);
}

/* This one's address, whoever is found first by the name. */
extern __typeof__(MPI_File_open) scr_own_open
    __attribute__((alias("MPI_File_open"), visibility("hidden")));

int scr_open_is_wrapped(void)
{
    /* The compiler must not conclude that an alias is the same: another library may
     * come first. */
    __typeof__(&scr_own_open) volatile called = MPI_File_open, own = scr_own_open;
    return called == own;
}
