/* SPDX-License-Identifier: BSD-3-Clause */
/* Filemap: entries under RANK, and the index of them under DSET, kept in step. */
#include "fmt/filemap.h"

#include "base/hashfile.h"
#include "base/path.h"
#include "base/str.h"
#include <limits.h>
#include <stdlib.h>

/* RANK/<rank>/DSET/<dset>; NULL if there is none. */
static scr_hash *entry_get(const scr_filemap *map, int dset, int rank)
{
    return scr_hash_get_kv_int(scr_hash_get_kv_int(map, "RANK", rank), "DSET", dset);
}

/* The same, made with its index entry if it is not there. */
static scr_hash *entry_set(scr_filemap *map, int dset, int rank)
{
    scr_hash_set_kv_int(scr_hash_set_kv_int(map, "DSET", dset), "RANK", rank);
    return scr_hash_set_kv_int(scr_hash_set_kv_int(map, "RANK", rank), "DSET", dset);
}

/* The files of an entry: a hash of paths. */
static scr_hash *files_of(const scr_filemap *map, int dset, int rank)
{
    return scr_hash_get(entry_get(map, dset, rank), "FILE");
}

static int count_of(size_t n)
{
    return n > INT_MAX ? INT_MAX : (int)n;
}

/* --- life --- */

scr_filemap *scr_filemap_new(void)
{
    return scr_hash_new();
}

void scr_filemap_delete(scr_filemap *map)
{
    scr_hash_delete(map);
}

int scr_filemap_merge(scr_filemap *dst, const scr_filemap *src)
{
    return scr_hash_merge(dst, src);
}

void scr_filemap_clear(scr_filemap *map)
{
    scr_hash_unset_all(map);
}

/* --- adding and removing --- */

void scr_filemap_add_file(scr_filemap *map, int dset, int rank, const char *file)
{
    scr_hash_set_kv(entry_set(map, dset, rank), "FILE", file);
}

void scr_filemap_remove_file(scr_filemap *map, int dset, int rank, const char *file)
{
    (void)scr_hash_unset_kv(entry_get(map, dset, rank), "FILE", file);
}

void scr_filemap_add_rank(scr_filemap *map, int dset, int rank)
{
    (void)entry_set(map, dset, rank);
}

/* Removes outer/<a>/inner/<b>, and outer/<a> when it has no other. */
static void unlink_pair(scr_filemap *map, const char *outer, int a, const char *inner,
                        int b)
{
    scr_hash *h = scr_hash_get_kv_int(map, outer, a);
    (void)scr_hash_unset_kv_int(h, inner, b);
    if (scr_hash_get(h, inner) == NULL)
        (void)scr_hash_unset_kv_int(map, outer, a);
}

void scr_filemap_remove_rank_by_dataset(scr_filemap *map, int dset, int rank)
{
    unlink_pair(map, "RANK", rank, "DSET", dset);
    unlink_pair(map, "DSET", dset, "RANK", rank);
}

/* The hash under an index entry shrinks while it is walked, so its first element is
 * taken each time; a key that is no number (never made here) is dropped with its
 * parent. */
static void remove_dataset(scr_filemap *map, int dset)
{
    scr_hash_elem *e;
    while ((e = scr_filemap_first_rank_by_dataset(map, dset)) != NULL &&
           scr_hash_elem_key_int(e) >= 0)
        scr_filemap_remove_rank_by_dataset(map, dset, scr_hash_elem_key_int(e));
    (void)scr_hash_unset_kv_int(map, "DSET", dset);
}

/* Maps that have become empty go. */
static void trim_aside(scr_filemap *map)
{
    scr_hash *all = scr_hash_get(map, "ASIDE");
    scr_hash_elem *e = scr_hash_elem_first(all);
    while (e != NULL) {
        scr_hash_elem *next = scr_hash_elem_next(e);
        if (scr_filemap_num_ranks(scr_hash_elem_hash(e)) == 0)
            (void)scr_hash_unset(all, scr_hash_elem_key(e));
        e = next;
    }
    if (all != NULL && scr_hash_size(all) == 0)
        (void)scr_hash_unset(map, "ASIDE");
}

void scr_filemap_remove_dataset(scr_filemap *map, int dset)
{
    remove_dataset(map, dset);
    for (SCR_HASH_EACH(e, scr_hash_get(map, "ASIDE")))
        remove_dataset(scr_hash_elem_hash(e), dset);
    trim_aside(map);
}

