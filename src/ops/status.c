/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of the job of a prefix directory. */
#include "ops/status.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/lock.h"
#include "base/str.h"
#include "red/setdesc.h"
#include "red/survey.h"
#include "store/arrival.h"

/* Where locks cannot be looked at: a run that was seen longer ago is over. */
enum { SILENT_S = 1800, USEC = 1000000 };

static const char *const state_names[SCR_STATUS_STATES] = {
    [SCR_STATUS_NONE] = "none",         [SCR_STATUS_RUNNING] = "running",
    [SCR_STATUS_STARTING] = "starting", [SCR_STATUS_HALTED] = "halted",
    [SCR_STATUS_ENDED] = "ended",       [SCR_STATUS_DIED] = "died",
};

const char *scr_status_state_name(enum scr_status_state state)
{
    return state_names[state];
}

void scr_status_note(struct scr_status *s, const char *fmt, ...)
{
    struct scr_str text = SCR_STR_INIT;
    va_list ap;
    va_start(ap, fmt);
    scr_str_vprintf(&text, fmt, ap);
    va_end(ap);
    scr_str_mask(&text);
    char *line = scr_str_take(&text);
    scr_strv_add(&s->notes, line ? line : "");
    s->notes.bad |= line == NULL;
    free(line);
}

/* One look at everything: the result, and the sources it is made from. */
struct look {
    const struct scr_status_ask *q;
    struct scr_env env; /* without a log: what is wrong becomes a note */
    struct scr_status *s;
    struct scr_index index;
    struct scr_incaches cached;
    struct scr_autopilot pilot;
    struct scr_open_run open; /* by autopilot.scr */
    char *open_job;
    char *reason; /* by halt.scr, of any job */
};

/* A file that cannot be read is a note. */
static int note(struct look *l, int rc, const struct scr_err *why, struct scr_err *err)
{
    if (rc == SCR_E_NOMEM)
        return scr_no_memory(err);
    if (rc != SCR_OK && rc != SCR_E_NOENT)
        scr_status_note(l->s, "%s", why->text);
    return SCR_OK;
}

static int keep(char **to, const char *text, struct scr_err *err)
{
    free(*to);
    *to = scr_strdup(text);
    return text == NULL || *to != NULL ? SCR_OK : scr_no_memory(err);
}

static void see(struct scr_status *s, int64_t when)
{
    if (when > s->seen && when <= s->now)
        s->seen = when;
}

/* --- state files --- */

/* A damaged index is read from the directories of the datasets. */
static int read_index(struct look *l, struct scr_err *err)
{
    const struct scr_prefix *p = l->q->prefix;
    struct scr_err why = SCR_ERR_INIT;
    int n, rc = scr_prefix_index_peek(&l->env, p, &l->index, &why);
    TRY(note(l, rc, &why, err));
    if (rc == SCR_E_CORRUPT) {
        scr_index_fini(&l->index);
        scr_err_clear(&why);
        rc = scr_prefix_index_look(&l->env, p, &l->index, &why);
        TRY(note(l, rc, &why, err));
    }
    scr_err_clear(&why);
    return note(l, scr_arrivals_look(&l->env, p, &l->index, NULL, &n, &why), &why, err);
}

static int read_log(struct look *l, struct scr_err *err)
{
    struct scr_status *s = l->s;
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_runlog_read(&l->env, l->q->prefix, &s->log, &why);
    TRY(note(l, rc, &why, err));
    if (s->log.damaged > 0)
        scr_status_note(s, "%s/log: %" PRIu64 " damaged line%s passed over",
                        l->q->prefix->scr, s->log.damaged,
                        s->log.damaged == 1 ? "" : "s");
    s->has_log = s->log.events > 0;
    see(s, (int64_t)s->log.seen);
    return SCR_OK;
}

static int read_flush_file(struct look *l, struct scr_err *err)
{
    const struct scr_prefix *p = l->q->prefix;
    struct scr_err why = SCR_ERR_INIT;
    struct stat st;
    char *path = scr_prefix_file(p, "flush.scr");
    TRY(path ? SCR_OK : scr_no_memory(err));
    if (scr_file_stat(l->env.sys, path, &st, NULL) == SCR_OK)
        see(l->s, (int64_t)st.st_mtime);
    free(path);
    int rc = scr_incaches_read(&l->env, p, &l->index, &l->cached, &why);
    TRY(note(l, rc, &why, err));
    if (scr_incaches_set_nodes(&l->cached, l->s->log.job, l->s->log.nodelist) != SCR_OK)
        return scr_no_memory(err);
    return SCR_OK;
}

