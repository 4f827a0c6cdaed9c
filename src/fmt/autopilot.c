/* SPDX-License-Identifier: BSD-3-Clause */
/* Statistics of runs, and how often to checkpoint by them. */
#include "fmt/autopilot.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/interval.h"
#include "base/str.h"
#include "base/units.h"

enum { VERSION = 1, USEC = 1000000 };

void scr_average_add(struct scr_average *a, double value)
{
    a->n += a->n < SCR_AVERAGE_OF;
    a->value += (value - a->value) / (double)a->n;
}

/* --- autopilot.scr --- */

static const char *const classes[SCR_FAILURES] = { "PROCESS", "NODE", "SYSTEM" };

static const struct {
    const char *key;
    size_t at;
} averages[] = {
    { "COST", offsetof(struct scr_autopilot, cost) },
    { "FLUSH", offsetof(struct scr_autopilot, flush) },
    { "BLOCKED", offsetof(struct scr_autopilot, blocked) },
    { "BETWEEN", offsetof(struct scr_autopilot, between) },
};
enum { NAVERAGES = sizeof averages / sizeof *averages };

static struct scr_average *average_at(struct scr_autopilot *a, size_t i)
{
    return (struct scr_average *)(void *)((char *)a + averages[i].at);
}

/* A number that is not there is 0. */
static int get_number(const scr_hash *h, const char *key, int64_t *n,
                      struct scr_err *err)
{
    *n = 0;
    if (scr_hash_get(h, key) != NULL && (!scr_hash_get_val_i64(h, key, n) || *n < 0))
        return scr_fail(err, SCR_E_CORRUPT, 0, "autopilot file: bad %s", key);
    return SCR_OK;
}

static int get_version(const scr_hash *h, struct scr_err *err)
{
    int64_t version = 0;
    if (scr_hash_size(h) == 0)
        return SCR_OK;
    TRY(get_number(h, "VERSION", &version, err));
    if (version == 0)
        return scr_fail(err, SCR_E_CORRUPT, 0, "autopilot file: no VERSION");
    if (version > VERSION)
        return scr_fail(err, SCR_E_VERSION, 0,
                        "autopilot file: version %" PRId64
                        " is newer than this reader's %d",
                        version, VERSION);
    return SCR_OK;
}

/* Numbers of a run that are not there are 0. */
static int get_run(const scr_hash_elem *e, struct scr_open_run *run,
                   struct scr_err *err)
{
    const scr_hash *r = scr_hash_elem_hash(e);
    run->job_id = scr_hash_elem_key(e);
    TRY(get_number(r, "SEEN", &run->seen, err));
    return get_number(r, "END", &run->end, err);
}

static scr_hash *runs_of(const scr_hash *h)
{
    return scr_hash_getf(h, "RUN JOB");
}

int scr_autopilot_get(const scr_hash *h, struct scr_autopilot *a, struct scr_err *err)
{
    struct scr_autopilot got = { 0 };
    struct scr_open_run run;
    int64_t usec;
    TRY(get_version(h, err));
    TRY(get_number(h, "UPTIME", &usec, err));
    got.uptime = (double)usec / USEC;
    TRY(get_number(h, "UNFLUSHED", &usec, err));
    got.unflushed = (double)usec / USEC;
    for (size_t i = 0; i < SCR_FAILURES; i++)
        TRY(get_number(scr_hash_get(h, "FAILURES"), classes[i], &got.failures[i], err));
    for (size_t i = 0; i < NAVERAGES; i++) {
        const scr_hash *from = scr_hash_get(h, averages[i].key);
        struct scr_average *to = average_at(&got, i);
        TRY(get_number(from, "USEC", &usec, err));
        TRY(get_number(from, "COUNT", &to->n, err));
        to->value = (double)usec / USEC;
    }
    for (SCR_HASH_EACH(e, runs_of(h)))
        TRY(get_run(e, &run, err));
    *a = got;
    return SCR_OK;
}

/* Whole microseconds; a clock that fails does not make the file unreadable. */
static void set_usec(scr_hash *h, const char *key, double seconds)
{
    double usec = seconds * USEC;
    scr_hash_set_val_i64(h, key, usec > 0 && usec < 9e18 ? (int64_t)(usec + 0.5) : 0);
}

