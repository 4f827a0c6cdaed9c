/* SPDX-License-Identifier: BSD-3-Clause */
/* What a restart would do. */
#include "ops/judge.h"

#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/str.h"
#include "base/units.h"
#include "ops/faults.h"
#include "ops/incache.h"
#include "ops/scan.h"
#include "store/arrival.h"
#include "store/dset_names.h"
#include "store/replacing.h"

static const char *const state_names[] = {
    [SCR_CANDIDATE_COMPLETE] = "complete",     [SCR_CANDIDATE_MENDABLE] = "mendable",
    [SCR_CANDIDATE_PARTIAL] = "partial",       [SCR_CANDIDATE_KEPT] = "kept",
    [SCR_CANDIDATE_OUTPUT] = "output",         [SCR_CANDIDATE_DROPPED] = "dropped",
    [SCR_CANDIDATE_INCOMPLETE] = "incomplete", [SCR_CANDIDATE_FAILED] = "failed",
    [SCR_CANDIDATE_CORRUPT] = "corrupt",       [SCR_CANDIDATE_VERSION] = "version",
    [SCR_CANDIDATE_UNREADABLE] = "unreadable", [SCR_CANDIDATE_UNSEEN] = "unseen",
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
        free(j->c[i].copies);
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

/* To what was found; 0: out of memory. */
static int add_text(struct scr_candidate *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static int add_text(struct scr_candidate *c, const char *fmt, ...)
{
    struct scr_str s = SCR_STR_INIT;
    va_list ap;
    va_start(ap, fmt);
    scr_str_printf(&s, "%s", c->why ? c->why : "");
    scr_str_vprintf(&s, fmt, ap);
    va_end(ap);
    free(c->why);
    c->why = scr_str_take(&s);
    return c->why != NULL;
}

static int is_foreign(const struct scr_judge *q, const struct scr_candidate *c)
{
    return q->ranks > 0 && c->ranks > 0 && c->ranks != q->ranks;
}

/* --- in cache --- */

static const struct {
    enum scr_candidate_state state;
    enum scr_copy_state copy; /* of this number of ranks */
    enum scr_copy_look look;
} of_survey[] = {
    [SCR_SURVEY_WHOLE] = { SCR_CANDIDATE_COMPLETE, SCR_COPY_WHOLE, SCR_LOOK_GOOD },
    [SCR_SURVEY_MENDABLE] = { SCR_CANDIDATE_MENDABLE, SCR_COPY_WHOLE, SCR_LOOK_GOOD },
    [SCR_SURVEY_PARTIAL] = { SCR_CANDIDATE_PARTIAL, SCR_COPY_WHOLE, SCR_LOOK_GOOD },
    [SCR_SURVEY_OPEN] = { SCR_CANDIDATE_INCOMPLETE, SCR_COPY_LOST, SCR_LOOK_DAMAGED },
    [SCR_SURVEY_LOST] = { SCR_CANDIDATE_CORRUPT, SCR_COPY_LOST, SCR_LOOK_DAMAGED },
    [SCR_SURVEY_KEPT] = { SCR_CANDIDATE_KEPT, SCR_COPY_KEPT, SCR_LOOK_ERROR },
};

/* As a start does with the settings of q (core/revive.c). */
static void apply_settings(const struct scr_judge *q, struct scr_candidate *c)
{
    if (q->purge)
        c->copy = SCR_COPY_PURGED;
    else if (!q->distribute && c->state != SCR_CANDIDATE_INCOMPLETE)
        c->copy = SCR_COPY_KEPT;
    else if (is_foreign(q, c))
        c->copy = SCR_COPY_WHOLE;
    if (c->copy == SCR_COPY_KEPT && c->state != SCR_CANDIDATE_KEPT)
        find(c, SCR_CANDIDATE_KEPT, "SCR_DISTRIBUTE=0: a start leaves it as it is");
}

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
    c->ranks = d->ranks;
    c->is_ckpt = d->d.id != 0 && d->d.is_ckpt;
    c->is_partial = state == SCR_SURVEY_PARTIAL;
    c->copy = of_survey[state].copy;
    c->look = of_survey[state].look;
    if (state >= SCR_SURVEY_OPEN)
        find(c, of_survey[state].state, "%s", reason.text);
    apply_settings(q, c);
    if (d->d.id != 0 && !d->d.is_ckpt)
        find(c, SCR_CANDIDATE_OUTPUT, "output, not a checkpoint");
    if (c->why == NULL)
        c->state = of_survey[state].state;
    if (c->why == NULL && state != SCR_SURVEY_WHOLE)
        c->why = scr_strdup(reason.text);
    return SCR_OK;
}

/* The index has another dataset of its number (invariant P14). */
static int is_anothers(const struct scr_index *index, const struct scr_dataset *d)
{
    struct scr_index_entry e;
    return d->id != 0 && scr_index_get(index, d->id, &e, NULL) == SCR_OK &&
           !scr_dataset_is_same(d, &e.dset);
}

static int judge_cached(const struct scr_judge *q, const struct scr_survey *s, int id,
                        const struct scr_index *index, struct scr_candidate *c,
                        struct scr_err *err)
{
    struct scr_survey_dataset d;
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_survey_dataset(s, id, &d, &why);
    if (rc == SCR_E_NOMEM)
        return scr_no_memory(err);
    if (rc != SCR_OK) {
        c->copy = SCR_COPY_LOST;
        find(c, SCR_CANDIDATE_CORRUPT, "%s", why.text);
        return SCR_OK;
    }
    c->clash = is_anothers(index, &d.d);
    rc = judge_survey(q, s, &d, c, err);
    scr_survey_dataset_fini(&d);
    return rc;
}

/* Adds to the text a copy that is not the one judged. */
static int note_copy(struct scr_candidate *c, const struct scr_candidate *other,
                     const struct scr_survey *of)
{
    struct scr_str text = SCR_STR_INIT;
    char *where = scr_survey_where(of, c->id);
    scr_str_printf(&text, "%s; another copy with other redundancy sets, %s, is in %s",
                   c->copies ? c->copies : "", scr_candidate_state_name(other->state),
                   where ? where : "another cache");
    free(where);
    free(c->copies);
    c->copies = scr_str_take(&text);
    return c->copies ? SCR_OK : SCR_E_NOMEM;
}

/* Runs on other nodes of this host, for example virtual ones, may have left a copy: the
 * better one counts, as it is not known here on which nodes the next run is. */
static int judge_copies(const struct scr_judge *q, const struct scr_survey *s, int id,
                        const struct scr_index *index, struct scr_candidate *c,
                        struct scr_err *err)
{
    const struct scr_survey *best = s, *at = s;
    TRY(judge_cached(q, s, id, index, c, err));
    while ((at = scr_survey_copy(at->next, id)) != NULL) {
        struct scr_candidate other = { .id = id, .in_cache = 1 };
        const struct scr_survey *of = at;
        int rc = judge_cached(q, at, id, index, &other, err);
        if (rc == SCR_OK && other.state < c->state) {
            struct scr_candidate worse = *c;
            other.copies = c->copies;
            worse.copies = NULL;
            *c = other;
            other = worse;
            of = best;
            best = at;
        }
        if (rc == SCR_OK && note_copy(c, &other, of) != SCR_OK)
            rc = scr_no_memory(err);
        free(other.name);
        free(other.why);
        TRY(rc);
    }
    return SCR_OK;
}

static int judge_seen(const struct scr_judge *q, const struct scr_survey *s,
                      const struct scr_index *index, struct scr_judgement *j,
                      struct scr_err *err)
{
    int *ids = NULL, n = 0;
    int rc;
    TRY_OUT(scr_filemap_list_datasets(s->map, &n, &ids) == SCR_OK ? SCR_OK
                                                                  : scr_no_memory(err));
    for (int i = n - 1; i >= 0; i--) {
        struct scr_candidate *c = add(j, ids[i], 1);
        TRY_OUT(c ? judge_copies(q, s, ids[i], index, c, err) : scr_no_memory(err));
    }
out:
    free(ids);
    return rc;
}

/* --- in caches out of reach --- */

static int add_unseen(const struct scr_judge *q, struct scr_judgement *j,
                      const struct scr_incache *is)
{
    struct scr_candidate *c = add(j, is->id, 1);
    if (c == NULL)
        return SCR_E_NOMEM;
    char *where = scr_incache_text(is);
    c->name = scr_strdup(is->name);
    c->is_ckpt = is->is_ckpt;
    c->reason = scr_candidate_state_name(SCR_CANDIDATE_UNSEEN);
    if (where != NULL)
        find(c, SCR_CANDIDATE_UNSEEN, "%s, by flush.scr: %s", where,
             q->reach->is_all || q->reach->n + q->reach->nshared > 0
                 ? "not found in the caches in reach"
             : scr_incache_is_here(is) ? "not found on this node, its only one"
                                       : "not looked at");
    free(where);
    return c->name != NULL && c->why != NULL ? SCR_OK : SCR_E_NOMEM;
}

/* Datasets that flush.scr lists and no cache in reach has. */
static int list_unseen(const struct scr_judge *q, const struct scr_survey *s,
                       const struct scr_index *index, struct scr_judgement *j,
                       struct scr_err *err)
{
    struct scr_incaches caches = { 0 };
    int rc;
    if (!q->unseen)
        return SCR_OK;
    TRY_OUT(scr_incaches_look(q->env, q->prefix, index, &caches, err));
    for (size_t i = 0; i < caches.n; i++)
        if (scr_survey_copy(s, caches.of[i].id) == NULL &&
            add_unseen(q, j, &caches.of[i]) != SCR_OK)
            TRY_OUT(scr_no_memory(err));
    j->unseen = j->n;
out:
    scr_incaches_fini(&caches);
    return rc;
}

static int judge_caches(const struct scr_judge *q, const struct scr_index *index,
                        struct scr_judgement *j, struct scr_err *err)
{
    struct scr_survey s;
    int rc;
    TRY_OUT(scr_survey_reach(&s, q->env, q->reach, err));
    TRY_OUT(list_unseen(q, &s, index, j, err));
    TRY_OUT(judge_seen(q, &s, index, j, err));
out:
    scr_survey_fini(&s);
    return rc;
}

/* --- in the prefix directory --- */

/* The state of a dataset after an error in reading its files. */
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
    int real = scr_faults_real(&f);
    enum scr_candidate_state state =
        real ? SCR_CANDIDATE_CORRUPT : SCR_CANDIDATE_UNREADABLE;
    if (f.n > 0)
        c->look = real ? SCR_LOOK_DAMAGED : SCR_LOOK_ERROR;
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
    return !can || add_text(c, "; it can be rebuilt: scr_index --prefix %s --add %d",
                            q->prefix->path, c->id)
               ? SCR_OK
               : scr_no_memory(err);
}

