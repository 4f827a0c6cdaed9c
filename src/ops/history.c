/* SPDX-License-Identifier: BSD-3-Clause */
/* The history of a prefix directory: events are taken one by one. */
#include "ops/history_impl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/str.h"

enum { JUMP_S = 60, SAME_LOSS_S = 600, DOWN_MAX = 1000 };

/* --- memory --- */

void scr_history_init(struct scr_history *h)
{
    *h = (struct scr_history){ 0 };
    scr_table_init(&h->texts, sizeof(struct scr_item));
    scr_table_init(&h->seats, sizeof(struct scr_hist_seat));
    scr_table_init(&h->jobs, sizeof(struct scr_hist_job));
    scr_table_init(&h->nodes, sizeof(struct scr_hist_node));
    scr_table_init(&h->ids, sizeof(struct scr_hist_id));
}

void scr_history_fini(struct scr_history *h)
{
    struct scr_table *tables[] = { &h->texts, &h->seats, &h->jobs, &h->nodes, &h->ids };
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        scr_table_fini(tables[i]);
    for (int i = 0; i < SCR_MOVE_LEVELS; i++)
        free(h->moves[i].v);
    for (int i = 0; i < SCR_COSTS; i++)
        free(h->costs[i].v);
    for (size_t i = 0; i < h->nadvices; i++)
        free(h->advice[i].text);
    free(h->run);
    free(h->dset);
    free(h->failure);
    free(h->phase);
    free(h->again);
    *h = (struct scr_history){ 0 };
}

void scr_hist_spoil(struct scr_history *h)
{
    h->texts.arena.lost = 1;
}

const char *scr_hist_text(struct scr_history *h, const char *text)
{
    const struct scr_item *item = text ? scr_table_add(&h->texts, text) : NULL;
    return item ? item->name : NULL;
}

int scr_hist_ok(const struct scr_history *h)
{
    return scr_table_ok(&h->texts) && scr_table_ok(&h->seats) &&
           scr_table_ok(&h->jobs) && scr_table_ok(&h->nodes) && scr_table_ok(&h->ids);
}

/* A new zeroed item at the end of the array that the pointer at `array` points to;
 * NULL: out of memory. */
static void *push(struct scr_history *h, void *array, size_t *n, size_t *room,
                  size_t size)
{
    void *old;
    memcpy(&old, array, sizeof old);
    void *moved = scr_insert(old, *n, n, room, size);
    if (moved == NULL) {
        scr_hist_spoil(h);
        return NULL;
    }
    memcpy(array, &moved, sizeof moved);
    return memset((char *)moved + (*n - 1) * size, 0, size);
}
#define PUSH(h, what, n, room) push(h, &(what), &(n), &(room), sizeof *(what))

static void cost_add(struct scr_history *h, enum scr_hist_cost which, double secs)
{
    struct scr_hist_costs *c = &h->costs[which];
    double *v = secs >= 0 ? PUSH(h, c->v, c->n, c->room) : NULL;
    if (v != NULL)
        *v = secs;
}

static void move_add(struct scr_history *h, enum scr_hist_level level,
                     struct scr_hist_move move)
{
    struct scr_hist_moves *m = &h->moves[level];
    struct scr_hist_move *new =
        move.secs > 0 && move.bytes > 0 ? PUSH(h, m->v, m->n, m->room) : NULL;
    if (new != NULL)
        *new = move;
}

struct scr_hist_failure *scr_hist_failure_add(struct scr_history *h, double at)
{
    struct scr_hist_failure *f = PUSH(h, h->failure, h->nfailures, h->failures_room);
    if (f != NULL)
        *f = (struct scr_hist_failure){ .at = at,
                                        .run = SCR_HIST_NONE,
                                        .next = SCR_HIST_NONE };
    return f;
}

/* --- runs and their clocks --- */

static struct scr_hist_job *job_of(struct scr_history *h, const char *jobid)
{
    return scr_table_add(&h->jobs, jobid ? jobid : "");
}