int scr_autopilot_set(scr_hash *h, const struct scr_autopilot *a)
{
    struct scr_autopilot copy = *a;
    scr_hash_set_val_i64(h, "VERSION", VERSION);
    set_usec(h, "UPTIME", a->uptime);
    (void)scr_hash_unset(h, "UNFLUSHED");
    if (a->unflushed > 0)
        set_usec(h, "UNFLUSHED", a->unflushed);
    for (size_t i = 0; i < SCR_FAILURES; i++)
        if (a->failures[i] > 0)
            scr_hash_set_val_i64(scr_hash_setf(h, NULL, "FAILURES"), classes[i],
                                 a->failures[i]);
    for (size_t i = 0; i < NAVERAGES; i++) {
        const struct scr_average *from = average_at(&copy, i);
        if (from->n == 0)
            continue;
        scr_hash *to = scr_hash_setf(h, NULL, "%s", averages[i].key);
        set_usec(to, "USEC", from->value);
        scr_hash_set_val_i64(to, "COUNT", from->n);
    }
    return h != NULL && scr_hash_ok(h) ? SCR_OK : SCR_E_NOMEM;
}

int scr_autopilot_enter(scr_hash *h, const struct scr_open_run *run)
{
    scr_autopilot_leave(h, run->job_id);
    scr_hash *r = scr_hash_set_kv(scr_hash_setf(h, NULL, "RUN"), "JOB", run->job_id);
    scr_hash_set_val_i64(r, "SEEN", run->seen);
    if (run->end > 0)
        scr_hash_set_val_i64(r, "END", run->end);
    return h != NULL && scr_hash_ok(h) ? SCR_OK : SCR_E_NOMEM;
}

void scr_autopilot_leave(scr_hash *h, const char *job_id)
{
    scr_hash *run = scr_hash_get(h, "RUN");
    (void)scr_hash_unset_kv(run, "JOB", job_id);
    if (scr_hash_size(run) == 0)
        (void)scr_hash_unset(h, "RUN");
}

int scr_autopilot_close(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    (void)arg;
    TRY(get_version(h, err));
    *changed = scr_hash_unset(h, "RUN");
    return SCR_OK;
}

/* --- failures --- */

static int is_over(const struct scr_open_run *run, const struct scr_observer *o,
                   double silence)
{
    if (strcmp(run->job_id, o->job_id) == 0)
        return o->is_new;
    return run->seen <= o->began && ((double)(o->now - run->seen) > silence ||
                                     (run->end > 0 && o->now > run->end));
}

/* A job that continues in the allocation of a run knows that this has not ended. */
static int has_failed(const struct scr_open_run *run, const struct scr_observer *o,
                      double silence)
{
    return strcmp(run->job_id, o->job_id) == 0 || run->end == 0 ||
           (double)run->seen + silence < (double)run->end;
}

void scr_autopilot_newest(const scr_hash *h, struct scr_open_run *run)
{
    struct scr_open_run each;
    *run = (struct scr_open_run){ 0 };
    for (SCR_HASH_EACH(e, runs_of(h)))
        if (get_run(e, &each, NULL) == SCR_OK &&
            (run->job_id == NULL || each.seen > run->seen))
            *run = each;
}

int scr_autopilot_settle(scr_hash *h, const struct scr_autopilot *a,
                         const struct scr_observer *o)
{
    /* A run that computes was written not longer ago than this. */
    double silence = SCR_AUTOPILOT_EVERY + 2 * a->between.value + 2 * a->cost.value;
    struct scr_open_run run;
    int failed = 0;
    for (scr_hash_elem *e = scr_hash_elem_first(runs_of(h)); e != NULL;) {
        int is_known = get_run(e, &run, NULL) == SCR_OK;
        e = scr_hash_elem_next(e);
        if (!is_known || !is_over(&run, o, silence))
            continue;
        failed += has_failed(&run, o, silence);
        scr_autopilot_leave(h, run.job_id);
    }
    return failed;
}

const double scr_failure_share[SCR_FAILURES] = { 0.5, 0.4, 0.1 };
const double scr_flush_slowdown = 0.1;

/* As if one failure had been seen in the time that is expected between two. */
static double rate(const struct scr_autopilot *a, const struct scr_autopilot_job *job,
                   double share, int64_t failures)
{
    double mean = job->mtbf / (job->nodes > 1 ? job->nodes : 1) / share;
    return ((double)failures + 1) / (a->uptime + mean);
}

static double rate_of(const struct scr_autopilot *a,
                      const struct scr_autopilot_job *job, enum scr_failure class)
{
    return rate(a, job, scr_failure_share[class], a->failures[class]);
}

/* Failures that leave a checkpoint in cache. */
static double rate_near(const struct scr_autopilot *a,
                        const struct scr_autopilot_job *job)
{
    double process = rate_of(a, job, SCR_FAILED_PROCESS);
    return job->is_single ? process : process + rate_of(a, job, SCR_FAILED_NODE);
}