void scr_filemap_remove_rank(scr_filemap *map, int rank)
{
    scr_hash_elem *e;
    while ((e = scr_hash_elem_first(scr_hash_get(scr_hash_get_kv_int(map, "RANK", rank),
                                                 "DSET"))) != NULL &&
           scr_hash_elem_key_int(e) >= 0)
        scr_filemap_remove_rank_by_dataset(map, scr_hash_elem_key_int(e), rank);
    (void)scr_hash_unset_kv_int(map, "RANK", rank);
}

static void copy_rank(scr_filemap *to, const scr_filemap *map, int rank)
{
    const scr_hash *from = scr_hash_get_kv_int(map, "RANK", rank);
    if (from == NULL)
        return;
    for (SCR_HASH_EACH(e, scr_hash_get(from, "DSET")))
        scr_filemap_add_rank(to, scr_hash_elem_key_int(e), rank);
    (void)scr_hash_merge(scr_hash_set_kv_int(to, "RANK", rank), from);
}

scr_filemap *scr_filemap_extract_rank(scr_filemap *map, int rank)
{
    scr_filemap *out = scr_filemap_new();
    if (out == NULL)
        return NULL;
    copy_rank(out, map, rank);
    for (SCR_HASH_EACH(e, scr_hash_get(map, "ASIDE")))
        if (scr_filemap_have_rank(scr_hash_elem_hash(e), rank))
            copy_rank(scr_hash_set_kv(out, "ASIDE", scr_hash_elem_key(e)),
                      scr_hash_elem_hash(e), rank);
    if (!scr_hash_ok(out)) {
        scr_filemap_delete(out);
        return NULL;
    }
    scr_filemap_remove_rank(map, rank);
    for (SCR_HASH_EACH(e, scr_hash_get(map, "ASIDE")))
        scr_filemap_remove_rank(scr_hash_elem_hash(e), rank);
    trim_aside(map);
    return out;
}

/* --- what is aside --- */

int64_t scr_filemap_created(const scr_filemap *map, int dset, int rank)
{
    int64_t when = 0;
    if (scr_filemap_get_desc(map, dset, rank) == NULL)
        return 0;
    (void)scr_hash_get_val_i64(scr_filemap_get_dataset(map, dset, rank), "CREATED",
                               &when);
    return when;
}

scr_filemap *scr_filemap_aside(const scr_filemap *map, int64_t created)
{
    return scr_hash_getf(map, "ASIDE %lld", (long long)created);
}

int scr_filemap_has_aside(const scr_filemap *map, int dset)
{
    for (SCR_HASH_EACH(e, scr_hash_get(map, "ASIDE")))
        if (scr_filemap_num_ranks_by_dataset(scr_hash_elem_hash(e), dset) > 0)
            return 1;
    return 0;
}

int scr_filemap_copy_entry(scr_filemap *to, const scr_filemap *from, int dset, int rank)
{
    scr_hash *entry = entry_set(to, dset, rank);
    return entry != NULL && scr_hash_merge(entry, entry_get(from, dset, rank)) == SCR_OK
               ? SCR_OK
               : SCR_E_NOMEM;
}

int scr_filemap_set_aside(scr_filemap *to, int64_t created, const scr_filemap *from,
                          int dset, int rank)
{
    scr_filemap *aside = scr_hash_setf(to, NULL, "ASIDE %lld", (long long)created);
    return aside != NULL ? scr_filemap_copy_entry(aside, from, dset, rank)
                         : SCR_E_NOMEM;
}

void scr_filemap_drop_aside(scr_filemap *map, int64_t created, int dset, int rank)
{
    scr_filemap_remove_rank_by_dataset(scr_filemap_aside(map, created), dset, rank);
    trim_aside(map);
}

int scr_filemap_list_aside(const scr_filemap *map, int *n, int64_t **created)
{
    const scr_hash *all = scr_hash_get(map, "ASIDE");
    *n = 0;
    *created = scr_calloc(scr_hash_size(all), sizeof **created);
    if (*created == NULL)
        return SCR_E_NOMEM;
    for (SCR_HASH_EACH(e, all))
        *n += scr_parse_i64(scr_hash_elem_key(e), &(*created)[*n]);
    return SCR_OK;
}

static void copy_made(scr_filemap *to, const scr_filemap *from, int dset,
                      int64_t created)
{
    for (scr_hash_elem *e = scr_filemap_first_rank_by_dataset(from, dset); e != NULL;
         e = scr_hash_elem_next(e)) {
        int rank = scr_hash_elem_key_int(e);
        int64_t when = scr_filemap_created(from, dset, rank);
        if (when == 0 || when == created)
            (void)scr_filemap_copy_entry(to, from, dset, rank);
    }
}

