/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of one dataset in the prefix directory: summary.scr, rank2file and its
 * parts, and records of what has begun with it. */
#include <stdlib.h>

#include "base/dir.h"
#include "base/path.h"
#include "base/str.h"
#include "store/catalog.h"
#include "store/prefix_dset.h"

enum {
    DIR_MODE = 0777, /* cut by the umask */
    RECORD_VERSION = 1
};

/* --- summary --- */

/* The summary must be that of the directory it is in: a copied directory is not a
 * dataset. */
static int check_id(int id, const scr_hash *dset, struct scr_err *err)
{
    struct scr_dataset d;
    TRY(scr_dataset_get(dset, &d, err));
    if (d.id != id)
        return scr_fail(err, SCR_E_CORRUPT, 0, "it describes dataset %d", d.id);
    return SCR_OK;
}

/* What a summary says. */
struct summary {
    scr_hash *h, *dset; /* dset: in h */
    int complete;
    struct scr_rank2file files; /* of 0 ranks: it has none itself */
    char *below; /* directory of the prefix where the paths of these begin, malloc'd;
                    NULL: the prefix itself */
};

static void summary_fini(struct summary *s)
{
    scr_hash_delete(s->h);
    scr_rank2file_fini(&s->files);
    free(s->below);
    *s = (struct summary){ 0 };
}

/* Reads the summary in dir, of any dataset. *s is empty after an error. */
static int summary_read(const struct scr_env *env, const char *dir, struct summary *s,
                        struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    char *path = scr_path_join(dir, "summary.scr");
    *s = (struct summary){ .h = scr_hash_new() };
    int rc = path && s->h ? scr_hash_file_read(env->sys, path, s->h, &why)
                          : scr_no_memory(&why);
    if (rc == SCR_OK) {
        rc = scr_summary_get(s->h, &s->complete, &s->dset, &s->files, &why);
        scr_err_prefix(&why, "%s", path);
    }
    if (rc != SCR_OK) {
        summary_fini(s);
        scr_err_take(err, rc, &why);
    }
    free(path);
    return rc;
}

/* The same of dataset id. */
static int summary_load(const struct scr_env *env, const char *dir, int id,
                        struct summary *s, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = summary_read(env, dir, s, err);
    if (rc != SCR_OK || (rc = check_id(id, s->dset, &why)) == SCR_OK)
        return rc;
    summary_fini(s);
    return scr_fail(err, rc, 0, "%s/summary.scr: %s", dir, why.text);
}

/* Either output may be NULL. */
static int summary_tell(const struct summary *s, int *complete, scr_hash *dset,
                        struct scr_err *err)
{
    if (complete != NULL)
        *complete = s->complete;
    return dset == NULL || scr_hash_merge(dset, s->dset) == SCR_OK ? SCR_OK
                                                                   : scr_no_memory(err);
}

int scr_prefix_summary_here(const struct scr_env *env, const struct scr_prefix *p,
                            int id, int *complete, scr_hash *dset, struct scr_err *err)
{
    struct summary s = { 0 };
    char *dir = scr_prefix_dset_dir(p, id);
    int rc;
    TRY_OUT(dir ? summary_load(env, dir, id, &s, err) : scr_no_memory(err));
    TRY_OUT(summary_tell(&s, complete, dset, err));
out:
    summary_fini(&s);
    free(dir);
    return rc;
}

/* --- datasets of version 1: summary and files are in a directory of the prefix that
 * only the index names --- */

/* That directory relative to the prefix, malloc'd. SCR_E_NOENT, without text, if the
 * index knows of none; any other error says nothing about that. */
static int old_dir(const struct scr_env *env, const struct scr_prefix *p, int id,
                   char **dir, struct scr_err *err)
{
    struct scr_index_entry e;
    struct scr_err why = SCR_ERR_INIT;
    struct scr_index index = SCR_INDEX_INIT;
    int rc = scr_prefix_index_read(env, p, &index, &why);
    *dir = NULL;
    if (rc != SCR_OK)
        rc = scr_err_may_pass(rc) ? scr_err_take(err, rc, &why) : SCR_E_NOENT;
    else if (scr_index_get(&index, id, &e, NULL) != SCR_OK || e.dir == NULL ||
             !scr_path_is_safe(e.dir))
        rc = SCR_E_NOENT;
    else if ((*dir = scr_strdup(e.dir)) == NULL)
        rc = scr_no_memory(err);
    scr_index_fini(&index);
    return rc;
}

/* The summary, named. SCR_E_NOENT, without text, if there is no such dataset. A
 * transient error has a text. */
