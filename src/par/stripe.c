/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs row plans over MPI.
 *
 * The rows run side by side: in round t every row handles its t-th slice, so that all
 * members code at the same time. What a member does in a round is three lists made once
 * from the plans:
 *
 *   lends   a symbol of mine that another member's row needs: read, send to the coder
 *   jobs    a row I code: receive its sources, compute, write mine, send the others
 * home gets    a symbol of mine that another member computes: receive, write
 *
 * Everything exists twice, by the parity of t:
 *
 *   round t:  write what came home in t-1 · post the receives of t+1, read and send for
 * t+1 · wait for the sources of t, compute, send home
 *
 * What round t waits for was sent in rounds before t or in step 3 of t, which itself
 * waits for step 2 of t-1 only; so nobody waits in a circle. Between two members a row
 * sends one symbol a round in either direction: (sender, row) is the tag, and order
 * keeps the rounds apart. */
#include "par/stripe.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "par/mpi_call.h"

/* A slice fits the second-level cache; all buffers of a rank together stay below the
 * budget. */
enum { SLICE_MAX = 256 * 1024, BUFFER_BUDGET = 16 * 1024 * 1024, ALIGN = 64 };

/* Tags: a row on its way to its coder, and back. */
enum { TAG_LEND = 0, TAG_HOME = 256 };

/* A symbol that travels between this member and `peer`. */
struct transfer {
    struct scr_sym sym;
    uint64_t len; /* of its row */
    int peer, tag;
    uint8_t *buf[2];
    MPI_Request req[2];
};

struct job {
    struct scr_plan plan; /* owns coef and tables */
    struct transfer *src; /* plan.nsrc of them; peer == me: read here */
    struct transfer *dst; /* plan.ndst of them; peer == me: written here */
};

struct engine {
    const struct scr_set *set;
    struct scr_member *m;
    struct transfer *lend, *get;
    size_t nlend, nget;
    struct job *job;
    size_t njob;
    size_t slice;
    uint64_t rounds;
    uint8_t *pool;
    struct scr_stripe_stats stats;
    int rc; /* first local failure: from then on only communication goes on */
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
    x->req[0] = x->req[1] = MPI_REQUEST_NULL;
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
    for (int i = 0; i < plan->ndst; i++)
        transfer_init(&j->dst[i], &plan->dst[i], plan->len, plan->dst[i].member,
                      TAG_HOME + plan->row);
    return SCR_OK;
}

/* Adds the symbols of mine among n to a list. */
static int add_mine(struct engine *e, const struct scr_plan *plan,
                    const struct scr_sym *sym, int n, int tag, struct transfer **list,
                    size_t *nlist)
{
    for (int i = 0; i < n; i++) {
        if (sym[i].member != e->set->me)
            continue;
        struct transfer *x = grow((void **)list, nlist, sizeof *x);
        if (x == NULL)
            return SCR_E_NOMEM;
        transfer_init(x, &sym[i], plan->len, plan->coder, tag + plan->row);
    }
    return SCR_OK;
}

static int add_row(struct engine *e, struct scr_plan *plan)
{
    if (plan->coder == e->set->me)
        return add_job(e, plan);
    int rc = add_mine(e, plan, plan->src, plan->nsrc, TAG_LEND, &e->lend, &e->nlend);
    if (rc == SCR_OK)
        rc = add_mine(e, plan, plan->dst, plan->ndst, TAG_HOME, &e->get, &e->nget);
    return rc;
}

/* Plans every row and keeps what concerns this member. *longest: of the rows that have
 * work. */
static int make_lists(struct engine *e, const struct scr_geom *g, const int *have,
                      uint64_t *longest)
{
    struct scr_plan *plan = malloc(sizeof *plan);
    int rc = plan == NULL ? SCR_E_NOMEM : SCR_OK;
    *longest = 0;
    for (int row = 0; row < g->n && rc == SCR_OK; row++) {
        rc = scr_plan_row(g, have, row, plan, e->err);
        if (rc != SCR_OK)
            break;
        if (plan->ndst > 0 && plan->len > *longest)
            *longest = plan->len;
        if (plan->ndst > 0)
            rc = add_row(e, plan);
        scr_plan_fini(plan);
    }
    free(plan);
    if (rc == SCR_E_NOMEM)
        scr_fail(e->err, rc, 0, "plan of a redundancy set: out of memory");
    return rc;
}

