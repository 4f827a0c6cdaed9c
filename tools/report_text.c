/* SPDX-License-Identifier: BSD-3-Clause */
/* The history as text for a terminal, and the sentences on the log. */
#include "report.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"

/* --- what the log leaves open --- */

static const struct {
    size_t at; /* in struct scr_hist_doubts */
    const char *what, *so;
} notes[] = {
#define NOTE(member, what, so)                                                         \
    {                                                                                  \
        offsetof(struct scr_hist_doubts, member), what, so                             \
    }
    NOTE(damaged, "damaged lines", "they were passed over"),
    NOTE(unknown, "events of names that this version does not know",
         "they were passed over"),
    NOTE(jumps, "jumps of a clock",
         "bars of the timeline may be misplaced; the log has most lengths by another "
         "clock"),
    NOTE(headless, "runs without RUN_START", "they begin with their first event"),
    NOTE(old, "runs that do not say how long they computed",
         "time that nothing else claims counts as computing"),
    NOTE(strangers, "restarts from datasets that the log does not have",
         "what they lost is not known"),
    NOTE(unseen, "runs that died without a note of when",
         "what they computed after their last event counts as idle"),
    NOTE(overlaps, "runs that began while one of another job was open",
         "their times are added up"),
#undef NOTE
};

int scr_report_note(const struct scr_history *h, size_t *i, char *buf, size_t n)
{
    for (; *i < sizeof notes / sizeof notes[0]; ++*i) {
        uint64_t count;
        memcpy(&count, (const char *)&h->doubts + notes[*i].at, sizeof count);
        if (count == 0)
            continue;
        (void)snprintf(buf, n, "%s: %llu (%s)", notes[*i].what,
                       (unsigned long long)count, notes[*i].so);
        ++*i;
        return 1;
    }
    return 0;
}

/* --- parts --- */

struct buf {
    char text[32];
};
#define DURATION(secs) scr_format_duration(secs, (struct buf){ 0 }.text, 32)
#define STAMP(at)      scr_format_stamp((time_t)(at), (struct buf){ 0 }.text, 32)
#define SIZE(bytes)    scr_format_size((uint64_t)(bytes), (struct buf){ 0 }.text, 32)

static void print_head(struct scr_tool *t, const struct report *r)
{
    const struct scr_hist_sums *s = &r->h->sums;
    const struct scr_hist_plan *p = &r->h->plan;
    scr_tool_print_line(t, "%s: runs %zu, datasets %zu, failures %zu", r->source,
                        r->h->nruns, r->h->ndsets, r->h->nfailures);
    if (r->h->nruns == 0)
        return;
    scr_tool_print(t, "from %s to %s\n\n", STAMP(s->begin), STAMP(s->end));
    scr_tool_print(
        t, "efficiency %.1f %%: computing that was kept, of %s that runs took\n",
        100 * s->efficiency, DURATION(s->wall));
    if (p->is_known)
        scr_tool_print(t,
                       "optimum    %.1f %%: expected of a checkpoint every %s "
                       "(it was every %s: %.1f %%)\n",
                       100 * p->best_efficiency, DURATION(p->best),
                       DURATION(p->interval), 100 * p->efficiency);
}

static void print_times(struct scr_tool *t, const struct report *r)
{
    static const char *const names[SCR_TIMES] = {
        [SCR_TIME_KEPT] = "computing, kept", [SCR_TIME_CHECKPOINT] = "checkpoints",
        [SCR_TIME_OUTPUT] = "output",        [SCR_TIME_FLUSH] = "waiting for flushes",
        [SCR_TIME_RESTART] = "restarts",     [SCR_TIME_LOST] = "computing, lost",
        [SCR_TIME_OTHER] = "other",          [SCR_TIME_IDLE] = "idle between runs"
    };
    const struct scr_hist_sums *s = &r->h->sums;
    scr_tool_print(t, "\nwhere the time of runs went\n");
    for (int i = 0; i < SCR_TIME_IDLE; i++)
        scr_tool_print(t, "  %-20s %10s %6.1f %%\n", names[i], DURATION(s->secs[i]),
                       s->wall > 0 ? 100 * s->secs[i] / s->wall : 0);
    scr_tool_print(t, "  %-20s %10s\n", names[SCR_TIME_IDLE],
                   DURATION(s->secs[SCR_TIME_IDLE]));
}

static void print_levels(struct scr_tool *t, const struct report *r)
{
    scr_tool_print(t, "\n  %-12s %8s %12s %14s\n", "bandwidth", "number", "bytes",
                   "median");
    for (int i = 0; i < SCR_MOVE_LEVELS; i++) {
        const struct scr_hist_moves *m = &r->h->moves[i];
        if (m->n > 0)
            scr_tool_print(t, "  %-12s %8zu %12s %12s/s\n", scr_report_levels[i], m->n,
                           SIZE(m->bytes), SIZE(m->median));
    }
    scr_tool_print(t, "\n  %-12s %8s %10s %10s %10s %10s\n", "cost", "number", "median",
                   "mean", "p90", "max");
    for (int i = 0; i < SCR_COSTS; i++) {
        const struct scr_hist_costs *c = &r->h->costs[i];
        if (c->n > 0)
            scr_tool_print(t, "  %-12s %8zu %10s %10s %10s %10s\n", scr_report_costs[i],
                           c->n, DURATION(scr_hist_quantile(c, 0.5)), DURATION(c->mean),
                           DURATION(scr_hist_quantile(c, 0.9)),
                           DURATION(scr_hist_quantile(c, 1)));
    }
}

static void print_failures(struct scr_tool *t, const struct report *r)
{
    const struct scr_history *h = r->h;
    if (h->nfailures > 0)
        scr_tool_print(t, "\nfailures\n");
    for (size_t i = 0; i < h->nfailures; i++) {
        const struct scr_hist_failure *f = &h->failure[i];
        scr_tool_print_line(t, "  %s %-8s %s lost%s%s%s%s", STAMP(f->at),
                            f->class ? f->class : "?", DURATION(f->lost),
                            f->nodes ? ", nodes " : "", f->nodes ? f->nodes : "",
                            f->note ? ": " : "", f->note ? f->note : "");
    }
}

static void print_advice(struct scr_tool *t, const struct report *r)
{
    const struct scr_history *h = r->h;
    char note[256];
    if (h->nadvices > 0)
        scr_tool_print(t, "\nadvice\n");
    for (size_t i = 0; i < h->nadvices; i++)
        scr_tool_print_line(t, "  %s", h->advice[i].text);
    scr_tool_print(t, "\nlog\n  events: %llu\n", (unsigned long long)h->doubts.events);
    if (h->nruns > 0 && h->run[h->nruns - 1].config != NULL &&
        h->run[h->nruns - 1].config[0] != '\0')
        scr_tool_print_line(t, "  configuration of the newest run: %s",
                            h->run[h->nruns - 1].config);
    for (size_t i = 0; scr_report_note(h, &i, note, sizeof note);)
        scr_tool_print(t, "  %s\n", note);
}

void scr_report_text(struct scr_tool *t, const struct report *r)
{
    print_head(t, r);
    if (r->h->nruns > 0) {
        print_times(t, r);
        print_levels(t, r);
        print_failures(t, r);
    }
    print_advice(t, r);
}
