/* SPDX-License-Identifier: BSD-3-Clause */
/* How often to checkpoint. */
#include "base/interval.h"

#include <math.h>
#include <stddef.h>

/* --- one level --- */

static int is_cost(double cost)
{
    return cost >= 0; /* NaN is not */
}

double scr_interval_young(double cost, double mean)
{
    if (!is_cost(cost) || !(mean > 0))
        return NAN;
    return cost > 0 ? sqrt(2 * cost * mean) : 0;
}

double scr_interval_daly(double cost, double mean)
{
    double first = scr_interval_young(cost, mean);
    double f = cost / (2 * mean);
    if (isnan(first) || isinf(first))
        return first;
    return f < 1 ? first * (1 + sqrt(f) / 3 + f / 9) - cost : mean;
}

/* With u = 1 + W(-e^(-x-1)) the definition of W reads u + ln(1 - u) = -x, which keeps
 * its digits where x is small. The left side is concave and falls, so Newton's steps
 * from above the root come down to it and never pass it; sqrt(2x) is above it, by the
 * first term of the series, and 1 - e^(-x-1) as 1 - u is e^(-x-u). */
static double one_plus_lambert(double x)
{
    double u = fmin(sqrt(2 * x), -expm1(-x - 1));
    for (double before = INFINITY; u < before && u > 0 && u < 1;) {
        before = u;
        u -= (u + log1p(-u) + x) * (u - 1) / u;
    }
    return u;
}

double scr_interval_best(double cost, double mean)
{
    if (!is_cost(cost) || !(mean > 0))
        return NAN;
    if (isinf(mean))
        return cost > 0 ? INFINITY : 0;
    return mean * one_plus_lambert(cost / mean);
}

double scr_interval_waste(double cost, double rate, double interval)
{
    if (!is_cost(cost) || !is_cost(rate) || !(interval > 0))
        return NAN;
    double h = (cost > 0 ? cost / interval : 0) + (rate > 0 ? rate * interval / 2 : 0);
    return isinf(h) ? 1 : h / (1 + h);
}

/* --- several levels --- */

/* The ratio of the periods that are best for each level alone; 0: no flush needed. */
static int flushes_best(const struct scr_ckpt_level level[2])
{
    double first = scr_interval_young(level[0].cost, 1 / level[0].rate);
    double second = scr_interval_young(level[1].cost, 1 / level[1].rate);
    double ratio = fmin(second / first, SCR_PACE_MOST);
    return level[1].rate > 0 ? (int)fmax(1, round(ratio)) : 0;
}

struct scr_pace scr_pace_find(const struct scr_ckpt_level level[2], double drain,
                              int every)
{
    struct scr_pace p = { .every = every > 0 ? every : flushes_best(level) };
    double n = p.every > 0 ? p.every : 1;
    double cost = level[0].cost + (p.every > 0 ? level[1].cost / n : 0);
    p.interval = scr_interval_best(cost, 1 / (level[0].rate + n * level[1].rate));
    if (!(drain > n * p.interval))
        return p;
    if (every > 0 || !(p.interval > 0))
        p.interval = drain / n;
    else
        p.every = (int)fmin(ceil(drain / p.interval), SCR_PACE_MOST);
    return p;
}

/* --- the Markov model --- */

/* A piece of a run: how likely it ends well, and after what time then; how likely by a
 * failure of each class, and after what time by that. */
struct block {
    double p, t;
    double fail[SCR_LEVELS_MAX], at[SCR_LEVELS_MAX];
};

/* One outcome more of a class, which takes that time. */
static void add_failure(struct block *b, int l, double p, double t)
{
    double both = b->fail[l] + p;
    if (p > 0)
        b->at[l] = (b->fail[l] * b->at[l] + p * t) / both;
    b->fail[l] = both;
}

/* Seconds during which any failure ends it. */
static struct block make_step(const struct scr_markov *m, double seconds)
{
    double rate = 0;
    for (int l = 0; l < m->n; l++)
        rate += m->level[l].rate;
    double x = rate * seconds;
    struct block b = { .p = exp(-x), .t = seconds };
    /* Near 0 the mean is the difference of numbers that are almost the same. */
    double at = x > 1e-5 ? seconds * (1 / x - 1 / expm1(x)) : seconds * (0.5 - x / 12);
    for (int l = 0; l < m->n; l++)
        if (m->level[l].rate > 0)
            add_failure(&b, l, m->level[l].rate / rate * -expm1(-x), at);
    return b;
}

