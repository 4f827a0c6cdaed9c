/* SPDX-License-Identifier: BSD-3-Clause */
/* The MPI calls that SCR makes, for ranks that are forked here: a start costs
 * milliseconds where a launcher takes a quarter of a second of processor time, so that
 * thousands of histories can be run. Built with the header of MPICH, whose handles are
 * numbers; the dynamic linker takes these functions in place of the library's.
 *
 * Ranks have a socket for each pair. A message is a header and bytes; what came is kept
 * until a request asks for it. A collective call sends to every rank that needs its
 * part, and is complete when all parts have come.
 *
 * The program reads a line for each run from stdin, fields separated by tabs:
 *
 *     RANKS  SECONDS  DIRECTORY  LOG  NAME=VALUE…  --  ARGUMENT…
 *
 * and answers with the status of each rank (128 + signal), or "hung". When a rank is
 * killed, the others are, as a launcher does. */
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "promises.h"

enum { RANKS = 16, COMMS = 4096, GROUPS = 64, REQUESTS = 4096, FIELDS = 256 };
enum { OWN_TYPE = 0x0e000000, OWN_OP = 0x1e000000, OWN_KEY = 0x24400000 };
enum { IDLE_TESTS = 3 }; /* tests without success before one waits for a message */

struct header {
    uint64_t comm, tag, bytes, sync; /* sync: the sender's request that waits, + 1 */
    int src, is_ack;
};

struct message {
    struct header h;
    struct message *next;
    char data[];
};

/* Bytes to a rank that its socket has not taken, and from it, not a whole message. */
struct peer {
    int fd;
    char *out, *in;
    size_t out_n, out_at, in_n, in_room;
};

struct comm {
    int used, rank, size, world[RANKS];
    uint64_t mark, seq; /* the same on all ranks */
};

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
    char *mine; /* this rank's part of a reduction */
    MPI_Status st;
};

static struct peer peers[RANKS];
static struct message *came, **came_end = &came;
static struct comm comms[COMMS];
static struct {
    int n, world[RANKS];
} groups[GROUPS];
static struct request requests[REQUESTS];
static MPI_User_function *own_op;
static MPI_Comm_delete_attr_function *on_delete;
static void *attr;
static int me, world_size, ngroups, idle, initialized, finalized;

#define EXPORT __attribute__((visibility("default")))

/* --- bytes --- */

static void fatal(const char *what)
{
    fprintf(stderr, "forked: rank %d: %s: %s\n", me, what, strerror(errno));
    _exit(97);
}

static void *room(void *old, size_t n)
{
    void *p = realloc(old, n > 0 ? n : 1);
    if (p == NULL)
        fatal("memory");
    return p;
}

/* A rank that is gone. If this one needs something of it, it waits until the launcher
 * ends it. */
static void lost(struct peer *p)
{
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1; /* poll leaves it out */
    p->out_n = p->out_at = 0;
}

static void push(struct peer *p)
{
    while (p->out_at < p->out_n) {
        ssize_t n = send(p->fd, p->out + p->out_at, p->out_n - p->out_at,
                         MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n < 0) {
            lost(p);
            return;
        }
        p->out_at += (size_t)n;
    }
    p->out_n = p->out_at = 0;
}

static void append(struct peer *p, const void *data, size_t n)
{
    p->out = room(p->out, p->out_n + n);
    memcpy(p->out + p->out_n, data, n);
    p->out_n += n;
}

static void keep(const struct header *h, const char *data)
{
    struct message *m = room(NULL, sizeof *m + h->bytes);
    m->h = *h;
    m->next = NULL;
    memcpy(m->data, data, h->bytes);
    *came_end = m;
    came_end = &m->next;
}

static void deliver(int world_rank, struct header h, const void *data)
{
    if (world_rank == me) {
        keep(&h, data);
        return;
    }
    if (peers[world_rank].fd < 0)
        return;
    append(&peers[world_rank], &h, sizeof h);
    append(&peers[world_rank], data, h.bytes);
    push(&peers[world_rank]);
}

static void take_whole(struct peer *p)
{
    size_t at = 0;
    struct header h;
    while (p->in_n - at >= sizeof h) {
        memcpy(&h, p->in + at, sizeof h);
        if (p->in_n - at - sizeof h < h.bytes)
            break;
        if (h.is_ack)
            requests[h.sync - 1].done = 1;
        else
            keep(&h, p->in + at + sizeof h);
        at += sizeof h + h.bytes;
    }
    memmove(p->in, p->in + at, p->in_n - at);
    p->in_n -= at;
}

