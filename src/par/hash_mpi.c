/* SPDX-License-Identifier: BSD-3-Clause */
/* Hashes over MPI: broadcast, pairs, and the sparse exchange.
 *
 * A hash travels as a letter: u64 total length, packed hash; cut into pages of PAGE
 * bytes. The first page has tag TAG_FIRST, the others TAG_MORE, so that a receiver that
 * finds a first page takes the rest from the same sender in order. Pages are received
 * into one buffer on the stack: a receiver that runs out of memory still takes them all
 * and nobody waits for it. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "par/comm.h"
#include "par/mpi_call.h"

enum { PAGE = 64 * 1024 };
enum { TAG_FIRST = 1, TAG_MORE = 2 };

/* Total length of a letter whose sender could not pack the hash. */
static const uint64_t NO_LETTER = UINT64_MAX;

struct letter {
    unsigned char *bytes; /* length, then packed hash; NULL: no letter */
    uint64_t total;       /* bytes of it */
    MPI_Request first;
    MPI_Request *more;
    int nmore, gone; /* pages after the first; how many of them have left */
};

static int letter_pack(struct letter *l, const scr_hash *h, struct scr_err *err)
{
    *l = (struct letter){ .first = MPI_REQUEST_NULL };
    size_t packed = scr_hash_pack_size(h);
    uint64_t total = packed + sizeof total;
    uint64_t pages = (total + PAGE - 1) / PAGE;
    if (!scr_hash_ok(h) || pages > INT32_MAX)
        return scr_fail(err, SCR_E_NOMEM, 0, "hash of %zu bytes: cannot be sent",
                        packed);
    unsigned char *bytes = malloc((size_t)total);
    MPI_Request *more = scr_calloc((size_t)pages, sizeof *more);
    if (bytes == NULL || more == NULL ||
        scr_hash_pack(bytes + sizeof total, h) != packed) {
        free(bytes);
        free(more);
        return scr_fail(err, SCR_E_NOMEM, 0, "hash of %zu bytes: out of memory",
                        packed);
    }
    memcpy(bytes, &total, sizeof total);
    l->bytes = bytes;
    l->total = total;
    l->more = more;
    l->nmore = (int)pages - 1;
    return SCR_OK;
}

/* Starts sending. With sync the first page completes only when the receiver has taken
 * it. */
static int letter_start(struct letter *l, const struct scr_comm *c, int to, int sync,
                        struct scr_err *err)
{
    const void *first = l->bytes != NULL ? (const void *)l->bytes : &NO_LETTER;
    uint64_t total = l->bytes != NULL ? l->total : sizeof NO_LETTER;
    int n = total < PAGE ? (int)total : PAGE;
    int code = sync ? MPI_Issend(first, n, MPI_BYTE, to, TAG_FIRST, c->comm, &l->first)
                    : MPI_Isend(first, n, MPI_BYTE, to, TAG_FIRST, c->comm, &l->first);
    int rc = scr_mpi_check(code, "send of a hash", err);
    for (int i = 0; i < l->nmore; i++) {
        uint64_t at = (uint64_t)(i + 1) * PAGE;
        n = total - at < PAGE ? (int)(total - at) : PAGE;
        code =
            MPI_Isend(l->bytes + at, n, MPI_BYTE, to, TAG_MORE, c->comm, &l->more[i]);
        if (rc == SCR_OK)
            rc = scr_mpi_check(code, "send of a hash", err);
    }
    return rc;
}

static int letter_wait(struct letter *l, struct scr_err *err)
{
    int rc = scr_mpi_wait(&l->first, 1, "send of a hash", err);
    int rc1 = scr_mpi_wait(l->more, (size_t)l->nmore, "send of a hash", err);
    return rc == SCR_OK ? rc1 : rc;
}

/* 1 when every page has left. A request that is done stays so: MPI_Test on it is cheap.
 */
