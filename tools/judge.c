/* SPDX-License-Identifier: BSD-3-Clause */
/* What a restart would do. */
#include "judge.h"

#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/str.h"
#include "faults.h"
#include "red/survey.h"
#include "scan.h"
#include "store/arrival.h"
#include "store/dset_names.h"
#include "store/replacing.h"

static const char *const state_names[] = {
    [SCR_CANDIDATE_COMPLETE] = "complete", [SCR_CANDIDATE_MENDABLE] = "mendable",
    [SCR_CANDIDATE_PARTIAL] = "partial",   [SCR_CANDIDATE_OUTPUT] = "output",
    [SCR_CANDIDATE_DROPPED] = "dropped",   [SCR_CANDIDATE_INCOMPLETE] = "incomplete",
    [SCR_CANDIDATE_FAILED] = "failed",     [SCR_CANDIDATE_CORRUPT] = "corrupt",
    [SCR_CANDIDATE_VERSION] = "version",   [SCR_CANDIDATE_UNREADABLE] = "unreadable",
};

const char *scr_candidate_state_name(enum scr_candidate_state s)
{
    return state_names[s];
}

void scr_judgement_fini(struct scr_judgement *j)
{
    for (size_t i = 0; i < j->n; i++) {
        free(j->c[i].name);
        free(j->c[i].why);
    }
    free(j->c);
    free(j->lost_text);
    scr_lost_output_fini(&j->lost);
    *j = (struct scr_judgement){ 0 };
}

/* A new candidate at the end; NULL: out of memory. */
static struct scr_candidate *add(struct scr_judgement *j, int id, int in_cache)
{
    struct scr_candidate *grown = scr_reallocarray(j->c, j->n + 1, sizeof *grown);
    if (grown == NULL)
        return NULL;
    j->c = grown;
    j->c[j->n] = (struct scr_candidate){ .id = id, .in_cache = in_cache };
    return &j->c[j->n++];
}

