/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between forked ranks, and collective calls: each sends to every rank that
 * needs its part, and is complete when all parts have come. */
#include <stdlib.h>
#include <string.h>

#include "forked.h"

enum { REQUESTS = 4096 };
enum { OWN_TYPE = 0x0e000000, OWN_OP = 0x1e000000 };
enum { IDLE_TESTS = 3 }; /* tests without success before one waits for a message */
enum { COLLECTIVE = 1 }; /* in the mark of a communicator: a part of such a call */

enum kind { SENT, RECEIVE, GATHER, REDUCE, EXSCAN, BCAST, BARRIER };
struct request {
    int used, done;
    enum kind kind;
    MPI_Comm comm;
    uint64_t tag;
    int src, count, root; /* src: MPI_ANY_SOURCE, or a rank of comm */
    MPI_Datatype type;
    MPI_Op op;
    void *buf;
    MPI_Status st;
};

static struct request requests[REQUESTS];
static MPI_User_function *own_op;
static int idle;

/* --- messages --- */

static size_t size_of(MPI_Datatype type)
{
    return (type & 0x7f000000) == OWN_TYPE ? (size_t)(type & 0xffffff)
                                           : (size_t)((type >> 8) & 0xff);
}

static MPI_Request new_request(enum kind kind, MPI_Comm comm, void *buf, int count,
                               MPI_Datatype type)
{
    static int last;
    for (int i = 0; i < REQUESTS; i++) {
        int at = last = (last + 1) % REQUESTS;
        if (requests[at].used)
            continue;
        requests[at] = (struct request){ .used = 1,
                                         .kind = kind,
                                         .comm = comm,
                                         .buf = buf,
                                         .count = count,
                                         .type = type };
        return at | 0x6c000000;
    }
    wires_fatal("too many requests");
}

static struct request *request_of(MPI_Request request)
{
    return &requests[request & 0xffff];
}

void calls_taken(uint64_t sync)
{
    requests[sync - 1].done = 1;
}

static int send_to(const void *buf, size_t n, int dest, int tag, MPI_Comm comm,
                   uint64_t sync)
{
    const struct comm *c = comm_of(comm);
    wires_send(c->world[dest],
               (struct header){ .comm = c->mark,
                                .tag = (uint64_t)tag,
                                .bytes = n,
                                .src = c->rank,
                                .sync = sync },
               buf);
    return MPI_SUCCESS;
}

int MPI_Send(const void *buf, int count, MPI_Datatype type, int dest, int tag,
             MPI_Comm comm)
{
    return send_to(buf, (size_t)count * size_of(type), dest, tag, comm, 0);
}

int MPI_Isend(const void *buf, int count, MPI_Datatype type, int dest, int tag,
              MPI_Comm comm, MPI_Request *request)
{
    *request = new_request(SENT, comm, NULL, 0, type);
    request_of(*request)->done = 1;
    return MPI_Send(buf, count, type, dest, tag, comm);
}

int MPI_Issend(const void *buf, int count, MPI_Datatype type, int dest, int tag,
               MPI_Comm comm, MPI_Request *request)
{
    *request = new_request(SENT, comm, NULL, 0, type);
    return send_to(buf, (size_t)count * size_of(type), dest, tag, comm,
                   (uint64_t)(*request & 0xffff) + 1);
}

int MPI_Irecv(void *buf, int count, MPI_Datatype type, int source, int tag,
              MPI_Comm comm, MPI_Request *request)
{
    *request = new_request(RECEIVE, comm, buf, count, type);
    request_of(*request)->src = source;
    request_of(*request)->tag = (uint64_t)tag;
    return MPI_SUCCESS;
}

static void set_status(MPI_Status *st, const struct message *m)
{
    st->MPI_SOURCE = m->h.src;
    st->MPI_TAG = (int)m->h.tag;
    st->MPI_ERROR = MPI_SUCCESS;
    st->count_lo = (int)m->h.bytes;
    st->count_hi_and_cancelled = 0;
}

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *st)
{
    const struct message *m = wires_find(comm_of(comm)->mark, source, (uint64_t)tag);
    *flag = m != NULL;
    if (m != NULL)
        set_status(st, m);
    else
        wires_move(0);
    return MPI_SUCCESS;
}

