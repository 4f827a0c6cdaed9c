/* SPDX-License-Identifier: BSD-3-Clause */
/* scr status for programs: JSON, and Prometheus' text format. */
#include <inttypes.h>
#include <stdlib.h>

#include <jansson.h>

#include "base/str.h"
#include "status_print.h"

/* --- JSON: what is not known is null --- */

static json_t *number(int64_t n, int is_known)
{
    return is_known ? json_integer(n) : json_null();
}

static json_t *real(double x, int is_known)
{
    return is_known ? json_real(x) : json_null();
}

static json_t *dataset_json(const struct scr_status_dataset *d)
{
    if (d->id == 0)
        return json_null();
    return json_pack("{s:i, s:o, s:o, s:I, s:I, s:b, s:b}", "id", d->id, "name",
                     scr_tool_json_text(d->name), "created",
                     number(d->created, d->created > 0), "bytes", (json_int_t)d->size,
                     "files", (json_int_t)d->files, "checkpoint", d->is_ckpt, "output",
                     d->is_output);
}

static json_t *cache_json(const struct scr_status_cache *c)
{
    json_t *all = dataset_json(&c->d);
    json_t *more = json_pack(
        "{s:o, s:o, s:o, s:o, s:b, s:b, s:b, s:i}", "job", scr_tool_json_text(c->job),
        "nodes", scr_tool_json_text(c->nodes), "scheme",
        scr_tool_json_text(c->has_scheme ? scr_scheme_name(c->scheme) : NULL),
        "survives", number(c->survives, c->survives >= 0), "seen", c->is_seen, "lost",
        c->is_lost, "mendable", c->is_mendable, "missing", c->missing);
    if (json_is_object(all) && (more == NULL || json_object_update(all, more) != 0)) {
        json_decref(all);
        all = NULL;
    }
    json_decref(more);
    return all;
}

static json_t *run_json(const struct scr_status *s)
{
    int is_known = s->began > 0 && s->log.ranks > 0;
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "job",
        scr_tool_json_text(s->job), "number", number(s->log.runs, s->log.runs > 0),
        "ranks", number(s->log.ranks, is_known), "nodes",
        number(s->nodes, s->nodes > 0), "nodelist",
        scr_tool_json_text(is_known ? s->log.nodelist : NULL), "process",
        scr_tool_json_text(s->process), "began", number(s->began, s->began > 0),
        "ended", number(s->ended, s->ended > 0), "seen", number(s->seen, s->seen > 0));
}

static json_t *restart_json(const struct scr_status *s)
{
    if (s->restart == NULL)
        return json_null();
    return json_pack("{s:i, s:o, s:s}", "id", s->restart->id, "name",
                     scr_tool_json_text(s->restart->name), "from",
                     s->restart == &s->cache.d ? "cache" : "prefix");
}

static json_t *flush_json(const struct scr_flush_progress *f)
{
    double left = scr_flush_progress_left(f);
    if (f->id == 0)
        return json_null();
    return json_pack("{s:i, s:o, s:b, s:b, s:i, s:I, s:I, s:o, s:o, s:o}", "id", f->id,
                     "name", scr_tool_json_text(f->name), "async", f->is_async,
                     "running", f->is_running, "waiting", f->waiting, "bytes",
                     (json_int_t)f->bytes, "done", (json_int_t)f->done, "since",
                     number((int64_t)f->since, f->since > 0), "rate",
                     real(f->rate, f->rate > 0), "left", real(left, left >= 0));
}

static json_t *checkpoint_json(const struct scr_status *s)
{
    if (s->interval <= 0)
        return json_null();
    return json_pack("{s:f, s:o, s:o}", "interval", s->interval, "next",
                     number(s->next, s->next > 0), "why",
                     scr_tool_json_text(s->advice));
}

static json_t *texts_json(char *const *text, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++)
        array = scr_tool_json_append(array, scr_tool_json_text(text[i]));
    return array;
}

static json_t *lost_json(const struct scr_table *lost)
{
    json_t *array = json_array();
    for (SCR_EACH(const struct scr_item, node, lost))
        array = scr_tool_json_append(array, scr_tool_json_text(node->name));
    return array;
}

