/* SPDX-License-Identifier: BSD-3-Clause */
/* What this rank holds of one dataset while its files are handed to their owners. */
#include "par/holdings.h"

#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "store/cache.h"
#include "xfer/copy.h"

static int no_memory(const struct scr_holdings *h, struct scr_err *err)
{
    return scr_fail(err, SCR_E_NOMEM, 0, "files of dataset %d: out of memory", h->id);
}

scr_hash *scr_hash_below(scr_hash *h, const char *key)
{
    scr_hash *below = scr_hash_get(h, key);
    return below != NULL ? below : scr_hash_set(h, key, NULL);
}

int scr_holdings_init(struct scr_holdings *h, struct scr_err *err)
{
    h->have = scr_hash_new();
    h->target = scr_hash_new();
    h->dirs = scr_hash_new();
    h->tmp = scr_asprintf("%s/rank.%d/" SCR_COPY_TMP, h->dset_dir, h->me);
    h->dirty = 0;
    if (h->have == NULL || h->target == NULL || h->dirs == NULL || h->tmp == NULL)
        return no_memory(h, err);
    return SCR_OK;
}

void scr_holdings_fini(struct scr_holdings *h)
{
    scr_hash_delete(h->have);
    scr_hash_delete(h->target);
    scr_hash_delete(h->dirs);
    free(h->tmp);
}

/* --- names --- */

/* rel of owner's file at path, borrowed from it; NULL: no such file of a cache. */
static const char *rel_of(const struct scr_holdings *h, int owner, const char *path)
{
    char dir[32];
    const char *rel = path + scr_cache_dset_len(path, h->id);
    int n = snprintf(dir, sizeof dir, "rank.%d/", owner);
    if (rel == path || !scr_path_is_safe(rel))
        return NULL;
    return strncmp(rel, dir, (size_t)n) == 0 || strncmp(rel, ".scr/", 5) == 0 ? rel
                                                                              : NULL;
}

const char *scr_holdings_target(struct scr_holdings *h, const char *rel)
{
    const char *known = scr_hash_get_val(h->target, rel);
    if (known != NULL)
        return known;
    char *path = scr_asprintf("%s/%s", h->dset_dir, rel);
    if (path != NULL && scr_hash_set_val(h->target, rel, path) != NULL)
        known = scr_hash_get_val(h->target, rel);
    free(path);
    return known;
}

static scr_hash *have_of(const struct scr_holdings *h, int owner)
{
    return scr_hash_getf(h->have, "%d", owner);
}

const char *scr_holdings_path(struct scr_holdings *h, int owner, const char *rel)
{
    scr_hash *paths = scr_hash_get(have_of(h, owner), rel);
    const char *target = owner == h->me ? scr_holdings_target(h, rel) : NULL;
    if (target != NULL && scr_hash_get(paths, target) != NULL)
        return target;
    scr_hash_elem *first = scr_hash_elem_first(paths);
    return first ? scr_hash_elem_key(first) : NULL;
}

/* --- inspection --- */

static int is_remains(const char *rel)
{
    return strcmp(scr_path_base(rel), SCR_COPY_TMP) == 0;
}

/* Puts a copy of value under key; NULL: nothing to put. */
static int put_copy(scr_hash *h, const char *key, const scr_hash *value)
{
    scr_hash *copy = scr_hash_dup(value);
    if (value == NULL)
        return SCR_OK;
    return copy != NULL && scr_hash_set(h, key, copy) != NULL ? SCR_OK : SCR_E_NOMEM;
}

/* The meta data of each rel. After a crash between rename and entry the file's meta
 * data is under its former path: what one path lacks another may have. */
static int collect_metas(const struct scr_holdings *h, int owner, const char **files,
                         int n, scr_hash *metas, struct scr_err *err)
{
    for (int i = 0; i < n; i++) {
        const scr_meta *meta = scr_filemap_get_meta(h->map, h->id, owner, files[i]);
        const char *rel = rel_of(h, owner, files[i]);
        uint64_t size;
        if (rel == NULL || meta == NULL || scr_hash_get(metas, rel) != NULL ||
            scr_meta_get_filesize(meta, &size) != SCR_OK)
            continue;
        if (put_copy(metas, rel, meta) != SCR_OK)
            return no_memory(h, err);
    }
    return SCR_OK;
}

