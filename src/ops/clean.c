/* SPDX-License-Identifier: BSD-3-Clause */
/* Directories that jobs left in the node-local caches of this node. */
#include "ops/clean.h"

#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "store/cntl.h"
#include "store/dset_names.h"
#include "store/identity.h"
#include "store/spare.h"
#include "xfer/daemon.h"

#define VNODE "vnode."
#define JOB   "scr."

/* --- the list --- */

struct listing {
    const struct scr_clean_at *at;
    struct scr_leftover *list;
    size_t n;
};

/* Where a leftover is; name NULL: the job's directory, job NULL: the user's. */
struct place {
    const char *base, *vnode, *job, *name;
};

/* The path below the base, malloc'd. */
static char *rel_of(const struct listing *l, const struct place *p)
{
    return scr_asprintf("%s%s%s%s%s%s%s%s", p->vnode ? VNODE : "",
                        p->vnode ? p->vnode : "", p->vnode ? "/" : "", l->at->user,
                        p->job ? "/" JOB : "", p->job ? p->job : "", p->name ? "/" : "",
                        p->name ? p->name : "");
}

static int is_same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* The leftover of that place, made if it is not listed; NULL: out of memory. */
static struct scr_leftover *leftover_at(struct listing *l, const struct place *p)
{
    const char *job = p->job ? p->job : "", *name = p->name ? p->name : "";
    for (size_t i = 0; i < l->n; i++)
        if (is_same_text(l->list[i].vnode, p->vnode) &&
            strcmp(l->list[i].job, job) == 0 && strcmp(l->list[i].name, name) == 0)
            return &l->list[i];
    struct scr_leftover *grown = scr_reallocarray(l->list, l->n + 1, sizeof *l->list);
    if (grown == NULL)
        return NULL;
    l->list = grown;
    struct scr_leftover *o = &l->list[l->n++];
    *o = (struct scr_leftover){ .vnode = scr_strdup(p->vnode),
                                .job = scr_strdup(job),
                                .name = scr_strdup(name),
                                .user = scr_strdup(l->at->user) };
    return o->job && o->name && o->user && (o->vnode || !p->vnode) ? o : NULL;
}

static int refuse(struct scr_leftover *o, const struct scr_err *why)
{
    if (o->rc == SCR_OK)
        o->why = scr_strdup(why->text);
    o->rc = why->code;
    return SCR_OK;
}

/* Adds the directory of the place. *ok = 0: it is refused, or not there. */
static int add_dir(struct listing *l, const struct place *p, int *ok,
                   struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    const struct scr_sys *sys = l->at->env->sys;
    char *rel = rel_of(l, p), *dir = rel ? scr_path_join(p->base, rel) : NULL;
    struct scr_leftover *o = NULL;
    int rc = SCR_OK;
    *ok = 0;
    if (dir == NULL || (o = leftover_at(l, p)) == NULL)
        rc = scr_no_memory(err);
    else if ((rc = scr_dir_make_private(sys, p->base, rel, 0700, &why)) == SCR_OK)
        *ok = 1;
    else
        rc = rc == SCR_E_UNSAFE ? refuse(o, &why) : scr_err_take(err, rc, &why);
    for (size_t i = 0; *ok && i < o->dirs.n; i++)
        if (scr_dir_is_same(sys, o->dirs.v[i], dir))
            *ok = 0;
    if (*ok) {
        scr_strv_add(&o->dirs, dir);
        scr_strv_add(&o->bases, p->base);
        rc = o->dirs.bad || o->bases.bad ? scr_no_memory(err) : SCR_OK;
    }
    free(dir);
    free(rel);
    return rc;
}

/* The directories of prefix directories below one of a job; an empty one of a job is a
 * leftover itself. */
static int list_job(struct listing *l, struct place p, const char *dir,
                    struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    char **names = NULL;
    size_t n = 0;
    int ok, rc;
    TRY_OUT(scr_dir_list(l->at->env->sys, dir, &names, &n, &why));
    if (n == 0)
        TRY_OUT(add_dir(l, &p, &ok, &why));
    for (size_t i = 0; i < n; i++)
        if (scr_identity_is_name(names[i])) {
            p.name = names[i];
            TRY_OUT(add_dir(l, &p, &ok, &why));
        }
out:
    scr_names_free(names, n);
    return scr_err_take(err, rc == SCR_E_NOENT ? SCR_OK : rc, &why);
}

