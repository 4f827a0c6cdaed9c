/* SPDX-License-Identifier: BSD-3-Clause */
/* A place for tests that open files by MPI: directories that all ranks use, and the
 * paths SCR gives for files in the prefix directory. */
#ifndef SCR_TEST_HELPER_OPEN_H
#define SCR_TEST_HELPER_OPEN_H

#include "mpi_test.h"

#include <errno.h>

#include "scr.h"

enum { CREATE = MPI_MODE_CREATE | MPI_MODE_RDWR };

/* A directory of all ranks, named by this variable. The case before may have made it.
 */
static void open_dir(struct mpi_test *t, const char *variable, const char *name)
{
    char path[700];
    snprintf(path, sizeof path, "%s/%s", t->dir, name);
    if (t->comm.rank == 0)
        CHECK(mkdir(path, 0700) == 0 || errno == EEXIST);
    setenv(variable, path, 1);
}

/* A node for each rank, and what SCR_Init needs to know. Collective. */
static void open_place(struct mpi_test *t)
{
    open_dir(t, "SCR_PREFIX", "prefix");
    open_dir(t, "SCR_CACHE_BASE", "cache");
    open_dir(t, "SCR_CNTL_BASE", "cntl");
    mpi_test_barrier(t->comm.comm);
    setenv("SCR_VNODES", "n[1-4]", 1);
    setenv("SCR_JOB_ID", "job", 1);
}

static void open_route(struct mpi_test *t, const char *name, char *path)
{
    char file[SCR_MAX_FILENAME];
    snprintf(file, sizeof file, "%s/prefix/%s", t->dir, name);
    CHECK_INT(SCR_Route_file(file, path), SCR_SUCCESS);
}

#endif
