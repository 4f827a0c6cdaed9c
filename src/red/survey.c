/* SPDX-License-Identifier: BSD-3-Clause */
/* The contents of the caches that this process can reach. */
#include "red/survey.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "ec/ec.h"
#include "red/redfile.h"
#include "store/cache.h"
#include "store/cntl.h"
#include "store/dset_names.h"

/* --- several datasets of one number --- */

/* Adds an entry of map, aside if it is of another dataset than *made, when that of to
 * was made (0: not known yet). */
static int add_entry(scr_filemap *to, const scr_filemap *map, const struct scr_entry *e,
                     int64_t *made)
{
    int64_t created = scr_filemap_created(map, e->dset, e->rank);
    if (created != 0 && *made != 0 && created != *made)
        return scr_filemap_set_aside(to, created, map, e->dset, e->rank);
    *made = created != 0 ? created : *made;
    return scr_filemap_copy_entry(to, map, e->dset, e->rank);
}

static int add_map(scr_filemap *to, const scr_filemap *map)
{
    int64_t oldest, made = 0;
    for (size_t i = 0; i < map->n; i++) {
        const struct scr_entry *e = map->entry[i];
        if (i == 0 || e->dset != map->entry[i - 1]->dset)
            scr_filemap_made(to, e->dset, &oldest, &made);
        TRY(add_entry(to, map, e, &made));
    }
    for (struct scr_filemap_aside *a = map->aside; a != NULL; a = a->next)
        TRY(add_map(to, &a->map));
    return SCR_OK;
}

/* 1 if all there is of each dataset, in both, was made at once. */
static int is_of_one(const scr_filemap *to, const scr_filemap *map)
{
    int64_t first, last, oldest, newest;
    int same = map->aside == NULL;
    for (size_t i = 0; i < map->n && same; i++) {
        int id = map->entry[i]->dset;
        if (i > 0 && id == map->entry[i - 1]->dset)
            continue;
        scr_filemap_made(map, id, &oldest, &newest);
        scr_filemap_made(to, id, &first, &last);
        same = newest == 0 || (oldest == newest && (last == 0 || last == newest));
    }
    return same;
}

/* The same of a map that is not needed any more: entries are not copied where all of
 * them stay in place. */
static int take_map(scr_filemap *to, scr_filemap *map)
{
    return is_of_one(to, map) ? scr_filemap_take(to, map) : add_map(to, map);
}

/* The result for the dataset that was made then. */
static int judge_rival(const struct scr_survey *s, int id, struct scr_rival *rival)
{
    struct scr_survey one = { .env = s->env,
                              .map = scr_filemap_only(s->map, id, rival->created) };
    struct scr_survey_dataset d;
    enum scr_survey_state state = SCR_SURVEY_LOST;
    struct scr_err why = SCR_ERR_INIT;
    int rc = one.map ? scr_survey_dataset(&one, id, &d, &why) : SCR_E_NOMEM;
    if (rc == SCR_OK) {
        rc = scr_survey_judge(&one, &d, 0, &state, &why);
        rival->ranks = d.ranks;
        scr_survey_dataset_fini(&d);
    }
    scr_filemap_delete(one.map);
    rival->state = state <= SCR_SURVEY_MENDABLE  ? SCR_RIVAL_WHOLE
                   : state == SCR_SURVEY_PARTIAL ? SCR_RIVAL_MAYBE
                                                 : SCR_RIVAL_NOT;
    return rc == SCR_E_NOMEM ? rc : SCR_OK;
}

/* All that are known of a number: what is in place, then what is aside. */
static int list_rivals(const struct scr_survey *s, int id, struct scr_rival **list,
                       size_t *n)
{
    int64_t oldest, newest, *aside = NULL;
    int naside = 0, rc = scr_filemap_list_aside(s->map, &naside, &aside);
    *list = rc == SCR_OK ? scr_calloc((size_t)naside + 1, sizeof **list) : NULL;
    *n = 0;
    if (*list == NULL) {
        free(aside);
        return SCR_E_NOMEM;
    }
    scr_filemap_made(s->map, id, &oldest, &newest);
    if (newest > 0)
        (*list)[(*n)++].created = newest;
    for (int i = 0; i < naside; i++)
        if (aside[i] != newest &&
            scr_filemap_num_ranks_by_dataset(scr_filemap_aside(s->map, aside[i]), id))
            (*list)[(*n)++].created = aside[i];
    free(aside);
    return SCR_OK;
}

