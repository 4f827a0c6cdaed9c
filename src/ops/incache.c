/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets in caches out of reach. */
#include "ops/incache.h"

#include <stdlib.h>
#include <string.h>

#include "base/cwd.h"
#include "base/str.h"
#include "ops/runlog.h"

void scr_incaches_fini(struct scr_incaches *c)
{
    for (size_t i = 0; i < c->n; i++) {
        free(c->of[i].name);
        free(c->of[i].job);
        free(c->of[i].nodes);
    }
    free(c->of);
    *c = (struct scr_incaches){ 0 };
}

static int fill(struct scr_incache *to, const struct scr_dataset *d, int is_unsaved)
{
    *to = (struct scr_incache){ .id = d->id,
                                .name = scr_strdup(d->name),
                                .job = scr_strdup(d->jobid),
                                .is_ckpt = d->is_ckpt,
                                .is_output = d->is_output,
                                .is_unsaved = is_unsaved,
                                .size = d->size,
                                .files = d->files,
                                .created = d->created / 1000000 };
    return to->name && (to->job || !d->jobid) ? SCR_OK : SCR_E_NOMEM;
}

/* An entry whose dataset cannot be read is listed by what else there is of it. */
static int add(struct scr_incaches *c, const scr_hash *flush,
               const struct scr_index *index, int id)
{
    struct scr_dataset d = { 0 };
    (void)scr_dataset_get(scr_hash_getf(flush, "DATASET %d DSETDESC", id), &d, NULL);
    d.id = id;
    d.name = scr_flush_name(flush, id);
    d.is_ckpt = scr_flush_has(flush, id, "CKPT");
    d.is_output = scr_flush_has(flush, id, "OUTPUT");
    return fill(&c->of[c->n++], &d, scr_flush_is_unsaved(flush, index, id));
}

int scr_incaches_read(const struct scr_env *env, const struct scr_prefix *p,
                      const struct scr_index *index, struct scr_incaches *out,
                      struct scr_err *err)
{
    scr_hash *flush = scr_hash_new();
    int *ids = NULL;
    size_t n = 0;
    int rc;
    *out = (struct scr_incaches){ 0 };
    TRY_OUT(flush ? SCR_OK : scr_no_memory(err));
    TRY_OUT(scr_prefix_state_read(env, p, "flush.scr", flush, err));
    if (!scr_hash_list_int(scr_hash_get(flush, "DATASET"), &ids, &n) ||
        (out->of = scr_calloc(n, sizeof *out->of)) == NULL)
        TRY_OUT(scr_no_memory(err));
    while (n-- > 0)
        if ((scr_flush_get_location(flush, ids[n]) & SCR_LOC_CACHE) != 0 &&
            add(out, flush, index, ids[n]) != SCR_OK)
            TRY_OUT(scr_no_memory(err));
out:
    free(ids);
    scr_hash_delete(flush);
    return rc;
}

/* --- the caches in reach --- */

static int is_listed(const struct scr_incaches *c, int id)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->of[i].id == id)
            return 1;
    return 0;
}

/* Keeps the order, newest first. */
static int add_one(struct scr_incaches *c, const struct scr_survey *s,
                   const struct scr_dataset *d, const struct scr_index *index)
{
    struct scr_incache *grown = scr_reallocarray(c->of, c->n + 1, sizeof *c->of);
    const struct scr_entry *e = scr_filemap_first(s->map, d->id);
    size_t at = c->n;
    TRY(grown ? SCR_OK : SCR_E_NOMEM);
    c->of = grown;
    for (; at > 0 && c->of[at - 1].id < d->id; at--)
        c->of[at] = c->of[at - 1];
    c->n++;
    return fill(&c->of[at], d,
                !scr_flush_is_saved(NULL, index, d->id, e ? e->dataset : NULL));
}

/* Adds one copy, unless its filemaps contradict each other or it was never completed.
 */
static int add_usable(struct scr_incaches *c, const struct scr_survey *s, int id,
                      const struct scr_index *index)
{
    struct scr_survey_dataset d;
    struct scr_err why = SCR_ERR_INIT;
    enum scr_survey_state state = SCR_SURVEY_LOST;
    int rc = scr_survey_dataset(s, id, &d, &why);
    if (rc != SCR_OK)
        return rc == SCR_E_NOMEM ? rc : SCR_OK;
    rc = scr_survey_judge(s, &d, 0, &state, &why);
    if (rc == SCR_OK && d.d.id != 0 && state <= SCR_SURVEY_PARTIAL)
        rc = add_one(c, s, &d.d, index);
    scr_survey_dataset_fini(&d);
    return rc;
}

int scr_incaches_add_found(struct scr_incaches *c, const struct scr_survey *s,
                           const struct scr_index *index, struct scr_err *err)
{
    int *ids = NULL, n = 0, rc = scr_filemap_list_datasets(s->map, &n, &ids);
    for (int i = 0; i < n && rc == SCR_OK; i++) {
        const struct scr_survey *at = scr_survey_copy(s, ids[i]);
        for (; at != NULL && rc == SCR_OK && !is_listed(c, ids[i]);
             at = scr_survey_copy(at->next, ids[i]))
            rc = add_usable(c, at, ids[i], index);
    }
    free(ids);
    return rc == SCR_OK ? rc : scr_no_memory(err);
}

/* --- where they are --- */

int scr_incaches_set_nodes(struct scr_incaches *c, const char *job, const char *nodes)
{
    for (size_t i = 0; i < c->n; i++) {
        struct scr_incache *d = &c->of[i];
        if (nodes == NULL || job == NULL || d->job == NULL || strcmp(d->job, job) != 0)
            continue;
        free(d->nodes);
        if ((d->nodes = scr_strdup(nodes)) == NULL)
            return SCR_E_NOMEM;
    }
    return SCR_OK;
}

const struct scr_incache *scr_incaches_newest(const struct scr_incaches *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->of[i].is_ckpt)
            return &c->of[i];
    return c->n > 0 ? &c->of[0] : NULL;
}

int scr_incache_is_here(const struct scr_incache *c)
{
    char *host = NULL;
    int is = c->nodes != NULL && scr_hostname(&host, NULL) == SCR_OK &&
             strcmp(c->nodes, host) == 0;
    free(host);
    return is;
}

char *scr_incache_text(const struct scr_incache *c)
{
    const char *job = c->job ? c->job : "";
    return scr_asprintf("in cache on %s%s%s%s",
                        c->nodes ? "nodes " : "nodes that the event log does not name",
                        c->nodes ? c->nodes : "", *job ? " of job " : "", job);
}

int scr_incaches_look(const struct scr_env *env, const struct scr_prefix *p,
                      const struct scr_index *index, struct scr_incaches *out,
                      struct scr_err *err)
{
    const struct scr_env silent = { .sys = env->sys };
    struct scr_runlog l = SCR_RUNLOG_INIT;
    int rc = scr_incaches_read(&silent, p, index, out, NULL);
    if (rc == SCR_OK && out->n > 0) {
        rc = scr_runlog_read(&silent, p, &l, NULL);
        if (rc != SCR_E_NOMEM)
            rc = scr_incaches_set_nodes(out, l.job, l.nodelist);
    }
    scr_runlog_fini(&l);
    return rc == SCR_E_NOMEM ? scr_no_memory(err) : SCR_OK;
}
