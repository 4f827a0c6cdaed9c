/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes between forked ranks. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "forked.h"

/* Bytes to a rank that its socket has not taken, and from it, not a whole message. */
struct peer {
    int fd;
    char *out, *in;
    size_t out_n, out_at, in_n, in_room;
};

static struct peer peers[RANKS];
static struct message *came, **came_end = &came;
static int me, ranks;

void wires_open(int rank, int n, const int *fds)
{
    me = rank;
    ranks = n;
    for (int r = 0; r < n; r++)
        peers[r].fd = r == rank ? -1 : fds[r];
}

void wires_fatal(const char *what)
{
    fprintf(stderr, "forked: rank %d: %s: %s\n", me, what, strerror(errno));
    _exit(97);
}

static void *room(void *old, size_t n)
{
    void *p = realloc(old, n > 0 ? n : 1);
    if (p == NULL)
        wires_fatal("memory");
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

static void arrive(const struct header *h, const char *data)
{
    if (h->is_ack)
        calls_taken(h->sync);
    else
        keep(h, data);
}

void wires_send(int world_rank, struct header h, const void *data)
{
    struct peer *p = &peers[world_rank];
    if (world_rank == me) {
        arrive(&h, data);
    } else if (p->fd >= 0) {
        append(p, &h, sizeof h);
        append(p, data, h.bytes);
        push(p);
    }
}

static void take_whole(struct peer *p)
{
    size_t at = 0;
    struct header h;
    while (p->in_n - at >= sizeof h) {
        memcpy(&h, p->in + at, sizeof h);
        if (p->in_n - at - sizeof h < h.bytes)
            break;
        arrive(&h, p->in + at + sizeof h);
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

void wires_move(int ms)
{
    struct pollfd fds[RANKS];
    for (int r = 0; r < ranks; r++)
        fds[r] =
            (struct pollfd){ .fd = peers[r].fd,
                             .events =
                                 (short)(POLLIN | (peers[r].out_n > 0 ? POLLOUT : 0)) };
    if (poll(fds, (nfds_t)ranks, ms) <= 0)
        return;
    for (int r = 0; r < ranks; r++) {
        if (fds[r].revents & POLLOUT)
            push(&peers[r]);
        if (fds[r].revents & (POLLIN | POLLHUP | POLLERR))
            pull(&peers[r]);
    }
}

void wires_empty(void)
{
    for (int r = 0; r < ranks; r++)
        while (peers[r].out_n > 0)
            wires_move(1);
}

static struct message **find(uint64_t comm, int src, uint64_t tag)
{
    struct message **m = &came;
    while (*m != NULL && ((*m)->h.comm != comm || (*m)->h.tag != tag ||
                          (src != MPI_ANY_SOURCE && (*m)->h.src != src)))
        m = &(*m)->next;
    return m;
}

const struct message *wires_find(uint64_t comm, int src, uint64_t tag)
{
    return *find(comm, src, tag);
}

struct message *wires_take(uint64_t comm, int src, uint64_t tag)
{
    struct message **at = find(comm, src, tag), *m = *at;
    if (m == NULL)
        return NULL;
    *at = m->next;
    if (came_end == &m->next)
        came_end = at;
    return m;
}
