/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs row plans over MPI.
 *
 * The work of a member is four lists made once from the plans:
 *
 *   lends   a symbol of mine that another member's row needs: read, send to the coder
 *   jobs    a row I code: receive its sources, compute, write mine, send the others
 *           home
 *   gets    a symbol of mine that another member computes: receive, write
 *   rests   a symbol of mine that no row needs: read for its checksum
 *
 * Each entry goes through its row slice by slice, at its own pace: whatever can
 * continue does; only when nothing can, a slice of the rests is read, and when there
 * are none left the processor is given away. An entry has DEPTH slices in flight, whose
 * receives are posted ahead; so reading, transfer, arithmetic and writing overlap, and
 * a member that is held up holds up only the rows it has a part in. No ranks wait in a
 * circle: an entry of lends waits only for its coder's receive, and that for the slice
 * DEPTH before it. Between two members a row sends one symbol a slice in either
 * direction: (sender, row) is the tag, and order keeps the slices apart. */
#include "par/redundancy/stripe.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "base/str.h"
#include "par/comm/mpi_call.h"

/* A slice stays in the second-level cache while it is read, summed up, computed and
 * written, and is long compared with the fixed cost of a message; all buffers of a
 * rank together stay within the budget. The same few are used again and again: an
 * encode that takes turns in 8 MiB of them takes a fifth longer, as they leave the
 * cache. */
enum {
    SLICE_MAX = 256 * 1024,
    SHORT_ROW = 10 * SLICE_MAX, /* of few slices, that hardly overlap */
    SLICE_SHORT = SLICE_MAX / 2,
    BUFFER_BUDGET = 16 * 1024 * 1024,
    ALIGN = 64,
    DEPTH = 2 /* slices of an entry in flight: one here, one there */
};

/* Tags: a row on its way to its coder, and back. */
enum { TAG_LEND = 0, TAG_HOME = 256 };

/* A symbol that travels between this member and `peer`. */
struct transfer {
    struct scr_sym sym;
    uint64_t len; /* of its row */
    int peer, tag;
    size_t slot; /* of the pool, the first of `slots` that its slices take in turn */
    int slots;
    MPI_Request req[DEPTH];
    uint64_t count;  /* slices */
    uint64_t next;   /* the first that is not done: 0 … count */
    uint64_t posted; /* receives of slices below this are posted; of gets */
};

struct job {
    struct scr_plan plan; /* owns coef and tables */
    struct transfer *src; /* plan.nsrc of them; peer == me: read here */
    struct transfer *dst; /* plan.ndst of them; peer == me: written here */
    int copies;           /* all destinations are the source: they share its slots */
    uint64_t count, next; /* slices, as in a transfer */
    uint64_t posted;      /* receives of slices below this are posted */
};

struct engine {
    const struct scr_set *set;
    struct scr_member *m;
    struct transfer *lend, *get, *rest;
    size_t nlend, nget, nrest;
    struct job *job;
    size_t njob;
    size_t slice;
    uint8_t *pool;
    size_t stride; /* of a slot */
    struct scr_stripe_stats stats;
    int rc; /* first local failure: from then on only communication continues */
    struct scr_err *err;
};

static void keep(struct engine *e, int rc)
{
    if (e->rc == SCR_OK)
        e->rc = rc;
}

/* --- the lists --- */

/* Room for one more at the end of an array; NULL: out of memory. */
static void *grow(void **array, size_t *n, size_t size)
{
    char *p = scr_reallocarray(*array, *n + 1, size);
    if (p == NULL)
        return NULL;
    *array = p;
    p += (*n)++ * size;
    memset(p, 0, size);
    return p;
}

static void transfer_init(struct transfer *x, const struct scr_sym *sym, uint64_t len,
                          int peer, int tag)
{
    *x = (struct transfer){ .sym = *sym, .len = len, .peer = peer, .tag = tag };
    for (int b = 0; b < DEPTH; b++)
        x->req[b] = MPI_REQUEST_NULL;
}

