/* SPDX-License-Identifier: BSD-3-Clause */
/* Filemap: what it is on disk and between ranks. */
#include "fmt/filemap.h"

#include "base/cursor.h"
#include "base/hashfile.h"
#include "base/path.h"
#include "base/str.h"
#include <stdlib.h>
#include <string.h>

/* --- packing --- */

static void pack_files(struct scr_str *s, const struct scr_table *files)
{
    scr_pack_key(s, "FILE");
    scr_pack_count(s, files->n);
    for (SCR_EACH(const struct scr_file, f, files)) {
        scr_pack_key(s, f->item.name);
        const scr_meta *meta = scr_file_meta(f);
        int found = meta == NULL && f->meta.size > 0;
        scr_pack_count(s, (size_t)((meta != NULL) + found));
        if (meta != NULL) {
            scr_pack_key(s, "META");
            scr_meta_pack(s, meta);
        }
        if (found)
            scr_pack_u64(s, "FOUND", f->meta.size);
    }
}

static void pack_entry(struct scr_str *s, const struct scr_entry *e)
{
    size_t tags = scr_hash_size(e->tags);
    scr_pack_count(s, (size_t)((e->dataset != NULL) + (e->desc != NULL) +
                               (e->expected >= 0) + (e->files.n > 0)) +
                          tags);
    if (e->dataset != NULL)
        scr_pack_hash(s, "DSETDESC", e->dataset);
    if (e->desc != NULL)
        scr_pack_hash(s, "REDDESC", e->desc);
    if (e->expected >= 0)
        scr_pack_i64(s, "FILES", e->expected);
    for (SCR_HASH_EACH(t, e->tags))
        scr_pack_hash(s, scr_hash_elem_key(t), scr_hash_elem_hash(t));
    if (e->files.n > 0)
        pack_files(s, &e->files);
}

static int by_rank(const void *a, const void *b)
{
    const struct scr_entry *const *x = a, *const *y = b;
    if ((*x)->rank != (*y)->rank)
        return (*x)->rank < (*y)->rank ? -1 : 1;
    return (*x)->dset < (*y)->dset ? -1 : (*x)->dset > (*y)->dset;
}

/* Entries from the i-th on that have the number of the i-th. */
static size_t run_of(struct scr_entry *const *e, size_t n, size_t i, int of_ranks)
{
    size_t end = i;
    while (end < n &&
           (of_ranks ? e[end]->rank == e[i]->rank : e[end]->dset == e[i]->dset))
        end++;
    return end - i;
}

/* outer/<a>/inner/<b>, with the entries below it where ranks are outside. */
static void pack_side(struct scr_str *s, struct scr_entry *const *e, size_t n,
                      int of_ranks)
{
    size_t outer = 0;
    for (size_t i = 0; i < n; i += run_of(e, n, i, of_ranks))
        outer++;
    scr_pack_key(s, of_ranks ? "RANK" : "DSET");
    scr_pack_count(s, outer);
    for (size_t i = 0; i < n;) {
        size_t inner = run_of(e, n, i, of_ranks);
        scr_pack_key_int(s, of_ranks ? e[i]->rank : e[i]->dset);
        scr_pack_count(s, 1);
        scr_pack_key(s, of_ranks ? "DSET" : "RANK");
        scr_pack_count(s, inner);
        for (size_t end = i + inner; i < end; i++) {
            scr_pack_key_int(s, of_ranks ? e[i]->dset : e[i]->rank);
            if (of_ranks)
                pack_entry(s, e[i]);
            else
                scr_pack_count(s, 0);
        }
    }
}

static void pack_map(struct scr_str *s, const scr_filemap *map, size_t more)
{
    scr_pack_count(s, (map->n > 0 ? 2 : 0) + more);
    if (map->n == 0)
        return;
    struct scr_entry **sorted = scr_calloc(map->n, sizeof *sorted);
    if (sorted == NULL) {
        scr_str_spoil(s);
        return;
    }
    memcpy(sorted, map->entry, map->n * sizeof *sorted);
    qsort(sorted, map->n, sizeof *sorted, by_rank);
    pack_side(s, map->entry, map->n, 0);
    pack_side(s, sorted, map->n, 1);
    free(sorted);
}

void scr_filemap_pack(struct scr_str *s, const scr_filemap *map)
{
    static const scr_filemap none = { 0 };
    size_t naside = 0;
    map = map != NULL ? map : &none;
    for (const struct scr_filemap_aside *a = map->aside; a != NULL; a = a->next)
        naside++;
    pack_map(s, map, naside > 0);
    if (naside > 0) {
        scr_pack_key(s, "ASIDE");
        scr_pack_count(s, naside);
    }
    for (const struct scr_filemap_aside *a = map->aside; a != NULL; a = a->next) {
        char key[24];
        snprintf(key, sizeof key, "%lld", (long long)a->created);
        scr_pack_key(s, key);
        pack_map(s, &a->map, 0);
    }
    if (!scr_filemap_ok(map))
        scr_str_spoil(s);
}

