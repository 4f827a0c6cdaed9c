/* SPDX-License-Identifier: BSD-3-Clause */
/* Which of several datasets of one number to restore. One rank decides on each set of
 * each of them; the holders report their files to it. */
#include "par/redundancy/rivals.h"

#include <stdlib.h>

#include "base/io.h"
#include "base/str.h"
#include "base/units.h"
#include "fmt/dataset.h"
#include "par/redundancy/restoring.h"
#include "par/redundancy/setjudge.h"

struct rivals {
    const struct scr_env *env;
    const struct scr_comm *world;
    const scr_filemap *map;
    int id;
    int64_t *aside; /* times of creation of what is aside here */
    int naside;
    struct scr_rival *list; /* oldest first, the same on all ranks */
    uint64_t *covered;      /* ranks of each that are whole or can be rebuilt */
    size_t n;
};

/* --- which there are --- */

/* The map of the i-th time of creation; 0: of what is in its place. */
static const scr_filemap *map_at(const struct rivals *v, int i)
{
    return i == 0 ? v->map : scr_filemap_aside(v->map, v->aside[i - 1]);
}

/* The oldest after last with files here; INT64_MAX: none. */
static int64_t next_created(const struct rivals *v, int64_t last)
{
    int64_t next = INT64_MAX;
    for (int i = 0; i <= v->naside; i++) {
        const scr_filemap *map = map_at(v, i);
        for (SCR_ENTRIES(e, map, v->id)) {
            int64_t c = scr_filemap_created(map, v->id, e->rank);
            next = c > last && c < next ? c : next;
        }
    }
    return next;
}

static int push(struct rivals *v, int64_t created, struct scr_err *err)
{
    struct scr_rival *grown = scr_reallocarray(v->list, v->n + 1, sizeof *grown);
    TRY(grown ? SCR_OK : scr_no_memory(err));
    v->list = grown;
    v->list[v->n++] = (struct scr_rival){ .created = created };
    return SCR_OK;
}

static int list_all(struct rivals *v, struct scr_err *err)
{
    int rc = scr_filemap_list_aside(v->map, &v->naside, &v->aside);
    int64_t at = 0;
    if (rc != SCR_OK)
        scr_no_memory(err);
    rc = scr_agree_all(v->world, rc, err);
    if (rc != SCR_OK)
        return rc;
    while ((at = scr_min_all(v->world, next_created(v, at))) != INT64_MAX)
        if (rc == SCR_OK)
            rc = push(v, at, err);
    v->covered = scr_calloc(v->n, sizeof *v->covered);
    if (rc == SCR_OK && v->covered == NULL)
        rc = scr_no_memory(err);
    return scr_agree_all(v->world, rc, err);
}

/* --- what is here --- */

/* 1 unless the file is known to be gone, or not to be the one recorded. */
static int seems_good(const struct rivals *v, const char *path, const scr_meta *meta)
{
    struct stat st;
    uint64_t size = 0;
    int rc = scr_file_stat(v->env->sys, path, &st, NULL);
    if (rc != SCR_OK)
        return scr_err_may_pass(rc);
    return S_ISREG(st.st_mode) && scr_meta_get_filesize(meta, &size) == SCR_OK &&
           (uint64_t)st.st_size == size;
}

static int has_header(const struct rivals *v, const char *path, int r)
{
    struct scr_redhead head;
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_restore_read_header(v->env, path, v->id, r, &head, &why);
    scr_redhead_fini(&head);
    return rc == SCR_OK || scr_err_may_pass(rc);
}

/* SCR_HAVE_* of a rank's part. */
static int look_at(const struct rivals *v, const struct scr_entry *e)
{
    int files = 0, parity = 0;
    for (SCR_EACH(const struct scr_file, f, &e->files)) {
        const char *path = f->item.name;
        const scr_meta *meta = scr_file_meta(f);
        int good = meta != NULL && seems_good(v, path, meta);
        if (good && scr_meta_is_full(meta))
            files++;
        else if (good && has_header(v, path, e->rank))
            parity = SCR_HAVE_PARITY;
    }
    return parity | (files == e->expected ? SCR_HAVE_DATA : 0);
}