/* SCR_OK with *dir NULL: there is none, or it is refused; else the directory of a user
 * or a job, malloc'd. */
static int enter(struct listing *l, const struct place *p, char **dir,
                 struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    struct stat st;
    char *rel = rel_of(l, p);
    *dir = rel ? scr_path_join(p->base, rel) : NULL;
    int rc =
        *dir ? scr_file_stat(l->at->env->sys, *dir, &st, &why) : scr_no_memory(&why);
    if (rc == SCR_OK)
        rc = scr_dir_make_private(l->at->env->sys, p->base, rel, 0700, &why);
    free(rel);
    if (rc == SCR_OK)
        return rc;
    free(*dir);
    *dir = NULL;
    if (rc == SCR_E_NOENT)
        return SCR_OK;
    if (rc != SCR_E_UNSAFE)
        return scr_err_take(err, rc, &why);
    struct scr_leftover *o = leftover_at(l, p);
    return o ? refuse(o, &why) : scr_no_memory(err);
}

static int list_user(struct listing *l, struct place p, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    char *dir, *job = NULL, **names = NULL;
    size_t n = 0;
    int rc = enter(l, &p, &dir, &why);
    if (rc == SCR_OK && dir != NULL)
        rc = scr_dir_list(l->at->env->sys, dir, &names, &n, &why);
    for (size_t i = 0; i < n && rc == SCR_OK; i++) {
        if (strncmp(names[i], JOB, sizeof JOB - 1) != 0)
            continue;
        p.job = names[i] + sizeof JOB - 1;
        rc = enter(l, &p, &job, &why);
        if (rc == SCR_OK && job != NULL)
            rc = list_job(l, p, job, &why);
        free(job);
    }
    scr_names_free(names, n);
    free(dir);
    return scr_err_take(err, rc == SCR_E_NOENT ? SCR_OK : rc, &why);
}

/* A virtual node's directory that we cannot enter is another user's. */
static int is_reached(const struct listing *l, const struct place *p)
{
    struct stat st;
    char *rel = rel_of(l, p), *dir = rel ? scr_path_join(p->base, rel) : NULL;
    int is = dir == NULL || scr_file_stat(l->at->env->sys, dir, &st, NULL) == SCR_OK;
    free(dir);
    free(rel);
    return is;
}

static int list_base(struct listing *l, const char *base, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    struct place p = { .base = base };
    char **names = NULL;
    size_t n = 0;
    int rc;
    TRY_OUT(scr_dir_list(l->at->env->sys, base, &names, &n, &why));
    TRY_OUT(list_user(l, p, &why));
    for (size_t i = 0; i < n; i++) {
        p.vnode = names[i] + sizeof VNODE - 1;
        if (strncmp(names[i], VNODE, sizeof VNODE - 1) == 0 && is_reached(l, &p))
            TRY_OUT(list_user(l, p, &why));
    }
out:
    scr_names_free(names, n);
    return scr_err_take(err, rc == SCR_E_NOENT ? SCR_OK : rc, &why);
}

/* --- what is known of one --- */

/* The control directory may be below a base that is not configured here. */
static int add_control(struct listing *l, size_t at, const char *dir,
                       struct scr_err *err)
{
    const struct scr_leftover *o = &l->list[at];
    struct place p = { NULL, o->vnode, o->job, o->name };
    char *path = scr_cntl_job_path(l->at->env, dir, SCR_CNTL_JOB_CNTL);
    char *rel = path ? rel_of(l, &p) : NULL, *base = NULL;
    size_t len = path ? strlen(path) : 0, tail = rel ? strlen(rel) : 0;
    int ok, rc = SCR_OK;
    if (rel != NULL && len > tail + 1 && path[len - tail - 1] == '/' &&
        strcmp(path + len - tail, rel) == 0 &&
        scr_file_is_there(l->at->env->sys, path)) {
        base = scr_asprintf("%.*s", (int)(len - tail - 1), path);
        p.base = base;
        rc = base ? add_dir(l, &p, &ok, err) : scr_no_memory(err);
    }
    free(base);
    free(rel);
    free(path);
    return rc;
}

/* SCR leaves no directory of this kind that is not empty and has neither a lock nor a
 * file of these. */
