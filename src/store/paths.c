/* SPDX-License-Identifier: BSD-3-Clause */
/* Paths that several datasets of the prefix directory may share. */
#include "store/paths.h"

#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/path.h"
#include "store/arrival.h"
#include "store/realdir.h"

static int add_stored(struct scr_realdir *real, struct scr_table *paths,
                      const struct scr_listed *f)
{
    char *path = scr_listed_stored(f);
    int ok = path != NULL && scr_realdir_add(real, path, paths);
    free(path);
    return ok;
}

int scr_paths_add_listed(const struct scr_env *env, const struct scr_prefix *p,
                         const struct scr_rank2file *files, struct scr_table *paths)
{
    struct scr_realdir real = SCR_REALDIR_OF(env, p);
    int ok = 1;
    for (SCR_LISTED(f, files))
        ok = ok && scr_realdir_add(&real, f->item.name, paths);
    scr_realdir_fini(&real);
    return ok;
}

int scr_paths_add(const struct scr_env *env, const struct scr_prefix *p, int id,
                  struct scr_table *paths, struct scr_err *err)
{
    struct scr_err none = SCR_ERR_INIT;
    struct scr_rank2file files = { 0 };
    struct scr_realdir real = SCR_REALDIR_OF(env, p);
    int ok = 1, rc = scr_prefix_rank2file_read(env, p, id, &files, &none);
    if (rc == SCR_E_NOENT && files.ranks == 0)
        rc = SCR_OK;
    else
        scr_err_take(err, rc, &none);
    for (SCR_LISTED(f, &files))
        ok = ok && add_stored(&real, paths, f);
    scr_realdir_fini(&real);
    scr_rank2file_fini(&files);
    return rc == SCR_OK && !ok ? scr_no_memory(err) : rc;
}

static int add_packed(struct scr_realdir *real, int id, const scr_filemap *map,
                      struct scr_table *paths, struct scr_err *err)
{
    int ok = 1;
    for (SCR_ENTRIES(e, map, id))
        for (SCR_EACH(struct scr_file, f, &e->files)) {
            struct scr_packed is;
            uint64_t stamp;
            struct scr_listed file = { .is_packed = 1 };
            if (scr_arrival_packed_parse(f->item.name, &stamp, &is, &file.item.name))
                ok = ok && add_stored(real, paths, &file);
        }
    return ok ? SCR_OK : scr_no_memory(err);
}

int scr_paths_add_landed(const struct scr_env *env, const struct scr_prefix *p, int id,
                         struct scr_table *paths, struct scr_err *err)
{
    int *node = NULL;
    size_t n = 0;
    struct scr_realdir real = SCR_REALDIR_OF(env, p);
    scr_filemap *map = scr_filemap_new();
    int rc;
    TRY_OUT(map ? scr_arrival_nodes(env, p, id, &node, &n, err) : scr_no_memory(err));
    for (size_t i = 0; i < n; i++)
        TRY_OUT(scr_arrival_read(env, p, id, node[i], map, err));
    TRY_OUT(add_packed(&real, id, map, paths, err));
out:
    free(node);
    scr_realdir_fini(&real);
    scr_filemap_delete(map);
    return rc;
}

int scr_paths_complete(const struct scr_env *env, const struct scr_prefix *p, int id,
                       int **ids, size_t *n, struct scr_err *err)
{
    struct scr_index index;
    size_t all = 0;
    *ids = NULL;
    *n = 0;
    int rc = scr_prefix_index_ids(env, p, &index, ids, &all, err);
    for (size_t i = 0; i < all && rc == SCR_OK; i++)
        if ((*ids)[i] != id && scr_index_is_complete(&index, (*ids)[i]))
            (*ids)[(*n)++] = (*ids)[i];
    scr_index_fini(&index);
    return rc;
}

int scr_paths_claimed(const struct scr_env *env, const struct scr_prefix *p,
                      const struct scr_index *index, int id, int **ids, size_t *n)
{
    size_t all = 0;
    *n = 0;
    TRY(scr_index_ids(index, ids, &all));
    for (size_t i = 0; i < all; i++) {
        int other = (*ids)[i];
        if (other != id && (scr_index_is_complete(index, other) ||
                            scr_prefix_has_summary(env, p, other)))
            (*ids)[(*n)++] = other;
    }
    return SCR_OK;
}

int scr_paths_is_complete(const struct scr_env *env, const struct scr_prefix *p, int id)
{
    struct scr_index index = SCR_INDEX_INIT;
    int complete = scr_prefix_index_read(env, p, &index, NULL) != SCR_OK ||
                   scr_index_is_complete(&index, id);
    scr_index_fini(&index);
    return complete;
}

/* *common: 1 if dataset other lists one of the paths. */
static int lists_one(const struct scr_env *env, const struct scr_prefix *p, int other,
                     const struct scr_table *paths, int *common, struct scr_err *err)
{
    struct scr_table theirs = SCR_TABLE_OF(struct scr_item);
    int rc = scr_paths_add(env, p, other, &theirs, err);
    *common = 0;
    for (SCR_EACH(const struct scr_item, f, paths))
        *common = *common || (rc == SCR_OK && scr_table_find(&theirs, f->name) != NULL);
    scr_table_fini(&theirs);
    return rc;
}