static void pull(struct peer *p)
{
    enum { PIECE = 1 << 16 };
    for (;;) {
        if (p->in_room < p->in_n + PIECE)
            p->in = room(p->in, p->in_room = 2 * p->in_n + PIECE);
        ssize_t n = recv(p->fd, p->in + p->in_n, PIECE, MSG_DONTWAIT);
        if (n == 0)
            lost(p);
        if (n <= 0)
            break;
        p->in_n += (size_t)n;
    }
    take_whole(p);
}

/* ms: how long to wait until something moves. */
static void progress(int ms)
{
    struct pollfd fds[RANKS];
    int n = 0, of[RANKS];
    for (int r = 0; r < world_size; r++) {
        if (r == me)
            continue;
        of[n] = r;
        fds[n++] =
            (struct pollfd){ .fd = peers[r].fd,
                             .events =
                                 (short)(POLLIN | (peers[r].out_n > 0 ? POLLOUT : 0)) };
    }
    if (poll(fds, (nfds_t)n, ms) <= 0)
        return;
    for (int i = 0; i < n; i++) {
        if (fds[i].revents & POLLOUT)
            push(&peers[of[i]]);
        if (fds[i].revents & (POLLIN | POLLHUP | POLLERR))
            pull(&peers[of[i]]);
    }
}

/* --- messages --- */

static struct comm *comm_of(MPI_Comm comm)
{
    struct comm *c = &comms[comm & 0xffff];
    if (!c->used)
        fatal("a communicator that was freed");
    return c;
}

static size_t size_of(MPI_Datatype type)
{
    return (type & 0x7f000000) == OWN_TYPE ? (size_t)(type & 0xffffff)
                                           : (size_t)((type >> 8) & 0xff);
}

static struct message **find(const struct comm *c, uint64_t space, int src,
                             uint64_t tag)
{
    for (struct message **m = &came; *m != NULL; m = &(*m)->next)
        if ((*m)->h.comm == (c->mark ^ space) && (*m)->h.tag == tag &&
            (src == MPI_ANY_SOURCE || (*m)->h.src == src))
            return m;
    return NULL;
}

static struct message *take(struct message **at)
{
    struct message *m = *at;
    *at = m->next;
    if (came_end == &m->next)
        came_end = at;
    return m;
}

enum { CALLS = 0, COLLECTIVE = 1 };

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
    fatal("too many requests");
    return 0;
}

static struct request *request_of(MPI_Request request)
{
    return &requests[request & 0xffff];
}

static int send_to(const void *buf, size_t n, int dest, int tag, MPI_Comm comm,
                   uint64_t sync)
{
    const struct comm *c = comm_of(comm);
    if (dest != MPI_PROC_NULL)
        deliver(c->world[dest],
                (struct header){ .comm = c->mark,
                                 .tag = (uint64_t)tag,
                                 .bytes = n,
                                 .src = c->rank,
                                 .sync = sync },
                buf);
    return MPI_SUCCESS;
}

EXPORT int MPI_Send(const void *buf, int count, MPI_Datatype type, int dest, int tag,
                    MPI_Comm comm)
{
    return send_to(buf, (size_t)count * size_of(type), dest, tag, comm, 0);
}

EXPORT int MPI_Isend(const void *buf, int count, MPI_Datatype type, int dest, int tag,
                     MPI_Comm comm, MPI_Request *request)
{
    *request = new_request(SENT, comm, NULL, 0, type);
    request_of(*request)->done = 1;
    return MPI_Send(buf, count, type, dest, tag, comm);
}

EXPORT int MPI_Issend(const void *buf, int count, MPI_Datatype type, int dest, int tag,
                      MPI_Comm comm, MPI_Request *request)
{
    *request = new_request(SENT, comm, NULL, 0, type);
    return send_to(buf, (size_t)count * size_of(type), dest, tag, comm,
                   (uint64_t)(*request & 0xffff) + 1);
}

EXPORT int MPI_Irecv(void *buf, int count, MPI_Datatype type, int source, int tag,
                     MPI_Comm comm, MPI_Request *request)
{
    *request = new_request(RECEIVE, comm, buf, count, type);
    request_of(*request)->src = source;
    request_of(*request)->tag = (uint64_t)tag;
    request_of(*request)->done = source == MPI_PROC_NULL;
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

EXPORT int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *st)
{
    struct message **m = find(comm_of(comm), CALLS, source, (uint64_t)tag);
    *flag = m != NULL;
    if (m != NULL)
        set_status(st, *m);
    else
        progress(0);
    return MPI_SUCCESS;
}