static int check_ours(const struct scr_env *env, const char *dir,
                      struct scr_leftover *o, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    char **names = NULL;
    size_t n = 0;
    int rc = scr_dir_list(env->sys, dir, &names, &n, &why);
    if (rc != SCR_OK)
        return rc == SCR_E_NOENT ? SCR_OK : scr_err_take(err, rc, &why);
    int ours = n == 0;
    for (size_t i = 0; i < n; i++)
        ours = ours || strncmp(names[i], "job.", 4) == 0 ||
               strncmp(names[i], "filemap", 7) == 0 || scr_dset_id(names[i]) > 0;
    scr_names_free(names, n);
    if (ours)
        return SCR_OK;
    (void)scr_fail(&why, SCR_E_UNSAFE, 0, "%s refused: nothing in it is of SCR", dir);
    return refuse(o, &why);
}

static int describe(struct listing *l, size_t at, struct scr_err *err)
{
    const struct scr_env *env = l->at->env;
    for (size_t i = 0; i < l->list[at].dirs.n; i++)
        TRY(add_control(l, at, l->list[at].dirs.v[i], err));
    struct scr_leftover *o = &l->list[at];
    struct scr_dir_sum sum = { 0 };
    for (size_t i = 0; i < o->dirs.n; i++) {
        if (o->prefix == NULL)
            o->prefix = scr_cntl_job_path(env, o->dirs.v[i], SCR_CNTL_JOB_PREFIX);
        scr_dir_measure(env->sys, o->dirs.v[i], &sum);
        TRY(check_ours(env, o->dirs.v[i], o, err));
    }
    o->bytes = sum.bytes;
    o->newest = sum.newest;
    return SCR_OK;
}

static int by_place(const void *a, const void *b)
{
    const struct scr_leftover *x = a, *y = b;
    int order = strcmp(x->vnode ? x->vnode : "", y->vnode ? y->vnode : "");
    if (order == 0)
        order = strcmp(x->job, y->job);
    return order ? order : strcmp(x->name, y->name);
}

int scr_leftovers_list(const struct scr_clean_at *at, struct scr_leftover **list,
                       size_t *n, struct scr_err *err)
{
    struct listing l = { .at = at };
    int rc = SCR_OK;
    for (size_t i = 0; i < at->bases->n && rc == SCR_OK; i++)
        rc = list_base(&l, at->bases->v[i], err);
    for (size_t i = 0; i < l.n && rc == SCR_OK; i++)
        rc = describe(&l, i, err);
    if (l.n > 1)
        qsort(l.list, l.n, sizeof *l.list, by_place);
    *list = l.list;
    *n = l.n;
    return rc;
}

const char *scr_leftover_cntl_base(const struct scr_env *env,
                                   const struct scr_leftover *o)
{
    const char *base = NULL;
    for (size_t i = 0; i < o->dirs.n && base == NULL; i++) {
        char *cntl = scr_cntl_job_path(env, o->dirs.v[i], SCR_CNTL_JOB_CNTL);
        for (size_t j = 0; cntl != NULL && j < o->dirs.n && base == NULL; j++)
            if (scr_dir_is_same(env->sys, o->dirs.v[j], cntl))
                base = o->bases.v[j];
        free(cntl);
    }
    return base;
}

static void release(const struct scr_env *env, struct scr_leftover *o)
{
    for (size_t i = 0; i < o->nlocks; i++)
        scr_lock_release(env->sys, &o->locks[i]);
    free(o->locks);
    o->locks = NULL;
    o->nlocks = 0;
}

void scr_leftovers_free(const struct scr_env *env, struct scr_leftover *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct scr_leftover *o = &list[i];
        release(env, o);
        scr_strv_free(&o->dirs);
        scr_strv_free(&o->bases);
        free(o->vnode);
        free(o->job);
        free(o->name);
        free(o->user);
        free(o->prefix);
        free(o->why);
        free(o->unsaved);
    }
    free(list);
}

/* --- who uses it --- */

/* A lock that cannot be read counts as held, and that is the error, which the caller's
 * does not replace. Frees path. */
static int is_held(const struct scr_env *env, char *path, uint64_t key,
                   struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    struct scr_lock_holder who = { 0 };
    int rc = path == NULL ? scr_no_memory(&why)
             : key != 0   ? scr_lock_look_key(env->sys, path, key, &who, &why)
                          : scr_lock_look(env->sys, path, &who, &why);
    if (rc != SCR_OK)
        (void)scr_fail(err, SCR_E_LOCKED, 0, "it may be in use: %s", why.text);
    free(path);
    return rc != SCR_OK || who.held;
}