/* The summary, or its content once the dataset is entered. */
static int read_summary(const struct scr_judge *q, struct scr_candidate *c,
                        int *complete, scr_hash *dset, struct scr_err *err)
{
    (void)scr_arrival_look(q->env, q->prefix, c->id, &c->arrived, dset, NULL);
    *complete = c->arrived;
    if (c->arrived)
        return SCR_OK;
    return scr_prefix_summary_read(q->env, q->prefix, c->id, complete, dset, err);
}

/* It may be unknown whether it has the record of missing names. */
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
        return scr_err_take(err, rc, &why);
    TRY(read_summary(q, c, complete, dset, err));
    return scr_prefix_rank2file_read(q->env, q->prefix, c->id, list, err);
}

/* Only what a restart tries is read: the user may name one that has failed. */
static int is_tried(const struct scr_judge *q, const struct scr_candidate *c)
{
    return c->why == NULL || (c->copy == SCR_COPY_FAILED && q->current != NULL &&
                              c->name != NULL && strcmp(c->name, q->current) == 0);
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
    c->look = rc == SCR_OK && complete ? SCR_LOOK_GOOD : SCR_LOOK_DAMAGED;
    if (rc == SCR_OK && !complete)
        find(c, SCR_CANDIDATE_CORRUPT, "its summary says that it is incomplete");
    c->ranks = list.ranks;
    if (rc != SCR_OK && rc != SCR_E_NOMEM) {
        c->look =
            state_of(rc) == SCR_CANDIDATE_CORRUPT ? SCR_LOOK_DAMAGED : SCR_LOOK_ERROR;
        find(c, state_of(rc), "%s", why.text);
    } else if (rc == SCR_OK && complete && is_tried(q, c)) {
        judge_files(q, c, dset, &list);
    }
    scr_hash_delete(dset);
    scr_rank2file_fini(&list);
    return rc == SCR_E_NOMEM ? scr_no_memory(err) : SCR_OK;
}

