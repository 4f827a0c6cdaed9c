/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets that other prefix directories have in a store of this node. */
#include "store/neighbour.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "ec/ec.h"
#include "store/dset_names.h"
#include "store/prefix.h"

/* Its log is quiet: the owners report errors of their files. Calls here give codes
 * alone, as what cannot leave stays, whatever the cause. */
static struct scr_env quiet(const struct scr_env *env)
{
    return (struct scr_env){ .sys = env->sys };
}

/* --- order --- */

struct scr_neighbour_key scr_neighbour_key(const struct scr_neighbour *n)
{
    uint32_t crc = scr_crc32(0, n->name, strlen(n->name)) & INT32_MAX;
    return (struct scr_neighbour_key){ n->created, (int64_t)crc << 32 | n->id };
}

int scr_neighbour_compare(struct scr_neighbour_key a, struct scr_neighbour_key b)
{
    if (a.created != b.created)
        return a.created < b.created ? -1 : 1;
    return a.tie < b.tie ? -1 : a.tie > b.tie;
}

/* --- directories --- */

static char *dir_of(const struct scr_neighbour_at *at, const char *name)
{
    struct scr_place place = *at->place;
    place.prefix = name;
    return scr_place_dir(&place, at->store, 1);
}

static int is_dir(const struct scr_env *env, const char *dir)
{
    struct stat st;
    return scr_file_stat(env->sys, dir, &st, NULL) == SCR_OK && S_ISDIR(st.st_mode);
}

/* Entries of the job's directory. */
static int list_names(const struct scr_neighbour_at *at, char ***names, size_t *n)
{
    char *job = dir_of(at, NULL);
    *names = NULL;
    *n = 0;
    int rc = job ? scr_dir_list(at->env->sys, job, names, n, NULL) : SCR_E_NOMEM;
    free(job);
    return rc == SCR_E_NOENT ? SCR_OK : rc;
}

static int is_other(const struct scr_neighbour_at *at, const char *name)
{
    return scr_identity_is_name(name) && strcmp(name, at->place->prefix) != 0;
}

int scr_neighbour_is_any(const struct scr_neighbour_at *at)
{
    char **names;
    size_t n;
    int any = 0;
    (void)list_names(at, &names, &n);
    for (size_t i = 0; i < n; i++)
        any = any || is_other(at, names[i]);
    scr_names_free(names, n);
    return any;
}

/* --- what filemaps say --- */

static void add_entry(const struct scr_entry *e, struct scr_neighbour *d)
{
    struct scr_dataset of;
    if (e->dataset != NULL && scr_dataset_get(e->dataset, &of, NULL) == SCR_OK) {
        d->created = of.created > 0 ? of.created : 1;
        d->is_output = of.is_output;
    }
    if (scr_hash_get_val(e->desc, "STORE") != NULL)
        d->is_done = 1;
    for (SCR_EACH(struct scr_file, f, &e->files)) {
        uint64_t size = 0;
        (void)scr_meta_get_filesize(scr_file_meta(f), &size);
        d->bytes += size;
    }
}

static void describe(const scr_filemap *map, struct scr_neighbour *d)
{
    for (SCR_ENTRIES(e, map, d->id))
        add_entry(e, d);
    if (d->is_done && d->created == 0) /* its kind is not known: it may be output */
        d->created = d->is_output = 1;
}

/* Datasets in another store do not leave this one. */
static int is_elsewhere(const struct scr_neighbour_at *at, const scr_filemap *map,
                        int id)
{
    for (SCR_ENTRIES(e, map, id)) {
        const char *store = scr_hash_get_val(e->desc, "STORE");
        if (store != NULL && !scr_dir_is_same(at->env->sys, store, at->store))
            return 1;
    }
    return 0;
}

/* Parts of several datasets of one number are for a start to choose from (invariant
 * C14). */
static int is_several(const scr_filemap *map, int id)
{
    int64_t oldest = 0, newest = 0;
    scr_filemap_made(map, id, &oldest, &newest);
    return scr_filemap_has_aside(map, id) || (newest > 0 && oldest != newest);
}