/* Locks of the prefix directory cover what runs on other nodes, and the time between
 * two runs of a job. */
static int look_at_prefix(const struct scr_env *env, const struct scr_leftover *o,
                          struct scr_err *err)
{
    struct scr_prefix p;
    const char *by = NULL;
    if (!scr_identity_open(env, o->prefix, o->name, &p))
        return SCR_OK;
    if (is_held(env, scr_prefix_file(&p, SCR_RUNS_LOCK), scr_str_key(o->job), err))
        by = "a run of job";
    else if (is_held(env, scr_prefix_file(&p, SCR_RUN_LOCK), 0, err))
        by = "scr_srun or the like, maybe of job";
    else if (is_held(env, scr_prefix_file(&p, SCR_SCAVENGE_LOCK), 0, err))
        by = "a scavenge, maybe of job";
    scr_prefix_fini(&p);
    return by ? scr_fail(err, SCR_E_LOCKED, 0, "%s is in use by %s %s", o->prefix, by,
                         o->job)
              : SCR_OK;
}

static int look_at_daemon(const struct scr_env *env, const char *dir,
                          struct scr_err *err)
{
    struct scr_lock_holder who = { 0 };
    TRY(scr_daemon_look(env->sys, dir, &who, err));
    return who.held
               ? scr_fail(err, SCR_E_LOCKED, 0, "%s is in use by scr_transfer", dir)
               : SCR_OK;
}

static const char *const lock_names[] = { SCR_CNTL_JOB_LOCK, SCR_CNTL_COPY_LOCK };
enum { NLOCKS = sizeof lock_names / sizeof lock_names[0] };

int scr_leftover_is_gone(const struct scr_env *env, const struct scr_leftover *o)
{
    for (size_t i = 0; i < o->dirs.n; i++)
        if (scr_file_is_there(env->sys, o->dirs.v[i]))
            return 0;
    return o->dirs.n > 0;
}

int scr_leftover_look(const struct scr_env *env, const struct scr_leftover *o,
                      struct scr_err *err)
{
    for (size_t i = 0; i < o->dirs.n; i++) {
        for (size_t j = 0; j < NLOCKS; j++)
            if (is_held(env, scr_path_join(o->dirs.v[i], lock_names[j]), 0, err))
                return scr_fail(err, SCR_E_LOCKED, 0, "%s is in use: %s is held",
                                o->dirs.v[i], lock_names[j]);
        TRY(look_at_daemon(env, o->dirs.v[i], err));
    }
    return look_at_prefix(env, o, err);
}

/* A file that another process removed meanwhile, and perhaps made again, is left to
 * it. */
static int take(const struct scr_env *env, const char *dir, const char *name,
                struct scr_lock *lock, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    char *path = scr_path_join(dir, name);
    int rc;
    TRY_OUT(path ? scr_lock_acquire(env->sys, path, 0, lock, &why)
                 : scr_no_memory(&why));
    TRY_OUT(scr_lock_check(env->sys, lock, path, &why));
out:
    free(path);
    return rc == SCR_OK ? rc
                        : scr_fail(err, rc == SCR_E_NOENT ? SCR_E_LOCKED : rc, 0,
                                   "%s is in use: %s", dir, why.text);
}

int scr_leftover_hold(const struct scr_env *env, struct scr_leftover *o,
                      struct scr_err *err)
{
    int rc;
    o->locks = scr_calloc(o->dirs.n * NLOCKS, sizeof *o->locks);
    TRY(o->locks ? SCR_OK : scr_no_memory(err));
    for (size_t i = 0; i < o->dirs.n && o->name[0] != '\0'; i++) {
        for (size_t j = 0; j < NLOCKS; j++) {
            o->locks[o->nlocks] = (struct scr_lock)SCR_LOCK_INIT;
            TRY_OUT(
                take(env, o->dirs.v[i], lock_names[j], &o->locks[o->nlocks++], err));
        }
        TRY_OUT(look_at_daemon(env, o->dirs.v[i], err));
    }
    TRY_OUT(look_at_prefix(env, o, err));
out:
    if (rc != SCR_OK)
        release(env, o);
    return rc;
}

/* --- what is safe --- */

struct judging {
    struct scr_leftover *o;
    scr_filemap *map;
    scr_hash *flush;
    struct scr_index index;
    int is_known; /* the prefix directory and its index are */
    int newest;   /* complete checkpoint */
    struct scr_str text;
};

