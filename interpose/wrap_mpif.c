/* SPDX-License-Identifier: BSD-3-Clause */
/* The same calls from Fortran: MPI libraries need not come by the C ones. Arguments are
 * addresses (in mpi_f08 perhaps of descriptors) that are passed on as they are, so that
 * only their number and the place of the communicator matter. The length of a name is
 * an argument more, the last one. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "meet.h"
#include "scr.h"

/* F(what is done, before or after, lower case, upper case, how many arguments, which of
 * them is the communicator) */
#define CALLS(F)                                                                       \
    F(START, mpi_init, MPI_INIT, 1, 0)                                                 \
    F(START, mpi_init_thread, MPI_INIT_THREAD, 3, 0)                                   \
    F(END, mpi_finalize, MPI_FINALIZE, 1, 0)                                           \
    F(ABORT, mpi_abort, MPI_ABORT, 3, 0)                                               \
    F(FILE_OPEN, mpi_file_open, MPI_FILE_OPEN, 7, 0)                                   \
    F(PASS, mpi_file_delete, MPI_FILE_DELETE, 4, 0)                                    \
    F(MEET, mpi_barrier, MPI_BARRIER, 2, 0)                                            \
    F(MEET, mpi_bcast, MPI_BCAST, 6, 4)                                                \
    F(MEET, mpi_reduce, MPI_REDUCE, 8, 6)                                              \
    F(MEET, mpi_allreduce, MPI_ALLREDUCE, 7, 5)                                        \
    F(MEET, mpi_scan, MPI_SCAN, 7, 5)                                                  \
    F(MEET, mpi_exscan, MPI_EXSCAN, 7, 5)                                              \
    F(MEET, mpi_reduce_scatter, MPI_REDUCE_SCATTER, 7, 5)                              \
    F(MEET, mpi_reduce_scatter_block, MPI_REDUCE_SCATTER_BLOCK, 7, 5)                  \
    F(MEET, mpi_gather, MPI_GATHER, 9, 7)                                              \
    F(MEET, mpi_gatherv, MPI_GATHERV, 10, 8)                                           \
    F(MEET, mpi_allgather, MPI_ALLGATHER, 8, 6)                                        \
    F(MEET, mpi_allgatherv, MPI_ALLGATHERV, 9, 7)                                      \
    F(MEET, mpi_scatter, MPI_SCATTER, 9, 7)                                            \
    F(MEET, mpi_scatterv, MPI_SCATTERV, 10, 8)                                         \
    F(MEET, mpi_alltoall, MPI_ALLTOALL, 8, 6)                                          \
    F(MEET, mpi_alltoallv, MPI_ALLTOALLV, 10, 8)

/* As compilers spell each, and the module mpi_f08. */
#define SPELLINGS(S, how, lower, upper, n, comm)                                       \
    S(how, lower, n, comm)                                                             \
    S(how, lower##_, n, comm)                                                          \
    S(how, lower##__, n, comm)                                                         \
    S(how, lower##_f08_, n, comm)                                                      \
    S(how, lower##_f08ts_, n, comm)                                                    \
    S(how, upper, n, comm)

typedef void *arg;
#define P1  arg a
#define P2  P1, arg b
#define P3  P2, arg c
#define P4  P3, arg d
#define P6  P4, arg e, arg f
#define P7  P6, arg g
#define P8  P7, arg h
#define P9  P8, arg i
#define P10 P9, arg j
#define A1  a
#define A2  A1, b
#define A3  A2, c
#define A4  A3, d
#define A6  A4, e, f
#define A7  A6, g
#define A8  A7, h
#define A9  A8, i
#define A10 A9, j

enum when { BEFORE, AFTER };
enum how { START, END, ABORT, PASS, MEET, FILE_OPEN };

#define ID(how, name, n, comm)          ID_##name,
#define IDS(how, lower, upper, n, comm) SPELLINGS(ID, how, lower, upper, n, comm)
enum id { CALLS(IDS) NIDS };
_Static_assert((int)NIDS <= (int)SCR_IP_FORTRAN, "room for all spellings");

static void *find(enum id id, const char *name)
{
    void *real = atomic_load(&scr_ip.fortran[id]);
    if (real == NULL)
        atomic_store(&scr_ip.fortran[id], real = dlsym(RTLD_NEXT, name));
    return real;
}

/* comm, name, …; without the blanks that fill the name up. Its length is an int or a
 * size_t: the lower half is enough. */
static void expose_all(arg const *all)
{
    const char *name = all[1];
    size_t n = (unsigned)(uintptr_t)all[6];
    while (n > 0 && name[n - 1] == ' ')
        n--;
    char *text = strndup(name, n);
    scr_ip_expose_all(PMPI_Comm_f2c(*(const MPI_Fint *)all[0]), text);
    free(text);
}

static void act(enum how how, enum when when, arg const *all, int comm)
{
    if (atomic_load(&scr_ip.state) != SCR_IP_ON && (how == MEET || how == FILE_OPEN))
        return;
    if (how == MEET && when == BEFORE)
        scr_ip_meet_all(PMPI_Comm_f2c(*(const MPI_Fint *)all[comm]));
    else if (how == FILE_OPEN && when == BEFORE)
        expose_all(all);
    else if (how == END && when == BEFORE)
        scr_ip_end_all();
    else if (how == ABORT && when == BEFORE)
        scr_ip_abandon();
    else if (how == START && when == AFTER)
        scr_ip_start_all();
}

/* The real one exists: a caller by this name was linked with it. */
#define WRAP(how, name, n, comm)                                                       \
    SCR_API void name(P##n);                                                           \
    SCR_API void name(P##n)                                                            \
    {                                                                                  \
        arg all[] = { A##n };                                                          \
        void (*real)(P##n);                                                            \
        *(void **)&real = find(ID_##name, #name);                                      \
        act(how, BEFORE, all, comm);                                                   \
        scr_ip_inside++;                                                               \
        real(A##n);                                                                    \
        scr_ip_inside--;                                                               \
        act(how, AFTER, all, comm);                                                    \
    }
#define WRAPS(how, lower, upper, n, comm) SPELLINGS(WRAP, how, lower, upper, n, comm)
CALLS(WRAPS)