static json_t *history_json(const struct scr_status *s)
{
    return json_pack(
        "{s:I, s:{s:I, s:I, s:I}, s:o, s:o}", "runs", (json_int_t)s->log.runs,
        "failures", "process", (json_int_t)s->failures[SCR_FAILED_PROCESS], "node",
        (json_int_t)s->failures[SCR_FAILED_NODE], "beyond",
        (json_int_t)s->failures[SCR_FAILED_SYSTEM], "nodes_lost",
        lost_json(&s->log.lost), "spares", number(s->spares, s->spares >= 0));
}

static json_t *halt_json(const struct scr_status *s)
{
    const struct scr_halt *h = &s->halt;
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "checkpoints_left",
                     number(h->checkpoints_left, h->checkpoints_left >= 0),
                     "exit_after", number(h->exit_after, h->exit_after >= 0),
                     "exit_before", number(h->exit_before, h->exit_before >= 0),
                     "halt_seconds", number(h->halt_seconds, h->halt_seconds >= 0),
                     "reason", scr_tool_json_text(s->halt_reason), "satisfied",
                     scr_tool_json_text(s->halt_due));
}

json_t *scr_status_json(const struct scr_tool *t, const struct scr_status *s)
{
    int64_t left = scr_status_left(s);
    return json_pack(
        "{s:i, s:o, s:I, s:s, s:o, s:o, s:o, s:o, s:i, s:o, s:o, s:o, s:o, s:o, s:o, "
        "s:o, s:o}",
        "version", 1, "directory", scr_tool_json_text(t->prefix.path), "time",
        (json_int_t)s->now, "state", scr_status_state_name(s->state), "why",
        scr_tool_json_text(s->why), "run", run_json(s), "cache", cache_json(&s->cache),
        "prefix", dataset_json(&s->saved), "only_in_cache", s->cache.unsaved, "restart",
        restart_json(s), "flush", flush_json(&s->flush), "checkpoint",
        checkpoint_json(s), "history", history_json(s), "halt", halt_json(s),
        "allocation_end", number(s->end, s->end > 0), "time_left",
        number(left, left >= 0), "notes", texts_json(s->notes.v, s->notes.n));
}

/* --- Prometheus --- */

struct metrics {
    struct scr_str text;
    char *labels; /* directory="/p/run1" */
};

/* Label values have backslash, quote and newline escaped. */
static char *label_of(const char *path)
{
    struct scr_str s = SCR_STR_INIT;
    char *utf8 = scr_tool_utf8(path);
    scr_str_append(&s, "directory=\"");
    for (const char *c = utf8; c != NULL && *c != '\0'; c++)
        if (*c == '\n')
            scr_str_append(&s, "\\n");
        else
            scr_str_printf(&s, "%s%c", *c == '\\' || *c == '"' ? "\\" : "", *c);
    scr_str_append(&s, "\"");
    if (utf8 == NULL)
        scr_str_spoil(&s);
    free(utf8);
    return scr_str_take(&s);
}

static void head(struct metrics *m, const char *name, const char *help)
{
    scr_str_printf(&m->text, "# HELP scr_%s %s\n# TYPE scr_%s gauge\n", name, help,
                   name);
}

static void value(struct metrics *m, const char *name, const char *more, double x)
{
    scr_str_printf(&m->text, "scr_%s{%s%s} %.15g\n", name, m->labels, more, x);
}

/* An unknown value (below 0) has no metric. */
static void gauge(struct metrics *m, const char *name, const char *help, double x)
{
    if (x < 0)
        return;
    head(m, name, help);
    value(m, name, "", x);
}

static double if_known(double x)
{
    return x > 0 ? x : -1;
}

static void add_states(struct metrics *m, const struct scr_status *s)
{
    head(m, "state", "1 for the state that the job is in");
    for (int i = 0; i < SCR_STATUS_STATES; i++) {
        char more[48];
        (void)snprintf(more, sizeof more, ",state=\"%s\"",
                       scr_status_state_name((enum scr_status_state)i));
        value(m, "state", more, (int)s->state == i);
    }
}