static struct scr_hist_seat *seat_of(struct scr_history *h, const struct scr_event *e)
{
    char name[512];
    const char *jobid = e->jobid ? e->jobid : "", *host = e->host ? e->host : "";
    (void)snprintf(name, sizeof name, "%.240s\n%.240s", jobid, host);
    struct scr_hist_seat *s = scr_table_add(&h->seats, name);
    if (s == NULL || s->jobid != NULL)
        return s;
    s->jobid = scr_hist_text(h, jobid);
    s->host = scr_hist_text(h, host);
    s->run = s->phase = s->failure = SCR_HIST_NONE;
    s->early = NAN;
    return s;
}

static struct scr_hist_run *run_of(struct scr_history *h, const struct scr_hist_seat *s)
{
    return s->run < 0 ? NULL : &h->run[s->run];
}

/* Advances the clock of the run that is open. */
static void touch(struct scr_history *h, struct scr_hist_seat *s, double at)
{
    struct scr_hist_run *r = run_of(h, s);
    double passed = at - s->last;
    h->doubts.jumps += passed < -1;
    passed = passed > 0 ? passed : 0;
    r->wall += passed;
    r->last = h->doubts.events;
    s->since += passed;
    s->last = at;
}

static void add_restart(struct scr_history *h, struct scr_hist_seat *s, double secs)
{
    h->run[s->run].secs[SCR_TIME_RESTART] += secs > 0 ? secs : 0;
    s->restarting += secs > 0 ? secs : 0;
}

/* Fetches and rebuilds that may have been of the next run are of the open one. */
static void settle(struct scr_history *h, struct scr_hist_seat *s)
{
    if (!isnan(s->early))
        add_restart(h, s, s->early_secs);
    s->early = NAN;
    s->early_secs = 0;
}

static void phase_begin(struct scr_history *h, struct scr_hist_seat *s)
{
    struct scr_hist_phase *p = NULL;
    if (s->phase < 0 && (p = PUSH(h, h->phase, h->nphases, h->phases_room)) != NULL) {
        p->run = s->run;
        s->phase = (int64_t)h->nphases - 1;
    }
    s->since = s->restarting = 0;
}

void scr_hist_phase_end(struct scr_history *h, struct scr_hist_seat *s, double secs)
{
    struct scr_hist_run *r = run_of(h, s);
    if (r == NULL || (s->phase < 0 && secs < 0))
        return;
    if (s->phase < 0) {
        phase_begin(h, s);
    } else if (secs >= 0) { /* it was measured by a clock that does not jump */
        h->doubts.jumps += s->since - secs > JUMP_S;
        r->wall = fmax(0, r->wall + secs - s->since);
    }
    secs = fmax(0, (secs < 0 ? s->since : secs) - s->restarting);
    if (s->phase >= 0)
        h->phase[s->phase].secs = secs;
    r->secs[SCR_TIME_KEPT] += secs;
    s->phase = SCR_HIST_NONE;
    s->has_computed = 1;
}

static void close_seat(struct scr_history *h, struct scr_hist_seat *s)
{
    scr_hist_phase_end(h, s, -1);
    s->run = SCR_HIST_NONE;
}

/* Times of computing that began before now, the open one left out. */
static int64_t phases_before(const struct scr_history *h, const struct scr_hist_seat *s)
{
    return s->phase >= 0 ? s->phase : (int64_t)h->nphases;
}

static void note_again(struct scr_history *h, const struct scr_hist_seat *s,
                       int64_t dset)
{
    struct scr_hist_again *a = PUSH(h, h->again, h->nagains, h->agains_room);
    if (a != NULL)
        *a = (struct scr_hist_again){ s->run, dset, phases_before(h, s) };
}

