/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_FILE_OPEN of routed names (api/openfile.c), where the MPI library does not come
 * by the call of C. Arguments are addresses that are passed on as they are; comm and
 * file are integers, also in mpi_f08, whose types hold nothing else. The length of the
 * name is an argument more, the last one: the lower half of it is enough. Of the shared
 * library only: a static one could not find what it wraps. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/bind.h"

typedef void *arg;
typedef void open_fn(arg comm, arg name, arg mode, arg info, arg file, arg ierr,
                     arg length);

/* Without the blanks that fill it up; NULL: no memory, the name counts as none. */
static char *text_of(const char *name, size_t n)
{
    while (n > 0 && name[n - 1] == ' ')
        n--;
    return strndup(name, n);
}

static int is_refused_all(arg comm, arg name, arg file, arg ierr, arg length)
{
    int code = 0;
    char *text = text_of(name, (uint32_t)(uintptr_t)length);
    int refused = scr_bind_open_file(*(const int *)comm, text, file, &code);
    if (refused && ierr != NULL) /* optional in mpi_f08 */
        *(int *)ierr = code;
    free(text);
    return refused;
}

/* The MPI library of the program comes after this library. */
#define WRAP(name)                                                                     \
    SCR_API open_fn name;                                                              \
    void name(arg comm, arg path, arg mode, arg info, arg file, arg ierr, arg length)  \
    {                                                                                  \
        open_fn *real;                                                                 \
        if (is_refused_all(comm, path, file, ierr, length))                            \
            return;                                                                    \
        *(void **)&real = dlsym(RTLD_NEXT, #name);                                     \
        real(comm, path, mode, info, file, ierr, length);                              \
    }

/* As compilers spell it, and the module mpi_f08. */
WRAP(mpi_file_open)
WRAP(mpi_file_open_)
WRAP(mpi_file_open__)
WRAP(mpi_file_open_f08_)
WRAP(mpi_file_open_f08ts_)
WRAP(MPI_FILE_OPEN)