static struct block follow(const struct scr_markov *m, const struct block *a,
                           const struct block *b)
{
    struct block c = *a;
    c.p = a->p * b->p;
    c.t = a->t + b->t;
    for (int l = 0; l < m->n; l++)
        add_failure(&c, l, a->p * b->fail[l], a->t + b->at[l]);
    return c;
}

/* b, begun again after each of its failures of the classes in `again`, until it ends
 * otherwise. */
static struct block repeat(const struct scr_markov *m, const struct block *b, int again)
{
    double p = 0, t = 0;
    for (int l = 0; l < again; l++) {
        p += b->fail[l];
        t += b->fail[l] * b->at[l];
    }
    double before = t / (1 - p); /* expected time of all repetitions */
    struct block c = { .p = b->p / (1 - p), .t = b->t + before };
    for (int l = again; l < m->n; l++)
        add_failure(&c, l, b->fail[l] / (1 - p), b->at[l] + before);
    return c;
}

/* A restart from level k, until it is done. A failure of a class below k leaves the
 * checkpoint as it is, one of class k makes the next level necessary; above the highest
 * there is none. */
static struct block make_recovery(const struct scr_markov *m, int k)
{
    struct block once = make_step(m, m->level[k].recover);
    if (k == m->n - 1)
        return repeat(m, &once, m->n);
    struct block r = repeat(m, &once, k);
    double p = r.fail[k], t = r.at[k];
    r.fail[k] = 0;
    add_failure(&r, k + 1, p, t);
    return r;
}

/* y, begun again after a restart from level k where that helps. */
static struct block make_safe(const struct scr_markov *m, const struct block *y, int k)
{
    struct block recovery = make_recovery(m, k);
    struct block c = *y;
    for (int i = 0; i <= k; i++) {
        c.fail[i] = 0;
        for (int l = k + 1; l < m->n; l++)
            add_failure(&c, l, y->fail[i] * recovery.fail[l],
                        y->at[i] + recovery.at[l]);
        /* The rest are failures after which y begins again. */
        add_failure(&c, i, y->fail[i] * recovery.p, y->at[i] + recovery.t);
    }
    return repeat(m, &c, k + 1);
}

/* From a checkpoint of level k to the next of level c, nothing between them of level k
 * or above: not safe from any failure. */
static struct block make_span(const struct scr_markov *m, int k, int c)
{
    if (k == 0) {
        struct block work = make_step(m, m->interval);
        struct block ckpt = make_step(m, m->level[c].cost);
        return follow(m, &work, &ckpt);
    }
    int n = m->between[k - 1];
    if (n == 0)
        return make_span(m, k - 1, c);
    struct block own = make_span(m, k - 1, k - 1), last = make_span(m, k - 1, c);
    struct block safe = make_safe(m, &own, k - 1), all = own;
    for (int i = 1; i < n; i++)
        all = follow(m, &all, &safe);
    safe = make_safe(m, &last, k - 1);
    return follow(m, &all, &safe);
}

double scr_markov_efficiency(const struct scr_markov *m, double *time)
{
    if (m->n < 1 || m->n > SCR_LEVELS_MAX || !(m->interval > 0) || isinf(m->interval))
        return NAN;
    double work = m->interval;
    for (int l = 0; l < m->n; l++) {
        const struct scr_ckpt_level *level = &m->level[l];
        if (!is_cost(level->cost) || !is_cost(level->rate) ||
            !is_cost(level->recover) ||
            isinf(level->cost + level->rate + level->recover) || m->between[l] < 0)
            return NAN;
        if (l < m->n - 1)
            work *= m->between[l] + 1;
    }
    struct block span = make_span(m, m->n - 1, m->n - 1);
    double t = make_safe(m, &span, m->n - 1).t;
    if (time != NULL)
        *time = t;
    return work / t;
}