int MPI_Get_count(const MPI_Status *st, MPI_Datatype type, int *count)
{
    *count = (int)((size_t)st->count_lo / size_of(type));
    return MPI_SUCCESS;
}

static void receive(struct request *q)
{
    const struct comm *c = comm_of(q->comm);
    struct message *m = wires_take(c->mark, q->src, q->tag);
    if (m == NULL)
        return;
    if (m->h.bytes > (size_t)q->count * size_of(q->type))
        wires_fatal("a message is too long");
    memcpy(q->buf, m->data, m->h.bytes);
    set_status(&q->st, m);
    if (m->h.sync > 0)
        wires_send(c->world[m->h.src],
                   (struct header){ .is_ack = 1, .sync = m->h.sync }, "");
    free(m);
    q->done = 1;
}

/* --- collective calls --- */

static MPI_Request collective(enum kind kind, MPI_Comm comm, void *buf, int count,
                              MPI_Datatype type)
{
    MPI_Request r = new_request(kind, comm, buf, count, type);
    request_of(r)->tag = ++comm_of(comm)->seq;
    return r;
}

/* To the ranks from first on, this one too. */
static void part_to(MPI_Request r, int first, const void *part)
{
    const struct request *q = request_of(r);
    const struct comm *c = comm_of(q->comm);
    size_t n = (size_t)q->count * size_of(q->type);
    for (int to = first; to < c->size; to++)
        wires_send(c->world[to],
                   (struct header){ .comm = c->mark ^ COLLECTIVE,
                                    .tag = q->tag,
                                    .bytes = n,
                                    .src = c->rank },
                   part);
}

#define COMBINE(T)                                                                     \
    for (int i = 0; i < q->count; i++) {                                               \
        T *a = (T *)into + i, b;                                                       \
        memcpy(&b, part + (size_t)i * sizeof b, sizeof b);                             \
        *a = q->op == MPI_SUM ? (T)(*a + b) : (q->op == MPI_MAX) == (b > *a) ? b : *a; \
    }

static void combine(struct request *q, char *part, void *into)
{
    if ((q->op & 0x7f000000) == OWN_OP)
        own_op(part, into, &q->count, &q->type);
    else if (q->type == MPI_INT)
        COMBINE(int)
    else if (q->type == MPI_INT64_T)
        COMBINE(int64_t)
    else if (q->type == MPI_UINT64_T)
        COMBINE(uint64_t)
    else
        wires_fatal("a type of a reduction");
}

static int have_parts(const struct comm *c, uint64_t tag, int first, int end)
{
    for (int r = first; r < end; r++)
        if (wires_find(c->mark ^ COLLECTIVE, r, tag) == NULL)
            return 0;
    return 1;
}

static void use_parts(struct request *q, const struct comm *c, int first, int end)
{
    size_t n = (size_t)q->count * size_of(q->type);
    for (int r = first; r < end; r++) {
        struct message *m = wires_take(c->mark ^ COLLECTIVE, r, q->tag);
        if (q->kind == GATHER)
            memcpy((char *)q->buf + (size_t)r * n, m->data, n);
        else if (q->kind == BCAST ||
                 ((q->kind == REDUCE || q->kind == EXSCAN) && r == 0))
            memcpy(q->buf, m->data, n);
        else if (q->kind != BARRIER)
            combine(q, m->data, q->buf);
        free(m);
    }
}

static void gather(struct request *q)
{
    const struct comm *c = comm_of(q->comm);
    int first = q->kind == BCAST ? q->root : 0;
    int end = q->kind == BCAST ? q->root + 1 : q->kind == EXSCAN ? c->rank : c->size;
    if (!have_parts(c, q->tag, first, end))
        return;
    use_parts(q, c, first, end);
    q->done = 1;
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
    *request = collective(BARRIER, comm, NULL, 0, MPI_BYTE);
    part_to(*request, 0, "");
    return MPI_SUCCESS;
}