/* Notes an intact file for its owner. */
static int note_intact(struct scr_holdings *h, int owner, const char *rel,
                       const char *path, uint64_t size, const scr_meta *meta,
                       scr_hash *offer)
{
    scr_hash *mine = scr_hash_setf(h->have, NULL, "%d", owner);
    scr_hash *slot = scr_hash_below(scr_hash_below(offer, "FILE"), rel);
    if (scr_hash_set(scr_hash_below(mine, rel), path, NULL) == NULL ||
        scr_hash_set_val_u64(slot, "SIZE", size) == NULL)
        return SCR_E_NOMEM;
    return scr_hash_get(slot, "META") == NULL ? put_copy(slot, "META", meta) : SCR_OK;
}

/* One file the map names for owner. */
static int inspect_file(struct scr_holdings *h, int owner, const char *path,
                        const scr_hash *metas, scr_hash *offer, struct scr_err *err)
{
    struct stat st;
    uint64_t size = 0;
    const char *rel = rel_of(h, owner, path);
    if (rel == NULL || scr_file_stat(h->env->sys, path, &st, NULL) != SCR_OK ||
        !S_ISREG(st.st_mode))
        return SCR_OK;
    const scr_meta *meta = scr_hash_get(metas, rel);
    if (meta == NULL && is_remains(rel))
        return scr_file_remove(h->env->sys, path, err);
    if (scr_meta_get_filesize(meta, &size) == SCR_OK && size != (uint64_t)st.st_size)
        return SCR_OK;
    int rc = note_intact(h, owner, rel, path, (uint64_t)st.st_size, meta, offer);
    return rc == SCR_OK ? rc : no_memory(h, err);
}

/* What the map says about owner's part of the dataset, besides its files. */
static int copy_entry(const struct scr_holdings *h, int owner, scr_hash *offer,
                      struct scr_err *err)
{
    scr_hash *to = scr_hash_below(offer, "ENTRY");
    const scr_hash *from = scr_hash_getf(h->map, "RANK %d DSET %d", owner, h->id);
    int rc = to != NULL ? SCR_OK : SCR_E_NOMEM;
    for (SCR_HASH_EACH(e, from))
        if (rc == SCR_OK && strcmp(scr_hash_elem_key(e), "FILE") != 0)
            rc = put_copy(to, scr_hash_elem_key(e), scr_hash_elem_hash(e));
    return rc == SCR_OK ? rc : no_memory(h, err);
}

static int inspect_owner(struct scr_holdings *h, int owner, scr_hash *offer,
                         struct scr_err *err)
{
    const char **files = NULL;
    int n = 0;
    scr_hash *metas = scr_hash_new();
    int rc = SCR_E_NOMEM;
    if (metas == NULL || offer == NULL ||
        scr_filemap_list_files(h->map, h->id, owner, &n, &files) != SCR_OK)
        no_memory(h, err);
    else
        rc = collect_metas(h, owner, files, n, metas, err);
    for (int i = 0; i < n && rc == SCR_OK; i++)
        rc = inspect_file(h, owner, files[i], metas, offer, err);
    if (rc == SCR_OK)
        rc = copy_entry(h, owner, offer, err);
    scr_hash_delete(metas);
    free(files);
    return rc;
}