/* A run begins at its first event, or, with the length of SCR_Init, before. */
static struct scr_hist_run *run_begin(struct scr_history *h, struct scr_hist_seat *s,
                                      const struct scr_event *e, double init)
{
    struct scr_hist_job *job = job_of(h, e->jobid);
    struct scr_hist_run *r = PUSH(h, h->run, h->nruns, h->runs_room);
    if (r == NULL || job == NULL)
        return NULL;
    if (init < 0 && !isnan(s->early))
        init = fmax(0, e->at - s->early);
    init = fmax(0, init);
    *r = (struct scr_hist_run){ .jobid = s->jobid,
                                .host = s->host,
                                .begin = e->at - init,
                                .wall = init,
                                .init = init,
                                .restarted = SCR_HIST_NONE,
                                .failure = SCR_HIST_NONE,
                                .phases = (int64_t)h->nphases,
                                .number = -1,
                                .ranks = -1,
                                .nodes = -1,
                                .first = h->doubts.events,
                                .last = h->doubts.events };
    r->secs[SCR_TIME_RESTART] = init;
    if (job->seat != NULL && job->seat->run >= 0)
        close_seat(h, job->seat);
    job->seat = s;
    job->down = NULL;
    s->run = (int64_t)h->nruns - 1;
    s->early = NAN;
    s->early_secs = s->flushing = 0;
    s->last = e->at;
    s->has_computed = 0;
    if (s->failure >= 0)
        h->failure[s->failure].next = s->run;
    s->failure = SCR_HIST_NONE;
    note_again(h, s, SCR_HIST_NONE);
    phase_begin(h, s);
    return r;
}

/* --- datasets --- */

static struct scr_hist_dset *dset_new(struct scr_history *h, struct scr_hist_id *id,
                                      const struct scr_event *e, int64_t run)
{
    struct scr_hist_dset *d = PUSH(h, h->dset, h->ndsets, h->dsets_room);
    if (d == NULL)
        return NULL;
    *d = (struct scr_hist_dset){ .id = e->dset,
                                 .run = run,
                                 .at = e->at,
                                 .write = -1,
                                 .encode = -1,
                                 .flush = -1,
                                 .bytes = -1,
                                 .files = -1,
                                 .is_ckpt = 1 };
    id->dset = (int64_t)h->ndsets - 1;
    id->is_known = 1;
    return d;
}

static struct scr_hist_id *id_of(struct scr_history *h, int64_t dset)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%lld", (long long)dset);
    return dset < 0 ? NULL : scr_table_add(&h->ids, text);
}

/* The newest dataset of that number, with what e says of it; NULL: e names none. */
static struct scr_hist_dset *dset_of(struct scr_history *h, const struct scr_event *e)
{
    struct scr_hist_id *id = id_of(h, e->dset);
    if (id == NULL)
        return NULL;
    struct scr_hist_dset *d =
        id->is_known ? &h->dset[id->dset] : dset_new(h, id, e, SCR_HIST_NONE);
    if (d != NULL && e->name != NULL &&
        (d->name == NULL || strcmp(d->name, e->name) != 0))
        d->name = scr_hist_text(h, e->name);
    if (d != NULL && d->bytes < 0)
        d->bytes = e->bytes;
    if (d != NULL && d->files < 0)
        d->files = e->files;
    return d;
}

/* --- what each event means --- */

struct rule;
struct taken {
    struct scr_history *h;
    struct scr_hist_seat *s;
    const struct scr_event *e;
    const struct rule *rule;
};

struct rule {
    const char *event;
    enum {
        START,  /* ends what was open on its seat */
        EARLY,  /* may be of a SCR_Init whose RUN_START is to come */
        INSIDE, /* there is a run, also where its RUN_START is missing */
        DURING, /* of the run that is open, if one is */
        OUTSIDE /* commands and scripts write it: says nothing of a run's clock */
    } when;
    void (*take)(const struct taken *t);
    int arg;
};

static int ends_well(const struct taken *t)
{
    return t->rule->arg == SCR_HIST_DONE;
}

static void take_run_start(const struct taken *t)
{
    struct scr_history *h = t->h;
    const struct scr_event *e = t->e;
    if (scr_event_by(e) == SCR_BY_LOOP)
        return;
    close_seat(h, t->s);
    struct scr_hist_run *r = run_begin(h, t->s, e, e->secs);
    if (r == NULL)
        return;
    r->number = e->run;
    r->ranks = e->ranks;
    r->nodes = e->nodes;
    r->nodelist = scr_hist_text(h, e->nodelist);
    r->version = scr_hist_text(h, e->version);
    r->config = scr_hist_text(h, e->config);
    cost_add(h, SCR_COST_INIT, e->secs);
}

