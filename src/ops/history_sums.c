/* SPDX-License-Identifier: BSD-3-Clause */
/* The history of a prefix directory: what follows from all of its events together. */
#include "ops/history_impl.h"

#include <math.h>
#include <stdlib.h>

#include "base/str.h"

#define YEAR_S (366.0 * 86400)

/* --- ends of runs, and failures --- */

/* Whether run i was not over when run j, a later one, began. */
static int overlap(const struct scr_history *h, int64_t i, int64_t j)
{
    return h->run[j].first <= h->run[i].last;
}

/* The first run that began when run i was over; SCR_HIST_NONE: there is none. */
static int64_t next_run(const struct scr_history *h, size_t i)
{
    size_t lo = i + 1, hi = h->nruns;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (overlap(h, (int64_t)i, (int64_t)mid))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < h->nruns ? (int64_t)lo : SCR_HIST_NONE;
}

/* Logs older than 4.0 have no failures: each run without an end that another one
 * followed counts as one. */
static void end_run(struct scr_history *h, size_t i)
{
    struct scr_hist_run *r = &h->run[i];
    int64_t next = next_run(h, i);
    if (r->end != SCR_RUN_OPEN || next < 0)
        return;
    h->doubts.unseen += !r->is_end_noted;
    int64_t found = h->run[next].failure;
    if (found < 0 && h->run[next].version == NULL) {
        struct scr_hist_failure *f = scr_hist_failure_add(h, r->begin + r->wall);
        if (f == NULL)
            return;
        f->next = next;
        found = h->run[next].failure = (int64_t)h->nfailures - 1;
    }
    r->end = found >= 0 ? SCR_RUN_FAILED : SCR_RUN_CUT;
    if (found < 0)
        return;
    h->failure[found].run = (int64_t)i; /* of several the last */
    h->failure[found].at = r->begin + r->wall;
}

static int by_time(const void *a, const void *b)
{
    double x = ((const struct scr_hist_failure *)a)->at;
    double y = ((const struct scr_hist_failure *)b)->at;
    return (x > y) - (x < y);
}

static void link_failures(struct scr_history *h)
{
    for (size_t i = 0; i < h->nfailures; i++)
        if (h->failure[i].next >= 0)
            h->run[h->failure[i].next].failure = (int64_t)i;
}

static void end_runs(struct scr_history *h)
{
    for (SCR_EACH(struct scr_hist_seat, s, &h->seats))
        scr_hist_phase_end(h, s, -1);
    link_failures(h);
    for (size_t i = 0; i < h->nruns; i++) {
        int64_t n = i + 1 < h->nruns ? (int64_t)i + 1 : SCR_HIST_NONE;
        h->doubts.overlaps += n >= 0 && overlap(h, (int64_t)i, n);
        end_run(h, i);
    }
    if (h->nfailures > 0)
        qsort(h->failure, h->nfailures, sizeof *h->failure, by_time);
    link_failures(h);
    for (size_t i = 0; i < h->nruns; i++)
        h->sums.runs_ended[h->run[i].end]++;
}

/* --- lost work --- */

/* Phases that are computed again: those from number `from` on, of one run or, with
 * SCR_HIST_NONE, of all that are over. */
struct redone {
    int64_t from, of;
};

/* After a failure a run without a checkpoint computes all again, if it gets anywhere: a
 * run that died in its restart may be followed by one that continues. If the run that
 * failed got nowhere, so does the one before: run is each of them in turn. */
static int redone_by(const struct scr_history *h, const struct scr_hist_again *a,
                     int64_t run, struct redone *out)
{
    const struct scr_hist_run *r = &h->run[run];
    if (a->dset >= 0) {
        *out = (struct redone){ h->dset[a->dset].phases, SCR_HIST_NONE };
        return 1;
    }
    int64_t failed = r->failure < 0 ? SCR_HIST_NONE : h->failure[r->failure].run;
    int gets_on = r->end == SCR_RUN_ENDED || r->end == SCR_RUN_HALTED ||
                  r->ckpts + r->outputs > 0;
    if (failed < 0 || r->restarted >= 0 || gets_on != (run == a->run))
        return 0;
    *out = (struct redone){ h->run[failed].phases, failed };
    return 1;
}

static int is_lost(const struct scr_history *h, const struct scr_hist_again *a,
                   const struct redone *what, int64_t phase)
{
    int64_t run = h->phase[phase].run;
    if (phase >= a->phases)
        return 0;
    return what->of >= 0 ? run == what->of : run == a->run || !overlap(h, run, a->run);
}

/* top: the last phase that is not lost, each with the one before it. Lost phases leave
 * the list, so that each is seen once. */
static double lose(struct scr_history *h, const struct scr_hist_again *a,
                   const struct redone *what, int64_t *top)
{
    double lost = 0;
    for (int64_t *link = top; *link >= what->from && *link >= 0;) {
        struct scr_hist_phase *p = &h->phase[*link];
        if (!is_lost(h, a, what, *link)) {
            link = &p->before;
            continue;
        }
        h->run[p->run].secs[SCR_TIME_KEPT] -= p->secs;
        h->run[p->run].secs[SCR_TIME_LOST] += p->secs;
        lost += p->secs;
        *link = p->before;
    }
    return lost;
}

