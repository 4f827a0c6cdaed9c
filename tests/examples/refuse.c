/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded into an example: what it may not open, as on a node whose disk has failed.
 *
 *     REFUSE_FOPEN=rank.2/strip         every fopen of a path that has this in it
 *     REFUSE_OPEN=wave.40/membrane.h5   every open
 *     REFUSE_HDF5=wave.40/membrane.h5   H5Fcreate says no, but HDF5 has it open
 *     REFUSE_RANK=2                     on this process of the job only (default: all)
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PUBLIC __attribute__((visibility("default")))

/* Whether this process is the one that is meant; mpirun itself has no rank. */
static int is_meant(void)
{
    const char *wanted = getenv("REFUSE_RANK"), *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (rank == NULL)
        rank = getenv("PMI_RANK");
    return wanted == NULL || (rank != NULL && strcmp(rank, wanted) == 0);
}

static int is_refused(const char *variable, const char *path)
{
    const char *part = getenv(variable);
    if (part == NULL || path == NULL || strstr(path, part) == NULL || !is_meant())
        return 0;
    errno = EIO;
    return 1;
}

/* dlsym gives data pointers, and C has no conversion of those to functions. */
static void find(const char *name, void *function)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    memcpy(function, &symbol, sizeof symbol);
}

#define FOPEN(name)                                                                    \
    PUBLIC FILE *name(const char *path, const char *mode)                              \
    {                                                                                  \
        FILE *(*real)(const char *, const char *);                                     \
        find(#name, &real);                                                            \
        return is_refused("REFUSE_FOPEN", path) ? NULL : real(path, mode);             \
    }

#define OPEN(name)                                                                     \
    PUBLIC int name(const char *path, int flags, ...)                                  \
    {                                                                                  \
        int (*real)(const char *, int, ...);                                           \
        va_list args;                                                                  \
        va_start(args, flags);                                                         \
        unsigned mode = flags & O_CREAT ? va_arg(args, unsigned) : 0;                  \
        va_end(args);                                                                  \
        find(#name, &real);                                                            \
        return is_refused("REFUSE_OPEN", path) ? -1 : real(path, flags, mode);         \
    }

#undef fopen64
#undef open64
FOPEN(fopen)
FOPEN(fopen64)
OPEN(open)
OPEN(open64)

PUBLIC int64_t H5Fcreate(const char *path, unsigned flags, int64_t create,
                         int64_t access)
{
    int64_t (*real)(const char *, unsigned, int64_t, int64_t);
    find("H5Fcreate", &real);
    int64_t file = real(path, flags, create, access);
    return is_refused("REFUSE_HDF5", path) ? -1 : file;
}