/* The run loop notes that a program has ended, which may be all there is of it. */
static void take_loop_end(const struct taken *t)
{
    struct scr_hist_job *job = job_of(t->h, t->e->jobid);
    struct scr_hist_seat *s = job ? job->seat : NULL;
    if (s == NULL || s->run < 0)
        return;
    touch(t->h, s, t->e->at);
    settle(t->h, s);
    t->h->run[s->run].is_end_noted = 1;
    close_seat(t->h, s);
}

static void end_run(const struct taken *t, struct scr_hist_run *r)
{
    touch(t->h, t->s, t->e->at);
    settle(t->h, t->s);
    close_seat(t->h, t->s);
    r->end = t->e->note != NULL ? SCR_RUN_HALTED : SCR_RUN_ENDED;
    if (t->e->secs >= 0)
        r->wall = r->init + t->e->secs;
}

static void take_run_end(const struct taken *t)
{
    struct scr_hist_run *r = run_of(t->h, t->s);
    if (scr_event_by(t->e) == SCR_BY_LOOP)
        take_loop_end(t);
    else if (r != NULL)
        end_run(t, r);
}

static void node_add(struct scr_history *h, const char *name, double at,
                     const char *why)
{
    struct scr_hist_node *node = scr_table_add(&h->nodes, name);
    if (node == NULL)
        return;
    /* The run loop and the library note the same loss. */
    node->n += node->n == 0 || fabs(at - node->last) > SAME_LOSS_S;
    node->last = at;
    node->why = why ? scr_hist_text(h, why) : node->why;
}

static void take_failure(const struct taken *t)
{
    struct scr_hist_job *job = job_of(t->h, t->e->jobid);
    close_seat(t->h, t->s);
    if (isnan(t->s->early))
        t->s->early = t->e->at;
    struct scr_hist_failure *f = scr_hist_failure_add(t->h, t->e->at);
    if (f == NULL || job == NULL)
        return;
    f->class = scr_hist_text(t->h, t->e->class);
    f->note = scr_hist_text(t->h, t->e->note);
    f->nodes = t->e->nodelist ? scr_hist_text(t->h, t->e->nodelist) : job->down;
    t->s->failure = (int64_t)t->h->nfailures - 1;
    struct scr_hostlist list = SCR_HOSTLIST_INIT;
    if (t->e->nodelist != NULL &&
        scr_hostlist_expand_front(t->e->nodelist, SCR_HOSTLIST_FRONT, &list, NULL) ==
            SCR_E_NOMEM)
        scr_hist_spoil(t->h);
    for (size_t i = 0; i < list.n; i++)
        node_add(t->h, list.name[i], t->e->at, t->e->class);
    scr_hostlist_free(&list);
}

static void take_node_fail(const struct taken *t)
{
    char name[256];
    const char *why;
    size_t len = scr_event_lost_node(t->e, &why);
    struct scr_hist_job *job = job_of(t->h, t->e->jobid);
    if (len == 0 || job == NULL)
        return;
    memcpy(name, t->e->note, len);
    name[len] = '\0';
    node_add(t->h, name, t->e->at, *why ? why : NULL);
    if (job->down != NULL && strlen(job->down) > DOWN_MAX) /* of no use to a reader */
        return;
    char *down =
        scr_asprintf("%s%s%s", job->down ? job->down : "", job->down ? "," : "", name);
    if (down == NULL)
        scr_hist_spoil(t->h);
    job->down = scr_hist_text(t->h, down);
    free(down);
}

static void take_compute_start(const struct taken *t)
{
    phase_begin(t->h, t->s);
}

static void take_compute_end(const struct taken *t)
{
    t->h->run[t->s->run].computed |= t->e->secs >= 0;
    scr_hist_phase_end(t->h, t->s, t->e->secs);
}

