/* SPDX-License-Identifier: BSD-3-Clause */
/* Filemap: entries in an array by dataset and rank. */
#include "fmt/filemap.h"

#include "base/hash.h"
#include "base/ids.h"
#include "base/str.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static int count_of(size_t n)
{
    return n > INT_MAX ? INT_MAX : (int)n;
}

/* --- life --- */

static struct scr_entry *entry_new(int dset, int rank)
{
    struct scr_entry *e = scr_calloc(1, sizeof *e);
    if (e == NULL)
        return NULL;
    *e = (struct scr_entry){ .dset = dset, .rank = rank, .expected = -1 };
    scr_table_init(&e->files, sizeof(struct scr_file));
    return e;
}

static void entry_free(struct scr_entry *e)
{
    if (e == NULL)
        return;
    scr_hash_delete(e->dataset);
    scr_hash_delete(e->desc);
    scr_hash_delete(e->tags);
    scr_table_fini(&e->files);
    free(e);
}

scr_filemap *scr_filemap_new(void)
{
    return scr_calloc(1, sizeof(scr_filemap));
}

void scr_filemap_clear(scr_filemap *map)
{
    for (size_t i = 0; i < map->n; i++)
        entry_free(map->entry[i]);
    free(map->entry);
    while (map->aside != NULL) {
        struct scr_filemap_aside *next = map->aside->next;
        scr_filemap_clear(&map->aside->map);
        free(map->aside);
        map->aside = next;
    }
    *map = (scr_filemap){ 0 };
}

void scr_filemap_delete(scr_filemap *map)
{
    if (map == NULL)
        return;
    scr_filemap_clear(map);
    free(map);
}

scr_filemap *scr_filemap_dup(const scr_filemap *map)
{
    scr_filemap *copy = scr_filemap_new();
    if (scr_filemap_merge(copy, map) == SCR_OK)
        return copy;
    scr_filemap_delete(copy);
    return NULL;
}

static int entry_ok(const struct scr_entry *e)
{
    return scr_table_ok(&e->files) && scr_hash_ok(e->dataset) && scr_hash_ok(e->desc) &&
           scr_hash_ok(e->tags);
}

int scr_filemap_ok(const scr_filemap *map)
{
    int ok = map == NULL || !map->lost;
    for (size_t i = 0; map != NULL && i < map->n && ok; i++)
        ok = entry_ok(map->entry[i]);
    for (struct scr_filemap_aside *a = map ? map->aside : NULL; a && ok; a = a->next)
        ok = scr_filemap_ok(&a->map);
    return ok;
}

/* --- entries --- */