static const struct scr_rival *newest_of(const struct scr_rival *list, size_t n)
{
    const struct scr_rival *best = list;
    for (size_t i = 1; i < n; i++)
        best = list[i].created > best->created ? &list[i] : best;
    return best;
}

/* As a start does; where none can be restored the newest is reported. */
static int settle_one(struct scr_survey *s, int id)
{
    struct scr_rival *list = NULL;
    size_t n = 0;
    int rc = list_rivals(s, id, &list, &n);
    for (size_t i = 0; i < n && rc == SCR_OK; i++)
        rc = judge_rival(s, id, &list[i]);
    if (rc == SCR_OK && n > 0) {
        const struct scr_rival *best = scr_rival_choose(list, n, 0);
        best = best ? best : newest_of(list, n);
        scr_filemap *only = scr_filemap_only(s->map, id, best->created);
        scr_filemap_remove_dataset(s->map, id);
        rc = only ? scr_filemap_merge(s->map, only) : SCR_E_NOMEM;
        scr_filemap_delete(only);
    }
    free(list);
    return rc;
}

static int settle_map(struct scr_survey *s, struct scr_err *err)
{
    int *ids = NULL, n = 0;
    int rc;
    TRY_OUT(scr_filemap_list_datasets(s->map, &n, &ids));
    for (int i = 0; i < n; i++)
        if (scr_filemap_has_aside(s->map, ids[i]))
            TRY_OUT(settle_one(s, ids[i]));
out:
    free(ids);
    return rc == SCR_OK ? rc : scr_no_memory(err);
}

static int settle(struct scr_survey *s, struct scr_err *err)
{
    for (; s != NULL; s = s->next)
        TRY(settle_map(s, err));
    return SCR_OK;
}

/* --- copies with other redundancy sets --- */

/* What a rank remembers of its set. */
struct told {
    struct scr_setdesc desc;
    int64_t created;
    int rank, is_sound; /* 0: it contradicts itself */
};

static int is_sound(const struct scr_setdesc *d, int rank)
{
    return d->failures >= 0 && d->member >= 0 && d->world[d->member] == rank;
}

static int has_common_rank(const struct scr_setdesc *a, const struct scr_setdesc *b)
{
    for (int i = 0; i < a->n; i++)
        for (int k = 0; k < b->n; k++)
            if (a->world[i] == b->world[k])
                return 1;
    return 0;
}

static int is_same_set(const struct scr_setdesc *a, const struct scr_setdesc *b)
{
    return a->scheme == b->scheme && a->failures == b->failures && a->n == b->n &&
           memcmp(a->world, b->world, (size_t)a->n * sizeof *a->world) == 0;
}

/* 1 if both cannot be of one copy: in a copy a rank is named once, and is in one set.
 * Ranks that disagree on how many they are contradict each other: not excluded. */
static int is_excluded(const struct told *a, const struct told *b)
{
    const struct scr_setdesc *x = &a->desc, *y = &b->desc;
    int are_sound = a->is_sound && b->is_sound;
    if (a->created != 0 && b->created != 0 && a->created != b->created)
        return 0; /* of two datasets */
    if (a->rank == b->rank)
        return !are_sound || x->ranks != y->ranks || !is_same_set(x, y);
    return are_sound && x->ranks == y->ranks && !is_same_set(x, y) &&
           has_common_rank(x, y);
}

/* Of all ranks that completed their part; malloc'd, NULL: out of memory. */
static struct told *list_told(const scr_filemap *map, int id, size_t *n)
{
    size_t most = (size_t)scr_filemap_num_ranks_by_dataset(map, id);
    struct told *list = scr_calloc(most + 1, sizeof *list);
    *n = 0;
    for (SCR_ENTRIES(e, map, id)) {
        if (list == NULL || scr_hash_get(e->desc, "GROUP") == NULL)
            continue;
        struct told *t = &list[(*n)++];
        scr_setdesc_get(e->desc, &t->desc);
        t->created = scr_filemap_created(map, id, e->rank);
        t->rank = e->rank;
        t->is_sound = is_sound(&t->desc, e->rank);
    }
    return list;
}

