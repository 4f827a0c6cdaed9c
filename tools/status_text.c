/* SPDX-License-Identifier: BSD-3-Clause */
/* scr status for people. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hostlist.h"
#include "base/str.h"
#include "base/units.h"
#include "status_print.h"

enum { COLUMNS = 80, LABEL = 12 };

/* --- words --- */

static void add_time(struct scr_str *to, double seconds)
{
    char buf[32];
    scr_str_append(to, scr_format_duration(seconds > 0 ? seconds : 0, buf, sizeof buf));
}

static void add_size(struct scr_str *to, uint64_t bytes)
{
    char buf[32];
    scr_str_append(to, scr_format_size(bytes, buf, sizeof buf));
}

/* Local time with its zone. */
static void add_stamp(struct scr_str *to, int64_t when)
{
    char buf[48] = "?";
    struct tm tm;
    time_t t = (time_t)when;
    if (localtime_r(&t, &tm) != NULL)
        (void)strftime(buf, sizeof buf, "%Y-%m-%d %H:%M:%S %z", &tm);
    scr_str_append(to, buf);
}

static int is_on(const struct scr_status *s)
{
    return s->state == SCR_STATUS_RUNNING || s->state == SCR_STATUS_STARTING;
}

static void add_dataset(struct scr_str *to, const struct scr_status *s,
                        const struct scr_status_dataset *d)
{
    scr_str_printf(to, "dataset %d (%s)", d->id, d->name ? d->name : "?");
    if (!d->is_ckpt && d->is_output)
        scr_str_append(to, ", output");
    if (d->created > 0) {
        scr_str_append(to, ", ");
        add_time(to, (double)(s->now - d->created));
        scr_str_append(to, " old");
    }
    if (d->size > 0) {
        scr_str_append(to, ", ");
        add_size(to, d->size);
    }
}

/* --- rows: a row without text is left out --- */

static void add_run(struct scr_str *to, const struct scr_status *s)
{
    int64_t ranks = s->began > 0 ? s->log.ranks : 0;
    scr_str_printf(to, "job %s", s->job);
    if (s->log.runs > 0)
        scr_str_printf(to, ", run %" PRId64, s->log.runs);
    if (ranks > 0)
        scr_str_printf(to, ", %" PRId64 " rank%s", ranks, scr_plural(ranks));
    if (s->nodes > 0)
        scr_str_printf(to, "%s%" PRId64 " node%s", ranks > 0 ? " on " : ", ", s->nodes,
                       scr_plural(s->nodes));
}

static void row_state(struct scr_str *to, const struct scr_status *s)
{
    static const char *const words[SCR_STATUS_STATES] = {
        [SCR_STATUS_NONE] = "no run yet",
        [SCR_STATUS_RUNNING] = "running",
        [SCR_STATUS_STARTING] = "the run loop starts or ends a run",
        [SCR_STATUS_HALTED] = "halted",
        [SCR_STATUS_ENDED] = "ended",
        [SCR_STATUS_DIED] = "died: its run has no end, and no process holds its lock",
    };
    scr_str_append(to, words[s->state]);
    if (s->why != NULL)
        scr_str_printf(to, "%s%s", s->state == SCR_STATUS_ENDED ? " by " : ": ",
                       s->why);
    if (s->state == SCR_STATUS_NONE || s->job == NULL)
        return;
    scr_str_append(to, "; ");
    add_run(to, s);
}

static void row_when(struct scr_str *to, const struct scr_status *s)
{
    if (s->began > 0) {
        scr_str_append(to, s->ended > 0 ? "from " : "since ");
        add_stamp(to, s->began);
    }
    if (s->ended > 0) {
        scr_str_append(to, " to ");
        add_stamp(to, s->ended);
        scr_str_append(to, ", ");
        add_time(to, (double)(s->now - s->ended));
        scr_str_append(to, " ago");
    } else if (s->seen > 0) {
        scr_str_printf(to, "%slast sign of life ", s->began > 0 ? "; " : "");
        add_time(to, (double)(s->now - s->seen));
        scr_str_append(to, " ago");
    }
    if (s->process != NULL && *s->process != '\0')
        scr_str_printf(to, ", %s", s->process);
}