/* The first finding counts. */
static void find(struct scr_candidate *c, enum scr_candidate_state state,
                 const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void find(struct scr_candidate *c, enum scr_candidate_state state,
                 const char *fmt, ...)
{
    struct scr_str s = SCR_STR_INIT;
    va_list ap;
    if (c->why != NULL)
        return;
    va_start(ap, fmt);
    scr_str_vprintf(&s, fmt, ap);
    va_end(ap);
    c->state = state;
    c->why = scr_str_take(&s);
}

/* --- in cache --- */

static const enum scr_candidate_state of_survey[] = {
    [SCR_SURVEY_WHOLE] = SCR_CANDIDATE_COMPLETE,
    [SCR_SURVEY_MENDABLE] = SCR_CANDIDATE_MENDABLE,
    [SCR_SURVEY_PARTIAL] = SCR_CANDIDATE_PARTIAL,
    [SCR_SURVEY_OPEN] = SCR_CANDIDATE_INCOMPLETE,
    [SCR_SURVEY_LOST] = SCR_CANDIDATE_CORRUPT,
};

static int judge_survey(const struct scr_judge *q, const struct scr_survey *s,
                        const struct scr_survey_dataset *d, struct scr_candidate *c,
                        struct scr_err *err)
{
    struct scr_err reason = SCR_ERR_INIT;
    enum scr_survey_state state;
    if (d->d.id != 0 && (c->name = scr_strdup(d->d.name)) == NULL)
        return scr_no_memory(err);
    if (scr_survey_judge(s, d, q->with_crc, &state, &reason) != SCR_OK)
        return scr_no_memory(err);
    if (state == SCR_SURVEY_OPEN || state == SCR_SURVEY_LOST)
        find(c, of_survey[state], "%s", reason.text);
    if (d->d.id != 0 && !d->d.is_ckpt)
        find(c, SCR_CANDIDATE_OUTPUT, "output, not a checkpoint");
    c->ranks = d->ranks;
    if (c->why == NULL)
        c->state = of_survey[state];
    if (c->why == NULL && state != SCR_SURVEY_WHOLE)
        c->why = scr_strdup(reason.text);
    return SCR_OK;
}

static int judge_cached(const struct scr_judge *q, const struct scr_survey *s, int id,
                        struct scr_judgement *j, struct scr_err *err)
{
    struct scr_survey_dataset d;
    struct scr_err why = SCR_ERR_INIT;
    struct scr_candidate *c = add(j, id, 1);
    if (c == NULL)
        return scr_no_memory(err);
    int rc = scr_survey_dataset(s, id, &d, &why);
    if (rc == SCR_E_NOMEM)
        return scr_no_memory(err);
    if (rc != SCR_OK) {
        find(c, SCR_CANDIDATE_CORRUPT, "%s", why.text);
        return SCR_OK;
    }
    rc = judge_survey(q, s, &d, c, err);
    scr_survey_dataset_fini(&d);
    return rc;
}

static int judge_cache(const struct scr_judge *q, struct scr_judgement *j,
                       struct scr_err *err)
{
    struct scr_survey s;
    int *ids = NULL, n = 0;
    int rc;
    TRY_OUT(scr_survey_open(&s, q->env, q->cntl, q->ncntl, err));
    for (size_t i = 0; i < q->nshared; i++)
        TRY_OUT(scr_survey_add_shared(&s, q->shared[i], err));
    if (scr_survey_ids(&s, &ids, &n) != SCR_OK)
        TRY_OUT(scr_no_memory(err));
    for (int i = n - 1; i >= 0; i--)
        TRY_OUT(judge_cached(q, &s, ids[i], j, err));
out:
    free(ids);
    scr_survey_fini(&s);
    return rc;
}

/* --- in the prefix directory --- */

/* What an error met in reading a dataset's files says of it. */
static enum scr_candidate_state state_of(int rc)
{
    if (rc == SCR_E_VERSION)
        return SCR_CANDIDATE_VERSION;
    return rc == SCR_E_IO ? SCR_CANDIDATE_UNREADABLE : SCR_CANDIDATE_CORRUPT;
}

static void judge_files(const struct scr_judge *q, struct scr_candidate *c,
                        const scr_hash *dset, const struct scr_rank2file *list)
{
    struct scr_faults f = SCR_FAULTS_INIT;
    uint64_t files = 0;
    f.sizes_only = !q->with_crc;
    f.progress = q->progress;
    scr_faults_check(q->env, q->prefix->path, dset, list, &f, &files);
    enum scr_candidate_state state =
        scr_faults_real(&f) ? SCR_CANDIDATE_CORRUPT : SCR_CANDIDATE_UNREADABLE;
    if (f.n > 1)
        find(c, state, "%s (and %zu more)", f.first ? f.first : "files", f.n - 1);
    else if (f.n == 1)
        find(c, state, "%s", f.first ? f.first : "a file");
    scr_faults_fini(&f);
}

/* States that scr_index --add may turn into another. */
static int is_mendable_state(enum scr_candidate_state s)
{
    return s == SCR_CANDIDATE_DROPPED || s == SCR_CANDIDATE_INCOMPLETE ||
           s == SCR_CANDIDATE_CORRUPT;
}

/* What a scavenge left can be more than what the index says. */
static int hint_at_rebuild(const struct scr_judge *q, struct scr_candidate *c,
                           struct scr_err *err)
{
    struct scr_scan s;
    int can = scr_scan_open(&s, q->env, q->prefix, c->id, NULL) == SCR_OK &&
              scr_scan_can_rebuild(&s, q->with_crc);
    scr_scan_fini(&s);
    if (!can)
        return SCR_OK;
    char *more = scr_asprintf("%s; it can be rebuilt: scr_index --prefix %s --add %d",
                              c->why, q->prefix->path, c->id);
    free(c->why);
    c->why = more;
    return more ? SCR_OK : scr_no_memory(err);
}

/* The summary, or what it will say once somebody enters the dataset. */
static int read_summary(const struct scr_judge *q, struct scr_candidate *c,
                        int *complete, scr_hash *dset, struct scr_err *err)
{
    (void)scr_arrival_look(q->env, q->prefix, c->id, &c->arrived, dset, NULL);
    *complete = c->arrived;
    if (c->arrived)
        return SCR_OK;
    return scr_prefix_summary_read(q->env, q->prefix, c->id, complete, dset, err);
}

/* Whether it has the record of names that are missing may not have been told. */
static int read_records(const struct scr_judge *q, struct scr_candidate *c,
                        int *complete, scr_hash *dset, struct scr_rank2file *list,
                        struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = c->unplaced
                 ? scr_replacing_read(q->env, q->prefix, c->id, dset, list, &why)
                 : SCR_E_NOENT;
    *complete = c->unplaced = rc != SCR_E_NOENT;
    if (c->unplaced)
        return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "%s", why.text);
    TRY(read_summary(q, c, complete, dset, err));
    return scr_prefix_rank2file_read(q->env, q->prefix, c->id, list, err);
}