static int old_load(const struct scr_env *env, const struct scr_prefix *p, int id,
                    struct summary *s, struct scr_err *err)
{
    char *rel = NULL, *dir = NULL;
    int rc = old_dir(env, p, id, &rel, err);
    *s = (struct summary){ 0 };
    if (rc == SCR_OK && (dir = scr_path_join(p->path, rel)) == NULL)
        rc = scr_no_memory(err);
    if (rc == SCR_OK)
        rc = summary_load(env, dir, id, s, err);
    if (rc == SCR_OK && scr_hash_set_val(s->dset, "NAME", rel) == NULL)
        rc = scr_no_memory(err);
    if (rc == SCR_OK)
        s->below = rel;
    else
        free(rel);
    free(dir);
    return rc;
}

int scr_prefix_summary_read(const struct scr_env *env, const struct scr_prefix *p,
                            int id, int *complete, scr_hash *dset, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT, old_why = SCR_ERR_INIT;
    int rc = scr_prefix_summary_here(env, p, id, complete, dset, &why);
    if (rc == SCR_E_NOENT) {
        struct summary s;
        int old = old_load(env, p, id, &s, &old_why);
        if (old == SCR_OK)
            old = summary_tell(&s, complete, dset, &old_why);
        summary_fini(&s);
        if (old == SCR_OK)
            return old;
        if (scr_err_may_pass(old))
            return scr_err_take(err, old, &old_why);
    }
    return scr_err_take(err, rc, &why);
}

/* The summary to edit: an unreadable summary is replaced, a newer one is not. */
static int summary_base(const struct scr_env *env, const char *dir, scr_hash **h,
                        struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    struct summary s;
    int rc = summary_read(env, dir, &s, &why);
    if (rc == SCR_E_NOENT || rc == SCR_E_CORRUPT) {
        s.h = scr_hash_new();
        rc = s.h != NULL ? SCR_OK : scr_no_memory(&why);
    }
    *h = s.h;
    s.h = NULL;
    summary_fini(&s);
    return scr_err_take(err, rc, &why);
}

int scr_prefix_summary_write(const struct scr_env *env, const struct scr_prefix *p,
                             int id, const scr_hash *dset, int complete,
                             struct scr_err *err)
{
    scr_hash *h = NULL;
    char *dir = scr_prefix_dset_dir(p, id);
    char *path = dir ? scr_path_join(dir, "summary.scr") : NULL;
    int rc;
    TRY_OUT(path ? check_id(id, dset, err) : scr_no_memory(err));
    TRY_OUT(scr_dir_make(env->sys, dir, DIR_MODE, err));
    TRY_OUT(summary_base(env, dir, &h, err));
    TRY_OUT(scr_summary_set(h, dset, complete) == SCR_OK ? SCR_OK : scr_no_memory(err));
    TRY_OUT(scr_hash_file_write(env->sys, path, h, SCR_DURABLE, err));
out:
    scr_hash_delete(h);
    free(path);
    free(dir);
    return rc;
}

static int stat_summary(const struct scr_env *env, const struct scr_prefix *p, int id,
                        struct stat *st)
{
    char *path = scr_prefix_dset_file(p, id, "summary.scr");
    int rc = path ? scr_file_stat(env->sys, path, st, NULL) : SCR_E_NOMEM;
    free(path);
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
    const struct scr_prefix *p;
    int id;
    struct scr_rank2file *out;
};

static int walk_tree(const struct walk *w, const char *suffix, int level_max,
                     struct scr_err *err);

static int walk_parts(const struct walk *w, const struct scr_rank2file_root *node,
                      struct scr_err *err)
{
    int rc = SCR_OK;
    for (size_t i = 0; i < node->n && rc == SCR_OK; i++) {
        char *suffix = scr_rank2file_part_name(node->level, node->part[i]);
        rc = suffix ? walk_tree(w, suffix, node->level - 1, err) : scr_no_memory(err);
        free(suffix);
    }
    return rc;
}

/* level_max falls with every step down, so that a file that names itself ends the walk.
 */
static int walk_tree(const struct walk *w, const char *suffix, int level_max,
                     struct scr_err *err)
{
    struct scr_rank2file_root node = { 0 };
    struct scr_rank2file part;
    char *path = scr_rank2file_path(w->p, w->id, suffix);
    scr_rank2file_init(&part, w->out->ranks);
    int rc;
    TRY_OUT(path ? scr_rank2file_root_read(w->env->sys, path, &node, &part, err)
                 : scr_no_memory(err));
    if (node.level > level_max)
        TRY_OUT(scr_fail(err, SCR_E_CORRUPT, 0, "%s: bad LEVEL", path));
    if (w->out->ranks == 0)
        w->out->ranks = node.ranks;
    TRY_OUT(walk_parts(w, &node, err));
    scr_rank2file_take(w->out, &part);
out:
    scr_rank2file_root_fini(&node);
    scr_rank2file_fini(&part);
    free(path);
    return rc;
}

/* Takes what the summary lists, with the directory where its paths begin before each.
 */
