/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of MPI in C: begin, end, the blocking collective ones, and those that open
 * files for MPI itself. */
#include <stdlib.h>

#include "meet.h"
#include "scr.h"

/* Handles are passed on as they are, which cannot be if the program's are wider. */
static void check_handles(void)
{
    if (sizeof(MPI_Comm) < sizeof(void *) && scr_ip_is_foreign())
        exit(EXIT_FAILURE);
}

SCR_API int MPI_Init(int *argc, char ***argv)
{
    check_handles();
    int rc = PMPI_Init(argc, argv);
    if (rc == MPI_SUCCESS)
        scr_ip_start_all();
    return rc;
}

SCR_API int MPI_Init_thread(int *argc, char ***argv, int wanted, int *provided)
{
    check_handles();
    int rc = PMPI_Init_thread(argc, argv, wanted, provided);
    if (rc == MPI_SUCCESS)
        scr_ip_start_all();
    return rc;
}

SCR_API int MPI_Finalize(void)
{
    scr_ip_end_all();
    return PMPI_Finalize();
}

SCR_API int MPI_Abort(MPI_Comm comm, int code)
{
    scr_ip_abandon();
    return PMPI_Abort(comm, code);
}

/* A program that ends without MPI_Finalize. */
__attribute__((destructor)) static void at_exit(void)
{
    scr_ip_abandon();
}

/* --- files that MPI writes: they stay where they are --- */

SCR_API int MPI_File_open(MPI_Comm comm, const char *name, int mode, MPI_Info info,
                          MPI_File *file)
{
    scr_ip_expose_all(comm, name);
    scr_ip_inside++;
    int rc = PMPI_File_open(comm, name, mode, info, file);
    scr_ip_inside--;
    return rc;
}

SCR_API int MPI_File_delete(const char *name, MPI_Info info)
{
    scr_ip_inside++;
    int rc = PMPI_File_delete(name, info);
    scr_ip_inside--;
    return rc;
}

/* --- collective calls --- */

#define COLLECTIVE(name, params, args)                                                 \
    SCR_API int MPI_##name params                                                      \
    {                                                                                  \
        scr_ip_meet_all(comm);                                                         \
        return PMPI_##name args;                                                       \
    }
/* Parameters that many of them have. */
#define SEND const void *sbuf, int scount, MPI_Datatype stype
#define SENDV                                                                          \
    const void *sbuf, const int *scounts, const int *sdispls, MPI_Datatype stype
#define RECV    void *rbuf, int rcount, MPI_Datatype rtype
#define RECVV   void *rbuf, const int *rcounts, const int *rdispls, MPI_Datatype rtype
#define OPERATE const void *sbuf, void *rbuf, int count, MPI_Datatype type, MPI_Op op

COLLECTIVE(Barrier, (MPI_Comm comm), (comm))
COLLECTIVE(Bcast, (void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm),
           (buf, count, type, root, comm))
COLLECTIVE(Reduce, (OPERATE, int root, MPI_Comm comm),
           (sbuf, rbuf, count, type, op, root, comm))
COLLECTIVE(Allreduce, (OPERATE, MPI_Comm comm), (sbuf, rbuf, count, type, op, comm))
COLLECTIVE(Scan, (OPERATE, MPI_Comm comm), (sbuf, rbuf, count, type, op, comm))
COLLECTIVE(Exscan, (OPERATE, MPI_Comm comm), (sbuf, rbuf, count, type, op, comm))
COLLECTIVE(Gather, (SEND, RECV, int root, MPI_Comm comm),
           (sbuf, scount, stype, rbuf, rcount, rtype, root, comm))
COLLECTIVE(Gatherv, (SEND, RECVV, int root, MPI_Comm comm),
           (sbuf, scount, stype, rbuf, rcounts, rdispls, rtype, root, comm))
COLLECTIVE(Allgather, (SEND, RECV, MPI_Comm comm),
           (sbuf, scount, stype, rbuf, rcount, rtype, comm))
COLLECTIVE(Allgatherv, (SEND, RECVV, MPI_Comm comm),
           (sbuf, scount, stype, rbuf, rcounts, rdispls, rtype, comm))
COLLECTIVE(Scatter, (SEND, RECV, int root, MPI_Comm comm),
           (sbuf, scount, stype, rbuf, rcount, rtype, root, comm))
COLLECTIVE(Scatterv, (SENDV, RECV, int root, MPI_Comm comm),
           (sbuf, scounts, sdispls, stype, rbuf, rcount, rtype, root, comm))
COLLECTIVE(Alltoall, (SEND, RECV, MPI_Comm comm),
           (sbuf, scount, stype, rbuf, rcount, rtype, comm))
COLLECTIVE(Alltoallv, (SENDV, RECVV, MPI_Comm comm),
           (sbuf, scounts, sdispls, stype, rbuf, rcounts, rdispls, rtype, comm))
COLLECTIVE(Reduce_scatter,
           (const void *sbuf, void *rbuf, const int *rcounts, MPI_Datatype type,
            MPI_Op op, MPI_Comm comm),
           (sbuf, rbuf, rcounts, type, op, comm))
COLLECTIVE(Reduce_scatter_block, (OPERATE, MPI_Comm comm),
           (sbuf, rbuf, count, type, op, comm))
