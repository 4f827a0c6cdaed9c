/* SPDX-License-Identifier: BSD-3-Clause */
/* The history as JSON, written piece by piece: as a tree, that of a million lines would
 * take hundreds of megabytes. Members that are not known are null. */
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const scr_report_times[SCR_TIMES] = {
    [SCR_TIME_KEPT] = "kept",       [SCR_TIME_CHECKPOINT] = "checkpoint",
    [SCR_TIME_OUTPUT] = "output",   [SCR_TIME_FLUSH] = "flush",
    [SCR_TIME_RESTART] = "restart", [SCR_TIME_LOST] = "lost",
    [SCR_TIME_OTHER] = "other",     [SCR_TIME_IDLE] = "idle"
};
const char *const scr_report_levels[SCR_MOVE_LEVELS] = { [SCR_MOVE_CACHE] = "cache",
                                                         [SCR_MOVE_ENCODE] = "encode",
                                                         [SCR_MOVE_FLUSH] = "flush",
                                                         [SCR_MOVE_FETCH] = "fetch" };
const char *const scr_report_costs[SCR_COSTS] = {
    [SCR_COST_CHECKPOINT] = "checkpoint", [SCR_COST_OUTPUT] = "output",
    [SCR_COST_ENCODE] = "encode",         [SCR_COST_FLUSH] = "flush",
    [SCR_COST_ASYNC] = "async flush",     [SCR_COST_FETCH] = "fetch",
    [SCR_COST_REBUILD] = "rebuild",       [SCR_COST_INIT] = "init",
    [SCR_COST_RESTART] = "restart"
};
const char *const scr_report_ends[SCR_RUN_ENDS] = { [SCR_RUN_OPEN] = "open",
                                                    [SCR_RUN_ENDED] = "ended",
                                                    [SCR_RUN_HALTED] = "halted",
                                                    [SCR_RUN_FAILED] = "failed",
                                                    [SCR_RUN_CUT] = "cut" };
static const char *const states[] = { [SCR_HIST_NOT] = "none",
                                      [SCR_HIST_BEGUN] = "begun",
                                      [SCR_HIST_DONE] = "done",
                                      [SCR_HIST_FAILED] = "failed" };

/* --- pieces --- */

struct sink {
    struct scr_drain drain; /* first: the text points to it */
    const struct scr_fd *to;
    struct scr_err *err;
    char last; /* character written */
};

static int take(struct scr_drain *d, char *p, size_t n)
{
    struct sink *sink = (void *)d;
    sink->last = p[n - 1];
    return scr_write_all(sink->to, p, n, sink->err);
}

/* --- values --- */

static void escape(struct scr_str *s, const char *text)
{
    scr_str_append(s, "\"");
    for (const char *p = text; *p != '\0';) {
        size_t plain = 0;
        while ((unsigned char)p[plain] >= 0x20 && strchr("\"\\<>&", p[plain]) == NULL)
            plain++;
        scr_str_append_n(s, p, plain);
        p += plain;
        if (*p != '\0') /* '<' would end the script element */
            scr_str_printf(s, "\\u%04x", (unsigned)(unsigned char)*p++);
    }
    scr_str_append(s, "\"");
}

/* Precedes a value with a comma, unless it is the first, and, in an object, its key. */
static void begin(struct scr_str *s, const char *key)
{
    const struct sink *sink = (const void *)s->drain;
    char last = s->len > 0 ? s->p[s->len - 1] : sink != NULL ? sink->last : '[';
    if (last != '[' && last != '{')
        scr_str_append(s, ",");
    if (key != NULL)
        scr_str_printf(s, "\n\"%s\":", key);
}

static void open_list(struct scr_str *s, const char *key, const char *bracket)
{
    begin(s, key);
    scr_str_append(s, bracket);
}

static void put_text(struct scr_str *s, const char *key, const char *text)
{
    begin(s, key);
    char *clean = text ? scr_tool_utf8(text) : NULL;
    if (text == NULL)
        scr_str_append(s, "null");
    else if (clean == NULL)
        scr_str_spoil(s);
    else
        escape(s, clean);
    free(clean);
}