scr_filemap *scr_filemap_only(const scr_filemap *map, int dset, int64_t created)
{
    scr_filemap *only = scr_filemap_new();
    copy_made(only, map, dset, created);
    copy_made(only, scr_filemap_aside(map, created), dset, created);
    if (scr_hash_ok(only))
        return only;
    scr_filemap_delete(only);
    return NULL;
}

void scr_filemap_made(const scr_filemap *map, int dset, int64_t *oldest,
                      int64_t *newest)
{
    *oldest = INT64_MAX;
    *newest = 0;
    for (scr_hash_elem *e = scr_filemap_first_rank_by_dataset(map, dset); e != NULL;
         e = scr_hash_elem_next(e)) {
        int64_t when = scr_filemap_created(map, dset, scr_hash_elem_key_int(e));
        *oldest = when > 0 && when < *oldest ? when : *oldest;
        *newest = when > *newest ? when : *newest;
    }
}

/* --- questions --- */

int scr_filemap_num_datasets(const scr_filemap *map)
{
    return count_of(scr_hash_size(scr_hash_get(map, "DSET")));
}

int scr_filemap_latest_dataset(const scr_filemap *map)
{
    int latest = -1;
    for (SCR_HASH_EACH(e, scr_hash_get(map, "DSET")))
        if (scr_hash_elem_key_int(e) > latest)
            latest = scr_hash_elem_key_int(e);
    return latest;
}

int scr_filemap_oldest_dataset(const scr_filemap *map)
{
    int oldest = -1;
    for (SCR_HASH_EACH(e, scr_hash_get(map, "DSET"))) {
        int id = scr_hash_elem_key_int(e);
        if (id >= 0 && (oldest < 0 || id < oldest))
            oldest = id;
    }
    return oldest;
}

int scr_filemap_num_ranks(const scr_filemap *map)
{
    return count_of(scr_hash_size(scr_hash_get(map, "RANK")));
}

int scr_filemap_num_ranks_by_dataset(const scr_filemap *map, int dset)
{
    const scr_hash *h = scr_hash_get_kv_int(map, "DSET", dset);
    return count_of(scr_hash_size(scr_hash_get(h, "RANK")));
}

int scr_filemap_have_rank(const scr_filemap *map, int rank)
{
    return scr_hash_get_kv_int(map, "RANK", rank) != NULL;
}

int scr_filemap_have_rank_by_dataset(const scr_filemap *map, int dset, int rank)
{
    return entry_get(map, dset, rank) != NULL;
}

int scr_filemap_num_files(const scr_filemap *map, int dset, int rank)
{
    return count_of(scr_hash_size(files_of(map, dset, rank)));
}

void scr_filemap_set_expected_files(scr_filemap *map, int dset, int rank, int n)
{
    scr_hash_set_val_i64(entry_set(map, dset, rank), "FILES", n);
}

int scr_filemap_num_expected_files(const scr_filemap *map, int dset, int rank)
{
    int n = -1;
    (void)scr_hash_get_val_int(entry_get(map, dset, rank), "FILES", &n);
    return n;
}

void scr_filemap_unset_expected_files(scr_filemap *map, int dset, int rank)
{
    (void)scr_hash_unset(entry_get(map, dset, rank), "FILES");
}

/* --- lists --- */

static int list_ints(const scr_hash *h, int *n, int **list)
{
    size_t count;
    *n = 0;
    if (!scr_hash_list_int(h, list, &count))
        return SCR_E_NOMEM;
    *n = count_of(count);
    return SCR_OK;
}

static void add_keys(scr_hash *to, const scr_hash *from)
{
    for (SCR_HASH_EACH(e, from))
        (void)scr_hash_set(to, scr_hash_elem_key(e), NULL);
}

/* Those of all maps under key. */
static int list_with_aside(const scr_filemap *map, const char *key, int *n, int **list)
{
    const scr_hash *aside = scr_hash_get(map, "ASIDE");
    if (aside == NULL)
        return list_ints(scr_hash_get(map, key), n, list);
    scr_hash *all = scr_hash_new();
    *n = 0;
    add_keys(all, scr_hash_get(map, key));
    for (SCR_HASH_EACH(e, aside))
        add_keys(all, scr_hash_get(scr_hash_elem_hash(e), key));
    int rc = all && scr_hash_ok(all) ? list_ints(all, n, list) : SCR_E_NOMEM;
    scr_hash_delete(all);
    return rc;
}