static int is_copy(const struct scr_plan *plan)
{
    int ones = plan->nsrc == 1;
    for (int i = 0; i < plan->ndst; i++)
        ones = ones && plan->coef[i] == 1;
    return ones;
}

static int add_job(struct engine *e, struct scr_plan *plan)
{
    struct job *j = grow((void **)&e->job, &e->njob, sizeof *j);
    if (j == NULL)
        return SCR_E_NOMEM;
    j->plan = *plan;
    plan->coef = plan->tables = NULL;
    j->src = scr_calloc((size_t)plan->nsrc, sizeof *j->src);
    j->dst = scr_calloc((size_t)plan->ndst, sizeof *j->dst);
    if (j->src == NULL || j->dst == NULL)
        return SCR_E_NOMEM;
    for (int i = 0; i < plan->nsrc; i++)
        transfer_init(&j->src[i], &plan->src[i], plan->len, plan->src[i].member,
                      TAG_LEND + plan->row);
    for (int i = 0; i < plan->ndst; i++) {
        transfer_init(&j->dst[i], &plan->dst[i], plan->len, plan->dst[i].member,
                      TAG_HOME + plan->row);
    }
    j->copies = is_copy(&j->plan);
    return SCR_OK;
}

/* Adds a symbol to a list, if it is mine. */
static int add_mine(struct engine *e, const struct scr_plan *plan,
                    const struct scr_sym *sym, int tag, struct transfer **list,
                    size_t *nlist)
{
    if (sym->member != e->set->me)
        return SCR_OK;
    struct transfer *x = grow((void **)list, nlist, sizeof *x);
    if (x == NULL)
        return SCR_E_NOMEM;
    transfer_init(x, sym, plan->len, plan->coder, tag + plan->row);
    return SCR_OK;
}

static int add_row(struct engine *e, struct scr_plan *plan)
{
    if (plan->coder == e->set->me)
        return add_job(e, plan);
    for (int i = 0; i < plan->nsrc; i++)
        TRY(add_mine(e, plan, &plan->src[i], TAG_LEND, &e->lend, &e->nlend));
    for (int i = 0; i < plan->ndst; i++)
        TRY(add_mine(e, plan, &plan->dst[i], TAG_HOME, &e->get, &e->nget));
    return SCR_OK;
}

static int is_source(const struct scr_plan *plan, const struct scr_sym *sym)
{
    for (int i = 0; i < plan->nsrc; i++)
        if (plan->src[i].member == sym->member)
            return 1;
    return 0;
}

/* Bytes that are here of a row and not needed for it are verified all the same: here,
 * as those who rebuild mostly wait for those whose files are lost. */
static int add_rest(struct engine *e, const struct scr_geom *g, const int *have,
                    const struct scr_plan *plan)
{
    int me = e->set->me;
    for (int s = 0; s < scr_geom_nd(g) + g->k; s++) {
        struct scr_sym sym;
        scr_geom_symbol(g, plan->row, s, &sym);
        int kind = sym.is_parity ? SCR_HAVE_PARITY : SCR_HAVE_DATA;
        if (sym.member != me || !(have[me] & kind) || is_source(plan, &sym) ||
            !scr_member_keeps_crc(e->m, &sym))
            continue;
        struct transfer *x = grow((void **)&e->rest, &e->nrest, sizeof *x);
        if (x == NULL)
            return SCR_E_NOMEM;
        transfer_init(x, &sym, plan->len, me, 0);
    }
    return SCR_OK;
}

/* Plans every row and keeps what concerns this member. */
static int make_lists(struct engine *e, const struct scr_geom *g, const int *have)
{
    struct scr_plan *plan = malloc(sizeof *plan);
    int rc = plan == NULL ? SCR_E_NOMEM : SCR_OK;
    for (int row = 0; row < g->n && rc == SCR_OK; row++) {
        rc = scr_plan_row(g, have, row, plan, e->err);
        if (rc != SCR_OK)
            break;
        if (plan->ndst > 0)
            rc = add_row(e, plan);
        if (rc == SCR_OK)
            rc = add_rest(e, g, have, plan);
        scr_plan_fini(plan);
    }
    free(plan);
    if (rc == SCR_E_NOMEM)
        scr_fail(e->err, rc, 0, "plan of a redundancy set: out of memory");
    return rc;
}

