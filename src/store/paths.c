/* SPDX-License-Identifier: BSD-3-Clause */
/* Paths that several datasets of the prefix directory may share. */
#include "store/paths.h"

#include <stdlib.h>

#include "base/dir.h"
#include "base/path.h"
#include "store/arrival.h"

static void add_stored(scr_hash *paths, const scr_hash_elem *file)
{
    char *path =
        scr_rank2file_stored(scr_hash_elem_key(file), scr_hash_elem_hash(file));
    (void)scr_hash_set(paths, path != NULL ? path : scr_hash_elem_key(file), NULL);
    free(path);
}

int scr_paths_add(const struct scr_env *env, const struct scr_prefix *p, int id,
                  scr_hash *paths, struct scr_err *err)
{
    struct scr_err none = SCR_ERR_INIT;
    scr_hash *part = scr_hash_new();
    int rc = scr_prefix_rank2file_read(env, p, id, part, &none);
    if (rc == SCR_E_NOENT && scr_hash_size(part) == 0)
        rc = SCR_OK;
    else if (rc != SCR_OK)
        scr_fail(err, rc, 0, "%s", none.text);
    for (SCR_HASH_EACH(r, scr_hash_get(part, "RANK")))
        for (SCR_HASH_EACH(f, scr_hash_get(scr_hash_elem_hash(r), "FILE")))
            add_stored(paths, f);
    scr_hash_delete(part);
    return rc == SCR_OK && !scr_hash_ok(paths)
               ? scr_fail(err, SCR_E_NOMEM, 0, "files of dataset %d", id)
               : rc;
}

static int add_packed(int id, const scr_filemap *map, scr_hash *paths,
                      struct scr_err *err)
{
    scr_hash *file = scr_hash_new();
    int ok = file != NULL;
    for (SCR_ENTRIES(e, map, id))
        for (SCR_EACH(struct scr_file, f, &e->files)) {
            struct scr_packed is;
            uint64_t stamp;
            const char *dest;
            if (!scr_arrival_packed_parse(f->item.name, &stamp, &is, &dest))
                continue;
            char *path = scr_rank2file_set_packed(file, &is) == SCR_OK
                             ? scr_rank2file_stored(dest, file)
                             : NULL;
            ok = ok && path != NULL && scr_hash_set(paths, path, NULL) != NULL;
            free(path);
        }
    scr_hash_delete(file);
    return ok ? SCR_OK : scr_fail(err, SCR_E_NOMEM, 0, "files of dataset %d", id);
}

int scr_paths_add_landed(const struct scr_env *env, const struct scr_prefix *p, int id,
                         scr_hash *paths, struct scr_err *err)
{
    int *node = NULL;
    size_t n = 0;
    scr_filemap *map = scr_filemap_new();
    int rc = map ? scr_arrival_nodes(env, p, id, &node, &n, err)
                 : scr_fail(err, SCR_E_NOMEM, 0, "files of dataset %d", id);
    for (size_t i = 0; i < n && rc == SCR_OK; i++)
        rc = scr_arrival_read(env, p, id, node[i], map, err);
    if (rc == SCR_OK)
        rc = add_packed(id, map, paths, err);
    free(node);
    scr_filemap_delete(map);
    return rc;
}

/* Of the index, but id: the complete ones, and with_summary those that have one. */
static int list_ids(const struct scr_env *env, const struct scr_prefix *p, int id,
                    int with_summary, int **ids, size_t *n, struct scr_err *err)
{
    size_t all = 0;
    *ids = NULL;
    scr_hash *index = scr_hash_new();
    *n = 0;
    int rc = scr_prefix_index_read(env, p, index, err);
    if (rc == SCR_OK && (rc = scr_index_ids(index, ids, &all)) != SCR_OK)
        scr_fail(err, rc, 0, "list of datasets");
    for (size_t i = 0; i < all && rc == SCR_OK; i++) {
        struct scr_index_entry e;
        int other = (*ids)[i];
        if (other != id && scr_index_get(index, other, &e, NULL) == SCR_OK &&
            (e.complete || (with_summary && scr_prefix_has_summary(env, p, other))))
            (*ids)[(*n)++] = other;
    }
    scr_hash_delete(index);
    return rc;
}

int scr_paths_complete(const struct scr_env *env, const struct scr_prefix *p, int id,
                       int **ids, size_t *n, struct scr_err *err)
{
    return list_ids(env, p, id, 0, ids, n, err);
}

int scr_paths_claimed(const struct scr_env *env, const struct scr_prefix *p, int id,
                      int **ids, size_t *n, struct scr_err *err)
{
    return list_ids(env, p, id, 1, ids, n, err);
}

int scr_paths_is_complete(const struct scr_env *env, const struct scr_prefix *p, int id)
{
    struct scr_index_entry e;
    scr_hash *index = scr_hash_new();
    int unread = index == NULL || scr_prefix_index_read(env, p, index, NULL) != SCR_OK;
    int complete =
        unread || (scr_index_get(index, id, &e, NULL) == SCR_OK && e.complete);
    scr_hash_delete(index);
    return complete;
}

