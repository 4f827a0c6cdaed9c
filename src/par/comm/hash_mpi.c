/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes over MPI: to all, in pairs, and the sparse exchange.
 *
 * They travel as a letter: u64 total length, bytes; cut into pages of PAGE bytes. The
 * first page has tag TAG_FIRST, the others TAG_MORE, so that a receiver that finds a
 * first page takes the rest from the same sender in order. Pages are received into one
 * buffer on the stack: a receiver that runs out of memory still takes them all and
 * no rank waits for it. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "par/comm/comm.h"
#include "par/comm/mpi_call.h"

enum { PAGE = 64 * 1024 };
enum { TAG_FIRST = 1, TAG_MORE = 2 };

/* Total length of a letter whose sender ran out of memory. */
static const uint64_t NO_LETTER = UINT64_MAX;

struct letter {
    unsigned char *bytes;      /* the first page: length, then the first bytes; NULL: no
                                  letter */
    const unsigned char *rest; /* of the other pages, borrowed */
    uint64_t total;            /* bytes of it */
    MPI_Request first;
    MPI_Request *more;
    int nmore, gone; /* pages after the first; how many of them have left */
};

/* A letter that was not made says that it could not be. */
static void letter_drop(struct letter *l)
{
    free(l->bytes);
    free(l->more);
    *l = (struct letter){ .first = MPI_REQUEST_NULL };
}

/* Of bytes that stay where they are until the letter has left. */
static int letter_lend(struct letter *l, const struct scr_str *s, struct scr_err *err)
{
    const size_t head = sizeof l->total, room = PAGE - head;
    uint64_t total = s->len + head, pages = (total + PAGE - 1) / PAGE;
    *l = (struct letter){ .first = MPI_REQUEST_NULL };
    TRY(!s->bad && pages <= INT32_MAX ? SCR_OK : scr_no_memory(err));
    l->bytes = malloc(total < PAGE ? (size_t)total : PAGE);
    l->more = scr_calloc((size_t)pages, sizeof *l->more);
    if (l->bytes == NULL || l->more == NULL) {
        letter_drop(l);
        return scr_no_memory(err);
    }
    memcpy(l->bytes, &total, head);
    if (s->len > 0)
        memcpy(l->bytes + head, s->p, s->len < room ? s->len : room);
    if (s->len > room)
        l->rest = (const unsigned char *)s->p + room;
    l->total = total;
    l->nmore = (int)pages - 1;
    return SCR_OK;
}