EXPORT int MPI_Get_count(const MPI_Status *st, MPI_Datatype type, int *count)
{
    *count = (int)((size_t)st->count_lo / size_of(type));
    return MPI_SUCCESS;
}

static void receive(struct request *q)
{
    const struct comm *c = comm_of(q->comm);
    struct message **at = find(c, CALLS, q->src, q->tag);
    if (at == NULL)
        return;
    struct message *m = take(at);
    if (m->h.bytes > (size_t)q->count * size_of(q->type))
        fatal("a message is too long");
    memcpy(q->buf, m->data, m->h.bytes);
    set_status(&q->st, m);
    if (m->h.sync > 0 && c->world[m->h.src] == me)
        requests[m->h.sync - 1].done = 1;
    else if (m->h.sync > 0)
        deliver(c->world[m->h.src], (struct header){ .is_ack = 1, .sync = m->h.sync },
                "");
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
        deliver(c->world[to],
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
        fatal("a type of a reduction");
}

static int have_parts(const struct comm *c, uint64_t tag, int first, int end)
{
    for (int r = first; r < end; r++)
        if (find(c, COLLECTIVE, r, tag) == NULL)
            return 0;
    return 1;
}

static void use_parts(struct request *q, const struct comm *c, int first, int end)
{
    size_t n = (size_t)q->count * size_of(q->type);
    for (int r = first; r < end; r++) {
        struct message *m = take(find(c, COLLECTIVE, r, q->tag));
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

EXPORT int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
    *request = collective(BARRIER, comm, NULL, 0, MPI_BYTE);
    part_to(*request, 0, "");
    return MPI_SUCCESS;
}

EXPORT int MPI_Iallgather(const void *mine, int n, MPI_Datatype type, void *all, int m,
                          MPI_Datatype to, MPI_Comm comm, MPI_Request *request)
{
    (void)m, (void)to;
    *request = collective(GATHER, comm, all, n, type);
    part_to(*request, 0, mine);
    return MPI_SUCCESS;
}

EXPORT int MPI_Iallreduce(const void *mine, void *all, int n, MPI_Datatype type,
                          MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
    *request = collective(REDUCE, comm, all, n, type);
    request_of(*request)->op = op;
    part_to(*request, 0, mine == MPI_IN_PLACE ? all : mine);
    return MPI_SUCCESS;
}

EXPORT int MPI_Iexscan(const void *mine, void *all, int n, MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm, MPI_Request *request)
{
    *request = collective(EXSCAN, comm, all, n, type);
    request_of(*request)->op = op;
    part_to(*request, comm_of(comm)->rank + 1, mine == MPI_IN_PLACE ? all : mine);
    return MPI_SUCCESS;
}

EXPORT int MPI_Ibcast(void *buf, int n, MPI_Datatype type, int root, MPI_Comm comm,
                      MPI_Request *request)
{
    *request = collective(BCAST, comm, buf, n, type);
    request_of(*request)->root = root;
    if (comm_of(comm)->rank == root)
        part_to(*request, 0, buf);
    return MPI_SUCCESS;
}

EXPORT int MPI_Test(MPI_Request *request, int *flag, MPI_Status *st)
{
    *flag = 1;
    if (*request == MPI_REQUEST_NULL)
        return MPI_SUCCESS;
    struct request *q = request_of(*request);
    for (int turn = 0; turn < 2 && !q->done; turn++) {
        if (turn > 0)
            progress(idle >= IDLE_TESTS ? 1 : 0);
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

EXPORT int MPI_Barrier(MPI_Comm comm)
{
    MPI_Request r;
    MPI_Ibarrier(comm, &r);
    return wait_for(r);
}

EXPORT int MPI_Allgather(const void *mine, int n, MPI_Datatype type, void *all, int m,
                         MPI_Datatype to, MPI_Comm comm)
{
    MPI_Request r;
    MPI_Iallgather(mine, n, type, all, m, to, comm, &r);
    return wait_for(r);
}

EXPORT int MPI_Allreduce(const void *mine, void *all, int n, MPI_Datatype type,
                         MPI_Op op, MPI_Comm comm)
{
    MPI_Request r;
    MPI_Iallreduce(mine, all, n, type, op, comm, &r);
    return wait_for(r);
}

EXPORT int MPI_Bcast(void *buf, int n, MPI_Datatype type, int root, MPI_Comm comm)
{
    MPI_Request r;
    MPI_Ibcast(buf, n, type, root, comm, &r);
    return wait_for(r);
}

/* --- communicators and groups --- */

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
    fatal("too many communicators");
    return MPI_COMM_NULL;
}

EXPORT int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *out)
{
    struct comm c = *comm_of(comm);
    c.mark = mix(c.mark, ++comm_of(comm)->seq);
    *out = new_comm(&c);
    return MPI_Barrier(comm);
}

EXPORT int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *out)
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

EXPORT int MPI_Comm_free(MPI_Comm *comm)
{
    comm_of(*comm)->used = 0;
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

EXPORT int PMPI_Comm_rank(MPI_Comm comm, int *rank)
{
    *rank = comm_of(comm)->rank;
    return MPI_SUCCESS;
}

EXPORT int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    return PMPI_Comm_rank(comm, rank);
}

EXPORT int MPI_Comm_size(MPI_Comm comm, int *size)
{
    *size = comm_of(comm)->size;
    return MPI_SUCCESS;
}

EXPORT int MPI_Comm_group(MPI_Comm comm, MPI_Group *group)
{
    int at = ngroups++ % GROUPS;
    groups[at].n = comm_of(comm)->size;
    memcpy(groups[at].world, comm_of(comm)->world, sizeof groups[at].world);
    *group = at;
    return MPI_SUCCESS;
}

EXPORT int MPI_Group_free(MPI_Group *group)
{
    *group = MPI_GROUP_NULL;
    return MPI_SUCCESS;
}

EXPORT int MPI_Group_translate_ranks(MPI_Group a, int n, const int *ranks, MPI_Group b,
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

EXPORT int MPI_Type_contiguous(int n, MPI_Datatype of, MPI_Datatype *type)
{
    *type = OWN_TYPE | (int)((size_t)n * size_of(of));
    return MPI_SUCCESS;
}

EXPORT int MPI_Type_commit(MPI_Datatype *type)
{
    (void)type;
    return MPI_SUCCESS;
}

EXPORT int MPI_Type_free(MPI_Datatype *type)
{
    *type = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}

/* SCR has one. */
EXPORT int MPI_Op_create(MPI_User_function *f, int commutes, MPI_Op *op)
{
    (void)commutes;
    own_op = f;
    *op = OWN_OP;
    return MPI_SUCCESS;
}

EXPORT int MPI_Op_free(MPI_Op *op)
{
    *op = MPI_OP_NULL;
    return MPI_SUCCESS;
}

EXPORT int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler)
{
    (void)comm, (void)handler;
    return MPI_SUCCESS;
}

EXPORT int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy,
                                  MPI_Comm_delete_attr_function *f, int *key,
                                  void *extra)
{
    (void)copy, (void)extra;
    on_delete = f;
    *key = OWN_KEY;
    return MPI_SUCCESS;
}