/* arg 1: a checkpoint */
static void take_dset_start(const struct taken *t)
{
    scr_hist_phase_end(t->h, t->s, -1);
    struct scr_hist_id *id = id_of(t->h, t->e->dset);
    struct scr_hist_dset *d = id ? dset_new(t->h, id, t->e, t->s->run) : NULL;
    t->s->flushing = 0;
    t->s->has_computed = 1;
    if (d == NULL)
        return;
    d->name = scr_hist_text(t->h, t->e->name);
    d->is_ckpt = t->rule->arg;
    d->written = SCR_HIST_BEGUN;
}

/* Before 4.0 the seconds of a dataset have those of its flush. */
static double write_secs(const struct taken *t)
{
    double secs = t->e->secs;
    if (secs >= 0 && t->h->run[t->s->run].version == NULL)
        secs = fmax(0, secs - t->s->flushing);
    return secs;
}

static void take_dset_end(const struct taken *t)
{
    struct scr_hist_run *r = run_of(t->h, t->s);
    struct scr_hist_dset *d = dset_of(t->h, t->e);
    int is_ckpt = t->rule->arg;
    int broken = t->e->note != NULL && t->e->bytes < 0;
    int is_bypass = t->e->to != NULL && strcmp(t->e->to, "prefix") == 0;
    double secs = write_secs(t);
    t->s->restarting +=
        fmax(0, secs); /* computing ended before, if its end is not known */
    scr_hist_phase_end(t->h, t->s, -1);
    r->secs[is_ckpt ? SCR_TIME_CHECKPOINT : SCR_TIME_OUTPUT] += fmax(0, secs);
    if (d != NULL) {
        d->is_ckpt = is_ckpt;
        d->is_bypass = is_bypass;
        d->run = t->s->run;
        d->write = secs;
        d->bytes = t->e->bytes >= 0 ? t->e->bytes : d->bytes;
        d->written = broken ? SCR_HIST_FAILED : SCR_HIST_DONE;
        d->note = broken ? scr_hist_text(t->h, t->e->note) : d->note;
        d->phases = phases_before(t->h, t->s);
        d->at = d->at > t->e->at || secs < 0 ? d->at : fmin(d->at, t->e->at - secs);
    }
    if (!broken) {
        *(is_ckpt ? &r->ckpts : &r->outputs) += 1;
        cost_add(t->h, is_ckpt ? SCR_COST_CHECKPOINT : SCR_COST_OUTPUT, secs);
    }
    if (!broken && d != NULL)
        move_add(t->h, is_bypass ? SCR_MOVE_FLUSH : SCR_MOVE_CACHE,
                 (struct scr_hist_move){ t->e->at, secs - fmax(0, d->encode), d->bytes,
                                         d->id });
    phase_begin(t->h, t->s);
}

static void take_encode(const struct taken *t)
{
    struct scr_hist_dset *d = dset_of(t->h, t->e);
    cost_add(t->h, SCR_COST_ENCODE, t->e->secs);
    move_add(t->h, SCR_MOVE_ENCODE,
             (struct scr_hist_move){ t->e->at, t->e->secs, t->e->bytes, t->e->dset });
    if (d == NULL)
        return;
    d->encode = t->e->secs;
    d->scheme = t->e->to ? scr_hist_text(t->h, t->e->to) : d->scheme;
}

static void note_flush(const struct taken *t, int is_async)
{
    struct scr_hist_dset *d = dset_of(t->h, t->e);
    enum scr_hist_state state = (enum scr_hist_state)t->rule->arg;
    if (d != NULL) {
        d->flushed = state;
        d->is_async = is_async;
        d->flush = state == SCR_HIST_DONE ? t->e->secs : -1;
        if (state == SCR_HIST_FAILED)
            d->note = scr_hist_text(t->h, t->e->note);
    }
    t->h->sums.flushes += state == SCR_HIST_DONE;
    t->h->sums.flushes_failed += state == SCR_HIST_FAILED;
    if (state != SCR_HIST_DONE)
        return;
    cost_add(t->h, is_async ? SCR_COST_ASYNC : SCR_COST_FLUSH, t->e->secs);
    move_add(t->h, SCR_MOVE_FLUSH,
             (struct scr_hist_move){ t->e->at, t->e->secs, t->e->bytes, t->e->dset });
}