/* "n[1-4], 1 of them lost": the nodes it was written on. */
static void add_nodes(struct scr_str *to, const struct scr_status_cache *c)
{
    if (c->nodes != NULL)
        scr_str_printf(to, ", on nodes %s", c->nodes);
    if (c->missing > 0)
        scr_str_printf(to, ", %d %slost", c->missing,
                       c->nodes != NULL  ? "of them "
                       : c->missing == 1 ? "node "
                                         : "nodes ");
    else if (c->is_mendable)
        scr_str_append(to, ", some of its files lost");
    if (c->is_mendable)
        scr_str_append(to, ": can be rebuilt");
}

static void add_losses(struct scr_str *to, const struct scr_status_cache *c)
{
    const char *of = c->has_scheme ? scr_scheme_name(c->scheme) : "";
    const char *further = c->is_mendable ? "further " : "";
    const char *sep = c->is_mendable ? "," : ";";
    if (c->is_lost)
        scr_str_printf(to, "; more of it is lost than %s can rebuild",
                       c->has_scheme ? of : "its redundancy");
    else if (c->survives == 0)
        scr_str_printf(to, "%s survives no %sloss of a node (%s)", sep, further, of);
    else if (c->survives > 0)
        scr_str_printf(to, "%s survives the loss of %d more node%s (%s)", sep,
                       c->survives, scr_plural(c->survives), of);
}

static void row_cache(struct scr_str *to, const struct scr_status *s)
{
    const struct scr_status_cache *c = &s->cache;
    if (c->d.id == 0) {
        scr_str_append(to, "nothing");
        return;
    }
    add_dataset(to, s, &c->d);
    add_nodes(to, c);
    add_losses(to, c);
    if (!c->is_seen && !c->is_lost)
        scr_str_printf(to, "; %s, this is what flush.scr%s",
                       c->is_away    ? "no cache in reach has any of it"
                       : c->in_reach ? "other nodes have the rest"
                                     : "the caches were not looked at",
                       s->has_log ? " and the event log say" : " says");
}

static void row_prefix(struct scr_str *to, const struct scr_status *s)
{
    if (s->saved.id == 0)
        scr_str_append(to, "nothing");
    else
        add_dataset(to, s, &s->saved);
    if (s->cache.unsaved > 0)
        scr_str_printf(to, "; %d dataset%s in cache only", s->cache.unsaved,
                       scr_plural(s->cache.unsaved));
    if (s->cache.unsaved_outs > 0)
        scr_str_printf(to, ", %d of them output", s->cache.unsaved_outs);
}

static void row_restart(struct scr_str *to, const struct scr_status *s)
{
    if (s->restart == NULL) {
        scr_str_append(to, "from nothing");
        return;
    }
    int is_cached = s->restart == &s->cache.d;
    int has_other = s->saved.id > 0 && s->saved.is_ckpt;
    if (is_cached && has_other && s->saved.id == s->restart->id) {
        scr_str_printf(to, "from dataset %d, in cache and in the prefix directory",
                       s->restart->id);
        return;
    }
    scr_str_printf(to, "from dataset %d in %s", s->restart->id,
                   is_cached ? "cache" : "the prefix directory");
    if (!is_cached || s->cache.is_seen)
        return;
    scr_str_append(to, " while the allocation lasts");
    if (has_other)
        scr_str_printf(to, ", else from %d in the prefix directory", s->saved.id);
}

static int percent_of(const struct scr_flush_progress *f)
{
    double part = f->bytes > 0 ? (double)f->done / (double)f->bytes : 0;
    return (int)(100 * (part < 1 ? part : 1));
}