EXPORT int MPI_Comm_set_attr(MPI_Comm comm, int key, void *value)
{
    (void)comm, (void)key;
    attr = value;
    return MPI_SUCCESS;
}

EXPORT int MPI_Comm_delete_attr(MPI_Comm comm, int key)
{
    void *value = attr;
    attr = NULL;
    return value != NULL ? on_delete(comm, key, value, NULL) : MPI_SUCCESS;
}

EXPORT int MPI_Comm_free_keyval(int *key)
{
    *key = MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}

EXPORT int MPI_Error_string(int code, char *text, int *n)
{
    *n = snprintf(text, MPI_MAX_ERROR_STRING, "code %d", code);
    return MPI_SUCCESS;
}

EXPORT int PMPI_Abort(MPI_Comm comm, int code)
{
    (void)comm, (void)code;
    kill(getpid(), SIGKILL);
    return MPI_SUCCESS;
}

EXPORT int MPI_Abort(MPI_Comm comm, int code)
{
    return PMPI_Abort(comm, code);
}

EXPORT int MPI_Initialized(int *flag)
{
    *flag = initialized;
    return MPI_SUCCESS;
}

EXPORT int MPI_Finalized(int *flag)
{
    *flag = finalized;
    return MPI_SUCCESS;
}

EXPORT int MPI_Init(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    struct comm world = { .rank = me, .size = world_size, .mark = 2 };
    struct comm self = { .size = 1, .world = { me }, .mark = mix(4, (uint64_t)me) };
    for (int r = 0; r < world_size; r++)
        world.world[r] = r;
    new_comm(&world);
    new_comm(&self);
    initialized = 1;
    return MPI_SUCCESS;
}

EXPORT int MPI_Finalize(void)
{
    MPI_Comm_delete_attr(MPI_COMM_SELF, OWN_KEY);
    MPI_Barrier(MPI_COMM_WORLD);
    finalized = 1;
    for (int r = 0; r < world_size; r++)
        while (r != me && peers[r].out_n > 0)
            progress(1);
    return MPI_SUCCESS;
}