int scr_holdings_inspect(struct scr_holdings *h, scr_hash *offers, struct scr_err *err)
{
    int *owners = NULL, n = 0;
    int rc = scr_filemap_list_ranks_by_dataset(h->map, h->id, &n, &owners);
    if (rc != SCR_OK)
        return no_memory(h, err);
    for (int i = 0; i < n && rc == SCR_OK; i++)
        rc = inspect_owner(h, owners[i], scr_hash_setf(offers, NULL, "%d", owners[i]),
                           err);
    free(owners);
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

static int make_dir(const struct scr_holdings *h, const char *rel, struct scr_err *err)
{
    char *dir = scr_path_dir(rel);
    int rc = dir ? scr_dir_make_private(h->env->sys, h->dset_dir, dir, 0700, err)
                 : no_memory(h, err);
    free(dir);
    return rc;
}

/* 1 if the directory part of both is the same. */
static int same_dir(const char *a, const char *b)
{
    size_t n = (size_t)(scr_path_base(a) - a);
    return n == (size_t)(scr_path_base(b) - b) && memcmp(a, b, n) == 0;
}

int scr_holdings_announce(struct scr_holdings *h, const scr_hash *rels,
                          struct scr_err *err)
{
    for (SCR_HASH_EACH(e, rels)) {
        const char *target = scr_holdings_target(h, scr_hash_elem_key(e));
        if (target == NULL)
            return no_memory(h, err);
        scr_filemap_add_file(h->map, h->id, h->me, target);
    }
    scr_filemap_add_file(h->map, h->id, h->me, h->tmp);
    h->dirty = 1;
    int rc = scr_holdings_store(h, err);
    const char *last = "";
    for (SCR_HASH_EACH(d, rels)) {
        const char *rel = scr_hash_elem_key(d);
        if (rc == SCR_OK && !same_dir(last, rel))
            rc = make_dir(h, rel, err);
        last = rel;
    }
    return rc;
}

int scr_holdings_enter(struct scr_holdings *h, const char *rel, const scr_meta *meta,
                       struct scr_err *err)
{
    const char *target = scr_holdings_target(h, rel);
    if (target == NULL)
        return no_memory(h, err);
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
    size_t n = scr_cache_dset_len(path, h->id);
    char *dir = scr_path_dir(path);
    char *dset = scr_asprintf("%.*s", n > 0 ? (int)n - 1 : 0, path);
    char *above = dset ? scr_path_dir(dset) : NULL;
    if (n > 0 && dir != NULL && above != NULL)
        scr_hash_set_val(h->dirs, dir, strcmp(dset, h->dset_dir) == 0 ? dset : above);
    free(above);
    free(dset);
    free(dir);
}

void scr_holdings_release(struct scr_holdings *h, int owner, const char *rel,
                          const char *keep)
{
    int all = keep == NULL;
    for (SCR_HASH_EACH(e, scr_hash_get(have_of(h, owner), rel))) {
        const char *path = scr_hash_elem_key(e);
        struct scr_err why = SCR_ERR_INIT;
        if (keep != NULL && strcmp(path, keep) == 0)
            continue;
        if (scr_file_remove(h->env->sys, path, &why) != SCR_OK) {
            scr_log(h->env->log, SCR_LOG_WARN, "%s; its copy is used", why.text);
            all = 0;
            continue;
        }
        note_dir(h, path);
        scr_filemap_remove_file(h->map, h->id, owner, path);
        h->dirty = 1;
    }
    if (all)
        scr_hash_unset(have_of(h, owner), rel);
}

/* --- the end --- */

static int is_gone(const struct scr_holdings *h, int owner, const char *rel,
                   const char *path)
{
    struct stat st;
    if (scr_hash_get(scr_hash_get(have_of(h, owner), rel), path) != NULL)
        return 0; /* seen, and not released: those are no longer named */
    return scr_file_stat(h->env->sys, path, &st, NULL) == SCR_E_NOENT;
}

/* A file of ours that shall be here and is known: restore finds it lost. */
static int is_expected(const struct scr_holdings *h, int owner, const char *path,
                       const char *target)
{
    return owner == h->me && strcmp(path, target) == 0 &&
           scr_filemap_get_meta(h->map, h->id, owner, path) != NULL;
}

/* Drops the names of files that are gone. */
static int forget_gone(struct scr_holdings *h, int owner, struct scr_err *err)
{
    const char **files = NULL;
    int n = 0;
    if (scr_filemap_list_files(h->map, h->id, owner, &n, &files) != SCR_OK)
        return no_memory(h, err);
    for (int i = 0; i < n; i++) {
        const char *rel = rel_of(h, owner, files[i]);
        const char *target = rel ? scr_holdings_target(h, rel) : NULL;
        if (target == NULL || !is_gone(h, owner, rel, files[i]) ||
            is_expected(h, owner, files[i], target))
            continue;
        scr_filemap_remove_file(h->map, h->id, owner, files[i]);
        h->dirty = 1;
    }
    free(files);
    if (owner != h->me && scr_filemap_num_files(h->map, h->id, owner) == 0) {
        scr_filemap_remove_rank_by_dataset(h->map, h->id, owner);
        h->dirty = 1;
    }
    return SCR_OK;
}

static void prune(const struct scr_holdings *h)
{
    for (SCR_HASH_EACH(e, h->dirs)) {
        const char *dir = scr_hash_elem_key(e);
        const char *stop =
            scr_hash_elem_key(scr_hash_elem_first(scr_hash_elem_hash(e)));
        struct scr_err why = SCR_ERR_INIT;
        if (scr_dir_prune(h->env->sys, dir, stop, &why) != SCR_OK)
            scr_log(h->env->log, SCR_LOG_WARN, "%s", why.text);
    }
}

int scr_holdings_sweep(struct scr_holdings *h, struct scr_err *err)
{
    int *owners = NULL, n = 0;
    int rc = scr_filemap_list_ranks_by_dataset(h->map, h->id, &n, &owners);
    if (rc != SCR_OK)
        return no_memory(h, err);
    for (int i = 0; i < n && rc == SCR_OK; i++)
        rc = forget_gone(h, owners[i], err);
    free(owners);
    prune(h);
    return rc == SCR_OK ? scr_holdings_store(h, err) : rc;
}