static void row_flush(struct scr_str *to, const struct scr_status *s)
{
    const struct scr_flush_progress *f = &s->flush;
    double left = scr_flush_progress_left(f);
    if (f->id == 0)
        return;
    scr_str_printf(to, "dataset %d (%s), %d %% of ", f->id, f->name, percent_of(f));
    add_size(to, f->bytes);
    if (!f->is_running) {
        scr_str_append(to, ", was interrupted");
        return;
    }
    if (f->rate > 0) {
        scr_str_append(to, ", ");
        add_size(to, (uint64_t)f->rate);
        scr_str_append(to, "/s");
    }
    if (left >= 0) {
        scr_str_append(to, ", ");
        add_time(to, left);
        scr_str_append(to, " left");
    }
    scr_str_append(to, f->is_async ? " (in the background)" : " (the program waits)");
    if (f->waiting > 0)
        scr_str_printf(to, "; %d more wait%s", f->waiting, f->waiting == 1 ? "s" : "");
}

static void row_checkpoint(struct scr_str *to, const struct scr_status *s)
{
    if (s->interval <= 0 || !is_on(s))
        return;
    if (s->next > s->now) {
        scr_str_append(to, "the next in ");
        add_time(to, (double)(s->next - s->now));
    } else if (s->next > 0) {
        scr_str_append(to, "the next is due");
    }
    scr_str_printf(to, "%s%s", s->next > 0 ? "; " : "", s->advice);
}

static void add_lost_nodes(struct scr_str *to, const struct scr_table *lost)
{
    struct scr_hostlist names = SCR_HOSTLIST_INIT;
    char *list = NULL;
    int rc = SCR_OK;
    if (lost->n == 0)
        return;
    for (SCR_EACH(const struct scr_item, node, lost))
        rc = scr_first(rc, scr_hostlist_add(&names, node->name, NULL));
    rc = scr_first(rc, scr_hostlist_compress(&names, 1, &list, NULL));
    scr_hostlist_free(&names);
    scr_str_printf(to, ", %zu node%s lost (%s)", lost->n, scr_plural((int64_t)lost->n),
                   rc == SCR_OK ? list : "?");
    free(list);
}

static void row_history(struct scr_str *to, const struct scr_status *s)
{
    int64_t failures = 0;
    for (int i = 0; i < SCR_FAILURES; i++)
        failures += s->failures[i];
    if (s->log.runs == 0 && failures == 0 && s->log.lost.n == 0)
        return;
    /* The next start counts the newest: it finds out what it takes to continue. */
    int has_died = s->state == SCR_STATUS_DIED && s->log.runs > 0;
    scr_str_printf(to, "%" PRId64 " run%s, ", s->log.runs, scr_plural(s->log.runs));
    if (has_died)
        scr_str_append(to, s->log.runs == 1 ? "which died, " : "the newest died, ");
    scr_str_printf(to, "%" PRId64 " failure%s%s", failures, scr_plural(failures),
                   has_died ? " before it" : "");
    if (failures > 0)
        scr_str_printf(to,
                       " (%" PRId64 " of a process, %" PRId64 " of a node, %" PRId64
                       " beyond the cache)",
                       s->failures[SCR_FAILED_PROCESS], s->failures[SCR_FAILED_NODE],
                       s->failures[SCR_FAILED_SYSTEM]);
    add_lost_nodes(to, &s->log.lost);
    if (s->spares >= 0)
        scr_str_printf(to, ", %" PRId64 " spare node%s", s->spares,
                       scr_plural(s->spares));
}

static void add_condition(struct scr_str *to, const char *what, int64_t when)
{
    if (when < 0)
        return;
    scr_str_printf(to, "%s%s", to->len > 0 ? ", " : "", what);
    add_stamp(to, when);
}

/* Where jobs cannot be distinguished, a run that has ended stops run loops only. */
static const char *who_stops(const struct scr_status *s)
{
    if (is_on(s))
        return "as soon as it can";
    return strstr(s->halt_due, SCR_HALT_FINALIZED) != NULL &&
                   (s->job == NULL || strcmp(s->job, SCR_NO_JOB_ID) == 0)
               ? "a run loop starts no other run"
               : "a new run of the job stops";
}

