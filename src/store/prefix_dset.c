/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of one dataset in the prefix directory: summary.scr, rank2file and its
 * parts. */
#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/path.h"
#include "base/str.h"
#include "store/prefix_dset.h"

enum {
    DIR_MODE = 0777, /* cut by the umask */
    LEVEL_MAX = 8    /* depth of a rank2file tree; writers make two levels */
};

static int no_memory(int id, struct scr_err *err)
{
    return scr_fail(err, SCR_E_NOMEM, 0, "dataset %d: out of memory", id);
}

/* Reads <dir>/<name><suffix> into a new hash. */
static int read_file(const struct scr_env *env, const char *dir, int id,
                     const char *name, const char *suffix, scr_hash **h,
                     struct scr_err *err)
{
    char *path = scr_asprintf("%s/%s%s", dir, name, suffix);
    *h = scr_hash_new();
    int rc = path != NULL && *h != NULL ? scr_hash_file_read(env->sys, path, *h, err)
                                        : no_memory(id, err);
    if (rc != SCR_OK) {
        scr_hash_delete(*h);
        *h = NULL;
    }
    free(path);
    return rc;
}

/* --- summary --- */

/* The summary must be that of the directory it lies in: a copied directory is not a
 * dataset. */
static int check_id(int id, const scr_hash *dset, struct scr_err *err)
{
    struct scr_dataset d;
    int rc = scr_dataset_get(dset, &d, err);
    if (rc == SCR_OK && d.id != id)
        rc = scr_fail(err, SCR_E_CORRUPT, 0, "it describes dataset %d", d.id);
    return rc;
}

/* Reads the summary in dir. Either output may be NULL. */
static int summary_load(const struct scr_env *env, const char *dir, int id,
                        int *complete, scr_hash *dset, scr_hash **rank2file,
                        struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    scr_hash *h, *found = NULL;
    int rc = read_file(env, dir, id, "summary.scr", "", &h, err);
    if (rc != SCR_OK)
        return rc;
    rc = scr_summary_get(h, complete, &found, rank2file, &why);
    if (rc == SCR_OK)
        rc = check_id(id, found, &why);
    if (rc != SCR_OK)
        scr_fail(err, rc, 0, "%s/summary.scr: %s", dir, why.text);
    else if (dset != NULL && scr_hash_merge(dset, found) != SCR_OK)
        rc = no_memory(id, err);
    scr_hash_delete(h);
    return rc;
}

int scr_prefix_summary_here(const struct scr_env *env, const struct scr_prefix *p,
                            int id, int *complete, scr_hash *dset, struct scr_err *err)
{
    scr_hash *rank2file = NULL;
    char *dir = scr_prefix_dset_dir(p, id);
    int rc = dir ? summary_load(env, dir, id, complete, dset, &rank2file, err)
                 : no_memory(id, err);
    scr_hash_delete(rank2file);
    free(dir);
    return rc;
}

/* --- datasets of version 1: summary and files lie in a directory of the prefix that
 * only the index names --- */

/* That directory relative to the prefix, malloc'd. SCR_E_NOENT, without text, if the
 * index knows of none; any other error says nothing about that. */
static int old_dir(const struct scr_env *env, const struct scr_prefix *p, int id,
                   char **dir, struct scr_err *err)
{
    struct scr_index_entry e;
    struct scr_err why = SCR_ERR_INIT;
    scr_hash *index = scr_hash_new();
    int rc = index ? scr_prefix_index_read(env, p, index, &why) : no_memory(id, &why);
    *dir = NULL;
    if (rc != SCR_OK)
        rc = scr_err_may_pass(rc) ? scr_fail(err, rc, 0, "%s", why.text) : SCR_E_NOENT;
    else if (scr_index_get(index, id, &e, NULL) != SCR_OK || e.dir == NULL ||
             !scr_path_is_safe(e.dir))
        rc = SCR_E_NOENT;
    else if ((*dir = scr_strdup(e.dir)) == NULL)
        rc = no_memory(id, err);
    scr_hash_delete(index);
    return rc;
}

/* Puts dir before the path of every file, which version 5 counts from the summary. */
static int move_paths(const char *dir, const scr_hash *from, scr_hash *to)
{
    int ranks = 0;
    scr_hash_get_val_int(from, "RANKS", &ranks);
    if (scr_rank2file_set_part(to, ranks) != SCR_OK)
        return SCR_E_CORRUPT;
    for (SCR_HASH_EACH(r, scr_hash_get(from, "RANK"))) {
        scr_hash *rank = scr_hash_set_kv(to, "RANK", scr_hash_elem_key(r));
        for (SCR_HASH_EACH(f, scr_hash_get(scr_hash_elem_hash(r), "FILE"))) {
            char *path = scr_path_join(dir, scr_hash_elem_key(f));
            scr_hash *file = path ? scr_hash_set_kv(rank, "FILE", path) : NULL;
            int rc = file ? scr_hash_merge(file, scr_hash_elem_hash(f)) : SCR_E_NOMEM;
            free(path);
            if (rc != SCR_OK)
                return rc;
        }
    }
    return scr_hash_ok(to) ? SCR_OK : SCR_E_NOMEM;
}