/* Starts sending. The first page completes only when the receiver has taken it. */
static int letter_start(struct letter *l, const struct scr_comm *c, int to,
                        struct scr_err *err)
{
    const void *first = l->bytes != NULL ? (const void *)l->bytes : &NO_LETTER;
    uint64_t total = l->bytes != NULL ? l->total : sizeof NO_LETTER;
    int n = total < PAGE ? (int)total : PAGE;
    int code = MPI_Issend(first, n, MPI_BYTE, to, TAG_FIRST, c->comm, &l->first);
    int rc = scr_mpi_check(code, "send of bytes", err);
    for (int i = 0; i < l->nmore; i++) {
        uint64_t at = (uint64_t)i * PAGE, left = total - PAGE - at;
        n = left < PAGE ? (int)left : PAGE;
        code = MPI_Isend(l->rest + at, n, MPI_BYTE, to, TAG_MORE, c->comm, &l->more[i]);
        if (rc == SCR_OK)
            rc = scr_mpi_check(code, "send of bytes", err);
    }
    return rc;
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

/* Takes the pages after the first; the letter is collected in s. */
static int take_more(const struct scr_comm *c, int from, uint64_t total,
                     unsigned char *page, struct scr_str *s, struct scr_err *err)
{
    int rc = SCR_OK;
    for (uint64_t at = PAGE; at < total && rc == SCR_OK; at += PAGE) {
        int n = total - at < PAGE ? (int)(total - at) : PAGE;
        MPI_Request req = MPI_REQUEST_NULL;
        int code = MPI_Irecv(page, n, MPI_BYTE, from, TAG_MORE, c->comm, &req);
        rc = scr_mpi_finish(code, &req, "receive of bytes", err);
        scr_str_append_n(s, page, (size_t)n);
    }
    return rc;
}

/* Receives one letter; s, empty, gets its packed bytes. */
static int letter_take(const struct scr_comm *c, int from, struct scr_str *s,
                       struct scr_err *err)
{
    unsigned char page[PAGE];
    MPI_Status st;
    int n = 0;
    MPI_Request req = MPI_REQUEST_NULL;
    int code = MPI_Irecv(page, PAGE, MPI_BYTE, from, TAG_FIRST, c->comm, &req);
    TRY(scr_mpi_check(code, "receive of bytes", err));
    TRY(scr_mpi_wait_status(&req, &st, "receive of bytes", err));
    TRY(scr_mpi_check(MPI_Get_count(&st, MPI_BYTE, &n), "length of bytes", err));
    uint64_t total = NO_LETTER, head = sizeof total;
    if ((size_t)n >= sizeof total)
        memcpy(&total, page, sizeof total);
    if (total == NO_LETTER)
        return scr_fail(err, SCR_E_FAILURE, 0, "rank %d could not send what it has",
                        from);
    scr_str_append_n(s, page + head, (size_t)n - head);
    TRY(take_more(c, from, total, page, s, err));
    if ((s->bad || s->len + head != total))
        return scr_no_memory(err);
    return SCR_OK;
}

/* --- from rank to rank, while they are made --- */

/* Sends n bytes, a page at most, and takes a page if more are to come. */
static void swap_page(struct scr_swap *w, const char *p, size_t n)
{
    char page[PAGE];
    MPI_Status st;
    MPI_Request out = MPI_REQUEST_NULL, in = MPI_REQUEST_NULL;
    MPI_Comm comm = w->comm->comm;
    int rc = SCR_OK, got = 0;
    if (n > 0)
        rc = scr_mpi_check(MPI_Isend(p, (int)n, MPI_BYTE, w->to, TAG_MORE, comm, &out),
                           "send of bytes", w->err);
    w->send -= n;
    if (w->recv > 0) {
        int code = MPI_Irecv(page, PAGE, MPI_BYTE, w->from, TAG_MORE, comm, &in);
        int rc1 = scr_mpi_check(code, "receive of bytes", w->err);
        if (rc1 == SCR_OK)
            rc1 = scr_mpi_wait_status(&in, &st, "receive of bytes", w->err);
        if (rc1 == SCR_OK)
            rc1 = scr_mpi_check(MPI_Get_count(&st, MPI_BYTE, &got), "length of bytes",
                                w->err);
        scr_str_append_n(w->in, page, (size_t)got);
        w->recv =
            rc1 == SCR_OK && (uint64_t)got < w->recv ? w->recv - (uint64_t)got : 0;
        rc = scr_first(rc, rc1);
    }
    rc = scr_first(rc, scr_mpi_wait(&out, 1, "send of bytes", w->err));
    w->rc = scr_first(w->rc, rc);
}

static size_t page_of(const struct scr_swap *w, size_t n)
{
    n = n < PAGE ? n : PAGE;
    return n < w->send ? n : (size_t)w->send;
}

static int swap_piece(struct scr_drain *drain, char *p, size_t n)
{
    struct scr_swap *w = (struct scr_swap *)drain;
    for (size_t at = 0; at < n && w->send > 0; at += PAGE)
        swap_page(w, p + at, page_of(w, n - at));
    return SCR_OK;
}

struct scr_drain *scr_swap_begin(struct scr_swap *w)
{
    w->drain = (struct scr_drain){ .take = swap_piece };
    return &w->drain;
}

int scr_swap_end(struct scr_swap *w, struct scr_str *out)
{
    static const char zeros[PAGE];
    if (!out->bad)
        scr_str_drain(out);
    else
        w->rc = scr_first(w->rc, scr_no_memory(w->err));
    while (w->send > 0 || w->recv > 0)
        swap_page(w, zeros, page_of(w, PAGE));
    scr_str_free(out);
    return w->rc;
}

/* A broadcast begins with so many bytes: most are over with it. */
enum { START = 2048 };
struct start {
    uint64_t total;
    char bytes[START - sizeof(uint64_t)];
};

static void start_fill(struct start *s, const char *bytes, size_t n)
{
    s->total = n;
    if (n > 0)
        memcpy(s->bytes, bytes, n < sizeof s->bytes ? n : sizeof s->bytes);
}

/* The bytes of root on all ranks; the others' s is empty. rc: of this rank until now.
 * The code is each rank's own, to be agreed on. */
static int spread_all(const struct scr_comm *c, int root, int rc, struct scr_str *s,
                      struct scr_err *err)
{
    struct start start = { 0 };
    if (c->rank == root && rc == SCR_OK)
        start_fill(&start, s->p, s->len);
    rc = scr_first(rc, scr_bcast_bytes_all(c, root, &start, sizeof start, err));
    size_t total = (size_t)start.total;
    if (c->rank != root && rc == SCR_OK && total > 0 &&
        scr_str_extend(s, total) == NULL)
        rc = scr_no_memory(err);
    if (total > sizeof start.bytes && (rc = scr_agree_all(c, rc, err)) == SCR_OK)
        return scr_bcast_bytes_all(c, root, s->p, total, err);
    if (c->rank != root && rc == SCR_OK && total > 0)
        memcpy(s->p, start.bytes, total);
    return rc;
}

int scr_bcast_str_all(const struct scr_comm *c, int root, char **s, struct scr_err *err)
{
    struct scr_str text = SCR_STR_INIT;
    if (c->rank == root && *s != NULL)
        text = (struct scr_str){ .p = *s, .len = strlen(*s) + 1 }; /* lent */
    int rc = spread_all(c, root, SCR_OK, &text, err);
    if (c->rank == root)
        return rc;
    if (rc == SCR_OK) {
        free(*s);
        *s = text.len > 0 ? scr_str_take(&text) : NULL;
    }
    scr_str_free(&text);
    return rc;
}

int scr_first_str_all(const struct scr_comm *c, char **s, struct scr_err *err)
{
    int has = *s != NULL;
    int root = (int)scr_min_all(c, has ? c->rank : c->size);
    return root < c->size ? scr_bcast_str_all(c, root, s, err) : SCR_OK;
}

/* Bytes of a piece that scr_same_all compares at once, on the stack. */
enum { SAME_PIECE = 8192 };

/* Compares rank 0's bytes with ours, a piece at a time. */
static int same_pieces_all(const struct scr_comm *c, const char *mine, uint64_t at,
                           uint64_t total, int same)
{
    char piece[SAME_PIECE];
    for (; at < total; at += SAME_PIECE) {
        size_t len = total - at < SAME_PIECE ? (size_t)(total - at) : SAME_PIECE;
        if (c->rank == 0)
            memcpy(piece, mine + at, len);
        int rc = scr_bcast_bytes_all(c, 0, piece, len, NULL);
        same = same && rc == SCR_OK && memcmp(piece, mine + at, len) == 0;
    }
    return same;
}

int scr_same_all(const struct scr_comm *c, const void *p, size_t n)
{
    struct start start = { 0 };
    if (c->rank == 0)
        start_fill(&start, p, n);
    int same = scr_bcast_bytes_all(c, 0, &start, sizeof start, NULL) == SCR_OK;
    uint64_t total = same ? start.total : n;
    size_t len = n < sizeof start.bytes ? n : sizeof start.bytes;
    same = same && total == n && (len == 0 || memcmp(start.bytes, p, len) == 0);
    return scr_and_all(c, same_pieces_all(c, p, sizeof start.bytes, total, same));
}

int scr_hash_bcast_all(const struct scr_comm *c, int root, int rc, scr_hash *h,
                       struct scr_err *err)
{
    struct scr_str s = SCR_STR_INIT;
    if (rc == SCR_OK && h == NULL)
        rc = scr_no_memory(err);
    if (rc == SCR_OK && c->rank == root)
        scr_hash_append(&s, h);
    if (s.bad)
        rc = scr_no_memory(err);
    rc = spread_all(c, root, rc, &s, err);
    if (rc == SCR_OK && c->rank != root && s.len > 0) /* root has one */
        rc = scr_hash_unpack(s.p, s.len, h, NULL, err);
    scr_str_free(&s);
    return rc;
}

/* The letters of one exchange, and where the bytes of those that come go. */
struct post {
    struct letter *letter;
    size_t n, sent; /* letters [0, sent) have left completely */
    struct scr_parcels *recv;
};

/* Sends a letter to another rank, or a mark if it could not be made, and takes
 * ownership. rc: of this rank until now. */
static int post_one(struct post *p, const struct scr_comm *c, int to, struct letter *l,
                    int rc, struct scr_err *err)
{
    if (to < 0 || to >= c->size) {
        letter_drop(l);
        return scr_first(rc, scr_fail(err, SCR_E_RANGE, 0,
                                      "exchange: no rank %d among %d", to, c->size));
    }
    p->letter[p->n] = *l;
    return scr_first(rc, letter_start(&p->letter[p->n++], c, to, err));
}

/* Takes a letter if one has come; *came is 1. */
static int take_any(struct post *p, const struct scr_comm *c, int *came,
                    struct scr_err *err)
{
    MPI_Status st;
    struct scr_str in = SCR_STR_INIT;
    *came = 0;
    int code = MPI_Iprobe(MPI_ANY_SOURCE, TAG_FIRST, c->comm, came, &st);
    int rc = scr_mpi_check(code, "probe for bytes", err);
    if (rc != SCR_OK || !*came)
        return rc;
    rc = letter_take(c, st.MPI_SOURCE, &in, err);
    struct scr_str *to = rc == SCR_OK ? scr_parcel_to(p->recv, st.MPI_SOURCE) : NULL;
    if (rc == SCR_OK && to == NULL)
        rc = scr_no_memory(err);
    if (rc == SCR_OK)
        *to = in; /* a rank sends one letter */
    else
        scr_str_free(&in);
    return rc;
}

/* Non-blocking consensus: a rank whose letters have all been taken enters the barrier
 * and continues taking letters until the barrier is through: then the letters of all
 * ranks have been taken. */
static int take_until_done(struct post *p, const struct scr_comm *c,
                           struct scr_err *err)
{
    MPI_Request barrier = MPI_REQUEST_NULL;
    int rc = SCR_OK, in_barrier = 0, done = 0;
    while (!done) {
        int came = 0;
        rc = scr_first(rc, take_any(p, c, &came, err));
        while (p->sent < p->n && letter_sent(&p->letter[p->sent]))
            p->sent++;
        if (in_barrier) {
            if (MPI_Test(&barrier, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
                done = 1;
        } else if (p->sent == p->n) {
            in_barrier = 1;
            rc = scr_first(
                rc, scr_mpi_check(MPI_Ibarrier(c->comm, &barrier), "barrier", err));
        }
        if (!came)
            sched_yield();
    }
    return rc;
}

static int finish_all(struct post *p, const struct scr_comm *c, int rc,
                      struct scr_err *err)
{
    rc = scr_first(rc, take_until_done(p, c, err));
    for (size_t i = 0; i < p->n; i++)
        letter_drop(&p->letter[i]);
    free(p->letter);
    return rc;
}

/* --- of bytes --- */

/* Where the place of rank is noted, or may be: there are twice as many as parcels, a
 * power of two. */
static size_t *place_of(const struct scr_parcels *p, int rank)
{
    size_t mask = 2 * p->room - 1, at = (size_t)rank * 0x9e3779b1u & mask;
    while (p->place[at] != 0 && p->of[p->place[at] - 1].rank != rank)
        at = (at + 1) & mask;
    return &p->place[at];
}

static int grow(struct scr_parcels *p)
{
    size_t room = p->room == 0 ? 4 : p->room * 2;
    struct scr_parcel *of = scr_reallocarray(p->of, room, sizeof *of);
    p->of = of != NULL ? of : p->of;
    size_t *place = of != NULL ? scr_calloc(2 * room, sizeof *place) : NULL;
    if (place == NULL)
        return 0;
    free(p->place);
    p->place = place;
    p->room = room;
    for (size_t i = 0; i < p->n; i++)
        *place_of(p, p->of[i].rank) = i + 1;
    return 1;
}

struct scr_str *scr_parcel_to(struct scr_parcels *p, int rank)
{
    size_t *place = p->room > 0 ? place_of(p, rank) : NULL;
    if (place != NULL && *place > 0)
        return &p->of[*place - 1].bytes;
    if (p->n == p->room) {
        if (!grow(p))
            return NULL;
        place = place_of(p, rank);
    }
    p->of[p->n] = (struct scr_parcel){ .rank = rank };
    *place = ++p->n;
    return &p->of[p->n - 1].bytes;
}

void scr_parcels_free(struct scr_parcels *p)
{
    for (size_t i = 0; i < p->n; i++)
        scr_str_free(&p->of[i].bytes);
    free(p->of);
    free(p->place);
    *p = (struct scr_parcels){ 0 };
}

static int keep_bytes(struct scr_parcels *recv, int me, const struct scr_str *bytes)
{
    struct scr_str *to = scr_parcel_to(recv, me);
    if (to != NULL && bytes->len > 0)
        scr_str_append_n(to, bytes->p, bytes->len);
    return to == NULL || to->bad || bytes->bad ? SCR_E_NOMEM : SCR_OK;
}

static int by_rank(const void *a, const void *b)
{
    const struct scr_parcel *x = a, *y = b;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static void sort_by_rank(struct scr_parcels *p)
{
    if (p->n == 0)
        return;
    qsort(p->of, p->n, sizeof *p->of, by_rank);
    memset(p->place, 0, 2 * p->room * sizeof *p->place);
    for (size_t k = 0; k < p->n; k++)
        *place_of(p, p->of[k].rank) = k + 1;
}

int scr_parcels_trade_all(const struct scr_comm *c, int rc,
                          const struct scr_parcels *send, struct scr_parcels *recv,
                          struct scr_err *err)
{
    struct post p = { .recv = recv };
    if (rc == SCR_OK && (p.letter = scr_calloc(send->n, sizeof *p.letter)) == NULL)
        rc = scr_no_memory(err);
    for (size_t i = 0; p.letter != NULL && i < send->n; i++) {
        struct letter l;
        const struct scr_parcel *o = &send->of[i];
        rc = scr_first(rc, o->rank == c->rank ? keep_bytes(recv, o->rank, &o->bytes)
                                              : letter_lend(&l, &o->bytes, err));
        if (o->rank != c->rank)
            rc = post_one(&p, c, o->rank, &l, rc, err);
    }
    rc = finish_all(&p, c, rc, err);
    if (rc != SCR_OK)
        scr_parcels_free(recv);
    else
        sort_by_rank(recv);
    return rc;
}

/* The agreement also keeps a letter of the next exchange from being taken by a rank
 * still in this one. */
int scr_parcels_exchange_all(const struct scr_comm *c, int rc,
                             const struct scr_parcels *send, struct scr_parcels *recv,
                             struct scr_err *err)
{
    rc = scr_agree_all(c, scr_parcels_trade_all(c, rc, send, recv, err), err);
    if (rc != SCR_OK)
        scr_parcels_free(recv);
    return rc;
}

int scr_bytes_share_all(const struct scr_comm *c, int rc, const struct scr_str *mine,
                        struct scr_str *all, struct scr_err *err)
{
    struct scr_parcel to_first = { .rank = 0, .bytes = *mine }; /* lent */
    const struct scr_parcels send = { .of = &to_first,
                                      .n = mine->len > 0 || mine->bad };
    struct scr_parcels recv = { 0 };
    rc = scr_parcels_exchange_all(c, rc, &send, &recv, err);
    if (rc != SCR_OK)
        return rc;
    for (size_t i = 0; i < recv.n; i++)
        if (recv.of[i].bytes.len > 0)
            scr_str_append_n(all, recv.of[i].bytes.p, recv.of[i].bytes.len);
    scr_parcels_free(&recv);
    if (all->bad)
        rc = scr_no_memory(err);
    rc = scr_agree_all(c, spread_all(c, 0, rc, all, err), err);
    if (rc != SCR_OK)
        scr_str_free(all);
    return rc;
}

/* --- what is in them --- */

int scr_parcel_bytes(struct scr_parcels *p, int rank, const void *bytes, size_t n,
                     struct scr_err *err)
{
    struct scr_str *to = scr_parcel_to(p, rank);
    if (to != NULL)
        scr_str_append_n(to, bytes, n);
    return to != NULL && !to->bad ? SCR_OK : scr_no_memory(err);
}

int scr_parcel_text(struct scr_parcels *p, int rank, const char *text,
                    struct scr_err *err)
{
    return scr_parcel_bytes(p, rank, text, strlen(text) + 1, err);
}

int scr_parcel_printf(struct scr_parcels *p, int rank, struct scr_err *err,
                      const char *fmt, ...)
{
    va_list ap;
    struct scr_str *to = scr_parcel_to(p, rank);
    TRY(to ? SCR_OK : scr_no_memory(err));
    va_start(ap, fmt);
    scr_str_vprintf(to, fmt, ap);
    va_end(ap);
    scr_str_append_n(to, "", 1);
    return to->bad ? scr_no_memory(err) : SCR_OK;
}

const char *scr_texts_next(const struct scr_str *bytes, const char *after)
{
    if (bytes->len == 0)
        return NULL;
    const char *next = after != NULL ? after + strlen(after) + 1 : bytes->p;
    size_t left = (size_t)(bytes->p + bytes->len - next);
    return left > 0 && memchr(next, '\0', left) != NULL ? next : NULL;
}
