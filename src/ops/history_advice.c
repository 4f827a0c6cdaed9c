/* SPDX-License-Identifier: BSD-3-Clause */
/* The history of a prefix directory: how often to checkpoint, and what else would save
 * time. */
#include "ops/history_impl.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/interval.h"
#include "base/str.h"
#include "base/units.h"

/* Shares of the time below which nothing is advised. */
#define WORTH_IT 0.005

/* --- the interval --- */

static double expected(double cost, const struct scr_hist_plan *p, double interval)
{
    const struct scr_markov m = {
        .n = 1,
        .level[0] = { .cost = cost, .rate = 1 / p->mean, .recover = p->restart },
        .between[0] = 1,
        .interval = interval
    };
    double share = scr_markov_efficiency(&m, NULL);
    return isfinite(share) ? share : 0;
}

static void plan(struct scr_history *h)
{
    const struct scr_hist_sums *s = &h->sums;
    struct scr_hist_plan *p = &h->plan;
    double n = (double)s->ckpts;
    if (s->ckpts == 0 || h->nfailures == 0 || s->wall <= 0)
        return;
    p->mean = s->wall / (double)h->nfailures;
    p->cost = (s->secs[SCR_TIME_CHECKPOINT] + s->secs[SCR_TIME_FLUSH]) / n;
    p->restart = s->secs[SCR_TIME_RESTART] / (double)h->nruns;
    p->interval = (s->secs[SCR_TIME_KEPT] + s->secs[SCR_TIME_LOST]) / n;
    p->best = scr_interval_best(p->cost, p->mean);
    p->is_known = p->cost > 0 && p->interval > 0 && isfinite(p->best) && p->best > 0;
    if (!p->is_known)
        return;
    p->efficiency = expected(p->cost, p, p->interval);
    p->best_efficiency = expected(p->cost, p, p->best);
    p->gain =
        p->best_efficiency > 0 ? fmax(0, 1 - p->efficiency / p->best_efficiency) : 0;
}

/* --- advice --- */

static void advise(struct scr_history *h, double gain, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void advise(struct scr_history *h, double gain, const char *fmt, ...)
{
    struct scr_str s = SCR_STR_INIT;
    va_list ap;
    va_start(ap, fmt);
    scr_str_vprintf(&s, fmt, ap);
    va_end(ap);
    char *text = scr_str_take(&s);
    if (text == NULL)
        scr_hist_spoil(h);
    else if (h->nadvices < SCR_HIST_ADVICES)
        h->advice[h->nadvices++] = (struct scr_hist_advice){ text, gain };
}

static void advise_interval(struct scr_history *h)
{
    char now[32], best[32], mean[32], cost[32];
    const struct scr_hist_plan *p = &h->plan;
    if (h->nruns > 0 && !p->is_known)
        advise(h, -1,
               h->sums.ckpts == 0
                   ? "no checkpoint was completed: how often to checkpoint is not known"
                   : "no run failed: a longer interval would have cost less, but how "
                     "long it should be is not known before the first failure");
    if (!p->is_known)
        return;
    scr_format_duration(p->interval, now, sizeof now);
    scr_format_duration(p->best, best, sizeof best);
    scr_format_duration(p->mean, mean, sizeof mean);
    scr_format_duration(p->cost, cost, sizeof cost);
    if (p->gain < WORTH_IT)
        advise(h, p->gain,
               "keep the interval: a checkpoint every %s is close to the best, %s", now,
               best);
    else
        advise(h, p->gain,
               "checkpoint every %s instead of %s: about %.1f %% less time, with a "
               "failure every %s and %s for a checkpoint",
               best, now, 100 * p->gain, mean, cost);
}

static void advise_flush(struct scr_history *h)
{
    double share = h->sums.secs[SCR_TIME_FLUSH] / h->sums.wall;
    if (share >= 2 * WORTH_IT)
        advise(h, share,
               "flush while the program computes (SCR_FLUSH_ASYNC=1): it waited for "
               "flushes %.1f %% of the time",
               100 * share);
}

struct loss {
    double secs;
    int64_t n;
};

/* Failures that went beyond the cache, with lost nodes or without: where no node of the
 * job was lost, the caches ended with its allocation, or were removed. */
static struct loss lost_beyond(const struct scr_history *h, int with_nodes)
{
    struct loss sum = { 0, 0 };
    for (size_t i = 0; i < h->nfailures; i++) {
        const struct scr_hist_failure *f = &h->failure[i];
        if (f->class == NULL || strcmp(f->class, "beyond") != 0 ||
            (f->nodes != NULL) != with_nodes)
            continue;
        sum.n++;
        sum.secs += f->lost;
    }
    return sum;
}

static void advise_scheme(struct scr_history *h)
{
    char text[32];
    const struct loss loss = lost_beyond(h, 1);
    double share = loss.secs / h->sums.wall;
    if (loss.n == 0 || share < WORTH_IT)
        return;
    scr_format_duration(loss.secs, text, sizeof text);
    advise(h, share,
           "use a scheme that survives more lost nodes, or flush more often: %lld of "
           "%zu failures cost the checkpoints in cache, and %s of computing (%.1f %%)",
           (long long)loss.n, h->nfailures, text, 100 * share);
}

static void advise_end(struct scr_history *h)
{
    char text[32];
    const struct loss loss = lost_beyond(h, 0);
    double lost = h->sums.lost_without + loss.secs, share = lost / h->sums.wall;
    if ((h->sums.runs_ended[SCR_RUN_CUT] == 0 && loss.n == 0) || share < WORTH_IT)
        return;
    scr_format_duration(lost, text, sizeof text);
    advise(h, share,
           "set SCR_HALT_SECONDS, so that runs end with a checkpoint before their "
           "allocation does: %s of computing were lost without a lost node (%.1f %%)",
           text, 100 * share);
}

/* The node that was lost most often. */
static void advise_node(struct scr_history *h)
{
    const struct scr_hist_node *worst = NULL;
    for (SCR_EACH(const struct scr_hist_node, n, &h->nodes))
        if (worst == NULL || n->n > worst->n)
            worst = n;
    if (worst != NULL && worst->n > 1)
        advise(h, -1,
               "have node %s checked, or leave it out (SCR_EXCLUDE_NODES): it "
               "was lost %lld times",
               worst->item.name, (long long)worst->n);
}

int scr_hist_advise(struct scr_history *h, struct scr_err *err)
{
    plan(h);
    advise_interval(h);
    if (h->sums.wall > 0) {
        advise_flush(h);
        advise_scheme(h);
        advise_end(h);
        advise_node(h);
    }
    return scr_hist_ok(h) ? SCR_OK : scr_no_memory(err);
}