static int find_excluded(const scr_filemap *map, const scr_filemap *one, int id,
                         int *excluded)
{
    size_t n, nothers;
    struct told *mine = list_told(map, id, &n);
    struct told *others = list_told(one, id, &nothers);
    int rc = mine != NULL && others != NULL ? SCR_OK : SCR_E_NOMEM;
    for (size_t i = 0; rc == SCR_OK && i < n && !*excluded; i++)
        for (size_t k = 0; k < nothers && !*excluded; k++)
            *excluded = is_excluded(&mine[i], &others[k]);
    free(mine);
    free(others);
    return rc;
}

static int move_dataset(scr_filemap *to, scr_filemap *from, int id)
{
    for (SCR_ENTRIES(e, from, id))
        TRY(scr_filemap_copy_entry(to, from, id, e->rank));
    for (int rank = -1; scr_filemap_next_rank(from, id, &rank);)
        scr_filemap_remove_rank_by_dataset(from, id, rank);
    return SCR_OK;
}

/* Moves datasets from one to apart if map has another copy of them. */
static int split(const scr_filemap *map, scr_filemap *one, scr_filemap *apart)
{
    int *ids = NULL, n = 0;
    int rc;
    TRY_OUT(scr_filemap_list_datasets(one, &n, &ids));
    for (int i = 0; i < n; i++) {
        int excluded = 0;
        if (scr_filemap_first(map, ids[i]) != NULL)
            TRY_OUT(find_excluded(map, one, ids[i], &excluded));
        for (struct scr_filemap_aside *a = map->aside; a && !excluded; a = a->next)
            TRY_OUT(find_excluded(&a->map, one, ids[i], &excluded));
        if (excluded)
            TRY_OUT(move_dataset(apart, one, ids[i]));
    }
out:
    free(ids);
    return rc;
}

static struct scr_survey *survey_new(const struct scr_env *env)
{
    struct scr_survey *s = scr_calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    *s = (struct scr_survey){ .env = env, .map = scr_filemap_new() };
    scr_table_init(&s->unread, sizeof(struct scr_item));
    return s;
}

/* Adds what a control directory names: each dataset to the first copy that its sets do
 * not exclude. */
static int place_map(struct scr_survey *s, scr_filemap *one)
{
    scr_filemap *apart = scr_filemap_new();
    int rc;
    TRY_OUT(apart != NULL && s->map != NULL ? SCR_OK : SCR_E_NOMEM);
    TRY_OUT(split(s->map, one, apart));
    TRY_OUT(take_map(s->map, one));
    if (apart->n > 0 && s->next == NULL)
        s->next = survey_new(s->env);
    if (apart->n > 0)
        TRY_OUT(s->next != NULL ? place_map(s->next, apart) : SCR_E_NOMEM);
out:
    scr_filemap_delete(apart);
    return rc;
}

/* --- the filemaps --- */

static int read_cntl(struct scr_survey *s, const char *dir, scr_filemap *map,
                     struct scr_err *err)
{
    struct scr_cntl c;
    TRY(scr_cntl_open(s->env, dir, 0, &c, err));
    int rc = scr_cntl_survey_node(s->env, &c, map, &s->unread, err);
    scr_cntl_close(s->env, &c);
    return rc;
}

static int add_cntl(struct scr_survey *s, const char *dir, struct scr_err *err)
{
    scr_filemap *one = scr_filemap_new();
    int rc = one ? read_cntl(s, dir, one, err) : scr_no_memory(err);
    if (rc == SCR_OK && place_map(s, one) != SCR_OK)
        rc = scr_no_memory(err);
    scr_filemap_delete(one);
    return rc;
}

int scr_survey_open(struct scr_survey *s, const struct scr_env *env,
                    const char *const *cntl, size_t n, struct scr_err *err)
{
    *s = (struct scr_survey){ .env = env, .map = scr_filemap_new() };
    scr_table_init(&s->unread, sizeof(struct scr_item));
    TRY(s->map ? SCR_OK : scr_no_memory(err));
    for (size_t i = 0; i < n; i++)
        TRY(add_cntl(s, cntl[i], err));
    return settle(s, err);
}