int scr_paths_shared(const struct scr_env *env, const struct scr_prefix *p,
                     const struct scr_paths_of *of, struct scr_ids *shared, int *newer,
                     struct scr_err *err)
{
    struct scr_index read = SCR_INDEX_INIT;
    int *ids = NULL;
    size_t n = 0;
    int rc = of->index ? SCR_OK : scr_prefix_index_read(env, p, &read, err);
    const struct scr_index *index = of->index ? of->index : &read;
    *newer = 0;
    if (rc == SCR_OK && scr_paths_claimed(env, p, index, of->id, &ids, &n) != SCR_OK)
        rc = scr_no_memory(err);
    for (size_t i = 0; i < n && rc == SCR_OK; i++) {
        struct scr_err why = SCR_ERR_INIT;
        int common = 0, one = lists_one(env, p, ids[i], of->paths, &common, &why);
        if (one == SCR_E_NOMEM || one == SCR_E_IO)
            rc = scr_err_take(err, one, &why);
        if (one == SCR_E_VERSION && scr_index_is_complete(index, ids[i]))
            *newer = ids[i];
        if (common)
            rc = scr_ids_add(shared, ids[i], err);
    }
    free(ids);
    scr_index_fini(&read);
    return rc;
}

/* Of a pending dataset. *meets: 1 if it lists one of the paths, or that is not known.
 */
static int may_list(const struct scr_env *env, const struct scr_prefix *p, int other,
                    const struct scr_table *paths, int *meets, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = lists_one(env, p, other, paths, meets, &why);
    if (rc == SCR_E_NOMEM || rc == SCR_E_IO)
        return scr_err_take(err, rc, &why);
    *meets = *meets || rc != SCR_OK;
    return SCR_OK;
}

int scr_paths_give_up(const struct scr_env *env, const struct scr_prefix *p, int id,
                      const struct scr_table *paths, size_t *n, struct scr_err *err)
{
    int *ids = NULL;
    size_t all = 0;
    int rc = scr_arrivals_pending(env, p, NULL, &ids, &all, err);
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
static int add_dirs(struct scr_table *dirs, const char *dest)
{
    char *dir = scr_path_dir(dest);
    while (dir != NULL && scr_table_find(dirs, dir) == NULL &&
           scr_table_add(dirs, dir) != NULL) {
        char *above = scr_path_dir(dir);
        free(dir);
        dir = above;
    }
    int ok = dir != NULL && scr_table_ok(dirs);
    free(dir);
    return ok;
}

static int sync_dir(const struct scr_env *env, const struct scr_prefix *p,
                    const char *dir, struct scr_err *err)
{
    char *path = scr_path_join(p->path, dir);
    int rc = path ? scr_dir_sync(env->sys, path, err) : scr_no_memory(err);
    free(path);
    return rc;
}

int scr_paths_sync(const struct scr_env *env, const struct scr_prefix *p,
                   const struct scr_rank2file *files, struct scr_err *err)
{
    struct scr_table dirs = SCR_TABLE_OF(struct scr_item);
    int ok = 1;
    for (SCR_LISTED(f, files))
        ok = ok && add_dirs(&dirs, f->item.name);
    int rc;
    TRY_OUT(ok ? SCR_OK : scr_no_memory(err));
    for (SCR_EACH(const struct scr_item, d, &dirs))
        TRY_OUT(sync_dir(env, p, d->name, err));
out:
    scr_table_fini(&dirs);
    return rc;
}

/* Two jobs on one prefix directory count alike, so what another job made later may have
 * the smaller number. */
static int is_made_later(const struct scr_dataset *d, const struct scr_dataset *than)
{
    return d->id < than->id && d->jobid != NULL && than->jobid != NULL &&
           strcmp(d->jobid, than->jobid) != 0 && than->created > 0 &&
           d->created > than->created;
}

static int fail_written_over(const struct scr_dataset *by, int later,
                             struct scr_err *err)
{
    return scr_fail(err, SCR_E_LOST, 0, "its files were written over by dataset %d%s%s",
                    by->id, later ? ", made later by job " : "",
                    later ? by->jobid : "");
}

int scr_paths_written_over(const struct scr_env *env, const struct scr_prefix *p,
                           const struct scr_dataset *d, const struct scr_table *paths,
                           int *by, struct scr_err *err)
{
    struct scr_index index = SCR_INDEX_INIT;
    int rc, common = 0;
    *by = 0;
    TRY_OUT(scr_prefix_index_read(env, p, &index, err));
    for (size_t i = index.n; i-- > 0 && !common;) {
        const struct scr_index_entry *e = &index.of[i];
        int later = is_made_later(&e->dset, d);
        if (!e->complete || (e->id <= d->id && !later))
            continue;
        struct scr_err why = SCR_ERR_INIT;
        int one = lists_one(env, p, e->id, paths, &common, &why);
        /* A damaged list of a smaller number lists nothing, as in scr_paths_shared. */
        if (!later || one == SCR_E_NOMEM || one == SCR_E_IO)
            TRY_OUT(scr_err_take(err, one, &why));
        if (common) {
            *by = e->id;
            rc = fail_written_over(&e->dset, later, err);
        }
    }
out:
    scr_index_fini(&index);
    return rc;
}
