/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of one dataset that this rank holds while they are moved to their
 * owners. */
#include "par/migrate/holdings.h"

#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "store/cache.h"
#include "xfer/copy.h"

/* A rel and the paths it is found at; a rel and where it shall be; a directory and the
 * one where pruning ends. */
struct path {
    const char *path;
    struct path *next;
};
struct found {
    struct scr_item item;
    struct path *first;
};
struct place {
    struct scr_item item;
    const char *path;
};

int scr_holdings_init(struct scr_holdings *h, struct scr_err *err)
{
    scr_table_init(&h->target, sizeof(struct place));
    scr_table_init(&h->dirs, sizeof(struct place));
    h->tmp = scr_asprintf("%s/rank.%d/" SCR_COPY_TMP, h->dset_dir, h->me);
    h->dirty = 0;
    return h->tmp != NULL ? SCR_OK : scr_no_memory(err);
}

void scr_holdings_fini(struct scr_holdings *h)
{
    for (size_t i = 0; i < h->nheld; i++)
        scr_table_fini(&h->held[i].rels);
    free(h->held);
    scr_table_fini(&h->target);
    scr_table_fini(&h->dirs);
    free(h->tmp);
}

/* --- names --- */

/* rel of owner's file of dataset id at path, borrowed from it; NULL: no such file of a
 * cache. */
static const char *rel_of(int id, int owner, const char *path)
{
    char dir[32];
    const char *rel = path + scr_cache_dset_len(path, id);
    int n = snprintf(dir, sizeof dir, "rank.%d/", owner);
    if (rel == path || !scr_path_is_safe(rel))
        return NULL;
    return strncmp(rel, dir, (size_t)n) == 0 || strncmp(rel, ".scr/", 5) == 0 ? rel
                                                                              : NULL;
}

const char *scr_holdings_target(struct scr_holdings *h, const char *rel)
{
    struct place *p = scr_table_add(&h->target, rel);
    if (p == NULL || p->path != NULL)
        return p != NULL ? p->path : NULL;
    char *path = scr_asprintf("%s/%s", h->dset_dir, rel);
    p->path = scr_arena_text(&h->target.arena, path);
    free(path);
    return p->path;
}

static struct scr_holding *held_of(const struct scr_holdings *h, int owner)
{
    size_t from = 0, to = h->nheld;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (h->held[mid].owner < owner)
            from = mid + 1;
        else
            to = mid;
    }
    return from < h->nheld && h->held[from].owner == owner ? &h->held[from] : NULL;
}

static struct found *found_of(const struct scr_holdings *h, int owner, const char *rel)
{
    const struct scr_holding *held = held_of(h, owner);
    return held != NULL ? scr_table_find(&held->rels, rel) : NULL;
}

static int has_path(const struct found *f, const char *path)
{
    const struct path *p = f != NULL ? f->first : NULL;
    while (p != NULL && strcmp(p->path, path) != 0)
        p = p->next;
    return p != NULL;
}

const char *scr_holdings_path(struct scr_holdings *h, int owner, const char *rel)
{
    const struct found *f = found_of(h, owner, rel);
    const char *target = owner == h->me ? scr_holdings_target(h, rel) : NULL;
    if (f == NULL || f->first == NULL)
        return NULL;
    return target != NULL && has_path(f, target) ? target : f->first->path;
}

/* --- inspection --- */

static int is_dir(const struct scr_env *env, const char *dset_dir, const char *below)
{
    struct stat st;
    char *path = scr_path_join(dset_dir, below);
    int is = path != NULL && scr_file_stat(env->sys, path, &st, NULL) == SCR_OK &&
             S_ISDIR(st.st_mode);
    free(path);
    return is;
}

/* What scr_cache_make makes. */
static int has_dirs(const struct scr_env *env, const char *dset_dir, int me)
{
    char rank[32];
    snprintf(rank, sizeof rank, "rank.%d", me);
    return is_dir(env, dset_dir, rank) && is_dir(env, dset_dir, ".scr");
}

