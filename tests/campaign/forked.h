/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that are forked, with the MPI calls that SCR makes: a start costs milliseconds
 * where a launcher takes a quarter of a second of processor time, so that thousands of
 * histories can be run. Built with the header of MPICH, whose handles are numbers; the
 * dynamic linker takes these functions in place of the library's.
 *
 *     forked.c         starts ranks, and tells how they ended
 *     forked_wires.c   bytes between them
 *     forked_calls.c   messages, and collective calls made of them
 *     forked_comms.c   communicators, groups, and what needs no other rank */
#ifndef SCR_TEST_FORKED_H
#define SCR_TEST_FORKED_H

#include <mpi.h>
#include <stdint.h>

enum { RANKS = 16 };

/* --- wires: ranks have a socket for each pair --- */

struct header {
    uint64_t comm, tag, bytes, sync; /* sync: the sender's request that waits, + 1 */
    int src, is_ack;
};

/* A header and bytes. What came is kept until a request asks for it. */
struct message {
    struct header h;
    struct message *next;
    char data[];
};

/* Rank `rank` of n; fds: the socket to each other one. */
void wires_open(int rank, int n, const int *fds);
void wires_send(int world_rank, struct header h, const void *data);
/* ms: how long to wait until something moves. */
void wires_move(int ms);
/* Until the sockets have taken all that was sent. */
void wires_empty(void);
/* The first message like that, src MPI_ANY_SOURCE: of any rank; NULL: none has come. */
const struct message *wires_find(uint64_t comm, int src, uint64_t tag);
/* It is the caller's, to be freed. */
struct message *wires_take(uint64_t comm, int src, uint64_t tag);
_Noreturn void wires_fatal(const char *what);

/* --- calls --- */

/* The message of the request with that number + 1 was taken. */
void calls_taken(uint64_t sync);

/* --- communicators --- */

struct comm {
    int used, rank, size, world[RANKS];
    uint64_t mark, seq; /* the same on all ranks */
};

/* MPI_COMM_WORLD and MPI_COMM_SELF. */
void comms_open(int rank, int n);
struct comm *comm_of(MPI_Comm comm);

#endif