/* Drops from map what s has of the dataset already. */
static void drop_known(const struct scr_survey *s, int id, scr_filemap *map)
{
    for (SCR_ENTRIES(e, s->map, id))
        if (scr_redplace_get(e->desc).store != NULL)
            scr_filemap_remove_rank_by_dataset(map, id, e->rank);
}

/* The filemaps stored with a dataset's files are named as those in a control
 * directory. */
static int read_shared(struct scr_survey *s, const char *cache, int id,
                       struct scr_err *err)
{
    char *dir = scr_cache_red_path(cache, id, "");
    scr_filemap *map = scr_filemap_new();
    int rc = SCR_E_NOMEM;
    if (dir != NULL && map != NULL)
        rc = scr_file_is_there(s->env->sys, dir) ? read_cntl(s, dir, map, err) : SCR_OK;
    if (rc == SCR_OK) {
        drop_known(s, id, map);
        rc = take_map(s->map, map);
    }
    scr_filemap_delete(map);
    free(dir);
    return rc == SCR_E_NOMEM ? scr_fail(err, rc, 0, "filemap: out of memory") : rc;
}

int scr_survey_add_shared(struct scr_survey *s, const char *cache, struct scr_err *err)
{
    int *ids = NULL;
    size_t n = 0;
    int rc = scr_dset_ids(s->env, cache, &ids, &n, err);
    for (size_t i = 0; i < n && rc == SCR_OK; i++)
        rc = read_shared(s, cache, ids[i], err);
    free(ids);
    return rc == SCR_OK ? settle(s, err) : rc;
}

int scr_survey_reach(struct scr_survey *s, const struct scr_env *env,
                     const struct scr_reach *r, struct scr_err *err)
{
    TRY(scr_survey_open(s, env, (const char *const *)r->cntl, r->n, err));
    for (size_t i = 0; i < r->nshared; i++)
        TRY(scr_survey_add_shared(s, r->shared[i], err));
    for (; s != NULL; s = s->next)
        s->is_all = r->is_all;
    return SCR_OK;
}

void scr_survey_fini(struct scr_survey *s)
{
    for (struct scr_survey *copy = s->next, *next; copy != NULL; copy = next) {
        next = copy->next;
        scr_filemap_delete(copy->map);
        scr_table_fini(&copy->unread);
        free(copy);
    }
    scr_filemap_delete(s->map);
    scr_table_fini(&s->unread);
    *s = (struct scr_survey){ 0 };
}

const struct scr_survey *scr_survey_copy(const struct scr_survey *s, int id)
{
    while (s != NULL && scr_filemap_first(s->map, id) == NULL)
        s = s->next;
    return s;
}

/* --- a dataset and its sets --- */

void scr_survey_dataset_fini(struct scr_survey_dataset *d)
{
    scr_table_fini(&d->sets);
    *d = (struct scr_survey_dataset){ 0 };
}

/* The set of a descriptor, made if it is new; NULL: out of memory. */
static struct scr_survey_set *find_set(struct scr_survey_dataset *d,
                                       const struct scr_setdesc *desc)
{
    char name[32];
    size_t n = (size_t)desc->n;
    snprintf(name, sizeof name, "%d %d", desc->id, desc->n);
    struct scr_survey_set *set = scr_table_add(&d->sets, name);
    if (set == NULL || set->n > 0)
        return set;
    set->n = desc->n;
    set->id = desc->id;
    set->scheme = desc->scheme;
    set->rank = scr_arena_get(&d->sets.arena, n * sizeof *set->rank);
    set->red = scr_arena_get(&d->sets.arena, n * sizeof *set->red);
    set->dir = scr_arena_get(&d->sets.arena, n * sizeof *set->dir);
    if (!scr_table_ok(&d->sets))
        return NULL;
    memcpy(set->rank, desc->world, n * sizeof *set->rank);
    return set;
}

/* The redundancy file a rank names, <dataset>/.scr/<name>; NULL: none. Nothing is
 * recorded yet of one that had just come from another node when the run died. */
static const char *redfile_of(const struct scr_survey *s, int id, int rank)
{
    const char *come = NULL;
    for (SCR_FILES(f, s->map, id, rank)) {
        enum scr_scheme scheme;
        const char *path = f->item.name;
        const scr_meta *meta = scr_file_meta(f);
        int member, n, set;
        if (!scr_redfile_parse(scr_path_base(path), &scheme, &member, &n, &set))
            continue;
        if (scr_scheme_parse(scr_meta_text(meta, SCR_META_TYPE), &scheme))
            return path;
        if (meta == NULL && scr_file_is_there(s->env->sys, path))
            come = path;
    }
    return come;
}