/* Summary, list of files, files. */
static int judge_record(const struct scr_judge *q, struct scr_candidate *c,
                        struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int complete = 0;
    struct scr_rank2file list = { 0 };
    scr_hash *dset = scr_hash_new();
    int rc = read_records(q, c, &complete, dset, &list, &why);
    if (c->name == NULL)
        c->name = scr_strdup(scr_hash_get_val(dset, "NAME"));
    if (rc == SCR_OK && !complete)
        find(c, SCR_CANDIDATE_CORRUPT, "its summary says that it is incomplete");
    c->ranks = list.ranks;
    if (rc != SCR_OK && rc != SCR_E_NOMEM)
        find(c, state_of(rc), "%s", why.text);
    else if (rc == SCR_OK && c->why == NULL)
        judge_files(q, c, dset, &list);
    scr_hash_delete(dset);
    scr_rank2file_fini(&list);
    return rc == SCR_E_NOMEM ? scr_no_memory(err) : SCR_OK;
}

static int judge_entry(const struct scr_judge *q, const struct scr_index *index, int id,
                       struct scr_candidate *c, struct scr_err *err)
{
    struct scr_index_entry e;
    int rc = scr_index_get(index, id, &e, NULL);
    if (rc != SCR_OK) {
        find(c, SCR_CANDIDATE_DROPPED, "not in the index");
        return judge_record(q, c, err);
    }
    c->name = scr_strdup(e.dset.name);
    c->current = e.current;
    if (c->name == NULL)
        return scr_no_memory(err);
    if (e.failed)
        find(c, SCR_CANDIDATE_FAILED, "a restart could not read it at %s",
             *e.failed != '\0' ? e.failed : "an unknown time");
    c->unplaced = e.complete && scr_replacing_is_begun(q->env, q->prefix, id);
    if (!e.complete)
        find(c, SCR_CANDIDATE_INCOMPLETE, "the index says that it is incomplete");
    if (!e.dset.is_ckpt)
        find(c, SCR_CANDIDATE_OUTPUT, "output, not a checkpoint");
    return judge_record(q, c, err);
}

/* Ids of the index and of dataset directories. */
static int all_ids(const struct scr_judge *q, const struct scr_index *index,
                   struct scr_ids *ids, struct scr_err *err)
{
    int *dirs = NULL;
    size_t n = 0;
    int rc;
    TRY_OUT(scr_dset_ids(q->env, q->prefix->scr, &dirs, &n, err));
    for (size_t i = 0; i < n; i++)
        TRY_OUT(scr_ids_add(ids, dirs[i], err));
    for (size_t i = 0; i < index->n; i++)
        TRY_OUT(scr_ids_add(ids, index->of[i].id, err));
out:
    free(dirs);
    return rc;
}

/* Bytes of what is read: the datasets that the index calls good. */
static void start_progress(const struct scr_judge *q, const struct scr_index *index)
{
    uint64_t total = 0;
    for (size_t i = 0; i < index->n; i++) {
        const struct scr_index_entry *e = &index->of[i];
        if (e->complete && e->failed == NULL && e->dset.is_ckpt)
            total += e->dset.size;
    }
    if (q->progress != NULL)
        scr_progress_start(q->progress, q->progress_out, total);
}

static int judge_prefix(const struct scr_judge *q, const struct scr_index *index,
                        struct scr_judgement *j, struct scr_err *err)
{
    struct scr_ids ids = { 0 };
    int rc = all_ids(q, index, &ids, err);
    start_progress(q, index);
    for (size_t i = ids.n; i-- > 0 && rc == SCR_OK;) {
        struct scr_candidate *c = add(j, ids.id[i], 0);
        rc = c ? judge_entry(q, index, ids.id[i], c, err) : scr_no_memory(err);
        if (rc == SCR_OK && is_mendable_state(c->state))
            rc = hint_at_rebuild(q, c, err);
    }
    scr_progress_hide(q->progress);
    scr_ids_fini(&ids);
    return rc;
}

/* --- which --- */

/* States the index knows of: these are passed over without a fetch. */
static int is_tried(const struct scr_candidate *c)
{
    return !c->in_cache && c->state != SCR_CANDIDATE_OUTPUT &&
           c->state != SCR_CANDIDATE_DROPPED && c->state != SCR_CANDIDATE_INCOMPLETE &&
           c->state != SCR_CANDIDATE_FAILED;
}