static int tell(const struct rivals *v, const scr_filemap *map,
                const struct scr_entry *e, struct scr_parcels *send,
                struct scr_err *err)
{
    struct scr_setdesc known;
    int64_t created = scr_filemap_created(map, v->id, e->rank);
    scr_setdesc_get(e->desc, &known);
    if (known.n == 0 || created == 0)
        return SCR_OK;
    const struct scr_setjudge_told told = { created, e->rank, look_at(v, e) };
    return scr_setjudge_tell(v->world, &known, &told, send, err);
}

/* --- the ranks that decide --- */

/* A set whose description cannot be used covers no rank. */
static int judge_set(struct rivals *v, const struct scr_judged *set,
                     struct scr_err *err)
{
    int ok = 0;
    size_t i = 0;
    while (i < v->n && v->list[i].created != set->created)
        i++;
    if (i == v->n)
        return SCR_OK;
    if (set->ranks > 0)
        v->list[i].ranks = set->ranks;
    if (scr_setjudge_suffices(set, &ok, NULL) == SCR_E_NOMEM)
        return scr_no_memory(err);
    v->covered[i] += ok ? (uint64_t)set->n : 0;
    return SCR_OK;
}

static int judge(struct rivals *v, const struct scr_parcels *told, struct scr_err *err)
{
    struct scr_table sets;
    int rc;
    TRY_OUT(scr_setjudge_hear(told, &sets, err));
    for (SCR_EACH(struct scr_judged, set, &sets))
        TRY_OUT(judge_set(v, set, err));
out:
    scr_table_fini(&sets);
    return rc;
}

static int judge_all(struct rivals *v, struct scr_err *err)
{
    struct scr_parcels send = { 0 }, told = { 0 };
    int rc = SCR_OK;
    for (int i = 0; i <= v->naside; i++)
        for (SCR_ENTRIES(e, map_at(v, i), v->id))
            rc = rc == SCR_OK ? tell(v, map_at(v, i), e, &send, err) : rc;
    rc = scr_parcels_exchange_all(v->world, rc, &send, &told, err);
    if (rc == SCR_OK)
        rc = scr_agree_all(v->world, judge(v, &told, err), err);
    scr_parcels_free(&send);
    scr_parcels_free(&told);
    return rc;
}

/* The results, to all. */
static void sum_up_all(struct rivals *v)
{
    scr_sums_all(v->world, v->covered, (int)v->n);
    for (size_t i = 0; i < v->n; i++) {
        struct scr_rival *r = &v->list[i];
        r->ranks = (int)scr_max_all(v->world, r->ranks);
        r->state = r->ranks > 0 && v->covered[i] == (uint64_t)r->ranks ? SCR_RIVAL_WHOLE
                                                                       : SCR_RIVAL_NOT;
    }
}

static int choose(const struct rivals *v, int64_t *created, struct scr_err *err)
{
    size_t n = 0;
    while (n < v->n && v->list[n].created < *created)
        n++;
    const struct scr_rival *best = scr_rival_choose(v->list, n, v->world->size);
    int other = 0;
    for (size_t i = 0; i < v->n; i++)
        other = v->list[i].ranks != v->world->size ? v->list[i].ranks : other;
    if (best != NULL) {
        *created = best->created;
        return SCR_OK;
    }
    if (other > 0)
        return scr_fail(
            err, SCR_E_RANKS, 0,
            "dataset %d in cache: the nodes hold parts of %zu datasets of "
            "this number, one of them written by %d rank%s, this run has %d",
            v->id, v->n, other, scr_plural(other), v->world->size);
    return scr_fail(err, SCR_E_LOST, 0,
                    "dataset %d in cache: the nodes hold parts of %zu datasets of this "
                    "number, and each has lost more than can be rebuilt",
                    v->id, v->n);
}

int scr_rivals_choose_all(const struct scr_env *env, const struct scr_comm *world,
                          const scr_filemap *map, int id, int64_t *created,
                          struct scr_err *err)
{
    struct rivals v = { .env = env, .world = world, .map = map, .id = id };
    int rc;
    TRY_OUT(list_all(&v, err));
    TRY_OUT(judge_all(&v, err));
    sum_up_all(&v);
    TRY_OUT(choose(&v, created, err));
out:
    free(v.aside);
    free(v.covered);
    free(v.list);
    return rc;
}