/* <dataset>/rank.<r> from <dataset>/.scr/<redundancy file>. */
static char *rank_dir(struct scr_arena *arena, const char *redfile, int rank)
{
    char *scr = scr_path_dir(redfile), *dset = scr ? scr_path_dir(scr) : NULL;
    char *dir = dset ? scr_asprintf("%s/rank.%d", dset, rank) : NULL;
    char *kept = scr_arena_text(arena, dir);
    free(scr);
    free(dset);
    free(dir);
    return kept;
}

char *scr_survey_where(const struct scr_survey *s, int id)
{
    const char *red = NULL;
    for (SCR_ENTRIES(e, s->map, id))
        red = red != NULL ? red : redfile_of(s, id, e->rank);
    char *scr = red ? scr_path_dir(red) : NULL, *dir = scr ? scr_path_dir(scr) : NULL;
    free(scr);
    return dir;
}

/* Enters a rank whose part of the dataset was completed. */
static int take_rank(const struct scr_survey *s, struct scr_survey_dataset *d, int rank,
                     const scr_hash *h, struct scr_err *err)
{
    struct scr_setdesc desc;
    const char *red = redfile_of(s, d->id, rank);
    scr_setdesc_get(h, &desc);
    if (!is_sound(&desc, rank) || (d->ranks != 0 && d->ranks != desc.ranks))
        return scr_fail(err, SCR_E_CORRUPT, 0,
                        "dataset %d in cache: what rank %d remembers of its redundancy "
                        "set contradicts itself or others",
                        d->id, rank);
    d->ranks = desc.ranks;
    struct scr_survey_set *set = find_set(d, &desc);
    TRY(set ? SCR_OK : scr_no_memory(err));
    if (red == NULL || set->red[desc.member] != NULL)
        return SCR_OK; /* named, but nothing of it is: as if it were elsewhere */
    set->red[desc.member] = scr_arena_text(&d->sets.arena, red);
    set->dir[desc.member] = rank_dir(&d->sets.arena, red, rank);
    return set->red[desc.member] && set->dir[desc.member] ? SCR_OK : scr_no_memory(err);
}

static int take_ranks(const struct scr_survey *s, struct scr_survey_dataset *d,
                      struct scr_err *err)
{
    int rc = SCR_OK;
    for (SCR_ENTRIES(e, s->map, d->id)) {
        d->here++;
        if (d->d.id == 0 && e->dataset != NULL &&
            scr_dataset_get(e->dataset, &d->d, NULL) != SCR_OK)
            d->d.id = 0;
        /* One without was asked to write, and has not come to the end. */
        if (rc == SCR_OK && scr_hash_get(e->desc, "GROUP") != NULL)
            rc = take_rank(s, d, e->rank, e->desc, err);
    }
    return rc == SCR_OK && d->here == 0
               ? scr_fail(err, SCR_E_NOENT, 0, "no dataset %d in cache", d->id)
               : rc;
}

int scr_survey_dataset(const struct scr_survey *s, int id, struct scr_survey_dataset *d,
                       struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    *d = (struct scr_survey_dataset){ .id = id };
    scr_table_init(&d->sets, sizeof(struct scr_survey_set));
    int rc = take_ranks(s, d, &why);
    if (rc == SCR_OK)
        return SCR_OK;
    scr_survey_dataset_fini(d);
    return scr_err_take(err, rc, &why);
}

/* --- states --- */

static int members_here(const struct scr_survey_set *set)
{
    int here = 0;
    for (int i = 0; i < set->n; i++)
        here += set->red[i] != NULL;
    return here;
}

/* Behind how many are here. */
static const char *of_others(const struct scr_survey *s)
{
    return s->is_all ? "; the run has no other nodes" : "";
}