static int is_ready(const struct scr_candidate *c)
{
    return c->state == SCR_CANDIDATE_COMPLETE || c->state == SCR_CANDIDATE_MENDABLE ||
           c->state == SCR_CANDIDATE_PARTIAL;
}

static int is_foreign(const struct scr_judge *q, const struct scr_candidate *c)
{
    return q->ranks > 0 && c->ranks > 0 && c->ranks != q->ranks;
}

/* core/ranks.c: what a program that has not asked for it is not offered. */
static int is_passed_over(const struct scr_judge *q, const struct scr_candidate *c)
{
    return is_foreign(q, c) && !q->any_ranks;
}

/* What the functions below look for in cache. */
enum kind { READY, LOST, FOREIGN };

static int is_kind(const struct scr_judge *q, const struct scr_candidate *c,
                   enum kind kind)
{
    if (c->state == SCR_CANDIDATE_OUTPUT || is_foreign(q, c))
        return kind == FOREIGN && c->state != SCR_CANDIDATE_OUTPUT;
    return kind == (is_ready(c) ? READY : LOST);
}

static int is_below(const struct scr_candidate *c, int below)
{
    return below == 0 || c->id < below;
}

/* Newest one in cache below an id (0: any) of a kind; NULL: none. */
static struct scr_candidate *newest_cached(const struct scr_judge *q,
                                           struct scr_judgement *j, int below,
                                           enum kind kind)
{
    for (size_t i = 0; i < j->n; i++)
        if (j->c[i].in_cache && is_below(&j->c[i], below) && is_kind(q, &j->c[i], kind))
            return &j->c[i];
    return NULL;
}

static int id_of(const struct scr_candidate *c)
{
    return c != NULL ? c->id : 0;
}

/* The one of the prefix that is tried next below an id (0: any): CURRENT if that is
 * above, else the newest. */
static struct scr_candidate *next_tried(struct scr_judgement *j, int above, int below)
{
    struct scr_candidate *newest = NULL;
    for (size_t i = 0; i < j->n; i++) {
        struct scr_candidate *c = &j->c[i];
        if (!is_tried(c) || !is_below(c, below))
            continue;
        if (c->current && c->id > above)
            return c;
        newest = newest ? newest : c;
    }
    return newest;
}

static int has_current(const struct scr_judgement *j, int below)
{
    for (size_t i = 0; i < j->n; i++)
        if (j->c[i].current && is_tried(&j->c[i]) && is_below(&j->c[i], below))
            return 1;
    return 0;
}

/* What the prefix has to offer first is newer: CURRENT, the newest where there is none.
 */
static int prefix_is_newer(struct scr_judgement *j, int above, int below)
{
    const struct scr_candidate *c = next_tried(j, above, below);
    return id_of(c) > above && (c->current || !has_current(j, below));
}

/* Walks the prefix as a restart does, down to id `above`. */
static struct scr_candidate *fetched(const struct scr_judge *q, struct scr_judgement *j,
                                     int above, int below)
{
    struct scr_candidate *c = next_tried(j, above, below);
    while (c != NULL && c->id > above) {
        if (c->state == SCR_CANDIDATE_COMPLETE && !is_passed_over(q, c))
            return c;
        c = next_tried(j, above, c->id);
    }
    return NULL;
}

/* core/restart.c find_below_all, find_flushed_all */
static struct scr_candidate *look_below(const struct scr_judge *q,
                                        struct scr_judgement *j, int below, int *again)
{
    struct scr_candidate *cached = newest_cached(q, j, below, READY), *c = NULL;
    struct scr_candidate *foreign = newest_cached(q, j, below, FOREIGN);
    int lost = id_of(newest_cached(q, j, below, LOST));
    int above = id_of(cached) > id_of(foreign) ? id_of(cached) : id_of(foreign);
    *again = 0;
    if (q->fetch && (cached == NULL || lost > cached->id || below > 0 ||
                     prefix_is_newer(j, above, below)))
        c = fetched(q, j, above, below);
    if (c != NULL || id_of(foreign) <= id_of(cached))
        return c ? c : cached;
    if (is_ready(foreign) && q->any_ranks)
        return foreign;
    *again = foreign->id;
    return NULL;
}

static struct scr_candidate *look(const struct scr_judge *q, struct scr_judgement *j,
                                  int below)
{
    struct scr_candidate *c;
    do
        c = look_below(q, j, below, &below);
    while (c == NULL && below > 0);
    return c;
}