static void row_halt(struct scr_str *to, const struct scr_status *s)
{
    const struct scr_halt *h = &s->halt;
    if (h->checkpoints_left >= 0)
        scr_str_printf(to, "after %" PRId64 " more checkpoint%s", h->checkpoints_left,
                       scr_plural(h->checkpoints_left));
    add_condition(to, "after ", h->exit_after);
    add_condition(to, "before ", h->exit_before);
    if (h->halt_seconds >= 0)
        scr_str_printf(to, "%s%" PRId64 " s before the allocation ends",
                       to->len > 0 ? ", " : "", h->halt_seconds);
    if (s->halt_due != NULL)
        scr_str_printf(to, "%s%s: %s", to->len > 0 ? "; " : "", who_stops(s),
                       s->halt_due);
    else if (s->halt_reason != NULL)
        scr_str_printf(to, "%sreason %s", to->len > 0 ? "; " : "", s->halt_reason);
}

static void row_left(struct scr_str *to, const struct scr_status *s)
{
    int64_t left = scr_status_left(s);
    if (left <= 0 || s->state == SCR_STATUS_NONE)
        return;
    add_time(to, (double)left);
    scr_str_append(to, ", the allocation ends ");
    add_stamp(to, s->end);
}

static const struct {
    const char *label;
    void (*row)(struct scr_str *to, const struct scr_status *s);
} rows[] = {
    { "state", row_state },
    { "", row_when },
    { "cache", row_cache },
    { "prefix", row_prefix },
    { "restart", row_restart },
    { "flush", row_flush },
    { "checkpoint", row_checkpoint },
    { "so far", row_history },
    { "halt", row_halt },
    { "time left", row_left },
};

/* --- layout --- */

static void add_row(struct scr_str *to, const char *label, struct scr_str *text)
{
    scr_str_mask(text);
    const char *at = text->p ? text->p : "";
    to->bad |= text->bad;
    while (*at != '\0') {
        size_t n = scr_fit(at, COLUMNS - LABEL);
        scr_str_printf(to, "%-*s%.*s\n", LABEL, label, (int)n, at);
        at += n + strspn(at + n, " ");
        label = "";
    }
    scr_str_free(text);
}

char *scr_status_text(const struct scr_tool *t, const struct scr_status *s)
{
    struct scr_str all = SCR_STR_INIT, text = SCR_STR_INIT;
    scr_str_append(&text, t->prefix.path);
    add_row(&all, "directory", &text);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rows[i].row(&text, s);
        add_row(&all, rows[i].label, &text);
    }
    for (size_t i = 0; i < s->notes.n; i++) {
        scr_str_append(&text, s->notes.v[i]);
        add_row(&all, "note", &text);
    }
    return scr_str_take(&all);
}

char *scr_status_line(const struct scr_status *s)
{
    struct scr_str line = SCR_STR_INIT;
    scr_str_append(&line, scr_status_state_name(s->state));
    if (s->job != NULL && s->state != SCR_STATUS_NONE)
        scr_str_printf(&line, " %s", s->job);
    if (s->cache.d.id > 0)
        scr_str_printf(&line, ", cache %d", s->cache.d.id);
    if (s->saved.id > 0)
        scr_str_printf(&line, ", prefix %d", s->saved.id);
    if (s->flush.id > 0 && s->flush.is_running)
        scr_str_printf(&line, ", flush %d %%", percent_of(&s->flush));
    if (s->next > s->now) {
        scr_str_append(&line, ", next in ");
        add_time(&line, (double)(s->next - s->now));
    } else if (s->next > 0) {
        scr_str_append(&line, ", next is due");
    }
    if (is_on(s) && (s->halt_due != NULL || s->halt.checkpoints_left > 0))
        scr_str_append(&line, ", halts");
    if (s->notes.n > 0)
        scr_str_printf(&line, ", %zu note%s", s->notes.n,
                       scr_plural((int64_t)s->notes.n));
    scr_str_mask(&line);
    return scr_str_take(&line);
}
