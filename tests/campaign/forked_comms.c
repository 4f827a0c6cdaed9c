/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators of forked ranks, and the calls of MPI that need no other rank. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "forked.h"

enum { COMMS = 4096, GROUPS = 64, OWN_KEY = 0x24400000 };

static struct comm comms[COMMS];
static struct {
    int n, world[RANKS];
} groups[GROUPS];
static MPI_Comm_delete_attr_function *on_delete;
static void *attr;
static int ngroups, initialized, finalized;

struct comm *comm_of(MPI_Comm comm)
{
    struct comm *c = &comms[comm & 0xffff];
    if (!c->used)
        wires_fatal("a communicator that was freed");
    return c;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    return ((a ^ (b + 0x9e3779b97f4a7c15u)) * 0xbf58476d1ce4e5b9u + (a >> 29)) & ~1ull;
}

static MPI_Comm new_comm(const struct comm *from)
{
    for (int i = 0; i < COMMS; i++) {
        if (comms[i].used)
            continue;
        comms[i] = *from;
        comms[i].used = 1;
        comms[i].seq = 0;
        return (MPI_Comm)((i < 2 ? 0x44000000u : 0x84000000u) | (unsigned)i);
    }
    wires_fatal("too many communicators");
}

void comms_open(int rank, int n)
{
    struct comm world = { .rank = rank, .size = n, .mark = 2 };
    struct comm self = { .size = 1, .world = { rank }, .mark = mix(4, (uint64_t)rank) };
    for (int r = 0; r < n; r++)
        world.world[r] = r;
    new_comm(&world);
    new_comm(&self);
}

int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *out)
{
    struct comm c = *comm_of(comm);
    (void)info;
    c.mark = mix(c.mark, ++comm_of(comm)->seq);
    *out = new_comm(&c);
    return MPI_Barrier(comm);
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *out)
{
    struct comm *from = comm_of(comm), c = { .mark = mix(from->mark, ++from->seq) };
    int mine[2] = { color, key }, all[RANKS][2];
    MPI_Allgather(mine, 2, MPI_INT, all, 2, MPI_INT, comm);
    *out = MPI_COMM_NULL;
    if (color == MPI_UNDEFINED)
        return MPI_SUCCESS;
    c.mark = mix(c.mark, (uint64_t)(unsigned)color);
    for (int r = 0; r < from->size; r++) {
        int at = c.size;
        if (all[r][0] != color)
            continue;
        for (; at > 0 && all[c.world[at - 1]][1] > all[r][1]; at--)
            c.world[at] = c.world[at - 1];
        c.world[at] = r;
        c.size++;
    }
    for (int i = 0; i < c.size; i++) {
        c.rank = c.world[i] == from->rank ? i : c.rank;
        c.world[i] = from->world[c.world[i]];
    }
    *out = new_comm(&c);
    return MPI_SUCCESS;
}

int MPI_Comm_free(MPI_Comm *comm)
{
    comm_of(*comm)->used = 0;
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

int PMPI_Comm_rank(MPI_Comm comm, int *rank)
{
    *rank = comm_of(comm)->rank;
    return MPI_SUCCESS;
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    return PMPI_Comm_rank(comm, rank);
}

int MPI_Comm_size(MPI_Comm comm, int *size)
{
    *size = comm_of(comm)->size;
    return MPI_SUCCESS;
}

int MPI_Comm_group(MPI_Comm comm, MPI_Group *group)
{
    int at = ngroups++ % GROUPS;
    groups[at].n = comm_of(comm)->size;
    memcpy(groups[at].world, comm_of(comm)->world, sizeof groups[at].world);
    *group = at;
    return MPI_SUCCESS;
}

int MPI_Group_free(MPI_Group *group)
{
    *group = MPI_GROUP_NULL;
    return MPI_SUCCESS;
}

int MPI_Group_translate_ranks(MPI_Group a, int n, const int *ranks, MPI_Group b,
                              int *out)
{
    for (int i = 0; i < n; i++) {
        out[i] = MPI_UNDEFINED;
        for (int r = 0; r < groups[b].n; r++)
            if (groups[b].world[r] == groups[a].world[ranks[i]])
                out[i] = r;
    }
    return MPI_SUCCESS;
}

/* --- the rest --- */

int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler)
{
    (void)comm, (void)handler;
    return MPI_SUCCESS;
}

int MPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler *handler)
{
    (void)comm;
    *handler = MPI_ERRORS_RETURN;
    return MPI_SUCCESS;
}

int MPI_Errhandler_free(MPI_Errhandler *handler)
{
    *handler = MPI_ERRHANDLER_NULL;
    return MPI_SUCCESS;
}

int MPI_Comm_test_inter(MPI_Comm comm, int *flag)
{
    (void)comm;
    *flag = 0;
    return MPI_SUCCESS;
}

int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy,
                           MPI_Comm_delete_attr_function *f, int *key, void *extra)
{
    (void)copy, (void)extra;
    on_delete = f;
    *key = OWN_KEY;
    return MPI_SUCCESS;
}

int MPI_Comm_set_attr(MPI_Comm comm, int key, void *value)
{
    (void)comm, (void)key;
    attr = value;
    return MPI_SUCCESS;
}

int MPI_Comm_delete_attr(MPI_Comm comm, int key)
{
    void *value = attr;
    attr = NULL;
    return value != NULL ? on_delete(comm, key, value, NULL) : MPI_SUCCESS;
}

int MPI_Comm_free_keyval(int *key)
{
    *key = MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}

int MPI_Error_string(int code, char *text, int *n)
{
    *n = snprintf(text, MPI_MAX_ERROR_STRING, "code %d", code);
    return MPI_SUCCESS;
}

int PMPI_Abort(MPI_Comm comm, int code)
{
    (void)comm, (void)code;
    kill(getpid(), SIGKILL);
    return MPI_SUCCESS;
}

int MPI_Abort(MPI_Comm comm, int code)
{
    return PMPI_Abort(comm, code);
}

int MPI_Initialized(int *flag)
{
    *flag = initialized;
    return MPI_SUCCESS;
}

int MPI_Finalized(int *flag)
{
    *flag = finalized;
    return MPI_SUCCESS;
}

int MPI_Init(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    initialized = 1;
    return MPI_SUCCESS;
}

int MPI_Finalize(void)
{
    MPI_Comm_delete_attr(MPI_COMM_SELF, OWN_KEY);
    MPI_Barrier(MPI_COMM_WORLD);
    finalized = 1;
    wires_empty();
    return MPI_SUCCESS;
}
