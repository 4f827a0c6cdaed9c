/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that wait next to those they replace. */
#include "store/replacing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "store/demote.h"
#include "store/flushing.h"
#include "store/paths.h"
#include "store/replaced.h"

#define RECORD "replacing.scr"

char *scr_replacing_dir(const char *dir, int id)
{
    return scr_asprintf("%s/" SCR_PART_DIR "%d", dir, id);
}

char *scr_replacing_path(const struct scr_prefix *p, int id, const char *dest)
{
    char *full = scr_path_join(p->path, dest);
    char *dir = full ? scr_path_dir(full) : NULL;
    char *part = dir ? scr_replacing_dir(dir, id) : NULL;
    char *path = part ? scr_path_join(part, scr_path_base(dest)) : NULL;
    free(part);
    free(dir);
    free(full);
    return path;
}

/* --- the record --- */

int scr_replacing_begin(const struct scr_env *env, const struct scr_prefix *p, int id,
                        const scr_hash *dset, struct scr_err *err)
{
    return scr_prefix_record_write(env, p, id, RECORD, dset, err);
}

int scr_replacing_is_begun(const struct scr_env *env, const struct scr_prefix *p,
                           int id)
{
    struct stat st;
    struct scr_err why = SCR_ERR_INIT;
    char *path = scr_prefix_dset_file(p, id, RECORD);
    int rc = path ? scr_file_stat(env->sys, path, &st, &why) : SCR_E_NOMEM;
    free(path);
    return rc != SCR_E_NOENT && why.sys != ENOTDIR;
}

int scr_replacing_end(const struct scr_env *env, const struct scr_prefix *p, int id,
                      struct scr_err *err)
{
    /* Its directory may be gone, too. In doubt there is one. */
    return scr_replacing_is_begun(env, p, id)
               ? scr_prefix_record_remove(env, p, id, RECORD, err)
               : SCR_OK;
}

/* --- continuing --- */

struct replacing {
    const struct scr_env *env;
    const struct scr_prefix *p;
    int id;
    scr_hash *dset;
    struct scr_rank2file list;
    struct scr_table paths; /* of the files */
    struct scr_table parts; /* directories of those that wait */
};

static int open_replacing(struct replacing *r, struct scr_err *err)
{
    r->dset = scr_hash_new();
    int rc = r->dset ? scr_prefix_record_read(r->env, r->p, r->id, RECORD, r->dset, err)
                     : scr_no_memory(err);
    if (rc == SCR_OK)
        rc = scr_prefix_rank2file_read(r->env, r->p, r->id, &r->list, err);
    TRY(rc);
    return scr_paths_add_listed(r->env, r->p, &r->list, &r->paths) ? SCR_OK
                                                                   : scr_no_memory(err);
}

/* Calls for each file with its waiting path and its place. */
static int each_file(struct replacing *r,
                     int (*step)(struct replacing *r, const char *waits,
                                 const char *place, const struct scr_listed *f,
                                 struct scr_err *err),
                     struct scr_err *err)
{
    int rc = SCR_OK;
    for (SCR_LISTED(f, &r->list)) {
        char *waits = scr_replacing_path(r->p, r->id, f->item.name);
        char *place = scr_path_join(r->p->path, f->item.name);
        if (rc == SCR_OK)
            rc = waits && place ? step(r, waits, place, f, err) : scr_no_memory(err);
        free(place);
        free(waits);
    }
    return rc;
}

/* 1: a regular file of the size recorded; 0: there is none, -1: it is not known. */
static int look(const struct replacing *r, const char *path, const struct scr_listed *f,
                struct scr_err *err)
{
    struct stat st;
    int rc = scr_file_stat(r->env->sys, path, &st, err);
    if (rc != SCR_OK)
        return rc == SCR_E_NOENT ? 0 : -1;
    return S_ISREG(st.st_mode) && f->has_size && f->size == (uint64_t)st.st_size;
}

static int note_part(struct replacing *r, const char *waits, struct scr_err *err)
{
    char *dir = scr_path_dir(waits);
    int ok = dir != NULL && scr_table_add(&r->parts, dir) != NULL;
    free(dir);
    return ok ? SCR_OK : scr_no_memory(err);
}