/* --- the buffers --- */

/* Gives x slots of the pool; n are taken so far. */
static void deal(struct transfer *x, int slots, size_t *n)
{
    x->slot = *n;
    x->slots = slots;
    *n += (size_t)slots;
}

/* Slots that are only used here are free when the slice is done. */
static int slots_of(const struct engine *e, const struct transfer *x)
{
    return x->peer == e->set->me ? 1 : DEPTH;
}

/* Copies are sent, or written, from where they are received or read. */
static void deal_job(const struct engine *e, struct job *j, size_t *n)
{
    for (int i = 0; i < j->plan.nsrc; i++)
        deal(&j->src[i], j->copies ? DEPTH : slots_of(e, &j->src[i]), n);
    for (int i = 0; i < j->plan.ndst; i++) {
        size_t shared = j->src[0].slot;
        if (j->copies)
            deal(&j->dst[i], DEPTH, &shared);
        else
            deal(&j->dst[i], slots_of(e, &j->dst[i]), n);
    }
}

/* Gives everything its slots; returns their number. */
static size_t deal_all(struct engine *e)
{
    size_t n = 0, rests;
    for (size_t i = 0; i < e->nlend; i++)
        deal(&e->lend[i], DEPTH, &n);
    for (size_t i = 0; i < e->nget; i++)
        deal(&e->get[i], DEPTH, &n);
    for (size_t i = 0; i < e->njob; i++)
        deal_job(e, &e->job[i], &n);
    rests = n; /* one slot for all, as nothing is kept */
    for (size_t i = 0; i < e->nrest; i++, n = rests)
        deal(&e->rest[i], 1, &n);
    return rests + (e->nrest > 0);
}

/* For n slots. */
static size_t pick_slice(size_t n, uint64_t rowlen, size_t buf_max)
{
    size_t slice = rowlen < SHORT_ROW ? SLICE_SHORT : SLICE_MAX;
    if (n > 0 && slice > BUFFER_BUDGET / n)
        slice = BUFFER_BUDGET / n;
    if (slice > buf_max)
        slice = buf_max;
    if (slice >= ALIGN)
        slice -= slice % ALIGN;
    return slice > 0 ? slice : 1;
}

static int make_buffers(struct engine *e, uint64_t rowlen, size_t buf_max)
{
    size_t n = deal_all(e);
    e->slice = pick_slice(n, rowlen, buf_max);
    e->stride = (e->slice + ALIGN - 1) / ALIGN * ALIGN;
    if (n == 0)
        return SCR_OK;
    /* Zeros, as after a failed read what is in a buffer is sent nevertheless. */
    e->pool = scr_pages_alloc(n * e->stride);
    return e->pool ? SCR_OK : scr_no_memory(e->err);
}

/* --- one slice of one symbol --- */

/* Bytes of slice t of a row of length len. */
static size_t piece(const struct engine *e, uint64_t len, uint64_t t)
{
    uint64_t left = len - t * e->slice;
    return left < e->slice ? (size_t)left : e->slice;
}

/* Where slice t of a symbol is. */
static uint8_t *at(const struct engine *e, const struct transfer *x, uint64_t t)
{
    return e->pool + (x->slot + t % (uint64_t)x->slots) * e->stride;
}

static void read_here(struct engine *e, struct transfer *x, uint64_t t, size_t n)
{
    if (e->rc == SCR_OK)
        e->rc = scr_member_read(e->m, &x->sym, t * e->slice, at(e, x, t), n, e->err);
}

static void write_here(struct engine *e, struct transfer *x, uint64_t t, size_t n)
{
    if (e->rc == SCR_OK)
        e->rc = scr_member_write(e->m, &x->sym, t * e->slice, at(e, x, t), n, e->err);
}

static void start_recv(struct engine *e, struct transfer *x, uint64_t t, size_t n)
{
    int code = MPI_Irecv(at(e, x, t), (int)n, MPI_BYTE, x->peer, x->tag,
                         e->set->comm.comm, &x->req[t % DEPTH]);
    keep(e, scr_mpi_check(code, "receive of a slice", e->err));
    e->stats.received += n;
}

