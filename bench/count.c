/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts what calls of SCR do through MPI: preloaded into bench/ckpt by bench/model.py.
 *
 * At the end of SCR_Init and of each SCR_Complete_output rank 0 prints a line "count
 * CALL COLLECTIVES SPLITS PARCELS": collective calls, those of them that make
 * communicators, and parcels (MPI_Issend) sent, of the rank that has most. The bytes of
 * data are counted by bench/ckpt. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "scr.h"

enum { COLLECTIVES, SPLITS, PARCELS, COUNTS };
static uint64_t count[COUNTS];

/* --- MPI --- */

int MPI_Comm_dup_with_info(MPI_Comm from, MPI_Info info, MPI_Comm *comm)
{
    count[COLLECTIVES]++;
    count[SPLITS]++;
    return PMPI_Comm_dup_with_info(from, info, comm);
}

int MPI_Comm_split(MPI_Comm from, int color, int key, MPI_Comm *comm)
{
    count[COLLECTIVES]++;
    count[SPLITS]++;
    return PMPI_Comm_split(from, color, key, comm);
}

int MPI_Issend(const void *buf, int n, MPI_Datatype type, int to, int tag,
               MPI_Comm comm, MPI_Request *request)
{
    count[PARCELS]++;
    return PMPI_Issend(buf, n, type, to, tag, comm, request);
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
    count[COLLECTIVES]++;
    return PMPI_Ibarrier(comm, request);
}

int MPI_Ibcast(void *buf, int n, MPI_Datatype type, int root, MPI_Comm comm,
               MPI_Request *request)
{
    count[COLLECTIVES]++;
    return PMPI_Ibcast(buf, n, type, root, comm, request);
}

int MPI_Iallreduce(const void *mine, void *all, int n, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request *request)
{
    count[COLLECTIVES]++;
    return PMPI_Iallreduce(mine, all, n, type, op, comm, request);
}

int MPI_Iexscan(const void *mine, void *below, int n, MPI_Datatype type, MPI_Op op,
                MPI_Comm comm, MPI_Request *request)
{
    count[COLLECTIVES]++;
    return PMPI_Iexscan(mine, below, n, type, op, comm, request);
}

int MPI_Iallgather(const void *mine, int n, MPI_Datatype type, void *all, int m,
                   MPI_Datatype all_type, MPI_Comm comm, MPI_Request *request)
{
    count[COLLECTIVES]++;
    return PMPI_Iallgather(mine, n, type, all, m, all_type, comm, request);
}

/* --- SCR --- */

/* The call of that name in the library, copied: ISO C has no cast from an object. */
static void find(const char *name, void *call)
{
    void *object = dlsym(RTLD_NEXT, name);
    memcpy(call, &object, sizeof object);
    memset(count, 0, sizeof count);
}

static void print(const char *call)
{
    uint64_t most[COUNTS];
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Reduce(count, most, COUNTS, MPI_UINT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("count %s %llu %llu %llu\n", call, (unsigned long long)most[COLLECTIVES],
               (unsigned long long)most[SPLITS], (unsigned long long)most[PARCELS]);
}

int SCR_Init(void)
{
    int (*call)(void);
    find("SCR_Init", &call);
    int code = call();
    print("init");
    return code;
}

int SCR_Complete_output(int valid)
{
    int (*call)(int);
    find("SCR_Complete_output", &call);
    int code = call(valid);
    print("complete");
    return code;
}