/* A quiet log: what is wrong with a prefix directory is for its own runs to say. */
static void read_prefix(const struct scr_env *quiet, struct judging *j)
{
    struct scr_prefix p;
    if (!scr_identity_open(quiet, j->o->prefix, j->o->name, &p))
        return;
    j->is_known =
        scr_prefix_index_look(quiet, &p, &j->index, NULL) == SCR_OK &&
        scr_prefix_state_read(quiet, &p, "flush.scr", j->flush, NULL) == SCR_OK;
    j->newest = j->is_known ? scr_index_newest(&j->index) : -1;
    scr_prefix_fini(&p);
}

/* The base of the store of an entry, if that is none of this node's and has files of
 * it: they stay, so what names them does. NULL: it has none. */
static const char *is_elsewhere(const struct scr_env *env, const struct scr_leftover *o,
                                const struct scr_entry *e)
{
    const char *store = scr_hash_get_val(e->desc, "STORE");
    for (size_t i = 0; i < o->bases.n && store != NULL; i++)
        if (scr_dir_is_same(env->sys, o->bases.v[i], store))
            return NULL;
    const struct scr_place place = { o->user, o->job, NULL, o->name };
    char *cache = store ? scr_place_dir(&place, store, 0) : NULL;
    char *dir = cache ? scr_dset_path(cache, e->dset) : NULL;
    int is = dir != NULL && scr_file_is_there(env->sys, dir);
    free(dir);
    free(cache);
    return is ? store : NULL;
}

/* dset: what it is; NULL: not known. One that was dropped has its files in the prefix
 * directory, but only a cache offers it to a restart. */
static int is_safe(const struct judging *j, int id, const scr_hash *dset)
{
    struct scr_dataset d;
    if (!j->is_known)
        return 0;
    int is_dropped =
        !scr_index_has(&j->index, id) && !scr_flush_has(j->flush, id, "REPLACED");
    return (!is_dropped && scr_flush_is_saved(j->flush, &j->index, id, dset)) ||
           scr_flush_is_deleted(j->flush, &j->index, id, dset) ||
           (dset != NULL && scr_dataset_get(dset, &d, NULL) == SCR_OK && d.is_ckpt &&
            !d.is_output && id < j->newest);
}

static void note(struct judging *j, int id, const scr_hash *dset)
{
    struct scr_dataset d = { 0 };
    if (is_safe(j, id, dset))
        return;
    if (j->text.len > 0)
        scr_str_append(&j->text, ", ");
    if (dset == NULL || scr_dataset_get(dset, &d, NULL) != SCR_OK)
        scr_str_printf(&j->text, "dataset %d (no filemap describes it)", id);
    else
        scr_str_printf(&j->text, "%s %d (%s)", d.is_output ? "output" : "checkpoint",
                       id, d.name);
}

/* Ranks of a node have an entry each. Datasets that were never completed cannot be
 * restored. */
static void note_map(const struct scr_env *env, struct judging *j,
                     const scr_filemap *map)
{
    int last = 0;
    for (size_t i = 0; i < map->n; i++) {
        const struct scr_entry *e = map->entry[i];
        const char *store;
        if (e->expected < 0 || e->dset == last)
            continue;
        note(j, last = e->dset, e->dataset);
        if ((store = is_elsewhere(env, j->o, e)) != NULL)
            scr_str_printf(&j->text, "%sfiles of dataset %d in the shared cache %s",
                           j->text.len > 0 ? ", " : "", last, store);
    }
    for (const struct scr_filemap_aside *a = map->aside; a != NULL; a = a->next)
        note_map(env, j, &a->map);
}

static int note_dir(const struct scr_env *quiet, struct judging *j, const char *dir,
                    struct scr_ids *ids, struct scr_err *err)
{
    struct scr_cntl cntl;
    struct scr_table unread = SCR_TABLE_OF(struct scr_item);
    int *here = NULL;
    size_t n = 0;
    int rc;
    TRY(scr_cntl_open(quiet, dir, 0, &cntl, err));
    TRY_OUT(scr_cntl_survey_node(quiet, &cntl, j->map, &unread, err));
    if (unread.n > 0 || scr_cntl_has_newer(quiet, &cntl))
        scr_str_printf(&j->text, "%swhat filemaps in %s name that cannot be read",
                       j->text.len > 0 ? ", " : "", dir);
    TRY_OUT(scr_dset_ids(quiet, dir, &here, &n, err));
    for (size_t i = 0; i < n; i++) {
        char *dset_dir = scr_dset_path(dir, here[i]);
        int is_empty = dset_dir != NULL && scr_spare_is_all(quiet, dset_dir);
        free(dset_dir);
        TRY_OUT(is_empty ? SCR_OK : scr_ids_add(ids, here[i], err));
    }
out:
    free(here);
    scr_table_fini(&unread);
    scr_cntl_close(quiet, &cntl);
    return rc;
}