int MPI_Iallgather(const void *mine, int n, MPI_Datatype type, void *all, int m,
                   MPI_Datatype to, MPI_Comm comm, MPI_Request *request)
{
    (void)m, (void)to;
    *request = collective(GATHER, comm, all, n, type);
    part_to(*request, 0, mine);
    return MPI_SUCCESS;
}

int MPI_Iallreduce(const void *mine, void *all, int n, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request *request)
{
    *request = collective(REDUCE, comm, all, n, type);
    request_of(*request)->op = op;
    part_to(*request, 0, mine == MPI_IN_PLACE ? all : mine);
    return MPI_SUCCESS;
}

int MPI_Iexscan(const void *mine, void *all, int n, MPI_Datatype type, MPI_Op op,
                MPI_Comm comm, MPI_Request *request)
{
    *request = collective(EXSCAN, comm, all, n, type);
    request_of(*request)->op = op;
    part_to(*request, comm_of(comm)->rank + 1, mine);
    return MPI_SUCCESS;
}

int MPI_Ibcast(void *buf, int n, MPI_Datatype type, int root, MPI_Comm comm,
               MPI_Request *request)
{
    *request = collective(BCAST, comm, buf, n, type);
    request_of(*request)->root = root;
    if (comm_of(comm)->rank == root)
        part_to(*request, 0, buf);
    return MPI_SUCCESS;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *st)
{
    *flag = 1;
    if (*request == MPI_REQUEST_NULL)
        return MPI_SUCCESS;
    struct request *q = request_of(*request);
    for (int turn = 0; turn < 2 && !q->done; turn++) {
        if (turn > 0)
            wires_move(idle >= IDLE_TESTS ? 1 : 0);
        if (q->kind == RECEIVE)
            receive(q);
        else if (q->kind != SENT)
            gather(q);
    }
    *flag = q->done;
    idle = q->done ? 0 : idle + 1;
    if (!q->done)
        return MPI_SUCCESS;
    if (st != MPI_STATUS_IGNORE)
        *st = q->st;
    q->used = 0;
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

static int wait_for(MPI_Request request)
{
    for (int done = 0; !done;)
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    return MPI_SUCCESS;
}

int MPI_Barrier(MPI_Comm comm)
{
    MPI_Request r;
    MPI_Ibarrier(comm, &r);
    return wait_for(r);
}

int MPI_Allgather(const void *mine, int n, MPI_Datatype type, void *all, int m,
                  MPI_Datatype to, MPI_Comm comm)
{
    MPI_Request r;
    MPI_Iallgather(mine, n, type, all, m, to, comm, &r);
    return wait_for(r);
}

int MPI_Allreduce(const void *mine, void *all, int n, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm)
{
    MPI_Request r;
    MPI_Iallreduce(mine, all, n, type, op, comm, &r);
    return wait_for(r);
}

int MPI_Bcast(void *buf, int n, MPI_Datatype type, int root, MPI_Comm comm)
{
    MPI_Request r;
    MPI_Ibcast(buf, n, type, root, comm, &r);
    return wait_for(r);
}

/* --- types and operations --- */

int MPI_Type_contiguous(int n, MPI_Datatype of, MPI_Datatype *type)
{
    *type = OWN_TYPE | (int)((size_t)n * size_of(of));
    return MPI_SUCCESS;
}

int MPI_Type_commit(MPI_Datatype *type)
{
    (void)type;
    return MPI_SUCCESS;
}

int MPI_Type_free(MPI_Datatype *type)
{
    *type = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}

/* SCR has one. */
int MPI_Op_create(MPI_User_function *f, int commutes, MPI_Op *op)
{
    (void)commutes;
    own_op = f;
    *op = OWN_OP;
    return MPI_SUCCESS;
}

int MPI_Op_free(MPI_Op *op)
{
    *op = MPI_OP_NULL;
    return MPI_SUCCESS;
}