static void start_send(struct engine *e, struct transfer *x, uint64_t t, size_t n)
{
    int code = MPI_Isend(at(e, x, t), (int)n, MPI_BYTE, x->peer, x->tag,
                         e->set->comm.comm, &x->req[t % DEPTH]);
    keep(e, scr_mpi_check(code, "send of a slice", e->err));
    e->stats.sent += n;
}

/* 1 if the slice that t's request was used for before, or t itself, has gone through.
 */
static int is_done(struct engine *e, struct transfer *x, uint64_t t)
{
    int done = 0;
    int code = MPI_Test(&x->req[t % DEPTH], &done, MPI_STATUS_IGNORE);
    keep(e, scr_mpi_check(code, "exchange of a slice", e->err));
    return done || code != MPI_SUCCESS;
}

static int are_done(struct engine *e, struct transfer *x, int n, uint64_t t)
{
    int all = 1;
    for (int i = 0; i < n; i++)
        all = is_done(e, &x[i], t) && all;
    return all;
}

/* --- the next slice of each entry; 1 if it could be done --- */

static int push_lend(struct engine *e, struct transfer *x)
{
    uint64_t t = x->next;
    if (t == x->count || !is_done(e, x, t))
        return 0;
    size_t n = piece(e, x->len, t);
    read_here(e, x, t, n);
    start_send(e, x, t, n);
    x->next++;
    return 1;
}

/* Posts the receives of as many slices as may be in flight and have a free slot. */
static void post_get(struct engine *e, struct transfer *x)
{
    for (; x->posted < x->count && x->posted < x->next + DEPTH; x->posted++) {
        size_t n = piece(e, x->len, x->posted);
        start_recv(e, x, x->posted, n);
    }
}

static int pull_get(struct engine *e, struct transfer *x)
{
    uint64_t t = x->next;
    post_get(e, x);
    if (t == x->posted || !is_done(e, x, t))
        return 0;
    write_here(e, x, t, piece(e, x->len, t));
    x->next++;
    post_get(e, x);
    return 1;
}

/* Posts the receives of as many slices as may be in flight. A slot of copies is free
 * when they have been sent. */
static void post_sources(struct engine *e, struct job *j)
{
    for (; j->posted < j->count && j->posted < j->next + DEPTH; j->posted++) {
        size_t n = piece(e, j->plan.len, j->posted);
        if (j->copies && !are_done(e, j->dst, j->plan.ndst, j->posted))
            return;
        for (int s = 0; s < j->plan.nsrc; s++)
            if (j->src[s].peer != e->set->me)
                start_recv(e, &j->src[s], j->posted, n);
    }
}

static void compute(struct engine *e, struct job *j, uint64_t t, size_t n)
{
    uint8_t *src[SCR_EC_MAX], *dst[SCR_EC_MAX];
    for (int i = 0; i < j->plan.nsrc; i++) {
        src[i] = at(e, &j->src[i], t);
        if (j->src[i].peer == e->set->me)
            read_here(e, &j->src[i], t, n);
    }
    for (int i = 0; i < j->plan.ndst; i++)
        dst[i] = at(e, &j->dst[i], t);
    scr_plan_apply(&j->plan, n, src, dst);
}

static int push_job(struct engine *e, struct job *j)
{
    uint64_t t = j->next;
    int me = e->set->me;
    post_sources(e, j);
    if (t == j->posted || !are_done(e, j->src, j->plan.nsrc, t) ||
        (!j->copies && !are_done(e, j->dst, j->plan.ndst, t)))
        return 0;
    size_t n = piece(e, j->plan.len, t);
    if (!j->copies)
        compute(e, j, t, n);
    else if (j->src[0].peer == me)
        read_here(e, &j->src[0], t, n);
    for (int i = 0; i < j->plan.ndst; i++) {
        if (j->dst[i].peer == me)
            write_here(e, &j->dst[i], t, n);
        else
            start_send(e, &j->dst[i], t, n);
    }
    j->next++;
    return 1;
}

