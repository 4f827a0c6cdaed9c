/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of another dataset of the same number, kept apart. */
#include "store/aside.h"

#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "store/cache.h"

enum { PRIVATE = 0700 };

static int store(const struct scr_aside *a, struct scr_err *err)
{
    return scr_filemap_ok(a->map) ? scr_cntl_write(a->env, a->cntl, a->map, err)
                                  : scr_no_memory(err);
}

/* --- names --- */

static size_t aside_dir(int64_t created, char *name, size_t n)
{
    return (size_t)snprintf(name, n, ".scr/aside.%lld/", (long long)created);
}

/* Where the file at path is while it is aside, malloc'd: path itself if it exists, or
 * is in no dataset directory. */
static char *name_aside(int id, int64_t created, const char *path)
{
    char dir[48];
    size_t at = scr_cache_dset_len(path, id), n = aside_dir(created, dir, sizeof dir);
    if (at == 0 || strncmp(path + at, dir, n) == 0)
        return scr_strdup(path);
    return scr_asprintf("%.*s%s%s", (int)at, path, dir, path + at);
}

/* And back. */
static char *name_back(int id, int64_t created, const char *path)
{
    char dir[48];
    size_t at = scr_cache_dset_len(path, id), n = aside_dir(created, dir, sizeof dir);
    if (at == 0 || strncmp(path + at, dir, n) != 0)
        return scr_strdup(path);
    return scr_asprintf("%.*s%s", (int)at, path, path + at + n);
}

typedef char *rename_rule(int id, int64_t created, const char *path);

/* The part whose files get their names on the other side. */
struct renaming {
    int id;
    int64_t created;
    rename_rule *rule;
};

static char *rename_one(const void *arg, const char *path)
{
    const struct renaming *r = arg;
    return r->rule(r->id, r->created, path);
}

static int rename_entry(const struct scr_aside *a, scr_filemap *map, int rank,
                        int64_t created, rename_rule *rule)
{
    const struct renaming r = { a->id, created, rule };
    return scr_filemap_rename_files(map, a->id, rank, rename_one, &r);
}

/* --- files --- */

static int make_dir(const struct scr_aside *a, const char *path, struct scr_err *err)
{
    size_t at = scr_cache_dset_len(path, a->id);
    char *base = scr_asprintf("%.*s", at > 0 ? (int)at - 1 : 0, path);
    char *rel = scr_path_dir(path + at);
    int rc = base && rel ? scr_dir_make_private(a->env->sys, base, rel, PRIVATE, err)
                         : scr_no_memory(err);
    free(rel);
    free(base);
    return rc;
}

static int move_file(const struct scr_aside *a, const char *from, const char *to,
                     struct scr_err *err)
{
    if (strcmp(from, to) == 0 || !scr_file_is_there(a->env->sys, from))
        return SCR_OK;
    TRY(make_dir(a, to, err));
    TRY(scr_file_rename(a->env->sys, from, to, err));
    scr_cache_prune(a->env, from, a->id);
    return SCR_OK;
}

/* Moves the files of an entry of map to where the rule says. */
static int move_files(const struct scr_aside *a, const scr_filemap *map, int rank,
                      int64_t created, rename_rule *rule, struct scr_err *err)
{
    int rc = SCR_OK;
    for (struct scr_file *f = scr_filemap_first_file(map, a->id, rank);
         f != NULL && rc == SCR_OK; f = scr_file_next(f)) {
        char *to = rule(a->id, created, f->item.name);
        rc = to ? move_file(a, f->item.name, to, err) : scr_no_memory(err);
        free(to);
    }
    return rc;
}

/* --- all entries of the dataset, those of one time of creation --- */

typedef int work(const struct scr_aside *a, int rank, int64_t created,
                 struct scr_err *err);

/* The map of what is aside goes with its last entry. */
static int each_rank(const struct scr_aside *a, int64_t created, work *do_it,
                     struct scr_err *err)
{
    for (int rank = -1;
         scr_filemap_next_rank(scr_filemap_aside(a->map, created), a->id, &rank);)
        TRY(do_it(a, rank, created, err));
    return SCR_OK;
}

/* 1 if what is aside was written by that number of ranks, 0: any. */
static int is_of(const struct scr_aside *a, int64_t created, int ranks)
{
    const struct scr_entry *e =
        scr_filemap_first(scr_filemap_aside(a->map, created), a->id);
    int wrote = 0;
    if (e != NULL)
        (void)scr_hash_get_val_int(e->desc, "RANKS", &wrote);
    return ranks == 0 || wrote == ranks;
}

static int each_aside(const struct scr_aside *a, int ranks, work *do_it,
                      struct scr_err *err)
{
    int64_t *created = NULL;
    int n = 0, rc = scr_filemap_list_aside(a->map, &n, &created);
    TRY(rc == SCR_OK ? SCR_OK : scr_no_memory(err));
    for (int i = 0; i < n && rc == SCR_OK; i++)
        if (is_of(a, created[i], ranks))
            rc = each_rank(a, created[i], do_it, err);
    free(created);
    return rc;
}