static int check_file(struct replacing *r, const char *waits, const char *place,
                      const struct scr_listed *f, struct scr_err *err)
{
    char *dir = scr_path_dir(place);
    int rc = dir ? scr_path_check_inside(r->p->path, dir, err) : scr_no_memory(err);
    free(dir);
    if (rc != SCR_OK)
        return rc;
    struct scr_err why = SCR_ERR_INIT;
    int is = look(r, waits, f, &why);
    if (is > 0)
        return note_part(r, waits, err);
    if (is == 0)
        is = look(r, place, f, &why);
    if (is > 0)
        return SCR_OK;
    return is < 0 ? scr_err_take(err, SCR_E_IO, &why)
                  : scr_fail(err, SCR_E_MISSING, 0, "dataset %d: %s is gone", r->id,
                             waits);
}

/* A damaged list lists nothing. */
static int add_paths(const struct replacing *r, int id, struct scr_table *paths,
                     struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_paths_add(r->env, r->p, id, paths, &why);
    return rc == SCR_OK || !scr_err_may_pass(rc) ? SCR_OK : scr_err_take(err, rc, &why);
}

/* A file that a newer dataset wrote to one of the paths, complete or not, may have the
 * size of the file of this one. */
static int check_newest(const struct replacing *r, const struct scr_index *index,
                        struct scr_err *err)
{
    struct scr_table theirs = SCR_TABLE_OF(struct scr_item);
    int rc = SCR_OK;
    for (size_t i = index->n; i-- > 0 && rc == SCR_OK && index->of[i].id > r->id;)
        rc = add_paths(r, index->of[i].id, &theirs, err);
    for (SCR_EACH(const struct scr_item, e, &theirs))
        if (rc == SCR_OK && scr_table_find(&r->paths, e->name) != NULL)
            rc = scr_fail(err, SCR_E_LOST, 0,
                          "dataset %d: a newer dataset has a file at %s", r->id,
                          e->name);
    scr_table_fini(&theirs);
    return rc;
}

/* Whether it can be completed. */
static int check(struct replacing *r, const struct scr_index *index,
                 struct scr_err *err)
{
    TRY(open_replacing(r, err));
    TRY(check_newest(r, index, err));
    return each_file(r, check_file, err);
}

/* Those whose files it replaces; index: NULL: as it is on disk. */
static int find_older(const struct replacing *r, const struct scr_index *index,
                      struct scr_ids *older, struct scr_err *err)
{
    const struct scr_paths_of of = { r->id, &r->paths, index };
    int newer = 0;
    int rc = scr_paths_shared(r->env, r->p, &of, older, &newer, err);
    return rc == SCR_OK && newer > 0
               ? scr_fail(err, SCR_E_VERSION, 0,
                          "dataset %d: its files may replace those of dataset %d, "
                          "whose list is of a newer version of SCR",
                          r->id, newer)
               : rc;
}

static int demote_older(const struct replacing *r, struct scr_err *err)
{
    struct scr_ids older = { 0 };
    int rc;
    TRY_OUT(find_older(r, NULL, &older, err));
    TRY_OUT(scr_demote(r->env, r->p, &older, err));
out:
    scr_ids_fini(&older);
    return rc;
}

static int place_file(struct replacing *r, const char *waits, const char *place,
                      const struct scr_listed *f, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    (void)f;
    int rc = scr_file_rename(r->env->sys, waits, place, &why);
    return rc == SCR_OK || why.sys == ENOENT ? SCR_OK : scr_err_take(err, rc, &why);
}

static int record(const struct replacing *r, struct scr_err *err)
{
    int rc;
    TRY_OUT(scr_paths_sync(r->env, r->p, &r->list, err));
    TRY_OUT(scr_prefix_summary_write(r->env, r->p, r->id, r->dset, 1, err));
    TRY_OUT(scr_prefix_index_enter(r->env, r->p, r->dset, 1, time(NULL), err));
out:
    if (rc == SCR_E_CANCELLED)
        (void)scr_prefix_summary_remove(r->env, r->p, r->id, NULL);
    return rc;
}

static struct replacing start(const struct scr_env *env, const struct scr_prefix *p,
                              int id)
{
    return (struct replacing){ .env = env,
                               .p = p,
                               .id = id,
                               .paths = SCR_TABLE_OF(struct scr_item),
                               .parts = SCR_TABLE_OF(struct scr_item) };
}

static void end(struct replacing *r)
{
    scr_hash_delete(r->dset);
    scr_rank2file_fini(&r->list);
    scr_table_fini(&r->paths);
    scr_table_fini(&r->parts);
}