static void take_flush(const struct taken *t)
{
    struct scr_hist_run *r = run_of(t->h, t->s);
    note_flush(t, 0);
    if (r == NULL || t->rule->arg == SCR_HIST_BEGUN)
        return;
    r->secs[SCR_TIME_FLUSH] += fmax(0, t->e->secs);
    t->s->flushing += fmax(0, t->e->secs);
    phase_begin(t->h, t->s);
}

static void take_async(const struct taken *t)
{
    note_flush(t, 1);
}

static void take_fetch(const struct taken *t)
{
    if (t->rule->arg == SCR_HIST_BEGUN)
        return;
    *(ends_well(t) ? &t->h->sums.fetches : &t->h->sums.fetches_failed) += 1;
    if (!ends_well(t))
        return;
    cost_add(t->h, SCR_COST_FETCH, t->e->secs);
    move_add(t->h, SCR_MOVE_FETCH,
             (struct scr_hist_move){ t->e->at, t->e->secs, t->e->bytes, t->e->dset });
    (void)dset_of(t->h, t->e);
}

static void take_rebuild(const struct taken *t)
{
    *(ends_well(t) ? &t->h->sums.rebuilds : &t->h->sums.rebuilds_failed) += 1;
    if (ends_well(t))
        cost_add(t->h, SCR_COST_REBUILD, t->e->secs);
}

static void take_restart(const struct taken *t)
{
    struct scr_hist_run *r = run_of(t->h, t->s);
    *(ends_well(t) ? &t->h->sums.restarts : &t->h->sums.restarts_failed) += 1;
    if (r != NULL)
        add_restart(t->h, t->s, t->e->secs);
    if (r == NULL || !ends_well(t))
        return;
    cost_add(t->h, SCR_COST_RESTART, t->e->secs);
    r->restarted = t->e->dset;
    r->from = scr_hist_text(t->h, t->e->from);
    const struct scr_hist_id *id = id_of(t->h, t->e->dset);
    int is_known =
        id != NULL && id->is_known && t->h->dset[id->dset].written == SCR_HIST_DONE;
    t->h->doubts.strangers += !is_known;
    struct scr_hist_dset *d = dset_of(t->h, t->e);
    if (d != NULL)
        d->restarts++;
    if (is_known)
        note_again(t->h, t->s, id->dset);
}

static void take_delete(const struct taken *t)
{
    const struct scr_hist_id *id = id_of(t->h, t->e->dset);
    if (t->e->from == NULL || id == NULL || !id->is_known)
        return;
    struct scr_hist_dset *d = &t->h->dset[id->dset];
    d->gone_cache |= strcmp(t->e->from, "cache") == 0;
    d->gone_prefix |= strcmp(t->e->from, "prefix") == 0;
}

static void take_halt(const struct taken *t)
{
    struct scr_hist_run *r = run_of(t->h, t->s);
    if (r != NULL)
        r->halt = scr_hist_text(t->h, t->e->note ? t->e->note : "halt");
}

static void take_interval(const struct taken *t)
{
    t->h->advised.secs = fmax(0, t->e->secs);
    t->h->advised.why = scr_hist_text(t->h, t->e->note);
}

static void take_nothing(const struct taken *t)
{
    (void)t;
}