/* The checkpoint SCR_CURRENT names; of several the newest, of one here and there the
 * copy in cache. NULL: none that can be gone to. */
static struct scr_candidate *wanted(const struct scr_judge *q, struct scr_judgement *j)
{
    struct scr_candidate *found = NULL;
    for (size_t i = 0; i < j->n && q->current != NULL; i++) {
        struct scr_candidate *c = &j->c[i];
        if (c->name != NULL && strcmp(c->name, q->current) == 0 &&
            (is_ready(c) || is_tried(c)) && c->id > id_of(found))
            found = c;
    }
    return found;
}

/* --- lost output: core/lost_output.c --- */

struct caches {
    const struct scr_judge *q;
    const struct scr_judgement *j;
};

/* As far as the caches in reach show. A start keeps what a different number of ranks
 * wrote as it is. */
static int is_gone(const void *arg, int id)
{
    const struct caches *in = arg;
    for (size_t i = 0; i < in->j->n; i++) {
        const struct scr_candidate *c = &in->j->c[i];
        if (c->in_cache && c->id == id)
            return !is_foreign(in->q, c) && (c->state == SCR_CANDIDATE_CORRUPT ||
                                             c->state == SCR_CANDIDATE_INCOMPLETE);
    }
    return 1;
}

/* What a restart would try, in cache and on the prefix. */
static struct scr_lost_output_ckpts offered(const struct scr_judge *q,
                                            const struct scr_judgement *j)
{
    struct scr_lost_output_ckpts all = { NULL, 0, 0 };
    for (size_t i = 0; i < j->n; i++) {
        const struct scr_candidate *c = &j->c[i];
        if (c->name != NULL && (c->in_cache ? is_kind(q, c, READY) : is_tried(c)))
            scr_lost_output_offer(&all, c->id, c->name);
    }
    return all;
}

/* The one of that id, in cache or on the prefix; NULL: it cannot be read. */
static struct scr_candidate *readable(const struct scr_judge *q,
                                      struct scr_judgement *j, int id)
{
    for (size_t i = 0; i < j->n; i++) {
        struct scr_candidate *c = &j->c[i];
        if (c->id == id &&
            (c->in_cache ? is_kind(q, c, READY) : c->state == SCR_CANDIDATE_COMPLETE))
            return c;
    }
    return NULL;
}

static struct scr_candidate *before_lost(const struct scr_judge *q,
                                         struct scr_judgement *j)
{
    struct scr_lost_output_ckpts all = offered(q, j);
    struct scr_lost_output_choice ch = scr_lost_output_choose(&all, j->lost.oldest);
    struct scr_candidate *c = NULL;
    if (ch.goes_back)
        while (ch.before > 0 && (c = readable(q, j, ch.before)) == NULL)
            ch = scr_lost_output_choose(&all, ch.before);
    scr_lost_output_ckpts_fini(&all);
    return c != NULL && is_passed_over(q, c) ? NULL : c;
}

static int goes_back(const struct scr_judge *q)
{
    return q->fetch && q->current == NULL && !q->past_lost_output;
}

static int tell_lost(const struct scr_judge *q, struct scr_judgement *j)
{
    struct scr_lost_output_ckpts all = offered(q, j);
    struct scr_lost_output_choice ch = scr_lost_output_choose(&all, j->lost.oldest);
    if (j->lost.oldest > 0)
        j->lost_text = scr_lost_output_text(&j->lost, &ch,
                                            goes_back(q) ? SCR_LOST_OUTPUT_RESTART
                                                         : SCR_LOST_OUTPUT_STAY);
    int ok = !all.bad && (j->lost.oldest == 0 || j->lost_text != NULL);
    scr_lost_output_ckpts_fini(&all);
    return ok;
}

/* A flush file that is damaged, or of a newer version, lists none: so does a start. */
static int find_lost(const struct scr_judge *q, const struct scr_index *index,
                     struct scr_judgement *j, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    const struct caches in = { q, j };
    scr_hash *flush = scr_hash_new();
    int rc;
    TRY_OUT(q->job_id == NULL ? SCR_OK
            : flush == NULL
                ? scr_no_memory(&why)
                : scr_prefix_state_read(q->env, q->prefix, "flush.scr", flush, &why));
    if (q->job_id != NULL &&
        scr_lost_output_find(&j->lost, flush, index, q->job_id, is_gone, &in) != SCR_OK)
        TRY_OUT(scr_no_memory(&why));
out:
    scr_hash_delete(flush);
    return rc == SCR_OK || rc == SCR_E_CORRUPT || rc == SCR_E_VERSION
               ? SCR_OK
               : scr_fail(err, rc, 0, "%s", why.text);
}