/* --- the buffers --- */

static size_t count_buffers(const struct engine *e)
{
    size_t n = e->nlend + e->nget;
    for (size_t i = 0; i < e->njob; i++)
        n += (size_t)e->job[i].plan.nsrc + (size_t)e->job[i].plan.ndst;
    return 2 * n;
}

static size_t pick_slice(const struct engine *e, size_t buf_max)
{
    size_t n = count_buffers(e), slice = SLICE_MAX;
    if (n > 0 && slice > BUFFER_BUDGET / n)
        slice = BUFFER_BUDGET / n;
    if (slice > buf_max)
        slice = buf_max;
    if (slice >= ALIGN)
        slice -= slice % ALIGN;
    return slice > 0 ? slice : 1;
}

static uint8_t *deal(struct transfer *x, size_t n, uint8_t *at, size_t stride)
{
    for (size_t i = 0; i < n; i++) {
        for (int b = 0; b < 2; b++, at += stride)
            x[i].buf[b] = at;
    }
    return at;
}

static int make_buffers(struct engine *e)
{
    size_t stride = (e->slice + ALIGN - 1) / ALIGN * ALIGN;
    size_t n = count_buffers(e);
    if (n == 0)
        return SCR_OK;
    e->pool = scr_ec_alloc(n * stride);
    if (e->pool == NULL)
        return scr_fail(e->err, SCR_E_NOMEM, 0, "%zu buffers of %zu bytes", n, stride);
    /* After a failed read what lies in a buffer is sent nevertheless: let it be
     * defined. */
    memset(e->pool, 0, n * stride);
    uint8_t *at = deal(e->lend, e->nlend, e->pool, stride);
    at = deal(e->get, e->nget, at, stride);
    for (size_t i = 0; i < e->njob; i++) {
        struct job *j = &e->job[i];
        at = deal(j->src, (size_t)j->plan.nsrc, at, stride);
        at = deal(j->dst, (size_t)j->plan.ndst, at, stride);
    }
    return SCR_OK;
}

/* --- one slice of one symbol --- */

/* Bytes of row length len that round t handles. */
static size_t piece(const struct engine *e, uint64_t len, uint64_t t)
{
    if (t >= e->rounds || t > len / e->slice)
        return 0;
    uint64_t left = len - t * e->slice;
    return left < e->slice ? (size_t)left : e->slice;
}

static void read_here(struct engine *e, struct transfer *x, uint64_t t, size_t n)
{
    if (e->rc == SCR_OK)
        e->rc = scr_member_read(e->m, &x->sym, t * e->slice, x->buf[t & 1], n, e->err);
}

static void write_here(struct engine *e, struct transfer *x, uint64_t t, size_t n)
{
    if (e->rc == SCR_OK)
        e->rc = scr_member_write(e->m, &x->sym, t * e->slice, x->buf[t & 1], n, e->err);
}

static void start_recv(struct engine *e, struct transfer *x, uint64_t t, size_t n)
{
    int code = MPI_Irecv(x->buf[t & 1], (int)n, MPI_BYTE, x->peer, x->tag,
                         e->set->comm.comm, &x->req[t & 1]);
    keep(e, scr_mpi_check(code, "receive of a slice", e->err));
    e->stats.received += n;
}

static void start_send(struct engine *e, struct transfer *x, uint64_t t, size_t n)
{
    int code = MPI_Isend(x->buf[t & 1], (int)n, MPI_BYTE, x->peer, x->tag,
                         e->set->comm.comm, &x->req[t & 1]);
    keep(e, scr_mpi_check(code, "send of a slice", e->err));
    e->stats.sent += n;
}

static void finish(struct engine *e, struct transfer *x, uint64_t t)
{
    keep(e, scr_mpi_wait(&x->req[t & 1], 1, "exchange of a slice", e->err));
}

/* --- the steps of a round --- */

static void step_home(struct engine *e, uint64_t t)
{
    for (size_t i = 0; i < e->nget; i++) {
        struct transfer *x = &e->get[i];
        size_t n = piece(e, x->len, t);
        finish(e, x, t);
        if (n > 0)
            write_here(e, x, t, n);
    }
}

