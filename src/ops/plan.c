/* SPDX-License-Identifier: BSD-3-Clause */
/* How to run SCR on a machine that is only described. */
#include "ops/plan.h"

#include <math.h>

#include "fmt/autopilot.h"
#include "red/geom.h"

/* --- costs --- */

static double parity_of(const struct scr_outlook *o)
{
    if (o->scheme == SCR_SCHEME_XOR || o->scheme == SCR_SCHEME_RS)
        return (double)o->set_failures / (o->set_size - o->set_failures);
    return o->scheme == SCR_SCHEME_PARTNER ? o->set_failures : 0;
}

static double sent_of(const struct scr_outlook *o)
{
    if (o->scheme == SCR_SCHEME_XOR || o->scheme == SCR_SCHEME_RS)
        return 1 + (double)(o->set_failures - 1) / (o->set_size - o->set_failures);
    return o->scheme == SCR_SCHEME_PARTNER ? o->set_failures : 0;
}

static double speed_of(const struct scr_machine *m, const struct scr_outlook *o)
{
    return o->on_disk ? m->disk_speed : m->memory_speed;
}

static double read_again(const struct scr_machine *m, const struct scr_outlook *o)
{
    return m->restart + o->stored / speed_of(m, o);
}

static double rebuild(const struct scr_machine *m, const struct scr_outlook *o)
{
    if (o->set_failures == 0)
        return 0;
    return o->set_size / (o->set_size - 1.0) * o->data / m->network;
}

/* As SCR leaves the rest of memory to the program. */
static const double share_of_memory = 0.75;

static void set_costs(const struct scr_machine *m, struct scr_outlook *o)
{
    double speed = speed_of(m, o);
    o->data = ceil(m->ranks / m->nodes) * m->bytes;
    o->stored = (1 + parity_of(o)) * o->data;
    o->room = o->on_disk ? m->disk : share_of_memory * (m->memory - m->program);
    o->sent = sent_of(o) * o->data;
    double writing = m->writing > 0 ? fmin(m->writing, speed) : speed;
    o->cost = o->data / writing + o->stored / speed + o->sent / m->network;
    o->flush = fmax(m->nodes * o->data / m->files,
                    fmax(o->data / m->network, o->data / speed));
    o->fetched = m->restart + o->flush + o->cost;
}

/* --- failures --- */

/* That of `others` nodes `least` or more fail, each with probability q. */
static double tail(int others, int least, double q)
{
    double sum = 0;
    for (int j = least; j <= others; j++)
        sum += exp(lgamma(others + 1.0) - lgamma(j + 1.0) - lgamma(others - j + 1.0) +
                   j * log(q) + (others - j) * log1p(-q));
    return fmin(sum, 1);
}

static double share_beyond(const struct scr_machine *m, const struct scr_outlook *o)
{
    int others = o->set_size - 1;
    if (o->set_failures == 0)
        return 1;
    if (o->scheme == SCR_SCHEME_PARTNER && others > 2)
        others = 2;
    double window = read_again(m, o) + rebuild(m, o);
    double q = fmin(-expm1(-window / m->mtbf), 1 - 1e-9);
    double kept = 1 - tail(others, o->set_failures, q);
    kept *= 1 - pow(m->several, o->set_failures);
    if (o->copies == 1)
        kept *= 1 - o->cost / (o->pace.interval + o->cost);
    return 1 - kept;
}

/* With the pace that is set: of one copy it says how often there is none. */
static void set_rates(const struct scr_machine *m, struct scr_outlook *o)
{
    double all = m->nodes / m->mtbf;
    double process = all * scr_failure_share[SCR_FAILED_PROCESS];
    double node = all * scr_failure_share[SCR_FAILED_NODE];
    o->beyond = share_beyond(m, o);
    o->near = process + node * (1 - o->beyond);
    o->far = all * scr_failure_share[SCR_FAILED_SYSTEM] + node * o->beyond;
    o->rebuilt = read_again(m, o) + node * (1 - o->beyond) / o->near * rebuild(m, o);
}

/* --- intervals --- */

static double blocked(const struct scr_machine *m, const struct scr_outlook *o)
{
    return (m->is_async ? scr_flush_slowdown : 1) * o->flush;
}