/* One slice of what no row needs; 0: nothing is left, or worth it. */
static int read_rest(struct engine *e)
{
    while (e->nrest > 0 && e->rest[e->nrest - 1].next == e->rest[e->nrest - 1].count)
        e->nrest--;
    if (e->nrest == 0 || e->rc != SCR_OK)
        return 0;
    struct transfer *x = &e->rest[e->nrest - 1];
    read_here(e, x, x->next, piece(e, x->len, x->next));
    x->next++;
    return 1;
}

/* --- all of them --- */

static uint64_t count_slices(const struct engine *e, uint64_t len)
{
    return len / e->slice + (len % e->slice > 0);
}

/* Slices of what others have a part in. */
static uint64_t count_lists(struct engine *e)
{
    uint64_t all = 0;
    for (size_t i = 0; i < e->nlend; i++)
        all += e->lend[i].count = count_slices(e, e->lend[i].len);
    for (size_t i = 0; i < e->nget; i++)
        all += e->get[i].count = count_slices(e, e->get[i].len);
    for (size_t i = 0; i < e->njob; i++)
        all += e->job[i].count = count_slices(e, e->job[i].plan.len);
    for (size_t i = 0; i < e->nrest; i++)
        e->rest[i].count = count_slices(e, e->rest[i].len);
    return all;
}

/* Data that others wait for come first. */
static uint64_t push_all(struct engine *e)
{
    uint64_t done = 0;
    for (size_t i = 0; i < e->njob; i++)
        done += (uint64_t)push_job(e, &e->job[i]);
    for (size_t i = 0; i < e->nlend; i++)
        done += (uint64_t)push_lend(e, &e->lend[i]);
    for (size_t i = 0; i < e->nget; i++)
        done += (uint64_t)pull_get(e, &e->get[i]);
    return done;
}

static void finish(struct engine *e, struct transfer *x)
{
    keep(e, scr_mpi_wait(x->req, DEPTH, "exchange of a slice", e->err));
}

static void finish_sends(struct engine *e)
{
    for (size_t i = 0; i < e->nlend; i++)
        finish(e, &e->lend[i]);
    for (size_t i = 0; i < e->njob; i++)
        for (int s = 0; s < e->job[i].plan.ndst; s++)
            finish(e, &e->job[i].dst[s]);
}

static void run_lists(struct engine *e)
{
    uint64_t left = count_lists(e);
    while (left > 0) {
        uint64_t done = push_all(e);
        left -= done;
        if (done == 0 && !read_rest(e))
            sched_yield();
    }
    finish_sends(e);
    while (read_rest(e))
        ;
}

static void engine_fini(struct engine *e)
{
    for (size_t i = 0; i < e->njob; i++) {
        scr_plan_fini(&e->job[i].plan);
        free(e->job[i].src);
        free(e->job[i].dst);
    }
    free(e->job);
    free(e->lend);
    free(e->get);
    free(e->rest);
    scr_pages_free(e->pool);
}

/* Messages must be of one size everywhere, whatever each rank can afford; one of no
 * bytes says that a rank cannot take part. 1 if all can. */
static int agree_slice_all(struct engine *e, int rc)
{
    e->slice = (size_t)scr_min_all(&e->set->comm, rc == SCR_OK ? (int64_t)e->slice : 0);
    return e->slice > 0;
}

int scr_stripe_run_all(struct scr_stripe *s, int rc, struct scr_err *err)
{
    struct engine e = { .set = s->set, .m = s->m, .err = err };
    if (rc == SCR_OK)
        rc = make_lists(&e, s->g, s->have);
    if (rc == SCR_OK)
        rc = make_buffers(&e, scr_geom_max_rowlen(s->g), s->buf_max);
    s->started = agree_slice_all(&e, rc);
    if (s->started) {
        run_lists(&e);
        rc = e.rc;
    } else {
        rc = scr_set_agree_all(s->set, rc, err);
    }
    s->stats = e.stats;
    engine_fini(&e);
    return rc;
}