/* Where the entry is, or would be. */
static size_t place_of(const scr_filemap *map, int dset, int rank)
{
    size_t from = 0, to = map != NULL ? map->n : 0;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        const struct scr_entry *e = map->entry[mid];
        if (e->dset < dset || (e->dset == dset && e->rank < rank))
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

static struct scr_entry *entry_at(const scr_filemap *map, size_t i, int dset)
{
    return map != NULL && i < map->n && map->entry[i]->dset == dset ? map->entry[i]
                                                                    : NULL;
}

struct scr_entry *scr_filemap_entry(const scr_filemap *map, int dset, int rank)
{
    struct scr_entry *e = entry_at(map, place_of(map, dset, rank), dset);
    return e != NULL && e->rank == rank ? e : NULL;
}

struct scr_entry *scr_filemap_first(const scr_filemap *map, int dset)
{
    return entry_at(map, place_of(map, dset, INT_MIN), dset);
}

struct scr_entry *scr_filemap_next(const scr_filemap *map, const struct scr_entry *e)
{
    return entry_at(map, place_of(map, e->dset, e->rank) + 1, e->dset);
}

static int insert(scr_filemap *map, struct scr_entry *e)
{
    size_t at = place_of(map, e->dset, e->rank);
    struct scr_entry **entry =
        scr_insert(map->entry, at, &map->n, &map->room, sizeof *entry);
    if (entry == NULL)
        return 0;
    map->entry = entry;
    entry[at] = e;
    return 1;
}

struct scr_entry *scr_filemap_add_rank(scr_filemap *map, int dset, int rank)
{
    struct scr_entry *e = scr_filemap_entry(map, dset, rank);
    if (e != NULL || map == NULL)
        return e;
    e = entry_new(dset, rank);
    if (e != NULL && insert(map, e))
        return e;
    entry_free(e);
    map->lost = 1;
    return NULL;
}

static struct scr_entry *take_out(scr_filemap *map, size_t at)
{
    struct scr_entry *e = map->entry[at];
    map->n--;
    memmove(&map->entry[at], &map->entry[at + 1], (map->n - at) * sizeof *map->entry);
    return e;
}

void scr_filemap_remove_rank_by_dataset(scr_filemap *map, int dset, int rank)
{
    if (scr_filemap_entry(map, dset, rank) != NULL)
        entry_free(take_out(map, place_of(map, dset, rank)));
}

static void remove_dataset(scr_filemap *map, int dset)
{
    size_t at = place_of(map, dset, INT_MIN);
    while (entry_at(map, at, dset) != NULL)
        entry_free(take_out(map, at));
}

/* Maps that have become empty go. */
static void trim_aside(scr_filemap *map)
{
    struct scr_filemap_aside **at = &map->aside;
    while (*at != NULL) {
        struct scr_filemap_aside *a = *at;
        if (a->map.n > 0) {
            at = &a->next;
            continue;
        }
        *at = a->next;
        scr_filemap_clear(&a->map);
        free(a);
    }
}

void scr_filemap_remove_dataset(scr_filemap *map, int dset)
{
    if (map == NULL)
        return;
    remove_dataset(map, dset);
    for (struct scr_filemap_aside *a = map->aside; a != NULL; a = a->next)
        remove_dataset(&a->map, dset);
    trim_aside(map);
}

/* Room in to, which is empty, for each entry of the rank. */
static int make_room(scr_filemap *to, const scr_filemap *from, int rank)
{
    size_t n = 0;
    for (size_t i = 0; i < from->n; i++)
        n += from->entry[i]->rank == rank;
    to->entry = scr_calloc(n, sizeof *to->entry);
    to->room = to->entry != NULL ? n : 0;
    return to->entry != NULL;
}

static void move_rank(scr_filemap *to, scr_filemap *from, int rank)
{
    for (size_t i = from->n; i-- > 0;)
        if (from->entry[i]->rank == rank)
            (void)insert(to, take_out(from, i));
}

scr_filemap *scr_filemap_need_aside(scr_filemap *map, int64_t created)
{
    struct scr_filemap_aside *a = map->aside;
    while (a != NULL && a->created != created)
        a = a->next;
    if (a != NULL)
        return &a->map;
    a = scr_calloc(1, sizeof *a);
    if (a == NULL) {
        map->lost = 1;
        return NULL;
    }
    struct scr_filemap_aside **end = &map->aside;
    while (*end != NULL)
        end = &(*end)->next;
    a->created = created;
    *end = a;
    return &a->map;
}

scr_filemap *scr_filemap_extract_rank(scr_filemap *map, int rank)
{
    scr_filemap none = { 0 }, *out = scr_filemap_new();
    map = map != NULL ? map : &none;
    int ok = out != NULL && scr_filemap_ok(map) && make_room(out, map, rank);
    for (struct scr_filemap_aside *a = map->aside; a != NULL && ok; a = a->next) {
        scr_filemap *aside = scr_filemap_need_aside(out, a->created);
        ok = aside != NULL && make_room(aside, &a->map, rank);
    }
    if (!ok) {
        scr_filemap_delete(out);
        return NULL;
    }
    move_rank(out, map, rank); /* all of it has its place */
    for (struct scr_filemap_aside *a = map->aside; a != NULL; a = a->next)
        move_rank(scr_filemap_aside(out, a->created), &a->map, rank);
    trim_aside(out);
    trim_aside(map);
    return out;
}

static int hash_merge(scr_hash **to, const scr_hash *from)
{
    if (from == NULL)
        return 1;
    if (*to == NULL)
        *to = scr_hash_new();
    return scr_hash_merge(*to, from) == SCR_OK && *to != NULL;
}

/* Adds a file, or what is known of it, to those in to, under that name; 0: out of
 * memory. */
static int merge_file(struct scr_table *to, const char *name, const struct scr_file *f)
{
    struct scr_file *mine = scr_table_add(to, name);
    if (mine == NULL)
        return 0;
    if (scr_file_meta(f) != NULL)
        scr_meta_merge(scr_file_need_meta(mine, to), &f->meta);
    else if (scr_file_meta(mine) == NULL && f->meta.size > 0)
        mine->meta.size = f->meta.size;
    return scr_table_ok(to);
}

int scr_entry_merge(struct scr_entry *to, const struct scr_entry *from)
{
    int ok = entry_ok(from) && hash_merge(&to->dataset, from->dataset) &&
             hash_merge(&to->desc, from->desc) && hash_merge(&to->tags, from->tags);
    if (to->expected < 0)
        to->expected = from->expected;
    else if (from->expected >= 0 && from->expected != to->expected)
        to->expected = -1;
    for (SCR_EACH(const struct scr_file, f, &from->files))
        ok = merge_file(&to->files, f->item.name, f) && ok;
    return ok && scr_table_ok(&to->files) ? SCR_OK : SCR_E_NOMEM;
}

static int adopt(scr_hash **to, const scr_hash *from, int *changed)
{
    if (from == NULL || *to != NULL)
        return 1;
    *changed = 1;
    return (*to = scr_hash_dup(from)) != NULL;
}

static int adopt_tags(scr_hash **to, const scr_hash *from, int *changed)
{
    int ok = 1;
    for (SCR_HASH_EACH(t, from)) {
        if (!ok || scr_hash_get(*to, scr_hash_elem_key(t)) != NULL)
            continue;
        scr_hash *tag = scr_hash_dup(scr_hash_elem_hash(t));
        *to = *to != NULL ? *to : scr_hash_new();
        ok = tag != NULL && scr_hash_set(*to, scr_hash_elem_key(t), tag) != NULL;
        *changed = 1;
    }
    return ok;
}

int scr_entry_adopt(struct scr_entry *to, const struct scr_entry *from, int *changed)
{
    if (to->expected < 0 && from->expected >= 0) {
        to->expected = from->expected;
        *changed = 1;
    }
    return adopt(&to->dataset, from->dataset, changed) &&
                   adopt(&to->desc, from->desc, changed) &&
                   adopt_tags(&to->tags, from->tags, changed)
               ? SCR_OK
               : SCR_E_NOMEM;
}

void scr_filemap_forget(scr_filemap *map, int dset, int rank)
{
    struct scr_entry *e = scr_filemap_entry(map, dset, rank);
    if (e == NULL)
        return;
    scr_hash_delete(e->dataset);
    scr_hash_delete(e->desc);
    scr_hash_delete(e->tags);
    e->dataset = e->desc = e->tags = NULL;
    e->expected = -1;
}

static int copy_renamed(struct scr_table *to, const struct scr_table *from,
                        scr_name_rule rule, const void *arg)
{
    int ok = 1;
    for (SCR_EACH(const struct scr_file, f, from)) {
        char *name = rule(arg, f->item.name);
        ok = merge_file(to, name, f) && ok;
        free(name);
    }
    return ok;
}

int scr_filemap_rename_files(scr_filemap *map, int dset, int rank, scr_name_rule rule,
                             const void *arg)
{
    struct scr_entry *e = scr_filemap_entry(map, dset, rank);
    struct scr_entry *fresh = e != NULL ? entry_new(dset, rank) : NULL;
    if (e == NULL)
        return SCR_OK;
    if (fresh == NULL || !copy_renamed(&fresh->files, &e->files, rule, arg)) {
        entry_free(fresh);
        return SCR_E_NOMEM;
    }
    fresh->expected = e->expected;
    fresh->dataset = e->dataset;
    fresh->desc = e->desc;
    fresh->tags = e->tags;
    e->dataset = e->desc = e->tags = NULL;
    map->entry[place_of(map, dset, rank)] = fresh;
    entry_free(e);
    return SCR_OK;
}

int scr_filemap_copy_entry(scr_filemap *to, const scr_filemap *from, int dset, int rank)
{
    const struct scr_entry *e = scr_filemap_entry(from, dset, rank);
    struct scr_entry *mine = to != NULL ? scr_filemap_add_rank(to, dset, rank) : NULL;
    if (mine == NULL)
        return SCR_E_NOMEM;
    return e != NULL ? scr_entry_merge(mine, e) : SCR_OK;
}

static int merge_entries(scr_filemap *dst, const scr_filemap *src)
{
    for (size_t i = 0; i < src->n; i++)
        TRY(scr_filemap_copy_entry(dst, src, src->entry[i]->dset, src->entry[i]->rank));
    return SCR_OK;
}

int scr_filemap_merge(scr_filemap *dst, const scr_filemap *src)
{
    if (dst == NULL || !scr_filemap_ok(src))
        return dst == NULL && src == NULL ? SCR_OK : SCR_E_NOMEM;
    if (src == NULL)
        return SCR_OK;
    TRY(merge_entries(dst, src));
    for (struct scr_filemap_aside *a = src->aside; a != NULL; a = a->next) {
        scr_filemap *aside = scr_filemap_need_aside(dst, a->created);
        TRY(aside != NULL ? merge_entries(aside, &a->map) : SCR_E_NOMEM);
    }
    return SCR_OK;
}

/* Those of an empty map change places with all of src; else entries leave src one by
 * one, the last first. */
static int take_entries(scr_filemap *dst, scr_filemap *src)
{
    int rc = SCR_OK;
    if (dst->n == 0) {
        struct scr_entry **empty = dst->entry;
        size_t room = dst->room;
        dst->entry = src->entry, dst->n = src->n, dst->room = src->room;
        src->entry = empty, src->n = 0, src->room = room;
    }
    while (src->n > 0 && rc == SCR_OK) {
        struct scr_entry *e = src->entry[src->n - 1];
        struct scr_entry *mine = scr_filemap_entry(dst, e->dset, e->rank);
        if (mine == NULL && !insert(dst, e))
            return SCR_E_NOMEM;
        src->n--;
        if (mine != NULL) {
            rc = scr_entry_merge(mine, e);
            entry_free(e);
        }
    }
    return rc;
}

int scr_filemap_take(scr_filemap *dst, scr_filemap *src)
{
    if (dst == NULL || src == NULL || !scr_filemap_ok(src))
        return dst != NULL && src == NULL ? SCR_OK : SCR_E_NOMEM;
    TRY(take_entries(dst, src));
    for (struct scr_filemap_aside *a = src->aside; a != NULL; a = a->next) {
        scr_filemap *aside = scr_filemap_need_aside(dst, a->created);
        TRY(aside != NULL ? take_entries(aside, &a->map) : SCR_E_NOMEM);
    }
    return SCR_OK;
}

/* --- files --- */

struct scr_file *scr_file_next(const struct scr_file *f)
{
    return (struct scr_file *)f->item.next;
}

scr_meta *scr_file_meta(const struct scr_file *f)
{
    return f != NULL && f->meta.arena != NULL ? (scr_meta *)&f->meta : NULL;
}

scr_meta *scr_file_need_meta(struct scr_file *f, struct scr_table *files)
{
    f->meta.arena = &files->arena;
    return &f->meta;
}

struct scr_file *scr_filemap_add_file(scr_filemap *map, int dset, int rank,
                                      const char *file)
{
    struct scr_entry *e = scr_filemap_add_rank(map, dset, rank);
    return e != NULL ? scr_table_add(&e->files, file) : NULL;
}

void scr_filemap_remove_file(scr_filemap *map, int dset, int rank, const char *file)
{
    struct scr_entry *e = scr_filemap_entry(map, dset, rank);
    if (e != NULL)
        (void)scr_table_drop(&e->files, file);
}

int scr_filemap_num_files(const scr_filemap *map, int dset, int rank)
{
    const struct scr_entry *e = scr_filemap_entry(map, dset, rank);
    return e != NULL ? count_of(e->files.n) : 0;
}

struct scr_file *scr_filemap_first_file(const scr_filemap *map, int dset, int rank)
{
    const struct scr_entry *e = scr_filemap_entry(map, dset, rank);
    return e != NULL ? (struct scr_file *)e->files.first : NULL;
}

void scr_filemap_set_meta(scr_filemap *map, int dset, int rank, const char *file,
                          const scr_meta *meta)
{
    struct scr_entry *e = scr_filemap_add_rank(map, dset, rank);
    struct scr_file *f = e != NULL ? scr_table_add(&e->files, file) : NULL;
    if (f != NULL)
        scr_meta_copy(scr_file_need_meta(f, &e->files), meta);
}

scr_meta *scr_filemap_get_meta(const scr_filemap *map, int dset, int rank,
                               const char *file)
{
    const struct scr_entry *e = scr_filemap_entry(map, dset, rank);
    return e != NULL ? scr_file_meta(scr_table_find(&e->files, file)) : NULL;
}

/* --- what is aside --- */

int64_t scr_filemap_created(const scr_filemap *map, int dset, int rank)
{
    int64_t when = 0;
    const struct scr_entry *e = scr_filemap_entry(map, dset, rank);
    if (e != NULL && e->desc != NULL)
        (void)scr_hash_get_val_i64(e->dataset, "CREATED", &when);
    return when;
}

scr_filemap *scr_filemap_aside(const scr_filemap *map, int64_t created)
{
    struct scr_filemap_aside *a = map != NULL ? map->aside : NULL;
    while (a != NULL && a->created != created)
        a = a->next;
    return a != NULL ? &a->map : NULL;
}

int scr_filemap_has_aside(const scr_filemap *map, int dset)
{
    for (struct scr_filemap_aside *a = map ? map->aside : NULL; a; a = a->next)
        if (scr_filemap_first(&a->map, dset) != NULL)
            return 1;
    return 0;
}

int scr_filemap_set_aside(scr_filemap *to, int64_t created, const scr_filemap *from,
                          int dset, int rank)
{
    return scr_filemap_copy_entry(scr_filemap_need_aside(to, created), from, dset,
                                  rank);
}

void scr_filemap_drop_aside(scr_filemap *map, int64_t created, int dset, int rank)
{
    scr_filemap_remove_rank_by_dataset(scr_filemap_aside(map, created), dset, rank);
    if (map != NULL)
        trim_aside(map);
}

int scr_filemap_list_aside(const scr_filemap *map, int *n, int64_t **created)
{
    size_t count = 0;
    for (struct scr_filemap_aside *a = map ? map->aside : NULL; a; a = a->next)
        count++;
    *n = 0;
    *created = scr_calloc(count, sizeof **created);
    if (*created == NULL)
        return SCR_E_NOMEM;
    for (struct scr_filemap_aside *a = map ? map->aside : NULL; a; a = a->next)
        (*created)[(*n)++] = a->created;
    return SCR_OK;
}

static int copy_made(scr_filemap *to, const scr_filemap *from, int dset,
                     int64_t created)
{
    for (SCR_ENTRIES(e, from, dset)) {
        int64_t when = scr_filemap_created(from, dset, e->rank);
        if (when == 0 || when == created)
            TRY(scr_filemap_copy_entry(to, from, dset, e->rank));
    }
    return SCR_OK;
}

scr_filemap *scr_filemap_only(const scr_filemap *map, int dset, int64_t created)
{
    scr_filemap *only = scr_filemap_new();
    if (only != NULL && copy_made(only, map, dset, created) == SCR_OK &&
        copy_made(only, scr_filemap_aside(map, created), dset, created) == SCR_OK)
        return only;
    scr_filemap_delete(only);
    return NULL;
}

void scr_filemap_made(const scr_filemap *map, int dset, int64_t *oldest,
                      int64_t *newest)
{
    *oldest = INT64_MAX;
    *newest = 0;
    for (SCR_ENTRIES(e, map, dset)) {
        int64_t when = scr_filemap_created(map, dset, e->rank);
        *oldest = when > 0 && when < *oldest ? when : *oldest;
        *newest = when > *newest ? when : *newest;
    }
}

/* --- questions --- */

int scr_filemap_next_rank(const scr_filemap *map, int dset, int *rank)
{
    size_t at = place_of(map, dset, *rank);
    const struct scr_entry *e = entry_at(map, at, dset);
    if (e != NULL && e->rank == *rank)
        e = entry_at(map, at + 1, dset);
    if (e == NULL)
        return 0;
    *rank = e->rank;
    return 1;
}

int scr_filemap_num_ranks_by_dataset(const scr_filemap *map, int dset)
{
    return count_of(place_of(map, dset, INT_MAX) - place_of(map, dset, INT_MIN));
}

static int add_all(const scr_filemap *map, int of_ranks, struct scr_ids *to)
{
    for (size_t i = 0; i < map->n; i++)
        TRY(scr_ids_add(to, of_ranks ? map->entry[i]->rank : map->entry[i]->dset,
                        NULL));
    return SCR_OK;
}

/* Datasets or ranks of all maps. */
static int list_with_aside(const scr_filemap *map, int of_ranks, int *n, int **list)
{
    struct scr_ids found = { 0 };
    int rc;
    TRY_OUT(map != NULL ? add_all(map, of_ranks, &found) : SCR_OK);
    for (struct scr_filemap_aside *a = map ? map->aside : NULL; a; a = a->next)
        TRY_OUT(add_all(&a->map, of_ranks, &found));
out:
    if (rc != SCR_OK)
        scr_ids_fini(&found);
    *n = count_of(found.n);
    *list = found.id;
    return rc;
}

int scr_filemap_list_datasets(const scr_filemap *map, int *n, int **dsets)
{
    return list_with_aside(map, 0, n, dsets);
}

int scr_filemap_list_ranks(const scr_filemap *map, int *n, int **ranks)
{
    return list_with_aside(map, 1, n, ranks);
}

/* --- descriptors and tags --- */

void scr_filemap_set_expected_files(scr_filemap *map, int dset, int rank, int n)
{
    struct scr_entry *e = scr_filemap_add_rank(map, dset, rank);
    if (e != NULL)
        e->expected = n;
}

int scr_filemap_num_expected_files(const scr_filemap *map, int dset, int rank)
{
    const struct scr_entry *e = scr_filemap_entry(map, dset, rank);
    return e != NULL ? e->expected : -1;
}

scr_hash *scr_entry_hash(scr_filemap *map, scr_hash **h)
{
    if (*h == NULL && (*h = scr_hash_new()) == NULL)
        map->lost = 1;
    return *h;
}

/* A copy of value in place of what is at h, unless it is that itself. */
static void set_copy(scr_filemap *map, scr_hash **h, const scr_hash *value)
{
    if (value != NULL && *h == value)
        return;
    scr_hash_delete(*h);
    *h = NULL;
    if (scr_entry_hash(map, h) != NULL && scr_hash_merge(*h, value) != SCR_OK)
        map->lost = 1;
}

void scr_filemap_set_dataset(scr_filemap *map, int dset, int rank, const scr_hash *desc)
{
    struct scr_entry *e = scr_filemap_add_rank(map, dset, rank);
    if (e != NULL)
        set_copy(map, &e->dataset, desc);
}

scr_hash *scr_filemap_get_dataset(const scr_filemap *map, int dset, int rank)
{
    const struct scr_entry *e = scr_filemap_entry(map, dset, rank);
    return e != NULL ? e->dataset : NULL;
}

void scr_filemap_set_desc(scr_filemap *map, int dset, int rank, const scr_hash *desc)
{
    struct scr_entry *e = scr_filemap_add_rank(map, dset, rank);
    if (e != NULL)
        set_copy(map, &e->desc, desc);
}

scr_hash *scr_filemap_get_desc(const scr_filemap *map, int dset, int rank)
{
    const struct scr_entry *e = scr_filemap_entry(map, dset, rank);
    return e != NULL ? e->desc : NULL;
}

void scr_filemap_set_tag(scr_filemap *map, int dset, int rank, const char *tag,
                         const char *value)
{
    struct scr_entry *e = scr_filemap_add_rank(map, dset, rank);
    if (e != NULL)
        scr_hash_set_val(scr_entry_hash(map, &e->tags), tag, value);
}

struct scr_redplace scr_redplace_get(const scr_hash *desc)
{
    struct scr_redplace k = { .failures = INT_MAX, .index = INT_MAX };
    k.store = scr_hash_get_val(desc, "STORE");
    k.group = scr_hash_get_val(desc, "STORE_GROUP");
    (void)scr_hash_get_val_int(desc, "RANKS", &k.ranks);
    (void)scr_hash_get_val_int(desc, "FAILURES", &k.failures);
    (void)scr_hash_get_val_int(desc, "INDEX", &k.index);
    return k;
}

int scr_redplace_set(scr_hash *desc, const struct scr_redplace *k)
{
    scr_hash_set_val(desc, "STORE", k->store);
    scr_hash_set_val(desc, "STORE_GROUP", k->group);
    scr_hash_set_val_i64(desc, "INDEX", k->index);
    return desc != NULL && scr_hash_ok(desc) ? SCR_OK : SCR_E_NOMEM;
}