/* --- unpacking --- */

/* A cached file by its full path, or relative in a file of the prefix directory. */
static int path_ok(const char *path)
{
    while (*path == '/')
        path++;
    return scr_path_is_safe(path);
}

/* One of the keys there can be once. */
static void once(struct scr_cursor *c, int *seen)
{
    if (*seen)
        scr_cursor_refuse(c, "filemap: key given twice");
    *seen = 1;
}

/* A number as it is packed, of a level where seen are; refuses another, or one twice.
 */
static int unpack_number_key(struct scr_cursor *c, struct scr_table *seen)
{
    int number = 0;
    size_t before = seen->n;
    const char *key = scr_cursor_key(c);
    if (c->wrong == NULL && scr_table_add(seen, key) == NULL)
        scr_cursor_no_memory(c);
    else if (seen->n == before)
        scr_cursor_refuse(c, "filemap: key given twice");
    if (!scr_hash_key_int(key, &number) || number < 0)
        scr_cursor_refuse(c, "filemap: bad number");
    return number;
}

static void unpack_file(struct scr_cursor *c, struct scr_table *files,
                        struct scr_file *f)
{
    int meta = 0, found = 0;
    uint64_t bytes = 0;
    for (size_t left = scr_cursor_enter(c); left > 0; left--) {
        const char *key = scr_cursor_key(c);
        if (strcmp(key, "META") == 0) {
            once(c, &meta);
            scr_meta_unpack(c, scr_file_need_meta(f, files));
        } else if (strcmp(key, "FOUND") == 0) {
            once(c, &found);
            const char *val = scr_cursor_val(c);
            if (val == NULL || !scr_parse_u64(val, &bytes))
                scr_cursor_refuse(c, "filemap: bad size");
        } else {
            scr_cursor_skip(c);
        }
    }
    if (!meta)
        f->meta.size = bytes;
}

static void unpack_files(struct scr_cursor *c, struct scr_table *files)
{
    for (size_t left = scr_cursor_enter(c); left > 0; left--) {
        const char *path = scr_cursor_key(c);
        size_t before = files->n;
        if (!path_ok(path)) {
            scr_cursor_refuse(c, "filemap: bad file name");
            return;
        }
        struct scr_file *f = scr_table_add(files, path);
        if (f == NULL) {
            scr_cursor_no_memory(c);
            return;
        }
        if (files->n == before)
            scr_cursor_refuse(c, "filemap: a file is named twice");
        unpack_file(c, files, f);
    }
}

static void unpack_hash(struct scr_cursor *c, scr_filemap *map, scr_hash **h)
{
    if (*h != NULL)
        scr_cursor_refuse(c, "filemap: key given twice");
    else if (scr_entry_hash(map, h) != NULL)
        scr_cursor_hash(c, *h);
}

static void unpack_tag(struct scr_cursor *c, scr_filemap *map, struct scr_entry *e,
                       const char *key)
{
    if (scr_hash_get(e->tags, key) != NULL)
        scr_cursor_refuse(c, "filemap: key given twice");
    else
        scr_cursor_hash(c, scr_hash_set(scr_entry_hash(map, &e->tags), key, NULL));
}

static void unpack_entry(struct scr_cursor *c, scr_filemap *map, struct scr_entry *e)
{
    int expected = 0, files = 0;
    for (size_t left = scr_cursor_enter(c); left > 0; left--) {
        const char *key = scr_cursor_key(c);
        if (strcmp(key, "DSETDESC") == 0) {
            unpack_hash(c, map, &e->dataset);
        } else if (strcmp(key, "REDDESC") == 0) {
            unpack_hash(c, map, &e->desc);
        } else if (strcmp(key, "FILES") == 0) {
            once(c, &expected);
            const char *val = scr_cursor_val(c);
            if (val == NULL || !scr_parse_int(val, &e->expected) || e->expected < 0)
                scr_cursor_refuse(c, "filemap: bad number of files");
        } else if (strcmp(key, "FILE") == 0) {
            once(c, &files);
            unpack_files(c, &e->files);
        } else {
            unpack_tag(c, map, e, key);
        }
    }
}

/* RANK/<r>/DSET/<d> makes the entries, DSET/<d>/RANK/<r> has to name the same: those of
 * another map, whose entries are empty. */
struct side {
    struct scr_cursor *c;
    scr_filemap *map;
    int of_ranks;
};

static void unpack_pair(struct side *u, int outer, int inner)
{
    int dset = u->of_ranks ? inner : outer, rank = u->of_ranks ? outer : inner;
    if (scr_filemap_entry(u->map, dset, rank) != NULL)
        scr_cursor_refuse(u->c, "filemap: index and entries differ");
    struct scr_entry *e =
        u->c->wrong == NULL ? scr_filemap_add_rank(u->map, dset, rank) : NULL;
    if (e == NULL && u->c->wrong == NULL)
        scr_cursor_no_memory(u->c);
    else if (e != NULL && u->of_ranks)
        unpack_entry(u->c, u->map, e);
    else
        scr_cursor_skip(u->c);
}