static void take_summary(struct scr_rank2file *to, struct summary *s)
{
    struct scr_rank2file moved = { 0 };
    for (size_t i = 0; i < s->files.n && s->below != NULL; i++) {
        struct scr_rank_files *r = scr_rank2file_add_rank(&moved, s->files.of[i]->rank);
        for (SCR_EACH(const struct scr_listed, f, &s->files.of[i]->files)) {
            struct scr_listed is = *f;
            char *path = scr_path_join(s->below, f->item.name);
            is.item.name = path;
            if (r == NULL || scr_listed_copy(&r->files, &is) == NULL)
                moved.lost = 1;
            free(path);
        }
    }
    to->ranks = s->files.ranks;
    scr_rank2file_take(to, s->below != NULL ? &moved : &s->files);
}

/* Datasets of older writers have no rank2file: their summary has it all. */
static int from_summary(const struct walk *w, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    struct summary s = { 0 };
    char *dir = scr_prefix_dset_dir(w->p, w->id);
    int rc = dir ? summary_load(w->env, dir, w->id, &s, &why) : scr_no_memory(&why);
    if (rc == SCR_E_NOENT) {
        scr_err_clear(&why);
        rc = old_load(w->env, w->p, w->id, &s, &why);
    }
    if (rc == SCR_OK && s.files.ranks == 0)
        rc = s.below == NULL
                 ? SCR_E_NOENT
                 : scr_fail(&why, SCR_E_CORRUPT, 0, "%s/%s/summary.scr: list of files",
                            w->p->path, s.below);
    if (rc == SCR_OK)
        take_summary(w->out, &s);
    else if (why.code != SCR_OK)
        scr_err_take(err, rc, &why);
    else
        scr_fail(err, rc, 0, "%s/rank2file: %s", dir, scr_err_meaning(rc));
    summary_fini(&s);
    free(dir);
    return rc;
}

int scr_prefix_rank2file_read(const struct scr_env *env, const struct scr_prefix *p,
                              int id, struct scr_rank2file *files, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    const struct walk w = { env, p, id, files };
    int rc = walk_tree(&w, "", SCR_RANK2FILE_LEVELS, &why);
    if (rc == SCR_E_NOENT && files->ranks == 0)
        rc = from_summary(&w, err);
    else
        scr_err_take(err, rc, &why);
    return rc == SCR_OK && !scr_rank2file_ok(files) ? scr_no_memory(err) : rc;
}

int scr_prefix_summary_remove(const struct scr_env *env, const struct scr_prefix *p,
                              int id, struct scr_err *err)
{
    char *dir = scr_prefix_dset_dir(p, id);
    char *summary = dir ? scr_path_join(dir, "summary.scr") : NULL;
    int rc = SCR_OK;
    if (summary == NULL)
        rc = scr_no_memory(err);
    else if (scr_file_is_there(env->sys, summary))
        rc = scr_file_remove(env->sys, summary, err);
    if (rc == SCR_OK && scr_file_is_there(env->sys, dir))
        rc = scr_dir_sync(env->sys, dir, err);
    free(summary);
    free(dir);
    return rc;
}

/* --- records of what has begun --- */

int scr_prefix_record_write(const struct scr_env *env, const struct scr_prefix *p,
                            int id, const char *name, const scr_hash *dset,
                            struct scr_err *err)
{
    scr_hash *h = scr_hash_new();
    char *path = scr_prefix_dset_file(p, id, name);
    scr_hash_set_val_i64(h, "VERSION", RECORD_VERSION);
    int merged = scr_hash_merge(scr_hash_set(h, "DSET", NULL), dset) == SCR_OK;
    int rc = merged && path && scr_hash_ok(h)
                 ? scr_hash_file_write(env->sys, path, h, SCR_DURABLE, err)
                 : scr_no_memory(err);
    free(path);
    scr_hash_delete(h);
    return rc;
}

int scr_prefix_record_read(const struct scr_env *env, const struct scr_prefix *p,
                           int id, const char *name, scr_hash *dset,
                           struct scr_err *err)
{
    int version = 0;
    scr_hash *h = scr_hash_new();
    char *path = scr_prefix_dset_file(p, id, name);
    int rc;
    TRY_OUT(h && path ? scr_hash_file_read(env->sys, path, h, err)
                      : scr_no_memory(err));
    if ((!scr_hash_get_val_int(h, "VERSION", &version) || version != RECORD_VERSION))
        TRY_OUT(scr_fail(err, version > RECORD_VERSION ? SCR_E_VERSION : SCR_E_CORRUPT,
                         0, "%s: version %d, this reader knows %d", path, version,
                         RECORD_VERSION));
    if (scr_hash_merge(dset, scr_hash_get(h, "DSET")) != SCR_OK)
        TRY_OUT(scr_no_memory(err));
out:
    free(path);
    scr_hash_delete(h);
    return rc;
}

int scr_prefix_record_remove(const struct scr_env *env, const struct scr_prefix *p,
                             int id, const char *name, struct scr_err *err)
{
    char *path = scr_prefix_dset_file(p, id, name);
    int rc = path ? scr_file_remove_durably(env->sys, path, err) : scr_no_memory(err);
    free(path);
    return rc;
}