static struct scr_candidate *choose(const struct scr_judge *q, struct scr_judgement *j)
{
    struct scr_candidate *c = wanted(q, j), *before = NULL;
    if (c != NULL && is_ready(c) && (c->in_cache || q->fetch) && !is_passed_over(q, c))
        return c;
    if (j->lost.oldest > 0 && goes_back(q))
        before = before_lost(q, j);
    return before != NULL ? before : look(q, j, id_of(c));
}

/* Why one that could be taken is not. */
static void explain(const struct scr_judge *q, struct scr_judgement *j,
                    struct scr_candidate *c)
{
    const struct scr_candidate *t = j->taken;
    if (c == t)
        find(c, c->state,
             c->in_cache && q->global ? "in cache, read from the prefix"
             : c->in_cache            ? "in cache"
             : j->lost.oldest > c->id ? "the newest before output that is lost"
             : c->current             ? "current, complete"
                                      : "the newest that can be read");
    else if (is_passed_over(q, c))
        find(c, c->state, "not offered without SCR_RESTART_ANY_RANKS=1");
    else if (!c->in_cache && !q->fetch)
        find(c, c->state, "SCR_FETCH=0: the prefix directory is not looked at");
    else if (t == NULL)
        find(c, c->state, "a newer one stops the search, see above");
    else if (t->id == c->id)
        find(c, c->state, "the same dataset is read from %s",
             t->in_cache ? "cache" : "the prefix directory");
    else if (j->lost.oldest > t->id && c->id > j->lost.oldest)
        find(c, c->state, "newer than output that is lost, dataset %d", j->lost.oldest);
    else if (c->id > t->id)
        find(c, c->state, "newer than the one a restart starts from, dataset %d",
             t->id);
    else
        find(c, c->state, "older than dataset %d", t->id);
}

/* Others wrote it: not every program can read it. */
static int tell_ranks(const struct scr_judge *q, struct scr_candidate *c)
{
    if (!is_foreign(q, c) || c->why == NULL)
        return c->why != NULL;
    char *more = scr_asprintf("%s; written by %d ranks, the run has %d", c->why,
                              c->ranks, q->ranks);
    free(c->why);
    c->why = more;
    return more != NULL;
}

/* A restart begins by entering it. */
static int tell_entry(const struct scr_judge *q, struct scr_candidate *c)
{
    if (!c->arrived && !c->unplaced)
        return 1;
    char *more =
        c->arrived
            ? scr_asprintf("%s; copied, not in the index yet: scr_index --prefix %s "
                           "--adopt",
                           c->why, q->prefix->path)
            : scr_asprintf("%s; some of its files are not renamed yet, the next start "
                           "renames them, or: scr_index --prefix %s --add %d",
                           c->why, q->prefix->path, c->id);
    free(c->why);
    c->why = more;
    return more != NULL;
}

static int finish(const struct scr_judge *q, struct scr_judgement *j,
                  struct scr_err *err)
{
    struct scr_candidate *taken = choose(q, j);
    j->taken = taken;
    if (!tell_lost(q, j))
        return scr_no_memory(err);
    if (taken != NULL)
        taken->taken = 1;
    for (size_t i = 0; i < j->n; i++) {
        explain(q, j, &j->c[i]);
        if (!tell_ranks(q, &j->c[i]) || !tell_entry(q, &j->c[i]))
            return scr_no_memory(err);
    }
    return SCR_OK;
}

int scr_judge(const struct scr_judge *q, struct scr_judgement *out, struct scr_err *err)
{
    *out = (struct scr_judgement){ 0 };
    struct scr_index index = SCR_INDEX_INIT;
    int arrived, rc;
    TRY_OUT(scr_prefix_index_look(q->env, q->prefix, &index, err));
    TRY_OUT(scr_arrivals_look(q->env, q->prefix, &index, NULL, &arrived, err));
    TRY_OUT(scr_replacings_look(q->env, q->prefix, &index, err));
    TRY_OUT(judge_cache(q, out, err));
    TRY_OUT(judge_prefix(q, &index, out, err));
    TRY_OUT(find_lost(q, &index, out, err));
    TRY_OUT(finish(q, out, err));
out:
    scr_index_fini(&index);
    return rc;
}