static int is_in_place(const struct scr_entry *e, const struct scr_file *f,
                       const char *dset_dir)
{
    uint64_t size;
    const char *path = f->item.name, *rel = rel_of(e->dset, e->rank, path);
    return rel != NULL && rel == scr_path_rest(dset_dir, path) &&
           scr_meta_get_filesize(scr_file_meta(f), &size) == SCR_OK;
}

enum scr_placed scr_holdings_placed(const scr_filemap *map, int id, int me,
                                    const char *dset_dir)
{
    const struct scr_entry *e = scr_filemap_entry(map, id, me);
    if (scr_filemap_num_ranks_by_dataset(map, id) != (e != NULL) ||
        scr_filemap_has_aside(map, id))
        return SCR_PLACED_ELSE;
    if (e == NULL)
        return SCR_PLACED_HOME;
    for (SCR_EACH(const struct scr_file, f, &e->files))
        if (!is_in_place(e, f, dset_dir))
            return SCR_PLACED_ELSE;
    return e->dataset != NULL && e->desc != NULL && e->expected >= 0 ? SCR_PLACED_WHOLE
                                                                     : SCR_PLACED_HOME;
}

int scr_holdings_are_whole(const struct scr_env *env, const scr_filemap *map, int id,
                           int me, const char *dset_dir)
{
    return scr_holdings_placed(map, id, me, dset_dir) == SCR_PLACED_WHOLE &&
           has_dirs(env, dset_dir, me);
}

int scr_holdings_are_settled(const struct scr_env *env, const scr_filemap *map, int id,
                             int me, const char *dset_dir)
{
    return scr_holdings_placed(map, id, me, dset_dir) != SCR_PLACED_ELSE &&
           has_dirs(env, dset_dir, me);
}

/* The meta data of each rel. After a crash between rename and entry the file's meta
 * data is under its former path: what one path lacks another may have. */
struct known {
    struct scr_item item;
    const scr_meta *meta;
};

static int collect_metas(const struct scr_holdings *h, const struct scr_entry *e,
                         struct scr_table *metas, struct scr_err *err)
{
    for (SCR_EACH(struct scr_file, f, &e->files)) {
        const scr_meta *meta = scr_file_meta(f);
        const char *rel = rel_of(h->id, e->rank, f->item.name);
        uint64_t size;
        if (rel == NULL || scr_meta_get_filesize(meta, &size) != SCR_OK)
            continue;
        struct known *k = scr_table_add(metas, rel);
        TRY(k ? SCR_OK : scr_no_memory(err));
        k->meta = k->meta != NULL ? k->meta : meta;
    }
    return SCR_OK;
}

/* Notes an intact file for its owner. */
static int note_intact(struct scr_holding *held, const char *rel, const char *path,
                       uint64_t size, const scr_meta *meta, struct scr_entry *offer)
{
    struct found *f = scr_table_add(&held->rels, rel);
    struct path *p = scr_arena_get(&held->rels.arena, sizeof *p);
    struct scr_file *o = scr_table_add(&offer->files, rel);
    if (f == NULL || p == NULL || o == NULL)
        return SCR_E_NOMEM;
    struct path **end = &f->first;
    while (*end != NULL)
        end = &(*end)->next;
    *end = p;
    p->path = scr_arena_text(&held->rels.arena, path);
    if (meta == NULL)
        o->meta.size = size;
    else if (scr_file_meta(o) == NULL)
        scr_meta_copy(scr_file_need_meta(o, &offer->files), meta);
    return p->path != NULL && scr_table_ok(&offer->files) ? SCR_OK : SCR_E_NOMEM;
}