/* And those that do not, which all lost nodes are where nothing survives one. */
static double rate_far(const struct scr_autopilot *a,
                       const struct scr_autopilot_job *job)
{
    if (!job->is_single)
        return rate_of(a, job, SCR_FAILED_SYSTEM);
    return rate(a, job,
                scr_failure_share[SCR_FAILED_NODE] +
                    scr_failure_share[SCR_FAILED_SYSTEM],
                a->failures[SCR_FAILED_NODE] + a->failures[SCR_FAILED_SYSTEM]);
}

/* --- advice --- */

/* Before a cost is known, unless failures are so frequent that a tenth of the time
 * between two is less; what an end of the allocation needs besides. */
static const double first_interval = 60, margin = 60;

/* How long the program does without computing, for a flush. */
static double cost_of_flush(const struct scr_autopilot *a,
                            const struct scr_autopilot_job *job)
{
    if (job->flush_every == 0)
        return 0;
    return job->is_async ? a->blocked.value + scr_flush_slowdown * a->flush.value
                         : a->flush.value;
}

/* For flushes alone, to the first order: those in between do not matter to them. */
static double time_between_flushes(const struct scr_ckpt_level *flush, double drain)
{
    return fmax(scr_interval_young(flush->cost, 1 / flush->rate), drain);
}

void scr_autopilot_advise(const struct scr_autopilot *a,
                          const struct scr_autopilot_job *job, struct scr_advice *out)
{
    const struct scr_ckpt_level level[2] = {
        { a->cost.value, rate_near(a, job), 0 },
        { cost_of_flush(a, job), rate_far(a, job), 0 },
    };
    double drain = job->is_async && job->flush_every != 0 ? a->flush.value : 0;
    int every = job->flush_every < 0 ? 0 : job->flush_every > 1 ? job->flush_every : 1;
    struct scr_pace pace = scr_pace_find(level, drain, every);
    /* Whatever only the prefix directory has is that many intervals old. */
    double rate = level[0].rate + pace.every * level[1].rate;
    *out = (struct scr_advice){
        .is_known = a->cost.n > 0,
        .mean = 1 / (level[0].rate + level[1].rate),
        .cost = level[0].cost + level[1].cost / pace.every,
        .flush = job->flush_every < 0 ? time_between_flushes(&level[1], drain) : 0,
    };
    out->interval =
        out->is_known ? pace.interval : fmin(first_interval, out->mean / 10);
    if (job->most > 0 && job->most < 100)
        out->interval = fmax(out->interval, out->cost * (100 / job->most - 1));
    out->waste = scr_interval_waste(out->cost, rate, fmax(out->interval, 1e-6));
}

static int is_other(double now, double was)
{
    return fabs(now - was) > 0.1 * was;
}

int scr_advice_has_changed(const struct scr_advice *now, const struct scr_advice *was)
{
    return now->is_known != was->is_known || is_other(now->interval, was->interval) ||
           is_other(now->flush, was->flush);
}

char *scr_advice_text(const struct scr_advice *advice, const struct scr_autopilot *a)
{
    char mean[32], uptime[32], cost[32], interval[32], between[32], flush[48] = "";
    int64_t failures = 0;
    scr_format_duration(advice->interval, interval, sizeof interval);
    if (!advice->is_known)
        return scr_asprintf("what a checkpoint costs is not known yet; the first one "
                            "after %s",
                            interval);
    for (int i = 0; i < SCR_FAILURES; i++)
        failures += a->failures[i];
    if (advice->flush > 0)
        (void)snprintf(flush, sizeof flush, "; flush every %s",
                       scr_format_duration(advice->flush, between, sizeof between));
    return scr_asprintf(
        "MTBF %s from %" PRId64 " failure%s in %s; C %s; checkpoint every %s%s; "
        "expected waste %.1f %%",
        scr_format_duration(advice->mean, mean, sizeof mean), failures,
        failures == 1 ? "" : "s", scr_format_duration(a->uptime, uptime, sizeof uptime),
        scr_format_duration(advice->cost, cost, sizeof cost), interval, flush,
        100 * advice->waste);
}

/* The next call may come too late for what has to be done before the end. */
static double time_for_last(const struct scr_autopilot *a)
{
    return a->cost.value + a->flush.value + margin + a->between.value;
}

/* Once it is time for the last checkpoint, one is enough. */
int scr_autopilot_is_due(const struct scr_autopilot *a, const struct scr_advice *advice,
                         double elapsed, double left)
{
    double last = time_for_last(a);
    if (elapsed >= advice->interval - a->between.value / 2)
        return 1;
    return left < last && elapsed > last - left;
}

int scr_autopilot_flush_is_due(const struct scr_autopilot *a,
                               const struct scr_advice *advice, double elapsed,
                               double left)
{
    return a->flush.n == 0 || a->unflushed >= advice->flush - elapsed / 2 ||
           left < time_for_last(a);
}