static void put_count(struct scr_str *s, const char *key, int64_t n)
{
    begin(s, key);
    if (n < 0)
        scr_str_append(s, "null");
    else
        scr_str_printf(s, "%lld", (long long)n);
}

static void put_real(struct scr_str *s, const char *key, double v)
{
    begin(s, key);
    if (!isfinite(v) || v < 0)
        scr_str_append(s, "null");
    else
        scr_str_printf(s, v >= 1e8 && v < 1e11 ? "%.3f" : "%.9g", v);
}

/* --- lists --- */

/* Item k of at most `most` of n; 0: there is none. The newest, or evenly chosen. */
static int pick(size_t n, size_t most, size_t k, int even, size_t *i)
{
    size_t shown = most > 0 && n > most ? most : n;
    *i = even ? (size_t)((double)k / (double)shown * (double)n) : n - shown + k;
    return k < shown;
}

static void put_time(struct scr_str *s, const double *secs, int n)
{
    open_list(s, "time", "{");
    for (int i = 0; i < n; i++)
        put_real(s, scr_report_times[i], secs[i]);
    scr_str_append(s, "}");
}

static void put_run(struct scr_str *s, const struct scr_hist_run *r)
{
    open_list(s, NULL, "{");
    put_count(s, "run", r->number);
    put_text(s, "jobid", r->jobid);
    put_text(s, "host", r->host);
    put_text(s, "nodelist", r->nodelist);
    put_text(s, "version", r->version);
    put_count(s, "ranks", r->ranks);
    put_count(s, "nodes", r->nodes);
    put_real(s, "begin", r->begin);
    put_real(s, "wall", r->wall);
    put_text(s, "end", scr_report_ends[r->end]);
    put_text(s, "halt", r->halt);
    put_count(s, "restarted", r->restarted);
    put_text(s, "from", r->from);
    put_count(s, "checkpoints", r->ckpts);
    put_count(s, "outputs", r->outputs);
    put_time(s, r->secs, SCR_TIME_IDLE);
    scr_str_append(s, "}");
}

static void put_dset(struct scr_str *s, const struct scr_hist_dset *d)
{
    open_list(s, NULL, "{");
    put_count(s, "dset", d->id);
    put_text(s, "name", d->name);
    put_text(s, "kind", d->is_ckpt ? "checkpoint" : "output");
    put_count(s, "run", d->run);
    put_real(s, "at", d->at);
    put_count(s, "bytes", d->bytes);
    put_count(s, "files", d->files);
    put_text(s, "scheme", d->scheme);
    put_real(s, "write", d->write);
    put_real(s, "encode", d->encode);
    put_real(s, "flush", d->flush);
    put_text(s, "written", states[d->written]);
    put_text(s, "flushed", states[d->flushed]);
    put_count(s, "async", d->is_async);
    put_count(s, "bypass", d->is_bypass);
    put_count(s, "restarts", d->restarts);
    put_count(s, "gone_cache", d->gone_cache);
    put_count(s, "gone_prefix", d->gone_prefix);
    put_text(s, "note", d->note);
    scr_str_append(s, "}");
}

static void put_failure(struct scr_str *s, const struct scr_hist_failure *f)
{
    open_list(s, NULL, "{");
    put_real(s, "at", f->at);
    put_text(s, "class", f->class);
    put_text(s, "nodes", f->nodes);
    put_text(s, "note", f->note);
    put_count(s, "run", f->run);
    put_count(s, "next", f->next);
    put_real(s, "lost", f->lost);
    scr_str_append(s, "}");
}

/* A point is [time of its end, seconds, bytes, dataset]. */
static void put_level(const struct report *r, struct scr_str *s, int level)
{
    const struct scr_hist_moves *m = &r->h->moves[level];
    size_t i = 0;
    open_list(s, NULL, "{");
    put_text(s, "level", scr_report_levels[level]);
    put_count(s, "n", (int64_t)m->n);
    put_real(s, "secs", m->secs);
    put_real(s, "bytes", m->bytes);
    put_real(s, "median_rate", m->median);
    open_list(s, "points", "[");
    for (size_t k = 0; pick(m->n, r->most, k, 1, &i); k++) {
        open_list(s, NULL, "[");
        put_real(s, NULL, m->v[i].at);
        put_real(s, NULL, m->v[i].secs);
        put_count(s, NULL, m->v[i].bytes);
        put_count(s, NULL, m->v[i].dset);
        scr_str_append(s, "]");
    }
    scr_str_append(s, "]}");
}