/* Reads a state file whose decoder names no path. */
static int read_state(struct look *l, const char *name, scr_hash *h,
                      struct scr_err *why)
{
    return h ? scr_prefix_state_read(&l->env, l->q->prefix, name, h, why)
             : scr_no_memory(why);
}

static int note_state(struct look *l, const char *name, int rc,
                      const struct scr_err *why, struct scr_err *err)
{
    struct scr_err whole = *why;
    if (strstr(whole.text, l->q->prefix->scr) == NULL)
        scr_err_prefix(&whole, "%s/%s", l->q->prefix->scr, name);
    return note(l, rc, &whole, err);
}

static int read_pilot(struct look *l, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    scr_hash *h = scr_hash_new();
    int rc = read_state(l, SCR_AUTOPILOT_FILE, h, &why);
    if (rc == SCR_OK)
        rc = scr_autopilot_get(h, &l->pilot, &why);
    if (rc == SCR_OK)
        scr_autopilot_newest(h, &l->open);
    if (rc == SCR_OK && keep(&l->open_job, l->open.job_id, &why) != SCR_OK)
        rc = SCR_E_NOMEM;
    l->open.job_id = l->open_job;
    scr_hash_delete(h);
    see(l->s, l->open.seen);
    return note_state(l, SCR_AUTOPILOT_FILE, rc, &why, err);
}

static int read_nodes(struct look *l, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    scr_hash *h = scr_hash_new();
    int nodes = 0, rc = read_state(l, "nodes.scr", h, &why);
    if (rc == SCR_OK)
        rc = scr_nodes_get(h, &nodes, &why);
    scr_hash_delete(h);
    l->s->nodes = nodes;
    return note_state(l, "nodes.scr", rc, &why, err);
}

static int read_halt(struct look *l, struct scr_err *err)
{
    struct scr_status *s = l->s;
    struct scr_err why = SCR_ERR_INIT;
    scr_hash *h = scr_hash_new();
    int rc = read_state(l, "halt.scr", h, &why);
    if (rc == SCR_OK && (rc = scr_halt_get(h, &s->halt, &why)) == SCR_OK)
        rc = keep(&l->reason, s->halt.reason, &why);
    if (rc == SCR_OK && !scr_halt_is_of_another(h, s->job ? s->job : ""))
        rc = keep(&s->halt_reason, l->reason, &why);
    if (rc != SCR_OK)
        (void)scr_halt_get(NULL, &s->halt, NULL);
    s->halt.reason = s->halt_reason;
    scr_hash_delete(h);
    return note_state(l, "halt.scr", rc, &why, err);
}

/* --- whether it runs --- */

/* 1: a process holds the lock of this job; -1: locks cannot be looked at. */
static int holds_lock(struct look *l, const char *path, const char *job,
                      struct scr_lock_holder *who)
{
    if (job == NULL || *job == '\0')
        return 0;
    int rc = scr_lock_look_key(l->env.sys, path, scr_str_key(job), who, NULL);
    return rc != SCR_OK ? -1 : who->held;
}

/* The job that runs, by its lock: that of the newest run, or one that the log does not
 * have. */
static int find_holder(struct look *l, int *held, struct scr_lock_holder *who,
                       struct scr_err *err)
{
    const struct scr_incache *newest = scr_incaches_newest(&l->cached);
    const char *const jobs[] = { l->s->log.job, l->open.job_id,
                                 newest ? newest->job : NULL,
                                 l->q->prm ? l->q->prm->job_id : NULL };
    char *path = scr_prefix_file(l->q->prefix, SCR_RUNS_LOCK);
    int rc = path ? SCR_OK : scr_no_memory(err);
    *held = 0;
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs && rc == SCR_OK; i++) {
        int is_ours = i + 1 == sizeof jobs / sizeof *jobs; /* it may have no run */
        *held = holds_lock(l, path, jobs[i], who);
        if (*held == 1 || (l->s->job == NULL && !is_ours))
            rc = keep(&l->s->job, jobs[i], err);
        if (*held != 0)
            break;
    }
    free(path);
    return rc;
}