/* One file the map names for the owner of offer. */
static int inspect_file(struct scr_holdings *h, const char *path,
                        const struct scr_table *metas, struct scr_holding *held,
                        struct scr_entry *offer, struct scr_err *err)
{
    struct stat st;
    uint64_t size = 0;
    const char *rel = rel_of(h->id, offer->rank, path);
    if (rel == NULL || scr_file_stat(h->env->sys, path, &st, NULL) != SCR_OK ||
        !S_ISREG(st.st_mode))
        return SCR_OK;
    const struct known *k = scr_table_find(metas, rel);
    const scr_meta *meta = k != NULL ? k->meta : NULL;
    if (meta == NULL && strcmp(scr_path_base(rel), SCR_COPY_TMP) == 0)
        return scr_file_remove(h->env->sys, path, err);
    if (scr_meta_get_filesize(meta, &size) == SCR_OK && size != (uint64_t)st.st_size)
        return SCR_OK;
    int rc = note_intact(held, rel, path, (uint64_t)st.st_size, meta, offer);
    return rc == SCR_OK ? rc : scr_no_memory(err);
}

static int inspect_entry(struct scr_holdings *h, const struct scr_entry *e,
                         struct scr_holding *held, struct scr_entry *offer,
                         struct scr_err *err)
{
    struct scr_table metas = SCR_TABLE_OF(struct known);
    int changed = 0;
    int rc;
    TRY_OUT(collect_metas(h, e, &metas, err));
    for (SCR_EACH(struct scr_file, f, &e->files))
        TRY_OUT(inspect_file(h, f->item.name, &metas, held, offer, err));
    if (scr_entry_adopt(offer, e, &changed) != SCR_OK)
        TRY_OUT(scr_no_memory(err));
out:
    scr_table_fini(&metas);
    return rc;
}

static int inspect_owner(struct scr_holdings *h, const struct scr_entry *e,
                         struct scr_holding *held, struct scr_parcels *offers,
                         struct scr_err *err)
{
    struct scr_told offer;
    int rc;
    TRY_OUT(scr_told_new(&offer, h->id, e->rank, err));
    TRY_OUT(inspect_entry(h, e, held, offer.entry, err));
    TRY_OUT(scr_told_post(&offer, e->rank, offers, err));
out:
    scr_told_fini(&offer);
    return rc;
}

int scr_holdings_inspect(struct scr_holdings *h, struct scr_parcels *offers,
                         struct scr_err *err)
{
    int rc = SCR_OK, n = scr_filemap_num_ranks_by_dataset(h->map, h->id);
    h->held = scr_calloc((size_t)n, sizeof *h->held);
    TRY(h->held ? SCR_OK : scr_no_memory(err));
    for (SCR_ENTRIES(e, h->map, h->id)) {
        struct scr_holding *held = &h->held[h->nheld];
        if (rc != SCR_OK)
            break;
        held->owner = e->rank;
        scr_table_init(&held->rels, sizeof(struct found));
        h->nheld++;
        rc = inspect_owner(h, e, held, offers, err);
    }
    return rc;
}

/* --- changes --- */

int scr_holdings_store(struct scr_holdings *h, struct scr_err *err)
{
    if (!h->dirty)
        return SCR_OK;
    int rc = scr_cntl_write(h->env, h->cntl, h->map, err);
    h->dirty = rc != SCR_OK;
    return rc;
}

int scr_holdings_announce(struct scr_holdings *h, const struct scr_table *rels,
                          struct scr_err *err)
{
    for (SCR_EACH(struct scr_item, e, rels)) {
        const char *target = scr_holdings_target(h, e->name);
        TRY(target ? SCR_OK : scr_no_memory(err));
        scr_filemap_add_file(h->map, h->id, h->me, target);
    }
    scr_filemap_add_file(h->map, h->id, h->me, h->tmp);
    h->dirty = 1;
    int rc = scr_holdings_store(h, err);
    const char *last = "";
    for (SCR_EACH(struct scr_item, d, rels)) {
        if (rc == SCR_OK && !scr_path_same_dir(last, d->name))
            rc = scr_dir_make_private_parent(h->env->sys, h->dset_dir, d->name, err);
        last = d->name;
    }
    return rc;
}