static void unpack_pairs(struct side *u, int outer)
{
    struct scr_table seen = SCR_TABLE_OF(struct scr_item);
    for (size_t left = scr_cursor_enter(u->c); left > 0; left--)
        unpack_pair(u, outer, unpack_number_key(u->c, &seen));
    if (seen.n == 0)
        scr_cursor_refuse(u->c, "filemap: bad entry");
    scr_table_fini(&seen);
}

static void unpack_inner(struct side *u, int outer)
{
    int found = 0;
    for (size_t keys = scr_cursor_enter(u->c); keys > 0; keys--) {
        if (strcmp(scr_cursor_key(u->c), u->of_ranks ? "DSET" : "RANK") == 0) {
            once(u->c, &found);
            unpack_pairs(u, outer);
        } else {
            scr_cursor_skip(u->c);
        }
    }
    if (!found)
        scr_cursor_refuse(u->c, "filemap: bad entry");
}

static void unpack_side(struct side *u)
{
    struct scr_table seen = SCR_TABLE_OF(struct scr_item);
    for (size_t left = scr_cursor_enter(u->c); left > 0; left--)
        unpack_inner(u, unpack_number_key(u->c, &seen));
    scr_table_fini(&seen);
}

static void unpack_aside(struct scr_cursor *c, scr_filemap *map);

static int names_same(const scr_filemap *index, const scr_filemap *map)
{
    size_t i = 0;
    while (i < map->n && i < index->n && map->entry[i]->dset == index->entry[i]->dset &&
           map->entry[i]->rank == index->entry[i]->rank)
        i++;
    return i == map->n && i == index->n;
}

static void unpack_map(struct scr_cursor *c, scr_filemap *map, int is_aside)
{
    int has_index = 0, has_ranks = 0, has_aside = 0;
    scr_filemap index = { 0 };
    struct side ranks = { .c = c, .map = map, .of_ranks = 1 };
    struct side datasets = { .c = c, .map = &index };
    for (size_t left = scr_cursor_enter(c); left > 0; left--) {
        const char *key = scr_cursor_key(c);
        if (strcmp(key, "RANK") == 0) {
            once(c, &has_ranks);
            unpack_side(&ranks);
        } else if (strcmp(key, "ASIDE") == 0 && !is_aside) {
            once(c, &has_aside);
            unpack_aside(c, map);
        } else if (strcmp(key, "DSET") == 0) {
            once(c, &has_index);
            unpack_side(&datasets);
        } else {
            scr_cursor_skip(c);
        }
    }
    if (!names_same(&index, map))
        scr_cursor_refuse(c, "filemap: index and entries differ");
    scr_filemap_clear(&index);
    if (!scr_filemap_ok(map))
        scr_cursor_no_memory(c);
}

static void unpack_aside(struct scr_cursor *c, scr_filemap *map)
{
    for (size_t left = scr_cursor_enter(c); left > 0; left--) {
        int64_t created = 0;
        if (!scr_parse_i64(scr_cursor_key(c), &created))
            scr_cursor_refuse(c, "filemap: bad time of what is aside");
        else if (scr_filemap_aside(map, created) != NULL)
            scr_cursor_refuse(c, "filemap: key given twice");
        scr_filemap *aside = scr_filemap_need_aside(map, created);
        if (aside != NULL)
            unpack_map(c, aside, 1);
        else
            scr_cursor_skip(c);
    }
}

static int take(struct scr_cursor *c, void *into, struct scr_err *err)
{
    scr_filemap *fresh = scr_filemap_new(), *map = into;
    if (fresh == NULL || map == NULL) {
        scr_filemap_delete(fresh);
        return scr_no_memory(err);
    }
    unpack_map(c, fresh, 0);
    int rc = scr_cursor_end(c, 1, err);
    if (rc == SCR_OK && map->n == 0 && map->aside == NULL && !map->lost) {
        scr_filemap_clear(map);
        scr_filemap was = *map;
        *map = *fresh;
        *fresh = was;
    } else if (rc == SCR_OK && scr_filemap_take(map, fresh) != SCR_OK) {
        rc = scr_no_memory(err);
    }
    scr_filemap_delete(fresh);
    return rc;
}

int scr_filemap_unpack(const void *buf, size_t n, scr_filemap *map, struct scr_err *err)
{
    struct scr_cursor c;
    scr_cursor_init(&c, buf, n);
    return take(&c, map, err);
}

/* --- separate files --- */

static void pack_from(struct scr_str *s, const void *map)
{
    scr_filemap_pack(s, map);
}

int scr_filemap_write(const struct scr_sys *sys, const char *path,
                      const scr_filemap *map, enum scr_durability how,
                      struct scr_err *err)
{
    return scr_frame_replace(sys, path, pack_from, map, how, err);
}

int scr_filemap_read(const struct scr_sys *sys, const char *path, scr_filemap *map,
                     struct scr_err *err)
{
    return scr_frame_take(sys, path, take, map, err);
}