/* Without an event log. */
static enum scr_status_state state_by_files(const struct look *l)
{
    if (l->open.job_id != NULL)
        return SCR_STATUS_DIED;
    if (l->reason != NULL)
        return strcmp(l->reason, SCR_HALT_FINALIZED) == 0 ? SCR_STATUS_ENDED
                                                          : SCR_STATUS_HALTED;
    return l->index.n > 0 || l->cached.n > 0 || l->s->nodes > 0 ? SCR_STATUS_ENDED
                                                                : SCR_STATUS_NONE;
}

static enum scr_status_state state_of(const struct look *l, int held)
{
    const struct scr_status *s = l->s;
    int is_open = s->log.runs > 0 ? s->log.ended <= 0 : l->open.job_id != NULL;
    if (held > 0 || (held < 0 && is_open && s->now - s->seen < SILENT_S))
        return SCR_STATUS_RUNNING;
    if (scr_prefix_lock_is_held(&l->env, l->q->prefix, SCR_RUN_LOCK) > 0)
        return SCR_STATUS_STARTING;
    if (s->log.runs == 0)
        return state_by_files(l);
    if (is_open)
        return SCR_STATUS_DIED;
    return s->log.halt != NULL ? SCR_STATUS_HALTED : SCR_STATUS_ENDED;
}

static const char *reason_of(const struct look *l)
{
    const struct scr_runlog *log = &l->s->log;
    switch (l->s->state) {
    case SCR_STATUS_HALTED:
        return log->halt && strcmp(log->halt, "halt") != 0 ? log->halt : l->reason;
    case SCR_STATUS_ENDED:
        return log->ended > 0 ? "SCR_Finalize" : l->reason;
    case SCR_STATUS_DIED:
        return log->exit;
    default:
        return NULL;
    }
}

static int find_state(struct look *l, struct scr_err *err)
{
    struct scr_status *s = l->s;
    struct scr_lock_holder who = { 0 };
    int held;
    TRY(find_holder(l, &held, &who, err));
    TRY(read_halt(l, err));
    s->state = state_of(l, held);
    int is_newest = s->log.job != NULL && s->job != NULL &&
                    strcmp(s->log.job, s->job) == 0 &&
                    !(s->state == SCR_STATUS_RUNNING && s->log.ended > 0);
    if (is_newest) {
        s->began = (int64_t)s->log.began;
        s->ended = (int64_t)s->log.ended;
        s->nodes = s->log.nodes > 0 ? s->log.nodes : s->nodes;
    } else if (held > 0) {
        s->began = who.beat.tv_sec;
    }
    if (held > 0)
        TRY(keep(&s->process, who.note, err));
    return keep(&s->why, reason_of(l), err);
}

/* --- datasets --- */

static int set_dataset(struct scr_status_dataset *to, const struct scr_dataset *d,
                       struct scr_err *err)
{
    to->id = d->id;
    to->size = d->size;
    to->files = d->files;
    to->created = d->created / USEC;
    to->is_ckpt = d->is_ckpt;
    to->is_output = d->is_output;
    return keep(&to->name, d->name, err);
}

/* The newest checkpoint that can be read, else the newest complete dataset. */
static int find_saved(struct look *l, struct scr_err *err)
{
    struct scr_index_entry e;
    int id = scr_index_newest(&l->index);
    for (size_t i = l->index.n; i-- > 0 && id < 0;)
        if (scr_index_is_good(&l->index, l->index.of[i].id))
            id = l->index.of[i].id;
    if (id < 0 || scr_index_get(&l->index, id, &e, NULL) != SCR_OK)
        return SCR_OK;
    return set_dataset(&l->s->saved, &e.dset, err);
}

static int lost_members(const struct scr_survey_set *set)
{
    int n = 0;
    for (int i = 0; i < set->n; i++)
        n += set->red[i] == NULL;
    return n;
}

/* Members of a set are on different nodes: so many nodes are missing at least. */
static int worst_set(const struct scr_survey_dataset *d)
{
    int worst = 0;
    for (SCR_EACH(const struct scr_survey_set, set, &d->sets))
        worst = lost_members(set) > worst ? lost_members(set) : worst;
    return worst;
}

/* All nodes are on this host: what is not named here is lost, not elsewhere. */
static int is_of_vnodes(const struct scr_survey_dataset *d)
{
    const char *dir = NULL;
    for (SCR_EACH(const struct scr_survey_set, set, &d->sets))
        for (int i = 0; i < set->n && dir == NULL; i++)
            dir = set->dir[i];
    return dir != NULL && strstr(dir, "/vnode.") != NULL;
}