/* All that the control directory of `dir` names. An absent one names nothing;
 * SCR_E_UNSUPPORTED: it is not known, or not all of it can be read. */
static int read_map(const struct scr_env *env, const char *dir, scr_filemap *map)
{
    struct scr_cntl cntl;
    const struct scr_env q = quiet(env);
    char *cntl_dir = scr_cntl_job_path(env, dir, SCR_CNTL_JOB_CNTL);
    struct scr_table unread = SCR_TABLE_OF(struct scr_item);
    int rc = cntl_dir ? SCR_OK : SCR_E_UNSUPPORTED;
    if (rc == SCR_OK && is_dir(env, cntl_dir)) {
        rc = scr_cntl_open(&q, cntl_dir, 0, &cntl, NULL);
        if (rc == SCR_OK)
            rc = scr_cntl_survey_node(&q, &cntl, map, &unread, NULL);
        if (rc == SCR_OK && (unread.n > 0 || scr_cntl_has_newer(&q, &cntl)))
            rc = SCR_E_UNSUPPORTED;
        scr_cntl_close(&q, &cntl);
    }
    scr_table_fini(&unread);
    free(cntl_dir);
    return rc;
}

/* --- the list --- */

struct listing {
    const struct scr_neighbour_at *at;
    struct scr_neighbour *list;
    size_t n;
};

static int add_one(struct listing *l, const char *name, int id, const scr_filemap *map)
{
    struct scr_neighbour *grown = scr_reallocarray(l->list, l->n + 1, sizeof *l->list);
    TRY(grown ? SCR_OK : SCR_E_NOMEM);
    l->list = grown;
    struct scr_neighbour *d = &l->list[l->n++];
    *d = (struct scr_neighbour){ .id = id };
    memcpy(d->name, name, strlen(name) + 1);
    describe(map, d);
    return SCR_OK;
}

static int add_prefix(struct listing *l, const char *name)
{
    const struct scr_env *env = l->at->env;
    int *ids = NULL, rc = SCR_OK;
    size_t n = 0;
    char *dir = dir_of(l->at, name);
    scr_filemap *map = scr_filemap_new();
    if (dir == NULL || map == NULL)
        rc = SCR_E_NOMEM;
    else if (is_dir(env, dir) && scr_dset_ids(env, dir, &ids, &n, NULL) == SCR_OK &&
             n > 0 && read_map(env, dir, map) == SCR_OK)
        for (size_t i = 0; i < n && rc == SCR_OK; i++)
            if (!is_elsewhere(l->at, map, ids[i]) && !is_several(map, ids[i]))
                rc = add_one(l, name, ids[i], map);
    scr_filemap_delete(map);
    free(dir);
    free(ids);
    return rc;
}

int scr_neighbour_list(const struct scr_neighbour_at *at, struct scr_neighbour **list,
                       size_t *n)
{
    struct listing l = { .at = at };
    char **names;
    size_t nnames;
    int rc;
    TRY_OUT(list_names(at, &names, &nnames));
    for (size_t i = 0; i < nnames; i++)
        if (is_other(at, names[i]))
            TRY_OUT(add_prefix(&l, names[i]));
out:
    scr_names_free(names, nnames);
    *list = l.list;
    *n = l.n;
    return rc;
}

/* --- the locks of one --- */

/* A directory that goes in this moment has nothing to hold: *gone. */
static int lock_in(const struct scr_env *env, const char *dir, const char *name,
                   struct scr_lock *lock, int *gone)
{
    char *path = scr_path_join(dir, name);
    int rc;
    TRY_OUT(path ? scr_lock_acquire(env->sys, path, 0, lock, NULL) : SCR_E_NOMEM);
    TRY_OUT(scr_lock_beat(env->sys, lock, path, NULL));
out:
    free(path);
    *gone = rc == SCR_E_NOENT;
    return *gone ? SCR_OK : rc;
}