static void add_failures(struct metrics *m, const struct scr_status *s)
{
    static const char *const class[SCR_FAILURES] = { ",class=\"process\"",
                                                     ",class=\"node\"",
                                                     ",class=\"beyond\"" };
    head(m, "failures", "Failures of runs, by what it took to continue");
    for (int i = 0; i < SCR_FAILURES; i++)
        value(m, "failures", class[i], (double)s -> failures[i]);
}

static void add_run(struct metrics *m, const struct scr_status *s)
{
    gauge(m, "run_start_time_seconds", "When the newest run began",
          if_known((double)s->began));
    gauge(m, "run_end_time_seconds", "When the newest run ended",
          if_known((double)s->ended));
    gauge(m, "last_sign_time_seconds", "Last sign of life", if_known((double)s->seen));
    gauge(m, "run_ranks", "Ranks of the newest run", if_known((double)s->log.ranks));
    gauge(m, "run_nodes", "Nodes of the newest run", if_known((double)s->nodes));
    gauge(m, "runs", "Runs made", (double)s->log.runs);
    gauge(m, "nodes_lost", "Nodes lost", (double)s->log.lost.n);
    gauge(m, "nodes_spare", "Nodes of the allocation that no run uses",
          (double)s->spares);
}

static void add_datasets(struct metrics *m, const struct scr_status *s)
{
    const struct scr_status_dataset *c = &s->cache.d, *p = &s->saved;
    gauge(m, "cache_dataset", "Number of the newest dataset in cache", if_known(c->id));
    gauge(m, "cache_dataset_created_time_seconds", "When it was made",
          if_known((double)c->created));
    gauge(m, "cache_dataset_bytes", "Its size", c->id > 0 ? (double)c->size : -1);
    gauge(m, "cache_survives_nodes", "Losses of nodes that it survives",
          c->id > 0 ? s->cache.survives : -1);
    gauge(m, "cache_only_datasets", "Datasets that are in cache only",
          s->cache.unsaved);
    gauge(m, "prefix_dataset", "Number of the newest dataset in the prefix directory",
          if_known(p->id));
    gauge(m, "prefix_dataset_created_time_seconds", "When it was made",
          if_known((double)p->created));
    gauge(m, "prefix_dataset_bytes", "Its size", p->id > 0 ? (double)p->size : -1);
    gauge(m, "restart_dataset", "Number of the dataset that a restart takes",
          s->restart ? s->restart->id : -1);
}

static void add_flush(struct metrics *m, const struct scr_flush_progress *f)
{
    gauge(m, "flush_running", "1 while a dataset is copied to the prefix directory",
          f->is_running);
    gauge(m, "flush_waiting", "Datasets that are copied after it",
          f->is_running ? f->waiting : -1);
    gauge(m, "flush_dataset", "Number of that dataset", if_known(f->id));
    gauge(m, "flush_bytes", "Its size", f->id > 0 ? (double)f->bytes : -1);
    gauge(m, "flush_done_bytes", "Copied so far", f->id > 0 ? (double)f->done : -1);
    gauge(m, "flush_bytes_per_second", "Rate of the copy", if_known(f->rate));
}

char *scr_status_prometheus(const struct scr_tool *t, const struct scr_status *s)
{
    struct metrics m = { SCR_STR_INIT, label_of(t->prefix.path) };
    if (m.labels == NULL)
        return NULL;
    add_states(&m, s);
    add_run(&m, s);
    add_failures(&m, s);
    add_datasets(&m, s);
    add_flush(&m, &s->flush);
    gauge(&m, "checkpoint_interval_seconds", "Advised time between checkpoints",
          if_known(s->interval));
    gauge(&m, "checkpoint_next_time_seconds", "When the next checkpoint is due",
          if_known((double)s->next));
    gauge(&m, "halt_satisfied", "1 if a halt condition is satisfied",
          s->halt_due != NULL);
    gauge(&m, "time_left_seconds", "Time left in the allocation",
          (double)scr_status_left(s));
    gauge(&m, "notes", "State files that could not be read", (double)s->notes.n);
    free(m.labels);
    return scr_str_take(&m.text);
}