/* By the filemap; of the losses that it survives, those of the set that has lost most
 * are past. Those of real nodes cannot be seen from here. */
static void measure_sets(struct scr_status_cache *c, const struct scr_survey *survey,
                         const struct scr_survey_dataset *d)
{
    struct scr_setdesc desc;
    const struct scr_entry *e = scr_filemap_first(survey->map, d->id);
    int past = worst_set(d), is_elsewhere = past > 0 && !is_of_vnodes(d);
    c->is_mendable &= !is_elsewhere;
    c->missing = c->is_mendable ? past : 0;
    if (c->is_mendable && past == 0)
        past = 1; /* files alone are lost */
    scr_setdesc_get(e ? e->desc : NULL, &desc);
    c->has_scheme = desc.failures >= 0;
    c->scheme = desc.scheme;
    c->survives = desc.failures < 0 || !c->is_seen || is_elsewhere ? -1
                  : desc.failures > past ? desc.failures - past
                                         : 0;
}

/* A dataset by one of its copies in the caches in reach. */
static int look_at_copy(const struct scr_survey *survey, int id,
                        struct scr_status_cache *c, struct scr_err *err)
{
    struct scr_survey_dataset d;
    struct scr_err why = SCR_ERR_INIT;
    enum scr_survey_state state = SCR_SURVEY_PARTIAL;
    c->is_seen = c->is_lost = c->is_mendable = c->missing = 0;
    int rc = scr_survey_dataset(survey, id, &d, &why);
    if (rc == SCR_E_NOMEM)
        return scr_no_memory(err);
    if (rc != SCR_OK) /* another node has it, or it contradicts itself */
        return SCR_OK;
    rc = scr_survey_judge(survey, &d, 0, &state, &why);
    c->is_seen = state <= SCR_SURVEY_MENDABLE;
    c->is_lost = state == SCR_SURVEY_LOST;
    c->is_mendable = state == SCR_SURVEY_MENDABLE;
    measure_sets(c, survey, &d);
    scr_survey_dataset_fini(&d);
    return rc == SCR_E_NOMEM ? scr_no_memory(err) : SCR_OK;
}

static int is_better(const struct scr_status_cache *a, const struct scr_status_cache *b)
{
    int of_a = a->is_seen - a->is_lost, of_b = b->is_seen - b->is_lost;
    return of_a != of_b ? of_a > of_b : a->is_mendable < b->is_mendable;
}

/* Of several copies by the best, as scr why does. */
static int look_into(const struct scr_survey *survey, int id,
                     struct scr_status_cache *c, struct scr_err *err)
{
    TRY(look_at_copy(survey, id, c, err));
    while ((survey = scr_survey_copy(survey->next, id)) != NULL) {
        struct scr_status_cache other = *c;
        TRY(look_at_copy(survey, id, &other, err));
        if (is_better(&other, c))
            *c = other;
    }
    return SCR_OK;
}

/* A restart here cannot find it, one elsewhere may. */
static int note_away(struct look *l, const struct scr_incache *away,
                     struct scr_err *err)
{
    char *where = scr_incache_text(away);
    TRY(where ? SCR_OK : scr_no_memory(err));
    scr_status_note(l->s,
                    "dataset %d (%s) is %s, by flush.scr, and not found in the caches "
                    "in reach: a restart that finds these caches takes it",
                    away->id, away->name, where);
    free(where);
    return SCR_OK;
}

/* The newest checkpoint that the caches in reach do not show to be lost; if there is
 * none the newest checkpoint, else dataset. A restart here cannot take a checkpoint
 * that they have nothing of: an older one that they have all of comes first. survey
 * NULL: no cache is in reach. */
static int choose_cached(struct look *l, const struct scr_survey *survey,
                         const struct scr_incache **best, struct scr_err *err)
{
    struct scr_status_cache *c = &l->s->cache, found = *c, blank = *c;
    const struct scr_incache *away = NULL;
    for (size_t i = 0; i < l->cached.n; i++) {
        const struct scr_incache *at = &l->cached.of[i];
        if (!at->is_ckpt)
            continue;
        if (survey != NULL && scr_survey_copy(survey, at->id) == NULL) {
            away = away ? away : at;
            continue;
        }
        if (survey != NULL)
            TRY(look_into(survey, at->id, &found, err));
        if (*best == NULL || !found.is_lost) {
            *best = at;
            *c = found;
        }
        if (!found.is_lost)
            break;
    }
    if (away != NULL && c->is_seen)
        return away->id > (*best)->id ? note_away(l, away, err) : SCR_OK;
    if (away != NULL && (*best == NULL || c->is_lost || away->id > (*best)->id)) {
        *best = away;
        *c = blank;
        c->is_away = 1;
    }
    if (*best == NULL)
        *best = scr_incaches_newest(&l->cached);
    if (*best != NULL && !c->in_reach)
        c->is_away = scr_incache_is_here(*best);
    return SCR_OK;
}