/* SCR_E_NOENT, without text, if there is no such dataset. What may pass has a text. */
static int old_load(const struct scr_env *env, const struct scr_prefix *p, int id,
                    int *complete, scr_hash *dset, scr_hash *part, struct scr_err *err)
{
    scr_hash *files = NULL;
    char *rel = NULL, *dir = NULL;
    int rc = old_dir(env, p, id, &rel, err);
    if (rc == SCR_OK && (dir = scr_path_join(p->path, rel)) == NULL)
        rc = no_memory(id, err);
    if (rc == SCR_OK)
        rc = summary_load(env, dir, id, complete, dset, &files, err);
    if (rc == SCR_OK && dset != NULL && scr_hash_set_val(dset, "NAME", rel) == NULL)
        rc = no_memory(id, err);
    if (rc == SCR_OK && part != NULL && (rc = move_paths(rel, files, part)) != SCR_OK)
        scr_fail(err, rc, 0, "%s/summary.scr: list of files", dir);
    scr_hash_delete(files);
    free(dir);
    free(rel);
    return rc;
}

int scr_prefix_summary_read(const struct scr_env *env, const struct scr_prefix *p,
                            int id, int *complete, scr_hash *dset, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT, old_why = SCR_ERR_INIT;
    int rc = scr_prefix_summary_here(env, p, id, complete, dset, &why);
    if (rc == SCR_E_NOENT) {
        int old = old_load(env, p, id, complete, dset, NULL, &old_why);
        if (old == SCR_OK)
            return old;
        if (scr_err_may_pass(old))
            return scr_fail(err, old, 0, "%s", old_why.text);
    }
    return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "%s", why.text);
}

/* What is there to be edited: an unreadable summary is replaced, a newer one is not. */
static int summary_base(const struct scr_env *env, const char *dir, int id,
                        scr_hash **h, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    scr_hash *dset = NULL, *rank2file = NULL;
    int complete;
    int rc = read_file(env, dir, id, "summary.scr", "", h, &why);
    if (rc == SCR_OK)
        rc = scr_summary_get(*h, &complete, &dset, &rank2file, &why);
    scr_hash_delete(rank2file);
    if (rc == SCR_OK)
        return SCR_OK;
    scr_hash_delete(*h);
    *h = scr_hash_new();
    if (rc == SCR_E_NOENT || rc == SCR_E_CORRUPT)
        return *h != NULL ? SCR_OK : no_memory(id, err);
    return scr_fail(err, rc, 0, "%s", why.text);
}

int scr_prefix_summary_write(const struct scr_env *env, const struct scr_prefix *p,
                             int id, const scr_hash *dset, int complete,
                             struct scr_err *err)
{
    scr_hash *h = NULL;
    char *dir = scr_prefix_dset_dir(p, id);
    char *path = dir ? scr_path_join(dir, "summary.scr") : NULL;
    int rc = path ? check_id(id, dset, err) : no_memory(id, err);
    if (rc == SCR_OK)
        rc = scr_dir_make(env->sys, dir, DIR_MODE, err);
    if (rc == SCR_OK)
        rc = summary_base(env, dir, id, &h, err);
    if (rc == SCR_OK && scr_summary_set(h, dset, complete) != SCR_OK)
        rc = no_memory(id, err);
    if (rc == SCR_OK)
        rc = scr_hash_file_write(env->sys, path, h, SCR_DURABLE, err);
    scr_hash_delete(h);
    free(path);
    free(dir);
    return rc;
}

static int stat_summary(const struct scr_env *env, const struct scr_prefix *p, int id,
                        struct stat *st)
{
    char *dir = scr_prefix_dset_dir(p, id);
    char *path = dir ? scr_path_join(dir, "summary.scr") : NULL;
    int rc = path ? scr_file_stat(env->sys, path, st, NULL) : SCR_E_NOMEM;
    free(path);
    free(dir);
    return rc;
}

time_t scr_prefix_summary_time(const struct scr_env *env, const struct scr_prefix *p,
                               int id)
{
    struct stat st = { 0 };
    return stat_summary(env, p, id, &st) == SCR_OK ? st.st_mtime : 0;
}

int scr_prefix_has_summary(const struct scr_env *env, const struct scr_prefix *p,
                           int id)
{
    struct stat st;
    return stat_summary(env, p, id, &st) != SCR_E_NOENT;
}

/* --- rank2file --- */

/* What a walk over the tree of parts carries along. */
struct walk {
    const struct scr_env *env;
    const char *dir; /* of the dataset */
    int id;
    scr_hash *out;
};