/* --- runs --- */

struct run {
    int n, pairs[RANKS][RANKS];
    double seconds;
    char *dir, *log, **env, **args;
    int nenv, nargs;
    pid_t pids[RANKS];
    int status[RANKS];
};

static void become_rank(struct run *run, int rank)
{
    me = rank;
    world_size = run->n;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int a = 0; a < run->n; a++)
        for (int b = 0; b < run->n; b++) {
            if (a == rank && b != rank)
                peers[b].fd = run->pairs[a][b];
            else if (a != b)
                close(run->pairs[a][b]);
        }
    int log = open(run->log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    int null = open("/dev/null", O_RDONLY);
    if (log < 0 || null < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0 ||
        dup2(null, 0) < 0)
        fatal(run->log);
    close(log);
    close(null);
    for (int i = 0; i < run->nenv; i++)
        putenv(run->env[i]);
    if (chdir(run->dir) != 0)
        fatal(run->dir);
    exit(promises(run->nargs, run->args));
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void kill_all(const struct run *run)
{
    for (int r = 0; r < run->n; r++)
        if (run->pids[r] > 0)
            kill(run->pids[r], SIGKILL);
}

/* Processes that the ranks left have become children of this one. */
static void kill_orphans(void)
{
    char path[64], line[4096];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    for (int tries = 0; tries < 1000; tries++) {
        FILE *f = fopen(path, "r");
        if (f == NULL)
            return;
        size_t n = fread(line, 1, sizeof line - 1, f);
        fclose(f);
        line[n] = '\0';
        char *at = line;
        long pid = strtol(at, &at, 10);
        if (pid <= 0)
            return;
        kill((pid_t)pid, SIGKILL);
        waitpid((pid_t)pid, NULL, 0);
    }
}

/* 0: it took too long. */
static int reap(struct run *run)
{
    int left = run->n, in_time = 1;
    const double until = now() + run->seconds;
    while (left > 0) {
        int st, r = 0;
        pid_t pid = waitpid(-1, &st, WNOHANG);
        while (r < run->n && run->pids[r] != pid)
            r++;
        if (pid > 0 && r < run->n) {
            run->status[r] = WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
            run->pids[r] = 0;
            left--;
            if (run->status[r] != 0)
                kill_all(run);
        } else if (pid <= 0) {
            const struct timespec nap = { 0, 200000 };
            nanosleep(&nap, NULL);
        }
        if (in_time && now() > until) {
            in_time = 0;
            kill_all(run);
        }
    }
    return in_time;
}

static void start(struct run *run)
{
    for (int a = 0; a < run->n; a++)
        for (int b = 0; b < a; b++) {
            int fd[2];
            if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) != 0)
                fatal("socketpair");
            run->pairs[a][b] = fd[0];
            run->pairs[b][a] = fd[1];
        }
    for (int r = 0; r < run->n; r++) {
        run->pids[r] = fork();
        if (run->pids[r] == 0)
            become_rank(run, r);
    }
    for (int a = 0; a < run->n; a++)
        for (int b = 0; b < run->n; b++)
            if (a != b)
                close(run->pairs[a][b]);
}

static int parse(char *line, struct run *run, char **fields)
{
    int n = 0, at = 4;
    for (char *rest = line, *f; n < FIELDS - 1 && (f = strsep(&rest, "\t\n")) != NULL;)
        if (*f != '\0')
            fields[n++] = f;
    fields[n] = NULL;
    if (n < 6)
        return 0;
    run->n = (int)strtol(fields[0], NULL, 10);
    run->seconds = strtod(fields[1], NULL);
    run->dir = fields[2];
    run->log = fields[3];
    for (run->env = &fields[at]; at < n && strcmp(fields[at], "--") != 0; at++)
        run->nenv++;
    run->args = &fields[at];
    run->nargs = n - at;
    return run->n > 0 && run->n <= RANKS && run->nargs > 0;
}

int main(void)
{
    static char line[1 << 16], *fields[FIELDS];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    while (fgets(line, sizeof line, stdin) != NULL) {
        struct run run = { 0 };
        if (!parse(line, &run, fields))
            return 2;
        start(&run);
        int in_time = reap(&run);
        kill_orphans();
        for (int r = 0; r < run.n && in_time; r++)
            printf("%d ", run.status[r]);
        printf("%s\n", in_time ? "" : "hung");
        fflush(stdout);
    }
    return 0;
}