int scr_replacing_finish(const struct scr_env *env, const struct scr_prefix *p, int id,
                         uint64_t *files, struct scr_err *err)
{
    struct replacing r = start(env, p, id);
    struct scr_index index = SCR_INDEX_INIT;
    size_t given_up = 0;
    int rc;
    TRY_OUT(scr_prefix_index_read(env, p, &index, err));
    TRY_OUT(check(&r, &index, err));
    TRY_OUT(scr_paths_give_up(env, p, id, &r.paths, &given_up, err));
    TRY_OUT(demote_older(&r, err));
    TRY_OUT(each_file(&r, place_file, err));
    TRY_OUT(record(&r, err));
    TRY_OUT(scr_replacing_end(env, p, id, err));
    for (SCR_EACH(const struct scr_item, d, &r.parts))
        (void)scr_dir_remove(env->sys, d->name, NULL);
    scr_replaced_remove(env, p, id);
out:
    *files = r.paths.n;
    end(&r);
    scr_index_fini(&index);
    return rc;
}

/* --- looking --- */

static int enter(struct scr_index *index, const struct scr_ids *older,
                 const scr_hash *dset)
{
    int changed;
    scr_demote_in(index, older, &changed);
    return scr_index_arrive(index, dset, time(NULL));
}

/* A dataset that cannot be completed stays unchanged. */
static int look_at(struct replacing *r, struct scr_index *index, struct scr_err *err)
{
    struct scr_ids older = { 0 };
    struct scr_index_entry e;
    int doomed = scr_index_get(index, r->id, &e, NULL) == SCR_OK && e.doomed;
    int rc;
    TRY_OUT(check(r, index, NULL));
    TRY_OUT(find_older(r, index, &older, NULL));
    if (!doomed)
        TRY_OUT(enter(index, &older, r->dset));
out:
    scr_ids_fini(&older);
    return rc == SCR_E_NOMEM ? scr_no_memory(err) : SCR_OK;
}

int scr_replacings_look(const struct scr_env *env, const struct scr_prefix *p,
                        struct scr_index *index, struct scr_err *err)
{
    int *ids = NULL;
    size_t n = 0;
    int rc = scr_prefix_unfinished_ids(env, p, index, &ids, &n, err);
    for (size_t i = 0; i < n && rc == SCR_OK; i++) {
        struct replacing r = start(env, p, ids[i]);
        if (scr_replacing_is_begun(env, p, ids[i]) &&
            !scr_flushing_is_held(env, p, ids[i]))
            rc = look_at(&r, index, err);
        end(&r);
    }
    free(ids);
    return rc;
}

/* A file with the path that it has now. */
static int add_now(const struct replacing *r, const struct scr_listed *f, int rank,
                   struct scr_rank2file *list, struct scr_err *err)
{
    struct scr_listed now = *f;
    struct scr_rank_files *of = scr_rank2file_add_rank(list, rank);
    char *waits = scr_replacing_path(r->p, r->id, f->item.name);
    if (of == NULL || waits == NULL) {
        free(waits);
        return scr_no_memory(err);
    }
    if (scr_file_is_there(r->env->sys, waits))
        now.item.name = waits + strlen(r->p->path) + 1;
    int ok = scr_listed_copy(&of->files, &now) != NULL;
    free(waits);
    return ok ? SCR_OK : scr_no_memory(err);
}

int scr_replacing_read(const struct scr_env *env, const struct scr_prefix *p, int id,
                       scr_hash *dset, struct scr_rank2file *list, struct scr_err *err)
{
    struct replacing r = start(env, p, id);
    int rc = open_replacing(&r, err);
    scr_rank2file_init(list, r.list.ranks);
    for (size_t i = 0; i < r.list.n && rc == SCR_OK; i++) {
        int rank = r.list.of[i]->rank;
        if (scr_rank2file_add_rank(list, rank) == NULL)
            rc = scr_no_memory(err);
        for (SCR_EACH(const struct scr_listed, f, &r.list.of[i]->files))
            if (rc == SCR_OK)
                rc = add_now(&r, f, rank, list, err);
    }
    if (rc == SCR_OK && scr_hash_merge(dset, r.dset) != SCR_OK)
        rc = scr_no_memory(err);
    end(&r);
    return rc;
}