static void step_post(struct engine *e, uint64_t t)
{
    int me = e->set->me;
    for (size_t i = 0; i < e->nget; i++) {
        size_t n = piece(e, e->get[i].len, t);
        if (n > 0)
            start_recv(e, &e->get[i], t, n);
    }
    for (size_t i = 0; i < e->njob; i++) {
        struct job *j = &e->job[i];
        size_t n = piece(e, j->plan.len, t);
        for (int s = 0; s < j->plan.nsrc && n > 0; s++)
            if (j->src[s].peer != me)
                start_recv(e, &j->src[s], t, n);
    }
}

static void step_lend(struct engine *e, uint64_t t)
{
    for (size_t i = 0; i < e->nlend; i++) {
        struct transfer *x = &e->lend[i];
        size_t n = piece(e, x->len, t);
        finish(e, x, t); /* the slice before the last, from the same buffer */
        if (n == 0)
            continue;
        read_here(e, x, t, n);
        start_send(e, x, t, n);
    }
}

static void compute(struct job *j, uint64_t t, size_t n)
{
    uint8_t *src[SCR_EC_MAX], *dst[SCR_EC_MAX];
    for (int i = 0; i < j->plan.nsrc; i++)
        src[i] = j->src[i].buf[t & 1];
    for (int i = 0; i < j->plan.ndst; i++)
        dst[i] = j->dst[i].buf[t & 1];
    scr_ec_apply(j->plan.nsrc, j->plan.ndst, j->plan.coef, j->plan.tables, n, src, dst);
}

static void run_job(struct engine *e, struct job *j, uint64_t t, size_t n)
{
    int me = e->set->me;
    for (int i = 0; i < j->plan.nsrc; i++) {
        if (j->src[i].peer == me)
            read_here(e, &j->src[i], t, n);
        else
            finish(e, &j->src[i], t);
    }
    for (int i = 0; i < j->plan.ndst; i++)
        finish(e, &j->dst[i], t); /* sent home two rounds ago */
    compute(j, t, n);
    for (int i = 0; i < j->plan.ndst; i++) {
        if (j->dst[i].peer == me)
            write_here(e, &j->dst[i], t, n);
        else
            start_send(e, &j->dst[i], t, n);
    }
}

static void step_code(struct engine *e, uint64_t t)
{
    for (size_t i = 0; i < e->njob; i++) {
        size_t n = piece(e, e->job[i].plan.len, t);
        if (n > 0)
            run_job(e, &e->job[i], t, n);
    }
}

static void finish_sends(struct engine *e)
{
    for (uint64_t b = 0; b < 2; b++) {
        for (size_t i = 0; i < e->nlend; i++)
            finish(e, &e->lend[i], b);
        for (size_t i = 0; i < e->njob; i++)
            for (int s = 0; s < e->job[i].plan.ndst; s++)
                finish(e, &e->job[i].dst[s], b);
    }
}

static void run_rounds(struct engine *e)
{
    step_post(e, 0);
    step_lend(e, 0);
    for (uint64_t t = 0; t < e->rounds; t++) {
        if (t > 0)
            step_home(e, t - 1);
        step_post(e, t + 1);
        step_lend(e, t + 1);
        step_code(e, t);
    }
    if (e->rounds > 0)
        step_home(e, e->rounds - 1);
    finish_sends(e);
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
    free(e->pool);
}

int scr_stripe_run_all(const struct scr_set *set, const struct scr_geom *g,
                       const int *have, struct scr_member *m, int rc_in, size_t buf_max,
                       struct scr_stripe_stats *stats, struct scr_err *err)
{
    struct engine e = { .set = set, .m = m, .err = err };
    uint64_t longest = 0;
    int rc = rc_in;
    if (rc == SCR_OK)
        rc = make_lists(&e, g, have, &longest);
    /* Messages must be of one size everywhere, whatever each rank can afford. */
    e.slice = (size_t)scr_min_all(&set->comm, (int64_t)pick_slice(&e, buf_max));
    e.rounds = (longest + e.slice - 1) / e.slice;
    if (rc == SCR_OK)
        rc = make_buffers(&e);
    rc = scr_set_agree_all(set, rc, err);
    if (rc != SCR_OK)
        goto out;
    run_rounds(&e);
    rc = scr_set_agree_all(set, e.rc, err);
    if (stats != NULL)
        *stats = e.stats;
out:
    engine_fini(&e);
    return rc;
}