static int have_common(const scr_hash *a, const scr_hash *b)
{
    for (SCR_HASH_EACH(f, a))
        if (scr_hash_get(b, scr_hash_elem_key(f)) != NULL)
            return 1;
    return 0;
}

/* *common: 1 if dataset other lists one of the paths. */
static int lists_one(const struct scr_env *env, const struct scr_prefix *p, int other,
                     const scr_hash *paths, int *common, struct scr_err *err)
{
    scr_hash *theirs = scr_hash_new();
    int rc = scr_paths_add(env, p, other, theirs, err);
    *common = rc == SCR_OK && have_common(paths, theirs);
    scr_hash_delete(theirs);
    return rc;
}

int scr_paths_shared(const struct scr_env *env, const struct scr_prefix *p, int id,
                     const scr_hash *paths, int **ids, size_t *n, int *newer,
                     struct scr_err *err)
{
    size_t all = 0;
    int rc = scr_paths_claimed(env, p, id, ids, &all, err);
    *n = 0;
    *newer = 0;
    for (size_t i = 0; i < all && rc == SCR_OK; i++) {
        struct scr_err why = SCR_ERR_INIT;
        int common = 0, one = lists_one(env, p, (*ids)[i], paths, &common, &why);
        if (one == SCR_E_NOMEM || one == SCR_E_IO)
            rc = scr_fail(err, one, 0, "%s", why.text);
        if (one == SCR_E_VERSION && scr_paths_is_complete(env, p, (*ids)[i]))
            *newer = (*ids)[i];
        if (common)
            (*ids)[(*n)++] = (*ids)[i];
    }
    return rc;
}

/* Of a pending dataset. *meets: 1 if it lists one of the paths, or that cannot be told.
 */
static int may_list(const struct scr_env *env, const struct scr_prefix *p, int other,
                    const scr_hash *paths, int *meets, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = lists_one(env, p, other, paths, meets, &why);
    if (rc == SCR_E_NOMEM || rc == SCR_E_IO)
        return scr_fail(err, rc, 0, "%s", why.text);
    *meets = *meets || rc != SCR_OK;
    return SCR_OK;
}

int scr_paths_give_up(const struct scr_env *env, const struct scr_prefix *p, int id,
                      const scr_hash *paths, size_t *n, struct scr_err *err)
{
    int *ids = NULL;
    size_t all = 0;
    int rc = scr_arrivals_pending(env, p, &ids, &all, err);
    *n = 0;
    for (size_t i = 0; i < all && rc == SCR_OK; i++) {
        int meets = 0;
        if (ids[i] != id)
            rc = may_list(env, p, ids[i], paths, &meets, err);
        if (rc == SCR_OK && meets)
            rc = scr_arrival_give_up(env, p, ids[i], err);
        *n += (size_t)meets;
    }
    free(ids);
    return rc;
}

/* dest's directory and those above it. */
static int add_dirs(scr_hash *dirs, const char *dest)
{
    char *dir = scr_path_dir(dest);
    while (dir != NULL && scr_hash_get(dirs, dir) == NULL &&
           scr_hash_set(dirs, dir, NULL) != NULL) {
        char *above = scr_path_dir(dir);
        free(dir);
        dir = above;
    }
    int ok = dir != NULL && scr_hash_ok(dirs);
    free(dir);
    return ok;
}

static int sync_dir(const struct scr_env *env, const struct scr_prefix *p,
                    const char *dir, struct scr_err *err)
{
    char *path = scr_path_join(p->path, dir);
    int rc = path ? scr_dir_sync(env->sys, path, err)
                  : scr_fail(err, SCR_E_NOMEM, 0, "sync of directories");
    free(path);
    return rc;
}

int scr_paths_sync(const struct scr_env *env, const struct scr_prefix *p,
                   const scr_hash *part, struct scr_err *err)
{
    scr_hash *dirs = scr_hash_new();
    int ok = dirs != NULL;
    for (SCR_HASH_EACH(r, scr_hash_get(part, "RANK")))
        for (SCR_HASH_EACH(f, scr_hash_get(scr_hash_elem_hash(r), "FILE")))
            ok = ok && add_dirs(dirs, scr_hash_elem_key(f));
    int rc = ok ? SCR_OK : scr_fail(err, SCR_E_NOMEM, 0, "sync of directories");
    for (SCR_HASH_EACH(d, dirs))
        if (rc == SCR_OK)
            rc = sync_dir(env, p, scr_hash_elem_key(d), err);
    scr_hash_delete(dirs);
    return rc;
}

int scr_paths_written_over(const struct scr_env *env, const struct scr_prefix *p,
                           int id, const scr_hash *paths, int *by, struct scr_err *err)
{
    int *ids = NULL;
    size_t n = 0;
    int rc = scr_paths_complete(env, p, id, &ids, &n, err);
    *by = 0;
    for (size_t i = 0; i < n && ids[i] > id && rc == SCR_OK && *by == 0; i++) {
        int common = 0;
        rc = lists_one(env, p, ids[i], paths, &common, err);
        *by = common ? ids[i] : 0;
    }
    free(ids);
    return rc;
}