static void find_lost(struct scr_history *h)
{
    int64_t top = SCR_HIST_NONE, seen = 0;
    struct redone what;
    double lost;
    for (size_t i = 0; i < h->nagains; i++) {
        const struct scr_hist_again *a = &h->again[i];
        for (; seen < a->phases; top = seen++)
            h->phase[seen].before = top;
        for (int64_t run = a->run; run >= 0 && redone_by(h, a, run, &what);
             run = what.of) {
            int64_t failure = h->run[run].failure;
            lost = lose(h, a, &what, &top);
            if (failure >= 0)
                h->failure[failure].lost += lost;
            else
                h->sums.lost_without += lost;
        }
    }
}

/* --- sums --- */

static void sum_run(struct scr_history *h, struct scr_hist_run *r)
{
    double told = 0;
    for (int i = 0; i < SCR_TIME_OTHER; i++)
        told += r->secs[i];
    r->wall = fmax(r->wall, told);
    r->secs[SCR_TIME_KEPT] = fmax(0, r->secs[SCR_TIME_KEPT]); /* rounding */
    r->secs[SCR_TIME_OTHER] = r->wall - told;
    for (int i = 0; i < SCR_TIMES; i++)
        h->sums.secs[i] += r->secs[i];
    h->sums.wall += r->wall;
    h->sums.ckpts += r->ckpts;
    h->sums.outputs += r->outputs;
    h->doubts.old += !r->computed && r->ckpts + r->outputs > 0;
}

struct stretch {
    double begin, end;
};

static int by_begin(const void *a, const void *b)
{
    double x = ((const struct stretch *)a)->begin,
           y = ((const struct stretch *)b)->begin;
    return (x > y) - (x < y);
}

/* Time that no run has. A gap of more than a year is a clock that was set. */
static int sum_idle(struct scr_history *h, struct scr_err *err)
{
    struct stretch *s = scr_calloc(h->nruns, sizeof *s);
    TRY(s ? SCR_OK : scr_no_memory(err));
    for (size_t i = 0; i < h->nruns; i++)
        s[i] = (struct stretch){ h->run[i].begin, h->run[i].begin + h->run[i].wall };
    if (h->nruns > 0)
        qsort(s, h->nruns, sizeof *s, by_begin);
    struct scr_hist_sums *sums = &h->sums;
    double end = sums->begin = h->nruns > 0 ? s[0].begin : 0;
    for (size_t i = 0; i < h->nruns; i++) {
        double idle = fmax(0, s[i].begin - end);
        sums->span += fmax(0, s[i].end - fmax(end, s[i].begin));
        h->doubts.jumps += idle > YEAR_S;
        sums->secs[SCR_TIME_IDLE] += idle > YEAR_S ? 0 : idle;
        end = fmax(end, s[i].end);
    }
    sums->span += sums->secs[SCR_TIME_IDLE];
    sums->end = end;
    free(s);
    return SCR_OK;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double scr_hist_quantile(const struct scr_hist_costs *c, double q)
{
    if (c->n == 0)
        return 0;
    double at = ceil(q * (double)c->n) - 1;
    return c->v[at < 0 ? 0 : at >= (double)c->n ? c->n - 1 : (size_t)at];
}

static void sum_costs(struct scr_hist_costs *c)
{
    if (c->n == 0)
        return;
    qsort(c->v, c->n, sizeof *c->v, by_value);
    double least = c->v[0], range = c->v[c->n - 1] - least, sum = 0;
    for (size_t i = 0; i < c->n; i++) {
        double bin = range > 0 ? (c->v[i] - least) / range * SCR_COST_BINS : 0;
        c->bin[bin < SCR_COST_BINS ? (int)bin : SCR_COST_BINS - 1]++;
        sum += c->v[i];
    }
    c->mean = sum / (double)c->n;
}

static int sum_moves(struct scr_hist_moves *m, struct scr_err *err)
{
    double *rate = scr_calloc(m->n, sizeof *rate);
    TRY(rate ? SCR_OK : scr_no_memory(err));
    for (size_t i = 0; i < m->n; i++) {
        m->secs += m->v[i].secs;
        m->bytes += (double)m->v[i].bytes;
        rate[i] = (double)m->v[i].bytes / m->v[i].secs;
    }
    if (m->n > 0)
        qsort(rate, m->n, sizeof *rate, by_value);
    m->median = m->n > 0 ? rate[(m->n - 1) / 2] : 0;
    free(rate);
    return SCR_OK;
}

int scr_history_finish(struct scr_history *h, struct scr_err *err)
{
    end_runs(h);
    find_lost(h);
    TRY(scr_hist_ok(h) ? SCR_OK : scr_no_memory(err));
    for (size_t i = 0; i < h->nruns; i++)
        sum_run(h, &h->run[i]);
    for (size_t i = 0; i < h->ndsets; i++)
        h->sums.broken += h->dset[i].written == SCR_HIST_BEGUN ||
                          h->dset[i].written == SCR_HIST_FAILED;
    h->sums.efficiency =
        h->sums.wall > 0 ? h->sums.secs[SCR_TIME_KEPT] / h->sums.wall : 0;
    TRY(sum_idle(h, err));
    for (int i = 0; i < SCR_COSTS; i++)
        sum_costs(&h->costs[i]);
    for (int i = 0; i < SCR_MOVE_LEVELS; i++)
        TRY(sum_moves(&h->moves[i], err));
    return scr_hist_advise(h, err);
}