static double efficiency_at(const struct scr_machine *m, const struct scr_outlook *o,
                            struct scr_pace pace)
{
    const struct scr_markov model = {
        .n = 2,
        .level = { { o->cost, o->near, o->rebuilt },
                   { o->cost + blocked(m, o), o->far, o->fetched } },
        .between = { pace.every - 1, 1 },
        .interval = pace.interval,
    };
    double efficiency = scr_markov_efficiency(&model, NULL);
    return efficiency > 0 ? efficiency : 0; /* it may not even be a number */
}

/* A checkpoint that is only in cache is lost with the allocation, in which there is one
 * flush at least. That gives the number of flushes, and leaves the interval. */
static struct scr_pace limit(const struct scr_machine *m, const struct scr_outlook *o,
                             struct scr_pace pace)
{
    if (m->allocation <= 0 || pace.every * (pace.interval + o->cost) <= m->allocation)
        return pace;
    pace.interval = scr_interval_best(o->cost, 1 / o->near);
    pace.every = (int)fmax(1, floor(m->allocation / (pace.interval + o->cost)));
    return pace;
}

static void set_pace(const struct scr_machine *m, struct scr_outlook *o)
{
    o->pace.interval = INFINITY;
    for (int i = 0; i < 2; i++) { /* with one copy the rates depend on it a little */
        set_rates(m, o);
        const struct scr_ckpt_level level[2] = { { o->cost, o->near, 0 },
                                                 { blocked(m, o), o->far, 0 } };
        o->pace = limit(m, o, scr_pace_find(level, m->is_async ? o->flush : 0, 0));
    }
    set_rates(m, o);
    o->efficiency = efficiency_at(m, o, o->pace);
}

double scr_outlook_on(const struct scr_machine *m, const struct scr_outlook *o)
{
    struct scr_outlook there = *o;
    set_costs(m, &there);
    set_rates(m, &there);
    return there.copies * there.stored <= there.room ? efficiency_at(m, &there, o->pace)
                                                     : NAN;
}

/* --- the choice --- */

static const struct {
    enum scr_scheme scheme;
    int set_size, set_failures;
} candidates[] = {
    { SCR_SCHEME_XOR, 8, 1 },    { SCR_SCHEME_XOR, 16, 1 },
    { SCR_SCHEME_RS, 8, 2 },     { SCR_SCHEME_RS, 16, 2 },
    { SCR_SCHEME_RS, 16, 3 },    { SCR_SCHEME_PARTNER, 8, 1 },
    { SCR_SCHEME_SINGLE, 1, 0 },
};
enum { NCANDIDATES = sizeof candidates / sizeof *candidates };

static void take_candidate(const struct scr_machine *m, int i, struct scr_outlook *o)
{
    int most =
        m->nodes < candidates[i].set_size ? (int)m->nodes : candidates[i].set_size;
    *o = (struct scr_outlook){ .scheme = candidates[i].scheme,
                               .set_size = most,
                               .set_failures = candidates[i].set_failures,
                               .on_disk = o->on_disk };
    scr_geom_weaken(&o->scheme, &o->set_failures, most);
    if (o->scheme == SCR_SCHEME_SINGLE)
        o->set_failures = 0;
    set_costs(m, o);
    o->copies = o->room >= 2 * o->stored ? 2 : o->room >= o->stored;
}

int scr_outlook_find(const struct scr_machine *m, struct scr_outlook *o)
{
    static const double gain = 0.001;
    struct scr_outlook best = { .efficiency = -1 };
    for (int i = 0; i < 2 * NCANDIDATES; i++) {
        struct scr_outlook next = { .on_disk = i >= NCANDIDATES };
        if (next.on_disk && m->disk <= 0)
            break;
        take_candidate(m, i % NCANDIDATES, &next);
        if (next.copies == 0)
            continue;
        set_pace(m, &next);
        if (best.efficiency < 0 || next.efficiency > best.efficiency + gain)
            best = next;
    }
    if (best.efficiency < 0) {
        *o = (struct scr_outlook){ .on_disk = m->disk > 0 };
        take_candidate(m, 0, o);
        return SCR_E_FULL;
    }
    *o = best;
    return o->cost * m->nodes / m->mtbf < 1 ? SCR_OK : SCR_E_RANGE;
}
