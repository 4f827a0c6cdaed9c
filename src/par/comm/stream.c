/* SPDX-License-Identifier: BSD-3-Clause */
/* Packed bytes from rank to rank, piece by piece. */
#include "par/comm/stream.h"

#include <string.h>

#include "par/comm/mpi_call.h"

enum { TAG_STREAM = 40, PIECE = 16 * 1024 }; /* on the stack */

static size_t piece_of(uint64_t rest)
{
    return rest < PIECE ? (size_t)rest : PIECE;
}

static int post(const struct scr_comm *c, int to, const void *p, size_t n,
                struct scr_err *err)
{
    MPI_Request req = MPI_REQUEST_NULL;
    int code = MPI_Isend(p, (int)n, MPI_BYTE, to, TAG_STREAM, c->comm, &req);
    return scr_mpi_finish(code, &req, "send of a list", err);
}

static int receive(const struct scr_stream *s, void *p, size_t n)
{
    MPI_Request req = MPI_REQUEST_NULL;
    int code = MPI_Irecv(p, (int)n, MPI_BYTE, s->from, TAG_STREAM, s->comm->comm, &req);
    return scr_mpi_finish(code, &req, "receive of a list", s->err);
}

/* Exactly n bytes of the feed. */
static int fill(struct scr_feed *feed, unsigned char *p, size_t n)
{
    for (size_t at = 0; at < n && feed->rc == SCR_OK;) {
        size_t got = n - at;
        feed->rc = feed->more(feed, p + at, &got);
        at += got;
    }
    return feed->rc;
}

int scr_stream_send(const struct scr_comm *c, int to, struct scr_feed *feed,
                    struct scr_err *err)
{
    unsigned char p[PIECE];
    uint64_t rest = feed != NULL ? feed->rest : 0;
    int rc = post(c, to, &rest, sizeof rest, err);
    for (size_t n; (n = piece_of(rest)) > 0; rest -= n) {
        rc = scr_first(rc, fill(feed, p, n));
        if (rc != SCR_OK)
            memset(p, 0, n);
        rc = scr_first(rc, post(c, to, p, n, err));
    }
    return rc;
}

static int more(struct scr_feed *feed, void *p, size_t *n)
{
    *n = piece_of(feed->rest);
    return receive((struct scr_stream *)feed, p, *n);
}

int scr_stream_begin(struct scr_stream *s, const struct scr_comm *c, int from,
                     struct scr_err *err)
{
    *s = (struct scr_stream){
        .feed = { .more = more }, .comm = c, .from = from, .err = err
    };
    return receive(s, &s->feed.rest, sizeof s->feed.rest);
}

void scr_stream_end(struct scr_stream *s)
{
    unsigned char p[PIECE];
    int rc = s->feed.rc;
    for (size_t n; rc == SCR_OK && (n = piece_of(s->feed.rest)) > 0; s->feed.rest -= n)
        rc = receive(s, p, n);
    scr_feed_fini(&s->feed);
}