int scr_filemap_list_datasets(const scr_filemap *map, int *n, int **dsets)
{
    return list_with_aside(map, "DSET", n, dsets);
}

int scr_filemap_list_ranks(const scr_filemap *map, int *n, int **ranks)
{
    return list_with_aside(map, "RANK", n, ranks);
}

int scr_filemap_list_ranks_by_dataset(const scr_filemap *map, int dset, int *n,
                                      int **ranks)
{
    const scr_hash *h = scr_hash_get_kv_int(map, "DSET", dset);
    return list_ints(scr_hash_get(h, "RANK"), n, ranks);
}

int scr_filemap_list_files(const scr_filemap *map, int dset, int rank, int *n,
                           const char ***files)
{
    const scr_hash *h = files_of(map, dset, rank);
    *n = 0;
    *files = NULL;
    if (scr_hash_size(h) == 0)
        return SCR_OK;
    if ((*files = scr_calloc(scr_hash_size(h), sizeof **files)) == NULL)
        return SCR_E_NOMEM;
    for (SCR_HASH_EACH(e, h))
        (*files)[(*n)++] = scr_hash_elem_key(e);
    return SCR_OK;
}

scr_hash_elem *scr_filemap_first_dataset(const scr_filemap *map)
{
    return scr_hash_elem_first(scr_hash_get(map, "DSET"));
}

scr_hash_elem *scr_filemap_first_rank_by_dataset(const scr_filemap *map, int dset)
{
    const scr_hash *h = scr_hash_get_kv_int(map, "DSET", dset);
    return scr_hash_elem_first(scr_hash_get(h, "RANK"));
}

scr_hash_elem *scr_filemap_first_file(const scr_filemap *map, int dset, int rank)
{
    return scr_hash_elem_first(files_of(map, dset, rank));
}

/* --- descriptors, meta data, tags --- */

/* Puts a copy of value under key, unless it is there itself; NULL counts as empty. If
 * memory runs out, h or what is below is marked: an empty one is not what was meant. */
static void set_copy(scr_hash *h, const char *key, const scr_hash *value)
{
    if (value == NULL || scr_hash_get(h, key) != value)
        (void)scr_hash_merge(scr_hash_set(h, key, NULL), value);
}

void scr_filemap_set_dataset(scr_filemap *map, int dset, int rank, const scr_hash *desc)
{
    set_copy(entry_set(map, dset, rank), "DSETDESC", desc);
}

scr_hash *scr_filemap_get_dataset(const scr_filemap *map, int dset, int rank)
{
    return scr_hash_get(entry_get(map, dset, rank), "DSETDESC");
}

void scr_filemap_unset_dataset(scr_filemap *map, int dset, int rank)
{
    (void)scr_hash_unset(entry_get(map, dset, rank), "DSETDESC");
}

void scr_filemap_set_desc(scr_filemap *map, int dset, int rank, const scr_hash *desc)
{
    set_copy(entry_set(map, dset, rank), "REDDESC", desc);
}

scr_hash *scr_filemap_get_desc(const scr_filemap *map, int dset, int rank)
{
    return scr_hash_get(entry_get(map, dset, rank), "REDDESC");
}

void scr_filemap_unset_desc(scr_filemap *map, int dset, int rank)
{
    (void)scr_hash_unset(entry_get(map, dset, rank), "REDDESC");
}

void scr_filemap_set_meta(scr_filemap *map, int dset, int rank, const char *file,
                          const scr_meta *meta)
{
    set_copy(scr_hash_set_kv(entry_set(map, dset, rank), "FILE", file), "META", meta);
}

scr_meta *scr_filemap_get_meta(const scr_filemap *map, int dset, int rank,
                               const char *file)
{
    return scr_hash_get(scr_hash_get(files_of(map, dset, rank), file), "META");
}

void scr_filemap_set_tag(scr_filemap *map, int dset, int rank, const char *tag,
                         const char *value)
{
    scr_hash_set_val(entry_set(map, dset, rank), tag, value);
}

const char *scr_filemap_get_tag(const scr_filemap *map, int dset, int rank,
                                const char *tag)
{
    return scr_hash_get_val(entry_get(map, dset, rank), tag);
}

void scr_filemap_unset_tag(scr_filemap *map, int dset, int rank, const char *tag)
{
    (void)scr_hash_unset(entry_get(map, dset, rank), tag);
}

