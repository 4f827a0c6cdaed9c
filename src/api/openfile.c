/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_File_open of routed names. In a store of nodes each rank has another path for the
 * same file; MPI libraries then wait for ever for ranks that are at another file. What
 * opens files by MPI (HDF5, NetCDF) comes by this name, so such an open is refused
 * here, on all ranks, before it begins. All else is passed on. */
#include "api/openfile.h"

#include "api/bind.h"

/* As the handler of files that could not be opened has it: programs are given the
 * error, unless they asked to be ended. Their own handler cannot be called without a
 * file.
 */
static int fail(MPI_Comm comm, int code)
{
    MPI_Errhandler handler = MPI_ERRORS_RETURN;
    PMPI_File_get_errhandler(MPI_FILE_NULL, &handler);
    if (handler == MPI_ERRORS_ARE_FATAL)
        PMPI_Abort(comm, code);
    return code;
}

/* 1 on all ranks if the file is not opened; *code is what the program is given. */
static int refuse_all(MPI_Comm comm, const char *name, int *code)
{
    int refused = scr_open_is_refused_all(comm, name);
    if (refused)
        *code = fail(comm, MPI_ERR_NOT_SAME);
    return refused;
}

SCR_API int MPI_File_open(MPI_Comm comm, const char *name, int mode, MPI_Info info,
                          MPI_File *file)
{
    int code;
    if (!refuse_all(comm, name, &code))
        return PMPI_File_open(comm, name, mode, info, file);
    *file = MPI_FILE_NULL;
    return code;
}

int scr_bind_open_file(int comm, const char *name, int *file, int *code)
{
    int refused = refuse_all(PMPI_Comm_f2c((MPI_Fint)comm), name, code);
    if (refused)
        *file = (int)PMPI_File_c2f(MPI_FILE_NULL);
    return refused;
}

/* The address of this definition, even if the name resolves to another one. */
extern __typeof__(MPI_File_open) scr_own_open
    __attribute__((alias("MPI_File_open"), visibility("hidden")));

int scr_open_is_wrapped(void)
{
    /* The compiler must not conclude that an alias is the same: another library may
     * come first. */
    __typeof__(&scr_own_open) volatile called = MPI_File_open, own = scr_own_open;
    return called == own;
}