/* A run of the prefix directory holds that of this store, too, whatever control
 * directory it has. *gone: the dataset to hold does not exist. */
static int take_locks(const struct scr_env *env, struct scr_neighbour_hold *h,
                      int *gone)
{
    int none = 0;
    int rc = lock_in(env, h->dir, SCR_CNTL_JOB_LOCK, &h->locks[0], gone);
    if (rc != SCR_OK || *gone)
        return rc;
    h->cntl_dir = scr_cntl_job_path(env, h->dir, SCR_CNTL_JOB_CNTL);
    if (h->cntl_dir == NULL)
        return SCR_E_UNSUPPORTED;
    if (!is_dir(env, h->cntl_dir))
        return SCR_OK;
    if (!scr_dir_is_same(env->sys, h->cntl_dir, h->dir))
        rc = lock_in(env, h->cntl_dir, SCR_CNTL_JOB_LOCK, &h->locks[1], &none);
    if (rc == SCR_OK && !none)
        rc = lock_in(env, h->cntl_dir, SCR_CNTL_COPY_LOCK, &h->locks[2], &none);
    return rc == SCR_OK && !none ? scr_cntl_open(env, h->cntl_dir, 0, &h->cntl, NULL)
                                 : rc;
}

/* All of the node in one map. */
static int look_at(const struct scr_neighbour_at *at, struct scr_neighbour_hold *h,
                   int *gone)
{
    int id = h->what.id, rc = SCR_OK;
    scr_filemap *map = scr_filemap_new();
    for (size_t i = 0; i < h->maps.n && rc == SCR_OK; i++)
        rc = scr_filemap_merge(map, h->maps.of[i].map);
    if (map == NULL || rc != SCR_OK)
        rc = SCR_E_NOMEM;
    else if (is_several(map, id))
        rc = SCR_E_STATE;
    describe(map, &h->what);
    *gone = is_elsewhere(at, map, id);
    for (SCR_ENTRIES(e, map, id))
        h->dset = h->dset == NULL ? scr_hash_dup(e->dataset) : h->dset;
    scr_filemap_delete(map);
    return rc;
}

static int hold(const struct scr_neighbour_at *at, struct scr_neighbour_hold *h,
                int *gone)
{
    const struct scr_env q = quiet(at->env);
    char *dset_dir = h->dir ? scr_dset_path(h->dir, h->what.id) : NULL;
    TRY(dset_dir ? SCR_OK : SCR_E_NOMEM);
    *gone = !is_dir(&q, dset_dir);
    free(dset_dir);
    int rc = *gone ? SCR_OK : take_locks(&q, h, gone);
    if (rc != SCR_OK || *gone)
        return rc;
    h->prefix = scr_cntl_job_path(&q, h->dir, SCR_CNTL_JOB_PREFIX);
    if (h->cntl.dir != NULL)
        rc = scr_cntl_maps_of(&q, &h->cntl, h->what.id, &h->maps, NULL);
    return rc == SCR_OK ? look_at(at, h, gone) : rc;
}

int scr_neighbour_hold(const struct scr_neighbour_at *at, const char *name, int id,
                       struct scr_neighbour_hold *h)
{
    int gone = 0;
    *h = (struct scr_neighbour_hold)SCR_NEIGHBOUR_HOLD_INIT;
    h->what.id = id;
    snprintf(h->what.name, sizeof h->what.name, "%s", name);
    h->dir = dir_of(at, name);
    int rc = hold(at, h, &gone);
    if (gone)
        h->what.id = 0;
    return rc;
}

void scr_neighbour_release(const struct scr_env *env, struct scr_neighbour_hold *h)
{
    for (size_t i = 0; i < sizeof h->locks / sizeof *h->locks; i++)
        scr_lock_release(env->sys, &h->locks[i]);
    scr_cntl_close(env, &h->cntl);
    scr_cntl_maps_fini(&h->maps);
    scr_hash_delete(h->dset);
    free(h->dir);
    free(h->cntl_dir);
    free(h->prefix);
    *h = (struct scr_neighbour_hold)SCR_NEIGHBOUR_HOLD_INIT;
}

