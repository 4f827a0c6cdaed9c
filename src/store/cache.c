/* SPDX-License-Identifier: BSD-3-Clause */
/* Places on node-local storage. */
#include "store/cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/hashfile.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "store/dset_names.h"

enum { PRIVATE = 0700 };

/* The place below base; NULL when out of memory. */
static char *place_rel(const struct scr_place *pl, int is_node_local)
{
    const char *vnode = is_node_local ? pl->vnode : NULL;
    return scr_asprintf("%s%s%s%s/scr.%s%s%s", vnode ? "vnode." : "",
                        vnode ? vnode : "", vnode ? "/" : "", pl->user, pl->jobid,
                        pl->prefix ? "/" : "", pl->prefix ? pl->prefix : "");
}

char *scr_place_dir(const struct scr_place *pl, const char *base, int is_node_local)
{
    char *rel = place_rel(pl, is_node_local);
    char *dir = rel ? scr_path_join(base, rel) : NULL;
    free(rel);
    return dir;
}

/* A user name, job id or node name becomes one path component and must stay one. */
static int check_component(const char *what, const char *name, struct scr_err *err)
{
    if (name != NULL && scr_path_is_safe(name) && strchr(name, '/') == NULL)
        return SCR_OK;
    return scr_fail(err, SCR_E_NAME, 0, "%s \"%s\" cannot be part of a path", what,
                    name ? name : "");
}

/* Bytes of base up to the end of the directory in it that exists; a single slash always
 * does. */
static size_t existing_part(const struct scr_env *env, char *base)
{
    size_t n = strlen(base);
    while (n > 1 && !scr_file_is_there(env->sys, base)) {
        while (n > 1 && base[n - 1] != '/')
            base[--n] = '\0';
        while (n > 1 && base[n - 1] == '/')
            base[--n] = '\0';
    }
    return n;
}

/* A base that is missing is made as the directories below it are: no other user's is
 * used. */
static int make_with_base(const struct scr_env *env, const char *base, const char *rel,
                          struct scr_err *err)
{
    char *root = scr_strdup(base), *below = NULL;
    if (root != NULL) {
        const char *missing = base + existing_part(env, root);
        below = scr_path_join(missing + strspn(missing, "/"), rel);
    }
    int rc = below ? scr_dir_make_private(env->sys, root, below, PRIVATE, err)
                   : scr_no_memory(err);
    free(below);
    free(root);
    return rc;
}

int scr_place_make(const struct scr_env *env, const struct scr_place *pl,
                   const char *base, int is_node_local, struct scr_err *err)
{
    TRY(check_component("user name", pl->user, err));
    TRY(check_component("job id", pl->jobid, err));
    if (pl->vnode != NULL)
        TRY(check_component("virtual node", pl->vnode, err));
    if (pl->prefix != NULL)
        TRY(check_component("prefix identity", pl->prefix, err));
    char *rel = place_rel(pl, is_node_local);
    TRY(rel ? SCR_OK : scr_no_memory(err));
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_dir_make_private(env->sys, base, rel, PRIVATE, &why);
    if (rc == SCR_E_NOENT)
        rc = make_with_base(env, base, rel, err);
    else
        scr_err_take(err, rc, &why);
    free(rel);
    return rc;
}

/* Whether the list at path has a dataset of SCR 3.x in cache: those that bypassed it
 * are in the prefix directory. A damaged list may have one. */
static int lists_cached(const struct scr_sys *sys, const char *path)
{
    scr_hash *h = scr_hash_new();
    int rc = h ? scr_hash_file_read(sys, path, h, NULL) : SCR_E_NOMEM;
    int found = rc == SCR_E_CORRUPT;
    for (SCR_HASH_EACH(e, scr_hash_get(h, "DSET"))) {
        const char *bypass = scr_hash_get_val(scr_hash_elem_hash(e), "BYPASS");
        found |= bypass == NULL || strcmp(bypass, "1") != 0;
    }
    scr_hash_delete(h);
    return found;
}