/* --- files --- */

/* A cached file by its full path, or relative in a file of the prefix directory. */
static int path_ok(const char *path)
{
    while (*path == '/')
        path++;
    return scr_path_is_safe(path);
}

static int check_entry(const scr_hash *entry, struct scr_err *err)
{
    int n = 0;
    if (scr_hash_get(entry, "FILES") != NULL &&
        (!scr_hash_get_val_int(entry, "FILES", &n) || n < 0))
        return scr_fail(err, SCR_E_CORRUPT, 0, "filemap: bad number of files");
    for (SCR_HASH_EACH(e, scr_hash_get(entry, "FILE")))
        if (!path_ok(scr_hash_elem_key(e)))
            return scr_fail(err, SCR_E_CORRUPT, 0, "filemap: bad file name \"%s\"",
                            scr_hash_elem_key(e));
    return SCR_OK;
}

/* Every outer/<a>/inner/<b> is numbered and has its inner/<b>/outer/<a>. */
static int check_side(const scr_filemap *map, const char *outer, const char *inner,
                      struct scr_err *err)
{
    for (SCR_HASH_EACH(a, scr_hash_get(map, outer))) {
        const scr_hash *inners = scr_hash_get(scr_hash_elem_hash(a), inner);
        if (scr_hash_elem_key_int(a) < 0 || scr_hash_size(inners) == 0)
            return scr_fail(err, SCR_E_CORRUPT, 0, "filemap: bad entry %s %s", outer,
                            scr_hash_elem_key(a));
        for (SCR_HASH_EACH(b, inners)) {
            const scr_hash *back = scr_hash_get_kv(map, inner, scr_hash_elem_key(b));
            if (scr_hash_elem_key_int(b) < 0 ||
                scr_hash_get_kv(back, outer, scr_hash_elem_key(a)) == NULL)
                return scr_fail(err, SCR_E_CORRUPT, 0,
                                "filemap: %s %s and %s %s do not refer to each other",
                                outer, scr_hash_elem_key(a), inner,
                                scr_hash_elem_key(b));
        }
    }
    return SCR_OK;
}

static int check_map(const scr_filemap *map, struct scr_err *err)
{
    int rc = check_side(map, "DSET", "RANK", err);
    if (rc == SCR_OK)
        rc = check_side(map, "RANK", "DSET", err);
    if (rc != SCR_OK)
        return rc;
    for (SCR_HASH_EACH(r, scr_hash_get(map, "RANK")))
        for (SCR_HASH_EACH(d, scr_hash_get(scr_hash_elem_hash(r), "DSET")))
            if ((rc = check_entry(scr_hash_elem_hash(d), err)) != SCR_OK)
                return rc;
    return SCR_OK;
}

int scr_filemap_check(const scr_filemap *map, struct scr_err *err)
{
    int64_t created;
    int rc = check_map(map, err);
    for (SCR_HASH_EACH(e, scr_hash_get(map, "ASIDE"))) {
        if (rc == SCR_OK && !scr_parse_i64(scr_hash_elem_key(e), &created))
            rc = scr_fail(err, SCR_E_CORRUPT, 0, "filemap: bad entry ASIDE %s",
                          scr_hash_elem_key(e));
        if (rc == SCR_OK)
            rc = check_map(scr_hash_elem_hash(e), err);
    }
    return rc;
}

int scr_filemap_write(const struct scr_sys *sys, const char *path,
                      const scr_filemap *map, struct scr_err *err)
{
    return scr_hash_file_write(sys, path, map, SCR_VOLATILE, err);
}

int scr_filemap_read(const struct scr_sys *sys, const char *path, scr_filemap *map,
                     struct scr_err *err)
{
    struct scr_err cause = SCR_ERR_INIT;
    scr_filemap *fresh = scr_filemap_new();
    if (fresh == NULL)
        return scr_fail(err, SCR_E_NOMEM, 0, "read %s: out of memory", path);
    int rc = scr_hash_file_read(sys, path, fresh, err);
    if (rc != SCR_OK)
        goto out;
    if ((rc = scr_filemap_check(fresh, &cause)) != SCR_OK)
        rc = scr_fail(err, rc, 0, "read %s: %s", path, cause.text);
    else if ((rc = scr_filemap_merge(map, fresh)) != SCR_OK)
        rc = scr_fail(err, rc, 0, "read %s: out of memory", path);
out:
    scr_filemap_delete(fresh);
    return rc;
}