/* --- leaving --- */

static void never_completed(scr_filemap *map, int id)
{
    for (SCR_ENTRIES(e, map, id)) {
        scr_hash_delete(e->desc);
        e->desc = NULL;
        e->expected = -1;
    }
}

/* The maps with the entries of the dataset changed. */
static int write_changed(const struct scr_env *env, struct scr_neighbour_hold *h,
                         void (*change)(scr_filemap *map, int id))
{
    struct scr_cntl_maps maps = { h->what.id, scr_calloc(h->maps.n, sizeof *maps.of),
                                  0 };
    int ok = maps.of != NULL;
    for (size_t i = 0; i < h->maps.n && ok; i++) {
        scr_filemap *copy = scr_filemap_dup(h->maps.of[i].map);
        ok = copy != NULL;
        maps.of[maps.n++] = (struct scr_cntl_map){ h->maps.of[i].local, copy };
        change(copy, h->what.id);
    }
    int rc = ok ? scr_cntl_write_maps(env, &h->cntl, &maps, NULL) : SCR_E_NOMEM;
    scr_cntl_maps_fini(&maps);
    return rc;
}

static void remove_redundancy(const struct scr_env *env, const scr_filemap *map, int id)
{
    for (SCR_ENTRIES(e, map, id))
        for (SCR_EACH(struct scr_file, f, &e->files))
            if (scr_meta_text(scr_file_meta(f), SCR_META_TYPE) != NULL &&
                !scr_meta_is_full(scr_file_meta(f)))
                (void)scr_file_remove(env->sys, f->item.name, NULL);
}

/* Where there is no room for the new maps, redundancy makes it: without that the
 * dataset is whole still. */
int scr_neighbour_give_up(const struct scr_env *env, struct scr_neighbour_hold *h)
{
    int rc = write_changed(env, h, never_completed);
    if (rc != SCR_E_FULL)
        return rc;
    for (size_t i = 0; i < h->maps.n; i++)
        remove_redundancy(env, h->maps.of[i].map, h->what.id);
    return write_changed(env, h, never_completed);
}

void scr_neighbour_restore(const struct scr_env *env, struct scr_neighbour_hold *h)
{
    if (h->what.id != 0)
        (void)scr_cntl_write_maps(env, &h->cntl, &h->maps, NULL);
}

int scr_neighbour_remove(const struct scr_env *env, struct scr_neighbour_hold *h)
{
    TRY(scr_cache_remove(env, h->dir, h->what.id, NULL));
    return write_changed(env, h, scr_filemap_remove_dataset);
}

/* --- its prefix directory --- */

int scr_neighbour_is_saved(const struct scr_env *env,
                           const struct scr_neighbour_hold *h)
{
    const struct scr_env q = quiet(env);
    struct scr_prefix p;
    if (h->dset == NULL || !scr_identity_open(&q, h->prefix, h->what.name, &p))
        return 0;
    struct scr_index index = SCR_INDEX_INIT;
    scr_hash *flush = scr_hash_new();
    int saved = flush && scr_prefix_index_look(&q, &p, &index, NULL) == SCR_OK &&
                scr_prefix_state_read(&q, &p, "flush.scr", flush, NULL) == SCR_OK &&
                scr_flush_is_settled(flush, &index, h->what.id, h->dset);
    scr_hash_delete(flush);
    scr_index_fini(&index);
    scr_prefix_fini(&p);
    return saved;
}

int scr_neighbour_is_scavenged(const struct scr_env *env,
                               const struct scr_neighbour_hold *h)
{
    const struct scr_env q = quiet(env);
    struct scr_prefix p;
    if (!scr_identity_open(&q, h->prefix, h->what.name, &p))
        return 0;
    int held = scr_prefix_lock_is_held(&q, &p, SCR_SCAVENGE_LOCK);
    scr_prefix_fini(&p);
    return held > 0;
}