/* --- aside --- */

static int put_rank(const struct scr_aside *a, int rank, int64_t keep,
                    struct scr_err *err)
{
    int64_t created = scr_filemap_created(a->map, a->id, rank);
    if (created == 0 || created == keep)
        return SCR_OK;
    int rc = scr_filemap_set_aside(a->map, created, a->map, a->id, rank);
    if (rc == SCR_OK)
        rc = rename_entry(a, scr_filemap_aside(a->map, created), rank, created,
                          name_aside);
    TRY(rc == SCR_OK ? store(a, err) : scr_no_memory(err));
    TRY(move_files(a, a->map, rank, created, name_aside, err));
    scr_filemap_remove_rank_by_dataset(a->map, a->id, rank);
    return store(a, err);
}

int scr_aside_put(const struct scr_aside *a, int64_t created, struct scr_err *err)
{
    for (int rank = -1; scr_filemap_next_rank(a->map, a->id, &rank);)
        TRY(put_rank(a, rank, created, err));
    return SCR_OK;
}

/* --- back --- */

static int take_rank(const struct scr_aside *a, int rank, int64_t created,
                     struct scr_err *err)
{
    const scr_filemap *aside = scr_filemap_aside(a->map, created);
    int64_t other = scr_filemap_created(a->map, a->id, rank);
    if (other != 0 && other != created)
        return SCR_OK;
    if (other == 0) /* only begun: what there is of it describes nothing */
        scr_filemap_forget(a->map, a->id, rank);
    int rc = scr_filemap_copy_entry(a->map, aside, a->id, rank);
    if (rc == SCR_OK)
        rc = rename_entry(a, a->map, rank, created, name_back);
    TRY(rc == SCR_OK ? store(a, err) : scr_no_memory(err));
    TRY(move_files(a, aside, rank, created, name_back, err));
    scr_filemap_drop_aside(a->map, created, a->id, rank);
    return store(a, err);
}

int scr_aside_take(const struct scr_aside *a, int64_t created, struct scr_err *err)
{
    return each_rank(a, created, take_rank, err);
}

/* 1 if a file of the entry is aside and another in its place. */
static int is_taken(const struct scr_aside *a, int rank, int64_t created)
{
    int taken = 0;
    const scr_filemap *aside = scr_filemap_aside(a->map, created);
    for (struct scr_file *f = scr_filemap_first_file(aside, a->id, rank); f && !taken;
         f = scr_file_next(f)) {
        const char *from = f->item.name;
        char *to = name_back(a->id, created, from);
        taken = to == NULL ||
                (strcmp(from, to) != 0 && scr_file_is_there(a->env->sys, from) &&
                 scr_file_is_there(a->env->sys, to));
        free(to);
    }
    return taken;
}

static int return_rank(const struct scr_aside *a, int rank, int64_t created,
                       struct scr_err *err)
{
    int free_place = scr_filemap_entry(a->map, a->id, rank) == NULL ||
                     scr_filemap_created(a->map, a->id, rank) == created;
    return free_place && !is_taken(a, rank, created) ? take_rank(a, rank, created, err)
                                                     : SCR_OK;
}

int scr_aside_return(const struct scr_aside *a, struct scr_err *err)
{
    return each_aside(a, 0, return_rank, err);
}

/* --- away --- */

static int remove_files(const struct scr_aside *a, const scr_filemap *map, int rank,
                        struct scr_err *err)
{
    int rc = SCR_OK;
    for (SCR_FILES(f, map, a->id, rank)) {
        const char *path = f->item.name;
        if (scr_cache_dset_len(path, a->id) == 0)
            continue; /* on the prefix */
        int one = scr_file_remove(a->env->sys, path, rc == SCR_OK ? err : NULL);
        if (one == SCR_OK)
            scr_cache_prune(a->env, path, a->id);
        rc = scr_first(rc, one);
    }
    return rc;
}

static int drop_any(const struct scr_aside *a, int rank, int64_t created,
                    struct scr_err *err)
{
    TRY(remove_files(a, scr_filemap_aside(a->map, created), rank, err));
    scr_filemap_drop_aside(a->map, created, a->id, rank);
    return SCR_OK;
}

int scr_aside_drop(const struct scr_aside *a, int ranks, struct scr_err *err)
{
    TRY(each_aside(a, ranks, drop_any, err));
    return store(a, err);
}

int scr_aside_drop_begun(const struct scr_aside *a, int ranks, struct scr_err *err)
{
    int dropped = 0;
    for (int rank = ranks - 1; scr_filemap_next_rank(a->map, a->id, &rank);) {
        if (scr_filemap_created(a->map, a->id, rank) != 0)
            continue;
        TRY(remove_files(a, a->map, rank, err));
        scr_filemap_remove_rank_by_dataset(a->map, a->id, rank);
        dropped = 1;
    }
    return dropped ? store(a, err) : SCR_OK;
}