static void count_unsaved(struct look *l)
{
    for (size_t i = 0; i < l->cached.n; i++) {
        l->s->cache.unsaved += l->cached.of[i].is_unsaved;
        l->s->cache.unsaved_outs +=
            l->cached.of[i].is_unsaved && l->cached.of[i].is_output;
    }
}

/* Without a look into all of it: by the event log, less the nodes lost since. */
static void count_losses(struct look *l)
{
    struct scr_status_cache *c = &l->s->cache;
    const struct scr_runlog *log = &l->s->log;
    if (!c->has_scheme && log->encoded == c->d.id && c->d.id > 0) {
        c->has_scheme = 1;
        c->scheme = log->scheme;
    }
    if (!c->has_scheme || c->survives >= 0 || c->is_lost)
        return;
    int most = scr_runlog_survives(log, c->scheme);
    size_t lost = log->lost_since;
    c->survives = lost < (size_t)most ? most - (int)lost : 0;
}

static int take_cached(struct look *l, const struct scr_incache *from,
                       struct scr_err *err)
{
    struct scr_status_cache *c = &l->s->cache;
    c->d = (struct scr_status_dataset){ .id = from->id,
                                        .size = from->size,
                                        .files = from->files,
                                        .created = from->created,
                                        .is_ckpt = from->is_ckpt,
                                        .is_output = from->is_output };
    TRY(keep(&c->d.name, from->name, err));
    TRY(keep(&c->job, from->job, err));
    return keep(&c->nodes, from->nodes, err);
}

static int find_cached(struct look *l, struct scr_err *err)
{
    struct scr_survey survey = { 0 };
    struct scr_err why = SCR_ERR_INIT;
    const struct scr_incache *best = NULL;
    const struct scr_reach *reach = l->q->reach;
    int rc, in_reach = reach->n + reach->nshared > 0, has_survey = in_reach;
    l->s->cache.survives = -1;
    l->s->cache.in_reach = in_reach;
    if (has_survey) {
        rc = scr_survey_reach(&survey, &l->env, reach, &why);
        has_survey = rc == SCR_OK;
        TRY_OUT(note(l, rc, &why, err));
    }
    if (has_survey)
        TRY_OUT(scr_incaches_add_found(&l->cached, &survey, &l->index, err));
    count_unsaved(l);
    TRY_OUT(choose_cached(l, has_survey ? &survey : NULL, &best, err));
    if (best != NULL)
        TRY_OUT(take_cached(l, best, err));
    count_losses(l);
out:
    if (in_reach)
        scr_survey_fini(&survey);
    return rc;
}

static void find_restart(struct scr_status *s)
{
    const struct scr_status_dataset *cached = &s->cache.d;
    if (s->saved.id > 0 && s->saved.is_ckpt)
        s->restart = &s->saved;
    if (cached->id > 0 && cached->is_ckpt && !s->cache.is_lost &&
        (s->restart == NULL || cached->id >= s->restart->id))
        s->restart = cached;
}

static int find_flush(struct look *l, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_flush_progress_find(&l->env, l->q->prefix, &l->index,
                                     (double)l->s->now, &l->s->flush, &why);
    return note(l, rc, &why, err);
}

/* --- when to checkpoint --- */