static int note_all(const struct scr_env *quiet, struct judging *j, struct scr_ids *ids,
                    struct scr_err *err)
{
    int n = 0, *named = NULL, rc;
    for (size_t i = 0; i < j->o->dirs.n; i++)
        TRY_OUT(note_dir(quiet, j, j->o->dirs.v[i], ids, err));
    if (scr_filemap_list_datasets(j->map, &n, &named) != SCR_OK)
        TRY_OUT(scr_no_memory(err));
    note_map(quiet, j, j->map);
    for (size_t i = 0; i < ids->n; i++)
        if (bsearch(&ids->id[i], named, (size_t)n, sizeof *named, scr_by_int) == NULL)
            note(j, ids->id[i], NULL);
    for (int i = 0; i < n; i++)
        TRY_OUT(scr_ids_add(ids, named[i], err));
    j->o->ndatasets = (int)ids->n;
out:
    free(named);
    return rc;
}

int scr_leftover_judge(const struct scr_env *env, struct scr_leftover *o,
                       struct scr_err *err)
{
    const struct scr_env quiet = { .sys = env->sys };
    struct judging j = { .o = o,
                         .map = scr_filemap_new(),
                         .flush = scr_hash_new(),
                         .index = SCR_INDEX_INIT };
    struct scr_ids ids = { 0 };
    int rc;
    TRY_OUT(j.map && j.flush ? SCR_OK : scr_no_memory(err));
    read_prefix(&quiet, &j);
    TRY_OUT(note_all(&quiet, &j, &ids, err));
    free(o->unsaved);
    o->unsaved = NULL;
    if ((j.text.len > 0 || j.text.bad) && !(o->unsaved = scr_str_take(&j.text)))
        TRY_OUT(scr_no_memory(err));
out:
    scr_str_free(&j.text);
    scr_ids_fini(&ids);
    scr_index_fini(&j.index);
    scr_hash_delete(j.flush);
    scr_filemap_delete(j.map);
    return rc;
}

/* --- its leaving --- */

/* Order of removal: files, then what names them, then locks, that of runs last. */
enum { FILES, RECORDS, LOCKS, JOB_LOCK, TURNS };

static int turn_of(const char *name)
{
    size_t n = strlen(name);
    if (strcmp(name, SCR_CNTL_JOB_LOCK) == 0)
        return JOB_LOCK;
    if (n > 5 && strcmp(name + n - 5, ".lock") == 0)
        return LOCKS;
    return strncmp(name, "filemap", 7) == 0 || strncmp(name, "job.", 4) == 0 ? RECORDS
                                                                             : FILES;
}

static int remove_turn(const struct scr_env *env, const char *dir, int turn,
                       struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    char **names = NULL;
    size_t n = 0;
    int rc = scr_dir_list(env->sys, dir, &names, &n, &why);
    for (size_t i = 0; i < n && rc == SCR_OK; i++) {
        char *path = turn_of(names[i]) == turn ? scr_path_join(dir, names[i]) : NULL;
        if (path != NULL)
            rc = scr_dir_remove(env->sys, path, &why);
        else if (turn_of(names[i]) == turn)
            rc = scr_no_memory(&why);
        free(path);
    }
    scr_names_free(names, n);
    return scr_err_take(err, rc == SCR_E_NOENT ? SCR_OK : rc, &why);
}

/* A run that makes its lock there once ours is gone keeps its directory. */
int scr_leftover_remove(const struct scr_env *env, struct scr_leftover *o,
                        struct scr_err *err)
{
    for (int turn = FILES; turn < TURNS && o->name[0] != '\0'; turn++)
        for (size_t i = 0; i < o->dirs.n; i++)
            TRY(remove_turn(env, o->dirs.v[i], turn, err));
    release(env, o);
    for (size_t i = 0; i < o->dirs.n; i++)
        TRY(scr_dir_prune(env->sys, o->dirs.v[i], o->bases.v[i], err));
    return SCR_OK;
}