static const struct rule rules[] = {
    { "COMPUTE_START", INSIDE, take_compute_start, 0 },
    { "COMPUTE_END", INSIDE, take_compute_end, 0 },
    { "CHECKPOINT_START", INSIDE, take_dset_start, 1 },
    { "ENCODE", INSIDE, take_encode, 0 },
    { "CHECKPOINT_END", INSIDE, take_dset_end, 1 },
    { "OUTPUT_START", INSIDE, take_dset_start, 0 },
    { "OUTPUT_END", INSIDE, take_dset_end, 0 },
    { "FLUSH_START", DURING, take_flush, SCR_HIST_BEGUN },
    { "FLUSH_SUCCESS", DURING, take_flush, SCR_HIST_DONE },
    { "FLUSH_FAIL", DURING, take_flush, SCR_HIST_FAILED },
    { "ASYNC_FLUSH_START", DURING, take_async, SCR_HIST_BEGUN },
    { "ASYNC_FLUSH_SUCCESS", DURING, take_async, SCR_HIST_DONE },
    { "ASYNC_FLUSH_FAIL", DURING, take_async, SCR_HIST_FAILED },
    { "DELETE", OUTSIDE, take_delete, 0 },
    { "RUN_START", START, take_run_start, 0 },
    { "RUN_END", START, take_run_end, 0 },
    { "FAILURE", START, take_failure, 0 },
    { "FETCH_START", EARLY, take_fetch, SCR_HIST_BEGUN },
    { "FETCH_SUCCESS", EARLY, take_fetch, SCR_HIST_DONE },
    { "FETCH_FAIL", EARLY, take_fetch, SCR_HIST_FAILED },
    { "REBUILD_SUCCESS", EARLY, take_rebuild, SCR_HIST_DONE },
    { "REBUILD_FAIL", EARLY, take_rebuild, SCR_HIST_FAILED },
    { "RESTART_SUCCESS", DURING, take_restart, SCR_HIST_DONE },
    { "RESTART_FAIL", DURING, take_restart, SCR_HIST_FAILED },
    { "HALT", DURING, take_halt, 0 },
    { "INTERVAL", DURING, take_interval, 0 },
    { "NODE_FAIL", OUTSIDE, take_node_fail, 0 },
    { "START", OUTSIDE, take_nothing, 0 },
    { "SCAVENGE_START", OUTSIDE, take_nothing, 0 },
    { "SCAVENGE_END", OUTSIDE, take_nothing, 0 },
};

static const struct rule *rule_of(const char *event)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (strcmp(rules[i].event, event) == 0)
            return &rules[i];
    return NULL;
}

/* A fetch or rebuild of a run that has computed may be of the SCR_Init of the next. */
static int is_early(const struct taken *t)
{
    return t->rule->when == EARLY && (t->s->run < 0 || t->s->has_computed);
}

/* The first event of a run whose RUN_START is not in the log; what took secs was part
 * of it. */
static void run_begin_late(const struct taken *t)
{
    double before = fmax(0, t->e->secs);
    struct scr_hist_run *r = run_begin(t->h, t->s, t->e, -1);
    t->h->doubts.headless++;
    if (r == NULL)
        return;
    r->begin -= before;
    r->wall += before;
}

static void advance(const struct taken *t)
{
    struct scr_hist_seat *s = t->s;
    if (is_early(t)) {
        s->early = isnan(s->early) ? t->e->at : s->early;
        s->early_secs += fmax(0, t->e->secs);
        return;
    }
    if (t->rule->when == START || t->rule->when == OUTSIDE)
        return;
    if (s->run < 0 && t->rule->when == INSIDE)
        run_begin_late(t);
    if (s->run < 0)
        return;
    touch(t->h, s, t->e->at);
    settle(t->h, s);
    if (t->rule->when == EARLY)
        add_restart(t->h, s, t->e->secs);
}

int scr_history_add(struct scr_history *h, const struct scr_event *e,
                    struct scr_err *err)
{
    struct taken t = { h, NULL, e, rule_of(e->event) };
    h->doubts.events++;
    h->doubts.unknown += t.rule == NULL;
    if (t.rule == NULL || !isfinite(e->at))
        return SCR_OK;
    t.s = seat_of(h, e);
    TRY(t.s ? SCR_OK : scr_no_memory(err));
    advance(&t);
    if (t.rule->when != INSIDE || t.s->run >= 0) /* < 0: out of memory */
        t.rule->take(&t);
    return scr_hist_ok(h) ? SCR_OK : scr_no_memory(err);
}