static int advise(struct look *l, struct scr_err *err)
{
    struct scr_status *s = l->s;
    const struct scr_params *prm = l->q->prm;
    struct scr_advice advice;
    if (prm == NULL || l->pilot.cost.n == 0 || prm->checkpoint_seconds > 0 ||
        prm->checkpoint_interval > 0)
        return SCR_OK;
    int is_direct = prm->cache_bypass || prm->cache_size == 0;
    int is_single =
        s->log.encoded > 0 && scr_runlog_survives(&s->log, s->log.scheme) == 0;
    const struct scr_autopilot_job job = { .nodes = s->nodes > 0 ? (int)s->nodes : 1,
                                           .mtbf = prm->mtbf,
                                           .flush_every = is_direct ? 1 : prm->flush,
                                           .is_async = prm->flush_async,
                                           .is_single = is_single,
                                           .most = prm->checkpoint_overhead };
    scr_autopilot_advise(&l->pilot, &job, &advice);
    s->interval = advice.interval;
    s->advice = scr_advice_text(&advice, &l->pilot);
    return s->advice ? SCR_OK : scr_no_memory(err);
}

/* The library's own advice comes first: it knows what it runs with. */
static int find_advice(struct look *l, struct scr_err *err)
{
    struct scr_status *s = l->s;
    int64_t last = s->began;
    if (s->log.interval > 0 && s->log.advice != NULL) {
        s->interval = s->log.interval;
        TRY(keep(&s->advice, s->log.advice, err));
    } else {
        TRY(advise(l, err));
    }
    const int64_t times[] = { (int64_t)s->log.ckpt_ended, s->cache.d.created,
                              s->saved.created };
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        last = times[i] > last ? times[i] : last;
    if (s->interval > 0 && last > 0 && s->state == SCR_STATUS_RUNNING)
        s->next = last + (int64_t)s->interval;
    return SCR_OK;
}

/* --- all of it --- */

int scr_status_set_end(struct scr_status *s, const struct scr_params *prm, int64_t end,
                       struct scr_err *err)
{
    struct scr_halt h = s->halt;
    char *why = NULL;
    if (end > 0)
        s->end = end;
    scr_halt_add_job(&h, prm ? (int64_t)prm->halt_seconds : 0, s->end);
    if (s->state == SCR_STATUS_RUNNING && scr_halt_waits(&h))
        h.reason = NULL; /* it continues up to its next checkpoint */
    const char *is_due = scr_halt_due(&h, s->now, &why);
    free(s->halt_due);
    s->halt_due = why;
    return is_due != NULL && why == NULL ? scr_no_memory(err) : SCR_OK;
}

/* Each source, the ones that others need first. */
static int gather(struct look *l, struct scr_err *err)
{
    struct scr_status *s = l->s;
    TRY(read_index(l, err));
    TRY(read_log(l, err));
    TRY(read_flush_file(l, err));
    TRY(read_pilot(l, err));
    TRY(read_nodes(l, err));
    TRY(find_state(l, err));
    TRY(find_saved(l, err));
    TRY(find_cached(l, err));
    TRY(find_flush(l, err));
    TRY(find_advice(l, err));
    find_restart(s);
    for (int i = 0; i < SCR_FAILURES; i++)
        s->failures[i] = l->pilot.failures[i] > s->log.failures[i]
                             ? l->pilot.failures[i]
                             : s->log.failures[i];
    TRY(scr_status_set_end(s, l->q->prm, l->open.end, err));
    return s->notes.bad ? scr_no_memory(err) : SCR_OK;
}

int scr_status_gather(const struct scr_status_ask *q, struct scr_status *out,
                      struct scr_err *err)
{
    struct look l = {
        .q = q, .env = { .sys = q->env->sys }, .s = out, .index = SCR_INDEX_INIT
    };
    *out = (struct scr_status){
        .now = q->now, .spares = -1, .log = SCR_RUNLOG_INIT, .notes = SCR_STRV_INIT
    };
    int rc = gather(&l, err);
    scr_index_fini(&l.index);
    scr_incaches_fini(&l.cached);
    free(l.open_job);
    free(l.reason);
    return rc;
}

void scr_status_fini(struct scr_status *s)
{
    char *const texts[] = { s->why,          s->job,       s->process,
                            s->cache.d.name, s->cache.job, s->cache.nodes,
                            s->saved.name,   s->advice,    s->halt_reason,
                            s->halt_due };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    scr_runlog_fini(&s->log);
    scr_flush_progress_fini(&s->flush);
    scr_strv_free(&s->notes);
    *s = (struct scr_status){ 0 };
}

int64_t scr_status_left(const struct scr_status *s)
{
    if (s->end == 0)
        return -1;
    return s->end > s->now ? s->end - s->now : 0;
}

int scr_status_is_good(const struct scr_status *s)
{
    return s->state == SCR_STATUS_RUNNING || s->state == SCR_STATUS_STARTING ||
           s->restart != NULL;
}