int scr_holdings_enter(struct scr_holdings *h, const char *rel, const scr_meta *meta,
                       struct scr_err *err)
{
    const char *target = scr_holdings_target(h, rel);
    TRY(target ? SCR_OK : scr_no_memory(err));
    scr_filemap_add_file(h->map, h->id, h->me, target);
    if (meta != NULL)
        scr_filemap_set_meta(h->map, h->id, h->me, target, meta);
    h->dirty = 1;
    return SCR_OK;
}

/* path's directory may be empty now. Of the dataset directory we work in nothing above
 * the ranks' directories is pruned; of another one, all. */
static void note_dir(struct scr_holdings *h, const char *path)
{
    char *dir = scr_path_dir(path), *dset = scr_cache_dset_of(path, h->id);
    char *above = dset ? scr_path_dir(dset) : NULL;
    struct place *p = dir && above ? scr_table_add(&h->dirs, dir) : NULL;
    if (p != NULL)
        p->path = scr_arena_text(&h->dirs.arena,
                                 strcmp(dset, h->dset_dir) == 0 ? dset : above);
    free(above);
    free(dset);
    free(dir);
}

void scr_holdings_release(struct scr_holdings *h, int owner, const char *rel,
                          const char *keep)
{
    struct found *f = found_of(h, owner, rel);
    int all = keep == NULL;
    for (struct path *p = f != NULL ? f->first : NULL; p != NULL; p = p->next) {
        struct scr_err why = SCR_ERR_INIT;
        if (keep != NULL && strcmp(p->path, keep) == 0)
            continue;
        if (scr_file_remove(h->env->sys, p->path, &why) != SCR_OK) {
            scr_log(h->env->log, SCR_LOG_WARN, "%s; its copy is used", why.text);
            all = 0;
            continue;
        }
        note_dir(h, p->path);
        scr_filemap_remove_file(h->map, h->id, owner, p->path);
        h->dirty = 1;
    }
    if (f != NULL && all)
        scr_table_remove(&held_of(h, owner)->rels, f);
}

/* --- the end --- */

static int is_gone(const struct scr_holdings *h, int owner, const char *rel,
                   const char *path)
{
    if (has_path(found_of(h, owner, rel), path))
        return 0; /* seen, and not released: those are no longer named */
    return !scr_file_is_there(h->env->sys, path);
}

/* A file of ours that shall be here and is known: restore finds it lost. */
static int is_expected(const struct scr_holdings *h, int owner, const char *path,
                       const char *target)
{
    return owner == h->me && strcmp(path, target) == 0 &&
           scr_filemap_get_meta(h->map, h->id, owner, path) != NULL;
}

/* Drops the names of files that are gone. */
static void forget_gone(struct scr_holdings *h, int owner)
{
    struct scr_file *next = NULL;
    for (struct scr_file *f = scr_filemap_first_file(h->map, h->id, owner); f != NULL;
         f = next) {
        const char *path = f->item.name, *rel = rel_of(h->id, owner, path);
        const char *target = rel ? scr_holdings_target(h, rel) : NULL;
        next = scr_file_next(f);
        if (target == NULL || !is_gone(h, owner, rel, path) ||
            is_expected(h, owner, path, target))
            continue;
        scr_filemap_remove_file(h->map, h->id, owner, path);
        h->dirty = 1;
    }
    if (owner != h->me && scr_filemap_num_files(h->map, h->id, owner) == 0) {
        scr_filemap_remove_rank_by_dataset(h->map, h->id, owner);
        h->dirty = 1;
    }
}

static void prune(const struct scr_holdings *h)
{
    for (SCR_EACH(struct place, d, &h->dirs)) {
        struct scr_err why = SCR_ERR_INIT;
        if (d->path != NULL &&
            scr_dir_prune(h->env->sys, d->item.name, d->path, &why) != SCR_OK)
            scr_log(h->env->log, SCR_LOG_WARN, "%s", why.text);
    }
}

int scr_holdings_sweep(struct scr_holdings *h, struct scr_err *err)
{
    for (int owner = -1; scr_filemap_next_rank(h->map, h->id, &owner);)
        forget_gone(h, owner);
    prune(h);
    return scr_holdings_store(h, err);
}
