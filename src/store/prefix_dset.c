/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of one dataset in the prefix directory: summary.scr, rank2file and its
 * parts. */
#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/path.h"
#include "base/str.h"
#include "store/prefix.h"

enum {
    DIR_MODE = 0777, /* cut by the umask */
    LEVEL_MAX = 8    /* depth of a rank2file tree; writers make two levels */
};

static int no_memory(int id, struct scr_err *err)
{
    return scr_fail(err, SCR_E_NOMEM, 0, "dataset %d: out of memory", id);
}

/* <dset dir>/<name><suffix>, malloc'd. */
static char *dset_file(const struct scr_prefix *p, int id, const char *name,
                       const char *suffix)
{
    char *dir = scr_prefix_dset_dir(p, id);
    char *path = dir ? scr_asprintf("%s/%s%s", dir, name, suffix) : NULL;
    free(dir);
    return path;
}

/* Reads one hash file of the dataset's directory into a new hash. */
static int read_file(const struct scr_env *env, const struct scr_prefix *p, int id,
                     const char *name, const char *suffix, scr_hash **h,
                     struct scr_err *err)
{
    char *path = dset_file(p, id, name, suffix);
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

/* Either output may be NULL. */
static int summary_load(const struct scr_env *env, const struct scr_prefix *p, int id,
                        int *complete, scr_hash *dset, scr_hash **rank2file,
                        struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    scr_hash *h, *found = NULL;
    int rc = read_file(env, p, id, "summary.scr", "", &h, err);
    if (rc != SCR_OK)
        return rc;
    rc = scr_summary_get(h, complete, &found, rank2file, &why);
    if (rc == SCR_OK)
        rc = check_id(id, found, &why);
    if (rc != SCR_OK)
        scr_fail(err, rc, 0, "%s/scr.dataset.%d/summary.scr: %s", p->scr, id, why.text);
    else if (dset != NULL && scr_hash_merge(dset, found) != SCR_OK)
        rc = no_memory(id, err);
    scr_hash_delete(h);
    return rc;
}

int scr_prefix_summary_read(const struct scr_env *env, const struct scr_prefix *p,
                            int id, int *complete, scr_hash *dset, struct scr_err *err)
{
    scr_hash *rank2file = NULL;
    int rc = summary_load(env, p, id, complete, dset, &rank2file, err);
    scr_hash_delete(rank2file);
    return rc;
}

/* What is there to be edited: an unreadable summary is replaced, a newer one is not. */
static int summary_base(const struct scr_env *env, const struct scr_prefix *p, int id,
                        scr_hash **h, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    scr_hash *dset = NULL, *rank2file = NULL;
    int complete;
    int rc = read_file(env, p, id, "summary.scr", "", h, &why);
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
    char *dir = scr_prefix_dset_dir(p, id), *path = dset_file(p, id, "summary.scr", "");
    int rc = dir != NULL && path != NULL ? check_id(id, dset, err) : no_memory(id, err);
    if (rc == SCR_OK)
        rc = scr_dir_make(env->sys, dir, DIR_MODE, err);
    if (rc == SCR_OK)
        rc = summary_base(env, p, id, &h, err);
    if (rc == SCR_OK && scr_summary_set(h, dset, complete) != SCR_OK)
        rc = no_memory(id, err);
    if (rc == SCR_OK)
        rc = scr_hash_file_write(env->sys, path, h, SCR_DURABLE, err);
    scr_hash_delete(h);
    free(path);
    free(dir);
    return rc;
}

/* --- rank2file --- */

/* What a walk over the tree of parts carries along. */
struct walk {
    const struct scr_env *env;
    const struct scr_prefix *p;
    int id;
    scr_hash *out;
};

static int bad_tree(const struct walk *w, const char *suffix, const char *what,
                    struct scr_err *err)
{
    return scr_fail(err, SCR_E_CORRUPT, 0, "%s/scr.dataset.%d/rank2file%s: %s",
                    w->p->scr, w->id, suffix, what);
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
    int rc = read_file(w->env, w->p, w->id, "rank2file", suffix, node, err);
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
static int from_summary(const struct walk *w, struct scr_err *err)
{
    scr_hash *rank2file = NULL;
    int complete;
    int rc = summary_load(w->env, w->p, w->id, &complete, NULL, &rank2file, err);
    if (rc == SCR_OK && rank2file == NULL)
        rc = scr_fail(err, SCR_E_NOENT, 0, "%s/scr.dataset.%d/rank2file: no such file",
                      w->p->scr, w->id);
    if (rc == SCR_OK && scr_hash_merge(w->out, rank2file) != SCR_OK)
        rc = no_memory(w->id, err);
    scr_hash_delete(rank2file);
    return rc;
}

int scr_prefix_rank2file_read(const struct scr_env *env, const struct scr_prefix *p,
                              int id, scr_hash *part, struct scr_err *err)
{
    const struct walk w = { env, p, id, part };
    struct scr_err why = SCR_ERR_INIT;
    int rc = walk_tree(&w, "", LEVEL_MAX, &why);
    if (rc == SCR_E_NOENT && scr_hash_size(part) == 0)
        return from_summary(&w, err);
    return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "%s", why.text);
}