static int bad_tree(const struct walk *w, const char *suffix, const char *what,
                    struct scr_err *err)
{
    return scr_fail(err, SCR_E_CORRUPT, 0, "%s/rank2file%s: %s", w->dir, suffix, what);
}

static int take_part(const struct walk *w, const scr_hash *part, struct scr_err *err)
{
    scr_hash *ranks = scr_hash_get(w->out, "RANK");
    if (ranks == NULL)
        ranks = scr_hash_set(w->out, "RANK", NULL);
    return ranks != NULL && scr_hash_merge(ranks, scr_hash_get(part, "RANK")) == SCR_OK
               ? SCR_OK
               : no_memory(w->id, err);
}

/* Reads the node of that name and checks it; *level is then its level. */
static int read_node(const struct walk *w, const char *suffix, int level_max,
                     scr_hash **node, int *level, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = read_file(w->env, w->dir, w->id, "rank2file", suffix, node, err);
    if (rc != SCR_OK)
        return rc;
    if ((rc = scr_rank2file_check_root(*node, &why)) != SCR_OK)
        return bad_tree(w, suffix, why.text, err);
    scr_hash_get_val_int(*node, "LEVEL", level);
    return *level <= level_max ? SCR_OK : bad_tree(w, suffix, "bad LEVEL", err);
}

/* level_max falls with every step down, so that a file that names itself ends the walk.
 */
static int walk_tree(const struct walk *w, const char *suffix, int level_max,
                     struct scr_err *err)
{
    scr_hash *node = NULL;
    int level = 0, ranks = 0;
    int rc = read_node(w, suffix, level_max, &node, &level, err);
    if (rc == SCR_OK && *suffix == '\0' &&
        scr_hash_get_val_int(node, "RANKS", &ranks) &&
        scr_rank2file_set_part(w->out, ranks) != SCR_OK)
        rc = no_memory(w->id, err);
    if (rc == SCR_OK && level == 0)
        rc = take_part(w, node, err);
    if (rc == SCR_OK && level > 0)
        for (SCR_HASH_EACH(e, scr_hash_get(node, "RANK")))
            if (rc == SCR_OK)
                rc = walk_tree(w, scr_hash_get_val(scr_hash_elem_hash(e), "FILE"),
                               level - 1, err);
    scr_hash_delete(node);
    return rc;
}

/* Datasets of older writers have no rank2file: their summary has it all. */
static int from_summary(const struct walk *w, const struct scr_prefix *p,
                        struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    scr_hash *rank2file = NULL;
    int complete;
    int rc = summary_load(w->env, w->dir, w->id, &complete, NULL, &rank2file, &why);
    if (rc == SCR_E_NOENT) {
        scr_err_clear(&why);
        rc = old_load(w->env, p, w->id, &complete, NULL, w->out, &why);
    } else if (rc == SCR_OK && rank2file != NULL) {
        rc = scr_hash_merge(w->out, rank2file);
    } else if (rc == SCR_OK) {
        rc = SCR_E_NOENT;
    }
    scr_hash_delete(rank2file);
    if (rc == SCR_OK)
        return rc;
    return why.code != SCR_OK
               ? scr_fail(err, rc, 0, "%s", why.text)
               : scr_fail(err, rc, 0, "%s/rank2file: %s", w->dir, scr_err_meaning(rc));
}

int scr_prefix_rank2file_read(const struct scr_env *env, const struct scr_prefix *p,
                              int id, scr_hash *part, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    char *dir = scr_prefix_dset_dir(p, id);
    const struct walk w = { env, dir, id, part };
    int rc = dir ? walk_tree(&w, "", LEVEL_MAX, &why) : no_memory(id, &why);
    if (rc == SCR_E_NOENT && scr_hash_size(part) == 0)
        rc = from_summary(&w, p, err);
    else if (rc != SCR_OK)
        scr_fail(err, rc, 0, "%s", why.text);
    free(dir);
    return rc;
}

int scr_prefix_summary_remove(const struct scr_env *env, const struct scr_prefix *p,
                              int id, struct scr_err *err)
{
    struct stat st;
    char *dir = scr_prefix_dset_dir(p, id);
    char *summary = dir ? scr_path_join(dir, "summary.scr") : NULL;
    int rc = SCR_OK;
    if (summary == NULL)
        rc = scr_fail(err, SCR_E_NOMEM, 0, "summary of dataset %d", id);
    else if (scr_file_stat(env->sys, summary, &st, NULL) != SCR_E_NOENT)
        rc = scr_file_remove(env->sys, summary, err);
    if (rc == SCR_OK && scr_file_stat(env->sys, dir, &st, NULL) != SCR_E_NOENT)
        rc = scr_dir_sync(env->sys, dir, err);
    free(summary);
    free(dir);
    return rc;
}