static void put_cost(struct scr_str *s, const char *what,
                     const struct scr_hist_costs *c)
{
    open_list(s, NULL, "{");
    put_text(s, "what", what);
    put_count(s, "n", (int64_t)c->n);
    put_real(s, "min", scr_hist_quantile(c, 0));
    put_real(s, "median", scr_hist_quantile(c, 0.5));
    put_real(s, "mean", c->mean);
    put_real(s, "p90", scr_hist_quantile(c, 0.9));
    put_real(s, "max", scr_hist_quantile(c, 1));
    open_list(s, "bins", "[");
    for (int i = 0; i < SCR_COST_BINS; i++)
        put_count(s, NULL, c->bin[i]);
    scr_str_append(s, "]}");
}

/* --- parts --- */

static void put_sums(const struct report *r, struct scr_str *s)
{
    const struct scr_hist_sums *m = &r->h->sums;
    put_real(s, "begin", m->begin);
    put_real(s, "end", m->end);
    put_real(s, "span", m->span);
    put_real(s, "wall", m->wall);
    put_real(s, "efficiency", m->efficiency);
    put_time(s, m->secs, SCR_TIMES);
    open_list(s, "totals", "{");
    put_count(s, "runs", (int64_t)r->h->nruns);
    for (int i = 0; i < SCR_RUN_ENDS; i++)
        put_count(s, scr_report_ends[i], m->runs_ended[i]);
    put_count(s, "datasets", (int64_t)r->h->ndsets);
    put_count(s, "checkpoints", m->ckpts);
    put_count(s, "outputs", m->outputs);
    put_count(s, "broken", m->broken);
    put_count(s, "flushes", m->flushes);
    put_count(s, "flushes_failed", m->flushes_failed);
    put_count(s, "fetches", m->fetches);
    put_count(s, "fetches_failed", m->fetches_failed);
    put_count(s, "rebuilds", m->rebuilds);
    put_count(s, "rebuilds_failed", m->rebuilds_failed);
    put_count(s, "restarts", m->restarts);
    put_count(s, "restarts_failed", m->restarts_failed);
    put_count(s, "failures", (int64_t)r->h->nfailures);
    scr_str_append(s, "}");
}

static void put_plan(const struct report *r, struct scr_str *s)
{
    const struct scr_hist_plan *p = &r->h->plan;
    if (!p->is_known) {
        put_text(s, "optimum", NULL);
        return;
    }
    open_list(s, "optimum", "{");
    put_real(s, "mtbf", p->mean);
    put_real(s, "cost", p->cost);
    put_real(s, "restart", p->restart);
    put_real(s, "interval", p->interval);
    put_real(s, "best_interval", p->best);
    put_real(s, "expected", p->efficiency);
    put_real(s, "efficiency", p->best_efficiency);
    put_real(s, "gain", p->gain);
    scr_str_append(s, "}");
}

static void put_log(const struct report *r, struct scr_str *s)
{
    const struct scr_hist_doubts *d = &r->h->doubts;
    char note[256];
    open_list(s, "log", "{");
    put_count(s, "events", (int64_t)d->events);
    put_count(s, "damaged", (int64_t)d->damaged);
    put_count(s, "unknown", (int64_t)d->unknown);
    put_count(s, "jumps", (int64_t)d->jumps);
    put_count(s, "headless", (int64_t)d->headless);
    put_count(s, "old", (int64_t)d->old);
    put_count(s, "strangers", (int64_t)d->strangers);
    put_count(s, "unseen", (int64_t)d->unseen);
    put_count(s, "overlaps", (int64_t)d->overlaps);
    open_list(s, "notes", "[");
    for (size_t i = 0; scr_report_note(r->h, &i, note, sizeof note);)
        put_text(s, NULL, note);
    scr_str_append(s, "]}");
}