static int letter_sent(struct letter *l)
{
    int done = 0;
    if (MPI_Test(&l->first, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done)
        return 0;
    while (l->gone < l->nmore) {
        if (MPI_Test(&l->more[l->gone], &done, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
            !done)
            return 0;
        l->gone++;
    }
    return 1;
}

static void letter_fini(struct letter *l)
{
    free(l->bytes);
    free(l->more);
}

/* Takes the pages after the first; the letter is collected in s. */
static int take_more(const struct scr_comm *c, int from, uint64_t total,
                     unsigned char *page, struct scr_str *s, struct scr_err *err)
{
    int rc = SCR_OK;
    for (uint64_t at = PAGE; at < total && rc == SCR_OK; at += PAGE) {
        int n = total - at < PAGE ? (int)(total - at) : PAGE;
        MPI_Request req = MPI_REQUEST_NULL;
        int code = MPI_Irecv(page, n, MPI_BYTE, from, TAG_MORE, c->comm, &req);
        rc = scr_mpi_finish(code, &req, "receive of a hash", err);
        scr_str_append_n(s, page, (size_t)n);
    }
    return rc;
}

/* Receives one letter and merges its hash into h; without one it is lost. */
static int letter_take(const struct scr_comm *c, int from, scr_hash *h,
                       struct scr_err *err)
{
    unsigned char page[PAGE];
    struct scr_str s = SCR_STR_INIT;
    MPI_Status st;
    int n = 0;
    MPI_Request req = MPI_REQUEST_NULL;
    int code = MPI_Irecv(page, PAGE, MPI_BYTE, from, TAG_FIRST, c->comm, &req);
    int rc = scr_mpi_check(code, "receive of a hash", err);
    if (rc == SCR_OK)
        rc = scr_mpi_wait_status(&req, &st, "receive of a hash", err);
    if (rc == SCR_OK)
        rc = scr_mpi_check(MPI_Get_count(&st, MPI_BYTE, &n), "length of a hash", err);
    if (rc != SCR_OK)
        return rc;
    uint64_t total = NO_LETTER;
    if ((size_t)n >= sizeof total)
        memcpy(&total, page, sizeof total);
    if (total == NO_LETTER)
        return scr_fail(err, SCR_E_FAILURE, 0, "rank %d could not send its hash", from);
    scr_str_append_n(&s, page, (size_t)n);
    rc = take_more(c, from, total, page, &s, err);
    if (rc == SCR_OK && (s.bad || s.len != total || h == NULL))
        rc = scr_fail(err, SCR_E_NOMEM, 0, "hash from rank %d: out of memory", from);
    if (rc == SCR_OK)
        rc = scr_hash_unpack(s.p + sizeof total, s.len - sizeof total, h, NULL, err);
    scr_str_free(&s);
    return rc;
}

int scr_hash_sendrecv(const struct scr_comm *c, const scr_hash *send, int to,
                      scr_hash *recv, int from, struct scr_err *err)
{
    struct letter l = { .first = MPI_REQUEST_NULL };
    int rc = SCR_OK;
    if (to != MPI_PROC_NULL) {
        rc = letter_pack(&l, send, err);
        int rc1 = letter_start(&l, c, to, 0, err);
        rc = rc == SCR_OK ? rc1 : rc;
    }
    if (from != MPI_PROC_NULL) {
        int rc1 = letter_take(c, from, recv, err);
        rc = rc == SCR_OK ? rc1 : rc;
    }
    int rc1 = letter_wait(&l, err);
    letter_fini(&l);
    return rc == SCR_OK ? rc1 : rc;
}

int scr_hash_send(const struct scr_comm *c, int to, const scr_hash *h,
                  struct scr_err *err)
{
    return scr_hash_sendrecv(c, h, to, NULL, MPI_PROC_NULL, err);
}

int scr_hash_recv(const struct scr_comm *c, int from, scr_hash *h, struct scr_err *err)
{
    return scr_hash_sendrecv(c, NULL, MPI_PROC_NULL, h, from, err);
}

/* A broadcast begins with so many bytes of the letter: most are over with it. */
enum { START = 2048 };

/* 0: its sender could not pack the hash. */
static uint64_t letter_length(const unsigned char *start)
{
    uint64_t total;
    memcpy(&total, start, sizeof total);
    return total;
}

/* Room for a long letter, with its start in it. */
static int letter_extend(struct letter *l, const unsigned char *start, uint64_t total,
                         struct scr_err *err)
{
    l->bytes = malloc((size_t)total);
    if (l->bytes == NULL)
        return scr_fail(err, SCR_E_NOMEM, 0, "broadcast of a hash: out of memory");
    memcpy(l->bytes, start, START);
    return SCR_OK;
}

int scr_hash_bcast_all(const struct scr_comm *c, int root, scr_hash *h,
                       struct scr_err *err)
{
    int rc = SCR_OK;
    unsigned char start[START] = { 0 };
    struct letter l = { .first = MPI_REQUEST_NULL };
    if (h == NULL)
        rc = scr_fail(err, SCR_E_NOMEM, 0, "broadcast of a hash: out of memory");
    else if (c->rank == root)
        rc = letter_pack(&l, h, err);
    if (l.bytes != NULL)
        memcpy(start, l.bytes, l.total < START ? (size_t)l.total : START);
    int rc1 = scr_bcast_bytes_all(c, root, start, sizeof start, err);
    rc = rc == SCR_OK ? rc1 : rc;
    uint64_t total = letter_length(start);
    if (total > START) {
        if (rc == SCR_OK && c->rank != root)
            rc = letter_extend(&l, start, total, err);
        rc = scr_agree_all(c, rc, err);
        if (rc != SCR_OK)
            goto out;
        rc = scr_bcast_bytes_all(c, root, l.bytes + START, (size_t)total - START, err);
    }
    size_t head = sizeof total;
    if (rc == SCR_OK && c->rank != root && total > head)
        rc = scr_hash_unpack((l.bytes != NULL ? l.bytes : start) + head,
                             (size_t)total - head, h, NULL, err);
    rc = scr_agree_all(c, rc, err);
out:
    letter_fini(&l);
    return rc;
}

/* The letters of one exchange. */
struct post {
    struct letter *letter;
    size_t n, sent; /* letters [0, sent) have left completely */
};

/* Merges h under the sender's number. */
static int deliver(scr_hash *recv, int from, const scr_hash *h)
{
    scr_hash *slot = scr_hash_setf(recv, NULL, "%d", from);
    return slot == NULL ? SCR_E_NOMEM : scr_hash_merge(slot, h);
}

static int post_one(struct post *p, const struct scr_comm *c, int to, const scr_hash *h,
                    scr_hash *recv, struct scr_err *err)
{
    if (to < 0 || to >= c->size)
        return scr_fail(err, SCR_E_RANGE, 0, "exchange: no rank %d among %d", to,
                        c->size);
    if (to == c->rank)
        return deliver(recv, to, h);
    struct letter *l = &p->letter[p->n++];
    int rc = letter_pack(l, h, err);
    int rc1 = letter_start(l, c, to, 1, err);
    return rc == SCR_OK ? rc1 : rc;
}

static int post_all(struct post *p, const struct scr_comm *c, const scr_hash *send,
                    scr_hash *recv, struct scr_err *err)
{
    int rc = SCR_OK;
    p->letter = scr_calloc(scr_hash_size(send), sizeof *p->letter);
    if (p->letter == NULL)
        return scr_fail(err, SCR_E_NOMEM, 0, "exchange: out of memory");
    for (SCR_HASH_EACH(e, send)) {
        int to = scr_hash_elem_key_int(e);
        int rc1 = post_one(p, c, to, scr_hash_elem_hash(e), recv, err);
        rc = rc == SCR_OK ? rc1 : rc;
    }
    return rc;
}

/* Takes a letter if one has come; *came says so. */
static int take_any(const struct scr_comm *c, scr_hash *recv, int *came,
                    struct scr_err *err)
{
    MPI_Status st;
    *came = 0;
    int code = MPI_Iprobe(MPI_ANY_SOURCE, TAG_FIRST, c->comm, came, &st);
    int rc = scr_mpi_check(code, "probe for a hash", err);
    if (rc != SCR_OK || !*came)
        return rc;
    scr_hash *slot = scr_hash_setf(recv, NULL, "%d", st.MPI_SOURCE);
    rc = letter_take(c, st.MPI_SOURCE, slot, err);
    return slot != NULL ? rc : scr_fail(err, SCR_E_NOMEM, 0, "exchange: out of memory");
}

/* Non-blocking consensus: a rank whose letters have all been taken enters the barrier
 * and goes on taking letters until the barrier is through: then everybody's have been
 * taken. */
static int take_until_done(struct post *p, const struct scr_comm *c, scr_hash *recv,
                           struct scr_err *err)
{
    MPI_Request barrier = MPI_REQUEST_NULL;
    int rc = SCR_OK, in_barrier = 0, done = 0;
    while (!done) {
        int came = 0;
        int rc1 = take_any(c, recv, &came, err);
        rc = rc == SCR_OK ? rc1 : rc;
        while (p->sent < p->n && letter_sent(&p->letter[p->sent]))
            p->sent++;
        if (in_barrier) {
            if (MPI_Test(&barrier, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
                done = 1;
        } else if (p->sent == p->n) {
            in_barrier = 1;
            rc1 = scr_mpi_check(MPI_Ibarrier(c->comm, &barrier), "barrier", err);
            rc = rc == SCR_OK ? rc1 : rc;
        }
        if (!came)
            sched_yield();
    }
    return rc;
}

int scr_hash_exchange_all(const struct scr_comm *c, const scr_hash *send,
                          scr_hash *recv, struct scr_err *err)
{
    struct post p = { NULL, 0, 0 };
    int rc = post_all(&p, c, send, recv, err);
    int rc1 = take_until_done(&p, c, recv, err);
    rc = rc == SCR_OK ? rc1 : rc;
    for (size_t i = 0; i < p.n; i++)
        letter_fini(&p.letter[i]);
    free(p.letter);
    scr_hash_sort_int(recv, SCR_HASH_ASC);
    /* Also keeps a letter of the next exchange from being taken by a rank still in this
     * one. */
    return scr_agree_all(c, rc, err);
}