/* The state of a set: any but OPEN. */
static int judge_set(const struct scr_survey *s, const struct scr_survey_set *set,
                     int with_crc, enum scr_survey_state *state, struct scr_err *reason)
{
    const struct scr_env quiet = { .sys = s->env->sys };
    struct scr_err why = SCR_ERR_INIT;
    int lost[SCR_EC_MAX] = { 0 }, nlost = 0, here = members_here(set);
    const struct scr_rebuild_set left = { .n = set->n,
                                          .red = (const char *const *)set->red,
                                          .dir = (const char *const *)set->dir };
    int rc = scr_rebuild_check(&quiet, &left, with_crc, lost, &why);
    if (rc == SCR_E_NOMEM)
        return scr_err_take(reason, rc, &why);
    for (int i = 0; i < set->n; i++)
        nlost += lost[i] != 0;
    *state = rc == SCR_OK ? (nlost > 0 ? SCR_SURVEY_MENDABLE : SCR_SURVEY_WHOLE)
             : !s->is_all && here < set->n && (rc == SCR_E_LOST || scr_err_may_pass(rc))
                 ? SCR_SURVEY_PARTIAL
             : scr_err_may_pass(rc) ? SCR_SURVEY_KEPT
                                    : SCR_SURVEY_LOST;
    if (*state == SCR_SURVEY_PARTIAL || (here < set->n && rc == SCR_E_LOST))
        scr_fail(reason, SCR_E_LOST, 0, "%d of the %d members of set %d are here%s",
                 here, set->n, set->id, of_others(s));
    else if (*state == SCR_SURVEY_LOST || *state == SCR_SURVEY_KEPT)
        scr_err_take(reason, rc, &why);
    else if (*state == SCR_SURVEY_MENDABLE)
        scr_fail(reason, SCR_E_MISSING, 0,
                 "%d of the %d members of set %d can be rebuilt by %s", nlost, set->n,
                 set->id, scr_scheme_name(set->scheme));
    return SCR_OK;
}

int scr_survey_judge(const struct scr_survey *s, const struct scr_survey_dataset *d,
                     int with_crc, enum scr_survey_state *state, struct scr_err *reason)
{
    struct scr_err of_set[2] = { SCR_ERR_INIT, SCR_ERR_INIT };
    int covered = 0, rc = SCR_OK;
    *state = d->ranks == 0 ? SCR_SURVEY_OPEN : SCR_SURVEY_WHOLE;
    if (d->ranks == 0)
        scr_fail(reason, SCR_E_MISSING, 0, "it was not completed");
    for (SCR_EACH(const struct scr_survey_set, set, &d->sets)) {
        enum scr_survey_state one = SCR_SURVEY_WHOLE;
        if (rc != SCR_OK)
            break;
        scr_err_clear(&of_set[1]);
        rc = judge_set(s, set, with_crc, &one, &of_set[1]);
        covered += set->n;
        if (rc == SCR_OK && one > *state) {
            *state = one;
            of_set[0] = of_set[1];
        }
    }
    if (rc == SCR_OK && covered < d->ranks && *state < SCR_SURVEY_PARTIAL) {
        *state = s->is_all ? SCR_SURVEY_LOST : SCR_SURVEY_PARTIAL;
        scr_err_clear(&of_set[0]);
        scr_fail(&of_set[0], SCR_E_LOST, 0, "%d of %d ranks are here%s", d->here,
                 d->ranks, of_others(s));
    }
    TRY(scr_err_take(reason, rc, &of_set[1]));
    if (of_set[0].code != SCR_OK)
        scr_err_take(reason, of_set[0].code, &of_set[0]);
    return SCR_OK;
}

/* --- repair --- */

int scr_survey_mend(const struct scr_survey *s, const struct scr_survey_set *set,
                    int *ranks, struct scr_err *err)
{
    int rebuilt[SCR_EC_MAX] = { 0 };
    *ranks = 0;
    if (members_here(set) < set->n)
        return scr_fail(err, SCR_E_UNSUPPORTED, 0,
                        "redundancy set %d: %d of its %d members are here, a restart "
                        "can rebuild it on all nodes",
                        set->id, members_here(set), set->n);
    const struct scr_rebuild_set left = { .n = set->n,
                                          .red = (const char *const *)set->red,
                                          .dir = (const char *const *)set->dir,
                                          .out = (const char *const *)set->red };
    int rc = scr_rebuild_serial(s->env, &left, rebuilt, err);
    for (int i = 0; i < set->n; i++)
        *ranks += rebuilt[i] != 0;
    return rc;
}