static void put_advice(const struct report *r, struct scr_str *s)
{
    open_list(s, "advice", "[");
    for (size_t i = 0; i < r->h->nadvices; i++) {
        open_list(s, NULL, "{");
        put_text(s, "text", r->h->advice[i].text);
        put_real(s, "gain", r->h->advice[i].gain);
        scr_str_append(s, "}");
    }
    scr_str_append(s, "]");
    open_list(s, "advised", "{");
    put_real(s, "secs", r->h->advised.secs > 0 ? r->h->advised.secs : -1);
    put_text(s, "why", r->h->advised.why);
    scr_str_append(s, "}");
}

/* Each configuration that differs from that of the run before, with its first run. */
static void put_configs(const struct report *r, struct scr_str *s)
{
    const struct scr_history *h = r->h;
    open_list(s, "configs", "[");
    for (size_t i = 0, k = 0; i < h->nruns && (r->most == 0 || k < r->most); i++) {
        const char *was = i > 0 ? h->run[i - 1].config : NULL;
        if (h->run[i].config == NULL || h->run[i].config == was)
            continue;
        open_list(s, NULL, "{");
        put_count(s, "from", (int64_t)i);
        put_text(s, "config", h->run[i].config);
        scr_str_append(s, "}");
        k++;
    }
    scr_str_append(s, "]");
}

static void put_nodes(const struct report *r, struct scr_str *s)
{
    size_t k = 0;
    open_list(s, "nodes", "[");
    for (SCR_EACH(const struct scr_hist_node, n, &r->h->nodes)) {
        if (r->most > 0 && k++ == r->most)
            break;
        open_list(s, NULL, "{");
        put_text(s, "node", n->item.name);
        put_count(s, "n", n->n);
        put_real(s, "last", n->last);
        put_text(s, "why", n->why);
        scr_str_append(s, "}");
    }
    scr_str_append(s, "]");
}

static void put_lists(const struct report *r, struct scr_str *s)
{
    const struct scr_history *h = r->h;
    size_t i = 0;
    open_list(s, "levels", "[");
    for (int level = 0; level < SCR_MOVE_LEVELS; level++)
        put_level(r, s, level);
    scr_str_append(s, "]");
    open_list(s, "costs", "[");
    for (int c = 0; c < SCR_COSTS; c++)
        if (h->costs[c].n > 0)
            put_cost(s, scr_report_costs[c], &h->costs[c]);
    scr_str_append(s, "]");
    open_list(s, "failures", "[");
    for (size_t k = 0; pick(h->nfailures, r->most, k, 0, &i); k++)
        put_failure(s, &h->failure[i]);
    scr_str_append(s, "]");
    put_count(s, "first_run", pick(h->nruns, r->most, 0, 0, &i) ? (int64_t)i : 0);
    open_list(s, "runs", "[");
    for (size_t k = 0; pick(h->nruns, r->most, k, 0, &i); k++)
        put_run(s, &h->run[i]);
    scr_str_append(s, "]");
    open_list(s, "datasets", "[");
    for (size_t k = 0; pick(h->ndsets, r->most, k, 0, &i); k++)
        put_dset(s, &h->dset[i]);
    scr_str_append(s, "]");
}

void scr_report_json(const struct report *r, struct scr_str *out)
{
    open_list(out, NULL, "{");
    put_count(out, "format", 1);
    put_text(out, "source", r->source);
    put_text(out, "version", SCR_VERSION);
    put_real(out, "now", r->now);
    put_sums(r, out);
    put_plan(r, out);
    put_advice(r, out);
    put_configs(r, out);
    put_nodes(r, out);
    put_lists(r, out);
    put_log(r, out);
    scr_str_append(out, "}\n");
}

int scr_report_json_write(const struct scr_fd *to, const void *report,
                          struct scr_err *err)
{
    struct sink sink = { .drain = { .take = take }, .to = to, .err = err, .last = '[' };
    struct scr_str s = { .drain = &sink.drain };
    scr_report_json(report, &s);
    if (!s.bad)
        scr_str_drain(&s);
    int rc = !s.bad ? SCR_OK : err->code != SCR_OK ? err->code : scr_no_memory(err);
    scr_str_free(&s);
    return rc;
}