void scr_place_tell_scr3(const struct scr_env *env, const struct scr_place *pl,
                         const char *base)
{
    const struct scr_place job = { pl->user, pl->jobid, NULL, NULL };
    char *dir = scr_place_dir(&job, base, 1);
    char *list = dir ? scr_path_join(dir, "cindex.scrinfo") : NULL;
    char *old = dir ? scr_path_join(dir, "filemap.scrinfo") : NULL; /* of 1 and 2 */
    struct stat st;
    if ((list && lists_cached(env->sys, list)) ||
        (old && scr_file_stat(env->sys, old, &st, NULL) == SCR_OK))
        scr_log(env->log, SCR_LOG_WARN,
                "SCR 3.x or older has datasets in cache (%s): they stay there and are "
                "not read; its scr_postrun or its next run saves them",
                dir);
    free(list);
    free(old);
    free(dir);
}

/* <cache>/scr.dataset.<id>/<rest>; takes rest, which may be NULL (out of memory). */
static char *below_dset(const char *cache, int id, char *rest)
{
    char *dset = rest ? scr_dset_path(cache, id) : NULL;
    char *path = dset ? scr_asprintf("%s/%s", dset, rest) : NULL;
    free(dset);
    free(rest);
    return path;
}

char *scr_cache_rank_dir(const char *cache, int id, int rank)
{
    return below_dset(cache, id, scr_asprintf("rank.%d", rank));
}

char *scr_cache_red_path(const char *cache, int id, const char *redname)
{
    return below_dset(cache, id, scr_asprintf(".scr/%s", redname));
}

size_t scr_cache_dset_len(const char *path, int id)
{
    char name[48];
    size_t at = 0;
    int n = snprintf(name, sizeof name, "/scr.dataset.%d/", id);
    for (const char *p = path; (p = strstr(p, name)) != NULL; p++)
        at = (size_t)(p - path) + (size_t)n;
    return at;
}

char *scr_cache_dset_of(const char *path, int id)
{
    size_t len = scr_cache_dset_len(path, id);
    return len > 0 ? scr_asprintf("%.*s", (int)len - 1, path) : NULL;
}

void scr_cache_prune(const struct scr_env *env, const char *path, int id)
{
    char *dir = scr_path_dir(path), *dset = scr_cache_dset_of(path, id);
    char *stop = dset ? scr_path_dir(dset) : NULL;
    if (dir != NULL && stop != NULL)
        scr_dir_prune(env->sys, dir, stop, NULL);
    free(stop);
    free(dset);
    free(dir);
}

int scr_cache_make(const struct scr_env *env, const char *cache, int id, int rank,
                   struct scr_err *err)
{
    int rc = SCR_E_NOMEM;
    char *rank_rel = scr_asprintf("scr.dataset.%d/rank.%d", id, rank);
    char *red_rel = scr_asprintf("scr.dataset.%d/.scr", id);
    if (rank_rel == NULL || red_rel == NULL)
        scr_fail(err, rc, 0, "dataset directory in %s: out of memory", cache);
    else if ((rc = scr_dir_make_private(env->sys, cache, rank_rel, PRIVATE, err)) ==
             SCR_OK)
        rc = scr_dir_make_private(env->sys, cache, red_rel, PRIVATE, err);
    free(rank_rel);
    free(red_rel);
    return rc;
}

/* rmdir of the redundancy directory and of the dataset's, as far as they are empty. */
static int prune_empty(const struct scr_env *env, const char *cache, int id,
                       struct scr_err *err)
{
    int rc = SCR_E_NOMEM;
    char *dset = scr_dset_path(cache, id);
    char *red = scr_cache_red_path(cache, id, "");
    if (dset == NULL || red == NULL)
        scr_fail(err, rc, 0, "dataset directory in %s: out of memory", cache);
    else if ((rc = scr_dir_prune(env->sys, red, cache, err)) == SCR_OK)
        rc = scr_dir_prune(env->sys, dset, cache, err);
    free(dset);
    free(red);
    return rc;
}

int scr_cache_remove_rank(const struct scr_env *env, const char *cache, int id,
                          int rank, struct scr_err *err)
{
    char *dir = scr_cache_rank_dir(cache, id, rank);
    TRY(dir ? SCR_OK : scr_no_memory(err));
    int rc = scr_dir_remove(env->sys, dir, err);
    free(dir);
    return rc == SCR_OK ? prune_empty(env, cache, id, err) : rc;
}

int scr_cache_remove(const struct scr_env *env, const char *cache, int id,
                     struct scr_err *err)
{
    char *dir = scr_dset_path(cache, id);
    TRY(dir ? SCR_OK : scr_no_memory(err));
    int rc = scr_dir_remove(env->sys, dir, err);
    free(dir);
    return rc;
}