/* A start that finds nothing else enters it if all that its list names is there, each
 * with its CRC32 (invariant P25). */
static int look_at_unfinished(const struct scr_judge *q, struct scr_candidate *c,
                              struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    struct scr_faults f = SCR_FAULTS_INIT;
    struct scr_rank2file list = { 0 };
    uint64_t files = 0;
    f.sizes_only = !q->with_crc;
    int rc = scr_prefix_rank2file_read(q->env, q->prefix, c->id, &list, &why);
    if (rc == SCR_OK)
        scr_faults_check(q->env, q->prefix->path, NULL, &list, &f, &files);
    c->look = rc == SCR_OK && f.n == 0 && f.unsummed == 0 && files > 0
                  ? SCR_LOOK_GOOD
                  : SCR_LOOK_DAMAGED;
    c->ranks = list.ranks;
    scr_faults_fini(&f);
    scr_rank2file_fini(&list);
    return rc == SCR_E_NOMEM ? scr_no_memory(err) : SCR_OK;
}

static int judge_entry(const struct scr_judge *q, const struct scr_index *index, int id,
                       struct scr_candidate *c, struct scr_err *err)
{
    struct scr_index_entry e;
    int rc = scr_index_get(index, id, &e, NULL);
    if (rc != SCR_OK) {
        c->copy = SCR_COPY_UNLISTED;
        find(c, SCR_CANDIDATE_DROPPED, "not in the index");
        return judge_record(q, c, err);
    }
    c->name = scr_strdup(e.dset.name);
    c->current = e.current;
    c->is_ckpt = e.dset.is_ckpt;
    c->copy = scr_copy_state_of(&e);
    TRY(c->name ? SCR_OK : scr_no_memory(err));
    if (e.failed)
        find(c, SCR_CANDIDATE_FAILED,
             "a restart could not read it at %s (scr_index --add removes the mark)",
             *e.failed != '\0' ? e.failed : "an unknown time");
    c->unplaced = e.complete && scr_replacing_is_begun(q->env, q->prefix, id);
    if (!e.complete)
        find(c, SCR_CANDIDATE_INCOMPLETE, "the index says that it is incomplete");
    if (!e.dset.is_ckpt)
        find(c, SCR_CANDIDATE_OUTPUT, "output, not a checkpoint");
    TRY(judge_record(q, c, err));
    return c->is_ckpt && c->copy == SCR_COPY_INCOMPLETE ? look_at_unfinished(q, c, err)
                                                        : SCR_OK;
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

/* In cache its number is another dataset's. */
static int has_clash(const struct scr_judgement *j, int id)
{
    for (size_t i = j->unseen; i < j->n; i++)
        if (j->c[i].in_cache && j->c[i].id == id)
            return j->c[i].clash && j->c[i].copy != SCR_COPY_PURGED;
    return 0;
}

static int judge_prefix(const struct scr_judge *q, const struct scr_index *index,
                        struct scr_judgement *j, struct scr_err *err)
{
    struct scr_ids ids = { 0 };
    int rc = all_ids(q, index, &ids, err);
    start_progress(q, index);
    for (size_t i = ids.n; i-- > 0 && rc == SCR_OK;) {
        struct scr_candidate *c = add(j, ids.id[i], 0);
        if (c != NULL)
            c->clash = has_clash(j, c->id);
        rc = c ? judge_entry(q, index, ids.id[i], c, err) : scr_no_memory(err);
        if (rc == SCR_OK && is_mendable_state(c->state))
            rc = hint_at_rebuild(q, c, err);
    }
    scr_progress_hide(q->progress);
    scr_ids_fini(&ids);
    return rc;
}

/* --- which --- */

/* alone: nodes out of reach have nothing of what is partial. */
static int list_copies(const struct scr_judge *q, const struct scr_judgement *j,
                       int alone, struct scr_restart_list *list, struct scr_err *err)
{
    for (size_t i = j->unseen; i < j->n; i++) {
        const struct scr_candidate *c = &j->c[i];
        int is_lost = alone && c->is_partial && c->copy == SCR_COPY_WHOLE;
        scr_restart_list_add(
            list, (struct scr_restart_copy){
                      .id = c->id,
                      .name = c->name,
                      .cached = c->in_cache,
                      .is_ckpt = c->is_ckpt,
                      .current = c->current,
                      .foreign = is_foreign(q, c),
                      .clash = c->clash,
                      .state = is_lost && !is_foreign(q, c) ? SCR_COPY_LOST : c->copy,
                      .look = is_lost ? SCR_LOOK_DAMAGED : c->look });
    }
    return list->bad ? scr_no_memory(err) : SCR_OK;
}

/* --- lost output: core/lost.c --- */

struct view {
    const struct scr_judgement *j;
    int alone; /* as of list_copies */
};

/* As far as the caches in reach show. */
static int is_gone(const void *arg, int id)
{
    const struct view *v = arg;
    const struct scr_judgement *j = v->j;
    for (size_t i = j->unseen; i < j->n; i++)
        if (j->c[i].in_cache && j->c[i].id == id)
            return j->c[i].copy == SCR_COPY_LOST || j->c[i].copy == SCR_COPY_PURGED ||
                   (v->alone && j->c[i].is_partial);
    return 1;
}

static int goes_back(const struct scr_judge *q)
{
    return q->fetch && q->current == NULL && !q->past_lost_output;
}

static int tell_lost(const struct scr_judge *q, const struct scr_restart_list *list,
                     struct scr_judgement *j)
{
    struct scr_lost_output_choice ch = scr_lost_output_choose(list, j->lost.oldest);
    if (j->lost.oldest > 0)
        j->lost_text = scr_lost_output_text(&j->lost, &ch,
                                            goes_back(q) ? SCR_LOST_OUTPUT_RESTART
                                                         : SCR_LOST_OUTPUT_STAY);
    return j->lost.oldest == 0 || j->lost_text != NULL;
}

/* A flush file that is damaged, or of a newer version, lists none, as in a start. */
static int find_lost(const struct scr_judge *q, const struct scr_index *index,
                     const struct view *v, struct scr_lost_output *lost,
                     struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    scr_hash *flush = scr_hash_new();
    int rc;
    TRY_OUT(q->job_id == NULL ? SCR_OK
            : flush == NULL
                ? scr_no_memory(&why)
                : scr_prefix_state_read(q->env, q->prefix, "flush.scr", flush, &why));
    if (q->job_id != NULL &&
        scr_lost_output_find(lost, flush, index, q->job_id, is_gone, v) != SCR_OK)
        TRY_OUT(scr_no_memory(&why));
out:
    scr_hash_delete(flush);
    return rc == SCR_OK || rc == SCR_E_CORRUPT || rc == SCR_E_VERSION
               ? SCR_OK
               : scr_err_take(err, rc, &why);
}

/* What was found of it says why it is not taken, else its place in the order. */
static int explain(const struct scr_judge *q, const struct scr_judgement *j,
                   const struct scr_restart_copy *copy, struct scr_candidate *c)
{
    c->reason = scr_passed_word(copy->passed);
    if (c->why != NULL)
        return 1;
    c->why = !c->taken ? scr_passed_text(copy)
                       : scr_strdup(c->in_cache && q->global
                                        ? "in cache, read from the prefix"
                                    : c->in_cache ? "in cache"
                                    : j->lost.oldest > c->id
                                        ? "the newest before output that is lost"
                                    : c->current ? "current, complete"
                                                 : "the newest that can be read");
    return c->why != NULL;
}

/* Others wrote it: not every program can read it. */
static int tell_ranks(const struct scr_judge *q, struct scr_candidate *c)
{
    if (!is_foreign(q, c))
        return 1;
    return add_text(c, "; written by %d rank%s, the run has %d", c->ranks,
                    scr_plural(c->ranks), q->ranks);
}

static int tell_copies(struct scr_candidate *c)
{
    return c->copies == NULL ||
           add_text(c, "%s: a run takes the copy on the nodes it runs on", c->copies);
}

/* A restart begins by entering it. */
static int tell_entry(const struct scr_judge *q, struct scr_candidate *c)
{
    const char *prefix = q->prefix->path;
    if (c->taken && c->copy == SCR_COPY_INCOMPLETE)
        return add_text(c, "; all its files exist: the next start enters it");
    if (c->arrived)
        return add_text(
            c, "; copied, not in the index yet: scr_index --prefix %s --adopt", prefix);
    if (!c->unplaced)
        return 1;
    return add_text(c,
                    "; some of its files are not renamed yet, the next start renames "
                    "them, or: scr_index --prefix %s --add %d",
                    prefix, c->id);
}

static const struct scr_restart_copy *order(const struct scr_judge *q,
                                            const struct scr_lost_output *lost,
                                            struct scr_restart_list *list)
{
    const struct scr_restart_ask ask = { .fetch = q->fetch,
                                         .global = q->global,
                                         .any_ranks = q->any_ranks,
                                         .wanted = q->current,
                                         .lost = goes_back(q) ? lost->oldest : 0 };
    return scr_restart_order(&ask, list);
}

static int finish(const struct scr_judge *q, struct scr_judgement *j,
                  struct scr_err *err)
{
    struct scr_restart_list list = { 0 };
    int rc;
    TRY_OUT(list_copies(q, j, 0, &list, err));
    const struct scr_restart_copy *taken = order(q, &j->lost, &list);
    TRY_OUT(tell_lost(q, &list, j) ? SCR_OK : scr_no_memory(err));
    for (size_t i = j->unseen; i < j->n; i++) {
        struct scr_candidate *c = &j->c[i];
        const struct scr_restart_copy *copy = &list.c[i - j->unseen];
        c->taken = copy == taken;
        if (c->taken)
            j->taken = c;
        if (!explain(q, j, copy, c) || !tell_ranks(q, c) || !tell_copies(c) ||
            !tell_entry(q, c))
            TRY_OUT(scr_no_memory(err));
    }
out:
    scr_restart_list_fini(&list);
    return rc;
}

/* The same again, with the rest of what is partial lost. */
static int find_else(const struct scr_judge *q, const struct scr_index *index,
                     struct scr_judgement *j, struct scr_err *err)
{
    const struct view alone = { j, 1 };
    struct scr_lost_output lost = { 0 };
    struct scr_restart_list list = { 0 };
    int rc;
    TRY_OUT(find_lost(q, index, &alone, &lost, err));
    TRY_OUT(list_copies(q, j, 1, &list, err));
    const struct scr_restart_copy *taken = order(q, &lost, &list);
    j->else_taken = taken ? &j->c[j->unseen + (size_t)(taken - list.c)] : NULL;
out:
    scr_restart_list_fini(&list);
    scr_lost_output_fini(&lost);
    return rc;
}

int scr_judge(const struct scr_judge *q, struct scr_judgement *out, struct scr_err *err)
{
    const struct view all = { out, 0 };
    *out = (struct scr_judgement){ 0 };
    struct scr_index index = SCR_INDEX_INIT;
    int arrived, rc;
    TRY_OUT(scr_prefix_index_look(q->env, q->prefix, &index, err));
    TRY_OUT(scr_arrivals_look(q->env, q->prefix, &index, NULL, &arrived, err));
    TRY_OUT(scr_replacings_look(q->env, q->prefix, &index, err));
    TRY_OUT(judge_caches(q, &index, out, err));
    TRY_OUT(judge_prefix(q, &index, out, err));
    TRY_OUT(find_lost(q, &index, &all, &out->lost, err));
    TRY_OUT(finish(q, out, err));
    TRY_OUT(find_else(q, &index, out, err));
out:
    scr_index_fini(&index);
    return rc;
}
