/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets all of whose files newer ones have written over. */
#include "store/replaced.h"

#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/str.h"
#include "store/deletion.h"
#include "store/paths.h"
#include "store/realdir.h"
#include "store/scavenged.h"

/* Of a prefix directory with many entries that were never looked at, as older versions
 * leave them, each call reads so many lists. */
enum { LISTS = 16 };

struct look {
    const struct scr_env *env;
    const struct scr_prefix *p;
    int id; /* of the one that is complete now */
    struct scr_index index;
    int *ids; /* all of the index, newest first */
    size_t n;
    const char **own; /* the path to record for each; in texts */
    struct scr_arena texts;
    size_t nown;
    struct scr_table heir; /* the paths that dataset id lists, once knows_heir */
    int knows_heir;
    int lists; /* that may still be read */
};

/* --- what there is of it --- */

struct records {
    int list;
    int in_use; /* by a process that may still complete the dataset */
};

/* Its plan, the mark of a flush of it (its list leads to the temporary files), files
 * that wait for their names, files copied by a scavenge, and files rebuilt for a
 * different number of ranks. */
static int is_in_use(const char *name)
{
    static const char *const names[] = { "outgoing.scr",  "flushing.lock",
                                         "replacing.scr", SCR_STAGE,
                                         SCR_PLACING,     "rebuild" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return 1;
    return 0;
}

static int find_records(const struct look *l, int id, struct records *r,
                        struct scr_err *err)
{
    char **names = NULL, *dir = scr_prefix_dset_dir(l->p, id);
    size_t n = 0;
    struct scr_err why = SCR_ERR_INIT;
    *r = (struct records){ 0 };
    int rc =
        dir ? scr_dir_list(l->env->sys, dir, &names, &n, &why) : scr_no_memory(&why);
    for (size_t i = 0; i < n; i++) {
        r->list = r->list || strcmp(names[i], "rank2file") == 0;
        r->in_use = r->in_use || is_in_use(names[i]);
    }
    scr_names_free(names, n);
    free(dir);
    return scr_err_take(err, rc == SCR_E_NOENT ? SCR_OK : rc, &why);
}

/* --- whose its paths are --- */

/* Adds the paths at which no older dataset has a file any more: those that dataset id
 * lists, and where it has <path>.zst, <path>, which has gone (invariant P18). */
static int add_taken(const struct look *l, int id, struct scr_table *taken,
                     struct scr_err *err)
{
    struct scr_rank2file files = { 0 };
    struct scr_realdir real = SCR_REALDIR_OF(l->env, l->p);
    int rc = scr_prefix_rank2file_read(l->env, l->p, id, &files, err);
    for (SCR_LISTED(f, &files)) {
        char *stored = scr_listed_stored(f);
        int ok = stored != NULL && scr_realdir_add(&real, stored, taken) &&
                 scr_realdir_add(&real, f->item.name, taken);
        free(stored);
        if (!ok)
            rc = scr_no_memory(err);
    }
    scr_realdir_fini(&real);
    scr_rank2file_fini(&files);
    return rc;
}

static int know_heir(struct look *l, struct scr_err *err)
{
    if (l->knows_heir)
        return SCR_OK;
    l->knows_heir = 1;
    return add_taken(l, l->id, &l->heir, err);
}

static void take_out(struct scr_table *paths, const struct scr_table *taken)
{
    for (SCR_EACH(const struct scr_item, e, taken))
        (void)scr_table_drop(paths, e->name);
}

static int is_good(const struct look *l, int id)
{
    return scr_index_is_good(&l->index, id);
}

/* Paths that newer datasets than id also list. A list that cannot be read
 * takes nothing. */
static void take_out_others(struct look *l, int id, struct scr_table *paths)
{
    for (size_t i = 0; i < l->n && l->ids[i] > id; i++) {
        if (paths->n == 0 || l->lists == 0)
            return;
        if (l->ids[i] == l->id || !is_good(l, l->ids[i]))
            continue;
        struct scr_table taken = SCR_TABLE_OF(struct scr_item);
        l->lists--;
        if (add_taken(l, l->ids[i], &taken, NULL) == SCR_OK)
            take_out(paths, &taken);
        scr_table_fini(&taken);
    }
}

/* Of the i-th. *none: 1 if none of its paths is its own. Without its list that is
 * unknown. */
static int judge(struct look *l, size_t i, int *none, struct scr_err *err)
{
    int id = l->ids[i];
    struct scr_table paths = SCR_TABLE_OF(struct scr_item);
    int rc = know_heir(l, err);
    l->lists--;
    int told =
        rc == SCR_OK && scr_paths_add(l->env, l->p, id, &paths, NULL) == SCR_OK &&
        scr_paths_add_landed(l->env, l->p, id, &paths, NULL) == SCR_OK && paths.n > 0;
    if (told) {
        take_out(&paths, &l->heir);
        take_out_others(l, id, &paths);
    }
    *none = told && paths.n == 0;
    if (told && paths.n > 0) {
        l->own[i] = scr_arena_text(&l->texts, paths.first->name);
        l->nown++;
        rc = l->own[i] != NULL ? SCR_OK : scr_no_memory(err);
    }
    scr_table_fini(&paths);
    return rc;
}

/* --- the steps --- */

struct heir {
    const struct scr_index_entry *of;
    int id;
};

/* In cache it may be still: it counts as saved as long as what replaced it is good. */
static int edit_flush_file(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    struct scr_dataset d;
    const struct heir *by = arg;
    const scr_hash *dset = scr_hash_getf(h, "DATASET %d DSETDESC", by->of->id);
    *changed = scr_dataset_get(dset, &d, NULL) == SCR_OK &&
               scr_dataset_is_same(&d, &by->of->dset);
    if (*changed)
        scr_flush_set_replaced(h, by->of->id, by->id);
    (void)err;
    return SCR_OK;
}

/* A death in between leaves an entry with DELETING, which is deleted next time. */
static int remove_one(const struct look *l, const struct scr_index_entry *e,
                      struct scr_err *err)
{
    struct heir by = { e, l->id };
    TRY(e->doomed ? SCR_OK : scr_deletion_begin(l->env, l->p, e->id, err));
    TRY(scr_prefix_summary_remove(l->env, l->p, e->id, err));
    TRY(scr_prefix_state_update(l->env, l->p, "flush.scr", edit_flush_file, &by, err));
    TRY(scr_deletion_records(l->env, l->p, e->id, err));
    return scr_deletion_forget(l->env, l->p, e->id, err);
}

/* What a path that is its own was noted of is not read again before that is listed. Of
 * one whose deletion came so far that its list has gone there are no files. */
static int look_at(struct look *l, size_t i, const struct scr_index_entry *e,
                   struct scr_err *err)
{
    struct records r;
    int none = 0, rc = e->own != NULL ? know_heir(l, err) : SCR_OK;
    if (rc == SCR_OK && e->own != NULL && scr_table_find(&l->heir, e->own) == NULL)
        return SCR_OK;
    if (rc == SCR_OK)
        rc = find_records(l, e->id, &r, err);
    if (rc != SCR_OK || r.in_use)
        return rc;
    if (r.list && l->lists > 0)
        rc = judge(l, i, &none, err);
    return rc == SCR_OK && (none || (e->doomed && !r.list)) ? remove_one(l, e, err)
                                                            : rc;
}

static int edit_own(struct scr_index *index, void *arg, int *changed,
                    struct scr_err *err)
{
    const struct look *l = arg;
    (void)err;
    for (size_t i = 0; i < l->n; i++) {
        if (l->own[i] == NULL || !scr_index_has(index, l->ids[i]) ||
            scr_index_is_complete(index, l->ids[i]))
            continue;
        scr_index_set_own(index, l->ids[i], l->own[i]);
        *changed = 1;
    }
    return SCR_OK;
}

/* --- all of it --- */

/* That which is current is asked for by name, whatever it is; version 1 has files and
 * summary elsewhere. */
static int is_left(const struct scr_index_entry *e, int id)
{
    return e->id < id && !e->complete && !e->current && e->dir == NULL;
}

static int look_at_all(struct look *l, struct scr_err *err)
{
    for (size_t i = 0; i < l->n; i++) {
        struct scr_index_entry e;
        if (scr_index_get(&l->index, l->ids[i], &e, NULL) == SCR_OK &&
            is_left(&e, l->id))
            TRY(look_at(l, i, &e, err));
    }
    if (l->nown > 0)
        TRY(scr_prefix_index_update(l->env, l->p, edit_own, l, err));
    return SCR_OK;
}

static int read_index(struct look *l, struct scr_err *err)
{
    TRY(scr_prefix_index_ids(l->env, l->p, &l->index, &l->ids, &l->n, err));
    l->own = scr_calloc(l->n, sizeof *l->own);
    return l->own != NULL ? SCR_OK : scr_no_memory(err);
}

void scr_replaced_remove(const struct scr_env *env, const struct scr_prefix *p, int id)
{
    struct scr_err why = SCR_ERR_INIT;
    struct look l = { .env = env,
                      .p = p,
                      .id = id,
                      .index = SCR_INDEX_INIT,
                      .texts = SCR_ARENA_INIT,
                      .heir = SCR_TABLE_OF(struct scr_item),
                      .lists = LISTS };
    int rc;
    TRY_OUT(read_index(&l, &why));
    if (is_good(&l, id))
        TRY_OUT(look_at_all(&l, &why));
out:
    if (rc != SCR_OK)
        scr_log(env->log, SCR_LOG_WARN,
                "index of %s: entries of datasets whose files were written over stay, "
                "no data are at risk: %s; tried again after the next flush",
                p->path, why.text);
    scr_index_fini(&l.index);
    scr_table_fini(&l.heir);
    scr_arena_free(&l.texts);
    free(l.own);
    free(l.ids);
}
